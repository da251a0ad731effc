//! The hash index: chains of entries behind buckets that are split one at a time.
//!
//! 1. A bucket holds the handle of the first of its entries, each entry that of the next one.
//! 2. When there are more keys than buckets, one bucket is split in two, in the order of their
//!    numbers (linear hashing). So growing never takes longer than one chain, and no lookup meets
//!    a table that is half moved.
//!
//! Buckets do not become fewer when keys go.
//!
//! # Invariants
//! 1. With `b` buckets, `2^k <= b < 2^(k+1)`, an entry is in bucket `hash mod 2^(k+1)` if there is
//!    one, else in `hash mod 2^k`.
//! # Source
//! [Muehlbauer16 2.4] point accesses by hash tables. Differs: linear hashing, so that no
//! transaction waits for a table that doubles.
//! # See
//! `benches/index.rs`.

use std::hash::{BuildHasher, RandomState};

use super::row_set::{Removed, RowLists, RowSet, Rows};
use super::short::{Short, Strings};
use super::slab::Slab;
use super::{IndexFull, KEYS_MAX};
use crate::id::RowId;

/// Ends a chain.
const END: u32 = u32::MAX;

/// Odd, with as many ones as zeros: the multipliers of the hash function.
const MULTIPLIERS: [u64; 2] = [0x9e37_79b9_7f4a_7c15, 0xd1b5_4a32_d192_ed03];

/// A chained hash table from key bytes to rows.
#[derive(Debug)]
pub struct HashIndex {
    buckets: Slab<u32>,
    entries: Slab<Entry>,
    strings: Strings,
    lists: RowLists,
    rows: usize,
    /// Random, so that nobody can choose keys that all fall into one bucket.
    seed: u64,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    hash: u32,
    next: u32,
    rows: RowSet,
    key: Short,
}

impl Default for HashIndex {
    fn default() -> Self {
        let mut buckets = Slab::default();
        buckets.insert(END);
        Self {
            buckets,
            entries: Slab::default(),
            strings: Strings::default(),
            lists: RowLists::default(),
            rows: 0,
            seed: RandomState::new().hash_one(0),
        }
    }
}

impl HashIndex {
    /// Returns an empty index.
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns the number of rows.
    pub fn len(&self) -> usize {
        self.rows
    }

    /// Whether there is no row.
    pub fn is_empty(&self) -> bool {
        self.rows == 0
    }

    /// Returns the number of keys.
    pub fn keys(&self) -> usize {
        self.entries.len()
    }

    /// Returns the bytes of memory that the index takes.
    pub fn bytes(&self) -> usize {
        self.buckets.bytes() + self.entries.bytes() + self.strings.bytes() + self.lists.bytes()
    }

