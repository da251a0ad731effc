//! The thread that keeps replicas whole while a database is open for writing.
//!
//! It waits until the store has work for it (a replica that a query found lost, one in DRAM that is
//! to be filled, a policy that changed) and then takes one step after the other; and now and then
//! it verifies every byte of every replica. While there is nothing to do it does not run.
//!
//! # Concurrency
//! Dropping [`Upkeep`] stops the thread and waits for the block at hand, so that the directory is
//! free when a database has been closed: a step and a scrub are broken off between two blocks. A
//! scrub rests as long as it works, so queries lose at most half of one core to it.
//! # Errors
//! A step that fails, such as for want of space, is tried again after [`RETRY`]. What is not whole
//! is seen in `nacre_replicas` meanwhile; `nacre repair` says what is in the way. What failed, and
//! what the store notes, is logged.

use std::ops::ControlFlow;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use nacre_store::Store;
use tracing::{info, warn};

use crate::error::{Error, ErrorKind, Result};

/// Hours between two scrubs; 0 turns them off.
const SCRUB_HOURS_VARIABLE: &str = "NACRE_SCRUB_HOURS";

/// A week: the interval that file systems and disk arrays have settled on. A scrub of 100 GB at the
/// half of 10 GB/s that it allows itself takes 20 seconds.
const SCRUB_HOURS: u32 = 168;

/// How often what was committed is archived, also if it is little.
const ARCHIVE_INTERVAL: Duration = Duration::from_secs(60);

/// When a step that failed is tried again.
const RETRY: Duration = Duration::from_secs(60);

/// The running thread.
#[derive(Debug)]
pub(crate) struct Upkeep {
    store: Store,
    bell: Arc<Bell>,
    thread: Option<JoinHandle<()>>,
}

/// What the thread waits for.
#[derive(Debug, Default)]
struct Bell {
    rung: Mutex<Rung>,
    changed: Condvar,
}

#[derive(Clone, Copy, Debug, Default)]
struct Rung {
    is_stopped: bool,
    has_work: bool,
}

impl Upkeep {
    /// Starts the thread.
    ///
    /// # Errors
    /// [`ErrorKind::Open`] if the system refuses a thread or `NACRE_SCRUB_HOURS` is no number.
    pub(crate) fn start(store: &Store) -> Result<Self> {
        let interval = scrub_interval(std::env::var(SCRUB_HOURS_VARIABLE).ok().as_deref())?;
        let bell = Arc::new(Bell::default());
        let waker = Arc::clone(&bell);
        store.set_waker(Box::new(move || waker.ring(|rung| rung.has_work = true)));
        // What was to be done before the waker was there.
        bell.ring(|rung| rung.has_work |= store.has_work());
        let worker = Worker { store: store.clone(), bell: Arc::clone(&bell), interval };
        let thread = std::thread::Builder::new().name("nacre-upkeep".into());
        let thread = thread.spawn(move || worker.run()).map_err(|error| {
            Error::new(ErrorKind::Open, format!("cannot start the upkeep thread: {error}"))
        })?;
        Ok(Self { store: store.clone(), bell, thread: Some(thread) })
    }
}

impl Drop for Upkeep {
    fn drop(&mut self) {
        self.bell.ring(|rung| rung.is_stopped = true);
        self.store.prepare_to_close();
        if let Some(thread) = self.thread.take() {
            // A panic of the thread was printed when it happened; nothing depends on it.
            let _ = thread.join();
        }
        // The archive ends where the database does; what cannot be copied is at the next opening.
        let _ = self.store.archive();
    }
}

