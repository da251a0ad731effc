//! Redo records: what a transaction changed, as bytes.
//!
//! A transaction fills a [`RedoBuffer`] while it runs; at commit its bytes are the payload of one
//! group of the log. A [`RedoReader`] gives them back, here and on machines that follow this one.
//!
//! Physical records hold the row's id and the changed values after the change; a logical record
//! holds the name of a procedure, its arguments, and its effects ([`super::call`]).
//!
//! # Invariants
//! 1. Any bytes give records or an error, never a panic, and no more values than they have bytes.
//! # Layout
//! Drawn in `docs/layout.md`, section "Redo record"; a test compares.
//! # Source
//! [Muehlbauer16 4.3.1] physical and logical logging. Differs: both kinds may be in one log, so
//! that a procedure that cannot be repeated exactly is logged by what it changed.

use std::fmt;

use super::call::{CallEffects, CallPlace};
use crate::codec::{Decoder, Encoder, Truncated};
use crate::id::{CommitTs, RowId};
use crate::manifest::TableId;
use crate::value::ValueRef;

const INSERT: u8 = 1;
const UPDATE: u8 = 2;
const DELETE: u8 = 3;
const CHECKPOINT: u8 = 5;
const DELETED: u8 = 6;
const DEFINITIONS: u8 = 15;
const CALL: u8 = 20;

/// Bytes of a record of kind [`CHECKPOINT`].
const CHECKPOINT_BYTES: usize = 9;

/// First bytes of values. Those of whole numbers have the count of bytes that follow added.
const NULL: u8 = 0x00;
const INT: u8 = 0x10;
const INT_END: u8 = INT + 8;
const INT128: u8 = 0x20;
const INT128_END: u8 = INT128 + 16;
const FLOAT32: u8 = 0x40;
const FLOAT64: u8 = 0x41;
const BYTES: u8 = 0x50;

/// The changes of one transaction, in the order in which they were made.
#[derive(Debug, Default)]
pub struct RedoBuffer {
    pub(super) encoder: Encoder,
}

impl RedoBuffer {
    /// Whether nothing was changed.
    pub fn is_empty(&self) -> bool {
        self.encoder.bytes().is_empty()
    }

    /// Returns the records.
    pub fn bytes(&self) -> &[u8] {
        self.encoder.bytes()
    }

    /// Returns a position to come back to by [`RedoBuffer::truncate`].
    pub fn position(&self) -> usize {
        self.encoder.bytes().len()
    }

    /// Drops the records made since `position`, as a rollback to a savepoint does.
    pub fn truncate(&mut self, position: usize) {
        self.encoder.truncate(position);
    }

    /// Drops all records; memory beyond `kept_bytes` is given back.
    pub(crate) fn clear(&mut self, kept_bytes: usize) {
        self.encoder.clear(kept_bytes);
    }

