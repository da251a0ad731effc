//! Keys in frames: LZ4 and Snappy blocks of numbers.
//!
//! # Layout
//! Section `values`: frames of [`FRAME_ROWS`] keys, the last with the rest, each key in the bytes
//! that [`narrow`] gives the header's width. No other section.

use std::marker::PhantomData;
use std::mem::MaybeUninit;

use nacre_simd::{Fill, Flavour, Simd};

use super::{Codec, FrameWriter, Frames};
use crate::format::integer::Key;
use crate::format::keys::{KeyFormat, KeyReader, SectionBytes, Sections, Shape, wrong_size};
use crate::format::lz4::Effort;
use crate::format::narrow;
use crate::{BlockError, VECTOR_ROWS};

/// Keys of a frame.
const FRAME_ROWS: usize = VECTOR_ROWS;

const _: () = assert!(FRAME_ROWS * 8 <= super::FRAME_BYTES);

/// Names a codec by a type.
pub(crate) trait NamedCodec {
    const CODEC: Codec;
}

/// Keys in frames of one codec.
pub(crate) struct FramedKeys<C>(PhantomData<C>);

macro_rules! named_codec {
    ($format:ident, $name:ident, $codec:expr) => {
        pub(crate) enum $name {}

        impl NamedCodec for $name {
            const CODEC: Codec = $codec;
        }

        pub(crate) type $format = FramedKeys<$name>;
    };
}

named_codec!(Lz4Fast, NamedLz4Fast, Codec::Lz4(Effort::Fast));
named_codec!(Lz4, NamedLz4, Codec::Lz4(Effort::Standard));
named_codec!(Lz4High, NamedLz4High, Codec::Lz4(Effort::High));
named_codec!(Snappy, NamedSnappy, Codec::Snappy);

impl<C: NamedCodec> KeyFormat for FramedKeys<C> {
    type Reader<'a> = Reader<'a>;

    fn encode(_: Flavour, keys: &[u64], width: usize) -> Sections {
        let bytes_each = narrow::bytes_of_width(width);
        if bytes_each == 0 {
            return Sections::default();
        }
        let mut writer = FrameWriter::new(C::CODEC, bytes_each);
        let mut raw = Vec::with_capacity(FRAME_ROWS * bytes_each);
        for keys in keys.chunks(FRAME_ROWS) {
            raw.clear();
            narrow::append(keys, bytes_each, &mut raw);
            writer.push(&raw);
        }
        Sections { values: writer.finish(), ..Sections::default() }
    }

    fn open(shape: Shape, sections: SectionBytes<'_>) -> Result<Reader<'_>, BlockError> {
        for (section, found) in [("offsets_bytes", sections.offsets), ("heap_bytes", sections.heap)]
        {
            if !found.is_empty() {
                return Err(wrong_size(section, found.len(), 0));
            }
        }
        let bytes_each = narrow::bytes_of_width(shape.width);
        let (frame_bytes, raw_bytes) = (FRAME_ROWS * bytes_each, shape.rows * bytes_each);
        let frames = Frames::new(C::CODEC, frame_bytes, raw_bytes, sections.values);
        Ok(Reader { frames, bytes_each })
    }
}

/// Reads a block's keys.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reader<'a> {
    frames: Frames<'a>,
    bytes_each: usize,
}

impl KeyReader for Reader<'_> {
    const STEP: usize = FRAME_ROWS;

    fn unpack<K: Key>(&self, flavour: Flavour, base: K, first: usize, out: &mut [MaybeUninit<K>]) {
        let mut raw = Vec::new();
        for (index, out) in out.chunks_mut(FRAME_ROWS).enumerate() {
            if self.bytes_each > 0 {
                // What a damaged frame leaves in `raw` is as good as anything.
                self.frames.read(first / FRAME_ROWS + index, &mut raw);
            }
            flavour.fill(Widen { raw: &raw, bytes_each: self.bytes_each, base }, out);
        }
    }

    fn get(&self, _: usize) -> Option<u64> {
        None
    }

    fn check(&self, _: Flavour) -> Result<(), BlockError> {
        self.frames.check()
    }
}

struct Widen<'a, K> {
    raw: &'a [u8],
    bytes_each: usize,
    base: K,
}

impl<K: Key> Fill for Widen<'_, K> {
    type Out = [MaybeUninit<K>];

    #[inline(always)]
    fn fill<S: Simd>(self, _: S, out: &mut [MaybeUninit<K>]) {
        narrow::unpack(self.raw, self.bytes_each, self.base, out);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::keys::tests::{Encoded, assert_reads_back};

    fn keys(rows: usize, greatest: u64) -> Vec<u64> {
        let noise = |row: usize| (row as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 7;
        (0..rows).map(|row| if row % 5 == 0 { noise(row) & greatest } else { greatest }).collect()
    }

    #[test]
    fn keys_of_every_width_come_back() {
        for rows in [0, 1, FRAME_ROWS - 1, FRAME_ROWS, FRAME_ROWS + 1, 20_000] {
            for width in [0, 1, 8, 9, 16, 17, 32, 33, 64] {
                let keys = keys(rows, u64::MAX.unbounded_shr(64 - width));
                assert_reads_back::<Lz4Fast>(&keys);
                assert_reads_back::<Lz4>(&keys);
                assert_reads_back::<Lz4High>(&keys);
                assert_reads_back::<Snappy>(&keys);
            }
        }
    }

    #[test]
    fn damaged_frame_is_told() {
        let mut encoded = Encoded::new::<Lz4>(&keys(20_000, 0xffff));
        encoded.sections.values[4] ^= 0x40;
        assert!(encoded.open::<Lz4>().check(Flavour::active()).is_err());
        encoded.sections.values.truncate(3);
        assert!(encoded.open::<Lz4>().check(Flavour::active()).is_err());
    }
}
