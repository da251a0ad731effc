//! The rows of UPDATE, DELETE and INSERT that Nacre's own engine finds.

use std::collections::HashSet;
use std::sync::Arc;

use datafusion::arrow::datatypes::SchemaRef;
use datafusion::execution::SendableRecordBatchStream;
use nacre_column::{ColumnBuffer, VECTOR_ROWS};
use nacre_exec::lower::GivenRows;
use nacre_ingest::Progress;
use nacre_plan::binder::{ChangedColumn, MergedClause};
use nacre_store::{RowId, Table, TableSchema};
use nacre_types::SqlValue;

use super::cell::Cell;
use super::change::{Step, Write};
use super::defaults::compiled;
use super::merge::merged_twice;
use super::returned::ReturningRows;
use super::rows::Rows;
use super::source::yield_after;
use super::stored_values::append_stored_values;
use crate::cancellation::cancelled;
use crate::engine::{
    ChangeForm, ChangeQueries, ChangedBatch, ChangedRowStream, CompiledChange, ConflictQuery,
    EnginePool, MeasuredChange, OfferedChange, RepeatedIds,
};
use crate::error::Result;
use crate::planner::Planner;
use crate::rules::DefaultValues;
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

    /// Finds the pairs of MERGE, and what is written of them; `None` if the other engine has to.
    ///
    /// # Errors
    /// As [`Self::find`]; 21000 if a row is changed twice; 23502, 23514.
    pub(super) async fn find_merged(
        &self,
        planner: &Planner,
        moment: &Arc<Moment>,
        table: &Arc<Table>,
        progress: &Progress,
    ) -> Result<Option<Vec<Step>>> {
        let compiled = self.change.compile(planner, moment, true).await?;
        let Some(compiled) = compiled.taken() else { return Ok(None) };
        let stream = compiled.start(&self.pool, moment)?;
        collect_merged(planner, table, stream, progress).await.map(Some)
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

    /// Computes what rows get that stand in the way of new ones.
    ///
    /// # Errors
    /// Those of the query; 21000 if one row is to be changed twice.
    pub(super) async fn updated(
        &self,
        planner: &Planner,
        moment: &Arc<Moment>,
        table: &Table,
        (query, pairs): (&ConflictQuery, GivenRows),
        progress: &Progress,
    ) -> Result<Rows> {
        let stream = query.start(planner, moment, &self.pool, pairs)?;
        collect(planner, table, stream, progress).await.map(|found| found.rows)
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

/// Rows that were found, and the queries over them.
pub(super) struct FoundRows {
    pub(super) rows: Rows,
    pub(super) conflict: Option<ConflictQuery>,
    pub(super) returning: Option<ReturningRows>,
}

/// Which rows of a batch have the DEFAULT of a column.
enum DefaultedRows {
    All,
    /// For each row.
    Some(Vec<bool>),
    None,
}

impl DefaultedRows {
    fn of(column: &ChangedColumn, batch: &ChangedBatch<'_>, rows: &[u32]) -> Result<Self> {
        match (column.output, column.is_default) {
            (None, _) => Ok(Self::All),
            (Some(_), None) => Ok(Self::None),
            (Some(_), Some(output)) => {
                let is_so = |row: &u32| {
                    batch.value(output, *row).map(|value| value == SqlValue::Boolean(true))
                };
                rows.iter().map(is_so).collect::<Result<Vec<_>>>().map(Self::Some)
            }
        }
    }

    /// Returns how many of `rows` rows they are.
    fn count(&self, rows: usize) -> usize {
        match self {
            Self::All => rows,
            Self::Some(are_default) => are_default.iter().filter(|is_so| **is_so).count(),
            Self::None => 0,
        }
    }
}

/// Rows of a stream that are being collected.
struct RowCollector<'t> {
    schema: &'t TableSchema,
    columns: Vec<ChangedColumn>,
    /// The DEFAULT of each column.
    cells: Vec<Cell>,
    defaults: DefaultValues,
    rows: Rows,
}

impl<'t> RowCollector<'t> {
    fn new(
        planner: &Planner,
        table: &Table,
        schema: &'t TableSchema,
        columns: Vec<ChangedColumn>,
    ) -> Result<Self> {
        let cell = |one: &ChangedColumn| Cell::default_of(table, one.position);
        let cells: Vec<Cell> = columns.iter().map(cell).collect::<Result<_>>()?;
        let may_default = |one: &ChangedColumn| one.output.is_none() || one.is_default.is_some();
        let asked = cells.iter().zip(&columns).filter(|(_, one)| may_default(one));
        let defaults = compiled(planner, table, asked.map(|(cell, _)| cell))?;
        let rows = Rows::new(columns.iter().map(|one| one.position).collect());
        Ok(Self { schema, columns, cells, defaults, rows })
    }

    /// Appends some rows of a batch, with their ids unless they are new.
    fn append(&mut self, batch: &ChangedBatch<'_>, kept: &[u32], ids: Vec<RowId>) -> Result<()> {
        let Self { schema, columns, cells, defaults, rows } = self;
        let mut ids = ids.into_iter();
        for kept in kept.chunks(VECTOR_ROWS) {
            let count = kept.len();
            let mut defaulted = Vec::with_capacity(columns.len());
            for one in columns.iter() {
                defaulted.push(DefaultedRows::of(one, batch, kept)?);
            }
            let mut drawn = defaults.draw(|position| {
                let place = columns.iter().position(|one| one.position == position);
                place.map_or(0, |place| defaulted[place].count(count))
            })?;
            let ids = ids.by_ref().take(count).collect();
            rows.append(schema, count, ids, |place, column, buffer| {
                let mut push =
                    |buffer: &mut ColumnBuffer| cells[place].push(None, &mut drawn, column, buffer);
                match (columns[place].output, &defaulted[place]) {
                    (Some(output), DefaultedRows::None) => {
                        append_stored_values(batch.output(output)?, kept, buffer)
                    }
                    (Some(output), DefaultedRows::Some(are_default)) => {
                        kept.chunks(1).zip(are_default).try_for_each(|(row, is_default)| {
                            if *is_default {
                                push(buffer)
                            } else {
                                append_stored_values(batch.output(output)?, row, buffer)
                            }
                        })
                    }
                    _ => (0..count).try_for_each(|_| push(buffer)),
                }
            })?;
        }
        Ok(())
    }
}

/// Collects the rows of a stream, each once.
async fn collect(
    planner: &Planner,
    table: &Table,
    mut stream: ChangedRowStream,
    progress: &Progress,
) -> Result<FoundRows> {
    let schema = table.schema();
    let ChangeForm { columns, others, more, ids: repeated, .. } = stream.take_form();
    let ChangeQueries { conflict, returning } = more;
    let mut collector = RowCollector::new(planner, table, &schema, columns)?;
    let mut returning = returning.map(|query| ReturningRows::new(query, others));
    let has_ids = repeated.is_some();
    let may_repeat = repeated == Some(RepeatedIds::Skipped);
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
        collector.append(&batch, &kept, ids)?;
        yield_after(batch.len()).await;
    }
    Ok(FoundRows { rows: collector.rows, conflict, returning })
}

