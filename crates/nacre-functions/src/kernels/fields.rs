//! Fields of dates, times and intervals: `extract`, `date_part`, `date_trunc`.

use nacre_types::datetime::{DatetimeField, SqlTimestamp};
use nacre_types::{ExactNumeric, SqlValue, ValueError};

use super::arguments::{date, interval, text, time, time_tz, timestamp};
use super::datetimes::{is_known_zone, local, zone_named};
use super::registry::KernelRow;
use super::{KernelContext, ScalarKernel};

const DAY_MICROS: i128 = 86_400_000_000;
const MICROS_PER_SECOND: f64 = 1e6;
const SECONDS_PER_DAY: f64 = 86_400.0;
/// Seconds of a year of 365.25 days and of a month of 30.
const YEAR_SECONDS: f64 = 365.25 * SECONDS_PER_DAY;
const MONTH_SECONDS: f64 = 30.0 * SECONDS_PER_DAY;

pub(super) const KERNELS: &[KernelRow] = &[
    ("extract(text,date)", ScalarKernel::partial(extract)),
    ("extract(text,timestamp) extract(text,timestamptz)", ScalarKernel::partial(extract)),
    (
        "extract(text,time) extract(text,timetz) extract(text,interval)",
        ScalarKernel::partial(extract),
    ),
    (
        "date_part(text,timestamp) date_part(text,timestamptz) date_part(text,time) \
         date_part(text,timetz) date_part(text,interval)",
        ScalarKernel::partial(date_part),
    ),
    (
        "date_part(text,date)",
        ScalarKernel::partial(|values, context| {
            let midnight = SqlValue::Timestamp(date(values, 1)?.timestamp()?);
            let name = values.first().cloned().unwrap_or(SqlValue::Null);
            date_part(&[name, midnight], context)
        }),
    ),
    (
        "date_trunc(text,timestamp)",
        ScalarKernel::partial(|values, _| {
            // Of infinities PostgreSQL does not read the field.
            if !timestamp(values, 1)?.is_finite() {
                return Ok(SqlValue::Timestamp(timestamp(values, 1)?));
            }
            let (name, field) = field(values, "timestamp without time zone")?;
            timestamp(values, 1)?.truncate(field, &name).map(SqlValue::Timestamp)
        }),
    ),
    (
        "date_trunc(text,timestamptz)",
        ScalarKernel::partial(|values, context| {
            if !timestamp(values, 1)?.is_finite() {
                return Ok(SqlValue::TimestampTz(timestamp(values, 1)?));
            }
            let (name, field) = field(values, "timestamp with time zone")?;
            let zone = &context.settings.datetime.time_zone;
            let truncated = timestamp(values, 1)?.truncate_in_zone(field, zone, &name);
            truncated.map(SqlValue::TimestampTz)
        }),
    ),
    (
        "date_trunc(text,timestamptz,text)",
        ScalarKernel::partial(|values, _| {
            if !timestamp(values, 1)?.is_finite() {
                return Ok(SqlValue::TimestampTz(timestamp(values, 1)?));
            }
            let (name, field) = field(values, "timestamp with time zone")?;
            let zone = zone_named(text(values, 2)?)?;
            let truncated = timestamp(values, 1)?.truncate_in_zone(field, &zone, &name);
            truncated.map(SqlValue::TimestampTz)
        })
        .accepting(|constants| is_known_zone(constants.get(2).copied().flatten())),
    ),
    (
        "date_bin(interval,timestamp,timestamp)",
        ScalarKernel::partial(|values, _| binned(values).map(SqlValue::Timestamp)),
    ),
    (
        "date_bin(interval,timestamptz,timestamptz)",
        ScalarKernel::partial(|values, _| binned(values).map(SqlValue::TimestampTz)),
    ),
    (
        "date_trunc(text,interval)",
        ScalarKernel::partial(|values, _| {
            let (name, field) = field(values, "interval")?;
            interval(values, 1)?.truncate(field, &name).map(SqlValue::Interval)
        }),
    ),
];

/// Returns the start of the stride that a moment lies in, counted from an origin.
fn binned(values: &[SqlValue]) -> Result<SqlTimestamp, ValueError> {
    let (stride, moment, origin) =
        (interval(values, 0)?, timestamp(values, 1)?, timestamp(values, 2)?);
    if !moment.is_finite() {
        return Ok(moment);
    }
    if !origin.is_finite() {
        return Err(ValueError::datetime_overflow("origin out of range"));
    }
    if stride.months != 0 {
        let what = "timestamps cannot be binned into intervals containing months or years";
        return Err(ValueError::not_supported(what));
    }
    let out_of_range = || ValueError::datetime_overflow("interval out of range");
    let stride = i128::from(stride.days) * DAY_MICROS + i128::from(stride.micros);
    if stride > i128::from(i64::MAX) {
        return Err(out_of_range());
    }
    if stride <= 0 {
        return Err(ValueError::datetime_overflow("stride must be greater than zero"));
    }
    let since = i128::from(moment.0.checked_sub(origin.0).ok_or_else(out_of_range)?);
    SqlTimestamp::from_micros(i128::from(origin.0) + since.div_euclid(stride) * stride)
}

