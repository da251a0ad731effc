//! Where the columns of a query lie in what an operator hands on.

use nacre_plan::algebra::{ColumnId, ScalarExpression, ScalarKind};

use super::error::{LoweringError, LoweringResult};
use super::form::ValueForm;
use super::late::LateValue;
use crate::plan::PlanNode;

/// Where the value of a column is.
#[derive(Clone, Debug)]
pub(super) enum ColumnPlace {
    Plain {
        index: usize,
        form: ValueForm,
    },
    /// A numeric that is computed of other columns where it is wanted.
    Late(LateValue),
}

/// The neighbours of a late value in decimals of a scale.
#[derive(Clone, Debug)]
pub(super) struct RoundedValue {
    /// The expression that has the value, of type numeric.
    pub(super) kind: ScalarKind,
    pub(super) scale: u16,
    /// Whether it is null if all that it is computed of is, as an outer join makes it.
    pub(super) is_null_of_nulls: bool,
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
    /// Whether a column is computed by an expression that may fail. PostgreSQL merges queries in
    /// FROM into the outer one: it would compute the column only for rows that conditions and joins
    /// above leave.
    pub(super) column_may_fail: bool,
    /// As `column_may_fail`, of a query with groups, which PostgreSQL does not merge: it computes
    /// the column for all groups but those that conditions on that query alone leave out.
    pub(super) grouped_column_may_fail: bool,
    /// Whether anything below may fail.
    pub(super) may_fail: bool,
    /// Whether each row is made of groups: these are few, and columns may be late.
    pub(super) is_grouped: bool,
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
            is_grouped: false,
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

    /// Forgets the neighbours that are something else than their value where all is null.
    pub(super) fn fill_with_nulls(&mut self) {
        self.rounded.retain(|value| value.is_null_of_nulls);
    }

    /// Whether a column is a late value whose computation may fail.
    pub(super) fn has_fallible_late(&self) -> bool {
        self.columns.iter().any(|(_, place)| match place {
            ColumnPlace::Late(value) => value.may_fail_anywhere(),
            ColumnPlace::Plain { .. } => false,
        })
    }

    /// Returns all values whose neighbours are columns.
    pub(super) fn rounded(&self) -> &[RoundedValue] {
        &self.rounded
    }

    /// Adds the columns of another input of an operator, which lie `offset` columns behind these.
    pub(super) fn extend_behind(&mut self, other: &Self, offset: usize) -> LoweringResult<()> {
        for (column, place) in &other.columns {
            let place = match place {
                ColumnPlace::Plain { index, form } => {
                    ColumnPlace::Plain { index: index + offset, form: *form }
                }
                ColumnPlace::Late(value) => {
                    ColumnPlace::Late(value.moved(|input| Ok(input.index + offset))?)
                }
            };
            self.add(*column, place);
        }
        for value in &other.rounded {
            let (floor, ceiling) = (value.floor + offset, value.ceiling + offset);
            self.add_rounded(RoundedValue { floor, ceiling, ..value.clone() });
        }
        Ok(())
    }

    /// Returns the place of a column.
    pub(super) fn get(&self, column: ColumnId) -> LoweringResult<ColumnPlace> {
        let found = self.iter().find(|(own, _)| *own == column);
        found.map(|(_, place)| place.clone()).ok_or_else(|| {
            LoweringError::contradiction(format!("no operator below has column {}", column.0))
        })
    }

    /// Whether an expression is made of late columns.
    pub(super) fn is_late(&self, expression: &ScalarExpression) -> bool {
        expression.any(&|one| match one.kind {
            ScalarKind::Column(column) => {
                matches!(self.get(column), Ok(ColumnPlace::Late(_)))
            }
            _ => false,
        })
    }

    /// Returns index and form of a column whose value is there.
    pub(super) fn plain(&self, column: ColumnId) -> LoweringResult<(usize, ValueForm)> {
        match self.get(column)? {
            ColumnPlace::Plain { index, form } => Ok((index, form)),
            ColumnPlace::Late(_) => {
                Err(LoweringError::not_supported("this place of an average or quotient"))
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
