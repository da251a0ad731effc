//! LIMIT, OFFSET, FETCH, and locks of rows.

use crate::error::{SyntaxError, SyntaxErrorKind};
use crate::grammar::cursor::{Parsed, StatementParser};
use crate::grammar::expressions::ExpressionPlace;
use crate::keywords::SqlKeyword;
use crate::lexer::TokenKind;
use crate::range::SourceRange;
use crate::tree::{
    ExpressionKind, ExpressionNode, LockStrength, LockWait, RowLimit, RowLock, SortItem,
};

impl StatementParser<'_> {
    /// Parses LIMIT or FETCH, and OFFSET, in either order.
    pub(super) fn parse_limit(&mut self) -> Parsed<(Option<RowLimit>, Option<ExpressionNode>)> {
        let mut limit = None;
        let mut offset = None;
        loop {
            match self.keyword() {
                Some(SqlKeyword::Limit) if limit.is_none() => {
                    limit = Some(self.parse_limit_clause()?);
                }
                Some(SqlKeyword::Fetch) if limit.is_none() => {
                    limit = Some(self.parse_fetch_clause()?);
                }
                Some(SqlKeyword::Offset) if offset.is_none() => {
                    self.advance();
                    let value = self.parse_expression()?;
                    if is_plain(&value) && !self.take(SqlKeyword::Rows) {
                        self.take(SqlKeyword::Row);
                    }
                    offset = Some(value);
                }
                _ => return Ok((limit, offset)),
            }
        }
    }

    /// Refuses WITH TIES without ORDER BY or with SKIP LOCKED.
    pub(super) fn check_ties(
        &self,
        limit: &Option<RowLimit>,
        order_by: &[SortItem],
        locks: &[RowLock],
        range: SourceRange,
    ) -> Parsed<()> {
        if !matches!(limit, Some(RowLimit::WithTies(_))) {
            return Ok(());
        }
        let message = if order_by.is_empty() {
            "WITH TIES cannot be specified without ORDER BY clause"
        } else if locks.iter().any(|lock| lock.wait == LockWait::SkipLocked) {
            "SKIP LOCKED and WITH TIES options cannot be used together"
        } else {
            return Ok(());
        };
        Err(SyntaxError::new(SyntaxErrorKind::Grammar, message, range))
    }

    fn parse_limit_clause(&mut self) -> Parsed<RowLimit> {
        let start = self.expect(SqlKeyword::Limit)?;
        let limit = if self.take(SqlKeyword::All) {
            RowLimit::All
        } else {
            RowLimit::Rows(Some(Box::new(self.parse_expression()?)))
        };
        if self.take(TokenKind::Comma) {
            self.parse_expression()?;
            let message = "LIMIT #,# syntax is not supported";
            return Err(SyntaxError::new(SyntaxErrorKind::Grammar, message, start));
        }
        Ok(limit)
    }

    fn parse_fetch_clause(&mut self) -> Parsed<RowLimit> {
        self.expect(SqlKeyword::Fetch)?;
        if !self.take(SqlKeyword::First) {
            self.expect(SqlKeyword::Next)?;
        }
        let is_row = matches!(self.keyword(), Some(SqlKeyword::Row | SqlKeyword::Rows))
            && matches!(self.peek_at(1), TokenKind::Keyword(SqlKeyword::Only | SqlKeyword::With));
        let count = if is_row { None } else { Some(Box::new(self.parse_fetch_count()?)) };
        if !self.take(SqlKeyword::Row) {
            self.expect(SqlKeyword::Rows)?;
        }
        if self.take(SqlKeyword::Only) {
            return Ok(RowLimit::Rows(count));
        }
        self.expect_words(&[SqlKeyword::With, SqlKeyword::Ties])?;
        Ok(RowLimit::WithTies(count))
    }

    /// Parses an operand, or a number with a sign.
    fn parse_fetch_count(&mut self) -> Parsed<ExpressionNode> {
        let start = self.range();
        if !matches!(self.peek(), TokenKind::Plus | TokenKind::Minus) {
            return self.parse_primary(ExpressionPlace::Any);
        }
        let operator = self.expect_operator()?;
        if !matches!(self.peek(), TokenKind::Integer | TokenKind::Decimal) {
            return Err(self.unexpected());
        }
        let operand = Box::new(self.parse_literal()?);
        Ok(self.node(start, ExpressionKind::Prefix { operator, operand }))
    }

    /// Parses FOR UPDATE and the like, as many as there are; FOR READ ONLY is none.
    pub(super) fn parse_locks(&mut self) -> Parsed<Vec<RowLock>> {
        let mut locks = Vec::new();
        if self.at_words(&[SqlKeyword::For, SqlKeyword::Read]) {
            self.advance();
            self.expect_words(&[SqlKeyword::Read, SqlKeyword::Only])?;
            return Ok(locks);
        }
        while self.at(SqlKeyword::For) {
            locks.push(self.parse_lock()?);
        }
        Ok(locks)
    }

    fn parse_lock(&mut self) -> Parsed<RowLock> {
        let start = self.expect(SqlKeyword::For)?;
        let strength = match self.keyword() {
            Some(SqlKeyword::Update) => LockStrength::Update,
            Some(SqlKeyword::Share) => LockStrength::Share,
            Some(SqlKeyword::No) => {
                self.advance();
                self.expect(SqlKeyword::Key)?;
                LockStrength::NoKeyUpdate
            }
            Some(SqlKeyword::Key) => {
                self.advance();
                LockStrength::KeyShare
            }
            _ => return Err(self.unexpected()),
        };
        let last = match strength {
            LockStrength::Update | LockStrength::NoKeyUpdate => SqlKeyword::Update,
            LockStrength::Share | LockStrength::KeyShare => SqlKeyword::Share,
        };
        self.expect(last)?;
        let tables = if self.take(SqlKeyword::Of) { self.object_list()? } else { Vec::new() };
        let wait = if self.take(SqlKeyword::Nowait) {
            LockWait::NoWait
        } else if self.take(SqlKeyword::Skip) {
            self.expect(SqlKeyword::Locked)?;
            LockWait::SkipLocked
        } else {
            LockWait::Block
        };
        Ok(RowLock { strength, tables, wait, range: self.range_from(start) })
    }
}

/// Whether ROWS may follow a number behind OFFSET.
fn is_plain(value: &ExpressionNode) -> bool {
    let is_signed_number =
        |operand: &ExpressionNode| matches!(operand.kind, ExpressionKind::Literal(_));
    match &value.kind {
        ExpressionKind::Prefix { operand, .. } => is_signed_number(operand),
        ExpressionKind::Operation { .. }
        | ExpressionKind::And(_)
        | ExpressionKind::Or(_)
        | ExpressionKind::Not(_)
        | ExpressionKind::Is { .. }
        | ExpressionKind::Distinct { .. }
        | ExpressionKind::Between(_)
        | ExpressionKind::In { .. }
        | ExpressionKind::Like(_)
        | ExpressionKind::Quantified(_)
        | ExpressionKind::Overlaps { .. }
        | ExpressionKind::AtTimeZone { .. }
        | ExpressionKind::Collate { .. } => false,
        _ => true,
    }
}
