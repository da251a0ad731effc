//! Point-in-time recovery: a database of a backup and an archive.
//!
//! 1. The archived log is walked to the last group that the target admits.
//! 2. The records of the manifest that were made before the next one are taken. They say which
//!    loads there were, and which segments of the log an opening after a crash would have needed.
//! 3. Pools are copied from the backup, or from the archive if they are younger; the segments are
//!    made of the archived ones, the last is cut behind that group; a manifest names all that.
//! 4. It is opened as after a crash. The directory gets its name when that went well.
//!
//! Hot rows of the backup itself are not needed: the archive has the log of its last checkpoint.
//!
//! A freeze that was taken back later is left out, since its pools may be gone: the log has its
//! rows up to then.
//! # Source
//! [Muehlbauer16 4.3.1] replay of redo records. Moments of records and the copies of loads are
//! ours, since definitions and bulk loads are not in the log.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::path::{Path, PathBuf};

use nacre_column::text::write_timestamp;
use nacre_pmem::{Access, DirectoryLock, Domain};

use super::files::{
    io_error, read_catalog, read_copied, read_segment, segment_numbers, segment_path, unusable,
};
use crate::backup::{copy_pool, definition_in_copy, places};
use crate::error::{Error, Result};
use crate::id::{CommitTs, Lsn, Moment, now_micros};
use crate::manifest::{DatabaseId, LoadId, LoadRecord, Manifest, PartRecord, Record, TableId};
use crate::part::Part;
use crate::procedure::Procedures;
use crate::redo::write_segment;
use crate::store::{MAIN_DOMAIN, OpenOptions, Store};

/// Up to when a database is restored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RestoreTarget {
    /// All that was archived.
    Latest,
    /// Commits up to this time, in microseconds since 1970.
    Time(u64),
    /// Commits that end at or before this position of the redo log.
    Lsn(Lsn),
}

/// What to restore.
#[derive(Clone, Debug)]
pub struct RestoreOptions {
    /// A backup of the database.
    pub backup: PathBuf,
    pub archive: PathBuf,
    pub target: RestoreTarget,
    /// The directory of the new database, which must not be there or be empty.
    pub into: PathBuf,
}

/// What was restored.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RestoreReport {
    /// The last commit that the database has, the position behind it, and its time.
    pub moment: Moment,
    /// Bytes of pools that were copied.
    pub pool_bytes: u64,
    /// Bytes of the log that were replayed.
    pub log_bytes: u64,
}

/// What is needed of a backup.
#[derive(Debug)]
struct Backup {
    domain: Domain,
    database: DatabaseId,
    /// Its end.
    moment: Moment,
    loads: BTreeMap<LoadId, LoadRecord>,
    _lock: DirectoryLock,
}

/// An archived segment.
#[derive(Clone, Copy, Debug)]
struct SegmentInfo {
    number: u64,
    first: Lsn,
    end: Lsn,
}

/// The archived log, and where it is cut.
#[derive(Debug)]
struct Log {
    segments: Vec<SegmentInfo>,
    /// The last commit that counts.
    cut: Moment,
    /// The last one that there is.
    last: Moment,
}

/// What the records that count add up to.
#[derive(Debug, Default)]
struct Plan {
    records: Vec<Record>,
    /// Pools to copy, each from the backup or from the archive.
    pools: Vec<(LoadId, PartRecord, bool)>,
    checkpoint: Option<CommitTs>,
    /// The oldest segment of the log that is needed; `None` without a log.
    oldest: Option<u64>,
}

/// Makes a database that is what another one was at a moment.
///
/// # Errors
/// [`Error::Archive`] if the backup and the archive are not of one database, the target is before
/// the end of the backup or behind that of the archive, or something is missing;
/// [`Error::InvalidDefinition`] if the directory cannot be that of a new database; no space, I/O.
/// Then no database is there.
pub fn restore(options: &RestoreOptions) -> Result<RestoreReport> {
    restore_with(options, &Procedures::default())
}

/// As [`restore`], of a database whose redo log has calls of procedures.
///
/// # Errors
/// As for [`restore`]; [`Error::UnknownProcedure`], [`Error::ProcedureChanged`].
pub fn restore_with(options: &RestoreOptions, procedures: &Procedures) -> Result<RestoreReport> {
    let (parent, partial) = places(&options.into)?;
    let backup = Backup::open(&options.backup)?;
    let written = write(options, procedures, &backup, &partial).and_then(|report| {
        fs::rename(&partial, &options.into)
            .map_err(|error| io_error(&options.into, "rename", &error))?;
        let synced = File::open(&parent).and_then(|parent| parent.sync_all());
        synced.map_err(|error| io_error(&parent, "sync", &error))?;
        Ok(report)
    });
    if written.is_err() {
        // What stays is named by the next restore to the same place.
        let _ = fs::remove_dir_all(&partial);
    }
    written
}

