//! A table of groups: rows of words, a heap of strings, and an index of hashes.

use super::keys::{KeyWords, equal_words, put_value, string_len};
use super::layout::{GroupPlan, HASH_WORDS, StringKey};
use crate::vector::{INLINE_BYTES_MAX, VectorBatch};

/// Least slots of an index.
const SLOTS_MIN: usize = 64;

/// Groups and how to find them.
#[derive(Debug, Default)]
pub(super) struct GroupTable {
    pub(super) rows: Vec<u64>,
    pub(super) heap: Vec<u8>,
    count: usize,
    /// Row number + 1 or 0, at a place that the hash gives or behind it; as many as a power of two.
    slots: Vec<u32>,
}

impl GroupTable {
    /// Returns how many groups there are.
    pub(super) fn len(&self) -> usize {
        self.count
    }

    /// Returns the bytes that it takes.
    pub(super) fn bytes(&self) -> usize {
        self.rows.capacity() * 8 + self.heap.capacity() + self.slots.capacity() * 4
    }

    /// Drops all groups and keeps the memory.
    pub(super) fn clear(&mut self) {
        self.rows.clear();
        self.heap.clear();
        self.count = 0;
        self.slots.fill(0);
    }

    /// Returns the words of a group.
    pub(super) fn row<'t>(&'t self, plan: &GroupPlan, group: usize) -> &'t [u64] {
        &self.rows[group * plan.row_words..(group + 1) * plan.row_words]
    }

    /// Finds the group of a row of a batch, or adds it.
    #[inline]
    pub(super) fn find_or_add(
        &mut self,
        plan: &GroupPlan,
        keys: &KeyWords,
        row: usize,
        batch: &VectorBatch,
    ) -> u32 {
        let words = keys.row(row);
        let found = self.find(plan, words, |this, group| {
            plan.compared_strings().all(|StringKey { key, offset_word }| {
                let len = string_len(words[key.word]);
                if len <= INLINE_BYTES_MAX {
                    return true;
                }
                let offset = this.row(plan, group)[offset_word] as usize;
                let known = &this.heap[offset..offset + len];
                batch.columns[key.slot].with_bytes(row, None, |value| value == known)
            })
        });
        match found {
            Ok(group) => group,
            Err(slot) => {
                let group = self.add(plan, words, slot);
                self.keep_row(plan, group, row, batch);
                group
            }
        }
    }

    /// Adds a row of a batch as a group that is not looked up; all of the table are such then.
    #[inline]
    pub(super) fn add_row(
        &mut self,
        plan: &GroupPlan,
        keys: &KeyWords,
        row: usize,
        batch: &VectorBatch,
    ) -> u32 {
        let group = self.push(plan, keys.row(row));
        self.keep_row(plan, group, row, batch);
        group
    }

    /// Keeps what a new group has beside its compared words: dependent keys, and strings.
    fn keep_row(&mut self, plan: &GroupPlan, group: u32, row: usize, batch: &VectorBatch) {
        let start = group as usize * plan.row_words;
        let words = &mut self.rows[start..start + plan.row_words];
        for key in plan.dependents() {
            put_value(key, &batch.columns[key.slot], row, words);
        }
        self.keep_strings(plan, group, |key, heap| {
            let column = &batch.columns[key.slot];
            column.with_bytes(row, None, |value| heap.extend_from_slice(value));
        });
    }

    /// Finds the group of a row of another table or page, or adds it with states of zero.
    pub(super) fn find_or_add_row(&mut self, plan: &GroupPlan, row: &[u64], heap: &[u8]) -> u32 {
        match self.find_row(plan, row, heap) {
            Ok(group) => group,
            Err(slot) => {
                let words = &row[..HASH_WORDS + plan.compared_words];
                let group = self.add(plan, words, slot);
                let start = group as usize * plan.row_words;
                let dependents = plan.dependent_words.clone();
                self.rows[start + dependents.start..start + dependents.end]
                    .copy_from_slice(&row[dependents]);
                self.keep_strings(plan, group, |key, own| {
                    let offset = key.offset_word.map_or(0, |word| row[word]) as usize;
                    own.extend_from_slice(&heap[offset..offset + string_len(row[key.word])]);
                });
                group
            }
        }
    }

    /// Finds the group of a row of another table or page; `Err` is the slot that it would have.
    /// Keys of this table that the other one has first are compared.
    pub(super) fn find_row(
        &self,
        plan: &GroupPlan,
        row: &[u64],
        heap: &[u8],
    ) -> Result<u32, usize> {
        self.find(plan, &row[..HASH_WORDS + plan.compared_words], |this, group| {
            plan.compared_strings().all(|StringKey { key, offset_word }| {
                let len = string_len(row[key.word]);
                if len <= INLINE_BYTES_MAX {
                    return true;
                }
                let (own, other) =
                    (this.row(plan, group)[offset_word] as usize, row[offset_word] as usize);
                this.heap[own..own + len] == heap[other..other + len]
            })
        })
    }

    #[inline]
    pub(super) fn find(
        &self,
        plan: &GroupPlan,
        words: &[u64],
        has_same_strings: impl Fn(&Self, usize) -> bool,
    ) -> Result<u32, usize> {
        let hash = words[0];
        let mask = self.slots.len().wrapping_sub(1);
        let mut slot = hash as usize & mask;
        while let Some(&entry) = self.slots.get(slot) {
            let Some(group) = (entry as usize).checked_sub(1) else { return Err(slot) };
            let start = group * plan.row_words;
            let known = &self.rows[start..start + words.len()];
            if equal_words(known, words) && has_same_strings(self, group) {
                return Ok(group as u32);
            }
            slot = (slot + 1) & mask;
        }
        Err(slot)
    }

    /// Adds a group whose slot is known to be free.
    pub(super) fn add(&mut self, plan: &GroupPlan, words: &[u64], slot: usize) -> u32 {
        let group = self.push(plan, words);
        // At most half full, so that chains stay short.
        if self.count * 2 > self.slots.len() {
            self.grow(plan);
        } else {
            self.slots[slot] = self.count as u32;
        }
        group
    }

    fn push(&mut self, plan: &GroupPlan, words: &[u64]) -> u32 {
        let group = self.count;
        self.rows.extend_from_slice(words);
        self.rows.resize((group + 1) * plan.row_words, 0);
        self.count += 1;
        group as u32
    }

    fn grow(&mut self, plan: &GroupPlan) {
        let slots = (self.slots.len() * 2).max(SLOTS_MIN);
        self.slots.clear();
        self.slots.resize(slots, 0);
        for group in 0..self.count {
            let mut slot = self.rows[group * plan.row_words] as usize & (slots - 1);
            while self.slots[slot] != 0 {
                slot = (slot + 1) & (slots - 1);
            }
            self.slots[slot] = group as u32 + 1;
        }
    }

    /// Copies the long strings of a new group's keys to the heap; `append` appends one.
    fn keep_strings(
        &mut self,
        plan: &GroupPlan,
        group: u32,
        append: impl Fn(&super::layout::GroupKey, &mut Vec<u8>),
    ) {
        let start = group as usize * plan.row_words;
        for StringKey { key, offset_word } in plan.string_keys() {
            if string_len(self.rows[start + key.word]) > INLINE_BYTES_MAX {
                self.rows[start + offset_word] = self.heap.len() as u64;
                append(key, &mut self.heap);
            }
        }
    }
}
