//! The rows of UPDATE, DELETE and INSERT that Nacre's own engine finds.

use std::collections::HashSet;
use std::sync::Arc;

use datafusion::arrow::datatypes::SchemaRef;
use datafusion::execution::SendableRecordBatchStream;
use nacre_column::VECTOR_ROWS;
use nacre_ingest::Progress;
use nacre_store::{RowId, Table};

use super::cell::Cell;
use super::defaults::compiled;
use super::returned::ReturningRows;
use super::rows::Rows;
use super::source::yield_after;
use crate::cancellation::cancelled;
use crate::engine::{ChangedRowStream, CompiledChange, EnginePool, MeasuredChange, OfferedChange};
use crate::error::Result;
use crate::planner::Planner;
use crate::transaction::Moment;

/// A statement that is offered to Nacre's own engine.
#[derive(Clone, Debug)]
pub(super) struct OfferedRows {
    change: Arc<OfferedChange>,
    pool: Arc<EnginePool>,
}

impl OfferedRows {
    pub(super) fn new(change: OfferedChange, pool: &Arc<EnginePool>) -> Self {
        Self { change: Arc::new(change), pool: Arc::clone(pool) }
    }

    /// Finds the rows, and computes what their columns get; `None` if the other engine has to.
    ///
    /// # Errors
    /// Those of the query; 22008 and the like for a value that its column cannot take; 53200.
    pub(super) async fn find(
        &self,
        planner: &Planner,
        moment: &Arc<Moment>,
        table: &Arc<Table>,
        has_whole_rows: bool,
        progress: &Progress,
    ) -> Result<Option<FoundRows>> {
        let compiled = self.change.compile(planner, moment, has_whole_rows).await?;
        let Some(compiled) = compiled.taken() else { return Ok(None) };
        let stream = compiled.start(&self.pool, moment)?;
        collect(planner, table, stream, progress).await.map(Some)
    }

    /// Returns the columns of RETURNING; `None` if the other engine has to run the statement.
    ///
    /// # Errors
    /// Those of binding it.
    pub(super) async fn returned_columns(
        &self,
        planner: &Planner,
        moment: &Arc<Moment>,
    ) -> Result<Option<SchemaRef>> {
        let compiled = self.change.compile(planner, moment, true).await?;
        let compiled = compiled.taken();
        let returning = compiled.as_ref().and_then(CompiledChange::returning);
        Ok(returning.map(|returning| Arc::clone(returning.schema())))
    }

    /// Computes what RETURNING answers of the rows that are written.
    ///
    /// # Errors
    /// Those of the query.
    pub(super) async fn returned(
        &self,
        planner: &Planner,
        moment: &Arc<Moment>,
        table: &Table,
        returning: &ReturningRows,
        written: &[&Rows],
    ) -> Result<SendableRecordBatchStream> {
        returning.answer(planner, moment, &self.pool, table, written).await
    }

    /// Describes the query for the rows for EXPLAIN; `None` if the other engine has to run it.
    ///
    /// # Errors
    /// Those of binding it and, with ANALYZE, of running it.
    pub(super) async fn measure(
        &self,
        planner: &Planner,
        moment: &Arc<Moment>,
        has_whole_rows: bool,
    ) -> Result<Option<MeasuredChange>> {
        let compiled = self.change.compile(planner, moment, has_whole_rows).await?;
        match compiled.taken() {
            Some(compiled) => compiled.measure(&self.pool, moment).await,
            None => Ok(None),
        }
    }
}

/// Rows that were found, and what is answered of them.
pub(super) struct FoundRows {
    pub(super) rows: Rows,
    pub(super) returning: Option<ReturningRows>,
}

/// Collects the rows of a stream, each once.
async fn collect(
    planner: &Planner,
    table: &Table,
    mut stream: ChangedRowStream,
    progress: &Progress,
) -> Result<FoundRows> {
    let (schema, columns) = (table.schema(), stream.columns().to_vec());
    let cell = |position: usize| Cell::default_of(table, position);
    let cells: Vec<Cell> = columns.iter().map(|one| cell(one.position)).collect::<Result<_>>()?;
    let asked = cells.iter().zip(&columns).filter(|(_, one)| one.output.is_none());
    let defaults = compiled(planner, table, asked.map(|(cell, _)| cell))?;
    let mut rows = Rows::new(columns.iter().map(|one| one.position).collect());
    let others = stream.others().to_vec();
    let mut returning = stream.returning().map(|query| ReturningRows::new(query, others));
    let has_ids = stream.ids().is_some();
    let may_repeat = stream.ids().is_some_and(|ids| ids.may_repeat);
    let mut seen = may_repeat.then(HashSet::<RowId>::new);
    while let Some(batch) = stream.next().await? {
        if progress.is_cancelled() {
            return Err(cancelled());
        }
        let ids = if has_ids { batch.ids()? } else { Vec::new() };
        let mut is_new = |id: &RowId| seen.as_mut().is_none_or(|seen| seen.insert(*id));
        let (mut kept, ids): (Vec<u32>, Vec<RowId>) =
            (0..).zip(ids).filter(|(_, id)| is_new(id)).unzip();
        if !has_ids {
            kept = (0..batch.len() as u32).collect();
        }
        if let Some(returning) = &mut returning {
            returning.take_others(&batch, &kept)?;
        }
        let mut ids = ids.into_iter();
        for kept in kept.chunks(VECTOR_ROWS) {
            let count = kept.len();
            let mut drawn = defaults.draw(|_| count)?;
            let ids = ids.by_ref().take(count).collect();
            rows.append(&schema, count, ids, |place, column, buffer| {
                match columns[place].output {
                    Some(output) => batch.append(output, kept, buffer),
                    None => (0..count)
                        .try_for_each(|_| cells[place].push(None, &mut drawn, column, buffer)),
                }
            })?;
        }
        yield_after(batch.len()).await;
    }
    Ok(FoundRows { rows, returning })
}
