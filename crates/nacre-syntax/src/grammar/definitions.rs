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
use crate::keywords::Keyword;
use crate::lexer::TokenKind;
use crate::range::SourceRange;
use crate::tree::{CreateSchema, RoleName, Statement, TablePersistence};

impl StatementParser<'_> {
    pub(super) fn parse_create(&mut self, start: SourceRange) -> Parsed<Statement> {
        let ahead = self.create_words();
        let TokenKind::Keyword(word) = self.peek_at(ahead) else {
            return Err(self.unexpected_at(ahead));
        };
        let is_replacing = self.at_ahead(1, Keyword::Or);
        match word {
            Keyword::View | Keyword::Recursive => self.parse_create_view(start),
            _ if is_replacing => self.parse_other(start),
            Keyword::Table => self.parse_create_table(start),
            Keyword::Sequence => self.parse_create_sequence(start),
            Keyword::Materialized if self.at_plain_or(ahead, Keyword::Unlogged) => {
                self.parse_create_materialized(start)
            }
            _ if ahead > 1 => Err(self.unexpected_at(ahead)),
            Keyword::Unique | Keyword::Index => self.parse_create_index(start),
            Keyword::Schema => self.parse_create_schema(start),
            Keyword::User if self.at_ahead(2, Keyword::Mapping) => self.parse_other(start),
            Keyword::Role | Keyword::User | Keyword::Group => self.parse_create_role(start),
            _ => self.parse_other(start),
        }
    }

    /// Returns how many words CREATE, OR REPLACE and TEMPORARY are.
    pub(super) fn create_words(&self) -> usize {
        let mut ahead = 1;
        if self.at_ahead(1, Keyword::Or) && self.at_ahead(2, Keyword::Replace) {
            ahead = 3;
        }
        if self.at_ahead(ahead, Keyword::Local) || self.at_ahead(ahead, Keyword::Global) {
            ahead += 1;
        }
        match self.peek_at(ahead) {
            TokenKind::Keyword(Keyword::Temporary | Keyword::Temp | Keyword::Unlogged) => ahead + 1,
            _ => ahead,
        }
    }

    /// Whether only `word` stands between CREATE and the kind of object.
    fn at_plain_or(&self, ahead: usize, word: Keyword) -> bool {
        ahead == 1 || (ahead == 2 && self.at_ahead(1, word))
    }

    /// Parses TEMPORARY, UNLOGGED and the like, if one is there.
    fn parse_persistence(&mut self) -> Parsed<TablePersistence> {
        if self.take(Keyword::Unlogged) {
            return Ok(TablePersistence::Unlogged);
        }
        let is_scoped = self.take(Keyword::Local) || self.take(Keyword::Global);
        if self.take(Keyword::Temporary) || self.take(Keyword::Temp) {
            return Ok(TablePersistence::Temporary);
        }
        if is_scoped { Err(self.unexpected()) } else { Ok(TablePersistence::Permanent) }
    }

    /// Parses IF NOT EXISTS if it is there.
    fn parse_if_not_exists(&mut self) -> Parsed<bool> {
        // IF may be the name of the object.
        if !self.at_words(&[Keyword::If, Keyword::Not]) {
            return Ok(false);
        }
        self.advance();
        self.expect_words(&[Keyword::Not, Keyword::Exists])?;
        Ok(true)
    }

    /// Parses IF EXISTS if it is there.
    pub(super) fn parse_if_exists(&mut self) -> bool {
        self.take_words(&[Keyword::If, Keyword::Exists])
    }

    fn parse_create_schema(&mut self, start: SourceRange) -> Parsed<Statement> {
        self.expect_words(&[Keyword::Create, Keyword::Schema])?;
        let if_not_exists = self.parse_if_not_exists()?;
        let name = if self.at(Keyword::Authorization) { None } else { Some(self.column_name()?) };
        let owner: Option<RoleName> =
            if self.take(Keyword::Authorization) { Some(self.role_name()?) } else { None };
        let mut elements = Vec::new();
        while let TokenKind::Keyword(Keyword::Create | Keyword::Grant) = self.peek() {
            let range = self.range();
            if if_not_exists {
                let message = "CREATE SCHEMA IF NOT EXISTS cannot include schema elements";
                return Err(SyntaxError::new(SyntaxErrorKind::NotSupported, message, range));
            }
            elements.push(if self.at(Keyword::Create) {
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
