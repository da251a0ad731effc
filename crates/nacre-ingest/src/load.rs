//! Loads a file with many workers.
//!
//! 1. [`Loader::open`] reads up to the first row.
//! 2. Each worker takes tasks from one [`Plan`]: count a segment, or parse a chunk and hand it to
//!    the [`ChunkSink`]. Chunks go first, so a file is read from the disk once and from the page
//!    cache the second time, whatever its size.
//! 3. The first fault in *file order* is the one reported: chunks before a faulty one are still
//!    parsed, chunks after it are not.
//!
//! # Concurrency
//! The plan is behind one mutex that is held for microseconds per segment. A worker that panics
//! stops the others.
//!
//! # Source
//! [Muehlbauer16 section 3.3.2-3.3.3]: unsynchronised tasks over pieces of the file. Differs: chunk
//! limits are rows and not bytes, so that the stored table is the same for any number of threads.

use crate::{
    chunk::{ChunkParser, Parsed},
    error::{Error, ErrorKind, Location, Result},
    layout::{Layout, Target},
    options::{CsvOptions, Direction},
    plan::{Plan, Task, Tuning},
    progress::Progress,
    prologue::{self, Prologue},
    scan::scan_segment,
    source::{Input, Source},
};
use nacre_column::ColumnBuffer;
use std::{
    sync::{
        Condvar, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    thread,
};

/// Takes the chunks of a load, in any order and from any thread.
pub trait ChunkSink: Sync {
    /// Why a chunk was not taken.
    type Error: std::error::Error + Send + Sync + 'static;

    /// Takes chunk `index` of the load: one buffer per column of the table, of equal length. It may
    /// change them.
    ///
    /// # Errors
    /// Ends the load.
    fn append_chunk(
        &self,
        index: u64,
        columns: &mut [ColumnBuffer],
    ) -> std::result::Result<(), Self::Error>;
}

/// A source that is ready to be loaded.
#[derive(Debug)]
pub struct Loader {
    input: Input,
    layout: Layout,
    tuning: Tuning,
    plan: Plan,
}

impl Loader {
    /// Opens `source` and reads up to its first row.
    ///
    /// # Errors
    /// Those of the options, the columns, the file and its header.
    pub fn open(
        source: Source,
        target: Target,
        options: &CsvOptions,
        progress: &Progress,
    ) -> Result<Self> {
        Self::open_tuned(source, target, options, progress, Tuning::default())
    }

    pub(crate) fn open_tuned(
        source: Source,
        target: Target,
        options: &CsvOptions,
        progress: &Progress,
        tuning: Tuning,
    ) -> Result<Self> {
        options.validate(Direction::From)?;
        let mut input = Input::open(source, progress)?;
        progress.start(input.bytes());
        let prologue = prologue::read(&mut input, target, options, &tuning, progress)?;
        let Prologue { layout, begin, lines } = prologue;
        progress.start(input.bytes());
        progress.add(begin, 0);
        let plan = Plan::new(tuning, begin, input.bytes(), lines);
        Ok(Self { input, layout, tuning, plan })
    }

    /// Hands all rows to `sink` with `threads` workers, the caller being one; returns their number.
    ///
    /// # Errors
    /// The first fault in file order, with its location; the sink's error as kind `Store`;
    /// `Cancelled`, `FileChanged`, `Io`.
    pub fn run<S: ChunkSink>(
        &mut self,
        threads: usize,
        progress: &Progress,
        sink: &S,
    ) -> Result<u64> {
        let shared = Shared {
            input: &self.input,
            layout: &self.layout,
            tuning: self.tuning,
            watch: Watch { progress, limit: AtomicU64::new(u64::MAX) },
            state: Mutex::new(State { plan: &mut self.plan, failure: None, rows: 0 }),
            changed: Condvar::new(),
        };
        thread::scope(|scope| {
            for number in 1..threads {
                let builder = thread::Builder::new().name(format!("nacre-load-{number}"));
                // With fewer workers than asked for the load is slower and just as right.
                if builder.spawn_scoped(scope, || shared.work(sink)).is_err() {
                    break;
                }
            }
            shared.work(sink);
        });
        let State { failure, rows, .. } =
            shared.state.into_inner().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, error)) = failure {
            return Err(error);
        }
        self.input.check_unchanged()?;
        Ok(rows)
    }

    /// Returns where row `row` of chunk `chunk` stands in the file, after [`Loader::run`].
    ///
    /// # Errors
    /// `Internal` if there is no such chunk, `FileChanged`, `Io`.
    pub fn locate(&self, chunk: u64, row: u64) -> Result<Location> {
        let Some(plan) = self.plan.chunk(chunk) else {
            let message = format!("the load has no chunk {chunk}");
            return Err(Error::new(ErrorKind::Internal, message));
        };
        ChunkParser::new(&self.input, &self.layout, self.tuning).locate(&plan, row)
    }
}

