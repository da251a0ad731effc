//! Sessions that look at one another and stop one another.

use std::time::Duration;

use nacre_server::ServerOptions;
use tokio::time::timeout;
use tokio_postgres::Client;
use tokio_postgres::error::SqlState;

use crate::support::{Fixture, PATIENCE};

async fn number(client: &Client) -> i32 {
    client.query_one("select pg_backend_pid()", &[]).await.unwrap().get(0)
}

/// Returns state, waiting, whether there is a transaction, and text of another session.
async fn seen(client: &Client, process_id: i32) -> (String, Option<String>, bool, String) {
    let sql = "select state, wait_event, xact_start is not null, query from pg_stat_activity \
               where pid = $1";
    let row = client.query_one(sql, &[&process_id]).await.unwrap();
    (row.get(0), row.get(1), row.get(2), row.get(3))
}

/// Waits until another session runs a statement that begins so.
async fn until_active(client: &Client, process_id: i32, text: &str) {
    let look = async {
        loop {
            let (state, _, _, query) = seen(client, process_id).await;
            if state == "active" && query.starts_with(text) {
                break;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    timeout(PATIENCE, look).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn sessions_show_what_they_do() {
    let fixture = Fixture::start().await;
    let (one, other) = (fixture.client().await, fixture.client().await);
    let process_id = number(&other).await;
    other.batch_execute("set application_name = 'counter'").await.unwrap();
    other.batch_execute("begin").await.unwrap();
    let (state, waits, has_transaction, query) = seen(&one, process_id).await;
    assert_eq!((state.as_str(), waits.as_deref()), ("idle in transaction", Some("ClientRead")));
    assert!(has_transaction);
    assert_eq!(query, "begin");
    other.batch_execute("select 1/0").await.unwrap_err();
    assert_eq!(seen(&one, process_id).await.0, "idle in transaction (aborted)");
    other.batch_execute("rollback").await.unwrap();
    assert_eq!(seen(&one, process_id).await.0, "idle");
    assert!(!seen(&one, process_id).await.2);

    let sql = "select application_name, usename, datname, client_addr::text, client_port > 0, \
               backend_start <= now(), backend_type, leader_pid from pg_stat_activity \
               where pid = $1";
    let row = one.query_one(sql, &[&process_id]).await.unwrap();
    assert_eq!(row.get::<_, &str>(0), "counter");
    assert_eq!((row.get::<_, &str>(1), row.get::<_, &str>(2)), ("nacre", "nacre"));
    assert_eq!(row.get::<_, &str>(3), "127.0.0.1");
    assert!(row.get::<_, bool>(4) && row.get::<_, bool>(5));
    assert_eq!(row.get::<_, &str>(6), "client backend");
    assert_eq!(row.get::<_, Option<i32>>(7), None);
    let own = one.query_one(
        "select count(*) filter (where state = 'active'), count(*) from pg_stat_activity",
        &[],
    );
    let own = own.await.unwrap();
    assert_eq!((own.get::<_, i64>(0), own.get::<_, i64>(1)), (1, 2));
    let numbers = one.query_one("select numbackends from pg_stat_database", &[]).await.unwrap();
    assert_eq!(numbers.get::<_, i32>(0), 2);

    drop(other);
    let gone = async {
        while one
            .query_opt("select 1 from pg_stat_activity where pid = $1", &[&process_id])
            .await
            .unwrap()
            .is_some()
        {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    timeout(PATIENCE, gone).await.unwrap();
    fixture.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn text_of_a_statement_is_cut_at_a_character() {
    let fixture = Fixture::start().await;
    let client = fixture.client().await;
    let long = format!("select '{}', query from pg_stat_activity", "\u{6771}".repeat(2_000));
    let row = client.query_one(&long, &[]).await.unwrap();
    let text: &str = row.get(1);
    assert!(text.len() <= 1_024 && text.len() > 1_020, "{}", text.len());
    assert!(long.starts_with(text));
    fixture.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn session_is_cancelled_and_ended_by_another() {
    let fixture = Fixture::start().await;
    let (one, other) = (fixture.client().await, fixture.client().await);
    let process_id = number(&other).await;
    let cancel = async {
        until_active(&one, process_id, "select pg_sleep").await;
        let row = one.query_one("select pg_cancel_backend($1)", &[&process_id]).await.unwrap();
        assert!(row.get::<_, bool>(0));
    };
    let sleep = || timeout(PATIENCE, other.query("select pg_sleep(600)", &[]));
    let (slept, ()) = tokio::join!(sleep(), cancel);
    assert_eq!(slept.unwrap().unwrap_err().code(), Some(&SqlState::QUERY_CANCELED));
    assert_eq!(number(&other).await, process_id);

    let end = async {
        until_active(&one, process_id, "select pg_sleep").await;
        let row = one.query_one("select pg_terminate_backend($1)", &[&process_id]).await.unwrap();
        assert!(row.get::<_, bool>(0));
    };
    let (slept, ()) = tokio::join!(sleep(), end);
    assert_eq!(slept.unwrap().unwrap_err().code(), Some(&SqlState::ADMIN_SHUTDOWN));
    let row = one.query_one("select pg_terminate_backend(123456789)", &[]).await.unwrap();
    assert!(!row.get::<_, bool>(0));
    fixture.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn idle_session_that_is_ended_is_told() {
    let options = ServerOptions { connections_max: 2, ..ServerOptions::default() };
    let fixture = Fixture::start_with(options).await;
    let one = fixture.client().await;
    let mut raw = fixture.raw().await;
    raw.begin().await;
    let ended = one.query(
        "select pg_terminate_backend(pid) from pg_stat_activity where pid <> pg_backend_pid()",
        &[],
    );
    assert_eq!(ended.await.unwrap().len(), 1);
    let (kind, body) = raw.next().await.unwrap();
    assert_eq!(kind, b'E');
    assert!(String::from_utf8_lossy(&body).contains("57P01"));
    assert!(raw.next().await.is_none());
    fixture.stop().await;
}
