//! Tests of the protocol: fences and damage. Crashes are for the simulator.

use std::fs;
use std::path::PathBuf;

use tempfile::TempDir;

use super::media::trace;
use crate::error::{Error, ErrorKind, Result};
use crate::set::{PoolSet, PoolSetOptions};
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
    let domain = Domain::create("log", directory.path()).unwrap();
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
fn transaction_waits_for_one_fence_whatever_it_writes() {
    let (_fixture, mut set) = new_set();
    let start = set.data_offset();
    assert_eq!(trace::fences(|| update(&mut set, &[(0, b"abcd!")])), 1);
    assert_eq!(trace::fences(|| update(&mut set, &[(0, b"efgh!")])), 1);
    let writes: Vec<_> = (0..40).map(|index| (index * 100, &b"twelve bytes"[..])).collect();
    assert_eq!(trace::fences(|| update(&mut set, &writes)), 1);
    let both = |set: &mut PoolSet, bytes: usize| {
        set.transaction(|tx| {
            tx.write_new(start + 200, &vec![1; bytes])?;
            tx.write(start, b"a link")
        })
    };
    // Few fresh bytes go through the log; many are fenced first. Where a live record speaks of
    // their place it is settled, by two fences.
    assert_eq!(trace::fences(|| both(&mut set, 100).unwrap()), 1);
    assert_eq!(trace::fences(|| both(&mut set, 300).unwrap()), 4);
    assert_eq!(trace::fences(|| both(&mut set, 300).unwrap()), 2);
    assert_eq!(trace::fences(|| update(&mut set, &[])), 0);
}

#[test]
fn single_word_is_its_own_transaction() {
    let (_fixture, mut set) = new_set();
    let start = set.data_offset();
    let store =
        |at: u64, bytes: &[u8]| trace::Event::Store { offset: start + at, bytes: bytes.to_vec() };
    let word_at_8 = [store(8, b"12345678"), trace::Event::Fence];
    assert_eq!(trace::of(|| update(&mut set, &[(8, b"12345678")])), word_at_8);
    assert_eq!(trace::of(|| set.replace(start + 8, b"12345678").unwrap()), word_at_8);
    // Not in one word, not a word, not alone: a record and the bytes in place.
    let kinds: [&[(u64, &[u8])]; 3] =
        [&[(10, b"1234")], &[(24, b"123")], &[(16, b"1234"), (20, b"5678")]];
    for writes in kinds {
        let events = trace::of(|| update(&mut set, writes));
        assert_eq!(events.len(), 2 + writes.len());
        assert_eq!(events[1], trace::Event::Fence);
    }
    // A word that a live record speaks of gets a record; then both are of that word.
    for (at, count) in [(16, 3), (24, 2), (32, 2)] {
        assert_eq!(trace::of(|| update(&mut set, &[(at, b"abcd")])).len(), count, "{at}");
        assert_eq!(trace::of(|| set.replace(start + at, b"abcd").unwrap()).len(), count, "{at}");
    }
    let id = set.last_committed_id();
    set.replace(start, b"word").unwrap();
    assert_eq!(set.last_committed_id(), id + 1);
    assert_eq!(set.replace(start - 4, b"word").unwrap_err().kind(), ErrorKind::OutOfRange);
    let end = set.end_offset();
    assert_eq!(set.replace(end, b"word").unwrap_err().kind(), ErrorKind::OutOfRange);
    let read = set.transaction(|tx| {
        tx.write(start, b"back")?;
        Ok(tx.read(start, 4)?.to_vec())
    });
    assert_eq!(read.unwrap(), b"back");
    assert_eq!((&data(&set)[..4], &data(&set)[16..20]), (&b"back"[..], &b"abcd"[..]));
}

#[test]
fn plain_store_settles_where_a_transaction_wrote_and_elsewhere_in_the_end() {
    let (_fixture, mut set) = new_set();
    let start = set.data_offset();
    // The fence of `PoolSet::update` itself is not counted here.
    let plain = |set: &mut PoolSet, at| trace::fences(|| set.update(start + at, b"x").unwrap());
    update(&mut set, &[(0, b"abcd!")]);
    assert_eq!((plain(&mut set, 100), plain(&mut set, 4), plain(&mut set, 4)), (0, 2, 0));
    // Of the two newest.
    update(&mut set, &[(0, b"abcd!")]);
    update(&mut set, &[(50, b"abcd!")]);
    assert_eq!((plain(&mut set, 0), plain(&mut set, 50)), (2, 0));
    for at in [0, 50, 60] {
        update(&mut set, &[(at, b"abcd!")]);
    }
    assert_eq!((plain(&mut set, 0), plain(&mut set, 50)), (0, 2));
    update(&mut set, &[(0, b"abcd!")]);
    let fences: Vec<usize> = (0..40).map(|_| plain(&mut set, 100)).collect();
    assert_eq!(fences.iter().sum::<usize>(), 2);
    assert_eq!(fences[32], 2);
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
    assert_eq!(stores, [(slot, 64), (set.data_offset() + 8, 5)]);
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
                assert_eq!(tx.read(start, 6)?, b"abcd\0\0");
                Err::<(), _>(gives_up())
            })
            .unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NotFound);
    });
    assert_eq!(events, []);
    assert_eq!(data(&set), [0; DATA_BYTES as usize]);
}

