//! The hybrid tree against a map of the standard library, and against bad input.

use std::collections::BTreeMap;
use std::ops::{Bound, ControlFlow};

use nacre_pmem::structure::{HybridTree, KEY_BYTES_MAX, KeyBounds, VALUE_BYTES_MAX};
use nacre_pmem::{Access, Domain, ErrorKind, PoolSet, PoolSetOptions};
use proptest::prelude::*;
use proptest::test_runner::TestCaseError;
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

fn any_value() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        6 => any::<u64>().prop_map(|value| value.to_le_bytes().to_vec()),
        2 => proptest::collection::vec(any::<u8>(), 0..40),
        1 => (any::<u8>(), 0..=VALUE_BYTES_MAX).prop_map(|(byte, bytes)| vec![byte; bytes]),
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
    let mut tree = bed.create(8 << 20);
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
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..Default::default() })]
    #[test]
    fn tree_agrees_with_a_map(steps in proptest::collection::vec(any_step(), 0..2500)) {
        run(steps)?;
    }
}
