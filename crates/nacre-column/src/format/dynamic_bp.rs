//! Dynamic bit packing: keys in the bit width of their group of 128 rows.
//!
//! # Layout
//! Sections `values` and `offsets`: groups and their directory as in [`groups`](super::groups). No
//! heap. Any row is found by one pair of the directory and two loads.
//!
//! # Source
//! [Zarubin22 section 4.2] dynamic BP. Differs: the widths lie apart from the groups, as a
//! directory, so that it has random access; a group is 128 rows, not 64, to fill registers.
//!
//! # See
//! Bench `decode`.

use std::mem::MaybeUninit;

use nacre_simd::Flavour;

use super::groups::{self, GROUP_ROWS, GroupBits};
use super::integer::Key;
use super::keys::{KeyFormat, KeyReader, SectionBytes, Sections, Shape, wrong_size};
use super::lanes::{Groups128, References};
use crate::BlockError;

/// Dynamic bit packing.
pub(crate) struct DynamicBp;

impl KeyFormat for DynamicBp {
    type Reader<'a> = Reader<'a>;

    fn encode(flavour: Flavour, keys: &[u64], _: usize) -> Sections {
        let widths = groups::bits_of_groups(flavour, keys);
        let starts = groups::directory(widths.iter().map(GroupBits::width));
        let values = groups::pack(flavour, keys, &starts, References::None);
        Sections { values, offsets: starts.into_flattened(), ..Sections::default() }
    }

    fn open(shape: Shape, sections: SectionBytes<'_>) -> Result<Reader<'_>, BlockError> {
        if !sections.heap.is_empty() {
            return Err(wrong_size("heap_bytes", sections.heap.len(), 0));
        }
        let groups = groups::open(shape, sections, References::None)?;
        Ok(Reader { groups, width_max: shape.width })
    }
}

/// Reads a block's keys.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reader<'a> {
    groups: Groups128<'a>,
    width_max: usize,
}

impl KeyReader for Reader<'_> {
    const STEP: usize = GROUP_ROWS;

    fn unpack<K: Key>(&self, flavour: Flavour, base: K, first: usize, out: &mut [MaybeUninit<K>]) {
        self.groups.unpack(flavour, self.width_max, base, first / GROUP_ROWS, out);
    }

    #[inline]
    fn get(&self, row: usize) -> Option<u64> {
        Some(self.groups.get(row))
    }

    fn check(&self, _: Flavour) -> Result<(), BlockError> {
        groups::check(&self.groups, self.width_max)
    }
}
