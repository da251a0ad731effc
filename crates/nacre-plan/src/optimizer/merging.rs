//! Computes columns that may fail above the conditions and joins of the query around theirs, where
//! PostgreSQL computes them, too: for fewer rows.
//!
//! ```text
//! select x from (select 1 / a as x, b from t) s where b > 0 and x < 3
//! Filter [b > 0 and x < 3] <- Compute [x]   is   Compute [x] <- Filter [b > 0 and 1 / a < 3]
//! ```
//!
//! So are the conditions of queries within expressions that have such columns of rows outside: they
//! become conditions of the semi, anti or mark join.
//!
//! Columns of a side that a join fills up with nulls go up if they are null where the columns of
//! that side are; others stay where they are: PostgreSQL computes them for all rows of the side. So
//! do those below groups, sorts and limits, which are queries of their own in PostgreSQL.

use std::collections::HashSet;

use super::null_logic::is_strict_about;
use crate::algebra::conjuncts::{
    conjunction, has_columns, is_small_before, split_conjunction, with_computed, with_filter,
    without_conditions,
};
use crate::algebra::{
    ColumnId, ComputedColumn, JoinVariant, RelationalOperator, ScalarExpression, ScalarKind,
};
use crate::control;
use crate::properties::{is_merged, never_fails};

/// Expressions of columns that others are put into.
const EXPRESSIONS_MAX: usize = 1_000;

/// Expressions of all columns that go up together: each operator that they pass looks at them.
const RAISED_MAX: usize = 5_000;

/// Computes columns that may fail as far up as they go.
pub(super) fn merge_columns(mut operator: RelationalOperator) -> RelationalOperator {
    if control::is_stopped() {
        return operator;
    }
    for input in operator.inputs_mut() {
        let own = std::mem::replace(input, RelationalOperator::SingleRow);
        *input = merge_columns(own);
    }
    match operator {
        RelationalOperator::Filter { input, condition } => merge_into_filter(*input, condition),
        RelationalOperator::Compute { input, columns } => merge_into_columns(*input, columns),
        RelationalOperator::Join { variant, left, right, condition } => {
            merge_into_join(variant, [*left, *right], condition)
        }
        other => other,
    }
}

fn merge_into_filter(input: RelationalOperator, condition: ScalarExpression) -> RelationalOperator {
    let (below, raised) = split_columns(input);
    if !is_small_before(&condition, &raised) {
        let input = Box::new(with_computed(below, raised));
        return RelationalOperator::Filter { input, condition };
    }
    let mut merged = condition;
    merged.replace_columns(&raised);
    let mut conditions = Vec::new();
    split_conjunction(merged, &mut conditions);
    let is_gate = |one: &ScalarExpression| below != RelationalOperator::SingleRow && is_gate(one);
    let (gates, kept): (Vec<_>, Vec<_>) = conditions.into_iter().partition(is_gate);
    let filtered = with_filter(with_gates(below, gates), kept);
    with_computed(filtered, raised)
}

/// Whether a condition is about nothing but queries that are computed once.
fn is_gate(condition: &ScalarExpression) -> bool {
    !has_columns(condition) && condition.any(&|one| matches!(one.kind, ScalarKind::Once(_)))
}

/// Has conditions without columns be decided before the first row, also if there is none.
fn with_gates(
    operator: RelationalOperator,
    conditions: Vec<ScalarExpression>,
) -> RelationalOperator {
    if conditions.is_empty() {
        return operator;
    }
    let gate = with_filter(RelationalOperator::SingleRow, conditions);
    let (left, right) = (Box::new(operator), Box::new(gate));
    RelationalOperator::Join { variant: JoinVariant::Semi, left, right, condition: None }
}

fn merge_into_columns(
    input: RelationalOperator,
    mut columns: Vec<ComputedColumn>,
) -> RelationalOperator {
    let (below, mut raised) = split_columns(input);
    let merged = columns.iter().map(|one| one.value.count_replaced(&raised));
    let merged = merged.fold(0, usize::saturating_add);
    let carried = raised.iter().map(|one| one.value.count()).fold(0, usize::saturating_add);
    if merged > EXPRESSIONS_MAX || merged.saturating_add(carried) > RAISED_MAX {
        return with_computed(with_computed(below, raised), columns);
    }
    columns.iter_mut().for_each(|one| one.value.replace_columns(&raised));
    raised.extend(columns);
    with_computed(below, raised)
}

