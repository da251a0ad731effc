//! The hybrid tree with values in extents of their own, under replicas that lose pages, and opened
//! for reading only.

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod support;

use std::collections::BTreeMap;
use std::fs::File;
use std::ops::{Bound, ControlFlow};
use std::path::PathBuf;

use nacre_pmem::structure::{HybridTree, VALUE_BYTES_MAX};
use nacre_pmem::{Access, Domain, ErrorKind, PoolSet, PoolSetOptions};
use support::Over;
use tempfile::TempDir;

/// A tree with replicas on tmpfs, or elsewhere where there is none.
struct Bed {
    domains: Vec<Domain>,
    directory: TempDir,
}

impl Bed {
    fn new(members: usize) -> Bed {
        let directory = tempfile::Builder::new().prefix("nacre-test-").tempdir_in("/dev/shm");
        let directory = directory.or_else(|_| tempfile::tempdir()).unwrap();
        let domain = Domain::create("main", directory.path()).unwrap();
        Bed { domains: vec![domain; members], directory }
    }

    fn create(&self, data_bytes: u64) -> HybridTree {
        let options = PoolSetOptions::new(data_bytes);
        HybridTree::create(PoolSet::create("kv", &self.domains, &options).unwrap()).unwrap()
    }

    fn open(&self, access: Access) -> HybridTree {
        HybridTree::open(PoolSet::open("kv", &self.domains, access).unwrap()).unwrap()
    }

    fn file(&self, member: usize) -> PathBuf {
        self.directory.path().join(format!("kv.{member}"))
    }

    /// Cuts the file of a member behind its mapping.
    fn cut(&self, member: usize, bytes: u64) {
        File::options().write(true).open(self.file(member)).unwrap().set_len(bytes).unwrap();
    }
}

type Map = BTreeMap<Vec<u8>, Vec<u8>>;

fn key(number: u64) -> Vec<u8> {
    number.to_be_bytes().to_vec()
}

/// Returns a value whose lines differ.
fn value(seed: u64, bytes: usize) -> Vec<u8> {
    (0..bytes as u64).map(|i| (seed.wrapping_add(i / 64).wrapping_mul(i | 1) >> 3) as u8).collect()
}

fn content(tree: &HybridTree) -> Map {
    let mut map = Map::new();
    tree.range((Bound::Unbounded, Bound::Unbounded), |key, value| {
        map.insert(key.to_vec(), value.to_vec());
        ControlFlow::Continue(())
    })
    .unwrap();
    map
}

fn assert_same(tree: &HybridTree, map: &Map) {
    assert!(content(tree) == *map);
    for (key, value) in map {
        assert!(tree.get(key).unwrap().as_ref() == Some(value));
    }
    let summary = tree.check().unwrap();
    let long: Vec<u64> =
        map.values().map(|value| value.len() as u64).filter(|&bytes| bytes > 512).collect();
    assert_eq!(summary.keys, map.len() as u64);
    assert_eq!(summary.long_values, long.len() as u64);
    assert_eq!(summary.long_value_bytes, long.iter().sum());
}

#[test]
fn every_size_replaces_every_other() {
    let bed = Bed::new(1);
    let tree = bed.create(16 << 20);
    let sizes = [0, 8, 9, 512, 513, 4096, 32 << 10, (32 << 10) + 1, VALUE_BYTES_MAX];
    let mut map = Map::new();
    let mut round = 0;
    for old in sizes {
        for new in sizes {
            for bytes in [old, new] {
                round += 1;
                let value = value(round, bytes);
                assert_eq!(tree.upsert(&key(7), &value).unwrap(), map.is_empty());
                map.insert(key(7), value);
            }
            let found = tree.get(&key(7)).unwrap();
            assert!(found.as_ref() == map.get(&key(7)), "{old} to {new}");
            tree.check().unwrap();
        }
        // And goes in every size.
        assert!(tree.delete(&key(7)).unwrap());
        assert_eq!(tree.check().unwrap().keys, 0);
        map.clear();
    }
    assert!(tree.insert(&key(7), &value(1, VALUE_BYTES_MAX)).unwrap());
    drop(tree);
    let tree = bed.open(Access::ReadWrite);
    assert_same(&tree, &Map::from([(key(7), value(1, VALUE_BYTES_MAX))]));
    assert_eq!(tree.update_batch(&[(&key(7), &value(2, 600)), (&key(8), b"")]).unwrap(), 1);
    assert_same(&tree, &Map::from([(key(7), value(2, 600))]));
}

