//! The end of a pipeline that groups.

use std::sync::{Arc, OnceLock};

use nacre_simd::Flavour;

use super::direct::DirectIndex;
use super::distinct::DistinctSet;
use super::folded::collected_bytes_max;
use super::keys::{KeyWords, hash_words};
use super::layout::{GroupPlan, StateKind};
use super::partition::{PARTITIONS, RowPage, flush};
use super::reduction::GroupReduction;
use super::spilled::{GroupPart, GroupWriter};
use super::table::GroupTable;
use super::update::{GroupMasks, by_masks, by_rows, for_each_row};
use crate::control::QueryControl;
use crate::counters::SpillReport;
use crate::error::{ExecError, ExecResult};
use crate::interpret::{equal_bits, true_bits};
use crate::memory::{MemoryBudget, MemoryReservation};
use crate::pipeline::{PipelineSink, SinkRoom, StageContext, WorkerSlots};
use crate::spill::OperatorSpill;
use crate::vector::{BitVector, VectorBatch};

/// Bytes of a worker's table: rows that a table has no room for are looked up twice, which takes
/// longer than to find them in the L3 cache.
const TABLE_BYTES: usize = 1 << 20;

/// Groups that are found by masks; more are found row by row.
const MASK_GROUPS_MAX: usize = 8;

/// Groups up to which one morsel merges all partitions.
const MERGED_AT_ONCE: usize = 16_384;

/// Groups of all workers.
#[derive(Debug)]
pub(crate) struct GroupSink {
    pub(super) plan: Arc<GroupPlan>,
    locals: WorkerSlots<LocalGroups>,
    pub(super) budget: Arc<MemoryBudget>,
    pub(super) control: Arc<QueryControl>,
    flavour: Flavour,
    /// What workers had collected when the pipeline ended.
    collected: OnceLock<Vec<CollectedGroups>>,
    /// If it may spill.
    pub(super) spill: Option<Arc<OperatorSpill>>,
    /// Bytes of collected rows beyond which they go to files; `None` if none may.
    pub(super) collected_bytes_max: Option<usize>,
    /// Set instead of `collected` if a worker has spilled: a part for each partition.
    spilled: OnceLock<Vec<GroupPart>>,
}

/// What a worker has collected, by partition.
#[derive(Debug)]
pub(super) struct CollectedGroups {
    pub(super) pages: Vec<RowPage>,
    /// Of each aggregate that counts distinct values.
    pub(super) distinct: Vec<Vec<RowPage>>,
}

/// How a worker finds groups.
#[derive(Debug)]
enum GroupLookup {
    Single,
    Direct(DirectIndex),
    Hash,
}

/// Groups of one worker.
#[derive(Debug)]
struct LocalGroups {
    table: GroupTable,
    lookup: GroupLookup,
    keys: KeyWords,
    pages: Vec<RowPage>,
    distinct: Vec<DistinctSet>,
    /// Groups of the rows of the present batch.
    groups: Vec<u32>,
    /// Rows of each group in the present batch, if there are few groups.
    masks: GroupMasks,
    groups_max: usize,
    reduction: GroupReduction,
    /// Whether the table has a group for each row, so that none is looked up in it.
    has_rows: bool,
    reservation: MemoryReservation,
    /// What went to a file.
    spilled: Option<GroupWriter>,
}

impl GroupSink {
    pub(crate) fn new(plan: &Arc<GroupPlan>, context: &StageContext) -> Self {
        let spill = OperatorSpill::new(context);
        let bytes_max = spill.as_ref().and_then(|_| collected_bytes_max(plan, &context.budget));
        let make = || LocalGroups::new(plan, context.budget.reservation("aggregate"));
        Self {
            plan: Arc::clone(plan),
            locals: WorkerSlots::new(context.workers, make),
            budget: Arc::clone(&context.budget),
            control: Arc::clone(&context.control),
            flavour: context.flavour,
            collected: OnceLock::new(),
            spill,
            collected_bytes_max: bytes_max,
            spilled: OnceLock::new(),
        }
    }

