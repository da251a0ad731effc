//! The strings of a dictionary column, numbered once for the whole query.
//!
//! Dictionaries belong to blocks; a scan gives each block's entries query-wide codes when it opens
//! the block, so groups and comparisons work on codes of 32 bits. Codes are in order of appearance.
//!
//! # Concurrency
//! Workers intern under a write lock, once for each block, and read under a read lock, once for
//! each vector.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::{PoisonError, RwLock, RwLockReadGuard};

/// Strings by code.
#[derive(Debug, Default)]
pub struct QueryDictionary(RwLock<DictionaryEntries>);

#[derive(Debug, Default)]
struct DictionaryEntries {
    codes: HashMap<Box<[u8]>, u32>,
    places: Vec<Range<usize>>,
    heap: Vec<u8>,
}

/// The strings of a dictionary for as long as this lives; interning waits.
#[derive(Debug)]
pub struct DictionaryReader<'d>(RwLockReadGuard<'d, DictionaryEntries>);

impl QueryDictionary {
    /// Returns the code of each of `values`, new ones for new strings.
    pub fn intern<'v>(&self, values: impl Iterator<Item = &'v [u8]>) -> Vec<u32> {
        let mut entries = self.0.write().unwrap_or_else(PoisonError::into_inner);
        values.map(|value| entries.intern(value)).collect()
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

    /// Returns how many codes there are.
    pub fn len(&self) -> usize {
        self.0.places.len()
    }

    /// Tells whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.places.is_empty()
    }
}
