//! Portals: statements with their parameters, and their rows as far as they were fetched.

use std::collections::VecDeque;
use std::sync::Arc;

use futures::StreamExt;
use nacre_sql::datafusion::arrow::array::RecordBatch;
use nacre_sql::datafusion::arrow::datatypes::SchemaRef;
use nacre_sql::datafusion::execution::SendableRecordBatchStream;
use nacre_sql::{Error, ErrorKind, Notice, TransactionStatus, Value};

use super::extended::Prepared;
use super::serving::{Connection, Failure};
use crate::values::rows::put_rows;
use crate::values::{Format, formats};

/// A statement that was bound.
pub(super) struct Portal {
    pub(super) prepared: Arc<Prepared>,
    pub(super) values: Vec<Value>,
    /// Of the columns of the result, as the client gave them.
    pub(super) format_codes: Vec<i16>,
    pub(super) state: State,
}

/// How far a portal has come.
pub(super) enum State {
    Bound,
    /// Rows are there to be fetched.
    Running(Box<Running>),
    /// It was a command: its tag and notices, which are told at Execute.
    Done {
        tag: String,
        notices: Vec<Notice>,
    },
    /// All was told.
    Over,
}

/// The rows of a statement as far as they were not sent.
pub(super) struct Running {
    pub(super) schema: SchemaRef,
    pub(super) formats: Vec<Format>,
    stream: SendableRecordBatchStream,
    /// Read ahead.
    batches: VecDeque<RecordBatch>,
    /// Rows of the first batch that were sent.
    row: usize,
    /// Rows that were sent since the tag was told last.
    sent: u64,
    is_read: bool,
    tag: Option<String>,
    verb: String,
}

impl Running {
    pub(super) fn new(
        schema: SchemaRef,
        stream: SendableRecordBatchStream,
        tag: Option<String>,
        verb: String,
        formats: Vec<Format>,
    ) -> Self {
        let (batches, row, sent, is_read) = (VecDeque::new(), 0, 0, false);
        Self { schema, formats, stream, batches, row, sent, is_read, tag, verb }
    }

    /// Takes the formats of the columns.
    ///
    /// # Errors
    /// 08P01 for formats that there are not.
    pub(super) fn set_formats(&mut self, codes: &[i16]) -> Result<(), Error> {
        let columns = self.schema.fields().len();
        self.formats = formats(codes, columns).map_err(|message| {
            Error::new(ErrorKind::InvalidStatement, message).with_code("08P01")
        })?;
        Ok(())
    }

    /// Has the next tag count what is sent from now on.
    pub(super) fn forget_sent(&mut self) {
        self.sent = 0;
    }

    /// Returns the command tag for the rows that were sent.
    pub(super) fn tag(&mut self) -> String {
        let sent = std::mem::take(&mut self.sent);
        match (&self.tag, self.verb.as_str()) {
            (Some(tag), _) => tag.clone(),
            (None, "SHOW" | "EXPLAIN") => self.verb.clone(),
            (None, _) => format!("SELECT {sent}"),
        }
    }
}

impl Connection {
    /// Sends rows, at most `rows_max` if that is given; true if there are no more.
    pub(super) async fn send_rows(
        &mut self,
        running: &mut Running,
        rows_max: Option<usize>,
    ) -> Result<bool, Failure> {
        let mut left = rows_max.unwrap_or(usize::MAX);
        while left > 0 {
            if running.batches.is_empty() && !self.read_batch(running).await? {
                return Ok(true);
            }
            let Some(batch) = running.batches.front() else { return Ok(true) };
            // Few at a time, so that a wide batch does not fill memory before it is sent.
            let rows = (batch.num_rows() - running.row).min(left).min(ROWS_AT_A_TIME);
            let end = running.row + rows;
            put_rows(batch, &running.formats, (running.row, end), &mut self.out)?;
            left -= rows;
            running.sent += rows as u64;
            running.row = end;
            if end == batch.num_rows() {
                running.batches.pop_front();
                running.row = 0;
            }
            if self.out.is_full()
                && let Some(reason) = self.send_before(self.deadline).await?
            {
                return Err(reason.into());
            }
        }
        Ok(false)
    }

    /// Reads the next batch; false if there is none.
    async fn read_batch(&mut self, running: &mut Running) -> Result<bool, Failure> {
        if running.is_read {
            return Ok(false);
        }
        let stream = &mut running.stream;
        let next = async { stream.next().await.transpose().map_err(Error::from) };
        match self.finish(next).await? {
            Some(batch) => running.batches.push_back(batch),
            None => running.is_read = true,
        }
        Ok(!running.is_read)
    }

    /// Reads what portals of the open block have not sent, since the next statement of the block
    /// would cut them off.
    pub(super) async fn keep_rows(&mut self) -> Result<(), Failure> {
        if self.portals.is_empty() || self.session.transaction_status() != TransactionStatus::Open {
            return Ok(());
        }
        let names: Vec<String> = self.portals.keys().cloned().collect();
        let mut bytes = 0;
        for name in names {
            let Some(mut portal) = self.portals.remove(&name) else { continue };
            if let State::Running(running) = &mut portal.state {
                self.keep_rows_of(running, &mut bytes).await?;
            }
            self.portals.insert(name, portal);
        }
        Ok(())
    }

    async fn keep_rows_of(
        &mut self,
        running: &mut Running,
        bytes: &mut usize,
    ) -> Result<(), Failure> {
        let limit = self.shared.options.portal_bytes_max;
        loop {
            *bytes += running.batches.back().map_or(0, RecordBatch::get_array_memory_size);
            if *bytes > limit {
                let message = format!("open portals have more than {limit} bytes of rows to fetch");
                let hint = "Fetch all rows before the next statement, or close the portal.";
                return Err(Error::new(ErrorKind::OutOfMemory, message).with_hint(hint).into());
            }
            if !self.read_batch(running).await? {
                return Ok(());
            }
        }
    }
}

/// Rows that are encoded before the outbox is looked at.
const ROWS_AT_A_TIME: usize = 256;
