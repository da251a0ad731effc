//! Differences that are let through: an error of one side alone, if the reason for it is found.
//!
//! 1. PostgreSQL fails, and does not with another plan, in which it has our rows: which conditions
//!    it evaluates for which rows depends on the order of joins.
//! 2. PostgreSQL fails with every plan, and we fail, too, for an expression or a query of the query
//!    that is computed for all rows of the items that it reads: PostgreSQL evaluates conditions of
//!    one item before it finds that the others have no partners for its rows, and a query without
//!    outer columns before it finds that no row needs it.
//!    It evaluates the cheaper one of two conditions first, whichever is written first, and all
//!    values of two rows that it compares, also beside null. It evaluates conditions on INTERSECT
//!    for the rows of each side.
//! 3. PostgreSQL fails when it plans a query over another one: it puts constants of queries in FROM
//!    into the expressions around them and computes these, whether or not a row reaches them.
//! 4. We fail, and have PostgreSQL's rows without an outer join: PostgreSQL leaves out one of which
//!    no column is wanted, if it knows that it adds no rows.
//! 5. We fail, and PostgreSQL fails so with another plan.
//! 6. A query that is an expression has several rows, in PostgreSQL, too, where a constant decides
//!    that its value is not needed.
//! 7. We fail, PostgreSQL has no rows, and fails, too, for such a part of the query: it evaluates
//!    conditions of WHERE before those of joins, and nothing if it finds an empty item first. It
//!    evaluates cheaper conditions first, also of those that a comparison of rows is made of.
//!
//! Of two plans of our own with different orders of joins one may fail for an expression of a query
//! of several items that fails apart, too, if the other one has no rows: it finds that before. If
//! it has rows, the expression must have a query, which is computed once, where a row needs it, an
//! outer join has these rows without partners, or the plan that is not optimized computes unread
//! values.
//!
//! 8. We fail, and PostgreSQL, too, for such a part of a query with windows: it computes arguments
//!    of windows for the rows that a frame asks for.
//!    PostgreSQL fails for a key of a window that no value is read of, and so do we apart.
//! 9. It has other rows with another plan, or if it reads a table backwards: they are not
//!    determined.
//!    It does not replace a key of grouping sets by null whose value it knows when it plans.
//!    Two windows may have rows that are equal in all keys in different orders.
//! 10. The query shows it once it is written otherwise ([`super::rewriting`]).
//!
//! Anything else is a difference.

use super::compare::{
    AnswerDifference, AnswerPair, QueryAnswer, RowOrder, difference, is_same_error,
};
use super::database::{RandomDatabase, RunVariant};
use super::rewriting::reason_by_rewriting;
use super::session::PostgresSession;
use super::shrink::part_at;
use super::tree::QueryTree;

/// Settings that have PostgreSQL choose other plans.
const PLANS: [&str; 4] = [
    "set enable_hashjoin = off; set enable_mergejoin = off",
    "set enable_nestloop = off; set enable_mergejoin = off",
    "set join_collapse_limit = 1; set from_collapse_limit = 1",
    "set enable_nestloop = off; set join_collapse_limit = 1; set from_collapse_limit = 1",
];

const USUAL_PLAN: &str = "reset enable_hashjoin; reset enable_mergejoin; reset enable_nestloop; \
                          reset join_collapse_limit; reset from_collapse_limit";

/// Items that an expression is computed for all rows of: more have too many.
const ITEMS_MAX: usize = 3;

