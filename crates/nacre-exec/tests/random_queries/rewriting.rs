//! Reasons for differences that a query shows once it is written a bit otherwise.
//!
//! | difference | text | written so | excuse |
//! |---|---|---|---|
//! | PostgreSQL fails | `with ties` | `only` | it has our rows: its plan of min and max has ties |
//! | PostgreSQL fails | `having null`, `false` | `having true` | we fail: it computes all groups |
//! | PostgreSQL fails | `exists (select x` | `exists (select 1` | it has our rows: it computes x |
//! | PostgreSQL fails | `with w as (` | `as materialized (` | it has our rows: it begins outside |
//! | PostgreSQL fails | `(select ...) q1` | `(select ... offset 0) q1` | it has our rows |
//! | PostgreSQL fails | `where (...)`, twice | `where true`, once | we fail: a cheaper one first |
//! | we fail | `min(x)` | with a filter | it fails: it reads the first row of min and max |
//! | we fail | `having ...` | without | it fails: a condition on keys leaves out rows for it |
//! | we fail | `with w as (` | `as materialized (` | it fails: a constant of w decides something |
//! | we fail | as above | as above | we have its rows: w is read twice |
//! | we fail | `(select null::...) q1` | `offset 0` | it fails: a null of q1 decides something |
//! | we fail | `order by 1 limit 1` | without LIMIT | it fails: it does not sort by constants |
//! | rows | `t1.n::text` | `trim_scale(t1.n)::text` | no difference: numerics are equal |
//! | rows | `t1.f`, `trunc(x)` | `t1.f + 0`, `trunc(x) + 0` | no difference: zeros are equal |

use super::compare::{
    AnswerDifference, AnswerPair, QueryAnswer, RowOrder, difference, is_same_error,
};
use super::database::{RandomDatabase, RunVariant};
use super::session::PostgresSession;

/// Aggregates that PostgreSQL may compute of the first row in an order.
const EXTREMES: [&str; 5] = ["min(", "max(", "bool_and(", "bool_or(", "every("];

/// Columns of floats, which may be -0.
const FLOAT_COLUMNS: [&str; 2] = ["f", "r"];

/// What makes -0 of numbers that are not.
const ZERO_MAKERS: [&str; 4] = ["trunc(", "ceil(", "floor(", "-("];

/// Returns why a difference of the query `text` is none.
pub(super) fn reason_by_rewriting(
    text: &str,
    kind: AnswerDifference,
    answers: &AnswerPair<'_>,
    database: &RandomDatabase,
    session: &mut PostgresSession,
) -> Option<&'static str> {
    let changed = |new: String| (new != text).then_some(new);
    match kind {
        AnswerDifference::TheirError => {
            let first = changed(text.replace(" with ties", " only"));
            let mut has_our_rows = |sql: String| {
                let theirs = session.answer(&sql);
                let is_rows = matches!(theirs, QueryAnswer::Rows(_));
                is_rows && difference(answers.ours, &theirs, RowOrder::None).is_none()
            };
            if first.is_some_and(&mut has_our_rows) {
                return Some("PostgreSQL has ties in its plan of min and max");
            }
            if changed(without_exists_outputs(text)).is_some_and(&mut has_our_rows) {
                return Some("PostgreSQL computes outputs of groups in EXISTS");
            }
            let kept = [with_kept_queries(text), with_kept_items(&with_kept_queries(text))];
            if kept.into_iter().filter_map(changed).any(&mut has_our_rows) {
                return Some("PostgreSQL begins with a condition around a query");
            }
            let we_fail = |sql: &String| {
                is_same_error(&database.answer(sql, RunVariant::Plain), answers.theirs)
            };
            if text.matches(" where ").count() > 1
                && texts_without_condition(text).iter().any(we_fail)
            {
                return Some("PostgreSQL begins with a cheaper condition of another query");
            }
            let kept = text.replace("having null::boolean", "having true");
            let kept = changed(kept.replace("having false", "having true"))?;
            we_fail(&kept).then_some("PostgreSQL computes groups that HAVING does not keep")
        }
        AnswerDifference::OurError => our_error_reason(text, answers, database, session),
        AnswerDifference::Rows | AnswerDifference::Order => {
            let is_bag = kind == AnswerDifference::Rows;
            let order = if is_bag { RowOrder::None } else { answers.order };
            let mut is_same = |sql: String| {
                let ours = database.answer(&sql, RunVariant::Plain);
                let is_rows = matches!(ours, QueryAnswer::Rows(_));
                is_rows && difference(&ours, &session.answer(&sql), order).is_none()
            };
            let [ours, theirs] = [answers.ours, answers.theirs].map(with_plain_zeros);
            if changed(without_minus_zeros(text)).is_some_and(&mut is_same)
                || changed(with_plain_texts(text)).is_some_and(&mut is_same)
                || difference(&ours, &theirs, order).is_none()
            {
                return Some("a group has -0 and 0");
            }
            texts_without_zeros(text)
                .into_iter()
                .any(is_same)
                .then_some("a group has numerics with more zeros and fewer")
        }
        _ => None,
    }
}

