//! Insert, update and delete: an entry first, then the publish word.
//!
//! # Durability
//! | change | stores | fences |
//! |---|---|---|
//! | value of one word by another of the same size | the word | 1 |
//! | insert; any other update | entry and fingerprint, then the publish word | 2 |
//! | delete | the publish word | 1 |
//! | the same of values of more than 512 bytes | a transaction (see `extent`) | 2 |
//! | leaf full or empty | a transaction (see `room`) | |
//!
//! Each is durable on return, and a crash leaves it done or not done.

use std::sync::RwLockWriteGuard;

use super::entry::{
    self, INLINE_BYTES_MAX, KEY_BYTES_MAX, Stored, VALUE_BYTES_MAX, WORD_BYTES, WORD_OFFSET,
};
use super::first_line::Live;
use super::inner::Place;
use super::leaf::{self, Damage, Hit, Leaf, SLOTS};
use super::link::LeafRef;
use super::tree::{HybridTree, State, with_leaf};
use crate::error::{Error, ErrorKind, Result};

/// Entries up to this size are built without allocating.
const SMALL_ENTRY_BYTES: usize = 128;

/// Updates of a batch whose leaves are loaded ahead.
const AHEAD: usize = 16;

/// Which of "insert" and "update" a call may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Change {
    Insert,
    Update,
    Upsert,
}

/// Where a new entry goes.
pub(super) struct Spot {
    pub(super) leaf: LeafRef,
    pub(super) slot: usize,
    /// The publish word with the new entry, and without the old one.
    pub(super) live: Live,
    /// The old entry.
    pub(super) hit: Option<Hit>,
}

impl HybridTree {
    /// Adds `key` with `value` and returns true, unless the key is there. Durable on return.
    ///
    /// # Errors
    /// `TooLong` for a key or value past the limit; `HeapFull` if a leaf is full and there is no
    /// room for another; `Corrupt`, `Lost` as for reads; as for [`PoolSet::update`]. The tree is
    /// as before.
    ///
    /// [`PoolSet::update`]: crate::PoolSet::update
    #[inline]
    pub fn insert(&self, key: &[u8], value: &[u8]) -> Result<bool> {
        self.writer().insert(key, value)
    }

    /// Replaces the value of `key` and returns true, if the key is there. Durable on return.
    ///
    /// # Errors
    /// As for [`HybridTree::insert`].
    #[inline]
    pub fn update(&self, key: &[u8], value: &[u8]) -> Result<bool> {
        self.writer().update(key, value)
    }

    /// Replaces the values of the keys that are there, and returns how many are. Durable on return,
    /// with one wait for all that are replaced in place; a crash leaves any of them done.
    ///
    /// # Errors
    /// As for [`HybridTree::insert`]; updates before the failed one may be done.
    pub fn update_batch(&self, updates: &[(&[u8], &[u8])]) -> Result<u64> {
        self.write().update_batch(updates)
    }

    /// Adds `key` with `value`, or replaces its value; returns whether the key is new. Durable on
    /// return.
    ///
    /// # Errors
    /// As for [`HybridTree::insert`].
    #[inline]
    pub fn upsert(&self, key: &[u8], value: &[u8]) -> Result<bool> {
        self.writer().upsert(key, value)
    }

    /// Removes `key` and returns true, if it is there. Durable on return.
    ///
    /// # Errors
    /// As for [`HybridTree::insert`].
    pub fn delete(&self, key: &[u8]) -> Result<bool> {
        self.writer().delete(key)
    }

    /// Keeps all others out until the writer is dropped: many changes then cost one lock, and the
    /// processor may begin one before the fence of the last is over.
    #[inline]
    pub fn writer(&self) -> TreeWriter<'_> {
        TreeWriter { state: self.write() }
    }
}

/// The writer of a tree, while nobody else uses it. A read of the same tree by this thread would
/// wait forever.
#[derive(Debug)]
pub struct TreeWriter<'a> {
    state: RwLockWriteGuard<'a, State>,
}

impl TreeWriter<'_> {
    /// As [`HybridTree::insert`].
    ///
    /// # Errors
    /// As there.
    #[inline]
    pub fn insert(&mut self, key: &[u8], value: &[u8]) -> Result<bool> {
        self.state.change(key, value, Change::Insert)
    }

    /// As [`HybridTree::update`].
    ///
    /// # Errors
    /// As there.
    #[inline]
    pub fn update(&mut self, key: &[u8], value: &[u8]) -> Result<bool> {
        self.state.change(key, value, Change::Update)
    }

    /// As [`HybridTree::upsert`].
    ///
    /// # Errors
    /// As there.
    #[inline]
    pub fn upsert(&mut self, key: &[u8], value: &[u8]) -> Result<bool> {
        let count = self.state.count;
        self.state.change(key, value, Change::Upsert)?;
        Ok(self.state.count > count)
    }

    /// As [`HybridTree::delete`].
    ///
    /// # Errors
    /// As there.
    pub fn delete(&mut self, key: &[u8]) -> Result<bool> {
        self.state.delete(key)
    }
}

