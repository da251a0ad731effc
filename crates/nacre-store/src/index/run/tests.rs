//! Runs against plain collections: points, walks of any bounds both ways, merges, and builds in
//! lots.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;
use std::sync::Arc;

use nacre_column::ColumnBuffer;
use nacre_pmem::Domain;
use proptest::prelude::*;

use super::merge::{Merged, merge};
use super::writer::RunWriter;
use super::{Joined, Run, RunCursor, RunId, RunOwner, Workshop, build, join};
use crate::domains::Domains;
use crate::freeze::crash_script::schema;
use crate::id::RowId;
use crate::index::Direction;
use crate::key::KeyColumns;
use crate::manifest::{DatabaseId, LoadId, TableId};
use crate::mvcc::IsolationLevel;
use crate::store::{OpenOptions, Store};
use crate::value::ValueRef;

const OWNER: RunOwner = RunOwner { database: DatabaseId([7; 16]), table: TableId(3) };

/// A place for runs.
struct Place {
    domain: Domain,
    domains: Arc<Domains>,
    next: Cell<u64>,
}

type Entries = BTreeSet<(Vec<u8>, RowId)>;

type Bounds<'a> = (Bound<&'a [u8]>, Bound<&'a [u8]>);

impl Place {
    fn new() -> Self {
        let domain = Domain::dram("main");
        Self { domains: Arc::new(Domains::new(domain.clone())), domain, next: Cell::new(1) }
    }

    fn take_id(&self) -> RunId {
        self.next.set(self.next.get() + 1);
        RunId(self.next.get())
    }

    fn write(&self, entries: &Entries) -> Run {
        let id = self.take_id();
        let mut writer = RunWriter::create(&self.domain, OWNER, id, []).unwrap();
        entries.iter().for_each(|(key, row)| writer.push(key, *row).unwrap());
        let record = writer.finish(5).unwrap();
        assert_eq!(record.entries(), entries.len() as u64);
        Run::new(OWNER, record, &self.domains)
    }
}

fn row(number: u64) -> RowId {
    RowId::frozen(LoadId(1 + number % 3), (number / 3) as u32 % 5, (number / 7) as u16).unwrap()
}

fn walk(run: &Run, bounds: Bounds<'_>, direction: Direction) -> Vec<(Vec<u8>, RowId)> {
    let mut cursor = RunCursor::new(run, bounds, direction).unwrap();
    let mut found = Vec::new();
    while let Some((key, row)) = cursor.peek().unwrap() {
        found.push((key.to_vec(), row));
        cursor.advance();
    }
    found
}

fn is_between(key: &[u8], (lower, upper): Bounds<'_>) -> bool {
    let is_above = match lower {
        Bound::Included(bound) => key >= bound,
        Bound::Excluded(bound) => key > bound,
        Bound::Unbounded => true,
    };
    is_above
        && match upper {
            Bound::Included(bound) => key <= bound,
            Bound::Excluded(bound) => key < bound,
            Bound::Unbounded => true,
        }
}

/// Compares a run with its entries at some keys.
fn check(run: &Run, entries: &Entries, probes: &[Vec<u8>]) {
    let of_key = |key: &[u8]| -> Vec<RowId> {
        entries.iter().filter(|(other, _)| other == key).map(|(_, row)| *row).collect()
    };
    for probe in probes {
        let mut rows = Vec::new();
        run.rows_of(probe, |_| true, &mut rows).unwrap();
        assert_eq!(rows, of_key(probe), "{probe:?}");
    }
    let mut bounds: Vec<Bounds<'_>> = vec![(Bound::Unbounded, Bound::Unbounded)];
    for pair in probes.windows(2) {
        let (low, high) = (pair[0].as_slice().min(&pair[1]), pair[0].as_slice().max(&pair[1]));
        bounds.push((Bound::Included(low), Bound::Included(high)));
        bounds.push((Bound::Excluded(low), Bound::Excluded(high)));
        bounds.push((Bound::Included(low), Bound::Unbounded));
        bounds.push((Bound::Unbounded, Bound::Excluded(high)));
    }
    for bounds in bounds {
        let mut expected: Vec<(Vec<u8>, RowId)> =
            entries.iter().filter(|(key, _)| is_between(key, bounds)).cloned().collect();
        assert_eq!(walk(run, bounds, Direction::Ascending), expected, "{bounds:?}");
        expected.reverse();
        assert_eq!(walk(run, bounds, Direction::Descending), expected, "{bounds:?}");
    }
}

