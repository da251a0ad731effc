//! Tests: AND and OR, IS, BETWEEN, IN, LIKE.

use nacre_functions::coercion::{common_type, find_pathway};
use nacre_syntax::SourceRange;
use nacre_syntax::{
    BetweenTest, ExpressionKind, ExpressionNode, InSource, LikeForm, LikeTest, ValueTest,
};
use nacre_types::SqlType;
use nacre_types::catalog::{CastContext, TypeOid};

use super::Binder;
use super::expressions::ExpressionPlace;
use super::operators::BoundOperator;
use super::row_comparisons::row_items;
use crate::algebra::{ScalarExpression, ScalarKind, TruthValue};
use crate::error::BindError;

fn boolean(kind: ScalarKind, range: SourceRange) -> ScalarExpression {
    ScalarExpression::new(kind, SqlType::BOOLEAN, range)
}

/// Returns a condition, or its opposite.
pub(super) fn negated_if(is_negated: bool, expression: ScalarExpression) -> ScalarExpression {
    if is_negated {
        let range = expression.range;
        boolean(ScalarKind::Not(Box::new(expression)), range)
    } else {
        expression
    }
}

/// Returns the operands of AND or OR; a first operand of the same kind is replaced by its own.
///
/// ```text
/// (a and b) and c     a and b and c, of which no part is the grouping key `a and b`
/// ```
fn flattened<'n>(nodes: &'n [ExpressionNode], word: &str) -> Vec<&'n ExpressionNode> {
    let (mut nodes, mut last_first) = (nodes, Vec::new());
    while let [first, rest @ ..] = nodes {
        let inner = match &first.kind {
            ExpressionKind::And(inner) if word == "AND" => inner,
            ExpressionKind::Or(inner) if word == "OR" => inner,
            _ => break,
        };
        last_first.extend(rest.iter().rev());
        nodes = inner;
    }
    last_first.extend(nodes.iter().rev());
    last_first.reverse();
    last_first
}

