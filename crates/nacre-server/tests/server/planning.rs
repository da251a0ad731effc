//! Statements that take long to plan: each is answered, or refused as too complex, and whatever
//! ends a statement ends its planning, too.

use std::collections::BTreeSet;
use std::time::Duration;

use tokio::time::timeout;
use tokio_postgres::error::SqlState;
use tokio_postgres::{Client, NoTls};

use crate::support::{Fixture, PATIENCE, message, query, threads_named, until_threads_ended};

/// Name of the threads that plan, as the system has it.
const PLANNER: &str = "nacre-planner";

/// Threads of this process that plan now, also for other tests.
fn planner_threads() -> BTreeSet<String> {
    threads_named(PLANNER)
}

async fn with_table(fixture: &Fixture) -> Client {
    let client = fixture.client().await;
    let table = "create table t (k int, d numeric(10, 2), s text, b bool, at timestamp)";
    client.batch_execute(table).await.unwrap();
    client
}

/// A query that takes longer to plan than any test waits: types of quotients have the names of all
/// that they are made of. CREATE VIEW only binds it, which takes some tenths of a second.
fn long_plan() -> String {
    let chain = |terms: usize| format!("select d{} from t", " / d".repeat(terms));
    (970..985).map(chain).collect::<Vec<_>>().join(" union all ")
}

