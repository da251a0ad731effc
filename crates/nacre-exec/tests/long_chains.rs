//! Chains of hundreds of operators, of joins, and of what USING merges.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic where it stands")]

mod support;

use support::statements::TestDatabase;

/// Terms of a sum.
const TERM_COUNT: usize = 900;

fn chain(word: &str, term: impl Fn(usize) -> String) -> String {
    (1..=TERM_COUNT).map(term).collect::<Vec<_>>().join(&format!(" {word} "))
}

/// Checks that expressions have the same values for all rows.
fn check_equal(database: &TestDatabase, long: &str, short: &str) {
    let sql = format!("select id from t where ({long}) is distinct from ({short})");
    assert_eq!(database.run_optimized(&sql), Ok(Vec::new()), "{short}");
    let values = |expression| database.rows(&format!("select id, {expression} from t"));
    assert_eq!(values(long), values(short), "{short}");
}

/// Sums of more than 225 terms were refused, after half a second, 2026-11-28.
#[test]
fn sums_of_many_terms_are_computed() {
    let (database, _) = TestDatabase::of_rows(60, 40, 20);
    let sum: usize = (1..=TERM_COUNT).sum();
    check_equal(&database, &chain("+", |n| format!("id * {n}")), &format!("id * {sum}"));
    check_equal(&database, &chain("+", |n| format!("a * {n}")), &format!("a * {sum}"));
    check_equal(&database, &chain("-", |n| format!("k * {n}")), &format!("k * {}", 2 - sum as i64));
    // Decimals of few digits, so that no sum has more than 38.
    let long = chain("+", |n| format!("(n * {n})::numeric(10, 2)"));
    let sql = format!("select count(*) from t where n between 0 and 1 and ({long}) <> n * {sum}");
    assert_eq!(database.run_optimized(&sql), Ok(vec![vec!["0".to_owned()]]));
    // What constants decide, in front and behind.
    check_equal(
        &database,
        &format!("{} + id", chain("+", |n| n.to_string())),
        &format!("id + {sum}"),
    );
    check_equal(
        &database,
        &format!("{} + null", chain("+", |n| format!("id / {n}"))),
        "null::bigint",
    );
    check_equal(
        &database,
        &chain("+", |n| if n == 300 { "null".to_owned() } else { format!("id * {n}") }),
        "null::bigint",
    );
}

#[test]
fn terms_of_a_long_sum_raise_their_errors() {
    let (database, _) = TestDatabase::of_rows(60, 40, 20);
    for at in [1, 2, 450, TERM_COUNT] {
        let failing = |term: &str| {
            let sum = chain("+", |n| if n == at { term.to_owned() } else { format!("id * {n}") });
            format!("select {sum} from t")
        };
        let error = database.run_optimized(&failing("10 / (id - 7)")).unwrap_err();
        assert_eq!(error, "division by zero");
        assert_eq!(database.run_optimized(&failing("1 / 0")).unwrap_err(), "division by zero");
        let error = database.run_optimized(&failing("9223372036854775800 + id")).unwrap_err();
        assert_eq!(error, "bigint out of range");
        // Not of rows that do not reach it.
        let guarded = failing("case when id <> 7 then 10 / (id - 7) end");
        assert_eq!(database.run_optimized(&guarded).unwrap().len(), 60);
    }
}

#[test]
fn strings_of_many_parts_are_joined() {
    let (database, _) = TestDatabase::of_rows(60, 40, 20);
    let parts = (1..=200).map(|n| format!("'{n},'")).collect::<Vec<_>>();
    let whole = (1..=200).map(|n| format!("{n},")).collect::<String>();
    check_equal(&database, &format!("s || {}", parts.join(" || ")), &format!("s || '{whole}'"));
    let long = chain("||", |n| format!("'{n}'"));
    let whole = (1..=TERM_COUNT).map(|n| n.to_string()).collect::<String>();
    check_equal(&database, &long, &format!("'{whole}'"));
}

/// The columns of all tables were collected for each of 600 joins, 2026-11-28.
#[test]
fn hundreds_of_outer_joins_are_lowered() {
    let (database, rows) = TestDatabase::of_rows(60, 40, 20);
    let joins = |kind: &str, on: fn(usize) -> String| {
        let joins = (1..120).map(|n| format!("{kind} join t t{n} {}", on(n)));
        joins.collect::<Vec<_>>().join(" ")
    };
    let left = joins("left", |n| format!("on t{n}.id = t{}.id + 1", n - 1));
    let sql = format!("select count(*), count(t30.id), count(t119.a) from t t0 {left}");
    let of_30 = rows.len() - 30;
    assert_eq!(
        database.run_optimized(&sql),
        Ok(vec![vec![rows.len().to_string(), of_30.to_string(), "0".to_owned(),]])
    );
}

#[test]
fn columns_of_many_full_joins_are_merged() {
    let (database, _) = TestDatabase::of_rows(60, 40, 20);
    let joins: String = (0..50)
        .map(|n| format!(" full join (select id from t where id % 53 = {n}) t{n} using (id)"))
        .collect();
    let sql = format!(
        "select count(*), count(id), min(id), max(id), sum(id) from \
                       (select id from t where id = 52) t{joins}"
    );
    let ids: Vec<i64> = (0..60).filter(|id| id % 53 < 50 || *id == 52).collect();
    let expected: Vec<String> = [ids.len() as i64, ids.len() as i64, 0, 59, ids.iter().sum()]
        .iter()
        .map(i64::to_string)
        .collect();
    assert_eq!(database.run_optimized(&sql), Ok(vec![expected]));
}

/// Chains of 30 such ended after hours or were refused, 2026-11-28: their columns doubled with each
/// query, and so did the walk that looked for a recursion.
#[test]
fn queries_of_with_that_read_the_one_before_twice_are_computed_once() {
    let (database, rows) = TestDatabase::of_rows(60, 40, 20);
    let chain = |mode: &str| {
        let mut sql = "with w0 as (select id from t)".to_owned();
        for query in 1..100 {
            let before = query - 1;
            sql += &format!(
                ", w{query} as {mode} (select a.id from w{before} a join w{before} b using (id))"
            );
        }
        database.run_optimized(&format!("{sql} select count(*) from w99"))
    };
    let count = Ok(vec![vec![rows.len().to_string()]]);
    assert_eq!(chain("materialized"), count);
    assert_eq!(chain(""), count);
}

/// It was refused after seconds, and no other engine ended, 2026-11-28.
#[test]
fn windows_of_more_levels_than_a_plan_has_are_refused() {
    let (database, _) = TestDatabase::of_rows(5, 3, 2);
    let calls: Vec<_> =
        (1..1_000).map(|n| format!("sum(id) over (partition by id % {n} order by id)")).collect();
    let error = database.run_optimized(&format!("select {} from t", calls.join(", ")));
    assert_eq!(error.unwrap_err(), "a query can have at most 900 operators above each other");
}
