//! Operations of ALTER COLUMN.

use crate::grammar::cursor::{Parsed, StatementParser};
use crate::keywords::Keyword;
use crate::lexer::TokenKind;
use crate::tree::{ColumnAction, IdentityChange, SequenceOption};

impl StatementParser<'_> {
    pub(super) fn parse_column_action(&mut self) -> Parsed<ColumnAction> {
        match self.keyword() {
            Some(Keyword::Type) => self.parse_set_type(),
            Some(Keyword::Set) => self.parse_set_column(),
            Some(Keyword::Drop) => self.parse_drop_from_column(),
            Some(Keyword::Add) => {
                self.advance();
                self.expect(Keyword::Generated)?;
                let is_always = self.parse_generated_when()?;
                self.expect_words(&[Keyword::As, Keyword::Identity])?;
                let options = self.parse_paren_sequence_options()?;
                Ok(ColumnAction::AddIdentity { is_always, options })
            }
            Some(Keyword::Reset) => {
                self.advance();
                self.parse_options().map(ColumnAction::ResetOptions)
            }
            Some(Keyword::Restart) => self.parse_identity_changes(),
            _ => Err(self.unexpected()),
        }
    }

    fn parse_set_type(&mut self) -> Parsed<ColumnAction> {
        self.expect(Keyword::Type)?;
        let type_name = self.parse_type_name()?;
        let collation = self.optional_collation()?;
        let using = if self.take(Keyword::Using) { Some(self.parse_expression()?) } else { None };
        Ok(ColumnAction::SetType { type_name, collation, using })
    }

    fn parse_set_column(&mut self) -> Parsed<ColumnAction> {
        let is_identity = match self.peek_at(1) {
            TokenKind::Keyword(Keyword::Generated | Keyword::Sequence) => true,
            TokenKind::Keyword(keyword) => is_sequence_word(keyword),
            _ => false,
        };
        if is_identity {
            return self.parse_identity_changes();
        }
        self.expect(Keyword::Set)?;
        match self.keyword() {
            Some(Keyword::Data) => {
                self.advance();
                self.parse_set_type()
            }
            Some(Keyword::Default) => {
                self.advance();
                self.parse_expression().map(ColumnAction::SetDefault)
            }
            Some(Keyword::Not) => {
                self.advance();
                self.expect(Keyword::Null)?;
                Ok(ColumnAction::SetNotNull)
            }
            Some(Keyword::Statistics) => {
                self.advance();
                let target = self.expect_signed_integer()?;
                Ok(ColumnAction::SetStatistics(target.to_string()))
            }
            Some(Keyword::Storage) => {
                self.advance();
                self.column_name().map(ColumnAction::SetStorage)
            }
            Some(Keyword::Compression) => {
                self.advance();
                if self.at(Keyword::Default) {
                    return Ok(ColumnAction::SetCompression(self.take_name()));
                }
                self.column_name().map(ColumnAction::SetCompression)
            }
            _ => self.parse_options().map(ColumnAction::SetOptions),
        }
    }

    fn parse_drop_from_column(&mut self) -> Parsed<ColumnAction> {
        self.expect(Keyword::Drop)?;
        match self.keyword() {
            Some(Keyword::Default) => {
                self.advance();
                Ok(ColumnAction::DropDefault)
            }
            Some(Keyword::Not) => {
                self.advance();
                self.expect(Keyword::Null)?;
                Ok(ColumnAction::DropNotNull)
            }
            Some(Keyword::Expression) => {
                self.advance();
                Ok(ColumnAction::DropExpression(self.parse_if_exists()))
            }
            Some(Keyword::Identity) => {
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
            if self.take(Keyword::Restart) {
                let is_with = self.take(Keyword::With);
                let has_number = is_with || self.at_signed_number();
                let number = if has_number { Some(self.expect_signed_number()?) } else { None };
                changes.push(IdentityChange::Restart(number));
            } else if self.take(Keyword::Set) {
                changes.push(self.parse_identity_set()?);
            } else {
                return Ok(ColumnAction::SetIdentity(changes));
            }
        }
    }

    fn parse_identity_set(&mut self) -> Parsed<IdentityChange> {
        if self.take(Keyword::Generated) {
            return self.parse_generated_when().map(IdentityChange::Generated);
        }
        let option: Option<SequenceOption> = self.parse_sequence_option()?;
        option.map(IdentityChange::Set).ok_or_else(|| self.unexpected())
    }
}

fn is_sequence_word(keyword: Keyword) -> bool {
    matches!(
        keyword,
        Keyword::As
            | Keyword::Cache
            | Keyword::Cycle
            | Keyword::Increment
            | Keyword::Maxvalue
            | Keyword::Minvalue
            | Keyword::No
            | Keyword::Owned
            | Keyword::Start
            | Keyword::Restart
    )
}
