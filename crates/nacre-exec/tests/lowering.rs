//! Statements from their text to their answer: parsed, bound, lowered, and run over frozen and hot
//! rows. Expected answers are literals, or computed by plain loops.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic where it stands")]

#[allow(dead_code, reason = "what other tests need of it")]
#[path = "../../nacre-functions/tests/server/mod.rs"]
mod server;
mod support;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use nacre_store::{OpenOptions, Store, Value};
use nacre_types::{SqlType, SqlValue};
use server::TestServer;
use support::lineitem::{LineItem, q1_reference, q6_reference};
use support::statements::{
    TestDatabase, TestRow, Texts, is_ordered, sorted, table_of, text_of, texts,
};

/// Of these, 9,100 are frozen in two chunks, one of more than a vector.
const ROWS: i64 = 9_500;

fn test_database() -> (TestDatabase, Vec<TestRow>) {
    TestDatabase::of_rows(ROWS, 9_100, 9_000)
}

/// Writes an unscaled decimal.
fn decimal(unscaled: i128, scale: u32) -> String {
    let power = 10_u128.pow(scale);
    let sign = if unscaled < 0 { "-" } else { "" };
    let (whole, rest) = (unscaled.unsigned_abs() / power, unscaled.unsigned_abs() % power);
    match scale {
        0 => format!("{sign}{whole}"),
        _ => format!("{sign}{whole}.{rest:0width$}", width = scale as usize),
    }
}

fn or_dash(value: Option<impl ToString>) -> String {
    value.map_or_else(|| "-".to_owned(), |value| value.to_string())
}

/// Whether a condition is true for a row.
type RowTest = fn(&TestRow) -> bool;

