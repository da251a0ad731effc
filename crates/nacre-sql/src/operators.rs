//! An analyzer rule: operators that PostgreSQL computes otherwise than the planner.
//!
//! - Sums, differences and products of whole numbers are refused where they do not fit
//!   ([`WholeOperators`]); `-x` is `0 - x`, of floats `-0 - x`.
//! - Texts and byte strings are joined by what asks for memory first.
//! - A byte string is cast to the text that shows it. What is kept as a text and called otherwise,
//!   such as a uuid, is called a text once it is cast to one.
//! - The `.` of regular expressions matches a newline.
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
use datafusion::execution::memory_pool::MemoryPool;
use datafusion::logical_expr::expr::{Cast, ScalarFunction};
use datafusion::logical_expr::{
    BinaryExpr, Expr, ExprSchemable, LogicalPlan, Operator, ScalarUDF, binary_expr, cast, lit,
};
use datafusion::optimizer::AnalyzerRule;

use crate::cancellation::check_cancelled;
use crate::coerce::is_comparison;
use crate::functions::{Arithmetic, DOT_IS_ANY, deferred, is_whole};
use crate::pg_types::TYPE_KEY;
use crate::plan_expressions::rewrite_expressions;
use crate::types::{is_bytes, is_text};

/// The rule.
#[derive(Debug)]
pub(crate) struct Operators {
    arithmetic: Arithmetic,
}

impl Operators {
    /// Makes the rule; what joins texts takes memory from `pool`.
    pub(crate) fn new(pool: &Arc<dyn MemoryPool>) -> Self {
        Self { arithmetic: Arithmetic::new(pool) }
    }

    fn operator(&self, expr: Expr, schema: &DFSchema) -> Transformed<Expr> {
        let type_of = |expr: &Expr| expr.get_type(schema).unwrap_or(DataType::Null);
        match expr {
            Expr::BinaryExpr(binary) => self.between(binary, schema),
            // The planner would take the bytes for those of a text.
            Expr::Cast(Cast { expr, field })
                if is_text(field.data_type()) && is_bytes(&type_of(&expr)) =>
            {
                let text = call(&self.arithmetic.shown, vec![*expr]);
                Transformed::yes(cast(text, field.data_type().clone()))
            }
            Expr::Cast(Cast { expr, field })
                if is_text(field.data_type())
                    && field.metadata().is_empty()
                    && is_called_otherwise(&expr, schema) =>
            {
                let metadata = [(TYPE_KEY.to_owned(), "text".to_owned())].into();
                let field = Arc::new(field.as_ref().clone().with_metadata(metadata));
                Transformed::yes(Expr::Cast(Cast { expr, field }))
            }
            Expr::Negative(inner) => {
                let data_type = type_of(&inner);
                self.negated(inner, &data_type)
            }
            Expr::ScalarFunction(ScalarFunction { func, mut args })
                if is_regular_function(func.name()) && args.len() > 1 =>
            {
                if !has_line_flags(args.get(2)) && !has_line_flags(args.get(3)) {
                    let pattern = args.remove(1);
                    args.insert(1, self.with_any_dot(pattern));
                }
                Transformed::yes(call(&func, args))
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
                _ => match deferred(&func, &args) {
                    Some(deferred) => Transformed::yes(call(&deferred, args)),
                    None => Transformed::no(call(&func, args)),
                },
            },
            other => Transformed::no(other),
        }
    }

    /// Returns an operator between two operands as one of ours.
    fn between(&self, binary: BinaryExpr, schema: &DFSchema) -> Transformed<Expr> {
        let BinaryExpr { left, op, right } = binary;
        let type_of = |expr: &Expr| expr.get_type(schema).unwrap_or(DataType::Null);
        let (left_type, right_type) = (type_of(&left), type_of(&right));
        if op == Operator::Divide {
            return match self.function(op, &left_type, &right_type, &right) {
                Some(func) => Transformed::yes(call(func, vec![*left, *right])),
                None => Transformed::no(Expr::BinaryExpr(BinaryExpr { left, op, right })),
            };
        }
        if is_comparison(op) && is_interval(&left_type) && is_interval(&right_type) {
            let [left, right] =
                [left, right].map(|side| Box::new(call(&self.arithmetic.span, vec![*side])));
            return Transformed::yes(Expr::BinaryExpr(BinaryExpr { left, op, right }));
        }
        if op == Operator::StringConcat && is_joined(&left_type, &right_type) {
            return Transformed::yes(call(&self.arithmetic.joined, vec![*left, *right]));
        }
        if is_regular(op) {
            let right = Box::new(self.with_any_dot(*right));
            return Transformed::yes(Expr::BinaryExpr(BinaryExpr { left, op, right }));
        }
        Transformed::no(Expr::BinaryExpr(BinaryExpr { left, op, right }))
    }

