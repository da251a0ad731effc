//! CREATE INDEX and what indexes sort by.

use crate::grammar::cursor::{Parsed, StatementParser};
use crate::grammar::names::NamePlace;
use crate::keywords::SqlKeyword;
use crate::lexer::TokenKind;
use crate::range::SourceRange;
use crate::tree::{
    ColumnPath, CreateIndex, ExpressionKind, ExpressionNode, IndexElement, Statement, TableCall,
};

impl StatementParser<'_> {
    pub(super) fn parse_create_index(&mut self, start: SourceRange) -> Parsed<Statement> {
        self.expect(SqlKeyword::Create)?;
        let is_unique = self.take(SqlKeyword::Unique);
        self.expect(SqlKeyword::Index)?;
        let is_concurrent = self.take(SqlKeyword::Concurrently);
        let if_not_exists = self.parse_if_not_exists()?;
        let name = if if_not_exists {
            Some(self.column_name()?)
        } else {
            self.optional_name(NamePlace::Column)
        };
        self.expect(SqlKeyword::On)?;
        let table = self.parse_relation()?;
        let access_method = self.parse_access_method()?;
        let elements = self.paren_list(Self::parse_index_element)?;
        let included = if self.take(SqlKeyword::Include) {
            self.paren_list(Self::parse_index_element)?
        } else {
            Vec::new()
        };
        let nulls_equal = self.parse_nulls_distinct()?;
        let options = if self.take(SqlKeyword::With) { self.parse_options()? } else { Vec::new() };
        let tablespace =
            if self.take(SqlKeyword::Tablespace) { Some(self.column_name()?) } else { None };
        let condition = self.parse_where()?;
        Ok(Statement::CreateIndex(Box::new(CreateIndex {
            is_unique,
            is_concurrent,
            if_not_exists,
            name,
            table,
            access_method,
            elements,
            included,
            nulls_equal,
            options,
            tablespace,
            condition,
            range: self.range_from(start),
        })))
    }

    /// Parses a column or expression with its collation, operator class and direction.
    pub(in crate::grammar) fn parse_index_element(&mut self) -> Parsed<IndexElement> {
        let value = self.parse_index_value()?;
        let collation = self.optional_collation()?;
        let operator_class = self.parse_operator_class(true)?;
        let is_descending = if self.take(SqlKeyword::Asc) {
            Some(false)
        } else {
            self.take(SqlKeyword::Desc).then_some(true)
        };
        let nulls_first = self.parse_nulls_order();
        Ok(IndexElement { value, collation, operator_class, is_descending, nulls_first })
    }

    /// Parses what a partition key sorts by: an index element without options and direction.
    pub(super) fn parse_partition_element(&mut self) -> Parsed<IndexElement> {
        let value = self.parse_index_value()?;
        let collation = self.optional_collation()?;
        let operator_class = self.parse_operator_class(false)?;
        Ok(IndexElement {
            value,
            collation,
            operator_class,
            is_descending: None,
            nulls_first: None,
        })
    }

    /// Parses a column, a call, or an expression in parentheses.
    fn parse_index_value(&mut self) -> Parsed<ExpressionNode> {
        let start = self.range();
        if self.take(TokenKind::LeftParen) {
            let value = self.parse_expression()?;
            self.expect(TokenKind::RightParen)?;
            return Ok(value);
        }
        if let Some(call) = self.parse_table_call()? {
            return Ok(match call {
                TableCall::Function(call) => self.node(start, ExpressionKind::Function(call)),
                TableCall::Special(call, range) => {
                    ExpressionNode { kind: ExpressionKind::Special(call), range }
                }
                TableCall::Cast(value) => *value,
            });
        }
        let name = self.column_name()?;
        Ok(self.node(start, ExpressionKind::Column(ColumnPath { name, steps: Vec::new() })))
    }

    fn parse_operator_class(
        &mut self,
        has_options: bool,
    ) -> Parsed<Option<(crate::tree::ObjectName, Vec<crate::tree::StorageOption>)>> {
        let is_nulls = self.at(SqlKeyword::Nulls)
            && (self.at_ahead(1, SqlKeyword::First) || self.at_ahead(1, SqlKeyword::Last));
        let has_using = !has_options && self.take(SqlKeyword::Using);
        if !has_using && (is_nulls || !self.is_name(NamePlace::Column)) {
            return Ok(None);
        }
        let name = self.object_name()?;
        let options = if has_options && self.at(TokenKind::LeftParen) {
            self.parse_options()?
        } else {
            Vec::new()
        };
        Ok(Some((name, options)))
    }
}
