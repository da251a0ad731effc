//! Bytes of the heap's header, root and table lines. The tables are in the module's header.

use super::class::{CLASS_COUNT, CLASSES, GROUP_EXTENTS_MAX};

pub(super) const MAGIC: [u8; 8] = *b"NACREHEP";
pub(super) const VERSION: u32 = 1;
pub(super) const LINE_BYTES: usize = 64;
/// Offset of the root from the heap's start.
pub(super) const ROOT_AT: u64 = 64;
/// Bytes of the root and its checksum.
pub(super) const ROOT_BYTES: usize = 16;
/// Offset of the table from the heap's start.
pub(super) const TABLE_AT: u64 = 4096;

const CRC_AT: usize = 56;

/// Which extents of a group are allocated.
pub(super) type Bits = [u64; GROUP_EXTENTS_MAX / 64];

/// The first line of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Run {
    Free { spans: u32 },
    Group { class: u8, bits: Bits },
    Large { spans: u32 },
}

impl Run {
    /// Returns how many spans the run has.
    pub(super) fn spans(&self) -> u32 {
        match self {
            Run::Free { spans } | Run::Large { spans } => *spans,
            Run::Group { class, .. } => CLASSES[*class as usize].spans,
        }
    }

    pub(super) fn encode(&self, span: u32) -> [u8; LINE_BYTES] {
        let mut line = [0; LINE_BYTES];
        line[0] = match self {
            Run::Free { .. } => 1,
            Run::Group { .. } => 2,
            Run::Large { .. } => 3,
        };
        line[4..8].copy_from_slice(&self.spans().to_le_bytes());
        if let Run::Group { class, bits } = self {
            line[1] = *class;
            for (bytes, word) in line[8..CRC_AT].chunks_exact_mut(8).zip(bits) {
                bytes.copy_from_slice(&word.to_le_bytes());
            }
        }
        let crc = crc32c::crc32c_append(span, &line[..CRC_AT]);
        line[CRC_AT..CRC_AT + 4].copy_from_slice(&crc.to_le_bytes());
        line
    }

    /// Returns the run that begins at `span`, `None` if the line is damaged or begins none.
    pub(super) fn decode(line: &[u8], span: u32) -> Option<Run> {
        let crc = crc32c::crc32c_append(span, &line[..CRC_AT]);
        if u32_at(line, CRC_AT) != crc || line[CRC_AT + 4..] != [0; LINE_BYTES - CRC_AT - 4] {
            return None;
        }
        let spans = u32_at(line, 4);
        let run = match line[0] {
            1 => Run::Free { spans },
            2 if usize::from(line[1]) < CLASS_COUNT => {
                let mut bits = Bits::default();
                for (word, bytes) in bits.iter_mut().zip(line[8..CRC_AT].chunks_exact(8)) {
                    *word = u64_at(bytes, 0);
                }
                Run::Group { class: line[1], bits }
            }
            3 => Run::Large { spans },
            _ => return None,
        };
        let is_sound = spans > 0 && run.spans() == spans && run.has_sound_bits();
        is_sound.then_some(run)
    }

    /// Whether a group has an extent, and none behind its last.
    fn has_sound_bits(&self) -> bool {
        let Run::Group { class, bits } = self else { return true };
        let extents = CLASSES[*class as usize].extents;
        let last = (0..GROUP_EXTENTS_MAX as u32).rev().find(|&index| is_set(bits, index));
        last.is_some_and(|last| last < extents)
    }
}

pub(super) fn is_set(bits: &Bits, index: u32) -> bool {
    bits[index as usize / 64] >> (index % 64) & 1 != 0
}

pub(super) fn set_bit(bits: &mut Bits, index: u32) {
    bits[index as usize / 64] |= 1 << (index % 64);
}

pub(super) fn clear_bit(bits: &mut Bits, index: u32) {
    bits[index as usize / 64] &= !(1 << (index % 64));
}

/// Returns the first clear bit below `count`.
pub(super) fn first_clear(bits: &Bits, count: u32) -> Option<u32> {
    let word = bits.iter().position(|&word| word != u64::MAX)?;
    let index = word as u32 * 64 + bits[word].trailing_ones();
    (index < count).then_some(index)
}

/// What the header says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Header {
    /// Spans in use.
    pub(super) spans: u32,
    /// Lines of the table.
    pub(super) spans_max: u32,
}

