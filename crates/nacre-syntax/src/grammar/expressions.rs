//! Expressions, by precedence.
//!
//! | level | operators | associates |
//! |---|---|---|
//! | 1 | OR | left |
//! | 2 | AND | left |
//! | 3 | NOT | right |
//! | 4 | IS, ISNULL, NOTNULL | not |
//! | 5 | `<` `>` `=` `<=` `>=` `<>` | not |
//! | 6 | BETWEEN, IN, LIKE, ILIKE, SIMILAR | not |
//! | 8 | any other operator, OPERATOR(...) | left |
//! | 9 | `+` `-` | left |
//! | 10 | `*` `/` `%` | left |
//! | 11 | `^` | left |
//! | 12 | AT TIME ZONE | left |
//! | 13 | COLLATE | left |
//! | 14 | `+` `-` before an operand | right |
//! | 15 | `::` | left |
//!
//! Operators that do not associate may follow each other unless the first one ends in an operand:
//! `a IS NULL IS NULL` is fine, `a < b < c` is not.

mod calls;
mod conditions;
mod operands;
mod parentheses;
mod special_calls;
mod windows;

pub(super) use parentheses::ParenContent;

use super::cursor::{Parsed, StatementParser};
use super::names::NamePlace;
use crate::error::SyntaxError;
use crate::keywords::SqlKeyword;
use crate::lexer::TokenKind;
use crate::range::SourceRange;
use crate::tree::{ExpressionKind, ExpressionNode, OperatorLink, OperatorName};

pub(super) const LEVEL_OR: u8 = 1;
pub(super) const LEVEL_AND: u8 = 2;
pub(super) const LEVEL_NOT: u8 = 3;
pub(super) const LEVEL_IS: u8 = 4;
pub(super) const LEVEL_COMPARISON: u8 = 5;
pub(super) const LEVEL_MATCH: u8 = 6;
pub(super) const LEVEL_OPERATOR: u8 = 8;
pub(super) const LEVEL_SUM: u8 = 9;
pub(super) const LEVEL_PRODUCT: u8 = 10;
pub(super) const LEVEL_POWER: u8 = 11;
pub(super) const LEVEL_ZONE: u8 = 12;
pub(super) const LEVEL_COLLATE: u8 = 13;
pub(super) const LEVEL_SIGN: u8 = 14;
pub(super) const LEVEL_CAST: u8 = 15;

/// Which expressions may stand in a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ExpressionPlace {
    /// Any.
    Any,
    /// Without AND, OR, NOT, IN, LIKE and what else words would make ambiguous: bounds of BETWEEN,
    /// defaults of columns.
    Restricted,
}

