//! Bulk loads: chunks are encoded by many workers and become visible together.
//!
//! 1. [`Load::append_chunk`] encodes a chunk's columns once for each of their replicas and appends
//!    the blocks to the load's parts: one for each replica and domain.
//! 2. [`Load::commit`] writes the directories, makes all parts durable, checks the primary key
//!    against the table and within the load, and publishes the load by one manifest record.
//!
//! A domain that fails meanwhile is left out: the load goes on as long as every column has a
//! replica that survives a restart, and the missing ones are rebuilt by maintenance.
//!
//! Second replicas of long strings cost more than all the rest of a load. A bulk load writes the
//! first replica once more in their place, to parts of their own, and maintenance encodes them
//! when no load runs ([`block::encode_for_load`]); then these parts go as a whole.
//!
//! # Invariants
//! 1. Until the manifest record is published nobody sees the load, and a crash leaves only files
//!    that the next open removes.
//! 2. Chunks are numbered by the caller, so the order of rows does not depend on timing.
//! # Concurrency
//! `append_chunk` may be called from any number of threads at once.
//! # Source
//! [Muehlbauer16 3.3] bulk loading in chunks; chunks go straight to compressed blocks.
//! [Zarubin22 4.2.2] replicas are encoded on the fly from one cache-resident buffer, and committed
//! when all are durable. Differs: a replica whose domain fails is left out, instead of failing all;
//! costly replicas are encoded later.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use nacre_column::replicated::WearCause;
use nacre_column::{
    BlockError, BlockStatistics, ColumnBuffer, EncodedBlock, FormatChoice, LoadBlock, block, text,
};
use nacre_simd::Flavour;

use crate::directory::{ChunkInfo, KeyRange, Layout, PartId};
use crate::domains::DRAM_DOMAIN;
use crate::error::{DuplicateKey, Error, Result};
use crate::foreign_key::check_load;
use crate::index::TableIndex;
use crate::key::Keys;
use crate::manifest::{LoadId, LoadRecord, PartRecord};
use crate::part_writer::{BlockName, PartWriter};
use crate::running_loads::RunningLoad;
use crate::schema::TableSchema;
use crate::store::Store;
use crate::stored_load::StoredLoad;
use crate::table::Table;
use crate::uniqueness;

/// A load that is under way; dropping it leaves nothing behind.
#[derive(Debug)]
pub struct Load {
    store: Store,
    table: Arc<Table>,
    schema: Arc<TableSchema>,
    id: LoadId,
    /// First those that [`ColumnPlan`] names, then for each of them one for repeated blocks.
    parts: Vec<LoadPart>,
    columns: Vec<ColumnPlan>,
    chunks: Mutex<BTreeMap<u64, ChunkInfo>>,
    flavour: Flavour,
    /// `None` if nothing gives way to the load, and it encodes everything itself.
    running: Option<RunningLoad>,
}

/// One part of a load, or why there is none.
#[derive(Debug)]
struct LoadPart {
    id: PartId,
    domain: String,
    /// Not set before something is to be written; `None` if the part could not be begun.
    writer: OnceLock<Option<PartWriter>>,
    /// The first failure; nothing is written to the part after it.
    failure: OnceLock<Error>,
}

impl LoadPart {
    fn new(id: PartId, domain: String) -> Self {
        Self { id, domain, writer: OnceLock::new(), failure: OnceLock::new() }
    }

    /// Returns what writes to the part, which is begun if it was not; `None` if it failed.
    fn writer(&self, store: &Store, schema: &TableSchema) -> Option<&PartWriter> {
        let begin = || {
            let unknown = |_| Error::UnknownDomain {
                domain: self.domain.clone(),
                table: schema.name.clone(),
            };
            let there = store.all_domains().get(&self.domain).map_err(unknown);
            let begun = there.and_then(|there| PartWriter::create(&there.domain, self.id));
            begun.map_err(|error| self.failure.set(error)).ok()
        };
        let writer = self.writer.get_or_init(begin).as_ref();
        writer.filter(|_| self.is_whole())
    }

    fn is_begun(&self) -> bool {
        self.writer.get().is_some()
    }

    fn is_whole(&self) -> bool {
        self.failure.get().is_none()
    }
}

/// What becomes of one column.
#[derive(Debug, Default)]
struct ColumnPlan {
    choices: Vec<FormatChoice>,
    /// The part that each replica goes to.
    parts: Vec<usize>,
}

