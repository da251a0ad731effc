//! CHECK constraints, evaluated over rows that are about to be written.

use std::sync::Arc;

use datafusion::arrow::array::{Array, ArrayRef, AsArray, RecordBatch};
use datafusion::arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use datafusion::common::{DFSchema, TableReference};
use nacre_column::ColumnBuffer;
use nacre_store::{CheckRule, Table, TableSchema};

use super::expressions::{Clause, Expressions, parse};
use crate::error::{Error, ErrorKind, Result};
use crate::planner::Planner;
use crate::scan::buffer_array;
use crate::types::arrow_type;

/// The compiled constraints of a table.
#[derive(Debug)]
pub(crate) struct Checks {
    table: String,
    schema: SchemaRef,
    names: Vec<String>,
    expressions: Expressions,
}

impl Checks {
    /// Compiles the constraints of a table; `None` if it has none.
    ///
    /// # Errors
    /// Those of the planner, if what a constraint uses is there no more.
    pub(crate) fn of(planner: &Planner, table: &Table) -> Result<Option<Self>> {
        let rules = table.rules();
        match rules.checks.is_empty() {
            true => Ok(None),
            false => Self::compile(planner, &table.schema(), &rules.checks).map(Some),
        }
    }

    /// Compiles constraints of a table with these columns.
    ///
    /// # Errors
    /// 42703, 42804, 0A000, 42803, 42P20.
    pub(crate) fn compile(
        planner: &Planner,
        schema: &TableSchema,
        checks: &[CheckRule],
    ) -> Result<Self> {
        // All may be null: rows are checked before the store looks at nulls.
        let field = |column: &nacre_store::ColumnDef| {
            Field::new(&column.name, arrow_type(column.column_type), true)
        };
        let arrow: SchemaRef =
            Arc::new(Schema::new(schema.columns.iter().map(field).collect::<Vec<_>>()));
        let relation = TableReference::bare(schema.name.as_str());
        let columns = DFSchema::try_from_qualified_schema(relation, &arrow)?;
        let exprs = checks.iter().map(|check| parse(&check.text)).collect::<Result<_>>()?;
        let expressions = Expressions::compile(planner, &columns, Clause::Check, exprs)?;
        for number in 0..checks.len() {
            if let Some(other) = expressions.data_type(number)
                && !matches!(other, DataType::Boolean | DataType::Null)
            {
                let other = crate::types::type_name(other);
                let message = format!("argument of CHECK must be type boolean, not type {other}");
                return Err(Error::new(ErrorKind::InvalidStatement, message).with_code("42804"));
            }
        }
        let names = checks.iter().map(|check| check.name.clone()).collect();
        Ok(Self { table: schema.name.clone(), schema: arrow, names, expressions })
    }

    /// Whether they are the same for other statements.
    pub(crate) fn are_lasting(&self) -> bool {
        self.expressions.is_lasting()
    }

    /// Whether a constraint reads a column.
    pub(crate) fn read(&self, column: &str) -> bool {
        let of_one = |number| self.columns_of(number).iter().any(|name| name == column);
        (0..self.names.len()).any(of_one)
    }

    /// Returns the names of the columns that a constraint reads.
    pub(crate) fn columns_of(&self, number: usize) -> &[String] {
        self.expressions.columns_of(number)
    }

    /// Finds the first row that a constraint forbids, and the error for it; `columns` are all of
    /// the table, in its order.
    ///
    /// # Errors
    /// Those of evaluating.
    pub(crate) fn first_failure(
        &self,
        columns: &[&ColumnBuffer],
    ) -> Result<Option<(usize, Error)>> {
        let arrays: Vec<ArrayRef> =
            columns.iter().map(|column| Ok(buffer_array(column)?)).collect::<Result<_>>()?;
        let batch = RecordBatch::try_new(Arc::clone(&self.schema), arrays)?;
        let mut first: Option<(usize, &str)> = None;
        for (number, name) in self.names.iter().enumerate() {
            let passed = self.expressions.evaluate(number, &batch)?;
            // NULL passes.
            let Some(passed) = passed.as_boolean_opt() else { continue };
            let failed = (0..passed.len()).find(|&row| passed.is_valid(row) && !passed.value(row));
            if let Some(row) = failed.filter(|row| first.is_none_or(|(known, _)| *row < known)) {
                first = Some((row, name));
            }
        }
        let detailed =
            |(row, name)| (row, self.violation(name).with_detail(failing_row(columns, row)));
        Ok(first.map(detailed))
    }

    fn violation(&self, name: &str) -> Error {
        let table = &self.table;
        let message =
            format!("new row for relation \"{table}\" violates check constraint \"{name}\"");
        let error = Error::new(ErrorKind::ConstraintViolation, message).with_code("23514");
        error.of_constraint(table, name)
    }
}

/// Returns the sentence in which PostgreSQL shows a row that a constraint forbids.
pub(crate) fn failing_row(columns: &[&ColumnBuffer], row: usize) -> String {
    let value = |column: &&ColumnBuffer| {
        let mut text = Vec::new();
        match nacre_column::text::write_value(column, row, &mut text) {
            true => nacre_ingest::shown(&text),
            false => "null".to_owned(),
        }
    };
    let values: Vec<String> = columns.iter().map(value).collect();
    format!("Failing row contains ({}).", values.join(", "))
}
