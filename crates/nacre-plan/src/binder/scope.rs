//! The columns that names may mean.

use nacre_syntax::SourceRange;
use nacre_syntax::{FromItem, FromKind, SqlName};
use nacre_types::SqlType;

use super::Binder;
use crate::algebra::{
    ColumnId, ColumnSource, QueryColumn, RelationalOperator, ScalarExpression, ScalarKind,
    ScannedColumn,
};
use crate::error::BindError;

/// What FROM makes visible.
#[derive(Clone, Debug, Default)]
pub(super) struct Scope {
    pub(super) tables: Vec<ScopeTable>,
}

/// A table of FROM.
#[derive(Clone, Debug)]
pub(super) struct ScopeTable {
    /// Its alias, or its own name.
    pub(super) name: String,
    /// `None` if it has an alias.
    schema: Option<String>,
    pub(super) columns: Vec<ScopeColumn>,
    /// The columns of its primary key; empty without one.
    pub(super) primary_key: Vec<ColumnId>,
}

/// A column of a table of FROM.
#[derive(Clone, Debug)]
pub(super) struct ScopeColumn {
    pub(super) name: String,
    pub(super) id: ColumnId,
    pub(super) sql_type: SqlType,
}

/// Names of columns that every table of PostgreSQL has.
const SYSTEM_COLUMNS: [&str; 6] = ["ctid", "xmin", "xmax", "cmin", "cmax", "tableoid"];

impl Scope {
    /// Returns the column of that name, of any table.
    pub(super) fn column(&self, name: &SqlName) -> Result<ScalarExpression, BindError> {
        let all = self.tables.iter().flat_map(|table| &table.columns);
        let mut found = all.filter(|column| column.name == name.text);
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
        let mut found = table.columns.iter().filter(|column| column.name == name.text);
        match (found.next(), found.next()) {
            (Some(column), None) => Ok(column.expression(range)),
            (Some(_), Some(_)) => {
                let message = format!("column reference \"{}\" is ambiguous", name.text);
                Err(BindError::new("42702", message, range))
            }
            (None, _) if is_system_column(name) => {
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
            let message = format!("missing FROM-clause entry for table \"{name}\"");
            BindError::new("42P01", message, range)
        })
    }
}

fn is_system_column(name: &SqlName) -> bool {
    SYSTEM_COLUMNS.contains(&name.text.as_str())
}

impl ScopeColumn {
    pub(super) fn expression(&self, range: SourceRange) -> ScalarExpression {
        ScalarExpression::new(ScalarKind::Column(self.id), self.sql_type, range)
    }
}

impl Binder<'_> {
    /// Binds FROM: returns what it reads and what it makes visible.
    pub(super) fn bind_from(
        &mut self,
        from: &[FromItem],
    ) -> Result<(RelationalOperator, Scope), BindError> {
        match from {
            [] => Ok((RelationalOperator::SingleRow, Scope::default())),
            [item] => self.bind_table(item),
            [_, second, ..] => Err(BindError::not_supported("joins", second.range)),
        }
    }

    fn bind_table(&mut self, item: &FromItem) -> Result<(RelationalOperator, Scope), BindError> {
        let FromKind::Relation { relation, sample: None } = &item.kind else {
            return Err(BindError::not_supported("this item of FROM", item.range));
        };
        let (schema, name) = match &relation.name.parts[..] {
            [name] => (None, name),
            [schema, name] => (Some(schema.text.as_str()), name),
            _ => return Err(BindError::not_supported("names of three parts", item.range)),
        };
        let found = self.catalog.find_relation(schema, &name.text);
        let definition = found.ok_or_else(|| {
            let qualifier = schema.map(|schema| format!("{schema}.")).unwrap_or_default();
            let message = format!("relation \"{qualifier}{}\" does not exist", name.text);
            BindError::new("42P01", message, relation.name.range)
        })?;
        let alias = item.alias.as_ref();
        let renamed = alias.map_or(&[][..], |alias| &alias.columns);
        if renamed.len() > definition.columns.len() {
            let table = alias.and_then(|alias| alias.name.as_ref()).unwrap_or(name);
            let message = format!(
                "table \"{}\" has {} columns available but {} columns specified",
                table.text,
                definition.columns.len(),
                renamed.len()
            );
            return Err(BindError::new("42P10", message, item.range));
        }
        let (mut scanned, mut columns) = (Vec::new(), Vec::new());
        for (position, column) in definition.columns.iter().enumerate() {
            let own_name = renamed.get(position).map_or(&column.name, |name| &name.text).clone();
            let id = self.columns.add(QueryColumn {
                name: own_name.clone(),
                sql_type: column.sql_type,
                is_nullable: column.is_nullable,
                source: ColumnSource::Relation(position),
            });
            scanned.push(ScannedColumn { position, column: id });
            columns.push(ScopeColumn { name: own_name, id, sql_type: column.sql_type });
        }
        let primary_key = definition.primary_key.iter().map(|one| columns[*one].id).collect();
        let alias_name = alias.and_then(|alias| alias.name.as_ref());
        let table = ScopeTable {
            name: alias_name.unwrap_or(name).text.clone(),
            schema: alias_name.is_none().then(|| definition.schema.clone()),
            columns,
            primary_key,
        };
        let scan = RelationalOperator::Scan { relation: definition, columns: scanned };
        Ok((scan, Scope { tables: vec![table] }))
    }
}
