//! Frames of windows: offsets become distances of physical values.
//!
//! Values of one column are whole multiples of its unit, so an offset of a finer one is rounded to
//! it: down where rows within the distance are wanted, up where rows beyond it are.
//!
//! ```text
//! order by numeric(10,2), range between 0.125 preceding and 0.125 following      12 units
//! order by date, range between interval '36 hours' preceding and current row     1 day
//! ```

use nacre_plan::algebra::{
    BoundSortKey, BoundWindowFrame, ScalarKind, WindowFrameEdge, WindowFrameExclusion,
    WindowFrameUnit,
};
use nacre_types::SqlInterval;
use nacre_types::SqlValue;
use nacre_types::datetime::SqlTimestamp;

use super::columns::{ColumnPlace, ColumnPlaces};
use super::error::{LoweringError, LoweringResult};
use super::expressions::DAY_MICROS;
use super::fold::fold_constant;
use super::form::ValueForm;
use crate::plan::{
    FrameEdge, FrameExclusion, FrameOffset, FrameRange, FrameUnit, SortKey, WindowFrame,
};
use crate::value::IntBounds;

/// Where an offset is on the number line.
#[derive(Clone, Copy)]
enum OffsetRounding {
    Down,
    Up,
}

/// Lowers the frame of a window with that order, whose keys are in `columns`.
///
/// # Errors
/// [`LoweringError::NotSupported`] for offsets that are no constants or that PostgreSQL refuses,
/// and for distances of months or days of timestamps with time zone.
pub(super) fn lower_frame(
    frame: &BoundWindowFrame,
    order: &[BoundSortKey],
    columns: &ColumnPlaces,
) -> LoweringResult<WindowFrame> {
    let unit = match frame.unit {
        WindowFrameUnit::Rows => FrameUnit::Rows,
        WindowFrameUnit::Range => FrameUnit::Range,
        WindowFrameUnit::Groups => FrameUnit::Groups,
    };
    let key = match order {
        [key] if unit == FrameUnit::Range && !frame.offsets().is_empty() => {
            let ScalarKind::Column(column) = key.value.kind else {
                return Err(LoweringError::contradiction("a window's key is no column"));
            };
            let ColumnPlace { index: column, form } = columns.get(column)?;
            let (is_descending, is_nulls_first) = (key.is_descending, key.nulls_first);
            Some((SortKey { column, is_descending, is_nulls_first }, form))
        }
        _ => None,
    };
    let form = key.map(|(_, form)| form);
    let start = match &frame.start {
        WindowFrameEdge::UnboundedPreceding => FrameEdge::UnboundedPreceding,
        WindowFrameEdge::Preceding(offset) => {
            FrameEdge::Preceding(lower_offset(fold_constant(offset)?, form, OffsetRounding::Down)?)
        }
        WindowFrameEdge::CurrentRow => FrameEdge::CurrentRow,
        WindowFrameEdge::Following(offset) => {
            FrameEdge::Following(lower_offset(fold_constant(offset)?, form, OffsetRounding::Up)?)
        }
        WindowFrameEdge::UnboundedFollowing => FrameEdge::UnboundedFollowing,
    };
    let end = match &frame.end {
        WindowFrameEdge::UnboundedPreceding => FrameEdge::UnboundedPreceding,
        WindowFrameEdge::Preceding(offset) => {
            FrameEdge::Preceding(lower_offset(fold_constant(offset)?, form, OffsetRounding::Up)?)
        }
        WindowFrameEdge::CurrentRow => FrameEdge::CurrentRow,
        WindowFrameEdge::Following(offset) => {
            FrameEdge::Following(lower_offset(fold_constant(offset)?, form, OffsetRounding::Down)?)
        }
        WindowFrameEdge::UnboundedFollowing => FrameEdge::UnboundedFollowing,
    };
    let exclusion = match frame.exclusion {
        WindowFrameExclusion::Nothing => FrameExclusion::Nothing,
        WindowFrameExclusion::CurrentRow => FrameExclusion::CurrentRow,
        WindowFrameExclusion::Group => FrameExclusion::Group,
        WindowFrameExclusion::Ties => FrameExclusion::Ties,
    };
    let range = key.map(|(key, form)| FrameRange { key, bounds: timestamp_bounds(form) });
    Ok(WindowFrame { unit, start, end, exclusion, range })
}

/// Returns the values that are timestamps, if distances of that form end in such.
fn timestamp_bounds(form: ValueForm) -> Option<IntBounds> {
    // The last ones are more than 64 bits after 1970.
    let micros =
        |timestamp: SqlTimestamp| i128::from(timestamp.0) - i128::from(SqlTimestamp::UNIX_EPOCH.0);
    let (least, greatest) = (micros(SqlTimestamp::MIN), micros(SqlTimestamp::MAX));
    match form {
        ValueForm::Timestamp | ValueForm::TimestampTz => Some(IntBounds::new(least, greatest)),
        ValueForm::Date => {
            Some(IntBounds::new(least.div_euclid(DAY_MICROS), greatest.div_euclid(DAY_MICROS)))
        }
        _ => None,
    }
}

