//! When a database is archived, and how far that is.
//!
//! # Concurrency
//! A step is made under the maintenance lock. Lock order: maintenance, the state here, the
//! manifest, the redo log.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::files::{read_catalog, read_segment, segment_numbers, unusable};
use super::writer::Archive;
use crate::error::Result;
use crate::id::Lsn;
use crate::manifest::{DatabaseId, LoadId, Record};
use crate::redo::RedoLog;
use crate::store::Store;

/// Growth of the log after which a step is due; a step waits for the archive's device.
const STEP_BYTES: u64 = 1 << 20;

/// How far a database is archived.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArchiveStatus {
    pub directory: PathBuf,
    /// Position of the redo log up to which all is in the archive.
    pub archived: Lsn,
    /// Where the log ends.
    pub end: Lsn,
    /// Microseconds since 1970 up to which all is in the archive; 0 if it is not known.
    pub time: u64,
    /// Why the last step failed; the log is kept until one succeeds.
    pub problem: Option<String>,
}

/// Where a database is archived, and when again.
#[derive(Debug)]
pub(crate) struct Keeper {
    state: Mutex<State>,
    /// Position of the log at which a step is due, 0 if one is at once; `u64::MAX` if the database
    /// is not archived. Written by whoever makes a step or changes the manifest.
    due: AtomicU64,
    /// The position for which maintenance was woken last. Written by those who commit.
    woken: AtomicU64,
}

#[derive(Debug, Default)]
struct State {
    directory: Option<PathBuf>,
    /// Opened by the first step.
    archive: Option<Archive>,
    problem: Option<String>,
}

impl Keeper {
    pub(crate) fn new(directory: Option<PathBuf>) -> Self {
        let due = AtomicU64::new(if directory.is_some() { 0 } else { u64::MAX });
        let state = Mutex::new(State { directory, ..State::default() });
        Self { state, due, woken: AtomicU64::new(u64::MAX) }
    }

    /// Whether the database is archived.
    pub(crate) fn is_on(&self) -> bool {
        // ORDERING: a position; nothing else depends on it.
        self.due.load(Ordering::Relaxed) != u64::MAX
    }

    pub(crate) fn is_due(&self, end: Lsn) -> bool {
        // ORDERING: as in `is_on`.
        end.0 >= self.due.load(Ordering::Relaxed)
    }

