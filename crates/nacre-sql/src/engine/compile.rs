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
use nacre_syntax::{CopySource, QueryExpression, Statement, TableSource, parse_statement};
use nacre_types::datetime::{DateOrder, SqlTimestamp};
use nacre_types::{SqlType, SystemCatalog, ValueSettings};

use super::columns::{self, OutputSource};
use super::errors::{from_bind, from_lowering};
use super::explain;
use super::explain::{ExplainRequest, explain_answer};
use super::parameters::QueryParameters;
use super::pool::EnginePool;
use super::relations::SnapshotRelations;
use super::rows::QueryRows;
use crate::cancellation::{cancelled, is_cancelled};
use crate::error::{Error, ErrorKind, Result};
use crate::explain::PlanningTimes;
use crate::pg_catalog::{SessionCatalog, table_number};
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
pub(super) const LONG_TEXT_BYTES_MAX: usize = 4 << 20;

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
    /// What knows names of objects in the answer.
    catalog: Option<Arc<dyn SystemCatalog>>,
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
    /// A table gets the rows, or a view the query: CREATE TABLE AS, CREATE VIEW.
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

/// Returns the query whose rows a table gets, or that a view is.
fn kept_query(statement: Statement) -> Option<Box<QueryExpression>> {
    match statement {
        Statement::CreateTableAs(create) => match create.source {
            TableSource::Query(query) => Some(query),
            TableSource::Execute(..) => None,
        },
        Statement::CreateView(create) if !create.is_recursive => Some(create.query),
        _ => None,
    }
}

/// Times one step of planning after the other.
pub(super) struct PlanningClock(Instant);

impl PlanningClock {
    pub(super) fn start() -> Self {
        Self(Instant::now())
    }

