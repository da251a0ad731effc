//! Which columns of an operator are those of scans below it, as they are there.
//!
//! ```text
//! Aggregate [keys 0, dependents 3] <- Join [0 = 0] <- Map [0, 1 * 2] <- Scan [a, b, c]
//!                                                  <- Scan [k, s]
//! column 0 is `a`, column 1 is `s`; `a`, `b`, `c` and `k` are read, and `s` is not
//! ```
//!
//! What a filter, an expression, a join or a group looks at is read. Other operators than these,
//! and common queries, are not looked through.

use super::node::{AggregateNode, JoinNode, MapNode, PairingKind, PlanNode, ScanNode};
use crate::expression::{ExpressionGraph, ExpressionId, ExpressionNode};

/// The scans below an operator, and which columns of it are theirs.
#[derive(Debug, Default)]
pub(super) struct ColumnTrace<'p> {
    pub(super) scans: Vec<TracedScan<'p>>,
    /// By column: the output of a scan that it is.
    columns: Vec<Option<TracedColumn>>,
    /// Whether an unknown number of columns follows that are of no scan.
    is_open_ended: bool,
    /// Whether there is a join or a group between.
    pub(super) has_join: bool,
}

/// A scan whose rows the rows of an operator are made of.
#[derive(Debug)]
pub(super) struct TracedScan<'p> {
    pub(super) scan: &'p ScanNode,
    /// By output: whether something between looks at its values.
    is_read: Vec<bool>,
    /// Whether leaving out rows of it leaves out rows with the same values, and no others.
    pub(super) narrows: bool,
}

/// An output of a scan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TracedColumn {
    /// By index in the trace.
    pub(super) scan: usize,
    pub(super) output: usize,
}

impl<'p> ColumnTrace<'p> {
    /// Traces the columns of an operator.
    pub(super) fn of(node: &'p PlanNode) -> Self {
        match node.operator() {
            PlanNode::Scan(scan) => Self::of_scan(scan),
            PlanNode::Filter(filter) => {
                let mut trace = Self::of(&filter.input);
                trace.note_reads(&filter.graph, &filter.predicates);
                trace
            }
            PlanNode::Map(map) => Self::of_map(map),
            PlanNode::Join(join) => Self::of_join(join),
            PlanNode::Aggregate(aggregate) => Self::of_aggregate(aggregate),
            _ => Self { is_open_ended: true, ..Self::default() },
        }
    }

    fn of_scan(scan: &'p ScanNode) -> Self {
        let count = scan.columns.len();
        let traced = |output| (output < count).then_some(TracedColumn { scan: 0, output });
        let columns = (0..scan.width()).map(traced).collect();
        let scans = vec![TracedScan { scan, is_read: vec![false; count], narrows: true }];
        Self { scans, columns, ..Self::default() }
    }

    fn of_map(map: &'p MapNode) -> Self {
        let mut trace = Self::of(&map.input);
        let mut columns = Vec::with_capacity(map.outputs.len());
        for id in &map.outputs {
            if let ExpressionNode::Column { index, .. } = map.graph.node(*id) {
                columns.push(trace.column(*index));
            } else {
                trace.note_reads(&map.graph, &[*id]);
                columns.push(None);
            }
        }
        Self { columns, is_open_ended: false, ..trace }
    }

    fn of_join(join: &'p JoinNode) -> Self {
        let (mut probe, mut build) = (Self::of(&join.probe), Self::of(&join.build));
        if probe.is_open_ended {
            // Where columns of the build side begin is not known.
            build = Self { is_open_ended: true, ..Self::default() };
        }
        for key in &join.keys {
            probe.note_read(key.probe);
            build.note_read(key.build);
        }
        join.probe_conditions.iter().for_each(|column| probe.note_read(*column));
        for column in join.graph.columns_of(&join.predicates) {
            match column.checked_sub(probe.columns.len()) {
                None => probe.note_read(column),
                Some(column) => build.note_read(column),
            }
        }
        probe.scans.iter_mut().for_each(|one| one.narrows &= keeps_probe(join.kind));
        build.scans.iter_mut().for_each(|one| one.narrows = false);
        let mut trace = if join.kind.has_probe_columns() { probe } else { Self::default() };
        if join.kind.has_build_columns() {
            trace.append(build);
        }
        if join.kind == PairingKind::Mark {
            trace.columns.push(None);
        }
        Self { has_join: true, ..trace }
    }

    fn of_aggregate(node: &'p AggregateNode) -> Self {
        let mut trace = Self::of(&node.input);
        let arguments = node.aggregates.iter().flat_map(|call| [call.argument, call.filter]);
        for column in arguments.flatten().chain(node.keys.iter().copied()) {
            trace.note_read(column);
        }
        let handed_on = node.keys.iter().chain(&node.dependents);
        let mut columns: Vec<_> = handed_on.map(|column| trace.column(*column)).collect();
        let computed: usize = node.aggregates.iter().map(|call| call.function.columns()).sum();
        columns.extend(std::iter::repeat_n(None, computed));
        trace.scans.iter_mut().for_each(|one| one.narrows = false);
        Self { columns, is_open_ended: false, has_join: true, ..trace }
    }

    /// Returns the output of a scan that a column is.
    pub(super) fn column(&self, column: usize) -> Option<TracedColumn> {
        self.columns.get(column).copied().flatten()
    }

    /// Returns the columns that are outputs of a scan whose values nothing looks at.
    pub(super) fn unread(&self) -> impl Iterator<Item = (usize, TracedColumn)> {
        let traced = (0..).zip(&self.columns).filter_map(|(at, column)| Some((at, (*column)?)));
        traced.filter(|(_, one)| !self.scans[one.scan].is_read[one.output])
    }

    /// Notes that something looks at the values of a column.
    pub(super) fn note_read(&mut self, column: usize) {
        if let Some(TracedColumn { scan, output }) = self.column(column) {
            self.scans[scan].is_read[output] = true;
        }
    }

    fn note_reads(&mut self, graph: &ExpressionGraph, ids: &[ExpressionId]) {
        graph.columns_of(ids).into_iter().for_each(|column| self.note_read(column));
    }

    /// Puts the columns of another operator behind those of this one.
    fn append(&mut self, other: Self) {
        let first = self.scans.len();
        let moved = |one: TracedColumn| TracedColumn { scan: first + one.scan, ..one };
        self.columns.extend(other.columns.into_iter().map(|column| column.map(moved)));
        self.scans.extend(other.scans);
        self.is_open_ended |= other.is_open_ended;
    }
}

/// Whether a row that the probe side is without changes no other row of a join, and raises no
/// error.
fn keeps_probe(kind: PairingKind) -> bool {
    match kind {
        PairingKind::Inner
        | PairingKind::ProbeOuter
        | PairingKind::Semi
        | PairingKind::Anti
        | PairingKind::Mark => true,
        PairingKind::BuildOuter
        | PairingKind::FullOuter
        | PairingKind::Single
        | PairingKind::BuildSemi
        | PairingKind::BuildAnti => false,
    }
}
