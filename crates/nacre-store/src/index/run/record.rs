//! What the manifest says of a run.
//!
//! # Layout
//! Drawn in `docs/layout.md`, sections "Manifest record", kind 40, and "Run of an index".

use super::page::PageRef;
use crate::codec::{Decoder, Encoder, Truncated};
use crate::directory::POOL_HEADER_BYTES;
use crate::manifest::{DatabaseId, LoadId, PAYLOAD_BYTES_MAX, TableId};

/// Identifies a run for as long as the database exists; never reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct RunId(pub(crate) u64);

/// Most loads of a run, so that its record has room for them.
pub(crate) const LOADS_MAX: usize = 32_768;

const _: () = assert!(LOADS_MAX * 16 < PAYLOAD_BYTES_MAX * 3 / 4);

const MAGIC: &[u8; 8] = b"NACRERUN";

/// The version of the header; a program that writes runs in another way has another one.
const VERSION: u32 = 1;

/// A run that counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RunRecord {
    pub(crate) run: RunId,
    /// CRC-32C of what the keys are made of: types of columns, and whether they may be null.
    pub(crate) shape: u32,
    /// The loads all of whose rows have an entry, ascending, each with its entries.
    pub(crate) loads: Vec<(LoadId, u64)>,
    pub(crate) pool_bytes: u64,
    pub(crate) leaf_count: u64,
    pub(crate) inner_count: u64,
    /// The level of the root.
    pub(crate) height: u16,
    pub(crate) root: PageRef,
}

/// Whose run it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RunOwner {
    pub(crate) database: DatabaseId,
    pub(crate) table: TableId,
}

impl RunRecord {
    pub(crate) fn entries(&self) -> u64 {
        self.loads.iter().map(|(_, entries)| entries).sum()
    }

    /// Whether the run has the entries of a load.
    pub(crate) fn covers(&self, load: LoadId) -> bool {
        self.loads.binary_search_by_key(&load, |(load, _)| *load).is_ok()
    }

    pub(crate) fn encode(&self, encoder: &mut Encoder) {
        encoder.put_u64(self.run.0);
        encoder.put_u32(self.shape);
        encoder.put_u32(self.loads.len() as u32);
        for (load, entries) in &self.loads {
            encoder.put_u64(load.0);
            encoder.put_u64(*entries);
        }
        encoder.put_u64(self.pool_bytes);
        encoder.put_u64(self.leaf_count);
        encoder.put_u64(self.inner_count);
        encoder.put_u16(self.height);
        encoder.put_u64(self.root.offset);
        encoder.put_u32(self.root.bytes);
        encoder.put_u64(self.root.number);
    }

    pub(crate) fn decode(decoder: &mut Decoder<'_>) -> Result<Self, Truncated> {
        let (run, shape, count) = (RunId(decoder.u64()?), decoder.u32()?, decoder.u32()?);
        let load = |decoder: &mut Decoder<'_>| Ok((LoadId(decoder.u64()?), decoder.u64()?));
        // The count may be anything, the bytes end.
        let loads = (0..count).map(|_| load(decoder)).collect::<Result<Vec<_>, _>>()?;
        if !loads.is_sorted_by(|one, other| one.0 < other.0) {
            return Err(Truncated);
        }
        Ok(Self {
            run,
            shape,
            loads,
            pool_bytes: decoder.u64()?,
            leaf_count: decoder.u64()?,
            inner_count: decoder.u64()?,
            height: decoder.u16()?,
            root: PageRef { offset: decoder.u64()?, bytes: decoder.u32()?, number: decoder.u64()? },
        })
    }
}

/// Returns the name of a run's file.
pub(crate) fn file_name(run: RunId) -> String {
    format!("index-{:016x}.pool", run.0)
}

/// Whether `name` is that of a run's file.
pub(crate) fn is_file_name(name: &str) -> bool {
    let inner = name.strip_prefix("index-").and_then(|rest| rest.strip_suffix(".pool"));
    inner.is_some_and(|id| id.len() == 16 && id.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

/// Returns the header of a run's file.
pub(crate) fn header(owner: RunOwner, run: RunId) -> Vec<u8> {
    let mut encoder = Encoder::default();
    encoder.put_raw(MAGIC);
    encoder.put_u32(VERSION);
    encoder.put_u32(0);
    encoder.put_raw(&owner.database.0);
    encoder.put_u64(owner.table.0);
    encoder.put_u64(run.0);
    encoder.put_raw(&[0; POOL_HEADER_BYTES - 48]);
    let mut bytes = encoder.into_bytes();
    let crc = crc32c::crc32c_append(crc32c::crc32c(&bytes[..12]), &bytes[16..]);
    bytes[12..16].copy_from_slice(&crc.to_le_bytes());
    bytes
}
