//! The relations that names may mean.

use std::sync::Arc;

use nacre_types::SqlType;

/// Answers for the relations of a database as one statement sees them.
pub trait RelationCatalog {
    /// Returns the relation of that name; `schema` is `None` for a name without one.
    fn find_relation(&self, schema: Option<&str>, name: &str) -> Option<Arc<RelationDefinition>>;
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
}

/// A column of a relation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RelationColumn {
    pub name: String,
    pub sql_type: SqlType,
    pub is_nullable: bool,
}
