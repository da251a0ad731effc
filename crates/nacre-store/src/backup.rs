//! Online backups: a copy of a database, as one snapshot sees it, that can be opened.
//!
//! 1. A snapshot is taken. Loads that it sees are copied, pool by pool; they are immutable, and
//!    maintenance, which replaces pools, waits.
//! 2. The rows that are hot, and which frozen ones are deleted, are written to a redo log of the
//!    copy's own as the snapshot sees them: so opening the copy replays them.
//! 3. A manifest of its own has the records of all definitions and names all that, in one memory
//!    domain. The directory gets its name when everything is durable, so that what a crash leaves
//!    is not taken for a backup.
//!
//! Readers and writers go on meanwhile. A policy that names a memory domain is left out of the
//! copy, which has none but its directory.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::PoisonError;

use nacre_column::ReplicaPolicy;
use nacre_pmem::{Access, Domain};

use crate::error::{Error, Result};
use crate::freeze::HotWriter;
use crate::id::CommitTs;
use crate::manifest::{LoadRecord, Manifest, PartRecord, Record};
use crate::mvcc::IsolationLevel;
use crate::part::Part;
use crate::redo::{RedoBuffer, RedoLog, RedoOptions};
use crate::schema::named_domains;
use crate::store::{MAIN_DOMAIN, Store};
use crate::stored_load::StoredLoad;
use crate::table::Table;

/// Bytes that are copied at a time.
const PIECE_BYTES: u64 = 4 << 20;

/// What a backup holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BackupReport {
    /// Bytes of pools that were copied.
    pub bytes: u64,
    /// Rows that were written to the redo log of the copy.
    pub hot_rows: u64,
}

impl Store {
    /// Writes a copy of the database, as a transaction that began now would see it, to a directory
    /// that must not be there or be empty. It can be opened as it is, or after it was copied.
    ///
    /// # Errors
    /// [`Error::InvalidDefinition`] if the directory cannot be that of a backup; a part that cannot
    /// be read, which [`Store::repair`] may mend; no space, I/O. Then no backup is there.
    pub fn backup(&self, directory: &Path) -> Result<BackupReport> {
        let (parent, partial) = places(directory)?;
        let _turn = self.maintenance_lock().lock().unwrap_or_else(PoisonError::into_inner);
        let target = Domain::create(MAIN_DOMAIN, &partial)?;
        let written = self.write_backup(&target).and_then(|report| {
            // An empty directory is replaced.
            fs::rename(&partial, directory).map_err(|error| refusal(directory, &error))?;
            let synced = File::open(&parent).and_then(|parent| parent.sync_all());
            synced.map_err(|error| refusal(&parent, &error))?;
            Ok(report)
        });
        // A restore needs the archive up to the backup's end; why it cannot be had is noted.
        let _ = self.archive_step();
        if written.is_err() {
            // What stays is named by the next backup to the same place.
            let _ = fs::remove_dir_all(&partial);
        }
        written
    }

    /// Writes a backup to an empty domain; it is one when this returns.
    pub(crate) fn write_backup(&self, target: &Domain) -> Result<BackupReport> {
        let domains = [target.clone()];
        let reader = self.begin(IsolationLevel::RepeatableRead);
        let snapshot = reader.snapshot();
        let mut report = BackupReport::default();
        let mut records: Vec<Record> =
            self.manifest_records()?.into_iter().filter_map(definition_in_copy).collect();
        let tables = self.listed_tables();
        for table in &tables {
            for load in table.loads().iter().filter(|load| load.visible_from() <= snapshot.start())
            {
                let load = self.copy_load(table, load, target)?;
                report.bytes += load.parts.iter().map(|part| part.pool_bytes).sum::<u64>();
                records.push(Record::Load(load));
            }
        }
        let log = RedoLog::create(&domains, self.database(), RedoOptions::default())?;
        let mut commit = CommitTs::default();
        let mut writer = HotWriter::new(None, |group: &RedoBuffer| {
            commit.0 += 1;
            log.append(commit, group).map(|_| ())
        });
        for table in &tables {
            if !writer.table(table, snapshot, &|| !self.is_closing())? {
                let directory = target.path().unwrap_or(Path::new(MAIN_DOMAIN));
                return Err(refusal(directory, &"the database is being closed"));
            }
        }
        writer.finish()?;
        report.hot_rows = writer.rows;
        // PERSIST: the log is durable before the manifest of the copy names it.
        log.flush()?;
        drop(log);
        records.push(Record::RedoSegments { oldest: 1 });
        // A restore begins behind it.
        records.push(Record::Moment(self.moment()));
        let mut manifest = Manifest::create(self.database(), 0, target)?;
        records.iter().try_for_each(|record| manifest.append(record).map(|_| ()))?;
        Ok(report)
    }

