//! Which expressions and queries may be evaluated for more rows than the query says: infallible
//! and deterministic ones.
//!
//! The lists name the safe ones; all others stay where SQL puts them.

use nacre_functions::catalog::{FunctionEntry, OperatorEntry, Volatility, find_function};
use nacre_functions::coercion::CoercionPathway;
use nacre_types::SqlValue;
use nacre_types::catalog::TypeOid;

use crate::algebra::conjuncts::has_columns;
use crate::algebra::{
    CastStep, ConstantValue, JoinVariant, RelationalOperator, ScalarExpression, ScalarKind,
};

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

/// Functions that have a value for all arguments, and in one statement always the same.
const INFALLIBLE_FUNCTIONS: [&str; 19] = [
    "lower",
    "upper",
    "initcap",
    "length",
    "char_length",
    "character_length",
    "octet_length",
    "btrim",
    "ltrim",
    "rtrim",
    "reverse",
    "left",
    "right",
    "strpos",
    "position",
    "starts_with",
    "now",
    "transaction_timestamp",
    "statement_timestamp",
];

/// Fields that `extract` has of dates and timestamps.
const DATE_FIELDS: [&str; 12] = [
    "year",
    "quarter",
    "month",
    "week",
    "day",
    "dow",
    "doy",
    "isodow",
    "isoyear",
    "decade",
    "century",
    "millennium",
];

/// Aggregates that have a value for all rows; sums and averages only of exact numbers.
const INFALLIBLE_AGGREGATES: [&str; 6] = ["count", "min", "max", "bool_and", "bool_or", "every"];

/// Window functions that have a value for all rows.
const INFALLIBLE_WINDOW_FUNCTIONS: [&str; 7] =
    ["row_number", "rank", "dense_rank", "percent_rank", "cume_dist", "first_value", "last_value"];

/// Whether a condition may move past joins.
pub(crate) fn may_move(condition: &ScalarExpression) -> bool {
    never_fails(condition) && has_columns(condition)
}

/// Whether an expression has a value for all rows, and always the same.
pub(crate) fn never_fails(expression: &ScalarExpression) -> bool {
    is_infallible(expression, false)
}

/// Whether a query within another one has rows for all columns of that, and always the same.
/// Numerics that have too many digits for the executor are no errors here.
pub(crate) fn query_never_fails(operator: &RelationalOperator) -> bool {
    let is_own = match operator {
        RelationalOperator::Aggregate { aggregates, .. }
        | RelationalOperator::GroupingSets { aggregates, .. } => aggregates
            .iter()
            .all(|one| is_infallible_aggregate(one.call.function.name, &one.call.arguments)),
        RelationalOperator::Window { functions, .. } => functions.iter().all(|one| {
            let (name, arguments) = (one.call.function.name, &one.call.arguments[..]);
            one.frame.offsets().is_empty()
                && (INFALLIBLE_WINDOW_FUNCTIONS.contains(&name)
                    || is_infallible_aggregate(name, arguments))
        }),
        RelationalOperator::Join { variant: JoinVariant::Single, .. } => false,
        RelationalOperator::CommonScan { query, .. } => !query.may_fail,
        // A step of zero.
        RelationalOperator::Series { arguments, .. } => arguments.len() == 2,
        RelationalOperator::Limit { count, offset, .. } => {
            count.iter().chain(offset).all(never_fails)
        }
        _ => true,
    };
    is_own
        && operator.expressions().into_iter().all(|one| is_infallible(one, true))
        && operator.inputs().into_iter().all(query_never_fails)
}

fn is_infallible_aggregate(name: &str, arguments: &[ScalarExpression]) -> bool {
    let is_exact = |argument: &ScalarExpression| {
        let types = [TypeOid::INT2, TypeOid::INT4, TypeOid::INT8, TypeOid::NUMERIC];
        types.contains(&argument.sql_type.oid())
    };
    INFALLIBLE_AGGREGATES.contains(&name)
        || (["sum", "avg"].contains(&name) && arguments.iter().all(is_exact))
}

fn is_infallible(expression: &ScalarExpression, with_numerics: bool) -> bool {
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
            is_comparison(operator)
                || is_pattern_test(operator, operands)
                || (with_numerics && is_numeric_arithmetic(operator))
        }
        ScalarKind::IsDistinct { operator, .. }
        | ScalarKind::NullIf { operator, .. }
        | ScalarKind::Quantified { operator, .. } => is_comparison(operator),
        ScalarKind::Cast { operand, method } => {
            is_widening(operand, expression.sql_type.oid(), *method)
        }
        ScalarKind::Function { function, arguments } => is_infallible_function(function, arguments),
        ScalarKind::UnknownLiteral(_)
        | ScalarKind::Aggregate(_)
        | ScalarKind::Subquery(_)
        | ScalarKind::Window { .. }
        | ScalarKind::Grouping(_) => false,
    };
    if is_safe {
        return expression.children().into_iter().all(|one| is_infallible(one, with_numerics));
    }
    is_constant_folded(expression)
}

/// Whether an operator is a comparison that never fails.
pub(crate) fn is_comparison(operator: &OperatorEntry) -> bool {
    let is_compared = |oid: TypeOid| COMPARED_TYPES.contains(&oid);
    COMPARISONS.contains(&operator.name)
        && operator.left.is_some_and(is_compared)
        && is_compared(operator.right)
}

/// Whether an equality holds for one value of each side at most: clocks that are set back show two
/// moments alike.
pub(crate) fn is_one_to_one(operator: &OperatorEntry) -> bool {
    operator.left == Some(operator.right)
        || (operator.left != Some(TypeOid::TIMESTAMPTZ) && operator.right != TypeOid::TIMESTAMPTZ)
}

/// Whether an operator is LIKE, ILIKE or an opposite of them, for any string type.
pub(crate) fn is_like(operator: &OperatorEntry) -> bool {
    PATTERN_TESTS.contains(&operator.name)
}

/// Whether it is a sum, difference or product of numerics.
fn is_numeric_arithmetic(operator: &OperatorEntry) -> bool {
    ["+", "-", "*"].contains(&operator.name)
        && operator.right == TypeOid::NUMERIC
        && operator.left.is_none_or(|left| left == TypeOid::NUMERIC)
}

fn is_infallible_function(function: &FunctionEntry, arguments: &[ScalarExpression]) -> bool {
    if INFALLIBLE_FUNCTIONS.contains(&function.name) {
        return true;
    }
    let constant = |index: usize| match &arguments.get(index)?.kind {
        ScalarKind::Constant(value) => Some(&value.0),
        _ => None,
    };
    match (function.name, arguments.len()) {
        ("extract", 2) => match constant(0) {
            Some(SqlValue::Text(field)) => {
                let moments = [TypeOid::DATE, TypeOid::TIMESTAMP, TypeOid::TIMESTAMPTZ];
                DATE_FIELDS.contains(&field.as_str())
                    && function.arguments.get(1).is_some_and(|own| moments.contains(own))
            }
            _ => false,
        },
        // A negative length is an error.
        ("substring" | "substr", 3) => {
            matches!(constant(2), Some(SqlValue::Integer(length)) if *length >= 0)
        }
        ("substring" | "substr", 2) => function.arguments.get(1) == Some(&TypeOid::INT4),
        _ => false,
    }
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