/// Conditions of the table `t`.
const CONDITIONS: &[(&str, RowTest)] = &[
    ("a = 3", |row| row.a == Some(3)),
    ("a <> 3", |row| row.a.is_some_and(|a| a != 3)),
    ("3 > a", |row| row.a.is_some_and(|a| a < 3)),
    ("a between -2 and 4", |row| row.a.is_some_and(|a| (-2..=4).contains(&a))),
    ("a not between -2 and 4", |row| row.a.is_some_and(|a| !(-2..=4).contains(&a))),
    ("a < 3000000000", |row| row.a.is_some()),
    ("a < 1e30", |row| row.a.is_some()),
    ("a > 2.5", |row| row.a.is_some_and(|a| a > 2)),
    ("k = 4 or a = 4", |row| row.k == Some(4) || row.a == Some(4)),
    ("not (k = 4)", |row| row.k.is_some_and(|k| k != 4)),
    ("not (k = 4 or a = 4)", |row| row.k.is_some_and(|k| k != 4) && row.a.is_some_and(|a| a != 4)),
    ("a in (1, 2, 5)", |row| matches!(row.a, Some(1 | 2 | 5))),
    ("a in (1, null, 5)", |row| matches!(row.a, Some(1 | 5))),
    ("a not in (1, 2, 5)", |row| row.a.is_some_and(|a| !matches!(a, 1 | 2 | 5))),
    ("a not in (1, null)", |_| false),
    ("(a in (1, 2)) is not true", |row| !matches!(row.a, Some(1 | 2))),
    ("a is null", |row| row.a.is_none()),
    ("a is not null", |row| row.a.is_some()),
    ("o", |row| row.o == Some(true)),
    ("not o", |row| row.o == Some(false)),
    ("o is not true", |row| row.o != Some(true)),
    ("o is unknown", |row| row.o.is_none()),
    ("o is false", |row| row.o == Some(false)),
    ("n >= 12.34", |row| row.n.is_some_and(|n| n >= 1_234)),
    ("n < 0.005", |row| row.n.is_some_and(|n| n <= 0)),
    ("n > -0.005", |row| row.n.is_some_and(|n| n >= 0)),
    ("n between 0.06 - 0.01 and 0.06 + 3", |row| row.n.is_some_and(|n| (5..=306).contains(&n))),
    ("n = 1.11", |row| row.n == Some(111)),
    ("n = 1.111", |_| false),
    ("n > a", |row| row.n.zip(row.a).is_some_and(|(n, a)| n > a * 100)),
    ("n * 3 < 10.5", |row| row.n.is_some_and(|n| n * 3 < 1_050)),
    ("n + 0.125 >= 1", |row| row.n.is_some_and(|n| n * 10 + 125 >= 1_000)),
    ("s = 'apple'", |row| row.s == Some("apple")),
    ("s > 'a_b'", |row| row.s.is_some_and(|s| s > "a_b")),
    ("s in ('', 'banana')", |row| matches!(row.s, Some("" | "banana"))),
    ("s like 'a%e%'", |row| matches!(row.s, Some("apple" | "a cherry of more than 12 bytes"))),
    ("s not like '%a%'", |row| matches!(row.s, Some("" | "\u{e4}pfel"))),
    (r"s like 'a\_b'", |row| row.s == Some("a_b")),
    ("s like '_pfel'", |row| row.s == Some("\u{e4}pfel")),
    ("s like '%an%' or id < 0", |row| row.s == Some("banana")),
    ("(s not like 'a%') is not false", |row| row.s.is_none_or(|s| !s.starts_with('a'))),
    ("c like 'x%'", |row| row.c.is_some_and(|c| c.starts_with('x'))),
    // The blanks at the end of `char(5)` count.
    ("c like 'yy'", |_| false),
    ("c like 'yy   '", |row| row.c == Some("yy")),
    ("c not like '_y%' or id < 0", |row| row.c.is_some_and(|c| c != "yy")),
    ("c = 'yy'", |row| row.c == Some("yy")),
    ("c = 'yy   '", |row| row.c == Some("yy")),
    ("c = ''", |row| row.c == Some("")),
    ("c < 'yy'", |row| row.c.is_some_and(|c| c < "yy")),
    ("c in ('x  ', 'zzz')", |row| matches!(row.c, Some("x" | "zzz"))),
    // 9,131 is 1995-01-01.
    ("d < date '1995-01-01'", |row| row.d.is_some_and(|d| d < 9_131)),
    ("d >= date '1994-01-01' + interval '1' year", |row| row.d.is_some_and(|d| d >= 9_131)),
    ("d <= date '1995-04-01' - interval '90' day", |row| row.d.is_some_and(|d| d <= 9_131)),
    ("d < timestamp '1995-01-01 12:00'", |row| row.d.is_some_and(|d| d <= 9_131)),
    ("d > timestamp '1995-01-01 12:00' or id < 0", |row| row.d.is_some_and(|d| d > 9_131)),
    ("d = '1995-01-01'", |row| row.d == Some(9_131)),
    ("extract(year from d) = 1995", |row| row.d.is_some_and(|d| (9_131..9_131 + 365).contains(&d))),
    ("d - date '1995-01-01' > 100", |row| row.d.is_some_and(|d| d > 9_231)),
    ("f > 0.5", |row| row.f.is_some_and(|f| f > 0.5)),
    ("f < 2", |row| row.f.is_some_and(|f| f < 2.0)),
    ("a < f", |row| row.a.zip(row.f).is_some_and(|(a, f)| (a as f64) < f)),
    ("a % 2 = 1 and k / 2 = 2", |row| {
        row.a.is_some_and(|a| a % 2 == 1) && row.k.is_some_and(|k| k / 2 == 2)
    }),
    ("a <> 0 and 12 / a > 3", |row| row.a.is_some_and(|a| a != 0 && 12 / a > 3)),
    ("case when a = 0 then false else 12 / a > 3 end", |row| {
        row.a.is_some_and(|a| a != 0 && 12 / a > 3)
    }),
    ("a is distinct from k", |row| row.a != row.k),
    ("a is not distinct from k", |row| row.a == row.k),
    ("s is distinct from 'apple'", |row| row.s != Some("apple")),
    ("coalesce(a, k, 99) = 99", |row| row.a.is_none() && row.k.is_none()),
    ("nullif(a, 3) is null", |row| row.a.is_none_or(|a| a == 3)),
    ("a in (null)", |_| false),
    ("o > false", |row| row.o == Some(true)),
    ("a + k <> 0 and 12 / (a + k) > 3", |row| {
        row.a.zip(row.k).is_some_and(|(a, k)| a + k != 0 && 12 / (a + k) > 3)
    }),
    ("a + k = 0 or 12 / (a + k) > 3", |row| {
        row.a.zip(row.k).is_some_and(|(a, k)| a + k == 0 || 12 / (a + k) > 3)
    }),
    ("true", |_| true),
    ("false", |_| false),
    ("null", |_| false),
    ("a::numeric(20, 3) = 3.000", |row| row.a == Some(3)),
    ("n::integer = 2", |row| row.n.is_some_and(|n| (150..250).contains(&n))),
    ("n::integer = -2", |row| row.n.is_some_and(|n| (-249..=-150).contains(&n))),
];

