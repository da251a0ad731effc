//! Hybrid indexes: entries of frozen rows outlive the process, answers are those of a scan whatever
//! became of the files, and nothing of them is left behind.

#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::collections::BTreeSet;
use std::fs;
use std::ops::{Bound, ControlFlow};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use nacre_column::{ColumnBuffer, ColumnType};
use nacre_store::index::{Direction, IndexDef, IndexKind, IndexOrigin, TableIndex};
use nacre_store::{
    ColumnDef, Error, ErrorKind, IsolationLevel, OpenOptions, RowId, Store, Table, TableSchema,
    Transaction, Value, ValueRef,
};
use proptest::prelude::*;

/// Id, number, number of the text.
type Row = (i64, Option<i64>, i64);

/// What an index finds, in its order.
type Found = Vec<(RowId, Vec<Value>)>;

fn scratch() -> tempfile::TempDir {
    tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap()
}

fn open(path: &Path) -> Store {
    let directory = Some(path.to_path_buf());
    Store::open(OpenOptions { directory, ..OpenOptions::default() }).unwrap()
}

/// Columns: an id, a number that may be null, and a text.
fn create(store: &Store) -> Arc<Table> {
    let column = |name: &str, column_type, is_nullable| ColumnDef {
        name: name.into(),
        column_type,
        is_nullable,
        replicas: None,
    };
    let schema = TableSchema {
        name: "t".into(),
        columns: vec![
            column("id", ColumnType::BigInt, false),
            column("a", ColumnType::Integer, true),
            column("b", ColumnType::Varchar { max_chars: None }, false),
        ],
        primary_key: None,
        primary_key_name: "t_pkey".into(),
        replicas: "auto".parse().ok(),
    };
    store.create_table(schema).unwrap()
}

fn definition(name: &str, columns: &[usize], is_unique: bool) -> IndexDef {
    let (kind, origin) = (IndexKind::Hybrid, IndexOrigin::Statement);
    IndexDef { name: name.into(), columns: columns.to_vec(), is_unique, kind, origin }
}

fn begin(store: &Store) -> Transaction {
    store.begin(IsolationLevel::RepeatableRead)
}

fn int(value: Option<i64>) -> ValueRef<'static> {
    value.map_or(ValueRef::Null, ValueRef::Int)
}

fn text(value: i64) -> String {
    // Longer than a page now and then.
    format!("b{}{value}", "x".repeat(if value % 41 == 40 { 5_000 } else { 3 }))
}

fn insert(tx: &mut Transaction, table: &Arc<Table>, row: Row) -> Result<RowId, Error> {
    let text = text(row.2);
    tx.insert(table, &[ValueRef::Int(row.0), int(row.1), ValueRef::Bytes(text.as_bytes())])
}

fn load(store: &Store, table: &Arc<Table>, rows: &[Row]) -> Result<u64, Error> {
    let mut columns: Vec<ColumnBuffer> =
        (0..3).map(|column| ColumnBuffer::new(table.column_type(column))).collect();
    for row in rows {
        columns[0].push_int(row.0);
        int(row.1).push_to(&mut columns[1]);
        columns[2].push_bytes(text(row.2).as_bytes());
    }
    let load = store.begin_load(table)?;
    load.append_chunk(0, &columns)?;
    load.commit()
}

/// Ten loads of ids that lie between each other.
fn load_all(store: &Store, table: &Arc<Table>) {
    for start in 0..10 {
        let rows: Vec<Row> = (0..200).map(|i| (start + 10 * i, Some(i % 7), i)).collect();
        load(store, table, &rows).unwrap();
    }
}

fn maintain(store: &Store) {
    while !store.maintain_step().unwrap().is_idle() {}
}

fn walk(tx: &mut Transaction, table: &Arc<Table>, index: &str, direction: Direction) -> Found {
    let (index, mut found) = (table.index(index).unwrap(), Vec::new());
    let all = (Bound::Unbounded, Bound::Unbounded);
    tx.range(table, &index, all, direction, &[0, 1, 2], |row, values| {
        found.push((row, values.iter().map(|value| value.to_value()).collect()));
        ControlFlow::Continue(())
    })
    .unwrap();
    found
}

