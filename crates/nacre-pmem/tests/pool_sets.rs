//! What pool sets promise: byte-identical members, recovery, and typed errors for bad files.

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod support;

use std::fs::{self, File};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use nacre_pmem::replicate::Mechanism;
use nacre_pmem::set::{DATA_OFFSET, spawn_rebuild};
use nacre_pmem::switch::Machine;
use nacre_pmem::{
    Access, Domain, DomainKind, ErrorKind, LargePages, MemberCondition, PoolSet, PoolSetOptions,
    Settings,
};
use support::{Mount, files, shm_directory, variants};
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

/// Changes each slot in the given bytes and gives it the checksum that it needs.
fn change_header(slots: &mut [u8], change: impl Fn(&mut [u8])) {
    for slot in slots.chunks_exact_mut(4096) {
        change(slot);
        let crc = crc32c::crc32c(&slot[..4092]);
        slot[4092..].copy_from_slice(&crc.to_le_bytes());
    }
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

#[test]
fn recovery_may_be_interrupted_and_repeated() {
    let places = Places::new(2);
    let mut set = places.create();
    let data = set.data_offset();
    set.update(data, b"acknowledged").unwrap();
    set.abandon();
    for round in 0..4u64 {
        let file = File::options().write(true).open(places.path(1)).unwrap();
        file.write_all_at(b"torn", data + 4096 * round).unwrap();
        let mut set = places.open();
        assert_eq!(conditions(&set), [Good; 2], "{round}");
        assert_eq!(set.read(data, 12).unwrap(), b"acknowledged");
        set.update(data + 4096 * round, b"fine").unwrap();
        set.update(data, b"acknowledged").unwrap();
        set.abandon();
    }
}

#[test]
fn logs_have_slots_of_whole_lines_and_sets_have_a_name() {
    let places = Places::new(1);
    for (asked, log_bytes) in [(0, 0), (1, 128), (128, 128), (1001, 1024), (1 << 16, 1 << 16)] {
        let name = format!("log{asked}");
        let options = PoolSetOptions { log_bytes: asked, ..options() };
        let mut set = PoolSet::create(&name, &places.domains, &options).unwrap();
        let data = set.data_offset();
        assert_eq!(data, DATA_OFFSET + log_bytes);
        set.publish_u64(data, 7).unwrap();
        set.close().unwrap();
        let set = PoolSet::open(&name, &places.domains, Access::ReadWrite).unwrap();
        assert_eq!(set.load_u64(data).unwrap(), 7);
    }
    let error = PoolSet::create("", &places.domains, &options()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidName);
    assert!(error.to_string().contains("name is empty"), "{error}");
}

#[test]
fn half_raised_epoch_makes_nobody_stale() {
    let places = Places::new(3);
    let mut set = places.create();
    set.update(set.data_offset(), b"first").unwrap();
    set.close().unwrap();
    let old: Vec<Vec<u8>> = (0..3).map(|i| fs::read(places.path(i)).unwrap()).collect();
    let mut set = places.open();
    set.update(set.data_offset(), b"second").unwrap();
    // Closing would raise it once more.
    set.abandon();
    for reached in 1..=2 {
        let half = Places::new(3);
        for (index, bytes) in old.iter().enumerate() {
            let mut bytes = bytes.clone();
            if index < reached {
                // As settled, but for the phase: what the first round of the raise writes.
                let mut raised = fs::read(places.path(index)).unwrap()[..4096].to_vec();
                change_header(&mut raised, |slot| slot[12] = 1);
                bytes[..4096].copy_from_slice(&raised);
            }
            fs::write(half.path(index), bytes).unwrap();
        }
        let mut set = half.open();
        assert_eq!(conditions(&set), [Good; 3], "{reached}");
        set.update(set.data_offset() + 64, b"third").unwrap();
        assert_eq!(set.read(set.data_offset(), 5).unwrap(), b"first");
        set.close().unwrap();
        let _ = half.open();
    }
}

#[test]
fn missing_member_is_rebuilt_while_the_set_is_used() {
    let places = Places::new(3);
    let mut set = places.create();
    let data = set.data_offset();
    set.update(data + 1000, b"before").unwrap();
    set.close().unwrap();
    for lost in 0..3 {
        fs::remove_file(places.path(lost)).unwrap();
        let mut set = places.open();
        let mut expected = [Good; 3];
        expected[lost] = Missing;
        assert_eq!(conditions(&set), expected);
        let mut step = 0u64;
        while !set.rebuild_step(64 << 10).unwrap().is_done {
            set.update(data + step * 4096, &step.to_le_bytes()).unwrap();
            step += 1;
        }
        assert_eq!(conditions(&set), [Good; 3]);
        assert!(step > 10);
        set.close().unwrap();
        assert_eq!(body(&places.path(0)), body(&places.path(1)));
        assert_eq!(body(&places.path(0)), body(&places.path(2)));
    }
}

#[test]
fn clean_use_without_a_member_changes_nothing_until_the_first_store() {
    let places = Places::new(2);
    places.create().close().unwrap();
    for access in [Access::ReadOnly, Access::ReadWrite] {
        let before = fs::read(places.path(0)).unwrap();
        let set = PoolSet::open("set", &places.domains[..1], access).unwrap();
        assert_eq!(conditions(&set), [Good, Missing]);
        drop(set);
        assert_eq!(fs::read(places.path(0)).unwrap(), before);
        assert_eq!(conditions(&places.open()), [Good; 2]);
    }
    let mut set = PoolSet::open("set", &places.domains[..1], Access::ReadWrite).unwrap();
    set.update(set.data_offset(), b"alone").unwrap();
    set.close().unwrap();
    let mut set = places.open();
    assert_eq!(conditions(&set), [Good, Stale]);
    assert_eq!(set.read(set.data_offset(), 5).unwrap(), b"alone");
    rebuild(&mut set);
    assert_eq!(set.read_member(1, set.data_offset(), 5).unwrap(), b"alone");
}

#[test]
fn older_copy_of_a_member_is_stale() {
    let places = Places::new(2);
    places.create().close().unwrap();
    let old = fs::read(places.path(0)).unwrap();
    let mut set = places.open();
    set.update(set.data_offset(), b"newer").unwrap();
    set.close().unwrap();
    fs::write(places.path(0), &old).unwrap();
    let mut set = places.open();
    assert_eq!(conditions(&set), [Stale, Good]);
    assert_eq!(set.read(set.data_offset(), 5).unwrap(), b"newer");
    rebuild(&mut set);
    assert_eq!(conditions(&set), [Good; 2]);
    assert_eq!(set.read_member(0, set.data_offset(), 5).unwrap(), b"newer");
}

#[test]
fn members_that_were_written_separately_are_refused() {
    let places = Places::new(2);
    places.create().close().unwrap();
    for (index, count) in [(0, 3), (1, 1)] {
        let domains = &places.domains[index..=index];
        for _ in 0..count {
            let mut set = PoolSet::open("set", domains, Access::ReadWrite).unwrap();
            set.update(set.data_offset(), &[index as u8; 8]).unwrap();
            set.close().unwrap();
        }
        if index == 0 {
            assert_eq!(conditions(&places.open()), [Good, Stale]);
        }
    }
    let error = places.error();
    assert_eq!(error.kind(), ErrorKind::Corrupt);
    assert!(error.to_string().contains("separately"), "{error}");
}

#[test]
fn truncated_and_scribbled_members_are_damaged_and_rebuilt() {
    let places = Places::new(3);
    let mut set = places.create();
    let data = set.data_offset();
    set.update(data + 500, b"kept").unwrap();
    set.close().unwrap();
    File::options().write(true).open(places.path(0)).unwrap().set_len(data + 100).unwrap();
    let header = File::options().write(true).open(places.path(2)).unwrap();
    header.write_all_at(&[0xFF; 8], 60).unwrap();
    header.write_all_at(&[0xFF; 8], 4096 + 60).unwrap();
    let mut set = places.open();
    assert_eq!(conditions(&set), [Damaged, Good, Damaged]);
    let problems: Vec<String> =
        set.member_states().into_iter().filter_map(|state| state.problem).collect();
    assert!(problems[0].contains("truncated") && problems[1].contains("checksum"), "{problems:?}");
    rebuild(&mut set);
    assert_eq!(conditions(&set), [Good; 3]);
    set.close().unwrap();
    assert_eq!(body(&places.path(0)), body(&places.path(2)));
    assert_eq!(conditions(&places.open()), [Good; 3]);
    for index in 0..3 {
        File::options().write(true).open(places.path(index)).unwrap().set_len(5000).unwrap();
    }
    let error = places.error();
    let text = error.to_string();
    assert!((0..3).all(|i| text.contains(places.path(i).to_str().unwrap())), "{text}");
}

#[test]
fn foreign_newer_mixed_and_copied_files_are_typed_errors() {
    let places = Places::new(2);
    places.create().close().unwrap();
    let good = fs::read(places.path(1)).unwrap();

    fs::write(places.path(1), b"#!/bin/sh\necho not a pool\n").unwrap();
    let error = places.error();
    assert_eq!(error.kind(), ErrorKind::Foreign);
    assert!(error.to_string().contains(places.path(1).to_str().unwrap()), "{error}");

    let mut newer = good.clone();
    change_header(&mut newer[..8192], |slot| slot[8] = 99);
    fs::write(places.path(1), newer).unwrap();
    assert_eq!(places.error().kind(), ErrorKind::TooNew);

    fs::remove_file(places.path(1)).unwrap();
    let other = Places::new(2);
    other.create().close().unwrap();
    fs::copy(other.path(1), places.path(1)).unwrap();
    let error = places.error();
    assert_eq!(error.kind(), ErrorKind::Foreign);
    assert!(error.to_string().contains("two sets have the name set"), "{error}");

    fs::write(places.path(1), &good).unwrap();
    let copy = places.directories[0].path().join("set.1");
    fs::write(&copy, &good).unwrap();
    let error = places.error();
    assert_eq!(error.kind(), ErrorKind::Foreign);
    assert!(error.to_string().contains("the same member"), "{error}");
    fs::remove_file(copy).unwrap();

    let wrong = places.directories[1].path().join("set.2");
    fs::rename(places.path(1), &wrong).unwrap();
    assert_eq!(places.error().kind(), ErrorKind::Foreign);
    fs::rename(&wrong, places.path(1)).unwrap();
    assert_eq!(conditions(&places.open()), [Good; 2]);
    let error = PoolSet::open("absent", &places.domains, Access::ReadOnly).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound);
}

