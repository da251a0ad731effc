//! ANY and ALL of arrays: comparisons with each element.
//!
//! An array that is written with its elements, and a constant one, become these. A parameter stands
//! for its elements until its value is known ([`crate::algebra::QueryPlan::with_values`]).

use nacre_functions::catalog::OperatorEntry;
use nacre_functions::kernels::{KernelFallibility, call_fallibility, quantified_form};
use nacre_syntax::{
    ExpressionKind, LikeForm, QuantifiedOperator, QuantifiedTest, SourceRange, ValueQuantifier,
};
use nacre_types::catalog::{CastContext, TypeOid};
use nacre_types::{SqlType, SqlValue};

use super::Binder;
use super::expressions::ExpressionPlace;
use super::operators::BoundOperator;
use crate::algebra::{ConstantValue, ScalarExpression, ScalarKind};
use crate::error::BindError;
use crate::parameters::{array_elements, without_elements};

/// A comparison whose array is still to come.
struct ArrayComparison<'s> {
    symbol: &'s str,
    operand: ScalarExpression,
    is_all: bool,
    range: SourceRange,
}

/// An operator between an operand, as it wants it, and elements of the type that it wants.
struct ElementOperator {
    operator: &'static OperatorEntry,
    operand: ScalarExpression,
    wanted: SqlType,
}

impl Binder<'_> {
    /// Binds `operand operator ANY (array)`, or ALL.
    pub(super) fn bind_quantified_array(
        &mut self,
        test: &QuantifiedTest,
        place: ExpressionPlace<'_>,
        range: SourceRange,
    ) -> Result<ScalarExpression, BindError> {
        let symbol = match &test.operator {
            QuantifiedOperator::Operator(operator) => self.symbol(operator)?,
            QuantifiedOperator::Like { form, is_negated } => match (form, is_negated) {
                (LikeForm::Like, false) => "~~",
                (LikeForm::Like, true) => "!~~",
                (LikeForm::Ilike, false) => "~~*",
                (LikeForm::Ilike, true) => "!~~*",
                (LikeForm::Similar, _) => {
                    return Err(BindError::not_supported("this form of LIKE", range));
                }
            },
        };
        let operand = self.bind(&test.operand, place)?;
        let is_all = test.quantifier == ValueQuantifier::All;
        let comparison = ArrayComparison { symbol, operand, is_all, range };
        match &test.source.kind {
            ExpressionKind::Array(nodes) => {
                let elements = self.bind_all(nodes, place)?;
                if elements.is_empty() || !elements.iter().all(is_element) {
                    let array = self.array_value(elements, None, test.source.range)?;
                    return self.compare_with_array(comparison, array);
                }
                let (elements, common) = self.unify(elements, "ARRAY")?;
                self.compare_elements(comparison, elements, common)
            }
            ExpressionKind::Cast { operand, type_name }
                if let ExpressionKind::Array(nodes) = &operand.kind =>
            {
                let target = self.bind_type_name(type_name)?;
                let Some(common) = target.element() else {
                    return Err(BindError::not_supported("this cast of an array", range));
                };
                let bound = self.bind_all(nodes, place)?;
                if bound.is_empty() || !bound.iter().all(is_element) {
                    let array = self.array_value(bound, Some(target), operand.range)?;
                    let array = self.coerce(array, target, CastContext::Explicit, operand.range)?;
                    return self.compare_with_array(comparison, array);
                }
                let mut elements = Vec::with_capacity(bound.len());
                for element in bound {
                    let own = element.range;
                    elements.push(self.coerce(element, common, CastContext::Explicit, own)?);
                }
                self.compare_elements(comparison, elements, common)
            }
            _ => {
                let array = self.bind(&test.source, place)?;
                self.compare_with_array(comparison, array)
            }
        }
    }

    /// Compares with elements that are of one type.
    fn compare_elements(
        &mut self,
        comparison: ArrayComparison<'_>,
        elements: Vec<ScalarExpression>,
        element_type: SqlType,
    ) -> Result<ScalarExpression, BindError> {
        let ArrayComparison { operand, is_all, range, symbol } = comparison;
        let ElementOperator { operator, operand, wanted } =
            self.choose_element_operator(symbol, operand, element_type, range)?;
        let mut coerced = Vec::with_capacity(elements.len());
        for element in elements {
            let own = element.range;
            coerced.push(self.coerce(element, wanted, CastContext::Implicit, own)?);
        }
        let operand = Box::new(operand);
        let kind = ScalarKind::Quantified { operator, operand, elements: coerced, is_all };
        Ok(ScalarExpression::new(kind, SqlType::BOOLEAN, range))
    }

    fn compare_with_array(
        &mut self,
        comparison: ArrayComparison<'_>,
        array: ScalarExpression,
    ) -> Result<ScalarExpression, BindError> {
        let range = comparison.range;
        let is_unknown = array.sql_type.oid() == TypeOid::UNKNOWN;
        let element = if is_unknown { Some(SqlType::UNKNOWN) } else { array.sql_type.element() };
        let Some(element) = element.map(SqlType::without_modifier) else {
            let message = "op ANY/ALL (array) requires array on right side";
            return Err(BindError::new("42809", message, range));
        };
        let ArrayComparison { symbol, operand, is_all, .. } = comparison;
        let ElementOperator { operator, operand, wanted } =
            self.choose_element_operator(symbol, operand, element, range)?;
        let Some(array_type) = wanted.array() else {
            return Err(BindError::not_supported("arrays of this type", range));
        };
        let own = array.range;
        let array = match is_unknown {
            true => self.coerce(array, array_type, CastContext::Implicit, own)?,
            false => array,
        };
        let operand = Box::new(operand);
        match &array.kind {
            ScalarKind::Constant(ConstantValue(value)) => {
                let element = if is_unknown { wanted } else { element };
                let mut elements = Vec::new();
                for one in array_elements(value, element, own) {
                    elements.push(self.coerce(one, wanted, CastContext::Implicit, own)?);
                }
                if elements.is_empty() {
                    return without_elements(&operand, value, is_all, range);
                }
                let kind = ScalarKind::Quantified { operator, operand, elements, is_all };
                Ok(ScalarExpression::new(kind, SqlType::BOOLEAN, range))
            }
            ScalarKind::Parameter(_) if array.sql_type.oid() == array_type.oid() => {
                let elements = vec![array];
                let kind = ScalarKind::Quantified { operator, operand, elements, is_all };
                Ok(ScalarExpression::new(kind, SqlType::BOOLEAN, range))
            }
            _ => {
                let array = self.coerce(array, array_type, CastContext::Implicit, own)?;
                compare_with_values(operator, (*operand, array), array_type, is_all, range)
            }
        }
    }

    /// Chooses the operator between an operand and elements of a type.
    fn choose_element_operator(
        &mut self,
        symbol: &str,
        operand: ScalarExpression,
        element: SqlType,
        range: SourceRange,
    ) -> Result<ElementOperator, BindError> {
        let kind = ScalarKind::Constant(ConstantValue(SqlValue::Null));
        let sample = ScalarExpression::new(kind, element, range);
        let BoundOperator { operator, mut operands, result } =
            self.choose_operator(symbol, vec![operand, sample], range)?;
        if result != SqlType::BOOLEAN {
            let message = "op ANY/ALL (array) requires operator to yield boolean";
            return Err(BindError::new("42809", message, range));
        }
        let wanted = SqlType::new(operator.right);
        if wanted.is_pseudo() {
            return Err(BindError::not_supported("ANY and ALL of elements of this type", range));
        }
        Ok(ElementOperator { operator, operand: operands.swap_remove(0), wanted })
    }
}

