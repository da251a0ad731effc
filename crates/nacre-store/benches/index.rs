//! How fast are the indexes, and how large, against the maps of the standard library?
//!
//! Keys are dense numbers, random numbers, composite keys of three numbers (as the orders of TPC-C
//! have) and texts with a long common prefix; all as bytes. Baselines are a `BTreeMap` and a
//! `HashMap` from boxed key bytes to a row, with what the standard library counts for them: the
//! bytes of their tables and of the boxes. Keys are inserted in a random order, but for `dense`;
//! looked up in another; ranges are of 100 keys. Each figure is the best of three rounds in which
//! the structures take turns.
//!
//! `cargo bench -p nacre-store --bench index [-- KEYS]`, one million without it. As a test it runs
//! with a few keys and compares what is found.
#![allow(clippy::expect_used, reason = "a bench that cannot run may panic where it stands")]

use std::collections::{BTreeMap, HashMap};
use std::hint::black_box;
use std::ops::{Bound, ControlFlow};
use std::time::Instant;

use nacre_store::RowId;
use nacre_store::index::{ArtIndex, Direction, HashIndex};

/// Keys of one range.
const RANGE_KEYS: usize = 100;

/// Repetitions of which the best counts.
const ROUNDS: usize = 3;

type Keys = Vec<Box<[u8]>>;

/// One structure under test.
trait Map: Default {
    const NAME: &'static str;
    fn insert(&mut self, key: &[u8], row: RowId);
    fn get(&self, key: &[u8]) -> Option<RowId>;
    /// Adds up `RANGE_KEYS` rows from `key` on; `None` if there are no ranges.
    fn sum(&self, key: &[u8]) -> Option<u64>;
    fn remove(&mut self, key: &[u8], row: RowId);
    fn bytes(&self) -> usize;
}

#[derive(Default)]
struct Tree(BTreeMap<Box<[u8]>, RowId>);

#[derive(Default)]
struct Table(HashMap<Box<[u8]>, RowId>);

/// Bytes of a box with `length` bytes, as the allocator rounds them.
fn box_bytes(length: usize) -> usize {
    (length + 8).next_multiple_of(16).max(32)
}

impl Map for ArtIndex {
    const NAME: &'static str = "art";

    fn insert(&mut self, key: &[u8], row: RowId) {
        ArtIndex::insert(self, key, row).expect("there is room");
    }

    fn get(&self, key: &[u8]) -> Option<RowId> {
        ArtIndex::get(self, key).next()
    }

