//! BEGIN, COMMIT, SAVEPOINT and the modes of transactions.

use crate::grammar::cursor::{Parsed, StatementParser};
use crate::keywords::SqlKeyword;
use crate::lexer::TokenKind;
use crate::range::SourceRange;
use crate::tree::{IsolationLevel, Statement, TransactionMode, TransactionStatement};

impl StatementParser<'_> {
    /// Parses a statement about transactions if one comes next.
    pub(in crate::grammar) fn parse_transaction(
        &mut self,
        start: SourceRange,
    ) -> Parsed<Option<Statement>> {
        let Some(keyword) = self.keyword() else { return Ok(None) };
        let is_transaction = matches!(
            keyword,
            SqlKeyword::Begin
                | SqlKeyword::Start
                | SqlKeyword::Commit
                | SqlKeyword::End
                | SqlKeyword::Rollback
                | SqlKeyword::Abort
                | SqlKeyword::Savepoint
                | SqlKeyword::Release
                | SqlKeyword::Prepare
        );
        if !is_transaction {
            return Ok(None);
        }
        self.advance();
        let statement = match keyword {
            SqlKeyword::Begin => {
                self.take_transaction_word();
                TransactionStatement::Begin(self.parse_modes()?)
            }
            SqlKeyword::Start => {
                self.expect(SqlKeyword::Transaction)?;
                TransactionStatement::Begin(self.parse_modes()?)
            }
            SqlKeyword::Commit if self.take(SqlKeyword::Prepared) => {
                TransactionStatement::CommitPrepared(self.expect_string()?)
            }
            SqlKeyword::Commit | SqlKeyword::End => {
                self.take_transaction_word();
                TransactionStatement::Commit(self.parse_chain()?)
            }
            SqlKeyword::Rollback => self.parse_rollback()?,
            SqlKeyword::Abort => {
                self.take_transaction_word();
                TransactionStatement::Rollback(self.parse_chain()?)
            }
            SqlKeyword::Savepoint => TransactionStatement::Savepoint(self.column_name()?),
            SqlKeyword::Release => {
                self.take_savepoint_word();
                TransactionStatement::Release(self.column_name()?)
            }
            _ => {
                self.expect(SqlKeyword::Transaction)?;
                TransactionStatement::PrepareTransaction(self.expect_string()?)
            }
        };
        Ok(Some(Statement::Transaction(statement, self.range_from(start))))
    }

    fn take_transaction_word(&mut self) {
        if !self.take(SqlKeyword::Work) {
            self.take(SqlKeyword::Transaction);
        }
    }

    /// Goes on behind SAVEPOINT unless it is the name of one.
    fn take_savepoint_word(&mut self) {
        if !matches!(self.peek_at(1), TokenKind::End | TokenKind::Semicolon) {
            self.take(SqlKeyword::Savepoint);
        }
    }

    fn parse_rollback(&mut self) -> Parsed<TransactionStatement> {
        if self.take(SqlKeyword::Prepared) {
            return self.expect_string().map(TransactionStatement::RollbackPrepared);
        }
        self.take_transaction_word();
        if self.take(SqlKeyword::To) {
            self.take_savepoint_word();
            return self.column_name().map(TransactionStatement::RollbackTo);
        }
        self.parse_chain().map(TransactionStatement::Rollback)
    }

    fn parse_chain(&mut self) -> Parsed<bool> {
        if !self.take(SqlKeyword::And) {
            return Ok(false);
        }
        let is_chained = !self.take(SqlKeyword::No);
        self.expect(SqlKeyword::Chain)?;
        Ok(is_chained)
    }

    /// Parses modes, with commas or blanks between; there may be none.
    fn parse_modes(&mut self) -> Parsed<Vec<TransactionMode>> {
        let mut modes = Vec::new();
        loop {
            let is_more = !modes.is_empty() && self.take(TokenKind::Comma);
            if !is_more && !self.at_mode() {
                return Ok(modes);
            }
            modes.push(self.parse_mode()?);
        }
    }

    /// Parses modes, at least one.
    pub(super) fn parse_some_modes(&mut self) -> Parsed<Vec<TransactionMode>> {
        if !self.at_mode() {
            return Err(self.unexpected());
        }
        self.parse_modes()
    }

    fn at_mode(&self) -> bool {
        matches!(
            self.keyword(),
            Some(
                SqlKeyword::Isolation | SqlKeyword::Read | SqlKeyword::Deferrable | SqlKeyword::Not
            )
        )
    }

    fn parse_mode(&mut self) -> Parsed<TransactionMode> {
        let keyword = self.keyword();
        if !self.at_mode() {
            return Err(self.unexpected());
        }
        self.advance();
        match keyword {
            Some(SqlKeyword::Isolation) => {
                self.expect(SqlKeyword::Level)?;
                self.parse_isolation_level().map(TransactionMode::Isolation)
            }
            Some(SqlKeyword::Read) => {
                let is_read_only = self.take(SqlKeyword::Only);
                if !is_read_only {
                    self.expect(SqlKeyword::Write)?;
                }
                Ok(TransactionMode::ReadOnly(is_read_only))
            }
            Some(SqlKeyword::Deferrable) => Ok(TransactionMode::Deferrable(true)),
            _ => {
                self.expect(SqlKeyword::Deferrable)?;
                Ok(TransactionMode::Deferrable(false))
            }
        }
    }

    fn parse_isolation_level(&mut self) -> Parsed<IsolationLevel> {
        if self.take(SqlKeyword::Serializable) {
            return Ok(IsolationLevel::Serializable);
        }
        if self.take(SqlKeyword::Repeatable) {
            self.expect(SqlKeyword::Read)?;
            return Ok(IsolationLevel::RepeatableRead);
        }
        self.expect(SqlKeyword::Read)?;
        if self.take(SqlKeyword::Committed) {
            return Ok(IsolationLevel::ReadCommitted);
        }
        self.expect(SqlKeyword::Uncommitted)?;
        Ok(IsolationLevel::ReadUncommitted)
    }
}