impl State {
    /// Returns whether the change took place.
    #[inline]
    fn change(&mut self, key: &[u8], value: &[u8], change: Change) -> Result<bool> {
        check_sizes(key, value)?;
        let fingerprint = entry::fingerprint(key);
        let Place { leaf, used } = self.inner.place(key);
        if value.len() > WORD_BYTES && value.len() <= INLINE_BYTES_MAX {
            self.expect_entry(leaf, used, entry::entry_bytes(key.len(), value.len()), fingerprint);
        }
        let (live, hit) = self.find(key, fingerprint, leaf)?;
        match hit {
            Some(_) if change == Change::Insert => Ok(false),
            None if change == Change::Update => Ok(false),
            Some(hit) if hit.is_replaced_in_place_by(value) => {
                let word = leaf.slot_offset(hit.slot) + WORD_OFFSET as u64;
                self.set.update_near(word, &entry::value_word(value).to_le_bytes())?;
                Ok(true)
            }
            hit => self.replace(key, value, fingerprint, live, hit).map(|()| true),
        }
    }

    /// Starts to load the lines of a new entry and of the publish word, in every member, while the
    /// old entry is looked for.
    #[inline]
    fn expect_entry(&self, leaf: LeafRef, used: u64, bytes: usize, fingerprint: u8) {
        let home = leaf::home_slot(fingerprint);
        let Some(slot) = leaf::free_slot(leaf.class(), used, bytes, home) else { return };
        self.set.prefetch_near(leaf.offset(), size_of::<u64>());
        self.set.prefetch_near(leaf.slot_offset(slot), bytes);
    }

    fn update_batch(&mut self, updates: &[(&[u8], &[u8])]) -> Result<u64> {
        let mut count = 0;
        for group in updates.chunks(AHEAD) {
            for (key, _) in group {
                let leaf = self.inner.leaf(key);
                let bytes = self.set.read(leaf.offset(), leaf.bytes())?;
                Leaf::new(bytes, leaf.class()).prefetch(entry::fingerprint(key));
            }
            for (key, value) in group {
                let written = self.write_or_replace(key, value);
                if written.is_err() {
                    // The error is what the caller must see; a failed drain shows again later.
                    let _ = self.set.drain();
                }
                count += u64::from(written?);
            }
        }
        self.set.drain()?;
        Ok(count)
    }

    /// As an update, but a value that is replaced in place is not yet durable on return.
    fn write_or_replace(&mut self, key: &[u8], value: &[u8]) -> Result<bool> {
        check_sizes(key, value)?;
        let fingerprint = entry::fingerprint(key);
        let leaf = self.inner.leaf(key);
        let (live, hit) = self.find(key, fingerprint, leaf)?;
        match hit {
            None => return Ok(false),
            Some(hit) if hit.is_replaced_in_place_by(value) => {
                let word = leaf.slot_offset(hit.slot) + WORD_OFFSET as u64;
                self.set.write_near(word, &entry::value_word(value).to_le_bytes())?;
            }
            hit => self.replace(key, value, fingerprint, live, hit)?,
        }
        Ok(true)
    }

    /// Looks for `key` in `leaf`; returns the publish word as well.
    #[inline]
    fn find(&mut self, key: &[u8], fingerprint: u8, leaf: LeafRef) -> Result<(Live, Option<Hit>)> {
        if let Ok(found) = self.find_once(key, fingerprint, leaf)? {
            return Ok(found);
        }
        // The bytes must be right in the member that serves before they are changed.
        self.heal(leaf)?;
        self.find_once(key, fingerprint, leaf)?.map_err(|damage| damage.at(leaf))
    }

    #[inline]
    fn find_once(
        &self,
        key: &[u8],
        fingerprint: u8,
        leaf: LeafRef,
    ) -> Result<std::result::Result<(Live, Option<Hit>), Damage>> {
        let set = &self.set;
        set.prefetch_for_write(leaf.slot_offset(leaf::home_slot(fingerprint)));
        with_leaf(set, leaf, |bytes| {
            // The replicas' lines come while the key is compared.
            let expect = |slot| set.prefetch_for_write(leaf.slot_offset(slot));
            bytes.find_and(key, fingerprint, expect).map(|hit| (bytes.first_line().live(), hit))
        })
    }

