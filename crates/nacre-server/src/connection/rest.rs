//! The threads of sessions: when one has one, and when it rests without.
//!
//! A session whose client goes on at once has a thread of its own, which is woken right where the
//! client's message is: a short statement costs no more than the system's way there and back. What
//! a query does at once on several threads is done by the workers.
//!
//! A thread that waits holds memory that it does not use: its stack, and what the allocator keeps
//! at hand for it, megabytes after a few queries. So the thread of a session whose client says
//! nothing for [`ServerOptions::rest_after`] ends, and the session rests: its socket is waited for
//! by the server's own runtime, with those of all others, until a message comes, the session is
//! told to end, or it was idle for too long. Then it gets a thread again.
//!
//! [`ServerOptions::rest_after`]: crate::ServerOptions::rest_after

use std::io;
use std::net::{SocketAddr, TcpStream as StdStream};
use std::sync::Arc;
use std::time::{Duration, Instant};

use nacre_sql::{STATEMENT_STACK_BYTES, Session, TransactionStatus};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio::net::TcpStream;
use tokio::runtime::Handle;
use tracing::{debug, warn};

use super::openings::{ConnectionPlace, Entered};
use super::serving::{Connection, End, REFUSAL_TIMEOUT, Shared};
use super::startup::Opening;
use super::thread_wait::{SessionSocket, block_on, within};
use super::watch::Sleeping;
use crate::report::{self, Severity};
use crate::sessions::Signals;

/// How long the memory of threads that ended may be kept for the next ones.
const RELEASE_AFTER: Duration = Duration::from_secs(2);

/// Why a connection needs its thread no longer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ConnectionPause {
    /// It is over.
    Over,
    /// Its client says nothing.
    Resting,
}

/// Since when the client of a session says nothing.
pub(super) struct IdleTime {
    since: Instant,
    sleeping: Sleeping,
}

impl IdleTime {
    pub(super) fn begin(sleeping: Sleeping) -> Self {
        Self { since: Instant::now(), sleeping }
    }

    pub(super) fn into_sleeping(self) -> Sleeping {
        self.sleeping
    }

    /// Returns until when the session may be idle, and how it ends then; `None` if for ever.
    pub(super) fn timeout(&self, session: &Session) -> Option<(Instant, End)> {
        let (limit, code, message) = match session.transaction_status() {
            TransactionStatus::Idle => {
                let message = "terminating connection due to idle-session timeout";
                (session.idle_timeout(), "57P05", message)
            }
            TransactionStatus::Open | TransactionStatus::Failed => {
                let message = "terminating connection due to idle-in-transaction timeout";
                (session.idle_in_transaction_timeout(), "25P03", message)
            }
        };
        let deadline = self.since.checked_add(limit?)?;
        Some((deadline, End::Fatal { code, message: message.to_owned() }))
    }
}

/// Starts a thread that serves a connection. `front` is the runtime that waits for sessions that
/// rest.
///
/// # Errors
/// The system has no thread or descriptor for it.
pub(crate) fn start(
    stream: TcpStream,
    peer: SocketAddr,
    shared: Arc<Shared>,
    front: Handle,
    (entered, place): (Entered, ConnectionPlace),
) -> io::Result<()> {
    let socket = SessionSocket::new(stream.into_std()?)?;
    spawn_session(Arc::clone(&shared), move || {
        let opening = open(socket.clone(), peer, shared, entered, place);
        match block_on(&socket, opening) {
            Ok(Some(connection)) => converse(Box::new(connection), front),
            Ok(None) => {}
            Err(error) => warn!(%peer, %error, "cannot wait for a client"),
        }
    })
}

fn spawn_session(shared: Arc<Shared>, body: impl FnOnce() + Send + 'static) -> io::Result<()> {
    let thread = std::thread::Builder::new().name("nacre-session".to_owned());
    let body = move || {
        body();
        shared.thread_ended.notify_one();
    };
    thread.stack_size(STATEMENT_STACK_BYTES).spawn(body).map(|_| ())
}

/// Has the allocator give memory back whenever threads of sessions have ended, for ever.
pub(crate) async fn release_memory(shared: Arc<Shared>, release: fn()) {
    loop {
        shared.thread_ended.notified().await;
        tokio::time::sleep(RELEASE_AFTER).await;
        release();
    }
}

