//! Columns and their constraints.

use crate::error::{SyntaxError, SyntaxErrorKind};
use crate::grammar::cursor::{Parsed, StatementParser};
use crate::keywords::SqlKeyword;
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
        let compression = if self.take(SqlKeyword::Compression) {
            if self.at(SqlKeyword::Default) {
                Some(self.take_name())
            } else {
                Some(self.column_name()?)
            }
        } else {
            None
        };
        if self.at(SqlKeyword::Options) {
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
            if self.take(SqlKeyword::Collate) {
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
        let name = if self.take(SqlKeyword::Constraint) { Some(self.column_name()?) } else { None };
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
        if self.take_words(&[SqlKeyword::Not, SqlKeyword::Deferrable]) {
            return Ok(Some(ConstraintAttribute::NotDeferrable));
        }
        if self.take(SqlKeyword::Deferrable) {
            return Ok(Some(ConstraintAttribute::Deferrable));
        }
        if !self.take(SqlKeyword::Initially) {
            return Ok(None);
        }
        if self.take(SqlKeyword::Deferred) {
            return Ok(Some(ConstraintAttribute::InitiallyDeferred));
        }
        self.expect(SqlKeyword::Immediate)?;
        Ok(Some(ConstraintAttribute::InitiallyImmediate))
    }

    fn parse_column_constraint_kind(&mut self) -> Parsed<Option<ColumnConstraintKind>> {
        let Some(keyword) = self.keyword() else { return Ok(None) };
        let kind = match keyword {
            SqlKeyword::Not => {
                self.advance();
                self.expect(SqlKeyword::Null)?;
                ColumnConstraintKind::NotNull
            }
            SqlKeyword::Null => {
                self.advance();
                ColumnConstraintKind::Null
            }
            SqlKeyword::Unique => {
                self.advance();
                let nulls_equal = self.parse_nulls_distinct()?;
                ColumnConstraintKind::Unique(self.parse_key_storage(nulls_equal, Vec::new())?)
            }
            SqlKeyword::Primary => {
                self.advance();
                self.expect(SqlKeyword::Key)?;
                ColumnConstraintKind::PrimaryKey(self.parse_key_storage(false, Vec::new())?)
            }
            SqlKeyword::Check => {
                self.advance();
                self.expect(TokenKind::LeftParen)?;
                let condition = self.parse_expression()?;
                self.expect(TokenKind::RightParen)?;
                let no_inherit = self.take_words(&[SqlKeyword::No, SqlKeyword::Inherit]);
                ColumnConstraintKind::Check(condition, no_inherit)
            }
            SqlKeyword::Default => {
                self.advance();
                ColumnConstraintKind::Default(self.parse_restricted()?)
            }
            SqlKeyword::Generated => self.parse_generated()?,
            SqlKeyword::References => {
                ColumnConstraintKind::References(Box::new(self.parse_references()?))
            }
            _ => return Ok(None),
        };
        Ok(Some(kind))
    }

    fn parse_generated(&mut self) -> Parsed<ColumnConstraintKind> {
        self.expect(SqlKeyword::Generated)?;
        let range = self.range();
        let is_always = self.parse_generated_when()?;
        self.expect(SqlKeyword::As)?;
        if self.take(SqlKeyword::Identity) {
            let options = self.parse_paren_sequence_options()?;
            return Ok(ColumnConstraintKind::Identity { is_always, options });
        }
        self.expect(TokenKind::LeftParen)?;
        let value = self.parse_expression()?;
        self.expect(TokenKind::RightParen)?;
        self.expect(SqlKeyword::Stored)?;
        if !is_always {
            let message = "for a generated column, GENERATED ALWAYS must be specified";
            return Err(SyntaxError::new(SyntaxErrorKind::Grammar, message, range));
        }
        Ok(ColumnConstraintKind::Generated(value))
    }

    /// Parses ALWAYS (true) or BY DEFAULT (false).
    pub(super) fn parse_generated_when(&mut self) -> Parsed<bool> {
        let is_always = self.take(SqlKeyword::Always);
        if !is_always {
            self.expect_words(&[SqlKeyword::By, SqlKeyword::Default])?;
        }
        Ok(is_always)
    }

    /// Parses NULLS [NOT] DISTINCT if it is there; true is NOT.
    pub(super) fn parse_nulls_distinct(&mut self) -> Parsed<bool> {
        if !self.take(SqlKeyword::Nulls) {
            return Ok(false);
        }
        let nulls_equal = self.take(SqlKeyword::Not);
        self.expect(SqlKeyword::Distinct)?;
        Ok(nulls_equal)
    }

    /// Parses WITH and USING INDEX TABLESPACE behind a key.
    pub(super) fn parse_key_storage(
        &mut self,
        nulls_equal: bool,
        included: Vec<crate::tree::SqlName>,
    ) -> Parsed<KeyStorage> {
        let options =
            if self.take(SqlKeyword::With) { self.parse_definition()? } else { Vec::new() };
        let tablespace = if self.take(SqlKeyword::Using) {
            self.expect_words(&[SqlKeyword::Index, SqlKeyword::Tablespace])?;
            Some(self.column_name()?)
        } else {
            None
        };
        Ok(KeyStorage { nulls_equal, included, options, tablespace })
    }
}
