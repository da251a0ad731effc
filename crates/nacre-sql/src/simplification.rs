//! The planner's simplification of expressions, without the parts of it that change answers.
//!
//! The planner's rule cannot leave out a part of itself. So an identity function
//! ([`BarrierFunction`]) is put around expressions that it must not look into, and taken away
//! again behind it:
//!
//! 1. A cast that loses digits or may fail. The rule would compare the value below it with the
//!    constant, so that `n::int = 2` would not be true for 2.4.
//! 2. One of two conditions under AND or OR that test the same value, which may be null. The rule
//!    merges lists of constants: `a IN (1, 2) AND a IN (3, 4)` becomes false, and is null for null.
//! 3. A regular expression that the rule would make IS NOT NULL or a wrong LIKE of.
//!
//! # Invariants
//! 1. No plan between two rules has the function.
//!
//! # See
//! `tests/sql/query/casts_compared.slt`, `tests/sql/query/conditions_and_null.slt`.

use std::collections::HashSet;
use std::sync::{Arc, LazyLock};

use datafusion::arrow::datatypes::{DataType, FieldRef};
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::common::{DFSchema, Result, internal_err};
use datafusion::logical_expr::expr::{Cast, InList, ScalarFunction, TryCast};
use datafusion::logical_expr::simplify::SimplifyContext;
use datafusion::logical_expr::utils::merge_schema;
use datafusion::logical_expr::{
    BinaryExpr, ColumnarValue, Expr, ExprSchemable, LogicalPlan, Operator, ReturnFieldArgs,
    ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};
use datafusion::optimizer::simplify_expressions::{ExprSimplifier, SimplifyExpressions};
use datafusion::optimizer::{ApplyOrder, OptimizerConfig, OptimizerRule};

/// The name of the function, which only errors of the planner show.
const BARRIER: &str = "nacre_barrier";

/// The regular expression that the planner takes for IS NOT NULL.
const ANY_TEXT: &str = ".*";

/// Around values; one of a constant is computed by the planner.
static VALUE_BARRIER: LazyLock<Arc<ScalarUDF>> =
    LazyLock::new(|| barrier_of(Volatility::Immutable));

/// Around constants, which stay as they are.
static CONSTANT_BARRIER: LazyLock<Arc<ScalarUDF>> =
    LazyLock::new(|| barrier_of(Volatility::Volatile));

fn barrier_of(volatility: Volatility) -> Arc<ScalarUDF> {
    Arc::new(ScalarUDF::new_from_impl(BarrierFunction { signature: Signature::any(1, volatility) }))
}

/// Whether false and null make a difference where a condition stands.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ConditionPlace {
    /// Rows are kept where it is true.
    Filter,
    /// Everywhere else.
    Value,
}

/// The planner's rule, with barriers.
#[derive(Debug, Default)]
pub(crate) struct GuardedSimplification {
    planned: SimplifyExpressions,
}

/// A rule of the planner.
type PlannerRule = Arc<dyn OptimizerRule + Send + Sync>;

impl GuardedSimplification {
    /// Puts this rule in the place of the planner's.
    pub(crate) fn replace(rule: PlannerRule) -> PlannerRule {
        let own = Self::default();
        if rule.name() == own.name() { Arc::new(own) } else { rule }
    }
}

impl OptimizerRule for GuardedSimplification {
    fn name(&self) -> &str {
        self.planned.name()
    }

    fn apply_order(&self) -> Option<ApplyOrder> {
        self.planned.apply_order()
    }

    fn rewrite(
        &self,
        plan: LogicalPlan,
        config: &dyn OptimizerConfig,
    ) -> Result<Transformed<LogicalPlan>> {
        if !needs_barriers(&plan)? {
            return self.planned.rewrite(plan, config);
        }
        let schema = input_schema(&plan)?;
        let filter = match &plan {
            LogicalPlan::Join(join) => join.filter.clone(),
            _ => None,
        };
        let are_filters = matches!(plan, LogicalPlan::Filter(_) | LogicalPlan::TableScan(_));
        let guarded = plan.map_expressions(|expr| {
            let place = if are_filters || filter.as_ref() == Some(&expr) {
                ConditionPlace::Filter
            } else {
                ConditionPlace::Value
            };
            Ok(Transformed::yes(put_barriers(expr, place, &schema)?.0))
        })?;
        let simplified = self.planned.rewrite(guarded.data, config)?;
        let is_changed = simplified.transformed;
        let unguarded = simplified.data.map_expressions(take_barriers)?;
        Ok(Transformed::new_transformed(unguarded.data, is_changed))
    }
}