fn merge_into_join(
    variant: JoinVariant,
    [left, right]: [RelationalOperator; 2],
    condition: Option<ScalarExpression>,
) -> RelationalOperator {
    let mut raised = Vec::new();
    let (mut left, mut right, mut condition) = (left, right, condition);
    if !variant.keeps_right() {
        let (below, own) = split_columns(left);
        left = below;
        if !variant.has_right() {
            let made = own.iter().map(|one| one.column).collect();
            let mut conditions = condition.into_iter().collect();
            right = without_conditions(right, &made, &mut conditions);
            condition = conjunction(conditions);
        }
        let seen = right.free_columns();
        if is_mergeable(&own, condition.as_ref(), &seen) {
            raised.extend(own);
        } else {
            left = with_computed(left, own);
        }
    }
    if variant.keeps_right() {
        let (below, own) = split_null_columns(left, condition.as_ref());
        left = below;
        raised.extend(own);
    }
    if variant.fills_right() {
        let (below, own) = split_null_columns(right, condition.as_ref());
        right = below;
        raised.extend(own);
    }
    if variant == JoinVariant::Inner {
        let (below, own) = split_columns(right);
        right = below;
        if is_mergeable(&own, condition.as_ref(), &HashSet::new()) {
            raised.extend(own);
        } else {
            right = with_computed(right, own);
        }
    }
    if let Some(condition) = &mut condition {
        condition.replace_columns(&raised);
    }
    let (left, right) = (Box::new(left), Box::new(right));
    with_computed(RelationalOperator::Join { variant, left, right, condition }, raised)
}

/// Whether columns can be computed above a join whose right side has the columns `seen` of the
/// left one.
fn is_mergeable(
    columns: &[ComputedColumn],
    condition: Option<&ScalarExpression>,
    seen: &HashSet<ColumnId>,
) -> bool {
    let count = condition.map_or(0, |condition| condition.count_replaced(columns));
    count <= EXPRESSIONS_MAX && !columns.iter().any(|one| seen.contains(&one.column))
}

/// Takes the columns that may fail from the top of an operator.
fn split_columns(operator: RelationalOperator) -> (RelationalOperator, Vec<ComputedColumn>) {
    let RelationalOperator::Compute { input, columns } = operator else {
        return (operator, Vec::new());
    };
    // A query with volatile columns stays a query of its own in PostgreSQL.
    let is_volatile = |one: &ComputedColumn| one.value.is_volatile();
    if !is_merged(&input) || columns.iter().any(is_volatile) {
        return (RelationalOperator::Compute { input, columns }, Vec::new());
    }
    let is_raised = |one: &ComputedColumn| !never_fails(&one.value);
    let (raised, kept) = columns.into_iter().partition(is_raised);
    (with_computed(*input, kept), raised)
}

/// Takes the columns that may fail, and are null if those of the operator below are, from the top
/// of a side that a join fills up with nulls.
fn split_null_columns(
    side: RelationalOperator,
    condition: Option<&ScalarExpression>,
) -> (RelationalOperator, Vec<ComputedColumn>) {
    let (below, own) = split_columns(side);
    if own.is_empty() {
        return (below, own);
    }
    let mut made = HashSet::new();
    below.collect_made_columns(&mut made);
    let is_null = |column: ColumnId| made.contains(&column);
    let (raised, kept) = own.into_iter().partition(|one| is_strict_about(&one.value, &is_null));
    let (raised, kept): (Vec<_>, Vec<_>) = (raised, kept);
    if is_mergeable(&raised, condition, &HashSet::new()) {
        (with_computed(below, kept), raised)
    } else {
        (with_computed(below, raised.into_iter().chain(kept).collect()), Vec::new())
    }
}
