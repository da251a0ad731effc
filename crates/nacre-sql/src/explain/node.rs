//! A plan as a tree of properties with PostgreSQL's names.
//!
//! There are no costs, so none are shown; rows are what the planner expects. Times are those of
//! all threads together, of a node with those below it, in milliseconds.

use std::sync::Arc;
use std::time::Duration;

use datafusion::arrow::array::{RecordBatch, StringViewArray};
use datafusion::common::DataFusionError;
use datafusion::common::stats::Precision;
use datafusion::execution::SendableRecordBatchStream;
use datafusion::physical_plan::statistics::{StatisticsArgs, StatisticsContext};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{ExecutionPlan, displayable};
use futures::stream;

use super::options::{Form, schema};
use super::property::{DocumentFormat, PlanProperty, PropertyGroup};
use super::times::{Measured, milliseconds};
use crate::error::Result;

/// Nodes that hand rows on as they are.
const TRANSPARENT: [&str; 3] = ["CooperativeExec", "CoalesceBatchesExec", "JoinThreadExec"];

/// What runs, with what it runs over.
#[derive(Debug)]
pub(crate) struct Node {
    node_type: String,
    /// Further properties.
    keys: PropertyGroup,
    below: Vec<Node>,
}

impl Node {
    pub(crate) fn new(node_type: &str, keys: PropertyGroup, below: Vec<Self>) -> Self {
        Self { node_type: node_type.to_owned(), keys, below }
    }

    /// Describes a plan, with what it counted if it ran.
    pub(crate) fn of(plan: &Arc<dyn ExecutionPlan>, has_run: bool) -> Self {
        Self::timed(plan, has_run, &StatisticsContext::new()).0
    }

    /// As [`Node::of`], with the time of the node and those below it in milliseconds.
    fn timed(
        plan: &Arc<dyn ExecutionPlan>,
        has_run: bool,
        statistics: &StatisticsContext,
    ) -> (Self, f64) {
        // What only lets others have a turn is nothing that PostgreSQL's plans have.
        if TRANSPARENT.contains(&plan.name())
            && let [child] = plan.children()[..]
        {
            return Self::timed(child, has_run, statistics);
        }
        let (below, times): (Vec<_>, Vec<_>) = plan
            .children()
            .into_iter()
            .map(|child| Self::timed(child, has_run, statistics))
            .unzip();
        let node_type = kind(plan.name());
        let mut keys = Vec::new();
        let line = displayable(plan.as_ref()).one_line().to_string();
        if let Some(relation) = word_after(&line, "table=").filter(|_| node_type == "Seq Scan") {
            keys.push(("Relation Name", PlanProperty::text(relation)));
        }
        if let Some(join) = word_after(&line, "join_type=") {
            keys.push(("Join Type", PlanProperty::text(join.trim_end_matches(')'))));
        }
        if let Ok(found) = statistics.compute(plan.as_ref(), &StatisticsArgs::new())
            && let Precision::Exact(rows) | Precision::Inexact(rows) = found.num_rows
        {
            keys.push(("Plan Rows", PlanProperty::number(rows)));
        }
        let mut time = times.iter().sum::<f64>();
        if has_run && let Some(metrics) = plan.metrics() {
            time += metrics.elapsed_compute().unwrap_or(0) as f64 / 1e6;
            keys.push(("Actual Total Time", PlanProperty::Number(format!("{time:.3}"))));
            let rows = metrics.output_rows().unwrap_or(0);
            keys.push(("Actual Rows", PlanProperty::number(rows)));
            keys.push(("Actual Loops", PlanProperty::number(1)));
        }
        keys.push(("Detail", PlanProperty::text(line.trim())));
        (Self { node_type: node_type.to_owned(), keys, below }, time)
    }

