//! Parses one chunk: from its place in the file to one buffer per column.
//!
//! A worker owns one [`ChunkParser`] and reuses its buffers. The file goes through a small window
//! that stays in the L2 cache: read, checked to be UTF-8, indexed, converted column by column.
//!
//! # Invariants
//! 1. `FRONT_BYTES <= from <= filled <= buffer.len()`.
//! 2. `buffer[from]` is the first byte of a row and stands at `offset(from)` in the file.

use crate::{
    columns::{FRONT_BYTES, Rows},
    dialect::{LineEnd, Quoting, State},
    error::{Error, ErrorKind, Location, Result, shown},
    index::{FieldIndex, POSITION},
    layout::Layout,
    load::Watch,
    plan::{ChunkPlan, Tuning},
    row::{self, Fault},
    scan::count_rows,
    source::Input,
};
use memchr::{memchr, memchr_iter};
use nacre_column::ColumnBuffer;

pub(crate) struct ChunkParser<'a> {
    input: &'a Input,
    layout: &'a Layout,
    tuning: Tuning,
    columns: Vec<ColumnBuffer>,
    index: FieldIndex,
    scratch: Vec<u8>,
    buffer: Vec<u8>,
    from: usize,
    filled: usize,
    /// Place in the file of `buffer[FRONT_BYTES]`.
    front_offset: u64,
    /// Line ends before `buffer[from]`.
    lines: u64,
    /// The last row had no line end and was given one.
    is_ended: bool,
}

/// What a chunk was.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Parsed {
    /// All rows are in the buffers; they took this many bytes of the file.
    Complete { bytes: u64 },
    /// An earlier chunk failed, so nobody needs this one.
    Abandoned,
}

impl<'a> ChunkParser<'a> {
    pub(crate) fn new(input: &'a Input, layout: &'a Layout, tuning: Tuning) -> Self {
        Self {
            input,
            layout,
            tuning,
            columns: layout.buffers(),
            index: FieldIndex::default(),
            scratch: Vec::new(),
            buffer: vec![0; FRONT_BYTES],
            from: FRONT_BYTES,
            filled: FRONT_BYTES,
            front_offset: 0,
            lines: 0,
            is_ended: false,
        }
    }

    /// Returns the rows of the last chunk parsed; whoever changes them need not change them back.
    pub(crate) fn columns_mut(&mut self) -> &mut [ColumnBuffer] {
        &mut self.columns
    }

    /// Parses the rows of `plan`.
    ///
    /// # Errors
    /// The first fault in the chunk; `Cancelled`; `FileChanged`; `Io`.
    pub(crate) fn parse(&mut self, plan: &ChunkPlan, watch: &Watch<'_>) -> Result<Parsed> {
        for column in &mut self.columns {
            column.clear();
        }
        self.seek(plan, plan.skip)?;
        let begin = self.offset(self.from);
        if plan.rows == 0 {
            return Err(self.row_too_long());
        }
        let mut left = plan.rows;
        while left > 0 {
            if watch.is_abandoned(plan.index)? {
                return Ok(Parsed::Abandoned);
            }
            let rows = self.parse_window(left.min(usize::MAX as u64) as usize)?;
            left -= rows as u64;
            if rows == 0 && !self.fill()? {
                self.end_last_row()?;
            }
        }
        let end = self.offset(self.from).min(self.input.bytes());
        if plan.is_last && end < self.input.bytes() {
            return Err(self.input.changed(self.input.bytes()));
        }
        Ok(Parsed::Complete { bytes: end - begin })
    }

    /// Returns where row `row` of the chunk stands in the file.
    ///
    /// # Errors
    /// `FileChanged`, `Io`.
    pub(crate) fn locate(&mut self, plan: &ChunkPlan, row: u64) -> Result<Location> {
        self.seek(plan, plan.skip + row)?;
        Ok(self.location(self.from))
    }

