//! Puts the values of constant expressions in their places, and leaves out what constants decide,
//! so that what may fail there never does.
//!
//! ```text
//! 1 + 1            2       1 / x > 0 or true       true          null = 1 / x           null
//! 2 in (1, 3)      false   1 / x > 0 and false     false         coalesce(1, 1 / x)     1
//! case when false then 1 / x when true then 2 else 3 / x end     2
//! select c + x from (select 1 as c, x from t) s                  select 1 + x from t
//! ```
//!
//! # Invariants
//! 1. A constant that fails stays: its error is one of the query if its place is computed. Nothing
//!    decides an expression beside it, but FALSE in front of it in AND, and the like.
//! 2. The input of a condition that is never true is not computed if a constant in it fails.
//! # Source
//! PostgreSQL 15, `eval_const_expressions` and `canonicalize_qual`, which run once names and types
//! are known.

use std::collections::{HashMap, HashSet};

use nacre_functions::catalog::find_function;
use nacre_functions::coercion::CoercionPathway;
use nacre_syntax::SourceRange;
use nacre_types::SqlValue;

use crate::algebra::{
    CaseArm, CastStep, ColumnId, ConstantValue, QueryColumns, QueryPlan, RelationalOperator,
    ScalarExpression, ScalarKind,
};
use crate::control;
use crate::properties::{constant_of, constant_value, fails_at_once, is_merged};

/// Columns of queries in FROM that are constants, by identity.
pub(crate) type ConstantColumns = HashMap<ColumnId, ConstantValue>;

/// Folds the expressions of a plan.
pub(crate) fn fold_plan(plan: &mut QueryPlan) {
    let QueryPlan { columns, common, root, .. } = plan;
    for query in common {
        fold_operator(&mut query.root, columns);
        if let Some(term) = query.form.term_mut() {
            fold_operator(&mut term.root, columns);
        }
    }
    fold_operator(root, columns);
}

fn fold_operator(operator: &mut RelationalOperator, columns: &QueryColumns) {
    if control::is_stopped() {
        return;
    }
    let none = ConstantColumns::new();
    operator.expressions_mut().into_iter().for_each(|one| fold_expression(one, &none));
    operator.inputs_mut().for_each(|input| fold_operator(input, columns));
    if let RelationalOperator::Filter { input, condition } = operator
        && constant_of(condition).is_some_and(|value| !is_true(value))
        && input.any_expression(&fails_at_once)
    {
        **input = one_row_like(input, columns);
    }
}

/// Returns a row of nulls with the columns of an operator.
fn one_row_like(operator: &RelationalOperator, columns: &QueryColumns) -> RelationalOperator {
    let mut made = HashSet::new();
    operator.collect_made_columns(&mut made);
    let null = |id: ColumnId| {
        let sql_type = columns.get(id)?.sql_type;
        let kind = ScalarKind::Constant(ConstantValue(SqlValue::Null));
        Some((id, ScalarExpression::new(kind, sql_type, SourceRange::default())))
    };
    let (columns, row) = made.into_iter().filter_map(null).unzip();
    RelationalOperator::Values { columns, rows: vec![row] }
}

/// Returns the columns of a query in FROM that are constants in the query around it, which
/// PostgreSQL makes one query of: VALUES of one row, too.
pub(crate) fn constant_columns(root: &RelationalOperator) -> Vec<(ColumnId, ConstantValue)> {
    let columns: Vec<(ColumnId, &ScalarExpression)> = match root {
        RelationalOperator::Compute { input, columns } if is_merged(input) => {
            columns.iter().map(|one| (one.column, &one.value)).collect()
        }
        RelationalOperator::Values { columns, rows } if rows.len() == 1 => {
            columns.iter().copied().zip(rows.iter().flatten()).collect()
        }
        _ => Vec::new(),
    };
    if columns.iter().any(|(_, value)| value.is_volatile()) {
        return Vec::new();
    }
    let constant = |(column, value): (ColumnId, &ScalarExpression)| match &value.kind {
        ScalarKind::Constant(value) => Some((column, value.clone())),
        _ => None,
    };
    columns.into_iter().filter_map(constant).collect()
}

