//! Least and greatest values of frames. Of equal ones the last is taken, as in PostgreSQL.

use std::cmp::Ordering;
use std::collections::VecDeque;

use nacre_column::compare_floats;

use super::evaluate::FrameView;
use super::order::CHECK_ROWS;
use super::partition::{PartitionColumn, append_null};
use crate::error::{ExecError, ExecResult};
use crate::plan::{AggregateCall, AggregateFunction, FrameExclusion};
use crate::value::ValueClass;
use crate::vector::{ColumnVector, VectorValues};

/// Stands for no row.
const NO_ROW: u32 = u32::MAX;

/// The values that are compared.
struct ComparedColumn<'p> {
    column: PartitionColumn<'p>,
    filter: Option<PartitionColumn<'p>>,
    /// What the order of a better value is to another one.
    wanted: Ordering,
}

impl ComparedColumn<'_> {
    /// Whether a row takes part.
    fn is_taken(&self, row: usize) -> bool {
        !self.column.is_null(row) && self.filter.as_ref().is_none_or(|filter| filter.is_true(row))
    }

    /// Whether the value of `row`, which comes first, is better than that of `other`.
    fn is_better(&self, row: u32, other: u32) -> bool {
        let (row, other) = (row as usize, other as usize);
        let column = &self.column;
        let order = match &column.column.values {
            VectorValues::Float32(_) | VectorValues::Float64(_) => {
                match (column.float(row), column.float(other)) {
                    (Some(row), Some(other)) => compare_floats(row, other),
                    _ => Ordering::Equal,
                }
            }
            VectorValues::Code(_) | VectorValues::Bytes(_) => {
                column.with_bytes(row, |row| column.with_bytes(other, |other| row.cmp(other)))
            }
            VectorValues::Bool(_) => column.is_true(row).cmp(&column.is_true(other)),
            _ => column.int(row).cmp(&column.int(other)),
        };
        order == self.wanted
    }

    /// Returns the better one of two rows, of which the first comes first.
    fn better(&self, row: u32, other: u32) -> u32 {
        if other == NO_ROW || row != NO_ROW && self.is_better(row, other) { row } else { other }
    }
}

/// Appends the least or greatest values of frames.
pub(super) fn evaluate_extreme(
    call: &AggregateCall,
    view: &FrameView<'_>,
    out: &mut ColumnVector,
) -> ExecResult<()> {
    let argument = call.argument.ok_or_else(|| ExecError::internal("an extreme of nothing"))?;
    let filter = call.filter.map(|filter| view.partition.column(filter)).transpose()?;
    let is_max = call.function == AggregateFunction::Max;
    let wanted = if is_max { Ordering::Greater } else { Ordering::Less };
    let column = view.partition.column(argument)?;
    debug_assert_eq!(column.column.values.vector_type().class(), class_of(out));
    let compared = ComparedColumn { column, filter, wanted };
    match view.frame.exclusion {
        FrameExclusion::Nothing => by_queue(&compared, view, out),
        FrameExclusion::CurrentRow | FrameExclusion::Group | FrameExclusion::Ties => {
            by_tree(&compared, view, out)
        }
    }
}

fn class_of(column: &ColumnVector) -> ValueClass {
    column.values.vector_type().class()
}

fn append_row_or_null(compared: &ComparedColumn<'_>, row: Option<u32>, out: &mut ColumnVector) {
    match row {
        Some(row) => compared.column.append_to(row as usize, out),
        None => append_null(out),
    }
}

/// Keeps a queue of rows that may still become the best: each is better than those behind it, which
/// came later. Every row comes once and goes once, since frames only move forward.
fn by_queue(
    compared: &ComparedColumn<'_>,
    view: &FrameView<'_>,
    out: &mut ColumnVector,
) -> ExecResult<()> {
    let mut queue: VecDeque<u32> = VecDeque::new();
    let mut next = 0;
    view.partition.for_each_row(|row| {
        let (start, end) = (view.rows.starts[row], view.rows.ends[row]);
        while next < end {
            if compared.is_taken(next as usize) {
                while queue.back().is_some_and(|last| !compared.is_better(*last, next)) {
                    queue.pop_back();
                }
                queue.push_back(next);
            }
            next += 1;
        }
        while queue.front().is_some_and(|first| *first < start) {
            queue.pop_front();
        }
        append_row_or_null(compared, queue.front().copied(), out);
        Ok(())
    })
}

/// Looks the best rows of all pieces up in a segment tree.
fn by_tree(
    compared: &ComparedColumn<'_>,
    view: &FrameView<'_>,
    out: &mut ColumnVector,
) -> ExecResult<()> {
    let rows = view.partition.rows();
    // Node `n` is above nodes `2 n` and `2 n + 1`; leaves begin at `rows`.
    let mut tree = vec![NO_ROW; 2 * rows];
    view.partition.for_each_row(|row| {
        if compared.is_taken(row) {
            tree[rows + row] = row as u32;
        }
        Ok(())
    })?;
    for node in (1..rows).rev() {
        if node % CHECK_ROWS == 0 {
            view.partition.control.check()?;
        }
        tree[node] = compared.better(tree[2 * node], tree[2 * node + 1]);
    }
    view.partition.for_each_row(|row| {
        let mut best = NO_ROW;
        for range in view.pieces(row).ranges() {
            let (mut left, mut right) = (range.start + rows, range.end + rows);
            // Nodes come in from both ends, in the order of their rows.
            let (mut first, mut last) = (NO_ROW, NO_ROW);
            while left < right {
                if left % 2 == 1 {
                    first = compared.better(first, tree[left]);
                    left += 1;
                }
                if right % 2 == 1 {
                    right -= 1;
                    last = compared.better(tree[right], last);
                }
                (left, right) = (left / 2, right / 2);
            }
            best = compared.better(best, compared.better(first, last));
        }
        append_row_or_null(compared, (best != NO_ROW).then_some(best), out);
        Ok(())
    })
}
