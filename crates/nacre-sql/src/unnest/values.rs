//! An analyzer rule: subqueries whose values are wanted where the planner takes none.

use std::sync::Arc;

use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::common::{Column, DFSchema, Result, ScalarValue, Spans, not_impl_err};
use datafusion::functions_aggregate::expr_fn::count;
use datafusion::logical_expr::expr::{Alias, Cast, Exists, InSubquery};
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::utils::split_conjunction;
use datafusion::logical_expr::{
    BinaryExpr, Expr, ExprSchemable, LogicalPlan, LogicalPlanBuilder, Operator, Subquery, lit, when,
};
use datafusion::optimizer::AnalyzerRule;

use super::domain::Domain;
use super::lateral::lateral;
use super::references::{is_deep, references};
use super::shapes::{is_misread, is_opaque, refers_outside_conditions};

/// What is told of subqueries that nobody can run.
pub(crate) const MISREAD: &str = "this subquery, which refers to the outer query,";

/// Functions that keep to be one of the rows if their first argument is: the planner makes no
/// constants of them.
const ROW_FUNCTIONS: [&str; 7] = ["abs", "btrim", "lower", "ltrim", "rtrim", "substr", "upper"];

/// The rule; it runs before types are brought together.
#[derive(Debug)]
pub(crate) struct SubqueryValues;

impl AnalyzerRule for SubqueryValues {
    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> Result<LogicalPlan> {
        let (mut plan, mut names) = (plan, 0);
        loop {
            let mut is_again = false;
            plan = plan
                .transform_up_with_subqueries(|plan| {
                    joined(counted(plan)?, &mut names, &mut is_again)
                })?
                .data;
            // Each time the subqueries that were within others are one level less deep.
            if !is_again {
                return Ok(plan);
            }
        }
    }

    fn name(&self) -> &str {
        "subquery_values"
    }
}

/// Turns IN and EXISTS among the outputs of a query into scalar subqueries, and those of conditions
/// that the planner does not run as joins, or would answer with false instead of null where that
/// makes a difference.
fn counted(plan: LogicalPlan) -> Result<LogicalPlan> {
    let are_outputs = match plan {
        LogicalPlan::Projection(_) | LogicalPlan::Aggregate(_) => true,
        LogicalPlan::Filter(_) => false,
        _ => return Ok(plan),
    };
    let is_wanted =
        |query: &Subquery| -> Result<bool> { Ok(are_outputs || is_opaque(&query.subquery)?) };
    let mut telling = Vec::new();
    if let LogicalPlan::Filter(filter) = &plan {
        for condition in split_conjunction(&filter.predicate) {
            match condition {
                // By itself it becomes a join, and if need be one that knows of null.
                Expr::InSubquery(found) if !found.negated || is_null_aware(found) => {}
                Expr::InSubquery(found) => telling.push(found.clone()),
                other => note_telling(other, &mut telling)?,
            }
        }
    }
    let inputs = plan.inputs();
    let [input] = inputs.as_slice() else { return Ok(plan) };
    let schema = Arc::clone(input.schema());
    let names = NamePreserver::new(&plan);
    let counted = plan.map_expressions(|expr| {
        let name = names.save(&expr);
        let changed = expr.transform_up(|part| match part {
            Expr::Exists(Exists { subquery, negated }) if is_wanted(&subquery)? => {
                let some = has_rows(subquery.subquery.as_ref().clone())?;
                Ok(Transformed::yes(if negated { !some } else { some }))
            }
            Expr::InSubquery(found) if telling.contains(&found) => {
                let changed = member(found, &schema)?;
                match changed.transformed {
                    true => Ok(changed),
                    false => not_impl_err!("IN (query) as a part of this condition"),
                }
            }
            Expr::InSubquery(found) if is_wanted(&found.subquery)? => member(found, &schema),
            Expr::SetComparison(_) if are_outputs => {
                not_impl_err!(
                    "ANY and ALL of queries outside of conditions, but for = ANY and <> ALL"
                )
            }
            other => Ok(Transformed::no(other)),
        })?;
        Ok(changed.update_data(|expr| name.restore(expr)))
    })?;
    counted.map_data(LogicalPlan::recompute_schema).map(|changed| changed.data)
}