impl StatementParser<'_> {
    /// Parses an expression of any kind.
    pub(super) fn parse_expression(&mut self) -> Parsed<ExpressionNode> {
        self.parse_operand(LEVEL_OR, ExpressionPlace::Any)
    }

    /// Parses an expression for a place where words may follow that others would take.
    pub(super) fn parse_restricted(&mut self) -> Parsed<ExpressionNode> {
        self.parse_operand(LEVEL_OR, ExpressionPlace::Restricted)
    }

    pub(super) fn parse_expression_list(&mut self) -> Parsed<Vec<ExpressionNode>> {
        self.list(Self::parse_expression)
    }

    /// Parses an expression of operators from `level` on.
    pub(super) fn parse_operand(
        &mut self,
        level: u8,
        place: ExpressionPlace,
    ) -> Parsed<ExpressionNode> {
        self.nested(|parser| {
            let left = parser.parse_prefix(place)?;
            parser.parse_infix(left, level, place)
        })
    }

    /// Parses an operator before its operand, or an operand without one.
    fn parse_prefix(&mut self, place: ExpressionPlace) -> Parsed<ExpressionNode> {
        let start = self.range();
        match self.peek() {
            TokenKind::Keyword(SqlKeyword::Not) if place == ExpressionPlace::Any => {
                self.advance();
                let operand = self.parse_operand(LEVEL_NOT, place)?;
                Ok(self.node(start, ExpressionKind::Not(Box::new(operand))))
            }
            TokenKind::Plus | TokenKind::Minus => {
                let operator = self.expect_operator()?;
                let operand = Box::new(self.parse_operand(LEVEL_SIGN, place)?);
                Ok(self.node(start, ExpressionKind::Prefix { operator, operand }))
            }
            TokenKind::Operator => self.parse_prefix_operator(place),
            TokenKind::Keyword(SqlKeyword::Operator) if self.at_operator() => {
                self.parse_prefix_operator(place)
            }
            TokenKind::Keyword(SqlKeyword::Default) if place == ExpressionPlace::Any => {
                self.advance();
                Ok(self.node(start, ExpressionKind::Default))
            }
            TokenKind::Keyword(SqlKeyword::Unique) if place == ExpressionPlace::Any => {
                Err(SyntaxError::not_supported("UNIQUE predicate", start))
            }
            _ => self.parse_primary(place),
        }
    }

    fn parse_prefix_operator(&mut self, place: ExpressionPlace) -> Parsed<ExpressionNode> {
        let start = self.range();
        let operator = self.expect_operator()?;
        let operand = Box::new(self.parse_operand(LEVEL_OPERATOR + 1, place)?);
        Ok(self.node(start, ExpressionKind::Prefix { operator, operand }))
    }

    /// Parses what follows an operand: all operators from `level` on.
    pub(super) fn parse_infix(
        &mut self,
        mut left: ExpressionNode,
        level: u8,
        place: ExpressionPlace,
    ) -> Parsed<ExpressionNode> {
        let mut blocked = None;
        while let Some(found) = self.infix_level(place).filter(|found| *found >= level) {
            if blocked == Some(found) {
                return Err(self.unexpected());
            }
            self.grow()?;
            let start = left.range;
            let (kind, ends_in_operand) = match found {
                LEVEL_OR | LEVEL_AND => (self.parse_logic(left, found)?, false),
                LEVEL_IS => self.parse_is(left, place)?,
                LEVEL_MATCH => self.parse_match(left)?,
                LEVEL_ZONE => (self.parse_zone(left)?, false),
                LEVEL_COLLATE => (self.parse_collate(left)?, false),
                LEVEL_CAST => (self.parse_cast_operator(left)?, false),
                _ => self.parse_operation(left, found, place)?,
            };
            left = self.node(start, kind);
            blocked = ends_in_operand.then_some(found);
        }
        Ok(left)
    }

    /// Returns the level of the operator that comes next, if one does.
    fn infix_level(&self, place: ExpressionPlace) -> Option<u8> {
        let level = match self.peek() {
            TokenKind::TypeCast => LEVEL_CAST,
            TokenKind::Operator => LEVEL_OPERATOR,
            TokenKind::Plus | TokenKind::Minus => LEVEL_SUM,
            TokenKind::Star | TokenKind::Slash | TokenKind::Percent => LEVEL_PRODUCT,
            TokenKind::Caret => LEVEL_POWER,
            TokenKind::Less
            | TokenKind::Greater
            | TokenKind::Equals
            | TokenKind::LessEquals
            | TokenKind::GreaterEquals
            | TokenKind::NotEquals => LEVEL_COMPARISON,
            TokenKind::Keyword(SqlKeyword::Operator) if self.at_operator() => LEVEL_OPERATOR,
            TokenKind::Keyword(SqlKeyword::Is) => LEVEL_IS,
            TokenKind::Keyword(keyword) if place == ExpressionPlace::Any => {
                self.word_level(keyword)?
            }
            _ => return None,
        };
        Some(level)
    }

    fn word_level(&self, keyword: SqlKeyword) -> Option<u8> {
        let is_match = |keyword| {
            matches!(
                keyword,
                SqlKeyword::Between | SqlKeyword::In | SqlKeyword::Like | SqlKeyword::Ilike
            )
        };
        Some(match keyword {
            SqlKeyword::Or => LEVEL_OR,
            SqlKeyword::And => LEVEL_AND,
            SqlKeyword::Isnull | SqlKeyword::Notnull => LEVEL_IS,
            SqlKeyword::Similar if self.at_ahead(1, SqlKeyword::To) => LEVEL_MATCH,
            SqlKeyword::Not => match self.peek_at(1) {
                TokenKind::Keyword(SqlKeyword::Similar) => LEVEL_MATCH,
                TokenKind::Keyword(next) if is_match(next) => LEVEL_MATCH,
                _ => return None,
            },
            keyword if is_match(keyword) => LEVEL_MATCH,
            SqlKeyword::At if self.at_ahead(1, SqlKeyword::Time) => LEVEL_ZONE,
            SqlKeyword::Collate => LEVEL_COLLATE,
            _ => return None,
        })
    }

    /// Parses `left AND b AND c`, or of OR.
    fn parse_logic(&mut self, left: ExpressionNode, level: u8) -> Parsed<ExpressionKind> {
        let word = if level == LEVEL_AND { SqlKeyword::And } else { SqlKeyword::Or };
        let mut operands = vec![left];
        while self.take(word) {
            operands.push(self.parse_operand(level + 1, ExpressionPlace::Any)?);
        }
        Ok(if level == LEVEL_AND {
            ExpressionKind::And(operands)
        } else {
            ExpressionKind::Or(operands)
        })
    }

    /// Parses `left + b - c` and what else is of one level; comparisons have one right side.
    fn parse_operation(
        &mut self,
        left: ExpressionNode,
        level: u8,
        place: ExpressionPlace,
    ) -> Parsed<(ExpressionKind, bool)> {
        let start = left.range;
        let mut links: Vec<OperatorLink> = Vec::new();
        loop {
            let operator = self.expect_operator()?;
            let is_quantified = matches!(
                self.keyword(),
                Some(SqlKeyword::Any | SqlKeyword::Some | SqlKeyword::All)
            );
            if is_quantified && place == ExpressionPlace::Any {
                let operand = self.operation(start, left, links);
                return Ok((self.parse_quantified(operand, operator)?, false));
            }
            let operand = self.parse_operand(level + 1, place)?;
            links.push(OperatorLink { operator, operand });
            let is_chain = level != LEVEL_COMPARISON && self.infix_level(place) == Some(level);
            if !is_chain {
                let kind = ExpressionKind::Operation { first: Box::new(left), links };
                return Ok((kind, level == LEVEL_COMPARISON));
            }
        }
    }

    /// Makes an operation of what stands before `= ANY`.
    fn operation(
        &mut self,
        start: SourceRange,
        left: ExpressionNode,
        links: Vec<OperatorLink>,
    ) -> ExpressionNode {
        match links.last() {
            None => left,
            Some(last) => {
                let range = start.to(last.operand.range);
                let kind = ExpressionKind::Operation { first: Box::new(left), links };
                ExpressionNode { kind, range }
            }
        }
    }

    fn parse_zone(&mut self, left: ExpressionNode) -> Parsed<ExpressionKind> {
        self.expect_words(&[SqlKeyword::At, SqlKeyword::Time, SqlKeyword::Zone])?;
        let zone = self.parse_operand(LEVEL_ZONE + 1, ExpressionPlace::Any)?;
        Ok(ExpressionKind::AtTimeZone { operand: Box::new(left), zone: Box::new(zone) })
    }

    fn parse_collate(&mut self, left: ExpressionNode) -> Parsed<ExpressionKind> {
        self.expect(SqlKeyword::Collate)?;
        let collation = self.object_name()?;
        Ok(ExpressionKind::Collate { operand: Box::new(left), collation })
    }

    fn parse_cast_operator(&mut self, left: ExpressionNode) -> Parsed<ExpressionKind> {
        self.expect(TokenKind::TypeCast)?;
        let type_name = Box::new(self.parse_type_name()?);
        Ok(ExpressionKind::Cast { operand: Box::new(left), type_name })
    }

    /// Makes a node that reaches from `start` to the last token.
    pub(super) fn node(&self, start: SourceRange, kind: ExpressionKind) -> ExpressionNode {
        ExpressionNode { kind, range: self.range_from(start) }
    }

    /// Parses `COLLATE name` if it is there.
    pub(super) fn optional_collation(&mut self) -> Parsed<Option<crate::tree::ObjectName>> {
        if self.take(SqlKeyword::Collate) { self.object_name().map(Some) } else { Ok(None) }
    }

    /// Parses an operator of ORDER BY and of exclusion constraints.
    pub(super) fn parse_any_operator(&mut self) -> Parsed<OperatorName> {
        self.expect_operator()
    }

    /// Parses `AS label`, or a label without AS.
    pub(super) fn parse_label(&mut self) -> Parsed<Option<crate::tree::SqlName>> {
        if self.take(SqlKeyword::As) {
            return self.expect_name(NamePlace::Label).map(Some);
        }
        Ok(self.optional_name(NamePlace::BareLabel))
    }
}
