//! The hybrid tree against a map of the standard library, and against bad input.

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod support;

use std::collections::BTreeMap;
use std::ops::{Bound, ControlFlow};

use nacre_pmem::structure::{HybridTree, KEY_BYTES_MAX, KeyBounds, VALUE_BYTES_MAX};
use nacre_pmem::{Access, Domain, ErrorKind, PoolSet, PoolSetOptions};
use proptest::prelude::*;
use proptest::test_runner::TestCaseError;
use support::Over;
use tempfile::TempDir;

/// A tree on tmpfs, or elsewhere where there is none.
struct Bed {
    domains: Vec<Domain>,
    _directory: TempDir,
}

impl Bed {
    fn new() -> Bed {
        let directory = tempfile::Builder::new().prefix("nacre-test-").tempdir_in("/dev/shm");
        let directory = directory.or_else(|_| tempfile::tempdir()).unwrap();
        let domains = vec![Domain::create("main", directory.path()).unwrap()];
        Bed { domains, _directory: directory }
    }

    fn create(&self, data_bytes: u64) -> HybridTree {
        let options = PoolSetOptions::new(data_bytes);
        HybridTree::create(PoolSet::create("kv", &self.domains, &options).unwrap()).unwrap()
    }

    fn reopen(&self, tree: HybridTree) -> HybridTree {
        drop(tree.into_set());
        HybridTree::open(PoolSet::open("kv", &self.domains, Access::ReadWrite).unwrap()).unwrap()
    }
}

type Map = BTreeMap<Vec<u8>, Vec<u8>>;

fn pairs(tree: &HybridTree, bounds: KeyBounds<'_>) -> Vec<(Vec<u8>, Vec<u8>)> {
    let mut pairs = Vec::new();
    tree.range(bounds, |key, value| {
        pairs.push((key.to_vec(), value.to_vec()));
        ControlFlow::Continue(())
    })
    .unwrap();
    let mut descending = Vec::new();
    tree.range_descending(bounds, |key, value| {
        descending.push((key.to_vec(), value.to_vec()));
        ControlFlow::Continue(())
    })
    .unwrap();
    descending.reverse();
    assert_eq!(pairs, descending);
    pairs
}

const ALL: KeyBounds<'static> = (Bound::Unbounded, Bound::Unbounded);

fn assert_same(tree: &HybridTree, map: &Map) {
    assert_eq!(tree.check().unwrap().keys, map.len() as u64);
    assert_eq!(tree.len(), map.len() as u64);
    let expected: Vec<_> = map.iter().map(|(k, v)| (k.clone(), v.clone())).collect();
    assert_eq!(pairs(tree, ALL), expected);
    for (key, value) in map {
        assert_eq!(tree.get(key).unwrap().as_ref(), Some(value));
    }
}

#[derive(Clone, Debug)]
enum Step {
    Insert(Vec<u8>, Vec<u8>),
    Update(Vec<u8>, Vec<u8>),
    Upsert(Vec<u8>, Vec<u8>),
    Delete(Vec<u8>),
    Range(Bound<Vec<u8>>, Bound<Vec<u8>>),
    Reopen,
}

fn any_key() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        6 => (0_u16..400).prop_map(|key| key.to_be_bytes().to_vec()),
        3 => (0_u16..200).prop_map(|key| format!("a prefix that many have/{key:05}").into_bytes()),
        1 => proptest::collection::vec(0_u8..3, 0..12),
        1 => (0_u8..40, 0..=KEY_BYTES_MAX).prop_map(|(key, bytes)| vec![key; bytes]),
    ]
}

/// Returns a value whose lines differ.
fn long(seed: u64, bytes: usize) -> Vec<u8> {
    (0..bytes as u64).map(|i| (seed.wrapping_add(i / 64).wrapping_mul(i | 1) >> 5) as u8).collect()
}

fn any_value() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        6 => any::<u64>().prop_map(|value| value.to_le_bytes().to_vec()),
        2 => proptest::collection::vec(any::<u8>(), 0..40),
        // On both sides of 512, past which a value has an extent of its own.
        2 => (any::<u8>(), 500..=524_usize).prop_map(|(byte, bytes)| vec![byte; bytes]),
        1 => (any::<u8>(), 0..=5000_usize).prop_map(|(byte, bytes)| vec![byte; bytes]),
        1 => (any::<u64>(), 20_000..=70_000_usize).prop_map(|(seed, bytes)| long(seed, bytes)),
    ]
}

