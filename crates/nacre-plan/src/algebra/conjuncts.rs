//! Conditions as lists of what AND joins, the columns that they are about, and operators with them.

use std::collections::{BTreeSet, HashSet};

use nacre_syntax::SourceRange;
use nacre_types::SqlType;

use super::{ColumnId, ComputedColumn, RelationalOperator, ScalarExpression, ScalarKind};

/// Takes AND apart, from left to right.
pub(crate) fn split_conjunction(condition: ScalarExpression, into: &mut Vec<ScalarExpression>) {
    match condition.kind {
        ScalarKind::And(operands) => {
            operands.into_iter().for_each(|operand| split_conjunction(operand, into));
        }
        _ => into.push(condition),
    }
}

/// Returns the conjuncts of a condition, from left to right.
pub(crate) fn conjuncts_of(condition: &ScalarExpression) -> Vec<&ScalarExpression> {
    match &condition.kind {
        ScalarKind::And(operands) => operands.iter().flat_map(conjuncts_of).collect(),
        _ => vec![condition],
    }
}

/// Returns the branches of a condition.
pub(crate) fn disjuncts_of(condition: &ScalarExpression) -> Vec<&ScalarExpression> {
    match &condition.kind {
        ScalarKind::Or(operands) => operands.iter().flat_map(disjuncts_of).collect(),
        _ => vec![condition],
    }
}

/// Returns the condition that all are true; `None` for no conditions.
pub(crate) fn conjunction(conditions: Vec<ScalarExpression>) -> Option<ScalarExpression> {
    connect(conditions, ScalarKind::And)
}

/// Returns the condition that one is true; `None` for no conditions.
pub(crate) fn disjunction(conditions: Vec<ScalarExpression>) -> Option<ScalarExpression> {
    connect(conditions, ScalarKind::Or)
}

fn connect(
    mut conditions: Vec<ScalarExpression>,
    word: fn(Vec<ScalarExpression>) -> ScalarKind,
) -> Option<ScalarExpression> {
    if conditions.len() < 2 {
        return conditions.pop();
    }
    let range = match (conditions.first(), conditions.last()) {
        (Some(first), Some(last)) => first.range.to(last.range),
        _ => SourceRange::default(),
    };
    Some(ScalarExpression::new(word(conditions), SqlType::BOOLEAN, range))
}

/// Returns the operator with a filter above it, if there are conditions.
pub(crate) fn with_filter(
    input: RelationalOperator,
    conditions: Vec<ScalarExpression>,
) -> RelationalOperator {
    match conjunction(conditions) {
        Some(condition) => RelationalOperator::Filter { input: Box::new(input), condition },
        None => input,
    }
}

/// Takes the conditions that have some columns out of an operator: those of its filters, and of
/// filters on left sides of its joins that leave out rows alone.
pub(crate) fn without_conditions(
    operator: RelationalOperator,
    columns: &HashSet<ColumnId>,
    taken: &mut Vec<ScalarExpression>,
) -> RelationalOperator {
    match operator {
        RelationalOperator::Filter { input, condition } => {
            let has_column = |one: &ScalarExpression| {
                let mut used = HashSet::new();
                one.collect_columns(&mut used);
                !used.is_disjoint(columns)
            };
            let input = without_conditions(*input, columns, taken);
            let mut own = Vec::new();
            split_conjunction(condition, &mut own);
            let (found, kept) = own.into_iter().partition::<Vec<_>, _>(has_column);
            taken.extend(found);
            with_filter(input, kept)
        }
        RelationalOperator::Join { variant, left, right, condition } if !variant.keeps_right() => {
            let left = Box::new(without_conditions(*left, columns, taken));
            RelationalOperator::Join { variant, left, right, condition }
        }
        other => other,
    }
}

/// Expressions of a condition that is looked at below computed columns.
const CONDITION_EXPRESSIONS_MAX: usize = 1_000;

/// Whether a condition is small enough for what it is before columns are computed.
pub(crate) fn is_small_before(condition: &ScalarExpression, columns: &[ComputedColumn]) -> bool {
    condition.count_replaced(columns) <= CONDITION_EXPRESSIONS_MAX
}

/// Returns what a condition is before columns are computed; `None` if that is too large.
pub(crate) fn before_computed(
    condition: &ScalarExpression,
    columns: &[ComputedColumn],
) -> Option<ScalarExpression> {
    if !is_small_before(condition, columns) {
        return None;
    }
    let mut condition = condition.clone();
    condition.replace_columns(columns);
    Some(condition)
}

/// Returns the operator with further columns, if there are any.
pub(crate) fn with_computed(
    input: RelationalOperator,
    columns: Vec<ComputedColumn>,
) -> RelationalOperator {
    if columns.is_empty() {
        return input;
    }
    RelationalOperator::Compute { input: Box::new(input), columns }
}

/// Returns the columns of an expression.
pub(crate) fn columns_of(expression: &ScalarExpression) -> BTreeSet<ColumnId> {
    let mut columns = BTreeSet::new();
    collect_columns(expression, &mut columns);
    columns
}

fn collect_columns(expression: &ScalarExpression, into: &mut BTreeSet<ColumnId>) {
    if let ScalarKind::Column(column) = expression.kind {
        into.insert(column);
    }
    expression.children().for_each(|child| collect_columns(child, into));
}

/// Whether an expression has a column.
pub(crate) fn has_columns(expression: &ScalarExpression) -> bool {
    expression.any(&|one| matches!(one.kind, ScalarKind::Column(_)))
}