    /// Adds a new row with the values of all its columns.
    pub fn insert(&mut self, table: TableId, row: RowId, values: &[ValueRef<'_>]) {
        self.put_row(INSERT, table, row);
        self.put_values(values);
    }

    /// Adds the new values of some columns of a row.
    pub fn update(&mut self, table: TableId, row: RowId, changes: &[(usize, ValueRef<'_>)]) {
        self.put_row(UPDATE, table, row);
        self.encoder.put_varint(changes.len() as u64);
        for &(column, value) in changes {
            self.encoder.put_varint(column as u64);
            self.put_value(value);
        }
    }

    /// Adds that a row is gone.
    pub fn delete(&mut self, table: TableId, row: RowId) {
        self.put_row(DELETE, table, row);
    }

    /// Adds the call of a procedure, in place of what it changes.
    pub fn call(&mut self, procedure: &str, arguments: &[ValueRef<'_>], effects: CallEffects<'_>) {
        self.begin_call(procedure, arguments);
        self.end_call(effects);
    }

    /// Begins the record of a call, which [`RedoBuffer::end_call`] ends.
    pub(crate) fn begin_call(&mut self, procedure: &str, arguments: &[ValueRef<'_>]) {
        self.encoder.put_u8(CALL);
        self.put_string(procedure.as_bytes());
        self.put_values(arguments);
    }

    /// Begins a group that repeats what rows were at a commit: the records that follow in it count
    /// if the checkpoint of that commit was completed.
    pub(crate) fn checkpoint(&mut self, as_of: CommitTs) {
        self.encoder.put_u8(CHECKPOINT);
        self.encoder.put_u64(as_of.0);
    }

    /// Whether the group is the last one of a checkpoint, which has no rows.
    pub(super) fn ends_checkpoint(&self) -> bool {
        self.bytes().first() == Some(&CHECKPOINT) && self.bytes().len() == CHECKPOINT_BYTES
    }

    /// Puts before all records that the group counts if the manifest says so.
    pub(crate) fn mark_definitions(&mut self) {
        self.encoder.put_first(DEFINITIONS);
    }

    /// Adds all rows of a frozen chunk that are gone; `first` is the id of its first row. There is
    /// one at least, and they ascend.
    pub(crate) fn deleted(&mut self, table: TableId, first: RowId, rows: &[u16]) {
        self.put_row(DELETED, table, first);
        self.encoder.put_varint(rows.len() as u64);
        let mut last = 0;
        for &row in rows {
            self.encoder.put_varint(u64::from(row - last));
            last = row;
        }
    }

    fn put_row(&mut self, kind: u8, table: TableId, row: RowId) {
        self.encoder.put_u8(kind);
        self.encoder.put_varint(table.0);
        self.encoder.put_u64(row.0);
    }

    fn put_values(&mut self, values: &[ValueRef<'_>]) {
        self.encoder.put_varint(values.len() as u64);
        values.iter().for_each(|&value| self.put_value(value));
    }

    #[inline]
    fn put_value(&mut self, value: ValueRef<'_>) {
        match value {
            ValueRef::Null => self.encoder.put_u8(NULL),
            ValueRef::Int(value) => {
                let unused = value.unsigned_abs().leading_zeros().min(63);
                // One bit more for the sign; zero takes no byte.
                let count = if value == 0 { 0 } else { (65 - unused as usize).div_ceil(8).min(8) };
                self.encoder.put_u8(INT + count as u8);
                self.encoder.put_first_of(value.to_le_bytes(), count);
            }
            ValueRef::Int128(value) => {
                let unused = value.unsigned_abs().leading_zeros().min(127);
                let count =
                    if value == 0 { 0 } else { (129 - unused as usize).div_ceil(8).min(16) };
                self.encoder.put_u8(INT128 + count as u8);
                self.encoder.put_raw(&value.to_le_bytes()[..count]);
            }
            ValueRef::Float32(value) => {
                self.encoder.put_u8(FLOAT32);
                self.encoder.put_u32(value.to_bits());
            }
            ValueRef::Float64(value) => {
                self.encoder.put_u8(FLOAT64);
                self.encoder.put_u64(value.to_bits());
            }
            ValueRef::Bytes(value) => {
                self.encoder.put_u8(BYTES);
                self.put_string(value);
            }
        }
    }

    fn put_string(&mut self, value: &[u8]) {
        self.encoder.put_varint(value.len() as u64);
        self.encoder.put_raw(value);
    }
}

/// One change.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum RedoRecord<'a> {
    /// A row came into being.
    Insert { table: TableId, row: RowId, values: &'a [ValueRef<'a>] },
    /// Some columns of a row, by their number, got other values.
    Update { table: TableId, row: RowId, changes: &'a [(usize, ValueRef<'a>)] },
    /// A row is gone.
    Delete { table: TableId, row: RowId },
    /// The records behind it in its group say what rows were at that commit.
    Checkpoint { as_of: CommitTs },
    /// The group counts if a record of the manifest names its commit: the transaction has defined
    /// something, too.
    Definitions,
    /// These rows of a frozen chunk, whose first row is `first`, are gone.
    Deleted { table: TableId, first: RowId, rows: &'a [u16] },
    /// A procedure is to be run again.
    Call { procedure: &'a str, arguments: &'a [ValueRef<'a>], effects: CallEffects<'a> },
}

/// Why bytes are not redo records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RedoProblem {
    /// A record is cut off, or a length in it points past the end.
    Truncated,
    /// A record is of a kind that this program does not know.
    Kind(u8),
    /// A value begins with a byte that this program does not know.
    Value(u8),
    /// The name of a procedure is not UTF-8.
    Name,
    /// A call names a place that cannot be.
    Place,
}

impl fmt::Display for RedoProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Truncated => f.write_str("a redo record is cut off"),
            Self::Kind(kind) => write!(f, "redo record of unknown kind {kind}"),
            Self::Value(tag) => write!(f, "value of unknown kind {tag:#04x} in a redo record"),
            Self::Name => f.write_str("the name of a procedure is not UTF-8"),
            Self::Place => f.write_str("the call of a procedure names a place that cannot be"),
        }
    }
}

