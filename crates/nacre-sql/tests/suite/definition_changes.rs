//! Statements beside changes of definitions by another session, which come between the snapshot of
//! a transaction and its statement, or between its write and its commit.
//!
//! A transaction with an older snapshot used to see no rows of a table that another one had written
//! anew: UPDATE, DELETE and MERGE changed nothing, and COMMIT succeeded.

use std::sync::Barrier;

use nacre_sql::{CopyIn, Error, StatementIo};

use crate::support::{Answer, Connection};

const LEVELS: [&str; 3] = ["read committed", "repeatable read", "serializable"];

const RESET: [&str; 9] = [
    "drop table if exists made, child, acc, o cascade",
    "create table o (x integer primary key)",
    "insert into o values (1)",
    "create table acc (id integer primary key, bal integer, tag integer)",
    "create index on acc (tag)",
    "insert into acc values (1, 10, 0), (2, 20, 0)",
    "create table child (id integer primary key, acc integer references acc on delete cascade \
     on update cascade, w integer)",
    "insert into child values (1, 1, 5)",
    "deallocate all",
];

/// Definition changes after which the table is another one for its users, with the same rows.
const CHANGES: [&[&str]; 9] = [
    &["alter table acc add column z integer default 5"],
    &["alter table acc alter column bal type bigint"],
    &["alter table acc add check (bal > -1000)"],
    &["alter table acc alter column bal set not null"],
    &["alter table acc drop column tag"],
    &["alter table acc rename column tag to other"],
    &[
        "begin",
        "alter table acc add column z integer default 5",
        "alter table child add column z integer",
        "alter table acc drop column tag",
        "commit",
    ],
    &["alter table child drop column w", "alter table acc alter column id type bigint"],
    &[
        "drop table acc cascade",
        "create table acc (id integer primary key, bal integer)",
        "insert into acc values (1, 10), (2, 20)",
        "alter table child add foreign key (acc) references acc on delete cascade \
         on update cascade",
    ],
];

/// Definition changes that leave rows and names alone.
const HARMLESS: [&[&str]; 4] = [
    &["alter table acc alter column bal set default 7"],
    &["create index on acc (bal)"],
    &["alter table acc add unique (bal)"],
    &["create table unrelated (a integer)", "drop table unrelated"],
];

/// A statement, its rows if it returns any, and a query for its effect with the expected rows.
struct Case {
    sql: &'static str,
    rows: Option<&'static [&'static str]>,
    effect: (&'static str, &'static [&'static str]),
}

const ALL: &str = "select id, bal from acc order by id";
const BOTH: &[&str] = &["1|10", "2|20"];
const CHILDREN: &str = "select c.id, a.bal from child c join acc a on a.id = c.acc order by 1";

const fn read(sql: &'static str, rows: &'static [&'static str]) -> Case {
    Case { sql, rows: Some(rows), effect: (ALL, BOTH) }
}

const fn write(sql: &'static str, effect: (&'static str, &'static [&'static str])) -> Case {
    Case { sql, rows: None, effect }
}

