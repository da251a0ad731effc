//! UNIQUE and FOREIGN KEY constraints of `CREATE TABLE`.

use std::sync::Arc;

use datafusion::sql::sqlparser::ast::{
    ColumnOption, ConstraintCharacteristics, ConstraintReferenceMatchKind, CreateTable,
    DeferrableInitial, ForeignKeyConstraint, Ident, NullsDistinctOption, ReferentialAction,
    TableConstraint, UniqueConstraint,
};
use nacre_store::index::{IndexDef, IndexKind, IndexOrigin};
use nacre_store::{
    ForeignKeyAction, ForeignKeyDef, Store, Table, TableKeys, TableSchema, is_comparable,
};

use crate::error::{Error, ErrorKind, Result};
use crate::from_store::from_store;
use crate::indexes::{free_name, index_columns, is_taken};
use crate::names::{fold, table_name};

/// Returns the unique and foreign keys that a statement gives a table.
///
/// # Errors
/// 42P01, 42703; 42710 for a name that is used twice; 42804 for columns that cannot be compared;
/// 42830 if what is referred to is no key.
pub(crate) fn table_keys(
    store: &Store,
    statement: &CreateTable,
    schema: &TableSchema,
) -> Result<TableKeys> {
    let mut found = Found { store, schema, keys: TableKeys::default(), others: Vec::new() };
    let mut foreign: Vec<(Option<&Ident>, Option<usize>, &ForeignKeyConstraint)> = Vec::new();
    for (index, column) in statement.columns.iter().enumerate() {
        for option in &column.options {
            match &option.option {
                ColumnOption::Unique(unique) => {
                    found.unique(option.name.as_ref(), vec![index], unique)?;
                }
                ColumnOption::ForeignKey(key) => {
                    foreign.push((option.name.as_ref(), Some(index), key));
                }
                _ => {}
            }
        }
    }
    for constraint in &statement.constraints {
        match constraint {
            TableConstraint::Unique(unique) => {
                let columns = index_columns(schema, &unique.columns)?;
                found.unique(unique.name.as_ref(), columns, unique)?;
            }
            TableConstraint::ForeignKey(key) => foreign.push((key.name.as_ref(), None, key)),
            _ => {}
        }
    }
    // A foreign key may refer to a unique one of the same table that comes later.
    for (name, column, key) in foreign {
        found.foreign(name, column, key)?;
    }
    Ok(found.keys)
}

/// What a constraint stands behind.
#[derive(Clone, Copy)]
pub(crate) enum Owner<'a> {
    /// It names its columns.
    Table,
    /// The name that it has there, and the number of the column.
    Column(Option<&'a Ident>, usize),
}

