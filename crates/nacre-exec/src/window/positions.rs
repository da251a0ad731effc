//! Functions that take the value of another row.

use super::evaluate::FrameView;
use super::frames::FramePieces;
use super::partition::{PartitionView, append_null};
use crate::error::{ExecError, ExecResult};
use crate::plan::WindowFunction;
use crate::vector::ColumnVector;

/// Appends values of rows that are so far away in the partition.
pub(super) fn evaluate_shift(
    function: &WindowFunction,
    view: &PartitionView<'_>,
    out: &mut ColumnVector,
) -> ExecResult<()> {
    let WindowFunction::Shift { argument, distance, is_lead, default } = function else {
        return Err(ExecError::internal("no shift"));
    };
    let values = view.column(*argument)?;
    let default = default.map(|default| view.column(default)).transpose()?;
    let rows = view.rows();
    view.for_each_row(|row| {
        let Some(distance) = view.number(*distance, row)? else {
            append_null(out);
            return Ok(());
        };
        let (row_number, distance) = (row as i128, i128::from(distance));
        let other = if *is_lead { row_number + distance } else { row_number - distance };
        match (usize::try_from(other), &default) {
            (Ok(other), _) if other < rows => values.append_to(other, out),
            (_, Some(default)) => default.append_to(row, out),
            (_, None) => append_null(out),
        }
        Ok(())
    })
}

/// Appends values of rows at a position of the frame.
///
/// # Errors
/// 22016 if the position is not positive.
pub(super) fn evaluate_position(
    function: &WindowFunction,
    view: &FrameView<'_>,
    out: &mut ColumnVector,
) -> ExecResult<()> {
    let partition = &view.partition;
    let argument = match function {
        WindowFunction::FirstValue { argument }
        | WindowFunction::LastValue { argument }
        | WindowFunction::NthValue { argument, .. } => *argument,
        _ => return Err(ExecError::internal("no position of a frame")),
    };
    let values = partition.column(argument)?;
    partition.for_each_row(|row| {
        let number = match function {
            WindowFunction::NthValue { position, .. } => partition.number(*position, row)?,
            _ => None,
        };
        let other = row_at_position(function, number, &view.pieces(row))?;
        match other {
            Some(other) => values.append_to(other, out),
            None => append_null(out),
        }
        Ok(())
    })
}

/// Returns the row of a frame that a function takes; `position` is the number of `nth_value`.
///
/// # Errors
/// 22016 if that is not positive.
pub(super) fn row_at_position(
    function: &WindowFunction,
    position: Option<i64>,
    pieces: &FramePieces,
) -> ExecResult<Option<usize>> {
    Ok(match (function, position) {
        (WindowFunction::NthValue { .. }, Some(position @ 1..)) => pieces.nth(position as u64 - 1),
        (WindowFunction::NthValue { .. }, Some(_)) => {
            let message = "argument of nth_value must be greater than zero".to_owned();
            return Err(ExecError::Function { sqlstate: "22016", message });
        }
        (WindowFunction::NthValue { .. }, None) => None,
        (WindowFunction::LastValue { .. }, _) => {
            pieces.ranges().next_back().map(|range| range.end - 1)
        }
        _ => pieces.nth(0),
    })
}