/// Tells a worker whether its work is still wanted.
pub(crate) struct Watch<'a> {
    progress: &'a Progress,
    /// Chunks from here on are not wanted. Lowered by the worker that fails, read by all; it
    /// publishes nothing else.
    limit: AtomicU64,
}

impl Watch<'_> {
    /// Tells whether chunk `index` is not wanted any more.
    ///
    /// # Errors
    /// `Cancelled`.
    pub(crate) fn is_abandoned(&self, index: u64) -> Result<bool> {
        self.progress.check()?;
        // ORDERING: pairs with nothing, see the field.
        Ok(index >= self.limit.load(Ordering::Relaxed))
    }
}

struct State<'a> {
    plan: &'a mut Plan,
    /// The fault nearest to the begin of the file, with its chunk; 0 if the load cannot go on.
    failure: Option<(u64, Error)>,
    rows: u64,
}

struct Shared<'a> {
    input: &'a Input,
    layout: &'a Layout,
    tuning: Tuning,
    watch: Watch<'a>,
    state: Mutex<State<'a>>,
    /// Signalled when a segment is counted or the load stops.
    changed: Condvar,
}

/// Whether a failure has a place among the chunks.
enum Failure {
    /// In this chunk; another in an earlier chunk may yet be found.
    InChunk(u64, Error),
    /// Anywhere: the load stops at once.
    Fatal(Error),
}

impl Failure {
    fn in_chunk(index: u64, error: Error) -> Self {
        match error.kind() {
            ErrorKind::Cancelled | ErrorKind::Io | ErrorKind::FileChanged => Self::Fatal(error),
            _ => Self::InChunk(index, error),
        }
    }
}

impl<'a> Shared<'a> {
    fn lock(&self) -> MutexGuard<'_, State<'a>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Works until nothing is left or the load failed.
    fn work<S: ChunkSink>(&self, sink: &S) {
        let _guard = PanicGuard(self);
        let mut parser = ChunkParser::new(self.input, self.layout, self.tuning);
        let mut segment = Vec::new();
        loop {
            let outcome = match self.next_task() {
                Task::Done | Task::Wait => return,
                Task::Scan { segment: number, offset, bytes } => {
                    segment.resize(bytes, 0);
                    self.scan(number, offset, &mut segment).map_err(Failure::Fatal)
                }
                Task::Parse(plan) => self.parse(&mut parser, &plan, sink),
            };
            if let Err(failure) = outcome {
                self.fail(failure);
            }
        }
    }

    fn next_task(&self) -> Task {
        let mut state = self.lock();
        loop {
            match state.plan.next() {
                Task::Wait => {
                    state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
                }
                task => return task,
            }
        }
    }

    fn scan(&self, segment: u64, offset: u64, buffer: &mut [u8]) -> Result<()> {
        self.watch.progress.check()?;
        self.input.read_at(offset, buffer)?;
        let scan = scan_segment(&self.layout.dialect, buffer);
        self.lock().plan.put(segment, scan);
        self.changed.notify_all();
        Ok(())
    }

    fn parse<S: ChunkSink>(
        &self,
        parser: &mut ChunkParser<'_>,
        plan: &crate::plan::ChunkPlan,
        sink: &S,
    ) -> std::result::Result<(), Failure> {
        let in_chunk = |error| Failure::in_chunk(plan.index, error);
        let Parsed::Complete { bytes } = parser.parse(plan, &self.watch).map_err(in_chunk)? else {
            return Ok(());
        };
        sink.append_chunk(plan.index, parser.columns_mut())
            .map_err(|error| in_chunk(Error::sink(error)))?;
        self.watch.progress.add(bytes, plan.rows);
        self.lock().rows += plan.rows;
        Ok(())
    }

    #[cold]
    fn fail(&self, failure: Failure) {
        let mut state = self.lock();
        let (index, error) = match failure {
            Failure::InChunk(index, error) => (index + 1, error),
            Failure::Fatal(error) => (0, error),
        };
        // ORDERING: pairs with nothing, see the field.
        self.watch.limit.fetch_min(index, Ordering::Relaxed);
        state.plan.stop();
        if state.failure.as_ref().is_none_or(|(known, _)| index < *known) {
            state.failure = Some((index, error));
        }
        drop(state);
        self.changed.notify_all();
    }
}

/// Stops the other workers when this one panics, so that none waits for it forever.
struct PanicGuard<'a, 'b>(&'a Shared<'b>);

impl Drop for PanicGuard<'_, '_> {
    fn drop(&mut self) {
        if thread::panicking() {
            let message = "a loading worker panicked";
            self.0.fail(Failure::Fatal(Error::new(ErrorKind::Internal, message)));
        }
    }
}
