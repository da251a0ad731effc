//! Dates, times and timestamps: sums, differences, zones, the clock.

use nacre_types::catalog::CastContext;
use nacre_types::datetime::{CivilDate, SqlDate, SqlTime, SqlTimestamp, TimeZoneRules};
use nacre_types::{SqlInterval, SqlType, SqlValue, ValueError, ValueSettings, cast_value};

use super::arguments::{date, double, int4, interval, text, time, time_tz, timestamp};
use super::registry::KernelRow;
use super::{KernelContext, ScalarKernel};

const MICROS_PER_SECOND: f64 = 1e6;
const DAY_MICROS: i64 = 86_400_000_000;

pub(super) const KERNELS: &[KernelRow] = &[
    ("date_pli(date,int4)", ScalarKernel::partial(|values, _| days_later(values, 0, 1))),
    ("integer_pl_date(int4,date)", ScalarKernel::partial(|values, _| days_later(values, 1, 0))),
    (
        "date_mii(date,int4)",
        ScalarKernel::partial(|values, _| {
            let (date, days) = (date(values, 0)?, int4(values, 1)?);
            if !date.is_finite() {
                return Ok(SqlValue::Date(date));
            }
            SqlDate::from_days(i64::from(date.0) - i64::from(days)).map(SqlValue::Date)
        }),
    ),
    (
        "date_mi(date,date)",
        ScalarKernel::partial(|values, _| {
            date(values, 0)?.subtract(date(values, 1)?).map(SqlValue::Integer)
        }),
    ),
    (
        "date_pl_interval(date,interval)",
        ScalarKernel::partial(|values, _| {
            later(date(values, 0)?.timestamp()?, interval(values, 1)?)
        }),
    ),
    (
        "interval_pl_date(interval,date)",
        ScalarKernel::partial(|values, _| {
            later(date(values, 1)?.timestamp()?, interval(values, 0)?)
        }),
    ),
    (
        "date_mi_interval(date,interval)",
        ScalarKernel::partial(|values, _| {
            later(date(values, 0)?.timestamp()?, interval(values, 1)?.negate()?)
        }),
    ),
    (
        "timestamp_pl_interval(timestamp,interval)",
        ScalarKernel::partial(|values, _| later(timestamp(values, 0)?, interval(values, 1)?)),
    ),
    (
        "interval_pl_timestamp(interval,timestamp)",
        ScalarKernel::partial(|values, _| later(timestamp(values, 1)?, interval(values, 0)?)),
    ),
    (
        "timestamp_mi_interval(timestamp,interval)",
        ScalarKernel::partial(|values, _| {
            later(timestamp(values, 0)?, interval(values, 1)?.negate()?)
        }),
    ),
    (
        "timestamptz_pl_interval(timestamptz,interval)",
        ScalarKernel::partial(|values, context| {
            later_in_zone(timestamp(values, 0)?, interval(values, 1)?, context)
        }),
    ),
    (
        "interval_pl_timestamptz(interval,timestamptz)",
        ScalarKernel::partial(|values, context| {
            later_in_zone(timestamp(values, 1)?, interval(values, 0)?, context)
        }),
    ),
    (
        "timestamptz_mi_interval(timestamptz,interval)",
        ScalarKernel::partial(|values, context| {
            later_in_zone(timestamp(values, 0)?, interval(values, 1)?.negate()?, context)
        }),
    ),
    (
        "timestamp_mi(timestamp,timestamp) timestamptz_mi(timestamptz,timestamptz)",
        ScalarKernel::partial(|values, _| {
            timestamp(values, 0)?.subtract(timestamp(values, 1)?).map(SqlValue::Interval)
        }),
    ),
    (
        "datetime_pl(date,time)",
        ScalarKernel::partial(|values, _| at_time(date(values, 0)?, time(values, 1)?)),
    ),
    (
        "timedate_pl(time,date)",
        ScalarKernel::partial(|values, _| at_time(date(values, 1)?, time(values, 0)?)),
    ),
    (
        "time_pl_interval(time,interval)",
        ScalarKernel::total(|values, _| {
            Ok(SqlValue::Time(time(values, 0)?.add_interval(interval(values, 1)?)))
        }),
    ),
    (
        "interval_pl_time(interval,time)",
        ScalarKernel::total(|values, _| {
            Ok(SqlValue::Time(time(values, 1)?.add_interval(interval(values, 0)?)))
        }),
    ),
    (
        "time_mi_interval(time,interval)",
        ScalarKernel::total(|values, _| {
            Ok(SqlValue::Time(time(values, 0)?.add_interval(reversed(interval(values, 1)?))))
        }),
    ),
    (
        "time_mi_time(time,time)",
        ScalarKernel::total(|values, _| {
            Ok(SqlValue::Interval(time(values, 0)?.subtract(time(values, 1)?)))
        }),
    ),
    (
        "timetz_pl_interval(timetz,interval)",
        ScalarKernel::total(|values, _| {
            Ok(SqlValue::TimeTz(time_tz(values, 0)?.add_interval(interval(values, 1)?)))
        }),
    ),
    (
        "timetz_mi_interval(timetz,interval)",
        ScalarKernel::total(|values, _| {
            Ok(SqlValue::TimeTz(time_tz(values, 0)?.add_interval(reversed(interval(values, 1)?))))
        }),
    ),
    (
        "age(timestamp,timestamp)",
        ScalarKernel::partial(|values, _| {
            timestamp(values, 0)?.age(timestamp(values, 1)?).map(SqlValue::Interval)
        }),
    ),
    (
        "age(timestamptz,timestamptz)",
        ScalarKernel::partial(|values, context| {
            let (one, other) = (local(timestamp(values, 0)?, context)?, timestamp(values, 1)?);
            one.age(local(other, context)?).map(SqlValue::Interval)
        }),
    ),
    (
        "age(timestamp)",
        ScalarKernel::partial(|values, context| {
            today(context)?.age(timestamp(values, 0)?).map(SqlValue::Interval)
        }),
    ),
    (
        "age(timestamptz)",
        ScalarKernel::partial(|values, context| {
            let other = local(timestamp(values, 0)?, context)?;
            today(context)?.age(other).map(SqlValue::Interval)
        }),
    ),
    (
        "isfinite(date)",
        ScalarKernel::total(|values, _| Ok(SqlValue::Boolean(date(values, 0)?.is_finite()))),
    ),
    (
        "isfinite(timestamp) isfinite(timestamptz)",
        ScalarKernel::total(|values, _| Ok(SqlValue::Boolean(timestamp(values, 0)?.is_finite()))),
    ),
    (
        "now() transaction_timestamp()",
        ScalarKernel::total(|_, context| now(context).map(SqlValue::TimestampTz)),
    ),
    (
        "timezone(text,timestamptz)",
        of_known_zone(|values, _| {
            let zone = zone_named(text(values, 0)?)?;
            let moment = SqlValue::TimestampTz(timestamp(values, 1)?);
            in_zone(moment, zone, SqlType::TIMESTAMPTZ, SqlType::TIMESTAMP)
        }),
    ),
    (
        "timezone(text,timestamp)",
        of_known_zone(|values, _| {
            let zone = zone_named(text(values, 0)?)?;
            let local = SqlValue::Timestamp(timestamp(values, 1)?);
            in_zone(local, zone, SqlType::TIMESTAMP, SqlType::TIMESTAMPTZ)
        }),
    ),
    (
        "make_date(int4,int4,int4)",
        ScalarKernel::partial(|values, _| {
            made_date(int4(values, 0)?, int4(values, 1)?, int4(values, 2)?).map(SqlValue::Date)
        }),
    ),
    (
        "make_time(int4,int4,float8)",
        ScalarKernel::partial(|values, _| {
            let micros = made_time(int4(values, 0)?, int4(values, 1)?, double(values, 2)?)?;
            SqlTime::from_micros(micros).map(SqlValue::Time)
        }),
    ),
    (
        "make_timestamp(int4,int4,int4,int4,int4,float8)",
        ScalarKernel::partial(|values, _| {
            let date = made_date(int4(values, 0)?, int4(values, 1)?, int4(values, 2)?)?;
            let micros = made_time(int4(values, 3)?, int4(values, 4)?, double(values, 5)?)?;
            SqlTimestamp::from_parts(date.0.into(), micros).map(SqlValue::Timestamp)
        }),
    ),
    ("to_timestamp(float8)", ScalarKernel::partial(|values, _| of_seconds(double(values, 0)?))),
];

