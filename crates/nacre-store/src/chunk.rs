//! Chunks, and the way from a chunk to the bytes of a block.
//!
//! # Invariants
//! 1. [`Chunk::read`] fails only if no replica of the block is good.
//! 2. What was read through a [`BlockHandle`] counts only if [`BlockHandle::check`] finds
//!    afterwards that no page of the block was lost meanwhile ([`nacre_pmem::fault`]). If one was,
//!    the reader drops its work, reports the block and reads the next replica: every report leaves
//!    one fewer, so this ends.
//! # Concurrency
//! Everything here may be used from any thread.
//! # Source
//! [Zarubin22 4.2.2] a reader asks for the column and gets the replica that suits it.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use nacre_column::replicated::AccessHint;
use nacre_column::{
    Block, BlockError, BlockStatistics, ColumnBuffer, ColumnType, Format, Physical, PointValue, Sma,
};
use nacre_pmem::PoolSlice;

use crate::decode::decode;
use crate::directory::KeyRange;
use crate::error::{Error, Result};
use crate::id::RowId;
use crate::manifest::LoadId;
use crate::part::MappedPart;
use crate::stored_load::{BlockPlace, OpenLoad, StoredLoad};
use crate::table::Table;
use crate::value::{Value, ValueRef};

/// Up to 65,536 consecutive rows of a table.
#[derive(Clone, Debug)]
pub struct Chunk {
    table: Arc<Table>,
    load: Arc<StoredLoad>,
    open: Arc<OpenLoad>,
    index: usize,
    number: u64,
}

/// Where one replica of a block lies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlockLocation {
    /// Which replica of the column it is, from 0.
    pub replica: u8,
    pub domain: String,
    /// The pool's file; `None` in DRAM.
    pub pool_path: Option<PathBuf>,
    pub offset: u64,
    pub bytes: u64,
}

impl Chunk {
    /// Makes chunk `index` of a load; `number` counts within the table, or within a load that is
    /// not published yet.
    pub(crate) fn new(
        table: &Arc<Table>,
        load: &Arc<StoredLoad>,
        open: &Arc<OpenLoad>,
        index: usize,
        number: u64,
    ) -> Self {
        let (table, load, open) = (Arc::clone(table), Arc::clone(load), Arc::clone(open));
        Self { table, load, open, index, number }
    }

    /// Returns the chunk's number in its table, from 0.
    pub fn number(&self) -> u64 {
        self.number
    }

    pub(crate) fn table(&self) -> &Arc<Table> {
        &self.table
    }

    pub(crate) fn load_id(&self) -> LoadId {
        self.load.id()
    }

    /// Returns the chunk's number in its load.
    pub(crate) fn index(&self) -> usize {
        self.index
    }

    /// Returns the id of a row; `None` if it has none, because the load has more than 2^20 chunks
    /// or is later than the 2^27th.
    pub fn row_id(&self, row: u16) -> Option<RowId> {
        RowId::frozen(self.load.id(), u32::try_from(self.index).ok()?, row)
    }

    /// Returns the number of rows, 1 to 65,536.
    pub fn rows(&self) -> usize {
        self.open.chunks[self.index].rows as usize
    }

    /// Returns the type of `column`.
    ///
    /// # Panics
    /// If the table has no such column.
    pub fn column_type(&self, column: usize) -> ColumnType {
        self.table.column_type(column)
    }

    /// Returns the aggregates of `column`; touches no block.
    ///
    /// # Panics
    /// If the table has no such column.
    pub fn sma(&self, column: usize) -> &Sma {
        self.open.sma(self.index, column)
    }

    /// Returns where the replicas of the block of `column` lie that this chunk knows of, and that
    /// no newer ones replace.
    ///
    /// # Panics
    /// If the table has no such column.
    pub fn locations(&self, column: usize) -> Vec<BlockLocation> {
        let places = self.open.places(self.index, column).iter();
        let location = |place| {
            let (part, entry) = self.open.part_and_entry(place);
            BlockLocation {
                replica: entry.replica,
                domain: part.domain.clone(),
                pool_path: part.path().map(PathBuf::from),
                offset: entry.offset,
                bytes: entry.bytes,
            }
        };
        places.filter(|place| place.is_current).map(location).collect()
    }