#[test]
fn set_has_one_writer_or_many_readers() {
    let dram = vec![Domain::dram("dram"); 2];
    let places = Places::new(2);
    for domains in [dram, places.domains.clone()] {
        let open = |access| PoolSet::open("set", &domains, access);
        let set = PoolSet::create("set", &domains, &options()).unwrap();
        for access in [Access::ReadOnly, Access::ReadWrite] {
            let error = open(access).unwrap_err();
            assert!(matches!(error.kind(), ErrorKind::Locked { .. }), "{error}");
        }
        set.close().unwrap();
        let readers = (open(Access::ReadOnly).unwrap(), open(Access::ReadOnly).unwrap());
        let error = open(Access::ReadWrite).unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::Locked { .. }), "{error}");
        drop(readers);
        open(Access::ReadWrite).unwrap();
    }
}

#[test]
fn reader_changes_nothing_and_refuses_every_change() {
    let places = Places::new(2);
    let mut set = places.create();
    let data = set.data_offset();
    set.update(data, b"left").unwrap();
    set.abandon();
    let before: Vec<Vec<u8>> = (0..2).map(|i| fs::read(places.path(i)).unwrap()).collect();
    let mut set = PoolSet::open("set", &places.domains, Access::ReadOnly).unwrap();
    assert!(set.is_unclean());
    let errors = [
        set.update(data, b"x").unwrap_err(),
        set.publish_u64(data, 1).unwrap_err(),
        set.grow(8 * MIB).unwrap_err(),
        set.rebuild_step(1).unwrap_err(),
        set.scrub_step(1).unwrap_err(),
        set.add_replica(&places.domains[0]).unwrap_err(),
        set.remove_replica(0).unwrap_err(),
    ];
    for error in errors {
        assert_eq!(error.kind(), ErrorKind::ReadOnly, "{error}");
    }
    set.distrust(0, "bad checksum").unwrap();
    assert_eq!(set.read(data, 4).unwrap(), b"left");
    drop(set);
    let after: Vec<Vec<u8>> = (0..2).map(|i| fs::read(places.path(i)).unwrap()).collect();
    assert!(before == after);
    let read_only = Domain::open("ro", places.directories[0].path(), Access::ReadOnly).unwrap();
    let error =
        PoolSet::open("set", std::slice::from_ref(&read_only), Access::ReadWrite).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ReadOnly);
    let error = PoolSet::create("new", &[read_only], &options()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ReadOnly);
}