/// Returns why we fail alone.
fn our_error_reason(
    text: &str,
    answers: &AnswerPair<'_>,
    database: &RandomDatabase,
    session: &mut PostgresSession,
) -> Option<&'static str> {
    let changed = |new: String| (new != text).then_some(new);
    let mut fails = |sql: String| is_same_error(&session.answer(&sql), answers.ours);
    if changed(with_all_rows(text)).is_some_and(&mut fails) {
        return Some("PostgreSQL reads the first row of min and max");
    }
    if changed(without_having(text)).is_some_and(&mut fails) {
        return Some("PostgreSQL decides HAVING before it groups");
    }
    if changed(with_kept_queries(text)).is_some_and(&mut fails) {
        return Some("PostgreSQL puts constants of a query of WITH into expressions");
    }
    if text.contains("null::") && changed(with_kept_items(text)).is_some_and(&mut fails) {
        return Some("PostgreSQL puts nulls of a query in FROM into expressions");
    }
    let has_their_rows = |sql: String| {
        let ours = database.answer(&sql, RunVariant::Plain);
        matches!(ours, QueryAnswer::Rows(_))
            && difference(&ours, answers.theirs, RowOrder::None).is_none()
    };
    if changed(with_kept_queries(text)).is_some_and(has_their_rows) {
        return Some("PostgreSQL knows no constants of a query of WITH that is read twice");
    }
    // PostgreSQL does not sort by constants.
    text.contains(" order by ")
        .then(|| changed(without_limits(text)))?
        .is_some_and(fails)
        .then_some("PostgreSQL makes no more rows than LIMIT lets through")
}

/// Returns the query without each of its conditions of WHERE.
fn texts_without_condition(text: &str) -> Vec<String> {
    let start = " where (";
    let places = text.match_indices(start).filter_map(|(at, _)| {
        let rest = &text[at + start.len()..];
        let end = closing(rest)?;
        Some(format!("{} where true{}", &text[..at], &rest[end + 1..]))
    });
    places.collect()
}

/// Gives extremes a filter, so that PostgreSQL computes them of all rows.
fn with_all_rows(text: &str) -> String {
    let mut written = String::new();
    let mut rest = text;
    while let Some((at, name)) =
        EXTREMES.iter().filter_map(|name| Some((rest.find(name)?, name))).min()
    {
        let start = at + name.len();
        let Some(end) = closing(&rest[start..]) else { break };
        let end = start + end + 1;
        written.push_str(&rest[..end]);
        rest = &rest[end..];
        if !rest.starts_with(" filter") && !rest.starts_with(" over") {
            written.push_str(" filter (where true)");
        }
    }
    written + rest
}

/// Has queries of WITH be computed apart from those around them.
fn with_kept_queries(text: &str) -> String {
    text.replace(" as (select ", " as materialized (select ")
}

/// Has queries in FROM be computed apart from those around them.
fn with_kept_items(text: &str) -> String {
    let mut opened = Vec::new();
    let mut written = String::new();
    for (at, one) in text.char_indices() {
        if one == '(' {
            opened.push(at);
        } else if one == ')'
            && let Some(start) = opened.pop()
            && text[start..].starts_with("(select ")
            && text[at..].starts_with(") q")
        {
            written.push_str(" offset 0");
        }
        written.push(one);
    }
    written
}

