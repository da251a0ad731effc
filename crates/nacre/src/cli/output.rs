//! Where answers go: standard output, or the file of `\o`.
//!
//! # Concurrency
//! Clones share the target. `COPY ... TO STDOUT` writes from a worker thread while the console
//! waits, so a lock guards it; nobody holds the lock across anything but one write.

use std::fs::File;
use std::io::{self, BufWriter, ErrorKind, Stdout, Write};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Bytes gathered before they are handed to the system.
const BUFFER_BYTES: usize = 64 << 10;

/// A shared, buffered target for answers.
#[derive(Clone)]
pub(crate) struct Output {
    shared: Arc<Shared>,
}

struct Shared {
    sink: Mutex<Sink>,
    /// Set once the reader of standard output has gone.
    is_closed: AtomicBool,
}

enum Sink {
    Stdout(BufWriter<Stdout>),
    File(BufWriter<File>),
}

/// Where answers went before they were diverted.
pub(crate) struct Diverted(Sink);

impl Output {
    /// Returns an output to standard output.
    pub(crate) fn stdout() -> Self {
        let sink = Mutex::new(stdout_sink());
        Self { shared: Arc::new(Shared { sink, is_closed: AtomicBool::new(false) }) }
    }

    /// Sends what follows to a file, or back to standard output.
    ///
    /// # Errors
    /// If the file cannot be created, or the former one cannot be completed; the target is then
    /// unchanged in the first case and changed in the second.
    pub(crate) fn redirect(&self, path: Option<&Path>) -> io::Result<()> {
        let next = match path {
            Some(path) => Sink::File(BufWriter::with_capacity(BUFFER_BYTES, File::create(path)?)),
            None => stdout_sink(),
        };
        let mut former = std::mem::replace(&mut *self.lock(), next);
        former.writer().flush()
    }

    /// Sends what follows to a file until [`Output::restore`].
    ///
    /// # Errors
    /// If the file cannot be created; nothing is changed then.
    pub(crate) fn divert(&self, path: &Path) -> io::Result<Diverted> {
        let next = Sink::File(BufWriter::with_capacity(BUFFER_BYTES, File::create(path)?));
        Ok(Diverted(std::mem::replace(&mut *self.lock(), next)))
    }

    /// Completes the file and sends what follows where it went before.
    ///
    /// # Errors
    /// If the file cannot be completed.
    pub(crate) fn restore(&self, before: Diverted) -> io::Result<()> {
        std::mem::replace(&mut *self.lock(), before.0).writer().flush()
    }

    /// Tells whether the reader of standard output has gone, as in `nacre ... | head`.
    pub(crate) fn is_closed(&self) -> bool {
        // ORDERING: a lone flag; whoever reads it late only writes in vain once more.
        self.shared.is_closed.load(Ordering::Relaxed)
    }

    /// Writes a message of the shell to standard output, also while answers go to a file.
    pub(crate) fn message(&self, text: &str) -> io::Result<()> {
        let mut sink = self.lock();
        let written = match &mut *sink {
            Sink::Stdout(stdout) => stdout.write_all(text.as_bytes()),
            Sink::File(_) => io::stdout().write_all(text.as_bytes()),
        };
        self.note(written)
    }

    fn lock(&self) -> MutexGuard<'_, Sink> {
        // A panic between two writes leaves a usable buffer behind.
        self.shared.sink.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn note<T>(&self, written: io::Result<T>) -> io::Result<T> {
        if written.as_ref().is_err_and(|error| error.kind() == ErrorKind::BrokenPipe) {
            // ORDERING: see `is_closed`.
            self.shared.is_closed.store(true, Ordering::Relaxed);
        }
        written
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.lock().writer().write(bytes);
        self.note(written)
    }

    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        let written = self.lock().writer().write_all(bytes);
        self.note(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        let flushed = self.lock().writer().flush();
        self.note(flushed)
    }
}

impl Sink {
    fn writer(&mut self) -> &mut dyn Write {
        match self {
            Self::Stdout(stdout) => stdout,
            Self::File(file) => file,
        }
    }
}

fn stdout_sink() -> Sink {
    Sink::Stdout(BufWriter::with_capacity(BUFFER_BYTES, io::stdout()))
}
