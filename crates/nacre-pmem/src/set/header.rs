//! Header of a member file: who it is, which set it belongs to, how far it followed.
//!
//! A header is written whole into the slot that does not hold the current one, so a crash leaves
//! the old or the new header. The valid slot with the higher sequence counts. What is acknowledged
//! is in both slots, so that damage to either loses nothing.
//!
//! # Layout
//! A member file (bytes):
//!
//! | offset | bytes | meaning |
//! |---|---|---|
//! | 0 | 4096 | header slot A |
//! | 4096 | 4096 | header slot B |
//! | 8192 | 4096 | intent map, one bit a region (see `intent`) |
//! | 12288 | 53248 | reserved, zeros |
//! | 65536 | `log_bytes` | transaction log |
//! | 65536 + `log_bytes` | `data_bytes` | data area |
//!
//! A header slot (little-endian):
//!
//! | offset | bytes | field |
//! |---|---|---|
//! | 0 | 8 | magic `NACRESET`, the same in all versions |
//! | 8 | 4 | version |
//! | 12 | 4 | phase: 0 settled, 1 raising (nothing was acknowledged in this epoch), 2 creating |
//! | 16 | 8 | sequence: rises with every round of header writes of the set |
//! | 24 | 16 | uuid of the set |
//! | 40 | 16 | uuid of this member |
//! | 56 | 8 | epoch |
//! | 64 | 8 | random number of the epoch: equal numbers were raised together |
//! | 72 | 8 | lowest epoch of members that are as good, while raising |
//! | 80 | 8 | `data_bytes` |
//! | 88 | 8 | `log_bytes` |
//! | 96 | 8 | bytes of a region of the intent map, a power of two |
//! | 104 | 4 | index of this member, the number in its file name |
//! | 108 | 4 | members in the table |
//! | 112 | 16 x 48 | member table |
//! | 880 | 4 | bytes of the name of the set |
//! | 884 | 256 | name of the set in UTF-8, zeros behind it |
//! | 1140 | 2952 | reserved, zeros |
//! | 4092 | 4 | CRC-32C of the bytes before, in the same place in all versions |
//!
//! Version 1 had zeros from 880 and no phase 2; it is read, and replaced by the next header.
//!
//! A row of the member table:
//!
//! | offset | bytes | field |
//! |---|---|---|
//! | 0 | 16 | uuid of the member |
//! | 16 | 8 | last epoch in which it was good |
//! | 24 | 4 | index |
//! | 28 | 4 | standing: 1 good, 2 rebuilding, 3 stale |
//! | 32 | 4 | index of the member that it replaces once it is good, or all ones |
//! | 36 | 4 | wanted NUMA node, or all ones |
//! | 40 | 8 | reserved, zeros |

use std::fmt;
use std::io;

use crate::error::{Error, ErrorKind};

/// First bytes of every header slot.
const MAGIC: [u8; 8] = *b"NACRESET";
/// Version of the layout above.
const VERSION: u32 = 2;
/// Oldest version that is read.
const VERSION_MIN: u32 = 1;
/// First version with a name.
const VERSION_WITH_NAME: u32 = 2;
/// Bytes of a header slot.
pub(crate) const SLOT_BYTES: usize = 4096;
/// Offset of the intent map.
pub(crate) const INTENT_OFFSET: u64 = 2 * SLOT_BYTES as u64;
/// Bytes of the intent map.
pub(crate) const INTENT_BYTES: u64 = 4096;
/// Offset of the transaction log: what lies before belongs to the pool set.
pub const DATA_OFFSET: u64 = 64 << 10;
/// Rows of the member table: 8 members, and as many that are on the move.
pub(crate) const ROWS_MAX: usize = 16;

const TABLE_OFFSET: usize = 112;
const ROW_BYTES: usize = 48;
const NAME_LENGTH_OFFSET: usize = TABLE_OFFSET + ROWS_MAX * ROW_BYTES;
const NAME_OFFSET: usize = NAME_LENGTH_OFFSET + 4;
/// Longest name of a set: that of a file, which has a number behind it.
pub(crate) const NAME_BYTES_MAX: usize = 256;
const RESERVED_OFFSET: usize = NAME_OFFSET + NAME_BYTES_MAX;
const CRC_OFFSET: usize = SLOT_BYTES - 4;
const NONE: u32 = u32::MAX;

