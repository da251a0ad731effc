//! What members may lose while others are made from them, and at a crash.

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod support;

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

use nacre_pmem::{Access, Domain, ErrorKind, MemberCondition, PoolSet, PoolSetOptions, Result};
use support::shm_directory;
use tempfile::TempDir;

const MIB: u64 = 1 << 20;

struct Places {
    directories: Vec<TempDir>,
    domains: Vec<Domain>,
}

impl Places {
    fn new(count: usize) -> Places {
        let directories: Vec<TempDir> = (0..count)
            .map(|_| shm_directory().unwrap_or_else(|| tempfile::tempdir().unwrap()))
            .collect();
        let create = |(i, directory): (usize, &TempDir)| {
            Domain::create(&format!("d{i}"), directory.path()).unwrap()
        };
        let domains = directories.iter().enumerate().map(create).collect();
        Places { directories, domains }
    }

    fn path(&self, index: usize) -> PathBuf {
        self.directories[index].path().join(format!("set.{index}"))
    }

    fn file(&self, index: usize) -> File {
        File::options().read(true).write(true).open(self.path(index)).unwrap()
    }

    fn create(&self, members: usize) -> PoolSet {
        PoolSet::create("set", &self.domains[..members], &PoolSetOptions::new(MIB)).unwrap()
    }

    fn open(&self) -> PoolSet {
        PoolSet::open("set", &self.domains, Access::ReadWrite).unwrap()
    }

    fn flip(&self, index: usize, offset: u64) {
        let file = self.file(index);
        let mut byte = [0];
        file.read_exact_at(&mut byte, offset).unwrap();
        file.write_all_at(&[byte[0] ^ 0x10], offset).unwrap();
    }
}

fn rebuild(set: &mut PoolSet) -> Result<()> {
    while !set.rebuild_step(1 << 16)?.is_done {}
    Ok(())
}

/// Every good member has the value.
fn check_good(set: &PoolSet, offset: u64) {
    for state in set.member_states() {
        if state.condition == MemberCondition::Good {
            assert_eq!(set.read_member(state.index, offset, 8).unwrap(), b"precious");
        }
    }
}

#[test]
fn moving_from_a_cut_member_takes_the_bytes_of_the_one_that_is_moved() {
    for cut in [0, 4096, 300_000, 700_001] {
        let places = Places::new(3);
        let mut set = places.create(2);
        let offset = set.end_offset() - 8;
        set.update(offset, b"precious").unwrap();
        places.file(0).set_len(cut).unwrap();
        set.move_replica(1, &places.domains[2]).unwrap();
        rebuild(&mut set).unwrap();
        check_good(&set, offset);
        assert!(set.copy_count() >= 1);
        set.close().unwrap();
        assert_eq!(places.open().read(offset, 8).unwrap(), b"precious");
    }
}

#[test]
fn nothing_is_rebuilt_from_the_zeros_of_the_last_member() {
    for cut in [0, 4096, 300_000, 700_001] {
        let places = Places::new(2);
        let mut set = places.create(1);
        let offset = set.end_offset() - 8;
        set.update(offset, b"precious").unwrap();
        places.file(0).set_len(cut).unwrap();
        let added = set.add_replica(&places.domains[1]).and_then(|_| rebuild(&mut set));
        let kind = added.unwrap_err().kind();
        assert!(matches!(kind, ErrorKind::NoReplica | ErrorKind::Lost), "{kind:?}");
        assert!(set.member_states().iter().all(|state| state.condition != MemberCondition::Good));
    }
    let places = Places::new(2);
    let mut set = places.create(2);
    let offset = set.end_offset() - 8;
    set.update(offset, b"precious").unwrap();
    set.distrust(1, "a test").unwrap();
    places.file(0).set_len(70_000).unwrap();
    rebuild(&mut set).unwrap_err();
    assert!(set.member_states().iter().all(|state| state.condition != MemberCondition::Good));
    assert_eq!(set.scrub_step(1).unwrap_err().kind(), ErrorKind::NoReplica);
    assert_eq!(set.close().unwrap_err().kind(), ErrorKind::NoReplica);
}

/// A transaction that needs the log.
fn write_twice(set: &mut PoolSet, value: &[u8]) {
    let data = set.data_offset();
    let twice = set.transaction(|tx| {
        tx.write(data, value)?;
        tx.write(data + 4096, value)
    });
    twice.unwrap();
}

#[test]
fn damaged_target_of_a_committed_transaction_is_repaired() {
    for members in [2, 3] {
        for damaged in 0..members {
            let places = Places::new(members);
            let mut set = places.create(members);
            let data = set.data_offset();
            write_twice(&mut set, b"old old ");
            write_twice(&mut set, b"precious");
            set.abandon();
            places.flip(damaged, data + 3);
            let set = places.open();
            assert_eq!(set.copy_count(), members);
            check_good(&set, data);
        }
    }
}

#[test]
fn removed_files_are_noticed() {
    let places = Places::new(2);
    let mut set = places.create(2);
    let data = set.data_offset();
    set.update(data, b"precious").unwrap();
    std::fs::remove_file(places.path(0)).unwrap();
    assert_eq!(set.check().unwrap_err().kind(), ErrorKind::Lost);
    assert_eq!(set.scrub_step(1).unwrap().damaged, [0]);
    std::fs::remove_file(places.path(1)).unwrap();
    assert_eq!(set.close().unwrap_err().kind(), ErrorKind::NoReplica);
}

#[test]
fn majority_of_three_outvotes_a_damaged_member_after_a_crash() {
    let places = Places::new(3);
    let mut set = places.create(3);
    let data = set.data_offset();
    set.update(data, b"precious").unwrap();
    set.abandon();
    places.flip(0, data + 3);
    check_good(&places.open(), data);
}

#[test]
fn last_whole_member_is_not_removed() {
    let places = Places::new(2);
    let mut set = places.create(2);
    let offset = set.end_offset() - 8;
    set.update(offset, b"precious").unwrap();
    places.file(0).set_len(70_000).unwrap();
    assert_eq!(set.remove_replica(1).unwrap_err().kind(), ErrorKind::NoReplica);
    check_good(&set, offset);
}

#[test]
fn size_outlives_damage_of_either_header_slot() {
    for slot in 0..2 {
        let places = Places::new(1);
        let mut set = places.create(1);
        set.grow(2 * MIB).unwrap();
        let offset = set.end_offset() - 8;
        set.update(offset, b"precious").unwrap();
        set.close().unwrap();
        places.flip(0, slot * 4096 + 30);
        let mut set = places.open();
        assert_eq!(set.read(offset, 8).unwrap(), b"precious");
        set.grow(3 * MIB).unwrap();
        check_good(&set, offset);
    }
}
