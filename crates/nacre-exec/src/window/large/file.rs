//! Rows in a file that are read by their numbers.
//!
//! # Layout
//! A block has the columns of some rows, and one more that says how many key parts a row has in
//! common with the one before it.

use std::cell::RefCell;
use std::ops::Range;
use std::sync::{Arc, Weak};

use super::super::partition::PartitionColumn;
use crate::error::{ExecError, ExecResult};
use crate::memory::MemoryReservation;
use crate::plan::WindowNumber;
use crate::sort::append_row;
use crate::spill::{BlockReader, OperatorSpill, SpillExtent, SpillWriter, put_columns};
use crate::value::{IntWidth, VectorType};
use crate::vector::{ColumnVector, VectorValues};

/// Writes rows.
#[derive(Debug)]
pub(in super::super) struct PartitionFileWriter {
    file: PartitionFile,
    writer: SpillWriter,
    /// Of the rows that are in no block yet.
    columns: Vec<ColumnVector>,
    encoded: Vec<u8>,
}

/// Rows by blocks.
#[derive(Debug)]
pub(in super::super) struct PartitionFile {
    operator: Arc<OperatorSpill>,
    /// Empty columns.
    models: Vec<ColumnVector>,
    blocks: Vec<SpillExtent>,
    /// By block: the number of its first row.
    firsts: Vec<u32>,
    rows: u32,
    /// Blocks that some reader has.
    held: RefCell<Vec<Weak<PartitionBlock>>>,
}

/// A block in memory.
#[derive(Debug)]
struct PartitionBlock {
    rows: Range<u32>,
    columns: Vec<ColumnVector>,
    _reservation: MemoryReservation,
}

/// Keeps the block of the row that it read last.
#[derive(Debug, Default)]
pub(super) struct RowReader {
    block: Option<Arc<PartitionBlock>>,
}

/// A row in memory.
#[derive(Clone, Copy, Debug)]
pub(super) struct FileRow<'b> {
    columns: &'b [ColumnVector],
    row: usize,
}

impl PartitionFileWriter {
    /// Makes a file of rows that have columns such as `models`, which are empty.
    ///
    /// # Errors
    /// Those of files.
    pub(in super::super) fn new(
        operator: &Arc<OperatorSpill>,
        mut models: Vec<ColumnVector>,
    ) -> ExecResult<Self> {
        models.push(ColumnVector::new(VectorType::Int(IntWidth::I32)));
        let file = PartitionFile {
            operator: Arc::clone(operator),
            models: models.clone(),
            blocks: Vec::new(),
            firsts: vec![0],
            rows: 0,
            held: RefCell::default(),
        };
        let writer = operator.create()?;
        Ok(Self { file, writer, columns: models, encoded: Vec::new() })
    }

    /// Appends a row that has `common` key parts in common with the one before; `append` appends
    /// the value of each column.
    ///
    /// # Errors
    /// Those of files, and of more rows than have numbers.
    pub(in super::super) fn push(
        &mut self,
        common: usize,
        append: impl Fn(usize, &mut ColumnVector),
    ) -> ExecResult<()> {
        let Some((last, columns)) = self.columns.split_last_mut() else { return Ok(()) };
        let mut bytes = last.bytes();
        for (index, column) in columns.iter_mut().enumerate() {
            append(index, column);
            bytes += column.bytes();
        }
        last.values.push_int(common as i128);
        self.file.rows = self.file.rows.checked_add(1).ok_or(ExecError::OutOfMemory {
            operator: "window".into(),
            setting: "the number of its rows",
            bytes: 1 << 32,
            bytes_max: u32::MAX.into(),
        })?;
        if bytes >= self.file.operator.piece_bytes() { self.end_block() } else { Ok(()) }
    }

    fn end_block(&mut self) -> ExecResult<()> {
        self.file.operator.check()?;
        self.columns.iter_mut().for_each(ColumnVector::fill_validity);
        self.encoded.clear();
        put_columns(&self.columns, &mut self.encoded);
        let start = self.writer.position();
        self.writer.put(&self.encoded)?;
        self.file.blocks.push(self.writer.extent_from(start));
        self.file.firsts.push(self.file.rows);
        self.columns.iter_mut().for_each(ColumnVector::clear);
        Ok(())
    }

