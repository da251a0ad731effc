//! SIMD-BP128: groups of 128 rows in their own width, the widths of 16 groups in front of them.
//!
//! # Layout
//! Section `values`: *meta-blocks* of 2,048 rows end to end. A meta-block is 16 bytes, the widths
//! of its 16 groups (0 for those past the last row), and the groups, each as in
//! [`lanes`](super::lanes), 16 bytes for each bit of its width. Section `offsets`: where each
//! meta-block starts, and one more, 16 bits each, in units of 16 bytes, so that any row is found.
//! No heap.
//!
//! ```text
//! offsets | 0                                | 140                 |
//! values  | 16 widths | group | group | ...  | 16 widths | group | ... |
//! ```
//!
//! # Source
//! [Zarubin22 section 3.3.1] SIMD-BP128. Differs: widths above 32, and the directory.
//!
//! # See
//! Bench `decode`.

use std::mem::MaybeUninit;

use nacre_simd::Flavour;

use super::groups::{self, GROUP_ROWS, GroupBits};
use super::integer::Key;
use super::keys::{KeyFormat, KeyReader, SectionBytes, Sections, Shape, wrong_size};
use super::lanes::{Groups128, META_GROUPS, NARROW_WIDTH_MAX, Places, References};
use crate::BlockError;

/// Rows of a meta-block.
const META_ROWS: usize = META_GROUPS * GROUP_ROWS;

/// SIMD-BP128.
pub(crate) struct SimdBp128;

impl KeyFormat for SimdBp128 {
    type Reader<'a> = Reader<'a>;

    fn encode(flavour: Flavour, keys: &[u64], _: usize) -> Sections {
        let bits = groups::bits_of_groups(flavour, keys);
        let mut sections = Sections::default();
        let start = |values: &[u8]| ((values.len() / Groups128::LINE_BYTES) as u16).to_le_bytes();
        for (keys, bits) in keys.chunks(META_ROWS).zip(bits.chunks(META_GROUPS)) {
            sections.offsets.extend_from_slice(&start(&sections.values));
            let mut widths = [0; META_GROUPS];
            for (width, bits) in widths.iter_mut().zip(bits) {
                *width = bits.width() as u8;
            }
            sections.values.extend_from_slice(&widths);
            let starts = groups::directory(bits.iter().map(GroupBits::width));
            let packed = groups::pack(flavour, keys, &starts, References::None);
            sections.values.extend_from_slice(&packed);
        }
        sections.offsets.extend_from_slice(&start(&sections.values));
        sections
    }

    fn open(shape: Shape, sections: SectionBytes<'_>) -> Result<Reader<'_>, BlockError> {
        let expected = (shape.rows.div_ceil(META_ROWS) + 1) * 2;
        if sections.offsets.len() != expected {
            return Err(wrong_size("offsets_bytes", sections.offsets.len(), expected));
        }
        if !sections.heap.is_empty() {
            return Err(wrong_size("heap_bytes", sections.heap.len(), 0));
        }
        let starts = sections.offsets.as_chunks().0;
        let (packed, references) = (sections.values, References::None);
        let groups =
            Groups128 { packed, places: Places::InMetaBlocks { starts, packed }, references };
        Ok(Reader { groups, starts, shape })
    }
}

/// Reads a block's keys.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reader<'a> {
    groups: Groups128<'a>,
    starts: &'a [[u8; 2]],
    shape: Shape,
}

