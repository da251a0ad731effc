//! The functions of a new session.

use std::sync::Arc;

use datafusion::logical_expr::ScalarUDF;

use super::{
    arithmetic, clock, formatting, moments, named, quotients, series, similar, texts, unifying,
    unknown, whole,
};

/// Makes the functions.
pub(crate) fn common_functions() -> Vec<Arc<ScalarUDF>> {
    let definitions = formatting::functions()
        .into_iter()
        .chain(moments::functions())
        .chain(arithmetic::functions())
        .chain(texts::functions())
        .chain(similar::functions())
        .chain(series::functions());
    let mut functions: Vec<Arc<ScalarUDF>> =
        definitions.map(|definition| definition.made()).collect();
    functions.push(clock::function());
    functions.push(clock::now());
    functions.extend(unifying::functions());
    functions.push(named::function());
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
}

impl Arithmetic {
    pub(crate) fn new() -> Self {
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
        }
    }
}

/// Makes what writes values as texts.
pub(crate) fn shown() -> Arc<ScalarUDF> {
    texts::shown().made()
}

/// Makes what rounds floats to whole numbers.
pub(crate) fn rint() -> Arc<ScalarUDF> {
    arithmetic::rint().made()
}
