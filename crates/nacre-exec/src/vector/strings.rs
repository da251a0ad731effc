//! Strings of a vector: 16-byte views, short ones inside, long ones in a heap.
//!
//! # Layout
//!
//! | bytes | up to 12 bytes | longer |
//! |---|---|---|
//! | 0..4 | length | length |
//! | 4..8 | bytes 0..4, then zeros | bytes 0..4 |
//! | 8..12 | bytes 4..8 | zero |
//! | 12..16 | bytes 8..12 | offset in the column's heap |

use std::sync::Arc;

/// Longest string that a view holds itself.
pub const INLINE_BYTES_MAX: usize = 12;

/// A string, or where it lies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StringView {
    len: u32,
    prefix: [u8; 4],
    rest: [u8; 8],
}

const _: () = assert!(size_of::<StringView>() == 16);

impl StringView {
    /// Makes the view of `value`, which goes to the end of `heap` if it is long.
    #[inline]
    pub fn new(value: &[u8], heap: &mut Vec<u8>) -> Self {
        let mut inline = [0; INLINE_BYTES_MAX];
        if value.len() <= INLINE_BYTES_MAX {
            inline[..value.len()].copy_from_slice(value);
        } else {
            inline[..4].copy_from_slice(&value[..4]);
            inline[8..].copy_from_slice(&(heap.len() as u32).to_le_bytes());
            heap.extend_from_slice(value);
        }
        Self::from_parts(value.len() as u32, inline)
    }

    /// Returns the view of the same string for a column whose heap is `to`; that of its own is
    /// `from`.
    #[inline]
    fn copied(&self, from: &[u8], to: &mut Vec<u8>) -> Self {
        if self.len() <= INLINE_BYTES_MAX {
            *self
        } else {
            self.with(from, |value| Self::new(value, to))
        }
    }

    fn from_parts(len: u32, inline: [u8; INLINE_BYTES_MAX]) -> Self {
        let [a, b, c, d, rest @ ..] = inline;
        Self { len, prefix: [a, b, c, d], rest }
    }

    /// Returns all of the view: equal for equal strings of up to [`INLINE_BYTES_MAX`] bytes, and
    /// unequal for a short one and any other.
    #[inline]
    pub(crate) fn word(self) -> u128 {
        let Self { len, prefix, rest } = self;
        let low = u64::from(len) | u64::from(u32::from_le_bytes(prefix)) << 32;
        u128::from(low) | u128::from(u64::from_le_bytes(rest)) << 64
    }

    /// Returns how many bytes the string has.
    #[inline]
    pub fn len(&self) -> usize {
        self.len as usize
    }

    /// Tells whether the string is empty.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Appends the string to `out`.
    #[inline]
    pub fn append_to(&self, heap: &[u8], out: &mut Vec<u8>) {
        self.with(heap, |value| out.extend_from_slice(value));
    }

    /// Gives `with` the string; `heap` is that of its column.
    #[inline]
    pub fn with<T>(&self, heap: &[u8], with: impl FnOnce(&[u8]) -> T) -> T {
        let len = self.len();
        if len <= INLINE_BYTES_MAX {
            let mut inline = [0; INLINE_BYTES_MAX];
            inline[..4].copy_from_slice(&self.prefix);
            inline[4..].copy_from_slice(&self.rest);
            return with(&inline[..len]);
        }
        let [_, _, _, _, a, b, c, d] = self.rest;
        let offset = u32::from_le_bytes([a, b, c, d]) as usize;
        with(&heap[offset..offset + len])
    }
}

/// The strings of a vector.
#[derive(Clone, Debug, Default)]
pub struct StringColumn {
    views: Vec<StringView>,
    /// Shared with vectors that were gathered from this one.
    heap: Arc<Vec<u8>>,
}

impl StringColumn {
    /// Returns the views.
    pub fn views(&self) -> &[StringView] {
        &self.views
    }