#[test]
fn distrusted_member_leaves_durably_and_comes_back() {
    let places = Places::new(2);
    let mut set = places.create();
    let data = set.data_offset();
    set.update(data, b"right").unwrap();
    set.distrust(0, "its user found a wrong checksum").unwrap();
    assert_eq!(conditions(&set), [Damaged, Good]);
    assert_eq!(set.distrust(1, "too").unwrap_err().kind(), ErrorKind::NoReplica);
    set.update(data, b"newer").unwrap();
    set.abandon();
    let mut set = places.open();
    assert_eq!(conditions(&set), [Stale, Good]);
    assert_eq!(set.read(data, 5).unwrap(), b"newer");
    rebuild(&mut set);
    assert_eq!(set.read_member(0, data, 5).unwrap(), b"newer");
}

#[test]
fn ranges_outside_store_nothing() {
    let places = Places::new(2);
    let mut set = places.create();
    let end = set.end_offset();
    for (offset, bytes) in [(0, 8), (8192, 8), (end - 7, 8), (end, 1), (u64::MAX, 1)] {
        let source = vec![1; bytes];
        let data = set.data_offset();
        let batch = [(data, &[9u8; 4][..]), (offset, &source[..])];
        let errors = [
            set.update(offset, &source).unwrap_err(),
            set.update_batch(&batch).unwrap_err(),
            set.read(offset, bytes as u64).unwrap_err(),
        ];
        assert!(errors.iter().all(|error| error.kind() == ErrorKind::OutOfRange), "{errors:?}");
        assert_eq!(set.read(data, 4).unwrap(), [0; 4]);
    }
    set.update(end, &[]).unwrap();
    let error = set.publish_u64(end - 12, 1).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotAligned);
}

