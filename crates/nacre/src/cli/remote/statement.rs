//! One statement: sent as a simple query, its answer handed on as it comes.

use std::io::{self, Read};

use bytes::BytesMut;
use nacre_sql::datafusion::arrow::array::RecordBatch;
use nacre_sql::datafusion::arrow::datatypes::SchemaRef;
use nacre_sql::{Error, ErrorKind, Result};
use postgres_protocol::message::backend::Message;
use postgres_protocol::message::frontend;

use super::messages::Report;
use super::rows::Rows;
use super::session::Remote;
use crate::cli::console::Given;

/// Bytes of COPY's data that are sent at once.
const COPY_BYTES: usize = 64 << 10;

/// A piece of the answer.
pub(crate) enum Said<'a> {
    /// The columns of rows that follow.
    Columns(&'a SchemaRef),
    Rows(&'a RecordBatch),
    /// Data of COPY TO STDOUT.
    Data(&'a [u8]),
}

impl Remote {
    /// Runs a statement to its end and returns its command tag; `hear` gets its rows, and an error
    /// of it, which means that nobody wants more, ends the statement. `interrupted` is waited for
    /// meanwhile: then the statement is cancelled.
    ///
    /// # Errors
    /// What the server answers; [`ErrorKind::Cancelled`] if it was cancelled; a lost connection.
    pub(crate) async fn run(
        &mut self,
        sql: &str,
        mut given: Given,
        mut hear: impl FnMut(Said<'_>) -> io::Result<()>,
        interrupted: impl Future<Output = ()>,
    ) -> Result<io::Result<String>> {
        self.revive().await?;
        let mut out = BytesMut::new();
        frontend::query(sql, &mut out)
            .map_err(|error| Error::new(ErrorKind::InvalidStatement, error.to_string()))?;
        self.send(&out).await?;
        let mut answer = Answer::default();
        let mut interrupted = std::pin::pin!(interrupted);
        let mut is_cancelled = false;
        loop {
            let message = tokio::select! {
                biased;
                () = &mut interrupted, if !is_cancelled => {
                    is_cancelled = true;
                    // One that does not arrive leaves the statement to its own end.
                    let _ = self.cancel().await;
                    continue;
                }
                message = self.receive() => message?,
            };
            match message {
                Message::ReadyForQuery(_) => break,
                Message::CopyInResponse(_) => {
                    let data = given.data.take();
                    let interrupted = async {
                        match is_cancelled {
                            true => std::future::pending().await,
                            false => interrupted.as_mut().await,
                        }
                    };
                    is_cancelled |= self.send_data(data, interrupted).await?;
                }
                message => {
                    let took = answer.take(message, sql, &mut hear);
                    took.map_err(|error| self.lost(&error))?;
                }
            }
            if answer.unheard.is_some() && !is_cancelled {
                is_cancelled = true;
                let _ = self.cancel().await;
            }
        }
        answer.ended(is_cancelled)
    }

    /// Sends the data of COPY FROM STDIN; true if it was interrupted, and the server told so.
    async fn send_data(
        &mut self,
        data: Option<Box<dyn Read + Send>>,
        interrupted: impl Future<Output = ()>,
    ) -> Result<bool> {
        let mut data = data.unwrap_or_else(|| Box::new(io::empty()));
        let mut interrupted = std::pin::pin!(interrupted);
        loop {
            // Standard input may have nothing to give for long.
            let read = tokio::task::spawn_blocking(move || {
                let mut bytes = vec![0; COPY_BYTES];
                let read = data.read(&mut bytes);
                (data, bytes, read)
            });
            let mut out = BytesMut::new();
            let read = tokio::select! {
                biased;
                () = &mut interrupted => {
                    frontend::copy_fail("canceled by user", &mut out)
                        .map_err(|error| self.lost(&error))?;
                    self.send(&out).await?;
                    return Ok(true);
                }
                read = read => read,
            };
            let (rest, bytes, read) =
                read.map_err(|error| Error::new(ErrorKind::Internal, error.to_string()))?;
            data = rest;
            let is_over = match read {
                Ok(0) => {
                    frontend::copy_done(&mut out);
                    true
                }
                Ok(length) => {
                    let piece = frontend::CopyData::new(&bytes[..length]);
                    piece.map_err(|error| self.lost(&error))?.write(&mut out);
                    false
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => {
                    let message = error.to_string().replace('\0', "");
                    frontend::copy_fail(&message, &mut out).map_err(|error| self.lost(&error))?;
                    true
                }
            };
            self.send(&out).await?;
            if is_over {
                return Ok(false);
            }
        }
    }
}

/// What came of a statement so far.
#[derive(Default)]
struct Answer {
    rows: Option<Rows>,
    tag: String,
    error: Option<Error>,
    /// Whether the error is that of a statement which somebody or a timeout cancelled.
    is_of_cancel: bool,
    /// Why the rows are not wanted any more.
    unheard: Option<io::Error>,
}

impl Answer {
    /// Takes a message.
    fn take(
        &mut self,
        message: Message,
        sql: &str,
        hear: &mut impl FnMut(Said<'_>) -> io::Result<()>,
    ) -> io::Result<()> {
        match message {
            Message::RowDescription(description) => {
                let rows = Rows::new(&description)?;
                self.tell(Said::Columns(&rows.schema), hear);
                self.rows = Some(rows);
            }
            Message::DataRow(row) => {
                if let Some(rows) = &mut self.rows
                    && rows.add(&row)?
                {
                    let batch = rows.take()?;
                    self.tell(Said::Rows(&batch), hear);
                }
            }
            Message::CopyData(data) => self.tell(Said::Data(data.data()), hear),
            Message::CommandComplete(complete) => {
                self.tell_rest(hear)?;
                complete.tag()?.clone_into(&mut self.tag);
            }
            Message::ErrorResponse(body) => {
                self.tell_rest(hear)?;
                let report = Report::new(body.fields())?;
                self.is_of_cancel = report.code == "57014";
                self.error = Some(report.into_error(sql));
            }
            _ => {}
        }
        Ok(())
    }

    fn tell(&mut self, said: Said<'_>, hear: &mut impl FnMut(Said<'_>) -> io::Result<()>) {
        if self.unheard.is_none() {
            self.unheard = hear(said).err();
        }
    }

    fn tell_rest(&mut self, hear: &mut impl FnMut(Said<'_>) -> io::Result<()>) -> io::Result<()> {
        if let Some(mut rows) = self.rows.take() {
            let batch = rows.take()?;
            self.tell(Said::Rows(&batch), hear);
        }
        Ok(())
    }

    /// Returns what came of it; `is_cancelled` if we asked for its end.
    fn ended(self, is_cancelled: bool) -> Result<io::Result<String>> {
        match (self.unheard, self.error) {
            (Some(unheard), _) => Ok(Err(unheard)),
            (None, Some(error)) if is_cancelled && self.is_of_cancel => {
                Err(Error::new(ErrorKind::Cancelled, error.message()))
            }
            (None, Some(error)) => Err(error),
            (None, None) => Ok(Ok(self.tag)),
        }
    }
}
