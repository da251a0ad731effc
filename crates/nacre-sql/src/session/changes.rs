//! Statements of a session that change rows.

use datafusion::sql::parser::ExplainStatement;
use datafusion::sql::sqlparser::ast::Statement as SqlStatement;

use super::{Session, finish};
use crate::dml::{self, Answer};
use crate::engine::GivenStatement;
use crate::error::Result;
use crate::explain;
use crate::statement_io::{Outcome, StatementIo};
use crate::transaction::Turn;

impl Session {
    /// Runs a statement that changes rows.
    pub(super) async fn change(
        &self,
        mut turn: Turn,
        statement: SqlStatement,
        given: GivenStatement<'_>,
        io: StatementIo,
    ) -> Result<Outcome> {
        let moment = turn.moment(true)?;
        let change = dml::change_of(&self.store.at(moment.snapshot()), statement)?;
        let change = change.offered(given, &self.engine);
        let progress = io.progress.unwrap_or_default();
        let Answer { tag, rows } = change.run(&self.planner, &mut turn, progress).await?;
        match rows {
            None => finish(turn, tag),
            Some(stream) => {
                turn.done(false);
                Ok(Outcome::Rows { schema: stream.schema(), stream, tag: Some(tag) })
            }
        }
    }

    /// Runs EXPLAIN of a statement that changes rows.
    pub(super) async fn explain_change(
        &self,
        mut turn: Turn,
        explain: ExplainStatement,
        given: GivenStatement<'_>,
        io: StatementIo,
    ) -> Result<Outcome> {
        turn.require_sound()?;
        if explain.options.analyze {
            turn.require_writable("EXPLAIN ANALYZE")?;
        }
        let progress = io.progress.unwrap_or_default();
        let (store, planner, pool) = (&self.store, &self.planner, &self.engine);
        let explained = dml::explain(store, planner, &mut turn, explain, given, pool, progress);
        let stream = explained.await?;
        turn.done(false);
        let tag = Some(explain::TAG.to_owned());
        Ok(Outcome::Rows { schema: stream.schema(), stream, tag })
    }
}
