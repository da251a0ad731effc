//! The way of rows from workers to whoever asked for them.
//!
//! Rows are held until the query has ended and its files were looked at, up to the channel's
//! bytes; most answers are smaller. A larger one is handed on as it comes.
//!
//! # Invariants
//! 1. Once a batch was taken, the query cannot be run again.

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::error::{ExecError, ExecResult};
use crate::pipeline::{PipelineSink, SinkRoom, SlotId};
use crate::sort::LimitGate;
use crate::vector::{ResultBatch, VectorBatch};

/// Batches on their way.
pub(crate) struct ResultChannel {
    state: Mutex<ChannelState>,
    /// Told when there is something to take.
    is_ready: Condvar,
    bytes_max: usize,
    /// Told when there is room again, or nobody takes any more.
    on_room: Box<dyn Fn() + Send + Sync>,
    /// Told when there is something to take, for whoever does not wait in a thread.
    on_ready: Option<Box<dyn Fn() + Send + Sync>>,
}

#[derive(Debug, Default)]
struct ChannelState {
    batches: VecDeque<ResultBatch>,
    bytes: usize,
    /// Whether batches may be taken though the query has not ended.
    is_streaming: bool,
    is_full: bool,
    outcome: Option<ExecResult<()>>,
    has_ended: bool,
}

impl fmt::Debug for ResultChannel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ResultChannel").field("bytes_max", &self.bytes_max).finish_non_exhaustive()
    }
}

/// What a consumer finds.
pub(crate) enum ChannelItem {
    Batch(ResultBatch),
    End,
    Failed(ExecError),
    /// Nothing yet.
    Pending,
}

impl ResultChannel {
    pub(crate) fn new(
        bytes_max: usize,
        on_room: Box<dyn Fn() + Send + Sync>,
        on_ready: Option<Box<dyn Fn() + Send + Sync>>,
    ) -> Self {
        let (state, is_ready) = (Mutex::default(), Condvar::new());
        Self { state, is_ready, bytes_max, on_room, on_ready }
    }

    fn lock(&self) -> MutexGuard<'_, ChannelState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn tell_ready(&self) {
        self.is_ready.notify_all();
        if let Some(on_ready) = &self.on_ready {
            on_ready();
        }
    }

    fn push(&self, batch: ResultBatch) -> SinkRoom {
        let mut state = self.lock();
        state.bytes += batch.bytes();
        state.batches.push_back(batch);
        if state.bytes >= self.bytes_max {
            (state.is_streaming, state.is_full) = (true, true);
        }
        let is_full = state.is_full;
        let is_streaming = state.is_streaming;
        drop(state);
        if is_streaming {
            self.tell_ready();
        }
        if is_full { SinkRoom::Full } else { SinkRoom::More }
    }

    /// Whether workers have to wait for room.
    pub(crate) fn is_full(&self) -> bool {
        self.lock().is_full
    }

    /// Drops what is held, so that the query can be run again; false if some of it is out.
    pub(crate) fn reset(&self) -> bool {
        let mut state = self.lock();
        if state.is_streaming || state.has_ended {
            return false;
        }
        state.batches.clear();
        state.bytes = 0;
        true
    }

    /// Ends the stream.
    pub(crate) fn end(&self, outcome: ExecResult<()>) {
        let mut state = self.lock();
        if !state.has_ended {
            if outcome.is_err() && !state.is_streaming {
                state.batches.clear();
            }
            (state.outcome, state.has_ended) = (Some(outcome), true);
        }
        drop(state);
        self.tell_ready();
    }

    /// Takes the next batch, waiting for it at most so long.
    pub(crate) fn take(&self, wait_max: Option<Duration>) -> ChannelItem {
        let mut state = self.lock();
        loop {
            let may_take = state.is_streaming || state.has_ended;
            if may_take && let Some(batch) = state.batches.pop_front() {
                state.bytes -= batch.bytes();
                let has_room = state.is_full && state.bytes <= self.bytes_max / 2;
                state.is_full &= !has_room;
                drop(state);
                if has_room {
                    (self.on_room)();
                }
                return ChannelItem::Batch(batch);
            }
            if state.has_ended {
                return match state.outcome.take() {
                    Some(Err(error)) => ChannelItem::Failed(error),
                    _ => ChannelItem::End,
                };
            }
            state = match wait_max {
                None => self.is_ready.wait(state).unwrap_or_else(PoisonError::into_inner),
                Some(Duration::ZERO) => return ChannelItem::Pending,
                Some(wait) => {
                    let waited = self.is_ready.wait_timeout(state, wait);
                    let (state, timeout) = waited.unwrap_or_else(PoisonError::into_inner);
                    if timeout.timed_out() {
                        return ChannelItem::Pending;
                    }
                    state
                }
            };
        }
    }

    /// Drops everything; nobody takes any more.
    pub(crate) fn close(&self) {
        let mut state = self.lock();
        state.batches.clear();
        (state.bytes, state.is_full) = (0, false);
        drop(state);
        (self.on_room)();
    }
}

/// Puts the rows of the last pipeline into the channel.
#[derive(Debug)]
pub(crate) struct ResultSink {
    channel: Arc<ResultChannel>,
    columns: Vec<SlotId>,
    gate: Option<Arc<LimitGate>>,
}

impl ResultSink {
    pub(crate) fn new(
        channel: &Arc<ResultChannel>,
        columns: Vec<SlotId>,
        gate: Option<Arc<LimitGate>>,
    ) -> Self {
        Self { channel: Arc::clone(channel), columns, gate }
    }
}

impl PipelineSink for ResultSink {
    fn name(&self) -> &'static str {
        "result"
    }

    fn consume(&self, _: usize, batch: &mut VectorBatch) -> ExecResult<SinkRoom> {
        let mut is_satisfied = false;
        if let Some(gate) = &self.gate {
            is_satisfied = gate.pass(batch, &self.columns)?;
        }
        if batch.selected_rows() == 0 {
            return Ok(if is_satisfied { SinkRoom::Satisfied } else { SinkRoom::More });
        }
        batch.compact(&self.columns);
        let room = self.channel.push(batch.take_columns(&self.columns));
        Ok(if is_satisfied { SinkRoom::Satisfied } else { room })
    }

    fn finish(&self) -> ExecResult<()> {
        // A negative LIMIT is an error of no rows, too.
        self.gate.as_ref().map_or(Ok(()), |gate| gate.range().map(drop))
    }
}
