//! Other people's crates with schemes that we have too.
//!
//! | name | crate | what |
//! |---|---|---|
//! | `bitpacking-4x`, `-8x` | `bitpacking` | a bit width for each 128 or 256 numbers |
//! | `bitpacking-4x-sorted` | `bitpacking` | the same of differences; sorted data only |
//! | `fastpfor-128`, `-simd-128` | `fastpfor` | patched bit widths; plain Rust, and AVX2 |
//! | `lz4_flex`, `snap` | of those names | bytes |

use std::fmt::Display;
use std::marker::PhantomData;

use bitpacking::{BitPacker, BitPacker4x, BitPacker8x};
use fastpfor::{AnyLenCodec, FastPFor128, FastPForSimd128};
use nacre_column::{CHUNK_ROWS, Format};

use super::contestant::{Contestant, Decoded};
use super::slice::Slice;
use crate::dataset::DataSet;
use crate::error::{Error, Result};

/// Returns the rivals that take a data set.
pub(super) fn contestants(set: DataSet) -> Vec<Box<dyn Contestant>> {
    let widths = &[Format::DynamicBp, Format::SimdBp128];
    let patched = &[Format::SimdFastPfor];
    let mut all: Vec<Box<dyn Contestant>> = vec![
        Box::new(Rival::new("bitpacking-4x", widths, Packed::<BitPacker4x>::new(false))),
        Box::new(Rival::new("bitpacking-8x", widths, Packed::<BitPacker8x>::new(false))),
    ];
    if set == DataSet::D3 {
        let packed = Packed::<BitPacker4x>::new(true);
        all.push(Box::new(Rival::new("bitpacking-4x-sorted", &[Format::DeltaBp], packed)));
    }
    let (plain, simd) = (FastPFor128::default(), FastPForSimd128::default());
    all.push(Box::new(Rival::new("fastpfor-128", patched, Patched(plain))));
    all.push(Box::new(Rival::new("fastpfor-simd-128", patched, Patched(simd))));
    all.push(Box::new(Rival::new("lz4_flex", &[Format::Lz4], Bytes(Lz4))));
    let snap = Snap { encoder: snap::raw::Encoder::new(), decoder: snap::raw::Decoder::new() };
    all.push(Box::new(Rival::new("snap", &[Format::Snappy], Bytes(snap))));
    all
}

/// What a crate makes of one chunk and back.
trait Scheme {
    /// The encoded chunk.
    type Encoded;
    /// What it decodes to.
    type Value;

    fn bytes(encoded: &Self::Encoded) -> usize;

    fn checksum(encoded: &Self::Encoded) -> u32;

    fn encode(&mut self, slice: &Slice, chunk: usize) -> Result<Self::Encoded>;

    /// Replaces `out` by the decoded chunk.
    fn decode(&mut self, encoded: &Self::Encoded, out: &mut Vec<Self::Value>) -> Result<()>;

    fn as_decoded(out: &[Self::Value]) -> Decoded<'_>;
}

/// A scheme, its results and its output.
struct Rival<S: Scheme> {
    name: &'static str,
    schemes: &'static [Format],
    scheme: S,
    encoded: Vec<S::Encoded>,
    decoded: Vec<S::Value>,
}

impl<S: Scheme> Rival<S> {
    fn new(name: &'static str, schemes: &'static [Format], scheme: S) -> Self {
        Self { name, schemes, scheme, encoded: Vec::new(), decoded: Vec::new() }
    }
}

impl<S: Scheme> Contestant for Rival<S> {
    fn name(&self) -> String {
        self.name.to_owned()
    }

    fn schemes(&self) -> &'static [Format] {
        self.schemes
    }

    fn encode(&mut self, slice: &Slice) -> Result<()> {
        for chunk in 0..slice.chunks() {
            self.encoded.push(self.scheme.encode(slice, chunk)?);
        }
        Ok(())
    }

    fn decode(&mut self, chunk: usize) -> Result<Decoded<'_>> {
        self.scheme.decode(&self.encoded[chunk], &mut self.decoded)?;
        Ok(S::as_decoded(&self.decoded))
    }

    fn bytes(&self) -> u64 {
        self.encoded.iter().map(|encoded| S::bytes(encoded) as u64).sum()
    }

    fn checksum(&self) -> u32 {
        self.encoded.iter().fold(0, |sum, encoded| sum ^ S::checksum(encoded))
    }

    fn clear(&mut self) {
        self.encoded.clear();
    }
}

/// Groups of numbers, each with its width in one byte at the front of the chunk.
struct Packed<P> {
    is_sorted: bool,
    packer: PhantomData<P>,
}

impl<P> Packed<P> {
    fn new(is_sorted: bool) -> Self {
        Self { is_sorted, packer: PhantomData }
    }
}

impl<P: BitPacker> Scheme for Packed<P> {
    type Encoded = Vec<u8>;
    type Value = u32;

    fn bytes(encoded: &Vec<u8>) -> usize {
        encoded.len()
    }

    fn checksum(encoded: &Vec<u8>) -> u32 {
        crc32c::crc32c(encoded)
    }

