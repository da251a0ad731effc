//! What operators count while a query runs, for EXPLAIN ANALYZE.
//!
//! # Concurrency
//! Workers add; whoever reports reads, at the end or meanwhile.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use nacre_column::Format;

use crate::spill::SpillReport;

/// Counts of one operator, or of one sub-operator of a pipeline.
#[derive(Debug, Default)]
pub struct OperatorCounters {
    rows_in: AtomicU64,
    rows_out: AtomicU64,
    bytes: AtomicU64,
    nanoseconds: AtomicU64,
    spilled_bytes: AtomicU64,
    spilled_files: AtomicU64,
}

/// Counts of a scan.
#[derive(Debug, Default)]
pub struct ScanCounters {
    chunks: AtomicU64,
    chunks_left: AtomicU64,
    rows_read: AtomicU64,
    /// Blocks opened, by format and replica.
    blocks: Mutex<BTreeMap<(String, u8), u64>>,
}

/// What an operator counted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OperatorReport {
    pub name: &'static str,
    pub rows_in: u64,
    pub rows_out: u64,
    /// Memory that it held at most.
    pub bytes: u64,
    /// Of all workers together.
    pub time: Duration,
    /// Written to temporary files.
    pub spilled_bytes: u64,
    pub spilled_files: u64,
}

/// What a scan counted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ScanReport {
    pub chunks: u64,
    /// Left out because of their aggregates.
    pub chunks_pruned: u64,
    pub rows_read: u64,
    /// Blocks opened, by format (or `unknown`) and replica.
    pub blocks: Vec<(String, u8, u64)>,
}

impl OperatorCounters {
    /// Adds a batch.
    pub(crate) fn add(&self, rows_in: usize, rows_out: usize, time: Duration) {
        // ORDERING: figures; nothing depends on their order.
        self.rows_in.fetch_add(rows_in as u64, Ordering::Relaxed);
        self.rows_out.fetch_add(rows_out as u64, Ordering::Relaxed);
        self.nanoseconds.fetch_add(time.as_nanos() as u64, Ordering::Relaxed);
    }

    /// Notes that the operator holds so much memory.
    pub(crate) fn note_bytes(&self, bytes: usize) {
        // ORDERING: as in `add`.
        self.bytes.fetch_max(bytes as u64, Ordering::Relaxed);
    }

    /// Notes what the operator wrote to temporary files so far.
    pub(crate) fn note_spilled(&self, spilled: SpillReport) {
        // ORDERING: as in `add`.
        self.spilled_bytes.fetch_max(spilled.bytes, Ordering::Relaxed);
        self.spilled_files.fetch_max(spilled.files, Ordering::Relaxed);
    }

    /// Returns the counts.
    pub(crate) fn report(&self, name: &'static str) -> OperatorReport {
        // ORDERING: as in `add`.
        let get = |count: &AtomicU64| count.load(Ordering::Relaxed);
        OperatorReport {
            name,
            rows_in: get(&self.rows_in),
            rows_out: get(&self.rows_out),
            bytes: get(&self.bytes),
            time: Duration::from_nanos(get(&self.nanoseconds)),
            spilled_bytes: get(&self.spilled_bytes),
            spilled_files: get(&self.spilled_files),
        }
    }
}

impl ScanCounters {
    pub(crate) fn note_chunks(&self, all: usize, left: usize) {
        // ORDERING: figures; nothing depends on their order.
        self.chunks.fetch_add(all as u64, Ordering::Relaxed);
        self.chunks_left.fetch_add(left as u64, Ordering::Relaxed);
    }

    pub(crate) fn note_rows_read(&self, rows: usize) {
        // ORDERING: as above.
        self.rows_read.fetch_add(rows as u64, Ordering::Relaxed);
    }

    pub(crate) fn note_block(&self, format: Option<Format>, replica: u8) {
        let name = format.map_or_else(|| "unknown".to_owned(), |format| format.to_string());
        let mut blocks = self.blocks.lock().unwrap_or_else(PoisonError::into_inner);
        *blocks.entry((name, replica)).or_default() += 1;
    }

    /// Returns the counts.
    pub(crate) fn report(&self) -> ScanReport {
        // ORDERING: as above.
        let get = |count: &AtomicU64| count.load(Ordering::Relaxed);
        let blocks = self.blocks.lock().unwrap_or_else(PoisonError::into_inner);
        let blocks =
            blocks.iter().map(|((format, replica), count)| (format.clone(), *replica, *count));
        let chunks = get(&self.chunks);
        ScanReport {
            chunks,
            chunks_pruned: chunks - get(&self.chunks_left),
            rows_read: get(&self.rows_read),
            blocks: blocks.collect(),
        }
    }
}