/// Folds an expression, and the queries within it.
pub(crate) fn fold_expression(expression: &mut ScalarExpression, known: &ConstantColumns) {
    if control::is_stopped() {
        return;
    }
    match &mut expression.kind {
        ScalarKind::Column(column) => {
            if let Some(value) = known.get(column) {
                expression.kind = ScalarKind::Constant(value.clone());
            }
        }
        ScalarKind::Case { .. } => fold_case(expression, known),
        ScalarKind::Coalesce(_) => fold_coalesce(expression, known),
        ScalarKind::And(_) => fold_junction(expression, false, known),
        ScalarKind::Or(_) => fold_junction(expression, true, known),
        ScalarKind::Subquery(subquery) => {
            if !known.is_empty() {
                fill_columns(&mut subquery.root, known);
            }
            expression.children_mut().for_each(|child| fold_expression(child, known));
        }
        _ => {
            expression.children_mut().for_each(|child| fold_expression(child, known));
            fold_call(expression);
        }
    }
}

/// Takes null for false in a condition of rows, for which both are the same: `x > 1 and null` is
/// false, `x > 1 or null` is `x > 1`, `not (x > 1 or null)` is false.
pub(crate) fn decide_nulls(condition: &mut ScalarExpression) {
    decide_nulls_within(condition, false);
}

/// Decides nulls in a part of a condition; below an odd number of NOT it is negated.
fn decide_nulls_within(part: &mut ScalarExpression, is_negated: bool) {
    let refused = SqlValue::Boolean(is_negated);
    let is_open = |one: &ScalarExpression| {
        constant_of(one).is_none_or(|value| *value == SqlValue::Boolean(!is_negated))
    };
    match (&mut part.kind, is_negated) {
        (ScalarKind::Not(operand), _) => {
            decide_nulls_within(operand, !is_negated);
            fold_call(part);
        }
        (ScalarKind::And(all), false) | (ScalarKind::Or(all), true) => {
            all.iter_mut().for_each(|one| decide_nulls_within(one, is_negated));
            if !all.iter().all(is_open) && !all.iter().any(fails_at_once) {
                set_constant(part, refused);
            }
        }
        (ScalarKind::Or(all), false) | (ScalarKind::And(all), true) => {
            all.iter_mut().for_each(|one| decide_nulls_within(one, is_negated));
            all.retain(is_open);
            if all.len() > 1 {
                return;
            }
            match all.pop() {
                None => set_constant(part, refused),
                only => set_value(part, only),
            }
        }
        (ScalarKind::Constant(ConstantValue(value @ SqlValue::Null)), _) => *value = refused,
        _ => {}
    }
}

fn fill_columns(operator: &mut RelationalOperator, known: &ConstantColumns) {
    operator.expressions_mut().into_iter().for_each(|one| fold_expression(one, known));
    operator.inputs_mut().for_each(|input| fill_columns(input, known));
}

/// Takes the branches of CASE that are never reached away.
fn fold_case(expression: &mut ScalarExpression, known: &ConstantColumns) {
    let ScalarKind::Case { arms, otherwise } = &mut expression.kind else { return };
    let mut open = std::mem::take(arms).into_iter();
    for CaseArm { mut condition, mut result } in &mut open {
        fold_expression(&mut condition, known);
        match constant_of(&condition).map(is_true) {
            Some(false) => {}
            Some(true) => {
                *otherwise = Some(Box::new(result));
                break;
            }
            None => {
                fold_expression(&mut result, known);
                arms.push(CaseArm { condition, result });
            }
        }
    }
    otherwise.iter_mut().for_each(|last| fold_expression(last, known));
    if arms.is_empty() {
        let last = otherwise.take().map(|last| *last);
        set_value(expression, last);
    }
}

