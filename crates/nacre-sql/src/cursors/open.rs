//! The open cursors of a session.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::datatypes::SchemaRef;

use super::kept::KeptRows;
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
    rows: Arc<KeptRows>,
    position: Position,
}

/// What FETCH answers.
pub(crate) struct Fetched {
    pub(crate) schema: SchemaRef,
    /// Made when they are read: they are others' memory, or take a batch of it.
    pub(crate) batches: Batches,
    pub(crate) rows: u64,
}

/// Rows that a FETCH answers.
pub(crate) type Batches = Box<dyn Iterator<Item = Result<RecordBatch>> + Send>;

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
    pub(crate) fn open(&self, declaration: &Declaration, rows: KeptRows) {
        let mut state = self.state();
        let count = rows.batches().iter().map(|batch| batch.num_rows() as u64).sum();
        let number = state.declared;
        state.declared += 1;
        let cursor = Cursor {
            number,
            may_go_back: declaration.may_go_back,
            is_held: declaration.is_held,
            is_kept: false,
            rows: Arc::new(rows),
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
        let batches = if is_fetch { batches(&cursor.rows, rows) } else { Box::new([].into_iter()) };
        Ok(Fetched { schema: Arc::clone(cursor.rows.schema()), batches, rows: count })
    }

    /// Returns the columns of a cursor's rows, if it is open.
    pub(crate) fn schema(&self, name: &str) -> Option<SchemaRef> {
        let state = self.state();
        state.cursors.get(name).map(|cursor| Arc::clone(cursor.rows.schema()))
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

/// Returns some of the rows that are kept, in batches.
fn batches(kept: &Arc<KeptRows>, rows: Rows) -> Batches {
    match rows.is_backward {
        false => Box::new(forward(kept, &rows).into_iter().map(Ok)),
        true => backward(Arc::clone(kept), rows),
    }
}

fn forward(kept: &KeptRows, rows: &Rows) -> Vec<RecordBatch> {
    let (mut from, mut found) = (0, Vec::new());
    for batch in kept.batches() {
        let to = from + batch.num_rows() as u64;
        let (begin, end) = (rows.range.start.max(from), rows.range.end.min(to));
        if begin < end {
            found.push(batch.slice((begin - from) as usize, (end - begin) as usize));
        }
        from = to;
    }
    found
}

fn backward(kept: Arc<KeptRows>, rows: Rows) -> Batches {
    let (start, mut end) = (rows.range.start, rows.range.end);
    Box::new(std::iter::from_fn(move || {
        if end <= start {
            return None;
        }
        let begin = end.saturating_sub(BATCH_ROWS).max(start);
        let batch = kept.reversed(begin, end);
        end = begin;
        Some(batch)
    }))
}

fn unknown(name: &str) -> Error {
    let message = format!("cursor \"{name}\" does not exist");
    Error::new(ErrorKind::UndefinedObject, message).with_code("34000")
}
