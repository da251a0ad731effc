//! The ports of a server, from before its database is open: who comes meanwhile is told so.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tracing::warn;

use crate::connection;
use crate::options::ServerOptions;

/// Connections that are told something at a time; further ones are closed unheard.
pub(crate) const REFUSALS_MAX: usize = 64;

/// As [`REFUSALS_MAX`], while descriptors are short.
pub(crate) const SHORT_REFUSALS_MAX: usize = 8;

/// How long taking connections rests when the system has no room for one.
const ACCEPT_REST: Duration = Duration::from_millis(100);

/// Ports that were taken.
#[derive(Debug)]
pub struct Ports {
    /// With the texts that named them.
    pub(crate) listeners: Vec<(String, Arc<TcpListener>)>,
    /// Where metrics and health are told.
    pub(crate) metrics: Option<TcpListener>,
}

impl Ports {
    /// Takes the ports that the options name.
    ///
    /// # Errors
    /// An address that is none, is in use or is not permitted; the message names it.
    pub async fn take(options: &ServerOptions) -> io::Result<Self> {
        let mut listeners = Vec::new();
        for text in &options.listen {
            let cannot = |error: io::Error| {
                io::Error::new(error.kind(), format!("cannot listen on {text}: {error}"))
            };
            let addresses: Vec<_> = tokio::net::lookup_host(text).await.map_err(cannot)?.collect();
            let listener = TcpListener::bind(&addresses[..]).await.map_err(cannot)?;
            listeners.push((text.clone(), Arc::new(listener)));
        }
        let metrics = match &options.metrics {
            Some(text) => Some(TcpListener::bind(text).await.map_err(|error| {
                let message = format!("cannot listen on {text} for metrics: {error}");
                io::Error::new(error.kind(), message)
            })?),
            None => None,
        };
        Ok(Self { listeners, metrics })
    }

    /// Returns the addresses that they are.
    pub fn addresses(&self) -> Vec<SocketAddr> {
        let address = |(_, listener): &(String, Arc<TcpListener>)| listener.local_addr().ok();
        self.listeners.iter().filter_map(address).collect()
    }

    /// Waits for the database, and tells clients meanwhile that it is starting up (57P03).
    pub async fn while_starting<T>(&self, opening: impl Future<Output = T>) -> T {
        let mut accepting = refuse_all(&self.listeners, "the database system is starting up");
        let opened = opening.await;
        accepting.shutdown().await;
        opened
    }
}

/// Tells whoever comes that there are no sessions now (57P03), until what is returned is dropped.
pub(crate) fn refuse_all(
    listeners: &[(String, Arc<TcpListener>)],
    message: &'static str,
) -> JoinSet<()> {
    let refusals = Arc::new(Semaphore::new(REFUSALS_MAX));
    let mut accepting = JoinSet::new();
    for (_, listener) in listeners {
        let (listener, refusals) = (Arc::clone(listener), Arc::clone(&refusals));
        accepting.spawn(async move {
            accept(&listener, |stream, _| {
                if let Ok(refusal) = Arc::clone(&refusals).try_acquire_owned() {
                    tokio::spawn(async move {
                        connection::dismiss(stream, "57P03", message, None).await;
                        drop(refusal);
                    });
                }
            })
            .await;
        });
    }
    accepting
}

/// Takes connections of one port for ever.
pub(crate) async fn accept(listener: &TcpListener, mut take: impl FnMut(TcpStream, SocketAddr)) {
    loop {
        let (stream, peer) = match listener.accept().await {
            Ok(accepted) => accepted,
            Err(error) => {
                // Too many files are open, or the client has gone already.
                warn!(%error, "cannot accept a connection");
                tokio::time::sleep(ACCEPT_REST).await;
                continue;
            }
        };
        // A session answers as soon as it can; answers are gathered before they are sent.
        let _ = stream.set_nodelay(true);
        take(stream, peer);
    }
}
