//! Messages of errors have no words of the engine: none of its types, trees and functions. Those of
//! texts that the grammar refuses are PostgreSQL's.

use crate::support::Connection;

/// A statement a line; some of them work.
const STATEMENTS: &str = include_str!("messages.sql");

/// Texts that PostgreSQL 15 refuses, a line each: text, SQLSTATE, message, and the character that
/// the error is at, `-` for none.
const REFUSED_TEXTS: &str = include_str!("syntax_errors.tsv");

/// Words that only a reader of the engine's source knows.
const ENGINE_WORDS: [&str; 30] = [
    "nacre_",
    "DataFusion",
    "datafusion",
    "Arrow",
    "LogicalPlan",
    "Logical plan",
    "Physical",
    "logical expression",
    "physical",
    "This feature is not implemented",
    "Internal error",
    "internal error",
    "Execution error",
    "Invalid argument error",
    "External error",
    "during planning",
    "sqltorel",
    "ExprPlanner",
    "Expr(",
    "RecordBatch",
    "UDF",
    "Int32",
    "Int64",
    "Float64",
    "Utf8",
    "Decimal128",
    "Timestamp(",
    "Time64",
    "Struct(",
    "Ident {",
];

#[test]
fn errors_are_told_without_words_of_the_engine() {
    let db = Connection::open(None);
    db.ok("create table t (a int primary key, b text, n numeric(10, 2), f float8, ts timestamp, \
           d date, y bytea)");
    db.ok("insert into t values (1, 'x', 1.5, 2.5, '2024-01-01 00:00', '2024-01-01', 'ab')");
    db.ok("create table u (a int, b text)");
    db.ok("insert into u values (1, 'x'), (2, 'y')");
    let mut failed = 0;
    let mut told = Vec::new();
    for sql in STATEMENTS.lines() {
        let Err(error) = db.run(sql) else { continue };
        failed += 1;
        let texts = [Some(error.message()), error.detail(), error.hint()];
        let text = texts.into_iter().flatten().collect::<Vec<_>>().join("\n");
        if let Some(word) = ENGINE_WORDS.iter().find(|word| text.contains(**word)) {
            told.push(format!("{word} in {sql}: {text}"));
        }
    }
    assert!(failed > 100, "only {failed} statements fail");
    assert!(told.is_empty(), "{}", told.join("\n"));
}

#[test]
fn errors_of_types_and_places_have_postgresqls_codes() {
    let db = Connection::open(None);
    db.ok("create table t (a int primary key, b text, f float8, d date)");
    db.ok("insert into t values (1, 'x', 1, '2024-01-01')");
    for (sql, code, message) in [
        ("select d * 2 from t", "42883", "operator does not exist: date * integer"),
        ("select f::date from t", "42846", "cannot cast type double precision to date"),
        ("values (1, 2), (3)", "42601", "VALUES lists must all be the same length"),
        ("select b ~ '(' from t", "2201B", "invalid regular expression: unclosed group"),
        ("select count(*) from t group by 5", "42P10", "GROUP BY position 5 is not in select list"),
        (
            "select count(*) from t group by sum(a)",
            "42803",
            "aggregate functions are not allowed in GROUP BY",
        ),
        (
            "select * from (select 1) as x(a, b)",
            "42P10",
            "table \"x\" has 1 columns available but 2 columns specified",
        ),
    ] {
        let error = db.error(sql);
        assert_eq!((error.sqlstate(), error.message()), (code, message), "{sql}");
    }
}

#[test]
fn columns_that_may_have_been_meant_are_named() {
    let db = Connection::open(None);
    db.ok("create table shell (id int, name text)");
    db.ok("create table tt (zid int, zname text, val1 int, val2 int, val3 int)");
    let one = |name: &str| Some(format!("Perhaps you meant to reference the column \"{name}\"."));
    let two = |name: &str, other: &str| {
        let hint = "Perhaps you meant to reference the column";
        Some(format!("{hint} \"{name}\" or the column \"{other}\"."))
    };
    for (sql, hint) in [
        ("select nam from shell", one("shell.name")),
        ("select shell.nam from shell", one("shell.name")),
        ("select nam from shell s, shell t", two("s.name", "t.name")),
        ("select nam from (select 1 as name, 2 as namx) x", two("x.name", "x.namx")),
        ("select x.zid from shell x, tt y", two("x.id", "y.zid")),
        ("select x.zid from shell x, tt yyyyyyyy", one("x.id")),
        ("select val from tt", None),
        ("select nosuch from shell", None),
        ("select na from shell", None),
        ("select val1 from tt t1 where exists (select zi from shell)", one("t1.zid")),
        ("select tt.zid from tt order by zidx", one("tt.zid")),
        ("select * from shell s join tt on s.ide = zid", one("s.id")),
        ("select 1 from (values (1)) v(name), lateral (select vnam) z", one("v.name")),
        ("select zanem from tt", None),
    ] {
        let error = db.error(sql);
        assert_eq!((error.sqlstate(), error.hint()), ("42703", hint.as_deref()), "{sql}");
    }
}

#[test]
fn texts_that_are_no_sql_are_refused_at_the_same_token() {
    let db = Connection::open(None);
    db.ok("create table t (a int, b int)");
    let mut differences = Vec::new();
    for line in REFUSED_TEXTS.lines() {
        let [sql, code, message, place] = line.split('\t').collect::<Vec<_>>()[..] else {
            panic!("malformed line: {line}")
        };
        let Err(error) = db.run(sql) else {
            differences.push(format!("{sql}: accepted"));
            continue;
        };
        let found = error.position().map_or("-".to_owned(), |place| place.column.to_string());
        let is_placed = place == "-" || found == place;
        if (error.sqlstate(), error.message()) != (code, message) || !is_placed {
            differences.push(format!("{sql}: {} {} at {found}", error.sqlstate(), error.message()));
        }
    }
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}
