//! The persistent heap through its public interface, against a plain model.

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod support;

use std::collections::BTreeMap;

use nacre_pmem::heap::{Extent, Heap, HeapStatistics};
use nacre_pmem::{Access, Domain, Error, ErrorKind, PoolSet, PoolSetOptions};
use proptest::prelude::*;
use tempfile::TempDir;

const DATA_BYTES: u64 = 1 << 20;

/// A pool set of two members that can be closed and opened.
struct Fixture {
    _directory: TempDir,
    domain: Domain,
}

impl Fixture {
    fn new() -> (Fixture, PoolSet) {
        let directory = support::shm_directory().unwrap_or_else(|| tempfile::tempdir().unwrap());
        let domain = Domain::create("heap", directory.path()).unwrap();
        let members = [domain.clone(), domain.clone()];
        let set = PoolSet::create("heap", &members, &PoolSetOptions::new(DATA_BYTES)).unwrap();
        (Fixture { _directory: directory, domain }, set)
    }

    fn open(&self) -> PoolSet {
        PoolSet::open("heap", &[self.domain.clone(), self.domain.clone()], Access::ReadWrite)
            .unwrap()
    }
}

fn alloc(set: &mut PoolSet, heap: &mut Heap, bytes: u64) -> Result<Extent, Error> {
    set.transaction(|tx| heap.alloc(tx, bytes))
}

fn free(set: &mut PoolSet, heap: &mut Heap, offset: u64) -> Result<(), Error> {
    set.transaction(|tx| heap.free(tx, offset))
}

/// An error for bodies that give up; any kind will do.
fn gives_up(set: &PoolSet) -> Error {
    set.read(u64::MAX, 1).unwrap_err()
}

#[test]
fn extents_are_large_enough_and_apart() {
    let (_fixture, mut set) = Fixture::new();
    let mut heap = Heap::create(&mut set).unwrap();
    let mut extents = Vec::new();
    for bytes in [0, 1, 64, 65, 512, 513, 4096, 5000, 32768, 32769, 100_000] {
        let extent = alloc(&mut set, &mut heap, bytes).unwrap();
        assert!(extent.bytes >= bytes && extent.offset.is_multiple_of(64));
        assert_eq!(heap.bytes_of(&set, extent.offset).unwrap(), extent.bytes);
        extents.push(extent);
    }
    extents.sort();
    assert!(extents.windows(2).all(|pair| pair[0].offset + pair[0].bytes <= pair[1].offset));
    assert_eq!(Heap::check(&set).unwrap().extents, extents);
}

#[test]
fn second_free_and_wild_offsets_are_refused() {
    let (_fixture, mut set) = Fixture::new();
    let mut heap = Heap::create(&mut set).unwrap();
    let small = alloc(&mut set, &mut heap, 100).unwrap();
    let other = alloc(&mut set, &mut heap, 100).unwrap();
    let large = alloc(&mut set, &mut heap, 100_000).unwrap();
    let before = Heap::check(&set).unwrap();
    let wild = [0, 1, set.data_offset(), small.offset + 64, large.offset + 16384, u64::MAX];
    for offset in wild {
        let error = free(&mut set, &mut heap, offset).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::DoubleFree, "{offset}: {error}");
    }
    assert_eq!(Heap::check(&set).unwrap(), before);
    for extent in [small, large] {
        let error = set
            .transaction(|tx| {
                heap.free(tx, extent.offset)?;
                heap.free(tx, extent.offset)
            })
            .unwrap_err();
        assert_eq!(error.kind(), ErrorKind::DoubleFree);
        free(&mut set, &mut heap, extent.offset).unwrap();
        let error = free(&mut set, &mut heap, extent.offset).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::DoubleFree);
    }
    assert_eq!(Heap::check(&set).unwrap().extents, [other]);
}

