//! A session at a server.

use std::io;

use bytes::BytesMut;
use nacre_sql::{Error, ErrorKind, Result, TransactionStatus};
use postgres_protocol::message::backend::Message;
use postgres_protocol::message::frontend;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

use super::connect::{Ask, connect};
use super::messages::{Report, Wire};
use super::target::Target;
use crate::cli::report;

/// A session at a server; one statement at a time.
pub(crate) struct Remote {
    pub(crate) target: Target,
    /// `None` once the connection is lost.
    wire: Option<Wire>,
    key: Option<(i32, i32)>,
    pub(crate) server_version: String,
    pub(crate) is_encrypted: bool,
    status: TransactionStatus,
}

impl Remote {
    /// Begins a session; `ask` is asked for a password that is not known.
    ///
    /// # Errors
    /// [`ErrorKind::Open`], naming the server and what it answered.
    pub(crate) async fn connect(target: Target, ask: Ask<'_>) -> Result<Self> {
        let begun = connect(&target, ask).await?;
        Ok(Self {
            target,
            wire: Some(begun.wire),
            key: begun.key,
            server_version: begun.server_version,
            is_encrypted: begun.is_encrypted,
            status: TransactionStatus::Idle,
        })
    }

    /// Begins anew if the connection was lost.
    pub(super) async fn revive(&mut self) -> Result<()> {
        if self.wire.is_none() {
            report::print("The connection to the server was lost. Attempting reset.\n");
            *self = Self::connect(self.target.clone(), &mut |_| None).await?;
        }
        Ok(())
    }

    /// Whether a transaction block is open.
    pub(crate) fn status(&self) -> TransactionStatus {
        self.status
    }

    /// Says goodbye.
    pub(crate) async fn close(mut self) {
        let mut out = BytesMut::new();
        frontend::terminate(&mut out);
        // A server that is gone need not hear it.
        let _ = self.send(&out).await;
    }

    pub(super) async fn send(&mut self, messages: &[u8]) -> Result<()> {
        let sent = match &mut self.wire {
            Some(wire) => wire.send(messages).await,
            None => Err(io::ErrorKind::NotConnected.into()),
        };
        sent.map_err(|error| self.lost(&error))
    }

    /// Waits for the next message that answers a statement; notices are printed. May be given up
    /// without losing a message.
    pub(super) async fn receive(&mut self) -> Result<Message> {
        loop {
            let received = match &mut self.wire {
                Some(wire) => wire.receive().await,
                None => Err(io::ErrorKind::NotConnected.into()),
            };
            match received {
                Err(error) => return Err(self.lost(&error)),
                Ok(Message::NoticeResponse(body)) => {
                    let notice = Report::new(body.fields()).map_err(|error| self.lost(&error))?;
                    report::print(&notice.text());
                }
                Ok(Message::ParameterStatus(_) | Message::NotificationResponse(_)) => {}
                Ok(message) => {
                    if let Message::ReadyForQuery(ready) = &message {
                        self.status = match ready.status() {
                            b'T' => TransactionStatus::Open,
                            b'E' => TransactionStatus::Failed,
                            _ => TransactionStatus::Idle,
                        };
                    }
                    return Ok(message);
                }
            }
        }
    }

    /// Gives the connection up; returns what the user is told.
    pub(super) fn lost(&mut self, error: &io::Error) -> Error {
        self.wire = None;
        self.status = TransactionStatus::Idle;
        let message = format!("connection to {} was lost: {error}", self.target.place());
        let hint = "Whether the statement was done is not known.";
        Error::new(ErrorKind::Io, message).with_hint(hint)
    }

    /// Asks the server to give the statement up, by a connection of its own.
    pub(super) async fn cancel(&self) -> io::Result<()> {
        let Some((process, secret)) = self.key else { return Ok(()) };
        let mut stream = TcpStream::connect((self.target.host.as_str(), self.target.port)).await?;
        let mut out = BytesMut::new();
        frontend::cancel_request(process, secret, &mut out);
        stream.write_all(&out).await?;
        stream.shutdown().await
    }
}
