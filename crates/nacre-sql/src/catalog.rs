//! The store's tables, and the views over the engine, as the front end's catalog.

use std::sync::Arc;

use async_trait::async_trait;
use datafusion::catalog::{CatalogProvider, SchemaProvider, TableProvider};
use datafusion::common::DataFusionError;
use nacre_store::Store;

use crate::names::{SCHEMA, SYSTEM_SCHEMA};
use crate::scan::StoredTable;
use crate::views::SystemSchema;

/// The one catalog, `nacre`.
#[derive(Debug)]
pub(crate) struct StoreCatalog {
    schema: Arc<StoreSchema>,
    system: Arc<SystemSchema>,
}

/// The schema of the users' tables, `public`.
#[derive(Debug)]
struct StoreSchema {
    store: Store,
    /// Where names are looked for that no table has.
    system: Arc<SystemSchema>,
}

impl StoreCatalog {
    pub(crate) fn new(store: Store) -> Self {
        let system = Arc::new(SystemSchema::new(store.clone()));
        let schema = Arc::new(StoreSchema { store, system: Arc::clone(&system) });
        Self { schema, system }
    }
}

impl CatalogProvider for StoreCatalog {
    fn schema_names(&self) -> Vec<String> {
        vec![SCHEMA.into(), SYSTEM_SCHEMA.into()]
    }

    fn schema(&self, name: &str) -> Option<Arc<dyn SchemaProvider>> {
        match name {
            SCHEMA => Some(Arc::clone(&self.schema) as Arc<dyn SchemaProvider>),
            SYSTEM_SCHEMA => Some(Arc::clone(&self.system) as Arc<dyn SchemaProvider>),
            _ => None,
        }
    }
}

#[async_trait]
impl SchemaProvider for StoreSchema {
    fn table_names(&self) -> Vec<String> {
        self.store.tables().iter().map(|table| table.schema().name.clone()).collect()
    }

    async fn table(&self, name: &str) -> Result<Option<Arc<dyn TableProvider>>, DataFusionError> {
        Ok(match self.store.table(name) {
            Ok(table) => Some(Arc::new(StoredTable::new(&table))),
            Err(_) => self.system.view(name),
        })
    }

    fn table_exist(&self, name: &str) -> bool {
        self.store.table(name).is_ok() || self.system.view(name).is_some()
    }
}
