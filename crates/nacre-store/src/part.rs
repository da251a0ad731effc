//! Parts: the pool files that hold a load's replicas, and the verified way to their blocks.
//!
//! # Invariants
//! 1. A block is handed out only after its checksum was verified since the part was mapped, and
//!    only if it is the block that the directory names: two blocks that changed places are both
//!    noticed. Verification happens on first use, because verifying all blocks at open would make
//!    restart time grow with the data; blocks are immutable, so once is enough for readers. The
//!    scrubber verifies them all.
//! 2. A block found bad stays bad for this mapping; the file is mapped afresh, and its blocks are
//!    verified again, only when it is another one or was changed.
//! 3. The file of a part that is not needed any more goes when the load lets go of it; those who
//!    read it keep their mapping.
//! # Concurrency
//! Everything here may be used from any thread. Two threads that meet at an unverified block may
//! both verify it.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::SystemTime;

use nacre_column::block::ALIGNMENT;
use nacre_column::{Block, ColumnType};
use nacre_pmem::{Access, DomainKind, Pool, PoolSlice};

use crate::directory::{
    self, BlockEntry, Bounds, ChunkInfo, Layout, POOL_HEADER_BYTES, PartChunk, PartId,
};
use crate::domains::{DRAM_DOMAIN, Domains, Readers};
use crate::error::{Error, Result};
use crate::manifest::{LoadId, PartRecord};
use crate::table::TableNames;

/// A part that counts.
#[derive(Debug)]
pub(crate) struct Part {
    id: PartId,
    record: PartRecord,
    chunk_count: u32,
    names: Arc<TableNames>,
    domains: Arc<Domains>,
    /// Set when a block is found bad or the part cannot be mapped: maintenance looks at the load.
    needs_care: Arc<AtomicBool>,
    state: Mutex<PartState>,
    is_doomed: AtomicBool,
}

#[derive(Debug, Default)]
struct PartState {
    mapped: Option<Arc<MappedPart>>,
    problem: Option<String>,
}

/// What all parts of a load share.
#[derive(Clone, Debug)]
pub(crate) struct PartContext {
    pub(crate) names: Arc<TableNames>,
    pub(crate) domains: Arc<Domains>,
    pub(crate) needs_care: Arc<AtomicBool>,
    pub(crate) chunk_count: u32,
}

impl Part {
    pub(crate) fn new(id: PartId, record: PartRecord, context: &PartContext) -> Self {
        Self {
            id,
            record,
            chunk_count: context.chunk_count,
            names: Arc::clone(&context.names),
            domains: Arc::clone(&context.domains),
            needs_care: Arc::clone(&context.needs_care),
            state: Mutex::default(),
            is_doomed: AtomicBool::new(false),
        }
    }

    /// Returns the name of a part's file.
    pub(crate) fn file_name(load: LoadId, number: u32, layout: Layout) -> String {
        match layout {
            Layout::Whole => format!("load-{:016x}.pool", load.0),
            Layout::Part | Layout::PartWithStatistics => {
                format!("load-{:016x}-r{number}.pool", load.0)
            }
        }
    }

    /// Tells whether `name` is that of a part's file.
    pub(crate) fn is_file_name(name: &str) -> bool {
        let is_hex = |text: &str| text.bytes().all(|byte| byte.is_ascii_hexdigit());
        let is_number =
            |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        let inner = name.strip_prefix("load-").and_then(|rest| rest.strip_suffix(".pool"));
        inner.and_then(|inner| inner.split_at_checked(16)).is_some_and(|(id, rest)| {
            is_hex(id) && (rest.is_empty() || rest.strip_prefix("-r").is_some_and(is_number))
        })
    }

    pub(crate) fn record(&self) -> &PartRecord {
        &self.record
    }

    /// Whether the part ends with the process.
    pub(crate) fn is_volatile(&self) -> bool {
        self.record.domain == DRAM_DOMAIN
    }

    /// Has the file removed when nobody needs the part any more.
    pub(crate) fn doom(&self) {
        // ORDERING: read in `drop`, after the last reference has gone.
        self.is_doomed.store(true, Ordering::Release);
    }

    /// Returns the name of the file.
    pub(crate) fn own_file_name(&self) -> String {
        Self::file_name(self.id.load, self.id.number, self.id.layout)
    }

