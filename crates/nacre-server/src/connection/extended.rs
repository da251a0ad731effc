//! The extended protocol: statements are parsed, bound and executed by messages of their own.
//!
//! Clients describe a portal right before they execute it. It is executed then already, so that a
//! query is planned once; what it answers waits for Execute.
//!
//! Statements between two Syncs are one transaction. For a single one, followed by Sync, that is
//! the transaction it is by itself.

use std::sync::{Arc, Mutex, PoisonError};

use nacre_sql::datafusion::arrow::datatypes::SchemaRef;
use nacre_sql::{
    Error, ErrorKind, Outcome, ParameterType, PgType, Statement, TransactionStatus,
    split_statements,
};
use pgwire::messages::data::{NoData, ParameterDescription};
use pgwire::messages::extendedquery::{
    Bind, BindComplete, Close, CloseComplete, Describe, Execute, Parse, ParseComplete,
    PortalSuspended, TARGET_TYPE_BYTE_STATEMENT,
};
use pgwire::messages::response::EmptyQueryResponse;

use super::logging::Subject;
use super::portal::{Portal, Running, State};
use super::serving::{Connection, End, Failure};
use super::simple::{statement_io, verb};
use super::work::Work;
use crate::report::{self, Source};
use crate::values::rows::description;
use crate::values::{formats, parameters};
use crate::wire::frontend::Message;

/// A prepared statement and what the client was told of it.
pub(super) struct Prepared {
    /// `None` if there is no statement in the query.
    pub(super) statement: Option<Statement>,
    pub(super) verb: String,
    told: Mutex<Option<Told>>,
}

/// The columns that a client was told of.
struct Told {
    /// Of what there was then.
    definitions: u64,
    /// Their types; none for a statement without rows.
    types: Vec<u32>,
}

/// Returns the types of the columns that a statement answers.
fn types_of(schema: Option<&SchemaRef>) -> Vec<u32> {
    let fields = schema.into_iter().flat_map(|schema| schema.fields().iter());
    fields.map(|field| PgType::of_field(field).1).collect()
}

impl Prepared {
    fn new(statement: Statement) -> Self {
        let verb = verb(statement.sql());
        Self { statement: Some(statement), verb, told: Mutex::default() }
    }

    /// Notes what a client is told of the columns.
    fn tell(&self, definitions: u64, types: Vec<u32>) {
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        *told = Some(Told { definitions, types });
    }

    /// The types of which the client was told, if they may be others now.
    fn may_differ(&self, definitions: u64) -> Option<Vec<u32>> {
        let told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        let told = told.as_ref().filter(|told| told.definitions != definitions);
        told.map(|told| told.types.clone())
    }

    /// Refuses an answer of other types than the client was told of, and would read them as.
    fn require_told(&self, schema: &SchemaRef) -> Result<(), Error> {
        let told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        match told.as_ref() {
            Some(told) if told.types != types_of(Some(schema)) => Err(changed_result_type()),
            _ => Ok(()),
        }
    }

    /// Types of the parameters.
    fn types(&self) -> &[ParameterType] {
        self.statement.as_ref().map_or(&[], Statement::parameter_types)
    }
}

fn changed_result_type() -> Error {
    let message = "cached plan must not change result type";
    // By this name drivers know that they may prepare the statement anew.
    Error::new(ErrorKind::NotSupported, message).with_routine("RevalidateCachedQuery")
}

fn is_unknown(oid: u32) -> bool {
    oid == 0 || PgType::with_oid(oid).is_some_and(|found| found.name == "unknown")
}

impl Connection {
    /// Answers a message of the extended protocol; after an error the next ones are passed over.
    pub(super) async fn extended(&mut self, message: Message) -> Result<(), End> {
        let mut subject = Subject::of(&message);
        let began = self.stopwatch();
        self.start_clock();
        let answered = match message {
            Message::Parse(parse) => self.parse(parse).await,
            Message::Bind(mut bind) => {
                let bound = self.bind(&mut bind);
                subject = Subject::Statement(bind.statement_name);
                bound
            }
            Message::Describe(describe) => self.describe(describe).await,
            Message::Execute(execute) => self.execute(execute).await,
            Message::Close(close) => self.close(close),
            Message::NotUtf8 { error, .. } => Err(report::not_utf8(error).into()),
            _ => Err(Failure::Connection(End::protocol_violation("unexpected message"))),
        };
        if began.is_some() {
            self.log_if_slow(began, self.text_of(&subject));
        }
        match answered {
            Ok(()) => Ok(()),
            Err(Failure::Statement(error)) => {
                self.session.fail_block();
                self.log_failure(&error, self.text_of(&subject));
                let source = subject.query().map(|query| {
                    let offset = split_statements(query).first().map_or(0, |first| first.offset);
                    Source { query, offset }
                });
                self.out.put(&report::error(&error, source));
                self.is_skipping = true;
                Ok(())
            }
            Err(Failure::Connection(end)) => Err(end),
        }
    }

