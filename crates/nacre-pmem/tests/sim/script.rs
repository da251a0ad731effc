//! Seeded changes of the data area of a pool set, and what may be found after a crash in them.

use nacre_pmem::set::{DATA_OFFSET, MemberCondition};
use nacre_pmem::sim::{Crash, Marks, Outcome};
use nacre_pmem::{Access, Domain, PoolSet, PoolSetOptions};

use crate::support::Random;

/// Bytes of the data area: some pages and lines, and quick to compare.
pub(crate) const DATA_BYTES: u64 = 12 << 10;

/// Bytes at the begin of the data area that are changed again and again.
const HOT_BYTES: u64 = 96;

/// Bytes of the transaction log.
pub(crate) const LOG_BYTES: u64 = 16 << 10;

pub(crate) const NAME: &str = "set";

/// One change; places are relative to the data area.
#[derive(Clone, Debug)]
pub(crate) enum Change {
    Update(u64, Vec<u8>),
    Batch(Vec<(u64, Vec<u8>)>),
    Publish(u64, u64),
}

/// Changes with the content after each of them; content 0 is before the first.
#[derive(Clone, Debug)]
pub(crate) struct Script {
    pub(crate) changes: Vec<Change>,
    pub(crate) contents: Vec<Vec<u8>>,
}

impl Change {
    fn random(random: &mut Random, last: &mut u64) -> Change {
        match random.below(10) {
            0..5 => {
                let (offset, bytes) = write(random, last);
                Change::Update(offset, bytes)
            }
            5..8 => {
                let count = 1 + random.below(5);
                Change::Batch((0..count).map(|_| write(random, last)).collect())
            }
            _ => {
                let room = if random.below(2) == 0 { HOT_BYTES } else { DATA_BYTES };
                Change::Publish(random.below(room / 8) * 8, random.next())
            }
        }
    }

    /// Returns the single writes.
    pub(crate) fn writes(&self) -> Vec<(u64, Vec<u8>)> {
        match self {
            Change::Update(offset, bytes) => vec![(*offset, bytes.clone())],
            Change::Batch(writes) => writes.clone(),
            Change::Publish(offset, value) => vec![(*offset, value.to_le_bytes().to_vec())],
        }
    }

    /// Returns where it writes.
    fn places(&self) -> Vec<std::ops::Range<u64>> {
        let place = |(offset, bytes): &(u64, Vec<u8>)| *offset..offset + bytes.len() as u64;
        self.writes().iter().map(place).collect()
    }

    pub(crate) fn run(&self, set: &mut PoolSet) -> nacre_pmem::Result<()> {
        let base = set.data_offset();
        match self {
            Change::Update(offset, bytes) => set.update(base + offset, bytes),
            Change::Batch(writes) => {
                let update = |(offset, bytes): &(u64, Vec<u8>)| (base + offset, bytes.clone());
                let updates: Vec<(u64, Vec<u8>)> = writes.iter().map(update).collect();
                let updates: Vec<(u64, &[u8])> =
                    updates.iter().map(|(offset, bytes)| (*offset, &bytes[..])).collect();
                set.update_batch(&updates)
            }
            Change::Publish(offset, value) => set.publish_u64(base + offset, *value),
        }
    }
}

/// A write of a size that mechanisms tell apart, often within a word or a line.
fn write(random: &mut Random, last: &mut u64) -> (u64, Vec<u8>) {
    let bytes = match random.below(8) {
        0 => 1 + random.below(8),
        1 => 8,
        2..5 => 4,
        5 => 1 + random.below(200),
        6 => 64 * (1 + random.below(4)),
        _ => 256 + random.below(400),
    };
    let align = [1, 4, 8, 64][random.below(4) as usize];
    // Half of them meet in a few lines, and some begin where the one before did, so that later
    // writes change what earlier ones wrote.
    let room = if random.below(2) == 0 { HOT_BYTES } else { DATA_BYTES - bytes };
    let mut offset = random.below(room / align) * align;
    if random.below(3) == 0 && *last + bytes <= DATA_BYTES {
        offset = *last;
    }
    *last = offset;
    (offset, random.bytes(bytes as usize))
}