/// Collects the pairs of MERGE by what their clauses do.
async fn collect_merged(
    planner: &Planner,
    table: &Arc<Table>,
    mut stream: ChangedRowStream,
    progress: &Progress,
) -> Result<Vec<Step>> {
    let (schema, form) = (table.schema(), stream.take_form());
    let mut collectors = Vec::with_capacity(form.clauses.len());
    for clause in &form.clauses {
        let columns = match clause {
            MergedClause::Nothing | MergedClause::Delete => Vec::new(),
            MergedClause::Update { columns, .. } | MergedClause::Insert(columns) => columns.clone(),
        };
        collectors.push(RowCollector::new(planner, table, &schema, columns)?);
    }
    let mut seen = HashSet::new();
    while let Some(batch) = stream.next().await? {
        if progress.is_cancelled() {
            return Err(cancelled());
        }
        let mut chosen: Vec<Vec<u32>> = vec![Vec::new(); collectors.len()];
        for row in 0..batch.len() as u32 {
            if let SqlValue::Integer(clause) = batch.value(1, row)?
                && let Some(rows) = usize::try_from(clause).ok().and_then(|at| chosen.get_mut(at))
            {
                rows.push(row);
            }
        }
        let ids = batch.ids()?;
        for ((clause, collector), rows) in form.clauses.iter().zip(&mut collectors).zip(chosen) {
            let changed = match clause {
                MergedClause::Nothing => continue,
                MergedClause::Insert(_) => Vec::new(),
                MergedClause::Delete | MergedClause::Update { .. } => {
                    rows.iter().map(|row| ids[*row as usize]).collect()
                }
            };
            if !changed.iter().all(|id| seen.insert(*id)) {
                return Err(merged_twice());
            }
            collector.append(&batch, &rows, changed)?;
        }
        yield_after(batch.len()).await;
    }
    // Deletes first, so that their keys are free, and inserts last.
    let mut steps = Vec::with_capacity(collectors.len());
    for (clause, RowCollector { rows, .. }) in form.clauses.iter().zip(collectors) {
        let (order, write) = match clause {
            MergedClause::Nothing => continue,
            MergedClause::Delete => (0, Write::Delete),
            MergedClause::Update { columns, assigned } => {
                let assigned = columns.iter().take(*assigned).map(|one| one.position);
                (1, Write::Update(assigned.collect()))
            }
            MergedClause::Insert(_) => (2, Write::Insert),
        };
        rows.check_nulls(&schema)?;
        rows.check(planner, table)?;
        steps.push((order, Step { table: Arc::clone(table), write, rows }));
    }
    steps.sort_by_key(|(order, _)| *order);
    Ok(steps.into_iter().map(|(_, step)| step).collect())
}
