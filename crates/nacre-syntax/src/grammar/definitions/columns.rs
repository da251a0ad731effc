//! Columns and their constraints.

use crate::error::{SyntaxError, SyntaxErrorKind};
use crate::grammar::cursor::{Parsed, StatementParser};
use crate::keywords::Keyword;
use crate::lexer::TokenKind;
use crate::tree::{
    ColumnConstraint, ColumnConstraintKind, ColumnDefinition, ConstraintAttribute, KeyStorage,
    ObjectName,
};

impl StatementParser<'_> {
    /// Parses a column of CREATE TABLE or ADD COLUMN.
    pub(super) fn parse_column(&mut self) -> Parsed<ColumnDefinition> {
        let start = self.range();
        let name = self.column_name()?;
        let type_name = self.parse_type_name()?;
        let compression = if self.take(Keyword::Compression) {
            if self.at(Keyword::Default) {
                Some(self.take_name())
            } else {
                Some(self.column_name()?)
            }
        } else {
            None
        };
        if self.at(Keyword::Options) {
            return Err(SyntaxError::not_supported("OPTIONS of a column", self.range()));
        }
        let (collation, constraints) = self.parse_column_constraints()?;
        let range = self.range_from(start);
        Ok(ColumnDefinition { name, type_name, compression, collation, constraints, range })
    }

    /// Parses COLLATE and constraints, as many as there are.
    pub(super) fn parse_column_constraints(
        &mut self,
    ) -> Parsed<(Option<ObjectName>, Vec<ColumnConstraint>)> {
        let mut collation = None;
        let mut constraints = Vec::new();
        loop {
            let range = self.range();
            if self.take(Keyword::Collate) {
                if collation.is_some() {
                    let message = "multiple COLLATE clauses not allowed";
                    return Err(SyntaxError::new(SyntaxErrorKind::Grammar, message, range));
                }
                collation = Some(self.object_name()?);
                continue;
            }
            match self.parse_column_constraint()? {
                Some(constraint) => constraints.push(constraint),
                None => return Ok((collation, constraints)),
            }
        }
    }

    fn parse_column_constraint(&mut self) -> Parsed<Option<ColumnConstraint>> {
        let start = self.range();
        let name = if self.take(Keyword::Constraint) { Some(self.column_name()?) } else { None };
        if name.is_none()
            && let Some(attribute) = self.parse_column_attribute()?
        {
            let kind = ColumnConstraintKind::Attribute(attribute);
            return Ok(Some(ColumnConstraint { name, kind, range: self.range_from(start) }));
        }
        match self.parse_column_constraint_kind()? {
            Some(kind) => Ok(Some(ColumnConstraint { name, kind, range: self.range_from(start) })),
            None if name.is_some() => Err(self.unexpected()),
            None => Ok(None),
        }
    }

    /// Parses DEFERRABLE and the like, which are no constraints by themselves.
    fn parse_column_attribute(&mut self) -> Parsed<Option<ConstraintAttribute>> {
        if self.take_words(&[Keyword::Not, Keyword::Deferrable]) {
            return Ok(Some(ConstraintAttribute::NotDeferrable));
        }
        if self.take(Keyword::Deferrable) {
            return Ok(Some(ConstraintAttribute::Deferrable));
        }
        if !self.take(Keyword::Initially) {
            return Ok(None);
        }
        if self.take(Keyword::Deferred) {
            return Ok(Some(ConstraintAttribute::InitiallyDeferred));
        }
        self.expect(Keyword::Immediate)?;
        Ok(Some(ConstraintAttribute::InitiallyImmediate))
    }

    fn parse_column_constraint_kind(&mut self) -> Parsed<Option<ColumnConstraintKind>> {
        let Some(keyword) = self.keyword() else { return Ok(None) };
        let kind = match keyword {
            Keyword::Not => {
                self.advance();
                self.expect(Keyword::Null)?;
                ColumnConstraintKind::NotNull
            }
            Keyword::Null => {
                self.advance();
                ColumnConstraintKind::Null
            }
            Keyword::Unique => {
                self.advance();
                let nulls_equal = self.parse_nulls_distinct()?;
                ColumnConstraintKind::Unique(self.parse_key_storage(nulls_equal, Vec::new())?)
            }
            Keyword::Primary => {
                self.advance();
                self.expect(Keyword::Key)?;
                ColumnConstraintKind::PrimaryKey(self.parse_key_storage(false, Vec::new())?)
            }
            Keyword::Check => {
                self.advance();
                self.expect(TokenKind::LeftParen)?;
                let condition = self.parse_expression()?;
                self.expect(TokenKind::RightParen)?;
                let no_inherit = self.take_words(&[Keyword::No, Keyword::Inherit]);
                ColumnConstraintKind::Check(condition, no_inherit)
            }
            Keyword::Default => {
                self.advance();
                ColumnConstraintKind::Default(self.parse_restricted()?)
            }
            Keyword::Generated => self.parse_generated()?,
            Keyword::References => {
                ColumnConstraintKind::References(Box::new(self.parse_references()?))
            }
            _ => return Ok(None),
        };
        Ok(Some(kind))
    }

    fn parse_generated(&mut self) -> Parsed<ColumnConstraintKind> {
        self.expect(Keyword::Generated)?;
        let range = self.range();
        let is_always = self.parse_generated_when()?;
        self.expect(Keyword::As)?;
        if self.take(Keyword::Identity) {
            let options = self.parse_paren_sequence_options()?;
            return Ok(ColumnConstraintKind::Identity { is_always, options });
        }
        self.expect(TokenKind::LeftParen)?;
        let value = self.parse_expression()?;
        self.expect(TokenKind::RightParen)?;
        self.expect(Keyword::Stored)?;
        if !is_always {
            let message = "for a generated column, GENERATED ALWAYS must be specified";
            return Err(SyntaxError::new(SyntaxErrorKind::Grammar, message, range));
        }
        Ok(ColumnConstraintKind::Generated(value))
    }

    /// Parses ALWAYS (true) or BY DEFAULT (false).
    pub(super) fn parse_generated_when(&mut self) -> Parsed<bool> {
        let is_always = self.take(Keyword::Always);
        if !is_always {
            self.expect_words(&[Keyword::By, Keyword::Default])?;
        }
        Ok(is_always)
    }

    /// Parses NULLS [NOT] DISTINCT if it is there; true is NOT.
    pub(super) fn parse_nulls_distinct(&mut self) -> Parsed<bool> {
        if !self.take(Keyword::Nulls) {
            return Ok(false);
        }
        let nulls_equal = self.take(Keyword::Not);
        self.expect(Keyword::Distinct)?;
        Ok(nulls_equal)
    }

    /// Parses WITH and USING INDEX TABLESPACE behind a key.
    pub(super) fn parse_key_storage(
        &mut self,
        nulls_equal: bool,
        included: Vec<crate::tree::SqlName>,
    ) -> Parsed<KeyStorage> {
        let options = if self.take(Keyword::With) { self.parse_definition()? } else { Vec::new() };
        let tablespace = if self.take(Keyword::Using) {
            self.expect_words(&[Keyword::Index, Keyword::Tablespace])?;
            Some(self.column_name()?)
        } else {
            None
        };
        Ok(KeyStorage { nulls_equal, included, options, tablespace })
    }
}
