//! The functions of a new session.

use std::sync::Arc;

use datafusion::execution::memory_pool::MemoryPool;
use datafusion::logical_expr::ScalarUDF;

use super::bounded::bounded;
use super::{
    arithmetic, clock, encodings, formatting, joined, moments, named, quotients, regular, series,
    similar, texts, unifying, unknown, whole,
};

/// Makes the functions.
pub(crate) fn common_functions() -> Vec<Arc<ScalarUDF>> {
    let definitions = formatting::functions()
        .into_iter()
        .chain(moments::functions())
        .chain(arithmetic::functions())
        .chain(texts::functions())
        .chain(similar::functions())
        .chain(encodings::functions())
        .chain(joined::functions())
        .chain([regular::replace()])
        .chain(series::functions());
    let mut functions: Vec<Arc<ScalarUDF>> =
        definitions.map(|definition| definition.made()).collect();
    functions.push(clock::function());
    functions.push(clock::now());
    functions.extend(unifying::functions());
    functions.push(named::named_function());
    functions.push(unknown::function());
    functions
}

/// What computes results of arithmetic, and how long intervals are.
#[derive(Debug)]
pub(crate) struct Arithmetic {
    /// Of whole numbers.
    pub(crate) sum: Arc<ScalarUDF>,
    pub(crate) difference: Arc<ScalarUDF>,
    pub(crate) product: Arc<ScalarUDF>,
    pub(crate) bit_and: Arc<ScalarUDF>,
    pub(crate) bit_or: Arc<ScalarUDF>,
    pub(crate) bit_xor: Arc<ScalarUDF>,
    pub(crate) decimal_quotient: Arc<ScalarUDF>,
    pub(crate) float_quotient: Arc<ScalarUDF>,
    pub(crate) span: Arc<ScalarUDF>,
    /// Rounds floats, half to even.
    pub(crate) rint: Arc<ScalarUDF>,
    /// Joins texts and byte strings.
    pub(crate) joined: Arc<ScalarUDF>,
    /// Writes values as texts.
    pub(crate) shown: Arc<ScalarUDF>,
}

/// What computes results that have to be known when an expression is planned, since the planner
/// has no type for them.
#[derive(Debug)]
pub(crate) struct PlannedOperators {
    pub(crate) interval_product: Arc<ScalarUDF>,
    pub(crate) interval_quotient: Arc<ScalarUDF>,
    pub(crate) joined_arrays: Arc<ScalarUDF>,
}

impl PlannedOperators {
    pub(crate) fn new(pool: &Arc<dyn MemoryPool>) -> Self {
        Self {
            interval_product: moments::interval_product().made(),
            interval_quotient: moments::interval_quotient().made(),
            joined_arrays: bounded(joined::joined_arrays().made(), pool),
        }
    }
}

impl Arithmetic {
    pub(crate) fn new(pool: &Arc<dyn MemoryPool>) -> Self {
        Self {
            sum: whole::sum().made(),
            difference: whole::difference().made(),
            product: whole::product().made(),
            bit_and: whole::bit_and().made(),
            bit_or: whole::bit_or().made(),
            bit_xor: whole::bit_xor().made(),
            decimal_quotient: quotients::of_decimals().made(),
            float_quotient: quotients::of_floats().made(),
            span: quotients::spans().made(),
            rint: rint(),
            joined: bounded(joined::joined().made(), pool),
            shown: shown(pool),
        }
    }
}

/// Makes what writes values as texts.
pub(crate) fn shown(pool: &Arc<dyn MemoryPool>) -> Arc<ScalarUDF> {
    bounded(texts::shown().made(), pool)
}

/// Makes what rounds floats to whole numbers.
pub(crate) fn rint() -> Arc<ScalarUDF> {
    arithmetic::rint().made()
}
