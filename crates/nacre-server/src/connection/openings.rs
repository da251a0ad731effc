//! Connections whose clients have not said yet who they are.
//!
//! Each takes a thread, but no place of a session. When there are as many as there may be, the
//! oldest one has to go for the next, one from another machine before one from this: clients that
//! say nothing keep nobody out.
//!
//! # Invariants
//! There are at most as many connections as places for them: sessions, openings, and
//! [`LEAVING_MAX`] more that were told to go.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};

use super::serving::End;

/// Connections that were told to go and are not gone, at most.
const LEAVING_MAX: usize = 64;

/// Fewest openings that a server has room for.
const OPENINGS_MIN: usize = 16;

/// The openings of a server, the oldest first.
#[derive(Debug)]
pub(crate) struct Openings {
    waiting: Mutex<VecDeque<Arc<Waiting>>>,
    waiting_max: usize,
    places: Arc<Semaphore>,
}

#[derive(Debug)]
struct Waiting {
    is_local: bool,
    /// Told when it has to go.
    leave: Notify,
}

/// A connection's place among the openings, given up when it is dropped.
#[derive(Debug)]
pub(crate) struct Entered {
    waiting: Arc<Waiting>,
    openings: Arc<Openings>,
}

/// A connection's place among all connections, given back when it is dropped.
#[derive(Debug)]
pub(crate) struct ConnectionPlace {
    _permit: OwnedSemaphorePermit,
}

impl Openings {
    /// Makes room for as many as a server of `connections_max` sessions has.
    pub(crate) fn new(connections_max: usize) -> Self {
        let waiting_max = connections_max.max(OPENINGS_MIN);
        let places = connections_max.saturating_add(waiting_max).saturating_add(LEAVING_MAX);
        let places = places.min(Semaphore::MAX_PERMITS);
        Self { waiting: Mutex::default(), waiting_max, places: Arc::new(Semaphore::new(places)) }
    }

    /// Admits a connection; `None` when all places are taken.
    pub(crate) fn enter(self: &Arc<Self>, peer: SocketAddr) -> Option<(Entered, ConnectionPlace)> {
        let place = Arc::clone(&self.places).try_acquire_owned().ok()?;
        let is_local = peer.ip().to_canonical().is_loopback();
        let entered = Arc::new(Waiting { is_local, leave: Notify::new() });
        let mut waiting = self.waiting();
        if waiting.len() >= self.waiting_max {
            let remote = waiting.iter().position(|one| !one.is_local);
            if let Some(oldest) = waiting.remove(remote.unwrap_or(0)) {
                oldest.leave.notify_one();
            }
        }
        waiting.push_back(Arc::clone(&entered));
        Some((
            Entered { waiting: entered, openings: Arc::clone(self) },
            ConnectionPlace { _permit: place },
        ))
    }

    fn waiting(&self) -> MutexGuard<'_, VecDeque<Arc<Waiting>>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Entered {
    /// Waits until the connection has to go.
    pub(super) async fn ended(&self) -> End {
        self.waiting.leave.notified().await;
        let message = "sorry, too many clients already".to_owned();
        End::Fatal { code: "53300", message }
    }
}

impl Drop for Entered {
    fn drop(&mut self) {
        self.openings.waiting().retain(|one| !Arc::ptr_eq(one, &self.waiting));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn oldest_opening_from_elsewhere_goes_first() {
        let openings = Arc::new(Openings::new(1));
        let local: SocketAddr = "127.0.0.1:1".parse().unwrap();
        let remote: SocketAddr = "192.0.2.1:1".parse().unwrap();
        let first = openings.enter(local).unwrap();
        let second = openings.enter(remote).unwrap();
        let others: Vec<_> = (2..OPENINGS_MIN).map(|_| openings.enter(local).unwrap()).collect();
        let next = openings.enter(local).unwrap();
        second.0.ended().await;
        let last = openings.enter(local).unwrap();
        first.0.ended().await;
        drop((first, second, others));
        assert_eq!(openings.waiting().len(), 2);
        drop((next, last));
        assert!(openings.waiting().is_empty());
    }
}
