//! Random histories of concurrent clients are serializable, as two independent judges see it.
//!
//! The judges are judged first: histories with known anomalies, and a small engine with planted
//! flaws. Seeds are fixed; `NACRE_TEST_SEED` adds one, `NACRE_TEST_FULL` many.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests state claims")]

mod history;

use history::engine::Level;
use history::graph::{self, Anomaly, Class, Counts, Kind};
use history::model::{Flaw, Model};
use history::record::{
    A, B, Cells, Filter, GROUP, History, KEY, Mask, Op, Outcome, Read, Transaction, Write, mask,
};
use history::replay;
use history::stored::Stored;
use history::workload::{Shape, interleave, run};
use nacre_store::ValidationLevel;

/// Returns fixed seeds, one that was asked for, and many for the full test.
fn seeds(count: u64) -> Vec<u64> {
    let asked = std::env::var("NACRE_TEST_SEED").ok().and_then(|seed| seed.parse().ok());
    let count = if std::env::var_os("NACRE_TEST_FULL").is_some() { count * 50 } else { count };
    (1..=count).chain(asked).collect()
}

/// Clients, transactions of each and keys.
const SHAPES: [(usize, usize, usize); 4] = [(2, 24, 3), (3, 20, 6), (5, 16, 10), (8, 12, 16)];

fn shape(seed: u64, level: Level) -> Shape {
    let (clients, transactions, keys) = SHAPES[seed as usize % SHAPES.len()];
    Shape { clients, transactions, keys, level, has_loads: false }
}

/// Judges a history that must be serializable.
///
/// A row that came and went between two snapshots may be forgotten by the store, so that it is no
/// conflict; the graph still has its edges. If all answers are those of the serial order, that is
/// no anomaly.
fn assert_serializable(history: &History, what: &str) -> Counts {
    let graph = graph::check(history);
    let replay = replay::check(history);
    match (graph, replay) {
        (Ok(counts), Ok(())) => counts,
        (Err(anomaly), Ok(())) if anomaly.class == Class::G2 => {
            println!("{what}: {anomaly}, of which nobody noticed anything");
            Counts::default()
        }
        (Err(anomaly), _) => panic!("{what}: {anomaly}"),
        (Ok(_), Err(error)) => panic!("{what}: no cycle, but {error}"),
    }
}

/// Adds up what runs have met.
#[derive(Default)]
struct Tally {
    transactions: usize,
    aborted: usize,
    edges: Counts,
}

impl Tally {
    fn add(&mut self, history: &History, counts: Counts) {
        self.transactions += history.transactions.len();
        self.aborted += history.aborted();
        for (kind, count) in counts.0 {
            *self.edges.0.entry(kind).or_default() += count;
        }
    }

    /// Checks that clients met each other often, and still got something done.
    fn assert_contended(&self, what: &str) {
        let Self { transactions, aborted, edges } = self;
        println!("{what}: {transactions} transactions, {aborted} aborted, {edges:?}");
        assert!(aborted * 10 > *transactions && aborted * 4 < transactions * 3, "{what}");
        for kind in [Kind::Ww, Kind::Wr, Kind::Rw, Kind::PredicateWr, Kind::PredicateRw] {
            assert!(edges.of(kind) > 100, "{what}: {kind:?}");
        }
    }
}

// Histories by hand: two rows, 1 and 2, written by T0.

fn read(filter: Filter, columns: Mask, snapshot: u64, rows: &[Cells]) -> Op {
    Op::Read(Read { filter, columns, snapshot, rows: rows.to_vec() })
}

fn read_a(id: i64, value: i64, snapshot: u64) -> Op {
    read(Filter::equal(KEY, id), mask(&[A]), snapshot, &[[id, 0, 0, 0, value, 0]])
}

fn read_b(id: i64, value: i64, snapshot: u64) -> Op {
    read(Filter::equal(KEY, id), mask(&[B]), snapshot, &[[id, 0, 0, 0, 0, value]])
}

fn update(id: i64, column: usize, value: i64) -> Op {
    let mut after = [0; 6];
    after[column] = value;
    Op::Write(Write { id, snapshot: 1, after: Some(after), changed: Some(1 << column) })
}

