//! Operators between bound operands.

use nacre_functions::catalog::OperatorEntry;
use nacre_functions::resolution::{OperatorCallError, ResolvedOperator, resolve_operator};
use nacre_syntax::OperatorName;
use nacre_syntax::SourceRange;
use nacre_types::SqlType;
use nacre_types::catalog::{CastContext, TypeOid};

use super::Binder;
use crate::algebra::{ScalarExpression, ScalarKind};
use crate::error::BindError;

/// An operator that was chosen, with its operands as it wants them.
pub(super) struct BoundOperator {
    pub(super) operator: &'static OperatorEntry,
    pub(super) operands: Vec<ScalarExpression>,
    pub(super) result: SqlType,
}

impl Binder<'_> {
    /// Chooses an operator for one or two operands and has them become what it takes.
    pub(super) fn choose_operator(
        &mut self,
        symbol: &str,
        operands: Vec<ScalarExpression>,
        range: SourceRange,
    ) -> Result<BoundOperator, BindError> {
        let types: Vec<TypeOid> = operands.iter().map(|one| one.sql_type.oid()).collect();
        let ResolvedOperator { entry, operands: wanted, result } = resolve_operator(symbol, &types)
            .map_err(|error| operator_error(error, symbol, &operands, range))?;
        let mut coerced = Vec::with_capacity(operands.len());
        for (operand, oid) in operands.into_iter().zip(wanted) {
            let target = SqlType::new(oid);
            coerced.push(self.coerce(operand, target, CastContext::Implicit, range)?);
        }
        Ok(BoundOperator { operator: entry, operands: coerced, result: SqlType::new(result) })
    }

    /// Makes an expression of an operator and its operands.
    pub(super) fn apply_operator(
        &mut self,
        symbol: &str,
        operands: Vec<ScalarExpression>,
        range: SourceRange,
    ) -> Result<ScalarExpression, BindError> {
        let own = operands.iter().fold(range, |all, one| union(all, one.range));
        let BoundOperator { operator, operands, result } =
            self.choose_operator(symbol, operands, range)?;
        let kind = ScalarKind::Operator { operator, operands };
        Ok(self.proven(ScalarExpression::new(kind, result, own)))
    }

    /// Returns the characters of an operator, which may be qualified by `pg_catalog`.
    pub(super) fn symbol<'n>(&self, name: &'n OperatorName) -> Result<&'n str, BindError> {
        match &name.schema[..] {
            [] => Ok(&name.symbol),
            [schema] if schema.text == "pg_catalog" => Ok(&name.symbol),
            _ => Err(BindError::not_supported("operators of other schemas", name.range)),
        }
    }
}

/// Returns the range from the first byte of both to the last.
fn union(one: SourceRange, other: SourceRange) -> SourceRange {
    SourceRange { start: one.start.min(other.start), end: one.end.max(other.end) }
}

fn operator_error(
    error: OperatorCallError,
    symbol: &str,
    operands: &[ScalarExpression],
    range: SourceRange,
) -> BindError {
    let names: Vec<String> = operands.iter().map(|one| one.sql_type.plain_name()).collect();
    let call = match &names[..] {
        [right] => format!("{symbol} {right}"),
        [left, right] => format!("{left} {symbol} {right}"),
        _ => symbol.to_owned(),
    };
    match error {
        OperatorCallError::NotFound => {
            BindError::new("42883", format!("operator does not exist: {call}"), range).with_hint(
                "No operator matches the given name and argument types. You might need to add \
                 explicit type casts.",
            )
        }
        OperatorCallError::Ambiguous => {
            BindError::new("42725", format!("operator is not unique: {call}"), range).with_hint(
                "Could not choose a best candidate operator. You might need to add explicit type \
                 casts.",
            )
        }
    }
}
