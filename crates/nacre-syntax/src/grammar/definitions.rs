//! Statements that define, change and drop objects.

mod alterations;
mod columns;
mod constraints;
mod drops;
mod indexes;
mod options;
mod partitions;
mod roles;
mod sequences;
mod tables;
mod views;

use super::cursor::{Parsed, StatementParser};
use crate::error::{SyntaxError, SyntaxErrorKind};
use crate::keywords::SqlKeyword;
use crate::lexer::TokenKind;
use crate::range::SourceRange;
use crate::tree::{CreateSchema, RoleName, Statement, TablePersistence};

impl StatementParser<'_> {
    pub(super) fn parse_create(&mut self, start: SourceRange) -> Parsed<Statement> {
        let ahead = self.create_words();
        let TokenKind::Keyword(word) = self.peek_at(ahead) else {
            return Err(self.unexpected_at(ahead));
        };
        let is_replacing = self.at_ahead(1, SqlKeyword::Or);
        match word {
            SqlKeyword::View | SqlKeyword::Recursive => self.parse_create_view(start),
            _ if is_replacing => self.parse_other(start),
            SqlKeyword::Table => self.parse_create_table(start),
            SqlKeyword::Sequence => self.parse_create_sequence(start),
            SqlKeyword::Materialized if self.at_plain_or(ahead, SqlKeyword::Unlogged) => {
                self.parse_create_materialized(start)
            }
            _ if ahead > 1 => Err(self.unexpected_at(ahead)),
            SqlKeyword::Unique | SqlKeyword::Index => self.parse_create_index(start),
            SqlKeyword::Schema => self.parse_create_schema(start),
            SqlKeyword::User if self.at_ahead(2, SqlKeyword::Mapping) => self.parse_other(start),
            SqlKeyword::Role | SqlKeyword::User | SqlKeyword::Group => {
                self.parse_create_role(start)
            }
            _ => self.parse_other(start),
        }
    }

    /// Returns how many words CREATE, OR REPLACE and TEMPORARY are.
    pub(super) fn create_words(&self) -> usize {
        let mut ahead = 1;
        if self.at_ahead(1, SqlKeyword::Or) && self.at_ahead(2, SqlKeyword::Replace) {
            ahead = 3;
        }
        if self.at_ahead(ahead, SqlKeyword::Local) || self.at_ahead(ahead, SqlKeyword::Global) {
            ahead += 1;
        }
        match self.peek_at(ahead) {
            TokenKind::Keyword(SqlKeyword::Temporary | SqlKeyword::Temp | SqlKeyword::Unlogged) => {
                ahead + 1
            }
            _ => ahead,
        }
    }

    /// Whether only `word` stands between CREATE and the kind of object.
    fn at_plain_or(&self, ahead: usize, word: SqlKeyword) -> bool {
        ahead == 1 || (ahead == 2 && self.at_ahead(1, word))
    }

    /// Parses TEMPORARY, UNLOGGED and the like, if one is there.
    fn parse_persistence(&mut self) -> Parsed<TablePersistence> {
        if self.take(SqlKeyword::Unlogged) {
            return Ok(TablePersistence::Unlogged);
        }
        let is_scoped = self.take(SqlKeyword::Local) || self.take(SqlKeyword::Global);
        if self.take(SqlKeyword::Temporary) || self.take(SqlKeyword::Temp) {
            return Ok(TablePersistence::Temporary);
        }
        if is_scoped { Err(self.unexpected()) } else { Ok(TablePersistence::Permanent) }
    }

    /// Parses IF NOT EXISTS if it is there.
    fn parse_if_not_exists(&mut self) -> Parsed<bool> {
        // IF may be the name of the object.
        if !self.at_words(&[SqlKeyword::If, SqlKeyword::Not]) {
            return Ok(false);
        }
        self.advance();
        self.expect_words(&[SqlKeyword::Not, SqlKeyword::Exists])?;
        Ok(true)
    }

    /// Parses IF EXISTS if it is there.
    pub(super) fn parse_if_exists(&mut self) -> bool {
        self.take_words(&[SqlKeyword::If, SqlKeyword::Exists])
    }

    fn parse_create_schema(&mut self, start: SourceRange) -> Parsed<Statement> {
        self.expect_words(&[SqlKeyword::Create, SqlKeyword::Schema])?;
        let if_not_exists = self.parse_if_not_exists()?;
        let name =
            if self.at(SqlKeyword::Authorization) { None } else { Some(self.column_name()?) };
        let owner: Option<RoleName> =
            if self.take(SqlKeyword::Authorization) { Some(self.role_name()?) } else { None };
        let mut elements = Vec::new();
        while let TokenKind::Keyword(SqlKeyword::Create | SqlKeyword::Grant) = self.peek() {
            let range = self.range();
            if if_not_exists {
                let message = "CREATE SCHEMA IF NOT EXISTS cannot include schema elements";
                return Err(SyntaxError::new(SyntaxErrorKind::NotSupported, message, range));
            }
            elements.push(if self.at(SqlKeyword::Create) {
                self.nested(|parser| parser.parse_create(range))?
            } else {
                self.parse_grant(range)?
            });
        }
        let range = self.range_from(start);
        let schema = CreateSchema { if_not_exists, name, owner, elements, range };
        Ok(Statement::CreateSchema(Box::new(schema)))
    }
}
