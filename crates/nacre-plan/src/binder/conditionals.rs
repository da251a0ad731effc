//! CASE, COALESCE, GREATEST, LEAST and NULLIF.

use nacre_functions::coercion::common_type;
use nacre_syntax::SourceRange;
use nacre_syntax::{CaseExpression, ExpressionNode};
use nacre_types::SqlType;
use nacre_types::catalog::{CastContext, TypeOid};

use super::Binder;
use super::expressions::ExpressionPlace;
use super::operators::BoundOperator;
use crate::algebra::{CaseArm, ScalarExpression, ScalarKind};
use crate::error::BindError;

impl Binder<'_> {
    pub(super) fn bind_case(
        &mut self,
        case: &CaseExpression,
        place: ExpressionPlace<'_>,
        range: SourceRange,
    ) -> Result<ScalarExpression, BindError> {
        let operand = match &case.operand {
            Some(operand) => {
                let operand = self.bind(operand, place)?;
                Some(self.settle(operand)?)
            }
            None => None,
        };
        let (mut conditions, mut results) = (Vec::new(), Vec::new());
        for branch in &case.branches {
            let condition = self.bind(&branch.condition, place)?;
            conditions.push(match &operand {
                Some(operand) => {
                    let own = condition.range;
                    let copy = self.copy(operand)?;
                    self.apply_operator("=", vec![copy, condition], own)?
                }
                None => self.coerce_to_boolean(condition, "CASE/WHEN")?,
            });
            results.push(self.bind(&branch.result, place)?);
        }
        // ELSE takes part in the choice of the type first.
        let otherwise = match &case.otherwise {
            Some(otherwise) => vec![self.bind(otherwise, place)?],
            None => Vec::new(),
        };
        let has_otherwise = !otherwise.is_empty();
        let all = otherwise.into_iter().chain(results).collect();
        let (mut all, common) = self.unify(all, "CASE")?;
        let otherwise = has_otherwise.then(|| Box::new(all.remove(0)));
        let arms = conditions.into_iter().zip(all);
        let arms = arms.map(|(condition, result)| CaseArm { condition, result }).collect();
        Ok(ScalarExpression::new(ScalarKind::Case { arms, otherwise }, common, range))
    }

    pub(super) fn bind_coalesce(
        &mut self,
        nodes: &[ExpressionNode],
        place: ExpressionPlace<'_>,
        range: SourceRange,
    ) -> Result<ScalarExpression, BindError> {
        let bound = self.bind_all(nodes, place)?;
        let (arguments, common) = self.unify(bound, "COALESCE")?;
        Ok(ScalarExpression::new(ScalarKind::Coalesce(arguments), common, range))
    }

    pub(super) fn bind_extreme(
        &mut self,
        nodes: &[ExpressionNode],
        is_greatest: bool,
        place: ExpressionPlace<'_>,
        range: SourceRange,
    ) -> Result<ScalarExpression, BindError> {
        let bound = self.bind_all(nodes, place)?;
        let word = if is_greatest { "GREATEST" } else { "LEAST" };
        let (arguments, common) = self.unify(bound, word)?;
        let kind = ScalarKind::Extreme { arguments, is_greatest };
        Ok(ScalarExpression::new(kind, common, range))
    }

    pub(super) fn bind_null_if(
        &mut self,
        sides: [&ExpressionNode; 2],
        place: ExpressionPlace<'_>,
        range: SourceRange,
    ) -> Result<ScalarExpression, BindError> {
        let operands = vec![self.bind(sides[0], place)?, self.bind(sides[1], place)?];
        let BoundOperator { operator, operands, .. } =
            self.choose_operator("=", operands, range)?;
        let result = operands.first().map_or(SqlType::TEXT, |first| first.sql_type);
        Ok(ScalarExpression::new(ScalarKind::NullIf { operator, operands }, result, range))
    }

    pub(super) fn bind_all(
        &mut self,
        nodes: &[ExpressionNode],
        place: ExpressionPlace<'_>,
    ) -> Result<Vec<ScalarExpression>, BindError> {
        nodes.iter().map(|node| self.bind(node, place)).collect()
    }

    /// Has all expressions become values of their common type. The modifier stays if all have it.
    pub(super) fn unify(
        &mut self,
        expressions: Vec<ScalarExpression>,
        word: &str,
    ) -> Result<(Vec<ScalarExpression>, SqlType), BindError> {
        let types: Vec<TypeOid> = expressions.iter().map(|one| one.sql_type.oid()).collect();
        let common = common_type(&types).map_err(|error| {
            let (first, second) = (SqlType::new(error.first), SqlType::new(error.second));
            let (first, second) = (first.to_string(), second.to_string());
            let message = format!("{word} types {first} and {second} cannot be matched");
            BindError::new("42804", message, expressions[error.index].range)
        })?;
        if common == TypeOid::RECORD && expressions.len() > 1 {
            // Rows of different columns may come together, which are refused when they compare.
            return Err(BindError::not_supported("rows of several shapes", expressions[0].range));
        }
        let mut own = expressions.iter().map(|one| one.sql_type);
        let first = own.next().filter(|first| first.oid() == common);
        let shared = first.filter(|first| own.all(|next| next == *first));
        let mut unified = Vec::with_capacity(expressions.len());
        for expression in expressions {
            let (range, source) = (expression.range, expression.sql_type);
            let target = SqlType::new(common);
            let coerced = self.coerce(expression, target, CastContext::Implicit, range);
            unified.push(coerced.map_err(|error| match error.sql_state {
                "42846" => {
                    let (from, to) = (source.to_string(), target.to_string());
                    let message = format!("{word} could not convert type {from} to {to}");
                    BindError::new("42846", message, range)
                }
                _ => error,
            })?);
        }
        Ok((unified, shared.unwrap_or(SqlType::new(common))))
    }
}