#[test]
fn transaction_log_is_closed_to_stores() {
    let places = Places::new(2);
    let mut set = places.create();
    let data = set.data_offset();
    set.transaction(|tx| tx.write(data, b"kept")).unwrap();
    for offset in [DATA_OFFSET, DATA_OFFSET + 64, data - 8] {
        let log = set.read(DATA_OFFSET, data - DATA_OFFSET).unwrap().to_vec();
        let errors = [
            set.write(offset, &[1; 4]).unwrap_err(),
            set.update(offset, &[1; 16]).unwrap_err(),
            set.update_batch(&[(data, &[1; 4]), (offset, &[1; 4])]).unwrap_err(),
            set.publish_u64(offset, 1).unwrap_err(),
            set.transaction(|tx| tx.write(offset, &[1; 4])).unwrap_err(),
            set.transaction(|tx| tx.write_new(offset, &[1; 4])).unwrap_err(),
        ];
        assert!(errors.iter().all(|error| error.kind() == ErrorKind::OutOfRange), "{errors:?}");
        assert_eq!(set.read(data, 4).unwrap(), b"kept");
        let same = set.read(DATA_OFFSET, data - DATA_OFFSET).unwrap() == log;
        // The batch settles what the transaction left before it finds the wrong offset.
        assert!(same || offset == DATA_OFFSET);
    }
}

#[test]
fn members_come_go_and_move_while_the_set_is_used() {
    let places = Places::new(4);
    let mut set = PoolSet::create("set", &places.domains[..1], &options()).unwrap();
    let data = set.data_offset();
    set.update(data + 9, b"first").unwrap();
    assert_eq!(set.remove_replica(0).unwrap_err().kind(), ErrorKind::NoReplica);
    assert_eq!(set.add_replica(&places.domains[1]).unwrap(), 1);
    set.update(data + 900_000, b"second").unwrap();
    rebuild(&mut set);
    assert_eq!(set.add_replica(&places.domains[2]).unwrap(), 2);
    rebuild(&mut set);
    assert_eq!(conditions(&set), [Good; 3]);
    // The master moves, then is removed.
    let moved = set.move_replica(0, &places.domains[3]).unwrap();
    assert_eq!(
        set.move_replica(0, &places.domains[3]).unwrap_err().kind(),
        ErrorKind::AlreadyExists
    );
    rebuild(&mut set);
    assert!(!places.path(0).exists() && places.directories[3].path().join("set.3").exists());
    assert_eq!(moved, 3);
    set.remove_replica(1).unwrap();
    set.update(data + 100, b"third").unwrap();
    set.close().unwrap();
    let set = places.open();
    assert_eq!(conditions(&set), [Good; 2]);
    for index in [2, 3] {
        assert_eq!(set.read_member(index, data + 9, 5).unwrap(), b"first");
        assert_eq!(set.read_member(index, data + 900_000, 6).unwrap(), b"second");
        assert_eq!(set.read_member(index, data + 100, 5).unwrap(), b"third");
    }
}

#[test]
fn crash_while_a_member_is_added_or_moved_leaves_an_openable_set() {
    let places = Places::new(3);
    let mut set = PoolSet::create("set", &places.domains[..2], &options()).unwrap();
    let data = set.data_offset();
    set.update(data, b"kept").unwrap();
    set.move_replica(0, &places.domains[2]).unwrap();
    set.rebuild_step(1000).unwrap();
    set.abandon();
    let mut set = places.open();
    assert_eq!(conditions(&set), [Good, Good, Stale]);
    set.rebuild_step(1000).unwrap();
    set.abandon();
    let mut set = places.open();
    rebuild(&mut set);
    assert_eq!(conditions(&set), [Good; 2]);
    assert!(!places.path(0).exists());
    set.close().unwrap();
    // A file that no table names yet is removed, and its number is free again.
    fs::write(places.path(0), vec![0; 100]).unwrap();
    let mut set = places.open();
    assert_eq!(conditions(&set), [Good; 2]);
    assert_eq!(set.add_replica(&places.domains[0]).unwrap(), 0);
    rebuild(&mut set);
    assert_eq!(set.read_member(0, data, 4).unwrap(), b"kept");
}

