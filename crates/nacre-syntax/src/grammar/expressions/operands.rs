//! Operands: constants, columns, parameters, CASE, ARRAY, EXISTS, and typed literals.

use super::ExpressionPlace;
use crate::error::{SyntaxError, SyntaxErrorKind};
use crate::grammar::cursor::{Parsed, StatementParser};
use crate::grammar::names::{NamePlace, is_string};
use crate::keywords::SqlKeyword;
use crate::lexer::TokenKind;
use crate::range::SourceRange;
use crate::tree::{
    CaseBranch, CaseExpression, ColumnPath, ExpressionKind, ExpressionNode, IndirectionStep,
    IntervalFields, LiteralValue, SqlName, TypeKind, TypeName, TypedLiteral,
};

impl StatementParser<'_> {
    /// Parses an operand that no operator stands before.
    pub(in crate::grammar) fn parse_primary(
        &mut self,
        place: ExpressionPlace,
    ) -> Parsed<ExpressionNode> {
        match self.peek() {
            TokenKind::LeftParen => {
                let start = self.range();
                let content = self.parse_paren_content(true)?;
                if place == ExpressionPlace::Restricted {
                    return self.restricted_operand(start, content);
                }
                self.paren_operand(start, content)
            }
            TokenKind::Name | TokenKind::QuotedName | TokenKind::UnicodeName => {
                self.parse_named_operand()
            }
            TokenKind::Parameter => self.parse_parameter(),
            TokenKind::Keyword(keyword) => self.parse_keyword_operand(keyword, place),
            _ => self.parse_literal(),
        }
    }

    /// As `paren_operand`, but OVERLAPS does not belong to it.
    fn restricted_operand(
        &mut self,
        start: SourceRange,
        content: super::ParenContent,
    ) -> Parsed<ExpressionNode> {
        match content {
            super::ParenContent::Items(items) if items.len() > 1 => {
                Ok(self.node(start, ExpressionKind::Row { items, is_explicit: false }))
            }
            content => self.paren_operand(start, content),
        }
    }

    /// Parses a number or string, or NULL, TRUE or FALSE.
    pub(in crate::grammar) fn parse_literal(&mut self) -> Parsed<ExpressionNode> {
        let token = self.token(0);
        let text = self.text_of(token);
        let value = match token.kind {
            TokenKind::Integer => LiteralValue::Integer(self.expect_integer()?),
            TokenKind::Decimal => LiteralValue::Decimal(text.to_owned()),
            TokenKind::BitString => LiteralValue::BitString(bits_of(text)),
            TokenKind::HexString => LiteralValue::HexString(bits_of(text)),
            TokenKind::Keyword(SqlKeyword::Null) => LiteralValue::Null,
            TokenKind::Keyword(SqlKeyword::True) => LiteralValue::Boolean(true),
            TokenKind::Keyword(SqlKeyword::False) => LiteralValue::Boolean(false),
            _ => LiteralValue::Text(self.expect_string()?),
        };
        // The others went on by themselves.
        if !matches!(value, LiteralValue::Integer(_) | LiteralValue::Text(_)) {
            self.advance();
        }
        Ok(self.node(token.range, ExpressionKind::Literal(value)))
    }

    fn parse_parameter(&mut self) -> Parsed<ExpressionNode> {
        let token = self.advance();
        let digits = self.text_of(token).get(1..).unwrap_or("");
        let Ok(number) = digits.parse() else {
            let message = format!("there is no parameter ${digits}");
            return Err(SyntaxError::new(SyntaxErrorKind::Parameter, message, token.range));
        };
        let operand = self.node(token.range, ExpressionKind::Parameter(number));
        let steps = self.parse_steps()?;
        if steps.is_empty() {
            return Ok(operand);
        }
        self.grow()?;
        let kind = ExpressionKind::Indirection { operand: Box::new(operand), steps };
        Ok(self.node(token.range, kind))
    }

    /// Parses what begins with a word of the grammar.
    fn parse_keyword_operand(
        &mut self,
        keyword: SqlKeyword,
        place: ExpressionPlace,
    ) -> Parsed<ExpressionNode> {
        match keyword {
            SqlKeyword::Null | SqlKeyword::True | SqlKeyword::False => self.parse_literal(),
            SqlKeyword::Case => self.parse_case(),
            SqlKeyword::Array => self.parse_array(),
            SqlKeyword::Row if self.at_ahead(1, TokenKind::LeftParen) => {
                let row = self.parse_explicit_row()?;
                if place == ExpressionPlace::Any { self.parse_overlaps(row) } else { Ok(row) }
            }
            SqlKeyword::Exists if self.at_ahead(1, TokenKind::LeftParen) => {
                let start = self.range();
                self.advance();
                let query = Box::new(self.parse_paren_query()?);
                Ok(self.node(start, ExpressionKind::Exists(query)))
            }
            SqlKeyword::Grouping if self.at_ahead(1, TokenKind::LeftParen) => {
                let start = self.range();
                self.advance();
                let items = self.paren_list(Self::parse_expression)?;
                Ok(self.node(start, ExpressionKind::Grouping(items)))
            }
            _ if self.at_type_literal(keyword) => self.parse_builtin_literal(),
            _ => match self.parse_special_call(keyword)? {
                Some(call) => Ok(call),
                None => self.parse_named_operand(),
            },
        }
    }

    /// Whether a type comes next whose name is words of the grammar, and a string behind it.
    fn at_type_literal(&self, keyword: SqlKeyword) -> bool {
        if !self.at_builtin_type() {
            return false;
        }
        let next = match self.peek_at(1) {
            TokenKind::LeftParen => return keyword != SqlKeyword::Double,
            kind if is_string(kind) => return true,
            TokenKind::Keyword(next) => next,
            _ => return false,
        };
        match keyword {
            SqlKeyword::Double => true,
            SqlKeyword::National => matches!(next, SqlKeyword::Character | SqlKeyword::Char),
            SqlKeyword::Bit | SqlKeyword::Char | SqlKeyword::Character | SqlKeyword::Nchar => {
                next == SqlKeyword::Varying
            }
            SqlKeyword::Time | SqlKeyword::Timestamp => {
                (next == SqlKeyword::With && self.at_ahead(2, SqlKeyword::Time))
                    || next == SqlKeyword::Without
            }
            _ => false,
        }
    }

    fn parse_builtin_literal(&mut self) -> Parsed<ExpressionNode> {
        let start = self.range();
        let kind = if self.take(SqlKeyword::Interval) {
            let precision = self.parse_precision()?;
            let text = self.expect_string()?;
            let fields = match precision {
                None => self.parse_interval_span()?,
                precision => IntervalFields { span: None, precision },
            };
            return Ok(self.typed_literal(start, TypeKind::Interval(fields), text));
        } else {
            self.parse_simple_type()?
        };
        let text = self.expect_string()?;
        Ok(self.typed_literal(start, kind, text))
    }

    pub(super) fn typed_literal(
        &self,
        start: SourceRange,
        kind: TypeKind,
        text: String,
    ) -> ExpressionNode {
        let type_name = TypeName { kind, is_setof: false, dimensions: Vec::new(), range: start };
        let literal = TypedLiteral { type_name, text };
        self.node(start, ExpressionKind::TypedLiteral(Box::new(literal)))
    }

    /// Parses a column, a call, or a literal of a type: what begins with a name.
    fn parse_named_operand(&mut self) -> Parsed<ExpressionNode> {
        let start = self.range();
        let is_column = self.is_name(NamePlace::Column);
        let mut is_callable = self.is_name(NamePlace::TypeOrFunction);
        if !is_column && !is_callable {
            return Err(self.unexpected());
        }
        let name = self.take_name();
        let steps = if is_column { self.parse_steps()? } else { Vec::new() };
        is_callable |= !steps.is_empty();
        let is_plain = steps.iter().all(|step| matches!(step, IndirectionStep::Field(_)));
        if is_callable && is_plain {
            if self.at(TokenKind::LeftParen) {
                return self.parse_call(start, name, steps);
            }
            if self.at_string() {
                let name = self.qualified_name(start, name, steps);
                let text = self.expect_string()?;
                let kind = TypeKind::Named { name, modifiers: Vec::new() };
                return Ok(self.typed_literal(start, kind, text));
            }
        }
        if !is_column {
            return Err(self.unexpected());
        }
        Ok(self.node(start, ExpressionKind::Column(ColumnPath { name, steps })))
    }

    /// Makes the name of an object of the steps of a column.
    pub(super) fn qualified_name(
        &self,
        start: SourceRange,
        name: SqlName,
        steps: Vec<IndirectionStep>,
    ) -> crate::tree::ObjectName {
        let mut parts = vec![name];
        parts.extend(steps.into_iter().filter_map(|step| match step {
            IndirectionStep::Field(name) => Some(name),
            _ => None,
        }));
        crate::tree::ObjectName { parts, range: self.range_from(start) }
    }

    /// Parses `.name`, `.*`, `[index]` and `[from:to]`, as many as there are.
    pub(in crate::grammar) fn parse_steps(&mut self) -> Parsed<Vec<IndirectionStep>> {
        let mut steps = Vec::new();
        loop {
            if self.take(TokenKind::Dot) {
                let range = self.range();
                if self.take(TokenKind::Star) {
                    steps.push(IndirectionStep::AllFields(range));
                } else {
                    steps.push(IndirectionStep::Field(self.expect_name(NamePlace::Label)?));
                }
            } else if self.take(TokenKind::LeftBracket) {
                steps.push(self.parse_subscript()?);
            } else {
                break;
            }
        }
        let is_star = |step: &IndirectionStep| matches!(step, IndirectionStep::AllFields(_));
        match steps.iter().position(is_star) {
            Some(index) if index + 1 < steps.len() => {
                Err(SyntaxError::near("improper use of \"*\"", self.range(), self.text))
            }
            _ => Ok(steps),
        }
    }

    fn parse_subscript(&mut self) -> Parsed<IndirectionStep> {
        let bound = |parser: &mut Self, end: TokenKind| {
            let is_there = !parser.at(end) && !parser.at(TokenKind::RightBracket);
            is_there.then(|| parser.parse_expression().map(Box::new)).transpose()
        };
        let first = bound(self, TokenKind::Colon)?;
        let step = match first {
            Some(index) if !self.at(TokenKind::Colon) => IndirectionStep::Element(index),
            first => {
                self.expect(TokenKind::Colon)?;
                IndirectionStep::Slice(first, bound(self, TokenKind::RightBracket)?)
            }
        };
        self.expect(TokenKind::RightBracket)?;
        Ok(step)
    }

    fn parse_case(&mut self) -> Parsed<ExpressionNode> {
        let start = self.range();
        self.expect(SqlKeyword::Case)?;
        let operand = if self.at(SqlKeyword::When) { None } else { Some(self.parse_expression()?) };
        let mut branches = Vec::new();
        while branches.is_empty() || self.at(SqlKeyword::When) {
            self.expect(SqlKeyword::When)?;
            let condition = self.parse_expression()?;
            self.expect(SqlKeyword::Then)?;
            branches.push(CaseBranch { condition, result: self.parse_expression()? });
        }
        let otherwise =
            if self.take(SqlKeyword::Else) { Some(self.parse_expression()?) } else { None };
        self.expect(SqlKeyword::End)?;
        let case = CaseExpression { operand, branches, otherwise };
        Ok(self.node(start, ExpressionKind::Case(Box::new(case))))
    }

    fn parse_array(&mut self) -> Parsed<ExpressionNode> {
        let start = self.range();
        self.expect(SqlKeyword::Array)?;
        if self.at(TokenKind::LeftParen) {
            let query = Box::new(self.parse_paren_query()?);
            return Ok(self.node(start, ExpressionKind::ArrayQuery(query)));
        }
        self.parse_array_items(start)
    }

    /// Parses `[a, b]` or `[[a, b], [c]]`.
    fn parse_array_items(&mut self, start: SourceRange) -> Parsed<ExpressionNode> {
        self.nested(|parser| {
            parser.expect(TokenKind::LeftBracket)?;
            let items = if parser.at(TokenKind::RightBracket) {
                Vec::new()
            } else if parser.at(TokenKind::LeftBracket) {
                parser.list(|parser| {
                    let start = parser.range();
                    parser.parse_array_items(start)
                })?
            } else {
                parser.parse_expression_list()?
            };
            parser.expect(TokenKind::RightBracket)?;
            Ok(parser.node(start, ExpressionKind::Array(items)))
        })
    }
}

/// Returns the digits of `B'01'`, of which pieces may stand on several lines.
fn bits_of(token: &str) -> String {
    crate::lexer::literals::string_value(token.get(1..).unwrap_or(""))
}
