//! Where a column's value comes from: a literal, read at once by the syntax of the column's type,
//! an output of the statement's query, or the column's DEFAULT.

use datafusion::arrow::array::RecordBatch;
use datafusion::sql::sqlparser::ast::{Expr, UnaryOperator, Value};
use nacre_column::{ColumnBuffer, ColumnType};
use nacre_store::ColumnDef;

use super::assign::{self, push_digits, push_syntax};
use crate::error::{Error, ErrorKind, Result};
use crate::rules::Drawn;

/// The source of a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Cell {
    Null,
    /// A text in quotes, of no type yet.
    Text(String),
    /// Digits, perhaps with a point and a sign, for a column of numbers.
    Number(String),
    Boolean(bool),
    /// The DEFAULT expression of this column, which is no literal.
    Default(usize),
    /// An output of the query; whether it is a text literal there.
    Output {
        index: usize,
        is_literal: bool,
    },
}

impl Cell {
    /// Returns the cell for an expression that is a literal for a column of type `target`.
    pub(crate) fn literal(expr: &Expr, target: ColumnType) -> Option<Self> {
        let is_number = assign::is_number(target);
        match expr {
            Expr::Value(value) => match &value.value {
                Value::Null => Some(Self::Null),
                Value::Boolean(value) if target == ColumnType::Boolean => {
                    Some(Self::Boolean(*value))
                }
                Value::Number(text, false) if is_number && is_plain(text) => {
                    Some(Self::Number(text.clone()))
                }
                other => text_literal(other).map(|text| Self::Text(text.to_owned())),
            },
            Expr::UnaryOp { op: UnaryOperator::Minus, expr } => match expr.as_ref() {
                Expr::Value(value) => match &value.value {
                    Value::Number(text, false) if is_number && is_plain(text) => {
                        Some(Self::Number(format!("-{text}")))
                    }
                    _ => None,
                },
                _ => None,
            },
            _ => None,
        }
    }

    /// Appends the value for a row to the buffer of its column: the row of `outputs` that is
    /// named, or what was drawn for the column.
    ///
    /// # Errors
    /// 22P02, 22003, 22001 and the like, 42804.
    pub(crate) fn push(
        &self,
        outputs: Option<(&RecordBatch, usize)>,
        drawn: &mut Drawn,
        column: &ColumnDef,
        buffer: &mut ColumnBuffer,
    ) -> Result<()> {
        let (array, row, is_literal) = match *self {
            Self::Output { index, is_literal } => {
                let (batch, row) = outputs.ok_or_else(missing)?;
                (batch.columns().get(index).ok_or_else(missing)?, row, is_literal)
            }
            Self::Default(of) => {
                let (array, row) = drawn.next(of)?;
                (array, row, false)
            }
            _ => return self.push_literal(buffer),
        };
        assign::check(array.data_type(), column, is_literal)?;
        assign::push(array, row, column, is_literal, buffer)
    }

    /// Appends a literal to the buffer of its column; anything else is nobody's literal.
    ///
    /// # Errors
    /// 22P02, 22003, 22001 and the like.
    pub(crate) fn push_literal(&self, buffer: &mut ColumnBuffer) -> Result<()> {
        match self {
            Self::Null | Self::Output { .. } | Self::Default(_) => buffer.push_null(),
            Self::Text(text) => return push_syntax(text, buffer),
            Self::Number(digits) => return push_digits(digits, buffer),
            Self::Boolean(value) => buffer.push_int((*value).into()),
        }
        Ok(())
    }
}

/// Tells whether an expression is a text in quotes, which has no type before it is assigned.
pub(super) fn is_text_literal(expr: &Expr) -> bool {
    matches!(expr, Expr::Value(value) if text_literal(&value.value).is_some())
}

fn text_literal(value: &Value) -> Option<&str> {
    match value {
        Value::SingleQuotedString(text)
        | Value::EscapedStringLiteral(text)
        | Value::UnicodeStringLiteral(text) => Some(text),
        Value::DollarQuotedString(text) => Some(&text.value),
        _ => None,
    }
}

pub(super) fn missing() -> Error {
    Error::new(ErrorKind::Internal, "internal error: a query lacks an output that it was made for")
}

/// Whether it has neither an exponent, which makes it a double, nor another base.
fn is_plain(number: &str) -> bool {
    number.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.')
}
