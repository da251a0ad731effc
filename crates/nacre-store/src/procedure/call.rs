//! Calls of procedures.

use std::sync::Arc;

use super::registry::Procedures;
use super::trace::CallTrace;
use crate::error::{Error, Result};
use crate::mvcc::{IsolationLevel, Transaction};
use crate::store::Store;
use crate::table::Table;
use crate::value::{Value, ValueRef};

impl Store {
    /// Returns the procedures that the database was opened with.
    pub fn procedures(&self) -> &Procedures {
        self.all_procedures()
    }

    /// Runs a procedure in a SERIALIZABLE transaction of its own, commits it, and returns what the
    /// procedure returned. The redo log gets the call instead of the changes; it gets these if the
    /// procedure was registered by [`Procedures::register_physical`], if it went on after a write
    /// that failed, or if a definition changed or a bulk load was published meanwhile. A call that
    /// changes nothing is not logged.
    ///
    /// There are no calls at weaker levels, since their commits have no order that replay could
    /// repeat: run the same code in a transaction of such a level, which logs its changes.
    ///
    /// # Errors
    /// [`Error::UnknownProcedure`]; what the procedure returns, such as [`Error::CallRefused`], and
    /// nothing is changed then; as for [`Transaction::commit`]. After
    /// [`Error::SerializationConflict`] the call may be tried again.
    pub fn call(&self, procedure: &str, arguments: &[ValueRef<'_>]) -> Result<Vec<Value>> {
        let unknown = || Error::UnknownProcedure { procedure: procedure.to_owned(), commit: None };
        let registered = self.all_procedures().get(procedure).ok_or_else(unknown)?;
        let raised = self.calls().begin();
        // What a session is defining is nobody else's.
        let mut transaction = self.for_everybody().begin(IsolationLevel::Serializable);
        let is_logged = registered.is_repeatable && self.is_durable();
        if let Some(raised) = raised.filter(|_| is_logged) {
            transaction.trace_call(CallTrace::note(procedure, arguments, raised));
        }
        let output = (registered.run)(&mut transaction, arguments)?;
        transaction.commit()?;
        Ok(output)
    }
}

impl Transaction {
    /// Returns the table called `name`.
    ///
    /// # Errors
    /// [`Error::UnknownTable`].
    pub fn table(&self, name: &str) -> Result<Arc<Table>> {
        self.store().table(name)
    }
}