    /// Copies the parts of a load that last.
    pub(crate) fn copy_load(
        &self,
        table: &Table,
        load: &StoredLoad,
        target: &Domain,
    ) -> Result<LoadRecord> {
        let mut parts = Vec::new();
        for part in load.parts().iter().filter(|part| !part.is_volatile()) {
            parts.push(self.copy_part(table, part, target)?);
        }
        let (rows, chunk_count) = (load.rows(), load.chunk_count());
        Ok(LoadRecord { load: load.id(), table: table.id(), rows, chunk_count, parts })
    }

    fn copy_part(&self, table: &Table, part: &Part, target: &Domain) -> Result<PartRecord> {
        let (record, name) = (part.record(), part.own_file_name());
        let source = self.domain(&record.domain).ok_or_else(|| Error::UnknownDomain {
            domain: record.domain.clone(),
            table: table.names().table(),
        })?;
        copy_pool(&source, &name, record.pool_bytes, target)?;
        Ok(PartRecord { domain: MAIN_DOMAIN.to_owned(), ..record.clone() })
    }
}

/// Copies a pool and makes the copy durable.
pub(crate) fn copy_pool(
    source: &Domain,
    name: &str,
    pool_bytes: u64,
    target: &Domain,
) -> Result<()> {
    let pool = source.open_pool(name, Access::ReadOnly)?;
    let copy = target.append_pool(name)?;
    let mut offset = 0;
    while offset < pool_bytes {
        let bytes = PIECE_BYTES.min(pool_bytes - offset);
        copy.append(pool.read(offset, bytes)?, 1)?;
        pool.check_range(offset, bytes)?;
        offset += bytes;
    }
    // PERSIST: the pool is durable before a manifest names it.
    Ok(copy.finish().map(|_| ())?)
}

/// Returns the parent of a copy's directory, and where it is written before it has its name.
pub(crate) fn places(directory: &Path) -> Result<(PathBuf, PathBuf)> {
    let directory = std::path::absolute(directory).map_err(|error| refusal(directory, &error))?;
    let (Some(parent), Some(name)) = (directory.parent(), directory.file_name()) else {
        return Err(refusal(&directory, &"it has no name"));
    };
    if !parent.is_dir() {
        return Err(refusal(&directory, &"the directory that it is to lie in is not there"));
    }
    match fs::read_dir(&directory).map(|mut entries| entries.next().is_some()) {
        Ok(true) => return Err(refusal(&directory, &"it is not empty")),
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            return Err(refusal(&directory, &error));
        }
        _ => {}
    }
    let mut partial = name.to_owned();
    partial.push(".partial");
    let partial = parent.join(partial);
    match partial.exists() {
        true => Err(refusal(&partial, &"it is there, maybe from a copy that was cut off")),
        false => Ok((parent.to_path_buf(), partial)),
    }
}

fn refusal(path: &Path, reason: &dyn std::fmt::Display) -> Error {
    let reason = format!("a copy to {} is not possible: {reason}", path.display());
    Error::InvalidDefinition { reason }
}

/// Returns what a copy records in the place of a record, if it is one of a definition.
pub(crate) fn definition_in_copy(mut record: Record) -> Option<Record> {
    match &mut record {
        Record::Domain { .. }
        | Record::Load(_)
        | Record::PartsChanged { .. }
        | Record::Frozen(_)
        | Record::Checkpoint { .. }
        | Record::DefinitionsCommitted { .. }
        | Record::RedoSegments { .. }
        | Record::LoadEmptied { .. }
        // Their files are not in the copy, which writes its own.
        | Record::IndexRuns { .. }
        | Record::Moment(_)
        | Record::Archive { .. } => return None,
        Record::PolicyChanged { policy, .. } => forget_domains(policy),
        Record::TableCreated { schema, .. }
        | Record::TableDefined { schema, .. }
        | Record::TableReplaced { schema, .. } => {
            forget_domains(&mut schema.replicas);
            schema.columns.iter_mut().for_each(|column| forget_domains(&mut column.replicas));
        }
        _ => {}
    }
    Some(record)
}

/// Takes a policy away that names a memory domain.
fn forget_domains(policy: &mut Option<ReplicaPolicy>) {
    if policy.as_ref().is_some_and(|policy| named_domains(policy).next().is_some()) {
        *policy = None;
    }
}