/// Keys that differ early or late, with few different ones; long ones make many levels.
fn keys() -> impl Strategy<Value = Vec<Vec<u8>>> {
    let key = (0..40_u8, prop_oneof![Just(0_usize), Just(1_500), Just(5_000)], 0..6_u8);
    let key = key.prop_map(|(first, middle, last)| {
        let mut key = vec![first / 4];
        key.resize(1 + middle, b'm');
        key.extend_from_slice(&[first, last]);
        key
    });
    proptest::collection::vec(key, 0..120)
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: if std::env::var_os("NACRE_TEST_FULL").is_some() { 1_000 } else { 48 },
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn run_answers_as_a_sorted_set(keys in keys(), probes in keys()) {
        let entries: Entries =
            (0_u64..).zip(&keys).map(|(number, key)| (key.clone(), row(number))).collect();
        let run = Place::new().write(&entries);
        let mut probes = probes;
        probes.truncate(20);
        probes.extend(keys.into_iter().step_by(9));
        check(&run, &entries, &probes);
    }

    #[test]
    fn merged_runs_have_what_is_wanted_of_all(lots in proptest::collection::vec(keys(), 1..5)) {
        let place = Place::new();
        let mut number = 0;
        let lots: Vec<Entries> = lots
            .into_iter()
            .map(|keys| keys.into_iter().map(|key| { number += 1; (key, row(number)) }).collect())
            .collect();
        let runs: Vec<Run> = lots.iter().map(|entries| place.write(entries)).collect();
        let id = place.take_id();
        let mut writer = RunWriter::create(&place.domain, OWNER, id, []).unwrap();
        let is_wanted = |row: RowId| row.offset() % 4 != 1;
        let sources: Vec<&Run> = runs.iter().collect();
        let merged = merge(&sources, &mut writer, is_wanted, || true).unwrap();
        prop_assert!(matches!(merged, Merged::Whole));
        let run = Run::new(OWNER, writer.finish(5).unwrap(), &place.domains);
        let all = lots.into_iter().flatten();
        let wanted: Vec<(Vec<u8>, RowId)> = all.filter(|(_, row)| is_wanted(*row)).collect();
        let entries: Entries = wanted.iter().cloned().collect();
        if entries.len() == wanted.len() {
            check(&run, &entries, &[]);
        }
    }
}

#[test]
fn many_entries_make_few_pages_and_all_are_found() {
    let place = Place::new();
    let entries: Entries = (0..60_000_u64)
        .map(|number| {
            let key = number.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_be_bytes().to_vec();
            (key, RowId::frozen(LoadId(1), (number >> 16) as u32, number as u16).unwrap())
        })
        .collect();
    let run = place.write(&entries);
    let record = run.record();
    assert_eq!((record.height, record.loads.len()), (2, 1));
    assert!(record.pool_bytes < 22 * entries.len() as u64, "{} bytes", record.pool_bytes);
    let all = (Bound::Unbounded, Bound::Unbounded);
    assert!(walk(&run, all, Direction::Ascending).iter().eq(&entries));
    for (key, row) in entries.iter().step_by(37) {
        let mut rows = Vec::new();
        run.rows_of(key, |_| true, &mut rows).unwrap();
        assert_eq!(rows, [*row]);
        run.rows_of(&key[..7], |_| true, &mut rows).unwrap();
        assert_eq!(rows.len(), 1, "the beginning of a key is another one");
    }
}

#[test]
fn run_that_is_built_in_lots_is_the_one_that_is_built_at_once() {
    let directory = tempfile::tempdir().unwrap();
    let path = Some(directory.path().to_path_buf());
    let store = Store::open(OpenOptions { directory: path, ..OpenOptions::default() }).unwrap();
    let table = store.create_table(schema()).unwrap();
    for number in 0..4 {
        let load = store.begin_load(&table).unwrap();
        for chunk in 0..2 {
            let mut columns: Vec<ColumnBuffer> =
                (0..3).map(|column| ColumnBuffer::new(table.column_type(column))).collect();
            for row in 0..500 {
                columns[0].push_int(2 * (1_000 * number + 500 * chunk + row) % 4_001);
                columns[1].push_int(row % 7);
                columns[2].push_null();
            }
            load.append_chunk(chunk as u64, &columns).unwrap();
        }
        load.commit().unwrap();
    }
    let mut tx = store.begin(IsolationLevel::RepeatableRead);
    let mut gone = Vec::new();
    tx.scan(&table, &[], &[1], |row, values| {
        if values[0] == ValueRef::Int(3) {
            gone.push(row);
        }
    })
    .unwrap();
    gone.iter().for_each(|row| tx.delete(&table, *row).unwrap());
    let place = Place::new();
    let columns = KeyColumns::new(table.definition(), &[1, 0]);
    let run_of = |lot_entries: usize| {
        let workshop = Workshop {
            owner: OWNER,
            domain: place.domain.clone(),
            domains: &place.domains,
            take_id: &|| place.take_id(),
            goes_on: &|| true,
            lot_entries,
        };
        let loads = table.loads();
        let record = build(&workshop, &table, (&columns, 1), &loads).unwrap().unwrap();
        let run = Arc::new(Run::new(OWNER, record, &place.domains));
        let known: Vec<LoadId> = loads.iter().skip(1).map(|load| load.id()).collect();
        let joined = join(&workshop, &table, &[Arc::clone(&run)], &known, 1).unwrap();
        let Joined::Whole(record) = joined else { panic!("{joined:?}") };
        (run, Run::new(OWNER, record, &place.domains))
    };
    let all = (Bound::Unbounded, Bound::Unbounded);
    let (whole, _) = run_of(1 << 20);
    assert_eq!(whole.record().entries(), 4_000);
    tx.commit().unwrap();
    let (lots, joined) = run_of(300);
    let left = walk(&whole, all, Direction::Ascending);
    let left: Vec<(Vec<u8>, RowId)> =
        left.into_iter().filter(|(_, row)| !gone.contains(row)).collect();
    assert_eq!(walk(&lots, all, Direction::Ascending), left);
    let counts: BTreeMap<LoadId, u64> = joined.record().loads.iter().copied().collect();
    assert_eq!(counts.len(), 3, "the load that is gone has no entries");
    assert_eq!(walk(&joined, all, Direction::Ascending).len() as u64, joined.record().entries());
    // Lots leave nothing behind.
    let files = place.domain.list_pools().unwrap();
    assert!(files.len() <= 4, "{files:?}");
}
