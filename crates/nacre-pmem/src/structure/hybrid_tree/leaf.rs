//! A leaf: an extent with a publish word, fingerprints, and entries.
//!
//! # Layout
//! A leaf has 64 units of `32 << class` bytes. Entries start at units 3..59 (slot 0 is unit 3),
//! longer ones go on over the units behind.
//!
//! | offset | bytes | field |
//! |---|---|---|
//! | 0 | 8 | bit s: slot s holds a live entry (the publish word); bits 56..64 are 0 |
//! | 8 | 56 | fingerprint of each slot |
//! | 64 | 8 | next leaf ([`LeafRef`]), 0 at the end |
//! | 72 | 4 | magic |
//! | 76 | 4 | CRC-32C of the leaf's own [`LeafRef`] |
//! | 3 units | | entries |
//!
//! A point read touches the first line and the entry's: a live bit and an equal fingerprint name
//! the entry, and a wrong candidate is met once in 256.
//!
//! # Source
//! [Zarubin22 3.1.1] leaves as a linked list; fingerprints as in the FPTree that it names.

use super::entry::{self, Entry};
use crate::error::{Error, ErrorKind};
use crate::prefetch;

/// Entries that a leaf can hold.
pub(super) const SLOTS: usize = 56;
/// Unit of slot 0.
const FIRST_UNIT: usize = 3;
const UNITS: usize = 64;
const UNIT_BYTES_MIN: usize = 32;
/// Largest class.
pub(super) const CLASS_MAX: u8 = 3;
const NEXT_OFFSET: usize = 64;
const MAGIC_OFFSET: usize = 72;
const MAGIC: [u8; 4] = *b"NLEF";
/// Bytes before the entries that are in use.
const HEADER_BYTES: usize = 80;
/// Units that hold the header.
const HEADER_UNITS: u64 = (1 << FIRST_UNIT) - 1;

const _: () = assert!(HEADER_BYTES <= FIRST_UNIT * UNIT_BYTES_MIN);
// A leaf of the largest class holds six of the largest entries, so that a split always helps.
const _: () =
    assert!(6 * entry::ENTRY_BYTES_MAX.div_ceil(UNIT_BYTES_MIN << CLASS_MAX) <= UNITS - FIRST_UNIT);

/// Offset and class of a leaf in one word: offsets are multiples of 64, the low bits are the class.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct LeafRef(u64);

impl LeafRef {
    /// Size of the smallest leaf.
    pub(super) const MIN: u64 = (UNITS * UNIT_BYTES_MIN) as u64;

    /// `None` if the word cannot be one.
    pub(super) fn from_word(word: u64) -> Option<LeafRef> {
        (word >= 64 && word % 64 <= u64::from(CLASS_MAX)).then_some(LeafRef(word))
    }

    pub(super) fn new(offset: u64, class: u8) -> LeafRef {
        assert!(offset.is_multiple_of(64) && offset > 0 && class <= CLASS_MAX);
        LeafRef(offset | u64::from(class))
    }

    pub(super) fn word(self) -> u64 {
        self.0
    }

    #[inline]
    pub(super) fn offset(self) -> u64 {
        self.0 & !63
    }

    #[inline]
    pub(super) fn class(self) -> u8 {
        (self.0 & 63) as u8
    }

    /// Returns the size of the leaf.
    #[inline]
    pub(super) fn bytes(self) -> u64 {
        leaf_bytes(self.class())
    }

    /// Returns the offset of the entry in `slot`.
    pub(super) fn slot_offset(self, slot: usize) -> u64 {
        self.offset() + ((slot + FIRST_UNIT) * unit_bytes(self.class())) as u64
    }

    /// Returns the offset of the word that names the next leaf.
    pub(super) fn next_offset(self) -> u64 {
        self.offset() + NEXT_OFFSET as u64
    }

    /// Returns the offset of the fingerprint of `slot`.
    pub(super) fn fingerprint_offset(self, slot: usize) -> u64 {
        self.offset() + 8 + slot as u64
    }

    /// Returns the error for damage in this leaf.
    #[cold]
    pub(super) fn corrupt(self, problem: impl Into<String>) -> Error {
        Error::new(
            ErrorKind::Corrupt,
            format!("leaf at offset {} of the hybrid tree", self.offset()),
            problem,
            "rebuild the pool from a replica",
        )
    }
}

#[inline]
pub(super) fn unit_bytes(class: u8) -> usize {
    UNIT_BYTES_MIN << class
}

/// Returns the size of leaves of `class`.
#[inline]
pub(super) fn leaf_bytes(class: u8) -> u64 {
    (UNITS * unit_bytes(class)) as u64
}

