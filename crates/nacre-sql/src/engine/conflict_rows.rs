//! ON CONFLICT DO UPDATE in Nacre's own engine: a query over rows that are there and those that
//! were proposed.

use nacre_column::ColumnType;
use nacre_exec::lower::{GivenColumn, GivenRows, StoredColumnValues};
use nacre_plan::binder::{ChangedColumn, ConflictRows};
use nacre_store::Table;

use super::compile::{CompilationResult, StatementCompilation};
use super::given_rows::GivenRowsQuery;
use super::pool::EnginePool;
use super::returned_rows::no_values;
use super::row_changes::{ChangedRowStream, RepeatedIds};
use crate::error::Result;
use crate::planner::Planner;
use crate::transaction::Moment;

/// What rows get that stand in the way of new ones.
#[derive(Clone, Debug)]
pub(crate) struct ConflictQuery {
    query: GivenRowsQuery,
    columns: Vec<ChangedColumn>,
    /// Which columns of the pairs it reads.
    is_read: Vec<bool>,
}

impl ConflictQuery {
    /// Checks that it can be run; its parameters have values. `table` is the one that is changed.
    pub(super) fn new(
        compilation: &StatementCompilation<'_>,
        bound: ConflictRows,
        table: &Table,
    ) -> CompilationResult<Self> {
        let ConflictRows { query, columns, is_read } = bound;
        let ids = StoredColumnValues::of(ColumnType::BigInt, std::iter::empty());
        let ids = std::iter::once(GivenColumn::Stored(ids));
        let both = no_values(table).chain(no_values(table));
        let sample = GivenRows::new(0, both.chain(ids).collect());
        let (query, ..) = GivenRowsQuery::new(compilation, query, sample)?;
        Ok(Self { query, columns, is_read })
    }

    /// Whether it reads the column of pairs at a position.
    pub(crate) fn reads(&self, position: usize) -> bool {
        self.is_read.get(position) == Some(&true)
    }

    /// Begins it for pairs, of which no row that is there comes twice: the columns of these, those
    /// of the rows that were proposed, and the ids of the former.
    ///
    /// # Errors
    /// Those of planning it.
    pub(crate) fn start(
        &self,
        planner: &Planner,
        moment: &Moment,
        pool: &EnginePool,
        pairs: GivenRows,
    ) -> Result<ChangedRowStream> {
        let rows = self.query.start(planner, moment, pool, pairs)?;
        Ok(ChangedRowStream::of_given(rows, self.columns.clone(), RepeatedIds::None))
    }
}
