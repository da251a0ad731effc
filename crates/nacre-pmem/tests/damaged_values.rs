//! The hybrid tree over members in which bits flipped: what one member has whole is found, and what
//! is damaged is never taken for absent.

#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::fs::File;
use std::ops::{Bound, ControlFlow};
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

use nacre_pmem::set::{DATA_OFFSET, DamagedRange};
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

    /// Flips a bit of a byte of a member, behind its mapping.
    fn flip_bit(&self, member: usize, at: u64, bit: u64) {
        let file = File::options().read(true).write(true).open(self.path(member)).unwrap();
        let mut byte = [0];
        file.read_exact_at(&mut byte, at).unwrap();
        file.write_all_at(&[byte[0] ^ 1 << bit], at).unwrap();
    }

    /// Returns where each occurrence of `bytes` begins in a member, behind the header of the set.
    fn find(&self, member: usize, bytes: &[u8]) -> Vec<u64> {
        let all = std::fs::read(self.path(member)).unwrap();
        (DATA_OFFSET as usize..all.len() - bytes.len())
            .filter(|&at| all[at..].starts_with(bytes))
            .map(|at| at as u64)
            .collect()
    }

    /// Returns the offsets behind the header of the set at which members are not equal.
    fn differences(&self) -> Vec<usize> {
        let [a, b] = [0, 1].map(|member| std::fs::read(self.path(member)).unwrap());
        (DATA_OFFSET as usize..a.len()).filter(|&at| a[at] != b[at]).collect()
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

/// A flipped bit of a key made it absent: `update` did nothing, `insert` added a second entry, and
/// rebuilding brought back the first with its old value.
#[test]
fn damaged_key_is_found_in_the_other_member_and_never_taken_for_absent() {
    for bit in 0..64 {
        let (bed, tree) = Bed::new(2);
        let (member, i) = (serving(&tree), bit % KEYS);
        for at in bed.find(member, &key(i)) {
            bed.flip_bit(member, at + bit / 8, bit % 8);
        }
        match bit % 4 {
            0 => assert_eq!(tree.get(&key(i)).unwrap(), Some(value(i))),
            1 => assert!(!tree.insert(&key(i), b"another").unwrap()),
            2 => assert!(tree.update(&key(i), &value(i)).unwrap()),
            _ => assert!(!tree.upsert(&key(i), &value(i)).unwrap()),
        }
        assert_all(&tree);
        tree.with_set(|set| {
            set.distrust(member as u32, "bits flipped").unwrap();
            while !set.rebuild_step(u64::MAX).unwrap().is_done {}
        });
        assert_all(&tree);
        assert_eq!(tree.check().unwrap().keys, KEYS);
    }
}

/// Fingerprints and live bits had no check: a flip made a key absent, or an old value live.
#[test]
fn flipped_bits_of_the_first_line_of_a_leaf_change_no_answer() {
    let (bed, tree) = Bed::new(2);
    for i in 0..KEYS {
        // Leaves old entries behind, which must not come back.
        tree.update(&key(i), b"in between").unwrap();
        tree.update(&key(i), &value(i)).unwrap();
    }
    let leaf = bed.find(0, b"NLEF").into_iter().max().unwrap() - 72;
    for at in leaf..leaf + 64 {
        for bit in [at % 8, (at + 5) % 8] {
            bed.flip_bit(serving(&tree), at, bit);
            for i in 0..KEYS {
                assert_eq!(tree.get(&key(i)).unwrap(), Some(value(i)), "{i}, bit {bit} at {at}");
                assert_eq!(tree.get(&[&key(i)[..], b"x"].concat()).unwrap(), None);
            }
            ranged(&tree);
            // The next writer repairs what was found; a fingerprint of no entry means nothing.
            tree.with_set(|_| ());
            let others = bed.differences();
            if !others.is_empty() {
                assert!(at >= leaf + 8 && others == [at as usize], "bit {bit} of {}", at - leaf);
                bed.flip_bit(serving(&tree), at, bit);
            }
        }
    }
    assert_eq!(tree.check().unwrap().keys, KEYS);
}

/// What was read whole was one entry, but the whole leaf was copied over the other member's, and
/// with it the damage of another entry.
#[test]
fn members_with_damage_in_different_entries_repair_each_other() {
    for by_scrub in [false, true] {
        let (bed, tree) = Bed::new(2);
        for (member, i) in [(0, 30), (1, 31), (0, 32), (1, 33)] {
            for at in bed.find(member, &key(i)) {
                bed.flip_bit(member, at + 7, 6);
            }
        }
        assert!(!bed.differences().is_empty());
        for i in 30..34 {
            assert_eq!(tree.get(&key(i)).unwrap(), Some(value(i)), "{i}");
        }
        match by_scrub {
            false => assert!(tree.update(&key(50), &value(50)).unwrap()),
            true => tree.with_set(|set| while !set.scrub_step(1 << 20).unwrap().is_done {}),
        }
        assert_eq!(bed.differences(), [0; 0]);
        assert_all(&tree);
        assert_eq!(tree.check().unwrap().keys, KEYS);
    }
}

/// A range reads all entries of a leaf, which no single member may have whole.
#[test]
fn ranges_and_splits_take_each_entry_from_where_it_is_whole() {
    for by_split in [false, true] {
        let (bed, tree) = Bed::new(3);
        for i in (0..KEYS).filter(|i| !i.is_multiple_of(20)) {
            let (member, entry) = (i as usize % 3, [&key(i)[..], &value(i)].concat());
            let places = bed.find(member, &entry);
            assert!(!places.is_empty());
            places.into_iter().for_each(|at| bed.flip_bit(member, at + 3, 1));
        }
        if by_split {
            for i in 0..KEYS {
                assert!(tree.insert(&[&key(i)[..], b"more"].concat(), &value(i)).unwrap());
            }
            assert_all(&tree);
        } else {
            ranged(&tree);
        }
        drop(tree.into_set());
        assert_all(&bed.open());
    }
}

/// Headers of heap and tree, and lines of the table, were read from the serving member only; keys
/// were believed unverified, so that a tree was opened without some of them.
#[test]
fn flipped_bits_in_one_member_keep_no_tree_from_opening_whole() {
    let (bed, tree) = Bed::new(2);
    for i in 0..KEYS {
        tree.update(&key(i), &value(i)).unwrap();
    }
    let set = tree.into_set();
    let base = set.data_offset().next_multiple_of(4096);
    set.close().unwrap();
    let files = [0, 1].map(|member| std::fs::read(bed.path(member)).unwrap());
    let header = bed.find(0, b"NACREKV\0").into_iter().max().unwrap();
    let leaves: Vec<u64> = bed.find(0, b"NLEF").into_iter().map(|at| at - 72).collect();
    let mut places: Vec<u64> = (base..base + 80).chain(header..header + 32).collect();
    places.extend(base + 4096..base + 4096 + 128);
    places.extend(leaves.iter().flat_map(|leaf| (0..2048).step_by(5).map(move |at| leaf + at)));
    places.extend(leaves.iter().flat_map(|leaf| leaf + 64..leaf + 80));
    let step = if std::env::var_os("NACRE_TEST_FULL").is_some() { 1 } else { 7 };
    for (number, at) in places.into_iter().enumerate().step_by(step) {
        for (member, bytes) in files.iter().enumerate() {
            std::fs::write(bed.path(member), bytes).unwrap();
        }
        let (member, bit) = (number % 2, number as u64 / 3 % 8);
        bed.flip_bit(member, at, bit);
        let tree = bed.open();
        assert_eq!(tree.len(), KEYS, "bit {bit} at {at} of member {member}");
        for i in (number as u64 % 7..KEYS).step_by(7) {
            assert_eq!(tree.get(&key(i)).unwrap(), Some(value(i)), "{i}, bit {bit} at {at}");
        }
    }
}

#[test]
fn line_of_the_table_that_is_damaged_while_the_tree_is_open_keeps_nobody_from_inserting() {
    let (bed, tree) = Bed::new(2);
    let base = tree.with_set(|set| set.data_offset().next_multiple_of(4096));
    for line in 0..8 {
        bed.flip_bit(serving(&tree), base + 4096 + 64 * line + 9, 3);
    }
    for i in 0..KEYS {
        assert!(tree.insert(&[&key(i)[..], b"more"].concat(), &[1; 300]).unwrap());
    }
    assert_all(&tree);
    tree.into_set().close().unwrap();
    assert_all(&bed.open());
}
