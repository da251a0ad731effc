//! Bytes of a log slot: encoding, checksums, parsing. The table is in the module's header.

use super::check;
use crate::error::{Error, ErrorKind, Result};

/// Bytes of a segment's header; the first entry follows, so a small transaction is one line.
pub(super) const HEADER_BYTES: usize = 24;
/// Bytes of an entry before its old bytes.
pub(super) const ENTRY_BYTES: usize = 16;
const SEQUENCE_AT: usize = 16;

const _: () = assert!(HEADER_BYTES + ENTRY_BYTES + 24 == 64, "one line holds 24 old bytes");

/// What a commit word says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Word {
    /// Not committed.
    Open,
    /// Committed if this is the checksum of the bytes in place.
    Committed(u64),
    /// Rolled back, or committed and settled.
    Retired,
}

const NEW_BYTES: u64 = 1;
const RETIRED: u64 = 2;
const SEGMENT: u64 = 3;

impl Word {
    pub(super) fn encode(self, sequence: u64) -> u64 {
        match self {
            Word::Open => 0,
            Word::Committed(sum) => sum,
            Word::Retired => check::start(sequence, RETIRED),
        }
    }

    fn decode(word: u64, sequence: u64) -> Word {
        match word {
            0 => Word::Open,
            _ if word == Word::Retired.encode(sequence) => Word::Retired,
            _ => Word::Committed(word),
        }
    }
}

/// Returns what the checksum of a transaction's new bytes starts from.
#[inline]
pub(super) fn start_sum(sequence: u64) -> u64 {
    check::start(sequence, NEW_BYTES)
}

/// Appends an entry for `old`, which lies at `offset`.
#[inline]
pub(super) fn push_entry(image: &mut Vec<u8>, offset: u64, old: &[u8]) {
    let mut header = [0; ENTRY_BYTES];
    header[..8].copy_from_slice(&offset.to_le_bytes());
    header[8..12].copy_from_slice(&(old.len() as u32).to_le_bytes());
    image.extend_from_slice(&header);
    image.extend_from_slice(old);
    image.resize(image.len().next_multiple_of(8), 0);
}

/// Fills in the header of the segment that begins at `start` and ends with the image.
pub(super) fn seal(image: &mut [u8], start: usize, sequence: u64, word: Word) {
    let segment = &mut image[start..];
    let bytes = (segment.len() - HEADER_BYTES) as u32;
    segment[..8].copy_from_slice(&word.encode(sequence).to_le_bytes());
    segment[12..16].copy_from_slice(&bytes.to_le_bytes());
    segment[16..24].copy_from_slice(&sequence.to_le_bytes());
    let sum = segment_sum(segment, start, sequence);
    segment[8..12].copy_from_slice(&sum.to_le_bytes());
}

/// Returns the checksum of a segment's entries, and of its sequence number, place and length.
fn segment_sum(segment: &[u8], start: usize, sequence: u64) -> u32 {
    let place = (start as u64) << 32 | segment.len() as u64;
    let sum = check::add(check::start(sequence, SEGMENT), &place.to_le_bytes());
    check::fold(check::add(sum, &segment[HEADER_BYTES..]))
}

/// Returns the size of the sealed segment at `start` of an image.
pub(super) fn segment_bytes(image: &[u8], start: usize) -> usize {
    HEADER_BYTES + u32_at(image, start + 12) as usize
}

/// One range of a log slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Entry<'a> {
    pub(super) offset: u64,
    pub(super) old: &'a [u8],
}

/// What a slot holds.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Slot<'a> {
    /// Never used.
    Empty,
    /// Cut off before its first fence, or damaged.
    Torn,
    /// A transaction whose log is whole.
    Sealed { sequence: u64, word: Word, entries: Vec<Entry<'a>> },
}

impl Slot<'_> {
    pub(super) fn sequence(&self) -> Option<u64> {
        match self {
            Slot::Empty => Some(0),
            Slot::Torn => None,
            Slot::Sealed { sequence, .. } => Some(*sequence),
        }
    }
}

/// Parses a slot. Entries come in the order in which they were written.
///
/// # Errors
/// `Corrupt` if the checksum is good but the entries do not fit it.
pub(super) fn parse<'a>(slot: &'a [u8], object: &str) -> Result<Slot<'a>> {
    if slot[..HEADER_BYTES].iter().all(|&byte| byte == 0) {
        return Ok(Slot::Empty);
    }
    let sequence = u64_at(slot, SEQUENCE_AT);
    let word = Word::decode(u64_at(slot, 0), sequence);
    let mut entries = Vec::new();
    let mut start = 0;
    while let Some(segment) = segment(slot, start, sequence) {
        push_entries(&segment[HEADER_BYTES..], &mut entries).ok_or_else(|| {
            Error::new(
                ErrorKind::Corrupt,
                object,
                format!("undo log: transaction {sequence} has an entry longer than its segment"),
                "restore it from a copy",
            )
        })?;
        start += segment.len();
        if word == Word::Retired {
            break;
        }
    }
    if start == 0 {
        return Ok(Slot::Torn);
    }
    Ok(Slot::Sealed { sequence, word, entries })
}

