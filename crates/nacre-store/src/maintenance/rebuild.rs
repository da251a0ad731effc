//! One unit of maintenance: writes what a load lacks into fresh parts and publishes them.
//!
//! 1. For each block that lacks replicas a good one is read and decoded.
//! 2. It is encoded as the policy says and appended to a part for each replica and domain.
//! 3. When all are durable, one record names the new parts, and the old ones of which nothing is
//!    needed any more go.
//!
//! A crash before (3) leaves files that no record names; the next open removes them. Readers that
//! hold the old parts go on reading them.
//!
//! # Source
//! [Zarubin22 3.3.2] a lost replica is recovered from another one by decoding and encoding again.

use std::collections::BTreeMap;
use std::sync::Arc;

use nacre_column::replicated::WearCause;
use nacre_column::{EncodedBlock, FormatChoice, block};
use nacre_simd::Flavour;

use super::needs::{Need, Needs, unneeded_parts};
use crate::chunk::Chunk;
use crate::directory::{ChunkInfo, Layout};
use crate::domains::Target;
use crate::error::{Error, Result};
use crate::manifest::PartsChange;
use crate::part_writer::{BlockName, PartWriter};
use crate::store::Store;
use crate::stored_load::{OpenLoad, StoredLoad};
use crate::table::Table;

/// Bytes that a unit writes at most, by and large.
const UNIT_BYTES: u64 = 64 << 20;

/// What a unit that is broken off must have written to be worth a part of its own.
const PUBLISHED_BYTES_MIN: u64 = UNIT_BYTES / 8;

/// A load with its place in its table.
#[derive(Clone, Debug)]
pub(super) struct Job {
    pub(super) table: Arc<Table>,
    pub(super) load: Arc<StoredLoad>,
    /// Number of the load's first chunk in the table.
    pub(super) first_chunk: u64,
}

/// What a unit did.
#[derive(Debug, Default)]
pub(super) struct Done {
    pub(super) blocks: u64,
    pub(super) bytes: u64,
    /// Why a part could not be written; the others were.
    pub(super) failure: Option<Error>,
    /// Whether more of the load is to be done.
    pub(super) has_more: bool,
}

/// Parts that are being written, by replica and domain.
struct Writers<'a> {
    store: &'a Store,
    job: &'a Job,
    writers: BTreeMap<(u8, String), Option<PartWriter>>,
    failure: Option<Error>,
}

impl Writers<'_> {
    /// Appends a block to the part of its replica and domain, which is begun if there is none.
    /// After a failure nothing more is written to that part.
    fn append(&mut self, domain: &str, name: BlockName, block: &EncodedBlock) -> bool {
        let key = (name.replica, domain.to_owned());
        if !self.writers.contains_key(&key) {
            let begun = self.begin(domain);
            let writer = self.noted(begun);
            self.writers.insert(key.clone(), writer);
        }
        let Some(Some(writer)) = self.writers.get(&key) else {
            return false;
        };
        match writer.append(name, block) {
            Ok(()) => true,
            Err(error) => {
                self.failure.get_or_insert(error);
                self.writers.insert(key, None);
                false
            }
        }
    }

    fn begin(&self, domain: &str) -> Result<PartWriter> {
        let there = self.store.all_domains().get(domain).map_err(|_| Error::UnknownDomain {
            domain: domain.to_owned(),
            table: self.job.table.schema().name.clone(),
        })?;
        let number = self.job.load.take_part_number();
        PartWriter::create(&there.domain, self.job.load.part_id(number, Layout::PartWithStatistics))
    }

    fn noted<T>(&mut self, result: Result<T>) -> Option<T> {
        match result {
            Ok(value) => Some(value),
            Err(error) => {
                self.failure.get_or_insert(error);
                None
            }
        }
    }
}

/// Meets the first of the needs of a load.
///
/// # Errors
/// Of publishing. What else fails is in the answer, with what was done in spite of it.
pub(super) fn rebuild(
    store: &Store,
    job: &Job,
    open: &Arc<OpenLoad>,
    needs: &Needs,
) -> Result<Done> {
    let writers = Writers { store, job, writers: BTreeMap::new(), failure: None };
    let (written, infos, done) = (Vec::new(), BTreeMap::new(), Done::default());
    let mut unit = Unit { open, needs, writers, written, infos, done };
    let possible: Vec<&Need> = needs.possible().collect();
    let mut groups =
        possible.chunk_by(|one, other| (one.chunk, one.column) == (other.chunk, other.column));
    for group in groups.by_ref() {
        let is_conversion = group.iter().all(|need| need.cause == WearCause::Conversion);
        if store.is_closing() || (is_conversion && store.running_loads().have_priority()) {
            if unit.done.bytes < PUBLISHED_BYTES_MIN {
                // The files go with their writers.
                return Ok(Done { has_more: true, ..Done::default() });
            }
            unit.done.has_more = true;
            return unit.publish();
        }
        unit.write(group)?;
        if unit.done.bytes >= UNIT_BYTES {
            break;
        }
    }
    unit.done.has_more = groups.next().is_some();
    unit.publish()
}