impl Load {
    /// Plans the parts and begins those whose domains are there; `running` is `None` for chunks
    /// that are frozen.
    ///
    /// # Errors
    /// That of the first part that cannot be begun, if a column has no other.
    pub(crate) fn new(
        store: Store,
        table: Arc<Table>,
        id: LoadId,
        running: Option<RunningLoad>,
    ) -> Result<Self> {
        let schema = table.schema();
        let domains = store.all_domains();
        let mut columns = Vec::with_capacity(schema.columns.len());
        let mut numbers: BTreeMap<(u8, String), usize> = BTreeMap::new();
        for column in 0..schema.columns.len() {
            let mut plan = ColumnPlan::default();
            let targets = domains.targets(&schema.policy(column));
            for (replica, target) in (0..).zip(targets) {
                let next = numbers.len();
                plan.parts.push(*numbers.entry((replica, target.domain)).or_insert(next));
                plan.choices.push(target.format);
            }
            columns.push(plan);
        }
        let mut names: Vec<(usize, String)> =
            numbers.into_iter().map(|((_, domain), number)| (number, domain)).collect();
        names.sort_unstable();
        let (database, planned) = (store.database(), names.len());
        let part = |(number, domain): (usize, String)| {
            let (table, number) = (table.id(), number as u32);
            let layout = Layout::PartWithStatistics;
            let id = PartId { database, table, load: id, number, layout };
            LoadPart::new(id, domain)
        };
        let repeated = names.iter().map(|(number, domain)| (number + planned, domain.clone()));
        let parts = names.iter().cloned().chain(repeated).map(part).collect();
        let (chunks, flavour) = (Mutex::default(), Flavour::active());
        let load = Self { store, table, schema, id, parts, columns, chunks, flavour, running };
        for part in &load.parts[..planned] {
            part.writer(&load.store, &load.schema);
        }
        load.require_replicas()?;
        Ok(load)
    }

    /// Returns the table that is loaded.
    pub fn table(&self) -> &Arc<Table> {
        &self.table
    }

    /// Encodes and writes chunk `index` of this load: one buffer per column, equally long.
    ///
    /// # Errors
    /// [`Error::NullViolation`], [`Error::DuplicateKey`] within the chunk; no space or I/O if they
    /// leave a column without a replica. The load cannot be committed afterwards without that
    /// chunk.
    ///
    /// # Panics
    /// If the buffers do not fit the table's columns or hold no row.
    pub fn append_chunk(&self, index: u64, columns: &[ColumnBuffer]) -> Result<()> {
        let schema = &self.schema;
        assert_eq!(columns.len(), schema.columns.len(), "columns of table {:?}", schema.name);
        let rows = columns[0].len();
        assert!(rows > 0 && columns.iter().all(|column| column.len() == rows));
        let chunk = u32::try_from(index).map_err(|_| Error::Internal {
            reason: format!("chunk {index} of a load: its number is too large"),
        })?;
        for (definition, column) in schema.columns.iter().zip(columns) {
            if !definition.is_nullable && column.null_count() > 0 {
                return Err(Error::NullViolation {
                    table: schema.name.clone(),
                    column: definition.name.clone(),
                });
            }
        }
        let key_range = self.check_keys(index, columns)?;
        let (mut smas, mut statistics) = (Vec::with_capacity(columns.len()), Vec::new());
        for (number, (plan, column)) in self.columns.iter().zip(columns).enumerate() {
            let encoded = self.encode(column, &plan.choices);
            let blocks = encoded.map_err(|error| Error::Internal {
                reason: format!(
                    "{}.{}, chunk {index}: {error}",
                    schema.name, schema.columns[number].name
                ),
            })?;
            self.append_replicas((chunk, number), plan, &blocks)?;
            if let Some(LoadBlock { block, .. }) = blocks.first() {
                smas.push(block.header.sma);
                BlockStatistics::of_encoded(column, block).write(&mut statistics);
            }
        }
        let statistics = statistics.into_boxed_slice();
        let info = ChunkInfo { rows: rows as u32, key_range, smas, statistics };
        self.chunks.lock().unwrap_or_else(PoisonError::into_inner).insert(index, info);
        Ok(())
    }

    fn encode(
        &self,
        column: &ColumnBuffer,
        choices: &[FormatChoice],
    ) -> std::result::Result<Vec<LoadBlock>, BlockError> {
        if self.running.is_some() {
            return block::encode_for_load(column, choices, self.flavour);
        }
        let blocks = block::encode_replicas(column, choices, self.flavour)?.into_iter();
        let as_planned = |(block, choice): (EncodedBlock, &FormatChoice)| {
            let choice = *choice;
            LoadBlock { block, choice }
        };
        Ok(blocks.zip(choices).map(as_planned).collect())
    }

    /// Returns the part for repeated blocks of a replica that goes to `part`.
    fn repeats_of(&self, part: usize) -> usize {
        self.parts.len() / 2 + part
    }

