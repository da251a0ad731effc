//! Recovery of the undo log when a pool set is opened.

use super::check;
use super::layout::{self, Entry, Slot, Word};
use super::log::{self, Log};
use super::media;
use std::cmp::Ordering;

use crate::error::{Error, ErrorKind, Result};
use crate::set::{DATA_OFFSET, PoolSet};

/// What recovery does to the data area.
struct Verdict {
    /// Number of the member whose log says so.
    index: u32,
    /// The newest transaction on media.
    sequence: u64,
    /// Offsets and old bytes to store, in this order.
    restores: Vec<(u64, Vec<u8>)>,
    /// Whether either slot was ever written.
    was_used: bool,
    /// Whether all members say so.
    is_unanimous: bool,
}

impl Verdict {
    fn is_final(&self) -> bool {
        self.restores.is_empty()
    }
}

/// Rolls back the transaction that a crash cut off. The members' data areas are equal when this is
/// called; their logs need not be. Repeating it is harmless. If there is nothing to do, nothing is
/// stored: the log is prepared for new transactions by the first of them, or by the first store.
///
/// # Errors
/// `Corrupt` if the log is damaged where it matters; as for [`PoolSet::drain`].
pub(crate) fn recover(set: &mut PoolSet) -> Result<()> {
    if !log::has_log(set) {
        return Ok(());
    }
    let verdict = judge(set)?;
    set.undo = Log::recovered(verdict.sequence, verdict.was_used);
    if !verdict.is_unanimous {
        // Words of a log mean nothing beside those of another transaction, so they are stored
        // into equal logs only.
        let log = (DATA_OFFSET, set.data_offset());
        set.prepare(log.0, log.1 - log.0)?;
        set.equalise_from(Some(set.position(verdict.index)?), &[log])?;
    }
    for (offset, old) in &verdict.restores {
        media::store(set, *offset, old)?;
    }
    if verdict.restores.is_empty() && verdict.is_unanimous {
        return Ok(());
    }
    // PERSIST: the old bytes are durable in place; the slot they came from may be retired.
    media::fence(set)?;
    // Retired by one word, so that the other slot may be torn by what follows: a torn slot beside
    // an unfinished one would be taken for damage.
    log::retire(set)?;
    log::outrank(set)
}

/// Member number, and ranges of the newest transaction, from and to.
type Committed = (u32, Vec<(u64, u64)>);

/// Returns a member that has the newest transaction as it was committed, by the checksum in any
/// member's log, and the ranges of it. The members need not be equal.
pub(crate) fn committed_in(set: &PoolSet) -> Result<Option<Committed>> {
    if !log::has_log(set) {
        return Ok(None);
    }
    let good = set.good_members();
    let bytes = log::slot_bytes(set) as u64;
    let object = set.object();
    let mut newest = 0;
    let mut found: Vec<(u64, Vec<Entry<'_>>)> = Vec::new();
    for &index in &good {
        for offset in [DATA_OFFSET, DATA_OFFSET + bytes] {
            // A damaged log is for `judge` to report.
            let slot = layout::parse(set.read_member(index, offset, bytes)?, &object);
            let Ok(Slot::Sealed { sequence, word, entries }) = slot else { continue };
            if sequence > newest {
                newest = sequence;
                found.clear();
            }
            if sequence == newest
                && let Word::Committed(sum) = word
                && check_entries(set, sequence, &entries, &object).is_ok()
            {
                found.push((sum, entries));
            }
        }
    }
    for (sum, entries) in &found {
        for &index in &good {
            let place = |sum, Entry { offset, old }: &Entry<'_>| {
                set.read_member(index, *offset, old.len() as u64).map(|b| check::add(sum, b))
            };
            if entries.iter().try_fold(layout::start_sum(newest), place)? == *sum {
                let range =
                    |entry: &Entry<'_>| (entry.offset, entry.offset + entry.old.len() as u64);
                return Ok(Some((index, entries.iter().map(range).collect())));
            }
        }
    }
    Ok(None)
}