/// Whether the planner makes a join of `expr NOT IN (query)` that knows of null, which it can do
/// for one key only. What may turn out to be a constant is no key.
fn is_null_aware(found: &InSubquery) -> bool {
    let mut expr = found.expr.as_ref();
    loop {
        expr = match expr {
            Expr::Column(_) => return found.subquery.outer_ref_columns.is_empty(),
            Expr::Cast(cast) => cast.expr.as_ref(),
            Expr::ScalarFunction(call) if ROW_FUNCTIONS.contains(&call.name()) => {
                match call.args.first() {
                    Some(first) => first,
                    None => return false,
                }
            }
            _ => return false,
        };
    }
}

/// Notes the INs of a condition that are to be null where they are neither true nor false: all but
/// those that only AND and OR stand above, whose condition is not met either way.
fn note_telling(condition: &Expr, telling: &mut Vec<InSubquery>) -> Result<()> {
    match condition {
        Expr::BinaryExpr(BinaryExpr { left, op: Operator::And | Operator::Or, right }) => {
            note_telling(left, telling)?;
            note_telling(right, telling)
        }
        Expr::InSubquery(found) if !found.negated => Ok(()),
        other => other
            .apply(|part| {
                if let Expr::InSubquery(found) = part {
                    telling.push(found.clone());
                }
                Ok(TreeNodeRecursion::Continue)
            })
            .map(drop),
    }
}

/// Makes a scalar subquery that says whether a query has rows.
fn has_rows(query: LogicalPlan) -> Result<Expr> {
    // Which columns these have makes no difference.
    let counted = LogicalPlanBuilder::from(query)
        .aggregate(Vec::<Expr>::new(), vec![count(lit(1_i64)).alias("rows")])?
        .build()?;
    Ok(scalar(counted)?.gt(lit(0_i64)))
}

fn scalar(plan: LogicalPlan) -> Result<Expr> {
    let outer_ref_columns = references(&plan)?;
    Ok(Expr::ScalarSubquery(Subquery {
        subquery: Arc::new(plan),
        outer_ref_columns,
        spans: Spans::new(),
    }))
}

/// Turns `expr IN (query)` into scalar subqueries: true if a row is equal, else null if one may be,
/// else false.
fn member(found: InSubquery, schema: &DFSchema) -> Result<Transformed<Expr>> {
    let InSubquery { expr, subquery, negated } = &found;
    let query = subquery.subquery.as_ref();
    let columns = query.schema().columns();
    let is_foreign = expr.exists(|part| {
        Ok(match part {
            Expr::OuterReferenceColumn(..) => true,
            Expr::ScalarSubquery(query)
            | Expr::Exists(Exists { subquery: query, .. })
            | Expr::InSubquery(InSubquery { subquery: query, .. }) => {
                !query.outer_ref_columns.is_empty()
            }
            _ => false,
        })
    })?;
    let ([column], false, false) = (columns.as_slice(), is_foreign, expr.is_volatile()) else {
        return Ok(Transformed::no(Expr::InSubquery(found)));
    };
    let value = Expr::Column(column.clone());
    let outer = expr.as_ref().clone().transform(|part| match part {
        Expr::Column(column) => {
            let field = Arc::clone(schema.qualified_field_from_column(&column)?.1);
            Ok(Transformed::yes(Expr::OuterReferenceColumn(field, column)))
        }
        other => Ok(Transformed::no(other)),
    })?;
    let outer = outer.data;
    let filtered = |condition: Expr| {
        LogicalPlanBuilder::from(query.clone()).filter(condition)?.build().and_then(has_rows)
    };
    let is_there = filtered(value.clone().eq(outer))?;
    let is_unknown = has_rows(query.clone())?
        .and(expr.as_ref().clone().is_null())
        .or(filtered(value.is_null())?);
    let member = when(is_there, lit(true))
        .when(is_unknown, lit(ScalarValue::Boolean(None)))
        .otherwise(lit(false))?;
    Ok(Transformed::yes(if *negated { !member } else { member }))
}