fn any_bound() -> impl Strategy<Value = Bound<Vec<u8>>> {
    prop_oneof![
        any_key().prop_map(Bound::Included),
        any_key().prop_map(Bound::Excluded),
        Just(Bound::Unbounded),
    ]
}

fn any_step() -> impl Strategy<Value = Step> {
    prop_oneof![
        400 => (any_key(), any_value()).prop_map(|(key, value)| Step::Insert(key, value)),
        200 => (any_key(), any_value()).prop_map(|(key, value)| Step::Update(key, value)),
        200 => (any_key(), any_value()).prop_map(|(key, value)| Step::Upsert(key, value)),
        300 => any_key().prop_map(Step::Delete),
        10 => (any_bound(), any_bound()).prop_map(|(lower, upper)| Step::Range(lower, upper)),
        2 => Just(Step::Reopen),
    ]
}

fn borrow(bound: &Bound<Vec<u8>>) -> Bound<&[u8]> {
    bound.as_ref().map(Vec::as_slice)
}

fn run(steps: Vec<Step>) -> Result<(), TestCaseError> {
    let bed = Bed::new();
    let mut tree = bed.create(32 << 20);
    let mut map = Map::new();
    for step in steps {
        match step {
            Step::Insert(key, value) => {
                prop_assert_eq!(tree.insert(&key, &value).unwrap(), !map.contains_key(&key));
                map.entry(key).or_insert(value);
            }
            Step::Update(key, value) => {
                let is_there = map.contains_key(&key);
                prop_assert_eq!(tree.update(&key, &value).unwrap(), is_there);
                map.entry(key).and_modify(|old| *old = value);
            }
            Step::Upsert(key, value) => {
                prop_assert_eq!(tree.upsert(&key, &value).unwrap(), !map.contains_key(&key));
                map.insert(key, value);
            }
            Step::Delete(key) => {
                prop_assert_eq!(tree.delete(&key).unwrap(), map.remove(&key).is_some());
            }
            Step::Range(lower, upper) => {
                // The map panics where the tree finds nothing.
                let inside = |key: &Vec<u8>| {
                    (match &lower {
                        Bound::Included(bound) => key >= bound,
                        Bound::Excluded(bound) => key > bound,
                        Bound::Unbounded => true,
                    }) && (match &upper {
                        Bound::Included(bound) => key <= bound,
                        Bound::Excluded(bound) => key < bound,
                        Bound::Unbounded => true,
                    })
                };
                let expected: Vec<_> = map.iter().filter(|(key, _)| inside(key)).collect();
                let found = pairs(&tree, (borrow(&lower), borrow(&upper)));
                prop_assert_eq!(found.iter().map(|(k, v)| (k, v)).collect::<Vec<_>>(), expected);
            }
            Step::Reopen => tree = bed.reopen(tree),
        }
    }
    assert_same(&tree, &map);
    tree = bed.reopen(tree);
    assert_same(&tree, &map);
    for key in map.keys() {
        assert!(tree.delete(key).unwrap());
    }
    assert_eq!(tree.check().unwrap().leaves, 1);
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 16, max_shrink_iters: 200, failure_persistence: None, ..Default::default()
    })]
    #[test]
    fn tree_agrees_with_a_map(steps in proptest::collection::vec(any_step(), 0..2500)) {
        run(steps)?;
    }
}

fn number(i: u64) -> [u8; 8] {
    i.to_be_bytes()
}

#[test]
fn keys_come_in_at_every_position_of_a_full_leaf() {
    // 56 entries fill the first leaf; the next key splits it before, between or behind them.
    for position in 0..=56 {
        let bed = Bed::new();
        let tree = bed.create(1 << 20);
        let mut map = Map::new();
        for i in (0..56).map(|i| i * 2 + 1).chain([position * 2]) {
            assert!(tree.insert(&number(i), &i.to_le_bytes()).unwrap());
            map.insert(number(i).to_vec(), i.to_le_bytes().to_vec());
        }
        assert_eq!(tree.leaf_count(), 2);
        assert_same(&tree, &map);
        assert_same(&bed.reopen(tree), &map);
    }
}

