//! COPY between client and server.

use std::pin::pin;

use bytes::Bytes;
use futures::{SinkExt, TryStreamExt};
use nacre_server::ServerOptions;

use crate::support::{Fixture, field, kinds, message, query};

#[tokio::test(flavor = "multi_thread")]
async fn rows_go_in_and_out() {
    let fixture = Fixture::start().await;
    let client = fixture.client().await;
    client.batch_execute("create table t (a integer, b text)").await.unwrap();
    let sink = client.copy_in("copy t from stdin").await.unwrap();
    let mut sink = pin!(sink);
    // A message may end in the middle of a row.
    for part in ["1\tx\n2\t", "\\N\n3\ty\\\\z\n"] {
        sink.send(Bytes::from(part)).await.unwrap();
    }
    assert_eq!(sink.finish().await.unwrap(), 3);
    let out = client.copy_out("copy (select * from t order by a) to stdout").await.unwrap();
    let rows: Vec<Bytes> = out.try_collect().await.unwrap();
    assert_eq!(rows, ["1\tx\n", "2\t\\N\n", "3\ty\\\\z\n"]);
    let out = client.copy_out("copy t to stdout (format csv, header)").await.unwrap();
    let rows: Vec<Bytes> = out.try_collect().await.unwrap();
    assert_eq!(rows[0], "a,b\n");
    assert_eq!(rows.len(), 4);
    fixture.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn failed_copy_leaves_nothing_and_the_session_usable() {
    let fixture = Fixture::start().await;
    let mut raw = fixture.raw().await;
    raw.begin().await;
    raw.send(&query("create table t (a integer)")).await;
    raw.until(b'Z').await;
    raw.send(&query("copy t from stdin")).await;
    let messages = raw.until(b'G').await;
    assert_eq!(messages.last().unwrap().1, [0, 0, 1, 0, 0]);
    raw.send(&[message(b'd', b"1\n"), message(b'd', b"x\n"), message(b'c', b"")].concat()).await;
    let messages = raw.until(b'Z').await;
    assert_eq!(kinds(&messages), "EZ");
    assert_eq!(field(&messages[0].1, b'C').as_deref(), Some("22P02"));
    raw.send(&query("copy t from stdin")).await;
    raw.until(b'G').await;
    raw.send(&[message(b'd', b"1\n"), message(b'f', b"changed my mind\0")].concat()).await;
    let messages = raw.until(b'Z').await;
    assert_eq!(field(&messages[0].1, b'C').as_deref(), Some("57014"));
    raw.send(&query("copy nothing from stdin")).await;
    let messages = raw.until(b'Z').await;
    assert_eq!(field(&messages[0].1, b'C').as_deref(), Some("42P01"));
    raw.send(&query("copy (select 1 / 0) to stdout")).await;
    let messages = raw.until(b'Z').await;
    assert!(kinds(&messages).ends_with("EZ"));
    raw.send(&query("select count(*) from t")).await;
    let messages = raw.until(b'Z').await;
    assert_eq!(messages[1].1, [&[0, 1, 0, 0, 0, 1], b"0".as_slice()].concat());
    fixture.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn client_that_vanishes_in_a_copy_leaves_nothing() {
    let fixture = Fixture::start().await;
    let client = fixture.client().await;
    client.batch_execute("create table t (a integer)").await.unwrap();
    let mut raw = fixture.raw().await;
    raw.begin().await;
    raw.send(&query("copy t from stdin")).await;
    raw.until(b'G').await;
    raw.send(&message(b'd', b"1\n")).await;
    drop(raw);
    let count = client.query_one("select count(*) from t", &[]).await.unwrap();
    assert_eq!(count.get::<_, i64>(0), 0);
    fixture.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn copy_beyond_its_limit_is_refused() {
    let options = ServerOptions { copy_bytes_max: 1_000, ..ServerOptions::default() };
    let fixture = Fixture::start_with(options).await;
    let client = fixture.client().await;
    client.batch_execute("create table t (a integer)").await.unwrap();
    let sink = client.copy_in("copy t from stdin").await.unwrap();
    let mut sink = pin!(sink);
    for _ in 0..300 {
        sink.send(Bytes::from("12345678\n")).await.unwrap();
    }
    let error = sink.finish().await.unwrap_err();
    assert_eq!(error.code().unwrap().code(), "53200");
    let count = client.query_one("select count(*) from t", &[]).await.unwrap();
    assert_eq!(count.get::<_, i64>(0), 0);
    fixture.stop().await;
}
