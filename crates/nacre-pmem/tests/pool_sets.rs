//! What pool sets promise: byte-identical members, recovery, and typed errors for bad files.

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod support;

use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

use nacre_pmem::{
    Access, Domain, DomainKind, ErrorKind, MemberCondition, PoolSet, PoolSetOptions, Settings,
};
use support::{files, shm_directory, variants};
use tempfile::TempDir;

const MIB: u64 = 1 << 20;

/// Directories with one domain each, on tmpfs where there is one.
struct Places {
    directories: Vec<TempDir>,
    domains: Vec<Domain>,
}

impl Places {
    fn new(count: usize) -> Places {
        let directories: Vec<TempDir> = (0..count)
            .map(|_| shm_directory().unwrap_or_else(|| tempfile::tempdir().unwrap()))
            .collect();
        let settings = Settings { kind: Some(DomainKind::Shm), ..Settings::default() };
        let domains = directories
            .iter()
            .enumerate()
            .map(|(i, directory)| {
                Domain::create_with(&format!("d{i}"), directory.path(), &settings).unwrap()
            })
            .collect();
        Places { directories, domains }
    }

    fn path(&self, index: usize) -> PathBuf {
        self.directories[index].path().join(format!("set.{index}"))
    }

    fn create(&self) -> PoolSet {
        PoolSet::create("set", &self.domains, &options()).unwrap()
    }

    fn open(&self) -> PoolSet {
        PoolSet::open("set", &self.domains, Access::ReadWrite).unwrap()
    }

    fn error(&self) -> nacre_pmem::Error {
        PoolSet::open("set", &self.domains, Access::ReadWrite).unwrap_err()
    }
}

fn options() -> PoolSetOptions {
    PoolSetOptions::new(MIB)
}

fn conditions(set: &PoolSet) -> Vec<MemberCondition> {
    set.member_states().iter().map(|state| state.condition).collect()
}

fn rebuild(set: &mut PoolSet) {
    while !set.rebuild_step(100_000).unwrap().is_done {}
}

/// Returns the bytes behind the headers of a member file.
fn body(path: &PathBuf) -> Vec<u8> {
    fs::read(path).unwrap().split_off(64 << 10)
}

use MemberCondition::{Damaged, Good, Missing, Stale};

#[test]
fn updates_reach_every_member_in_every_kind_of_domain() {
    for variant in variants() {
        let domains = vec![variant.domain.clone(); 3];
        let mut set = PoolSet::create("set", &domains, &options()).unwrap();
        let data = set.data_offset();
        set.update(data + 5, b"first").unwrap();
        set.update_batch(&[(data + 70_000, b"second"), (data + 100, b"third")]).unwrap();
        set.publish_u64(data + 4096, 77).unwrap();
        set.write(data + MIB - 4, b"last").unwrap();
        set.drain().unwrap();
        for index in 0..3 {
            let read = |offset, bytes| set.read_member(index, data + offset, bytes).unwrap();
            assert_eq!(read(5, 5), b"first", "{}", variant.label);
            assert_eq!(read(70_000, 6), b"second");
            assert_eq!(read(100, 5), b"third");
            assert_eq!(read(4096, 8), 77u64.to_le_bytes());
            assert_eq!(read(MIB - 4, 4), b"last");
        }
        set.close().unwrap();
        let set = PoolSet::open("set", &domains[..1], Access::ReadOnly).unwrap();
        assert_eq!(set.read(data + 5, 5).unwrap(), b"first");
        assert_eq!(conditions(&set), [Good; 3]);
        assert!(!set.is_unclean());
    }
}

#[test]
fn members_of_mixed_kinds_hold_the_same_bytes() {
    let places = Places::new(1);
    let directory = tempfile::tempdir().unwrap();
    let settings = Settings { kind: Some(DomainKind::File), ..Settings::default() };
    let file = Domain::create_with("file", directory.path(), &settings).unwrap();
    let domains = [places.domains[0].clone(), file, Domain::dram("dram")];
    let mut set = PoolSet::create("set", &domains, &options()).unwrap();
    let data = set.data_offset();
    for number in 0..50u64 {
        set.update(data + number * 7_777, &number.to_le_bytes()).unwrap();
    }
    for index in 0..3 {
        for number in 0..50u64 {
            let found = set.read_member(index, data + number * 7_777, 8).unwrap();
            assert_eq!(found, number.to_le_bytes());
        }
    }
    drop(set);
    PoolSet::open("set", &domains, Access::ReadWrite).unwrap();
}

#[test]
fn torn_members_are_equal_after_a_crash() {
    let places = Places::new(3);
    let mut set = places.create();
    let data = set.data_offset();
    set.update(data, b"acknowledged").unwrap();
    set.abandon();
    // A store that reached only some members.
    let file = File::options().write(true).open(places.path(1)).unwrap();
    file.write_all_at(b"torn", data + 100).unwrap();
    let set = PoolSet::open("set", &places.domains, Access::ReadOnly).unwrap();
    assert!(set.is_unclean());
    drop(set);
    let set = places.open();
    assert_eq!(conditions(&set), [Good; 3]);
    assert_eq!(set.read(data, 12).unwrap(), b"acknowledged");
    drop(set);
    assert_eq!(body(&places.path(0)), body(&places.path(1)));
    assert_eq!(body(&places.path(0)), body(&places.path(2)));
}
