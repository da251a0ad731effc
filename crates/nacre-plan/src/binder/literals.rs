//! Constants.

use nacre_syntax::SourceRange;
use nacre_syntax::{ExpressionKind, ExpressionNode, LiteralValue, OperatorName, TypedLiteral};
use nacre_types::catalog::CastContext;
use nacre_types::{SqlType, SqlValue};

use super::Binder;
use crate::algebra::{ConstantValue, ScalarExpression, ScalarKind};
use crate::error::BindError;

impl Binder<'_> {
    pub(super) fn bind_literal(
        &mut self,
        literal: &LiteralValue,
        range: SourceRange,
    ) -> Result<ScalarExpression, BindError> {
        let constant = |value, sql_type| {
            Ok(ScalarExpression::new(ScalarKind::Constant(ConstantValue(value)), sql_type, range))
        };
        match literal {
            LiteralValue::Null => constant(SqlValue::Null, SqlType::UNKNOWN),
            LiteralValue::Boolean(value) => constant(SqlValue::Boolean(*value), SqlType::BOOLEAN),
            LiteralValue::Integer(value) => constant(SqlValue::Integer(*value), SqlType::INTEGER),
            LiteralValue::Decimal(digits) => {
                let sql_type = decimal_type(digits);
                let value = SqlValue::parse(digits, sql_type, self.settings);
                constant(value.map_err(|error| BindError::of_value(&error, range))?, sql_type)
            }
            LiteralValue::Text(text) => {
                let kind = ScalarKind::UnknownLiteral(text.clone());
                Ok(ScalarExpression::new(kind, SqlType::UNKNOWN, range))
            }
            LiteralValue::BitString(digits) => self.bind_bits('b', digits, range),
            LiteralValue::HexString(digits) => self.bind_bits('x', digits, range),
        }
    }

    /// Binds a string of bits of any length.
    fn bind_bits(
        &mut self,
        base: char,
        digits: &str,
        range: SourceRange,
    ) -> Result<ScalarExpression, BindError> {
        let value = SqlValue::parse(&format!("{base}{digits}"), SqlType::BIT, self.settings);
        let value = value.map_err(|error| BindError::of_value(&error, range))?;
        let kind = ScalarKind::Constant(ConstantValue(value));
        Ok(ScalarExpression::new(kind, SqlType::BIT, range))
    }

    pub(super) fn bind_typed_literal(
        &mut self,
        literal: &TypedLiteral,
        range: SourceRange,
    ) -> Result<ScalarExpression, BindError> {
        let target = self.bind_type_name(&literal.type_name)?;
        let kind = ScalarKind::UnknownLiteral(literal.text.clone());
        let unknown = ScalarExpression::new(kind, SqlType::UNKNOWN, range);
        self.coerce(unknown, target, CastContext::Explicit, range)
    }
}

/// Returns the literal that a minus before a number beyond `integer` makes, so that the least
/// `integer` and `bigint` are of these types.
pub(super) fn negated_number(
    operator: &OperatorName,
    operand: &ExpressionNode,
) -> Option<LiteralValue> {
    let ExpressionKind::Literal(LiteralValue::Decimal(digits)) = &operand.kind else { return None };
    if operator.symbol != "-" || !operator.schema.is_empty() {
        return None;
    }
    let negated = format!("-{digits}");
    Some(match negated.parse::<i32>() {
        Ok(value) => LiteralValue::Integer(value),
        Err(_) => LiteralValue::Decimal(negated),
    })
}

/// A number without a point is `bigint` if it fits, since `integer` it is no more; else `numeric`.
fn decimal_type(digits: &str) -> SqlType {
    let whole = digits.strip_prefix('-').unwrap_or(digits);
    let is_whole = whole.bytes().all(|byte| byte.is_ascii_digit());
    if is_whole && digits.parse::<i64>().is_ok() { SqlType::BIGINT } else { SqlType::NUMERIC }
}
