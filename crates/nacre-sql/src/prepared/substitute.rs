//! Puts the values of parameters into a statement, as constants of their types.

use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{
    CastKind, Expr, Statement, UnaryOperator, Value as SqlValue, VisitMut, VisitorMut,
};
use datafusion::sql::sqlparser::dialect::PostgreSqlDialect;
use datafusion::sql::sqlparser::parser::Parser;
use nacre_column::ColumnType;
use nacre_store::Value;

use super::expressions::{NUMERIC, TEXT};
use super::parameters::parameter;
use super::types::{ParameterType, numeric_type, value_text};
use crate::error::{Error, ErrorKind, Result};
use crate::from_datafusion::from_parser;
use crate::pg_catalog::{array_function, call, text_function};
use crate::pg_types::PgType;

/// Replaces the parameters of a statement.
///
/// # Errors
/// 42P02 for a parameter without a value.
pub(super) fn substitute(
    statement: &mut Statement,
    types: &[ParameterType],
    values: &[Value],
) -> Result<()> {
    match statement.visit(&mut Substitute { types, values }) {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(error) => Err(error),
    }
}

struct Substitute<'a> {
    types: &'a [ParameterType],
    values: &'a [Value],
}

impl VisitorMut for Substitute<'_> {
    type Break = Error;

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<Error> {
        let Some(index) = parameter(expr) else { return ControlFlow::Continue(()) };
        let constant = match (self.types.get(index), self.values.get(index)) {
            (Some(parameter), Some(value)) => constant(*parameter, value),
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
fn constant(parameter: ParameterType, value: &Value) -> Result<Expr> {
    if parameter.is_numeric() {
        return numeric(value, parameter.is_named);
    }
    match parameter.is_named {
        true => named(parameter, value),
        false => of_column(parameter.column, value),
    }
}

/// Returns an expression for a number, with its own digits and no more: a literal, or what is of
/// type numeric wherever it stands.
fn numeric(value: &Value, is_named: bool) -> Result<Expr> {
    let digits = match value {
        Value::Null => return cast(SqlValue::Null, "numeric"),
        Value::Bytes(digits) => String::from_utf8_lossy(digits).into_owned(),
        value => {
            let text = value_text(NUMERIC, value)?;
            text.trim_end_matches('0').trim_end_matches('.').to_owned()
        }
    };
    match is_named {
        false => Ok(number(&digits)),
        true => cast(SqlValue::SingleQuotedString(digits.clone()), &numeric_type(&digits)),
    }
}

/// Returns an expression for a value of a type that no column has.
fn named(parameter: ParameterType, value: &Value) -> Result<Expr> {
    let text = match value {
        Value::Null => SqlValue::Null,
        value => SqlValue::SingleQuotedString(value_text(parameter.column, value)?),
    };
    let name = PgType::with_oid(parameter.oid).map_or("text", |found| found.name);
    let array = parameter.element().and_then(array_function);
    match array.or_else(|| text_function(name)) {
        Some(function) => Ok(call(function, vec![Expr::Value(text.into())])),
        // Otherwise it would count nanoseconds, of which there are not enough for all years.
        None if name == "timestamptz" => cast(text, "timestamptz(6)"),
        None => cast(text, name),
    }
}

/// Returns an expression for a value of a type that columns have.
fn of_column(column_type: ColumnType, value: &Value) -> Result<Expr> {
    let inner = match value {
        Value::Null => SqlValue::Null,
        // Such a literal has this type by itself, and LIMIT takes it.
        Value::Int(value) if column_type == ColumnType::BigInt && *value != i64::MIN => {
            return Ok(number(&value.to_string()));
        }
        value => {
            let text = value_text(column_type, value)?;
            // Without a cast, which would make it something else than a literal.
            if column_type == TEXT {
                return Ok(Expr::Value(SqlValue::SingleQuotedString(text).into()));
            }
            SqlValue::SingleQuotedString(text)
        }
    };
    cast(inner, &column_type.to_string())
}

fn cast(literal: SqlValue, type_name: &str) -> Result<Expr> {
    let parsed = Parser::new(&PostgreSqlDialect {})
        .try_with_sql(type_name)
        .and_then(|mut parser| parser.parse_data_type());
    Ok(Expr::Cast {
        kind: CastKind::Cast,
        expr: Box::new(Expr::Value(literal.into())),
        data_type: parsed.map_err(|error| from_parser(&error))?,
        array: false,
        format: None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_types_that_no_column_has_say_theirs() {
        let text = |oid, value| {
            constant(ParameterType::with_oid(oid).unwrap(), &value).unwrap().to_string()
        };
        let array = Value::Bytes(b"{1,2}".to_vec());
        assert_eq!(text(1007, array), "nacre_int4_array('{1,2}')");
        assert_eq!(text(1007, Value::Null), "nacre_int4_array(NULL)");
        assert_eq!(text(114, Value::Bytes(b"{}".to_vec())), "nacre_json('{}')");
        assert_eq!(text(26, Value::Int(7)), "CAST('7' AS oid)");
    }

    #[test]
    fn values_become_constants_of_their_types() {
        let text = |column_type, value| {
            constant(ParameterType::of_column(column_type), &value).unwrap().to_string()
        };
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
        assert_eq!(text(NUMERIC, Value::Bytes(b"-1.50".to_vec())), "(-1.50)");
    }
}
