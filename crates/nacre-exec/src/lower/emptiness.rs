//! Relations that have no rows for sure. Nothing below them is read, as in PostgreSQL, so that
//! nothing below fails.

use super::columns::{ColumnPlace, LoweredRelation};
use crate::plan::{PairingKind, PlanNode, RowsNode};
use crate::value::ValueClass;

impl LoweredRelation {
    /// Returns a relation of the same columns without rows.
    pub(super) fn emptied(self) -> Self {
        let mut classes: Vec<ValueClass> = Vec::new();
        let mut note = |index: usize, class: ValueClass| {
            classes.resize(classes.len().max(index + 1), ValueClass::Int);
            classes[index] = class;
        };
        for (_, ColumnPlace { index, form }) in self.columns.iter() {
            note(*index, form.class());
        }
        for value in self.columns.rounded() {
            note(value.floor, ValueClass::Int);
            note(value.ceiling, ValueClass::Int);
        }
        let is_grouped = self.is_grouped;
        Self {
            is_grouped,
            ..Self::infallible(PlanNode::Rows(RowsNode::none(classes)), self.columns)
        }
    }

    /// Returns it, without rows if there are none for those below it.
    pub(super) fn emptied_if_none(self) -> Self {
        if has_no_rows(&self.node) { self.emptied() } else { self }
    }
}

/// Whether an operator hands on no rows because an input has none, or none is wanted.
fn has_no_rows(node: &PlanNode) -> bool {
    use PairingKind as K;
    match node {
        PlanNode::Scan(_)
        | PlanNode::Rows(_)
        | PlanNode::Series(_)
        | PlanNode::CommonScan(_)
        | PlanNode::Once(_)
        | PlanNode::Called(_)
        | PlanNode::Recursion(_) => false,
        PlanNode::Measured(measured) => has_no_rows(&measured.input),
        PlanNode::Kept(kept) => is_empty(&kept.input),
        PlanNode::Common(common) => is_empty(&common.input),
        PlanNode::Filter(filter) => is_empty(&filter.input),
        PlanNode::Map(map) => is_empty(&map.input),
        PlanNode::Sort(sort) => is_empty(&sort.input),
        PlanNode::Stepped(stepped) => is_empty(&stepped.input),
        PlanNode::Limit(limit) => limit.rows_max == Some(0) || is_empty(&limit.input),
        PlanNode::Window(window) => is_empty(&window.input),
        PlanNode::Append(append) => append.inputs.iter().all(is_empty),
        PlanNode::Repeat(repeat) => is_empty(&repeat.input),
        PlanNode::Expand(expand) => is_empty(&expand.input),
        PlanNode::GroupingSets(grouping) => {
            grouping.sets.iter().all(|set| !set.is_empty()) && is_empty(&grouping.input)
        }
        PlanNode::Aggregate(aggregate) => !aggregate.keys.is_empty() && is_empty(&aggregate.input),
        PlanNode::Join(join) => {
            let (probe, build) = (is_empty(&join.probe), is_empty(&join.build));
            match join.kind {
                K::Inner | K::Semi | K::BuildSemi => probe || build,
                K::ProbeOuter | K::Single | K::Anti | K::Mark => probe,
                K::BuildOuter | K::BuildAnti => build,
                K::FullOuter => probe && build,
            }
        }
    }
}

/// Whether an input has no rows; keys may have been computed of it.
fn is_empty(node: &PlanNode) -> bool {
    match node {
        PlanNode::Rows(rows) => rows.rows == 0,
        PlanNode::Map(map) => is_empty(&map.input),
        PlanNode::Measured(measured) => is_empty(&measured.input),
        _ => false,
    }
}
