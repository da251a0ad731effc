//! The persistent heap: a crash leaks no extent and hands none out twice.

use std::collections::BTreeMap;

use nacre_pmem::heap::Heap;
use nacre_pmem::set::MemberCondition;
use nacre_pmem::sim::{Crash, Explorer, Marks, Outcome, Report, Violation};
use nacre_pmem::{Access, Domain, Error, PoolSet, PoolSetOptions};

use crate::support::{self, Random, bytes, lines, pages};

const NAME: &str = "heap";
const DATA_BYTES: u64 = 256 << 10;
const DEEDS: usize = 16;

/// What the heap holds: offset to bytes of each extent, and the root.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Content {
    extents: BTreeMap<u64, u64>,
    root: Option<u64>,
}

fn create(domains: &[Domain]) -> Outcome {
    let options = PoolSetOptions { undo_bytes: 16 << 10, ..PoolSetOptions::new(DATA_BYTES) };
    let mut set = PoolSet::create(NAME, domains, &options)?;
    Heap::create_bounded(&mut set, DATA_BYTES)?;
    Ok(())
}

fn open(domains: &[Domain]) -> nacre_pmem::Result<(PoolSet, Heap)> {
    let mut set = PoolSet::open(NAME, domains, Access::ReadWrite)?;
    let heap = Heap::open(&mut set)?;
    Ok((set, heap))
}

fn refusal(set: &PoolSet) -> Error {
    match set.read(u64::MAX, 1) {
        Ok(_) => unreachable!("that is out of range"),
        Err(error) => error,
    }
}

/// Does the same as long as the heap does; returns the content after each deed.
fn run(set: &mut PoolSet, heap: &mut Heap, seed: u64, marks: Option<&Marks<'_>>) -> Vec<Content> {
    let mut random = Random::new(seed);
    let mut contents = vec![Content::default()];
    for number in 0..DEEDS {
        let mut next = contents[number].clone();
        let fails = random.below(5) == 0;
        let result = set.transaction(|tx| {
            for _ in 0..1 + random.below(4) {
                let offset = next.extents.keys().copied().nth(random.below(6) as usize);
                if let Some(offset) = offset.filter(|_| random.below(2) == 0) {
                    if next.root == Some(offset) {
                        heap.set_root(tx, 0)?;
                        next.root = None;
                    }
                    heap.free(tx, offset)?;
                    next.extents.remove(&offset);
                    continue;
                }
                let most = [100, 3000, 40_000][random.below(3) as usize];
                let wanted = 1 + random.below(most);
                let Ok(extent) = heap.alloc(tx, wanted) else { continue };
                tx.write_new(extent.offset, &extent.offset.to_le_bytes())?;
                next.extents.insert(extent.offset, extent.bytes);
                if random.below(3) == 0 {
                    heap.set_root(tx, extent.offset)?;
                    next.root = Some(extent.offset);
                }
            }
            if fails { Err(refusal(tx.set())) } else { Ok(()) }
        });
        assert_eq!(result.is_err(), fails, "{result:?}");
        contents.push(if fails { contents[number].clone() } else { next });
        if let Some(marks) = marks {
            marks.note(number as u64 + 1);
        }
    }
    contents
}

fn check(crash: &Crash<'_>, contents: &[Content]) -> Outcome {
    let (mut set, mut heap) = open(crash.domains())?;
    crash.recovered();
    let report = Heap::check(&set)?;
    let extents = report.extents.iter().map(|extent| (extent.offset, extent.bytes)).collect();
    let found = Content { extents, root: report.root };
    let done = crash.marks().last().copied().unwrap_or(0) as usize;
    if found != contents[done] && contents.get(done + 1) != Some(&found) {
        return Err(format!("after {done}: {found:?}, not {:?}", contents[done]).into());
    }
    for &offset in found.extents.keys() {
        if set.load_u64(offset)? != offset {
            return Err(format!("content of the extent at {offset} is lost").into());
        }
    }
    if set.member_states().iter().any(|state| state.condition != MemberCondition::Good) {
        return Err("a member is not good".into());
    }
    // All can be given back, and then all of it handed out as one.
    set.transaction(|tx| found.extents.keys().try_for_each(|&offset| heap.free(tx, offset)))?;
    let bytes = heap.statistics(&set)?.bytes;
    set.transaction(|tx| {
        heap.set_root(tx, 0)?;
        heap.alloc(tx, bytes)
    })?;
    Heap::check(&set)?;
    Ok(())
}

/// Returns what the heap holds after each deed, found out by doing them without a crash.
fn contents(seed: u64) -> Vec<Content> {
    let domains = [Domain::dram("plain")];
    let opened = create(&domains).and_then(|()| Ok(open(&domains)?));
    let (mut set, mut heap) = opened.unwrap_or_else(|_| panic!("no heap in DRAM"));
    run(&mut set, &mut heap, seed, None)
}

fn explore(explorer: &Explorer, seed: u64) -> Result<Report, Violation> {
    let contents = contents(seed);
    explorer.run(
        create,
        |domains, marks| {
            let (mut set, mut heap) = open(domains)?;
            run(&mut set, &mut heap, seed, Some(marks));
            Ok(())
        },
        |crash| check(crash, &contents),
    )
}

#[test]
fn heap_leaks_nothing_and_frees_nothing_twice() {
    for copies in 1..3 {
        support::explore(&format!("heap, {copies} members"), 4, |explorer, seed| {
            let media: Vec<_> = (0..copies).map(|copy| lines(seed + copy)).collect();
            explore(&explorer.media(&media), seed)
        });
    }
}

#[test]
fn heap_leaks_nothing_on_other_media() {
    for media in [pages(), bytes()] {
        support::explore("heap, pages or bytes", 1, |explorer, seed| {
            explore(&explorer.media(&[media, media]), seed)
        });
    }
}
