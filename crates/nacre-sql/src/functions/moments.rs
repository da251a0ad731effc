//! Functions over moments and intervals.

use std::sync::Arc;

use datafusion::arrow::array::timezone::Tz;
use datafusion::arrow::array::{
    Array, ArrayRef, AsArray, BooleanArray, Decimal128Array, IntervalMonthDayNanoArray,
    TimestampMicrosecondArray,
};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{
    DataType, DurationMicrosecondType, Float64Type, Int64Type, IntervalMonthDayNano,
    IntervalMonthDayNanoType, IntervalUnit, TimeUnit, TimestampMicrosecondType,
};
use datafusion::arrow::temporal_conversions::as_datetime_with_timezone;
use datafusion::common::ScalarValue;
use datafusion::logical_expr::Volatility;

use super::civil::{Civil, DAY_US, days_in_month};
use super::scalar::{Body, Definition};
use crate::error::{Error, ErrorKind, Result};
use crate::types::{UTC, is_text, zoned};

/// Seconds since 1970, or of an interval.
pub(crate) const EPOCH: &str = "nacre_epoch";

/// A moment with as many digits of its seconds as said.
pub(crate) const ROUNDED: &str = "nacre_rounded_moment";

/// Microseconds from 1970 to 2000, from where moments are counted that are rounded.
const MILLENNIUM_US: i64 = 946_684_800_000_000;

/// Digits of microseconds.
const DIGITS_MAX: i64 = 6;

fn plain() -> DataType {
    DataType::Timestamp(TimeUnit::Microsecond, None)
}

pub(super) fn interval() -> DataType {
    DataType::Interval(IntervalUnit::MonthDayNano)
}

pub(super) fn is_moment(data_type: &DataType) -> bool {
    matches!(data_type, DataType::Timestamp(..) | DataType::Date32 | DataType::Date64)
}

/// The type in which bodies get a moment.
pub(super) fn moment(data_type: &DataType) -> DataType {
    match data_type {
        DataType::Timestamp(_, Some(_)) => zoned(),
        _ => plain(),
    }
}

fn is_interval(data_type: &DataType) -> bool {
    matches!(data_type, DataType::Interval(_) | DataType::Duration(_))
}

/// As [`moment`], also for texts.
fn moment_or_text(data_type: &DataType) -> Option<DataType> {
    let is_literal = is_text(data_type) || data_type == &DataType::Null;
    (is_moment(data_type) || is_literal).then(|| moment(data_type))
}

/// Returns the functions.
pub(super) fn functions() -> impl Iterator<Item = Definition> {
    of_moments().into_iter().chain(of_intervals())
}

fn of_moments() -> [Definition; 6] {
    let immutable = Volatility::Immutable;
    [
        Definition {
            name: ROUNDED,
            takes: |types| match types {
                [one, digits] if digits.is_integer() => {
                    Some(vec![moment_or_text(one)?, DataType::Int64])
                }
                _ => None,
            },
            returns: |types, _| types.first().cloned().unwrap_or(DataType::Null),
            volatility: immutable,
            body: rounded,
        },
        Definition {
            name: "age",
            takes: |types| match types {
                [later, earlier] => Some(vec![moment_or_text(later)?, moment_or_text(earlier)?]),
                _ => None,
            },
            returns: |_, _| interval(),
            volatility: immutable,
            body: age,
        },
        Definition {
            name: "isfinite",
            takes: |types| match types {
                [one] if is_interval(one) => Some(vec![interval()]),
                [one] => Some(vec![moment_or_text(one)?]),
                _ => None,
            },
            returns: |_, _| DataType::Boolean,
            volatility: immutable,
            body: |args, rows, _| {
                // There are no infinite ones.
                let values = (0..rows).map(|row| args[0].is_valid(row).then_some(true));
                Ok(Arc::new(values.collect::<BooleanArray>()))
            },
        },
        Definition {
            name: "timezone",
            takes: |types| match types {
                [zone, one] if is_text(zone) => {
                    Some(vec![DataType::Utf8View, moment_or_text(one)?])
                }
                _ => None,
            },
            returns: |types, _| match types {
                [_, DataType::Timestamp(_, Some(_))] => plain(),
                _ => zoned(),
            },
            volatility: immutable,
            body: timezone,
        },
        made("make_timestamp", |_, _| plain()),
        made("make_timestamptz", |_, _| zoned()),
    ]
}

