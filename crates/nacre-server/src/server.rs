//! Takes connections and ends them. Each one that is served has a thread of its own.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use nacre_sql::Database;
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Handle;
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinSet;

use crate::access::Access;
use crate::connection::{self, Shared, Watchers};
use crate::options::ServerOptions;
use crate::sessions::Sessions;

/// Connections beyond the limit that are told so at a time; further ones are closed unheard.
const REFUSALS_MAX: usize = 64;

/// How long taking connections rests when the system has no room for one.
const ACCEPT_REST: Duration = Duration::from_millis(100);

/// Wait for the sockets of sessions that were stopped.
const STOP_WAIT: Duration = Duration::from_secs(2);

/// A server that has its ports.
pub struct Server {
    shared: Arc<Shared>,
    listeners: Vec<TcpListener>,
    phase: watch::Sender<Phase>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Phase {
    Serving,
    Draining,
    Stopping,
}

/// Ends a server from outside; clones share it.
#[derive(Clone, Debug)]
pub struct Shutdown(watch::Sender<Phase>);

impl Shutdown {
    /// Ends the server: no new sessions, idle ones end, statements may end in time.
    pub fn begin(&self) {
        self.0.send_if_modified(|phase| {
            std::mem::replace(phase, Phase::Draining.max(*phase)) == Phase::Serving
        });
    }

    /// Ends the server at once: what runs is cancelled.
    pub fn now(&self) {
        self.0.send_replace(Phase::Stopping);
    }
}

impl Server {
    /// Takes the ports.
    ///
    /// # Errors
    /// An address that is none, is in use or is not permitted; the message names it. Rules or
    /// certificates that are none.
    pub async fn bind(database: Database, options: ServerOptions) -> io::Result<Self> {
        let access = Access::open(&options.access)?;
        let mut listeners = Vec::new();
        for text in &options.listen {
            let cannot = |error: io::Error| {
                io::Error::new(error.kind(), format!("cannot listen on {text}: {error}"))
            };
            let addresses: Vec<_> = tokio::net::lookup_host(text).await.map_err(cannot)?.collect();
            for address in &addresses {
                access.check_listening(text, *address, &database)?;
            }
            listeners.push(TcpListener::bind(&addresses[..]).await.map_err(cannot)?);
        }
        let slots = Arc::new(Semaphore::new(options.connections_max));
        let sessions = Arc::new(Sessions::default());
        let watchers = Arc::new(Watchers::new(options.busy_poll));
        let workers = Handle::current();
        let shared =
            Arc::new(Shared { database, options, access, sessions, slots, watchers, workers });
        Ok(Self { shared, listeners, phase: watch::Sender::new(Phase::Serving) })
    }

    /// Returns the addresses that it listens on.
    pub fn addresses(&self) -> Vec<SocketAddr> {
        self.listeners.iter().filter_map(|listener| listener.local_addr().ok()).collect()
    }

    /// Returns the SHA-256 of the certificate that it shows, if it has one.
    pub fn fingerprint(&self) -> Option<String> {
        self.shared.access.fingerprint()
    }

    /// Returns what ends it.
    pub fn shutdown(&self) -> Shutdown {
        Shutdown(self.phase.clone())
    }

    /// Serves until it is ended, and returns when all sessions are.
    pub async fn run(self) {
        let Self { shared, listeners, phase } = self;
        let refusals = Arc::new(Semaphore::new(REFUSALS_MAX));
        let mut accepting = JoinSet::new();
        for listener in listeners {
            let accept = accept(listener, Arc::clone(&shared), Arc::clone(&refusals));
            accepting.spawn(accept);
        }
        let mut changes = phase.subscribe();
        // The sender is here, so the channel is open.
        let _ = changes.wait_for(|phase| *phase != Phase::Serving).await;
        accepting.shutdown().await;
        shared.slots.close();
        shared.sessions.drain();
        tokio::select! {
            () = shared.sessions.wait_until_empty() => return,
            _ = changes.wait_for(|phase| *phase == Phase::Stopping) => {}
            () = tokio::time::sleep(shared.options.shutdown_timeout) => {}
        }
        shared.sessions.stop();
        // Work that waits for a disk ends when that does.
        let _ = tokio::time::timeout(STOP_WAIT, shared.sessions.wait_until_empty()).await;
    }
}

/// Takes connections of one port.
async fn accept(listener: TcpListener, shared: Arc<Shared>, refusals: Arc<Semaphore>) {
    loop {
        let Ok((stream, peer)) = listener.accept().await else {
            // Too many files are open, or the client has gone already.
            tokio::time::sleep(ACCEPT_REST).await;
            continue;
        };
        // A session answers as soon as it can; answers are gathered before they are sent.
        let _ = stream.set_nodelay(true);
        serve(stream, peer, &shared, &refusals);
    }
}

fn serve(stream: TcpStream, peer: SocketAddr, shared: &Arc<Shared>, refusals: &Arc<Semaphore>) {
    let shared = Arc::clone(shared);
    if let Ok(slot) = Arc::clone(&shared.slots).try_acquire_owned() {
        // Without a thread for it the connection is closed, as it is without memory.
        let _ = connection::start(stream, peer, shared, slot);
    } else if let Ok(refusal) = Arc::clone(refusals).try_acquire_owned() {
        tokio::spawn(async move {
            connection::refuse(stream, peer, shared).await;
            drop(refusal);
        });
    }
}
