//! A column of a table: vectors of 8,192 values, as they were collected.

use std::sync::Arc;

use super::chunk::{CHUNK_ROWS, chunk_place};
use crate::error::{ExecError, ExecResult};
use crate::pipeline::SlotInfo;
use crate::value::{IntWidth, VectorType};
use crate::vector::{
    BitVector, ColumnVector, QueryDictionary, StringColumn, StringView, VectorValues,
};

/// What stands for the row of a partner that there is not.
pub(super) const NO_ROW: u32 = u32::MAX;

/// Most rows of a table: the chunk of [`NO_ROW`] must not exist.
pub(super) const ROWS_MAX: usize = (u32::MAX as usize / CHUNK_ROWS) * CHUNK_ROWS;

/// Values by chunk.
#[derive(Debug)]
enum StoredValues {
    Bool(Vec<BitVector>),
    Int16(Vec<Vec<i16>>),
    Int32(Vec<Vec<i32>>),
    Int64(Vec<Vec<i64>>),
    Int128(Vec<Vec<i128>>),
    Float32(Vec<Vec<f32>>),
    Float64(Vec<Vec<f64>>),
    Code(Vec<Vec<u32>>),
    Bytes(Vec<StringColumn>),
}

/// A column of the rows of a table.
#[derive(Debug)]
pub(super) struct StoredColumn {
    values: StoredValues,
    /// By chunk, as in [`ColumnVector`].
    validity: Vec<Option<BitVector>>,
    has_nulls: bool,
    dictionary: Option<Arc<QueryDictionary>>,
}

impl StoredColumn {
    /// Makes a column without rows.
    pub(super) fn new(info: &SlotInfo) -> Self {
        use StoredValues as S;
        let values = match info.vector_type {
            VectorType::Bool => S::Bool(Vec::new()),
            VectorType::Int(IntWidth::I16) => S::Int16(Vec::new()),
            VectorType::Int(IntWidth::I32) => S::Int32(Vec::new()),
            VectorType::Int(IntWidth::I64) => S::Int64(Vec::new()),
            VectorType::Int(IntWidth::I128) => S::Int128(Vec::new()),
            VectorType::Float32 => S::Float32(Vec::new()),
            VectorType::Float64 => S::Float64(Vec::new()),
            VectorType::Code => S::Code(Vec::new()),
            VectorType::Bytes => S::Bytes(Vec::new()),
        };
        let dictionary = info.dictionary.clone();
        Self { values, validity: Vec::new(), has_nulls: false, dictionary }
    }

    /// Appends a chunk.
    ///
    /// # Errors
    /// [`ExecError::Internal`] if it is of another type.
    pub(super) fn push(&mut self, column: ColumnVector) -> ExecResult<()> {
        macro_rules! push {
            ($($kind:ident)*) => {
                match (&mut self.values, column.values) {
                    $((StoredValues::$kind(chunks), VectorValues::$kind(values)) => {
                        chunks.push(values);
                    })*
                    _ => return Err(ExecError::internal("a joined column of two types")),
                }
            };
        }
        push!(Bool Int16 Int32 Int64 Int128 Float32 Float64 Code Bytes);
        self.has_nulls |= column.validity.is_some();
        self.validity.push(column.validity);
        Ok(())
    }

    /// Returns the bytes of the longest string.
    pub(super) fn longest(&self) -> usize {
        let StoredValues::Bytes(chunks) = &self.values else { return 0 };
        let views = chunks.iter().flat_map(StringColumn::views);
        views.map(StringView::len).max().unwrap_or(0)
    }

    /// Replaces `out` by the values of `rows`; those of [`NO_ROW`] are null.
    ///
    /// ```text
    /// values 10 20 30      rows 2 0 NO_ROW 2      out 30 10 null 30
    /// ```
    pub(super) fn gather(&self, rows: &[u32], may_lack: bool, out: &mut ColumnVector) {
        use StoredValues as S;
        use VectorValues as V;
        fn pick<T: Copy + Default>(chunks: &[Vec<T>], rows: &[u32], out: &mut Vec<T>) {
            out.clear();
            out.extend(rows.iter().map(|row| {
                // No table has the chunk of NO_ROW.
                let (chunk, at) = chunk_place(*row);
                chunks.get(chunk).map_or(T::default(), |chunk| chunk[at])
            }));
        }
        match (&self.values, &mut out.values) {
            (S::Bool(chunks), V::Bool(out)) => {
                out.clear();
                for row in rows {
                    let (chunk, at) = chunk_place(*row);
                    out.push(chunks.get(chunk).is_some_and(|chunk| chunk.get(at)));
                }
            }
            (S::Int16(chunks), V::Int16(out)) => pick(chunks, rows, out),
            (S::Int32(chunks), V::Int32(out)) => pick(chunks, rows, out),
            (S::Int64(chunks), V::Int64(out)) => pick(chunks, rows, out),
            (S::Int128(chunks), V::Int128(out)) => pick(chunks, rows, out),
            (S::Float32(chunks), V::Float32(out)) => pick(chunks, rows, out),
            (S::Float64(chunks), V::Float64(out)) => pick(chunks, rows, out),
            (S::Code(chunks), V::Code(out)) => pick(chunks, rows, out),
            (S::Bytes(chunks), V::Bytes(out)) => {
                out.clear();
                out.extend_from(rows.iter().map(|row| {
                    let (chunk, at) = chunk_place(*row);
                    Some((chunks.get(chunk)?, at))
                }));
            }
            _ => debug_assert!(false, "a joined column of two types"),
        }
        out.validity = (self.has_nulls || may_lack).then(|| self.gather_validity(rows)).flatten();
        out.dictionary.clone_from(&self.dictionary);
    }

    /// Replaces `out` by nulls.
    pub(super) fn gather_none(&self, rows: usize, out: &mut ColumnVector) {
        fill_null(rows, out);
        out.dictionary.clone_from(&self.dictionary);
    }

    /// Returns which of `rows` are not null; `None` if all are.
    fn gather_validity(&self, rows: &[u32]) -> Option<BitVector> {
        let mut bits = BitVector::filled(rows.len(), true);
        let mut has_nulls = false;
        for (at, row) in rows.iter().enumerate() {
            let (chunk, place) = chunk_place(*row);
            let is_valid = match self.validity.get(chunk) {
                Some(validity) => validity.as_ref().is_none_or(|bits| bits.get(place)),
                None => false,
            };
            if !is_valid {
                bits.set(at, false);
                has_nulls = true;
            }
        }
        has_nulls.then_some(bits)
    }
}

/// Makes a column of nulls.
pub(super) fn fill_null(rows: usize, out: &mut ColumnVector) {
    out.values.clear();
    (0..rows).for_each(|_| out.values.push_default());
    out.validity = Some(BitVector::filled(rows, false));
}