fn of_intervals() -> [Definition; 5] {
    let immutable = Volatility::Immutable;
    [
        Definition {
            name: "make_interval",
            takes: |types| {
                let is_number = |one: &DataType| one.is_numeric() || one == &DataType::Null;
                let all = (0..7)
                    .map(|place| if place == 6 { DataType::Float64 } else { DataType::Int64 });
                (types.len() <= 7 && types.iter().all(is_number))
                    .then(|| all.take(types.len()).collect())
            },
            returns: |_, _| interval(),
            volatility: immutable,
            body: make_interval,
        },
        Definition {
            name: EPOCH,
            takes: |types| match types {
                [one] if is_interval(one) => Some(vec![interval()]),
                [one] => Some(vec![moment_or_text(one)?]),
                _ => None,
            },
            returns: |_, _| DataType::Decimal128(20, 6),
            volatility: immutable,
            body: epoch,
        },
        justified("justify_hours"),
        justified("justify_days"),
        justified("justify_interval"),
    ]
}

/// Makes what multiplies intervals by numbers.
pub(super) fn interval_product() -> Definition {
    scaling("nacre_interval_product", |args, _, _| scaled(args, IntervalScaling::Times))
}

/// Makes what divides intervals by numbers.
pub(super) fn interval_quotient() -> Definition {
    scaling("nacre_interval_quotient", |args, _, _| scaled(args, IntervalScaling::Over))
}

fn scaling(name: &'static str, body: Body) -> Definition {
    Definition {
        name,
        takes: |types| match types {
            [one, number]
                if is_interval(one) && (number.is_numeric() || number == &DataType::Null) =>
            {
                let span = match one {
                    // The difference of two moments has days and a time.
                    DataType::Duration(_) => DataType::Duration(TimeUnit::Microsecond),
                    _ => interval(),
                };
                Some(vec![span, DataType::Float64])
            }
            _ => None,
        },
        returns: |_, _| interval(),
        volatility: Volatility::Immutable,
        body,
    }
}

fn made(
    name: &'static str,
    returns: fn(&[DataType], &[Option<&ScalarValue>]) -> DataType,
) -> Definition {
    Definition {
        name,
        takes: |types| {
            let is_number = |one: &DataType| one.is_numeric() || one == &DataType::Null;
            (types.len() == 6 && types.iter().all(is_number)).then(|| {
                let mut taken = vec![DataType::Int64; 5];
                taken.push(DataType::Float64);
                taken
            })
        },
        returns,
        volatility: Volatility::Immutable,
        body: match name {
            "make_timestamp" => |args, rows, _| Ok(Arc::new(make_timestamp(args, rows)?)),
            _ => |args, rows, _| Ok(Arc::new(make_timestamp(args, rows)?.with_timezone(UTC))),
        },
    }
}

fn justified(name: &'static str) -> Definition {
    Definition {
        name,
        takes: |types| match types {
            [one] if is_interval(one) || is_text(one) => Some(vec![interval()]),
            _ => None,
        },
        returns: |_, _| interval(),
        volatility: Volatility::Immutable,
        body: match name {
            "justify_hours" => |args, _, _| Ok(justify(&args[0], true, false)),
            "justify_days" => |args, _, _| Ok(justify(&args[0], false, true)),
            _ => |args, _, _| Ok(justify(&args[0], true, true)),
        },
    }
}

fn out_of_range(what: &str) -> Error {
    Error::new(ErrorKind::InvalidData, format!("{what} out of range")).with_code("22008")
}

/// Years, months, days and time between two moments.
/// Rounds to digits behind the point, halves away from the millennium, as PostgreSQL counts.
fn rounded(args: &[ArrayRef], _: usize, _: &DataType) -> Result<ArrayRef> {
    let moments = args[0].as_primitive::<TimestampMicrosecondType>();
    let digits = args[1].as_primitive::<Int64Type>();
    let rounded = moments.iter().zip(digits).map(|(moment, digits)| {
        let kept = digits?.clamp(0, DIGITS_MAX);
        let unit = 10_i64.pow(u32::try_from(DIGITS_MAX - kept).unwrap_or(0));
        let since = moment?.checked_sub(MILLENNIUM_US)?;
        let whole = (since.abs() + unit / 2) / unit * unit;
        Some(MILLENNIUM_US + whole * since.signum())
    });
    let rounded: TimestampMicrosecondArray = rounded.collect();
    Ok(Arc::new(rounded.with_data_type(args[0].data_type().clone())))
}