    /// Goes to the place `skip` row ends after the plan's anchor.
    fn seek(&mut self, plan: &ChunkPlan, skip: u64) -> Result<()> {
        (self.from, self.filled) = (FRONT_BYTES, FRONT_BYTES);
        self.front_offset = plan.anchor.offset;
        self.lines = plan.anchor.lines;
        self.is_ended = false;
        let (mut state, mut left): (State, u64) = (plan.anchor.state, skip);
        while left > 0 {
            if !self.fill()? {
                return Err(self.input.changed(self.input.bytes()));
            }
            let text = &self.buffer[self.from..self.filled];
            let counted = count_rows(&self.layout.dialect, text, state, left);
            self.lines += self.layout.dialect.count_lines(&text[..counted.bytes]);
            self.from += counted.bytes;
            (state, left) = (counted.state, left - counted.rows);
        }
        Ok(())
    }

    fn offset(&self, position: usize) -> u64 {
        self.front_offset + (position - FRONT_BYTES) as u64
    }

    /// Reads more of the file; false at its end. Doubles a row that is longer than the window.
    fn fill(&mut self) -> Result<bool> {
        let next = self.offset(self.filled);
        let pending = self.filled - self.from;
        if pending as u64 > self.tuning.row_bytes_max {
            return Err(self.row_too_long());
        }
        let (file_bytes, window_bytes) = (self.input.bytes(), self.tuning.window_bytes as u64);
        if next >= file_bytes {
            return Ok(false);
        }
        self.front_offset = self.offset(self.from);
        self.buffer.copy_within(self.from..self.filled, FRONT_BYTES);
        (self.from, self.filled) = (FRONT_BYTES, FRONT_BYTES + pending);
        // Doubles, but positions have to stay below 2^30.
        let room = self.tuning.row_bytes_max + window_bytes - pending as u64;
        let wanted = window_bytes.max(pending as u64).min(room);
        let bytes = wanted.min(file_bytes - next) as usize;
        let end = self.filled + bytes;
        if self.buffer.len() < end {
            self.buffer.resize(end, 0);
        }
        self.input.read_at(next, &mut self.buffer[self.filled..end])?;
        self.filled = end;
        Ok(true)
    }

    /// Parses up to `rows_max` whole rows of the window; returns how many there were.
    fn parse_window(&mut self, rows_max: usize) -> Result<usize> {
        let text = &self.buffer[..self.filled];
        self.index.build(&self.layout.dialect, text, self.from);
        let fields = self.layout.fields.len();
        let rows_max = match self.rows_before_too_long(rows_max) {
            Some(0) => return Err(self.row_too_long()),
            Some(rows) => rows,
            None => rows_max,
        };
        let regular = self.index.count_regular(fields, rows_max);
        let (rows, end) = match regular {
            Some(0) => return Ok(0),
            Some(rows) => {
                let last = self.index.entries().get(rows * fields).copied().unwrap_or(0);
                (rows, (last & POSITION) as usize + 1)
            }
            None => self.index.rows_end(rows_max),
        };
        let region = &text[self.from..end];
        let is_clean = regular.is_some() && self.is_clean(region, rows);
        let entries = &self.index.entries()[..if is_clean { 1 + rows * fields } else { 0 }];
        let batch = Rows { text, entries, rows, layout: self.layout };
        if !is_clean || batch.append_to(&mut self.columns, &mut self.scratch).is_err() {
            return Err(self.first_fault(self.from..end, rows));
        }
        // Without quotes every line is a row, and counting lines is only needed for messages.
        self.lines += self.layout.dialect.count_lines(region);
        self.from = end;
        Ok(rows)
    }

    /// Counts the rows before one that is longer than the limit, if there is one.
    fn rows_before_too_long(&self, rows_max: usize) -> Option<usize> {
        let limit = usize::try_from(self.tuning.row_bytes_max).unwrap_or(usize::MAX);
        if self.filled - self.from <= limit {
            return None;
        }
        let mut start = self.from;
        let is_too_long = |end: usize| end - std::mem::replace(&mut start, end) > limit;
        self.index.row_ends().take(rows_max).position(is_too_long)
    }

