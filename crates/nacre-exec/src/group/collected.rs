//! States that are bytes: rows of a group one behind the other, and sums of floats.
//!
//! Rows are collected in a piece of the heap that doubles when it is full; the piece at the heap's
//! end grows in place. Sums of floats are six words: those of [`PairMoments`].
//!
//! | words | collected rows |
//! |---|---|
//! | 1 | offset in the heap |
//! | 1 | bytes of the rows |
//! | 1 | bytes of the piece |

use nacre_functions::aggregates::PairMoments;
use nacre_types::ValueError;

use super::layout::{GroupPlan, StateKind};
use super::table::GroupTable;
use crate::error::{ExecError, ExecResult};
use crate::plan::MomentKind;

/// Words of sums of floats.
pub(super) const MOMENT_WORDS: usize = 6;

/// Least bytes of a piece that is not the last.
const PIECE_BYTES_MIN: usize = 64;

/// Bytes of rows that one vector takes, if they are of several groups.
const BATCH_BYTES: usize = 64 << 20;

/// Most bytes of one group: offsets of a vector's strings have 32 bits.
const GROUP_BYTES_MAX: usize = (u32::MAX as usize) - BATCH_BYTES;

/// Returns where the rows of a group lie.
pub(super) fn collected_rows(state: &[u64]) -> std::ops::Range<usize> {
    let start = state[0] as usize;
    start..start + state[1] as usize
}

/// Says where rows lie that fill their piece.
pub(super) fn put_collected(state: &mut [u64], offset: usize, bytes: usize) {
    (state[0], state[1], state[2]) = (offset as u64, bytes as u64, bytes as u64);
}

/// Appends rows to those of a group.
///
/// # Errors
/// 54000 if they have more bytes than a vector holds.
pub(super) fn collect_rows(state: &mut [u64], heap: &mut Vec<u8>, rows: &[u8]) -> ExecResult<()> {
    let known = collected_rows(state);
    let needed = known.len() + rows.len();
    if needed > GROUP_BYTES_MAX {
        return Err(ExecError::of_value(ValueError::limit_exceeded("requested length too large")));
    }
    let mut room = state[2] as usize;
    if needed > room && known.start + room == heap.len() {
        room = needed;
        heap.resize(known.start + room, 0);
    } else if needed > room {
        room = (2 * needed).max(PIECE_BYTES_MIN);
        let start = heap.len();
        heap.resize(start + room, 0);
        heap.copy_within(known.clone(), start);
        state[0] = start as u64;
    }
    let end = state[0] as usize + known.len();
    heap[end..end + rows.len()].copy_from_slice(rows);
    (state[1], state[2]) = (needed as u64, room as u64);
    Ok(())
}

/// Returns the group behind those that one vector takes, from `start` on.
pub(super) fn end_of_batch(
    plan: &GroupPlan,
    table: &GroupTable,
    groups: std::ops::Range<usize>,
) -> usize {
    let kinds = plan.aggregates.iter().filter(|one| one.kind == StateKind::Collected);
    let words: Vec<usize> = kinds.map(|one| one.word).collect();
    if words.is_empty() {
        return groups.end;
    }
    let mut sums = vec![0; words.len()];
    for group in groups.clone() {
        let row = table.row(plan, group);
        for (sum, word) in sums.iter_mut().zip(&words) {
            *sum += collected_rows(&row[*word..]).len();
        }
        if sums.iter().any(|sum| *sum > BATCH_BYTES) {
            return (group + 1).min(groups.end).max(groups.start);
        }
    }
    groups.end
}

fn moments_of(state: &[u64]) -> PairMoments {
    let [count, x, xx, y, yy, xy] = [0, 1, 2, 3, 4, 5].map(|word| f64::from_bits(state[word]));
    PairMoments { count, x, xx, y, yy, xy }
}

fn words_of(moments: PairMoments) -> [u64; MOMENT_WORDS] {
    let PairMoments { count, x, xx, y, yy, xy } = moments;
    [count, x, xx, y, yy, xy].map(f64::to_bits)
}

/// Returns the bytes of sums.
pub(super) fn moment_bytes(state: &[u64]) -> [u8; 8 * MOMENT_WORDS] {
    let mut bytes = [0; 8 * MOMENT_WORDS];
    for (bytes, word) in bytes.chunks_exact_mut(8).zip(state) {
        bytes.copy_from_slice(&word.to_be_bytes());
    }
    bytes
}

