//! A column of numbers in several replicas, appended to at its end.
//!
//! 1. [`ReplicatedColumn::append`] copies values into a staging buffer that stays in the cache.
//! 2. When it holds a block's rows, the block is encoded once for each replica, written to each
//!    with streaming stores, and made durable in each.
//! 3. Then it is published in each replica by one 8-byte store, and shown to readers.
//! 4. [`ReplicatedColumn::commit`] does the same with a block that is not full.
//!
//! # Invariants
//! 1. Readers see a block when all healthy replicas hold it durably; each block is seen whole.
//! 2. A replica that could not be written gets no more blocks. The others go on; without any left
//!    the append fails, and what it staged stays staged.
//! # Durability
//! On return of `append` all full blocks are durable, on return of `commit` all values. After a
//! crash a block counts if any replica published it: it may be one that was never acknowledged.
//! # Source
//! [Zarubin22 4.2.2] the library: `allocate`, `append`, `get_buffer`, snapshots. Differs: the unit
//! is a checksummed block, replicas are checked and rebuilt, and more than two are possible.

use std::collections::BTreeMap;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use nacre_pmem::Domain;
use nacre_simd::Flavour;

use super::choose::AccessHint;
use super::error::ReplicatedError;
use super::segment::{self, Identity, ReplicaWriter};
use super::snapshot::{ColumnReader, Entry, Place, Shared, Snapshot, Stored};
use super::wear::{Wear, WearCause};
use crate::REPLICAS_MAX;
use crate::{BlockError, CHUNK_ROWS, ColumnBuffer, ColumnType, EncodedBlock, FormatChoice, block};

/// Settings of a replicated column.
#[derive(Clone, Copy, Debug)]
pub struct ReplicatedOptions {
    /// Bytes of each file; a column takes as many as it needs. 64 MiB by default: large enough that
    /// creating files does not count, small enough for little waste.
    pub segment_bytes: u64,
    /// Rows of a block, at most [`CHUNK_ROWS`], the default: 512 KiB of staged values.
    pub block_rows: usize,
    /// The flavour that encodes; by default the active one.
    pub flavour: Flavour,
}

/// A column and its appender.
pub struct ReplicatedColumn {
    shared: Arc<Shared>,
    writers: Vec<ReplicaWriter>,
    staging: ColumnBuffer,
    options: ReplicatedOptions,
}

impl Default for ReplicatedOptions {
    fn default() -> Self {
        let flavour = Flavour::active();
        Self { segment_bytes: 64 << 20, block_rows: CHUNK_ROWS, flavour }
    }
}

impl ReplicatedColumn {
    /// Creates an empty column with a replica for each of `replicas`.
    ///
    /// # Errors
    /// No replica or too many, a format that cannot hold the type, files that exist, no space.
    pub fn create(
        name: &str,
        column_type: ColumnType,
        replicas: &[(Domain, FormatChoice)],
        options: ReplicatedOptions,
    ) -> Result<Self, ReplicatedError> {
        if !(1..=REPLICAS_MAX).contains(&replicas.len()) {
            let (column, found) = (name.to_owned(), replicas.len());
            return Err(ReplicatedError::Count { column, found });
        }
        for (_, choice) in replicas {
            if let FormatChoice::Fixed(format) = *choice
                && !format.can_hold(column_type)
            {
                return Err(block_error(name, BlockError::WrongFormat { column_type, format }));
            }
        }
        let mut formats = [FormatChoice::Auto; REPLICAS_MAX];
        for (format, (_, choice)) in formats.iter_mut().zip(replicas) {
            *format = *choice;
        }
        let column_id = RandomState::new().build_hasher().finish();
        let model = Identity {
            column_id,
            column_type,
            replica: 0,
            replicas: replicas.len() as u32,
            formats,
        };
        let mut writers = Vec::new();
        for (replica, (domain, _)) in (0..).zip(replicas) {
            let identity = Identity { replica, ..model };
            let mut writer = ReplicaWriter::new(domain, name, identity, options.segment_bytes);
            writer.reserve().map_err(|source| pool_error(name, source))?;
            writers.push(writer);
        }
        Ok(Self::new(name, column_type, writers, Vec::new(), options))
    }

