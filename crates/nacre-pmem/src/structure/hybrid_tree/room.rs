//! Making room: leaves are split, rebuilt in another size, or taken out, each by one transaction.
//!
//! A full leaf of some entries is split: the upper half goes to a new leaf, and the old one forgets
//! it by its publish word. One of few entries, which are large then, or whose free units lie
//! scattered, is rebuilt as a leaf of the class that fits. What is copied has been checked.

use std::cell::RefCell;

use super::entry::Entry;
use super::inner::Place;
use super::leaf;
use super::link::{LeafRef, Link};
use super::read::sorted;
use super::separators::{self, Seek};
use super::tree::{State, head_link};
use crate::error::Result;

/// A full leaf of fewer entries becomes a larger leaf instead of two.
const SPLIT_ENTRIES_MIN: usize = 16;

impl State {
    /// Makes the leaf that may hold `key` take an entry of `bytes` bytes, or brings it nearer to
    /// that: each call leaves a leaf of fewer entries, or one in which there is room. So no more
    /// than [`SLOTS`](leaf::SLOTS) calls are needed.
    ///
    /// # Errors
    /// `HeapFull`, `Corrupt`; as for [`PoolSet::transaction`]. The tree is as before.
    ///
    /// [`PoolSet::transaction`]: crate::PoolSet::transaction
    pub(super) fn make_room(&mut self, key: &[u8], bytes: usize) -> Result<()> {
        let leaf = self.inner.leaf(key);
        let mut copy = RefCell::new(Vec::new());
        self.copy_leaf(leaf, &copy)?;
        let is_whole = |copy: &[u8]| {
            leaf::Leaf::new(copy, leaf.class()).next_word(leaf).is_ok()
                && sorted(copy, leaf).is_ok()
        };
        if !is_whole(copy.get_mut()) {
            self.heal(leaf)?;
            self.copy_leaf(leaf, &copy)?;
        }
        let copy = copy.get_mut();
        let (entries, _) = sorted(copy, leaf)?;
        if entries.len() < SPLIT_ENTRIES_MIN {
            let sizes = entries.iter().map(|entry| entry.bytes().len()).chain([bytes]);
            let class = leaf::class_for(sizes.clone(), entries.len() / 2 + 1);
            if let Some(class) = class.or_else(|| leaf::class_for(sizes, 0)) {
                return self.rebuild(key, bytes, leaf, &entries, class, copy);
            }
        }
        let at = split_at(&entries, key);
        self.split(leaf, &entries, at, copy)
    }

    /// Moves the entries from `at` on to a new leaf.
    fn split(
        &mut self,
        leaf: LeafRef,
        entries: &[Entry<'_>],
        at: usize,
        copy: &[u8],
    ) -> Result<()> {
        let (left, right) = entries.split_at(at);
        let (Some(last), Some(first)) = (left.last(), right.first()) else {
            return Err(leaf.corrupt("it is full without entries"));
        };
        let sizes = right.iter().map(|entry| entry.bytes().len());
        let spare = (entries.len() * 2 / 3).saturating_sub(right.len()).max(1);
        let class = leaf::class_for(sizes.clone(), spare).or_else(|| leaf::class_for(sizes, 0));
        let Some(class) = class else {
            return Err(leaf.corrupt("half of it is more than a leaf can hold"));
        };
        let old = leaf::Leaf::new(copy, leaf.class());
        let (live, used) = old.subset(left);
        let next = old.next_word(leaf).map_err(|damage| damage.at(leaf))?;
        let heap = &mut self.heap;
        let place = self.set.transaction(|tx| {
            let new = LeafRef::new(heap.alloc(tx, leaf::leaf_bytes(class))?.offset, class);
            let (bytes, used) = leaf::build(new, next, right.iter().copied(), 0);
            tx.write_new(new.offset(), &bytes)?;
            tx.write(leaf.offset(), &live.word().to_le_bytes())?;
            let link = Link::behind(leaf);
            tx.write(link.offset(), &link.encode(new.word()))?;
            Ok(Place { leaf: new, used })
        })?;
        *self.inner.place_mut(last.key()).1 = used;
        self.inner.insert(separators::shortest(last.key(), first.key()), place);
        Ok(())
    }

    /// Replaces the leaf that may hold `key` by one of `class`, in which an entry of `coming_bytes`
    /// bytes finds room.
    fn rebuild(
        &mut self,
        key: &[u8],
        coming_bytes: usize,
        leaf: LeafRef,
        entries: &[Entry<'_>],
        class: u8,
        copy: &[u8],
    ) -> Result<()> {
        let next = leaf::Leaf::new(copy, leaf.class()).next_word(leaf);
        let next = next.map_err(|damage| damage.at(leaf))?;
        let link = self.link_of(key);
        let heap = &mut self.heap;
        let place = self.set.transaction(|tx| {
            let new = LeafRef::new(heap.alloc(tx, leaf::leaf_bytes(class))?.offset, class);
            let (bytes, used) = leaf::build(new, next, entries.iter().copied(), coming_bytes);
            tx.write_new(new.offset(), &bytes)?;
            tx.write(link.offset(), &link.encode(new.word()))?;
            heap.free(tx, leaf.offset())?;
            Ok(Place { leaf: new, used })
        })?;
        let (leaf, used) = self.inner.place_mut(key);
        (*leaf, *used) = (place.leaf, place.used);
        Ok(())
    }

    /// Takes out the leaf that may hold `key`, which is empty.
    ///
    /// # Errors
    /// As for [`State::make_room`].
    pub(super) fn remove_leaf(&mut self, key: &[u8]) -> Result<()> {
        let leaf = self.inner.leaf(key);
        let next = self.with_whole_leaf(leaf, |bytes| bytes.next_word(leaf))?;
        self.unlink(self.link_of(key), leaf, next)?;
        self.inner.remove(key);
        Ok(())
    }

    /// Takes `leaf` out of the list, in which `link` names it.
    ///
    /// # Errors
    /// As for [`State::make_room`].
    pub(super) fn unlink(&mut self, link: Link, leaf: LeafRef, next: u64) -> Result<()> {
        let heap = &mut self.heap;
        self.set.transaction(|tx| {
            tx.write(link.offset(), &link.encode(next))?;
            heap.free(tx, leaf.offset())
        })
    }

    /// Returns the link to the leaf that may hold `key`.
    fn link_of(&self, key: &[u8]) -> Link {
        match self.inner.bounded(Seek::Of(key)).lower {
            Some(lower) => Link::behind(self.inner.bounded(Seek::Below(lower)).place.leaf),
            None => head_link(self.header),
        }
    }
}

/// Returns how many entries stay on the left when `key` comes in.
fn split_at(entries: &[Entry<'_>], key: &[u8]) -> usize {
    let count = entries.len();
    if entries.last().is_some_and(|last| last.key() < key) {
        // Behind all others, keys probably ascend: then the left leaf stays nearly full.
        return count - (count / 8).max(1);
    }
    let total: usize = entries.iter().map(|entry| entry.bytes().len()).sum();
    let mut left = 0;
    let half = entries.iter().take_while(|entry| {
        left += entry.bytes().len();
        left <= total / 2
    });
    half.count().clamp(1, count.saturating_sub(1).max(1))
}
