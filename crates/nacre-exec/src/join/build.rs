//! The end of a pipeline that a join collects, and the stage that makes its table.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use super::chunk::{CHUNK_ROWS, JoinChunk};
use super::column::{ROWS_MAX, StoredColumn};
use super::keys::JoinKeyWords;
use super::parts::{JoinPartWriter, PARTS, SideRows};
use super::plan::{JoinPlan, JoinSide};
use super::spilled::SpilledJoin;
use super::table::{ChunkKeys, JoinIndexKind, JoinKeyRange, JoinTable, TableIndex};
use crate::control::QueryControl;
use crate::counters::SpillReport;
use crate::error::{ExecError, ExecResult};
use crate::memory::{MemoryBudget, MemoryReservation};
use crate::pipeline::{
    PipelineSink, PipelineSource, SinkRoom, SlotId, SourceRun, StageContext, WorkerSlots,
};
use crate::plan::JoinNode;
use crate::spill::OperatorSpill;
use crate::vector::{ColumnVector, VectorBatch};

/// Chunks that one morsel links: 65,536 rows.
const MORSEL_CHUNKS: usize = 65_536 / CHUNK_ROWS;

/// The rows of the build side, of all workers; at the end the table.
#[derive(Debug)]
pub(crate) struct JoinBuildSink {
    pub(super) plan: JoinPlan,
    locals: WorkerSlots<LocalRows>,
    /// Of the dictionaries of strings that the join numbers.
    interned: Mutex<MemoryReservation>,
    budget: Arc<MemoryBudget>,
    control: Arc<QueryControl>,
    /// The sink whose rows are shared, if this one has none of its own.
    shared: Option<Arc<Self>>,
    /// Set when the pipeline ends.
    table: OnceLock<JoinTable>,
    /// If it may spill.
    spill: Option<Arc<OperatorSpill>>,
    /// Set instead of `table` if a worker has spilled.
    spilled: OnceLock<SpilledJoin>,
}

/// Rows of one worker.
#[derive(Debug)]
struct LocalRows {
    full: Vec<JoinChunk>,
    full_bytes: usize,
    open: Option<JoinChunk>,
    keys: JoinKeyWords,
    /// If keys have one word.
    range: Option<JoinKeyRange>,
    reservation: MemoryReservation,
    /// What went to a file.
    spilled: Option<JoinPartWriter>,
}

/// Rows of all workers: chunks that are full but the last.
#[derive(Debug, Default)]
struct CollectedRows {
    chunks: Vec<JoinChunk>,
    range: Option<JoinKeyRange>,
}

impl JoinBuildSink {
    pub(crate) fn new(plan: JoinPlan, context: &StageContext) -> Self {
        // Without keys there are no partitions.
        let spill = OperatorSpill::new(context).filter(|_| plan.key_words > 0);
        Self::with_workers(plan, context.workers, spill, context)
    }

    /// Shares the rows of a sink, whose plan is a shared one, with another probe side; `None` if
    /// the keys of that have other words. It gets no rows of its own.
    ///
    /// # Errors
    /// As [`JoinPlan::new`].
    pub(crate) fn sharing(
        shared: &Arc<Self>,
        node: &JoinNode,
        probe: JoinSide,
        context: &StageContext,
    ) -> ExecResult<Option<Self>> {
        let plan = shared.plan.of_other_probe(node, probe)?;
        Ok(plan.map(|plan| {
            let shared = Some(Arc::clone(shared));
            Self { shared, ..Self::with_workers(plan, 0, None, context) }
        }))
    }

    fn with_workers(
        plan: JoinPlan,
        workers: usize,
        spill: Option<Arc<OperatorSpill>>,
        context: &StageContext,
    ) -> Self {
        let make = || LocalRows {
            full: Vec::new(),
            full_bytes: 0,
            open: None,
            keys: JoinKeyWords::default(),
            range: None,
            reservation: context.budget.reservation("join"),
            spilled: None,
        };
        Self {
            plan,
            locals: WorkerSlots::new(workers, make),
            interned: Mutex::new(context.budget.reservation("join")),
            budget: Arc::clone(&context.budget),
            control: Arc::clone(&context.control),
            shared: None,
            table: OnceLock::new(),
            spill,
            spilled: OnceLock::new(),
        }
    }

