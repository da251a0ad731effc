//! Definitions: codes and details of their errors, and what of them survives a restart.

use nacre_sql::{CopyIn, StatementIo};

use crate::support::Connection;

#[test]
fn rules_carry_postgresqls_codes_and_show_the_row() {
    let db = Connection::open(None);
    db.ok("create table t (a integer default 1 check (a > 0), b text, c integer not null)");
    let codes = [
        ("insert into t values (0, 'x', 1)", "23514"),
        ("update t set a = -1", "00000"),
        ("insert into t (a) values (1)", "23502"),
        ("create table e (a integer default 'x')", "22P02"),
        ("create table e (a integer default true)", "42804"),
        ("create table e (a integer default b)", "0A000"),
        ("create table e (a integer default (select 1))", "0A000"),
        ("create table e (a integer default max(1))", "42803"),
        ("create table e (a integer default 1 default 2)", "42601"),
        ("create table e (a integer check (b > 1))", "42703"),
        ("create table e (a integer check (a))", "42804"),
        ("create table e (a integer check (rank() over () > 1))", "42P20"),
        (
            "create table e (a integer, constraint x check (a > 1), constraint x check (a > 2))",
            "42710",
        ),
    ];
    for (sql, code) in codes {
        match db.run(sql) {
            Ok(_) => assert_eq!(code, "00000", "{sql}"),
            Err(error) => assert_eq!(error.sqlstate(), code, "{sql}: {error}"),
        }
    }
    let error = db.error("insert into t values (1, 'good', 1), (-5, null, 2)");
    let message = "new row for relation \"t\" violates check constraint \"t_a_check\"";
    assert_eq!(error.message(), message);
    assert_eq!(error.detail(), Some("Failing row contains (-5, null, 2)."));
    db.ok("insert into t values (7, 'b', 3)");
    let error = db.error("update t set a = -a");
    assert_eq!(error.detail(), Some("Failing row contains (-7, b, 3)."));
    let io = StatementIo {
        copy_in: Some(CopyIn::Bytes(b"1\tx\t1\n-2\ty\t2\n".to_vec())),
        ..StatementIo::default()
    };
    let Err(error) = db.run_with("copy t from stdin", io) else { panic!("accepted") };
    assert_eq!((error.message(), error.sqlstate()), (message, "23514"));
    assert_eq!(error.detail(), Some("Failing row contains (-2, y, 2)."));
    assert!(error.context().is_some_and(|place| place.contains("line 2")), "{error:?}");
}

#[test]
fn rules_survive_a_restart() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("db");
    let db = Connection::open(Some(&path));
    db.ok("create table t (a integer default 40 + 2, b text default 'it''s', check (a <> 13))");
    db.ok("insert into t default values");
    drop(db);
    let db = Connection::open(Some(&path));
    db.ok("insert into t (b) values ('x')");
    assert_eq!(db.rows("select a, b from t order by b"), ["42|it's", "42|x"]);
    assert_eq!(db.error("update t set a = 13").sqlstate(), "23514");
}

#[test]
fn sequences_and_views_carry_postgresqls_codes() {
    let db = Connection::open(None);
    db.ok("create table t (a integer generated always as identity, b integer)");
    db.ok("create sequence s maxvalue 2 start 2");
    db.ok("create view v as select a from t");
    db.ok("select nextval('s')");
    let codes = [
        ("select nextval('s')", "2200H"),
        ("select nextval('none')", "42P01"),
        ("select nextval('t')", "42809"),
        ("select currval('t_a_seq')", "55000"),
        ("select setval('s', 5)", "22003"),
        ("create sequence s", "42P07"),
        ("create sequence e increment 0", "22023"),
        ("drop sequence t_a_seq", "2BP01"),
        ("drop sequence none", "42P01"),
        ("insert into t (a) values (1)", "428C9"),
        ("update t set a = 1", "428C9"),
        ("insert into v values (1)", "55000"),
        ("drop table t", "2BP01"),
        ("drop view t", "42809"),
        ("drop view none", "42P01"),
        ("create view v as select 1", "42P07"),
        ("create or replace view v as select b from t", "42P16"),
        ("create view w as select a, b as a from t", "42701"),
        ("create materialized view w as select 1", "0A000"),
    ];
    for (sql, code) in codes {
        let error = db.error(sql);
        assert_eq!(error.sqlstate(), code, "{sql}: {error}");
    }
    let error = db.error("drop table t");
    assert_eq!(error.detail(), Some("view v depends on table t"));
}

#[test]
fn sequences_and_views_survive_a_restart() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("db");
    let db = Connection::open(Some(&path));
    db.ok("create table t (id bigserial, v text)");
    db.ok("create view v (n, letters) as select id, v from t");
    db.ok("insert into t (v) values ('a')");
    drop(db);
    let db = Connection::open(Some(&path));
    db.ok("insert into t (v) values ('b')");
    assert_eq!(db.rows("select n, letters from v order by n"), ["1|a", "2|b"]);
    assert_eq!(db.error("drop table t").sqlstate(), "2BP01");
    db.ok("drop table t cascade");
    drop(db);
    let db = Connection::open(Some(&path));
    assert!(db.rows("show tables").is_empty());
    db.ok("create table t (id serial)");
}

/// What a block defined is there after a restart if it was committed, with the rows, and else not.
#[test]
fn definitions_of_a_block_survive_a_restart_with_its_rows() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("db");
    let db = Connection::open(Some(&path));
    db.ok("create table old (a integer primary key)");
    db.ok("insert into old values (1), (2)");
    db.ok("begin");
    db.ok("create table t (id serial primary key, a integer references old, b text unique)");
    db.ok("insert into t (a, b) values (1, 'x'), (2, 'y')");
    db.ok("create index t_a on t (a)");
    db.ok("create view v as select b from t where a = 2");
    db.ok("update old set a = a where a = 1");
    db.ok("commit");
    db.ok("begin");
    db.ok("alter table t add column c integer default 7");
    db.ok("insert into t (a, b) values (1, 'z')");
    db.ok("commit");
    db.ok("begin");
    db.ok("create table lost (a integer)");
    db.ok("insert into lost values (1)");
    db.ok("insert into old values (3)");
    db.ok("alter table t drop column c");
    db.ok("drop view v");
    drop(db);
    let db = Connection::open(Some(&path));
    assert_eq!(db.rows("select id, a, b, c from t order by id"), ["1|1|x|7", "2|2|y|7", "3|1|z|7"]);
    assert_eq!(db.rows("select b from v"), ["y"]);
    assert_eq!(db.rows("select a from old order by a"), ["1", "2"]);
    assert_eq!(db.error("select * from lost").sqlstate(), "42P01");
    assert_eq!(db.error("insert into t (a, b) values (1, 'x')").sqlstate(), "23505");
    assert_eq!(db.error("insert into t (a, b) values (9, 'w')").sqlstate(), "23503");
    assert_eq!(db.error("delete from old where a = 1").sqlstate(), "23503");
    let names = db.rows("select index_name from nacre_indexes where table_name = 't' order by 1");
    assert_eq!(names, ["t_a", "t_a_fkey", "t_b_key", "t_pkey"]);
    db.ok("create table lost (b text)");
    db.ok("checkpoint");
    drop(db);
    let db = Connection::open(Some(&path));
    assert_eq!(db.rows("select count(*), max(id) from t"), ["3|3"]);
    assert!(db.rows("select * from lost").is_empty());
}