    /// Returns the mapped part, if it can be mapped, and else why not. Maps it again if its file
    /// is another one or was changed.
    pub(crate) fn open(&self) -> std::result::Result<Arc<MappedPart>, String> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(mapped) = &state.mapped
            && mapped.is_current()
        {
            return Ok(Arc::clone(mapped));
        }
        match self.map() {
            Ok(mapped) => {
                let mapped = Arc::new(mapped);
                *state = PartState { mapped: Some(Arc::clone(&mapped)), problem: None };
                Ok(mapped)
            }
            Err(error) => {
                let problem = error.to_string();
                if state.problem.as_ref() != Some(&problem) {
                    // ORDERING: pairs with the swap in maintenance.
                    self.needs_care.store(true, Ordering::Release);
                    state.problem = Some(problem.clone());
                }
                // What is not lost of an earlier mapping can still be read.
                state.mapped.clone().ok_or(problem)
            }
        }
    }

    /// Whether the part's own file is in its place, so that a restart would find it.
    pub(crate) fn is_in_place(&self) -> bool {
        let Ok(reachable) = self.domains.get(&self.record.domain) else {
            return false;
        };
        reachable
            .domain
            .pool_bytes(&self.own_file_name())
            .is_ok_and(|bytes| bytes >= self.record.pool_bytes)
    }

    fn map(&self) -> Result<MappedPart> {
        let record = &self.record;
        let reachable = self.domains.get(&record.domain).map_err(|_| Error::UnknownDomain {
            domain: record.domain.clone(),
            table: self.names.table(),
        })?;
        let (domain, file_name) = (reachable.domain, self.own_file_name());
        let damaged = |reason: String| Error::LoadDamaged {
            object: format!("pool {file_name} of table \"{}\"", self.names.table()),
            reason,
            missing: Vec::new(),
        };
        let path = domain.path().map(|path| path.join(&file_name));
        let stamp = path.as_deref().and_then(Stamp::of);
        let pool = match domain.open_pool(&file_name, Access::ReadOnly) {
            Err(error) if error.kind() == nacre_pmem::ErrorKind::NotFound => {
                return Err(damaged(error.to_string()));
            }
            opened => opened?,
        };
        if pool.bytes() < record.pool_bytes {
            return Err(damaged(format!(
                "it has {} bytes, {} were written",
                pool.bytes(),
                record.pool_bytes
            )));
        }
        let decoded = self.read_directory(&pool);
        pool.check().map_err(|source| Error::Lost {
            object: format!("directory of table \"{}\"", self.names.table()),
            source,
        })?;
        let chunks = decoded?.map_err(damaged)?;
        let mut slots = Vec::new();
        let mut known = Vec::with_capacity(chunks.len());
        for PartChunk { chunk, info, blocks } in chunks {
            slots.extend(blocks.into_iter().map(|entry| Slot::new(chunk, entry)));
            known.push(MappedChunk { chunk, info });
        }
        Ok(MappedPart {
            pool: Arc::new(pool),
            path,
            stamp,
            domain: domain.name().to_owned(),
            kind: domain.kind(),
            node: domain.numa_node(),
            readers: reachable.readers,
            chunks: known,
            slots,
            number: self.id.number,
            names: Arc::clone(&self.names),
            needs_care: Arc::clone(&self.needs_care),
        })
    }

    /// Returns the chunks that the part knows, or what is wrong with its pool.
    fn read_directory(&self, pool: &Pool) -> Result<std::result::Result<Vec<PartChunk>, String>> {
        let record = &self.record;
        let header = pool.read(0, POOL_HEADER_BYTES as u64)?;
        if let Err(reason) = directory::check_pool_header(header, &self.id) {
            return Ok(Err(reason));
        }
        let bytes = pool.read(record.directory_offset, record.directory_bytes)?;
        let computed = crc32c::crc32c(bytes);
        if computed != record.directory_crc32c {
            return Ok(Err(format!(
                "directory: checksum {computed:#010x} does not match {:#010x}",
                record.directory_crc32c
            )));
        }
        let bounds = Bounds {
            chunk_count: self.chunk_count,
            column_count: self.names.column_count(),
            blocks_end: record.directory_offset,
        };
        let chunks = directory::decode(self.id.layout, bytes, &bounds);
        Ok(chunks.map_err(|reason| format!("directory: {reason}")))
    }
}

impl Drop for Part {
    fn drop(&mut self) {
        // ORDERING: pairs with the release store in `doom`.
        if self.is_doomed.load(Ordering::Acquire)
            && let Ok(reachable) = self.domains.get(&self.record.domain)
        {
            // A file that stays is removed when the database is next opened for writing.
            let _ = reachable.domain.remove_pool(&self.own_file_name());
        }
    }
}

/// Size and time of a file's last change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Stamp {
    bytes: u64,
    modified: Option<SystemTime>,
}

impl Stamp {
    fn of(path: &Path) -> Option<Self> {
        let metadata = std::fs::metadata(path).ok()?;
        Some(Self { bytes: metadata.len(), modified: metadata.modified().ok() })
    }
}

/// A mapped part with its directory.
#[derive(Debug)]
pub(crate) struct MappedPart {
    pool: Arc<Pool>,
    path: Option<PathBuf>,
    /// Of the file before it was mapped; `None` in DRAM.
    stamp: Option<Stamp>,
    pub(crate) domain: String,
    pub(crate) kind: DomainKind,
    pub(crate) node: Option<u32>,
    pub(crate) readers: Arc<Readers>,
    pub(crate) chunks: Vec<MappedChunk>,
    pub(crate) slots: Vec<Slot>,
    number: u32,
    names: Arc<TableNames>,
    needs_care: Arc<AtomicBool>,
}

/// A chunk that a mapped part knows.
#[derive(Debug)]
pub(crate) struct MappedChunk {
    pub(crate) chunk: u32,
    pub(crate) info: Arc<ChunkInfo>,
}

