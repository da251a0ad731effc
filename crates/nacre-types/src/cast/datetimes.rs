//! Casts among dates, times, timestamps and intervals.

use super::convert::no_conversion;
use crate::datetime::interval::SqlInterval;
use crate::datetime::{
    DatetimeSettings, MICROS_PER_DAY, SqlDate, SqlTime, SqlTimeTz, SqlTimestamp, local_timestamp,
    timestamp_of_local,
};
use crate::error::ValueError;
use crate::types::sql_type::{SqlType, TypeKind};
use crate::value::SqlValue;

pub(super) fn convert(
    value: SqlValue,
    source: SqlType,
    target: SqlType,
    settings: &DatetimeSettings,
) -> Result<SqlValue, ValueError> {
    let refused = || no_conversion(source, target);
    let zone = &settings.time_zone;
    Ok(match target.kind() {
        TypeKind::Date => SqlValue::Date(match value {
            SqlValue::Timestamp(timestamp) => timestamp.date(),
            SqlValue::TimestampTz(moment) => local_timestamp(moment, zone)?.date(),
            _ => return Err(refused()),
        }),
        TypeKind::Time(_) => match value {
            SqlValue::Timestamp(timestamp) => time_or_null(timestamp.time()),
            SqlValue::TimestampTz(moment) => time_or_null(local_timestamp(moment, zone)?.time()),
            SqlValue::TimeTz(time) => SqlValue::Time(time.time),
            SqlValue::Interval(SqlInterval { micros, .. }) => {
                SqlValue::Time(SqlTime(micros.rem_euclid(MICROS_PER_DAY)))
            }
            _ => return Err(refused()),
        },
        TypeKind::TimeTz(_) => match value {
            SqlValue::TimestampTz(moment) if !moment.is_finite() => SqlValue::Null,
            SqlValue::TimestampTz(moment) => {
                let time = local_timestamp(moment, zone)?.time().unwrap_or(SqlTime::MIDNIGHT);
                let seconds_east = zone.seconds_east_at(moment.0);
                SqlValue::TimeTz(SqlTimeTz { time, seconds_east })
            }
            SqlValue::Time(time) => {
                let seconds_east = offset_today(time, settings)?;
                SqlValue::TimeTz(SqlTimeTz { time, seconds_east })
            }
            _ => return Err(refused()),
        },
        TypeKind::Timestamp(_) => SqlValue::Timestamp(match value {
            SqlValue::Date(date) => date.timestamp()?,
            SqlValue::TimestampTz(moment) => local_timestamp(moment, zone)?,
            _ => return Err(refused()),
        }),
        TypeKind::TimestampTz(_) => SqlValue::TimestampTz(match value {
            SqlValue::Date(date) => date.timestamp_in_zone(settings)?,
            SqlValue::Timestamp(timestamp) => timestamp_of_local(timestamp, zone)?,
            _ => return Err(refused()),
        }),
        TypeKind::Interval(..) => match value {
            SqlValue::Time(time) => {
                SqlValue::Interval(SqlInterval { months: 0, days: 0, micros: time.0 })
            }
            _ => return Err(refused()),
        },
        _ => return Err(refused()),
    })
}

/// The time of an infinite timestamp is null.
fn time_or_null(time: Option<SqlTime>) -> SqlValue {
    time.map_or(SqlValue::Null, SqlValue::Time)
}

/// Returns the session's offset when its clocks show a time today.
fn offset_today(time: SqlTime, settings: &DatetimeSettings) -> Result<i32, ValueError> {
    let zone = &settings.time_zone;
    if let Some(seconds_east) = zone.fixed_offset() {
        return Ok(seconds_east);
    }
    let Some(now) = settings.now else {
        return Err(ValueError::not_supported("the current time is not available here"));
    };
    let today: SqlDate = local_timestamp(now, zone)?.date();
    let local = SqlTimestamp::from_parts(today.0.into(), time.0)?;
    Ok(zone.seconds_east_of_local(local.0))
}