/// Returns the units that `bytes` bytes take from `slot` on, as a mask over the leaf's units.
#[inline]
pub(super) fn unit_mask(class: u8, slot: usize, bytes: usize) -> u64 {
    let count = bytes.div_ceil(unit_bytes(class));
    debug_assert!(count > 0 && count + slot + FIRST_UNIT <= UNITS);
    (u64::MAX >> (UNITS - count)) << (slot + FIRST_UNIT)
}

/// Returns the slot where an entry of one unit is put if it is free. Most entries lie there or
/// right behind, so that a search loads the place together with the first line.
#[inline]
pub(super) fn home_slot(fingerprint: u8) -> usize {
    usize::from(fingerprint) * SLOTS / 256
}

/// Returns a slot from which on `bytes` bytes are free, if there is one: for one unit the first
/// from `home` on, else the first of all, which keeps free units together.
pub(super) fn free_slot(class: u8, used: u64, bytes: usize, home: usize) -> Option<usize> {
    let mut count = bytes.div_ceil(unit_bytes(class));
    let mut starts = !(used | HEADER_UNITS);
    if count == 1 {
        let behind = starts & u64::MAX << (home + FIRST_UNIT);
        let slot = (behind.trailing_zeros() as usize).wrapping_sub(FIRST_UNIT);
        if slot < SLOTS {
            return Some(slot);
        }
    }
    // After each step a bit is set where `done` free units begin.
    let mut done = 1;
    while count > 1 && starts != 0 {
        let step = done.min(count - 1);
        starts &= starts >> step;
        done += step;
        count -= step;
    }
    let slot = (starts.trailing_zeros() as usize).checked_sub(FIRST_UNIT)?;
    (slot < SLOTS).then_some(slot)
}

/// Where a key was found in a leaf.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Hit {
    pub(super) slot: usize,
    /// The entry's second field.
    size: usize,
    /// Units of the entry.
    pub(super) units: u64,
}

impl Hit {
    /// Whether one 8-byte store replaces the value by `value`.
    #[inline]
    pub(super) fn is_replaced_in_place_by(&self, value: &[u8]) -> bool {
        self.size == value.len() && value.len() <= entry::WORD_BYTES
    }

    /// Whether the value lies in an extent of its own.
    pub(super) fn is_in_extent(&self) -> bool {
        self.size == entry::IN_EXTENT
    }
}

/// What the inner nodes know of a leaf.
#[derive(Clone, Copy, Debug)]
pub(super) struct Summary<'a> {
    pub(super) first: &'a [u8],
    pub(super) last: &'a [u8],
    /// Units in use.
    pub(super) used: u64,
    /// Live entries.
    pub(super) count: u64,
}

/// What is wrong with a leaf's bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Damage {
    /// The sizes of the entry in this slot reach out of the leaf.
    Sizes(usize),
    /// The entry's checksum does not match.
    Checksum(usize),
    /// The fingerprint is not that of the entry.
    Fingerprint(usize),
    /// The entry overlaps another.
    Overlap(usize),
    /// The first line cannot be right, or the leaf is no leaf.
    Header,
}

impl Damage {
    /// Returns the error that names `leaf`.
    #[cold]
    pub(super) fn at(self, leaf: LeafRef) -> Error {
        leaf.corrupt(match self {
            Damage::Sizes(slot) => format!("entry {slot} reaches out of the leaf"),
            Damage::Checksum(slot) => format!("checksum of entry {slot} does not match"),
            Damage::Fingerprint(slot) => format!("fingerprint of entry {slot} does not match"),
            Damage::Overlap(slot) => format!("entry {slot} overlaps another"),
            Damage::Header => "its header is none of a leaf".to_string(),
        })
    }
}

/// The bytes of a leaf, which may be garbage.
#[derive(Clone, Copy, Debug)]
pub(super) struct Leaf<'a> {
    bytes: &'a [u8],
    class: u8,
}

impl<'a> Leaf<'a> {
    /// `bytes` are those of a leaf of `class`.
    #[inline]
    pub(super) fn new(bytes: &'a [u8], class: u8) -> Leaf<'a> {
        assert!(bytes.len() as u64 == leaf_bytes(class));
        Leaf { bytes, class }
    }

    #[inline]
    fn u64_at(self, offset: usize) -> u64 {
        let mut word = [0; 8];
        word.copy_from_slice(&self.bytes[offset..offset + 8]);
        u64::from_le_bytes(word)
    }

    pub(super) fn bytes(self) -> &'a [u8] {
        self.bytes
    }

    /// Returns the publish word.
    #[inline]
    pub(super) fn live(self) -> u64 {
        self.u64_at(0)
    }

