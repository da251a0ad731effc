//! Partitions of groups in files.
//!
//! 1. A worker whose memory is used up writes its pages, partition after partition, in chunks of
//!    about a piece ([`GroupWriter`]).
//! 2. A partition is merged as if it were in memory, chunk by chunk. If its groups do not fit, it
//!    is read again and split into 64 parts by the next bits of the hash, which take its place.
//! 3. Distinct values of a part are counted when its groups are there. A set that might not fit is
//!    split by the hash of its values: counts and sums of the parts add up.
//!
//! # Invariants
//! 1. Equal keys, and equal values of a group, are always in one part.
//! 2. A part whose rows have one hash is not split. Rows that its group has collected are folded
//!    outside of memory ([`super::folded`]); else its groups have to fit, or the query ends with
//!    [`crate::ExecError::OutOfMemory`].

use super::distinct::{DistinctMerge, DistinctSet};
use super::layout::{GroupAggregate, GroupPlan, StateKind};
use super::merge::MergedGroups;
use super::partition::{PARTITIONS, RowPage, part_of};
use super::sink::GroupSink;
use super::table::GroupTable;
use crate::error::{ExecError, ExecResult};
use crate::spill::{BlockReader, OperatorSpill, SpillExtent, SpillWriter, put_words};

/// A page of rows in a file: its words, then its heap.
#[derive(Clone, Debug)]
pub(super) struct SpilledPage {
    extent: SpillExtent,
    words: usize,
}

/// Rows of groups of one part, and of the sets of its distinct values.
#[derive(Clone, Debug)]
pub(super) struct GroupPart {
    pages: Vec<SpilledPage>,
    /// By distinct aggregate.
    distinct: Vec<Vec<SpilledPage>>,
    /// How often it was split; a partition of the aggregation is of level 0.
    level: u32,
}

/// Writes the pages of one worker.
#[derive(Debug)]
pub(super) struct GroupWriter {
    pages: PageWriter,
    parts: Vec<GroupPart>,
}

/// Writes pages in chunks.
#[derive(Debug)]
struct PageWriter {
    writer: SpillWriter,
    piece_bytes: usize,
    encoded: Vec<u8>,
}

/// Pages that were split by bits of a hash.
struct SplitPages {
    parts: Vec<Vec<SpilledPage>>,
    /// Whether all rows have the same hash.
    is_single: bool,
}

impl SpilledPage {
    pub(super) fn read(&self, scratch: &mut Vec<u8>) -> ExecResult<RowPage> {
        self.extent.read(scratch)?;
        let mut reader = BlockReader::new(scratch);
        let rows = reader.words(self.words)?;
        let heap = reader.bytes(self.extent.bytes() - self.words * 8)?.to_vec();
        Ok(RowPage::new(rows, heap))
    }
}

impl GroupPart {
    /// Makes the partitions of an aggregation, without rows.
    pub(super) fn none(plan: &GroupPlan) -> Vec<Self> {
        Self::empty(plan, 0)
    }

    pub(super) fn pages(&self) -> &[SpilledPage] {
        &self.pages
    }

    fn empty(plan: &GroupPlan, level: u32) -> Vec<Self> {
        let distinct = plan.distinct.iter().map(|_| Vec::new()).collect();
        let part = Self { pages: Vec::new(), distinct, level };
        vec![part; PARTITIONS]
    }
}

impl GroupWriter {
    pub(super) fn new(plan: &GroupPlan, spill: &OperatorSpill) -> ExecResult<Self> {
        Ok(Self { pages: PageWriter::new(spill)?, parts: GroupPart::none(plan) })
    }

    /// Writes the pages of all partitions and drops them.
    pub(super) fn write(
        &mut self,
        plan: &GroupPlan,
        pages: &mut [RowPage],
        sets: &mut [DistinctSet],
    ) -> ExecResult<()> {
        for (page, part) in pages.iter_mut().zip(&mut self.parts) {
            self.pages.write(plan, &std::mem::take(page), &mut part.pages)?;
        }
        for (index, (set, plan)) in sets.iter_mut().zip(&plan.distinct).enumerate() {
            for (page, part) in set.pages.iter_mut().zip(&mut self.parts) {
                self.pages.write(plan, &std::mem::take(page), &mut part.distinct[index])?;
            }
            set.release();
        }
        self.pages.writer.flush()
    }

