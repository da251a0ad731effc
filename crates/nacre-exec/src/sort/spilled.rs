//! Sorted runs in files.
//!
//! A run is a list of blocks of sorted rows, each about a piece of memory large. A merge holds a
//! block of each run, so its memory is bounded by the number of runs; more are merged in passes.
//!
//! # Layout
//! A block: the number of rows, by row the length of its key, the keys, the columns.

use std::sync::Arc;

use nacre_column::VECTOR_ROWS;

use super::merge::RunMerge;
use super::run::SortRun;
use crate::control::QueryControl;
use crate::error::ExecResult;
use crate::memory::MemoryReservation;
use crate::pipeline::{SlotInfo, SourceRun};
use crate::spill::{
    BlockReader, OperatorSpill, SpillExtent, SpillWriter, empty_columns, put_columns, put_u32,
};
use crate::vector::{ColumnVector, ResultBatch, VectorBatch};

/// How a sort writes runs and reads them.
#[derive(Debug)]
pub(super) struct RunSpill {
    pub(super) operator: Arc<OperatorSpill>,
    /// Empty columns of the rows.
    models: Arc<[ColumnVector]>,
}

/// Blocks of sorted rows.
#[derive(Clone, Debug, Default)]
pub(super) struct SpilledRun {
    blocks: Vec<SpillExtent>,
}

/// Writes sorted rows.
struct SortRunWriter<'s> {
    spill: &'s RunSpill,
    writer: &'s mut SpillWriter,
    keys: Vec<u8>,
    /// By row: where its key ends.
    key_ends: Vec<usize>,
    columns: Vec<ColumnVector>,
    run: SpilledRun,
    encoded: Vec<u8>,
}

/// Merges runs in files.
#[derive(Debug)]
pub(crate) struct SpilledMerge {
    operator: Arc<OperatorSpill>,
    models: Arc<[ColumnVector]>,
    /// By run: blocks that were not read yet, the next one last.
    waiting: Vec<Vec<SpillExtent>>,
    /// By run: the block that is being merged.
    blocks: Vec<SortRun>,
    block_bytes: usize,
    merge: RunMerge,
    encoded: Vec<u8>,
    reservation: MemoryReservation,
}

/// Merged rows, up to a number of them.
#[derive(Debug)]
pub(super) struct SpilledMergeRun {
    merge: SpilledMerge,
    rows_left: u64,
}

impl RunSpill {
    /// Makes it for rows with columns of `infos`.
    pub(super) fn new(operator: Arc<OperatorSpill>, infos: &[SlotInfo]) -> Self {
        Self::of_columns(operator, empty_columns(infos.iter()))
    }

    /// Makes it for rows with such columns, which are empty.
    pub(super) fn of_columns(operator: Arc<OperatorSpill>, models: Vec<ColumnVector>) -> Self {
        Self { operator, models: models.into() }
    }

    /// Writes sorted runs as one.
    pub(super) fn write(
        &self,
        runs: &[SortRun],
        writer: &mut SpillWriter,
    ) -> ExecResult<SpilledRun> {
        let mut out = SortRunWriter::new(self, writer);
        let mut merge = RunMerge::new(runs);
        while let Some(head) = merge.pop(runs) {
            out.push(&runs[head.run], head.row)?;
        }
        out.finish()
    }

    /// Merges runs until so few are left that one merge can take them.
    pub(super) fn merge_many(&self, mut runs: Vec<SpilledRun>) -> ExecResult<Vec<SpilledRun>> {
        let width = self.operator.merge_width();
        while runs.len() > width {
            // A pass has a file of its own, so that those of the pass before can go.
            let mut writer = self.operator.create()?;
            let mut merged = Vec::with_capacity(runs.len().div_ceil(width));
            for some in runs.chunks(width) {
                let mut merge = self.merge(some, "sort")?;
                let mut out = SortRunWriter::new(self, &mut writer);
                while let Some((run, row)) = merge.head() {
                    out.push(run, row)?;
                    merge.advance()?;
                }
                merged.push(out.finish()?);
            }
            runs = merged;
        }
        Ok(runs)
    }

    /// Begins to merge runs for `operator`.
    pub(super) fn merge(
        &self,
        runs: &[SpilledRun],
        operator: &'static str,
    ) -> ExecResult<SpilledMerge> {
        let waiting = |run: &SpilledRun| run.blocks.iter().rev().cloned().collect();
        let mut merge = SpilledMerge {
            operator: Arc::clone(&self.operator),
            models: Arc::clone(&self.models),
            waiting: runs.iter().map(waiting).collect(),
            blocks: runs.iter().map(|_| SortRun::default()).collect(),
            block_bytes: 0,
            merge: RunMerge::new(&[]),
            encoded: Vec::new(),
            reservation: self.operator.reservation(operator),
        };
        for run in 0..runs.len() {
            merge.read_block(run)?;
        }
        merge.merge = RunMerge::new(&merge.blocks);
        Ok(merge)
    }
}

