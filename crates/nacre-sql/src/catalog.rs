//! The store's tables, and the views over the engine, as the front end's catalog.

use std::sync::Arc;

use async_trait::async_trait;
use datafusion::catalog::{CatalogProvider, SchemaProvider, TableProvider};
use datafusion::common::DataFusionError;
use nacre_store::{Error as StoreError, SEQUENCES_TABLE, Store};

use crate::from_store::from_store;
use crate::names::{SCHEMA, STATEMENT_SCHEMA, SYSTEM_SCHEMA};
use crate::pg_catalog::{CatalogSchema, Catalogs, INFORMATION_SCHEMA, PG_CATALOG};
use crate::privileges::Acting;
use crate::scan::StoredTable;
use crate::transaction::Moment;
use crate::user_views::PlannedViews;
use crate::views::SystemSchema;

/// The one catalog, `nacre`, as one statement sees it.
#[derive(Debug)]
pub(crate) struct StoreCatalog {
    schema: Arc<StoreSchema>,
    system: Arc<SystemSchema>,
    postgres: Arc<CatalogSchema>,
    information: Arc<CatalogSchema>,
    own: Arc<StatementSchema>,
}

/// The schema of the users' tables, `public`.
#[derive(Debug)]
struct StoreSchema {
    store: Store,
    moment: Arc<Moment>,
    views: PlannedViews,
    /// Who looks names up.
    acting: Acting,
    /// Where names are looked for that no table has.
    system: Arc<SystemSchema>,
    /// Where names are looked for first.
    postgres: Arc<CatalogSchema>,
}

/// Tables that are there for one statement.
#[derive(Debug)]
struct StatementSchema(Vec<(&'static str, Arc<dyn TableProvider>)>);

impl StoreCatalog {
    pub(crate) fn new(
        store: Store,
        moment: Arc<Moment>,
        (acting, views): (Acting, PlannedViews),
        catalogs: Catalogs,
        own: Vec<(&'static str, Arc<dyn TableProvider>)>,
    ) -> Self {
        let system = Arc::new(SystemSchema::new(store.clone()));
        let postgres = Arc::new(catalogs.postgres());
        let information = Arc::new(catalogs.information());
        let schema = Arc::new(StoreSchema {
            store,
            moment,
            views,
            acting,
            system: Arc::clone(&system),
            postgres: Arc::clone(&postgres),
        });
        Self { schema, system, postgres, information, own: Arc::new(StatementSchema(own)) }
    }
}

impl CatalogProvider for StoreCatalog {
    fn schema_names(&self) -> Vec<String> {
        vec![SCHEMA.into(), SYSTEM_SCHEMA.into(), PG_CATALOG.into(), INFORMATION_SCHEMA.into()]
    }

    fn schema(&self, name: &str) -> Option<Arc<dyn SchemaProvider>> {
        match name {
            SCHEMA => Some(Arc::clone(&self.schema) as Arc<dyn SchemaProvider>),
            SYSTEM_SCHEMA => Some(Arc::clone(&self.system) as Arc<dyn SchemaProvider>),
            INFORMATION_SCHEMA => Some(Arc::clone(&self.information) as Arc<dyn SchemaProvider>),
            PG_CATALOG => Some(Arc::clone(&self.postgres) as Arc<dyn SchemaProvider>),
            STATEMENT_SCHEMA => Some(Arc::clone(&self.own) as Arc<dyn SchemaProvider>),
            _ => None,
        }
    }
}

#[async_trait]
impl SchemaProvider for StatementSchema {
    fn table_names(&self) -> Vec<String> {
        self.0.iter().map(|(name, _)| (*name).to_owned()).collect()
    }

    async fn table(&self, name: &str) -> Result<Option<Arc<dyn TableProvider>>, DataFusionError> {
        let found = self.0.iter().find(|(known, _)| *known == name);
        Ok(found.map(|(_, table)| Arc::clone(table)))
    }

    fn table_exist(&self, name: &str) -> bool {
        self.0.iter().any(|(known, _)| *known == name)
    }
}

#[async_trait]
impl SchemaProvider for StoreSchema {
    fn table_names(&self) -> Vec<String> {
        let tables = self.store.tables();
        let tables = tables.iter().map(|table| table.schema().name.clone());
        let views = self.store.views();
        let views = views.iter().map(|view| view.name.clone());
        tables.filter(|name| name != SEQUENCES_TABLE).chain(views).collect()
    }

    async fn table(&self, name: &str) -> Result<Option<Arc<dyn TableProvider>>, DataFusionError> {
        if let Some(table) = self.postgres.find(name) {
            return Ok(Some(table));
        }
        if !self.views.is_inside() {
            let asked = self.acting.require_read(&self.store, name);
            asked.map_err(|error| DataFusionError::External(Box::new(error)))?;
        }
        let changed = |error| DataFusionError::External(Box::new(from_store(error)));
        Ok(match self.store.table_at(name, self.moment.snapshot()) {
            Ok(_) if name == SEQUENCES_TABLE => None,
            Ok(table) => Some(Arc::new(StoredTable::new(&table, &self.moment).map_err(changed)?)),
            Err(error @ StoreError::DefinitionChanged { .. }) => return Err(changed(error)),
            Err(_) => self.views.get(name).or_else(|| self.system.view(name)),
        })
    }

    fn table_exist(&self, name: &str) -> bool {
        let is_table = name != SEQUENCES_TABLE && self.store.table(name).is_ok();
        is_table || self.store.view(name).is_some() || self.system.view(name).is_some()
    }
}
