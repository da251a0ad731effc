//! A query with a physical plan.

use nacre_types::{SqlType, SqlValue};

use super::columns::ColumnPlace;
use super::form::ValueForm;
use crate::error::{ExecError, ExecResult};
use crate::plan::PhysicalPlan;
use crate::vector::ResultBatch;

/// A physical plan, and the outputs that its columns stand for.
#[derive(Clone, Debug)]
pub struct PhysicalQuery {
    pub plan: PhysicalPlan,
    /// In the order of the SELECT list. The plan's answer may have further columns, and in another
    /// order.
    pub outputs: Vec<QueryOutput>,
}

/// A column of the answer.
#[derive(Clone, Debug)]
pub struct QueryOutput {
    pub name: String,
    pub sql_type: SqlType,
    pub(super) place: ColumnPlace,
}

/// How the values of an output lie in an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutputForm {
    /// The column at `index` has the values of the type: numbers and truth values as they are,
    /// characters (`bpchar` without blanks at its end) and bytes, days and microseconds from
    /// 1970-01-01.
    Plain { index: usize },
    /// The column at `index` has whole numbers, which are decimals of this scale with at most so
    /// many digits, 1 to 38.
    Decimal { index: usize, digits: u8, scale: u8 },
    /// [`QueryOutput::value`] computes them.
    Computed,
}

impl QueryOutput {
    /// Returns how the values lie.
    pub fn form(&self) -> OutputForm {
        match self.place {
            ColumnPlace { index, form: ValueForm::Numeric { scale, digits } } => {
                match (u8::try_from(digits.max(scale).max(1)), u8::try_from(scale)) {
                    (Ok(digits), Ok(scale)) => OutputForm::Decimal { index, digits, scale },
                    _ => OutputForm::Computed,
                }
            }
            ColumnPlace { form, .. } if form.has_key_node() => OutputForm::Computed,
            ColumnPlace { index, .. } => OutputForm::Plain { index },
        }
    }

    /// Returns the value of this column in a row of an answer of the plan.
    ///
    /// # Errors
    /// The one that a numeric stands for; [`ExecError::Internal`] if the answer is not of this
    /// plan.
    pub fn value(&self, batch: &ResultBatch, row: usize) -> ExecResult<SqlValue> {
        let ColumnPlace { index, form } = self.place;
        let column = batch.columns.get(index).filter(|_| row < batch.rows);
        let column = column.ok_or_else(|| {
            ExecError::internal(format!("the answer has no row {row} of this plan"))
        })?;
        form.decode(column.scalar(row), self.sql_type)
    }
}
