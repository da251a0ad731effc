//! Expressions that are evaluated row by row, as nodes of a graph.
//!
//! What vectors do not compute is computed as [`RowExpression`], about a microsecond for each
//! operator. A numeric becomes [`ValueForm::Exact`]: its error is raised where it is looked at, as
//! PostgreSQL computes the columns of a query in FROM where the outer one has their values. All
//! other values raise errors here.
//!
//! [`ValueForm::Exact`]: super::form::ValueForm::Exact

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;

use nacre_plan::algebra::{ColumnId, ScalarExpression, ScalarKind};
use nacre_types::catalog::TypeOid;
use nacre_types::{SqlType, SqlValue, TypeKind, ValueError};

use super::columns::{ColumnPlace, ColumnPlaces};
use super::error::LoweringResult;
use super::expressions::LoweredExpression;
use super::fold::fold_constant;
use super::form::ValueForm;
use super::row_expression::RowExpression;
use crate::error::{ExecError, ExecResult};
use crate::expression::{
    ExpressionGraph, ExpressionId, ExpressionNode, ForeignCall, ForeignFunction,
};
use crate::value::{
    IntBounds, ScalarValue, ValueClass, encode_exact, encode_failure, encode_packed,
};
use crate::vector::{ColumnVector, VectorValues};

/// Most nodes of an expression: each takes up to a kilobyte of stack, and a microsecond.
pub(super) const ROW_NODES_MAX: usize = 500;

/// Bytes of strings that are made between two looks at the memory of the query.
const BYTES_BETWEEN_ASKS: usize = 256 << 10;

/// Rows that are computed between two looks at whether the query is to end: a call may take a
/// millisecond, of a long string.
const ROWS_BETWEEN_CHECKS: usize = 32;

/// Looks of a call at its query: values may be long, and take long to compute.
#[derive(Debug, Default)]
pub(super) struct CallLooks {
    /// Bytes of strings that memory was asked for.
    asked: usize,
}

impl CallLooks {
    /// Looks, before the value of a row is computed, at whether the query is to end, and asks for
    /// the memory of the values so far.
    ///
    /// # Errors
    /// As [`QueryControl::check`](crate::control::QueryControl::check) and `CallRoom::ask`.
    pub(super) fn look(
        &mut self,
        call: &ForeignCall<'_>,
        row: usize,
        values: &VectorValues,
    ) -> ExecResult<()> {
        if row.is_multiple_of(ROWS_BETWEEN_CHECKS) {
            call.room.check()?;
        }
        if let VectorValues::Bytes(strings) = values
            && strings.heap().len() >= self.asked + BYTES_BETWEEN_ASKS
        {
            self.asked = strings.heap().len();
            call.room.ask(strings.bytes())?;
        }
        Ok(())
    }
}

/// A node whose values are computed row by row.
pub(super) struct RowNode {
    pub(super) id: ExpressionId,
    pub(super) form: ValueForm,
    /// Whether it raises errors.
    pub(super) may_fail: bool,
}

/// Adds a node for an expression, some of whose columns are `calls` of queries; `None` if a part of
/// it is not evaluated by rows, its values have no form, or a constant of it fails, which is an
/// error even of no rows.
///
/// # Errors
/// None for columns that are there.
pub(super) fn add_row_node(
    graph: &mut ExpressionGraph,
    expression: &ScalarExpression,
    columns: &ColumnPlaces,
    calls: &[(ColumnId, LoweredExpression)],
) -> LoweringResult<Option<RowNode>> {
    let sql_type = expression.sql_type;
    let mut inputs: Vec<ExpressionId> = Vec::new();
    let mut read = |column, sql_type| {
        let called = calls.iter().find(|(own, _)| *own == column);
        let (id, form) = match called {
            Some((_, called)) => (called.id, called.form),
            None => {
                let ColumnPlace { index, form } = columns.get(column).ok()?;
                (graph.column(index, form.class()).ok()?, form)
            }
        };
        let known = inputs.iter().position(|own| *own == id);
        let number = known.unwrap_or_else(|| {
            inputs.push(id);
            inputs.len() - 1
        });
        Some(RowExpression::Input { number, form, sql_type })
    };
    let Some(row) = RowExpression::compile(expression, &mut read) else { return Ok(None) };
    let fails = row.may_fail();
    let Some(form) = form_of_rows(sql_type, fails) else { return Ok(None) };
    if row.count() > ROW_NODES_MAX || has_failing_constant(expression) {
        return Ok(None);
    }
    let arguments = inputs;
    let is_volatile = row.is_volatile();
    let row = Arc::new(row);
    let kernel = move |call: &ForeignCall<'_>, out: &mut ColumnVector| {
        evaluate_rows(&row, sql_type, call, out)
    };
    let bounds = bounds_of_type(sql_type);
    let name = shown_name(expression);
    let function = ForeignFunction::new(name, kernel, form.class(), bounds, true);
    let function = function.with_volatility(is_volatile);
    let id = graph.add(ExpressionNode::Foreign { function, arguments })?;
    let may_fail = fails && !matches!(form, ValueForm::Exact { .. });
    Ok(Some(RowNode { id, form, may_fail }))
}

