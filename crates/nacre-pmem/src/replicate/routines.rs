//! The code of every mechanism, for every flush flavour and number of replicas.
//!
//! Updates of 4 bytes are monomorphic in the mechanism, the flush flavour (but for the slow
//! clflush) and the number of replicas (1, 2, 3): no loop, no call, no test but for the size and a
//! crossed line. Other sizes are monomorphic in the flush flavour: their few predicted branches
//! are little beside a fence of 160 ns, and generating them all took longer than the rest of the
//! crate.

use crate::error::{Error, ErrorKind, Result};
use crate::flush::{CACHE_LINE_BYTES, FlushFlavour};
use crate::prefetch;
use crate::stream::StreamFlavour;

use super::block::{Clflush, Clflushopt, Clwb, Flush, NoFlush, fence, flush_small};
use super::large;
use super::mechanism::{self, Copying, Mechanism, Steps};
use super::piece::{self, Piece, Pieces, Wide};
use super::targets::{REPLICA_COUNT_MAX, Targets};
use super::worker::THRESHOLD_BYTES;

/// Which members a mechanism stores into through the cache of the calling thread, so that
/// [`Targets::prefetch`] speeds up a later `write`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cached {
    /// None: all are streamed.
    Nothing,
    /// The master.
    Master,
    /// The master and the replicas.
    All,
}

/// The two functions of a mechanism, and what they keep in the cache.
#[derive(Clone, Copy, Debug)]
pub struct Routines {
    /// Stores `bytes` bytes from `source` at `offset` of every member and starts their write-back:
    /// `write(targets, offset, source, bytes)`.
    ///
    /// # Safety
    /// The processor and `targets` are what [`routines`] was asked for: the flush flavour, the
    /// stream flavour of the targets and the mechanism are available, the number of replicas is
    /// the same. `offset .. offset + bytes` is mapped writable in every member, no other thread
    /// accesses it meanwhile, and no other thread writes through the same targets. `source` is
    /// readable for `bytes` bytes and lies in no member.
    pub write: unsafe fn(targets: &Targets, offset: usize, source: *const u8, bytes: usize),
    /// Returns when everything that `write` of the same mechanism stored by this thread is durable
    /// in every member.
    pub drain: fn(),
    /// What is worth a prefetch.
    pub cached: Cached,
}

/// Returns the code of a mechanism.
///
/// `Msync` gets the code of `None`, which flushes nothing: the caller asks the kernel. Without
/// replicas all mechanisms with `SM` are the same, and all others.
///
/// # Errors
/// `Unsupported` if this processor lacks instructions of the mechanism or the flush flavour, or
/// there are more than [`REPLICA_COUNT_MAX`] replicas.
pub fn routines(
    mechanism: Mechanism,
    flush: FlushFlavour,
    replica_count: usize,
) -> Result<Routines> {
    let refuse = |problem: String, remedy: &'static str| {
        let object = format_args!("replication mechanism {mechanism}");
        Err(Error::new(ErrorKind::Unsupported, object, problem, remedy))
    };
    if !mechanism.is_available() {
        return refuse("this processor has no AVX-512 scatter".into(), "use one without SCA");
    }
    if !flush.is_available() {
        return refuse(format!("this processor has no {flush}"), "use another flush flavour");
    }
    if replica_count > REPLICA_COUNT_MAX {
        let problem = format!("{replica_count} replicas, at most {REPLICA_COUNT_MAX} are possible");
        return refuse(problem, "use fewer replicas");
    }
    let flavour = match flush {
        FlushFlavour::Clflush => 0,
        FlushFlavour::Clflushopt => 1,
        FlushFlavour::Clwb => 2,
        FlushFlavour::Msync | FlushFlavour::None => 3,
    };
    Ok(match replica_count {
        0 => UNREPLICATED[usize::from(mechanism.steps().streams_master)][flavour],
        1..=3 => TABLE[mechanism.index()][flavour][replica_count],
        _ => TABLE[mechanism.index()][flavour][MANY],
    })
}

/// As a generic parameter: the number of replicas is read from the targets.
const MANY: usize = 0;
/// As a generic parameter: no replica.
const NONE: usize = usize::MAX;

type ByCount = [Routines; 4];
type ByFlush = [ByCount; 4];

/// Indexed by whether the master is streamed, then as the table.
static UNREPLICATED: [ByCount; 2] =
    [unreplicated::<{ Mechanism::SF_PF.index() }>(), unreplicated::<{ STREAMED }>()];

const STREAMED: usize = Mechanism::MOVNT_SF_SM.index();

const fn unreplicated<const M: usize>() -> ByCount {
    [
        of::<M, Clflush, NONE>(),
        of::<M, Clflushopt, NONE>(),
        of::<M, Clwb, NONE>(),
        of::<M, NoFlush, NONE>(),
    ]
}

