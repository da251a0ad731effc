//! One key with its value, as it lies in a leaf.
//!
//! # Layout
//! | offset | bytes | field |
//! |---|---|---|
//! | 0 | 2 | bytes of the key |
//! | 2 | 2 | bytes of the value |
//! | 4 | 4 | CRC-32C of bytes 0..4, the key, and the value if it is longer than a word |
//! | 8 | 8 | value, padded with zeros, if it is a word at most |
//! | 8 or 16 | | key |
//! | | | value, if it is longer than a word |
//!
//! An entry never changes while it is live, but for the value word, which is replaced by one 8-byte
//! store. That is why the checksum leaves it out.

/// Longest key.
pub const KEY_BYTES_MAX: usize = 1024;
/// Longest value.
pub const VALUE_BYTES_MAX: usize = 1024;

/// A value of up to so many bytes is replaced in place.
pub(super) const WORD_BYTES: usize = 8;
/// Offset of the value word in an entry.
pub(super) const WORD_OFFSET: usize = 8;
const CRC_OFFSET: usize = 4;
/// Bytes before the key, or before the value word.
const HEADER_BYTES: usize = 8;

/// Largest entry.
pub(super) const ENTRY_BYTES_MAX: usize = HEADER_BYTES + KEY_BYTES_MAX + VALUE_BYTES_MAX;

/// A live entry, borrowed from a leaf.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Entry<'a> {
    bytes: &'a [u8],
    key_bytes: usize,
    value_bytes: usize,
}

impl<'a> Entry<'a> {
    /// Reads the entry at the start of `bytes`; `None` if its sizes cannot be right.
    #[inline]
    pub(super) fn parse(bytes: &'a [u8]) -> Option<Entry<'a>> {
        let sizes = bytes.get(..4)?;
        let key_bytes = usize::from(u16::from_le_bytes([sizes[0], sizes[1]]));
        let value_bytes = usize::from(u16::from_le_bytes([sizes[2], sizes[3]]));
        if key_bytes > KEY_BYTES_MAX || value_bytes > VALUE_BYTES_MAX {
            return None;
        }
        let bytes = bytes.get(..entry_bytes(key_bytes, value_bytes))?;
        Some(Entry { bytes, key_bytes, value_bytes })
    }

    #[inline]
    pub(super) fn key(&self) -> &'a [u8] {
        let start = key_offset(self.value_bytes);
        &self.bytes[start..start + self.key_bytes]
    }

    #[inline]
    pub(super) fn value(&self) -> &'a [u8] {
        let start = match self.has_word() {
            true => WORD_OFFSET,
            false => HEADER_BYTES + self.key_bytes,
        };
        &self.bytes[start..start + self.value_bytes]
    }

    /// Whether the value is a word, which is replaced in place.
    #[inline]
    pub(super) fn has_word(&self) -> bool {
        self.value_bytes <= WORD_BYTES
    }

    /// All bytes of the entry.
    pub(super) fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// Whether the checksum matches.
    #[inline]
    pub(super) fn is_intact(&self) -> bool {
        let stored = &self.bytes[CRC_OFFSET..HEADER_BYTES];
        stored == checksum(self.bytes, self.value_bytes).to_le_bytes()
    }
}

/// Returns the bytes of an entry.
#[inline]
pub(super) fn entry_bytes(key_bytes: usize, value_bytes: usize) -> usize {
    HEADER_BYTES
        + key_bytes
        + value_bytes.max(if value_bytes <= WORD_BYTES { WORD_BYTES } else { 0 })
}

#[inline]
fn key_offset(value_bytes: usize) -> usize {
    if value_bytes <= WORD_BYTES { WORD_OFFSET + WORD_BYTES } else { HEADER_BYTES }
}

#[inline]
fn checksum(entry: &[u8], value_bytes: usize) -> u32 {
    let sizes = crc32c::crc32c(&entry[..CRC_OFFSET]);
    crc32c::crc32c_append(sizes, &entry[key_offset(value_bytes)..])
}

/// Returns a value of up to [`WORD_BYTES`] bytes as the word that is stored.
#[inline]
pub(super) fn value_word(value: &[u8]) -> u64 {
    let mut word = [0; WORD_BYTES];
    word[..value.len()].copy_from_slice(value);
    u64::from_le_bytes(word)
}

/// Encodes an entry at the start of `target`, which is long enough, and returns its bytes.
pub(super) fn encode(target: &mut [u8], key: &[u8], value: &[u8]) -> usize {
    assert!(key.len() <= KEY_BYTES_MAX && value.len() <= VALUE_BYTES_MAX);
    let bytes = entry_bytes(key.len(), value.len());
    let entry = &mut target[..bytes];
    // Both fit by the assertion above.
    entry[..2].copy_from_slice(&(key.len() as u16).to_le_bytes());
    entry[2..4].copy_from_slice(&(value.len() as u16).to_le_bytes());
    let start = key_offset(value.len());
    entry[start..start + key.len()].copy_from_slice(key);
    if value.len() <= WORD_BYTES {
        entry[WORD_OFFSET..start].copy_from_slice(&value_word(value).to_le_bytes());
    } else {
        entry[start + key.len()..].copy_from_slice(value);
    }
    let crc = checksum(entry, value.len());
    entry[CRC_OFFSET..HEADER_BYTES].copy_from_slice(&crc.to_le_bytes());
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
            for value_bytes in [0, 1, 8, 9, 100, VALUE_BYTES_MAX] {
                let (key, value) = (vec![7; key_bytes], vec![9; value_bytes]);
                let mut target = [0xaa; ENTRY_BYTES_MAX + 8];
                let bytes = encode(&mut target, &key, &value);
                assert_eq!(bytes, entry_bytes(key_bytes, value_bytes));
                let entry = Entry::parse(&target).unwrap();
                assert_eq!((entry.key(), entry.value()), (&key[..], &value[..]));
                assert!(entry.is_intact());
                assert!(target[bytes..].iter().all(|&byte| byte == 0xaa));
            }
        }
    }

    #[test]
    fn every_flipped_bit_outside_the_value_word_is_found() {
        let mut target = [0; 64];
        let bytes = encode(&mut target, b"a key", b"a longer value");
        for bit in 0..bytes * 8 {
            target[bit / 8] ^= 1 << (bit % 8);
            assert!(!Entry::parse(&target).is_some_and(|entry| entry.is_intact()), "bit {bit}");
            target[bit / 8] ^= 1 << (bit % 8);
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
