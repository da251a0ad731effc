//! What a top-k has to do with the scans that its rows come from: one of them may leave out rows
//! that come too late, and columns that only the answer needs may be fetched at the end.
//!
//! ```text
//! select * from hits where url like '%google%' order by day limit 10
//! the scan compares `day` with the tenth one so far, and hands on `day` and the places of rows;
//! all other columns are read of ten rows
//!
//! select c.id, c.name, c.phone, sum(o.price) from c join o on o.customer = c.id
//! group by c.id, c.name, c.phone order by 4 desc limit 20
//! the scan of `c` hands on `id` and the places of rows; the join carries places, and a group has
//! that of one of its rows, all of which are equal in what follows from `id`
//! ```
//!
//! # Source
//! Abadi, Myers, DeWitt, Madden: "Materialization strategies in a column-oriented DBMS", ICDE 2007:
//! late materialization by positions. Differs: positions are carried through joins and groups.

use super::node::{ScanNode, SortNode};
use super::trace::{ColumnTrace, TracedColumn};
use crate::sort::TOP_ROWS_MAX;
use crate::value::ValueClass;

/// Most rows that are fetched one by one; for more, a scan that decodes whole vectors costs less.
const FETCHED_ROWS_MAX: u64 = 1_024;

/// With fewer columns, none of them a string, places cost as much as the columns.
const FETCHED_COLUMNS_MIN: usize = 2;

/// The same where joins and groups carry the places: 64 bits each, as two narrow columns have.
const CARRIED_COLUMNS_MIN: usize = 3;

/// The scans below a top-k.
#[derive(Debug)]
pub(crate) struct TopScans<'p> {
    /// Where the first key comes from, if the scan may leave out rows by it.
    pub(crate) first_key: Option<FirstKey<'p>>,
    /// Those whose columns are fetched, if it is worth it.
    pub(crate) fetched: Vec<FetchedScan<'p>>,
}

/// The output of a scan that is the first key of a top-k.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FirstKey<'p> {
    pub(crate) scan: &'p ScanNode,
    pub(crate) output: usize,
}

/// A scan that hands on the places of rows instead of some outputs.
#[derive(Debug)]
pub(crate) struct FetchedScan<'p> {
    pub(crate) scan: &'p ScanNode,
    /// At least one.
    pub(crate) columns: Vec<FetchedColumn>,
}

/// A column of a top-k, and the output of the scan that it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FetchedColumn {
    pub(crate) column: usize,
    pub(crate) output: usize,
}

impl SortNode {
    /// Returns the scans that the rows of a top-k come from: one may leave out rows if that leaves
    /// out rows of the top-k's input with the same values, and no others; columns of all may be
    /// fetched at the end that nothing below the top-k looks at.
    pub(crate) fn top_scans(&self) -> Option<TopScans<'_>> {
        let rows_max = self.rows_max.filter(|rows| (1..=TOP_ROWS_MAX).contains(rows))?;
        let mut trace = ColumnTrace::of(&self.input);
        let first = trace.column(self.keys.first()?.column);
        let first_key = first.and_then(|TracedColumn { scan, output }| {
            let scan = &trace.scans[scan];
            scan.narrows.then_some(FirstKey { scan: scan.scan, output })
        });
        self.keys.iter().for_each(|key| trace.note_read(key.column));
        let mut fetched = Vec::new();
        if rows_max <= FETCHED_ROWS_MAX {
            let all = (0..trace.scans.len()).map(|scan| FetchedScan::of(&trace, scan));
            let columns_min =
                if trace.has_join { CARRIED_COLUMNS_MIN } else { FETCHED_COLUMNS_MIN };
            fetched.extend(all.filter(|one| one.is_worth_it(columns_min)));
        }
        Some(TopScans { first_key, fetched })
    }
}

impl<'p> FetchedScan<'p> {
    /// Takes all columns of a scan that nothing looks at.
    fn of(trace: &ColumnTrace<'p>, scan: usize) -> Self {
        let own = trace.unread().filter(|(_, one)| one.scan == scan);
        let columns = own.map(|(column, one)| FetchedColumn { column, output: one.output });
        Self { scan: trace.scans[scan].scan, columns: columns.collect() }
    }

    fn is_worth_it(&self, columns_min: usize) -> bool {
        let is_string = |one: &FetchedColumn| {
            let column = self.scan.columns[one.output];
            ValueClass::of(self.scan.snapshot.table().column_type(column)) == ValueClass::Bytes
        };
        self.columns.len() >= columns_min || self.columns.iter().any(is_string)
    }
}