const CASES: [Case; 27] = [
    read("select bal from acc where id = 1", &["10"]),
    read("select sum(bal) from acc", &["30"]),
    read("select x, (select bal from acc where id = o.x) from o", &["1|10"]),
    read("select count(*) from child c where exists (select 1 from acc where id = c.acc)", &["1"]),
    read("execute reading (2)", &["20"]),
    read("explain analyze select sum(bal) from acc", &[]),
    write("update acc set bal = bal + 1 where id = 1", (ALL, &["1|11", "2|20"])),
    write("update acc set bal = bal + 1 where bal = (select 10)", (ALL, &["1|11", "2|20"])),
    write("execute writing (1)", (ALL, &["1|11", "2|20"])),
    write("update o set x = acc.bal from acc where acc.id = o.x", ("select x from o", &["10"])),
    write("update acc set id = 9 where id = 1", (CHILDREN, &["1|10"])),
    write("delete from acc where id = 2", (ALL, &["1|10"])),
    write("delete from acc where bal > 15", (ALL, &["1|10"])),
    write("delete from acc using o where acc.id = o.x", ("select count(*) from child", &["0"])),
    write(
        "merge into acc using o on acc.id = o.x when matched then update set bal = 11",
        (ALL, &["1|11", "2|20"]),
    ),
    write(
        "merge into o using acc on acc.id = o.x when not matched then insert values (acc.id)",
        ("select x from o order by x", &["1", "2"]),
    ),
    write("insert into acc (id, bal) values (3, 30)", (ALL, &["1|10", "2|20", "3|30"])),
    write("insert into acc (id, bal) select x + 2, 30 from o", (ALL, &["1|10", "2|20", "3|30"])),
    write("insert into o select bal from acc", ("select sum(x) from o", &["31"])),
    write(
        "insert into acc (id, bal) values (1, 0) on conflict (id) do update set bal = acc.bal + 1",
        (ALL, &["1|11", "2|20"]),
    ),
    write("insert into acc (id, bal) values (1, 0) on conflict do nothing", (ALL, BOTH)),
    write("copy acc (id, bal) from stdin", (ALL, &["1|10", "2|20", "3|30"])),
    write("insert into child (id, acc) values (2, 2)", (CHILDREN, &["1|10", "2|20"])),
    write("update child set acc = 2 where id = 1", (CHILDREN, &["1|20"])),
    write("truncate child, acc", ("select count(*) from acc", &["0"])),
    write("create table made as select bal from acc", ("select sum(bal) from made", &["30"])),
    write("declare c cursor for select bal from acc", (ALL, BOTH)),
];

fn all_ok(db: &Connection, statements: &[&str]) {
    statements.iter().for_each(|sql| drop(db.ok(sql)));
}

fn run(db: &Connection, sql: &str) -> Result<Answer, Error> {
    let is_copy = sql.starts_with("copy");
    let copy_in = is_copy.then(|| CopyIn::Bytes(b"3\t30\n".to_vec()));
    db.run_with(sql, StatementIo { copy_in, ..StatementIo::default() })
}

fn begin(other: &Connection, level: &str, first: &str) {
    other.ok("prepare reading as select bal from acc where id = $1");
    other.ok("prepare writing as update acc set bal = bal + 1 where id = $1");
    other.ok(&format!("begin isolation level {level}"));
    other.ok(first);
}

/// Checks the answer of a statement that had to succeed, and its effect, in its block.
fn check(case: &Case, other: &Connection, answer: Result<Answer, Error>, what: &str) {
    match answer.unwrap_or_else(|error| panic!("{what}: {error:?}")) {
        Answer::Rows(_, rows) if !case.rows.is_none_or(<[_]>::is_empty) => {
            let rows: Vec<String> = rows.iter().map(|row| row.join("|")).collect();
            assert_eq!(Some(rows), case.rows.map(|rows| rows.map_to_strings()), "{what}");
        }
        Answer::Rows(..) | Answer::Tag(_) => {}
    }
    if case.sql.starts_with("declare") {
        assert_eq!(other.rows("fetch all in c"), ["10", "20"], "{what}");
    }
    assert_eq!(other.rows(case.effect.0), case.effect.1, "{what}");
}

/// Runs all cases in a block that began before a change, each from a savepoint on; `check` gets
/// their answers.
fn run_cases(
    (db, other): (&Connection, &Connection),
    (level, change): (&str, &[&str]),
    check: impl Fn(&Case, Result<Answer, Error>, &str),
) {
    all_ok(db, &RESET);
    other.ok("deallocate all");
    begin(other, level, "select * from o");
    all_ok(db, change);
    for case in &CASES {
        other.ok("savepoint s");
        let what = format!("{level}, {change:?}, {}", case.sql);
        check(case, run(other, case.sql), &what);
        other.ok("rollback to s");
    }
    other.ok("commit");
    assert_eq!(db.rows(ALL), BOTH, "{level}, {change:?}");
}

