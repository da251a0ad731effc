//! Calls that have a syntax of their own, and words that are values.

use crate::error::SyntaxError;
use crate::grammar::cursor::{Parsed, StatementParser};
use crate::keywords::SqlKeyword;
use crate::lexer::TokenKind;
use crate::tree::{CurrentValue, ExpressionKind, ExpressionNode, SpecialCall, TrimSide};

impl StatementParser<'_> {
    /// Parses what begins with `keyword`, which comes next, if it has a syntax of its own.
    pub(in crate::grammar) fn parse_special_call(
        &mut self,
        keyword: SqlKeyword,
    ) -> Parsed<Option<ExpressionNode>> {
        let start = self.range();
        if keyword == SqlKeyword::Collation && self.at_ahead(1, SqlKeyword::For) {
            self.advance();
            self.advance();
            let call = SpecialCall::CollationFor(self.parse_one_argument()?);
            return Ok(Some(self.node(start, ExpressionKind::Special(Box::new(call)))));
        }
        if let Some(value) = current_value(keyword) {
            return self.parse_current_value(keyword, value).map(Some);
        }
        if keyword == SqlKeyword::Cast {
            return self.parse_cast().map(Some);
        }
        if !self.at_ahead(1, TokenKind::LeftParen) {
            return Ok(None);
        }
        if is_xml(keyword) {
            let what = keyword.word().to_uppercase();
            return Err(SyntaxError::not_supported(&what, start));
        }
        let name = self.token(0);
        let call = match keyword {
            SqlKeyword::Coalesce => SpecialCall::Coalesce(self.parse_several_arguments()?),
            SqlKeyword::Greatest => SpecialCall::Greatest(self.parse_several_arguments()?),
            SqlKeyword::Least => SpecialCall::Least(self.parse_several_arguments()?),
            SqlKeyword::Nullif => self.parse_null_if()?,
            SqlKeyword::Extract => self.parse_extract()?,
            SqlKeyword::Position => self.parse_position()?,
            SqlKeyword::Substring | SqlKeyword::Overlay => {
                let name =
                    crate::tree::SqlName { text: keyword.word().to_owned(), range: name.range };
                self.parse_text_call(keyword, name)?
            }
            SqlKeyword::Trim => self.parse_trim()?,
            SqlKeyword::Normalize => self.parse_normalize()?,
            SqlKeyword::Treat => self.parse_treat()?,
            _ => return Ok(None),
        };
        Ok(Some(self.node(start, ExpressionKind::Special(Box::new(call)))))
    }

    fn parse_current_value(
        &mut self,
        keyword: SqlKeyword,
        value: CurrentValue,
    ) -> Parsed<ExpressionNode> {
        let start = self.range();
        self.advance();
        let takes_precision = matches!(
            keyword,
            SqlKeyword::CurrentTime
                | SqlKeyword::CurrentTimestamp
                | SqlKeyword::Localtime
                | SqlKeyword::Localtimestamp
        );
        // CURRENT_SCHEMA may also be called as the function of that name.
        if keyword == SqlKeyword::CurrentSchema && self.at(TokenKind::LeftParen) {
            let text = keyword.word().to_owned();
            let name = crate::tree::SqlName { text, range: start };
            return self.parse_call(start, name, Vec::new());
        }
        let precision = if takes_precision { self.parse_precision()? } else { None };
        let call = SpecialCall::Current(value, precision);
        Ok(self.node(start, ExpressionKind::Special(Box::new(call))))
    }

    fn parse_cast(&mut self) -> Parsed<ExpressionNode> {
        let start = self.range();
        self.advance();
        self.expect(TokenKind::LeftParen)?;
        let operand = Box::new(self.parse_expression()?);
        self.expect(SqlKeyword::As)?;
        let type_name = Box::new(self.parse_type_name()?);
        self.expect(TokenKind::RightParen)?;
        Ok(self.node(start, ExpressionKind::Cast { operand, type_name }))
    }

    fn parse_one_argument(&mut self) -> Parsed<ExpressionNode> {
        self.expect(TokenKind::LeftParen)?;
        let argument = self.parse_expression()?;
        self.expect(TokenKind::RightParen)?;
        Ok(argument)
    }

    fn parse_several_arguments(&mut self) -> Parsed<Vec<ExpressionNode>> {
        self.advance();
        self.paren_list(Self::parse_expression)
    }

    fn parse_null_if(&mut self) -> Parsed<SpecialCall> {
        self.advance();
        self.expect(TokenKind::LeftParen)?;
        let first = self.parse_expression()?;
        self.expect(TokenKind::Comma)?;
        let second = self.parse_expression()?;
        self.expect(TokenKind::RightParen)?;
        Ok(SpecialCall::NullIf(first, second))
    }

    fn parse_extract(&mut self) -> Parsed<SpecialCall> {
        self.advance();
        self.expect(TokenKind::LeftParen)?;
        let is_field = matches!(
            self.peek(),
            TokenKind::Name
                | TokenKind::QuotedName
                | TokenKind::UnicodeName
                | TokenKind::Keyword(
                    SqlKeyword::Year
                        | SqlKeyword::Month
                        | SqlKeyword::Day
                        | SqlKeyword::Hour
                        | SqlKeyword::Minute
                        | SqlKeyword::Second
                )
        );
        let field = if is_field { self.take_name().text } else { self.expect_string()? };
        self.expect(SqlKeyword::From)?;
        let source = self.parse_expression()?;
        self.expect(TokenKind::RightParen)?;
        Ok(SpecialCall::Extract { field, source })
    }

    fn parse_position(&mut self) -> Parsed<SpecialCall> {
        self.advance();
        self.expect(TokenKind::LeftParen)?;
        let part = self.parse_restricted()?;
        self.expect(SqlKeyword::In)?;
        let whole = self.parse_restricted()?;
        self.expect(TokenKind::RightParen)?;
        Ok(SpecialCall::Position { part, whole })
    }

    /// Parses SUBSTRING and OVERLAY, with words between the arguments or with commas.
    fn parse_text_call(
        &mut self,
        keyword: SqlKeyword,
        name: crate::tree::SqlName,
    ) -> Parsed<SpecialCall> {
        self.advance();
        self.expect(TokenKind::LeftParen)?;
        if self.take(TokenKind::RightParen) {
            return Ok(SpecialCall::Plain { name, items: Vec::new() });
        }
        let first = self.parse_argument()?;
        if first.name.is_some() || matches!(self.peek(), TokenKind::Comma | TokenKind::RightParen) {
            let mut items = vec![first];
            while self.take(TokenKind::Comma) {
                items.push(self.parse_argument()?);
            }
            self.expect(TokenKind::RightParen)?;
            return Ok(SpecialCall::Plain { name, items });
        }
        let call = if keyword == SqlKeyword::Substring {
            self.parse_substring(first.value)?
        } else {
            self.parse_overlay(first.value)?
        };
        self.expect(TokenKind::RightParen)?;
        Ok(call)
    }

    fn parse_substring(&mut self, source: ExpressionNode) -> Parsed<SpecialCall> {
        if self.take(SqlKeyword::Similar) {
            let pattern = self.parse_expression()?;
            self.expect(SqlKeyword::Escape)?;
            let escape = self.parse_expression()?;
            return Ok(SpecialCall::SubstringSimilar { source, pattern, escape });
        }
        let mut from = None;
        let mut length = None;
        loop {
            let slot = match self.keyword() {
                Some(SqlKeyword::From) if from.is_none() => &mut from,
                Some(SqlKeyword::For) if length.is_none() => &mut length,
                _ if from.is_some() || length.is_some() => break,
                _ => return Err(self.unexpected()),
            };
            self.advance();
            *slot = Some(self.parse_expression()?);
        }
        Ok(SpecialCall::Substring { source, from, length })
    }

    fn parse_overlay(&mut self, source: ExpressionNode) -> Parsed<SpecialCall> {
        self.expect(SqlKeyword::Placing)?;
        let replacement = self.parse_expression()?;
        self.expect(SqlKeyword::From)?;
        let from = self.parse_expression()?;
        let length = if self.take(SqlKeyword::For) { Some(self.parse_expression()?) } else { None };
        Ok(SpecialCall::Overlay { source, replacement, from, length })
    }

    fn parse_trim(&mut self) -> Parsed<SpecialCall> {
        self.advance();
        self.expect(TokenKind::LeftParen)?;
        let side = match self.keyword() {
            Some(SqlKeyword::Leading) => Some(TrimSide::Leading),
            Some(SqlKeyword::Trailing) => Some(TrimSide::Trailing),
            Some(SqlKeyword::Both) => Some(TrimSide::Both),
            _ => None,
        };
        if side.is_some() {
            self.advance();
        }
        let mut characters = None;
        let mut items = Vec::new();
        if !self.at(SqlKeyword::From) {
            let first = self.parse_expression()?;
            if self.at(SqlKeyword::From) {
                characters = Some(first);
            } else {
                items.push(first);
            }
        }
        if self.take(SqlKeyword::From) {
            items = self.parse_expression_list()?;
        } else if self.take(TokenKind::Comma) {
            items.extend(self.parse_expression_list()?);
        }
        self.expect(TokenKind::RightParen)?;
        Ok(SpecialCall::Trim { side: side.unwrap_or(TrimSide::Both), characters, items })
    }

    fn parse_normalize(&mut self) -> Parsed<SpecialCall> {
        self.advance();
        self.expect(TokenKind::LeftParen)?;
        let value = self.parse_expression()?;
        let form = if self.take(TokenKind::Comma) { Some(self.parse_normal_form()?) } else { None };
        self.expect(TokenKind::RightParen)?;
        Ok(SpecialCall::Normalize(value, form))
    }

    fn parse_treat(&mut self) -> Parsed<SpecialCall> {
        self.advance();
        self.expect(TokenKind::LeftParen)?;
        let value = self.parse_expression()?;
        self.expect(SqlKeyword::As)?;
        let type_name = self.parse_type_name()?;
        self.expect(TokenKind::RightParen)?;
        Ok(SpecialCall::Treat(value, type_name))
    }
}

