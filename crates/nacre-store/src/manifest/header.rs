//! What a manifest begins with: which database it is of, and how far its records are published.
//!
//! # Layout
//! At the start of the pool set's data area; drawn in `docs/layout.md`, section "Manifest header",
//! which a test compares. Offsets here are from the start of that area, the published end itself
//! is an offset in the member file.

use super::log::DatabaseId;
use super::record::Record;
use crate::codec::{Decoder, Encoder, Truncated, header_crc32c};

pub(crate) const MAGIC: &[u8; 8] = b"NACREMAN";
/// Version 1 was a file of its own, with this header at its very start. Version 2 has the records
/// of kind 1 to 4 only, version 3 those up to 8, version 4 that of kind 9, too, version 5 all, but
/// without parts of version 3; they become the newest version when the first other one is appended.
pub(crate) const VERSION: u32 = 6;

/// The oldest version that is read.
pub(crate) const OLDEST_VERSION: u32 = 2;

/// Where the word of version and checksum lies: one store replaces both.
pub(crate) const VERSION_OFFSET: u64 = 8;

/// Bytes before the first record.
pub(crate) const HEADER_BYTES: u64 = 128;

/// Where the published end lies.
pub(crate) const PUBLISHED_OFFSET: u64 = 64;

const _: () = assert!(PUBLISHED_OFFSET.is_multiple_of(64) && PUBLISHED_OFFSET < HEADER_BYTES);

/// What a whole member holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Content {
    pub(crate) database: DatabaseId,
    pub(crate) version: u32,
    /// Offset behind the last published record.
    pub(crate) end_offset: u64,
    pub(crate) records: Vec<Record>,
}

/// Why a member cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Unusable {
    Damaged(String),
    Version(u32),
}

impl From<Truncated> for Unusable {
    fn from(_: Truncated) -> Self {
        Self::Damaged("the header is cut off".into())
    }
}

/// Returns the first 64 bytes of a manifest.
pub(crate) fn header_bytes(database: DatabaseId, created_micros: u64) -> Vec<u8> {
    let mut encoder = Encoder::default();
    encoder.put_raw(MAGIC);
    encoder.put_u32(VERSION);
    encoder.put_u32(0);
    encoder.put_raw(&database.0);
    encoder.put_u64(created_micros);
    encoder.put_raw(&[0; 24]);
    let mut bytes = encoder.into_bytes();
    let crc = header_crc32c(&bytes);
    bytes[12..16].copy_from_slice(&crc.to_le_bytes());
    bytes
}

/// Returns the version if `bytes` begin like a manifest.
pub(crate) fn version_of(bytes: &[u8]) -> Option<u32> {
    let mut decoder = Decoder::new(bytes.strip_prefix(MAGIC)?);
    decoder.u32().ok()
}

/// Checks every published byte of a data area that begins at `data_offset` of its file.
pub(crate) fn read_content(area: &[u8], data_offset: u64) -> Result<Content, Unusable> {
    let damaged = |reason: String| Err(Unusable::Damaged(reason));
    let (database, version) = check_header(area)?;
    let published = area.get(PUBLISHED_OFFSET as usize..).unwrap_or_default();
    let end_offset = Decoder::new(published).u64()?;
    let start = data_offset + HEADER_BYTES;
    let end_of_area = data_offset + area.len() as u64;
    if end_offset < start || end_offset > end_of_area {
        return damaged(format!(
            "records are published up to byte {end_offset}, but lie in {start} .. {end_of_area}"
        ));
    }
    let log = &area[HEADER_BYTES as usize..(end_offset - data_offset) as usize];
    let mut records = Vec::new();
    let mut offset = 0;
    while offset < log.len() {
        let number = records.len() as u64 + 1;
        match Record::from_bytes(&log[offset..], number) {
            Ok((record, bytes)) => {
                records.push(record);
                offset += bytes;
            }
            Err(error) => {
                let at = start + offset as u64;
                return damaged(format!("record {number} at byte {at}: {error}"));
            }
        }
    }
    Ok(Content { database, version, end_offset, records })
}

fn check_header(area: &[u8]) -> Result<(DatabaseId, u32), Unusable> {
    let header = area.get(..PUBLISHED_OFFSET as usize).ok_or(Truncated)?;
    let mut decoder = Decoder::new(header);
    if decoder.raw(8)? != MAGIC {
        return Err(Unusable::Damaged("its data does not begin like a Nacre manifest".into()));
    }
    let version = decoder.u32()?;
    let stored = decoder.u32()?;
    let computed = header_crc32c(header);
    if stored != computed {
        return Err(Unusable::Damaged(format!(
            "header: checksum {computed:#010x} does not match {stored:#010x}"
        )));
    }
    if !(OLDEST_VERSION..=VERSION).contains(&version) {
        return Err(Unusable::Version(version));
    }
    let mut id = [0; 16];
    id.copy_from_slice(decoder.raw(16)?);
    Ok((DatabaseId(id), version))
}

/// Returns the word of version and checksum that makes `header` one of the newest version.
pub(crate) fn newest_version_word(header: &[u8]) -> Option<u64> {
    let mut header = header.get(..PUBLISHED_OFFSET as usize)?.to_vec();
    header[8..12].copy_from_slice(&VERSION.to_le_bytes());
    Some(u64::from(VERSION) | u64::from(header_crc32c(&header)) << 32)
}
