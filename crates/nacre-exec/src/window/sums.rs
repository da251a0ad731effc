//! Counts and sums over frames, by differences of prefix sums.

use super::evaluate::FrameView;
use super::frames::FramePieces;
use super::partition::{PartitionColumn, append_null};
use crate::error::{ExecError, ExecResult};
use crate::plan::AggregateCall;
use crate::value::IntLimit;
use crate::vector::ColumnVector;

/// A whole number of 192 bits: all values of 2^32 rows fit, whatever they are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct WideSum {
    low: u128,
    high: i64,
}

impl WideSum {
    pub(super) fn plus(self, other: Self) -> Self {
        let (low, carries) = self.low.overflowing_add(other.low);
        Self { low, high: self.high + other.high + i64::from(carries) }
    }

    pub(super) fn minus(self, other: Self) -> Self {
        let (low, borrows) = self.low.overflowing_sub(other.low);
        Self { low, high: self.high - other.high - i64::from(borrows) }
    }

    /// Returns the number if it is within a limit.
    ///
    /// # Errors
    /// [`ExecError::NumericOutOfRange`] if it is not.
    pub(super) fn within(self, limit: IntLimit) -> ExecResult<i128> {
        let (least, greatest) = (limit.bounds.min(), limit.bounds.max());
        let is_within = |sum: &i128| (least..=greatest).contains(sum);
        let beyond = ExecError::NumericOutOfRange { type_name: limit.type_name };
        self.to_int().filter(is_within).ok_or(beyond)
    }

    /// Returns the number if it has 128 bits.
    fn to_int(self) -> Option<i128> {
        let value = self.low as i128;
        (i128::from(self.high) == value >> 127).then_some(value)
    }
}

impl From<i128> for WideSum {
    fn from(value: i128) -> Self {
        Self { low: value as u128, high: (value >> 127) as i64 }
    }
}

/// Rows that an aggregate takes in.
struct TakenRows<'p> {
    argument: Option<PartitionColumn<'p>>,
    filter: Option<PartitionColumn<'p>>,
}

impl<'p> TakenRows<'p> {
    fn new(call: &AggregateCall, view: &FrameView<'p>) -> ExecResult<Self> {
        let column =
            |column: Option<usize>| column.map(|column| view.partition.column(column)).transpose();
        Ok(Self { argument: column(call.argument)?, filter: column(call.filter)? })
    }

    fn contains(&self, row: usize) -> bool {
        self.filter.as_ref().is_none_or(|filter| filter.is_true(row))
            && self.argument.as_ref().is_none_or(|argument| !argument.is_null(row))
    }
}

/// Counts of the rows that are taken before each row and, last, before the end.
fn prefix_counts(taken: &TakenRows<'_>, view: &FrameView<'_>) -> ExecResult<Vec<u32>> {
    let mut counts = Vec::with_capacity(view.partition.rows() + 1);
    let mut count = 0;
    counts.push(0);
    view.partition.for_each_row(|row| {
        count += u32::from(taken.contains(row));
        counts.push(count);
        Ok(())
    })?;
    Ok(counts)
}

fn count_of(counts: &[u32], pieces: &FramePieces) -> u32 {
    pieces.ranges().map(|range| counts[range.end] - counts[range.start]).sum()
}

/// Appends counts of rows, or of values that are not null.
pub(super) fn evaluate_count(
    call: &AggregateCall,
    view: &FrameView<'_>,
    out: &mut ColumnVector,
) -> ExecResult<()> {
    let taken = TakenRows::new(call, view)?;
    let counts = prefix_counts(&taken, view)?;
    view.partition.for_each_row(|row| {
        let pieces = view.pieces(row);
        out.values.push_int(count_of(&counts, &pieces).into());
        Ok(())
    })
}

/// Appends sums, and counts if they are wanted; the sum of no values is null.
///
/// # Errors
/// [`ExecError::NumericOutOfRange`] for a sum beyond the call's limit.
pub(super) fn evaluate_sum(
    call: &AggregateCall,
    view: &FrameView<'_>,
    out: &mut ColumnVector,
    mut count_out: Option<&mut ColumnVector>,
) -> ExecResult<()> {
    let taken = TakenRows::new(call, view)?;
    let counts = prefix_counts(&taken, view)?;
    let mut sums = Vec::with_capacity(counts.len());
    let mut sum = WideSum::default();
    sums.push(sum);
    view.partition.for_each_row(|row| {
        let value = taken.argument.as_ref().filter(|_| taken.contains(row));
        if let Some(value) = value.and_then(|argument| argument.int(row)) {
            sum = sum.plus(value.into());
        }
        sums.push(sum);
        Ok(())
    })?;
    view.partition.for_each_row(|row| {
        let pieces = view.pieces(row);
        let count = count_of(&counts, &pieces);
        let of_ranges = pieces.ranges().map(|range| sums[range.end].minus(sums[range.start]));
        let sum = of_ranges.fold(WideSum::default(), WideSum::plus).within(call.limit)?;
        if count == 0 {
            append_null(out);
        } else {
            out.values.push_int(sum);
        }
        if let Some(out) = &mut count_out {
            out.values.push_int(count.into());
        }
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_come_back_from_beyond_128_bits() {
        let values = [i128::MAX, i128::MAX, -1, i128::MIN, 5, -i128::MAX, i128::MIN, 7];
        let mut prefix = vec![WideSum::default()];
        for value in values {
            prefix.push(prefix[prefix.len() - 1].plus(value.into()));
        }
        for start in 0..values.len() {
            for end in start..=values.len() {
                // Added in another order, so that partial sums stay small where they can.
                let (mut low, mut high) = (0_i128, 0_i128);
                for value in &values[start..end] {
                    low += value & 0xffff_ffff;
                    high += value >> 32;
                }
                let expected = (high + (low >> 32))
                    .checked_mul(1 << 32)
                    .and_then(|high| high.checked_add(low & 0xffff_ffff));
                assert_eq!(prefix[end].minus(prefix[start]).to_int(), expected, "{start}..{end}");
            }
        }
    }
}
