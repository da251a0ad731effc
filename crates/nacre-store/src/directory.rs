//! The directory of a load's pool: which chunks it holds and where their blocks lie.
//!
//! A load writes blocks of many chunks, in the order in which workers finish them, and at the end
//! one directory. The directory carries a copy of every block's small materialized aggregates, so
//! that planning and skipping chunks touch no block.
//!
//! # Layout
//! Pool header and directory are drawn in `docs/layout.md`, section "Load pool"; a test compares.
//! The directory's offset, length and CRC-32C are in the manifest.

use nacre_column::{CHUNK_ROWS, SMA_BYTES, Sma};

use crate::codec::{Decoder, Encoder, Truncated};
use crate::manifest::{DatabaseId, LoadId, TableId};

pub(crate) const POOL_MAGIC: &[u8; 8] = b"NACREPOL";
pub(crate) const POOL_VERSION: u32 = 1;
pub(crate) const POOL_HEADER_BYTES: usize = 64;

/// Where one block lies in its pool, and what is known of its values.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct BlockEntry {
    pub(crate) offset: u64,
    pub(crate) bytes: u64,
    pub(crate) sma: Sma,
}

/// Smallest and largest primary key of a chunk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct KeyRange {
    pub(crate) min: Vec<u8>,
    pub(crate) max: Vec<u8>,
}

/// One chunk of a load.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ChunkEntry {
    pub(crate) rows: u32,
    pub(crate) key_range: Option<KeyRange>,
    pub(crate) blocks: Vec<BlockEntry>,
}

/// Returns the header of a load's pool.
pub(crate) fn pool_header(database: DatabaseId, table: TableId, load: LoadId) -> Vec<u8> {
    let mut encoder = Encoder::default();
    encoder.put_raw(POOL_MAGIC);
    encoder.put_u32(POOL_VERSION);
    encoder.put_u32(0);
    encoder.put_raw(&database.0);
    encoder.put_u64(table.0);
    encoder.put_u64(load.0);
    encoder.put_raw(&[0; 16]);
    let mut bytes = encoder.into_bytes();
    let crc = header_crc32c(&bytes);
    bytes[12..16].copy_from_slice(&crc.to_le_bytes());
    bytes
}

/// Checks that `found` is the header of this very pool.
pub(crate) fn check_pool_header(
    found: &[u8],
    database: DatabaseId,
    table: TableId,
    load: LoadId,
) -> Result<(), String> {
    let expected = pool_header(database, table, load);
    if found == expected {
        return Ok(());
    }
    if !found.starts_with(POOL_MAGIC) {
        return Err("it does not begin like a Nacre block pool".into());
    }
    let stored = found
        .get(12..16)
        .map_or(0, |crc| crc.iter().rev().fold(0, |value, &byte| value << 8 | u32::from(byte)));
    let computed = header_crc32c(found);
    if stored != computed {
        return Err(format!("header: checksum {computed:#010x} does not match {stored:#010x}"));
    }
    Err(format!("it is not the pool of load {} of this database", load.0))
}

/// Returns the database that a pool belongs to, if `header` is that of a load's pool.
pub(crate) fn database_of(header: &[u8]) -> Option<DatabaseId> {
    let mut decoder = Decoder::new(header.strip_prefix(POOL_MAGIC)?);
    decoder.u32().ok()?;
    let stored = decoder.u32().ok()?;
    let id = decoder.raw(16).ok()?.try_into().ok()?;
    let is_whole = header.len() == POOL_HEADER_BYTES && stored == header_crc32c(header);
    is_whole.then_some(DatabaseId(id))
}

fn header_crc32c(header: &[u8]) -> u32 {
    crc32c::crc32c_append(crc32c::crc32c(&header[..12]), &header[16..POOL_HEADER_BYTES])
}

/// Encodes a directory of chunks that all have `column_count` blocks.
pub(crate) fn encode(chunks: &[ChunkEntry], column_count: usize) -> Vec<u8> {
    let mut encoder = Encoder::default();
    encoder.put_u32(chunks.len() as u32);
    encoder.put_u32(column_count as u32);
    for chunk in chunks {
        assert_eq!(chunk.blocks.len(), column_count);
        encoder.put_u32(chunk.rows);
        let (min, max) = match &chunk.key_range {
            Some(range) => (range.min.as_slice(), range.max.as_slice()),
            None => (&[][..], &[][..]),
        };
        encoder.put_bytes(min);
        encoder.put_bytes(max);
        for block in &chunk.blocks {
            encoder.put_u64(block.offset);
            encoder.put_u64(block.bytes);
            encoder.put_raw(&block.sma.to_bytes());
        }
    }
    encoder.into_bytes()
}

/// Decodes a directory and checks it against what the manifest says.
pub(crate) fn decode(
    bytes: &[u8],
    chunk_count: u32,
    column_count: usize,
    blocks_end: u64,
) -> Result<Vec<ChunkEntry>, String> {
    decode_chunks(bytes, chunk_count, column_count, blocks_end)
        .map_err(|Truncated| "its fields contradict each other".into())
}

fn decode_chunks(
    bytes: &[u8],
    chunk_count: u32,
    column_count: usize,
    blocks_end: u64,
) -> Result<Vec<ChunkEntry>, Truncated> {
    let mut decoder = Decoder::new(bytes);
    let require = |holds: bool| if holds { Ok(()) } else { Err(Truncated) };
    require(decoder.u32()? == chunk_count)?;
    require(decoder.u32()? as usize == column_count)?;
    let mut chunks = Vec::new();
    for _ in 0..chunk_count {
        let rows = decoder.u32()?;
        require(rows >= 1 && rows as usize <= CHUNK_ROWS)?;
        let (min, max) = (decoder.bytes()?.to_vec(), decoder.bytes()?.to_vec());
        let key_range = (!max.is_empty()).then_some(KeyRange { min, max });
        let mut blocks = Vec::with_capacity(column_count);
        for _ in 0..column_count {
            let (offset, bytes) = (decoder.u64()?, decoder.u64()?);
            let end = offset.checked_add(bytes).ok_or(Truncated)?;
            require(offset >= POOL_HEADER_BYTES as u64 && end <= blocks_end)?;
            let sma = decoder.raw(SMA_BYTES)?.try_into().map_err(|_| Truncated)?;
            let sma = Sma::from_bytes(sma).map_err(|_| Truncated)?;
            blocks.push(BlockEntry { offset, bytes, sma });
        }
        chunks.push(ChunkEntry { rows, key_range, blocks });
    }
    require(decoder.remaining() == 0)?;
    Ok(chunks)
}
