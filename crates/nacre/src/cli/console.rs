//! The console: one database, one session, and how their answers are shown.
//!
//! # Concurrency
//! A statement runs on the worker threads; the thread that owns the console waits for its batches,
//! for Ctrl-C and for the next step of the progress bar, and does all the printing. It waits on a
//! runtime of its own, so that busy workers cannot keep it waiting. After Ctrl-C the workers are
//! replaced: what is still busy there ends by itself, without anybody waiting for it.

use std::collections::BTreeSet;
use std::io::{self, IsTerminal, Write};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures::StreamExt;
use nacre_ingest::Progress;
use nacre_sql::datafusion::arrow::datatypes::SchemaRef;
use nacre_sql::datafusion::execution::SendableRecordBatchStream;
use nacre_sql::{
    CopyIn, CopyOut, Database, Error, ErrorKind, OpenOptions, Outcome, Session, StatementIo,
    TransactionStatus,
};
use tokio::runtime::{Handle, Runtime};
use tokio::task::JoinHandle;

use super::interrupt::{EXIT_CODE, Interrupts};
use super::line_reader::DataSource;
use super::output::Output;
use super::place::Place;
use super::progress::{Bar, INTERVAL};
use super::render::{Mode, Style};
use super::report;
use super::tokens::{CopyStream, copy_stream, is_change, is_load};
use crate::database::build_runtime;

/// How long a cancelled load may take before a person is told that it takes longer, and before a
/// script is ended without it.
const CANCEL_WAIT: Duration = Duration::from_secs(3);
/// Batches computed ahead of the one being printed.
const BATCHES_AHEAD: usize = 4;

/// What a line or a statement means for those after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Flow {
    Continue,
    /// It failed, and the user was told.
    Failed,
    /// The script or the shell is to end.
    Quit,
    /// The program is to end with this code.
    Exit(u8),
}

/// What the user can choose about the console's behaviour.
#[derive(Clone, Debug, Default)]
pub(crate) struct Behaviour {
    pub(crate) is_interactive: bool,
    pub(crate) is_quiet: bool,
    pub(crate) is_echoing: bool,
    pub(crate) continues_on_error: bool,
    pub(crate) has_timer: bool,
}

/// A database, a session, and how answers are shown.
pub(crate) struct Console {
    pub(crate) database: Database,
    session: Arc<Session>,
    /// Where statements run.
    workers: Runtime,
    threads: Option<usize>,
    /// Where this thread waits.
    front: Runtime,
    interrupts: Interrupts,
    pub(crate) output: Output,
    pub(crate) style: Style,
    pub(crate) behaviour: Behaviour,
    pub(crate) directory: Option<PathBuf>,
    /// The statement that ran last, for `\g` and `\e`.
    pub(crate) last_statement: String,
    /// Scripts that are being run inside one another.
    pub(crate) script_depth: usize,
    /// What the database had to say and was printed.
    told: BTreeSet<String>,
}

/// How a statement ended.
enum Ended {
    Rows,
    /// With whether Ctrl-C came, but too late to stop it.
    Tag(String, bool),
    Error(Error),
    Interrupted,
    /// Writing the answer failed.
    Output(io::Error),
}

impl Console {
    /// Opens a database.
    ///
    /// # Errors
    /// If the database cannot be opened, or the system refuses threads or the signal handler.
    pub(crate) fn open(
        options: OpenOptions,
        style: Style,
        behaviour: Behaviour,
    ) -> nacre_sql::Result<Self> {
        let failed = |what: &str, error: &io::Error| {
            Error::new(ErrorKind::Open, format!("cannot {what}: {error}"))
        };
        let threads = options.threads;
        let workers = build_runtime(threads)?;
        let front = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .build()
            .map_err(|error| failed("wait for worker threads", &error))?;
        let interrupts = Interrupts::listen(behaviour.is_interactive)
            .map_err(|error| failed("watch Ctrl-C", &error))?;
        let directory = options.directory.clone();
        let database = Database::open(options)?;
        Ok(Self {
            session: Arc::new(database.session()),
            database,
            workers,
            threads,
            front,
            interrupts,
            output: Output::stdout(),
            style,
            behaviour,
            directory,
            last_statement: String::new(),
            script_depth: 0,
            told: BTreeSet::new(),
        })
    }

