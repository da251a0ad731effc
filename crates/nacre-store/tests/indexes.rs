//! Indexes against the maps of the standard library: whatever is done to both, both say the same.

#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::collections::{BTreeMap, BTreeSet};
use std::ops::{Bound, ControlFlow};

use nacre_store::RowId;
use nacre_store::index::{ArtIndex, Direction, HashIndex};
use proptest::collection::vec;
use proptest::prelude::*;

/// A bound of a range as a test case: whether it is there, whether it counts, and its key.
type End = Option<(bool, Vec<u8>)>;

#[derive(Clone, Debug)]
enum Step {
    Insert(Vec<u8>, u64),
    Remove(Vec<u8>, u64),
    /// Removes a row that is there, if there is one.
    RemoveNth(usize),
    Get(Vec<u8>),
    Range(End, End),
}

/// What an index should be.
#[derive(Debug, Default)]
struct Model {
    keys: BTreeMap<Vec<u8>, BTreeSet<RowId>>,
}

impl Model {
    fn insert(&mut self, key: &[u8], row: RowId) -> bool {
        self.keys.entry(key.to_vec()).or_default().insert(row)
    }

    fn remove(&mut self, key: &[u8], row: RowId) -> bool {
        let Some(rows) = self.keys.get_mut(key) else {
            return false;
        };
        let is_removed = rows.remove(&row);
        if rows.is_empty() {
            self.keys.remove(key);
        }
        is_removed
    }

    fn nth(&self, nth: usize) -> Option<(Vec<u8>, RowId)> {
        let all =
            || self.keys.iter().flat_map(|(key, rows)| rows.iter().map(move |row| (key, row)));
        let count = all().count();
        let (key, row) = all().nth(nth.checked_rem(count)?)?;
        Some((key.clone(), *row))
    }

    fn range(&self, bounds: (Bound<&[u8]>, Bound<&[u8]>)) -> Vec<(Vec<u8>, Vec<RowId>)> {
        let (lower, upper) = bounds;
        let is_in = |key: &[u8]| {
            let above = match lower {
                Bound::Included(bound) => key >= bound,
                Bound::Excluded(bound) => key > bound,
                Bound::Unbounded => true,
            };
            above
                && match upper {
                    Bound::Included(bound) => key <= bound,
                    Bound::Excluded(bound) => key < bound,
                    Bound::Unbounded => true,
                }
        };
        let wanted = self.keys.iter().filter(|(key, _)| is_in(key));
        wanted.map(|(key, rows)| (key.clone(), rows.iter().copied().collect())).collect()
    }
}

fn bound(end: &End) -> Bound<&[u8]> {
    match end {
        None => Bound::Unbounded,
        Some((true, key)) => Bound::Included(key),
        Some((false, key)) => Bound::Excluded(key),
    }
}

fn art_range(
    index: &ArtIndex,
    bounds: (Bound<&[u8]>, Bound<&[u8]>),
    direction: Direction,
) -> Vec<(Vec<u8>, Vec<RowId>)> {
    let mut found = Vec::new();
    index.range(bounds, direction, |key, rows| {
        found.push((key.to_vec(), rows.collect()));
        ControlFlow::Continue(())
    });
    found
}

/// Keys of a few bytes: empty ones, many doubles, many that are prefixes of others.
fn short_keys() -> impl Strategy<Value = Vec<u8>> {
    vec(prop_oneof![0..3_u8, 250..=255_u8], 0..5)
}

/// Keys with long common prefixes.
fn long_keys() -> impl Strategy<Value = Vec<u8>> {
    (0..40_usize, vec(0..4_u8, 0..3), 0..30_usize)
        .prop_map(|(before, middle, after)| [vec![7; before], middle, vec![9; after]].concat())
}

/// Two bytes at random, so that nodes of all sizes come and go.
fn wide_keys() -> impl Strategy<Value = Vec<u8>> {
    (0..4_u8, any::<u8>()).prop_map(|(high, low)| vec![high, low, 1])
}

fn keys() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![2 => short_keys(), 1 => long_keys(), 2 => wide_keys()]
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let end = || proptest::option::of((any::<bool>(), keys()));
    let step = prop_oneof![
        8 => (keys(), 0..100_u64).prop_map(|(key, row)| Step::Insert(key, row)),
        1 => (keys(), 0..100_u64).prop_map(|(key, row)| Step::Remove(key, row)),
        3 => any::<usize>().prop_map(Step::RemoveNth),
        2 => keys().prop_map(Step::Get),
        1 => (end(), end()).prop_map(|(lower, upper)| Step::Range(lower, upper)),
    ];
    vec(step, 0..700)
}

