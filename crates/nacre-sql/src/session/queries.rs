//! Queries of a session: each runs whole in Nacre's own engine or in DataFusion.

use std::sync::Arc;

use datafusion::arrow::datatypes::SchemaRef;
use datafusion::execution::SendableRecordBatchStream;
use datafusion::sql::parser::Statement as ParsedStatement;
use datafusion::sql::sqlparser::ast::Statement as SqlStatement;
use nacre_store::Value;

use super::Session;
use crate::engine::{
    CompiledQuery, EngineOffer, OfferedStatement, ParsedQuery, QueryParameters, compile,
    compile_at_once, require_meaning,
};
use crate::error::{Error, ErrorKind, Result};
use crate::explain;
use crate::planning::aside;
use crate::prepared::{EngineDecision, ParameterType, Statement};
use crate::settings::EngineChoice;
use crate::statement_io::Outcome;
use crate::transaction::{Moment, Turn, tie};

/// What became of a statement that was offered to Nacre's own engine.
pub(super) enum CompiledRun {
    Started(Outcome),
    /// The statement goes on with its turn in another way; why it was not taken, as
    /// [`EngineOffer::Left`] says.
    NotTaken(Turn, Option<Error>),
}

/// SQLSTATEs of errors by which the other engine says that it does not know what it was asked for.
const UNKNOWING_CODES: [&str; 3] = ["42000", "22000", "42883"];

/// Returns the error of a statement that neither engine can run: what is missing in Nacre's own
/// one, unless the other one says what is wrong with the statement.
pub(super) fn of_neither_engine(error: Error, left: Option<Error>) -> Error {
    match left {
        Some(left) if UNKNOWING_CODES.contains(&error.sqlstate()) => left,
        _ => error,
    }
}

/// Takes the place from an error of a statement of PREPARE: it is one in the statement as it was
/// printed, not in the client's text.
pub(super) fn of_printed_text(error: Error) -> Error {
    error.with_position(None)
}

impl Session {
    /// Starts a query, or EXPLAIN of one, in Nacre's own engine if that supports all of it. A short
    /// statement is not taken: its numbers have DataFusion's types.
    pub(super) async fn run_compiled(
        &self,
        turn: Turn,
        sql: &str,
        short_key: Option<&str>,
    ) -> Result<CompiledRun> {
        if !self.may_compile(short_key) {
            return Ok(CompiledRun::NotTaken(turn, None));
        }
        match OfferedStatement::of(sql) {
            Some(OfferedStatement::Answered(parsed)) => {
                self.start_compiled(turn, &parsed, sql, (&[], &[])).await
            }
            Some(OfferedStatement::Kept(parsed)) => self.check_kept(turn, &parsed, sql),
            None => Ok(CompiledRun::NotTaken(turn, None)),
        }
    }

    /// Refuses a query that a statement of the other engine runs, if PostgreSQL refuses it.
    fn check_kept(&self, mut turn: Turn, parsed: &ParsedQuery, sql: &str) -> Result<CompiledRun> {
        turn.require_sound()?;
        if !parsed.is_long() {
            let moment = turn.moment(true)?;
            require_meaning(&self.planner, &moment, parsed, sql)?;
        }
        Ok(CompiledRun::NotTaken(turn, None))
    }

    /// As [`Session::run_compiled`], for a prepared statement with the values of its parameters.
    pub(super) async fn run_compiled_statement(
        &self,
        mut turn: Turn,
        statement: &Statement,
        values: &[Value],
    ) -> Result<CompiledRun> {
        if !self.may_compile(statement.short_key()) {
            return Ok(CompiledRun::NotTaken(turn, None));
        }
        let Some(parsed) = statement.query() else { return Ok(CompiledRun::NotTaken(turn, None)) };
        turn.require_sound()?;
        // Describing it would take the session's thread.
        if parsed.is_long() {
            return Ok(CompiledRun::NotTaken(turn, None));
        }
        if !values.is_empty() && !self.is_taken(&mut turn, statement)? {
            return Ok(CompiledRun::NotTaken(turn, None));
        }
        let parameters = (statement.parameter_types(), values);
        self.start_compiled(turn, parsed, statement.sql(), parameters).await
    }

    fn may_compile(&self, short_key: Option<&str>) -> bool {
        self.settings().engine() != EngineChoice::DataFusion
            && !self.short.knows(&self.store, short_key)
    }