/// Makes strings of texts.
trait MapToStrings {
    fn map_to_strings(&self) -> Vec<String>;
}

impl MapToStrings for [&str] {
    fn map_to_strings(&self) -> Vec<String> {
        self.iter().map(|text| (*text).to_owned()).collect()
    }
}

fn sessions() -> (Connection, Connection) {
    let db = Connection::open(None);
    let other = db.another();
    (db, other)
}

#[test]
fn statement_with_an_older_snapshot_sees_the_new_table_or_fails() {
    let (db, other) = sessions();
    for level in LEVELS {
        for change in CHANGES {
            run_cases((&db, &other), (level, change), |case, answer, what| {
                // The parent of a foreign key is the same table with other names of columns.
                let is_renamed = change[0].contains("rename");
                let is_of_child =
                    case.sql.contains("into child") || case.sql.contains("update child");
                if level == "read committed" {
                    check(case, &other, answer, what);
                } else if is_renamed && is_of_child {
                    drop(answer.unwrap_or_else(|error| panic!("{what}: {error}")));
                } else {
                    let error = answer.err().unwrap_or_else(|| panic!("{what}: no error"));
                    assert_eq!(error.sqlstate(), "40001", "{what}: {error}");
                }
            });
        }
    }
}

#[test]
fn statement_on_the_new_table_is_committed() {
    let (db, other) = sessions();
    for change in CHANGES {
        all_ok(&db, &RESET);
        other.ok("deallocate all");
        begin(&other, "read committed", "select * from acc");
        all_ok(&db, change);
        other.ok("update acc set bal = bal + 1 where id = 1");
        other.ok("execute writing (2)");
        other.ok("insert into child (id, acc) values (2, 2)");
        other.ok("commit");
        assert_eq!(db.rows(ALL), ["1|11", "2|21"], "{change:?}");
        assert_eq!(db.rows(CHILDREN), ["1|11", "2|21"], "{change:?}");
    }
}

#[test]
fn statement_beside_a_harmless_change_succeeds() {
    let (db, other) = sessions();
    for level in LEVELS {
        for change in HARMLESS {
            run_cases((&db, &other), (level, change), |case, answer, what| {
                check(case, &other, answer, what);
            });
        }
    }
}

#[test]
fn table_that_is_gone_or_new_is_a_conflict_for_older_snapshots() {
    let (db, other) = sessions();
    for level in LEVELS {
        for first in ["select * from o", "select * from acc"] {
            all_ok(&db, &RESET);
            other.ok("deallocate all");
            begin(&other, level, first);
            db.ok("drop table acc cascade");
            let code = if level == "read committed" { "42P01" } else { "40001" };
            for sql in ["select * from acc", "delete from acc"] {
                other.ok("savepoint s");
                assert_eq!(other.error(sql).sqlstate(), code, "{level}");
                other.ok("rollback to s");
            }
            db.ok("create table made (a integer)");
            db.ok("create view acc as select 1 as id");
            for sql in ["select * from made", "insert into made values (1)", "select id from acc"] {
                other.ok("savepoint s");
                let answer = other.run(sql);
                match level {
                    "read committed" => drop(answer.unwrap()),
                    _ => assert_eq!(answer.unwrap_err().sqlstate(), "40001", "{level}, {sql}"),
                }
                other.ok("rollback to s");
            }
            other.ok("rollback");
            db.ok("drop view acc");
        }
    }
}

