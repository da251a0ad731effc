//! Rows that are written as such: `(a, b)` or `ROW (a, b)`.
//!
//! - `(a, b) IN (query)`, which the planner does not know, is EXISTS: a row that is equal makes it
//!   true, else one that may be equal makes it null.
//! - Rows are compared column by column, also with the row of a query; the planner would take a
//!   null for a value like others.

use datafusion::sql::sqlparser::ast::helpers::attached_token::AttachedToken;
use datafusion::sql::sqlparser::ast::{
    BinaryOperator, CaseWhen, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments,
    Ident, Query, Select, SelectItem, SetExpr, TableFactor, UnaryOperator, Value,
};

use crate::expression_forms::{binary, nested};
use crate::parsing::statement_parser;

/// Rewrites those that stand alone, or before AND, in WHERE, where null is as good as false.
pub(crate) fn in_conditions(select: &mut Select) {
    let mut open: Vec<&mut Expr> = select.selection.iter_mut().collect();
    while let Some(condition) = open.pop() {
        match condition {
            Expr::BinaryOp { left, op: BinaryOperator::And, right } => {
                open.extend([left, right].map(Box::as_mut))
            }
            Expr::Nested(inner) => open.push(inner),
            other => {
                let Some((left, query, negated)) = parts(other) else { continue };
                let test = if negated { Test::Possible } else { Test::Equal };
                if let Some(found) = exists(left, query, test) {
                    *other = if negated { not(found) } else { found };
                }
            }
        }
    }
}

/// Returns what stands for such an expression elsewhere.
pub(crate) fn value(expr: &Expr) -> Option<Expr> {
    let (left, query, negated) = parts(expr)?;
    let truth = |value: bool| Expr::Value(Value::Boolean(value != negated).into());
    let arm = |condition, result| CaseWhen { condition, result };
    let null = Expr::Value(Value::Null.into());
    Some(Expr::Case {
        case_token: AttachedToken::empty(),
        end_token: AttachedToken::empty(),
        operand: None,
        conditions: vec![
            arm(exists(left, query, Test::Equal)?, truth(true)),
            arm(exists(left, query, Test::Possible)?, null),
        ],
        else_result: Some(Box::new(truth(false))),
    })
}

fn parts(expr: &Expr) -> Option<(&[Expr], &Query, bool)> {
    match expr {
        Expr::InSubquery { expr, subquery, negated } => match expr.as_ref() {
            Expr::Tuple(left) => Some((left, subquery, *negated)),
            _ => None,
        },
        _ => None,
    }
}

/// What a row is looked for.
#[derive(Clone, Copy)]
enum Test {
    /// One that is equal.
    Equal,
    /// One that is equal, or would be if nulls were something else.
    Possible,
}

/// Makes `EXISTS (SELECT 1 FROM (query) WHERE ...)`. Its columns have names that no other has.
fn exists(left: &[Expr], query: &Query, test: Test) -> Option<Expr> {
    let column = |number| format!("\"{}\"", column_name(number));
    let names: Vec<String> = (0..left.len()).map(column).collect();
    let pairs = left.iter().zip(&names).map(|(expr, name)| format!("(({expr}) = {name})"));
    let mut condition = pairs.collect::<Vec<_>>().join(" AND ");
    if matches!(test, Test::Possible) {
        condition = format!("(({condition}) IS NOT FALSE)");
    }
    let names = names.join(", ");
    let sql =
        format!("EXISTS (SELECT 1 FROM (SELECT 1) AS \"nacre set\" ({names}) WHERE {condition})");
    let mut parser = statement_parser(&sql).ok()?;
    let mut made = parser.parse_expr().ok()?;
    if let Expr::Exists { subquery, .. } = &mut made
        && let SetExpr::Select(select) = subquery.body.as_mut()
        && let Some(from) = select.from.first_mut()
        && let TableFactor::Derived { subquery, .. } = &mut from.relation
    {
        **subquery = numbered(query);
        return Some(made);
    }
    None
}

fn column_name(number: usize) -> String {
    format!("nacre column {number}")
}

/// Gives the outputs of a query names that are all different.
fn numbered(query: &Query) -> Query {
    let mut query = query.clone();
    if query.order_by.is_none()
        && let SetExpr::Select(select) = query.body.as_mut()
    {
        for (number, item) in select.projection.iter_mut().enumerate() {
            if let SelectItem::UnnamedExpr(expr) = item {
                let alias = Ident::with_quote('"', column_name(number));
                *item = SelectItem::ExprWithAlias { expr: expr.clone(), alias };
            }
        }
    }
    query
}

