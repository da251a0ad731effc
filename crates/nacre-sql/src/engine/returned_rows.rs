//! RETURNING in Nacre's own engine: a query over the rows that a statement is about to write.

use std::sync::Arc;

use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::datatypes::SchemaRef;
use nacre_exec::lower::{GivenColumn, GivenRows, StoredColumnValues};
use nacre_plan::algebra::QueryPlan;
use nacre_store::Table;
use nacre_types::SystemCatalog;

use super::columns;
use super::compile::{CompilationResult, StatementCompilation, sources};
use super::given_rows::GivenRowsQuery;
use super::pool::EnginePool;
use super::rows::answer_settings;
use crate::error::Result;
use crate::pg_catalog::SessionCatalog;
use crate::planner::Planner;
use crate::transaction::Moment;

/// What RETURNING answers of rows that are changed.
#[derive(Clone, Debug)]
pub(crate) struct ReturningQuery {
    query: GivenRowsQuery,
    /// Which columns of the changed rows it reads.
    is_read: Vec<bool>,
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
        let others = is_read.len() - table.schema().columns.len();
        let others = std::iter::repeat_n(GivenColumn::Values(Vec::new()), others);
        let sample = GivenRows::new(0, no_values(table).chain(others).collect());
        let (query, plan, lowered) = GivenRowsQuery::new(compilation, query, sample)?;
        let sources = sources(&plan, &compilation.relations);
        let schema = columns::answer_schema(&lowered.outputs, &sources);
        let schema = schema.map_err(|error| compilation.limit(error))?;
        Ok(Self { query, is_read, schema })
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
        let catalog: Arc<dyn SystemCatalog> = Arc::new(SessionCatalog::new(planner.catalogs()));
        let settings = answer_settings(Some(catalog));
        let mut rows = self.query.start(planner, moment, pool, rows)?;
        let mut batches = Vec::new();
        while let Some(batch) = rows.next().await? {
            batches.push(columns::record_batch(&self.schema, rows.outputs(), &batch, &settings)?);
        }
        Ok(batches)
    }
}

/// Returns the columns of no rows of a table.
pub(super) fn no_values(table: &Table) -> impl Iterator<Item = GivenColumn> {
    let schema = table.schema();
    let types: Vec<_> = schema.columns.iter().map(|column| column.column_type).collect();
    let column = |column_type| StoredColumnValues::of(column_type, std::iter::empty());
    types.into_iter().map(move |column_type| GivenColumn::Stored(column(column_type)))
}
