//! The tables of the database as a statement sees them.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;

use nacre_exec::lower::{GivenRows, StoredRelation, StoredRelations, column_sql_type};
use nacre_plan::definition::{
    RelationCatalog, RelationColumn, RelationDefinition, RelationId, ViewColumnName,
    ViewDefinition, ViewReader,
};
use nacre_plan::optimizer::{ColumnStatistics, RelationStatistics};
use nacre_store::{Error as StoreError, SEQUENCES_TABLE, Store, Table, ViewColumn, ViewDef};
use nacre_syntax::{Statement, parse_statement};

use super::statistics::StoredTableStatistics;
use crate::error::{Error, ErrorKind};
use crate::from_store::from_store;
use crate::names::{SCHEMA, SYSTEM_SCHEMA};
use crate::pg_catalog::{SessionCatalog, virtual_table, virtual_table_of};
use crate::privileges::{Acting, SELECT};
use crate::settings::ScanSettings;
use crate::transaction::Moment;

/// Longest text of a view that is parsed here.
const VIEW_BYTES_MAX: usize = 16 << 10;

/// Tables that were found, by their numbers.
pub(super) type FoundTables = Vec<(RelationId, Arc<Table>)>;

/// Finds tables, views and catalogs by name.
pub(super) struct SnapshotRelations<'a> {
    store: &'a Store,
    moment: &'a Moment,
    acting: Acting,
    scans: ScanSettings,
    /// What was found, by their numbers.
    found: RefCell<FoundTables>,
    /// What the catalogs answer.
    catalog: Arc<SessionCatalog>,
    /// Virtual tables that were found.
    virtual_tables: RefCell<Vec<Arc<RelationDefinition>>>,
    /// Why the role may not run a query that is bound.
    denied: RefCell<Option<Error>>,
    /// Rows that the statement has at hand.
    given: RefCell<Option<(RelationId, Arc<GivenRows>)>>,
    /// Statistics of tables that the optimizer has asked about.
    tables: RefCell<HashMap<RelationId, Option<Rc<StoredTableStatistics>>>>,
    columns: RefCell<HashMap<(RelationId, usize), ColumnStatistics>>,
    /// Why a relation may not be read.
    refused: RefCell<Option<Error>>,
}

impl<'a> SnapshotRelations<'a> {
    pub(super) fn new(
        store: &'a Store,
        moment: &'a Moment,
        acting: Acting,
        scans: ScanSettings,
        catalog: Arc<SessionCatalog>,
    ) -> Self {
        Self {
            store,
            moment,
            acting,
            scans,
            found: RefCell::default(),
            catalog,
            virtual_tables: RefCell::default(),
            denied: RefCell::default(),
            given: RefCell::default(),
            tables: RefCell::default(),
            columns: RefCell::default(),
            refused: RefCell::default(),
        }
    }

    /// Returns the tables that were found, for those who plan a part of the statement later.
    pub(super) fn found_tables(&self) -> FoundTables {
        self.found.borrow().clone()
    }

    /// Has tables be known that were found before.
    pub(super) fn know(&self, found: &FoundTables) {
        self.found.borrow_mut().extend(found.iter().cloned());
    }

    /// Has a relation consist of rows that are at hand.
    pub(super) fn give(&self, relation: RelationId, rows: GivenRows) {
        *self.given.borrow_mut() = Some((relation, Arc::new(rows)));
    }

    /// Returns why a relation may not be read, if one may not.
    pub(super) fn refused(&self) -> Option<Error> {
        self.refused.borrow_mut().take()
    }

    /// Returns why the role may not run a query that is bound, if it may not.
    pub(super) fn denied(&self) -> Option<Error> {
        self.denied.borrow_mut().take()
    }

    /// Finds a virtual table.
    fn find_virtual(&self, schema: Option<&str>, name: &str) -> Option<Arc<RelationDefinition>> {
        let table = virtual_table(schema, name)?;
        if let Err(error) = self.catalog.require_read(&table.schema, &table.name) {
            *self.denied.borrow_mut() = Some(error);
        }
        self.virtual_tables.borrow_mut().push(Arc::clone(&table));
        Some(table)
    }