    /// Returns `0 - inner` for a whole number, and `-0 - inner` for a float: NaN has no sign then.
    fn negated(&self, inner: Box<Expr>, data_type: &DataType) -> Transformed<Expr> {
        let zero = match data_type {
            DataType::Float32 => Some(lit(-0.0_f32)),
            DataType::Float64 => Some(lit(-0.0_f64)),
            _ => None,
        };
        if let Some(zero) = zero {
            return Transformed::yes(binary_expr(zero, Operator::Minus, *inner));
        }
        match ScalarValue::new_zero(data_type) {
            Ok(zero) if is_whole(data_type) => {
                let args = vec![Expr::Literal(zero, None), *inner];
                Transformed::yes(call(&self.arithmetic.difference, args))
            }
            _ => Transformed::no(Expr::Negative(inner)),
        }
    }

    /// Has the `.` of a pattern match a newline.
    fn with_any_dot(&self, pattern: Expr) -> Expr {
        match pattern {
            Expr::Literal(value, metadata) => match value.try_as_str() {
                Some(Some(text)) => lit(format!("{DOT_IS_ANY}{text}")),
                _ => Expr::Literal(value, metadata),
            },
            other => call(&self.arithmetic.joined, vec![lit(DOT_IS_ANY), other]),
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
        match op {
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

/// The rule for sums, differences, products and bits of whole numbers.
///
/// It runs behind the planner's coercion of types, and goes down from the outermost operator: the
/// type of a call takes the names of all its parts, that of an operator only their types, so a
/// chain of operators has to stay one for as long as rules ask for types.
#[derive(Debug)]
pub(crate) struct WholeOperators {
    arithmetic: Arithmetic,
}

impl WholeOperators {
    pub(crate) fn new(pool: &Arc<dyn MemoryPool>) -> Self {
        Self { arithmetic: Arithmetic::new(pool) }
    }

    fn operator(&self, expr: Expr, schema: &DFSchema) -> Transformed<Expr> {
        let Expr::BinaryExpr(BinaryExpr { left, op, right }) = expr else {
            return Transformed::no(expr);
        };
        let func = match op {
            Operator::Plus => &self.arithmetic.sum,
            Operator::Minus => &self.arithmetic.difference,
            Operator::Multiply => &self.arithmetic.product,
            Operator::BitwiseAnd => &self.arithmetic.bit_and,
            Operator::BitwiseOr => &self.arithmetic.bit_or,
            Operator::BitwiseXor => &self.arithmetic.bit_xor,
            _ => return Transformed::no(Expr::BinaryExpr(BinaryExpr { left, op, right })),
        };
        let is_whole_one = |one: &Expr| one.get_type(schema).is_ok_and(|found| is_whole(&found));
        if is_whole_one(&right) && is_whole_one(&left) {
            Transformed::yes(call(func, vec![*left, *right]))
        } else {
            Transformed::no(Expr::BinaryExpr(BinaryExpr { left, op, right }))
        }
    }
}

impl AnalyzerRule for WholeOperators {
    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> Result<LogicalPlan> {
        rewrite_expressions(plan, |expr, schema| {
            expr.transform_down(|part| {
                check_cancelled()?;
                Ok(self.operator(part, schema))
            })
        })
    }

    fn name(&self) -> &str {
        "whole_operators"
    }
}

/// Whether a value has the name of a type that Arrow does not know.
fn is_called_otherwise(expr: &Expr, schema: &DFSchema) -> bool {
    expr.to_field(schema).is_ok_and(|(_, field)| field.metadata().contains_key(TYPE_KEY))
}

fn is_joined(left: &DataType, right: &DataType) -> bool {
    let is_list = |one: &DataType| matches!(one, DataType::List(_));
    let has_text = is_text(left) || is_text(right);
    (has_text && !is_list(left) && !is_list(right)) || (is_bytes(left) && is_bytes(right))
}

fn is_regular(op: Operator) -> bool {
    use Operator::{RegexIMatch, RegexMatch, RegexNotIMatch, RegexNotMatch};
    matches!(op, RegexMatch | RegexIMatch | RegexNotMatch | RegexNotIMatch)
}

/// Whether a function of the planner's takes a regular expression as its second argument.
fn is_regular_function(name: &str) -> bool {
    matches!(name, "regexp_match" | "regexp_like" | "regexp_count" | "regexp_instr")
}

/// Whether flags say what newlines are.
fn has_line_flags(flags: Option<&Expr>) -> bool {
    match flags {
        Some(Expr::Literal(value, _)) => {
            value.try_as_str().flatten().is_some_and(|flags| flags.contains(['m', 'n', 'p']))
        }
        _ => false,
    }
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
        rewrite_expressions(plan, |expr, schema| {
            expr.transform_up(|part| {
                check_cancelled()?;
                Ok(self.operator(part, schema))
            })
        })
    }

    fn name(&self) -> &str {
        "operators"
    }
}
