//! The hybrid tree over members in which bits flipped: what one member has whole is found.

#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::fs::File;
use std::ops::{Bound, ControlFlow};
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

use nacre_pmem::set::DamagedRange;
use nacre_pmem::structure::HybridTree;
use nacre_pmem::{Access, Domain, ErrorKind, PoolSet, PoolSetOptions};
use tempfile::TempDir;

const KEYS: u64 = 120;

struct Bed {
    domains: Vec<Domain>,
    directory: TempDir,
}

impl Bed {
    fn new(members: usize) -> (Bed, HybridTree) {
        let directory = tempfile::Builder::new().prefix("nacre-test-").tempdir_in("/dev/shm");
        let directory = directory.or_else(|_| tempfile::tempdir()).unwrap();
        let domain = Domain::create("main", directory.path()).unwrap();
        let bed = Bed { domains: vec![domain; members], directory };
        let set = PoolSet::create("kv", &bed.domains, &PoolSetOptions::new(1 << 20)).unwrap();
        let tree = HybridTree::create(set).unwrap();
        for i in 0..KEYS {
            tree.insert(&key(i), &value(i)).unwrap();
        }
        (bed, tree)
    }

    fn open(&self) -> HybridTree {
        let set = PoolSet::open("kv", &self.domains, Access::ReadWrite).unwrap();
        HybridTree::open(set).unwrap()
    }

    /// Flips a bit of every copy of every value in a member, behind its mapping.
    fn flip(&self, member: usize) {
        let path = self.path(member);
        let bytes = std::fs::read(&path).unwrap();
        let file = File::options().write(true).open(&path).unwrap();
        let starts = (0..bytes.len() - 40).filter(|&at| bytes[at..].starts_with(b"value 0"));
        let mut count = 0;
        // In each value a few bytes behind the first of its texts.
        let is_first = |at: &usize| !bytes[at - 12..].starts_with(b"value 0");
        for at in starts.filter(is_first) {
            file.write_all_at(&[bytes[at + 20] ^ 0x10], at as u64 + 20).unwrap();
            count += 1;
        }
        assert!(count >= KEYS, "{count}");
    }

    fn path(&self, member: usize) -> PathBuf {
        self.directory.path().join(format!("kv.{member}"))
    }
}

fn key(i: u64) -> Vec<u8> {
    i.to_be_bytes().to_vec()
}

/// Values in leaves and in extents, found once in a file.
fn value(i: u64) -> Vec<u8> {
    let bytes = if i.is_multiple_of(20) { 3000 } else { 40 };
    format!("value {i:05}.").bytes().cycle().take(bytes).collect()
}

fn serving(tree: &HybridTree) -> usize {
    tree.with_set(|set| set.member_states().iter().position(|member| member.is_serving).unwrap())
}

fn assert_all(tree: &HybridTree) {
    for i in 0..KEYS {
        assert_eq!(tree.get(&key(i)).unwrap(), Some(value(i)), "{i}");
    }
}

fn ranged(tree: &HybridTree) {
    let mut next = 0;
    tree.range((Bound::Unbounded, Bound::Unbounded), |found_key, found| {
        assert_eq!((found_key, found), (&key(next)[..], &value(next)[..]));
        next += 1;
        ControlFlow::Continue(())
    })
    .unwrap();
    tree.range_descending((Bound::Unbounded, Bound::Unbounded), |found_key, found| {
        next -= 1;
        assert_eq!((found_key, found), (&key(next)[..], &value(next)[..]));
        ControlFlow::Continue(())
    })
    .unwrap();
    assert_eq!(next, 0);
}

#[test]
fn damaged_values_are_read_from_another_member_and_repaired_by_who_comes_next() {
    for by_range in [false, true] {
        let (bed, tree) = Bed::new(2);
        bed.flip(serving(&tree));
        assert_eq!(tree.check().unwrap_err().kind(), ErrorKind::Corrupt);
        for _ in 0..10 {
            if by_range {
                ranged(&tree)
            } else {
                assert_all(&tree)
            }
            // Whoever takes the set for itself repairs what was noted.
            tree.with_set(|set| assert!(set.damaged_ranges().is_empty()));
        }
        assert_eq!(tree.check().unwrap().keys, KEYS);
        assert_all(&tree);
        ranged(&tree);
    }
}

#[test]
fn scrubbing_begins_with_what_readers_noted() {
    let (bed, tree) = Bed::new(2);
    let mut set = tree.into_set();
    let at = set.data_offset() + 4096;
    set.update(at, b"right").unwrap();
    let serving = set.member_states().iter().position(|member| member.is_serving).unwrap();
    let file = File::options().write(true).open(bed.path(serving)).unwrap();
    file.write_all_at(b"wrong", at).unwrap();
    let is_right = |bytes: &[u8]| if bytes == b"right" { Ok(()) } else { Err("wrong") };
    assert_eq!(set.read_verified(at, 5, is_right).unwrap(), Ok(()));
    assert_eq!(set.read_verified(at, 5, |_| Err::<(), _>("no")).unwrap(), Err("no"));
    let (index, whole_index) = (serving as u32, 1 - serving as u32);
    let noted = [DamagedRange { index, whole_index, offset: at, bytes: 5 }];
    assert_eq!(set.damaged_ranges(), noted);
    // Nobody could tell which of two is right otherwise.
    let report = set.scrub_step(u64::MAX).unwrap();
    assert_eq!(report.repaired, [(index, at, 5)]);
    assert_eq!(set.read(at, 5).unwrap(), b"right");
    assert!(set.damaged_ranges().is_empty());
}

#[test]
fn writer_finds_whole_bytes_before_it_changes_or_moves_them() {
    let (bed, tree) = Bed::new(3);
    bed.flip(serving(&tree));
    for i in 0..KEYS {
        match i % 4 {
            0 => assert!(tree.update(&key(i), b"short").unwrap()),
            1 => assert!(tree.delete(&key(i)).unwrap()),
            // Splits and rebuilds leaves.
            2 => assert!(tree.insert(&[&key(i)[..], b"more"].concat(), &value(i)).unwrap()),
            _ => assert!(tree.update(&key(i), &value(i + KEYS)).unwrap()),
        }
    }
    let found = |tree: &HybridTree| {
        for i in 0..KEYS {
            let expected = match i % 4 {
                0 => Some(b"short".to_vec()),
                1 => None,
                2 => Some(value(i)),
                _ => Some(value(i + KEYS)),
            };
            assert_eq!(tree.get(&key(i)).unwrap(), expected, "{i}");
        }
    };
    found(&tree);
    tree.into_set().close().unwrap();
    found(&bed.open());
}

#[test]
fn damage_in_every_member_is_an_error_that_ends() {
    let (bed, tree) = Bed::new(3);
    (0..3).for_each(|member| bed.flip(member));
    for i in 0..KEYS {
        let error = tree.get(&key(i)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Corrupt, "{error}");
    }
    let all = (Bound::Unbounded, Bound::Unbounded);
    let error = tree.range(all, |_, _| ControlFlow::Continue(())).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Corrupt);
    // A replaced entry is not read; one that has to be moved is.
    let mut kinds = Vec::new();
    for i in 0..KEYS {
        let new = [&key(i)[..], b"new"].concat();
        kinds.extend(tree.insert(&new, &[1; 500]).map_err(|error| error.kind()).err());
    }
    assert!(!kinds.is_empty() && kinds.iter().all(|kind| *kind == ErrorKind::Corrupt), "{kinds:?}");
    assert!(tree.with_set(|set| set.damaged_ranges().is_empty()));
}