#[test]
fn freed_extent_is_not_handed_out_before_the_commit() {
    let (_fixture, mut set) = Fixture::new();
    let mut heap = Heap::create(&mut set).unwrap();
    for bytes in [100, 100_000] {
        let extent = alloc(&mut set, &mut heap, bytes).unwrap();
        let again = set
            .transaction(|tx| {
                heap.free(tx, extent.offset)?;
                heap.alloc(tx, bytes)
            })
            .unwrap();
        assert_ne!(again.offset, extent.offset);
        assert_eq!(alloc(&mut set, &mut heap, bytes).unwrap().offset, extent.offset);
    }
}

#[test]
fn full_heap_leaves_all_as_it_was() {
    let (_fixture, mut set) = Fixture::new();
    let mut heap = Heap::create(&mut set).unwrap();
    let mut extents = Vec::new();
    let error = loop {
        match alloc(&mut set, &mut heap, 3000) {
            Ok(extent) => extents.push(extent),
            Err(error) => break error,
        }
    };
    assert_eq!(error.kind(), ErrorKind::HeapFull, "{error}");
    let before = (Heap::check(&set).unwrap(), heap.statistics(&set).unwrap());
    let error = set
        .transaction(|tx| {
            heap.free(tx, extents[0].offset)?;
            heap.alloc(tx, 3000)
        })
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::HeapFull);
    assert_eq!((Heap::check(&set).unwrap(), heap.statistics(&set).unwrap()), before);
    for extent in extents {
        free(&mut set, &mut heap, extent.offset).unwrap();
    }
    let statistics = heap.statistics(&set).unwrap();
    assert_eq!(statistics.used_bytes, 0);
    assert_eq!(statistics.largest_free_bytes, statistics.bytes);
    alloc(&mut set, &mut heap, statistics.bytes).unwrap();
}

#[test]
fn holes_between_extents_merge() {
    let (_fixture, mut set) = Fixture::new();
    let mut heap = Heap::create(&mut set).unwrap();
    let extents: Vec<_> = (0..10).map(|_| alloc(&mut set, &mut heap, 40_000).unwrap()).collect();
    let rest = heap.statistics(&set).unwrap().largest_free_bytes;
    alloc(&mut set, &mut heap, rest).unwrap();
    for extent in extents.iter().step_by(2) {
        free(&mut set, &mut heap, extent.offset).unwrap();
    }
    assert_eq!(alloc(&mut set, &mut heap, 60_000).unwrap_err().kind(), ErrorKind::HeapFull);
    free(&mut set, &mut heap, extents[3].offset).unwrap();
    let merged = alloc(&mut set, &mut heap, 3 * 49_152).unwrap();
    assert_eq!(merged.offset, extents[2].offset);
    Heap::check(&set).unwrap();
}

#[test]
fn root_survives_and_follows_its_transaction() {
    let (fixture, mut set) = Fixture::new();
    let mut heap = Heap::create(&mut set).unwrap();
    assert_eq!(heap.root(&set).unwrap(), None);
    let root = set
        .transaction(|tx| {
            let extent = heap.alloc(tx, 200)?;
            tx.write_new(extent.offset, b"the root")?;
            heap.set_root(tx, extent.offset)?;
            Ok(extent)
        })
        .unwrap();
    let failed = set.transaction(|tx| {
        heap.set_root(tx, 0)?;
        Err::<(), _>(gives_up(tx.set()))
    });
    assert!(failed.is_err());
    let error = set.transaction(|tx| heap.set_root(tx, root.offset + 64)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::DoubleFree);
    drop(set);
    let mut set = fixture.open();
    let heap = Heap::open(&mut set).unwrap();
    assert_eq!(heap.root(&set).unwrap(), Some(root.offset));
    assert_eq!(set.read(root.offset, 8).unwrap(), b"the root");
}