/// Returns the index of a UNIQUE constraint that a table gets which has `others`; `None` if its
/// primary key does as well.
///
/// # Errors
/// 42703; 42P07 for a name that is used; 0A000.
pub(crate) fn unique_key(
    store: &Store,
    schema: &TableSchema,
    others: &[IndexDef],
    (owner, constraint): (Owner<'_>, &UniqueConstraint),
) -> Result<Option<IndexDef>> {
    let names = others.iter().map(|other| other.name.clone()).collect();
    let mut found = Found { store, schema, keys: TableKeys::default(), others: names };
    let (name, columns) = match owner {
        Owner::Table => (constraint.name.as_ref(), index_columns(schema, &constraint.columns)?),
        Owner::Column(name, column) => (name, vec![column]),
    };
    found.unique(name, columns, constraint)?;
    let key = found.keys.unique.pop();
    match key.as_ref().filter(|key| is_taken(store, &key.name)) {
        Some(key) => Err(from_store(nacre_store::Error::TableExists { table: key.name.clone() })),
        None => Ok(key),
    }
}

/// Returns a foreign key that a table gets which has `others`, by name.
///
/// # Errors
/// As for [`table_keys`].
pub(crate) fn foreign_key(
    store: &Store,
    schema: &TableSchema,
    (indexes, others): (&[IndexDef], &[ForeignKeyDef]),
    (owner, constraint): (Owner<'_>, &ForeignKeyConstraint),
) -> Result<ForeignKeyDef> {
    let names = indexes.iter().map(|index| &index.name);
    let names = names.chain(others.iter().map(|key| &key.name)).cloned().collect();
    let unique = indexes.iter().filter(|index| index.is_unique).cloned().collect();
    let keys = TableKeys { unique, foreign: Vec::new() };
    let mut found = Found { store, schema, keys, others: names };
    match owner {
        Owner::Table => found.foreign(constraint.name.as_ref(), None, constraint)?,
        Owner::Column(name, column) => found.foreign(name, Some(column), constraint)?,
    }
    found
        .keys
        .foreign
        .pop()
        .ok_or_else(|| Error::new(ErrorKind::Internal, "internal error: a foreign key is lost"))
}

/// The constraints found so far.
struct Found<'a> {
    store: &'a Store,
    schema: &'a TableSchema,
    keys: TableKeys,
    /// Their names.
    others: Vec<String>,
}

impl Found<'_> {
    /// Returns the name of a constraint.
    fn name(&mut self, name: Option<&Ident>, columns: &[usize], label: &str) -> Result<String> {
        let primary = self.schema.primary_key_name.as_str();
        let mut others: Vec<&str> = self.others.iter().map(String::as_str).collect();
        others.extend([primary, self.schema.name.as_str()]);
        let name = match name {
            None => free_name(self.store, &others, self.schema, columns, label),
            Some(name) => {
                let name = fold(name);
                if others.contains(&name.as_str()) {
                    let table = &self.schema.name;
                    let message =
                        format!("constraint \"{name}\" for relation \"{table}\" already exists");
                    let error = Error::new(ErrorKind::DuplicateObject, message);
                    return Err(error.with_code("42710"));
                }
                name
            }
        };
        self.others.push(name.clone());
        Ok(name)
    }

    fn unique(
        &mut self,
        name: Option<&Ident>,
        columns: Vec<usize>,
        constraint: &UniqueConstraint,
    ) -> Result<()> {
        if constraint.nulls_distinct == NullsDistinctOption::NotDistinct {
            return Err(Error::not_supported("NULLS NOT DISTINCT"));
        }
        if constraint.index_type.is_some() || !constraint.index_options.is_empty() {
            return Err(Error::not_supported("options of an index"));
        }
        check_characteristics(constraint.characteristics.as_ref())?;
        let keys = self.keys.unique.iter().map(|key| key.columns.as_slice());
        if keys.chain(self.schema.primary_key.as_deref()).any(|key| key == columns) {
            // One index is enough for both; an automatic name is not needed either.
            if name.is_none() {
                return Ok(());
            }
        }
        let name = self.name(name, &columns, "key")?;
        let (is_unique, kind, origin) = (true, IndexKind::Art, IndexOrigin::Unique);
        self.keys.unique.push(IndexDef { name, columns, is_unique, kind, origin });
        Ok(())
    }

    /// Adds a foreign key; `column` is the one that a column constraint belongs to.
    fn foreign(
        &mut self,
        name: Option<&Ident>,
        column: Option<usize>,
        key: &ForeignKeyConstraint,
    ) -> Result<()> {
        check_characteristics(key.characteristics.as_ref())?;
        match key.match_kind {
            None | Some(ConstraintReferenceMatchKind::Simple) => {}
            Some(other) => return Err(Error::not_supported(other)),
        }
        let parent_name = table_name(&key.foreign_table)?;
        let parent = match parent_name == self.schema.name {
            true => None,
            false => Some(self.store.table(&parent_name).map_err(from_store)?),
        };
        let columns = match column {
            Some(column) => vec![column],
            None => named_columns(self.schema, &key.columns)?,
        };
        let parent_schema = match &parent {
            Some(parent) => parent.schema(),
            None => Arc::new(self.schema.clone()),
        };
        let referenced_columns = self.referenced(&parent_schema, parent.as_ref(), key)?;
        if columns.len() != referenced_columns.len() {
            let message = "number of referencing and referenced columns for foreign key disagree";
            return Err(Error::new(ErrorKind::InvalidStatement, message).with_code("42830"));
        }
        let name = self.name(name, &columns, "fkey")?;
        self.check_types(&name, (&columns, &referenced_columns), &parent_schema)?;
        self.keys.foreign.push(ForeignKeyDef {
            name,
            columns,
            referenced: parent.map(|parent| parent.id()),
            referenced_columns,
            on_delete: action(key.on_delete),
            on_update: action(key.on_update),
        });
        Ok(())
    }

    /// Returns the columns that a foreign key refers to, which have to be a key.
    fn referenced(
        &self,
        schema: &TableSchema,
        parent: Option<&Arc<Table>>,
        key: &ForeignKeyConstraint,
    ) -> Result<Vec<usize>> {
        let invalid = |message: String| {
            Err(Error::new(ErrorKind::InvalidStatement, message).with_code("42830"))
        };
        if key.referred_columns.is_empty() {
            return match &schema.primary_key {
                Some(primary) => Ok(primary.clone()),
                None => {
                    let table = &schema.name;
                    let message =
                        format!("there is no primary key for referenced table \"{table}\"");
                    Err(Error::new(ErrorKind::UndefinedObject, message))
                }
            };
        }
        let columns = named_columns(schema, &key.referred_columns)?;
        let is_same = |unique: &[usize]| {
            unique.len() == columns.len() && unique.iter().all(|column| columns.contains(column))
        };
        let is_key = match parent {
            Some(parent) => parent
                .indexes()
                .iter()
                .any(|index| index.definition().is_unique && is_same(&index.definition().columns)),
            None => {
                let unique = self.keys.unique.iter().map(|key| key.columns.as_slice());
                unique.chain(schema.primary_key.as_deref()).any(is_same)
            }
        };
        match is_key {
            true => Ok(columns),
            false => invalid(format!(
                "there is no unique constraint matching given keys for referenced table \"{}\"",
                schema.name
            )),
        }
    }

    /// Refuses columns whose values cannot be compared.
    fn check_types(
        &self,
        name: &str,
        (columns, referenced): (&[usize], &[usize]),
        parent: &TableSchema,
    ) -> Result<()> {
        for (&own, &other) in columns.iter().zip(referenced) {
            let (own, other) = (&self.schema.columns[own], &parent.columns[other]);
            if !is_comparable(own.column_type, other.column_type) {
                let message = format!("foreign key constraint \"{name}\" cannot be implemented");
                let error = Error::new(ErrorKind::InvalidStatement, message).with_code("42804");
                return Err(error.with_detail(format!(
                    "Key columns \"{}\" of the referencing table and \"{}\" of the referenced \
                     table are of incompatible types: {} and {}.",
                    own.name, other.name, own.column_type, other.column_type
                )));
            }
        }
        Ok(())
    }
}

