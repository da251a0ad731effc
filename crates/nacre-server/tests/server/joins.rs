//! Joins that look at pairs of rows for hours and find none: whatever ends a statement ends them,
//! in both engines, and nobody else waits for the threads of DataFusion's.

use std::time::Duration;

use tokio::sync::Mutex;
use tokio::time::timeout;
use tokio_postgres::NoTls;
use tokio_postgres::error::SqlState;

use crate::support::{
    Fixture, PATIENCE, query, threads_named, until_thread_begun, until_threads_ended,
};

/// Name of the threads that join.
const JOINING: &str = "nacre-join";

/// Held by the test that runs: threads do not say whose they are.
static JOINS: Mutex<()> = Mutex::const_new(());

/// Rows of each side: their pairs take hours.
const ROWS: usize = 2_000_000;

/// Joins without a pair that passes: by a condition alone, beside an equality that every pair has,
/// with rows of one side that have no partner, and inside of another one.
fn fruitless() -> Vec<String> {
    let rows = |name: &str| format!("generate_series(1, {ROWS}) as {name} (n)");
    let (a, b) = (rows("a"), rows("b"));
    vec![
        format!("select count(*) from {a}, {b} where a.n::bigint * b.n < 0"),
        format!("select count(*) from {a} left join {b} on a.n + b.n < 0"),
        format!("select count(*) from {a} where not exists (select 1 from {b} where a.n < -b.n)"),
        format!(
            "select count(*) from (select n, n * 0 as z from {a}) as a \
             join (select n, n * 0 as z from {b}) as b on a.z = b.z and a.n < -b.n"
        ),
        format!(
            "select a.n from {a}, {b}, {} where a.n::bigint * b.n + c.n < 0 limit 1",
            rows("c")
        ),
    ]
}

#[tokio::test(flavor = "multi_thread")]
async fn timeout_ends_joins() {
    let _alone = JOINS.lock().await;
    let fixture = Fixture::start().await;
    let client = fixture.client().await;
    client.batch_execute("set statement_timeout = '300ms'").await.unwrap();
    for engine in ["auto", "datafusion"] {
        client.batch_execute(&format!("set nacre.engine = {engine}")).await.unwrap();
        for sql in fruitless() {
            let answer = timeout(PATIENCE, client.batch_execute(&sql)).await.unwrap();
            let error = answer.unwrap_err();
            assert_eq!(error.code(), Some(&SqlState::QUERY_CANCELED), "{engine}, {sql}: {error}");
        }
    }
    until_threads_ended(&threads_named(JOINING)).await;
    fixture.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn joins_end_with_their_client_and_others_go_on_meanwhile() {
    let _alone = JOINS.lock().await;
    let fixture = Fixture::start().await;
    let client = fixture.client().await;
    for sql in fruitless() {
        let before = threads_named(JOINING);
        let mut raw = fixture.raw().await;
        raw.begin().await;
        raw.send(&query(&format!("set nacre.engine = datafusion; {sql}"))).await;
        until_thread_begun(JOINING, &before).await;
        // More sessions than workers, so that one of them would wait for a worker that joins.
        for _ in 0..8 {
            let other = fixture.client().await;
            let sum = "select sum(n) from generate_series(1, 100000) as g (n)";
            timeout(PATIENCE, other.batch_execute(sum)).await.unwrap().unwrap();
        }
        let threads = threads_named(JOINING);
        drop(raw);
        until_threads_ended(&threads).await;
        client.batch_execute("select 1").await.unwrap();
    }
    fixture.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn cancel_requests_end_joins() {
    let _alone = JOINS.lock().await;
    let fixture = Fixture::start().await;
    let client = fixture.client().await;
    client.batch_execute("set nacre.engine = datafusion").await.unwrap();
    for sql in fruitless() {
        let before = threads_named(JOINING);
        let token = client.cancel_token();
        let cancel = async {
            until_thread_begun(JOINING, &before).await;
            // The thread may be one of another file's test, and the request mean nothing yet.
            loop {
                token.cancel_query(NoTls).await.unwrap();
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        };
        let error = tokio::select! {
            ran = timeout(PATIENCE, client.batch_execute(&sql)) => ran.unwrap().unwrap_err(),
            () = cancel => unreachable!(),
        };
        assert_eq!(error.code(), Some(&SqlState::QUERY_CANCELED), "{sql}: {error}");
        until_threads_ended(&threads_named(JOINING)).await;
    }
    fixture.stop().await;
}
