//! The simple protocol: a text of any number of statements, answered in text.

use std::sync::Arc;

use nacre_sql::{
    Notice, Outcome, Progress, SourceStatement, StatementIo, TransactionStatus, split_statements,
};
use pgwire::messages::response::{CommandComplete, EmptyQueryResponse};

use super::portal::Running;
use super::serving::{Connection, End, Failure};
use super::work::Work;
use crate::report::{self, Source};
use crate::values::rows::description;

impl Connection {
    /// Answers a query. Its statements are one transaction unless they say otherwise; what comes
    /// after the first that fails is not run.
    pub(super) async fn simple_query(&mut self, query: &str) -> Result<(), End> {
        self.unnamed = None;
        self.portals.remove("");
        let statements = split_statements(query);
        if statements.is_empty() {
            self.out.put(&EmptyQueryResponse::new());
        }
        let is_single = statements.len() < 2;
        for statement in &statements {
            if !is_single {
                self.session.begin_implicit();
            }
            let began = self.stopwatch();
            let done = self.statement(statement).await;
            self.log_if_slow(began, Some(statement.text));
            match done {
                Ok(tag) => self.complete(tag),
                Err(Failure::Statement(error)) => {
                    self.session.fail_block();
                    self.log_failure(&error, Some(statement.text));
                    let source = Source { query, offset: statement.offset };
                    self.out.put(&report::error(&error, Some(source)));
                    break;
                }
                Err(Failure::Connection(end)) => return Err(end),
            }
        }
        self.end_implicit().await?;
        self.ready().await
    }

    /// Runs a statement and returns its tag.
    async fn statement(&mut self, statement: &SourceStatement<'_>) -> Result<String, Failure> {
        let sql = statement.text;
        self.start_clock();
        self.begin_statement(sql);
        self.keep_rows().await?;
        let verb = verb(sql);
        if verb == "COPY"
            && self.session.transaction_status() != TransactionStatus::Failed
            && let Some(copy) = self.session.client_copy(sql)?
        {
            return self.client_copy(sql, copy).await;
        }
        let outcome = match self.session.execute_short(sql) {
            Some(outcome) => outcome?,
            None => {
                let session = Arc::clone(&self.session);
                let work = Work { deadline: self.deadline, ..Work::default() };
                let io = statement_io(&work.progress);
                self.finish_work(session.execute(sql, io), work).await?
            }
        };
        match outcome {
            Outcome::Command { tag, notices } => {
                self.tell(&notices);
                Ok(tag)
            }
            Outcome::Rows { schema, stream, tag } => {
                self.out.put(&description(&schema, &[]));
                let mut running = Running::new(schema, stream, tag, verb, Vec::new());
                self.send_rows(&mut running, None).await?;
                Ok(running.tag())
            }
        }
    }

    /// Says and counts that a statement came to its end.
    pub(super) fn complete(&mut self, tag: String) {
        self.shared.counters.statement(&tag);
        self.out.put(&CommandComplete::new(tag));
    }

    /// Sends notices as far as `client_min_messages` lets them through.
    pub(super) fn tell(&mut self, notices: &[Notice]) {
        let least = self.session.setting("client_min_messages").unwrap_or_default();
        let hides = |notice: &Notice| match least.as_str() {
            "warning" => notice.severity == "NOTICE",
            "error" => true,
            _ => false,
        };
        for notice in notices.iter().filter(|notice| !hides(notice)) {
            self.out.put(&report::notice(notice));
        }
    }
}

pub(super) fn statement_io(progress: &Arc<Progress>) -> StatementIo {
    StatementIo { progress: Some(Arc::clone(progress)), ..StatementIo::default() }
}

/// Returns the first word of a statement in upper case.
pub(super) fn verb(sql: &str) -> String {
    let end = sql.find(|one: char| !one.is_ascii_alphabetic()).unwrap_or(sql.len());
    sql[..end].to_ascii_uppercase()
}
