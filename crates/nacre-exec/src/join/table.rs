//! The table of a join: rows, and links that find them by their keys.
//!
//! A link is a row's number + 1, or 0. Each different key has one row that is its *head*; rows with
//! the same key hang on it by `same`.
//!
//! ```text
//! keys   7 3 7 9 7
//! dense  3 -> row 1, 7 -> row 0, 9 -> row 3       same of 0: 4, of 4: 2
//! ```
//!
//! # Layout
//! A slot of the hash table is a word: 16 bits, one for each of 16 classes of hashes that a head of
//! the slot has, and the link of the first head; the next ones follow by `chain`. A key whose bit
//! is clear has no row, which no row needs to be read for.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

use nacre_column::VECTOR_ROWS;

use super::chunk::{CHUNK_ROWS, chunk_place};
use super::column::{NO_ROW, StoredColumn};
use super::key_bits::{JoinKeyBits, JoinKeySummary};
use super::keys::JoinKeyWords;
use crate::control::QueryControl;
use crate::error::ExecResult;
use crate::group::{equal_words, hash_words};
use crate::memory::MemoryReservation;
use crate::vector::BitVector;

/// A key is dense if its values span at most so many times the rows: an array of 4 bytes a value
/// takes as much as a hash table then, of 8 bytes for 2 to 4 slots a row and 4 for the chain.
const DENSE_FACTOR: u64 = 8;

/// A range that is dense for any number of rows: 4 KiB.
const DENSE_RANGE_MIN: u64 = 1_024;

/// Least slots of a hash table.
const SLOTS_MIN: usize = 64;

/// Bytes of strings of one column that a vector of pairs gets at most, if these are short enough:
/// a heap has 4 GiB, and a worker should take much less.
const HEAP_BYTES_MAX: usize = 64 << 20;

/// Zeros that are written between two looks at whether the query is to end: a few milliseconds.
const ZEROS_BETWEEN_CHECKS: usize = 1 << 20;

/// The link in a slot; above it are the tags.
const LINK_MASK: u64 = (1 << 48) - 1;

/// How rows are found.
#[derive(Debug)]
enum KeyIndex {
    /// Without keys, every row is a partner.
    All,
    /// Links by key, from `min` on.
    Dense { min: i64, heads: Vec<AtomicU32> },
    /// Slots by the upper bits of the hash.
    Hash { shift: u32, slots: Vec<AtomicU64>, chain: Vec<AtomicU32> },
}

/// The kind of index of a table, and its size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum JoinIndexKind {
    All,
    Dense { min: i64, range: usize },
    Hash { slots: usize },
}

/// The index that a table gets.
#[derive(Debug)]
pub(super) struct TableIndex<'c> {
    pub(super) choice: JoinIndexKind,
    /// Whether rows come out alone that have no partner, or for that they have one.
    pub(super) is_marked: bool,
    /// Of the bytes of `choice`.
    pub(super) reservation: MemoryReservation,
    pub(super) control: &'c QueryControl,
}

/// The least and the greatest key of rows, of keys of one word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct JoinKeyRange {
    pub(super) min: i64,
    pub(super) max: i64,
}

/// The keys of a chunk.
#[derive(Debug)]
pub(super) struct ChunkKeys {
    pub(super) words: Vec<u64>,
    pub(super) has_key: BitVector,
    pub(super) rows: usize,
}

/// All rows of the build side.
///
/// # Concurrency
/// Links and `has_duplicates` are set by [`JoinTable::insert_chunk`], `marks` by the probe; both
/// are read by later stages, which the end of a stage publishes them to.
#[derive(Debug)]
pub(super) struct JoinTable {
    pub(super) rows: usize,
    pub(super) columns: Vec<StoredColumn>,
    pub(super) keys: Vec<ChunkKeys>,
    /// Rows whose strings of any column take [`HEAP_BYTES_MAX`] at most; one at least.
    gathered_rows_max: usize,
    key_words: usize,
    /// Least and greatest key, if keys have one word.
    range: Option<JoinKeyRange>,
    index: KeyIndex,
    /// By word of the keys: which values there are; made when first asked for.
    summaries: Vec<OnceLock<JoinKeySummary>>,
    /// By row: the next one with the same key.
    same: Vec<AtomicU32>,
    has_duplicates: AtomicBool,
    /// A bit for each row that had a partner; empty unless rows of the build side come out alone.
    marks: Vec<AtomicU64>,
    /// Of the index; rows are reserved where they were collected.
    reservation: MemoryReservation,
}

