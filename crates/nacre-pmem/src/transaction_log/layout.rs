//! Bytes of a log slot: encoding, checksums, parsing. The table is in the module's header.

use super::check;
use crate::error::{Error, ErrorKind, Result};

/// Bytes of a record's header; the first entry follows, so a small transaction is one line.
pub(super) const HEADER_BYTES: usize = 24;
/// Bytes of an entry before its new bytes.
pub(super) const ENTRY_BYTES: usize = 16;
const SEQUENCE_AT: usize = 8;
const LENGTH_AT: usize = 16;

const _: () = assert!(HEADER_BYTES + ENTRY_BYTES + 24 == 64, "one line holds 24 new bytes");

const RECORD: u64 = 1;
const RETIRED: u64 = 2;

/// Returns the first word of a slot whose transaction is durable in place.
pub(super) fn retired_word(sequence: u64) -> u64 {
    check::start(sequence, RETIRED)
}

/// Appends an entry for `new`, which belongs at `offset`; returns where it lies in the image.
#[inline]
pub(super) fn push_entry(image: &mut Vec<u8>, offset: u64, new: &[u8]) -> usize {
    let mut header = [0; ENTRY_BYTES];
    header[..8].copy_from_slice(&offset.to_le_bytes());
    header[8..12].copy_from_slice(&(new.len() as u32).to_le_bytes());
    image.extend_from_slice(&header);
    let at = image.len();
    image.extend_from_slice(new);
    image.resize(image.len().next_multiple_of(8), 0);
    at
}

/// Fills in the header of the record that `image` is.
#[inline]
pub(super) fn seal(image: &mut [u8], sequence: u64) {
    let bytes = (image.len() - HEADER_BYTES) as u32;
    image[SEQUENCE_AT..LENGTH_AT].copy_from_slice(&sequence.to_le_bytes());
    image[LENGTH_AT..LENGTH_AT + 4].copy_from_slice(&bytes.to_le_bytes());
    let sum = record_sum(image, sequence);
    image[..SEQUENCE_AT].copy_from_slice(&sum.to_le_bytes());
}

/// Returns the bytes of a slot that says nothing but that what came before `sequence` is final.
pub(super) fn retired(sequence: u64) -> [u8; HEADER_BYTES] {
    let mut header = [0; HEADER_BYTES];
    header[..SEQUENCE_AT].copy_from_slice(&retired_word(sequence).to_le_bytes());
    header[SEQUENCE_AT..LENGTH_AT].copy_from_slice(&sequence.to_le_bytes());
    header
}

/// Returns the checksum of a record, which never is the word of a retired one.
#[inline]
fn record_sum(record: &[u8], sequence: u64) -> u64 {
    let start = check::start(sequence, RECORD);
    match check::add(start, &record[SEQUENCE_AT..]) {
        sum if sum == retired_word(sequence) => !sum,
        sum => sum,
    }
}

/// One range of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Entry<'a> {
    pub(super) offset: u64,
    pub(super) new: &'a [u8],
}

/// What a slot holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Slot<'a> {
    /// Never used.
    Empty,
    /// Cut off before its fence, or damaged.
    Torn,
    /// The transaction is durable in place.
    Retired { sequence: u64 },
    /// A whole record, which may have to be stored in place.
    Live { sequence: u64, entries: Vec<Entry<'a>> },
}

impl Slot<'_> {
    pub(super) fn sequence(&self) -> Option<u64> {
        match self {
            Slot::Empty => Some(0),
            Slot::Torn => None,
            Slot::Retired { sequence } | Slot::Live { sequence, .. } => Some(*sequence),
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
    let (word, sequence) = (u64_at(slot, 0), u64_at(slot, SEQUENCE_AT));
    if sequence == 0 {
        return Ok(Slot::Torn);
    }
    if word == retired_word(sequence) {
        return Ok(Slot::Retired { sequence });
    }
    let end = HEADER_BYTES.checked_add(u32_at(slot, LENGTH_AT) as usize);
    let Some(record) = end.and_then(|end| slot.get(..end)) else { return Ok(Slot::Torn) };
    if word != record_sum(record, sequence) {
        return Ok(Slot::Torn);
    }
    let mut entries = Vec::new();
    push_entries(&record[HEADER_BYTES..], &mut entries).ok_or_else(|| {
        Error::new(
            ErrorKind::Corrupt,
            object,
            format!("transaction log: record {sequence} has an entry longer than itself"),
            "restore it from a copy",
        )
    })?;
    Ok(Slot::Live { sequence, entries })
}

/// Splits the entries of a record; `None` if they do not end where it ends.
fn push_entries<'a>(mut bytes: &'a [u8], entries: &mut Vec<Entry<'a>>) -> Option<()> {
    while !bytes.is_empty() {
        let (header, rest) = bytes.split_at_checked(ENTRY_BYTES)?;
        let length = u32_at(header, 8) as usize;
        let new = rest.get(..length)?;
        entries.push(Entry { offset: u64_at(header, 0), new });
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

    fn image(sequence: u64, entries: &[(u64, &[u8])]) -> Vec<u8> {
        let mut image = vec![0; HEADER_BYTES];
        for (offset, new) in entries {
            push_entry(&mut image, *offset, new);
        }
        seal(&mut image, sequence);
        image
    }

    fn in_slot(image: &[u8]) -> Vec<u8> {
        let mut slot = vec![0; 1024];
        slot[..image.len()].copy_from_slice(image);
        slot
    }

    #[test]
    fn small_transaction_is_one_line() {
        assert!(image(1, &[(0, &[1; 24])]).len() <= 64);
    }

    #[test]
    fn parse_gives_back_what_was_sealed() {
        let slot = in_slot(&image(7, &[(100, b"abc"), (200, b"12345678"), (300, b"z")]));
        let Slot::Live { sequence, entries } = parse(&slot, "set").unwrap() else {
            panic!("not live");
        };
        assert_eq!(sequence, 7);
        let found: Vec<_> = entries.iter().map(|entry| (entry.offset, entry.new)).collect();
        assert_eq!(found, [(100, &b"abc"[..]), (200, b"12345678"), (300, b"z")]);
        assert_eq!(parse(&[0; 128], "set").unwrap(), Slot::Empty);
    }

    #[test]
    fn every_flipped_bit_makes_a_record_torn() {
        let slot = in_slot(&image(7, &[(100, b"abc")]));
        for bit in 0..(HEADER_BYTES + ENTRY_BYTES + 8) * 8 {
            let mut damaged = slot.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(parse(&damaged, "set").unwrap(), Slot::Torn, "bit {bit}");
        }
    }

    #[test]
    fn one_word_retires_a_record_and_no_other() {
        let mut slot = in_slot(&image(9, &[(64, b"new bytes"), (80, b"x")]));
        slot[..8].copy_from_slice(&retired_word(9).to_le_bytes());
        assert_eq!(parse(&slot, "set").unwrap(), Slot::Retired { sequence: 9 });
        slot[..8].copy_from_slice(&retired_word(7).to_le_bytes());
        assert_eq!(parse(&slot, "set").unwrap(), Slot::Torn);
        slot[..HEADER_BYTES].copy_from_slice(&retired(10));
        assert_eq!(parse(&slot, "set").unwrap(), Slot::Retired { sequence: 10 });
    }
}