#[test]
fn conditions_keep_the_rows_that_they_are_true_for() {
    let (database, rows) = test_database();
    for (condition, holds) in CONDITIONS {
        let wanted = rows.iter().filter(|row| holds(row)).map(|row| vec![row.id.to_string()]);
        let found = database.rows(&format!("select id from t where {condition}"));
        assert_eq!(found, sorted(wanted.collect()), "{condition}");
        // The same where no scan decides it.
        let wanted = rows.iter().filter(|row| holds(row)).count().to_string();
        let sql = format!("select count(*) from t where ({condition}) is true");
        assert_eq!(database.rows(&sql), [[wanted]], "{sql}");
    }
}

#[test]
fn computed_columns_have_the_types_and_digits_of_postgresql() {
    let (database, rows) = test_database();
    let sql = "select id, a + k, a * n, n - 1, -n, n + 0.125, c, d, o, f, s, a::bigint * 1000000, \
               1.50, 'x', case when o then n else -n end, null from t";
    let wanted = rows.iter().map(|row| {
        let (a, n) = (row.a.map(i128::from), row.n.map(i128::from));
        let date = row.d.map(|d| {
            let date = nacre_types::datetime::SqlDate::from_unix_days(d).unwrap();
            text_of(&SqlValue::Date(date), SqlType::DATE)
        });
        vec![
            row.id.to_string(),
            or_dash(row.a.zip(row.k).map(|(a, k)| a + k)),
            or_dash(a.zip(n).map(|(a, n)| decimal(a * n, 2))),
            or_dash(n.map(|n| decimal(n - 100, 2))),
            or_dash(n.map(|n| decimal(-n, 2))),
            or_dash(n.map(|n| decimal(n * 10 + 125, 3))),
            or_dash(row.c.map(|c| format!("{c:<5}"))),
            or_dash(date),
            or_dash(row.o.map(|o| if o { "t" } else { "f" })),
            or_dash(row.f),
            or_dash(row.s),
            or_dash(row.a.map(|a| a * 1_000_000)),
            "1.50".to_owned(),
            "x".to_owned(),
            or_dash(n.map(|n| decimal(if row.o == Some(true) { n } else { -n }, 2))),
            "-".to_owned(),
        ]
    });
    assert_eq!(database.rows(sql), sorted(wanted.collect()));
}

