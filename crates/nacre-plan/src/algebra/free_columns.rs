//! Columns that an operator reads of rows that are not its own: those of queries around it.

use std::collections::HashSet;

use super::{ColumnId, RelationalOperator, ScalarExpression, ScalarKind};
use crate::control;

/// Columns of a query, a flag each: for joins of hundreds of tables, which collect the columns of
/// their sides level by level.
#[derive(Clone, Debug, Default)]
pub struct ColumnFlags(Vec<bool>);

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

    /// Whether there are no [`Self::free_columns`]. Takes time proportional to the size: joins ask
    /// for it level by level.
    pub fn is_closed(&self) -> bool {
        let mut made = ColumnFlags::default();
        self.collect_made_columns(&mut made);
        self.uses_only(&made)
    }

    /// Whether all columns that are named here and below are among those.
    fn uses_only(&self, made: &ColumnFlags) -> bool {
        // Any answer will do then.
        control::is_stopped()
            || self.expressions().into_iter().all(|one| one.has_only(made))
                && self.input_keys().iter().all(|column| made.contains(*column))
                && self.inputs().all(|input| input.uses_only(made))
    }

    /// Adds the columns that this operator and those below make, also those that they do not hand
    /// on.
    pub fn collect_made_columns(&self, into: &mut impl Extend<ColumnId>) {
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

impl ColumnFlags {
    /// Whether a column is in the set.
    pub fn contains(&self, column: ColumnId) -> bool {
        self.0.get(column.0 as usize) == Some(&true)
    }
}

impl Extend<ColumnId> for ColumnFlags {
    fn extend<I: IntoIterator<Item = ColumnId>>(&mut self, columns: I) {
        for column in columns {
            let number = column.0 as usize;
            if number >= self.0.len() {
                self.0.resize(number + 1, false);
            }
            self.0[number] = true;
        }
    }
}

impl ScalarExpression {
    fn has_only(&self, made: &ColumnFlags) -> bool {
        let own = match &self.kind {
            ScalarKind::Column(column) => made.contains(*column),
            ScalarKind::Subquery(subquery) => {
                subquery.root.free_columns().iter().all(|column| made.contains(*column))
            }
            _ => true,
        };
        own && self.children().all(|child| child.has_only(made))
    }

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
