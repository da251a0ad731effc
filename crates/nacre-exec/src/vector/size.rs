//! How many rows a scan reads at once.

use nacre_column::{CHUNK_ROWS, VECTOR_ROWS};

/// Rows of the vectors of scans: a power of two, so that vectors end where words of bits, frames of
/// formats and chunks do.
///
/// # Source
/// [Muehlbauer16 section 7.3] Figure 7.3: 8,192 rows; fewer cost calls, more leave the caches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VectorRows(usize);

const _: () = assert!(VectorRows::MAX == 1 << u16::BITS, "positions in a vector have 16 bits");

impl VectorRows {
    /// Four words of bits.
    pub const MIN: usize = 256;

    /// A whole chunk.
    pub const MAX: usize = CHUNK_ROWS;

    /// 8,192 rows.
    pub const DEFAULT: Self = Self(VECTOR_ROWS);

    /// Makes the size; `None` if `rows` is no power of two from [`Self::MIN`] to [`Self::MAX`].
    pub fn new(rows: usize) -> Option<Self> {
        let is_size = rows.is_power_of_two() && (Self::MIN..=Self::MAX).contains(&rows);
        is_size.then_some(Self(rows))
    }

    /// Returns the rows.
    pub fn get(self) -> usize {
        self.0
    }

    /// Returns a bound of the rows of any batch of the query: sources that are no scans have
    /// vectors of 8,192 rows.
    pub(crate) fn batch_rows_max(self) -> usize {
        self.0.max(VECTOR_ROWS)
    }
}

impl Default for VectorRows {
    fn default() -> Self {
        Self::DEFAULT
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_powers_of_two_up_to_a_chunk() {
        let sizes = (0..=70_000).filter_map(VectorRows::new).map(VectorRows::get);
        let expected = [256, 512, 1_024, 2_048, 4_096, 8_192, 16_384, 32_768, 65_536];
        assert_eq!(sizes.collect::<Vec<_>>(), expected);
        assert!(VectorRows::new(VectorRows::default().get()).is_some());
    }
}
