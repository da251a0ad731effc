//! Recovery of the undo log when a pool set is opened.

use super::layout::{self, Entry, HEADER_BYTES, Slot, Word};
use super::log::{self, Log};
use super::media;
use crate::error::{Error, ErrorKind, Result};
use crate::set::{DATA_OFFSET, PoolSet};

/// What recovery does to the data area.
struct Verdict {
    /// The newest transaction on media.
    sequence: u64,
    /// Offsets and old bytes to store, in this order.
    restores: Vec<(u64, Vec<u8>)>,
}

/// Rolls back the transaction that a crash cut off, and prepares the log for new ones. The members'
/// data areas are equal when this is called; their logs need not be. Repeating it is harmless.
///
/// # Errors
/// `Corrupt` if the log is damaged where it matters, `ReadOnly` if there is something to roll back in
/// a set opened read-only; as for [`PoolSet::drain`].
pub(crate) fn recover(set: &mut PoolSet) -> Result<()> {
    if !log::has_log(set) {
        return Ok(());
    }
    let Verdict { sequence, restores } = judge(set)?;
    let is_unfinished = !restores.is_empty();
    for (offset, old) in &restores {
        media::store(set, *offset, old)?;
    }
    if !set.is_writable() {
        set.undo = Log::recovered(sequence);
        return Ok(());
    }
    if is_unfinished {
        // PERSIST: the old bytes are durable in place; the slot they came from may be retired.
        media::fence(set)?;
        let word = Word::Retired.encode(sequence).to_le_bytes();
        media::store(set, log::slot_offset(set, sequence), &word)?;
        // PERSIST: the slot is retired, so the other slot may be torn by what follows (a torn slot
        // beside an unfinished one would be taken for damage).
        media::fence(set)?;
    }
    // The other slot is overwritten, never the one that counts: torn, it is no slot at all, and the
    // next recovery comes to the same verdict.
    let mut image = vec![0; HEADER_BYTES];
    layout::seal(&mut image, 0, sequence + 1, Word::Retired);
    let slot = log::slot_offset(set, sequence + 1);
    media::store(set, slot, &image)?;
    // PERSIST: the retired slot outranks the recovered one, whose ranges may change from here on.
    media::fence(set)?;
    set.undo = Log::recovered(sequence + 1);
    Ok(())
}

/// Decides by the logs of all members.
fn judge(set: &PoolSet) -> Result<Verdict> {
    let mut verdict: Option<(Verdict, bool)> = None;
    let mut failure = None;
    for member in 0..set.log_count() {
        match judge_member(set, member) {
            Ok((found, is_final)) => {
                let is_better = verdict.as_ref().is_none_or(|(best, best_is_final)| {
                    (found.sequence, is_final) > (best.sequence, *best_is_final)
                });
                if is_better {
                    verdict = Some((found, is_final));
                }
            }
            Err(error) => failure = failure.or(Some(error)),
        }
    }
    match (verdict, failure) {
        (Some((verdict, _)), _) => Ok(verdict),
        (None, Some(error)) => Err(error),
        (None, None) => Err(Error::new(ErrorKind::NoReplica, "pool set", "no member", "")),
    }
}

/// Judges by one member's log; `true` if nothing has to be rolled back.
fn judge_member(set: &PoolSet, member: usize) -> Result<(Verdict, bool)> {
    let object = format!("undo log of member {member}");
    let bytes = log::slot_bytes(set) as u64;
    let slots = [
        set.read_log(member, DATA_OFFSET, bytes)?,
        set.read_log(member, DATA_OFFSET + bytes, bytes)?,
    ];
    let slots = [layout::parse(slots[0], &object)?, layout::parse(slots[1], &object)?];
    for (index, slot) in slots.iter().enumerate() {
        let Slot::Sealed { sequence, .. } = slot else { continue };
        if sequence % 2 != index as u64 {
            return Err(damaged(&object, format!("slot {index} holds transaction {sequence}")));
        }
    }
    let [first, second] = slots;
    let (newest, other) = match (first.sequence(), second.sequence()) {
        (None, None) => return Err(damaged(&object, "both slots are damaged".to_string())),
        (Some(a), Some(b)) if a.abs_diff(b) != 1 && a + b != 0 => {
            let problem = format!("transactions {a} and {b} are not neighbours");
            return Err(damaged(&object, problem));
        }
        (a, b) if a > b => (first, second),
        _ => (second, first),
    };
    let Slot::Sealed { sequence, word, entries } = newest else {
        return Ok((Verdict { sequence: 0, restores: Vec::new() }, true));
    };
    check_entries(set, sequence, &entries, &object)?;
    let is_final = match word {
        Word::Retired => true,
        Word::Committed(crc) => image_crc(set, sequence, &entries)? == crc,
        Word::Open => false,
    };
    if is_final {
        return Ok((Verdict { sequence, restores: Vec::new() }, true));
    }
    if other == Slot::Torn {
        let problem = format!("transaction {sequence} is not finished, the other slot is damaged");
        return Err(damaged(&object, problem));
    }
    let restores = entries.iter().rev().map(|entry| (entry.offset, entry.old.to_vec())).collect();
    Ok((Verdict { sequence, restores }, false))
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

fn image_crc(set: &PoolSet, sequence: u64, entries: &[Entry<'_>]) -> Result<u32> {
    let mut crc = layout::image_seed(sequence);
    for Entry { offset, old } in entries {
        crc = crc32c::crc32c_append(crc, set.read(*offset, old.len() as u64)?);
    }
    Ok(crc)
}

fn damaged(object: &str, problem: String) -> Error {
    Error::new(ErrorKind::Corrupt, object, problem, "restore the pool set from a copy")
}
