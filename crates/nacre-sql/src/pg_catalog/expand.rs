//! Functions that return several rows, where a query selects them or reads them with arguments of
//! other tables: each becomes a join with the numbers of the places in the array.
//!
//! `SELECT unnest(a), generate_subscripts(a, 1) FROM t` reads `t` and the numbers from the array's
//! lower to its upper bound. `information_schema._pg_expandarray(a) AS k` has two parts, the value
//! and its number, of which `(k).x` and `(k).n` ask; the query gets a column for each. So it does
//! for the parts of `aclexplode(acl)`. In FROM these are queries for their parts.

use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{
    AccessExpr, Expr, FunctionArg, FunctionArgExpr, FunctionArguments, Ident, Query, Select,
    SelectItem, SetExpr, TableAlias, TableFactor, Visit, VisitMut, Visitor, VisitorMut,
};

use super::rewrite::call;
use crate::names::fold;
use crate::parsing::statement_parser;
use crate::query_forms::has_column;

/// Name of the numbers, and of their column.
const PLACE: &str = "nacre_place";

/// Functions whose rows have several parts.
const PARTS: [(&str, &[&str]); 2] = [
    ("_pg_expandarray", &["x", "n"]),
    ("aclexplode", &["grantor", "grantee", "privilege_type", "is_grantable"]),
];

/// Elements that an array may have: columns of a table and more.
const NUMBERS: &str = "generate_series(0, 1664)";

/// Parses a query that is made here.
pub(super) fn parsed_query(sql: &str) -> Option<Query> {
    let parsed = statement_parser(sql).and_then(|mut parser| parser.parse_query());
    parsed.ok().map(|query| *query)
}

/// Parses an expression that is made here.
pub(super) fn parsed(sql: &str) -> Option<Expr> {
    statement_parser(sql).and_then(|mut parser| parser.parse_expr()).ok()
}

/// Returns the parts of the rows of a function.
fn parts_of_rows(function: &str) -> Option<&'static [&'static str]> {
    PARTS.iter().find(|(known, _)| *known == function).map(|(_, parts)| *parts)
}

/// Returns function and array of a call that returns the elements of an array.
fn elements(expr: &Expr) -> Option<(String, Expr)> {
    let expr = match expr {
        Expr::Nested(inner) => inner.as_ref(),
        other => other,
    };
    let Expr::Function(function) = expr else { return None };
    let name = function.name.0.last()?.as_ident().map(fold)?;
    if !matches!(name.as_str(), "unnest" | "generate_subscripts") {
        parts_of_rows(&name)?;
    }
    let FunctionArguments::List(list) = &function.args else { return None };
    match list.args.first()? {
        FunctionArg::Unnamed(FunctionArgExpr::Expr(acl)) if name == "aclexplode" => {
            Some((name, call("nacre_aclexplode", vec![acl.clone()])))
        }
        FunctionArg::Unnamed(FunctionArgExpr::Expr(array)) => Some((name, array.clone())),
        _ => None,
    }
}

/// Joins a query that selects elements of an array with the numbers of their places.
pub(super) fn outputs(select: &mut Select) {
    struct First(Option<Expr>);
    impl Visitor for First {
        type Break = ();

        fn pre_visit_query(&mut self, _: &Query) -> ControlFlow<()> {
            // What a subquery selects is its own.
            ControlFlow::Break(())
        }

        fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
            match elements(expr) {
                Some((_, array)) => {
                    self.0 = Some(array);
                    ControlFlow::Break(())
                }
                None => ControlFlow::Continue(()),
            }
        }
    }
    let mut first = First(None);
    for item in &select.projection {
        if first.0.is_none() {
            let _ = item.visit(&mut first);
        }
    }
    let Some(array) = first.0 else { return };
    let items = std::mem::take(&mut select.projection);
    for item in items {
        expand(item, &mut select.projection);
    }
    let condition =
        format!("{PLACE}.{PLACE} BETWEEN array_lower({array}, 1) AND nacre_last({array})");
    let numbers = parsed_query(&format!("SELECT 1 FROM {NUMBERS} AS {PLACE}({PLACE})"));
    let (Some(numbers), Some(condition)) = (numbers, parsed(&condition)) else { return };
    if let SetExpr::Select(numbers) = *numbers.body {
        select.from.extend(numbers.from);
    }
    require(select, condition);
}

/// Adds a condition to a query.
pub(super) fn require(select: &mut Select, condition: Expr) {
    let sql = match &select.selection {
        None => Some(condition),
        Some(before) => parsed(&format!("({before}) AND {condition}")),
    };
    if sql.is_some() {
        select.selection = sql;
    }
}

/// Makes a query of a function in FROM whose rows have several parts. What `is_first` there stands
/// beside nothing that it could refer to.
pub(super) fn rows(factor: &mut TableFactor, is_first: bool) {
    let (name, args, alias) = match factor {
        TableFactor::Table { name, args: Some(args), alias, with_ordinality: false, .. } => {
            (name, &args.args, alias)
        }
        TableFactor::Function { name, args, alias, with_ordinality: false, .. } => {
            (name, &*args, alias)
        }
        _ => return,
    };
    let Some(ident) = name.0.last().and_then(|part| part.as_ident()).cloned() else { return };
    let [FunctionArg::Unnamed(FunctionArgExpr::Expr(arg))] = args.as_slice() else { return };
    let function = fold(&ident);
    let Some(parts) = parts_of_rows(&function) else { return };
    let items = parts.iter().map(|part| format!("({function}({arg})).{part} AS {part}"));
    let items = items.collect::<Vec<_>>().join(", ");
    let Some(query) = parsed_query(&format!("SELECT {items}")) else { return };
    let lateral = !is_first && has_column(arg);
    let unnamed = || TableAlias { explicit: true, name: ident, columns: Vec::new(), at: None };
    let alias = Some(alias.take().unwrap_or_else(unnamed));
    *factor = TableFactor::Derived { lateral, subquery: Box::new(query), alias, sample: None };
}

