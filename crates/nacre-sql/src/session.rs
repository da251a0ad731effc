//! Sessions: the one door through which SQL comes in.
//!
//! A statement takes its turn in the session's transaction ([`crate::transaction`]). It is looked
//! at by [`crate::copy`] first, then parsed by the front end. What begins and ends transactions,
//! defines tables ([`crate::ddl`]) or changes rows ([`crate::dml`]) runs here; queries run in
//! Nacre's own engine ([`crate::engine`]) or are planned by DataFusion over our scans; everything
//! else is refused, never half done.

mod changes;
mod queries;

use std::sync::Arc;

use datafusion::arrow::datatypes::SchemaRef;
use datafusion::common::DataFusionError;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::sql::parser::Statement as ParsedStatement;
use datafusion::sql::sqlparser::ast::{ObjectType, Statement as SqlStatement};
use nacre_store::{SEQUENCES_TABLE, Store, Value};

use crate::advisory_locks::LockOwner;
use crate::alter::alter_table;
use crate::archive::archive;
use crate::backup::backup;
use crate::checkpoint::checkpoint;
use crate::copy::{ClientCopy, CopyStatement, copy_from, copy_to, parse_copy};
use crate::cursors::{CursorStatement, Declaration, Fetched, KeptRows};
use crate::database::Database;
use crate::engine::{EnginePool, GivenStatement};
use crate::error::{Error, ErrorKind, Result};
use crate::housekeeping::{Discarded, Housekeeping, analyze_tables, check_places, not_owned};
use crate::names::table_name;
use crate::own_statement::OwnStatement;
use crate::planner::Planner;
use crate::prepared::{Command, PreparedStatements, Statement};
use crate::privileges::{Acting, PrivilegeStatement, require_definition};
use crate::relations::is_raced;
use crate::replicas::alter_replicas;
use crate::restarts::RestartBackoff;
use crate::sequences::{Given, SequenceStatement, alter_sequence, create_sequence, drop_sequences};
use crate::settings::{Settings, shown_schema};
use crate::short::{Candidate, Scanned, ShortStatements, scan};
use crate::statement_io::{Outcome, StatementIo};
use crate::table_as::TableAs;
use crate::table_lock::lock_tables;
use crate::transaction::{Plain, RestartPoint, TransactionStatus, Transactions, Turn, control};
use crate::upkeep::Upkeep;
use crate::user_views::{create_view, drop_views};
use crate::{ddl, dml, explain, indexes, transaction};

use self::queries::{CompiledRun, of_neither_engine, of_printed_text};

/// Attempts to alter a sequence while others are given values: each is in the way of one only if it
/// falls between two steps in memory.
const ALTER_ATTEMPTS_MAX: usize = 100;

/// A statement as it is handed to a session.
#[derive(Clone, Copy)]
enum Handed<'a> {
    Text(&'a str),
    Prepared(&'a Statement, &'a [Value]),
}

/// One user's conversation with a database. A block that is open when it ends is rolled back.
pub struct Session {
    store: Store,
    planner: Planner,
    transactions: Transactions,
    short: ShortStatements,
    prepared: PreparedStatements,
    /// What sequences gave.
    given: Arc<Given>,
    threads: usize,
    engine: Arc<EnginePool>,
    locks: LockOwner,
    /// A session may outlive the handle that started it.
    _upkeep: Option<Arc<Upkeep>>,
}

impl Session {
    /// Starts a session with what was made for it.
    pub(crate) fn new(
        store: Store,
        planner: Planner,
        settings: &Arc<Settings>,
        given: Arc<Given>,
        locks: LockOwner,
        database: &Database,
    ) -> Self {
        let of_session = Arc::clone(locks.locks());
        Self {
            transactions: Transactions::new(store.clone(), Arc::clone(settings), of_session),
            store,
            planner,
            short: ShortStatements::new(),
            prepared: PreparedStatements::default(),
            given,
            threads: database.threads(),
            engine: Arc::clone(database.engine()),
            locks,
            _upkeep: database.upkeep(),
        }
    }

    /// Gives memory back that the next statement takes again, for a session that is idle.
    pub fn release_memory(&self) {
        self.planner.release_memory();
    }

    /// Runs one statement. Dropping the future or the stream cancels it.
    ///
    /// In a transaction block statements run one after the other, and the rows of a query have to
    /// be read before the next one.
    ///
    /// # Errors
    /// As [`ErrorKind`] sorts them; a failed statement has changed nothing.
    pub async fn execute(&self, sql: &str, io: StatementIo) -> Result<Outcome> {
        self.run_restartable(Handed::Text(sql), io).await
    }