    /// Ends the console without waiting for work that was left behind.
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
    pub(crate) fn session(&self) -> Arc<Session> {
        Arc::clone(&self.session)
    }

    /// Tells whether a transaction block is open.
    pub(crate) fn status(&self) -> TransactionStatus {
        self.session.transaction_status()
    }

    /// Runs a statement and prints its answer.
    pub(crate) fn run_statement(
        &mut self,
        sql: &str,
        place: &Place,
        data: &mut dyn DataSource,
    ) -> Flow {
        sql.clone_into(&mut self.last_statement);
        if self.behaviour.is_echoing {
            // An output that has gone is noticed by the answer.
            let _ = self.output.message(&format!("{sql};\n"));
        }
        let stream = copy_stream(sql);
        let mut statement_io = StatementIo::default();
        match stream {
            Some(CopyStream::FromStdin) => statement_io.copy_in = data.open().map(CopyIn::Reader),
            Some(CopyStream::ToStdout) => {
                let output = Box::new(self.output.clone());
                statement_io.copy_out = Some(CopyOut::Writer(output));
            }
            None => {}
        }
        // Data that is typed by hand is there by now, so its time does not count.
        let started = Instant::now();
        self.interrupts.begin();
        let ended = self.wait_for(sql, statement_io);
        self.interrupts.end();
        if stream == Some(CopyStream::FromStdin) {
            data.close();
        }
        let flow = self.conclude(ended, sql, place, stream);
        self.tell_notes();
        if self.behaviour.has_timer && flow == Flow::Continue {
            return self.say(&time_text(started.elapsed()));
        }
        flow
    }

    /// Runs a statement of the shell's own and returns whether it worked; errors are printed.
    pub(crate) fn run_quietly(&mut self, sql: &str, place: &Place) -> Flow {
        self.interrupts.begin();
        let ended = self.wait_for(sql, StatementIo::default());
        self.interrupts.end();
        match ended {
            Ended::Tag(..) => Flow::Continue,
            other => self.conclude(other, sql, place, None),
        }
    }

    /// Prints a message of the shell on standard output.
    pub(crate) fn say(&self, text: &str) -> Flow {
        match self.output.message(text).and_then(|()| self.output.clone().flush()) {
            Ok(()) => Flow::Continue,
            Err(error) => self.output_failed(&error, &Place::Typed),
        }
    }

    /// Prints a table of the shell where answers go.
    pub(crate) fn show(&self, text: &str) -> Flow {
        let mut output = self.output.clone();
        match output.write_all(text.as_bytes()).and_then(|()| output.flush()) {
            Ok(()) => Flow::Continue,
            Err(error) => self.output_failed(&error, &Place::Typed),
        }
    }

    fn wait_for(&mut self, sql: &str, statement_io: StatementIo) -> Ended {
        let statement = Running {
            session: Arc::clone(&self.session),
            workers: self.workers.handle().clone(),
            interrupts: &mut self.interrupts,
            output: self.output.clone(),
            style: &self.style,
            has_bar: !self.behaviour.is_quiet,
            is_interactive: self.behaviour.is_interactive,
        };
        let ended = self.front.block_on(statement.run(sql.to_owned(), statement_io));
        if let (Ended::Interrupted, Ok(workers)) = (&ended, build_runtime(self.threads)) {
            std::mem::replace(&mut self.workers, workers).shutdown_background();
        }
        ended
    }

    /// Prints how a statement ended.
    fn conclude(
        &mut self,
        ended: Ended,
        sql: &str,
        place: &Place,
        stream: Option<CopyStream>,
    ) -> Flow {
        let flushed = self.output.flush();
        if self.output.is_closed() {
            return Flow::Exit(0);
        }
        if let (Err(error), Ended::Rows | Ended::Tag(..)) = (&flushed, &ended) {
            return self.output_failed(error, place);
        }
        match ended {
            Ended::Rows => Flow::Continue,
            Ended::Tag(tag, is_late) => {
                let flow = self.show_tag(&tag, stream);
                let ends = is_late && !self.behaviour.is_interactive;
                if ends { Flow::Exit(EXIT_CODE) } else { flow }
            }
            Ended::Error(error) => {
                report::print_error(&error, sql, place);
                Flow::Failed
            }
            Ended::Interrupted => {
                let is_interactive = self.behaviour.is_interactive;
                // The terminal has shown `^C` where the message would begin.
                report::print(if is_interactive { "\n" } else { "" });
                report::print_message("the statement was cancelled by Ctrl-C", None, place);
                if is_interactive { Flow::Failed } else { Flow::Exit(EXIT_CODE) }
            }
            Ended::Output(error) => self.output_failed(&error, place),
        }
    }

