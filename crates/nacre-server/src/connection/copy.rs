//! COPY between the client and a table or query.
//!
//! Rows from the client are gathered before they are loaded, since a load is all or nothing. Rows
//! to the client are sent while they are computed; each is a message of its own, as clients expect.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use nacre_sql::{ClientCopy, CopyIn, CopyOut, Error, ErrorKind, Outcome, RowSink, StatementIo};
use pgwire::messages::copy::{CopyDone, CopyInResponse};

use super::serving::{Connection, End, Failure};
use super::work::Work;
use crate::wire::backend::Outbox;
use crate::wire::frontend::{self, Message};

/// Rows that were computed and not sent yet.
#[derive(Clone, Default)]
pub(super) struct CopySink(Arc<Mutex<Vec<u8>>>);

impl CopySink {
    pub(super) fn has_rows(&self) -> bool {
        !self.rows().is_empty()
    }

    /// Adds the rows that are there to what is sent next.
    pub(super) fn hand_to(&self, out: &mut Outbox) {
        out.append(&mut self.rows());
    }

    fn rows(&self) -> MutexGuard<'_, Vec<u8>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl RowSink for CopySink {
    fn begin(&mut self, columns: usize) {
        let columns = u16::try_from(columns).unwrap_or(u16::MAX);
        let mut rows = self.rows();
        rows.push(b'H');
        rows.extend_from_slice(&(7 + 2 * u32::from(columns)).to_be_bytes());
        // All of it is text, and each column is.
        rows.push(0);
        rows.extend_from_slice(&columns.to_be_bytes());
        rows.extend(std::iter::repeat_n(0, 2 * usize::from(columns)));
    }

    fn row(&mut self, row: &[u8]) {
        let length = u32::try_from(row.len() + 4).unwrap_or(u32::MAX);
        let mut rows = self.rows();
        rows.push(b'd');
        rows.extend_from_slice(&length.to_be_bytes());
        rows.extend_from_slice(row);
    }
}

impl Connection {
    /// Runs a COPY that moves rows between client and server; returns its tag.
    pub(super) async fn client_copy(
        &mut self,
        sql: &str,
        copy: ClientCopy,
    ) -> Result<String, Failure> {
        let mut work = Work { deadline: self.deadline, ..Work::default() };
        let progress = Some(Arc::clone(&work.progress));
        let statement_io = match copy {
            ClientCopy::In { columns } => {
                let columns = i16::try_from(columns).unwrap_or(i16::MAX);
                let formats = vec![0; usize::from(columns.unsigned_abs())];
                self.out.put(&CopyInResponse::new(0, columns, formats));
                let copy_in = Some(CopyIn::Bytes(self.receive().await?));
                StatementIo { copy_in, progress, ..StatementIo::default() }
            }
            ClientCopy::Out => {
                let sink = CopySink::default();
                work.sink = Some(sink.clone());
                let copy_out = Some(CopyOut::Rows(Box::new(sink)));
                StatementIo { copy_out, progress, ..StatementIo::default() }
            }
        };
        let session = Arc::clone(&self.session);
        let text = sql.to_owned();
        let run = async move { session.execute(&text, statement_io).await };
        match self.finish_work(run, work).await? {
            Outcome::Command { tag, .. } => {
                if copy == ClientCopy::Out {
                    self.out.put(&CopyDone::new());
                }
                Ok(tag)
            }
            Outcome::Rows { .. } => {
                let message = "internal error: COPY gave rows";
                Err(Error::new(ErrorKind::Internal, message).into())
            }
        }
    }

    /// Takes all rows that the client sends.
    async fn receive(&mut self) -> Result<Vec<u8>, Failure> {
        let limit = self.shared.options.copy_bytes_max;
        let mut rows = Vec::new();
        let mut is_too_much = false;
        loop {
            match self.copy_message().await? {
                Message::CopyData(bytes) if rows.len() + bytes.len() > limit => {
                    // The client ends the COPY before it hears the answer.
                    is_too_much = true;
                    rows = Vec::new();
                }
                Message::CopyData(bytes) if !is_too_much => rows.extend_from_slice(&bytes),
                Message::CopyData(_) | Message::Flush | Message::Sync => {}
                Message::CopyDone if is_too_much => {
                    let message = format!("COPY FROM STDIN takes at most {limit} bytes");
                    let hint = "Load a file of the server, load in parts, or raise the limit.";
                    return Err(Error::new(ErrorKind::OutOfMemory, message).with_hint(hint).into());
                }
                Message::CopyDone => return Ok(rows),
                Message::CopyFail(why) => {
                    let message = format!("COPY from stdin failed: {why}");
                    return Err(Error::new(ErrorKind::Cancelled, message).into());
                }
                _ => {
                    let message = "unexpected message during COPY from stdin";
                    return Err(Failure::Connection(End::protocol_violation(message)));
                }
            }
        }
    }

    /// Returns the next message of a COPY, unless it is cancelled before it comes.
    async fn copy_message(&mut self) -> Result<Message, Failure> {
        loop {
            if let Some(frame) = self.frames.next()? {
                return Ok(frontend::decode(frame)?);
            }
            self.out.send(&mut self.stream).await?;
            let Self { frames, stream, registered, .. } = self;
            tokio::select! {
                biased;
                read = frames.fill(stream) => if read? == 0 {
                    return Err(Failure::Connection(End::Closed));
                },
                interrupt = registered.signals.interrupt() => {
                    return Err(super::work::interrupted(interrupt));
                }
            }
        }
    }
}