/// Decides by the logs of all good members: by the newest transaction that any of them knows of,
/// and if one of them can tell that it is committed, it is.
fn judge(set: &PoolSet) -> Result<Verdict> {
    let mut best: Option<Verdict> = None;
    let mut failure = None;
    let mut is_unanimous = true;
    for index in set.good_members() {
        match judge_member(set, index) {
            Ok(found) => {
                let rank = |verdict: &Verdict| (verdict.sequence, verdict.is_final());
                let order = best.as_ref().map(|best| rank(&found).cmp(&rank(best)));
                is_unanimous &= order.is_none_or(Ordering::is_eq);
                if order.is_none_or(Ordering::is_gt) {
                    best = Some(found);
                }
            }
            Err(error) => failure = failure.or(Some(error)),
        }
    }
    match (best, failure) {
        (Some(best), failure) => {
            Ok(Verdict { is_unanimous: is_unanimous && failure.is_none(), ..best })
        }
        (None, Some(error)) => Err(error),
        (None, None) => Err(set.no_replica("no good member is left")),
    }
}

/// Judges by one member's log.
fn judge_member(set: &PoolSet, index: u32) -> Result<Verdict> {
    let object = format!("{}, undo log of member {index}", set.object());
    let bytes = log::slot_bytes(set) as u64;
    let slots = [
        set.read_member(index, DATA_OFFSET, bytes)?,
        set.read_member(index, DATA_OFFSET + bytes, bytes)?,
    ];
    let slots = [layout::parse(slots[0], &object)?, layout::parse(slots[1], &object)?];
    for (number, slot) in slots.iter().enumerate() {
        let Slot::Sealed { sequence, .. } = slot else { continue };
        if sequence % 2 != number as u64 {
            return Err(damaged(&object, format!("slot {number} holds transaction {sequence}")));
        }
    }
    let was_used = slots.iter().any(|slot| *slot != Slot::Empty);
    let verdict = |sequence, restores| {
        let is_unanimous = true;
        Verdict { index, sequence, restores, was_used, is_unanimous }
    };
    let [first, second] = slots;
    let (newest, other) = match (first.sequence(), second.sequence()) {
        (None, None) => return Err(damaged(&object, "both slots are damaged".to_string())),
        (a, b) if a > b => (first, second),
        _ => (second, first),
    };
    let Slot::Sealed { sequence, word, entries } = newest else {
        return Ok(verdict(0, Vec::new()));
    };
    check_entries(set, sequence, &entries, &object)?;
    let is_final = match word {
        Word::Retired => true,
        Word::Committed(sum) => sum_in_place(set, sequence, &entries)? == sum,
        Word::Open => false,
    };
    if is_final {
        return Ok(verdict(sequence, Vec::new()));
    }
    // A transaction begins when the one before is final, and that one's slot stays whole meanwhile.
    if other.sequence() != Some(sequence - 1) {
        let other = other.sequence().map_or("damaged".to_string(), |other| other.to_string());
        let problem =
            format!("transaction {sequence} is not finished, but the other slot is {other}");
        return Err(damaged(&object, problem));
    }
    let restores = entries.iter().rev().map(|entry| (entry.offset, entry.old.to_vec())).collect();
    Ok(verdict(sequence, restores))
}

fn check_entries(set: &PoolSet, sequence: u64, entries: &[Entry<'_>], object: &str) -> Result<()> {
    let (start, end) = (set.data_offset(), set.end_offset());
    for Entry { offset, old } in entries {
        let last = offset.checked_add(old.len() as u64);
        if *offset < start || last.is_none_or(|last| last > end) {
            let problem = format!(
                "transaction {sequence} wrote {} bytes at offset {offset}, the data area is \
                 {start}..{end}",
                old.len()
            );
            return Err(damaged(object, problem));
        }
    }
    Ok(())
}

fn sum_in_place(set: &PoolSet, sequence: u64, entries: &[Entry<'_>]) -> Result<u64> {
    entries.iter().try_fold(layout::start_sum(sequence), |sum, Entry { offset, old }| {
        set.read_with(*offset, old.len() as u64, |bytes| check::add(sum, bytes))
    })
}

fn damaged(object: &str, problem: String) -> Error {
    Error::new(ErrorKind::Corrupt, object, problem, "restore the pool set from a copy")
}
