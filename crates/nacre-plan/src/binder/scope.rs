//! The columns that names may mean.

use std::sync::Arc;

use nacre_syntax::SourceRange;
use nacre_syntax::{RelationName, SqlName, TableAlias};
use nacre_types::SqlType;

use super::{Binder, COLUMNS_MAX, TABLES_MAX};
use crate::algebra::{
    ColumnId, ColumnSource, QueryColumn, RelationalOperator, ScalarExpression, ScalarKind,
    ScannedColumn,
};
use crate::definition::RelationDefinition;
use crate::error::BindError;

/// What FROM, or a part of it, makes visible.
#[derive(Clone, Debug, Default)]
pub(super) struct Scope {
    pub(super) tables: Vec<ScopeTable>,
    /// What `*` stands for, and names without a table: columns that a join merges come first, once.
    pub(super) columns: Vec<ScopeColumn>,
    /// Tables of FROM that this part of it cannot name.
    pub(super) out_of_reach: Vec<String>,
}

/// What a query sees of one around it.
#[derive(Clone, Debug)]
pub(super) struct OuterScope {
    pub(super) scope: Scope,
    /// The clause that the inner query stands in.
    pub(super) clause: &'static str,
    /// Whether that may have aggregates.
    pub(super) allows_aggregates: bool,
    /// How many SELECTs are being bound, with that of the clause.
    pub(super) select_count: usize,
}

/// A table of FROM, or a join with an alias.
#[derive(Clone, Debug)]
pub(super) struct ScopeTable {
    /// Its alias, or its own name.
    pub(super) name: String,
    /// `None` if it has an alias.
    pub(super) schema: Option<String>,
    /// Its own name, if it has an alias, which is the only name then.
    pub(super) hidden_name: Option<String>,
    pub(super) columns: Vec<ScopeColumn>,
    /// The column `tableoid`, which `*` does not stand for.
    pub(super) table_oid: Option<ScopeColumn>,
    /// The columns of its primary key; empty without one.
    pub(super) primary_key: Vec<ColumnId>,
    /// Whether it is the recursive query that it stands in.
    pub(super) is_working: bool,
}

/// A column by the name that it has in FROM.
#[derive(Clone, Debug)]
pub(super) struct ScopeColumn {
    pub(super) name: Arc<str>,
    /// The column of a table, or what a join merges of two.
    pub(super) value: ScalarExpression,
}

/// Names of columns that every table of PostgreSQL has.
const SYSTEM_COLUMNS: [&str; 6] = ["ctid", "xmin", "xmax", "cmin", "cmax", "tableoid"];

impl Scope {
    /// Makes the scope of one table that has no schema and no key: a query, or a join with an
    /// alias.
    pub(super) fn of_table(name: &SqlName, columns: Vec<ScopeColumn>) -> Self {
        let table = ScopeTable {
            name: name.text.clone(),
            schema: None,
            hidden_name: None,
            columns: columns.clone(),
            table_oid: None,
            primary_key: Vec::new(),
            is_working: false,
        };
        Self { tables: vec![table], columns, out_of_reach: Vec::new() }
    }

    /// Whether a column is one of these tables.
    pub(super) fn has_column(&self, column: ColumnId) -> bool {
        let of_tables =
            self.tables.iter().flat_map(|table| table.columns.iter().chain(&table.table_oid));
        let mut all = of_tables.chain(&self.columns).map(|one| &one.value);
        all.any(|value| value.any(&|one| one.kind == ScalarKind::Column(column)))
    }

    /// Returns the column of that name, of any table.
    pub(super) fn column(&self, name: &SqlName) -> Result<ScalarExpression, BindError> {
        let mut found = self.columns.iter().filter(|column| *column.name == *name.text);
        match (found.next(), found.next()) {
            (Some(column), None) => Ok(column.expression(name.range)),
            (Some(_), Some(_)) => {
                let message = format!("column reference \"{}\" is ambiguous", name.text);
                Err(BindError::new("42702", message, name.range))
            }
            (None, _) if self.tables.iter().any(|table| table.name == name.text) => {
                Err(BindError::not_supported("a row of a table as a value", name.range))
            }
            (None, _) if is_system_column(name) && !self.tables.is_empty() => {
                if let [table] = &self.tables[..]
                    && let Some(column) = table.system_column(name)
                {
                    return Ok(column.expression(name.range));
                }
                Err(BindError::not_supported("system columns", name.range))
            }
            (None, _) => {
                let message = format!("column \"{}\" does not exist", name.text);
                Err(BindError::new("42703", message, name.range))
            }
        }
    }

