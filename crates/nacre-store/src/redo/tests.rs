//! What the redo log survives: damage in one and in all members, missing ones, full devices; and
//! what it promises to many committers.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use nacre_pmem::{Access, Domain, DomainKind, Settings};

use super::call::CallEffects;
use super::group::group_bytes;
use super::log::{RedoLog, RedoOptions};
use super::record::{RedoBuffer, RedoRecord};
use super::segment::{SEGMENT_HEADER_BYTES, STATE_OFFSET};
use crate::error::{Error, ErrorKind, Result};
use crate::id::{CommitTs, Lsn};
use crate::manifest::DatabaseId;
use crate::value::ValueRef;

pub(super) const ID: DatabaseId = DatabaseId(*b"0123456789abcdef");

/// Where the first group lies in a member file.
const GROUPS: u64 = nacre_pmem::set::DATA_OFFSET + SEGMENT_HEADER_BYTES;

/// Bytes of the groups that most tests append.
const PADDING: usize = 200;

/// The changes of a transaction, unlike those of any other number.
pub(super) fn group(number: u64, padding: usize) -> RedoBuffer {
    let mut buffer = RedoBuffer::default();
    let text = vec![b'a' + (number % 26) as u8; padding];
    let arguments = [ValueRef::Int(number as i64), ValueRef::Bytes(&text)];
    buffer.call("change", &arguments, CallEffects::default());
    buffer
}

/// Returns the records of each commit in the log.
pub(super) fn replayed(log: &RedoLog) -> Result<Vec<(CommitTs, Vec<u8>)>> {
    let mut found: Vec<(CommitTs, Vec<u8>)> = Vec::new();
    log.replay(&mut |commit, record| {
        let mut buffer = RedoBuffer::default();
        if let RedoRecord::Call { procedure, arguments, effects } = record {
            buffer.call(procedure, arguments, effects);
        }
        found.push((commit, buffer.bytes().to_vec()));
        Ok(())
    })?;
    Ok(found)
}

fn directory() -> tempfile::TempDir {
    tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap()
}

fn domain(directory: &Path) -> Vec<Domain> {
    vec![Domain::create("main", directory).unwrap()]
}

fn options(segment_bytes: u64) -> RedoOptions {
    RedoOptions { segment_bytes, is_compressed: false }
}

fn open(domains: &[Domain], access: Access) -> Result<RedoLog> {
    let log = RedoLog::open(domains, access, ID, 1, options(1 << 20))?;
    log.repair(domains, true);
    Ok(log)
}

/// Makes a log of `count` groups that was closed, and returns its member files.
fn make(directory: &Path, count: u64) -> [PathBuf; 2] {
    let log = RedoLog::create(&domain(directory), ID, options(1 << 20)).unwrap();
    append(&log, 0..count);
    ["redo-1.0", "redo-1.1"].map(|name| directory.join(name))
}

fn append(log: &RedoLog, numbers: std::ops::Range<u64>) {
    for number in numbers {
        let lsn = log.append(CommitTs(number + 1), &group(number, PADDING)).unwrap();
        log.persist(lsn).unwrap();
    }
}

fn expected(numbers: std::ops::Range<u64>) -> Vec<(CommitTs, Vec<u8>)> {
    let change = |number| (CommitTs(number + 1), group(number, PADDING).bytes().to_vec());
    numbers.map(change).collect()
}

/// Returns where group `number` of [`append`] begins in the log.
fn lsn(number: u64) -> u64 {
    number * group_bytes(group(0, PADDING).bytes().len())
}

fn change(file: &Path, offset: u64, bytes: &[u8]) {
    let mut content = fs::read(file).unwrap();
    content[offset as usize..][..bytes.len()].copy_from_slice(bytes);
    fs::write(file, content).unwrap();
}