    /// Runs a statement, and begins it anew as often as a definition changes under it.
    async fn run_restartable(&self, statement: Handed<'_>, io: StatementIo) -> Result<Outcome> {
        let (mut io, mut restarts) = (io, RestartBackoff::default());
        loop {
            let again = io.for_restart();
            let mut turn = self.transactions.turn().await;
            let point = turn.restart_point();
            let outcome = match statement {
                Handed::Text(sql) => self.run(turn, sql, io).await,
                Handed::Prepared(prepared, values) => {
                    self.run_prepared(turn, prepared, values, io).await
                }
            };
            let again = again.filter(|_| is_definition_change(&outcome)).zip(point);
            if let Some((next, point)) = again
                && restarts.wait().await
            {
                self.go_back(point).await?;
                io = next;
                continue;
            }
            let sql = match statement {
                Handed::Text(sql) => sql,
                Handed::Prepared(prepared, _) => prepared.sql(),
            };
            return self.with_notices(outcome).map_err(|error| self.told(error, sql));
        }
    }

    /// Takes back what a statement did and said that is begun anew.
    async fn go_back(&self, point: RestartPoint) -> Result<()> {
        self.settings().notices().take();
        self.transactions.turn().await.go_back(point)
    }

    /// Prepares a statement with parameters `$1`, `$2` and so on. `types` are the numbers of those
    /// of the first ones where they are known; the others have that of what they are compared with
    /// or assigned to, or else are text.
    ///
    /// # Errors
    /// [`ErrorKind::Syntax`] and the like; what the statement means is looked at when it runs.
    pub fn prepare(&self, sql: &str, types: &[Option<u32>]) -> Result<Statement> {
        let prepared = OwnStatement::parse(sql).and_then(|own| {
            let parsed = if own.is_none() { Some(self.planner.parse(sql)?) } else { None };
            self.prepared_of(sql, own, parsed, types)
        });
        prepared.map_err(|error| error.located_in(sql))
    }

    /// Prepares a statement that was parsed, as one with a syntax of its own or another.
    fn prepared_of(
        &self,
        sql: &str,
        own: Option<OwnStatement>,
        parsed: Option<ParsedStatement>,
        types: &[Option<u32>],
    ) -> Result<Statement> {
        let (parsed, cursor) = match own {
            Some(OwnStatement::Cursor(CursorStatement::Declare(declaration, query))) => {
                let query = ParsedStatement::Statement(Box::new(SqlStatement::Query(query)));
                (Some(query), Some(declaration))
            }
            // The others have no parameters.
            Some(_) => (None, None),
            None => (parsed, None),
        };
        Statement::new(&self.store, sql, false, parsed, types, cursor)
    }

    /// As [`Session::prepare`], and looks at what the statement means now: one that cannot be
    /// planned is none. Who may run it is asked when it runs.
    ///
    /// # Errors
    /// Those of parsing and planning it.
    pub async fn prepare_and_plan(&self, sql: &str, types: &[Option<u32>]) -> Result<Statement> {
        let own = OwnStatement::parse(sql).map_err(|error| error.located_in(sql))?;
        let parsed = match own {
            Some(_) => Ok(None),
            None => self.planner.parse_any(sql).await.map(Some),
        };
        let prepared = parsed.and_then(|parsed| self.prepared_of(sql, own, parsed, types));
        let statement = prepared.map_err(|error| error.located_in(sql))?;
        let statement = self.with_inferred_types(statement, types).await?;
        self.require_meaning(&statement).await.map_err(|error| self.told(error, sql))?;
        Ok(statement)
    }

    /// Plans a query or a change of rows, unless it is a short one that has a plan.
    async fn require_meaning(&self, statement: &Statement) -> Result<()> {
        if !statement.has_meaning() || self.short.knows(&self.store, statement.short_key()) {
            return Ok(());
        }
        match Box::pin(statement.columns(self)).await {
            Err(error) if error.kind() != ErrorKind::NotPermitted => Err(error),
            _ => Ok(()),
        }
    }

    /// Runs a prepared statement as [`Statement::execute`] does.
    ///
    /// # Errors
    /// As there.
    pub async fn execute_prepared(
        &self,
        statement: &Statement,
        values: &[Value],
        io: StatementIo,
    ) -> Result<Outcome> {
        self.run_restartable(Handed::Prepared(statement, values), io).await
    }

    /// Adds what the statement told to its answer.
    fn with_notices(&self, outcome: Result<Outcome>) -> Result<Outcome> {
        let told = self.settings().notices().take();
        let mut outcome = outcome?;
        if let Outcome::Command { notices, .. } = &mut outcome {
            notices.extend(told);
        }
        Ok(outcome)
    }