/// Returns why a difference of a query, which is as small as it can be, is none.
pub(crate) fn excuse(
    query: &QueryTree,
    kind: AnswerDifference,
    answers: &AnswerPair<'_>,
    database: &RandomDatabase,
    session: &mut PostgresSession,
) -> Option<&'static str> {
    let text = query.text();
    if let Some(reason) = reason_by_rewriting(&text, kind, answers, database, session) {
        return Some(reason);
    }
    match kind {
        AnswerDifference::TheirError => match other_plan(&text, answers, session) {
            Some(has_our_rows) => has_our_rows.then_some("PostgreSQL fails with one plan"),
            None if (reads_query(query) || computes_groups(&text) || orders_rows(&text))
                && fails_to_plan(&text, answers.theirs, session) =>
            {
                Some("PostgreSQL computes a constant that no row reaches")
            }
            None if fails_on_one_side(&text, answers.theirs, database) => {
                Some("PostgreSQL evaluates conditions on INTERSECT for rows of one side")
            }
            None => fails_in_part(query, answers, database, session),
        },
        AnswerDifference::OurError => our_error_reason(query, answers, database, session),
        AnswerDifference::Rows if has_other_rows(&text, answers.theirs, session) => {
            Some("PostgreSQL has other rows with another plan")
        }
        AnswerDifference::Rows | AnswerDifference::Order
            if depends_on_order(query, kind, answers, session) =>
        {
            Some("PostgreSQL has other rows if it reads a table in another order")
        }
        AnswerDifference::Rows | AnswerDifference::Order if has_constant_key(&text, session) => {
            Some("PostgreSQL has a constant for a key of grouping sets")
        }
        AnswerDifference::Rows | AnswerDifference::Order
            if text.matches(" over (").count() > 1
                && has_other_values(answers)
                && (has_same_columns(answers) || reads_equal_rows(query, session)) =>
        {
            Some("windows have equal rows in other orders")
        }
        _ => None,
    }
}

/// Returns why we fail alone, if PostgreSQL leaves out what fails.
fn our_error_reason(
    query: &QueryTree,
    answers: &AnswerPair<'_>,
    database: &RandomDatabase,
    session: &mut PostgresSession,
) -> Option<&'static str> {
    let text = query.text();
    if answers_without_join(query, answers, database) {
        return Some("PostgreSQL leaves an outer join out");
    }
    if fails_with_a_plan(&text, answers.ours, session) {
        return Some("PostgreSQL fails with another plan");
    }
    let mut run = |sql: &str| session.answer(sql);
    let finds_no_rows = has_several_sources(query)
        && (has_no_rows(answers.theirs) || has_empty_query(query, &mut run));
    let any_part = |_: &QueryTree| true;
    let is_query = |part: &QueryTree| matches!(part, QueryTree::Query(..));
    let is_bound = |part: &QueryTree| text.contains(&format!(" between {} and ", part.text()));
    let mut fails = |is_possible: bool, is_wanted: &dyn Fn(&QueryTree) -> bool| {
        is_possible && fails_apart(query, answers.ours, is_wanted, &mut run)
    };
    if fails(finds_no_rows, &any_part) {
        Some("PostgreSQL finds before that there are no rows")
    } else if fails(text.contains(" over ("), &any_part) {
        Some("PostgreSQL computes arguments of windows for rows of frames")
    } else if fails(true, &is_bound) {
        Some("PostgreSQL begins with the other bound")
    } else if fails(has_several_conditions(&text) || compares_rows(&text), &any_part) {
        Some("PostgreSQL begins with a cheaper condition")
    } else if fails(tests_rows(&text), &is_query) {
        Some("PostgreSQL stops at a row that decides")
    } else {
        let is_known = fails(has_several_rows(answers.ours), &is_query);
        is_known.then_some("PostgreSQL needs no value of a query of several rows")
    }
}

/// Whether it is asked for a row of a query.
fn tests_rows(text: &str) -> bool {
    let tests = ["exists", " in", " any", " some", " all"];
    tests.iter().any(|test| text.contains(&format!("{test} (select ")))
}

/// Whether rows of values may be compared by their order.
fn orders_rows(text: &str) -> bool {
    [") < (", ") <= (", ") > (", ") >= ("].iter().any(|one| text.contains(one))
}

/// Whether rows of values are tested for equality.
fn compares_rows(text: &str) -> bool {
    text.match_indices(") = (").any(|(at, sign)| {
        let mut depth = 0;
        for one in text[at + sign.len()..].chars() {
            match one {
                '(' => depth += 1,
                ')' => depth -= 1,
                ',' if depth == 0 => return true,
                _ => {}
            }
            if depth < 0 {
                break;
            }
        }
        false
    })
}

/// Whether a query within has no rows in PostgreSQL.
fn has_empty_query(query: &QueryTree, run: &mut dyn FnMut(&str) -> QueryAnswer) -> bool {
    let whole = query.text();
    let is_within = |part: &QueryTree| matches!(part, QueryTree::Query(..)) && part.text() != whole;
    let mut texts = texts_apart(query, &is_within).into_iter();
    texts.any(|sql| has_no_rows(&run(&sql)))
}