#[test]
fn full_heap_leaves_all_values_as_they_were() {
    let bed = Bed::new(1);
    let tree = bed.create(2 << 20);
    let mut map = Map::new();
    let error = (0..).find_map(|i| match tree.insert(&key(i), &value(i, 20_000)) {
        Ok(is_new) => {
            assert!(is_new);
            map.insert(key(i), value(i, 20_000));
            None
        }
        Err(error) => Some(error),
    });
    assert_eq!(error.unwrap().kind(), ErrorKind::HeapFull);
    assert_same(&tree, &map);
    // A larger value, or one from in the leaf, has no room either.
    assert!(tree.insert(&key(1 << 40), b"short").unwrap());
    map.insert(key(1 << 40), b"short".to_vec());
    for (number, bytes) in [(0, 200_000), (1 << 40, 100_000)] {
        let error = tree.update(&key(number), &value(9, bytes)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::HeapFull);
        assert_same(&tree, &map);
    }
    drop(tree);
    let tree = bed.open(Access::ReadWrite);
    assert_same(&tree, &map);
    // A shorter one goes in and makes room.
    for i in 0..8 {
        assert!(tree.update(&key(i), b"short").unwrap());
        map.insert(key(i), b"short".to_vec());
    }
    assert!(tree.insert(&key(1 << 41), &value(1, 20_000)).unwrap());
    map.insert(key(1 << 41), value(1, 20_000));
    assert_same(&tree, &map);
}

#[test]
fn damaged_values_and_references_are_errors_that_name_the_leaf() {
    let bed = Bed::new(1);
    let tree = bed.create(2 << 20);
    for i in 0..20 {
        tree.insert(&key(i), &value(i, 3000)).unwrap();
    }
    let places = tree.with_set(|set| {
        let bytes = set.read(set.data_offset(), set.end_offset() - set.data_offset()).unwrap();
        let find = |part: &[u8]| bytes.windows(part.len()).position(|found| found == part).unwrap();
        // A value, and the reference, which lies before the key.
        let key = [&[8, 0, 0xff, 0xff][..], &[0; 0]].concat();
        let entry = bytes
            .windows(32)
            .position(|found| found[..4] == key[..] && found[24..] == 5_u64.to_be_bytes())
            .unwrap();
        let start = set.data_offset();
        let value = find(&value(5, 3000)) as u64;
        [start + value + 1000, start + entry as u64 + 9, start + entry as u64 + 16]
    });
    for place in places {
        let old = tree.with_set(|set| {
            let old = set.read(place, 1).unwrap()[0];
            set.update(place, &[old ^ 0x40]).unwrap();
            old
        });
        let errors = [
            tree.get(&key(5)).unwrap_err(),
            tree.check().unwrap_err(),
            tree.range((Bound::Unbounded, Bound::Unbounded), |_, _| ControlFlow::Continue(()))
                .unwrap_err(),
        ];
        for error in errors {
            assert_eq!(error.kind(), ErrorKind::Corrupt);
            assert!(error.to_string().contains("leaf at offset"), "{error}");
        }
        assert!(tree.get(&key(6)).unwrap() == Some(value(6, 3000)));
        if place != places[0] {
            // What a damaged reference names is not given back.
            assert_eq!(tree.update(&key(5), b"x").unwrap_err().kind(), ErrorKind::Corrupt);
            assert_eq!(tree.delete(&key(5)).unwrap_err().kind(), ErrorKind::Corrupt);
        }
        tree.with_set(|set| set.update(place, &[old]).unwrap());
        tree.check().unwrap();
    }
    // A damaged value can be replaced.
    tree.with_set(|set| set.update(places[0], b"damaged").unwrap());
    assert!(tree.update(&key(5), &value(50, 3000)).unwrap());
    assert!(tree.get(&key(5)).unwrap() == Some(value(50, 3000)));
    tree.check().unwrap();
}

#[test]
fn readers_see_whole_long_values_while_a_writer_changes_them() {
    let bed = Bed::new(2);
    let tree = bed.create(8 << 20);
    for i in 0..100 {
        tree.insert(&key(i), &[0; 2000]).unwrap();
    }
    let is_over = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(std::sync::atomic::Ordering::SeqCst) {
                let mut count = 0;
                tree.range((Bound::Unbounded, Bound::Unbounded), |_, value| {
                    assert!(value.iter().all(|&byte| byte == value[0]));
                    count += 1;
                    ControlFlow::Continue(())
                })
                .unwrap();
                assert_eq!(count, 100);
                let value = tree.get(&key(50)).unwrap().unwrap();
                assert!(value.iter().all(|&byte| byte == value[0]));
            }
        });
        let _over = Over(&is_over);
        for round in 1..=10 {
            for i in 0..100 {
                let bytes = if (i + round) % 3 == 0 { 40 } else { 2000 + i as usize * 30 };
                tree.update(&key(i), &vec![round as u8; bytes]).unwrap();
            }
        }
    });
    assert_eq!(tree.check().unwrap().keys, 100);
}

