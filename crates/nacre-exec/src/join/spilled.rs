//! Joins whose build side does not fit in memory.
//!
//! 1. A worker whose memory is used up writes its rows of the build side to a file, by partition.
//!    When one has done so, all rows of the build side go to files, and there is no table.
//! 2. Rows of the probe side go to files by the same partitions, with their key words, instead of
//!    through the table ([`SpilledJoin::add_probe`]).
//! 3. One more stage joins the partitions, a morsel each ([`SpilledJoinSource`]): the build side's
//!    blocks become a table, those of the probe side are its vectors. Rows of the build side that
//!    come out alone do so at the end of their partition.
//! 4. A build side that still does not fit is split with its probe side by the next bits. If that
//!    does not help, as for one key of many rows, the table is made of some of the rows at a time,
//!    and the probe side is read for each.
//!
//! # Memory
//! Beside the shares of [`OperatorSpill::hold`] a worker needs 4 KiB to split a part, a block of
//! up to 8,192 rows of either side, and the rows of a part that cannot be split; all workers
//! together need the strings of keys that the join numbers, which stay in memory. Nothing else
//! has a least size.
//!
//! # Invariants
//! 1. Rows with equal keys are in the same partition of both sides.
//! 2. The last way is open only where a row of the probe side need not know of all its partners at
//!    once ([`takes_some_at_a_time`]); else the query ends with [`ExecError::OutOfMemory`].

use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use nacre_simd::Flavour;

use super::build::{JoinBuildSink, make_table};
use super::chunk::{CHUNK_ROWS, JoinChunk};
use super::pairs::PairScratch;
use super::parts::{JoinPartWriter, LEVELS, PARTS, SideRows, read_chunk, split_blocks};
use super::plan::JoinPlan;
use super::probe::{ProbeVector, join_vector};
use super::remainder::next_remainder;
use super::table::JoinTable;
use crate::control::QueryControl;
use crate::error::{ExecError, ExecResult};
use crate::interpret::StepInterpreter;
use crate::memory::{MemoryBudget, MemoryReservation};
use crate::pipeline::{PipelineSource, SlotId, SourceRun, StageContext};
use crate::plan::PairingKind;
use crate::spill::{OperatorSpill, SpillExtent, empty_columns};
use crate::vector::{ColumnVector, VectorBatch};

/// Both sides of a join in files.
#[derive(Debug)]
pub(super) struct SpilledJoin {
    spill: Arc<OperatorSpill>,
    /// By partition.
    build: Vec<Vec<SpillExtent>>,
    /// Those of morsels that have ended; a morsel takes one or makes one.
    probes: Mutex<Vec<ProbeWriter>>,
    probe_slots: Vec<SlotId>,
    probe_models: Vec<ColumnVector>,
    build_models: Vec<ColumnVector>,
}

/// Writes rows of the probe side.
#[derive(Debug)]
pub(super) struct ProbeWriter {
    parts: JoinPartWriter,
    reservation: MemoryReservation,
}

/// A partition, or a part of one.
#[derive(Debug, Default)]
struct JoinPart {
    build: Vec<SpillExtent>,
    probe: Vec<SpillExtent>,
    level: u32,
}

/// The partitions of a join in files; no morsels if it is in memory.
#[derive(Debug)]
pub(crate) struct SpilledJoinSource {
    sink: Arc<JoinBuildSink>,
    flavour: Flavour,
    budget: Arc<MemoryBudget>,
    control: Arc<QueryControl>,
    /// Set when the first morsel is opened: the probe side, by partition.
    probe: Mutex<Option<Vec<Vec<SpillExtent>>>>,
}

/// A partition that is being joined.
#[derive(Debug)]
struct SpilledJoinRun {
    sink: Arc<JoinBuildSink>,
    waiting: Vec<JoinPart>,
    open: Option<OpenPart>,
    vector: ProbeVector,
    pairs: PairScratch,
    interpreter: StepInterpreter,
    scratch: Vec<u8>,
}

