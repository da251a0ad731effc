//! Plans in words, for EXPLAIN.

use std::sync::Arc;

use super::measured::MeasuredNode;
use super::node::{
    AggregateCall, AggregateFunction, JoinKey, JoinNode, LimitNode, PairingKind, PlanNode,
    ScanNode, SortKey, SortNode,
};
use super::top::{FetchedScan, FirstKey};
use super::window::{WindowFunction, WindowNode};
use crate::counters::NodeCounters;
use crate::scan::ScanPredicate;

/// The description of an operator and of its inputs.
#[derive(Clone, Debug)]
pub struct OperatorDescription {
    /// `Scan`, `Filter`, `Map`, `Join`, `Left join`, `Right join`, `Full join`, `Single join`,
    /// `Semi join`, `Anti join`, `Mark join`, `Right semi join`, `Right anti join`, `Aggregate`,
    /// `Grouping sets`, `Window`, `Sort`, `Top-k`, `Limit`, `First rows`, `Rows`, `Empty`,
    /// `Append`, `Repeat`, `Series`, `Expand`, `Common queries`, `Common rows`, `Kept rows`,
    /// `Value`, `Call` or `Recursion`.
    pub name: &'static str,
    /// The table that is read, for a scan.
    pub table: Option<String>,
    /// How many rows the optimizer expects, if the operator is measured.
    pub rows_expected: Option<u64>,
    /// What it counts when the plan runs, if it is measured.
    pub counters: Option<Arc<NodeCounters>>,
    /// Its properties as names and values.
    pub facts: Vec<(&'static str, String)>,
    /// Of a join the side that streams through, then the one that is collected; of common queries
    /// these, then what reads them.
    pub inputs: Vec<OperatorDescription>,
}

impl PlanNode {
    /// Returns the operator and all below in words.
    pub fn describe(&self) -> OperatorDescription {
        let (name, facts, input) = match self {
            Self::Measured(measured) => return describe_measured(measured),
            Self::Scan(scan) => return describe_scan(scan),
            Self::Kept(kept) => return describe_measured_as_last("Kept rows", [&kept.input]),
            Self::Once(once) => return describe_measured_as_last("Value", [&once.input]),
            Self::Called(called) => return describe_measured_as_last("Call", [&called.input]),
            Self::Recursion(recursion) => {
                let inputs = vec![recursion.first.describe(), recursion.step.describe()];
                return OperatorDescription { inputs, ..describe("Recursion", Vec::new(), &[]) };
            }
            Self::Filter(filter) => {
                let count = filter.predicates.len().to_string();
                ("Filter", vec![("conditions", count)], &filter.input)
            }
            Self::Map(map) => {
                let count = map.outputs.len().to_string();
                ("Map", vec![("columns", count)], &map.input)
            }
            Self::Join(join) => return describe_join(join),
            Self::Rows(rows) if rows.rows == 0 => {
                return describe("Empty", vec![("one-time filter", "false".to_owned())], &[]);
            }
            Self::Rows(rows) => {
                return describe("Rows", vec![("rows", rows.rows.to_string())], &[]);
            }
            Self::Common(common) => {
                let inputs = common.queries.iter().chain([&common.input]);
                return describe_measured_as_last("Common queries", inputs);
            }
            Self::CommonScan(scan) => {
                let query = format!("{} ({})", scan.query + 1, scan.name);
                return describe("Common rows", vec![("query", query)], &[]);
            }
            Self::Series(series) => {
                return describe("Series", vec![("rows", series.rows.to_string())], &[]);
            }
            Self::Append(append) => return describe("Append", Vec::new(), &append.inputs),
            Self::Repeat(repeat) => {
                let count = format!("column {}", repeat.count + 1);
                ("Repeat", vec![("count", count)], &repeat.input)
            }
            Self::Expand(expand) => {
                let names: Vec<_> = expand.sets.iter().map(|set| set.name).collect();
                ("Expand", vec![("functions", names.join(", "))], &expand.input)
            }
            Self::Aggregate(aggregate) => {
                let mut facts = aggregate_facts(aggregate.keys.len(), &aggregate.aggregates);
                if !aggregate.dependents.is_empty() {
                    facts.insert(1, ("dependent columns", aggregate.dependents.len().to_string()));
                }
                ("Aggregate", facts, &aggregate.input)
            }
            Self::GroupingSets(grouping) => {
                let mut facts = aggregate_facts(grouping.keys.len(), &grouping.aggregates);
                facts.insert(1, ("sets", grouping.sets.len().to_string()));
                ("Grouping sets", facts, &grouping.input)
            }
            Self::Window(window) => ("Window", window_facts(window), &window.input),
            Self::Sort(sort) => {
                let name = if sort.rows_max.is_some() { "Top-k" } else { "Sort" };
                (name, sort_facts(sort), &sort.input)
            }
            Self::Stepped(stepped) => ("First rows", Vec::new(), &stepped.input),
            Self::Limit(limit) => ("Limit", limit_facts(limit), &limit.input),
        };
        describe(name, facts, std::slice::from_ref(input))
    }
}

/// Describes what has the rows of its last input, and is measured as that is.
fn describe_measured_as_last<'p>(
    name: &'static str,
    inputs: impl IntoIterator<Item = &'p PlanNode>,
) -> OperatorDescription {
    let inputs: Vec<_> = inputs.into_iter().map(PlanNode::describe).collect();
    let last = inputs.last();
    let rows_expected = last.and_then(|last| last.rows_expected);
    let counters = last.and_then(|last| last.counters.clone());
    OperatorDescription { rows_expected, counters, inputs, ..describe(name, Vec::new(), &[]) }
}

