//! Windows, their frames, and ORDER BY.

use crate::error::{SyntaxError, SyntaxErrorKind};
use crate::grammar::cursor::{Parsed, StatementParser};
use crate::keywords::Keyword;
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
            Some(Keyword::Partition | Keyword::Range | Keyword::Rows | Keyword::Groups)
        );
        let base = if is_clause {
            None
        } else {
            self.optional_name(crate::grammar::names::NamePlace::Column)
        };
        let partition_by = if self.take(Keyword::Partition) {
            self.expect(Keyword::By)?;
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
            Some(Keyword::Range) => FrameUnit::Range,
            Some(Keyword::Rows) => FrameUnit::Rows,
            Some(Keyword::Groups) => FrameUnit::Groups,
            _ => return Ok(None),
        };
        self.advance();
        let is_between = self.take(Keyword::Between);
        let range = self.range();
        let start = self.parse_frame_bound()?;
        let end = if is_between {
            self.expect(Keyword::And)?;
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
        let is_unbounded = self.at(Keyword::Unbounded)
            && (self.at_ahead(1, Keyword::Preceding) || self.at_ahead(1, Keyword::Following));
        if is_unbounded {
            self.advance();
            let precedes = self.at(Keyword::Preceding);
            self.advance();
            return Ok(if precedes {
                FrameBound::UnboundedPreceding
            } else {
                FrameBound::UnboundedFollowing
            });
        }
        if self.at_words(&[Keyword::Current, Keyword::Row]) {
            self.advance();
            self.advance();
            return Ok(FrameBound::CurrentRow);
        }
        let offset = Box::new(self.parse_expression()?);
        if self.take(Keyword::Preceding) {
            return Ok(FrameBound::Preceding(offset));
        }
        self.expect(Keyword::Following)?;
        Ok(FrameBound::Following(offset))
    }

    fn parse_frame_exclusion(&mut self) -> Parsed<FrameExclusion> {
        if !self.take(Keyword::Exclude) {
            return Ok(FrameExclusion::Unspecified);
        }
        let exclusion = match self.keyword() {
            Some(Keyword::Current) => {
                self.advance();
                self.expect(Keyword::Row)?;
                return Ok(FrameExclusion::CurrentRow);
            }
            Some(Keyword::No) => {
                self.advance();
                self.expect(Keyword::Others)?;
                return Ok(FrameExclusion::NoOthers);
            }
            Some(Keyword::Group) => FrameExclusion::Group,
            Some(Keyword::Ties) => FrameExclusion::Ties,
            _ => return Err(self.unexpected()),
        };
        self.advance();
        Ok(exclusion)
    }

    /// Parses ORDER BY if it is there.
    pub(in crate::grammar) fn parse_order_by(&mut self) -> Parsed<Vec<SortItem>> {
        if !self.take(Keyword::Order) {
            return Ok(Vec::new());
        }
        self.expect(Keyword::By)?;
        self.list(Self::parse_sort_item)
    }

    fn parse_sort_item(&mut self) -> Parsed<SortItem> {
        let value = self.parse_expression()?;
        let direction = if self.take(Keyword::Using) {
            SortDirection::Using(self.parse_any_operator()?)
        } else if self.take(Keyword::Asc) {
            SortDirection::Ascending
        } else if self.take(Keyword::Desc) {
            SortDirection::Descending
        } else {
            SortDirection::Unspecified
        };
        Ok(SortItem { value, direction, nulls_first: self.parse_nulls_order() })
    }

    /// Parses NULLS FIRST or NULLS LAST, if one is there.
    pub(in crate::grammar) fn parse_nulls_order(&mut self) -> Option<bool> {
        if self.take_words(&[Keyword::Nulls, Keyword::First]) {
            return Some(true);
        }
        self.take_words(&[Keyword::Nulls, Keyword::Last]).then_some(false)
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
