//! The embedded database: a blocking door to SQL.
//!
//! # Concurrency
//! A [`Database`] is a cheap handle; clones share the database, its session and its threads, and
//! all may be used at once; in a transaction block their statements run one after the other.
//! Statements run on worker threads that belong to the database, so calls work from any thread,
//! also from one that belongs to an async runtime of the caller. They block that thread until the
//! answer is there: async programs call them through their runtime's `spawn_blocking`.
//! # Durability
//! What a returned `execute` has committed survives what the database's domain survives; a
//! volatile database ([`Database::open_in_memory`]) ends with its last handle.

use std::future::Future;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::{Arc, mpsc};

use futures::StreamExt;
use nacre_sql::datafusion::arrow::array::RecordBatch;
use nacre_sql::datafusion::arrow::datatypes::SchemaRef;
use nacre_sql::datafusion::execution::SendableRecordBatchStream;
use nacre_sql::{
    Error, ErrorKind, OpenOptions, Outcome, RepairReport, Result, ScrubReport, Session,
    SourceStatement, StatementIo, split_statements,
};
use tokio::runtime::Runtime;

use crate::prepared::Prepared;

/// An open database; clones share it.
#[derive(Clone)]
pub struct Database {
    inner: Arc<Inner>,
}

struct Inner {
    database: nacre_sql::Database,
    session: Arc<Session>,
    runtime: Arc<Workers>,
}

/// Opens a database with options; see [`Database::builder`].
#[derive(Clone, Debug, Default)]
pub struct Builder {
    options: OpenOptions,
}

/// Rows of a query, batch by batch, computed while they are read; dropping it cancels the query.
pub struct Batches {
    schema: SchemaRef,
    stream: Option<SendableRecordBatchStream>,
    database: Database,
}

impl Database {
    /// Opens the database in a directory, or creates it there.
    ///
    /// # Errors
    /// [`ErrorKind::Open`] if another process has it open for writing, if the directory holds
    /// something else, or if it is damaged: the message says which.
    pub fn open(directory: impl AsRef<Path>) -> Result<Self> {
        Self::builder().directory(directory).open()
    }

    /// Opens a volatile database in DRAM.
    ///
    /// # Errors
    /// [`ErrorKind::OutOfMemory`] and the like: there is nothing to be wrong on disk.
    pub fn open_in_memory() -> Result<Self> {
        Self::builder().open()
    }

    /// Returns a builder for a database with more memory domains, read-only, or fewer threads.
    pub fn builder() -> Builder {
        Builder::default()
    }

    /// Returns a handle with a session of its own: a transaction block belongs to the handle that
    /// began it and its clones.
    ///
    /// ```
    /// # fn main() -> Result<(), nacre::Error> {
    /// let one = nacre::Database::open_in_memory()?;
    /// one.execute("create table t (a integer); begin; insert into t values (1)")?;
    /// let two = one.connect();
    /// assert!(two.query("select a from t")?.iter().all(|batch| batch.num_rows() == 0));
    /// one.execute("commit")?;
    /// assert_eq!(two.execute("delete from t")?, 1);
    /// # Ok(())
    /// # }
    /// ```
    pub fn connect(&self) -> Self {
        let Inner { database, runtime, .. } = &*self.inner;
        let session = Arc::new(database.session());
        let (database, runtime) = (database.clone(), Arc::clone(runtime));
        Self { inner: Arc::new(Inner { database, session, runtime }) }
    }

    /// Runs one or several statements and returns the number of rows the last one changed.
    ///
    /// `COPY`, `INSERT`, `UPDATE` and `DELETE` return the rows they concern, a query the rows it
    /// would have given (they are computed and thrown away), everything else 0. Statements before a
    /// failing one stay done.
    ///
    /// # Errors
    /// Those of the first statement that fails; positions count from that statement's beginning.
    pub fn execute(&self, script: &str) -> Result<u64> {
        let mut rows = 0;
        for statement in split_statements(script) {
            rows = self.execute_one(&statement)?;
        }
        Ok(rows)
    }

    /// Runs one query and returns all its rows; a statement without rows gives no batches.
    ///
    /// # Errors
    /// Those of the statement, and [`ErrorKind::InvalidStatement`] if there is not exactly one.
    pub fn query(&self, sql: &str) -> Result<Vec<RecordBatch>> {
        self.query_batches(sql)?.collect()
    }