macro_rules! table {
    ($($index:literal)*) => { [$(by_flush::<$index>()),*] };
}

/// Indexed by mechanism, flush flavour, number of replicas (`MANY`, 1, 2, 3).
static TABLE: [ByFlush; mechanism::COUNT] = table! {
    0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19
    20 21 22 23 24 25 26 27 28 29 30 31 32 33 34 35 36 37 38 39
    40 41 42 43 44 45 46 47
};

const fn by_flush<const M: usize>() -> ByFlush {
    [
        by_count::<M, Clflush>(),
        by_count::<M, Clflushopt>(),
        by_count::<M, Clwb>(),
        by_count::<M, NoFlush>(),
    ]
}

const fn by_count<const M: usize, F: Flush>() -> ByCount {
    if Mechanism::ALL[M].steps().has_workers {
        let routines =
            Routines { write: write_threads::<M, F>, drain: drain::<M, F>, cached: cached::<M>() };
        return [routines; 4];
    }
    [of::<M, F, MANY>(), of::<M, F, 1>(), of::<M, F, 2>(), of::<M, F, 3>()]
}

const fn of<const M: usize, F: Flush, const N: usize>() -> Routines {
    Routines { write: write::<M, F, N>, drain: drain::<M, F>, cached: cached::<M>() }
}

const fn cached<const M: usize>() -> Cached {
    let steps = steps_of::<M>();
    if steps.streams_master {
        Cached::Nothing
    } else if steps.has_workers || matches!(steps.copying, Copying::NonTemporal) {
        Cached::Master
    } else {
        Cached::All
    }
}

const fn steps_of<const M: usize>() -> Steps {
    Mechanism::ALL[M].steps()
}

/// A write without workers.
///
/// # Safety
/// As for [`Routines::write`].
unsafe fn write<const M: usize, F: Flush, const N: usize>(
    targets: &Targets,
    offset: usize,
    source: *const u8,
    bytes: usize,
) {
    let steps = const { steps_of::<M>() };
    // SAFETY: the caller's contract; each piece type is for the length of its arm.
    unsafe {
        match bytes {
            4 if const { N != MANY && F::IS_MONOMORPHIC } => {
                small::<F, N, u32>(steps, targets, offset, source, 4)
            }
            _ => write_any::<F>(steps, targets, offset, source, bytes),
        }
    }
}

/// The sizes whose code all mechanisms share.
///
/// # Safety
/// As for [`Routines::write`].
#[inline(never)]
unsafe fn write_any<F: Flush>(
    steps: Steps,
    targets: &Targets,
    offset: usize,
    source: *const u8,
    bytes: usize,
) {
    // SAFETY: the caller's contract; each piece type is for the lengths of its arm.
    unsafe {
        match bytes {
            0 => {}
            1 => small::<F, MANY, Pieces<u8, 1>>(steps, targets, offset, source, 1),
            2 => small::<F, MANY, Pieces<u16, 1>>(steps, targets, offset, source, 2),
            3 => small::<F, MANY, Pieces<u16, 2>>(steps, targets, offset, source, 3),
            4 => small::<F, MANY, u32>(steps, targets, offset, source, 4),
            5..=7 => small::<F, MANY, Pieces<u32, 2>>(steps, targets, offset, source, bytes),
            8 => small::<F, MANY, Pieces<u64, 1>>(steps, targets, offset, source, 8),
            9..=16 => small::<F, MANY, Pieces<u64, 2>>(steps, targets, offset, source, bytes),
            17..=32 => small::<F, MANY, Pieces<Wide, 2>>(steps, targets, offset, source, bytes),
            33..=64 => small::<F, MANY, Pieces<Wide, 4>>(steps, targets, offset, source, bytes),
            _ => large::write::<F>(steps, targets, offset, source, bytes),
        }
    }
}

