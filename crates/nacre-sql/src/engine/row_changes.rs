//! The rows that UPDATE and DELETE change, and what their columns get, found by Nacre's own
//! engine.

use std::sync::Arc;

use nacre_column::ColumnBuffer;
use nacre_exec::lower::{OutputForm, PhysicalQuery, QueryOutput};
use nacre_exec::vector::{ResultBatch, VectorValues};
use nacre_plan::binder::{ChangedColumn, ChangedRows, RowChange, bind_changed_rows};
use nacre_store::{RowId, Value};
use nacre_syntax::{Statement, parse_statement};
use nacre_types::SqlType;

use super::compile::{
    Compilation, CompilationResult, CompilationStop, EngineOffer, IntoOffer, LONG_TEXT_BYTES_MAX,
    at_once, is_long, note_reads, until_ended,
};
use super::parameters::QueryParameters;
use super::pool::EnginePool;
use super::rows::QueryRows;
use super::stored_values::append_stored_values;
use crate::error::{Error, ErrorKind, Result};
use crate::planner::Planner;
use crate::planning::aside;
use crate::prepared::ParameterType;
use crate::settings::{EngineChoice, ScanSettings};
use crate::transaction::Moment;

/// The text of a statement, and the values of its parameters.
#[derive(Clone, Copy)]
pub(crate) struct GivenStatement<'a> {
    pub(crate) sql: &'a str,
    pub(crate) types: &'a [ParameterType],
    pub(crate) values: &'a [Value],
}

/// UPDATE or DELETE, as it is offered to the engine.
#[derive(Debug)]
pub(crate) struct OfferedChange {
    statement: Statement,
    sql: String,
    types: Vec<ParameterType>,
    values: Vec<Value>,
}

impl OfferedChange {
    /// Parses a statement, if it is one.
    pub(crate) fn of(given: GivenStatement<'_>) -> Option<Self> {
        let GivenStatement { sql, types, values } = given;
        if sql.len() > LONG_TEXT_BYTES_MAX {
            return None;
        }
        let statement = parse_statement(sql).ok().flatten()?;
        row_change(&statement)?;
        let (sql, types, values) = (sql.to_owned(), types.to_vec(), values.to_vec());
        Some(Self { statement, sql, types, values })
    }

    /// Compiles the query for the rows, unless the other engine has to run it.
    /// `has_whole_rows` has it give the columns that are not assigned, too.
    ///
    /// # Errors
    /// If this engine has to run it: those of binding and `not supported`. Those of values of
    /// parameters.
    pub(crate) async fn compile(
        self: &Arc<Self>,
        planner: &Planner,
        moment: &Arc<Moment>,
        has_whole_rows: bool,
    ) -> Result<EngineOffer<CompiledChange>> {
        if planner.settings().engine() == EngineChoice::DataFusion {
            return Ok(EngineOffer::Left(None));
        }
        if !is_long(&self.sql)
            && let Ok(compiled) = at_once(|| self.compile_here(planner, moment, has_whole_rows))
        {
            return compiled.into_offer();
        }
        let (own, planner, moment) = (Arc::clone(self), planner.clone(), Arc::clone(moment));
        let compile = move || own.compile_here(&planner, &moment, has_whole_rows).into_offer();
        aside(true, async { until_ended(compile) }).await
    }

    fn compile_here(
        &self,
        planner: &Planner,
        moment: &Moment,
        has_whole_rows: bool,
    ) -> CompilationResult<CompiledChange> {
        let Some(change) = row_change(&self.statement) else {
            return Err(CompilationStop::Left(None));
        };
        let compilation = Compilation::new(planner, moment, &self.sql);
        let Compilation { relations, settings, scans, .. } = &compilation;
        let parameters = QueryParameters::Given(&self.types, &self.values);
        let bind = |declared: &[Option<SqlType>]| {
            bind_changed_rows(relations, settings, change, has_whole_rows, declared)
        };
        let bound = compilation.bind(&parameters.declared(), bind)?;
        let ChangedRows { query, columns, .. } = bound;
        let query = compilation.with_values(query, parameters)?;
        let (_, query) = compilation.lower(compilation.optimize(query), false)?;
        let may_repeat = change.has_other_tables();
        Ok(CompiledChange { query, columns, may_repeat, scans: *scans })
    }
}

fn row_change(statement: &Statement) -> Option<RowChange<'_>> {
    match statement {
        Statement::Update(update) => Some(RowChange::Update(update)),
        Statement::Delete(delete) => Some(RowChange::Delete(delete)),
        _ => None,
    }
}

/// The query for the rows of a change, ready to run.
#[derive(Debug)]
pub(crate) struct CompiledChange {
    query: PhysicalQuery,
    columns: Vec<ChangedColumn>,
    may_repeat: bool,
    scans: ScanSettings,
}

impl CompiledChange {
    /// Begins the query. What it reads is noted in `moment`.
    ///
    /// # Errors
    /// Those of preparing the plan.
    pub(crate) fn start(self, pool: &EnginePool, moment: &Moment) -> Result<ChangedRowStream> {
        let Self { query, columns, may_repeat, scans } = self;
        note_reads(&query.plan.root, moment);
        let rows = QueryRows::start(pool, query, scans)?;
        Ok(ChangedRowStream { rows, columns, may_repeat })
    }
}

/// The rows of a change as they come.
pub(crate) struct ChangedRowStream {
    rows: QueryRows,
    columns: Vec<ChangedColumn>,
    may_repeat: bool,
}

impl ChangedRowStream {
    /// Returns the columns of the table that rows have values for.
    pub(crate) fn columns(&self) -> &[ChangedColumn] {
        &self.columns
    }

    /// Whether a row may come twice.
    pub(crate) fn may_repeat(&self) -> bool {
        self.may_repeat
    }

    /// Returns the next rows; `None` at the end.
    ///
    /// # Errors
    /// That of the query.
    pub(crate) async fn next(&mut self) -> Result<Option<ChangedBatch<'_>>> {
        let batch = self.rows.next().await?;
        Ok(batch.map(|batch| ChangedBatch { batch, outputs: self.rows.outputs() }))
    }
}

/// Some rows of a change.
pub(crate) struct ChangedBatch<'s> {
    batch: ResultBatch,
    outputs: &'s [QueryOutput],
}

impl ChangedBatch<'_> {
    /// Returns the ids of all rows; one may come twice.
    ///
    /// # Errors
    /// `Internal` if the query does not have them.
    pub(crate) fn ids(&self) -> Result<Vec<RowId>> {
        let missing = || Error::new(ErrorKind::Internal, "internal error: rows without ids");
        let Some(OutputForm::Plain { index }) = self.outputs.first().map(QueryOutput::form) else {
            return Err(missing());
        };
        match self.batch.columns.get(index).map(|column| &column.values) {
            // All 64 bits count.
            Some(VectorValues::Int64(ids)) => {
                Ok(ids.iter().take(self.batch.rows).map(|id| RowId(*id as u64)).collect())
            }
            _ => Err(missing()),
        }
    }

    /// Appends the values that an output has in `rows` to the buffer of its column.
    ///
    /// # Errors
    /// Those of [`append_stored_values`].
    pub(crate) fn append(
        &self,
        output: usize,
        rows: &[u32],
        buffer: &mut ColumnBuffer,
    ) -> Result<()> {
        let missing = || Error::new(ErrorKind::Internal, "internal error: a column without values");
        let output = self.outputs.get(output).ok_or_else(missing)?;
        append_stored_values(output, &self.batch, rows, buffer)
    }
}
