//! Sequences and their options.

use crate::grammar::cursor::{Parsed, StatementParser};
use crate::keywords::SqlKeyword;
use crate::lexer::TokenKind;
use crate::range::SourceRange;
use crate::tree::{AlterSequence, CreateSequence, ObjectName, SequenceOption, Statement};

impl StatementParser<'_> {
    pub(super) fn parse_create_sequence(&mut self, start: SourceRange) -> Parsed<Statement> {
        self.expect(SqlKeyword::Create)?;
        let persistence = self.parse_persistence()?;
        self.expect(SqlKeyword::Sequence)?;
        let if_not_exists = self.parse_if_not_exists()?;
        let name = self.object_name()?;
        let options = self.parse_sequence_options()?;
        let range = self.range_from(start);
        let sequence = CreateSequence { persistence, if_not_exists, name, options, range };
        Ok(Statement::CreateSequence(Box::new(sequence)))
    }

    /// Parses the options of ALTER SEQUENCE, at least one.
    pub(super) fn parse_alter_sequence(
        &mut self,
        start: SourceRange,
        if_exists: bool,
        name: ObjectName,
    ) -> Parsed<Statement> {
        let options = self.parse_sequence_options()?;
        if options.is_empty() {
            return Err(self.unexpected());
        }
        let range = self.range_from(start);
        let sequence = AlterSequence { if_exists, name, options, range };
        Ok(Statement::AlterSequence(Box::new(sequence)))
    }

    /// Parses options in parentheses if there are any.
    pub(super) fn parse_paren_sequence_options(&mut self) -> Parsed<Vec<SequenceOption>> {
        if !self.take(TokenKind::LeftParen) {
            return Ok(Vec::new());
        }
        let options = self.parse_sequence_options()?;
        if options.is_empty() {
            return Err(self.unexpected());
        }
        self.expect(TokenKind::RightParen)?;
        Ok(options)
    }

    fn parse_sequence_options(&mut self) -> Parsed<Vec<SequenceOption>> {
        let mut options = Vec::new();
        while let Some(option) = self.parse_sequence_option()? {
            options.push(option);
        }
        Ok(options)
    }

    /// Parses an option if one is there.
    pub(super) fn parse_sequence_option(&mut self) -> Parsed<Option<SequenceOption>> {
        let Some(keyword) = self.keyword() else { return Ok(None) };
        let is_option = matches!(
            keyword,
            SqlKeyword::As
                | SqlKeyword::Cache
                | SqlKeyword::Cycle
                | SqlKeyword::Increment
                | SqlKeyword::Maxvalue
                | SqlKeyword::Minvalue
                | SqlKeyword::No
                | SqlKeyword::Owned
                | SqlKeyword::Sequence
                | SqlKeyword::Start
                | SqlKeyword::Restart
        );
        if !is_option {
            return Ok(None);
        }
        self.advance();
        let option = match keyword {
            SqlKeyword::As => {
                let type_name = self.parse_plain_type()?;
                SequenceOption::As(type_name)
            }
            SqlKeyword::Cache => SequenceOption::Cache(self.expect_signed_number()?),
            SqlKeyword::Cycle => SequenceOption::Cycle(true),
            SqlKeyword::Increment => {
                self.take(SqlKeyword::By);
                SequenceOption::Increment(self.expect_signed_number()?)
            }
            SqlKeyword::Maxvalue => SequenceOption::MaxValue(Some(self.expect_signed_number()?)),
            SqlKeyword::Minvalue => SequenceOption::MinValue(Some(self.expect_signed_number()?)),
            SqlKeyword::No => self.parse_no_option()?,
            SqlKeyword::Owned => {
                self.expect(SqlKeyword::By)?;
                SequenceOption::OwnedBy(self.object_name()?)
            }
            SqlKeyword::Sequence => {
                self.expect(SqlKeyword::Name)?;
                SequenceOption::SequenceName(self.object_name()?)
            }
            SqlKeyword::Start => {
                self.take(SqlKeyword::With);
                SequenceOption::Start(self.expect_signed_number()?)
            }
            _ => {
                let is_with = self.take(SqlKeyword::With);
                let has_number = is_with || self.at_signed_number();
                let number = if has_number { Some(self.expect_signed_number()?) } else { None };
                SequenceOption::Restart(number)
            }
        };
        Ok(Some(option))
    }

    fn parse_no_option(&mut self) -> Parsed<SequenceOption> {
        let option = match self.keyword() {
            Some(SqlKeyword::Maxvalue) => SequenceOption::MaxValue(None),
            Some(SqlKeyword::Minvalue) => SequenceOption::MinValue(None),
            Some(SqlKeyword::Cycle) => SequenceOption::Cycle(false),
            _ => return Err(self.unexpected()),
        };
        self.advance();
        Ok(option)
    }

    /// Parses a type without SETOF and dimensions.
    fn parse_plain_type(&mut self) -> Parsed<crate::tree::TypeName> {
        let start = self.range();
        let kind = self.parse_simple_type()?;
        let range = self.range_from(start);
        Ok(crate::tree::TypeName { kind, is_setof: false, dimensions: Vec::new(), range })
    }
}
