//! One thread for each replica, which copies, flushes and fences when the master's thread says so.
//!
//! 1. The writer fills in the job, then raises `requested` of every worker.
//! 2. A worker that sees a new number does the job and stores the number in `completed`.
//! 3. The writer does the master's part meanwhile, then waits for every `completed`.
//!
//! Whoever waits looks a bounded number of times, then sleeps in the kernel until it is woken; with
//! fewer processors than threads it sleeps at once, since looking would keep the other from work.
//!
//! # Concurrency
//! One writer at a time. Stores to a number and to `is_asleep` of the other side are sequentially
//! consistent: either the waker sees the sleeper, or the sleeper sees the number.

use std::cell::UnsafeCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread::JoinHandle;

use rustix::thread::futex;

use crate::error::{Error, Result};
use crate::stream::StreamFlavour;

/// Updates of at most this many bytes bypass the workers of a mechanism with `Trs`. One thread
/// brings them to three replicas in 7 us, and waking workers that sleep takes 15 us (two
/// processors, Zen 4). The paper has 32 bytes.
pub const THRESHOLD_BYTES: usize = 16384;

/// How often a waiting thread looks before it sleeps, about 20 us.
const LOOKS: u32 = 1000;

/// What a worker does: the monomorphic code of a mechanism for one replica.
pub(super) type Copy = unsafe fn(StreamFlavour, *mut u8, *const u8, usize);

#[derive(Clone, Copy)]
struct Job {
    copy: Copy,
    stream: StreamFlavour,
    target: *mut u8,
    source: *const u8,
    bytes: usize,
}

/// A number that goes up, and who waits for it.
#[derive(Debug)]
#[repr(align(64))]
struct Signal {
    number: AtomicU32,
    is_asleep: AtomicBool,
}

impl Signal {
    fn new() -> Signal {
        Signal { number: AtomicU32::new(0), is_asleep: AtomicBool::new(false) }
    }

    fn raise(&self, number: u32) {
        self.number.store(number, Ordering::SeqCst);
        if self.is_asleep.load(Ordering::SeqCst) {
            // Fails only for a bad address.
            let _ = futex::wake(&self.number, futex::Flags::PRIVATE, 1);
        }
    }

    /// Waits until the number is not `old` and returns it.
    fn wait(&self, old: u32, looks: u32) -> u32 {
        for _ in 0..looks {
            let number = self.number.load(Ordering::SeqCst);
            if number != old {
                return number;
            }
            std::hint::spin_loop();
        }
        self.is_asleep.store(true, Ordering::SeqCst);
        loop {
            let number = self.number.load(Ordering::SeqCst);
            if number != old {
                self.is_asleep.store(false, Ordering::SeqCst);
                return number;
            }
            // Returns early if the number has changed or a signal arrived: looks again.
            let _ = futex::wait(&self.number, futex::Flags::PRIVATE, old, None);
        }
    }
}

struct Shared {
    requested: Signal,
    completed: Signal,
    /// Written by the writer before `requested` goes up, read by the worker after; the writer
    /// does not touch it again before `completed` has followed. `None` ends the worker.
    job: UnsafeCell<Option<Job>>,
    looks: u32,
}

// SAFETY: `job` changes hands by the two signals, as its comment says; the addresses in it are
// valid until `completed` follows, by the contract of `Workers::start_copy`.
unsafe impl Send for Shared {}
// SAFETY: as above.
unsafe impl Sync for Shared {}

impl Shared {
    fn serve(&self) {
        let mut number = 0;
        loop {
            number = self.requested.wait(number, self.looks);
            // SAFETY: `requested` went up, so the job is the worker's until `completed` follows.
            let job = unsafe { *self.job.get() };
            let Some(job) = job else {
                return;
            };
            // SAFETY: the writer keeps both ranges valid until `completed` follows.
            unsafe { (job.copy)(job.stream, job.target, job.source, job.bytes) };
            self.completed.raise(number);
        }
    }
}

/// The workers of a pool set.
pub(super) struct Workers {
    workers: Vec<(Arc<Shared>, JoinHandle<()>)>,
}

impl std::fmt::Debug for Workers {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} workers", self.workers.len())
    }
}

impl Workers {
    /// Starts `count` workers.
    pub(super) fn start(count: usize) -> Result<Workers> {
        let processors = std::thread::available_parallelism().map_or(1, |count| count.get());
        let looks = if processors > count { LOOKS } else { 0 };
        let mut started = Workers { workers: Vec::with_capacity(count) };
        for index in 0..count {
            let shared = Arc::new(Shared {
                requested: Signal::new(),
                completed: Signal::new(),
                job: UnsafeCell::new(None),
                looks,
            });
            let own = Arc::clone(&shared);
            let thread = std::thread::Builder::new()
                .name(format!("nacre-replica-{}", index + 1))
                .spawn(move || own.serve())
                .map_err(|error| Error::os("replica worker", "cannot start a thread", error))?;
            started.workers.push((shared, thread));
        }
        Ok(started)
    }

    /// Lets each worker copy `bytes` bytes from `source` to `offset` behind its address.
    ///
    /// # Safety
    /// The ranges are valid until [`Workers::wait`] returned, which is called before this is
    /// called again and before anything else touches them; `replicas` has an address for each
    /// worker; no other thread is in either call.
    pub(super) unsafe fn start_copy(
        &self,
        copy: Copy,
        stream: StreamFlavour,
        replicas: &[*mut u8],
        offset: usize,
        source: *const u8,
        bytes: usize,
    ) {
        for ((shared, _), base) in self.workers.iter().zip(replicas) {
            let target = base.wrapping_add(offset);
            let job = Job { copy, stream, target, source, bytes };
            shared.ask(Some(job));
        }
    }

    /// Waits until every worker has done what it was asked last.
    pub(super) fn wait(&self) {
        for (shared, _) in &self.workers {
            // ORDERING: Relaxed, only the writer stores it.
            let asked = shared.requested.number.load(Ordering::Relaxed);
            let mut done = asked.wrapping_sub(1);
            while done != asked {
                done = shared.completed.wait(done, shared.looks);
            }
        }
    }
}

impl Shared {
    fn ask(&self, job: Option<Job>) {
        // ORDERING: Relaxed, only the writer stores it.
        let asked = self.requested.number.load(Ordering::Relaxed);
        // SAFETY: the worker has completed what it was asked before, so it does not read the job.
        unsafe { *self.job.get() = job };
        self.requested.raise(asked.wrapping_add(1));
    }
}

impl Drop for Workers {
    fn drop(&mut self) {
        for (shared, thread) in self.workers.drain(..) {
            shared.ask(None);
            // A worker cannot panic: it only copies, flushes, fences and waits.
            let _ = thread.join();
        }
    }
}
