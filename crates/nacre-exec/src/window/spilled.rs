//! Windows over rows that are in files: whole partitions, at least 8,192 rows of them at a time,
//! are merged and evaluated as if there were no others.
//!
//! # Invariants
//! 1. A partition has to fit in memory, or the query ends with [`crate::ExecError::OutOfMemory`].

use std::sync::Arc;

use super::order::{MORSEL_ROWS, OrderedRows, SortedOrder};
use super::source::WindowRun;
use crate::error::ExecResult;
use crate::memory::MemoryReservation;
use crate::pipeline::SourceRun;
use crate::sort::{KeyPart, SortRun, SpilledMerge};
use crate::spill::empty_columns;
use crate::vector::{ColumnVector, ResultBatch, VectorBatch};

/// Rows between two looks at memory.
const ROWS_BETWEEN_LOOKS: usize = 256;

/// All rows, some partitions at a time.
#[derive(Debug)]
pub(super) struct SpilledWindowRun {
    run: WindowRun,
    merge: SpilledMerge,
    /// The partitions that `run` hands on.
    rows: Vec<SortRun>,
    order: Option<SortedOrder>,
    reservation: MemoryReservation,
}

impl SpilledWindowRun {
    /// Hands on what `merge` gives by way of `run`, which has no rows yet.
    pub(super) fn new(run: WindowRun, merge: SpilledMerge, reservation: MemoryReservation) -> Self {
        Self { run, merge, rows: Vec::new(), order: None, reservation }
    }

    /// Merges the next partitions; false if there are none.
    fn read_partitions(&mut self) -> ExecResult<bool> {
        (self.rows, self.order) = (Vec::new(), None);
        self.run.begin(0)?;
        self.reservation.resize(0)?;
        let sink = Arc::clone(self.run.sink());
        let plan = &sink.plan;
        let mut columns = empty_columns(plan.inputs.iter());
        let (mut rows, mut before) = (SortRun::default(), Vec::new());
        while let Some((run, row)) = self.merge.head() {
            let key = run.key_at(row);
            let at = rows.len();
            if at >= MORSEL_ROWS
                && KeyPart::common_parts(&plan.parts, &before, key) < plan.unit_keys
            {
                break;
            }
            rows.push_row(at, |out| out.extend_from_slice(key));
            for (index, column) in columns.iter_mut().enumerate() {
                run.append_value(row, index, column);
            }
            before.clear();
            before.extend_from_slice(key);
            if at % ROWS_BETWEEN_LOOKS == ROWS_BETWEEN_LOOKS - 1 {
                let bytes: usize = columns.iter().map(ColumnVector::bytes).sum();
                self.reservation.resize(rows.bytes() + bytes)?;
            }
            self.merge.advance()?;
        }
        let count = rows.len();
        if count == 0 {
            return Ok(false);
        }
        columns.iter_mut().for_each(ColumnVector::fill_validity);
        rows.push_batch(ResultBatch { columns, rows: count });
        self.reservation.resize(rows.bytes())?;
        self.rows = vec![rows];
        let reservation = self.merge.reservation("window");
        self.order = Some(SortedOrder::new(plan, &self.rows, self.merge.control(), reservation)?);
        self.run.begin(count)?;
        Ok(true)
    }
}

impl SourceRun for SpilledWindowRun {
    fn next(&mut self, batch: &mut VectorBatch) -> ExecResult<bool> {
        (batch.rows, batch.selection) = (0, None);
        if self.run.is_done() && !self.read_partitions()? {
            return Ok(false);
        }
        let Some(order) = &self.order else { return Ok(false) };
        self.run.next_of(OrderedRows { runs: &self.rows, order }, batch)
    }
}
