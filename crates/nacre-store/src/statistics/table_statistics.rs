//! Statistics of a table as a snapshot sees it.

use std::sync::Arc;

use nacre_column::Bound;

use super::column_summary::ColumnSummary;
use super::quantile_points::equal_parts;
use super::statistics_cache::{AnalyzedChunks, MergedColumn};
use crate::hot::{HotChunkRef, HotColumnRange};
use crate::table::TableSnapshot;

/// Of this part of the values being different ones, their number is taken to grow with the rows.
const SCALING_PART: f64 = 0.1;

/// From this part on all values are taken for different ones: it is within a sketch's error.
const UNIQUE_PART: f64 = 0.9;

/// Statistics of a table, merged; cheap to make for every query.
#[derive(Clone, Debug)]
pub struct TableStatistics {
    frozen: Arc<[MergedColumn]>,
    hot: Vec<HotChunkRef>,
    analyzed: Arc<AnalyzedChunks>,
}

/// Estimates of a column. All may be stale; no bound is, unless a load cannot be opened.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ColumnEstimates {
    /// The least and the greatest number as they are stored; no value lies outside of them, but NaN
    /// may be there.
    pub bounds: Option<(Bound, Bound)>,
    /// The part of the rows that are null, of 1.
    pub null_fraction: Option<f64>,
    /// How many different values there are.
    pub distinct: Option<f64>,
    /// The rows that the others are of; it may differ from those of a snapshot.
    pub rows: u64,
    /// Average bytes of a string.
    pub string_bytes: Option<f64>,
    /// Numbers as they are stored, ascending, between any two of which lie as many rows; none for
    /// strings and if nothing is known.
    pub quantiles: Vec<f64>,
}

impl TableSnapshot {
    /// Returns the statistics of the table; reads no block. The first time they are merged from the
    /// directories of loads.
    pub fn statistics(&self) -> TableStatistics {
        let (table, loads) = (self.table(), self.loads());
        let is_current = Arc::ptr_eq(&table.loads(), loads);
        let cache = table.statistics();
        TableStatistics {
            frozen: cache.merged(loads, table.definition().columns.len(), is_current),
            hot: self.hot_chunks().to_vec(),
            analyzed: cache.analyzed(),
        }
    }
}

impl TableStatistics {
    /// Returns estimates of a column.
    ///
    /// # Panics
    /// If the table has no such column.
    pub fn column(&self, column: usize) -> ColumnEstimates {
        let frozen = &self.frozen[column];
        if self.hot.is_empty() {
            return frozen.estimates.clone();
        }
        let mut summary = frozen.summary.clone();
        let mut unread_rows = 0;
        for chunk in &self.hot {
            unread_rows += self.add_hot(&mut summary, chunk, column);
        }
        ColumnEstimates::of(&summary, unread_rows)
    }

    /// Adds a hot chunk; returns how many of its rows no ANALYZE has seen.
    fn add_hot(&self, summary: &mut ColumnSummary, chunk: &HotChunkRef, column: usize) -> u64 {
        let bounds = match chunk.range(column) {
            HotColumnRange::Within { min, max } => Some((Bound::Int(min), Bound::Int(max))),
            HotColumnRange::WithinFloats { min, max } => {
                Some((Bound::Float(min), Bound::Float(max)))
            }
            HotColumnRange::Empty => None,
            HotColumnRange::Unknown => {
                summary.has_unbounded = true;
                None
            }
        };
        let analyzed = self.analyzed.hot.get(&chunk.id());
        let known = analyzed.and_then(|columns| columns[column].as_ref());
        let unread = chunk.rows() as u64;
        let unread = unread.saturating_sub(known.map_or(0, |known| known.rows));
        if let Some(known) = known {
            let has_unbounded = summary.has_unbounded;
            summary.merge(known);
            // Its bounds are those of the chunk.
            summary.has_unbounded = has_unbounded;
        }
        if let Some((min, max)) = bounds {
            summary.widen(min, max);
            // At least the bounds, which a sample need not have.
            summary.spread(min, max, unread.max(1) as f64);
        }
        unread
    }
}

impl ColumnEstimates {
    /// Makes estimates of a column of which `unread_rows` more are there.
    pub(super) fn of(summary: &ColumnSummary, unread_rows: u64) -> Self {
        let (rows, sketched) = (summary.rows, summary.sketched_values);
        let bounds = summary.bounds.filter(|_| !summary.has_unbounded);
        let average = |sum: u64, count: u64| (count > 0).then(|| sum as f64 / count as f64);
        let distinct = || {
            let counted = summary.distinct.estimate().min(sketched as f64);
            let part = counted / sketched as f64;
            let values = (rows.saturating_sub(summary.nulls) + unread_rows) as f64;
            let scaled = match part {
                _ if part >= UNIQUE_PART => values,
                _ if part > SCALING_PART => values * part,
                _ => counted,
            };
            scaled.max(counted).min(values_within(bounds))
        };
        Self {
            bounds,
            null_fraction: average(summary.nulls, rows),
            distinct: (sketched > 0).then(distinct),
            rows: rows + unread_rows,
            string_bytes: average(summary.string_bytes, sketched),
            quantiles: equal_parts(&summary.points),
        }
    }
}

/// Returns how many whole numbers the bounds leave room for.
fn values_within(bounds: Option<(Bound, Bound)>) -> f64 {
    match bounds {
        Some((Bound::Int(min), Bound::Int(max))) => max as f64 - min as f64 + 1.0,
        _ => f64::INFINITY,
    }
}
