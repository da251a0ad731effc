//! What FROM reads: tables, queries, functions, and joins of them.

use crate::error::{SyntaxError, SyntaxErrorKind};
use crate::grammar::cursor::{Parsed, StatementParser};
use crate::grammar::names::NamePlace;
use crate::keywords::SqlKeyword;
use crate::lexer::TokenKind;
use crate::range::SourceRange;
use crate::tree::{
    ColumnType, ExpressionKind, FromItem, FromKind, JoinCondition, JoinKind, JoinLink, ObjectName,
    QueryBody, RelationName, SqlName, TableAlias, TableCall, TableFunction, TableSample,
};

impl StatementParser<'_> {
    /// Parses an item of FROM with all joins behind it.
    pub(in crate::grammar) fn parse_from_item(&mut self) -> Parsed<FromItem> {
        self.nested(|parser| {
            let first = parser.parse_from_operand()?;
            parser.parse_joins(first)
        })
    }

    /// Parses joins behind their first table.
    fn parse_joins(&mut self, first: FromItem) -> Parsed<FromItem> {
        let start = first.range;
        let mut links = Vec::new();
        while self.at_join() {
            links.push(self.parse_join()?);
        }
        if links.is_empty() {
            return Ok(first);
        }
        self.grow()?;
        let kind = FromKind::Joins { first: Box::new(first), links };
        Ok(FromItem { kind, alias: None, range: self.range_from(start) })
    }

    fn at_join(&self) -> bool {
        matches!(
            self.keyword(),
            Some(
                SqlKeyword::Join
                    | SqlKeyword::Cross
                    | SqlKeyword::Natural
                    | SqlKeyword::Inner
                    | SqlKeyword::Left
                    | SqlKeyword::Right
                    | SqlKeyword::Full
            )
        )
    }

    fn parse_join(&mut self) -> Parsed<JoinLink> {
        let start = self.range();
        if self.take(SqlKeyword::Cross) {
            self.expect(SqlKeyword::Join)?;
            let range = self.range_from(start);
            let right = self.nested(Self::parse_from_operand)?;
            let condition = JoinCondition::Always;
            return Ok(JoinLink { kind: JoinKind::Cross, condition, right, range });
        }
        let is_natural = self.take(SqlKeyword::Natural);
        let kind = self.parse_join_kind();
        self.expect(SqlKeyword::Join)?;
        let range = self.range_from(start);
        if is_natural {
            let right = self.nested(Self::parse_from_operand)?;
            let condition = JoinCondition::Natural;
            return Ok(JoinLink { kind, condition, right, range });
        }
        // The condition is that of the last join that has none yet.
        let right = self.parse_from_item()?;
        let condition = self.parse_join_condition()?;
        Ok(JoinLink { kind, condition, right, range })
    }

    fn parse_join_kind(&mut self) -> JoinKind {
        let kind = match self.keyword() {
            Some(SqlKeyword::Left) => JoinKind::Left,
            Some(SqlKeyword::Right) => JoinKind::Right,
            Some(SqlKeyword::Full) => JoinKind::Full,
            Some(SqlKeyword::Inner) => {
                self.advance();
                return JoinKind::Inner;
            }
            _ => return JoinKind::Inner,
        };
        self.advance();
        self.take(SqlKeyword::Outer);
        kind
    }

    fn parse_join_condition(&mut self) -> Parsed<JoinCondition> {
        if self.take(SqlKeyword::Using) {
            let columns = self.paren_list(Self::column_name)?;
            let alias = if self.take(SqlKeyword::As) { Some(self.column_name()?) } else { None };
            return Ok(JoinCondition::Using(columns, alias));
        }
        self.expect(SqlKeyword::On)?;
        Ok(JoinCondition::On(Box::new(self.parse_expression()?)))
    }

    /// Parses an item without joins, unless they stand in parentheses.
    fn parse_from_operand(&mut self) -> Parsed<FromItem> {
        let start = self.range();
        if self.at(TokenKind::LeftParen) {
            let item = self.nested(|parser| parser.parse_from_parenthesis(start))?;
            return check_alias(item, start);
        }
        let is_lateral = self.take(SqlKeyword::Lateral);
        if is_lateral && self.at(TokenKind::LeftParen) {
            let paren = self.range();
            let query = Box::new(self.nested(Self::parse_paren_query)?);
            let item = self.subquery_item(start, query, true)?;
            return check_alias(item, paren);
        }
        if self.at_words(&[SqlKeyword::Rows, SqlKeyword::From])
            && self.at_ahead(2, TokenKind::LeftParen)
        {
            self.advance();
            self.advance();
            let items = self.paren_list(Self::parse_rows_function)?;
            return self.function_item(start, items, true, is_lateral);
        }
        if self.at(SqlKeyword::Xmltable) && self.at_ahead(1, TokenKind::LeftParen) {
            return Err(SyntaxError::not_supported("XMLTABLE", self.range()));
        }
        if let Some(call) = self.parse_table_call()? {
            let items = vec![TableFunction { call, columns: Vec::new() }];
            return self.function_item(start, items, false, is_lateral);
        }
        if is_lateral {
            return Err(self.unexpected_behind_name());
        }
        self.parse_relation_item(start)
    }

    /// The error of a name behind LATERAL that no parenthesis follows.
    fn unexpected_behind_name(&mut self) -> SyntaxError {
        if self.is_name(NamePlace::Column) {
            self.take_name();
            while self.at(TokenKind::Dot) && self.is_name_ahead(1, NamePlace::Label) {
                self.advance();
                self.advance();
            }
        } else if self.is_name(NamePlace::TypeOrFunction) {
            self.take_name();
        }
        self.unexpected()
    }

    fn parse_relation_item(&mut self, start: SourceRange) -> Parsed<FromItem> {
        if !self.is_name(NamePlace::Column) && self.is_name(NamePlace::TypeOrFunction) {
            return Err(self.unexpected_behind_name());
        }
        let relation = self.parse_relation()?;
        let alias = self.parse_alias()?;
        let sample = if self.take(SqlKeyword::Tablesample) {
            Some(Box::new(self.parse_sample()?))
        } else {
            None
        };
        let kind = FromKind::Relation { relation, sample };
        Ok(FromItem { kind, alias, range: self.range_from(start) })
    }

    /// Parses `(query) alias`, `(a JOIN b) alias`, or such joins whose first table is a query.
    fn parse_from_parenthesis(&mut self, start: SourceRange) -> Parsed<FromItem> {
        let is_query = self.at_query_parenthesis();
        self.expect(TokenKind::LeftParen)?;
        if is_query && !self.at(TokenKind::LeftParen) {
            let query = Box::new(self.parse_query()?);
            self.expect(TokenKind::RightParen)?;
            return self.subquery_item(start, query, false);
        }
        if is_query {
            let inner = self.range();
            let item = self.nested(|parser| parser.parse_from_parenthesis(inner))?;
            if let FromItem {
                kind: FromKind::Subquery { query, is_lateral: false },
                alias: None,
                ..
            } = item
            {
                return self.parse_from_query(start, inner, query);
            }
            return self.close_joins(start, item);
        }
        let item = self.parse_from_operand()?;
        self.close_joins(start, item)
    }

    /// Parses the rest behind `((query)`: a larger query, or a join.
    fn parse_from_query(
        &mut self,
        start: SourceRange,
        inner: SourceRange,
        query: Box<crate::tree::QueryExpression>,
    ) -> Parsed<FromItem> {
        if self.take(TokenKind::RightParen) {
            return self.subquery_item(start, query, false);
        }
        if self.at_query_rest() {
            let query = self.parse_query_from(inner, None, QueryBody::Nested(query))?;
            self.expect(TokenKind::RightParen)?;
            return self.subquery_item(start, Box::new(query), false);
        }
        let item = check_alias(self.subquery_item(inner, query, false)?, inner)?;
        self.close_joins(start, item)
    }

    /// Parses the joins behind the first table in parentheses, of which there is at least one, and
    /// the alias behind the parenthesis.
    fn close_joins(&mut self, start: SourceRange, first: FromItem) -> Parsed<FromItem> {
        let is_nested = matches!(first.kind, FromKind::Joins { .. }) && first.alias.is_none();
        if !is_nested && !self.at_join() {
            return Err(self.unexpected());
        }
        let mut item = self.parse_joins(first)?;
        self.expect(TokenKind::RightParen)?;
        let range = self.range_from(start);
        item.alias = self.parse_alias()?;
        item.range = if item.alias.is_some() { self.range_from(start) } else { range };
        Ok(item)
    }

    fn subquery_item(
        &mut self,
        start: SourceRange,
        query: Box<crate::tree::QueryExpression>,
        is_lateral: bool,
    ) -> Parsed<FromItem> {
        let alias = self.parse_alias()?;
        let kind = FromKind::Subquery { query, is_lateral };
        Ok(FromItem { kind, alias, range: self.range_from(start) })
    }

    fn function_item(
        &mut self,
        start: SourceRange,
        items: Vec<TableFunction>,
        is_rows_from: bool,
        is_lateral: bool,
    ) -> Parsed<FromItem> {
        let has_ordinality = self.take_words(&[SqlKeyword::With, SqlKeyword::Ordinality]);
        let alias = self.parse_function_alias()?;
        let kind = FromKind::Functions { items, is_rows_from, is_lateral, has_ordinality };
        Ok(FromItem { kind, alias, range: self.range_from(start) })
    }

    fn parse_rows_function(&mut self) -> Parsed<TableFunction> {
        let Some(call) = self.parse_table_call()? else {
            return Err(self.unexpected_behind_name());
        };
        let columns = if self.take(SqlKeyword::As) {
            self.paren_list(Self::parse_column_type)?
        } else {
            Vec::new()
        };
        Ok(TableFunction { call, columns })
    }

    /// Parses a function without FILTER and OVER, as FROM and indexes have it, if one comes next.
    pub(in crate::grammar) fn parse_table_call(&mut self) -> Parsed<Option<TableCall>> {
        let start = self.range();
        if let Some(keyword) = self.keyword()
            && let Some(value) = self.nested(|parser| parser.parse_special_call(keyword))?
        {
            return Ok(Some(match value.kind {
                ExpressionKind::Special(call) => TableCall::Special(call, value.range),
                ExpressionKind::Function(call) => TableCall::Function(call),
                _ => TableCall::Cast(Box::new(value)),
            }));
        }
        let Some(parts) = self.called_name_tokens() else { return Ok(None) };
        let mut names: Vec<SqlName> = Vec::with_capacity(parts);
        while names.len() < parts {
            if !names.is_empty() {
                self.advance();
            }
            names.push(self.take_name());
        }
        let name = ObjectName { parts: names, range: self.range_from(start) };
        let call = self.nested(|parser| parser.parse_plain_call(name))?;
        Ok(Some(TableCall::Function(Box::new(call))))
    }

    /// Returns of how many parts the name is that comes next, if it is called.
    fn called_name_tokens(&self) -> Option<usize> {
        let mut parts = 1;
        let mut ahead = 1;
        while self.at_ahead(ahead, TokenKind::Dot)
            && self.is_name_ahead(ahead + 1, NamePlace::Label)
        {
            parts += 1;
            ahead += 2;
        }
        let place = if parts == 1 { NamePlace::TypeOrFunction } else { NamePlace::Column };
        (self.is_name(place) && self.at_ahead(ahead, TokenKind::LeftParen)).then_some(parts)
    }

    /// Parses a table: `name`, `name *`, `ONLY name` or `ONLY (name)`.
    pub(in crate::grammar) fn parse_relation(&mut self) -> Parsed<RelationName> {
        if self.take(SqlKeyword::Only) {
            let has_paren = self.take(TokenKind::LeftParen);
            let name = self.object_name()?;
            if has_paren {
                self.expect(TokenKind::RightParen)?;
            }
            return Ok(RelationName { name, is_only: true });
        }
        let name = self.object_name()?;
        self.take(TokenKind::Star);
        Ok(RelationName { name, is_only: false })
    }

    fn parse_sample(&mut self) -> Parsed<TableSample> {
        let place = if self.at_ahead(1, TokenKind::Dot) {
            NamePlace::Column
        } else {
            NamePlace::TypeOrFunction
        };
        let first = self.expect_name(place)?;
        let method = self.object_name_from(first)?;
        let arguments = self.paren_list(Self::parse_expression)?;
        let seed = if self.take(SqlKeyword::Repeatable) {
            self.expect(TokenKind::LeftParen)?;
            let seed = self.parse_expression()?;
            self.expect(TokenKind::RightParen)?;
            Some(seed)
        } else {
            None
        };
        Ok(TableSample { method, arguments, seed })
    }

    /// Parses `AS name (columns)` if it is there.
    fn parse_alias(&mut self) -> Parsed<Option<TableAlias>> {
        let name = if self.take(SqlKeyword::As) {
            self.column_name()?
        } else {
            match self.optional_name(NamePlace::Column) {
                Some(name) => name,
                None => return Ok(None),
            }
        };
        let columns = self.optional_columns()?;
        Ok(Some(TableAlias { name: Some(name), columns, definitions: Vec::new() }))
    }

    /// As `parse_alias`; the columns may have types, and stand without a name.
    fn parse_function_alias(&mut self) -> Parsed<Option<TableAlias>> {
        let has_as = self.take(SqlKeyword::As);
        if has_as && self.at(TokenKind::LeftParen) {
            let definitions = self.paren_list(Self::parse_column_type)?;
            return Ok(Some(TableAlias { name: None, columns: Vec::new(), definitions }));
        }
        let name = match self.optional_name(NamePlace::Column) {
            Some(name) => Some(name),
            None if has_as => return Err(self.unexpected()),
            None => return Ok(None),
        };
        let is_names = matches!(self.peek_at(2), TokenKind::Comma | TokenKind::RightParen);
        if self.at(TokenKind::LeftParen) && !is_names {
            let definitions = self.paren_list(Self::parse_column_type)?;
            return Ok(Some(TableAlias { name, columns: Vec::new(), definitions }));
        }
        Ok(Some(TableAlias { name, columns: self.optional_columns()?, definitions: Vec::new() }))
    }

    fn parse_column_type(&mut self) -> Parsed<ColumnType> {
        let name = self.column_name()?;
        let type_name = self.parse_type_name()?;
        Ok(ColumnType { name, type_name, collation: self.optional_collation()? })
    }
}

/// Refuses a query without a name.
fn check_alias(item: FromItem, paren: SourceRange) -> Parsed<FromItem> {
    let FromKind::Subquery { query, .. } = &item.kind else { return Ok(item) };
    if item.alias.is_some() {
        return Ok(item);
    }
    let message = match query.body {
        QueryBody::Values(_) => "VALUES in FROM must have an alias",
        _ => "subquery in FROM must have an alias",
    };
    Err(SyntaxError::new(SyntaxErrorKind::Grammar, message, paren))
}
