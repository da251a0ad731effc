//! Parentheses: a query, an expression, or a row of several, told apart without going back.

use super::{ExpressionPlace, LEVEL_OR};
use crate::grammar::cursor::{Parsed, StatementParser};
use crate::keywords::SqlKeyword;
use crate::lexer::TokenKind;
use crate::range::SourceRange;
use crate::tree::{ExpressionKind, ExpressionNode, QueryBody, QueryExpression};

/// What stands in parentheses.
pub(in crate::grammar) enum ParenContent {
    /// A query.
    Query(Box<QueryExpression>),
    /// Expressions, at least one.
    Items(Vec<ExpressionNode>),
}

impl StatementParser<'_> {
    /// Whether a query begins so many tokens ahead, behind parentheses.
    pub(in crate::grammar) fn at_query_word(&self, ahead: usize) -> bool {
        match self.peek_at(ahead) {
            TokenKind::Keyword(SqlKeyword::Select | SqlKeyword::With | SqlKeyword::Table) => true,
            TokenKind::Keyword(SqlKeyword::Values) => {
                self.at_ahead(ahead + 1, TokenKind::LeftParen)
            }
            _ => false,
        }
    }

    /// Whether an opening parenthesis comes next, and a query within it or further ones.
    pub(in crate::grammar) fn at_query_parenthesis(&mut self) -> bool {
        let run = self.paren_run();
        run > 0 && self.at_query_word(run)
    }

    /// Whether a single opening parenthesis comes next, and no query within it.
    pub(in crate::grammar) fn at_plain_parenthesis(&mut self) -> bool {
        self.paren_run() == 1 && !self.at_query_word(1)
    }

    /// Whether what follows a query in parentheses makes a larger query of it.
    pub(in crate::grammar) fn at_query_rest(&self) -> bool {
        matches!(
            self.keyword(),
            Some(
                SqlKeyword::Union
                    | SqlKeyword::Except
                    | SqlKeyword::Intersect
                    | SqlKeyword::Order
                    | SqlKeyword::Limit
                    | SqlKeyword::Offset
                    | SqlKeyword::Fetch
                    | SqlKeyword::For
            )
        )
    }

    /// Parses from parenthesis to parenthesis.
    pub(in crate::grammar) fn parse_paren_content(
        &mut self,
        is_list_allowed: bool,
    ) -> Parsed<ParenContent> {
        self.nested(|parser| {
            if !parser.at_query_parenthesis() {
                parser.expect(TokenKind::LeftParen)?;
                return parser.parse_paren_items(None, is_list_allowed);
            }
            let start = parser.range();
            parser.advance();
            if !parser.at(TokenKind::LeftParen) {
                let query = parser.parse_query()?;
                parser.expect(TokenKind::RightParen)?;
                return Ok(ParenContent::Query(Box::new(query)));
            }
            parser.parse_nested_content(start, is_list_allowed)
        })
    }

    /// Parses the rest behind `(` where another parenthesis with a query comes next.
    fn parse_nested_content(
        &mut self,
        start: SourceRange,
        is_list_allowed: bool,
    ) -> Parsed<ParenContent> {
        let inner = self.range();
        match self.parse_paren_content(true)? {
            ParenContent::Query(query) if self.at_query_rest() => {
                let query = self.parse_query_from(start, None, QueryBody::Nested(query))?;
                self.expect(TokenKind::RightParen)?;
                Ok(ParenContent::Query(Box::new(query)))
            }
            ParenContent::Query(query) if self.take(TokenKind::RightParen) => {
                Ok(ParenContent::Query(query))
            }
            content => {
                let first = self.paren_operand(inner, content)?;
                self.parse_paren_items(Some(first), is_list_allowed)
            }
        }
    }

    /// Parses expressions up to the closing parenthesis, of which the first operand may be parsed
    /// already.
    fn parse_paren_items(
        &mut self,
        first: Option<ExpressionNode>,
        is_list_allowed: bool,
    ) -> Parsed<ParenContent> {
        let first = match first {
            Some(operand) => self.parse_infix(operand, LEVEL_OR, ExpressionPlace::Any)?,
            None => self.parse_expression()?,
        };
        let mut items = vec![first];
        while is_list_allowed && self.take(TokenKind::Comma) {
            items.push(self.parse_expression()?);
        }
        self.expect(TokenKind::RightParen)?;
        Ok(ParenContent::Items(items))
    }

    /// Makes an operand of what stood in parentheses, with the steps into it that follow.
    pub(super) fn paren_operand(
        &mut self,
        start: SourceRange,
        content: ParenContent,
    ) -> Parsed<ExpressionNode> {
        let operand = match content {
            ParenContent::Query(query) => self.node(start, ExpressionKind::Subquery(query)),
            ParenContent::Items(mut items) => {
                if items.len() > 1 {
                    let kind = ExpressionKind::Row { items, is_explicit: false };
                    let row = self.node(start, kind);
                    return self.parse_overlaps(row);
                }
                match items.pop() {
                    Some(item) => item,
                    None => return Err(self.unexpected()),
                }
            }
        };
        let steps = self.parse_steps()?;
        if steps.is_empty() {
            return Ok(operand);
        }
        self.grow()?;
        let kind = ExpressionKind::Indirection { operand: Box::new(operand), steps };
        Ok(self.node(start, kind))
    }

    /// Parses `OVERLAPS row` behind a row, if it is there.
    pub(super) fn parse_overlaps(&mut self, left: ExpressionNode) -> Parsed<ExpressionNode> {
        if !self.at(SqlKeyword::Overlaps) {
            return Ok(left);
        }
        self.grow()?;
        self.advance();
        let start = left.range;
        let right = self.nested(|parser| parser.parse_row_operand())?;
        let kind = ExpressionKind::Overlaps { left: Box::new(left), right: Box::new(right) };
        Ok(self.node(start, kind))
    }

    fn parse_row_operand(&mut self) -> Parsed<ExpressionNode> {
        let start = self.range();
        if self.at(SqlKeyword::Row) {
            return self.parse_explicit_row();
        }
        match self.parse_paren_content(true)? {
            ParenContent::Items(items) if items.len() > 1 => {
                Ok(self.node(start, ExpressionKind::Row { items, is_explicit: false }))
            }
            _ => Err(self.unexpected()),
        }
    }

    /// Parses `ROW(a, b)`, which may be empty.
    pub(super) fn parse_explicit_row(&mut self) -> Parsed<ExpressionNode> {
        let start = self.range();
        self.expect(SqlKeyword::Row)?;
        self.expect(TokenKind::LeftParen)?;
        let items =
            if self.at(TokenKind::RightParen) { Vec::new() } else { self.parse_expression_list()? };
        self.expect(TokenKind::RightParen)?;
        Ok(self.node(start, ExpressionKind::Row { items, is_explicit: true }))
    }
}