/// What was lost: a process that put one long key into a leaf of few short ones. The leaf was
/// rebuilt with its entries scattered, so that no gap was long enough, and then rebuilt again, and
/// so on for ever.
#[test]
fn long_entry_finds_room_between_few_short_ones() {
    for (count, key_bytes, value_bytes) in [1, 8, 14, 15, 16, 17].into_iter().flat_map(|count| {
        [(100, 500), (500, 0), (500, 512), (1000, 100), (KEY_BYTES_MAX, 512), (1000, 9000)]
            .map(|(key_bytes, value_bytes)| (count, key_bytes, value_bytes))
    }) {
        let bed = Bed::new();
        let tree = bed.create(1 << 20);
        let mut map = Map::new();
        let mut insert = |key: Vec<u8>, value: Vec<u8>| {
            assert!(tree.insert(&key, &value).unwrap());
            map.insert(key, value);
        };
        (0..count).for_each(|i| insert(number(i * 1237).to_vec(), vec![1; 8]));
        insert(vec![0; key_bytes], vec![2; value_bytes]);
        insert(vec![1; key_bytes], vec![3; value_bytes]);
        assert_same(&tree, &map);
    }
}

#[test]
fn batch_updates_what_is_there() {
    let bed = Bed::new();
    let tree = bed.create(4 << 20);
    for i in 0..1000 {
        tree.insert(&number(i * 2), b"old").unwrap();
    }
    let keys: Vec<[u8; 8]> = (0..2000).map(number).collect();
    // Of the same size, and of another.
    for value in [&b"new"[..], b"a value of another size"] {
        let updates: Vec<(&[u8], &[u8])> = keys.iter().map(|key| (&key[..], value)).collect();
        assert_eq!(tree.update_batch(&updates).unwrap(), 1000);
        assert_eq!(tree.get(&number(0)).unwrap().as_deref(), Some(value));
        assert_eq!(tree.get(&number(1)).unwrap(), None);
        assert_eq!(tree.check().unwrap().keys, 1000);
    }
}

#[test]
fn too_long_keys_and_values_are_refused() {
    let bed = Bed::new();
    let tree = bed.create(2 << 20);
    let (long_key, long_value) = ([1; KEY_BYTES_MAX + 1], vec![1; VALUE_BYTES_MAX + 1]);
    assert_eq!(tree.insert(&long_key, b"").unwrap_err().kind(), ErrorKind::TooLong);
    assert_eq!(tree.upsert(b"", &long_value).unwrap_err().kind(), ErrorKind::TooLong);
    assert_eq!(tree.get(&long_key).unwrap(), None);
    assert!(tree.insert(&long_key[1..], &long_value[1..]).unwrap());
    assert_eq!(tree.check().unwrap().keys, 1);
}

#[test]
fn full_pool_leaves_the_tree_as_it_was() {
    let bed = Bed::new();
    let tree = bed.create(256 << 10);
    let mut map = Map::new();
    let error = (0..).find_map(|i| match tree.insert(&number(i), &[7; 100]) {
        Ok(is_new) => {
            assert!(is_new);
            map.insert(number(i).to_vec(), vec![7; 100]);
            None
        }
        Err(error) => Some(error),
    });
    assert_eq!(error.unwrap().kind(), ErrorKind::HeapFull);
    assert_same(&tree, &map);
    let tree = bed.reopen(tree);
    assert_same(&tree, &map);
    // Room that becomes free is used again.
    for key in map.keys() {
        assert!(tree.delete(key).unwrap());
    }
    for (key, value) in &map {
        assert!(tree.insert(key, value).unwrap());
    }
    assert_same(&tree, &map);
}

