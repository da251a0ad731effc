//! CREATE VIEW.

use crate::grammar::cursor::{Parsed, StatementParser};
use crate::keywords::SqlKeyword;
use crate::range::SourceRange;
use crate::tree::{CheckOption, CreateView, Statement};

impl StatementParser<'_> {
    pub(super) fn parse_create_view(&mut self, start: SourceRange) -> Parsed<Statement> {
        self.expect(SqlKeyword::Create)?;
        let or_replace = self.take(SqlKeyword::Or);
        if or_replace {
            self.expect(SqlKeyword::Replace)?;
        }
        let persistence = self.parse_persistence()?;
        let is_recursive = self.take(SqlKeyword::Recursive);
        self.expect(SqlKeyword::View)?;
        let name = self.object_name()?;
        let columns = if is_recursive {
            self.paren_list(Self::column_name)?
        } else {
            self.optional_columns()?
        };
        let options = if self.take(SqlKeyword::With) { self.parse_options()? } else { Vec::new() };
        self.expect(SqlKeyword::As)?;
        let query = self.parse_boxed_query()?;
        let check = self.parse_check_option()?;
        Ok(Statement::CreateView(Box::new(CreateView {
            or_replace,
            persistence,
            is_recursive,
            name,
            columns,
            options,
            query,
            check,
            range: self.range_from(start),
        })))
    }

    fn parse_check_option(&mut self) -> Parsed<Option<CheckOption>> {
        if !self.take(SqlKeyword::With) {
            return Ok(None);
        }
        let is_local = self.take(SqlKeyword::Local);
        if !is_local {
            self.take(SqlKeyword::Cascaded);
        }
        self.expect_words(&[SqlKeyword::Check, SqlKeyword::Option])?;
        Ok(Some(if is_local { CheckOption::Local } else { CheckOption::Cascaded }))
    }
}