fn describe(
    name: &'static str,
    facts: Vec<(&'static str, String)>,
    inputs: &[PlanNode],
) -> OperatorDescription {
    let inputs = inputs.iter().map(PlanNode::describe).collect();
    OperatorDescription { name, table: None, rows_expected: None, counters: None, facts, inputs }
}

fn describe_measured(measured: &MeasuredNode) -> OperatorDescription {
    let mut rows = measured.rows_expected;
    if let (Some(rows), PlanNode::Sort(sort)) = (&mut rows, &measured.input) {
        *rows = sort.rows_max.map_or(*rows, |most| rows.min(most as f64));
    }
    OperatorDescription {
        rows_expected: rows.map(|rows| rows.round() as u64),
        counters: Some(Arc::clone(&measured.counters)),
        ..measured.input.describe()
    }
}

fn describe_join(join: &JoinNode) -> OperatorDescription {
    let name = match join.kind {
        PairingKind::Inner => "Join",
        PairingKind::ProbeOuter => "Left join",
        PairingKind::BuildOuter => "Right join",
        PairingKind::FullOuter => "Full join",
        PairingKind::Single => "Single join",
        PairingKind::Semi => "Semi join",
        PairingKind::Anti => "Anti join",
        PairingKind::Mark => "Mark join",
        PairingKind::BuildSemi => "Right semi join",
        PairingKind::BuildAnti => "Right anti join",
    };
    let pair = |key: &JoinKey| format!("column {} = column {}", key.probe + 1, key.build + 1);
    let keys: Vec<_> = join.keys.iter().map(pair).collect();
    let mut facts = Vec::new();
    if !keys.is_empty() {
        facts.push(("keys", keys.join(" and ")));
    }
    let conditions = join.probe_conditions.len() + join.predicates.len();
    if conditions > 0 {
        facts.push(("conditions", conditions.to_string()));
    }
    let inputs = vec![join.probe.describe(), join.build.describe()];
    OperatorDescription { inputs, ..describe(name, facts, &[]) }
}

/// Returns the name of a column of a scan's table.
fn column_name(scan: &ScanNode, column: usize) -> String {
    let schema = scan.snapshot.table().schema();
    schema.columns.get(column).map_or("?", |column| &column.name).to_owned()
}

fn describe_scan(scan: &ScanNode) -> OperatorDescription {
    let schema = scan.snapshot.table().schema();
    let name = |column: usize| column_name(scan, column);
    let columns: Vec<_> = scan.columns.iter().map(|column| name(*column)).collect();
    let mut facts = vec![("columns", columns.join(", "))];
    let restrictions: Vec<_> = scan
        .predicates
        .iter()
        .map(|predicate| match &predicate.predicate {
            ScanPredicate::Restriction(restriction) => {
                format!("{} {restriction}", name(predicate.column))
            }
            ScanPredicate::Strings(test) => format!("{} {test:?}", name(predicate.column)),
        })
        .collect();
    if let Some(sample) = &scan.sample {
        let word = if sample.is_of_blocks { "system" } else { "bernoulli" };
        let percent = sample.percent.map_or("null".to_owned(), |percent| percent.to_string());
        facts.push(("sample", format!("{word} {percent}")));
    }
    if !restrictions.is_empty() {
        facts.push(("restrictions", restrictions.join(" and ")));
    }
    OperatorDescription { table: Some(schema.name.clone()), ..describe("Scan", facts, &[]) }
}

fn aggregate_name(call: &AggregateCall) -> String {
    let name = match call.function {
        AggregateFunction::CountRows => "count(*)",
        AggregateFunction::Count => "count",
        AggregateFunction::Sum => "sum",
        AggregateFunction::CountSum => "sum of counts",
        AggregateFunction::Min | AggregateFunction::ExactMin => "min",
        AggregateFunction::Max | AggregateFunction::ExactMax => "max",
        AggregateFunction::ExactSum => "sum of numerics",
        AggregateFunction::ExactState => "avg of numerics",
        AggregateFunction::AverageState => "avg",
        AggregateFunction::CountDistinct => "count(distinct)",
        AggregateFunction::DistinctState => "sum(distinct)",
        AggregateFunction::Collect => "collect",
        AggregateFunction::Moments(_) => "sums of floats",
    };
    if call.filter.is_some() { format!("{name} filter") } else { name.to_owned() }
}

fn aggregate_facts(keys: usize, aggregates: &[AggregateCall]) -> Vec<(&'static str, String)> {
    let calls: Vec<_> = aggregates.iter().map(aggregate_name).collect();
    let mut facts = vec![("keys", keys.to_string())];
    if !calls.is_empty() {
        facts.push(("aggregates", calls.join(", ")));
    }
    facts
}

fn window_facts(window: &WindowNode) -> Vec<(&'static str, String)> {
    let mut facts = vec![("keys", key_names(&window.keys))];
    for one in &window.windows {
        let calls: Vec<String> = one
            .calls
            .iter()
            .map(|call| match &call.function {
                WindowFunction::RowNumber => "row_number".to_owned(),
                WindowFunction::Rank => "rank".to_owned(),
                WindowFunction::DenseRank => "dense_rank".to_owned(),
                WindowFunction::PercentRank => "percent_rank".to_owned(),
                WindowFunction::CumeDist => "cume_dist".to_owned(),
                WindowFunction::Ntile { .. } => "ntile".to_owned(),
                WindowFunction::Shift { is_lead: false, .. } => "lag".to_owned(),
                WindowFunction::Shift { .. } => "lead".to_owned(),
                WindowFunction::FirstValue { .. } => "first_value".to_owned(),
                WindowFunction::LastValue { .. } => "last_value".to_owned(),
                WindowFunction::NthValue { .. } => "nth_value".to_owned(),
                WindowFunction::Aggregate(call) => aggregate_name(call),
                WindowFunction::Fold(call) => call.fold.name().to_owned(),
            })
            .collect();
        let (partition, order) = (one.partition_keys, one.order_keys);
        let calls = calls.join(", ");
        facts.push(("window", format!("partition {partition}, order {order}: {calls}")));
    }
    facts
}

fn limit_facts(limit: &LimitNode) -> Vec<(&'static str, String)> {
    let rows = limit.rows_max.map(|rows| ("rows", rows.to_string()));
    let late = limit.late.as_ref().map(|_| ("rows", "computed".to_owned()));
    let offset = (limit.offset > 0).then(|| ("offset", limit.offset.to_string()));
    rows.or(late).into_iter().chain(offset).collect()
}

fn key_names(keys: &[SortKey]) -> String {
    let keys: Vec<_> = keys
        .iter()
        .map(|key| {
            let direction = if key.is_descending { " desc" } else { "" };
            // The default is last in ascending order, and first in descending order.
            let nulls = match (key.is_nulls_first, key.is_descending) {
                (true, false) => " nulls first",
                (false, true) => " nulls last",
                _ => "",
            };
            format!("column {}{direction}{nulls}", key.column + 1)
        })
        .collect();
    keys.join(", ")
}

fn sort_facts(sort: &SortNode) -> Vec<(&'static str, String)> {
    let mut facts = vec![("keys", key_names(&sort.keys))];
    facts.extend(sort.rows_max.map(|rows| ("rows", rows.to_string())));
    let Some(top) = sort.top_scans() else { return facts };
    let name = |scan: &ScanNode, output: usize| column_name(scan, scan.columns[output]);
    if let Some(FirstKey { scan, output }) = top.first_key {
        facts.push(("top-k filter", name(scan, output)));
    }
    let columns = |one: &FetchedScan<'_>| {
        let named = one.columns.iter().map(|own| (own.column, name(one.scan, own.output)));
        named.collect::<Vec<_>>()
    };
    let mut fetched: Vec<_> = top.fetched.iter().flat_map(columns).collect();
    fetched.sort_unstable();
    if !fetched.is_empty() {
        let names: Vec<_> = fetched.into_iter().map(|(_, name)| name).collect();
        facts.push(("fetched", names.join(", ")));
    }
    facts
}
