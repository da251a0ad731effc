//! VALUES, and a SELECT without FROM: rows of constants.
//!
//! What `fold` does not compute runs as a program of one row, so that each expression is computed
//! once, here.

use nacre_plan::algebra::{ColumnId, ScalarExpression};

use super::columns::{ColumnPlace, ColumnPlaces, LoweredRelation};
use super::constants::evaluate_constant;
use super::error::{LoweringError, LoweringResult};
use super::exact_nodes::packed_value;
use super::expressions::ExpressionLowering;
use super::form::ValueForm;
use crate::expression::ExpressionNode;
use crate::plan::{ConstantColumn, PlanNode, RowsNode};
use crate::value::{ScalarValue, ValueClass, encode_scaled};

/// Lowers one row without columns.
pub(super) fn lower_single_row() -> LoweredRelation {
    constant_rows(Vec::new(), 1, ColumnPlaces::default())
}

/// Lowers rows that are written out, of whose columns `needed` are wanted.
///
/// # Errors
/// [`LoweringError::NotSupported`] for values of one column that have no common form.
pub(super) fn lower_values(
    columns: &[ColumnId],
    rows: &[Vec<ScalarExpression>],
    needed: &[ColumnId],
) -> LoweringResult<LoweredRelation> {
    let (mut constants, mut places) = (Vec::new(), ColumnPlaces::default());
    for (position, column) in columns.iter().enumerate() {
        if !needed.contains(column) {
            continue;
        }
        let values = rows.iter().map(|row| {
            let expression = row.get(position).ok_or_else(|| {
                LoweringError::contradiction(format!("a row of VALUES has no column {position}"))
            })?;
            constant_value(expression)
        });
        let (constant, form) = constant_column(values)?;
        places.add(*column, ColumnPlace { index: constants.len(), form });
        constants.push(constant);
    }
    Ok(constant_rows(constants, rows.len(), places))
}

/// Makes a column of values, of which each may have a form of its own.
pub(super) fn constant_column(
    values: impl Iterator<Item = LoweringResult<(ScalarValue, ValueForm)>>,
) -> LoweringResult<(ConstantColumn, ValueForm)> {
    let (mut found, mut common, mut null) = (Vec::with_capacity(values.size_hint().0), None, None);
    for value in values {
        let (value, form) = value?;
        if matches!(value, ScalarValue::Null(_)) {
            null = Some(form);
        } else {
            common = Some(common_form(common, form)?);
        }
        found.push((value, form));
    }
    let form = common.or(null).ok_or_else(|| LoweringError::contradiction("no constant rows"))?;
    let values = found.into_iter().map(|(value, own)| in_form(value, own, form));
    let values = values.collect::<LoweringResult<Vec<_>>>()?;
    Ok((ConstantColumn { class: form.class(), values: values.into() }, form))
}

pub(super) fn constant_rows(
    constants: Vec<ConstantColumn>,
    rows: usize,
    columns: ColumnPlaces,
) -> LoweredRelation {
    let node = PlanNode::Rows(RowsNode { columns: constants, rows });
    LoweredRelation::infallible(node, columns)
}

/// Returns the form of values that have one or the other and stand in one column.
///
/// # Errors
/// [`LoweringError::NotSupported`] if PostgreSQL shows digits or blanks of each that no form has.
pub(super) fn common_form(one: Option<ValueForm>, other: ValueForm) -> LoweringResult<ValueForm> {
    use ValueForm as Form;
    let Some(one) = one else { return Ok(other) };
    match (one, other) {
        (
            Form::Numeric { scale, digits },
            Form::Numeric { scale: other_scale, digits: other_digits },
        ) if scale == other_scale => Ok(Form::Numeric { scale, digits: digits.max(other_digits) }),
        (Form::Exact { .. } | Form::Numeric { .. }, Form::Exact { .. } | Form::Numeric { .. }) => {
            Ok(Form::Exact { may_fail: one.may_fail() || other.may_fail() })
        }
        (Form::Padded { chars: None }, Form::Padded { chars: None }) => {
            Err(LoweringError::not_supported("a column of characters of unknown lengths"))
        }
        (Form::Padded { .. } | Form::Packed { .. }, Form::Padded { .. } | Form::Packed { .. })
            if one != other =>
        {
            Ok(Form::Packed { has_keys: true })
        }
        (one, other) if one == other => Ok(one),
        _ => Err(LoweringError::contradiction("a column of values of different types")),
    }
}

/// Returns a constant in the form that its column has.
pub(super) fn in_form(
    value: ScalarValue,
    own: ValueForm,
    form: ValueForm,
) -> LoweringResult<ScalarValue> {
    Ok(match (form, own, value) {
        (ValueForm::Packed { .. }, ValueForm::Padded { .. }, value) => packed_value(value, own)?,
        (ValueForm::Exact { .. }, ValueForm::Numeric { scale, .. }, ScalarValue::Int(unscaled)) => {
            let mut bytes = Vec::new();
            encode_scaled(unscaled, scale, &mut bytes);
            ScalarValue::Bytes(bytes)
        }
        (ValueForm::Exact { .. }, _, ScalarValue::Null(_)) => ScalarValue::Null(ValueClass::Bytes),
        (_, _, value) => value,
    })
}

/// Computes an expression without columns.
pub(super) fn constant_value(
    expression: &ScalarExpression,
) -> LoweringResult<(ScalarValue, ValueForm)> {
    let nothing = ColumnPlaces::default();
    let mut expressions = ExpressionLowering::new(&nothing);
    let lowered = expressions.lower_column(expression)?;
    let value = match expressions.graph.node(lowered.id) {
        ExpressionNode::Constant(value) => value.clone(),
        _ => evaluate_constant(&expressions.graph, lowered.id)?,
    };
    Ok((value, lowered.form))
}
