//! What CREATE, ALTER and DROP ask for.

use datafusion::sql::sqlparser::ast::{
    AlterTable, AlterTableOperation, ColumnOption, ColumnOptionDef, CreateTable, ObjectName,
    Statement, TableConstraint,
};
use nacre_store::Store;

use super::check::Acting;
use crate::error::Result;
use crate::names::table_name;

/// Checks that a statement of the parser's may define what it does. Statements that define nothing
/// pass.
///
/// # Errors
/// 42501; that of a name that is none.
pub(crate) fn require_definition(
    acting: Acting,
    store: &Store,
    statement: &Statement,
) -> Result<()> {
    if acting.is_superuser {
        return Ok(());
    }
    let owner = |name: &ObjectName| acting.require_owner(store, &table_name(name)?);
    match statement {
        Statement::CreateTable(create) => {
            acting.require_create(store)?;
            require_created(acting, store, create)
        }
        Statement::CreateView(create) => {
            acting.require_create(store)?;
            owner(&create.name)
        }
        Statement::CreateSequence { .. } => acting.require_create(store),
        Statement::CreateIndex(create) => owner(&create.table_name),
        Statement::Drop { names, .. } => names.iter().try_for_each(owner),
        Statement::AlterTable(alter) => {
            owner(&alter.name)?;
            require_altered(acting, store, alter)
        }
        _ => Ok(()),
    }
}

fn require_created(acting: Acting, store: &Store, create: &CreateTable) -> Result<()> {
    for column in &create.columns {
        require_options(acting, store, &column.options)?;
    }
    create.constraints.iter().try_for_each(|one| require_constraint(acting, store, one))
}

fn require_altered(acting: Acting, store: &Store, alter: &AlterTable) -> Result<()> {
    for operation in &alter.operations {
        match operation {
            AlterTableOperation::AddConstraint { constraint, .. } => {
                require_constraint(acting, store, constraint)?;
            }
            AlterTableOperation::AddColumn { column_def, .. } => {
                require_options(acting, store, &column_def.options)?;
            }
            AlterTableOperation::RenameTable { .. } => acting.require_create(store)?,
            _ => {}
        }
    }
    Ok(())
}

fn require_options(acting: Acting, store: &Store, options: &[ColumnOptionDef]) -> Result<()> {
    for option in options {
        if let ColumnOption::ForeignKey(key) = &option.option {
            acting.require_reference(store, &table_name(&key.foreign_table)?)?;
        }
    }
    Ok(())
}

fn require_constraint(acting: Acting, store: &Store, constraint: &TableConstraint) -> Result<()> {
    match constraint {
        TableConstraint::ForeignKey(key) => {
            acting.require_reference(store, &table_name(&key.foreign_table)?)
        }
        _ => Ok(()),
    }
}
