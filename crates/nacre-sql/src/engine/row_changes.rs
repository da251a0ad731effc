//! The rows that INSERT, UPDATE, DELETE and MERGE write, found by Nacre's own engine.

use std::sync::Arc;
use std::time::{Duration, Instant};

use datafusion::execution::SendableRecordBatchStream;
use nacre_exec::lower::{OutputForm, PhysicalQuery, QueryOutput};
use nacre_exec::plan::OperatorDescription;
use nacre_exec::vector::{ResultBatch, VectorValues};
use nacre_plan::algebra::QueryPlan;
use nacre_plan::binder::{
    ChangedColumn, ChangedRows, MergedClause, MergedRows, ReturnedRows, ReturningStatement,
    RowChangingStatement, bind_changed_rows, bind_conflict_rows, bind_inserted_rows,
    bind_merged_rows, bind_returned_rows,
};
use nacre_store::{RowId, Value};
use nacre_syntax::{MergeStatement, Statement, parse_statement};
use nacre_types::{SqlType, SqlValue};

use super::compile::{
    CompilationResult, CompilationStop, EngineOffer, IntoOffer, LONG_TEXT_BYTES_MAX, PlanningClock,
    StatementCompilation, at_once, is_long, note_reads, until_ended,
};
use super::conflict_rows::ConflictQuery;
use super::errors::from_exec;
use super::explain::{ExplainRequest, ExplainedChange, MeasuredRun, explain_answer, run_to_end};
use super::given_rows::GIVEN_ROWS;
use super::parameters::QueryParameters;
use super::pool::EnginePool;
use super::returned_rows::ReturningQuery;
use super::rows::QueryRows;
use crate::error::{Error, ErrorKind, Result};
use crate::explain::PlanningTimes;
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

/// INSERT, UPDATE, DELETE or MERGE, as it is offered to the engine.
#[derive(Debug)]
pub(crate) struct OfferedChange {
    statement: Statement,
    /// What EXPLAIN asks for, if it is within one.
    explain: Option<ExplainRequest>,
    parsing: Duration,
    sql: String,
    types: Vec<ParameterType>,
    values: Vec<Value>,
}

impl OfferedChange {
    /// Parses a statement, if it is one, or EXPLAIN of one.
    pub(crate) fn of(given: GivenStatement<'_>) -> Option<Self> {
        let GivenStatement { sql, types, values } = given;
        if sql.len() > LONG_TEXT_BYTES_MAX {
            return None;
        }
        let begun = Instant::now();
        let (statement, explain) = match parse_statement(sql).ok().flatten()? {
            Statement::Explain(explain) => {
                (*explain.statement, Some(ExplainRequest::of(&explain.options)?))
            }
            statement => (statement, None),
        };
        if !is_change(&statement) {
            return None;
        }
        let (parsing, sql) = (begun.elapsed(), sql.to_owned());
        let (types, values) = (types.to_vec(), values.to_vec());
        Some(Self { statement, explain, parsing, sql, types, values })
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
        let mut clock = PlanningClock::start();
        let mut planning = PlanningTimes { parse: self.parsing, ..PlanningTimes::default() };
        let compilation = StatementCompilation::of_change(planner, moment, &self.sql);
        let (query, form) = match &self.statement {
            Statement::Merge(merge) => self.bind_merge(&compilation, merge, has_whole_rows)?,
            _ => self.bind_rows(&compilation, has_whole_rows)?,
        };
        planning.bind = clock.lap();
        let optimized = compilation.optimize(query);
        planning.optimize = clock.lap();
        let explain = self.explain;
        let is_measured = explain.is_some_and(ExplainRequest::is_about_rows);
        let (_, query) = compilation.lower(optimized, is_measured)?;
        planning.compile = clock.lap();
        Ok(CompiledChange { query, form, explain, planning, scans: compilation.scans })
    }

