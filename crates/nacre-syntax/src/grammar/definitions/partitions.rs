//! Partitions and tables of a type: read in full, but they have no tree.

use crate::grammar::cursor::{Parsed, StatementParser};
use crate::grammar::names::NamePlace;
use crate::keywords::SqlKeyword;
use crate::range::SourceRange;
use crate::tree::Statement;

impl StatementParser<'_> {
    /// Parses CREATE TABLE from OF or PARTITION OF on.
    pub(super) fn parse_other_table(&mut self, start: SourceRange) -> Parsed<Statement> {
        let is_partition = self.take(SqlKeyword::Partition);
        self.expect(SqlKeyword::Of)?;
        self.object_name()?;
        self.optional_paren_list(Self::parse_typed_element)?;
        if is_partition {
            self.parse_partition_bound()?;
        }
        self.parse_partition_key()?;
        self.parse_table_storage()?;
        let keyword = if is_partition { "CREATE TABLE PARTITION OF" } else { "CREATE TABLE OF" };
        Ok(Statement::Other { keyword: keyword.to_owned(), range: self.range_from(start) })
    }

    fn parse_typed_element(&mut self) -> Parsed<()> {
        if self.at_table_constraint() {
            return self.parse_table_constraint().map(|_| ());
        }
        self.column_name()?;
        if self.take(SqlKeyword::With) {
            self.expect(SqlKeyword::Options)?;
        }
        self.parse_column_constraints().map(|_| ())
    }

    /// Parses ATTACH PARTITION or DETACH PARTITION.
    pub(super) fn parse_partition_action(&mut self, is_table: bool) -> Parsed<()> {
        let is_attach = self.at(SqlKeyword::Attach);
        self.advance();
        self.expect(SqlKeyword::Partition)?;
        self.object_name()?;
        if is_attach && is_table {
            return self.parse_partition_bound();
        }
        if !is_attach && !self.take(SqlKeyword::Concurrently) {
            self.take(SqlKeyword::Finalize);
        }
        Ok(())
    }

    fn parse_partition_bound(&mut self) -> Parsed<()> {
        if self.take(SqlKeyword::Default) {
            return Ok(());
        }
        self.expect_words(&[SqlKeyword::For, SqlKeyword::Values])?;
        if self.take(SqlKeyword::In) {
            return self.paren_list(Self::parse_expression).map(|_| ());
        }
        if self.take(SqlKeyword::From) {
            self.paren_list(Self::parse_expression)?;
            self.expect(SqlKeyword::To)?;
            return self.paren_list(Self::parse_expression).map(|_| ());
        }
        self.expect(SqlKeyword::With)?;
        self.paren_list(|parser| {
            parser.expect_name(NamePlace::Unreserved)?;
            parser.expect_integer()
        })
        .map(|_| ())
    }
}