    async fn run_prepared(
        &self,
        mut turn: Turn,
        statement: &Statement,
        values: &[Value],
        io: StatementIo,
    ) -> Result<Outcome> {
        let values = statement.fit(values)?;
        if let Some(candidate) = statement.candidate(&values)
            && let Some(outcome) = self.run_short(&mut turn, candidate).await?
        {
            turn.done(false);
            return Ok(outcome);
        }
        if let Some(declaration) = statement.cursor() {
            turn.require_sound()?;
            if let Some(query) = statement.with_values(&values)? {
                let sql = values.is_empty().then(|| statement.sql());
                return self.declare(turn, declaration, sql, query).await;
            }
        }
        let (turn, left) = match self.run_compiled_statement(turn, statement, &values).await? {
            CompiledRun::Started(outcome) => return Ok(outcome),
            CompiledRun::NotTaken(turn, left) => (turn, left),
        };
        let outcome = match statement.with_values(&values)? {
            // Boxed, since what is run may be an EXECUTE, which comes back here.
            Some(parsed) => {
                let (sql, types) = (statement.sql(), statement.parameter_types());
                let given = GivenStatement { sql, types, values: &values };
                Box::pin(self.run_parsed(turn, parsed, given, io)).await
            }
            None => Box::pin(self.run_general(turn, statement.sql(), io)).await,
        };
        outcome.map_err(|error| of_neither_engine(error, left))
    }

    /// Returns the columns of the rows that a statement answers; `None` if it answers none, or if
    /// only running it tells.
    pub(crate) async fn describe(
        &self,
        statement: ParsedStatement,
        given: GivenStatement<'_>,
    ) -> Result<Option<SchemaRef>> {
        let mut turn = self.transactions.turn().await;
        if let ParsedStatement::Statement(inner) = &statement
            && let Some(Ok(Command::Execute { name, .. })) = Command::of(inner)
        {
            turn.done(false);
            let prepared = self.prepared.named(&name)?;
            return Box::pin(prepared.columns(self)).await;
        }
        let described = self.described(&mut turn, statement, given).await;
        // Who may run it is asked when it runs.
        let has_failed = |error: &Error| error.kind() != ErrorKind::NotPermitted;
        turn.done(described.as_ref().is_err_and(has_failed));
        described
    }

    /// As [`Session::describe`], for all but EXECUTE.
    async fn described(
        &self,
        turn: &mut Turn,
        statement: ParsedStatement,
        given: GivenStatement<'_>,
    ) -> Result<Option<SchemaRef>> {
        let moment = turn.moment(true)?;
        Ok(match statement {
            explained @ ParsedStatement::Explain(_) => {
                explain::form(&explained).map(explain::schema)
            }
            ParsedStatement::Statement(inner)
                if matches!(
                    *inner,
                    SqlStatement::ShowTables { .. } | SqlStatement::ShowColumns { .. }
                ) =>
            {
                let show = ParsedStatement::Statement(inner);
                Some(self.planner.describe(&moment, Vec::new(), show).await?)
            }
            ParsedStatement::Statement(inner) if dml::writes(&inner).is_some() => {
                let change = dml::change_of(&self.store, *inner)?.offered(given, &self.engine);
                change.describe(&self.planner, &moment).await?
            }
            ParsedStatement::Statement(inner) if matches!(*inner, SqlStatement::Query(_)) => {
                let query = ParsedStatement::Statement(inner);
                Some(self.planner.describe(&moment, Vec::new(), query).await?)
            }
            _ => None,
        })
    }

    /// Returns the columns of what a statement with a syntax of its own answers.
    pub(crate) fn describe_own(&self, sql: &str) -> Result<Option<SchemaRef>> {
        match OwnStatement::parse(sql)? {
            Some(OwnStatement::Setting(statement)) => Ok(shown_schema(&statement)),
            Some(OwnStatement::Cursor(CursorStatement::Fetch { name, is_move: false, .. })) => {
                // Its cursor may be declared between Parse and Execute.
                Ok(self.transactions.cursors().schema(&name))
            }
            _ => Ok(None),
        }
    }

    /// Runs a statement on this thread, which may wait for a disk, if it is a short one that was
    /// run before, or BEGIN, COMMIT or ROLLBACK; `None` if it has to be executed, and nothing was
    /// done.
    pub fn execute_short(&self, sql: &str) -> Option<Result<Outcome>> {
        if let Some(plain) = Plain::of(sql) {
            return self.control_now(plain, sql);
        }
        let scanned = scan(sql)?;
        let mut turn = self.transactions.turn_now()?;
        let outcome = self.short_now(&mut turn, text_candidate(sql, &scanned));
        end_short(turn, outcome).map(|ended| ended.map_err(|error| self.told(error, sql)))
    }

