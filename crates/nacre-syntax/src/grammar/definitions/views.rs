//! CREATE VIEW.

use crate::grammar::cursor::{Parsed, StatementParser};
use crate::keywords::Keyword;
use crate::range::SourceRange;
use crate::tree::{CheckOption, CreateView, Statement};

impl StatementParser<'_> {
    pub(super) fn parse_create_view(&mut self, start: SourceRange) -> Parsed<Statement> {
        self.expect(Keyword::Create)?;
        let or_replace = self.take(Keyword::Or);
        if or_replace {
            self.expect(Keyword::Replace)?;
        }
        let persistence = self.parse_persistence()?;
        let is_recursive = self.take(Keyword::Recursive);
        self.expect(Keyword::View)?;
        let name = self.object_name()?;
        let columns = if is_recursive {
            self.paren_list(Self::column_name)?
        } else {
            self.optional_columns()?
        };
        let options = if self.take(Keyword::With) { self.parse_options()? } else { Vec::new() };
        self.expect(Keyword::As)?;
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
        if !self.take(Keyword::With) {
            return Ok(None);
        }
        let is_local = self.take(Keyword::Local);
        if !is_local {
            self.take(Keyword::Cascaded);
        }
        self.expect_words(&[Keyword::Check, Keyword::Option])?;
        Ok(Some(if is_local { CheckOption::Local } else { CheckOption::Cascaded }))
    }
}
