//! States of aggregates: how values are added to them, and how two become one.

use std::cmp::Ordering;

use nacre_column::compare_floats;

use super::collected::{collect_rows, collected_rows, merge_moments};
use super::layout::{GroupPlan, StateKind};
use crate::error::{ExecError, ExecResult};
use crate::value::{decode_exact, encode_exact, exact_key};

/// Reads a number of 128 bits.
#[inline]
pub(super) fn wide(words: &[u64]) -> i128 {
    (u128::from(words[1]) << 64 | u128::from(words[0])) as i128
}

/// Writes a number of 128 bits.
#[inline]
pub(super) fn put_wide(words: &mut [u64], value: i128) {
    words[0] = value as u64;
    words[1] = (value >> 64) as u64;
}

/// Marks the count of a sum that left 128 bits: it is refused when it is handed on, even if later
/// values would have brought it back.
pub(super) const OVERFLOW_BIT: u64 = 1 << 63;

/// Adds a sum and a count to the state of a sum.
#[inline]
pub(super) fn add_sum(kind: StateKind, state: &mut [u64], sum: i128, count: u64) {
    if kind == StateKind::SumNarrow {
        state[0] = (state[0] as i64).wrapping_add(sum as i64) as u64;
        state[1] += count;
    } else {
        let (total, is_beyond) = wide(state).overflowing_add(sum);
        put_wide(state, total);
        // Counts are far below the bit, so it is set once and stays.
        state[2] = state[2].wrapping_add(count & !OVERFLOW_BIT) | count & OVERFLOW_BIT;
        if is_beyond {
            state[2] |= OVERFLOW_BIT;
        }
    }
}

/// Takes a whole number into an extreme.
#[inline]
pub(super) fn take_int(is_max: bool, state: &mut [u64], value: i128) {
    let is_first = state[2] == 0;
    let known = wide(state);
    if is_first || (if is_max { value > known } else { value < known }) {
        put_wide(state, value);
        state[2] = 1;
    }
}

/// Takes a float into an extreme, in PostgreSQL's order.
#[inline]
pub(super) fn take_float(is_max: bool, state: &mut [u64], value: f64) {
    let wanted = if is_max { Ordering::Greater } else { Ordering::Less };
    if state[1] == 0 || compare_floats(value, f64::from_bits(state[0])) == wanted {
        (state[0], state[1]) = (value.to_bits(), 1);
    }
}

/// Takes a string into an extreme; better ones go to the end of the heap.
pub(super) fn take_bytes(is_max: bool, state: &mut [u64], heap: &mut Vec<u8>, value: &[u8]) {
    let wanted = if is_max { Ordering::Greater } else { Ordering::Less };
    let known = &heap[state[0] as usize..(state[0] + state[1]) as usize];
    if state[2] == 0 || value.cmp(known) == wanted {
        (state[0], state[1], state[2]) = (heap.len() as u64, value.len() as u64, 1);
        heap.extend_from_slice(value);
    }
}

/// Takes a numeric of any scale into an extreme: of equal ones the last.
///
/// # Errors
/// That of the value, if it stands for one.
pub(super) fn take_exact(
    is_max: bool,
    state: &mut [u64],
    heap: &mut Vec<u8>,
    value: &[u8],
) -> ExecResult<()> {
    let worse = if is_max { Ordering::Less } else { Ordering::Greater };
    let key = exact_key(value).map_err(ExecError::of_value)?;
    let known = &heap[state[0] as usize..(state[0] + state[1]) as usize];
    let is_worse = || {
        let known = exact_key(known).map_err(ExecError::of_value)?;
        Ok::<_, ExecError>(key.cmp(known) == worse)
    };
    if state[2] == 0 || !is_worse()? {
        // A longer one goes behind all others.
        let start = if value.len() as u64 <= state[1] { state[0] as usize } else { heap.len() };
        heap.resize(heap.len().max(start + value.len()), 0);
        heap[start..start + value.len()].copy_from_slice(value);
        (state[0], state[1], state[2]) = (start as u64, value.len() as u64, 1);
    }
    Ok(())
}

