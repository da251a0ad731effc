//! The sessions of a server: who is there, and how to reach them.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU8, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use nacre_sql::Request;
use tokio::sync::Notify;

/// Bytes of the secret that a cancel request has to show, by version of the protocol.
pub(crate) const SECRET_BYTES_3_0: usize = 4;
pub(crate) const SECRET_BYTES_3_2: usize = 32;

const CANCEL: u8 = 1;
const DRAIN: u8 = 2;
const STOP: u8 = 4;

/// What a session is asked to do from outside.
#[derive(Debug, Default)]
pub(crate) struct Signals {
    bits: AtomicU8,
    changed: Notify,
}

/// What a running statement is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Interrupt {
    /// To end, by a cancel request.
    Cancel,
    /// To end, and the session with it.
    Stop,
}

impl Signals {
    fn send(&self, bit: u8) {
        // ORDERING: a lone flag; `Notify` wakes whoever waits for it.
        self.bits.fetch_or(bit, Ordering::Relaxed);
        self.changed.notify_waiters();
    }

    fn has(&self, bits: u8) -> bool {
        // ORDERING: see `send`.
        self.bits.load(Ordering::Relaxed) & bits != 0
    }

    /// Forgets a cancel request that came for an earlier statement.
    pub(crate) fn begin_statement(&self) {
        if self.has(CANCEL) {
            // ORDERING: see `send`.
            self.bits.fetch_and(!CANCEL, Ordering::Relaxed);
        }
    }

    /// Takes what another session asks.
    pub(crate) fn take(&self, request: Request) {
        self.send(match request {
            Request::Cancel => CANCEL,
            Request::Terminate => STOP,
        });
    }

    /// Waits until a running statement is to end.
    pub(crate) async fn interrupt(&self) -> Interrupt {
        self.wait_for(CANCEL | STOP).await;
        if self.has(STOP) { Interrupt::Stop } else { Interrupt::Cancel }
    }

    /// Waits until an idle session is to end.
    pub(crate) async fn end(&self) {
        self.wait_for(DRAIN | STOP).await;
    }

    /// Whether the session is to end as soon as it is idle.
    pub(crate) fn is_ending(&self) -> bool {
        self.has(DRAIN | STOP)
    }

    async fn wait_for(&self, bits: u8) {
        loop {
            // Registered before the look, so that nothing is missed between the two.
            let mut changed = std::pin::pin!(self.changed.notified());
            changed.as_mut().enable();
            if self.has(bits) {
                return;
            }
            changed.await;
        }
    }
}

/// How many sessions there may be.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Places {
    pub(crate) all: usize,
    /// Of these, those that only superusers get.
    pub(crate) reserved: usize,
}

/// Who asks for a session.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Applicant {
    pub(crate) role: u32,
    pub(crate) is_superuser: bool,
    /// Sessions that the role may have.
    pub(crate) limit: Option<u32>,
}

/// Why there is no session for somebody.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NoPlace {
    /// The server shuts down.
    Ending,
    TooMany,
    /// What is left is for superusers.
    Reserved,
    /// The role has as many as it may have.
    OfRole,
}

/// All sessions of a server.
#[derive(Debug)]
pub(crate) struct Sessions {
    by_id: Mutex<HashMap<i32, Entry>>,
    next_id: AtomicI32,
    places: Places,
    /// Whether no new ones begin; written with the map locked.
    is_ending: AtomicBool,
    changed: Notify,
}

#[derive(Debug)]
struct Entry {
    secret: Bytes,
    /// The role that the session began as.
    role: u32,
    signals: Arc<Signals>,
}

/// A session's place among the others, given up when it is dropped.
#[derive(Debug)]
pub(crate) struct Registered {
    pub(crate) process_id: i32,
    pub(crate) signals: Arc<Signals>,
    sessions: Arc<Sessions>,
}

impl Sessions {
    /// Makes a list with room for as many.
    pub(crate) fn new(places: Places) -> Self {
        Self {
            by_id: Mutex::default(),
            next_id: AtomicI32::default(),
            places,
            is_ending: AtomicBool::new(false),
            changed: Notify::new(),
        }
    }

    /// Gives a session of a role a number and a secret, if there is a place for it.
    pub(crate) fn register(
        self: &Arc<Self>,
        secret: Bytes,
        applicant: Applicant,
    ) -> Result<Registered, NoPlace> {
        let signals = Arc::new(Signals::default());
        let mut by_id = self.by_id();
        self.admit(&by_id, applicant)?;
        let role = applicant.role;
        let process_id = loop {
            // ORDERING: a counter; the map, which is locked, says what is in use.
            let next = self.next_id.fetch_add(1, Ordering::Relaxed) & i32::MAX;
            if next > 0 && !by_id.contains_key(&next) {
                break next;
            }
        };
        by_id.insert(process_id, Entry { secret, role, signals: Arc::clone(&signals) });
        Ok(Registered { process_id, signals, sessions: Arc::clone(self) })
    }

