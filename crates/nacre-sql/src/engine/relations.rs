//! The tables of the database as a statement sees them.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;

use nacre_exec::lower::{StoredRelation, StoredRelations, column_sql_type};
use nacre_plan::definition::{RelationCatalog, RelationColumn, RelationDefinition, RelationId};
use nacre_plan::optimizer::{ColumnStatistics, RelationStatistics};
use nacre_store::{Error as StoreError, SEQUENCES_TABLE, Store, Table};

use super::statistics::TableChunkStatistics;
use crate::error::{Error, ErrorKind};
use crate::from_store::from_store;
use crate::names::SCHEMA;
use crate::privileges::Acting;
use crate::transaction::Moment;

/// Finds tables by name. Views and the tables of catalogs are read by the other engine alone.
pub(super) struct SnapshotRelations<'a> {
    store: &'a Store,
    moment: &'a Moment,
    acting: Acting,
    /// What was found, by their numbers.
    found: RefCell<Vec<(RelationId, Arc<Table>)>>,
    /// Chunks of tables that the optimizer has asked about.
    chunks: RefCell<HashMap<RelationId, Option<Rc<TableChunkStatistics>>>>,
    statistics: RefCell<HashMap<(RelationId, usize), ColumnStatistics>>,
    /// Why a relation may not be read.
    refused: RefCell<Option<Error>>,
}

impl<'a> SnapshotRelations<'a> {
    pub(super) fn new(store: &'a Store, moment: &'a Moment, acting: Acting) -> Self {
        let (found, chunks, statistics, refused) = Default::default();
        Self { store, moment, acting, found, chunks, statistics, refused }
    }

    /// Returns why a relation may not be read, if one may not.
    pub(super) fn refused(&self) -> Option<Error> {
        self.refused.borrow_mut().take()
    }

    /// Returns a table that was found.
    pub(super) fn table(&self, id: RelationId) -> Option<Arc<Table>> {
        let found = self.found.borrow();
        found.iter().find(|(own, _)| *own == id).map(|(_, table)| Arc::clone(table))
    }

    fn chunks(&self, id: RelationId) -> Option<Rc<TableChunkStatistics>> {
        let of_table = || {
            let snapshot = self.table(id)?.seen_at(self.moment.snapshot()).ok()?;
            Some(Rc::new(TableChunkStatistics::of(&snapshot)))
        };
        self.chunks.borrow_mut().entry(id).or_insert_with(of_table).clone()
    }

    fn find(&self, name: &str) -> Result<Option<Arc<RelationDefinition>>, Error> {
        self.acting.require_read(self.store, name)?;
        let table = match self.store.table_at(name, self.moment.snapshot()) {
            Ok(table) if name != SEQUENCES_TABLE => table,
            Err(error @ StoreError::DefinitionChanged { .. }) => return Err(from_store(error)),
            _ => return Ok(None),
        };
        let schema = table.schema();
        let mut columns = Vec::with_capacity(schema.columns.len());
        for column in &schema.columns {
            let sql_type = column_sql_type(column.column_type).map_err(|error| {
                let message = format!("column {} of {name}: {error}", column.name);
                Error::new(ErrorKind::Internal, message)
            })?;
            let (name, is_nullable) = (column.name.clone(), column.is_nullable);
            columns.push(RelationColumn { name, sql_type, is_nullable });
        }
        let id = RelationId(table.id().number());
        self.found.borrow_mut().push((id, Arc::clone(&table)));
        Ok(Some(Arc::new(RelationDefinition {
            id,
            schema: SCHEMA.to_owned(),
            name: name.to_owned(),
            columns,
            primary_key: schema.primary_key.clone().unwrap_or_default(),
        })))
    }
}

impl RelationCatalog for SnapshotRelations<'_> {
    fn find_relation(&self, schema: Option<&str>, name: &str) -> Option<Arc<RelationDefinition>> {
        // Without a schema, names of the catalogs come first.
        let is_other = match schema {
            Some(schema) => schema != SCHEMA,
            None => name.starts_with("pg_"),
        };
        if is_other {
            return None;
        }
        self.find(name).unwrap_or_else(|error| {
            *self.refused.borrow_mut() = Some(error);
            None
        })
    }
}

impl RelationStatistics for SnapshotRelations<'_> {
    fn row_count(&self, relation: RelationId) -> Option<u64> {
        Some(self.table(relation)?.seen_at(self.moment.snapshot()).ok()?.rows())
    }

    fn column(&self, relation: RelationId, position: usize) -> ColumnStatistics {
        let look_up = || {
            let (table, chunks) = (self.table(relation)?, self.chunks(relation)?);
            let column_type = table.schema().columns.get(position)?.column_type;
            Some(chunks.column(position, column_type))
        };
        let mut known = self.statistics.borrow_mut();
        let known = known.entry((relation, position));
        known.or_insert_with(|| look_up().unwrap_or_default()).clone()
    }
}

impl StoredRelations for SnapshotRelations<'_> {
    fn stored_relation(&self, relation: RelationId) -> Option<StoredRelation> {
        let table = self.table(relation)?;
        let columns = (0..table.schema().columns.len()).collect();
        match table.seen_at(self.moment.snapshot()) {
            Ok(snapshot) => Some(StoredRelation { snapshot, columns }),
            Err(error) => {
                *self.refused.borrow_mut() = Some(from_store(error));
                None
            }
        }
    }
}