const _: () = assert!(NAME_LENGTH_OFFSET == 880 && RESERVED_OFFSET == 1140);
const _: () = assert!(RESERVED_OFFSET <= CRC_OFFSET && CRC_OFFSET == 4092);
const _: () = assert!(INTENT_OFFSET + INTENT_BYTES == 12288 && 12288 <= DATA_OFFSET);

/// A random 16-byte name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Uuid(pub(crate) [u8; 16]);

impl Uuid {
    /// Draws a name from the kernel's random numbers, which takes no file descriptor.
    pub(crate) fn random() -> io::Result<Uuid> {
        let mut bytes = [0; 16];
        getrandom::fill(&mut bytes).map_err(io::Error::from)?;
        Ok(Uuid(bytes))
    }

    /// Returns half of the name as a number.
    pub(crate) fn number(self) -> u64 {
        u64_at(&self.0, 0)
    }
}

impl fmt::Display for Uuid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// Whether what a member holds can be trusted, as the other members know it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Standing {
    Good,
    Rebuilding,
    Stale,
}

/// A row of the member table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Row {
    pub(crate) uuid: Uuid,
    pub(crate) good_epoch: u64,
    pub(crate) index: u32,
    pub(crate) standing: Standing,
    pub(crate) replaces: Option<u32>,
    pub(crate) node: Option<u32>,
}

/// Whether anything can have been acknowledged in an epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    Settled,
    Raising,
    /// The set is being created: nothing was ever acknowledged.
    Creating,
}

impl Phase {
    const ALL: [Phase; 3] = [Phase::Settled, Phase::Raising, Phase::Creating];
}

/// What one header says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Header {
    pub(crate) phase: Phase,
    pub(crate) sequence: u64,
    pub(crate) set: Uuid,
    pub(crate) member: Uuid,
    pub(crate) epoch: u64,
    pub(crate) epoch_number: u64,
    pub(crate) base_epoch: u64,
    pub(crate) data_bytes: u64,
    pub(crate) log_bytes: u64,
    pub(crate) region_bytes: u64,
    pub(crate) index: u32,
    pub(crate) rows: Vec<Row>,
    /// Name of the set; version 1 had none.
    pub(crate) name: Option<String>,
}

impl Header {
    /// Returns the bytes of a member file.
    pub(crate) fn file_bytes(&self) -> u64 {
        DATA_OFFSET.saturating_add(self.log_bytes).saturating_add(self.data_bytes)
    }

    /// Returns the row of a member.
    pub(crate) fn row(&self, uuid: Uuid) -> Option<&Row> {
        self.rows.iter().find(|row| row.uuid == uuid)
    }

    /// Writes the slot's bytes.
    ///
    /// # Panics
    /// If there are more than [`ROWS_MAX`] rows or the name is longer than that of a file: callers
    /// refuse them.
    pub(crate) fn encode(&self) -> Vec<u8> {
        let name = self.name.as_deref().unwrap_or_default().as_bytes();
        assert!(self.rows.len() <= ROWS_MAX && name.len() <= NAME_BYTES_MAX);
        let mut slot = vec![0; SLOT_BYTES];
        let mut put = |offset: usize, bytes: &[u8]| {
            slot[offset..offset + bytes.len()].copy_from_slice(bytes);
        };
        put(0, &MAGIC);
        put(8, &VERSION.to_le_bytes());
        put(12, &(self.phase as u32).to_le_bytes());
        put(16, &self.sequence.to_le_bytes());
        put(24, &self.set.0);
        put(40, &self.member.0);
        put(56, &self.epoch.to_le_bytes());
        put(64, &self.epoch_number.to_le_bytes());
        put(72, &self.base_epoch.to_le_bytes());
        put(80, &self.data_bytes.to_le_bytes());
        put(88, &self.log_bytes.to_le_bytes());
        put(96, &self.region_bytes.to_le_bytes());
        put(104, &self.index.to_le_bytes());
        put(108, &(self.rows.len() as u32).to_le_bytes());
        for (number, row) in self.rows.iter().enumerate() {
            let offset = TABLE_OFFSET + number * ROW_BYTES;
            let standing: u32 = match row.standing {
                Standing::Good => 1,
                Standing::Rebuilding => 2,
                Standing::Stale => 3,
            };
            put(offset, &row.uuid.0);
            put(offset + 16, &row.good_epoch.to_le_bytes());
            put(offset + 24, &row.index.to_le_bytes());
            put(offset + 28, &standing.to_le_bytes());
            put(offset + 32, &row.replaces.unwrap_or(NONE).to_le_bytes());
            put(offset + 36, &row.node.unwrap_or(NONE).to_le_bytes());
        }
        put(NAME_LENGTH_OFFSET, &(name.len() as u32).to_le_bytes());
        put(NAME_OFFSET, name);
        seal(&mut slot);
        slot
    }
}

