//! The state of a connection, and the loop that answers its messages.

use std::collections::HashMap;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use nacre_sql::{Database, Error, Joined, STATEMENT_STACK_BYTES, Session, TransactionStatus};
use pgwire::messages::response::{ReadyForQuery, TransactionStatus as ReadyStatus};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::runtime::Handle;
use tokio::time::timeout;
use tracing::{debug, warn};

use super::extended::Prepared;
use super::openings::{Entered, Openings, Thread};
use super::portal::Portal;
use super::startup;
use super::watch::{Watch, Watchers};
use crate::access::Access;
use crate::metrics::Counters;
use crate::options::ServerOptions;
use crate::report::{self, Severity};
use crate::sessions::{Registered, Sessions};
use crate::wire::backend::Outbox;
use crate::wire::frames::{Frames, Malformed};
use crate::wire::frontend::{self, Message};
use crate::wire::utf8::InvalidUtf8;

/// How long a client that is refused may take to say who it is.
pub(super) const REFUSAL_TIMEOUT: Duration = Duration::from_secs(5);

/// What connections share.
pub(crate) struct Shared {
    pub(crate) database: Database,
    pub(crate) options: ServerOptions,
    pub(crate) access: Access,
    pub(crate) sessions: Arc<Sessions>,
    pub(crate) counters: Counters,
    pub(crate) openings: Arc<Openings>,
    pub(crate) watchers: Arc<Watchers>,
    /// What queries run on beside the threads of their sessions.
    pub(crate) workers: Handle,
}

/// What a connection speaks through.
pub(super) trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}
impl<T: AsyncRead + AsyncWrite + Send + Unpin> Stream for T {}

/// Why a connection ends.
#[derive(Debug)]
pub(super) enum End {
    /// The client said so, or is gone.
    Closed,
    /// The server does not go on; the client is told why.
    Fatal { code: &'static str, message: String },
}

impl From<io::Error> for End {
    fn from(_: io::Error) -> Self {
        Self::Closed
    }
}

impl From<Malformed> for End {
    fn from(Malformed(message): Malformed) -> Self {
        Self::Fatal { code: "08P01", message }
    }
}

impl End {
    pub(super) fn protocol_violation(message: impl Into<String>) -> Self {
        Self::Fatal { code: "08P01", message: message.into() }
    }

    pub(super) fn shutdown() -> Self {
        let message = "terminating connection due to administrator command".to_owned();
        Self::Fatal { code: "57P01", message }
    }
}

/// Why a statement did not come to its end.
#[derive(Debug)]
pub(super) enum Failure {
    /// It failed; the session goes on.
    Statement(Error),
    Connection(End),
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Statement(error)
    }
}

impl<E: Into<End>> From<E> for Failure {
    fn from(end: E) -> Self {
        Self::Connection(end.into())
    }
}

/// A connection whose session has begun.
pub(super) struct Connection {
    pub(super) shared: Arc<Shared>,
    pub(super) stream: Box<dyn Stream>,
    pub(super) frames: Frames,
    /// How the next message is waited for.
    pub(super) watch: Watch,
    pub(super) out: Outbox,
    pub(super) session: Arc<Session>,
    pub(super) registered: Registered,
    /// What others see of it.
    pub(super) activity: Joined,
    /// As whom the client was let in.
    pub(super) user: String,
    /// The prepared statement without a name.
    pub(super) unnamed: Option<Arc<Prepared>>,
    /// What is known of prepared statements with names beside what the session knows.
    pub(super) named: HashMap<String, Arc<Prepared>>,
    pub(super) portals: HashMap<String, Portal>,
    /// Whether messages are passed over until Sync.
    pub(super) is_skipping: bool,
    /// When what is done now has to be over.
    pub(super) deadline: Option<Instant>,
}

/// Starts a thread that serves a connection to its end.
///
/// A thread that waits for its own client alone is woken right where the client's message is: a
/// short statement costs no more than the system's way there and back. What a query does at
/// once on several threads is done by the workers.
///
/// # Errors
/// The system has no thread for it, or no room for what it waits with.
pub(crate) fn start(
    stream: TcpStream,
    peer: SocketAddr,
    shared: Arc<Shared>,
    (entered, place): (Entered, Thread),
) -> io::Result<()> {
    let stream = stream.into_std()?;
    // Of the same connection, for looks at it that do not go through the runtime.
    let look = stream.try_clone()?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let thread = std::thread::Builder::new().name("nacre-session".to_owned());
    thread.stack_size(STATEMENT_STACK_BYTES).spawn(move || {
        runtime.block_on(async {
            if let Ok(stream) = TcpStream::from_std(stream) {
                serve(stream, look, peer, shared, entered).await;
            }
        });
        drop(place);
    })?;
    Ok(())
}

/// Serves a connection to its end.
async fn serve(
    stream: TcpStream,
    look: std::net::TcpStream,
    peer: SocketAddr,
    shared: Arc<Shared>,
    entered: Entered,
) {
    let startup_timeout = shared.options.startup_timeout;
    let mut opening = startup::Opening::new(stream, peer, shared);
    let began = tokio::select! {
        biased;
        began = timeout(startup_timeout, opening.begin()) => began.unwrap_or_else(|_| {
            let message = "canceling authentication due to timeout".to_owned();
            Err(End::Fatal { code: "57014", message })
        }),
        end = entered.ended() => Err(end),
    };
    drop(entered);
    let session = match began {
        Ok(Some(started)) => started,
        Ok(None) | Err(End::Closed) => return,
        Err(End::Fatal { code, message }) => return opening.refuse(code, &message).await,
    };
    let mut connection = opening.into_connection(session, look);
    let ended = connection.run().await;
    let (session, user) = (connection.registered.process_id, connection.user.as_str());
    debug!(session, user, "session ended");
    if let Err(End::Fatal { code, message }) = ended {
        warn!(session, user, sqlstate = code, error = message, "session terminated");
        connection.out.put(&report::plain(Severity::Fatal, code, &message));
        let Connection { out, stream, .. } = &mut connection;
        // Whoever does not listen does not hear it.
        let _ = timeout(REFUSAL_TIMEOUT, out.send(stream)).await;
    }
}

