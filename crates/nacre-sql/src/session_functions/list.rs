//! The functions of a new session.

use std::sync::Arc;
use std::time::SystemTime;

use datafusion::logical_expr::ScalarUDF;

use super::{advisory, bytea, facts, hash, settings, signals, sleep, types};
use crate::activity::Activities;
use crate::advisory_locks::SessionLocks;
use crate::settings::Settings;

/// Makes the functions of a new session of a database that was opened at a time.
pub(crate) fn session_functions(
    settings: &Arc<Settings>,
    activities: &Arc<Activities>,
    locks: &Arc<SessionLocks>,
    opened: SystemTime,
) -> Vec<Arc<ScalarUDF>> {
    let mut functions = facts::functions(settings, opened);
    functions.extend(settings::functions(settings));
    functions.extend(advisory::functions(settings, locks));
    functions.extend(signals::functions(settings, activities));
    functions.push(Arc::new(ScalarUDF::new_from_impl(hash::Md5::new())));
    functions.push(Arc::new(ScalarUDF::new_from_impl(bytea::ToBytea::new())));
    functions.push(Arc::new(sleep::function()));
    functions.push(Arc::new(ScalarUDF::new_from_impl(types::TypeOf::new())));
    functions
}
