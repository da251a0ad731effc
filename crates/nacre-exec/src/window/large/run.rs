//! Hands on the rows of a file with the results of window functions.

use std::sync::atomic::{AtomicBool, Ordering};

use nacre_column::VECTOR_ROWS;

use super::super::evaluate::sees_frame;
use super::super::plan::{PlannedCall, PlannedWindow, WindowPlan};
use super::calls::{LargeWindowCall, PlacedRows};
use super::file::{PartitionFile, RowReader};
use super::frames::{FrameCursor, PlaceCursor, PlacedRow};
use crate::error::ExecResult;
use crate::plan::{WindowFrame, WindowFunction};
use crate::vector::{ColumnVector, VectorBatch};

/// The rows of a file that are not handed on yet.
#[derive(Debug)]
pub(in super::super) struct LargeWindowRun {
    file: PartitionFile,
    windows: Vec<LargeWindow>,
    next: u32,
    /// Of the columns that are handed on.
    reader: RowReader,
}

/// A window and how far it is.
#[derive(Debug)]
struct LargeWindow {
    places: PlaceCursor,
    /// Different ones.
    frames: Vec<FrameCursor>,
    /// With the frame of each, if it sees one.
    calls: Vec<(LargeWindowCall, Option<usize>)>,
}

impl LargeWindow {
    fn new(window: &PlannedWindow, file: &PartitionFile) -> Self {
        let mut frames: Vec<FrameCursor> = Vec::new();
        let mut calls = Vec::with_capacity(window.calls.len());
        for PlannedCall { function, frame, .. } in &window.calls {
            let seen = match function {
                // Its peers end where that frame does.
                WindowFunction::CumeDist => Some(WindowFrame::DEFAULT),
                function => sees_frame(function).then_some(*frame),
            };
            let index = seen.map(|seen| {
                let known = frames.iter().position(|known| known.frame == seen);
                known.unwrap_or_else(|| {
                    frames.push(FrameCursor::new(seen, window));
                    frames.len() - 1
                })
            });
            calls.push((LargeWindowCall::new(function, frame, file), index));
        }
        Self { places: PlaceCursor::new(window), frames, calls }
    }

    /// Appends the results of all functions for the next rows.
    fn evaluate(
        &mut self,
        plan: &PlannedWindow,
        file: &PartitionFile,
        rows: std::ops::Range<u32>,
        mut results: &mut [ColumnVector],
    ) -> ExecResult<()> {
        let places = rows.map(|row| self.places.next(file, row));
        let places: Vec<PlacedRow> = places.collect::<ExecResult<_>>()?;
        let mut spans = Vec::with_capacity(self.frames.len());
        for frame in &mut self.frames {
            let own = places.iter().map(|place| frame.next(file, place));
            spans.push(own.collect::<ExecResult<Vec<_>>>()?);
        }
        for ((call, frame), planned) in self.calls.iter_mut().zip(&plan.calls) {
            let (own, others) = results.split_at_mut(planned.outputs.len());
            results = others;
            let frames = frame.map_or(&[][..], |frame| &spans[frame]);
            call.evaluate(PlacedRows { file, places: &places, frames }, own)?;
        }
        Ok(())
    }
}

impl LargeWindowRun {
    pub(in super::super) fn new(plan: &WindowPlan, file: PartitionFile) -> Self {
        let windows = plan.windows.iter().map(|window| LargeWindow::new(window, &file)).collect();
        Self { file, windows, next: 0, reader: RowReader::default() }
    }

    /// Whether all rows were handed on.
    pub(in super::super) fn is_done(&self) -> bool {
        self.next == self.file.rows()
    }

    /// Hands on the next rows, with the columns that are read above.
    ///
    /// # Errors
    /// Those of functions, of memory, of files and of the query's control.
    pub(in super::super) fn next(
        &mut self,
        plan: &WindowPlan,
        is_wanted: &[AtomicBool],
        batch: &mut VectorBatch,
    ) -> ExecResult<()> {
        self.file.control().check()?;
        let end = self.file.rows().min(self.next.saturating_add(VECTOR_ROWS as u32));
        let rows = self.next..end;
        self.next = end;
        let (inputs, results) = batch.columns.split_at_mut(is_wanted.len());
        inputs.iter_mut().for_each(ColumnVector::clear);
        // ORDERING: as where it is set.
        let wanted = is_wanted.iter().map(|one| one.load(Ordering::Relaxed));
        let wanted: Vec<usize> =
            wanted.enumerate().filter_map(|(at, one)| one.then_some(at)).collect();
        for row in rows.clone() {
            let row = self.reader.at(&self.file, row)?;
            wanted.iter().try_for_each(|at| row.append_to(*at, &mut inputs[*at]))?;
        }
        inputs.iter_mut().for_each(ColumnVector::fill_validity);
        let mut next = 0;
        for (window, planned) in self.windows.iter_mut().zip(&plan.windows) {
            let width: usize = planned.calls.iter().map(|call| call.outputs.len()).sum();
            let own = &mut results[next..next + width];
            own.iter_mut().for_each(ColumnVector::clear);
            window.evaluate(planned, &self.file, rows.clone(), own)?;
            own.iter_mut().for_each(ColumnVector::fill_validity);
            next += width;
        }
        batch.rows = rows.len();
        Ok(())
    }
}
