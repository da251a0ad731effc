//! Rows that are made one after the other, as they are asked for: the error of a row comes when all
//! rows before it were taken.
//!
//! 1. Rows are made vector by vector, in one thread.
//! 2. If a vector fails, all is begun again with single rows; those that were taken are left out.
//!
//! # Invariants
//! 1. Both times rows come in the same order, since one thread makes them of the same snapshot.

use std::sync::Arc;

use crate::counters::{OperatorCounters, OperatorReport, ScanReport};
use crate::error::ExecResult;
use crate::pipeline::{PipelineSource, SlotId, SlotInfo, SourceRun};
use crate::stages::SteppedPlan;
use crate::vector::{BitVector, ColumnVector, VectorBatch};

/// A source that begins when it is asked.
#[derive(Debug)]
pub(crate) struct SteppedSource {
    plan: Arc<SteppedPlan>,
}

#[derive(Debug)]
struct SteppedRun {
    plan: Arc<SteppedPlan>,
    /// `None` before it has begun.
    sources: Option<Vec<Arc<dyn PipelineSource>>>,
    /// The present source, and its next morsel.
    source: usize,
    morsel: usize,
    run: Option<Box<dyn SourceRun>>,
    is_sliced: bool,
    /// Rows that were taken.
    taken: u64,
    /// Rows that are to be left out.
    skipped: u64,
}

impl SteppedSource {
    pub(crate) fn new(plan: Arc<SteppedPlan>) -> Self {
        Self { plan }
    }
}

impl PipelineSource for SteppedSource {
    fn name(&self) -> &'static str {
        "first rows"
    }

    fn morsel_count(&self) -> usize {
        1
    }

    fn open(&self, _morsel: usize) -> ExecResult<Box<dyn SourceRun>> {
        Ok(Box::new(SteppedRun {
            plan: Arc::clone(&self.plan),
            sources: None,
            source: 0,
            morsel: 0,
            run: None,
            is_sliced: self.plan.context.is_sliced,
            taken: 0,
            skipped: 0,
        }))
    }
}

impl SourceRun for SteppedRun {
    fn next(&mut self, batch: &mut VectorBatch) -> ExecResult<bool> {
        loop {
            self.plan.context.control.check()?;
            match self.advance(batch) {
                Ok(false) => return Ok(false),
                Ok(true) => {
                    self.skip_rows(batch);
                    if batch.selected_rows() > 0 {
                        self.taken += batch.selected_rows() as u64;
                        return Ok(true);
                    }
                }
                Err(error) if !self.is_sliced && error.of_values().is_some() => {
                    (self.is_sliced, self.skipped) = (true, self.taken);
                    (self.sources, self.run) = (None, None);
                    (self.source, self.morsel) = (0, 0);
                }
                Err(error) => return Err(error),
            }
        }
    }
}

impl SteppedRun {
    /// Makes the next rows.
    fn advance(&mut self, batch: &mut VectorBatch) -> ExecResult<bool> {
        (batch.rows, batch.selection) = (0, None);
        let sources = match &self.sources {
            Some(sources) => sources,
            None => self.sources.insert(self.plan.open(self.is_sliced)?),
        };
        loop {
            if let Some(run) = &mut self.run
                && run.next(batch)?
            {
                return Ok(true);
            }
            let Some(source) = sources.get(self.source) else { return Ok(false) };
            self.run = None;
            if self.morsel < source.morsel_count() {
                self.run = Some(source.open(self.morsel)?);
                self.morsel += 1;
            } else {
                (self.source, self.morsel) = (self.source + 1, 0);
            }
        }
    }

    /// Leaves out rows that were taken before.
    fn skip_rows(&mut self, batch: &mut VectorBatch) {
        let rows = batch.selected_rows() as u64;
        let skipped = self.skipped.min(rows);
        self.skipped -= skipped;
        if skipped == rows {
            (batch.rows, batch.selection) = (0, None);
        } else if skipped > 0 {
            let mut kept = BitVector::filled(batch.rows, false);
            let is_left = |row: &usize| batch.selected_bits().is_none_or(|bits| bits.get(*row));
            let left = (0..batch.rows).filter(is_left).skip(skipped as usize);
            left.for_each(|row| kept.set(row, true));
            let all: Vec<SlotId> = (0..self.plan.infos.len()).collect();
            batch.narrow(kept, &all);
        }
    }
}

/// A source that hands on one row at a time.
#[derive(Debug)]
pub(crate) struct SlicedSource {
    input: Arc<dyn PipelineSource>,
    models: Vec<ColumnVector>,
}

#[derive(Debug)]
struct SlicedRun {
    input: Box<dyn SourceRun>,
    /// The present rows of the input, and the next of them.
    rows: VectorBatch,
    next: usize,
}

impl SlicedSource {
    /// Takes the rows of a source, of whose columns `infos` are known.
    pub(crate) fn new(input: Arc<dyn PipelineSource>, infos: &[SlotInfo]) -> Self {
        Self { input, models: infos.iter().map(SlotInfo::empty_column).collect() }
    }
}

impl PipelineSource for SlicedSource {
    fn name(&self) -> &'static str {
        self.input.name()
    }

    fn is_idle(&self) -> bool {
        self.input.is_idle()
    }

    fn morsel_count(&self) -> usize {
        self.input.morsel_count()
    }

    fn open(&self, morsel: usize) -> ExecResult<Box<dyn SourceRun>> {
        let columns = self.models.clone();
        Ok(Box::new(SlicedRun {
            input: self.input.open(morsel)?,
            rows: VectorBatch { columns, rows: 0, selection: None },
            next: 0,
        }))
    }

    fn note_wanted(&self, columns: &[SlotId]) {
        self.input.note_wanted(columns);
    }

    fn scan_report(&self) -> Option<ScanReport> {
        self.input.scan_report()
    }

    fn reports(&self, counters: &OperatorCounters) -> Vec<OperatorReport> {
        self.input.reports(counters)
    }
}

impl SourceRun for SlicedRun {
    fn next(&mut self, batch: &mut VectorBatch) -> ExecResult<bool> {
        while self.next == self.rows.rows {
            if !self.input.next(&mut self.rows)? {
                (batch.rows, batch.selection) = (0, None);
                return Ok(false);
            }
            let all: Vec<SlotId> = (0..self.rows.columns.len()).collect();
            self.rows.compact(&all);
            self.next = 0;
        }
        for (from, out) in self.rows.columns.iter().zip(&mut batch.columns) {
            // A column that nobody reads may be empty.
            if from.values.is_empty() {
                out.clear();
            } else {
                *out = from.gathered(&[self.next as u16]);
            }
        }
        (batch.rows, batch.selection) = (1, None);
        self.next += 1;
        Ok(true)
    }
}
