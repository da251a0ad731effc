//! Overflow partitions: rows of groups by the upper bits of their hash.
//!
//! A page holds rows and the heap that these name by offsets, nothing else, so it may go to a file
//! and come back. Its rows lie in segments, which are not moved when there are more: the rows of
//! many groups take hundreds of megabytes, whose copies cost more than the rest of an aggregation.

use super::collected::{collected_rows, put_collected};
use super::keys::string_len;
use super::layout::{GroupPlan, StateKind, StringKey};
use super::state::{exact_sum_place, put_exact_sum};
use super::table::GroupTable;
use crate::vector::INLINE_BYTES_MAX;

/// Upper bits of a hash that name a partition.
const PARTITION_BITS: u32 = 6;

/// Partitions of an aggregation.
pub(super) const PARTITIONS: usize = 1 << PARTITION_BITS;

/// Words of a segment, 64 KiB: the part of a worker's last ones that is not used is 2 MiB of all
/// partitions.
const SEGMENT_WORDS: usize = 8 << 10;

/// Rows of one partition.
#[derive(Debug, Default)]
pub(super) struct RowPage {
    /// Whole rows in each; all but the last are full.
    segments: Vec<Vec<u64>>,
    pub(super) heap: Vec<u8>,
}

/// Returns the part of a partition that was split `level` times; `None` if no bits are left.
pub(super) fn part_of(hash: u64, level: u32) -> Option<usize> {
    let shift = 64_u32.checked_sub(PARTITION_BITS * (level + 1))?;
    Some((hash >> shift) as usize % PARTITIONS)
}

/// Returns the partition of a hash; the lower bits find a slot in a table.
#[inline]
pub(super) fn partition_of(hash: u64) -> usize {
    (hash >> (64 - PARTITION_BITS)) as usize
}

impl RowPage {
    /// Makes a page of rows that name `heap`.
    pub(super) fn new(rows: Vec<u64>, heap: Vec<u8>) -> Self {
        Self { segments: vec![rows], heap }
    }

    /// Returns the rows, one after the other.
    pub(super) fn rows(&self, plan: &GroupPlan) -> impl Iterator<Item = &[u64]> {
        let row_words = plan.row_words;
        self.segments.iter().flat_map(move |segment| segment.chunks_exact(row_words))
    }

    /// Returns the words of all rows, which stand one behind the other in the segments.
    pub(super) fn words(&self) -> impl Iterator<Item = &[u64]> {
        self.segments.iter().map(Vec::as_slice)
    }

    /// Returns how many words the rows have.
    pub(super) fn word_count(&self) -> usize {
        self.words().map(<[u64]>::len).sum()
    }

    /// Drops all rows and keeps memory.
    pub(super) fn clear(&mut self) {
        self.segments.truncate(1);
        self.segments.iter_mut().for_each(Vec::clear);
        self.heap.clear();
    }

    /// Appends a row, with the strings that it names.
    pub(super) fn push(&mut self, plan: &GroupPlan, row: &[u64], heap: &[u8]) {
        let has_room = |segment: &Vec<u64>| segment.len() + row.len() <= SEGMENT_WORDS;
        if !self.segments.last().is_some_and(has_room) {
            // The first one grows by doubling: most partitions have few rows.
            let words = if self.segments.is_empty() { 0 } else { SEGMENT_WORDS };
            self.segments.push(Vec::with_capacity(words));
        }
        let Self { segments, heap: own_heap } = self;
        if let Some(segment) = segments.last_mut() {
            let start = segment.len();
            segment.extend_from_slice(row);
            move_strings(plan, (row, heap), (&mut segment[start..], own_heap));
        }
    }

    /// Returns the bytes that it takes.
    pub(super) fn bytes(&self) -> usize {
        let words: usize = self.segments.iter().map(Vec::capacity).sum();
        words * 8 + self.heap.capacity()
    }
}

/// Copies what a row names to another heap, and has the copy of the row name it.
fn move_strings(
    plan: &GroupPlan,
    (row, heap): (&[u64], &[u8]),
    (copy, own_heap): (&mut [u64], &mut Vec<u8>),
) {
    for StringKey { key, offset_word } in plan.string_keys() {
        let len = string_len(row[key.word]);
        if len > INLINE_BYTES_MAX {
            copy[offset_word] = own_heap.len() as u64;
            let offset = row[offset_word] as usize;
            own_heap.extend_from_slice(&heap[offset..offset + len]);
        }
    }
    if !plan.has_heap_states {
        return;
    }
    for aggregate in &plan.aggregates {
        let state = &row[aggregate.word..];
        let own = &mut copy[aggregate.word..];
        if let StateKind::ExtremeBytes { .. } | StateKind::ExtremeExact { .. } = aggregate.kind {
            own[0] = own_heap.len() as u64;
            own_heap.extend_from_slice(&heap[state[0] as usize..(state[0] + state[1]) as usize]);
        } else if aggregate.kind == StateKind::Collected {
            let rows = collected_rows(state);
            put_collected(own, own_heap.len(), rows.len());
            own_heap.extend_from_slice(&heap[rows]);
        } else if aggregate.kind == StateKind::SumExact
            && let Some(sum) = exact_sum_place(state)
        {
            put_exact_sum(own, own_heap.len(), sum.len());
            own_heap.extend_from_slice(&heap[sum]);
        }
    }
}

/// Empties a table into pages, one for each partition; `hash_word` is the word whose upper bits
/// name it.
pub(super) fn flush(
    plan: &GroupPlan,
    table: &mut GroupTable,
    hash_word: usize,
    pages: &mut [RowPage],
) {
    for row in table.rows.chunks_exact(plan.row_words) {
        pages[partition_of(row[hash_word])].push(plan, row, &table.heap);
    }
    table.clear();
}
