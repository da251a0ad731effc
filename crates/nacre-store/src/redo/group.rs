//! Groups: the redo records of one transaction as they lie in the log.
//!
//! A group proves itself: it counts if it begins with its own position in the log and its checksum
//! is right, so that one ordered persist makes it durable and nothing else has to be published.
//!
//! # Invariants
//! 1. A group begins on a multiple of 64 bytes, and no line of the cache holds parts of two.
//! 2. `durable` of a group was durable in all good members before the group was written.
//! # Layout
//! Drawn in `docs/layout.md`, section "Redo group"; a test compares.

use std::fmt;

use crate::codec::{Decoder, Truncated};
use crate::error::{Error, Result};
use crate::id::{CommitTs, Lsn};

/// Bytes before the records.
pub(crate) const GROUP_HEADER_BYTES: usize = 48;

/// Groups begin on multiples of this.
pub(crate) const GROUP_ALIGN: u64 = 64;

pub(crate) const GROUP_MAGIC: &[u8; 4] = b"NRDO";

/// Most bytes of the records of one transaction: a group lies in one segment, which is mapped.
pub(crate) const GROUP_BYTES_MAX: u64 = 1 << 30;

/// Shorter records are not worth the time to compress them.
const COMPRESSED_BYTES_MIN: usize = 128;

/// LZ4 turns a byte into at most 255.
const EXPANSION_MAX: u64 = 255;

/// What is known when a group is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct GroupStart {
    pub(crate) lsn: Lsn,
    pub(crate) commit: CommitTs,
    pub(crate) durable: Lsn,
    /// When it was committed, in microseconds since 1970; never less than that of the group before.
    pub(crate) time: u64,
}

/// A group whose checksum is right.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Group<'a> {
    pub(crate) start: GroupStart,
    stored: &'a [u8],
    raw_bytes: u32,
}

/// Why bytes are not the group that should be there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum GroupProblem {
    /// Nothing was ever written there.
    Nothing,
    NoGroup,
    Position {
        stored: u64,
        expected: u64,
    },
    CutOff {
        needed: u64,
        present: u64,
    },
    Sizes,
    Checksum {
        stored: u32,
        computed: u32,
    },
}

impl fmt::Display for GroupProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Nothing => f.write_str("nothing is there"),
            Self::NoGroup => f.write_str("no group begins there"),
            Self::Position { stored, expected } => {
                write!(f, "a group of position {stored} lies at {expected}")
            }
            Self::CutOff { needed, present } => {
                write!(f, "cut off: {present} of {needed} bytes are there")
            }
            Self::Sizes => f.write_str("its sizes contradict each other"),
            Self::Checksum { stored, computed } => {
                write!(f, "checksum {computed:#010x} does not match {stored:#010x}")
            }
        }
    }
}

/// Returns how many bytes a group takes whose records take `stored_bytes`.
pub(crate) fn group_bytes(stored_bytes: usize) -> u64 {
    (GROUP_HEADER_BYTES as u64 + stored_bytes as u64).next_multiple_of(GROUP_ALIGN)
}

/// Compresses records into `scratch`; returns what is to be stored.
///
/// # Errors
/// [`Error::TransactionTooLarge`].
pub(crate) fn pack<'a>(
    records: &'a [u8],
    is_compressed: bool,
    scratch: &'a mut Vec<u8>,
) -> Result<&'a [u8]> {
    if records.len() as u64 > GROUP_BYTES_MAX {
        return Err(Error::TransactionTooLarge { bytes_max: GROUP_BYTES_MAX });
    }
    if !is_compressed || records.len() < COMPRESSED_BYTES_MIN {
        return Ok(records);
    }
    scratch.resize(lz4_flex::block::get_maximum_output_size(records.len()), 0);
    match lz4_flex::block::compress_into(records, scratch) {
        Ok(bytes) if bytes < records.len() => Ok(&scratch[..bytes]),
        _ => Ok(records),
    }
}

/// Appends a group with its padding to `target`.
pub(crate) fn put_group(target: &mut Vec<u8>, start: GroupStart, stored: &[u8], raw_bytes: usize) {
    let at = target.len();
    let GroupStart { lsn, commit, durable, time } = start;
    target.extend_from_slice(GROUP_MAGIC);
    target.extend_from_slice(&[0; 4]);
    for word in [lsn.0, commit.0, durable.0, time] {
        target.extend_from_slice(&word.to_le_bytes());
    }
    target.extend_from_slice(&(stored.len() as u32).to_le_bytes());
    target.extend_from_slice(&(raw_bytes as u32).to_le_bytes());
    target.extend_from_slice(stored);
    let crc = crc32c::crc32c(&target[at + 8..]);
    target[at + 4..at + 8].copy_from_slice(&crc.to_le_bytes());
    target.resize(at + group_bytes(stored.len()) as usize, 0);
}

