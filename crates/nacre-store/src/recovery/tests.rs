//! However many workers make the changes again, the tables and the errors are the same.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::ops::{Bound, ControlFlow};
use std::path::Path;
use std::sync::Arc;

use nacre_column::ColumnType;
use proptest::prelude::*;

use super::workers::worker_count;
use crate::error::Error;
use crate::id::{CommitTs, RowId};
use crate::index::Direction;
use crate::manifest::{LoadId, TableId};
use crate::mvcc::IsolationLevel;
use crate::redo::{RedoBuffer, RedoOptions};
use crate::schema::{ColumnDef, TableSchema};
use crate::store::{OpenOptions, Store};
use crate::table::Table;
use crate::value::{Value, ValueRef};

const TABLES: [&str; 3] = ["a", "b", "c"];

/// Chunks of each table that a log names.
const CHUNKS: u64 = 5;

/// Rows of a chunk that a log names.
const ROWS: u16 = 40;

fn directory() -> tempfile::TempDir {
    tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap()
}

fn schema(name: &str) -> TableSchema {
    let column = |name: &str, column_type, is_nullable| ColumnDef {
        name: name.into(),
        column_type,
        is_nullable,
        replicas: None,
    };
    let text = ColumnType::Varchar { max_chars: None };
    TableSchema {
        name: name.into(),
        columns: vec![
            column("id", ColumnType::BigInt, false),
            column("n", ColumnType::Integer, true),
            column("s", text, true),
        ],
        primary_key: Some(vec![0]),
        primary_key_name: format!("{name}_pkey"),
        replicas: None,
    }
}

/// Opens a database, with so many workers and nothing else done than what they do.
fn open(directory: &Path, workers: usize) -> crate::Result<Store> {
    Store::open(OpenOptions {
        directory: Some(directory.into()),
        redo: RedoOptions { segment_bytes: 4_096, is_compressed: false },
        checkpoint_bytes: Some(0),
        replay_threads: NonZeroUsize::new(workers),
        ..OpenOptions::default()
    })
}

fn create(directory: &Path) -> (Store, Vec<Arc<Table>>) {
    let store = open(directory, 1).unwrap();
    let tables = TABLES.iter().map(|name| store.create_table(schema(name)).unwrap()).collect();
    (store, tables)
}

/// Rows by their ids.
type Rows = BTreeMap<RowId, Vec<Value>>;

fn scanned(store: &Store, table: &Arc<Table>) -> Rows {
    let mut rows = Rows::new();
    let mut tx = store.begin(IsolationLevel::RepeatableRead);
    tx.scan(table, &[], &[0, 1, 2], |row, values| {
        rows.insert(row, values.iter().map(|value| value.to_value()).collect());
    })
    .unwrap();
    rows
}

/// All rows in the order of their keys.
fn ordered(store: &Store, table: &Arc<Table>) -> Vec<(RowId, Value)> {
    let index = Arc::clone(&table.indexes()[0]);
    let mut rows = Vec::new();
    let all = (Bound::Unbounded, Bound::Unbounded);
    let mut tx = store.begin(IsolationLevel::RepeatableRead);
    tx.range(table, &index, all, Direction::Ascending, &[0], |row, values| {
        rows.push((row, values[0].to_value()));
        ControlFlow::Continue(())
    })
    .unwrap();
    rows
}

/// What all tables hold.
fn contents(store: &Store) -> Vec<Rows> {
    TABLES.iter().map(|name| scanned(store, &store.table(name).unwrap())).collect()
}

/// Appends groups to the log of a store, as commits of other transactions would.
struct Writer<'a> {
    store: &'a Store,
    commit: CommitTs,
}

impl<'a> Writer<'a> {
    fn new(store: &'a Store) -> Self {
        let commit = store.redo_log().unwrap().unwrap().last_commit();
        Self { store, commit }
    }

    /// Appends the records that `fill` makes, and returns their commit.
    fn group(&mut self, fill: impl FnOnce(&mut RedoBuffer)) -> CommitTs {
        let mut buffer = RedoBuffer::default();
        fill(&mut buffer);
        self.commit = CommitTs(self.commit.0 + 1);
        let log = self.store.redo_log().unwrap().unwrap();
        let end = log.append(self.commit, &buffer).unwrap();
        log.persist(end).unwrap();
        self.commit
    }
}

/// A record of a log that is made up: what it changes depends on what is there.
#[derive(Clone, Copy, Debug)]
struct Step {
    table: usize,
    row: (u64, u16),
    number: i64,
    /// Whether a row that is there is deleted, and not changed.
    deletes: bool,
    /// Whether its group ends behind it.
    commits: bool,
}

