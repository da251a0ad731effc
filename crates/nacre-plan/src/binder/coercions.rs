//! Has expressions become values of the types that their places want.

use nacre_functions::coercion::{CoercionPathway, find_pathway};
use nacre_syntax::SourceRange;
use nacre_types::catalog::{CastContext, TypeOid};
use nacre_types::{SqlType, SqlValue, TypeModifier, cast_value};

use super::Binder;
use crate::algebra::{CastStep, ConstantValue, ScalarExpression, ScalarKind};
use crate::error::BindError;

impl Binder<'_> {
    /// Returns the expression as a value of `target`; an error of a cast is at `range`.
    ///
    /// # Errors
    /// 42846 if there is no cast in this context; those of reading a literal.
    pub(super) fn coerce(
        &mut self,
        expression: ScalarExpression,
        target: SqlType,
        context: CastContext,
        range: SourceRange,
    ) -> Result<ScalarExpression, BindError> {
        let plain = self.coerce_to_type(expression, target, context, range)?;
        let (has, wants) = (plain.sql_type.modifier(), target.modifier());
        if wants == TypeModifier::NONE || has == wants {
            return Ok(plain);
        }
        let range = plain.range;
        let is_explicit = context == CastContext::Explicit;
        let method = CastStep::Modifier { is_explicit };
        let kind = ScalarKind::Cast { operand: Box::new(plain), method };
        Ok(ScalarExpression::new(kind, target, range))
    }

    /// As [`Self::coerce`], of a cast that is written: a value stays as it is if its type only
    /// loses a modifier.
    ///
    /// # Errors
    /// As [`Self::coerce`].
    pub(super) fn cast(
        &mut self,
        expression: ScalarExpression,
        target: SqlType,
        range: SourceRange,
    ) -> Result<ScalarExpression, BindError> {
        let mut cast = self.coerce(expression, target, CastContext::Explicit, range)?;
        if target.modifier() == TypeModifier::NONE && cast.sql_type.modifier() != TypeModifier::NONE
        {
            let method = CastStep::Type(CoercionPathway::Same);
            let kind = ScalarKind::Cast { operand: Box::new(cast), method };
            cast = ScalarExpression::new(kind, target, range);
        }
        cast.range = range;
        Ok(cast)
    }

    fn coerce_to_type(
        &mut self,
        expression: ScalarExpression,
        target: SqlType,
        context: CastContext,
        range: SourceRange,
    ) -> Result<ScalarExpression, BindError> {
        let ScalarExpression { kind, sql_type: source, range: own } = expression;
        let plain = target.without_modifier();
        if source.oid() == target.oid() {
            return Ok(ScalarExpression::new(kind, source, own));
        }
        if source.oid() == TypeOid::UNKNOWN {
            let kind = match kind {
                ScalarKind::UnknownLiteral(text) => {
                    // `interval '90' day`: the fields say what a number without a unit counts.
                    let is_interval = plain.oid() == TypeOid::INTERVAL;
                    let read_as = if is_interval { target } else { plain };
                    let value = SqlValue::parse(&text, read_as, self.settings);
                    let value = value.map_err(|error| BindError::of_value(&error, own))?;
                    let kind = ScalarKind::Constant(ConstantValue(value));
                    return Ok(ScalarExpression::new(kind, read_as, own));
                }
                ScalarKind::Parameter(number) => {
                    self.note_parameter(number, plain, own)?;
                    ScalarKind::Parameter(number)
                }
                other => other,
            };
            return Ok(ScalarExpression::new(kind, plain, own));
        }
        let Some(pathway) = find_pathway(target.oid(), source.oid(), context) else {
            let (from, to) = (source.to_string(), target.to_string());
            let message = format!("cannot cast type {from} to {to}");
            return Err(BindError::new("42846", message, range));
        };
        let inner = ScalarExpression::new(kind, source, own);
        let is_same = pathway == CoercionPathway::Same;
        let method = CastStep::Type(pathway);
        // A constant that only gets another name of the same bytes stays one.
        if is_same && let ScalarKind::Constant(ConstantValue(value)) = inner.kind {
            let value = cast_value(value, source, plain, context, self.settings);
            let value = value.map_err(|error| BindError::of_value(&error, range))?;
            let kind = ScalarKind::Constant(ConstantValue(value));
            return Ok(ScalarExpression::new(kind, plain, own));
        }
        let kind = ScalarKind::Cast { operand: Box::new(inner), method };
        Ok(ScalarExpression::new(kind, plain, own))
    }

    /// Returns the expression as a truth value for a clause such as WHERE.
    pub(super) fn coerce_to_boolean(
        &mut self,
        expression: ScalarExpression,
        clause: &str,
    ) -> Result<ScalarExpression, BindError> {
        let (source, range) = (expression.sql_type, expression.range);
        let is_reachable = source.oid() == TypeOid::UNKNOWN
            || find_pathway(TypeOid::BOOL, source.oid(), CastContext::Implicit).is_some();
        if !is_reachable {
            let found = source.to_string();
            let message = format!("argument of {clause} must be type boolean, not type {found}");
            return Err(BindError::new("42804", message, range));
        }
        self.coerce(expression, SqlType::BOOLEAN, CastContext::Implicit, range)
    }

    /// Gives a literal that no place has given a type the type text.
    pub(super) fn settle(
        &mut self,
        expression: ScalarExpression,
    ) -> Result<ScalarExpression, BindError> {
        if expression.sql_type.oid() != TypeOid::UNKNOWN {
            return Ok(expression);
        }
        let range = expression.range;
        self.coerce(expression, SqlType::TEXT, CastContext::Implicit, range)
    }
}
