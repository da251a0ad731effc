//! Segments: the pool sets that hold the redo log, one behind the other.
//!
//! Groups fill a segment from its start. When the next group does not fit, the next segment is
//! created, and then the full one is sealed by one 8-byte store. A log that is closed notes where
//! it ends, so that the next opening finds out if the end is gone.
//!
//! # Invariants
//! 1. A segment that is sealed has a successor; one that is not is the last.
//! 2. Only the last segment takes groups, and only while its state is open.
//! 3. Bytes behind the last group are zeros while the segment takes groups.
//! # Layout
//! Drawn in `docs/layout.md`, section "Redo segment"; a test compares.

use nacre_pmem::{Domain, PoolSet, PoolSetOptions};

use super::group::GROUP_ALIGN;
use crate::codec::{Decoder, Encoder, Truncated, header_crc32c};
use crate::error::{Error, Result};
use crate::id::Lsn;
use crate::manifest::DatabaseId;
use crate::members::{MAIN_COPIES, member_index};

pub(crate) const SEGMENT_MAGIC: &[u8; 8] = b"NACRERED";
pub(crate) const SEGMENT_VERSION: u32 = 2;

/// Bytes before the first group.
pub(crate) const SEGMENT_HEADER_BYTES: u64 = 128;

/// Where the state lies in the data area.
pub(crate) const STATE_OFFSET: u64 = 64;

/// Most members of a pool set.
const MEMBERS_MAX: usize = 8;

/// Bits of the word of a state below the position.
const STATE_BITS: u32 = 16;

/// Zeros that are written at once.
const ZERO_BYTES: usize = 64 << 10;

const _: () = assert!(STATE_OFFSET.is_multiple_of(64) && STATE_OFFSET < SEGMENT_HEADER_BYTES);
const _: () = assert!(SEGMENT_HEADER_BYTES.is_multiple_of(GROUP_ALIGN));

/// Whether a segment takes groups.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// It takes groups; where it ends is known by reading it.
    Open,
    /// The log was closed when it ended here.
    Closed(Lsn),
    /// It is full; the next segment begins here.
    Sealed(Lsn),
}

impl State {
    /// Returns the word that stands for the state.
    pub(crate) fn to_word(self) -> u64 {
        let (end, kind) = match self {
            Self::Open => return 0,
            Self::Closed(end) => (end, 1),
            Self::Sealed(end) => (end, 2),
        };
        let word = ((end.0 / GROUP_ALIGN) << STATE_BITS) | kind;
        word | check_bits(word)
    }

    /// Returns the state that `word` stands for, if it is not damaged.
    pub(crate) fn from_word(word: u64) -> Option<Self> {
        let end = Lsn((word >> STATE_BITS) * GROUP_ALIGN);
        let state = match word & 3 {
            0 => Self::Open,
            1 => Self::Closed(end),
            2 => Self::Sealed(end),
            _ => return None,
        };
        (state.to_word() == word).then_some(state)
    }
}

/// Returns the bits that tell a damaged word, between the kind and the position.
fn check_bits(word: u64) -> u64 {
    u64::from(crc32c::crc32c(&word.to_le_bytes()) & 0x3fff) << 2
}

/// One open segment.
#[derive(Debug)]
pub(crate) struct Segment {
    pub(super) number: u64,
    /// Position of the first group.
    pub(super) first: Lsn,
    /// Position behind the last group that is durable.
    pub(super) end: Lsn,
    pub(super) state: State,
    pub(super) set: PoolSet,
}

impl Segment {
    /// Creates an empty segment in `domains`, the main one first. If a further one cannot have a
    /// member, none gets one, and a note says so: a repair adds those that can.
    pub(super) fn create(
        number: u64,
        first: Lsn,
        database: DatabaseId,
        domains: &[Domain],
        data_bytes: u64,
        notes: &mut Vec<String>,
    ) -> Result<Segment> {
        remove_files(domains, |other| other == number)?;
        let name = set_name(number);
        let usual = PoolSetOptions::new(data_bytes);
        let options = PoolSetOptions { log_bytes: 0, large_pages: false, ..usual };
        let main = std::iter::repeat_n(domains[0].clone(), MAIN_COPIES as usize);
        let all: Vec<Domain> = main.chain(domains[1..].iter().cloned()).take(MEMBERS_MAX).collect();
        let mut set = match PoolSet::create(&name, &all, &options) {
            Err(error) if all.len() > MAIN_COPIES as usize => {
                let set = PoolSet::create(&name, &all[..MAIN_COPIES as usize], &options)?;
                notes.push(format!("redo log: no replica in further domains: {error}"));
                set
            }
            created => created?,
        };
        // PERSIST: the header is durable before anything says that there is a segment.
        set.update(set.data_offset(), &segment_header(database, number, first))?;
        Ok(Segment { number, first, end: first, state: State::Open, set })
    }

    /// Returns the position up to which groups fit.
    pub(super) fn room_end(&self) -> Lsn {
        let bytes = self.set.end_offset() - self.set.data_offset() - SEGMENT_HEADER_BYTES;
        Lsn(self.first.0 + bytes / GROUP_ALIGN * GROUP_ALIGN)
    }

    /// Returns where a position lies in the pool set.
    pub(super) fn offset_of(&self, lsn: Lsn) -> u64 {
        self.set.data_offset() + SEGMENT_HEADER_BYTES + (lsn.0 - self.first.0)
    }

