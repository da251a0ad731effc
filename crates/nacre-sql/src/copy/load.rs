//! `COPY ... FROM`: resolves the names and hands the work to the loader.

use std::path::PathBuf;
use std::sync::Arc;

use nacre_ingest::{ChunkRules, Destination, Direction, Progress, Source, TextFormat};
use nacre_store::{Store, Table};

use super::options;
use super::rows::copy_rows;
use super::statement::{CopyStatement, Subject, Target};
use crate::blocking::blocking;
use crate::cancellation::CancelOnDrop;
use crate::error::{Error, ErrorKind, Result};
use crate::from_ingest::from_ingest;
use crate::planner::Planner;
use crate::privileges::INSERT;
use crate::relations::table_to_change;
use crate::rules::CopyRules;
use crate::statement_io::CopyIn;
use crate::transaction::Turn;

/// Runs `COPY ... FROM` on blocking threads; returns the number of rows. In a transaction block the
/// rows are part of that.
///
/// If the returned future is dropped, the load stops at its next look at the progress and nothing
/// of it becomes visible.
pub(crate) async fn copy_from(
    store: &Store,
    planner: &Planner,
    turn: &mut Turn,
    statement: &CopyStatement,
    copy_in: Option<CopyIn>,
    progress: Arc<Progress>,
    threads: usize,
) -> Result<u64> {
    let csv = options::build(&statement.options, Direction::From)?;
    let Subject::Table { name, columns } = &statement.subject else {
        return Err(Error::new(ErrorKind::Syntax, "COPY FROM needs a table"));
    };
    let table = table_to_change(&turn.names(store)?, name, "COPY")?;
    planner.acting().require_table(store, &table, INSERT)?;
    let columns = columns.as_deref().map(|names| column_indexes(&table, names)).transpose()?;
    let rules = CopyRules::of(planner, &table, columns.as_deref())?;
    let has_format = statement.options.iter().any(|option| option.name == "format");
    let target = match &statement.target {
        Target::File(path) => Some(PathBuf::from(path)),
        Target::Client => None,
    };
    let is_unsaid_csv = csv.format == TextFormat::Text
        && !has_format
        && target.as_ref().is_some_and(|path| path.extension().is_some_and(|ext| ext == "csv"));
    let mut hold = match turn.is_in_block() {
        true => Some(turn.lend()?),
        false => None,
    };
    let store = store.clone();
    let cancel = CancelOnDrop::new(&progress);
    let work = move || {
        let rules = rules.as_ref().map(|rules| rules as &dyn ChunkRules);
        let to = Destination { table: &table, columns: columns.as_deref(), rules };
        let source = match target {
            Some(path) => Ok(Source::File(path)),
            None => read_all(copy_in).map(Source::Bytes),
        };
        let loaded = source.and_then(|source| {
            let loaded = match &mut hold {
                Some(hold) => copy_rows(hold.transaction(), to, source, &csv, &progress),
                None => nacre_ingest::copy_from(&store, to, source, &csv, threads, &progress),
            };
            loaded.map_err(from_ingest)
        });
        (hold, loaded)
    };
    let (hold, loaded) = blocking("the load", work).await?;
    cancel.disarm();
    if let Some(hold) = hold {
        turn.restore(hold);
    }
    loaded.map_err(|error| match error.kind() {
        ErrorKind::InvalidData if is_unsaid_csv && error.hint().is_none() => {
            error.with_hint("Without an option the format is text. For CSV add (FORMAT csv).")
        }
        _ => error,
    })
}

pub(super) fn column_indexes(table: &Table, names: &[String]) -> Result<Vec<usize>> {
    let schema = table.schema();
    let mut indexes = Vec::with_capacity(names.len());
    for name in names {
        let index = schema.column_index(name).ok_or_else(|| {
            let message =
                format!("column \"{name}\" of relation \"{}\" does not exist", schema.name);
            Error::undefined_column(message)
        })?;
        if indexes.contains(&index) {
            let message = format!("column \"{name}\" specified more than once");
            return Err(Error::new(ErrorKind::InvalidStatement, message));
        }
        indexes.push(index);
    }
    Ok(indexes)
}

fn read_all(input: Option<CopyIn>) -> Result<Vec<u8>> {
    let mut input = match input {
        Some(CopyIn::Bytes(bytes)) => return Ok(bytes),
        Some(CopyIn::Reader(input)) => input,
        None => {
            let what = "COPY FROM STDIN where there is no input to read";
            return Err(Error::not_supported(what));
        }
    };
    let mut bytes = Vec::new();
    input.read_to_end(&mut bytes).map_err(|error| {
        Error::new(ErrorKind::Io, format!("could not read the data to load: {error}"))
    })?;
    Ok(bytes)
}