/// Makes joins of the scalar subqueries that the planner does not run.
fn joined(
    plan: LogicalPlan,
    names: &mut usize,
    is_again: &mut bool,
) -> Result<Transformed<LogicalPlan>> {
    use LogicalPlan::{Aggregate, Filter, Join, Projection};
    if let Join(join) = plan {
        return lateral(join, names);
    }
    if !matches!(plan, Projection(_) | Aggregate(_) | Filter(_)) {
        return Ok(Transformed::no(plan));
    }
    let queries = hard_queries(&plan)?;
    let inputs = plan.inputs();
    let ([outer], false) = (inputs.as_slice(), queries.is_empty()) else {
        return Ok(Transformed::no(plan));
    };
    // It is going to be computed twice.
    if has_volatile(outer)? {
        return refused(&queries, outer.schema()).map(|()| Transformed::no(plan));
    }
    let (mut input, mut values) = (LogicalPlan::clone(outer), Vec::with_capacity(queries.len()));
    for query in &queries {
        let Some(columns) = handed_in(query, outer.schema())? else {
            return Ok(Transformed::no(plan));
        };
        *is_again |= is_deep(&query.subquery)?;
        match Domain::new(outer, columns, names).join(input, &query.subquery)? {
            Some((joined, value)) => {
                input = joined;
                values.push(value);
            }
            None => {
                return refused(&queries, outer.schema()).map(|()| Transformed::no(plan));
            }
        }
    }
    let kept: Vec<Expr> = outer.schema().columns().into_iter().map(Expr::Column).collect();
    let preserver = NamePreserver::new(&plan);
    let replaced = |expr: Expr| -> Result<Expr> {
        let name = preserver.save(&expr);
        let replaced = expr.transform(|part| match part {
            Expr::ScalarSubquery(query) => match queries.iter().position(|one| *one == query) {
                Some(number) => Ok(Transformed::yes(Expr::Column(values[number].clone()))),
                None => Ok(Transformed::no(Expr::ScalarSubquery(query))),
            },
            other => Ok(Transformed::no(other)),
        })?;
        Ok(name.restore(replaced.data))
    };
    let exprs = plan.expressions().into_iter().map(replaced).collect::<Result<Vec<_>>>()?;
    let is_filter = matches!(plan, Filter(_));
    let made = plan.with_new_exprs(exprs, vec![input])?;
    Ok(Transformed::yes(match is_filter {
        true => LogicalPlanBuilder::from(made).project(kept)?.build()?,
        false => made,
    }))
}

/// Refuses subqueries that are no joins here and that the planner would make wrong ones of.
fn refused(queries: &[Subquery], outer: &DFSchema) -> Result<()> {
    for query in queries {
        if handed_in(query, outer)?.is_some() && is_misread(&query.subquery)? {
            return not_impl_err!("{MISREAD}");
        }
    }
    Ok(())
}

/// Returns the subqueries of a node that only joins can run.
fn hard_queries(plan: &LogicalPlan) -> Result<Vec<Subquery>> {
    let mut found: Vec<Subquery> = Vec::new();
    // The planner runs those of queries without groups only.
    let is_grouped = matches!(plan, LogicalPlan::Aggregate(_));
    plan.apply_expressions(|expr| {
        expr.apply(|part| {
            if let Expr::ScalarSubquery(query) = part
                && !found.contains(query)
                && !references(&query.subquery)?.is_empty()
                && (is_grouped || is_misread(&query.subquery)? || is_hard(&query.subquery)?)
            {
                found.push(query.clone());
            }
            Ok(TreeNodeRecursion::Continue)
        })
    })?;
    Ok(found)
}

/// Whether a subquery refers to the outer query in another way than the planner understands, which
/// is conditions that a column is equal to something.
fn is_hard(query: &LogicalPlan) -> Result<bool> {
    Ok(aggregates_twice(query)? || loses_rows(query)? || refers_otherwise(query)?)
}

/// Whether a subquery aggregates what one without groups gave, which the planner would give no row
/// where there is nothing to aggregate.
fn aggregates_twice(query: &LogicalPlan) -> Result<bool> {
    query.exists(|node| match node {
        LogicalPlan::Aggregate(one) => has_single_row(&one.input),
        _ => Ok(false),
    })
}

