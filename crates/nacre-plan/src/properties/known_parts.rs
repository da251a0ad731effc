//! Parts of expressions whose values are known before a row is read: PostgreSQL computes them when
//! it plans a query, and raises their errors then.

use nacre_types::SqlValue;

use super::is_total;
use crate::algebra::{ConstantValue, ScalarExpression, ScalarKind};

/// Returns the value of a constant; any cast of null is null.
pub(crate) fn constant_of(mut expression: &ScalarExpression) -> Option<&SqlValue> {
    let mut is_cast = false;
    while let ScalarKind::Cast { operand, .. } = &expression.kind {
        (expression, is_cast) = (operand, true);
    }
    match &expression.kind {
        ScalarKind::Constant(ConstantValue(value)) if !is_cast || value.is_null() => Some(value),
        _ => None,
    }
}

/// Whether an expression, or a part of it, is computed as soon as names and types are known, and
/// may fail then.
pub(crate) fn may_fail_at_once(expression: &ScalarExpression) -> bool {
    let mut fails = false;
    let is_known = find_failing_part(expression, &mut fails);
    fails || is_known && is_failing(expression)
}

/// Notes whether a part of an expression that is as large as it can be may fail at once; returns
/// whether all of the expression is computed at once.
fn find_failing_part(expression: &ScalarExpression, fails: &mut bool) -> bool {
    let is_own = !matches!(
        expression.kind,
        ScalarKind::Column(_)
            | ScalarKind::Subquery(_)
            | ScalarKind::Parameter(_)
            | ScalarKind::Once(_)
            | ScalarKind::Call { .. }
    );
    let parts = expression.children().map(|child| (child, find_failing_part(child, fails)));
    let parts: Vec<_> = parts.collect();
    let is_known = is_own && parts.iter().all(|(_, is_known)| *is_known);
    if !is_known {
        let mut known = parts.into_iter().filter(|(_, is_known)| *is_known);
        *fails |= known.any(|(part, _)| is_failing(part));
    }
    is_known
}

fn is_failing(part: &ScalarExpression) -> bool {
    constant_of(part).is_none() && !is_total(part)
}
