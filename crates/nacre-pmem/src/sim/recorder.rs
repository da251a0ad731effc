//! A recorder hears what happens to the pools of one group of simulated domains.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::trace::{Event, FileIndex, How, Trace};
use crate::domain::Domain;
use crate::flush::CACHE_LINE_BYTES;

/// What to keep of what is heard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    Idle,
    /// Only which lines, names and sizes changed, to undo it.
    Track,
    /// Everything.
    Record,
}

/// What changed while tracking.
#[derive(Clone, Debug, Default)]
pub(super) struct Changes {
    pub(super) lines: Vec<(FileIndex, u32)>,
    pub(super) has_changed_names: bool,
    pub(super) has_changed_sizes: bool,
}

/// Hears what happens to a group of domains.
pub(super) struct Recorder(Mutex<State>);

struct State {
    mode: Mode,
    changes: Changes,
    trace: Trace,
    file_count: usize,
}

impl Recorder {
    pub(super) fn new() -> Arc<Recorder> {
        Arc::new(Recorder(Mutex::new(State {
            mode: Mode::Idle,
            changes: Changes::default(),
            trace: Trace::default(),
            file_count: 0,
        })))
    }

    /// Changes the mode and returns what was kept so far.
    pub(super) fn switch(&self, mode: Mode) -> (Changes, Trace) {
        let mut state = self.lock();
        state.mode = mode;
        let mut trace = std::mem::take(&mut state.trace);
        trace.file_count = state.file_count;
        (std::mem::take(&mut state.changes), trace)
    }

    pub(super) fn is_recording(&self) -> bool {
        self.lock().mode == Mode::Record
    }

    /// Returns the number of a new file.
    pub(super) fn add_file(&self) -> FileIndex {
        let mut state = self.lock();
        state.file_count += 1;
        state.file_count - 1
    }

    /// Number of files heard of.
    pub(super) fn file_count(&self) -> usize {
        self.lock().file_count
    }

    /// The next file is number `file_count`.
    pub(super) fn set_file_count(&self, file_count: usize) {
        self.lock().file_count = file_count;
    }

    pub(super) fn stored(
        &self,
        file: FileIndex,
        offset: u64,
        source: &[u8],
        how: How,
        thread: u32,
    ) {
        let mut state = self.lock();
        if state.mode == Mode::Idle || source.is_empty() {
            return;
        }
        let line_bytes = CACHE_LINE_BYTES as u64;
        let lines = offset / line_bytes..=(offset + source.len() as u64 - 1) / line_bytes;
        state.changes.lines.extend(lines.map(|line| (file, line as u32)));
        if state.mode == Mode::Record {
            let start = state.trace.bytes.len();
            state.trace.bytes.extend_from_slice(source);
            let bytes = start..state.trace.bytes.len();
            state.trace.events.push(Event::Store { file, offset, bytes, how, thread });
        }
    }

    /// Keeps an event; whether it was recorded.
    pub(super) fn note(&self, event: Event) -> bool {
        let mut state = self.lock();
        if state.mode == Mode::Idle {
            return false;
        }
        match event {
            Event::Created { .. } | Event::Renamed { .. } | Event::Removed { .. } => {
                state.changes.has_changed_names = true;
            }
            Event::Resized { .. } => state.changes.has_changed_sizes = true,
            _ => {}
        }
        let is_recording = state.mode == Mode::Record;
        if is_recording {
            state.trace.events.push(event);
        }
        is_recording
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Notes of a workload about what it has been promised, in the order of the trace.
pub struct Marks<'a>(pub(super) &'a Recorder);

impl Marks<'_> {
    /// Notes `value`: a crash from here on must keep what it stands for.
    pub fn note(&self, value: u64) {
        self.0.note(Event::Mark(value));
    }
}

/// What a crash left.
pub struct Crash<'a> {
    pub(super) domains: &'a [Domain],
    pub(super) marks: &'a [u64],
    pub(super) recorder: &'a Recorder,
}

impl Crash<'_> {
    /// The domains as they are found after the crash, in the order of the workload's.
    pub fn domains(&self) -> &[Domain] {
        self.domains
    }

    /// What the workload had noted before the crash.
    pub fn marks(&self) -> &[u64] {
        self.marks
    }

    /// Says that recovery ends here. What the check stores afterwards is not cut short by a second
    /// crash.
    pub fn recovered(&self) {
        self.recorder.note(Event::Recovered);
    }
}