    /// Writes the replicas of one block to their parts.
    fn append_replicas(
        &self,
        (chunk, column): (u32, usize),
        plan: &ColumnPlan,
        blocks: &[LoadBlock],
    ) -> Result<()> {
        let mut is_written = false;
        for (replica, LoadBlock { block, choice }) in blocks.iter().enumerate() {
            let is_as_planned = *choice == plan.choices[replica];
            let planned = plan.parts[replica];
            let part = if is_as_planned { planned } else { self.repeats_of(planned) };
            let part = &self.parts[part];
            let Some(writer) = part.writer(&self.store, &self.schema) else {
                continue;
            };
            let (choice, replica) = (*choice, replica as u8);
            let name = BlockName { chunk, column: column as u16, replica, choice };
            match writer.append(name, block) {
                Ok(()) => {
                    is_written |= writer.domain() != DRAM_DOMAIN;
                    let bytes = block.bytes.len() as u64;
                    self.store.count_wear(
                        writer.domain(),
                        Some((&*self.table, Some(column))),
                        WearCause::Load,
                        bytes,
                    );
                }
                Err(error) => {
                    let _ = part.failure.set(error);
                }
            }
        }
        if is_written { Ok(()) } else { Err(self.failure(plan)) }
    }

    /// Makes the error for a column that has no replica left.
    fn failure(&self, plan: &ColumnPlan) -> Error {
        let failure = |part: usize| self.parts[part].failure.get();
        let mut parts = plan.parts.iter().copied();
        match parts.find_map(|part| failure(part).or_else(|| failure(self.repeats_of(part)))) {
            Some(error) => error.again(),
            None => Error::Internal { reason: "a column has no replica that lasts".into() },
        }
    }

    /// Publishes all chunks at once and returns the number of rows.
    ///
    /// # Errors
    /// [`Error::DuplicateKey`], [`Error::ForeignKeyViolation`]; [`Error::SerializationConflict`] if
    /// it depends on a transaction that has not ended; [`Error::UnknownTable`] if the table was
    /// dropped meanwhile; no
    /// space or I/O if they leave a column without a replica; then nothing of the load is visible
    /// and its files are removed.
    pub fn commit(mut self) -> Result<u64> {
        let Some((load, record)) = self.finish()? else {
            return Ok(0);
        };
        let fence = self.store.fence_calls();
        let published = fence.and_then(|_fence| publish(&self.store, &self.table, &load, &record));
        self.note_published(&load, published.is_ok());
        published?;
        self.store.cover_loads(&self.table);
        Ok(record.rows)
    }

    /// Makes all chunks durable and returns what is to be published; `None` if there are none.
    ///
    /// # Errors
    /// As for [`Load::commit`]; then no file is left.
    pub(crate) fn finish(&mut self) -> Result<Option<(Arc<StoredLoad>, LoadRecord)>> {
        let chunks =
            std::mem::take(&mut *self.chunks.lock().unwrap_or_else(PoisonError::into_inner));
        if let Some((position, _)) = (0..).zip(chunks.keys()).find(|(want, have)| want != *have) {
            return Err(Error::Internal {
                reason: format!("chunk {position} of a load is missing"),
            });
        }
        let infos: BTreeMap<u32, Arc<ChunkInfo>> =
            (0..).zip(chunks.into_values().map(Arc::new)).collect();
        let rows = infos.values().map(|info| u64::from(info.rows)).sum();
        if rows == 0 {
            return Ok(None);
        }
        let has_repeats = self.has_repeats();
        let parts = self.finish_parts(&infos)?;
        let record = LoadRecord {
            load: self.id,
            table: self.table.id(),
            rows,
            chunk_count: infos.len() as u32,
            parts,
        };
        let load = Arc::new(StoredLoad::new(
            &record,
            self.parts.len() as u32,
            self.store.database(),
            self.table.names(),
            self.store.all_domains(),
        ));
        load.set_needs_care(!self.is_whole() || has_repeats);
        Ok(Some((load, record)))
    }

    /// Removes the files of a load that is not published for sure; tells the user what one that is
    /// did without.
    pub(crate) fn note_published(&self, load: &StoredLoad, is_published: bool) {
        // If the record may have been published, the files must stay: opening decides.
        if !is_published && !self.store.is_in_doubt() {
            load.doom();
        }
        if is_published && !self.is_whole() {
            self.note_failures();
        }
    }

    fn is_whole(&self) -> bool {
        self.parts.iter().all(LoadPart::is_whole)
    }

