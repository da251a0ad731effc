//! Tests of the protocol: fences, crash windows, damage.

use super::crash::{Chooser, Crashes};
use super::media::trace;
use crate::error::{Error, ErrorKind};
use crate::set::{DATA_OFFSET, PoolSet};

const DATA_BYTES: u64 = 4096;

fn new_set() -> (Crashes, PoolSet) {
    Crashes::new(DATA_BYTES, |_| {})
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
    let (_crashes, mut set) = new_set();
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
    let (_crashes, mut set) = new_set();
    let start = set.data_offset();
    update(&mut set, &[(0, b"abcd!")]);
    // The fence of `PoolSet::update` itself is not counted here.
    assert_eq!(trace::fences(|| set.update(start, b"x").unwrap()), 1);
    assert_eq!(trace::fences(|| set.update(start, b"y").unwrap()), 0);
}

#[test]
fn small_transaction_stores_one_line_of_log() {
    let (_crashes, mut set) = new_set();
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
    let (_crashes, mut set) = new_set();
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

/// One step of the random workload. Plain stores do not go through `media`, so they are noted here.
fn step(set: &mut PoolSet, chooser: &mut Chooser) {
    let start = set.data_offset();
    let range = |chooser: &mut Chooser| {
        let most = [100, 16, 16, 16][chooser.below(4) as usize];
        let bytes = 1 + chooser.below(most);
        let offset = start + chooser.below(300 - bytes);
        (offset, vec![chooser.below(256) as u8; bytes as usize])
    };
    if chooser.below(4) == 0 {
        // Within a word, so that it is atomic by itself.
        let offset = start + 8 * chooser.below(40);
        let bytes = vec![chooser.below(256) as u8; 8];
        set.update(offset, &bytes).unwrap();
        trace::note(trace::Event::Store { offset, bytes });
        trace::note(trace::Event::Fence);
        return;
    }
    let is_aborted = chooser.below(5) == 0;
    let result = set.transaction(|tx| {
        if chooser.below(3) == 0 {
            // A word, which may stay alone.
            let bytes = [chooser.below(256) as u8; 8];
            tx.write(start + 8 * chooser.below(40), &bytes)?;
            return if is_aborted { Err(gives_up()) } else { Ok(()) };
        }
        for _ in 0..chooser.below(6) {
            let (offset, bytes) = range(chooser);
            tx.write(offset, &bytes)?;
            if chooser.below(3) == 0 {
                let (offset, bytes) = range(chooser);
                tx.read(offset, bytes.len() as u64)?;
            }
        }
        if is_aborted {
            return Err(gives_up());
        }
        Ok(())
    });
    assert_eq!(result.is_err(), is_aborted);
}

#[test]
fn crash_at_any_point_leaves_whole_transactions() {
    for seed in 1..=12u64 {
        let mut chooser = Chooser(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let (mut crashes, mut set) = new_set();
        let mut states = vec![(0, data(&set))];
        for _ in 0..12 {
            let end = crashes.record(|| step(&mut set, &mut chooser));
            states.push((end, data(&set)));
        }
        for index in 1..states.len() {
            let (begin, end) = (states[index - 1].0, states[index].0);
            for count in begin..=end {
                for _ in 0..3 {
                    let found = data(&crashes.crash_after(count, &mut chooser));
                    let is_old = found == states[index - 1].1;
                    let is_new = found == states[index].1;
                    assert!(is_old || is_new, "seed {seed}, step {index}, event {count}");
                    assert!(is_new || count < end, "seed {seed}, step {index}: lost");
                }
            }
        }
    }
}

#[test]
fn opening_stores_nothing_and_no_number_is_used_twice() {
    let (crashes, mut set) = new_set();
    update(&mut set, &[(0, b"abcd!")]);
    let mut last = set.undo.sequence;
    drop(set);
    for _ in 0..5 {
        let domains = [crashes.domain().clone(), crashes.domain().clone()];
        let mut opened = None;
        let events = trace::of(|| {
            opened = Some(PoolSet::open("set", &domains, crate::Access::ReadWrite).unwrap());
        });
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
    let (crashes, mut set) = new_set();
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
    let domains = [crashes.domain().clone(), crashes.domain().clone()];
    let error = PoolSet::open("set", &domains, crate::Access::ReadWrite).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Corrupt, "{error}");
}

#[test]
fn damaged_slot_matters_only_beside_an_unfinished_one() {
    for (is_finished, is_everywhere) in [(true, true), (false, true), (false, false)] {
        let (crashes, mut set) = new_set();
        update(&mut set, &[(0, b"abcd!")]);
        update(&mut set, &[(0, b"efgh!")]);
        let (newest, other) = (set.undo.sequence, set.undo.sequence - 1);
        if !is_finished {
            set.store(super::log::slot_offset(&set, newest), &[0; 8]).unwrap();
        }
        let other = super::log::slot_offset(&set, other) as usize;
        drop(set);
        for name in if is_everywhere { &["set.0", "set.1"][..] } else { &["set.0"] } {
            let path = crashes.path().join(name);
            let mut bytes = std::fs::read(&path).unwrap();
            bytes[other + 30] ^= 1;
            std::fs::write(&path, bytes).unwrap();
        }
        let domains = [crashes.domain().clone(), crashes.domain().clone()];
        let opened = PoolSet::open("set", &domains, crate::Access::ReadWrite);
        if is_finished {
            assert_eq!(&data(&opened.unwrap())[..4], b"efgh");
        } else if is_everywhere {
            assert_eq!(opened.unwrap_err().kind(), ErrorKind::Corrupt);
        } else {
            assert_eq!(&data(&opened.unwrap())[..4], b"abcd");
        }
    }
}