    fn parameters(&self) -> QueryParameters<'_> {
        QueryParameters::Given(&self.types, &self.values)
    }

    /// Binds INSERT, UPDATE or DELETE.
    fn bind_rows(
        &self,
        compilation: &StatementCompilation<'_>,
        has_whole_rows: bool,
    ) -> CompilationResult<(QueryPlan, ChangeForm)> {
        let StatementCompilation { relations, settings, .. } = compilation;
        let parameters = self.parameters();
        let change = row_change(&self.statement);
        let bind = |declared: &[Option<SqlType>]| {
            let (bound, statement) = match (&self.statement, change) {
                (_, Some(change)) => (
                    bind_changed_rows(relations, settings, change, has_whole_rows, declared)?,
                    ReturningStatement::Change(change),
                ),
                (Statement::Insert(insert), None) => (
                    bind_inserted_rows(relations, settings, insert, declared)?,
                    ReturningStatement::Insert(insert),
                ),
                _ => return Ok(None),
            };
            let conflict = match statement {
                ReturningStatement::Insert(insert) => {
                    // Constraints look at whole rows, after the change.
                    let table = relations.table(bound.relation.id);
                    let has_checks = table.is_none_or(|one| !one.rules().checks.is_empty());
                    let pairs = (GIVEN_ROWS, has_checks || !insert.returning.is_empty());
                    bind_conflict_rows(relations, settings, insert, pairs, declared)?
                }
                ReturningStatement::Change(_) => None,
            };
            let returned =
                bind_returned_rows(relations, settings, statement, GIVEN_ROWS, declared)?;
            Ok(Some((bound, conflict, returned)))
        };
        let bound = compilation.bind(&parameters.declared(), bind)?;
        let (mut bound, conflict, returned) = bound.ok_or(CompilationStop::Left(None))?;
        let table = relations.table(bound.relation.id).ok_or(CompilationStop::Left(None))?;
        let mut more = ChangeQueries::default();
        if let Some(mut conflict) = conflict {
            conflict.query = compilation.with_values(conflict.query, parameters)?;
            more.conflict = Some(ConflictQuery::new(compilation, conflict, &table)?);
        }
        if let Some(ReturnedRows { query, is_read, .. }) = returned {
            bound.keep_others(&is_read[bound.relation.columns.len()..]);
            let query = compilation.with_values(query, parameters)?;
            more.returning = Some(ReturningQuery::new(compilation, query, is_read, &table)?);
        }
        let ChangedRows { query, columns, others, .. } = bound;
        let ids = change.map(|change| match change.has_other_tables() {
            true => RepeatedIds::Skipped,
            false => RepeatedIds::None,
        });
        let form = ChangeForm { columns, others, more, ids, clauses: Vec::new() };
        Ok((compilation.with_values(query, parameters)?, form))
    }

    fn bind_merge(
        &self,
        compilation: &StatementCompilation<'_>,
        merge: &MergeStatement,
        has_whole_rows: bool,
    ) -> CompilationResult<(QueryPlan, ChangeForm)> {
        let StatementCompilation { relations, settings, .. } = compilation;
        let parameters = self.parameters();
        let bind = |declared: &[Option<SqlType>]| {
            bind_merged_rows(relations, settings, merge, has_whole_rows, declared)
        };
        let MergedRows { query, clauses, .. } = compilation.bind(&parameters.declared(), bind)?;
        let form = ChangeForm { clauses, ..ChangeForm::default() };
        Ok((compilation.with_values(query, parameters)?, form))
    }
}

fn is_change(statement: &Statement) -> bool {
    use Statement as S;
    matches!(statement, S::Update(_) | S::Delete(_) | S::Insert(_) | S::Merge(_))
}

fn row_change(statement: &Statement) -> Option<RowChangingStatement<'_>> {
    match statement {
        Statement::Update(update) => Some(RowChangingStatement::Update(update)),
        Statement::Delete(delete) => Some(RowChangingStatement::Delete(delete)),
        _ => None,
    }
}

/// What is known of the ids of rows that are there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RepeatedIds {
    /// Each comes once.
    None,
    /// Of several rows with one id the first counts.
    Skipped,
}

/// The queries of a change over the rows that were found.
#[derive(Clone, Debug, Default)]
pub(crate) struct ChangeQueries {
    /// ON CONFLICT DO UPDATE.
    pub(crate) conflict: Option<ConflictQuery>,
    pub(crate) returning: Option<ReturningQuery>,
}