    /// Returns the column of that name of a table.
    pub(super) fn column_of(
        &self,
        qualifier: &[SqlName],
        name: &SqlName,
        range: SourceRange,
    ) -> Result<ScalarExpression, BindError> {
        let table = self.table(qualifier, range)?;
        let mut found = table.columns.iter().filter(|column| *column.name == *name.text);
        match (found.next(), found.next()) {
            (Some(column), None) => Ok(column.expression(range)),
            (Some(_), Some(_)) => {
                let message = format!("column reference \"{}\" is ambiguous", name.text);
                Err(BindError::new("42702", message, range))
            }
            (None, _) if is_system_column(name) => {
                if let Some(column) = table.system_column(name) {
                    return Ok(column.expression(range));
                }
                Err(BindError::not_supported("system columns", range))
            }
            (None, _) => {
                let message = format!("column {}.{} does not exist", table.name, name.text);
                Err(BindError::new("42703", message, range))
            }
        }
    }

    /// Returns the table of that name.
    pub(super) fn table(
        &self,
        qualifier: &[SqlName],
        range: SourceRange,
    ) -> Result<&ScopeTable, BindError> {
        let found = match qualifier {
            [name] => self.tables.iter().find(|table| table.name == name.text),
            [schema, name] => self.tables.iter().find(|table| {
                table.name == name.text && table.schema.as_ref() == Some(&schema.text)
            }),
            _ => return Err(BindError::not_supported("names of three parts", range)),
        };
        found.ok_or_else(|| {
            let name = qualifier.last().map_or("", |name| &name.text);
            let is_hidden = |table: &&ScopeTable| table.hidden_name.as_deref() == Some(name);
            if let Some(table) = self.tables.iter().find(is_hidden) {
                let message =
                    format!("invalid reference to FROM-clause entry for table \"{name}\"");
                let hint =
                    format!("Perhaps you meant to reference the table alias \"{}\".", table.name);
                return BindError::new("42P01", message, range).with_hint(hint);
            }
            if self.out_of_reach.iter().any(|other| other == name) {
                let message =
                    format!("invalid reference to FROM-clause entry for table \"{name}\"");
                return BindError::new("42P01", message, range).with_detail(format!(
                    "There is an entry for table \"{name}\", but it cannot be referenced from \
                     this part of the query."
                ));
            }
            let message = format!("missing FROM-clause entry for table \"{name}\"");
            BindError::new("42P01", message, range)
        })
    }
}

fn is_system_column(name: &SqlName) -> bool {
    SYSTEM_COLUMNS.contains(&name.text.as_str())
}

impl ScopeTable {
    fn system_column(&self, name: &SqlName) -> Option<&ScopeColumn> {
        self.table_oid.as_ref().filter(|column| *column.name == *name.text)
    }
}

impl ScopeColumn {
    pub(super) fn expression(&self, range: SourceRange) -> ScalarExpression {
        ScalarExpression { range, ..self.value.clone() }
    }

    /// Returns the column of a table, if it is one.
    pub(super) fn id(&self) -> Option<ColumnId> {
        match self.value.kind {
            ScalarKind::Column(id) => Some(id),
            _ => None,
        }
    }
}