/// Returns why PostgreSQL fails with all plans, if a part of the query fails here, too; or there,
/// if it is not supported here.
fn fails_in_part(
    query: &QueryTree,
    answers: &AnswerPair<'_>,
    database: &RandomDatabase,
    session: &mut PostgresSession,
) -> Option<&'static str> {
    let text = query.text();
    let any_part = |_: &QueryTree| true;
    let is_key = |part: &QueryTree| text.contains(&format!(" by {}", part.text()));
    let (reason, is_wanted): (_, &dyn Fn(&QueryTree) -> bool) = match has_several_sources(query) {
        true => ("PostgreSQL evaluates for rows without partners", &any_part),
        false if has_several_conditions(&text) => {
            ("PostgreSQL begins with another condition", &any_part)
        }
        false if text.contains("null") && orders_rows(&text) => {
            ("PostgreSQL computes values of rows beside null", &any_part)
        }
        false if text.contains(" over (") => {
            ("PostgreSQL computes keys of windows that are not read", &is_key)
        }
        false => return None,
    };
    let mut run = |sql: &str| match answer_apart(sql, database) {
        QueryAnswer::NotSupported(_) => session.answer(sql),
        answer => answer,
    };
    let fails = fails_apart(query, answers.theirs, is_wanted, &mut run)
        || has_several_rows(answers.theirs) && has_query_of_several_rows(query, &mut run);
    fails.then_some(reason)
}

/// Whether we fail so, too, for rows that only one side of an INTERSECT has.
fn fails_on_one_side(text: &str, theirs: &QueryAnswer, database: &RandomDatabase) -> bool {
    let all = text.replace(" intersect all ", " union all ").replace(" intersect ", " union all ");
    all != text && is_same_error(&answer_apart(&all, database), theirs)
}

/// Whether a query has several conditions, also such as stand around others.
fn has_several_conditions(text: &str) -> bool {
    text.contains(" and ") || text.matches(" where ").count() + text.matches(" having ").count() > 1
}

/// Whether PostgreSQL has other rows with another plan.
fn has_other_rows(sql: &str, rows: &QueryAnswer, session: &mut PostgresSession) -> bool {
    PLANS.iter().any(|plan| {
        let other = answer_with_plan(plan, sql, session);
        difference(&other, rows, RowOrder::None) == Some(AnswerDifference::Rows)
    })
}

/// Orders in which tables are read to see whether an answer depends on it.
const READING_ORDERS: [&str; 3] = ["id desc", "(id + 5) % 11", "(id + 9) % 13 desc"];

/// Whether PostgreSQL has other rows, or another order of rows, if it reads tables in other orders,
/// as sums of floats may be, and which of 0 and -0 a group shows.
fn depends_on_order(
    query: &QueryTree,
    kind: AnswerDifference,
    answers: &AnswerPair<'_>,
    session: &mut PostgresSession,
) -> bool {
    let order = if kind == AnswerDifference::Rows { RowOrder::None } else { answers.order };
    in_other_orders(query)
        .any(|sql| difference(&session.answer(&sql), answers.theirs, order) == Some(kind))
}

/// Returns the query as it reads one of its tables in another order.
fn in_other_orders(query: &QueryTree) -> impl Iterator<Item = String> {
    let mut items = Vec::new();
    visit(query, &mut |part| items.extend(NamedItem::of(part)));
    let whole = query.text();
    items.into_iter().flat_map(move |NamedItem { alias, text }| {
        let parts = text.split_once(' ').filter(|(_, rest)| *rest == alias);
        let written = parts.map(|(table, rest)| {
            READING_ORDERS.map(|reading| {
                let other = format!("(select * from {table} order by {reading}) {rest}");
                whole.replace(&text, &other)
            })
        });
        written.into_iter().flatten()
    })
}

/// Whether sums of floats have other digits if tables are read in another order.
fn has_ordered_sums(
    query: &QueryTree,
    [other, plain]: [&QueryAnswer; 2],
    database: &RandomDatabase,
) -> bool {
    let are_rows = matches!([other, plain], [QueryAnswer::Rows(_), QueryAnswer::Rows(_)]);
    let text = query.text();
    are_rows
        && (text.contains("sum(") || text.contains("avg("))
        && in_other_orders(query).any(|sql| {
            let reread = database.answer(&sql, RunVariant::Plain);
            difference(&reread, plain, RowOrder::None) == Some(AnswerDifference::Rows)
        })
}

/// Whether answers differ as bags of rows.
fn has_other_values(answers: &AnswerPair<'_>) -> bool {
    difference(answers.ours, answers.theirs, RowOrder::None) == Some(AnswerDifference::Rows)
}