impl Connection {
    /// Answers until the client says goodbye.
    async fn run(&mut self) -> Result<(), End> {
        self.ready().await?;
        loop {
            match self.next_message().await? {
                Message::Sync => self.sync().await?,
                Message::Terminate => return Ok(()),
                _ if self.is_skipping => {}
                Message::Query(query) => self.simple_query(&query).await?,
                Message::NotUtf8 { is_query: true, error } => self.refuse_query(error).await?,
                Message::Flush => self.out.send(&mut self.stream).await?,
                Message::FunctionCall => self.refuse_function_call().await?,
                // What is left of a COPY that failed.
                Message::CopyData(_) | Message::CopyDone | Message::CopyFail(_) => {}
                Message::Authentication => {
                    return Err(End::protocol_violation("unexpected authentication message"));
                }
                message => self.extended(message).await?,
            }
        }
    }

    /// Returns the next message; what was answered is sent before this waits for it.
    pub(super) async fn next_message(&mut self) -> Result<Message, End> {
        loop {
            if let Some(frame) = self.frames.next()? {
                return Ok(frontend::decode(frame)?);
            }
            self.wait_for_bytes().await?;
        }
    }

    /// Waits for bytes while no statement runs.
    pub(super) async fn wait_for_bytes(&mut self) -> Result<(), End> {
        if !self.out.is_empty() {
            self.out.send(&mut self.stream).await?;
        }
        if self.registered.signals.is_ending() {
            return Err(End::shutdown());
        }
        let Self { frames, stream, registered, session, watch, .. } = self;
        if let Some(read) = watch.look(frames) {
            return read_some(read);
        }
        let sleeping = watch.sleep();
        let idle = idle_timeout(session);
        let ended = tokio::select! {
            biased;
            read = frames.fill(stream) => read_some(read),
            () = registered.signals.end() => Err(End::shutdown()),
            end = idle => Err(end),
        };
        watch.wake(sleeping);
        ended
    }

    /// Says that the next query may come.
    pub(super) async fn ready(&mut self) -> Result<(), End> {
        self.report_settings();
        let status = self.session.transaction_status();
        self.activity.rest(status);
        let status = match status {
            TransactionStatus::Idle => ReadyStatus::Idle,
            TransactionStatus::Open => ReadyStatus::Transaction,
            TransactionStatus::Failed => ReadyStatus::Error,
        };
        if status == ReadyStatus::Idle {
            self.portals.clear();
        }
        self.out.put(&ReadyForQuery::new(status));
        // Otherwise a message waits already and is answered first.
        if self.frames.is_empty() || self.out.is_full() {
            self.out.send(&mut self.stream).await?;
        }
        Ok(())
    }

    /// Ends the statements that came since the last Sync.
    pub(super) async fn sync(&mut self) -> Result<(), End> {
        self.is_skipping = false;
        self.end_implicit().await?;
        self.ready().await
    }

    /// Commits what statements that came together did; tells the client if that fails.
    pub(super) async fn end_implicit(&mut self) -> Result<(), End> {
        if self.session.transaction_status() == TransactionStatus::Idle {
            return Ok(());
        }
        self.start_clock();
        let session = Arc::clone(&self.session);
        match self.finish(async move { session.end_implicit().await }).await {
            Ok(()) => Ok(()),
            Err(Failure::Statement(error)) => {
                self.log_failure(&error, None);
                self.out.put(&report::error(&error, None));
                Ok(())
            }
            Err(Failure::Connection(end)) => Err(end),
        }
    }

    /// Notes that a statement begins: what was asked of an earlier one does not count for it.
    pub(super) fn begin_statement(&self, sql: &str) {
        self.registered.signals.begin_statement();
        self.activity.begin(sql);
    }

    /// Has what comes now take no longer than `statement_timeout` says.
    pub(super) fn start_clock(&mut self) {
        self.deadline = self.session.statement_timeout().map(|limit| Instant::now() + limit);
    }

    /// Refuses a query that is no text.
    async fn refuse_query(&mut self, error: InvalidUtf8) -> Result<(), End> {
        let error = report::not_utf8(error);
        self.session.fail_block();
        self.log_failure(&error, None);
        self.out.put(&report::error(&error, None));
        self.end_implicit().await?;
        self.ready().await
    }

    async fn refuse_function_call(&mut self) -> Result<(), End> {
        let error = Error::not_supported("calls of functions by the fast-path message");
        self.log_failure(&error, None);
        self.out.put(&report::error(&error, None));
        self.ready().await
    }
}

fn read_some(read: io::Result<usize>) -> Result<(), End> {
    match read? {
        0 => Err(End::Closed),
        _ => Ok(()),
    }
}

/// Ends when the session was idle for longer than it may be; never if it may be so for ever.
async fn idle_timeout(session: &Session) -> End {
    let (limit, code, message) = match session.transaction_status() {
        TransactionStatus::Idle => {
            (session.idle_timeout(), "57P05", "terminating connection due to idle-session timeout")
        }
        TransactionStatus::Open | TransactionStatus::Failed => (
            session.idle_in_transaction_timeout(),
            "25P03",
            "terminating connection due to idle-in-transaction timeout",
        ),
    };
    match limit {
        Some(limit) => tokio::time::sleep(limit).await,
        None => std::future::pending().await,
    }
    End::Fatal { code, message: message.to_owned() }
}