/// A part whose table is there.
#[derive(Debug)]
struct OpenPart {
    table: JoinTable,
    probe: Vec<SpillExtent>,
    next_probe: usize,
    /// Rows of the table that may still come out alone.
    remainder: Range<usize>,
    found: Vec<u32>,
    /// Blocks of the build side that the table had no room for.
    build_left: Vec<SpillExtent>,
    _reservation: MemoryReservation,
}

/// Whether rows of the probe side may meet their partners a few at a time.
fn takes_some_at_a_time(kind: PairingKind) -> bool {
    use PairingKind as K;
    matches!(kind, K::Inner | K::BuildOuter | K::BuildSemi | K::BuildAnti)
}

/// Returns the slots of the probe side that are read after the table was asked.
fn probe_slots(plan: &JoinPlan) -> Vec<SlotId> {
    let mut slots: Vec<SlotId> = plan.columns().probe.iter().map(|(_, slot)| *slot).collect();
    let read = plan.residual.iter().flat_map(|residual| &residual.inputs);
    slots.extend(read.filter_map(|column| plan.probe.slots.get(*column)));
    slots.sort_unstable();
    slots.dedup();
    slots
}

impl SpilledJoin {
    /// Makes it of the build side's partitions.
    pub(super) fn new(
        plan: &JoinPlan,
        spill: &Arc<OperatorSpill>,
        build: Vec<Vec<SpillExtent>>,
    ) -> Self {
        let probe_slots = probe_slots(plan);
        let infos = plan.probe.slots.iter().zip(&plan.probe.infos);
        let info =
            |slot: &SlotId| infos.clone().find(|(own, _)| *own == slot).map(|(_, info)| info);
        let probe_models = empty_columns(probe_slots.iter().filter_map(info));
        debug_assert_eq!(probe_models.len(), probe_slots.len());
        let stored = plan.columns().stored.iter();
        let build_models = empty_columns(stored.map(|column| &plan.build.infos[*column]));
        let (spill, probes) = (Arc::clone(spill), Mutex::default());
        Self { spill, build, probes, probe_slots, probe_models, build_models }
    }

    /// Makes it of the same build side for the probe side of another plan.
    pub(super) fn of_other_probe(&self, plan: &JoinPlan) -> Self {
        Self::new(plan, &self.spill, self.build.clone())
    }

    fn take_writer(&self, plan: &JoinPlan) -> ExecResult<ProbeWriter> {
        let taken = self.probes.lock().unwrap_or_else(PoisonError::into_inner).pop();
        if let Some(writer) = taken {
            return Ok(writer);
        }
        let parts = JoinPartWriter::new(&self.spill, plan.key_words, 0)?;
        Ok(ProbeWriter { parts, reservation: self.spill.reservation("join") })
    }

    /// Writes a vector of the probe side whose key words are there.
    ///
    /// # Errors
    /// Those of files.
    pub(super) fn add_probe(&self, plan: &JoinPlan, vector: &ProbeVector) -> ExecResult<()> {
        let mut writer = self.take_writer(plan)?;
        let batch = &vector.batch;
        let columns: Vec<_> = self.probe_slots.iter().map(|slot| &batch.columns[*slot]).collect();
        let (keys, has_key) = vector.key_words();
        let is_selected = |row: &usize| batch.selected_bits().is_none_or(|bits| bits.get(*row));
        // A row without a key comes out if rows without a partner do.
        let is_wanted = |row: &usize| !plan.needs_partner() || has_key.get(*row);
        let rows = SideRows { columns: &columns, keys, has_key };
        writer.parts.add(rows, (0..batch.rows).filter(is_selected).filter(is_wanted))?;
        let bytes = writer.parts.bytes();
        if !self.spill.hold(&mut writer.reservation, bytes) {
            writer.parts.flush()?;
            writer.reservation.resize(0)?;
        }
        self.probes.lock().unwrap_or_else(PoisonError::into_inner).push(writer);
        Ok(())
    }