/// Whether both have the same values in each column, which other rows may have.
fn has_same_columns(answers: &AnswerPair<'_>) -> bool {
    let (QueryAnswer::Rows(ours), QueryAnswer::Rows(theirs)) = (answers.ours, answers.theirs)
    else {
        return false;
    };
    let column = |rows: &[Vec<Option<String>>], index: usize| {
        let values = rows.iter().map(|row| vec![row.get(index).cloned().flatten()]);
        QueryAnswer::Rows(values.collect())
    };
    (0..ours.first().map_or(0, Vec::len)).all(|index| {
        difference(&column(ours, index), &column(theirs, index), RowOrder::None).is_none()
    })
}

/// Whether an item of a query has rows that are equal in all columns.
fn reads_equal_rows(query: &QueryTree, session: &mut PostgresSession) -> bool {
    let mut items = Vec::new();
    visit(query, &mut |part| items.extend(NamedItem::of(part)));
    let with = with_clause(query);
    items.iter().any(|NamedItem { text, .. }| {
        let count = |what| format!("(select count(*) from (select {what} from {text}) q0)");
        let sql = format!("{with}select 1 where {} > {}", count("*"), count("distinct *"));
        matches!(session.answer(&sql), QueryAnswer::Rows(rows) if !rows.is_empty())
    })
}

/// Returns the queries of WITH that a query begins with.
fn with_clause(query: &QueryTree) -> String {
    let with = match query {
        QueryTree::Query(_, parts) => parts.children().first().map(QueryTree::text),
        _ => None,
    };
    with.filter(|text| text.starts_with("with ")).unwrap_or_default()
}

/// Whether PostgreSQL groups by a key that has no column, though each of the query has one.
fn has_constant_key(sql: &str, session: &mut PostgresSession) -> bool {
    let has_sets = ["grouping sets", "rollup", "cube"].iter().any(|word| sql.contains(word));
    let plan = session.answer(&format!("explain (verbose, costs off) {sql}"));
    let QueryAnswer::Rows(lines) = plan else { return false };
    let mut lines = lines.iter().flatten().flatten();
    has_sets
        && lines.any(|line| {
            let line = line.trim_start();
            let keys =
                ["Group Key: ", "Hash Key: "].iter().find_map(|head| line.strip_prefix(head));
            keys.is_some_and(|keys| keys.split(", ").any(|key| !key.contains('.')))
        })
}

/// Returns why a difference between the answer of another plan and our usual one is none.
pub(crate) fn plan_excuse(
    query: &QueryTree,
    variant: RunVariant,
    [other, plain]: [&QueryAnswer; 2],
    database: &RandomDatabase,
) -> Option<&'static str> {
    if has_ordered_sums(query, [other, plain], database) {
        return Some("sums of floats depend on the order of rows");
    }
    let has_other_joins = matches!(
        variant,
        RunVariant::NotOptimized | RunVariant::NoStatistics | RunVariant::WrongStatistics { .. }
    );
    let (error, rows) = match (other, plain) {
        (QueryAnswer::Error { .. }, QueryAnswer::Rows(_)) => (other, plain),
        (QueryAnswer::Rows(_), QueryAnswer::Error { .. }) => (plain, other),
        _ => return None,
    };
    let text = query.text();
    let reads_unread = variant == RunVariant::NotOptimized
        && (computes_groups(&text) || text.contains(" having ") || text.contains(" union all "));
    let outer_joins = [" left join ", " right join ", " full join "];
    let keeps_rows = outer_joins.iter().any(|join| text.contains(join));
    let may_skip = |part: &QueryTree| {
        let text = part.text();
        let has_query = || ["(select ", "(values "].iter().any(|head| text.contains(head));
        let is_skipped = reads_unread || keeps_rows || has_no_rows(rows) || has_query();
        matches!(part, QueryTree::Value(..)) && is_skipped
    };
    let mut run = |sql: &str| answer_apart(sql, database);
    (has_other_joins
        && (has_several_sources(query) || reads_unread)
        && fails_apart(query, error, &may_skip, &mut run))
    .then_some("one of our plans needs no value of what fails")
}

/// Answers a part of a query without the optimizer, if that is possible.
fn answer_apart(sql: &str, database: &RandomDatabase) -> QueryAnswer {
    match database.answer(sql, RunVariant::NotOptimized) {
        QueryAnswer::NotSupported(_) => database.answer(sql, RunVariant::Plain),
        answer => answer,
    }
}