    fn encode(&mut self, slice: &Slice, chunk: usize) -> Result<Vec<u8>> {
        let numbers = &slice.numbers()[chunk];
        let (packer, groups) = (P::new(), numbers.len() / P::BLOCK_LEN);
        let mut encoded = vec![0; groups + numbers.len() * 4];
        let (mut end, mut last) = (groups, 0);
        for (index, group) in numbers.chunks_exact(P::BLOCK_LEN).enumerate() {
            let target = |encoded: &mut Vec<u8>, width: u8| {
                encoded[index] = width;
                end..end + P::compressed_block_size(width)
            };
            end += if self.is_sorted {
                let width = packer.num_bits_sorted(last, group);
                let range = target(&mut encoded, width);
                packer.compress_sorted(last, group, &mut encoded[range], width)
            } else {
                let width = packer.num_bits(group);
                let range = target(&mut encoded, width);
                packer.compress(group, &mut encoded[range], width)
            };
            last = group[P::BLOCK_LEN - 1];
        }
        encoded.truncate(end);
        Ok(encoded)
    }

    fn decode(&mut self, encoded: &Vec<u8>, out: &mut Vec<u32>) -> Result<()> {
        let packer = P::new();
        let groups = CHUNK_ROWS / P::BLOCK_LEN;
        out.resize(CHUNK_ROWS, 0);
        let (mut at, mut last) = (groups, 0);
        for (index, group) in out.chunks_exact_mut(P::BLOCK_LEN).enumerate() {
            let width = encoded[index];
            at += match self.is_sorted {
                true => packer.decompress_sorted(last, &encoded[at..], group, width),
                false => packer.decompress(&encoded[at..], group, width),
            };
            last = group[P::BLOCK_LEN - 1];
        }
        Ok(())
    }

    fn as_decoded(out: &[u32]) -> Decoded<'_> {
        Decoded::Unsigned(out)
    }
}

/// Patched bit widths.
struct Patched<C>(C);

impl<C: AnyLenCodec<Elem = u32>> Scheme for Patched<C> {
    type Encoded = Vec<u32>;
    type Value = u32;

    fn bytes(encoded: &Vec<u32>) -> usize {
        size_of_val(encoded.as_slice())
    }

    fn checksum(encoded: &Vec<u32>) -> u32 {
        let mut bytes = [0; 4 << 10];
        encoded.chunks(bytes.len() / 4).fold(0, |sum, words| {
            for (target, word) in bytes.chunks_exact_mut(4).zip(words) {
                target.copy_from_slice(&word.to_le_bytes());
            }
            crc32c::crc32c_append(sum, &bytes[..size_of_val(words)])
        })
    }

    fn encode(&mut self, slice: &Slice, chunk: usize) -> Result<Vec<u32>> {
        let mut encoded = Vec::new();
        let outcome = self.0.encode(&slice.numbers()[chunk], &mut encoded);
        outcome.map_err(|error| failed("fastpfor", error))?;
        Ok(encoded)
    }

    fn decode(&mut self, encoded: &Vec<u32>, out: &mut Vec<u32>) -> Result<()> {
        out.clear();
        let outcome = self.0.decode(encoded, out, Some(CHUNK_ROWS as u32));
        outcome.map_err(|error| failed("fastpfor", error))
    }

    fn as_decoded(out: &[u32]) -> Decoded<'_> {
        Decoded::Unsigned(out)
    }
}

/// A crate that compresses bytes.
trait Compressor {
    const NAME: &'static str;

    fn compress(&mut self, bytes: &[u8]) -> std::result::Result<Vec<u8>, impl Display>;

    fn decompress(&mut self, bytes: &[u8], out: &mut [u8]) -> Option<usize>;
}

struct Bytes<C>(C);

impl<C: Compressor> Scheme for Bytes<C> {
    type Encoded = Vec<u8>;
    type Value = u8;

    fn bytes(encoded: &Vec<u8>) -> usize {
        encoded.len()
    }

    fn checksum(encoded: &Vec<u8>) -> u32 {
        crc32c::crc32c(encoded)
    }

    fn encode(&mut self, slice: &Slice, chunk: usize) -> Result<Vec<u8>> {
        self.0.compress(&slice.bytes()[chunk]).map_err(|error| failed(C::NAME, error))
    }

    fn decode(&mut self, encoded: &Vec<u8>, out: &mut Vec<u8>) -> Result<()> {
        out.resize(CHUNK_ROWS * 4, 0);
        match self.0.decompress(encoded, out) {
            Some(_) => Ok(()),
            None => Err(failed(C::NAME, "it refuses what it made")),
        }
    }

    fn as_decoded(out: &[u8]) -> Decoded<'_> {
        Decoded::Bytes(out)
    }
}

struct Lz4;

impl Compressor for Lz4 {
    const NAME: &'static str = "lz4_flex";

    fn compress(&mut self, bytes: &[u8]) -> std::result::Result<Vec<u8>, impl Display> {
        Ok::<_, Error>(lz4_flex::block::compress(bytes))
    }

    fn decompress(&mut self, bytes: &[u8], out: &mut [u8]) -> Option<usize> {
        lz4_flex::block::decompress_into(bytes, out).ok()
    }
}

struct Snap {
    encoder: snap::raw::Encoder,
    decoder: snap::raw::Decoder,
}

impl Compressor for Snap {
    const NAME: &'static str = "snap";

    fn compress(&mut self, bytes: &[u8]) -> std::result::Result<Vec<u8>, impl Display> {
        self.encoder.compress_vec(bytes)
    }

    fn decompress(&mut self, bytes: &[u8], out: &mut [u8]) -> Option<usize> {
        self.decoder.decompress(bytes, out).ok()
    }
}

fn failed(name: &str, error: impl Display) -> Error {
    Error::Deviation(format!("{name}: {error}"))
}
