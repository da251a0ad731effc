//! Plans a statement over the tables as they are at its moment, and starts it.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant, UNIX_EPOCH};

use datafusion::arrow::datatypes::SchemaRef;
use datafusion::catalog::{CatalogProviderList, MemoryCatalogProviderList, TableProvider};
use datafusion::common::TableReference;
use datafusion::execution::memory_pool::MemoryPool;
use datafusion::execution::{FunctionRegistry, SendableRecordBatchStream, SessionState};
use datafusion::logical_expr::{LogicalPlan, ScalarUDF};
use datafusion::sql::parser::Statement as ParsedStatement;
use nacre_store::Store;

use crate::catalog::StoreCatalog;
use crate::error::Result;
use crate::error_places::grammar_error;
use crate::explain::{Form, Measured, Node};
use crate::from_datafusion::from_datafusion;
use crate::names::CATALOG;
use crate::notices::{Notice, Notices};
use crate::origins::Origins;
use crate::pg_catalog::{CatalogSources, Catalogs, INFORMATION_SCHEMA, PG_CATALOG};
use crate::planner_state::SessionPlanning;
use crate::planning_cost::PlanningCost;
use crate::privileges::Acting;
use crate::scan::{answer, run_to_end};
use crate::settings::{EngineChoice, Settings};
use crate::transaction::Moment;
use crate::user_views::PlannedViews;
use crate::{
    alter, columns, dml, explain, parsing, pg_catalog, plain_forms, planning, query_forms, rewrite,
    sequences, support, transaction, trim_syntax,
};

