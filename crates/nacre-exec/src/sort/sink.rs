//! The end of a pipeline that sorts.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use super::gate::LimitGate;
use super::key::append_part;
use super::run::SortRun;
use super::spilled::{RunSpill, SpilledMerge, SpilledRun};
use crate::control::QueryControl;
use crate::counters::SpillReport;
use crate::error::{ExecError, ExecResult};
use crate::memory::MemoryReservation;
use crate::pipeline::{PipelineSink, SinkRoom, SlotId, SlotInfo, StageContext, WorkerSlots};
use crate::plan::SortKey;
use crate::scan::TopBound;
use crate::spill::{OperatorSpill, SpillWriter};
use crate::vector::{DictionaryReaders, VectorBatch};

/// Rows of a run.
const RUN_ROWS: usize = 65_536;

/// Bytes of the keys of a run: offsets have 32 bits.
const RUN_KEY_BYTES: usize = 1 << 30;

/// Most rows of a top-k; more are sorted in full.
pub(crate) const TOP_ROWS_MAX: u64 = 65_536;

/// A column to sort by, and whether it may be null.
#[derive(Clone, Copy, Debug)]
struct SortColumn {
    key: SortKey,
    is_nullable: bool,
}

/// The order of rows, and how many of them are wanted.
#[derive(Clone, Debug, Default)]
pub(crate) struct SortOrder {
    pub(crate) keys: Vec<SortKey>,
    /// `None` for all.
    pub(crate) rows_max: Option<u64>,
    /// What a top-k tells the scan below.
    pub(crate) bound: Option<Arc<TopBound>>,
}

/// Bytes of batches beyond which the rows of a top-k are copied together.
const TOP_BYTES_MAX: usize = 16 << 20;

/// Sorted runs of all workers.
#[derive(Debug)]
pub(crate) struct SortSink {
    keys: Vec<SortColumn>,
    slots: Vec<SlotId>,
    pub(super) rows_max: u64,
    /// Rows that are kept of a top-k.
    top_rows: Option<usize>,
    gate: Option<Arc<LimitGate>>,
    locals: WorkerSlots<LocalRuns>,
    control: Arc<QueryControl>,
    /// Start of the last key that a top-k may still take; only falls. Workers that are late take
    /// rows in vain, no more.
    bound: AtomicU64,
    /// The same for the scan that the rows come from.
    scan_bound: Option<Arc<TopBound>>,
    runs: OnceLock<Vec<SortRun>>,
    /// If it may spill.
    spill: Option<RunSpill>,
    /// Set instead of `runs` if a worker has spilled.
    spilled: OnceLock<Vec<SpilledRun>>,
}

/// Runs of one worker.
#[derive(Debug)]
struct LocalRuns {
    open: SortRun,
    /// Rows of `open` when a top-k last kept the best ones.
    kept_rows: usize,
    sorted: Vec<SortRun>,
    sorted_bytes: usize,
    reservation: MemoryReservation,
    /// What went to files, and where the next run goes.
    spilled: Vec<SpilledRun>,
    writer: Option<SpillWriter>,
}

impl SortSink {
    pub(crate) fn new(
        order: SortOrder,
        slots: Vec<SlotId>,
        infos: &[SlotInfo],
        gate: Option<Arc<LimitGate>>,
        context: &StageContext,
    ) -> Self {
        let column = |key: SortKey| SortColumn { key, is_nullable: infos[key.column].is_nullable };
        let keys = order.keys.into_iter().map(column).collect();
        let rows_max = order.rows_max.unwrap_or(u64::MAX);
        let make = || LocalRuns {
            open: SortRun::default(),
            kept_rows: 0,
            sorted: Vec::new(),
            sorted_bytes: 0,
            reservation: context.budget.reservation("sort"),
            spilled: Vec::new(),
            writer: None,
        };
        let top_rows = (rows_max <= TOP_ROWS_MAX).then_some(rows_max as usize);
        let spill = OperatorSpill::new(context);
        Self {
            keys,
            slots,
            rows_max,
            top_rows,
            gate,
            locals: WorkerSlots::new(context.workers, make),
            control: Arc::clone(&context.control),
            bound: AtomicU64::new(u64::MAX),
            scan_bound: order.bound,
            runs: OnceLock::new(),
            spill: spill.map(|spill| RunSpill::new(spill, infos)),
            spilled: OnceLock::new(),
        }
    }

