//! INSERT, UPDATE, DELETE and MERGE, behind their WITH.

use super::cursor::{Parsed, StatementParser};
use super::names::NamePlace;
use crate::keywords::SqlKeyword;
use crate::lexer::TokenKind;
use crate::range::SourceRange;
use crate::tree::{
    ColumnTarget, ConflictClause, ConflictTarget, ConflictUpdate, DeleteStatement, InsertStatement,
    MergeAction, MergeClause, MergeStatement, OverridingKind, QueryExpression, RowCondition,
    SetAssignment, SqlName, TargetItem, UpdateStatement, WithClause,
};

impl StatementParser<'_> {
    pub(super) fn parse_insert(
        &mut self,
        start: SourceRange,
        with: Option<WithClause>,
    ) -> Parsed<InsertStatement> {
        self.expect_words(&[SqlKeyword::Insert, SqlKeyword::Into])?;
        let table = self.object_name()?;
        let alias = if self.take(SqlKeyword::As) { Some(self.column_name()?) } else { None };
        let columns = if self.at_plain_parenthesis() {
            self.paren_list(Self::parse_column_target)?
        } else {
            Vec::new()
        };
        let overriding = self.parse_overriding()?;
        let is_plain = columns.is_empty() && overriding.is_none();
        let source = if is_plain && self.take(SqlKeyword::Default) {
            self.expect(SqlKeyword::Values)?;
            None
        } else {
            Some(Box::new(self.parse_query()?))
        };
        let on_conflict = self.parse_on_conflict()?;
        let returning = self.parse_returning()?;
        let range = self.range_from(start);
        Ok(InsertStatement {
            with,
            table,
            alias,
            columns,
            overriding,
            source,
            on_conflict,
            returning,
            range,
        })
    }

    fn parse_overriding(&mut self) -> Parsed<Option<OverridingKind>> {
        if !self.take(SqlKeyword::Overriding) {
            return Ok(None);
        }
        let kind = if self.take(SqlKeyword::User) {
            OverridingKind::User
        } else {
            self.expect(SqlKeyword::System)?;
            OverridingKind::System
        };
        self.expect(SqlKeyword::Value)?;
        Ok(Some(kind))
    }

    fn parse_column_target(&mut self) -> Parsed<ColumnTarget> {
        let name = self.column_name()?;
        Ok(ColumnTarget { name, steps: self.parse_steps()? })
    }

    fn parse_on_conflict(&mut self) -> Parsed<Option<Box<ConflictClause>>> {
        let start = self.range();
        if !self.take(SqlKeyword::On) {
            return Ok(None);
        }
        self.expect(SqlKeyword::Conflict)?;
        let target = if self.at(TokenKind::LeftParen) {
            let columns = self.paren_list(Self::parse_index_element)?;
            Some(ConflictTarget::Columns(columns, self.parse_where()?))
        } else if self.take(SqlKeyword::On) {
            self.expect(SqlKeyword::Constraint)?;
            Some(ConflictTarget::Constraint(self.column_name()?))
        } else {
            None
        };
        self.expect(SqlKeyword::Do)?;
        let update = if self.take(SqlKeyword::Nothing) {
            None
        } else {
            self.expect_words(&[SqlKeyword::Update, SqlKeyword::Set])?;
            let assignments = self.parse_assignments()?;
            Some(ConflictUpdate { assignments, condition: self.parse_where()? })
        };
        let range = self.range_from(start);
        Ok(Some(Box::new(ConflictClause { target, update, range })))
    }

    /// Parses RETURNING if it is there.
    fn parse_returning(&mut self) -> Parsed<Vec<TargetItem>> {
        if self.take(SqlKeyword::Returning) { self.parse_targets() } else { Ok(Vec::new()) }
    }

    /// Parses what stands behind SET.
    fn parse_assignments(&mut self) -> Parsed<Vec<SetAssignment>> {
        self.list(|parser| {
            let is_row = parser.at(TokenKind::LeftParen);
            let targets = if is_row {
                parser.paren_list(Self::parse_column_target)?
            } else {
                vec![parser.parse_column_target()?]
            };
            parser.expect(TokenKind::Equals)?;
            Ok(SetAssignment { targets, is_row, value: parser.parse_expression()? })
        })
    }

    /// Parses the other name of a table that is changed; SET is none without AS.
    fn parse_changed_alias(&mut self) -> Parsed<Option<SqlName>> {
        if self.take(SqlKeyword::As) {
            return self.column_name().map(Some);
        }
        if self.at(SqlKeyword::Set) {
            return Ok(None);
        }
        Ok(self.optional_name(NamePlace::Column))
    }

    pub(super) fn parse_update(
        &mut self,
        start: SourceRange,
        with: Option<WithClause>,
    ) -> Parsed<UpdateStatement> {
        self.expect(SqlKeyword::Update)?;
        let table = self.parse_relation()?;
        let alias = self.parse_changed_alias()?;
        self.expect(SqlKeyword::Set)?;
        let assignments = self.parse_assignments()?;
        let from = if self.take(SqlKeyword::From) { self.parse_from_list()? } else { Vec::new() };
        let condition = self.parse_row_condition()?;
        let returning = self.parse_returning()?;
        let range = self.range_from(start);
        Ok(UpdateStatement { with, table, alias, assignments, from, condition, returning, range })
    }

    fn parse_row_condition(&mut self) -> Parsed<Option<RowCondition>> {
        if !self.take(SqlKeyword::Where) {
            return Ok(None);
        }
        if self.take_words(&[SqlKeyword::Current, SqlKeyword::Of]) {
            return self.column_name().map(|cursor| Some(RowCondition::CurrentOf(cursor)));
        }
        self.parse_expression().map(|condition| Some(RowCondition::Where(condition)))
    }

    pub(super) fn parse_delete(
        &mut self,
        start: SourceRange,
        with: Option<WithClause>,
    ) -> Parsed<DeleteStatement> {
        self.expect_words(&[SqlKeyword::Delete, SqlKeyword::From])?;
        let table = self.parse_relation()?;
        let alias = self.parse_changed_alias()?;
        let using = if self.take(SqlKeyword::Using) { self.parse_from_list()? } else { Vec::new() };
        let condition = self.parse_row_condition()?;
        let returning = self.parse_returning()?;
        let range = self.range_from(start);
        Ok(DeleteStatement { with, table, alias, using, condition, returning, range })
    }

    pub(super) fn parse_merge(
        &mut self,
        start: SourceRange,
        with: Option<WithClause>,
    ) -> Parsed<MergeStatement> {
        self.expect_words(&[SqlKeyword::Merge, SqlKeyword::Into])?;
        let table = self.parse_relation()?;
        let alias = self.parse_changed_alias()?;
        self.expect(SqlKeyword::Using)?;
        let source = self.parse_from_item()?;
        self.expect(SqlKeyword::On)?;
        let condition = self.parse_expression()?;
        let mut clauses = Vec::new();
        while clauses.is_empty() || self.at(SqlKeyword::When) {
            clauses.push(self.parse_merge_clause()?);
        }
        let returning = self.parse_returning()?;
        let range = self.range_from(start);
        Ok(MergeStatement { with, table, alias, source, condition, clauses, returning, range })
    }

    fn parse_merge_clause(&mut self) -> Parsed<MergeClause> {
        let start = self.expect(SqlKeyword::When)?;
        let is_matched = !self.take(SqlKeyword::Not);
        self.expect(SqlKeyword::Matched)?;
        let condition =
            if self.take(SqlKeyword::And) { Some(self.parse_expression()?) } else { None };
        self.expect(SqlKeyword::Then)?;
        let action = match self.keyword() {
            Some(SqlKeyword::Do) => {
                self.advance();
                self.expect(SqlKeyword::Nothing)?;
                MergeAction::Nothing
            }
            Some(SqlKeyword::Delete) if is_matched => {
                self.advance();
                MergeAction::Delete
            }
            Some(SqlKeyword::Update) if is_matched => {
                self.advance();
                self.expect(SqlKeyword::Set)?;
                MergeAction::Update(self.parse_assignments()?)
            }
            Some(SqlKeyword::Insert) if !is_matched => self.parse_merge_insert()?,
            _ => return Err(self.unexpected()),
        };
        Ok(MergeClause { is_matched, condition, action, range: self.range_from(start) })
    }

    fn parse_merge_insert(&mut self) -> Parsed<MergeAction> {
        self.expect(SqlKeyword::Insert)?;
        let columns = self.optional_paren_list(Self::parse_column_target)?;
        let overriding = self.parse_overriding()?;
        let is_plain = columns.is_empty() && overriding.is_none();
        let values = if is_plain && self.take(SqlKeyword::Default) {
            self.expect(SqlKeyword::Values)?;
            None
        } else {
            self.expect(SqlKeyword::Values)?;
            Some(self.paren_list(Self::parse_expression)?)
        };
        Ok(MergeAction::Insert { columns, overriding, values })
    }

    /// Parses a query, INSERT, UPDATE, DELETE or MERGE, as PREPARE and WITH take them.
    pub(super) fn parse_preparable(&mut self) -> Parsed<crate::tree::Statement> {
        let start = self.range();
        let with = self.parse_with()?;
        self.parse_changing(start, with)
    }

    /// As `parse_preparable`, behind WITH.
    pub(super) fn parse_changing(
        &mut self,
        start: SourceRange,
        with: Option<WithClause>,
    ) -> Parsed<crate::tree::Statement> {
        use crate::tree::Statement;
        Ok(match self.keyword() {
            Some(SqlKeyword::Insert) => {
                Statement::Insert(Box::new(self.parse_insert(start, with)?))
            }
            Some(SqlKeyword::Update) => {
                Statement::Update(Box::new(self.parse_update(start, with)?))
            }
            Some(SqlKeyword::Delete) => {
                Statement::Delete(Box::new(self.parse_delete(start, with)?))
            }
            Some(SqlKeyword::Merge) => Statement::Merge(Box::new(self.parse_merge(start, with)?)),
            _ => Statement::Query(Box::new(self.parse_query_behind(start, with)?)),
        })
    }

    /// Parses a query that may not change anything, as a statement does.
    pub(super) fn parse_boxed_query(&mut self) -> Parsed<Box<QueryExpression>> {
        self.parse_query().map(Box::new)
    }
}
