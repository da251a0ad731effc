//! The parameters of a statement: which there are.

use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{Expr, Statement, Value, ValueWithSpan, Visit, Visitor};

use crate::error::{Error, ErrorKind, Result};

/// Most parameters of a statement, as in PostgreSQL.
const PARAMETERS_MAX: usize = 65_535;

/// Returns the number of a parameter from 0, if an expression is one.
pub(super) fn parameter(expr: &Expr) -> Option<usize> {
    let Expr::Value(value) = expr else { return None };
    let Value::Placeholder(name) = &value.value else { return None };
    name.strip_prefix('$')?.parse::<usize>().ok()?.checked_sub(1)
}

/// Returns how many parameters a statement has.
///
/// # Errors
/// 42P02 for `$0` and for placeholders of another form; 54011 if there are too many.
pub(crate) fn parameter_count(statement: &Statement) -> Result<usize> {
    struct Count(usize);
    impl Visitor for Count {
        type Break = Error;

        fn pre_visit_value(&mut self, value: &ValueWithSpan) -> ControlFlow<Error> {
            let Value::Placeholder(name) = &value.value else { return ControlFlow::Continue(()) };
            let number = name.strip_prefix('$').and_then(|digits| digits.parse::<usize>().ok());
            match number {
                Some(number @ 1..=PARAMETERS_MAX) => {
                    self.0 = self.0.max(number);
                    ControlFlow::Continue(())
                }
                Some(0) | None => {
                    let error = Error::new(
                        ErrorKind::UndefinedObject,
                        format!("there is no parameter {name}"),
                    );
                    ControlFlow::Break(error.with_code("42P02"))
                }
                Some(_) => {
                    let message = format!("more than {PARAMETERS_MAX} parameters");
                    let error = Error::new(ErrorKind::InvalidStatement, message);
                    ControlFlow::Break(error.with_code("54023"))
                }
            }
        }
    }
    let mut count = Count(0);
    match statement.visit(&mut count) {
        ControlFlow::Continue(()) => Ok(count.0),
        ControlFlow::Break(error) => Err(error),
    }
}