/// Whether a plan has a row of an aggregation without groups, also where there is nothing to
/// aggregate.
fn has_single_row(plan: &LogicalPlan) -> Result<bool> {
    plan.exists(|node| match node {
        LogicalPlan::Aggregate(one) => {
            Ok(one.group_expr.is_empty() && !node.all_out_ref_exprs().is_empty())
        }
        _ => Ok(false),
    })
}

/// Whether a subquery does more with the row of an aggregation without groups than the planner
/// follows, which puts in what an expression is for such a row where the join finds none.
fn loses_rows(query: &LogicalPlan) -> Result<bool> {
    query.exists(|node| match node {
        LogicalPlan::Projection(projection) => {
            Ok(has_single_row(&projection.input)? && !projection.expr.iter().all(follows_column))
        }
        LogicalPlan::Filter(filter) => has_single_row(&filter.input),
        LogicalPlan::Distinct(_) | LogicalPlan::Limit(_) => {
            let inputs = node.inputs();
            inputs.first().map_or(Ok(false), |input| has_single_row(input))
        }
        _ => Ok(false),
    })
}

/// Whether an expression is sure to stay one of a column: it is not made a constant, as
/// `count(x) IS NULL` is.
fn follows_column(expr: &Expr) -> bool {
    use Operator::{Divide, Eq, Gt, GtEq, Lt, LtEq, Minus, Multiply, NotEq, Plus};
    match expr {
        Expr::Column(_) => true,
        Expr::Alias(Alias { expr, .. }) | Expr::Cast(Cast { expr, .. }) => follows_column(expr),
        Expr::BinaryExpr(BinaryExpr { left, op, right }) => {
            let is_constant = |expr: &Expr| match (expr, op) {
                (Expr::Literal(value, _), Multiply) => ScalarValue::new_zero(&value.data_type())
                    .is_ok_and(|zero| !value.is_null() && *value != zero),
                (Expr::Literal(..), Plus | Minus | Divide) => true,
                (Expr::Literal(..), Eq | NotEq | Lt | LtEq | Gt | GtEq) => true,
                _ => false,
            };
            follows_column(left) && is_constant(right) || is_constant(left) && follows_column(right)
        }
        Expr::ScalarFunction(call) if call.name() == "coalesce" => {
            call.args.first().is_some_and(follows_column)
        }
        _ => false,
    }
}

/// Whether one refers to the outer query by other conditions than those.
fn refers_otherwise(query: &LogicalPlan) -> Result<bool> {
    query.exists(|node| {
        Ok(match node {
            LogicalPlan::Limit(_) => !node.all_out_ref_exprs().is_empty(),
            LogicalPlan::Filter(filter) => {
                let schema = filter.input.schema();
                let refers = |expr: &&&Expr| expr.contains_outer();
                split_conjunction(&filter.predicate)
                    .iter()
                    .filter(refers)
                    .any(|expr| !is_equality(expr, schema))
            }
            other => refers_outside_conditions(other)?,
        })
    })
}

fn is_equality(expr: &Expr, schema: &DFSchema) -> bool {
    let Expr::BinaryExpr(BinaryExpr { left, op: Operator::Eq, right }) = expr else {
        return false;
    };
    // Floats are compared without the sign of 0, which makes an expression of a column.
    let is_column = |expr: &Expr| {
        matches!(expr, Expr::Column(_))
            && expr.get_type(schema).is_ok_and(|data_type| !data_type.is_floating())
    };
    (is_column(left) && !right.any_column_refs()) || (is_column(right) && !left.any_column_refs())
}

/// Returns the columns of the outer query that a subquery refers to; `None` if there are others.
pub(super) fn handed_in(query: &Subquery, outer: &DFSchema) -> Result<Option<Vec<Column>>> {
    let column = |expr: Expr| match expr {
        Expr::OuterReferenceColumn(_, column) if outer.has_column(&column) => Some(column),
        _ => None,
    };
    Ok(references(&query.subquery)?.into_iter().map(column).collect())
}

pub(super) fn has_volatile(plan: &LogicalPlan) -> Result<bool> {
    let mut found = false;
    plan.apply_with_subqueries(|node| {
        node.apply_expressions(|expr| {
            found |= expr.is_volatile();
            Ok(TreeNodeRecursion::Continue)
        })
    })?;
    Ok(found)
}
