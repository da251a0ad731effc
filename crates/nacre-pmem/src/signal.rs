//! SIGXFSZ, which would kill a process that writes past its file size limit.
//!
//! `pwrite`, `ftruncate` and `fallocate` beyond RLIMIT_FSIZE raise SIGXFSZ, whose default ends the
//! process, before they return EFBIG. An engine must report the limit instead, so opening a
//! writable domain (and a DRAM domain, whose memory files obey the same limit) ignores the signal
//! for the process. A handler that the host program installed is left alone. Child processes
//! inherit an ignored signal; those that mind can reset it.

use std::sync::Once;

static IGNORE: Once = Once::new();

/// Ignores SIGXFSZ unless the program has a handler for it, once per process.
pub fn ignore_file_size_signal() {
    IGNORE.call_once(|| {
        // SAFETY: `sigaction` is a C struct for which all zeros is a valid value.
        let mut current: libc::sigaction = unsafe { std::mem::zeroed() };
        // SAFETY: the new action may be null (query only); `current` is valid for writing.
        let result = unsafe { libc::sigaction(libc::SIGXFSZ, std::ptr::null(), &mut current) };
        if result == 0 && current.sa_sigaction == libc::SIG_DFL {
            // SAFETY: SIG_IGN installs no code, so no handler has to be async-signal-safe.
            unsafe { libc::signal(libc::SIGXFSZ, libc::SIG_IGN) };
        }
    });
}