fn run(steps: &[Step]) {
    let (mut model, mut art, mut hash) = (Model::default(), ArtIndex::new(), HashIndex::new());
    for step in steps {
        match step {
            Step::Insert(key, row) => {
                let is_new = model.insert(key, RowId(*row));
                assert_eq!(art.insert(key, RowId(*row)), Ok(is_new), "{step:?}");
                assert_eq!(hash.insert(key, RowId(*row)), Ok(is_new), "{step:?}");
            }
            Step::Remove(key, row) => {
                let is_removed = model.remove(key, RowId(*row));
                assert_eq!(art.remove(key, RowId(*row)), is_removed, "{step:?}");
                assert_eq!(hash.remove(key, RowId(*row)), is_removed, "{step:?}");
            }
            Step::RemoveNth(nth) => {
                if let Some((key, row)) = model.nth(*nth) {
                    model.remove(&key, row);
                    assert!(art.remove(&key, row) && hash.remove(&key, row), "{key:?} {row:?}");
                }
            }
            Step::Get(key) => {
                let want: Vec<RowId> = model.keys.get(key).into_iter().flatten().copied().collect();
                assert_eq!(art.get(key).collect::<Vec<_>>(), want, "{key:?}");
                assert_eq!(hash.get(key).collect::<Vec<_>>(), want, "{key:?}");
            }
            Step::Range(lower, upper) => {
                let bounds = (bound(lower), bound(upper));
                let mut want = model.range(bounds);
                assert_eq!(art_range(&art, bounds, Direction::Ascending), want, "{step:?}");
                want.reverse();
                assert_eq!(art_range(&art, bounds, Direction::Descending), want, "{step:?}");
            }
        }
    }
    let rows = model.keys.values().map(BTreeSet::len).sum::<usize>();
    assert_eq!((art.len(), art.keys()), (rows, model.keys.len()));
    assert_eq!((hash.len(), hash.keys()), (rows, model.keys.len()));
    // What is taken apart again leaves nothing but pages behind.
    let (art_bytes, hash_bytes) = (art.bytes(), hash.bytes());
    while let Some((key, row)) = model.nth(0) {
        model.remove(&key, row);
        assert!(art.remove(&key, row) && hash.remove(&key, row), "{key:?} {row:?}");
    }
    assert!(art.is_empty() && art.keys() == 0 && art.bytes() <= art_bytes + 8_192);
    assert!(hash.is_empty() && hash.keys() == 0 && hash.bytes() <= hash_bytes + 8_192);
    assert_eq!(art_range(&art, (Bound::Unbounded, Bound::Unbounded), Direction::Ascending), []);
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 48,
        max_shrink_iters: 2_000,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn indexes_do_as_the_maps_of_the_standard_library(steps in steps()) {
        run(&steps);
    }
}

/// Inserts `keys` in the given order, looks at everything, and removes every other one.
fn insert_and_halve(keys: &[Vec<u8>]) {
    let (mut model, mut art, mut hash) = (Model::default(), ArtIndex::new(), HashIndex::new());
    for (row, key) in (0..).map(RowId).zip(keys) {
        assert!(model.insert(key, row));
        assert_eq!((art.insert(key, row), hash.insert(key, row)), (Ok(true), Ok(true)));
    }
    for round in 0..2 {
        let all = (Bound::Unbounded, Bound::Unbounded);
        let mut want = model.range(all);
        for (key, rows) in &want {
            assert!(
                art.get(key).eq(rows.iter().copied()) && hash.get(key).eq(rows.iter().copied())
            );
        }
        assert!(art_range(&art, all, Direction::Ascending) == want);
        want.reverse();
        assert!(art_range(&art, all, Direction::Descending) == want);
        if round == 0 {
            for (row, key) in (0..).map(RowId).zip(keys).step_by(2) {
                assert!(model.remove(key, row) && art.remove(key, row) && hash.remove(key, row));
            }
        }
    }
}

#[test]
fn numbers_in_any_order_are_found() {
    let numbers = |order: fn(u64) -> u64| {
        let keys: Vec<Vec<u8>> = (0..20_000).map(|at| order(at).to_be_bytes().into()).collect();
        insert_and_halve(&keys);
    };
    numbers(|at| at);
    numbers(|at| 20_000 - at);
    numbers(|at| at.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    numbers(|at| (at << 40) | (at % 7));
}

#[test]
fn every_key_may_be_a_prefix_of_the_next() {
    let keys: Vec<Vec<u8>> = (0..1_000).map(|length| vec![length as u8 / 100; length]).collect();
    insert_and_halve(&keys);
    let nested: Vec<Vec<u8>> = (0..1_500).rev().map(|length| vec![0; length]).collect();
    insert_and_halve(&nested);
}

#[test]
fn walk_stops_when_its_visitor_has_enough() {
    let mut index = ArtIndex::new();
    for key in 0..1_000_u16 {
        index.insert(&key.to_be_bytes(), RowId(key.into())).unwrap();
    }
    let mut first = Vec::new();
    let from = 500_u16.to_be_bytes();
    index.range((Bound::Excluded(&from), Bound::Unbounded), Direction::Ascending, |_, rows| {
        first.extend(rows);
        if first.len() == 3 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    assert_eq!(first, [501, 502, 503].map(RowId));
}
