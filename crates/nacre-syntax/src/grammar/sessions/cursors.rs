//! DECLARE, FETCH, MOVE and CLOSE.

use crate::grammar::cursor::{Parsed, StatementParser};
use crate::keywords::SqlKeyword;
use crate::lexer::TokenKind;
use crate::range::SourceRange;
use crate::tree::{DeclareCursor, FetchDirection, FetchStatement, Statement};

impl StatementParser<'_> {
    pub(in crate::grammar) fn parse_declare(&mut self, start: SourceRange) -> Parsed<Statement> {
        self.expect(SqlKeyword::Declare)?;
        let name = self.column_name()?;
        let mut is_binary = false;
        let mut is_insensitive = None;
        let mut is_scrollable = None;
        loop {
            if self.take(SqlKeyword::Binary) {
                is_binary = true;
            } else if self.take(SqlKeyword::Insensitive) {
                is_insensitive = Some(true);
            } else if self.take(SqlKeyword::Asensitive) {
                is_insensitive = Some(false);
            } else if self.take(SqlKeyword::Scroll) {
                is_scrollable = Some(true);
            } else if self.take(SqlKeyword::No) {
                self.expect(SqlKeyword::Scroll)?;
                is_scrollable = Some(false);
            } else {
                break;
            }
        }
        self.expect(SqlKeyword::Cursor)?;
        let is_held = self.take(SqlKeyword::With);
        if is_held || self.take(SqlKeyword::Without) {
            self.expect(SqlKeyword::Hold)?;
        }
        self.expect(SqlKeyword::For)?;
        let query = self.parse_boxed_query()?;
        Ok(Statement::Declare(Box::new(DeclareCursor {
            name,
            is_binary,
            is_insensitive,
            is_scrollable,
            is_held,
            query,
            range: self.range_from(start),
        })))
    }

    pub(in crate::grammar) fn parse_fetch(&mut self, start: SourceRange) -> Parsed<Statement> {
        let is_move = self.at(SqlKeyword::Move);
        self.advance();
        let direction = self.parse_direction()?;
        if !self.take(SqlKeyword::From) {
            self.take(SqlKeyword::In);
        }
        let cursor = self.column_name()?;
        let range = self.range_from(start);
        Ok(Statement::Fetch(FetchStatement { is_move, direction, cursor, range }))
    }

    fn parse_direction(&mut self) -> Parsed<FetchDirection> {
        // Each word may also be the cursor's name.
        let is_name = matches!(self.peek_at(1), TokenKind::End | TokenKind::Semicolon);
        let keyword = if is_name { None } else { self.keyword() };
        let direction = match keyword {
            Some(SqlKeyword::Next) => FetchDirection::Forward(Some(1)),
            Some(SqlKeyword::Prior) => FetchDirection::Backward(Some(1)),
            Some(SqlKeyword::First) => FetchDirection::Absolute(1),
            Some(SqlKeyword::Last) => FetchDirection::Absolute(-1),
            Some(SqlKeyword::All) => FetchDirection::Forward(None),
            Some(SqlKeyword::Absolute) => {
                self.advance();
                return self.expect_signed_integer().map(FetchDirection::Absolute);
            }
            Some(SqlKeyword::Relative) => {
                self.advance();
                return self.expect_signed_integer().map(FetchDirection::Relative);
            }
            Some(SqlKeyword::Forward) => {
                self.advance();
                return self.parse_fetch_rows().map(FetchDirection::Forward);
            }
            Some(SqlKeyword::Backward) => {
                self.advance();
                return self.parse_fetch_rows().map(FetchDirection::Backward);
            }
            _ => {
                let is_count = self.at_signed_number();
                let rows = if is_count { self.expect_signed_integer()? } else { 1 };
                return Ok(FetchDirection::Forward(Some(rows)));
            }
        };
        self.advance();
        Ok(direction)
    }

    /// Parses a number or ALL behind FORWARD and BACKWARD; without one it is one row.
    fn parse_fetch_rows(&mut self) -> Parsed<Option<i32>> {
        if self.take(SqlKeyword::All) {
            return Ok(None);
        }
        if self.at_signed_number() { self.expect_signed_integer().map(Some) } else { Ok(Some(1)) }
    }

    pub(in crate::grammar) fn parse_close(&mut self, start: SourceRange) -> Parsed<Statement> {
        self.expect(SqlKeyword::Close)?;
        let name = if self.take(SqlKeyword::All) { None } else { Some(self.column_name()?) };
        Ok(Statement::Close(name, self.range_from(start)))
    }
}