/// Whether a query within has several rows where PostgreSQL finds that it does not depend on the
/// rows around it, and computes it without one: nothing reads the columns that it has of them.
fn has_query_of_several_rows(query: &QueryTree, run: &mut dyn FnMut(&str) -> QueryAnswer) -> bool {
    let mut texts = Vec::new();
    visit(query, &mut |part| {
        if let QueryTree::Query(..) = part {
            let (text, without) = (part.text(), without_outer_columns(part));
            texts.extend((text != without).then_some(without));
        }
    });
    let with = with_clause(query);
    texts.iter().any(|text| {
        let sql = format!("{with}select * from ({text}) q0");
        let answer = run(&sql);
        has_several_rows(&answer) || matches!(answer, QueryAnswer::Rows(rows) if rows.len() > 1)
    })
}

/// Writes null for the columns that a query has of items around it.
fn without_outer_columns(query: &QueryTree) -> String {
    let mut own = Vec::new();
    visit(query, &mut |part| own.extend(NamedItem::of(part).map(|item| item.alias)));
    let is_part = |one: char| one.is_ascii_alphanumeric() || one == '_' || one == '.';
    let is_alias = |text: &str| {
        let mut letters = text.chars();
        letters.next().is_some_and(|first| "tqwvaglk".contains(first))
            && !letters.as_str().is_empty()
            && letters.all(|one| one.is_ascii_digit())
    };
    let text = query.text();
    let mut written = String::new();
    for piece in text.split_inclusive(|one: char| !is_part(one)) {
        let word = piece.trim_end_matches(|one: char| !is_part(one));
        let alias = word.split_once('.').map(|(alias, _)| alias).filter(|alias| is_alias(alias));
        let is_outer = alias.is_some_and(|alias| !own.iter().any(|one| one == alias));
        written.push_str(if is_outer { "null" } else { word });
        written.push_str(&piece[word.len()..]);
    }
    written
}

/// Whether a query as an expression had more than one row.
fn has_several_rows(answer: &QueryAnswer) -> bool {
    matches!(answer, QueryAnswer::Error { state, .. } if state == "21000")
}

fn has_no_rows(answer: &QueryAnswer) -> bool {
    matches!(answer, QueryAnswer::Rows(rows) if rows.is_empty())
}

/// Whether PostgreSQL has our rows with another plan; none if it fails with all.
fn other_plan(sql: &str, answers: &AnswerPair<'_>, session: &mut PostgresSession) -> Option<bool> {
    PLANS.iter().find_map(|plan| match answer_with_plan(plan, sql, session) {
        theirs @ QueryAnswer::Rows(_) => {
            Some(difference(answers.ours, &theirs, answers.order).is_none())
        }
        _ => None,
    })
}

/// Whether PostgreSQL has this error with another plan.
fn fails_with_a_plan(sql: &str, error: &QueryAnswer, session: &mut PostgresSession) -> bool {
    PLANS.iter().any(|plan| is_same_error(&answer_with_plan(plan, sql, session), error))
}

fn answer_with_plan(plan: &str, sql: &str, session: &mut PostgresSession) -> QueryAnswer {
    session.define(plan);
    let answer = session.answer(sql);
    session.define(USUAL_PLAN);
    answer
}

/// Whether a query has a query or VALUES in FROM, or one of WITH.
fn reads_query(query: &QueryTree) -> bool {
    let (mut is_written, mut queries) = (false, 0);
    visit(query, &mut |part| match part {
        QueryTree::Item(_) => {
            is_written |= NamedItem::of(part).is_some_and(|item| item.text.starts_with('('));
        }
        QueryTree::Query(..) => queries += 1,
        _ => {}
    });
    is_written || queries > 1
}

/// Whether a query has aggregates or windows, of which nothing may be read.
fn computes_groups(text: &str) -> bool {
    ["sum(", "count(", "min(", "max(", "avg(", " over ("].iter().any(|one| text.contains(one))
}

/// Whether PostgreSQL raises an error before it runs a query.
fn fails_to_plan(sql: &str, error: &QueryAnswer, session: &mut PostgresSession) -> bool {
    is_same_error(&session.answer(&format!("explain {sql}")), error)
}

