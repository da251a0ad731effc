//! Sessions whose threads end whenever their clients say nothing: what they are stays.

use std::time::Duration;

use nacre_server::ServerOptions;
use tokio::time::timeout;
use tokio_postgres::error::SqlState;

use crate::support::{
    Fixture, PATIENCE, bind, execute, field, kinds, message, parse, query, startup, sync,
};

/// Starts a server whose sessions rest whenever no message is there.
async fn resting(options: ServerOptions) -> Fixture {
    Fixture::start_with(ServerOptions { rest_after: Duration::ZERO, ..options }).await
}

#[tokio::test(flavor = "multi_thread")]
async fn session_that_rested_goes_on_where_it_was() {
    let fixture = resting(ServerOptions::default()).await;
    let client = fixture.client().await;
    client.batch_execute("create table t (id int primary key, v text)").await.unwrap();
    client.batch_execute("set application_name = 'rested'").await.unwrap();
    let insert = client.prepare("insert into t values ($1, $2)").await.unwrap();
    client.batch_execute("begin").await.unwrap();
    for id in 0..20 {
        client.execute(&insert, &[&id, &"x".repeat(100)]).await.unwrap();
    }
    client.batch_execute("declare c cursor for select id from t order by id").await.unwrap();
    for id in 0..3 {
        let row = client.query_one("fetch c", &[]).await.unwrap();
        assert_eq!(row.get::<_, i32>(0), id);
    }
    client.batch_execute("rollback").await.unwrap();
    assert!(client.query("select * from t", &[]).await.unwrap().is_empty());
    let row = client.query_one("show application_name", &[]).await.unwrap();
    assert_eq!(row.get::<_, &str>(0), "rested");
    fixture.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn message_that_comes_byte_by_byte_is_one_message() {
    let fixture = resting(ServerOptions::default()).await;
    let mut raw = fixture.raw().await;
    for byte in startup(3 << 16, &[("user", "nacre"), ("database", "nacre")]) {
        raw.send(&[byte]).await;
    }
    raw.until(b'Z').await;
    for byte in query("select 1") {
        raw.send(&[byte]).await;
    }
    assert_eq!(kinds(&raw.until(b'Z').await), "TDCZ");
    // A portal waits for its next part while the session rests.
    raw.send(&[query("begin"), parse("", "values (1), (2)"), bind("p", "")].concat()).await;
    raw.send(&[execute("p", 1), message(b'H', b"")].concat()).await;
    assert_eq!(kinds(&raw.until(b's').await), "CZ12Ds");
    raw.send(&[execute("p", 1), message(b'H', b"")].concat()).await;
    assert_eq!(kinds(&raw.until(b's').await), "Ds");
    raw.send(&sync()).await;
    raw.until(b'Z').await;
    fixture.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn resting_sessions_are_ended_in_time_and_by_others() {
    let fixture = resting(ServerOptions::default()).await;
    let ended = |setting: &'static str, before: &'static str| {
        let raw = fixture.raw();
        async move {
            let mut raw = raw.await;
            raw.begin().await;
            raw.send(&[query(setting), query(before)].concat()).await;
            raw.end().await
        }
    };
    let idle = ended("set idle_session_timeout = 100", "select 1").await;
    assert_eq!(idle.as_deref(), Some("57P05"));
    let in_block = ended("set idle_in_transaction_session_timeout = 100", "begin").await;
    assert_eq!(in_block.as_deref(), Some("25P03"));
    let mut raw = fixture.raw().await;
    raw.begin().await;
    let client = fixture.client().await;
    let end = "select pg_terminate_backend(pid) from pg_stat_activity \
               where pid <> pg_backend_pid()";
    assert_eq!(client.query(end, &[]).await.unwrap().len(), 1);
    assert_eq!(raw.end().await.as_deref(), Some("57P01"));
    let mut raw = fixture.raw().await;
    raw.begin().await;
    fixture.stop().await;
    assert_eq!(raw.end().await.as_deref(), Some("57P01"));
}

#[tokio::test(flavor = "multi_thread")]
async fn client_that_goes_while_its_session_rests_leaves_its_place_and_block() {
    let options = ServerOptions { connections_max: 2, ..ServerOptions::default() };
    let fixture = resting(ServerOptions { connections_reserved: 0, ..options }).await;
    let client = fixture.client().await;
    client.batch_execute("create table t (id int primary key)").await.unwrap();
    for _ in 0..20 {
        let mut raw = fixture.raw().await;
        raw.begin().await;
        raw.send(&query("begin; insert into t values (1)")).await;
        raw.until(b'Z').await;
        drop(raw);
        let is_alone = async {
            let others = "select count(*) from pg_stat_activity";
            while client.query_one(others, &[]).await.unwrap().get::<_, i64>(0) > 1 {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        };
        timeout(PATIENCE, is_alone).await.unwrap();
    }
    client.batch_execute("insert into t values (1)").await.unwrap();
    fixture.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn statement_of_a_rested_session_is_cancelled() {
    let fixture = resting(ServerOptions::default()).await;
    let client = fixture.client().await;
    for _ in 0..3 {
        let token = client.cancel_token();
        let cancel = async {
            let asked = timeout(PATIENCE, async {
                let other = fixture.client().await;
                let active = "select 1 from pg_stat_activity \
                              where state = 'active' and query like 'select pg_sleep%'";
                while other.query(active, &[]).await.unwrap().is_empty() {
                    tokio::time::sleep(Duration::from_millis(1)).await;
                }
            });
            asked.await.unwrap();
            token.cancel_query(tokio_postgres::NoTls).await.unwrap();
        };
        let sleep = timeout(PATIENCE, client.query("select pg_sleep(600)", &[]));
        let (slept, ()) = tokio::join!(sleep, cancel);
        assert_eq!(slept.unwrap().unwrap_err().code(), Some(&SqlState::QUERY_CANCELED));
    }
    let mut raw = fixture.raw().await;
    raw.begin().await;
    raw.send(&query("set statement_timeout = 50; select pg_sleep(600)")).await;
    let messages = raw.until(b'Z').await;
    let error = messages.iter().find(|(kind, _)| *kind == b'E').unwrap();
    assert_eq!(field(&error.1, b'C').as_deref(), Some("57014"));
    fixture.stop().await;
}