fn insert(id: i64, group: i64, value: i64) -> Op {
    let cells = [id, id, group, 0, value, value];
    Op::Write(Write { id, snapshot: 1, after: Some(cells), changed: None })
}

/// All transactions but the first overlap.
fn transaction(name: &str, commit: Option<u64>, ops: Vec<Op>) -> Transaction {
    let (began, ended) = if name == "T0" { (0, 1) } else { (2, 100) };
    let outcome = Outcome::Committed(commit);
    Transaction { name: name.to_owned(), began, ended, snapshot: 1, ops, outcome }
}

fn planted(transactions: Vec<Transaction>) -> History {
    let first = transaction("T0", Some(1), vec![insert(1, 7, 10), insert(2, 7, 20)]);
    History { transactions: [vec![first], transactions].concat() }
}

fn assert_found(history: &History, class: Class, names: &[&str]) {
    let found: Anomaly = graph::check(history).expect_err("the anomaly was not found");
    assert_eq!(found.class, class, "{found}");
    assert!(names.iter().all(|name| found.text.contains(name)), "{found}");
}

#[test]
fn serial_history_has_no_cycle() {
    let one = transaction("T1", Some(2), vec![read_a(1, 10, 1), update(1, A, 11)]);
    let mut two = transaction("T2", Some(3), vec![read_a(1, 11, 2), update(1, A, 12)]);
    two.snapshot = 2;
    let history = planted(vec![one, two]);
    let counts = assert_serializable(&history, "serial");
    assert!(counts.of(Kind::Ww) > 0 && counts.of(Kind::Wr) > 0);
}

#[test]
fn aborted_and_intermediate_reads_are_found() {
    let mut aborted = transaction("T1", None, vec![update(1, A, 11)]);
    aborted.outcome = Outcome::Aborted;
    let reader = transaction("T2", None, vec![read_a(1, 11, 1)]);
    let history = planted(vec![aborted, reader]);
    assert_found(&history, Class::AbortedRead, &["T2"]);

    let twice = transaction("T1", Some(2), vec![update(1, A, 11), update(1, A, 12)]);
    let reader = transaction("T2", None, vec![read_a(1, 11, 1)]);
    assert_found(&planted(vec![twice, reader]), Class::IntermediateRead, &["T2"]);
}

#[test]
fn read_that_is_not_of_its_snapshot_is_found() {
    let writer = transaction("T1", Some(2), vec![update(1, A, 11), update(2, A, 21)]);
    // It saw one write of T1 and not the other.
    let reader = transaction("T2", None, vec![read_a(1, 11, 2), read_a(2, 20, 2)]);
    let history = planted(vec![writer, reader]);
    assert_found(&history, Class::WrongSnapshot, &["T2"]);
    assert!(replay::check(&history).is_err());
}

/// The writes of each are in between those of the other: the order of one row contradicts the
/// commits, as the second reader sees.
#[test]
fn circular_information_flow_is_found() {
    let one = transaction("T1", Some(2), vec![update(1, A, 11), read_a(2, 22, 3)]);
    let two = transaction("T2", Some(3), vec![update(2, A, 22), read_a(1, 11, 2)]);
    assert_found(&planted(vec![one, two]), Class::G1c, &["T1", "T2"]);
}

#[test]
fn lost_update_is_found() {
    let one = transaction("T1", Some(2), vec![read_a(1, 10, 1), update(1, A, 11)]);
    let two = transaction("T2", Some(3), vec![read_a(1, 10, 1), update(1, A, 12)]);
    let history = planted(vec![one, two]);
    assert_found(&history, Class::GSingle, &["T1", "T2"]);
    assert!(replay::check(&history).is_err());
}

#[test]
fn read_skew_is_found() {
    let writer = transaction("T1", Some(2), vec![update(1, A, 11), update(2, A, 21)]);
    let reader =
        transaction("T2", Some(9), vec![read_a(1, 10, 1), read_a(2, 21, 2), insert(3, 1, 30)]);
    assert_found(&planted(vec![writer, reader]), Class::GSingle, &["T1", "T2"]);
}