impl Binder<'_> {
    /// Binds a table of FROM: returns what it reads and what it makes visible.
    pub(super) fn bind_table(
        &mut self,
        relation: &RelationName,
        alias: Option<&TableAlias>,
        range: SourceRange,
    ) -> Result<(RelationalOperator, Scope), BindError> {
        let (schema, name) = match &relation.name.parts[..] {
            [name] => match self.bind_common_query(name, alias, range)? {
                Some(bound) => return Ok(bound),
                None => (None, name),
            },
            [schema, name] => (Some(schema.text.as_str()), name),
            _ => return Err(BindError::not_supported("names of three parts", range)),
        };
        let found = if self.view.is_some() {
            self.catalog.find_relation_of_view(schema, &name.text)
        } else {
            self.catalog.find_relation(schema, &name.text)
        };
        if found.is_none()
            && let Some(view) = self.find_view(schema, &name.text)
        {
            return self.bind_view(&view, name, alias, range);
        }
        let definition = found.ok_or_else(|| {
            let qualifier = schema.map(|schema| format!("{schema}.")).unwrap_or_default();
            let message = format!("relation \"{qualifier}{}\" does not exist", name.text);
            BindError::new("42P01", message, relation.name.range)
        })?;
        self.scan_relation(&definition, name, alias, range)
    }

    /// Makes the scan of a relation that is found by `name`.
    pub(super) fn scan_relation(
        &mut self,
        definition: &Arc<RelationDefinition>,
        name: &SqlName,
        alias: Option<&TableAlias>,
        range: SourceRange,
    ) -> Result<(RelationalOperator, Scope), BindError> {
        self.table_count += 1;
        if self.table_count > TABLES_MAX {
            let what = format!("a query can read at most {TABLES_MAX} tables");
            return Err(BindError::too_large(what, range));
        }
        if self.columns.len() + definition.columns.len() > COLUMNS_MAX {
            return Err(self.too_many_columns(range));
        }
        let renamed = alias.map_or(&[][..], |alias| &alias.columns);
        let alias_name = alias.and_then(|alias| alias.name.as_ref());
        let (named, available) = (alias_name.unwrap_or(name), definition.columns.len());
        require_columns("table", named, available, renamed, range)?;
        self.columns.reserve(available);
        let mut scanned = Vec::with_capacity(available);
        let mut columns = Vec::with_capacity(available);
        for (position, column) in definition.columns.iter().enumerate() {
            let own_name = renamed.get(position).map_or(&column.name, |name| &name.text);
            let own_name: Arc<str> = own_name.as_str().into();
            let id = self.columns.add(QueryColumn {
                name: Arc::clone(&own_name),
                sql_type: column.sql_type,
                is_nullable: column.is_nullable,
                source: ColumnSource::Relation { relation: definition.id, position },
            });
            scanned.push(ScannedColumn { position, column: id });
            let value = ScalarExpression::new(ScalarKind::Column(id), column.sql_type, range);
            columns.push(ScopeColumn { name: own_name, value });
        }
        let table_oid = definition.table_oid.map(|_| {
            let (name, position): (Arc<str>, _) =
                ("tableoid".into(), definition.table_oid_position());
            let id = self.columns.add(QueryColumn {
                name: Arc::clone(&name),
                sql_type: SqlType::OID,
                // Outer joins do not look for it to say so.
                is_nullable: true,
                source: ColumnSource::Relation { relation: definition.id, position },
            });
            scanned.push(ScannedColumn { position, column: id });
            ScopeColumn {
                name,
                value: ScalarExpression::new(ScalarKind::Column(id), SqlType::OID, range),
            }
        });
        let key = definition.primary_key.iter().filter_map(|place| columns.get(*place));
        let primary_key = key.filter_map(ScopeColumn::id).collect();
        let table = ScopeTable {
            name: alias_name.unwrap_or(name).text.clone(),
            schema: alias_name.is_none().then(|| definition.schema.clone()),
            hidden_name: alias_name.map(|_| name.text.clone()),
            columns: columns.clone(),
            table_oid,
            primary_key,
            is_working: false,
        };
        let scan = RelationalOperator::Scan { relation: Arc::clone(definition), columns: scanned };
        Ok((scan, Scope { tables: vec![table], columns, out_of_reach: Vec::new() }))
    }
}

/// Refuses an alias with more names of columns than there are columns.
pub(super) fn require_columns(
    what: &str,
    name: &SqlName,
    available: usize,
    renamed: &[SqlName],
    range: SourceRange,
) -> Result<(), BindError> {
    if renamed.len() <= available {
        return Ok(());
    }
    let message = format!(
        "{what} \"{}\" has {available} columns available but {} columns specified",
        name.text,
        renamed.len()
    );
    Err(BindError::new("42P10", message, range))
}
