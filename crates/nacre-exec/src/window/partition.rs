//! A partition under evaluation: its peers, and the columns that functions read.

use std::ops::Range;

use super::order::{CHECK_ROWS, SortedOrder};
use crate::control::QueryControl;
use crate::error::{ExecError, ExecResult};
use crate::plan::WindowNumber;
use crate::sort::append_row;
use crate::value::ScalarValue;
use crate::vector::{ColumnVector, DictionaryReader, VectorValues};

/// The rows of a partition, counted from its first.
#[derive(Debug, Default)]
pub(super) struct PartitionPeers {
    pub(super) rows: usize,
    /// The first row of each group of peers, then the number of rows.
    pub(super) groups: Vec<u32>,
    /// The group of each row.
    pub(super) group_of: Vec<u32>,
}

impl PartitionPeers {
    /// Goes on to the partition of these rows, peers being equal in the first `keys` keys.
    ///
    /// # Errors
    /// Those of the query's control.
    pub(super) fn set(
        &mut self,
        order: &SortedOrder,
        rows: Range<usize>,
        keys: usize,
        control: &QueryControl,
    ) -> ExecResult<()> {
        self.rows = rows.len();
        self.groups.clear();
        self.group_of.clear();
        for (row, position) in rows.enumerate() {
            if row % CHECK_ROWS == CHECK_ROWS - 1 {
                control.check()?;
            }
            if row == 0 || !order.is_equal_to_last(position, keys) {
                self.groups.push(row as u32);
            }
            self.group_of.push(self.groups.len() as u32 - 1);
        }
        self.groups.push(self.rows as u32);
        Ok(())
    }

    /// Returns the peers of a row.
    pub(super) fn peers_of(&self, row: usize) -> Range<u32> {
        let group = self.group_of[row] as usize;
        self.groups[group]..self.groups[group + 1]
    }
}

/// The columns of a morsel that functions read, by input column.
#[derive(Debug)]
pub(super) struct MorselColumns(pub(super) Vec<Option<ColumnVector>>);

/// What functions of a partition look at.
#[derive(Clone, Copy, Debug)]
pub(super) struct PartitionView<'p> {
    pub(super) peers: &'p PartitionPeers,
    pub(super) columns: &'p MorselColumns,
    /// Where the partition begins in the columns.
    pub(super) start: usize,
    pub(super) control: &'p QueryControl,
}

/// A column of a partition.
#[derive(Debug)]
pub(super) struct PartitionColumn<'p> {
    pub(super) column: &'p ColumnVector,
    reader: Option<DictionaryReader<'p>>,
    start: usize,
}

impl<'p> PartitionView<'p> {
    /// Returns how many rows there are.
    pub(super) fn rows(&self) -> usize {
        self.peers.rows
    }

    /// Returns a column that the plan says is read.
    pub(super) fn column(&self, index: usize) -> ExecResult<PartitionColumn<'p>> {
        let column = self.columns.0.get(index).and_then(Option::as_ref);
        let column =
            column.ok_or_else(|| ExecError::internal(format!("column {index} is not read")))?;
        Ok(PartitionColumn::new(column, self.start))
    }

    /// Does `work` for each row, and ends early if the query is to end.
    pub(super) fn for_each_row(
        &self,
        mut work: impl FnMut(usize) -> ExecResult<()>,
    ) -> ExecResult<()> {
        for row in 0..self.rows() {
            if row % CHECK_ROWS == CHECK_ROWS - 1 {
                self.control.check()?;
            }
            work(row)?;
        }
        Ok(())
    }

    /// Returns what a number is for a row.
    pub(super) fn number(&self, number: WindowNumber, row: usize) -> ExecResult<Option<i64>> {
        match number {
            WindowNumber::Constant(value) => Ok(value),
            WindowNumber::Column(index) => {
                let value = self.column(index)?.int(row);
                // Parameters of all these functions are of 32 bits.
                Ok(value.and_then(|value| i64::try_from(value).ok()))
            }
        }
    }
}

impl<'p> PartitionColumn<'p> {
    /// Makes it of a column whose rows from `start` on are those of the partition.
    pub(super) fn new(column: &'p ColumnVector, start: usize) -> Self {
        Self { column, reader: column.dictionary_reader(), start }
    }

    pub(super) fn is_null(&self, row: usize) -> bool {
        self.column.is_null(self.start + row)
    }

    /// Returns the whole number of a row; `None` if it is null.
    pub(super) fn int(&self, row: usize) -> Option<i128> {
        if self.is_null(row) { None } else { self.column.values.int(self.start + row) }
    }

    /// Returns the float of a row; `None` if it is null.
    pub(super) fn float(&self, row: usize) -> Option<f64> {
        let at = self.start + row;
        match &self.column.values {
            _ if self.is_null(row) => None,
            VectorValues::Float32(values) => Some(values[at].into()),
            VectorValues::Float64(values) => Some(values[at]),
            _ => None,
        }
    }

    /// Whether the truth value of a row is true.
    pub(super) fn is_true(&self, row: usize) -> bool {
        let at = self.start + row;
        !self.is_null(row)
            && matches!(&self.column.values, VectorValues::Bool(values) if values.get(at))
    }

    /// Returns the value of a row.
    pub(super) fn scalar(&self, row: usize) -> ScalarValue {
        match &self.column.values {
            VectorValues::Code(_) | VectorValues::Bytes(_) if !self.is_null(row) => {
                ScalarValue::Bytes(self.with_bytes(row, <[u8]>::to_vec))
            }
            _ => self.column.scalar(self.start + row),
        }
    }

    /// Gives `with` the string of a row.
    pub(super) fn with_bytes<T>(&self, row: usize, with: impl FnOnce(&[u8]) -> T) -> T {
        self.column.with_bytes(self.start + row, self.reader.as_ref(), with)
    }

    /// Appends the value of a row, of the same class, to results.
    pub(super) fn append_to(&self, row: usize, out: &mut ColumnVector) {
        if self.is_null(row) {
            append_null(out);
            return;
        }
        match (&self.column.values, &mut out.values) {
            (VectorValues::Code(_), VectorValues::Bytes(values)) => {
                self.with_bytes(row, |value| values.push(value));
            }
            (
                values,
                VectorValues::Int16(_)
                | VectorValues::Int32(_)
                | VectorValues::Int64(_)
                | VectorValues::Int128(_),
            ) => out.values.push_int(values.int(self.start + row).unwrap_or(0)),
            _ => append_row(self.column, self.start + row, out),
        }
    }
}

/// Appends a null.
pub(super) fn append_null(out: &mut ColumnVector) {
    out.values.push_default();
    out.mark_last_null();
}
