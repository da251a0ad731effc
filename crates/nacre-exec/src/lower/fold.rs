//! Values of expressions without columns.
//!
//! All operators and casts that the lowering has and that may fail are folded here, so that one on
//! constants never fails for the rows that reach it: PostgreSQL raises its error before the first.

use nacre_plan::algebra::ScalarExpression;
use nacre_types::SqlValue;

use super::constants::CONSTANT_BYTES_MAX;
use super::error::{LoweringError, LoweringResult};
use super::row_expression::RowExpression;
use crate::value::{ScalarValue, ValueClass};

/// Returns the value of an expression of constants; `None` if it is none, or not computed here.
///
/// # Errors
/// [`LoweringError::NotSupported`] for what PostgreSQL refuses to compute: its words are for others
/// to find.
pub(super) fn fold_constant(expression: &ScalarExpression) -> LoweringResult<Option<SqlValue>> {
    let Some(row) = RowExpression::compile(expression, &mut |_, _| None) else { return Ok(None) };
    if row.has_inputs() {
        return Ok(None);
    }
    let value = row.evaluate(&|_| ScalarValue::Null(ValueClass::Bool));
    if let Ok(SqlValue::Text(text)) = &value
        && text.len() > CONSTANT_BYTES_MAX as usize
    {
        return Err(LoweringError::not_supported("a constant this long"));
    }
    value
        .map(Some)
        .map_err(|error| LoweringError::not_supported(format!("a constant that fails ({error})")))
}