    /// Appends what was written to the same partitions of all workers.
    pub(super) fn append_to(self, parts: &mut [GroupPart]) {
        for (from, to) in self.parts.into_iter().zip(parts) {
            to.pages.extend(from.pages);
            for (from, to) in from.distinct.into_iter().zip(&mut to.distinct) {
                to.extend(from);
            }
        }
    }
}

impl PageWriter {
    fn new(spill: &OperatorSpill) -> ExecResult<Self> {
        let (writer, piece_bytes) = (spill.create()?, spill.piece_bytes());
        Ok(Self { writer, piece_bytes, encoded: Vec::new() })
    }

    /// Writes the rows of a page in chunks.
    fn write(
        &mut self,
        plan: &GroupPlan,
        page: &RowPage,
        out: &mut Vec<SpilledPage>,
    ) -> ExecResult<()> {
        if page.word_count() * 8 + page.heap.len() <= self.piece_bytes {
            return self.write_chunk(page, out);
        }
        let mut chunk = RowPage::default();
        for row in page.rows(plan) {
            chunk.push(plan, row, &page.heap);
            if chunk.word_count() * 8 + chunk.heap.len() >= self.piece_bytes {
                self.write_chunk(&chunk, out)?;
                chunk.clear();
            }
        }
        self.write_chunk(&chunk, out)
    }

    fn write_chunk(&mut self, page: &RowPage, out: &mut Vec<SpilledPage>) -> ExecResult<()> {
        let words = page.word_count();
        if words == 0 {
            return Ok(());
        }
        let start = self.writer.position();
        self.encoded.clear();
        page.words().for_each(|words| put_words(words, &mut self.encoded));
        self.writer.put(&self.encoded)?;
        self.writer.put(&page.heap)?;
        let extent = self.writer.extent_from(start);
        out.push(SpilledPage { extent, words });
        Ok(())
    }
}

impl GroupSink {
    /// Merges a part in files, or leaves the parts that it was split into in `waiting`.
    ///
    /// # Errors
    /// Those of files, of memory if one key needs too much, of states.
    pub(super) fn merge_spilled(
        &self,
        part: &GroupPart,
        waiting: &mut Vec<GroupPart>,
    ) -> ExecResult<MergedGroups> {
        let missing = || ExecError::internal("groups in files without a way to them");
        let spill = self.spill.as_ref().ok_or_else(missing)?;
        if let Some(merged) = self.try_merge(spill, part, false)? {
            return Ok(merged);
        }
        if self.split_part(spill, part, waiting)? {
            return Ok(MergedGroups::none(self));
        }
        if self.collected_bytes_max.is_some()
            && let Some(mut merged) = self.merge_folding(spill, part)?
        {
            self.count_all_distinct(spill, part, &mut merged)?;
            return Ok(merged);
        }
        let merged = self.try_merge(spill, part, true)?;
        merged.ok_or_else(|| ExecError::internal("a part of groups that must fit"))
    }

    /// Merges a part; `None` if its groups do not fit, unless they must.
    fn try_merge(
        &self,
        spill: &OperatorSpill,
        part: &GroupPart,
        must_fit: bool,
    ) -> ExecResult<Option<MergedGroups>> {
        let plan = self.plan.as_ref();
        let (mut merged, mut scratch) = (MergedGroups::none(self), Vec::new());
        for page in &part.pages {
            spill.check()?;
            let page = page.read(&mut scratch)?;
            for row in page.rows(plan) {
                merged.take_row(plan, row, &page.heap)?;
            }
            let MergedGroups { table, reservation } = &mut merged;
            let is_too_much = self.collected_bytes_max.is_some_and(|max| table.heap.len() > max);
            if must_fit {
                reservation.resize(table.bytes())?;
            } else if is_too_much || !spill.hold(reservation, table.bytes()) {
                return Ok(None);
            }
        }
        self.count_all_distinct(spill, part, &mut merged)?;
        Ok(Some(merged))
    }

    /// Adds the distinct values of a part to the states of its groups.
    fn count_all_distinct(
        &self,
        spill: &OperatorSpill,
        part: &GroupPart,
        merged: &mut MergedGroups,
    ) -> ExecResult<()> {
        for aggregate in &self.plan.aggregates {
            if let StateKind::Distinct(index) | StateKind::DistinctSum(index) = aggregate.kind {
                let pages = &part.distinct[index];
                self.count_distinct(spill, aggregate, pages, &mut merged.table, 0)?;
            }
        }
        Ok(())
    }

