//! Which expressions and queries may be evaluated for more rows than the query says: infallible
//! and deterministic ones.
//!
//! What may fail of functions and casts `nacre-functions` says, to the executor as well.

use nacre_functions::catalog::{FunctionVolatility, OperatorEntry, find_function, operators_named};
use nacre_functions::coercion::{CoercionPathway, is_immutable_cast};
use nacre_functions::kernels::{KernelFallibility, call_fallibility, cast_never_fails};
use nacre_types::SqlValue;
use nacre_types::catalog::TypeOid;

use crate::algebra::conjuncts::has_columns;
use crate::algebra::{
    BoundAggregate, CastStep, ConstantValue, JoinVariant, RelationalOperator, ScalarExpression,
    ScalarKind,
};

/// Names of comparisons.
const COMPARISONS: [&str; 6] = ["=", "<>", "<", "<=", ">", ">="];
/// Names of LIKE and ILIKE and their opposites.
const PATTERN_TESTS: [&str; 4] = ["~~", "!~~", "~~*", "!~~*"];

/// Aggregates that have a value for all rows; sums and averages only of exact numbers, collections
/// unless they are huge.
const INFALLIBLE_AGGREGATES: [&str; 13] = [
    "count",
    "min",
    "max",
    "bool_and",
    "bool_or",
    "every",
    "string_agg",
    "regr_count",
    "mode",
    "rank",
    "dense_rank",
    "percent_rank",
    "cume_dist",
];

/// Window functions that have a value for all rows.
const INFALLIBLE_WINDOW_FUNCTIONS: [&str; 7] =
    ["row_number", "rank", "dense_rank", "percent_rank", "cume_dist", "first_value", "last_value"];

/// What beside infallible expressions is taken for one.
#[derive(Clone, Copy, Debug, Default)]
struct FallibilityRule {
    /// Numerics that have too many digits for the executor.
    allows_digits: bool,
    /// Values that are computed once: they fail for all rows or none.
    allows_once: bool,
    /// Whether constants may fail: their errors are those of the whole query else.
    counts_constants: bool,
}

/// Whether a condition may move past joins. PostgreSQL has values that are computed once where the
/// other columns of a condition are, too.
pub(crate) fn may_move(condition: &ScalarExpression) -> bool {
    let rule = FallibilityRule { allows_once: true, ..FallibilityRule::default() };
    is_infallible(condition, rule) && has_columns(condition)
}

/// Whether an expression has a value for all rows, and always the same.
pub(crate) fn never_fails(expression: &ScalarExpression) -> bool {
    is_infallible(expression, FallibilityRule::default())
}

/// As [`never_fails`], of constants, too.
pub(crate) fn is_total(expression: &ScalarExpression) -> bool {
    is_infallible(
        expression,
        FallibilityRule { counts_constants: true, ..FallibilityRule::default() },
    )
}

/// Whether an aggregate has a value for all rows, if its arguments do. Numerics that have too many
/// digits for the executor are no errors here.
pub(crate) fn aggregate_never_fails(aggregate: &BoundAggregate) -> bool {
    let rule = FallibilityRule { allows_digits: true, ..FallibilityRule::default() };
    is_infallible_aggregate(aggregate.function.name, &aggregate.arguments)
        && aggregate.expressions().into_iter().all(|one| is_infallible(one, rule))
}

/// Whether a query within another one has rows for all columns of that, and always the same.
/// Numerics that have too many digits for the executor are no errors here.
pub(crate) fn query_never_fails(operator: &RelationalOperator) -> bool {
    is_infallible_query(operator, false)
}

/// As [`query_never_fails`], but for common queries that it reads, and values that are computed
/// once: what a join of FROM reads, too.
pub(crate) fn own_query_never_fails(operator: &RelationalOperator) -> bool {
    is_infallible_query(operator, true)
}

fn is_infallible_query(operator: &RelationalOperator, allows_common: bool) -> bool {
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
        RelationalOperator::CommonScan { query, .. } => allows_common || !query.may_fail,
        // A step of zero.
        RelationalOperator::Series { arguments, .. } => arguments.len() == 2,
        RelationalOperator::Expand { functions, .. } => functions.iter().all(|one| {
            // A numeric that is none, or has no end.
            one.arguments.len() < 3 && one.result.oid() != TypeOid::NUMERIC
        }),
        RelationalOperator::Limit { count, offset, .. } => {
            count.iter().chain(offset).all(never_fails)
        }
        _ => true,
    };
    let (allows_digits, allows_once, counts_constants) = (true, allows_common, false);
    let rule = FallibilityRule { allows_digits, allows_once, counts_constants };
    is_own
        && operator.expressions().into_iter().all(|one| is_infallible(one, rule))
        && operator.inputs().all(|input| is_infallible_query(input, allows_common))
}

