//! Gives columns other identities, and puts expressions in their place.

use std::collections::{HashMap, HashSet};

use super::{
    ColumnId, ComputedColumn, JoinVariant, QueryColumns, RelationalOperator, ScalarExpression,
    ScalarKind,
};

/// New identities of columns; others stay.
pub type ColumnRenaming = HashMap<ColumnId, ColumnId>;

impl RelationalOperator {
    /// Returns an operator that computes the same and makes columns of its own, and which of them
    /// stand for which here.
    pub fn with_new_columns(&self, columns: &mut QueryColumns) -> (Self, ColumnRenaming) {
        let mut made = HashSet::new();
        self.collect_made_columns(&mut made);
        let mut made: Vec<ColumnId> = made.into_iter().collect();
        made.sort_unstable();
        let new = |old: ColumnId| {
            let definition = columns.get(old).cloned()?;
            Some((old, columns.add(definition)))
        };
        let renaming: ColumnRenaming = made.into_iter().filter_map(new).collect();
        let mut copy = self.clone();
        copy.rename(&renaming);
        (copy, renaming)
    }

    /// Renames the columns that this operator and those below make and use.
    pub fn rename(&mut self, renaming: &ColumnRenaming) {
        let renamed = |column: &mut ColumnId| {
            *column = renaming.get(column).copied().unwrap_or(*column);
        };
        match self {
            Self::Scan { columns, .. } | Self::CommonScan { columns, .. } => {
                columns.iter_mut().for_each(|one| renamed(&mut one.column));
            }
            Self::Compute { columns, .. } => {
                columns.iter_mut().for_each(|one| renamed(&mut one.column));
            }
            Self::Expand { functions, ordinality, .. } => {
                let columns = functions.iter_mut().map(|one| &mut one.column);
                columns.chain(ordinality).for_each(renamed);
            }
            Self::Aggregate { keys, aggregates, .. } => {
                keys.iter_mut().for_each(renamed);
                aggregates.iter_mut().for_each(|one| renamed(&mut one.column));
            }
            Self::GroupingSets { keys, aggregates, set_column, .. } => {
                keys.iter_mut()
                    .flat_map(|key| [&mut key.source, &mut key.column])
                    .for_each(renamed);
                aggregates.iter_mut().for_each(|one| renamed(&mut one.column));
                renamed(set_column);
            }
            Self::Window { partition, functions, .. } => {
                partition.iter_mut().for_each(renamed);
                functions.iter_mut().for_each(|one| renamed(&mut one.column));
            }
            Self::Join { variant: JoinVariant::Mark(column), .. } => renamed(column),
            Self::Values { columns, .. } => columns.iter_mut().for_each(renamed),
            Self::Series { column, ordinality, .. } => {
                std::iter::once(column).chain(ordinality).for_each(renamed);
            }
            Self::SetOperation { columns, inputs, .. } => {
                columns.iter_mut().for_each(renamed);
                inputs.iter_mut().flat_map(|input| &mut input.columns).for_each(renamed);
            }
            Self::SingleRow
            | Self::Sample { .. }
            | Self::Filter { .. }
            | Self::Join { .. }
            | Self::Sort { .. }
            | Self::Limit { .. } => {}
        }
        self.expressions_mut().into_iter().for_each(|one| one.rename(renaming));
        self.inputs_mut().for_each(|input| input.rename(renaming));
    }
}

impl ScalarExpression {
    /// Returns how many expressions there are in this one after [`Self::replace_columns`].
    pub fn count_replaced(&self, replacements: &[ComputedColumn]) -> usize {
        let found = match self.kind {
            ScalarKind::Column(column) => replacements.iter().find(|one| one.column == column),
            _ => None,
        };
        match found {
            Some(found) => found.value.count(),
            None => {
                let children = self.children();
                let counts = children.map(|child| child.count_replaced(replacements));
                counts.fold(1, usize::saturating_add)
            }
        }
    }

    /// Puts expressions in the place of columns.
    pub fn replace_columns(&mut self, replacements: &[ComputedColumn]) {
        if let ScalarKind::Column(column) = self.kind
            && let Some(found) = replacements.iter().find(|one| one.column == column)
        {
            *self = found.value.clone();
            return;
        }
        self.children_mut().for_each(|child| child.replace_columns(replacements));
    }

    /// Renames the columns of an expression, and those that a query within it has.
    pub fn rename(&mut self, renaming: &ColumnRenaming) {
        match &mut self.kind {
            ScalarKind::Column(column) => {
                *column = renaming.get(column).copied().unwrap_or(*column);
            }
            ScalarKind::Subquery(subquery) => subquery.root.rename(renaming),
            _ => {}
        }
        self.children_mut().for_each(|child| child.rename(renaming));
    }
}
