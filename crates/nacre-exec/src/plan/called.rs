//! Queries that are run for rows of arguments, as expressions ask for their values.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::error::{ExecError, ExecResult};
use crate::vector::ResultBatch;

/// Runs a query for rows of arguments, behind the number of each; returns rows of that number and
/// the value, in any order.
pub(crate) trait RowQuery: fmt::Debug + Send + Sync {
    /// Runs the query.
    ///
    /// # Errors
    /// Those of its operators.
    fn run(&self, arguments: ResultBatch) -> ExecResult<Vec<ResultBatch>>;
}

/// A query that expressions call, once its plan is being executed.
#[derive(Debug, Default)]
pub struct CalledQuery(Mutex<Option<Arc<dyn RowQuery>>>);

impl CalledQuery {
    /// Says what runs it.
    pub(crate) fn set(&self, query: Arc<dyn RowQuery>) {
        *self.lock() = Some(query);
    }

    /// Runs it.
    ///
    /// # Errors
    /// Those of the query.
    pub(crate) fn run(&self, arguments: ResultBatch) -> ExecResult<Vec<ResultBatch>> {
        let query = self.lock().clone();
        let missing = || ExecError::internal("a query is called before it is there");
        query.ok_or_else(missing)?.run(arguments)
    }

    fn lock(&self) -> MutexGuard<'_, Option<Arc<dyn RowQuery>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
