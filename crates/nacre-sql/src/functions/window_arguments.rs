//! Checks arguments of window functions as PostgreSQL does; a null offset makes the call null.

use datafusion::arrow::datatypes::DataType;
use datafusion::common::{Result, ScalarValue};
use datafusion::logical_expr::Expr;
use datafusion::logical_expr::expr::{Cast, WindowFunction};
use datafusion::sql::sqlparser::ast::helpers::attached_token::AttachedToken;
use datafusion::sql::sqlparser::ast::{
    CaseWhen, Expr as SqlExpr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, Value,
};

use crate::error::{Error, ErrorKind};
use crate::from_datafusion::external;
use crate::names::fold;

/// Refuses a number that is not greater than zero where one has to be.
///
/// # Errors
/// 22016 for `nth_value`, 22014 for `ntile`.
pub(crate) fn check_window_call(call: &WindowFunction) -> Result<()> {
    let (place, code) = match call.fun.name() {
        "nth_value" => (1, "22016"),
        "ntile" => (0, "22014"),
        _ => return Ok(()),
    };
    let number = call.params.args.get(place).and_then(literal_number);
    if number.is_none_or(|number| number > 0) {
        return Ok(());
    }
    let message = format!("argument of {} must be greater than zero", call.fun.name());
    Err(external(Error::new(ErrorKind::InvalidData, message).with_code(code)))
}

fn literal_number(expr: &Expr) -> Option<i64> {
    match expr {
        Expr::Literal(value, _) => match value.cast_to(&DataType::Int64) {
            Ok(ScalarValue::Int64(number)) => number,
            _ => None,
        },
        Expr::Negative(inner) => literal_number(inner).map(i64::wrapping_neg),
        Expr::Cast(Cast { expr, .. }) => literal_number(expr),
        _ => None,
    }
}

/// Returns what stands for `lag(a, NULL)` and the like, which are null in all rows; the type is
/// that of the call with 1.
pub(crate) fn null_window_call(function: &mut Function) -> Option<SqlExpr> {
    let name = fold(function.name.0.last()?.as_ident()?);
    let place = match name.as_str() {
        "lag" | "lead" | "nth_value" => 1,
        "ntile" => 0,
        _ => return None,
    };
    function.over.as_ref()?;
    let FunctionArguments::List(list) = &mut function.args else { return None };
    let FunctionArg::Unnamed(FunctionArgExpr::Expr(number)) = list.args.get_mut(place)? else {
        return None;
    };
    if !is_null(number) {
        return None;
    }
    *number = SqlExpr::Value(Value::Number("1".to_owned(), false).into());
    let never = SqlExpr::Value(Value::Boolean(false).into());
    let result = SqlExpr::Function(function.clone());
    Some(SqlExpr::Case {
        case_token: AttachedToken::empty(),
        end_token: AttachedToken::empty(),
        operand: None,
        conditions: vec![CaseWhen { condition: never, result }],
        else_result: None,
    })
}

fn is_null(expr: &SqlExpr) -> bool {
    match expr {
        SqlExpr::Value(value) => value.value == Value::Null,
        SqlExpr::Cast { expr, .. } | SqlExpr::Nested(expr) => is_null(expr),
        _ => false,
    }
}
