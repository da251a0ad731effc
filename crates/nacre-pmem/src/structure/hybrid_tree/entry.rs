//! One key with its value, or with a reference to it, as it lies in a leaf.
//!
//! # Layout
//! | offset | bytes | field |
//! |---|---|---|
//! | 0 | 2 | bytes of the key |
//! | 2 | 2 | bytes of the value; 65535: it lies in an extent of its own |
//! | 4 | 4 | CRC-32C of bytes 0..4 and of what follows, but for a value word |
//! | 8 | 8 | value, padded with zeros, if it is a word at most |
//! | 8 | 16 | reference, if the value lies in an extent of its own |
//! | 8, 16 or 24 | | key |
//! | | | value, if it is longer than a word and lies here |
//!
//! A reference:
//!
//! | offset | bytes | field |
//! |---|---|---|
//! | 0 | 8 | offset of the extent |
//! | 8 | 4 | bytes of the value |
//! | 12 | 4 | CRC-32C of the value |
//!
//! An entry never changes while it is live, but for the value word, which is replaced by one 8-byte
//! store, and for the reference with the checksum before it, which a transaction replaces. That is
//! why the checksum leaves the word out.

/// Longest key.
pub const KEY_BYTES_MAX: usize = 1024;
/// Longest value.
pub const VALUE_BYTES_MAX: usize = 1 << 20;

/// Longest value that lies in a leaf.
pub(super) const INLINE_BYTES_MAX: usize = 512;
/// A value of up to so many bytes is replaced in place.
pub(super) const WORD_BYTES: usize = 8;
/// Offset of the value word in an entry.
pub(super) const WORD_OFFSET: usize = 8;
pub(super) const CRC_OFFSET: usize = 4;
/// Bytes before the key, the value word, or the reference.
const HEADER_BYTES: usize = 8;
const REFERENCE_BYTES: usize = 16;
/// Checksum and reference, which change together.
const EXCHANGED_BYTES: usize = HEADER_BYTES - CRC_OFFSET + REFERENCE_BYTES;
/// Stands for the bytes of a value that lies in an extent.
pub(super) const IN_EXTENT: usize = 0xffff;

/// Largest entry.
pub(super) const ENTRY_BYTES_MAX: usize = HEADER_BYTES + KEY_BYTES_MAX + INLINE_BYTES_MAX;

const _: () = assert!(REFERENCE_BYTES <= INLINE_BYTES_MAX);

/// Where a value in an extent of its own lies, and what it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Reference {
    pub(super) offset: u64,
    pub(super) bytes: u32,
    crc: u32,
}

impl Reference {
    /// `value` is copied to `offset`.
    pub(super) fn new(offset: u64, value: &[u8]) -> Reference {
        assert!(value.len() <= VALUE_BYTES_MAX);
        Reference { offset, bytes: value.len() as u32, crc: crc32c::crc32c(value) }
    }

    /// Whether these are the bytes of the value.
    pub(super) fn is_of(&self, value: &[u8]) -> bool {
        self.bytes as usize == value.len() && self.crc == crc32c::crc32c(value)
    }

    fn encode(self) -> [u8; REFERENCE_BYTES] {
        let mut bytes = [0; REFERENCE_BYTES];
        bytes[..8].copy_from_slice(&self.offset.to_le_bytes());
        bytes[8..12].copy_from_slice(&self.bytes.to_le_bytes());
        bytes[12..].copy_from_slice(&self.crc.to_le_bytes());
        bytes
    }

    fn decode(bytes: &[u8]) -> Reference {
        let u32_at =
            |at: usize| bytes[at..at + 4].iter().rev().fold(0, |n, &b| n << 8 | u32::from(b));
        Reference {
            offset: u64::from(u32_at(4)) << 32 | u64::from(u32_at(0)),
            bytes: u32_at(8),
            crc: u32_at(12),
        }
    }
}

/// What an entry keeps of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stored<'a> {
    /// All of it.
    Inline(&'a [u8]),
    /// Where it is.
    Extent(Reference),
}

impl Stored<'_> {
    /// Returns the second field of the entry.
    fn size(&self) -> usize {
        match self {
            Stored::Inline(value) => value.len(),
            Stored::Extent(_) => IN_EXTENT,
        }
    }
}