    /// Returns both sides, once the pipeline has ended, if they are in files.
    pub(super) fn spilled(&self) -> Option<&SpilledJoin> {
        match &self.shared {
            None => self.spilled.get(),
            Some(shared) => {
                let of_all = shared.spilled()?;
                Some(self.spilled.get_or_init(|| of_all.of_other_probe(&self.plan)))
            }
        }
    }

    /// Whether nothing has a partner, once the pipeline has ended.
    pub(super) fn is_empty(&self) -> bool {
        self.spilled().is_none() && self.rows() == 0
    }

    /// Writes what is left in memory.
    fn finish_spilled(&self, spill: &Arc<OperatorSpill>) -> ExecResult<()> {
        let mut build = vec![Vec::new(); PARTS];
        for mut local in self.locals.all() {
            local.spill(&self.plan, spill)?;
            let extents = local.spilled.take().map_or_else(Vec::new, JoinPartWriter::into_extents);
            for (to, from) in build.iter_mut().zip(extents) {
                to.extend(from);
            }
        }
        let spilled = SpilledJoin::new(&self.plan, spill, build);
        self.spilled.set(spilled).map_err(|_| ExecError::internal("a join was built twice"))
    }

    /// Returns the plan.
    pub(crate) fn plan(&self) -> &JoinPlan {
        &self.plan
    }

    /// Returns the table, once the pipeline has ended.
    ///
    /// # Errors
    /// [`ExecError::Internal`] before.
    pub(super) fn table(&self) -> ExecResult<&JoinTable> {
        let table = self.shared.as_ref().map_or(&self.table, |shared| &shared.table);
        table.get().ok_or_else(|| ExecError::internal("a join has no table yet"))
    }

    /// Returns the rows of the table, once the pipeline has ended.
    pub(super) fn rows(&self) -> usize {
        self.table().map_or(0, |table| table.rows)
    }

    /// Reserves the strings that the join numbers; if there is no room, rows of all workers go to
    /// files. The caller has no lock of its rows.
    fn reserve_interned(&self) -> ExecResult<()> {
        let bytes: usize = self.plan.interned().map(|dictionary| dictionary.bytes()).sum();
        if bytes == 0 {
            return Ok(());
        }
        let mut reservation = self.interned.lock().unwrap_or_else(PoisonError::into_inner);
        match (reservation.resize(bytes), &self.spill) {
            (Err(_), Some(spill)) => {
                for mut local in self.locals.all() {
                    local.spill(&self.plan, spill)?;
                }
                reservation.resize(bytes)
            }
            (outcome, _) => outcome,
        }
    }

    /// Gives rows to a worker again, which all are in the chunks of one list.
    fn take_back(&self, chunks: Vec<JoinChunk>) {
        self.locals.of(0).full = chunks;
    }

    /// Puts the chunks of all workers into one list, all full but the last.
    fn collect(&self) -> ExecResult<CollectedRows> {
        let CollectedRows { mut chunks, mut range } = CollectedRows::default();
        let mut last: Option<JoinChunk> = None;
        for mut local in self.locals.all() {
            self.control.check()?;
            chunks.append(&mut local.full);
            range = JoinKeyRange::union(range, local.range);
            let Some(open) = local.open.take() else { continue };
            let Some(into) = &mut last else {
                last = Some(open);
                continue;
            };
            let columns = || open.columns.iter();
            let all: Vec<u16> = (0..open.rows as u16).collect();
            let (head, rest) = all.split_at(all.len().min(CHUNK_ROWS - into.rows));
            let stride = self.plan.key_words;
            into.append(columns(), &open.keys, &open.has_key, stride, head);
            if into.rows == CHUNK_ROWS {
                let mut next = JoinChunk::new(columns());
                next.append(columns(), &open.keys, &open.has_key, stride, rest);
                chunks.extend(last.replace(next));
            }
        }
        chunks.extend(last.filter(|chunk| chunk.rows > 0));
        Ok(CollectedRows { chunks, range })
    }
}