    /// Makes whole groups durable behind the last one.
    pub(super) fn append(&mut self, groups: &[u8]) -> Result<()> {
        // PERSIST: all groups are durable in every good member; each proves itself.
        self.set.update(self.offset_of(self.end), groups)?;
        self.end = Lsn(self.end.0 + groups.len() as u64);
        Ok(())
    }

    /// Makes another state durable.
    pub(super) fn publish(&mut self, state: State) -> Result<()> {
        let offset = self.set.data_offset() + STATE_OFFSET;
        // PERSIST: groups that the state speaks of are durable; so is a successor.
        self.set.publish_u64(offset, state.to_word())?;
        self.state = state;
        Ok(())
    }

    /// Stores zeros behind the last group, where a crash left parts of others.
    pub(super) fn clear_rest(&mut self) -> Result<()> {
        let start = self.offset_of(self.end);
        let rest = self.set.read(start, self.set.end_offset() - start)?;
        let rest_bytes = rest.len();
        let Some(last) = rest.iter().rposition(|&byte| byte != 0) else {
            return Ok(());
        };
        for at in (0..=last).step_by(ZERO_BYTES) {
            let bytes = ZERO_BYTES.min(rest_bytes - at);
            self.set.write(start + at as u64, &vec![0; bytes])?;
        }
        // PERSIST: nothing that looks like a group lies behind the last one any more.
        Ok(self.set.drain()?)
    }
}

/// Returns the first 64 bytes of a segment.
pub(crate) fn segment_header(database: DatabaseId, number: u64, first: Lsn) -> Vec<u8> {
    let mut encoder = Encoder::default();
    encoder.put_raw(SEGMENT_MAGIC);
    encoder.put_u32(SEGMENT_VERSION);
    encoder.put_u32(0);
    encoder.put_raw(&database.0);
    encoder.put_u64(number);
    encoder.put_u64(first.0);
    encoder.put_raw(&[0; 16]);
    let mut bytes = encoder.into_bytes();
    let crc = header_crc32c(&bytes);
    bytes[12..16].copy_from_slice(&crc.to_le_bytes());
    bytes
}

/// Why the header of a segment cannot be used.
pub(super) enum BadHeader {
    Damaged(String),
    Version(u32),
}

impl From<Truncated> for BadHeader {
    fn from(_: Truncated) -> Self {
        Self::Damaged("the header is cut off".into())
    }
}

/// Checks the header of segment `number`; returns the position of its first group.
pub(super) fn check_header(
    area: &[u8],
    database: DatabaseId,
    number: u64,
) -> std::result::Result<Lsn, BadHeader> {
    let damaged = |reason: String| Err(BadHeader::Damaged(reason));
    let header = area.get(..STATE_OFFSET as usize).ok_or(Truncated)?;
    let mut decoder = Decoder::new(header);
    if decoder.raw(8)? != SEGMENT_MAGIC {
        return damaged("it does not begin like a segment".into());
    }
    let version = decoder.u32()?;
    let (stored, computed) = (decoder.u32()?, header_crc32c(header));
    if stored != computed {
        return damaged(format!("header: checksum {computed:#010x} does not match {stored:#010x}"));
    }
    if version != SEGMENT_VERSION {
        return Err(BadHeader::Version(version));
    }
    if decoder.raw(16)? != database.0 {
        return damaged("it is of another database".into());
    }
    let found = decoder.u64()?;
    if found != number {
        return damaged(format!("it is segment {found}"));
    }
    Ok(Lsn(decoder.u64()?))
}

/// Returns the name of the pool set of a segment.
pub(super) fn set_name(number: u64) -> String {
    format!("redo-{number}")
}

/// Returns the number of the segment if a file is a member of one.
pub(crate) fn segment_of(file_name: &str) -> Option<u64> {
    let (number, _) = file_name.strip_prefix("redo-")?.split_once('.')?;
    let number = number.parse().ok()?;
    member_index(&set_name(number), file_name).map(|_| number)
}

/// Removes the files of segments whose number `is_unneeded`.
pub(super) fn remove_files(domains: &[Domain], is_unneeded: impl Fn(u64) -> bool) -> Result<()> {
    for domain in domains {
        for name in domain.list_pools()? {
            if segment_of(&name).is_some_and(&is_unneeded) {
                domain.remove_pool(&name)?;
            }
        }
    }
    Ok(())
}

/// Returns the error for segment `number` whose groups cannot be read.
pub(super) fn lost(number: u64, reason: impl std::fmt::Display) -> Error {
    Error::RedoDamaged { reasons: vec![format!("segment {number}: {reason}")] }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn state_survives_its_word_and_no_flipped_bit_does() {
        let ends = [0, 64, 128 * 64, 1 << 40].map(Lsn);
        let states = ends.into_iter().flat_map(|end| [State::Closed(end), State::Sealed(end)]);
        for state in std::iter::once(State::Open).chain(states) {
            let word = state.to_word();
            assert_eq!(State::from_word(word), Some(state));
            let flipped = |bit: &u32| State::from_word(word ^ 1 << bit).is_some();
            assert_eq!((0..64).find(flipped), None, "{state:?}");
        }
    }

    #[test]
    fn files_of_segments_are_told_from_others() {
        assert_eq!(segment_of("redo-17.0"), Some(17));
        for name in ["redo-17", "redo-.0", "redo-1.x", "redo-01.0", "manifest.0", "redo-1.0.0"] {
            assert_eq!(segment_of(name), None, "{name}");
        }
    }
}
