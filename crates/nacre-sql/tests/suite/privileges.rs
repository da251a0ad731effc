//! What roles learn from errors.

use crate::support::Connection;

#[test]
fn errors_show_rows_and_keys_to_those_who_may_read_them() {
    let db = Connection::open(None);
    db.ok("create table leak (id integer primary key, secret text, c integer check (c < 100))");
    db.ok("insert into leak values (1, 'pearl', 5)");
    db.ok("create role prober");
    db.ok("grant insert, update on leak to prober");
    db.ok("set session authorization prober");
    let changes = ["update leak set c = 500", "insert into leak values (1, 'x', 1)"];
    // The second time the statement is a short one with a plan of its own.
    for sql in [changes, changes].concat() {
        let error = db.error(sql);
        assert!(error.sqlstate().starts_with("23"), "{error}");
        assert_eq!(error.detail(), None, "{sql}");
    }
    db.ok("reset session authorization");
    db.ok("grant select on leak to prober");
    db.ok("set session authorization prober");
    for sql in changes {
        assert!(db.error(sql).detail().is_some(), "{sql}");
    }
}
