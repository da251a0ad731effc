//! EXPLAIN of this road: the operators of a plan, and what they counted.

use std::sync::Arc;
use std::time::{Duration, Instant};

use datafusion::arrow::array::{RecordBatch, StringViewArray};
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::execution::SendableRecordBatchStream;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use futures::{StreamExt, stream};
use nacre_exec::dispatch::QueryReport;
use nacre_exec::plan::OperatorDescription;
use nacre_syntax::{OptionValue, TypeKind, UtilityOption};

use super::rows::QueryRows;
use crate::error::Result;
use crate::explain::{Form, Measured, NACRE_ENGINE, Node, answer, engine_line, schema};
use crate::from_datafusion::from_datafusion;

/// What an EXPLAIN asks for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ExplainRequest {
    pub(crate) is_analyze: bool,
    is_verbose: bool,
    is_json: bool,
}

/// What running a query took.
#[derive(Debug)]
pub(super) struct MeasuredRun {
    rows: u64,
    time: Duration,
    report: QueryReport,
}

impl ExplainRequest {
    /// Reads the options; `None` for those that the other way knows or refuses.
    pub(super) fn of(options: &[UtilityOption]) -> Option<Self> {
        let mut request = Self::default();
        for option in options {
            let value = option.value.as_ref();
            let flag = || match value.map(option_word) {
                None => Some(true),
                Some(found) => match found?.as_str() {
                    "true" | "on" | "1" => Some(true),
                    "false" | "off" | "0" => Some(false),
                    _ => None,
                },
            };
            match option.name.text.as_str() {
                "analyze" => request.is_analyze = flag()?,
                "verbose" => request.is_verbose = flag()?,
                "costs" | "buffers" | "settings" | "wal" => drop(flag()?),
                "summary" | "timing" if flag()? => {}
                "format" => match option_word(value?)?.as_str() {
                    "json" => request.is_json = true,
                    "text" => request.is_json = false,
                    _ => return None,
                },
                _ => return None,
            }
        }
        // TIMING without ANALYZE is refused there.
        let has_timing = options.iter().any(|option| option.name.text == "timing");
        (request.is_analyze || !has_timing).then_some(request)
    }

    fn form(self) -> Form {
        if self.is_json {
            Form::Json { is_measured: self.is_analyze }
        } else {
            Form::Lines { is_verbose: self.is_verbose }
        }
    }

    pub(super) fn schema(self) -> SchemaRef {
        schema(self.form())
    }
}

/// Returns the word that an option's value is.
fn option_word(value: &OptionValue) -> Option<String> {
    match value {
        OptionValue::Word(of) => match &of.kind {
            TypeKind::Named { name, modifiers } if modifiers.is_empty() => {
                name.parts.last().map(|name| name.text.to_lowercase())
            }
            _ => None,
        },
        OptionValue::Keyword(name) => Some(name.text.to_lowercase()),
        OptionValue::Number(text) | OptionValue::Text(text) => Some(text.to_lowercase()),
        _ => None,
    }
}

/// Runs a query to its end for EXPLAIN ANALYZE, and drops its rows.
///
/// # Errors
/// Those of running it.
pub(super) async fn run_to_end(mut rows: QueryRows) -> Result<MeasuredRun> {
    let (begun, mut count) = (Instant::now(), 0);
    while let Some(batch) = rows.next().await {
        count += batch.map_err(from_datafusion)?.num_rows() as u64;
    }
    Ok(MeasuredRun { rows: count, time: begun.elapsed(), report: rows.report() })
}

/// Answers an EXPLAIN.
///
/// # Errors
/// Those of making a batch.
pub(super) fn explain_answer(
    request: ExplainRequest,
    plan: &OperatorDescription,
    planning: Duration,
    run: Option<MeasuredRun>,
) -> Result<SendableRecordBatchStream> {
    if request.is_json {
        let measured = Measured { planning, execution: run.as_ref().map(|run| run.time) };
        return answer(&plan_node(plan, run.as_ref()), measured, NACRE_ENGINE);
    }
    let mut lines = Vec::new();
    plan_lines(plan, 0, &mut lines);
    if let Some(run) = &run {
        report_lines(run, &mut lines);
    }
    lines.push(engine_line(NACRE_ENGINE));
    if let Some(run) = &run {
        lines.push(format!("Planning Time: {:.3} ms", planning.as_secs_f64() * 1e3));
        lines.push(format!("Execution Time: {:.3} ms", run.time.as_secs_f64() * 1e3));
    }
    let schema = request.schema();
    let array = StringViewArray::from_iter_values(lines);
    let batch = RecordBatch::try_new(Arc::clone(&schema), vec![Arc::new(array)]);
    let batches = stream::iter([batch.map_err(Into::into)]);
    Ok(Box::pin(RecordBatchStreamAdapter::new(schema, batches)))
}

