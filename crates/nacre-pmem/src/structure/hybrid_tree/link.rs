//! References to leaves, and the places where the list of leaves keeps them.
//!
//! # Layout
//! A link lies in the header of the tree and in each leaf:
//!
//! | offset | bytes | field |
//! |---|---|---|
//! | 0 | 8 | next leaf ([`LeafRef`]), 0 at the end |
//! | 8 | 4 | magic |
//! | 12 | 4 | CRC-32C of the owner's word and of bytes 0..8 |
//!
//! The owner's word is that of a leaf's own [`LeafRef`], or the offset of the header.

use crate::error::{Error, ErrorKind};

/// Largest class.
pub(super) const CLASS_MAX: u8 = 3;
/// Bytes of a link.
pub(super) const LINK_BYTES: usize = 16;
/// Offset of the link in a leaf.
pub(super) const LINK_AT: u64 = 64;
const MAGIC_AT: usize = 8;
const CRC_AT: usize = 12;
const MAGIC: [u8; 4] = *b"NLEF";

/// Offset and class of a leaf in one word: offsets are multiples of 64, the low bits are the class.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct LeafRef(u64);

impl LeafRef {
    /// `None` if the word cannot be one.
    pub(super) fn from_word(word: u64) -> Option<LeafRef> {
        (word >= 64 && word % 64 <= u64::from(CLASS_MAX)).then_some(LeafRef(word))
    }

    pub(super) fn new(offset: u64, class: u8) -> LeafRef {
        assert!(offset.is_multiple_of(64) && offset > 0 && class <= CLASS_MAX);
        LeafRef(offset | u64::from(class))
    }

    pub(super) fn word(self) -> u64 {
        self.0
    }

    #[inline]
    pub(super) fn offset(self) -> u64 {
        self.0 & !63
    }

    #[inline]
    pub(super) fn class(self) -> u8 {
        (self.0 & 63) as u8
    }

    /// Returns the error for damage in this leaf.
    #[cold]
    pub(super) fn corrupt(self, problem: impl Into<String>) -> Error {
        Error::new(
            ErrorKind::Corrupt,
            format!("leaf at offset {} of the hybrid tree", self.offset()),
            problem,
            "rebuild the pool from a replica",
        )
    }
}

/// A place that names a leaf.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Link {
    offset: u64,
    owner: u64,
}

impl Link {
    /// That at `offset` in the header of the tree, which lies at `header`.
    pub(super) fn in_header(header: u64, offset: u64) -> Link {
        Link { offset: header + offset, owner: header }
    }

    /// That in a leaf, which names the one behind it.
    pub(super) fn behind(leaf: LeafRef) -> Link {
        Link { offset: leaf.offset() + LINK_AT, owner: leaf.word() }
    }

    /// Returns where it lies.
    pub(super) fn offset(self) -> u64 {
        self.offset
    }

    /// Returns its bytes if it names the leaf of this word, or none if that is 0.
    pub(super) fn encode(self, next: u64) -> [u8; LINK_BYTES] {
        let mut bytes = [0; LINK_BYTES];
        bytes[..MAGIC_AT].copy_from_slice(&next.to_le_bytes());
        bytes[MAGIC_AT..CRC_AT].copy_from_slice(&MAGIC);
        let crc = crc32c::crc32c(&self.owner.to_le_bytes());
        let crc = crc32c::crc32c_append(crc, &bytes[..MAGIC_AT]);
        bytes[CRC_AT..].copy_from_slice(&crc.to_le_bytes());
        bytes
    }

    /// Returns the word that its bytes hold, `None` if they are damaged.
    pub(super) fn decode(self, bytes: &[u8]) -> Option<u64> {
        let mut word = [0; 8];
        word.copy_from_slice(bytes.get(..MAGIC_AT)?);
        let next = u64::from_le_bytes(word);
        (bytes == self.encode(next)).then_some(next)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_flipped_bit_of_a_link_is_found_and_so_is_another_owner() {
        let link = Link::behind(LeafRef::new(4096, 1));
        let mut bytes = link.encode(8192);
        assert_eq!(link.decode(&bytes), Some(8192));
        assert_eq!(Link::behind(LeafRef::new(4096, 2)).decode(&bytes), None);
        for bit in 0..LINK_BYTES * 8 {
            bytes[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(link.decode(&bytes), None, "bit {bit}");
            bytes[bit / 8] ^= 1 << (bit % 8);
        }
    }
}