    /// Finds a sequence, which is a table of one row.
    fn find_sequence(&self, schema: Option<&str>, name: &str) -> Option<Arc<RelationDefinition>> {
        if !is_of_users(schema) || self.store.sequence(name).is_err() {
            return None;
        }
        if let Err(error) = self.acting.require_sequence(self.store, name, SELECT) {
            *self.denied.borrow_mut() = Some(error);
        }
        let table = self.catalog.sequence_table(name)?;
        self.virtual_tables.borrow_mut().push(Arc::clone(&table));
        Some(table)
    }

    fn virtual_definition(&self, id: RelationId) -> Option<Arc<RelationDefinition>> {
        let mut tables = self.virtual_tables.borrow_mut();
        if let Some(found) = tables.iter().find(|table| table.id == id) {
            return Some(Arc::clone(found));
        }
        // Another part of the statement found it.
        let table = virtual_table_of(id)?;
        tables.push(Arc::clone(&table));
        Some(table)
    }

    /// Returns a table that was found.
    pub(super) fn table(&self, id: RelationId) -> Option<Arc<Table>> {
        let found = self.found.borrow();
        found.iter().find(|(own, _)| *own == id).map(|(_, table)| Arc::clone(table))
    }

    fn table_statistics(&self, id: RelationId) -> Option<Rc<StoredTableStatistics>> {
        let of_table = || {
            let snapshot = self.table(id)?.seen_at(self.moment.snapshot()).ok()?;
            Some(Rc::new(StoredTableStatistics::of(&snapshot)))
        };
        self.tables.borrow_mut().entry(id).or_insert_with(of_table).clone()
    }

    /// Checks that a relation of users may be read, by name; notes why if it may not. A view is
    /// checked with all that it reads, so that names within its query need no check.
    fn may_read(&self, schema: Option<&str>, name: &str) -> bool {
        if !is_of_users(schema) {
            return false;
        }
        let checked = self.acting.require_read(self.store, name);
        checked.map_err(|error| *self.refused.borrow_mut() = Some(error)).is_ok()
    }

    /// Finds a relation of any schema. Without one, names are looked for in PostgreSQL's catalogs,
    /// then among those of users, then among Nacre's own views.
    fn find_of_all(
        &self,
        schema: Option<&str>,
        name: &str,
        find_of_users: impl Fn() -> Option<Arc<RelationDefinition>>,
    ) -> Option<Arc<RelationDefinition>> {
        if let Some(table) = self.find_virtual(schema, name) {
            return Some(table);
        }
        let is_taken = || self.store.view(name).is_some() || self.refused.borrow().is_some();
        let found = find_of_users().or_else(|| self.find_sequence(schema, name));
        found.or_else(|| {
            let is_own = schema.is_none() && !is_taken();
            if is_own { self.find_virtual(Some(SYSTEM_SCHEMA), name) } else { None }
        })
    }

    fn found(&self, name: &str) -> Option<Arc<RelationDefinition>> {
        self.find(name).unwrap_or_else(|error| {
            *self.refused.borrow_mut() = Some(error);
            None
        })
    }

    fn find(&self, name: &str) -> Result<Option<Arc<RelationDefinition>>, Error> {
        let table = match self.store.table_at(name, self.moment.snapshot()) {
            Ok(table) if name != SEQUENCES_TABLE => table,
            Err(error @ StoreError::DefinitionChanged { .. }) => return Err(from_store(error)),
            _ => return Ok(None),
        };
        let definition = table_definition(&table)?;
        self.found.borrow_mut().push((definition.id, Arc::clone(&table)));
        Ok(Some(Arc::new(definition)))
    }
}