/// Tables that are there for one statement, by name.
type OwnTables = Vec<(&'static str, Arc<dyn TableProvider>)>;

/// Bytes of a text that is parsed within about ten milliseconds, or a tenth of a second at worst.
const TEXT_BYTES_AT_ONCE: usize = 16 << 10;

/// A statement that only reads, and what is known of it before it is planned.
struct LookedAt {
    statement: ParsedStatement,
    /// Names of what it reads, if there are views.
    views: BTreeSet<String>,
    /// Whether planning may take so long that nobody should wait for it on a thread of a session.
    is_long: bool,
}

/// What clients are told of the columns of a query beside their types.
struct Shown {
    names: Option<columns::Names>,
    origins: Origins,
}

impl Shown {
    fn schema(&self, planned: SchemaRef) -> SchemaRef {
        let schema = self.origins.noted(planned);
        match &self.names {
            Some(names) => columns::renamed(&schema, names),
            None => schema,
        }
    }
}

/// What planning needs; clones share it.
#[derive(Clone)]
pub(crate) struct Planner {
    store: Store,
    /// Without a catalog, which every statement has of its own.
    planning: Arc<SessionPlanning>,
    settings: Arc<Settings>,
    catalog_sources: CatalogSources,
    /// What identity columns draw by.
    identity: Arc<ScalarUDF>,
}

impl Planner {
    pub(crate) fn new(
        store: Store,
        planning: SessionPlanning,
        settings: Arc<Settings>,
        catalog_sources: CatalogSources,
        identity: Arc<ScalarUDF>,
    ) -> Self {
        Self { store, planning: Arc::new(planning), settings, catalog_sources, identity }
    }

    /// Returns a planner over another handle of the store.
    pub(crate) fn over(&self, store: Store) -> Self {
        Self { store, ..self.clone() }
    }

    pub(crate) fn store(&self) -> &Store {
        &self.store
    }

    /// Returns what the queries of the database take their memory from.
    pub(crate) fn memory_pool(&self) -> Arc<dyn MemoryPool> {
        Arc::clone(&self.planning.base().runtime_env().memory_pool)
    }

    /// Gives memory back that the next statement can do without.
    pub(crate) fn release_memory(&self) {
        self.planning.release();
    }

    /// Returns where the statement at work tells what it has to.
    pub(crate) fn notices(&self) -> &Notices {
        self.settings.notices()
    }

    pub(crate) fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Returns what the catalogs tell of.
    pub(crate) fn catalogs(&self) -> Catalogs {
        let (settings, sources) = (Arc::clone(&self.settings), self.catalog_sources.clone());
        Catalogs::new(self.store.clone(), settings, sources)
    }

    /// Returns who the session acts as.
    pub(crate) fn acting(&self) -> Acting {
        self.settings.acting()
    }

    /// Returns a state of the session for a statement that begins now.
    pub(crate) fn state(&self) -> SessionState {
        let mut state = SessionState::clone(&self.planning.state());
        state.mark_start_execution();
        // The moment that now() and the like mean.
        let since = Duration::from_micros(self.settings.transaction_began().unsigned_abs());
        let moment = (UNIX_EPOCH + since).into();
        state.execution_props_mut().query_execution_start_time = Some(moment);
        state
    }

    /// As [`Planner::state`], for values of identity columns: whoever may insert rows gets them.
    ///
    /// # Errors
    /// None but those of registering a function.
    pub(crate) fn state_for_identity(&self) -> Result<SessionState> {
        let mut state = self.state();
        state.register_udf(Arc::clone(&self.identity))?;
        Ok(state)
    }

    /// Parses a statement.
    ///
    /// # Errors
    /// `Syntax`, and `not supported` for statements that the parser does not know. A query that the
    /// parser reads in its own way is refused, too, if PostgreSQL's grammar does not take it.
    pub(crate) fn parse(&self, sql: &str) -> Result<ParsedStatement> {
        let parsed = self.parse_leniently(sql)?;
        if is_query_or_explained(&parsed)
            && self.settings.engine() != EngineChoice::DataFusion
            && let Some(refused) = grammar_error(sql)
        {
            return Err(refused);
        }
        Ok(parsed)
    }

    /// As [`Planner::parse`], with what only this parser takes.
    fn parse_leniently(&self, sql: &str) -> Result<ParsedStatement> {
        let explained = explain::readable(sql)?;
        let sql = explained.as_deref().unwrap_or(sql);
        let parse = |sql: &str| dml::parse_overriding(sql, parsing::parse_statement);
        let (parsed, readable) = match parse(sql) {
            Err(error) => match self.readable(sql) {
                Some(readable) => (parse(&readable), Some(readable)),
                None => (Err(error), None),
            },
            parsed => (parsed, None),
        };
        let refused = |error| support::unsupported(sql).unwrap_or_else(|| from_datafusion(error));
        let mut parsed = parsed.map_err(refused)?;
        query_forms::without_only(&mut parsed);
        plain_forms::plain_statement(&mut parsed);
        query_forms::join_literals(&mut parsed, readable.as_deref().unwrap_or(sql))?;
        Ok(parsed)
    }

    /// As [`Planner::parse`], for statements of any length.
    ///
    /// # Errors
    /// As there, and 57014 once the statement has ended.
    pub(crate) async fn parse_any(&self, sql: &str) -> Result<ParsedStatement> {
        if sql.len() <= TEXT_BYTES_AT_ONCE {
            return self.parse(sql);
        }
        let (planner, sql) = (self.clone(), sql.to_owned());
        planning::aside(true, async move { planner.parse(&sql) }).await
    }

    /// Returns what stands for a statement that the parser does not read.
    fn readable(&self, sql: &str) -> Option<String> {
        let trimmed = trim_syntax::readable(sql);
        let sql = trimmed.as_deref().unwrap_or(sql);
        let other = || {
            let other = table_query(sql).or_else(|| transaction::readable(sql));
            other.or_else(|| sequences::readable(sql)).or_else(|| alter::readable(sql))
        };
        let readable = dml::readable(sql).or_else(other).or_else(|| {
            let logged = logged(sql)?;
            let message = "there are no unlogged tables, so this one is logged";
            self.notices().tell(Notice::told("00000", message));
            Some(logged)
        });
        readable.or(trimmed)
    }

    /// Returns a state that finds the tables as they are at a moment, and the views among `read`.
    ///
    /// # Errors
    /// Those of planning the views.
    pub(crate) async fn state_with_views(
        &self,
        moment: &Arc<Moment>,
        read: BTreeSet<String>,
    ) -> Result<SessionState> {
        let (state, views) = self.state_over(moment, Vec::new());
        views.plan(&self.store, &state, read).await?;
        // What a view reads is asked for when somebody reads the view.
        views.set_inside(true);
        Ok(state)
    }

    /// Returns a state that finds the tables as they are at a moment, and `tables`, and the views
    /// that are planned in it later.
    fn state_over(&self, moment: &Arc<Moment>, tables: OwnTables) -> (SessionState, PlannedViews) {
        let views = PlannedViews::default();
        let catalogs = MemoryCatalogProviderList::new();
        let store = self.store.clone();
        let postgres = self.catalogs();
        let moment = Arc::clone(moment);
        let asked = (self.acting(), views.clone());
        let catalog = StoreCatalog::new(store, moment, asked, postgres, tables);
        catalogs.register_catalog(CATALOG.into(), Arc::new(catalog));
        let mut state = self.state();
        state.register_catalog_list(Arc::new(catalogs));
        (state, views)
    }

    /// Returns the names of what a statement reads; all views for one that looks at the catalog,
    /// nothing while there are no views.
    fn read_by(&self, statement: &ParsedStatement) -> Result<BTreeSet<String>> {
        if !self.store.has_views() {
            return Ok(BTreeSet::new());
        }
        let references = self.planning.base().resolve_table_references(statement)?;
        let is_catalog = |reference: &TableReference| {
            let is_schema = |schema| matches!(schema, INFORMATION_SCHEMA | PG_CATALOG);
            reference.schema().is_some_and(is_schema) || reference.table().starts_with("pg_")
        };
        if references.iter().any(is_catalog) || is_about_catalog(statement) {
            return Ok(self.store.views().iter().map(|view| view.name.clone()).collect());
        }
        Ok(references.iter().map(|reference| reference.table().to_owned()).collect())
    }

    /// Plans a statement that only reads and starts it. `tables` are there for it alone, in
    /// [`crate::names::STATEMENT_SCHEMA`].
    ///
    /// # Errors
    /// Those of the planner, and `not supported`.
    pub(crate) async fn start(
        &self,
        moment: &Arc<Moment>,
        tables: OwnTables,
        statement: ParsedStatement,
    ) -> Result<SendableRecordBatchStream> {
        let (form, statement) = match (explain::form(&statement), statement) {
            (Some(Form::Document { format, is_measured }), ParsedStatement::Explain(explained)) => {
                let run = self.measure(moment, tables, *explained.statement, is_measured);
                let (node, measured) = run.await?;
                let measured = measured.if_run();
                return explain::answer(format, node, measured, explain::DATAFUSION_ENGINE);
            }
            other => other,
        };
        let looked_at = self.look_at(statement)?;
        let (planner, moment) = (self.clone(), Arc::clone(moment));
        planning::aside(looked_at.is_long, async move {
            let (state, plan, shown) = planner.plan(&moment, tables, looked_at).await?;
            let stream = answer(state, plan).await.map_err(from_datafusion)?;
            Ok(match form {
                Some(Form::Lines { is_verbose }) => explain::as_lines(stream, is_verbose),
                _ => {
                    let schema = shown.schema(stream.schema());
                    columns::with_schema(stream, schema)
                }
            })
        })
        .await
    }

    /// Plans a query, runs it if it `is_measured`, and describes its plan.
    ///
    /// # Errors
    /// As [`Planner::start`], and those of running it.
    pub(crate) async fn measure(
        &self,
        moment: &Arc<Moment>,
        tables: OwnTables,
        query: ParsedStatement,
        is_measured: bool,
    ) -> Result<(Node, Measured)> {
        let begun = Instant::now();
        let looked_at = self.look_at(query)?;
        let (planner, moment) = (self.clone(), Arc::clone(moment));
        let planned = planning::aside(looked_at.is_long, async move {
            let (state, plan, _) = planner.plan(&moment, tables, looked_at).await?;
            let plan = state.create_physical_plan(&plan).await.map_err(from_datafusion)?;
            Ok((state, plan))
        });
        let (state, plan) = planned.await?;
        let planning = begun.elapsed();
        let mut execution = None;
        if is_measured {
            let begun = Instant::now();
            run_to_end(&state, Arc::clone(&plan)).await.map_err(from_datafusion)?;
            execution = Some(begun.elapsed());
        }
        Ok((Node::of(&plan, is_measured), Measured { planning, steps: None, execution }))
    }

    /// Returns the output columns of a query.
    ///
    /// # Errors
    /// As [`Planner::start`].
    pub(crate) async fn describe(
        &self,
        moment: &Arc<Moment>,
        tables: OwnTables,
        statement: ParsedStatement,
    ) -> Result<SchemaRef> {
        let looked_at = self.look_at(statement)?;
        let (planner, moment) = (self.clone(), Arc::clone(moment));
        planning::aside(looked_at.is_long, async move {
            let (state, plan, shown) = planner.plan(&moment, tables, looked_at).await?;
            Ok(shown.schema(analyzed_schema(&state, &plan)))
        })
        .await
    }

    /// Looks at a statement that only reads, before it is planned.
    fn look_at(&self, statement: ParsedStatement) -> Result<LookedAt> {
        support::check(&statement)?;
        let cost = self.cost_of(&statement);
        cost.require_bounded()?;
        let views = self.read_by(&statement)?;
        // Views may read others.
        let reads_views = views.iter().any(|name| self.store.view(name).is_some());
        Ok(LookedAt { statement, views, is_long: reads_views || !cost.is_short() })
    }

    fn cost_of(&self, statement: &ParsedStatement) -> PlanningCost {
        match statement {
            ParsedStatement::Statement(inner) => {
                PlanningCost::of_syntax(&self.state(), inner.as_ref())
            }
            ParsedStatement::Explain(explain) => self.cost_of(&explain.statement),
            _ => PlanningCost::default(),
        }
    }

    /// Plans a statement; also returns the state to run it with, and how its columns are shown.
    async fn plan(
        &self,
        moment: &Arc<Moment>,
        tables: OwnTables,
        looked_at: LookedAt,
    ) -> Result<(SessionState, LogicalPlan, Shown)> {
        let LookedAt { mut statement, views: read, .. } = looked_at;
        let (state, views) = self.state_over(moment, tables);
        if self.store.has_views() {
            views.plan(&self.store, &state, read).await?;
        }
        let names = columns::names(&mut statement);
        rewrite::rewrite(&state, &mut statement)?;
        let plan = state.statement_to_plan(statement).await.map_err(from_datafusion)?;
        support::check_plan(&plan)?;
        let plan = pg_catalog::shown(&state, plan).map_err(from_datafusion)?;
        if moment.is_read_only() {
            support::check_unchanging(&plan)?;
        }
        let origins = Origins::of(&plan);
        Ok((state, plan, Shown { names, origins }))
    }
}

/// Returns the columns that a plan has when it runs: the analyzer's rules decide on some types. One
/// that they refuse, as they do when parameters have no type yet, is refused when it runs.
fn analyzed_schema(state: &SessionState, plan: &LogicalPlan) -> SchemaRef {
    let options = state.config_options();
    match state.analyzer().execute_and_check(plan.clone(), options, |_, _| {}) {
        Ok(analyzed) => Arc::clone(analyzed.schema().inner()),
        Err(_) => Arc::clone(plan.schema().inner()),
    }
}

/// Returns `TABLE name` as the query that it stands for.
fn table_query(sql: &str) -> Option<String> {
    let begin = sql.trim_start();
    let (word, rest) = begin.split_at_checked("table".len())?;
    let is_table = word.eq_ignore_ascii_case("table") && rest.starts_with(char::is_whitespace);
    is_table.then(|| format!("SELECT * FROM{rest}"))
}

/// Returns `CREATE UNLOGGED TABLE` without that word, and all else in its place.
fn logged(sql: &str) -> Option<String> {
    let start = sql.len() - sql.trim_start().len();
    let create = sql[start..].split_whitespace().next()?;
    let behind = start + create.len();
    let at = behind + sql[behind..].len() - sql[behind..].trim_start().len();
    let word = sql.get(at..at + "unlogged".len())?;
    let is_it = create.eq_ignore_ascii_case("create") && word.eq_ignore_ascii_case("unlogged");
    is_it.then(|| format!("{}        {}", &sql[..at], &sql[at + word.len()..]))
}

/// Whether a statement is a query, or EXPLAIN of one.
fn is_query_or_explained(statement: &ParsedStatement) -> bool {
    use datafusion::sql::sqlparser::ast::Statement;
    match statement {
        ParsedStatement::Explain(explained) => is_query_or_explained(&explained.statement),
        ParsedStatement::Statement(inner) => matches!(inner.as_ref(), Statement::Query(_)),
        _ => false,
    }
}

/// Whether a statement reads the catalog without naming it.
fn is_about_catalog(statement: &ParsedStatement) -> bool {
    use datafusion::sql::sqlparser::ast::Statement;
    let ParsedStatement::Statement(inner) = statement else { return false };
    matches!(
        inner.as_ref(),
        Statement::ShowTables { .. }
            | Statement::ShowColumns { .. }
            | Statement::ExplainTable { .. }
    )
}
