//! Hands the rows of a statement to its transaction.

use std::sync::Arc;

use datafusion::arrow::datatypes::SchemaRef;
use datafusion::execution::SendableRecordBatchStream;
use nacre_ingest::Progress;
use nacre_store::{Error as StoreError, Table, Transaction, ValueRef};

use super::change::{Answer, Change, Source, Step, Write};
use super::merge;
use super::others::OtherRows;
use super::returning::{described, returned};
use super::rows::{RowBatch, Rows};
use super::source::{BesideRows, collect};
use crate::blocking::blocking;
use crate::cancellation::{CancelOnDrop, cancelled};
use crate::error::{ErrorKind, Result};
use crate::from_store::from_store;
use crate::planner::Planner;
use crate::restarts::RestartBackoff;
use crate::rules::ActionRules;
use crate::transaction::{Hold, Moment, Turn};

impl Change {
    /// Returns the columns of the rows that the statement answers; `None` if it answers none, or if
    /// only running it tells.
    ///
    /// # Errors
    /// Those of planning RETURNING.
    pub(crate) async fn describe(
        &self,
        planner: &Planner,
        moment: &Arc<Moment>,
    ) -> Result<Option<SchemaRef>> {
        self.require(planner)?;
        if self.returning.is_some()
            && let Some((offered, _)) = self.source.offered(&self.schema)
            && let Some(schema) = offered.returned_columns(planner, moment).await?
        {
            return Ok(Some(schema));
        }
        match &self.returning {
            Some(returning) if returning.others.is_none() && returning.refused.is_none() => {
                described(planner, moment, &self.table.schema(), returning).await.map(Some)
            }
            _ => Ok(None),
        }
    }

    /// Runs the statement; commits it if it is its own transaction.
    ///
    /// Under READ COMMITTED a statement that meets a row which another transaction changed is begun
    /// again with a new snapshot, as long as the other one takes to end but not much longer than a
    /// second.
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
        self.require(planner)?;
        let mut restarts = RestartBackoff::default();
        loop {
            let answer = self.attempt(planner, turn, &progress).await;
            // Names are looked up again where the statement's text is.
            let is_conflict = answer.as_ref().is_err_and(|error| {
                error.kind() == ErrorKind::SerializationFailure && !error.is_definition_change()
            });
            if !is_conflict || !turn.is_read_committed() || !restarts.wait().await {
                return answer;
            }
        }
    }

    async fn attempt(
        &self,
        planner: &Planner,
        turn: &mut Turn,
        progress: &Arc<Progress>,
    ) -> Result<Answer> {
        let moment = turn.moment(true)?;
        self.require_names(planner.store(), &moment)?;
        let reads_others = self.returning.as_ref().is_some_and(|one| one.others.is_some());
        let others = reads_others.then(OtherRows::default);
        let refused = self.returning.as_ref().and_then(|one| one.refused.clone());
        let mut beside = BesideRows { others, refused, ..BesideRows::default() };
        let steps = self.steps(planner, turn, &moment, progress, &mut beside).await?;
        let tag = tag(self.verb, steps.iter().map(|step| step.rows.len()).sum());
        let rows = self.returned(planner, &moment, &steps, beside).await?;
        turn.log(&moment)?;
        // The computed rows fit the columns of that definition only.
        self.require_names(planner.store(), &moment)?;
        apply(planner, turn, steps, Arc::clone(progress)).await?;
        Ok(Answer { tag, rows })
    }

    /// Computes what RETURNING asks for of the rows that are to be written.
    async fn returned(
        &self,
        planner: &Planner,
        moment: &Arc<Moment>,
        steps: &[Step],
        beside: BesideRows,
    ) -> Result<Option<SendableRecordBatchStream>> {
        let Some(returning) = &self.returning else { return Ok(None) };
        if let Some((offered, _)) = self.source.offered(&self.schema)
            && let Some(own) = &beside.returning
        {
            let written: Vec<&Rows> = steps.iter().map(|step| &step.rows).collect();
            let answer = offered.returned(planner, moment, &self.table, own, &written).await;
            return answer.map(Some);
        }
        let schema = self.table.schema();
        let changed: Vec<(&Write, &Rows)> =
            steps.iter().map(|step| (&step.write, &step.rows)).collect();
        let others = beside.others.unwrap_or_default();
        returned(planner, moment, &schema, returning, &changed, &others).await.map(Some)
    }

    /// Finds and computes all that is to be written.
    async fn steps(
        &self,
        planner: &Planner,
        turn: &mut Turn,
        moment: &Arc<Moment>,
        progress: &Progress,
        beside: &mut BesideRows,
    ) -> Result<Vec<Step>> {
        if let Source::Merged { query, clauses, check, offered } = &self.source {
            let (table, query) = (&self.table, query.clone());
            if let Some(offered) = offered
                && let Some(steps) = offered.find_merged(planner, moment, table, progress).await?
            {
                return Ok(steps);
            }
            if let Some(check) = check {
                planner.describe(moment, Vec::new(), check.clone()).await?;
            }
            let others = beside.others.as_mut();
            let merged = merge::steps(planner, moment, table, query, clauses, progress, others);
            return merged.await;
        }
        let rows = collect(planner, moment, &self.table, &self.source, progress, beside).await?;
        if let Some(conflict) = &self.on_conflict {
            let offered = self.source.offered(&self.schema).map(|(offered, _)| offered);
            let own = offered.zip(beside.conflict.as_ref());
            return conflict.steps(planner, turn, moment, &self.table, (rows, own), progress).await;
        }
        Ok(vec![Step { table: Arc::clone(&self.table), write: self.write.clone(), rows }])
    }
}

