//! Folds over frames.
//!
//! A frame that goes on from the one of the row before adds its further rows; any other one begins
//! anew, so that frames whose start moves take time by the product of rows and frame.

use std::fmt;

use super::evaluate::FrameView;
use super::frames::FramePieces;
use crate::control::QueryControl;
use crate::error::ExecResult;
use crate::plan::{FoldCall, FoldState};
use crate::vector::{ColumnVector, VectorValues};

/// Rows that are added between two looks at the query's control.
const CHECK_ROWS: usize = 4_096;

/// Bytes of values between two looks at the memory of the query.
pub(super) const BYTES_BETWEEN_ASKS: usize = 256 << 10;

/// A fold and the rows of the frame that it has.
pub(super) struct FoldedFrame {
    state: Box<dyn FoldState>,
    start: usize,
    end: usize,
    added: usize,
}

impl fmt::Debug for FoldedFrame {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "FoldedFrame({}..{})", self.start, self.end)
    }
}

impl FoldedFrame {
    pub(super) fn new(call: &FoldCall) -> Self {
        Self { state: call.fold.start(), start: 0, end: 0, added: 0 }
    }

    /// Goes on to the frame of these pieces, by `add` for each row that is new.
    ///
    /// # Errors
    /// Those of `add` and of the query's control.
    pub(super) fn move_to(
        &mut self,
        call: &FoldCall,
        pieces: FramePieces,
        control: &QueryControl,
        mut add: impl FnMut(usize, &mut dyn FoldState) -> ExecResult<()>,
    ) -> ExecResult<()> {
        let mut ranges = pieces.ranges();
        let first = ranges.next().unwrap_or(0..0);
        let rest: Vec<_> = ranges.collect();
        let goes_on = first.start == self.start && first.end >= self.end;
        if !goes_on {
            self.state = call.fold.start();
            (self.start, self.end) = (first.start, first.start);
        }
        let has_more = !rest.is_empty();
        let new = std::iter::once(self.end..first.end).chain(rest).flatten();
        for own in new {
            add(own, &mut *self.state)?;
            self.added += 1;
            if self.added.is_multiple_of(CHECK_ROWS) {
                control.check()?;
            }
        }
        self.end = first.end;
        if has_more {
            // No frame ends before it begins: the next one begins anew.
            (self.start, self.end) = (1, usize::MAX);
        }
        Ok(())
    }

    /// Appends the value of the frame.
    ///
    /// # Errors
    /// Those of the fold.
    pub(super) fn append_value(&mut self, out: &mut ColumnVector) -> ExecResult<()> {
        self.state.append_value(out)
    }
}

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
    let mut folded = FoldedFrame::new(call);
    let mut bytes = string_bytes(out);
    view.partition.for_each_row(|row| {
        folded.move_to(call, view.pieces(row), view.partition.control, |own, state| {
            if rows.is_null(own) {
                return Ok(());
            }
            rows.with_bytes(own, |bytes| state.add(bytes))
        })?;
        folded.append_value(out)?;
        let now = string_bytes(out);
        if now >= bytes + BYTES_BETWEEN_ASKS {
            ask(now - bytes)?;
            bytes = now;
        }
        Ok(())
    })
}

/// Returns the bytes of the strings of results.
pub(super) fn string_bytes(column: &ColumnVector) -> usize {
    match &column.values {
        VectorValues::Bytes(values) => values.heap().len(),
        _ => 0,
    }
}
