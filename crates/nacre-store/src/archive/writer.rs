//! Copying to an archive.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::path::{Path, PathBuf};

use nacre_pmem::{Access, Domain};

use super::files::{
    CATALOG, CATALOG_HEADER_BYTES, append, catalog_header, catalog_path, copied_name, create_whole,
    io_error, list, open_catalog, read_catalog, read_copied, read_segment, segment_name,
    segment_numbers, segment_path, unusable,
};
use crate::error::{Error, Result};
use crate::id::{Lsn, Moment};
use crate::manifest::{DatabaseId, LoadId, LoadRecord, Record, TableId};
use crate::redo::{Archived, ArchivedGroup, Piece, RedoLog, archived_header};
use crate::store::Store;

/// Name of an archive as a domain.
const DOMAIN: &str = "archive";

/// An archive that is written to.
#[derive(Debug)]
pub(super) struct Archive {
    directory: PathBuf,
    domain: Domain,
    database: DatabaseId,
    catalog: File,
    catalog_end: u64,
    /// How many records of the manifest it has.
    pub(super) records: u64,
    /// Loads of records before this one are in backups.
    base: u64,
    /// Loads that are to be copied and were not found yet, each with its table.
    awaited: BTreeMap<LoadId, TableId>,
    segment: Option<(u64, Lsn, File)>,
    /// Position behind the last group that it has.
    pub(super) end: Lsn,
    /// Up to when it has all.
    pub(super) time: u64,
}

impl Archive {
    /// Makes an archive in a directory that is absent or empty; loads of the first `base` records
    /// are not copied to it.
    ///
    /// # Errors
    /// The directory cannot be that of an archive; no space, I/O.
    pub(super) fn create(
        directory: &Path,
        database: DatabaseId,
        base: u64,
        log: Option<&RedoLog>,
    ) -> Result<Archive> {
        if directory.parent().is_some_and(|parent| !parent.is_dir()) {
            let reason = "the directory that it is to lie in is not there".to_owned();
            return Err(unusable(directory, reason));
        }
        let domain = Domain::create(DOMAIN, directory)?;
        // One that was never recorded has no records.
        let is_unused = read_catalog(directory)?
            .is_some_and(|catalog| catalog.database == database && catalog.records.is_empty());
        let is_ours =
            |name: &String| name == &format!("{CATALOG}.partial") || (is_unused && name == CATALOG);
        if let Some(name) = list(directory)?.iter().find(|name| !is_ours(name)) {
            let reason = format!("it holds {name:?}: name an empty directory, and take a backup");
            return Err(unusable(directory, reason));
        }
        create_whole(directory, CATALOG, &catalog_header(database))?;
        Archive::with(directory, domain, (database, base), log)
    }

    /// Opens the archive of a database with these `records`; loads of the first `base` ones are not
    /// copied to it.
    ///
    /// # Errors
    /// It is of another database or history, or lacks groups that the log has no more; no space,
    /// I/O.
    pub(super) fn resume(
        directory: &Path,
        database: DatabaseId,
        (records, base): (&[Record], u64),
        log: Option<&RedoLog>,
    ) -> Result<Archive> {
        let domain = Domain::open(DOMAIN, directory, Access::ReadWrite)?;
        let found = read_catalog(directory)?
            .ok_or_else(|| unusable(directory, "the archive that it held is gone".into()))?;
        let mut archive = Archive::with(directory, domain, (database, base), log)?;
        if found.database != database {
            return Err(archive.foreign("it is that of another database"));
        }
        if !records.starts_with(&found.records) {
            return Err(archive.foreign("it has definitions that the database has not"));
        }
        archive.catalog_end = found.end;
        archive.records = found.records.len() as u64;
        archive.find_awaited(&found.records)?;
        archive.find_end(log)?;
        Ok(archive)
    }

    fn with(
        directory: &Path,
        domain: Domain,
        (database, base): (DatabaseId, u64),
        log: Option<&RedoLog>,
    ) -> Result<Archive> {
        Ok(Archive {
            directory: directory.to_path_buf(),
            domain,
            database,
            catalog: open_catalog(directory)?,
            catalog_end: CATALOG_HEADER_BYTES as u64,
            records: 0,
            base,
            awaited: BTreeMap::new(),
            segment: None,
            end: log.map_or(Lsn(0), RedoLog::start),
            time: 0,
        })
    }

    fn foreign(&self, reason: &str) -> Error {
        let reason = format!(
            "{reason}, such as before it was restored: name an empty directory, and take a backup"
        );
        unusable(&self.directory, reason)
    }

    /// Finds the loads that were recorded and not copied.
    fn find_awaited(&mut self, records: &[Record]) -> Result<()> {
        for (number, record) in (1..).zip(records) {
            self.await_load(number, record);
        }
        for load in self.awaited.keys().copied().collect::<Vec<_>>() {
            if read_copied(&self.directory, load)?.is_some() {
                self.awaited.remove(&load);
            }
        }
        Ok(())
    }

    /// Notes what a record says of loads.
    fn await_load(&mut self, number: u64, record: &Record) {
        let load = match record {
            Record::Load(load) => load,
            Record::Frozen(frozen) => &frozen.load,
            Record::TableDropped { table } | Record::TableReplaced { old: table, .. } => {
                self.awaited.retain(|_, other| other != table);
                return;
            }
            _ => return,
        };
        match load.parts.is_empty() || number <= self.base {
            true => self.awaited.remove(&load.load),
            false => self.awaited.insert(load.load, load.table),
        };
    }

