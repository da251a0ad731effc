//! What a record of a call holds beside the call: its effects.
//!
//! Physical records name rows by their ids, and so do those that follow a call. So the record says
//! which places the rows got that the procedure inserted; replay gives them the same ones. It also
//! names the hot chunks that were changed, which tells recovery that a freeze of one of them was
//! taken back, and has a checksum of all changes, which replay compares.
//!
//! # Layout
//! Drawn in `docs/layout.md`, section "Redo record"; a test compares.
//! # Source
//! [Muehlbauer16 4.3.1] a logical record has the procedure and its parameters. Differs: effects,
//! since rows keep their ids, and so that a procedure that does not do the same again is noticed.

use super::record::{RedoBuffer, RedoProblem, RedoReader, RedoRecord};
use crate::id::{HOT_CHUNKS_MAX, RowId, RowPlace};
use crate::manifest::TableId;
use crate::value::ValueRef;

/// Bits of a place's tag: that it follows the last one of its chunk, and that an update moved its
/// row there; above them is the number of the chunk.
const FOLLOWS: u64 = 1;
const MOVED: u64 = 2;
const TAG_BITS: u32 = 2;

/// What the call of a procedure did, as far as replay has to know before it is done again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CallEffects<'a> {
    /// The hot chunks that were changed.
    pub chunks: &'a [(TableId, u64)],
    /// Where inserted rows went, in order.
    pub places: &'a [CallPlace],
    /// That of the changes, by [`changes_checksum`].
    pub checksum: u64,
}

/// Where a call put a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CallPlace {
    /// How many changes the transaction had made before.
    pub step: u64,
    /// The table and the row; `None` if the row was taken back to a savepoint. The row's chunk is
    /// one of those that were changed.
    pub place: Option<(TableId, RowId)>,
    /// Whether an update moved the row, since its chunk had no room for a longer string.
    pub is_moved: bool,
}

impl RedoBuffer {
    /// Ends a record that [`RedoBuffer::begin_call`] began.
    pub(crate) fn end_call(&mut self, effects: CallEffects<'_>) {
        let CallEffects { chunks, places, checksum } = effects;
        self.encoder.put_varint(chunks.len() as u64);
        for (table, chunk) in chunks {
            self.encoder.put_varint(table.0);
            self.encoder.put_varint(*chunk);
        }
        self.encoder.put_varint(places.len() as u64);
        let (mut next_step, mut next_rows) = (0, vec![None; chunks.len()]);
        for CallPlace { step, place, is_moved } in places {
            self.encoder.put_varint(step.saturating_sub(next_step));
            next_step = step.saturating_add(1);
            let found = place.and_then(|(table, row)| {
                let RowPlace::Hot { chunk, offset } = row.place() else { return None };
                let at = chunks.iter().position(|one| *one == (table, chunk))?;
                Some((at, u64::from(offset)))
            });
            let Some((at, offset)) = found else {
                self.encoder.put_varint(0);
                continue;
            };
            let follows = next_rows[at].replace(offset + 1) == Some(offset);
            let flags = u64::from(follows) * FOLLOWS + u64::from(*is_moved) * MOVED;
            // Zero says that there is no place.
            self.encoder.put_varint((at as u64 + 1) << TAG_BITS | flags);
            if !follows {
                self.encoder.put_varint(offset);
            }
        }
        self.encoder.put_u64(checksum);
    }
}

impl RedoReader<'_> {
    /// Reads the effects of a call, and returns their checksum.
    pub(super) fn read_effects(&mut self) -> Result<u64, RedoProblem> {
        self.chunks.clear();
        for _ in 0..self.count()? {
            let (table, chunk) = (TableId(self.rest.varint()?), self.rest.varint()?);
            if chunk >= HOT_CHUNKS_MAX {
                return Err(RedoProblem::Place);
            }
            self.chunks.push((table, chunk));
        }
        self.places.clear();
        let (mut next_step, mut next_rows) = (0_u64, vec![None; self.chunks.len()]);
        for _ in 0..self.count()? {
            let step = next_step.checked_add(self.rest.varint()?).filter(|step| *step < u64::MAX);
            let step = step.ok_or(RedoProblem::Place)?;
            next_step = step + 1;
            let tag = self.rest.varint()?;
            let mut place = None;
            if tag != 0 {
                let at = usize::try_from(tag >> TAG_BITS).ok().and_then(|at| at.checked_sub(1));
                let at = at.filter(|at| *at < self.chunks.len()).ok_or(RedoProblem::Place)?;
                let follows = tag & FOLLOWS != 0;
                let offset = if follows { next_rows[at] } else { Some(self.rest.varint()?) };
                let offset = offset.and_then(|offset| u16::try_from(offset).ok());
                let offset = offset.ok_or(RedoProblem::Place)?;
                next_rows[at] = Some(u64::from(offset) + 1);
                let (table, chunk) = self.chunks[at];
                place = Some((table, RowId::hot(chunk, offset)));
            }
            self.places.push(CallPlace { step, place, is_moved: tag & MOVED != 0 });
        }
        Ok(self.rest.u64()?)
    }
}

