//! Settings as a server reads and sets them.

use std::time::Duration;

use nacre_sql::{Database, OpenOptions, RoleDef, Session, SessionInfo};

use crate::support::Connection;

fn value(changes: &[(String, String)], name: &str) -> Option<String> {
    changes.iter().find(|(known, _)| known == name).map(|(_, value)| value.clone())
}

#[test]
fn clients_are_told_of_what_changes() {
    let db = Connection::open(None);
    let session = db.session();
    let first = session.reported_changes();
    assert_eq!(first.len(), 13);
    assert_eq!(value(&first, "TimeZone").as_deref(), Some("UTC"));
    assert!(value(&first, "server_version").unwrap().starts_with("15.0 (Nacre "));
    assert!(session.reported_changes().is_empty());
    db.ok("set application_name = 'test'");
    db.ok("set work_mem = '8MB'");
    assert_eq!(session.reported_changes(), [("application_name".into(), "test".into())]);
    db.ok("begin");
    db.ok("set local datestyle = dmy");
    assert_eq!(session.reported_changes(), [("DateStyle".into(), "ISO, DMY".into())]);
    db.ok("rollback");
    assert_eq!(session.reported_changes(), [("DateStyle".into(), "ISO, MDY".into())]);
}

#[test]
fn reset_goes_back_to_what_the_client_named() {
    let db = Connection::open(None);
    let session: &Session = db.session();
    session.set_setting("application_name", "psql").unwrap();
    session.set_setting("datestyle", "ISO").unwrap();
    assert_eq!(session.set_setting("timezone", "etc/utc").unwrap(), None);
    for zone in ["Europe/Berlin", "GMT+03:00", "Mars/Olympus"] {
        let warning = session.set_setting("TimeZone", zone).unwrap().unwrap();
        assert_eq!((warning.severity, warning.code), ("WARNING", "01000"));
        assert!(warning.message.contains(zone), "{}", warning.message);
        assert_eq!(session.setting("timezone").as_deref(), Some("Etc/UTC"));
    }
    db.ok("set application_name = 'other'");
    db.ok("reset all");
    assert_eq!(session.setting("application_name").as_deref(), Some("psql"));
    assert_eq!(session.setting("no_such"), None);
    assert_eq!(session.set_setting("no_such", "1").unwrap_err().sqlstate(), "42704");
    assert_eq!(session.set_setting("server_version", "1").unwrap_err().sqlstate(), "55P02");
    assert_eq!(session.set_setting("client_encoding", "LATIN1").unwrap_err().sqlstate(), "0A000");
}

#[test]
fn timeouts_are_durations() {
    let db = Connection::open(None);
    assert_eq!(db.session().statement_timeout(), None);
    db.ok("set statement_timeout = '1.5s'");
    db.ok("set idle_in_transaction_session_timeout = '1min'");
    db.ok("set idle_session_timeout = 250");
    assert_eq!(db.session().statement_timeout(), Some(Duration::from_millis(1_500)));
    assert_eq!(db.session().idle_in_transaction_timeout(), Some(Duration::from_secs(60)));
    assert_eq!(db.session().idle_timeout(), Some(Duration::from_millis(250)));
    db.ok("begin");
    db.ok("set local statement_timeout = 0");
    assert_eq!(db.session().statement_timeout(), None);
    db.ok("commit");
    assert_eq!(db.session().statement_timeout(), Some(Duration::from_millis(1_500)));
}

#[test]
fn all_settings_are_listed_with_what_they_are() {
    let db = Connection::open(None);
    db.ok("set work_mem = '1GB'");
    db.ok("set my.own = 'x'");
    let all = db.session().all_settings();
    let named = |name: &str| all.iter().find(|setting| setting.name == name).unwrap();
    let work_mem = named("work_mem");
    assert_eq!((work_mem.value.as_str(), work_mem.shown.as_str()), ("1048576", "1GB"));
    assert_eq!(
        (work_mem.unit, work_mem.source, work_mem.reset.as_str()),
        (Some("kB"), "session", "4096")
    );
    assert_eq!(named("my.own").value, "x");
    assert_eq!(named("server_version").context, "internal");
    assert!(all.is_sorted_by_key(|setting| setting.name.to_lowercase()));
}

#[test]
fn session_knows_whose_it_is() {
    let database = Database::open(OpenOptions::default()).unwrap();
    let ada = RoleDef { oid: 20_000, name: "ada".into(), is_superuser: false, ..nacre(&database) };
    database.store().define_role(ada).unwrap();
    let info = SessionInfo {
        user: "ada".into(),
        database: "engine".into(),
        process_id: 7,
        ..SessionInfo::default()
    };
    let session = database.session_for(info.clone());
    assert_eq!(session.info(), &info);
    assert_eq!(session.setting("session_authorization").as_deref(), Some("ada"));
    assert_eq!(database.session().info().user, "nacre");
}

fn nacre(database: &Database) -> RoleDef {
    RoleDef::clone(&database.store().role("nacre").unwrap())
}

#[test]
fn cancelled_sleep_ends_at_once() {
    let db = Connection::open(None);
    let begin = std::time::Instant::now();
    let slept = db.runtime().block_on(async {
        let statement = db.session().prepare("select pg_sleep(60)", &[]).unwrap();
        let rows = async {
            match statement.execute(db.session(), &[]).await.unwrap() {
                nacre_sql::Outcome::Rows { stream, .. } => {
                    futures::TryStreamExt::try_collect::<Vec<_>>(stream).await.unwrap()
                }
                nacre_sql::Outcome::Command { tag, .. } => panic!("{tag}"),
            }
        };
        tokio::time::timeout(Duration::from_millis(50), rows).await
    });
    assert!(slept.is_err());
    assert!(begin.elapsed() < Duration::from_secs(10));
    db.ok("select 1");
}