/// Returns the columns of a query that gives one row, each as a query.
fn columns_of(query: &Query, count: usize) -> Option<Vec<Expr>> {
    let names: Vec<String> =
        (0..count).map(|number| format!("\"{}\"", column_name(number))).collect();
    let all = names.join(", ");
    let column = |name: &String| {
        let sql = format!("(SELECT {name} FROM (SELECT 1) AS \"nacre set\" ({all}))");
        let mut made = statement_parser(&sql).ok()?.parse_expr().ok()?;
        if let Expr::Subquery(outer) = &mut made
            && let SetExpr::Select(select) = outer.body.as_mut()
            && let Some(from) = select.from.first_mut()
            && let TableFactor::Derived { subquery, .. } = &mut from.relation
        {
            **subquery = numbered(query);
            return Some(made);
        }
        None
    };
    names.iter().map(column).collect()
}

fn not(expr: Expr) -> Expr {
    match expr {
        Expr::Exists { subquery, negated } => Expr::Exists { subquery, negated: !negated },
        other => other,
    }
}

/// Returns what stands for a comparison of rows, or a test of one for nulls.
pub(crate) fn compared(expr: &Expr) -> Option<Expr> {
    match expr {
        Expr::BinaryOp { left, op, right } => rows(left, op, right),
        Expr::InList { expr, list, negated } => among(expr, list, *negated),
        Expr::IsNull(inner) => every(row(inner)?, Expr::IsNull),
        Expr::IsNotNull(inner) => every(row(inner)?, Expr::IsNotNull),
        _ => None,
    }
}

/// Returns the columns of a row that is written as such.
fn row(expr: &Expr) -> Option<Vec<Expr>> {
    match expr {
        Expr::Tuple(parts) => Some(parts.clone()),
        Expr::Function(Function { name, args: FunctionArguments::List(list), .. })
            if name.0.len() == 1 && name.to_string().eq_ignore_ascii_case("row") =>
        {
            let parts = list.args.iter().map(|arg| match arg {
                FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) => Some(expr.clone()),
                _ => None,
            });
            parts.collect()
        }
        _ => None,
    }
}

/// Applies a test to all columns of a row.
fn every(row: Vec<Expr>, test: impl Fn(Box<Expr>) -> Expr) -> Option<Expr> {
    let tests = row.into_iter().map(|one| test(Box::new(nested(one))));
    joined(tests, BinaryOperator::And)
}

/// Joins conditions to a tree that is as flat as can be.
fn joined(conditions: impl Iterator<Item = Expr>, op: BinaryOperator) -> Option<Expr> {
    let mut level: Vec<Expr> = conditions.collect();
    while level.len() > 1 {
        let mut rest = level.into_iter();
        let mut above = Vec::new();
        while let Some(one) = rest.next() {
            above.push(match rest.next() {
                Some(other) => nested(binary(one, op.clone(), other)),
                None => one,
            });
        }
        level = above;
    }
    level.pop()
}

/// Whether a row is one of a list.
fn among(of: &Expr, list: &[Expr], is_negated: bool) -> Option<Expr> {
    row(of)?;
    let same = list.iter().map(|one| rows(of, &BinaryOperator::Eq, one));
    let same: Vec<Expr> = same.collect::<Option<_>>()?;
    let found = nested(joined(same.into_iter(), BinaryOperator::Or)?);
    Some(match is_negated {
        true => nested(Expr::UnaryOp { op: UnaryOperator::Not, expr: Box::new(found) }),
        false => found,
    })
}

/// Compares two rows.
fn rows(left: &Expr, op: &BinaryOperator, right: &Expr) -> Option<Expr> {
    let (left, right) = match (row(left), row(right), left, right) {
        (Some(left), Some(right), _, _) => (left, right),
        (Some(left), None, _, Expr::Subquery(query)) => {
            let right = columns_of(query, left.len())?;
            (left, right)
        }
        (None, Some(right), Expr::Subquery(query), _) => {
            let left = columns_of(query, right.len())?;
            (left, right)
        }
        _ => return None,
    };
    if left.len() != right.len() {
        return None;
    }
    let pairs = || left.iter().cloned().zip(right.iter().cloned());
    let compare = |(one, other): (Expr, Expr), op: &BinaryOperator| {
        binary(nested(one), op.clone(), nested(other))
    };
    match op {
        BinaryOperator::Eq => joined(pairs().map(|pair| compare(pair, op)), BinaryOperator::And),
        BinaryOperator::NotEq => joined(pairs().map(|pair| compare(pair, op)), BinaryOperator::Or),
        BinaryOperator::Lt | BinaryOperator::LtEq | BinaryOperator::Gt | BinaryOperator::GtEq => {
            let strict = match op {
                BinaryOperator::Lt | BinaryOperator::LtEq => BinaryOperator::Lt,
                _ => BinaryOperator::Gt,
            };
            // The first columns that differ decide.
            let mut condition: Option<Expr> = None;
            for pair in pairs().rev() {
                condition = Some(match condition {
                    None => compare(pair, op),
                    Some(rest) => {
                        let same = compare(pair.clone(), &BinaryOperator::Eq);
                        let rest = nested(binary(same, BinaryOperator::And, rest));
                        nested(binary(compare(pair, &strict), BinaryOperator::Or, rest))
                    }
                });
            }
            condition.map(nested)
        }
        _ => None,
    }
}
