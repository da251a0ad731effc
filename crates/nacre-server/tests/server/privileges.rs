//! Roles that may not do all: at the door, and whichever way a statement comes in.

use std::pin::pin;

use bytes::Bytes;
use futures::SinkExt;
use nacre_server::{AccessOptions, ServerOptions, TlsMode};
use nacre_sql::{Database, OpenOptions};
use tokio::net::TcpStream;
use tokio_postgres::config::Config;
use tokio_postgres::error::SqlState;
use tokio_postgres::{Client, Error, NoTls};

use crate::support::{Fixture, bind, execute, field, kinds, message, parse, query, startup, sync};

/// A server that asks everybody but `nacre` for a password, with the roles that `sql` makes.
async fn fixture(directory: &tempfile::TempDir, sql: &str) -> (Fixture, Client) {
    let rules = "host all nacre loopback trust\nhost all all all scram-sha-256\n";
    std::fs::write(directory.path().join("access.conf"), rules).unwrap();
    let database = Database::open(OpenOptions::default()).unwrap();
    let directory = Some(directory.path().to_path_buf());
    let access = AccessOptions { directory, tls: TlsMode::Off, certificate: None };
    let options = ServerOptions { access, ..ServerOptions::default() };
    let fixture = Fixture::start_over(database, options).await;
    let nacre = fixture.client().await;
    nacre.batch_execute(sql).await.unwrap();
    (fixture, nacre)
}

async fn connect(fixture: &Fixture, user: &str, password: &str) -> Result<Client, Error> {
    let mut config = Config::new();
    config.user(user).dbname("nacre").password(password);
    let stream = TcpStream::connect(fixture.address).await.unwrap();
    let (client, connection) = config.connect_raw(stream, NoTls).await?;
    tokio::spawn(connection);
    Ok(client)
}

/// Returns the code and the message of an error.
fn told<T>(outcome: Result<T, Error>) -> (SqlState, String) {
    let Err(error) = outcome else { panic!("nothing is wrong") };
    let error = error.as_db_error().unwrap_or_else(|| panic!("{error}"));
    (error.code().clone(), error.message().to_owned())
}

fn denied(table: &str) -> (SqlState, String) {
    (SqlState::INSUFFICIENT_PRIVILEGE, format!("permission denied for table {table}"))
}

/// Says what it is told for a statement by all protocols.
async fn refusals(client: &Client, sql: &str) -> [(SqlState, String); 2] {
    let simple = told(client.batch_execute(sql).await);
    let extended = match client.prepare(sql).await {
        Ok(statement) => told(client.execute(&statement, &[]).await),
        Err(error) => told::<()>(Err(error)),
    };
    [simple, extended]
}

#[tokio::test(flavor = "multi_thread")]
async fn role_without_privileges_is_denied_by_every_protocol() {
    let directory = tempfile::tempdir().unwrap();
    let sql = "create user ann password 'ann'; create table t (a int primary key, b int); \
               insert into t values (1, 2)";
    let (fixture, nacre) = fixture(&directory, sql).await;
    let ann = connect(&fixture, "ann", "ann").await.unwrap();
    for sql in [
        "select * from t",
        "select b from t where a = 1",
        "insert into t values (3, 4)",
        "update t set b = 5 where a = 1",
        "delete from t where a = 1",
        "delete from t",
        "truncate t",
        "explain select * from t",
        "merge into t using (values (1)) s (a) on t.a = s.a when matched then delete",
        "copy t to stdout",
        "copy (select * from t) to stdout",
    ] {
        assert_eq!(refusals(&ann, sql).await, [denied("t"), denied("t")], "{sql}");
    }
    for (sql, expected) in [
        ("drop table t", "must be owner of table t"),
        ("create table u (a int)", "permission denied for schema public"),
        ("create role u", "permission denied to create role"),
        ("set role nacre", "permission denied to set role \"nacre\""),
        (
            "set session authorization nacre",
            "permission denied to set session authorization \"nacre\"",
        ),
        ("select * from pg_authid", "permission denied for table pg_authid"),
    ] {
        let expected = (SqlState::INSUFFICIENT_PRIVILEGE, expected.to_owned());
        assert_eq!(told(ann.batch_execute(sql).await), expected);
    }
    // The library is at its end with a connection whose COPY is refused.
    let other = connect(&fixture, "ann", "ann").await.unwrap();
    let copy = told(other.copy_in::<_, Bytes>("copy t from stdin").await.map(drop));
    assert_eq!(copy, denied("t"));
    nacre.batch_execute("grant insert on t to ann").await.unwrap();
    let sink = ann.copy_in("copy t from stdin").await.unwrap();
    let mut sink = pin!(sink);
    sink.send(Bytes::from("7\t8\n")).await.unwrap();
    assert_eq!(sink.finish().await.unwrap(), 1);
    let count = nacre.query_one("select count(*) from t", &[]).await.unwrap();
    assert_eq!(count.get::<_, i64>(0), 2, "what was denied did nothing");
    fixture.stop().await;
}

