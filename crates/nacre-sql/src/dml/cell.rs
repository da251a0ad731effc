//! Where a column's value comes from: a literal, read at once by the syntax of the column's type,
//! or an output of the statement's query.

use datafusion::sql::sqlparser::ast::{Expr, UnaryOperator, Value};
use nacre_column::{ColumnBuffer, ColumnType};

use super::assign::{push_digits, push_syntax};
use crate::error::Result;

/// The source of a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Cell {
    Null,
    /// A text in quotes, of no type yet.
    Text(String),
    /// Digits, perhaps with a point and a sign, for a column of numbers.
    Number(String),
    Boolean(bool),
    /// An output of the query; whether it is a text literal there.
    Output {
        index: usize,
        is_literal: bool,
    },
}

impl Cell {
    /// Returns the cell for an expression that is a literal for a column of type `target`.
    pub(super) fn literal(expr: &Expr, target: ColumnType) -> Option<Self> {
        let is_number = matches!(
            target,
            ColumnType::SmallInt
                | ColumnType::Integer
                | ColumnType::BigInt
                | ColumnType::Decimal { .. }
                | ColumnType::Real
                | ColumnType::Double
        );
        match expr {
            // Columns have no defaults yet.
            Expr::Identifier(name)
                if name.quote_style.is_none() && name.value.eq_ignore_ascii_case("default") =>
            {
                Some(Self::Null)
            }
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

    /// Appends a literal to the buffer of its column; an output is nobody's literal.
    ///
    /// # Errors
    /// 22P02, 22003, 22001 and the like.
    pub(super) fn push_to(&self, buffer: &mut ColumnBuffer) -> Result<()> {
        match self {
            Self::Null | Self::Output { .. } => buffer.push_null(),
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

/// Whether it has neither an exponent, which makes it a double, nor another base.
fn is_plain(number: &str) -> bool {
    number.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.')
}
