//! A leaf: an extent with a publish word, fingerprints, and entries.
//!
//! # Layout
//! A leaf has 64 units of `32 << class` bytes. Entries start at units 3..59 (slot 0 is unit 3),
//! longer ones go on over the units behind.
//!
//! | offset | bytes | field |
//! |---|---|---|
//! | 0 | 64 | publish word and fingerprints (see `first_line`) |
//! | 64 | 16 | next leaf (see `link`) |
//! | 3 units | | entries |
//!
//! A point read touches the first line and the entry's: a live bit and an equal fingerprint name
//! the entry, and a wrong candidate is met once in 256.
//!
//! # Source
//! [Zarubin22 3.1.1] leaves as a linked list; fingerprints as in the FPTree that it names.

use super::entry::{self, Entry};
use super::first_line::{FirstLine, LINE_BYTES, Live, bits};
use super::link::{CLASS_MAX, LINK_AT, LINK_BYTES, LeafRef, Link};
use crate::error::Error;
use crate::prefetch;

/// Entries that a leaf can hold.
pub(super) const SLOTS: usize = 56;
/// Unit of slot 0.
const FIRST_UNIT: usize = 3;
const UNITS: usize = 64;
const UNIT_BYTES_MIN: usize = 32;
/// Bytes before the entries that are in use.
const HEADER_BYTES: usize = LINE_BYTES + LINK_BYTES;
/// Units that hold the header.
const HEADER_UNITS: u64 = (1 << FIRST_UNIT) - 1;

const _: () = assert!(LINE_BYTES as u64 == LINK_AT && HEADER_BYTES <= FIRST_UNIT * UNIT_BYTES_MIN);
// A leaf of the largest class holds six of the largest entries, so that a split always helps.
const _: () =
    assert!(6 * entry::ENTRY_BYTES_MAX.div_ceil(UNIT_BYTES_MIN << CLASS_MAX) <= UNITS - FIRST_UNIT);

impl LeafRef {
    /// Size of the smallest leaf.
    pub(super) const MIN: u64 = (UNITS * UNIT_BYTES_MIN) as u64;

    /// Returns the size of the leaf.
    #[inline]
    pub(super) fn bytes(self) -> u64 {
        leaf_bytes(self.class())
    }

    /// Returns the offset of the entry in `slot`.
    pub(super) fn slot_offset(self, slot: usize) -> u64 {
        self.offset() + ((slot + FIRST_UNIT) * unit_bytes(self.class())) as u64
    }

    /// Returns the offset of the fingerprint of `slot`.
    pub(super) fn fingerprint_offset(self, slot: usize) -> u64 {
        self.offset() + 8 + slot as u64
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
    /// The check of the first line does not match.
    FirstLine,
    /// The leaf is no leaf, or its link is damaged.
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
            Damage::FirstLine => "check of its first line does not match".to_string(),
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

    pub(super) fn bytes(self) -> &'a [u8] {
        self.bytes
    }

    /// Returns the first line, unchecked.
    #[inline]
    pub(super) fn first_line(self) -> FirstLine {
        FirstLine::of(self.bytes)
    }

    /// Returns the first line if its check agrees.
    #[inline]
    pub(super) fn whole_line(self) -> Result<FirstLine, Damage> {
        let line = self.first_line();
        if line.is_whole() { Ok(line) } else { Err(Damage::FirstLine) }
    }

    /// Returns the word that names the leaf behind this one, which is `leaf`.
    pub(super) fn next_word(self, leaf: LeafRef) -> Result<u64, Damage> {
        Link::behind(leaf).decode(&self.bytes[LINE_BYTES..HEADER_BYTES]).ok_or(Damage::Header)
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
        let line = self.whole_line()?;
        let mut damage = None;
        for slot in bits(line.candidates(fingerprint)) {
            expect(slot);
            // What is damaged may be what is looked for, but a whole one behind it is right.
            match self.intact_entry(slot) {
                Err(found) => damage = Some(found),
                Ok(entry) if entry.key() == key => {
                    let units = self.units(slot, &entry);
                    return Ok(Some(Hit { slot, size: entry.size(), units }));
                }
                Ok(entry) if entry::fingerprint(entry.key()) == fingerprint => {}
                Ok(_) => damage = Some(Damage::Fingerprint(slot)),
            }
        }
        // Damage must not look like absence of the key.
        damage.map_or(Ok(None), Err)
    }

    /// Returns the entry of each live slot, checked.
    fn entries(self, line: &FirstLine) -> impl Iterator<Item = Result<(usize, Entry<'a>), Damage>> {
        bits(line.live().slots()).map(move |slot| {
            let entry = self.intact_entry(slot)?;
            match line.fingerprint(slot) == entry::fingerprint(entry.key()) {
                true => Ok((slot, entry)),
                false => Err(Damage::Fingerprint(slot)),
            }
        })
    }

    /// Returns what the inner nodes need to know; `None` if the leaf is empty.
    pub(super) fn summary(self) -> Result<Option<Summary<'a>>, Damage> {
        let line = self.whole_line()?;
        let mut summary: Option<Summary<'a>> = None;
        for found in self.entries(&line) {
            let (slot, entry) = found?;
            let (key, units) = (entry.key(), self.units(slot, &entry));
            let known = summary.get_or_insert(Summary { first: key, last: key, used: 0, count: 0 });
            if known.used & units != 0 {
                return Err(Damage::Overlap(slot));
            }
            known.used |= units;
            known.first = known.first.min(key);
            known.last = known.last.max(key);
            known.count += 1;
        }
        Ok(summary)
    }

    /// Returns the publish word and the used units that remain if only `entries` stay.
    pub(super) fn subset(self, entries: &[Entry<'a>]) -> (Live, u64) {
        let start = self.bytes.as_ptr().addr();
        entries.iter().fold((Live::EMPTY, 0), |(live, used), entry| {
            let offset = entry.bytes().as_ptr().addr() - start;
            let slot = offset / unit_bytes(self.class) - FIRST_UNIT;
            let live = live.with(slot, entry::fingerprint(entry.key()));
            (live, used | self.units(slot, entry))
        })
    }

    /// Returns all live entries in the order of their keys, each checked, and the units they take.
    pub(super) fn sorted(self) -> Result<(Vec<Entry<'a>>, u64), Damage> {
        let line = self.whole_line()?;
        let mut entries = Vec::with_capacity(SLOTS);
        let mut used = 0;
        for found in self.entries(&line) {
            let (slot, entry) = found?;
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
    let (mut slots, mut used) = (Vec::with_capacity(SLOTS), 0_u64);
    for entry in entries {
        let size = entry.bytes().len();
        // Larger entries are laid side by side: the class was chosen so that they fit like that,
        // and what stays free behind them is in one piece.
        let home = if is_single { home_slot(entry::fingerprint(entry.key())) } else { 0 };
        let slot = free_slot(class, used, size, home);
        assert!(slot.is_some(), "the class was chosen for these entries");
        let Some(slot) = slot else { continue };
        let start = (slot + FIRST_UNIT) * unit_bytes(class);
        bytes[start..start + size].copy_from_slice(entry.bytes());
        slots.push((slot, entry.key()));
        used |= unit_mask(class, slot, size);
    }
    bytes[..LINE_BYTES].copy_from_slice(FirstLine::build(slots.into_iter()).bytes());
    bytes[LINE_BYTES..HEADER_BYTES].copy_from_slice(&Link::behind(leaf).encode(next));
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