    /// Returns the rows of `key`.
    pub fn get(&self, key: &[u8]) -> Rows<'_> {
        match self.find(hash(self.seed, key), key) {
            Some((entry, _)) => self.lists.rows(self.entries.get(entry).rows),
            None => Rows::none(),
        }
    }

    /// Returns the entry of `key` and the one before it in its chain.
    #[inline]
    fn find(&self, hash: u32, key: &[u8]) -> Option<(u32, Option<u32>)> {
        let mut before = None;
        let mut at = *self.buckets.get(bucket(hash, self.buckets.len()));
        while at != END {
            let entry = self.entries.get(at);
            if entry.hash == hash && self.strings.get(&entry.key) == key {
                return Some((at, before));
            }
            before = Some(at);
            at = entry.next;
        }
        None
    }

    /// Adds `row` to the rows of `key`; `false` if it was there.
    ///
    /// # Errors
    /// [`IndexFull`]; then nothing has changed.
    pub fn insert(&mut self, key: &[u8], row: RowId) -> Result<bool, IndexFull> {
        let hash = hash(self.seed, key);
        if let Some((entry, _)) = self.find(hash, key) {
            let is_new = self.lists.insert(&mut self.entries.get_mut(entry).rows, row);
            self.rows += usize::from(is_new);
            return Ok(is_new);
        }
        if self.keys() >= KEYS_MAX {
            return Err(IndexFull);
        }
        let (rows, key) = (RowSet::one(row), self.strings.insert(&[key]));
        let entry = self.entries.insert(Entry { hash, next: END, rows, key });
        self.chain(entry);
        self.rows += 1;
        if self.keys() > self.buckets.len() {
            self.split();
        }
        Ok(true)
    }

    /// Puts an entry at the head of the chain that it belongs to.
    fn chain(&mut self, entry: u32) {
        let count = self.buckets.len();
        let there = self.entries.get_mut(entry);
        let head = self.buckets.get_mut(bucket(there.hash, count));
        there.next = std::mem::replace(head, entry);
    }

    /// Adds a bucket and gives it what it shared a bucket with so far.
    fn split(&mut self) {
        let count = self.buckets.len();
        let shared = count - (1 << count.ilog2());
        let mut at = std::mem::replace(self.buckets.get_mut(shared as u32), END);
        self.buckets.insert(END);
        while at != END {
            let next = self.entries.get(at).next;
            self.chain(at);
            at = next;
        }
    }

    /// Takes `row` out of the rows of `key`; `false` if it was not there.
    pub fn remove(&mut self, key: &[u8], row: RowId) -> bool {
        let hash = hash(self.seed, key);
        let Some((at, before)) = self.find(hash, key) else {
            return false;
        };
        match self.lists.remove(&mut self.entries.get_mut(at).rows, row) {
            Removed::No => return false,
            Removed::Yes => {}
            Removed::Last => {
                let next = self.entries.get(at).next;
                match before {
                    Some(before) => self.entries.get_mut(before).next = next,
                    None => *self.buckets.get_mut(bucket(hash, self.buckets.len())) = next,
                }
                let (rows, key) = (RowSet::one(RowId(0)), Short::default());
                let gone = self.entries.remove(at, Entry { hash: 0, next: END, rows, key });
                self.strings.remove(gone.key);
            }
        }
        self.rows -= 1;
        true
    }
}

/// Returns the bucket of a hash among `count`.
#[inline]
fn bucket(hash: u32, count: usize) -> u32 {
    let half = 1_u32 << count.ilog2();
    let wide = hash & (2 * half - 1);
    if (wide as usize) < count { wide } else { wide & (half - 1) }
}

/// Hashes a key, eight bytes at a time, by multiplying and folding.
#[inline]
fn hash(seed: u64, key: &[u8]) -> u32 {
    let (words, tail) = key.as_chunks::<8>();
    let mixed = words
        .iter()
        .fold(seed, |mixed, &word| fold(mixed ^ u64::from_le_bytes(word), MULTIPLIERS[0]));
    let mut last = [0; 8];
    last[..tail.len()].copy_from_slice(tail);
    // The length tells keys apart that end in zeros.
    let last = u64::from_le_bytes(last) ^ (key.len() as u64) << 56;
    fold(mixed ^ last, MULTIPLIERS[1]) as u32
}

#[inline]
fn fold(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    product as u64 ^ (product >> 64) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chains_stay_short() {
        let mut index = HashIndex::new();
        for key in 0..100_000_u64 {
            assert_eq!(index.insert(&(key * 1_000).to_be_bytes(), RowId(key)), Ok(true));
        }
        let mut longest = 0;
        for head in 0..index.buckets.len() as u32 {
            let (mut at, mut length) = (*index.buckets.get(head), 0);
            while at != END {
                assert_eq!(bucket(index.entries.get(at).hash, index.buckets.len()), head);
                (at, length) = (index.entries.get(at).next, length + 1);
            }
            longest = longest.max(length);
        }
        assert_eq!(index.buckets.len(), 100_000);
        assert!(longest < 24, "{longest}");
    }
}