    async fn start_compiled(
        &self,
        mut turn: Turn,
        parsed: &ParsedQuery,
        sql: &str,
        parameters: (&[ParameterType], &[Value]),
    ) -> Result<CompiledRun> {
        turn.require_sound()?;
        self.begin_as();
        let moment = turn.moment(false)?;
        let compiled = self.compile(&moment, parsed, sql, parameters).await?;
        let compiled = match compiled {
            EngineOffer::Taken(compiled) => compiled,
            EngineOffer::Left(why) => return Ok(CompiledRun::NotTaken(turn, why)),
        };
        let tag = compiled.tag();
        let started = compiled.start(&self.engine, &moment).await;
        // A block may go on without a statement that failed, whose error told of what it read.
        turn.log(&moment)?;
        let stream = tie(turn, started?)?;
        Ok(CompiledRun::Started(Outcome::Rows { schema: stream.schema(), stream, tag }))
    }

    /// Compiles a query for its parameters' types and values: on this thread if that is done at
    /// once, else on one of its own, which ends with the statement.
    async fn compile(
        &self,
        moment: &Arc<Moment>,
        parsed: &ParsedQuery,
        sql: &str,
        (types, values): (&[ParameterType], &[Value]),
    ) -> Result<EngineOffer<CompiledQuery>> {
        if !parsed.is_long() {
            let parameters = QueryParameters::Given(types, values);
            let compiled = compile_at_once(&self.planner, moment, parsed, sql, parameters);
            if let Ok(compiled) = compiled {
                return compiled;
            }
        }
        let (planner, moment) = (self.planner.clone(), Arc::clone(moment));
        let (parsed, sql) = (parsed.clone(), sql.to_owned());
        let (types, values) = (types.to_vec(), values.to_vec());
        let compile = async move {
            let parameters = QueryParameters::Given(&types, &values);
            compile(&planner, &moment, &parsed, &sql, parameters)
        };
        aside(true, compile).await
    }

    /// Whether the engine takes a statement with parameters, as it was described.
    fn is_taken(&self, turn: &mut Turn, statement: &Statement) -> Result<bool> {
        let (definitions, choice) = (self.definitions_version(), self.settings().engine());
        let known = statement.decision();
        let known = known.filter(|one| one.definitions == definitions && one.choice == choice);
        if let Some(known) = known {
            return Ok(known.is_taken);
        }
        let moment = turn.moment(true)?;
        match self.compile_samples(&moment, statement, &told_types(statement)) {
            Ok(compiled) => Ok(compiled.is_some()),
            // The values may be fine, or the error comes again.
            Err(_) => Ok(true),
        }
    }

    /// Compiles a statement for values that stand for those of any execution, and notes whether
    /// that can be done.
    fn compile_samples(
        &self,
        moment: &Moment,
        statement: &Statement,
        types: &[Option<u32>],
    ) -> Result<Option<CompiledQuery>> {
        let (definitions, choice) = (self.definitions_version(), self.settings().engine());
        if choice == EngineChoice::DataFusion {
            return Ok(None);
        }
        let Some(parsed) = statement.query() else { return Ok(None) };
        if parsed.is_long() {
            return Ok(None);
        }
        let parameters = QueryParameters::Told(types);
        let compiled = compile(&self.planner, moment, parsed, statement.sql(), parameters)?.taken();
        let is_taken = compiled.is_some();
        statement.decide(EngineDecision { definitions, choice, is_taken });
        Ok(compiled)
    }

    /// Returns the columns of the answer of a statement that [`Session::run_compiled`] takes.
    pub(crate) async fn describe_compiled(
        &self,
        statement: &Statement,
        nulls: &[Value],
    ) -> Result<Option<SchemaRef>> {
        if statement.query().is_none() {
            return Ok(None);
        }
        let mut turn = self.transactions.turn().await;
        if self.is_short(&mut turn, statement, nulls).await? {
            turn.done(false);
            return Ok(None);
        }
        let moment = turn.moment(true)?;
        let compiled = self.compile_samples(&moment, statement, &told_types(statement));
        // Privileges are checked when it runs.
        let has_failed = |error: &Error| error.kind() != ErrorKind::NotPermitted;
        turn.done(compiled.as_ref().is_err_and(has_failed));
        Ok(compiled?.map(|compiled| compiled.schema()))
    }

