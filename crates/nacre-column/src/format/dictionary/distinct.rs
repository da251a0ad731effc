//! Numbers distinct values in the order of first appearance, strings and keys alike.

use super::SAMPLE_ROWS;
use crate::buffer::ByteValues;
use crate::hash::{end_words, hash_key, hash_words};

/// Slots that a lookup may pass on average. At most half of the slots are taken, so two suffice
/// unless someone has chosen the strings to collide; then plain is the answer.
const PROBES_PER_ROW_MAX: usize = 8;

/// Values that can be told apart by a hash table.
pub(super) trait Distinguishable {
    /// What one value is looked up by.
    type Probe: Copy;
    /// What is kept of a distinct value.
    type Entry;

    /// Returns what the value in `row` is looked up by.
    fn probe(&self, row: usize) -> Self::Probe;

    /// Hashes the value in `row`.
    fn hash(&self, row: usize, probe: Self::Probe) -> u32;

    /// Tells whether the value in `row` is the one that `entry` was made of.
    fn is_same(&self, entry: &Self::Entry, row: usize, probe: Self::Probe) -> bool;

    /// Makes what is kept of the value in `row`.
    fn entry(&self, row: usize, probe: Self::Probe) -> Self::Entry;
}

/// Values seen so far, numbered in the order of first appearance.
///
/// Open addressing with linear probing. A slot holds the upper 32 bits of the hash (which also
/// choose the slot) above the number of its value plus 1; 0 is free.
pub(super) struct Distinct<'a, V: Distinguishable + ?Sized> {
    pub(super) values: &'a V,
    pub(super) entries: Vec<V::Entry>,
    slots: Vec<u64>,
    pub(super) probes_left: usize,
    last: u32,
}

impl<'a, V: Distinguishable + ?Sized> Distinct<'a, V> {
    pub(super) fn new(values: &'a V, rows: usize) -> Self {
        let probes_left = (rows + SAMPLE_ROWS) * PROBES_PER_ROW_MAX;
        let slots = vec![0; 2 * SAMPLE_ROWS];
        Self { values, entries: Vec::new(), slots, probes_left, last: 0 }
    }

    /// Returns the number of the value in `row`; `None` once too many slots had to be passed.
    #[inline]
    pub(super) fn number_of(&mut self, row: usize) -> Option<u32> {
        let probe = self.values.probe(row);
        if let Some(last) = self.entries.get(self.last as usize)
            && self.values.is_same(last, row, probe)
        {
            return Some(self.last);
        }
        let hash = self.values.hash(row, probe);
        let mask = self.slots.len() - 1;
        let mut at = hash as usize & mask;
        loop {
            let slot = self.slots[at];
            if slot == 0 {
                break;
            }
            let number = slot as u32 - 1;
            let entry = &self.entries[number as usize];
            if (slot >> 32) as u32 == hash && self.values.is_same(entry, row, probe) {
                self.last = number;
                return Some(number);
            }
            self.probes_left = self.probes_left.checked_sub(1)?;
            at = (at + 1) & mask;
        }
        let number = self.entries.len() as u32;
        self.slots[at] = u64::from(hash) << 32 | u64::from(number + 1);
        self.entries.push(self.values.entry(row, probe));
        self.last = number;
        if self.entries.len() * 2 > self.slots.len() {
            self.grow();
        }
        Some(number)
    }

    #[cold]
    fn grow(&mut self) {
        let mask = self.slots.len() * 4 - 1;
        let mut slots = vec![0; mask + 1];
        for slot in self.slots.iter().filter(|slot| **slot != 0) {
            let mut at = (*slot >> 32) as usize & mask;
            while slots[at] != 0 {
                at = (at + 1) & mask;
            }
            slots[at] = *slot;
        }
        self.slots = slots;
    }
}

/// One distinct string. Up to 16 bytes, `words` and `len` together are the string.
pub(super) struct StringEntry {
    words: (u64, u64),
    pub(super) len: u32,
    pub(super) row: u32,
}

