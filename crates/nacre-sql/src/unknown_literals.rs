//! Texts in quotes, which have no type of their own: they take that of what they are added to or
//! united with, as in PostgreSQL. [`crate::literals`] reads them.

use std::sync::Arc;

use datafusion::arrow::datatypes::{DataType, IntervalUnit};
use datafusion::common::{DFSchema, Result, ScalarValue};
use datafusion::execution::memory_pool::MemoryPool;
use datafusion::logical_expr::planner::{ExprPlanner, PlannerResult, RawBinaryExpr};
use datafusion::logical_expr::{
    BinaryExpr, Distinct, Expr, ExprSchemable, LogicalPlan, LogicalPlanBuilder, Operator,
    ScalarUDF, Union, cast,
};
use datafusion::sql::sqlparser::ast::BinaryOperator;
use nacre_ingest::parse::parse_decimal;

use crate::cancellation::check_cancelled;
use crate::error::{Error, ErrorKind};
use crate::from_datafusion::external;
use crate::from_ingest::from_value;
use crate::functions::PlannedOperators;
use crate::pg_catalog::read_array;
use crate::prepared::numeric;
use crate::types::{is_text, type_name};

/// Digits that a number has at most.
const DIGITS_MAX: u8 = 38;

/// Gives literals in arithmetic and beside arrays the type of the other side, and has intervals be
/// scaled and arrays be joined by functions, since the planner has no type for that.
#[derive(Debug)]
pub(crate) struct UnknownLiterals {
    composing: PlannedOperators,
}

impl UnknownLiterals {
    /// Makes the planner of expressions; what joins arrays takes memory from `pool`.
    pub(crate) fn new(pool: &Arc<dyn MemoryPool>) -> Self {
        Self { composing: PlannedOperators::new(pool) }
    }

    /// Returns what computes `left op right` where the planner cannot.
    fn composed(&self, expr: &RawBinaryExpr, schema: &DFSchema) -> Option<Expr> {
        let is_interval = |side| {
            let found = own_type(side, schema);
            matches!(found, Some(DataType::Interval(_) | DataType::Duration(_)))
        };
        let is_list = |side| matches!(own_type(side, schema), Some(DataType::List(_)));
        let (left, right) = (&expr.left, &expr.right);
        let both = |func: &Arc<ScalarUDF>, one: &Expr, other: &Expr| {
            Some(func.call(vec![one.clone(), other.clone()]))
        };
        match expr.op {
            BinaryOperator::Multiply if is_interval(left) => {
                both(&self.composing.interval_product, left, right)
            }
            BinaryOperator::Multiply if is_interval(right) => {
                both(&self.composing.interval_product, right, left)
            }
            BinaryOperator::Divide if is_interval(left) => {
                both(&self.composing.interval_quotient, left, right)
            }
            BinaryOperator::StringConcat if is_list(left) || is_list(right) => {
                both(&self.composing.joined_arrays, left, right)
            }
            _ => None,
        }
    }
}

impl ExprPlanner for UnknownLiterals {
    fn plan_binary_op(
        &self,
        mut expr: RawBinaryExpr,
        schema: &DFSchema,
    ) -> Result<PlannerResult<RawBinaryExpr>> {
        use BinaryOperator::{Divide, Minus, Modulo, Multiply, Plus};
        check_cancelled()?;
        let is_arithmetic = matches!(expr.op, Plus | Minus | Multiply | Divide | Modulo);
        let pair = match (text_of(&expr.left), text_of(&expr.right)) {
            (Some(_), None) => Some((&mut expr.left, &expr.right)),
            (None, Some(_)) => Some((&mut expr.right, &expr.left)),
            _ => None,
        };
        if let Some((literal, other)) = pair {
            let found = if is_arithmetic {
                other.get_type(schema).ok().and_then(|other| operand(&expr.op, other))
            } else {
                own_type(other, schema).filter(|one| matches!(one, DataType::List(_)))
            };
            if let (Some(found), Some(text)) = (found, text_of(literal)) {
                *literal = value(text, &found)?;
            }
        }
        Ok(match self.composed(&expr, schema) {
            Some(composed) => PlannerResult::Planned(composed),
            None => PlannerResult::Original(expr),
        })
    }
}