/// Writes 1 for the outputs of queries in EXISTS.
fn without_exists_outputs(text: &str) -> String {
    const HEAD: &str = "exists (select ";
    let mut written = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(HEAD) {
        let start = at + HEAD.len();
        let end = closing(&rest[start..]).map_or(rest.len(), |end| start + end);
        let mut froms = rest[start..end].match_indices(" from ").map(|(at, _)| start + at);
        let from = froms.find(|from| is_closed(&rest[start..*from]));
        written.push_str(&rest[..start]);
        written.push_str(if from.is_some() { "1" } else { "" });
        rest = &rest[from.unwrap_or(start)..];
    }
    written + rest
}

/// Whether as many parentheses close as open.
fn is_closed(text: &str) -> bool {
    text.matches('(').count() == text.matches(')').count()
}

/// Leaves HAVING out.
fn without_having(text: &str) -> String {
    let text = text.replace(" having true", "").replace(" having null::boolean", "");
    let mut pieces = text.split(" having (");
    let mut written = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        written.push_str(&piece[closing(piece).map_or(piece.len(), |end| end + 1)..]);
    }
    written
}

/// Leaves LIMIT out.
fn without_limits(text: &str) -> String {
    let mut pieces = text.split(" limit ");
    let mut written = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        written.push_str(piece.trim_start_matches(|one: char| one.is_ascii_digit()));
    }
    written
}

/// Returns where the parenthesis closes that is open.
fn closing(text: &str) -> Option<usize> {
    let mut depth = 0;
    text.char_indices().find_map(|(at, one)| {
        match one {
            '(' => depth += 1,
            ')' if depth == 0 => return Some(at),
            ')' => depth -= 1,
            _ => {}
        }
        None
    })
}

/// Returns the query with each cast of a column to text without zeros at its end, if it is numeric.
fn texts_without_zeros(text: &str) -> Vec<String> {
    let casts = text.match_indices("::text").filter_map(|(end, _)| {
        let is_part = |one: char| one.is_ascii_alphanumeric() || one == '.';
        let start = text[..end].rfind(|one: char| !is_part(one)).map_or(0, |at| at + 1);
        let (column, rest) = (&text[start..end], &text[end..]);
        column.contains('.').then(|| format!("{}trim_scale({column}){rest}", &text[..start]))
    });
    casts.collect()
}

/// Returns the query with 0 for -0 in each cast of a column to text.
fn with_plain_texts(text: &str) -> String {
    let is_part = |one: char| one.is_ascii_alphanumeric() || one == '.';
    let mut written = String::new();
    let mut pieces = text.split("::text").peekable();
    while let Some(piece) = pieces.next() {
        let start = piece.rfind(|one: char| !is_part(one)).map_or(0, |at| at + 1);
        let column = &piece[start..];
        let is_cast = pieces.peek().is_some();
        if is_cast && column.contains('.') {
            let zero = format!("(case {column}::text when '-0' then '0' else {column}::text end)");
            written.push_str(&piece[..start]);
            written.push_str(&zero);
        } else {
            written.push_str(piece);
            written.push_str(if is_cast { "::text" } else { "" });
        }
    }
    written
}

/// Writes 0 for -0 in the texts of an answer.
fn with_plain_zeros(answer: &QueryAnswer) -> QueryAnswer {
    let plain = |text: &String| {
        let mut pieces = text.split("-0");
        let mut written = pieces.next().unwrap_or_default().to_owned();
        for piece in pieces {
            let is_part = piece.starts_with(|next: char| next.is_ascii_digit() || next == '.');
            written.push_str(if is_part { "-0" } else { "0" });
            written.push_str(piece);
        }
        written
    };
    match answer {
        QueryAnswer::Rows(rows) => {
            let rows =
                rows.iter().map(|row| row.iter().map(|one| one.as_ref().map(plain)).collect());
            QueryAnswer::Rows(rows.collect())
        }
        other => other.clone(),
    }
}