fn has_several_sources(query: &QueryTree) -> bool {
    let (mut items, mut queries) = (Vec::new(), Vec::new());
    visit(query, &mut |part| match part {
        QueryTree::Item(_) => items.extend(NamedItem::of(part)),
        QueryTree::Query(..) => queries.push(part.text()),
        _ => {}
    });
    items.len() > 1 || queries.len() > 1
}

/// An item of FROM that has a name.
#[derive(Clone, Debug)]
struct NamedItem {
    alias: String,
    text: String,
}

impl NamedItem {
    /// Returns an item that is no join.
    fn of(item: &QueryTree) -> Option<Self> {
        let text = item.text();
        let head = match text.strip_suffix(')') {
            Some(head) => &head[..opening(head)?],
            None => &text,
        };
        let alias = head.rsplit(|one: char| !one.is_ascii_alphanumeric()).next()?;
        let (letter, number) = alias.split_at_checked(1)?;
        let is_alias = "tqwvaglk".contains(letter)
            && !number.is_empty()
            && number.bytes().all(|byte| byte.is_ascii_digit())
            && is_one_source(&head[..head.len() - alias.len()]);
        is_alias.then(|| Self { alias: alias.to_owned(), text: text.clone() })
    }
}

/// Whether a text is a table, a call or something in parentheses, and no list or join of such.
fn is_one_source(text: &str) -> bool {
    let text = text.trim_end();
    let rest = text.strip_prefix("lateral ").unwrap_or(text);
    let rest = rest.trim_start_matches(|one: char| one.is_ascii_alphanumeric() || one == '_');
    let is_whole = |inner: &str| opening(inner) == Some(0);
    !text.is_empty() && (rest.is_empty() || rest.strip_suffix(')').is_some_and(is_whole))
}

/// Returns where the parenthesis is that a text leaves open.
fn opening(text: &str) -> Option<usize> {
    let mut depth = 0;
    let mut marks = text.char_indices().rev().filter(|(_, one)| "()".contains(*one));
    marks.find_map(|(at, one)| {
        depth += if one == ')' { 1 } else { -1 };
        (depth < 0).then_some(at)
    })
}

/// Whether a text names a column of an item.
fn mentions(text: &str, alias: &str) -> bool {
    text.match_indices(&format!("{alias}.")).any(|(at, _)| {
        !text[..at].ends_with(|before: char| before.is_ascii_alphanumeric() || before == '_')
    })
}

/// Whether a part of a query, one that `is_wanted`, fails in the same way if it is computed for all
/// rows.
fn fails_apart(
    query: &QueryTree,
    error: &QueryAnswer,
    is_wanted: &dyn Fn(&QueryTree) -> bool,
    run: &mut dyn FnMut(&str) -> QueryAnswer,
) -> bool {
    texts_apart(query, is_wanted).iter().any(|sql| is_same_error(&run(sql), error))
}

/// Returns queries that compute parts of a query, those that are wanted, for all rows of the items
/// that they name.
fn texts_apart(query: &QueryTree, is_wanted: &dyn Fn(&QueryTree) -> bool) -> Vec<String> {
    let with = with_clause(query);
    let (mut items, mut parts) = (Vec::new(), Vec::new());
    visit(query, &mut |part| match part {
        QueryTree::Item(_) => items.extend(NamedItem::of(part)),
        QueryTree::Value(..) | QueryTree::Query(..) if is_wanted(part) => parts.push(part.clone()),
        _ => {}
    });
    let mut texts = Vec::new();
    for part in &parts {
        let text = part.text();
        let Some(from) = items_of(&text, &items) else { continue };
        let is_query = matches!(part, QueryTree::Query(..));
        texts.push(match (is_query, from.is_empty()) {
            (true, true) => format!("{with}select * from ({text}) q0"),
            (true, false) => format!("{with}select q0.* from {from}, lateral ({text}) q0"),
            (false, true) => format!("{with}select {text}"),
            (false, false) => format!("{with}select {text} from {from}"),
        });
        if let QueryTree::Query(1, _) = part {
            let from = if from.is_empty() { from } else { format!(" from {from}") };
            texts.push(format!("{with}select ({text}){from}"));
        }
    }
    texts
}