    /// Writes a new entry and publishes it; `hit`, the old one, goes by the same store.
    #[inline(never)]
    fn replace(
        &mut self,
        key: &[u8],
        value: &[u8],
        fingerprint: u8,
        live: Live,
        hit: Option<Hit>,
    ) -> Result<()> {
        if value.len() > INLINE_BYTES_MAX || hit.is_some_and(|hit| hit.is_in_extent()) {
            return self.replace_extent(key, value, fingerprint, live, hit);
        }
        let bytes = entry::entry_bytes(key.len(), value.len());
        let Spot { leaf, slot, live, hit } = self.spot(key, bytes, fingerprint, live, hit)?;
        let (mut small, mut large) = ([0; SMALL_ENTRY_BYTES], Vec::new());
        let buffer = if bytes <= SMALL_ENTRY_BYTES {
            &mut small[..bytes]
        } else {
            large.resize(bytes, 0);
            &mut large[..]
        };
        entry::encode(buffer, key, Stored::Inline(value));
        self.set.write_near(leaf.slot_offset(slot), buffer)?;
        self.set.write_near(leaf.fingerprint_offset(slot), &[fingerprint])?;
        self.set.publish_u64(leaf.offset(), live.word())?;
        self.note_entry(key, slot, bytes, hit);
        Ok(())
    }

    /// Finds room for an entry of `bytes` bytes, and makes it if there is none.
    pub(super) fn spot(
        &mut self,
        key: &[u8],
        bytes: usize,
        fingerprint: u8,
        mut live: Live,
        mut hit: Option<Hit>,
    ) -> Result<Spot> {
        let home = leaf::home_slot(fingerprint);
        // Whatever a leaf looks like, this ends.
        for _ in 0..=SLOTS {
            let (leaf, used) = self.inner.place_mut(key);
            if let Some(slot) = leaf::free_slot(leaf.class(), *used, bytes, home) {
                let live = live.with(slot, fingerprint);
                let live = hit.map_or(live, |hit| live.without(hit.slot, fingerprint));
                return Ok(Spot { leaf: *leaf, slot, live, hit });
            }
            self.make_room(key, bytes)?;
            (live, hit) = self.find(key, fingerprint, self.inner.leaf(key))?;
        }
        Err(self.inner.leaf(key).corrupt(format!("it takes no entry of {bytes} bytes")))
    }

    /// Notes in the inner nodes that `key` has an entry of `bytes` bytes in `slot`, and not that
    /// of `hit` any more.
    pub(super) fn note_entry(&mut self, key: &[u8], slot: usize, bytes: usize, hit: Option<Hit>) {
        let (leaf, used) = self.inner.place_mut(key);
        *used |= leaf::unit_mask(leaf.class(), slot, bytes);
        match hit {
            Some(hit) => *used &= !hit.units,
            None => self.count += 1,
        }
    }

    fn delete(&mut self, key: &[u8]) -> Result<bool> {
        let leaf = self.inner.leaf(key);
        let fingerprint = entry::fingerprint(key);
        let (live, hit) = self.find(key, fingerprint, leaf)?;
        let Some(hit) = hit else { return Ok(false) };
        let live = live.without(hit.slot, fingerprint);
        match hit.is_in_extent() {
            true => self.delete_extent(leaf, hit.slot, live)?,
            false => self.set.publish_u64(leaf.offset(), live.word())?,
        }
        *self.inner.place_mut(key).1 &= !hit.units;
        self.count -= 1;
        if live.is_empty() && self.inner.leaf_count() > 1 {
            // The key is gone whether this succeeds or not; an empty leaf costs only its space.
            let _ = self.remove_leaf(key);
        }
        Ok(true)
    }
}

#[inline]
fn check_sizes(key: &[u8], value: &[u8]) -> Result<()> {
    if key.len() <= KEY_BYTES_MAX && value.len() <= VALUE_BYTES_MAX {
        return Ok(());
    }
    Err(too_long(key.len(), value.len()))
}

#[cold]
fn too_long(key_bytes: usize, value_bytes: usize) -> Error {
    let (what, bytes, limit) = match key_bytes > KEY_BYTES_MAX {
        true => ("key", key_bytes, KEY_BYTES_MAX),
        false => ("value", value_bytes, VALUE_BYTES_MAX),
    };
    Error::new(
        ErrorKind::TooLong,
        "hybrid tree",
        format!("a {what} of {bytes} bytes is longer than {limit} bytes"),
        "shorten it, or store it elsewhere and its place here",
    )
}