    /// Adds distinct values of pages, which were split `level` times by the hash of all keys, to
    /// the states of their groups.
    fn count_distinct(
        &self,
        spill: &OperatorSpill,
        aggregate: &GroupAggregate,
        pages: &[SpilledPage],
        table: &mut GroupTable,
        level: u32,
    ) -> ExecResult<()> {
        let (StateKind::Distinct(index) | StateKind::DistinctSum(index)) = aggregate.kind else {
            return Ok(());
        };
        let plan = &self.plan.distinct[index];
        let mut reservation = spill.reservation("aggregate");
        // Rows and heap double when they grow, and a row has 16 bytes of slots at most.
        let bytes = |page: &SpilledPage| 2 * page.extent.bytes() + page.words / plan.row_words * 16;
        let bytes: usize = pages.iter().map(bytes).sum();
        if !spill.hold(&mut reservation, bytes)
            && let Some(split) = split_pages(spill, plan, pages, 0, level)?
            && !split.is_single
        {
            for pages in &split.parts {
                self.count_distinct(spill, aggregate, pages, table, level + 1)?;
            }
            return Ok(());
        }
        let (mut set, mut scratch) = (DistinctMerge::new(&self.plan, aggregate, plan), Vec::new());
        for page in pages {
            let page = page.read(&mut scratch)?;
            set.add_page(&page, table, |bytes| {
                reservation.resize(bytes)?;
                spill.check()
            })?;
        }
        Ok(())
    }

    /// Splits a part by the next bits of its groups' hashes; false if they are all the same.
    fn split_part(
        &self,
        spill: &OperatorSpill,
        part: &GroupPart,
        waiting: &mut Vec<GroupPart>,
    ) -> ExecResult<bool> {
        let (plan, level) = (self.plan.as_ref(), part.level + 1);
        let Some(split) = split_pages(spill, plan, &part.pages, 0, level)? else {
            return Ok(false);
        };
        if split.is_single {
            return Ok(false);
        }
        let mut parts = GroupPart::empty(plan, level);
        for (part, pages) in parts.iter_mut().zip(split.parts) {
            part.pages = pages;
        }
        for (index, plan) in plan.distinct.iter().enumerate() {
            let pages = &part.distinct[index];
            let split = split_pages(spill, plan, pages, plan.row_words - 1, level)?;
            for (part, pages) in parts.iter_mut().zip(split.map_or_else(Vec::new, |one| one.parts))
            {
                part.distinct[index] = pages;
            }
        }
        waiting.extend(parts.into_iter().filter(|part| !part.pages.is_empty()));
        Ok(true)
    }
}

/// Splits pages by the bits of level `level` of the word `hash_word`; `None` if there are no more.
fn split_pages(
    spill: &OperatorSpill,
    plan: &GroupPlan,
    pages: &[SpilledPage],
    hash_word: usize,
    level: u32,
) -> ExecResult<Option<SplitPages>> {
    if part_of(0, level).is_none() {
        return Ok(None);
    }
    let mut writer = PageWriter::new(spill)?;
    let mut parts = vec![Vec::new(); PARTITIONS];
    let mut open: Vec<RowPage> = (0..PARTITIONS).map(|_| RowPage::default()).collect();
    let (mut first, mut is_single, mut scratch) = (None, true, Vec::new());
    let mut bytes = 0;
    let mut reservation = spill.reservation("aggregate");
    let bytes_max = spill.hold_split(&mut reservation)?;
    for page in pages {
        spill.check()?;
        let page = page.read(&mut scratch)?;
        for row in page.rows(plan) {
            let hash = row[hash_word];
            is_single &= *first.get_or_insert(hash) == hash;
            let part = part_of(hash, level).unwrap_or(0);
            open[part].push(plan, row, &page.heap);
        }
        bytes += page.word_count() * 8 + page.heap.len();
        if bytes >= bytes_max {
            for (page, part) in open.iter_mut().zip(&mut parts) {
                writer.write(plan, &std::mem::take(page), part)?;
            }
            bytes = 0;
        }
    }
    for (page, part) in open.iter().zip(&mut parts) {
        writer.write(plan, page, part)?;
    }
    writer.writer.flush()?;
    Ok(Some(SplitPages { parts, is_single }))
}
