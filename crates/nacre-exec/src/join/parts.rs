//! Rows of a side of a join in files, by bits of the hash of their keys.
//!
//! # Layout
//! A block: the number of rows, a bit for each row that has a key, the words of the keys, the
//! columns. It has up to 8,192 rows.
//!
//! Bits 4 to 28 of a hash name partitions, six for each level: those below are tags of a table, and
//! its slots are named by those above.

use super::chunk::{CHUNK_ROWS, JoinChunk};
use crate::error::ExecResult;
use crate::group::hash_words;
use crate::spill::{
    BlockReader, OperatorSpill, SpillExtent, SpillWriter, put_columns, put_u32, put_words,
};
use crate::vector::{BitVector, ColumnVector};

/// Bits of a hash that name a partition of one level.
const PART_BITS: u32 = 6;

/// Parts that rows are split into.
pub(super) const PARTS: usize = 1 << PART_BITS;

/// Lowest bit that names a partition.
const FIRST_BIT: u32 = 4;

/// How often rows can be split.
pub(super) const LEVELS: u32 = 4;

/// Rows as they are added.
#[derive(Clone, Copy)]
pub(super) struct SideRows<'r> {
    pub(super) columns: &'r [&'r ColumnVector],
    pub(super) keys: &'r [u64],
    pub(super) has_key: &'r BitVector,
}

/// Writes rows of one side by partition.
#[derive(Debug)]
pub(super) struct JoinPartWriter {
    writer: SpillWriter,
    level: u32,
    /// Words of the keys of a row.
    stride: usize,
    /// By partition: rows that are not written yet.
    open: Vec<Option<JoinChunk>>,
    extents: Vec<Vec<SpillExtent>>,
    /// By partition: rows of the batch that is being added.
    positions: Vec<Vec<u16>>,
    encoded: Vec<u8>,
}

/// Returns the partition of a row's key words; `level` is below [`LEVELS`].
fn part_of(words: &[u64], level: u32) -> usize {
    (hash_words(words) >> (FIRST_BIT + PART_BITS * level)) as usize % PARTS
}

impl JoinPartWriter {
    pub(super) fn new(spill: &OperatorSpill, stride: usize, level: u32) -> ExecResult<Self> {
        debug_assert!(level < LEVELS);
        Ok(Self {
            writer: spill.create()?,
            level,
            stride,
            open: (0..PARTS).map(|_| None).collect(),
            extents: vec![Vec::new(); PARTS],
            positions: vec![Vec::new(); PARTS],
            encoded: Vec::new(),
        })
    }

    /// Adds the rows of `selected`; those without a key go to the first partition.
    ///
    /// # Errors
    /// Those of files.
    pub(super) fn add(
        &mut self,
        rows: SideRows<'_>,
        selected: impl Iterator<Item = usize>,
    ) -> ExecResult<()> {
        self.positions.iter_mut().for_each(Vec::clear);
        for row in selected {
            let words = &rows.keys[row * self.stride..(row + 1) * self.stride];
            let part = if rows.has_key.get(row) { part_of(words, self.level) } else { 0 };
            self.positions[part].push(row as u16);
        }
        for part in 0..PARTS {
            let positions = std::mem::take(&mut self.positions[part]);
            let mut rest = positions.as_slice();
            while !rest.is_empty() {
                let columns = || rows.columns.iter().copied();
                let open = self.open[part].get_or_insert_with(|| JoinChunk::new(columns()));
                let (some, later) = rest.split_at(rest.len().min(CHUNK_ROWS - open.rows));
                open.append(columns(), rows.keys, rows.has_key, self.stride, some);
                rest = later;
                if open.rows == CHUNK_ROWS {
                    self.write_part(part)?;
                }
            }
            self.positions[part] = positions;
        }
        Ok(())
    }

    /// Returns the bytes of rows that are not written yet.
    pub(super) fn bytes(&self) -> usize {
        self.open.iter().flatten().map(JoinChunk::bytes).sum()
    }

    /// Writes all rows.
    ///
    /// # Errors
    /// Those of files.
    pub(super) fn flush(&mut self) -> ExecResult<()> {
        (0..PARTS).try_for_each(|part| self.write_part(part))?;
        self.writer.flush()
    }

    /// Returns what was written, by partition.
    pub(super) fn into_extents(self) -> Vec<Vec<SpillExtent>> {
        self.extents
    }

    fn write_part(&mut self, part: usize) -> ExecResult<()> {
        let Some(chunk) = self.open[part].take() else { return Ok(()) };
        let out = &mut self.encoded;
        out.clear();
        put_u32(chunk.rows, out);
        put_words(chunk.has_key.words(), out);
        put_words(&chunk.keys, out);
        put_columns(&chunk.columns, out);
        let start = self.writer.position();
        self.writer.put(out)?;
        self.extents[part].push(self.writer.extent_from(start));
        Ok(())
    }
}

/// Reads a block; `models` are empty columns of its side.
///
/// # Errors
/// Those of files.
pub(super) fn read_chunk(
    extent: &SpillExtent,
    stride: usize,
    models: &[ColumnVector],
    scratch: &mut Vec<u8>,
) -> ExecResult<JoinChunk> {
    extent.read(scratch)?;
    let mut reader = BlockReader::new(scratch);
    let rows = reader.u32()?;
    let has_key = BitVector::from_words(reader.words(rows.div_ceil(64))?, rows);
    let keys = reader.words(rows * stride)?;
    let columns = reader.columns(models)?;
    Ok(JoinChunk { columns, keys, has_key, rows })
}

/// Splits blocks by the bits of a level.
///
/// # Errors
/// Those of files and of memory.
pub(super) fn split_blocks(
    spill: &OperatorSpill,
    extents: &[SpillExtent],
    stride: usize,
    models: &[ColumnVector],
    level: u32,
) -> ExecResult<Vec<Vec<SpillExtent>>> {
    let mut writer = JoinPartWriter::new(spill, stride, level)?;
    let (mut scratch, mut reservation) = (Vec::new(), spill.reservation("join"));
    let bytes_max = spill.hold_split(&mut reservation)?;
    for extent in extents {
        spill.check()?;
        let chunk = read_chunk(extent, stride, models, &mut scratch)?;
        let columns: Vec<&ColumnVector> = chunk.columns.iter().collect();
        let rows = SideRows { columns: &columns, keys: &chunk.keys, has_key: &chunk.has_key };
        writer.add(rows, 0..chunk.rows)?;
        if writer.bytes() >= bytes_max {
            writer.flush()?;
        }
    }
    writer.flush()?;
    Ok(writer.into_extents())
}