#[test]
fn foreign_and_damaged_areas_are_told_apart() {
    let (_fixture, mut set) = Fixture::new();
    assert_eq!(Heap::open(&mut set).unwrap_err().kind(), ErrorKind::Foreign);
    let mut heap = Heap::create(&mut set).unwrap();
    let extent = alloc(&mut set, &mut heap, 64).unwrap();
    let base = set.data_offset().next_multiple_of(4096);
    let line = base + 4096;
    for (offset, words) in [(base + 16, "header"), (base + 64, "root"), (line, "span 0")] {
        let byte = set.read(offset, 1).unwrap()[0];
        set.update(offset, &[byte ^ 1]).unwrap();
        let error = Heap::open(&mut set).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Corrupt);
        assert!(error.to_string().contains(words), "{error}");
        assert_eq!(Heap::check(&set).unwrap_err().kind(), ErrorKind::Corrupt);
        if offset == line {
            let error = free(&mut set, &mut heap, extent.offset).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Corrupt, "{error}");
            assert!(error.to_string().contains(&line.to_string()), "{error}");
        }
        set.update(offset, &[byte]).unwrap();
    }
    free(&mut set, &mut heap, extent.offset).unwrap();
    let newer = Heap::open(&mut set).unwrap();
    assert_eq!(alloc(&mut set, &mut heap, 1).unwrap_err().kind(), ErrorKind::Foreign);
    drop(newer);
}

#[test]
fn heap_with_something_in_it_is_not_replaced() {
    let (_fixture, mut set) = Fixture::new();
    let mut heap = Heap::create(&mut set).unwrap();
    let extent = alloc(&mut set, &mut heap, 100).unwrap();
    assert_eq!(Heap::create(&mut set).unwrap_err().kind(), ErrorKind::AlreadyExists);
    free(&mut set, &mut heap, extent.offset).unwrap();
    // Nothing is in it, as in what a structure leaves whose creation was cut off.
    let mut heap = Heap::create(&mut set).unwrap();
    alloc(&mut set, &mut heap, 100).unwrap();
    let base = set.data_offset().next_multiple_of(4096);
    set.update(base + 20, &[0xff]).unwrap();
    assert_eq!(Heap::create(&mut set).unwrap_err().kind(), ErrorKind::Corrupt);
}

#[test]
fn area_without_room_is_refused() {
    let (_fixture, mut set) = Fixture::new();
    let error = Heap::create_bounded(&mut set, u64::MAX).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::HeapFull, "{error}");
}

#[derive(Clone, Debug)]
enum Step {
    Alloc(u64),
    Free(usize),
}

/// Steps of a transaction, and whether it gives up at the end.
#[derive(Clone, Debug)]
struct Deed {
    steps: Vec<Step>,
    gives_up: bool,
    reopens: bool,
}

fn deeds() -> impl Strategy<Value = Vec<Deed>> {
    let bytes = prop_oneof![4 => 1..600u64, 3 => 600..33_000u64, 1 => 33_000..200_000u64];
    let step =
        prop_oneof![3 => bytes.prop_map(Step::Alloc), 2 => (0..1000usize).prop_map(Step::Free)];
    let steps = proptest::collection::vec(step, 1..8);
    let deed = (steps, prop::bool::weighted(0.25), prop::bool::weighted(0.1))
        .prop_map(|(steps, gives_up, reopens)| Deed { steps, gives_up, reopens });
    proptest::collection::vec(deed, 1..60)
}

