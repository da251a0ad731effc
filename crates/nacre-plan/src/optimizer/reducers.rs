//! Moves semi and anti joins below the inner joins on their left side, to the only input that they
//! have columns of, where they leave few rows of it.
//!
//! ```text
//! (customer join orders) semi join big      customer join (orders semi join big)
//! ```
//!
//! Those that leave most rows stay above: there are fewer rows there (TPC-H Q21). So do those whose
//! conditions may fail.

use std::collections::HashSet;

use super::estimate::RowEstimator;
use super::statistics::RelationStatistics;
use crate::algebra::{ColumnId, JoinVariant, QueryColumns, RelationalOperator, ScalarExpression};
use crate::control;
use crate::properties::never_fails;

/// The part of an input's rows that such a join leaves at most to be moved there.
const LEFT_MAX: f64 = 0.45;

/// Places the semi and anti joins of a plan.
pub(super) fn place_reducers(
    root: RelationalOperator,
    columns: &QueryColumns,
    statistics: &dyn RelationStatistics,
) -> RelationalOperator {
    let mut pass = ReducerPass { estimator: RowEstimator::new(columns, statistics) };
    // Statistics of columns that conditions above them are about.
    pass.estimated(&root);
    pass.place(root)
}

struct ReducerPass<'s> {
    estimator: RowEstimator<'s>,
}

impl ReducerPass<'_> {
    /// Returns the rows that are expected of an operator as it stands.
    fn estimated(&mut self, operator: &RelationalOperator) -> f64 {
        if control::is_stopped() {
            return 1.0;
        }
        let inputs: Vec<f64> = operator.inputs().map(|input| self.estimated(input)).collect();
        self.estimator.rows(operator, &inputs)
    }

    fn place(&mut self, mut operator: RelationalOperator) -> RelationalOperator {
        if control::is_stopped() {
            return operator;
        }
        for input in operator.inputs_mut() {
            let own = std::mem::replace(input, RelationalOperator::SingleRow);
            *input = self.place(own);
        }
        match operator {
            RelationalOperator::Join {
                variant: variant @ (JoinVariant::Semi | JoinVariant::Anti),
                left,
                right,
                condition,
            } => {
                let used = columns_of_left(&right, condition.as_ref());
                let reducer = ReducingJoin { variant, right, condition };
                match sole_leaf(&left, &used) {
                    Some(leaf) if reducer.may_move() && self.is_strong(leaf, &reducer) => {
                        reducer.reduce(*left, &used)
                    }
                    _ => reducer.join(*left),
                }
            }
            other => other,
        }
    }

    /// Whether a join leaves few rows of an input.
    fn is_strong(&mut self, leaf: &RelationalOperator, reducer: &ReducingJoin) -> bool {
        let (own, other) = (self.estimated(leaf), self.estimated(&reducer.right));
        let condition = reducer.condition.as_ref();
        self.estimator.join(reducer.variant, [own, other], condition) <= LEFT_MAX * own
    }
}

/// A semi or anti join without its left side.
struct ReducingJoin {
    variant: JoinVariant,
    right: Box<RelationalOperator>,
    condition: Option<ScalarExpression>,
}

impl ReducingJoin {
    /// Whether it may look at rows that joins would have left out.
    fn may_move(&self) -> bool {
        self.condition.iter().all(never_fails)
    }

    fn join(self, left: RelationalOperator) -> RelationalOperator {
        let Self { variant, right, condition } = self;
        RelationalOperator::Join { variant, left: Box::new(left), right, condition }
    }

    /// Joins the input of inner joins that makes all columns `used`.
    fn reduce(self, operator: RelationalOperator, used: &HashSet<ColumnId>) -> RelationalOperator {
        match operator {
            RelationalOperator::Join {
                variant: JoinVariant::Inner,
                mut left,
                mut right,
                condition,
            } => {
                if makes_all(&left, used) {
                    left = Box::new(self.reduce(*left, used));
                } else {
                    right = Box::new(self.reduce(*right, used));
                }
                RelationalOperator::Join { variant: JoinVariant::Inner, left, right, condition }
            }
            leaf => self.join(leaf),
        }
    }
}

/// Returns the columns of the left side that a join with that right side has.
fn columns_of_left(
    right: &RelationalOperator,
    condition: Option<&ScalarExpression>,
) -> HashSet<ColumnId> {
    let mut used = HashSet::new();
    condition.into_iter().for_each(|one| one.collect_columns(&mut used));
    // Of one that is still dependent.
    used.extend(right.free_columns());
    let mut of_right = HashSet::new();
    right.collect_made_columns(&mut of_right);
    used.retain(|column| !of_right.contains(column));
    used
}

/// Returns the input of inner joins that makes all of some columns, if there is one.
fn sole_leaf<'o>(
    operator: &'o RelationalOperator,
    used: &HashSet<ColumnId>,
) -> Option<&'o RelationalOperator> {
    let RelationalOperator::Join { variant: JoinVariant::Inner, left, right, .. } = operator else {
        return None;
    };
    let side = [left, right].into_iter().find(|side| !used.is_empty() && makes_all(side, used))?;
    match **side {
        RelationalOperator::Join { variant: JoinVariant::Inner, .. } => sole_leaf(side, used),
        _ => Some(side),
    }
}

fn makes_all(operator: &RelationalOperator, columns: &HashSet<ColumnId>) -> bool {
    let mut made = HashSet::new();
    operator.collect_made_columns(&mut made);
    columns.is_subset(&made)
}
