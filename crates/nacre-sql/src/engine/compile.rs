//! From the text of a statement to a query that can run.

use std::sync::Arc;
use std::time::{Duration, Instant};

use datafusion::arrow::datatypes::SchemaRef;
use datafusion::execution::SendableRecordBatchStream;
use nacre_exec::lower::{
    LoweringError, PhysicalQuery, lower_measured_query, lower_query, require_levels,
};
use nacre_exec::plan::PlanNode;
use nacre_plan::BindError;
use nacre_plan::algebra::{ColumnId, ColumnSource, QueryPlan};
use nacre_plan::binder::bind_parameterized;
use nacre_plan::control::{PlanningStopped, until_stopped};
use nacre_plan::optimizer::{RowEstimates, optimize};
use nacre_syntax::{
    CopySource, QueryBody, QueryExpression, Statement, TableSource, parse_statement,
};
use nacre_types::datetime::{DateOrder, SqlTimestamp};
use nacre_types::{SqlType, ValueSettings};

use super::columns::{self, OutputSource};
use super::errors::{from_bind, from_lowering};
use super::explain;
use super::explain::{ExplainRequest, explain_answer};
use super::parameters::QueryParameters;
use super::pool::EnginePool;
use super::relations::SnapshotRelations;
use super::rows::QueryRows;
use crate::cancellation::{cancelled, is_cancelled};
use crate::error::{Error, Result};
use crate::explain::PlanningTimes;
use crate::pg_catalog::table_number;
use crate::pg_types::{ColumnOrigin, PgType};
use crate::planner::Planner;
use crate::settings::{EngineChoice, ScanSettings, version_text};
use crate::transaction::Moment;

/// Most bytes of words in a text that is planned on the thread of the session; longer ones take a
/// thread of their own.
const WORD_BYTES_MAX: usize = 16 << 10;

/// Longest text with the blanks between its words that is planned on the thread of the session.
const TEXT_BYTES_MAX: usize = 256 << 10;

/// Longest text that is planned here; longer ones take the other road.
const LONG_TEXT_BYTES_MAX: usize = 4 << 20;

/// Longest that a query is planned on the thread of the session, which cannot be told to end: what
/// takes longer is begun anew on a thread of its own.
const PLANNING_AT_ONCE_MAX: Duration = Duration::from_millis(50);

/// A query that can run.
#[derive(Debug)]
pub(crate) struct CompiledQuery {
    query: PhysicalQuery,
    schema: SchemaRef,
    /// Numbers of the types of its parameters.
    parameters: Vec<u32>,
    /// What EXPLAIN asks for, if it is one.
    explain: Option<ExplainRequest>,
    planning: PlanningTimes,
    scans: ScanSettings,
}

/// A parsed query, perhaps within EXPLAIN.
#[derive(Clone, Debug)]
pub(crate) struct ParsedQuery {
    query: Box<QueryExpression>,
    /// Whether planning takes a while.
    is_long: bool,
    explain: Option<ExplainRequest>,
    parsing: Duration,
}

/// A statement with a query, as it is offered to the engine.
pub(crate) enum OfferedStatement {
    /// The client gets the rows.
    Answered(ParsedQuery),
    /// A table gets the rows, or a view the query: INSERT, CREATE TABLE AS, CREATE VIEW.
    Kept(ParsedQuery),
}

impl OfferedStatement {
    /// Parses a statement, if it has such a query.
    pub(crate) fn of(sql: &str) -> Option<Self> {
        if sql.len() > LONG_TEXT_BYTES_MAX {
            return None;
        }
        let begun = Instant::now();
        let (query, explain) = match parse_statement(sql).ok().flatten()? {
            Statement::Query(query) => (query, None),
            Statement::Explain(statement) => {
                let explain = Some(ExplainRequest::of(&statement.options)?);
                match *statement.statement {
                    Statement::Query(query) => (query, explain),
                    _ => return None,
                }
            }
            other => {
                let query = kept_query(other)?;
                let parsing = begun.elapsed();
                let is_long = is_long(sql);
                return Some(Self::Kept(ParsedQuery { query, is_long, explain: None, parsing }));
            }
        };
        let parsing = begun.elapsed();
        Some(Self::Answered(ParsedQuery { query, is_long: is_long(sql), explain, parsing }))
    }
}