impl JoinKeyRange {
    /// Returns the range around both; `None` is that of no keys.
    pub(super) fn union(left: Option<Self>, right: Option<Self>) -> Option<Self> {
        let (Some(left), Some(right)) = (left, right) else { return left.or(right) };
        Some(Self { min: left.min.min(right.min), max: left.max.max(right.max) })
    }
}

impl JoinIndexKind {
    /// Chooses the index of so many rows; `range` is that of keys of one word.
    pub(super) fn new(key_words: usize, rows: usize, range: Option<JoinKeyRange>) -> Self {
        if key_words == 0 {
            return Self::All;
        }
        let dense_max = (rows as u64).saturating_mul(DENSE_FACTOR).max(DENSE_RANGE_MIN);
        if let Some(JoinKeyRange { min, max }) = range
            && key_words == 1
            && max.abs_diff(min) < dense_max
        {
            return Self::Dense { min, range: max.abs_diff(min) as usize + 1 };
        }
        Self::Hash { slots: (rows * 2).next_power_of_two().max(SLOTS_MIN) }
    }

    /// Returns the bytes of the index and of what goes with the rows.
    pub(super) fn bytes(self, rows: usize, is_marked: bool) -> usize {
        let index = match self {
            Self::All => return if is_marked { rows.div_ceil(8) } else { 0 },
            Self::Dense { range, .. } => range * 4,
            Self::Hash { slots } => slots * 8 + rows * 4,
        };
        index + rows * 4 + if is_marked { rows.div_ceil(8) } else { 0 }
    }
}

/// Makes links to nothing, or words without bits.
///
/// # Errors
/// Those of the query's control.
fn zeros<T: Default>(count: usize, control: &QueryControl) -> ExecResult<Vec<T>> {
    let mut all = Vec::with_capacity(count);
    while all.len() < count {
        control.check()?;
        let end = count.min(all.len() + ZEROS_BETWEEN_CHECKS);
        all.resize_with(end, T::default);
    }
    Ok(all)
}

/// Returns the bit of a hash in a slot's tags.
#[inline]
fn tag_of(hash: u64) -> u64 {
    1 << (48 + (hash & 15))
}

impl JoinTable {
    /// Makes a table without links.
    ///
    /// # Errors
    /// Those of the query's control.
    pub(super) fn new(
        columns: Vec<StoredColumn>,
        keys: Vec<ChunkKeys>,
        key_words: usize,
        range: Option<JoinKeyRange>,
        index: TableIndex<'_>,
    ) -> ExecResult<Self> {
        let TableIndex { choice, is_marked, reservation, control } = index;
        let rows = keys.iter().map(|chunk| chunk.rows).sum();
        let longest = columns.iter().map(StoredColumn::longest).max().unwrap_or(0);
        let gathered_rows_max = (HEAP_BYTES_MAX / longest.max(1)).max(1);
        let index = match choice {
            JoinIndexKind::All => KeyIndex::All,
            JoinIndexKind::Dense { min, range } => {
                KeyIndex::Dense { min, heads: zeros(range, control)? }
            }
            JoinIndexKind::Hash { slots } => KeyIndex::Hash {
                shift: 64 - slots.trailing_zeros(),
                slots: zeros(slots, control)?,
                chain: zeros(rows, control)?,
            },
        };
        let links = if choice == JoinIndexKind::All { 0 } else { rows };
        let marks = if is_marked { rows.div_ceil(64) } else { 0 };
        Ok(Self {
            rows,
            columns,
            keys,
            gathered_rows_max,
            key_words,
            range,
            index,
            summaries: (0..key_words).map(|_| OnceLock::new()).collect(),
            same: zeros(links, control)?,
            has_duplicates: AtomicBool::new(false),
            marks: zeros(marks, control)?,
            reservation,
        })
    }

