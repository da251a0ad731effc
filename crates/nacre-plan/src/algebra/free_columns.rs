//! Columns that an operator reads of rows that are not its own: those of queries around it.

use std::collections::HashSet;

use super::{ColumnId, RelationalOperator, ScalarExpression, ScalarKind};

impl RelationalOperator {
    /// Returns the columns that expressions here and below have, and that nothing below makes.
    pub fn free_columns(&self) -> HashSet<ColumnId> {
        let mut free = HashSet::new();
        self.collect_used_columns(&mut free);
        let mut made = HashSet::new();
        self.collect_made_columns(&mut made);
        free.retain(|column| !made.contains(column));
        free
    }

    /// Adds the columns that this operator and those below make, also those that they do not hand
    /// on.
    pub fn collect_made_columns(&self, into: &mut HashSet<ColumnId>) {
        into.extend(self.own_columns());
        self.inputs().for_each(|input| input.collect_made_columns(into));
    }

    /// Whether an operator here or below makes one of these columns.
    pub fn makes_any(&self, columns: &HashSet<ColumnId>) -> bool {
        self.own_columns().iter().any(|column| columns.contains(column))
            || self.inputs().any(|input| input.makes_any(columns))
    }

    /// Adds the columns that expressions, keys and inputs of set operations here and below name.
    pub fn collect_used_columns(&self, into: &mut HashSet<ColumnId>) {
        self.expressions().into_iter().for_each(|one| one.collect_columns(into));
        into.extend(self.input_keys());
        self.inputs().for_each(|input| input.collect_used_columns(into));
    }

    /// Returns the columns of its inputs that this operator names beside its expressions.
    pub fn input_keys(&self) -> Vec<ColumnId> {
        match self {
            Self::Aggregate { keys, .. } => keys.clone(),
            Self::GroupingSets { keys, .. } => keys.iter().map(|key| key.source).collect(),
            Self::Window { partition, .. } => partition.clone(),
            Self::SetOperation { inputs, .. } => {
                inputs.iter().flat_map(|input| input.columns.iter().copied()).collect()
            }
            _ => Vec::new(),
        }
    }
}

impl ScalarExpression {
    /// Adds the columns that this expression has, and those that a query within it has of queries
    /// around it.
    pub fn collect_columns(&self, into: &mut HashSet<ColumnId>) {
        match &self.kind {
            ScalarKind::Column(column) => drop(into.insert(*column)),
            ScalarKind::Subquery(subquery) => into.extend(subquery.root.free_columns()),
            _ => {}
        }
        self.children().for_each(|child| child.collect_columns(into));
    }
}