    /// As [`Session::execute_short`], for a prepared statement.
    pub fn execute_prepared_short(
        &self,
        statement: &Statement,
        values: &[Value],
    ) -> Option<Result<Outcome>> {
        // What does not fit is told on the usual way.
        let values = statement.fit(values).ok()?;
        if let Some(plain) = statement.plain_control() {
            return self.control_now(plain, statement.sql());
        }
        let candidate = statement.candidate(&values)?;
        let mut turn = self.transactions.turn_now()?;
        let outcome = self.short_now(&mut turn, candidate);
        let ended = end_short(turn, outcome);
        ended.map(|ended| ended.map_err(|error| self.told(error, statement.sql())))
    }

    fn control_now(&self, plain: Plain, sql: &str) -> Option<Result<Outcome>> {
        let turn = self.transactions.turn_now()?;
        let answer = plain.run(&self.transactions, turn);
        let outcome = answer.map(|(tag, warning)| Outcome::command(tag, warning));
        Some(outcome.map_err(|error| self.told(error, sql)))
    }

    /// Returns an error of a statement as whoever sent it is told.
    fn told(&self, error: Error, sql: &str) -> Error {
        self.planner.acting().conceal(&self.store, error).located_in(sql)
    }

    fn short_now(&self, turn: &mut Turn, candidate: Candidate<'_>) -> Result<Option<Outcome>> {
        self.short.run_now(&self.store, &self.planner, turn, candidate)
    }

    async fn run_short(
        &self,
        turn: &mut Turn,
        candidate: Candidate<'_>,
    ) -> Result<Option<Outcome>> {
        self.short.run(&self.store, &self.planner, turn, candidate).await
    }

    /// Runs PREPARE, EXECUTE or DEALLOCATE.
    async fn command(
        &self,
        mut turn: Turn,
        command: Command<'_>,
        io: StatementIo,
    ) -> Result<Outcome> {
        turn.require_sound()?;
        match command {
            Command::Prepare { name, types, statement } => {
                let prepared = PreparedStatements::prepare(&self.store, &types, statement)?;
                turn.done(false);
                let inferred = self.with_inferred_types(prepared, &types).await;
                let prepared = inferred.map_err(of_printed_text)?;
                self.require_meaning(&prepared).await.map_err(of_printed_text)?;
                self.prepared.keep(name, prepared)?;
                Ok(Outcome::command("PREPARE".into(), None))
            }
            Command::Deallocate(name) => {
                let tag = self.prepared.deallocate(name.as_deref())?;
                finish(turn, tag.into())
            }
            Command::Execute { name, parameters } => {
                let statement = self.prepared.named(&name)?;
                statement.check_count(parameters.len(), Some(&name))?;
                let schema = statement.parameters();
                let moment = || turn.moment(true);
                let values = dml::constants(&self.planner, moment, schema, parameters).await?;
                let outcome = self.run_prepared(turn, &statement, &values, io).await;
                outcome.map_err(of_printed_text)
            }
        }
    }

    /// Runs a statement. An error drops the turn, which leaves its block failed.
    async fn run(&self, mut turn: Turn, sql: &str, io: StatementIo) -> Result<Outcome> {
        let is_cancelled = io.progress.as_ref().is_some_and(|one| one.is_cancelled());
        let scanned = scan(sql);
        if let Some(scanned) = scanned.as_ref().filter(|_| !is_cancelled)
            && let Some(outcome) = self.run_short(&mut turn, text_candidate(sql, scanned)).await?
        {
            turn.done(false);
            return Ok(outcome);
        }
        let key = scanned.as_ref().map(|scanned| scanned.key.as_str());
        let (turn, left) = match self.run_compiled(turn, sql, key).await? {
            CompiledRun::Started(outcome) => return Ok(outcome),
            CompiledRun::NotTaken(turn, left) => (turn, left),
        };
        let outcome = self.run_general(turn, sql, io).await;
        outcome.map_err(|error| of_neither_engine(error, left))
    }

    /// Runs a statement that is no short one, and no query of Nacre's own engine.
    async fn run_general(&self, turn: Turn, sql: &str, io: StatementIo) -> Result<Outcome> {
        if let Some(statement) = OwnStatement::parse(sql)? {
            return self.run_own(turn, statement, sql, io).await;
        }
        let statement = self.planner.parse_any(sql).await?;
        let given = GivenStatement { sql, types: &[], values: &[] };
        self.run_parsed(turn, statement, given, io).await
    }

