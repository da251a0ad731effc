//! Operations of ALTER COLUMN.

use crate::grammar::cursor::{Parsed, StatementParser};
use crate::keywords::SqlKeyword;
use crate::lexer::TokenKind;
use crate::tree::{ColumnAction, IdentityChange, SequenceOption};

impl StatementParser<'_> {
    pub(super) fn parse_column_action(&mut self) -> Parsed<ColumnAction> {
        match self.keyword() {
            Some(SqlKeyword::Type) => self.parse_set_type(),
            Some(SqlKeyword::Set) => self.parse_set_column(),
            Some(SqlKeyword::Drop) => self.parse_drop_from_column(),
            Some(SqlKeyword::Add) => {
                self.advance();
                self.expect(SqlKeyword::Generated)?;
                let is_always = self.parse_generated_when()?;
                self.expect_words(&[SqlKeyword::As, SqlKeyword::Identity])?;
                let options = self.parse_paren_sequence_options()?;
                Ok(ColumnAction::AddIdentity { is_always, options })
            }
            Some(SqlKeyword::Reset) => {
                self.advance();
                self.parse_options().map(ColumnAction::ResetOptions)
            }
            Some(SqlKeyword::Restart) => self.parse_identity_changes(),
            _ => Err(self.unexpected()),
        }
    }

    fn parse_set_type(&mut self) -> Parsed<ColumnAction> {
        self.expect(SqlKeyword::Type)?;
        let type_name = self.parse_type_name()?;
        let collation = self.optional_collation()?;
        let using =
            if self.take(SqlKeyword::Using) { Some(self.parse_expression()?) } else { None };
        Ok(ColumnAction::SetType { type_name, collation, using })
    }

    fn parse_set_column(&mut self) -> Parsed<ColumnAction> {
        let is_identity = match self.peek_at(1) {
            TokenKind::Keyword(SqlKeyword::Generated | SqlKeyword::Sequence) => true,
            TokenKind::Keyword(keyword) => is_sequence_word(keyword),
            _ => false,
        };
        if is_identity {
            return self.parse_identity_changes();
        }
        self.expect(SqlKeyword::Set)?;
        match self.keyword() {
            Some(SqlKeyword::Data) => {
                self.advance();
                self.parse_set_type()
            }
            Some(SqlKeyword::Default) => {
                self.advance();
                self.parse_expression().map(ColumnAction::SetDefault)
            }
            Some(SqlKeyword::Not) => {
                self.advance();
                self.expect(SqlKeyword::Null)?;
                Ok(ColumnAction::SetNotNull)
            }
            Some(SqlKeyword::Statistics) => {
                self.advance();
                let target = self.expect_signed_integer()?;
                Ok(ColumnAction::SetStatistics(target.to_string()))
            }
            Some(SqlKeyword::Storage) => {
                self.advance();
                self.column_name().map(ColumnAction::SetStorage)
            }
            Some(SqlKeyword::Compression) => {
                self.advance();
                if self.at(SqlKeyword::Default) {
                    return Ok(ColumnAction::SetCompression(self.take_name()));
                }
                self.column_name().map(ColumnAction::SetCompression)
            }
            _ => self.parse_options().map(ColumnAction::SetOptions),
        }
    }

    fn parse_drop_from_column(&mut self) -> Parsed<ColumnAction> {
        self.expect(SqlKeyword::Drop)?;
        match self.keyword() {
            Some(SqlKeyword::Default) => {
                self.advance();
                Ok(ColumnAction::DropDefault)
            }
            Some(SqlKeyword::Not) => {
                self.advance();
                self.expect(SqlKeyword::Null)?;
                Ok(ColumnAction::DropNotNull)
            }
            Some(SqlKeyword::Expression) => {
                self.advance();
                Ok(ColumnAction::DropExpression(self.parse_if_exists()))
            }
            Some(SqlKeyword::Identity) => {
                self.advance();
                Ok(ColumnAction::DropIdentity(self.parse_if_exists()))
            }
            _ => Err(self.unexpected()),
        }
    }

    /// Parses RESTART, SET GENERATED and SET of options, as many as there are.
    fn parse_identity_changes(&mut self) -> Parsed<ColumnAction> {
        let mut changes = Vec::new();
        loop {
            if self.take(SqlKeyword::Restart) {
                let is_with = self.take(SqlKeyword::With);
                let has_number = is_with || self.at_signed_number();
                let number = if has_number { Some(self.expect_signed_number()?) } else { None };
                changes.push(IdentityChange::Restart(number));
            } else if self.take(SqlKeyword::Set) {
                changes.push(self.parse_identity_set()?);
            } else {
                return Ok(ColumnAction::SetIdentity(changes));
            }
        }
    }

    fn parse_identity_set(&mut self) -> Parsed<IdentityChange> {
        if self.take(SqlKeyword::Generated) {
            return self.parse_generated_when().map(IdentityChange::Generated);
        }
        let option: Option<SequenceOption> = self.parse_sequence_option()?;
        option.map(IdentityChange::Set).ok_or_else(|| self.unexpected())
    }
}

fn is_sequence_word(keyword: SqlKeyword) -> bool {
    matches!(
        keyword,
        SqlKeyword::As
            | SqlKeyword::Cache
            | SqlKeyword::Cycle
            | SqlKeyword::Increment
            | SqlKeyword::Maxvalue
            | SqlKeyword::Minvalue
            | SqlKeyword::No
            | SqlKeyword::Owned
            | SqlKeyword::Start
            | SqlKeyword::Restart
    )
}
