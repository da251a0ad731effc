//! An analyzer rule: values of different kinds are not compared, as in PostgreSQL.
//!
//! The planner would bring a date and a number, or a text and a number, into one type: the one
//! means nothing, the other fails at the first row that is no number. A text in quotes has the type
//! of what it is compared with, so it may be compared with everything. The same holds for what
//! becomes one value, as the results of CASE do.

use datafusion::arrow::datatypes::DataType;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::common::{DFSchema, Result, ScalarValue};
use datafusion::logical_expr::expr::{Between, Case, InList, InSubquery, SetComparison};
use datafusion::logical_expr::{BinaryExpr, Expr, ExprSchemable, LogicalPlan, Operator};
use datafusion::optimizer::AnalyzerRule;

use crate::error::{Error, ErrorKind};
use crate::from_datafusion::external;
use crate::from_plan::no_condition;
use crate::plan_expressions::columns_below;
use crate::types::{is_bytes, is_text, type_name};

/// The rule; it runs before types are brought together.
#[derive(Debug)]
pub(crate) struct Comparable;

/// What kinds of values there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Boolean,
    Number,
    Text,
    Bytes,
    Moment,
    Time,
    Interval,
}

/// One side of a comparison.
struct Side {
    data_type: DataType,
    /// `None` for what takes any type, and for types that the planner looks at itself.
    kind: Option<Kind>,
    /// Whether it is a literal that PostgreSQL takes for an integer.
    is_small: bool,
}

impl AnalyzerRule for Comparable {
    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> Result<LogicalPlan> {
        plan.apply_with_subqueries(|node| {
            let schema = columns_below(node);
            if let LogicalPlan::Join(join) = node {
                let (left, right) = (join.left.schema(), join.right.schema());
                for (one, other) in &join.on {
                    compare(&side(one, left), "=", &side(other, right))?;
                }
            }
            node.apply_expressions(|expr| {
                expr.apply(|part| check(part, &schema).map(|()| TreeNodeRecursion::Continue))
            })
        })?;
        Ok(plan)
    }

    fn name(&self) -> &str {
        "comparable"
    }
}

fn check(expr: &Expr, schema: &DFSchema) -> Result<()> {
    match expr {
        Expr::BinaryExpr(BinaryExpr { left, op, right }) => {
            let (left, right) = (side(left, schema), side(right, schema));
            match op {
                Operator::NotEq => compare(&left, "<>", &right),
                Operator::Eq | Operator::Lt | Operator::LtEq | Operator::Gt | Operator::GtEq => {
                    compare(&left, &op.to_string(), &right)
                }
                Operator::IsDistinctFrom | Operator::IsNotDistinctFrom => {
                    compare(&left, "=", &right)
                }
                _ => Ok(()),
            }
        }
        Expr::Between(Between { expr, low, high, .. }) => {
            let value = side(expr, schema);
            compare(&value, ">=", &side(low, schema))?;
            compare(&value, "<=", &side(high, schema))
        }
        Expr::InList(InList { expr, list, .. }) => {
            let value = side(expr, schema);
            list.iter().try_for_each(|member| compare(&value, "=", &side(member, schema)))
        }
        Expr::InSubquery(InSubquery { expr, subquery, .. }) => {
            compare(&side(expr, schema), "=", &output(&subquery.subquery))
        }
        Expr::SetComparison(SetComparison { expr, op, subquery, .. }) => {
            compare(&side(expr, schema), &op.to_string(), &output(&subquery.subquery))
        }
        Expr::Case(case) => {
            if case.expr.is_none() {
                let whens = case.when_then_expr.iter().map(|(when, _)| when.as_ref());
                conditions("CASE/WHEN", whens, schema)?;
            }
            check_case(case, schema)
        }
        Expr::AggregateFunction(call) => {
            conditions("FILTER", call.params.filter.iter().map(|filter| filter.as_ref()), schema)
        }
        Expr::ScalarFunction(call) => match call.func.name() {
            "nullif" => match call.args.as_slice() {
                [one, other] => compare(&side(one, schema), "=", &side(other, schema)),
                _ => Ok(()),
            },
            name @ ("coalesce" | "greatest" | "least") => {
                unify(&name.to_uppercase(), call.args.iter(), schema)
            }
            _ => Ok(()),
        },
        _ => Ok(()),
    }
}

