//! What the optimizer asks about relations.

use std::sync::Arc;

use nacre_types::SqlValue;

use crate::definition::RelationId;

/// Statistics of the relations of a plan. All are optional, may be stale, and influence costs only.
pub trait RelationStatistics {
    /// Returns the number of rows.
    fn row_count(&self, relation: RelationId) -> Option<u64>;

    /// Returns the statistics of the column at a position.
    fn column(&self, relation: RelationId, position: usize) -> ColumnStatistics;
}

/// Statistics of a column.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ColumnStatistics {
    /// The least and the greatest value.
    pub bounds: Option<(SqlValue, SqlValue)>,
    /// The part of the rows that are null, of 1.
    pub null_fraction: Option<f64>,
    pub distinct_count: Option<u64>,
    /// Numbers, and moments in microseconds since 2000, ascending, between any two of which lie as
    /// many rows that are not null; empty if nothing is known of how values are distributed.
    pub quantiles: Arc<[f64]>,
}
