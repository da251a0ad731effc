//! The seven transactions of TATP and their mix.
//!
//! | percent | transaction |
//! |---|---|
//! | 35 | a subscriber's data |
//! | 10 | where a call goes |
//! | 35 | access data |
//! | 2 | update of a bit and of a facility |
//! | 14 | update of a location, by number |
//! | 2 | call forwarding begins |
//! | 2 | call forwarding ends |

use std::ops::{Bound, ControlFlow};

use nacre_store::ValueRef::{Bytes, Int};
use nacre_store::index::Direction;
use nacre_store::{Error, Result};

use super::load::{
    BIT_1, CLIENT, START_TIMES, SUBSCRIBER_COLUMNS, Tables, VLR_LOCATION, number_of,
};
use crate::oltp::table::{bytes, int};
use crate::oltp::work::{Outcome, System, Work, end};
use crate::workload::Random;

/// All columns of a subscriber.
const ALL: [usize; SUBSCRIBER_COLUMNS] = {
    let mut all = [0; SUBSCRIBER_COLUMNS];
    let mut column = 0;
    while column < all.len() {
        all[column] = column;
        column += 1;
    }
    all
};

/// What became of transactions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    pub(crate) committed: u64,
    /// They found no row, or one too many, as the benchmark wants it now and then.
    pub(crate) failed: u64,
    pub(crate) conflicts: u64,
}

/// What one transaction asks for.
struct Input {
    subscriber: u64,
    kind: i64,
    start: i64,
    /// A number without a meaning.
    value: u64,
}

/// Runs `count` transactions of the mix, one after the other.
///
/// # Errors
/// Those of the engine but conflicts.
pub(crate) fn run<S: System>(
    system: &mut S,
    tables: &Tables,
    subscribers: u64,
    seed: u64,
    count: u64,
) -> Result<Counts> {
    let mut random = Random::of_row(CLIENT, seed);
    let mut counts = Counts::default();
    // The constant of the skew for so many subscribers.
    let skew = if subscribers <= 1_000_000 { 65_535 } else { 1_048_575 };
    for _ in 0..count {
        let either = random.below(skew + 1) | random.between(1, subscribers);
        let input = Input {
            subscriber: either % subscribers + 1,
            kind: random.between(1, 4) as i64,
            start: *random.one_of(&START_TIMES),
            value: random.bits(),
        };
        let which = random.below(100);
        let mut work = system.begin();
        let kept = body(&mut work, tables, &input, which);
        match end(system, work, kept)? {
            Outcome::Committed => counts.committed += 1,
            Outcome::RolledBack => counts.failed += 1,
            Outcome::Conflict => counts.conflicts += 1,
        }
    }
    Ok(counts)
}

fn body<W: Work>(work: &mut W, tables: &Tables, input: &Input, which: u64) -> Result<bool> {
    match which {
        0..35 => subscriber_data(work, tables, input),
        35..45 => new_destination(work, tables, input),
        45..80 => access_data(work, tables, input),
        80..82 => update_subscriber(work, tables, input),
        82..96 => update_location(work, tables, input),
        96..98 => insert_forwarding(work, tables, input),
        _ => delete_forwarding(work, tables, input),
    }
}

fn subscriber_data<W: Work>(work: &mut W, tables: &Tables, input: &Input) -> Result<bool> {
    let mut is_found = false;
    let key = [Int(input.subscriber as i64)];
    work.lookup(&tables.subscriber, &key, &ALL, |_, values| {
        is_found = true;
        std::hint::black_box(values);
    })?;
    Ok(is_found)
}

fn new_destination<W: Work>(work: &mut W, tables: &Tables, input: &Input) -> Result<bool> {
    let (s, kind) = (Int(input.subscriber as i64), Int(input.kind));
    let mut is_active = false;
    work.lookup(&tables.special_facility, &[s, kind], &[2], |_, values| {
        is_active = int(values[0]) == 1;
    })?;
    if !is_active {
        return Ok(false);
    }
    let end_time = input.start + (input.value % 8) as i64 + 1;
    let (low, high) = ([s, kind], [s, kind, Int(input.start)]);
    let bounds = (Bound::Included(&low[..]), Bound::Included(&high[..]));
    let mut is_found = false;
    let columns = [3, 4];
    work.range(&tables.call_forwarding, bounds, Direction::Ascending, &columns, |_, values| {
        if int(values[0]) > end_time {
            is_found = true;
            std::hint::black_box(bytes(values[1]));
        }
        ControlFlow::Continue(())
    })?;
    Ok(is_found)
}

fn access_data<W: Work>(work: &mut W, tables: &Tables, input: &Input) -> Result<bool> {
    let mut is_found = false;
    let key = [Int(input.subscriber as i64), Int(input.kind)];
    work.lookup(&tables.access_info, &key, &[2, 3, 4, 5], |_, values| {
        is_found = true;
        std::hint::black_box(values);
    })?;
    Ok(is_found)
}

