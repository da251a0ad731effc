//! Hands the rows of a statement to its transaction.

use std::sync::Arc;

use nacre_ingest::Progress;
use nacre_store::{Table, Transaction, ValueRef};

use super::change::{Answer, Change, Write};
use super::returning::returned;
use super::rows::{RowBatch, Rows};
use super::source::{cancelled, collect};
use crate::error::{Error, ErrorKind, Result};
use crate::from_store::from_store;
use crate::planner::Planner;
use crate::progress::CancelOnDrop;
use crate::transaction::{Hold, Turn};

impl Change {
    /// Runs the statement; commits it if it is its own transaction.
    ///
    /// # Errors
    /// Those of its query; 22003 and the like, 23502, 23505; 40001 if another transaction is in the
    /// way. Nothing is changed then.
    pub(crate) async fn run(
        self,
        planner: &Planner,
        turn: &mut Turn,
        progress: Arc<Progress>,
    ) -> Result<Answer> {
        let moment = turn.moment(true)?;
        let rows = collect(planner, &moment, &self.table, self.source, &progress).await?;
        let count = rows.len();
        let tag = tag(self.verb, count);
        let answer = match self.returning {
            None => None,
            Some(returning) => {
                let schema = self.table.schema();
                Some(returned(planner, &moment, &schema, returning, &rows).await?)
            }
        };
        turn.log(&moment)?;
        apply(turn, self.table, self.write, rows, progress).await?;
        Ok(Answer { tag, rows: answer })
    }
}

/// Writes rows on a blocking thread, and commits them if the statement is its own transaction.
///
/// # Errors
/// 23505; 40001; those of committing.
pub(crate) async fn apply(
    turn: &mut Turn,
    table: Arc<Table>,
    write: Write,
    rows: Rows,
    progress: Arc<Progress>,
) -> Result<()> {
    let mut hold = turn.lend()?;
    let cancel = CancelOnDrop::new(&progress);
    let work = tokio::task::spawn_blocking(move || {
        let written = write_and_commit(&mut hold, &table, &write, &rows, &progress);
        (hold, written)
    });
    let (hold, written) = work.await.map_err(|error| {
        Error::new(ErrorKind::Internal, format!("internal error: writing ended: {error}"))
    })?;
    cancel.disarm();
    turn.restore(hold);
    written
}

/// Writes a few rows at once. Whoever calls this knows that committing waits for no disk.
///
/// # Errors
/// As [`apply`].
pub(crate) fn apply_now(
    turn: &mut Turn,
    table: &Arc<Table>,
    write: &Write,
    rows: &Rows,
) -> Result<()> {
    let mut hold = turn.lend()?;
    let written = write_and_commit(&mut hold, table, write, rows, &Progress::default());
    turn.restore(hold);
    written
}

/// Returns the command tag of a statement that changed `rows` rows.
pub(crate) fn tag(verb: &str, rows: usize) -> String {
    match verb {
        "INSERT" => format!("INSERT 0 {rows}"),
        "TRUNCATE" => "TRUNCATE TABLE".into(),
        verb => format!("{verb} {rows}"),
    }
}

fn write_and_commit(
    hold: &mut Hold,
    table: &Arc<Table>,
    write: &Write,
    rows: &Rows,
    progress: &Progress,
) -> Result<()> {
    let transaction = hold.transaction();
    let begin = transaction.savepoint();
    let written = write_rows(transaction, table, write, rows, progress);
    let written = written.and_then(|()| match progress.is_cancelled() {
        true => Err(cancelled()),
        false => Ok(()),
    });
    if let Err(error) = written {
        // What a statement of a block has changed goes at once, not with the block.
        transaction.rollback_to(begin);
        return Err(error);
    }
    hold.commit_own()
}

fn write_rows(
    transaction: &mut Transaction,
    table: &Arc<Table>,
    write: &Write,
    rows: &Rows,
    progress: &Progress,
) -> Result<()> {
    for batch in rows.batches() {
        if progress.is_cancelled() {
            return Err(cancelled());
        }
        write_batch(transaction, table, write, rows.columns(), batch).map_err(from_store)?;
    }
    Ok(())
}

fn write_batch(
    transaction: &mut Transaction,
    table: &Arc<Table>,
    write: &Write,
    columns: &[usize],
    batch: &RowBatch,
) -> nacre_store::Result<()> {
    match write {
        Write::Insert => {
            let mut values = Vec::with_capacity(columns.len());
            for row in 0..batch.len() {
                values.clear();
                values.extend(batch.columns.iter().map(|column| ValueRef::of(column, row)));
                transaction.insert(table, &values)?;
            }
        }
        Write::Update(written) => {
            let mut values = Vec::with_capacity(written.len());
            for (row, &id) in batch.ids.iter().enumerate() {
                values.clear();
                let held = columns.iter().zip(&batch.columns);
                let held = held.filter(|(column, _)| written.contains(column));
                values.extend(held.map(|(&column, buffer)| (column, ValueRef::of(buffer, row))));
                transaction.update(table, id, &values)?;
            }
        }
        Write::Delete => {
            for &id in &batch.ids {
                transaction.delete(table, id)?;
            }
        }
    }
    Ok(())
}
