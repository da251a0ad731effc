//! Collects the rows of a statement.

use std::collections::HashSet;
use std::sync::Arc;

use datafusion::arrow::array::{Array, AsArray, RecordBatch};
use datafusion::arrow::datatypes::{DataType, SchemaRef, UInt64Type};
use datafusion::catalog::TableProvider;
use datafusion::execution::SendableRecordBatchStream;
use datafusion::sql::sqlparser::ast::Expr;
use futures::StreamExt;
use nacre_ingest::Progress;
use nacre_store::{ColumnDef, RowId, Table, TableSchema, Value, ValueRef};

use super::assign;
use super::cell::{Cell, missing};
use super::change::Source;
use super::defaults::compiled;
use super::found::FoundRows;
use super::others::OtherRows;
use super::query::{TARGET, output, select, statement};
use super::returned::ReturningRows;
use super::rows::Rows;
use super::statement::check_count;
use crate::cancellation::cancelled;
use crate::engine::ConflictQuery;
use crate::error::{Error, Result};
use crate::from_store::from_store;
use crate::planner::Planner;
use crate::rules::{DefaultValues, Drawn};
use crate::scan::StoredTable;
use crate::transaction::Moment;

/// Runs the query of a source and collects its rows, as they are to be written.
///
/// # Errors
/// Those of the query; 22003 and the like for a value that its column cannot take; 23502, 23514;
/// 53200.
pub(super) async fn collect(
    planner: &Planner,
    moment: &Arc<Moment>,
    table: &Arc<Table>,
    source: &Source,
    progress: &Progress,
    beside: &mut BesideRows,
) -> Result<Rows> {
    let schema = table.schema();
    let found = match source.offered(&schema) {
        Some((offered, is_whole)) => {
            offered.find(planner, moment, table, is_whole, progress).await?
        }
        None => None,
    };
    let rows = match (found, source) {
        (Some(FoundRows { rows, conflict, returning }), _) => {
            (beside.conflict, beside.returning) = (conflict, returning);
            rows
        }
        (None, Source::Values { lists, query, .. }) => {
            let outputs = match query {
                None => None,
                Some(query) => {
                    let stream = planner.start(moment, Vec::new(), query.clone()).await?;
                    Some(single_row(stream).await?)
                }
            };
            let defaults = compiled(planner, table, lists.iter().flatten())?;
            let asks = |column: usize| {
                let asks = |cells: &&Vec<Cell>| cells.get(column) == Some(&Cell::Default(column));
                lists.iter().filter(asks).count()
            };
            values(&schema, lists, outputs.as_ref(), &mut defaults.draw(asks)?)?
        }
        (None, Source::Query { query, targets, is_listed, literals, .. }) => {
            let stream = planner.start(moment, Vec::new(), query.clone()).await?;
            check_count(targets.len(), stream.schema().fields().len(), *is_listed)?;
            let mut cells = Cell::defaults_of(table)?;
            let count = stream.schema().fields().len();
            for (index, &target) in targets.iter().take(count).enumerate() {
                let is_literal = literals.get(index).copied().unwrap_or(false);
                cells[target] = Cell::Output { index, is_literal };
            }
            let columns = (0..schema.columns.len()).collect();
            let form = Form::new(planner, table, &schema, cells, false)?;
            form.collect(stream, Rows::new(columns), progress).await?
        }
        (None, Source::Found { query, columns, cells, .. }) => {
            if let Some(error) = beside.refused.take() {
                return Err(error);
            }
            let stream = planner.start(moment, target(table, moment)?, query.clone()).await?;
            let form = Form::new(planner, table, &schema, cells.clone(), true)?;
            let rows = Rows::new(columns.clone());
            form.collect_with(stream, rows, progress, beside.others.as_mut()).await?
        }
        (None, Source::Merged { .. }) => return Err(missing()),
    };
    rows.check_nulls(&schema)?;
    rows.check(planner, table)?;
    Ok(rows)
}

/// What else is known when the rows are.
#[derive(Debug, Default)]
pub(super) struct BesideRows {
    /// ON CONFLICT DO UPDATE in Nacre's own engine: `None` if that did not find the rows.
    pub(super) conflict: Option<ConflictQuery>,
    /// RETURNING there.
    pub(super) returning: Option<ReturningRows>,
    /// Rows for RETURNING in DataFusion: `None` if it reads no other tables.
    pub(super) others: Option<OtherRows>,
    /// Why DataFusion cannot do it.
    pub(super) refused: Option<Error>,
}

/// Returns the table that a statement changes, with the ids of its rows.
///
/// # Errors
/// 40001 if the table was made or dropped since the moment.
pub(super) fn target(
    table: &Arc<Table>,
    moment: &Arc<Moment>,
) -> Result<Vec<(&'static str, Arc<dyn TableProvider>)>> {
    let target = StoredTable::new(table, moment).map_err(from_store)?;
    Ok(vec![(TARGET, Arc::new(target.with_row_ids()))])
}

/// Rows that are many.
const YIELDING_ROWS: usize = 1_024;

/// Gives the thread back after a batch of many rows: a cancel request is heard then, and others are
/// served.
pub(super) async fn yield_after(rows: usize) {
    if rows >= YIELDING_ROWS {
        tokio::task::yield_now().await;
    }
}

/// How rows are made of the batches of a query.
pub(super) struct Form<'a> {
    schema: &'a TableSchema,
    /// For each column of the rows.
    cells: Vec<Cell>,
    defaults: DefaultValues,
    /// Whether the first output is the id of a row.
    has_ids: bool,
    pub(super) repeated: Repeated,
}

/// What is done with a row that the query finds another time.
#[derive(Clone, Copy, Debug)]
pub(super) enum Repeated {
    Skipped,
    Refused(fn() -> Error),
}

