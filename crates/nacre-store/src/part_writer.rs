//! Writes a part: blocks from many threads, at the end the directory.
//!
//! # Durability
//! Everything is durable when [`PartWriter::finish`] returns; the record that names the part comes
//! after. A writer that is dropped before leaves nothing, one that is killed a file that the next
//! open removes.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use nacre_column::{EncodedBlock, FormatChoice};
use nacre_pmem::{Domain, PoolAppender};

use crate::directory::{self, BlockEntry, ChunkInfo, PartChunk, PartId};
use crate::error::Result;
use crate::manifest::PartRecord;
use crate::part::Part;

/// Alignment of blocks and directories in a pool.
const BLOCK_ALIGN: u64 = 64;

/// A part that is being written.
#[derive(Debug)]
pub(crate) struct PartWriter {
    id: PartId,
    domain: Domain,
    appender: PoolAppender,
    /// Blocks by chunk.
    blocks: Mutex<BTreeMap<u32, Vec<BlockEntry>>>,
}

/// Which replica of which block it is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BlockName {
    pub(crate) chunk: u32,
    pub(crate) column: u16,
    pub(crate) replica: u8,
    /// What the policy asks for.
    pub(crate) choice: FormatChoice,
}

impl PartWriter {
    /// Begins a part in `domain`.
    ///
    /// # Errors
    /// No space, I/O, or a domain that is not there any more.
    pub(crate) fn create(domain: &Domain, id: PartId) -> Result<Self> {
        let appender = domain.append_pool(&Part::file_name(id.load, id.number, id.layout))?;
        appender.append(&directory::pool_header(&id), BLOCK_ALIGN)?;
        Ok(Self { id, domain: domain.clone(), appender, blocks: Mutex::default() })
    }

    /// Returns the name of the domain that is written to.
    pub(crate) fn domain(&self) -> &str {
        self.domain.name()
    }

    /// Appends a block.
    ///
    /// # Errors
    /// No space, I/O; the part must not be finished then.
    pub(crate) fn append(&self, name: BlockName, block: &EncodedBlock) -> Result<()> {
        let offset = self.appender.append(&block.bytes, BLOCK_ALIGN)?;
        let entry = BlockEntry {
            column: name.column,
            replica: name.replica,
            choice: name.choice,
            format: Some(block.header.format),
            crc32c: Some(block.header.crc32c),
            offset,
            bytes: block.bytes.len() as u64,
        };
        let mut blocks = self.blocks.lock().unwrap_or_else(PoisonError::into_inner);
        blocks.entry(name.chunk).or_default().push(entry);
        Ok(())
    }

    /// Writes the directory, makes everything durable and returns how the manifest names the part,
    /// with the bytes of the directory. `infos` has all chunks that the part is to know.
    ///
    /// # Errors
    /// No space, I/O; the file is removed.
    pub(crate) fn finish(
        self,
        infos: &BTreeMap<u32, Arc<ChunkInfo>>,
        column_count: usize,
    ) -> Result<(PartRecord, u64)> {
        let mut blocks = self.blocks.into_inner().unwrap_or_else(PoisonError::into_inner);
        let chunks: Vec<PartChunk> = infos
            .iter()
            .map(|(&chunk, info)| {
                let mut blocks = blocks.remove(&chunk).unwrap_or_default();
                blocks.sort_unstable_by_key(|block| (block.column, block.replica));
                PartChunk { chunk, info: Arc::clone(info), blocks }
            })
            .collect();
        let directory = directory::encode(&chunks, column_count);
        let directory_offset = self.appender.append(&directory, BLOCK_ALIGN)?;
        // PERSIST: blocks and directory are durable when `finish` returns; the manifest record
        // that the caller appends makes them reachable.
        let pool_bytes = self.appender.finish()?;
        // A file outlives its directory while it is open: one that was deleted meanwhile keeps
        // nothing.
        let file_name = Part::file_name(self.id.load, self.id.number, self.id.layout);
        self.domain.pool_bytes(&file_name)?;
        let record = PartRecord {
            number: self.id.number,
            layout: self.id.layout,
            domain: self.domain.name().to_owned(),
            pool_bytes,
            directory_offset,
            directory_bytes: directory.len() as u64,
            directory_crc32c: crc32c::crc32c(&directory),
        };
        Ok((record, directory.len() as u64))
    }
}
