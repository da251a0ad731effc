//! Where the columns of a query lie in what an operator hands on.

use nacre_plan::algebra::{ColumnId, ScalarExpression, ScalarKind};

use super::error::{LoweringError, LoweringResult};
use super::form::ValueForm;
use crate::plan::PlanNode;

/// Where the value of a column is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ColumnPlace {
    Plain {
        index: usize,
        form: ValueForm,
    },
    /// A sum of that scale and a count. What divides them lies above the plan, since no step of the
    /// executor has PostgreSQL's choice of the quotient's digits.
    Average {
        sum: usize,
        count: usize,
        scale: u16,
    },
}

/// The columns that an operator hands on.
#[derive(Clone, Debug, Default)]
pub(super) struct ColumnPlaces(Vec<(ColumnId, ColumnPlace)>);

/// A node, where it has the columns of the query, and what may go wrong.
pub(super) struct LoweredRelation {
    pub(super) node: PlanNode,
    pub(super) columns: ColumnPlaces,
    /// Whether an expression may fail for a row that a LIMIT above would have left out.
    pub(super) row_may_fail: bool,
    /// Whether a column is computed by an expression that may fail. PostgreSQL merges queries in
    /// FROM into the outer one: it would compute the column only for rows that conditions and joins
    /// above leave.
    pub(super) column_may_fail: bool,
    /// As `column_may_fail`, of a query with groups, which PostgreSQL does not merge: it computes
    /// the column for all groups but those that conditions on that query alone leave out.
    pub(super) grouped_column_may_fail: bool,
    /// Whether anything below may fail.
    pub(super) may_fail: bool,
}

impl LoweredRelation {
    /// Makes a relation of which nothing may fail.
    pub(super) fn infallible(node: PlanNode, columns: ColumnPlaces) -> Self {
        Self {
            node,
            columns,
            row_may_fail: false,
            column_may_fail: false,
            grouped_column_may_fail: false,
            may_fail: false,
        }
    }
}

impl ColumnPlaces {
    pub(super) fn add(&mut self, column: ColumnId, place: ColumnPlace) {
        self.0.push((column, place));
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (ColumnId, ColumnPlace)> {
        self.0.iter().copied()
    }

    /// Returns the place of a column.
    pub(super) fn get(&self, column: ColumnId) -> LoweringResult<ColumnPlace> {
        let found = self.iter().find(|(own, _)| *own == column);
        found.map(|(_, place)| place).ok_or_else(|| {
            LoweringError::contradiction(format!("no operator below has column {}", column.0))
        })
    }

    /// Returns index and form of a column whose value is there.
    pub(super) fn plain(&self, column: ColumnId) -> LoweringResult<(usize, ValueForm)> {
        match self.get(column)? {
            ColumnPlace::Plain { index, form } => Ok((index, form)),
            ColumnPlace::Average { .. } => {
                Err(LoweringError::not_supported("avg other than as a column of the answer"))
            }
        }
    }
}

/// Adds the columns of an expression to `columns`.
pub(super) fn collect_columns(expression: &ScalarExpression, columns: &mut Vec<ColumnId>) {
    if let ScalarKind::Column(column) = expression.kind
        && !columns.contains(&column)
    {
        columns.push(column);
    }
    expression.children().into_iter().for_each(|child| collect_columns(child, columns));
}
