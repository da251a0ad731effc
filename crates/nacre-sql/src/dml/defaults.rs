//! DEFAULT in statements that change rows: where the values of columns come from that a row does
//! not say.

use datafusion::arrow::datatypes::DataType;
use datafusion::sql::sqlparser::ast::Expr;
use nacre_column::ColumnBuffer;
use nacre_store::{ColumnDef, Table, TableRules, TableSchema};

use super::assign;
use super::cell::Cell;
use crate::error::{Error, ErrorKind, Result};
use crate::planner::Planner;
use crate::rules::{DefaultValues, parse};

/// Whether an expression is the keyword DEFAULT.
pub(crate) fn is_default(expr: &Expr) -> bool {
    matches!(expr, Expr::Identifier(name)
        if name.quote_style.is_none() && name.value.eq_ignore_ascii_case("default"))
}

impl Cell {
    /// Returns what a column holds in rows that do not say.
    ///
    /// # Errors
    /// `Syntax` if the text that was stored is not read any more.
    pub(crate) fn default_of(table: &Table, column: usize) -> Result<Self> {
        Self::default_in(&table.rules(), &table.schema(), column)
    }

    /// As [`Cell::default_of`], for a table that is not there yet.
    ///
    /// # Errors
    /// As for [`Cell::default_of`].
    pub(crate) fn default_in(
        rules: &TableRules,
        schema: &TableSchema,
        column: usize,
    ) -> Result<Self> {
        let Some(default) = rules.defaults.get(&column) else { return Ok(Self::Null) };
        let literal = Self::literal(&parse(&default.text)?, schema.columns[column].column_type);
        Ok(literal.unwrap_or(Self::Default(column)))
    }

    /// Returns what all columns hold in rows that say nothing.
    ///
    /// # Errors
    /// As for [`Cell::default_of`].
    pub(super) fn defaults_of(table: &Table) -> Result<Vec<Self>> {
        (0..table.schema().columns.len()).map(|column| Self::default_of(table, column)).collect()
    }
}

/// Compiles the defaults that some cells ask for.
///
/// # Errors
/// Those of the planner.
pub(super) fn compiled<'a>(
    planner: &Planner,
    table: &Table,
    cells: impl Iterator<Item = &'a Cell>,
) -> Result<DefaultValues> {
    let mut columns: Vec<usize> = cells
        .filter_map(|cell| match cell {
            Cell::Default(column) => Some(*column),
            _ => None,
        })
        .collect();
    columns.sort_unstable();
    columns.dedup();
    DefaultValues::of(planner, table, columns)
}

/// Refuses a DEFAULT that its column cannot take; `type_of` compiles it.
///
/// # Errors
/// 42804, 22P02 and the like, those of `type_of`.
pub(crate) fn check_default(
    expr: &Expr,
    column: &ColumnDef,
    type_of: impl FnOnce() -> Result<DataType>,
) -> Result<()> {
    if let Some(literal) = Cell::literal(expr, column.column_type) {
        return literal.push_literal(&mut ColumnBuffer::new(column.column_type));
    }
    let data_type = type_of()?;
    assign::check(&data_type, column, false).map_err(|error| {
        let message = error.message().replace("but expression", "but default expression");
        Error::new(ErrorKind::InvalidStatement, message)
            .with_code("42804")
            .with_hint("You will need to rewrite or cast the expression.")
    })
}