fn named_columns(schema: &TableSchema, names: &[Ident]) -> Result<Vec<usize>> {
    let index = |ident: &Ident| {
        let name = fold(ident);
        schema.column_index(&name).ok_or_else(|| {
            let message =
                format!("column \"{name}\" referenced in foreign key constraint does not exist");
            Error::undefined_column(message)
        })
    };
    names.iter().map(index).collect()
}

fn action(action: Option<ReferentialAction>) -> ForeignKeyAction {
    match action {
        None | Some(ReferentialAction::NoAction) => ForeignKeyAction::NoAction,
        Some(ReferentialAction::Restrict) => ForeignKeyAction::Restrict,
        Some(ReferentialAction::Cascade) => ForeignKeyAction::Cascade,
        Some(ReferentialAction::SetNull) => ForeignKeyAction::SetNull,
        Some(ReferentialAction::SetDefault) => ForeignKeyAction::SetDefault,
    }
}

/// Refuses constraints that are not checked at the end of each statement.
fn check_characteristics(characteristics: Option<&ConstraintCharacteristics>) -> Result<()> {
    let Some(given) = characteristics else {
        return Ok(());
    };
    if given.deferrable == Some(true) || given.initially == Some(DeferrableInitial::Deferred) {
        return Err(Error::not_supported("DEFERRABLE constraints"));
    }
    match given.enforced {
        Some(false) => Err(Error::not_supported("NOT ENFORCED constraints")),
        _ => Ok(()),
    }
}