fn step() -> impl Strategy<Value = Step> {
    let row = (0..CHUNKS, 0..ROWS);
    let what = (0..1_000_i64, prop::bool::weighted(0.25), prop::bool::weighted(0.3));
    (0..TABLES.len(), row, what).prop_map(|(table, row, (number, deletes, commits))| Step {
        table,
        row,
        number,
        deletes,
        commits,
    })
}

/// The key of the row at a place, which is its own.
fn key(row: (u64, u16)) -> i64 {
    row.0 as i64 * i64::from(ROWS) + i64::from(row.1)
}

fn text(number: i64) -> Option<Vec<u8>> {
    (number % 5 != 0).then(|| vec![b'a' + (number % 26) as u8; number as usize % 90])
}

/// Adds the record of a step, and does to `rows` what it does.
fn record(buffer: &mut RedoBuffer, id: TableId, step: Step, rows: &mut Rows) {
    let row = RowId::hot(step.row.0, step.row.1);
    let text = text(step.number);
    let text = text.as_deref().map_or(ValueRef::Null, ValueRef::Bytes);
    let number = ValueRef::Int(step.number);
    match rows.get_mut(&row) {
        Some(_) if step.deletes => {
            buffer.delete(id, row);
            rows.remove(&row);
        }
        Some(values) => {
            buffer.update(id, row, &[(2, text), (1, number)]);
            (values[1], values[2]) = (number.to_value(), text.to_value());
        }
        None => {
            let values = [ValueRef::Int(key(step.row)), number, text];
            buffer.insert(id, row, &values);
            rows.insert(row, values.iter().map(|value| value.to_value()).collect());
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, max_shrink_iters: 200, ..Default::default() })]

    #[test]
    fn workers_leave_what_one_thread_leaves(steps in prop::collection::vec(step(), 1..600)) {
        let directory = directory();
        let (store, tables) = create(directory.path());
        let mut expected = vec![Rows::new(); TABLES.len()];
        let mut writer = Writer::new(&store);
        for group in steps.split_inclusive(|step| step.commits) {
            writer.group(|buffer| for step in group {
                record(buffer, tables[step.table].id(), *step, &mut expected[step.table]);
            });
        }
        drop((store, tables));
        for workers in [1, 2, 3, 8] {
            let store = open(directory.path(), workers).unwrap();
            prop_assert_eq!(&contents(&store), &expected, "{} workers", workers);
            prop_assert_eq!(store.version_count(), 0);
            for (name, rows) in TABLES.iter().zip(&expected) {
                let table = store.table(name).unwrap();
                let mut keys: Vec<(RowId, Value)> =
                    rows.iter().map(|(row, values)| (*row, values[0].clone())).collect();
                keys.sort_by_key(|(row, _)| (row.chunk_number(), row.offset()));
                prop_assert_eq!(ordered(&store, &table), keys);
            }
        }
    }
}

/// What a random history of a database does.
#[derive(Clone, Copy, Debug)]
enum Act {
    /// Inserts a row with the key, changes it if it is there, or deletes it.
    Write(usize, i64, i64, bool),
    Freeze,
    Checkpoint,
    Drop(usize),
}

fn act() -> impl Strategy<Value = Act> {
    let write = (0..TABLES.len(), 0..30_i64, 0..1_000_i64, prop::bool::weighted(0.3));
    prop_oneof![
        20 => write.prop_map(|(table, key, n, deletes)| Act::Write(table, key, n, deletes)),
        2 => Just(Act::Freeze),
        1 => Just(Act::Checkpoint),
        1 => (0..TABLES.len()).prop_map(Act::Drop),
    ]
}

fn write(store: &Store, table: &Arc<Table>, (key, n): (i64, i64), deletes: bool) {
    let mut tx = store.begin(IsolationLevel::Serializable);
    let (mut found, index) = (None, Arc::clone(&table.indexes()[0]));
    tx.lookup(table, &index, &[ValueRef::Int(key)], &[], |row, _| found = Some(row)).unwrap();
    let text = text(n);
    let text = text.as_deref().map_or(ValueRef::Null, ValueRef::Bytes);
    match found {
        Some(row) if deletes => tx.delete(table, row).unwrap(),
        Some(row) => {
            tx.update(table, row, &[(1, ValueRef::Int(n)), (2, text)]).unwrap();
        }
        None => {
            tx.insert(table, &[ValueRef::Int(key), ValueRef::Int(n), text]).unwrap();
        }
    }
    tx.commit().unwrap();
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, max_shrink_iters: 200, ..Default::default() })]

    /// Rows are frozen, deleted in loads and written to the log again.
    #[test]
    fn workers_leave_what_was_there_before(acts in prop::collection::vec(act(), 1..120)) {
        let directory = directory();
        let (store, mut tables) = create(directory.path());
        for act in acts {
            match act {
                Act::Write(table, key, n, deletes) => {
                    write(&store, &tables[table], (key, n), deletes);
                }
                Act::Freeze => store.freeze_only().unwrap(),
                Act::Checkpoint => {
                    store.checkpoint().unwrap();
                }
                Act::Drop(table) => {
                    store.drop_table(TABLES[table]).unwrap();
                    tables[table] = store.create_table(schema(TABLES[table])).unwrap();
                }
            }
        }
        let expected = contents(&store);
        drop((store, tables));
        for workers in [1, 3] {
            let store = open(directory.path(), workers).unwrap();
            prop_assert_eq!(&contents(&store), &expected, "{} workers", workers);
            for (name, rows) in TABLES.iter().zip(&expected) {
                let found = ordered(&store, &store.table(name).unwrap());
                prop_assert_eq!(found.len(), rows.len());
            }
        }
    }
}

