//! Puts the values of parameters in their places.

use nacre_syntax::SourceRange;
use nacre_types::{SqlType, SqlValue};

use crate::algebra::{ConstantValue, QueryPlan, RelationalOperator, ScalarExpression, ScalarKind};
use crate::error::BindError;
use crate::folding::fold_plan;
use crate::properties::never_fails;

impl QueryPlan {
    /// Returns the plan of an execution: parameters are constants of their types.
    ///
    /// # Errors
    /// `not supported` for an array without elements beside an operand that has to be computed.
    ///
    /// # Panics
    /// If there are fewer values than parameters.
    pub fn with_values(mut self, values: &[SqlValue]) -> Result<Self, BindError> {
        if !self.parameters.is_empty() {
            fill_operator(&mut self.root, values)?;
            for common in &mut self.common {
                fill_operator(&mut common.root, values)?;
                if let Some(term) = common.form.term_mut() {
                    fill_operator(&mut term.root, values)?;
                }
            }
            self.parameters.clear();
            fold_plan(&mut self);
        }
        Ok(self)
    }
}

/// Returns the elements of an array as constants; none of null.
pub(crate) fn array_elements(
    array: &SqlValue,
    element: SqlType,
    range: SourceRange,
) -> Vec<ScalarExpression> {
    let SqlValue::Array(array) = array else { return Vec::new() };
    let constant = |value: &SqlValue| {
        let kind = ScalarKind::Constant(ConstantValue(value.clone()));
        ScalarExpression::new(kind, element, range)
    };
    array.elements().iter().map(constant).collect()
}

/// Returns what ANY or ALL is of an array that is null or has no elements.
///
/// # Errors
/// `not supported` for operands that have to be computed, since they may fail.
pub(crate) fn without_elements(
    operand: &ScalarExpression,
    array: &SqlValue,
    is_all: bool,
    range: SourceRange,
) -> Result<ScalarExpression, BindError> {
    if !never_fails(operand) {
        return Err(BindError::not_supported("ANY and ALL of an array without elements", range));
    }
    let value = match array {
        SqlValue::Null => SqlValue::Null,
        _ => SqlValue::Boolean(is_all),
    };
    let kind = ScalarKind::Constant(ConstantValue(value));
    Ok(ScalarExpression::new(kind, SqlType::BOOLEAN, range))
}

fn fill_operator(operator: &mut RelationalOperator, values: &[SqlValue]) -> Result<(), BindError> {
    operator.expressions_mut().into_iter().try_for_each(|one| fill_expression(one, values))?;
    operator.inputs_mut().try_for_each(|input| fill_operator(input, values))
}

fn fill_expression(
    expression: &mut ScalarExpression,
    values: &[SqlValue],
) -> Result<(), BindError> {
    if let ScalarKind::Parameter(number) = expression.kind {
        let value = values[number as usize - 1].clone();
        expression.kind = ScalarKind::Constant(ConstantValue(value));
    }
    let array = array_parameter(expression);
    expression.children_mut().try_for_each(|one| fill_expression(one, values))?;
    let range = expression.range;
    if let Some((number, element)) = array
        && let ScalarKind::Quantified { operand, elements, is_all, .. } = &mut expression.kind
    {
        let array = &values[number as usize - 1];
        *elements = array_elements(array, element, range);
        if elements.is_empty() {
            *expression = without_elements(operand, array, *is_all, range)?;
        }
    }
    Ok(())
}

/// Returns the parameter that stands for the elements of ANY or ALL, and their type.
fn array_parameter(expression: &ScalarExpression) -> Option<(u32, SqlType)> {
    let ScalarKind::Quantified { operator, elements, .. } = &expression.kind else { return None };
    let [array] = &elements[..] else { return None };
    let ScalarKind::Parameter(number) = array.kind else { return None };
    let element = array.sql_type.element().filter(|element| element.oid() == operator.right)?;
    Some((number, element.without_modifier()))
}