/// Refuses what is no condition where one has to be.
fn conditions<'a>(
    of: &str,
    mut exprs: impl Iterator<Item = &'a Expr>,
    schema: &DFSchema,
) -> Result<()> {
    exprs.try_for_each(|expr| {
        let side = side(expr, schema);
        match side.kind {
            None | Some(Kind::Boolean) => Ok(()),
            Some(_) => Err(external(no_condition(of, &side.name()))),
        }
    })
}

fn check_case(case: &Case, schema: &DFSchema) -> Result<()> {
    if let Some(operand) = &case.expr {
        let operand = side(operand, schema);
        for (when, _) in &case.when_then_expr {
            compare(&operand, "=", &side(when, schema))?;
        }
    }
    let results = case.when_then_expr.iter().map(|(_, then)| then.as_ref());
    unify("CASE", results.chain(case.else_expr.as_deref()), schema)
}

/// Refuses values that are to become one of them and have no type in common.
fn unify<'a>(what: &str, parts: impl Iterator<Item = &'a Expr>, schema: &DFSchema) -> Result<()> {
    let sides: Vec<Side> = parts.map(|part| side(part, schema)).collect();
    let mut known = sides.iter().filter(|side| side.kind.is_some());
    let Some(first) = known.next() else { return Ok(()) };
    match known.find(|other| other.kind != first.kind) {
        None => Ok(()),
        Some(other) => {
            let (one, other) = (first.name(), other.name());
            let message = format!("{what} types {one} and {other} cannot be matched");
            Err(external(Error::new(ErrorKind::InvalidStatement, message).with_code("42804")))
        }
    }
}

fn compare(left: &Side, op: &str, right: &Side) -> Result<()> {
    match (left.kind, right.kind) {
        (Some(one), Some(other)) if one != other => {
            let (left, right) = (left.name(), right.name());
            let message = format!("operator does not exist: {left} {op} {right}");
            let hint = "No operator matches the given name and argument types. You might need to \
                        add explicit type casts.";
            let error = Error::new(ErrorKind::InvalidStatement, message).with_code("42883");
            Err(external(error.with_hint(hint)))
        }
        _ => Ok(()),
    }
}

fn side(expr: &Expr, schema: &DFSchema) -> Side {
    // What has no type here is left to the planner and its errors.
    let data_type = expr.get_type(schema).unwrap_or(DataType::Null);
    let (is_quoted, is_small) = match expr {
        Expr::Literal(value, _) => {
            let is_small = matches!(value, ScalarValue::Int64(Some(value))
                if i32::try_from(*value).is_ok());
            (is_text(&data_type), is_small)
        }
        _ => (false, false),
    };
    let kind = if is_quoted { None } else { kind(&data_type) };
    Side { data_type, kind, is_small }
}

/// Returns the one column of a subquery.
fn output(query: &LogicalPlan) -> Side {
    let field = query.schema().fields().first();
    let data_type = field.map_or(DataType::Null, |field| field.data_type().clone());
    Side { kind: kind(&data_type), data_type, is_small: false }
}

fn kind(data_type: &DataType) -> Option<Kind> {
    Some(match data_type {
        DataType::Boolean => Kind::Boolean,
        data_type if data_type.is_numeric() => Kind::Number,
        data_type if is_text(data_type) => Kind::Text,
        data_type if is_bytes(data_type) => Kind::Bytes,
        DataType::Date32 | DataType::Date64 | DataType::Timestamp(..) => Kind::Moment,
        DataType::Time32(_) | DataType::Time64(_) => Kind::Time,
        DataType::Interval(_) | DataType::Duration(_) => Kind::Interval,
        _ => return None,
    })
}

impl Side {
    fn name(&self) -> String {
        match self.is_small {
            true => "integer".to_owned(),
            false => type_name(&self.data_type),
        }
    }
}