impl Script {
    pub(crate) fn random(seed: u64, count: usize) -> Script {
        let mut random = Random::new(seed);
        let (mut content, mut last) = (vec![0; DATA_BYTES as usize], 0);
        let mut script = Script { changes: Vec::new(), contents: vec![content.clone()] };
        for _ in 0..count {
            let change = Change::random(&mut random, &mut last);
            for (offset, bytes) in change.writes() {
                put(&mut content, offset, &bytes);
            }
            script.changes.push(change);
            script.contents.push(content.clone());
        }
        script
    }

    /// Runs all changes and marks each with its number, from 1.
    pub(crate) fn run(&self, set: &mut PoolSet, marks: &Marks<'_>) -> Outcome {
        for (number, change) in self.changes.iter().enumerate() {
            change.run(set)?;
            marks.note(number as u64 + 1);
        }
        Ok(())
    }

    /// Checks that `found` has the first `done` changes, and of the next one nothing but whole
    /// words.
    pub(crate) fn check(&self, found: &[u8], done: usize) -> Outcome {
        let expected = &self.contents[done];
        if found == expected {
            return Ok(());
        }
        let mut allowed = vec![expected.clone()];
        for (offset, bytes) in self.changes.get(done).map(Change::writes).unwrap_or_default() {
            let mut content = allowed[allowed.len() - 1].clone();
            put(&mut content, offset, &bytes);
            allowed.push(content);
        }
        for start in (0..found.len()).step_by(8) {
            let range = start..(start + 8).min(found.len());
            let bytes = &found[range.clone()];
            if !allowed.iter().any(|content| &content[range.clone()] == bytes) {
                let expected = &expected[range.clone()];
                let next = self.changes.get(done).map(Change::places);
                return Err(format!(
                    "data at {range:?} is {bytes:?}, not {expected:?}, after {done} changes; \
                     next are {next:?}"
                )
                .into());
            }
        }
        Ok(())
    }
}

fn put(content: &mut [u8], offset: u64, bytes: &[u8]) {
    content[offset as usize..offset as usize + bytes.len()].copy_from_slice(bytes);
}

/// Returns how many changes were acknowledged.
pub(crate) fn done(crash: &Crash<'_>) -> usize {
    crash.marks().last().copied().unwrap_or(0) as usize
}

/// Creates the pool set.
pub(crate) fn create(domains: &[Domain]) -> nacre_pmem::Result<PoolSet> {
    create_with(domains, DATA_BYTES)
}

/// Creates a pool set with a data area of `data_bytes` bytes.
pub(crate) fn create_with(domains: &[Domain], data_bytes: u64) -> nacre_pmem::Result<PoolSet> {
    let options = PoolSetOptions { log_bytes: LOG_BYTES, ..PoolSetOptions::new(data_bytes) };
    PoolSet::create(NAME, domains, &options)
}

pub(crate) fn open(domains: &[Domain]) -> nacre_pmem::Result<PoolSet> {
    PoolSet::open(NAME, domains, Access::ReadWrite)
}

/// Returns the data area as the serving member has it.
pub(crate) fn data(set: &PoolSet) -> nacre_pmem::Result<&[u8]> {
    set.read(set.data_offset(), set.end_offset() - set.data_offset())
}

/// Checks that all members are good and have the same bytes from the transaction log on.
pub(crate) fn check_members(set: &PoolSet) -> Outcome {
    for state in set.member_states() {
        if state.condition != MemberCondition::Good {
            return Err(format!("a member is not good: {state:?}").into());
        }
    }
    let bytes = set.end_offset() - DATA_OFFSET;
    let first = set.read(DATA_OFFSET, bytes)?;
    for state in set.member_states() {
        let other = set.read_member(state.index, DATA_OFFSET, bytes)?;
        if first != other {
            let place = first.iter().zip(other).position(|(a, b)| a != b);
            return Err(format!("{state:?} differs at {DATA_OFFSET} + {place:?}").into());
        }
    }
    Ok(())
}
