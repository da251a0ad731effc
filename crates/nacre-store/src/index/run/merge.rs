//! Makes one run of several, entry by entry.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::Bound;

use super::cursor::RunCursor;
use super::file::{Run, RunDamage};
use super::writer::RunWriter;
use crate::error::{Error, Result};
use crate::id::RowId;
use crate::index::Direction;

/// Entries between two looks whether the database is about to be closed.
const BETWEEN_LOOKS: u32 = 8_192;

/// How a merge ended.
#[derive(Debug)]
pub(super) enum Merged {
    Whole,
    /// It was not to go on.
    Ended,
    /// A run, by its place among the sources, turned out to be damaged.
    Damaged(usize, RunDamage),
}

/// Writes the entries of `sources` that `is_wanted` to `out`, as long as `goes_on`.
///
/// # Errors
/// No space, I/O.
pub(super) fn merge(
    sources: &[&Run],
    out: &mut RunWriter,
    mut is_wanted: impl FnMut(RowId) -> bool,
    goes_on: impl Fn() -> bool,
) -> Result<Merged> {
    let bounds = (Bound::Unbounded, Bound::Unbounded);
    let mut cursors = Vec::with_capacity(sources.len());
    let mut next: BinaryHeap<Reverse<(Vec<u8>, RowId, usize)>> = BinaryHeap::new();
    for (at, source) in sources.iter().enumerate() {
        let first = RunCursor::new(source, bounds, Direction::Ascending).and_then(|mut cursor| {
            let first = cursor.peek()?.map(|(key, row)| Reverse((key.to_vec(), row, at)));
            Ok((cursor, first))
        });
        match first {
            Ok((cursor, first)) => {
                cursors.push(cursor);
                next.extend(first);
            }
            Err(damage) => return Ok(Merged::Damaged(at, damage)),
        }
    }
    let mut until_look = BETWEEN_LOOKS;
    while let Some(Reverse((mut key, row, at))) = next.pop() {
        if is_wanted(row) {
            out.push(&key, row)?;
        }
        let cursor = cursors
            .get_mut(at)
            .ok_or_else(|| Error::Internal { reason: format!("a merge has no source {at}") })?;
        cursor.advance();
        match cursor.peek() {
            Ok(Some((following, row))) => {
                key.clear();
                key.extend_from_slice(following);
                next.push(Reverse((key, row, at)));
            }
            Ok(None) => {}
            Err(damage) => return Ok(Merged::Damaged(at, damage)),
        }
        until_look -= 1;
        if until_look == 0 {
            if !goes_on() {
                return Ok(Merged::Ended);
            }
            until_look = BETWEEN_LOOKS;
        }
    }
    Ok(Merged::Whole)
}
