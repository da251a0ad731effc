//! Queries that have one row at most, whatever the tables have.

use std::collections::HashSet;

use nacre_types::SqlValue;

use crate::algebra::conjuncts::conjuncts_of;
use crate::algebra::{
    ColumnId, ConstantValue, JoinVariant, RelationalOperator, ScalarExpression, ScalarKind,
    SetInput, SetVariant,
};
use crate::properties::{is_comparison, is_one_to_one};

/// Whether a query has one row, never more or less.
pub(crate) fn has_exactly_one_row(operator: &RelationalOperator) -> bool {
    match operator {
        RelationalOperator::SingleRow => true,
        RelationalOperator::Values { rows, .. } => rows.len() == 1,
        RelationalOperator::Aggregate { is_scalar, .. } => *is_scalar,
        RelationalOperator::CommonScan { query, .. } => query.has_one_row,
        RelationalOperator::Compute { input, .. } | RelationalOperator::Sort { input, .. } => {
            has_exactly_one_row(input)
        }
        _ => false,
    }
}

/// Returns the number that LIMIT or OFFSET says, if it is constant and not null.
pub(crate) fn constant_count(count: &ScalarExpression) -> Option<i64> {
    match &count.kind {
        ScalarKind::Constant(ConstantValue(SqlValue::BigInt(count))) => Some(*count),
        ScalarKind::Constant(ConstantValue(SqlValue::Integer(count))) => Some((*count).into()),
        ScalarKind::Cast { operand, .. } => constant_count(operand),
        _ => None,
    }
}

/// Whether a query has no more than one row for each row of the queries around it.
pub(crate) fn has_one_row_at_most(operator: &RelationalOperator) -> bool {
    let mut made = HashSet::new();
    operator.collect_made_columns(&mut made);
    let mut fixed = HashSet::new();
    is_unique(operator, &made, &mut fixed)
}

/// Whether a row of one side of a join has one partner at most on the side `other`.
pub(crate) fn has_one_partner_at_most(
    other: &RelationalOperator,
    condition: Option<&ScalarExpression>,
) -> bool {
    let mut made = HashSet::new();
    other.collect_made_columns(&mut made);
    let conjuncts = condition.into_iter().flat_map(conjuncts_of);
    let mut fixed = conjuncts.filter_map(|one| fixed_column(one, &made)).collect();
    is_unique(other, &made, &mut fixed)
}

/// Whether there is one row at most in which the columns `fixed` have certain values. `made` are
/// those of the whole query; others have one value.
fn is_unique(
    operator: &RelationalOperator,
    made: &HashSet<ColumnId>,
    fixed: &mut HashSet<ColumnId>,
) -> bool {
    match operator {
        RelationalOperator::SingleRow => true,
        RelationalOperator::Scan { relation, columns } => {
            let is_fixed = |position: &usize| {
                let mut own = columns.iter().filter(|one| one.position == *position);
                own.any(|one| fixed.contains(&one.column))
            };
            !relation.primary_key.is_empty() && relation.primary_key.iter().all(is_fixed)
        }
        RelationalOperator::CommonScan { query, columns } => {
            let is_fixed = |position: &usize| {
                let mut own = columns.iter().filter(|one| one.position == *position);
                own.any(|one| fixed.contains(&one.column))
            };
            query.has_one_row || query.key.as_ref().is_some_and(|key| key.iter().all(is_fixed))
        }
        RelationalOperator::Filter { input, condition } => {
            let fix = |one: &&ScalarExpression| fixed_column(one, made);
            fixed.extend(conjuncts_of(condition).iter().filter_map(fix));
            is_unique(input, made, fixed)
        }
        RelationalOperator::Aggregate { input, keys, is_scalar, .. } => {
            *is_scalar
                || keys.iter().all(|key| fixed.contains(key))
                || is_unique(input, made, fixed)
        }
        RelationalOperator::Limit { input, count, .. } => {
            count.as_ref().and_then(constant_count).is_some_and(|count| count <= 1)
                || is_unique(input, made, fixed)
        }
        RelationalOperator::Compute { input, .. }
        | RelationalOperator::Window { input, .. }
        | RelationalOperator::Sample { input, .. }
        | RelationalOperator::Sort { input, .. } => is_unique(input, made, fixed),
        RelationalOperator::Join { variant, left, right, condition } => match variant {
            JoinVariant::Semi | JoinVariant::Anti | JoinVariant::Single | JoinVariant::Mark(_) => {
                is_unique(left, made, fixed)
            }
            JoinVariant::Inner => {
                let conjuncts = condition.iter().flat_map(conjuncts_of);
                fixed.extend(conjuncts.filter_map(|one| fixed_column(one, made)));
                is_unique(left, made, fixed) && is_unique(right, made, fixed)
            }
            JoinVariant::Left | JoinVariant::Right | JoinVariant::Full => false,
        },
        RelationalOperator::GroupingSets { .. }
        | RelationalOperator::Series { .. }
        | RelationalOperator::Expand { .. } => false,
        RelationalOperator::Values { rows, .. } => rows.len() <= 1,
        RelationalOperator::SetOperation { variant: SetVariant::UnionAll, .. } => false,
        RelationalOperator::SetOperation { variant, columns, inputs } => {
            let is_distinct = matches!(variant, SetVariant::Intersect | SetVariant::Except);
            let is_first = |first: &SetInput| is_unique(&first.operator, made, &mut HashSet::new());
            is_distinct && columns.iter().all(|column| fixed.contains(column))
                || inputs.first().is_some_and(is_first)
        }
    }
}

/// Returns the column that a condition says the only value of: `column = value`.
fn fixed_column(condition: &ScalarExpression, made: &HashSet<ColumnId>) -> Option<ColumnId> {
    let ScalarKind::Operator { operator, operands } = &condition.kind else { return None };
    let [first, second] = &operands[..] else { return None };
    if operator.name != "=" || !is_comparison(operator) || !is_one_to_one(operator) {
        return None;
    }
    let is_outer = |value: &ScalarExpression| {
        let mut columns = HashSet::new();
        value.collect_columns(&mut columns);
        columns.is_disjoint(made)
    };
    let own = |value: &ScalarExpression| match value.kind {
        ScalarKind::Column(column) if made.contains(&column) => Some(column),
        _ => None,
    };
    match (own(first), own(second)) {
        (Some(column), None) if is_outer(second) => Some(column),
        (None, Some(column)) if is_outer(first) => Some(column),
        _ => None,
    }
}
