//! IS, BETWEEN, IN, LIKE, and comparisons with ANY and ALL.

use super::{ExpressionPlace, LEVEL_IS, LEVEL_MATCH, ParenContent};
use crate::grammar::cursor::{Parsed, StatementParser};
use crate::keywords::SqlKeyword;
use crate::lexer::TokenKind;
use crate::tree::{
    BetweenTest, ExpressionKind, ExpressionNode, InSource, LikeForm, LikeTest, NormalForm,
    OperatorName, QuantifiedOperator, QuantifiedTest, ValueQuantifier, ValueTest,
};

impl StatementParser<'_> {
    /// Parses a test with IS; the second value is whether it ends in an operand.
    pub(super) fn parse_is(
        &mut self,
        left: ExpressionNode,
        place: ExpressionPlace,
    ) -> Parsed<(ExpressionKind, bool)> {
        let operand = Box::new(left);
        let word = self.keyword();
        self.advance();
        if word != Some(SqlKeyword::Is) {
            let is_negated = word == Some(SqlKeyword::Notnull);
            let test = ValueTest::Null;
            return Ok((ExpressionKind::Is { operand, test, is_negated }, false));
        }
        let is_negated = self.take(SqlKeyword::Not);
        if self.take(SqlKeyword::Distinct) {
            self.expect(SqlKeyword::From)?;
            let right = Box::new(self.parse_operand(LEVEL_IS + 1, place)?);
            return Ok((ExpressionKind::Distinct { left: operand, right, is_negated }, true));
        }
        let test = self.parse_value_test(place)?;
        Ok((ExpressionKind::Is { operand, test, is_negated }, false))
    }

    fn parse_value_test(&mut self, place: ExpressionPlace) -> Parsed<ValueTest> {
        let is_any = place == ExpressionPlace::Any;
        let test = match self.keyword() {
            Some(SqlKeyword::Document) => ValueTest::Document,
            Some(SqlKeyword::Null) if is_any => ValueTest::Null,
            Some(SqlKeyword::True) if is_any => ValueTest::True,
            Some(SqlKeyword::False) if is_any => ValueTest::False,
            Some(SqlKeyword::Unknown) if is_any => ValueTest::Unknown,
            Some(SqlKeyword::Normalized) if is_any => ValueTest::Normalized(None),
            _ if is_any => {
                let form = self.parse_normal_form()?;
                self.expect(SqlKeyword::Normalized)?;
                return Ok(ValueTest::Normalized(Some(form)));
            }
            _ => return Err(self.unexpected()),
        };
        self.advance();
        Ok(test)
    }

    pub(super) fn parse_normal_form(&mut self) -> Parsed<NormalForm> {
        let form = match self.keyword() {
            Some(SqlKeyword::Nfc) => NormalForm::Nfc,
            Some(SqlKeyword::Nfd) => NormalForm::Nfd,
            Some(SqlKeyword::Nfkc) => NormalForm::Nfkc,
            Some(SqlKeyword::Nfkd) => NormalForm::Nfkd,
            _ => return Err(self.unexpected()),
        };
        self.advance();
        Ok(form)
    }

    /// Parses BETWEEN, IN, LIKE and their kin; the second value is whether it ends in an operand.
    pub(super) fn parse_match(&mut self, left: ExpressionNode) -> Parsed<(ExpressionKind, bool)> {
        let is_negated = self.take(SqlKeyword::Not);
        let word = self.keyword();
        self.advance();
        let form = match word {
            Some(SqlKeyword::Between) => {
                return Ok((self.parse_between(left, is_negated)?, true));
            }
            Some(SqlKeyword::In) => {
                let source = match self.parse_paren_content(true)? {
                    ParenContent::Query(query) => InSource::Query(query),
                    ParenContent::Items(items) => InSource::List(items),
                };
                let operand = Box::new(left);
                return Ok((ExpressionKind::In { operand, source, is_negated }, false));
            }
            Some(SqlKeyword::Like) => LikeForm::Like,
            Some(SqlKeyword::Ilike) => LikeForm::Ilike,
            _ => {
                self.expect(SqlKeyword::To)?;
                LikeForm::Similar
            }
        };
        let is_quantified = form != LikeForm::Similar
            && matches!(self.keyword(), Some(SqlKeyword::Any | SqlKeyword::Some | SqlKeyword::All));
        if is_quantified {
            let operator = QuantifiedOperator::Like { form, is_negated };
            return Ok((self.parse_quantifier(left, operator)?, false));
        }
        let pattern = self.parse_operand(LEVEL_MATCH + 1, ExpressionPlace::Any)?;
        let escape = if self.take(SqlKeyword::Escape) {
            Some(self.parse_operand(LEVEL_MATCH + 1, ExpressionPlace::Any)?)
        } else {
            None
        };
        let test = LikeTest { operand: left, pattern, escape, form, is_negated };
        Ok((ExpressionKind::Like(Box::new(test)), true))
    }

    fn parse_between(
        &mut self,
        operand: ExpressionNode,
        is_negated: bool,
    ) -> Parsed<ExpressionKind> {
        let is_symmetric = self.take(SqlKeyword::Symmetric);
        if !is_symmetric {
            self.take(SqlKeyword::Asymmetric);
        }
        let low = self.parse_restricted()?;
        self.expect(SqlKeyword::And)?;
        let high = self.parse_operand(LEVEL_MATCH + 1, ExpressionPlace::Any)?;
        let test = BetweenTest { operand, low, high, is_symmetric, is_negated };
        Ok(ExpressionKind::Between(Box::new(test)))
    }

    /// Parses what follows the operator of `left = ANY (...)`.
    pub(super) fn parse_quantified(
        &mut self,
        left: ExpressionNode,
        operator: OperatorName,
    ) -> Parsed<ExpressionKind> {
        self.parse_quantifier(left, QuantifiedOperator::Operator(operator))
    }

    fn parse_quantifier(
        &mut self,
        operand: ExpressionNode,
        operator: QuantifiedOperator,
    ) -> Parsed<ExpressionKind> {
        let is_all = self.at(SqlKeyword::All);
        self.advance();
        let quantifier = if is_all { ValueQuantifier::All } else { ValueQuantifier::Any };
        let start = self.range();
        if !self.at(TokenKind::LeftParen) {
            return Err(self.unexpected());
        }
        let source = match self.parse_paren_content(false)? {
            ParenContent::Query(query) => self.node(start, ExpressionKind::Subquery(query)),
            ParenContent::Items(mut items) => match items.pop() {
                Some(item) => item,
                None => return Err(self.unexpected()),
            },
        };
        let test = QuantifiedTest { operand, operator, quantifier, source };
        Ok(ExpressionKind::Quantified(Box::new(test)))
    }
}