/// Adds 0 to columns of floats and to what makes -0 of them, so that there is none.
fn without_minus_zeros(text: &str) -> String {
    let mut written = String::new();
    let mut rest = text;
    let find = |rest: &str, name: &str| {
        let mut places = rest.match_indices(name).map(|(at, _)| at);
        places.find(|at| {
            !rest[..*at].ends_with(|one: char| one.is_ascii_alphanumeric() || one == '_')
        })
    };
    while let Some((at, name)) =
        ZERO_MAKERS.iter().filter_map(|name| Some((find(rest, name)?, name))).min()
    {
        let start = at + name.len();
        let Some(end) = closing(&rest[start..]) else { break };
        written.push_str(&with_added_zeros(&rest[..at]));
        let inner = without_minus_zeros(&rest[start..start + end]);
        written.push_str(&format!("({name}{inner}) + 0)"));
        rest = &rest[start + end + 1..];
    }
    written + &with_added_zeros(rest)
}

/// Adds 0 to columns of floats.
fn with_added_zeros(text: &str) -> String {
    let mut written = String::new();
    let is_part = |one: char| one.is_ascii_alphanumeric() || one == '_' || one == '.';
    for piece in text.split_inclusive(|one: char| !is_part(one)) {
        let word = piece.trim_end_matches(|one: char| !is_part(one));
        let is_column = word.split_once('.').is_some_and(|(alias, column)| {
            alias.starts_with(|one: char| one.is_ascii_lowercase())
                && FLOAT_COLUMNS.contains(&column)
        });
        if is_column {
            written.push_str(&format!("({word} + 0){}", &piece[word.len()..]));
        } else {
            written.push_str(piece);
        }
    }
    written
}

#[test]
fn texts_are_written_otherwise() {
    assert_eq!(
        with_all_rows("select (min(a + (1))), max(b) over (), bool_or(c) filter (where d)"),
        "select (min(a + (1)) filter (where true)), max(b) over (), bool_or(c) filter (where d)"
    );
    assert_eq!(
        without_minus_zeros("select t1.f::text, (q2.r), t1.e, 1.5 from v t1 group by t1.f"),
        "select (t1.f + 0)::text, ((q2.r + 0)), t1.e, 1.5 from v t1 group by (t1.f + 0)"
    );
    assert_eq!(
        without_having("(select 1 having true) union select 2 having (select (3)) order by 1"),
        "(select 1) union select 2 order by 1"
    );
    assert_eq!(
        without_limits("(select 1 limit 12) union select 2 limit 3;"),
        "(select 1) union select 2;"
    );
    assert_eq!(
        without_exists_outputs("select (not exists (select (select 1 from t), sum(2) from u))"),
        "select (not exists (select 1 from u))"
    );
    assert_eq!(
        with_kept_items("select (select 1) from ((select 2 from (select 3) q1(c1)) q2 join t t3)"),
        "select (select 1) from ((select 2 from (select 3 offset 0) q1(c1) offset 0) q2 join t t3)"
    );
    assert_eq!(
        texts_without_zeros("select q1.c1::text, 'a'::text, length(t1.n::text)"),
        [
            "select trim_scale(q1.c1)::text, 'a'::text, length(t1.n::text)",
            "select q1.c1::text, 'a'::text, length(trim_scale(t1.n)::text)"
        ]
    );
    assert_eq!(
        with_plain_texts("select length(q.c1::text), 'a'::text"),
        "select length((case q.c1::text when '-0' then '0' else q.c1::text end)), 'a'::text"
    );
    assert_eq!(
        texts_without_condition("select 1 from (select 2 where (a = (b))) q where (c) limit 1"),
        [
            "select 1 from (select 2 where true) q where (c) limit 1",
            "select 1 from (select 2 where (a = (b))) q where true limit 1"
        ]
    );
    assert_eq!(
        without_minus_zeros("select date_trunc(t1.f), trunc(-(t1.e) * t1.r)::real"),
        "select date_trunc((t1.f + 0)), (trunc((-(t1.e) + 0) * (t1.r + 0)) + 0)::real"
    );
}