    /// Returns the way to files; `None` if the query has none.
    pub(crate) fn spill(&self) -> Option<&Arc<OperatorSpill>> {
        self.spill.as_ref().map(|spill| &spill.operator)
    }

    /// Returns how many rows there are that are not in files.
    pub(crate) fn rows_in_memory(&self) -> usize {
        let rows = |local: &LocalRuns| {
            local.open.len() + local.sorted.iter().map(SortRun::len).sum::<usize>()
        };
        self.locals.all().map(|local| rows(&local)).sum()
    }

    /// Ends as a sink does, with all rows in files.
    ///
    /// # Errors
    /// Those of files, and of a query that has none.
    pub(crate) fn finish_in_files(&self) -> ExecResult<()> {
        let spill = self.spill.as_ref();
        self.finish_spilled(spill.ok_or_else(|| ExecError::internal("a sort without files"))?)
    }

    /// Whether the rows are in files, once the pipeline has ended.
    pub(crate) fn is_spilled(&self) -> bool {
        self.spilled.get().is_some()
    }

    /// Begins to merge what is in files; `None` if all is in memory.
    ///
    /// # Errors
    /// Those of files and of memory.
    pub(crate) fn open_spilled(&self, operator: &'static str) -> ExecResult<Option<SpilledMerge>> {
        let (Some(spill), Some(runs)) = (&self.spill, self.spilled.get()) else { return Ok(None) };
        spill.merge(runs, operator).map(Some)
    }

    /// Reserves what a worker holds, or writes it to its file.
    fn reserve(&self, local: &mut LocalRuns) -> ExecResult<()> {
        let bytes = local.open.bytes() + local.sorted_bytes;
        match &self.spill {
            None => local.reservation.resize(bytes),
            Some(spill) if spill.operator.hold(&mut local.reservation, bytes) => Ok(()),
            Some(spill) => local.spill(spill),
        }
    }

    /// Writes what is left in memory, and merges runs until few are left.
    fn finish_spilled(&self, spill: &RunSpill) -> ExecResult<()> {
        let mut runs = Vec::new();
        for mut local in self.locals.all() {
            local.spill(spill)?;
            runs.append(&mut local.spilled);
        }
        let runs = spill.merge_many(runs)?;
        self.spilled.set(runs).map_err(|_| ExecError::internal("a sort ended twice"))
    }

    /// Returns the sorted runs, once the pipeline has ended.
    pub(crate) fn runs(&self) -> &[SortRun] {
        self.runs.get().map_or(&[], Vec::as_slice)
    }

    /// Returns how many columns the rows have.
    pub(super) fn columns(&self) -> usize {
        self.slots.len()
    }

    fn push_rows(&self, local: &mut LocalRuns, batch: &mut VectorBatch) {
        // ORDERING: a hint, see the field.
        let bound = self.bound.load(Ordering::Relaxed);
        let columns: Vec<_> =
            self.keys.iter().map(|one| &batch.columns[self.slots[one.key.column]]).collect();
        let dictionaries: Vec<_> = columns.iter().map(|one| one.dictionary.as_ref()).collect();
        let readers = DictionaryReaders::new(&dictionaries);
        let before = local.open.len();
        for row in 0..batch.rows {
            local.open.push_row(row, |out| {
                for (at, SortColumn { key, is_nullable }) in self.keys.iter().enumerate() {
                    append_part(key, columns[at], *is_nullable, readers.of(at), row, out);
                }
            });
            if self.top_rows.is_some() && local.open.last_prefix() > bound {
                local.open.pop_row();
            }
        }
        drop(readers);
        // A batch that a top-k takes no row of is not kept.
        if local.open.len() > before {
            local.open.push_batch(batch.take_columns(&self.slots));
        }
    }