    fn show_tag(&self, tag: &str, stream: Option<CopyStream>) -> Flow {
        let shows_tags = self.behaviour.is_interactive || self.style.mode == Mode::Box;
        if self.behaviour.is_quiet || !shows_tags || stream == Some(CopyStream::ToStdout) {
            return Flow::Continue;
        }
        self.say(&format!("{tag}\n"))
    }

    fn output_failed(&self, error: &io::Error, place: &Place) -> Flow {
        if self.output.is_closed() {
            return Flow::Exit(0);
        }
        let message = format!("cannot write the answer: {error}");
        report::print_message(
            &message,
            Some("check the space left, or choose another \\o FILE"),
            place,
        );
        Flow::Failed
    }
}

/// A statement under way.
struct Running<'a> {
    session: Arc<Session>,
    workers: Handle,
    interrupts: &'a mut Interrupts,
    output: Output,
    style: &'a Style,
    has_bar: bool,
    is_interactive: bool,
}

impl Running<'_> {
    async fn run(mut self, sql: String, mut statement_io: StatementIo) -> Ended {
        let progress = Arc::new(Progress::default());
        statement_io.progress = Some(Arc::clone(&progress));
        let session = Arc::clone(&self.session);
        let effect = Effect::of(&sql);
        let mut task = self.workers.spawn(async move { session.execute(&sql, statement_io).await });
        let mut bar = Bar::new(self.has_bar);
        let mut ticks = tokio::time::interval(INTERVAL);
        let outcome = loop {
            tokio::select! {
                outcome = &mut task => break outcome,
                () = self.interrupts.wait() => {
                    drop(bar);
                    return cancel(task, &progress, effect, self.is_interactive).await;
                }
                _ = ticks.tick() => bar.update_load(&progress),
            }
        };
        drop(bar);
        match outcome {
            Ok(Ok(Outcome::Command { tag, warning })) => {
                if let Some(warning) = warning {
                    report::print(&format!("WARNING:  {warning}\n"));
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
        let mut renderer = self.style.mode.renderer(schema, self.style);
        let mut has_begun = false;
        loop {
            let batch = tokio::select! {
                biased;
                () = self.interrupts.wait() => return Ended::Interrupted,
                batch = batches.recv() => batch,
            };
            let written = match batch {
                Some(Ok(batch)) => {
                    let begun = if has_begun { Ok(()) } else { renderer.begin(&mut self.output) };
                    has_begun = true;
                    begun.and_then(|()| renderer.rows(&mut self.output, &batch))
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
        let begun = if has_begun { Ok(()) } else { renderer.begin(&mut self.output) };
        match begun.and_then(|()| renderer.end(&mut self.output)) {
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

/// Whether a command tag with rows is that of a statement that changed some.
fn is_tag_of_change(tag: &str) -> bool {
    !matches!(tag.split(' ').next(), Some("EXPLAIN" | "FETCH" | "SHOW"))
}

fn panicked(error: &tokio::task::JoinError) -> Error {
    Error::new(ErrorKind::Internal, format!("the statement ended in a bug: {error}"))
        .with_hint("please report it; the database is unharmed and the session goes on")
}

/// Writes a duration as psql's `\timing` does.
fn time_text(elapsed: Duration) -> String {
    let seconds = elapsed.as_secs();
    let milliseconds = elapsed.as_secs_f64() * 1e3;
    match seconds {
        0 => format!("Time: {milliseconds:.3} ms\n"),
        _ => {
            let rest = elapsed.as_secs_f64() % 60.0;
            format!("Time: {milliseconds:.3} ms ({:02}:{rest:06.3})\n", seconds / 60)
        }
    }
}

/// Tells whether a person watches standard output.
pub(crate) fn stdout_is_terminal() -> bool {
    io::stdout().is_terminal()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_of_a_second_and_more_are_also_told_in_minutes() {
        assert_eq!(time_text(Duration::from_micros(1_234)), "Time: 1.234 ms\n");
        assert_eq!(time_text(Duration::from_millis(61_500)), "Time: 61500.000 ms (01:01.500)\n");
    }
}