    /// Runs a statement with a syntax of its own.
    async fn run_own(
        &self,
        mut turn: Turn,
        statement: OwnStatement,
        sql: &str,
        io: StatementIo,
    ) -> Result<Outcome> {
        turn.require_sound()?;
        let acting = self.begin_as();
        match statement {
            OwnStatement::Privileges(statement) => self.run_privileges(turn, statement).await,
            OwnStatement::Copy(copy) => {
                let rows = self.copy(&mut turn, &copy, sql, io).await?;
                finish(turn, format!("COPY {rows}"))
            }
            OwnStatement::Replicas(alter) => {
                require_definable(&mut turn, "ALTER TABLE")?;
                finish(turn, alter_replicas(&self.store, acting, alter)?)
            }
            OwnStatement::TableAs(table_as) => self.create_as(turn, *table_as, io).await,
            OwnStatement::Sequence(statement) => {
                let tag = self.sequence(&mut turn, &statement, io).await?;
                finish(turn, tag)
            }
            OwnStatement::Setting(statement) => {
                transaction::run_setting(&self.transactions, turn, &statement)
            }
            OwnStatement::Cursor(statement) => self.cursor(turn, statement, sql).await,
            OwnStatement::Housekeeping(statement) => self.keep_house(turn, statement).await,
            OwnStatement::Lock(statement) => {
                let tag = lock_tables(&self.store, acting, &mut turn, &statement)?;
                finish(turn, tag.to_owned())
            }
            OwnStatement::Checkpoint => {
                turn.require_writable("CHECKPOINT")?;
                acting.require_superuser(
                    "must be superuser or have privileges of pg_checkpoint to do CHECKPOINT",
                )?;
                checkpoint(&self.store).await?;
                finish(turn, "CHECKPOINT".to_owned())
            }
            OwnStatement::Backup(directory) => {
                turn.require_alone("BACKUP DATABASE")?;
                acting.require_superuser("must be superuser to back up the database")?;
                backup(&self.store, directory).await?;
                finish(turn, "BACKUP DATABASE".to_owned())
            }
            OwnStatement::Archive(target) => {
                turn.require_alone("ARCHIVE DATABASE")?;
                acting.require_superuser("must be superuser to archive the database")?;
                archive(&self.store, target).await?;
                finish(turn, "ARCHIVE DATABASE".to_owned())
            }
        }
    }

    /// Runs a statement about cursors.
    async fn cursor(&self, turn: Turn, statement: CursorStatement, sql: &str) -> Result<Outcome> {
        let cursors = self.transactions.cursors();
        match statement {
            CursorStatement::Declare(declaration, query) => {
                let query = ParsedStatement::Statement(Box::new(SqlStatement::Query(query)));
                self.declare(turn, &declaration, Some(sql), query).await
            }
            CursorStatement::Close(name) => {
                cursors.close(name.as_deref())?;
                let tag = if name.is_none() { "CLOSE CURSOR ALL" } else { "CLOSE CURSOR" };
                finish(turn, tag.to_owned())
            }
            CursorStatement::Fetch { name, direction, is_move } => {
                let Fetched { schema, batches, rows } =
                    cursors.fetch(&name, direction, !is_move)?;
                if is_move {
                    return finish(turn, format!("MOVE {rows}"));
                }
                turn.done(false);
                let outside = |error: Error| DataFusionError::External(Box::new(error));
                let batches = batches.map(move |batch| batch.map_err(outside));
                let batches = futures::stream::iter(batches);
                let stream = Box::pin(RecordBatchStreamAdapter::new(Arc::clone(&schema), batches));
                Ok(Outcome::Rows { schema, stream, tag: Some(format!("FETCH {rows}")) })
            }
        }
    }

    /// Opens a cursor over the rows that a query has now; `sql` is the statement, if it has no
    /// parameters.
    async fn declare(
        &self,
        mut turn: Turn,
        declaration: &Declaration,
        sql: Option<&str>,
        query: ParsedStatement,
    ) -> Result<Outcome> {
        if !turn.is_in_block() && !declaration.is_held {
            let message = "DECLARE CURSOR can only be used in transaction blocks";
            return Err(Error::transaction_state("25P01", message));
        }
        let cursors = self.transactions.cursors();
        cursors.require_free(&declaration.name)?;
        let stream = self.start_within(&mut turn, sql, query).await?;
        let rows = KeptRows::read(stream, &self.planner.memory_pool()).await?;
        cursors.open(declaration, rows);
        if !turn.is_in_block() {
            cursors.end_transaction(true);
        }
        finish(turn, "DECLARE CURSOR".to_owned())
    }