fn lookup(
    tx: &mut Transaction,
    table: &Arc<Table>,
    index: &TableIndex,
    key: &[ValueRef<'_>],
) -> BTreeSet<i64> {
    let mut ids = BTreeSet::new();
    tx.lookup(table, index, key, &[0], |_, values| {
        let ValueRef::Int(id) = values[0] else { panic!("{values:?}") };
        assert!(ids.insert(id), "{id} twice");
    })
    .unwrap();
    ids
}

fn id_of(values: &[Value]) -> i64 {
    match values[0] {
        Value::Int(id) => id,
        ref other => panic!("{other:?}"),
    }
}

/// Compares what indexes say with a scan: points, the whole range both ways, and parts of it.
fn check(tx: &mut Transaction, table: &Arc<Table>) {
    let mut rows: Vec<Vec<Value>> = Vec::new();
    tx.scan(table, &[], &[0, 1, 2], |_, values| {
        rows.push(values.iter().map(|value| value.to_value()).collect());
    })
    .unwrap();
    for index in table.indexes() {
        let (name, columns) = (&index.definition().name, &index.definition().columns);
        let ids: BTreeSet<i64> = rows.iter().map(|row| id_of(row)).collect();
        let up = walk(tx, table, name, Direction::Ascending);
        let found: BTreeSet<i64> = up.iter().map(|(_, values)| id_of(values)).collect();
        assert_eq!((up.len(), &found), (rows.len(), &ids), "{name}");
        let key = |values: &[Value]| -> Vec<Value> {
            columns.iter().map(|&column| values[column].clone()).collect()
        };
        let keys: Vec<Vec<Value>> = up.iter().map(|(_, values)| key(values)).collect();
        let mut down = walk(tx, table, name, Direction::Descending);
        down.reverse();
        let back: Vec<Vec<Value>> = down.iter().map(|(_, values)| key(values)).collect();
        assert_eq!(back, keys, "{name}");
        for (at, wanted) in keys.iter().enumerate().step_by(1 + keys.len() / 25) {
            let values: Vec<ValueRef<'_>> = wanted.iter().map(Value::as_ref).collect();
            let same: BTreeSet<i64> =
                rows.iter().filter(|row| key(row) == *wanted).map(|row| id_of(row)).collect();
            assert_eq!(lookup(tx, table, &index, &values), same, "{name} {wanted:?}");
            let mut behind = Vec::new();
            let from = (Bound::Included(&values[..]), Bound::Unbounded);
            tx.range(table, &index, from, Direction::Ascending, &[0, 1, 2], |_, values| {
                behind.push(key(&values.iter().map(|v| v.to_value()).collect::<Vec<_>>()));
                if behind.len() < 9 { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
            })
            .unwrap();
            let first = keys[..at].iter().rposition(|other| other != wanted).map_or(0, |at| at + 1);
            assert_eq!(behind, keys[first..(first + 9).min(keys.len())], "{name} {wanted:?}");
        }
    }
}

/// Returns the files of runs.
fn files(path: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path());
    let is_run = |path: &PathBuf| path.file_name().unwrap().to_string_lossy().starts_with("index-");
    let mut files: Vec<PathBuf> = entries.filter(is_run).collect();
    files.sort();
    files
}

/// Returns how many blocks were handed out since the database was opened.
fn blocks_read(store: &Store) -> u64 {
    store.replicas().iter().map(|replica| replica.reads).sum()
}

#[test]
fn first_lookup_after_reopening_reads_its_own_rows_only() {
    let directory = scratch();
    let (store, key) = (open(directory.path()), [ValueRef::Int(7)]);
    let table = create(&store);
    store.create_index(&table, definition("i", &[0], true)).unwrap();
    let art = IndexDef { kind: IndexKind::Art, ..definition("j", &[0], false) };
    store.create_index(&table, art).unwrap();
    load_all(&store, &table);
    drop((store, table));
    for name in ["i", "j"] {
        let store = open(directory.path());
        let table = store.table("t").unwrap();
        let index = table.index(name).unwrap();
        let found = lookup(&mut begin(&store), &table, &index, &key);
        assert_eq!(found, [7].into());
        let read = blocks_read(&store);
        match index.definition().kind {
            IndexKind::Hybrid => assert_eq!(read, 1, "the value that is handed on"),
            // Eight loads begin at 7 or below.
            _ => assert!(read > 8, "{read} blocks: all loads that may have it are searched"),
        }
    }
}

#[test]
fn unique_index_refuses_duplicates_straight_after_reopening() {
    let directory = scratch();
    let store = open(directory.path());
    let table = create(&store);
    load_all(&store, &table);
    store.create_index(&table, definition("i", &[0], true)).unwrap();
    drop((store, table));
    let store = open(directory.path());
    let table = store.table("t").unwrap();
    let error = insert(&mut begin(&store), &table, (1_234, None, 0)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::DuplicateKey);
    assert_eq!(blocks_read(&store), 0, "its entry is enough");
    // A deleted row's key is free, although its entry is still there.
    let mut tx = begin(&store);
    let mut row = None;
    let (index, key) = (table.index("i").unwrap(), [ValueRef::Int(1_234)]);
    tx.lookup(&table, &index, &key, &[], |id, _| row = Some(id)).unwrap();
    tx.delete(&table, row.unwrap()).unwrap();
    tx.commit().unwrap();
    let mut tx = begin(&store);
    insert(&mut tx, &table, (1_234, None, 0)).unwrap();
    tx.commit().unwrap();
    check(&mut begin(&store), &table);
    assert!(load(&store, &table, &[(5, None, 1)]).is_err(), "a load is refused as well");
}

#[test]
fn lost_and_damaged_runs_are_searched_around_and_written_again() {
    let damages: [fn(&Path); 5] = [
        |file| fs::remove_file(file).unwrap(),
        |file| fs::write(file, b"").unwrap(),
        |file| {
            fs::write(file, fs::read(file).unwrap().split_last_chunk::<900>().unwrap().0).unwrap()
        },
        |file| {
            let mut bytes = fs::read(file).unwrap();
            bytes.iter_mut().skip(64).for_each(|byte| *byte ^= 0x55);
            fs::write(file, bytes).unwrap();
        },
        |file| {
            // One leaf in the middle only.
            let mut bytes = fs::read(file).unwrap();
            let middle = bytes.len() / 2;
            bytes[middle] ^= 1;
            fs::write(file, bytes).unwrap();
        },
    ];
    for (number, damage) in damages.into_iter().enumerate() {
        let directory = scratch();
        let store = open(directory.path());
        let table = create(&store);
        load_all(&store, &table);
        store.create_index(&table, definition("i", &[2, 0], false)).unwrap();
        drop((store, table));
        let before = files(directory.path());
        assert!(!before.is_empty());
        before.iter().for_each(|file| damage(file));
        let store = open(directory.path());
        let table = store.table("t").unwrap();
        check(&mut begin(&store), &table);
        maintain(&store);
        check(&mut begin(&store), &table);
        drop((store, table));
        let after = files(directory.path());
        assert!(after.iter().all(|file| !before.contains(file)), "damage {number}: {after:?}");
        let store = open(directory.path());
        let table = store.table("t").unwrap();
        let (index, key) = (table.index("i").unwrap(), text(3));
        let key = [ValueRef::Bytes(key.as_bytes()), ValueRef::Int(33)];
        assert_eq!(lookup(&mut begin(&store), &table, &index, &key), [33].into());
        assert_eq!(blocks_read(&store), 1, "damage {number}");
    }
}

#[test]
fn run_that_is_damaged_under_a_walk_is_replaced_where_the_walk_is() {
    for direction in [Direction::Ascending, Direction::Descending] {
        let directory = scratch();
        let store = open(directory.path());
        let table = create(&store);
        load_all(&store, &table);
        store.create_index(&table, definition("i", &[1, 0], false)).unwrap();
        drop((store, table));
        let store = open(directory.path());
        let table = store.table("t").unwrap();
        let expected = walk(&mut begin(&store), &table, "i", direction);
        drop((store, table));
        for file in files(directory.path()) {
            let mut bytes = fs::read(&file).unwrap();
            let middle = bytes.len() * 2 / 5;
            bytes[middle] ^= 1;
            fs::write(&file, bytes).unwrap();
        }
        let store = open(directory.path());
        let table = store.table("t").unwrap();
        assert_eq!(walk(&mut begin(&store), &table, "i", direction), expected);
        let index = table.index("i").unwrap();
        assert!(index.entries() < expected.len(), "a run was taken out");
    }
}

#[test]
fn runs_are_few_and_go_with_their_rows() {
    let directory = scratch();
    let store = open(directory.path());
    let table = create(&store);
    store.create_index(&table, definition("i", &[0], false)).unwrap();
    for number in 0..50 {
        load(&store, &table, &[(number, None, number), (number + 50, Some(1), 2)]).unwrap();
        maintain(&store);
        assert!(files(directory.path()).len() <= 4, "after load {number}");
    }
    check(&mut begin(&store), &table);
    let mut tx = begin(&store);
    let mut rows = Vec::new();
    tx.scan(&table, &[], &[], |row, _| rows.push(row)).unwrap();
    rows.iter().for_each(|row| tx.delete(&table, *row).unwrap());
    tx.commit().unwrap();
    store.checkpoint().unwrap();
    maintain(&store);
    assert_eq!(files(directory.path()), Vec::<PathBuf>::new());
    check(&mut begin(&store), &table);
}

#[test]
fn dropped_indexes_and_tables_leave_no_file() {
    let directory = scratch();
    let store = open(directory.path());
    let table = create(&store);
    load_all(&store, &table);
    store.create_index(&table, definition("i", &[0], false)).unwrap();
    assert!(!files(directory.path()).is_empty());
    store.drop_index(&table, "i").unwrap();
    assert_eq!(files(directory.path()), Vec::<PathBuf>::new());
    // An index of the same name is another one.
    store.create_index(&table, definition("i", &[1], false)).unwrap();
    drop((store, table));
    let leftover = directory.path().join("index-00000000000000ff.pool");
    fs::write(&leftover, b"of a process that was killed").unwrap();
    let store = open(directory.path());
    assert!(!leftover.exists() && !files(directory.path()).is_empty());
    check(&mut begin(&store), &store.table("t").unwrap());
    store.drop_table("t").unwrap();
    assert_eq!(files(directory.path()), Vec::<PathBuf>::new());
}

#[test]
fn copies_write_their_own_runs() {
    let (directory, copies) = (scratch(), scratch());
    let store = open(directory.path());
    let table = create(&store);
    load_all(&store, &table);
    store.create_index(&table, definition("i", &[0], true)).unwrap();
    let copy = copies.path().join("copy");
    store.backup(&copy).unwrap();
    assert_eq!(files(&copy), Vec::<PathBuf>::new());
    let store = open(&copy);
    check(&mut begin(&store), &store.table("t").unwrap());
    maintain(&store);
    assert_eq!(files(&copy).len(), 1);
    check(&mut begin(&store), &store.table("t").unwrap());
}

/// A step of the property test; numbers choose among what there is.
#[derive(Clone, Debug)]
enum Step {
    Insert(Option<i64>, i64),
    Delete(usize),
    Update(usize, Option<i64>),
    Load(Vec<Option<i64>>),
    Freeze,
    Maintain,
    Reopen,
    /// As after a kill: what the process would do at its end is not done.
    Damage(usize, usize),
    Create(bool),
    Drop,
    Snapshot,
}

fn step() -> impl Strategy<Value = Step> {
    let number = || proptest::option::weighted(0.9, 0..20_i64);
    prop_oneof![
        6 => (number(), 0..50_i64).prop_map(|(a, b)| Step::Insert(a, b)),
        3 => (0..1_000_usize).prop_map(Step::Delete),
        2 => (0..1_000_usize, number()).prop_map(|(at, a)| Step::Update(at, a)),
        3 => proptest::collection::vec(number(), 1..300).prop_map(Step::Load),
        3 => Just(Step::Freeze),
        3 => Just(Step::Maintain),
        3 => Just(Step::Reopen),
        1 => (0..8_usize, 0..100_000_usize).prop_map(|(file, at)| Step::Damage(file, at)),
        1 => any::<bool>().prop_map(Step::Create),
        1 => Just(Step::Drop),
        1 => Just(Step::Snapshot),
    ]
}

struct Model {
    directory: tempfile::TempDir,
    store: Option<Store>,
    old: Option<Transaction>,
    next: i64,
    indexes: usize,
}

impl Model {
    fn store(&self) -> Store {
        self.store.clone().unwrap()
    }

    /// Returns a row of those that are there.
    fn pick(&self, at: usize) -> Option<RowId> {
        let (store, mut rows) = (self.store(), Vec::new());
        let table = store.table("t").unwrap();
        begin(&store).scan(&table, &[], &[], |row, _| rows.push(row)).unwrap();
        (!rows.is_empty()).then(|| rows[at % rows.len()])
    }

    fn write(&self, write: impl FnOnce(&mut Transaction, &Arc<Table>)) {
        let store = self.store();
        let mut tx = begin(&store);
        write(&mut tx, &store.table("t").unwrap());
        tx.commit().unwrap();
    }

    fn reopen(&mut self) {
        (self.old, self.store) = (None, None);
        self.store = Some(open(self.directory.path()));
    }

    fn run(&mut self, step: Step) {
        let store = self.store();
        let table = store.table("t").unwrap();
        match step {
            Step::Insert(a, b) => {
                self.next += 1;
                let row = (self.next, a, b);
                self.write(|tx, table| _ = insert(tx, table, row).unwrap());
            }
            Step::Delete(at) => {
                if let Some(row) = self.pick(at) {
                    self.write(|tx, table| tx.delete(table, row).unwrap());
                }
            }
            Step::Update(at, a) => {
                if let Some(row) = self.pick(at) {
                    self.write(|tx, table| _ = tx.update(table, row, &[(1, int(a))]).unwrap());
                }
            }
            Step::Load(numbers) => {
                let rows: Vec<Row> =
                    (self.next + 1..).zip(numbers).map(|(id, a)| (id, a, id % 60)).collect();
                self.next += rows.len() as i64;
                load(&store, &table, &rows).unwrap();
            }
            Step::Freeze => drop(store.checkpoint().unwrap()),
            Step::Maintain => maintain(&store),
            Step::Reopen => {
                drop((store, table));
                self.reopen();
            }
            Step::Damage(file, at) => {
                drop((store, table));
                (self.old, self.store) = (None, None);
                if let Some(file) = files(self.directory.path()).get(file) {
                    let mut bytes = fs::read(file).unwrap();
                    let at = at % bytes.len();
                    bytes[at] ^= 1 << (at % 8);
                    fs::write(file, bytes).unwrap();
                }
                self.reopen();
            }
            Step::Create(is_unique) => {
                self.old = None;
                self.indexes += 1;
                let columns: &[usize] = if is_unique { &[0] } else { &[2, 1] };
                let name = format!("i{}", self.indexes);
                store.create_index(&table, definition(&name, columns, is_unique)).unwrap();
            }
            Step::Drop => {
                if let Some(index) = table.indexes().last() {
                    store.drop_index(&table, &index.definition().name).unwrap();
                }
            }
            Step::Snapshot => self.old = Some(begin(&store)),
        }
    }
}

fn run(steps: Vec<Step>) {
    let directory = scratch();
    let store = open(directory.path());
    let table = create(&store);
    store.create_index(&table, definition("i", &[1], false)).unwrap();
    drop(table);
    let mut model = Model { directory, store: Some(store), old: None, next: 0, indexes: 0 };
    for step in steps {
        model.run(step);
        let store = model.store();
        let table = store.table("t").unwrap();
        if let Some(old) = &mut model.old {
            check(old, &table);
        }
        check(&mut begin(&store), &table);
    }
    let Model { directory, store, old, .. } = model;
    maintain(store.as_ref().unwrap());
    drop((old, store));
    let store = open(directory.path());
    let table = store.table("t").unwrap();
    check(&mut begin(&store), &table);
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: if std::env::var_os("NACRE_TEST_FULL").is_some() { 500 } else { 24 },
        max_shrink_iters: 300,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn hybrid_indexes_answer_as_scans_whatever_happened(
        steps in proptest::collection::vec(step(), 1..50)
    ) {
        run(steps);
    }
}
