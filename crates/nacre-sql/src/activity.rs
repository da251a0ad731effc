//! Who is at work: the sessions of a server, as `pg_stat_activity` shows them, and how one is asked
//! to stop.
//!
//! A program that serves sessions has each of them join by [`Database::join`], and says what it
//! does by [`Activity::begin`] and [`Activity::rest`]. Each session has a lock of its own, which
//! nobody takes beside it but those who look, so statements of different sessions share nothing.

use std::collections::BTreeMap;
use std::fmt;
use std::net::SocketAddr;
use std::ops::Deref;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use crate::database::Database;
use crate::transaction::TransactionStatus;

/// Bytes of a statement's text that are shown; PostgreSQL's `track_activity_query_size`.
pub(crate) const QUERY_BYTES_MAX: usize = 1_024;

/// What a session can be asked from outside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Request {
    /// To give its statement up.
    Cancel,
    /// To end.
    Terminate,
}

/// What stays the same all through a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Participant {
    pub process_id: i32,
    /// The role that began it.
    pub user: String,
    pub database: String,
    pub address: Option<SocketAddr>,
    pub is_encrypted: bool,
}

/// A session of a server.
pub struct Activity {
    pub(crate) participant: Participant,
    pub(crate) started: SystemTime,
    moment: Mutex<Moment>,
    ask: Box<dyn Fn(Request) + Send + Sync>,
}

/// What a session is doing.
#[derive(Clone, Debug)]
pub(crate) struct Moment {
    pub(crate) is_active: bool,
    /// What follows the statement; that of before while one runs.
    pub(crate) status: TransactionStatus,
    pub(crate) application: String,
    /// The statement that runs, or ran last.
    pub(crate) query: String,
    pub(crate) query_start: Option<SystemTime>,
    pub(crate) transaction_start: Option<SystemTime>,
    /// When the session began or ended a statement last.
    pub(crate) changed: SystemTime,
}

/// All sessions of a server, by the number of their process.
#[derive(Debug, Default)]
pub(crate) struct Activities {
    joined: Mutex<BTreeMap<i32, Arc<Activity>>>,
}

/// A session's place among the others, given up when it is dropped.
#[derive(Debug)]
pub struct Joined {
    activity: Arc<Activity>,
    activities: Arc<Activities>,
}

impl Database {
    /// Has a session be seen by the others; `ask` is called with what they ask of it. Of two with
    /// the same number the later one is seen.
    pub fn join(
        &self,
        participant: Participant,
        ask: impl Fn(Request) + Send + Sync + 'static,
    ) -> Joined {
        let now = SystemTime::now();
        let moment = Moment {
            is_active: false,
            status: TransactionStatus::Idle,
            application: String::new(),
            query: String::new(),
            query_start: None,
            transaction_start: None,
            changed: now,
        };
        let process_id = participant.process_id;
        let moment = Mutex::new(moment);
        let activity = Activity { participant, started: now, moment, ask: Box::new(ask) };
        let activity = Arc::new(activity);
        self.activities.joined().insert(process_id, Arc::clone(&activity));
        Joined { activity, activities: Arc::clone(&self.activities) }
    }
}

impl Activities {
    fn joined(&self) -> MutexGuard<'_, BTreeMap<i32, Arc<Activity>>> {
        self.joined.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the session of that number.
    pub(crate) fn find(&self, process_id: i32) -> Option<Arc<Activity>> {
        self.joined().get(&process_id).cloned()
    }

    /// Returns all sessions, by their numbers.
    pub(crate) fn all(&self) -> Vec<Arc<Activity>> {
        self.joined().values().cloned().collect()
    }
}

impl Activity {
    /// Says that a statement begins.
    pub fn begin(&self, sql: &str) {
        let now = SystemTime::now();
        let mut moment = self.lock();
        moment.is_active = true;
        moment.query.clear();
        moment.query.push_str(&sql[..sql.floor_char_boundary(QUERY_BYTES_MAX)]);
        moment.query_start = Some(now);
        moment.transaction_start.get_or_insert(now);
        moment.changed = now;
    }

    /// Says that the client is waited for.
    pub fn rest(&self, status: TransactionStatus) {
        let mut moment = self.lock();
        moment.status = status;
        if status == TransactionStatus::Idle {
            moment.transaction_start = None;
        }
        if std::mem::take(&mut moment.is_active) {
            moment.changed = SystemTime::now();
        }
    }

    /// Says what the client calls itself.
    pub fn set_application(&self, name: &str) {
        name.clone_into(&mut self.lock().application);
    }

    /// Returns what it is doing.
    pub(crate) fn moment(&self) -> Moment {
        self.lock().clone()
    }

    /// Asks it from outside.
    pub(crate) fn ask(&self, request: Request) {
        (self.ask)(request);
    }

    fn lock(&self) -> MutexGuard<'_, Moment> {
        self.moment.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Activity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Activity").field("participant", &self.participant).finish_non_exhaustive()
    }
}

impl Deref for Joined {
    type Target = Activity;

    fn deref(&self) -> &Activity {
        &self.activity
    }
}

impl Drop for Joined {
    fn drop(&mut self) {
        let mut joined = self.activities.joined();
        let process_id = self.activity.participant.process_id;
        if joined.get(&process_id).is_some_and(|found| Arc::ptr_eq(found, &self.activity)) {
            joined.remove(&process_id);
        }
    }
}
