//! The last step of a query: what is kept as a number but shown by a name, vectors, and types that
//! the planner does not hand on.
//!
//! The planner forgets of what type the values of CASE, of subqueries and of `array_agg` are beyond
//! what Arrow knows. Outputs that are such get the type back, so that clients are told it.

use datafusion::arrow::datatypes::{DataType, Field};
use datafusion::common::{Column, JoinType, Result};
use datafusion::execution::{FunctionRegistry, SessionState};
use datafusion::logical_expr::{Expr, ExprSchemable, LogicalPlan, LogicalPlanBuilder, lit};

use super::typed::{array_function, text_function};
use crate::functions::OR_EMPTY;
use crate::pg_types::{PgType, TYPE_KEY};

/// Returns a plan that shows its columns of type `regclass` and the like as text.
pub(crate) fn shown(state: &SessionState, plan: LogicalPlan) -> Result<LogicalPlan> {
    if matches!(plan, LogicalPlan::Explain(_) | LogicalPlan::Analyze(_)) {
        return Ok(plan);
    }
    let fields = plan.schema().fields().iter().enumerate();
    let functions: Vec<_> = fields
        .map(|(place, field)| function_for(field).or_else(|| forgotten(&plan, place, field)))
        .collect();
    if functions.iter().all(Option::is_none) {
        return Ok(plan);
    }
    let mut exprs = Vec::new();
    for ((qualifier, field), function) in plan.schema().iter().zip(functions) {
        let column = Expr::Column(Column::from((qualifier, field)));
        let Some(function) = function else {
            exprs.push(column);
            continue;
        };
        let udf = state.udf(function)?;
        let args = match function {
            "array_to_string" => vec![column, lit(" ")],
            _ => vec![column],
        };
        exprs.push(udf.call(args).alias_qualified(qualifier.cloned(), field.name()));
    }
    LogicalPlanBuilder::from(plan).project(exprs)?.build()
}

/// Returns the function that gives an output the type back that the planner forgot.
fn forgotten(plan: &LogicalPlan, place: usize, field: &Field) -> Option<&'static str> {
    if field.metadata().contains_key(TYPE_KEY) {
        return None;
    }
    match field.data_type() {
        DataType::Utf8View | DataType::Utf8 => text_function(&type_of_output(plan, place)?),
        DataType::Int64 => (type_of_output(plan, place)? == "oid").then_some("nacre_oid"),
        DataType::List(_) => array_function(PgType::named(&type_of_output(plan, place)?)?),
        _ => None,
    }
}

/// Returns the name of the type of an output, or of its elements, if it is one that Arrow does not
/// know.
fn type_of_output(plan: &LogicalPlan, place: usize) -> Option<String> {
    use JoinType::{Full, Inner, Left, Right};
    match plan {
        LogicalPlan::Projection(one) => type_of(one.expr.get(place)?, &one.input),
        LogicalPlan::Sort(one) => type_of_output(&one.input, place),
        LogicalPlan::Limit(one) => type_of_output(&one.input, place),
        LogicalPlan::Filter(one) => type_of_output(&one.input, place),
        LogicalPlan::SubqueryAlias(one) => type_of_output(&one.input, place),
        LogicalPlan::Join(one) if matches!(one.join_type, Inner | Left | Right | Full) => {
            let left = one.left.schema().fields().len();
            match place.checked_sub(left) {
                None => type_of_output(&one.left, place),
                Some(place) => type_of_output(&one.right, place),
            }
        }
        LogicalPlan::Aggregate(one) => {
            let groups = one.schema.fields().len() - one.aggr_expr.len();
            match place.checked_sub(groups) {
                Some(place) => type_of(one.aggr_expr.get(place)?, &one.input),
                None => one.schema.field(place).metadata().get(TYPE_KEY).cloned(),
            }
        }
        other => other.schema().fields().get(place)?.metadata().get(TYPE_KEY).cloned(),
    }
}

fn type_of(expr: &Expr, input: &LogicalPlan) -> Option<String> {
    match expr {
        Expr::Alias(alias) => type_of(&alias.expr, input),
        Expr::Column(column) => {
            type_of_output(input, input.schema().maybe_index_of_column(column)?)
        }
        // A cast makes a value of a type that Arrow knows; the planner learns that later.
        Expr::Cast(_) => None,
        Expr::AggregateFunction(call) if call.func.name() == "array_agg" => {
            type_of(call.params.args.first()?, input)
        }
        Expr::ScalarFunction(call) if call.name() == OR_EMPTY => type_of(call.args.first()?, input),
        Expr::ScalarSubquery(subquery) => type_of_output(&subquery.subquery, 0),
        Expr::Case(case) => {
            let results = case.when_then_expr.iter().map(|(_, then)| then);
            let results = results.chain(&case.else_expr).filter(|one| !is_null(one));
            let mut types = results.map(|one| type_of(one, input));
            let first = types.next()??;
            types.all(|one| one.as_ref() == Some(&first)).then_some(first)
        }
        other => other.to_field(input.schema()).ok()?.1.metadata().get(TYPE_KEY).cloned(),
    }
}

fn is_null(expr: &Expr) -> bool {
    match expr {
        Expr::Literal(value, _) => value.is_null(),
        Expr::Cast(cast) => is_null(&cast.expr),
        _ => false,
    }
}

/// Returns the function that shows values of a field.
fn function_for(field: &Field) -> Option<&'static str> {
    let type_name = field.metadata().get(TYPE_KEY)?;
    match (type_name.as_str(), field.data_type()) {
        ("regclass", DataType::Int64) => Some("nacre_regclass_text"),
        ("regtype", DataType::Int64) => Some("nacre_regtype_text"),
        ("regproc", DataType::Int64) => Some("nacre_regproc_text"),
        ("int2vector" | "oidvector", DataType::List(_)) => Some("array_to_string"),
        _ => None,
    }
}
