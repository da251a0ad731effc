//! The directory of a part: which chunks it knows and where their blocks lie.
//!
//! A part is written by many workers, blocks in the order in which they are done, and at the end
//! one directory. It carries a copy of the small materialized aggregates and the statistics of all
//! columns, also of those whose blocks lie elsewhere, so that planning and skipping chunks touch no
//! block and any part can stand in for the others.
//!
//! # Layout
//! Header and directory are drawn in `docs/layout.md`, section "Part of a load"; a test compares.
//! The directory's offset, length and CRC-32C are in the manifest. Version 1 is what programs wrote
//! that kept one replica: all blocks of a load, without checksums of blocks. Version 2 has no
//! statistics.

use std::sync::Arc;

use nacre_column::{BlockStatistics, CHUNK_ROWS, Format, FormatChoice, SMA_BYTES, Sma};

use crate::codec::{Decoder, Encoder, Truncated};
use crate::manifest::{DatabaseId, LoadId, TableId};

pub(crate) const POOL_MAGIC: &[u8; 8] = b"NACREPOL";
pub(crate) const POOL_HEADER_BYTES: usize = 64;

/// How a part is laid out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Layout {
    /// The whole load, one replica of each column.
    Whole,
    /// Some blocks of it, without statistics.
    Part,
    /// Some blocks of it.
    PartWithStatistics,
}

impl Layout {
    /// Returns the version that the header has.
    pub(crate) fn version(self) -> u32 {
        match self {
            Self::Whole => 1,
            Self::Part => 2,
            Self::PartWithStatistics => 3,
        }
    }

    pub(crate) fn from_version(version: u32) -> Option<Self> {
        let all = [Self::Whole, Self::Part, Self::PartWithStatistics];
        all.into_iter().find(|layout| layout.version() == version)
    }
}

/// Which part of which load of which database a pool is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PartId {
    pub(crate) database: DatabaseId,
    pub(crate) table: TableId,
    pub(crate) load: LoadId,
    pub(crate) number: u32,
    pub(crate) layout: Layout,
}

/// Smallest and largest primary key of a chunk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct KeyRange {
    pub(crate) min: Vec<u8>,
    pub(crate) max: Vec<u8>,
}

/// What is known of a chunk besides its values.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ChunkInfo {
    pub(crate) rows: u32,
    pub(crate) key_range: Option<KeyRange>,
    /// One for each column of the table.
    pub(crate) smas: Vec<Sma>,
    /// Statistics of the columns, as they are written, so that opening a load reads none of them;
    /// empty if the chunk was written without.
    pub(crate) statistics: Box<[u8]>,
}

impl ChunkInfo {
    /// Returns the statistics of all columns; `None` for those that have none.
    pub(crate) fn block_statistics(&self) -> Vec<Option<BlockStatistics>> {
        let mut rest = &self.statistics[..];
        let next = |_: &Sma| BlockStatistics::read(&mut rest).flatten();
        self.smas.iter().map(next).collect()
    }
}

/// Where one block lies in its part, and what it must be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct BlockEntry {
    pub(crate) column: u16,
    /// Which replica of the column it is, from 0.
    pub(crate) replica: u8,
    /// What the policy asked for when it was written.
    pub(crate) choice: FormatChoice,
    /// `None` where the directory does not tell.
    pub(crate) format: Option<Format>,
    /// CRC-32C that the block's header must have; `None` where the directory does not tell.
    pub(crate) crc32c: Option<u32>,
    pub(crate) offset: u64,
    pub(crate) bytes: u64,
}

/// A chunk as one part knows it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct PartChunk {
    /// Number of the chunk in its load.
    pub(crate) chunk: u32,
    pub(crate) info: Arc<ChunkInfo>,
    pub(crate) blocks: Vec<BlockEntry>,
}

/// Returns the header of a part.
pub(crate) fn pool_header(part: &PartId) -> Vec<u8> {
    let mut encoder = Encoder::default();
    encoder.put_raw(POOL_MAGIC);
    encoder.put_u32(part.layout.version());
    encoder.put_u32(0);
    encoder.put_raw(&part.database.0);
    encoder.put_u64(part.table.0);
    encoder.put_u64(part.load.0);
    encoder.put_u32(part.number);
    encoder.put_raw(&[0; 12]);
    let mut bytes = encoder.into_bytes();
    let crc = header_crc32c(&bytes);
    bytes[12..16].copy_from_slice(&crc.to_le_bytes());
    bytes
}

