//! Damage on media as a user sees it: what fails, what is named, what still answers.

use std::fs::{self, OpenOptions};
use std::os::unix::fs::FileExt;
use std::path::Path;

use nacre_sql::ErrorKind;

use crate::support::Connection;

/// A database of two tables, one of them with two chunks.
fn make(directory: &Path) {
    let connection = Connection::open(Some(&directory.join("db")));
    for (table, rows) in [("t", 70_000), ("other", 10)] {
        let csv: String = (0..rows).map(|row| format!("{row},text {row}\n")).collect();
        let path = directory.join("in.csv");
        fs::write(&path, csv).unwrap();
        connection.ok(&format!("create table {table} (k integer primary key, v text)"));
        connection.ok(&format!("copy {table} from '{}' csv", path.display()));
    }
}

/// Flips a bit in the middle of the block of `column` of chunk `chunk` of table `t`.
fn flip(directory: &Path, chunk: usize, column: usize) {
    let connection = Connection::open(Some(&directory.join("db")));
    let table = connection.database.store().table("t").unwrap();
    let location = table.snapshot().chunks().unwrap()[chunk].location(column);
    let file = OpenOptions::new().read(true).write(true).open(location.pool_path.unwrap()).unwrap();
    let mut byte = [0];
    let offset = location.offset + location.bytes / 2;
    file.read_exact_at(&mut byte, offset).unwrap();
    file.write_all_at(&[byte[0] ^ 4], offset).unwrap();
}

#[test]
fn query_over_a_damaged_block_names_table_column_and_chunk() {
    let directory = tempfile::tempdir().unwrap();
    make(directory.path());
    flip(directory.path(), 1, 1);
    let connection = Connection::open(Some(&directory.path().join("db")));
    let error = connection.error("select max(length(v)) from t");
    assert_eq!(error.kind(), ErrorKind::DataCorrupted);
    assert_eq!(error.sqlstate(), "XX001");
    assert!(
        error.message().starts_with("table \"t\", column \"v\", chunk 1: checksum 0x"),
        "{}",
        error.message()
    );
    assert!(error.hint().is_some());
    // Other columns, other chunks and other tables answer.
    assert_eq!(connection.rows("select sum(k) from t"), ["2449965000"]);
    assert_eq!(connection.rows("select v from t where k = 5"), ["text 5"]);
    assert_eq!(connection.rows("select max(v) from other where k < 9"), ["text 8"]);
    // The bit flipped back, everything answers.
    drop(connection);
    flip(directory.path(), 1, 1);
    let connection = Connection::open(Some(&directory.path().join("db")));
    assert_eq!(connection.rows("select max(length(v)) from t"), ["10"]);
}

#[test]
fn missing_pool_fails_only_queries_over_its_table() {
    let directory = tempfile::tempdir().unwrap();
    make(directory.path());
    let connection = Connection::open(Some(&directory.path().join("db")));
    let path = connection.database.store().table("t").unwrap().snapshot().chunks().unwrap()[0]
        .location(0)
        .pool_path
        .unwrap();
    drop(connection);
    fs::remove_file(path).unwrap();
    let connection = Connection::open(Some(&directory.path().join("db")));
    let error = connection.error("select * from t");
    assert!(error.message().contains("load-"), "{}", error.message());
    assert_eq!(connection.rows("select count(*) from other"), ["10"]);
}

#[test]
fn foreign_directories_and_second_writers_are_refused_with_a_reason() {
    let directory = tempfile::tempdir().unwrap();
    make(directory.path());
    let database = directory.path().join("db");
    let first = Connection::open(Some(&database));
    let error = Connection::try_open(Some(&database)).err().unwrap();
    assert_eq!(error.kind(), ErrorKind::Open);
    assert!(error.message().contains(&std::process::id().to_string()), "{}", error.message());
    drop(first);
    let error = Connection::try_open(Some(directory.path())).err().unwrap();
    assert!(error.message().contains("is not a Nacre database"), "{}", error.message());
}