    /// Returns the replica of the block of `column` that suits a reader best, verified.
    ///
    /// # Errors
    /// [`Error::Damaged`] naming table, column, chunk and what is wrong with each replica, if none
    /// is good; other blocks are not affected.
    ///
    /// # Panics
    /// If the table has no such column.
    pub fn read(&self, column: usize, hint: AccessHint) -> Result<BlockHandle> {
        if let Some(handle) = self.read_of(&self.open, column, hint) {
            return Ok(handle);
        }
        // Replicas may have been repaired, or come back, since the chunk was made.
        if let Ok(now) = self.load.open()
            && !Arc::ptr_eq(&now, &self.open)
            && let Some(handle) = self.read_of(&now, column, hint)
        {
            return Ok(handle);
        }
        let reasons = self.open.reasons(self.index, column);
        let reason = match reasons.is_empty() {
            true => "it has no replica".to_owned(),
            false => reasons.join("; "),
        };
        let object = self.table.names().object(column, self.number);
        Err(Error::Damaged { object, reason, missing: self.open.missing.clone() })
    }

    fn read_of(&self, open: &OpenLoad, column: usize, hint: AccessHint) -> Option<BlockHandle> {
        let column_type = self.column_type(column);
        let place = (self.index, column);
        let (best, bytes) = open.best(place, column_type, hint, || self.table.wake())?;
        let BlockPlace { part, slot, .. } = open.place(best);
        let (part, slot) = (Arc::clone(&open.parts[part as usize]), slot as usize);
        self.table.count_read(column, part.slots[slot].entry.replica);
        // ORDERING: an estimate; nothing depends on its order.
        part.readers.0.fetch_add(1, Ordering::Relaxed);
        let chunk = self.number;
        Some(BlockHandle { bytes, column_type, part, slot, chunk, is_reader: true })
    }

    /// Notes that the replica behind `handle` is bad: it is not read again, and rebuilt.
    ///
    /// # Panics
    /// If the handle is that of another column.
    pub fn report_lost(&self, column: usize, handle: &BlockHandle) {
        assert_eq!(usize::from(handle.part.slots[handle.slot].entry.column), column);
        let reason = match handle.check() {
            Err(Error::Lost { source, .. }) => source.to_string(),
            _ => "a reader found it damaged".to_owned(),
        };
        handle.part.mark_lost(handle.slot, reason);
        self.table.wake();
    }

    /// Decodes the whole block of `column`, from whatever replica is good.
    pub(crate) fn decode(&self, column: usize) -> Result<ColumnBuffer> {
        // Each turn returns or takes one replica out.
        loop {
            let handle = self.read(column, AccessHint::Sequential)?;
            let decoded = handle.block().and_then(|block| decode(&block));
            // It may be written to other replicas, so it has to be what was verified.
            match (handle.check_file(), decoded) {
                (Ok(()), Ok(buffer)) => return Ok(buffer),
                _ => self.report_lost(column, &handle),
            }
        }
    }

    /// Returns one value, from whatever replica is good.
    pub(crate) fn value(&self, column: usize, row: usize) -> Result<Value> {
        let (mut values, mut text) = ([PointValue::Null], Vec::new());
        match self.open.read_row(&self.table, (self.index, row), &[column], &mut values, &mut text)
        {
            true => Ok(ValueRef::at(values[0], &text).to_value()),
            false => self.value_in_block(column, row),
        }
    }

    fn value_in_block(&self, column: usize, row: usize) -> Result<Value> {
        // Each turn returns or takes one replica out.
        loop {
            let handle = self.read(column, AccessHint::Random)?;
            let value = handle.block().and_then(|block| value_in(&block, row));
            match (handle.check(), value) {
                (Ok(()), Ok(value)) => return Ok(value),
                // Not every format can be entered in the middle.
                (Ok(()), Err(BlockError::SequentialOnly { .. })) => {
                    return self.decode(column).map(|all| ValueRef::of(&all, row).to_value());
                }
                _ => self.report_lost(column, &handle),
            }
        }
    }

    /// Returns the statistics of all columns, of those that have any.
    pub(crate) fn statistics(&self) -> Vec<Option<BlockStatistics>> {
        self.open.chunks[self.index].block_statistics()
    }

    pub(crate) fn key_range(&self) -> Option<&KeyRange> {
        self.open.chunks[self.index].key_range.as_ref()
    }
}

fn value_in(block: &Block<'_>, row: usize) -> std::result::Result<Value, BlockError> {
    let value = match block.column_type().physical() {
        Physical::Int64 => block.get_int(row)?.map(|value| Value::Int(value as i64)),
        Physical::Int128 => block.get_int(row)?.map(Value::Int128),
        Physical::Float32 => block.get_float(row)?.map(|value| Value::Float32(value as f32)),
        Physical::Float64 => block.get_float(row)?.map(Value::Float64),
        Physical::Bytes => block.get_bytes(row)?.map(|value| Value::Bytes(value.into_owned())),
    };
    Ok(value.unwrap_or(Value::Null))
}

/// A verified block that keeps its pool mapped.
#[derive(Debug)]
pub struct BlockHandle {
    bytes: PoolSlice,
    column_type: ColumnType,
    part: Arc<MappedPart>,
    slot: usize,
    /// Number of the chunk in its table, for messages.
    chunk: u64,
    /// Whether it counts among the readers of its domain.
    is_reader: bool,
}