/// Runs a transaction on heap and model; the model is kept if it commits.
fn perform(set: &mut PoolSet, heap: &mut Heap, model: &mut BTreeMap<u64, u64>, deed: &Deed) {
    let mut next = model.clone();
    let mut freed = Vec::new();
    let result = set.transaction(|tx| {
        for step in &deed.steps {
            match step {
                Step::Alloc(bytes) => match heap.alloc(tx, *bytes) {
                    Ok(extent) => {
                        let end = extent.offset + extent.bytes;
                        let before = next.range(..end).next_back();
                        assert!(before.is_none_or(|(at, bytes)| at + bytes <= extent.offset));
                        assert!(!freed.contains(&extent.offset), "freed in this transaction");
                        next.insert(extent.offset, extent.bytes);
                    }
                    Err(error) => assert_eq!(error.kind(), ErrorKind::HeapFull),
                },
                Step::Free(index) if !next.is_empty() => {
                    let offset = *next.keys().nth(index % next.len()).unwrap();
                    heap.free(tx, offset)?;
                    assert_eq!(heap.free(tx, offset).unwrap_err().kind(), ErrorKind::DoubleFree);
                    next.remove(&offset);
                    freed.push(offset);
                }
                Step::Free(_) => {}
            }
        }
        if deed.gives_up { Err(gives_up(tx.set())) } else { Ok(()) }
    });
    assert_eq!(result.is_err(), deed.gives_up);
    if result.is_ok() {
        *model = next;
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 40, max_shrink_iters: 200, ..ProptestConfig::default()
    })]

    #[test]
    fn heap_agrees_with_a_model_through_aborts_and_reopening(deeds in deeds()) {
        let (fixture, mut set) = Fixture::new();
        let mut heap = Heap::create(&mut set).unwrap();
        let mut model = BTreeMap::new();
        for deed in &deeds {
            perform(&mut set, &mut heap, &mut model, deed);
            let kept = heap.statistics(&set).unwrap();
            if deed.reopens {
                drop(set);
                set = fixture.open();
                heap = Heap::open(&mut set).unwrap();
                prop_assert_eq!(heap.statistics(&set).unwrap(), kept);
            }
            let report = Heap::check(&set).unwrap();
            let found: Vec<_> = report.extents.iter().map(|e| (e.offset, e.bytes)).collect();
            prop_assert_eq!(found, model.clone().into_iter().collect::<Vec<_>>());
            let HeapStatistics { used_bytes, free_run_bytes, largest_free_bytes, .. } = kept;
            let counted = (report.used_bytes, report.free_run_bytes, report.largest_free_bytes);
            prop_assert_eq!((used_bytes, free_run_bytes, largest_free_bytes), counted);
        }
    }
}

#[test]
fn root_is_freed_only_after_it_was_moved_or_cleared() {
    for bytes in [64, 100_000] {
        let (fixture, mut set) = Fixture::new();
        let mut heap = Heap::create(&mut set).unwrap();
        let old = alloc(&mut set, &mut heap, bytes).unwrap().offset;
        let new = alloc(&mut set, &mut heap, bytes).unwrap().offset;
        set.transaction(|tx| heap.set_root(tx, old)).unwrap();
        let error = free(&mut set, &mut heap, old).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::IsRoot);
        // A move that is rolled back is none.
        let moved = set.transaction(|tx| {
            heap.set_root(tx, new)?;
            heap.free(tx, old)?;
            Err::<(), _>(gives_up(tx.set()))
        });
        moved.unwrap_err();
        assert_eq!(free(&mut set, &mut heap, old).unwrap_err().kind(), ErrorKind::IsRoot);
        set.transaction(|tx| {
            heap.set_root(tx, new)?;
            heap.free(tx, old)?;
            assert_eq!(heap.set_root(tx, old).unwrap_err().kind(), ErrorKind::DoubleFree);
            assert_eq!(heap.free(tx, new).unwrap_err().kind(), ErrorKind::IsRoot);
            Ok(())
        })
        .unwrap();
        assert_eq!(heap.root(&set).unwrap(), Some(new));
        drop((heap, set));
        let mut set = fixture.open();
        let mut heap = Heap::open(&mut set).unwrap();
        assert_eq!(free(&mut set, &mut heap, new).unwrap_err().kind(), ErrorKind::IsRoot);
        set.transaction(|tx| {
            heap.set_root(tx, 0)?;
            heap.free(tx, new)
        })
        .unwrap();
        assert_eq!(heap.root(&set).unwrap(), None);
        assert!(Heap::check(&set).unwrap().extents.is_empty());
    }
}