/// Returns a table as queries name it.
///
/// # Errors
/// `Internal`, of types that columns do not have.
pub(super) fn table_definition(table: &Table) -> Result<RelationDefinition, Error> {
    let schema = table.schema();
    let mut columns = Vec::with_capacity(schema.columns.len());
    for column in &schema.columns {
        let sql_type = column_sql_type(column.column_type).map_err(|error| {
            let message = format!("column {} of {}: {error}", column.name, schema.name);
            Error::new(ErrorKind::Internal, message)
        })?;
        let (name, is_nullable) = (column.name.clone(), column.is_nullable);
        columns.push(RelationColumn { name, sql_type, is_nullable });
    }
    Ok(RelationDefinition {
        id: RelationId(table.id().number()),
        schema: SCHEMA.to_owned(),
        name: schema.name.clone(),
        columns,
        primary_key: schema.primary_key.clone().unwrap_or_default(),
        table_oid: None,
    })
}

impl RelationCatalog for SnapshotRelations<'_> {
    fn find_relation(&self, schema: Option<&str>, name: &str) -> Option<Arc<RelationDefinition>> {
        let find = || if self.may_read(schema, name) { self.found(name) } else { None };
        self.find_of_all(schema, name, find)
    }

    fn find_relation_of_view(
        &self,
        schema: Option<&str>,
        name: &str,
    ) -> Option<Arc<RelationDefinition>> {
        let find = || if is_of_users(schema) { self.found(name) } else { None };
        self.find_of_all(schema, name, find)
    }

    fn find_view(
        &self,
        schema: Option<&str>,
        name: &str,
        reader: ViewReader,
    ) -> Option<Arc<ViewDefinition>> {
        let is_reachable = match reader {
            ViewReader::Query => self.may_read(schema, name),
            ViewReader::View => is_of_users(schema),
        };
        // A table of the name that cannot be read now is no view.
        if !is_reachable || self.refused.borrow().is_some() {
            return None;
        }
        let view = self.store.view(name)?;
        let definition = view_definition(&view);
        if definition.is_none() {
            let what = format_args!("the query of view {name} in Nacre's own engine");
            *self.refused.borrow_mut() = Some(Error::not_supported(what));
        }
        definition.map(Arc::new)
    }
}

/// Whether names with that schema, or without one, may be those of users' relations.
pub(super) fn is_of_users(schema: Option<&str>) -> bool {
    schema.is_none_or(|schema| schema == SCHEMA)
}

/// Parses a view; `None` if its text may have another meaning here: it was printed by the other
/// parser, which reads escapes within strings in its own way.
pub(super) fn view_definition(view: &ViewDef) -> Option<ViewDefinition> {
    if view.text.len() > VIEW_BYTES_MAX || view.text.contains('\\') {
        return None;
    }
    let Statement::Query(query) = parse_statement(&view.text).ok()?? else { return None };
    let column = |column: &ViewColumn| ViewColumnName {
        name: column.name.clone(),
        source: column.source.clone(),
    };
    let columns = view.columns.iter().map(column).collect();
    let (schema, name) = (SCHEMA.to_owned(), view.name.clone());
    Some(ViewDefinition { schema, name, query: *query, columns })
}

impl RelationStatistics for SnapshotRelations<'_> {
    fn row_count(&self, relation: RelationId) -> Option<u64> {
        if let Some(table) = self.virtual_definition(relation) {
            return u64::try_from(self.catalog.row_count(&table)).ok();
        }
        self.table_statistics(relation).map(|statistics| statistics.rows())
    }

    fn column(&self, relation: RelationId, position: usize) -> ColumnStatistics {
        let look_up = || {
            let column_type = self.table(relation)?.schema().columns.get(position)?.column_type;
            Some(self.table_statistics(relation)?.column(position, column_type))
        };
        let mut known = self.columns.borrow_mut();
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

    fn given_rows(&self, relation: RelationId, positions: &[usize]) -> Option<Arc<GivenRows>> {
        if let Some(table) = self.virtual_definition(relation) {
            return Some(Arc::new(self.catalog.given_rows(&table, positions)));
        }
        let given = self.given.borrow();
        given.as_ref().filter(|(own, _)| *own == relation).map(|(_, rows)| Arc::clone(rows))
    }

    fn restricts_scans(&self) -> bool {
        self.scans.restricts_scans
    }
}