/// Writes the checksum of a slot.
fn seal(slot: &mut [u8]) {
    let crc = crc32c::crc32c(&slot[..CRC_OFFSET]);
    slot[CRC_OFFSET..].copy_from_slice(&crc.to_le_bytes());
}

/// What is wrong with both slots of a file.
#[derive(Debug)]
pub(crate) enum Unreadable {
    /// Nothing was ever written there, as after a crash while the member was created.
    Blank,
    /// A crash came in the middle of the first header.
    Torn,
    /// No file of ours.
    Foreign,
    /// Ours, written by a newer version.
    TooNew(u32),
    /// Ours, but no slot agrees with its checksum.
    Corrupt(String),
}

impl Unreadable {
    /// Returns the error about `object`.
    pub(crate) fn error(&self, object: &str) -> Error {
        match self {
            Unreadable::Blank => Error::new(
                ErrorKind::Corrupt,
                object,
                "its header was never written",
                "remove the file: it holds nothing",
            ),
            Unreadable::Torn => Error::new(
                ErrorKind::Corrupt,
                object,
                "its first header was not written whole",
                "remove the file: it holds nothing",
            ),
            Unreadable::Foreign => Error::new(
                ErrorKind::Foreign,
                object,
                "it does not begin with the magic number of a pool set",
                "take the file away, or open another name",
            ),
            Unreadable::TooNew(version) => Error::new(
                ErrorKind::TooNew,
                object,
                format!("its header has version {version}, this software knows {VERSION}"),
                "use the newer software",
            ),
            Unreadable::Corrupt(problem) => Error::new(
                ErrorKind::Corrupt,
                object,
                problem.as_str(),
                "rebuild it from another replica, or restore it from a copy",
            ),
        }
    }
}

/// Returns the numbers of the slots that hold no header, of a file that has one in the other.
pub(crate) fn damaged_slots(bytes: &[u8]) -> Vec<usize> {
    let slots = bytes.chunks_exact(SLOT_BYTES).take(2).enumerate();
    slots.filter(|(_, slot)| decode_slot(slot).is_err()).map(|(number, _)| number).collect()
}

/// Reads both slots from the first bytes of a file, which may be short, and returns the current
/// header with the number of its slot.
pub(crate) fn decode(bytes: &[u8]) -> Result<(Header, usize), Unreadable> {
    let slots: Vec<_> = bytes.chunks_exact(SLOT_BYTES).take(2).map(decode_slot).collect();
    let has_blank = slots.iter().any(|slot| matches!(slot, Err(Unreadable::Blank)));
    if slots.is_empty() {
        return Err(match bytes.iter().all(|&byte| byte == 0) {
            true => Unreadable::Blank,
            false if bytes.starts_with(&MAGIC) || MAGIC.starts_with(bytes) => {
                Unreadable::Corrupt("it is cut off".to_string())
            }
            false => Unreadable::Foreign,
        });
    }
    let mut worst = Unreadable::Blank;
    let mut best: Option<(Header, usize)> = None;
    for (number, slot) in slots.into_iter().enumerate() {
        match slot {
            Ok(header) => {
                if best.as_ref().is_none_or(|(other, _)| header.sequence > other.sequence) {
                    best = Some((header, number));
                }
            }
            Err(found) => {
                if rank(&found) > rank(&worst) {
                    worst = found;
                }
            }
        }
    }
    match (best, worst) {
        // A newer version wrote the other slot last, or a file was downgraded: it knows better.
        (Some(_), newer @ Unreadable::TooNew(_)) => Err(newer),
        (Some(best), _) => Ok(best),
        // Both slots are written before anything is acknowledged.
        (None, Unreadable::Corrupt(_)) if has_blank => Err(Unreadable::Torn),
        (None, worst) => Err(worst),
    }
}