    async fn parse(&mut self, parse: Parse) -> Result<(), Failure> {
        let statements = split_statements(&parse.query);
        if statements.len() > 1 {
            let message = "cannot insert multiple commands into a prepared statement";
            return Err(Error::new(ErrorKind::Syntax, message).into());
        }
        let prepared = match statements.first() {
            None => Prepared { statement: None, verb: String::new(), told: Mutex::default() },
            Some(statement) => {
                self.require_sound(&verb(statement.text))?;
                let types =
                    parse.type_oids.iter().map(|oid| Some(*oid).filter(|o| !is_unknown(*o)));
                let types: Vec<Option<u32>> = types.collect();
                self.require_unused(parse.name.as_deref())?;
                self.keep_rows().await?;
                // In the statement's future, whose stack is large enough for deep expressions.
                let (session, text) = (Arc::clone(&self.session), statement.text.to_owned());
                let prepare = async move { session.prepare_and_plan(&text, &types).await };
                Prepared::new(self.finish(prepare).await?)
            }
        };
        match parse.name {
            None => self.unnamed = Some(Arc::new(prepared)),
            Some(name) => {
                if let Some(statement) = &prepared.statement {
                    self.session.keep_prepared(&name, statement.clone())?;
                }
                self.named.insert(name, Arc::new(prepared));
            }
        }
        self.out.put(&ParseComplete::new());
        Ok(())
    }

    /// Refuses a name that a prepared statement has.
    fn require_unused(&self, name: Option<&str>) -> Result<(), Error> {
        match name.filter(|name| self.session.prepared(name).is_some()) {
            None => Ok(()),
            Some(name) => {
                let message = format!("prepared statement \"{name}\" already exists");
                Err(Error::new(ErrorKind::DuplicateObject, message).with_code("42P05"))
            }
        }
    }

    /// Refuses statements in a block that failed, unless they end it.
    fn require_sound(&self, verb: &str) -> Result<(), Error> {
        let ends = matches!(verb, "COMMIT" | "END" | "ROLLBACK" | "ABORT");
        if ends || self.session.transaction_status() != TransactionStatus::Failed {
            return Ok(());
        }
        let message =
            "current transaction is aborted, commands ignored until end of transaction block";
        Err(Error::new(ErrorKind::TransactionState, message).with_code("25P02"))
    }

    /// Returns the prepared statement of that name, whoever prepared it.
    fn prepared(&mut self, name: Option<&str>) -> Result<Arc<Prepared>, Error> {
        let Some(name) = name else {
            return self.unnamed.clone().ok_or_else(|| {
                let message = "unnamed prepared statement does not exist";
                Error::new(ErrorKind::UndefinedObject, message).with_code("26000")
            });
        };
        let known = self.named.get(name);
        let current = self.session.prepared(name);
        if let Some(known) = known {
            let is_current = match (&known.statement, &current) {
                (None, None) => true,
                (Some(known), Some(current)) => known.is_same(current),
                _ => false,
            };
            if is_current {
                return Ok(Arc::clone(known));
            }
        }
        match current {
            Some(statement) => {
                let prepared = Arc::new(Prepared::new(statement));
                self.named.insert(name.to_owned(), Arc::clone(&prepared));
                Ok(prepared)
            }
            None => {
                self.named.remove(name);
                let message = format!("prepared statement \"{name}\" does not exist");
                Err(Error::new(ErrorKind::UndefinedObject, message).with_code("26000"))
            }
        }
    }

    fn bind(&mut self, bind: &mut Bind) -> Result<(), Failure> {
        let prepared = self.prepared(bind.statement_name.as_deref())?;
        self.require_sound(&prepared.verb)?;
        let name = bind.portal_name.take().unwrap_or_default();
        if !name.is_empty() && self.portals.contains_key(&name) {
            let message = format!("cursor \"{name}\" already exists");
            return Err(Error::new(ErrorKind::DuplicateObject, message).with_code("42P03").into());
        }
        let values = bound_values(&prepared, bind)?;
        let format_codes = std::mem::take(&mut bind.result_column_format_codes);
        let portal = Portal { prepared, values, format_codes, state: State::Bound };
        self.portals.insert(name, portal);
        self.out.put(&BindComplete::new());
        Ok(())
    }