/// A unit that is under way.
struct Unit<'a> {
    open: &'a Arc<OpenLoad>,
    needs: &'a Needs,
    writers: Writers<'a>,
    written: Vec<Need>,
    /// Chunks of which something was written.
    infos: BTreeMap<u32, Arc<ChunkInfo>>,
    done: Done,
}

impl Unit<'_> {
    fn target(&self, need: &Need) -> &Target {
        &self.needs.targets[need.column][usize::from(need.replica)]
    }

    /// Writes the replicas that one block lacks.
    fn write(&mut self, group: &[&Need]) -> Result<()> {
        let (chunk, column) = (group[0].chunk, group[0].column);
        let job = self.writers.job;
        let number = job.first_chunk + chunk as u64;
        let object = || job.table.names().object(column, number);
        let source = Chunk::new(&job.table, &job.load, self.open, chunk, number);
        // A block without a good replica is reported with what the load lacks.
        let Ok(buffer) = source.decode(column) else {
            return Ok(());
        };
        let last = group.iter().map(|need| usize::from(need.replica)).max().unwrap_or(0);
        // Those before the last are encoded too: which format a chosen one has depends on them.
        let targets = self.needs.targets[column][..=last].iter();
        let choices: Vec<FormatChoice> = targets.map(|target| target.format).collect();
        let blocks = block::encode_replicas(&buffer, &choices, Flavour::active())
            .map_err(|error| Error::Internal { reason: format!("{}: {error}", object()) })?;
        for need in group {
            let Target { domain, format: choice } = self.target(need).clone();
            let (chunk, replica) = (chunk as u32, need.replica);
            let name = BlockName { chunk, column: column as u16, replica, choice };
            let block = &blocks[usize::from(replica)];
            if self.writers.append(&domain, name, block) {
                let bytes = block.bytes.len() as u64;
                let owner = Some((&*job.table, Some(column)));
                self.writers.store.count_wear(&domain, owner, need.cause, bytes);
                self.done.bytes += bytes;
                self.infos.insert(chunk, Arc::clone(&self.open.chunks[need.chunk]));
                self.written.push((*need).clone());
            }
        }
        Ok(())
    }

    /// Makes the parts durable, publishes them, and removes those that are not needed any more.
    fn publish(mut self) -> Result<Done> {
        let (store, job) = (self.writers.store, self.writers.job);
        let cause = self.written.first().map_or(WearCause::Repair, |need| need.cause);
        let mut change = PartsChange::default();
        for ((replica, domain), writer) in std::mem::take(&mut self.writers.writers) {
            let columns = self.needs.targets.len();
            let finished = writer.map(|writer| writer.finish(&self.infos, columns));
            match finished.and_then(|finished| self.writers.noted(finished)) {
                Some((record, directory_bytes)) => {
                    store.count_wear(&domain, Some((&*job.table, None)), cause, directory_bytes);
                    change.added.push(record);
                }
                // What was written to a part that failed has gone with it.
                None => {
                    let written = std::mem::take(&mut self.written).into_iter();
                    let is_elsewhere =
                        |need: &Need| need.replica != replica || self.target(need).domain != domain;
                    self.written = written.filter(is_elsewhere).collect();
                }
            }
        }
        self.done.failure = self.writers.failure.take();
        // What went with a part that failed is not done.
        self.done.blocks = self.written.len() as u64;
        change.removed = unneeded_parts(&job.load, self.open, self.needs, &self.written);
        if change == PartsChange::default() {
            return Ok(self.done);
        }
        let published = store.publish_parts(&job.table, &job.load, &change);
        if !matches!(published, Ok(true)) && !store.is_in_doubt() {
            store.remove_parts(job.load.id(), &change.added);
        }
        // Of a table that was dropped meanwhile nothing more is to be done.
        self.done.has_more &= published?;
        Ok(self.done)
    }
}
