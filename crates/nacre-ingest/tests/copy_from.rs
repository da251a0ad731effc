//! COPY FROM into a real store, through the public interface only.

#![allow(clippy::unwrap_used, reason = "a test may fail by panicking")]

use nacre_column::ColumnType;
use nacre_ingest::{CsvOptions, Destination, Error, ErrorKind, Progress, Source, copy_from};
use nacre_store::{ColumnDef, OpenOptions, Store, Table, TableSchema};
use std::sync::{Arc, atomic::Ordering};

fn column(name: &str, column_type: ColumnType, is_nullable: bool) -> ColumnDef {
    ColumnDef { name: name.to_owned(), column_type, is_nullable, replicas: None }
}

/// A volatile store with `t (a bigint primary key, b text)`.
fn store() -> (Store, Arc<Table>) {
    let store = Store::open(OpenOptions::default()).unwrap();
    let schema = TableSchema {
        name: "t".to_owned(),
        columns: vec![
            column("a", ColumnType::BigInt, false),
            column("b", ColumnType::Varchar { max_chars: None }, true),
        ],
        primary_key: Some(vec![0]),
        primary_key_name: "t_pkey".to_owned(),
        replicas: None,
    };
    let table = store.create_table(schema).unwrap();
    (store, table)
}

fn lines(rows: impl Iterator<Item = u64>) -> Vec<u8> {
    rows.flat_map(|row| format!("{row},\"text\n{row}\"\n").into_bytes()).collect()
}

#[test]
fn rows_of_several_chunks_become_visible_together() {
    let (store, table) = store();
    let progress = Progress::default();
    let source = Source::Bytes(lines(0..200_000));
    let options = CsvOptions::default();
    let rows =
        copy_from(&store, Destination::whole(&table), source, &options, 2, &progress).unwrap();
    assert_eq!((rows, table.snapshot().rows()), (200_000, 200_000));
    assert_eq!(progress.rows_done.load(Ordering::Relaxed), 200_000);
    let total = progress.bytes_total.load(Ordering::Relaxed);
    assert_eq!(progress.bytes_done.load(Ordering::Relaxed), total);
}

#[test]
fn faulty_file_leaves_the_table_as_it_was() {
    let (store, table) = store();
    let mut text = lines(0..100_000);
    text.extend_from_slice(b"x,y\n");
    let (options, progress) = (CsvOptions::default(), Progress::default());
    let source = Source::Bytes(text);
    let error =
        copy_from(&store, Destination::whole(&table), source, &options, 2, &progress).unwrap_err();
    assert_eq!(error.message(), "invalid input syntax for type bigint: \"x\"");
    assert_eq!(error.location().unwrap().line, 200_001);
    assert_eq!(table.snapshot().rows(), 0);
}

/// Returns the key that is there twice.
fn duplicate(error: &Error) -> &str {
    let Some(nacre_store::Error::DuplicateKey(duplicate)) = error.store_error() else {
        panic!("{error}");
    };
    &duplicate.key
}

#[test]
fn duplicate_key_is_located_in_the_file() {
    let (store, table) = store();
    let (options, progress) = (CsvOptions::default(), Progress::default());
    let load = |rows: Vec<u8>| {
        copy_from(&store, Destination::whole(&table), Source::Bytes(rows), &options, 2, &progress)
    };
    // In one chunk, in two chunks of one load, and against an earlier load.
    let twice = |first: u64, again: u64| lines((0..first).chain([again]));
    for (text, key, line) in [
        (twice(1_000, 17), 17, 2_001),
        (twice(100_000, 17), 17, 200_001),
        (twice(100_000, 99_999), 99_999, 200_001),
    ] {
        let error = load(text).unwrap_err();
        assert_eq!(duplicate(&error), key.to_string());
        let message = "duplicate key value violates unique constraint \"t_pkey\"";
        assert_eq!(error.message(), message);
        assert_eq!(error.location().unwrap().line, line);
    }
    assert_eq!(load(lines(0..100)).unwrap(), 100);
    let error = load(lines(70..200)).unwrap_err();
    assert_eq!(duplicate(&error), "70");
    assert_eq!(error.location().unwrap().line, 1);
    assert_eq!(table.snapshot().rows(), 100);
}

#[test]
fn missing_key_column_is_a_null() {
    let (store, table) = store();
    let (options, progress) = (CsvOptions::default(), Progress::default());
    let source = Source::Bytes(b"x\n".to_vec());
    let to = Destination { columns: Some(&[1]), ..Destination::whole(&table) };
    let error = copy_from(&store, to, source, &options, 2, &progress).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotNullViolation);
}