#[test]
fn groups_have_a_row_for_nulls_and_having_chooses_among_them() {
    let (database, rows) = test_database();
    let mut groups: BTreeMap<Option<i64>, Vec<&TestRow>> = BTreeMap::new();
    for row in &rows {
        groups.entry(row.k).or_default().push(row);
    }
    assert!(groups.contains_key(&None));
    let sql = "select k, count(*), count(a), sum(a), sum(id), min(n), max(s), sum(n * 2), \
               count(distinct a), count(*) filter (where o), max(c), sum(k) from t group by k";
    let wanted = groups.iter().map(|(k, rows)| {
        let sum = |value: fn(&TestRow) -> Option<i64>| {
            let values = rows.iter().filter_map(|row| value(row)).map(i128::from);
            (values.clone().count() > 0).then(|| values.sum::<i128>())
        };
        let distinct: BTreeSet<i64> = rows.iter().filter_map(|row| row.a).collect();
        vec![
            or_dash(*k),
            rows.len().to_string(),
            rows.iter().filter(|row| row.a.is_some()).count().to_string(),
            or_dash(sum(|row| row.a)),
            or_dash(sum(|row| Some(row.id))),
            or_dash(rows.iter().filter_map(|row| row.n).min().map(|n| decimal(n.into(), 2))),
            or_dash(rows.iter().filter_map(|row| row.s).max()),
            or_dash(sum(|row| row.n).map(|n| decimal(n * 2, 2))),
            distinct.len().to_string(),
            rows.iter().filter(|row| row.o == Some(true)).count().to_string(),
            or_dash(rows.iter().filter_map(|row| row.c).max().map(|c| format!("{c:<5}"))),
            or_dash(sum(|row| row.k)),
        ]
    });
    assert_eq!(database.rows(sql), sorted(wanted.collect()));

    let sql = "select k + 1, count(*) as rows from t where a > 0 group by k \
               having max(id) % 2 = 0 and count(*) > 10";
    let wanted = groups.iter().filter_map(|(k, rows)| {
        let kept: Vec<_> = rows.iter().filter(|row| row.a.is_some_and(|a| a > 0)).collect();
        let last = kept.iter().map(|row| row.id).max()?;
        let is_kept = last % 2 == 0 && kept.len() > 10;
        is_kept.then(|| vec![or_dash(k.map(|k| k + 1)), kept.len().to_string()])
    });
    let wanted = sorted(wanted.collect());
    assert!(!wanted.is_empty() && wanted.len() < groups.len(), "it chooses");
    assert_eq!(database.rows(sql), wanted);

    let sql = "select count(*), sum(a), min(d), count(distinct s) from t where a > 1000";
    assert_eq!(database.rows(sql), texts(&[&["0", "-", "-", "0"]]));
    let sql = "select avg(n), sum(n), avg(a), sum(a), avg(id), sum(id) from t where a > 1000";
    assert_eq!(database.rows(sql), texts(&[&["-"; 6]]));
    assert_eq!(database.rows("select k, count(*) from t where a > 1000 group by k"), texts(&[]));
    assert_eq!(database.rows("select count(*) from t"), texts(&[&["9500"]]));
    let sql = "select case when id < 3 then 'low' else 'high' end, count(*) from t group by 1";
    assert_eq!(database.rows(sql), texts(&[&["high", "9497"], &["low", "3"]]));
}

#[test]
fn averages_have_the_digits_of_postgresql() {
    let (database, _) = test_database();
    // Ids 0 to 3, and quotients that PostgreSQL 15 gives.
    let sql = "select avg(id), sum(id), avg(id * 0.01), avg(id - 1.5), count(*), avg(a) \
               filter (where id > 3) from t where id < 4";
    let wanted =
        ["1.5000000000000000", "6", "0.01500000000000000000", "0.00000000000000000000", "4", "-"];
    assert_eq!(database.rows(sql), texts(&[&wanted]));
    let sql = "select id / 3, avg(id) from t where id < 5 group by id / 3 order by id / 3";
    let wanted = [["0", "1.00000000000000000000"], ["1", "3.5000000000000000"]];
    assert_eq!(database.ordered_rows(sql), wanted);
}

/// Runs the statements of a file, and compares their rows with those that stand below.
fn compare_with_answers(file: &str) {
    let (database, _) = test_database();
    let blocks = file.split("\n\n").filter(|block| !block.starts_with('#'));
    let (mut count, mut differences) = (0, Vec::new());
    for block in blocks {
        let mut lines = block.lines();
        let Some(sql) = lines.next() else { continue };
        let mut rows: Texts = Vec::new();
        let mut wanted = Ok(());
        for line in lines {
            match line.strip_prefix("error: ") {
                Some(error) => wanted = Err(error.to_owned()),
                None => rows.push(line.split('\t').map(str::to_owned).collect()),
            }
        }
        let in_order = |rows: Texts| if sql.contains("order by") { rows } else { sorted(rows) };
        let wanted = wanted.map(|()| in_order(rows));
        let found = database.run(sql).map(in_order);
        if found != wanted {
            differences.push(format!("{sql}\n  {found:?}\n  PostgreSQL {wanted:?}"));
        }
        count += 1;
    }
    assert!(count > 0 && differences.is_empty(), "of {count}:\n{}", differences.join("\n"));
}

#[test]
fn averages_and_quotients_have_the_answers_of_postgresql() {
    compare_with_answers(include_str!("answers/averages.txt"));
}

#[test]
fn grouping_sets_have_the_answers_of_postgresql() {
    compare_with_answers(include_str!("answers/grouping_sets.txt"));
}

