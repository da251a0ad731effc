//! What the relations of a query are stored as.

use std::sync::Arc;

use nacre_plan::definition::RelationId;
use nacre_plan::optimizer::RowEstimates;
use nacre_store::TableSnapshot;

use super::common::CommonRelation;
use super::given_rows::GivenRows;

/// Answers for what relations of a query are stored as.
pub trait StoredRelations {
    /// Returns the table of a relation as the statement sees it; `None` for a relation that is not
    /// stored, such as a view.
    fn stored_relation(&self, relation: RelationId) -> Option<StoredRelation>;

    /// Returns the rows of a relation that a statement has at hand; of its columns those at
    /// `positions` will be read.
    fn given_rows(&self, _relation: RelationId, _positions: &[usize]) -> Option<Arc<GivenRows>> {
        None
    }

    /// Whether scans decide conditions on encoded values; else filters above them decide all, on
    /// decoded ones.
    fn restricts_scans(&self) -> bool {
        true
    }

    /// Returns a common query that has been lowered; only lowering itself knows any.
    fn common_relation(&self, _index: usize) -> Option<&CommonRelation> {
        None
    }

    /// Returns the rows that are expected of operators, if these are to be measured; only lowering
    /// itself knows them.
    fn estimates(&self) -> Option<&RowEstimates<'_>> {
        None
    }
}

/// What a relation is stored as.
#[derive(Clone, Debug)]
pub struct StoredRelation {
    pub snapshot: TableSnapshot,
    /// For each column of the relation's definition its index in the table.
    pub columns: Vec<usize>,
}