/// Returns the query whose rows a table gets, or that a view is; none with names that the statement
/// around it has given, and no VALUES of INSERT, which take the types of columns.
fn kept_query(statement: Statement) -> Option<Box<QueryExpression>> {
    match statement {
        Statement::Insert(insert) if insert.with.is_none() => {
            let is_select = |query: &QueryExpression| {
                matches!(query.body, QueryBody::Select(_) | QueryBody::SetOperation { .. })
            };
            insert.source.filter(|query| is_select(query))
        }
        Statement::CreateTableAs(create) => match create.source {
            TableSource::Query(query) => Some(query),
            TableSource::Execute(..) => None,
        },
        Statement::CreateView(create) if !create.is_recursive => Some(create.query),
        _ => None,
    }
}

/// Times one step of planning after the other.
struct PlanningClock(Instant);

impl PlanningClock {
    /// Returns the time since the last step.
    fn lap(&mut self) -> Duration {
        let now = Instant::now();
        now - std::mem::replace(&mut self.0, now)
    }
}

impl ParsedQuery {
    /// Returns a statement's query, if it is one, or EXPLAIN of one.
    pub(crate) fn of(sql: &str) -> Option<Self> {
        match OfferedStatement::of(sql)? {
            OfferedStatement::Answered(parsed) => Some(parsed),
            OfferedStatement::Kept(_) => None,
        }
    }

    /// Returns the query whose rows COPY or a cursor hands on, if the statement is one of these.
    pub(crate) fn within(sql: &str) -> Option<Self> {
        if is_long(sql) {
            return None;
        }
        let begun = Instant::now();
        let query = match parse_statement(sql).ok().flatten()? {
            Statement::Declare(cursor) => cursor.query,
            Statement::Copy(copy) => match copy.source {
                CopySource::Query(statement) => match *statement {
                    Statement::Query(query) => query,
                    _ => return None,
                },
                CopySource::Table(..) => return None,
            },
            _ => return None,
        };
        Some(Self { query, is_long: false, explain: None, parsing: begun.elapsed() })
    }

    /// Whether planning it takes so long that it is not done on the thread of the session.
    pub(crate) fn is_long(&self) -> bool {
        self.is_long
    }
}

/// Whether a text is too long to be planned on the thread of the session. Indentation costs
/// nothing.
fn is_long(sql: &str) -> bool {
    let words = || sql.split_ascii_whitespace().map(str::len).sum::<usize>();
    sql.len() > WORD_BYTES_MAX && (sql.len() > TEXT_BYTES_MAX || words() > WORD_BYTES_MAX)
}

/// Compiles a query; `None` if the other engine has to run it. Ends early once the statement that
/// this thread works for has ended.
///
/// # Errors
/// If this engine has to run it: those of binding and `not supported`. Those of values of
/// parameters. 57014 once the statement has ended.
pub(crate) fn compile(
    planner: &Planner,
    moment: &Moment,
    parsed: &ParsedQuery,
    sql: &str,
    parameters: QueryParameters<'_>,
) -> Result<Option<CompiledQuery>> {
    let compile = || compile_whole(planner, moment, parsed, sql, parameters);
    until_stopped(is_cancelled, compile).unwrap_or_else(|PlanningStopped| Err(cancelled()))
}

/// As [`compile`], on the thread of a session, where nothing ends a statement.
///
/// # Errors
/// [`PlanningStopped`] if it takes longer than anything should wait for that thread.
pub(crate) fn compile_at_once(
    planner: &Planner,
    moment: &Moment,
    parsed: &ParsedQuery,
    sql: &str,
    parameters: QueryParameters<'_>,
) -> std::result::Result<Result<Option<CompiledQuery>>, PlanningStopped> {
    let begun = Instant::now();
    let is_late = move || begun.elapsed() > PLANNING_AT_ONCE_MAX;
    until_stopped(is_late, || compile_whole(planner, moment, parsed, sql, parameters))
}

