//! What a top-k has to do with the scan that its rows come from: the scan may leave out rows that
//! come too late, and columns that only the answer needs may be fetched at the end.
//!
//! ```text
//! select * from hits where url like '%google%' order by day limit 10
//! the scan compares `day` with the tenth one so far, and hands on `day` and the places of rows;
//! all other columns are read of ten rows
//! ```
//!
//! # Source
//! Abadi, Myers, DeWitt, Madden: "Materialization strategies in a column-oriented DBMS", ICDE 2007:
//! late materialization by positions.

use super::node::{PairingKind, PlanNode, ScanNode, SortNode};
use crate::expression::{ExpressionGraph, ExpressionId, ExpressionNode};
use crate::sort::TOP_ROWS_MAX;
use crate::value::ValueClass;

/// Most rows that are fetched one by one; for more, a scan that decodes whole vectors costs less.
const FETCHED_ROWS_MAX: u64 = 1_024;

/// With fewer columns, none of them a string, places cost as much as the columns.
const FETCHED_COLUMNS_MIN: usize = 2;

/// The scan below a top-k.
#[derive(Debug)]
pub(crate) struct TopScan<'p> {
    pub(crate) scan: &'p ScanNode,
    /// The output of the scan that is the first key.
    pub(crate) first_key: Option<usize>,
    /// Empty if it is not worth it.
    pub(crate) fetched: Vec<FetchedColumn>,
}

/// A column of a top-k, and the output of the scan that it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FetchedColumn {
    pub(crate) column: usize,
    pub(crate) output: usize,
}

/// Where the columns of a node come from, if each of its rows is made of one row of a scan.
struct ScanTrace<'p> {
    scan: &'p ScanNode,
    /// By column: the output of the scan that it is.
    columns: Vec<Option<usize>>,
    /// Outputs of the scan that something is computed of.
    read: Vec<usize>,
    has_join: bool,
}

impl SortNode {
    /// Returns the scan that the rows of a top-k come from, if leaving out rows of it leaves out
    /// rows of the top-k's input with the same values, and no others.
    pub(crate) fn top_scan(&self) -> Option<TopScan<'_>> {
        let rows_max = self.rows_max.filter(|rows| (1..=TOP_ROWS_MAX).contains(rows))?;
        let trace = ScanTrace::of(&self.input)?;
        let first_key = trace.output(self.keys.first()?.column);
        let mut fetched = Vec::new();
        if !trace.has_join && rows_max <= FETCHED_ROWS_MAX {
            let keys: Vec<_> = self.keys.iter().map(|key| trace.output(key.column)).collect();
            for column in 0..trace.columns.len() {
                if let Some(output) = trace.output(column)
                    && !trace.read.contains(&output)
                    && !keys.contains(&Some(output))
                {
                    fetched.push(FetchedColumn { column, output });
                }
            }
        }
        let scan = trace.scan;
        let is_string = |one: &FetchedColumn| {
            let column_type = scan.snapshot.table().column_type(scan.columns[one.output]);
            ValueClass::of(column_type) == ValueClass::Bytes
        };
        if fetched.len() < FETCHED_COLUMNS_MIN && !fetched.iter().any(is_string) {
            fetched.clear();
        }
        Some(TopScan { scan, first_key, fetched })
    }
}

impl<'p> ScanTrace<'p> {
    fn of(node: &'p PlanNode) -> Option<Self> {
        match node.operator() {
            PlanNode::Scan(scan) => {
                let columns = (0..scan.columns.len()).map(Some).collect();
                Some(Self { scan, columns, read: Vec::new(), has_join: false })
            }
            PlanNode::Filter(filter) => {
                let mut trace = Self::of(&filter.input)?;
                trace.note_read(&filter.graph, &filter.predicates);
                Some(trace)
            }
            PlanNode::Map(map) => {
                let mut trace = Self::of(&map.input)?;
                let mut columns = Vec::with_capacity(map.outputs.len());
                for id in &map.outputs {
                    if let ExpressionNode::Column { index, .. } = map.graph.node(*id) {
                        columns.push(trace.output(*index));
                    } else {
                        trace.note_read(&map.graph, &[*id]);
                        columns.push(None);
                    }
                }
                Some(Self { columns, ..trace })
            }
            PlanNode::Join(join) if keeps_probe(join.kind) => {
                // Columns of the build side come behind those of the probe side.
                Some(Self { has_join: true, ..Self::of(&join.probe)? })
            }
            _ => None,
        }
    }

    fn output(&self, column: usize) -> Option<usize> {
        self.columns.get(column).copied().flatten()
    }

    fn note_read(&mut self, graph: &ExpressionGraph, ids: &[ExpressionId]) {
        for column in graph.columns_of(ids) {
            self.read.extend(self.output(column));
        }
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
