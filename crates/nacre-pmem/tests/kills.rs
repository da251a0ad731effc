//! Writers of a pool set that are killed: what they were promised is there, and nothing in part.

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod support;

use std::path::Path;
use std::time::Duration;

use nacre_pmem::{Access, Domain, MemberCondition, PoolSet, PoolSetOptions};
use support::{child_directory, shm_directory, spawn_child, wait_until_ready};

const ROUNDS: u64 = 10;
const DATA_BYTES: u64 = 256 << 10;
/// Places that a transaction writes besides the first word.
const PLACES: u64 = 5;
/// Where the bytes of a plain update are.
const PLAIN: u64 = 100_000;
const PLAIN_BYTES: usize = 700;

fn domain(directory: &Path) -> Domain {
    Domain::create("d", directory).unwrap()
}

fn open(directory: &Path) -> PoolSet {
    let domain = domain(directory);
    PoolSet::open("set", &[domain.clone(), domain.clone(), domain], Access::ReadWrite).unwrap()
}

/// Makes change `number`: a transaction that writes it to some places, then a plain update.
fn change(set: &mut PoolSet, number: u64) {
    let data = set.data_offset();
    set.transaction(|tx| {
        tx.write(data, &number.to_le_bytes())?;
        (1..=PLACES).try_for_each(|place| {
            let offset = data + place * 10_000 + number % 64 * 8;
            tx.write(offset, &number.to_le_bytes())
        })
    })
    .unwrap();
    set.update(data + PLAIN, &[number as u8; PLAIN_BYTES]).unwrap();
}

/// Checks that the set is as after `acknowledged` changes, or in the one after.
fn check(set: &PoolSet, acknowledged: u64) {
    let data = set.data_offset();
    let newest = set.load_u64(data).unwrap();
    assert!((acknowledged..=acknowledged + 1).contains(&newest), "{newest} after {acknowledged}");
    for number in newest.saturating_sub(63)..=newest {
        for place in 1..=PLACES {
            let found = set.load_u64(data + place * 10_000 + number % 64 * 8).unwrap();
            assert_eq!(found, number, "place {place} after {newest} changes");
        }
    }
    let plain = set.read(data + PLAIN, PLAIN_BYTES as u64).unwrap();
    let allowed = [acknowledged as u8, newest as u8];
    assert!(plain.iter().all(|byte| allowed.contains(byte)), "{allowed:?}: {plain:?}");
    let bytes = set.end_offset() - data;
    for index in 0..3 {
        assert_eq!(set.member_states()[index].condition, MemberCondition::Good);
        let found = set.read_member(index as u32, data, bytes).unwrap();
        assert!(found == set.read(data, bytes).unwrap(), "member {index} differs");
    }
}

#[test]
fn killed_writer_loses_nothing_that_it_was_promised() {
    let directories = [(Some(tempfile::tempdir().unwrap()), 10), (shm_directory(), 1)];
    for (directory, factor) in directories {
        let Some(directory) = directory else { continue };
        let path = directory.path();
        let domain = domain(path);
        let domains = [domain.clone(), domain.clone(), domain.clone()];
        let options = PoolSetOptions::new(DATA_BYTES);
        PoolSet::create("set", &domains, &options).unwrap().close().unwrap();
        // Outlives the child, as memory that files are mapped from does.
        domain.create_pool("acknowledged", 4096).unwrap();
        let mut total = 0;
        for round in 1..=ROUNDS {
            let mut child = spawn_child("child_that_changes_the_set", path);
            wait_until_ready(&mut child);
            // Drawn once by dice; disks are slower.
            std::thread::sleep(Duration::from_micros(round * 7919 % 9973 * factor));
            child.kill().unwrap();
            child.wait().unwrap();
            let pool = domain.open_pool("acknowledged", Access::ReadOnly).unwrap();
            let acknowledged = pool.load_u64(0).unwrap();
            assert!(acknowledged >= total);
            total = acknowledged;
            // A reader finds all that was promised and repairs nothing.
            let set = PoolSet::open("set", &domains, Access::ReadOnly).unwrap();
            assert!(set.load_u64(set.data_offset()).unwrap() >= total);
            drop(set);
            check(&open(path), total);
        }
        println!("{total} changes before {ROUNDS} kills");
        assert!(total > 0);
    }
}

#[test]
fn child_that_changes_the_set() {
    let Some(directory) = child_directory() else {
        return;
    };
    let mut set = open(&directory);
    let mut pool = domain(&directory).open_pool("acknowledged", Access::ReadWrite).unwrap();
    // A crash may have left one that was not acknowledged.
    let first = set.load_u64(set.data_offset()).unwrap().max(1);
    for number in first.. {
        change(&mut set, number);
        pool.publish_u64(0, number).unwrap();
        if number == first {
            // However slow the machine is, each child acknowledges one.
            println!("ready");
        }
    }
}

/// A page that is no longer mapped is what the kernel refuses to write back.
#[test]
fn member_whose_write_back_fails_leaves_the_set() {
    let directory = tempfile::tempdir().unwrap();
    let mut child = spawn_child("child_that_unmaps_a_page", directory.path());
    assert!(child.wait().unwrap().success());
}

/// Alone in its process, so that nobody maps anything where the page was.
#[test]
fn child_that_unmaps_a_page() {
    use nacre_pmem::{DomainKind, ErrorKind, Settings};
    let Some(directory) = child_directory() else {
        return;
    };
    let settings = Settings { kind: Some(DomainKind::File), ..Settings::default() };
    let domain = Domain::create_with("d", &directory, &settings).unwrap();
    let domains = [domain.clone(), domain.clone(), domain];
    let mut set = PoolSet::create("set", &domains, &PoolSetOptions::new(DATA_BYTES)).unwrap();
    let data = set.data_offset();
    set.update(data, b"early").unwrap();
    for (lost, is_transaction) in [(0, false), (1, true)] {
        set.write(data + 8192, b"later").unwrap();
        let page = set.read_member(lost, data + 8192, 1).unwrap().as_ptr();
        // SAFETY: a whole page of the member's mapping; nobody reads it before the member is taken
        // out, since the set serves from others or waits for the write-back first.
        unsafe { rustix::mm::munmap(page.cast_mut().cast(), 4096).unwrap() };
        if is_transaction {
            set.drain().unwrap();
        } else {
            set.publish_u64(data, 7).unwrap();
        }
        let states = set.member_states();
        assert_eq!(states[lost as usize].condition, MemberCondition::Damaged);
        let problem = states[lost as usize].problem.clone().unwrap();
        assert!(problem.contains("set."), "{problem}");
        assert_eq!(set.read(data + 8192, 5).unwrap(), b"later");
        set.transaction(|tx| tx.write(data + 9000, b"still")).unwrap();
    }
    let page = set.read_member(2, data + 8192, 1).unwrap().as_ptr();
    set.write(data + 8192, b"never").unwrap();
    // SAFETY: as above; no member is left to read from.
    unsafe { rustix::mm::munmap(page.cast_mut().cast(), 4096).unwrap() };
    assert_eq!(set.drain().unwrap_err().kind(), ErrorKind::NoReplica);
    drop(set);
    let set = PoolSet::open("set", &domains, Access::ReadWrite).unwrap();
    let found = set.read(data + 8192, 5).unwrap();
    assert!(found == b"later" || found == b"never", "{found:?}");
    assert_eq!(set.read(data + 9000, 5).unwrap(), b"still");
}
