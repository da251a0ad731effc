//! The strings of a dictionary column, numbered once for the whole query.
//!
//! Dictionaries belong to blocks; a scan gives each block's entries query-wide codes when it opens
//! the block, so groups and comparisons work on codes of 32 bits. Codes are in order of appearance.
//!
//! # Concurrency
//! Workers intern under a write lock, once for each block and for each new string of rows, and read
//! under a read lock, once for each vector.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard};

use super::StringColumn;

/// Strings by code.
#[derive(Debug, Default)]
pub struct QueryDictionary(RwLock<DictionaryEntries>);

#[derive(Debug, Default)]
struct DictionaryEntries {
    codes: HashMap<Box<[u8]>, u32>,
    places: Vec<Range<usize>>,
    heap: Vec<u8>,
}

/// Bytes of memory of an entry beside its string, which is there twice.
const ENTRY_BYTES: usize = 64;

/// Strings of rows that are remembered with their codes: a power of two.
const RECENT_STRINGS: usize = 256;

/// A string of rows whose code is known.
#[derive(Clone, Copy)]
struct RecentString<'v> {
    value: &'v [u8],
    ends: u64,
    code: u32,
}

impl RecentString<'_> {
    /// Whether it is this string, which has these ends.
    #[inline]
    fn is(&self, value: &[u8], ends: u64) -> bool {
        let is_alike = self.ends == ends && self.value.len() == value.len();
        is_alike && (value.len() < size_of::<u64>() || self.value == value)
    }
}

/// Returns both ends of a string, where strings of a column differ; all of a string that is shorter
/// than 8 bytes.
#[inline]
fn string_ends(value: &[u8]) -> u64 {
    let word = |bytes: &[u8; 8]| u64::from_le_bytes(*bytes);
    match (value.first_chunk(), value.last_chunk()) {
        (Some(first), Some(last)) => word(first) ^ word(last).rotate_left(29),
        _ => value.iter().fold(0, |word, byte| word << 8 | u64::from(*byte)),
    }
}

/// Returns where a string of this length with these ends is remembered.
#[inline]
fn recent_slot(ends: u64, len: usize) -> usize {
    let mixed = (ends ^ len as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    (mixed >> 32) as usize % RECENT_STRINGS
}

/// The strings of a dictionary for as long as this lives; interning waits.
#[derive(Debug)]
pub struct DictionaryReader<'d>(RwLockReadGuard<'d, DictionaryEntries>);

/// Read locks of several columns' dictionaries. Each dictionary is locked once, and all in the
/// order of their addresses, so that two threads cannot wait for each other behind waiting writers.
#[derive(Debug)]
pub struct DictionaryReaders<'d> {
    readers: Vec<DictionaryReader<'d>>,
    /// For each column the index of its reader.
    by_column: Vec<Option<usize>>,
}

impl<'d> DictionaryReaders<'d> {
    /// Locks the dictionaries of columns; a column without one is `None`.
    pub fn new(columns: &[Option<&'d Arc<QueryDictionary>>]) -> Self {
        let mut ordered: Vec<&'d Arc<QueryDictionary>> =
            columns.iter().copied().flatten().collect();
        ordered.sort_by_key(|dictionary| Arc::as_ptr(dictionary));
        ordered.dedup_by(|one, other| Arc::ptr_eq(one, other));
        let place = |own: &Arc<QueryDictionary>| {
            ordered.iter().position(|dictionary| Arc::ptr_eq(dictionary, own))
        };
        let by_column = columns.iter().map(|column| column.and_then(place)).collect();
        Self { readers: ordered.iter().map(|dictionary| dictionary.read()).collect(), by_column }
    }

    /// Returns the reader of a column that has a dictionary.
    pub fn of(&self, column: usize) -> Option<&DictionaryReader<'d>> {
        let at = self.by_column.get(column).copied().flatten()?;
        self.readers.get(at)
    }
}

