//! Ids of rows and moments.
//!
//! # Invariants
//! 1. A [`RowId`] is never given to a second row of the same table.
//! 2. Every [`TxId`] is above every [`CommitTs`], so the versions of a transaction that runs are
//!    younger than any snapshot.
//! # Layout
//! | bits of a row id | hot | frozen |
//! |---|---|---|
//! | 63 | 1 | 0 |
//! | 36..63 | hot chunk, 46 bits from 16 up; bit 62 is 0 | load, 27 bits |
//! | 16..36 | | chunk in the load, 20 bits |
//! | 0..16 | row in the chunk | row in the chunk |

use std::fmt;
use std::time::{SystemTime, UNIX_EPOCH};

use crate::manifest::LoadId;

/// Marks the ids of rows in hot chunks.
const HOT_BIT: u64 = 1 << 63;

/// Bits for the row in its chunk.
const OFFSET_BITS: u32 = 16;

/// Bits for the chunk in its load.
const CHUNK_BITS: u32 = 20;

/// Bits for the load.
const LOAD_BITS: u32 = 27;

/// Most hot chunks that a table can ever have. Bit 62 of a hot row's id stays free for indexes.
pub(crate) const HOT_CHUNKS_MAX: u64 = 1 << 46;

const _: () = assert!(OFFSET_BITS + CHUNK_BITS + LOAD_BITS == 63);
const _: () = assert!(1 << OFFSET_BITS == nacre_column::CHUNK_ROWS);

/// The first transaction id; all timestamps are below.
pub(crate) const TX_ID_FIRST: u64 = 1 << 63;

/// Names a row of a table, as long as it exists.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RowId(pub u64);

/// Where a row lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RowPlace {
    /// In a hot chunk of its table.
    Hot { chunk: u64, offset: u16 },
    /// In a chunk of a load.
    Frozen { load: LoadId, chunk: u32, offset: u16 },
}

impl RowId {
    /// Makes the id of a row in a hot chunk.
    ///
    /// # Panics
    /// If `chunk` needs more than 46 bits.
    pub fn hot(chunk: u64, offset: u16) -> Self {
        assert!(chunk < HOT_CHUNKS_MAX, "hot chunk {chunk}");
        Self(HOT_BIT | chunk << OFFSET_BITS | u64::from(offset))
    }

    /// Makes the id of a row in a load; `None` if the load needs more than 27 bits or the chunk
    /// more than 20.
    pub fn frozen(load: LoadId, chunk: u32, offset: u16) -> Option<Self> {
        let is_possible = load.0 < 1 << LOAD_BITS && chunk < 1 << CHUNK_BITS;
        let above = load.0 << CHUNK_BITS | u64::from(chunk);
        is_possible.then(|| Self(above << OFFSET_BITS | u64::from(offset)))
    }

    /// Returns where the row lies.
    pub fn place(self) -> RowPlace {
        let offset = self.0 as u16;
        let above = self.0 >> OFFSET_BITS;
        if self.is_hot() {
            return RowPlace::Hot { chunk: above & (HOT_CHUNKS_MAX - 1), offset };
        }
        let chunk = above & ((1 << CHUNK_BITS) - 1);
        RowPlace::Frozen { load: LoadId(above >> CHUNK_BITS), chunk: chunk as u32, offset }
    }

    /// Whether the row lies in a hot chunk.
    pub fn is_hot(self) -> bool {
        self.0 & HOT_BIT != 0
    }

    /// Returns the bits that all rows of the chunk have in common, and no row of another one.
    #[inline]
    pub(crate) fn chunk_bits(self) -> u64 {
        self.0 >> OFFSET_BITS
    }

    /// Returns the number of a hot row's chunk.
    pub(crate) fn chunk_number(self) -> u64 {
        self.chunk_bits() & (HOT_CHUNKS_MAX - 1)
    }

    /// Returns the row's number in its chunk.
    pub fn offset(self) -> u16 {
        self.0 as u16
    }
}

impl fmt::Display for RowId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.place() {
            RowPlace::Hot { chunk, offset } => write!(f, "hot chunk {chunk}, row {offset}"),
            RowPlace::Frozen { load, chunk, offset } => {
                write!(f, "load {}, chunk {chunk}, row {offset}", load.0)
            }
        }
    }
}

/// A moment: that of a commit, or the last commit that a snapshot sees.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CommitTs(pub u64);

/// Names a transaction from its beginning to its end; from 2^63 up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TxId(pub u64);

/// A position in the redo log, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Lsn(pub u64);

/// A place in the history of a database: between two groups of the redo log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Moment {
    /// The last commit in the log.
    pub commit: CommitTs,
    /// The position behind it.
    pub lsn: Lsn,
    /// Microseconds since 1970, never less than those of an earlier moment.
    pub time: u64,
}

/// Returns the time of the system's clock, in microseconds since 1970.
pub(crate) fn now_micros() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_micros() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn place_of_a_row_survives_its_id() {
        for chunk in [0, 1, 77, HOT_CHUNKS_MAX - 1] {
            for offset in [0, 1, u16::MAX] {
                let row = RowId::hot(chunk, offset);
                assert_eq!(row.place(), RowPlace::Hot { chunk, offset });
                assert_eq!((row.is_hot(), row.offset()), (true, offset));
            }
        }
        for load in [0, 1, (1 << LOAD_BITS) - 1].map(LoadId) {
            for chunk in [0, 5, (1 << CHUNK_BITS) - 1] {
                let row = RowId::frozen(load, chunk, 9).unwrap();
                assert_eq!(row.place(), RowPlace::Frozen { load, chunk, offset: 9 });
                assert!(!row.is_hot());
            }
        }
    }

    #[test]
    fn places_that_do_not_fit_have_no_id() {
        assert_eq!(RowId::frozen(LoadId(1 << LOAD_BITS), 0, 0), None);
        assert_eq!(RowId::frozen(LoadId(0), 1 << CHUNK_BITS, 0), None);
    }
}
