//! `generate_series` of constants: numbers that are counted up when the query runs.
//!
//! Moments are counted in microseconds. Steps of months, which are of different lengths, and
//! numerics whose digits behind the point change after the first value are refused.

use nacre_functions::catalog::FunctionEntry;
use nacre_plan::algebra::{ColumnId, ScalarExpression};
use nacre_types::catalog::TypeOid;
use nacre_types::{SqlType, SqlValue};

use super::columns::{ColumnPlace, ColumnPlaces, LoweredRelation};
use super::error::{LoweringError, LoweringResult};
use super::fold::fold_constant;
use super::form::{DECIMAL_DIGITS_MAX, ValueForm};
use crate::plan::{PlanNode, SeriesColumn, SeriesNode};
use crate::value::ScalarValue;

/// Microseconds of a day.
const DAY_MICROS: i128 = 86_400_000_000;

/// Start, end and step in one unit.
struct SeriesRange {
    start: i128,
    stop: i128,
    step: i128,
    form: ValueForm,
}

/// Lowers a series, of whose columns `needed` are wanted.
///
/// # Errors
/// [`LoweringError::NotSupported`] for arguments that are no constants, a step of zero, and what
/// is named above.
pub(super) fn lower_series(
    function: &FunctionEntry,
    arguments: &[ScalarExpression],
    [column, ordinality]: [Option<ColumnId>; 2],
    needed: &[ColumnId],
) -> LoweringResult<LoweredRelation> {
    let range = series_range(function, arguments)?;
    let (series, rows, form) = match range {
        Some(range) => {
            let (series, rows) = range.counted()?;
            (series, rows, exact_form(range.form, series, rows))
        }
        None => {
            let form = ValueForm::of_null(SqlType::new(function.result)).ok_or_else(no_series)?;
            (SeriesColumn { start: 0, step: 0 }, 0, form)
        }
    };
    let (mut columns, mut places) = (Vec::new(), ColumnPlaces::default());
    let numbers = SeriesColumn { start: 1, step: 1 };
    let all = [(column, series, form), (ordinality, numbers, ValueForm::Integer)];
    for (column, series, form) in all {
        if let Some(column) = column.filter(|column| needed.contains(column)) {
            places.add(column, ColumnPlace { index: columns.len(), form });
            columns.push(series);
        }
    }
    let node = PlanNode::Series(SeriesNode { columns, rows });
    Ok(LoweredRelation::infallible(node, places))
}

/// Returns a form with the digits that the first and the last value have.
fn exact_form(form: ValueForm, series: SeriesColumn, rows: u64) -> ValueForm {
    let ValueForm::Numeric { scale, .. } = form else { return form };
    let last = series.value(rows.saturating_sub(1)).unwrap_or(i128::MAX);
    let largest = series.start.unsigned_abs().max(last.unsigned_abs());
    let digits = largest.checked_ilog10().map_or(1, |log| log as u16 + 1);
    ValueForm::Numeric { scale, digits: digits.max(scale).min(DECIMAL_DIGITS_MAX) }
}

fn no_series() -> LoweringError {
    LoweringError::not_supported("this generate_series")
}

/// Returns what a series counts; `None` if an argument is null, which makes it empty.
fn series_range(
    function: &FunctionEntry,
    arguments: &[ScalarExpression],
) -> LoweringResult<Option<SeriesRange>> {
    let mut values = Vec::with_capacity(arguments.len());
    for argument in arguments {
        values.push(fold_constant(argument)?.ok_or_else(no_series)?);
    }
    if values.iter().any(SqlValue::is_null) {
        return Ok(None);
    }
    let sql_type = SqlType::new(function.result);
    let plain = |value: &SqlValue| match ValueForm::of_constant(value, sql_type) {
        Some((ScalarValue::Int(value), form)) => Ok((value, form)),
        _ => Err(no_series()),
    };
    let [first, second, rest @ ..] = &values[..] else { return Err(no_series()) };
    let (start, form) = plain(first)?;
    let (stop, stop_form) = plain(second)?;
    let range = match (function.result, rest) {
        (TypeOid::TIMESTAMP | TypeOid::TIMESTAMPTZ, [SqlValue::Interval(step)]) => {
            if step.months != 0 {
                return Err(LoweringError::not_supported("generate_series with steps of months"));
            }
            let step = i128::from(step.days) * DAY_MICROS + i128::from(step.micros);
            SeriesRange { start, stop, step, form }
        }
        (TypeOid::INT4 | TypeOid::INT8, []) => SeriesRange { start, stop, step: 1, form },
        (TypeOid::INT4 | TypeOid::INT8, [step]) => {
            SeriesRange { start, stop, step: plain(step)?.0, form }
        }
        (TypeOid::NUMERIC, rest) => {
            let one = (1, ValueForm::Numeric { scale: 0, digits: 1 });
            let step = rest.first().map(plain).transpose()?.unwrap_or(one);
            numeric_range((start, form), (stop, stop_form), step)?
        }
        _ => return Err(no_series()),
    };
    Ok(Some(range))
}

/// Returns a range of numerics in the scale of the first one.
fn numeric_range(
    (start, form): (i128, ValueForm),
    (stop, stop_form): (i128, ValueForm),
    (step, step_form): (i128, ValueForm),
) -> LoweringResult<SeriesRange> {
    let scale_of = |form: ValueForm| match form {
        ValueForm::Numeric { scale, .. } => Ok(u32::from(scale)),
        _ => Err(no_series()),
    };
    let (scale, stop_scale, step_scale) =
        (scale_of(form)?, scale_of(stop_form)?, scale_of(step_form)?);
    if step_scale > scale {
        return Err(LoweringError::not_supported("a column of numerics of different scales"));
    }
    let power = |digits: u32| 10_i128.checked_pow(digits).ok_or_else(no_series);
    let step = step.checked_mul(power(scale - step_scale)?).ok_or_else(no_series)?;
    // Digits of the end that no value has: it is rounded towards the start.
    let stop = if stop_scale > scale {
        let divisor = power(stop_scale - scale)?;
        let floor = stop.div_euclid(divisor);
        floor + i128::from(step < 0 && stop.rem_euclid(divisor) != 0)
    } else {
        stop.checked_mul(power(scale - stop_scale)?).ok_or_else(no_series)?
    };
    let digits = DECIMAL_DIGITS_MAX;
    let form = ValueForm::Numeric { scale: scale as u16, digits };
    Ok(SeriesRange { start, stop, step, form })
}

impl SeriesRange {
    /// Returns the column and how many rows it has.
    fn counted(&self) -> LoweringResult<(SeriesColumn, u64)> {
        let Self { start, stop, step, .. } = *self;
        if step == 0 {
            // An error, whose words are for others to find.
            return Err(LoweringError::not_supported("generate_series with a step of zero"));
        }
        let column = SeriesColumn { start, step };
        if if step > 0 { start > stop } else { start < stop } {
            return Ok((column, 0));
        }
        let distance = stop.checked_sub(start).ok_or_else(no_series)?;
        let rows = u64::try_from(distance / step + 1).map_err(|_| no_series())?;
        Ok((column, rows))
    }
}
