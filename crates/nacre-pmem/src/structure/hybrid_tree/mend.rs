//! Leaves that are damaged in some members: a whole copy is put together part by part.
//!
//! The parts that have a check of their own are the first line, the link, and each entry. A part
//! that is damaged in one member and whole in another is noted (see
//! [`DamagedRange`]), and repaired by the next writer from there. Never
//! more than such a part: the rest of the leaf may be damaged where that one is whole.

use super::entry::Entry;
use super::first_line::{FirstLine, LINE_BYTES, bits};
use super::leaf::Leaf;
use super::link::{LINK_BYTES, LeafRef, Link};
use crate::error::Result;
use crate::set::{DamagedRange, PoolSet};

/// The leaf's bytes in one member.
struct Version {
    index: u32,
    bytes: Vec<u8>,
}

/// Returns a copy of `leaf` of which each part is taken from a member that has it whole, as far as
/// there is one, and notes what has to be repaired; `None` if every member lost pages of it.
///
/// # Errors
/// `NoReplica` if no good member is left.
#[cold]
#[inline(never)]
pub(super) fn whole_copy(set: &PoolSet, leaf: LeafRef) -> Result<Option<Vec<u8>>> {
    let mut versions: Vec<Version> = Vec::new();
    for index in set.good_members() {
        if let Some(bytes) = set.copy_of_member(index, leaf.offset(), leaf.bytes())? {
            versions.push(Version { index, bytes });
        }
    }
    let link = Link::behind(leaf);
    let is_link = |bytes: &[u8]| link.decode(&bytes[LINE_BYTES..][..LINK_BYTES]).is_some();
    mend(set, leaf, &mut versions, LINE_BYTES, |bytes| is_link(bytes).then_some(LINK_BYTES));
    let is_line = |bytes: &[u8]| is_line_of(Leaf::new(bytes, leaf.class()));
    mend(set, leaf, &mut versions, 0, |bytes| is_line(bytes).then_some(LINE_BYTES));
    let Some(first) = versions.first() else { return Ok(None) };
    let line = FirstLine::of(&first.bytes);
    if line.is_whole() {
        for slot in bits(line.live().slots()) {
            let start = (leaf.slot_offset(slot) - leaf.offset()) as usize;
            mend(set, leaf, &mut versions, start, |bytes| {
                let entry = Leaf::new(bytes, leaf.class()).intact_entry(slot).ok()?;
                is_of(&line, slot, &entry).then_some(entry.bytes().len())
            });
        }
    }
    Ok(versions.into_iter().next().map(|version| version.bytes))
}

/// Replaces the part at `start` in each version by that of the first in which it is whole, and
/// notes it; `check` returns the length of the part if it is whole.
fn mend(
    set: &PoolSet,
    leaf: LeafRef,
    versions: &mut [Version],
    start: usize,
    check: impl Fn(&[u8]) -> Option<usize>,
) {
    let checked: Vec<Option<usize>> =
        versions.iter().map(|version| check(&version.bytes)).collect();
    let Some((whole, bytes)) =
        checked.iter().enumerate().find_map(|(number, found)| Some((number, (*found)?)))
    else {
        return;
    };
    let part = versions[whole].bytes[start..start + bytes].to_vec();
    let whole_index = versions[whole].index;
    for (version, found) in versions.iter_mut().zip(checked) {
        if found.is_none() {
            version.bytes[start..start + bytes].copy_from_slice(&part);
            let offset = leaf.offset() + start as u64;
            let index = version.index;
            set.note_damage(DamagedRange { index, whole_index, offset, bytes: bytes as u64 });
        }
    }
}

/// Whether the first line is whole, and names no intact entry by another's fingerprint.
fn is_line_of(leaf: Leaf<'_>) -> bool {
    let line = leaf.first_line();
    let is_right = |slot| leaf.intact_entry(slot).map_or(true, |entry| is_of(&line, slot, &entry));
    line.is_whole() && bits(line.live().slots()).all(is_right)
}

/// Whether a line has the fingerprint of the entry in `slot`.
fn is_of(line: &FirstLine, slot: usize, entry: &Entry<'_>) -> bool {
    line.fingerprint(slot) == super::entry::fingerprint(entry.key())
}
