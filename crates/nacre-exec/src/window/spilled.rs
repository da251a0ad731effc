//! Windows over rows that are in files: whole partitions, at least 8,192 rows of them at a time,
//! are merged and evaluated as if there were no others. Those that do not fit in memory go to a
//! file in the order of the merge ([`super::large`]).

use std::sync::Arc;

use super::evaluate::evaluation_bytes;
use super::large::PartitionFileWriter;
use super::order::{MORSEL_ROWS, OrderedRows, SortedOrder};
use super::plan::WindowPlan;
use super::source::WindowRun;
use crate::error::{ExecError, ExecResult};
use crate::memory::MemoryReservation;
use crate::pipeline::SourceRun;
use crate::sort::{KeyPart, SortRun, SpilledMerge, append_row};
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
            if begins_morsel(plan, at, &before, key) {
                break;
            }
            rows.push_row(at, |out| out.extend_from_slice(key));
            for (index, column) in columns.iter_mut().enumerate() {
                run.append_value(row, index, column);
            }
            before.clear();
            before.extend_from_slice(key);
            self.merge.advance()?;
            if rows.len() % ROWS_BETWEEN_LOOKS == 0 && !self.holds(plan, &rows, &columns)? {
                return self.read_large(plan, rows, columns);
            }
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

    /// Reserves what rows take, and what they will while they are evaluated; false if that is more
    /// than there is.
    fn holds(
        &mut self,
        plan: &WindowPlan,
        rows: &SortRun,
        columns: &[ColumnVector],
    ) -> ExecResult<bool> {
        let bytes = rows.bytes() + columns.iter().map(ColumnVector::bytes).sum::<usize>();
        let Some(spill) = self.run.sink().spill() else {
            return self.reservation.resize(bytes).map(|()| true);
        };
        let later = rows.len() * SortedOrder::ROW_BYTES + evaluation_bytes(plan, rows.len());
        Ok(spill.hold(&mut self.reservation, bytes + later))
    }

    /// Writes rows and those that follow them in their partition to a file.
    fn read_large(
        &mut self,
        plan: &WindowPlan,
        rows: SortRun,
        mut columns: Vec<ColumnVector>,
    ) -> ExecResult<bool> {
        columns.iter_mut().for_each(ColumnVector::fill_validity);
        let sink = Arc::clone(self.run.sink());
        let no_files = || ExecError::internal("a merge of no files");
        let spill = sink.spill().ok_or_else(no_files)?;
        let mut file = PartitionFileWriter::new(spill, empty_columns(plan.inputs.iter()))?;
        let mut before: Vec<u8> = Vec::new();
        for row in 0..rows.len() {
            let common = common_parts(plan, row, &before, rows.key_at(row));
            file.push(common, |column, out| append_row(&columns[column], row, out))?;
            before.clear();
            before.extend_from_slice(rows.key_at(row));
        }
        let mut at = rows.len();
        drop((rows, columns));
        self.reservation.resize(0)?;
        while let Some((run, row)) = self.merge.head() {
            let key = run.key_at(row);
            if begins_morsel(plan, at, &before, key) {
                break;
            }
            let common = common_parts(plan, at, &before, key);
            file.push(common, |column, out| run.append_value(row, column, out))?;
            before.clear();
            before.extend_from_slice(key);
            at += 1;
            self.merge.advance()?;
        }
        self.run.begin_large(file)?;
        Ok(true)
    }
}

/// Whether a row is of a partition that those before it are not taken together with.
fn begins_morsel(plan: &WindowPlan, rows: usize, before: &[u8], key: &[u8]) -> bool {
    rows >= MORSEL_ROWS && KeyPart::common_parts(&plan.parts, before, key) < plan.unit_keys
}

/// Returns how many key parts a row has in common with the one before; none if it is the first.
fn common_parts(plan: &WindowPlan, row: usize, before: &[u8], key: &[u8]) -> usize {
    if row == 0 { 0 } else { KeyPart::common_parts(&plan.parts, before, key) }
}

impl SourceRun for SpilledWindowRun {
    fn next(&mut self, batch: &mut VectorBatch) -> ExecResult<bool> {
        (batch.rows, batch.selection) = (0, None);
        if self.run.is_done() && !self.read_partitions()? {
            return Ok(false);
        }
        let Some(order) = &self.order else { return self.run.next_large(batch) };
        self.run.next_of(OrderedRows { runs: &self.rows, order }, batch)
    }
}