/// Returns which of two findings says more about a file.
fn rank(found: &Unreadable) -> u32 {
    match found {
        Unreadable::Blank => 0,
        Unreadable::Torn => 1,
        Unreadable::Foreign => 2,
        Unreadable::Corrupt(_) => 3,
        Unreadable::TooNew(_) => 4,
    }
}

fn decode_slot(slot: &[u8]) -> Result<Header, Unreadable> {
    if slot[..8] != MAGIC {
        let is_zero = |bytes: &[u8]| bytes.iter().all(|&byte| byte == 0);
        return Err(match (is_zero(&slot[..8]), is_zero(slot)) {
            (true, true) => Unreadable::Blank,
            // A crash in the middle of the first header may leave any words of it out.
            (true, false) => Unreadable::Torn,
            (false, _) => Unreadable::Foreign,
        });
    }
    let (found, computed) = (u32_at(slot, CRC_OFFSET), crc32c::crc32c(&slot[..CRC_OFFSET]));
    if found != computed {
        let problem = format!("header: checksum {found:#010x} does not match {computed:#010x}");
        return Err(Unreadable::Corrupt(problem));
    }
    let version = u32_at(slot, 8);
    if version > VERSION {
        return Err(Unreadable::TooNew(version));
    }
    let count = u32_at(slot, 108) as usize;
    let region_bytes = u64_at(slot, 96);
    let (data_bytes, log_bytes) = (u64_at(slot, 80), u64_at(slot, 88));
    let phase = Phase::ALL.into_iter().find(|phase| *phase as u32 == u32_at(slot, 12));
    let is_sound = version >= VERSION_MIN
        && count <= ROWS_MAX
        && region_bytes.is_power_of_two()
        && data_bytes.checked_add(log_bytes).is_some_and(|bytes| bytes <= i64::MAX as u64 / 2);
    let rows: Option<Vec<Row>> = (0..count.min(ROWS_MAX))
        .map(|number| decode_row(&slot[TABLE_OFFSET + number * ROW_BYTES..][..ROW_BYTES]))
        .collect();
    let name = match version >= VERSION_WITH_NAME {
        true => decode_name(slot).map(Some),
        false => Some(None),
    };
    let (true, Some(phase), Some(rows), Some(name)) = (is_sound, phase, rows, name) else {
        return Err(Unreadable::Corrupt(format!(
            "header: version {version}, phase {}, {count} members, {data_bytes} + {log_bytes} \
             bytes, regions of {region_bytes} bytes and a name of {} bytes cannot be",
            u32_at(slot, 12),
            u32_at(slot, NAME_LENGTH_OFFSET)
        )));
    };
    Ok(Header {
        phase,
        sequence: u64_at(slot, 16),
        set: uuid_at(slot, 24),
        member: uuid_at(slot, 40),
        epoch: u64_at(slot, 56),
        epoch_number: u64_at(slot, 64),
        base_epoch: u64_at(slot, 72),
        data_bytes,
        log_bytes,
        region_bytes,
        index: u32_at(slot, 104),
        rows,
        name,
    })
}

fn decode_name(slot: &[u8]) -> Option<String> {
    let bytes = u32_at(slot, NAME_LENGTH_OFFSET) as usize;
    let name = slot[NAME_OFFSET..RESERVED_OFFSET].get(..bytes)?;
    std::str::from_utf8(name).ok().map(str::to_string)
}

