//! SELECT, VALUES and the clauses of SELECT.

use crate::grammar::cursor::{Parsed, StatementParser};
use crate::grammar::names::NamePlace;
use crate::keywords::{Keyword, KeywordCategory};
use crate::lexer::TokenKind;
use crate::tree::{
    DistinctClause, ExpressionKind, ExpressionNode, FromItem, GroupClause, GroupItem, IntoTarget,
    NamedWindow, SelectCore, TablePersistence, TargetItem,
};

impl StatementParser<'_> {
    pub(super) fn parse_select(&mut self) -> Parsed<SelectCore> {
        let start = self.expect(Keyword::Select)?;
        let distinct = self.parse_distinct()?;
        let needs_targets = !matches!(distinct, DistinctClause::All);
        let targets =
            if needs_targets || self.at_target() { self.parse_targets()? } else { Vec::new() };
        let into = self.parse_into()?;
        let from = if self.take(Keyword::From) { self.parse_from_list()? } else { Vec::new() };
        let condition = self.parse_where()?;
        let group_by = self.parse_group_by()?;
        let having = if self.take(Keyword::Having) { Some(self.parse_expression()?) } else { None };
        let windows = if self.take(Keyword::Window) {
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
        if !self.take(Keyword::Distinct) {
            self.take(Keyword::All);
            return Ok(DistinctClause::All);
        }
        if self.take(Keyword::On) {
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
                        Keyword::Into
                            | Keyword::From
                            | Keyword::Where
                            | Keyword::Group
                            | Keyword::Having
                            | Keyword::Window
                            | Keyword::Union
                            | Keyword::Except
                            | Keyword::Intersect
                            | Keyword::Order
                            | Keyword::Limit
                            | Keyword::Offset
                            | Keyword::Fetch
                            | Keyword::For
                            | Keyword::On
                            | Keyword::Returning
                            | Keyword::With
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
        if !self.take(Keyword::Into) {
            return Ok(None);
        }
        let persistence = self.parse_into_persistence()?;
        self.take(Keyword::Table);
        Ok(Some(IntoTarget { persistence, name: self.object_name()? }))
    }

    fn parse_into_persistence(&mut self) -> Parsed<TablePersistence> {
        let is_scoped = matches!(self.keyword(), Some(Keyword::Local | Keyword::Global))
            && matches!(self.peek_at(1), TokenKind::Keyword(Keyword::Temporary | Keyword::Temp));
        if is_scoped {
            self.advance();
        }
        // Each of these words may also be the table's name.
        let is_name = match self.peek_at(1) {
            TokenKind::Keyword(Keyword::Table) => false,
            _ => !self.is_name_ahead(1, NamePlace::Column),
        };
        let persistence = match self.keyword() {
            _ if is_name && !is_scoped => TablePersistence::Permanent,
            Some(Keyword::Temporary | Keyword::Temp) => TablePersistence::Temporary,
            Some(Keyword::Unlogged) => TablePersistence::Unlogged,
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
        if self.take(Keyword::Where) { self.parse_expression().map(Some) } else { Ok(None) }
    }

    fn parse_group_by(&mut self) -> Parsed<Option<GroupClause>> {
        if !self.take(Keyword::Group) {
            return Ok(None);
        }
        self.expect(Keyword::By)?;
        let quantifier = self.parse_set_quantifier();
        let items = self.list(Self::parse_group_item)?;
        Ok(Some(GroupClause { quantifier, items }))
    }

    fn parse_group_item(&mut self) -> Parsed<GroupItem> {
        let start = self.range();
        let is_paren = self.at_ahead(1, TokenKind::LeftParen);
        match self.keyword() {
            Some(Keyword::Rollup) if is_paren => {
                self.advance();
                let items = self.paren_list(Self::parse_expression)?;
                Ok(GroupItem::Rollup(items, self.range_from(start)))
            }
            Some(Keyword::Cube) if is_paren => {
                self.advance();
                let items = self.paren_list(Self::parse_expression)?;
                Ok(GroupItem::Cube(items, self.range_from(start)))
            }
            Some(Keyword::Grouping) if self.at_ahead(1, Keyword::Sets) => {
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
        self.expect(Keyword::As)?;
        Ok(NamedWindow { name, definition: self.parse_window_definition()? })
    }

    /// Parses `VALUES (...), ...`.
    pub(in crate::grammar) fn parse_values(&mut self) -> Parsed<Vec<Vec<ExpressionNode>>> {
        self.expect(Keyword::Values)?;
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
