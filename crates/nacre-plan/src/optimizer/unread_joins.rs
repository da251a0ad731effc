//! Leaves out joins of whose other side nothing is read, if they hand on each row of one side once:
//! outer ones, if a row has one partner at most, and those that only say whether it has some.
//!
//! ```text
//! select a.x from a left join b on a.y = b.id      select a.x from a      id is the key of b
//! select a.x from a where a.y in (...) or true     select a.x from a
//! ```
//!
//! What a condition or the other side would fail with is not met then, as in PostgreSQL.

use std::collections::HashSet;

use crate::algebra::{ColumnId, JoinVariant, RelationalOperator, ScalarExpression};
use crate::control;
use crate::properties::has_one_partner_at_most;

/// Leaves joins out of a plan of whose columns `outputs` are read.
pub(super) fn remove_unread_joins(root: &mut RelationalOperator, outputs: &[ColumnId]) {
    remove(root, outputs.iter().copied().collect());
}

fn remove(operator: &mut RelationalOperator, wanted: HashSet<ColumnId>) {
    if control::is_stopped() {
        return;
    }
    while let Some(kept) = kept_side(operator, &wanted) {
        *operator = kept;
    }
    let mut below = wanted;
    match operator {
        RelationalOperator::Compute { columns, .. } => {
            let read = columns.iter().filter(|one| below.contains(&one.column));
            let read: Vec<&ScalarExpression> = read.map(|one| &one.value).collect();
            read.into_iter().for_each(|value| value.collect_columns(&mut below));
        }
        RelationalOperator::Join { right, .. } => {
            // What a dependent side reads of the other one.
            below.extend(right.free_columns());
            add_own(operator, &mut below);
        }
        _ => add_own(operator, &mut below),
    }
    for input in operator.inputs_mut() {
        remove(input, below.clone());
    }
}

/// Adds the columns that an operator itself reads of its inputs.
fn add_own(operator: &RelationalOperator, wanted: &mut HashSet<ColumnId>) {
    operator.expressions().into_iter().for_each(|one| one.collect_columns(wanted));
    wanted.extend(operator.input_keys());
}

/// Returns the side that a join can be replaced by.
fn kept_side(
    operator: &mut RelationalOperator,
    wanted: &HashSet<ColumnId>,
) -> Option<RelationalOperator> {
    let RelationalOperator::Join { variant, left, right, condition } = operator else {
        return None;
    };
    let (kept, other) = match variant {
        JoinVariant::Mark(column) if !wanted.contains(column) => {
            return Some(std::mem::replace(&mut **left, RelationalOperator::SingleRow));
        }
        JoinVariant::Left => (left, &**right),
        JoinVariant::Right => (right, &**left),
        _ => return None,
    };
    if other.makes_any(wanted) || !has_one_partner_at_most(other, condition.as_ref()) {
        return None;
    }
    Some(std::mem::replace(&mut **kept, RelationalOperator::SingleRow))
}
