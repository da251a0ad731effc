//! Computes outputs of the right side that have columns of the left one above the join, and puts
//! them into its conditions.
//!
//! ```text
//! (select u.a + t.b from u where u.k = t.k)     t left join (u, true as found) on u.k = t.k,
//!                                               case when found then u.a + t.b end
//! ```

use std::collections::HashSet;

use nacre_syntax::SourceRange;
use nacre_types::{SqlType, SqlValue};

use super::DependentJoin;
use crate::algebra::{
    CaseArm, ColumnId, ComputedColumn, ConstantValue, JoinVariant, QueryColumns,
    RelationalOperator, ScalarExpression, ScalarKind, TruthValue,
};

/// Expressions of the conditions of a join with outputs put into them.
const EXPRESSIONS_MAX: usize = 10_000;

impl DependentJoin {
    /// Takes columns that have columns of the left side from the top of the right side.
    pub(super) fn take_outputs_out(&mut self, columns: &mut QueryColumns) {
        let mut dependent = self.outer.clone();
        let mut taken = Vec::new();
        let right = take_computed(self.right.clone(), &mut dependent, &mut taken);
        let mut conditions = self.conditions.clone();
        for layer in taken.iter().rev() {
            let count = |one: &ScalarExpression| one.count_replaced(layer);
            if conditions.iter().map(count).fold(0, usize::saturating_add) > EXPRESSIONS_MAX {
                return;
            }
            conditions.iter_mut().for_each(|one| one.replace_columns(layer));
        }
        if taken.is_empty() {
            return;
        }
        (self.right, self.conditions) = (right, conditions);
        let found = match self.variant {
            JoinVariant::Left | JoinVariant::Single => Some(self.add_found(columns)),
            _ => None,
        };
        for layer in taken.into_iter().rev() {
            let layer = layer.into_iter().map(|one| match found {
                Some(found) => ComputedColumn { value: if_found(found, one.value), ..one },
                None => one,
            });
            self.above.push(layer.collect());
        }
        self.above.reverse();
    }

    /// Adds a column to the right side that is true where there is a row of it.
    fn add_found(&mut self, columns: &mut QueryColumns) -> ColumnId {
        let column = super::new_column("found", SqlType::BOOLEAN, columns);
        let kind = ScalarKind::Constant(ConstantValue(SqlValue::Boolean(true)));
        let value = ScalarExpression::new(kind, SqlType::BOOLEAN, SourceRange::default());
        let right = std::mem::replace(&mut self.right, RelationalOperator::SingleRow);
        self.right = RelationalOperator::Compute {
            input: Box::new(right),
            columns: vec![ComputedColumn { column, value }],
        };
        column
    }
}

/// Takes the computed columns at the top of an operator that have dependent ones, lower layers
/// first.
fn take_computed(
    operator: RelationalOperator,
    dependent: &mut HashSet<ColumnId>,
    taken: &mut Vec<Vec<ComputedColumn>>,
) -> RelationalOperator {
    let RelationalOperator::Compute { input, columns } = operator else { return operator };
    let input = take_computed(*input, dependent, taken);
    let (own, kept): (Vec<_>, Vec<_>) =
        columns.into_iter().partition(|one| super::has_any(&one.value, dependent));
    dependent.extend(own.iter().map(|one| one.column));
    if !own.is_empty() {
        taken.push(own);
    }
    match kept.is_empty() {
        true => input,
        false => RelationalOperator::Compute { input: Box::new(input), columns: kept },
    }
}

/// Returns a value where a row of the right side was found, else null.
fn if_found(found: ColumnId, value: ScalarExpression) -> ScalarExpression {
    let (sql_type, range) = (value.sql_type, value.range);
    let found = ScalarExpression::new(ScalarKind::Column(found), SqlType::BOOLEAN, range);
    let test = ScalarKind::IsTruth { operand: Box::new(found), value: TruthValue::True };
    let condition = ScalarExpression::new(test, SqlType::BOOLEAN, range);
    let arms = vec![CaseArm { condition, result: value }];
    ScalarExpression::new(ScalarKind::Case { arms, otherwise: None }, sql_type, range)
}
