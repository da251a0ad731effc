//! Frame of reference and bit packing: each group of 128 rows has its own least key and width.
//!
//! # Layout
//! Sections `values` and `offsets`: groups and their directory as in [`groups`](super::groups); of
//! each key, its group's reference is taken first. Section `heap`: the references, the least key
//! of each group, in 4 bytes each up to a width of 32 and in 8 bytes above.
//!
//! ```text
//! offsets | 0   | 2   | 5   |          heap | 1,000 | 70 |
//! values  | 32 bytes  | 48 bytes |     keys 1,000 to 1,003, then 70 to 77
//! ```
//!
//! # Source
//! [Zarubin22 section 3.3.1] FOR + SIMD-BP128. Differs: a reference for 128 rows, not 4,096, since
//! the base of the block is one for 65,536 already.
//!
//! # See
//! Bench `decode`.

use nacre_simd::Flavour;

use super::groups::{self, GROUP_ROWS};
use super::keys::{KeyFormat, SectionBytes, Sections, Shape, wrong_size};
use super::lanes::{NARROW_WIDTH_MAX, References, width_of};
use crate::BlockError;

/// Frame of reference and bit packing.
pub(crate) struct ForBp;

/// Returns the bytes of a reference of a block whose keys have `width` bits.
pub(crate) fn reference_bytes(width: usize) -> usize {
    if width <= NARROW_WIDTH_MAX { 4 } else { 8 }
}

fn references(heap: &[u8], width: usize) -> References<'_> {
    match reference_bytes(width) {
        4 => References::Narrow(heap.as_chunks().0),
        _ => References::Wide(heap.as_chunks().0),
    }
}

impl KeyFormat for ForBp {
    type Reader<'a> = groups::Reader<'a>;

    fn encode(flavour: Flavour, keys: &[u64], width: usize) -> Sections {
        let bits = groups::bits_of_groups(flavour, keys);
        let starts = groups::directory(bits.iter().map(|group| width_of(group.max - group.min)));
        let mut heap = Vec::with_capacity(bits.len() * 8);
        for group in &bits {
            heap.extend_from_slice(&group.min.to_le_bytes()[..reference_bytes(width)]);
        }
        let values = groups::pack(flavour, keys, &starts, references(&heap, width));
        Sections { values, offsets: starts.into_flattened(), heap, entries: 0 }
    }

    fn open(shape: Shape, sections: SectionBytes<'_>) -> Result<groups::Reader<'_>, BlockError> {
        let expected = shape.rows.div_ceil(GROUP_ROWS) * reference_bytes(shape.width);
        if sections.heap.len() != expected {
            return Err(wrong_size("heap_bytes", sections.heap.len(), expected));
        }
        groups::Reader::open(shape, sections, references(sections.heap, shape.width))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_group_has_its_own_reference_and_width() {
        let keys: Vec<u64> =
            (0..256).map(|i| if i < 128 { 1_000 + i % 4 } else { i % 8 }).collect();
        let sections = ForBp::encode(Flavour::active(), &keys, 10);
        assert_eq!(sections.offsets, [0, 0, 2, 0, 5, 0]);
        assert_eq!(sections.heap, [0xe8, 3, 0, 0, 0, 0, 0, 0]);
        assert_eq!(sections.values.len(), 5 * 16);
        let sections = ForBp::encode(Flavour::active(), &keys, 33);
        assert_eq!(sections.heap.len(), 16);
    }
}
