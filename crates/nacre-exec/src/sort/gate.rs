//! What LIMIT and OFFSET let through.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::counters::NodeCounters;
use crate::pipeline::SlotId;
use crate::vector::{BitVector, VectorBatch};

/// Counts rows that come and lets those of a range through.
#[derive(Debug)]
pub(crate) struct LimitGate {
    /// Rows that came so far, of all workers.
    seen: AtomicU64,
    first: u64,
    end: u64,
    /// Of the LIMIT, if it is measured.
    counters: Option<Arc<NodeCounters>>,
}

impl LimitGate {
    pub(crate) fn new(
        offset: u64,
        rows_max: Option<u64>,
        counters: Option<Arc<NodeCounters>>,
    ) -> Self {
        let end = rows_max.map_or(u64::MAX, |rows| offset.saturating_add(rows));
        Self { seen: AtomicU64::new(0), first: offset, end, counters }
    }

    /// Leaves the rows of a batch that are in the range; `columns` are read later. Returns whether
    /// no more rows are wanted.
    pub(crate) fn pass(&self, batch: &mut VectorBatch, columns: &[SlotId]) -> bool {
        let rows = batch.selected_rows() as u64;
        // ORDERING: each worker gets a range of numbers of its own; that is all.
        let start = self.seen.fetch_add(rows, Ordering::Relaxed);
        if start < self.first || start + rows > self.end {
            let mut kept = BitVector::filled(batch.rows, false);
            let mut number = start;
            for row in 0..batch.rows {
                if batch.selected_bits().is_none_or(|bits| bits.get(row)) {
                    kept.set(row, (self.first..self.end).contains(&number));
                    number += 1;
                }
            }
            batch.narrow(kept, columns);
        }
        if let Some(counters) = &self.counters {
            counters.add_rows(batch.selected_rows());
        }
        start + rows >= self.end
    }
}