impl Bell {
    fn ring(&self, change: impl FnOnce(&mut Rung)) {
        change(&mut self.lock());
        self.changed.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, Rung> {
        self.rung.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until it is rung for one of `reasons` or `until`; `None` waits for ever.
    fn wait(&self, until: Option<Instant>, reasons: impl Fn(Rung) -> bool) -> Rung {
        let mut rung = self.lock();
        while !reasons(*rung) {
            rung = match until.map(|until| until.saturating_duration_since(Instant::now())) {
                None => self.changed.wait(rung).unwrap_or_else(PoisonError::into_inner),
                Some(Duration::ZERO) => break,
                Some(left) => {
                    let waited = self.changed.wait_timeout(rung, left);
                    waited.unwrap_or_else(PoisonError::into_inner).0
                }
            };
        }
        *rung
    }

    fn is_stopped(&self) -> bool {
        self.lock().is_stopped
    }
}

/// What the thread works with.
struct Worker {
    store: Store,
    bell: Arc<Bell>,
    /// Time between two scrubs; `None` is never.
    interval: Option<Duration>,
}

impl Worker {
    fn run(self) {
        let next = |interval: Option<Duration>| Instant::now().checked_add(interval?);
        let mut scrub_at = next(self.interval);
        let mut retry_at: Option<Instant> = None;
        let mut archive_at: Option<Instant> = None;
        // Whoever opened the database tells of those.
        let mut told = self.store.notes().len();
        loop {
            if archive_at.is_none() && self.store.is_archived() {
                archive_at = next(Some(ARCHIVE_INTERVAL));
            }
            let until = scrub_at.into_iter().chain(retry_at).chain(archive_at).min();
            let rung = self.bell.wait(until, |rung| rung.is_stopped || rung.has_work);
            if rung.is_stopped {
                return;
            }
            let is_due = |at: Option<Instant>| at.is_some_and(|at| at <= Instant::now());
            if rung.has_work || is_due(retry_at) {
                self.bell.lock().has_work = false;
                retry_at = if self.work() { None } else { next(Some(RETRY)) };
            }
            if is_due(archive_at) {
                if let Err(error) = self.store.archive() {
                    warn!(error = error.to_string(), "cannot archive");
                }
                archive_at = None;
            }
            if is_due(scrub_at) {
                self.scrub();
                scrub_at = next(self.interval);
            }
            let notes = self.store.notes();
            for note in notes.iter().skip(told) {
                warn!(note, "upkeep noticed");
            }
            told = notes.len();
        }
    }

    /// Takes steps until there are none left; false if one failed.
    fn work(&self) -> bool {
        while !self.bell.is_stopped() {
            match self.store.maintain_step() {
                Ok(progress) if progress.is_idle() => return true,
                Ok(_) => {}
                Err(error) => {
                    warn!(error = error.to_string(), "upkeep failed, it is tried again");
                    return false;
                }
            }
        }
        true
    }

    fn scrub(&self) {
        let mut began = Instant::now();
        // What it finds it reports to the store, which rings.
        let scrubbed = self.store.scrub(&mut |_| {
            let worked = began.elapsed();
            let rested = Instant::now().checked_add(worked);
            let rung = self.bell.wait(rested, |rung| rung.is_stopped);
            began = Instant::now();
            if rung.is_stopped { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        match scrubbed {
            Ok(report) => {
                let (blocks, bytes, lost) = (report.blocks, report.bytes, report.lost.len());
                info!(blocks, bytes, lost, "scrubbed");
            }
            Err(error) => warn!(error = error.to_string(), "cannot scrub"),
        }
    }
}

/// Reads the setting; `None` is no scrub.
fn scrub_interval(setting: Option<&str>) -> Result<Option<Duration>> {
    let hours = match setting.filter(|text| !text.is_empty()) {
        None => SCRUB_HOURS,
        Some(text) => text.parse().map_err(|_| {
            let message = format!("setting {SCRUB_HOURS_VARIABLE}: {text:?} is no number of hours");
            Error::new(ErrorKind::Open, message).with_hint("0 turns scheduled scrubs off.")
        })?,
    };
    Ok((hours > 0).then(|| Duration::from_secs(u64::from(hours) * 3_600)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interval_is_a_week_unless_it_is_set() {
        let hours = |text| scrub_interval(text).unwrap().map(|time| time.as_secs() / 3_600);
        assert_eq!(hours(None), Some(168));
        assert_eq!(hours(Some("")), Some(168));
        assert_eq!(hours(Some("24")), Some(24));
        assert_eq!(hours(Some("0")), None);
        let error = scrub_interval(Some("daily")).unwrap_err();
        assert!(error.message().contains("NACRE_SCRUB_HOURS"), "{error}");
    }

    #[test]
    fn waiting_ends_when_it_is_rung_or_late() {
        let bell = Arc::new(Bell::default());
        let soon = Instant::now().checked_add(Duration::from_millis(1));
        assert!(!bell.wait(soon, |rung| rung.has_work).has_work);
        let ringer = Arc::clone(&bell);
        let thread = std::thread::spawn(move || ringer.ring(|rung| rung.has_work = true));
        assert!(bell.wait(None, |rung| rung.has_work).has_work);
        thread.join().unwrap();
    }
}
