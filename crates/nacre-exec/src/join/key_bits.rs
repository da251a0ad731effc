//! Which values a key of a table has, a bit each: what a scan below the join asks for its rows.
//!
//! Bits take a thirty-second of an array of links, and an eighth of a hash table's slots at most,
//! so that they stay in a cache where those would not.
//!
//! ```text
//! dense   values 3 7 9, from 3 on    bits 1000101
//! hashed  at least 16 bits a value: one of 16 other values looks like one
//! ```

use super::keys::hash_key;
use super::table::JoinKeyRange;

/// Bits for each value that is hashed, at least.
const BITS_PER_VALUE: usize = 16;

/// Bytes of bits up to which a scan asks for each row: of more, every look may miss the caches, and
/// rows that pass miss them twice.
const CACHED_BYTES_MAX: usize = 4 << 20;

/// Bits by value are taken instead of hashed ones up to this size, however few the hashed ones are:
/// they let no other value pass, and tables are often in the order of a key.
const EXACT_BYTES: usize = 1 << 20;

/// Range and bits of the values of a key of one word.
#[derive(Debug)]
pub(super) struct JoinKeySummary {
    /// `None` if there are no values.
    pub(super) range: Option<JoinKeyRange>,
    /// `None` if asking for each row of a scan is not worth it.
    pub(super) bits: Option<JoinKeyBits>,
}

/// A bit for each value, or for its hash.
#[derive(Debug)]
pub(super) struct JoinKeyBits {
    place: BitPlace,
    words: Vec<u64>,
}

/// Where the bit of a value is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum BitPlace {
    /// By value, from `min` on.
    Dense { min: i64 },
    /// By so many upper bits of the hash.
    Hashed { bits_log: u32 },
}

impl JoinKeySummary {
    /// Sums up values that lie within `range`; `rows` is how many there are.
    pub(super) fn new(
        range: Option<JoinKeyRange>,
        rows: usize,
        for_each: impl FnOnce(&mut dyn FnMut(i64)),
    ) -> Self {
        let none = Self { range, bits: None };
        let Some(JoinKeyRange { min, max }) = range else { return none };
        let hashed = (rows * BITS_PER_VALUE).next_power_of_two().max(64);
        let values = usize::try_from(max.abs_diff(min)).unwrap_or(usize::MAX).saturating_add(1);
        let is_dense = values / 8 <= (hashed / 4).max(EXACT_BYTES);
        let (place, bits) = if is_dense {
            (BitPlace::Dense { min }, values)
        } else {
            (BitPlace::Hashed { bits_log: hashed.trailing_zeros() }, hashed)
        };
        if bits / 8 > CACHED_BYTES_MAX {
            return none;
        }
        let mut bits = JoinKeyBits { place, words: vec![0; bits.div_ceil(64)] };
        for_each(&mut |value| bits.insert(value));
        // A range that is nearly full leaves out next to nothing.
        if is_dense && bits.count() >= values / 4 * 3 {
            return none;
        }
        Self { range, bits: Some(bits) }
    }
}

impl BitPlace {
    #[inline]
    fn of(self, value: i64) -> usize {
        match self {
            Self::Dense { min } => (value as u64).wrapping_sub(min as u64) as usize,
            Self::Hashed { bits_log } => (hash_key(value) >> (64 - bits_log)) as usize,
        }
    }
}

impl JoinKeyBits {
    fn insert(&mut self, value: i64) {
        let bit = self.place.of(value);
        if let Some(word) = self.words.get_mut(bit / 64) {
            *word |= 1 << (bit % 64);
        }
    }

    /// Returns how many bits are set.
    fn count(&self) -> usize {
        self.words.iter().map(|word| word.count_ones() as usize).sum()
    }

    /// Returns a bit for each of `values` that the key may have.
    pub(super) fn select<T: Copy>(&self, values: &[T], key: impl Fn(T) -> Option<i64>) -> Vec<u64> {
        // A loop for each kind of place.
        match self.place {
            BitPlace::Dense { min } => {
                let place = |key: i64| (key as u64).wrapping_sub(min as u64) as usize;
                self.select_at(values, key, place)
            }
            place @ BitPlace::Hashed { .. } => self.select_at(values, key, |key| place.of(key)),
        }
    }

    #[inline]
    fn select_at<T: Copy>(
        &self,
        values: &[T],
        key: impl Fn(T) -> Option<i64>,
        place: impl Fn(i64) -> usize,
    ) -> Vec<u64> {
        let mut words = vec![0; values.len().div_ceil(64)];
        for (word, some) in words.iter_mut().zip(values.chunks(64)) {
            for (bit, value) in some.iter().enumerate() {
                let at = key(*value).map_or(usize::MAX, &place);
                let has = self.words.get(at / 64).map_or(0, |word| word >> (at % 64) & 1);
                *word |= has << bit;
            }
        }
        words
    }

    /// Returns the bytes that it takes.
    pub(super) fn bytes(&self) -> usize {
        self.words.len() * 8
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn summary(values: &[i64]) -> JoinKeySummary {
        let range = values.iter().min().zip(values.iter().max());
        let range = range.map(|(min, max)| JoinKeyRange { min: *min, max: *max });
        JoinKeySummary::new(range, values.len(), |insert| values.iter().copied().for_each(insert))
    }

    #[test]
    fn bits_have_all_values_and_few_others() {
        let near: Vec<i64> = (0..1_000).map(|at| at * 3 - 500).collect();
        let far: Vec<i64> = (0..1_000).map(|at| at * 1_000_003).collect();
        for (values, others_max) in [(near, 0), (far, 600)] {
            let bits = summary(&values).bits.unwrap();
            let count = |values: &[i64]| {
                let words = bits.select(values, Some);
                words.iter().map(|word| word.count_ones()).sum::<u32>()
            };
            assert_eq!(count(&values), 1_000);
            let others: Vec<i64> =
                (-2_000..6_000).filter(|value| !values.contains(value)).collect();
            assert!(count(&others) <= others_max);
        }
    }

    #[test]
    fn values_beyond_64_bits_are_none_of_a_key() {
        let bits = summary(&[3, 90]).bits.unwrap();
        let asked = [3, 4, 90, 3 + (1_i128 << 64)];
        assert_eq!(bits.select(&asked, |value: i128| value.try_into().ok()), [0b101]);
    }

    #[test]
    fn full_ranges_and_no_values_have_no_bits() {
        let all: Vec<i64> = (5..5_000).collect();
        let full = summary(&all);
        assert_eq!(full.range, Some(JoinKeyRange { min: 5, max: 4_999 }));
        assert!(full.bits.is_none());
        // A thousand rows of a hundred keys leave out nine of ten values.
        let repeated: Vec<i64> = (0..1_000).map(|at| at % 100 * 10).collect();
        assert!(summary(&repeated).bits.is_some());
        assert!(summary(&[]).bits.is_none() && summary(&[]).range.is_none());
        assert!(summary(&[i64::MIN, i64::MAX]).bits.is_some());
    }
}
