//! What the fields of a row are: which column, which type, which nulls.

use crate::{
    dialect::Dialect,
    error::{Error, ErrorKind, Result},
    options::CsvOptions,
};
use nacre_column::{ColumnBuffer, ColumnType};

/// A column of the table that is loaded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TargetColumn {
    pub name: String,
    pub column_type: ColumnType,
    pub is_nullable: bool,
}

/// The table that is loaded and the columns that the file has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// The table's name, for messages.
    pub relation: String,
    /// All columns of the table, in its order.
    pub columns: Vec<TargetColumn>,
    /// The columns that the fields of a row are for, by index; the others become null.
    pub fields: Vec<usize>,
}

/// How one field of a row is read.
#[derive(Debug)]
pub(crate) struct Field {
    pub(crate) column: usize,
    pub(crate) column_type: ColumnType,
    pub(crate) is_nullable: bool,
    pub(crate) forces_null: bool,
    pub(crate) forces_not_null: bool,
}

/// Everything that is fixed for one load.
#[derive(Debug)]
pub(crate) struct Layout {
    pub(crate) target: Target,
    pub(crate) fields: Vec<Field>,
    /// Columns that no field is for.
    pub(crate) absent: Vec<usize>,
    pub(crate) null: Vec<u8>,
    pub(crate) dialect: Dialect,
    /// Name of the input, for messages.
    pub(crate) file: String,
}

impl Layout {
    /// Checks the columns and options against each other.
    ///
    /// # Errors
    /// `UndefinedColumn`, `DuplicateColumn`, `InvalidColumnReference`.
    pub(crate) fn new(
        target: Target,
        options: &CsvOptions,
        dialect: Dialect,
        file: String,
    ) -> Result<Self> {
        check_columns(&target)?;
        check_forced("FORCE_NOT_NULL", options.force_not_null.names(), &target)?;
        check_forced("FORCE_NULL", options.force_null.names(), &target)?;
        let field = |&column: &usize| {
            let TargetColumn { name, column_type, is_nullable } = &target.columns[column];
            Field {
                column,
                column_type: *column_type,
                is_nullable: *is_nullable,
                forces_null: options.force_null.contains(name),
                forces_not_null: options.force_not_null.contains(name),
            }
        };
        let fields = target.fields.iter().map(field).collect();
        let is_absent = |column: &usize| !target.fields.contains(column);
        let absent = (0..target.columns.len()).filter(is_absent).collect();
        let null = options.null.clone().into_bytes();
        Ok(Self { target, fields, absent, null, dialect, file })
    }

    /// Makes one empty buffer per column of the table.
    pub(crate) fn buffers(&self) -> Vec<ColumnBuffer> {
        self.target.columns.iter().map(|column| ColumnBuffer::new(column.column_type)).collect()
    }

    pub(crate) fn column_name(&self, column: usize) -> &str {
        &self.target.columns[column].name
    }
}

fn check_columns(target: &Target) -> Result<()> {
    if target.fields.is_empty() {
        return Err(Error::new(ErrorKind::NotSupported, "not supported: COPY without a column"));
    }
    for (position, &column) in target.fields.iter().enumerate() {
        let Some(TargetColumn { name, .. }) = target.columns.get(column) else {
            let message = format!(
                "column number {} of relation \"{}\" does not exist",
                column + 1,
                target.relation
            );
            return Err(Error::new(ErrorKind::UndefinedColumn, message));
        };
        if target.fields[..position].contains(&column) {
            let message = format!("column \"{name}\" specified more than once");
            return Err(Error::new(ErrorKind::DuplicateColumn, message));
        }
    }
    Ok(())
}

fn check_forced(option: &str, names: &[String], target: &Target) -> Result<()> {
    for name in names {
        let Some(column) = target.columns.iter().position(|column| column.name == *name) else {
            let relation = &target.relation;
            let message = format!("column \"{name}\" of relation \"{relation}\" does not exist");
            return Err(Error::new(ErrorKind::UndefinedColumn, message));
        };
        if !target.fields.contains(&column) {
            let message = format!("{option} column \"{name}\" not referenced by COPY");
            return Err(Error::new(ErrorKind::InvalidColumnReference, message));
        }
    }
    Ok(())
}
