//! Whoever encodes and decodes chunks of numbers.

use nacre_column::{Flavour, Format};

use super::slice::Slice;
use crate::error::Result;

/// Encodes and decodes the chunks of a slice.
pub(super) trait Contestant {
    /// Returns the name in tables and ids.
    fn name(&self) -> String;

    /// Returns format and flavour if this is ours.
    fn ours(&self) -> Option<(Format, Flavour)> {
        None
    }

    /// Returns the formats of ours that have the same scheme, if this is a rival.
    fn schemes(&self) -> &'static [Format] {
        &[]
    }

    /// Encodes every chunk and keeps the results.
    ///
    /// # Errors
    /// [`Error::Column`](crate::Error::Column) of kind `Misuse` if it does not take these values.
    fn encode(&mut self, slice: &Slice) -> Result<()>;

    /// Decodes a chunk that was encoded before.
    fn decode(&mut self, chunk: usize) -> Result<Decoded<'_>>;

    /// Returns the bytes of all results.
    fn bytes(&self) -> u64;

    /// Returns a checksum of all results.
    fn checksum(&self) -> u32;

    /// Drops the results.
    fn clear(&mut self);
}

/// What a contestant decodes to.
#[derive(Clone, Copy, Debug)]
pub(super) enum Decoded<'a> {
    Signed(&'a [i32]),
    #[cfg(feature = "rivals")]
    Unsigned(&'a [u32]),
    #[cfg(feature = "rivals")]
    Bytes(&'a [u8]),
}

impl Decoded<'_> {
    /// Returns the number of things that were decoded.
    pub(super) fn len(self) -> usize {
        match self {
            Self::Signed(values) => values.len(),
            #[cfg(feature = "rivals")]
            Self::Unsigned(values) => values.len(),
            #[cfg(feature = "rivals")]
            Self::Bytes(bytes) => bytes.len(),
        }
    }

    /// Tells whether these are the values of a chunk.
    pub(super) fn equals(self, slice: &Slice, chunk: usize) -> bool {
        let expected = &slice.numbers()[chunk];
        match self {
            Self::Signed(values) => {
                let as_signed = expected.iter().map(|value| *value as i32);
                values.len() == expected.len() && as_signed.eq(values.iter().copied())
            }
            #[cfg(feature = "rivals")]
            Self::Unsigned(values) => values == expected,
            #[cfg(feature = "rivals")]
            Self::Bytes(bytes) => bytes == slice.bytes()[chunk],
        }
    }
}
