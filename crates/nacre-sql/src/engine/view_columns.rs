//! The columns of users' views, as the catalogs show them.

use std::sync::Arc;

use nacre_plan::binder::bind_parameterized;
use nacre_plan::control::until_stopped;
use nacre_plan::definition::{RelationCatalog, RelationDefinition, ViewDefinition, ViewReader};
use nacre_store::{SEQUENCES_TABLE, Store, ViewDef};
use nacre_types::{SqlType, ValueSettings};

use super::relations::{is_of_users, table_definition, view_definition};
use crate::cancellation::is_cancelled;
use crate::names::SYSTEM_SCHEMA;
use crate::pg_catalog::virtual_table;

/// The current relations of a database, without a check of privileges.
struct CurrentRelations<'a>(&'a Store);

impl RelationCatalog for CurrentRelations<'_> {
    fn find_relation(&self, schema: Option<&str>, name: &str) -> Option<Arc<RelationDefinition>> {
        if let Some(table) = virtual_table(schema, name) {
            return Some(table);
        }
        let of_users = || {
            let table = self.0.table(name).ok().filter(|_| name != SEQUENCES_TABLE)?;
            table_definition(&table).ok().map(Arc::new)
        };
        let found = if is_of_users(schema) { of_users() } else { None };
        let is_own = schema.is_none() && self.0.view(name).is_none();
        found.or_else(|| if is_own { virtual_table(Some(SYSTEM_SCHEMA), name) } else { None })
    }

    fn find_view(
        &self,
        schema: Option<&str>,
        name: &str,
        _reader: ViewReader,
    ) -> Option<Arc<ViewDefinition>> {
        let view = self.0.view(name).filter(|_| is_of_users(schema))?;
        view_definition(&view).map(Arc::new)
    }
}

/// Returns the types of a view's columns; `None` if its query is not of Nacre's own engine.
pub(crate) fn view_types(store: &Store, view: &ViewDef) -> Option<Vec<SqlType>> {
    let query = view_definition(view)?.query;
    let relations = CurrentRelations(store);
    let bind = || bind_parameterized(&relations, &ValueSettings::default(), &query, &[]);
    let plan = until_stopped(is_cancelled, bind).ok()?.ok()?;
    Some(plan.outputs.iter().map(|output| output.sql_type).collect())
}