/// Writes rows on a blocking thread, and commits them if the statement is its own transaction.
///
/// # Errors
/// 23505; 40001; those of committing.
pub(crate) async fn apply(
    planner: &Planner,
    turn: &mut Turn,
    steps: Vec<Step>,
    progress: Arc<Progress>,
) -> Result<()> {
    let mut hold = turn.lend()?;
    let cancel = CancelOnDrop::new(&progress);
    let planner = planner.clone();
    let work = move || {
        let written = write_and_commit(&planner, &mut hold, &steps, &progress);
        (hold, written)
    };
    let (hold, written) = blocking("writing", work).await?;
    cancel.disarm();
    turn.restore(hold);
    written
}

/// Writes a few rows at once. Whoever calls this knows that committing waits for no disk.
///
/// # Errors
/// As [`apply`].
pub(crate) fn apply_now(planner: &Planner, turn: &mut Turn, steps: &[Step]) -> Result<()> {
    let mut hold = turn.lend()?;
    let written = write_and_commit(planner, &mut hold, steps, &Progress::default());
    turn.restore(hold);
    written
}

/// Returns the command tag of a statement that changed `rows` rows.
pub(crate) fn tag(verb: &str, rows: usize) -> String {
    match verb {
        "INSERT" => format!("INSERT 0 {rows}"),
        verb => format!("{verb} {rows}"),
    }
}

fn write_and_commit(
    planner: &Planner,
    hold: &mut Hold,
    steps: &[Step],
    progress: &Progress,
) -> Result<()> {
    let transaction = hold.transaction();
    let begin = transaction.savepoint();
    let written =
        steps.iter().try_for_each(|step| write_rows(transaction, step, progress)).and_then(|()| {
            let checked = transaction.check_constraints_by(&mut ActionRules::new(planner));
            checked.map_err(from_store)
        });
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

fn write_rows(transaction: &mut Transaction, step: &Step, progress: &Progress) -> Result<()> {
    let Step { table, write, rows } = step;
    for batch in rows.batches() {
        if progress.is_cancelled() {
            return Err(cancelled());
        }
        let written = write_batch(transaction, table, write, rows.columns(), batch);
        written.map_err(|error| match write {
            Write::InsertUnlessRaced(constraints) => from_store(raced(error, constraints)),
            _ => from_store(error),
        })?;
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
        Write::Insert | Write::InsertUnlessRaced(_) => {
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

/// A key that was not there a moment ago was committed meanwhile.
fn raced(error: StoreError, constraints: &[String]) -> StoreError {
    match error {
        StoreError::DuplicateKey(found) if constraints.contains(&found.constraint) => {
            let (columns, key, constraint) = (&found.columns, &found.key, &found.constraint);
            let reason = format!(
                "a transaction that committed since inserted the key ({columns})=({key}) of \
                 constraint \"{constraint}\""
            );
            StoreError::SerializationConflict { table: found.table, reason }
        }
        other => other,
    }
}
