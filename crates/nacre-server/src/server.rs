//! Takes connections and ends them.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use nacre_sql::Database;
use tokio::net::TcpStream;
use tokio::runtime::Handle;
use tokio::sync::{Notify, Semaphore, watch};
use tokio::task::JoinSet;
use tracing::{info, warn};

use crate::access::Access;
use crate::connection::{self, Openings, SHUTTING_DOWN, Shared, Watchers};
use crate::descriptors::{DescriptorShortage, check_room};
use crate::metrics::{self, Counters};
use crate::options::ServerOptions;
use crate::ports::{self, Ports, REFUSALS_MAX, SHORT_REFUSALS_MAX, accept};
use crate::sessions::{Places, Sessions};

/// Wait for the sockets of sessions that were stopped.
const STOP_WAIT: Duration = Duration::from_secs(2);

/// A server that has its ports.
pub struct Server {
    shared: Arc<Shared>,
    ports: Ports,
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
    /// Takes the ports of `options`, to serve on them.
    ///
    /// # Errors
    /// As [`Ports::take`] and [`Server::over`].
    pub async fn bind(
        database: Database,
        options: ServerOptions,
        workers: Handle,
    ) -> io::Result<Self> {
        let ports = Ports::take(&options).await?;
        Self::over(ports, database, options, workers)
    }

    /// Makes a server of ports that were taken. What queries do at once on several threads is done
    /// on `workers`, which had better be others than those of the runtime that the server runs on:
    /// they may be busy for long while somebody wants to connect or to cancel.
    ///
    /// # Errors
    /// Rules or certificates that are none; a port that may not be listened on as access is.
    pub fn over(
        ports: Ports,
        database: Database,
        options: ServerOptions,
        workers: Handle,
    ) -> io::Result<Self> {
        let access = Access::open(&options.access)?;
        for (text, listener) in &ports.listeners {
            access.check_listening(text, listener.local_addr()?, &database)?;
        }
        let openings = Arc::new(Openings::new(options.connections_max));
        let all = options.connections_max;
        // One at least is for everybody.
        let reserved = options.connections_reserved.min(all.saturating_sub(1));
        let sessions = Arc::new(Sessions::new(Places { all, reserved }));
        let watchers = Arc::new(Watchers::new(options.busy_poll));
        let shared = Arc::new(Shared {
            database,
            options,
            access,
            sessions,
            counters: Counters::new(),
            openings,
            watchers,
            workers,
            thread_ended: Notify::new(),
        });
        Ok(Self { shared, ports, phase: watch::Sender::new(Phase::Serving) })
    }

    /// Returns the addresses that it listens on.
    pub fn addresses(&self) -> Vec<SocketAddr> {
        self.ports.addresses()
    }

    /// Returns where it tells metrics and health, if it does.
    pub fn metrics_address(&self) -> Option<SocketAddr> {
        self.ports.metrics.as_ref().and_then(|listener| listener.local_addr().ok())
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
        let addresses = self.addresses();
        info!(?addresses, "ready to accept connections");
        let Self { shared, mut ports, phase } = self;
        // Dropped at the end: until then the server is alive and not ready.
        let mut aside = JoinSet::new();
        if let Some(listener) = ports.metrics.take() {
            let phase = phase.clone();
            let is_ready = move || *phase.borrow() == Phase::Serving;
            aside.spawn(metrics::answer(listener, Arc::clone(&shared), is_ready));
        }
        if let Some(release) = shared.options.release_memory {
            aside.spawn(connection::release_memory(Arc::clone(&shared), release));
        }
        let refusals = Arc::new(RefusalPermits::new());
        let mut accepting = JoinSet::new();
        for (_, listener) in &ports.listeners {
            let (listener, shared) = (Arc::clone(listener), Arc::clone(&shared));
            let refusals = Arc::clone(&refusals);
            accepting.spawn(async move {
                accept(&listener, |stream, peer| serve(stream, peer, &shared, &refusals)).await;
            });
        }
        let mut changes = phase.subscribe();
        // The sender is here, so the channel is open.
        let _ = changes.wait_for(|phase| *phase != Phase::Serving).await;
        info!("shutting down: no new sessions, idle ones end");
        accepting.shutdown().await;
        shared.sessions.drain();
        let mut refusing = ports::refuse_all(&ports.listeners, SHUTTING_DOWN);
        let is_empty = tokio::select! {
            () = shared.sessions.wait_until_empty() => true,
            _ = changes.wait_for(|phase| *phase == Phase::Stopping) => false,
            () = tokio::time::sleep(shared.options.shutdown_timeout) => false,
        };
        if !is_empty {
            info!("shutting down: cancelling what still runs");
            shared.sessions.stop();
            // Work that waits for a disk ends when that does.
            let _ = tokio::time::timeout(STOP_WAIT, shared.sessions.wait_until_empty()).await;
        }
        // The ports are free when this returns.
        refusing.shutdown().await;
    }
}

/// Permits to refuse connections with a message.
struct RefusalPermits {
    full: Arc<Semaphore>,
    /// While descriptors are short: those left are for the store.
    short: Arc<Semaphore>,
}

impl RefusalPermits {
    fn new() -> Self {
        let permits = |count| Arc::new(Semaphore::new(count));
        Self { full: permits(REFUSALS_MAX), short: permits(SHORT_REFUSALS_MAX) }
    }
}

/// Starts the session of a connection, or refuses it.
fn serve(stream: TcpStream, peer: SocketAddr, shared: &Arc<Shared>, refusals: &RefusalPermits) {
    if let Err(DescriptorShortage { open, limit }) = check_room(&stream) {
        warn!(%peer, open, limit, "connection refused: file descriptors are short");
        let message = "sorry, too many clients already: the server is short of file descriptors";
        return refuse(stream, message, shared, &refusals.short);
    }
    let Some(place) = shared.openings.enter(peer) else {
        return refuse(stream, "sorry, too many clients already", shared, &refusals.full);
    };
    // Without a thread for it the connection is closed, as it is without memory.
    let started = connection::start(stream, peer, Arc::clone(shared), Handle::current(), place);
    if let Err(error) = started {
        warn!(%peer, %error, "cannot start a session");
    }
}

/// Refuses a connection with a message, or closes it at once if no permit is free.
fn refuse(
    stream: TcpStream,
    message: &'static str,
    shared: &Arc<Shared>,
    permits: &Arc<Semaphore>,
) {
    shared.counters.refusal();
    let Ok(permit) = Arc::clone(permits).try_acquire_owned() else { return };
    let sessions = Arc::clone(&shared.sessions);
    tokio::spawn(async move {
        connection::dismiss(stream, "53300", message, Some(&sessions)).await;
        drop(permit);
    });
}
