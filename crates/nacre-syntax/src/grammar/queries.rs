//! Queries: SELECT, VALUES, TABLE, set operations, and what stands before and behind them.

mod from_items;
mod limits;
mod selects;

use super::cursor::{Parsed, StatementParser};
use crate::keywords::SqlKeyword;
use crate::lexer::TokenKind;
use crate::range::SourceRange;
use crate::tree::{
    CommonTable, CycleClause, QueryBody, QueryExpression, SearchClause, SetLink, SetOperator,
    WithClause,
};

const LEVEL_UNION: u8 = 1;
const LEVEL_INTERSECT: u8 = 2;

impl StatementParser<'_> {
    /// Parses a query, with WITH if it begins so.
    pub(super) fn parse_query(&mut self) -> Parsed<QueryExpression> {
        let start = self.range();
        let with = self.parse_with()?;
        self.parse_query_behind(start, with)
    }

    /// Parses a query behind its WITH.
    pub(super) fn parse_query_behind(
        &mut self,
        start: SourceRange,
        with: Option<WithClause>,
    ) -> Parsed<QueryExpression> {
        self.nested(|parser| {
            let first = parser.parse_query_operand()?;
            parser.parse_query_from(start, with, first)
        })
    }

    /// Parses a query from parenthesis to parenthesis.
    pub(super) fn parse_paren_query(&mut self) -> Parsed<QueryExpression> {
        self.expect(TokenKind::LeftParen)?;
        let query = self.parse_query()?;
        self.expect(TokenKind::RightParen)?;
        Ok(query)
    }

    /// Parses the rest of a query of which the first operand is parsed.
    pub(super) fn parse_query_from(
        &mut self,
        start: SourceRange,
        with: Option<WithClause>,
        first: QueryBody,
    ) -> Parsed<QueryExpression> {
        let body = self.parse_set_operations(first, LEVEL_UNION)?;
        let order_by = self.parse_order_by()?;
        let mut locks = self.parse_locks()?;
        let (limit, offset) = self.parse_limit()?;
        if locks.is_empty() {
            locks = self.parse_locks()?;
        }
        self.check_ties(&limit, &order_by, &locks, start)?;
        let is_bare = with.is_none()
            && order_by.is_empty()
            && locks.is_empty()
            && limit.is_none()
            && offset.is_none();
        match body {
            QueryBody::Nested(query) if is_bare => Ok(*query),
            body => {
                let range = self.range_from(start);
                Ok(QueryExpression { with, body, order_by, limit, offset, locks, range })
            }
        }
    }

    fn parse_query_operand(&mut self) -> Parsed<QueryBody> {
        match self.peek() {
            TokenKind::Keyword(SqlKeyword::Select) => {
                self.parse_select().map(|select| QueryBody::Select(Box::new(select)))
            }
            TokenKind::Keyword(SqlKeyword::Values) => self.parse_values().map(QueryBody::Values),
            TokenKind::Keyword(SqlKeyword::Table) => {
                self.advance();
                self.parse_relation().map(QueryBody::Table)
            }
            TokenKind::LeftParen => {
                let query = self.nested(Self::parse_paren_query)?;
                Ok(QueryBody::Nested(Box::new(query)))
            }
            _ => Err(self.unexpected()),
        }
    }

    /// Parses set operations behind their first operand.
    fn parse_set_operations(&mut self, first: QueryBody, level: u8) -> Parsed<QueryBody> {
        let mut body = first;
        while let Some((_, found)) = self.set_operator().filter(|(_, found)| *found >= level) {
            self.grow()?;
            let mut links = Vec::new();
            while let Some((operator, _)) = self.set_operator().filter(|(_, next)| *next == found) {
                let range = self.range();
                self.advance();
                let quantifier = self.parse_set_quantifier();
                let operand = self.nested(|parser| {
                    let first = parser.parse_query_operand()?;
                    parser.parse_set_operations(first, found + 1)
                })?;
                links.push(SetLink { operator, quantifier, operand, range });
            }
            body = QueryBody::SetOperation { first: Box::new(body), links };
        }
        Ok(body)
    }

    fn set_operator(&self) -> Option<(SetOperator, u8)> {
        match self.keyword()? {
            SqlKeyword::Union => Some((SetOperator::Union, LEVEL_UNION)),
            SqlKeyword::Except => Some((SetOperator::Except, LEVEL_UNION)),
            SqlKeyword::Intersect => Some((SetOperator::Intersect, LEVEL_INTERSECT)),
            _ => None,
        }
    }

    /// Parses WITH if it is there.
    pub(super) fn parse_with(&mut self) -> Parsed<Option<WithClause>> {
        let start = self.range();
        if !self.take(SqlKeyword::With) {
            return Ok(None);
        }
        // RECURSIVE may also be the name of the first one.
        let is_name = self.at_ahead(1, SqlKeyword::As) || self.at_ahead(1, TokenKind::LeftParen);
        let is_recursive = !is_name && self.take(SqlKeyword::Recursive);
        let items = self.list(Self::parse_common_table)?;
        Ok(Some(WithClause { is_recursive, items, range: self.range_from(start) }))
    }

    fn parse_common_table(&mut self) -> Parsed<CommonTable> {
        let name = self.column_name()?;
        let columns = self.optional_columns()?;
        self.expect(SqlKeyword::As)?;
        let is_materialized = if self.take(SqlKeyword::Materialized) {
            Some(true)
        } else if self.take(SqlKeyword::Not) {
            self.expect(SqlKeyword::Materialized)?;
            Some(false)
        } else {
            None
        };
        self.expect(TokenKind::LeftParen)?;
        let statement = Box::new(self.nested(Self::parse_preparable)?);
        self.expect(TokenKind::RightParen)?;
        let search = self.parse_search()?;
        let cycle = self.parse_cycle()?;
        Ok(CommonTable { name, columns, is_materialized, statement, search, cycle })
    }

    fn parse_search(&mut self) -> Parsed<Option<SearchClause>> {
        if !self.take(SqlKeyword::Search) {
            return Ok(None);
        }
        let is_breadth_first = self.take(SqlKeyword::Breadth);
        if !is_breadth_first {
            self.expect(SqlKeyword::Depth)?;
        }
        self.expect_words(&[SqlKeyword::First, SqlKeyword::By])?;
        let columns = self.name_list()?;
        self.expect(SqlKeyword::Set)?;
        Ok(Some(SearchClause { is_breadth_first, columns, target: self.column_name()? }))
    }

    fn parse_cycle(&mut self) -> Parsed<Option<CycleClause>> {
        if !self.take(SqlKeyword::Cycle) {
            return Ok(None);
        }
        let columns = self.name_list()?;
        self.expect(SqlKeyword::Set)?;
        let mark = self.column_name()?;
        let values = if self.take(SqlKeyword::To) {
            let value = self.parse_constant()?;
            self.expect(SqlKeyword::Default)?;
            Some(Box::new((value, self.parse_constant()?)))
        } else {
            None
        };
        self.expect(SqlKeyword::Using)?;
        Ok(Some(CycleClause { columns, mark, values, path: self.column_name()? }))
    }
}