    /// Whether blocks were repeated that are to be encoded; known until the parts are finished.
    fn has_repeats(&self) -> bool {
        self.parts[self.repeats_of(0)..].iter().any(LoadPart::is_begun)
    }

    /// Returns the load's id.
    pub(crate) fn id(&self) -> LoadId {
        self.id
    }

    /// Makes the parts durable and returns what the manifest says of them.
    fn finish_parts(&mut self, infos: &BTreeMap<u32, Arc<ChunkInfo>>) -> Result<Vec<PartRecord>> {
        let mut records = Vec::with_capacity(self.parts.len());
        for part in &mut self.parts {
            // A writer that failed is dropped here, and its file with it.
            let Some(writer) = part.writer.take().flatten().filter(|_| part.is_whole()) else {
                continue;
            };
            match writer.finish(infos, self.schema.columns.len()) {
                Ok((record, directory_bytes)) => {
                    let owner = Some((&*self.table, None));
                    let cause = WearCause::Load;
                    self.store.count_wear(&record.domain, owner, cause, directory_bytes);
                    records.push(record);
                }
                Err(error) => {
                    let _ = part.failure.set(error);
                }
            }
        }
        match self.require_replicas() {
            Ok(()) => Ok(records),
            Err(error) => {
                self.store.remove_parts(self.id, &records);
                Err(error)
            }
        }
    }

    /// Returns the first failure if it leaves a column without a replica that lasts.
    fn require_replicas(&self) -> Result<()> {
        let lasts = |&part: &usize| {
            let is_whole =
                self.parts[part].is_whole() && self.parts[self.repeats_of(part)].is_whole();
            is_whole && self.parts[part].domain != DRAM_DOMAIN
        };
        let Some(plan) = self.columns.iter().find(|plan| !plan.parts.iter().any(lasts)) else {
            return Ok(());
        };
        Err(self.failure(plan))
    }

    /// Tells the user which replicas the load did without.
    fn note_failures(&self) {
        for part in &self.parts {
            if let Some(error) = part.failure.get() {
                self.store.note(format!(
                    "load {} of table \"{}\" has no replica in memory domain \"{}\": {error}",
                    self.id.0, self.schema.name, part.domain
                ));
            }
        }
        self.table.wake();
    }

    /// Checks the keys within the chunk and returns their range.
    fn check_keys(&self, index: u64, columns: &[ColumnBuffer]) -> Result<Option<KeyRange>> {
        let Some(key) = &self.schema.primary_key else {
            return Ok(None);
        };
        let key_columns: Vec<&ColumnBuffer> = key.iter().map(|&column| &columns[column]).collect();
        let keys = Keys::new(&key_columns);
        if let Some(row) = keys.first_duplicate() {
            let primary = TableIndex::of_primary_key(&self.schema);
            return Err(primary.map_or_else(
                || Error::Internal { reason: "keys without a primary key".into() },
                |primary| duplicate_key(&self.table, &primary, &key_columns, (index, row)),
            ));
        }
        let (min, max) = (keys.iter().min(), keys.iter().max());
        Ok(min.zip(max).map(|(min, max)| KeyRange { min: min.to_vec(), max: max.to_vec() }))
    }
}

fn publish(
    store: &Store,
    table: &Arc<Table>,
    load: &Arc<StoredLoad>,
    record: &LoadRecord,
) -> Result<()> {
    let _commit = table.commit_lock.lock().unwrap_or_else(PoisonError::into_inner);
    // From here on inserts look at the load too.
    table.announce_load(load);
    let published = uniqueness::check(table, load)
        .and_then(|()| check_load(table, load))
        .and_then(|()| store.publish_load(table, load, record));
    table.withdraw_load(load);
    published
}

/// Builds the error for a key of an index that is there twice, in a row of a chunk of a load.
pub(crate) fn duplicate_key(
    table: &Table,
    index: &TableIndex,
    key_columns: &[&ColumnBuffer],
    (chunk, row): (u64, usize),
) -> Error {
    let schema = table.schema();
    Error::DuplicateKey(Box::new(DuplicateKey {
        table: schema.name.clone(),
        constraint: index.definition().name.clone(),
        columns: index.columns_text(&schema),
        key: key_text(key_columns, row),
        loaded_at: Some((chunk, row as u32)),
    }))
}

/// Returns a row of key columns as text, such as `1, x`.
pub(crate) fn key_text(key_columns: &[&ColumnBuffer], row: usize) -> String {
    let value_text = |column: &&ColumnBuffer| {
        let mut bytes = Vec::new();
        text::write_value(column, row, &mut bytes);
        String::from_utf8_lossy(&bytes).into_owned()
    };
    key_columns.iter().map(value_text).collect::<Vec<_>>().join(", ")
}
