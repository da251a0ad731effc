//! Which expressions may be evaluated for more rows than the query says: infallible and
//! deterministic ones.
//!
//! The list names the safe ones; all others stay where SQL puts them.

use nacre_functions::catalog::{OperatorEntry, Volatility, find_function};
use nacre_functions::coercion::CoercionPathway;
use nacre_types::SqlValue;
use nacre_types::catalog::TypeOid;

use super::conjuncts::has_columns;
use crate::algebra::{CastStep, ConstantValue, ScalarExpression, ScalarKind};

/// Names of comparisons.
const COMPARISONS: [&str; 6] = ["=", "<>", "<", "<=", ">", ">="];
/// Names of LIKE and ILIKE and their opposites.
const PATTERN_TESTS: [&str; 4] = ["~~", "!~~", "~~*", "!~~*"];

/// Types whose comparisons, also with each other, never fail.
const COMPARED_TYPES: [TypeOid; 20] = [
    TypeOid::BOOL,
    TypeOid::INT2,
    TypeOid::INT4,
    TypeOid::INT8,
    TypeOid::NUMERIC,
    TypeOid::FLOAT4,
    TypeOid::FLOAT8,
    TypeOid::TEXT,
    TypeOid::VARCHAR,
    TypeOid::BPCHAR,
    TypeOid::CHAR,
    TypeOid::NAME,
    TypeOid::BYTEA,
    TypeOid::UUID,
    TypeOid::OID,
    TypeOid::DATE,
    TypeOid::TIME,
    TypeOid::TIMESTAMP,
    TypeOid::TIMESTAMPTZ,
    TypeOid::INTERVAL,
];

/// Casts by a function that have a value for every one of the source.
const WIDENING_CASTS: [(TypeOid, TypeOid); 13] = [
    (TypeOid::INT2, TypeOid::INT4),
    (TypeOid::INT2, TypeOid::INT8),
    (TypeOid::INT2, TypeOid::NUMERIC),
    (TypeOid::INT2, TypeOid::FLOAT4),
    (TypeOid::INT2, TypeOid::FLOAT8),
    (TypeOid::INT4, TypeOid::INT8),
    (TypeOid::INT4, TypeOid::NUMERIC),
    (TypeOid::INT4, TypeOid::FLOAT8),
    (TypeOid::INT8, TypeOid::NUMERIC),
    (TypeOid::INT8, TypeOid::FLOAT8),
    (TypeOid::FLOAT4, TypeOid::FLOAT8),
    (TypeOid::BPCHAR, TypeOid::TEXT),
    (TypeOid::BPCHAR, TypeOid::VARCHAR),
];

/// Whether a condition may move past joins.
pub(super) fn may_move(condition: &ScalarExpression) -> bool {
    never_fails(condition) && has_columns(condition)
}

/// Whether an expression has a value for all rows, and always the same.
pub(super) fn never_fails(expression: &ScalarExpression) -> bool {
    let is_safe = match &expression.kind {
        ScalarKind::Column(_)
        | ScalarKind::Constant(_)
        | ScalarKind::Parameter(_)
        | ScalarKind::And(_)
        | ScalarKind::Or(_)
        | ScalarKind::Not(_)
        | ScalarKind::IsNull(_)
        | ScalarKind::IsTruth { .. }
        | ScalarKind::Case { .. }
        | ScalarKind::Coalesce(_) => true,
        ScalarKind::Extreme { .. } => COMPARED_TYPES.contains(&expression.sql_type.oid()),
        ScalarKind::Operator { operator, operands } => {
            is_comparison(operator) || is_pattern_test(operator, operands)
        }
        ScalarKind::IsDistinct { operator, .. }
        | ScalarKind::NullIf { operator, .. }
        | ScalarKind::Quantified { operator, .. } => is_comparison(operator),
        ScalarKind::Cast { operand, method } => {
            is_widening(operand, expression.sql_type.oid(), *method)
        }
        ScalarKind::UnknownLiteral(_)
        | ScalarKind::Function { .. }
        | ScalarKind::Aggregate(_)
        | ScalarKind::Grouping(_) => false,
    };
    if is_safe {
        return expression.children().into_iter().all(never_fails);
    }
    is_constant_folded(expression)
}

/// Whether an operator is a comparison that never fails.
pub(super) fn is_comparison(operator: &OperatorEntry) -> bool {
    let is_compared = |oid: TypeOid| COMPARED_TYPES.contains(&oid);
    COMPARISONS.contains(&operator.name)
        && operator.left.is_some_and(is_compared)
        && is_compared(operator.right)
}

/// Whether an operator is LIKE, ILIKE or an opposite of them, for any string type.
pub(super) fn is_like(operator: &OperatorEntry) -> bool {
    PATTERN_TESTS.contains(&operator.name)
}

/// Whether it is LIKE with an infallible pattern, which does not end in an escape.
fn is_pattern_test(operator: &OperatorEntry, operands: &[ScalarExpression]) -> bool {
    let [_, pattern] = operands else { return false };
    let ScalarKind::Constant(ConstantValue(SqlValue::Text(pattern))) = &pattern.kind else {
        return false;
    };
    let escapes = pattern.bytes().rev().take_while(|byte| *byte == b'\\').count();
    is_like(operator) && operator.right == TypeOid::TEXT && escapes % 2 == 0
}

fn is_widening(operand: &ScalarExpression, target: TypeOid, method: CastStep) -> bool {
    match method {
        CastStep::Type(CoercionPathway::Same) => true,
        CastStep::Type(CoercionPathway::Function) => {
            WIDENING_CASTS.contains(&(operand.sql_type.oid(), target))
        }
        CastStep::Type(CoercionPathway::InputOutput | CoercionPathway::Elements)
        | CastStep::Modifier { .. } => false,
    }
}

/// Whether it is computed from constants before the first row, wherever it stands: an error of it
/// is one of the whole query.
fn is_constant_folded(expression: &ScalarExpression) -> bool {
    let is_folded = match &expression.kind {
        ScalarKind::Constant(_) => true,
        ScalarKind::Cast { method, .. } => matches!(
            method,
            CastStep::Type(CoercionPathway::Same | CoercionPathway::Function)
                | CastStep::Modifier { .. }
        ),
        ScalarKind::Operator { operator, .. } => {
            let function = find_function(operator.function);
            function.is_some_and(|function| function.volatility == Volatility::Immutable)
        }
        _ => false,
    };
    is_folded && expression.children().into_iter().all(is_constant_folded)
}
