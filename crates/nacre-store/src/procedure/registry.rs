//! The procedures that whoever opens a database brings along.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::fmt;
use std::sync::Arc;

use crate::error::{Error, Result};
use crate::mvcc::Transaction;
use crate::schema::check_name;
use crate::value::{Value, ValueRef};

/// A procedure: reads and writes through the transaction that it is given, and returns what its
/// caller is to get.
pub type Procedure = dyn Fn(&mut Transaction, &[ValueRef<'_>]) -> Result<Vec<Value>> + Send + Sync;

/// A procedure and how its calls are logged.
#[derive(Clone)]
pub(crate) struct Registered {
    pub(crate) run: Arc<Procedure>,
    pub(crate) is_repeatable: bool,
}

/// Procedures by name, for [`crate::OpenOptions::procedures`].
///
/// What a repeatable procedure does has to follow from its arguments and from what it reads through
/// its transaction, since it is run again when the redo log is replayed. So it must not
/// - look at clocks, random numbers, environment, files, or anything else that changes,
/// - draw from a sequence, or use the store in any way but through its transaction,
/// - keep row ids, or depend on the order of rows that have the same key or come from a scan,
/// - go on after the read of a damaged block.
///
/// A change that it made in another way at replay is noticed, and the database is not opened by
/// that program. What was only computed differently and written nowhere does no harm. A procedure
/// that cannot promise this is registered by [`Procedures::register_physical`]. After an upgrade of
/// the program a procedure has to do the same with the calls that are in the log: checkpoint with
/// the old program first, or give the new one another name and keep the old one.
///
/// ```
/// use nacre_store::{OpenOptions, Procedures, Store, Value, ValueRef};
///
/// # fn main() -> nacre_store::Result<()> {
/// let mut procedures = Procedures::default();
/// procedures.register("add_event", |transaction, arguments| {
///     let events = transaction.table("events")?;
///     transaction.insert(&events, arguments)?;
///     Ok(vec![Value::Int(1)])
/// })?;
/// let store = Store::open(OpenOptions { procedures, ..OpenOptions::default() })?;
/// # use nacre_store::{ColumnDef, TableSchema};
/// # store.create_table(TableSchema {
/// #     name: "events".into(),
/// #     columns: vec![ColumnDef {
/// #         name: "what".into(),
/// #         column_type: nacre_column::ColumnType::BigInt,
/// #         is_nullable: false,
/// #         replicas: None,
/// #     }],
/// #     primary_key: None,
/// #     primary_key_name: String::new(),
/// #     replicas: None,
/// # })?;
/// assert_eq!(store.call("add_event", &[ValueRef::Int(7)])?, [Value::Int(1)]);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Default)]
pub struct Procedures {
    by_name: Arc<BTreeMap<String, Registered>>,
}

impl Procedures {
    /// Adds a procedure whose calls are logged as such.
    ///
    /// # Errors
    /// [`Error::InvalidDefinition`] if there is one of that name, or the name is none.
    pub fn register<F>(&mut self, name: &str, procedure: F) -> Result<()>
    where
        F: Fn(&mut Transaction, &[ValueRef<'_>]) -> Result<Vec<Value>> + Send + Sync + 'static,
    {
        self.add(name, Registered { run: Arc::new(procedure), is_repeatable: true })
    }

    /// Adds a procedure that may do something else if it is run again: its changes are logged.
    ///
    /// # Errors
    /// As for [`Procedures::register`].
    pub fn register_physical<F>(&mut self, name: &str, procedure: F) -> Result<()>
    where
        F: Fn(&mut Transaction, &[ValueRef<'_>]) -> Result<Vec<Value>> + Send + Sync + 'static,
    {
        self.add(name, Registered { run: Arc::new(procedure), is_repeatable: false })
    }

    fn add(&mut self, name: &str, registered: Registered) -> Result<()> {
        check_name("procedure", name).map_err(|reason| Error::InvalidDefinition { reason })?;
        match Arc::make_mut(&mut self.by_name).entry(name.to_owned()) {
            Entry::Vacant(vacant) => {
                vacant.insert(registered);
                Ok(())
            }
            Entry::Occupied(_) => {
                let reason = format!("procedure \"{name}\" is registered twice");
                Err(Error::InvalidDefinition { reason })
            }
        }
    }

    /// Returns the names in order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.by_name.keys().map(String::as_str)
    }

    pub(crate) fn get(&self, name: &str) -> Option<&Registered> {
        self.by_name.get(name)
    }
}

impl fmt::Debug for Procedures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.names()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_names() {
        let mut procedures = Procedures::default();
        procedures.register("a", |_, _| Ok(Vec::new())).unwrap();
        let before = procedures.clone();
        for name in ["a", "", "a\0b", &"x".repeat(64)] {
            let added = procedures.register_physical(name, |_, _| Ok(Vec::new()));
            assert!(matches!(added, Err(Error::InvalidDefinition { .. })), "{name:?}");
        }
        procedures.register_physical("b", |_, _| Ok(Vec::new())).unwrap();
        assert_eq!(format!("{procedures:?} {before:?}"), "{\"a\", \"b\"} {\"a\"}");
    }
}
