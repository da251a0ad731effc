//! Columns of queries in FROM that are constants: expressions of the query around these have the
//! constants in their place, once names and types are checked, as in PostgreSQL.

use std::collections::HashSet;

use super::Binder;
use crate::algebra::{RelationalOperator, ScalarExpression};
use crate::folding::{ConstantColumns, constant_columns, fold_expression};

impl Binder<'_> {
    /// Folds an expression over the rows of the present FROM.
    pub(super) fn fold(&self, expression: &mut ScalarExpression) {
        match self.constants.last() {
            Some(known) => fold_expression(expression, known),
            None => fold_expression(expression, &ConstantColumns::new()),
        }
    }

    /// Notes the constants among the columns of a query in FROM.
    pub(super) fn note_constants(&mut self, root: &RelationalOperator) {
        if let Some(known) = self.constants.last_mut() {
            known.extend(constant_columns(root));
        }
    }

    /// Forgets those of a side that a join fills up with nulls.
    pub(super) fn forget_constants(&mut self, side: &RelationalOperator) {
        let Some(known) = self.constants.last_mut().filter(|known| !known.is_empty()) else {
            return;
        };
        let mut made = HashSet::new();
        side.collect_made_columns(&mut made);
        known.retain(|column, _| !made.contains(column));
    }
}
