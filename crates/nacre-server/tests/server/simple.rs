//! Queries in text.

use tokio_postgres::SimpleQueryMessage;
use tokio_postgres::error::{ErrorPosition, SqlState};

use crate::support::Fixture;

/// Rows as text, with nulls as `-`, and tags as numbers of rows.
async fn ask(client: &tokio_postgres::Client, sql: &str) -> Vec<String> {
    let messages = client.simple_query(sql).await.unwrap();
    let mut told = Vec::new();
    for message in messages {
        match message {
            SimpleQueryMessage::Row(row) => {
                let cells = (0..row.len()).map(|index| row.get(index).unwrap_or("-"));
                told.push(cells.collect::<Vec<_>>().join("|"));
            }
            SimpleQueryMessage::CommandComplete(rows) => told.push(format!("({rows})")),
            _ => {}
        }
    }
    told
}

#[tokio::test(flavor = "multi_thread")]
async fn statements_of_one_query_are_answered_in_order() {
    let fixture = Fixture::start().await;
    let client = fixture.client().await;
    let told = ask(
        &client,
        "create table t (a integer, b text, c numeric(9,2), d date, e boolean, f real);\n\
         insert into t values (1, 'x', 1.50, '2026-01-02', true, 0.5),\n\
           (2, null, null, null, null, null);\n\
         select * from t order by a; select 1 where false;",
    );
    let expected = ["(0)", "(2)", "1|x|1.50|2026-01-02|t|0.5", "2|-|-|-|-|-", "(2)", "(0)"];
    assert_eq!(told.await, expected);
    // The client library takes the answer to an empty query for that of a command.
    assert_eq!(ask(&client, " ; -- nothing\n").await, ["(0)"]);
    fixture.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn statements_of_one_query_are_one_transaction() {
    let fixture = Fixture::start().await;
    let client = fixture.client().await;
    ask(&client, "create table t (a integer primary key)").await;
    let failed = client.simple_query("insert into t values (1); select 1 / 0; select 2").await;
    let error = failed.unwrap_err();
    assert!(error.as_db_error().is_some(), "{error}");
    assert_eq!(ask(&client, "select count(*) from t").await, ["0", "(1)"]);
    ask(&client, "insert into t values (1); insert into t values (2)").await;
    // What BEGIN says holds for all that was sent with it, and on.
    ask(&client, "insert into t values (3); begin; insert into t values (4)").await;
    ask(&client, "rollback").await;
    assert_eq!(ask(&client, "select a from t order by a").await, ["1", "2", "(2)"]);
    let error = client.simple_query("insert into t values (9); savepoint s").await.unwrap_err();
    assert_eq!(error.code().unwrap().code(), "25P01");
    assert_eq!(ask(&client, "select count(*) from t").await, ["2", "(1)"]);
    fixture.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn error_has_code_position_detail_and_hint() {
    let fixture = Fixture::start().await;
    let client = fixture.client().await;
    ask(&client, "create table t (a integer primary key)").await;
    let error = client.simple_query("select 1;\n  select a, fro from t").await.unwrap_err();
    let error = error.as_db_error().unwrap();
    assert_eq!(error.code(), &SqlState::UNDEFINED_COLUMN);
    assert_eq!(error.severity(), "ERROR");
    assert!(matches!(error.position(), Some(ErrorPosition::Original(23))), "{error:?}");
    let error = client.simple_query("insert into t values (1), (1)").await.unwrap_err();
    let error = error.as_db_error().unwrap();
    assert_eq!(error.code(), &SqlState::UNIQUE_VIOLATION);
    assert_eq!(error.detail(), Some("Key (a)=(1) already exists."));
    let error = client.simple_query("create temporary table u (a integer)").await.unwrap_err();
    assert_eq!(error.code(), Some(&SqlState::FEATURE_NOT_SUPPORTED));
    fixture.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn failed_block_takes_nothing_but_its_end() {
    let fixture = Fixture::start().await;
    let client = fixture.client().await;
    ask(&client, "create table t (a integer)").await;
    ask(&client, "begin isolation level serializable read write").await;
    ask(&client, "insert into t values (1)").await;
    client.simple_query("syntax error").await.unwrap_err();
    let error = client.simple_query("select 1").await.unwrap_err();
    assert_eq!(error.code(), Some(&SqlState::IN_FAILED_SQL_TRANSACTION));
    ask(&client, "commit").await;
    assert_eq!(ask(&client, "select count(*) from t").await, ["0", "(1)"]);
    ask(&client, "begin; insert into t values (1); savepoint s").await;
    client.simple_query("select x").await.unwrap_err();
    ask(&client, "rollback to s; commit").await;
    assert_eq!(ask(&client, "select count(*) from t").await, ["1", "(1)"]);
    fixture.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn large_result_comes_whole() {
    let fixture = Fixture::start().await;
    let client = fixture.client().await;
    ask(&client, "create table t (a integer, b text)").await;
    for part in 0..20 {
        let rows = (0..1_000).map(|row| format!("({}, '{}')", part * 1_000 + row, "x".repeat(50)));
        ask(&client, &format!("insert into t values {}", rows.collect::<Vec<_>>().join(","))).await;
    }
    let told = ask(&client, "select a, b from t order by a").await;
    assert_eq!(told.len(), 20_001);
    assert!(told[19_999].starts_with("19999|xxx"));
    fixture.stop().await;
}
