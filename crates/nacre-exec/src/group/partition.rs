//! Overflow partitions: rows of groups by the upper bits of their hash.
//!
//! A page holds rows and the heap that these name by offsets, nothing else, so it may go to a file
//! and come back.

use super::collected::{collected_rows, put_collected};
use super::keys::string_len;
use super::layout::{GroupPlan, StateKind};
use super::state::{exact_sum, put_exact_sum};
use super::table::GroupTable;
use crate::vector::INLINE_BYTES_MAX;

/// Upper bits of a hash that name a partition.
const PARTITION_BITS: u32 = 6;

/// Partitions of an aggregation.
pub(super) const PARTITIONS: usize = 1 << PARTITION_BITS;

/// Rows of one partition.
#[derive(Debug, Default)]
pub(super) struct RowPage {
    pub(super) rows: Vec<u64>,
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
    /// Appends a row, with the strings that it names.
    pub(super) fn push(&mut self, plan: &GroupPlan, row: &[u64], heap: &[u8]) {
        let start = self.rows.len();
        self.rows.extend_from_slice(row);
        for key in &plan.keys {
            let len = string_len(row[key.word]);
            if let Some(offset_word) = key.offset_word
                && len > INLINE_BYTES_MAX
            {
                self.rows[start + offset_word] = self.heap.len() as u64;
                let offset = row[offset_word] as usize;
                self.heap.extend_from_slice(&heap[offset..offset + len]);
            }
        }
        for aggregate in &plan.aggregates {
            let state = &row[aggregate.word..];
            let own = &mut self.rows[start + aggregate.word..];
            if let StateKind::ExtremeBytes { .. } | StateKind::ExtremeExact { .. } = aggregate.kind
            {
                own[0] = self.heap.len() as u64;
                self.heap
                    .extend_from_slice(&heap[state[0] as usize..(state[0] + state[1]) as usize]);
            } else if aggregate.kind == StateKind::Collected {
                let rows = collected_rows(state);
                put_collected(own, self.heap.len(), rows.len());
                self.heap.extend_from_slice(&heap[rows]);
            } else if aggregate.kind == StateKind::SumExact {
                let sum = exact_sum(state);
                put_exact_sum(own, self.heap.len(), sum.len());
                self.heap.extend_from_slice(&heap[sum]);
            }
        }
    }

    /// Returns the bytes that it takes.
    pub(super) fn bytes(&self) -> usize {
        self.rows.capacity() * 8 + self.heap.capacity()
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
