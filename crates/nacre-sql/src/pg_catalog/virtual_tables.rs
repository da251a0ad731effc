//! The catalogs, and sequences, as tables of Nacre's own engine: their rows are made when a query
//! that reads them is planned.

use std::sync::Arc;

use nacre_exec::lower::{GivenColumn, GivenRows};
use nacre_plan::definition::{RelationColumn, RelationDefinition, RelationId};
use nacre_types::SqlValue;
use nacre_types::catalog::TypeOid;

use super::cells::{Cell, Row, columns};
use super::objects::Kind;
use super::relation_rows::{system_names, system_tables};
use super::session_catalog::SessionCatalog;
use super::values::{column_type, value_of, value_unsaid};
use super::{INFORMATION_SCHEMA, PG_CATALOG, fixed, information_rows, provider};
use crate::error::Result;
use crate::names::{SCHEMA, SYSTEM_SCHEMA};
use crate::pg_types::PgType;
use crate::views::{system_view_columns, system_views};

/// The first number of a virtual table as a relation; no stored table has it.
const FIRST_RELATION: u64 = 1 << 62;

/// The same of a sequence.
const FIRST_SEQUENCE: u64 = 1 << 61;

/// Catalogs that superusers alone may read, and what they are called in errors.
const GUARDED: [(&str, &str); 3] =
    [("pg_authid", "table"), ("pg_shadow", "view"), ("pg_statistic", "table")];

/// Returns the virtual table of that name. Without a schema, it is one of `pg_catalog`.
pub(crate) fn virtual_table(schema: Option<&str>, name: &str) -> Option<Arc<RelationDefinition>> {
    let schema = schema.unwrap_or(PG_CATALOG);
    let (oid, columns) = match schema {
        SYSTEM_SCHEMA => {
            let (oid, ..) = system_names()
                .find(|(_, known, of)| *known == name && *of == fixed::NACRE_CATALOG)?;
            let (_, fields) = system_views().find(|(known, _)| *known == name)?;
            let column = |field: &Arc<datafusion::arrow::datatypes::Field>| {
                let of = PgType::of_arrow(field.data_type());
                let sql_type = nacre_types::SqlType::new(TypeOid(of.oid));
                let (name, is_nullable) = (field.name().clone(), field.is_nullable());
                RelationColumn { name, sql_type, is_nullable }
            };
            (oid, fields.fields().iter().map(column).collect())
        }
        PG_CATALOG | INFORMATION_SCHEMA => {
            let of =
                if schema == PG_CATALOG { fixed::PG_CATALOG } else { fixed::INFORMATION_SCHEMA };
            let (oid, _, _, list) =
                system_tables().find(|(_, known, own, _)| *known == name && *own == of)?;
            let column = |column: super::cells::Column<'_>| RelationColumn {
                name: column.name.to_owned(),
                sql_type: column_type(column.type_name),
                is_nullable: true,
            };
            (oid, columns(list).map(column).collect())
        }
        _ => return None,
    };
    Some(Arc::new(RelationDefinition {
        id: RelationId(FIRST_RELATION | u64::from(oid)),
        schema: schema.to_owned(),
        name: name.to_owned(),
        columns,
        primary_key: Vec::new(),
        table_oid: Some(oid),
    }))
}

/// Returns the virtual table of a number.
pub(crate) fn virtual_table_of(relation: RelationId) -> Option<Arc<RelationDefinition>> {
    let oid = relation.0.checked_sub(FIRST_RELATION)?;
    let (_, name, schema) = system_names().find(|(known, ..)| u64::from(*known) == oid)?;
    let (_, schema) = fixed::SCHEMAS.iter().find(|(known, _)| *known == schema)?;
    virtual_table(Some(schema), name)
}

/// The columns that a sequence has as a relation.
const SEQUENCE_COLUMNS: &str = "last_value int8, log_cnt int8, is_called bool";

