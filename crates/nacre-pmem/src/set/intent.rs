//! Write-intent map: the regions in which the members may differ after a crash.
//!
//! One bit a region of the member file, 32,768 bits in 4 KiB. The bit is durable in every member
//! before the first store into the region, so that opening after a crash compares only what was
//! written to. The copy in DRAM makes the check one load and one test.
//!
//! # Invariants
//! 1. A bit that is set here is durably set in every live member.
//! 2. Bits are cleared only when all members are byte-identical and durable.
//!
//! # Source
//! The write-intent bitmap of RAID 1; [Zarubin22 3.2.1] leaves recovery of the replicas open.

use crate::set::header::INTENT_BYTES;

/// Words of the map.
pub(crate) const WORDS: usize = INTENT_BYTES as usize / 8;
/// Smallest region: a compare of one takes some microseconds.
const REGION_BYTES_MIN: u64 = 64 << 10;

/// Returns the bytes of a region so that the map covers `file_bytes`.
pub(crate) fn region_bytes(file_bytes: u64) -> u64 {
    file_bytes.div_ceil(8 * INTENT_BYTES).next_power_of_two().max(REGION_BYTES_MIN)
}

/// The copy in DRAM.
#[derive(Debug)]
pub(crate) struct IntentMap {
    words: Box<[u64; WORDS]>,
    region_shift: u32,
}

impl IntentMap {
    /// Makes an empty map for regions of `region_bytes` bytes, a power of two.
    pub(crate) fn new(region_bytes: u64) -> IntentMap {
        IntentMap { words: Box::new([0; WORDS]), region_shift: region_bytes.trailing_zeros() }
    }

    /// Whether a range lies in one region, and that is marked.
    #[inline(always)]
    pub(crate) fn is_marked(&self, offset: u64, bytes: u64) -> bool {
        let first = offset >> self.region_shift;
        let last = (offset + bytes.saturating_sub(1)) >> self.region_shift;
        first == last && self.bit(first)
    }

    /// Whether a region is marked.
    #[inline(always)]
    pub(crate) fn bit(&self, region: u64) -> bool {
        // The mask changes nothing for a region inside the file, and saves the bounds check.
        self.words[(region / 64) as usize & (WORDS - 1)] >> (region % 64) & 1 == 1
    }

    /// Marks the regions of a range and returns the numbers of the words that changed.
    pub(crate) fn mark(&mut self, offset: u64, bytes: u64) -> Vec<usize> {
        let mut changed = Vec::new();
        if bytes == 0 {
            return changed;
        }
        let first = offset >> self.region_shift;
        let last = (offset + bytes - 1) >> self.region_shift;
        for region in first..=last {
            let word = (region / 64) as usize & (WORDS - 1);
            if !self.bit(region) {
                self.words[word] |= 1 << (region % 64);
                if changed.last() != Some(&word) {
                    changed.push(word);
                }
            }
        }
        changed
    }

    /// Returns a word as it lies on media.
    pub(crate) fn word(&self, word: usize) -> u64 {
        self.words[word]
    }

    /// Returns the map as it lies on media.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        self.words.iter().flat_map(|word| word.to_le_bytes()).collect()
    }

    /// Joins a map from media, of the same region size.
    pub(crate) fn join(&mut self, bytes: &[u8]) {
        for (word, bytes) in self.words.iter_mut().zip(bytes.chunks_exact(8)) {
            let mut value = [0; 8];
            value.copy_from_slice(bytes);
            *word |= u64::from_le_bytes(value);
        }
    }

    /// Marks everything.
    pub(crate) fn fill(&mut self) {
        self.words.fill(u64::MAX);
    }

    /// Clears everything.
    pub(crate) fn clear(&mut self) {
        self.words.fill(0);
    }

    /// Whether no region is marked.
    pub(crate) fn is_empty(&self) -> bool {
        self.words.iter().all(|&word| word == 0)
    }

    /// Returns the marked ranges between two offsets, neighbours joined.
    pub(crate) fn ranges(&self, from: u64, to: u64) -> Vec<(u64, u64)> {
        let mut ranges: Vec<(u64, u64)> = Vec::new();
        let regions = to.div_ceil(1 << self.region_shift);
        for region in (from >> self.region_shift)..regions {
            if !self.bit(region) {
                continue;
            }
            let start = (region << self.region_shift).max(from);
            let end = ((region + 1) << self.region_shift).min(to);
            match ranges.last_mut() {
                Some(last) if last.1 == start => last.1 = end,
                _ => ranges.push((start, end)),
            }
        }
        ranges
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn map_covers_any_file_with_regions_of_64_kib_at_least() {
        for file_bytes in [1, 64 << 10, 2 << 30, (2 << 30) + 1, 1 << 40] {
            let region = region_bytes(file_bytes);
            assert!(region >= REGION_BYTES_MIN && region.is_power_of_two());
            assert!(file_bytes.div_ceil(region) <= 8 * INTENT_BYTES, "{file_bytes}");
        }
        assert_eq!(region_bytes(2 << 30), 64 << 10);
        assert_eq!(region_bytes((2 << 30) + 1), 128 << 10);
    }

    #[test]
    fn marked_regions_come_back_as_joined_ranges() {
        const REGION: u64 = 64 << 10;
        let mut map = IntentMap::new(REGION);
        assert!(map.is_empty() && !map.is_marked(REGION, 4));
        assert_eq!(map.mark(REGION + 10, 4), [0]);
        assert_eq!(map.mark(REGION + 10, 4), []);
        assert!(map.is_marked(2 * REGION - 1, 1) && !map.is_marked(2 * REGION - 1, 2));
        assert_eq!(map.mark(2 * REGION - 1, 2), [0]);
        assert_eq!(map.mark(63 * REGION, 2 * REGION), [0, 1]);
        let end = 64 * REGION + 100;
        let expected = [(REGION + 5, 3 * REGION), (63 * REGION, end)];
        assert_eq!(map.ranges(REGION + 5, end), expected);
        let mut copy = IntentMap::new(REGION);
        copy.join(&map.bytes());
        assert_eq!(copy.ranges(REGION + 5, end), expected);
    }
}
