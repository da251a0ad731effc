//! Parameters: each has a declared type, or that of the first place that wants one.

use nacre_syntax::SourceRange;
use nacre_types::SqlType;
use nacre_types::catalog::TypeOid;

use super::Binder;
use crate::algebra::{ScalarExpression, ScalarKind};
use crate::error::BindError;

impl Binder<'_> {
    pub(super) fn bind_parameter(
        &mut self,
        number: i32,
        range: SourceRange,
    ) -> Result<ScalarExpression, BindError> {
        let number = u32::try_from(number).ok();
        let number = number.filter(|number| (1..=u32::from(u16::MAX)).contains(number));
        let Some(number) = number.filter(|_| self.view.is_none()) else {
            let message = format!("there is no parameter ${}", number.unwrap_or_default());
            return Err(BindError::new("42P02", message, range));
        };
        let index = number as usize - 1;
        if self.parameters.len() <= index {
            self.parameters.resize(index + 1, None);
        }
        let sql_type = self.parameters[index].unwrap_or(SqlType::UNKNOWN);
        Ok(ScalarExpression::new(ScalarKind::Parameter(number), sql_type, range))
    }

    /// Returns the expression as it would be bound now: a parameter may have got a type since.
    pub(super) fn bound_again(&self, expression: ScalarExpression) -> ScalarExpression {
        match expression.kind {
            ScalarKind::Parameter(number) if expression.sql_type.oid() == TypeOid::UNKNOWN => {
                let known = self.parameters.get(number as usize - 1).copied().flatten();
                ScalarExpression { sql_type: known.unwrap_or(SqlType::UNKNOWN), ..expression }
            }
            _ => expression,
        }
    }

    /// Notes the type that a place wants of a parameter without one.
    ///
    /// # Errors
    /// 42P08 if another place wanted another type.
    pub(super) fn note_parameter(
        &mut self,
        number: u32,
        sql_type: SqlType,
        range: SourceRange,
    ) -> Result<(), BindError> {
        let Some(noted) = self.parameters.get_mut(number as usize - 1) else {
            let message = format!("there is no parameter ${number}");
            return Err(BindError::new("42P02", message, range));
        };
        match *noted {
            Some(known) if known != sql_type => {
                let message = format!("inconsistent types deduced for parameter ${number}");
                let detail = format!("{known} versus {sql_type}");
                Err(BindError::new("42P08", message, range).with_detail(detail))
            }
            _ => {
                *noted = Some(sql_type);
                Ok(())
            }
        }
    }
}