/// Begins the session of a connection; `None` if there is none.
async fn open(
    socket: SessionSocket,
    peer: SocketAddr,
    shared: Arc<Shared>,
    entered: Entered,
    place: ConnectionPlace,
) -> Option<Connection> {
    let startup_timeout = shared.options.startup_timeout;
    let mut opening = Opening::new(socket, peer, shared);
    let began = tokio::select! {
        biased;
        began = within(startup_timeout, opening.begin()) => began.unwrap_or_else(|| {
            let message = "canceling authentication due to timeout".to_owned();
            Err(End::Fatal { code: "57014", message })
        }),
        end = entered.ended() => Err(end),
    };
    drop(entered);
    let session = match began {
        Ok(Some(started)) => started,
        Ok(None) | Err(End::Closed) => return None,
        Err(End::Fatal { code, message }) => {
            opening.refuse(code, &message).await;
            return None;
        }
    };
    let mut connection = opening.into_connection(session, place);
    match connection.ready().await {
        Ok(()) => Some(connection),
        Err(end) => {
            connection.say_goodbye(Err(end)).await;
            None
        }
    }
}

/// Serves a connection on this thread until it rests or is over.
fn converse(mut connection: Box<Connection>, front: Handle) {
    let socket = connection.socket.clone();
    let conversation = async {
        match connection.run().await {
            Ok(ConnectionPause::Resting) => ConnectionPause::Resting,
            Ok(ConnectionPause::Over) => connection.say_goodbye(Ok(())).await,
            Err(end) => connection.say_goodbye(Err(end)).await,
        }
    };
    match block_on(&socket, conversation) {
        Ok(ConnectionPause::Over) => {}
        Ok(ConnectionPause::Resting) => {
            connection.release_memory();
            let (rest, resumed_front) = (connection.rest(), front.clone());
            front.spawn(async move {
                if let Err(error) = rest.wait().await {
                    warn!(%error, "cannot wait for the client of a session that rests");
                }
                resume(connection, resumed_front);
            });
        }
        Err(error) => warn!(%error, "cannot wait for the client of a session"),
    }
}

/// Gives a connection that rested a thread again.
fn resume(connection: Box<Connection>, front: Handle) {
    // Without a thread for it the connection is closed, as it is without memory.
    let shared = Arc::clone(&connection.shared);
    if let Err(error) = spawn_session(shared, move || converse(connection, front)) {
        warn!(%error, "cannot resume a session");
    }
}

/// What a session that rests waits for.
struct SessionRest {
    stream: Arc<StdStream>,
    signals: Arc<Signals>,
    /// When it was idle for too long.
    deadline: Option<Instant>,
}

impl SessionRest {
    /// Waits until there is something to do for a thread: a message of the client, or the end.
    ///
    /// # Errors
    /// The system cannot watch one more socket.
    async fn wait(self) -> io::Result<()> {
        // What takes its place is unsafe, since other types may change their descriptor.
        #[expect(deprecated, reason = "a `TcpStream` has the same descriptor to its end")]
        let watched = AsyncFd::with_interest(self.stream, Interest::READABLE)?;
        let is_over = async {
            match self.deadline {
                Some(deadline) => tokio::time::sleep_until(deadline.into()).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            readable = watched.readable() => readable.map(|_| ()),
            () = self.signals.end() => Ok(()),
            () = is_over => Ok(()),
        }
    }
}

impl Connection {
    fn rest(&self) -> SessionRest {
        let timeout = self.idle.as_ref().and_then(|idle| idle.timeout(&self.session));
        SessionRest {
            stream: Arc::clone(self.socket.stream()),
            signals: Arc::clone(&self.registered.signals),
            deadline: timeout.map(|(deadline, _)| deadline),
        }
    }

    /// Gives memory back that the next message does not need.
    fn release_memory(&mut self) {
        self.session.release_memory();
        self.frames.release_buffer();
        self.out.release_buffers();
    }

    /// Tells a client why its session ends, if it did not end it itself.
    async fn say_goodbye(&mut self, ended: Result<(), End>) -> ConnectionPause {
        let (session, user) = (self.registered.process_id, self.user.as_str());
        debug!(session, user, "session ended");
        if let Err(End::Fatal { code, message }) = ended {
            warn!(session, user, sqlstate = code, error = message, "session terminated");
            self.out.put(&report::plain(Severity::Fatal, code, &message));
            let Self { out, stream, .. } = self;
            // A client that does not listen does not hear it.
            let _ = within(REFUSAL_TIMEOUT, out.send(stream)).await;
        }
        ConnectionPause::Over
    }
}