/// Puts an item of a query, or those that it stands for, behind the others.
fn expand(mut item: SelectItem, items: &mut Vec<SelectItem>) {
    let whole = match &item {
        SelectItem::UnnamedExpr(expr) => elements(expr).map(|found| (found, None)),
        SelectItem::ExprWithAlias { expr, alias } => {
            elements(expr).map(|found| (found, Some(fold(alias))))
        }
        _ => None,
    };
    if let Some(((name, array), alias)) = whole {
        if let Some(parts) = parts_of_rows(&name) {
            let alias = alias.unwrap_or(name);
            for part in parts {
                let Some(expr) = part_of(&array, part) else { continue };
                let alias = Ident::with_quote('"', format!("{alias}.{part}"));
                items.push(SelectItem::ExprWithAlias { expr, alias });
            }
            return;
        }
        if let SelectItem::UnnamedExpr(expr) = &item {
            let (expr, alias) = (expr.clone(), Ident::new(name));
            item = SelectItem::ExprWithAlias { expr, alias };
        }
    }
    let _ = VisitMut::visit(&mut item, &mut Places);
    items.push(item);
}

/// Returns the value, `x`, or its number, `n`, of an element of an array, or a part of a grant.
fn part_of(array: &Expr, part: &str) -> Option<Expr> {
    match part {
        "x" => parsed(&format!("nacre_element({array}, {PLACE}.{PLACE})")),
        "n" => parsed(&format!("CAST({PLACE}.{PLACE} - array_lower({array}, 1) + 1 AS INTEGER)")),
        "grantor" | "grantee" | "privilege_type" | "is_grantable" => {
            parsed(&format!("nacre_acl_{part}(nacre_element({array}, {PLACE}.{PLACE}))"))
        }
        _ => None,
    }
}

/// Puts what holds at a place into the place of the functions.
struct Places;

impl VisitorMut for Places {
    type Break = ();

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        let new = match expr {
            Expr::CompoundFieldAccess { root, access_chain } => {
                match (elements(root), access_chain.as_slice()) {
                    (Some((_, array)), [AccessExpr::Dot(Expr::Identifier(part))]) => {
                        part_of(&array, &fold(part))
                    }
                    _ => None,
                }
            }
            _ => match elements(expr) {
                Some((name, array)) if name == "unnest" => part_of(&array, "x"),
                Some((name, _)) if name == "generate_subscripts" => {
                    parsed(&format!("CAST({PLACE}.{PLACE} AS INTEGER)"))
                }
                _ => None,
            },
        };
        if let Some(new) = new {
            *expr = new;
        }
        ControlFlow::Continue(())
    }
}

/// Returns the column that `(k).x` stands for.
pub(super) fn part_of_column(root: &Expr, chain: &[AccessExpr]) -> Option<Expr> {
    let ([AccessExpr::Dot(Expr::Identifier(part))], Expr::Nested(inner)) = (chain, root) else {
        return None;
    };
    let part = fold(part);
    if !PARTS.iter().any(|(_, parts)| parts.contains(&part.as_str())) {
        return None;
    }
    let named = |ident: &Ident| Ident::with_quote('"', format!("{}.{part}", fold(ident)));
    match inner.as_ref() {
        Expr::Identifier(ident) => Some(Expr::Identifier(named(ident))),
        Expr::CompoundIdentifier(parts) => {
            let (last, before) = parts.split_last()?;
            let mut parts = before.to_vec();
            parts.push(named(last));
            Some(Expr::CompoundIdentifier(parts))
        }
        _ => None,
    }
}

/// Makes a series up to the upper bound of an array a table of numbers; returns the condition.
pub(super) fn series(factor: &mut TableFactor) -> Option<Expr> {
    let TableFactor::Table { name, alias, args: Some(args), .. } = factor else { return None };
    let function = name.0.last()?.as_ident().map(fold)?;
    let bounds: Vec<&Expr> = args
        .args
        .iter()
        .filter_map(|arg| match arg {
            FunctionArg::Unnamed(FunctionArgExpr::Expr(arg)) => Some(arg),
            _ => None,
        })
        .collect();
    let is_constant = |expr: &&Expr| matches!(expr, Expr::Value(_) | Expr::UnaryOp { .. });
    let [low, high] = bounds.as_slice() else { return None };
    if function != "generate_series" || bounds.iter().all(is_constant) {
        return None;
    }
    let shown = alias.as_ref().map_or("generate_series".to_owned(), |one| one.name.to_string());
    let column = alias
        .as_ref()
        .and_then(|one| one.columns.first())
        .map_or(shown.clone(), |column| column.name.to_string());
    // Only the places in an array are known to be among the numbers.
    let high = high.to_string();
    let array = high.strip_prefix("pg_catalog.").unwrap_or(&high);
    let array = array.strip_prefix("array_upper(")?.strip_suffix(", 1)")?;
    let condition = parsed(&format!("{shown}.{column} BETWEEN {low} AND nacre_last({array})"))?;
    let query = parsed_query(&format!("SELECT 1 FROM {NUMBERS} AS {shown}({column})"))?;
    let SetExpr::Select(numbers) = *query.body else { return None };
    *factor = numbers.from.into_iter().next()?.relation;
    Some(condition)
}