/// Makes a log in which `spoil` adds what does not fit to a long history, and returns the errors
/// of opening it.
fn errors(spoil: impl Fn(&mut Writer<'_>, TableId)) -> Vec<String> {
    let directory = directory();
    let (store, tables) = create(directory.path());
    let id = tables[0].id();
    let mut writer = Writer::new(&store);
    let put = |writer: &mut Writer<'_>, number: i64| {
        writer.group(|buffer| {
            for chunk in 0..CHUNKS {
                let row = RowId::hot(chunk, number as u16);
                let number = ValueRef::Int(number);
                buffer.insert(id, row, &[number, number, ValueRef::Bytes(&[b'x'; 300])]);
            }
        });
    };
    (0..500).for_each(|number| put(&mut writer, number));
    spoil(&mut writer, id);
    (500..1_000).for_each(|number| put(&mut writer, number));
    drop((store, tables));
    let open = |workers| match open(directory.path(), workers) {
        Err(Error::RedoDamaged { reasons }) => reasons.join("; "),
        other => panic!("{other:?}"),
    };
    [1, 2, 5].map(open).to_vec()
}

#[test]
fn error_is_that_of_the_first_record_that_does_not_fit() {
    // Of one group and of later ones, in different chunks.
    let found = errors(|writer, id| {
        writer.group(|buffer| {
            buffer.insert(
                id,
                RowId::hot(9, 0),
                &[ValueRef::Int(1), ValueRef::Int(1), ValueRef::Null],
            );
            buffer.delete(id, RowId::hot(7, 3));
            buffer.delete(id, RowId::hot(8, 4));
        });
        writer.group(|buffer| buffer.delete(id, RowId::hot(11, 5)));
        writer.group(|buffer| buffer.update(id, RowId::hot(2, 9_999), &[]));
    });
    assert!(found[0].contains("deleted before it is there"), "{found:?}");
    assert!(found.iter().all(|error| *error == found[0]), "{found:?}");
    // What who reads finds does not hide what came before, nor the other way round.
    let frozen = RowId::frozen(LoadId(77), 0, 0).unwrap();
    let found = errors(|writer, id| {
        writer.group(|buffer| buffer.update(id, RowId::hot(3, 9_999), &[(1, ValueRef::Null)]));
        writer.group(|buffer| buffer.delete(id, frozen));
    });
    assert!(found[0].contains("changes before it is there"), "{found:?}");
    assert!(found.iter().all(|error| *error == found[0]), "{found:?}");
    let found = errors(|writer, id| {
        writer.group(|buffer| buffer.delete(id, frozen));
        writer.group(|buffer| buffer.update(id, RowId::hot(3, 9_999), &[(1, ValueRef::Null)]));
    });
    assert!(found[0].contains("deleted before it is there"), "{found:?}");
    assert!(found.iter().all(|error| *error == found[0]), "{found:?}");
}

#[test]
fn record_of_a_table_that_never_was_is_an_error() {
    let found = errors(|writer, _| {
        writer.group(|buffer| buffer.delete(TableId(99), RowId::hot(0, 0)));
    });
    assert!(found[0].ends_with("table 99 was never created"), "{found:?}");
    assert!(found.iter().all(|error| *error == found[0]), "{found:?}");
}

#[test]
fn value_that_is_none_of_its_column_is_an_error() {
    let found = errors(|writer, id| {
        writer.group(|buffer| {
            buffer.insert(
                id,
                RowId::hot(4, 2_000),
                &[ValueRef::Null, ValueRef::Null, ValueRef::Null],
            );
        });
    });
    assert!(found[0].contains("id"), "{found:?}");
    assert!(found.iter().all(|error| *error == found[0]), "{found:?}");
}

#[test]
fn workers_are_as_many_as_were_asked_for_and_few_for_a_short_log() {
    assert_eq!(worker_count(0, None), 1);
    assert!((1..=8).contains(&worker_count(1 << 30, None)));
    assert_eq!(worker_count(0, NonZeroUsize::new(20)), 20);
}