    /// Returns the time since the last step.
    pub(super) fn lap(&mut self) -> Duration {
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
pub(super) fn is_long(sql: &str) -> bool {
    let words = || sql.split_ascii_whitespace().map(str::len).sum::<usize>();
    sql.len() > WORD_BYTES_MAX && (sql.len() > TEXT_BYTES_MAX || words() > WORD_BYTES_MAX)
}

/// Compiles a query, unless the other engine has to run it. Ends early once the statement that
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
) -> Result<EngineOffer<CompiledQuery>> {
    until_ended(|| compile_whole(planner, moment, parsed, sql, parameters).into_offer())
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
) -> std::result::Result<Result<EngineOffer<CompiledQuery>>, PlanningStopped> {
    at_once(|| compile_whole(planner, moment, parsed, sql, parameters).into_offer())
}

/// Calls `plan` on the thread of a session.
///
/// # Errors
/// [`PlanningStopped`] if it takes longer than anything should wait for that thread.
pub(super) fn at_once<T>(plan: impl FnOnce() -> T) -> std::result::Result<T, PlanningStopped> {
    let begun = Instant::now();
    until_stopped(move || begun.elapsed() > PLANNING_AT_ONCE_MAX, plan)
}

/// Calls `plan` on a thread where the statement may be ended.
///
/// # Errors
/// Its own; 57014 once the statement has ended.
pub(super) fn until_ended<T>(plan: impl FnOnce() -> Result<T>) -> Result<T> {
    until_stopped(is_cancelled, plan).unwrap_or_else(|PlanningStopped| Err(cancelled()))
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
    let StatementCompilation { relations, settings, .. } =
        StatementCompilation::new(planner, moment, sql);
    let bind = || bind_parameterized(&relations, &settings, &parsed.query, &[]);
    match at_once(bind) {
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
) -> CompilationResult<CompiledQuery> {
    let mut clock = PlanningClock::start();
    let mut planning = PlanningTimes { parse: parsed.parsing, ..PlanningTimes::default() };
    let compilation = StatementCompilation::new(planner, moment, sql);
    let StatementCompilation { relations, settings, scans, .. } = &compilation;
    let bind = |declared: &[Option<SqlType>]| {
        bind_parameterized(relations, settings, &parsed.query, declared)
    };
    let bound = compilation.bind(&parameters.declared(), bind)?;
    let types: Vec<u32> = bound.parameters.iter().flatten().map(|one| one.oid().0).collect();
    let bound = compilation.with_values(bound, parameters)?;
    planning.bind = clock.lap();
    let optimized = compilation.optimize(bound);
    planning.optimize = clock.lap();
    let is_measured = parsed.explain.is_some_and(ExplainRequest::is_about_rows);
    let (plan, query) = compilation.lower(optimized, is_measured)?;
    let schema = columns::answer_schema(&query.outputs, &sources(&plan, relations));
    let schema = schema.map_err(|error| compilation.limit(error))?;
    planning.compile = clock.lap();
    let (explain, scans) = (parsed.explain, *scans);
    let catalog = settings.catalog.clone();
    Ok(CompiledQuery { query, schema, parameters: types, explain, planning, scans, catalog })
}

/// What came of a statement that was offered to the engine.
#[derive(Debug)]
pub(crate) enum EngineOffer<T> {
    Taken(T),
    /// The other engine has to run it. Why, unless that is about relations that are read there
    /// alone.
    Left(Option<Error>),
}

impl<T> EngineOffer<T> {
    /// Returns what was compiled, if it was taken.
    pub(crate) fn taken(self) -> Option<T> {
        match self {
            Self::Taken(taken) => Some(taken),
            Self::Left(_) => None,
        }
    }
}

/// Why a statement is not compiled.
pub(super) enum CompilationStop {
    /// As [`EngineOffer::Left`].
    Left(Option<Error>),
    /// It has an error, whichever engine runs it.
    Failed(Error),
}

impl From<Error> for CompilationStop {
    fn from(error: Error) -> Self {
        Self::Failed(error)
    }
}

pub(super) type CompilationResult<T> = std::result::Result<T, CompilationStop>;

/// Tells statements with errors from those that are left to the other engine.
pub(super) trait IntoOffer<T> {
    fn into_offer(self) -> Result<EngineOffer<T>>;
}

impl<T> IntoOffer<T> for CompilationResult<T> {
    fn into_offer(self) -> Result<EngineOffer<T>> {
        match self {
            Ok(taken) => Ok(EngineOffer::Taken(taken)),
            Err(CompilationStop::Left(why)) => Ok(EngineOffer::Left(why)),
            Err(CompilationStop::Failed(error)) => Err(error),
        }
    }
}

/// What the steps of compiling a statement share.
pub(super) struct StatementCompilation<'a> {
    pub(super) relations: SnapshotRelations<'a>,
    pub(super) settings: ValueSettings,
    pub(super) scans: ScanSettings,
    /// Whether no other engine may run it.
    is_forced: bool,
    /// Whether the statement changes rows: what it may not read is refused here, since the other
    /// engine looks at some of its queries only if there are rows for them.
    is_change: bool,
    sql: &'a str,
}

impl<'a> StatementCompilation<'a> {
    pub(super) fn new(planner: &'a Planner, moment: &'a Moment, sql: &'a str) -> Self {
        let scans = planner.settings().scans();
        let catalog = Arc::new(SessionCatalog::new(planner.catalogs()));
        let settings = value_settings(planner, Arc::clone(&catalog) as Arc<dyn SystemCatalog>);
        let (store, acting) = (planner.store(), planner.acting());
        Self {
            relations: SnapshotRelations::new(store, moment, acting, scans, catalog),
            settings,
            scans,
            is_forced: planner.settings().engine() == EngineChoice::Nacre,
            is_change: false,
            sql,
        }
    }

    /// As [`Self::new`], of a statement that changes rows.
    pub(super) fn of_change(planner: &'a Planner, moment: &'a Moment, sql: &'a str) -> Self {
        Self { is_change: true, ..Self::new(planner, moment, sql) }
    }

    /// Calls `bind` for the types of parameters that are `declared`.
    pub(super) fn bind<T>(
        &self,
        declared: &[Option<SqlType>],
        bind: impl Fn(&[Option<SqlType>]) -> std::result::Result<T, BindError>,
    ) -> CompilationResult<T> {
        let error = match bind(declared) {
            Ok(bound) => {
                let denied = self.relations.denied();
                return denied.map_or(Ok(bound), |denied| Err(denied.into()));
            }
            Err(error) => error,
        };
        let refused = self.relations.refused();
        let is_denied = |error: &Error| error.kind() == ErrorKind::NotPermitted;
        if let (true, Some(denied)) =
            (self.is_change, refused.as_ref().filter(|one| is_denied(one)))
        {
            return Err(denied.clone().into());
        }
        // Types of parameters may be guesses of the other engine: with none it counts.
        let is_wrong = || declared.is_empty() || bind(&[]).is_err_and(|error| !error.is_own_limit);
        if !self.is_forced && (is_limit_of_engine(&error, refused.is_some()) || !is_wrong()) {
            let why = refused.is_none().then(|| from_bind(error, self.sql));
            return Err(CompilationStop::Left(why));
        }
        Err(refused.unwrap_or_else(|| from_bind(error, self.sql)).into())
    }

