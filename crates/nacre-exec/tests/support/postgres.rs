//! Statements over the table `t` beside a PostgreSQL 15 server.

use std::fmt::Write;

use crate::server::TestServer;
use crate::support::statements::{TestDatabase, TestRow, Texts, sorted};

fn literal<T: ToString>(value: Option<T>) -> String {
    value.map_or_else(|| "null".to_owned(), |value| format!("'{}'", value.to_string()))
}

/// Returns statements that make the table `t`.
fn definitions(rows: &[TestRow]) -> String {
    let mut text = "create table t (id bigint, a integer, k smallint, n numeric(10,2), s text, \
                    c char(5), d date, o boolean, f double precision);\ninsert into t values\n"
        .to_owned();
    for (index, row) in rows.iter().enumerate() {
        let n = row.n.map(|n| format!("{}e-2", n));
        let date = row.d.map_or("null".to_owned(), |d| format!("date '1970-01-01' + {d}"));
        let _ = write!(
            text,
            "{}({}, {}, {}, {}, {}, {}, {date}, {}, {})",
            if index == 0 { "" } else { ",\n" },
            row.id,
            literal(row.a),
            literal(row.k),
            literal(n),
            literal(row.s),
            literal(row.c),
            literal(row.o),
            literal(row.f),
        );
    }
    text.push_str(";\n");
    text
}

/// Why a query in FROM is refused that PostgreSQL would merge into the outer one.
const GUARDED: &str =
    "not supported: columns of queries in FROM that may fail, and conditions on them";

/// Compares answers with those of the server; returns how many have rows in both, `None` without a
/// server.
pub(crate) fn compare(
    database: &TestDatabase,
    rows: &[TestRow],
    statements: &[String],
) -> Option<usize> {
    let server = TestServer::start()?;
    let theirs = server.answers(&definitions(rows), statements);
    assert_eq!(theirs.len(), statements.len());
    let (mut differences, mut count) = (String::new(), 0);
    for (sql, theirs) in statements.iter().zip(theirs) {
        let theirs: Option<Texts> = theirs.map(|lines| {
            let fields = |line: String| {
                let fields = line.split('\t').map(|one| if one == "NULL" { "-" } else { one });
                fields.map(str::to_owned).collect()
            };
            lines.into_iter().map(fields).collect()
        });
        let ours = database.run_optimized(sql);
        count += usize::from(ours.as_ref().is_ok_and(|rows| !rows.is_empty()));
        let is_same = match (&ours, theirs.clone()) {
            (Ok(ours), Some(theirs)) if sql.contains("order by 1") => *ours == theirs,
            (Ok(ours), Some(theirs)) => sorted(ours.clone()) == sorted(theirs),
            (Err(error), None) => !error.starts_with("not supported"),
            (Err(error), Some(_)) => error == GUARDED,
            _ => false,
        };
        if !is_same {
            let _ = writeln!(differences, "{sql}\n   {ours:?}\n   PostgreSQL {theirs:?}");
        }
    }
    assert!(differences.is_empty(), "{differences}");
    Some(count)
}
