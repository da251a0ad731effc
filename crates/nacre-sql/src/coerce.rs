//! An analyzer rule: where a decimal meets a float, the decimal becomes a float, as in PostgreSQL.
//!
//! The planner's own rule makes both decimals, which loses small values and fails on large ones,
//! NaN and infinity. Literals become the float nearest to their text; casting goes through a
//! power of ten that no float is. Texts such as `'\x00ff'` that meet bytes become bytes here too,
//! and `'yes'` that meets a boolean becomes true.
//!
//! Dates and timestamps that meet are timestamps, in microseconds, and texts in quotes that meet
//! them have their type; the planner would count nanoseconds, which end in 2262. A date plus an
//! interval with a time, or one that is computed, is a timestamp.
//!
//! Texts in quotes take the type of what they are united with, and are arrays beside arrays.
//!
//! Joins and lists tell -0 from 0. So 0 is added to floats where two columns or expressions are to
//! be equal, and where one is to be in a list or subquery; comparisons with a literal need not. So
//! it is where aggregates take different values only, and to the keys of windows and sorts.

use std::sync::Arc;

use datafusion::arrow::datatypes::{DataType, TimeUnit};
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRewriter};
use datafusion::common::{DFSchema, Result, ScalarValue};
use datafusion::logical_expr::expr::{Between, Case, Cast, InList, InSubquery, ScalarFunction};
use datafusion::logical_expr::{
    BinaryExpr, Expr, ExprSchemable, Join, LogicalPlan, LogicalPlanBuilder, Operator, SortExpr,
    Subquery, Union, cast,
};
use datafusion::optimizer::AnalyzerRule;
use nacre_ingest::parse::{parse_boolean, parse_bytea};

use crate::from_datafusion::external;
use crate::functions::parse_interval;
use crate::pg_catalog::read_array;
use crate::plan_expressions::{columns_below, rewrite_node};
use crate::types::{common_moment, is_text};
use crate::unknown_literals::unite;

/// Functions whose arguments all get one type.
const UNIFYING_FUNCTIONS: [&str; 4] = ["coalesce", "greatest", "least", "nullif"];

/// The rule; it runs before the planner's own coercion of types.
#[derive(Debug)]
pub(crate) struct DecimalsMeetFloats;

impl AnalyzerRule for DecimalsMeetFloats {
    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> Result<LogicalPlan> {
        plan.transform_up_with_subqueries(|plan| {
            let schema = columns_below(&plan);
            let plan = match plan {
                LogicalPlan::Join(join) => LogicalPlan::Join(keys_without_sign(join)),
                LogicalPlan::Union(union) => LogicalPlan::Union(union_of_moments(unite(union)?)?),
                other => other,
            };
            let mut coercion = Coercion { schema };
            let plan = match plan {
                LogicalPlan::Sort(mut sort) => {
                    coercion.keys_without_sign(&mut sort.expr);
                    LogicalPlan::Sort(sort)
                }
                other => other,
            };
            rewrite_node(plan, |expr| expr.rewrite(&mut coercion))
        })
        .map(|transformed| transformed.data)
    }

    fn name(&self) -> &str {
        "decimals_meet_floats"
    }
}

struct Coercion {
    schema: DFSchema,
}

impl TreeNodeRewriter for Coercion {
    type Node = Expr;

