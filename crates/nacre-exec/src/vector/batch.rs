//! Batches: columns of the same rows, and which of the rows are left.

use nacre_column::kernel;

use super::{BitVector, ColumnVector};

/// Below this share of rows that are left, gathering them is cheaper than working on all: measured
/// for whole-vector decoding against `kernel::project`.
pub const DENSE_PERCENT_MIN: usize = 25;

/// The rows of a batch that are left: bits, and the same as ascending positions when asked for.
#[derive(Clone, Debug, Default)]
pub struct SelectionVector {
    bits: BitVector,
    count: usize,
}

impl SelectionVector {
    /// Takes a bit for each row.
    pub fn new(bits: BitVector) -> Self {
        let count = bits.count_ones();
        Self { bits, count }
    }

    /// Returns a bit for each row.
    pub fn bits(&self) -> &BitVector {
        &self.bits
    }

    /// Gives the bits back.
    pub(crate) fn into_bits(self) -> BitVector {
        self.bits
    }

    /// Returns how many rows are left.
    pub fn count(&self) -> usize {
        self.count
    }

    /// Puts the positions of the rows that are left into `out`, ascending.
    pub fn positions(&self, out: &mut Vec<u16>) {
        kernel::positions(self.bits.words(), out);
    }
}

/// Up to 8,192 rows, or those of a longer vector of a scan.
#[derive(Clone, Debug, Default)]
pub struct VectorBatch {
    /// By slot; those that hold nothing now are empty.
    pub columns: Vec<ColumnVector>,
    /// Rows of each column.
    pub rows: usize,
    /// `None` if all rows are left.
    pub selection: Option<SelectionVector>,
}

impl VectorBatch {
    /// Takes columns of a batch without selection; the batch gets empty ones.
    pub(crate) fn take_columns(&mut self, columns: &[usize]) -> ResultBatch {
        let mut taken: Vec<ColumnVector> = Vec::with_capacity(columns.len());
        for (at, slot) in columns.iter().enumerate() {
            // A column that comes twice is copied; the last one takes it.
            if columns[at + 1..].contains(slot) {
                taken.push(self.columns[*slot].clone());
                continue;
            }
            let column = &mut self.columns[*slot];
            let mut empty = ColumnVector::new(column.values.vector_type());
            empty.dictionary.clone_from(&column.dictionary);
            taken.push(std::mem::replace(column, empty));
        }
        ResultBatch { columns: taken, rows: self.rows }
    }

    /// Returns how many rows are left.
    pub fn selected_rows(&self) -> usize {
        self.selection.as_ref().map_or(self.rows, SelectionVector::count)
    }

    /// Returns a bit for each row that is left; `None` if all are.
    pub fn selected_bits(&self) -> Option<&BitVector> {
        self.selection.as_ref().map(SelectionVector::bits)
    }

    /// Leaves only rows whose bit is set, and compacts the columns `live` if these are few.
    pub fn narrow(&mut self, mut bits: BitVector, live: &[usize]) {
        if let Some(selection) = &self.selection {
            bits.and_with(selection.bits());
        }
        let selection = SelectionVector::new(bits);
        if selection.count == self.rows {
            self.selection = None;
            return;
        }
        let is_sparse = selection.count * 100 < self.rows * DENSE_PERCENT_MIN;
        self.selection = Some(selection);
        if is_sparse {
            self.compact(live);
        }
    }

    /// Copies the rows that are left of the columns `live` together; other columns are emptied.
    pub fn compact(&mut self, live: &[usize]) {
        let Some(selection) = self.selection.take() else { return };
        let mut positions = Vec::new();
        selection.positions(&mut positions);
        for (index, column) in self.columns.iter_mut().enumerate() {
            if live.contains(&index) {
                *column = column.gathered(&positions);
            } else {
                column.clear();
            }
        }
        self.rows = positions.len();
    }

    /// Returns about how many bytes it takes.
    pub fn bytes(&self) -> usize {
        self.columns.iter().map(ColumnVector::bytes).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vector::VectorValues;

    fn batch() -> VectorBatch {
        let values = VectorValues::Int32((0..100).collect());
        let column = ColumnVector { values, validity: None, dictionary: None };
        VectorBatch { columns: vec![column], rows: 100, selection: None }
    }

    fn bits(keep: impl Fn(usize) -> bool) -> BitVector {
        let mut bits = BitVector::default();
        (0..100).for_each(|at| bits.push(keep(at)));
        bits
    }

    #[test]
    fn few_rows_are_compacted_and_many_are_selected() {
        let mut many = batch();
        many.narrow(bits(|at| at % 2 == 0), &[0]);
        assert_eq!((many.rows, many.selected_rows()), (100, 50));
        many.narrow(bits(|at| at % 10 == 0), &[0]);
        assert_eq!((many.rows, many.selected_rows(), many.selection.is_none()), (10, 10, true));
        let VectorValues::Int32(values) = &many.columns[0].values else { panic!() };
        assert_eq!(values[..3], [0, 10, 20]);
    }

    #[test]
    fn all_rows_need_no_selection() {
        let mut all = batch();
        all.narrow(bits(|_| true), &[0]);
        assert!(all.selection.is_none() && all.selected_rows() == 100);
    }
}

/// Rows of an answer.
#[derive(Clone, Debug)]
pub struct ResultBatch {
    pub columns: Vec<ColumnVector>,
    pub rows: usize,
}

impl ResultBatch {
    /// Returns about how many bytes it takes.
    pub fn bytes(&self) -> usize {
        // At least something, so that a channel of empty columns is bounded, too.
        64 + self.columns.iter().map(ColumnVector::bytes).sum::<usize>()
    }
}