/// What was lost: a set could not be opened after a crash in `add_replica` that had torn the first
/// header of the new member: a file without magic was taken for a foreign one.
#[test]
fn torn_first_header_of_a_new_member_stops_nothing() {
    let places = Places::new(3);
    let mut set = PoolSet::create("set", &places.domains[..2], &options()).unwrap();
    let data = set.data_offset();
    set.update(data, b"kept").unwrap();
    set.add_replica(&places.domains[2]).unwrap();
    set.abandon();
    let file = File::options().write(true).open(places.path(2)).unwrap();
    for slot in [0, 4096] {
        file.write_all_at(&[0; 64], slot).unwrap();
    }
    // Not in any table: left by a crash before the others knew of it.
    let unknown = places.directories[2].path().join("set.5");
    fs::copy(places.path(2), &unknown).unwrap();
    let mut set = places.open();
    assert_eq!(conditions(&set), [Good, Good, Damaged]);
    rebuild(&mut set);
    assert_eq!(conditions(&set), [Good; 3]);
    assert_eq!(set.read_member(2, data, 4).unwrap(), b"kept");
    set.close().unwrap();
    assert!(!unknown.exists());
    // Once it is good, a foreign file in its place is not ours to replace.
    fs::write(places.path(2), b"#!/bin/sh\necho not a pool\n").unwrap();
    assert_eq!(places.error().kind(), ErrorKind::Foreign);
}

/// What was lost: a good member in one directory, because a file without a header in another one
/// had its number and was looked at first.
#[test]
fn file_without_a_header_does_not_hide_the_member_of_its_number() {
    let places = Places::new(2);
    let mut set = places.create();
    set.update(set.data_offset(), b"kept").unwrap();
    set.close().unwrap();
    let left = places.directories[0].path().join("set.1");
    for content in [vec![0; 100_000], vec![9; 100_000]] {
        fs::write(&left, content).unwrap();
        let set = places.open();
        assert_eq!(conditions(&set), [Good; 2]);
        assert_eq!(set.read_member(1, set.data_offset(), 4).unwrap(), b"kept");
    }
}

#[test]
fn set_grows_in_all_members_and_survives_a_crash_between() {
    let places = Places::new(2);
    let mut set = places.create();
    let data = set.data_offset();
    set.update(data + MIB - 4, b"last").unwrap();
    set.grow(2 * MIB).unwrap();
    assert_eq!(set.end_offset(), data + 2 * MIB);
    assert!(set.read(data + MIB, MIB).unwrap().iter().all(|&byte| byte == 0));
    set.update(data + 2 * MIB - 4, b"next").unwrap();
    set.close().unwrap();
    // Only one file had grown; what it holds there means nothing.
    let file = File::options().write(true).open(places.path(1)).unwrap();
    file.write_all_at(&[7; 100_000], data + 2 * MIB).unwrap();
    let mut set = places.open();
    assert_eq!(set.end_offset(), data + 2 * MIB);
    set.grow(3 * MIB).unwrap();
    for index in 0..2 {
        let grown = set.read_member(index, data + 2 * MIB, MIB).unwrap();
        assert!(grown.iter().all(|&byte| byte == 0));
        assert_eq!(set.read_member(index, data + 2 * MIB - 4, 4).unwrap(), b"next");
    }
    set.update(data + 3 * MIB - 4, b"more").unwrap();
    set.grow(MIB).unwrap();
    set.close().unwrap();
    assert_eq!(body(&places.path(0)), body(&places.path(1)));
}

#[test]
fn full_device_is_an_error_and_leaves_the_set_as_it_was() {
    let Some(mount) = Mount::tmpfs("size=2m") else {
        return;
    };
    let places = Places::new(1);
    let small = Domain::create("small", mount.path()).unwrap();
    let domains = [places.domains[0].clone(), small.clone()];
    let error = PoolSet::create("large", &domains, &PoolSetOptions::new(8 * MIB)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NoSpace);
    assert!(files(mount.path()).is_empty() && files(places.directories[0].path()).is_empty());
    let mut set = PoolSet::create("set", &domains, &options()).unwrap();
    let data = set.data_offset();
    let bytes = || fs::metadata(places.path(0)).unwrap().len();
    let before = bytes();
    assert_eq!(set.grow(8 * MIB).unwrap_err().kind(), ErrorKind::NoSpace);
    // The member that had room gives it back.
    assert_eq!(bytes(), before);
    assert_eq!(set.add_replica(&small).unwrap_err().kind(), ErrorKind::NoSpace);
    assert_eq!(set.end_offset(), data + MIB);
    set.update(data, b"works").unwrap();
    set.close().unwrap();
    let set = PoolSet::open("set", &domains, Access::ReadWrite).unwrap();
    assert_eq!(conditions(&set), [Good; 2]);
    assert_eq!(set.read(data, 5).unwrap(), b"works");
}