/// Returns a field's name in small letters, and the field.
fn field(values: &[SqlValue], type_name: &str) -> Result<(String, DatetimeField), ValueError> {
    let name = text(values, 0)?.to_ascii_lowercase();
    let field = DatetimeField::parse(&name, type_name)?;
    Ok((name, field))
}

fn extract(values: &[SqlValue], context: &KernelContext<'_>) -> Result<SqlValue, ValueError> {
    let value = extracted(values, context)?;
    Ok(value.map_or(SqlValue::Null, SqlValue::Numeric))
}

fn extracted(
    values: &[SqlValue],
    context: &KernelContext<'_>,
) -> Result<Option<ExactNumeric>, ValueError> {
    match values.get(1) {
        Some(SqlValue::Date(date)) => {
            let (name, field) = field(values, "date")?;
            date.extract(field, &name)
        }
        Some(SqlValue::Timestamp(timestamp)) => {
            let (name, field) = field(values, "timestamp without time zone")?;
            timestamp.extract(field, &name)
        }
        Some(SqlValue::TimestampTz(moment)) => {
            let (name, field) = field(values, "timestamp with time zone")?;
            let seconds = context.settings.datetime.time_zone.seconds_east_at(moment.0);
            local(*moment, context)?.extract_with_zone(field, seconds, &name)
        }
        Some(SqlValue::Time(_)) => {
            let (name, field) = field(values, "time without time zone")?;
            time(values, 1)?.extract(field, &name).map(Some)
        }
        Some(SqlValue::TimeTz(_)) => {
            let (name, field) = field(values, "time with time zone")?;
            time_tz(values, 1)?.extract(field, &name).map(Some)
        }
        _ => {
            let (name, field) = field(values, "interval")?;
            interval(values, 1)?.extract(field, &name).map(Some)
        }
    }
}

/// Computes a field as a double, as PostgreSQL adds up its parts.
fn date_part(values: &[SqlValue], context: &KernelContext<'_>) -> Result<SqlValue, ValueError> {
    let Some(value) = extracted(values, context)? else { return Ok(SqlValue::Null) };
    if !value.is_finite() {
        return value.to_f64().map(SqlValue::Double);
    }
    let (_, field) = field(values, "")?;
    let double = match field {
        DatetimeField::Second | DatetimeField::Milliseconds => {
            let micros_name = SqlValue::Text("microseconds".to_owned());
            let own = values.get(1).cloned().unwrap_or(SqlValue::Null);
            let micros = extracted(&[micros_name, own], context)?;
            let micros = micros.map_or(Ok(0), |micros| micros.to_i64())?;
            let (seconds, micros) = (micros / 1_000_000, micros % 1_000_000);
            if field == DatetimeField::Second {
                seconds as f64 + micros as f64 / MICROS_PER_SECOND
            } else {
                seconds as f64 * 1_000.0 + micros as f64 / 1_000.0
            }
        }
        DatetimeField::Epoch => epoch(values, &value)?,
        DatetimeField::Julian => match values.get(1) {
            Some(SqlValue::Timestamp(timestamp)) => julian(*timestamp),
            Some(SqlValue::TimestampTz(moment)) => julian(local(*moment, context)?),
            _ => value.to_f64()?,
        },
        _ => value.to_f64()?,
    };
    Ok(SqlValue::Double(double))
}

fn epoch(values: &[SqlValue], value: &ExactNumeric) -> Result<f64, ValueError> {
    Ok(match values.get(1) {
        Some(SqlValue::Timestamp(moment) | SqlValue::TimestampTz(moment)) => {
            let since = i128::from(moment.0) - i128::from(SqlTimestamp::UNIX_EPOCH.0);
            since as f64 / MICROS_PER_SECOND
        }
        Some(SqlValue::Time(time)) => time.0 as f64 / MICROS_PER_SECOND,
        Some(SqlValue::TimeTz(time)) => {
            time.time.0 as f64 / MICROS_PER_SECOND - f64::from(time.seconds_east)
        }
        Some(SqlValue::Interval(interval)) => {
            let mut seconds = interval.micros as f64 / MICROS_PER_SECOND;
            seconds += YEAR_SECONDS * f64::from(interval.months / 12);
            seconds += MONTH_SECONDS * f64::from(interval.months % 12);
            seconds + SECONDS_PER_DAY * f64::from(interval.days)
        }
        _ => value.to_f64()?,
    })
}

/// Returns the Julian day with the part of the day that has gone by.
fn julian(timestamp: SqlTimestamp) -> f64 {
    let day = 86_400_000_000;
    let (days, micros) = (timestamp.0.div_euclid(day), timestamp.0.rem_euclid(day));
    let seconds = (micros / 1_000_000) as f64 + (micros % 1_000_000) as f64 / MICROS_PER_SECOND;
    (days + 2_451_545) as f64 + seconds / SECONDS_PER_DAY
}