/// A plan that was kept while the role might do that is not used once it may not, whether the role
/// lost it by what another session did or is another one now.
#[tokio::test(flavor = "multi_thread")]
async fn kept_plans_end_with_the_privilege() {
    let directory = tempfile::tempdir().unwrap();
    let sql = "create user ann password 'ann'; create role bob; grant bob to ann; \
               create table t (a int primary key, b int); insert into t values (1, 2); \
               grant select, update on t to ann";
    let (fixture, nacre) = fixture(&directory, sql).await;
    let ann = connect(&fixture, "ann", "ann").await.unwrap();
    let read = ann.prepare("select b from t where a = $1").await.unwrap();
    let write = ann.prepare("update t set b = $2 where a = $1").await.unwrap();
    let simple = ["select b from t where a = 1", "update t set b = 3 where a = 1"];
    let may = async || {
        for _ in 0..3 {
            for sql in simple {
                ann.batch_execute(sql).await.unwrap();
            }
            assert_eq!(ann.execute(&write, &[&1_i32, &4_i32]).await.unwrap(), 1);
            assert_eq!(ann.query_one(&read, &[&1_i32]).await.unwrap().get::<_, i32>(0), 4);
        }
    };
    let may_not = async || {
        for sql in simple {
            assert_eq!(told(ann.batch_execute(sql).await), denied("t"), "{sql}");
        }
        assert_eq!(told(ann.query(&read, &[&1_i32]).await), denied("t"));
        assert_eq!(told(ann.execute(&write, &[&1_i32, &5_i32]).await), denied("t"));
    };
    may().await;
    nacre.batch_execute("revoke select, update on t from ann").await.unwrap();
    may_not().await;
    nacre.batch_execute("grant select, update on t to ann").await.unwrap();
    may().await;
    ann.batch_execute("set role bob").await.unwrap();
    // Bob may nothing, but is a member of none who may.
    may_not().await;
    ann.batch_execute("reset role").await.unwrap();
    may().await;
    nacre.batch_execute("alter table t owner to ann; revoke all on t from ann").await.unwrap();
    may_not().await;
    fixture.stop().await;
}