    /// Has the next step come as soon as maintenance does.
    pub(crate) fn hurry(&self) {
        // ORDERING: as in `is_on`. Whoever turns it off meanwhile waits for the manifest's lock.
        let _ = self.due.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |due| {
            (due != u64::MAX).then_some(0)
        });
    }

    /// Whether whoever has brought the log to `end` is to wake maintenance.
    #[inline]
    pub(crate) fn wakes(&self, end: Lsn) -> bool {
        // ORDERING: as in `is_on`. Several may see it at once; waking twice does no harm.
        let due = self.due.load(Ordering::Relaxed);
        end.0 >= due && self.woken.swap(due, Ordering::Relaxed) != due
    }

    fn next(&self, end: Lsn) {
        // ORDERING: as in `is_on`.
        self.due.store(end.0 + STEP_BYTES, Ordering::Relaxed);
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Store {
    /// Has the database archived to a directory, which is made if it is absent, until it is told
    /// otherwise, or no more. What is there is copied by and by; [`Store::archive`] does it now.
    ///
    /// # Errors
    /// [`Error::Archive`] if the directory cannot be used; [`Error::ReadOnly`]; no space, I/O.
    pub fn set_archive(&self, directory: Option<&Path>) -> Result<()> {
        self.require_writable()?;
        let _turn = self.maintenance_lock().lock().unwrap_or_else(PoisonError::into_inner);
        let mut state = self.keeper().state();
        let Some(directory) = directory else {
            let off = Record::Archive { path: String::new() };
            self.record_archive(off, || self.keeper().due.store(u64::MAX, Ordering::Relaxed))?;
            *state = State::default();
            return Ok(());
        };
        let absolute = std::path::absolute(directory)
            .map_err(|error| unusable(directory, format!("it has no path: {error}")))?;
        let Some(path) = absolute.to_str().map(str::to_owned) else {
            return Err(unusable(&absolute, "its name is not in UTF-8".into()));
        };
        if !self.is_durable() {
            return Err(unusable(&absolute, "the database is volatile".into()));
        }
        if self.domains().iter().any(|domain| domain.path() == Some(absolute.as_path())) {
            return Err(unusable(&absolute, "it is a directory of the database".into()));
        }
        // Created first, so that commits that follow find the moments in the log.
        self.redo_log()?;
        let records = self.manifest_records()?;
        let base = records.len() as u64;
        let archive = Archive::create(&absolute, self.database(), base, self.redo())?;
        self.record_archive(Record::Archive { path }, || {
            self.keeper().due.store(0, Ordering::Relaxed);
        })?;
        *state = State { directory: Some(absolute), archive: Some(archive), problem: None };
        drop(state);
        self.wake();
        Ok(())
    }

    /// Copies to the archive what was committed until now, if the database is archived.
    ///
    /// # Errors
    /// [`Error::Archive`], no space, I/O: the log is kept, and what failed is tried again.
    pub fn archive(&self) -> Result<()> {
        let _turn = self.maintenance_lock().lock().unwrap_or_else(PoisonError::into_inner);
        self.archive_step().map(|_| ())
    }

    /// Whether the database is archived.
    pub fn is_archived(&self) -> bool {
        self.keeper().is_on()
    }

    /// Whether a step is due.
    pub(crate) fn is_archive_due(&self) -> bool {
        self.keeper().is_due(self.redo().map_or(Lsn(0), RedoLog::end))
    }

    /// Makes a step if one is due.
    pub(crate) fn archive_if_due(&self) -> Result<u64> {
        if self.is_archive_due() { self.archive_step() } else { Ok(0) }
    }

    /// Copies what there is and returns its bytes, as far as they are not of pools. The caller
    /// holds the maintenance lock.
    pub(crate) fn archive_step(&self) -> Result<u64> {
        if self.is_read_only() {
            return Ok(0);
        }
        let mut state = self.keeper().state();
        let Some(directory) = state.directory.clone() else {
            return Ok(0);
        };
        // Records that come from now on are due at once.
        self.keeper().next(self.moment().lsn);
        let (moment, count) = self.archive_point();
        let stepped = self.flush_redo().and_then(|()| {
            let archive = match &mut state.archive {
                Some(archive) => archive,
                None => {
                    let (database, log) = (self.database(), self.redo());
                    let records = self.manifest_records()?;
                    let base = base_of(&records);
                    let opened = Archive::resume(&directory, database, (&records, base), log)?;
                    state.archive.insert(opened)
                }
            };
            archive.step(self, moment, count)
        });
        if stepped.is_err() {
            self.keeper().hurry();
        }
        state.problem = stepped.as_ref().err().map(|error| error.to_string());
        if let Err(error) = &stepped {
            self.note(format!("not archived, the redo log is kept: {error}"));
        }
        stepped
    }

    /// Returns the oldest segment of the log that is not in the archive; `None` if the database is
    /// not archived.
    pub(crate) fn oldest_unarchived(&self, log: &RedoLog) -> Option<u64> {
        let state = self.keeper().state();
        state.directory.as_ref()?;
        let end = state.archive.as_ref().map_or(log.start(), |archive| archive.end);
        Some(log.segment_at(end))
    }

    /// Whether the archive is to have a load that it may not have yet.
    pub(crate) fn awaits_copy(&self, load: LoadId) -> bool {
        let state = self.keeper().state();
        let archive = state.archive.as_ref();
        state.directory.is_some() && archive.is_none_or(|archive| archive.awaits(load))
    }

    /// Returns how far the database is archived, if it is.
    pub fn archive_status(&self) -> Option<ArchiveStatus> {
        let state = self.keeper().state();
        let directory = state.directory.clone()?;
        let end = self.redo().map_or(Lsn(0), RedoLog::end);
        let mut problem = state.problem.clone();
        let (archived, time) = match &state.archive {
            Some(archive) => (archive.end, archive.time),
            None => peek(&directory, self.database()).unwrap_or_else(|error| {
                problem.get_or_insert(error.to_string());
                (Lsn(0), 0)
            }),
        };
        // A reader knows nothing of the log but what it replayed.
        Some(ArchiveStatus { directory, archived, end: end.max(archived), time, problem })
    }
}

/// Returns after which record archiving began.
fn base_of(records: &[Record]) -> u64 {
    let last = records.iter().rposition(|record| matches!(record, Record::Archive { .. }));
    last.map_or(0, |position| position as u64)
}

/// Looks where the log of an archive ends, and when that was.
fn peek(directory: &Path, database: DatabaseId) -> Result<(Lsn, u64)> {
    let catalog = read_catalog(directory)?;
    if catalog.is_none_or(|catalog| catalog.database != database) {
        return Err(unusable(directory, "it holds no archive of this database".into()));
    }
    let Some(number) = segment_numbers(directory)?.last().copied() else {
        return Ok((Lsn(0), 0));
    };
    let segment = read_segment(directory, database, number)?;
    Ok((segment.end, segment.groups().last().map_or(0, |group| group.time)))
}