impl Distinguishable for ByteValues {
    type Probe = (u64, u64);
    type Entry = StringEntry;

    #[inline]
    fn probe(&self, row: usize) -> (u64, u64) {
        end_words(self.get(row))
    }

    #[inline]
    fn hash(&self, row: usize, words: (u64, u64)) -> u32 {
        halves(hash_words(self.get(row), words))
    }

    #[inline]
    fn is_same(&self, entry: &StringEntry, row: usize, words: (u64, u64)) -> bool {
        let value = self.get(row);
        entry.words == words
            && entry.len as usize == value.len()
            && (value.len() <= 16 || self.get(entry.row as usize) == value)
    }

    #[inline]
    fn entry(&self, row: usize, words: (u64, u64)) -> StringEntry {
        StringEntry { words, len: self.get(row).len() as u32, row: row as u32 }
    }
}

impl Distinguishable for [u64] {
    type Probe = u64;
    type Entry = u64;

    #[inline]
    fn probe(&self, row: usize) -> u64 {
        self[row]
    }

    #[inline]
    fn hash(&self, _: usize, key: u64) -> u32 {
        halves(hash_key(key))
    }

    #[inline]
    fn is_same(&self, entry: &u64, _: usize, key: u64) -> bool {
        *entry == key
    }

    #[inline]
    fn entry(&self, _: usize, key: u64) -> u64 {
        key
    }
}

/// Returns the distinct keys in ascending order, and the place of each row's among them.
pub(super) fn rank_keys(keys: &[u64]) -> (Vec<u64>, Vec<u64>) {
    let mut distinct = Distinct::new(keys, keys.len());
    let mut codes = Vec::with_capacity(keys.len());
    for row in 0..keys.len() {
        let Some(number) = distinct.number_of(row) else {
            return rank_by_sorting(keys);
        };
        codes.push(number.into());
    }
    let mut order: Vec<(u64, u32)> = distinct.entries.iter().copied().zip(0..).collect();
    order.sort_unstable();
    let mut ranks = vec![0; order.len()];
    for (rank, (_, number)) in order.iter().enumerate() {
        ranks[*number as usize] = rank as u64;
    }
    for code in &mut codes {
        *code = ranks[*code as usize];
    }
    (order.into_iter().map(|(key, _)| key).collect(), codes)
}

/// As [`rank_keys`], slower but as fast for keys chosen to collide in the hash table.
#[cold]
fn rank_by_sorting(keys: &[u64]) -> (Vec<u64>, Vec<u64>) {
    let mut entries = keys.to_vec();
    entries.sort_unstable();
    entries.dedup();
    let rank = |key: &u64| entries.partition_point(|entry| entry < key) as u64;
    let codes = keys.iter().map(rank).collect();
    (entries, codes)
}

/// Returns 32 bits of a hash.
#[inline]
fn halves(hash: u64) -> u32 {
    (hash >> 32) as u32 ^ hash as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sorting_ranks_as_hashing_does() {
        let keys: Vec<u64> = (0..5_000_u64).map(|row| (row * row % 777) << (row % 40)).collect();
        assert_eq!(rank_keys(&keys), rank_by_sorting(&keys));
    }

    /// Without the bound, these would take a quadratic number of steps.
    #[test]
    fn colliding_keys_are_ranked_by_sorting() {
        let slot = |key: u64| <[u64] as Distinguishable>::hash(&[], 0, key) % (1 << 14);
        let keys: Vec<u64> = (0..).filter(|key| slot(*key) == 5).take(300).collect();
        let mut distinct = Distinct::new(&keys[..], 0);
        assert!((0..keys.len()).any(|row| distinct.number_of(row).is_none()));
        let (entries, codes) = rank_by_sorting(&keys);
        assert_eq!(entries, keys);
        assert!(codes.iter().copied().eq(0..300));
    }
}