/// What the outputs of the query for the rows of a change are.
#[derive(Clone, Debug, Default)]
pub(crate) struct ChangeForm {
    /// The columns of the table that rows have values for; of MERGE its clauses say so.
    pub(crate) columns: Vec<ChangedColumn>,
    /// The outputs with what RETURNING reads of other tables; `None` for what it does not.
    pub(crate) others: Vec<Option<usize>>,
    pub(crate) more: ChangeQueries,
    /// What is known of the ids of rows; `None` for new ones.
    pub(crate) ids: Option<RepeatedIds>,
    /// The clauses of MERGE; the second output is the number of a pair's.
    pub(crate) clauses: Vec<MergedClause>,
}

/// The query for the rows of a change, ready to run.
#[derive(Debug)]
pub(crate) struct CompiledChange {
    query: PhysicalQuery,
    form: ChangeForm,
    explain: Option<ExplainRequest>,
    planning: PlanningTimes,
    scans: ScanSettings,
}

impl CompiledChange {
    /// Begins the query. What it reads is noted in `moment`.
    ///
    /// # Errors
    /// Those of preparing the plan.
    pub(crate) fn start(self, pool: &EnginePool, moment: &Moment) -> Result<ChangedRowStream> {
        let Self { query, form, scans, .. } = self;
        note_reads(&query.plan.root, moment);
        let rows = QueryRows::start(pool, query, scans)?;
        Ok(ChangedRowStream { rows, form })
    }

    /// Returns what RETURNING answers.
    pub(crate) fn returning(&self) -> Option<&ReturningQuery> {
        self.form.more.returning.as_ref()
    }

    /// Describes the query for EXPLAIN, and with ANALYZE runs it to its end, to be measured; `None`
    /// if there is no EXPLAIN.
    ///
    /// # Errors
    /// Those of running it.
    pub(crate) async fn measure(
        self,
        pool: &EnginePool,
        moment: &Moment,
    ) -> Result<Option<MeasuredChange>> {
        let Self { query, explain, planning, scans, .. } = self;
        let Some(request) = explain else { return Ok(None) };
        let description = query.plan.root.describe();
        let mut run = None;
        if request.is_analyze {
            note_reads(&query.plan.root, moment);
            let begun = Instant::now();
            run = Some(run_to_end(QueryRows::start(pool, query, scans)?, begun).await?);
        }
        Ok(Some(MeasuredChange { request, description, planning, run }))
    }
}

/// The query for the rows of a change, as EXPLAIN shows it.
pub(crate) struct MeasuredChange {
    request: ExplainRequest,
    description: OperatorDescription,
    planning: PlanningTimes,
    run: Option<MeasuredRun>,
}

impl MeasuredChange {
    /// Answers the EXPLAIN.
    ///
    /// # Errors
    /// Those of making a batch.
    pub(crate) fn answer(self, change: ExplainedChange<'_>) -> Result<SendableRecordBatchStream> {
        let Self { request, description, planning, run } = self;
        explain_answer(request, &description, planning, run, Some(change))
    }
}

/// The rows of a change as they come.
pub(crate) struct ChangedRowStream {
    rows: QueryRows,
    form: ChangeForm,
}

impl ChangedRowStream {
    /// Makes that of a query over given rows, whose first output is the id of a row.
    pub(super) fn of_given(rows: QueryRows, columns: Vec<ChangedColumn>, ids: RepeatedIds) -> Self {
        let form = ChangeForm { columns, ids: Some(ids), ..ChangeForm::default() };
        Self { rows, form }
    }

    /// Returns what the outputs are.
    pub(crate) fn take_form(&mut self) -> ChangeForm {
        std::mem::take(&mut self.form)
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
    /// Returns the number of rows.
    pub(crate) fn len(&self) -> usize {
        self.batch.rows
    }

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

    /// Returns the value that an output has in a row.
    ///
    /// # Errors
    /// That which the value stands for.
    pub(crate) fn value(&self, output: usize, row: u32) -> Result<SqlValue> {
        let (output, batch) = self.output(output)?;
        output.value(batch, row as usize).map_err(from_exec)
    }

    /// Returns an output, and the vectors that have its values.
    ///
    /// # Errors
    /// `Internal` if the query has fewer.
    pub(crate) fn output(&self, output: usize) -> Result<(&QueryOutput, &ResultBatch)> {
        let missing = || Error::new(ErrorKind::Internal, "internal error: a column without values");
        Ok((self.outputs.get(output).ok_or_else(missing)?, &self.batch))
    }
}
