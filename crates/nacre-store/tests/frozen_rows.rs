//! Single rows of frozen chunks: what is kept of their blocks goes when these do.

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod support;

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Barrier};

use nacre_column::{ColumnBuffer, ColumnType, Physical};
use nacre_store::{
    AccessHint, ColumnDef, Error, ErrorKind, IsolationLevel, RowId, Store, Table, TableSchema,
    Value, ValueRef,
};
use support::{load, maintain, open, pools, repair, rows, schema, scrub, table};

/// Returns the ids of all rows of the loads, in their order.
fn row_ids(table: &Arc<Table>) -> Vec<RowId> {
    let chunks = table.snapshot().chunks().unwrap();
    let ids = |chunk: &nacre_store::Chunk| {
        (0..chunk.rows()).map(|row| chunk.row_id(row as u16).unwrap()).collect::<Vec<_>>()
    };
    chunks.iter().flat_map(ids).collect()
}

fn read(store: &Store, table: &Arc<Table>, row: RowId) -> Result<Option<Vec<Value>>, Error> {
    let copy =
        |values: &[ValueRef<'_>]| values.iter().map(|value| value.to_value()).collect::<Vec<_>>();
    store.begin(IsolationLevel::Serializable).read(table, row, &[0, 1], copy)
}

/// Reads all rows one by one and compares them with their keys, which count from 0.
fn check_all(store: &Store, table: &Arc<Table>, ids: &[RowId]) {
    for (key, row) in ids.iter().enumerate() {
        let text = format!("value {key}").into_bytes();
        let expected = vec![Value::Int(key as i64), Value::Bytes(text)];
        assert_eq!(read(store, table, *row).unwrap(), Some(expected));
    }
}

/// The file of the replica of a chunk's column that single rows are read from.
fn file_read(table: &Arc<Table>, column: usize) -> (std::path::PathBuf, u64, u64) {
    let chunk = table.snapshot().chunks().unwrap().remove(0);
    let replica = chunk.read(column, AccessHint::Random).unwrap().replica();
    let mut places = chunk.locations(column).into_iter();
    let place = places.find(|place| place.replica == replica).unwrap();
    (place.pool_path.unwrap(), place.offset, place.bytes)
}

fn writable(path: &Path) -> File {
    File::options().write(true).open(path).unwrap()
}

#[test]
fn lost_pages_of_a_block_that_was_read_cost_no_row() {
    for policy in ["", "plain, plain", "dict, plain"] {
        let directory = tempfile::tempdir().unwrap();
        let store = open(directory.path());
        let table = table(&store, "t", policy);
        let ids = row_ids(&table);
        check_all(&store, &table, &ids);
        let (path, ..) = file_read(&table, 0);
        writable(&path).set_len(0).unwrap();
        check_all(&store, &table, &ids);
        assert!(store.has_work(), "the loss was noted");
        maintain(&store);
        assert!(scrub(&store).is_whole());
        // Now the replicas that took over go: only what was written anew is left of the load.
        let (path, ..) = file_read(&table, 0);
        writable(&path).set_len(0).unwrap();
        check_all(&store, &table, &ids);
        maintain(&store);
        check_all(&store, &table, &ids);
        assert!(repair(&store).is_whole());
    }
}

#[test]
fn row_without_any_good_replica_is_an_error_that_names_the_column() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(directory.path());
    let table = table(&store, "t", "");
    let ids = row_ids(&table);
    check_all(&store, &table, &ids);
    // Two loads of two parts each.
    for path in &pools(directory.path())[..2] {
        writable(path).set_len(0).unwrap();
    }
    let error = read(&store, &table, ids[3]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Damaged);
    let text = error.to_string();
    assert!(text.starts_with("table \"t\", column \"k\", chunk 0: "), "{text}");
    assert!(read(&store, &table, ids[3]).is_err(), "again");
    assert!(read(&store, &table, ids[24]).unwrap().is_some(), "another load");
}

