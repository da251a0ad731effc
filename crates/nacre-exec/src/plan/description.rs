//! Plans in words, for EXPLAIN.

use std::sync::Arc;

use super::common::{CommonNode, CommonScanNode, RecursionNode};
use super::labels::{ColumnLabels, label_list, restriction_text};
use super::measured::MeasuredNode;
use super::node::{
    AggregateCall, AggregateNode, GroupingSetsNode, JoinKey, JoinNode, LimitNode, MapNode,
    PairingKind, PlanNode, ScanNode, SortNode,
};
use super::top::{FetchedScan, FirstKey};
use super::window::{WindowFunction, WindowNode};
use crate::counters::NodeCounters;
use crate::scan::ScanPredicate;

/// Names and values of an operator's properties.
type OperatorFacts = Vec<(&'static str, String)>;

/// A description, and what the columns of the operator are called.
type LabelledDescription = (OperatorDescription, ColumnLabels);

/// What the columns of common queries are called, as far as these were described.
type CommonLabels = Vec<ColumnLabels>;

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
    pub facts: OperatorFacts,
    /// Of a join the side that streams through, then the one that is collected; of common queries
    /// these, then what reads them.
    pub inputs: Vec<OperatorDescription>,
}

impl PlanNode {
    /// Returns the operator and all below in words.
    pub fn describe(&self) -> OperatorDescription {
        self.labelled(&mut CommonLabels::new()).0
    }

    fn labelled(&self, common: &mut CommonLabels) -> LabelledDescription {
        let (name, input) = match self {
            Self::Measured(measured) => return describe_measured(measured, common),
            Self::Scan(scan) => return describe_scan(scan),
            Self::Kept(kept) => return describe_measured_as_last("Kept rows", &kept.input, common),
            Self::Once(once) => return describe_measured_as_last("Value", &once.input, common),
            Self::Called(call) => return describe_measured_as_last("Call", &call.input, common),
            Self::Recursion(recursion) => return describe_recursion(recursion, common),
            Self::Join(join) => return describe_join(join, common),
            Self::Common(own) => return describe_common(own, common),
            Self::CommonScan(scan) => return describe_common_scan(scan, common),
            Self::Rows(rows) => {
                let (name, fact) = match rows.rows {
                    0 => ("Empty", ("one-time filter", "false".to_owned())),
                    count => ("Rows", ("rows", count.to_string())),
                };
                let labels = ColumnLabels::repeated("?", rows.columns.len());
                return (describe(name, vec![fact], Vec::new()), labels);
            }
            Self::Series(series) => {
                let facts = vec![("rows", series.rows.to_string())];
                let labels = ColumnLabels::repeated("generate_series", series.columns.len());
                return (describe("Series", facts, Vec::new()), labels);
            }
            Self::Append(append) => {
                let inputs = append.inputs.iter().map(|input| input.labelled(common));
                let (inputs, labels): (_, Vec<_>) = inputs.unzip();
                let labels = labels.into_iter().next().unwrap_or_default();
                return (describe("Append", Vec::new(), inputs), labels);
            }
            Self::Filter(filter) => ("Filter", &filter.input),
            Self::Map(map) => ("Map", &map.input),
            Self::Repeat(repeat) => ("Repeat", &repeat.input),
            Self::Expand(expand) => ("Expand", &expand.input),
            Self::Aggregate(aggregate) => ("Aggregate", &aggregate.input),
            Self::GroupingSets(grouping) => ("Grouping sets", &grouping.input),
            Self::Window(window) => ("Window", &window.input),
            Self::Sort(sort) if sort.rows_max.is_some() => ("Top-k", &sort.input),
            Self::Sort(sort) => ("Sort", &sort.input),
            Self::Stepped(stepped) => ("First rows", &stepped.input),
            Self::Limit(limit) => ("Limit", &limit.input),
        };
        let (input, labels) = input.labelled(common);
        let (facts, labels) = self.facts_over(labels);
        (describe(name, facts, vec![input]), labels)
    }

    /// Returns the facts and columns of an operator over an input with such columns.
    fn facts_over(&self, labels: ColumnLabels) -> (OperatorFacts, ColumnLabels) {
        let facts = match self {
            Self::Filter(filter) => {
                let conditions = labels.of_expressions(&filter.graph, &filter.predicates);
                vec![("conditions", label_list(&conditions, " and "))]
            }
            Self::Map(map) => return map_facts(map, &labels),
            Self::Repeat(repeat) => vec![("count", labels.get(repeat.count).to_owned())],
            Self::Expand(expand) => {
                let names: Vec<_> = expand.sets.iter().map(|set| set.name.to_owned()).collect();
                let facts = vec![("functions", names.join(", "))];
                let place = expand.has_ordinality.then(|| "ordinality".to_owned());
                return (facts, labels.with(names.into_iter().chain(place)));
            }
            Self::Aggregate(aggregate) => return aggregate_facts(aggregate, &labels),
            Self::GroupingSets(grouping) => return grouping_facts(grouping, &labels),
            Self::Window(window) => return window_facts(window, labels),
            Self::Sort(sort) => sort_facts(sort, &labels),
            Self::Limit(limit) => limit_facts(limit),
            _ => Vec::new(),
        };
        (facts, labels)
    }
}