    /// Runs one query and returns its rows batch by batch, for results that may be large.
    ///
    /// # Errors
    /// As [`Database::query`]; errors while computing rows come out of the iterator.
    pub fn query_batches(&self, sql: &str) -> Result<Batches> {
        let mut statements = split_statements(sql);
        let count = statements.len();
        let (Some(statement), 1) = (statements.pop(), count) else {
            let message = format!("a query is one statement, not {count}");
            return Err(Error::new(ErrorKind::InvalidStatement, message)
                .with_hint("run several statements with Database::execute"));
        };
        Ok(Batches::of(self, self.start(&statement)?))
    }

    /// Prepares a statement with parameters `$1`, `$2` and so on, to run it many times. One that
    /// finds its rows by an index is planned once.
    ///
    /// # Errors
    /// [`ErrorKind::Syntax`] and the like; what the statement means is looked at when it runs.
    pub fn prepare(&self, sql: &str) -> Result<Prepared> {
        // On a worker, whose stack is large.
        let (session, sql) = (Arc::clone(&self.inner.session), sql.to_owned());
        let statement = self.run(async move { session.prepare(&sql, &[]) })??;
        Ok(Prepared::new(self, statement))
    }

    /// Verifies every byte of every replica. What is not whole is in the report, is not read any
    /// more, and is rebuilt in the background or by [`Database::repair`].
    ///
    /// # Errors
    /// [`ErrorKind::Io`] if the work itself fails.
    pub fn scrub(&self) -> Result<ScrubReport> {
        self.inner.database.scrub(&mut |_| ControlFlow::Continue(()))
    }

    /// Gives every column the replicas that its policy says, also in a domain that was lost and is
    /// back or replaced; the report names what stays lost because no replica of it is whole.
    ///
    /// # Errors
    /// [`ErrorKind::ReadOnly`], [`ErrorKind::DiskFull`], [`ErrorKind::Io`].
    pub fn repair(&self) -> Result<RepairReport> {
        self.inner.database.repair(&mut |_| ControlFlow::Continue(()))
    }

    fn execute_one(&self, statement: &SourceStatement<'_>) -> Result<u64> {
        let outcome = self.start(statement)?;
        self.count(outcome)
    }

    /// Returns the number of rows of an outcome.
    pub(crate) fn count(&self, outcome: Outcome) -> Result<u64> {
        match outcome {
            Outcome::Command { tag, .. } => Ok(rows_of_tag(&tag)),
            Outcome::Rows { mut stream, .. } => self.inner.runtime.run(async move {
                let mut rows = 0;
                while let Some(batch) = stream.next().await {
                    rows += batch?.num_rows() as u64;
                }
                Ok(rows)
            })?,
        }
    }

    fn start(&self, statement: &SourceStatement<'_>) -> Result<Outcome> {
        let session = Arc::clone(&self.inner.session);
        let text = statement.text.to_owned();
        self.run(async move { session.execute(&text, StatementIo::default()).await })?
    }

    pub(crate) fn session(&self) -> &Arc<Session> {
        &self.inner.session
    }

    /// Runs a future on a worker and waits for it.
    pub(crate) fn run<F>(&self, future: F) -> Result<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        self.inner.runtime.run(future)
    }
}

impl Builder {
    /// Keeps the database in this directory, created if absent; without it the database is
    /// volatile.
    #[must_use]
    pub fn directory(mut self, directory: impl AsRef<Path>) -> Self {
        self.options.directory = Some(directory.as_ref().to_owned());
        self
    }

    /// Adds a memory domain: a name and the directory where its pools lie.
    #[must_use]
    pub fn domain(mut self, name: impl Into<String>, path: impl Into<PathBuf>) -> Self {
        self.options.domains.push((name.into(), path.into()));
        self
    }

    /// Refuses every change; needs no write permission, and other readers may be there.
    #[must_use]
    pub fn read_only(mut self, is_read_only: bool) -> Self {
        self.options.is_read_only = is_read_only;
        self
    }

    /// Limits the worker threads of a query or load; the default is one per hardware thread.
    #[must_use]
    pub fn threads(mut self, threads: usize) -> Self {
        self.options.threads = Some(threads.max(1));
        self
    }

    /// Opens the database.
    ///
    /// # Errors
    /// As [`Database::open`].
    pub fn open(self) -> Result<Database> {
        let runtime = Arc::new(Workers(Some(build_runtime(self.options.threads)?)));
        let database = nacre_sql::Database::open(self.options)?;
        let session = Arc::new(database.session());
        Ok(Database { inner: Arc::new(Inner { database, session, runtime }) })
    }
}

