//! The functions of a new session.

use std::sync::Arc;

use datafusion::logical_expr::ScalarUDF;

use super::{
    arithmetic, clock, formatting, moments, named, quotients, series, similar, texts, unifying,
    unknown,
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

/// What computes quotients, and how long intervals are.
#[derive(Debug)]
pub(crate) struct Quotients {
    pub(crate) decimals: Arc<ScalarUDF>,
    pub(crate) floats: Arc<ScalarUDF>,
    pub(crate) spans: Arc<ScalarUDF>,
}

impl Quotients {
    pub(crate) fn new() -> Self {
        Self {
            decimals: quotients::of_decimals().made(),
            floats: quotients::of_floats().made(),
            spans: quotients::spans().made(),
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