#[test]
fn functions_and_casts_have_the_answers_of_postgresql() {
    compare_with_answers(include_str!("answers/functions.txt"));
}

#[test]
fn other_aggregates_have_the_answers_of_postgresql() {
    compare_with_answers(include_str!("answers/aggregates.txt"));
}

#[test]
fn numerics_of_any_scale_have_the_answers_of_postgresql() {
    compare_with_answers(include_str!("answers/numerics.txt"));
}

#[test]
fn random_expressions_over_groups_have_the_answers_of_postgresql() {
    compare_with_answers(include_str!("answers/random.txt"));
}

#[test]
fn distinct_rows_come_once() {
    let (database, rows) = test_database();
    let wanted: BTreeSet<Vec<String>> =
        rows.iter().map(|row| vec![or_dash(row.k), or_dash(row.s)]).collect();
    let found = database.rows("select distinct k, s from t");
    assert_eq!(found, wanted.into_iter().collect::<Vec<_>>());
    let found = database.ordered_rows("select distinct o, o from t order by 1 desc nulls last");
    assert_eq!(found, texts(&[&["t", "t"], &["f", "f"], &["-", "-"]]));
}

/// Statements with window functions, one a line.
const WINDOW_STATEMENTS: &str = include_str!("window_statements.sql");

/// Writes the table `t` as PostgreSQL reads it.
fn definitions(rows: &[TestRow]) -> String {
    let text = |text: Option<&str>| {
        text.map_or_else(|| "null".to_owned(), |text| format!("'{}'", text.replace('\'', "''")))
    };
    let or_null = |value: Option<String>| value.unwrap_or_else(|| "null".to_owned());
    let rows: Vec<String> = rows
        .iter()
        .map(|row| {
            let int = |value: Option<i64>| or_null(value.map(|value| value.to_string()));
            let values = [
                row.id.to_string(),
                int(row.a),
                int(row.k),
                or_null(row.n.map(|n| decimal(n.into(), 2))),
                text(row.s),
                text(row.c),
                or_null(row.d.map(|d| format!("date '1970-01-01' + {d}"))),
                or_null(row.o.map(|o| o.to_string())),
                or_null(row.f.map(|f| format!("'{f}'"))),
            ];
            format!("({})", values.join(", "))
        })
        .collect();
    format!(
        "create table t (id bigint not null, a integer, k smallint, n numeric(10,2), s text, \
         c character(5), d date, o boolean, f double precision);\ninsert into t values {};\n\
         analyze t;",
        rows.join(",\n")
    )
}

#[test]
fn window_functions_answer_as_those_of_postgresql() {
    let Some(server) = TestServer::start() else {
        return;
    };
    let (database, rows) = TestDatabase::of_rows(2_000, 1_800, 1_000);
    let statements: Vec<String> = WINDOW_STATEMENTS.lines().map(str::to_owned).collect();
    let theirs = server.answers(&definitions(&rows), &statements);
    assert_eq!(theirs.len(), statements.len());
    let mut differences = Vec::new();
    for (sql, theirs) in statements.iter().zip(theirs) {
        let theirs = theirs.unwrap_or_else(|| panic!("PostgreSQL refuses {sql}"));
        let ours = match database.run(sql) {
            Ok(ours) => ours,
            Err(error) => {
                differences.push(format!("{sql}\n   {error}"));
                continue;
            }
        };
        let field = |one: String| if one == "-" { "NULL".to_owned() } else { one };
        let line = |row: Vec<String>| row.into_iter().map(field).collect::<Vec<_>>().join("\t");
        let mut ours: Vec<String> = ours.into_iter().map(line).collect();
        let mut theirs = theirs;
        if !is_ordered(sql) {
            ours.sort_unstable();
            theirs.sort_unstable();
        }
        if let Some((own, other)) = ours.iter().zip(&theirs).find(|(own, other)| own != other) {
            differences.push(format!("{sql}\n   {own}\n   PostgreSQL {other}"));
        } else if ours.len() != theirs.len() {
            differences.push(format!("{sql}\n   {} rows, not {}", ours.len(), theirs.len()));
        }
    }
    assert!(differences.is_empty(), "{} differ:\n{}", differences.len(), differences.join("\n"));
}

