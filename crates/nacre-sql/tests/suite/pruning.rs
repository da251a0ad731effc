//! Filters: the same rows with and without skipping, whatever the filter.

use std::fmt::Write as _;

use crate::support::Connection;

/// A table of many small chunks: each COPY makes one.
fn table_of_chunks(connection: &Connection, directory: &std::path::Path) {
    connection
        .ok("create table t (k bigint, d date, s varchar, n decimal(10,2), f double, b boolean)");
    for chunk in 0..12_i64 {
        let mut csv = String::new();
        for row in 0..100 {
            let k = chunk * 100 + row;
            let text = if row % 7 == 0 { String::new() } else { format!("word{:04}", k / 3) };
            let number = if row % 11 == 0 { String::new() } else { format!("{}.{:02}", k, row) };
            let float = if chunk == 5 && row == 50 { "NaN".into() } else { format!("{k}.5") };
            let day = 1 + row % 28;
            writeln!(csv, "{k},20{:02}-01-{day:02},{text},{number},{float},{}", chunk + 1, k % 2)
                .unwrap();
        }
        let path = directory.join("chunk.csv");
        std::fs::write(&path, csv).unwrap();
        connection.ok(&format!("copy t from '{}' (format csv)", path.display()));
    }
}

#[test]
fn skipping_chunks_changes_no_answer() {
    let directory = tempfile::tempdir().unwrap();
    let connection = Connection::open(None);
    table_of_chunks(&connection, directory.path());
    let filters = [
        "k = 557",
        "k <> 557",
        "k < 100",
        "k >= 1100",
        "k between 95 and 105",
        "k in (3, 555, 4000)",
        "k is null",
        "s is null",
        "s is not null",
        "s = 'word0100'",
        "s > 'word039'",
        "s like 'word01%'",
        "s like '%99'",
        "s < 'a'",
        "d = date '2006-01-05'",
        "d < date '2002-02-01'",
        "n > 1150.0",
        "n is null and k > 500",
        "f > 1190",
        "f = 'NaN'",
        "f < 10",
        "b",
        "not b and k < 50",
        "k = 1 or s = 'word0399'",
        "k + 1 = 700",
        "abs(k) < 5",
        "k < 100 and k > 200",
        "coalesce(s, 'none') = 'none'",
        "k % 100 = 99",
        "d in (date '2001-01-01', date '2012-01-28')",
        "s in ('word0001', 'word0399', 'nothing')",
        "n = 105.05",
        "case when k < 3 then true end",
    ];
    for filter in filters {
        let fast = connection.rows(&format!("select k from t where {filter} order by k"));
        // A volatile term keeps the same filter above the scan.
        let slow = connection
            .rows(&format!("select k from t where ({filter}) and random() >= 0 order by k"));
        assert_eq!(fast, slow, "{filter}");
    }
}

#[test]
fn explain_shows_how_many_chunks_are_read() {
    let directory = tempfile::tempdir().unwrap();
    let connection = Connection::open(None);
    table_of_chunks(&connection, directory.path());
    for (sql, left_out) in [
        ("select s from t where k = 557", 11),
        ("select k from t where s like 'word01%'", 9),
        ("select k from t where d >= date '2011-01-01'", 10),
        ("select k from t", 0),
    ] {
        let counted = connection.rows(&format!("explain analyze {sql}")).join("\n");
        let expected = format!("Chunks: 12, {left_out} left out by their bounds");
        assert!(counted.contains(&expected), "{sql}: {counted}");
    }
    connection.ok("set nacre.engine = datafusion");
    let plan = |sql: &str| connection.rows(&format!("explain {sql}")).join("\n");
    assert!(plan("select s from t where k = 557").contains("chunks=1 of 12"));
    assert!(plan("select k from t where s like 'word01%'").contains("chunks=3 of 12"));
    assert!(plan("select k from t where d >= date '2011-01-01'").contains("chunks=2 of 12"));
    assert!(plan("select k from t").contains("chunks=12"));
    let counted = plan("select count(*) from t");
    assert!(!counted.contains("TableScanExec"), "counting reads nothing: {counted}");
}

#[test]
fn limit_returns_that_many_rows() {
    let directory = tempfile::tempdir().unwrap();
    let connection = Connection::open(None);
    table_of_chunks(&connection, directory.path());
    for limit in [0, 1, 99, 100, 101, 1_199, 1_200, 5_000] {
        let rows = connection.rows(&format!("select k from t limit {limit}"));
        assert_eq!(rows.len(), limit.min(1_200));
        let rows = connection.rows(&format!("select k from t where b limit {limit}"));
        assert_eq!(rows.len(), limit.min(600));
    }
}