/// Checks that `found` is the header of this very part.
pub(crate) fn check_pool_header(found: &[u8], part: &PartId) -> Result<(), String> {
    if found == pool_header(part) {
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
    Err(format!("it is not part {} of load {} of this database", part.number, part.load.0))
}

/// Returns the database that a pool belongs to, if `header` is that of a part.
pub(crate) fn database_of(header: &[u8]) -> Option<DatabaseId> {
    let mut decoder = Decoder::new(header.strip_prefix(POOL_MAGIC)?);
    decoder.u32().ok()?;
    let stored = decoder.u32().ok()?;
    let id = decoder.raw(16).ok()?.try_into().ok()?;
    let is_whole = header.len() == POOL_HEADER_BYTES && stored == header_crc32c(header);
    is_whole.then_some(DatabaseId(id))
}

fn header_crc32c(header: &[u8]) -> u32 {
    let (first, rest) = header.split_at_checked(12).unwrap_or((header, &[]));
    crc32c::crc32c_append(crc32c::crc32c(first), rest.get(4..).unwrap_or_default())
}

/// Encodes a directory; every chunk has an aggregate for each of `column_count` columns.
pub(crate) fn encode(chunks: &[PartChunk], column_count: usize) -> Vec<u8> {
    let mut encoder = Encoder::default();
    encoder.put_u32(chunks.len() as u32);
    encoder.put_u32(column_count as u32);
    for PartChunk { chunk, info, blocks } in chunks {
        assert_eq!(info.smas.len(), column_count);
        encoder.put_u32(*chunk);
        encoder.put_u32(info.rows);
        let (min, max) = match &info.key_range {
            Some(range) => (range.min.as_slice(), range.max.as_slice()),
            None => (&[][..], &[][..]),
        };
        encoder.put_bytes(min);
        encoder.put_bytes(max);
        info.smas.iter().for_each(|sma| encoder.put_raw(&sma.to_bytes()));
        encoder.put_bytes(&info.statistics);
        encoder.put_u32(blocks.len() as u32);
        for block in blocks {
            encoder.put_u16(block.column);
            encoder.put_u8(block.replica);
            encoder.put_u8(block.format.map_or(0, Format::tag));
            encode_choice(block.choice, &mut encoder);
            encoder.put_raw(&[0; 3]);
            encoder.put_u32(block.crc32c.unwrap_or_default());
            encoder.put_u64(block.offset);
            encoder.put_u64(block.bytes);
        }
    }
    encoder.into_bytes()
}

/// Writes what a policy says of a format: 0, or the format's tag.
pub(crate) fn encode_choice(choice: FormatChoice, encoder: &mut Encoder) {
    encoder.put_u8(match choice {
        FormatChoice::Auto => 0,
        FormatChoice::Fixed(format) => format.tag(),
    });
}

pub(crate) fn decode_choice(decoder: &mut Decoder<'_>) -> Result<FormatChoice, Truncated> {
    Ok(match decoder.u8()? {
        0 => FormatChoice::Auto,
        tag => FormatChoice::Fixed(Format::from_tag(tag).ok_or(Truncated)?),
    })
}

/// What a directory must agree with.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bounds {
    pub(crate) chunk_count: u32,
    pub(crate) column_count: usize,
    /// Where the last block ends at most.
    pub(crate) blocks_end: u64,
}

/// Decodes a directory and checks it against what the manifest says.
pub(crate) fn decode(
    layout: Layout,
    bytes: &[u8],
    bounds: &Bounds,
) -> Result<Vec<PartChunk>, String> {
    let decoded = match layout {
        Layout::Whole => decode_whole(bytes, bounds),
        Layout::Part => decode_part(bytes, bounds, false),
        Layout::PartWithStatistics => decode_part(bytes, bounds, true),
    };
    decoded.map_err(|Truncated| "its fields contradict each other".into())
}

fn require(holds: bool) -> Result<(), Truncated> {
    if holds { Ok(()) } else { Err(Truncated) }
}