#[test]
fn names_that_are_exchanged_are_a_conflict_for_older_snapshots() {
    let (db, other) = sessions();
    let exchanges: [&[&str]; 2] = [
        &[
            "create table spare (id integer primary key, bal integer)",
            "alter table acc rename to gone",
            "alter table spare rename to acc",
        ],
        &[
            "alter table acc rename column bal to x",
            "alter table acc rename column tag to bal",
            "alter table acc rename column x to tag",
        ],
    ];
    for level in LEVELS {
        for exchange in exchanges {
            db.ok("drop table if exists gone, spare cascade");
            all_ok(&db, &RESET);
            other.ok("deallocate all");
            other.ok("prepare reading as select bal from acc where id = 1");
            other.ok("execute reading");
            other.ok(&format!("begin isolation level {level}"));
            other.ok("select * from o");
            all_ok(&db, exchange);
            for sql in ["select coalesce(sum(bal), 0) from acc", "execute reading"] {
                other.ok("savepoint s");
                match other.run(sql) {
                    Ok(Answer::Rows(_, rows)) => {
                        assert_eq!(level, "read committed", "{sql}");
                        assert!(rows.iter().flatten().all(|value| value == "0"), "{rows:?}");
                    }
                    answer => assert_eq!(answer.unwrap_err().sqlstate(), "40001", "{level}, {sql}"),
                }
                other.ok("rollback to s");
            }
            other.ok("rollback");
        }
    }
}

#[test]
fn transaction_that_wrote_a_table_that_is_gone_fails() {
    let (db, other) = sessions();
    let gone: &[&str] = &["drop table acc cascade"];
    for level in LEVELS {
        // Renaming a column keeps the table.
        let changes = CHANGES.into_iter().filter(|change| !change[0].contains("rename"));
        for change in changes.chain([gone]) {
            for last in ["commit", "select 1", "select sum(bal) from acc"] {
                all_ok(&db, &RESET);
                other.ok("deallocate all");
                begin(&other, level, "update acc set bal = bal + 1 where id = 1");
                all_ok(&db, change);
                let error = other.error(last);
                assert_eq!(error.sqlstate(), "40001", "{level}, {change:?}, {last}: {error}");
                if last != "commit" {
                    other.ok("rollback");
                }
                if change != gone {
                    assert_eq!(db.rows(ALL), BOTH, "{level}, {change:?}");
                }
            }
        }
        all_ok(&db, &RESET);
        other.ok("deallocate all");
        begin(&other, level, "update acc set bal = bal + 1 where id = 1");
        db.ok("alter table acc rename column tag to other");
        other.ok("commit");
        assert_eq!(db.rows(ALL), ["1|11", "2|20"]);
    }
}

#[test]
fn row_that_refers_stays_when_its_parent_is_written_anew() {
    let (db, other) = sessions();
    for level in LEVELS {
        for change in &CHANGES[..6] {
            all_ok(&db, &RESET);
            other.ok("deallocate all");
            begin(&other, level, "insert into child (id, acc) values (2, 2)");
            all_ok(&db, change);
            // It is not committed, but there.
            assert_eq!(db.error("delete from acc where id = 2").sqlstate(), "40001");
            other.ok("commit");
            assert_eq!(db.rows(CHILDREN), ["1|10", "2|20"], "{level}, {change:?}");
        }
    }
}

#[test]
fn what_was_read_of_a_table_that_is_gone_is_validated() {
    let (db, other) = sessions();
    for level in LEVELS {
        for change in CHANGES.iter().filter(|change| !change[0].contains("rename")) {
            all_ok(&db, &RESET);
            other.ok("deallocate all");
            begin(&other, level, "select sum(bal) from acc");
            all_ok(&db, change);
            // Writes to the new table would not be compared with the read of the old one.
            db.ok("update acc set bal = 0 where not exists (select 1 from o where x = 7)");
            other.ok("update o set x = 7");
            match level {
                "serializable" => assert_eq!(other.error("commit").sqlstate(), "40001"),
                _ => drop(other.ok("commit")),
            }
        }
    }
}

#[test]
fn block_that_alters_a_table_sees_no_older_rows_of_it() {
    let (db, other) = sessions();
    for level in LEVELS {
        all_ok(&db, &RESET);
        other.ok("deallocate all");
        begin(&other, level, "select bal from acc where id = 1");
        db.ok("update acc set bal = 100 where id = 1");
        let altered = other.run("alter table acc add column z integer");
        if level == "read committed" {
            altered.unwrap();
            other.ok("update acc set bal = bal + 1 where id = 1");
            other.ok("commit");
            assert_eq!(db.rows(ALL), ["1|101", "2|20"]);
        } else {
            assert_eq!(altered.unwrap_err().sqlstate(), "40001");
            other.ok("rollback");
        }
    }
}

