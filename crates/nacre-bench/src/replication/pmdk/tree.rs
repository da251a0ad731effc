//! A key-value store over `libpmemobj`, built the way pmemkv builds its tree.
//!
//! This is our own code and not pmemkv, which Debian does not ship with that engine; it keeps what
//! costs time there:
//! - leaves lie in the pool as a linked list of 48 slots, a fingerprint and a pointer each;
//! - key and value of a slot are an allocated object;
//! - every change is one transaction of the library;
//! - inner nodes, and a copy of each leaf's fingerprints and keys, are in DRAM.
//!
//! Where a choice was open, the one that is faster for the library was taken: pmemkv's
//! `KVSlot::set` allocates a new object, sets the pointer and frees the old object at each update;
//! here that is so for large values only, a value of up to 4 KiB and of unchanged size is
//! overwritten in place after a snapshot. Pointers are 8 bytes, not 16; inner nodes are a B-tree of
//! the standard library.
//!
//! # Layout
//! | offset | bytes | field of a leaf |
//! |---|---|---|
//! | 0 | 8 | offset of the next leaf, 0 at the end |
//! | 8 | 48 | fingerprints, 0 if the slot is free |
//! | 56 | 384 | offsets of the objects: key bytes u32, value bytes u32, key, value |
//!
//! # Source
//! [Zarubin22 3.1.1] key-value store, Figure 3.1.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::path::PathBuf;

use super::pool::{Object, PmdkPool, PmdkTransaction};
use crate::error::{Error, Result};
use crate::replication::nacre::Place;

/// Slots of a leaf.
const SLOTS: usize = 48;
const FINGERPRINTS_AT: usize = 8;
const POINTERS_AT: usize = FINGERPRINTS_AT + SLOTS;
const LEAF_BYTES: usize = POINTERS_AT + 8 * SLOTS;

/// Largest value that is overwritten in place; a snapshot of a larger one costs more than a new
/// object (measured: 677 against 315 thousand updates a second at 4 bytes, 268 against 230 at
/// 4 KiB, 42 against 89 at 64 KiB).
const IN_PLACE_BYTES_MAX: usize = 4096;

/// Bytes in front of the key in a slot's object.
const LENGTHS_BYTES: usize = 8;

/// The tree; keys are unique, values are replaced as a whole.
pub(super) struct PmdkTree {
    pool: PmdkPool,
    leaves: Vec<Leaf>,
    /// Smallest key of each leaf but the first, whose entry is the empty key, to its index.
    inner: BTreeMap<Vec<u8>, usize>,
}

/// What DRAM knows of a leaf.
struct Leaf {
    object: Object,
    /// Offset of the next leaf, 0 at the end.
    next: u64,
    fingerprints: [u8; SLOTS],
    slots: Vec<Option<Slot>>,
}

struct Slot {
    key: Vec<u8>,
    object: Object,
}

impl PmdkTree {
    /// Creates an empty tree in a new pool set.
    pub(super) fn create(place: Place<'_>) -> Result<Self> {
        let mut pool = PmdkPool::create(place)?;
        let root = pool.root(8)?;
        let object = pool.transaction(|transaction| {
            let leaf = new_leaf(transaction)?;
            transaction.update(&root, 0, &leaf.offset().to_le_bytes())?;
            Ok(leaf)
        })?;
        let inner = BTreeMap::from([(Vec::new(), 0)]);
        Ok(Self { pool, leaves: vec![Leaf::new(object)], inner })
    }

    /// Returns the part files, the master's first.
    pub(super) fn parts(&self) -> &[PathBuf] {
        self.pool.parts()
    }

    /// Returns offset and bytes of the objects that hold keys and values.
    pub(super) fn objects(&self) -> impl Iterator<Item = (u64, usize)> {
        let slots = self.leaves.iter().flat_map(|leaf| leaf.slots.iter().flatten());
        slots.map(|slot| (slot.object.offset(), slot.object.bytes()))
    }

    /// Inserts a key that is not there yet.
    pub(super) fn insert(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        let mut index = self.leaf_of(key);
        if self.leaves[index].free_slot().is_none() {
            self.split(index)?;
            index = self.leaf_of(key);
        }
        let leaf = &mut self.leaves[index];
        let Some(at) = leaf.free_slot() else {
            return Err(Error::Deviation("a leaf that was just split is full".into()));
        };
        let fingerprint = fingerprint(key);
        let object = self.pool.transaction(|transaction| {
            let object = fill(transaction, key, value)?;
            transaction.update(&leaf.object, FINGERPRINTS_AT + at, &[fingerprint])?;
            let pointer = object.offset().to_le_bytes();
            transaction.update(&leaf.object, POINTERS_AT + 8 * at, &pointer)?;
            Ok(object)
        })?;
        leaf.fingerprints[at] = fingerprint;
        leaf.slots[at] = Some(Slot { key: key.to_vec(), object });
        Ok(())
    }