/// Takes what COALESCE does not reach away.
fn fold_coalesce(expression: &mut ScalarExpression, known: &ConstantColumns) {
    let ScalarKind::Coalesce(all) = &mut expression.kind else { return };
    for mut one in std::mem::take(all) {
        fold_expression(&mut one, known);
        let value = constant_of(&one);
        let (is_null, is_last) = (value == Some(&SqlValue::Null), value.is_some());
        if !is_null {
            all.push(one);
            if is_last {
                break;
            }
        }
    }
    if all.len() <= 1 {
        let only = all.pop();
        set_value(expression, only);
    }
}

/// Takes the operands of AND or OR that decide nothing away, and those behind one that is
/// `decisive`.
fn fold_junction(expression: &mut ScalarExpression, decisive: bool, known: &ConstantColumns) {
    let (ScalarKind::And(all) | ScalarKind::Or(all)) = &mut expression.kind else { return };
    let mut null = None;
    let mut open = std::mem::take(all).into_iter();
    for mut one in &mut open {
        fold_expression(&mut one, known);
        match constant_of(&one) {
            Some(SqlValue::Boolean(value)) if *value == decisive => {
                if !all.iter().any(fails_at_once) {
                    all.clear();
                    null = None;
                }
                all.push(one);
                break;
            }
            Some(SqlValue::Null) => null = Some(one),
            Some(_) => {}
            None => all.push(one),
        }
    }
    all.extend(null);
    if all.len() > 1 {
        return;
    }
    let only = all.pop();
    match only {
        None => set_constant(expression, SqlValue::Boolean(!decisive)),
        only => set_value(expression, only),
    }
}

/// Folds a call, cast or test whose operands have been folded.
fn fold_call(expression: &mut ScalarExpression) {
    if expression.children().all(|child| constant_of(child).is_none())
        && expression.children().next().is_some()
    {
        return;
    }
    let null_decides = |is_strict: bool| {
        let is_null = |child: &ScalarExpression| constant_of(child) == Some(&SqlValue::Null);
        is_strict && expression.children().any(is_null) && !expression.children().any(fails_at_once)
    };
    let value = match &expression.kind {
        ScalarKind::Not(operand) => constant_of(operand).map(|value| match value {
            SqlValue::Boolean(value) => SqlValue::Boolean(!value),
            _ => SqlValue::Null,
        }),
        ScalarKind::IsNull(operand) => {
            constant_of(operand).map(|value| SqlValue::Boolean(value.is_null()))
        }
        ScalarKind::Operator { operator, .. } if null_decides(is_strict(operator.function)) => {
            Some(SqlValue::Null)
        }
        ScalarKind::Function { function, .. }
            if null_decides(function.is_strict && !function.returns_set) =>
        {
            Some(SqlValue::Null)
        }
        ScalarKind::NullIf { operands, .. } if null_decides(true) => {
            let first = operands.first().cloned();
            set_value(expression, first);
            return;
        }
        ScalarKind::Proven(inner) => constant_of(inner).cloned(),
        _ => constant_value(expression).and_then(Result::ok),
    };
    if let Some(value) = value {
        set_constant(expression, value);
    }
}

/// Has an expression be another one; null if there is none.
fn set_value(expression: &mut ScalarExpression, value: Option<ScalarExpression>) {
    expression.kind = match value {
        Some(value) if value.sql_type == expression.sql_type => value.kind,
        Some(ScalarExpression { kind: kind @ ScalarKind::Constant(_), .. }) => kind,
        Some(operand) => {
            let (operand, method) = (Box::new(operand), CastStep::Type(CoercionPathway::Same));
            ScalarKind::Cast { operand, method }
        }
        None => ScalarKind::Constant(ConstantValue(SqlValue::Null)),
    };
}

fn set_constant(expression: &mut ScalarExpression, value: SqlValue) {
    expression.kind = ScalarKind::Constant(ConstantValue(value));
}

fn is_true(value: &SqlValue) -> bool {
    *value == SqlValue::Boolean(true)
}

fn is_strict(function: u32) -> bool {
    find_function(function).is_some_and(|function| function.is_strict)
}
