//! Where the columns of a query lie in what an operator hands on.

use nacre_plan::algebra::{ColumnId, ScalarExpression, ScalarKind};

use super::error::{LoweringError, LoweringResult};
use super::form::ValueForm;
use crate::plan::PlanNode;

/// Where the values of a column are, and what they stand for.
#[derive(Clone, Copy, Debug)]
pub(super) struct ColumnPlace {
    pub(super) index: usize,
    pub(super) form: ValueForm,
}

/// The decimals of a scale on both sides of a numeric of any scale, for conditions of a join.
#[derive(Clone, Debug)]
pub(super) struct RoundedValue {
    /// The expression that has the value.
    pub(super) kind: ScalarKind,
    pub(super) scale: u16,
    /// Columns of whole numbers.
    pub(super) floor: usize,
    pub(super) ceiling: usize,
}

/// The columns that an operator hands on.
#[derive(Clone, Debug, Default)]
pub(super) struct ColumnPlaces {
    columns: Vec<(ColumnId, ColumnPlace)>,
    rounded: Vec<RoundedValue>,
}

/// A node, where it has the columns of the query, and what may go wrong.
pub(super) struct LoweredRelation {
    pub(super) node: PlanNode,
    pub(super) columns: ColumnPlaces,
    /// Whether an expression may fail for a row that a LIMIT above would have left out.
    pub(super) row_may_fail: bool,
    /// Whether what fails for a row does so when that is asked for, if rows are made one after the
    /// other.
    pub(super) is_stepwise: bool,
    /// Whether a column is computed by an expression that may fail. PostgreSQL merges queries in
    /// FROM into the outer one: it would compute the column only for rows that conditions and joins
    /// above leave.
    pub(super) column_may_fail: bool,
    /// As `column_may_fail`, of a query with groups, windows or volatile columns, which PostgreSQL
    /// does not merge: it computes the column for all rows that conditions on that query alone
    /// leave.
    pub(super) unmerged_column_may_fail: bool,
    /// Whether a window function may fail. PostgreSQL computes it for all rows for which conditions
    /// on partitions are true, before joins and computed columns.
    pub(super) window_may_fail: bool,
    /// Whether anything below may fail.
    pub(super) may_fail: bool,
    /// Whether each row is made of groups: these are few, so that numerics of more than 38 digits
    /// are computed as such instead of failing.
    pub(super) is_grouped: bool,
    /// Whether rows are those of a query with groups or windows, of which no column has been
    /// computed yet.
    pub(super) gives_unmerged_rows: bool,
}

impl LoweredRelation {
    /// Makes a relation of which nothing may fail.
    pub(super) fn infallible(node: PlanNode, columns: ColumnPlaces) -> Self {
        Self {
            node,
            columns,
            row_may_fail: false,
            is_stepwise: true,
            column_may_fail: false,
            unmerged_column_may_fail: false,
            window_may_fail: false,
            may_fail: false,
            is_grouped: false,
            gives_unmerged_rows: false,
        }
    }
}

impl ColumnPlaces {
    pub(super) fn add(&mut self, column: ColumnId, place: ColumnPlace) {
        self.columns.push((column, place));
    }

    pub(super) fn add_rounded(&mut self, value: RoundedValue) {
        self.rounded.push(value);
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &(ColumnId, ColumnPlace)> {
        self.columns.iter()
    }

    /// Forgets the rounded values of the conditions of a join.
    pub(super) fn forget_rounded(&mut self) {
        self.rounded.clear();
    }

    /// Returns all values that are there rounded.
    pub(super) fn rounded(&self) -> &[RoundedValue] {
        &self.rounded
    }

    /// Adds the columns of another input of an operator, which lie `offset` columns behind these.
    pub(super) fn extend_behind(&mut self, other: &Self, offset: usize) {
        for (column, ColumnPlace { index, form }) in &other.columns {
            self.add(*column, ColumnPlace { index: index + offset, form: *form });
        }
        for value in &other.rounded {
            let (floor, ceiling) = (value.floor + offset, value.ceiling + offset);
            self.add_rounded(RoundedValue { floor, ceiling, ..value.clone() });
        }
    }

    /// Returns the place of a column.
    pub(super) fn get(&self, column: ColumnId) -> LoweringResult<ColumnPlace> {
        let found = self.iter().find(|(own, _)| *own == column);
        found.map(|(_, place)| *place).ok_or_else(|| {
            LoweringError::contradiction(format!("no operator below has column {}", column.0))
        })
    }
}

/// Adds the columns of an expression to `columns`.
pub(super) fn collect_columns(expression: &ScalarExpression, columns: &mut Vec<ColumnId>) {
    if let ScalarKind::Column(column) = expression.kind
        && !columns.contains(&column)
    {
        columns.push(column);
    }
    expression.children().for_each(|child| collect_columns(child, columns));
}
