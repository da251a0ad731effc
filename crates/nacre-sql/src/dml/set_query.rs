//! `SET (a, b) = (query)`: a query for each of the columns, since an expression has one value.

use std::ops::ControlFlow;

use datafusion::functions_aggregate::all_default_aggregate_functions;
use datafusion::sql::sqlparser::ast::helpers::attached_token::AttachedToken;
use datafusion::sql::sqlparser::ast::{
    BinaryOperator, CaseWhen, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArgumentList,
    FunctionArguments, GroupByExpr, Ident, ObjectName, OrderBy, OrderByKind, Query, Select,
    SelectItem, SetExpr, Value, Visit, Visitor,
};

use crate::error::{Error, ErrorKind, Result};
use crate::names::fold;

/// Splits the query of a SET clause into one query for each of its `count` columns.
///
/// # Errors
/// 42601 for another number of columns; `not supported`.
pub(super) fn single_columns(query: &Query, count: usize) -> Result<Vec<Expr>> {
    let what = "SET (columns) = a query other than SELECT of as many expressions";
    let SetExpr::Select(select) = query.body.as_ref() else {
        return Err(Error::not_supported(what));
    };
    let is_one = |item: &SelectItem| {
        matches!(item, SelectItem::UnnamedExpr(_) | SelectItem::ExprWithAlias { .. })
    };
    // Each part computes the row anew: DISTINCT might keep another one.
    if !select.projection.iter().all(is_one) || select.distinct.is_some() {
        return Err(Error::not_supported(what));
    }
    if select.projection.len() != count {
        let message = "number of columns does not match number of values";
        return Err(Error::new(ErrorKind::Syntax, message));
    }
    // A query that aggregates has one row, also in the parts that do not.
    let is_whole = is_aggregated(select) && !has_groups(select);
    let order = query.order_by.as_ref();
    let order = order.map(|order| order_of_parts(order, &select.projection)).transpose()?;
    let single = |item: &SelectItem| {
        let (mut query, mut select) = (query.clone(), select.clone());
        select.projection = vec![match item {
            SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. }
                if is_whole && !has_aggregate(expr) =>
            {
                SelectItem::UnnamedExpr(of_one_group(expr.clone()))
            }
            item => item.clone(),
        }];
        *query.body = SetExpr::Select(select);
        query.order_by.clone_from(&order);
        Expr::Subquery(Box::new(query))
    };
    Ok(select.projection.iter().map(single).collect())
}

fn has_groups(select: &Select) -> bool {
    match &select.group_by {
        GroupByExpr::All(_) => true,
        GroupByExpr::Expressions(exprs, _) => !exprs.is_empty(),
    }
}

fn is_aggregated(select: &Select) -> bool {
    let items = select.projection.iter().filter_map(|item| match item {
        SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. } => Some(expr),
        _ => None,
    });
    select.having.is_some() || items.into_iter().any(has_aggregate)
}

/// Whether an expression calls an aggregate, outside of queries in it.
fn has_aggregate(expr: &Expr) -> bool {
    struct AggregateCalls(usize);
    impl Visitor for AggregateCalls {
        type Break = ();

        fn pre_visit_query(&mut self, _: &Query) -> ControlFlow<()> {
            self.0 += 1;
            ControlFlow::Continue(())
        }

        fn post_visit_query(&mut self, _: &Query) -> ControlFlow<()> {
            self.0 -= 1;
            ControlFlow::Continue(())
        }

        fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
            match expr {
                Expr::Function(function)
                    if self.0 == 0 && function.over.is_none() && is_aggregate(function) =>
                {
                    ControlFlow::Break(())
                }
                _ => ControlFlow::Continue(()),
            }
        }
    }
    expr.visit(&mut AggregateCalls(0)).is_break()
}

/// Returns `CASE WHEN count(*) >= 0 THEN expr END`, which has the one row of an aggregate.
fn of_one_group(expr: Expr) -> Expr {
    let count = Function {
        name: ObjectName::from(Ident::new("count")),
        uses_odbc_syntax: false,
        parameters: FunctionArguments::None,
        args: FunctionArguments::List(FunctionArgumentList {
            duplicate_treatment: None,
            args: vec![FunctionArg::Unnamed(FunctionArgExpr::Wildcard)],
            clauses: Vec::new(),
        }),
        filter: None,
        null_treatment: None,
        over: None,
        within_group: Vec::new(),
    };
    let condition = Expr::BinaryOp {
        left: Box::new(Expr::Function(count)),
        op: BinaryOperator::GtEq,
        right: Box::new(Expr::Value(Value::Number("0".to_owned(), false).into())),
    };
    Expr::Case {
        case_token: AttachedToken::empty(),
        end_token: AttachedToken::empty(),
        operand: None,
        conditions: vec![CaseWhen { condition, result: expr }],
        else_result: None,
    }
}

/// Writes out what ORDER BY names by number or alias: each part has one of the outputs only.
fn order_of_parts(order: &OrderBy, items: &[SelectItem]) -> Result<OrderBy> {
    let mut order = order.clone();
    let OrderByKind::Expressions(keys) = &mut order.kind else {
        return Err(Error::not_supported("ORDER BY ALL in a query of several columns"));
    };
    for key in keys {
        let found = match &key.expr {
            Expr::Identifier(name) => items.iter().find_map(|item| match item {
                SelectItem::ExprWithAlias { expr, alias } if fold(alias) == fold(name) => {
                    Some(expr)
                }
                _ => None,
            }),
            Expr::Value(value) => match &value.value {
                Value::Number(place, _) => {
                    let place = place.parse::<usize>().ok().and_then(|place| place.checked_sub(1));
                    match place.and_then(|place| items.get(place)) {
                        Some(
                            SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. },
                        ) => Some(expr),
                        _ => None,
                    }
                }
                _ => None,
            },
            _ => None,
        };
        if let Some(expr) = found {
            key.expr = Expr::Nested(Box::new(expr.clone()));
        }
    }
    Ok(order)
}

fn is_aggregate(function: &Function) -> bool {
    let Some(name) = function.name.0.last().and_then(|part| part.as_ident()).map(fold) else {
        return false;
    };
    let known = all_default_aggregate_functions();
    matches!(name.as_str(), "every" | "variance")
        || known.iter().any(|known| known.name() == name || known.aliases().contains(&name))
}
