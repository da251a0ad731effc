//! Leaves out what nothing is read of:
//!
//! 1. outer joins in which a row has one partner at most, and mark joins;
//! 2. computed columns, and columns of unions;
//! 3. the input of an aggregate without groups, which has one row for any input.
//!
//! ```text
//! select a.x from a left join b on a.y = b.id      select a.x from a      id is the key of b
//! select a.x from a where a.y in (...) or true     select a.x from a
//! select a.x from a, (select sum(y) from b) c      select a.x from a
//! ```
//!
//! What a condition or the other side would fail with is not met then, as in PostgreSQL. Errors of
//! constants are: it computes them when it plans the query.

use std::collections::HashSet;

use crate::algebra::{
    AggregateColumn, ColumnId, JoinVariant, RelationalOperator, ScalarExpression, SetVariant,
};
use crate::control;
use crate::properties::{fails_at_once, has_one_partner_at_most};

/// Leaves out parts of a plan of whose columns `outputs` are read.
pub(super) fn remove_unread_parts(root: &mut RelationalOperator, outputs: &[ColumnId]) {
    remove(root, outputs.iter().copied().collect());
}

fn remove(operator: &mut RelationalOperator, wanted: HashSet<ColumnId>) {
    if control::is_stopped() {
        return;
    }
    while let Some(kept) = kept_side(operator, &wanted) {
        *operator = kept;
    }
    if is_unread_row(operator, &wanted) {
        *operator = RelationalOperator::SingleRow;
        return;
    }
    let mut below = wanted;
    match operator {
        RelationalOperator::Compute { columns, .. } => {
            columns.retain(|one| below.contains(&one.column) || one.value.is_volatile());
            columns.iter().for_each(|one| one.value.collect_columns(&mut below));
        }
        RelationalOperator::SetOperation { variant: SetVariant::UnionAll, columns, inputs } => {
            let is_wanted: Vec<bool> = columns.iter().map(|one| below.contains(one)).collect();
            retain_places(columns, &is_wanted);
            for input in inputs {
                retain_places(&mut input.columns, &is_wanted);
                remove(&mut input.operator, input.columns.iter().copied().collect());
            }
            return;
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

fn retain_places(columns: &mut Vec<ColumnId>, is_wanted: &[bool]) {
    let mut places = is_wanted.iter();
    columns.retain(|_| places.next().copied().unwrap_or(true));
}

/// Adds the columns that an operator itself reads of its inputs.
fn add_own(operator: &RelationalOperator, wanted: &mut HashSet<ColumnId>) {
    operator.expressions().into_iter().for_each(|one| one.collect_columns(wanted));
    wanted.extend(operator.input_keys());
}

/// Whether an operator has one row, of which nothing is read.
fn is_unread_row(operator: &RelationalOperator, wanted: &HashSet<ColumnId>) -> bool {
    let RelationalOperator::Aggregate { input, keys, aggregates, is_scalar: true } = operator
    else {
        return false;
    };
    let is_unread = |one: &AggregateColumn| {
        let mut expressions = one.call.expressions().into_iter();
        !wanted.contains(&one.column) && !expressions.any(ScalarExpression::is_volatile)
    };
    keys.is_empty() && aggregates.iter().all(is_unread) && !input.any_expression(&fails_at_once)
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