/// Takes the bytes of a float, of a pair of floats, or of the sums of others into sums.
///
/// # Errors
/// 22003 if finite numbers have a sum that is not.
pub(super) fn add_moment(kind: MomentKind, state: &mut [u64], bytes: &[u8]) -> ExecResult<()> {
    let (words, _) = bytes.as_chunks::<8>();
    let mut words = words.iter().map(|word| u64::from_be_bytes(*word));
    let mut next = || words.next().unwrap_or(0);
    if bytes.len() == 8 * MOMENT_WORDS {
        let other = [next(), next(), next(), next(), next(), next()];
        return merge_moments(kind, state, &other);
    }
    let mut moments = moments_of(state);
    let first = f64::from_bits(next());
    let added = match kind {
        MomentKind::Sum => add_sum(&mut moments, first, 1.0),
        MomentKind::Single => moments.add_single(first),
        MomentKind::Pair => moments.add(first, f64::from_bits(next())),
    };
    added.map_err(ExecError::of_value)?;
    state[..MOMENT_WORDS].copy_from_slice(&words_of(moments));
    Ok(())
}

/// Merges sums.
///
/// # Errors
/// As [`add_moment`].
pub(super) fn merge_moments(kind: MomentKind, state: &mut [u64], other: &[u64]) -> ExecResult<()> {
    let (mut moments, other) = (moments_of(state), moments_of(other));
    let merged = match kind {
        MomentKind::Sum => add_sum(&mut moments, other.x, other.count),
        MomentKind::Single | MomentKind::Pair => moments.merge(&other),
    };
    merged.map_err(ExecError::of_value)?;
    state[..MOMENT_WORDS].copy_from_slice(&words_of(moments));
    Ok(())
}

fn add_sum(moments: &mut PairMoments, value: f64, count: f64) -> Result<(), ValueError> {
    if count == 0.0 {
        return Ok(());
    }
    // Not 0 and the first: the sum of -0 alone is -0.
    let sum = if moments.count == 0.0 { value } else { moments.x + value };
    if sum.is_infinite() && moments.x.is_finite() && value.is_finite() {
        return Err(ValueError::out_of_range("value out of range: overflow"));
    }
    moments.x = sum;
    moments.count += count;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_of_several_groups_are_collected_in_order() {
        let mut heap = Vec::new();
        let mut states = [[0_u64; 3]; 3];
        let mut wanted = vec![Vec::new(); 3];
        for at in 0..200_usize {
            let (group, row) = (at * 7 % 3, vec![at as u8; at % 5]);
            collect_rows(&mut states[group], &mut heap, &row).unwrap();
            wanted[group].extend_from_slice(&row);
        }
        for (state, wanted) in states.iter().zip(&wanted) {
            assert_eq!(&heap[collected_rows(state)], wanted.as_slice());
        }
    }

    #[test]
    fn merged_sums_of_floats_are_those_of_all() {
        for kind in [MomentKind::Sum, MomentKind::Single, MomentKind::Pair] {
            let (mut all, mut parts) = ([0; MOMENT_WORDS], [[0; MOMENT_WORDS]; 2]);
            for at in 0..20_u32 {
                let (y, x) = (f64::from(at * 5 % 7), f64::from(at * 3 % 11));
                let mut bytes = y.to_be_bytes().to_vec();
                if kind == MomentKind::Pair {
                    bytes.extend_from_slice(&x.to_be_bytes());
                }
                add_moment(kind, &mut all, &bytes).unwrap();
                add_moment(kind, &mut parts[at as usize % 2], &bytes).unwrap();
            }
            let [mut first, second] = parts;
            add_moment(kind, &mut first, &moment_bytes(&second)).unwrap();
            for (one, other) in first.iter().zip(&all) {
                let (one, other) = (f64::from_bits(*one), f64::from_bits(*other));
                assert!((one - other).abs() < 1e-9 * other.abs().max(1.0), "{kind:?}");
            }
        }
    }

    #[test]
    fn a_sum_of_negative_zero_alone_keeps_its_sign() {
        let zero = (-0.0_f64).to_be_bytes();
        let (mut state, mut merged) = ([0; MOMENT_WORDS], [0; MOMENT_WORDS]);
        add_moment(MomentKind::Sum, &mut state, &zero).unwrap();
        merge_moments(MomentKind::Sum, &mut state, &[0; MOMENT_WORDS]).unwrap();
        merge_moments(MomentKind::Sum, &mut merged, &state).unwrap();
        for state in [state, merged] {
            assert_eq!((state[0], state[1]), (1.0_f64.to_bits(), (-0.0_f64).to_bits()));
        }
    }

    #[test]
    fn a_sum_of_finite_floats_that_is_infinite_is_refused() {
        let mut state = [0; MOMENT_WORDS];
        let max = f64::MAX.to_be_bytes();
        add_moment(MomentKind::Sum, &mut state, &max).unwrap();
        assert!(add_moment(MomentKind::Sum, &mut state, &max).is_err());
        let mut state = [0; MOMENT_WORDS];
        add_moment(MomentKind::Sum, &mut state, &f64::INFINITY.to_be_bytes()).unwrap();
        add_moment(MomentKind::Sum, &mut state, &max).unwrap();
        assert_eq!(f64::from_bits(state[1]), f64::INFINITY);
    }
}
