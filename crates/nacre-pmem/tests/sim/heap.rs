//! The persistent heap: after a crash every extent belongs to exactly one owner.

use nacre_pmem::heap::Heap;
use nacre_pmem::sim::{Crash, Marks, Outcome};
use nacre_pmem::{Domain, PoolSet};

use crate::script::{check_members, create_with, done, open};
use crate::support::{self, Random, line_copies};

const DATA_BYTES: u64 = 512 << 10;
const SLOTS: usize = 12;

/// What a slot of the table refers to: an extent of so many bytes, all of this value.
type Slot = Option<(u64, u8)>;

/// What each transaction puts into which slots; and all slots after each of them.
struct Plan {
    steps: Vec<Vec<(usize, Slot)>>,
    states: Vec<[Slot; SLOTS]>,
}

impl Plan {
    fn random(seed: u64, count: usize) -> Plan {
        let mut random = Random::new(seed);
        let mut state = [None; SLOTS];
        let mut plan = Plan { steps: Vec::new(), states: vec![state] };
        for number in 0..count {
            let mut step = Vec::new();
            for _ in 0..1 + random.below(3) {
                let slot = random.below(SLOTS as u64) as usize;
                if step.iter().any(|&(known, _)| known == slot) {
                    continue;
                }
                let bytes = [24, 64, 100, 400, 3000, 20_000][random.below(6) as usize];
                let is_freed = state[slot].is_some() && random.below(2) == 0;
                state[slot] = (!is_freed).then_some((bytes, number as u8 + 1));
                step.push((slot, state[slot]));
            }
            plan.steps.push(step);
            plan.states.push(state);
        }
        plan
    }
}

fn setup(domains: &[Domain]) -> Outcome {
    let mut set = create_with(domains, DATA_BYTES)?;
    let mut heap = Heap::create(&mut set)?;
    set.transaction(|tx| {
        let table = heap.alloc(tx, 8 * SLOTS as u64)?;
        tx.write_new(table.offset, &[0; 8 * SLOTS])?;
        heap.set_root(tx, table.offset)
    })?;
    Ok(())
}

fn workload(domains: &[Domain], plan: &Plan, seed: u64, marks: &Marks<'_>) -> Outcome {
    let mut set = open(domains)?;
    let mut heap = Heap::open(&mut set)?;
    let table = heap.root(&set)?.ok_or("no root")?;
    let mut random = Random::new(seed ^ 0xBEEF);
    for (number, step) in plan.steps.iter().enumerate() {
        if random.below(5) == 0 {
            // A transaction that fails must leave nothing allocated.
            let failed = set.transaction(|tx| {
                heap.alloc(tx, 500)?;
                heap.alloc(tx, 1 << 40)
            });
            assert!(failed.is_err());
        }
        set.transaction(|tx| {
            for &(slot, content) in step {
                let place = table + 8 * slot as u64;
                let old = tx.load_u64(place)?;
                if old != 0 {
                    heap.free(tx, old)?;
                }
                let offset = match content {
                    None => 0,
                    Some((bytes, value)) => {
                        let extent = heap.alloc(tx, bytes)?;
                        tx.write_new(extent.offset, &vec![value; bytes as usize])?;
                        extent.offset
                    }
                };
                tx.write(place, &offset.to_le_bytes())?;
            }
            Ok(())
        })?;
        marks.note(number as u64 + 1);
    }
    Ok(())
}

/// Whether the table refers to extents as `state` says.
fn matches(set: &PoolSet, table: u64, state: &[Slot; SLOTS]) -> nacre_pmem::Result<bool> {
    for (slot, content) in state.iter().enumerate() {
        let offset = set.load_u64(table + 8 * slot as u64)?;
        let is_right = match *content {
            None => offset == 0,
            Some((bytes, value)) => {
                offset != 0 && set.read(offset, bytes)?.iter().all(|&byte| byte == value)
            }
        };
        if !is_right {
            return Ok(false);
        }
    }
    Ok(true)
}

fn check(crash: &Crash<'_>, plan: &Plan) -> Outcome {
    let mut set = open(crash.domains())?;
    let mut heap = Heap::open(&mut set)?;
    crash.recovered();
    let table = heap.root(&set)?.ok_or("no root")?;
    let done = done(crash);
    let is_next = match plan.states.get(done + 1) {
        Some(next) => matches(&set, table, next)?,
        None => false,
    };
    if !is_next && !matches(&set, table, &plan.states[done])? {
        return Err(format!("slots are neither as after {done} transactions nor one more").into());
    }
    check_owners(&set, table)?;
    check_members(&set)?;
    let extent = set.transaction(|tx| heap.alloc(tx, 777))?;
    set.transaction(|tx| heap.free(tx, extent.offset))?;
    check_owners(&set, table)
}

/// Every extent that is handed out is in the table once, or is the table.
fn check_owners(set: &PoolSet, table: u64) -> Outcome {
    let mut owned = vec![table];
    for slot in 0..SLOTS as u64 {
        owned.extend(Some(set.load_u64(table + 8 * slot)?).filter(|&offset| offset != 0));
    }
    owned.sort_unstable();
    let report = Heap::check(set)?;
    let mut found: Vec<u64> = report.extents.iter().map(|extent| extent.offset).collect();
    found.sort_unstable();
    if owned != found {
        return Err(format!("extents {found:?}, but the owners have {owned:?}").into());
    }
    let mut end = 0;
    for extent in &report.extents {
        if extent.offset < end {
            return Err(format!("{extent:?} overlaps the one before").into());
        }
        end = extent.offset + extent.bytes;
    }
    Ok(())
}

#[test]
fn no_extent_is_lost_or_used_twice() {
    for copies in 1..3 {
        support::explore(&format!("heap, {copies} members"), 8, |explorer, seed| {
            let plan = Plan::random(seed, 16);
            explorer.media(&line_copies(seed, copies)).run(
                setup,
                |domains, marks| workload(domains, &plan, seed, marks),
                |crash| check(crash, &plan),
            )
        });
    }
}
