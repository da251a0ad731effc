//! Sessions that are cancelled, refused and ended.

use std::time::Duration;

use nacre_server::{Ports, Server, ServerOptions};
use nacre_sql::{Database, OpenOptions};
use tokio::time::timeout;
use tokio_postgres::NoTls;
use tokio_postgres::error::SqlState;

use crate::support::{Fixture, PATIENCE, field, kinds, query, startup, workers};

/// A query that runs for as long as anybody waits for it.
const LONG: &str = "select count(*) from t a, t b, t c, t d where a.a + b.a + c.a + d.a < 0";

async fn with_rows(fixture: &Fixture) -> tokio_postgres::Client {
    let client = fixture.client().await;
    client.batch_execute("create table t (a integer)").await.unwrap();
    let rows = (0..2_000).map(|row| format!("({row})")).collect::<Vec<_>>().join(",");
    client.batch_execute(&format!("insert into t values {rows}")).await.unwrap();
    client
}

#[tokio::test(flavor = "multi_thread")]
async fn cancelled_query_leaves_the_session_usable() {
    let fixture = Fixture::start().await;
    let client = with_rows(&fixture).await;
    is_cancelled(&client, LONG).await;
    fixture.stop().await;
}

/// Wide rows that are numbered, more than any buffer between server and client holds.
const WIDE: &str = "select n, repeat('x', 2000) from generate_series(1, 50000) as g(n)";

