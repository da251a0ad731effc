//! Queries of a session: each runs whole in Nacre's own engine or in DataFusion.

use std::time::Instant;

use datafusion::arrow::datatypes::SchemaRef;
use datafusion::sql::parser::Statement as ParsedStatement;
use datafusion::sql::sqlparser::ast::Statement as SqlStatement;

use super::Session;
use crate::engine::{ParsedQuery, compile};
use crate::error::{Error, ErrorKind, Result};
use crate::explain;
use crate::prepared::Statement;
use crate::settings::EngineChoice;
use crate::statement_io::Outcome;
use crate::transaction::{Turn, tie};

/// What became of a statement that was offered to Nacre's own engine.
pub(super) enum CompiledRun {
    Started(Outcome),
    /// The statement goes on with its turn in another way.
    NotTaken(Turn),
}

impl Session {
    /// Starts a query, or EXPLAIN of one, in Nacre's own engine if that supports all of it. A short
    /// statement is not taken: its numbers have DataFusion's types.
    pub(super) async fn run_compiled(
        &self,
        mut turn: Turn,
        sql: &str,
        short_key: Option<&str>,
    ) -> Result<CompiledRun> {
        if self.short.knows(&self.store, short_key) {
            return Ok(CompiledRun::NotTaken(turn));
        }
        let Some(parsed) = ParsedQuery::of(self.settings().engine(), sql) else {
            return Ok(CompiledRun::NotTaken(turn));
        };
        let begun = Instant::now();
        turn.require_sound()?;
        self.begin_as();
        let moment = turn.moment(false)?;
        let Some(compiled) = compile(&self.planner, &moment, &parsed, sql)? else {
            return Ok(CompiledRun::NotTaken(turn));
        };
        let tag = compiled.tag();
        let stream = compiled.start(&self.engine, &moment, begun.elapsed()).await?;
        turn.log(&moment)?;
        let stream = tie(turn, stream)?;
        Ok(CompiledRun::Started(Outcome::Rows { schema: stream.schema(), stream, tag }))
    }

    /// Returns the columns of the answer of a statement that [`Session::run_compiled`] takes.
    pub(crate) async fn describe_compiled(
        &self,
        statement: &Statement,
    ) -> Result<Option<SchemaRef>> {
        let sql = statement.sql();
        let parsed = ParsedQuery::of(self.settings().engine(), sql);
        let Some(parsed) = parsed.filter(|_| statement.is_readable()) else {
            return Ok(None);
        };
        let mut turn = self.transactions.turn().await;
        if let Some(candidate) = statement.candidate(&[])
            && self.short.is_short(&self.store, &self.planner, &mut turn, candidate).await?
        {
            turn.done(false);
            return Ok(None);
        }
        let moment = turn.moment(true)?;
        let compiled = compile(&self.planner, &moment, &parsed, sql);
        // Privileges are checked when it runs.
        let has_failed = |error: &Error| error.kind() != ErrorKind::NotPermitted;
        turn.done(compiled.as_ref().is_err_and(has_failed));
        Ok(compiled?.map(|compiled| compiled.schema()))
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
        let stream = self.planner.start(&moment, Vec::new(), statement).await?;
        if is_query {
            self.engine.count_datafusion();
        }
        turn.log(&moment)?;
        let stream = tie(turn, stream)?;
        Ok(Outcome::Rows { schema: stream.schema(), stream, tag })
    }
}

fn is_query(statement: &ParsedStatement) -> bool {
    let ParsedStatement::Statement(inner) = statement else { return false };
    matches!(inner.as_ref(), SqlStatement::Query(_))
}
