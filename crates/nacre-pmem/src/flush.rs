//! Flush instructions: which this processor has, and write-back of a range of cache lines.
//!
//! The flavour is chosen once per domain and can be forced by `NACRE_FLUSH`. The instructions
//! start write-back; only [`fence`] waits for it, and only for the lines that the calling thread
//! flushed or streamed itself.
//!
//! # Source
//! [Zarubin22 2.1.3] persistency mechanisms: CLFLUSH, CLFLUSHOPT, CLWB, each with SFENCE.
//! WBNOINVD is left out: it needs kernel mode.

use std::fmt;
use std::str::FromStr;

/// Bytes that one flush instruction writes back, on every x86-64 processor.
pub const CACHE_LINE_BYTES: usize = 64;

/// How a range of memory is written back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FlushFlavour {
    /// Writes back and evicts, one line after the other. Every x86-64 processor has it.
    Clflush,
    /// Writes back and evicts, many lines at once.
    Clflushopt,
    /// Writes back many lines at once and may keep them cached.
    Clwb,
    /// Asks the kernel (`msync`, `fsync`).
    Msync,
    /// Nothing is flushed: nothing needs to be, or `NACRE_FLUSH=none` forces it off.
    None,
}

impl FlushFlavour {
    /// All flavours, slowest instruction first.
    pub const ALL: [FlushFlavour; 5] = [
        FlushFlavour::Clflush,
        FlushFlavour::Clflushopt,
        FlushFlavour::Clwb,
        FlushFlavour::Msync,
        FlushFlavour::None,
    ];

    /// Returns the flavours that this processor can run, slowest instruction first.
    pub fn available() -> Vec<FlushFlavour> {
        FlushFlavour::ALL.into_iter().filter(|flavour| flavour.is_available()).collect()
    }

    /// Returns the best flavour for cache-line granularity on this processor.
    pub fn best() -> FlushFlavour {
        [FlushFlavour::Clwb, FlushFlavour::Clflushopt, FlushFlavour::Clflush]
            .into_iter()
            .find(|flavour| flavour.is_available())
            .unwrap_or(FlushFlavour::Msync)
    }

    /// Whether this processor can run the flavour.
    pub fn is_available(self) -> bool {
        match self {
            FlushFlavour::Msync | FlushFlavour::None => true,
            FlushFlavour::Clflush => cfg!(target_arch = "x86_64"),
            FlushFlavour::Clflushopt => leaf_7_ebx_bit(23),
            FlushFlavour::Clwb => leaf_7_ebx_bit(24),
        }
    }

    /// Whether the flavour is an instruction, as against a system call or nothing.
    pub fn is_instruction(self) -> bool {
        !matches!(self, FlushFlavour::Msync | FlushFlavour::None)
    }

    fn name(self) -> &'static str {
        match self {
            FlushFlavour::Clflush => "clflush",
            FlushFlavour::Clflushopt => "clflushopt",
            FlushFlavour::Clwb => "clwb",
            FlushFlavour::Msync => "msync",
            FlushFlavour::None => "none",
        }
    }
}

impl fmt::Display for FlushFlavour {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for FlushFlavour {
    type Err = ();

