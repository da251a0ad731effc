//! An analyzer rule: operators that PostgreSQL computes otherwise than the planner.
//!
//! - Sums, differences and products of whole numbers are refused where they do not fit.
//! - Quotients of decimals are rounded and have ten digits behind the point at least; a float is
//!   not divided by zero.
//! - Intervals are compared by how long they are.
//! - `&`, `|` and `#` of whole numbers are functions, since the planner takes `a # a` for 0, also
//!   of null, and a minus beside them for the bitwise complement.
//! - `round(x)` of a float gives the even one of two neighbours.
//!
//! It runs behind [`crate::coerce`], so decimals that meet floats are floats, and before the
//! planner's own coercion of types.

use std::sync::Arc;

use datafusion::arrow::datatypes::{DataType, IntervalUnit};
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{DFSchema, Result, ScalarValue};
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::utils::merge_schema;
use datafusion::logical_expr::{
    BinaryExpr, Expr, ExprSchemable, LogicalPlan, Operator, ScalarUDF, cast, lit,
};
use datafusion::optimizer::AnalyzerRule;

use crate::coerce::is_comparison;
use crate::functions::{Arithmetic, is_whole};

/// The rule.
#[derive(Debug)]
pub(crate) struct Operators {
    arithmetic: Arithmetic,
}

impl Operators {
    pub(crate) fn new() -> Self {
        Self { arithmetic: Arithmetic::new() }
    }

    fn operator(&self, expr: Expr, schema: &DFSchema) -> Transformed<Expr> {
        let type_of = |expr: &Expr| expr.get_type(schema).unwrap_or(DataType::Null);
        match expr {
            Expr::BinaryExpr(BinaryExpr { left, op, right }) if is_arithmetic(op) => {
                match self.function(op, &type_of(&left), &type_of(&right), &right) {
                    Some(func) => Transformed::yes(call(func, vec![*left, *right])),
                    None => Transformed::no(Expr::BinaryExpr(BinaryExpr { left, op, right })),
                }
            }
            Expr::BinaryExpr(BinaryExpr { left, op, right })
                if is_comparison(op)
                    && is_interval(&type_of(&left))
                    && is_interval(&type_of(&right)) =>
            {
                let [left, right] =
                    [left, right].map(|side| Box::new(call(&self.arithmetic.span, vec![*side])));
                Transformed::yes(Expr::BinaryExpr(BinaryExpr { left, op, right }))
            }
            Expr::ScalarFunction(ScalarFunction { func, args }) => match args.as_slice() {
                [one] if func.name() == "round" && type_of(one).is_floating() => {
                    let (data_type, arg) = (type_of(one), cast(one.clone(), DataType::Float64));
                    Transformed::yes(cast(call(&self.arithmetic.rint, vec![arg]), data_type))
                }
                // The type of a rounded decimal depends on the digits, so these have to be known
                // when types are brought together.
                [one, Expr::Literal(ScalarValue::Int64(Some(digits)), _)]
                    if matches!(func.name(), "round" | "trunc") =>
                {
                    match i32::try_from(*digits) {
                        Ok(digits) => Transformed::yes(call(&func, vec![one.clone(), lit(digits)])),
                        Err(_) => Transformed::no(call(&func, args)),
                    }
                }
                _ => Transformed::no(Expr::ScalarFunction(ScalarFunction { func, args })),
            },
            other => Transformed::no(other),
        }
    }

    /// Returns what computes `left op right`; `None` if the operator does.
    fn function(
        &self,
        op: Operator,
        left: &DataType,
        right: &DataType,
        divisor: &Expr,
    ) -> Option<&Arc<ScalarUDF>> {
        let are_whole = is_whole(left) && is_whole(right);
        match op {
            Operator::Plus if are_whole => Some(&self.arithmetic.sum),
            Operator::Minus if are_whole => Some(&self.arithmetic.difference),
            Operator::Multiply if are_whole => Some(&self.arithmetic.product),
            Operator::BitwiseAnd if are_whole => Some(&self.arithmetic.bit_and),
            Operator::BitwiseOr if are_whole => Some(&self.arithmetic.bit_or),
            Operator::BitwiseXor if are_whole => Some(&self.arithmetic.bit_xor),
            Operator::Divide if is_number(left) && is_number(right) => {
                if left.is_floating() || right.is_floating() {
                    // The operator does for a divisor that is known, and is quicker.
                    return (!is_literal(divisor)).then_some(&self.arithmetic.float_quotient);
                }
                let is_decimal = |one: &DataType| matches!(one, DataType::Decimal128(..));
                let has_decimal = is_decimal(left) || is_decimal(right);
                has_decimal.then_some(&self.arithmetic.decimal_quotient)
            }
            _ => None,
        }
    }
}

fn is_arithmetic(op: Operator) -> bool {
    use Operator::{BitwiseAnd, BitwiseOr, BitwiseXor, Divide, Minus, Multiply, Plus};
    matches!(op, Plus | Minus | Multiply | Divide | BitwiseAnd | BitwiseOr | BitwiseXor)
}

fn call(func: &Arc<ScalarUDF>, args: Vec<Expr>) -> Expr {
    Expr::ScalarFunction(ScalarFunction { func: Arc::clone(func), args })
}

fn is_number(data_type: &DataType) -> bool {
    data_type.is_integer()
        || data_type.is_floating()
        || matches!(data_type, DataType::Decimal128(..))
}

/// Whether an expression is a number other than zero.
fn is_literal(expr: &Expr) -> bool {
    match expr {
        Expr::Literal(value, _) => match value.cast_to(&DataType::Float64) {
            Ok(ScalarValue::Float64(Some(value))) => value.abs() >= 1e-30,
            _ => false,
        },
        Expr::Cast(inner) => inner.field.data_type().is_floating() && is_literal(&inner.expr),
        _ => false,
    }
}

fn is_interval(data_type: &DataType) -> bool {
    data_type == &DataType::Interval(IntervalUnit::MonthDayNano)
}

impl AnalyzerRule for Operators {
    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> Result<LogicalPlan> {
        plan.transform_up_with_subqueries(|plan| {
            let mut schema = merge_schema(&plan.inputs());
            if let LogicalPlan::TableScan(scan) = &plan {
                schema.merge(&scan.projected_schema);
            }
            let names = NamePreserver::new(&plan);
            plan.map_expressions(|expr| {
                let name = names.save(&expr);
                let rewritten = expr.transform_up(|part| Ok(self.operator(part, &schema)))?;
                Ok(rewritten.update_data(|expr| name.restore(expr)))
            })?
            .map_data(LogicalPlan::recompute_schema)
        })
        .map(|transformed| transformed.data)
    }

    fn name(&self) -> &str {
        "operators"
    }
}