fn write(
    options: &RestoreOptions,
    procedures: &Procedures,
    backup: &Backup,
    partial: &Path,
) -> Result<RestoreReport> {
    let archive = &options.archive;
    let catalog = read_catalog(archive)?
        .ok_or_else(|| unusable(archive, "it holds no archive of a database".into()))?;
    if catalog.database != backup.database {
        let (found, wanted) = (catalog.database, backup.database);
        let reason = format!("it is of database {found}, and the backup of {wanted}");
        return Err(unusable(archive, reason));
    }
    check_start(options, backup.moment)?;
    let log = Log::read(archive, backup.database, options.target)?;
    check_end(options, backup.moment, &log, &catalog.records)?;
    let plan = Plan::make(archive, backup, &catalog.records, options.target, log.cut)?;
    let mut report = RestoreReport { moment: log.cut, ..RestoreReport::default() };
    let target = Domain::create(MAIN_DOMAIN, partial)?;
    if !plan.pools.is_empty() {
        let archived = Domain::open("archive", archive, Access::ReadOnly)?;
        for (load, part, is_archived) in &plan.pools {
            let source = if *is_archived { &archived } else { &backup.domain };
            let name = Part::file_name(*load, part.number, part.layout);
            copy_pool(source, &name, part.pool_bytes, &target)?;
            report.pool_bytes += part.pool_bytes;
        }
    }
    if let Some(oldest) = plan.oldest {
        report.log_bytes = log.write(archive, backup.database, oldest, &target)?;
    }
    let mut manifest = Manifest::create(backup.database, now_micros(), &target)?;
    plan.records.iter().try_for_each(|record| manifest.append(record).map(|_| ()))?;
    drop(manifest);
    // It is opened as after a crash, which finds what does not fit.
    let opened = OpenOptions {
        directory: Some(partial.to_path_buf()),
        checkpoint_bytes: Some(0),
        procedures: procedures.clone(),
        ..OpenOptions::default()
    };
    drop(Store::open(opened)?);
    Ok(report)
}

/// Refuses a target before the end of the backup.
fn check_start(options: &RestoreOptions, end: Moment) -> Result<()> {
    let (is_before, wanted) = match options.target {
        RestoreTarget::Latest => return Ok(()),
        RestoreTarget::Time(time) => (time < end.time, format!("time {}", show_time(time))),
        RestoreTarget::Lsn(lsn) => (lsn < end.lsn, format!("byte {}", lsn.0)),
    };
    if !is_before {
        return Ok(());
    }
    let reason = format!(
        "{wanted} is before the end of the backup, which is at byte {} of the redo log, time {}: \
         name an older backup",
        end.lsn.0,
        show_time(end.time)
    );
    Err(unusable(&options.backup, reason))
}

/// Refuses an archive that does not reach the backup's end or the target.
fn check_end(options: &RestoreOptions, start: Moment, log: &Log, records: &[Record]) -> Result<()> {
    let archive = &options.archive;
    let moments = records.iter().filter_map(|record| match record {
        Record::Moment(moment) => Some(moment.time),
        _ => None,
    });
    let last_time = moments.fold(log.last.time, u64::max);
    let ends = format!(
        "the archive ends at byte {} of the redo log, time {}",
        log.last.lsn.0,
        show_time(last_time)
    );
    if log.cut.lsn < start.lsn {
        let reason = format!("{ends}, before the end of the backup, byte {}", start.lsn.0);
        return Err(unusable(archive, reason));
    }
    let is_behind = match options.target {
        RestoreTarget::Latest => false,
        RestoreTarget::Time(time) => time > last_time,
        RestoreTarget::Lsn(lsn) => lsn > log.last.lsn,
    };
    match is_behind {
        true => Err(unusable(archive, format!("{ends}: without a target all of it is restored"))),
        false => Ok(()),
    }
}

