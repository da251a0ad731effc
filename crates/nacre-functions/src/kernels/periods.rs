//! `(a, b) OVERLAPS (c, d)`: whether two periods have a moment in common.
//!
//! An end is a moment or how long the period is. Of a period with one end the other one is not
//! known, and one whose ends are in the other order is turned round.

use std::cmp::Ordering;

use nacre_types::{SqlValue, ValueError};

use super::arguments::{interval, time, timestamp};
use super::registry::KernelRow;
use super::{KernelContext, ScalarKernel, compare_values};

pub(super) const KERNELS: &[KernelRow] = &[
    (
        "overlaps(timestamp,timestamp,timestamp,timestamp) \
         overlaps(timestamptz,timestamptz,timestamptz,timestamptz) \
         overlaps(time,time,time,time) overlaps(timetz,timetz,timetz,timetz) \
         overlaps(time,interval,time,interval) overlaps(time,time,time,interval) \
         overlaps(time,interval,time,time)",
        ScalarKernel::total(overlaps),
    ),
    (
        "overlaps(timestamp,interval,timestamp,interval) \
         overlaps(timestamp,timestamp,timestamp,interval) \
         overlaps(timestamp,interval,timestamp,timestamp) \
         overlaps(timestamptz,interval,timestamptz,interval) \
         overlaps(timestamptz,timestamptz,timestamptz,interval) \
         overlaps(timestamptz,interval,timestamptz,timestamptz)",
        ScalarKernel::partial(overlaps),
    ),
];

/// A period: a moment that is known, and the other end if that is known, which is not earlier.
struct KnownPeriod {
    start: SqlValue,
    end: Option<SqlValue>,
}

fn overlaps(values: &[SqlValue], context: &KernelContext<'_>) -> Result<SqlValue, ValueError> {
    // The ends are computed first, also where they do not matter.
    let ends = [end_of(values, 1, context)?, end_of(values, 3, context)?];
    let [one_end, other_end] = ends;
    let one = KnownPeriod::of(values.first(), one_end, context)?;
    let other = KnownPeriod::of(values.get(2), other_end, context)?;
    let (Some(one), Some(other)) = (one, other) else { return Ok(SqlValue::Null) };
    let (earlier, later) = match compare_values(&one.start, &other.start, context)? {
        Ordering::Less => (one, other),
        Ordering::Greater => (other, one),
        Ordering::Equal => {
            let is_known = one.end.is_some() && other.end.is_some();
            return Ok(if is_known { SqlValue::Boolean(true) } else { SqlValue::Null });
        }
    };
    let Some(end) = earlier.end else { return Ok(SqlValue::Null) };
    if compare_values(&later.start, &end, context)?.is_lt() {
        return Ok(SqlValue::Boolean(true));
    }
    Ok(if later.end.is_some() { SqlValue::Boolean(false) } else { SqlValue::Null })
}

/// Returns an end; null if it is not known.
fn end_of(
    values: &[SqlValue],
    index: usize,
    context: &KernelContext<'_>,
) -> Result<SqlValue, ValueError> {
    let Some(SqlValue::Interval(_)) = values.get(index) else {
        return Ok(values.get(index).cloned().unwrap_or(SqlValue::Null));
    };
    let by = interval(values, index)?;
    Ok(match values.get(index - 1) {
        Some(SqlValue::Timestamp(from)) => SqlValue::Timestamp(from.add_interval(by)?),
        Some(SqlValue::TimestampTz(_)) => {
            let zone = &context.settings.datetime.time_zone;
            let end = timestamp(values, index - 1)?.add_interval_in_zone(by, zone)?;
            SqlValue::TimestampTz(end)
        }
        Some(SqlValue::Time(_)) => SqlValue::Time(time(values, index - 1)?.add_interval(by)),
        _ => SqlValue::Null,
    })
}

impl KnownPeriod {
    /// Makes a period of its ends; `None` if neither is known.
    fn of(
        start: Option<&SqlValue>,
        end: SqlValue,
        context: &KernelContext<'_>,
    ) -> Result<Option<Self>, ValueError> {
        let start = start.cloned().unwrap_or(SqlValue::Null);
        Ok(match (start.is_null(), end.is_null()) {
            (true, true) => None,
            (true, false) => Some(Self { start: end, end: None }),
            (false, true) => Some(Self { start, end: None }),
            (false, false) if compare_values(&start, &end, context)?.is_gt() => {
                Some(Self { start: end, end: Some(start) })
            }
            (false, false) => Some(Self { start, end: Some(end) }),
        })
    }
}
