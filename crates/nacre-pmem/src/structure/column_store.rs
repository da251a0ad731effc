//! Column store: an array of fixed-width values in a pool set, updated in place.
//!
//! # Layout
//! | offset | bytes | field |
//! |---|---|---|
//! | 0 | 8 | magic |
//! | 8 | 4 | version |
//! | 12 | 4 | width of a value |
//! | 16 | 8 | rows |
//! | 24 | 4 | CRC-32C of bytes 0..24 |
//! | 4096 | width x rows | values, zeros at first |
//!
//! The values start on a page, so that an aligned update of any size touches as few lines and
//! pages as it can.
//!
//! # Durability
//! | call | on return |
//! |---|---|
//! | `create` | header and zeros are durable |
//! | `update` | the values are durable; a crash in it leaves each 8-byte word old or new |
//! | `update_batch` | all are durable; a crash leaves any of them |
//! | `update_tx` | the values are durable, all or none after a crash |
//!
//! # Source
//! [Zarubin22 3.1.1] column store (CS, CS TX). Differs: the array has a checked header.

use crate::error::{Error, ErrorKind, Result};
use crate::set::PoolSet;

/// Bytes in front of the values.
pub const COLUMN_HEADER_BYTES: u64 = 4096;

const MAGIC: [u8; 8] = *b"NACRECOL";
const VERSION: u32 = 1;
/// Bytes of the header that are in use, checksum included.
const USED_BYTES: usize = 28;
const CRC_OFFSET: usize = 24;
const WIDTH_MAX: u32 = 64 << 10;
/// Zeros are written in pieces of this size.
const ZERO_BYTES: u64 = 64 << 10;

/// An array of values of equal width. The handle is small and owns no bytes; the pool set is given
/// to each call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ColumnStore {
    /// Offset of row 0.
    values: u64,
    rows: u64,
    width: u64,
}

impl ColumnStore {
    /// Creates an array of `rows` 4-byte zeros at the start of the data area.
    ///
    /// # Errors
    /// As for [`ColumnStore::create_at`].
    pub fn create(set: &mut PoolSet, rows: u64) -> Result<ColumnStore> {
        let offset = set.data_offset();
        ColumnStore::create_at(set, offset, 4, rows)
    }

    /// Creates an array of `rows` zeros of `width` bytes at `offset`: the start of the data area,
    /// or an extent of the heap of [`ColumnStore::bytes_for`] bytes.
    ///
    /// # Errors
    /// `OutOfRange` if it does not fit or the width is none of 1 ..= 65,536; as for
    /// [`PoolSet::update`].
    pub fn create_at(set: &mut PoolSet, offset: u64, width: u32, rows: u64) -> Result<ColumnStore> {
        let store = ColumnStore::new(set, offset, width, rows)?;
        let zeros = vec![0; ZERO_BYTES as usize];
        let end = store.values + store.rows * store.width;
        let mut position = store.values;
        while position < end {
            let bytes = ZERO_BYTES.min(end - position);
            set.write(position, &zeros[..bytes as usize])?;
            position += bytes;
        }
        set.drain()?;
        let mut header = [0; USED_BYTES];
        header[..8].copy_from_slice(&MAGIC);
        header[8..12].copy_from_slice(&VERSION.to_le_bytes());
        header[12..16].copy_from_slice(&width.to_le_bytes());
        header[16..24].copy_from_slice(&rows.to_le_bytes());
        let crc = crc32c::crc32c(&header[..CRC_OFFSET]);
        header[CRC_OFFSET..].copy_from_slice(&crc.to_le_bytes());
        set.update(offset, &header)?;
        Ok(store)
    }

    /// Opens the array at the start of the data area.
    ///
    /// # Errors
    /// As for [`ColumnStore::open_at`].
    pub fn open(set: &PoolSet) -> Result<ColumnStore> {
        ColumnStore::open_at(set, set.data_offset())
    }

    /// Opens the array at `offset`.
    ///
    /// # Errors
    /// `Foreign` if none is there, `TooNew`, `Corrupt` if its header is damaged, `OutOfRange` if
    /// the pool set is too short for it.
    pub fn open_at(set: &PoolSet, offset: u64) -> Result<ColumnStore> {
        let decode = |header: &[u8]| decode_header(header, offset);
        let (width, rows) = set.read_verified(offset, USED_BYTES as u64, decode)??;
        ColumnStore::new(set, offset, width, rows)
    }

    fn new(set: &PoolSet, offset: u64, width: u32, rows: u64) -> Result<ColumnStore> {
        let room = set.end_offset().checked_sub(offset);
        let needs = ColumnStore::bytes_for(width, rows);
        let is_inside = offset >= set.data_offset()
            && matches!((room, needs), (Some(room), Some(needs)) if needs <= room);
        if !is_inside || width == 0 || width > WIDTH_MAX {
            return Err(Error::new(
                ErrorKind::OutOfRange,
                format!("column store at offset {offset}"),
                format!(
                    "{rows} rows of {width} bytes do not fit in data area {}..{}",
                    set.data_offset(),
                    set.end_offset()
                ),
                "grow the pool set, or take fewer rows or a width of 1..=65536",
            ));
        }
        Ok(ColumnStore { values: offset + COLUMN_HEADER_BYTES, rows, width: u64::from(width) })
    }