    /// Returns what can be read.
    ///
    /// # Errors
    /// Those of files.
    pub(in super::super) fn finish(mut self) -> ExecResult<PartitionFile> {
        if self.file.firsts.last().is_some_and(|first| *first < self.file.rows) {
            self.end_block()?;
        }
        self.writer.flush()?;
        Ok(self.file)
    }
}

impl PartitionFile {
    /// Returns how many rows there are.
    pub(super) fn rows(&self) -> u32 {
        self.rows
    }

    /// Makes an empty reservation.
    pub(super) fn reservation(&self) -> MemoryReservation {
        self.operator.reservation("window")
    }

    /// Returns what long loops look at.
    pub(super) fn control(&self) -> &crate::control::QueryControl {
        self.operator.control()
    }

    /// Returns the block of a row, by reading it if no reader has it.
    fn block_of(&self, row: u32) -> ExecResult<Arc<PartitionBlock>> {
        let mut held = self.held.borrow_mut();
        held.retain(|block| block.strong_count() > 0);
        let mut known = held.iter().filter_map(Weak::upgrade);
        if let Some(block) = known.find(|block| block.rows.contains(&row)) {
            return Ok(block);
        }
        self.operator.check()?;
        let index = self.firsts.partition_point(|first| *first <= row).saturating_sub(1);
        let extent = self.blocks.get(index);
        let extent = extent.ok_or_else(|| ExecError::internal("no such row of a partition"))?;
        let mut reservation = self.reservation();
        // The bytes and the columns that they become.
        reservation.resize(2 * extent.bytes())?;
        let mut bytes = Vec::new();
        extent.read(&mut bytes)?;
        let columns = BlockReader::new(&bytes).columns(&self.models)?;
        reservation.resize(columns.iter().map(ColumnVector::bytes).sum())?;
        let rows = self.firsts[index]..self.firsts[index + 1];
        let block = Arc::new(PartitionBlock { rows, columns, _reservation: reservation });
        held.push(Arc::downgrade(&block));
        Ok(block)
    }
}

impl RowReader {
    /// Returns a row.
    ///
    /// # Errors
    /// Those of files, of memory and of the query's control.
    pub(super) fn at(&mut self, file: &PartitionFile, row: u32) -> ExecResult<FileRow<'_>> {
        if self.block.as_ref().is_some_and(|block| !block.rows.contains(&row)) {
            self.block = None;
        }
        let block = match &mut self.block {
            Some(block) => block,
            none => none.insert(file.block_of(row)?),
        };
        Ok(FileRow { columns: &block.columns, row: (row - block.rows.start) as usize })
    }
}

impl<'b> FileRow<'b> {
    /// Returns a column, of which the row is the first.
    pub(super) fn column(self, index: usize) -> ExecResult<PartitionColumn<'b>> {
        let column = self.columns.get(index);
        let column =
            column.ok_or_else(|| ExecError::internal(format!("column {index} is not read")))?;
        Ok(PartitionColumn::new(column, self.row))
    }

    /// Appends the value of a column to one of the same type.
    ///
    /// # Errors
    /// [`ExecError::Internal`] if there is no such column.
    pub(super) fn append_to(self, index: usize, out: &mut ColumnVector) -> ExecResult<()> {
        append_row(self.column(index)?.column, self.row, out);
        Ok(())
    }

    /// Returns how many key parts it has in common with the row before.
    pub(super) fn common_parts(self) -> usize {
        match self.columns.last().map(|column| &column.values) {
            Some(VectorValues::Int32(values)) => values[self.row] as usize,
            _ => 0,
        }
    }

    /// Returns what a number is for the row.
    pub(super) fn number(self, number: WindowNumber) -> ExecResult<Option<i64>> {
        match number {
            WindowNumber::Constant(value) => Ok(value),
            WindowNumber::Column(index) => {
                let value = self.column(index)?.int(0);
                // Parameters of all these functions are of 32 bits.
                Ok(value.and_then(|value| i64::try_from(value).ok()))
            }
        }
    }
}
