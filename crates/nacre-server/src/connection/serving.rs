//! The state of a connection, and the loop that answers its messages.

use std::collections::HashMap;
use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use nacre_sql::{Database, Error, Joined, Session, TransactionStatus};
use pgwire::messages::response::{ReadyForQuery, TransactionStatus as ReadyStatus};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::runtime::Handle;
use tokio::sync::Notify;

use super::extended::Prepared;
use super::openings::{ConnectionPlace, Openings};
use super::portal::Portal;
use super::rest::{ConnectionPause, IdleTime};
use super::thread_wait::{SessionSocket, sleep_until};
use super::watch::{Watch, Watchers};
use crate::access::Access;
use crate::metrics::Counters;
use crate::options::ServerOptions;
use crate::report;
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
    /// Told whenever the thread of a session ended.
    pub(crate) thread_ended: Notify,
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
    /// What `stream` goes through.
    pub(super) socket: SessionSocket,
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
    /// Start of the present wait for the client.
    pub(super) idle: Option<IdleTime>,
    pub(super) _place: ConnectionPlace,
}

impl Connection {
    /// Answers messages until the client terminates the session or stays silent for a while.
    pub(super) async fn run(&mut self) -> Result<ConnectionPause, End> {
        loop {
            let Some(message) = self.next_message_or_rest().await? else {
                return Ok(ConnectionPause::Resting);
            };
            match message {
                Message::Sync => self.sync().await?,
                Message::Terminate => return Ok(ConnectionPause::Over),
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

    /// Returns the next message; sends pending answers before it waits. `None` if the session is to
    /// rest.
    async fn next_message_or_rest(&mut self) -> Result<Option<Message>, End> {
        loop {
            if let Some(frame) = self.frames.next()? {
                return Ok(Some(frontend::decode(frame)?));
            }
            let is_between_messages = self.frames.is_empty();
            if !self.wait(is_between_messages).await? {
                return Ok(None);
            }
        }
    }

    /// Waits for bytes while no statement runs.
    pub(super) async fn wait_for_bytes(&mut self) -> Result<(), End> {
        self.wait(false).await.map(|_| ())
    }

    /// Waits for bytes while no statement runs. Returns false if the session is to rest, which it
    /// does only if it `may_rest`.
    async fn wait(&mut self, may_rest: bool) -> Result<bool, End> {
        if !self.out.is_empty() {
            self.out.send(&mut self.stream).await?;
        }
        if self.registered.signals.is_ending() {
            return Err(End::shutdown());
        }
        let rest_after = self.shared.options.rest_after;
        let Self { frames, stream, registered, session, watch, .. } = self;
        let idle = match self.idle.take() {
            Some(idle) => idle,
            None => match watch.look(frames) {
                Some(read) => return read_some(read).map(|()| true),
                None => IdleTime::begin(watch.sleep()),
            },
        };
        let timeout = idle.timeout(session);
        let rests = Instant::now().checked_add(rest_after).filter(|_| may_rest);
        let rests = rests.map(|deadline| (deadline, Ok(false)));
        let ended = tokio::select! {
            biased;
            read = frames.fill(stream) => read_some(read).map(|()| true),
            () = registered.signals.end() => Err(End::shutdown()),
            end = at(timeout.map(|(deadline, end)| (deadline, Err(end)))) => end,
            rests = at(rests) => rests,
        };
        match ended {
            Ok(false) => self.idle = Some(idle),
            _ => watch.wake(idle.into_sleeping()),
        }
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

/// Returns the value at its deadline; pends forever without one.
async fn at<T>(then: Option<(Instant, T)>) -> T {
    match then {
        Some((deadline, then)) => {
            sleep_until(deadline).await;
            then
        }
        None => std::future::pending().await,
    }
}