impl Binder<'_> {
    pub(super) fn bind_logic(
        &mut self,
        nodes: &[ExpressionNode],
        word: &'static str,
        place: ExpressionPlace<'_>,
    ) -> Result<ScalarExpression, BindError> {
        let nodes = flattened(nodes, word);
        let mut operands = Vec::with_capacity(nodes.len());
        for node in nodes {
            let operand = self.bind(node, place)?;
            operands.push(self.coerce_to_boolean(operand, word)?);
        }
        let range = match (operands.first(), operands.last()) {
            (Some(first), Some(last)) => first.range.to(last.range),
            _ => SourceRange::default(),
        };
        let is_and = word == "AND";
        let kind = if is_and { ScalarKind::And(operands) } else { ScalarKind::Or(operands) };
        Ok(boolean(kind, range))
    }

    pub(super) fn bind_is(
        &mut self,
        operand: &ExpressionNode,
        test: ValueTest,
        is_negated: bool,
        place: ExpressionPlace<'_>,
        range: SourceRange,
    ) -> Result<ScalarExpression, BindError> {
        if let (ValueTest::Null, Some(row)) = (test, row_items(operand)) {
            return self.bind_row_is_null(row, is_negated, place, range);
        }
        let operand = self.bind(operand, place)?;
        if operand.sql_type == SqlType::RECORD {
            return Err(BindError::not_supported("tests of rows", range));
        }
        let (value, word) = match test {
            ValueTest::Null => {
                let operand = self.settle(operand)?;
                let kind = ScalarKind::IsNull(Box::new(operand));
                return Ok(negated_if(is_negated, boolean(kind, range)));
            }
            ValueTest::True => (TruthValue::True, "IS TRUE"),
            ValueTest::False => (TruthValue::False, "IS FALSE"),
            ValueTest::Unknown => (TruthValue::Unknown, "IS UNKNOWN"),
            ValueTest::Document | ValueTest::Normalized(_) => {
                return Err(BindError::not_supported("this test", range));
            }
        };
        let operand = Box::new(self.coerce_to_boolean(operand, word)?);
        Ok(negated_if(is_negated, boolean(ScalarKind::IsTruth { operand, value }, range)))
    }

    pub(super) fn bind_is_distinct(
        &mut self,
        sides: [&ExpressionNode; 2],
        is_negated: bool,
        place: ExpressionPlace<'_>,
        range: SourceRange,
    ) -> Result<ScalarExpression, BindError> {
        if let (Some(left), Some(right)) = (row_items(sides[0]), row_items(sides[1])) {
            return self.bind_row_distinct([left, right], is_negated, place, range);
        }
        let operands = vec![self.bind(sides[0], place)?, self.bind(sides[1], place)?];
        let BoundOperator { operator, operands, .. } =
            self.choose_operator("=", operands, range)?;
        let kind = ScalarKind::IsDistinct { operator, operands };
        Ok(negated_if(is_negated, boolean(kind, range)))
    }

    /// Binds `a BETWEEN low AND high` as `a >= low AND a <= high`; SYMMETRIC is either order of
    /// both.
    pub(super) fn bind_between(
        &mut self,
        test: &BetweenTest,
        place: ExpressionPlace<'_>,
        range: SourceRange,
    ) -> Result<ScalarExpression, BindError> {
        let operand = self.bind(&test.operand, place)?;
        let low = self.bind(&test.low, place)?;
        let high = self.bind(&test.high, place)?;
        if !test.is_symmetric {
            return self.bind_bounds([operand, low, high], test.is_negated, range);
        }
        let copies = [self.copy(&operand)?, self.copy(&high)?, self.copy(&low)?];
        let first = self.bind_bounds([operand, low, high], test.is_negated, range)?;
        let copies = copies.map(|copy| self.bound_again(copy));
        let both = vec![first, self.bind_bounds(copies, test.is_negated, range)?];
        let kind = if test.is_negated { ScalarKind::And(both) } else { ScalarKind::Or(both) };
        Ok(boolean(kind, range))
    }

    fn bind_bounds(
        &mut self,
        [operand, low, high]: [ScalarExpression; 3],
        is_negated: bool,
        range: SourceRange,
    ) -> Result<ScalarExpression, BindError> {
        let (low_symbol, high_symbol) = if is_negated { ("<", ">") } else { (">=", "<=") };
        let copy = self.copy(&operand)?;
        let above = self.apply_operator(low_symbol, vec![copy, low], range)?;
        let (operand, high) = (self.bound_again(operand), self.bound_again(high));
        let below = self.apply_operator(high_symbol, vec![operand, high], range)?;
        let both = vec![above, below];
        let kind = if is_negated { ScalarKind::Or(both) } else { ScalarKind::And(both) };
        Ok(boolean(kind, range))
    }

    /// Binds `a IN (list)`: what is constant is compared by one operator, columns each by its own.
    pub(super) fn bind_in(
        &mut self,
        operand: &ExpressionNode,
        source: &InSource,
        is_negated: bool,
        place: ExpressionPlace<'_>,
        range: SourceRange,
    ) -> Result<ScalarExpression, BindError> {
        let nodes = match source {
            InSource::List(nodes) => nodes,
            InSource::Query(query) => {
                return self.bind_in_query(operand, query, is_negated, place, range);
            }
        };
        if let Some(row) = row_items(operand) {
            return self.bind_row_in(row, nodes, is_negated, place, range);
        }
        let operand = self.bind(operand, place)?;
        let (mut constants, mut others) = (Vec::new(), Vec::new());
        for node in nodes {
            let element = self.bind(node, place)?;
            let has_column = element.any(&|one| matches!(one.kind, ScalarKind::Column(_)));
            if has_column { others.push(element) } else { constants.push(element) }
        }
        let symbol = if is_negated { "<>" } else { "=" };
        let mut tests = Vec::new();
        if let Some(common) = common_element_type(&operand, &constants) {
            let constants = std::mem::take(&mut constants);
            let copy = self.copy_beside_element(&operand)?;
            let test = self.bind_quantified(symbol, copy, constants, common, range)?;
            tests.push(test);
        }
        for element in constants.into_iter().chain(others) {
            let copy = self.copy_beside_element(&operand)?;
            tests.push(self.apply_operator(symbol, vec![copy, element], range)?);
        }
        if tests.len() == 1 {
            return Ok(tests.swap_remove(0));
        }
        let kind = if is_negated { ScalarKind::And(tests) } else { ScalarKind::Or(tests) };
        Ok(boolean(kind, range))
    }

    fn bind_quantified(
        &mut self,
        symbol: &str,
        operand: ScalarExpression,
        elements: Vec<ScalarExpression>,
        common: SqlType,
        range: SourceRange,
    ) -> Result<ScalarExpression, BindError> {
        let mut coerced = Vec::with_capacity(elements.len());
        for element in elements {
            let own = element.range;
            coerced.push(self.coerce(element, common, CastContext::Implicit, own)?);
        }
        // The operator is chosen for the operand and the type of all elements.
        let Some(sample) = coerced.first().cloned() else {
            return Err(BindError::not_supported("IN without elements", range));
        };
        let BoundOperator { operator, mut operands, .. } =
            self.choose_operator(symbol, vec![operand, sample], range)?;
        let wanted = SqlType::new(operator.right);
        let mut elements = Vec::with_capacity(coerced.len());
        for element in coerced {
            let own = element.range;
            elements.push(self.coerce(element, wanted, CastContext::Implicit, own)?);
        }
        let operand = Box::new(operands.swap_remove(0));
        let is_all = symbol == "<>";
        Ok(boolean(ScalarKind::Quantified { operator, operand, elements, is_all }, range))
    }

    pub(super) fn bind_like(
        &mut self,
        test: &LikeTest,
        place: ExpressionPlace<'_>,
        range: SourceRange,
    ) -> Result<ScalarExpression, BindError> {
        let operand = self.bind(&test.operand, place)?;
        let nodes: Vec<_> = std::iter::once(&test.pattern).chain(&test.escape).collect();
        let pattern = match test.form {
            LikeForm::Similar => self.call_nodes("similar_to_escape", &nodes, place, range)?,
            _ if test.escape.is_some() => self.call_nodes("like_escape", &nodes, place, range)?,
            _ => self.bind(&test.pattern, place)?,
        };
        let symbol = match (test.form, test.is_negated) {
            (LikeForm::Like, false) => "~~",
            (LikeForm::Like, true) => "!~~",
            (LikeForm::Ilike, false) => "~~*",
            (LikeForm::Ilike, true) => "!~~*",
            (LikeForm::Similar, false) => "~",
            (LikeForm::Similar, true) => "!~",
        };
        self.apply_operator(symbol, vec![operand, pattern], range)
    }
}

/// Returns the type that the operand and two or more constants share; `None` if each is compared
/// by its own operator.
fn common_element_type(
    operand: &ScalarExpression,
    constants: &[ScalarExpression],
) -> Option<SqlType> {
    if constants.len() < 2 {
        return None;
    }
    let all = std::iter::once(operand).chain(constants);
    let types: Vec<TypeOid> = all.map(|one| one.sql_type.oid()).collect();
    let common = common_type(&types).ok().filter(|oid| *oid != TypeOid::RECORD)?;
    let goes = |oid: &TypeOid| {
        *oid == TypeOid::UNKNOWN || find_pathway(common, *oid, CastContext::Implicit).is_some()
    };
    // There are no arrays of arrays.
    let shared = SqlType::new(common);
    (types.iter().all(goes) && shared.array().is_some()).then_some(shared)
}