/// Returns an offset of rows and groups, or a distance of values of a form.
fn lower_offset(
    value: Option<SqlValue>,
    form: Option<ValueForm>,
    rounding: OffsetRounding,
) -> LoweringResult<FrameOffset> {
    let unknown = |what: &str| LoweringError::not_supported(format!("frames with {what}"));
    let Some(value) = value else { return Err(unknown("offsets that are no constants")) };
    let whole = |value: i128| match u128::try_from(value) {
        Ok(value) => Ok(FrameOffset::Int(value)),
        Err(_) => Err(unknown("negative offsets")),
    };
    match (form, value) {
        (_, SqlValue::Null) => Err(unknown("offsets that are null")),
        (None | Some(ValueForm::Integer), SqlValue::BigInt(value)) => whole(value.into()),
        (Some(ValueForm::Integer), SqlValue::Integer(value)) => whole(value.into()),
        (Some(ValueForm::Integer), SqlValue::SmallInt(value)) => whole(value.into()),
        (Some(ValueForm::Numeric { scale, .. }), SqlValue::Numeric(value)) => {
            let Some((unscaled, own)) = value.to_scaled() else {
                return Err(unknown("offsets of this many digits"));
            };
            let power = 10_i128.checked_pow(own.abs_diff(scale).into());
            let scaled = power.and_then(|power| {
                if own > scale {
                    Some(rounded_quotient(unscaled, power, rounding))
                } else {
                    unscaled.checked_mul(power)
                }
            });
            whole(scaled.ok_or_else(|| unknown("offsets of this many digits"))?)
        }
        (Some(ValueForm::Real | ValueForm::Double), SqlValue::Double(value)) => {
            if value.is_nan() || value < 0.0 {
                return Err(unknown("negative offsets"));
            }
            Ok(FrameOffset::Float(value))
        }
        (Some(ValueForm::Packed { .. }), _) => Err(unknown("offsets of intervals or times")),
        (Some(form), SqlValue::Interval(interval)) => match interval_micros(form, interval) {
            Some(micros) if form == ValueForm::Date => {
                whole(rounded_quotient(micros, DAY_MICROS, rounding))
            }
            Some(micros) => whole(micros),
            None if interval.span_micros() < 0 => Err(unknown("negative offsets")),
            None if matches!(form, ValueForm::Date | ValueForm::Timestamp) => {
                let SqlInterval { months, days, micros } = interval;
                let is_of_dates = form == ValueForm::Date;
                Ok(FrameOffset::Interval { months, days, micros, is_of_dates })
            }
            None => Err(unknown("offsets whose length depends on the date")),
        },
        (Some(ValueForm::Exact { .. }), _) => Err(unknown("offsets of averages or quotients")),
        _ => Err(LoweringError::contradiction("an offset of another type")),
    }
}

/// Returns how long an interval is after any value of a form; `None` if that depends on the value.
fn interval_micros(form: ValueForm, interval: SqlInterval) -> Option<i128> {
    let SqlInterval { months, days, micros } = interval;
    let is_fixed = months == 0 && (form != ValueForm::TimestampTz || days == 0);
    is_fixed.then(|| i128::from(days) * DAY_MICROS + i128::from(micros))
}

fn rounded_quotient(value: i128, divisor: i128, rounding: OffsetRounding) -> i128 {
    let down = value.div_euclid(divisor);
    match rounding {
        OffsetRounding::Up if value.rem_euclid(divisor) != 0 => down + 1,
        OffsetRounding::Up | OffsetRounding::Down => down,
    }
}

#[cfg(test)]
mod tests {
    use nacre_types::ExactNumeric;

    use super::*;

    #[test]
    fn offsets_are_rounded_to_the_unit_of_what_is_ordered_by() {
        let numeric = |unscaled, scale| {
            SqlValue::Numeric(ExactNumeric::from_scaled(unscaled, scale).unwrap())
        };
        let days = |days, micros| SqlValue::Interval(SqlInterval { months: 0, days, micros });
        let money = ValueForm::Numeric { scale: 2, digits: 10 };
        for (form, value, down, up) in [
            (money, numeric(125, 3), 12, 13),
            (money, numeric(120, 3), 12, 12),
            (money, numeric(3, 0), 300, 300),
            (ValueForm::Date, days(1, 0), 1, 1),
            (ValueForm::Date, days(1, 1), 1, 2),
            (ValueForm::Timestamp, days(1, 1), DAY_MICROS as u128 + 1, DAY_MICROS as u128 + 1),
            (ValueForm::Integer, SqlValue::SmallInt(7), 7, 7),
        ] {
            let offset = |rounding| lower_offset(Some(value.clone()), Some(form), rounding);
            assert_eq!(offset(OffsetRounding::Down), Ok(FrameOffset::Int(down)));
            assert_eq!(offset(OffsetRounding::Up), Ok(FrameOffset::Int(up)));
        }
    }

    #[test]
    fn what_depends_on_the_date_or_is_negative_is_no_offset() {
        let interval =
            |months, days, micros| Some(SqlValue::Interval(SqlInterval { months, days, micros }));
        let is_refused = |value, form| lower_offset(value, Some(form), OffsetRounding::Up).is_err();
        assert!(!is_refused(interval(1, 0, 0), ValueForm::Date));
        assert!(is_refused(interval(-1, 29, 0), ValueForm::Timestamp));
        assert!(is_refused(interval(1, 0, 0), ValueForm::TimestampTz));
        assert!(is_refused(interval(0, 1, 0), ValueForm::TimestampTz));
        assert!(!is_refused(interval(0, 0, 1), ValueForm::TimestampTz));
        assert!(is_refused(interval(0, 1, -86_400_000_001), ValueForm::Timestamp));
        assert!(is_refused(Some(SqlValue::Null), ValueForm::Integer));
        assert!(is_refused(None, ValueForm::Integer));
        assert!(is_refused(Some(SqlValue::Double(f64::NAN)), ValueForm::Double));
    }

    #[test]
    fn distances_of_dates_end_within_timestamps() {
        let days = timestamp_bounds(ValueForm::Date).unwrap();
        // 4714-11-24 BC, and 294276-12-31.
        assert_eq!((days.min(), days.max()), (-2_440_588, 106_762_939));
        assert_eq!(timestamp_bounds(ValueForm::Integer), None);
    }
}