/// Makes a closed log look like one that a crash ended.
fn reopen_state(files: &[PathBuf]) {
    for file in files {
        change(file, nacre_pmem::set::DATA_OFFSET + STATE_OFFSET, &[0; 8]);
    }
}

#[test]
fn groups_come_back_in_order_from_many_segments() {
    let directory = directory();
    let domains = domain(directory.path());
    for (is_compressed, count) in [(false, 60), (true, 40)] {
        let options = RedoOptions { segment_bytes: 2048, is_compressed };
        let log = RedoLog::create(&domains, ID, options).unwrap();
        append(&log, 0..count);
        assert_eq!(replayed(&log).unwrap().last(), expected(0..count).last());
        drop(log);
        for access in [Access::ReadOnly, Access::ReadWrite] {
            let log = RedoLog::open(&domains, access, ID, 1, options).unwrap();
            assert_eq!(log.last_commit(), CommitTs(count));
            assert_eq!(replayed(&log).unwrap(), expected(0..count));
            assert_eq!(log.notes(), [""; 0]);
        }
    }
}

#[test]
fn segment_that_is_half_full_ends_when_a_checkpoint_begins() {
    let directory = directory();
    let domains = domain(directory.path());
    let log = RedoLog::create(&domains, ID, options(4096)).unwrap();
    append(&log, 0..2);
    log.begin_segment().unwrap();
    assert_eq!(log.segment_at(log.end()), 1, "there is much room left");
    append(&log, 2..10);
    let end = log.end();
    log.begin_segment().unwrap();
    log.begin_segment().unwrap();
    assert_eq!(log.segment_at(end), 2);
    append(&log, 10..12);
    log.truncate(log.segment_at(end)).unwrap();
    assert!(!directory.path().join("redo-1.0").exists());
    assert_eq!(log.start(), end);
    drop(log);
    let log = RedoLog::open(&domains, Access::ReadWrite, ID, 2, options(4096)).unwrap();
    assert_eq!(replayed(&log).unwrap(), expected(10..12));
    assert_eq!(log.notes(), [""; 0]);
    drop(log);
    // One that is larger than segments are to be ends, too.
    let log = RedoLog::open(&domains, Access::ReadWrite, ID, 2, options(1024)).unwrap();
    append(&log, 12..13);
    let end = log.end();
    log.begin_segment().unwrap();
    append(&log, 13..14);
    assert_eq!(log.segment_at(end), 3);
}

#[test]
fn group_larger_than_a_segment_gets_one_of_its_own() {
    let directory = directory();
    let domains = domain(directory.path());
    let log = RedoLog::create(&domains, ID, options(1024)).unwrap();
    let large = group(0, 100_000);
    log.append(CommitTs(1), &group(1, 10)).unwrap();
    log.append(CommitTs(2), &large).unwrap();
    log.append(CommitTs(3), &group(2, 10)).unwrap();
    drop(log);
    let log = RedoLog::open(&domains, Access::ReadWrite, ID, 1, options(1024)).unwrap();
    let found = replayed(&log).unwrap();
    assert_eq!(found.len(), 3);
    assert_eq!(found[1].1, large.bytes());
}

#[test]
fn commits_out_of_order_are_refused() {
    let directory = directory();
    let log = RedoLog::create(&domain(directory.path()), ID, options(1024)).unwrap();
    log.append(CommitTs(5), &group(1, 10)).unwrap();
    let error = log.append(CommitTs(5), &group(2, 10)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Internal);
    log.append(CommitTs(6), &group(2, 10)).unwrap();
}