#[test]
fn truncated_members_leave_a_running_set_without_a_lost_byte() {
    let places = Places::new(3);
    let mut set = places.create();
    let data = set.data_offset();
    set.update(data + 500_000, b"early").unwrap();
    for lost in [0, 1] {
        File::options().write(true).open(places.path(lost)).unwrap().set_len(0).unwrap();
        set.update(data + 500_000, b"later").unwrap();
        assert_eq!(set.read(data + 500_000, 5).unwrap(), b"later");
        assert_eq!(set.check().unwrap_err().kind(), ErrorKind::Lost);
        let found = set.read_with(data + 500_000, 5, <[u8]>::to_vec).unwrap();
        assert_eq!(found, b"later");
    }
    assert_eq!(conditions(&set), [Damaged, Damaged, Good]);
    rebuild(&mut set);
    assert_eq!(conditions(&set), [Good; 3]);
    set.check().unwrap();
    // A reader alone finds another member.
    File::options().write(true).open(places.path(2)).unwrap().set_len(0).unwrap();
    let found = set.read_with(data + 500_000, 5, <[u8]>::to_vec).unwrap();
    assert_eq!(found, b"later");
    File::options().write(true).open(places.path(0)).unwrap().set_len(0).unwrap();
    File::options().write(true).open(places.path(1)).unwrap().set_len(0).unwrap();
    let error = set.update(data + 500_000, b"never").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NoReplica);
    let again = set.update(data + 500_000, b"never").unwrap_err();
    assert_eq!(again.kind(), ErrorKind::NoReplica);
}

#[test]
fn scrubber_repairs_minorities_and_holes_and_asks_when_it_cannot_know() {
    let places = Places::new(3);
    let mut set = places.create();
    let data = set.data_offset();
    set.update(data, &[1; 100_000]).unwrap();
    let file = |i| File::options().write(true).open(places.path(i)).unwrap();
    file(1).write_all_at(b"rot", data + 50_000).unwrap();
    let report = scrub(&mut set);
    assert_eq!(report.len(), 1);
    assert_eq!(set.read_member(1, data + 50_000, 3).unwrap(), [1; 3]);
    set.remove_replica(2).unwrap();
    let flags = rustix::fs::FallocateFlags::PUNCH_HOLE | rustix::fs::FallocateFlags::KEEP_SIZE;
    let hole = (data + 20_000) & !4095;
    rustix::fs::fallocate(file(0), flags, hole, 4096).unwrap();
    assert_eq!(scrub(&mut set), [(0, hole, 4096)]);
    assert_eq!(set.read_member(0, hole, 4096).unwrap(), [1; 4096]);
    file(0).write_all_at(b"rot", data + 70_000).unwrap();
    let error = set.scrub_step(u64::MAX).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Corrupt);
    let text = error.to_string();
    assert!((0..2).all(|i| text.contains(places.path(i).to_str().unwrap())), "{text}");
    assert_eq!(set.read_member(0, data + 70_000, 3).unwrap(), b"rot");
    set.distrust(0, "rot").unwrap();
    rebuild(&mut set);
    assert!(scrub(&mut set).is_empty());
    file(1).write_all_at(&[0; 8192], 0).unwrap();
    assert_eq!(set.scrub_step(1).unwrap().damaged, [1]);
}

fn scrub(set: &mut PoolSet) -> Vec<(u32, u64, u64)> {
    let mut repaired = Vec::new();
    loop {
        let report = set.scrub_step(100_000).unwrap();
        repaired.extend(report.repaired);
        if report.is_done {
            return repaired;
        }
    }
}

/// Frees a range of a file, which reads as zeros then.
fn punch(path: &Path, offset: u64, bytes: u64) {
    let file = File::options().write(true).open(path).unwrap();
    let flags = rustix::fs::FallocateFlags::PUNCH_HOLE | rustix::fs::FallocateFlags::KEEP_SIZE;
    rustix::fs::fallocate(file, flags, offset, bytes).unwrap();
}