    /// Ends the probe side; returns its partitions.
    fn end_probe(&self) -> ExecResult<Vec<Vec<SpillExtent>>> {
        let mut all = vec![Vec::new(); PARTS];
        let writers =
            std::mem::take(&mut *self.probes.lock().unwrap_or_else(PoisonError::into_inner));
        for mut writer in writers {
            writer.parts.flush()?;
            for (to, from) in all.iter_mut().zip(writer.parts.into_extents()) {
                to.extend(from);
            }
        }
        Ok(all)
    }
}

impl SpilledJoinSource {
    pub(crate) fn new(sink: &Arc<JoinBuildSink>, context: &StageContext) -> Self {
        Self {
            sink: Arc::clone(sink),
            flavour: context.flavour,
            budget: Arc::clone(&context.budget),
            control: Arc::clone(&context.control),
            probe: Mutex::default(),
        }
    }
}

impl PipelineSource for SpilledJoinSource {
    fn name(&self) -> &'static str {
        "join of files"
    }

    fn is_idle(&self) -> bool {
        self.sink.spilled().is_none()
    }

    fn morsel_count(&self) -> usize {
        if self.is_idle() { 0 } else { PARTS }
    }

    fn open(&self, morsel: usize) -> ExecResult<Box<dyn SourceRun>> {
        let missing = || ExecError::internal("a join that is not in files");
        let spilled = self.sink.spilled().ok_or_else(missing)?;
        let mut probe = self.probe.lock().unwrap_or_else(PoisonError::into_inner);
        let parts = match &mut *probe {
            Some(parts) => parts,
            none => none.insert(spilled.end_probe()?),
        };
        let probe = std::mem::take(&mut parts[morsel]);
        let part = JoinPart { build: spilled.build[morsel].clone(), probe, level: 0 };
        let slots = spilled.probe_slots.iter().max().map_or(0, |slot| slot + 1);
        let columns = (0..slots).map(|_| ColumnVector::default()).collect();
        let batch = VectorBatch { columns, rows: 0, selection: None };
        Ok(Box::new(SpilledJoinRun {
            waiting: vec![part],
            open: None,
            vector: ProbeVector::new(batch),
            pairs: PairScratch::new(self.sink.plan()),
            interpreter: StepInterpreter::new(self.flavour, &self.budget, &self.control),
            scratch: Vec::new(),
            sink: Arc::clone(&self.sink),
        }))
    }
}

impl SpilledJoinRun {
    /// Makes the table of the next part if anything may come of it, or splits it; false if there is
    /// none.
    fn open_part(&mut self, spilled: &SpilledJoin) -> ExecResult<bool> {
        let sink = Arc::clone(&self.sink);
        let plan = sink.plan();
        let Some(part) = self.waiting.pop() else { return Ok(false) };
        let has_build_rows = plan.ends_with_build() && !part.build.is_empty();
        let has_pairs = !part.build.is_empty() && !part.probe.is_empty();
        let has_probe_rows = !plan.needs_partner() && !part.probe.is_empty();
        if has_build_rows || has_pairs || has_probe_rows {
            self.make_part(spilled, plan, part)?;
        }
        Ok(true)
    }

    /// Makes the table of a part, or splits it.
    fn make_part(
        &mut self,
        spilled: &SpilledJoin,
        plan: &JoinPlan,
        part: JoinPart,
    ) -> ExecResult<()> {
        let (spill, models) = (&spilled.spill, &spilled.build_models);
        let mut reservation = spill.reservation("join");
        let mut chunks: Vec<JoinChunk> = Vec::new();
        let (mut bytes, mut rows, mut taken) = (0, 0, 0);
        for extent in &part.build {
            spill.check()?;
            let chunk = read_chunk(extent, plan.key_words, models, &mut self.scratch)?;
            let more = chunk.bytes();
            // The index has 24 bytes a row at most, and chunks are copied one by one.
            let needed = bytes + more + (rows + chunk.rows) * INDEX_ROW_BYTES;
            if !spill.hold(&mut reservation, needed) {
                if part.level + 1 < LEVELS {
                    drop((chunks, reservation));
                    return self.split_part(spilled, plan, &part);
                }
                if chunks.is_empty() || !takes_some_at_a_time(plan.kind) {
                    reservation.resize(needed)?;
                } else {
                    break;
                }
            }
            (bytes, rows, taken) = (bytes + more, rows + chunk.rows, taken + 1);
            push_chunk(&mut chunks, chunk, plan.key_words);
        }
        let none = spill.reservation("join");
        let table = make_table(plan, chunks, None, none, spill.control())?;
        for chunk in 0..table.keys.len() {
            spill.check()?;
            table.insert_chunk(chunk);
        }
        let remainder = if plan.ends_with_build() { 0..table.rows } else { 0..0 };
        self.open = Some(OpenPart {
            table,
            probe: part.probe,
            next_probe: 0,
            remainder,
            found: Vec::new(),
            build_left: part.build[taken..].to_vec(),
            _reservation: reservation,
        });
        Ok(())
    }

