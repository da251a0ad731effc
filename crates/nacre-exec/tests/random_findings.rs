//! What `tests/random_queries` found: statements that failed where PostgreSQL 15 answers.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic where it stands")]

mod support;

use support::statements::TestDatabase;

/// Runs queries that count rows.
fn check_counts(cases: &[(&str, &str)]) {
    let (database, _) = TestDatabase::of_rows(50, 30, 20);
    for (condition, count) in cases {
        let sql = format!("select count(*) from t where {condition}");
        assert_eq!(database.run_optimized(&sql), Ok(vec![vec![(*count).to_owned()]]), "{sql}");
        assert_eq!(database.rows(&sql), [[*count]], "{sql}");
    }
}

/// Errors were raised for rows, 22P02 and 22012, 2026-11-26: what a constant decides is not run.
#[test]
fn nothing_is_evaluated_beside_a_constant_that_decides() {
    check_counts(&[
        ("1 <= (s::integer * null::integer)", "0"),
        ("null::numeric >= n / 0.0", "0"),
        ("s::integer >= 1 or true", "50"),
        ("id / 0 = 1 and false", "0"),
        ("not (id / 0 = 1 and false)", "50"),
        ("(id / 0 = null::bigint) is null", "50"),
    ]);
}

/// It answered 21000, 2026-11-26: PostgreSQL does not run the query beside null.
#[test]
fn subquery_of_several_rows_beside_a_constant_that_decides_is_refused() {
    let (database, _) = TestDatabase::of_rows(50, 30, 20);
    for condition in [
        "null::float8 not between (select f from t) and 1",
        "(select f from t) = 1 and false",
        "(select f from t) = 1 or true",
    ] {
        let answer = database.run_optimized(&format!("select id from t where {condition}"));
        // Where all of the condition is decided, there is an answer without the query.
        match answer {
            Ok(rows) => assert_eq!(rows.len(), if condition.ends_with("true") { 50 } else { 0 }),
            Err(error) => assert!(error.starts_with("not supported"), "{condition}: {error}"),
        }
    }
}

/// It answered 42803, 2026-11-26: PostgreSQL finds the query again among the keys.
#[test]
fn query_that_is_a_key_of_groups_is_refused() {
    let (database, _) = TestDatabase::of_rows(50, 30, 20);
    let query = "(select max(u.id) from t u where u.a = t.k)";
    let sql = format!("select {query} from t group by {query}");
    let error = database.run_optimized(&sql).unwrap_err();
    assert!(error.starts_with("not supported"), "{error}");
}
