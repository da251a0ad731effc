//! Every mechanism leaves the same bytes in every member, and touches nothing else.

#![allow(clippy::unwrap_used, clippy::panic)]

use std::alloc::{Layout, alloc_zeroed, dealloc};

use nacre_pmem::replicate::{Mechanism, Routines, Targets, routines};
use nacre_pmem::{ErrorKind, FlushFlavour, StreamFlavour};
use proptest::prelude::*;

const MEMBER_BYTES: usize = 96 << 10;
const SIZES: [usize; 16] = [0, 1, 2, 3, 4, 5, 8, 9, 17, 33, 48, 63, 64, 65, 200, 4096];
const ALIGNMENTS: [usize; 5] = [0, 4, 8, 16, 61];

/// Members in plain memory, and what they must hold.
struct Members {
    bases: Vec<*mut u8>,
    model: Vec<u8>,
    targets: Targets,
    next: u8,
}

impl Members {
    fn new(replica_count: usize, stream: StreamFlavour) -> Members {
        // SAFETY: the layout is not empty.
        let allocate = |_| unsafe { alloc_zeroed(layout()) };
        let bases: Vec<_> = (0..=replica_count).map(allocate).collect();
        assert!(bases.iter().all(|base| !base.is_null()));
        let targets = Targets::new(bases[0], &bases[1..], stream);
        Members { bases, model: vec![0; MEMBER_BYTES], targets, next: 0 }
    }

    fn update(&mut self, code: &Routines, offset: usize, bytes: usize) {
        self.next = self.next.wrapping_mul(31).wrapping_add(17);
        let source: Vec<u8> =
            (0..bytes).map(|index| (index as u8).wrapping_mul(7) ^ self.next).collect();
        self.model[offset..offset + bytes].copy_from_slice(&source);
        // SAFETY: the range lies in every member, nobody else has them, and the code was asked for
        // with flavours that are available and the number of these members.
        unsafe { (code.write)(&self.targets, offset, source.as_ptr(), bytes) };
        (code.drain)();
    }

    fn assert_equal(&self, start: usize, end: usize, context: impl Fn() -> String) {
        for (index, &base) in self.bases.iter().enumerate() {
            // SAFETY: the member is alive, of that length, and nobody writes to it now.
            let bytes = unsafe { std::slice::from_raw_parts(base, MEMBER_BYTES) };
            if bytes[start..end] != self.model[start..end] {
                let difference = (start..end).find(|&at| bytes[at] != self.model[at]);
                panic!("member {index} differs at {difference:?}: {}", context());
            }
        }
    }
}

impl Drop for Members {
    fn drop(&mut self) {
        for &base in &self.bases {
            // SAFETY: allocated by `new` with this layout; workers only run inside `update`.
            unsafe { dealloc(base, layout()) };
        }
    }
}

fn layout() -> Layout {
    Layout::from_size_align(MEMBER_BYTES, 4096).unwrap()
}

fn mechanisms() -> impl Iterator<Item = Mechanism> {
    Mechanism::ALL.into_iter().filter(|mechanism| mechanism.is_available())
}

fn instructions() -> Vec<FlushFlavour> {
    let all = FlushFlavour::available().into_iter();
    all.filter(|flush| *flush != FlushFlavour::Msync).collect()
}

#[test]
fn every_member_gets_the_bytes_and_nothing_else_changes() {
    for replica_count in 0..=7 {
        let mut members = Members::new(replica_count, StreamFlavour::best());
        for mechanism in mechanisms().filter(|mechanism| !mechanism.needs_workers()) {
            for flush in instructions() {
                let code = routines(mechanism, flush, replica_count).unwrap();
                for (step, bytes) in SIZES.into_iter().enumerate() {
                    for alignment in ALIGNMENTS {
                        let offset = 4096 + step * 64 + alignment;
                        members.update(&code, offset, bytes);
                        members.assert_equal(offset - 128, offset + bytes + 128, || {
                            format!("{mechanism}, {flush}, {bytes} bytes at {offset}")
                        });
                    }
                }
                members.assert_equal(0, MEMBER_BYTES, || format!("{mechanism}, {flush}"));
            }
        }
    }
}

#[test]
fn large_updates_reach_every_member() {
    for replica_count in [0, 1, 3, 7] {
        let mut members = Members::new(replica_count, StreamFlavour::best());
        members.targets.start_workers().unwrap();
        for mechanism in mechanisms() {
            let code = routines(mechanism, FlushFlavour::best(), replica_count).unwrap();
            for offset in [8192, 8193, 12284] {
                members.update(&code, offset, 70_000);
                members.assert_equal(0, MEMBER_BYTES, || format!("{mechanism} at {offset}"));
            }
        }
    }
}

