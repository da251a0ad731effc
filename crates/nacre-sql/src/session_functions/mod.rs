//! Functions that ask a session who and where it is, of its settings, and a few of PostgreSQL's
//! that the front end does not have: [`facts`] answers with what never changes in a session or
//! with the schemas of `search_path`, [`settings`] reads and sets settings, [`sleep`] waits,
//! [`hash`] computes `md5`, and [`types`] tells types.

mod facts;
mod hash;
mod settings;
mod sleep;
mod types;

use std::sync::Arc;
use std::time::SystemTime;

use datafusion::logical_expr::ScalarUDF;

use crate::settings::Settings;

/// Makes the functions of a new session of a database that was opened at a time.
pub(crate) fn session_functions(
    settings: &Arc<Settings>,
    opened: SystemTime,
) -> Vec<Arc<ScalarUDF>> {
    let mut functions = facts::functions(settings, opened);
    functions.extend(settings::functions(settings));
    functions.push(Arc::new(ScalarUDF::new_from_impl(hash::Md5::new())));
    functions.push(Arc::new(sleep::function()));
    functions.push(Arc::new(ScalarUDF::new_from_impl(types::TypeOf::new())));
    functions
}
