//! Tests of the protocol: fences and damage. Crashes are for the simulator.

use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

use tempfile::TempDir;

use super::media::trace;
use crate::error::{Error, ErrorKind, Result};
use crate::set::{DATA_OFFSET, PoolSet, PoolSetOptions};
use crate::{Access, Domain};

const DATA_BYTES: u64 = 4096;

/// The directory of a set of two members.
struct Fixture {
    directory: TempDir,
    members: [Domain; 2],
}

impl Fixture {
    fn open(&self) -> Result<PoolSet> {
        PoolSet::open("set", &self.members, Access::ReadWrite)
    }

    fn path(&self, index: u32) -> PathBuf {
        self.directory.path().join(format!("set.{index}"))
    }
}

fn new_set() -> (Fixture, PoolSet) {
    let directory = tempfile::Builder::new().tempdir_in("/dev/shm").unwrap();
    let domain = Domain::create("undo", directory.path()).unwrap();
    let members = [domain.clone(), domain];
    PoolSet::create("set", &members, &PoolSetOptions::new(DATA_BYTES)).unwrap().close().unwrap();
    let fixture = Fixture { directory, members };
    let set = fixture.open().unwrap();
    (fixture, set)
}

fn gives_up() -> Error {
    Error::new(ErrorKind::NotFound, "test", "gives up", "")
}

fn data(set: &PoolSet) -> Vec<u8> {
    set.read(set.data_offset(), DATA_BYTES).unwrap().to_vec()
}

fn update(set: &mut PoolSet, writes: &[(u64, &[u8])]) {
    let start = set.data_offset();
    set.transaction(|tx| writes.iter().try_for_each(|(at, bytes)| tx.write(start + at, bytes)))
        .unwrap();
}

#[test]
fn transaction_waits_for_two_fences_whatever_it_writes() {
    let (_fixture, mut set) = new_set();
    let start = set.data_offset();
    assert_eq!(trace::fences(|| update(&mut set, &[(0, b"abcd!")])), 2);
    assert_eq!(trace::fences(|| update(&mut set, &[(0, b"efgh!")])), 2);
    let writes: Vec<_> = (0..40).map(|index| (index * 100, &b"twelve bytes"[..])).collect();
    assert_eq!(trace::fences(|| update(&mut set, &writes)), 2);
    let both = |set: &mut PoolSet| {
        set.transaction(|tx| {
            tx.write_new(start + 200, &[1; 300])?;
            tx.write(start, b"a link")
        })
    };
    // `write_new` goes to what the unsettled transaction wrote, so that is settled first.
    assert_eq!(trace::fences(|| both(&mut set).unwrap()), 3);
    assert_eq!(trace::fences(|| both(&mut set).unwrap()), 2);
    assert_eq!(trace::fences(|| update(&mut set, &[])), 0);
}

#[test]
fn single_word_is_its_own_transaction() {
    let (_crashes, mut set) = new_set();
    let start = set.data_offset();
    let store =
        |at: u64, bytes: &[u8]| trace::Event::Store { offset: start + at, bytes: bytes.to_vec() };
    let events = trace::of(|| update(&mut set, &[(8, b"12345678")]));
    assert_eq!(events, [store(8, b"12345678"), trace::Event::Fence]);
    assert_eq!(trace::fences(|| update(&mut set, &[(12, b"1234")])), 1);
    // Not in one word, not a word, not alone.
    assert_eq!(trace::fences(|| update(&mut set, &[(10, b"1234")])), 2);
    assert_eq!(trace::fences(|| update(&mut set, &[(8, b"123")])), 2);
    assert_eq!(trace::fences(|| update(&mut set, &[(16, b"1234"), (20, b"5678")])), 2);
    // The transaction before is settled if it wrote there, once.
    assert_eq!(trace::fences(|| update(&mut set, &[(24, b"1234")])), 1);
    assert_eq!(trace::fences(|| update(&mut set, &[(16, b"abcd")])), 2);
    assert_eq!(trace::fences(|| update(&mut set, &[(20, b"efgh")])), 1);
    assert_eq!(trace::fences(|| set.replace(start + 24, b"1234").unwrap()), 1);
    assert_eq!(trace::fences(|| set.replace(start + 24, b"12345").unwrap()), 2);
    assert_eq!(trace::fences(|| set.replace(start + 24, b"1234").unwrap()), 2);
    assert_eq!(trace::fences(|| set.replace(start + 24, b"1234").unwrap()), 1);
    let id = set.last_committed_id();
    set.replace(start, b"word").unwrap();
    assert_eq!(set.last_committed_id(), id + 1);
    assert_eq!(set.replace(start - 4, b"word").unwrap_err().kind(), ErrorKind::OutOfRange);
    let end = set.end_offset();
    assert_eq!(set.replace(end, b"word").unwrap_err().kind(), ErrorKind::OutOfRange);
    let link = |set: &mut PoolSet| {
        set.transaction(|tx| {
            tx.write_new(start + 200, &[1; 300])?;
            tx.write(start, b"link")?;
            tx.write(start, b"LINK")
        })
    };
    assert_eq!(trace::fences(|| link(&mut set).unwrap()), 2);
    let read = set.transaction(|tx| {
        tx.write(start, b"back")?;
        Ok(tx.read(start, 4)?.to_vec())
    });
    assert_eq!(read.unwrap(), b"back");
    assert_eq!((&data(&set)[..4], &data(&set)[16..24]), (&b"back"[..], &b"abcdefgh"[..]));
}