fn is_infallible_aggregate(name: &str, arguments: &[ScalarExpression]) -> bool {
    let is_exact = |argument: &ScalarExpression| {
        let types = [TypeOid::INT2, TypeOid::INT4, TypeOid::INT8, TypeOid::NUMERIC];
        types.contains(&argument.sql_type.oid())
    };
    let is_element = |argument: &ScalarExpression| argument.sql_type.element().is_none();
    INFALLIBLE_AGGREGATES.contains(&name)
        || (["bit_and", "bit_or", "bit_xor"].contains(&name) && arguments.iter().all(is_exact))
        || (name == "array_agg" && arguments.iter().all(is_element))
        || (["sum", "avg"].contains(&name) && arguments.iter().all(is_exact))
}

fn is_infallible(expression: &ScalarExpression, rule: FallibilityRule) -> bool {
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
        ScalarKind::Extreme { .. } => is_ordered(expression.sql_type.oid()),
        ScalarKind::Operator { operator, operands } => {
            is_infallible_call(operator.function, operands, rule.allows_digits)
        }
        ScalarKind::IsDistinct { operator, .. }
        | ScalarKind::NullIf { operator, .. }
        | ScalarKind::Quantified { operator, .. } => is_comparison(operator),
        ScalarKind::Cast { operand, method } => {
            is_widening(operand, expression.sql_type.oid(), *method)
        }
        ScalarKind::Function { function, arguments } => {
            !function.returns_set && is_infallible_call(function.oid, arguments, rule.allows_digits)
        }
        ScalarKind::Proven(inner) => {
            return inner.children().all(|one| is_infallible(one, rule));
        }
        ScalarKind::Once(_) => rule.allows_once,
        // It may be dear, too.
        ScalarKind::Call { .. }
        | ScalarKind::OnlyValue { .. }
        | ScalarKind::UnknownLiteral(_)
        | ScalarKind::Aggregate(_)
        | ScalarKind::Subquery(_)
        | ScalarKind::Window { .. }
        | ScalarKind::Grouping(_) => false,
    };
    if is_safe {
        return expression.children().all(|one| is_infallible(one, rule));
    }
    !rule.counts_constants && is_constant_folded(expression)
}

/// Whether an operator is a comparison that never fails.
pub(crate) fn is_comparison(operator: &OperatorEntry) -> bool {
    let unknown = [None, None];
    COMPARISONS.contains(&operator.name)
        && operator.left.is_some()
        && call_fallibility(operator.function, &unknown) == KernelFallibility::Never
}

/// Whether values of a type compare, and never fail.
fn is_ordered(oid: TypeOid) -> bool {
    let oid = if oid == TypeOid::VARCHAR { TypeOid::TEXT } else { oid };
    let is_own = |one: &&OperatorEntry| one.left == Some(oid) && one.right == oid;
    operators_named("<").find(is_own).is_some_and(is_comparison)
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

/// Whether a call has a value for all arguments beside its constants, and in one statement always
/// the same: volatile functions count as what may fail.
fn is_infallible_call(oid: u32, arguments: &[ScalarExpression], with_sizes: bool) -> bool {
    let constants = arguments.iter().map(|argument| match &argument.kind {
        ScalarKind::Constant(ConstantValue(value)) => Some(value),
        _ => None,
    });
    let constants: Vec<Option<&SqlValue>> = constants.collect();
    match call_fallibility(oid, &constants) {
        KernelFallibility::Never => true,
        KernelFallibility::BySize => with_sizes,
        KernelFallibility::ByValue => false,
    }
}

fn is_widening(operand: &ScalarExpression, target: TypeOid, method: CastStep) -> bool {
    match method {
        CastStep::Type(CoercionPathway::Same) => true,
        CastStep::Type(CoercionPathway::Function | CoercionPathway::InputOutput) => {
            cast_never_fails(operand.sql_type.oid(), target)
        }
        CastStep::Type(CoercionPathway::Elements) | CastStep::Modifier { .. } => false,
    }
}

/// Whether it is computed from constants before the first row, wherever it stands: an error of it
/// is one of the whole query.
fn is_constant_folded(expression: &ScalarExpression) -> bool {
    let is_folded = match &expression.kind {
        ScalarKind::Constant(_) => true,
        ScalarKind::Cast { operand, method: CastStep::Type(pathway) } => {
            is_immutable_cast(*pathway, operand.sql_type.oid(), expression.sql_type.oid())
        }
        ScalarKind::Cast { method: CastStep::Modifier { .. }, .. } => true,
        ScalarKind::Operator { operator, .. } => {
            let function = find_function(operator.function);
            function.is_some_and(|function| function.volatility == FunctionVolatility::Immutable)
        }
        _ => false,
    };
    is_folded && expression.children().all(is_constant_folded)
}
