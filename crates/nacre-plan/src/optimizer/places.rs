//! Places of operators in a plan, and of the columns of expressions.

use std::collections::HashMap;

use crate::algebra::{ColumnId, RelationalOperator, ScalarExpression, ScalarKind};

/// Where columns come from: each operator has its place in the order of children first, left ones
/// before right ones, so that an operator and all below it have adjacent places.
///
/// ```text
/// Filter 3 (Join 2 (Scan 0, Scan 1))    columns of the first scan: 0, of the second: 1
/// ```
#[derive(Debug, Default)]
pub(super) struct ColumnOrigins {
    places: HashMap<ColumnId, usize>,
    next: usize,
}

/// The places of an operator and all below it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PlaceRange {
    pub(super) start: usize,
    pub(super) end: usize,
}

impl ColumnOrigins {
    /// Finds the columns of a plan.
    pub(super) fn of_plan(root: &RelationalOperator) -> Self {
        let mut origins = Self::default();
        origins.add(root);
        origins
    }

    fn add(&mut self, operator: &RelationalOperator) {
        operator.inputs().for_each(|input| self.add(input));
        for column in operator.own_columns() {
            self.places.insert(column, self.next);
        }
        self.next += 1;
    }

    /// Returns the places from the first to the last that an expression has a column of; none for
    /// one without columns, all for one of columns that are not known.
    pub(super) fn span(&self, expression: &ScalarExpression) -> PlaceRange {
        let mut span = PlaceRange { start: usize::MAX, end: 0 };
        self.extend_span(expression, &mut span);
        span
    }

    fn extend_span(&self, expression: &ScalarExpression, span: &mut PlaceRange) {
        if let ScalarKind::Column(column) = &expression.kind {
            let own = self.places.get(column).map(|place| (*place, place + 1));
            let (start, end) = own.unwrap_or((0, usize::MAX));
            *span = PlaceRange { start: span.start.min(start), end: span.end.max(end) };
        }
        expression.children().for_each(|child| self.extend_span(child, span));
    }

    /// Whether all columns of an expression come from these places.
    pub(super) fn are_within(&self, expression: &ScalarExpression, range: PlaceRange) -> bool {
        self.span(expression).is_within(range)
    }

    /// Whether a column comes from these places.
    pub(super) fn is_within(&self, column: ColumnId, range: PlaceRange) -> bool {
        self.places.get(&column).is_some_and(|place| (range.start..range.end).contains(place))
    }
}

impl PlaceRange {
    /// Whether all of these places are among others.
    pub(super) fn is_within(self, other: Self) -> bool {
        self.start >= self.end || (other.start <= self.start && self.end <= other.end)
    }

    /// Whether some of these places may be among others.
    pub(super) fn may_touch(self, other: Self) -> bool {
        self.start < other.end && other.start < self.end
    }

    /// Returns the places of a whole plan.
    pub(super) fn of_plan(root: &RelationalOperator) -> Self {
        Self { start: 0, end: operator_count(root) }
    }

    /// Returns the places of the only input of the operator that has these.
    pub(super) fn input(self) -> Self {
        Self { end: self.end - 1, ..self }
    }

    /// Returns the places of each input of the operator that has these, from left to right.
    pub(super) fn inputs(self, operator: &RelationalOperator) -> Vec<Self> {
        let mut start = self.start;
        let own = |input: &RelationalOperator| {
            let end = start + operator_count(input);
            let own = Self { start, end };
            start = end;
            own
        };
        operator.inputs().map(own).collect()
    }

    /// Returns the places of the left and the right input of a join that has these. Counts those of
    /// the right one, which is a single relation in a list.
    pub(super) fn sides(self, right: &RelationalOperator) -> [Self; 2] {
        let middle = self.end - 1 - operator_count(right);
        [Self { end: middle, ..self }, Self { start: middle, end: self.end - 1 }]
    }
}

fn operator_count(operator: &RelationalOperator) -> usize {
    1 + operator.inputs().map(operator_count).sum::<usize>()
}
