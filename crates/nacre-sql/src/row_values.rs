//! `(a, b) IN (query)`, which the planner does not know, as EXISTS: a row that is equal makes it
//! true, else one that may be equal makes it null.

use datafusion::sql::sqlparser::ast::helpers::attached_token::AttachedToken;
use datafusion::sql::sqlparser::ast::{
    BinaryOperator, CaseWhen, Expr, Query, Select, SetExpr, TableFactor, Value,
};
use datafusion::sql::sqlparser::dialect::PostgreSqlDialect;
use datafusion::sql::sqlparser::parser::Parser;

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
    let column = |number| format!("\"nacre column {number}\"");
    let names: Vec<String> = (0..left.len()).map(column).collect();
    let pairs = left.iter().zip(&names).map(|(expr, name)| format!("(({expr}) = {name})"));
    let mut condition = pairs.collect::<Vec<_>>().join(" AND ");
    if matches!(test, Test::Possible) {
        condition = format!("(({condition}) IS NOT FALSE)");
    }
    let names = names.join(", ");
    let sql =
        format!("EXISTS (SELECT 1 FROM (SELECT 1) AS \"nacre set\" ({names}) WHERE {condition})");
    let dialect = PostgreSqlDialect {};
    let mut parser = Parser::new(&dialect).try_with_sql(&sql).ok()?;
    let mut made = parser.parse_expr().ok()?;
    if let Expr::Exists { subquery, .. } = &mut made
        && let SetExpr::Select(select) = subquery.body.as_mut()
        && let Some(from) = select.from.first_mut()
        && let TableFactor::Derived { subquery, .. } = &mut from.relation
    {
        **subquery = query.clone();
        return Some(made);
    }
    None
}

fn not(expr: Expr) -> Expr {
    match expr {
        Expr::Exists { subquery, negated } => Expr::Exists { subquery, negated: !negated },
        other => other,
    }
}