    /// Runs VACUUM, ANALYZE, DISCARD or UNLISTEN.
    async fn keep_house(&self, mut turn: Turn, statement: Housekeeping) -> Result<Outcome> {
        let acting = self.settings().acting();
        match statement {
            Housekeeping::Vacuum { places, analyzes } => {
                require_no_block(&turn, "VACUUM")?;
                let warning = check_places(&self.store, "vacuum", &places)?;
                turn.require_writable("VACUUM")?;
                let denied = not_owned(&self.store, acting, "vacuum", &places);
                if denied.is_none() {
                    checkpoint(&self.store).await?;
                }
                if analyzes {
                    let moment = turn.moment(false)?;
                    analyze_tables(&self.store, acting, moment.snapshot(), &places).await?;
                }
                let warning = denied.or(warning);
                turn.done(false);
                Ok(Outcome::command("VACUUM".to_owned(), warning))
            }
            Housekeeping::Analyze(places) => {
                let warning = check_places(&self.store, "analyze", &places)?;
                let warning = match places.is_empty() {
                    true => warning,
                    false => not_owned(&self.store, acting, "analyze", &places).or(warning),
                };
                let moment = turn.moment(false)?;
                analyze_tables(&self.store, acting, moment.snapshot(), &places).await?;
                turn.done(false);
                Ok(Outcome::command("ANALYZE".to_owned(), warning))
            }
            Housekeeping::Unlisten => finish(turn, "UNLISTEN".to_owned()),
            Housekeeping::Discard(what) => {
                if what == Discarded::All {
                    require_no_block(&turn, "DISCARD ALL")?;
                    self.transactions.cursors().close(None)?;
                    self.settings().reset_all();
                    self.settings().reset_identity()?;
                    self.prepared.deallocate(None)?;
                    self.locks.locks().unlock_all();
                }
                if matches!(what, Discarded::All | Discarded::Plans) {
                    self.short.forget();
                }
                if matches!(what, Discarded::All | Discarded::Sequences) {
                    self.given.forget();
                }
                finish(turn, what.tag().to_owned())
            }
        }
    }

    /// Runs a statement that the parser read, which was `given`.
    async fn run_parsed(
        &self,
        mut turn: Turn,
        statement: ParsedStatement,
        given: GivenStatement<'_>,
        io: StatementIo,
    ) -> Result<Outcome> {
        self.begin_as();
        let inner = match statement {
            ParsedStatement::Statement(inner) => inner,
            ParsedStatement::Explain(explain) if dml::explains(&explain) => {
                return self.explain_change(turn, explain, given, io).await;
            }
            other => {
                turn.require_sound()?;
                return self.read(turn, other).await;
            }
        };
        turn = match control(&self.transactions, turn, &inner).await {
            Ok(answer) => return answer.map(|(tag, warning)| Outcome::command(tag, warning)),
            Err(turn) => turn,
        };
        if let Some(command) = Command::of(&inner) {
            return self.command(turn, command?, io).await;
        }
        turn.require_sound()?;
        if let Some(table_as) = TableAs::of(&inner)? {
            return self.create_as(turn, table_as, io).await;
        }
        if let Some(tag) = self.define(&mut turn, &inner).await? {
            return finish(turn, tag);
        }
        if let SqlStatement::Set(set) = inner.as_ref()
            && let Some((tag, warning)) = transaction::set(&self.transactions, &mut turn, set)?
        {
            turn.done(false);
            return Ok(Outcome::command(tag, warning));
        }
        if let Some(verb) = dml::writes(&inner) {
            turn.require_writable(verb)?;
            return self.change(turn, *inner, given, io).await;
        }
        if let SqlStatement::Truncate(statement) = inner.as_ref() {
            let (mut turn, _, planner) = self.defining(turn, "TRUNCATE")?;
            let tag = dml::truncate(&planner, &mut turn, statement).await?;
            return finish(turn, tag);
        }
        self.read(turn, ParsedStatement::Statement(inner)).await
    }

    /// Returns what a statement needs that defines something and changes rows, in one transaction:
    /// that of the block, or one of its own, of which other statements of the session see nothing.
    fn defining(&self, mut turn: Turn, what: &str) -> Result<(Turn, Store, Planner)> {
        turn.require_writable(what)?;
        if turn.is_in_block() {
            turn.define(what)?;
            return Ok((turn, self.store.clone(), self.planner.clone()));
        }
        let store = self.store.for_session();
        let mut own = self.transactions.alone_with(store.clone());
        own.begin_defining()?;
        let planner = self.planner.over(store.clone());
        Ok((own, store, planner))
    }

    /// Creates or alters a sequence.
    async fn sequence(
        &self,
        turn: &mut Turn,
        statement: &SequenceStatement,
        io: StatementIo,
    ) -> Result<String> {
        let what = if statement.is_new { "CREATE SEQUENCE" } else { "ALTER SEQUENCE" };
        turn.define(what)?;
        let acting = self.settings().acting();
        match statement.is_new {
            true => acting.require_create(&self.store)?,
            false => acting.require_owner(&self.store, &table_name(&statement.name)?)?,
        }
        if statement.is_new {
            return create_sequence(&self.store, statement);
        }
        if turn.is_in_block() {
            return alter_sequence(&self.store, statement);
        }
        let progress = io.progress.unwrap_or_default();
        let mut attempts = 0;
        loop {
            attempts += 1;
            let store = self.store.for_session();
            let mut own = self.transactions.alone_with(store.clone());
            own.begin_defining()?;
            let tag = alter_sequence(&store, statement)?;
            match dml::apply(&self.planner, &mut own, Vec::new(), Arc::clone(&progress)).await {
                // Somebody was given a value in between.
                Err(error)
                    if error.kind() == ErrorKind::SerializationFailure
                        && attempts < ALTER_ATTEMPTS_MAX => {}
                done => return done.map(|()| tag),
            }
        }
    }

