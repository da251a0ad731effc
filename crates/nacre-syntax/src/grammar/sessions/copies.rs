//! COPY, with its options of today and of old.

use crate::error::{SyntaxError, SyntaxErrorKind};
use crate::grammar::cursor::{Parsed, StatementParser};
use crate::grammar::names::NamePlace;
use crate::keywords::SqlKeyword;
use crate::lexer::TokenKind;
use crate::range::SourceRange;
use crate::tree::{
    CopySource, CopyStatement, CopyTarget, OptionValue, SqlName, Statement, UtilityOption,
};

impl StatementParser<'_> {
    pub(in crate::grammar) fn parse_copy(&mut self, start: SourceRange) -> Parsed<Statement> {
        self.expect(SqlKeyword::Copy)?;
        let mut options = Vec::new();
        let (source, is_from) = if self.take(TokenKind::LeftParen) {
            let statement = Box::new(self.nested(Self::parse_preparable)?);
            self.expect(TokenKind::RightParen)?;
            self.expect(SqlKeyword::To)?;
            (CopySource::Query(statement), false)
        } else {
            if self.at(SqlKeyword::Binary) && self.is_name_ahead(1, NamePlace::Column) {
                options.push(self.copy_word("binary"));
            }
            let table = self.object_name()?;
            let columns = self.optional_columns()?;
            let is_from = self.take(SqlKeyword::From);
            if !is_from {
                self.expect(SqlKeyword::To)?;
            }
            (CopySource::Table(table, columns), is_from)
        };
        let is_table = matches!(source, CopySource::Table(..));
        let target = self.parse_copy_target()?;
        if is_table {
            self.parse_copy_delimiters(&mut options)?;
        }
        self.take(SqlKeyword::With);
        self.parse_copy_options(&mut options)?;
        let where_start = self.range();
        let condition = if is_table { self.parse_where()? } else { None };
        if condition.is_some() && !is_from {
            let message = "WHERE clause not allowed with COPY TO";
            return Err(SyntaxError::new(SyntaxErrorKind::Grammar, message, where_start));
        }
        let range = self.range_from(start);
        let statement = CopyStatement { source, is_from, target, options, condition, range };
        Ok(Statement::Copy(Box::new(statement)))
    }

    fn parse_copy_target(&mut self) -> Parsed<CopyTarget> {
        let start = self.range();
        let is_program = self.take(SqlKeyword::Program);
        if self.take(SqlKeyword::Stdin) || self.take(SqlKeyword::Stdout) {
            if is_program {
                let message = "STDIN/STDOUT not allowed with PROGRAM";
                return Err(SyntaxError::new(SyntaxErrorKind::Grammar, message, start));
            }
            return Ok(CopyTarget::Client);
        }
        let place = self.expect_string()?;
        Ok(if is_program { CopyTarget::Program(place) } else { CopyTarget::File(place) })
    }

    fn parse_copy_delimiters(&mut self, options: &mut Vec<UtilityOption>) -> Parsed<()> {
        let has_using = self.take(SqlKeyword::Using);
        if has_using || self.at(SqlKeyword::Delimiters) {
            let range = self.expect(SqlKeyword::Delimiters)?;
            let value = Some(OptionValue::Text(self.expect_string()?));
            let name = SqlName { text: "delimiter".to_owned(), range };
            options.push(UtilityOption { name, value });
        }
        Ok(())
    }

    fn parse_copy_options(&mut self, options: &mut Vec<UtilityOption>) -> Parsed<()> {
        if self.at(TokenKind::LeftParen) {
            options.extend(self.paren_list(Self::parse_copy_option)?);
            return Ok(());
        }
        while let Some(option) = self.parse_old_option()? {
            options.push(option);
        }
        Ok(())
    }

    fn parse_copy_option(&mut self) -> Parsed<UtilityOption> {
        let name = self.expect_name(NamePlace::Label)?;
        let value = if self.take(TokenKind::Star) {
            Some(OptionValue::Star)
        } else if self.at(TokenKind::LeftParen) {
            Some(OptionValue::List(self.paren_list(|parser| {
                if parser.at_signed_number() {
                    return Err(parser.unexpected());
                }
                parser.parse_setting_value()
            })?))
        } else if self.at_string() || self.at_setting_word() || self.at_signed_number() {
            Some(self.parse_setting_value()?)
        } else {
            None
        };
        Ok(UtilityOption { name, value })
    }

    fn copy_word(&mut self, format: &str) -> UtilityOption {
        let range = self.advance().range;
        let name = SqlName { text: "format".to_owned(), range };
        UtilityOption { name, value: Some(OptionValue::Text(format.to_owned())) }
    }

    /// Parses an option without parentheses, if one comes next.
    fn parse_old_option(&mut self) -> Parsed<Option<UtilityOption>> {
        let Some(keyword) = self.keyword() else { return Ok(None) };
        match keyword {
            SqlKeyword::Binary => return Ok(Some(self.copy_word("binary"))),
            SqlKeyword::Csv => return Ok(Some(self.copy_word("csv"))),
            SqlKeyword::Freeze | SqlKeyword::Header => {
                return Ok(Some(self.take_word_option(keyword.word())));
            }
            SqlKeyword::Force => return self.parse_force_option().map(Some),
            SqlKeyword::Delimiter
            | SqlKeyword::Null
            | SqlKeyword::Quote
            | SqlKeyword::Escape
            | SqlKeyword::Encoding => {}
            _ => return Ok(None),
        }
        let range = self.advance().range;
        if keyword != SqlKeyword::Encoding {
            self.take(SqlKeyword::As);
        }
        let value = Some(OptionValue::Text(self.expect_string()?));
        let name = SqlName { text: keyword.word().to_owned(), range };
        Ok(Some(UtilityOption { name, value }))
    }

    fn parse_force_option(&mut self) -> Parsed<UtilityOption> {
        let range = self.expect(SqlKeyword::Force)?;
        let text = match self.keyword() {
            Some(SqlKeyword::Quote) => "force_quote",
            Some(SqlKeyword::Null) => "force_null",
            Some(SqlKeyword::Not) => {
                self.advance();
                "force_not_null"
            }
            _ => return Err(self.unexpected()),
        };
        self.expect(if text == "force_quote" { SqlKeyword::Quote } else { SqlKeyword::Null })?;
        let name = SqlName { text: text.to_owned(), range };
        if text == "force_quote" && self.take(TokenKind::Star) {
            return Ok(UtilityOption { name, value: Some(OptionValue::Star) });
        }
        let columns = self.name_list()?.into_iter().map(OptionValue::Keyword).collect();
        Ok(UtilityOption { name, value: Some(OptionValue::List(columns)) })
    }
}