#[test]
fn hole_in_a_member_is_filled_from_another_when_the_set_is_opened() {
    let directories = || [tempfile::tempdir().ok(), shm_directory()].into_iter().flatten();
    for (one, other) in directories().zip(directories()) {
        let domains = [&one, &other].map(|place| Domain::create("d", place.path()).unwrap());
        let mut set = PoolSet::create("set", &domains, &options()).unwrap();
        let data = set.data_offset();
        set.update(data, &[5; 100_000]).unwrap();
        set.close().unwrap();
        let hole = (data + 20_000) & !4095;
        // The last page was written, and all behind it never was.
        let last = (data + 100_000) & !4095;
        punch(&one.path().join("set.0"), hole, 8192);
        punch(&other.path().join("set.1"), hole + 16_384, 8192);
        punch(&one.path().join("set.0"), last, 4096);
        let set = PoolSet::open("set", &domains, Access::ReadWrite).unwrap();
        for index in 0..2 {
            assert_eq!(set.read_member(index, hole, 8192).unwrap(), [5; 8192]);
            assert_eq!(set.read_member(index, hole + 16_384, 8192).unwrap(), [5; 8192]);
            let bytes = data + 100_000 - last;
            assert_eq!(set.read_member(index, last, bytes).unwrap(), vec![5; bytes as usize]);
        }
    }
}

/// Writes a file anew with an extent for each of its pages, as far as the file system can.
fn fragment(path: &Path) {
    let bytes = fs::read(path).unwrap();
    let scattered = path.with_extension("scattered");
    let file = File::create(&scattered).unwrap();
    let flags = rustix::fs::FallocateFlags::empty();
    rustix::fs::fallocate(&file, flags, 0, 2 * bytes.len() as u64 + 8192).unwrap();
    for page in 1..=bytes.len() as u64 / 4096 {
        let flags = rustix::fs::FallocateFlags::COLLAPSE_RANGE;
        match rustix::fs::fallocate(&file, flags, page * 4096, 4096) {
            Err(rustix::io::Errno::OPNOTSUPP) => break,
            done => done.unwrap(),
        }
    }
    file.set_len(bytes.len() as u64).unwrap();
    file.write_all_at(&bytes, 0).unwrap();
    file.sync_all().unwrap();
    fs::rename(scattered, path).unwrap();
}

/// ext4 counts the blocks of a file's extent tree as blocks of the file, so a missing page does not
/// show in their number: zeros were served where the other member had data.
#[test]
fn missing_page_of_a_file_of_many_extents_is_taken_from_the_other_member() {
    let directories = || [tempfile::tempdir().ok(), shm_directory()].into_iter().flatten();
    for (one, other) in directories().zip(directories()) {
        let domains = [&one, &other].map(|place| Domain::create("d", place.path()).unwrap());
        let mut set = PoolSet::create("set", &domains, &PoolSetOptions::new(2 * MIB)).unwrap();
        let data = set.data_offset();
        set.update(data, &vec![7; 2 * MIB as usize]).unwrap();
        set.close().unwrap();
        let path = one.path().join("set.0");
        fragment(&path);
        let hole = (data + MIB) & !4095;
        punch(&path, hole, 4096);
        let metadata = fs::metadata(&path).unwrap();
        println!("{} blocks of {} bytes", metadata.blocks(), metadata.len());
        let reader = PoolSet::open("set", &domains, Access::ReadOnly).unwrap();
        assert_eq!(reader.read(hole, 4096).unwrap(), [7; 4096], "the whole member serves");
        drop(reader);
        let set = PoolSet::open("set", &domains, Access::ReadWrite).unwrap();
        for index in 0..2 {
            assert_eq!(set.read_member(index, hole, 4096).unwrap(), [7; 4096]);
        }
        drop(set);
        assert_eq!(fs::read(&path).unwrap()[hole as usize..][..4096], [7; 4096]);
    }
}

#[test]
fn every_mechanism_reaches_every_member() {
    let places = Places::new(3);
    let mut set = places.create();
    let data = set.data_offset();
    for (number, mechanism) in Mechanism::ALL.into_iter().enumerate() {
        if !mechanism.is_available() {
            continue;
        }
        set.set_mechanism(Some(mechanism)).unwrap();
        for bytes in [4, 64, 300, 5000] {
            let source = vec![number as u8 + 1; bytes];
            set.update(data + 64, &source).unwrap();
            let states = set.member_states();
            assert!(states.iter().all(|state| state.condition == Good));
            for index in 0..3 {
                let found = set.read_member(index, data + 64, bytes as u64).unwrap();
                assert_eq!(found, source, "{mechanism}");
            }
        }
        assert_eq!(set.mechanism_in_use(false, false, 4), Some(mechanism));
    }
    set.set_mechanism(None).unwrap();
    let in_use = |bytes| set.mechanism_in_use(false, false, bytes).unwrap();
    assert!(in_use(1 << 20).name().starts_with("MOVNT"));
    assert!(set.switch_report().reason.as_ref().unwrap().contains("no profile"));
}

