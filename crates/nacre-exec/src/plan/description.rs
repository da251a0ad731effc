//! Plans in words, for EXPLAIN.

use super::node::{
    AggregateCall, AggregateFunction, AggregateNode, JoinKey, JoinNode, PairingKind, PlanNode,
    ScanNode, SortKey, SortNode,
};
use super::window::{WindowFunction, WindowNode};
use crate::scan::ScanPredicate;

/// The description of an operator and of its inputs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OperatorDescription {
    /// `Scan`, `Filter`, `Map`, `Join`, `Left join`, `Right join`, `Full join`, `Semi join`,
    /// `Anti join`, `Aggregate`, `Window`, `Sort`, `Top-k` or `Limit`.
    pub name: &'static str,
    /// The table that is read, for a scan.
    pub table: Option<String>,
    /// How many rows that has as the plan sees it.
    pub table_rows: Option<u64>,
    /// Its properties as names and values.
    pub facts: Vec<(&'static str, String)>,
    /// Of a join the left side, which streams through, then the right one, which is collected.
    pub inputs: Vec<OperatorDescription>,
}

impl PlanNode {
    /// Returns the operator and all below in words.
    pub fn describe(&self) -> OperatorDescription {
        let (name, facts, input) = match self {
            Self::Scan(scan) => return describe_scan(scan),
            Self::Filter(filter) => {
                let count = filter.predicates.len().to_string();
                ("Filter", vec![("conditions", count)], &filter.input)
            }
            Self::Map(map) => {
                let count = map.outputs.len().to_string();
                ("Map", vec![("columns", count)], &map.input)
            }
            Self::Join(join) => return describe_join(join),
            Self::Aggregate(aggregate) => {
                ("Aggregate", aggregate_facts(aggregate), &aggregate.input)
            }
            Self::Window(window) => ("Window", window_facts(window), &window.input),
            Self::Sort(sort) => {
                let name = if sort.rows_max.is_some() { "Top-k" } else { "Sort" };
                (name, sort_facts(sort), &sort.input)
            }
            Self::Limit(limit) => {
                let rows = limit.rows_max.map(|rows| ("rows", rows.to_string()));
                let offset = (limit.offset > 0).then(|| ("offset", limit.offset.to_string()));
                ("Limit", rows.into_iter().chain(offset).collect(), &limit.input)
            }
        };
        let inputs = vec![input.describe()];
        OperatorDescription { name, table: None, table_rows: None, facts, inputs }
    }
}

fn describe_join(join: &JoinNode) -> OperatorDescription {
    let name = match join.kind {
        PairingKind::Inner => "Join",
        PairingKind::ProbeOuter => "Left join",
        PairingKind::BuildOuter => "Right join",
        PairingKind::FullOuter => "Full join",
        PairingKind::Semi => "Semi join",
        PairingKind::Anti => "Anti join",
    };
    let pair = |key: &JoinKey| format!("column {} = column {}", key.probe + 1, key.build + 1);
    let keys: Vec<_> = join.keys.iter().map(pair).collect();
    let mut facts = Vec::new();
    if !keys.is_empty() {
        facts.push(("keys", keys.join(" and ")));
    }
    if !join.predicates.is_empty() {
        facts.push(("conditions", join.predicates.len().to_string()));
    }
    let inputs = vec![join.probe.describe(), join.build.describe()];
    OperatorDescription { name, table: None, table_rows: None, facts, inputs }
}

fn describe_scan(scan: &ScanNode) -> OperatorDescription {
    let schema = scan.snapshot.table().schema();
    let name = |column: usize| schema.columns.get(column).map_or("?", |column| &column.name);
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
    if !restrictions.is_empty() {
        facts.push(("restrictions", restrictions.join(" and ")));
    }
    OperatorDescription {
        name: "Scan",
        table: Some(schema.name.clone()),
        table_rows: Some(scan.snapshot.rows()),
        facts,
        inputs: Vec::new(),
    }
}

fn aggregate_name(call: &AggregateCall) -> String {
    let name = match call.function {
        AggregateFunction::CountRows => "count(*)",
        AggregateFunction::Count => "count",
        AggregateFunction::Sum => "sum",
        AggregateFunction::Min => "min",
        AggregateFunction::Max => "max",
        AggregateFunction::AverageState => "avg",
        AggregateFunction::CountDistinct => "count(distinct)",
    };
    if call.filter.is_some() { format!("{name} filter") } else { name.to_owned() }
}

fn aggregate_facts(aggregate: &AggregateNode) -> Vec<(&'static str, String)> {
    let calls: Vec<_> = aggregate.aggregates.iter().map(aggregate_name).collect();
    let mut facts = vec![("keys", aggregate.keys.len().to_string())];
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
            })
            .collect();
        let (partition, order) = (one.partition_keys, one.order_keys);
        let calls = calls.join(", ");
        facts.push(("window", format!("partition {partition}, order {order}: {calls}")));
    }
    facts
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
    let rows = sort.rows_max.map(|rows| ("rows", rows.to_string()));
    std::iter::once(("keys", key_names(&sort.keys))).chain(rows).collect()
}
