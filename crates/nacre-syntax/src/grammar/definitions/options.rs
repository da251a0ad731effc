//! `name = value` in parentheses, of tables, indexes and views.

use crate::grammar::cursor::{Parsed, StatementParser};
use crate::grammar::names::NamePlace;
use crate::keywords::{KeywordCategory, SqlKeyword};
use crate::lexer::TokenKind;
use crate::tree::{ObjectName, OptionValue, StorageOption};

impl StatementParser<'_> {
    /// Parses `WITH (...)` or WITHOUT OIDS, if one is there.
    pub(super) fn parse_with_options(&mut self) -> Parsed<Vec<StorageOption>> {
        if self.take(SqlKeyword::Without) {
            self.expect(SqlKeyword::Oids)?;
            return Ok(Vec::new());
        }
        if self.take(SqlKeyword::With) { self.parse_options() } else { Ok(Vec::new()) }
    }

    /// Parses `(name = value, ...)`, of which names may be qualified.
    pub(super) fn parse_options(&mut self) -> Parsed<Vec<StorageOption>> {
        self.paren_list(|parser| parser.parse_option(true))
    }

    /// Parses `(name = value, ...)`, of which names are not qualified.
    pub(super) fn parse_definition(&mut self) -> Parsed<Vec<StorageOption>> {
        self.paren_list(|parser| parser.parse_option(false))
    }

    fn parse_option(&mut self, is_qualified: bool) -> Parsed<StorageOption> {
        let start = self.range();
        let mut parts = vec![self.expect_name(NamePlace::Label)?];
        if is_qualified && self.take(TokenKind::Dot) {
            parts.push(self.expect_name(NamePlace::Label)?);
        }
        let name = ObjectName { parts, range: self.range_from(start) };
        let value =
            if self.take(TokenKind::Equals) { Some(self.parse_option_value()?) } else { None };
        Ok(StorageOption { name, value })
    }

    /// Parses a word, type, operator, number or string.
    fn parse_option_value(&mut self) -> Parsed<OptionValue> {
        if self.at_string() {
            return self.expect_string().map(OptionValue::Text);
        }
        let is_number = matches!(
            (self.peek(), self.peek_at(1)),
            (TokenKind::Integer | TokenKind::Decimal, _)
                | (TokenKind::Plus | TokenKind::Minus, TokenKind::Integer | TokenKind::Decimal)
        );
        if is_number {
            return self.expect_signed_number().map(OptionValue::Number);
        }
        if self.at_operator() {
            return self.parse_any_operator().map(OptionValue::Operator);
        }
        let is_word = self.keyword().is_some_and(|keyword| {
            keyword.category() == KeywordCategory::Reserved || keyword == SqlKeyword::None
        });
        if is_word {
            return Ok(OptionValue::Keyword(self.take_name()));
        }
        self.parse_type_name().map(|type_name| OptionValue::Word(Box::new(type_name)))
    }
}
