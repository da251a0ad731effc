//! What statements tell beside their answers.

use nacre_sql::{Notice, Outcome, StatementIo};

use crate::support::Connection;

fn told(connection: &Connection, sql: &str) -> Vec<Notice> {
    let run = connection.session().execute(sql, StatementIo::default());
    match connection.runtime().block_on(run).unwrap() {
        Outcome::Command { notices, .. } => notices,
        Outcome::Rows { .. } => panic!("rows"),
    }
}

#[test]
fn what_is_skipped_or_dropped_besides_is_told() {
    let connection = Connection::open(None);
    let one = |sql: &str| {
        let [notice] = <[Notice; 1]>::try_from(told(&connection, sql)).unwrap();
        (notice.severity, notice.code, notice.message)
    };
    assert!(told(&connection, "create table t (a integer primary key)").is_empty());
    let skipped = one("create table if not exists t (a integer)");
    assert_eq!(skipped, ("NOTICE", "42P07", "relation \"t\" already exists, skipping".to_owned()));
    let missing = one("drop table if exists nothing");
    let message = "table \"nothing\" does not exist, skipping".to_owned();
    assert_eq!(missing, ("NOTICE", "00000", message));
    let column = one("alter table t drop column if exists b");
    assert_eq!(column.2, "column \"b\" of relation \"t\" does not exist, skipping");

    told(&connection, "create table child (a integer references t)");
    told(&connection, "create view v as select a from t");
    let [notice] = <[Notice; 1]>::try_from(told(&connection, "drop table t cascade")).unwrap();
    assert_eq!(notice.message, "drop cascades to 2 other objects");
    assert_eq!(
        notice.detail.unwrap(),
        "drop cascades to view v\ndrop cascades to constraint child_a_fkey on table child"
    );
}

#[test]
fn unlogged_table_is_a_table() {
    let connection = Connection::open(None);
    let notices = told(&connection, "create unlogged table t (a integer)");
    assert_eq!(notices.len(), 1);
    assert!(connection.rows("select * from only t").is_empty());
}

#[test]
fn notices_of_a_failed_statement_are_not_told_later() {
    let connection = Connection::open(None);
    told(&connection, "create table t (a integer)");
    connection.error("alter table t drop column if exists b, drop column nope");
    assert!(told(&connection, "create table u (a integer)").is_empty());
}