    /// Returns the bytes that an array needs, header included, or `None` past 2^64.
    pub fn bytes_for(width: u32, rows: u64) -> Option<u64> {
        rows.checked_mul(u64::from(width))?.checked_add(COLUMN_HEADER_BYTES)
    }

    /// Returns the number of rows.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// Returns the bytes of a value.
    pub fn width(&self) -> u64 {
        self.width
    }

    /// Replaces the values from `row` on by `values`, one or several; durable on return.
    ///
    /// # Errors
    /// `OutOfRange` if a row does not exist or `values` is no multiple of the width; then nothing
    /// is written. As for [`PoolSet::update`].
    #[inline]
    pub fn update(&self, set: &mut PoolSet, row: u64, values: &[u8]) -> Result<()> {
        let offset = self.offset_of(row, values.len())?;
        set.update(offset, values)
    }

    /// Replaces values at several places, each as by [`ColumnStore::update`], with one wait for
    /// all; durable on return.
    ///
    /// # Errors
    /// As for [`ColumnStore::update`]; if a place is wrong nothing is written.
    #[inline]
    pub fn update_batch(&self, set: &mut PoolSet, updates: &[(u64, &[u8])]) -> Result<()> {
        for (row, values) in updates {
            self.offset_of(*row, values.len())?;
        }
        set.update_all(updates.len(), |index| {
            let (row, values) = updates[index];
            (self.values + row * self.width, values)
        })
    }

    /// Replaces the values from `row` on in a transaction of their own: after a crash all are new,
    /// or none is. Durable on return.
    ///
    /// # Errors
    /// As for [`ColumnStore::update`] and [`PoolSet::transaction`].
    #[inline]
    pub fn update_tx(&self, set: &mut PoolSet, row: u64, values: &[u8]) -> Result<()> {
        let offset = self.offset_of(row, values.len())?;
        set.replace(offset, values)
    }

    /// Returns `count` values from `row` on.
    ///
    /// # Errors
    /// `OutOfRange`; as for [`PoolSet::read`].
    #[inline]
    pub fn read<'a>(&self, set: &'a PoolSet, row: u64, count: u64) -> Result<&'a [u8]> {
        // What does not fit `usize` is out of range as well.
        let bytes = usize::try_from(count.saturating_mul(self.width)).unwrap_or(usize::MAX);
        let offset = self.offset_of(row, bytes)?;
        set.read(offset, bytes as u64)
    }

    /// Calls `f` with `count` values from `row` on, as [`PoolSet::read_with`] does: `f` must bear
    /// garbage, and its result is dropped if pages were lost meanwhile.
    ///
    /// # Errors
    /// As for [`ColumnStore::read`].
    #[inline]
    pub fn read_with<T>(
        &self,
        set: &PoolSet,
        row: u64,
        count: u64,
        f: impl Fn(&[u8]) -> T,
    ) -> Result<T> {
        let bytes = usize::try_from(count.saturating_mul(self.width)).unwrap_or(usize::MAX);
        let offset = self.offset_of(row, bytes)?;
        set.read_with(offset, bytes as u64, f)
    }

    /// Returns the offset of `row`, from which on `bytes` bytes are whole values.
    #[inline]
    fn offset_of(&self, row: u64, bytes: usize) -> Result<u64> {
        let bytes = bytes as u64;
        // The common case, one value, needs no division.
        let count = if bytes == self.width { 1 } else { bytes / self.width };
        if row >= self.rows || count > self.rows - row || count * self.width != bytes {
            return Err(self.out_of_range(row, bytes));
        }
        Ok(self.values + row * self.width)
    }

    #[cold]
    fn out_of_range(&self, row: u64, bytes: u64) -> Error {
        Error::new(
            ErrorKind::OutOfRange,
            format!("column store at offset {}", self.values - COLUMN_HEADER_BYTES),
            format!(
                "{bytes} bytes at row {row} are no values of its {} rows of {} bytes",
                self.rows, self.width
            ),
            "",
        )
    }
}

/// Returns width and rows from a header, which lies at `offset`.
fn decode_header(header: &[u8], offset: u64) -> Result<(u32, u64)> {
    let problem = |kind, problem: String, remedy| {
        Err(Error::new(kind, format!("column store at offset {offset}"), problem, remedy))
    };
    if header[..8] != MAGIC {
        let text = format!("magic {:02x?} is none of a column store", &header[..8]);
        return problem(ErrorKind::Foreign, text, "check the offset and the pool set");
    }
    let (stored, crc) = (word(header, CRC_OFFSET), crc32c::crc32c(&header[..CRC_OFFSET]));
    if stored != crc {
        let text = format!("header checksum {stored:#010x} does not match {crc:#010x}");
        return problem(ErrorKind::Corrupt, text, "restore it from a replica");
    }
    let version = word(header, 8);
    if version != VERSION {
        let text = format!("version {version}, but this software knows {VERSION}");
        return problem(ErrorKind::TooNew, text, "use a newer version");
    }
    Ok((word(header, 12), u64::from_le_bytes(array(header, 16))))
}

fn word(bytes: &[u8], offset: usize) -> u32 {
    u32::from_le_bytes(array(bytes, offset))
}

/// Returns `N` bytes from `offset` on; `bytes` has them.
fn array<const N: usize>(bytes: &[u8], offset: usize) -> [u8; N] {
    let mut array = [0; N];
    array.copy_from_slice(&bytes[offset..offset + N]);
    array
}