fn age(args: &[ArrayRef], _: usize, _: &DataType) -> Result<ArrayRef> {
    let (later, earlier) = (micros(&args[0])?, micros(&args[1])?);
    let (later, earlier) = (
        later.as_primitive::<TimestampMicrosecondType>(),
        earlier.as_primitive::<TimestampMicrosecondType>(),
    );
    let ages = later.iter().zip(earlier).map(|(later, earlier)| Some(between(later?, earlier?)));
    Ok(Arc::new(ages.collect::<IntervalMonthDayNanoArray>()))
}

/// Returns the moments without their zone.
fn micros(array: &ArrayRef) -> Result<ArrayRef> {
    Ok(cast(array, &plain())?)
}

fn between(later: i64, earlier: i64) -> IntervalMonthDayNano {
    let (sign, from, to) =
        if later >= earlier { (1, earlier, later) } else { (-1, later, earlier) };
    let (from, to) = (Civil::of_micros(from), Civil::of_micros(to));
    let time = |civil: &Civil| {
        ((civil.hour * 60 + civil.minute) * 60 + civil.second) * 1_000_000 + civil.micro
    };
    let mut months = (to.year - from.year) * 12 + to.month - from.month;
    let mut days = to.day - from.day;
    let mut micros = time(&to) - time(&from);
    if micros < 0 {
        micros += DAY_US;
        days -= 1;
    }
    if days < 0 {
        // The days of the month that the earlier moment is in; of the later one if it is negative.
        let of = if sign > 0 { from } else { to };
        let (year, month) = if sign > 0 { (of.year, of.month) } else { (from.year, from.month) };
        days += days_in_month(year, month);
        months -= 1;
    }
    let months = i32::try_from(sign * months).unwrap_or(i32::MAX);
    let days = i32::try_from(sign * days).unwrap_or(i32::MAX);
    IntervalMonthDayNano::new(months, days, sign * micros * 1_000)
}

/// Moves moments between UTC and a zone: what has a zone becomes what its clocks show, and what
/// has none is taken for what they show.
fn timezone(args: &[ArrayRef], rows: usize, _: &DataType) -> Result<ArrayRef> {
    let zones = args[0].as_string_view();
    let is_zoned = matches!(args[1].data_type(), DataType::Timestamp(_, Some(_)));
    let mut moved = Vec::with_capacity(rows);
    for row in 0..rows {
        if zones.is_null(row) || args[1].is_null(row) {
            moved.push(None);
            continue;
        }
        let zone = zone_named(zones.value(row))?;
        moved.push(match is_zoned {
            true => {
                let moments = args[1].as_primitive::<TimestampMicrosecondType>();
                Some(shown_in(moments.value(row), &zone)?)
            }
            false => {
                let shown = args[1].as_primitive::<TimestampMicrosecondType>();
                Some(moment_of(shown.value(row), &zone)?)
            }
        });
    }
    let moved = TimestampMicrosecondArray::from(moved);
    Ok(match is_zoned {
        true => Arc::new(moved),
        false => Arc::new(moved.with_timezone(UTC)),
    })
}

/// Returns what the clocks of a zone show at a moment.
fn shown_in(micros: i64, zone: &str) -> Result<i64> {
    let zone: Tz = zone.parse()?;
    let there = as_datetime_with_timezone::<TimestampMicrosecondType>(micros, zone);
    let there = there.ok_or_else(|| out_of_range("timestamp"))?;
    Ok(there.naive_local().and_utc().timestamp_micros())
}

/// Returns the moment at which the clocks of a zone show a time. One that they show twice, or
/// never, is taken for standard time, as PostgreSQL does.
fn moment_of(shown: i64, zone: &str) -> Result<i64> {
    // Nobody sets clocks twice within two days.
    let ahead_at = |micros: i64| Ok::<_, Error>(shown_in(micros, zone)? - micros);
    let before = shown - ahead_at(shown - DAY_US)?;
    let after = shown - ahead_at(shown + DAY_US)?;
    Ok(match [before, after].map(|micros| shown_in(micros, zone).ok() == Some(shown)) {
        [true, true] => before.max(after),
        [false, true] => after,
        [true, false] | [false, false] => before,
    })
}

