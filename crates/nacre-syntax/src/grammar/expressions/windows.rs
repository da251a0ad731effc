//! Windows, their frames, and ORDER BY.

use crate::error::{SyntaxError, SyntaxErrorKind};
use crate::grammar::cursor::{Parsed, StatementParser};
use crate::keywords::SqlKeyword;
use crate::lexer::TokenKind;
use crate::range::SourceRange;
use crate::tree::{
    FrameBound, FrameExclusion, FrameUnit, SortDirection, SortItem, WindowDefinition, WindowFrame,
    WindowReference,
};

impl StatementParser<'_> {
    pub(super) fn parse_window_reference(&mut self) -> Parsed<WindowReference> {
        if self.at(TokenKind::LeftParen) {
            return self.parse_window_definition().map(WindowReference::Inline);
        }
        self.column_name().map(WindowReference::Named)
    }

    /// Parses a window from parenthesis to parenthesis.
    pub(in crate::grammar) fn parse_window_definition(&mut self) -> Parsed<WindowDefinition> {
        let start = self.expect(TokenKind::LeftParen)?;
        let is_clause = matches!(
            self.keyword(),
            Some(SqlKeyword::Partition | SqlKeyword::Range | SqlKeyword::Rows | SqlKeyword::Groups)
        );
        let base = if is_clause {
            None
        } else {
            self.optional_name(crate::grammar::names::NamePlace::Column)
        };
        let partition_by = if self.take(SqlKeyword::Partition) {
            self.expect(SqlKeyword::By)?;
            self.parse_expression_list()?
        } else {
            Vec::new()
        };
        let order_by = self.parse_order_by()?;
        let frame = self.parse_frame()?;
        self.expect(TokenKind::RightParen)?;
        let range = self.range_from(start);
        Ok(WindowDefinition { base, partition_by, order_by, frame, range })
    }

    fn parse_frame(&mut self) -> Parsed<Option<WindowFrame>> {
        let unit = match self.keyword() {
            Some(SqlKeyword::Range) => FrameUnit::Range,
            Some(SqlKeyword::Rows) => FrameUnit::Rows,
            Some(SqlKeyword::Groups) => FrameUnit::Groups,
            _ => return Ok(None),
        };
        self.advance();
        let is_between = self.take(SqlKeyword::Between);
        let range = self.range();
        let start = self.parse_frame_bound()?;
        let end = if is_between {
            self.expect(SqlKeyword::And)?;
            let end_range = self.range();
            let end = self.parse_frame_bound()?;
            check_frame(&start, range, Some((&end, end_range)))?;
            Some(end)
        } else {
            check_frame(&start, range, None)?;
            None
        };
        let exclusion = self.parse_frame_exclusion()?;
        Ok(Some(WindowFrame { unit, start, end, exclusion }))
    }

    fn parse_frame_bound(&mut self) -> Parsed<FrameBound> {
        let is_unbounded = self.at(SqlKeyword::Unbounded)
            && (self.at_ahead(1, SqlKeyword::Preceding) || self.at_ahead(1, SqlKeyword::Following));
        if is_unbounded {
            self.advance();
            let precedes = self.at(SqlKeyword::Preceding);
            self.advance();
            return Ok(if precedes {
                FrameBound::UnboundedPreceding
            } else {
                FrameBound::UnboundedFollowing
            });
        }
        if self.at_words(&[SqlKeyword::Current, SqlKeyword::Row]) {
            self.advance();
            self.advance();
            return Ok(FrameBound::CurrentRow);
        }
        let offset = Box::new(self.parse_expression()?);
        if self.take(SqlKeyword::Preceding) {
            return Ok(FrameBound::Preceding(offset));
        }
        self.expect(SqlKeyword::Following)?;
        Ok(FrameBound::Following(offset))
    }

    fn parse_frame_exclusion(&mut self) -> Parsed<FrameExclusion> {
        if !self.take(SqlKeyword::Exclude) {
            return Ok(FrameExclusion::Unspecified);
        }
        let exclusion = match self.keyword() {
            Some(SqlKeyword::Current) => {
                self.advance();
                self.expect(SqlKeyword::Row)?;
                return Ok(FrameExclusion::CurrentRow);
            }
            Some(SqlKeyword::No) => {
                self.advance();
                self.expect(SqlKeyword::Others)?;
                return Ok(FrameExclusion::NoOthers);
            }
            Some(SqlKeyword::Group) => FrameExclusion::Group,
            Some(SqlKeyword::Ties) => FrameExclusion::Ties,
            _ => return Err(self.unexpected()),
        };
        self.advance();
        Ok(exclusion)
    }

    /// Parses ORDER BY if it is there.
    pub(in crate::grammar) fn parse_order_by(&mut self) -> Parsed<Vec<SortItem>> {
        if !self.take(SqlKeyword::Order) {
            return Ok(Vec::new());
        }
        self.expect(SqlKeyword::By)?;
        self.list(Self::parse_sort_item)
    }

    fn parse_sort_item(&mut self) -> Parsed<SortItem> {
        let value = self.parse_expression()?;
        let direction = if self.take(SqlKeyword::Using) {
            SortDirection::Using(self.parse_any_operator()?)
        } else if self.take(SqlKeyword::Asc) {
            SortDirection::Ascending
        } else if self.take(SqlKeyword::Desc) {
            SortDirection::Descending
        } else {
            SortDirection::Unspecified
        };
        Ok(SortItem { value, direction, nulls_first: self.parse_nulls_order() })
    }

    /// Parses NULLS FIRST or NULLS LAST, if one is there.
    pub(in crate::grammar) fn parse_nulls_order(&mut self) -> Option<bool> {
        if self.take_words(&[SqlKeyword::Nulls, SqlKeyword::First]) {
            return Some(true);
        }
        self.take_words(&[SqlKeyword::Nulls, SqlKeyword::Last]).then_some(false)
    }
}

/// Refuses frames that end before they begin.
fn check_frame(
    start: &FrameBound,
    range: SourceRange,
    end: Option<(&FrameBound, SourceRange)>,
) -> Parsed<()> {
    let fail =
        |message: &str, range| Err(SyntaxError::new(SyntaxErrorKind::Window, message, range));
    if *start == FrameBound::UnboundedFollowing {
        return fail("frame start cannot be UNBOUNDED FOLLOWING", range);
    }
    match (start, end) {
        (FrameBound::Following(_), None) => {
            fail("frame starting from following row cannot end with current row", range)
        }
        (_, Some((FrameBound::UnboundedPreceding, range))) => {
            fail("frame end cannot be UNBOUNDED PRECEDING", range)
        }
        (FrameBound::CurrentRow, Some((FrameBound::Preceding(_), range))) => {
            fail("frame starting from current row cannot have preceding rows", range)
        }
        (
            FrameBound::Following(_),
            Some((FrameBound::Preceding(_) | FrameBound::CurrentRow, range)),
        ) => fail("frame starting from following row cannot have preceding rows", range),
        _ => Ok(()),
    }
}