impl Batches {
    /// Makes those of an outcome; a command has none.
    pub(crate) fn of(database: &Database, outcome: Outcome) -> Self {
        let (schema, stream) = match outcome {
            Outcome::Rows { schema, stream, .. } => (schema, Some(stream)),
            Outcome::Command { .. } => (empty_schema(), None),
        };
        Self { schema, stream, database: database.clone() }
    }

    /// Returns the names and types of the columns.
    pub fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }
}

impl Iterator for Batches {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Self::Item> {
        let mut stream = self.stream.take()?;
        let polled = self.database.inner.runtime.run(async move {
            let batch = stream.next().await;
            (batch, stream)
        });
        match polled {
            Ok((None, _)) => None,
            Ok((Some(Ok(batch)), stream)) => {
                self.stream = Some(stream);
                Some(Ok(batch))
            }
            Ok((Some(Err(error)), _)) => Some(Err(error.into())),
            Err(error) => Some(Err(error)),
        }
    }
}

/// The threads that run statements. Dropped without waiting, because a wait is forbidden on a
/// thread of another runtime and there is nothing to wait for: no call is under way any more.
struct Workers(Option<Runtime>);

impl Workers {
    /// Runs a future on the workers and blocks until it is done.
    ///
    /// Not `Runtime::block_on`: that panics on a thread that belongs to another runtime.
    fn run<F>(&self, future: F) -> Result<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        let gone = || Error::new(ErrorKind::Internal, "a worker thread ended without an answer");
        let runtime = self.0.as_ref().ok_or_else(gone)?;
        let (sender, receiver) = mpsc::sync_channel(1);
        runtime.spawn(async move {
            // The receiver waits below; it cannot be gone before it has the answer.
            let _ = sender.send(future.await);
        });
        receiver.recv().map_err(|_| gone())
    }
}

impl Drop for Workers {
    fn drop(&mut self) {
        if let Some(runtime) = self.0.take() {
            runtime.shutdown_background();
        }
    }
}

/// Starts the threads that run queries.
pub(crate) fn build_runtime(threads: Option<usize>) -> Result<Runtime> {
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    if let Some(threads) = threads {
        builder.worker_threads(threads.max(1));
    }
    builder.thread_stack_size(nacre_sql::STATEMENT_STACK_BYTES);
    builder.thread_name("nacre-worker").enable_all().build().map_err(|error| {
        Error::new(ErrorKind::Open, format!("cannot start worker threads: {error}"))
    })
}

/// Reads the row count at the end of a command tag such as `COPY 25` or `INSERT 0 1`.
fn rows_of_tag(tag: &str) -> u64 {
    tag.rsplit(' ').next().and_then(|last| last.parse().ok()).unwrap_or(0)
}

fn empty_schema() -> SchemaRef {
    Arc::new(nacre_sql::datafusion::arrow::datatypes::Schema::empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tag_gives_rows_only_if_it_ends_in_a_number() {
        assert_eq!(rows_of_tag("COPY 25"), 25);
        assert_eq!(rows_of_tag("INSERT 0 3"), 3);
        assert_eq!(rows_of_tag("CREATE TABLE"), 0);
    }

    #[test]
    fn query_takes_exactly_one_statement() {
        let db = Database::open_in_memory().unwrap();
        let error = db.query("select 1; select 2").unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidStatement);
        assert_eq!(db.query("").unwrap_err().kind(), ErrorKind::InvalidStatement);
    }

    #[test]
    fn calls_work_inside_somebodys_runtime() {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let db = Database::open_in_memory().unwrap();
            assert_eq!(db.execute("select 1; select 2 union all select 3").unwrap(), 2);
            let rows: usize = db.query("select 1").unwrap().iter().map(RecordBatch::num_rows).sum();
            assert_eq!(rows, 1);
        });
    }

    #[test]
    fn batches_come_one_by_one_and_may_be_dropped_early() {
        let db = Database::open_in_memory().unwrap();
        let mut batches =
            db.query_batches("select * from generate_series(1, 1000000) as t(n)").unwrap();
        assert_eq!(batches.schema().field(0).name(), "n");
        assert!(batches.next().unwrap().unwrap().num_rows() > 0);
        drop(batches);
        assert_eq!(db.query("select 1").unwrap().len(), 1);
    }
}
