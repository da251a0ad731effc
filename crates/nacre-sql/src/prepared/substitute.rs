//! Puts the values of parameters into a statement, as constants of their types.

use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{
    CastKind, Expr, Statement, UnaryOperator, Value as SqlValue, VisitMut, VisitorMut,
};
use datafusion::sql::sqlparser::dialect::PostgreSqlDialect;
use datafusion::sql::sqlparser::parser::Parser;
use nacre_column::{ColumnBuffer, ColumnType};
use nacre_store::Value;

use super::expressions::NUMERIC;
use super::parameters::parameter;
use crate::error::{Error, ErrorKind, Result};
use crate::from_datafusion::from_parser;

/// Replaces the parameters of a statement.
///
/// # Errors
/// 42P02 for a parameter without a value.
pub(super) fn substitute(
    statement: &mut Statement,
    types: &[ColumnType],
    values: &[Value],
) -> Result<()> {
    match statement.visit(&mut Substitute { types, values }) {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(error) => Err(error),
    }
}

struct Substitute<'a> {
    types: &'a [ColumnType],
    values: &'a [Value],
}

impl VisitorMut for Substitute<'_> {
    type Break = Error;

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<Error> {
        let Some(index) = parameter(expr) else { return ControlFlow::Continue(()) };
        let constant = match (self.types.get(index), self.values.get(index)) {
            (Some(column_type), Some(value)) => constant(*column_type, value),
            _ => {
                let message = format!("there is no parameter ${}", index + 1);
                Err(Error::new(ErrorKind::UndefinedObject, message).with_code("42P02"))
            }
        };
        match constant {
            Ok(constant) => {
                *expr = constant;
                ControlFlow::Continue(())
            }
            Err(error) => ControlFlow::Break(error),
        }
    }
}

/// Returns a literal for a number, in parentheses if it is negative.
fn number(text: &str) -> Expr {
    let digits = text.trim_start_matches('-');
    let literal = Expr::Value(SqlValue::Number(digits.to_owned(), false).into());
    match text.starts_with('-') {
        false => literal,
        true => Expr::Nested(Box::new(Expr::UnaryOp {
            op: UnaryOperator::Minus,
            expr: Box::new(literal),
        })),
    }
}

/// Returns an expression for a value of a type.
fn constant(column_type: ColumnType, value: &Value) -> Result<Expr> {
    let literal = |value: SqlValue| Expr::Value(value.into());
    let inner = match value {
        Value::Null => SqlValue::Null,
        // Such a literal has this type by itself, and LIMIT takes it.
        Value::Int(value) if column_type == ColumnType::BigInt && *value != i64::MIN => {
            return Ok(number(&value.to_string()));
        }
        value => {
            let mut buffer = ColumnBuffer::new(column_type);
            value.as_ref().push_to(&mut buffer);
            let mut text = Vec::new();
            nacre_column::text::write_value(&buffer, 0, &mut text);
            let text = String::from_utf8(text).map_err(|_| {
                Error::new(ErrorKind::InvalidData, "a text is not UTF-8").with_code("22021")
            })?;
            // With its own digits, and no more.
            if column_type == NUMERIC {
                return Ok(number(text.trim_end_matches('0').trim_end_matches('.')));
            }
            // Without a cast, which would make it something else than a literal.
            if column_type == (ColumnType::Varchar { max_chars: None }) {
                return Ok(literal(SqlValue::SingleQuotedString(text)));
            }
            SqlValue::SingleQuotedString(text)
        }
    };
    let name = column_type.to_string();
    let parsed = Parser::new(&PostgreSqlDialect {})
        .try_with_sql(&name)
        .and_then(|mut parser| parser.parse_data_type());
    Ok(Expr::Cast {
        kind: CastKind::Cast,
        expr: Box::new(literal(inner)),
        data_type: parsed.map_err(|error| from_parser(&error))?,
        array: false,
        format: None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_become_constants_of_their_types() {
        let text = |column_type, value| constant(column_type, &value).unwrap().to_string();
        assert_eq!(text(ColumnType::Integer, Value::Int(-7)), "CAST('-7' AS INTEGER)");
        assert_eq!(text(ColumnType::BigInt, Value::Int(-7)), "(-7)");
        assert_eq!(text(ColumnType::Date, Value::Int(1)), "CAST('1970-01-02' AS DATE)");
        assert_eq!(text(ColumnType::Double, Value::Null), "CAST(NULL AS DOUBLE PRECISION)");
        let varchar = ColumnType::Varchar { max_chars: None };
        assert_eq!(text(varchar, Value::Bytes(b"it's".to_vec())), "'it''s'");
        let decimal = ColumnType::Decimal { precision: 5, scale: 2 };
        assert_eq!(text(decimal, Value::Int(150)), "CAST('1.50' AS NUMERIC(5,2))");
        let one = 10_i128.pow(18);
        assert_eq!(text(NUMERIC, Value::Int128(one * 5 / 4)), "1.25");
        assert_eq!(text(NUMERIC, Value::Int128(-one * 20)), "(-20)");
    }
}