#[test]
fn workers_do_any_size_with_any_flavour() {
    for replica_count in 1..=7 {
        let mut members = Members::new(replica_count, StreamFlavour::best());
        members.targets.start_workers().unwrap();
        for mechanism in mechanisms().filter(|mechanism| mechanism.needs_workers()) {
            for flush in instructions() {
                let code = routines(mechanism, flush, replica_count).unwrap();
                for bytes in [0, 1, 4, 63, 65, 5000] {
                    members.update(&code, 4091, bytes);
                }
                members.assert_equal(0, MEMBER_BYTES, || format!("{mechanism}, {flush}"));
            }
        }
    }
}

#[test]
fn every_stream_flavour_copies_exactly() {
    for stream in StreamFlavour::available() {
        let mut members = Members::new(2, stream);
        for mechanism in mechanisms().filter(|mechanism| !mechanism.needs_workers()) {
            let code = routines(mechanism, FlushFlavour::best(), 2).unwrap();
            for bytes in SIZES {
                for alignment in ALIGNMENTS {
                    members.update(&code, 4096 + alignment, bytes);
                }
            }
            members.assert_equal(0, MEMBER_BYTES, || format!("{mechanism}, {stream}"));
        }
    }
}

#[test]
fn without_workers_their_mechanisms_still_replicate() {
    let mut members = Members::new(3, StreamFlavour::best());
    for mechanism in mechanisms().filter(|mechanism| mechanism.needs_workers()) {
        let code = routines(mechanism, FlushFlavour::best(), 3).unwrap();
        for bytes in SIZES {
            members.update(&code, 8190, bytes);
        }
        members.assert_equal(0, MEMBER_BYTES, || mechanism.to_string());
    }
}

#[test]
fn writer_may_be_another_thread_each_time() {
    let mut members = Members::new(2, StreamFlavour::best());
    members.targets.start_workers().unwrap();
    let code = routines("Threads".parse().unwrap(), FlushFlavour::best(), 2).unwrap();
    let source = [7; 300];
    members.model[64..364].copy_from_slice(&source);
    for _ in 0..20 {
        let targets = &members.targets;
        std::thread::scope(|scope| {
            scope.spawn(move || {
                // SAFETY: as in `Members::update`; one thread at a time.
                unsafe { (code.write)(targets, 64, source.as_ptr(), source.len()) };
                (code.drain)();
            });
        });
    }
    members.assert_equal(0, MEMBER_BYTES, || "handed between threads".into());
}

#[test]
fn workers_end_with_the_targets() {
    for replica_count in [1, 7] {
        for _ in 0..20 {
            let mut members = Members::new(replica_count, StreamFlavour::best());
            members.targets.start_workers().unwrap();
            members.targets.start_workers().unwrap();
        }
    }
}

#[test]
fn what_cannot_run_is_an_error_with_a_way_out() {
    let error = routines(Mechanism::PMDK, FlushFlavour::best(), 8).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    assert!(error.to_string().contains("PMDK") && error.to_string().contains('8'), "{error}");
    for mechanism in Mechanism::ALL.into_iter().filter(|mechanism| !mechanism.is_available()) {
        let error = routines(mechanism, FlushFlavour::best(), 1).unwrap_err();
        assert!(error.to_string().contains("AVX-512"), "{error}");
    }
    assert!(routines(Mechanism::PMDK, FlushFlavour::Msync, 1).is_ok());
}

proptest! {
    #[test]
    fn mechanisms_may_change_from_update_to_update(
        replica_count in 0usize..=7,
        updates in prop::collection::vec(
            (0..Mechanism::ALL.len(), 0usize..4, 0usize..60_000, 0usize..300), 1..40),
    ) {
        let mut members = Members::new(replica_count, StreamFlavour::best());
        for &(mechanism, flush, offset, bytes) in &updates {
            let mechanism = Mechanism::ALL[mechanism];
            let flushes = instructions();
            if mechanism.is_available() {
                let flush = flushes[flush % flushes.len()];
                let code = routines(mechanism, flush, replica_count).unwrap();
                members.update(&code, offset, bytes);
            }
        }
        members.assert_equal(0, MEMBER_BYTES, || format!("{updates:?}"));
    }
}