#[tokio::test(flavor = "multi_thread")]
async fn nested_forms_are_answered_or_refused() {
    let fixture = Fixture::start().await;
    let client = with_table(&fixture).await;
    client.batch_execute("set statement_timeout = '2s'").await.unwrap();
    for (open, close) in [
        ("abs(", ")"),
        ("coalesce(", ", 1)"),
        ("coalesce(1, ", ")"),
        ("least(", ", 1)"),
        ("replace(", "::text, 'a', 'b')"),
        ("row(", ")"),
        ("array[", "]"),
        ("cast(", " as int)"),
        ("case when b then abs(", ") end"),
        ("(", " between 1 and 2)::int"),
        ("length(", "::text)"),
        ("((", ", 1) < (2, 3))::int"),
        ("((", ", 1) in ((2, 3), (4, 5)))::int"),
        ("floor(", ")"),
        ("(select count(", ") from t)"),
        ("exists (select ", ")"),
        ("((", ") is distinct from 1)::int"),
        ("case when (at, ", "::timestamp) overlaps (at, at) then at end"),
        ("((", ")::text like 'a')::text"),
        ("(with q as (select ", " as a) select x.a + y.a from q x, q y)"),
    ] {
        for depth in [20, 30, 60, 200] {
            let sql = format!("select {}k{} from t", open.repeat(depth), close.repeat(depth));
            let answer = timeout(PATIENCE, client.batch_execute(&sql)).await.unwrap();
            let code = answer.err().map(|error| error.code().unwrap().code().to_owned());
            // Some of the forms mean nothing for their own answers.
            let is_expected = code.as_deref() != Some("XX000");
            assert!(is_expected, "{open} {depth} deep: {code:?}");
        }
    }
    until_threads_ended(&planner_threads()).await;
    fixture.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn long_chains_and_queries_of_queries_are_answered_or_refused() {
    let fixture = Fixture::start().await;
    let client = with_table(&fixture).await;
    let refused = |sql: String| {
        let client = &client;
        async move {
            let answer = timeout(PATIENCE, client.batch_execute(&sql)).await.unwrap();
            answer.unwrap_err().code().unwrap().code().to_owned()
        }
    };
    let chain = |term: &str, op: &str, terms: usize| {
        format!("select {} from t", vec![term; terms].join(op))
    };
    let sums = chain("k", " + ", 500);
    timeout(PATIENCE, client.batch_execute(&sums)).await.unwrap().unwrap();
    let conditions = chain("k = 1", " or ", 2_000);
    timeout(PATIENCE, client.batch_execute(&conditions)).await.unwrap().unwrap();
    for (term, op) in [("k", " + "), ("d", " / "), ("s", " || ")] {
        assert_eq!(refused(chain(term, op, 5_000)).await, "54001", "{op}");
    }
    assert_eq!(refused(chain("k", " = ", 5_000)).await, "42601");
    let next = |level: usize| {
        let before = level - 1;
        format!(", q{level} as (select x.k from q{before} x join q{before} y on x.k = y.k)")
    };
    let tables: String = (1..=14).map(next).collect();
    let tables = format!("with q0 as (select k from t){tables} select count(*) from q14");
    // Each of them is computed once.
    timeout(PATIENCE, client.batch_execute(&tables)).await.unwrap().unwrap();
    // Views that read others twice: one of them cannot be made any more, or not be read.
    let mut codes = Vec::new();
    client.batch_execute("set statement_timeout = '5s'").await.unwrap();
    client.batch_execute("create view v0 as select k from t").await.unwrap();
    for level in 1..=16 {
        let before = level - 1;
        let view = format!("create view v{level} as select x.k from v{before} x, v{before} y");
        match timeout(PATIENCE, client.batch_execute(&view)).await.unwrap() {
            Ok(()) => {}
            Err(error) => {
                codes.push(error.code().unwrap().code().to_owned());
                break;
            }
        }
    }
    let is_bound = |code: &str| matches!(code, "54000" | "54001" | "57014");
    assert!(matches!(codes.as_slice(), [code] if is_bound(code)), "{codes:?}");
    until_threads_ended(&planner_threads()).await;
    fixture.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn timeout_ends_planning_of_every_kind_of_statement() {
    let fixture = Fixture::start().await;
    let client = with_table(&fixture).await;
    client.batch_execute("set statement_timeout = '60ms'; begin").await.unwrap();
    let long = long_plan();
    for sql in [
        long.clone(),
        format!("prepare p as {long}"),
        format!("explain {long}"),
        format!("create view v as {long}"),
        format!("declare c cursor for {long}"),
        format!("copy ({long}) to stdout"),
        format!("create table u as {long}"),
        format!("insert into t (d) {long}"),
        format!("update t set d = ({long} limit 1)"),
        format!("delete from t where d in ({long})"),
    ] {
        client.batch_execute("savepoint before").await.unwrap();
        let answer = timeout(PATIENCE, client.batch_execute(&sql)).await.unwrap();
        let verb = sql.split_whitespace().next().unwrap();
        let Err(error) = answer else { panic!("{verb} was planned in time") };
        assert_eq!(error.code(), Some(&SqlState::QUERY_CANCELED), "{verb}: {error}");
        client.batch_execute("rollback to before").await.unwrap();
    }
    // By messages, too.
    let prepared = timeout(PATIENCE, client.prepare(&long)).await.unwrap();
    assert_eq!(prepared.unwrap_err().code(), Some(&SqlState::QUERY_CANCELED));
    until_threads_ended(&planner_threads()).await;
    fixture.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_end_planning() {
    let fixture = Fixture::start().await;
    let (client, other) = (with_table(&fixture).await, fixture.client().await);
    let process: i32 = client.query_one("select pg_backend_pid()", &[]).await.unwrap().get(0);
    let (long, token) = (long_plan(), client.cancel_token());
    for request in ["cancel request", "pg_cancel_backend", "pg_terminate_backend"] {
        let ask = async {
            // It may come before the statement; then it means nothing.
            loop {
                tokio::time::sleep(Duration::from_millis(50)).await;
                if request == "cancel request" {
                    token.cancel_query(NoTls).await.unwrap();
                } else if planner_threads().is_empty() {
                    continue;
                } else {
                    let sql = format!("select {request}({process})");
                    other.batch_execute(&sql).await.unwrap();
                }
            }
        };
        let error = tokio::select! {
            ran = timeout(PATIENCE, client.batch_execute(&long)) => ran.unwrap().unwrap_err(),
            () = ask => unreachable!(),
        };
        let expected = match request {
            "pg_terminate_backend" => SqlState::ADMIN_SHUTDOWN,
            _ => SqlState::QUERY_CANCELED,
        };
        assert_eq!(error.code(), Some(&expected), "{request}: {error}");
        until_threads_ended(&planner_threads()).await;
    }
    fixture.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn planning_ends_with_its_client() {
    let fixture = Fixture::start().await;
    let client = with_table(&fixture).await;
    let before = planner_threads();
    let mut raw = fixture.raw().await;
    raw.begin().await;
    raw.send(&query(&long_plan())).await;
    let mut parsing = fixture.raw().await;
    parsing.begin().await;
    let parse = message(b'P', format!("\0{}\0\0\0", long_plan()).as_bytes());
    parsing.send(&parse).await;
    parsing.send(&message(b'S', b"")).await;
    let begun = async {
        while planner_threads().difference(&before).count() < 2 {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    timeout(PATIENCE, begun).await.unwrap();
    let threads = planner_threads();
    drop((raw, parsing));
    until_threads_ended(&threads).await;
    client.batch_execute("select 1").await.unwrap();
    fixture.stop().await;
}