/// Refuses a query that another engine runs, if PostgreSQL refuses it. One that takes long to bind
/// is left to the other engine.
///
/// # Errors
/// Those of binding.
pub(crate) fn require_meaning(
    planner: &Planner,
    moment: &Moment,
    parsed: &ParsedQuery,
    sql: &str,
) -> Result<()> {
    let begun = Instant::now();
    let is_late = move || begun.elapsed() > PLANNING_AT_ONCE_MAX;
    let settings = value_settings(planner);
    let scans = planner.settings().scans();
    let relations = SnapshotRelations::new(planner.store(), moment, planner.acting(), scans);
    let bind = || bind_parameterized(&relations, &settings, &parsed.query, &[]);
    match until_stopped(is_late, bind) {
        Ok(Err(error)) if !is_limit_of_engine(&error, relations.refused().is_some()) => {
            Err(from_bind(error, sql))
        }
        _ => Ok(()),
    }
}

fn compile_whole(
    planner: &Planner,
    moment: &Moment,
    parsed: &ParsedQuery,
    sql: &str,
    parameters: QueryParameters<'_>,
) -> Result<Option<CompiledQuery>> {
    let mut clock = PlanningClock(Instant::now());
    let mut planning = PlanningTimes { parse: parsed.parsing, ..PlanningTimes::default() };
    let scans = planner.settings().scans();
    let relations = SnapshotRelations::new(planner.store(), moment, planner.acting(), scans);
    let is_forced = planner.settings().engine() == EngineChoice::Nacre;
    let settings = value_settings(planner);
    let declared = parameters.declared();
    let bind = |declared: &[Option<SqlType>]| {
        bind_parameterized(&relations, &settings, &parsed.query, declared)
    };
    let bound = match bind(&declared) {
        Ok(bound) => bound,
        Err(error) => {
            let refused = relations.refused();
            // Types of parameters may be guesses of the other engine: with none it counts.
            let is_wrong =
                || declared.is_empty() || bind(&[]).is_err_and(|error| !error.is_own_limit);
            if !is_forced && (is_limit_of_engine(&error, refused.is_some()) || !is_wrong()) {
                return Ok(None);
            }
            return Err(refused.unwrap_or_else(|| from_bind(error, sql)));
        }
    };
    let types: Vec<u32> = bound.parameters.iter().flatten().map(|one| one.oid().0).collect();
    let Some(values) = parameters.values(&bound.parameters, &settings)? else {
        return if is_forced {
            Err(Error::not_supported("parameters of no type"))
        } else {
            Ok(None)
        };
    };
    let bound = match bound.with_values(&values) {
        Ok(bound) => bound,
        Err(_) if !is_forced => return Ok(None),
        Err(error) => return Err(from_bind(error, sql)),
    };
    planning.bind = clock.lap();
    let levels = require_levels(&bound);
    let bound = if levels.is_ok() { optimize(bound, &relations) } else { bound };
    planning.optimize = clock.lap();
    let is_measured = parsed.explain.is_some_and(ExplainRequest::is_about_rows);
    let lowered = levels.and_then(|()| lower(&bound, &relations, is_measured, &settings));
    let query = match lowered {
        Ok(query) => query,
        Err(LoweringError::NotSupported { .. }) if !is_forced => return Ok(None),
        Err(error) => {
            return Err(relations.refused().unwrap_or_else(|| from_lowering(error)));
        }
    };
    let schema = match columns::answer_schema(&query.outputs, &sources(&bound, &relations)) {
        Ok(schema) => schema,
        Err(_) if !is_forced => return Ok(None),
        Err(error) => return Err(error),
    };
    planning.compile = clock.lap();
    let explain = parsed.explain;
    Ok(Some(CompiledQuery { query, schema, parameters: types, explain, planning, scans }))
}

/// Whether the other engine may answer a query that was refused when it was bound. Everything else
/// is an error of the query in PostgreSQL, too, so that no engine may answer it. Exceptions:
///
/// 1. What this engine does not have, or bounds more tightly than PostgreSQL: marked as such where
///    it is refused. Names of functions, operators, types and columns are not among these, since
///    the binder knows all that PostgreSQL has.
/// 2. A relation that may not be read here (`is_relation_refused`): those of catalogs are of the
///    other engine alone, and it words what a role may not read.
fn is_limit_of_engine(error: &BindError, is_relation_refused: bool) -> bool {
    error.is_own_limit || is_relation_refused
}