/// A live entry, borrowed from a leaf.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Entry<'a> {
    bytes: &'a [u8],
    key_bytes: usize,
    /// Bytes of the value, or [`IN_EXTENT`].
    size: usize,
}

impl<'a> Entry<'a> {
    /// Reads the entry at the start of `bytes`; `None` if its sizes cannot be right.
    #[inline]
    pub(super) fn parse(bytes: &'a [u8]) -> Option<Entry<'a>> {
        let sizes = bytes.get(..4)?;
        let key_bytes = usize::from(u16::from_le_bytes([sizes[0], sizes[1]]));
        let size = usize::from(u16::from_le_bytes([sizes[2], sizes[3]]));
        let is_value = size <= INLINE_BYTES_MAX || size == IN_EXTENT;
        if key_bytes > KEY_BYTES_MAX || !is_value {
            return None;
        }
        let bytes = bytes.get(..sized(key_bytes, size))?;
        Some(Entry { bytes, key_bytes, size })
    }

    #[inline]
    pub(super) fn key(&self) -> &'a [u8] {
        let start = key_offset(self.size);
        &self.bytes[start..start + self.key_bytes]
    }

    #[inline]
    pub(super) fn value(&self) -> Stored<'a> {
        if self.size == IN_EXTENT {
            let end = HEADER_BYTES + REFERENCE_BYTES;
            return Stored::Extent(Reference::decode(&self.bytes[HEADER_BYTES..end]));
        }
        let start = match self.size <= WORD_BYTES {
            true => WORD_OFFSET,
            false => HEADER_BYTES + self.key_bytes,
        };
        Stored::Inline(&self.bytes[start..start + self.size])
    }

    /// Returns the second field.
    #[inline]
    pub(super) fn size(&self) -> usize {
        self.size
    }

    /// All bytes of the entry.
    pub(super) fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// Whether the checksum matches.
    #[inline]
    pub(super) fn is_intact(&self) -> bool {
        let stored = &self.bytes[CRC_OFFSET..HEADER_BYTES];
        stored == checksum(self.bytes, self.size).to_le_bytes()
    }
}

/// Returns the bytes of the entry for a key and a value.
#[inline]
pub(super) fn entry_bytes(key_bytes: usize, value_bytes: usize) -> usize {
    sized(key_bytes, if value_bytes > INLINE_BYTES_MAX { IN_EXTENT } else { value_bytes })
}

/// Returns the bytes of an entry with this second field.
#[inline]
fn sized(key_bytes: usize, size: usize) -> usize {
    let value_bytes = match size {
        IN_EXTENT => REFERENCE_BYTES,
        _ => size.max(if size <= WORD_BYTES { WORD_BYTES } else { 0 }),
    };
    HEADER_BYTES + key_bytes + value_bytes
}

#[inline]
fn key_offset(size: usize) -> usize {
    match size {
        0..=WORD_BYTES => WORD_OFFSET + WORD_BYTES,
        IN_EXTENT => HEADER_BYTES + REFERENCE_BYTES,
        _ => HEADER_BYTES,
    }
}

#[inline]
fn checksum(entry: &[u8], size: usize) -> u32 {
    let sizes = crc32c::crc32c(&entry[..CRC_OFFSET]);
    let start = if size <= WORD_BYTES { WORD_OFFSET + WORD_BYTES } else { HEADER_BYTES };
    crc32c::crc32c_append(sizes, &entry[start..])
}

/// Returns a value of up to [`WORD_BYTES`] bytes as the word that is stored.
#[inline]
pub(super) fn value_word(value: &[u8]) -> u64 {
    let mut word = [0; WORD_BYTES];
    word[..value.len()].copy_from_slice(value);
    u64::from_le_bytes(word)
}