fn plan_lines(plan: &OperatorDescription, depth: usize, lines: &mut Vec<String>) {
    let arrow =
        if depth == 0 { String::new() } else { format!("{}->  ", " ".repeat(depth * 6 - 4)) };
    let on = plan.table.as_ref().map(|table| format!(" on {table}")).unwrap_or_default();
    lines.push(format!("{arrow}{}{on}", plan.name));
    let margin = " ".repeat(depth * 6 + 2);
    for (name, value) in &plan.facts {
        lines.push(format!("{margin}{name}: {value}"));
    }
    for input in &plan.inputs {
        plan_lines(input, depth + 1, lines);
    }
}

/// Writes what was counted, by pipeline from its source to its sink.
fn report_lines(run: &MeasuredRun, lines: &mut Vec<String>) {
    for (index, pipeline) in run.report.pipelines.iter().enumerate() {
        lines.push(format!("Pipeline {}", index + 1));
        for operator in pipeline {
            let held = match operator.bytes {
                0 => String::new(),
                bytes => format!(", {} KiB", bytes.div_ceil(1_024)),
            };
            let spilled = match operator.spilled_bytes {
                0 => String::new(),
                bytes => format!(
                    ", {} KiB in {} temporary files",
                    bytes.div_ceil(1_024),
                    operator.spilled_files
                ),
            };
            lines.push(format!(
                "  {}: rows {} of {}, {:.3} ms of all workers{held}{spilled}",
                operator.name,
                operator.rows_out,
                operator.rows_in,
                operator.time.as_secs_f64() * 1e3,
            ));
        }
    }
    for scan in &run.report.scans {
        lines.push(format!(
            "Chunks: {}, {} left out by their bounds; rows read: {}",
            scan.chunks, scan.chunks_pruned, scan.rows_read
        ));
        for (format, replica, count) in &scan.blocks {
            lines.push(format!("  {count} blocks of replica {replica}: {format}"));
        }
    }
    lines.push(format!("Rows: {}", run.rows));
}

fn plan_node(plan: &OperatorDescription, run: Option<&MeasuredRun>) -> Node {
    let join_type = match plan.name {
        "Join" => Some("Inner"),
        "Left join" => Some("Left"),
        "Right join" => Some("Right"),
        "Full join" => Some("Full"),
        "Semi join" => Some("Semi"),
        "Anti join" => Some("Anti"),
        "Right semi join" => Some("Right Semi"),
        "Right anti join" => Some("Right Anti"),
        "Mark join" => Some("Mark"),
        "Single join" => Some("Single"),
        _ => None,
    };
    let node_type = match plan.name {
        "Scan" => "Seq Scan",
        "Filter" | "Map" | "Empty" | "Value" => "Result",
        "Expand" => "ProjectSet",
        "Recursion" => "Recursive Union",
        "Top-k" => "Sort",
        "Rows" => "Values Scan",
        "Series" => "Function Scan",
        "Common rows" => "CTE Scan",
        _ if join_type.is_some() => "Hash Join",
        other => other,
    };
    let mut keys = Vec::new();
    if let Some(join_type) = join_type {
        keys.push(("Join Type", Node::text(join_type)));
    }
    if let Some(table) = &plan.table {
        keys.push(("Relation Name", Node::text(table)));
    }
    if let Some(rows) = plan.table_rows {
        keys.push(("Plan Rows", rows.to_string()));
    }
    if let Some(run) = run {
        let milliseconds = run.time.as_secs_f64() * 1e3;
        keys.push(("Actual Total Time", format!("{milliseconds:.3}")));
        keys.push(("Actual Rows", run.rows.to_string()));
        keys.push(("Actual Loops", "1".to_owned()));
    }
    let facts: Vec<_> = plan.facts.iter().map(|(name, value)| format!("{name}: {value}")).collect();
    keys.push(("Detail", Node::text(&facts.join("; "))));
    // The rows that the query answered are those of its last operator alone.
    let below = plan.inputs.iter().map(|input| plan_node(input, None)).collect();
    Node::new(node_type, keys, below)
}