#[test]
fn set_that_moved_to_another_thread_stores_in_place_again() {
    let (_fixture, mut set) = new_set();
    update(&mut set, &[(0, b"abcd!"), (50, b"efgh")]);
    let moved = |set: &mut PoolSet| {
        std::thread::scope(|scope| {
            let events = scope.spawn(|| trace::of(|| update(set, &[(100, b"other")]))).join();
            events.unwrap().iter().take_while(|event| **event != trace::Event::Fence).count()
        })
    };
    // Two targets and the record; then one target.
    assert_eq!(moved(&mut set), 3);
    let events = trace::of(|| update(&mut set, &[(0, b"again")]));
    assert_eq!(events.iter().position(|event| *event == trace::Event::Fence), Some(2));
    assert_eq!(&data(&set)[100..105], b"other");
}

#[test]
fn opening_a_closed_set_stores_nothing_and_numbers_go_on() {
    let (fixture, mut set) = new_set();
    update(&mut set, &[(0, b"abcd!")]);
    let mut last = set.log.sequence;
    drop(set);
    for _ in 0..5 {
        let mut opened = None;
        let events = trace::of(|| opened = Some(fixture.open().unwrap()));
        assert_eq!(events, []);
        let mut set = opened.unwrap();
        assert_eq!(&data(&set)[..4], b"abcd");
        assert_eq!(trace::fences(|| update(&mut set, &[(0, b"abcd!")])), 1);
        assert_eq!(set.log.sequence, last + 1);
        last = set.log.sequence;
    }
}

/// Changes bytes in the files of some members.
fn damage(fixture: &Fixture, members: &[u32], change: impl Fn(&mut Vec<u8>)) {
    for &index in members {
        let mut bytes = fs::read(fixture.path(index)).unwrap();
        change(&mut bytes);
        fs::write(fixture.path(index), bytes).unwrap();
    }
}

#[test]
fn what_was_committed_last_is_stored_in_place_from_any_whole_record() {
    for damaged in [&[][..], &[0], &[1], &[0, 1]] {
        let (fixture, mut set) = new_set();
        update(&mut set, &[(0, b"1111!")]);
        update(&mut set, &[(0, b"2222!"), (40, b"2222!")]);
        update(&mut set, &[(40, b"3333!")]);
        let newest = super::log::slot_offset(&set, set.log.sequence) as usize;
        let start = set.data_offset() as usize;
        set.abandon();
        // Nothing of the last two came to its place in either member.
        damage(&fixture, &[0, 1], |bytes| bytes[start..start + 45].fill(b'x'));
        damage(&fixture, damaged, |bytes| bytes[newest + 30] ^= 1);
        let set = fixture.open().unwrap();
        let found = data(&set);
        assert_eq!(&found[..5], b"2222!");
        assert_eq!(&found[40..45], if damaged.len() < 2 { b"3333!" } else { b"2222!" });
        for index in 0..2 {
            assert_eq!(set.read_member(index, start as u64, DATA_BYTES).unwrap(), found);
        }
        set.abandon();
        assert_eq!(data(&fixture.open().unwrap()), found, "recovery repeated");
    }
}

#[test]
fn log_of_which_nothing_is_whole_is_damage_unless_the_set_was_closed() {
    for is_closed in [true, false] {
        let (fixture, mut set) = new_set();
        update(&mut set, &[(0, b"abcd!")]);
        update(&mut set, &[(0, b"efgh!")]);
        let slots = [0, 1].map(|number| super::log::slot_offset(&set, number) as usize);
        if is_closed {
            set.close().unwrap()
        } else {
            set.abandon()
        }
        damage(&fixture, &[0, 1], |bytes| slots.iter().for_each(|&slot| bytes[slot] ^= 1));
        let opened = fixture.open();
        if !is_closed {
            assert_eq!(opened.unwrap_err().kind(), ErrorKind::Corrupt);
            continue;
        }
        // A retired slot is written before anything else, so that no old record counts again.
        let mut set = opened.unwrap();
        assert_eq!(trace::fences(|| update(&mut set, &[(0, b"ijkl!")])), 2);
        update(&mut set, &[(10, b"mnop!")]);
        set.abandon();
        let set = fixture.open().unwrap();
        assert_eq!(&data(&set)[..15], b"ijkl!\0\0\0\0\0mnop!");
    }
}

#[test]
fn record_that_is_out_of_place_or_writes_outside_is_damage() {
    let (fixture, mut set) = new_set();
    update(&mut set, &[(0, b"abcd!")]);
    let slots = [0, 1].map(|number| super::log::slot_offset(&set, number) as usize);
    set.abandon();
    damage(&fixture, &[0, 1], |bytes| bytes.copy_within(slots[1]..slots[1] + 64, slots[0]));
    let error = fixture.open().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Corrupt);
    assert!(error.to_string().contains("slot 0 holds record 1"), "{error}");

    let (fixture, set) = new_set();
    let (slot, end) = (super::log::slot_offset(&set, 1) as usize, set.end_offset());
    let mut image = vec![0; super::layout::HEADER_BYTES];
    super::layout::push_entry(&mut image, end - 3, b"four");
    super::layout::seal(&mut image, 1);
    let mut set = set;
    set.update(set.data_offset(), b"unclean").unwrap();
    set.abandon();
    damage(&fixture, &[0, 1], |bytes| bytes[slot..slot + image.len()].copy_from_slice(&image));
    let error = fixture.open().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Corrupt);
    assert!(error.to_string().contains("record 1 writes 4 bytes"), "{error}");
}
