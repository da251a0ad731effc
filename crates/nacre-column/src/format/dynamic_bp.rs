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

use nacre_simd::Flavour;

use super::groups::{self, GroupBits};
use super::keys::{KeyFormat, SectionBytes, Sections, Shape, wrong_size};
use super::lanes::References;
use crate::BlockError;

/// Dynamic bit packing.
pub(crate) struct DynamicBp;

impl KeyFormat for DynamicBp {
    type Reader<'a> = groups::Reader<'a>;

    fn encode(flavour: Flavour, keys: &[u64], _: usize) -> Sections {
        let widths = groups::bits_of_groups(flavour, keys);
        let starts = groups::directory(widths.iter().map(GroupBits::width));
        let values = groups::pack(flavour, keys, &starts, References::None);
        Sections { values, offsets: starts.into_flattened(), ..Sections::default() }
    }

    fn open(shape: Shape, sections: SectionBytes<'_>) -> Result<groups::Reader<'_>, BlockError> {
        if !sections.heap.is_empty() {
            return Err(wrong_size("heap_bytes", sections.heap.len(), 0));
        }
        groups::Reader::open(shape, sections, References::None)
    }
}
