//! Point and range reads. Readers do not block each other.

use std::cell::RefCell;
use std::ops::{Bound, ControlFlow};

use super::entry::{self, VALUE_BYTES_MAX, WORD_BYTES};
use super::leaf::{Damage, Leaf, LeafRef};
use super::separators::Seek;
use super::tree::{HybridTree, State};
use crate::error::Result;

/// Bounds of a range of keys.
pub type KeyBounds<'a> = (Bound<&'a [u8]>, Bound<&'a [u8]>);

/// A value that was found.
enum Found {
    /// Its bytes, padded, and how many they are.
    Word([u8; WORD_BYTES], usize),
    /// It is longer.
    Long,
}

impl HybridTree {
    /// Returns the value of `key`.
    ///
    /// # Errors
    /// As for [`HybridTree::get_with`].
    pub fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>> {
        self.get_with(key, <[u8]>::to_vec)
    }

    /// Calls `body` with the value of `key`, if there is one, and returns what it returns.
    /// Allocates nothing. `body` runs once, on a verified copy; it may use the tree.
    ///
    /// # Errors
    /// `Corrupt` naming the leaf whose bytes are damaged, `Lost` if no member has them.
    pub fn get_with<T>(&self, key: &[u8], body: impl FnOnce(&[u8]) -> T) -> Result<Option<T>> {
        let state = self.read();
        let leaf = state.inner.leaf(key);
        let fingerprint = entry::fingerprint(key);
        let found = state.with_leaf(leaf, |bytes| find_value(bytes, key, fingerprint))?;
        match found.map_err(|damage| damage.at(leaf))? {
            None => Ok(None),
            Some(Found::Word(word, bytes)) => {
                drop(state);
                Ok(Some(body(&word[..bytes])))
            }
            Some(Found::Long) => {
                let buffer = RefCell::new([0; VALUE_BYTES_MAX]);
                let bytes = state.copy_value(leaf, key, fingerprint, &buffer)?;
                drop(state);
                Ok(bytes.map(|bytes| body(&buffer.borrow()[..bytes])))
            }
        }
    }

    /// Whether `key` is there.
    ///
    /// # Errors
    /// As for [`HybridTree::get_with`].
    pub fn contains(&self, key: &[u8]) -> Result<bool> {
        Ok(self.get_with(key, |_| ())?.is_some())
    }

    /// Calls `visit` with each key within `bounds` and its value, in ascending order of the keys,
    /// until it breaks.
    ///
    /// Leaf by leaf a copy is taken, and `visit` runs on the copy: it may use the tree, and writers
    /// go on in between. A key that is there all the time is visited once; one that comes or goes
    /// meanwhile may be.
    ///
    /// # Errors
    /// As for [`HybridTree::get_with`].
    pub fn range(
        &self,
        bounds: KeyBounds<'_>,
        mut visit: impl FnMut(&[u8], &[u8]) -> ControlFlow<()>,
    ) -> Result<()> {
        let (lower, upper) = bounds;
        let mut cursor = match lower {
            Bound::Included(key) | Bound::Excluded(key) => key.to_vec(),
            Bound::Unbounded => Vec::new(),
        };
        let mut copy = RefCell::new(Vec::new());
        let mut is_first = true;
        loop {
            let state = self.read();
            let bounded = state.inner.bounded(Seek::Of(&cursor));
            let (leaf, next) = (bounded.place.leaf, bounded.upper.map(<[u8]>::to_vec));
            state.copy_leaf(leaf, &copy)?;
            drop(state);
            // The leaf may hold keys that the leaf before had when it was visited.
            let from = if is_first { lower } else { Bound::Included(&cursor[..]) };
            let (entries, _) = sorted(copy.get_mut(), leaf)?;
            for entry in entries.iter().skip_while(|entry| !is_above(entry.key(), from)) {
                if !is_below(entry.key(), upper) || visit(entry.key(), entry.value()).is_break() {
                    return Ok(());
                }
            }
            match next {
                Some(next) if is_below(&next, upper) => cursor = next,
                _ => return Ok(()),
            }
            is_first = false;
        }
    }