    /// Links the rows of a chunk; workers do so at once.
    pub(super) fn insert_chunk(&self, chunk: usize) {
        let Some(keys) = self.keys.get(chunk) else { return };
        let first = (chunk * CHUNK_ROWS) as u32;
        match &self.index {
            KeyIndex::All => {}
            KeyIndex::Dense { min, heads } => keys.has_key.for_each_one(|at| {
                let head = &heads[keys.words[at].wrapping_sub(*min as u64) as usize];
                let row = first + at as u32;
                // ORDERING: read by later stages only.
                let before = head.swap(row + 1, Ordering::Relaxed);
                if before != 0 {
                    self.same[row as usize].store(before, Ordering::Relaxed);
                    self.note_duplicate();
                }
            }),
            KeyIndex::Hash { shift, slots, chain } => keys.has_key.for_each_one(|at| {
                let words = &keys.words[at * self.key_words..(at + 1) * self.key_words];
                let hash = hash_words(words);
                self.insert(
                    first + at as u32,
                    words,
                    hash,
                    &slots[(hash >> shift) as usize],
                    chain,
                );
            }),
        }
    }

    /// Links a row behind the head of its key, or makes it a head.
    fn insert(&self, row: u32, words: &[u64], hash: u64, slot: &AtomicU64, chain: &[AtomicU32]) {
        // ORDERING: Acquire pairs with the Release of the exchange below: a seen head comes with
        // its link in `chain`.
        let mut head = slot.load(Ordering::Acquire);
        loop {
            if head & tag_of(hash) != 0
                && let Some(equal) = self.walk((head & LINK_MASK) as u32, words, chain)
            {
                return self.hang_on(equal, row);
            }
            chain[row as usize].store((head & LINK_MASK) as u32, Ordering::Relaxed);
            let changed = head & !LINK_MASK | tag_of(hash) | u64::from(row + 1);
            match slot.compare_exchange_weak(head, changed, Ordering::AcqRel, Ordering::Acquire) {
                Ok(_) => return,
                Err(now) => head = now,
            }
        }
    }

    /// Hangs a row on the head of its key.
    fn hang_on(&self, head: u32, row: u32) {
        let head = &self.same[head as usize];
        // ORDERING: read by later stages only.
        let mut next = head.load(Ordering::Relaxed);
        loop {
            self.same[row as usize].store(next, Ordering::Relaxed);
            let changed =
                head.compare_exchange_weak(next, row + 1, Ordering::Relaxed, Ordering::Relaxed);
            match changed {
                Ok(_) => return self.note_duplicate(),
                Err(now) => next = now,
            }
        }
    }

    fn note_duplicate(&self) {
        // ORDERING: as above; without the look, workers would write one cache line all the time.
        if !self.has_duplicates.load(Ordering::Relaxed) {
            self.has_duplicates.store(true, Ordering::Relaxed);
        }
    }

    /// Returns the head of a key in a chain.
    #[inline]
    fn walk(&self, mut link: u32, words: &[u64], chain: &[AtomicU32]) -> Option<u32> {
        while link != 0 {
            let row = link - 1;
            let (chunk, at) = chunk_place(row);
            let at = at * self.key_words;
            let known = &self.keys[chunk].words[at..at + self.key_words];
            if equal_words(known, words) {
                return Some(row);
            }
            link = chain[row as usize].load(Ordering::Relaxed);
        }
        None
    }

    /// Returns the bytes of the index.
    pub(super) fn index_bytes(&self) -> usize {
        let summaries = self.summaries.iter().filter_map(|one| one.get()?.bits.as_ref());
        self.reservation.bytes() + summaries.map(JoinKeyBits::bytes).sum::<usize>()
    }

    /// Returns which values a key of one word has, once all rows are there.
    pub(super) fn key_summary(&self, word: usize) -> Option<&JoinKeySummary> {
        let make = || {
            let range = if self.key_words == 1 { self.range } else { self.word_range(word) };
            JoinKeySummary::new(range, self.rows, |each| self.for_each_word(word, each))
        };
        self.summaries.get(word).map(|summary| summary.get_or_init(make))
    }

    fn word_range(&self, word: usize) -> Option<JoinKeyRange> {
        let (mut min, mut max) = (i64::MAX, i64::MIN);
        self.for_each_word(word, |value| (min, max) = (min.min(value), max.max(value)));
        (min <= max).then_some(JoinKeyRange { min, max })
    }