    /// Splits both sides of a part.
    fn split_part(
        &mut self,
        spilled: &SpilledJoin,
        plan: &JoinPlan,
        part: &JoinPart,
    ) -> ExecResult<()> {
        let (spill, words, level) = (&spilled.spill, plan.key_words, part.level + 1);
        let build = split_blocks(spill, &part.build, words, &spilled.build_models, level)?;
        let probe = split_blocks(spill, &part.probe, words, &spilled.probe_models, level)?;
        let parts = build.into_iter().zip(probe);
        self.waiting.extend(parts.map(|(build, probe)| JoinPart { build, probe, level }));
        Ok(())
    }

    /// Ends a part whose rows have all come out.
    fn close_part(&mut self) {
        let Some(OpenPart { probe, build_left, .. }) = self.open.take() else { return };
        if !build_left.is_empty() {
            self.waiting.push(JoinPart { build: build_left, probe, level: LEVELS - 1 });
        }
    }
}

/// Bytes of a row in the index of a table: up to 4 slots of 4 bytes each, links, and a mark.
const INDEX_ROW_BYTES: usize = 4 * 8 + 4 + 4 + 1;

/// Appends a chunk, so that all but the last are full.
fn push_chunk(chunks: &mut Vec<JoinChunk>, chunk: JoinChunk, stride: usize) {
    let columns = || chunk.columns.iter();
    let all: Vec<u16> = (0..chunk.rows as u16).collect();
    let mut rest = all.as_slice();
    while !rest.is_empty() {
        if chunks.last().is_none_or(|last| last.rows == CHUNK_ROWS) {
            chunks.push(JoinChunk::new(columns()));
        }
        let Some(last) = chunks.last_mut() else { return };
        let (some, later) = rest.split_at(rest.len().min(CHUNK_ROWS - last.rows));
        last.append(columns(), &chunk.keys, &chunk.has_key, stride, some);
        rest = later;
    }
}

impl SourceRun for SpilledJoinRun {
    fn next(&mut self, batch: &mut VectorBatch) -> ExecResult<bool> {
        (batch.rows, batch.selection) = (0, None);
        let sink = Arc::clone(&self.sink);
        let missing = || ExecError::internal("a join that is not in files");
        let (plan, spilled) = (sink.plan(), sink.spilled().ok_or_else(missing)?);
        if self.open.is_none() {
            // Others may want the thread before its rows are joined.
            return self.open_part(spilled);
        }
        let Self { open, vector, pairs, interpreter, scratch, .. } = self;
        let Some(part) = open else { return Ok(false) };
        if !vector.is_open {
            let Some(extent) = part.probe.get(part.next_probe) else {
                let (table, found) = (&part.table, &mut part.found);
                if !next_remainder(plan, table, &mut part.remainder, found, batch) {
                    self.close_part();
                }
                return Ok(true);
            };
            part.next_probe += 1;
            let chunk = read_chunk(extent, plan.key_words, &spilled.probe_models, scratch)?;
            vector.restore(chunk, plan.key_words, &spilled.probe_slots);
            vector.find(&part.table);
        }
        join_vector(plan, &part.table, vector, pairs, interpreter, batch)?;
        Ok(true)
    }
}