    fn f_up(&mut self, expr: Expr) -> Result<Transformed<Expr>> {
        Ok(match expr {
            Expr::BinaryExpr(BinaryExpr { left, op, right }) => {
                let sides = self.with_time(vec![*left, *right], op);
                let (sides, mut is_changed) = self.unify_parts(sides, Meeting::of(op))?;
                let [mut left, mut right]: [Expr; 2] = parts_of(sides)?;
                if matches!(op, Operator::Eq | Operator::NotEq)
                    && ![&left, &right].iter().any(|side| matches!(side, Expr::Literal(..)))
                {
                    (left, right) = (self.without_sign(left), self.without_sign(right));
                    is_changed = true;
                }
                let expr = Expr::BinaryExpr(BinaryExpr::new(Box::new(left), op, Box::new(right)));
                Transformed::new_transformed(expr, is_changed)
            }
            Expr::Between(Between { expr, negated, low, high }) => {
                let (parts, is_changed) = self.unify(vec![*expr, *low, *high])?;
                let [expr, low, high]: [Expr; 3] = parts_of(parts)?;
                let between = Between::new(Box::new(expr), negated, Box::new(low), Box::new(high));
                Transformed::new_transformed(Expr::Between(between), is_changed)
            }
            Expr::InList(InList { expr, list, negated }) => {
                let parts = std::iter::once(*expr).chain(list).collect();
                let (parts, _) = self.unify(parts)?;
                let mut parts = parts.into_iter().map(|part| self.without_sign(part));
                let [expr] = parts_of(parts.by_ref().take(1).collect())?;
                let list = InList { expr: Box::new(expr), list: parts.collect(), negated };
                Transformed::yes(Expr::InList(list))
            }
            Expr::InSubquery(InSubquery { expr, subquery, negated }) => {
                let expr = Box::new(self.without_sign(*expr));
                let subquery = floats_without_sign(subquery)?;
                Transformed::yes(Expr::InSubquery(InSubquery { expr, subquery, negated }))
            }
            Expr::Case(case) => self.case(case)?,
            Expr::ScalarFunction(ScalarFunction { func, args })
                if UNIFYING_FUNCTIONS.contains(&func.name()) =>
            {
                let (args, is_changed) = self.unify(args)?;
                let call = ScalarFunction { func, args };
                Transformed::new_transformed(Expr::ScalarFunction(call), is_changed)
            }
            Expr::AggregateFunction(mut call) if call.params.distinct => {
                let args = std::mem::take(&mut call.params.args).into_iter();
                call.params.args = args.map(|arg| self.without_sign(arg)).collect();
                self.keys_without_sign(&mut call.params.order_by);
                Transformed::yes(Expr::AggregateFunction(call))
            }
            Expr::WindowFunction(mut window) => {
                let params = &mut window.params;
                let keys = std::mem::take(&mut params.partition_by).into_iter();
                params.partition_by = keys.map(|key| self.without_sign(key)).collect();
                self.keys_without_sign(&mut params.order_by);
                Transformed::yes(Expr::WindowFunction(window))
            }
            Expr::Cast(Cast { expr, field }) if is_float(field.data_type()) => {
                match float_literal(&expr) {
                    Some(literal) => {
                        let expr = Box::new(literal);
                        Transformed::yes(Expr::Cast(Cast { expr, field }))
                    }
                    None => Transformed::no(Expr::Cast(Cast { expr, field })),
                }
            }
            other => Transformed::no(other),
        })
    }
}

impl Coercion {
    /// Makes floats of the decimals among `parts` if there is a float among them, and so on.
    fn unify(&self, parts: Vec<Expr>) -> Result<(Vec<Expr>, bool)> {
        self.unify_parts(parts, Meeting::Matched)
    }

    fn unify_parts(&self, parts: Vec<Expr>, meeting: Meeting) -> Result<(Vec<Expr>, bool)> {
        let types: Vec<DataType> = parts
            .iter()
            // What has no type here is left to the planner's own rule and its errors.
            .map(|part| part.get_type(&self.schema).unwrap_or(DataType::Null))
            .collect();
        let (has_float, has_bytes) = (types.iter().any(is_float), types.iter().any(is_bytes));
        let has_boolean = types.contains(&DataType::Boolean);
        let moment = match meeting {
            Meeting::Matched => common_moment(&types),
            // A text next to it may be an interval.
            Meeting::Computed if !types.iter().any(is_text) => common_moment(&types),
            Meeting::Computed | Meeting::Joined => None,
        };
        let list = types.iter().find(|one| matches!(one, DataType::List(_)));
        let mut is_changed = false;
        let unified = parts.into_iter().zip(&types).map(|(part, data_type)| {
            let new = match data_type {
                data_type if is_text(data_type) && list.is_some() => {
                    list.map_or(Ok(None), |list| array_literal(&part, list))?
                }
                data_type if has_float && is_decimal(data_type) => Some(to_float(&part)),
                _ if has_bytes => bytes_literal(&part),
                _ if has_boolean && meeting != Meeting::Joined => boolean_literal(&part),
                DataType::Null => None,
                data_type => {
                    let moment = moment.as_ref().filter(|moment| *moment != data_type);
                    moment.map(|moment| cast(part.clone(), moment.clone()))
                }
            };
            is_changed |= new.is_some();
            Ok(new.unwrap_or(part))
        });
        let unified = unified.collect::<Result<_>>()?;
        Ok((unified, is_changed))
    }

    /// Makes timestamps of dates that intervals are added to, but for literals of whole days.
    fn with_time(&self, sides: Vec<Expr>, op: Operator) -> Vec<Expr> {
        let type_of = |expr: &Expr| expr.get_type(&self.schema).unwrap_or(DataType::Null);
        let is_timed =
            |expr: &Expr| matches!(type_of(expr), DataType::Interval(_)) && has_time(expr);
        let is_sum = matches!(op, Operator::Plus | Operator::Minus);
        if !is_sum || !sides.iter().any(is_timed) {
            return sides;
        }
        let with_time = |side: Expr| match type_of(&side) {
            DataType::Date32 => cast(side, DataType::Timestamp(TimeUnit::Microsecond, None)),
            _ => side,
        };
        sides.into_iter().map(with_time).collect()
    }

