//! The schemas `pg_catalog` and `information_schema`.

use std::fmt;
use std::sync::Arc;
use std::time::SystemTime;

use async_trait::async_trait;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::catalog::{SchemaProvider, Session, TableProvider};
use datafusion::common::{DataFusionError, Result};
use datafusion::datasource::memory::MemorySourceConfig;
use datafusion::logical_expr::{Expr, TableType};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::sql::sqlparser::ast::ObjectName;
use nacre_column::ColumnType;
use nacre_store::{AccessState, Store};

use super::cells::{Column, Row, batch, columns, data_type, schema};
use super::objects::Objects;
use super::session_catalog::SessionCatalog;
use super::{
    activity_rows, fixed, information_columns, information_rows, lock_rows, pg_columns,
    relation_rows, roles, statistics_rows, type_rows, view_rows,
};
use crate::activity::Activities;
use crate::advisory_locks::{AdvisoryLocks, SessionLocks};
use crate::names::{CATALOG, fold};
use crate::sequences::Given;
use crate::settings::Settings;
use crate::types::stored_type;

/// Names of the schemas.
pub(crate) const PG_CATALOG: &str = "pg_catalog";
pub(crate) const INFORMATION_SCHEMA: &str = "information_schema";

/// What the catalogs tell of.
#[derive(Clone)]
pub(crate) struct Catalogs {
    store: Store,
    settings: Arc<Settings>,
    sources: CatalogSources,
}

/// What catalogs show, and functions of the system ask, beside the store and the settings.
#[derive(Clone)]
pub(crate) struct CatalogSources {
    pub(crate) activities: Arc<Activities>,
    pub(crate) advisory_locks: Arc<AdvisoryLocks>,
    /// When the database was opened.
    pub(crate) opened: SystemTime,
    /// What the session drew of sequences.
    pub(crate) given: Arc<Given>,
    /// The advisory locks of the session.
    pub(crate) session_locks: Arc<SessionLocks>,
}

/// One of the schemas.
#[derive(Clone)]
pub(crate) struct CatalogSchema {
    catalogs: Catalogs,
    is_information: bool,
}

impl Catalogs {
    pub(crate) fn new(store: Store, settings: Arc<Settings>, sources: CatalogSources) -> Self {
        Self { store, settings, sources }
    }

    pub(super) fn store(&self) -> &Store {
        &self.store
    }

    pub(super) fn settings(&self) -> &Settings {
        &self.settings
    }

    pub(super) fn sources(&self) -> &CatalogSources {
        &self.sources
    }

    /// Returns roles, owners and grants.
    pub(super) fn access(&self) -> Arc<AccessState> {
        self.store.access()
    }

    /// Returns the users' objects.
    pub(super) fn objects(&self) -> Objects {
        Objects::of(&self.store)
    }

    /// Returns `pg_catalog`.
    pub(crate) fn postgres(&self) -> CatalogSchema {
        CatalogSchema { catalogs: self.clone(), is_information: false }
    }

    /// Returns `information_schema`.
    pub(crate) fn information(&self) -> CatalogSchema {
        CatalogSchema { catalogs: self.clone(), is_information: true }
    }
}

impl fmt::Debug for CatalogSchema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.is_information { INFORMATION_SCHEMA } else { PG_CATALOG })
    }
}

/// The rows of `pg_get_keywords()`; nothing lists it.
const KEYWORDS: (u32, &str, &str) =
    (0, "pg_get_keywords", "word text, catcode char, barelabel bool, catdesc text, baredesc text");

/// One of the tables.
#[derive(Debug)]
struct CatalogTable {
    of: CatalogSchema,
    name: &'static str,
    columns: &'static str,
}

impl CatalogSchema {
    /// Returns the table of a name.
    pub(crate) fn find(&self, name: &str) -> Option<Arc<dyn TableProvider>> {
        let found = self.tables().iter().find(|(_, known, _)| *known == name);
        let keywords = (!self.is_information && name == KEYWORDS.1).then_some(&KEYWORDS);
        // The function that the view of settings reads.
        let settings = || self.find_settings(name);
        let (_, name, columns) = found.or(keywords).or_else(settings)?;
        Some(Arc::new(CatalogTable { of: self.clone(), name, columns }))
    }

    fn find_settings(&self, name: &str) -> Option<&'static (u32, &'static str, &'static str)> {
        let is_asked = !self.is_information && name == "pg_show_all_settings";
        self.tables().iter().find(|(_, known, _)| is_asked && *known == "pg_settings")
    }

    fn tables(&self) -> &'static [(u32, &'static str, &'static str)] {
        match self.is_information {
            true => &information_columns::TABLES,
            false => &pg_columns::TABLES,
        }
    }
}