#[test]
fn mechanisms_come_from_the_profile_of_the_domain() {
    let places = Places::new(2);
    let set = places.create();
    let Machine { cpu, flush } = &set.switch_report().machine;
    let head = format!("nacre-profile 1\ncpu {cpu}\nflush {flush}\n");
    let rows = "shm uniform plain 1 4 PMDK 1\nshm uniform transaction 1 4 SF 1\n\
        shm sequential plain 1 4 POST 1\n";
    set.close().unwrap();
    let path = places.directories[0].path().join("profile");
    fs::write(&path, head + rows).unwrap();
    let profile: &'static Path = Box::leak(path.clone().into_boxed_path());
    let kind = Some(DomainKind::Shm);
    let settings = Settings { kind, profile: Some(profile), ..Settings::default() };
    let directory = |index: usize| places.directories[index].path();
    let domains: Vec<_> =
        (0..2).map(|i| Domain::create_with("d", directory(i), &settings).unwrap()).collect();
    let mut set = PoolSet::open("set", &domains, Access::ReadWrite).unwrap();
    let in_use = |set: &PoolSet, is_sequential, is_transactional| {
        set.mechanism_in_use(is_sequential, is_transactional, 4).unwrap().name()
    };
    assert_eq!(set.switch_report().reason, None);
    assert_eq!(
        [in_use(&set, false, false), in_use(&set, true, false), in_use(&set, false, true)],
        ["PMDK", "POST", "SF"]
    );
    let data = set.data_offset();
    for step in 0..8 {
        set.update(data + 4 * step, &[7; 4]).unwrap();
    }
    set.close().unwrap();
    assert_eq!(body(&places.path(0)), body(&places.path(1)));
    fs::write(&path, "nonsense").unwrap();
    let set = PoolSet::open("set", &domains, Access::ReadWrite).unwrap();
    assert!(set.switch_report().reason.as_ref().unwrap().contains("line 1"));
    assert_eq!(set.read(data, 32).unwrap(), [7; 32]);
}

#[test]
fn rebuild_runs_beside_updates_on_a_thread() {
    let places = Places::new(2);
    places.create().close().unwrap();
    fs::remove_file(places.path(1)).unwrap();
    let set = Arc::new(Mutex::new(places.open()));
    let worker = spawn_rebuild(Arc::clone(&set), 32 << 10).unwrap();
    let data = set.lock().unwrap().data_offset();
    for number in 0..1000u64 {
        let offset = data + number * 997 % (MIB - 8);
        set.lock().unwrap().update(offset, &number.to_le_bytes()).unwrap();
    }
    worker.join().unwrap().unwrap();
    assert_eq!(conditions(&set.lock().unwrap()), [Good; 2]);
    drop(set);
    assert_eq!(body(&places.path(0)), body(&places.path(1)));
}

#[test]
fn members_are_placed_and_mapped_as_asked_for() {
    let Some(directory) = shm_directory() else {
        return;
    };
    for (large_pages, page_bytes) in [(LargePages::Auto, 2 << 20), (LargePages::Off, 4096)] {
        let settings = Settings { large_pages: Some(large_pages), ..Settings::default() };
        let domain = Domain::create_with("shm", directory.path(), &settings).unwrap();
        let mut options = PoolSetOptions::new(8 * MIB);
        options.numa_nodes = vec![None, domain.numa_node()];
        let domains = [domain.clone(), domain.clone()];
        let name = format!("pages-{large_pages}");
        let mut set = PoolSet::create(&name, &domains, &options).unwrap();
        set.update(set.data_offset(), b"touched").unwrap();
        let states = set.member_states();
        assert_eq!(states[0].placement.wanted, None);
        assert_eq!(states[1].placement.wanted, domain.numa_node());
        if large_pages == LargePages::Off || has_large_pages() {
            assert!(states.iter().all(|state| state.page_bytes == page_bytes), "{states:?}");
        }
        let advises = domain.advice().iter().any(|advice| advice.contains("4 KiB"));
        assert!(advises || large_pages == LargePages::Auto);
        set.close().unwrap();
        let set = PoolSet::open(&name, &domains, Access::ReadWrite).unwrap();
        assert_eq!(set.member_states()[1].placement.wanted, domain.numa_node());
        options.numa_nodes = vec![Some(900)];
        let error = PoolSet::create("far", &domains, &options).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unsupported);
        assert!(files(directory.path()).iter().all(|name| !name.starts_with("far")));
    }
}

/// Whether the kernel makes large pages of shared memory when it is asked to.
fn has_large_pages() -> bool {
    let pool = Domain::dram("probe").create_pool("probe", 8 * MIB).unwrap();
    if pool.large_page_bytes() > 0 {
        return true;
    }
    println!("skipped: this kernel makes no large pages now");
    false
}