/// Encodes an entry at the start of `target`, which is long enough, and returns its bytes.
pub(super) fn encode(target: &mut [u8], key: &[u8], value: Stored<'_>) -> usize {
    let size = value.size();
    assert!(key.len() <= KEY_BYTES_MAX && (size <= INLINE_BYTES_MAX || size == IN_EXTENT));
    let bytes = sized(key.len(), size);
    let entry = &mut target[..bytes];
    // Both fit by the assertion above.
    entry[..2].copy_from_slice(&(key.len() as u16).to_le_bytes());
    entry[2..CRC_OFFSET].copy_from_slice(&(size as u16).to_le_bytes());
    let start = key_offset(size);
    entry[start..start + key.len()].copy_from_slice(key);
    match value {
        Stored::Extent(reference) => {
            entry[HEADER_BYTES..start].copy_from_slice(&reference.encode())
        }
        Stored::Inline(value) if size <= WORD_BYTES => {
            entry[WORD_OFFSET..start].copy_from_slice(&value_word(value).to_le_bytes());
        }
        Stored::Inline(value) => entry[start + key.len()..].copy_from_slice(value),
    }
    let crc = checksum(entry, size);
    entry[CRC_OFFSET..HEADER_BYTES].copy_from_slice(&crc.to_le_bytes());
    bytes
}

/// Returns the bytes from [`CRC_OFFSET`] on that refer `key` to another value in an extent.
pub(super) fn exchanged(key: &[u8], reference: Reference) -> [u8; EXCHANGED_BYTES] {
    let mut entry = [0; HEADER_BYTES + REFERENCE_BYTES + KEY_BYTES_MAX];
    encode(&mut entry, key, Stored::Extent(reference));
    let mut bytes = [0; EXCHANGED_BYTES];
    bytes.copy_from_slice(&entry[CRC_OFFSET..CRC_OFFSET + EXCHANGED_BYTES]);
    bytes
}

/// Returns one byte that tells most different keys apart. Part of the layout.
#[inline]
pub(super) fn fingerprint(key: &[u8]) -> u8 {
    // Odd, from the golden ratio; the product's high bits depend on all bits of the word.
    const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;
    let mut hash = key.len() as u64;
    let mut words = key.chunks_exact(8);
    for word in words.by_ref() {
        let mut bytes = [0; 8];
        bytes.copy_from_slice(word);
        hash = (hash.rotate_left(29) ^ u64::from_le_bytes(bytes)).wrapping_mul(FACTOR);
        hash ^= hash >> 32;
    }
    let rest = words.remainder().iter().fold(0, |word, &byte| word << 8 | u64::from(byte));
    ((hash.rotate_left(29) ^ rest).wrapping_mul(FACTOR) >> 56) as u8
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_of_all_sizes_come_back() {
        for key_bytes in [0, 1, 7, 8, 16, 100, KEY_BYTES_MAX] {
            for value_bytes in [0, 1, 8, 9, 100, INLINE_BYTES_MAX, VALUE_BYTES_MAX] {
                let (key, value) = (vec![7; key_bytes], vec![9; value_bytes]);
                let mut target = [0xaa; ENTRY_BYTES_MAX + 8];
                let stored = match value_bytes <= INLINE_BYTES_MAX {
                    true => Stored::Inline(&value),
                    false => Stored::Extent(Reference::new(0x1234_5678_9abc, &value)),
                };
                let bytes = encode(&mut target, &key, stored);
                assert_eq!(bytes, entry_bytes(key_bytes, value_bytes));
                let entry = Entry::parse(&target).unwrap();
                assert_eq!((entry.key(), entry.value()), (&key[..], stored));
                assert!(entry.is_intact());
                assert!(target[bytes..].iter().all(|&byte| byte == 0xaa));
            }
        }
    }

    #[test]
    fn every_flipped_bit_outside_the_value_word_is_found() {
        let reference = Reference::new(4096, &[7; 1000]);
        for stored in [Stored::Inline(b"a longer value"), Stored::Extent(reference)] {
            let mut target = [0; 64];
            let bytes = encode(&mut target, b"a key", stored);
            for bit in 0..bytes * 8 {
                target[bit / 8] ^= 1 << (bit % 8);
                assert!(!Entry::parse(&target).is_some_and(|entry| entry.is_intact()), "bit {bit}");
                target[bit / 8] ^= 1 << (bit % 8);
            }
        }
    }

    #[test]
    fn fingerprints_of_near_keys_differ() {
        let mut counts = [0; 256];
        for key in 0..25_600_u64 {
            counts[usize::from(fingerprint(&key.to_be_bytes()))] += 1;
        }
        assert!(counts.iter().all(|count| (20..400).contains(count)), "{counts:?}");
    }
}