/// Returns the columns of a catalog that a name means, with the types that columns of tables can
/// have; `None` if it means none.
pub(crate) fn catalog_columns(name: &ObjectName) -> Option<Vec<(String, ColumnType)>> {
    let parts: Option<Vec<String>> = name.0.iter().map(|part| part.as_ident().map(fold)).collect();
    let parts = parts?;
    let tables: &[_] = match parts.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [table] if table.starts_with("pg_") => &pg_columns::TABLES,
        [.., PG_CATALOG, _] => &pg_columns::TABLES,
        [.., INFORMATION_SCHEMA, _] => &information_columns::TABLES,
        _ => return None,
    };
    let (_, _, list) =
        tables.iter().find(|(_, known, _)| parts.last().is_some_and(|name| name == known))?;
    let column = |column: Column<'_>| {
        Some((column.name.to_owned(), stored_type(&data_type(column.type_name))?))
    };
    Some(columns(list).filter_map(column).collect())
}

#[async_trait]
impl SchemaProvider for CatalogSchema {
    fn table_names(&self) -> Vec<String> {
        self.tables().iter().map(|(_, name, _)| (*name).to_owned()).collect()
    }

    async fn table(&self, name: &str) -> Result<Option<Arc<dyn TableProvider>>, DataFusionError> {
        Ok(self.find(name))
    }

    fn table_exist(&self, name: &str) -> bool {
        self.tables().iter().any(|(_, known, _)| *known == name)
    }
}

#[async_trait]
impl TableProvider for CatalogTable {
    fn schema(&self) -> SchemaRef {
        schema(self.columns)
    }

    fn table_type(&self) -> TableType {
        TableType::View
    }

    async fn scan(
        &self,
        _: &dyn Session,
        projection: Option<&Vec<usize>>,
        _: &[Expr],
        _: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let catalog = SessionCatalog::new(self.of.catalogs.clone());
        let schema = if self.of.is_information { INFORMATION_SCHEMA } else { PG_CATALOG };
        let asked = catalog.require_read(schema, self.name);
        asked.map_err(|error| DataFusionError::External(Box::new(error)))?;
        let rows = match self.of.is_information {
            true => {
                let acting = self.of.catalogs.settings.acting();
                information_rows::rows(catalog.objects(), acting, self.name)
            }
            false => rows(&catalog, self.name),
        };
        // What nothing counts, or does not apply, is null in the views of statistics and locks.
        let has_nulls = self.name.starts_with("pg_stat") || self.name == "pg_locks";
        let has_zeros = !self.of.is_information && !has_nulls;
        let batch = batch(self.columns, has_zeros, &rows)?;
        let schema = batch.schema();
        let plan = MemorySourceConfig::try_new_exec(&[vec![batch]], schema, projection.cloned())?;
        Ok(plan)
    }
}

/// Returns the rows of a table of `pg_catalog`.
pub(super) fn rows(catalog: &SessionCatalog, name: &str) -> Vec<Row> {
    let catalogs = catalog.catalogs();
    let objects = || catalog.objects();
    let access = || catalogs.store.access();
    match name {
        "pg_namespace" => fixed::schemas(&access()),
        "pg_am" => fixed::methods(),
        "pg_database" => fixed::databases(&access(), CATALOG),
        "pg_tablespace" => fixed::tablespaces(),
        "pg_collation" => fixed::collations(),
        "pg_language" => fixed::languages(),
        "pg_authid" | "pg_roles" => roles::rows(&access(), name == "pg_authid"),
        "pg_user" | "pg_shadow" => roles::users(&access(), name == "pg_shadow"),
        "pg_group" => roles::groups(&access()),
        "pg_auth_members" => roles::members(&access()),
        "pg_stat_activity" => {
            let Catalogs { sources, settings, store, .. } = catalogs;
            activity_rows::sessions(&sources.activities, settings, store)
        }
        "pg_stat_ssl" => activity_rows::encryption(&catalogs.sources.activities),
        "pg_stat_gssapi" => activity_rows::gssapi(&catalogs.sources.activities),
        "pg_stat_database" => activity_rows::databases(&catalogs.sources.activities),
        "pg_stat_all_tables" | "pg_stat_user_tables" => activity_rows::tables(objects()),
        "pg_stats" => {
            let acting = catalogs.settings.acting();
            statistics_rows::columns(objects(), &catalogs.store, acting)
        }
        "pg_statistic" => statistics_rows::statistics(objects()),
        "pg_locks" => lock_rows::locks(&catalogs.sources.advisory_locks),
        "pg_settings" => fixed::settings(&catalogs.settings),
        "pg_get_keywords" => fixed::keywords(),
        "pg_type" => type_rows::types(),
        "pg_proc" => type_rows::procedures(),
        "pg_class" => relation_rows::classes(objects()),
        "pg_attribute" => relation_rows::attributes(objects()),
        "pg_attrdef" => relation_rows::defaults(objects()),
        "pg_index" => relation_rows::indexes(objects()),
        "pg_constraint" => relation_rows::constraints(objects()),
        "pg_sequence" => relation_rows::sequences(objects()),
        "pg_depend" => relation_rows::dependencies(objects()),
        _ => view_rows::rows(objects(), name),
    }
}
