//! A database that is open in this process, as the console uses it.
//!
//! # Concurrency
//! A statement runs on the worker threads; the thread that owns the console waits for its batches,
//! for Ctrl-C and for the next step of the progress bar, and does all the printing. It waits on a
//! runtime of its own, so that busy workers cannot keep it waiting. After Ctrl-C the workers are
//! replaced: what is still busy there ends by itself, without anybody waiting for it.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use futures::{StreamExt, TryStreamExt};
use nacre_ingest::Progress;
use nacre_sql::datafusion::arrow::array::RecordBatch;
use nacre_sql::datafusion::arrow::datatypes::SchemaRef;
use nacre_sql::datafusion::execution::SendableRecordBatchStream;
use nacre_sql::{
    CopyIn, CopyOut, Database, Error, ErrorKind, OpenOptions, Outcome, Session, StatementIo,
};
use tokio::runtime::{Handle, Runtime};
use tokio::task::JoinHandle;

use super::console::{Ended, Given, is_tag_of_change};
use super::interrupt::Interrupts;
use super::output::Output;
use super::progress::{Bar, INTERVAL};
use super::render::Style;
use super::report;
use super::tokens::{is_change, is_load};
use crate::database::build_runtime;

/// How long a cancelled load may take before a person is told that it takes longer, and before a
/// script is ended without it.
const CANCEL_WAIT: Duration = Duration::from_secs(3);
/// Batches computed ahead of the one being printed.
const BATCHES_AHEAD: usize = 4;

/// A database of our own, and a session with it.
pub(crate) struct Embedded {
    pub(crate) database: Database,
    session: Arc<Session>,
    /// Where statements run.
    workers: Runtime,
    threads: Option<usize>,
    pub(crate) directory: Option<PathBuf>,
    /// What the database had to say and was printed.
    told: BTreeSet<String>,
}

impl Embedded {
    /// Opens a database.
    ///
    /// # Errors
    /// If it cannot be opened, or the system refuses threads.
    pub(crate) fn open(options: OpenOptions) -> nacre_sql::Result<Self> {
        let threads = options.threads;
        let workers = build_runtime(threads)?;
        let directory = options.directory.clone();
        let database = Database::open(options)?;
        let session = Arc::new(database.session());
        Ok(Self { database, session, workers, threads, directory, told: BTreeSet::new() })
    }

    /// Ends without waiting for work that was left behind.
    pub(crate) fn close(self) {
        let Self { session, database, workers, .. } = self;
        drop(session);
        drop(database);
        workers.shutdown_background();
    }

    /// Prints what the database noticed since it was printed last: what opening repaired, replicas
    /// that a load did without, domains that came and went.
    pub(crate) fn tell_notes(&mut self) {
        for note in self.database.store().notes() {
            if !self.told.contains(&note) {
                report::print(&format!("NOTICE:  {note}\n"));
                self.told.insert(note);
            }
        }
    }

    /// Returns the session, for a completer that outlives a borrow of the console.
    pub(crate) fn session(&self) -> &Arc<Session> {
        &self.session
    }

    /// Runs a statement and prints its rows.
    pub(super) fn run(&mut self, sql: &str, given: Given, shown: Shown<'_>) -> Ended {
        let copy_out = |output: &Output| CopyOut::Writer(Box::new(output.clone()));
        let statement_io = StatementIo {
            copy_in: given.data.map(CopyIn::Reader),
            copy_out: given.is_copy_out.then(|| copy_out(&shown.output)),
            ..StatementIo::default()
        };
        let front = shown.front;
        let statement = Running {
            session: Arc::clone(&self.session),
            workers: self.workers.handle().clone(),
            shown,
        };
        let ended = front.block_on(statement.run(sql.to_owned(), statement_io));
        if let (Ended::Interrupted, Ok(workers)) = (&ended, build_runtime(self.threads)) {
            std::mem::replace(&mut self.workers, workers).shutdown_background();
        }
        ended
    }

    /// Runs a query and returns all its rows.
    ///
    /// # Errors
    /// Those of the query.
    pub(super) fn query(&self, sql: &str, front: &Runtime) -> nacre_sql::Result<Vec<RecordBatch>> {
        let (session, sql) = (Arc::clone(&self.session), sql.to_owned());
        let query = self.workers.spawn(async move {
            match session.execute(&sql, StatementIo::default()).await? {
                Outcome::Rows { stream, .. } => Ok(stream.try_collect().await?),
                Outcome::Command { .. } => Ok(Vec::new()),
            }
        });
        front.block_on(query).unwrap_or_else(|error| Err(panicked(&error)))
    }
}

/// Where a statement is waited for, and how it is shown.
pub(super) struct Shown<'a> {
    pub(super) front: &'a Runtime,
    pub(super) interrupts: &'a mut Interrupts,
    pub(super) output: Output,
    pub(super) style: &'a Style,
    pub(super) has_bar: bool,
    pub(super) is_interactive: bool,
}

/// A statement under way.
struct Running<'a> {
    session: Arc<Session>,
    workers: Handle,
    shown: Shown<'a>,
}