    /// Keeps the best rows of a top-k and tells the others from when on rows come too late.
    fn keep_top(&self, local: &mut LocalRuns, rows: usize) {
        local.open.sort();
        local.open.truncate(rows);
        local.kept_rows = local.open.len();
        if local.kept_rows < rows {
            return;
        }
        // ORDERING: as above.
        self.bound.fetch_min(local.open.last_prefix(), Ordering::Relaxed);
        if let (Some(bound), [first, ..]) = (&self.scan_bound, self.keys.as_slice())
            && let Some(value) = local.open.last_value(first.key.column)
        {
            bound.narrow(local.open.key_at(rows - 1), &value);
        }
    }
}

impl LocalRuns {
    fn close_run(&mut self) {
        self.open.sort();
        self.sorted_bytes += self.open.bytes();
        self.sorted.push(std::mem::take(&mut self.open));
    }

    /// Writes all rows as one run, and gives their memory back.
    fn spill(&mut self, spill: &RunSpill) -> ExecResult<()> {
        if self.open.len() > 0 {
            self.close_run();
        }
        if !self.sorted.is_empty() {
            let writer = match &mut self.writer {
                Some(writer) => writer,
                none => none.insert(spill.operator.create()?),
            };
            self.spilled.push(spill.write(&self.sorted, writer)?);
        }
        (self.sorted, self.sorted_bytes, self.kept_rows) = (Vec::new(), 0, 0);
        self.reservation.resize(0)
    }
}

impl PipelineSink for SortSink {
    fn name(&self) -> &'static str {
        if self.top_rows.is_some() { "top" } else { "sort" }
    }

    fn consume(&self, worker: usize, batch: &mut VectorBatch) -> ExecResult<SinkRoom> {
        let is_satisfied = match &self.gate {
            Some(gate) => gate.pass(batch, &self.slots)?,
            None => false,
        };
        batch.compact(&self.slots);
        if batch.rows > 0 && self.top_rows != Some(0) {
            let mut local = self.locals.of(worker);
            self.push_rows(&mut local, batch);
            match self.top_rows {
                Some(rows)
                    if local.open.len() >= local.kept_rows + rows
                        || local.open.len() > rows && local.open.bytes() > TOP_BYTES_MAX
                        || local.open.key_bytes() >= RUN_KEY_BYTES =>
                {
                    self.keep_top(&mut local, rows);
                    let bytes = local.open.key_bytes();
                    if bytes >= 2 * RUN_KEY_BYTES {
                        // Places of keys have 32 bits.
                        return Err(ExecError::OutOfMemory {
                            operator: "top".into(),
                            setting: "the length of its keys",
                            bytes: bytes as u64,
                            bytes_max: 2 * RUN_KEY_BYTES as u64,
                        });
                    }
                }
                None if local.open.len() >= RUN_ROWS || local.open.key_bytes() >= RUN_KEY_BYTES => {
                    local.close_run();
                }
                _ => {}
            }
            self.reserve(&mut local)?;
        }
        Ok(if is_satisfied { SinkRoom::Satisfied } else { SinkRoom::More })
    }

    fn finish(&self) -> ExecResult<()> {
        // A negative LIMIT is an error of no rows, too.
        self.gate.as_ref().map_or(Ok(()), |gate| gate.range().map(drop))?;
        if let Some(spill) = &self.spill
            && self.locals.all().any(|local| !local.spilled.is_empty())
        {
            return self.finish_spilled(spill);
        }
        let mut runs = Vec::new();
        for mut local in self.locals.all() {
            self.control.check()?;
            if local.open.len() > 0 {
                local.close_run();
            }
            runs.append(&mut local.sorted);
        }
        self.runs.set(runs).map_err(|_| ExecError::internal("a sort ended twice"))
    }

    fn bytes(&self) -> usize {
        self.locals.all().map(|local| local.reservation.bytes()).sum()
    }

    fn spilled(&self) -> SpillReport {
        self.spill.as_ref().map_or_else(SpillReport::default, |spill| spill.operator.report())
    }
}
