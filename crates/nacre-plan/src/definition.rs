//! The relations that names may mean.

use std::sync::Arc;

use nacre_syntax::QueryExpression;
use nacre_types::SqlType;

/// Answers for the relations of a database as one statement sees them.
pub trait RelationCatalog {
    /// Returns the relation of that name; `schema` is `None` for a name without one.
    fn find_relation(&self, schema: Option<&str>, name: &str) -> Option<Arc<RelationDefinition>>;

    /// As [`Self::find_relation`], for a name in the query of a view, which reads with the rights
    /// of its owner.
    fn find_relation_of_view(
        &self,
        schema: Option<&str>,
        name: &str,
    ) -> Option<Arc<RelationDefinition>> {
        self.find_relation(schema, name)
    }

    /// Returns the view of that name, where there is no relation of it.
    fn find_view(
        &self,
        _schema: Option<&str>,
        _name: &str,
        _reader: ViewReader,
    ) -> Option<Arc<ViewDefinition>> {
        None
    }
}

/// What names a view.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ViewReader {
    Query,
    /// The query of another view.
    View,
}

/// Identifies a relation for whoever runs a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RelationId(pub u64);

/// A relation that a query may read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RelationDefinition {
    pub id: RelationId,
    pub schema: String,
    pub name: String,
    pub columns: Vec<RelationColumn>,
    /// Positions of the columns of the primary key; empty without one.
    pub primary_key: Vec<usize>,
    /// What its rows have as `tableoid`; `None` if they have no such column.
    pub table_oid: Option<u32>,
}

impl RelationDefinition {
    /// Returns the position, behind all columns, at which a scan has the ids of rows.
    pub fn row_id_position(&self) -> usize {
        self.columns.len()
    }

    /// Returns the position, behind that, at which a scan has `tableoid`.
    pub fn table_oid_position(&self) -> usize {
        self.columns.len() + 1
    }
}

/// A column of a relation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RelationColumn {
    pub name: String,
    pub sql_type: SqlType,
    pub is_nullable: bool,
}

/// A query that has a name, and what is known of its columns since it was created.
#[derive(Clone, Debug)]
pub struct ViewDefinition {
    pub schema: String,
    pub name: String,
    pub query: QueryExpression,
    pub columns: Vec<ViewColumnName>,
}

/// A column of a view.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ViewColumnName {
    pub name: String,
    /// What the query calls it.
    pub source: String,
}