    /// Changes the only group of an aggregation without keys, before the pipeline runs.
    pub(super) fn change_only_group(&self, change: impl FnOnce(&mut GroupTable)) {
        // What workers have is added up in the end, so that any of them may have it.
        change(&mut self.locals.of(0).table);
    }

    /// Returns the partitions, once the pipeline has ended, if they are in files.
    pub(super) fn spilled_parts(&self) -> Option<&[GroupPart]> {
        self.spilled.get().map(Vec::as_slice)
    }

    /// Writes what is left in memory.
    fn finish_spilled(&self, spill: &OperatorSpill) -> ExecResult<()> {
        let mut parts = GroupPart::none(&self.plan);
        for mut local in self.locals.all() {
            local.spill(&self.plan, spill)?;
            if let Some(writer) = local.spilled.take() {
                writer.append_to(&mut parts);
            }
        }
        self.spilled.set(parts).map_err(|_| ExecError::internal("an aggregation ended twice"))
    }

    /// Returns what was collected, once the pipeline has ended.
    pub(super) fn collected(&self) -> &[CollectedGroups] {
        self.collected.get().map_or(&[], Vec::as_slice)
    }

    /// Returns in how many parts the groups are merged, once the pipeline has ended.
    pub(super) fn merge_parts(&self) -> usize {
        if let Some(parts) = self.spilled_parts() {
            return parts.len();
        }
        let words = self.collected().iter().flat_map(|worker| &worker.pages);
        let words: usize = words.map(RowPage::word_count).sum();
        let heaps = self.collected().iter().flat_map(|worker| &worker.pages);
        let heaps: usize = heaps.map(|page| page.heap.len()).sum();
        let is_large = self.collected_bytes_max.is_some_and(|max| heaps > max);
        if words / self.plan.row_words <= MERGED_AT_ONCE && !is_large { 1 } else { PARTITIONS }
    }
}

impl PipelineSink for GroupSink {
    fn name(&self) -> &'static str {
        "aggregate"
    }

    fn consume(&self, worker: usize, batch: &mut VectorBatch) -> ExecResult<SinkRoom> {
        let mut local = self.locals.of(worker);
        local.consume(&self.plan, self.flavour, batch)?;
        match &self.spill {
            None => local.reserve()?,
            Some(spill) => {
                let bytes = local.bytes();
                let bytes_max = self.collected_bytes_max.unwrap_or(usize::MAX);
                if local.has_heap_beyond(bytes_max / spill.workers())
                    || !spill.hold(&mut local.reservation, bytes)
                {
                    local.spill(&self.plan, spill)?;
                }
            }
        }
        Ok(SinkRoom::More)
    }

    fn finish(&self) -> ExecResult<()> {
        if let Some(spill) = &self.spill
            && self.locals.all().any(|local| local.spilled.is_some())
        {
            return self.finish_spilled(spill);
        }
        let mut collected = Vec::new();
        for mut local in self.locals.all() {
            local.flush(&self.plan)?;
            let pages = std::mem::take(&mut local.pages);
            let sets = local.distinct.iter_mut();
            let distinct = sets.map(|set| std::mem::take(&mut set.pages)).collect();
            collected.push(CollectedGroups { pages, distinct });
        }
        self.collected.set(collected).map_err(|_| ExecError::internal("an aggregation ended twice"))
    }

    fn bytes(&self) -> usize {
        self.locals.all().map(|local| local.reservation.bytes()).sum()
    }

    fn spilled(&self) -> SpillReport {
        self.spill.as_ref().map_or_else(SpillReport::default, |spill| spill.report())
    }
}

impl LocalGroups {
    fn new(plan: &GroupPlan, reservation: MemoryReservation) -> Self {
        let mut table = GroupTable::default();
        let lookup = if plan.keys.is_empty() {
            // There is one group even without rows; it has the hash of no words, as those who look
            // for it later compute it.
            table.add(plan, &[hash_words(&[])], 0);
            GroupLookup::Single
        } else {
            DirectIndex::new(plan, &table).map_or(GroupLookup::Hash, GroupLookup::Direct)
        };
        let groups_max = TABLE_BYTES / ((plan.row_words + 1) * 8);
        Self {
            table,
            lookup,
            keys: KeyWords::default(),
            pages: (0..PARTITIONS).map(|_| RowPage::default()).collect(),
            distinct: plan.distinct.iter().map(|_| DistinctSet::new()).collect(),
            groups: Vec::new(),
            masks: GroupMasks::default(),
            groups_max,
            reduction: GroupReduction::default(),
            has_rows: false,
            reservation,
            spilled: None,
        }
    }

