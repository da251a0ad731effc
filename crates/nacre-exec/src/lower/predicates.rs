//! Conditions that a scan decides on encoded values.
//!
//! A condition that is not recognised here, or not exactly expressed on stored values, is left to
//! a filter above the scan.

use nacre_column::{CompareOp, Constant, Restriction};
use nacre_plan::algebra::{CastStep, ScalarExpression, ScalarKind};
use nacre_types::catalog::TypeOid;
use nacre_types::{ExactNumeric, SqlValue};

use super::columns::{ColumnPlace, ColumnPlaces};
use super::error::{LoweringError, LoweringResult};
use super::expressions::compare_to_days;
use super::fold::fold_constant;
use super::form::ValueForm;
use super::like::{LikePattern, like_operator};
use super::operators::{OperatorMeaning, operator_meaning};
use super::row_sets::SET_ROWS_MIN;
use crate::plan::ColumnPredicate;

/// Returns what a scan evaluates instead of a condition; `columns` has places in the table.
///
/// ```text
/// discount >= 0.05            discount Ge 5
/// quantity < 24.5             quantity Le 2450 (of two digits); of none: Le 24
/// day <= timestamp 12:00      day Le
/// price in (1, 2.555)         price In {100}: no stored value is 2.555
/// price <> all (of many)      left to a filter, which looks them up
/// ```
///
/// # Errors
/// Those of constants that fail.
pub(super) fn scan_predicates(
    condition: &ScalarExpression,
    columns: &ColumnPlaces,
) -> LoweringResult<Option<Vec<ColumnPredicate>>> {
    let one = |column: usize, restriction: Option<Restriction>| {
        restriction.map(|one| vec![ColumnPredicate::restriction(column, one)])
    };
    match &condition.kind {
        ScalarKind::Column(_) => Ok(truth(condition, columns, true)),
        ScalarKind::IsNull(operand) => Ok(stored_column(operand, columns)
            .and_then(|(column, _)| one(column, Some(Restriction::IsNull)))),
        ScalarKind::Not(operand) => Ok(match &operand.kind {
            ScalarKind::IsNull(inner) => stored_column(inner, columns)
                .and_then(|(column, _)| one(column, Some(Restriction::IsNotNull))),
            _ => truth(operand, columns, false),
        }),
        ScalarKind::Operator { operator, operands } => {
            let [left, right] = &operands[..] else { return Ok(None) };
            let meaning = operator_meaning(operator.oid);
            if let (Some(is_wanted), Some(column)) =
                (like_operator(operator.oid), stored_column(left, columns))
            {
                return Ok(like(column, is_wanted, fold_constant(right)?.as_ref()));
            }
            let Some(OperatorMeaning::Compare(op)) = meaning else { return Ok(None) };
            if let Some((column, form)) = stored_column(left, columns)
                && let Some(value) = fold_constant(right)?
            {
                return Ok(one(column, compare(op, form, &value)));
            }
            if let Some((column, form)) = stored_column(right, columns)
                && let Some(value) = fold_constant(left)?
            {
                return Ok(one(column, compare(op.flipped(), form, &value)));
            }
            Ok(None)
        }
        ScalarKind::Quantified { operator, operand, elements, is_all } => {
            let Some((column, form)) = stored_column(operand, columns) else { return Ok(None) };
            let mut values = Vec::with_capacity(elements.len());
            for element in elements {
                LoweringError::check_stopped()?;
                match fold_constant(element)? {
                    Some(value) => values.push(value),
                    None => return Ok(None),
                }
            }
            let restrictions = match (operator_meaning(operator.oid), is_all) {
                // Hot rows would compare floats with each.
                (Some(OperatorMeaning::Compare(CompareOp::Eq)), false)
                    if form != ValueForm::Double || values.len() < SET_ROWS_MIN =>
                {
                    any_of(form, &values)
                }
                (Some(OperatorMeaning::Compare(CompareOp::Ne)), true)
                    if values.len() < SET_ROWS_MIN =>
                {
                    values.iter().map(|value| compare(CompareOp::Ne, form, value)).collect()
                }
                _ => None,
            };
            let of_column = |one| ColumnPredicate::restriction(column, one);
            Ok(restrictions.map(|all| all.into_iter().map(of_column).collect()))
        }
        _ => Ok(None),
    }
}

