//! SET, RESET and SHOW.

use crate::error::SyntaxError;
use crate::grammar::cursor::{Parsed, StatementParser};
use crate::grammar::names::NamePlace;
use crate::keywords::{KeywordCategory, SqlKeyword};
use crate::lexer::TokenKind;
use crate::range::SourceRange;
use crate::tree::{
    ColumnPath, ExpressionKind, ExpressionNode, OptionValue, SetStatement, SettingChange,
    SettingScope, ShowStatement, ShowSubject, Statement,
};

impl StatementParser<'_> {
    pub(in crate::grammar) fn parse_set(&mut self, start: SourceRange) -> Parsed<Statement> {
        if self.take(SqlKeyword::Reset) {
            let change = self.parse_reset()?;
            return Ok(self.set_statement(start, SettingScope::Session, change));
        }
        self.expect(SqlKeyword::Set)?;
        if self.at(SqlKeyword::Constraints) && !self.at_assignment(1) {
            self.advance();
            let change = self.parse_constraint_mode()?;
            return Ok(self.set_statement(start, SettingScope::Session, change));
        }
        let is_scope =
            |parser: &Self| !parser.at_assignment(1) && !parser.at_ahead(1, TokenKind::Dot);
        let is_session = self.at(SqlKeyword::Session)
            && is_scope(self)
            && !self.at_ahead(1, SqlKeyword::Authorization)
            && !self.at_ahead(1, SqlKeyword::Characteristics);
        let is_local = self.at(SqlKeyword::Local) && is_scope(self);
        if is_session || is_local {
            self.advance();
        }
        let scope = if is_local { SettingScope::Local } else { SettingScope::Session };
        let change = self.parse_setting_change()?;
        Ok(self.set_statement(start, scope, change))
    }

    fn set_statement(
        &self,
        start: SourceRange,
        scope: SettingScope,
        change: SettingChange,
    ) -> Statement {
        let range = self.range_from(start);
        Statement::Set(Box::new(SetStatement { scope, change, range }))
    }

    /// Whether what assigns a value comes so many tokens ahead.
    fn at_assignment(&self, ahead: usize) -> bool {
        matches!(
            self.peek_at(ahead),
            TokenKind::Equals | TokenKind::Keyword(SqlKeyword::To | SqlKeyword::From)
        )
    }

    fn parse_setting_change(&mut self) -> Parsed<SettingChange> {
        let is_name = self.at_assignment(1) || self.at_ahead(1, TokenKind::Dot);
        let keyword = if is_name { None } else { self.keyword() };
        match keyword {
            Some(SqlKeyword::Transaction) => {
                self.advance();
                if self.take(SqlKeyword::Snapshot) {
                    return self.expect_string().map(SettingChange::TransactionSnapshot);
                }
                self.parse_some_modes().map(SettingChange::Transaction)
            }
            Some(SqlKeyword::Session) => self.parse_session_change(),
            Some(SqlKeyword::Time) => {
                self.advance();
                self.expect(SqlKeyword::Zone)?;
                self.parse_zone_value().map(SettingChange::TimeZone)
            }
            Some(SqlKeyword::Names) => {
                self.advance();
                self.parse_names()
            }
            Some(SqlKeyword::Schema) => {
                self.advance();
                let value = vec![OptionValue::Text(self.expect_string()?)];
                Ok(SettingChange::Values("search_path".to_owned(), value))
            }
            Some(SqlKeyword::Catalog) => {
                let range = self.range();
                self.advance();
                self.expect_string()?;
                Err(SyntaxError::not_supported("SET CATALOG", range))
            }
            Some(SqlKeyword::Role) => {
                self.advance();
                let role = self.parse_word_or_string()?;
                Ok(SettingChange::Role((role != "none").then_some(role)))
            }
            Some(SqlKeyword::Xml) => {
                self.advance();
                self.expect(SqlKeyword::Option)?;
                if !self.take(SqlKeyword::Document) {
                    self.expect(SqlKeyword::Content)?;
                    return Ok(xml_option("content"));
                }
                Ok(xml_option("document"))
            }
            _ => self.parse_generic_change(),
        }
    }

    fn parse_session_change(&mut self) -> Parsed<SettingChange> {
        self.expect(SqlKeyword::Session)?;
        if self.take(SqlKeyword::Characteristics) {
            self.expect_words(&[SqlKeyword::As, SqlKeyword::Transaction])?;
            return self.parse_some_modes().map(SettingChange::SessionCharacteristics);
        }
        self.expect(SqlKeyword::Authorization)?;
        if self.take(SqlKeyword::Default) {
            return Ok(SettingChange::SessionAuthorization(None));
        }
        let role = self.parse_word_or_string()?;
        Ok(SettingChange::SessionAuthorization(Some(role)))
    }

    fn parse_names(&mut self) -> Parsed<SettingChange> {
        let name = "client_encoding".to_owned();
        if self.at_string() {
            let value = OptionValue::Text(self.expect_string()?);
            return Ok(SettingChange::Values(name, vec![value]));
        }
        self.take(SqlKeyword::Default);
        Ok(SettingChange::Default(name))
    }

    fn parse_generic_change(&mut self) -> Parsed<SettingChange> {
        let name = self.parse_setting_name()?;
        if self.take(SqlKeyword::From) {
            self.expect(SqlKeyword::Current)?;
            return Ok(SettingChange::FromCurrent(name));
        }
        if !self.take(SqlKeyword::To) {
            self.expect(TokenKind::Equals)?;
        }
        if self.take(SqlKeyword::Default) {
            return Ok(SettingChange::Default(name));
        }
        Ok(SettingChange::Values(name, self.list(Self::parse_setting_value)?))
    }

    /// Parses a name with what qualifies it.
    fn parse_setting_name(&mut self) -> Parsed<String> {
        let mut name = self.column_name()?.text;
        while self.take(TokenKind::Dot) {
            name.push('.');
            name.push_str(&self.column_name()?.text);
        }
        Ok(name)
    }

    /// Parses a word, string or number.
    pub(super) fn parse_setting_value(&mut self) -> Parsed<OptionValue> {
        if self.at_string() {
            return self.expect_string().map(OptionValue::Text);
        }
        if self.at_signed_number() {
            return self.expect_signed_number().map(OptionValue::Number);
        }
        if !self.at_setting_word() {
            return Err(self.unexpected());
        }
        Ok(OptionValue::Keyword(self.take_name()))
    }

    /// Whether a word comes next that may be a value.
    pub(super) fn at_setting_word(&self) -> bool {
        matches!(self.keyword(), Some(SqlKeyword::True | SqlKeyword::False | SqlKeyword::On))
            || self.is_name(NamePlace::Unreserved)
    }

    fn parse_word_or_string(&mut self) -> Parsed<String> {
        if self.at_string() {
            return self.expect_string();
        }
        self.expect_name(NamePlace::Unreserved).map(|name| name.text)
    }

    fn parse_zone_value(&mut self) -> Parsed<Option<ExpressionNode>> {
        if self.take(SqlKeyword::Local) || self.take(SqlKeyword::Default) {
            return Ok(None);
        }
        let start = self.range();
        if self.at(SqlKeyword::Interval) || self.at_string() {
            if self.at(SqlKeyword::Interval) && !self.at_interval_literal() {
                return Err(self.unexpected_at(1));
            }
            return self.parse_primary_operand().map(Some);
        }
        if self.at_signed_number() {
            let digits = self.expect_signed_number()?;
            let kind = ExpressionKind::Literal(crate::tree::LiteralValue::Decimal(digits));
            return Ok(Some(self.node(start, kind)));
        }
        let is_name =
            matches!(self.peek(), TokenKind::Name | TokenKind::QuotedName | TokenKind::UnicodeName);
        if !is_name {
            return Err(self.unexpected());
        }
        let name = self.take_name();
        let kind = ExpressionKind::Column(ColumnPath { name, steps: Vec::new() });
        Ok(Some(self.node(start, kind)))
    }

    fn at_interval_literal(&self) -> bool {
        self.at_ahead(1, TokenKind::LeftParen) || crate::grammar::names::is_string(self.peek_at(1))
    }

    fn parse_primary_operand(&mut self) -> Parsed<ExpressionNode> {
        self.parse_primary(crate::grammar::expressions::ExpressionPlace::Any)
    }

    fn parse_constraint_mode(&mut self) -> Parsed<SettingChange> {
        let names = if self.take(SqlKeyword::All) { Vec::new() } else { self.object_list()? };
        let is_deferred = self.take(SqlKeyword::Deferred);
        if !is_deferred {
            self.expect(SqlKeyword::Immediate)?;
        }
        Ok(SettingChange::Constraints(names, is_deferred))
    }

    fn parse_reset(&mut self) -> Parsed<SettingChange> {
        if self.take(SqlKeyword::All) {
            return Ok(SettingChange::ResetAll);
        }
        self.parse_special_setting().map(SettingChange::Reset)
    }

    /// Parses the name of a setting, or the words that stand for one.
    fn parse_special_setting(&mut self) -> Parsed<String> {
        let ends = !matches!(self.peek_at(1), TokenKind::Keyword(keyword)
            if keyword.category() != KeywordCategory::Reserved
                || keyword == SqlKeyword::Authorization);
        let name = match self.keyword() {
            _ if ends => return self.parse_setting_name(),
            Some(SqlKeyword::Time) => {
                self.advance();
                self.expect(SqlKeyword::Zone)?;
                "timezone"
            }
            Some(SqlKeyword::Transaction) => {
                self.advance();
                self.expect_words(&[SqlKeyword::Isolation, SqlKeyword::Level])?;
                "transaction_isolation"
            }
            Some(SqlKeyword::Session) => {
                self.advance();
                self.expect(SqlKeyword::Authorization)?;
                "session_authorization"
            }
            _ => return self.parse_setting_name(),
        };
        Ok(name.to_owned())
    }

    pub(in crate::grammar) fn parse_show(&mut self, start: SourceRange) -> Parsed<Statement> {
        self.expect(SqlKeyword::Show)?;
        let subject = if self.take(SqlKeyword::All) {
            ShowSubject::All
        } else if self.at(SqlKeyword::Columns) && self.at_ahead(1, SqlKeyword::From) {
            self.advance();
            self.advance();
            ShowSubject::Columns(self.object_name()?)
        } else {
            ShowSubject::Setting(self.parse_special_setting()?)
        };
        Ok(Statement::Show(ShowStatement { subject, range: self.range_from(start) }))
    }
}

fn xml_option(value: &str) -> SettingChange {
    let value = OptionValue::Text(value.to_owned());
    SettingChange::Values("xmloption".to_owned(), vec![value])
}
