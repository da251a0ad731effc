//! Columns of a query by identity.

use std::sync::Arc;

use nacre_types::SqlType;

use crate::definition::RelationId;

/// Identifies a column among all of one query.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ColumnId(pub u32);

/// What a column of a query is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueryColumn {
    /// For people; not unique.
    pub name: Arc<str>,
    pub sql_type: SqlType,
    pub is_nullable: bool,
    pub source: ColumnSource,
}

/// Where a column comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColumnSource {
    /// The column at a position of a relation.
    Relation {
        relation: RelationId,
        position: usize,
    },
    Computed,
    /// Counts rows: it is not negative, and far below the largest value of its type.
    RowCount,
}

/// All columns of a query.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct QueryColumns(Vec<QueryColumn>);

impl QueryColumns {
    /// Adds a column and returns its identity.
    pub fn add(&mut self, column: QueryColumn) -> ColumnId {
        let id = ColumnId(self.0.len() as u32);
        self.0.push(column);
        id
    }

    /// Makes room for so many more.
    pub(crate) fn reserve(&mut self, count: usize) {
        self.0.reserve(count);
    }

    /// Returns how many there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Says that a column may be null, as those of a side that a join fills up.
    pub fn make_nullable(&mut self, id: ColumnId) {
        if let Some(column) = self.0.get_mut(id.0 as usize) {
            column.is_nullable = true;
        }
    }

    /// Returns a column that [`Self::add`] has returned the identity of.
    pub fn get(&self, id: ColumnId) -> Option<&QueryColumn> {
        self.0.get(id.0 as usize)
    }
}