    fn consume(
        &mut self,
        plan: &GroupPlan,
        flavour: Flavour,
        batch: &VectorBatch,
    ) -> ExecResult<()> {
        self.find_groups(plan, flavour, batch);
        for aggregate in &plan.aggregates {
            let column = aggregate.argument.map(|slot| &batch.columns[slot]);
            let mut own = column.and_then(|column| column.validity.clone());
            if let Some(filter) = aggregate.filter {
                let passed = true_bits(&batch.columns[filter])?;
                match &mut own {
                    Some(own) => own.and_with(&passed),
                    None => own = Some(passed),
                }
            }
            if let StateKind::Distinct(index) | StateKind::DistinctSum(index) = aggregate.kind {
                let active = joint(own, batch.selected_bits());
                let set = &mut self.distinct[index];
                let groups_max = self.groups_max;
                set.add(plan, &plan.distinct[index], batch, active.as_ref(), groups_max);
                continue;
            }
            if !self.masks.words.is_empty() {
                let narrowed = own.as_ref().map(|own| self.masks.narrowed(flavour, own));
                let masks = narrowed.as_ref().unwrap_or(&self.masks);
                if by_masks(plan, flavour, aggregate, column, masks, &mut self.table) {
                    continue;
                }
            }
            let active = joint(own, batch.selected_bits());
            let rows = (batch.rows, active.as_ref());
            let table = &mut self.table;
            match &self.lookup {
                GroupLookup::Single => by_rows(plan, aggregate, column, rows, |_| 0, table)?,
                GroupLookup::Direct(index) => {
                    let group = |row| index.group(row).unwrap_or(0) as usize;
                    by_rows(plan, aggregate, column, rows, group, table)?;
                }
                GroupLookup::Hash => {
                    let groups = &self.groups;
                    by_rows(plan, aggregate, column, rows, |row| groups[row] as usize, table)?;
                }
            }
        }
        Ok(())
    }

    fn bytes(&self) -> usize {
        let pages: usize = self.pages.iter().map(RowPage::bytes).sum();
        let distinct: usize = self.distinct.iter().map(DistinctSet::bytes).sum();
        self.table.bytes() + pages + distinct
    }

    /// Whether a partition may have more than so many bytes of strings and collected rows.
    fn has_heap_beyond(&self, bytes: usize) -> bool {
        let heaps = self.pages.iter().map(|page| page.heap.len());
        self.table.heap.len() > bytes || heaps.max().is_some_and(|heap| heap > bytes)
    }

    fn reserve(&mut self) -> ExecResult<()> {
        self.reservation.resize(self.bytes())
    }

    /// Finds the groups of the rows that are left, and adds new ones.
    fn find_groups(&mut self, plan: &GroupPlan, flavour: Flavour, batch: &VectorBatch) {
        self.masks.clear();
        if let GroupLookup::Direct(index) = &self.lookup
            && index.is_outgrown(plan)
        {
            self.lookup =
                DirectIndex::new(plan, &self.table).map_or(GroupLookup::Hash, GroupLookup::Direct);
        }
        match &mut self.lookup {
            GroupLookup::Single => {
                let all = || BitVector::filled(batch.rows, true);
                let bits = batch.selected_bits().cloned().unwrap_or_else(all);
                self.masks.push(flavour, bits.into_words());
            }
            GroupLookup::Direct(index) => {
                index.fill(plan, flavour, batch);
                self.find_direct(plan, flavour, batch);
            }
            GroupLookup::Hash => self.find_hashed(plan, batch),
        }
    }