fn decode_part(
    bytes: &[u8],
    bounds: &Bounds,
    has_statistics: bool,
) -> Result<Vec<PartChunk>, Truncated> {
    let mut decoder = Decoder::new(bytes);
    let count = decoder.u32()?;
    require(count <= bounds.chunk_count)?;
    require(decoder.u32()? as usize == bounds.column_count)?;
    let mut chunks: Vec<PartChunk> = Vec::new();
    for _ in 0..count {
        let chunk = decoder.u32()?;
        require(chunk < bounds.chunk_count)?;
        require(chunks.last().is_none_or(|last| last.chunk < chunk))?;
        let (rows, key_range) = decode_rows(&mut decoder)?;
        let smas = (0..bounds.column_count)
            .map(|_| decode_sma(&mut decoder))
            .collect::<Result<Vec<_>, _>>()?;
        let statistics = if has_statistics { decoder.bytes()?.into() } else { Box::default() };
        let mut blocks = Vec::new();
        for _ in 0..decoder.u32()? {
            blocks.push(decode_block(&mut decoder, bounds)?);
        }
        let info = Arc::new(ChunkInfo { rows, key_range, smas, statistics });
        chunks.push(PartChunk { chunk, info, blocks });
    }
    require(decoder.remaining() == 0)?;
    Ok(chunks)
}

fn decode_block(decoder: &mut Decoder<'_>, bounds: &Bounds) -> Result<BlockEntry, Truncated> {
    let column = decoder.u16()?;
    require(usize::from(column) < bounds.column_count)?;
    let replica = decoder.u8()?;
    require(usize::from(replica) < nacre_column::REPLICAS_MAX)?;
    let format = Format::from_tag(decoder.u8()?).ok_or(Truncated)?;
    let choice = decode_choice(decoder)?;
    require(decoder.raw(3)? == [0; 3])?;
    let crc32c = Some(decoder.u32()?);
    let (offset, bytes) = decode_extent(decoder, bounds)?;
    Ok(BlockEntry { column, replica, choice, format: Some(format), crc32c, offset, bytes })
}

fn decode_extent(decoder: &mut Decoder<'_>, bounds: &Bounds) -> Result<(u64, u64), Truncated> {
    let (offset, bytes) = (decoder.u64()?, decoder.u64()?);
    let end = offset.checked_add(bytes).ok_or(Truncated)?;
    require(offset >= POOL_HEADER_BYTES as u64 && end <= bounds.blocks_end)?;
    Ok((offset, bytes))
}

fn decode_rows(decoder: &mut Decoder<'_>) -> Result<(u32, Option<KeyRange>), Truncated> {
    let rows = decoder.u32()?;
    require(rows >= 1 && rows as usize <= CHUNK_ROWS)?;
    let (min, max) = (decoder.bytes()?.to_vec(), decoder.bytes()?.to_vec());
    Ok((rows, (!max.is_empty()).then_some(KeyRange { min, max })))
}

fn decode_sma(decoder: &mut Decoder<'_>) -> Result<Sma, Truncated> {
    let sma = decoder.raw(SMA_BYTES)?.try_into().map_err(|_| Truncated)?;
    Sma::from_bytes(sma).map_err(|_| Truncated)
}

/// Decodes a directory of version 1: every chunk has one block for each column.
fn decode_whole(bytes: &[u8], bounds: &Bounds) -> Result<Vec<PartChunk>, Truncated> {
    let mut decoder = Decoder::new(bytes);
    require(decoder.u32()? == bounds.chunk_count)?;
    require(decoder.u32()? as usize == bounds.column_count)?;
    let mut chunks = Vec::new();
    for chunk in 0..bounds.chunk_count {
        let (rows, key_range) = decode_rows(&mut decoder)?;
        let (mut smas, mut blocks) = (Vec::new(), Vec::new());
        for column in 0..bounds.column_count {
            let (offset, bytes) = decode_extent(&mut decoder, bounds)?;
            smas.push(decode_sma(&mut decoder)?);
            let (column, choice) = (column as u16, FormatChoice::Auto);
            let (replica, format, crc32c) = (0, None, None);
            blocks.push(BlockEntry { column, replica, choice, format, crc32c, offset, bytes });
        }
        let info = Arc::new(ChunkInfo { rows, key_range, smas, statistics: Box::default() });
        chunks.push(PartChunk { chunk, info, blocks });
    }
    require(decoder.remaining() == 0)?;
    Ok(chunks)
}