/// Makes a kernel for zones that are constants: of names there are more in PostgreSQL than here.
const fn of_known_zone(compute: super::KernelFunction) -> ScalarKernel {
    ScalarKernel::partial(compute)
        .accepting(|constants| is_known_zone(constants.first().copied().flatten()))
}

/// Whether a constant is the name of a zone that is here.
pub(super) fn is_known_zone(constant: Option<&SqlValue>) -> bool {
    match constant {
        Some(SqlValue::Text(name)) => TimeZoneRules::find(name).is_some(),
        Some(SqlValue::Null) => true,
        _ => false,
    }
}

fn days_later(values: &[SqlValue], day: usize, count: usize) -> Result<SqlValue, ValueError> {
    date(values, day)?.add_days(int4(values, count)?).map(SqlValue::Date)
}

fn later(from: SqlTimestamp, by: SqlInterval) -> Result<SqlValue, ValueError> {
    from.add_interval(by).map(SqlValue::Timestamp)
}

fn later_in_zone(
    from: SqlTimestamp,
    by: SqlInterval,
    context: &KernelContext<'_>,
) -> Result<SqlValue, ValueError> {
    let zone = &context.settings.datetime.time_zone;
    from.add_interval_in_zone(by, zone).map(SqlValue::TimestampTz)
}