/// Returns place and form of the column that an expression is, perhaps as a wider type.
fn stored_column(
    expression: &ScalarExpression,
    columns: &ColumnPlaces,
) -> Option<(usize, ValueForm)> {
    match &expression.kind {
        ScalarKind::Column(column) => {
            let ColumnPlace { index, form } = columns.get(*column).ok()?;
            Some((index, form))
        }
        ScalarKind::Cast { operand, method: CastStep::Type(_) } => {
            let (index, form) = stored_column(operand, columns)?;
            let (from, to) = (operand.sql_type.oid(), expression.sql_type.oid());
            let form = match (form, from, to) {
                _ if from == to => form,
                (ValueForm::Integer, TypeOid::INT2, TypeOid::INT4)
                | (ValueForm::Integer, TypeOid::INT2 | TypeOid::INT4, TypeOid::INT8)
                | (ValueForm::Text, _, TypeOid::TEXT | TypeOid::VARCHAR) => form,
                (ValueForm::Integer, _, TypeOid::NUMERIC) => {
                    ValueForm::Numeric { scale: 0, digits: 19 }
                }
                (ValueForm::Padded { .. }, _, TypeOid::TEXT | TypeOid::VARCHAR) => ValueForm::Text,
                _ => return None,
            };
            Some((index, form))
        }
        _ => None,
    }
}

fn truth(
    operand: &ScalarExpression,
    columns: &ColumnPlaces,
    is_wanted: bool,
) -> Option<Vec<ColumnPredicate>> {
    let (column, form) = stored_column(operand, columns)?;
    let restriction = compare(CompareOp::Eq, form, &SqlValue::Boolean(is_wanted))?;
    Some(vec![ColumnPredicate::restriction(column, restriction)])
}

fn like(
    (column, form): (usize, ValueForm),
    is_wanted: bool,
    pattern: Option<&SqlValue>,
) -> Option<Vec<ColumnPredicate>> {
    let Some(SqlValue::Text(text)) = pattern else { return None };
    let pattern = LikePattern::parse(text)?;
    let mut predicates = Vec::new();
    // A range of padded values is not one of those that are stored.
    if is_wanted
        && form == ValueForm::Text
        && let Some((low, high)) = pattern.range()
    {
        let restriction =
            Restriction::Between { low: Constant::Bytes(low), high: Constant::Bytes(high) };
        // Chunks outside of it are left out; a row in it is tested all the same.
        let range =
            ColumnPredicate { is_hint: true, ..ColumnPredicate::restriction(column, restriction) };
        predicates.push(range);
    }
    predicates.push(ColumnPredicate::strings(column, pattern.predicate(text, form, is_wanted)?));
    Some(predicates)
}

/// Returns the set of values; a null is equal to nothing, nor is a numeric of more digits than
/// those of a column.
fn any_of(form: ValueForm, values: &[SqlValue]) -> Option<Vec<Restriction>> {
    let mut set = Vec::with_capacity(values.len());
    for value in values.iter().filter(|value| !value.is_null()) {
        if is_between_decimals(form, value) {
            continue;
        }
        match compare(CompareOp::Eq, form, value)? {
            Restriction::Compare { value, .. } => set.push(value),
            _ => return None,
        }
    }
    Some(vec![Restriction::InSet(set)])
}

/// Whether a value lies between two that a column of decimals has.
fn is_between_decimals(form: ValueForm, value: &SqlValue) -> bool {
    let (ValueForm::Numeric { scale, .. }, SqlValue::Numeric(value)) = (form, value) else {
        return false;
    };
    let Some((unscaled, own)) = value.to_scaled() else { return false };
    let unit = own.checked_sub(scale).and_then(|digits| 10_i128.checked_pow(digits.into()));
    unit.is_some_and(|unit| unscaled % unit != 0)
}