impl LocalRows {
    /// Adds the rows at `positions` of a batch without selection.
    fn add(&mut self, plan: &JoinPlan, batch: &mut VectorBatch, positions: &[u16]) {
        let slots: Vec<SlotId> =
            plan.columns().stored.iter().map(|column| plan.build.slots[*column]).collect();
        let is_whole = batch.rows == CHUNK_ROWS && positions.len() == CHUNK_ROWS;
        if is_whole && self.open.as_ref().is_none_or(|open| open.rows == 0) {
            let chunk = JoinChunk {
                columns: batch.take_columns(&slots).columns,
                keys: self.keys.words.clone(),
                has_key: self.keys.has_key.clone(),
                rows: CHUNK_ROWS,
            };
            return self.close(chunk);
        }
        let columns = || slots.iter().map(|slot| &batch.columns[*slot]);
        let mut rest = positions;
        while !rest.is_empty() {
            let mut open = self.open.take().unwrap_or_else(|| JoinChunk::new(columns()));
            let (some, later) = rest.split_at(rest.len().min(CHUNK_ROWS - open.rows));
            let Self { keys, .. } = self;
            open.append(columns(), &keys.words, &keys.has_key, plan.key_words, some);
            rest = later;
            if open.rows == CHUNK_ROWS {
                self.close(open);
            } else {
                self.open = Some(open);
            }
        }
    }

    /// Writes all rows by partition, and gives their memory back.
    fn spill(&mut self, plan: &JoinPlan, spill: &OperatorSpill) -> ExecResult<()> {
        if self.full.is_empty() && self.open.is_none() {
            return self.reservation.resize(0);
        }
        let writer = match &mut self.spilled {
            Some(writer) => writer,
            none => none.insert(JoinPartWriter::new(spill, plan.key_words, 0)?),
        };
        for chunk in self.full.drain(..).chain(self.open.take()) {
            spill.check()?;
            let columns: Vec<&ColumnVector> = chunk.columns.iter().collect();
            let rows = SideRows { columns: &columns, keys: &chunk.keys, has_key: &chunk.has_key };
            writer.add(rows, 0..chunk.rows)?;
        }
        writer.flush()?;
        (self.full, self.full_bytes) = (Vec::new(), 0);
        self.reservation.resize(0)
    }

    fn close(&mut self, chunk: JoinChunk) {
        self.full_bytes += chunk.bytes();
        self.full.push(chunk);
    }

    /// Widens the range by the keys of the present batch.
    fn note_range(&mut self) {
        let (mut min, mut max) = (i64::MAX, i64::MIN);
        let words = &self.keys.words;
        self.keys.has_key.for_each_one(|row| {
            (min, max) = (min.min(words[row] as i64), max.max(words[row] as i64));
        });
        let range = (min <= max).then_some(JoinKeyRange { min, max });
        self.range = JoinKeyRange::union(self.range, range);
    }
}

impl PipelineSink for JoinBuildSink {
    fn name(&self) -> &'static str {
        "join build"
    }

    fn consume(&self, worker: usize, batch: &mut VectorBatch) -> ExecResult<SinkRoom> {
        let plan = &self.plan;
        let keys = plan.keys.iter().map(|key| key.build_slot);
        let stored = plan.columns().stored.iter().map(|column| plan.build.slots[*column]);
        let live: Vec<SlotId> = keys.chain(stored).collect();
        batch.compact(&live);
        let mut local = self.locals.of(worker);
        local.keys.fill_build(&plan.keys, plan.key_words, batch)?;
        if plan.key_words == 1 {
            local.note_range();
        }
        let mut positions: Vec<u16> = Vec::new();
        if plan.keeps_build() {
            // A row without a key has no partner, and comes out for that.
            positions.extend((0..batch.rows).map(|row| row as u16));
        } else {
            local.keys.has_key.for_each_one(|row| positions.push(row as u16));
        }
        local.add(plan, batch, &positions);
        let open = local.open.as_ref().map_or(0, JoinChunk::bytes);
        let bytes = local.full_bytes + open;
        match &self.spill {
            None => local.reservation.resize(bytes)?,
            Some(spill) if spill.hold(&mut local.reservation, bytes) => {}
            Some(spill) => local.spill(plan, spill)?,
        }
        drop(local);
        self.reserve_interned()?;
        Ok(SinkRoom::More)
    }

    fn finish(&self) -> ExecResult<()> {
        if let Some(spill) = &self.spill
            && self.locals.all().any(|local| local.spilled.is_some())
        {
            return self.finish_spilled(spill);
        }
        let CollectedRows { chunks, range } = self.collect()?;
        let rows: usize = chunks.iter().map(|chunk| chunk.rows).sum();
        let mut reservation = self.budget.reservation("join");
        let (words, is_marked) = (self.plan.key_words, self.plan.ends_with_build());
        let index_bytes = JoinIndexKind::new(words, rows, range).bytes(rows, is_marked);
        match &self.spill {
            Some(spill) if !spill.hold_shared(&mut reservation, index_bytes) => {
                self.take_back(chunks);
                return self.finish_spilled(spill);
            }
            Some(_) => {}
            None => reservation.resize(index_bytes)?,
        }
        let table = make_table(&self.plan, chunks, range, reservation, &self.control)?;
        self.table.set(table).map_err(|_| ExecError::internal("a join was built twice"))
    }

    fn bytes(&self) -> usize {
        let rows: usize = self.locals.all().map(|local| local.reservation.bytes()).sum();
        let interned = self.interned.lock().unwrap_or_else(PoisonError::into_inner).bytes();
        rows + interned + self.table.get().map_or(0, JoinTable::index_bytes)
    }

    fn spilled(&self) -> SpillReport {
        self.spill.as_ref().map_or_else(SpillReport::default, |spill| spill.report())
    }
}

