//! Byte strings in 8 bytes: up to seven of them in place, longer ones elsewhere.
//!
//! # Layout
//! | offset | bytes | in place | elsewhere |
//! |---|---|---|---|
//! | 0 | 1 | length, 0 to 7 | 255 |
//! | 1 | 7 | the bytes | 3 unused, then 4 with the handle |

use super::slab::Slab;

/// Most bytes in place.
const INLINE_BYTES_MAX: usize = 7;

/// Marks a string that lies elsewhere.
const ELSEWHERE: u8 = 255;

/// What the allocator adds to a string, about.
const ALLOCATION_BYTES: usize = 16;

/// A byte string; those that [`Strings`] made must go back to it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Short([u8; 8]);

/// The bytes of longer strings.
#[derive(Debug, Default)]
pub(super) struct Strings {
    slots: Slab<Box<[u8]>>,
    bytes: usize,
}

impl Short {
    #[inline]
    fn handle(self) -> Option<u32> {
        let [length, _, _, _, handle @ ..] = self.0;
        (length == ELSEWHERE).then(|| u32::from_le_bytes(handle))
    }

    /// Returns the bytes of a string in place as a number.
    #[inline]
    fn word(self) -> u64 {
        u64::from_le_bytes(self.0) >> 8
    }
}

/// Returns the first `length` bytes, up to seven that are there, as a number.
#[inline]
fn first_bytes(bytes: &[u8], length: usize) -> u64 {
    match bytes.first_chunk::<8>() {
        Some(word) => u64::from_le_bytes(*word) & ((1 << (8 * length)) - 1),
        None => bytes[..length].iter().rev().fold(0, |word, &byte| word << 8 | u64::from(byte)),
    }
}

impl Strings {
    /// Returns the bytes that the strings take.
    pub(super) fn bytes(&self) -> usize {
        self.slots.bytes() + self.bytes
    }

    /// Stores the bytes of `parts`, one after the other.
    #[inline]
    pub(super) fn insert(&mut self, parts: &[&[u8]]) -> Short {
        let length = parts.iter().map(|part| part.len()).sum::<usize>();
        if length > INLINE_BYTES_MAX {
            return self.insert_elsewhere(parts.concat());
        }
        let mut short = [0; 8];
        short[0] = length as u8;
        let mut rest = &mut short[1..];
        for part in parts {
            let (head, tail) = rest.split_at_mut(part.len());
            head.copy_from_slice(part);
            rest = tail;
        }
        Short(short)
    }

    fn insert_elsewhere(&mut self, bytes: Vec<u8>) -> Short {
        self.bytes += bytes.len() + ALLOCATION_BYTES;
        let [a, b, c, d] = self.slots.insert(bytes.into()).to_le_bytes();
        Short([ELSEWHERE, 0, 0, 0, a, b, c, d])
    }

    #[inline]
    pub(super) fn get<'a>(&'a self, short: &'a Short) -> &'a [u8] {
        match short.handle() {
            Some(handle) => self.slots.get(handle),
            None => &short.0[1..1 + usize::from(short.0[0] & 7)],
        }
    }

    /// Whether these are the bytes of the string.
    #[inline]
    pub(super) fn is(&self, short: &Short, bytes: &[u8]) -> bool {
        let length = usize::from(short.0[0]);
        match length <= INLINE_BYTES_MAX {
            true => bytes.len() == length && first_bytes(bytes, length) == short.word(),
            false => self.get(short) == bytes,
        }
    }

    /// Takes the string off the beginning of `bytes`, if it stands there.
    #[inline(always)]
    pub(super) fn strip<'a>(&self, short: &Short, bytes: &'a [u8]) -> Option<&'a [u8]> {
        match short.0[0] {
            0 => Some(bytes),
            _ => self.strip_some(short, bytes),
        }
    }

    fn strip_some<'a>(&self, short: &Short, bytes: &'a [u8]) -> Option<&'a [u8]> {
        let length = usize::from(short.0[0]);
        if length <= INLINE_BYTES_MAX {
            let is_there = length <= bytes.len() && first_bytes(bytes, length) == short.word();
            return is_there.then(|| &bytes[length..]);
        }
        bytes.strip_prefix(self.get(short))
    }

    /// Gives up a string.
    #[inline]
    pub(super) fn remove(&mut self, short: Short) {
        if let Some(handle) = short.handle() {
            let gone = self.slots.remove(handle, Box::default());
            self.bytes -= gone.len() + ALLOCATION_BYTES;
        }
    }

    /// Drops the first `count` bytes of a string.
    pub(super) fn cut(&mut self, short: Short, count: usize) -> Short {
        let rest = self.get(&short)[count..].to_vec();
        self.remove(short);
        self.insert(&[&rest])
    }

    /// Puts bytes before a string.
    pub(super) fn extend_front(&mut self, front: &[&[u8]], short: Short) -> Short {
        let whole = [&front.concat(), self.get(&short)].concat();
        self.remove(short);
        self.insert(&[&whole])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_of_any_length_are_kept_cut_and_extended() {
        let mut strings = Strings::default();
        let empty = strings.bytes();
        let whole: Vec<u8> = (0..40).collect();
        for length in 0..whole.len() {
            let short = strings.insert(&[&whole[..length / 2], &whole[length / 2..length]]);
            assert_eq!(strings.get(&short), &whole[..length]);
            let cut = strings.cut(short, length / 3);
            assert_eq!(strings.get(&cut), &whole[length / 3..length]);
            let again = strings.extend_front(&[&whole[..length / 3]], cut);
            assert_eq!(strings.get(&again), &whole[..length]);
            for other in 0..whole.len() {
                assert_eq!(strings.is(&again, &whole[..other]), other == length);
            }
            assert!(length == 0 || !strings.is(&again, &whole[1..=length]));
            for longer in [length, length + 1, whole.len()] {
                let bytes = &whole[..longer.min(whole.len())];
                assert_eq!(strings.strip(&again, bytes), Some(&bytes[length..]));
            }
            assert!(length == 0 || strings.strip(&again, &whole[..length - 1]).is_none());
            assert!(length == 0 || strings.strip(&again, &whole[1..]).is_none());
            strings.remove(again);
        }
        assert_eq!(strings.slots.len(), 0);
        assert!(strings.bytes() < empty + 256);
    }
}