    fn find_hashed(&mut self, plan: &GroupPlan, batch: &VectorBatch) {
        let rows = batch.selected_rows();
        let is_resting = self.reduction.is_resting(rows);
        // Rows of one batch at a time: more would leave the cache before they are moved.
        if is_resting || self.has_rows || self.table.len() > self.groups_max {
            if !self.has_rows {
                self.reduction.note_full(self.table.len());
            }
            flush(plan, &mut self.table, 0, &mut self.pages);
            self.has_rows = is_resting;
        }
        self.keys.fill(plan, batch);
        let Self { table, keys, groups, .. } = self;
        groups.resize(batch.rows, 0);
        if is_resting {
            for_each_row(batch.rows, batch.selected_bits(), |row| {
                groups[row] = table.add_row(plan, keys, row, batch);
            });
            return;
        }
        // Tables are often in the order of keys of theirs. Words of strings may be hashes of them.
        let is_comparable = plan.compared_strings().next().is_none();
        let mut last: Option<usize> = None;
        for_each_row(batch.rows, batch.selected_bits(), |row| {
            groups[row] = match last.replace(row) {
                Some(last) if is_comparable && keys.are_equal(last, row) => groups[last],
                _ => table.find_or_add(plan, keys, row, batch),
            };
        });
        self.reduction.note_rows(rows);
    }

    fn find_direct(&mut self, plan: &GroupPlan, flavour: Flavour, batch: &VectorBatch) {
        let Self { table, lookup, keys, masks, .. } = self;
        let GroupLookup::Direct(index) = lookup else { return };
        let all = || BitVector::filled(batch.rows, true);
        let selected = batch.selected_bits().cloned().unwrap_or_else(all);
        let mut missing = selected.clone();
        let mut are_keys_filled = false;
        if table.len() <= MASK_GROUPS_MAX {
            for place in &index.places {
                let mask = equal_bits(flavour, &index.rows, *place);
                let mask = and_words(&mask, selected.words());
                missing.change_words(|words| {
                    words.iter_mut().zip(&mask).for_each(|(word, mask)| *word &= !mask);
                });
                masks.push(flavour, mask);
            }
            if missing.count_ones() == 0 {
                return;
            }
        }
        for_each_row(batch.rows, Some(&missing), |row| {
            if index.group(row).is_some() {
                return;
            }
            if !are_keys_filled {
                keys.fill(plan, batch);
                are_keys_filled = true;
            }
            let group = table.find_or_add(plan, keys, row, batch);
            index.note(index.rows[row], group);
        });
        if table.len() > MASK_GROUPS_MAX {
            return masks.clear();
        }
        // New groups get their masks, too.
        for place in &index.places[masks.words.len()..] {
            let mask = equal_bits(flavour, &index.rows, *place);
            masks.push(flavour, and_words(&mask, selected.words()));
        }
    }

    /// Empties the table into the partitions.
    fn flush(&mut self, plan: &GroupPlan) -> ExecResult<()> {
        self.empty_tables(plan);
        self.reserve()
    }

    fn empty_tables(&mut self, plan: &GroupPlan) {
        flush(plan, &mut self.table, 0, &mut self.pages);
        if let GroupLookup::Direct(index) = &mut self.lookup {
            index.clear();
        }
        for (set, plan) in self.distinct.iter_mut().zip(&plan.distinct) {
            set.flush(plan);
        }
    }

    /// Writes all partitions, and gives their memory back.
    fn spill(&mut self, plan: &GroupPlan, spill: &OperatorSpill) -> ExecResult<()> {
        self.empty_tables(plan);
        let writer = match &mut self.spilled {
            Some(writer) => writer,
            none => none.insert(GroupWriter::new(plan, spill)?),
        };
        writer.write(plan, &mut self.pages, &mut self.distinct)?;
        self.table = GroupTable::default();
        if matches!(self.lookup, GroupLookup::Single) {
            self.table.add(plan, &[hash_words(&[])], 0);
        }
        self.reservation.resize(0)
    }
}

fn and_words(left: &[u64], right: &[u64]) -> Vec<u64> {
    left.iter().zip(right).map(|(left, right)| left & right).collect()
}

/// Returns the rows that both have.
fn joint(own: Option<BitVector>, selected: Option<&BitVector>) -> Option<BitVector> {
    match (own, selected) {
        (Some(mut own), Some(selected)) => {
            own.and_with(selected);
            Some(own)
        }
        (own, selected) => own.or_else(|| selected.cloned()),
    }
}