    /// Puts the values of parameters in their places.
    pub(super) fn with_values(
        &self,
        bound: QueryPlan,
        parameters: QueryParameters<'_>,
    ) -> CompilationResult<QueryPlan> {
        let values = parameters.values(&bound.parameters, &self.settings)?;
        let values =
            values.ok_or_else(|| self.limit(Error::not_supported("parameters of no type")))?;
        bound.with_values(&values).map_err(|error| self.limit(from_bind(error, self.sql)))
    }

    /// Returns what becomes of a statement that meets a limit of the engine.
    pub(super) fn limit(&self, error: Error) -> CompilationStop {
        if self.is_forced { error.into() } else { CompilationStop::Left(Some(error)) }
    }

    pub(super) fn optimize(
        &self,
        bound: QueryPlan,
    ) -> std::result::Result<QueryPlan, LoweringError> {
        require_levels(&bound)?;
        Ok(optimize(bound, &self.relations))
    }

    /// Lowers a plan that no other engine may run any more.
    ///
    /// # Errors
    /// Those of lowering.
    pub(super) fn lower_here(
        &self,
        optimized: std::result::Result<QueryPlan, LoweringError>,
    ) -> Result<(QueryPlan, PhysicalQuery)> {
        self.lower(optimized, false).map_err(|stop| match stop {
            CompilationStop::Failed(error) | CompilationStop::Left(Some(error)) => error,
            CompilationStop::Left(None) => Error::not_supported("relations of RETURNING"),
        })
    }

    /// Lowers a plan, as EXPLAIN asks for if `is_measured`.
    pub(super) fn lower(
        &self,
        optimized: std::result::Result<QueryPlan, LoweringError>,
        is_measured: bool,
    ) -> CompilationResult<(QueryPlan, PhysicalQuery)> {
        let relations = &self.relations;
        let lowered = optimized.and_then(|plan| {
            let query = if is_measured {
                let estimates = RowEstimates::of(&plan, relations);
                lower_measured_query(&plan, relations, &estimates, &self.settings)
            } else {
                lower_query(&plan, relations, &self.settings)
            };
            Ok((plan, query?))
        });
        lowered.map_err(|error| match error {
            LoweringError::NotSupported { .. } if !self.is_forced => {
                let why = relations.refused().is_none().then(|| from_lowering(error));
                CompilationStop::Left(why)
            }
            LoweringError::NotSupported { .. } => {
                let hint = "SET nacre.engine = auto runs what this engine has not with the other.";
                relations.refused().unwrap_or_else(|| from_lowering(error).with_hint(hint)).into()
            }
            _ => relations.refused().unwrap_or_else(|| from_lowering(error)).into(),
        })
    }
}

/// Whether the other engine may answer a query that was refused when it was bound. Everything else
/// is an error of the query in PostgreSQL, too, so that no engine may answer it. Exceptions:
///
/// 1. What this engine does not have: marked as such where it is refused. Its bounds on the size of
///    queries are no exception, since the other engine takes longer for larger ones. Names of
///    functions, operators, types and columns are none either, since the binder knows all that
///    PostgreSQL has.
/// 2. A relation that may not be read here (`is_relation_refused`): those of catalogs are of the
///    other engine alone, and it words what a role may not read.
fn is_limit_of_engine(error: &BindError, is_relation_refused: bool) -> bool {
    let is_bound = error.sql_state.starts_with("54");
    error.is_own_limit && !is_bound || is_relation_refused
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
        let Self { query, schema, explain, planning, scans, catalog, .. } = self;
        let Some(request) = explain else {
            note_reads(&query.plan.root, moment);
            return Ok(QueryRows::start(pool, query, scans)?.with_schema(schema, catalog).boxed());
        };
        let description = query.plan.root.describe();
        let mut execution = None;
        if request.is_analyze {
            note_reads(&query.plan.root, moment);
            let begun = Instant::now();
            let rows = QueryRows::start(pool, query, scans)?;
            execution = Some(explain::run_to_end(rows, begun).await?);
        }
        explain_answer(request, &description, planning, execution, None)
    }
}

/// Logs what the scans of a plan read, for the validation of a SERIALIZABLE transaction.
pub(super) fn note_reads(node: &PlanNode, moment: &Moment) {
    node.for_each_scan(&mut |scan| {
        moment.note(scan.snapshot.table(), || scan.logged_predicate());
    });
}

/// Returns for each output which column of a table it is.
pub(super) fn sources(plan: &QueryPlan, relations: &SnapshotRelations<'_>) -> Vec<OutputSource> {
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
fn value_settings(planner: &Planner, catalog: Arc<dyn SystemCatalog>) -> ValueSettings {
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
    settings.catalog = Some(catalog);
    settings
}
