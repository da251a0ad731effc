//! What goes into a statement beside its text, and what it answers.

use std::io::{Read, Write};
use std::sync::Arc;

use datafusion::arrow::datatypes::SchemaRef;
use datafusion::execution::SendableRecordBatchStream;
use nacre_ingest::Progress;

use crate::notices::Notice;

/// What `COPY ... FROM STDIN` loads.
pub enum CopyIn {
    /// All that is there to read.
    Reader(Box<dyn Read + Send>),
    /// What was read before.
    Bytes(Vec<u8>),
}

/// Where `COPY ... TO STDOUT` writes.
pub enum CopyOut {
    /// As many bytes at a time as go well together.
    Writer(Box<dyn Write + Send>),
    /// Each row by itself; whoever polls the statement gets a chance to take them away after each
    /// batch.
    Rows(Box<dyn RowSink>),
}

/// Takes rows of `COPY ... TO STDOUT` one by one.
pub trait RowSink: Send {
    /// Hears the number of columns before the first row, once nothing is wrong with the statement.
    fn begin(&mut self, columns: usize);

    /// Takes a row, or the header, with the newline at its end.
    fn row(&mut self, row: &[u8]);
}

/// Where `COPY ... FROM STDIN` reads, where `COPY ... TO STDOUT` writes, and who watches.
#[derive(Default)]
pub struct StatementIo {
    pub copy_in: Option<CopyIn>,
    pub copy_out: Option<CopyOut>,
    pub progress: Option<Arc<Progress>>,
}

impl StatementIo {
    /// Returns the same for a restart; `None` if the statement copies rows.
    pub(crate) fn for_restart(&self) -> Option<Self> {
        let takes_rows = self.copy_in.is_some() || self.copy_out.is_some();
        let progress = self.progress.clone();
        (!takes_rows).then_some(Self { copy_in: None, copy_out: None, progress })
    }
}

/// What a statement answers.
pub enum Outcome {
    /// Rows, computed while the stream is read. Convert its errors with [`Error::from`].
    /// The command tag, unless it is SELECT with the number of rows.
    Rows { schema: SchemaRef, stream: SendableRecordBatchStream, tag: Option<String> },
    /// A command tag as PostgreSQL gives it, such as `CREATE TABLE` or `COPY 25`, and what is told
    /// beside it.
    Command { tag: String, notices: Vec<Notice> },
}

impl Outcome {
    /// A command that may have not done something.
    pub(crate) fn command(tag: String, warning: Option<String>) -> Self {
        Self::Command { tag, notices: warning.into_iter().map(Notice::warning).collect() }
    }
}
