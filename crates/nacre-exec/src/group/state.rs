//! States of aggregates: how values are added to them, and how two become one.

use std::cmp::Ordering;

use nacre_column::compare_floats;
use nacre_types::ExactNumeric;

use super::collected::{collect_rows, collected_rows, merge_moments};
use super::layout::{GroupPlan, StateKind};
use crate::error::{ExecError, ExecResult};
use crate::value::{decode_exact, encode_exact, encode_scaled, exact_key};

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

/// Marks the scale of a sum of numerics of any scale that is bytes in the heap. Such a sum stays
/// there: it has room that it may need again.
const HEAP_BIT: u64 = 1 << 63;

/// Returns where a sum of numerics of any scale lies in the heap; `None` of one that the state's
/// own words hold.
pub(super) fn exact_sum_place(state: &[u64]) -> Option<std::ops::Range<usize>> {
    let start = state[0] as usize;
    (state[2] & HEAP_BIT != 0).then(|| start..start + (state[1] as u32) as usize)
}

/// Says where a sum lies that has no more room than it takes.
pub(super) fn put_exact_sum(state: &mut [u64], offset: usize, len: usize) {
    // A numeric has at most 73,735 bytes.
    state[0] = offset as u64;
    state[1] = (len as u64) << 32 | len as u64;
    state[2] = HEAP_BIT;
}

/// Returns a sum of numerics of any scale.
///
/// # Errors
/// None of a state that values were added to.
fn exact_sum(state: &[u64], heap: &[u8]) -> ExecResult<ExactNumeric> {
    let sum = match exact_sum_place(state) {
        Some(place) => decode_exact(&heap[place]),
        // A scale has 16 bits.
        None => ExactNumeric::from_scaled(wide(state), state[2] as u16),
    };
    sum.map_err(ExecError::of_value)
}

/// Returns the bytes of a sum of numerics of any scale, for which `bytes` has room.
pub(super) fn exact_sum_bytes<'b>(
    state: &[u64],
    heap: &'b [u8],
    bytes: &'b mut Vec<u8>,
) -> &'b [u8] {
    match exact_sum_place(state) {
        Some(place) => &heap[place],
        None => {
            bytes.clear();
            encode_scaled(wide(state), state[2] as u16, bytes);
            bytes
        }
    }
}

/// Adds a sum of numerics of any scale and a count to the state of such a sum. What 128 bits do not
/// hold is bytes in the heap, to whose end a longer one goes.
///
/// # Errors
/// 22003 of a sum that has too many digits.
pub(super) fn add_exact(
    state: &mut [u64],
    heap: &mut Vec<u8>,
    value: &ExactNumeric,
    count: u64,
) -> ExecResult<()> {
    let sum = exact_sum(state, heap)?.add(value).map_err(ExecError::of_value)?;
    state[3] += count;
    let known = exact_sum_place(state);
    if known.is_none()
        && let Some((unscaled, scale)) = sum.to_scaled()
    {
        put_wide(state, unscaled);
        state[2] = scale.into();
        return Ok(());
    }
    let mut bytes = Vec::new();
    encode_exact(&sum, &mut bytes);
    match known {
        Some(known) if bytes.len() as u64 <= state[1] >> 32 => {
            heap[known.start..known.start + bytes.len()].copy_from_slice(&bytes);
            state[1] = (state[1] >> 32) << 32 | bytes.len() as u64;
        }
        _ => {
            put_exact_sum(state, heap.len(), bytes.len());
            heap.extend_from_slice(&bytes);
        }
    }
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
            StateKind::SumExact if from[3] > 0 => {
                add_exact(to, heap, &exact_sum(from, row_heap)?, from[3])?;
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

#[cfg(test)]
mod tests {
    use super::*;

    fn sum_of(state: &[u64], heap: &[u8]) -> String {
        let mut bytes = Vec::new();
        decode_exact(exact_sum_bytes(state, heap, &mut bytes)).unwrap().to_string()
    }

    #[test]
    fn sums_of_numerics_of_any_scale_leave_128_bits_and_come_back() {
        let largest = i128::MAX.to_string();
        let texts = ["0.50", "1", &largest, &largest, "-0.125", &format!("-{largest}"), "1e-30"];
        let values: Vec<ExactNumeric> = texts.iter().map(|text| text.parse().unwrap()).collect();
        let (mut state, mut heap, mut wanted) = ([0; 4], Vec::new(), ExactNumeric::ZERO);
        for (index, value) in values.iter().chain(&values).enumerate() {
            add_exact(&mut state, &mut heap, value, 1).unwrap();
            wanted = wanted.add(value).unwrap();
            assert_eq!(sum_of(&state, &heap), wanted.to_string());
            assert_eq!(exact_sum_place(&state).is_some(), index >= 2);
            assert_eq!(state[3], index as u64 + 1);
        }
    }

    #[test]
    fn merged_sums_of_numerics_are_those_of_all() {
        let texts = ["2.5", "-1e45", "0.00", "1e45", "NaN", "7"];
        let values: Vec<ExactNumeric> = texts.iter().map(|text| text.parse().unwrap()).collect();
        for cut in 0..=values.len() {
            let mut parts = [([0; 4], Vec::new()), ([0; 4], Vec::new())];
            let mut all = ([0; 4], Vec::new());
            for (index, value) in values.iter().enumerate() {
                let part = &mut parts[usize::from(index >= cut)];
                add_exact(&mut part.0, &mut part.1, value, 1).unwrap();
                add_exact(&mut all.0, &mut all.1, value, 1).unwrap();
            }
            let [mut first, second] = parts;
            let value = exact_sum(&second.0, &second.1).unwrap();
            add_exact(&mut first.0, &mut first.1, &value, second.0[3]).unwrap();
            assert_eq!(sum_of(&first.0, &first.1), sum_of(&all.0, &all.1));
            assert_eq!(first.0[3], all.0[3]);
        }
    }
}