/// Returns a zone as Arrow names it.
fn zone_named(name: &str) -> Result<String> {
    let lower = name.trim().to_ascii_lowercase();
    if matches!(lower.as_str(), "utc" | "gmt" | "z" | "zulu" | "etc/utc" | "etc/gmt" | "uct") {
        return Ok(UTC.to_owned());
    }
    let known = name.parse::<Tz>().is_ok();
    match known && !name.starts_with(['+', '-']) {
        true => Ok(name.to_owned()),
        false => {
            let message = format!("time zone \"{name}\" not recognized");
            Err(Error::invalid_parameter(message))
        }
    }
}

fn make_timestamp(args: &[ArrayRef], rows: usize) -> Result<TimestampMicrosecondArray> {
    let parts: Vec<_> = args[..5].iter().map(|array| array.as_primitive::<Int64Type>()).collect();
    let seconds = args[5].as_primitive::<Float64Type>();
    let made = (0..rows).map(|row| {
        if args.iter().any(|array| array.is_null(row)) {
            return Ok(None);
        }
        let part = |place: usize| parts[place].value(row);
        let (year, month, day, hour, minute) = (part(0), part(1), part(2), part(3), part(4));
        let is_date = (1..=9_999).contains(&year)
            && (1..=12).contains(&month)
            && (1..=days_in_month(year, month)).contains(&day);
        if !is_date {
            let message = format!("date field value out of range: {year}-{month:02}-{day:02}");
            return Err(Error::new(ErrorKind::InvalidData, message).with_code("22008"));
        }
        let second = seconds.value(row);
        if !(0..=23).contains(&hour)
            || !(0..=59).contains(&minute)
            || !(0.0..60.0).contains(&second)
        {
            let message = format!("time field value out of range: {hour}:{minute:02}:{second:02}");
            return Err(Error::new(ErrorKind::InvalidData, message).with_code("22008"));
        }
        let days = Civil { year, month, day, ..Civil::default() }.days();
        let time = (hour * 60 + minute) * 60_000_000 + (second * 1e6).round() as i64;
        Ok(Some(days * DAY_US + time))
    });
    made.collect()
}

/// Seconds with six digits; a year of an interval has 365.25 days and a month 30, as in PostgreSQL.
fn epoch(args: &[ArrayRef], _: usize, _: &DataType) -> Result<ArrayRef> {
    let seconds: Decimal128Array = match args[0].data_type() {
        DataType::Interval(_) => {
            let values = args[0].as_primitive::<IntervalMonthDayNanoType>().iter();
            let micros = |value: IntervalMonthDayNano| {
                let (years, months) = (i128::from(value.months / 12), value.months % 12);
                let days = i128::from(months) * 30 + i128::from(value.days);
                let day = i128::from(DAY_US);
                years * day * 1_461 / 4 + days * day + i128::from(value.nanoseconds / 1_000)
            };
            values.map(|value| value.map(micros)).collect()
        }
        _ => {
            let values = args[0].as_primitive::<TimestampMicrosecondType>().iter();
            values.map(|value| value.map(i128::from)).collect()
        }
    };
    Ok(Arc::new(seconds.with_precision_and_scale(20, 6)?))
}

/// How intervals are scaled.
#[derive(Clone, Copy)]
enum IntervalScaling {
    Times,
    Over,
}

impl IntervalScaling {
    fn of(self, part: f64, number: f64) -> f64 {
        match self {
            Self::Times => part * number,
            Self::Over => part / number,
        }
    }
}

/// Intervals times numbers, or over them: parts of months become days, and parts of days time.
fn scaled(args: &[ArrayRef], scaling: IntervalScaling) -> Result<ArrayRef> {
    let numbers = args[1].as_primitive::<Float64Type>();
    let values: Vec<Option<IntervalMonthDayNano>> = match args[0].data_type() {
        DataType::Duration(_) => {
            let spans = args[0].as_primitive::<DurationMicrosecondType>().iter();
            let days = |span: i64| i32::try_from(span / DAY_US).unwrap_or(i32::MAX);
            let interval = |span| IntervalMonthDayNano::new(0, days(span), span % DAY_US * 1_000);
            spans.map(|span| span.map(interval)).collect()
        }
        _ => args[0].as_primitive::<IntervalMonthDayNanoType>().iter().collect(),
    };
    let made = values.into_iter().zip(numbers).map(|(value, number)| {
        let (Some(value), Some(number)) = (value, number) else { return Ok(None) };
        if matches!(scaling, IntervalScaling::Over) && number == 0.0 {
            let error = Error::new(ErrorKind::InvalidData, "division by zero");
            return Err(error.with_code("22012"));
        }
        scaled_interval(value, number, scaling).map(Some).ok_or_else(|| out_of_range("interval"))
    });
    Ok(Arc::new(made.collect::<Result<IntervalMonthDayNanoArray>>()?))
}

