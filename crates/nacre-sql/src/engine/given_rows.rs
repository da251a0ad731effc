//! Queries over rows that a statement has at hand: those that it is about to write.

use nacre_exec::lower::{GivenRows, PhysicalQuery};
use nacre_plan::algebra::QueryPlan;
use nacre_plan::definition::RelationId;

use super::compile::{CompilationResult, StatementCompilation, note_reads};
use super::pool::EnginePool;
use super::relations::FoundTables;
use super::rows::QueryRows;
use crate::error::Result;
use crate::planner::Planner;
use crate::transaction::Moment;

/// The number that such rows have as a relation; no table has it.
pub(super) const GIVEN_ROWS: RelationId = RelationId(u64::MAX);

/// A query over [`GIVEN_ROWS`], which is planned for the rows that it is given.
#[derive(Clone, Debug)]
pub(super) struct GivenRowsQuery {
    query: QueryPlan,
    /// Tables that its subqueries read.
    found: FoundTables,
}

impl GivenRowsQuery {
    /// Checks that it can be run, by planning it for `sample`; returns that plan, too.
    pub(super) fn new(
        compilation: &StatementCompilation<'_>,
        query: QueryPlan,
        sample: GivenRows,
    ) -> CompilationResult<(Self, QueryPlan, PhysicalQuery)> {
        let relations = &compilation.relations;
        relations.give(GIVEN_ROWS, sample);
        let optimized = compilation.optimize(query.clone());
        let (plan, lowered) = compilation.lower(optimized, false)?;
        Ok((Self { query, found: relations.found_tables() }, plan, lowered))
    }

    /// Begins it. What subqueries read is noted in `moment`.
    ///
    /// # Errors
    /// Those of planning it.
    pub(super) fn start(
        &self,
        planner: &Planner,
        moment: &Moment,
        pool: &EnginePool,
        rows: GivenRows,
    ) -> Result<QueryRows> {
        let compilation = StatementCompilation::new(planner, moment, "");
        let relations = &compilation.relations;
        relations.know(&self.found);
        relations.give(GIVEN_ROWS, rows);
        let optimized = compilation.optimize(self.query.clone());
        let (_, query) = compilation.lower_here(optimized)?;
        note_reads(&query.plan.root, moment);
        QueryRows::start(pool, query, compilation.scans)
    }
}