impl std::error::Error for RedoProblem {}

impl From<Truncated> for RedoProblem {
    fn from(_: Truncated) -> Self {
        Self::Truncated
    }
}

/// Reads the records of a transaction one after the other.
#[derive(Debug)]
pub struct RedoReader<'a> {
    pub(super) rest: Decoder<'a>,
    values: Vec<ValueRef<'a>>,
    changes: Vec<(usize, ValueRef<'a>)>,
    rows: Vec<u16>,
    pub(super) chunks: Vec<(TableId, u64)>,
    pub(super) places: Vec<CallPlace>,
}

impl<'a> RedoReader<'a> {
    /// Begins with the first record in `bytes`.
    pub fn new(bytes: &'a [u8]) -> Self {
        let (values, changes, rows) = (Vec::new(), Vec::new(), Vec::new());
        let (chunks, places) = (Vec::new(), Vec::new());
        Self { rest: Decoder::new(bytes), values, changes, rows, chunks, places }
    }

    /// Returns the next record, or `None` behind the last one.
    ///
    /// # Errors
    /// The bytes are not what a [`RedoBuffer`] makes.
    pub fn next_record(&mut self) -> Result<Option<RedoRecord<'_>>, RedoProblem> {
        if self.rest.remaining() == 0 {
            return Ok(None);
        }
        let kind = self.rest.u8()?;
        if kind == CALL {
            let procedure = std::str::from_utf8(self.string()?).map_err(|_| RedoProblem::Name)?;
            self.read_values()?;
            let checksum = self.read_effects()?;
            let effects = CallEffects { chunks: &self.chunks, places: &self.places, checksum };
            return Ok(Some(RedoRecord::Call { procedure, arguments: &self.values, effects }));
        }
        if kind == CHECKPOINT {
            return Ok(Some(RedoRecord::Checkpoint { as_of: CommitTs(self.rest.u64()?) }));
        }
        if kind == DEFINITIONS {
            return Ok(Some(RedoRecord::Definitions));
        }
        if !matches!(kind, INSERT..=DELETE | DELETED) {
            return Err(RedoProblem::Kind(kind));
        }
        let table = TableId(self.rest.varint()?);
        let row = RowId(self.rest.u64()?);
        Ok(Some(match kind {
            INSERT => {
                self.read_values()?;
                RedoRecord::Insert { table, row, values: &self.values }
            }
            UPDATE => {
                self.read_changes()?;
                RedoRecord::Update { table, row, changes: &self.changes }
            }
            DELETED => {
                self.read_rows()?;
                RedoRecord::Deleted { table, first: row, rows: &self.rows }
            }
            _ => RedoRecord::Delete { table, row },
        }))
    }

    fn read_rows(&mut self) -> Result<(), RedoProblem> {
        self.rows.clear();
        let mut row = 0_u16;
        for _ in 0..self.count()? {
            let step = u16::try_from(self.rest.varint()?).map_err(|_| Truncated)?;
            row = row.checked_add(step).ok_or(Truncated)?;
            self.rows.push(row);
        }
        Ok(())
    }

    fn read_values(&mut self) -> Result<(), RedoProblem> {
        self.values.clear();
        for _ in 0..self.count()? {
            let value = self.value()?;
            self.values.push(value);
        }
        Ok(())
    }

    fn read_changes(&mut self) -> Result<(), RedoProblem> {
        self.changes.clear();
        for _ in 0..self.count()? {
            let column = usize::try_from(self.rest.varint()?).map_err(|_| Truncated)?;
            let value = self.value()?;
            self.changes.push((column, value));
        }
        Ok(())
    }

    /// Reads how many values follow; each has a byte at least.
    pub(super) fn count(&mut self) -> Result<usize, RedoProblem> {
        let count = usize::try_from(self.rest.varint()?).map_err(|_| Truncated)?;
        if count > self.rest.remaining() {
            return Err(RedoProblem::Truncated);
        }
        Ok(count)
    }

    fn string(&mut self) -> Result<&'a [u8], RedoProblem> {
        let count = usize::try_from(self.rest.varint()?).map_err(|_| Truncated)?;
        Ok(self.rest.raw(count)?)
    }

    #[inline]
    fn value(&mut self) -> Result<ValueRef<'a>, RedoProblem> {
        Ok(match self.rest.u8()? {
            NULL => ValueRef::Null,
            tag @ INT..=INT_END => {
                let low = self.rest.raw((tag - INT).into())?;
                ValueRef::Int(i64::from_le_bytes(sign_extended(low)))
            }
            tag @ INT128..=INT128_END => {
                let low = self.rest.raw((tag - INT128).into())?;
                ValueRef::Int128(i128::from_le_bytes(sign_extended(low)))
            }
            FLOAT32 => ValueRef::Float32(f32::from_bits(self.rest.u32()?)),
            FLOAT64 => ValueRef::Float64(f64::from_bits(self.rest.u64()?)),
            BYTES => ValueRef::Bytes(self.string()?),
            tag => return Err(RedoProblem::Value(tag)),
        })
    }
}