/// Fills a tree of three members and cuts the file of the one that serves.
fn cut_bed() -> (Bed, HybridTree, Map) {
    let bed = Bed::new(3);
    let tree = bed.create(4 << 20);
    let mut map = Map::new();
    for i in 0..400 {
        let bytes = if i % 10 == 0 { 5000 } else { 8 };
        tree.insert(&key(i), &value(i, bytes)).unwrap();
        map.insert(key(i), value(i, bytes));
    }
    (bed, tree, map)
}

fn serving(tree: &HybridTree) -> usize {
    tree.with_set(|set| set.member_states().iter().position(|state| state.is_serving).unwrap())
}

#[test]
fn reads_and_changes_go_on_when_members_lose_pages() {
    let (bed, tree, mut map) = cut_bed();
    let first = serving(&tree);
    bed.cut(first, 128 << 10);
    // Point reads fail over in the middle of a read.
    assert_same(&tree, &map);
    assert_ne!(serving(&tree), first);
    // Updates, inserts that split leaves, and deletes: without the second member from half way on.
    let second = serving(&tree);
    for i in 0..800 {
        if i == 300 {
            bed.cut(second, 128 << 10);
        }
        let bytes = if i % 7 == 0 { 6000 } else { 8 };
        assert_eq!(tree.upsert(&key(i), &value(i + 1, bytes)).unwrap(), i >= 400);
        map.insert(key(i), value(i + 1, bytes));
        if i % 11 == 0 {
            assert!(tree.delete(&key(i)).unwrap());
            map.remove(&key(i));
        }
    }
    assert_same(&tree, &map);
    let (third, live) = (serving(&tree), tree.with_set(|set| set.copy_count()));
    assert!(third != first && third != second && live == 1, "{live}");
    drop(tree);
    let tree = bed.open(Access::ReadWrite);
    assert_same(&tree, &map);
}

#[test]
fn tree_whose_only_member_lost_pages_says_so() {
    let bed = Bed::new(1);
    let tree = bed.create(4 << 20);
    for i in 0..400 {
        tree.insert(&key(i), &value(i, if i % 10 == 0 { 5000 } else { 8 })).unwrap();
    }
    bed.cut(0, 128 << 10);
    let (mut good, mut lost) = (0, 0);
    for i in 0..400 {
        match tree.get(&key(i)) {
            Ok(found) => {
                assert!(found == Some(value(i, if i % 10 == 0 { 5000 } else { 8 })));
                good += 1;
            }
            Err(error) => {
                assert!(matches!(error.kind(), ErrorKind::Lost), "{error}");
                lost += 1;
            }
        }
    }
    assert!(lost > 0, "{good}");
    let error = (0..400).find_map(|i| tree.update(&key(i), b"12345678").err());
    let kind = error.unwrap().kind();
    assert!(matches!(kind, ErrorKind::Lost | ErrorKind::NoReplica), "{kind:?}");
}

#[test]
fn tree_opened_for_reading_is_read_and_refuses_changes() {
    let (bed, tree, map) = cut_bed();
    drop(tree);
    let before = std::fs::read(bed.file(0)).unwrap();
    let tree = bed.open(Access::ReadOnly);
    assert_same(&tree, &map);
    let kinds = [
        tree.insert(&key(9999), b"new").unwrap_err().kind(),
        tree.insert(&key(9999), &value(1, 5000)).unwrap_err().kind(),
        tree.update(&key(1), &value(1, 8)).unwrap_err().kind(),
        tree.update(&key(1), b"of another size").unwrap_err().kind(),
        tree.update(&key(10), &value(1, 5000)).unwrap_err().kind(),
        tree.delete(&key(1)).unwrap_err().kind(),
        tree.delete(&key(10)).unwrap_err().kind(),
    ];
    assert_eq!(kinds, [ErrorKind::ReadOnly; 7]);
    assert_same(&tree, &map);
    drop(tree);
    assert!(std::fs::read(bed.file(0)).unwrap() == before);
}
