//! Intervals: sums, multiples, normal forms.

use nacre_types::{SqlInterval, SqlValue, ValueError};

use super::arguments::{double, int4, interval};
use super::registry::KernelRow;
use super::{KernelContext, ScalarKernel};

/// Microseconds that 64 bits do not hold.
const MICROS_BEYOND: f64 = 9.2e18;

const MAKE_INTERVAL: &str = "make_interval(int4,int4,int4,int4,int4,int4,float8)";

pub(super) const KERNELS: &[KernelRow] = &[
    (
        "interval_pl(interval,interval)",
        ScalarKernel::partial(|values, _| made(interval(values, 0)?.sum(interval(values, 1)?))),
    ),
    (
        "interval_mi(interval,interval)",
        ScalarKernel::partial(|values, _| {
            made(interval(values, 0)?.subtract(interval(values, 1)?))
        }),
    ),
    (
        "interval_um(interval)",
        ScalarKernel::partial(|values, _| made(interval(values, 0)?.negate())),
    ),
    (
        "interval_mul(interval,float8)",
        ScalarKernel::partial(|values, _| made(interval(values, 0)?.multiply(double(values, 1)?))),
    ),
    (
        "mul_d_interval(float8,interval)",
        ScalarKernel::partial(|values, _| made(interval(values, 1)?.multiply(double(values, 0)?))),
    ),
    (
        "interval_div(interval,float8)",
        ScalarKernel::partial(|values, _| made(interval(values, 0)?.divide(double(values, 1)?))),
    ),
    (
        "justify_hours(interval)",
        ScalarKernel::partial(|values, _| made(interval(values, 0)?.justify_hours())),
    ),
    (
        "justify_days(interval)",
        ScalarKernel::partial(|values, _| made(interval(values, 0)?.justify_days())),
    ),
    (
        "justify_interval(interval)",
        ScalarKernel::partial(|values, _| made(interval(values, 0)?.justify())),
    ),
    (MAKE_INTERVAL, ScalarKernel::partial(made_of_fields)),
    ("isfinite(interval)", ScalarKernel::total(|_, _| Ok(SqlValue::Boolean(true)))),
];

/// Makes an interval of years, months, weeks, days, hours, minutes and seconds. Months and days
/// wrap at 32 bits, as in PostgreSQL.
fn made_of_fields(values: &[SqlValue], _: &KernelContext<'_>) -> Result<SqlValue, ValueError> {
    let field = |index| int4(values, index);
    let seconds = double(values, 6)?;
    if !seconds.is_finite() {
        return Err(ValueError::datetime_overflow("interval out of range"));
    }
    let micros = (seconds * 1e6).round_ties_even();
    if micros.abs() >= MICROS_BEYOND {
        return Err(ValueError::not_supported("intervals of this many seconds"));
    }
    let hours = i64::from(field(4)?) * 3_600_000_000;
    let minutes = i64::from(field(5)?) * 60_000_000;
    Ok(SqlValue::Interval(SqlInterval {
        months: field(0)?.wrapping_mul(12).wrapping_add(field(1)?),
        days: field(2)?.wrapping_mul(7).wrapping_add(field(3)?),
        micros: hours.wrapping_add(minutes).wrapping_add(micros as i64),
    }))
}

fn made(result: Result<SqlInterval, ValueError>) -> Result<SqlValue, ValueError> {
    result.map(SqlValue::Interval)
}