    /// Returns the word that names the next leaf.
    pub(super) fn next_word(self) -> u64 {
        self.u64_at(NEXT_OFFSET)
    }

    /// Whether the header is that of `leaf`.
    pub(super) fn is(self, leaf: LeafRef) -> bool {
        self.bytes[MAGIC_OFFSET..HEADER_BYTES] == identity(leaf) && self.live() >> SLOTS == 0
    }

    /// Returns the slots that hold live entries, ascending.
    pub(super) fn slots(self) -> impl Iterator<Item = usize> {
        bits(self.live())
    }

    /// Returns the entry in `slot`.
    #[inline]
    pub(super) fn entry(self, slot: usize) -> Result<Entry<'a>, Damage> {
        let start = (slot + FIRST_UNIT) * unit_bytes(self.class);
        self.bytes.get(start..).and_then(Entry::parse).ok_or(Damage::Sizes(slot))
    }

    /// Returns the entry in `slot`, checked.
    pub(super) fn intact_entry(self, slot: usize) -> Result<Entry<'a>, Damage> {
        let entry = self.entry(slot)?;
        if entry.is_intact() { Ok(entry) } else { Err(Damage::Checksum(slot)) }
    }

    /// Returns the units of the entry in `slot`.
    pub(super) fn units(self, slot: usize, entry: &Entry<'_>) -> u64 {
        unit_mask(self.class, slot, entry.bytes().len())
    }

    /// Starts to load what a search for a key of this fingerprint probably reads.
    #[inline]
    pub(super) fn prefetch(self, fingerprint: u8) {
        let home = (home_slot(fingerprint) + FIRST_UNIT) * unit_bytes(self.class);
        prefetch::line(self.bytes.as_ptr());
        prefetch::line(self.bytes[home..].as_ptr());
    }

    /// Looks for `key`, whose fingerprint is `fingerprint`.
    #[inline]
    pub(super) fn find(self, key: &[u8], fingerprint: u8) -> Result<Option<Hit>, Damage> {
        self.find_and(key, fingerprint, |_| ())
    }

    /// As [`Leaf::find`]; `expect` learns of each slot that probably holds the key before the
    /// entry is read.
    #[inline]
    pub(super) fn find_and(
        self,
        key: &[u8],
        fingerprint: u8,
        expect: impl Fn(usize),
    ) -> Result<Option<Hit>, Damage> {
        self.prefetch(fingerprint);
        let live = self.live();
        let mut line = [0; 64];
        line.copy_from_slice(&self.bytes[..64]);
        for slot in bits((equal_bytes(&line, fingerprint) >> 8) & live) {
            expect(slot);
            let entry = self.entry(slot)?;
            if entry.key() == key {
                let units = self.units(slot, &entry);
                return Ok(Some(Hit { slot, size: entry.size(), units }));
            }
        }
        // Garbage must not look like absence of the key.
        if live >> SLOTS == 0 { Ok(None) } else { Err(Damage::Header) }
    }

    /// Returns what the inner nodes need to know; `None` if the leaf is empty.
    pub(super) fn summary(self) -> Result<Option<Summary<'a>>, Damage> {
        let live = self.live();
        if live >> SLOTS != 0 {
            return Err(Damage::Header);
        }
        let mut slots = bits(live);
        let Some(slot) = slots.next() else { return Ok(None) };
        let entry = self.entry(slot)?;
        let mut summary = Summary {
            first: entry.key(),
            last: entry.key(),
            used: self.units(slot, &entry),
            count: u64::from(live.count_ones()),
        };
        for slot in slots {
            let entry = self.entry(slot)?;
            let units = self.units(slot, &entry);
            if summary.used & units != 0 {
                return Err(Damage::Overlap(slot));
            }
            summary.used |= units;
            summary.first = summary.first.min(entry.key());
            summary.last = summary.last.max(entry.key());
        }
        Ok(Some(summary))
    }

    /// Returns the publish word and the used units that remain if only `entries` stay.
    pub(super) fn subset(self, entries: &[Entry<'a>]) -> (u64, u64) {
        let start = self.bytes.as_ptr().addr();
        entries.iter().fold((0, 0), |(live, used), entry| {
            let offset = entry.bytes().as_ptr().addr() - start;
            let slot = offset / unit_bytes(self.class) - FIRST_UNIT;
            (live | 1 << slot, used | self.units(slot, entry))
        })
    }

    /// Returns all live entries in the order of their keys, each checked, and the units they take.
    pub(super) fn sorted(self) -> Result<(Vec<Entry<'a>>, u64), Damage> {
        if self.live() >> SLOTS != 0 {
            return Err(Damage::Header);
        }
        let mut entries = Vec::with_capacity(SLOTS);
        let mut used = 0;
        for slot in self.slots() {
            let entry = self.intact_entry(slot)?;
            if self.bytes[8 + slot] != entry::fingerprint(entry.key()) {
                return Err(Damage::Fingerprint(slot));
            }
            let units = self.units(slot, &entry);
            if used & units != 0 {
                return Err(Damage::Overlap(slot));
            }
            used |= units;
            entries.push(entry);
        }
        entries.sort_unstable_by_key(Entry::key);
        Ok((entries, used))
    }
}