/// # Safety
/// As for [`Routines::write`]; `bytes` as for [`Piece::load`].
#[inline(always)]
unsafe fn small<F: Flush, const N: usize, P: Piece>(
    steps: Steps,
    targets: &Targets,
    offset: usize,
    source: *const u8,
    bytes: usize,
) {
    let count = match N {
        NONE => 0,
        MANY => targets.replica_count(),
        _ => N,
    };
    debug_assert_eq!(count, targets.replica_count());
    let lanes = targets.lanes();
    let master = targets.master().wrapping_add(offset);
    let streams = steps.copying == Copying::NonTemporal && piece::can_stream(offset, bytes);
    let streams_master = steps.streams_master && streams;
    if steps.prefetches {
        if !streams_master {
            prefetch::range_for_write(master, bytes);
        }
        if !streams {
            for base in &lanes.0[..count] {
                prefetch::range_for_write(base.wrapping_add(offset), bytes);
            }
        }
    }
    // SAFETY: all ranges are valid by the caller's contract, all instructions available.
    unsafe {
        let pieces = P::load(source, bytes);
        if streams_master {
            pieces.store_nt(targets.stream(), master, source, bytes);
            step_fence::<F>(steps, true);
        } else {
            pieces.store(master, bytes);
        }
        if !steps.master_last && !streams_master {
            flush_small::<F>(master, bytes);
            step_fence::<F>(steps, false);
        }
        if steps.copying == Copying::Scatter && count > 0 {
            pieces.scatter(lanes, count, offset, source, bytes);
        }
        for base in &lanes.0[..count] {
            let target = base.wrapping_add(offset);
            if streams {
                pieces.store_nt(targets.stream(), target, source, bytes);
            } else {
                if steps.copying != Copying::Scatter {
                    pieces.store(target, bytes);
                }
                flush_small::<F>(target, bytes);
            }
            step_fence::<F>(steps, streams);
        }
        if steps.master_last {
            flush_small::<F>(master, bytes);
            step_fence::<F>(steps, false);
        }
    }
}

#[inline(always)]
fn step_fence<F: Flush>(steps: Steps, has_streamed: bool) {
    if !steps.is_async && (F::IS_WEAK || has_streamed) {
        fence();
    }
}

/// A write with workers: they run while this thread stores, flushes and fences the master.
///
/// # Safety
/// As for [`Routines::write`].
unsafe fn write_threads<const M: usize, F: Flush>(
    targets: &Targets,
    offset: usize,
    source: *const u8,
    bytes: usize,
) {
    let steps = const { steps_of::<M>() };
    if steps.has_threshold && bytes <= THRESHOLD_BYTES {
        // SAFETY: the caller's contract; the scatter is tested for.
        return unsafe {
            // Longer than a line a scatter takes twice the time of copies.
            if bytes <= CACHE_LINE_BYTES && mechanism::has_scatter() {
                write::<{ Mechanism::SF_SCA_PF.index() }, F, MANY>(targets, offset, source, bytes)
            } else {
                write::<{ Mechanism::SF_PF.index() }, F, MANY>(targets, offset, source, bytes)
            }
        };
    }
    let Some(workers) = targets.workers() else {
        // SAFETY: the caller's contract.
        return unsafe { write_any::<F>(steps, targets, offset, source, bytes) };
    };
    if bytes == 0 {
        return;
    }
    let master = targets.master().wrapping_add(offset);
    // SAFETY: the ranges are valid until `wait` returned; nobody else writes through `targets`.
    unsafe {
        let replicas = targets.replicas();
        workers.start_copy(copy_replica::<M, F>, targets.stream(), replicas, offset, source, bytes);
        if steps.prefetches && !steps.streams_master {
            large::prefetch(master, bytes);
        }
        if steps.streams_master {
            large::stream_range::<F>(targets.stream(), master, source, bytes);
        } else {
            large::copy_cached(master, source, bytes);
        }
        if steps.master_last {
            workers.wait();
        }
        if !steps.streams_master {
            super::block::flush_range::<F>(master, bytes);
        }
        step_fence::<F>(steps, steps.streams_master);
        if !steps.master_last {
            workers.wait();
        }
    }
}

/// What a worker does for its replica.
///
/// # Safety
/// `bytes` bytes are readable at `source` and writable at `target`; flavours are available.
unsafe fn copy_replica<const M: usize, F: Flush>(
    stream: StreamFlavour,
    target: *mut u8,
    source: *const u8,
    bytes: usize,
) {
    let steps = const { steps_of::<M>() };
    let streams = steps.copying == Copying::NonTemporal;
    if steps.prefetches && !streams {
        large::prefetch(target, bytes);
    }
    // SAFETY: the caller's contract.
    unsafe {
        if streams {
            large::stream_range::<F>(stream, target, source, bytes);
        } else {
            large::copy_and_flush::<F>(target, source, bytes);
        }
    }
    step_fence::<F>(steps, streams);
}

fn drain<const M: usize, F: Flush>() {
    let steps = const { steps_of::<M>() };
    let is_async = steps.is_async || steps.has_threshold;
    let streams = matches!(steps.copying, Copying::NonTemporal);
    // Where nothing is flushed, a fence still empties the store buffer before the caller goes on.
    let flushes = F::FLAVOUR.is_instruction();
    if !flushes || (is_async && (F::IS_WEAK || streams)) {
        fence();
    }
}

const _: () = assert!(CACHE_LINE_BYTES == 64, "`write` takes updates of a line for small");