impl Running<'_> {
    async fn run(mut self, sql: String, mut statement_io: StatementIo) -> Ended {
        let progress = Arc::new(Progress::default());
        statement_io.progress = Some(Arc::clone(&progress));
        let session = Arc::clone(&self.session);
        let effect = Effect::of(&sql);
        let mut task = self.workers.spawn(async move { session.execute(&sql, statement_io).await });
        let mut bar = Bar::new(self.shown.has_bar);
        let mut ticks = tokio::time::interval(INTERVAL);
        let outcome = loop {
            tokio::select! {
                outcome = &mut task => break outcome,
                () = self.shown.interrupts.wait() => {
                    drop(bar);
                    return cancel(task, &progress, effect, self.shown.is_interactive).await;
                }
                _ = ticks.tick() => bar.update_load(&progress),
            }
        };
        drop(bar);
        match outcome {
            Ok(Ok(Outcome::Command { tag, notices })) => {
                for notice in notices {
                    report::print(&format!("{}:  {}\n", notice.severity, notice.message));
                    if let Some(detail) = notice.detail {
                        report::print(&format!("DETAIL:  {detail}\n"));
                    }
                }
                Ended::Tag(tag, false)
            }
            Ok(Ok(Outcome::Rows { schema, stream, tag })) => {
                match (self.print_rows(&schema, stream).await, tag) {
                    // As psql: of statements that only show rows, these are enough.
                    (Ended::Rows, Some(tag)) if is_tag_of_change(&tag) => Ended::Tag(tag, false),
                    (ended, _) => ended,
                }
            }
            Ok(Err(error)) => Ended::Error(error),
            Err(error) => Ended::Error(panicked(&error)),
        }
    }

    /// Prints batches while the next ones are computed on the worker threads.
    async fn print_rows(
        &mut self,
        schema: &SchemaRef,
        mut stream: SendableRecordBatchStream,
    ) -> Ended {
        let (sender, mut batches) = tokio::sync::mpsc::channel(BATCHES_AHEAD);
        let mut pump = AbortOnDrop(self.workers.spawn(async move {
            while let Some(batch) = stream.next().await {
                if sender.send(batch).await.is_err() {
                    break;
                }
            }
        }));
        let mut renderer = self.shown.style.mode.renderer(schema, self.shown.style);
        let mut has_begun = false;
        loop {
            let batch = tokio::select! {
                biased;
                () = self.shown.interrupts.wait() => return Ended::Interrupted,
                batch = batches.recv() => batch,
            };
            let written = match batch {
                Some(Ok(batch)) => {
                    let begun =
                        if has_begun { Ok(()) } else { renderer.begin(&mut self.shown.output) };
                    has_begun = true;
                    begun.and_then(|()| renderer.rows(&mut self.shown.output, &batch))
                }
                Some(Err(error)) => return Ended::Error(error.into()),
                None => break,
            };
            if let Err(error) = written {
                return Ended::Output(error);
            }
        }
        if let Err(error) = (&mut pump.0).await {
            return Ended::Error(panicked(&error));
        }
        let begun = if has_begun { Ok(()) } else { renderer.begin(&mut self.shown.output) };
        match begun.and_then(|()| renderer.end(&mut self.shown.output)) {
            Ok(()) => Ended::Rows,
            Err(error) => Ended::Output(error),
        }
    }
}

/// Cancels the task when the printing ends before it.
struct AbortOnDrop(JoinHandle<()>);

impl Drop for AbortOnDrop {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// What a statement leaves behind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Effect {
    /// Nothing, or nothing that takes long.
    None,
    /// Changed rows; until all are known it can be left alone.
    Change,
    /// Loaded rows.
    Load,
}

impl Effect {
    fn of(sql: &str) -> Self {
        match sql {
            _ if is_load(sql) => Self::Load,
            _ if is_change(sql) => Self::Change,
            _ => Self::None,
        }
    }
}

/// Asks a statement to stop. A query is left alone at once; for one that changes something this
/// waits, because only its end tells whether its rows are there.
async fn cancel(
    mut task: JoinHandle<nacre_sql::Result<Outcome>>,
    progress: &Progress,
    effect: Effect,
    is_interactive: bool,
) -> Ended {
    progress.cancel();
    if effect == Effect::None {
        task.abort();
        return Ended::Interrupted;
    }
    let ended = match tokio::time::timeout(CANCEL_WAIT, &mut task).await {
        Ok(ended) => ended,
        // It is still looking for its rows: changing and committing them ends sooner.
        Err(_) if effect == Effect::Change => {
            task.abort();
            return Ended::Interrupted;
        }
        // A script's load may wait for its standard input for ever; it ends with the process.
        Err(_) if !is_interactive => return Ended::Interrupted,
        Err(_) => {
            report::print("\nThe load has come too far to stop at once; waiting for it.\n");
            task.await
        }
    };
    match ended {
        Ok(Ok(Outcome::Command { tag, .. })) => Ended::Tag(tag, true),
        Ok(Ok(Outcome::Rows { .. })) => Ended::Interrupted,
        Ok(Err(error)) if error.kind() == ErrorKind::Cancelled => Ended::Interrupted,
        Ok(Err(error)) => Ended::Error(error),
        Err(error) => Ended::Error(panicked(&error)),
    }
}

fn panicked(error: &tokio::task::JoinError) -> Error {
    Error::new(ErrorKind::Internal, format!("the statement ended in a bug: {error}"))
        .with_hint("please report it; the database is unharmed and the session goes on")
}