impl<'a> Group<'a> {
    /// Reads the group at the front of `bytes`, which are those at `lsn`.
    pub(crate) fn parse(bytes: &'a [u8], lsn: Lsn) -> std::result::Result<Self, GroupProblem> {
        let cut_off = |needed: u64| GroupProblem::CutOff { needed, present: bytes.len() as u64 };
        let short = |_: Truncated| cut_off(GROUP_HEADER_BYTES as u64);
        let mut header = Decoder::new(bytes);
        let magic = header.raw(4).map_err(short)?;
        let crc = header.u32().map_err(short)?;
        let stored_lsn = header.u64().map_err(short)?;
        if magic != GROUP_MAGIC {
            let is_empty = magic == [0; 4] && crc == 0 && stored_lsn == 0;
            return Err(if is_empty { GroupProblem::Nothing } else { GroupProblem::NoGroup });
        }
        if stored_lsn != lsn.0 {
            return Err(GroupProblem::Position { stored: stored_lsn, expected: lsn.0 });
        }
        let commit = CommitTs(header.u64().map_err(short)?);
        let durable = Lsn(header.u64().map_err(short)?);
        let time = header.u64().map_err(short)?;
        let stored_bytes = header.u32().map_err(short)? as usize;
        let raw_bytes = header.u32().map_err(short)?;
        let needed = group_bytes(stored_bytes);
        if needed > bytes.len() as u64 {
            return Err(cut_off(needed));
        }
        let checked = &bytes[8..GROUP_HEADER_BYTES + stored_bytes];
        let computed = crc32c::crc32c(checked);
        if computed != crc {
            return Err(GroupProblem::Checksum { stored: crc, computed });
        }
        let (stored, raw) = (stored_bytes as u64, u64::from(raw_bytes));
        if durable > lsn || raw < stored || raw > stored.saturating_mul(EXPANSION_MAX) {
            return Err(GroupProblem::Sizes);
        }
        let start = GroupStart { lsn, commit, durable, time };
        Ok(Self { start, stored: &checked[GROUP_HEADER_BYTES - 8..], raw_bytes })
    }

    /// Returns how many bytes the group with this header says that it takes; the header is not
    /// checked.
    pub(crate) fn claimed_bytes(header: &[u8]) -> u64 {
        let stored = header.get(40..44).and_then(|bytes| bytes.first_chunk());
        group_bytes(stored.map_or(0, |bytes| u32::from_le_bytes(*bytes) as usize))
    }

    /// Returns the position behind the group.
    pub(crate) fn end(&self) -> Lsn {
        Lsn(self.start.lsn.0 + group_bytes(self.stored.len()))
    }

    /// Returns the records, unpacked into `scratch` if they are compressed.
    ///
    /// # Errors
    /// They are not what was compressed, although the checksum is right.
    pub(crate) fn records<'b>(
        &self,
        scratch: &'b mut Vec<u8>,
    ) -> std::result::Result<&'b [u8], GroupProblem>
    where
        'a: 'b,
    {
        let raw_bytes = self.raw_bytes as usize;
        if raw_bytes == self.stored.len() {
            return Ok(self.stored);
        }
        scratch.resize(raw_bytes, 0);
        match lz4_flex::block::decompress_into(self.stored, scratch) {
            Ok(bytes) if bytes == raw_bytes => Ok(scratch),
            _ => Err(GroupProblem::Sizes),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: GroupStart =
        GroupStart { lsn: Lsn(640), commit: CommitTs(7), durable: Lsn(64), time: 8 };

    fn group(records: &[u8], is_compressed: bool) -> Vec<u8> {
        let (mut bytes, mut scratch) = (Vec::new(), Vec::new());
        let stored = pack(records, is_compressed, &mut scratch).unwrap();
        put_group(&mut bytes, START, stored, records.len());
        bytes
    }

    #[test]
    fn group_gives_back_its_records() {
        for count in [0, 1, 15, 16, 17, 127, 128, 5_000] {
            let records: Vec<u8> = (0..count).map(|byte| (byte % 50) as u8).collect();
            for is_compressed in [false, true] {
                let bytes = group(&records, is_compressed);
                assert_eq!(bytes.len() % GROUP_ALIGN as usize, 0);
                let found = Group::parse(&bytes, START.lsn).unwrap();
                assert_eq!(found.start, START);
                assert_eq!(found.end(), Lsn(640 + bytes.len() as u64));
                assert_eq!(found.records(&mut Vec::new()).unwrap(), records);
                assert!(count < 5_000 || !is_compressed || bytes.len() < 500);
            }
        }
    }

    #[test]
    fn what_does_not_compress_is_stored_as_it_is() {
        let mut state = 1_u64;
        let mut next = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 56) as u8
        };
        let records: Vec<u8> = (0..1_000).map(|_| next()).collect();
        assert_eq!(group(&records, true), group(&records, false));
    }

    #[test]
    fn no_change_of_a_byte_passes() {
        let whole = group(&[0x5a; 300], true);
        for at in 0..whole.len() {
            for change in [1, 0x80] {
                let mut bytes = whole.clone();
                bytes[at] ^= change;
                let changed = Group::parse(&bytes, START.lsn);
                let is_padding = changed == Group::parse(&whole, START.lsn);
                assert!(changed.is_err() || is_padding, "byte {at}");
            }
        }
        assert!(Group::parse(&whole, Lsn(704)).is_err());
        for end in 0..whole.len() {
            assert!(Group::parse(&whole[..end], START.lsn).is_err(), "cut at {end}");
        }
        assert_eq!(Group::parse(&[0; 64], START.lsn), Err(GroupProblem::Nothing));
    }
}