    /// As [`HybridTree::range`], in descending order.
    ///
    /// # Errors
    /// As for [`HybridTree::get_with`].
    pub fn range_descending(
        &self,
        bounds: KeyBounds<'_>,
        mut visit: impl FnMut(&[u8], &[u8]) -> ControlFlow<()>,
    ) -> Result<()> {
        let (lower, upper) = bounds;
        let mut cursor: Option<Vec<u8>> = None;
        let mut copy = RefCell::new(Vec::new());
        loop {
            let state = self.read();
            let bounded = state.inner.bounded(match (&cursor, upper) {
                (Some(key), _) => Seek::Below(key),
                (None, Bound::Included(key)) => Seek::Of(key),
                (None, Bound::Excluded(key)) => Seek::Below(key),
                (None, Bound::Unbounded) => Seek::Last,
            });
            let (leaf, next) = (bounded.place.leaf, bounded.lower.map(<[u8]>::to_vec));
            state.copy_leaf(leaf, &copy)?;
            drop(state);
            let to = cursor.as_deref().map_or(upper, Bound::Excluded);
            let (entries, _) = sorted(copy.get_mut(), leaf)?;
            for entry in entries.iter().rev().skip_while(|entry| !is_below(entry.key(), to)) {
                if !is_above(entry.key(), lower) || visit(entry.key(), entry.value()).is_break() {
                    return Ok(());
                }
            }
            match next {
                Some(next) if is_above(&next, lower) => cursor = Some(next),
                _ => return Ok(()),
            }
        }
    }
}

impl State {
    /// Copies the value of `key` into `buffer` and returns its size.
    fn copy_value(
        &self,
        leaf: LeafRef,
        key: &[u8],
        fingerprint: u8,
        buffer: &RefCell<[u8; VALUE_BYTES_MAX]>,
    ) -> Result<Option<usize>> {
        let bytes = self.with_leaf(leaf, |bytes| {
            let Some(entry) = find_entry(bytes, key, fingerprint)? else { return Ok(None) };
            let value = entry.value();
            buffer.borrow_mut()[..value.len()].copy_from_slice(value);
            Ok(Some(value.len()))
        })?;
        bytes.map_err(|damage: Damage| damage.at(leaf))
    }

    /// Replaces `copy` by the bytes of `leaf`.
    pub(super) fn copy_leaf(&self, leaf: LeafRef, copy: &RefCell<Vec<u8>>) -> Result<()> {
        self.with_leaf(leaf, |bytes| {
            let mut copy = copy.borrow_mut();
            copy.clear();
            copy.extend_from_slice(bytes.bytes());
        })
    }
}

/// Returns the entries in a copy of `leaf`, and the units in use.
pub(super) fn sorted(copy: &[u8], leaf: LeafRef) -> Result<(Vec<entry::Entry<'_>>, u64)> {
    Leaf::new(copy, leaf.class()).sorted().map_err(|damage| damage.at(leaf))
}

fn find_entry<'a>(
    bytes: Leaf<'a>,
    key: &[u8],
    fingerprint: u8,
) -> std::result::Result<Option<entry::Entry<'a>>, Damage> {
    let Some(hit) = bytes.find(key, fingerprint)? else { return Ok(None) };
    let entry = bytes.entry(hit.slot)?;
    if entry.is_intact() { Ok(Some(entry)) } else { Err(Damage::Checksum(hit.slot)) }
}

#[inline]
fn find_value(
    bytes: Leaf<'_>,
    key: &[u8],
    fingerprint: u8,
) -> std::result::Result<Option<Found>, Damage> {
    let Some(entry) = find_entry(bytes, key, fingerprint)? else { return Ok(None) };
    let value = entry.value();
    if value.len() > WORD_BYTES {
        return Ok(Some(Found::Long));
    }
    let mut word = [0; WORD_BYTES];
    word[..value.len()].copy_from_slice(value);
    Ok(Some(Found::Word(word, value.len())))
}

fn is_above(key: &[u8], lower: Bound<&[u8]>) -> bool {
    match lower {
        Bound::Included(bound) => key >= bound,
        Bound::Excluded(bound) => key > bound,
        Bound::Unbounded => true,
    }
}

fn is_below(key: &[u8], upper: Bound<&[u8]>) -> bool {
    match upper {
        Bound::Included(bound) => key <= bound,
        Bound::Excluded(bound) => key < bound,
        Bound::Unbounded => true,
    }
}