impl<'a> Form<'a> {
    pub(super) fn new(
        planner: &Planner,
        table: &Table,
        schema: &'a TableSchema,
        cells: Vec<Cell>,
        has_ids: bool,
    ) -> Result<Self> {
        let defaults = compiled(planner, table, cells.iter())?;
        Ok(Self { schema, cells, defaults, has_ids, repeated: Repeated::Skipped })
    }

    pub(super) async fn collect(
        &self,
        stream: SendableRecordBatchStream,
        rows: Rows,
        progress: &Progress,
    ) -> Result<Rows> {
        self.collect_with(stream, rows, progress, None).await
    }

    /// As [`Form::collect`]; also hands the other tables' values of the rows to `others`.
    async fn collect_with(
        &self,
        mut stream: SendableRecordBatchStream,
        mut rows: Rows,
        progress: &Progress,
        mut others: Option<&mut OtherRows>,
    ) -> Result<Rows> {
        self.check(&stream.schema(), rows.columns())?;
        if let Some(others) = &mut others {
            others.begin(&stream.schema());
        }
        let mut seen = HashSet::new();
        while let Some(batch) = stream.next().await {
            if progress.is_cancelled() {
                return Err(cancelled());
            }
            let batch = batch?;
            let kept = self.take(&batch, &mut rows, &mut seen)?;
            if let Some(others) = &mut others {
                others.push(&batch, kept)?;
            }
            yield_after(batch.num_rows()).await;
        }
        Ok(rows)
    }

    /// Refuses outputs that can never be assigned to their columns.
    pub(super) fn check(&self, outputs: &SchemaRef, columns: &[usize]) -> Result<()> {
        for (cell, &column) in self.cells.iter().zip(columns) {
            if let Cell::Output { index, is_literal } = *cell {
                let data_type = outputs.fields().get(index).map(|field| field.data_type());
                let data_type = data_type.ok_or_else(missing)?;
                assign::check(data_type, &self.schema.columns[column], is_literal)?;
            }
        }
        Ok(())
    }

    /// Takes the rows of a batch, and returns which of its rows they are.
    fn take(
        &self,
        batch: &RecordBatch,
        rows: &mut Rows,
        seen: &mut HashSet<u64>,
    ) -> Result<Vec<u32>> {
        let mut kept = Vec::with_capacity(batch.num_rows());
        let ids = match self.has_ids {
            false => None,
            true => match batch.columns().first() {
                Some(ids) if *ids.data_type() == DataType::UInt64 && ids.null_count() == 0 => {
                    Some(ids.as_primitive::<UInt64Type>())
                }
                _ => return Err(missing()),
            },
        };
        let mut drawn = self.defaults.draw(|_| batch.num_rows())?;
        for row in 0..batch.num_rows() {
            let id = ids.map(|ids| ids.value(row));
            if id.is_some_and(|id| !seen.insert(id)) {
                match self.repeated {
                    Repeated::Skipped => continue,
                    Repeated::Refused(error) => return Err(error()),
                }
            }
            kept.push(row as u32);
            rows.push(self.schema, id.map(RowId), |place, column, buffer| {
                self.cells[place].push(Some((batch, row)), &mut drawn, column, buffer)
            })?;
        }
        Ok(kept)
    }
}

/// Computes a value for each column of `schema`; `moment` is asked for if there is something to do.
///
/// # Errors
/// Those of the expressions; 22P02, 22003, 42804 and the like.
pub(crate) async fn constants(
    planner: &Planner,
    moment: impl FnOnce() -> Result<Arc<Moment>>,
    schema: &TableSchema,
    exprs: &[Expr],
) -> Result<Vec<Value>> {
    let mut outputs = Vec::new();
    let cell = |(column, expr): (&ColumnDef, &Expr)| {
        Cell::literal(expr, column.column_type).unwrap_or_else(|| {
            outputs.push(output(outputs.len(), expr.clone()));
            Cell::Output { index: outputs.len() - 1, is_literal: false }
        })
    };
    let cells: Vec<Cell> = schema.columns.iter().zip(exprs).map(cell).collect();
    let computed = match outputs.is_empty() {
        true => None,
        false => {
            let query = statement(select(outputs, None, Vec::new(), None)?, None)?;
            Some(single_row(planner.start(&moment()?, Vec::new(), query).await?).await?)
        }
    };
    let rows = values(schema, &[cells], computed.as_ref(), &mut Drawn::default())?;
    let columns = rows.batches().first().map_or(&[][..], |batch| &batch.columns);
    Ok(columns.iter().map(|column| ValueRef::of(column, 0).to_value()).collect())
}

/// Makes the rows of VALUES.
fn values(
    schema: &TableSchema,
    lists: &[Vec<Cell>],
    outputs: Option<&RecordBatch>,
    drawn: &mut Drawn,
) -> Result<Rows> {
    let mut rows = Rows::new((0..schema.columns.len()).collect());
    for cells in lists {
        rows.push(schema, None, |place, column, buffer| {
            cells[place].push(outputs.map(|outputs| (outputs, 0)), drawn, column, buffer)
        })?;
    }
    Ok(rows)
}

/// Reads the one row of the expressions of VALUES.
async fn single_row(mut stream: SendableRecordBatchStream) -> Result<RecordBatch> {
    let mut found = None;
    while let Some(batch) = stream.next().await {
        let batch = batch?;
        match (batch.num_rows(), &found) {
            (0, _) => {}
            (1, None) => found = Some(batch),
            _ => return Err(Error::not_supported("functions in VALUES that return several rows")),
        }
    }
    found.ok_or_else(|| Error::not_supported("functions in VALUES that return no row"))
}