/// Lowers a query, as EXPLAIN asks for if `is_measured`.
fn lower(
    query: &QueryPlan,
    relations: &SnapshotRelations<'_>,
    is_measured: bool,
    settings: &ValueSettings,
) -> std::result::Result<PhysicalQuery, LoweringError> {
    if is_measured {
        let estimates = RowEstimates::of(query, relations);
        lower_measured_query(query, relations, &estimates, settings)
    } else {
        lower_query(query, relations, settings)
    }
}

impl CompiledQuery {
    /// Returns the columns of what it answers.
    pub(crate) fn schema(&self) -> SchemaRef {
        match self.explain {
            Some(request) => request.schema(),
            None => Arc::clone(&self.schema),
        }
    }

    /// Returns the numbers of the types of its parameters.
    pub(crate) fn parameter_types(&self) -> &[u32] {
        &self.parameters
    }

    /// Returns the command tag, if it is not SELECT.
    pub(crate) fn tag(&self) -> Option<String> {
        self.explain.map(|_| crate::explain::TAG.to_owned())
    }

    /// Begins it, or explains it. What it reads is noted in `moment`.
    ///
    /// # Errors
    /// Those of preparing the plan, and of running it if EXPLAIN does.
    pub(crate) async fn start(
        self,
        pool: &EnginePool,
        moment: &Moment,
    ) -> Result<SendableRecordBatchStream> {
        let Self { query, schema, explain, planning, scans, .. } = self;
        let Some(request) = explain else {
            note_reads(&query.plan.root, moment);
            return Ok(QueryRows::start(pool, query, schema, scans)?.boxed());
        };
        let description = query.plan.root.describe();
        let mut execution = None;
        if request.is_analyze {
            note_reads(&query.plan.root, moment);
            let begun = Instant::now();
            let rows = QueryRows::start(pool, query, schema, scans)?;
            execution = Some(explain::run_to_end(rows, begun).await?);
        }
        explain_answer(request, &description, planning, execution)
    }
}

/// Logs what the scans of a plan read, for the validation of a SERIALIZABLE transaction.
fn note_reads(node: &PlanNode, moment: &Moment) {
    node.for_each_scan(&mut |scan| {
        moment.note(scan.snapshot.table(), || scan.logged_predicate());
    });
}

/// Returns for each output which column of a table it is.
fn sources(plan: &QueryPlan, relations: &SnapshotRelations<'_>) -> Vec<OutputSource> {
    let origin = |column: ColumnId| {
        let ColumnSource::Relation { relation, position } = plan.columns.get(column)?.source else {
            return None;
        };
        let table = relations.table(relation)?;
        let number = table_number(&table)?;
        let (_, modifier) = PgType::of_column(table.schema().columns.get(position)?.column_type);
        let column = i16::try_from(position + 1).ok()?;
        Some(ColumnOrigin { table: number, column, modifier })
    };
    let source = |column: ColumnId| {
        let is_nullable = plan.columns.get(column).is_none_or(|column| column.is_nullable);
        OutputSource { origin: origin(column), is_nullable }
    };
    plan.outputs.iter().map(|output| source(output.column)).collect()
}

/// Returns how the session reads and writes texts of values.
fn value_settings(planner: &Planner) -> ValueSettings {
    let mut settings = ValueSettings::default();
    let style = planner.settings().shown("DateStyle").unwrap_or_default();
    settings.datetime.date_order = match style.rsplit_once(", ") {
        Some((_, "DMY")) => DateOrder::DayMonthYear,
        Some((_, "YMD")) => DateOrder::YearMonthDay,
        _ => DateOrder::MonthDayYear,
    };
    settings.datetime.now =
        SqlTimestamp::from_unix_micros(planner.settings().transaction_began()).ok();
    settings.datetime.statement =
        SqlTimestamp::from_unix_micros(planner.settings().statement_began()).ok();
    settings.version = Some(version_text().into());
    settings
}