#[test]
fn write_skew_is_found() {
    let one = transaction("T1", Some(2), vec![read_a(2, 20, 1), update(1, A, 11)]);
    let two = transaction("T2", Some(3), vec![read_a(1, 10, 1), update(2, A, 21)]);
    let history = planted(vec![one, two]);
    assert_found(&history, Class::G2Item, &["T1", "T2"]);
    assert!(replay::check(&history).is_err());
}

#[test]
fn write_of_another_column_is_no_dependency() {
    let one = transaction("T1", Some(2), vec![read_a(2, 20, 1), update(1, A, 11)]);
    let two = transaction("T2", Some(3), vec![read_b(1, 10, 1), update(2, B, 21)]);
    assert_serializable(&planted(vec![one, two]), "other columns");
}

#[test]
fn phantoms_are_found() {
    let in_group = || {
        let rows: [Cells; 2] = [[1, 0, 0, 0, 0, 0], [2, 0, 0, 0, 0, 0]];
        read(Filter::equal(GROUP, 7), 0, 1, &rows)
    };
    let one = transaction("T1", Some(2), vec![in_group(), insert(3, 7, 30)]);
    let two = transaction("T2", Some(3), vec![in_group(), insert(4, 7, 40)]);
    let history = planted(vec![one.clone(), two.clone()]);
    assert_found(&history, Class::G2, &["T1", "T2"]);
    assert!(replay::check(&history).is_err());
    // A row that leaves the group is one too.
    let moved = transaction("T3", Some(3), vec![in_group(), update(2, GROUP, 8)]);
    assert_found(&planted(vec![one.clone(), moved]), Class::G2, &["T1", "T3"]);
    // Other groups do not matter.
    let empty = read(Filter::equal(GROUP, 9), 0, 1, &[]);
    let other = transaction("T4", Some(4), vec![empty, insert(6, 7, 60)]);
    let outside = transaction("T5", Some(4), vec![in_group(), insert(5, 8, 50)]);
    assert!(graph::check(&planted(vec![one, outside])).is_ok());
    assert_serializable(&planted(vec![two, other]), "another group");
}

#[test]
fn transaction_that_misses_what_ended_before_it_is_found() {
    let mut writer = transaction("T1", Some(2), vec![update(1, A, 11)]);
    writer.ended = 3;
    let mut reader = transaction("T2", None, vec![read_a(1, 10, 1)]);
    reader.began = 4;
    assert_found(&planted(vec![writer, reader]), Class::GSingle, &["T2", "before", "T1"]);
}

// The model.

#[test]
fn model_is_serializable() {
    for level in [ValidationLevel::Attribute, ValidationLevel::Record] {
        let mut tally = Tally::default();
        for seed in seeds(48) {
            let model = Model::new(Flaw::None, level);
            let history = interleave(&model, seed, shape(seed, Level::Serializable));
            let counts = assert_serializable(&history, &format!("seed {seed}, {level:?}"));
            tally.add(&history, counts);
        }
        tally.assert_contended("model");
    }
}

#[test]
fn threads_on_the_model_are_serializable() {
    for seed in seeds(8) {
        let model = Model::new(Flaw::None, ValidationLevel::Attribute);
        let history = run(&model, seed, shape(seed, Level::Serializable));
        assert_serializable(&history, &format!("seed {seed}"));
    }
}

/// Attributes are finer than records: fewer transactions fail.
#[test]
fn attribute_level_aborts_less() {
    let aborted = |level| -> usize {
        let one = |seed| {
            interleave(&Model::new(Flaw::None, level), seed, shape(seed, Level::Serializable))
        };
        (1..=32).map(|seed| one(seed).aborted()).sum()
    };
    let (attribute, record) =
        (aborted(ValidationLevel::Attribute), aborted(ValidationLevel::Record));
    assert!(attribute < record, "{attribute} and {record}");
}

