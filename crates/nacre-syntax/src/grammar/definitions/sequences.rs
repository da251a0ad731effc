//! Sequences and their options.

use crate::grammar::cursor::{Parsed, StatementParser};
use crate::keywords::Keyword;
use crate::lexer::TokenKind;
use crate::range::SourceRange;
use crate::tree::{AlterSequence, CreateSequence, ObjectName, SequenceOption, Statement};

impl StatementParser<'_> {
    pub(super) fn parse_create_sequence(&mut self, start: SourceRange) -> Parsed<Statement> {
        self.expect(Keyword::Create)?;
        let persistence = self.parse_persistence()?;
        self.expect(Keyword::Sequence)?;
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
            Keyword::As
                | Keyword::Cache
                | Keyword::Cycle
                | Keyword::Increment
                | Keyword::Maxvalue
                | Keyword::Minvalue
                | Keyword::No
                | Keyword::Owned
                | Keyword::Sequence
                | Keyword::Start
                | Keyword::Restart
        );
        if !is_option {
            return Ok(None);
        }
        self.advance();
        let option = match keyword {
            Keyword::As => {
                let type_name = self.parse_plain_type()?;
                SequenceOption::As(type_name)
            }
            Keyword::Cache => SequenceOption::Cache(self.expect_signed_number()?),
            Keyword::Cycle => SequenceOption::Cycle(true),
            Keyword::Increment => {
                self.take(Keyword::By);
                SequenceOption::Increment(self.expect_signed_number()?)
            }
            Keyword::Maxvalue => SequenceOption::MaxValue(Some(self.expect_signed_number()?)),
            Keyword::Minvalue => SequenceOption::MinValue(Some(self.expect_signed_number()?)),
            Keyword::No => self.parse_no_option()?,
            Keyword::Owned => {
                self.expect(Keyword::By)?;
                SequenceOption::OwnedBy(self.object_name()?)
            }
            Keyword::Sequence => {
                self.expect(Keyword::Name)?;
                SequenceOption::SequenceName(self.object_name()?)
            }
            Keyword::Start => {
                self.take(Keyword::With);
                SequenceOption::Start(self.expect_signed_number()?)
            }
            _ => {
                let is_with = self.take(Keyword::With);
                let has_number = is_with || self.at_signed_number();
                let number = if has_number { Some(self.expect_signed_number()?) } else { None };
                SequenceOption::Restart(number)
            }
        };
        Ok(Some(option))
    }

    fn parse_no_option(&mut self) -> Parsed<SequenceOption> {
        let option = match self.keyword() {
            Some(Keyword::Maxvalue) => SequenceOption::MaxValue(None),
            Some(Keyword::Minvalue) => SequenceOption::MinValue(None),
            Some(Keyword::Cycle) => SequenceOption::Cycle(false),
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
