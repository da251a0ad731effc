//! What LIMIT and OFFSET let through.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::counters::NodeCounters;
use crate::error::{ExecError, ExecResult};
use crate::pipeline::SlotId;
use crate::plan::{LateRange, LimitNode};
use crate::value::{OnceValue, ScalarValue};
use crate::vector::{BitVector, VectorBatch};

/// Counts rows that come and lets those of a range through.
#[derive(Debug)]
pub(crate) struct LimitGate {
    /// Rows that came so far, of all workers.
    seen: AtomicU64,
    offset: u64,
    rows_max: Option<u64>,
    late: Option<LateRange>,
    /// Of the LIMIT, if it is measured.
    counters: Option<Arc<NodeCounters>>,
}

impl LimitGate {
    pub(crate) fn new(node: &LimitNode, counters: Option<Arc<NodeCounters>>) -> Self {
        let LimitNode { offset, rows_max, late, .. } = node;
        let seen = AtomicU64::new(0);
        Self { seen, offset: *offset, rows_max: *rows_max, late: late.clone(), counters }
    }

    /// Returns the first row that is let through, and the first one behind all of them.
    ///
    /// # Errors
    /// Those of the values that say so, and 2201W and 2201X for negative ones.
    pub(crate) fn range(&self) -> ExecResult<(u64, u64)> {
        let (mut offset, mut rows_max) = (self.offset, self.rows_max);
        if let Some(late) = &self.late {
            if let Some(value) = &late.offset {
                offset = late_count(value, "2201X", "OFFSET")?.unwrap_or(0);
            }
            if let Some(value) = &late.rows_max {
                rows_max = late_count(value, "2201W", "LIMIT")?;
            }
        }
        Ok((offset, rows_max.map_or(u64::MAX, |rows| offset.saturating_add(rows))))
    }

    /// Leaves the rows of a batch that are in the range; `columns` are read later. Returns whether
    /// no more rows are wanted.
    ///
    /// # Errors
    /// As [`Self::range`].
    pub(crate) fn pass(&self, batch: &mut VectorBatch, columns: &[SlotId]) -> ExecResult<bool> {
        let (first, end) = self.range()?;
        let rows = batch.selected_rows() as u64;
        // ORDERING: each worker gets a range of numbers of its own; that is all.
        let start = self.seen.fetch_add(rows, Ordering::Relaxed);
        if start < first || start + rows > end {
            let mut kept = BitVector::filled(batch.rows, false);
            let mut number = start;
            for row in 0..batch.rows {
                if batch.selected_bits().is_none_or(|bits| bits.get(row)) {
                    kept.set(row, (first..end).contains(&number));
                    number += 1;
                }
            }
            batch.narrow(kept, columns);
        }
        if let Some(counters) = &self.counters {
            counters.add_rows(batch.selected_rows());
        }
        Ok(start + rows >= end)
    }
}

/// Returns the number that a value is; `None` for a null.
fn late_count(value: &OnceValue, sqlstate: &'static str, clause: &str) -> ExecResult<Option<u64>> {
    match value.value()? {
        ScalarValue::Null(_) => Ok(None),
        ScalarValue::Int(count) => match u64::try_from(count) {
            Ok(count) => Ok(Some(count)),
            Err(_) => {
                let message = format!("{clause} must not be negative");
                Err(ExecError::Function { sqlstate, message })
            }
        },
        _ => Err(ExecError::internal("a number of rows that is no number")),
    }
}