fn update_subscriber<W: Work>(work: &mut W, tables: &Tables, input: &Input) -> Result<bool> {
    let s = Int(input.subscriber as i64);
    let mut row = None;
    work.lookup(&tables.subscriber, &[s], &[], |found, _| row = Some(found))?;
    let Some(row) = row else {
        return Ok(false);
    };
    work.update(&tables.subscriber, row, &[(BIT_1, Int((input.value & 1) as i64))])?;
    let mut row = None;
    work.lookup(&tables.special_facility, &[s, Int(input.kind)], &[], |found, _| {
        row = Some(found);
    })?;
    let Some(row) = row else {
        return Ok(false);
    };
    work.update(&tables.special_facility, row, &[(4, Int((input.value >> 8 & 255) as i64))])?;
    Ok(true)
}

/// Returns the subscriber of a number.
fn by_number<W: Work>(work: &mut W, tables: &Tables, input: &Input) -> Result<Option<i64>> {
    let number = number_of(input.subscriber);
    let mut found = None;
    work.lookup(&tables.subscriber_number, &[Bytes(&number)], &[1], |_, values| {
        found = Some(int(values[0]));
    })?;
    Ok(found)
}

fn update_location<W: Work>(work: &mut W, tables: &Tables, input: &Input) -> Result<bool> {
    let Some(subscriber) = by_number(work, tables, input)? else {
        return Ok(false);
    };
    let mut row = None;
    work.lookup(&tables.subscriber, &[Int(subscriber)], &[], |found, _| row = Some(found))?;
    let Some(row) = row else {
        return Ok(false);
    };
    let location = Int((input.value & 0x7fff_ffff) as i64);
    work.update(&tables.subscriber, row, &[(VLR_LOCATION, location)])?;
    Ok(true)
}

fn insert_forwarding<W: Work>(work: &mut W, tables: &Tables, input: &Input) -> Result<bool> {
    let Some(subscriber) = by_number(work, tables, input)? else {
        return Ok(false);
    };
    let s = Int(subscriber);
    let bounds = (Bound::Included(&[s][..]), Bound::Included(&[s][..]));
    let mut is_possible = false;
    let columns = [1];
    work.range(&tables.special_facility, bounds, Direction::Ascending, &columns, |_, values| {
        is_possible |= int(values[0]) == input.kind;
        ControlFlow::Continue(())
    })?;
    if !is_possible {
        return Ok(false);
    }
    let number = number_of(input.value % 1_000_000_000);
    let end_time = input.start + (input.value % 8) as i64 + 1;
    let values = [s, Int(input.kind), Int(input.start), Int(end_time), Bytes(&number)];
    match work.insert(&tables.call_forwarding.table, &values) {
        Err(Error::DuplicateKey(_)) => Ok(false),
        inserted => inserted.map(|()| true),
    }
}

fn delete_forwarding<W: Work>(work: &mut W, tables: &Tables, input: &Input) -> Result<bool> {
    let Some(subscriber) = by_number(work, tables, input)? else {
        return Ok(false);
    };
    let key = [Int(subscriber), Int(input.kind), Int(input.start)];
    let mut row = None;
    work.lookup(&tables.call_forwarding, &key, &[], |found, _| row = Some(found))?;
    let Some(row) = row else {
        return Ok(false);
    };
    work.delete(&tables.call_forwarding, row)?;
    Ok(true)
}

#[cfg(test)]
mod tests {
    use nacre_store::{IsolationLevel, OpenOptions, Store};

    use super::super::load::load;
    use super::*;
    use crate::oltp::work::{MultiVersion, OneVersion};

    #[test]
    fn mix_does_the_same_with_and_without_versions() {
        let store = || Store::open(OpenOptions::default()).unwrap();
        let (ours, theirs) = (store(), store());
        let mut system = MultiVersion::new(&ours, IsolationLevel::Serializable);
        let mut without = OneVersion::default();
        let tables =
            [load(&ours, &mut system, 200).unwrap(), load(&theirs, &mut without, 200).unwrap()];
        let counts = run(&mut system, &tables[0], 200, 1, 5_000).unwrap();
        let same = run(&mut without, &tables[1], 200, 1, 5_000).unwrap();
        assert_eq!(counts, same);
        assert_eq!((counts.committed + counts.failed, counts.conflicts), (5_000, 0));
        // Some 4 of 5 transactions find what they look for.
        assert!((3_200..4_600).contains(&counts.committed), "{counts:?}");
        let rows = |store: &Store, tables: &Tables| {
            let mut rows = Vec::new();
            let mut reader = store.begin(IsolationLevel::RepeatableRead);
            reader
                .scan(&tables.call_forwarding.table, &[], &[0, 1, 2, 3], |_, values| {
                    rows.push(values.iter().map(|value| int(*value)).collect::<Vec<i64>>());
                })
                .unwrap();
            rows.sort_unstable();
            rows
        };
        assert_eq!(rows(&ours, &tables[0]), rows(&theirs, &tables[1]));
        assert_eq!(ours.version_count(), 0);
    }
}