    fn from_str(text: &str) -> Result<FlushFlavour, ()> {
        FlushFlavour::ALL.into_iter().find(|flavour| flavour.name() == text).ok_or(())
    }
}

#[cfg(target_arch = "x86_64")]
fn leaf_7_ebx_bit(bit: u32) -> bool {
    use std::arch::x86_64::{__cpuid, __cpuid_count};
    use std::sync::OnceLock;
    // Asked once: a virtual machine is left for each cpuid, which takes microseconds.
    static EBX: OnceLock<u32> = OnceLock::new();
    let read = || if __cpuid(0).eax >= 7 { __cpuid_count(7, 0).ebx } else { 0 };
    EBX.get_or_init(read) & (1 << bit) != 0
}

#[cfg(not(target_arch = "x86_64"))]
fn leaf_7_ebx_bit(_bit: u32) -> bool {
    false
}

/// Starts write-back of every line that `[start, start + bytes)` touches. `Msync` and `None` do
/// nothing here: the kernel is asked by the mapping.
///
/// # Safety
/// The range is mapped, and `flavour.is_available()`.
pub(crate) unsafe fn flush_lines(flavour: FlushFlavour, start: *const u8, bytes: usize) {
    if flavour.is_instruction() {
        crate::sim::flushed(start, bytes);
    }
    for line in lines(start as usize, bytes) {
        #[cfg(target_arch = "x86_64")]
        match flavour {
            // SAFETY: a line that overlaps a mapped range lies in a mapped page, since pages are
            // multiples of lines; every x86-64 processor has the instruction.
            FlushFlavour::Clflush => unsafe { std::arch::x86_64::_mm_clflush(line as *const u8) },
            // SAFETY: mapped as above; available by the caller's contract. The block is not
            // `nomem`, so the compiler keeps earlier stores before it.
            FlushFlavour::Clflushopt => unsafe {
                std::arch::asm!("clflushopt [{}]", in(reg) line, options(nostack, preserves_flags));
            },
            // SAFETY: as for clflushopt.
            FlushFlavour::Clwb => unsafe {
                std::arch::asm!("clwb [{}]", in(reg) line, options(nostack, preserves_flags));
            },
            FlushFlavour::Msync | FlushFlavour::None => return,
        }
        #[cfg(not(target_arch = "x86_64"))]
        let _ = (flavour, line);
    }
}

/// Waits until the lines that this thread flushed or streamed are in the persistence domain.
pub(crate) fn fence() {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: needs SSE, which every x86-64 processor has; the instruction has no operand.
    unsafe {
        std::arch::x86_64::_mm_sfence();
    }
    #[cfg(not(target_arch = "x86_64"))]
    std::sync::atomic::fence(std::sync::atomic::Ordering::SeqCst);
    crate::sim::fenced();
}

/// Returns the addresses of the lines that `bytes` bytes from `start` touch.
fn lines(start: usize, bytes: usize) -> impl Iterator<Item = usize> {
    let first = start & !(CACHE_LINE_BYTES - 1);
    let end = if bytes == 0 { first } else { start + bytes };
    (first..end).step_by(CACHE_LINE_BYTES)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_touched_line_is_flushed_once() {
        let list = |start, bytes| lines(start, bytes).collect::<Vec<_>>();
        assert_eq!(list(100, 0), []);
        assert_eq!(list(0, 1), [0]);
        assert_eq!(list(63, 1), [0]);
        assert_eq!(list(63, 2), [0, 64]);
        assert_eq!(list(64, 64), [64]);
        assert_eq!(list(100, 128), [64, 128, 192]);
    }

    #[test]
    fn flush_changes_no_byte() {
        let data: Vec<u8> = (0..1000u32).map(|i| i as u8).collect();
        for flavour in FlushFlavour::available() {
            // SAFETY: the range is a live vector; the flavour comes from `available`.
            unsafe { flush_lines(flavour, data.as_ptr().wrapping_add(3), 900) };
            fence();
        }
        assert!(data.iter().enumerate().all(|(i, &byte)| byte == i as u8));
    }

    #[test]
    fn best_flavour_is_available() {
        assert!(FlushFlavour::available().contains(&FlushFlavour::best()));
    }

    #[test]
    fn detection_agrees_with_the_kernel() {
        let Ok(text) = std::fs::read_to_string("/proc/cpuinfo") else {
            return;
        };
        let Some(flags) = text.lines().find(|line| line.starts_with("flags")) else {
            return;
        };
        for flavour in [FlushFlavour::Clflush, FlushFlavour::Clflushopt, FlushFlavour::Clwb] {
            let listed = flags.split_whitespace().any(|flag| flag == flavour.to_string());
            assert_eq!(flavour.is_available(), listed, "{flavour}");
        }
    }
}
