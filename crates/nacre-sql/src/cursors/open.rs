//! The open cursors of a session.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use datafusion::arrow::array::{ArrayRef, RecordBatch, RecordBatchOptions};
use datafusion::arrow::compute::interleave;
use datafusion::arrow::datatypes::SchemaRef;

use super::position::{Direction, GoesBack, Position, Rows};
use super::syntax::Declaration;
use crate::error::{Error, ErrorKind, Result};

/// Rows of a batch of those that are read backwards.
const BATCH_ROWS: u64 = 8_192;

/// The cursors of one session, by name.
#[derive(Debug, Default)]
pub(crate) struct Cursors(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    cursors: BTreeMap<String, Cursor>,
    /// How many were declared so far.
    declared: u64,
}

#[derive(Debug)]
struct Cursor {
    /// Its number among those that were declared.
    number: u64,
    may_go_back: bool,
    is_held: bool,
    /// Whether the transaction that declared it has committed.
    is_kept: bool,
    schema: SchemaRef,
    batches: Vec<RecordBatch>,
    position: Position,
}

/// What FETCH answers.
#[derive(Debug)]
pub(crate) struct Fetched {
    pub(crate) schema: SchemaRef,
    pub(crate) batches: Vec<RecordBatch>,
    pub(crate) rows: u64,
}

impl Cursors {
    /// Refuses a name that a cursor has.
    ///
    /// # Errors
    /// 42P03.
    pub(crate) fn require_free(&self, name: &str) -> Result<()> {
        match self.state().cursors.contains_key(name) {
            false => Ok(()),
            true => {
                let message = format!("cursor \"{name}\" already exists");
                Err(Error::new(ErrorKind::DuplicateObject, message).with_code("42P03"))
            }
        }
    }

    /// Opens a cursor over rows.
    pub(crate) fn open(
        &self,
        declaration: &Declaration,
        schema: SchemaRef,
        batches: Vec<RecordBatch>,
    ) {
        let mut state = self.state();
        let count = batches.iter().map(|batch| batch.num_rows() as u64).sum();
        let number = state.declared;
        state.declared += 1;
        let cursor = Cursor {
            number,
            may_go_back: declaration.may_go_back,
            is_held: declaration.is_held,
            is_kept: false,
            schema,
            batches,
            position: Position::new(count),
        };
        state.cursors.insert(declaration.name.clone(), cursor);
    }

    /// Moves a cursor; returns how many rows it passed, and the rows if it is a FETCH.
    ///
    /// # Errors
    /// 34000, 55000.
    pub(crate) fn fetch(
        &self,
        name: &str,
        direction: Direction,
        is_fetch: bool,
    ) -> Result<Fetched> {
        let mut state = self.state();
        let cursor = state.cursors.get_mut(name).ok_or_else(|| unknown(name))?;
        let rows = cursor.position.step(direction, is_fetch, cursor.may_go_back);
        let rows = rows.map_err(|GoesBack| {
            let message = "cursor can only scan forward";
            Error::new(ErrorKind::InvalidStatement, message)
                .with_code("55000")
                .with_hint("Declare it with SCROLL option to enable backward scan.")
        })?;
        let count = rows.range.end - rows.range.start;
        let batches = if is_fetch { cursor.rows(rows)? } else { Vec::new() };
        Ok(Fetched { schema: Arc::clone(&cursor.schema), batches, rows: count })
    }

    /// Returns the columns of a cursor's rows.
    ///
    /// # Errors
    /// 34000.
    pub(crate) fn schema(&self, name: &str) -> Result<SchemaRef> {
        let state = self.state();
        let cursor = state.cursors.get(name).ok_or_else(|| unknown(name))?;
        Ok(Arc::clone(&cursor.schema))
    }

    /// Closes a cursor, or all.
    ///
    /// # Errors
    /// 34000.
    pub(crate) fn close(&self, name: Option<&str>) -> Result<()> {
        let mut state = self.state();
        match name {
            None => state.cursors.clear(),
            Some(name) => {
                state.cursors.remove(name).ok_or_else(|| unknown(name))?;
            }
        }
        Ok(())
    }

    /// Returns how many were declared so far, for [`Cursors::go_back`].
    pub(crate) fn declared(&self) -> u64 {
        self.state().declared
    }

    /// Closes those that were declared since there were so many.
    pub(crate) fn go_back(&self, declared: u64) {
        self.state().cursors.retain(|_, cursor| cursor.number < declared);
    }

    /// Closes those that end with the transaction.
    pub(crate) fn end_transaction(&self, is_committed: bool) {
        self.state().cursors.retain(|_, cursor| {
            cursor.is_kept |= is_committed && cursor.is_held;
            cursor.is_kept
        });
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Cursor {
    /// Returns rows in batches.
    fn rows(&self, rows: Rows) -> Result<Vec<RecordBatch>> {
        match rows.is_backward {
            false => Ok(self.forward(rows)),
            true => self.backward(rows),
        }
    }

    fn forward(&self, rows: Rows) -> Vec<RecordBatch> {
        let (mut from, mut found) = (0, Vec::new());
        for batch in &self.batches {
            let to = from + batch.num_rows() as u64;
            let (begin, end) = (rows.range.start.max(from), rows.range.end.min(to));
            if begin < end {
                found.push(batch.slice((begin - from) as usize, (end - begin) as usize));
            }
            from = to;
        }
        found
    }

    fn backward(&self, rows: Rows) -> Result<Vec<RecordBatch>> {
        let (mut end, mut found) = (rows.range.end, Vec::new());
        while end > rows.range.start {
            let begin = end.saturating_sub(BATCH_ROWS).max(rows.range.start);
            found.push(self.reversed(begin, end)?);
            end = begin;
        }
        Ok(found)
    }

    /// Returns the rows from `begin` to `end`, the last one first.
    fn reversed(&self, begin: u64, end: u64) -> Result<RecordBatch> {
        let mut places = Vec::with_capacity((end - begin) as usize);
        let mut from = 0;
        for (number, batch) in self.batches.iter().enumerate() {
            let to = from + batch.num_rows() as u64;
            let of_batch = begin.max(from)..end.min(to);
            places.extend(of_batch.map(|row| (number, (row - from) as usize)));
            from = to;
        }
        places.reverse();
        let column = |index: usize| -> Result<ArrayRef> {
            let arrays: Vec<&dyn datafusion::arrow::array::Array> =
                self.batches.iter().map(|batch| batch.column(index).as_ref()).collect();
            Ok(interleave(&arrays, &places)?)
        };
        let columns: Vec<ArrayRef> =
            (0..self.schema.fields().len()).map(column).collect::<Result<_>>()?;
        let options = RecordBatchOptions::new().with_row_count(Some(places.len()));
        Ok(RecordBatch::try_new_with_options(Arc::clone(&self.schema), columns, &options)?)
    }
}

fn unknown(name: &str) -> Error {
    let message = format!("cursor \"{name}\" does not exist");
    Error::new(ErrorKind::UndefinedObject, message).with_code("34000")
}
