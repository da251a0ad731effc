//! Dispatch of statements by their first words, and statements without a tree.

use super::cursor::{Parsed, StatementParser};
use crate::keywords::SqlKeyword;
use crate::lexer::TokenKind;
use crate::range::SourceRange;
use crate::tree::Statement;

/// First words of PostgreSQL's statements that have no tree, one statement a line; where a line
/// begins as another one, the longer one holds.
const OTHER_STATEMENTS: &str = include_str!("other_statements.txt");

impl StatementParser<'_> {
    /// Parses statements up to the end of the text.
    pub(super) fn parse_script(&mut self) -> Parsed<Vec<Statement>> {
        let mut statements = Vec::new();
        loop {
            while self.take(TokenKind::Semicolon) {}
            if self.at(TokenKind::End) {
                return Ok(statements);
            }
            statements.push(self.parse_statement()?);
            if !self.at(TokenKind::Semicolon) {
                self.expect_end()?;
            }
        }
    }

    pub(super) fn parse_statement(&mut self) -> Parsed<Statement> {
        let start = self.range();
        match self.peek() {
            TokenKind::Keyword(SqlKeyword::Select | SqlKeyword::Values | SqlKeyword::Table)
            | TokenKind::LeftParen => self.parse_boxed_query().map(Statement::Query),
            TokenKind::Keyword(keyword) => self.parse_keyword_statement(keyword, start),
            TokenKind::Name => self.parse_own_statement(start),
            _ => Err(self.unexpected()),
        }
    }

    /// Parses a statement other than a query. It is kept apart from these, since its frame holds
    /// the trees of all kinds.
    #[inline(never)]
    fn parse_keyword_statement(
        &mut self,
        keyword: SqlKeyword,
        start: SourceRange,
    ) -> Parsed<Statement> {
        match keyword {
            SqlKeyword::With
            | SqlKeyword::Insert
            | SqlKeyword::Update
            | SqlKeyword::Delete
            | SqlKeyword::Merge => {
                let with = self.parse_with()?;
                self.parse_changing(start, with)
            }
            SqlKeyword::Create => self.parse_create(start),
            SqlKeyword::Alter => self.parse_alter(start),
            SqlKeyword::Drop => self.parse_drop(start),
            SqlKeyword::Truncate => self.parse_truncate(start),
            SqlKeyword::Comment => self.parse_comment(start),
            SqlKeyword::Copy => self.parse_copy(start),
            SqlKeyword::Explain => self.parse_explain(start),
            SqlKeyword::Grant | SqlKeyword::Revoke => self.parse_grant(start),
            SqlKeyword::Reassign => self.parse_reassign(start),
            SqlKeyword::Vacuum | SqlKeyword::Analyze | SqlKeyword::Analyse => {
                self.parse_maintain(start)
            }
            SqlKeyword::Prepare if !self.at_ahead(1, SqlKeyword::Transaction) => {
                self.parse_prepare(start)
            }
            SqlKeyword::Execute => self.parse_execute(start),
            SqlKeyword::Deallocate => self.parse_deallocate(start),
            SqlKeyword::Declare => self.parse_declare(start),
            SqlKeyword::Fetch | SqlKeyword::Move => self.parse_fetch(start),
            SqlKeyword::Close => self.parse_close(start),
            SqlKeyword::Set | SqlKeyword::Reset => self.parse_set(start),
            SqlKeyword::Show => self.parse_show(start),
            SqlKeyword::Checkpoint => {
                self.advance();
                Ok(Statement::Checkpoint(start))
            }
            SqlKeyword::Lock => self.parse_lock_table(start),
            SqlKeyword::Discard
            | SqlKeyword::Listen
            | SqlKeyword::Unlisten
            | SqlKeyword::Notify => self.parse_session_statement(keyword, start),
            _ => match self.parse_transaction(start)? {
                Some(statement) => Ok(statement),
                None => self.parse_other(start),
            },
        }
    }

    /// Parses statements whose first word PostgreSQL does not know.
    fn parse_own_statement(&mut self, start: SourceRange) -> Parsed<Statement> {
        let is_backup = self.at_word("backup");
        if !(is_backup || self.at_word("archive")) || !self.at_ahead(1, SqlKeyword::Database) {
            return Err(self.unexpected());
        }
        self.advance();
        self.expect_words(&[SqlKeyword::Database, SqlKeyword::To])?;
        if is_backup {
            let directory = self.expect_string()?;
            return Ok(Statement::Backup(directory, self.range_from(start)));
        }
        let directory = if self.take(SqlKeyword::Off) { None } else { Some(self.expect_string()?) };
        Ok(Statement::Archive(directory, self.range_from(start)))
    }

    /// Parses a statement without a tree: checks its first words, skips the rest.
    ///
    /// # Errors
    /// At the first word that begins no statement.
    pub(super) fn parse_other(&mut self, start: SourceRange) -> Parsed<Statement> {
        let mut longest = None;
        let mut furthest = 0;
        for line in OTHER_STATEMENTS.lines() {
            let matching = self.matching_words(line);
            furthest = furthest.max(matching);
            let count = line.split(' ').count();
            let is_longer = longest.is_none_or(|(known, _)| known < count);
            if matching == count && is_longer {
                longest = Some((count, line));
            }
        }
        let Some((_, line)) = longest else { return Err(self.unexpected_at(furthest)) };
        self.skip_statement();
        Ok(Statement::Other { keyword: line.to_owned(), range: self.range_from(start) })
    }

    /// Returns how many words of `line` come next.
    fn matching_words(&self, line: &str) -> usize {
        let is_next = |ahead: usize, word: &str| match self.peek_at(ahead) {
            TokenKind::Keyword(keyword) => keyword.word().eq_ignore_ascii_case(word),
            _ => false,
        };
        line.split(' ').enumerate().take_while(|(ahead, word)| is_next(*ahead, word)).count()
    }

    /// Goes on to the semicolon that ends the statement: not one in parentheses or in BEGIN ATOMIC.
    fn skip_statement(&mut self) {
        let mut parens = 0_usize;
        let mut blocks = 0_usize;
        loop {
            match self.peek() {
                TokenKind::End | TokenKind::Invalid => return,
                TokenKind::Semicolon if parens == 0 && blocks == 0 => return,
                TokenKind::LeftParen => parens += 1,
                TokenKind::RightParen => parens = parens.saturating_sub(1),
                TokenKind::Keyword(SqlKeyword::Begin) if self.at_ahead(1, SqlKeyword::Atomic) => {
                    blocks += 1;
                }
                TokenKind::Keyword(SqlKeyword::Case) if blocks > 0 => blocks += 1,
                TokenKind::Keyword(SqlKeyword::End) => blocks = blocks.saturating_sub(1),
                _ => {}
            }
            self.advance();
        }
    }
}