    /// Puts a statement that changes rows above the query for them.
    pub(crate) fn changing(
        verb: &str,
        table: &str,
        query: Option<Self>,
        rows: Option<u64>,
    ) -> Self {
        let mut keys = vec![
            ("Operation", PlanProperty::text(verb)),
            ("Relation Name", PlanProperty::text(table)),
        ];
        if let Some(rows) = rows {
            keys.push(("Actual Rows", PlanProperty::number(rows)));
            keys.push(("Actual Loops", PlanProperty::number(1)));
        }
        Self { node_type: "ModifyTable".to_owned(), keys, below: query.into_iter().collect() }
    }

    /// Returns its properties; `relation` is that to the node above it.
    fn into_group(self, relation: Option<&str>) -> PropertyGroup {
        let mut group = vec![("Node Type", PlanProperty::Text(self.node_type))];
        group.extend(relation.map(|of| ("Parent Relationship", PlanProperty::text(of))));
        group.extend(self.keys);
        if !self.below.is_empty() {
            let relations = std::iter::once("Outer").chain(std::iter::repeat("Inner"));
            let below = self.below.into_iter().zip(relations);
            let plans = below.map(|(node, relation)| node.into_group(Some(relation))).collect();
            group.push(("Plans", PlanProperty::List("Plan", plans)));
        }
        group
    }
}

/// Returns the answer: one row with one document, with times if there are some.
///
/// # Errors
/// Those of making a batch.
pub(crate) fn answer(
    format: DocumentFormat,
    node: Node,
    measured: Option<Measured>,
    engine: &str,
) -> Result<SendableRecordBatchStream> {
    let schema = schema(Form::Document { format, is_measured: measured.is_some() });
    let mut query = vec![
        ("Plan", PlanProperty::Group(node.into_group(None))),
        ("Engine", PlanProperty::text(engine)),
    ];
    query.extend(measured.into_iter().flat_map(time_properties));
    let array = StringViewArray::from_iter_values([format.document(&query)]);
    let batch = RecordBatch::try_new(Arc::clone(&schema), vec![Arc::new(array)]);
    let rows = stream::iter([batch.map_err(DataFusionError::from)]);
    Ok(Box::pin(RecordBatchStreamAdapter::new(schema, rows)))
}

fn time_properties(measured: Measured) -> PropertyGroup {
    let time = |of: Duration| PlanProperty::Number(milliseconds(of));
    let mut group = PropertyGroup::new();
    if let Some(steps) = measured.steps {
        let steps = steps.steps().map(|(name, of)| (name, time(of)));
        group.push(("Planning", PlanProperty::Group(steps.to_vec())));
    }
    group.push(("Planning Time", time(measured.planning)));
    if let Some(execution) = measured.execution {
        group.push(("Triggers", PlanProperty::List("Trigger", Vec::new())));
        group.push(("Execution Time", time(execution)));
    }
    group
}

/// Returns PostgreSQL's name of what a node does.
fn kind(name: &str) -> &str {
    match name {
        "TableScanExec" => "Seq Scan",
        "HashJoinExec" => "Hash Join",
        "NestedLoopJoinExec" | "CrossJoinExec" => "Nested Loop",
        "SortMergeJoinExec" => "Merge Join",
        "AggregateExec" => "Aggregate",
        "SortExec" => "Sort",
        "GlobalLimitExec" | "LocalLimitExec" => "Limit",
        "UnionExec" => "Append",
        "RecursiveQueryExec" => "Recursive Union",
        "WorkTableExec" => "WorkTable Scan",
        "WindowAggExec" | "BoundedWindowAggExec" => "WindowAgg",
        "CoalescePartitionsExec" | "RepartitionExec" => "Gather",
        "SortPreservingMergeExec" => "Gather Merge",
        "ProjectionExec" | "FilterExec" | "PlaceholderRowExec" | "EmptyExec" => "Result",
        other => other.strip_suffix("Exec").unwrap_or(other),
    }
}

/// Returns the word that follows `before` in a line.
fn word_after<'a>(line: &'a str, before: &str) -> Option<&'a str> {
    let rest = &line[line.find(before)? + before.len()..];
    rest.split([',', ' ']).next()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_lines_are_found_by_what_is_before_them() {
        assert_eq!(word_after("Scan: table=t, columns=[a]", "table="), Some("t"));
    }
}
