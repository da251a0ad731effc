//! DEFAULT expressions, evaluated for rows that do not say.

use datafusion::arrow::array::{ArrayRef, RecordBatch, RecordBatchOptions};
use datafusion::arrow::datatypes::{DataType, Schema};
use datafusion::common::DFSchema;
use std::sync::Arc;

use nacre_store::{Table, TableRules};

use super::expressions::{Clause, Expressions, parse};
use crate::error::{Error, ErrorKind, Result};
use crate::planner::Planner;

/// The compiled expressions of some columns: of identity columns, and of others.
#[derive(Debug)]
pub(crate) struct DefaultValues([Compiled; 2]);

#[derive(Debug)]
struct Compiled {
    columns: Vec<usize>,
    expressions: Expressions,
}

/// Values that were computed for rows, handed out one after the other for each column.
#[derive(Default)]
pub(crate) struct Drawn(Vec<DrawnColumn>);

struct DrawnColumn {
    column: usize,
    values: ArrayRef,
    next: usize,
}

impl DefaultValues {
    /// Compiles the expressions of `columns`, all of which have one.
    ///
    /// # Errors
    /// Those of the planner.
    pub(crate) fn of(planner: &Planner, table: &Table, columns: Vec<usize>) -> Result<Self> {
        Self::in_rules(planner, &table.rules(), columns)
    }

    /// As [`DefaultValues::of`], for a table that is not there yet.
    ///
    /// # Errors
    /// Those of the planner.
    pub(crate) fn in_rules(
        planner: &Planner,
        rules: &TableRules,
        columns: Vec<usize>,
    ) -> Result<Self> {
        let text = |column: &usize| {
            let default = rules.defaults.get(column).ok_or_else(missing)?;
            parse(&default.text)
        };
        let is_identity = |column: &usize| {
            rules.defaults.get(column).is_some_and(|default| default.identity.is_some())
        };
        let (identities, others) = columns.into_iter().partition(is_identity);
        let compiled = |columns: Vec<usize>, clause| {
            let exprs = columns.iter().map(text).collect::<Result<_>>()?;
            let expressions = Expressions::compile(planner, &DFSchema::empty(), clause, exprs)?;
            Ok::<_, Error>(Compiled { columns, expressions })
        };
        Ok(Self([compiled(identities, Clause::Identity)?, compiled(others, Clause::Default)?]))
    }

    /// Whether there is none.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.iter().all(|compiled| compiled.columns.is_empty())
    }

    /// Whether they are the same for other statements.
    pub(crate) fn are_lasting(&self) -> bool {
        self.0.iter().all(|compiled| compiled.expressions.is_lasting())
    }

    /// Compiles one expression and returns its type.
    ///
    /// # Errors
    /// Those of the planner.
    pub(crate) fn type_of(planner: &Planner, text: &str) -> Result<DataType> {
        let exprs = vec![parse(text)?];
        let compiled = Expressions::compile(planner, &DFSchema::empty(), Clause::Default, exprs)?;
        compiled.data_type(0).cloned().ok_or_else(missing)
    }

    /// Evaluates each expression for as many rows as `rows` says for its column.
    ///
    /// # Errors
    /// Those of evaluating.
    pub(crate) fn draw(&self, rows: impl Fn(usize) -> usize) -> Result<Drawn> {
        let mut drawn = Vec::new();
        let of_all = self.0.iter().flat_map(|compiled| {
            let columns = compiled.columns.iter().enumerate();
            columns.map(|(number, column)| (&compiled.expressions, number, *column))
        });
        for (expressions, number, column) in of_all {
            let options = RecordBatchOptions::new().with_row_count(Some(rows(column)));
            let batch =
                RecordBatch::try_new_with_options(Arc::new(Schema::empty()), Vec::new(), &options)?;
            let values = expressions.evaluate(number, &batch)?;
            drawn.push(DrawnColumn { column, values, next: 0 });
        }
        Ok(Drawn(drawn))
    }
}

impl Drawn {
    /// Hands out the next value of a column: where it is.
    ///
    /// # Errors
    /// `Internal` if none was drawn.
    pub(crate) fn next(&mut self, column: usize) -> Result<(&ArrayRef, usize)> {
        let drawn = self.0.iter_mut().find(|drawn| drawn.column == column);
        let drawn = drawn.filter(|drawn| drawn.next < drawn.values.len()).ok_or_else(missing)?;
        drawn.next += 1;
        Ok((&drawn.values, drawn.next - 1))
    }
}

fn missing() -> Error {
    Error::new(ErrorKind::Internal, "internal error: a column has no default that it was to have")
}
