//! One replica of the manifest: a pool with a header and the log.
//!
//! # Invariants
//! 1. A replica has its final name only once it is whole and durable; a crash while one is
//!    written leaves a file with the suffix `.new`, which nobody reads.
//! # Layout
//! Drawn in `docs/layout.md`, section "Manifest header"; a test compares.

use std::fmt;

use nacre_pmem::{Access, Domain, Pool};

use super::log::{DatabaseId, HEADER_BYTES, PUBLISHED_OFFSET};
use super::record::Record;
use crate::codec::{Decoder, Encoder, Truncated};
use crate::error::{Error, Result};

pub(crate) const MAGIC: &[u8; 8] = b"NACREMAN";
pub(crate) const VERSION: u32 = 1;

const _: () = assert!(PUBLISHED_OFFSET.is_multiple_of(64) && PUBLISHED_OFFSET < HEADER_BYTES);

/// Where a replica lies.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    pub(crate) domain: Domain,
    pub(crate) file_name: String,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.domain.path() {
            Some(path) => path.join(&self.file_name).display().fmt(f),
            None => write!(f, "{}/{}", self.domain.name(), self.file_name),
        }
    }
}

/// A replica that passed all checks.
#[derive(Debug)]
pub(crate) struct Replica {
    pub(crate) place: Place,
    pub(crate) pool: Pool,
    pub(crate) database: DatabaseId,
    pub(crate) created_micros: u64,
    pub(crate) end_offset: u64,
    pub(crate) records: Vec<Record>,
}

impl Replica {
    /// Returns the bytes of the published records.
    pub(crate) fn log(&self) -> Result<&[u8]> {
        Ok(self.pool.read(HEADER_BYTES, self.end_offset - HEADER_BYTES)?)
    }
}

/// Writes a replica that holds `log` and is at least `bytes` long, replacing what is at `place`.
pub(crate) fn create(
    place: &Place,
    database: DatabaseId,
    created_micros: u64,
    log: &[u8],
    bytes: u64,
) -> Result<Pool> {
    let domain = &place.domain;
    let new_name = in_progress(&place.file_name);
    if domain.exists(&new_name)? {
        domain.remove_pool(&new_name)?;
    }
    let end_offset = HEADER_BYTES + log.len() as u64;
    let mut pool = domain.create_pool(&new_name, bytes.max(end_offset))?;
    pool.write(0, &header_bytes(database, created_micros))?;
    pool.write(HEADER_BYTES, log)?;
    pool.write(PUBLISHED_OFFSET, &end_offset.to_le_bytes())?;
    // PERSIST: the whole replica is durable before the rename below makes it reachable.
    pool.persist(0, end_offset)?;
    domain.rename_pool(&new_name, &place.file_name)?;
    Ok(pool)
}

/// Returns the name that a replica has until it is whole.
pub(crate) fn in_progress(file_name: &str) -> String {
    format!("{file_name}.new")
}

/// Opens the replica at `place` and checks every published byte of it.
pub(crate) fn read(place: &Place, access: Access) -> Result<Replica> {
    let damaged = |reason: String| Error::Damaged { object: place.to_string(), reason };
    let pool = place.domain.open_pool(&place.file_name, access)?;
    if pool.bytes() < HEADER_BYTES {
        return Err(damaged(format!(
            "{} bytes are too few for a manifest of at least {HEADER_BYTES}",
            pool.bytes()
        )));
    }
    let header = pool.read(0, 64)?;
    let (database, created_micros) = check_header(header).map_err(|error| match error {
        HeaderError::Damaged(reason) => damaged(reason),
        HeaderError::Version(found) => {
            Error::UnsupportedVersion { object: place.to_string(), found, supported: VERSION }
        }
    })?;
    let end_offset = pool.load_u64(PUBLISHED_OFFSET)?;
    if end_offset < HEADER_BYTES || end_offset > pool.bytes() {
        return Err(damaged(format!(
            "records are published up to byte {end_offset}, but the file has {} bytes",
            pool.bytes()
        )));
    }
    let records = read_records(pool.read(HEADER_BYTES, end_offset - HEADER_BYTES)?).map_err(
        |(offset, number, reason)| {
            damaged(format!("record {number} at byte {}: {reason}", HEADER_BYTES + offset))
        },
    )?;
    Ok(Replica { place: place.clone(), pool, database, created_micros, end_offset, records })
}

/// Reads all records of `log`; an error carries its offset in the log and its number.
fn read_records(log: &[u8]) -> std::result::Result<Vec<Record>, (u64, u64, String)> {
    let mut records = Vec::new();
    let mut offset = 0;
    while offset < log.len() {
        let number = records.len() as u64 + 1;
        let (record, bytes) = Record::from_bytes(&log[offset..], number)
            .map_err(|error| (offset as u64, number, error.to_string()))?;
        records.push(record);
        offset += bytes;
    }
    Ok(records)
}

enum HeaderError {
    Damaged(String),
    Version(u32),
}

impl From<Truncated> for HeaderError {
    fn from(_: Truncated) -> Self {
        Self::Damaged("the header is cut off".into())
    }
}

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

fn check_header(bytes: &[u8]) -> std::result::Result<(DatabaseId, u64), HeaderError> {
    let mut decoder = Decoder::new(bytes);
    if decoder.raw(8)? != MAGIC {
        return Err(HeaderError::Damaged("it does not begin like a Nacre manifest".into()));
    }
    let version = decoder.u32()?;
    let stored = decoder.u32()?;
    let computed = header_crc32c(bytes);
    if stored != computed {
        return Err(HeaderError::Damaged(format!(
            "header: checksum {computed:#010x} does not match {stored:#010x}"
        )));
    }
    if version != VERSION {
        return Err(HeaderError::Version(version));
    }
    let mut id = [0; 16];
    id.copy_from_slice(decoder.raw(16)?);
    Ok((DatabaseId(id), decoder.u64()?))
}

fn header_crc32c(bytes: &[u8]) -> u32 {
    crc32c::crc32c_append(crc32c::crc32c(&bytes[..12]), &bytes[16..64])
}