/// Single rows are looked at for lost pages, and verified once; what the scrubber finds afterwards
/// holds for what is kept as well.
#[test]
fn block_that_the_scrubber_finds_damaged_is_not_read_again() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(directory.path());
    let table = table(&store, "t", "plain, plain");
    let ids = row_ids(&table);
    check_all(&store, &table, &ids);
    for column in [0, 1] {
        let (path, offset, bytes) = file_read(&table, column);
        // Past the header, under the mapping and without changing the size.
        let ones = vec![0xff; bytes as usize - 192];
        writable(&path).write_all_at(&ones, offset + 192).unwrap();
    }
    let found = scrub(&store);
    assert_eq!(found.lost.len(), 2, "{found:?}");
    check_all(&store, &table, &ids);
    maintain(&store);
    check_all(&store, &table, &ids);
    assert!(scrub(&store).is_whole());
}

#[test]
fn reported_block_is_not_read_for_single_rows_either() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(directory.path());
    let table = table(&store, "t", "plain, plain, plain");
    let ids = row_ids(&table);
    check_all(&store, &table, &ids);
    let chunk = table.snapshot().chunks().unwrap().remove(0);
    while let Ok(handle) = chunk.read(0, AccessHint::Random) {
        check_all(&store, &table, &ids);
        chunk.report_lost(0, &handle);
    }
    let error = read(&store, &table, ids[0]).unwrap_err();
    assert!(error.to_string().starts_with("table \"t\", column \"k\", chunk 0: "), "{error}");
}

#[test]
fn files_of_a_dropped_table_go_although_its_rows_were_read() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(directory.path());
    let table = table(&store, "t", "");
    let ids = row_ids(&table);
    check_all(&store, &table, &ids);
    assert_eq!(pools(directory.path()).len(), 4);
    store.drop_table("t").unwrap();
    assert!(pools(directory.path()).is_empty(), "while somebody holds the table");
    assert!(!is_mapped(directory.path()));
    // A row that is not found in a dropped table may be in the one behind it.
    let error = read(&store, &table, ids[0]).unwrap_err();
    assert!(matches!(error, Error::DefinitionChanged { .. }), "{error}");
}

#[test]
fn parts_that_are_replaced_are_unmapped_although_their_rows_were_read() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(directory.path());
    let table = table(&store, "t", "plain, plain");
    let ids = row_ids(&table);
    check_all(&store, &table, &ids);
    let before = pools(directory.path());
    store.set_policy("t", None, "dict, dict".parse().ok()).unwrap();
    maintain(&store);
    assert!(pools(directory.path()).iter().all(|path| !before.contains(path)));
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
    assert!(before.iter().all(|path| !maps.contains(path.to_str().unwrap())));
    check_all(&store, &table, &ids);
}

/// Whether a file in a directory is mapped.
fn is_mapped(directory: &Path) -> bool {
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
    maps.lines().any(|line| line.contains(directory.to_str().unwrap()) && line.contains(".pool"))
}

#[test]
fn rows_are_read_while_replicas_are_written_anew() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(directory.path());
    let table = table(&store, "t", "");
    let ids = row_ids(&table);
    let (is_done, start) = (AtomicBool::new(false), Barrier::new(3));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            start.wait();
            for round in 0..12 {
                let policy = ["plain, plain", "dict, plain@dram", "auto, auto"][round % 3];
                store.set_policy("t", None, policy.parse().ok()).unwrap();
                maintain(&store);
            }
            is_done.store(true, Ordering::Release);
        });
        for _ in 0..2 {
            scope.spawn(|| {
                start.wait();
                while !is_done.load(Ordering::Acquire) {
                    check_all(&store, &table, &ids);
                }
            });
        }
    });
    check_all(&store, &table, &ids);
}