/// Returns FROM with the items that a part names and does not have; none if there are too many.
fn items_of(part: &str, items: &[NamedItem]) -> Option<String> {
    let is_own = |item: &NamedItem| {
        // As the alias `t1` is no part of `t10`, and the item `t t1` none of `select t1.c`.
        let is_part = |one: char| one.is_ascii_alphanumeric();
        part.match_indices(&item.text).any(|(at, own)| {
            !part[..at].ends_with(is_part) && !part[at + own.len()..].starts_with(is_part)
        })
    };
    let mut wanted: Vec<&NamedItem> = Vec::new();
    let mut texts = vec![part];
    while let Some(text) = texts.pop() {
        for item in items {
            let is_known = wanted.iter().any(|one| one.alias == item.alias);
            if !is_known && !is_own(item) && item.text != text && mentions(text, &item.alias) {
                wanted.push(item);
                texts.push(&item.text);
            }
        }
    }
    if wanted.len() > ITEMS_MAX {
        return None;
    }
    // An item comes behind those that it names.
    let mut placed: Vec<&NamedItem> = Vec::new();
    while placed.len() < wanted.len() {
        let is_placed = |alias: &str| placed.iter().any(|one| one.alias == alias);
        let next = wanted.iter().find(|item| {
            let names = wanted.iter().filter(|other| other.alias != item.alias);
            let mut needed = names.filter(|other| mentions(&item.text, &other.alias));
            !is_placed(&item.alias) && needed.all(|other| is_placed(&other.alias))
        })?;
        placed.push(next);
    }
    let texts = placed.iter().map(|item| {
        let is_lateral = item.text.starts_with('(') && !item.text.starts_with("(values");
        if is_lateral { format!("lateral {}", item.text) } else { item.text.clone() }
    });
    Some(texts.collect::<Vec<_>>().join(", "))
}

/// Whether we have PostgreSQL's rows if an outer join is replaced by its side.
fn answers_without_join(
    query: &QueryTree,
    answers: &AnswerPair<'_>,
    database: &RandomDatabase,
) -> bool {
    let mut paths = Vec::new();
    outer_joins(query, &mut Vec::new(), &mut paths);
    paths.iter().any(|path| {
        let mut sides = Vec::new();
        sides_of(part_at(&mut query.clone(), path), &mut sides);
        sides.into_iter().any(|side| {
            let mut smaller = query.clone();
            *part_at(&mut smaller, path) = side;
            let ours = database.answer(&smaller.text(), RunVariant::Plain);
            let has_rows = matches!(ours, QueryAnswer::Rows(_));
            has_rows && difference(&ours, answers.theirs, RowOrder::None).is_none()
        })
    })
}

/// Finds the items that are joins with LEFT or RIGHT.
fn outer_joins(part: &QueryTree, path: &mut Vec<usize>, found: &mut Vec<Vec<usize>>) {
    if matches!(part, QueryTree::Item(_)) {
        let mut words = String::new();
        own_text(part, true, &mut words);
        if words.contains(" left join ") || words.contains(" right join ") {
            found.push(path.clone());
        }
    }
    for (index, child) in part.children().iter().enumerate() {
        path.push(index);
        outer_joins(child, path, found);
        path.pop();
    }
}

/// Writes what an item has outside of its own items, queries and conditions.
fn own_text(part: &QueryTree, is_first: bool, text: &mut String) {
    match part {
        QueryTree::Item(inner) if is_first => own_text(inner, false, text),
        QueryTree::Text(own) => text.push_str(own),
        QueryTree::Parts(parts) => parts.iter().for_each(|one| own_text(one, false, text)),
        _ => {}
    }
}

/// Returns the items of an item.
fn sides_of(part: &QueryTree, sides: &mut Vec<QueryTree>) {
    for child in part.children() {
        match child {
            QueryTree::Item(_) => sides.push(child.clone()),
            QueryTree::Query(..) | QueryTree::Value(..) => {}
            other => sides_of(other, sides),
        }
    }
}

/// Calls `each` for a tree and all its parts.
fn visit(part: &QueryTree, each: &mut dyn FnMut(&QueryTree)) {
    each(part);
    part.children().iter().for_each(|child| visit(child, each));
}

#[test]
fn items_are_told_from_lists() {
    for (text, is_item) in [
        ("v t1", true),
        ("generate_series(0, (7)) g6(c1)", true),
        ("(values (1), (2)) v2(c1)", true),
        ("(select 1 from t t1) q1(c1), (values (1)) v2(c1)", false),
        ("v t1 cross join w t2", false),
        ("(v t1 cross join w t2)", false),
    ] {
        assert_eq!(NamedItem::of(&QueryTree::from(text)).is_some(), is_item, "{text}");
    }
}
