//! RETURNING in Nacre's own engine: a query over the rows that a statement is about to write.

use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::datatypes::SchemaRef;
use nacre_exec::lower::{GivenColumn, GivenRows, StoredColumnValues};
use nacre_plan::algebra::QueryPlan;
use nacre_plan::definition::RelationId;
use nacre_store::Table;

use super::columns;
use super::compile::{CompilationResult, StatementCompilation, note_reads, sources};
use super::pool::EnginePool;
use super::relations::FoundTables;
use super::rows::QueryRows;
use crate::error::Result;
use crate::planner::Planner;
use crate::transaction::Moment;

/// The number that the changed rows of a statement have as a relation; no table has it.
pub(super) const CHANGED_ROWS: RelationId = RelationId(u64::MAX);

/// What RETURNING answers of rows that are changed.
#[derive(Clone, Debug)]
pub(crate) struct ReturningQuery {
    query: QueryPlan,
    /// Which columns of the changed rows it reads.
    is_read: Vec<bool>,
    /// Tables that its subqueries read.
    found: FoundTables,
    schema: SchemaRef,
}

impl ReturningQuery {
    /// Checks that it can be run; `table` is the one that is changed.
    pub(super) fn new(
        compilation: &StatementCompilation<'_>,
        query: QueryPlan,
        is_read: Vec<bool>,
        table: &Table,
    ) -> CompilationResult<Self> {
        let schema = table.schema();
        let columns = (0..is_read.len()).map(|position| match schema.columns.get(position) {
            Some(column) => {
                GivenColumn::Stored(StoredColumnValues::of(column.column_type, std::iter::empty()))
            }
            None => GivenColumn::Values(Vec::new()),
        });
        let relations = &compilation.relations;
        relations.give(CHANGED_ROWS, GivenRows::new(0, columns.collect()));
        let optimized = compilation.optimize(query.clone());
        let (plan, lowered) = compilation.lower(optimized, false)?;
        let schema = columns::answer_schema(&lowered.outputs, &sources(&plan, relations));
        let schema = schema.map_err(|error| compilation.limit(error))?;
        Ok(Self { query, is_read, found: relations.found_tables(), schema })
    }

    /// Returns the columns of what it answers.
    pub(crate) fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// Whether it reads the column of the changed rows at a position.
    pub(crate) fn reads(&self, position: usize) -> bool {
        self.is_read.get(position) == Some(&true)
    }

    /// Computes what it answers of some rows. What subqueries read is noted in `moment`.
    ///
    /// # Errors
    /// Those of the query.
    pub(crate) async fn answer(
        &self,
        planner: &Planner,
        moment: &Moment,
        pool: &EnginePool,
        rows: GivenRows,
    ) -> Result<Vec<RecordBatch>> {
        let (query, scans) = {
            let compilation = StatementCompilation::new(planner, moment, "");
            let relations = &compilation.relations;
            relations.know(&self.found);
            relations.give(CHANGED_ROWS, rows);
            let optimized = compilation.optimize(self.query.clone());
            let (_, query) = compilation.lower_here(optimized)?;
            (query, compilation.scans)
        };
        note_reads(&query.plan.root, moment);
        let mut rows = QueryRows::start(pool, query, scans)?;
        let mut batches = Vec::new();
        while let Some(batch) = rows.next().await? {
            batches.push(columns::record_batch(&self.schema, rows.outputs(), &batch)?);
        }
        Ok(batches)
    }
}