/// Runs a flawed model until both judges have said so.
fn assert_flaw_is_found(flaw: Flaw, level: Level, classes: &[Class]) {
    let mut found = Vec::new();
    for seed in 1..=24 {
        let model = Model::new(flaw, ValidationLevel::Attribute);
        let history = interleave(&model, seed, shape(seed, level));
        if let Err(anomaly) = graph::check(&history) {
            assert!(classes.contains(&anomaly.class), "seed {seed}: {anomaly}");
            found.push(anomaly.class);
        }
    }
    found.sort();
    found.dedup();
    assert!(!found.is_empty(), "{flaw:?} was never found");
    println!("{flaw:?} at {level:?}: {found:?}");
}

#[test]
fn planted_flaws_are_found() {
    let snapshots = [Class::AbortedRead, Class::IntermediateRead, Class::WrongSnapshot];
    assert_flaw_is_found(Flaw::DirtyRead, Level::Serializable, &snapshots);
    assert_flaw_is_found(Flaw::TornCommit, Level::Serializable, &[Class::WrongSnapshot]);
    let cycles = [Class::GSingle, Class::G2Item, Class::G2];
    assert_flaw_is_found(Flaw::StaleSnapshot, Level::Serializable, &cycles);
    assert_flaw_is_found(Flaw::Phantom, Level::Serializable, &[Class::GSingle, Class::G2]);
    assert_flaw_is_found(Flaw::BeforeImage, Level::Serializable, &cycles);
    let lost = [Class::WrongSnapshot, Class::GSingle, Class::G2Item, Class::G2];
    assert_flaw_is_found(Flaw::LostUpdate, Level::RepeatableRead, &lost);
}

/// Snapshot isolation lets write skew and phantoms through, and nothing below.
#[test]
fn repeatable_read_has_write_skew_only() {
    assert_flaw_is_found(Flaw::None, Level::RepeatableRead, &[Class::G2Item, Class::G2]);
}

// The store.

#[test]
fn interleaved_clients_of_the_store_are_serializable() {
    let mut tally = Tally::default();
    for seed in seeds(32) {
        let has_loads = seed % 4 == 0;
        let shape = Shape { has_loads, ..shape(seed / 4, Level::Serializable) };
        let history = interleave(&Stored::new(), seed, shape);
        let counts = assert_serializable(&history, &format!("seed {seed}"));
        tally.add(&history, counts);
    }
    tally.assert_contended("interleaved");
}

#[test]
fn threads_on_the_store_are_serializable() {
    let mut tally = Tally::default();
    for seed in seeds(12) {
        let has_loads = seed % 3 == 0;
        let shape = Shape { has_loads, ..shape(seed, Level::Serializable) };
        let transactions = shape.transactions * 3;
        let history = run(&Stored::new(), seed, Shape { transactions, ..shape });
        let counts = assert_serializable(&history, &format!("seed {seed}"));
        tally.add(&history, counts);
    }
    tally.assert_contended("threads");
}

/// Chunks are frozen whenever a transaction begins, beside those of others.
#[test]
fn freezes_leave_histories_serializable() {
    let (mut frozen, mut tally) = (0, Tally::default());
    for seed in seeds(24) {
        let (stored, shape) = (Stored::freezing(), shape(seed, Level::Serializable));
        let history = match seed % 2 {
            0 => interleave(&stored, seed, shape),
            _ => run(&stored, seed, shape),
        };
        let counts = assert_serializable(&history, &format!("seed {seed}"));
        tally.add(&history, counts);
        frozen += stored.frozen_rows();
    }
    println!("{frozen} rows were frozen");
    assert!(frozen > 100);
}

/// Snapshot isolation of the store lets write skew and phantoms through, and nothing below.
#[test]
fn repeatable_read_of_the_store_has_write_skew_only() {
    let mut found = 0;
    for seed in seeds(16) {
        let history = interleave(&Stored::new(), seed, shape(seed, Level::RepeatableRead));
        if let Err(anomaly) = graph::check(&history) {
            assert!(anomaly.class >= Class::G2Item, "seed {seed}: {anomaly}");
            found += 1;
        }
    }
    assert!(found > 0, "clients did not meet");
}