/// Returns the least number of row nodes of an expression: parts without columns are folded.
pub(super) fn row_nodes_min(expression: &ScalarExpression) -> usize {
    match &expression.kind {
        ScalarKind::Column(_) | ScalarKind::Call { .. } => 1,
        ScalarKind::Proven(inner) => row_nodes_min(inner),
        _ => match expression.children().map(row_nodes_min).sum() {
            0 => 0,
            below => below + 1,
        },
    }
}

/// Returns what errors call an expression: its outermost function or operator.
fn shown_name(expression: &ScalarExpression) -> &'static str {
    match &expression.kind {
        ScalarKind::Function { function, .. } => function.name,
        ScalarKind::Operator { operator, .. } => operator.name,
        _ => "values row by row",
    }
}

/// Returns the form of values that are computed by rows; `None` if there is none that fits all.
pub(super) fn form_of_rows(sql_type: SqlType, may_fail: bool) -> Option<ValueForm> {
    match sql_type.kind() {
        TypeKind::Numeric(_) => Some(ValueForm::Exact { may_fail }),
        // How many blanks a string has depends on the value.
        TypeKind::Bpchar(_) => Some(ValueForm::Packed { has_keys: true }),
        _ => ValueForm::of_null(sql_type),
    }
}

/// Returns where whole numbers of a type lie.
pub(super) fn bounds_of_type(sql_type: SqlType) -> IntBounds {
    match sql_type.kind() {
        TypeKind::SmallInt => IntBounds::I16,
        TypeKind::Integer | TypeKind::Date => IntBounds::I32,
        _ => IntBounds::I64,
    }
}

fn has_failing_constant(expression: &ScalarExpression) -> bool {
    match fold_constant(expression) {
        Ok(Some(_)) => false,
        Ok(None) => expression.children().any(has_failing_constant),
        Err(_) => true,
    }
}

/// Evaluates an expression for the rows of a call; of the only column with a dictionary once for
/// each of its strings in the vector.
fn evaluate_rows(
    expression: &RowExpression,
    sql_type: SqlType,
    call: &ForeignCall<'_>,
    out: &mut ColumnVector,
) -> ExecResult<()> {
    let codes = match &call.arguments[..] {
        [ColumnVector { values: VectorValues::Code(codes), .. }] if !expression.is_volatile() => {
            Some(codes)
        }
        _ => None,
    };
    let mut known: HashMap<u32, ScalarValue> = HashMap::new();
    let mut looks = CallLooks::default();
    for row in 0..call.rows {
        looks.look(call, row, &out.values)?;
        if call.active.is_some_and(|active| !active.get(row)) {
            out.values.push_default();
            continue;
        }
        let evaluate = || {
            let value = expression.evaluate(&|number| call.arguments[number].scalar(row));
            physical_value(value, sql_type)
        };
        let code = codes.map(|codes| codes[row]).filter(|_| !call.arguments[0].is_null(row));
        match code {
            Some(code) => {
                let value = match known.entry(code) {
                    Entry::Occupied(entry) => entry.into_mut(),
                    Entry::Vacant(entry) => entry.insert(evaluate()?),
                };
                out.push_scalar(value)?;
            }
            None => out.push_scalar(&evaluate()?)?,
        }
    }
    out.fill_validity();
    Ok(())
}

/// Returns the value of a vector for the result of an evaluation.
///
/// # Errors
/// Those of the evaluation; 0A000 for infinite dates.
pub(super) fn physical_value(
    value: Result<SqlValue, ValueError>,
    sql_type: SqlType,
) -> ExecResult<ScalarValue> {
    let mut bytes = Vec::new();
    match value {
        Ok(SqlValue::Null) => return Ok(ScalarValue::Null(ValueClass::Bool)),
        Ok(SqlValue::Numeric(value)) => encode_exact(&value, &mut bytes),
        Ok(SqlValue::Text(text) | SqlValue::Padded(text)) if sql_type.oid() == TypeOid::BPCHAR => {
            encode_packed(&SqlValue::Padded(text), &mut bytes);
        }
        Ok(value) => {
            // Of types that have a form only infinite dates and timestamps have none.
            let constant = ValueForm::of_constant(&value, sql_type);
            return constant.map(|(scalar, _)| scalar).ok_or_else(|| ExecError::Function {
                sqlstate: "0A000",
                message: format!("infinite values of type {sql_type} are not supported"),
            });
        }
        Err(error) if sql_type.oid() == TypeOid::NUMERIC => encode_failure(&error, &mut bytes),
        Err(error) => return Err(ExecError::of_value(error)),
    }
    Ok(ScalarValue::Bytes(bytes))
}
