//! Strings in frames: LZ4 and Snappy blocks of strings.
//!
//! # Layout
//! The header's `width` is that of the row ends. Section `offsets`: where the strings of rows end
//! before compression, as in [`row_ends`](crate::format::row_ends). Section `heap`: the strings end
//! to end in frames of [`FRAME_BYTES`], the last with the rest; a string may straddle them.

use std::ops::Range;

use nacre_simd::Flavour;

use super::{Codec, FRAME_BYTES, FrameWriter, Frames};
use crate::format::row_ends::RowEnds;
use crate::{BlockError, ByteValues};

/// Returns the section `heap` for strings end to end.
pub(crate) fn encode(codec: Codec, data: &[u8]) -> Vec<u8> {
    let mut writer = FrameWriter::new(codec, 1);
    data.chunks(FRAME_BYTES).for_each(|frame| writer.push(frame));
    writer.finish()
}

/// Reads a block's strings.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reader<'a> {
    ends: RowEnds<'a>,
    frames: Frames<'a>,
    raw_bytes: usize,
}

impl<'a> Reader<'a> {
    /// Wraps the sections of a block.
    pub(crate) fn new(codec: Codec, ends: RowEnds<'a>, heap: &'a [u8]) -> Self {
        let raw_bytes = ends.last();
        let frames = Frames::new(codec, FRAME_BYTES, raw_bytes, heap);
        Self { ends, frames, raw_bytes }
    }

    /// Appends the strings of `rows` to `out`.
    ///
    /// # Errors
    /// [`BlockError::Contents`] if the block's bytes are damaged; `out` may hold more data.
    pub(crate) fn decode(
        &self,
        flavour: Flavour,
        rows: Range<usize>,
        out: &mut ByteValues,
    ) -> Result<(), BlockError> {
        let mut ends = Vec::new();
        self.ends.decode(flavour, rows, self.raw_bytes, &mut ends)?;
        let (first, last) = (ends[0], ends[ends.len() - 1]);
        let wanted = first as usize..last as usize;
        let before = out.data.len();
        let mut raw = Vec::new();
        let mut at = wanted.start;
        while at < wanted.end {
            let index = at / FRAME_BYTES;
            if !self.frames.read(index, &mut raw) {
                return Err(self.frames.wrong_frame(index));
            }
            let end = wanted.end.min((index + 1) * FRAME_BYTES);
            let start = index * FRAME_BYTES;
            out.data.extend_from_slice(&raw[at - start..end - start]);
            at = end;
        }
        // `out` holds at most what strings of 2^31 bytes do, and so does the block.
        let moved = |end: &u32| end.wrapping_sub(first).wrapping_add(before as u32);
        out.offsets.extend(ends[1..].iter().map(moved));
        Ok(())
    }

    /// Checks row ends and frames.
    ///
    /// # Errors
    /// [`BlockError::Contents`] for the first that is wrong.
    pub(crate) fn check(&self, flavour: Flavour) -> Result<(), BlockError> {
        self.ends.check(flavour, self.raw_bytes)?;
        self.frames.check()
    }
}