/// The number of a wide row, in a message of either kind.
fn number(kind: u8, body: &[u8]) -> usize {
    // The number of columns and the length of the first one come before it in a row.
    let text = if kind == b'D' { &body[6..] } else { body };
    let digits = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    std::str::from_utf8(&text[..digits]).unwrap().parse().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn rows_reach_a_client_that_reads_slowly_whole_and_once() {
    let fixture = Fixture::start().await;
    let mut raw = fixture.raw().await;
    raw.begin().await;
    for sql in [WIDE.to_owned(), format!("copy ({WIDE}) to stdout")] {
        raw.send(&query(&sql)).await;
        tokio::time::sleep(Duration::from_millis(500)).await;
        let messages = raw.until(b'Z').await;
        let rows = messages.iter().filter(|(kind, _)| matches!(kind, b'D' | b'd'));
        let numbers = rows.map(|(kind, body)| number(*kind, body));
        assert!(numbers.eq(1..=50_000), "{sql}");
        assert!(kinds(&messages).ends_with("CZ"));
    }
    fixture.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn statements_are_given_up_while_their_rows_are_sent() {
    let fixture = Fixture::start().await;
    let mut raw = fixture.raw().await;
    raw.begin().await;
    raw.send(&query("select pg_backend_pid()")).await;
    let process = number(b'D', &raw.until(b'Z').await[1].1);
    let other = fixture.client().await;
    for is_cancelled in [true, false] {
        let limit = if is_cancelled { 0 } else { 200 };
        raw.send(&query(&format!("set statement_timeout = {limit}"))).await;
        raw.until(b'Z').await;
        for sql in [WIDE.to_owned(), format!("copy ({WIDE}) to stdout")] {
            raw.send(&query(&sql)).await;
            tokio::time::sleep(Duration::from_millis(500)).await;
            if is_cancelled {
                let cancel = format!("select pg_cancel_backend({process})");
                other.batch_execute(&cancel).await.unwrap();
            }
            let messages = raw.until(b'Z').await;
            let rows = messages.iter().filter(|(kind, _)| matches!(kind, b'D' | b'd'));
            let numbers: Vec<usize> = rows.map(|(kind, body)| number(*kind, body)).collect();
            assert!(numbers.iter().copied().eq(1..=numbers.len()), "{sql}");
            assert!(numbers.len() < 50_000, "{sql}");
            assert!(kinds(&messages).ends_with("EZ"), "{sql}");
            let error = &messages[messages.len() - 2].1;
            assert_eq!(field(error, b'C').as_deref(), Some("57014"), "{sql}");
        }
    }
    fixture.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn planning_is_cancelled_as_well() {
    let fixture = Fixture::start().await;
    let client = with_rows(&fixture).await;
    is_cancelled(&client, &format!("select a{} from t", " / a::numeric".repeat(900))).await;
    fixture.stop().await;
}

/// Cancels a query that runs for long, and has the session answer another one.
async fn is_cancelled(client: &tokio_postgres::Client, long: &str) {
    let token = client.cancel_token();
    let running = client.batch_execute(long);
    let cancel = async {
        // It may come before the statement; then it means nothing, as in PostgreSQL.
        loop {
            tokio::time::sleep(Duration::from_millis(50)).await;
            token.cancel_query(NoTls).await.unwrap();
        }
    };
    let error = tokio::select! {
        ran = timeout(PATIENCE, running) => ran.unwrap().unwrap_err(),
        () = cancel => unreachable!(),
    };
    assert_eq!(error.code(), Some(&SqlState::QUERY_CANCELED));
    let row = client.query_one("select 1", &[]).await;
    // A request may be under way still.
    assert!(row.is_ok() || client.query_one("select 1", &[]).await.is_ok());
}

#[tokio::test(flavor = "multi_thread")]
async fn clients_are_told_that_the_database_is_being_opened() {
    let options = ServerOptions { listen: vec!["127.0.0.1:0".into()], ..ServerOptions::default() };
    let ports = Ports::take(&options).await.unwrap();
    let url = format!("host=127.0.0.1 port={} user=nacre", ports.addresses()[0].port());
    let connect = async || timeout(PATIENCE, tokio_postgres::connect(&url, NoTls)).await.unwrap();
    let database = ports
        .while_starting(async {
            for _ in 0..3 {
                let Err(error) = connect().await else { panic!("there is no database") };
                assert_eq!(error.code(), Some(&SqlState::CANNOT_CONNECT_NOW));
            }
            Database::open(OpenOptions::default()).unwrap()
        })
        .await;
    let server = Server::over(ports, database, options, workers()).unwrap();
    let shutdown = server.shutdown();
    let running = tokio::spawn(server.run());
    let (client, connection) = connect().await.unwrap();
    tokio::spawn(connection);
    assert_eq!(client.query_one("select 1", &[]).await.unwrap().get::<_, i32>(0), 1);
    shutdown.begin();
    timeout(PATIENCE, running).await.unwrap().unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn client_that_vanishes_ends_its_query() {
    let options = ServerOptions { connections_max: 1, ..ServerOptions::default() };
    let fixture = Fixture::start_with(options).await;
    drop(with_rows(&fixture).await);
    let mut raw = loop {
        let mut raw = fixture.raw().await;
        raw.send(&startup(3 << 16, &[("user", "nacre")])).await;
        if raw.next().await.is_some_and(|(kind, _)| kind == b'R') {
            break raw;
        }
    };
    raw.until(b'Z').await;
    raw.send(&query(LONG)).await;
    drop(raw);
    // The only place is free again as soon as the query has ended.
    let again = async {
        loop {
            if let Ok((client, _)) = tokio_postgres::connect(&fixture.url(), NoTls).await {
                break client;
            }
        }
    };
    drop(timeout(PATIENCE, again).await.unwrap());
    fixture.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn too_many_clients_are_told_so() {
    let options = ServerOptions { connections_max: 2, ..ServerOptions::default() };
    let fixture = Fixture::start_with(options).await;
    let (one, _two) = (fixture.client().await, fixture.client().await);
    let Err(error) = tokio_postgres::connect(&fixture.url(), NoTls).await else { panic!() };
    assert_eq!(error.code(), Some(&SqlState::TOO_MANY_CONNECTIONS));
    assert_eq!(one.query_one("select 1", &[]).await.unwrap().len(), 1);
    fixture.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn last_connections_are_for_superusers() {
    let options =
        ServerOptions { connections_max: 3, connections_reserved: 1, ..ServerOptions::default() };
    let fixture = Fixture::start_with(options).await;
    let first = fixture.client().await;
    first.batch_execute("create role ann login password 'x'").await.unwrap();
    let url =
        format!("host=127.0.0.1 port={} user=ann password=x dbname=nacre", fixture.address.port());
    let (_ann, connection) = tokio_postgres::connect(&url, NoTls).await.unwrap();
    tokio::spawn(connection);
    let Err(error) = tokio_postgres::connect(&url, NoTls).await else { panic!() };
    assert_eq!(error.code(), Some(&SqlState::TOO_MANY_CONNECTIONS));
    let message = error.as_db_error().unwrap().message();
    assert!(message.starts_with("remaining connection slots are reserved"), "{message}");
    let _last = fixture.client().await;
    let Err(error) = tokio_postgres::connect(&fixture.url(), NoTls).await else { panic!() };
    assert_eq!(error.as_db_error().unwrap().message(), "sorry, too many clients already");
    fixture.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn clients_are_told_that_the_server_shuts_down() {
    let options =
        ServerOptions { shutdown_timeout: Duration::from_secs(3_600), ..ServerOptions::default() };
    let fixture = Fixture::start_with(options).await;
    let client = with_rows(&fixture).await;
    let running = tokio::spawn(async move { client.query(LONG, &[]).await.unwrap_err() });
    tokio::time::sleep(Duration::from_millis(200)).await;
    fixture.shutdown.begin();
    tokio::time::sleep(Duration::from_millis(200)).await;
    let Err(error) = tokio_postgres::connect(&fixture.url(), NoTls).await else { panic!() };
    assert_eq!(error.code(), Some(&SqlState::CANNOT_CONNECT_NOW));
    let message = error.as_db_error().unwrap().message();
    assert_eq!(message, "the database system is shutting down");
    fixture.shutdown.now();
    timeout(PATIENCE, fixture.running).await.unwrap().unwrap();
    timeout(PATIENCE, running).await.unwrap().unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn shutdown_ends_idle_sessions_and_cancels_the_others_in_time() {
    let options =
        ServerOptions { shutdown_timeout: Duration::from_millis(300), ..ServerOptions::default() };
    let fixture = Fixture::start_with(options).await;
    let client = with_rows(&fixture).await;
    let mut idle = fixture.raw().await;
    idle.begin().await;
    let running = tokio::spawn(async move { client.query(LONG, &[]).await.unwrap_err() });
    tokio::time::sleep(Duration::from_millis(200)).await;
    fixture.shutdown.begin();
    assert_eq!(idle.end().await.as_deref(), Some("57P01"));
    let error = timeout(PATIENCE, running).await.unwrap().unwrap();
    assert_eq!(error.code(), Some(&SqlState::ADMIN_SHUTDOWN));
    let (address, running) = (fixture.address, fixture.running);
    timeout(PATIENCE, running).await.unwrap().unwrap();
    assert!(tokio::net::TcpStream::connect(address).await.is_err());
}

#[tokio::test(flavor = "multi_thread")]
async fn second_signal_ends_at_once() {
    let options =
        ServerOptions { shutdown_timeout: Duration::from_secs(3_600), ..ServerOptions::default() };
    let fixture = Fixture::start_with(options).await;
    let client = with_rows(&fixture).await;
    let running = tokio::spawn(async move { client.query(LONG, &[]).await.unwrap_err() });
    tokio::time::sleep(Duration::from_millis(200)).await;
    fixture.shutdown.begin();
    fixture.shutdown.now();
    timeout(PATIENCE, fixture.running).await.unwrap().unwrap();
    timeout(PATIENCE, running).await.unwrap().unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn sessions_are_apart() {
    let fixture = Fixture::start().await;
    let (one, two) = (fixture.client().await, fixture.client().await);
    one.batch_execute("create table t (a integer)").await.unwrap();
    one.batch_execute("begin; insert into t values (1)").await.unwrap();
    let count = |client: tokio_postgres::Client| async move {
        let row = client.query_one("select count(*) from t", &[]).await.unwrap();
        (client, row.get::<_, i64>(0))
    };
    let (two, before) = count(two).await;
    one.batch_execute("commit").await.unwrap();
    let (_, after) = count(two).await;
    assert_eq!((before, after), (0, 1));
    // A block that was open when its client went away is rolled back.
    one.batch_execute("begin; insert into t values (2)").await.unwrap();
    drop(one);
    let (_, now) = count(fixture.client().await).await;
    assert_eq!(now, 1);
    fixture.stop().await;
}
