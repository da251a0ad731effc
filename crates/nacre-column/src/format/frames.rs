//! Bytes compressed in frames that are decompressed one by one.
//!
//! What LZ4 and Snappy blocks of keys and of strings have in common. A frame is the restart point:
//! reading a vector of keys costs one frame, never the block from its start.
//!
//! # Layout
//! One section: the end of each frame as 32-bit number, counted from the first byte after these
//! numbers; then the frames end to end. The bytes of a frame before compression are the same for
//! all but the last, which has the rest. A frame that compression would not make smaller is stored
//! as it is: then, and only then, it has as many bytes as before.

pub(crate) mod keys;
pub(crate) mod strings;

use super::{lz4, snappy};
use crate::BlockError;

/// Most bytes of a frame before compression: a vector of eight-byte keys.
pub(crate) const FRAME_BYTES: usize = lz4::PIECE_BYTES;

/// How frames are compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Codec {
    Lz4(lz4::Effort),
    Snappy,
}

enum Compressor {
    Lz4(lz4::Compressor),
    Snappy(Box<snappy::Compressor>),
}

/// Writes a section of frames.
pub(crate) struct FrameWriter {
    compressor: Compressor,
    ends: Vec<u8>,
    frames: Vec<u8>,
}

impl FrameWriter {
    /// Makes a writer of frames that hold keys of `stride` bytes; 1 for strings.
    pub(crate) fn new(codec: Codec, stride: usize) -> Self {
        let compressor = match codec {
            Codec::Lz4(effort) => Compressor::Lz4(lz4::Compressor::new(effort, stride)),
            Codec::Snappy => Compressor::Snappy(Box::new(snappy::Compressor::new(FRAME_BYTES))),
        };
        Self { compressor, ends: Vec::new(), frames: Vec::new() }
    }

    /// Appends a frame, of at most [`FRAME_BYTES`].
    pub(crate) fn push(&mut self, raw: &[u8]) {
        let compressed = match &mut self.compressor {
            Compressor::Lz4(compressor) => compressor.compress(raw),
            Compressor::Snappy(compressor) => compressor.compress(raw),
        };
        let is_smaller = compressed.len() < raw.len();
        self.frames.extend_from_slice(if is_smaller { compressed } else { raw });
        self.ends.extend_from_slice(&(self.frames.len() as u32).to_le_bytes());
    }

    /// Returns the section.
    pub(crate) fn finish(mut self) -> Vec<u8> {
        self.ends.append(&mut self.frames);
        self.ends
    }
}

/// The frames of a section.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Frames<'a> {
    codec: Codec,
    frame_bytes: usize,
    raw_bytes: usize,
    ends: &'a [[u8; 4]],
    frames: &'a [u8],
}

impl<'a> Frames<'a> {
    /// Wraps a section that holds `raw_bytes` before compression, `frame_bytes` in each frame but
    /// the last. A section too short for its ends has no frame that can be read.
    pub(crate) fn new(
        codec: Codec,
        frame_bytes: usize,
        raw_bytes: usize,
        section: &'a [u8],
    ) -> Self {
        let ends_bytes = raw_bytes.div_ceil(frame_bytes.max(1)) * 4;
        let (ends, frames) = section.split_at_checked(ends_bytes).unwrap_or_default();
        Self { codec, frame_bytes, raw_bytes, ends: ends.as_chunks().0, frames }
    }

    /// Returns the bytes of frame `index` before compression, 0 if there is no such frame.
    fn raw_bytes_of(&self, index: usize) -> usize {
        let start = index.saturating_mul(self.frame_bytes);
        self.raw_bytes.saturating_sub(start).min(self.frame_bytes)
    }

    /// Decompresses frame `index` into `raw`, which then has the bytes that it should have.
    /// Returns whether these are right; if not, they are zeros or anything. A frame that cannot be
    /// that long makes no room for it: `raw` is empty.
    pub(crate) fn read(&self, index: usize, raw: &mut Vec<u8>) -> bool {
        let end = |index: usize| self.ends.get(index).map(|end| u32::from_le_bytes(*end) as usize);
        let start = if index == 0 { Some(0) } else { end(index - 1) };
        let bytes = start.zip(end(index)).and_then(|(start, end)| self.frames.get(start..end));
        let raw_bytes = self.raw_bytes_of(index);
        let possible = |bytes: &[u8]| match self.codec {
            Codec::Lz4(_) => lz4::decompressed_bytes_max(bytes.len()),
            Codec::Snappy => snappy::decompressed_bytes_max(bytes.len()),
        };
        let Some(bytes) = bytes.filter(|bytes| raw_bytes <= possible(bytes)) else {
            raw.clear();
            return false;
        };
        raw.resize(raw_bytes, 0);
        if bytes.len() == raw_bytes {
            raw.copy_from_slice(bytes);
            return true;
        }
        match self.codec {
            Codec::Lz4(_) => lz4::decompress(bytes, raw),
            Codec::Snappy => snappy::decompress(bytes, raw),
        }
    }

