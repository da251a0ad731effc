//! LIMIT and OFFSET.
//!
//! PostgreSQL computes no more rows than it hands out, the executor whole vectors. What may fail is
//! computed above LIMIT if it can be, else rows are made one after the other:
//!
//! ```text
//! select 1 / a from t limit 3                 Map [1 / a] <- Limit <- Scan
//! select a from t where 1 / a > 0 limit 3     Limit <- First rows <- Filter <- Scan
//! ```

use std::sync::Arc;

use nacre_plan::algebra::{ColumnId, RelationalOperator, ScalarExpression, ScalarKind};
use nacre_types::SqlValue;

use super::columns::LoweredRelation;
use super::error::{LoweringError, LoweringResult};
use super::fold::fold_constant;
use super::once::ask_for;
use super::relations::{compute, computed_columns, lower_relation};
use super::stored::StoredRelations;
use crate::plan::{LateRange, LimitNode, PlanNode, SteppedNode};
use crate::value::{OnceValue, ScalarValue};

/// What LIMIT and OFFSET say.
#[derive(Clone)]
pub(super) struct RowRange {
    offset: u64,
    rows_max: Option<u64>,
    late: Option<LateRange>,
}

/// A number of rows.
enum RowCount {
    /// Without LIMIT, or of a null.
    All,
    Known(u64),
    Late(Arc<OnceValue>),
}

impl RowCount {
    /// Returns the number, if it is known; puts a value that says it into `late`.
    fn known_or(self, late: &mut Option<Arc<OnceValue>>) -> Option<u64> {
        match self {
            Self::All => None,
            Self::Known(count) => Some(count),
            Self::Late(value) => {
                *late = Some(value);
                None
            }
        }
    }
}

impl RowRange {
    /// Returns the first row alone.
    pub(super) fn first() -> Self {
        Self { offset: 0, rows_max: Some(1), late: None }
    }

    /// Returns the rows that LIMIT and OFFSET let through.
    ///
    /// # Errors
    /// [`LoweringError::NotSupported`] for expressions that are neither constants nor computed
    /// once.
    pub(super) fn of(
        count: Option<&ScalarExpression>,
        offset: Option<&ScalarExpression>,
    ) -> LoweringResult<Self> {
        let mut late = LateRange { offset: None, rows_max: None };
        let rows_max = row_count(count)?.known_or(&mut late.rows_max);
        let offset = row_count(offset)?.known_or(&mut late.offset).unwrap_or(0);
        let is_late = late.offset.is_some() || late.rows_max.is_some();
        Ok(Self { offset, rows_max, late: is_late.then_some(late) })
    }

    /// Whether no LIMIT leaves rows out behind those that are wanted.
    fn is_to_the_end(&self) -> bool {
        self.rows_max.is_none() && self.late.as_ref().is_none_or(|late| late.rows_max.is_none())
    }

    /// Whether there is an OFFSET.
    fn has_offset(&self) -> bool {
        self.offset > 0 || self.late.as_ref().is_some_and(|late| late.offset.is_some())
    }
}

/// Lowers LIMIT above `operator`.
///
/// # Errors
/// [`LoweringError::NotSupported`] if more than the rows that are asked for may fail.
pub(super) fn lower_limit(
    relations: &dyn StoredRelations,
    operator: &RelationalOperator,
    needed: &[ColumnId],
    rows: RowRange,
) -> LoweringResult<LoweredRelation> {
    let input = lower_relation(relations, operator, needed)?;
    if rows.rows_max == Some(0) {
        return Ok(input.emptied());
    }
    if rows.late.is_some() && input.may_fail && !rows.is_to_the_end() {
        // PostgreSQL computes nothing for LIMIT 0.
        let what = "LIMIT of a query over expressions that may fail";
        return Err(LoweringError::not_supported(what));
    }
    if rows.is_to_the_end() || !input.row_may_fail {
        return Ok(limit(input, rows));
    }
    // Rows before the offset are computed in PostgreSQL.
    if let RelationalOperator::Compute { input, columns } = operator
        && !rows.has_offset()
    {
        let (computed, wanted) = computed_columns(columns, needed);
        let below = lower_relation(relations, input, &wanted)?;
        if !below.row_may_fail {
            return compute(limit(below, rows), &computed);
        }
    }
    Ok(limit(stepped(input)?, rows))
}

/// Has rows be made one after the other, if one may fail.
///
/// # Errors
/// [`LoweringError::NotSupported`] if more than the rows that are asked for may fail all the same.
pub(super) fn stepped(input: LoweredRelation) -> LoweringResult<LoweredRelation> {
    if !input.row_may_fail {
        return Ok(input);
    }
    if !input.is_stepwise {
        return Err(LoweringError::not_supported("LIMIT over expressions that may fail"));
    }
    let node = stepped_node(input.node);
    Ok(LoweredRelation { node, row_may_fail: false, gives_unmerged_rows: false, ..input })
}

/// Has each part of the rows be begun when the ones before have ended.
fn stepped_node(node: PlanNode) -> PlanNode {
    PlanNode::Stepped(Box::new(SteppedNode { input: with_stepped_inputs(node) }))
}

fn with_stepped_inputs(node: PlanNode) -> PlanNode {
    match node {
        PlanNode::Filter(mut filter) => {
            filter.input = with_stepped_inputs(filter.input);
            PlanNode::Filter(filter)
        }
        PlanNode::Map(mut map) => {
            map.input = with_stepped_inputs(map.input);
            PlanNode::Map(map)
        }
        PlanNode::Measured(mut measured) => {
            measured.input = with_stepped_inputs(measured.input);
            PlanNode::Measured(measured)
        }
        PlanNode::Expand(mut expand) => {
            expand.input = with_stepped_inputs(expand.input);
            PlanNode::Expand(expand)
        }
        PlanNode::Append(mut append) => {
            append.inputs = append.inputs.into_iter().map(stepped_node).collect();
            PlanNode::Append(append)
        }
        other => other,
    }
}

pub(super) fn limit(mut input: LoweredRelation, rows: RowRange) -> LoweredRelation {
    let RowRange { offset, rows_max, late } = rows;
    let operator = input.node.operator_mut();
    if let (PlanNode::Sort(sort), Some(count), None) = (operator, rows_max, &late) {
        sort.rows_max = offset.checked_add(count);
    }
    let may_fail = input.may_fail || late.is_some();
    let node = LimitNode { input: input.node, offset, rows_max, late };
    let node = PlanNode::Limit(Box::new(node));
    LoweredRelation { node, may_fail, gives_unmerged_rows: false, ..input }
}

/// Returns the number of LIMIT or OFFSET.
fn row_count(expression: Option<&ScalarExpression>) -> LoweringResult<RowCount> {
    let Some(expression) = expression else { return Ok(RowCount::All) };
    if let ScalarKind::Once(reference) = &expression.kind {
        return Ok(RowCount::Late(ask_for(*reference)?.value));
    }
    match fold_constant(expression)? {
        Some(SqlValue::Null) => Ok(RowCount::All),
        Some(SqlValue::BigInt(count)) => Ok(match u64::try_from(count) {
            Ok(count) => RowCount::Known(count),
            // An error when the query runs.
            Err(_) => RowCount::Late(Arc::new(OnceValue::of(ScalarValue::Int(count.into())))),
        }),
        _ => Err(LoweringError::not_supported("a LIMIT or OFFSET that is no constant")),
    }
}