/// Returns the segment at `start` if its checksum is good and it belongs to `sequence`.
fn segment(slot: &[u8], start: usize, sequence: u64) -> Option<&[u8]> {
    let header = slot.get(start..start + HEADER_BYTES)?;
    let bytes = u32_at(header, 12) as usize;
    let segment = slot.get(start..(start + HEADER_BYTES).checked_add(bytes)?)?;
    let is_good = sequence != 0
        && bytes.is_multiple_of(8)
        && u64_at(header, SEQUENCE_AT) == sequence
        && u32_at(header, 8) == segment_sum(segment, start, sequence);
    is_good.then_some(segment)
}

/// Splits the entries of a segment; `None` if they do not end where it ends.
pub(super) fn push_entries<'a>(mut bytes: &'a [u8], entries: &mut Vec<Entry<'a>>) -> Option<()> {
    while !bytes.is_empty() {
        let (header, rest) = bytes.split_at_checked(ENTRY_BYTES)?;
        let length = u32_at(header, 8) as usize;
        let old = rest.get(..length)?;
        entries.push(Entry { offset: u64_at(header, 0), old });
        bytes = rest.get(length.next_multiple_of(8)..)?;
    }
    Some(())
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    let mut word = [0; 8];
    word.copy_from_slice(&bytes[at..at + 8]);
    u64::from_le_bytes(word)
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    let mut word = [0; 4];
    word.copy_from_slice(&bytes[at..at + 4]);
    u32::from_le_bytes(word)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn image(sequence: u64, entries: &[(u64, &[u8])], word: Word) -> Vec<u8> {
        let mut image = vec![0; HEADER_BYTES];
        for (offset, old) in entries {
            push_entry(&mut image, *offset, old);
        }
        seal(&mut image, 0, sequence, word);
        image
    }

    fn in_slot(image: &[u8]) -> Vec<u8> {
        let mut slot = vec![0; 1024];
        slot[..image.len()].copy_from_slice(image);
        slot
    }

    #[test]
    fn small_transaction_is_one_line() {
        assert!(image(1, &[(0, &[1; 24])], Word::Open).len() <= 64);
    }

    #[test]
    fn parse_gives_back_what_was_sealed() {
        let mut first = image(7, &[(100, b"abc"), (200, b"12345678")], Word::Committed(99));
        let start = first.len();
        first.resize(start + HEADER_BYTES, 0);
        push_entry(&mut first, 300, b"z");
        seal(&mut first, start, 7, Word::Open);
        let slot = in_slot(&first);
        let Slot::Sealed { sequence, word, entries } = parse(&slot, "set").unwrap() else {
            panic!("not sealed");
        };
        assert_eq!((sequence, word), (7, Word::Committed(99)));
        let found: Vec<_> = entries.iter().map(|entry| (entry.offset, entry.old)).collect();
        assert_eq!(found, [(100, &b"abc"[..]), (200, b"12345678"), (300, b"z")]);
        assert_eq!(parse(&[0; 128], "set").unwrap(), Slot::Empty);
    }

    #[test]
    fn every_flipped_bit_is_noticed_or_changes_nothing() {
        let slot = in_slot(&image(7, &[(100, b"abc")], Word::Committed(99)));
        for bit in 0..(HEADER_BYTES + ENTRY_BYTES + 8) * 8 {
            let mut damaged = slot.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            match parse(&damaged, "set").unwrap() {
                Slot::Torn => assert!(bit >= 64, "bit {bit}"),
                Slot::Sealed { word, .. } => {
                    assert!(bit < 64 && word != Word::Committed(99), "bit {bit}");
                }
                Slot::Empty => panic!("bit {bit}"),
            }
        }
    }

    #[test]
    fn words_of_another_transaction_say_nothing() {
        for word in [Word::Committed(5), Word::Retired, Word::Open] {
            assert_eq!(Word::decode(word.encode(8), 8), word);
        }
        assert_ne!(Word::decode(Word::Retired.encode(8), 10), Word::Retired);
        assert_ne!(start_sum(8), start_sum(10));
    }

    #[test]
    fn retired_slot_ends_at_its_first_segment() {
        let mut slot = in_slot(&image(9, &[(64, b"old entry"), (80, b"x")], Word::Open));
        let retired = image(9, &[], Word::Retired);
        slot[..retired.len()].copy_from_slice(&retired);
        let parsed = parse(&slot, "set").unwrap();
        let expected = Slot::Sealed { sequence: 9, word: Word::Retired, entries: Vec::new() };
        assert_eq!(parsed, expected);
    }
}