    /// Calls `each` for a word of the keys of all rows that have keys.
    fn for_each_word(&self, word: usize, mut each: impl FnMut(i64)) {
        for chunk in &self.keys {
            let words = &chunk.words;
            chunk.has_key.for_each_one(|at| each(words[at * self.key_words + word] as i64));
        }
    }

    /// Returns how many pairs one vector may have.
    pub(super) fn pairs_max(&self) -> usize {
        self.gathered_rows_max.min(VECTOR_ROWS)
    }

    /// Whether a vector of so many rows may have a partner for each of them.
    pub(super) fn fits_vector(&self, rows: usize) -> bool {
        rows <= self.gathered_rows_max
    }

    /// Whether no row of the other side has two partners; once the table is made.
    pub(super) fn is_unique(&self) -> bool {
        match self.index {
            KeyIndex::All => self.rows <= 1,
            // ORDERING: the end of the stage published it.
            _ => !self.has_duplicates.load(Ordering::Relaxed),
        }
    }

    /// Finds the first partner of each row of `active`, [`NO_ROW`] if there is none; other rows
    /// have none. `scratch` is memory.
    pub(super) fn find_all(
        &self,
        keys: &JoinKeyWords,
        active: &BitVector,
        scratch: &mut Vec<u64>,
        first: &mut Vec<u32>,
    ) {
        first.clear();
        first.resize(active.len(), NO_ROW);
        match &self.index {
            KeyIndex::All if self.rows > 0 => active.for_each_one(|row| first[row] = 0),
            KeyIndex::All => {}
            KeyIndex::Dense { min, heads } => active.for_each_one(|row| {
                let offset = keys.words[row].wrapping_sub(*min as u64) as usize;
                // ORDERING: the end of the stage that made the table published it.
                let link = heads.get(offset).map_or(0, |head| head.load(Ordering::Relaxed));
                first[row] = link.wrapping_sub(1);
            }),
            KeyIndex::Hash { shift, slots, chain } => {
                // Slots are read in a loop of their own, so that several reads are under way.
                scratch.clear();
                scratch.resize(active.len(), 0);
                active.for_each_one(|row| {
                    let hash = hash_words(keys.row(row));
                    let slot = slots[(hash >> shift) as usize].load(Ordering::Relaxed);
                    let has_tag = slot & tag_of(hash) != 0;
                    scratch[row] = if has_tag { slot & LINK_MASK } else { 0 };
                });
                active.for_each_one(|row| {
                    if scratch[row] != 0 {
                        let found = self.walk(scratch[row] as u32, keys.row(row), chain);
                        first[row] = found.unwrap_or(NO_ROW);
                    }
                });
            }
        }
    }

    /// Returns the next partner after `row`.
    #[inline]
    pub(super) fn next(&self, row: u32) -> u32 {
        match self.index {
            KeyIndex::All if (row as usize) + 1 < self.rows => row + 1,
            KeyIndex::All => NO_ROW,
            // ORDERING: as in `find_all`.
            _ => self.same[row as usize].load(Ordering::Relaxed).wrapping_sub(1),
        }
    }

    /// Notes that a row had a partner; false if that was known.
    fn set_mark(&self, row: u32) -> bool {
        let (word, bit) = (&self.marks[row as usize / 64], 1 << (row % 64));
        // ORDERING: read by later stages only. Most marks are there already.
        word.load(Ordering::Relaxed) & bit == 0 && word.fetch_or(bit, Ordering::Relaxed) & bit == 0
    }

    /// Notes that rows had a partner.
    pub(super) fn mark(&self, rows: &[u32]) {
        for row in rows.iter().filter(|row| **row != NO_ROW) {
            self.set_mark(*row);
        }
    }

    /// Notes that rows, and all with the same keys, had a partner; each of `heads` is the first
    /// partner of a row.
    pub(super) fn mark_equal(&self, heads: &[u32]) {
        for head in heads.iter().filter(|head| **head != NO_ROW) {
            // Who has marked the head marks the others, too.
            if self.set_mark(*head) {
                let mut row = self.next(*head);
                while row != NO_ROW {
                    self.set_mark(row);
                    row = self.next(row);
                }
            }
        }
    }

