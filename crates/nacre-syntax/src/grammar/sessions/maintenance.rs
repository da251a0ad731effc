//! VACUUM, ANALYZE, LOCK, DISCARD, LISTEN and NOTIFY.

use crate::grammar::cursor::{Parsed, StatementParser};
use crate::keywords::SqlKeyword;
use crate::lexer::TokenKind;
use crate::range::SourceRange;
use crate::tree::{
    DiscardTarget, LockStatement, MaintainStatement, ObjectName, SqlName, Statement,
};

/// Modes of LOCK.
const LOCK_MODES: [&[SqlKeyword]; 8] = [
    &[SqlKeyword::Access, SqlKeyword::Share],
    &[SqlKeyword::Row, SqlKeyword::Share],
    &[SqlKeyword::Row, SqlKeyword::Exclusive],
    &[SqlKeyword::Share, SqlKeyword::Update, SqlKeyword::Exclusive],
    &[SqlKeyword::Share],
    &[SqlKeyword::Share, SqlKeyword::Row, SqlKeyword::Exclusive],
    &[SqlKeyword::Exclusive],
    &[SqlKeyword::Access, SqlKeyword::Exclusive],
];

impl StatementParser<'_> {
    pub(in crate::grammar) fn parse_maintain(&mut self, start: SourceRange) -> Parsed<Statement> {
        let is_vacuum = self.at(SqlKeyword::Vacuum);
        self.advance();
        let options = if self.at(TokenKind::LeftParen) {
            self.parse_utility_options()?
        } else {
            let words: &[(SqlKeyword, &str)] = if is_vacuum {
                &[
                    (SqlKeyword::Full, "full"),
                    (SqlKeyword::Freeze, "freeze"),
                    (SqlKeyword::Verbose, "verbose"),
                    (SqlKeyword::Analyze, "analyze"),
                    (SqlKeyword::Analyse, "analyze"),
                ]
            } else {
                &[(SqlKeyword::Verbose, "verbose")]
            };
            let mut options = Vec::new();
            for (word, name) in words {
                if self.at(*word) {
                    options.push(self.take_word_option(name));
                }
            }
            options
        };
        let is_end = matches!(self.peek(), TokenKind::End | TokenKind::Semicolon);
        let tables = if is_end { Vec::new() } else { self.list(Self::parse_maintained)? };
        let range = self.range_from(start);
        let statement = MaintainStatement { is_vacuum, options, tables, range };
        Ok(Statement::Maintain(Box::new(statement)))
    }

    fn parse_maintained(&mut self) -> Parsed<(ObjectName, Vec<SqlName>)> {
        let table = self.object_name()?;
        Ok((table, self.optional_columns()?))
    }

    pub(in crate::grammar) fn parse_lock_table(&mut self, start: SourceRange) -> Parsed<Statement> {
        self.expect(SqlKeyword::Lock)?;
        self.take(SqlKeyword::Table);
        let tables = self.list(Self::parse_relation)?;
        let mode = if self.take(SqlKeyword::In) { Some(self.parse_lock_mode()?) } else { None };
        let is_nowait = self.take(SqlKeyword::Nowait);
        let range = self.range_from(start);
        Ok(Statement::Lock(Box::new(LockStatement { tables, mode, is_nowait, range })))
    }

    fn parse_lock_mode(&mut self) -> Parsed<String> {
        let mut furthest = 0;
        for mode in LOCK_MODES {
            let matching = mode
                .iter()
                .enumerate()
                .take_while(|(ahead, word)| self.at_ahead(*ahead, **word))
                .count();
            furthest = furthest.max(matching);
            if matching == mode.len() && self.at_ahead(matching, SqlKeyword::Mode) {
                self.take_words(mode);
                self.expect(SqlKeyword::Mode)?;
                let words: Vec<&str> = mode.iter().map(|word| word.word()).collect();
                return Ok(words.join(" "));
            }
        }
        Err(self.unexpected_at(furthest))
    }

    pub(in crate::grammar) fn parse_session_statement(
        &mut self,
        keyword: SqlKeyword,
        start: SourceRange,
    ) -> Parsed<Statement> {
        self.advance();
        match keyword {
            SqlKeyword::Listen => {
                let channel = self.column_name()?;
                Ok(Statement::Listen(channel, self.range_from(start)))
            }
            SqlKeyword::Unlisten => {
                let is_all = self.take(TokenKind::Star);
                let channel = if is_all { None } else { Some(self.column_name()?) };
                Ok(Statement::Unlisten(channel, self.range_from(start)))
            }
            SqlKeyword::Notify => {
                let channel = self.column_name()?;
                let has_payload = self.take(TokenKind::Comma);
                let payload = if has_payload { Some(self.expect_string()?) } else { None };
                Ok(Statement::Notify(channel, payload, self.range_from(start)))
            }
            _ => {
                let target = match self.keyword() {
                    Some(SqlKeyword::All) => DiscardTarget::All,
                    Some(SqlKeyword::Plans) => DiscardTarget::Plans,
                    Some(SqlKeyword::Sequences) => DiscardTarget::Sequences,
                    Some(SqlKeyword::Temp | SqlKeyword::Temporary) => DiscardTarget::Temporary,
                    _ => return Err(self.unexpected()),
                };
                self.advance();
                Ok(Statement::Discard(target, self.range_from(start)))
            }
        }
    }
}
