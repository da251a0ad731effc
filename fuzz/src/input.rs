//! Takes a fuzzer's bytes apart; when they run out, everything is zero.

/// Bytes not used yet.
pub(crate) struct Input<'a>(&'a [u8]);

impl<'a> Input<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    /// Returns what is left.
    pub(crate) fn rest(&self) -> &'a [u8] {
        self.0
    }

    /// Takes up to `count` bytes.
    pub(crate) fn take(&mut self, count: usize) -> &'a [u8] {
        let (taken, rest) = self.0.split_at(count.min(self.0.len()));
        self.0 = rest;
        taken
    }

    /// Takes a number of up to eight bytes.
    pub(crate) fn number(&mut self, bytes: usize) -> u64 {
        let mut value = [0; 8];
        let taken = self.take(bytes.min(8));
        value[..taken.len()].copy_from_slice(taken);
        u64::from_le_bytes(value)
    }

    /// Takes a number below `bound`, which is at least 1 and at most 2^32.
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        self.number(4) as usize % bound
    }

    /// Writes bytes of the input over parts of `target` until there is no input left.
    pub(crate) fn damage(&mut self, target: &mut [u8]) {
        while !self.0.is_empty() && !target.is_empty() {
            let at = self.below(target.len());
            let count = 1 + self.number(1) as usize % 16;
            for (out, byte) in target[at..].iter_mut().zip(self.take(count)) {
                *out = *byte;
            }
        }
    }
}
