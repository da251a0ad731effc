//! A plan as a document with PostgreSQL's key names.
//!
//! There are no costs, so none are shown; rows are what the planner expects. Times are those of
//! all threads together, of a node with those below it, in milliseconds.

use std::fmt::Write;
use std::sync::Arc;

use datafusion::arrow::array::{RecordBatch, StringViewArray};
use datafusion::common::DataFusionError;
use datafusion::common::stats::Precision;
use datafusion::execution::SendableRecordBatchStream;
use datafusion::physical_plan::statistics::{StatisticsArgs, StatisticsContext};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{ExecutionPlan, displayable};
use futures::stream;

use super::options::{Form, schema};
use super::times::{Measured, milliseconds};
use crate::error::Result;

/// Nodes that hand rows on as they are.
const TRANSPARENT: [&str; 3] = ["CooperativeExec", "CoalesceBatchesExec", "JoinThreadExec"];

/// What runs, with what it runs over.
#[derive(Debug)]
pub(crate) struct Node {
    node_type: String,
    /// Further keys and their values as JSON.
    keys: Vec<(&'static str, String)>,
    below: Vec<Node>,
}

impl Node {
    /// Makes a node; the values of `keys` are JSON.
    pub(crate) fn new(
        node_type: &str,
        keys: Vec<(&'static str, String)>,
        below: Vec<Self>,
    ) -> Self {
        Self { node_type: node_type.to_owned(), keys, below }
    }

    /// Returns a text as JSON writes it.
    pub(crate) fn text(of: &str) -> String {
        text(of)
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
            keys.push(("Relation Name", text(relation)));
        }
        if let Some(join) = word_after(&line, "join_type=") {
            keys.push(("Join Type", text(join.trim_end_matches(')'))));
        }
        if let Ok(found) = statistics.compute(plan.as_ref(), &StatisticsArgs::new())
            && let Precision::Exact(rows) | Precision::Inexact(rows) = found.num_rows
        {
            keys.push(("Plan Rows", rows.to_string()));
        }
        let mut time = times.iter().sum::<f64>();
        if has_run && let Some(metrics) = plan.metrics() {
            time += metrics.elapsed_compute().unwrap_or(0) as f64 / 1e6;
            keys.push(("Actual Total Time", format!("{time:.3}")));
            keys.push(("Actual Rows", metrics.output_rows().unwrap_or(0).to_string()));
            keys.push(("Actual Loops", "1".to_owned()));
        }
        keys.push(("Detail", text(line.trim())));
        (Self { node_type: node_type.to_owned(), keys, below }, time)
    }

    /// Puts a statement that changes rows above the query for them.
    pub(crate) fn changing(
        verb: &str,
        table: &str,
        query: Option<Self>,
        rows: Option<u64>,
    ) -> Self {
        let mut keys = vec![("Operation", text(verb)), ("Relation Name", text(table))];
        if let Some(rows) = rows {
            keys.extend([("Actual Rows", rows.to_string()), ("Actual Loops", "1".to_owned())]);
        }
        Self { node_type: "ModifyTable".to_owned(), keys, below: query.into_iter().collect() }
    }

    fn write(&self, depth: usize, relation: Option<&str>, out: &mut String) {
        let margin = "  ".repeat(depth);
        let _ = write!(out, "{{\n{margin}  \"Node Type\": {}", text(&self.node_type));
        if let Some(relation) = relation {
            let _ = write!(out, ",\n{margin}  \"Parent Relationship\": {}", text(relation));
        }
        for (key, value) in &self.keys {
            let _ = write!(out, ",\n{margin}  \"{key}\": {value}");
        }
        if !self.below.is_empty() {
            let _ = write!(out, ",\n{margin}  \"Plans\": [");
            for (at, node) in self.below.iter().enumerate() {
                let relation = if at == 0 { "Outer" } else { "Inner" };
                let comma = if at == 0 { "" } else { "," };
                let _ = write!(out, "{comma}\n{margin}    ");
                node.write(depth + 2, Some(relation), out);
            }
            let _ = write!(out, "\n{margin}  ]");
        }
        let _ = write!(out, "\n{margin}}}");
    }
}

/// Returns the answer: one row with one document, with times if there are some.
///
/// # Errors
/// Those of making a batch.
pub(crate) fn answer(
    node: &Node,
    measured: Option<Measured>,
    engine: &str,
) -> Result<SendableRecordBatchStream> {
    let schema = schema(Form::Json { is_measured: measured.is_some() });
    let array = StringViewArray::from_iter_values([document(node, measured, engine)]);
    let batch = RecordBatch::try_new(Arc::clone(&schema), vec![Arc::new(array)]);
    let rows = stream::iter([batch.map_err(DataFusionError::from)]);
    Ok(Box::pin(RecordBatchStreamAdapter::new(schema, rows)))
}

fn document(node: &Node, measured: Option<Measured>, engine: &str) -> String {
    let mut out = "[\n  {\n    \"Plan\": ".to_owned();
    node.write(2, None, &mut out);
    let _ = write!(out, ",\n    \"Engine\": {}", text(engine));
    if let Some(measured) = measured {
        write_times(measured, &mut out);
    }
    out.push_str("\n  }\n]");
    out
}

fn write_times(measured: Measured, out: &mut String) {
    if let Some(steps) = measured.steps {
        let steps = steps
            .steps()
            .map(|(name, time)| format!("\n      \"{name} Time\": {}", milliseconds(time)));
        let _ = write!(out, ",\n    \"Planning\": {{{}\n    }}", steps.join(","));
    }
    let _ = write!(out, ",\n    \"Planning Time\": {}", milliseconds(measured.planning));
    if let Some(execution) = measured.execution {
        let execution = milliseconds(execution);
        let _ = write!(out, ",\n    \"Triggers\": [\n    ],\n    \"Execution Time\": {execution}");
    }
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

/// Writes a text as JSON does.
fn text(of: &str) -> String {
    let mut written = String::with_capacity(of.len() + 2);
    written.push('"');
    for one in of.chars() {
        match one {
            '"' => written.push_str("\\\""),
            '\\' => written.push_str("\\\\"),
            '\n' => written.push_str("\\n"),
            one if one < ' ' => {
                let _ = write!(written, "\\u{:04x}", one as u32);
            }
            one => written.push(one),
        }
    }
    written.push('"');
    written
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_those_of_json() {
        assert_eq!(text("a\"b\\c\n\u{1}"), "\"a\\\"b\\\\c\\n\\u0001\"");
        assert_eq!(word_after("Scan: table=t, columns=[a]", "table="), Some("t"));
    }
}