#[test]
fn damaged_group_is_read_from_the_other_member_and_rebuilt() {
    for at in [0, 4, 9] {
        let directory = directory();
        let files = make(directory.path(), 10);
        change(&files[0], GROUPS + lsn(at) + 70, b"damage");
        let domains = domain(directory.path());
        let reader = open(&domains, Access::ReadOnly).unwrap();
        assert_eq!(replayed(&reader).unwrap(), expected(0..10));
        assert!(!reader.notes().is_empty());
        drop(reader);
        let log = open(&domains, Access::ReadWrite).unwrap();
        assert_eq!(replayed(&log).unwrap(), expected(0..10));
        assert!(log.notes()[0].contains("rebuilt from"), "{:?}", log.notes());
        append(&log, 10..12);
        drop(log);
        fs::remove_file(&files[1]).unwrap();
        let log = open(&domains, Access::ReadWrite).unwrap();
        assert_eq!(replayed(&log).unwrap(), expected(0..12));
    }
}

#[test]
fn groups_damaged_in_different_members_are_put_together() {
    for is_crashed in [false, true] {
        let directory = directory();
        let files = make(directory.path(), 10);
        if is_crashed {
            reopen_state(&files);
        }
        change(&files[0], GROUPS + lsn(3) + 70, b"damage");
        change(&files[1], GROUPS + lsn(6) + 70, b"damage");
        let domains = domain(directory.path());
        let reader = open(&domains, Access::ReadOnly).unwrap();
        assert_eq!(replayed(&reader).unwrap(), expected(0..10));
        drop(reader);
        drop(open(&domains, Access::ReadWrite).unwrap());
        for file in &files {
            let other = directory.path().join("aside");
            fs::rename(file, &other).unwrap();
            let reader = open(&domains, Access::ReadOnly).unwrap();
            assert_eq!(replayed(&reader).unwrap(), expected(0..10));
            drop(reader);
            fs::rename(other, file).unwrap();
        }
    }
}

#[test]
fn group_damaged_in_all_members_is_an_error_that_says_what_is_lost() {
    for is_crashed in [false, true] {
        let directory = directory();
        let files = make(directory.path(), 10);
        if is_crashed {
            reopen_state(&files);
        }
        for file in &files {
            change(file, GROUPS + lsn(4) + 70, b"damage");
        }
        let before: Vec<_> = files.iter().map(|file| fs::read(file).unwrap()).collect();
        for access in [Access::ReadOnly, Access::ReadWrite] {
            let error = open(&domain(directory.path()), access).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Damaged);
            let text = error.to_string();
            assert!(text.contains(&format!("bytes {} to", lsn(4))), "{text}");
            assert!(text.contains("the commits after that at 4"), "{text}");
            assert!(!is_crashed || text.contains("and before that at 6 are lost"), "{text}");
        }
        let after: Vec<_> = files.iter().map(|file| fs::read(file).unwrap()).collect();
        assert_eq!(before, after, "nothing is changed");
    }
}

#[test]
fn last_group_damaged_in_all_members_is_lost_if_the_log_was_closed_and_cut_off_if_not() {
    for is_crashed in [false, true] {
        let directory = directory();
        let files = make(directory.path(), 10);
        for file in &files {
            change(file, GROUPS + lsn(9) + 70, b"damage");
        }
        if is_crashed {
            reopen_state(&files);
        }
        let opened = open(&domain(directory.path()), Access::ReadWrite);
        if !is_crashed {
            let text = opened.unwrap_err().to_string();
            assert!(text.contains("the commits after that at 9 are lost"), "{text}");
            continue;
        }
        let log = opened.unwrap();
        assert_eq!(replayed(&log).unwrap(), expected(0..9));
        append(&log, 9..11);
        drop(log);
        let log = open(&domain(directory.path()), Access::ReadWrite).unwrap();
        assert_eq!(replayed(&log).unwrap(), expected(0..11));
    }
}

#[test]
fn missing_segment_is_an_error() {
    let directory = directory();
    let domains = domain(directory.path());
    let log = RedoLog::create(&domains, ID, options(1024)).unwrap();
    append(&log, 0..20);
    drop(log);
    for member in ["redo-2.0", "redo-2.1"] {
        fs::remove_file(directory.path().join(member)).unwrap();
    }
    let error = RedoLog::open(&domains, Access::ReadWrite, ID, 1, options(1024)).unwrap_err();
    assert!(matches!(error, Error::RedoDamaged { .. }), "{error}");
    assert!(error.to_string().contains("segment 2"), "{error}");
}

