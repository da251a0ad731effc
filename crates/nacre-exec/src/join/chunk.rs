//! Rows of the build side while they are collected.

use nacre_column::VECTOR_ROWS;

use crate::vector::{BitVector, ColumnVector, VectorValues};

/// Rows of a chunk: those of a vector, so that a whole one is taken as it is.
pub(super) const CHUNK_ROWS: usize = VECTOR_ROWS;

const _: () = assert!(CHUNK_ROWS.is_power_of_two());

/// Returns the chunk of a row and its place there.
#[inline]
pub(super) fn chunk_place(row: u32) -> (usize, usize) {
    (row as usize / CHUNK_ROWS, row as usize % CHUNK_ROWS)
}

/// Up to [`CHUNK_ROWS`] rows.
#[derive(Debug)]
pub(super) struct JoinChunk {
    pub(super) columns: Vec<ColumnVector>,
    /// The key words of each row.
    pub(super) keys: Vec<u64>,
    pub(super) has_key: BitVector,
    pub(super) rows: usize,
}

impl JoinChunk {
    /// Makes a chunk without rows; `models` have the types of its columns.
    pub(super) fn new<'m>(models: impl Iterator<Item = &'m ColumnVector>) -> Self {
        let empty = |model: &ColumnVector| ColumnVector::new(model.values.vector_type());
        let columns = models.map(empty).collect();
        Self { columns, keys: Vec::new(), has_key: BitVector::default(), rows: 0 }
    }

    /// Returns the bytes that it takes.
    pub(super) fn bytes(&self) -> usize {
        let columns: usize = self.columns.iter().map(ColumnVector::bytes).sum();
        columns + self.keys.len() * 8 + self.rows.div_ceil(8)
    }

    /// Appends rows: columns and keys at `positions`; `stride` words a key.
    pub(super) fn append<'c>(
        &mut self,
        columns: impl Iterator<Item = &'c ColumnVector>,
        keys: &[u64],
        has_key: &BitVector,
        stride: usize,
        positions: &[u16],
    ) {
        debug_assert!(self.rows + positions.len() <= CHUNK_ROWS);
        for (own, from) in self.columns.iter_mut().zip(columns) {
            append_values(own, from, positions);
        }
        for position in positions {
            let at = usize::from(*position) * stride;
            self.keys.extend_from_slice(&keys[at..at + stride]);
        }
        self.has_key.extend_gathered(has_key, positions);
        self.rows += positions.len();
    }
}

/// Appends the values of `from` at `positions`.
fn append_values(out: &mut ColumnVector, from: &ColumnVector, positions: &[u16]) {
    use VectorValues as V;
    let before = out.values.len();
    macro_rules! extend {
        ($values:expr, $out:expr) => {
            $out.extend(positions.iter().map(|position| $values[usize::from(*position)]))
        };
    }
    match (&from.values, &mut out.values) {
        (V::Bool(values), V::Bool(out)) => out.extend_gathered(values, positions),
        (V::Int16(values), V::Int16(out)) => extend!(values, out),
        (V::Int32(values), V::Int32(out)) => extend!(values, out),
        (V::Int64(values), V::Int64(out)) => extend!(values, out),
        (V::Int128(values), V::Int128(out)) => extend!(values, out),
        (V::Float32(values), V::Float32(out)) => extend!(values, out),
        (V::Float64(values), V::Float64(out)) => extend!(values, out),
        (V::Code(values), V::Code(out)) => extend!(values, out),
        (V::Bytes(values), V::Bytes(out)) => {
            out.extend_from(positions.iter().map(|at| Some((values, usize::from(*at)))));
        }
        _ => debug_assert!(false, "joined columns of different types"),
    }
    match (&from.validity, &mut out.validity) {
        (None, None) => {}
        (None, Some(bits)) => bits.resize(before + positions.len(), true),
        (Some(bits), own) => own
            .get_or_insert_with(|| BitVector::filled(before, true))
            .extend_gathered(bits, positions),
    }
}
