//! Cuts a file into chunks of rows while it is scanned, in the same way for any number of threads.
//!
//! 1. The file is cut into segments of equal size. Workers count them in any order
//!    ([`crate::scan`]).
//! 2. [`Plan::put`] takes the counts and folds them in file order. After that the number of rows
//!    and lines before each segment, and the state at its begin, are known.
//! 3. Whenever enough rows have gone by, a [`ChunkPlan`] is made: rows `skip..skip + rows` counted
//!    from the begin of a segment. Its worker finds the exact byte in that segment.
//!
//! # Invariants
//! 1. Chunks follow each other without a gap and hold all rows; their limits depend on the file
//!    and the [`Tuning`] alone.
//! 2. A chunk other than one of a single row spans at most `chunk_bytes_max` and two segments.
//! 3. Segments are handed out in order and at most [`AHEAD_SEGMENTS_MAX`] past the first that is
//!    not folded, which bounds the queue.

use crate::{
    dialect::State,
    scan::{Outcome, SegmentScan},
};
use nacre_column::{CHUNK_ROWS, STRING_BYTES_MAX};
use std::collections::VecDeque;

/// Sizes that trade speed for memory. Tests make them tiny.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Tuning {
    /// Bytes counted at a time. [Muehlbauer16 section 3.3.3] found 0.25 to 1 times the last-level
    /// cache per thread best; this is the lower end on common processors.
    pub(crate) segment_bytes: u64,
    /// Bytes parsed at a time; with their index they stay in the L2 cache.
    pub(crate) window_bytes: usize,
    /// Rows of a chunk.
    pub(crate) chunk_rows: u64,
    /// Bytes after which a chunk is cut short. Bounds the memory of a worker, and with
    /// [`Tuning::row_bytes_max`] keeps a block's strings below `STRING_BYTES_MAX`.
    pub(crate) chunk_bytes_max: u64,
    /// Longest row; PostgreSQL's limit is the same 1 GiB, less what positions leave here.
    pub(crate) row_bytes_max: u64,
}

impl Tuning {
    const STANDARD: Self = Self {
        segment_bytes: 256 << 10,
        window_bytes: 64 << 10,
        chunk_rows: CHUNK_ROWS as u64,
        chunk_bytes_max: 256 << 20,
        row_bytes_max: 1_000_000_000,
    };
}

impl Default for Tuning {
    fn default() -> Self {
        Self::STANDARD
    }
}

// A window holds the longest row, one fill more, the bytes in front and a line end; positions in
// it have 30 bits.
const _: () = assert!(Tuning::STANDARD.row_bytes_max + (1 << 20) < crate::index::ENDS_ROW as u64);
const _: () = assert!(Tuning::STANDARD.window_bytes < 1 << 19);
// A chunk is one row, or stays below its limit and two segments: below what a block can hold.
const _: () = assert!(Tuning::STANDARD.row_bytes_max < STRING_BYTES_MAX as u64);
const _: () = assert!(Tuning::STANDARD.chunk_bytes_max < (STRING_BYTES_MAX / 2) as u64);

/// Most segments between the first not yet folded and the last handed out. Enough for 64 workers
/// to have several each; the queue then takes less than 200 KB.
const AHEAD_SEGMENTS_MAX: u64 = 1_024;

/// A place from which rows are counted: the begin of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Anchor {
    pub(crate) offset: u64,
    pub(crate) state: State,
    /// Line ends before `offset`.
    pub(crate) lines: u64,
    /// Row ends before `offset`.
    rows: u64,
}

/// The rows of one chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ChunkPlan {
    pub(crate) index: u64,
    pub(crate) anchor: Anchor,
    /// Row ends between the anchor and the chunk's first row.
    pub(crate) skip: u64,
    /// 0 for a row that is too long to be loaded.
    pub(crate) rows: u64,
    pub(crate) is_last: bool,
}

/// What a worker should do next.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Task {
    /// Parse these rows.
    Parse(ChunkPlan),
    /// Count these bytes of the file.
    Scan { segment: u64, offset: u64, bytes: usize },
    /// Another worker's count is missing: wait for it.
    Wait,
    /// Nothing is left.
    Done,
}

/// The state of the cutting.
#[derive(Debug)]
pub(crate) struct Plan {
    tuning: Tuning,
    begin: u64,
    end: u64,
    segments: u64,
    /// Next segment to hand out.
    next_segment: u64,
    /// First segment not folded; `scans[i]` is of segment `folded + i`.
    folded: u64,
    scans: VecDeque<Option<SegmentScan>>,
    /// Where segment `folded` begins.
    here: Anchor,
    /// Where the last folded segment in which a row ends begins.
    last_end: Anchor,
    /// The chunk being gathered begins with this row, counted from `open_anchor`.
    open_row: u64,
    open_anchor: Anchor,
    chunks: Vec<ChunkPlan>,
    /// Chunks handed out.
    parsed: u64,
    is_finished: bool,
}

