//! The store's tables as the front end's catalog.

use std::sync::Arc;

use async_trait::async_trait;
use datafusion::catalog::{CatalogProvider, SchemaProvider, TableProvider};
use datafusion::common::DataFusionError;
use nacre_store::Store;

use crate::names::SCHEMA;
use crate::scan::StoredTable;

/// The one catalog, `nacre`.
#[derive(Debug)]
pub(crate) struct StoreCatalog {
    schema: Arc<StoreSchema>,
}

/// The one schema, `public`.
#[derive(Debug)]
struct StoreSchema {
    store: Store,
}

impl StoreCatalog {
    pub(crate) fn new(store: Store) -> Self {
        Self { schema: Arc::new(StoreSchema { store }) }
    }
}

impl CatalogProvider for StoreCatalog {
    fn schema_names(&self) -> Vec<String> {
        vec![SCHEMA.into()]
    }

    fn schema(&self, name: &str) -> Option<Arc<dyn SchemaProvider>> {
        (name == SCHEMA).then(|| Arc::clone(&self.schema) as Arc<dyn SchemaProvider>)
    }
}

#[async_trait]
impl SchemaProvider for StoreSchema {
    fn table_names(&self) -> Vec<String> {
        self.store.tables().iter().map(|table| table.schema().name.clone()).collect()
    }

    async fn table(&self, name: &str) -> Result<Option<Arc<dyn TableProvider>>, DataFusionError> {
        Ok(self.store.table(name).ok().map(|table| {
            let provider: Arc<dyn TableProvider> = Arc::new(StoredTable::new(&table));
            provider
        }))
    }

    fn table_exist(&self, name: &str) -> bool {
        self.store.table(name).is_ok()
    }
}