impl Backup {
    fn open(path: &Path) -> Result<Backup> {
        let lock = DirectoryLock::shared(path)?;
        let domain = Domain::open(MAIN_DOMAIN, path, Access::ReadOnly)?;
        let mut all = Vec::new();
        let manifest =
            Manifest::open(std::slice::from_ref(&domain), Access::ReadOnly, |_, records| {
                all = records.to_vec();
                Ok(Vec::new())
            })?;
        let database = manifest.database();
        let (mut loads, mut moment) = (BTreeMap::new(), None);
        for record in all {
            match record {
                Record::Load(load) => {
                    loads.insert(load.load, load);
                }
                // What comes behind it was not part of the backup.
                Record::Moment(end) => {
                    moment = Some(end);
                    break;
                }
                _ => {}
            }
        }
        let moment = moment.ok_or_else(|| {
            unusable(path, "it is no backup, or of a program that knew no archives".into())
        })?;
        Ok(Backup { domain, database, moment, loads, _lock: lock })
    }
}

impl Log {
    fn read(archive: &Path, database: DatabaseId, target: RestoreTarget) -> Result<Log> {
        let (mut cut, mut last) = (Moment::default(), Moment::default());
        let (mut segments, mut is_cut) = (Vec::new(), false);
        for number in segment_numbers(archive)? {
            let archived = read_segment(archive, database, number)?;
            if segments.is_empty() {
                (cut.lsn, last.lsn) = (archived.first, archived.first);
            }
            segments.push(SegmentInfo { number, first: archived.first, end: archived.end });
            for group in archived.groups() {
                last = Moment { commit: group.commit, lsn: group.end, time: group.time };
                is_cut |= match target {
                    RestoreTarget::Latest => false,
                    RestoreTarget::Time(time) => group.time > time,
                    RestoreTarget::Lsn(lsn) => group.end > lsn,
                };
                if !is_cut {
                    cut = last;
                }
            }
        }
        Ok(Log { segments, cut, last })
    }

    /// Makes the segments from `oldest` on up to the cut; returns the bytes of their groups.
    fn write(
        &self,
        archive: &Path,
        database: DatabaseId,
        oldest: u64,
        target: &Domain,
    ) -> Result<u64> {
        let needed = self.segments.iter().filter(|one| one.number >= oldest);
        let needed: Vec<SegmentInfo> =
            needed.take_while(|one| one.first < self.cut.lsn).copied().collect();
        let (mut number, mut first) = (oldest, needed.first().map(|one| one.first));
        let mut bytes = 0;
        for segment in &needed {
            if segment.number != number || Some(segment.first) != first {
                return Err(self.gap(archive, number, first));
            }
            let archived = read_segment(archive, database, segment.number)?;
            let end = segment.end.min(self.cut.lsn);
            let is_last = end == self.cut.lsn;
            write_segment(target, database, segment.number, &archived, end, is_last)?;
            bytes += end.0 - segment.first.0;
            (number, first) = (number + 1, Some(segment.end));
        }
        let end = needed.last().map(|last| last.end.min(self.cut.lsn));
        match end == Some(self.cut.lsn) {
            true => Ok(bytes),
            false => Err(self.gap(archive, number, first)),
        }
    }

    /// Says that the log from a segment on is not there as it should be.
    fn gap(&self, archive: &Path, number: u64, first: Option<Lsn>) -> Error {
        let from = first.map_or_else(String::new, |first| format!(", from byte {} on", first.0));
        let next = self.segments.iter().find(|segment| segment.number >= number);
        let next = next.filter(|next| next.number > number || Some(next.first) != first);
        let found = match next {
            Some(next) if next.number == number => {
                format!(
                    "{} begins at byte {}",
                    segment_path(archive, number).display(),
                    next.first.0
                )
            }
            Some(next) => format!("the next one that is there is {}", next.number),
            None => "nothing is there".to_owned(),
        };
        let reason = format!(
            "the archive has a gap: segment {number} of the redo log is needed{from}, and {found}"
        );
        unusable(archive, reason)
    }
}