impl Plan {
    /// Starts with the rows from `begin` to `end` of the file; `lines` line ends come before.
    pub(crate) fn new(tuning: Tuning, begin: u64, end: u64, lines: u64) -> Self {
        let here = Anchor { offset: begin, state: State::Outside, lines, rows: 0 };
        let segments = (end - begin).div_ceil(tuning.segment_bytes);
        Self {
            tuning,
            begin,
            end,
            segments,
            next_segment: 0,
            folded: 0,
            scans: VecDeque::new(),
            here,
            last_end: here,
            open_row: 0,
            open_anchor: here,
            chunks: Vec::new(),
            parsed: 0,
            is_finished: segments == 0,
        }
    }

    /// Hands out the next task. Chunks go first: their bytes are still in the page cache.
    pub(crate) fn next(&mut self) -> Task {
        if let Some(chunk) = self.chunks.get(self.parsed as usize) {
            self.parsed += 1;
            return Task::Parse(*chunk);
        }
        if self.is_finished {
            return Task::Done;
        }
        if self.next_segment == self.segments
            || self.next_segment >= self.folded + AHEAD_SEGMENTS_MAX
        {
            return Task::Wait;
        }
        let segment = self.next_segment;
        self.next_segment += 1;
        self.scans.push_back(None);
        let offset = self.begin + segment * self.tuning.segment_bytes;
        let bytes = self.tuning.segment_bytes.min(self.end - offset) as usize;
        Task::Scan { segment, offset, bytes }
    }

    /// Stops: chunks that are not handed out yet never will be.
    pub(crate) fn stop(&mut self) {
        self.is_finished = true;
        self.chunks.truncate(self.parsed as usize);
    }

    /// Returns chunk `index`, if it was made.
    pub(crate) fn chunk(&self, index: u64) -> Option<ChunkPlan> {
        self.chunks.get(usize::try_from(index).ok()?).copied()
    }

    /// Takes the count of a segment and makes the chunks that it completes.
    pub(crate) fn put(&mut self, segment: u64, scan: SegmentScan) {
        if self.is_finished {
            return;
        }
        self.scans[(segment - self.folded) as usize] = Some(scan);
        while let Some(Some(scan)) = self.scans.front().copied()
            && !self.is_finished
        {
            self.scans.pop_front();
            self.fold(&scan);
        }
    }

    fn fold(&mut self, scan: &SegmentScan) {
        let outcome = scan.outcome(self.here.state);
        let here = self.here;
        let rows_after = here.rows + outcome.rows;
        if outcome.rows > 0 {
            self.last_end = here;
        }
        let is_end = self.folded + 1 == self.segments;
        let offset_after = here.offset + self.tuning.segment_bytes;
        // Bytes after the last row end are a row without a line end.
        let rows_total = rows_after + u64::from(is_end && !outcome.ends_row);
        while rows_total >= self.open_row + self.tuning.chunk_rows {
            self.close(self.tuning.chunk_rows, here);
        }
        let bytes = offset_after - self.open_anchor.offset;
        if !is_end && bytes >= self.tuning.chunk_bytes_max && rows_after > self.open_row {
            self.close(rows_after - self.open_row, self.last_end);
        }
        if is_end {
            if rows_total > self.open_row {
                self.close(rows_total - self.open_row, here);
            }
            if let Some(last) = self.chunks.last_mut() {
                last.is_last = true;
            }
            self.is_finished = true;
        } else if bytes > self.tuning.row_bytes_max + 2 * self.tuning.segment_bytes
            && rows_after == self.open_row
        {
            // No row ended for longer than a row may be. The worker reports it.
            self.close(0, here);
            self.is_finished = true;
        }
        let Outcome { state, .. } = outcome;
        self.folded += 1;
        let lines = here.lines + scan.lines;
        self.here = Anchor { offset: offset_after, state, lines, rows: rows_after };
    }

    /// Ends the open chunk after `rows` rows, the last of which ends in the segment at `last_end`.
    fn close(&mut self, rows: u64, last_end: Anchor) {
        // Only the file's first row begins where a segment does; all others after a row's end.
        assert!(self.open_row == 0 || self.open_row > self.open_anchor.rows, "anchor past a row");
        self.chunks.push(ChunkPlan {
            index: self.chunks.len() as u64,
            anchor: self.open_anchor,
            skip: self.open_row - self.open_anchor.rows,
            rows,
            is_last: false,
        });
        self.open_row += rows;
        self.open_anchor = last_end;
    }
}
