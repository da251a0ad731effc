//! EXPLAIN of this road: the operators of a plan, and what they counted.

use std::sync::Arc;
use std::time::{Duration, Instant};

use datafusion::arrow::array::{RecordBatch, StringViewArray};
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::execution::SendableRecordBatchStream;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use futures::stream;
use nacre_exec::counters::{BlockReport, NodeReport};
use nacre_exec::dispatch::QueryReport;
use nacre_exec::plan::OperatorDescription;
use nacre_syntax::{OptionValue, TypeKind, UtilityOption};

use super::rows::QueryRows;
use crate::error::Result;
use crate::explain::{
    DocumentFormat, Form, Measured, NACRE_ENGINE, Node, PlanProperty, PlanningTimes, PropertyGroup,
    answer, engine_line, milliseconds, schema,
};

/// What an EXPLAIN asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ExplainRequest {
    pub(crate) is_analyze: bool,
    is_verbose: bool,
    /// Lines of text without one.
    format: Option<DocumentFormat>,
    /// Whether estimates are shown.
    has_costs: bool,
    has_timing: bool,
    /// As for PostgreSQL, ANALYZE decides if nothing is said.
    has_summary: Option<bool>,
}

/// What running a query took.
#[derive(Debug)]
pub(super) struct MeasuredRun {
    time: Duration,
    report: QueryReport,
}

