//! SELECT, VALUES and the clauses of SELECT.

use crate::grammar::cursor::{Parsed, StatementParser};
use crate::grammar::names::NamePlace;
use crate::keywords::{KeywordCategory, SqlKeyword};
use crate::lexer::TokenKind;
use crate::tree::{
    DistinctClause, ExpressionKind, ExpressionNode, FromItem, GroupClause, GroupItem, IntoTarget,
    NamedWindow, SelectCore, TablePersistence, TargetItem,
};

impl StatementParser<'_> {
    pub(super) fn parse_select(&mut self) -> Parsed<SelectCore> {
        let start = self.expect(SqlKeyword::Select)?;
        let distinct = self.parse_distinct()?;
        let needs_targets = !matches!(distinct, DistinctClause::All);
        let targets =
            if needs_targets || self.at_target() { self.parse_targets()? } else { Vec::new() };
        let into = self.parse_into()?;
        let from = if self.take(SqlKeyword::From) { self.parse_from_list()? } else { Vec::new() };
        let condition = self.parse_where()?;
        let group_by = self.parse_group_by()?;
        let having =
            if self.take(SqlKeyword::Having) { Some(self.parse_expression()?) } else { None };
        let windows = if self.take(SqlKeyword::Window) {
            self.list(Self::parse_named_window)?
        } else {
            Vec::new()
        };
        let range = self.range_from(start);
        Ok(SelectCore {
            distinct,
            targets,
            into,
            from,
            condition,
            group_by,
            having,
            windows,
            range,
        })
    }

    fn parse_distinct(&mut self) -> Parsed<DistinctClause> {
        if !self.take(SqlKeyword::Distinct) {
            self.take(SqlKeyword::All);
            return Ok(DistinctClause::All);
        }
        if self.take(SqlKeyword::On) {
            return self.paren_list(Self::parse_expression).map(DistinctClause::On);
        }
        Ok(DistinctClause::Distinct)
    }

    /// Whether an output comes next, and not the next clause.
    fn at_target(&self) -> bool {
        match self.peek() {
            TokenKind::End | TokenKind::Semicolon | TokenKind::RightParen => false,
            TokenKind::Keyword(keyword) => {
                keyword.category() != KeywordCategory::Reserved
                    || !matches!(
                        keyword,
                        SqlKeyword::Into
                            | SqlKeyword::From
                            | SqlKeyword::Where
                            | SqlKeyword::Group
                            | SqlKeyword::Having
                            | SqlKeyword::Window
                            | SqlKeyword::Union
                            | SqlKeyword::Except
                            | SqlKeyword::Intersect
                            | SqlKeyword::Order
                            | SqlKeyword::Limit
                            | SqlKeyword::Offset
                            | SqlKeyword::Fetch
                            | SqlKeyword::For
                            | SqlKeyword::On
                            | SqlKeyword::Returning
                            | SqlKeyword::With
                    )
            }
            _ => true,
        }
    }

    /// Parses outputs, at least one.
    pub(in crate::grammar) fn parse_targets(&mut self) -> Parsed<Vec<TargetItem>> {
        self.list(|parser| {
            let range = parser.range();
            if parser.take(TokenKind::Star) {
                return Ok(TargetItem::Star(range));
            }
            let value = parser.parse_expression()?;
            Ok(TargetItem::Value { value, label: parser.parse_label()? })
        })
    }

    fn parse_into(&mut self) -> Parsed<Option<IntoTarget>> {
        if !self.take(SqlKeyword::Into) {
            return Ok(None);
        }
        let persistence = self.parse_into_persistence()?;
        self.take(SqlKeyword::Table);
        Ok(Some(IntoTarget { persistence, name: self.object_name()? }))
    }

    fn parse_into_persistence(&mut self) -> Parsed<TablePersistence> {
        let is_scoped = matches!(self.keyword(), Some(SqlKeyword::Local | SqlKeyword::Global))
            && matches!(
                self.peek_at(1),
                TokenKind::Keyword(SqlKeyword::Temporary | SqlKeyword::Temp)
            );
        if is_scoped {
            self.advance();
        }
        // Each of these words may also be the table's name.
        let is_name = match self.peek_at(1) {
            TokenKind::Keyword(SqlKeyword::Table) => false,
            _ => !self.is_name_ahead(1, NamePlace::Column),
        };
        let persistence = match self.keyword() {
            _ if is_name && !is_scoped => TablePersistence::Permanent,
            Some(SqlKeyword::Temporary | SqlKeyword::Temp) => TablePersistence::Temporary,
            Some(SqlKeyword::Unlogged) => TablePersistence::Unlogged,
            _ => TablePersistence::Permanent,
        };
        if persistence != TablePersistence::Permanent {
            self.advance();
        }
        Ok(persistence)
    }

    /// Parses the items of FROM, at least one.
    pub(in crate::grammar) fn parse_from_list(&mut self) -> Parsed<Vec<FromItem>> {
        self.list(Self::parse_from_item)
    }

    /// Parses WHERE if it is there.
    pub(in crate::grammar) fn parse_where(&mut self) -> Parsed<Option<ExpressionNode>> {
        if self.take(SqlKeyword::Where) { self.parse_expression().map(Some) } else { Ok(None) }
    }

    fn parse_group_by(&mut self) -> Parsed<Option<GroupClause>> {
        if !self.take(SqlKeyword::Group) {
            return Ok(None);
        }
        self.expect(SqlKeyword::By)?;
        let quantifier = self.parse_set_quantifier();
        let items = self.list(Self::parse_group_item)?;
        Ok(Some(GroupClause { quantifier, items }))
    }

    fn parse_group_item(&mut self) -> Parsed<GroupItem> {
        let start = self.range();
        let is_paren = self.at_ahead(1, TokenKind::LeftParen);
        match self.keyword() {
            Some(SqlKeyword::Rollup) if is_paren => {
                self.advance();
                let items = self.paren_list(Self::parse_expression)?;
                Ok(GroupItem::Rollup(items, self.range_from(start)))
            }
            Some(SqlKeyword::Cube) if is_paren => {
                self.advance();
                let items = self.paren_list(Self::parse_expression)?;
                Ok(GroupItem::Cube(items, self.range_from(start)))
            }
            Some(SqlKeyword::Grouping) if self.at_ahead(1, SqlKeyword::Sets) => {
                self.advance();
                self.advance();
                let items = self.nested(|parser| parser.paren_list(Self::parse_group_item))?;
                Ok(GroupItem::Sets(items, self.range_from(start)))
            }
            None if self.at(TokenKind::LeftParen) && self.at_ahead(1, TokenKind::RightParen) => {
                self.advance();
                self.advance();
                Ok(GroupItem::Empty(self.range_from(start)))
            }
            _ => self.parse_expression().map(GroupItem::Value),
        }
    }

    fn parse_named_window(&mut self) -> Parsed<NamedWindow> {
        let name = self.column_name()?;
        self.expect(SqlKeyword::As)?;
        Ok(NamedWindow { name, definition: self.parse_window_definition()? })
    }

    /// Parses `VALUES (...), ...`.
    pub(in crate::grammar) fn parse_values(&mut self) -> Parsed<Vec<Vec<ExpressionNode>>> {
        self.expect(SqlKeyword::Values)?;
        self.list(|parser| parser.paren_list(Self::parse_expression))
    }

    /// Parses a constant, which may have a type.
    pub(super) fn parse_constant(&mut self) -> Parsed<ExpressionNode> {
        let error = self.unexpected();
        let value = self.parse_primary(crate::grammar::expressions::ExpressionPlace::Any)?;
        match value.kind {
            ExpressionKind::Literal(_) | ExpressionKind::TypedLiteral(_) => Ok(value),
            _ => Err(error),
        }
    }
}