    /// Opens a column whose replicas lie in `domains`, in the order in which it was created.
    ///
    /// Replicas that are missing, such as those in DRAM, are there again after
    /// [`restore`](Self::restore).
    ///
    /// # Errors
    /// No replica is found, or they are not of one column.
    pub fn open(
        name: &str,
        domains: &[Domain],
        options: ReplicatedOptions,
    ) -> Result<Self, ReplicatedError> {
        let mut found = Vec::new();
        for (replica, domain) in domains.iter().enumerate() {
            found.push(segment::open(domain, name, replica as u32, options.segment_bytes)?);
        }
        let Some(model) = found.iter().flatten().map(|one| one.identity).next() else {
            return Err(ReplicatedError::Count { column: name.to_owned(), found: 0 });
        };
        let is_alike = |one: &Identity| Identity { replica: model.replica, ..*one } == model;
        if !found.iter().flatten().all(|one| is_alike(&one.identity))
            || model.replicas as usize != domains.len()
        {
            let reason = format!("the replicas are not the {} of one column", domains.len());
            return Err(ReplicatedError::Foreign { file: name.to_owned(), reason });
        }
        let mut blocks: BTreeMap<u64, Entry> = BTreeMap::new();
        let mut writers = Vec::new();
        for ((replica, one), domain) in (0..).zip(found).zip(domains) {
            let Some(one) = one else {
                let identity = Identity { replica, ..model };
                let bytes = options.segment_bytes;
                writers.push(ReplicaWriter::new(domain, name, identity, bytes));
                continue;
            };
            for record in one.records {
                let entry = blocks.entry(record.number).or_insert_with(|| Entry {
                    rows: record.rows,
                    replicas: vec![None; domains.len()],
                });
                let stored = Stored::found(record.block, model.column_type);
                entry.replicas[replica as usize] = Some(Arc::new(stored));
            }
            writers.push(one.writer);
        }
        // What stands behind a gap was never acknowledged.
        let entries = (0..).zip(blocks).take_while(|(want, (have, _))| want == have);
        let entries = entries.map(|(_, (_, entry))| Arc::new(entry)).collect();
        Ok(Self::new(name, model.column_type, writers, entries, options))
    }

    fn new(
        name: &str,
        column_type: ColumnType,
        writers: Vec<ReplicaWriter>,
        entries: Vec<Arc<Entry>>,
        options: ReplicatedOptions,
    ) -> Self {
        let place = |writer: &ReplicaWriter| Place {
            domain: writer.domain().name().to_owned(),
            kind: writer.domain().kind(),
            node: writer.domain().numa_node(),
            format: writer.format(),
            readers: AtomicU32::new(0),
            reads: AtomicU64::new(0),
            has_failed: AtomicBool::new(false),
        };
        let shared = Arc::new(Shared {
            name: name.to_owned(),
            column_type,
            places: writers.iter().map(place).collect(),
            blocks: RwLock::new(Arc::new(entries)),
            wear: Wear::default(),
        });
        let options =
            ReplicatedOptions { block_rows: options.block_rows.clamp(1, CHUNK_ROWS), ..options };
        Self { shared, writers, staging: ColumnBuffer::new(column_type), options }
    }

    /// Returns a reader, which may go to another thread.
    pub fn reader(&self) -> ColumnReader {
        ColumnReader(Arc::clone(&self.shared))
    }

    /// Returns the blocks that are committed now.
    pub fn snapshot(&self) -> Snapshot {
        self.shared.snapshot()
    }

    /// Returns the bytes that were written to each replica, by domain, replica and cause.
    pub fn wear(&self) -> Vec<(String, u32, WearCause, u64)> {
        self.shared.wear.counts()
    }

    /// Appends values; those that fill blocks are durable in all healthy replicas on return.
    ///
    /// # Errors
    /// No replica can be written, or a value is outside of the column's type. Nothing is lost of
    /// what was acknowledged; values behind the block that failed are not staged.
    pub fn append(&mut self, mut values: &[i64]) -> Result<(), ReplicatedError> {
        while !values.is_empty() {
            let room = self.options.block_rows - self.staging.len();
            let (now, later) = values.split_at(room.min(values.len()));
            self.staging.push_ints(now);
            values = later;
            if self.staging.len() == self.options.block_rows {
                self.write_staged()?;
            }
        }
        Ok(())
    }

    /// Makes all values durable that were appended, and returns the number of rows.
    ///
    /// # Errors
    /// As for [`append`](Self::append).
    pub fn commit(&mut self) -> Result<u64, ReplicatedError> {
        if !self.staging.is_empty() {
            self.write_staged()?;
        }
        Ok(self.snapshot().rows())
    }

    /// Encodes what is staged, writes it to all healthy replicas and shows it to readers.
    fn write_staged(&mut self) -> Result<(), ReplicatedError> {
        let rows = self.staging.len() as u32;
        let number = self.snapshot().blocks() as u64;
        let choices: Vec<_> = self.writers.iter().map(ReplicaWriter::format).collect();
        let encoded = block::encode_replicas(&self.staging, &choices, self.options.flavour)
            .map_err(|source| block_error(&self.shared.name, source))?;
        let mut failure = None;
        let mut replicas: Vec<Option<Arc<Stored>>> = Vec::with_capacity(self.writers.len());
        for ((replica, writer), block) in self.writers.iter_mut().enumerate().zip(&encoded) {
            let place = &self.shared.places[replica];
            // ORDERING: Relaxed, only the appender decides by it.
            if place.has_failed.load(Ordering::Relaxed) {
                replicas.push(None);
                continue;
            }
            let written = write(writer, number, rows, block);
            if let Ok(stored) = written {
                let bytes = block.bytes.len() as u64;
                self.shared.wear.add(&place.domain, replica as u32, WearCause::Load, bytes);
                replicas.push(Some(Arc::new(stored)));
            } else {
                failure = written.err();
                replicas.push(None);
            }
        }
        // Each replica is durable; now each makes the block reachable.
        for (replica, writer) in self.writers.iter_mut().enumerate() {
            if replicas[replica].is_some()
                && let Err(error) = writer.publish()
            {
                failure = Some(error);
                replicas[replica] = None;
            }
        }
        let has_good = replicas.iter().any(Option::is_some);
        if let (false, Some(source)) = (has_good, failure) {
            return Err(pool_error(&self.shared.name, source));
        }
        for (place, stored) in self.shared.places.iter().zip(&replicas) {
            if stored.is_none() {
                place.has_failed.store(true, Ordering::Relaxed);
            }
        }
        self.show(Entry { rows, replicas });
        self.staging.clear();
        Ok(())
    }