    /// Finds where the archived log ends, and compares that with the log.
    fn find_end(&mut self, log: Option<&RedoLog>) -> Result<()> {
        let Some(number) = segment_numbers(&self.directory)?.last().copied() else {
            return Ok(());
        };
        let path = segment_path(&self.directory, number);
        let archived = read_segment(&self.directory, self.database, number)?;
        let (start, end) = log.map_or_else(Default::default, |log| (log.start(), log.durable()));
        if archived.end > end {
            return Err(self.foreign("it has commits that the database has not"));
        }
        if archived.end < start {
            let (from, to) = (archived.end.0, start.0);
            let reason = format!(
                "it ends at byte {from} of the redo log, which begins at byte {to}: name an empty \
                 directory, and take a backup"
            );
            return Err(unusable(&self.directory, reason));
        }
        if let (Some(log), Some(last)) = (log, archived.groups().last())
            && last.start >= start
            && !is_in(log, &archived, &last)?
        {
            return Err(self.foreign("its last commit is not that of the database"));
        }
        self.time = archived.groups().last().map_or(0, |group| group.time);
        let file = OpenOptions::new().write(true).open(&path);
        let file = file.map_err(|error| io_error(&path, "open", &error))?;
        self.end = archived.end;
        self.segment = Some((number, archived.first, file));
        Ok(())
    }

    /// Copies what there is at a moment, when the manifest had `count` records; the log is durable
    /// up to it. Returns the bytes that were written but for pools.
    ///
    /// # Errors
    /// No space, I/O; what is to be copied cannot be read. What was copied counts.
    pub(super) fn step(&mut self, store: &Store, moment: Moment, count: u64) -> Result<u64> {
        let mut bytes = 0;
        let new = match count > self.records {
            true => store.manifest_records()?,
            false => Vec::new(),
        };
        let new = new.get(self.records as usize..count as usize).unwrap_or_default();
        for (number, record) in (self.records + 1..).zip(new) {
            self.await_load(number, record);
        }
        self.copy_loads(store)?;
        let numbered = (self.records + 1..).zip(new);
        let records: Vec<u8> = numbered.flat_map(|(number, one)| one.to_bytes(number)).collect();
        if !records.is_empty() {
            let path = catalog_path(&self.directory);
            append(&path, &self.catalog, self.catalog_end, &records)?;
            self.catalog_end += records.len() as u64;
            self.records = count;
            bytes += records.len() as u64;
        }
        if let Some(log) = store.redo() {
            let start = self.end;
            log.copy_groups(self.end, moment.lsn, &mut |piece| self.put(piece))?;
            bytes += self.end.0 - start.0;
        }
        self.time = self.time.max(moment.time);
        Ok(bytes)
    }

    /// Whether a load was not copied yet.
    pub(super) fn awaits(&self, load: LoadId) -> bool {
        self.awaited.contains_key(&load)
    }

    /// Copies the pools of loads that tables have.
    fn copy_loads(&mut self, store: &Store) -> Result<()> {
        if self.awaited.is_empty() {
            return Ok(());
        }
        for table in store.tables() {
            for load in table.loads().iter() {
                if !self.awaited.contains_key(&load.id()) {
                    continue;
                }
                // What a step left that was cut off.
                for part in load.parts().iter() {
                    let name = part.own_file_name();
                    if self.domain.exists(&name)? {
                        self.domain.remove_pool(&name)?;
                    }
                }
                let record = store.copy_load(&table, load, &self.domain)?;
                self.note_copied(&record)?;
                self.awaited.remove(&load.id());
            }
        }
        Ok(())
    }

    fn note_copied(&self, load: &LoadRecord) -> Result<()> {
        let bytes = Record::Load(load.clone()).to_bytes(load.load.0);
        // PERSIST: the pools are durable before the file that names them.
        create_whole(&self.directory, &copied_name(load.load), &bytes)
    }

    /// Appends groups.
    fn put(&mut self, piece: Piece<'_>) -> Result<()> {
        let file = match &self.segment {
            Some((number, _, file)) if *number == piece.number => file,
            _ => {
                let name = segment_name(piece.number);
                let header = archived_header(self.database, piece.number, piece.first);
                create_whole(&self.directory, &name, &header)?;
                let path = self.directory.join(name);
                let file = OpenOptions::new().write(true).open(&path);
                let file = file.map_err(|error| io_error(&path, "open", &error))?;
                &self.segment.insert((piece.number, piece.first, file)).2
            }
        };
        let at = Archived::file_offset(piece.first, piece.start);
        append(&segment_path(&self.directory, piece.number), file, at, piece.groups)?;
        self.end = Lsn(piece.start.0 + piece.groups.len() as u64);
        Ok(())
    }
}

/// Whether the log has an archived group.
fn is_in(log: &RedoLog, archived: &Archived, group: &ArchivedGroup) -> Result<bool> {
    let mut is_same = false;
    log.copy_groups(group.start, group.end, &mut |piece| {
        is_same = piece.groups == archived.between(group.start, group.end);
        Ok(())
    })
    // Where a group of the archive begins the log may have none.
    .map(|()| is_same)
    .or_else(|error| match error {
        Error::RedoDamaged { .. } => Ok(false),
        other => Err(other),
    })
}