/// Simplifies a value that is computed outside of a plan.
///
/// # Errors
/// Those of the planner.
pub(crate) fn simplify_value(
    expr: Expr,
    schema: &DFSchema,
    context: SimplifyContext,
) -> Result<Expr> {
    let (guarded, _) = put_barriers(expr, ConditionPlace::Value, schema)?;
    let simplified = ExprSimplifier::new(context).simplify(guarded)?;
    Ok(take_barriers(simplified)?.data)
}

/// Whether a plan's own expressions may have anything to put a barrier around.
fn needs_barriers(plan: &LogicalPlan) -> Result<bool> {
    let mut is_needed = false;
    plan.apply_expressions(|expr| {
        expr.apply(|part| {
            is_needed |= match part {
                Expr::Cast(_) | Expr::TryCast(_) => true,
                Expr::BinaryExpr(BinaryExpr { op, .. }) => joins_conditions(*op) || is_regex(*op),
                _ => false,
            };
            Ok(if is_needed { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
        })
    })?;
    Ok(is_needed)
}

/// Returns the columns that a plan's own expressions may look at.
fn input_schema(plan: &LogicalPlan) -> Result<DFSchema> {
    match plan {
        LogicalPlan::TableScan(scan) => {
            DFSchema::try_from_qualified_schema(scan.table_name.clone(), &scan.source.schema())
        }
        other => Ok(merge_schema(&other.inputs())),
    }
}

/// Puts the barriers into an expression; returns the tests of constants that it is made of, too.
fn put_barriers(
    expr: Expr,
    place: ConditionPlace,
    schema: &DFSchema,
) -> Result<(Expr, ConstantTests)> {
    match expr {
        Expr::BinaryExpr(BinaryExpr { left, op, right }) if joins_conditions(op) => {
            let (left, tests) = put_barriers(*left, place, schema)?;
            let (mut right, others) = put_barriers(*right, place, schema)?;
            if tests.merge_wrongly(&others, op, place, schema) {
                right = VALUE_BARRIER.call(vec![right]);
            }
            let expr = BinaryExpr { left: Box::new(left), op, right: Box::new(right) };
            Ok((Expr::BinaryExpr(expr), tests.and_those(others)))
        }
        Expr::Not(inner) => {
            let (inner, tests) = put_barriers(*inner, ConditionPlace::Value, schema)?;
            Ok((Expr::Not(Box::new(inner)), tests.negated()))
        }
        other => {
            let below =
                |child| Ok(Transformed::yes(put_barriers(child, ConditionPlace::Value, schema)?.0));
            let expr = other.map_children(below)?.data;
            let tests = ConstantTests::of_one(&expr);
            Ok((guard_one(expr, schema), tests))
        }
    }
}

/// Puts a barrier around a cast, or around the pattern of a match.
fn guard_one(expr: Expr, schema: &DFSchema) -> Expr {
    let narrows = |inner: &Expr, to: &DataType| {
        !matches!(inner, Expr::Literal(..))
            && inner.get_type(schema).is_ok_and(|from| is_narrowing(&from, to))
    };
    match expr {
        Expr::Cast(Cast { expr: ref inner, ref field })
        | Expr::TryCast(TryCast { expr: ref inner, ref field })
            if narrows(inner, field.data_type()) =>
        {
            VALUE_BARRIER.call(vec![expr])
        }
        Expr::BinaryExpr(BinaryExpr { left, op, right })
            if is_regex(op) && is_misread_pattern(&right) =>
        {
            let right = Box::new(CONSTANT_BARRIER.call(vec![*right]));
            Expr::BinaryExpr(BinaryExpr { left, op, right })
        }
        other => other,
    }
}

/// Takes the barriers away.
fn take_barriers(expr: Expr) -> Result<Transformed<Expr>> {
    expr.transform_up(|part| match part {
        Expr::ScalarFunction(ScalarFunction { func, mut args })
            if func.name() == BARRIER && args.len() == 1 =>
        {
            Ok(Transformed::yes(args.remove(0)))
        }
        other => Ok(Transformed::no(other)),
    })
}

fn joins_conditions(op: Operator) -> bool {
    matches!(op, Operator::And | Operator::Or)
}

fn is_regex(op: Operator) -> bool {
    use Operator::{RegexIMatch, RegexMatch, RegexNotIMatch, RegexNotMatch};
    matches!(op, RegexMatch | RegexIMatch | RegexNotMatch | RegexNotIMatch)
}

/// Whether the planner makes something else of a regular expression. A backslash in a text that
/// is to be matched would be an escape in the LIKE that it makes.
fn is_misread_pattern(pattern: &Expr) -> bool {
    match pattern {
        Expr::Literal(value, _) => {
            let text = value.try_as_str().flatten();
            text.is_some_and(|text| text == ANY_TEXT || text.contains('\\'))
        }
        // The planner computes it first.
        Expr::Cast(Cast { expr, .. }) => is_misread_pattern(expr),
        _ => false,
    }
}

/// Whether a cast between exact numbers gives several of them the same value, or may fail.
fn is_narrowing(from: &DataType, to: &DataType) -> bool {
    match (exact_digits(from), exact_digits(to)) {
        (Some(digits), Some(kept)) => {
            from != to && (digits.whole_max > kept.whole_min || digits.fraction > kept.fraction)
        }
        _ => false,
    }
}

/// How many digits the numbers of a type have.
struct ExactDigits {
    /// Before the point: of the largest number.
    whole_max: i16,
    /// Before the point: of the largest power of ten below which there are all numbers.
    whole_min: i16,
    /// Behind the point.
    fraction: i16,
}

fn exact_digits(data_type: &DataType) -> Option<ExactDigits> {
    let integer = |whole_max, whole_min| Some(ExactDigits { whole_max, whole_min, fraction: 0 });
    match data_type {
        DataType::Int8 | DataType::UInt8 => integer(3, 2),
        DataType::Int16 | DataType::UInt16 => integer(5, 4),
        DataType::Int32 | DataType::UInt32 => integer(10, 9),
        DataType::Int64 => integer(19, 18),
        DataType::UInt64 => integer(20, 19),
        DataType::Decimal32(precision, scale)
        | DataType::Decimal64(precision, scale)
        | DataType::Decimal128(precision, scale) => {
            let fraction = i16::from(*scale);
            let whole = i16::from(*precision) - fraction;
            Some(ExactDigits { whole_max: whole, whole_min: whole, fraction })
        }
        _ => None,
    }
}

/// Tests of values against constants that a condition is made of.
#[derive(Default)]
struct ConstantTests {
    /// Values that are equal to a constant of the test if it is true.
    equal: HashSet<Expr>,
    /// Values that are equal to none.
    unequal: HashSet<Expr>,
    /// Whether a list has a null, or something that may become one.
    has_null: bool,
}

impl ConstantTests {
    /// Returns what a condition without AND, OR and NOT tests.
    fn of_one(condition: &Expr) -> Self {
        let mut tests = Self::default();
        match condition {
            Expr::InList(InList { expr, list, negated }) => {
                let is_known =
                    |one: &Expr| matches!(one, Expr::Literal(value, _) if !value.is_null());
                tests.has_null = !list.iter().all(is_known);
                tests.note(expr, *negated);
            }
            Expr::BinaryExpr(BinaryExpr {
                left,
                op: op @ (Operator::Eq | Operator::NotEq),
                right,
            }) => match (left.as_ref(), right.as_ref()) {
                (value, Expr::Literal(..)) | (Expr::Literal(..), value) => {
                    tests.note(value, *op == Operator::NotEq);
                }
                _ => {}
            },
            _ => {}
        }
        tests
    }

    fn note(&mut self, value: &Expr, is_unequal: bool) {
        let mut value = value;
        // The planner takes casts away that lose nothing.
        while let Expr::Cast(Cast { expr, .. }) | Expr::TryCast(TryCast { expr, .. }) = value {
            value = expr;
        }
        let values = if is_unequal { &mut self.unequal } else { &mut self.equal };
        values.insert(value.clone());
    }

    fn negated(self) -> Self {
        Self { equal: self.unequal, unequal: self.equal, has_null: self.has_null }
    }

    fn and_those(self, others: Self) -> Self {
        Self {
            equal: united(self.equal, others.equal),
            unequal: united(self.unequal, others.unequal),
            has_null: self.has_null || others.has_null,
        }
    }

    /// Whether the planner may merge these tests and `others`, joined by `op`, to something that
    /// is another value for null. Lists that are united are right.
    fn merge_wrongly(
        &self,
        others: &Self,
        op: Operator,
        place: ConditionPlace,
        schema: &DFSchema,
    ) -> bool {
        let has_null = self.has_null || others.has_null;
        let is_wrong = |value: &Expr| has_null || value.nullable(schema).unwrap_or(true);
        let (values, others_values) = match op {
            // A filter drops a row for false as for null.
            Operator::And if place == ConditionPlace::Filter && !has_null => return false,
            Operator::And => (&self.equal, &others.equal),
            _ => (&self.unequal, &others.unequal),
        };
        meet(values, others_values, &is_wrong)
            || meet(&self.equal, &others.unequal, &is_wrong)
            || meet(&self.unequal, &others.equal, &is_wrong)
    }
}

/// Unites two sets; the smaller one is moved.
fn united(one: HashSet<Expr>, other: HashSet<Expr>) -> HashSet<Expr> {
    let (mut larger, smaller) = if one.len() < other.len() { (other, one) } else { (one, other) };
    larger.extend(smaller);
    larger
}

/// Whether two sets share a value that `is_meant`.
fn meet(one: &HashSet<Expr>, other: &HashSet<Expr>, is_meant: &impl Fn(&Expr) -> bool) -> bool {
    let (larger, smaller) = if one.len() < other.len() { (other, one) } else { (one, other) };
    smaller.iter().any(|value| larger.contains(value) && is_meant(value))
}

/// Gives its argument as it is.
#[derive(Debug, PartialEq, Eq, Hash)]
struct BarrierFunction {
    signature: Signature,
}

impl ScalarUDFImpl for BarrierFunction {
    fn name(&self) -> &str {
        BARRIER
    }

    /// Leaves the names of expressions as they are.
    fn schema_name(&self, args: &[Expr]) -> Result<String> {
        match args {
            [one] => Ok(one.schema_name().to_string()),
            _ => internal_err!("{BARRIER} of something else than a value"),
        }
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        match types {
            [one] => Ok(one.clone()),
            _ => internal_err!("{BARRIER} of something else than a value"),
        }
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs) -> Result<FieldRef> {
        match args.arg_fields {
            [one] => Ok(Arc::clone(one)),
            _ => internal_err!("{BARRIER} of something else than a value"),
        }
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        match args.args.as_slice() {
            [one] => Ok(one.clone()),
            _ => internal_err!("{BARRIER} without a value"),
        }
    }
}

#[cfg(test)]
mod tests {
    use datafusion::optimizer::Optimizer;

    use super::*;

    #[test]
    fn planners_simplification_is_replaced() {
        let rules = Optimizer::new().rules.into_iter().map(GuardedSimplification::replace);
        let ours = rules.filter(|rule| format!("{rule:?}").starts_with("GuardedSimplification"));
        assert_eq!(ours.count(), 1);
    }

    #[test]
    fn casts_that_keep_every_number_are_known() {
        let decimal = DataType::Decimal128;
        let kept = [
            (DataType::Int16, DataType::Int32),
            (DataType::Int32, DataType::Int64),
            (DataType::Int32, decimal(10, 0)),
            (DataType::Int64, decimal(38, 10)),
            (decimal(6, 2), decimal(8, 4)),
            (decimal(18, 0), DataType::Int64),
            (DataType::Int64, DataType::Utf8View),
        ];
        for (from, to) in kept {
            assert!(!is_narrowing(&from, &to), "{from} to {to}");
        }
        let narrowed = [
            (DataType::Int64, DataType::Int32),
            (DataType::Int32, decimal(9, 0)),
            (decimal(6, 2), DataType::Int64),
            (decimal(19, 0), DataType::Int64),
            (decimal(6, 2), decimal(6, 1)),
            (decimal(6, 2), decimal(6, 3)),
        ];
        for (from, to) in narrowed {
            assert!(is_narrowing(&from, &to), "{from} to {to}");
        }
    }
}
