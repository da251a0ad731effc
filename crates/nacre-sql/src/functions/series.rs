//! `generate_series` as a list, of which the planner makes rows.

use std::sync::Arc;

use datafusion::arrow::array::{
    Array, ArrayRef, AsArray, Int64Builder, ListBuilder, TimestampMicrosecondBuilder,
};
use datafusion::arrow::datatypes::{
    DataType, Field, Int64Type, IntervalMonthDayNano, IntervalMonthDayNanoType,
    TimestampMicrosecondType,
};
use datafusion::logical_expr::Volatility;

use super::civil::{DAY_US, civil_from_days, days_in_month, days_of};
use super::moments::{interval, is_moment, moment};
use super::scalar::Definition;
use crate::error::{Error, ErrorKind, Result};
use crate::types::{is_text, zoned};

/// The name of the function.
pub(crate) const SERIES: &str = "nacre_series";

/// Most values of a series that is a list.
const VALUES_MAX: usize = 50_000_000;

pub(super) fn functions() -> [Definition; 1] {
    [Definition {
        name: SERIES,
        takes: |types| {
            let is_whole = |one: &DataType| one.is_integer() || one == &DataType::Null;
            match types {
                [..] if matches!(types.len(), 2 | 3) && types.iter().all(is_whole) => {
                    Some(vec![DataType::Int64; types.len()])
                }
                [from, to, step]
                    if (is_moment(from) || is_moment(to))
                        && (is_text(step)
                            || matches!(step, DataType::Interval(_) | DataType::Duration(_))) =>
                {
                    let of = match (from, to) {
                        // Dates are moments of the time zone of the session.
                        (DataType::Date32, DataType::Date32) => zoned(),
                        _ if is_moment(from) => moment(from),
                        _ => moment(to),
                    };
                    Some(vec![of.clone(), of, interval()])
                }
                _ => None,
            }
        },
        returns: |types, _| {
            let of = types.first().cloned().unwrap_or(DataType::Int64);
            DataType::List(Arc::new(Field::new("item", of, true)))
        },
        volatility: Volatility::Immutable,
        body: |args, rows, _| match args[0].data_type() {
            DataType::Int64 => numbers(args, rows),
            _ => moments(args, rows),
        },
    }]
}

fn step_is_zero() -> Error {
    Error::invalid_parameter("step size cannot equal zero")
}

fn too_many() -> Error {
    let message = format!("not supported: a series of more than {VALUES_MAX} values here");
    Error::new(ErrorKind::NotSupported, message)
        .with_hint("Write it in FROM, with numbers as its bounds.")
}

fn numbers(args: &[ArrayRef], rows: usize) -> Result<ArrayRef> {
    let part = |place: usize, row: usize| match args.get(place) {
        Some(array) => {
            let array = array.as_primitive::<Int64Type>();
            array.is_valid(row).then(|| array.value(row))
        }
        None => Some(1),
    };
    let mut lists = ListBuilder::new(Int64Builder::new());
    let mut count = 0;
    for row in 0..rows {
        if let (Some(from), Some(to), Some(step)) = (part(0, row), part(1, row), part(2, row)) {
            if step == 0 {
                return Err(step_is_zero());
            }
            let mut next = Some(from);
            while let Some(value) = next.filter(|at| if step > 0 { *at <= to } else { *at >= to }) {
                count += 1;
                if count > VALUES_MAX {
                    return Err(too_many());
                }
                lists.values().append_value(value);
                next = value.checked_add(step);
            }
        }
        lists.append(true);
    }
    Ok(Arc::new(lists.finish()))
}

fn moments(args: &[ArrayRef], rows: usize) -> Result<ArrayRef> {
    let of = args[0].data_type().clone();
    let (from, to) = (
        args[0].as_primitive::<TimestampMicrosecondType>(),
        args[1].as_primitive::<TimestampMicrosecondType>(),
    );
    let steps = args[2].as_primitive::<IntervalMonthDayNanoType>();
    let values = TimestampMicrosecondBuilder::new().with_data_type(of.clone());
    let mut lists = ListBuilder::new(values).with_field(Field::new("item", of, true));
    let mut count = 0;
    for row in 0..rows {
        if !args.iter().any(|array| array.is_null(row)) {
            let step = steps.value(row);
            let direction = direction(step);
            if direction == 0 {
                return Err(step_is_zero());
            }
            let (mut at, to) = (from.value(row), to.value(row));
            while if direction > 0 { at <= to } else { at >= to } {
                count += 1;
                if count > VALUES_MAX {
                    return Err(too_many());
                }
                lists.values().append_value(at);
                at = after(at, step);
            }
        }
        lists.append(true);
    }
    Ok(Arc::new(lists.finish()))
}

/// Whether a step leads on, 1, or back, -1; months have 30 days here, as in PostgreSQL.
fn direction(step: IntervalMonthDayNano) -> i128 {
    let days = i128::from(step.months) * 30 + i128::from(step.days);
    (days * i128::from(DAY_US) * 1_000 + i128::from(step.nanoseconds)).signum()
}

/// Returns the moment a step later; the day is the last of its month where that is shorter.
fn after(at: i64, step: IntervalMonthDayNano) -> i64 {
    let (days, time) = (at.div_euclid(DAY_US), at.rem_euclid(DAY_US));
    let mut days = days;
    if step.months != 0 {
        let (year, month, day) = civil_from_days(days);
        let months = year * 12 + month - 1 + i64::from(step.months);
        let (year, month) = (months.div_euclid(12), months.rem_euclid(12) + 1);
        days = days_of(year, month, day.min(days_in_month(year, month)));
    }
    days += i64::from(step.days);
    days.saturating_mul(DAY_US).saturating_add(time).saturating_add(step.nanoseconds / 1_000)
}