impl Plan {
    fn make(
        archive: &Path,
        backup: &Backup,
        records: &[Record],
        target: RestoreTarget,
        cut: Moment,
    ) -> Result<Plan> {
        let is_withdrawal = |record: &&Record| match record {
            Record::Frozen(frozen) => frozen.chunks.is_empty(),
            _ => false,
        };
        let withdrawn: BTreeSet<LoadId> =
            records.iter().filter(is_withdrawal).filter_map(load_of).collect();
        let counting = counting(records, target, cut);
        let live = live_tables(&counting);
        let emptied: BTreeSet<LoadId> =
            counting.iter().filter_map(|record| emptied(record)).collect();
        let mut plan = Plan::default();
        for record in counting {
            match record {
                Record::Load(load) if live.contains(&load.table) => {
                    let load = plan.find_load(archive, backup, load, &emptied)?;
                    plan.records.push(Record::Load(load));
                }
                Record::Frozen(frozen)
                    if live.contains(&frozen.load.table)
                        && !withdrawn.contains(&frozen.load.load) =>
                {
                    let mut frozen = frozen.clone();
                    frozen.load = plan.find_load(archive, backup, &frozen.load, &emptied)?;
                    plan.records.push(Record::Frozen(frozen));
                }
                Record::LoadEmptied { load } => {
                    if plan.records.iter().any(|known| load_of(known) == Some(*load)) {
                        plan.records.push(record.clone());
                    }
                }
                // Its group of the log counts only with it.
                Record::DefinitionsCommitted { .. } => plan.records.push(record.clone()),
                Record::RedoSegments { oldest } => plan.oldest = Some(*oldest),
                Record::Checkpoint { as_of, oldest } => {
                    (plan.checkpoint, plan.oldest) = (Some(*as_of), Some(*oldest));
                }
                other => plan.records.extend(definition_in_copy(other.clone())),
            }
        }
        // A log without a group was not archived.
        plan.oldest = plan.oldest.filter(|_| cut.lsn > Lsn(0));
        match (plan.checkpoint, plan.oldest) {
            (Some(as_of), Some(oldest)) => plan.records.push(Record::Checkpoint { as_of, oldest }),
            (None, Some(oldest)) => plan.records.push(Record::RedoSegments { oldest }),
            (_, None) => {}
        }
        Ok(plan)
    }

    /// Returns a load with the parts that can be copied; without rows if it lost them all.
    fn find_load(
        &mut self,
        archive: &Path,
        backup: &Backup,
        load: &LoadRecord,
        emptied: &BTreeSet<LoadId>,
    ) -> Result<LoadRecord> {
        if emptied.contains(&load.load) {
            let (rows, chunk_count, parts) = (0, 0, Vec::new());
            return Ok(LoadRecord { load: load.load, table: load.table, rows, chunk_count, parts });
        }
        if load.parts.is_empty() {
            return Ok(load.clone());
        }
        let (found, is_archived) = match backup.loads.get(&load.load) {
            Some(found) => (found.clone(), false),
            None => {
                let found = read_copied(archive, load.load)?.ok_or_else(|| {
                    let (number, table) = (load.load.0, load.table.0);
                    let reason = format!(
                        "load {number} of table {table} is neither in the backup nor in the \
                         archive: it was made before archiving began, or its table was dropped \
                         before it was copied; name another target or a later backup"
                    );
                    unusable(archive, reason)
                })?;
                (found, true)
            }
        };
        let pools = found.parts.iter().map(|part| (found.load, part.clone(), is_archived));
        self.pools.extend(pools);
        Ok(found)
    }
}

/// Returns the records that were made before the next commit behind the cut.
fn counting(records: &[Record], target: RestoreTarget, cut: Moment) -> Vec<&Record> {
    let is_in_time = |moment: &Moment| match target {
        RestoreTarget::Time(time) => moment.time <= time,
        RestoreTarget::Latest | RestoreTarget::Lsn(_) => true,
    };
    let is_later = |record: &&Record| match record {
        Record::Moment(moment) => {
            moment.lsn > cut.lsn || (moment.lsn == cut.lsn && !is_in_time(moment))
        }
        _ => false,
    };
    let mut counting = Vec::new();
    for record in records {
        if is_later(&record) {
            break;
        }
        counting.push(record);
    }
    counting
}

fn load_of(record: &Record) -> Option<LoadId> {
    match record {
        Record::Load(load) => Some(load.load),
        Record::Frozen(frozen) => Some(frozen.load.load),
        _ => None,
    }
}

/// Returns the load that lost all its rows, if the record says so.
fn emptied(record: &Record) -> Option<LoadId> {
    match record {
        Record::LoadEmptied { load } => Some(*load),
        _ => None,
    }
}

/// Returns the tables that there are after some records.
fn live_tables(records: &[&Record]) -> BTreeSet<TableId> {
    let mut live = BTreeSet::new();
    for record in records {
        match record {
            Record::TableCreated { table, .. } | Record::TableDefined { table, .. } => {
                live.insert(*table);
            }
            Record::TableReplaced { old, table, .. } => {
                live.remove(old);
                live.insert(*table);
            }
            Record::TableDropped { table } => {
                live.remove(table);
            }
            _ => {}
        }
    }
    live
}

/// Writes a time of a moment.
fn show_time(micros: u64) -> String {
    let mut text = Vec::new();
    write_timestamp(micros.min(i64::MAX as u64) as i64, &mut text);
    format!("{} UTC", String::from_utf8_lossy(&text))
}