    /// Says whether there is a place for one more.
    fn admit(&self, by_id: &HashMap<i32, Entry>, applicant: Applicant) -> Result<(), NoPlace> {
        // ORDERING: written and read with the map locked.
        if self.is_ending.load(Ordering::Relaxed) {
            return Err(NoPlace::Ending);
        }
        if by_id.len() >= self.places.all {
            return Err(NoPlace::TooMany);
        }
        // Superusers have neither limits nor too few places.
        if applicant.is_superuser {
            return Ok(());
        }
        if by_id.len() + self.places.reserved >= self.places.all {
            return Err(NoPlace::Reserved);
        }
        let count = by_id.values().filter(|entry| entry.role == applicant.role).count();
        match applicant.limit {
            Some(limit) if count >= limit as usize => Err(NoPlace::OfRole),
            _ => Ok(()),
        }
    }

    /// Cancels what a session runs, if the secret is its own.
    pub(crate) fn cancel(&self, process_id: i32, secret: &[u8]) {
        let by_id = self.by_id();
        if let Some(entry) = by_id.get(&process_id)
            && is_same(&entry.secret, secret)
        {
            entry.signals.send(CANCEL);
        }
    }

    /// Returns how many there are.
    pub(crate) fn count(&self) -> usize {
        self.by_id().len()
    }

    /// Has sessions end that run no statement, and the others after theirs; no new ones begin.
    pub(crate) fn drain(&self) {
        let by_id = self.by_id();
        // ORDERING: written and read with the map locked.
        self.is_ending.store(true, Ordering::Relaxed);
        by_id.values().for_each(|entry| entry.signals.send(DRAIN));
    }

    /// Has all sessions end, and cancels what they run.
    pub(crate) fn stop(&self) {
        self.by_id().values().for_each(|entry| entry.signals.send(STOP));
    }

    /// Waits until there is no session.
    pub(crate) async fn wait_until_empty(&self) {
        loop {
            let mut changed = std::pin::pin!(self.changed.notified());
            changed.as_mut().enable();
            if self.by_id().is_empty() {
                return;
            }
            changed.await;
        }
    }

    fn by_id(&self) -> MutexGuard<'_, HashMap<i32, Entry>> {
        self.by_id.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Registered {
    fn drop(&mut self) {
        self.sessions.by_id().remove(&self.process_id);
        self.sessions.changed.notify_waiters();
    }
}

/// Compares secrets in a time that does not tell where they differ.
fn is_same(one: &[u8], other: &[u8]) -> bool {
    one.len() == other.len()
        && one.iter().zip(other).fold(0, |differences, (a, b)| differences | (a ^ b)) == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    const SUPERUSER: Applicant = Applicant { role: 10, is_superuser: true, limit: None };
    const OTHER: Applicant = Applicant { role: 11, is_superuser: false, limit: Some(1) };

    #[test]
    fn last_places_are_for_superusers() {
        let sessions = Arc::new(Sessions::new(Places { all: 3, reserved: 1 }));
        let register = |applicant| sessions.register(Bytes::from_static(b"abcd"), applicant);
        let one = register(OTHER).unwrap();
        assert_eq!(register(OTHER).unwrap_err(), NoPlace::OfRole);
        let unlimited = Applicant { limit: None, ..OTHER };
        let two = register(unlimited).unwrap();
        assert_eq!(register(unlimited).unwrap_err(), NoPlace::Reserved);
        let three = register(SUPERUSER).unwrap();
        assert_eq!(register(SUPERUSER).unwrap_err(), NoPlace::TooMany);
        drop(two);
        assert_eq!(register(unlimited).unwrap_err(), NoPlace::Reserved);
        sessions.drain();
        drop((one, three));
        assert_eq!(register(SUPERUSER).unwrap_err(), NoPlace::Ending);
    }

    #[tokio::test]
    async fn cancel_request_needs_number_and_secret() {
        let sessions = Arc::new(Sessions::new(Places { all: 2, reserved: 0 }));
        let one = sessions.register(Bytes::from_static(b"abcd"), SUPERUSER).unwrap();
        sessions.cancel(one.process_id, b"abce");
        sessions.cancel(one.process_id, b"abc");
        sessions.cancel(one.process_id + 1, b"abcd");
        assert!(!one.signals.has(CANCEL));
        sessions.cancel(one.process_id, b"abcd");
        assert_eq!(one.signals.interrupt().await, Interrupt::Cancel);
        one.signals.begin_statement();
        assert!(!one.signals.has(CANCEL));
        sessions.stop();
        assert_eq!(one.signals.interrupt().await, Interrupt::Stop);
        drop(one);
        sessions.wait_until_empty().await;
    }
}
