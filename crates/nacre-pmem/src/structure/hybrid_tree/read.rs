//! Point and range reads. Readers do not block each other.

use std::cell::RefCell;
use std::ops::{Bound, ControlFlow};

use super::entry::{self, Entry, INLINE_BYTES_MAX, Reference, Stored, VALUE_BYTES_MAX, WORD_BYTES};
use super::leaf::{Damage, Leaf};
use super::link::LeafRef;
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
    /// It lies in an extent.
    Extent(Reference),
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
    /// `body` runs once, on a verified copy, for which memory is allocated if the value has more
    /// than 512 bytes; it may use the tree.
    ///
    /// # Errors
    /// `Corrupt` naming the leaf whose bytes are damaged in every member, `Lost` if none has them.
    pub fn get_with<T>(&self, key: &[u8], body: impl FnOnce(&[u8]) -> T) -> Result<Option<T>> {
        let state = self.read();
        let leaf = state.inner.leaf(key);
        let fingerprint = entry::fingerprint(key);
        let find = |bytes: Leaf<'_>| find_value(bytes, key, fingerprint);
        match state.with_whole_leaf(leaf, find)? {
            None => Ok(None),
            Some(Found::Word(word, bytes)) => {
                drop(state);
                Ok(Some(body(&word[..bytes])))
            }
            Some(Found::Long) => {
                let buffer = RefCell::new([0; INLINE_BYTES_MAX]);
                let bytes = state.copy_value(leaf, key, fingerprint, &buffer)?;
                drop(state);
                Ok(bytes.map(|bytes| body(&buffer.borrow()[..bytes])))
            }
            Some(Found::Extent(reference)) => {
                let mut value = RefCell::new(Vec::new());
                state.copy_extent(leaf, reference, &value)?;
                drop(state);
                Ok(Some(body(value.get_mut())))
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
    /// meanwhile may be. A value of more than 512 bytes is copied when its turn comes.
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
        let (copy, whole) = (&mut RefCell::new(Vec::new()), &mut RefCell::new(Vec::new()));
        let mut long = RefCell::new(Vec::new());
        let mut is_first = true;
        loop {
            let state = self.read();
            let bounded = state.inner.bounded(Seek::Of(&cursor));
            let (leaf, next) = (bounded.place.leaf, bounded.upper.map(<[u8]>::to_vec));
            let entries = state.copy_entries(leaf, copy, whole)?;
            drop(state);
            // The leaf may hold keys that the leaf before had when it was visited.
            let from = if is_first { lower } else { Bound::Included(&cursor[..]) };
            for entry in entries.iter().skip_while(|entry| !is_above(entry.key(), from)) {
                if !is_below(entry.key(), upper) || self.visit(entry, &mut long, &mut visit)? {
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
        let (copy, whole) = (&mut RefCell::new(Vec::new()), &mut RefCell::new(Vec::new()));
        let mut long = RefCell::new(Vec::new());
        loop {
            let state = self.read();
            let bounded = state.inner.bounded(match (&cursor, upper) {
                (Some(key), _) => Seek::Below(key),
                (None, Bound::Included(key)) => Seek::Of(key),
                (None, Bound::Excluded(key)) => Seek::Below(key),
                (None, Bound::Unbounded) => Seek::Last,
            });
            let (leaf, next) = (bounded.place.leaf, bounded.lower.map(<[u8]>::to_vec));
            let entries = state.copy_entries(leaf, copy, whole)?;
            drop(state);
            let to = cursor.as_deref().map_or(upper, Bound::Excluded);
            for entry in entries.iter().rev().skip_while(|entry| !is_below(entry.key(), to)) {
                if !is_above(entry.key(), lower) || self.visit(entry, &mut long, &mut visit)? {
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

impl HybridTree {
    /// Calls `visit` with an entry of a copied leaf, and returns whether it breaks. `long` takes a
    /// value that lies in an extent, which the key has another one of by now perhaps, or none.
    fn visit(
        &self,
        entry: &Entry<'_>,
        long: &mut RefCell<Vec<u8>>,
        visit: &mut impl FnMut(&[u8], &[u8]) -> ControlFlow<()>,
    ) -> Result<bool> {
        if let Stored::Inline(value) = entry.value() {
            return Ok(visit(entry.key(), value).is_break());
        }
        let (key, fingerprint) = (entry.key(), entry::fingerprint(entry.key()));
        let state = self.read();
        let leaf = state.inner.leaf(key);
        let stored = state.with_whole_leaf(leaf, |bytes| {
            let found = find_entry(bytes, key, fingerprint)?;
            Ok(found.map(|entry| match entry.value() {
                Stored::Inline(value) => {
                    replace(long, value);
                    None
                }
                Stored::Extent(reference) => Some(reference),
            }))
        })?;
        match stored {
            None => return Ok(false),
            Some(Some(reference)) => state.copy_extent(leaf, reference, long)?,
            Some(None) => {}
        }
        drop(state);
        Ok(visit(key, long.get_mut()).is_break())
    }
}

impl State {
    /// Copies the value of `key` into `buffer` and returns its size.
    fn copy_value(
        &self,
        leaf: LeafRef,
        key: &[u8],
        fingerprint: u8,
        buffer: &RefCell<[u8; INLINE_BYTES_MAX]>,
    ) -> Result<Option<usize>> {
        self.with_whole_leaf(leaf, |bytes| {
            let Some(entry) = find_entry(bytes, key, fingerprint)? else { return Ok(None) };
            // Nothing changed since the entry was found, if these bytes are no garbage.
            let Stored::Inline(value) = entry.value() else { return Err(Damage::Header) };
            buffer.borrow_mut()[..value.len()].copy_from_slice(value);
            Ok(Some(value.len()))
        })
    }

    /// Returns the entries of `leaf`, in `copy`, or in `whole` if the serving member is damaged.
    pub(super) fn copy_entries<'a>(
        &self,
        leaf: LeafRef,
        copy: &'a mut RefCell<Vec<u8>>,
        whole: &'a mut RefCell<Vec<u8>>,
    ) -> Result<Vec<Entry<'a>>> {
        self.copy_leaf(leaf, copy)?;
        if let Ok((entries, _)) = sorted(copy.get_mut(), leaf) {
            return Ok(entries);
        }
        self.with_whole_leaf(leaf, |bytes| {
            replace(whole, bytes.bytes());
            bytes.sorted().map(drop)
        })?;
        Ok(sorted(whole.get_mut(), leaf)?.0)
    }

    /// Replaces `copy` by the bytes of `leaf`.
    pub(super) fn copy_leaf(&self, leaf: LeafRef, copy: &RefCell<Vec<u8>>) -> Result<()> {
        self.with_leaf(leaf, |bytes| replace(copy, bytes.bytes()))
    }

    /// Replaces `copy` by the value that an entry of `leaf` refers to, and verifies it.
    ///
    /// # Errors
    /// `Corrupt` naming `leaf`, `Lost`.
    pub(super) fn copy_extent(
        &self,
        leaf: LeafRef,
        reference: Reference,
        copy: &RefCell<Vec<u8>>,
    ) -> Result<()> {
        let Reference { offset, bytes, .. } = reference;
        let end = offset.checked_add(u64::from(bytes));
        let is_inside =
            offset >= self.set.data_offset() && end.is_some_and(|end| end <= self.set.end_offset());
        if !is_inside || bytes as usize > VALUE_BYTES_MAX {
            let problem = format!("value of {bytes} bytes at offset {offset} cannot be there");
            return Err(leaf.corrupt(problem));
        }
        let copied = self.set.read_verified(offset, u64::from(bytes), |bytes| {
            replace(copy, bytes);
            if reference.is_of(&copy.borrow()) { Ok(()) } else { Err(()) }
        })?;
        copied.map_err(|()| {
            let problem = format!("checksum of the value of {bytes} bytes at offset {offset}");
            leaf.corrupt(problem + " does not match")
        })
    }
}

/// Returns the entries in a copy of `leaf`, and the units in use.
pub(super) fn sorted(copy: &[u8], leaf: LeafRef) -> Result<(Vec<Entry<'_>>, u64)> {
    Leaf::new(copy, leaf.class()).sorted().map_err(|damage| damage.at(leaf))
}

fn replace(copy: &RefCell<Vec<u8>>, bytes: &[u8]) {
    let mut copy = copy.borrow_mut();
    copy.clear();
    copy.extend_from_slice(bytes);
}

fn find_entry<'a>(
    bytes: Leaf<'a>,
    key: &[u8],
    fingerprint: u8,
) -> std::result::Result<Option<Entry<'a>>, Damage> {
    let Some(hit) = bytes.find(key, fingerprint)? else { return Ok(None) };
    bytes.entry(hit.slot).map(Some)
}

#[inline]
fn find_value(
    bytes: Leaf<'_>,
    key: &[u8],
    fingerprint: u8,
) -> std::result::Result<Option<Found>, Damage> {
    let Some(entry) = find_entry(bytes, key, fingerprint)? else { return Ok(None) };
    let value = match entry.value() {
        Stored::Inline(value) => value,
        Stored::Extent(reference) => return Ok(Some(Found::Extent(reference))),
    };
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
