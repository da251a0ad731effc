//! From key columns to the words of rows.

use nacre_column::compare_floats;

use super::layout::{GroupKey, GroupPlan, HASH_WORDS, key_words};
use crate::vector::{BitVector, ColumnVector, INLINE_BYTES_MAX, VectorBatch, VectorValues};

/// The key words of the rows of a batch, in order of rows; the words of a row are those of a
/// group's row up to its states. Offsets of strings are 0.
#[derive(Debug, Default)]
pub(super) struct KeyWords {
    pub(super) words: Vec<u64>,
    /// Words of a row.
    pub(super) stride: usize,
}

/// Mixes a word into a hash.
#[inline]
pub(super) fn mix(hash: u64, word: u64) -> u64 {
    let product = u128::from(hash ^ word ^ 0x9e37_79b9_7f4a_7c15) * 0xd6e8_feb8_6659_fd93;
    (product as u64) ^ (product >> 64) as u64
}

/// Hashes the compared words of a row.
#[inline]
pub(crate) fn hash_words(words: &[u64]) -> u64 {
    words.iter().fold(0x2545_f491_4f6c_dd1d, |hash, word| mix(hash, *word))
}

/// Whether words are equal: without a call, since they are few.
#[inline]
pub(crate) fn equal_words(left: &[u64], right: &[u64]) -> bool {
    left.iter().zip(right).all(|(left, right)| left == right)
}

/// Hashes a string.
pub(super) fn hash_bytes(value: &[u8]) -> u64 {
    let (words, rest) = value.as_chunks();
    let hash =
        words.iter().fold(value.len() as u64, |hash, word| mix(hash, u64::from_le_bytes(*word)));
    let mut last = [0; 8];
    last[..rest.len()].copy_from_slice(rest);
    mix(hash, u64::from_le_bytes(last))
}

/// Returns the two words of a string.
#[inline]
pub(super) fn string_words(value: &[u8]) -> [u64; 2] {
    let mut first = [0; INLINE_BYTES_MAX];
    let len = value.len().min(INLINE_BYTES_MAX);
    first[..len].copy_from_slice(&value[..len]);
    let [a, b, c, d, rest @ ..] = first;
    let start = u64::from(value.len() as u32) | u64::from(u32::from_le_bytes([a, b, c, d])) << 32;
    let rest =
        if value.len() <= INLINE_BYTES_MAX { u64::from_le_bytes(rest) } else { hash_bytes(value) };
    [start, rest]
}

/// Returns the bits of a float, the same for all that are equal.
#[inline]
pub(crate) fn float_word(value: f64) -> u64 {
    if value.is_nan() {
        return f64::NAN.to_bits();
    }
    debug_assert!(compare_floats(value, value + 0.0).is_eq());
    // Adding 0 turns -0 into 0.
    (value + 0.0).to_bits()
}

impl KeyWords {
    /// Fills the words of all rows of a batch, whether they are left or not.
    pub(super) fn fill(&mut self, plan: &GroupPlan, batch: &VectorBatch) {
        self.stride = HASH_WORDS + plan.compared_words;
        self.words.clear();
        self.words.resize(self.stride * batch.rows, 0);
        for key in plan.compared() {
            let column = &batch.columns[key.slot];
            self.fill_key(key, column);
            if let Some(validity) = &column.validity {
                self.fill_nulls(key, validity);
            }
        }
        for row in self.words.chunks_exact_mut(self.stride) {
            if let [hash, words @ ..] = row {
                *hash = hash_words(words);
            }
        }
    }