#[test]
fn plain_store_settles_once() {
    let (_fixture, mut set) = new_set();
    let start = set.data_offset();
    update(&mut set, &[(0, b"abcd!")]);
    // The fence of `PoolSet::update` itself is not counted here.
    assert_eq!(trace::fences(|| set.update(start, b"x").unwrap()), 1);
    assert_eq!(trace::fences(|| set.update(start, b"y").unwrap()), 0);
}

#[test]
fn small_transaction_stores_one_line_of_log() {
    let (_fixture, mut set) = new_set();
    let events = trace::of(|| update(&mut set, &[(8, b"abcd!")]));
    let stores: Vec<_> = events
        .iter()
        .filter_map(|event| match event {
            trace::Event::Store { offset, bytes } => Some((*offset, bytes.len())),
            trace::Event::Fence => None,
        })
        .collect();
    let slot = stores[0].0;
    assert_eq!(stores, [(slot, 64), (set.data_offset() + 8, 5), (slot, 8)]);
    assert!(slot.is_multiple_of(64));
}

#[test]
fn aborted_body_stores_nothing() {
    let (_fixture, mut set) = new_set();
    let start = set.data_offset();
    let events = trace::of(|| {
        let error = set
            .transaction(|tx| {
                tx.write(start, b"abcd")?;
                Err::<(), _>(gives_up())
            })
            .unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NotFound);
    });
    assert_eq!(events, []);
    assert_eq!(data(&set), [0; DATA_BYTES as usize]);
}

#[test]
fn opening_stores_nothing_and_no_number_is_used_twice() {
    let (fixture, mut set) = new_set();
    update(&mut set, &[(0, b"abcd!")]);
    let mut last = set.undo.sequence;
    drop(set);
    for _ in 0..5 {
        let mut opened = None;
        let events = trace::of(|| opened = Some(fixture.open().unwrap()));
        assert_eq!(events, []);
        let mut set = opened.unwrap();
        assert_eq!(&data(&set)[..4], b"abcd");
        update(&mut set, &[(0, b"abcd!")]);
        assert!(set.undo.sequence > last + 1, "one outranks, one is the transaction");
        last = set.undo.sequence;
    }
}

#[test]
fn unfinished_slot_beside_one_that_is_no_neighbour_is_damage() {
    let (fixture, mut set) = new_set();
    for _ in 0..4 {
        update(&mut set, &[(0, b"abcd!")]);
    }
    let slot_bytes = (set.data_offset() - DATA_OFFSET) / 2;
    let newest = set.read(DATA_OFFSET + slot_bytes, 64).unwrap().to_vec();
    for _ in 0..3 {
        update(&mut set, &[(0, b"efgh!")]);
    }
    set.store(DATA_OFFSET + slot_bytes, &newest).unwrap();
    set.store(DATA_OFFSET, &[0; 8]).unwrap();
    drop(set);
    let error = fixture.open().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Corrupt, "{error}");
}

#[test]
fn damaged_slot_matters_only_beside_an_unfinished_one() {
    for (is_finished, is_everywhere) in [(true, true), (false, true), (false, false)] {
        let (fixture, mut set) = new_set();
        update(&mut set, &[(0, b"abcd!")]);
        update(&mut set, &[(0, b"efgh!")]);
        let (newest, other) = (set.undo.sequence, set.undo.sequence - 1);
        if !is_finished {
            set.store(super::log::slot_offset(&set, newest), &[0; 8]).unwrap();
        }
        let other = super::log::slot_offset(&set, other) as usize;
        drop(set);
        for index in 0..if is_everywhere { 2 } else { 1 } {
            let mut bytes = fs::read(fixture.path(index)).unwrap();
            bytes[other + 30] ^= 1;
            fs::write(fixture.path(index), bytes).unwrap();
        }
        let opened = fixture.open();
        if is_finished {
            assert_eq!(&data(&opened.unwrap())[..4], b"efgh");
        } else if is_everywhere {
            assert_eq!(opened.unwrap_err().kind(), ErrorKind::Corrupt);
        } else {
            assert_eq!(&data(&opened.unwrap())[..4], b"abcd");
        }
    }
}

/// What was lost: a set whose crash had left the newest transaction in one member's log only was
/// rolled back by that log, and could then never be opened again. The retiring word had gone into
/// the other member's log beside another transaction, and later copies mixed the two logs.
#[test]
fn log_that_only_one_member_has_is_copied_before_it_is_retired() {
    for lacks in [0, 1] {
        let (fixture, mut set) = new_set();
        for bytes in [b"1111!", b"2222!", b"3333!"] {
            update(&mut set, &[(0, bytes)]);
        }
        let log_bytes = (set.data_offset() - DATA_OFFSET) as usize;
        let older = set.read(DATA_OFFSET, log_bytes as u64).unwrap().to_vec();
        update(&mut set, &[(0, b"4444!")]);
        let word = super::log::slot_offset(&set, set.undo.sequence);
        set.abandon();
        let file = |index| File::options().write(true).open(fixture.path(index)).unwrap();
        file(lacks).write_all_at(&older, DATA_OFFSET).unwrap();
        file(1 - lacks).write_all_at(&[0; 8], word).unwrap();
        for _ in 0..3 {
            let set = fixture.open().unwrap();
            assert_eq!(&data(&set)[..4], b"3333");
            set.abandon();
            let logs = [0, 1].map(|index| fs::read(fixture.path(index)).unwrap());
            let start = DATA_OFFSET as usize;
            assert!(logs[0][start..] == logs[1][start..], "{lacks}");
        }
        let mut set = fixture.open().unwrap();
        update(&mut set, &[(0, b"5555!")]);
        drop(set);
        assert_eq!(&data(&fixture.open().unwrap())[..4], b"5555");
    }
}