#[test]
fn windows_that_one_sort_serves_are_one_node() {
    let (database, _) = test_database();
    let windows = |sql: &str| {
        let query =
            nacre_exec::lower::lower_query(&database.bind(sql), &database, &Default::default())
                .unwrap();
        let mut found = Vec::new();
        let mut next = Some(query.plan.root.describe());
        while let Some(mut operator) = next {
            if operator.name == "Window" {
                let windows = operator.facts.iter().filter(|(name, _)| *name == "window");
                found.push(windows.map(|(_, text)| text.clone()).collect::<Vec<_>>().join("; "));
            }
            next = operator.inputs.pop();
        }
        found
    };
    assert_eq!(
        windows(
            "select count(*) over (), rank() over (partition by a order by k, id), \
             max(n) over (partition by s), min(k) over (partition by a) from t"
        ),
        [
            "max(n) over (partition by s)",
            "rank() over (partition by a order by k, id); count(*) over (); \
             min(k) over (partition by a)"
        ]
    );
    // What nobody wants is not computed.
    assert_eq!(
        windows("select r from (select rank() over (order by a) as r, sum(k) over () from t) q"),
        ["rank() over (order by a)"]
    );
    assert_eq!(windows("select id from (select id, rank() over (order by a) from t) q").len(), 0);
    // One that reads the result of another one cannot be computed with it.
    assert_eq!(
        windows(
            "select sum(r) over (order by a) \
             from (select a, rank() over (order by a) as r from t) q"
        ),
        ["sum(rank()) over (order by a)", "rank() over (order by a)"]
    );
}

#[test]
fn window_functions_that_may_fail_are_refused_where_fewer_rows_count() {
    let (database, _) = test_database();
    let error = |sql: &str| database.run(sql).unwrap_err();
    assert_eq!(error("select sum(1 / a) over (order by id) from t"), "division by zero");
    assert_eq!(
        error("select ntile(0) over (order by id) from t"),
        "argument of ntile must be greater than zero"
    );
    assert_eq!(
        error("select nth_value(a, k - 5) over (order by id) from t"),
        "argument of nth_value must be greater than zero"
    );
    let sql = "select sum(10 / a) filter (where a <> 0) over () from t where id < 3";
    assert_eq!(database.rows(sql).len(), 3);
    for sql in [
        "select sum(1 / a) over (order by id) from t limit 1",
        "select x from (select k, sum(1 / a) over (partition by k) as x from t) q where k = 1",
        "select ntile(k) over (order by id) from t limit 1",
        "select sum(x) filter (where o) over () from (select o, 1 / a as x from t) q",
    ] {
        assert!(error(sql).starts_with("not supported: "), "{sql}: {}", error(sql));
    }
}

#[test]
fn rows_come_in_order_with_nulls_where_they_are_wanted() {
    let (database, rows) = test_database();
    let int = |value: Option<i64>, null: i64| value.unwrap_or(null);
    let in_order = |key: &dyn Fn(&TestRow) -> (i64, i64)| {
        let mut rows: Vec<&TestRow> = rows.iter().collect();
        rows.sort_by_key(|row| key(row));
        rows.iter().map(|row| vec![or_dash(row.n), row.id.to_string()]).collect::<Texts>()
    };
    let found = |order: &str| {
        let rows = database.ordered_rows(&format!("select (n * 100)::bigint, id from t {order}"));
        assert_eq!(rows.iter().filter(|row| row[0] == "-").count() > 0, !order.contains("limit"));
        rows
    };
    let (least, most) = (i64::MIN, i64::MAX);
    let ascending = in_order(&|row| (int(row.n, most), row.id));
    assert_eq!(found("order by n, id"), ascending);
    assert_eq!(found("order by n asc nulls last, id"), ascending);
    assert_eq!(found("order by n nulls first, id"), in_order(&|row| (int(row.n, least), row.id)));
    let descending = in_order(&|row| (row.n.map_or(least, |n| -n), row.id));
    assert_eq!(found("order by n desc, id"), descending);
    let last = in_order(&|row| (row.n.map_or(most, |n| -n), -row.id));
    assert_eq!(found("order by n desc nulls last, id desc"), last);
    assert_eq!(found("order by n, id limit 5 offset 3"), ascending[3..8]);
    assert_eq!(found("order by n desc nulls last, id desc limit 20"), last[..20]);
    assert_eq!(database.ordered_rows("select id from t order by id offset 9498").len(), 2);
    assert_eq!(database.ordered_rows("select id from t order by -id limit 1"), texts(&[&["9499"]]));
    let rows = database.run("select id from t where a = 3 limit 7 offset 2").unwrap();
    assert_eq!(rows.len(), 7);
    assert_eq!(database.rows("select id from t limit 0").len(), 0);
    assert_eq!(database.rows("select id from t limit null").len(), ROWS as usize);
}