/// Returns the type of an expression that may be an interval or an array, without a look at what
/// is far below it; `None` for others.
fn own_type(expr: &Expr, schema: &DFSchema) -> Option<DataType> {
    match expr {
        Expr::Alias(alias) => own_type(&alias.expr, schema),
        Expr::Negative(inner) => own_type(inner, schema),
        Expr::Column(_) | Expr::Literal(..) | Expr::Cast(_) | Expr::ScalarSubquery(_) => {
            expr.get_type(schema).ok()
        }
        Expr::AggregateFunction(call) if !call.func.name().contains("count") => {
            expr.get_type(schema).ok()
        }
        // Without arguments is `now()`.
        Expr::ScalarFunction(call) if call.args.is_empty() || is_composing(call.func.name()) => {
            expr.get_type(schema).ok()
        }
        Expr::BinaryExpr(BinaryExpr { left, op: Operator::Plus | Operator::Minus, right }) => {
            match (own_type(left, schema)?, own_type(right, schema)?) {
                (interval @ DataType::Interval(_), DataType::Interval(_)) => Some(interval),
                (DataType::Timestamp(..), DataType::Timestamp(..)) => expr.get_type(schema).ok(),
                _ => None,
            }
        }
        _ => None,
    }
}

/// Whether a function returns intervals or arrays.
fn is_composing(name: &str) -> bool {
    let of_arrays = name.starts_with("nacre_") && name.ends_with("array");
    of_arrays
        || matches!(
            name,
            "age"
                | "make_interval"
                | "justify_hours"
                | "justify_days"
                | "justify_interval"
                | "nacre_interval_product"
                | "nacre_interval_quotient"
                | "nacre_joined_arrays"
                | "string_to_array"
                | "array_cat"
                | "array_remove"
                | "nacre_or_empty"
                | "parse_ident"
                | "regexp_match"
        )
}

/// Returns the type that a literal has next to a value of a type.
fn operand(op: &BinaryOperator, other: DataType) -> Option<DataType> {
    let interval = DataType::Interval(IntervalUnit::MonthDayNano);
    match (op, &other) {
        (_, other) if is_number(other) => {}
        // Two moments have a difference, and no sum.
        (BinaryOperator::Minus, DataType::Date32 | DataType::Timestamp(..)) => {}
        (BinaryOperator::Plus, DataType::Timestamp(..)) => return Some(interval),
        (BinaryOperator::Plus | BinaryOperator::Minus, other) if *other == interval => {}
        _ => return None,
    }
    Some(other)
}

fn is_number(data_type: &DataType) -> bool {
    data_type.is_integer()
        || data_type.is_floating()
        || matches!(data_type, DataType::Decimal128(..))
}

fn text_of(expr: &Expr) -> Option<&str> {
    match expr {
        Expr::Literal(ScalarValue::Utf8(Some(text)), _) => Some(text),
        Expr::Alias(alias) => text_of(&alias.expr),
        _ => None,
    }
}

/// Returns an expression for what a text stands for. A number has as many digits as are written.
fn value(text: &str, data_type: &DataType) -> Result<Expr> {
    if matches!(data_type, DataType::List(_)) {
        return read_array(text, data_type)
            .map(|array| Expr::Literal(array, None))
            .map_err(external);
    }
    let literal = Expr::Literal(ScalarValue::Utf8(Some(text.to_owned())), None);
    if !matches!(data_type, DataType::Decimal128(..)) {
        return Ok(cast(literal, data_type.clone()));
    }
    let digits = numeric(text).map_err(external)?;
    let bare = digits.trim_start_matches('-');
    let fraction = bare.split_once('.').map_or(0, |(_, fraction)| fraction.len());
    let whole = bare.len() - fraction - usize::from(fraction > 0);
    let precision = u8::try_from(whole + fraction).unwrap_or(DIGITS_MAX).clamp(1, DIGITS_MAX);
    let scale = u8::try_from(fraction).unwrap_or(DIGITS_MAX);
    let unscaled = parse_decimal(digits.as_bytes(), precision, scale);
    let unscaled = unscaled.map_err(|error| external(from_value(&error)))?;
    // At most 38.
    let scale = scale as i8;
    Ok(Expr::Literal(ScalarValue::Decimal128(Some(unscaled), precision, scale), None))
}

