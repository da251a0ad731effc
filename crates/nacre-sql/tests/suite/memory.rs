//! Queries that want more memory than there is.

use futures::TryStreamExt;
use nacre_sql::datafusion::arrow::array::RecordBatch;
use nacre_sql::{Database, Error, ErrorKind, OpenOptions, Outcome, Session, StatementIo};

async fn run(session: &Session, sql: &str) -> Result<usize, Error> {
    match session.execute(sql, StatementIo::default()).await? {
        Outcome::Command { .. } => Ok(0),
        Outcome::Rows { stream, .. } => {
            let batches: Vec<RecordBatch> = stream.try_collect().await?;
            Ok(batches.iter().map(RecordBatch::num_rows).sum())
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn query_that_wants_too_much_fails_alone() {
    let query_memory_bytes = Some(4 << 20);
    let database = Database::open(OpenOptions { query_memory_bytes, ..OpenOptions::default() });
    let session = database.unwrap().session();
    run(&session, "create table t (a integer, b text)").await.unwrap();
    let insert = "insert into t select n, repeat('x', 100) from generate_series(1, 50000) g(n)";
    run(&session, insert).await.unwrap();
    // A join with equal keys would spill.
    let join = "select max(a.b || b.b) from t a join t b on a.b < b.b";
    let error = run(&session, join).await.unwrap_err();
    assert_eq!((error.kind(), error.sqlstate()), (ErrorKind::OutOfMemory, "53200"), "{error}");
    assert_eq!(run(&session, "select a from t where a < 10").await, Ok(9));
}

/// Rows of cursors were kept without asking, until there was no memory for the server.
#[tokio::test(flavor = "multi_thread")]
async fn cursor_keeps_no_more_rows_than_there_is_memory_for() {
    let query_memory_bytes = Some(16 << 20);
    let database = Database::open(OpenOptions { query_memory_bytes, ..OpenOptions::default() });
    let session = database.unwrap().session();
    let declare = |name: &str, rows: u32| {
        let query =
            format!("select g, repeat('z', 990 + g % 10) from generate_series(1, {rows}) g");
        format!("declare {name} scroll cursor with hold for {query}")
    };
    let error = run(&session, &declare("c", 100_000)).await.unwrap_err();
    assert_eq!((error.kind(), error.sqlstate()), (ErrorKind::OutOfMemory, "53200"), "{error}");
    // What the one that failed had in flight may take a moment to go.
    let mut declared = run(&session, &declare("c", 10_000)).await;
    for _ in 0..100 {
        if declared.is_ok() {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        declared = run(&session, &declare("c", 10_000)).await;
    }
    assert_eq!(declared, Ok(0));
    assert_eq!(run(&session, "fetch all c").await, Ok(10_000));
    assert_eq!(run(&session, "fetch backward all c").await, Ok(10_000));
    assert_eq!(run(&session, &declare("d", 10_000)).await.unwrap_err().sqlstate(), "53200");
    run(&session, "close c").await.unwrap();
    assert_eq!(run(&session, &declare("d", 10_000)).await, Ok(0));
}

#[tokio::test(flavor = "multi_thread")]
async fn replacing_by_a_pattern_makes_no_longer_text_than_there_may_be() {
    let query_memory_bytes = Some(4 << 20);
    let database = Database::open(OpenOptions { query_memory_bytes, ..OpenOptions::default() });
    let session = database.unwrap().session();
    let replace = |times: u32, rest: &str| {
        format!("select length(regexp_replace(repeat('a', {times}), 'a', repeat('b', 1000){rest}))")
    };
    let error = run(&session, &replace(2_000_000, ", 'g'")).await.unwrap_err();
    assert_eq!(error.sqlstate(), "54000", "{error}");
    let error = run(&session, &replace(100_000, ", 'g'")).await.unwrap_err();
    assert_eq!(error.sqlstate(), "53200", "{error}");
    assert_eq!(run(&session, &replace(1_000, ", 'g'")).await, Ok(1));
    assert_eq!(run(&session, &replace(1_000, "")).await, Ok(1));
}

/// `||` and most functions made texts of any length without asking.
#[tokio::test(flavor = "multi_thread")]
async fn whatever_makes_long_values_asks_first() {
    let query_memory_bytes = Some(48 << 20);
    let database = Database::open(OpenOptions { query_memory_bytes, ..OpenOptions::default() });
    let session = database.unwrap().session();
    // Nacre's own engine counts what an expression hands on, a vector at a time.
    let long = "select max(y) from (select repeat('a', 10000) || g as y \
                from generate_series(1, 8000) g) q";
    let error = run(&session, long).await.unwrap_err();
    assert_eq!(error.sqlstate(), "53200", "{error}");
    // In the other one: a batch of 40 MB, of which each of these makes at least 80.
    run(&session, "set nacre.engine = datafusion").await.unwrap();
    let rows = "from (select repeat('a', 10000) as x from generate_series(1, 4000) g) q";
    for made in [
        "length(x || x)",
        "length(x::bytea || x::bytea)",
        "length(concat(x, x))",
        "length(concat_ws(',', x, x))",
        "length(replace(x, 'a', 'bbb'))",
        "length(translate(x, 'a', E'\\u00e4'))",
        "length(upper(x))",
        "length(lower(x))",
        "length(initcap(x))",
        "length(encode(x::bytea, 'hex'))",
        "length(overlay(x placing x from 2))",
        "length(quote_literal(x))",
        "length(format('%s%s', x, x))",
        "cardinality(string_to_array(x, 'x') || string_to_array(x, 'x'))",
        "length(array_to_string(array[x, x], ','))",
        "length((x::bytea)::text)",
    ] {
        let error = run(&session, &format!("select max({made}) {rows}")).await.unwrap_err();
        assert_eq!(error.sqlstate(), "53200", "{made}: {error}");
    }
    for aggregate in ["length(string_agg(x, ','))", "cardinality(array_agg(x || ''))"] {
        let rows = "from (select repeat('a', 10000) as x from generate_series(1, 16000) g) q";
        let error = run(&session, &format!("select {aggregate} {rows}")).await.unwrap_err();
        assert_eq!(error.sqlstate(), "53200", "{aggregate}: {error}");
    }
    // Refused by what they would be, before they are made, and not put into the plan.
    let joined = "select length(repeat('a', 40000000) || repeat('b', 40000000) || 'c')";
    let error = run(&session, joined).await.unwrap_err();
    assert_eq!(error.sqlstate(), "53200", "{error}");
    assert_eq!(run(&session, "select length(repeat('a', 1000) || 'b')").await, Ok(1));
}
