//! Folds over frames.
//!
//! A frame that goes on from the one of the row before adds its further rows; any other one begins
//! anew, so that frames whose start moves take time by the product of rows and frame.

use super::evaluate::FrameView;
use crate::error::ExecResult;
use crate::plan::FoldCall;
use crate::vector::{ColumnVector, VectorValues};

/// Rows that are added between two looks at the query's control.
const CHECK_ROWS: usize = 4_096;

/// Bytes of values between two looks at the memory of the query.
const BYTES_BETWEEN_ASKS: usize = 256 << 10;

/// Appends the value of each row's frame.
///
/// # Errors
/// Those of the fold, of the query's control, and of `ask`, which is asked for the bytes of values.
pub(super) fn evaluate_fold(
    call: &FoldCall,
    view: &FrameView<'_>,
    ask: &mut dyn FnMut(usize) -> ExecResult<()>,
    out: &mut ColumnVector,
) -> ExecResult<()> {
    let rows = view.partition.column(call.argument)?;
    let mut state = call.fold.start();
    // The rows that the state has.
    let (mut start, mut end, mut added) = (0, 0, 0);
    let mut bytes = string_bytes(out);
    view.partition.for_each_row(|row| {
        let pieces = view.pieces(row);
        let mut ranges = pieces.ranges();
        let first = ranges.next().unwrap_or(0..0);
        let rest: Vec<_> = ranges.collect();
        let goes_on = first.start == start && first.end >= end;
        if !goes_on {
            state = call.fold.start();
            (start, end) = (first.start, first.start);
        }
        let has_more = !rest.is_empty();
        let new = std::iter::once(end..first.end).chain(rest).flatten();
        for own in new {
            if !rows.is_null(own) {
                rows.with_bytes(own, |bytes| state.add(bytes))?;
            }
            added += 1;
            if added % CHECK_ROWS == 0 {
                view.partition.control.check()?;
            }
        }
        end = first.end;
        if has_more {
            // No frame ends before it begins: the next one begins anew.
            (start, end) = (1, usize::MAX);
        }
        state.append_value(out)?;
        let now = string_bytes(out);
        if now >= bytes + BYTES_BETWEEN_ASKS {
            ask(now - bytes)?;
            bytes = now;
        }
        Ok(())
    })
}

fn string_bytes(column: &ColumnVector) -> usize {
    match &column.values {
        VectorValues::Bytes(values) => values.heap().len(),
        _ => 0,
    }
}
