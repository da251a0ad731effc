//! Recovery of the transaction log when a pool set is opened.

use super::layout::{self, Entry, Slot};
use super::log::{self, Log};
use super::media;

use crate::error::{Error, ErrorKind, Result};
use crate::set::{DATA_OFFSET, PoolSet};

/// New bytes and where they belong.
type Write = (u64, Vec<u8>);

/// What the logs of the good members say.
struct Survey {
    /// The newest number on media.
    sequence: u64,
    /// Whether the newest slot is retired, by any member's log.
    is_retired: bool,
    /// What the live records wrote, in order.
    writes: Vec<Write>,
    /// Number of a member with the newest slot.
    index: u32,
    /// Whether the logs of all members say the same.
    is_unanimous: bool,
}

/// What one member's log says: its slots, the newer one first.
struct Found<'a> {
    index: u32,
    newer: Slot<'a>,
    older: Slot<'a>,
}

impl Found<'_> {
    fn sequence(&self) -> u64 {
        self.newer.sequence().unwrap_or(0)
    }

    fn is_retired(&self) -> bool {
        !matches!(self.newer, Slot::Live { .. })
    }
}

/// Lets the set go on behind what its log says. After a crash the records that are live are made
/// durable, stored in place, in every member, and retired. Repeating it is harmless: the records
/// stay as they are until their bytes are durable. A set that was closed has no live records, and
/// nothing is stored.
///
/// # Errors
/// `Corrupt` if the log is damaged where it matters; as for [`PoolSet::drain`].
pub(crate) fn recover(set: &mut PoolSet, is_unclean: bool) -> Result<()> {
    if !log::has_log(set) {
        return Ok(());
    }
    let survey = match survey(set) {
        Ok(survey) => survey,
        // Nothing in a log matters once the set was closed.
        Err(error) if !is_unclean && error.kind() == ErrorKind::Corrupt => {
            set.log = Log::recovered(0, true);
            return Ok(());
        }
        Err(error) => return Err(error),
    };
    set.log = Log::recovered(survey.sequence, !is_unclean && !survey.is_retired);
    if !is_unclean {
        return Ok(());
    }
    if !survey.writes.is_empty() {
        // A process that was killed may have stored a record and not lived to fence it: what is
        // stored in place now must not outlive it.
        set.persist_ranges(&[(DATA_OFFSET, set.data_offset())])?;
    }
    for (offset, new) in &survey.writes {
        media::store(set, *offset, new)?;
    }
    // PERSIST: all that was committed is durable in place; the records may change from here on.
    media::fence(set)?;
    if !survey.is_unanimous {
        // A word that retires means nothing beside another record, so the logs are made equal.
        let range = (DATA_OFFSET, set.data_offset());
        set.prepare(range.0, range.1 - range.0)?;
        set.equalise_from(Some(set.position(survey.index)?), &[range])?;
    }
    match survey.is_retired {
        true => Ok(()),
        false => log::retire(set),
    }
}

/// Reads the logs of all good members: a record that is whole in any of them counts, since its
/// transaction may have been acknowledged.
fn survey(set: &PoolSet) -> Result<Survey> {
    let (mut logs, mut failure) = (Vec::new(), None);
    for index in set.good_members() {
        match read_log(set, index) {
            Ok(found) => logs.push(found),
            Err(error) => failure = failure.or(Some(error)),
        }
    }
    let rank = |found: &Found<'_>| (found.sequence(), found.is_retired());
    // The first of equals, so the serving one if it can be.
    let Some(best) = logs.iter().rev().max_by_key(|found| rank(found)) else {
        return Err(failure.unwrap_or_else(|| set.no_replica("no good member is left")));
    };
    let (sequence, is_retired) = rank(best);
    let is_same = |found: &Found<'_>| {
        rank(found) == rank(best) && found.older.sequence() == best.older.sequence()
    };
    let is_unanimous = failure.is_none() && logs.iter().all(is_same);
    let mut writes = Vec::new();
    if !is_retired {
        // The bytes of the one before may have been on their way when the newest was written.
        for number in [sequence - 1, sequence] {
            let slots = logs.iter().flat_map(|found| [&found.newer, &found.older]);
            let live = slots.filter_map(|slot| match slot {
                Slot::Live { sequence, entries } if *sequence == number => Some(entries),
                _ => None,
            });
            let entries = live.into_iter().next().into_iter().flatten();
            writes.extend(entries.map(|entry| (entry.offset, entry.new.to_vec())));
        }
    }
    Ok(Survey { sequence, is_retired, writes, index: best.index, is_unanimous })
}

/// Reads one member's log.
fn read_log(set: &PoolSet, index: u32) -> Result<Found<'_>> {
    let object = format!("{}, transaction log of member {index}", set.object());
    let bytes = log::slot_bytes(set) as u64;
    let [even, odd] = [DATA_OFFSET, DATA_OFFSET + bytes]
        .map(|offset| layout::parse(set.read_member(index, offset, bytes)?, &object));
    let (even, odd) = (even?, odd?);
    for (number, slot) in [&even, &odd].into_iter().enumerate() {
        let sequence = slot.sequence().unwrap_or(0);
        if sequence != 0 && sequence % 2 != number as u64 {
            return Err(damaged(&object, format!("slot {number} holds record {sequence}")));
        }
        if let Slot::Live { sequence, entries } = slot {
            check_entries(set, *sequence, entries, &object)?;
        }
    }
    // A record is written when the one before it is whole.
    if even.sequence().is_none() && odd.sequence().is_none() {
        return Err(damaged(&object, "both slots are damaged".to_string()));
    }
    let (newer, older) = if even.sequence() > odd.sequence() { (even, odd) } else { (odd, even) };
    Ok(Found { index, newer, older })
}

fn check_entries(set: &PoolSet, sequence: u64, entries: &[Entry<'_>], object: &str) -> Result<()> {
    let (start, end) = (set.data_offset(), set.end_offset());
    for Entry { offset, new } in entries {
        let last = offset.checked_add(new.len() as u64);
        if *offset < start || last.is_none_or(|last| last > end) {
            let problem = format!(
                "record {sequence} writes {} bytes at offset {offset}, the data area is \
                 {start}..{end}",
                new.len()
            );
            return Err(damaged(object, problem));
        }
    }
    Ok(())
}

fn damaged(object: &str, problem: String) -> Error {
    Error::new(ErrorKind::Corrupt, object, problem, "restore the pool set from a copy")
}