impl<'s> SortRunWriter<'s> {
    fn new(spill: &'s RunSpill, writer: &'s mut SpillWriter) -> Self {
        Self {
            spill,
            writer,
            keys: Vec::new(),
            key_ends: Vec::new(),
            columns: spill.models.to_vec(),
            run: SpilledRun::default(),
            encoded: Vec::new(),
        }
    }

    /// Appends a row of `run`, which comes after all before.
    fn push(&mut self, run: &SortRun, row: usize) -> ExecResult<()> {
        self.keys.extend_from_slice(run.key_at(row));
        self.key_ends.push(self.keys.len());
        let mut bytes = self.keys.len() + self.key_ends.len() * SortRun::ENTRY_BYTES;
        for (index, column) in self.columns.iter_mut().enumerate() {
            run.append_value(row, index, column);
            bytes += column.bytes();
        }
        if bytes < self.spill.operator.piece_bytes() {
            return Ok(());
        }
        self.end_block()
    }

    fn end_block(&mut self) -> ExecResult<()> {
        let rows = self.key_ends.len();
        if rows == 0 {
            return Ok(());
        }
        self.spill.operator.check()?;
        let out = &mut self.encoded;
        out.clear();
        put_u32(rows, out);
        let mut start = 0;
        for end in &self.key_ends {
            put_u32(end - start, out);
            start = *end;
        }
        out.extend_from_slice(&self.keys);
        self.columns.iter_mut().for_each(ColumnVector::fill_validity);
        put_columns(&self.columns, out);
        let start = self.writer.position();
        self.writer.put(out)?;
        self.run.blocks.push(self.writer.extent_from(start));
        self.keys.clear();
        self.key_ends.clear();
        self.columns.iter_mut().for_each(ColumnVector::clear);
        Ok(())
    }

    fn finish(mut self) -> ExecResult<SpilledRun> {
        self.end_block()?;
        self.writer.flush()?;
        Ok(self.run)
    }
}

impl SpilledMerge {
    /// Returns what long loops over its rows look at.
    pub(crate) fn control(&self) -> &QueryControl {
        self.operator.control()
    }

    /// Makes an empty reservation.
    pub(crate) fn reservation(&self, operator: &'static str) -> MemoryReservation {
        self.operator.reservation(operator)
    }

    /// Reads the next block of a run; false if there is none.
    fn read_block(&mut self, run: usize) -> ExecResult<bool> {
        self.block_bytes -= self.blocks[run].bytes();
        self.blocks[run] = SortRun::default();
        let Some(extent) = self.waiting[run].pop() else { return Ok(false) };
        self.operator.check()?;
        extent.read(&mut self.encoded)?;
        self.blocks[run] = decode_block(&self.encoded, &self.models)?;
        self.block_bytes += self.blocks[run].bytes();
        self.reservation.resize(self.block_bytes)?;
        Ok(true)
    }

    /// Returns the least row and the run that it is in.
    #[inline]
    pub(crate) fn head(&self) -> Option<(&SortRun, usize)> {
        let first = self.merge.first()?;
        Some((&self.blocks[first.run], first.row))
    }

    /// Goes on to the next row.
    ///
    /// # Errors
    /// Those of files and of memory.
    #[inline]
    pub(crate) fn advance(&mut self) -> ExecResult<()> {
        let Some(first) = self.merge.first() else { return Ok(()) };
        let mut next = Some(first.row + 1).filter(|row| *row < self.blocks[first.run].len());
        if next.is_none() && self.read_block(first.run)? {
            next = Some(0);
        }
        self.merge.replace_first(next, &self.blocks);
        Ok(())
    }
}

fn decode_block(block: &[u8], models: &[ColumnVector]) -> ExecResult<SortRun> {
    let mut reader = BlockReader::new(block);
    let rows = reader.u32()?;
    let lens: Vec<usize> = (0..rows).map(|_| reader.u32()).collect::<ExecResult<_>>()?;
    let keys: Vec<&[u8]> =
        lens.into_iter().map(|len| reader.bytes(len)).collect::<ExecResult<_>>()?;
    let columns = reader.columns(models)?;
    Ok(SortRun::from_sorted(&keys, ResultBatch { columns, rows }))
}

impl SpilledMergeRun {
    /// Hands on the first `rows_max` rows.
    pub(super) fn new(merge: SpilledMerge, rows_max: u64) -> Self {
        Self { merge, rows_left: rows_max }
    }
}

impl SourceRun for SpilledMergeRun {
    fn next(&mut self, batch: &mut VectorBatch) -> ExecResult<bool> {
        (batch.rows, batch.selection) = (0, None);
        let width = self.merge.models.len();
        let columns = &mut batch.columns[..width];
        columns.iter_mut().for_each(ColumnVector::clear);
        let rows_max = self.rows_left.min(VECTOR_ROWS as u64) as usize;
        while batch.rows < rows_max
            && let Some((run, row)) = self.merge.head()
        {
            for (index, column) in columns.iter_mut().enumerate() {
                run.append_value(row, index, column);
            }
            batch.rows += 1;
            self.merge.advance()?;
        }
        columns.iter_mut().for_each(ColumnVector::fill_validity);
        self.rows_left -= batch.rows as u64;
        Ok(batch.rows > 0)
    }
}