/// Compares with the elements of an array that is known when the query runs.
fn compare_with_values(
    operator: &'static OperatorEntry,
    (operand, array): (ScalarExpression, ScalarExpression),
    array_type: SqlType,
    is_all: bool,
    range: SourceRange,
) -> Result<ScalarExpression, BindError> {
    let unknown = || BindError::not_supported("ANY and ALL of an array", range);
    let never_fails =
        call_fallibility(operator.function, &[None, None]) == KernelFallibility::Never;
    if !never_fails || array.sql_type.oid() != array_type.oid() {
        return Err(unknown());
    }
    let function = quantified_form(operator.name, is_all).ok_or_else(unknown)?;
    let kind = ScalarKind::Function { function, arguments: vec![operand, array] };
    Ok(ScalarExpression::new(kind, SqlType::BOOLEAN, range))
}

/// Whether an expression is an element that is compared by itself.
fn is_element(element: &ScalarExpression) -> bool {
    is_simple(element) && element.sql_type.element().is_none()
}

/// Whether an expression is a value of a row or a constant, perhaps as another type.
fn is_simple(element: &ScalarExpression) -> bool {
    match &element.kind {
        ScalarKind::Cast { operand, .. } => is_simple(operand),
        ScalarKind::Column(_)
        | ScalarKind::Constant(_)
        | ScalarKind::UnknownLiteral(_)
        | ScalarKind::Parameter(_) => true,
        _ => false,
    }
}
