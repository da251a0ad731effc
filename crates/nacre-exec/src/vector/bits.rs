//! Bits: truth values, validity and selections, 64 to a word.

/// A growing row of bits, least significant first; bits past the last are zero.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BitVector {
    words: Vec<u64>,
    len: usize,
}

impl BitVector {
    /// Makes `len` bits that are all `bit`.
    pub fn filled(len: usize, bit: bool) -> Self {
        let mut this = Self::default();
        this.resize(len, bit);
        this
    }

    /// Takes words as bits; those past `len` are cleared.
    pub fn from_words(words: Vec<u64>, len: usize) -> Self {
        let mut this = Self { words, len };
        this.words.resize(len.div_ceil(64), 0);
        this.clear_tail();
        this
    }

    /// Returns how many bits there are.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Tells whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Returns the words.
    pub fn words(&self) -> &[u64] {
        &self.words
    }

    /// Returns the words, for their memory.
    pub fn into_words(self) -> Vec<u64> {
        self.words
    }

    /// Gives `change` the words, then clears bits past the last.
    pub fn change_words(&mut self, change: impl FnOnce(&mut [u64])) {
        change(&mut self.words);
        self.clear_tail();
    }

    /// Drops all bits and keeps the memory.
    pub fn clear(&mut self) {
        self.words.clear();
        self.len = 0;
    }

    /// Drops bits from the end.
    pub fn truncate(&mut self, len: usize) {
        if len < self.len {
            self.len = len;
            self.words.truncate(len.div_ceil(64));
            self.clear_tail();
        }
    }

    /// Makes it `len` bits, new ones `bit`.
    pub fn resize(&mut self, len: usize, bit: bool) {
        if len <= self.len {
            return self.truncate(len);
        }
        if bit
            && !self.len.is_multiple_of(64)
            && let Some(last) = self.words.last_mut()
        {
            *last |= u64::MAX << (self.len % 64);
        }
        self.words.resize(len.div_ceil(64), if bit { u64::MAX } else { 0 });
        self.len = len;
        self.clear_tail();
    }

    /// Appends one bit.
    #[inline]
    pub fn push(&mut self, bit: bool) {
        if self.len.is_multiple_of(64) {
            self.words.push(0);
        }
        if let Some(last) = self.words.last_mut() {
            *last |= u64::from(bit) << (self.len % 64);
        }
        self.len += 1;
    }

    /// Returns bit `index`; false past the end.
    #[inline]
    pub fn get(&self, index: usize) -> bool {
        self.words.get(index / 64).is_some_and(|word| word >> (index % 64) & 1 == 1)
    }

    /// Sets bit `index`, which there is.
    #[inline]
    pub fn set(&mut self, index: usize, bit: bool) {
        let word = &mut self.words[index / 64];
        *word = *word & !(1 << (index % 64)) | u64::from(bit) << (index % 64);
    }

    /// Calls `each` for the ones, ascending.
    #[inline]
    pub(crate) fn for_each_one(&self, mut each: impl FnMut(usize)) {
        for (index, word) in self.words.iter().enumerate() {
            let mut rest = *word;
            while rest != 0 {
                each(index * 64 + rest.trailing_zeros() as usize);
                rest &= rest - 1;
            }
        }
    }

    /// Counts the ones.
    pub fn count_ones(&self) -> usize {
        self.words.iter().map(|word| word.count_ones() as usize).sum()
    }

    /// Appends the first `len` bits of `words`.
    pub fn extend_from_words(&mut self, words: &[u64], len: usize) {
        if self.len.is_multiple_of(64) {
            self.words.extend_from_slice(&words[..len.div_ceil(64)]);
            self.len += len;
            return self.clear_tail();
        }
        (0..len).for_each(|at| self.push(words[at / 64] >> (at % 64) & 1 == 1));
    }

    /// Appends the bits of `from` at `positions`.
    pub fn extend_gathered(&mut self, from: &Self, positions: &[u16]) {
        for positions in positions.chunks(64) {
            let mut word = 0;
            for (at, position) in positions.iter().enumerate() {
                word |= u64::from(from.get(usize::from(*position))) << at;
            }
            self.extend_from_words(&[word], positions.len());
        }
    }

    /// Clears the bits that `other` lacks; both have as many.
    pub fn and_with(&mut self, other: &Self) {
        debug_assert_eq!(self.len, other.len);
        for (word, other) in self.words.iter_mut().zip(&other.words) {
            *word &= other;
        }
    }

    fn clear_tail(&mut self) {
        if !self.len.is_multiple_of(64)
            && let Some(last) = self.words.last_mut()
        {
            *last &= (1 << (self.len % 64)) - 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_past_the_end_stay_zero() {
        let mut bits = BitVector::filled(70, true);
        assert_eq!((bits.count_ones(), bits.words()[1]), (70, 0b11_1111));
        bits.resize(130, false);
        bits.resize(200, true);
        assert_eq!(bits.count_ones(), 140);
        bits.truncate(65);
        assert_eq!((bits.count_ones(), bits.len()), (65, 65));
        bits.extend_from_words(&[0b101, u64::MAX], 67);
        assert_eq!((bits.count_ones(), bits.len()), (70, 132));
        assert!(!bits.get(10_000));
    }

    #[test]
    fn gathered_bits_follow_positions() {
        let from: BitVector = {
            let mut bits = BitVector::default();
            (0..200).for_each(|at| bits.push(at % 3 == 0));
            bits
        };
        let positions: Vec<u16> = (0..200).filter(|at| at % 2 == 0).collect();
        let mut out = BitVector::filled(5, true);
        out.extend_gathered(&from, &positions);
        assert_eq!(out.len(), 105);
        assert!((0..100).all(|at| out.get(5 + at) == positions[at].is_multiple_of(3)));
    }
}
