//! Gathers messages to a client and sends them.

use std::io;

use bytes::BytesMut;
use pgwire::messages::Message;
use tokio::io::{AsyncWrite, AsyncWriteExt};

/// Gathered bytes from which on they are sent without waiting for more.
const SEND_BYTES: usize = 64 << 10;

/// Memory that is kept for the next messages.
const KEPT_BYTES: usize = 2 << 20;

/// Messages that were not sent yet.
#[derive(Debug, Default)]
pub(crate) struct Outbox {
    bytes: Vec<u8>,
    /// How many of them were sent, of messages that were not sent to the end.
    sent: usize,
    scratch: BytesMut,
}

impl Outbox {
    /// Adds a message. Texts in it are short enough: whoever makes them sees to that.
    pub(crate) fn put(&mut self, message: &impl Message) {
        self.scratch.clear();
        if message.encode(&mut self.scratch).is_ok() {
            self.bytes.extend_from_slice(&self.scratch);
        }
    }

    /// Adds a message whose body `body` writes.
    pub(crate) fn put_with<T>(&mut self, kind: u8, body: impl FnOnce(&mut Vec<u8>) -> T) -> T {
        self.bytes.push(kind);
        let begin = self.bytes.len();
        self.bytes.extend_from_slice(&[0; 4]);
        let written = body(&mut self.bytes);
        // It counts itself.
        let length = u32::try_from(self.bytes.len() - begin).unwrap_or(u32::MAX);
        self.bytes[begin..begin + 4].copy_from_slice(&length.to_be_bytes());
        written
    }

    /// Takes messages that are encoded already, and leaves the memory of others.
    pub(crate) fn append(&mut self, messages: &mut Vec<u8>) {
        if self.bytes.is_empty() {
            std::mem::swap(&mut self.bytes, messages);
        } else {
            self.bytes.append(messages);
        }
    }

    /// Returns where the next message begins, for [`Outbox::cut`].
    pub(crate) fn mark(&self) -> usize {
        self.bytes.len()
    }

    /// Takes back what came since `mark`, unless it was sent.
    pub(crate) fn cut(&mut self, mark: usize) {
        self.bytes.truncate(mark);
    }

    /// Whether there is enough to be sent.
    pub(crate) fn is_full(&self) -> bool {
        self.bytes.len() - self.sent >= SEND_BYTES
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Gives memory back while there is nothing to be sent.
    pub(crate) fn release_buffers(&mut self) {
        if self.bytes.is_empty() {
            (self.bytes, self.scratch) = (Vec::new(), BytesMut::new());
        }
    }

    /// Sends everything. Whoever gives it up in between may send the rest later.
    pub(crate) async fn send(&mut self, output: &mut (impl AsyncWrite + Unpin)) -> io::Result<()> {
        while self.sent < self.bytes.len() {
            match output.write(&self.bytes[self.sent..]).await? {
                0 => return Err(io::ErrorKind::WriteZero.into()),
                written => self.sent += written,
            }
        }
        self.bytes.clear();
        self.bytes.shrink_to(KEPT_BYTES);
        self.sent = 0;
        output.flush().await
    }
}

/// Appends a value behind its length; null, which has none, if `write` says so.
pub(crate) fn put_value<E>(
    out: &mut Vec<u8>,
    write: impl FnOnce(&mut Vec<u8>) -> Result<bool, E>,
) -> Result<(), E> {
    let begin = out.len();
    out.extend_from_slice(&[0xff; 4]);
    if write(out)? {
        let length = u32::try_from(out.len() - begin - 4).unwrap_or(u32::MAX);
        out[begin..begin + 4].copy_from_slice(&length.to_be_bytes());
    } else {
        out.truncate(begin + 4);
    }
    Ok(())
}