/// Returns offset and length of a sum of numerics of any scale.
pub(super) fn exact_sum(state: &[u64]) -> std::ops::Range<usize> {
    let start = state[0] as usize;
    start..start + (state[1] as u32) as usize
}

/// Says where a sum lies that has no more room than it takes.
pub(super) fn put_exact_sum(state: &mut [u64], offset: usize, len: usize) {
    // A numeric has at most 73,735 bytes.
    state[0] = offset as u64;
    state[1] = (len as u64) << 32 | len as u64;
}

/// Adds a sum of numerics of any scale and a count to the state of such a sum; a longer one goes to
/// the end of the heap.
///
/// # Errors
/// 22003 of a sum that has too many digits.
pub(super) fn add_exact(
    state: &mut [u64],
    heap: &mut Vec<u8>,
    value: &[u8],
    count: u64,
) -> ExecResult<()> {
    if state[2] == 0 {
        put_exact_sum(state, heap.len(), value.len());
        heap.extend_from_slice(value);
    } else {
        let (known, room) = (exact_sum(state), (state[1] >> 32) as usize);
        let sum = decode_exact(&heap[known]).and_then(|known| known.add(&decode_exact(value)?));
        let mut bytes = Vec::with_capacity(room);
        encode_exact(&sum.map_err(ExecError::of_value)?, &mut bytes);
        if bytes.len() <= room {
            let start = state[0] as usize;
            heap[start..start + bytes.len()].copy_from_slice(&bytes);
            state[1] = (room as u64) << 32 | bytes.len() as u64;
        } else {
            put_exact_sum(state, heap.len(), bytes.len());
            heap.extend_from_slice(&bytes);
        }
    }
    state[2] += count;
    Ok(())
}

/// Merges the states of a row into those of a group.
///
/// # Errors
/// As [`add_exact`]; other sums that overflow are refused when they are handed on.
pub(super) fn merge_states(
    plan: &GroupPlan,
    (row, row_heap): (&[u64], &[u8]),
    (group, heap): (&mut [u64], &mut Vec<u8>),
) -> ExecResult<()> {
    for aggregate in &plan.aggregates {
        let range = aggregate.word..aggregate.word + aggregate.kind.words();
        let (from, to) = (&row[range.clone()], &mut group[range]);
        match aggregate.kind {
            StateKind::Count | StateKind::Distinct(_) => to[0] += from[0],
            StateKind::SumNarrow => {
                add_sum(StateKind::SumNarrow, to, (from[0] as i64).into(), from[1]);
            }
            StateKind::SumWide | StateKind::DistinctSum(_) => {
                add_sum(StateKind::SumWide, to, wide(from), from[2]);
            }
            StateKind::SumFloat => {
                to[0] = (f64::from_bits(to[0]) + f64::from_bits(from[0])).to_bits();
                to[1] += from[1];
            }
            StateKind::Collected => {
                collect_rows(to, heap, &row_heap[collected_rows(from)])?;
            }
            StateKind::Moments(kind) => merge_moments(kind, to, from)?,
            StateKind::SumExact if from[2] > 0 => {
                add_exact(to, heap, &row_heap[exact_sum(from)], from[2])?;
            }
            StateKind::ExtremeInt { is_max } if from[2] > 0 => take_int(is_max, to, wide(from)),
            StateKind::ExtremeFloat { is_max } if from[1] > 0 => {
                take_float(is_max, to, f64::from_bits(from[0]));
            }
            StateKind::ExtremeBytes { is_max } if from[2] > 0 => {
                let value = &row_heap[from[0] as usize..(from[0] + from[1]) as usize];
                take_bytes(is_max, to, heap, value);
            }
            StateKind::ExtremeExact { is_max } if from[2] > 0 => {
                let value = &row_heap[from[0] as usize..(from[0] + from[1]) as usize];
                take_exact(is_max, to, heap, value)?;
            }
            StateKind::SumExact
            | StateKind::ExtremeInt { .. }
            | StateKind::ExtremeFloat { .. }
            | StateKind::ExtremeBytes { .. }
            | StateKind::ExtremeExact { .. } => {}
        }
    }
    Ok(())
}