    /// Adds 0 to a float, which makes 0 of -0.
    fn without_sign(&self, expr: Expr) -> Expr {
        match expr.get_type(&self.schema) {
            Ok(data_type) => without_sign(expr, &data_type),
            Err(_) => expr,
        }
    }

    fn keys_without_sign(&self, keys: &mut [SortExpr]) {
        for key in keys {
            key.expr = self.without_sign(std::mem::take(&mut key.expr));
        }
    }

    /// The operand and the WHENs meet each other, and so do the THENs and the ELSE.
    fn case(&self, case: Case) -> Result<Transformed<Expr>> {
        let Case { expr, when_then_expr, else_expr } = case;
        let (whens, thens): (Vec<Expr>, Vec<Expr>) =
            when_then_expr.into_iter().map(|(when, then)| (*when, *then)).unzip();
        let has_operand = expr.is_some();
        let operands = expr.map(|expr| *expr).into_iter().chain(whens).collect();
        let (mut whens, whens_changed) =
            if has_operand { self.unify(operands)? } else { (operands, false) };
        let expr = has_operand.then(|| Box::new(whens.remove(0)));
        let has_else = else_expr.is_some();
        let results = thens.into_iter().chain(else_expr.map(|expr| *expr)).collect();
        let (mut thens, thens_changed) = self.unify(results)?;
        let else_expr = if has_else { thens.pop().map(Box::new) } else { None };
        let when_then_expr = whens
            .into_iter()
            .zip(thens)
            .map(|(when, then)| (Box::new(when), Box::new(then)))
            .collect();
        let case = Case { expr, when_then_expr, else_expr };
        Ok(Transformed::new_transformed(Expr::Case(case), whens_changed || thens_changed))
    }
}

/// How values meet.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Meeting {
    /// Compared, or one of them is the result.
    Matched,
    /// By arithmetic.
    Computed,
    /// By `||`: a text that is joined to a boolean stays what it is.
    Joined,
}

impl Meeting {
    fn of(op: Operator) -> Self {
        match op {
            Operator::StringConcat => Self::Joined,
            _ if is_comparison(op) => Self::Matched,
            _ => Self::Computed,
        }
    }
}

/// Whether an operator says how two values are ordered.
pub(crate) fn is_comparison(op: Operator) -> bool {
    use Operator::{Eq, Gt, GtEq, IsDistinctFrom, IsNotDistinctFrom, Lt, LtEq, NotEq};
    matches!(op, Eq | NotEq | Lt | LtEq | Gt | GtEq | IsDistinctFrom | IsNotDistinctFrom)
}

/// Whether an interval is not known to be of whole days.
fn has_time(expr: &Expr) -> bool {
    match expr {
        Expr::Literal(ScalarValue::IntervalMonthDayNano(Some(value)), _) => value.nanoseconds != 0,
        Expr::Cast(Cast { expr, .. }) => match expr.as_ref() {
            Expr::Literal(value, _) => match value.try_as_str().flatten().map(parse_interval) {
                Some(Ok(value)) => value.nanoseconds != 0,
                _ => true,
            },
            _ => true,
        },
        _ => true,
    }
}

/// Gives the inputs of a union the types that their moments have in common.
fn union_of_moments(union: Union) -> Result<Union> {
    let count = union.schema.fields().len();
    let type_at = |input: &LogicalPlan, place: usize| {
        input.schema().fields().get(place).map_or(DataType::Null, |one| one.data_type().clone())
    };
    let common: Vec<Option<DataType>> = (0..count)
        .map(|place| {
            let types: Vec<DataType> =
                union.inputs.iter().map(|input| type_at(input, place)).collect();
            common_moment(&types).filter(|moment| types.iter().any(|one| one != moment))
        })
        .collect();
    if common.iter().all(Option::is_none) {
        return Ok(union);
    }
    let fit = |input: Arc<LogicalPlan>| -> Result<Arc<LogicalPlan>> {
        let exprs: Vec<Expr> = match input.as_ref() {
            LogicalPlan::Projection(projection) => projection.expr.clone(),
            other => other.schema().columns().into_iter().map(Expr::Column).collect(),
        };
        let fitted = exprs.into_iter().zip(&common).enumerate().map(|(place, (expr, common))| {
            let moment = common.as_ref().filter(|moment| type_at(&input, place) != **moment);
            match moment {
                Some(moment) => {
                    let (relation, name) = expr.qualified_name();
                    cast(expr.unalias(), moment.clone()).alias_qualified(relation, name)
                }
                None => expr,
            }
        });
        let below = match input.as_ref() {
            LogicalPlan::Projection(projection) => Arc::clone(&projection.input),
            _ => Arc::clone(&input),
        };
        let plan = LogicalPlanBuilder::from(below).project(fitted)?.build()?;
        Ok(Arc::new(plan))
    };
    let inputs = union.inputs.into_iter().map(fit).collect::<Result<Vec<_>>>()?;
    Union::try_new_with_loose_types(inputs)
}