impl QueryDictionary {
    /// Returns the code of each of `values`, new ones for new strings.
    pub fn intern<'v>(&self, values: impl Iterator<Item = &'v [u8]>) -> Vec<u32> {
        let mut entries = self.0.write().unwrap_or_else(PoisonError::into_inner);
        values.map(|value| entries.intern(value)).collect()
    }

    /// Appends the code of each of the strings of rows, of which many are the same: such are looked
    /// up once. Waits for readers only for new strings.
    pub(crate) fn intern_rows<'v>(
        &self,
        rows: impl Iterator<Item = &'v [u8]>,
        codes: &mut Vec<u32>,
    ) {
        let mut recent: [Option<RecentString<'_>>; RECENT_STRINGS] = [None; RECENT_STRINGS];
        let mut of_bytes: [Option<u32>; 256] = [None; 256];
        codes.extend(rows.map(|value| {
            if let [byte] = value {
                return *of_bytes[usize::from(*byte)].get_or_insert_with(|| self.intern_one(value));
            }
            let ends = string_ends(value);
            let slot = &mut recent[recent_slot(ends, value.len())];
            match slot {
                Some(known) if known.is(value, ends) => known.code,
                _ => slot.insert(RecentString { value, ends, code: self.intern_one(value) }).code,
            }
        }));
    }

    fn intern_one(&self, value: &[u8]) -> u32 {
        let known = self.read().find(value);
        known
            .unwrap_or_else(|| self.0.write().unwrap_or_else(PoisonError::into_inner).intern(value))
    }

    /// Returns the code of each string of a column, new ones for new strings.
    pub(crate) fn intern_column(&self, strings: &StringColumn) -> Vec<u32> {
        let mut entries = self.0.write().unwrap_or_else(PoisonError::into_inner);
        (0..strings.len()).map(|row| strings.with(row, |value| entries.intern(value))).collect()
    }

    /// Returns about how many bytes it takes.
    pub fn bytes(&self) -> usize {
        let entries = self.0.read().unwrap_or_else(PoisonError::into_inner);
        2 * entries.heap.len() + entries.places.len() * ENTRY_BYTES
    }

    /// Returns the strings.
    pub fn read(&self) -> DictionaryReader<'_> {
        DictionaryReader(self.0.read().unwrap_or_else(PoisonError::into_inner))
    }
}

impl DictionaryEntries {
    fn intern(&mut self, value: &[u8]) -> u32 {
        if let Some(code) = self.codes.get(value) {
            return *code;
        }
        let code = self.places.len() as u32;
        let start = self.heap.len();
        self.heap.extend_from_slice(value);
        self.places.push(start..self.heap.len());
        self.codes.insert(value.into(), code);
        code
    }
}

impl DictionaryReader<'_> {
    /// Returns the string of a code; empty if there is no such code.
    #[inline]
    pub fn get(&self, code: u32) -> &[u8] {
        let place = self.0.places.get(code as usize).cloned().unwrap_or(0..0);
        &self.0.heap[place]
    }

    /// Returns the code of a string; `None` if it has none.
    #[inline]
    pub fn find(&self, value: &[u8]) -> Option<u32> {
        self.0.codes.get(value).copied()
    }

    /// Returns how many codes there are.
    pub fn len(&self) -> usize {
        self.0.places.len()
    }

    /// Tells whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.places.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_have_the_codes_of_their_strings() {
        let dictionary = QueryDictionary::default();
        let first = dictionary.intern(["b", "a"].map(str::as_bytes).into_iter());
        assert_eq!(first, [0, 1]);
        // More strings than are remembered, of all lengths, some of which share a place.
        let texts: Vec<String> = (0..5_000)
            .map(|row| {
                let number = row % 1_500;
                "a".repeat(number % 3 + 1) + &number.to_string().repeat(number % 4)
            })
            .collect();
        let mut codes = vec![9];
        dictionary.intern_rows(texts.iter().map(String::as_bytes), &mut codes);
        assert_eq!(codes.len(), 1 + texts.len());
        let reader = dictionary.read();
        for (text, code) in texts.iter().zip(&codes[1..]) {
            assert_eq!(reader.get(*code), text.as_bytes());
            assert_eq!(reader.find(text.as_bytes()), Some(*code));
        }
        assert_eq!(reader.find(b"a"), Some(1));
    }
}