    async fn is_short(
        &self,
        turn: &mut Turn,
        statement: &Statement,
        nulls: &[Value],
    ) -> Result<bool> {
        match statement.candidate(nulls) {
            Some(candidate) => {
                self.short.is_short(&self.store, &self.planner, turn, candidate).await
            }
            None => Ok(false),
        }
    }

    /// Gives the parameters of a statement that Nacre's own engine takes the types that it infers,
    /// where none are `declared`. A short statement keeps its own.
    ///
    /// # Errors
    /// What PostgreSQL refuses, whatever types the statement was given.
    pub(super) async fn with_inferred_types(
        &self,
        statement: Statement,
        declared: &[Option<u32>],
    ) -> Result<Statement> {
        let types = statement.parameter_types();
        if types.is_empty() || statement.query().is_none() {
            return Ok(statement);
        }
        let nulls = vec![Value::Null; types.len()];
        let mut turn = self.transactions.turn().await;
        // An error is that of describing or running it.
        let is_short = self.is_short(&mut turn, &statement, &nulls).await;
        let moment = turn.moment(true);
        let (Ok(false), Ok(moment)) = (is_short, moment) else {
            turn.done(false);
            return Ok(statement);
        };
        let compiled = self.compile_samples(&moment, &statement, declared);
        // Privileges are checked when it runs; it may be supported with other types.
        let is_later = |error: &Error| {
            matches!(error.kind(), ErrorKind::NotPermitted | ErrorKind::NotSupported)
        };
        turn.done(compiled.as_ref().is_err_and(|error| !is_later(error)));
        let compiled = match compiled {
            Ok(Some(compiled)) => compiled,
            Ok(None) => return Ok(statement),
            Err(error) if is_later(&error) => return Ok(statement),
            Err(error) => return Err(error),
        };
        let inferred = compiled.parameter_types();
        if types.iter().map(|one| one.oid).eq(inferred.iter().copied()) {
            return Ok(statement);
        }
        let inferred: Vec<Option<u32>> = inferred.iter().copied().map(Some).collect();
        Ok(statement.with_types(&self.store, &inferred).unwrap_or(statement))
    }

    /// Starts the query of COPY or DECLARE, in Nacre's own engine if that supports all of it; `sql`
    /// is the statement, if it has no parameters.
    pub(super) async fn start_within(
        &self,
        turn: &mut Turn,
        sql: Option<&str>,
        query: ParsedStatement,
    ) -> Result<SendableRecordBatchStream> {
        let moment = turn.moment(false)?;
        let sql = sql.filter(|_| self.settings().engine() != EngineChoice::DataFusion);
        let parsed = sql.and_then(|sql| Some((ParsedQuery::within(sql)?, sql)));
        let compiled = match parsed {
            Some((parsed, sql)) => self.compile(&moment, &parsed, sql, (&[], &[])).await?.taken(),
            None => None,
        };
        let stream = match compiled {
            Some(compiled) => compiled.start(&self.engine, &moment).await?,
            None => self.planner.start(&moment, Vec::new(), query).await?,
        };
        turn.log(&moment)?;
        Ok(stream)
    }

    /// Starts a statement that only reads, in DataFusion.
    pub(super) async fn read(&self, mut turn: Turn, statement: ParsedStatement) -> Result<Outcome> {
        let moment = turn.moment(false)?;
        let is_query = is_query(&statement);
        if is_query && self.settings().engine() == EngineChoice::Nacre {
            return Err(Error::not_supported("this query in Nacre's own engine")
                .with_hint("SET nacre.engine = auto runs it with the other."));
        }
        let tag = explain::form(&statement).map(|_| explain::TAG.to_owned());
        let started = self.planner.start(&moment, Vec::new(), statement).await;
        turn.log(&moment)?;
        let stream = started?;
        if is_query {
            self.engine.count_datafusion();
        }
        let stream = tie(turn, stream)?;
        Ok(Outcome::Rows { schema: stream.schema(), stream, tag })
    }
}

fn is_query(statement: &ParsedStatement) -> bool {
    let ParsedStatement::Statement(inner) = statement else { return false };
    matches!(inner.as_ref(), SqlStatement::Query(_))
}

/// Returns the types that a client was told.
fn told_types(statement: &Statement) -> Vec<Option<u32>> {
    statement.parameter_types().iter().map(|one| Some(one.oid)).collect()
}