    /// Returns the bytes of long strings.
    pub fn heap(&self) -> &[u8] {
        &self.heap
    }

    /// Returns how many strings there are.
    pub fn len(&self) -> usize {
        self.views.len()
    }

    /// Tells whether there is none.
    pub fn is_empty(&self) -> bool {
        self.views.is_empty()
    }

    /// Drops all strings; keeps the memory if nobody shares it.
    pub fn clear(&mut self) {
        self.views.clear();
        match Arc::get_mut(&mut self.heap) {
            Some(heap) => heap.clear(),
            None => self.heap = Arc::default(),
        }
    }

    /// Drops strings from the end; their bytes stay.
    pub fn truncate(&mut self, len: usize) {
        self.views.truncate(len);
    }

    /// Appends a string.
    #[inline]
    pub fn push(&mut self, value: &[u8]) {
        let view = if value.len() <= INLINE_BYTES_MAX {
            StringView::new(value, &mut Vec::new())
        } else {
            StringView::new(value, Arc::make_mut(&mut self.heap))
        };
        self.views.push(view);
    }

    /// Appends strings.
    pub fn extend<'v>(&mut self, values: impl Iterator<Item = &'v [u8]>) {
        let heap = Arc::make_mut(&mut self.heap);
        self.views.extend(values.map(|value| StringView::new(value, heap)));
    }

    /// Appends strings of columns, and empty ones for `None`.
    pub fn extend_from<'c>(&mut self, rows: impl Iterator<Item = Option<(&'c Self, usize)>>) {
        let heap = Arc::make_mut(&mut self.heap);
        self.views.extend(rows.map(|row| match row {
            Some((column, row)) => column.views[row].copied(&column.heap, heap),
            None => StringView::default(),
        }));
    }

    /// Gives `with` string `row`.
    ///
    /// # Panics
    /// If there is none.
    #[inline]
    pub fn with<T>(&self, row: usize, with: impl FnOnce(&[u8]) -> T) -> T {
        self.views[row].with(&self.heap, with)
    }

    /// Returns the strings at `positions`; they share the heap.
    pub fn gathered(&self, positions: &[u16]) -> Self {
        let views = positions.iter().map(|position| self.views[usize::from(*position)]).collect();
        Self { views, heap: Arc::clone(&self.heap) }
    }

    /// Returns the bytes that it takes.
    pub fn bytes(&self) -> usize {
        self.views.len() * size_of::<StringView>() + self.heap.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_of_several_columns_are_copied() {
        let texts = ["", "short", "exactly12byt", "longer than that"];
        let (mut one, mut other) = (StringColumn::default(), StringColumn::default());
        one.extend(texts.iter().map(|text| text.as_bytes()));
        other.extend([b"a rather long string".as_slice(), b"x"].into_iter());
        let rows = [Some((&other, 0)), Some((&one, 3)), None, Some((&one, 2)), Some((&other, 1))];
        let mut copy = StringColumn::default();
        copy.push(b"there before, and long");
        copy.extend_from(rows.into_iter());
        let found: Vec<String> = (0..copy.len())
            .map(|row| copy.with(row, |value| String::from_utf8_lossy(value).into_owned()))
            .collect();
        let expected =
            ["there before, and long", "a rather long string", texts[3], "", texts[2], "x"];
        assert_eq!(found, expected);
    }

    #[test]
    fn strings_of_every_length_come_back() {
        let mut column = StringColumn::default();
        let texts: Vec<Vec<u8>> =
            (0..40).map(|len| (0..len).map(|at| at as u8).collect()).collect();
        texts.iter().for_each(|text| column.push(text));
        let gathered = column.gathered(&[39, 12, 13, 0]);
        for (at, expected) in [39, 12, 13, 0].into_iter().enumerate() {
            gathered.with(at, |found| assert_eq!(found, texts[expected]));
        }
        for (at, expected) in texts.iter().enumerate() {
            column.with(at, |found| assert_eq!(found, expected.as_slice()));
        }
    }
}