impl BlockHandle {
    /// Opens the block, in constant time.
    ///
    /// # Errors
    /// None that the verification would have let pass, unless the bytes changed since.
    pub fn block(&self) -> std::result::Result<Block<'_>, BlockError> {
        Block::open(&self.bytes, self.column_type)
    }

    /// Returns the block's bytes, for arrays that share them.
    pub fn bytes(&self) -> &PoolSlice {
        &self.bytes
    }

    /// Returns which replica of the column it is, from 0.
    pub fn replica(&self) -> u8 {
        self.part.slots[self.slot].entry.replica
    }

    /// Returns the format, if the directory tells it.
    pub fn format(&self) -> Option<Format> {
        self.part.slots[self.slot].entry.format
    }

    /// Returns the name of the domain that it lies in.
    pub fn domain(&self) -> &str {
        &self.part.domain
    }

    /// Whether the pool of this block lost a page so far; one load. What was read from the block
    /// before this call is what was stored if the answer is `false`.
    #[inline]
    pub fn is_faulted(&self) -> bool {
        self.part.pool().is_faulted()
    }

    /// Returns an error if a page of the block was lost: what was read from it before this call
    /// must be dropped then.
    ///
    /// # Errors
    /// [`Error::Lost`] naming table, column, chunk, pool and offset.
    #[inline]
    pub fn check(&self) -> Result<()> {
        match self.is_faulted() {
            true => self.check_range(),
            false => Ok(()),
        }
    }

    #[cold]
    fn check_range(&self) -> Result<()> {
        let entry = &self.part.slots[self.slot].entry;
        let checked = self.part.pool().check_range(entry.offset, entry.bytes);
        checked.map_err(|source| Error::Lost { object: self.object(), source })
    }

    /// As [`BlockHandle::check`], and looks at the file first for changes that no signal tells
    /// ([`nacre_pmem::Pool::check_unchanged`]); a system call. Verifies the block once more if the
    /// file was cut behind it, or removed and perhaps written to by who has it open.
    ///
    /// # Errors
    /// As for [`BlockHandle::check`]; [`Error::Damaged`] if the block is not what it was.
    pub fn check_file(&self) -> Result<()> {
        if self.is_as_mapped() {
            return self.check();
        }
        // What it finds is noted; whether it concerns this block is asked next.
        let _ = self.part.pool().check_unchanged();
        self.check()?;
        let verified = self.part.verify(self.slot, self.column_type, self.part.rows_of(self.slot));
        // A checksum over lost bytes says nothing.
        self.check()?;
        verified.map_err(|reason| self.damage(reason))
    }

    /// Whether the block's file is as it was mapped ([`nacre_pmem::Pool::is_as_mapped`]); a system
    /// call.
    pub fn is_as_mapped(&self) -> bool {
        self.part.pool().is_as_mapped()
    }

    /// Returns a handle for whoever will only look back at the block: it does not count among the
    /// readers of its domain.
    pub fn note(&self) -> BlockHandle {
        BlockHandle {
            bytes: self.bytes.clone(),
            column_type: self.column_type,
            part: Arc::clone(&self.part),
            slot: self.slot,
            chunk: self.chunk,
            is_reader: false,
        }
    }

    /// Whether both blocks lie in the same mapping of a pool.
    pub fn same_mapping(&self, other: &BlockHandle) -> bool {
        Arc::ptr_eq(&self.part, &other.part)
    }

    /// Makes the error for a block that turned out to be unreadable.
    pub fn damaged(&self, error: &BlockError) -> Error {
        self.damage(error.to_string())
    }

    /// As [`BlockHandle::damaged`], for what the reader of the block found out itself.
    pub fn damage(&self, reason: String) -> Error {
        Error::Damaged { object: self.object(), reason, missing: Vec::new() }
    }

    /// Returns how messages name the block.
    fn object(&self) -> String {
        let entry = &self.part.slots[self.slot].entry;
        self.part.names().object(usize::from(entry.column), self.chunk)
    }
}

impl Clone for BlockHandle {
    fn clone(&self) -> Self {
        if self.is_reader {
            // ORDERING: an estimate; nothing depends on its order.
            self.part.readers.0.fetch_add(1, Ordering::Relaxed);
        }
        let mut clone = self.note();
        clone.is_reader = self.is_reader;
        clone
    }
}

impl Drop for BlockHandle {
    fn drop(&mut self) {
        if self.is_reader {
            // ORDERING: an estimate; nothing depends on its order.
            self.part.readers.0.fetch_sub(1, Ordering::Relaxed);
        }
    }
}