#[test]
fn results_beyond_their_type_are_errors_where_rows_reach_them() {
    let (database, rows) = test_database();
    let error = |sql: &str| database.run(sql).unwrap_err();
    assert_eq!(error("select a + 2147483647 from t"), "integer out of range");
    assert_eq!(error("select k * 32767::smallint from t"), "smallint out of range");
    assert_eq!(error("select id * 9223372036854775807 from t"), "bigint out of range");
    assert_eq!(error("select (id * 1000000)::integer from t"), "integer out of range");
    assert_eq!(error("select (n * 10000000000)::integer from t"), "integer out of range");
    assert_eq!(error("select 1 / a from t"), "division by zero");
    assert_eq!(error("select id % (a - a) from t where a is not null"), "division by zero");
    // Constants that fail do so if there are no rows, too.
    let sql = "select avg(a) + 1.0 / 0 from t where a > 1000 group by k";
    assert_eq!(error(sql), "division by zero");
    assert_eq!(error("select 1 / 0 from t"), "division by zero");
    assert_eq!(error("select 2147483647 + 1 from t"), "integer out of range");
    assert_eq!(error("select date '1995-01-01' + 2147483647 from t"), "date out of range");
    // Not beyond: numerics take over from bigint, and conditions keep rows away.
    let sum = (0..i128::from(ROWS)).map(|id| id * 900_000_000_000_000).sum::<i128>();
    let sql = "select sum(id * 900000000000000) from t";
    assert_eq!(database.rows(sql), [[sum.to_string()]]);
    assert_eq!(database.rows("select a + 2147483647 from t where a > 1000"), texts(&[]));
    let sql = "select count(*) from t where case when a = 0 then false else 1 / a > 5 end";
    assert_eq!(database.rows(sql), texts(&[&["0"]]));
    // An aggregate computes nothing for rows that its filter leaves out.
    let quotients = rows.iter().filter_map(|row| row.a).filter(|a| *a != 0).map(|a| 100 / a);
    let sql = "select sum(100 / a) filter (where a <> 0) from t";
    assert_eq!(database.rows(sql), [[quotients.sum::<i64>().to_string()]]);
    assert_eq!(error("select sum(100 / a) filter (where a < 1) from t"), "division by zero");
    // A LIMIT computes no row that it does not hand out.
    let sql = "select 10 / (id - 4) from t where id < 5 limit 3";
    assert_eq!(database.run(sql).map(|rows| rows.len()), Ok(3));
    assert_eq!(error("select id from t limit -1"), "LIMIT must not be negative");
    // Nothing is computed if no row is wanted, or a condition without columns is not true.
    assert_eq!(database.rows("select 10 / a from t limit 0"), texts(&[]));
    assert_eq!(database.rows("select 10 / a from t where 10 / a > 1 and 1 = 0"), texts(&[]));
    let sql = "select count(*), sum(10 / a) from t where null and 10 / a > 1";
    assert_eq!(database.rows(sql), texts(&[&["0", "-"]]));
}

#[test]
fn what_is_not_certainly_the_same_is_not_supported() {
    let (database, _) = test_database();
    for sql in [
        "select sum(case when a <> 0 then q else 0 end) from (select a, 10 / a as q from t) x",
        "select id from t join (select k, sum(n) / sum(a) as m from t group by k) x \
         on t.k = x.k and n < 1 / m",
        "select id from t where a = $1",
    ] {
        let error = database.run(sql).expect_err(sql);
        assert!(error.starts_with("not supported: "), "{sql}: {error}");
    }
}