fn describe(
    name: &'static str,
    facts: OperatorFacts,
    inputs: Vec<OperatorDescription>,
) -> OperatorDescription {
    OperatorDescription { name, table: None, rows_expected: None, counters: None, facts, inputs }
}

/// Describes what has the rows of its input, and is measured as that is.
fn describe_measured_as_last(
    name: &'static str,
    input: &PlanNode,
    common: &mut CommonLabels,
) -> LabelledDescription {
    let (input, labels) = input.labelled(common);
    (measured_as_last(name, vec![input]), labels)
}

fn measured_as_last(name: &'static str, inputs: Vec<OperatorDescription>) -> OperatorDescription {
    let last = inputs.last();
    let rows_expected = last.and_then(|last| last.rows_expected);
    let counters = last.and_then(|last| last.counters.clone());
    OperatorDescription { rows_expected, counters, ..describe(name, Vec::new(), inputs) }
}

fn describe_common(own: &CommonNode, common: &mut CommonLabels) -> LabelledDescription {
    let mut inputs = Vec::new();
    for query in &own.queries {
        let (query, labels) = query.labelled(common);
        inputs.push(query);
        common.push(labels);
    }
    let (input, labels) = own.input.labelled(common);
    inputs.push(input);
    (measured_as_last("Common queries", inputs), labels)
}

fn describe_common_scan(scan: &CommonScanNode, common: &CommonLabels) -> LabelledDescription {
    let facts = vec![("query", format!("{} ({})", scan.query + 1, scan.name))];
    let labels = common.get(scan.query).cloned();
    // A query that is called reads its arguments so.
    let arguments = || ColumnLabels::repeated("argument", scan.width);
    (describe("Common rows", facts, Vec::new()), labels.unwrap_or_else(arguments))
}

fn describe_recursion(recursion: &RecursionNode, common: &mut CommonLabels) -> LabelledDescription {
    let (first, labels) = recursion.first.labelled(common);
    common.push(labels.clone());
    let (step, _) = recursion.step.labelled(common);
    common.pop();
    (describe("Recursion", Vec::new(), vec![first, step]), labels)
}

fn describe_measured(measured: &MeasuredNode, common: &mut CommonLabels) -> LabelledDescription {
    let mut rows = measured.rows_expected;
    if let (Some(rows), PlanNode::Sort(sort)) = (&mut rows, &measured.input) {
        *rows = sort.rows_max.map_or(*rows, |most| rows.min(most as f64));
    }
    let (own, labels) = measured.input.labelled(common);
    let description = OperatorDescription {
        rows_expected: rows.map(|rows| rows.round() as u64),
        counters: Some(Arc::clone(&measured.counters)),
        ..own
    };
    (description, labels)
}

fn describe_join(join: &JoinNode, common: &mut CommonLabels) -> LabelledDescription {
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
    let (probe_input, probe) = join.probe.labelled(common);
    let (build_input, build) = join.build.labelled(common);
    let pair = |key: &JoinKey| format!("{} = {}", probe.get(key.probe), build.get(key.build));
    let keys: Vec<_> = join.keys.iter().map(pair).collect();
    let both = probe.clone().with(build.0.iter().cloned());
    let mut conditions = probe.of(&join.probe_conditions);
    conditions.extend(both.of_expressions(&join.graph, &join.predicates));
    let facts = [("keys", keys), ("conditions", conditions)];
    let facts = facts.into_iter().filter(|(_, labels)| !labels.is_empty());
    let facts = facts.map(|(name, labels)| (name, label_list(&labels, " and "))).collect();
    let labels = match (join.kind.has_probe_columns(), join.kind.has_build_columns()) {
        (true, true) => both,
        (false, _) => build,
        (true, false) if join.kind == PairingKind::Mark => probe.with(["has partner".to_owned()]),
        (true, false) => probe,
    };
    (describe(name, facts, vec![probe_input, build_input]), labels)
}

/// Returns the name of a column of a scan's table.
fn column_name(scan: &ScanNode, column: usize) -> String {
    let schema = scan.snapshot.table().schema();
    schema.columns.get(column).map_or("?", |column| &column.name).to_owned()
}