impl Default for ExplainRequest {
    fn default() -> Self {
        Self {
            is_analyze: false,
            is_verbose: false,
            format: None,
            has_costs: true,
            has_timing: true,
            has_summary: None,
        }
    }
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
                "costs" => request.has_costs = flag()?,
                "timing" => request.has_timing = flag()?,
                "summary" => request.has_summary = Some(flag()?),
                "buffers" | "settings" | "wal" => drop(flag()?),
                "format" => match option_word(value?)?.as_str() {
                    "text" => request.format = None,
                    name => request.format = Some(DocumentFormat::named(name)?),
                },
                _ => return None,
            }
        }
        // TIMING without ANALYZE is refused there.
        let has_timing = options.iter().any(|option| option.name.text == "timing");
        (request.is_analyze || !has_timing).then_some(request)
    }

    /// Whether operators count rows or show how many are expected. Otherwise the plan is lowered as
    /// that of the query itself is, which is what the times of planning are about.
    pub(super) fn is_about_rows(self) -> bool {
        self.is_analyze || self.has_costs
    }

    fn has_summary(self) -> bool {
        self.has_summary.unwrap_or(self.is_analyze)
    }

    fn form(self) -> Form {
        match self.format {
            Some(format) => Form::Document { format, is_measured: self.is_analyze },
            None => Form::Lines { is_verbose: self.is_verbose },
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

/// Runs a query to its end for EXPLAIN ANALYZE, and drops its rows. It began at `begun`.
///
/// # Errors
/// Those of running it.
pub(super) async fn run_to_end(mut rows: QueryRows, begun: Instant) -> Result<MeasuredRun> {
    while rows.next().await?.is_some() {}
    Ok(MeasuredRun { time: begun.elapsed(), report: rows.report() })
}

/// What is done with the rows of a plan.
#[derive(Debug)]
pub(crate) struct ExplainedChange<'a> {
    /// `Update` and so on.
    pub(crate) verb: &'static str,
    pub(crate) table: &'a str,
    /// The rows that were changed, and the time that this took.
    pub(crate) done: Option<(u64, Duration)>,
}

/// Answers an EXPLAIN, of a query or of a change of its rows.
///
/// # Errors
/// Those of making a batch.
pub(super) fn explain_answer(
    request: ExplainRequest,
    plan: &OperatorDescription,
    planning: PlanningTimes,
    run: Option<MeasuredRun>,
    change: Option<ExplainedChange<'_>>,
) -> Result<SendableRecordBatchStream> {
    let done = change.as_ref().and_then(|change| change.done);
    let all = |run: &MeasuredRun| run.time + done.map_or(Duration::ZERO, |(_, time)| time);
    let measured = planning.with(run.as_ref().map(all));
    let measured = request.has_summary().then_some(measured);
    if let Some(format) = request.format {
        let time = run.as_ref().map(|run| run.time);
        let mut node = plan_node(plan, request, time);
        if let Some(ExplainedChange { verb, table, .. }) = change {
            node = Node::changing(verb, table, Some(node), done.map(|(rows, _)| rows));
        }
        return answer(format, node, measured, NACRE_ENGINE);
    }
    let mut lines = Vec::new();
    if let Some(ExplainedChange { verb, table, .. }) = &change {
        let rows = done.map(|(rows, _)| format!(" (actual rows={rows} loops=1)"));
        lines.push(format!("{verb} on {table}{}", rows.unwrap_or_default()));
    }
    plan_lines(plan, request, lines.len(), &mut lines);
    if let (Some(run), true) = (&run, request.has_timing) {
        pipeline_lines(run, &mut lines);
    }
    lines.push(engine_line(NACRE_ENGINE));
    if let Some(Measured { planning: all, execution, .. }) = measured {
        let steps = planning.steps();
        let steps = steps.map(|(name, time)| {
            let name = name.trim_end_matches(" Time").to_lowercase();
            format!("{name} {} ms", milliseconds(time))
        });
        lines.push(format!("Planning: {}", steps.join(", ")));
        lines.push(format!("Planning Time: {} ms", milliseconds(all)));
        let execution = execution.map(milliseconds);
        lines.extend(execution.map(|time| format!("Execution Time: {time} ms")));
    }
    let schema = request.schema();
    let array = StringViewArray::from_iter_values(lines);
    let batch = RecordBatch::try_new(Arc::clone(&schema), vec![Arc::new(array)]);
    let batches = stream::iter([batch.map_err(Into::into)]);
    Ok(Box::pin(RecordBatchStreamAdapter::new(schema, batches)))
}

/// Returns what an operator counted, if the query was run.
fn node_report(plan: &OperatorDescription, request: ExplainRequest) -> Option<NodeReport> {
    plan.counters.as_ref().filter(|_| request.is_analyze).map(|counters| counters.report())
}

fn plan_lines(
    plan: &OperatorDescription,
    request: ExplainRequest,
    depth: usize,
    lines: &mut Vec<String>,
) {
    let arrow =
        if depth == 0 { String::new() } else { format!("{}->  ", " ".repeat(depth * 6 - 4)) };
    let on = plan.table.as_ref().map(|table| format!(" on {table}")).unwrap_or_default();
    let mut head = format!("{arrow}{}{on}", plan.name);
    if let Some(rows) = plan.rows_expected.filter(|_| request.has_costs) {
        head.push_str(&format!("  (rows={rows})"));
    }
    let report = node_report(plan, request);
    if let Some(report) = &report {
        let time = request.has_timing.then(|| format!("time={}ms ", milliseconds(report.time)));
        let time = time.unwrap_or_default();
        head.push_str(&format!(" (actual {time}rows={} loops=1)", report.rows));
    }
    lines.push(head);
    let margin = " ".repeat(depth * 6 + 2);
    for (name, value) in &plan.facts {
        lines.push(format!("{margin}{name}: {value}"));
    }
    if let Some(report) = &report {
        report_lines(report, plan.table.is_some(), &margin, lines);
    }
    for input in &plan.inputs {
        plan_lines(input, request, depth + 1, lines);
    }
}

/// Writes what an operator held and wrote, and what it read if it is a scan.
fn report_lines(report: &NodeReport, is_scan: bool, margin: &str, lines: &mut Vec<String>) {
    if report.bytes > 0 {
        lines.push(format!("{margin}Memory: {} KiB", report.bytes.div_ceil(1_024)));
    }
    if report.spilled_bytes > 0 {
        let (bytes, files) = (report.spilled_bytes.div_ceil(1_024), report.spilled_files);
        lines.push(format!("{margin}Disk: {bytes} KiB in {files} temporary files"));
    }
    if !is_scan {
        return;
    }
    let scan = &report.scan;
    let answered = match scan.chunks_answered {
        0 => String::new(),
        count => format!(", {count} answered by their aggregates"),
    };
    lines.push(format!(
        "{margin}Chunks: {}, {} left out by their bounds{answered}; rows read: {}",
        scan.chunks, scan.chunks_pruned, scan.rows_read
    ));
    for BlockReport { format, replica, count, bytes } in &scan.blocks {
        let bytes = bytes.div_ceil(1_024);
        lines.push(format!("{margin}  {count} blocks of replica {replica}: {format}, {bytes} KiB"));
    }
}

/// Writes where the time went, by pipeline from its source to its sink.
fn pipeline_lines(run: &MeasuredRun, lines: &mut Vec<String>) {
    for (index, pipeline) in run.report.pipelines.iter().enumerate() {
        lines.push(format!("Pipeline {}", index + 1));
        for operator in pipeline {
            lines.push(format!(
                "  {}: rows {} of {}, {} ms of all workers",
                operator.name,
                operator.rows_out,
                operator.rows_in,
                milliseconds(operator.time),
            ));
        }
    }
}

/// Describes an operator and those below it; `time` is that of running the plan.
fn plan_node(plan: &OperatorDescription, request: ExplainRequest, time: Option<Duration>) -> Node {
    let (node_type, join_type) = node_type(plan.name);
    let mut keys = Vec::new();
    if let Some(join_type) = join_type {
        keys.push(("Join Type", PlanProperty::text(join_type)));
    }
    if let Some(table) = &plan.table {
        keys.push(("Relation Name", PlanProperty::text(table)));
    }
    if let Some(rows) = plan.rows_expected.filter(|_| request.has_costs) {
        keys.push(("Plan Rows", PlanProperty::number(rows)));
    }
    if let Some(time) = time.filter(|_| request.has_timing) {
        keys.push(("Actual Total Time", PlanProperty::Number(milliseconds(time))));
    }
    if let Some(report) = node_report(plan, request) {
        if request.has_timing {
            let time = PlanProperty::Number(milliseconds(report.time));
            keys.push(("Actual Self Time", time));
        }
        keys.push(("Actual Rows", PlanProperty::number(report.rows)));
        keys.push(("Actual Loops", PlanProperty::number(1)));
        report_keys(&report, plan.table.is_some(), &mut keys);
    }
    let facts: Vec<_> = plan.facts.iter().map(|(name, value)| format!("{name}: {value}")).collect();
    keys.push(("Detail", PlanProperty::text(&facts.join("; "))));
    let below = plan.inputs.iter().map(|input| plan_node(input, request, None)).collect();
    Node::new(node_type, keys, below)
}

/// As [`report_lines`]: memory and files in kilobytes, as PostgreSQL has them.
fn report_keys(report: &NodeReport, is_scan: bool, keys: &mut PropertyGroup) {
    let kilobytes = |bytes: u64| PlanProperty::number(bytes.div_ceil(1_024));
    if report.bytes > 0 {
        keys.push(("Peak Memory Usage", kilobytes(report.bytes)));
    }
    if report.spilled_bytes > 0 {
        keys.push(("Disk Usage", kilobytes(report.spilled_bytes)));
        keys.push(("Temporary Files", PlanProperty::number(report.spilled_files)));
    }
    if !is_scan {
        return;
    }
    let scan = &report.scan;
    keys.push(("Chunks", PlanProperty::number(scan.chunks)));
    keys.push(("Chunks Pruned", PlanProperty::number(scan.chunks_pruned)));
    keys.push(("Chunks Answered", PlanProperty::number(scan.chunks_answered)));
    keys.push(("Rows Read", PlanProperty::number(scan.rows_read)));
    let blocks = scan.blocks.iter().map(|BlockReport { format, replica, count, bytes }| {
        vec![
            ("Format", PlanProperty::text(format)),
            ("Replica", PlanProperty::number(replica)),
            ("Blocks", PlanProperty::number(count)),
            ("Bytes", PlanProperty::number(bytes)),
        ]
    });
    keys.push(("Blocks Read", PlanProperty::List("Block", blocks.collect())));
}

/// Returns PostgreSQL's names of an operator: its node, and which join it is.
fn node_type(name: &'static str) -> (&'static str, Option<&'static str>) {
    let join_type = match name {
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
    let node_type = match name {
        "Scan" => "Seq Scan",
        "Filter" | "Map" | "Empty" | "Value" => "Result",
        "Expand" => "ProjectSet",
        "Recursion" => "Recursive Union",
        "Top-k" => "Sort",
        "Rows" => "Values Scan",
        "Series" => "Function Scan",
        "Common rows" => "CTE Scan",
        "Kept rows" => "Materialize",
        _ if join_type.is_some() => "Hash Join",
        other => other,
    };
    (node_type, join_type)
}