fn decode_row(row: &[u8]) -> Option<Row> {
    let standing = match u32_at(row, 28) {
        1 => Standing::Good,
        2 => Standing::Rebuilding,
        3 => Standing::Stale,
        _ => return None,
    };
    let some = |value: u32| (value != NONE).then_some(value);
    Some(Row {
        uuid: uuid_at(row, 0),
        good_epoch: u64_at(row, 16),
        index: u32_at(row, 24),
        standing,
        replaces: some(u32_at(row, 32)),
        node: some(u32_at(row, 36)),
    })
}

fn u32_at(bytes: &[u8], offset: usize) -> u32 {
    let mut word = [0; 4];
    word.copy_from_slice(&bytes[offset..offset + 4]);
    u32::from_le_bytes(word)
}

fn u64_at(bytes: &[u8], offset: usize) -> u64 {
    let mut word = [0; 8];
    word.copy_from_slice(&bytes[offset..offset + 8]);
    u64::from_le_bytes(word)
}

fn uuid_at(bytes: &[u8], offset: usize) -> Uuid {
    let mut uuid = [0; 16];
    uuid.copy_from_slice(&bytes[offset..offset + 16]);
    Uuid(uuid)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(sequence: u64) -> Header {
        let row = |index: u32, standing| Row {
            uuid: Uuid([index as u8 + 1; 16]),
            good_epoch: 7,
            index,
            standing,
            replaces: (index == 2).then_some(1),
            node: (index == 0).then_some(3),
        };
        Header {
            phase: Phase::Raising,
            sequence,
            set: Uuid([9; 16]),
            member: Uuid([1; 16]),
            epoch: 8,
            epoch_number: 0x1234_5678_9abc,
            base_epoch: 7,
            data_bytes: 1 << 20,
            log_bytes: 64 << 10,
            region_bytes: 64 << 10,
            index: 0,
            rows: vec![
                row(0, Standing::Good),
                row(1, Standing::Stale),
                row(2, Standing::Rebuilding),
            ],
            name: Some("accounts".to_string()),
        }
    }

    #[test]
    fn header_reads_back_from_either_slot() {
        let (old, new) = (header(4).encode(), header(5).encode());
        assert_eq!(decode(&[old.clone(), new.clone()].concat()).unwrap(), (header(5), 1));
        assert_eq!(decode(&[new.clone(), old].concat()).unwrap(), (header(5), 0));
        assert_eq!(decode(&[vec![0; SLOT_BYTES], new].concat()).unwrap(), (header(5), 1));
    }

    #[test]
    fn torn_slot_leaves_the_other_one() {
        let (old, new) = (header(4).encode(), header(5).encode());
        for bytes in (0..SLOT_BYTES).step_by(64) {
            let mut torn = vec![0; SLOT_BYTES];
            torn[..bytes].copy_from_slice(&new[..bytes]);
            let found = decode(&[old.clone(), torn].concat()).unwrap();
            assert_eq!(found, (header(4), 0), "{bytes}");
        }
    }

    #[test]
    fn every_flipped_bit_is_found() {
        let slot = header(4).encode();
        for byte in 0..SLOT_BYTES {
            let mut flipped = slot.clone();
            flipped[byte] ^= 1 << (byte % 8);
            assert!(decode(&flipped).is_err(), "{byte}");
        }
    }

    #[test]
    fn what_is_no_header_says_why() {
        assert!(matches!(decode(&[]), Err(Unreadable::Blank)));
        assert!(matches!(decode(&[0; 2 * SLOT_BYTES]), Err(Unreadable::Blank)));
        let torn = [&[0; 512], &header(1).encode()[512..], &[0; SLOT_BYTES]].concat();
        assert!(matches!(decode(&torn), Err(Unreadable::Torn)));
        let torn = [&header(1).encode()[..512], &[0; 2 * SLOT_BYTES - 512]].concat();
        assert!(matches!(decode(&torn), Err(Unreadable::Torn)));
        assert!(matches!(decode(b"#!/bin/sh"), Err(Unreadable::Foreign)));
        assert!(matches!(decode(&[7; 2 * SLOT_BYTES]), Err(Unreadable::Foreign)));
        assert!(matches!(decode(&header(1).encode()[..99]), Err(Unreadable::Corrupt(_))));
        let newer = changed(header(4), |slot| slot[8] = 3);
        assert!(matches!(decode(&newer), Err(Unreadable::TooNew(3))));
        let both = [header(3).encode(), newer].concat();
        assert!(matches!(decode(&both), Err(Unreadable::TooNew(3))));
        for (offset, byte) in [(8, 0), (12, 3), (NAME_LENGTH_OFFSET + 1, 2), (NAME_OFFSET, 0xff)] {
            let wrong = changed(header(4), |slot| slot[offset] = byte);
            assert!(matches!(decode(&wrong), Err(Unreadable::Corrupt(_))), "{offset}");
        }
    }

    #[test]
    fn header_of_version_1_is_read_without_a_name() {
        let old = changed(header(4), |slot| {
            slot[8] = 1;
            slot[NAME_LENGTH_OFFSET..CRC_OFFSET].fill(0);
        });
        assert_eq!(decode(&old).unwrap(), (Header { name: None, ..header(4) }, 0));
    }

    #[test]
    fn slot_without_a_header_is_named() {
        let good = header(4).encode();
        assert_eq!(damaged_slots(&[good.clone(), good.clone()].concat()), [0; 0]);
        assert_eq!(damaged_slots(&[vec![0; SLOT_BYTES], good.clone()].concat()), [0]);
        assert_eq!(damaged_slots(&[good, vec![7; SLOT_BYTES]].concat()), [1]);
    }

    #[test]
    fn layout_is_as_drawn() {
        const LAYOUT: &str = include_str!("../../../../docs/layout.md");
        let section = LAYOUT.split("### Pool set header").nth(1).unwrap();
        let section = section.split("\n#").next().unwrap();
        let slot = header(4).encode();
        for (offset, bytes, field, value) in [
            (0, 8, "magic", MAGIC.to_vec()),
            (8, 4, "version", VERSION.to_le_bytes().to_vec()),
            (12, 4, "phase", 1u32.to_le_bytes().to_vec()),
            (16, 8, "sequence", 4u64.to_le_bytes().to_vec()),
            (24, 16, "set", vec![9; 16]),
            (40, 16, "member", vec![1; 16]),
            (56, 8, "epoch", 8u64.to_le_bytes().to_vec()),
            (64, 8, "epoch_number", 0x1234_5678_9abcu64.to_le_bytes().to_vec()),
            (72, 8, "base_epoch", 7u64.to_le_bytes().to_vec()),
            (80, 8, "data_bytes", (1u64 << 20).to_le_bytes().to_vec()),
            (88, 8, "log_bytes", (64u64 << 10).to_le_bytes().to_vec()),
            (96, 8, "region_bytes", (64u64 << 10).to_le_bytes().to_vec()),
            (104, 4, "index", 0u32.to_le_bytes().to_vec()),
            (108, 4, "rows", 3u32.to_le_bytes().to_vec()),
            (TABLE_OFFSET, ROWS_MAX * ROW_BYTES, "member_table", vec![1; 16]),
            (NAME_LENGTH_OFFSET, 4, "name_bytes", 8u32.to_le_bytes().to_vec()),
            (NAME_OFFSET, NAME_BYTES_MAX, "name", b"accounts\0".to_vec()),
            (RESERVED_OFFSET, CRC_OFFSET - RESERVED_OFFSET, "reserved", vec![0; 2952]),
            (CRC_OFFSET, 4, "crc", crc32c::crc32c(&slot[..CRC_OFFSET]).to_le_bytes().to_vec()),
        ] {
            let row = format!("| {offset} | {bytes} | {field} |");
            assert!(section.contains(&row), "docs/layout.md lacks {row}");
            assert_eq!(slot[offset..offset + value.len()], value[..], "{field}");
        }
    }

    /// Returns a slot with a change and the checksum that it needs.
    fn changed(header: Header, change: impl FnOnce(&mut [u8])) -> Vec<u8> {
        let mut slot = header.encode();
        change(&mut slot);
        seal(&mut slot);
        slot
    }
}