fn describe_scan(scan: &ScanNode) -> LabelledDescription {
    let schema = scan.snapshot.table().schema();
    let name = |column: usize| column_name(scan, column);
    let ids = scan.has_row_ids.then(|| "row id".to_owned());
    let labels = scan.columns.iter().map(|column| name(*column)).chain(ids);
    let labels = ColumnLabels(labels.collect());
    let mut facts = vec![("columns", labels.0.join(", "))];
    let restrictions: Vec<_> = scan
        .predicates
        .iter()
        .map(|predicate| match &predicate.predicate {
            ScanPredicate::Restriction(restriction) => {
                let column_type = schema.columns.get(predicate.column).map(|own| own.column_type);
                let text = column_type.map(|own| restriction_text(restriction, own));
                let text = text.unwrap_or_else(|| restriction.to_string());
                format!("{} {text}", name(predicate.column))
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
    let description = describe("Scan", facts, Vec::new());
    (OperatorDescription { table: Some(schema.name.clone()), ..description }, labels)
}

fn map_facts(map: &MapNode, input: &ColumnLabels) -> (OperatorFacts, ColumnLabels) {
    let labels = input.of_expressions(&map.graph, &map.outputs);
    (vec![("columns", label_list(&labels, ", "))], ColumnLabels(labels))
}

fn aggregate_facts(
    aggregate: &AggregateNode,
    input: &ColumnLabels,
) -> (OperatorFacts, ColumnLabels) {
    let (keys, dependents) = (input.of(&aggregate.keys), input.of(&aggregate.dependents));
    let calls = called(&aggregate.aggregates, input);
    let facts = [("keys", &keys), ("dependent columns", &dependents), ("aggregates", &calls)];
    let facts = facts.into_iter().filter(|(_, labels)| !labels.is_empty());
    let facts = facts.map(|(name, labels)| (name, label_list(labels, ", "))).collect();
    let values = aggregate.aggregates.iter().flat_map(|call| input.of_aggregate(call));
    (facts, ColumnLabels(keys.into_iter().chain(dependents).chain(values).collect()))
}

fn grouping_facts(
    grouping: &GroupingSetsNode,
    input: &ColumnLabels,
) -> (OperatorFacts, ColumnLabels) {
    let keys = input.of(&grouping.keys);
    let key = |index: &usize| keys.get(*index).cloned().unwrap_or_default();
    let set =
        |set: &Vec<usize>| format!("({})", set.iter().map(key).collect::<Vec<_>>().join(", "));
    let sets: Vec<_> = grouping.sets.iter().map(set).collect();
    let mut facts = vec![("sets", label_list(&sets, ", "))];
    let calls = called(&grouping.aggregates, input);
    if !calls.is_empty() {
        facts.push(("aggregates", label_list(&calls, ", ")));
    }
    let values = grouping.aggregates.iter().flat_map(|call| input.of_aggregate(call));
    let set = ["grouping set".to_owned()];
    (facts, ColumnLabels(keys.iter().cloned().chain(values).chain(set).collect()))
}

fn called(aggregates: &[AggregateCall], input: &ColumnLabels) -> Vec<String> {
    aggregates.iter().map(|call| input.of_call(call)).collect()
}

fn window_facts(window: &WindowNode, input: ColumnLabels) -> (OperatorFacts, ColumnLabels) {
    let keys = input.of_sort_keys(&window.keys);
    let mut facts = vec![("keys", label_list(&keys, ", "))];
    let mut added = Vec::new();
    for one in &window.windows {
        let calls = one.calls.iter().map(|call| function_label(&call.function, &input));
        let calls: Vec<_> = calls.collect();
        let (partition, order) = (one.partition_keys, one.order_keys);
        let parts = [("partition by", 0..partition), ("order by", partition..partition + order)];
        let parts = parts.into_iter().filter_map(|(words, range)| {
            let own = keys.get(range).filter(|own| !own.is_empty())?;
            Some(format!("{words} {}", label_list(own, ", ")))
        });
        let parts: Vec<_> = parts.collect();
        let text = format!("{} over ({})", label_list(&calls, ", "), parts.join(" "));
        facts.push(("window", text));
        added.extend(calls);
    }
    (facts, input.with(added))
}

fn function_label(function: &WindowFunction, input: &ColumnLabels) -> String {
    let (name, argument) = match function {
        WindowFunction::RowNumber => ("row_number", None),
        WindowFunction::Rank => ("rank", None),
        WindowFunction::DenseRank => ("dense_rank", None),
        WindowFunction::PercentRank => ("percent_rank", None),
        WindowFunction::CumeDist => ("cume_dist", None),
        WindowFunction::Ntile { .. } => ("ntile", None),
        WindowFunction::Shift { argument, is_lead: false, .. } => ("lag", Some(argument)),
        WindowFunction::Shift { argument, .. } => ("lead", Some(argument)),
        WindowFunction::FirstValue { argument } => ("first_value", Some(argument)),
        WindowFunction::LastValue { argument } => ("last_value", Some(argument)),
        WindowFunction::NthValue { argument, .. } => ("nth_value", Some(argument)),
        WindowFunction::Aggregate(call) => return input.of_call(call),
        WindowFunction::Fold(call) => (call.fold.name(), Some(&call.argument)),
    };
    format!("{name}({})", argument.map_or("", |argument| input.get(*argument)))
}

fn limit_facts(limit: &LimitNode) -> OperatorFacts {
    let rows = limit.rows_max.map(|rows| ("rows", rows.to_string()));
    let late = limit.late.as_ref().map(|_| ("rows", "computed".to_owned()));
    let offset = (limit.offset > 0).then(|| ("offset", limit.offset.to_string()));
    rows.or(late).into_iter().chain(offset).collect()
}

fn sort_facts(sort: &SortNode, labels: &ColumnLabels) -> OperatorFacts {
    let mut facts = vec![("keys", label_list(&labels.of_sort_keys(&sort.keys), ", "))];
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
