//! What was recorded: the state at the start and the events since; and bugs planted into them.

use std::collections::BTreeMap;
use std::ops::Range;

use super::Store;

/// Number of a file within one recorder.
pub(super) type FileIndex = usize;

/// Names of one domain.
pub(super) type Names = BTreeMap<String, FileIndex>;

/// Files and names when recording began; all of it is durable.
#[derive(Clone, Default)]
pub(super) struct Base {
    /// Bytes by [`FileIndex`], zeros at the end left out; empty for files that are gone.
    pub(super) files: Vec<Vec<u8>>,
    /// Sizes by [`FileIndex`].
    pub(super) sizes: Vec<u64>,
    /// Names by domain.
    pub(super) names: Vec<Names>,
}

/// How bytes came to a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum How {
    Stored(Store),
    /// `pwrite`.
    Kernel,
}

/// One event.
#[derive(Clone, Debug)]
pub(super) enum Event {
    /// `bytes` is a range of [`Trace::bytes`].
    Store {
        file: FileIndex,
        offset: u64,
        bytes: Range<usize>,
        how: How,
        thread: u32,
    },
    Flush {
        file: FileIndex,
        range: Range<u64>,
        thread: u32,
    },
    Fence {
        thread: u32,
    },
    Sync {
        file: FileIndex,
        range: Range<u64>,
    },
    FileSynced {
        file: FileIndex,
    },
    Resized {
        file: FileIndex,
        bytes: u64,
    },
    Created {
        domain: usize,
        name: String,
        file: FileIndex,
    },
    Renamed {
        domain: usize,
        from: String,
        to: String,
    },
    Removed {
        domain: usize,
        name: String,
    },
    DirectorySynced {
        domain: usize,
    },
    /// The workload noted something.
    Mark(u64),
    /// A check has recovered; what follows is not recovery.
    Recovered,
}

/// Events with the bytes that they stored.
#[derive(Clone, Default)]
pub(super) struct Trace {
    pub(super) events: Vec<Event>,
    pub(super) bytes: Vec<u8>,
    /// Number of files that the trace knows, those of the base included.
    pub(super) file_count: usize,
}

impl Trace {
    /// Returns the values of all marks in order.
    pub(super) fn marks(&self) -> Vec<u64> {
        let value = |event: &Event| match event {
            Event::Mark(value) => Some(*value),
            _ => None,
        };
        self.events.iter().filter_map(value).collect()
    }

    /// Cuts off what follows the end of recovery.
    pub(super) fn keep_recovery(&mut self) {
        let end = self.events.iter().position(|event| matches!(event, Event::Recovered));
        self.events.truncate(end.unwrap_or(self.events.len()));
    }
}

/// A bug to plant into a trace: it stands for code that has the bug.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Plant {
    /// The flush (or `msync`) of this number is missing.
    SkipFlush(usize),
    /// The fence (or `msync`) of this number is missing.
    SkipFence(usize),
    /// The first store after the fence of this number comes before all that this fence, and not
    /// an earlier one, made durable: a publish before its payload.
    EarlyPublish(usize),
}

impl Plant {
    /// Plants the bug; `None` if the trace has no such place.
    pub(super) fn apply(self, trace: &Trace) -> Option<Trace> {
        let mut planted = trace.clone();
        let nth = |number: usize, is_meant: fn(&Event) -> bool| {
            let mut places = (0..trace.events.len()).filter(|&at| is_meant(&trace.events[at]));
            places.nth(number)
        };
        match self {
            Plant::SkipFlush(number) => {
                planted.events.remove(nth(number, is_flush)?);
            }
            Plant::SkipFence(number) => {
                planted.events.remove(nth(number, is_fence)?);
            }
            Plant::EarlyPublish(number) => {
                let fence = nth(number, is_fence)?;
                let is_store = |at: &usize| matches!(trace.events[*at], Event::Store { .. });
                let publish = (fence..trace.events.len()).find(is_store)?;
                let is_end = |at: &usize| {
                    is_fence(&trace.events[*at]) || matches!(trace.events[*at], Event::Mark(_))
                };
                let start = (0..fence).rev().find(is_end).map_or(0, |at| at + 1);
                let event = planted.events.remove(publish);
                planted.events.insert(start, event);
            }
        }
        Some(planted)
    }
}

fn is_flush(event: &Event) -> bool {
    matches!(event, Event::Flush { .. } | Event::Sync { .. })
}

fn is_fence(event: &Event) -> bool {
    matches!(event, Event::Fence { .. } | Event::Sync { .. })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn store(offset: u64) -> Event {
        let how = How::Stored(Store::Temporal);
        Event::Store { file: 0, offset, bytes: 0..8, how, thread: 0 }
    }

    #[test]
    fn publish_moves_before_its_payload_only() {
        let fence = Event::Fence { thread: 0 };
        let flush = Event::Flush { file: 0, range: 0..8, thread: 0 };
        let events =
            vec![store(0), fence.clone(), store(8), flush.clone(), fence.clone(), store(16), fence];
        let trace = Trace { events, bytes: vec![0; 8], file_count: 1 };
        let planted = Plant::EarlyPublish(1).apply(&trace).unwrap();
        let offsets: Vec<u64> = planted
            .events
            .iter()
            .filter_map(|event| match event {
                Event::Store { offset, .. } => Some(*offset),
                _ => None,
            })
            .collect();
        assert_eq!(offsets, [0, 16, 8]);
        assert!(Plant::EarlyPublish(2).apply(&trace).is_none());
        assert_eq!(Plant::SkipFlush(0).apply(&trace).unwrap().events.len(), 6);
        assert!(Plant::SkipFlush(1).apply(&trace).is_none());
    }
}