    /// Adds a block to what readers see from now on.
    fn show(&self, entry: Entry) {
        let mut blocks = self.shared.blocks.write().unwrap_or_else(PoisonError::into_inner);
        Arc::make_mut(&mut *blocks).push(Arc::new(entry));
    }

    /// Writes what replicas lack or lost again, from good ones; returns the number of blocks.
    ///
    /// A replica that could not be written is begun anew.
    ///
    /// # Errors
    /// [`ReplicatedError::NoReplica`] for a block that is good nowhere; the replica cannot be
    /// written now either. What was restored stays.
    pub fn restore(&mut self) -> Result<u64, ReplicatedError> {
        let name = self.shared.name.clone();
        for (place, writer) in self.shared.places.iter().zip(&mut self.writers) {
            if place.has_failed.load(Ordering::Relaxed) {
                writer.remove_all().map_err(|source| pool_error(&name, source))?;
            }
        }
        let snapshot = self.snapshot();
        let mut restored = 0;
        for (number, entry) in snapshot.entries().iter().enumerate() {
            let lacking: Vec<usize> = (0..self.writers.len())
                .filter(|replica| {
                    let has_failed = &self.shared.places[*replica].has_failed;
                    has_failed.load(Ordering::Relaxed) || entry.lacks(*replica)
                })
                .collect();
            if lacking.is_empty() {
                continue;
            }
            let column = self.decode(&snapshot, number)?;
            let mut replicas = entry.replicas.clone();
            for &replica in &lacking {
                let writer = &mut self.writers[replica];
                let choice = [writer.format()];
                let encoded = block::encode_replicas(&column, &choice, self.options.flavour)
                    .map_err(|source| block_error(&name, source))?;
                let block = &encoded[0];
                let stored = write(writer, number as u64, entry.rows, block)
                    .and_then(|stored| writer.publish().map(|()| stored))
                    .map_err(|source| pool_error(&name, source))?;
                let (domain, bytes) = (&self.shared.places[replica].domain, block.bytes.len());
                self.shared.wear.add(domain, replica as u32, WearCause::Repair, bytes as u64);
                replicas[replica] = Some(Arc::new(stored));
                restored += 1;
            }
            let entry = Arc::new(Entry { rows: entry.rows, replicas });
            let mut blocks = self.shared.blocks.write().unwrap_or_else(PoisonError::into_inner);
            Arc::make_mut(&mut *blocks)[number] = entry;
        }
        for place in &self.shared.places {
            // ORDERING: as above.
            place.has_failed.store(false, Ordering::Relaxed);
        }
        Ok(restored)
    }

    /// Decodes a block from a good replica.
    fn decode(&self, snapshot: &Snapshot, number: usize) -> Result<ColumnBuffer, ReplicatedError> {
        let block_error = |source| block_error(&self.shared.name, source);
        let mut values = Vec::new();
        loop {
            // Each round that does not end marks a replica as lost: `read` fails in the end.
            let guard = snapshot.read(number, AccessHint::Sequential)?;
            let block = guard.block().map_err(block_error)?;
            values.clear();
            block
                .decode_i64(self.options.flavour, 0..block.rows(), &mut values)
                .map_err(block_error)?;
            if guard.is_good() {
                break;
            }
        }
        let mut column = ColumnBuffer::new(self.shared.column_type);
        column.push_ints(&values);
        Ok(column)
    }
}

/// Writes a block to a replica, durably, not yet reachable.
fn write(
    writer: &mut ReplicaWriter,
    number: u64,
    rows: u32,
    block: &EncodedBlock,
) -> nacre_pmem::Result<Stored> {
    let record = writer.append(number, rows, &block.bytes)?;
    writer.drain()?;
    Ok(Stored::written(record.block, block.header.format))
}

fn pool_error(name: &str, source: nacre_pmem::Error) -> ReplicatedError {
    ReplicatedError::Pool { column: name.to_owned(), source }
}

fn block_error(name: &str, source: BlockError) -> ReplicatedError {
    ReplicatedError::Block { column: name.to_owned(), source }
}