    /// Tells whether the rows are text and have line ends of one kind only.
    fn is_clean(&self, region: &[u8], rows: usize) -> bool {
        if simdutf8::basic::from_utf8(region).is_err() || memchr(0, region).is_some() {
            return false;
        }
        let dialect = &self.layout.dialect;
        let is_surely_uniform = match dialect.line_end {
            LineEnd::Lf => memchr(b'\r', region).is_none(),
            LineEnd::Cr => memchr(b'\n', region).is_none(),
            LineEnd::CrLf => {
                let fields = self.layout.fields.len();
                let ends = self.index.entries()[1..].iter().skip(fields - 1).step_by(fields);
                let before = |entry: &u32| self.buffer[(entry & POSITION) as usize - 1];
                memchr_iter(b'\r', region).count() == rows
                    && ends.take(rows).all(|entry| before(entry) == b'\r')
            }
        };
        is_surely_uniform || row::first_stray(dialect, region).is_none()
    }

    /// Gives the file's last row the line end it lacks.
    fn end_last_row(&mut self) -> Result<()> {
        if self.from == self.filled {
            return Err(self.input.changed(self.offset(self.filled)));
        }
        if self.is_ended {
            return Err(self.first_fault(self.from..self.filled, 1));
        }
        self.is_ended = true;
        self.buffer.truncate(self.filled);
        let dialect = &self.layout.dialect;
        if dialect.quoting == Quoting::Backslash {
            let row = self.buffer[self.from..].iter().rev();
            if row.take_while(|byte| **byte == b'\\').count() % 2 == 1 {
                // A backslash before the end of the data stands for nothing.
                self.buffer.pop();
            }
        }
        self.buffer.extend_from_slice(dialect.line_end.bytes());
        self.filled = self.buffer.len();
        Ok(())
    }

    #[cold]
    fn row_too_long(&self) -> Error {
        let message = format!("row is longer than {} bytes", self.tuning.row_bytes_max);
        Error::new(ErrorKind::LimitExceeded, message)
            .with_hint("A quote that is never closed makes one row of everything after it.")
            .with_location(self.location(self.from))
    }

    #[cold]
    fn first_fault(&self, region: std::ops::Range<usize>, rows: usize) -> Error {
        let begin = region.start;
        let Some(fault) = row::first_fault(self.layout, &self.buffer[region], rows) else {
            let message = "rows were refused and then found to be right".to_owned();
            return Error::new(ErrorKind::Internal, message)
                .with_location(self.location(self.from));
        };
        let Fault { position, column, error, hint } = fault;
        let mut location = self.location(begin + position);
        if let Some((column, text)) = column {
            let column = &self.layout.target.columns[column];
            location.column = Some(column.name.clone());
            location.expected = Some(column.column_type);
            location.text = Some(text);
        }
        if matches!(error.kind, ErrorKind::BadCopyFormat | ErrorKind::NotNullViolation) {
            location.row = Some(shown(self.line_at(begin + position)));
        }
        let mut out = Error::new(error.kind, error.message).with_location(location);
        if let Some(detail) = error.detail {
            out = out.with_detail(detail);
        }
        match hint {
            Some(hint) => out.with_hint(hint),
            None => out,
        }
    }

    /// Returns the line that a position is in or ends.
    fn line_at(&self, position: usize) -> &[u8] {
        let (before, rest) = self.buffer.split_at(position.min(self.buffer.len()));
        let begin = before.iter().rposition(|byte| *byte == b'\n').map_or(self.from, |at| at + 1);
        let length = rest.iter().position(|byte| matches!(byte, b'\n' | b'\r'));
        let end = before.len() + length.unwrap_or(rest.len());
        &self.buffer[begin.min(end)..end]
    }

    /// Describes a position at or after `from` of the window.
    fn location(&self, position: usize) -> Location {
        let lines = self.layout.dialect.count_lines(&self.buffer[self.from..position]);
        Location {
            file: self.layout.file.clone(),
            line: self.lines + lines + 1,
            byte_offset: self.offset(position).min(self.input.bytes()),
            relation: self.layout.target.relation.clone(),
            column: None,
            text: None,
            expected: None,
            row: None,
        }
    }
}
