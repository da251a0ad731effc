//! `nacre serve`: a database as a server, in the foreground.
//!
//! SIGTERM and SIGINT end it in a bounded time: sessions without a statement end at once, the
//! others when theirs do or the time is up. A second one ends it immediately. SIGHUP changes
//! nothing.

use std::io::{self, Write};
use std::time::Duration;

use nacre_server::{
    AccessOptions, Ports, Server, ServerOptions, Shutdown, TlsMode, raise_descriptor_limit,
};
use nacre_sql::{BOOTSTRAP_ROLE, Database, Error, ErrorKind, OpenOptions, Result, ServedNote};
use tokio::signal::unix::{SignalKind, signal};
use tracing::{debug, info, warn};

use super::arguments::ServeArguments;
use super::logging;
use super::notify::{self, notify};
use super::place::Place;
use super::report;
use crate::database::build_runtime;

/// Wrong usage, the database cannot be opened, a port cannot be taken.
const EXIT_UNUSABLE: u8 = 1;

/// Variable of the environment with the password of the superuser, as long as he has none.
const FIRST_PASSWORD: &str = "NACRE_PASSWORD";

/// Serves until it is told to end; returns the exit code.
pub(crate) fn run(arguments: ServeArguments) -> u8 {
    match serve(arguments) {
        Ok(()) => 0,
        Err(error) => {
            report::print_error(&error, "", &Place::Typed);
            EXIT_UNUSABLE
        }
    }
}

fn serve(arguments: ServeArguments) -> Result<()> {
    logging::begin(arguments.log_level.clone(), arguments.log_format)?;
    let version = env!("CARGO_PKG_VERSION");
    info!(version, directory = ?arguments.directory, "starting");
    match raise_descriptor_limit() {
        Ok(limit) => debug!(limit, "file descriptors of this process"),
        Err(error) => warn!(%error, "cannot raise the limit of file descriptors"),
    }
    let options = options(&arguments);
    let directory = arguments.directory.clone();
    let threads = arguments.threads.map(usize::from);
    let runtime = build_runtime(threads)?;
    let workers = runtime.handle().clone();
    // Who connects or cancels is heard on this thread, however busy the workers are.
    let front =
        tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(cannot_serve)?;
    let open = OpenOptions {
        directory: Some(arguments.directory),
        domains: arguments.domains,
        is_read_only: arguments.readonly,
        threads,
        ..OpenOptions::default()
    };
    let ended = front.block_on(async {
        let ports = Ports::take(&options).await.map_err(cannot_serve)?;
        let database = ports.while_starting(opened(open)).await?;
        let server = Server::over(ports, database, options, workers).map_err(cannot_serve)?;
        // Without one, others are told less about who has the directory.
        let _note = ServedNote::write(&directory, &server.addresses());
        let mut listening = String::new();
        for address in server.addresses() {
            listening.push_str(&format!("listening on {address}\n"));
        }
        if let Some(fingerprint) = server.fingerprint() {
            listening.push_str(&format!("certificate SHA-256 {fingerprint}\n"));
        }
        if let Some(address) = server.metrics_address() {
            listening.push_str(&format!("metrics on http://{address}/metrics\n"));
        }
        // Whoever does not read this need not.
        let _ = io::stdout().write_all(listening.as_bytes());
        let _ = io::stdout().flush();
        let signals = end_by_signals(server.shutdown()).map_err(cannot_serve)?;
        notify(notify::READY);
        server.run().await;
        signals.abort();
        Ok(())
    });
    // What still runs on a blocking thread ends with the process; it was never acknowledged.
    front.shutdown_background();
    runtime.shutdown_timeout(Duration::from_secs(1));
    info!("stopped");
    ended
}

/// Opens the database on a thread that may wait for its recovery.
async fn opened(options: OpenOptions) -> Result<Database> {
    let open = tokio::task::spawn_blocking(|| {
        let database = Database::open(options)?;
        for note in database.store().notes() {
            warn!(note, "found when the database was opened");
        }
        set_first_password(&database)?;
        Ok(database)
    });
    let ended = |error: tokio::task::JoinError| Error::new(ErrorKind::Internal, error.to_string());
    open.await.map_err(ended)?
}

fn options(arguments: &ServeArguments) -> ServerOptions {
    let defaults = ServerOptions::default();
    let seconds = arguments.shutdown_timeout.map(Duration::from_secs);
    ServerOptions {
        listen: match arguments.listen.is_empty() {
            true => defaults.listen,
            false => arguments.listen.clone(),
        },
        access: AccessOptions {
            directory: Some(arguments.directory.clone()),
            tls: arguments.tls.unwrap_or(match arguments.tls_cert {
                Some(_) => TlsMode::Prefer,
                None => TlsMode::Remote,
            }),
            certificate: arguments.tls_cert.clone().zip(arguments.tls_key.clone()),
        },
        connections_max: arguments.max_connections.map_or(defaults.connections_max, usize::from),
        connections_reserved: arguments
            .reserved_connections
            .map_or(defaults.connections_reserved, usize::from),
        busy_poll: arguments
            .busy_poll
            .map_or(defaults.busy_poll, |micros| Duration::from_micros(micros.into())),
        metrics: arguments.metrics.clone(),
        log_min_duration: arguments.log_min_duration.map(Duration::from_millis),
        shutdown_timeout: seconds.unwrap_or(defaults.shutdown_timeout),
        release_memory: Some(release_memory),
        ..defaults
    }
}

/// Returns free memory of mimalloc to the system: it purges pages that were free for a second
/// whenever a thread that has allocated ends.
fn release_memory() {
    let thread = std::thread::Builder::new().name("nacre-release".to_owned());
    // If the thread cannot start, the next session thread purges when it ends.
    let _ = thread.spawn(|| drop(std::hint::black_box(Vec::<u8>::with_capacity(64))));
}

/// Gives the superuser the password of the environment, unless there is one already.
fn set_first_password(database: &Database) -> Result<()> {
    let superuser = database.store().role(BOOTSTRAP_ROLE);
    let has_password = superuser.is_some_and(|role| role.verifier.is_some());
    match std::env::var(FIRST_PASSWORD) {
        Ok(password) if !has_password => database.set_password(BOOTSTRAP_ROLE, &password),
        _ => Ok(()),
    }
}

/// Has signals end the server, or be noted.
fn end_by_signals(shutdown: Shutdown) -> io::Result<tokio::task::JoinHandle<()>> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    let (mut hangup, mut hears_hangup) = (signal(SignalKind::hangup())?, true);
    Ok(tokio::spawn(async move {
        let mut has_begun = false;
        loop {
            tokio::select! {
                received = hangup.recv(), if hears_hangup => {
                    hears_hangup = received.is_some();
                    info!("SIGHUP changes nothing: access.conf and options are read at the start");
                    continue;
                }
                received = terminate.recv() => if received.is_none() { return },
                received = interrupt.recv() => if received.is_none() { return },
            }
            match has_begun {
                false => {
                    notify(notify::STOPPING);
                    shutdown.begin();
                }
                true => shutdown.now(),
            }
            has_begun = true;
        }
    }))
}

fn cannot_serve(error: io::Error) -> Error {
    Error::new(ErrorKind::Open, error.to_string())
}