    /// Checks that every frame decompresses to the bytes it should have, and that nothing follows.
    ///
    /// # Errors
    /// [`BlockError::Contents`] for the first that does not.
    pub(crate) fn check(&self) -> Result<(), BlockError> {
        let count = self.raw_bytes.div_ceil(self.frame_bytes.max(1));
        let mut raw = Vec::new();
        for index in 0..count {
            if !self.read(index, &mut raw) {
                return Err(self.wrong_frame(index));
            }
        }
        let end = self.ends.last().map_or(0, |end| u32::from_le_bytes(*end) as usize);
        if end == self.frames.len() { Ok(()) } else { Err(self.wrong_frame(count)) }
    }

    /// Says that a frame is damaged.
    pub(crate) fn wrong_frame(&self, index: usize) -> BlockError {
        let end = self.ends.get(index).map_or(0, |end| u32::from_le_bytes(*end));
        BlockError::Contents {
            what: "frame",
            row: index,
            found: end.into(),
            expected: format!("the end of {} bytes compressed", self.raw_bytes_of(index)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lz4::Effort;

    const CODECS: [Codec; 4] = [
        Codec::Lz4(Effort::Fast),
        Codec::Lz4(Effort::Standard),
        Codec::Lz4(Effort::High),
        Codec::Snappy,
    ];

    fn section(codec: Codec, raw: &[u8], frame_bytes: usize) -> Vec<u8> {
        let mut writer = FrameWriter::new(codec, 4);
        raw.chunks(frame_bytes).for_each(|frame| writer.push(frame));
        writer.finish()
    }

    /// Three and a half frames: constant, counting, noise, text.
    fn sample(frame_bytes: usize) -> Vec<u8> {
        let noise = |i: usize| (i as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56;
        (0..frame_bytes * 7 / 2)
            .map(|i| match i / frame_bytes {
                0 => 7,
                1 => (i / 4) as u8,
                2 => noise(i) as u8,
                _ => b"carefully final deposits "[i % 25],
            })
            .collect()
    }

    #[test]
    fn every_frame_is_read_by_itself() {
        for codec in CODECS {
            for frame_bytes in [512, FRAME_BYTES] {
                let raw = sample(frame_bytes);
                let section = section(codec, &raw, frame_bytes);
                let frames = Frames::new(codec, frame_bytes, raw.len(), &section);
                let mut out = vec![1, 2, 3];
                for index in [3, 0, 2, 1] {
                    assert!(frames.read(index, &mut out));
                    assert!(raw.chunks(frame_bytes).nth(index) == Some(&out[..]), "{codec:?}");
                }
                assert!(!frames.read(4, &mut out));
                assert_eq!(frames.check(), Ok(()));
                assert!(section.len() < raw.len() * 3 / 4);
            }
        }
    }

    #[test]
    fn nothing_is_an_empty_section() {
        let frames = Frames::new(Codec::Snappy, FRAME_BYTES, 0, &[]);
        assert_eq!(frames.check(), Ok(()));
        assert!(Frames::new(Codec::Snappy, 0, 0, &[1]).check().is_err());
    }

    #[test]
    fn damage_is_told_and_makes_no_room() {
        for codec in CODECS {
            let raw = sample(512);
            let section = section(codec, &raw, 512);
            for at in 0..section.len() {
                for value in [0, 1, 0x0f, 0x7f, 0xff] {
                    let mut damaged = section.clone();
                    damaged[at] = value;
                    let frames = Frames::new(codec, 512, raw.len(), &damaged);
                    let mut out = Vec::new();
                    for index in 0..5 {
                        frames.read(index, &mut out);
                        assert!(out.len() <= 512);
                    }
                }
                let frames = Frames::new(codec, 512, raw.len(), &section[..at]);
                assert!(frames.check().is_err());
            }
            let frames = Frames::new(codec, FRAME_BYTES, 1 << 31, &section);
            let mut out = Vec::new();
            assert!(!frames.read(0, &mut out) && out.capacity() <= 255 * section.len());
        }
    }
}
