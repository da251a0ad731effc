//! Loads a source into a stored table, all rows or none, or hands its rows to whoever writes them.

use crate::{
    error::{Error, Result},
    layout::{Target, TargetColumn},
    load::{ChunkSink, Loader},
    options::CsvOptions,
    progress::Progress,
    source::Source,
};
use nacre_column::ColumnBuffer;
use nacre_store::{Error as StoreError, Load, Store, Table};
use std::sync::Arc;

/// What rows of a table have to meet, and what columns hold that the file does not have.
pub trait ChunkRules: Sync {
    /// Tells whether rows get values for a column that the file does not have.
    fn fills(&self, column: usize) -> bool;

    /// Fills the columns that the file does not have, which are null, and checks the rows of chunk
    /// `index`. Chunks come in any order and from any thread.
    ///
    /// # Errors
    /// Ends the load; [`StoreError::RowRefused`] is told where in the file the row stands.
    fn apply(
        &self,
        index: u64,
        columns: &mut [ColumnBuffer],
    ) -> std::result::Result<(), StoreError>;
}

/// Where rows go.
#[derive(Clone, Copy)]
#[allow(missing_debug_implementations, reason = "rules have none")]
pub struct Destination<'a> {
    pub table: &'a Arc<Table>,
    /// The columns that the fields of a row are for, by index; the others become null, unless
    /// `rules` fill them. `None` is all of them.
    pub columns: Option<&'a [usize]>,
    pub rules: Option<&'a dyn ChunkRules>,
}

impl<'a> Destination<'a> {
    /// Returns a table without rules, all of whose columns the fields are for.
    pub fn whole(table: &'a Arc<Table>) -> Self {
        Self { table, columns: None, rules: None }
    }
}

impl ChunkSink for Load {
    type Error = StoreError;

    fn append_chunk(
        &self,
        index: u64,
        columns: &mut [ColumnBuffer],
    ) -> std::result::Result<(), StoreError> {
        Self::append_chunk(self, index, columns)
    }
}

/// Takes rows that meet rules.
struct Ruled<'a, S> {
    sink: S,
    rules: Option<&'a dyn ChunkRules>,
}

impl<S: ChunkSink<Error = StoreError>> ChunkSink for Ruled<'_, S> {
    type Error = StoreError;

    fn append_chunk(
        &self,
        index: u64,
        columns: &mut [ColumnBuffer],
    ) -> std::result::Result<(), StoreError> {
        if let Some(rules) = self.rules {
            rules.apply(index, columns)?;
        }
        self.sink.append_chunk(index, columns)
    }
}

/// Loads all rows of `source` with `threads` workers; returns their number.
///
/// The rows are visible, and durable, when this returns `Ok`; otherwise the table is as it was.
///
/// # Errors
/// The first fault in file order with its place in the file, whichever worker met it; a repeated
/// key with the place of the later row, a row that the rules refuse with its place; what the store
/// reports, as kind `Store`; `Cancelled`.
pub fn copy_from(
    store: &Store,
    to: Destination<'_>,
    source: Source,
    options: &CsvOptions,
    threads: usize,
    progress: &Progress,
) -> Result<u64> {
    let begin = || store.begin_load(to.table);
    copy_into(to, source, options, threads, progress, begin, Load::commit)
}

/// Hands all rows of `source`, parsed by `threads` workers, to the sink that `begin` makes, and the
/// sink to `end`, whose answer this returns. With one worker chunks come in the order of the file.
///
/// # Errors
/// As for [`copy_from`]; the sink's errors are as those of a load.
pub fn copy_into<S: ChunkSink<Error = StoreError>>(
    to: Destination<'_>,
    source: Source,
    options: &CsvOptions,
    threads: usize,
    progress: &Progress,
    begin: impl FnOnce() -> std::result::Result<S, StoreError>,
    end: impl FnOnce(S) -> std::result::Result<u64, StoreError>,
) -> Result<u64> {
    // The file first: if it cannot be read, the store need not hear of it.
    let mut loader = Loader::open(source, target(to), options, progress)?;
    let sink = Ruled { sink: begin().map_err(Error::sink)?, rules: to.rules };
    loader.run(threads, progress, &sink).map_err(|error| located(error, &loader))?;
    progress.check()?;
    end(sink.sink).map_err(|error| located(Error::sink(error), &loader))
}

fn target(Destination { table, columns, rules }: Destination<'_>) -> Target {
    let schema = table.schema();
    let is_filled = |index: usize| {
        columns.is_some_and(|columns| !columns.contains(&index))
            && rules.is_some_and(|rules| rules.fills(index))
    };
    // The load looks at the nulls of columns that are filled.
    let column = |(index, column): (usize, &nacre_store::ColumnDef)| TargetColumn {
        name: column.name.clone(),
        column_type: column.column_type,
        is_nullable: column.is_nullable || is_filled(index),
    };
    Target {
        relation: schema.name.clone(),
        columns: schema.columns.iter().enumerate().map(column).collect(),
        fields: columns.map_or_else(|| (0..schema.columns.len()).collect(), <[usize]>::to_vec),
    }
}

/// Adds to a repeated key, or a row that is refused, where in the file the row stands.
fn located(error: Error, loader: &Loader) -> Error {
    let loaded_at = match error.store_error() {
        Some(StoreError::DuplicateKey(duplicate)) => duplicate.loaded_at,
        Some(StoreError::RowRefused(refused)) => refused.loaded_at,
        _ => None,
    };
    let Some((chunk, row)) = loaded_at else {
        return error;
    };
    match loader.locate(chunk, u64::from(row)) {
        Ok(location) => error.with_location(location),
        // The file cannot be read any more: the error alone has to do.
        Err(_) => error,
    }
}
