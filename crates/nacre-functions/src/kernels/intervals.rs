//! Intervals: sums, multiples, normal forms.

use nacre_types::{SqlInterval, SqlValue, ValueError};

use super::ScalarKernel;
use super::arguments::{double, interval};
use super::registry::KernelRow;

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
    ("isfinite(interval)", ScalarKernel::total(|_, _| Ok(SqlValue::Boolean(true)))),
];

fn made(result: Result<SqlInterval, ValueError>) -> Result<SqlValue, ValueError> {
    result.map(SqlValue::Interval)
}
