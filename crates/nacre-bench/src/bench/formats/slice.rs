//! The values of one round, as each contestant wants them.

use nacre_column::{CHUNK_ROWS, ColumnBuffer};

use super::COLUMN_TYPE;
use crate::dataset::Values;

/// Chunks of [`CHUNK_ROWS`] values.
pub(super) struct Slice {
    /// For our formats.
    columns: Vec<ColumnBuffer>,
    /// For crates that pack numbers, and to compare with.
    numbers: Vec<Vec<u32>>,
    /// For crates that compress bytes.
    bytes: Vec<Vec<u8>>,
}

impl Slice {
    /// Takes the next chunks of a data set.
    pub(super) fn take(values: &mut Values, chunks: u64) -> Self {
        let mut slice = Self { columns: Vec::new(), numbers: Vec::new(), bytes: Vec::new() };
        for _ in 0..chunks {
            let numbers: Vec<u32> = values.by_ref().take(CHUNK_ROWS).collect();
            let mut column = ColumnBuffer::new(COLUMN_TYPE);
            for number in &numbers {
                column.push_int(i64::from(*number));
            }
            slice.columns.push(column);
            if cfg!(feature = "rivals") {
                let bytes = numbers.iter().flat_map(|number| number.to_le_bytes());
                slice.bytes.push(bytes.collect());
            }
            slice.numbers.push(numbers);
        }
        slice
    }

    pub(super) fn chunks(&self) -> usize {
        self.columns.len()
    }

    pub(super) fn columns(&self) -> &[ColumnBuffer] {
        &self.columns
    }

    pub(super) fn numbers(&self) -> &[Vec<u32>] {
        &self.numbers
    }

    #[cfg(feature = "rivals")]
    pub(super) fn bytes(&self) -> &[Vec<u8>] {
        &self.bytes
    }
}