/// As PostgreSQL's `interval_mul` and `interval_div` round; `None` if it does not fit.
fn scaled_interval(
    value: IntervalMonthDayNano,
    number: f64,
    scaling: IntervalScaling,
) -> Option<IntervalMonthDayNano> {
    // To a millionth, since products are not exact.
    let exact = |part: f64| (part * 1e6).round_ties_even() / 1e6;
    let whole = |part: f64| (part.abs() <= f64::from(i32::MAX)).then_some(part.trunc() as i32);
    let (months, days) =
        (scaling.of(value.months.into(), number), scaling.of(value.days.into(), number));
    let of_months = exact((months - months.trunc()) * 30.0);
    let seconds = exact((days - days.trunc() + of_months - of_months.trunc()) * 86_400.0);
    let more_days = if seconds.abs() >= 86_400.0 { (seconds / 86_400.0).trunc() } else { 0.0 };
    let seconds = seconds - more_days * 86_400.0;
    let days = whole(days)?.checked_add(whole(more_days + of_months.trunc())?)?;
    let micros = scaling.of((value.nanoseconds / 1_000) as f64, number) + seconds * 1e6;
    let nanos = (micros.abs() < 9.2e15).then(|| micros.round_ties_even() as i64 * 1_000)?;
    Some(IntervalMonthDayNano::new(whole(months)?, days, nanos))
}

/// Years, months, weeks, days, hours, minutes, seconds; those that are not given are 0.
fn make_interval(args: &[ArrayRef], rows: usize, _: &DataType) -> Result<ArrayRef> {
    let made = (0..rows).map(|row| {
        if args.iter().any(|array| array.is_null(row)) {
            return Ok(None);
        }
        let part = |place: usize| match args.get(place) {
            Some(array) => array.as_primitive::<Int64Type>().value(row),
            None => 0,
        };
        let seconds =
            args.get(6).map_or(0.0, |array| array.as_primitive::<Float64Type>().value(row));
        let checked = || {
            let months = part(0).checked_mul(12)?.checked_add(part(1))?;
            let days = part(2).checked_mul(7)?.checked_add(part(3))?;
            let minutes = part(4).checked_mul(60)?.checked_add(part(5))?;
            let micros = (seconds * 1e6).round();
            let nanos = minutes
                .checked_mul(60_000_000_000)?
                .checked_add((micros as i64).checked_mul(1_000)?)?;
            let (months, days) = (i32::try_from(months).ok()?, i32::try_from(days).ok()?);
            Some(IntervalMonthDayNano::new(months, days, nanos))
        };
        checked().map(Some).ok_or_else(|| out_of_range("interval"))
    });
    Ok(Arc::new(made.collect::<Result<IntervalMonthDayNanoArray>>()?))
}

/// Makes days of 24 hours and months of 30 days.
fn justify(array: &ArrayRef, hours: bool, days: bool) -> ArrayRef {
    const DAY_NS: i64 = DAY_US * 1_000;
    let values = array.as_primitive::<IntervalMonthDayNanoType>().iter();
    let justified = values.map(|value| {
        let value = value?;
        let (mut months, mut of_days, mut nanos) =
            (i64::from(value.months), i64::from(value.days), value.nanoseconds);
        if hours {
            of_days += nanos / DAY_NS;
            nanos %= DAY_NS;
        }
        if days {
            months += of_days / 30;
            of_days %= 30;
        }
        // All parts have the sign of the whole.
        if days && months > 0 && (of_days < 0 || (of_days == 0 && nanos < 0)) {
            (months, of_days) = (months - 1, of_days + 30);
        } else if days && months < 0 && (of_days > 0 || (of_days == 0 && nanos > 0)) {
            (months, of_days) = (months + 1, of_days - 30);
        }
        if hours && of_days > 0 && nanos < 0 {
            (of_days, nanos) = (of_days - 1, nanos + DAY_NS);
        } else if hours && of_days < 0 && nanos > 0 {
            (of_days, nanos) = (of_days + 1, nanos - DAY_NS);
        }
        let (months, of_days) = (i32::try_from(months).ok()?, i32::try_from(of_days).ok()?);
        Some(IntervalMonthDayNano::new(months, of_days, nanos))
    });
    Arc::new(justified.collect::<IntervalMonthDayNanoArray>())
}
