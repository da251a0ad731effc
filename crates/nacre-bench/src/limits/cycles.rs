//! The processor's cycles of this thread and the threads that it starts, where the kernel counts
//! them: `perf_event_open`.
//!
//! Virtual machines often have no such counters, and the kernel may refuse them; then there is no
//! counter, and figures are times alone.

#![allow(unsafe_code, reason = "a system call that neither the standard library nor libc wraps")]

use std::fs::File;
use std::io::Read;
use std::os::fd::{FromRawFd, RawFd};

/// Size of the first version of the kernel's attributes, which all later ones take.
const ATTRIBUTE_BYTES: u32 = 64;

const TYPE_HARDWARE: u32 = 0;
const HARDWARE_CYCLES: u64 = 0;

/// Bits of `flags`: threads started later are counted with this one; the kernel and a hypervisor
/// are not.
const INHERIT: u64 = 1 << 1;
const EXCLUDE_KERNEL: u64 = 1 << 5;
const EXCLUDE_HYPERVISOR: u64 = 1 << 6;

/// Arguments of the call: this thread, on any processor, in no group, without flags.
const THIS_THREAD: libc::c_long = 0;
const ANY_PROCESSOR: libc::c_long = -1;
const NO_GROUP: libc::c_long = -1;
const NO_FLAGS: libc::c_long = 0;

/// `perf_event_attr`, version 0.
#[repr(C)]
#[derive(Default)]
struct CounterAttributes {
    kind: u32,
    size: u32,
    config: u64,
    sample_period: u64,
    sample_type: u64,
    read_format: u64,
    flags: u64,
    wakeup_events: u32,
    breakpoint_type: u32,
    breakpoint_address: u64,
}

const _: () = assert!(size_of::<CounterAttributes>() == ATTRIBUTE_BYTES as usize);

/// Counts cycles since it was opened.
#[derive(Debug)]
pub(crate) struct CycleCounter(File);

impl CycleCounter {
    /// Opens a counter for the calling thread; `None` if there is none.
    pub(crate) fn open() -> Option<Self> {
        let attributes = CounterAttributes {
            kind: TYPE_HARDWARE,
            size: ATTRIBUTE_BYTES,
            config: HARDWARE_CYCLES,
            flags: INHERIT | EXCLUDE_KERNEL | EXCLUDE_HYPERVISOR,
            ..CounterAttributes::default()
        };
        // SAFETY: `attributes` lives until the call returns and is as large as its `size` says; the
        // kernel only reads it.
        let number = unsafe {
            libc::syscall(
                libc::SYS_perf_event_open,
                &raw const attributes,
                THIS_THREAD,
                ANY_PROCESSOR,
                NO_GROUP,
                NO_FLAGS,
            )
        };
        let number = RawFd::try_from(number).ok().filter(|number| *number >= 0)?;
        // SAFETY: the kernel has just returned this descriptor, and nobody else has it.
        let file = unsafe { File::from_raw_fd(number) };
        let counter = Self(file);
        // Some virtual machines give a counter that stands still.
        let first = counter.read()?;
        let work: u64 = (0..1_000).map(std::hint::black_box).sum();
        std::hint::black_box(work);
        (counter.read()? > first).then_some(counter)
    }

    /// Returns the cycles until now; those of threads that have ended are among them.
    pub(crate) fn read(&self) -> Option<u64> {
        let mut bytes = [0; 8];
        (&self.0).read_exact(&mut bytes).ok()?;
        Some(u64::from_ne_bytes(bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counter_counts_if_there_is_one() {
        let Some(counter) = CycleCounter::open() else {
            return;
        };
        let before = counter.read().unwrap();
        std::thread::scope(|scope| {
            scope.spawn(|| (0..100_000_u64).map(std::hint::black_box).sum::<u64>());
        });
        assert!(counter.read().unwrap() > before + 100_000);
    }
}