    fn sum(&self, key: &[u8]) -> Option<u64> {
        let (mut sum, mut left) = (0_u64, RANGE_KEYS);
        let bounds = (Bound::Included(key), Bound::Unbounded);
        self.range(bounds, Direction::Ascending, |_, rows| {
            sum = rows.fold(sum, |sum, row| sum.wrapping_add(row.0));
            left -= 1;
            if left == 0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        Some(sum)
    }

    fn remove(&mut self, key: &[u8], row: RowId) {
        assert!(ArtIndex::remove(self, key, row));
    }

    fn bytes(&self) -> usize {
        ArtIndex::bytes(self)
    }
}

impl Map for HashIndex {
    const NAME: &'static str = "hash";

    fn insert(&mut self, key: &[u8], row: RowId) {
        HashIndex::insert(self, key, row).expect("there is room");
    }

    fn get(&self, key: &[u8]) -> Option<RowId> {
        HashIndex::get(self, key).next()
    }

    fn sum(&self, _: &[u8]) -> Option<u64> {
        None
    }

    fn remove(&mut self, key: &[u8], row: RowId) {
        assert!(HashIndex::remove(self, key, row));
    }

    fn bytes(&self) -> usize {
        HashIndex::bytes(self)
    }
}

impl Map for Tree {
    const NAME: &'static str = "std_btree";

    fn insert(&mut self, key: &[u8], row: RowId) {
        self.0.insert(key.into(), row);
    }

    fn get(&self, key: &[u8]) -> Option<RowId> {
        self.0.get(key).copied()
    }

    fn sum(&self, key: &[u8]) -> Option<u64> {
        let from = self.0.range::<[u8], _>((Bound::Included(key), Bound::Unbounded));
        Some(from.take(RANGE_KEYS).fold(0, |sum: u64, (_, row)| sum.wrapping_add(row.0)))
    }

    fn remove(&mut self, key: &[u8], _: RowId) {
        self.0.remove(key).expect("it is there");
    }

    fn bytes(&self) -> usize {
        // Nodes of 11 entries, two thirds full.
        let boxes: usize = self.0.keys().map(|key| box_bytes(key.len())).sum();
        boxes + self.0.len() * size_of::<(Box<[u8]>, RowId)>() * 3 / 2
    }
}

impl Map for Table {
    const NAME: &'static str = "std_hash";

    fn insert(&mut self, key: &[u8], row: RowId) {
        self.0.insert(key.into(), row);
    }

    fn get(&self, key: &[u8]) -> Option<RowId> {
        self.0.get(key).copied()
    }

    fn sum(&self, _: &[u8]) -> Option<u64> {
        None
    }

    fn remove(&mut self, key: &[u8], _: RowId) {
        self.0.remove(key).expect("it is there");
    }

    fn bytes(&self) -> usize {
        let boxes: usize = self.0.keys().map(|key| box_bytes(key.len())).sum();
        let slots = (self.0.capacity() * 8 / 7).next_power_of_two();
        boxes + slots * (size_of::<(Box<[u8]>, RowId)>() + 1)
    }
}

/// The best times of the operations, in nanoseconds a key.
#[derive(Clone, Copy)]
struct Times([f64; 4]);

const OPERATIONS: [&str; 4] = ["insert", "get", "range100", "remove"];

fn time(best: &mut f64, keys: usize, body: impl FnOnce()) {
    let start = Instant::now();
    body();
    *best = best.min(start.elapsed().as_nanos() as f64 / keys as f64);
}

/// Runs all operations once and returns the bytes of the full structure.
fn round<M: Map>(keys: &Keys, probes: &[u32], times: &mut Times) -> (usize, u64) {
    let mut map = M::default();
    let mut check = 0_u64;
    let [insert, get, range, remove] = &mut times.0;
    time(insert, keys.len(), || {
        (0..).zip(keys).for_each(|(row, key)| map.insert(key, RowId(row)));
    });
    let bytes = map.bytes();
    time(get, probes.len(), || {
        for &probe in probes {
            let row = map.get(black_box(&keys[probe as usize])).expect("it is there");
            check = check.wrapping_add(row.0);
        }
    });
    let starts = &probes[..probes.len() / RANGE_KEYS];
    if map.sum(&keys[0]).is_some() {
        time(range, starts.len() * RANGE_KEYS, || {
            for &probe in starts {
                check = check.wrapping_add(map.sum(&keys[probe as usize]).unwrap_or_default());
            }
        });
    } else {
        *range = f64::NAN;
    }
    time(remove, probes.len(), || {
        for &probe in probes {
            map.remove(&keys[probe as usize], RowId(probe.into()));
        }
    });
    (bytes, check)
}

fn random(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mixed = (*state ^ *state >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed ^ mixed >> 29
}

fn shuffled(count: usize, state: &mut u64) -> Vec<u32> {
    let mut all: Vec<u32> = (0..count as u32).collect();
    for at in (1..count).rev() {
        all.swap(at, (random(state) % (at as u64 + 1)) as usize);
    }
    all
}

fn key_sets(count: usize) -> Vec<(&'static str, Keys)> {
    let mut state = 5;
    let dense = (0..count as u64).map(|key| key.to_be_bytes().into()).collect();
    let wide = (0..count).map(|_| random(&mut state).to_be_bytes().into()).collect();
    let mut orders: Keys = (0..count as u32)
        .map(|key| {
            let parts =
                [key % 5, key / 5 % 10, key / 50].map(|part| (part | 1 << 31).to_be_bytes());
            parts.concat().into()
        })
        .collect();
    let mut texts: Keys = (0..count)
        .map(|key| format!("https://example.org/item/{key:09}").into_bytes())
        .map(Into::into)
        .collect();
    for keys in [&mut orders, &mut texts] {
        let order = shuffled(count, &mut state);
        *keys = order.iter().map(|&at| keys[at as usize].clone()).collect();
    }
    vec![("dense", dense), ("random", wide), ("orders", orders), ("texts", texts)]
}

fn measure(set: &str, keys: &Keys) {
    let probes = shuffled(keys.len(), &mut 11);
    let mut times = [Times([f64::INFINITY; 4]); 4];
    let mut results = [(0, 0); 4];
    for _ in 0..ROUNDS {
        results[0] = round::<ArtIndex>(keys, &probes, &mut times[0]);
        results[1] = round::<Tree>(keys, &probes, &mut times[1]);
        results[2] = round::<HashIndex>(keys, &probes, &mut times[2]);
        results[3] = round::<Table>(keys, &probes, &mut times[3]);
    }
    assert_eq!((results[0].1, results[2].1), (results[1].1, results[3].1), "what was found");
    let names = [ArtIndex::NAME, Tree::NAME, HashIndex::NAME, Table::NAME];
    for (operation, name) in OPERATIONS.iter().enumerate() {
        for structure in 0..4 {
            let (own, base) = (times[structure].0[operation], times[structure | 1].0[operation]);
            if own.is_finite() {
                let id = format!("{name}/{}/{set}/keys={}", names[structure], keys.len());
                println!("{id:<44} {own:>8.1} ns/key {:>6.2} x std", own / base);
            }
        }
    }
    for structure in 0..4 {
        let bytes = results[structure].0 as f64 / keys.len() as f64;
        println!("{:<44} {bytes:>8.1} bytes/key", format!("size/{}/{set}", names[structure]));
    }
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let is_bench = arguments.iter().any(|argument| argument == "--bench");
    let count = arguments.iter().find_map(|argument| argument.parse().ok());
    let count = count.unwrap_or(if is_bench { 1_000_000 } else { 2_000 });
    for (set, keys) in key_sets(count) {
        measure(set, &keys);
    }
}