    async fn describe(&mut self, describe: Describe) -> Result<(), Failure> {
        if describe.target_type == TARGET_TYPE_BYTE_STATEMENT {
            return self.describe_statement(describe.name.as_deref()).await;
        }
        let name = describe.name.unwrap_or_default();
        if !self.portals.contains_key(&name)
            && let Some(schema) = self.session.cursor_columns(&name)
        {
            // A cursor that DECLARE opened is a portal, too.
            self.out.put(&description(&schema, &[]));
            return Ok(());
        }
        let portal = self.portal(&name)?;
        if matches!(portal.state, State::Bound) && self.is_executed_next(&name).await? {
            self.start(&name).await?;
        }
        let portal = self.portal(&name)?;
        match &portal.state {
            State::Running(running) => {
                let message = description(&running.schema, &running.formats);
                self.out.put(&message);
                return Ok(());
            }
            State::Done { .. } | State::Over => {
                self.out.put(&NoData::new());
                return Ok(());
            }
            State::Bound => {}
        }
        let (prepared, codes) = (Arc::clone(&portal.prepared), portal.format_codes.clone());
        match self.columns(&prepared).await? {
            None => self.out.put(&NoData::new()),
            Some(schema) => {
                let formats = formats(&codes, schema.fields().len())
                    .map_err(|message| protocol_error(&message))?;
                self.out.put(&description(&schema, &formats));
            }
        }
        Ok(())
    }

    async fn describe_statement(&mut self, name: Option<&str>) -> Result<(), Failure> {
        let prepared = self.prepared(name)?;
        self.require_sound(&prepared.verb)?;
        let definitions = self.session.definitions_version();
        let columns = self.columns(&prepared).await?;
        // The columns of FETCH are those of the cursor that is open when it runs.
        if prepared.verb != "FETCH" {
            prepared.tell(definitions, types_of(columns.as_ref()));
        }
        let types = prepared.types().iter().map(|one| one.oid).collect();
        self.out.put(&ParameterDescription::new(types));
        match columns {
            None => self.out.put(&NoData::new()),
            Some(schema) => self.out.put(&description(&schema, &[])),
        }
        Ok(())
    }

    /// Returns the columns that a statement will answer; `None` if none.
    async fn columns(&mut self, prepared: &Prepared) -> Result<Option<SchemaRef>, Failure> {
        let Some(statement) = prepared.statement.clone() else { return Ok(None) };
        self.keep_rows().await?;
        let session = Arc::clone(&self.session);
        self.finish(async move { statement.columns(&session).await }).await
    }

    /// Whether the next message executes the portal; waits for as much of it as says so.
    async fn is_executed_next(&mut self, portal: &str) -> Result<bool, Failure> {
        let is_copy = self.portal(portal)?.prepared.verb == "COPY";
        if is_copy {
            return Ok(false);
        }
        loop {
            match self.frames.coming()? {
                (Some(b'E'), Some(_)) => return Ok(self.frames.first_text() == portal.as_bytes()),
                (None | Some(b'E'), _) => self.wait_for_bytes().await?,
                _ => return Ok(false),
            }
        }
    }

    /// Makes what runs next a part of one transaction with what follows before Sync.
    async fn join_pipeline(&mut self, messages_before: usize) -> Result<(), Failure> {
        if self.session.transaction_status() != TransactionStatus::Idle {
            return Ok(());
        }
        loop {
            let (first, second) = self.frames.coming()?;
            match if messages_before == 0 { first } else { second } {
                Some(b'S') => return Ok(()),
                Some(_) => {
                    self.session.begin_implicit();
                    return Ok(());
                }
                None => self.wait_for_bytes().await?,
            }
        }
    }

    fn portal(&mut self, name: &str) -> Result<&mut Portal, Error> {
        self.portals.get_mut(name).ok_or_else(|| {
            let message = format!("portal \"{name}\" does not exist");
            Error::new(ErrorKind::UndefinedObject, message).with_code("34000")
        })
    }

    /// Runs a portal that is to be described; Execute comes next, and then what says whether this
    /// is a transaction by itself.
    async fn start(&mut self, name: &str) -> Result<(), Failure> {
        self.join_pipeline(1).await?;
        self.run_portal(name).await
    }

    /// Runs the statement of a portal as far as its first row.
    async fn run_portal(&mut self, name: &str) -> Result<(), Failure> {
        let prepared = Arc::clone(&self.portal(name)?.prepared);
        self.begin_statement(prepared.statement.as_ref().map_or("", Statement::sql));
        self.keep_rows().await?;
        self.require_as_told(&prepared).await?;
        let portal = self.portal(name)?;
        let values = std::mem::take(&mut portal.values);
        let Some(statement) = &prepared.statement else { return Ok(()) };
        let outcome = match self.session.execute_prepared_short(statement, &values) {
            Some(outcome) => outcome?,
            None => {
                let session = Arc::clone(&self.session);
                let work = Work { deadline: self.deadline, ..Work::default() };
                let io = statement_io(&work.progress);
                let run = session.execute_prepared(statement, &values, io);
                self.finish_work(run, work).await?
            }
        };
        let portal = self.portal(name)?;
        portal.state = match outcome {
            Outcome::Command { tag, notices } => State::Done { tag, notices },
            Outcome::Rows { schema, stream, tag } => {
                prepared.require_told(&schema)?;
                let verb = prepared.verb.clone();
                let mut running = Running::new(schema, stream, tag, verb, Vec::new());
                running.set_formats(&portal.format_codes)?;
                State::Running(Box::new(running))
            }
        };
        Ok(())
    }