/// Messages of an extended query that come together, and a portal that was bound before.
#[tokio::test(flavor = "multi_thread")]
async fn portal_is_denied_when_it_runs() {
    let directory = tempfile::tempdir().unwrap();
    let rules = "create user ann; create table t (a int primary key); grant select on t to ann";
    let (fixture, nacre) = fixture(&directory, rules).await;
    let mut raw = fixture.raw().await;
    raw.begin().await;
    raw.send(&query("set session authorization ann")).await;
    raw.until(b'Z').await;
    raw.send(&[parse("s", "select a from t where a = 1"), sync()].concat()).await;
    raw.until(b'Z').await;
    nacre.batch_execute("revoke select on t from ann").await.unwrap();
    raw.send(&[bind("", "s"), execute("", 0), sync()].concat()).await;
    let messages = raw.until(b'Z').await;
    assert_eq!(kinds(&messages), "2EZ");
    assert_eq!(field(&messages[1].1, b'C').as_deref(), Some("42501"));
    raw.send(&query("copy t from stdin")).await;
    let messages = raw.until(b'Z').await;
    assert_eq!(kinds(&messages), "EZ", "no rows are asked for");
    assert_eq!(field(&messages[0].1, b'C').as_deref(), Some("42501"));
    raw.send(&message(b'X', b"")).await;
    fixture.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn door_asks_what_the_role_says() {
    let directory = tempfile::tempdir().unwrap();
    let sql = "create role staff password 'x'; \
               create user past password 'x' valid until '2001-01-01'; \
               create user future password 'x' valid until 'infinity'; \
               create user two password 'x' connection limit 2; \
               create user shut password 'x' connection limit 0; \
               create role boss login superuser password 'x' connection limit 0; \
               create user nobody";
    let (fixture, nacre) = fixture(&directory, sql).await;
    let refused = async |user: &str| {
        let (code, message) = told(connect(&fixture, user, "x").await.map(drop));
        (code.code().to_owned(), message)
    };
    let told = |code: &str, message: &str| (code.to_owned(), message.to_owned());
    let staff = told("28000", "role \"staff\" is not permitted to log in");
    assert_eq!(refused("staff").await, staff);
    let failed =
        |user: &str| told("28P01", &format!("password authentication failed for user \"{user}\""));
    for user in ["past", "nobody", "missing"] {
        assert_eq!(refused(user).await, failed(user));
    }
    let too_many = |user: &str| told("53300", &format!("too many connections for role \"{user}\""));
    assert_eq!(refused("shut").await, too_many("shut"));
    let (one, _other) =
        (connect(&fixture, "two", "x").await.unwrap(), connect(&fixture, "two", "x").await);
    assert_eq!(refused("two").await, too_many("two"));
    drop(one);
    let mut attempts = 0;
    while connect(&fixture, "two", "x").await.is_err() {
        attempts += 1;
        assert!(attempts < 500, "the place of a session that ended stays taken");
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
    for user in ["future", "boss"] {
        connect(&fixture, user, "x").await.unwrap().batch_execute("select 1").await.unwrap();
    }
    nacre.batch_execute("revoke connect on database nacre from public").await.unwrap();
    let connect = told("42501", "permission denied for database \"nacre\"");
    assert_eq!(refused("future").await, connect);
    nacre.batch_execute("grant connect on database nacre to future").await.unwrap();
    self::connect(&fixture, "future", "x").await.unwrap();
    nacre.batch_execute("alter role future password 'y' nologin").await.unwrap();
    assert_eq!(refused("future").await, failed("future"));
    fixture.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn passwords_are_kept_as_verifiers_and_changed_by_their_role() {
    let directory = tempfile::tempdir().unwrap();
    let (fixture, nacre) = fixture(&directory, "create user ann password 'first'").await;
    let ann = connect(&fixture, "ann", "first").await.unwrap();
    ann.batch_execute("alter user ann password 'second'").await.unwrap();
    assert!(connect(&fixture, "ann", "first").await.is_err());
    connect(&fixture, "ann", "second").await.unwrap();
    let kept = "select rolpassword from pg_authid where rolname = 'ann'";
    let verifier: String = nacre.query_one(kept, &[]).await.unwrap().get(0);
    assert!(verifier.starts_with("SCRAM-SHA-256$4096:") && !verifier.contains("second"));
    let (code, message) = told(ann.batch_execute(kept).await);
    assert_eq!((code.code(), message.as_str()), ("42501", "permission denied for table pg_authid"));
    nacre.batch_execute(&format!("create user bob password '{verifier}'")).await.unwrap();
    connect(&fixture, "bob", "second").await.unwrap();
    nacre.batch_execute("alter user bob password null").await.unwrap();
    assert!(connect(&fixture, "bob", "second").await.is_err());
    fixture.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn client_is_told_whether_it_is_a_superuser() {
    let directory = tempfile::tempdir().unwrap();
    let (fixture, _nacre) = fixture(&directory, "create user ann").await;
    let mut raw = fixture.raw().await;
    raw.send(&startup(3 << 16, &[("user", "nacre"), ("database", "nacre")])).await;
    let reported = |messages: Vec<(u8, Vec<u8>)>| {
        let mut of = messages.into_iter().filter(|(kind, _)| *kind == b'S').map(|(_, body)| body);
        let name = b"is_superuser\0";
        of.find_map(|body| body.strip_prefix(name).map(<[u8]>::to_vec))
    };
    assert_eq!(reported(raw.until(b'Z').await), Some(b"on\0".to_vec()));
    raw.send(&query("set session authorization ann")).await;
    assert_eq!(reported(raw.until(b'Z').await), Some(b"off\0".to_vec()));
    raw.send(&query("reset session authorization")).await;
    assert_eq!(reported(raw.until(b'Z').await), Some(b"on\0".to_vec()));
    fixture.stop().await;
}