    fn fill_key(&mut self, key: &GroupKey, column: &ColumnVector) {
        let (stride, word) = (self.stride, key.word);
        let words = &mut self.words;
        let mut put = |row: usize, value: u64| words[row * stride + word] = value;
        macro_rules! put_all {
            ($values:expr, $value:ident => $word:expr) => {
                for (row, &$value) in $values.iter().enumerate() {
                    put(row, $word);
                }
            };
        }
        match &column.values {
            VectorValues::Bool(bits) => {
                (0..bits.len()).for_each(|row| put(row, bits.get(row).into()));
            }
            VectorValues::Int16(values) => put_all!(values, value => i64::from(value) as u64),
            VectorValues::Int32(values) => put_all!(values, value => i64::from(value) as u64),
            VectorValues::Int64(values) => put_all!(values, value => value as u64),
            VectorValues::Float32(values) => {
                put_all!(values, value => float_word(value.into()));
            }
            VectorValues::Float64(values) => put_all!(values, value => float_word(value)),
            VectorValues::Code(values) => put_all!(values, value => value.into()),
            VectorValues::Int128(values) => {
                for (row, value) in values.iter().enumerate() {
                    let at = row * stride + word;
                    words[at] = *value as u64;
                    words[at + 1] = (*value >> 64) as u64;
                }
            }
            VectorValues::Bytes(values) => {
                for row in 0..values.len() {
                    let [first, second] = values.with(row, string_words);
                    let at = row * stride + word;
                    (words[at], words[at + 1]) = (first, second);
                }
            }
        }
    }

    /// Marks null keys, whose other words become zero.
    fn fill_nulls(&mut self, key: &GroupKey, validity: &BitVector) {
        let words = key_words(key.info.vector_type);
        let (null_word, null_bit) = key.null_place;
        for (row, all) in self.words.chunks_exact_mut(self.stride).enumerate() {
            if !validity.get(row) {
                all[key.word..key.word + words].fill(0);
                all[null_word] |= 1 << null_bit;
            }
        }
    }

    /// Whether two rows have the same words.
    #[inline]
    pub(super) fn are_equal(&self, one: usize, other: usize) -> bool {
        equal_words(self.row(one), self.row(other))
    }

    /// Returns the words of a row.
    pub(super) fn row(&self, row: usize) -> &[u64] {
        &self.words[row * self.stride..(row + 1) * self.stride]
    }
}

/// Puts the words of a value that is not compared into those of a row, which are 0 up to now.
pub(super) fn put_value(key: &GroupKey, column: &ColumnVector, at: usize, row: &mut [u64]) {
    if column.is_null(at) {
        row[key.null_place.0] |= 1 << key.null_place.1;
        return;
    }
    row[key.word] = match &column.values {
        VectorValues::Bool(bits) => bits.get(at).into(),
        VectorValues::Int16(values) => i64::from(values[at]) as u64,
        VectorValues::Int32(values) => i64::from(values[at]) as u64,
        VectorValues::Int64(values) => values[at] as u64,
        VectorValues::Float32(values) => f64::from(values[at]).to_bits(),
        VectorValues::Float64(values) => values[at].to_bits(),
        VectorValues::Code(values) => values[at].into(),
        VectorValues::Int128(values) => {
            row[key.word + 1] = (values[at] >> 64) as u64;
            values[at] as u64
        }
        VectorValues::Bytes(values) => {
            let [first, second] = values.with(at, string_words);
            row[key.word + 1] = second;
            first
        }
    };
}

/// Reads the length of a string from its first word.
pub(super) fn string_len(word: u64) -> usize {
    word as u32 as usize
}

/// Appends the string of two words, whose bytes beyond 12 lie at `offset` of `heap`, to `out`.
pub(super) fn append_string(first: u64, second: u64, offset: u64, heap: &[u8], out: &mut Vec<u8>) {
    let len = string_len(first);
    if len <= INLINE_BYTES_MAX {
        let mut inline = [0; INLINE_BYTES_MAX];
        inline[..4].copy_from_slice(&((first >> 32) as u32).to_le_bytes());
        inline[4..].copy_from_slice(&second.to_le_bytes());
        out.extend_from_slice(&inline[..len]);
    } else {
        out.extend_from_slice(&heap[offset as usize..offset as usize + len]);
    }
}