    /// Refuses to run a statement that answers other columns than the client was told of, and would
    /// read them as: a table was altered since.
    async fn require_as_told(&mut self, prepared: &Prepared) -> Result<(), Failure> {
        let definitions = self.session.definitions_version();
        let Some(told) = prepared.may_differ(definitions) else { return Ok(()) };
        let columns = self.columns(prepared).await?;
        if types_of(columns.as_ref()) != told {
            return Err(changed_result_type().into());
        }
        prepared.tell(definitions, told);
        Ok(())
    }

    async fn execute(&mut self, execute: Execute) -> Result<(), Failure> {
        let name = execute.name.unwrap_or_default();
        let portal = self.portal(&name)?;
        if portal.prepared.statement.is_none() {
            self.out.put(&EmptyQueryResponse::new());
            return Ok(());
        }
        if matches!(portal.state, State::Bound) {
            self.join_pipeline(0).await?;
            if let Some(tag) = self.copy_portal(&name).await? {
                self.complete(tag);
                return Ok(());
            }
            self.run_portal(&name).await?;
        }
        let portal = self.portal(&name)?;
        match std::mem::replace(&mut portal.state, State::Over) {
            State::Done { tag, notices } => {
                self.tell(&notices);
                self.complete(tag);
                Ok(())
            }
            State::Running(mut running) => {
                let rows_max = usize::try_from(execute.max_rows).ok().filter(|rows| *rows > 0);
                if self.send_rows(&mut running, rows_max).await? {
                    self.complete(running.tag());
                } else {
                    running.forget_sent();
                    self.out.put(&PortalSuspended::new());
                }
                self.portal(&name)?.state = State::Running(running);
                Ok(())
            }
            State::Bound | State::Over => {
                let message = format!("portal \"{name}\" cannot be run");
                let error = Error::new(ErrorKind::InvalidStatement, message).with_code("55000");
                Err(error.into())
            }
        }
    }

    /// Runs a portal that moves rows between client and server; `None` if it is none.
    async fn copy_portal(&mut self, name: &str) -> Result<Option<String>, Failure> {
        let prepared = Arc::clone(&self.portal(name)?.prepared);
        let Some(statement) = prepared.statement.as_ref().filter(|_| prepared.verb == "COPY")
        else {
            return Ok(None);
        };
        let Some(copy) = self.session.client_copy(statement.sql())? else { return Ok(None) };
        self.begin_statement(statement.sql());
        self.keep_rows().await?;
        let tag = self.client_copy(statement.sql(), copy).await?;
        self.portal(name)?.state = State::Over;
        Ok(Some(tag))
    }

    fn close(&mut self, close: Close) -> Result<(), Failure> {
        let name = close.name.unwrap_or_default();
        if close.target_type != TARGET_TYPE_BYTE_STATEMENT {
            self.portals.remove(&name);
        } else if name.is_empty() {
            self.unnamed = None;
        } else {
            self.named.remove(&name);
            self.session.forget_prepared(&name);
        }
        self.out.put(&CloseComplete::new());
        Ok(())
    }
}

/// Reads the values of a Bind.
fn bound_values(prepared: &Prepared, bind: &Bind) -> Result<Vec<nacre_sql::Value>, Error> {
    let Some(statement) = &prepared.statement else { return Ok(Vec::new()) };
    let (given, expected) = (bind.parameters.len(), prepared.types().len());
    if given != expected {
        let name = bind.statement_name.as_deref().unwrap_or_default();
        let message = format!(
            "bind message supplies {given} parameters, but prepared statement \"{name}\" requires \
             {expected}"
        );
        return Err(protocol_error(&message));
    }
    let formats =
        formats(&bind.parameter_format_codes, given).map_err(|message| protocol_error(&message))?;
    let value = |(index, bytes): (usize, &Option<bytes::Bytes>)| {
        let kind = prepared.types()[index];
        parameters::value(statement, index, kind, bytes.as_deref(), formats[index])
    };
    bind.parameters.iter().enumerate().map(value).collect()
}

fn protocol_error(message: &str) -> Error {
    Error::new(ErrorKind::InvalidStatement, message).with_code("08P01")
}
