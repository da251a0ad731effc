//! What a session, the clock and chance say, and the types of values.
//!
//! Volatile functions are computed anew for each call, and count as what may fail, so that no call
//! is moved or left out.

use std::cell::Cell;
use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::time::{SystemTime, UNIX_EPOCH};

use nacre_types::datetime::SqlTimestamp;
use nacre_types::{SqlValue, ValueError};

use super::arguments::text_value;
use super::registry::KernelRow;
use super::time_format::moment_text;
use super::{KernelContext, ScalarKernel};

/// Bits of a `double precision` behind the point of what lies between 0 and 1.
const FRACTION_BITS: u32 = 53;

pub(super) const KERNELS: &[KernelRow] = &[
    (
        "version()",
        ScalarKernel::total(|_, context| match &context.settings.version {
            Some(version) => text_value(version.as_ref()),
            None => Err(ValueError::not_supported("the version is not available here")),
        }),
    ),
    (
        "statement_timestamp()",
        ScalarKernel::total(|_, context| {
            let began = context.settings.datetime.statement;
            let unknown = || ValueError::not_supported("the current time is not available here");
            began.map(SqlValue::TimestampTz).ok_or_else(unknown)
        }),
    ),
    ("clock_timestamp()", ScalarKernel::partial(|_, _| clock().map(SqlValue::TimestampTz))),
    (
        "timeofday()",
        ScalarKernel::partial(|_, context| {
            text_value(moment_text(clock()?, "Dy Mon DD HH24:MI:SS.US YYYY TZ", context)?)
        }),
    ),
    ("random()", ScalarKernel::partial(|_, _| Ok(SqlValue::Double(random_fraction())))),
    ("pg_typeof(any)", ScalarKernel::total(|_, context| type_of(context))),
];

fn clock() -> Result<SqlTimestamp, ValueError> {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    SqlTimestamp::from_unix_micros(i64::try_from(since.as_micros()).unwrap_or(i64::MAX))
}

thread_local! {
    /// The state of a generator; threads begin with states that have nothing to do with each other.
    static STATE: Cell<u64> = Cell::new(RandomState::new().hash_one(0_u8));
}

/// Returns a number from 0 to below 1 (SplitMix64: a counter whose bits are mixed).
fn random_fraction() -> f64 {
    let state = STATE.get().wrapping_add(0x9e37_79b9_7f4a_7c15);
    STATE.set(state);
    let mixed = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    let bits = (mixed ^ (mixed >> 31)) >> (u64::BITS - FRACTION_BITS);
    bits as f64 / (1_u64 << FRACTION_BITS) as f64
}

fn type_of(context: &KernelContext<'_>) -> Result<SqlValue, ValueError> {
    let own = context.argument_types.first();
    let own = own.ok_or_else(|| ValueError::internal("an argument without a type"))?;
    Ok(SqlValue::Oid(own.oid().0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn random_numbers_lie_below_one_and_are_spread() {
        let numbers: Vec<f64> = (0..10_000).map(|_| random_fraction()).collect();
        assert!(numbers.iter().all(|number| (0.0..1.0).contains(number)));
        for tenth in 0..10 {
            let low = f64::from(tenth) / 10.0;
            let count = numbers.iter().filter(|one| (low..low + 0.1).contains(one)).count();
            // Nine standard deviations around 1,000.
            assert!((730..=1_270).contains(&count), "{count} above {low}");
        }
    }
}