/// Gives literals among the outputs of a union the type that the other outputs have.
///
/// # Errors
/// 42804 if an output is a text and another one is none.
pub(crate) fn unite(union: Union) -> Result<Union> {
    let count = union.schema.fields().len();
    let found = (0..count).map(|place| output(&union, place)).collect::<Result<Vec<_>>>()?;
    if found.iter().all(Option::is_none) {
        return Ok(union);
    }
    let inputs = union.inputs.into_iter().map(|input| fitted(input, &found));
    Union::try_new_with_loose_types(inputs.collect::<Result<Vec<_>>>()?)
}

/// Returns the type that literals among the outputs of a place have.
fn output(union: &Union, place: usize) -> Result<Option<DataType>> {
    let (mut has_literal, mut types) = (false, Vec::new());
    for input in &union.inputs {
        match literal_at(input, place) {
            true => has_literal = true,
            false => types_at(input, place, &mut types),
        }
    }
    let text = types.iter().find(|found| is_text(found));
    let is_exact = |found: &&DataType| found.is_integer();
    let others = || types.iter().filter(|found| is_read(found));
    let other = others().find(|found| !is_exact(found)).or_else(|| others().next());
    match (text, other) {
        (Some(text), Some(other)) => {
            let (first, second) = match is_text(&types[0]) {
                true => (text, other),
                false => (other, text),
            };
            let (first, second) = (type_name(first), type_name(second));
            let message = format!("UNION types {first} and {second} cannot be matched");
            let error = Error::new(ErrorKind::InvalidStatement, message).with_code("42804");
            Err(external(error))
        }
        (None, Some(other)) if has_literal => Ok(Some(other.clone())),
        _ => Ok(None),
    }
}

/// Whether [`crate::literals`] reads texts of a type.
fn is_read(data_type: &DataType) -> bool {
    let is_moment = matches!(data_type, DataType::Date32 | DataType::Timestamp(..));
    is_number(data_type) || is_moment || matches!(data_type, DataType::Boolean | DataType::List(_))
}

fn literal_at(input: &LogicalPlan, place: usize) -> bool {
    match input {
        LogicalPlan::Projection(one) => one.expr.get(place).and_then(text_of).is_some(),
        _ => false,
    }
}

/// Adds the types of an output of all queries that a union is of.
fn types_at(input: &LogicalPlan, place: usize, types: &mut Vec<DataType>) {
    match input {
        LogicalPlan::Union(union) => {
            union.inputs.iter().for_each(|input| types_at(input, place, types));
        }
        LogicalPlan::Distinct(Distinct::All(input)) => types_at(input, place, types),
        other => {
            types.extend(other.schema().fields().get(place).map(|one| one.data_type().clone()))
        }
    }
}

fn fitted(input: Arc<LogicalPlan>, found: &[Option<DataType>]) -> Result<Arc<LogicalPlan>> {
    let LogicalPlan::Projection(projection) = input.as_ref() else { return Ok(input) };
    let exprs =
        projection.expr.iter().zip(found).map(|(expr, found)| match (text_of(expr), found) {
            (Some(text), Some(found)) => {
                let (relation, name) = expr.qualified_name();
                Ok(value(text, found)?.alias_qualified(relation, name))
            }
            _ => Ok(expr.clone()),
        });
    let exprs = exprs.collect::<Result<Vec<_>>>()?;
    let below = projection.input.as_ref().clone();
    Ok(Arc::new(LogicalPlanBuilder::from(below).project(exprs)?.build()?))
}