    /// Replaces the value of a key.
    #[inline]
    pub(super) fn update(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        let index = self.leaf_of(key);
        let leaf = &mut self.leaves[index];
        let Some((at, slot)) = leaf.find(key) else {
            return Err(Error::Deviation(format!("key {key:?} is not in the tree")));
        };
        let (node, old) = (leaf.object, slot.object);
        let value_at = LENGTHS_BYTES + key.len();
        if old.bytes() == value_at + value.len() && value.len() <= IN_PLACE_BYTES_MAX {
            return self.pool.transaction(|transaction| transaction.update(&old, value_at, value));
        }
        let object = self.pool.transaction(|transaction| {
            let object = fill(transaction, key, value)?;
            let pointer = object.offset().to_le_bytes();
            transaction.update(&node, POINTERS_AT + 8 * at, &pointer)?;
            transaction.free(old)?;
            Ok(object)
        })?;
        slot_object(leaf, at, object);
        Ok(())
    }

    #[inline]
    fn leaf_of(&self, key: &[u8]) -> usize {
        let bounds = (Bound::Unbounded, Bound::Included(key));
        let before = self.inner.range::<[u8], _>(bounds).next_back();
        before.map_or(0, |(_, index)| *index)
    }

    /// Moves the upper half of a full leaf into a new one behind it.
    fn split(&mut self, index: usize) -> Result<()> {
        let leaf = &self.leaves[index];
        let mut order: Vec<usize> = (0..SLOTS).filter(|at| leaf.slots[*at].is_some()).collect();
        order.sort_by(|a, b| leaf.key(*a).cmp(leaf.key(*b)));
        let moved = order.split_off(order.len() / 2);
        let separator = leaf.key(moved[0]).to_vec();
        let next = leaf.next;
        let (node, fingerprints) = (leaf.object, leaf.fingerprints);
        let pointers: Vec<u64> = moved.iter().map(|at| leaf.pointer(*at)).collect();
        let object = self.pool.transaction(|transaction| {
            let new = new_leaf(transaction)?;
            transaction.fill(&new, 0, &next.to_le_bytes());
            transaction.update(&node, 0, &new.offset().to_le_bytes())?;
            for (to, (from, pointer)) in moved.iter().zip(&pointers).enumerate() {
                transaction.fill(&new, FINGERPRINTS_AT + to, &[fingerprints[*from]]);
                transaction.fill(&new, POINTERS_AT + 8 * to, &pointer.to_le_bytes());
                transaction.update(&node, FINGERPRINTS_AT + from, &[0])?;
            }
            Ok(new)
        })?;
        let mut new = Leaf::new(object);
        new.next = std::mem::replace(&mut self.leaves[index].next, object.offset());
        for (to, from) in moved.into_iter().enumerate() {
            let old = &mut self.leaves[index];
            new.fingerprints[to] = std::mem::take(&mut old.fingerprints[from]);
            new.slots[to] = old.slots[from].take();
        }
        self.inner.insert(separator, self.leaves.len());
        self.leaves.push(new);
        Ok(())
    }
}

impl Leaf {
    fn new(object: Object) -> Self {
        let slots = (0..SLOTS).map(|_| None).collect();
        Self { object, next: 0, fingerprints: [0; SLOTS], slots }
    }

    fn free_slot(&self) -> Option<usize> {
        self.slots.iter().position(Option::is_none)
    }

    fn key(&self, at: usize) -> &[u8] {
        self.slots[at].as_ref().map_or(&[], |slot| &slot.key)
    }

    fn pointer(&self, at: usize) -> u64 {
        self.slots[at].as_ref().map_or(0, |slot| slot.object.offset())
    }

    #[inline]
    fn find(&self, key: &[u8]) -> Option<(usize, &Slot)> {
        let wanted = fingerprint(key);
        let candidates =
            self.fingerprints.iter().enumerate().filter(|(_, found)| **found == wanted);
        candidates
            .filter_map(|(at, _)| Some((at, self.slots[at].as_ref()?)))
            .find(|(_, slot)| slot.key == key)
    }
}

#[inline]
fn slot_object(leaf: &mut Leaf, at: usize, object: Object) {
    if let Some(slot) = &mut leaf.slots[at] {
        slot.object = object;
    }
}

/// Allocates an empty leaf.
fn new_leaf(transaction: &mut PmdkTransaction<'_>) -> Result<Object> {
    let leaf = transaction.alloc(LEAF_BYTES)?;
    transaction.fill(&leaf, 0, &[0; LEAF_BYTES]);
    Ok(leaf)
}

/// Allocates and fills the object of a slot.
#[inline]
fn fill(transaction: &mut PmdkTransaction<'_>, key: &[u8], value: &[u8]) -> Result<Object> {
    let object = transaction.alloc(LENGTHS_BYTES + key.len() + value.len())?;
    // Lengths fit: the bench makes keys and values of at most 64 KiB.
    let lengths = key.len() as u64 | (value.len() as u64) << 32;
    transaction.fill(&object, 0, &lengths.to_le_bytes());
    transaction.fill(&object, LENGTHS_BYTES, key);
    transaction.fill(&object, LENGTHS_BYTES + key.len(), value);
    Ok(object)
}

/// Returns a hash of a key that is never 0.
#[inline]
fn fingerprint(key: &[u8]) -> u8 {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for byte in key {
        hash = (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    }
    ((hash >> 56) as u8).max(1)
}