#[test]
fn truncated_table_keeps_its_rows_for_older_snapshots_or_fails() {
    let (db, other) = sessions();
    let statements = [
        "select sum(bal) from acc",
        "update acc set bal = bal + 1 where id = 1",
        "delete from acc where id = 1",
        "insert into acc values (1, 1, 1) on conflict (id) do update set bal = acc.bal + 1",
    ];
    for level in ["repeatable read", "serializable"] {
        for sql in statements {
            all_ok(&db, &RESET);
            other.ok("deallocate all");
            begin(&other, level, "select * from o");
            db.ok("truncate child, acc");
            match other.run(sql) {
                Ok(Answer::Rows(_, rows)) => assert_eq!(rows, [["30"]], "{level}"),
                answer => assert_eq!(answer.unwrap_err().sqlstate(), "40001", "{level}, {sql}"),
            }
            other.ok("rollback");
        }
    }
    all_ok(&db, &RESET);
    other.ok("deallocate all");
    begin(&other, "read committed", "select * from o");
    db.ok("truncate child, acc");
    assert_eq!(other.rows("select count(*) from acc"), ["0"]);
    other.ok("insert into acc values (1, 1, 1) on conflict (id) do update set bal = 0");
    other.ok("commit");
    assert_eq!(db.rows(ALL), ["1|1"]);
}

#[test]
fn open_block_that_alters_keeps_writers_off_and_readers_on() {
    let (db, other) = sessions();
    all_ok(&db, &RESET);
    db.ok("begin");
    db.ok("alter table acc add column z integer");
    for level in LEVELS {
        other.ok(&format!("begin isolation level {level}"));
        assert_eq!(other.rows(ALL), BOTH);
        assert_eq!(other.error("delete from acc where id = 2").sqlstate(), "40001");
        other.ok("rollback");
    }
    db.ok("rollback");
    other.ok("update acc set bal = bal + 1 where id = 1");
    assert_eq!(db.rows(ALL), ["1|11", "2|20"]);
}

/// Runs a statement in two sessions at once, again and again; returns the codes of errors, in
/// rounds.
fn at_once(rounds: usize, prepare: &str, sql: &str) -> Vec<Vec<String>> {
    let (db, other) = sessions();
    let barrier = Barrier::new(2);
    let mut found = Vec::new();
    for _ in 0..rounds {
        db.ok(prepare);
        let run = |connection: &Connection| {
            barrier.wait();
            connection.run(sql).err().map(|error| error.sqlstate().to_owned())
        };
        let codes = std::thread::scope(|scope| {
            let second = scope.spawn(|| run(&other));
            [run(&db), second.join().unwrap()]
        });
        found.push(codes.into_iter().flatten().collect());
    }
    found
}

#[test]
fn two_sessions_that_drop_the_same_do_not_fail_for_it() {
    let made = "create table t (a integer); create table u (a integer)";
    let statements = ["drop table if exists t", "drop table if exists t, t, none"];
    for sql in statements {
        let made = made.split_once(';').unwrap().0;
        let failed = at_once(30, made, sql);
        assert!(failed.iter().all(Vec::is_empty), "{sql}: {failed:?}");
    }
    let failed = at_once(30, "create view t as select 1 as a", "drop view if exists t");
    assert!(failed.iter().all(Vec::is_empty), "{failed:?}");
    let failed = at_once(30, "create sequence t", "drop sequence if exists t");
    assert!(failed.iter().all(Vec::is_empty), "{failed:?}");
    let failed = at_once(30, "drop table if exists t", "create table if not exists t (a integer)");
    assert!(failed.iter().all(Vec::is_empty), "{failed:?}");
    let failed = at_once(30, "create table t (a integer)", "drop table t");
    assert!(failed.iter().all(|codes| codes == &["42P01"]), "{failed:?}");
}