/// Builds the bytes of a new leaf, in which an entry of `coming_bytes` bytes finds room if the
/// class was chosen for it as well; returns its used units too.
pub(super) fn build<'a>(
    leaf: LeafRef,
    next: u64,
    entries: impl Iterator<Item = Entry<'a>> + Clone,
    coming_bytes: usize,
) -> (Vec<u8>, u64) {
    let class = leaf.class();
    let sizes = entries.clone().map(|entry| entry.bytes().len()).chain([coming_bytes]);
    let is_single = sizes.max() <= Some(unit_bytes(class));
    let mut bytes = vec![0; leaf.bytes() as usize];
    let (mut live, mut used) = (0_u64, 0_u64);
    for entry in entries {
        let size = entry.bytes().len();
        let fingerprint = entry::fingerprint(entry.key());
        // Larger entries are laid side by side: the class was chosen so that they fit like that,
        // and what stays free behind them is in one piece.
        let home = if is_single { home_slot(fingerprint) } else { 0 };
        let slot = free_slot(class, used, size, home);
        assert!(slot.is_some(), "the class was chosen for these entries");
        let Some(slot) = slot else { continue };
        let start = (slot + FIRST_UNIT) * unit_bytes(class);
        bytes[start..start + size].copy_from_slice(entry.bytes());
        bytes[8 + slot] = fingerprint;
        live |= 1 << slot;
        used |= unit_mask(class, slot, size);
    }
    bytes[..8].copy_from_slice(&live.to_le_bytes());
    bytes[NEXT_OFFSET..MAGIC_OFFSET].copy_from_slice(&next.to_le_bytes());
    bytes[MAGIC_OFFSET..HEADER_BYTES].copy_from_slice(&identity(leaf));
    (bytes, used)
}

/// Returns the smallest class in which entries of these sizes fit, with room for `spare` more of
/// the largest of them.
pub(super) fn class_for(sizes: impl Iterator<Item = usize> + Clone, spare: usize) -> Option<u8> {
    (0..=CLASS_MAX).find(|&class| {
        let units = |bytes: usize| bytes.div_ceil(unit_bytes(class));
        let largest = sizes.clone().map(units).max().unwrap_or(1);
        // Laid side by side within the first 56 units, each starts in a slot.
        sizes.clone().map(units).sum::<usize>() + spare * largest <= SLOTS
    })
}

fn identity(leaf: LeafRef) -> [u8; 8] {
    let mut identity = [0; 8];
    identity[..4].copy_from_slice(&MAGIC);
    let crc = crc32c::crc32c(&leaf.word().to_le_bytes());
    identity[4..].copy_from_slice(&crc.to_le_bytes());
    identity
}

/// Returns the set bits, ascending.
pub(super) fn bits(mut mask: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let bit = mask.trailing_zeros() as usize;
        mask &= mask.wrapping_sub(1);
        (bit < 64).then_some(bit)
    })
}

/// Returns bit i for each byte of the line that equals `byte`.
#[cfg(target_arch = "x86_64")]
#[inline]
fn equal_bytes(line: &[u8; 64], byte: u8) -> u64 {
    use std::arch::x86_64::{
        __m128i, _mm_cmpeq_epi8, _mm_loadu_si128, _mm_movemask_epi8, _mm_set1_epi8,
    };
    let mut mask = 0;
    for (index, part) in line.chunks_exact(16).enumerate() {
        // SAFETY: `part` is 16 readable bytes, the load needs no alignment, and every x86-64
        // processor has SSE2.
        let equal = unsafe {
            let part = _mm_loadu_si128(part.as_ptr().cast::<__m128i>());
            _mm_movemask_epi8(_mm_cmpeq_epi8(part, _mm_set1_epi8(byte.cast_signed())))
        };
        mask |= u64::from(equal.cast_unsigned()) << (16 * index);
    }
    mask
}

/// Returns bit i for each byte of the line that equals `byte`.
#[cfg(not(target_arch = "x86_64"))]
fn equal_bytes(line: &[u8; 64], byte: u8) -> u64 {
    line.iter().enumerate().fold(0, |mask, (i, &other)| mask | u64::from(other == byte) << i)
}