/// Changes the sign of the time, which is all that moves a clock.
fn reversed(interval: SqlInterval) -> SqlInterval {
    // A clock shows the same after whole days.
    SqlInterval { months: 0, days: 0, micros: -(interval.micros % DAY_MICROS) }
}

fn at_time(date: SqlDate, time: SqlTime) -> Result<SqlValue, ValueError> {
    let midnight = date.timestamp()?;
    if !midnight.is_finite() {
        return Ok(SqlValue::Timestamp(midnight));
    }
    let micros = i128::from(midnight.0) + i128::from(time.0);
    SqlTimestamp::from_micros(micros).map(SqlValue::Timestamp)
}

/// Returns what the session's clocks show at a moment.
pub(super) fn local(
    moment: SqlTimestamp,
    context: &KernelContext<'_>,
) -> Result<SqlTimestamp, ValueError> {
    if !moment.is_finite() {
        return Ok(moment);
    }
    let seconds = i128::from(context.settings.datetime.time_zone.seconds_east_at(moment.0));
    SqlTimestamp::from_micros(i128::from(moment.0) + seconds * 1_000_000)
}

fn now(context: &KernelContext<'_>) -> Result<SqlTimestamp, ValueError> {
    let now = context.settings.datetime.now;
    now.ok_or_else(|| ValueError::not_supported("the current time is not available here"))
}

/// Returns the midnight with which the session's day began.
fn today(context: &KernelContext<'_>) -> Result<SqlTimestamp, ValueError> {
    local(now(context)?, context)?.date().timestamp()
}

pub(super) fn zone_named(name: &str) -> Result<TimeZoneRules, ValueError> {
    let unknown = || ValueError::invalid_parameter(format!("time zone \"{name}\" not recognized"));
    TimeZoneRules::find(name).ok_or_else(unknown)
}

fn in_zone(
    value: SqlValue,
    zone: TimeZoneRules,
    source: SqlType,
    target: SqlType,
) -> Result<SqlValue, ValueError> {
    let mut settings = ValueSettings::default();
    settings.datetime.time_zone = zone;
    cast_value(value, source, target, CastContext::Explicit, &settings)
}

fn made_date(year: i32, month: i32, day: i32) -> Result<SqlDate, ValueError> {
    let refused = || {
        let message = format!("date field value out of range: {year}-{month:02}-{day:02}");
        ValueError::datetime_overflow(message)
    };
    // There is no year 0; -1 is 1 BC.
    let civil_year = match year {
        0 => return Err(refused()),
        1.. => Some(year),
        _ => year.checked_add(1),
    };
    let civil_year = civil_year.ok_or_else(refused)?;
    let civil = CivilDate { year: civil_year, month, day };
    if !(1..=12).contains(&month) || !(1..=31).contains(&day) {
        return Err(refused());
    }
    // Years of 32 bits fit 64 bits of days, not the type.
    let days = civil.days();
    let date = SqlDate::from_days(days).map_err(|_| {
        ValueError::datetime_overflow(format!("date out of range: {year}-{month:02}-{day:02}"))
    })?;
    if date.civil() == Some(civil) { Ok(date) } else { Err(refused()) }
}

fn made_time(hour: i32, minute: i32, second: f64) -> Result<i64, ValueError> {
    let refused = || {
        let message = format!("time field value out of range: {hour}:{minute:02}:{second:02}");
        ValueError::datetime_overflow(message)
    };
    let micros = (second * MICROS_PER_SECOND).round_ties_even();
    let is_valid = (0..=24).contains(&hour)
        && (0..60).contains(&minute)
        && !second.is_nan()
        && (0.0..=60.0 * MICROS_PER_SECOND).contains(&micros);
    if !is_valid {
        return Err(refused());
    }
    let total = (i64::from(hour) * 60 + i64::from(minute)) * 60_000_000 + micros as i64;
    if total > DAY_MICROS { Err(refused()) } else { Ok(total) }
}

/// Returns the moment so many seconds after 1970.
fn of_seconds(seconds: f64) -> Result<SqlValue, ValueError> {
    let refused =
        || ValueError::datetime_overflow(format!("timestamp out of range: \"{seconds}\""));
    if seconds.is_nan() {
        return Err(ValueError::datetime_overflow("timestamp cannot be NaN"));
    }
    if seconds.is_infinite() {
        return Ok(SqlValue::TimestampTz(if seconds > 0.0 {
            SqlTimestamp::INFINITY
        } else {
            SqlTimestamp::NEGATIVE_INFINITY
        }));
    }
    // From 2000-01-01 on, in seconds first.
    let since = (seconds - 946_684_800.0) * MICROS_PER_SECOND;
    let micros = since.round_ties_even();
    if !(-3e18..=1e19).contains(&micros) {
        return Err(refused());
    }
    let moment = SqlTimestamp::from_micros(micros as i128).map_err(|_| refused())?;
    Ok(SqlValue::TimestampTz(moment))
}