#[test]
fn windows_that_are_not_certainly_the_same_are_not_supported() {
    let (database, _) = test_database();
    for sql in [
        "select count(*) over (order by id rows -1 preceding) from t",
        "select count(*) over (order by id rows null::bigint preceding) from t",
        "select count(*) over (order by n range -0.5 preceding) from t",
        "select count(*) over (order by d range '-1 month' preceding) from t",
        "select count(*) over (order by d range '-1 day' preceding) from t",
        "select count(*) over (order by f range 'NaN' preceding) from t",
    ] {
        let error = database.run(sql).expect_err(sql);
        assert!(error.starts_with("not supported: "), "{sql}: {error}");
    }
}

#[test]
fn columns_that_are_stored_as_another_type_are_not_supported() {
    let (mut database, _) = test_database();
    let mut definition = (*database.tables[0].1).clone();
    definition.columns[1].sql_type = SqlType::BIGINT;
    database.tables[0].1 = Arc::new(definition);
    assert_eq!(
        database.run("select a from t").unwrap_err(),
        "not supported: columns of type bigint that are integer"
    );
    assert!(database.run("select id from t where a > 1").unwrap_err().starts_with("not supported"));
    assert_eq!(database.rows("select count(k) from t").len(), 1);
}

/// Divides as PostgreSQL does where the quotient's scale is that.
fn average(sum: i128, scale: u32, count: i128, quotient_scale: u32) -> String {
    let scaled = sum * 10_i128.pow(quotient_scale - scale);
    decimal((2 * scaled + count) / (2 * count), quotient_scale)
}

#[test]
fn q1_and_q6_agree_with_plain_loops() {
    let items = LineItem::generate(30_000, 7);
    let rows: Vec<Vec<Value>> = (0..items.rows())
        .map(|row| {
            vec![
                Value::Int(items.quantity[row]),
                Value::Int(items.price[row]),
                Value::Int(items.discount[row]),
                Value::Int(items.tax[row]),
                Value::Bytes(vec![items.return_flag[row]]),
                Value::Bytes(vec![items.line_status[row]]),
                Value::Int(items.ship_date[row]),
            ]
        })
        .collect();
    let store = Store::open(OpenOptions::default()).unwrap();
    let table = table_of(&store, LineItem::schema(), &rows, 29_000, 20_000);
    let database = TestDatabase::new(store, &[table]);

    let q6 = "select sum(l_extendedprice * l_discount) as revenue from lineitem \
              where l_shipdate >= date '1994-01-01' \
              and l_shipdate < date '1994-01-01' + interval '1' year \
              and l_discount between 0.06 - 0.01 and 0.06 + 0.01 and l_quantity < 24";
    let wanted = decimal(q6_reference(&items)[0][0], 4);
    assert_eq!(database.rows(q6), [[wanted]]);

    let q1 = "select l_returnflag, l_linestatus, sum(l_quantity) as sum_qty, \
              sum(l_extendedprice) as sum_base_price, \
              sum(l_extendedprice * (1 - l_discount)) as sum_disc_price, \
              sum(l_extendedprice * (1 - l_discount) * (1 + l_tax)) as sum_charge, \
              avg(l_quantity) as avg_qty, avg(l_extendedprice) as avg_price, \
              avg(l_discount) as avg_disc, count(*) as count_order \
              from lineitem where l_shipdate <= date '1998-12-01' - interval '90' day \
              group by l_returnflag, l_linestatus order by l_returnflag, l_linestatus";
    let wanted = q1_reference(&items).into_iter().map(|row| {
        let [flag, status, quantity, count, price, _, discounted, charge, discount, _, _] = row[..]
        else {
            panic!("{row:?}");
        };
        let letter = |byte: i128| char::from(byte as u8).to_string();
        // Words of four digits: PostgreSQL gives 36,000 twelve digits, 25 sixteen and 0.05 twenty.
        vec![
            letter(flag),
            letter(status),
            decimal(quantity, 2),
            decimal(price, 2),
            decimal(discounted, 4),
            decimal(charge, 6),
            average(quantity, 2, count, 16),
            average(price, 2, count, 12),
            average(discount, 2, count, 20),
            count.to_string(),
        ]
    });
    let wanted: Texts = wanted.collect();
    assert_eq!(wanted.len(), 4);
    assert_eq!(database.ordered_rows(q1), wanted);
}