#[test]
fn readers_see_whole_values_while_a_writer_changes_them() {
    let bed = Bed::new();
    let tree = bed.create(8 << 20);
    for i in 0..2000 {
        tree.insert(&number(i), &[0; 64]).unwrap();
    }
    let is_over = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while !is_over.load(std::sync::atomic::Ordering::SeqCst) {
                    let mut last = None;
                    tree.range(ALL, |key, value| {
                        assert!(value.iter().all(|&byte| byte == value[0]));
                        assert!(last.as_deref() < Some(key), "ascending");
                        last = Some(key.to_vec());
                        ControlFlow::Continue(())
                    })
                    .unwrap();
                    let value = tree.get(&number(1000)).unwrap().unwrap();
                    assert!(value.iter().all(|&byte| byte == value[0]));
                }
            });
        }
        let _over = Over(&is_over);
        for round in 1..=3 {
            for i in 0..2000 {
                tree.update(&number(i), &[round; 64]).unwrap();
                // Leaves come and go between the keys that stay.
                let other = [&number(i)[..], b"other"].concat();
                tree.insert(&other, &[round; 40]).unwrap();
            }
            for i in 0..2000 {
                assert!(tree.delete(&[&number(i)[..], b"other"].concat()).unwrap());
            }
        }
    });
    assert_eq!(tree.check().unwrap().keys, 2000);
}

#[test]
fn damaged_bytes_are_an_error_that_names_the_leaf() {
    let bed = Bed::new();
    let tree = bed.create(512 << 10);
    for i in 0..500 {
        tree.insert(&number(i), b"a value past a word").unwrap();
    }
    let (start, end) = tree.with_set(|set| (set.data_offset(), set.end_offset()));
    let mut found = 0;
    for offset in (start..end - 8).step_by(1024 + 8) {
        let old = tree.with_set(|set| {
            let old = set.read(offset, 8).unwrap().to_vec();
            set.update(offset, &[0xa5; 8]).unwrap();
            old
        });
        // No call panics or hangs, whatever was hit.
        for i in (0..500).step_by(7) {
            let kind = tree.get(&number(i)).err().map(|error| error.kind());
            assert!(matches!(kind, None | Some(ErrorKind::Corrupt)));
        }
        let mut visited = 0;
        let ranged = tree.range(ALL, |_, _| {
            visited += 1;
            ControlFlow::Continue(())
        });
        if let Err(error) = ranged.and(tree.check().map(|_| ())) {
            assert!(visited <= 500);
            // Foreign: the magic number of the heap or of the tree was hit.
            let is_typed = matches!(error.kind(), ErrorKind::Corrupt | ErrorKind::Foreign);
            assert!(is_typed, "{error}");
            found += usize::from(error.to_string().contains("leaf at offset"));
        }
        tree.with_set(|set| set.update(offset, &old).unwrap());
    }
    assert!(found > 10, "{found}");
    assert_eq!(tree.check().unwrap().keys, 500);
}

#[test]
fn full_tree_goes_on_after_it_grew() {
    let bed = Bed::new();
    let tree = bed.create(1 << 20);
    let mut next = 0_u32;
    let mut fill = |tree: &HybridTree| loop {
        if let Err(error) = tree.insert(&next.to_be_bytes(), &[next as u8; 1000]) {
            assert_eq!(error.kind(), ErrorKind::HeapFull);
            return next;
        }
        next += 1;
    };
    let before = fill(&tree);
    tree.grow(2 << 20).unwrap();
    tree.grow(1 << 20).unwrap();
    let after = fill(&tree);
    assert!(after > before + before / 2, "{before} {after}");
    tree.check().unwrap();
    let tree = bed.reopen(tree);
    tree.check().unwrap();
    assert_eq!(tree.len(), u64::from(after));
    for key in 0..after {
        assert_eq!(tree.get(&key.to_be_bytes()).unwrap(), Some(vec![key as u8; 1000]));
    }
}

/// Creating a tree in a set that held one emptied it without a word.
#[test]
fn tree_is_not_created_over_another() {
    let bed = Bed::new();
    let tree = bed.create(1 << 20);
    tree.insert(b"precious", b"1").unwrap();
    let error = HybridTree::create(tree.into_set()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::AlreadyExists, "{error}");
    let set = PoolSet::open("kv", &bed.domains, Access::ReadWrite).unwrap();
    assert_eq!(HybridTree::open(set).unwrap().get(b"precious").unwrap().unwrap(), b"1");
}