fn without_sign(expr: Expr, data_type: &DataType) -> Expr {
    let zero = match data_type {
        DataType::Float32 => ScalarValue::Float32(Some(0.0)),
        DataType::Float64 => ScalarValue::Float64(Some(0.0)),
        _ => return expr,
    };
    expr + Expr::Literal(zero, None)
}

/// Adds 0 to the floats of a subquery with one column.
fn floats_without_sign(subquery: Subquery) -> Result<Subquery> {
    let plan = &subquery.subquery;
    let [column] = &plan.schema().columns()[..] else { return Ok(subquery) };
    let data_type = plan.schema().field(0).data_type();
    if !is_float(data_type) {
        return Ok(subquery);
    }
    let value = without_sign(Expr::Column(column.clone()), data_type);
    let value = value.alias_qualified(column.relation.clone(), column.name.as_str());
    let plan = LogicalPlanBuilder::from(plan.as_ref().clone()).project(vec![value])?.build()?;
    Ok(Subquery { subquery: plan.into(), ..subquery })
}

/// Adds 0 to the floats by which a join pairs rows.
fn keys_without_sign(mut join: Join) -> Join {
    let key = |expr: Expr, schema: &DFSchema| match expr.get_type(schema) {
        Ok(data_type) => without_sign(expr, &data_type),
        Err(_) => expr,
    };
    let (left, right) = (join.left.schema(), join.right.schema());
    let pairs = join.on.into_iter();
    join.on = pairs.map(|(one, other)| (key(one, left), key(other, right))).collect();
    join
}

/// Turns a list back into as many parts as it was made of.
fn parts_of<const N: usize>(parts: Vec<Expr>) -> Result<[Expr; N]> {
    parts.try_into().map_err(|parts: Vec<Expr>| {
        datafusion::common::internal_datafusion_err!("{} parts of an expression", parts.len())
    })
}

fn is_float(data_type: &DataType) -> bool {
    matches!(data_type, DataType::Float16 | DataType::Float32 | DataType::Float64)
}

fn is_decimal(data_type: &DataType) -> bool {
    matches!(data_type, DataType::Decimal128(..) | DataType::Decimal256(..))
}

fn is_bytes(data_type: &DataType) -> bool {
    matches!(data_type, DataType::Binary | DataType::LargeBinary | DataType::BinaryView)
}

fn to_float(expr: &Expr) -> Expr {
    float_literal(expr).unwrap_or_else(|| cast(expr.clone(), DataType::Float64))
}

/// Returns the float nearest to a decimal literal.
fn float_literal(expr: &Expr) -> Option<Expr> {
    let Expr::Literal(value, metadata) = expr else { return None };
    let text = match value {
        ScalarValue::Decimal128(Some(unscaled), _, scale) => format!("{unscaled}e{}", -scale),
        ScalarValue::Decimal256(Some(unscaled), _, scale) => format!("{unscaled}e{}", -scale),
        _ => return None,
    };
    let float: f64 = text.parse().ok()?;
    Some(Expr::Literal(ScalarValue::Float64(Some(float)), metadata.clone()))
}

/// Returns the truth value that a text literal stands for.
fn boolean_literal(expr: &Expr) -> Option<Expr> {
    let Expr::Literal(value, metadata) = expr else { return None };
    let text = value.try_as_str().flatten()?;
    let value = parse_boolean(text.as_bytes()).ok()?;
    Some(Expr::Literal(ScalarValue::Boolean(Some(value)), metadata.clone()))
}

/// Returns the array that a text literal stands for beside arrays.
///
/// # Errors
/// 22P02 and the like.
fn array_literal(expr: &Expr, list: &DataType) -> Result<Option<Expr>> {
    let Expr::Literal(value, metadata) = expr else { return Ok(None) };
    let Some(text) = value.try_as_str().flatten() else { return Ok(None) };
    let array = read_array(text, list).map_err(external)?;
    Ok(Some(Expr::Literal(array, metadata.clone())))
}

/// Returns the bytes that a text literal stands for.
fn bytes_literal(expr: &Expr) -> Option<Expr> {
    let Expr::Literal(value, metadata) = expr else { return None };
    let text = value.try_as_str().flatten()?;
    let bytes = parse_bytea(text.as_bytes()).ok()?;
    Some(Expr::Literal(ScalarValue::BinaryView(Some(bytes)), metadata.clone()))
}
