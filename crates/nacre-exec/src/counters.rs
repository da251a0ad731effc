//! What operators count while a query runs, for EXPLAIN ANALYZE.
//!
//! Sub-operators of pipelines count in [`OperatorCounters`], scans in [`ScanCounters`]; what an
//! operator of the plan did as a whole is in [`NodeCounters`], if it is measured; [`clock`] says
//! whose time passes.
//!
//! # Concurrency
//! Workers add; whoever reports reads, at the end or meanwhile.

mod clock;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use nacre_column::Format;

pub(crate) use clock::OperatorTime;

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

/// Bytes and files that an operator wrote.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct SpillReport {
    pub(crate) bytes: u64,
    pub(crate) files: u64,
}

/// Counts of a measured operator of a plan, of all executions.
#[derive(Debug, Default)]
pub struct NodeCounters {
    rows: AtomicU64,
    bytes: AtomicU64,
    nanoseconds: AtomicU64,
    spilled_bytes: AtomicU64,
    spilled_files: AtomicU64,
    /// Of the scan that the operator is.
    scan: Arc<ScanCounters>,
}

/// Counts of a scan.
#[derive(Debug, Default)]
pub struct ScanCounters {
    chunks: AtomicU64,
    chunks_left: AtomicU64,
    chunks_answered: AtomicU64,
    rows_read: AtomicU64,
    /// Blocks opened, by format and replica.
    blocks: Mutex<BTreeMap<(String, u8), BlockCount>>,
}

#[derive(Debug, Default)]
struct BlockCount {
    count: u64,
    bytes: u64,
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

/// What a measured operator counted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NodeReport {
    /// Handed on.
    pub rows: u64,
    /// Of all workers together, without that of its inputs.
    pub time: Duration,
    /// Memory that it held at most.
    pub bytes: u64,
    /// Written to temporary files.
    pub spilled_bytes: u64,
    pub spilled_files: u64,
    /// Of the scan that it is; without chunks for any other operator.
    pub scan: ScanReport,
}

/// What a scan counted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ScanReport {
    pub chunks: u64,
    /// Left out because of their aggregates.
    pub chunks_pruned: u64,
    /// Not read because their aggregates said what was asked for.
    pub chunks_answered: u64,
    pub rows_read: u64,
    /// Blocks opened, by format and replica.
    pub blocks: Vec<BlockReport>,
}

/// The blocks of a format that a scan opened in a replica.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlockReport {
    /// `unknown` if a block does not say it.
    pub format: String,
    pub replica: u8,
    pub count: u64,
    pub bytes: u64,
}

impl SpillReport {
    /// Returns the sum of both.
    pub(crate) fn plus(self, other: Self) -> Self {
        Self { bytes: self.bytes + other.bytes, files: self.files + other.files }
    }
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

impl NodeCounters {
    /// Adds rows that are handed on.
    pub(crate) fn add_rows(&self, rows: usize) {
        // ORDERING: figures; nothing depends on their order.
        self.rows.fetch_add(rows as u64, Ordering::Relaxed);
    }

    /// Adds time that a thread has worked for the operator.
    fn add_time(&self, time: Duration) {
        // ORDERING: as in `add_rows`.
        self.nanoseconds.fetch_add(time.as_nanos() as u64, Ordering::Relaxed);
    }

    /// Notes memory that the operator holds, and what it wrote to temporary files so far.
    pub(crate) fn note_held(&self, bytes: usize, spilled: SpillReport) {
        // ORDERING: as in `add_rows`.
        self.bytes.fetch_max(bytes as u64, Ordering::Relaxed);
        self.spilled_bytes.fetch_max(spilled.bytes, Ordering::Relaxed);
        self.spilled_files.fetch_max(spilled.files, Ordering::Relaxed);
    }

    /// Returns where the scan that the operator is counts.
    pub(crate) fn scan(&self) -> &Arc<ScanCounters> {
        &self.scan
    }

    /// Forgets all, for a query that runs again.
    pub(crate) fn reset(&self) {
        // ORDERING: as in `add_rows`; no worker counts meanwhile.
        let Self { rows, bytes, nanoseconds, spilled_bytes, spilled_files, scan } = self;
        for count in [rows, bytes, nanoseconds, spilled_bytes, spilled_files] {
            count.store(0, Ordering::Relaxed);
        }
        scan.reset();
    }

    /// Returns the counts; those of memory and files once the query has reported.
    pub fn report(&self) -> NodeReport {
        // ORDERING: as in `add_rows`.
        let get = |count: &AtomicU64| count.load(Ordering::Relaxed);
        NodeReport {
            rows: get(&self.rows),
            time: Duration::from_nanos(get(&self.nanoseconds)),
            bytes: get(&self.bytes),
            spilled_bytes: get(&self.spilled_bytes),
            spilled_files: get(&self.spilled_files),
            scan: self.scan.report(),
        }
    }
}

impl ScanCounters {
    pub(crate) fn note_chunks(&self, all: usize, left: usize) {
        // ORDERING: figures; nothing depends on their order.
        self.chunks.fetch_add(all as u64, Ordering::Relaxed);
        self.chunks_left.fetch_add(left as u64, Ordering::Relaxed);
    }

    pub(crate) fn note_answered(&self, chunks: usize) {
        // ORDERING: as above.
        self.chunks_answered.fetch_add(chunks as u64, Ordering::Relaxed);
    }

    pub(crate) fn note_rows_read(&self, rows: usize) {
        // ORDERING: as above.
        self.rows_read.fetch_add(rows as u64, Ordering::Relaxed);
    }

    pub(crate) fn note_block(&self, format: Option<Format>, replica: u8, bytes: usize) {
        let name = format.map_or_else(|| "unknown".to_owned(), |format| format.to_string());
        let mut blocks = self.blocks.lock().unwrap_or_else(PoisonError::into_inner);
        let own = blocks.entry((name, replica)).or_default();
        own.count += 1;
        own.bytes += bytes as u64;
    }

    fn reset(&self) {
        // ORDERING: as above.
        for count in [&self.chunks, &self.chunks_left, &self.chunks_answered, &self.rows_read] {
            count.store(0, Ordering::Relaxed);
        }
        self.blocks.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }

    /// Returns the counts.
    pub(crate) fn report(&self) -> ScanReport {
        // ORDERING: as above.
        let get = |count: &AtomicU64| count.load(Ordering::Relaxed);
        let blocks = self.blocks.lock().unwrap_or_else(PoisonError::into_inner);
        let blocks = blocks.iter().map(|((format, replica), BlockCount { count, bytes })| {
            let (format, replica, count, bytes) = (format.clone(), *replica, *count, *bytes);
            BlockReport { format, replica, count, bytes }
        });
        let chunks = get(&self.chunks);
        ScanReport {
            chunks,
            chunks_pruned: chunks - get(&self.chunks_left),
            chunks_answered: get(&self.chunks_answered),
            rows_read: get(&self.rows_read),
            blocks: blocks.collect(),
        }
    }
}