impl SessionCatalog {
    /// Returns a sequence as a table of one row.
    pub(crate) fn sequence_table(&self, name: &str) -> Option<Arc<RelationDefinition>> {
        let relation = self.objects().named(name)?;
        if !matches!(relation.is, Kind::Sequence(_)) {
            return None;
        }
        let column = |column: super::cells::Column<'_>| RelationColumn {
            name: column.name.to_owned(),
            sql_type: column_type(column.type_name),
            is_nullable: false,
        };
        Some(Arc::new(RelationDefinition {
            id: RelationId(FIRST_SEQUENCE | u64::from(relation.oid)),
            schema: SCHEMA.to_owned(),
            name: name.to_owned(),
            columns: columns(SEQUENCE_COLUMNS).map(column).collect(),
            primary_key: Vec::new(),
            table_oid: Some(relation.oid),
        }))
    }

    fn sequence_rows(&self, name: &str) -> Vec<Row> {
        let relation = self.objects().named(name);
        let Some(Kind::Sequence(sequence)) = relation.map(|one| &one.is) else {
            return Vec::new();
        };
        let (value, is_called) = sequence.position();
        vec![vec![
            ("last_value", value.into()),
            ("log_cnt", 0.into()),
            ("is_called", is_called.into()),
        ]]
    }

    /// Refuses a table that only superusers may read to others.
    ///
    /// # Errors
    /// 42501.
    pub(crate) fn require_read(&self, schema: &str, table: &str) -> Result<()> {
        let guarded = GUARDED.iter().find(|(name, _)| *name == table);
        match guarded.filter(|_| schema == PG_CATALOG) {
            Some((name, kind)) => {
                let denied = format!("permission denied for {kind} {name}");
                self.catalogs().settings().acting().require_superuser(&denied)
            }
            None => Ok(()),
        }
    }

    /// Makes the rows of a virtual table; of its columns only those at `positions` have values.
    pub(crate) fn given_rows(&self, table: &RelationDefinition, positions: &[usize]) -> GivenRows {
        match table.schema.as_str() {
            SYSTEM_SCHEMA => self.system_view(table, positions),
            _ => self.catalog_rows(table, positions),
        }
    }

    /// Returns how many rows a virtual table has.
    pub(crate) fn row_count(&self, table: &RelationDefinition) -> usize {
        match table.schema.as_str() {
            SYSTEM_SCHEMA => self.given_rows(table, &[]).row_count(),
            _ => self.rows(table).len(),
        }
    }

    fn rows(&self, table: &RelationDefinition) -> Arc<[Row]> {
        self.kept_rows(table.id, || match table.schema.as_str() {
            INFORMATION_SCHEMA => {
                let acting = self.catalogs().settings().acting();
                information_rows::rows(self.objects(), acting, &table.name)
            }
            SCHEMA => self.sequence_rows(&table.name),
            _ => provider::rows(self, &table.name),
        })
    }

    fn catalog_rows(&self, table: &RelationDefinition, positions: &[usize]) -> GivenRows {
        let is_information = table.schema == INFORMATION_SCHEMA;
        let rows = self.rows(table);
        // What nothing counts, or does not apply, is null in the views of statistics and locks.
        let has_nulls = table.name.starts_with("pg_stat") || table.name == "pg_locks";
        let has_zeros = !is_information && !has_nulls;
        let values = |column: &RelationColumn| {
            let unsaid = value_unsaid(column.sql_type, has_zeros);
            let value = |row: &Row| match row.iter().find(|(name, _)| *name == column.name) {
                Some((_, cell)) => value_of(cell, column.sql_type),
                None => unsaid.clone(),
            };
            rows.iter().map(value).collect()
        };
        given_columns(table, positions, rows.len(), values)
    }

    /// Makes the rows of one of Nacre's own views.
    fn system_view(&self, table: &RelationDefinition, positions: &[usize]) -> GivenRows {
        let arrays = system_view_columns(&table.name, self.catalogs().store()).unwrap_or_default();
        let count = arrays.first().map_or(0, |array| array.len());
        let values = |column: &RelationColumn| {
            let place = table.columns.iter().position(|own| own.name == column.name);
            let array = place.and_then(|place| arrays.get(place));
            let value = |row| {
                let cell = array.and_then(|array| Cell::of(array, row).ok()).unwrap_or_default();
                value_of(&cell, column.sql_type)
            };
            (0..count).map(value).collect()
        };
        given_columns(table, positions, count, values)
    }
}

fn given_columns(
    table: &RelationDefinition,
    positions: &[usize],
    count: usize,
    values: impl Fn(&RelationColumn) -> Vec<SqlValue>,
) -> GivenRows {
    let column = |(position, column): (usize, &RelationColumn)| match positions.contains(&position)
    {
        true => GivenColumn::Values(values(column)),
        false => GivenColumn::Unread,
    };
    GivenRows::new(count, table.columns.iter().enumerate().map(column).collect())
}