#[test]
fn segments_before_the_low_water_mark_can_go() {
    let directory = directory();
    let domains = domain(directory.path());
    let log = RedoLog::create(&domains, ID, options(1024)).unwrap();
    append(&log, 0..20);
    let oldest = log.segment_at(Lsn(lsn(10)));
    log.truncate(oldest).unwrap();
    append(&log, 20..22);
    drop(log);
    let log = RedoLog::open(&domains, Access::ReadWrite, ID, oldest, options(1024)).unwrap();
    let found = replayed(&log).unwrap();
    assert!((8..=10).contains(&(22 - found.len() as u64)), "{} groups", found.len());
    assert_eq!(found[..], expected(0..22)[22 - found.len()..]);
    assert!(!directory.path().join("redo-1.0").exists());
}

#[test]
fn further_domain_has_a_member_whenever_it_is_there() {
    let (first, second) = (directory(), directory());
    let mut domains = domain(first.path());
    domains.push(Domain::create("fast", second.path()).unwrap());
    let log = RedoLog::create(&domains, ID, options(1024)).unwrap();
    append(&log, 0..3);
    drop(log);
    assert!(second.path().join("redo-1.2").exists());
    let alone = &domains[..1];
    let log = RedoLog::open(alone, Access::ReadWrite, ID, 1, options(1024)).unwrap();
    log.repair(alone, false);
    append(&log, 3..12);
    log.repair(&domains, true);
    append(&log, 12..14);
    drop(log);
    for name in ["redo-1.0", "redo-1.1", "redo-2.0", "redo-2.1", "redo-3.0", "redo-3.1"] {
        let _ = fs::remove_file(first.path().join(name));
    }
    let log = RedoLog::open(&domains, Access::ReadOnly, ID, 1, options(1024)).unwrap();
    assert_eq!(replayed(&log).unwrap(), expected(0..14));
}

#[test]
fn commits_of_many_threads_are_durable_when_persist_returns() {
    let directory = directory();
    let settings = Settings { kind: Some(DomainKind::File), ..Settings::default() };
    let domains = [Domain::create_with("main", directory.path(), &settings).unwrap()];
    let log = RedoLog::create(&domains, ID, options(4096)).unwrap();
    // Stands for the latch under which transactions commit.
    let (clock, commits) = (Mutex::new(0), AtomicU64::new(0));
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                for _ in 0..20 {
                    let mut clock = clock.lock().unwrap_or_else(PoisonError::into_inner);
                    let number = *clock;
                    *clock += 1;
                    let appended = log.append(CommitTs(number + 1), &group(number, PADDING));
                    drop(clock);
                    let lsn = appended.unwrap();
                    log.persist(lsn).unwrap();
                    assert!(log.durable() >= lsn);
                    commits.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
    });
    assert_eq!(commits.into_inner(), 160);
    drop(log);
    let log = RedoLog::open(&domains, Access::ReadWrite, ID, 1, options(4096)).unwrap();
    assert_eq!(replayed(&log).unwrap(), expected(0..160));
}

#[test]
fn files_of_cut_off_creations_are_removed() {
    let directory = directory();
    make(directory.path(), 3);
    for name in ["redo-2.0", "redo-2.1", "redo-7.0"] {
        fs::write(directory.path().join(name), b"").unwrap();
    }
    drop(open(&domain(directory.path()), Access::ReadWrite).unwrap());
    let names = domain(directory.path())[0].list_pools().unwrap();
    let names: BTreeSet<&str> = names.iter().map(String::as_str).collect();
    assert_eq!(names, BTreeSet::from(["redo-1.0", "redo-1.1"]));
}