impl KeyReader for Reader<'_> {
    const STEP: usize = GROUP_ROWS;

    fn unpack<K: Key>(&self, flavour: Flavour, base: K, first: usize, out: &mut [MaybeUninit<K>]) {
        let (mut group, mut out) = (first / GROUP_ROWS, out);
        while out.len() >= GROUP_ROWS {
            let (meta, in_meta) = (group / META_GROUPS, group % META_GROUPS);
            let count = (META_GROUPS - in_meta).min(out.len() / GROUP_ROWS);
            let (now, later) = out.split_at_mut(count * GROUP_ROWS);
            // The widths once added up lead to 16 groups.
            let starts = self.starts_of_groups(meta);
            let groups = Groups128 { places: Places::Listed(&starts), ..self.groups };
            groups.unpack(flavour, self.shape.width, base, in_meta, now);
            (group, out) = (group + count, later);
        }
    }

    fn narrow_groups(&self) -> Option<&Groups128<'_>> {
        (self.shape.width <= NARROW_WIDTH_MAX).then_some(&self.groups)
    }

    #[inline]
    fn get(&self, row: usize) -> Option<u64> {
        Some(self.groups.get(row))
    }

    fn check(&self, _: Flavour) -> Result<(), BlockError> {
        let groups = self.shape.rows.div_ceil(GROUP_ROWS);
        let mut end = 0;
        for (index, start) in self.starts.iter().enumerate() {
            let found = u16::from_le_bytes(*start);
            let is_last = index + 1 == self.starts.len();
            let expected = if is_last { self.groups.packed.len() } else { end };
            if usize::from(found) * Groups128::LINE_BYTES != end || end != expected {
                return Err(BlockError::Contents {
                    what: "start of meta-block",
                    row: index,
                    found: found.into(),
                    expected: (expected / Groups128::LINE_BYTES).to_string(),
                });
            }
            let widths = self.groups.packed.get(end..).and_then(|rest| rest.first_chunk());
            let Some(widths) = widths.filter(|_| !is_last) else { break };
            let in_meta = groups - index * META_GROUPS;
            self.check_widths(index, widths, in_meta)?;
            let lines: usize = widths.iter().map(|width| usize::from(*width)).sum();
            end += (1 + lines) * Groups128::LINE_BYTES;
        }
        Ok(())
    }
}

impl Reader<'_> {
    /// Returns where the groups of a meta-block start, and where the last ends; 0 if it is not
    /// there.
    fn starts_of_groups(&self, meta: usize) -> [[u8; 2]; META_GROUPS + 1] {
        let mut starts = [[0; 2]; META_GROUPS + 1];
        let Some(start) = self.starts.get(meta).map(|start| u16::from_le_bytes(*start)) else {
            return starts;
        };
        let widths = usize::from(start) * Groups128::LINE_BYTES;
        let widths = self.groups.packed.get(widths..).and_then(|rest| rest.first_chunk());
        let widths: &[u8; META_GROUPS] = widths.unwrap_or(&[0; META_GROUPS]);
        let mut line = start.wrapping_add(1);
        for (start, width) in starts.iter_mut().zip(widths) {
            *start = line.to_le_bytes();
            line = line.wrapping_add(u16::from(*width));
        }
        starts[META_GROUPS] = line.to_le_bytes();
        starts
    }

    /// Checks that no group is wider than the block and that groups without rows have no bits.
    fn check_widths(
        &self,
        meta: usize,
        widths: &[u8; META_GROUPS],
        groups: usize,
    ) -> Result<(), BlockError> {
        let max = |group: usize| if group < groups { self.shape.width } else { 0 };
        let wrong = widths.iter().enumerate().position(|(i, width)| usize::from(*width) > max(i));
        wrong.map_or(Ok(()), |group| {
            Err(BlockError::Contents {
                what: "width of group",
                row: meta * META_GROUPS + group,
                found: widths[group].into(),
                expected: format!("at most {}", max(group)),
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn widths_lie_in_front_of_their_groups() {
        let keys: Vec<u64> = (0..META_ROWS + 1).map(|row| (row / GROUP_ROWS) as u64).collect();
        let sections = SimdBp128::encode(Flavour::active(), &keys, 5);
        let widths = [0, 1, 2, 2, 3, 3, 3, 3, 4, 4, 4, 4, 4, 4, 4, 4];
        assert_eq!(sections.values[..16], widths);
        let lines: u16 = 1 + widths.iter().map(|width| u16::from(*width)).sum::<u16>();
        assert_eq!(
            sections.offsets,
            [0, lines, lines + 1 + 5].map(u16::to_le_bytes).as_flattened()
        );
        assert_eq!(sections.values[usize::from(lines) * 16], 5);
    }
}