fn current_value(keyword: SqlKeyword) -> Option<CurrentValue> {
    Some(match keyword {
        SqlKeyword::CurrentDate => CurrentValue::Date,
        SqlKeyword::CurrentTime => CurrentValue::Time,
        SqlKeyword::CurrentTimestamp => CurrentValue::Timestamp,
        SqlKeyword::Localtime => CurrentValue::LocalTime,
        SqlKeyword::Localtimestamp => CurrentValue::LocalTimestamp,
        SqlKeyword::CurrentRole => CurrentValue::Role,
        SqlKeyword::CurrentUser => CurrentValue::User,
        SqlKeyword::SessionUser => CurrentValue::SessionUser,
        SqlKeyword::User => CurrentValue::PlainUser,
        SqlKeyword::CurrentCatalog => CurrentValue::Catalog,
        SqlKeyword::CurrentSchema => CurrentValue::Schema,
        _ => return None,
    })
}

fn is_xml(keyword: SqlKeyword) -> bool {
    matches!(
        keyword,
        SqlKeyword::Xmlconcat
            | SqlKeyword::Xmlelement
            | SqlKeyword::Xmlexists
            | SqlKeyword::Xmlforest
            | SqlKeyword::Xmlparse
            | SqlKeyword::Xmlpi
            | SqlKeyword::Xmlroot
            | SqlKeyword::Xmlserialize
    )
}
