//! Changes of a table's definition.
//!
//! Names and defaults change in the definition alone ([`Store::redefine_table`]). Whatever changes
//! what rows are, or must be, writes the table anew ([`Rewrite`]): into a table of its own, that
//! nobody sees, by a bulk load; one record of the manifest then puts it in the old one's place.
//!
//! # Invariants
//! 1. While a table is rewritten it takes no writes: transactions that wrote it before and have
//!    not committed are refused at commit, others when they write. So no change is lost.
//! 2. A crash leaves the old table or the new one. What was loaded for a new one that was not
//!    published belongs to no table, and its files are removed when the database is next opened.
//! 3. Readers never wait: they go on with the table that they have. A snapshot older than the
//!    rewrite does not see the new table, and is told so.

use std::sync::Arc;

use crate::error::{Error, Result};
use crate::load::Load;
use crate::manifest::Record;
use crate::mvcc::{Change, NOBODY};
use crate::rules::TableRules;
use crate::schema::TableSchema;
use crate::store::Store;
use crate::table::Table;

/// A table that is being written anew; dropping it leaves the old one as it was.
#[derive(Debug)]
pub struct Rewrite {
    store: Store,
    old: Arc<Table>,
    new: Arc<Table>,
    rules: TableRules,
}

impl Rewrite {
    /// Begins to load the new table.
    ///
    /// # Errors
    /// As for [`Store::begin_load`].
    pub fn begin_load(&self) -> Result<Load> {
        self.store.begin_load(&self.new)
    }

    /// Puts the new table, whose load is committed, in the place of the old one.
    ///
    /// # Errors
    /// [`Error::UnknownTable`] if the old one was dropped meanwhile; no space, I/O.
    pub fn publish(self) -> Result<()> {
        let Self { store, old, new, rules } = &self;
        let schema = TableSchema::clone(&new.schema());
        let record = Record::TableReplaced {
            old: old.id(),
            table: new.id(),
            schema: schema.clone(),
            rules: rules.clone(),
        };
        let unknown = || Error::UnknownTable { table: schema.name.clone() };
        let check = || match old.is_dropped() {
            true => Err(unknown()),
            false => Ok(vec![record]),
        };
        store.record(check, || {
            // Whoever has an older snapshot does not see its load either.
            new.set_visible_from(store.all_transactions().now());
            store.with_tables(|tables| {
                tables.remove(&old.schema().name);
                tables.insert(schema.name.clone(), Arc::clone(new));
            });
            old.drop_loads();
        })
    }
}

impl Drop for Rewrite {
    fn drop(&mut self) {
        // One that was replaced is dropped by now, and takes no writes for that.
        self.old.set_closed(false);
    }
}

impl Store {
    /// Changes names and defaults of a table, and takes checks from it.
    ///
    /// # Errors
    /// [`Error::TableExists`] if another table has the new name; [`Error::UnknownTable`] if the
    /// table was dropped; [`Error::InvalidDefinition`], also for other changes;
    /// [`Error::ReadOnly`], no space, I/O.
    pub fn redefine_table(
        &self,
        table: &Arc<Table>,
        schema: TableSchema,
        rules: TableRules,
    ) -> Result<()> {
        self.require_writable()?;
        let invalid = |reason| Error::InvalidDefinition { reason };
        schema.validate().and_then(|()| rules.validate(&schema)).map_err(invalid)?;
        let old = table.schema();
        if !is_same_but_for_names(&old, &schema) {
            return Err(invalid(format!("table {:?} has to be written anew for that", old.name)));
        }
        let record = Record::TableDefined {
            table: table.id(),
            schema: schema.clone(),
            rules: rules.clone(),
        };
        let is_renamed = old.name != schema.name;
        let check = || match self.table(&schema.name) {
            Ok(_) if is_renamed => Err(Error::TableExists { table: schema.name.clone() }),
            _ if table.is_dropped() => Err(Error::UnknownTable { table: old.name.clone() }),
            _ => table.require_unclaimed().map(|()| vec![record]),
        };
        self.record(check, || {
            self.with_tables(|tables| {
                tables.remove(&old.name);
                tables.insert(schema.name.clone(), Arc::clone(table));
            });
            table.redefine(schema.clone(), rules);
        })
    }

    /// Begins to write a table anew, with another definition. From now on until it ends the table
    /// takes no writes; what a transaction that begins now sees of it is all there is.
    ///
    /// # Errors
    /// [`Error::SerializationConflict`] if it is being rewritten; [`Error::UnknownTable`],
    /// [`Error::InvalidDefinition`], [`Error::ReadOnly`].
    pub fn begin_rewrite(
        &self,
        table: &Arc<Table>,
        schema: TableSchema,
        rules: TableRules,
    ) -> Result<Rewrite> {
        self.require_writable()?;
        schema
            .validate()
            .and_then(|()| rules.validate(&schema))
            .map_err(|reason| Error::InvalidDefinition { reason })?;
        table.require_unclaimed()?;
        let new = self.new_table(schema, &rules);
        if table.set_closed(true) {
            return Err(table.closed_error());
        }
        let rewrite = Rewrite { store: self.clone(), old: Arc::clone(table), new, rules };
        // Who wrote the table and looked before it was closed has a place among the commits by
        // now, or one among the loads; a commit behind them waits until they are seen.
        self.behind_loads(|| {
            let order = |_| Ok((NOBODY, Change::Load(Arc::clone(table)), None));
            self.all_transactions().commit(None, order, |()| Ok(()))
        })?;
        match table.is_dropped() {
            true => Err(Error::UnknownTable { table: table.schema().name.clone() }),
            false => Ok(rewrite),
        }
    }
}

/// Whether rows of one definition are rows of the other.
fn is_same_but_for_names(old: &TableSchema, new: &TableSchema) -> bool {
    let is_same = |(old, new): (&crate::schema::ColumnDef, &crate::schema::ColumnDef)| {
        old.column_type == new.column_type
            && old.is_nullable == new.is_nullable
            && old.replicas == new.replicas
    };
    old.columns.len() == new.columns.len()
        && old.columns.iter().zip(&new.columns).all(is_same)
        && old.primary_key == new.primary_key
        && old.replicas == new.replicas
}
