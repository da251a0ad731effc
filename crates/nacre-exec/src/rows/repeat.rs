//! Rows that are handed on as often as a column of them says.

use std::sync::Arc;

use nacre_column::VECTOR_ROWS;

use crate::counters::{OperatorCounters, OperatorReport, ScanReport};
use crate::error::ExecResult;
use crate::pipeline::{PipelineSource, SlotInfo, SourceRun};
use crate::vector::VectorBatch;

/// A source each row of which comes so many times.
#[derive(Debug)]
pub(crate) struct RepeatSource {
    input: Arc<dyn PipelineSource>,
    infos: Arc<[SlotInfo]>,
    /// The column of the counts.
    count: usize,
    input_counters: OperatorCounters,
}

#[derive(Debug)]
struct RepeatRun {
    input: Box<dyn SourceRun>,
    count: usize,
    /// The present rows of the input.
    rows: VectorBatch,
    /// The present row, and how often it was handed on.
    at: usize,
    done: i128,
    positions: Vec<u16>,
}

impl RepeatSource {
    /// Takes the rows of a source whose columns are `infos`.
    pub(crate) fn new(
        input: Arc<dyn PipelineSource>,
        infos: &Arc<[SlotInfo]>,
        count: usize,
    ) -> Self {
        let input_counters = OperatorCounters::default();
        Self { input, infos: Arc::clone(infos), count, input_counters }
    }
}

impl PipelineSource for RepeatSource {
    fn name(&self) -> &'static str {
        "repeat"
    }

    fn is_idle(&self) -> bool {
        self.input.is_idle()
    }

    fn morsel_count(&self) -> usize {
        self.input.morsel_count()
    }

    fn open(&self, morsel: usize) -> ExecResult<Box<dyn SourceRun>> {
        let columns = self.infos.iter().map(SlotInfo::empty_column).collect();
        Ok(Box::new(RepeatRun {
            input: self.input.open(morsel)?,
            count: self.count,
            rows: VectorBatch { columns, rows: 0, selection: None },
            at: 0,
            done: 0,
            positions: Vec::new(),
        }))
    }

    fn scan_report(&self) -> Option<ScanReport> {
        self.input.scan_report()
    }

    fn reports(&self, counters: &OperatorCounters) -> Vec<OperatorReport> {
        let mut reports = self.input.reports(&self.input_counters);
        reports.push(counters.report(self.name()));
        reports
    }
}

impl SourceRun for RepeatRun {
    fn next(&mut self, batch: &mut VectorBatch) -> ExecResult<bool> {
        (batch.rows, batch.selection) = (0, None);
        if self.at == self.rows.rows {
            if !self.input.next(&mut self.rows)? {
                return Ok(false);
            }
            let all: Vec<usize> = (0..self.rows.columns.len()).collect();
            self.rows.compact(&all);
            (self.at, self.done) = (0, 0);
        }
        self.choose();
        for (from, out) in self.rows.columns.iter().zip(&mut batch.columns) {
            *out = from.gathered(&self.positions);
        }
        batch.rows = self.positions.len();
        Ok(true)
    }
}

impl RepeatRun {
    /// Puts the positions of the next vector into `positions`.
    fn choose(&mut self) {
        self.positions.clear();
        let counts = &self.rows.columns[self.count];
        while self.at < self.rows.rows {
            let is_null = counts.is_null(self.at);
            let count = counts.values.int(self.at).filter(|_| !is_null).unwrap_or(0);
            let room = (VECTOR_ROWS - self.positions.len()) as i128;
            let taken = (count - self.done).clamp(0, room);
            // Fewer than a vector has, which positions have room for.
            self.positions.extend(std::iter::repeat_n(self.at as u16, taken as usize));
            self.done += taken;
            if self.done < count {
                return;
            }
            (self.at, self.done) = (self.at + 1, 0);
        }
    }
}