    /// Notes who it is that defines something now.
    fn begin_as(&self) -> Acting {
        let acting = self.settings().acting();
        self.store.set_creator(acting.oid);
        acting
    }

    /// Runs a statement about roles, privileges or owners: in the block, or in a transaction of its
    /// own.
    async fn run_privileges(
        &self,
        mut turn: Turn,
        statement: PrivilegeStatement,
    ) -> Result<Outcome> {
        let tag = statement.tag();
        turn.define(tag)?;
        let mut attempts = 0;
        let warning = loop {
            if turn.is_in_block() {
                break statement.run(&self.store, self.settings())?;
            }
            attempts += 1;
            let store = self.store.for_session();
            let mut own = self.transactions.alone_with(store.clone());
            own.begin_defining()?;
            let warning = statement.run(&store, self.settings())?;
            match dml::apply(&self.planner, &mut own, Vec::new(), Arc::default()).await {
                // Somebody else changed roles or privileges in between.
                Err(error)
                    if error.kind() == ErrorKind::SerializationFailure
                        && attempts < ALTER_ATTEMPTS_MAX => {}
                done => break done.map(|()| warning)?,
            }
        };
        turn.done(false);
        Ok(Outcome::command(tag.to_owned(), warning))
    }

    /// Makes a table of a query.
    async fn create_as(&self, turn: Turn, table_as: TableAs, io: StatementIo) -> Result<Outcome> {
        self.settings().acting().require_create(&self.store)?;
        let (mut turn, store, planner) = self.defining(turn, "CREATE TABLE AS")?;
        let progress = io.progress.unwrap_or_default();
        let tag = table_as.run(&store, &planner, &mut turn, progress).await?;
        finish(turn, tag)
    }

    /// Opens a transaction block, unless one is open, for statements that a client sent together:
    /// they are one transaction. [`Session::end_implicit`] ends it, unless one of them was BEGIN.
    pub fn begin_implicit(&self) {
        self.transactions.begin_implicit();
    }

    /// Commits what [`Session::begin_implicit`] began, or rolls it back if a statement failed.
    ///
    /// # Errors
    /// 40001 and others of committing.
    pub async fn end_implicit(&self) -> Result<()> {
        transaction::end_implicit(&self.transactions).await
    }

    /// Has the open block fail, if there is one, for a reason outside of its statements.
    pub fn fail_block(&self) {
        self.transactions.fail();
    }

    /// Returns the columns of the cursor of that name that DECLARE opened.
    pub fn cursor_columns(&self, name: &str) -> Option<SchemaRef> {
        self.transactions.cursors().schema(name)
    }

    /// Returns the prepared statement of that name.
    pub fn prepared(&self, name: &str) -> Option<Statement> {
        self.prepared.get(name)
    }

    /// Keeps a prepared statement under a name, as PREPARE does.
    ///
    /// # Errors
    /// 42P05 if the name is in use.
    pub fn keep_prepared(&self, name: &str, statement: Statement) -> Result<()> {
        self.prepared.keep(name.to_owned(), statement)
    }

    /// Forgets the prepared statement of that name, if there is one.
    pub fn forget_prepared(&self, name: &str) {
        self.prepared.forget(name);
    }

    /// Returns what a statement copies to or from the client; `None` if it does not.
    ///
    /// # Errors
    /// Those of the statement as far as they can be told before rows flow.
    pub fn client_copy(&self, sql: &str) -> Result<Option<ClientCopy>> {
        let copy = parse_copy(sql).map_err(|error| error.located_in(sql))?;
        copy.map_or(Ok(None), |copy| copy.of_client(&self.store, self.settings().acting()))
    }

    /// Returns a number that is another one when a statement may mean other tables, views or
    /// columns than before.
    pub fn definitions_version(&self) -> u64 {
        self.store.definitions_version()
    }

    /// The settings of the session.
    pub(crate) fn settings(&self) -> &Settings {
        self.transactions.settings()
    }

    /// Tells whether a transaction block is open.
    pub fn transaction_status(&self) -> TransactionStatus {
        self.transactions.status()
    }