    /// Whether a row is known to have a partner.
    pub(super) fn is_marked(&self, row: u32) -> bool {
        // ORDERING: the end of the stages that probed published the marks; before, it is a hint.
        let word = self.marks[row as usize / 64].load(Ordering::Relaxed);
        word >> (row % 64) & 1 == 1
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::join::keys::{JoinKeyForm, JoinKeyPlan};
    use crate::memory::MemoryBudget;
    use crate::value::{IntWidth, VectorType};
    use crate::vector::{ColumnVector, VectorBatch, VectorValues};

    /// Returns the partners of each key, all rows having been linked by four threads.
    fn partners(choice: JoinIndexKind, key: impl Fn(usize) -> i64, asked: &[i64]) -> Vec<Vec<u32>> {
        let chunk = |chunk: usize| ChunkKeys {
            words: (0..CHUNK_ROWS).map(|at| key(chunk * CHUNK_ROWS + at) as u64).collect(),
            has_key: BitVector::filled(CHUNK_ROWS, true),
            rows: CHUNK_ROWS,
        };
        let reservation = MemoryBudget::new("memory", 1 << 30).reservation("join");
        let keys = (0..8).map(chunk).collect();
        let control = QueryControl::default();
        let index = TableIndex { choice, is_marked: false, reservation, control: &control };
        let table = JoinTable::new(Vec::new(), keys, 1, None, index).unwrap();
        std::thread::scope(|scope| {
            for thread in 0..4 {
                let table = &table;
                scope.spawn(move || (thread..8).step_by(4).for_each(|at| table.insert_chunk(at)));
            }
        });
        let mut column = ColumnVector::new(VectorType::Int(IntWidth::I64));
        column.values = VectorValues::Int64(asked.to_vec());
        let batch = VectorBatch { columns: vec![column], rows: asked.len(), selection: None };
        let plan = JoinKeyPlan { probe_slot: 0, build_slot: 0, form: JoinKeyForm::Int, word: 0 };
        let (mut words, mut scratch, mut first) = Default::default();
        JoinKeyWords::fill_probe(&mut words, &[plan], 1, &batch).unwrap();
        table.find_all(&words, &BitVector::filled(asked.len(), true), &mut scratch, &mut first);
        let list = |first: &u32| {
            let next = |row: &u32| Some(table.next(*row)).filter(|row| *row != NO_ROW);
            let mut rows: Vec<u32> =
                std::iter::successors(Some(*first).filter(|row| *row != NO_ROW), next).collect();
            rows.sort_unstable();
            rows
        };
        first.iter().map(list).collect()
    }

    #[test]
    fn rows_that_threads_link_at_once_are_all_found_by_their_keys() {
        let dense = JoinIndexKind::Dense { min: -5, range: 3_000 };
        // Few slots, so that keys share them.
        let hash = JoinIndexKind::Hash { slots: 256 };
        let key = |row: usize| (row * 7_919 % 2_500) as i64 - 5;
        let mut wanted = BTreeMap::<i64, Vec<u32>>::new();
        for row in 0..8 * CHUNK_ROWS {
            wanted.entry(key(row)).or_default().push(row as u32);
        }
        let asked: Vec<i64> = (-10..3_000).chain([i64::MIN, i64::MAX]).collect();
        for choice in [dense, hash] {
            let found = partners(choice, key, &asked);
            for (key, found) in asked.iter().zip(&found) {
                assert_eq!(Some(found).filter(|rows| !rows.is_empty()), wanted.get(key), "{key}");
            }
        }
    }

    #[test]
    fn dense_keys_get_an_array_and_others_a_hash_table() {
        let dense = |min, range| JoinIndexKind::Dense { min, range };
        let choose = |rows, min, max| JoinIndexKind::new(1, rows, Some(JoinKeyRange { min, max }));
        assert_eq!(JoinIndexKind::new(0, 10, None), JoinIndexKind::All);
        assert_eq!(choose(10, -5, 1_018), dense(-5, 1_024));
        assert_eq!(choose(10, -5, 1_019), JoinIndexKind::Hash { slots: 64 });
        assert_eq!(choose(1_000, 0, 7_999), dense(0, 8_000));
        assert_eq!(choose(1_000, i64::MIN, i64::MAX), JoinIndexKind::Hash { slots: 2_048 });
        assert_eq!(JoinIndexKind::new(2, 40, None), JoinIndexKind::Hash { slots: 128 });
    }
}
