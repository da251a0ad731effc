//! CREATE TABLE, with its columns or AS a query, and CREATE MATERIALIZED VIEW.

use crate::grammar::cursor::{Parsed, StatementParser};
use crate::grammar::names::NamePlace;
use crate::keywords::SqlKeyword;
use crate::lexer::TokenKind;
use crate::range::SourceRange;
use crate::tree::{
    CommitAction, CreateTable, CreateTableAs, LikeOption, ObjectName, PartitionKey, SqlName,
    Statement, TableElement, TablePersistence, TableSource, TableStorage,
};

/// What CREATE TABLE says before the parenthesis.
struct TableHead {
    start: SourceRange,
    persistence: TablePersistence,
    if_not_exists: bool,
    name: ObjectName,
}

impl StatementParser<'_> {
    /// Parses CREATE TABLE ... AS or CREATE MATERIALIZED VIEW, which alone can be explained.
    pub(in crate::grammar) fn parse_explained_create(
        &mut self,
        start: SourceRange,
    ) -> Parsed<Statement> {
        let ahead = self.create_words();
        if self.at_ahead(ahead, SqlKeyword::Materialized) {
            return self.parse_create_materialized(start);
        }
        if !self.at_ahead(ahead, SqlKeyword::Table) {
            return Err(self.unexpected_at(ahead));
        }
        let head = self.parse_table_head(start)?;
        let columns = self.optional_columns()?;
        self.parse_table_as(head, columns)
    }

    fn parse_table_head(&mut self, start: SourceRange) -> Parsed<TableHead> {
        self.expect(SqlKeyword::Create)?;
        let persistence = self.parse_persistence()?;
        self.expect(SqlKeyword::Table)?;
        let if_not_exists = self.parse_if_not_exists()?;
        let name = self.object_name()?;
        Ok(TableHead { start, persistence, if_not_exists, name })
    }

    pub(super) fn parse_create_table(&mut self, start: SourceRange) -> Parsed<Statement> {
        let head = self.parse_table_head(start)?;
        if self.at(SqlKeyword::Of) || self.at(SqlKeyword::Partition) {
            return self.parse_other_table(start);
        }
        if !self.at(TokenKind::LeftParen) {
            return self.parse_table_as(head, Vec::new());
        }
        if self.at_column_names() {
            let columns = self.paren_list(Self::column_name)?;
            return self.parse_table_as(head, columns);
        }
        self.parse_table_elements(head)
    }

    /// Whether the parenthesis that comes next holds names alone: the columns of AS.
    fn at_column_names(&self) -> bool {
        self.is_name_ahead(1, NamePlace::Column)
            && matches!(self.peek_at(2), TokenKind::Comma | TokenKind::RightParen)
    }

    fn parse_table_elements(&mut self, head: TableHead) -> Parsed<Statement> {
        self.expect(TokenKind::LeftParen)?;
        let elements = if self.at(TokenKind::RightParen) {
            Vec::new()
        } else {
            self.list(Self::parse_table_element)?
        };
        self.expect(TokenKind::RightParen)?;
        let inherits = if self.take(SqlKeyword::Inherits) {
            self.paren_list(Self::object_name)?
        } else {
            Vec::new()
        };
        let partition_by = self.parse_partition_key()?;
        let storage = self.parse_table_storage()?;
        let TableHead { start, persistence, if_not_exists, name } = head;
        let range = self.range_from(start);
        Ok(Statement::CreateTable(Box::new(CreateTable {
            persistence,
            if_not_exists,
            name,
            elements,
            inherits,
            partition_by,
            storage,
            range,
        })))
    }

    fn parse_table_element(&mut self) -> Parsed<TableElement> {
        if self.at(SqlKeyword::Like) {
            self.advance();
            return self.parse_like();
        }
        if self.at_table_constraint() {
            return self.parse_table_constraint().map(TableElement::Constraint);
        }
        self.parse_column().map(|column| TableElement::Column(Box::new(column)))
    }

    fn parse_like(&mut self) -> Parsed<TableElement> {
        let table = self.object_name()?;
        let mut options = Vec::new();
        loop {
            let is_included = self.take(SqlKeyword::Including);
            if !is_included && !self.take(SqlKeyword::Excluding) {
                return Ok(TableElement::Like(table, options));
            }
            let is_known = matches!(
                self.keyword(),
                Some(
                    SqlKeyword::All
                        | SqlKeyword::Comments
                        | SqlKeyword::Compression
                        | SqlKeyword::Constraints
                        | SqlKeyword::Defaults
                        | SqlKeyword::Generated
                        | SqlKeyword::Identity
                        | SqlKeyword::Indexes
                        | SqlKeyword::Statistics
                        | SqlKeyword::Storage
                )
            );
            if !is_known {
                return Err(self.unexpected());
            }
            options.push(LikeOption { is_included, what: self.take_name() });
        }
    }

    pub(super) fn parse_partition_key(&mut self) -> Parsed<Option<PartitionKey>> {
        if !self.take(SqlKeyword::Partition) {
            return Ok(None);
        }
        self.expect(SqlKeyword::By)?;
        let strategy = self.column_name()?;
        let keys = self.paren_list(Self::parse_partition_element)?;
        Ok(Some(PartitionKey { strategy, keys }))
    }

    /// Parses USING, WITH, ON COMMIT and TABLESPACE, each optional.
    pub(super) fn parse_table_storage(&mut self) -> Parsed<TableStorage> {
        let access_method = self.parse_access_method()?;
        let options = self.parse_with_options()?;
        let on_commit = self.parse_on_commit()?;
        let tablespace =
            if self.take(SqlKeyword::Tablespace) { Some(self.column_name()?) } else { None };
        Ok(TableStorage { access_method, options, on_commit, tablespace })
    }

    /// Parses `USING name` if it is there.
    pub(super) fn parse_access_method(&mut self) -> Parsed<Option<SqlName>> {
        if self.take(SqlKeyword::Using) { self.column_name().map(Some) } else { Ok(None) }
    }

    fn parse_on_commit(&mut self) -> Parsed<Option<CommitAction>> {
        if !self.take(SqlKeyword::On) {
            return Ok(None);
        }
        self.expect(SqlKeyword::Commit)?;
        let action = match self.keyword() {
            Some(SqlKeyword::Drop) => {
                self.advance();
                return Ok(Some(CommitAction::Drop));
            }
            Some(SqlKeyword::Delete) => CommitAction::DeleteRows,
            Some(SqlKeyword::Preserve) => CommitAction::PreserveRows,
            _ => return Err(self.unexpected()),
        };
        self.advance();
        self.expect(SqlKeyword::Rows)?;
        Ok(Some(action))
    }

    fn parse_table_as(&mut self, head: TableHead, columns: Vec<SqlName>) -> Parsed<Statement> {
        let storage = self.parse_table_storage()?;
        self.expect(SqlKeyword::As)?;
        let source = if self.take(SqlKeyword::Execute) {
            let name = self.column_name()?;
            TableSource::Execute(name, self.optional_paren_list(Self::parse_expression)?)
        } else {
            TableSource::Query(self.parse_boxed_query()?)
        };
        let has_data = self.parse_with_data()?;
        let TableHead { start, persistence, if_not_exists, name } = head;
        Ok(Statement::CreateTableAs(Box::new(CreateTableAs {
            is_materialized_view: false,
            persistence,
            if_not_exists,
            name,
            columns,
            storage,
            source,
            has_data,
            range: self.range_from(start),
        })))
    }

    /// Parses WITH DATA or WITH NO DATA, if one is there.
    fn parse_with_data(&mut self) -> Parsed<bool> {
        if !self.take(SqlKeyword::With) {
            return Ok(true);
        }
        let has_data = !self.take(SqlKeyword::No);
        self.expect(SqlKeyword::Data)?;
        Ok(has_data)
    }

    pub(super) fn parse_create_materialized(&mut self, start: SourceRange) -> Parsed<Statement> {
        self.expect(SqlKeyword::Create)?;
        let persistence = self.parse_persistence()?;
        self.expect_words(&[SqlKeyword::Materialized, SqlKeyword::View])?;
        let if_not_exists = self.parse_if_not_exists()?;
        let name = self.object_name()?;
        let columns = self.optional_columns()?;
        let access_method = self.parse_access_method()?;
        let options = self.parse_with_options()?;
        let tablespace =
            if self.take(SqlKeyword::Tablespace) { Some(self.column_name()?) } else { None };
        self.expect(SqlKeyword::As)?;
        let source = TableSource::Query(self.parse_boxed_query()?);
        let has_data = self.parse_with_data()?;
        Ok(Statement::CreateTableAs(Box::new(CreateTableAs {
            is_materialized_view: true,
            persistence,
            if_not_exists,
            name,
            columns,
            storage: TableStorage { access_method, options, on_commit: None, tablespace },
            source,
            has_data,
            range: self.range_from(start),
        })))
    }
}