/// Makes the table of rows, without links; `reservation` holds the bytes of its index.
pub(super) fn make_table(
    plan: &JoinPlan,
    chunks: Vec<JoinChunk>,
    range: Option<JoinKeyRange>,
    reservation: MemoryReservation,
    control: &QueryControl,
) -> ExecResult<JoinTable> {
    let rows = chunks.iter().map(|chunk| chunk.rows).sum();
    if rows > ROWS_MAX {
        return Err(ExecError::OutOfMemory {
            operator: "join".into(),
            setting: "the number of its rows",
            bytes: rows as u64,
            bytes_max: ROWS_MAX as u64,
        });
    }
    let (words, is_marked) = (plan.key_words, plan.ends_with_build());
    let choice = JoinIndexKind::new(words, rows, range);
    let infos = plan.columns().stored.iter().map(|column| &plan.build.infos[*column]);
    let mut columns: Vec<StoredColumn> = infos.map(StoredColumn::new).collect();
    let mut keys = Vec::with_capacity(chunks.len());
    for chunk in chunks {
        control.check()?;
        let JoinChunk { columns: values, keys: words, has_key, rows } = chunk;
        for (column, values) in columns.iter_mut().zip(values) {
            column.push(values)?;
        }
        keys.push(ChunkKeys { words, has_key, rows });
    }
    let index = TableIndex { choice, is_marked, reservation, control };
    JoinTable::new(columns, keys, words, range, index)
}

/// The rows of a table, to be linked.
#[derive(Debug)]
pub(crate) struct JoinTableSource {
    sink: Arc<JoinBuildSink>,
}

#[derive(Debug)]
struct LinkRun {
    sink: Arc<JoinBuildSink>,
    chunks: std::ops::Range<usize>,
}

impl JoinTableSource {
    pub(crate) fn new(sink: &Arc<JoinBuildSink>) -> Self {
        Self { sink: Arc::clone(sink) }
    }
}

impl PipelineSource for JoinTableSource {
    fn name(&self) -> &'static str {
        "join rows"
    }

    fn morsel_count(&self) -> usize {
        self.sink.rows().div_ceil(MORSEL_CHUNKS * CHUNK_ROWS)
    }

    fn open(&self, morsel: usize) -> ExecResult<Box<dyn SourceRun>> {
        let first = morsel * MORSEL_CHUNKS;
        let end = self.sink.table()?.keys.len().min(first + MORSEL_CHUNKS);
        Ok(Box::new(LinkRun { sink: Arc::clone(&self.sink), chunks: first..end }))
    }
}

impl SourceRun for LinkRun {
    /// Links a chunk; the batch has its rows without columns.
    fn next(&mut self, batch: &mut VectorBatch) -> ExecResult<bool> {
        (batch.rows, batch.selection) = (0, None);
        let Some(chunk) = self.chunks.next() else { return Ok(false) };
        let table = self.sink.table()?;
        table.insert_chunk(chunk);
        batch.rows = table.keys[chunk].rows;
        Ok(true)
    }
}

/// The end of the stage that makes a table: the source has done all.
#[derive(Debug)]
pub(crate) struct JoinTableSink;

impl PipelineSink for JoinTableSink {
    fn name(&self) -> &'static str {
        "join table"
    }

    fn consume(&self, _: usize, _: &mut VectorBatch) -> ExecResult<SinkRoom> {
        Ok(SinkRoom::More)
    }

    fn finish(&self) -> ExecResult<()> {
        Ok(())
    }
}