/// No replica lets single rows be found: blocks are decoded.
#[test]
fn rows_of_sequential_formats_are_read_all_the_same() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(directory.path());
    let table = store.create_table(schema("t", "lz4, snappy")).unwrap();
    load(&store, &table, &[rows(0..10), rows(10..25)]).unwrap();
    let ids = row_ids(&table);
    check_all(&store, &table, &ids);
    let (path, ..) = file_read(&table, 0);
    writable(&path).set_len(0).unwrap();
    check_all(&store, &table, &ids);
}

/// One type of each class, twice over, so that the values of a row do not lie on the stack.
const WIDE: [ColumnType; 10] = [
    ColumnType::Boolean,
    ColumnType::SmallInt,
    ColumnType::BigInt,
    ColumnType::Decimal { precision: 38, scale: 2 },
    ColumnType::Real,
    ColumnType::Double,
    ColumnType::Date,
    ColumnType::Varchar { max_chars: None },
    ColumnType::Char { chars: 9 },
    ColumnType::Bytea,
];

fn wide_value(column: usize, row: usize) -> Value {
    let number = (row * 37 + column * 11) % 1_000;
    match WIDE[column % WIDE.len()].physical() {
        _ if (row + column) % 7 == 3 => Value::Null,
        Physical::Int64 if column.is_multiple_of(WIDE.len()) => Value::Int((number % 2) as i64),
        Physical::Int64 => Value::Int(number as i64 - 500),
        Physical::Int128 => Value::Int128((number as i128) << 70),
        Physical::Float32 => Value::Float32(number as f32 / 4.0),
        Physical::Float64 => Value::Float64(number as f64 / 8.0),
        Physical::Bytes => Value::Bytes(format!("text {}", number % (column + 2)).into_bytes()),
    }
}

#[test]
fn wide_rows_of_every_type_are_read_and_moved_whole() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(directory.path());
    let columns = (0..2 * WIDE.len()).map(|at| ColumnDef {
        name: format!("c{at}"),
        column_type: WIDE[at % WIDE.len()],
        is_nullable: true,
        replicas: None,
    });
    let schema = TableSchema {
        name: "wide".into(),
        columns: columns.collect(),
        primary_key: None,
        primary_key_name: String::new(),
        replicas: None,
    };
    let table = store.create_table(schema).unwrap();
    let all: Vec<usize> = (0..2 * WIDE.len()).collect();
    let expected = |row: usize| all.iter().map(|&at| wide_value(at, row)).collect::<Vec<_>>();
    let buffers: Vec<ColumnBuffer> = all
        .iter()
        .map(|&at| {
            let mut buffer = ColumnBuffer::new(WIDE[at % WIDE.len()]);
            (0..700).for_each(|row| match wide_value(at, row) {
                Value::Null => buffer.push_null(),
                Value::Int(value) => buffer.push_int(value),
                Value::Int128(value) => buffer.push_int128(value),
                Value::Float32(value) => buffer.push_float32(value),
                Value::Float64(value) => buffer.push_float64(value),
                Value::Bytes(value) => buffer.push_bytes(&value),
            });
            buffer
        })
        .collect();
    load(&store, &table, &[buffers]).unwrap();
    let ids = row_ids(&table);
    let copy =
        |values: &[ValueRef<'_>]| values.iter().map(|value| value.to_value()).collect::<Vec<_>>();
    let mut tx = store.begin(IsolationLevel::Serializable);
    for (row, id) in ids.iter().enumerate() {
        assert_eq!(tx.read(&table, *id, &all, copy).unwrap(), Some(expected(row)), "row {row}");
    }
    for row in [0, 1, 511, 512, 699] {
        let moved = tx.update(&table, ids[row], &[(2, ValueRef::Int(9))]).unwrap();
        let mut now = expected(row);
        now[2] = Value::Int(9);
        assert_eq!(tx.read(&table, moved, &all, copy).unwrap(), Some(now));
        assert_eq!(tx.read(&table, ids[row], &all, copy).unwrap(), None);
    }
    tx.commit().unwrap();
}