/// Returns a checksum of changes, whatever their order: that of the rows of a key is not the same
/// at replay if they were frozen in between. A record of another kind counts like nothing.
///
/// # Errors
/// The bytes are not what a [`RedoBuffer`] makes.
pub fn changes_checksum(records: &[u8]) -> Result<u64, RedoProblem> {
    let (mut reader, mut sum) = (RedoReader::new(records), 0_u64);
    while let Some(record) = reader.next_record()? {
        let mut hash = Hash::new();
        match record {
            RedoRecord::Insert { table, row, values } => {
                hash.row(1, table, row);
                values.iter().for_each(|value| hash.value(*value));
            }
            RedoRecord::Update { table, row, changes } => {
                hash.row(2, table, row);
                for (column, value) in changes {
                    hash.word(*column as u64);
                    hash.value(*value);
                }
            }
            RedoRecord::Delete { table, row } => hash.row(3, table, row),
            _ => continue,
        }
        sum = sum.wrapping_add(hash.finish());
    }
    Ok(sum)
}

/// A hash of one record: of what it says, not of its bytes, so that these may become others.
struct Hash(u64);

impl Hash {
    fn new() -> Self {
        Self(0x9e37_79b9_7f4a_7c15)
    }

    #[inline]
    fn word(&mut self, word: u64) {
        let product = u128::from(self.0 ^ word) * 0xda94_2042_e4dd_58b5;
        self.0 = (product as u64 ^ (product >> 64) as u64).wrapping_add(0x9e37_79b9_7f4a_7c15);
    }

    fn row(&mut self, kind: u64, table: TableId, row: RowId) {
        self.word(kind);
        self.word(table.0);
        self.word(row.0);
    }

    fn value(&mut self, value: ValueRef<'_>) {
        match value {
            ValueRef::Null => self.word(1),
            ValueRef::Int(value) => {
                self.word(2);
                self.word(value as u64);
            }
            ValueRef::Int128(value) => {
                self.word(3);
                self.word(value as u64);
                self.word((value >> 64) as u64);
            }
            ValueRef::Float32(value) => {
                self.word(4);
                self.word(value.to_bits().into());
            }
            ValueRef::Float64(value) => {
                self.word(5);
                self.word(value.to_bits());
            }
            ValueRef::Bytes(value) => {
                self.word(6);
                self.word(value.len() as u64);
                for piece in value.chunks(8) {
                    let mut word = [0; 8];
                    word[..piece.len()].copy_from_slice(piece);
                    self.word(u64::from_le_bytes(word));
                }
            }
        }
    }

    fn finish(mut self) -> u64 {
        self.word(0);
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn changes(order: &[usize], value: i64) -> u64 {
        let table = TableId(3);
        let mut buffer = RedoBuffer::default();
        for number in order {
            let row = RowId::hot(1, *number as u16);
            match number {
                0 => buffer.insert(table, row, &[ValueRef::Int(value), ValueRef::Bytes(b"text")]),
                1 => buffer.update(table, row, &[(2, ValueRef::Null), (4, ValueRef::Int(9))]),
                _ => buffer.delete(table, row),
            }
        }
        changes_checksum(buffer.bytes()).unwrap()
    }

    #[test]
    fn checksum_tells_changes_apart_but_not_their_order() {
        let all = changes(&[0, 1, 2], 5);
        assert_eq!(all, changes(&[2, 0, 1], 5));
        assert_ne!(all, changes(&[0, 1, 2], 6));
        assert_ne!(all, changes(&[0, 1], 5));
        assert_ne!(all, changes(&[0, 1, 2, 2], 5));
        assert_ne!(changes(&[2], 0), changes(&[3], 0));
    }

    /// Files have it: a program that computes another one opens none of them.
    #[test]
    fn checksum_stays_what_it_is() {
        assert_eq!(changes(&[0, 1, 2], 5), 9_762_071_553_178_615_237);
    }
}
