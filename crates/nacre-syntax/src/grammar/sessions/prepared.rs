//! EXPLAIN, PREPARE, EXECUTE and DEALLOCATE.

use crate::grammar::cursor::{Parsed, StatementParser};
use crate::grammar::names::NamePlace;
use crate::keywords::SqlKeyword;
use crate::lexer::TokenKind;
use crate::range::SourceRange;
use crate::tree::{
    ExecuteStatement, ExplainStatement, OptionValue, PrepareStatement, SqlName, Statement,
    UtilityOption,
};

impl StatementParser<'_> {
    pub(in crate::grammar) fn parse_explain(&mut self, start: SourceRange) -> Parsed<Statement> {
        self.expect(SqlKeyword::Explain)?;
        let options = if self.at_plain_parenthesis() {
            self.parse_utility_options()?
        } else {
            let mut options = Vec::new();
            if self.at(SqlKeyword::Analyze) || self.at(SqlKeyword::Analyse) {
                options.push(self.take_word_option("analyze"));
            }
            if self.at(SqlKeyword::Verbose) {
                options.push(self.take_word_option("verbose"));
            }
            options
        };
        let statement = Box::new(self.nested(Self::parse_explained)?);
        let range = self.range_from(start);
        Ok(Statement::Explain(ExplainStatement { options, statement, range }))
    }

    fn parse_explained(&mut self) -> Parsed<Statement> {
        let start = self.range();
        match self.keyword() {
            Some(SqlKeyword::Declare) => self.parse_declare(start),
            Some(SqlKeyword::Execute) => self.parse_execute(start),
            Some(SqlKeyword::Create) => self.parse_explained_create(start),
            Some(SqlKeyword::Refresh) => self.parse_other(start),
            _ => {
                let with = self.parse_with()?;
                self.parse_changing(start, with)
            }
        }
    }

    /// Makes an option of a word that stands without parentheses.
    pub(super) fn take_word_option(&mut self, name: &str) -> UtilityOption {
        let range = self.advance().range;
        UtilityOption { name: SqlName { text: name.to_owned(), range }, value: None }
    }

    /// Parses `(name value, ...)` of EXPLAIN and VACUUM.
    pub(super) fn parse_utility_options(&mut self) -> Parsed<Vec<UtilityOption>> {
        self.paren_list(|parser| {
            let is_analyze = parser.at(SqlKeyword::Analyze) || parser.at(SqlKeyword::Analyse);
            let name = if is_analyze {
                let range = parser.advance().range;
                SqlName { text: "analyze".to_owned(), range }
            } else {
                parser.expect_name(NamePlace::Unreserved)?
            };
            let is_value =
                parser.at_string() || parser.at_setting_word() || parser.at_signed_number();
            let value: Option<OptionValue> =
                if is_value { Some(parser.parse_setting_value()?) } else { None };
            Ok(UtilityOption { name, value })
        })
    }

    pub(in crate::grammar) fn parse_prepare(&mut self, start: SourceRange) -> Parsed<Statement> {
        self.expect(SqlKeyword::Prepare)?;
        let name = self.column_name()?;
        let types = self.optional_paren_list(Self::parse_type_name)?;
        self.expect(SqlKeyword::As)?;
        let statement = Box::new(self.nested(Self::parse_preparable)?);
        let range = self.range_from(start);
        Ok(Statement::Prepare(Box::new(PrepareStatement { name, types, statement, range })))
    }

    pub(in crate::grammar) fn parse_execute(&mut self, start: SourceRange) -> Parsed<Statement> {
        self.expect(SqlKeyword::Execute)?;
        let name = self.column_name()?;
        let parameters = self.optional_paren_list(Self::parse_expression)?;
        let range = self.range_from(start);
        Ok(Statement::Execute(ExecuteStatement { name, parameters, range }))
    }

    pub(in crate::grammar) fn parse_deallocate(&mut self, start: SourceRange) -> Parsed<Statement> {
        self.expect(SqlKeyword::Deallocate)?;
        // PREPARE may be the name of the prepared statement.
        if !matches!(self.peek_at(1), TokenKind::End | TokenKind::Semicolon) {
            self.take(SqlKeyword::Prepare);
        }
        let name = if self.take(SqlKeyword::All) { None } else { Some(self.column_name()?) };
        Ok(Statement::Deallocate(name, self.range_from(start)))
    }
}