/// Returns the little-endian number whose low bytes are `low`.
#[inline]
fn sign_extended<const N: usize>(low: &[u8]) -> [u8; N] {
    let is_negative = low.last().is_some_and(|&byte| byte >= 0x80);
    let mut bytes = [if is_negative { 0xff } else { 0 }; N];
    bytes[..low.len()].copy_from_slice(low);
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: TableId = TableId(300);

    const DELETED_ROWS: [u16; 4] = [0, 1, 700, u16::MAX];

    const CHUNKS: [(TableId, u64); 2] = [(TABLE, 7), (TableId(2), 1 << 40)];

    fn effects() -> CallEffects<'static> {
        static PLACES: std::sync::LazyLock<Vec<CallPlace>> = std::sync::LazyLock::new(|| {
            let place = |step, at: Option<(usize, u16)>, is_moved| {
                let place = at.map(|(chunk, row)| {
                    let (table, chunk) = CHUNKS[chunk];
                    (table, RowId::hot(chunk, row))
                });
                CallPlace { step, place, is_moved }
            };
            vec![
                place(0, Some((0, 9)), false),
                place(1, Some((0, 10)), false),
                place(300, None, false),
                place(301, Some((1, u16::MAX)), true),
                place(302, Some((0, 11)), false),
                place(303, Some((1, 0)), false),
            ]
        });
        CallEffects { chunks: &CHUNKS, places: &PLACES, checksum: 0x0123_4567_89ab_cdef }
    }

    fn values() -> Vec<ValueRef<'static>> {
        let mut values = vec![
            ValueRef::Null,
            ValueRef::Float32(-0.0),
            ValueRef::Float64(1.5),
            ValueRef::Bytes(b""),
            ValueRef::Bytes(b"text"),
        ];
        for bits in 0..64 {
            for value in [1_i64 << bits, (1_i64 << bits).wrapping_sub(1)] {
                values.extend([value, value.wrapping_neg()].map(ValueRef::Int));
                let wide = i128::from(value) << bits;
                values.extend([wide, wide.wrapping_neg()].map(ValueRef::Int128));
            }
        }
        values.extend([i128::MIN, i128::MAX].map(ValueRef::Int128));
        values
    }

    fn script() -> RedoBuffer {
        let mut buffer = RedoBuffer::default();
        let row = RowId::hot(7, 9);
        buffer.insert(TABLE, row, &values());
        buffer.update(TABLE, row, &[(1_599, ValueRef::Int(-1)), (0, ValueRef::Null)]);
        buffer.delete(TABLE, row);
        buffer.call("transfer", &[ValueRef::Int(5), ValueRef::Bytes(b"x")], effects());
        buffer.checkpoint(CommitTs(77));
        buffer.deleted(TABLE, RowId(3 << 16), &DELETED_ROWS);
        buffer.mark_definitions();
        buffer
    }

    #[test]
    fn reader_returns_what_was_changed_in_order() {
        let buffer = script();
        let mut reader = RedoReader::new(buffer.bytes());
        let row = RowId::hot(7, 9);
        let values = values();
        assert_eq!(reader.next_record(), Ok(Some(RedoRecord::Definitions)));
        let insert = RedoRecord::Insert { table: TABLE, row, values: &values };
        assert_eq!(reader.next_record(), Ok(Some(insert)));
        let changes = [(1_599, ValueRef::Int(-1)), (0, ValueRef::Null)];
        let update = RedoRecord::Update { table: TABLE, row, changes: &changes };
        assert_eq!(reader.next_record(), Ok(Some(update)));
        assert_eq!(reader.next_record(), Ok(Some(RedoRecord::Delete { table: TABLE, row })));
        let arguments = [ValueRef::Int(5), ValueRef::Bytes(b"x")];
        let effects = effects();
        let call = RedoRecord::Call { procedure: "transfer", arguments: &arguments, effects };
        assert_eq!(reader.next_record(), Ok(Some(call)));
        let checkpoint = RedoRecord::Checkpoint { as_of: CommitTs(77) };
        assert_eq!(reader.next_record(), Ok(Some(checkpoint)));
        let (first, rows) = (RowId(3 << 16), &DELETED_ROWS[..]);
        let deleted = RedoRecord::Deleted { table: TABLE, first, rows };
        assert_eq!(reader.next_record(), Ok(Some(deleted)));
        assert_eq!(reader.next_record(), Ok(None));
    }

    #[test]
    fn whole_numbers_take_as_few_bytes_as_they_need() {
        for (value, bytes) in [(0, 0), (127, 1), (-127, 1), (-129, 2), (32_767, 2), (1 << 40, 6)] {
            let mut buffer = RedoBuffer::default();
            buffer.put_value(ValueRef::Int(value));
            assert_eq!(buffer.bytes().len(), 1 + bytes, "{value}");
        }
    }

    #[test]
    fn records_since_a_savepoint_can_be_dropped() {
        let mut buffer = RedoBuffer::default();
        assert!(buffer.is_empty());
        buffer.delete(TABLE, RowId::hot(0, 1));
        let position = buffer.position();
        buffer.delete(TABLE, RowId::hot(0, 2));
        buffer.truncate(position);
        let mut reader = RedoReader::new(buffer.bytes());
        let row = RowId::hot(0, 1);
        assert_eq!(reader.next_record(), Ok(Some(RedoRecord::Delete { table: TABLE, row })));
        assert_eq!(reader.next_record(), Ok(None));
    }

    #[test]
    fn every_truncation_inside_a_record_is_an_error() {
        let buffer = script();
        let mut ends = vec![0];
        let mut reader = RedoReader::new(buffer.bytes());
        while reader.next_record().unwrap().is_some() {
            ends.push(buffer.bytes().len() - reader.rest.remaining());
        }
        for end in 0..buffer.bytes().len() {
            let mut reader = RedoReader::new(&buffer.bytes()[..end]);
            let result = loop {
                match reader.next_record() {
                    Ok(Some(_)) => {}
                    Ok(None) => break Ok(()),
                    Err(problem) => break Err(problem),
                }
            };
            let expected = if ends.contains(&end) { Ok(()) } else { Err(RedoProblem::Truncated) };
            assert_eq!(result, expected, "cut at {end}");
        }
    }

    #[test]
    fn unknown_bytes_are_errors() {
        let read = |bytes: &[u8]| RedoReader::new(bytes).next_record().err();
        assert_eq!(read(&[9]), Some(RedoProblem::Kind(9)));
        assert_eq!(read(&[CALL, 1, 0xff]), Some(RedoProblem::Name));
        assert_eq!(read(&[CALL, 0, 1, 0x99]), Some(RedoProblem::Value(0x99)));
        let place = |tag: u8| [&[CALL, 0, 0, 1, 1, 1, 1, 0, tag][..], &[0; 12]].concat();
        assert_eq!(read(&place(4)), None);
        for tag in [1, 3, 5, 8] {
            assert_eq!(read(&place(tag)), Some(RedoProblem::Place), "{tag}");
        }
        let mut overflow = vec![DELETED, 0];
        overflow.extend_from_slice(&[0; 8]);
        overflow.extend_from_slice(&[2, 0xff, 0xff, 0x03, 1]);
        assert_eq!(read(&overflow), Some(RedoProblem::Truncated));
        assert_eq!(read(&[CALL, 0, 0xff, 0xff, 0x03]), Some(RedoProblem::Truncated));
    }
}