/// Returns what keeps the values of a column for which the comparison is true; `None` if there is
/// no such restriction.
fn compare(op: CompareOp, form: ValueForm, value: &SqlValue) -> Option<Restriction> {
    use ValueForm as Form;
    let (op, value) = match (form, value) {
        (Form::Boolean, SqlValue::Boolean(value)) => (op, Constant::Int((*value).into())),
        (Form::Integer, SqlValue::SmallInt(value)) => (op, Constant::Int((*value).into())),
        (Form::Integer, SqlValue::Integer(value)) => (op, Constant::Int((*value).into())),
        (Form::Integer, SqlValue::BigInt(value)) => (op, Constant::Int((*value).into())),
        (Form::Numeric { scale, .. }, SqlValue::Numeric(value)) => {
            compare_unscaled(op, scale, value)?
        }
        (Form::Double, SqlValue::Double(value)) if !value.is_nan() => (op, Constant::Float(*value)),
        (Form::Text, SqlValue::Text(text)) => (op, Constant::Bytes(text.as_bytes().to_vec())),
        (Form::Padded { .. }, SqlValue::Text(text) | SqlValue::Padded(text)) => {
            (op, Constant::Bytes(text.trim_end_matches(' ').as_bytes().to_vec()))
        }
        (Form::Date, SqlValue::Date(date)) => (op, Constant::Int(date.to_unix_days()?.into())),
        (Form::Date, SqlValue::Timestamp(moment)) => {
            let (op, day) = compare_to_days(op, moment.to_unix_micros()?.into())?;
            (op, Constant::Int(day))
        }
        (Form::Timestamp, SqlValue::Timestamp(moment))
        | (Form::TimestampTz, SqlValue::TimestampTz(moment)) => {
            (op, Constant::Int(moment.to_unix_micros()?.into()))
        }
        _ => return None,
    };
    Some(Restriction::Compare { op, value })
}

/// Returns comparison and unscaled value that keep the same decimals of a scale.
fn compare_unscaled(
    op: CompareOp,
    scale: u16,
    value: &ExactNumeric,
) -> Option<(CompareOp, Constant)> {
    let (unscaled, own) = value.to_scaled()?;
    if own <= scale {
        let power = 10_i128.checked_pow((scale - own).into())?;
        return Some((op, Constant::Int(unscaled.checked_mul(power)?)));
    }
    let power = 10_i128.checked_pow((own - scale).into())?;
    let below = Constant::Int(unscaled.div_euclid(power));
    Some(match (op, unscaled.rem_euclid(power)) {
        (op, 0) => (op, below),
        (CompareOp::Lt | CompareOp::Le, _) => (CompareOp::Le, below),
        (CompareOp::Gt | CompareOp::Ge, _) => (CompareOp::Gt, below),
        (CompareOp::Eq | CompareOp::Ne, _) => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn constants_between_two_stored_values_are_rounded_to_the_side_that_keeps_the_same() {
        let compare =
            |op, text: &str| compare_unscaled(op, 2, &ExactNumeric::parse(text, None).unwrap());
        assert_eq!(compare(CompareOp::Lt, "24"), Some((CompareOp::Lt, Constant::Int(2_400))));
        assert_eq!(compare(CompareOp::Lt, "0.0510"), Some((CompareOp::Le, Constant::Int(5))));
        assert_eq!(compare(CompareOp::Ge, "-0.051"), Some((CompareOp::Gt, Constant::Int(-6))));
        assert_eq!(compare(CompareOp::Eq, "0.050"), Some((CompareOp::Eq, Constant::Int(5))));
        assert_eq!(compare(CompareOp::Eq, "0.051"), None);
    }

    #[test]
    fn moments_within_a_day_compare_as_the_midnights_around_them() {
        let day = super::super::expressions::DAY_MICROS;
        assert_eq!(compare_to_days(CompareOp::Lt, 3 * day), Some((CompareOp::Lt, 3)));
        assert_eq!(compare_to_days(CompareOp::Lt, 3 * day + 1), Some((CompareOp::Le, 3)));
        assert_eq!(compare_to_days(CompareOp::Ge, -1), Some((CompareOp::Gt, -1)));
        assert_eq!(compare_to_days(CompareOp::Eq, 1), None);
    }
}