/// What is known of a block since the part was mapped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum BlockState {
    Unverified,
    Verified,
    Lost,
}

/// One block of a mapped part.
#[derive(Debug)]
pub(crate) struct Slot {
    pub(crate) chunk: u32,
    pub(crate) entry: BlockEntry,
    state: AtomicU8,
    /// Why the block is lost.
    reason: OnceLock<Box<str>>,
}

impl Slot {
    fn new(chunk: u32, entry: BlockEntry) -> Self {
        let state = AtomicU8::new(BlockState::Unverified as u8);
        Self { chunk, entry, state, reason: OnceLock::new() }
    }

    #[inline]
    pub(crate) fn state(&self) -> BlockState {
        // ORDERING: pairs with the release stores of `MappedPart`; the reason is set before.
        match self.state.load(Ordering::Acquire) {
            0 => BlockState::Unverified,
            1 => BlockState::Verified,
            _ => BlockState::Lost,
        }
    }

    /// Returns why the block is lost, if it is.
    pub(crate) fn problem(&self) -> Option<&str> {
        self.reason.get().map(|reason| &**reason)
    }
}

impl MappedPart {
    /// Returns the part's number in its load: a higher one is newer.
    pub(crate) fn number(&self) -> u32 {
        self.number
    }

    pub(crate) fn pool(&self) -> &Arc<Pool> {
        &self.pool
    }

    pub(crate) fn path(&self) -> Option<&Path> {
        self.path.as_deref()
    }

    /// Returns the names of the table and its columns.
    pub(crate) fn names(&self) -> &TableNames {
        &self.names
    }

    /// Returns the rows of the chunk that a block belongs to.
    pub(crate) fn rows_of(&self, slot: usize) -> usize {
        let chunk = self.slots[slot].chunk;
        let at = self.chunks.partition_point(|known| known.chunk < chunk);
        self.chunks.get(at).map_or(0, |known| known.info.rows as usize)
    }

    /// Whether the file is still the one that was mapped and unchanged, or has gone: a mapping
    /// outlives its file.
    fn is_current(&self) -> bool {
        if self.pool.check_unchanged().is_ok() {
            return true;
        }
        let now = self.path.as_deref().and_then(Stamp::of);
        now.is_none() || now == self.stamp
    }

    /// Returns the bytes of a block if it is good, after its checksum was verified once.
    pub(crate) fn block(
        &self,
        slot: usize,
        column_type: ColumnType,
        rows: usize,
    ) -> Option<PoolSlice> {
        let block = &self.slots[slot];
        let BlockEntry { offset, bytes, .. } = block.entry;
        match block.state() {
            BlockState::Lost => return None,
            BlockState::Verified => {}
            BlockState::Unverified => {
                let verified = self.verify(slot, column_type, rows);
                // A checksum over lost bytes says nothing about those on media.
                if let Err(error) = self.pool.check_range(offset, bytes) {
                    self.mark_lost(slot, error.to_string());
                    return None;
                }
                match verified {
                    Ok(()) => {
                        // ORDERING: pairs with the load in `Slot::state`. A block that another
                        // thread has found lost meanwhile stays lost.
                        let _ = block.state.compare_exchange(
                            BlockState::Unverified as u8,
                            BlockState::Verified as u8,
                            Ordering::AcqRel,
                            Ordering::Acquire,
                        );
                    }
                    Err(reason) => {
                        self.mark_lost(slot, reason);
                        return None;
                    }
                }
            }
        }
        let found = self.pool.check_range(offset, bytes);
        match found.and_then(|()| self.pool.whole(offset, bytes)) {
            Ok(bytes) => Some(bytes),
            Err(error) => {
                self.mark_lost(slot, error.to_string());
                None
            }
        }
    }

    /// Checks every byte of a block.
    ///
    /// # Errors
    /// What is wrong with it.
    pub(crate) fn verify(
        &self,
        slot: usize,
        column_type: ColumnType,
        rows: usize,
    ) -> std::result::Result<(), String> {
        let BlockEntry { offset, bytes, crc32c, .. } = self.slots[slot].entry;
        if !offset.is_multiple_of(ALIGNMENT as u64) {
            return Err(format!("its offset {offset} is not aligned"));
        }
        let bytes = self.pool.read(offset, bytes).map_err(|error| error.to_string())?;
        let block = Block::open(bytes, column_type).map_err(|error| error.to_string())?;
        let stored = block.header().crc32c;
        if crc32c.is_some_and(|expected| expected != stored) {
            return Err("another block lies in its place".into());
        }
        block.verify().map_err(|error| error.to_string())?;
        if block.rows() != rows {
            return Err(format!("the block has {} rows, its chunk {rows}", block.rows()));
        }
        Ok(())
    }

    /// Notes that a block is lost.
    pub(crate) fn mark_lost(&self, slot: usize, reason: String) {
        let block = &self.slots[slot];
        let _ = block.reason.set(reason.into_boxed_str());
        // ORDERING: pairs with the load in `Slot::state`.
        block.state.store(BlockState::Lost as u8, Ordering::Release);
        // ORDERING: pairs with the swap in maintenance.
        self.needs_care.store(true, Ordering::Release);
    }
}