    /// Returns the names of tables and, for each, its columns, for completion.
    pub fn completions(&self) -> Vec<(String, Vec<String>)> {
        self.store
            .tables()
            .iter()
            .filter(|table| table.schema().name != SEQUENCES_TABLE)
            .map(|table| {
                let schema = table.schema();
                let columns = schema.columns.iter().map(|column| column.name.clone()).collect();
                (schema.name.clone(), columns)
            })
            .collect()
    }

    /// Runs statements that define or drop tables, indexes, views and sequences; `None` if it is
    /// another one.
    async fn define(&self, turn: &mut Turn, statement: &SqlStatement) -> Result<Option<String>> {
        let defined = self.define_once(turn, statement).await;
        defined.map_err(|error| {
            let is_raced = is_raced(&self.store, statement, &error);
            if is_raced { error.of_definition_change() } else { error }
        })
    }

    async fn define_once(
        &self,
        turn: &mut Turn,
        statement: &SqlStatement,
    ) -> Result<Option<String>> {
        require_definition(self.settings().acting(), &self.store, statement)?;
        match statement {
            SqlStatement::CreateIndex(create) => {
                turn.define("CREATE INDEX")?;
                indexes::create_index(&self.store, self.settings().notices(), create)
                    .await
                    .map(Some)
            }
            SqlStatement::Drop { object_type: ObjectType::Index, if_exists, names, .. } => {
                turn.define("DROP INDEX")?;
                let notices = self.settings().notices();
                indexes::drop_indexes(&self.store, notices, names, *if_exists).map(Some)
            }
            SqlStatement::CreateTable(create) => {
                turn.define("CREATE TABLE")?;
                ddl::create_table(&self.store, &self.planner, create).map(Some)
            }
            SqlStatement::Drop { object_type, if_exists, names, cascade, .. } => {
                turn.define("DROP")?;
                let (store, notices) = (&self.store, self.settings().notices());
                let how = (*if_exists, *cascade);
                match object_type {
                    ObjectType::View => drop_views(store, notices, names, how),
                    ObjectType::Sequence => drop_sequences(store, notices, names, how),
                    _ => ddl::drop_tables(store, notices, object_type, names, how),
                }
                .map(Some)
            }
            SqlStatement::AlterTable(alter) => {
                turn.define("ALTER TABLE")?;
                alter_table(&self.store, &self.planner, turn, alter).await.map(Some)
            }
            SqlStatement::CreateView(create) => {
                turn.define("CREATE VIEW")?;
                let moment = turn.moment(false)?;
                create_view(&self.store, &self.planner, &moment, create).await.map(Some)
            }
            SqlStatement::CreateSequence { .. } => {
                // That which is permanent was read before.
                Err(Error::not_supported("CREATE TEMPORARY SEQUENCE"))
            }
            _ => Ok(None),
        }
    }

    async fn copy(
        &self,
        turn: &mut Turn,
        copy: &CopyStatement,
        sql: &str,
        io: StatementIo,
    ) -> Result<u64> {
        let progress = io.progress.unwrap_or_default();
        copy.require_client(self.settings().acting())?;
        if copy.is_from {
            turn.require_writable("COPY FROM")?;
            let (store, planner) = (&self.store, &self.planner);
            return copy_from(store, planner, turn, copy, io.copy_in, progress, self.threads).await;
        }
        let stream = self.start_within(turn, Some(sql), copy.query()?).await?;
        copy_to(copy, stream, io.copy_out, &progress).await
    }
}

fn is_definition_change(outcome: &Result<Outcome>) -> bool {
    outcome.as_ref().is_err_and(Error::is_definition_change)
}

/// Refuses what PostgreSQL does not run in a block either.
fn require_no_block(turn: &Turn, what: &str) -> Result<()> {
    match turn.is_in_block() {
        false => Ok(()),
        true => {
            let message = format!("{what} cannot run inside a transaction block");
            Err(Error::transaction_state("25001", message))
        }
    }
}

/// Refuses what is a transaction of its own inside a block, and changes in a read-only one.
fn require_definable(turn: &mut Turn, what: &str) -> Result<()> {
    turn.require_sound()?;
    turn.require_alone(what)?;
    turn.require_writable(what)
}

fn text_candidate<'a>(sql: &'a str, scanned: &'a Scanned<'a>) -> Candidate<'a> {
    Candidate { sql, scanned, key: &scanned.key, parameters: &[], types: &[] }
}

/// Ends the turn of a statement that may have been a short one.
fn end_short(turn: Turn, outcome: Result<Option<Outcome>>) -> Option<Result<Outcome>> {
    match outcome {
        Ok(outcome) => {
            turn.done(false);
            outcome.map(Ok)
        }
        Err(error) => Some(Err(error)),
    }
}

fn finish(turn: Turn, tag: String) -> Result<Outcome> {
    turn.done(false);
    Ok(Outcome::command(tag, None))
}
