//! Strings in arrays: those of one width, and those of any.

/// Strings of any length, one after the other.
#[derive(Debug)]
pub(crate) struct VarTexts {
    bytes: Vec<u8>,
    /// Where each begins, and where the last one ends.
    offsets: Vec<u64>,
}

impl VarTexts {
    pub(super) fn new() -> Self {
        Self { bytes: Vec::new(), offsets: vec![0] }
    }

    pub(super) fn push(&mut self, text: &str) {
        self.bytes.extend_from_slice(text.as_bytes());
        self.offsets.push(self.bytes.len() as u64);
    }

    /// Returns a string.
    ///
    /// # Panics
    /// If `row` is out of range.
    #[inline]
    pub(super) fn get(&self, row: usize) -> &[u8] {
        &self.bytes[self.offsets[row] as usize..self.offsets[row + 1] as usize]
    }

    /// Returns what all strings and their offsets take.
    pub(super) fn total_bytes(&self) -> u64 {
        (self.bytes.len() + 8 * self.offsets.len()) as u64
    }
}

/// Fills a string up with blanks, as `char(n)` is; what does not fit is cut off.
pub(super) const fn padded<const N: usize>(text: &str) -> [u8; N] {
    let mut padded = [b' '; N];
    let (bytes, mut index) = (text.as_bytes(), 0);
    while index < N && index < bytes.len() {
        padded[index] = bytes[index];
        index += 1;
    }
    padded
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_are_found_where_they_were_put() {
        let mut texts = VarTexts::new();
        for text in ["one", "", "three"] {
            texts.push(text);
        }
        assert_eq!([texts.get(0), texts.get(1), texts.get(2)], [&b"one"[..], b"", b"three"]);
        assert_eq!(texts.total_bytes(), 8 + 4 * 8);
    }

    #[test]
    fn short_strings_are_filled_up() {
        assert_eq!(padded::<5>("AIR"), *b"AIR  ");
        assert_eq!(padded::<2>("AIR"), *b"AI");
    }
}