/// Why a header cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum HeaderFault {
    NoHeap,
    TooNew(u32),
    Damaged,
}

impl Header {
    /// Returns the offset of span 0 from the heap's start.
    pub(super) fn first_span_at(&self) -> u64 {
        (TABLE_AT + u64::from(self.spans_max) * LINE_BYTES as u64).next_multiple_of(4096)
    }

    pub(super) fn encode(&self) -> [u8; LINE_BYTES] {
        let mut line = [0; LINE_BYTES];
        line[..8].copy_from_slice(&MAGIC);
        line[8..12].copy_from_slice(&VERSION.to_le_bytes());
        line[16..20].copy_from_slice(&self.spans.to_le_bytes());
        line[20..24].copy_from_slice(&self.spans_max.to_le_bytes());
        line[24..32].copy_from_slice(&self.first_span_at().to_le_bytes());
        let crc = crc32c::crc32c(&line[16..]);
        line[12..16].copy_from_slice(&crc.to_le_bytes());
        line
    }

    /// Returns the magic number as a word, and what is behind it.
    pub(super) fn encode_apart(&self) -> (u64, [u8; LINE_BYTES - MAGIC.len()]) {
        let line = self.encode();
        let mut rest = [0; LINE_BYTES - MAGIC.len()];
        rest.copy_from_slice(&line[MAGIC.len()..]);
        (u64_at(&line, 0), rest)
    }

    pub(super) fn decode(line: &[u8]) -> Result<Header, HeaderFault> {
        if line[..8] != MAGIC {
            return Err(HeaderFault::NoHeap);
        }
        let version = u32_at(line, 8);
        if version > VERSION {
            return Err(HeaderFault::TooNew(version));
        }
        let header = Header { spans: u32_at(line, 16), spans_max: u32_at(line, 20) };
        let is_good = line == header.encode() && header.spans <= header.spans_max;
        if is_good { Ok(header) } else { Err(HeaderFault::Damaged) }
    }
}

/// Returns the bytes of the root's line that a change of the root replaces.
pub(super) fn encode_root(root: u64) -> [u8; ROOT_BYTES] {
    let mut line = [0; ROOT_BYTES];
    line[..8].copy_from_slice(&root.to_le_bytes());
    let crc = crc32c::crc32c(&line[..8]);
    line[8..12].copy_from_slice(&crc.to_le_bytes());
    line
}

/// Returns the root, `None` if the line is damaged.
pub(super) fn decode_root(line: &[u8]) -> Option<u64> {
    let root = u64_at(line, 0);
    (line == encode_root(root)).then_some(root)
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

    #[test]
    fn lines_come_back_and_every_flipped_bit_is_noticed() {
        let mut bits = Bits::default();
        set_bit(&mut bits, 0);
        set_bit(&mut bits, 255);
        for run in [Run::Free { spans: 7 }, Run::Group { class: 0, bits }, Run::Large { spans: 9 }]
        {
            let line = run.encode(5);
            assert_eq!(Run::decode(&line, 5), Some(run));
            assert_eq!(Run::decode(&line, 6), None);
            for bit in 0..LINE_BYTES * 8 {
                let mut damaged = line;
                damaged[bit / 8] ^= 1 << (bit % 8);
                assert_eq!(Run::decode(&damaged, 5), None, "{run:?}, bit {bit}");
            }
        }
    }

    #[test]
    fn bits_behind_the_last_extent_and_empty_groups_are_damage() {
        let mut bits = Bits::default();
        assert_eq!(Run::decode(&Run::Group { class: 0, bits }.encode(0), 0), None);
        set_bit(&mut bits, 256);
        assert_eq!(Run::decode(&Run::Group { class: 0, bits }.encode(0), 0), None);
    }

    #[test]
    fn header_tells_foreign_newer_and_damaged_apart() {
        let header = Header { spans: 10, spans_max: 4096 };
        let line = header.encode();
        assert_eq!(Header::decode(&line), Ok(header));
        assert_eq!(Header::decode(&[0; 64]), Err(HeaderFault::NoHeap));
        let mut newer = line;
        newer[8] = 2;
        assert_eq!(Header::decode(&newer), Err(HeaderFault::TooNew(2)));
        for at in 12..64 {
            let mut damaged = line;
            damaged[at] ^= 0x40;
            assert_eq!(Header::decode(&damaged), Err(HeaderFault::Damaged), "byte {at}");
        }
    }
}
