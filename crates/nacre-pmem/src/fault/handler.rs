//! The SIGBUS handler.
//!
//! It runs on the alternate stack of the thread if there is one, with SIGBUS blocked. It does what
//! is async-signal-safe only: `mmap`, atomics, and what [`super::chain`] does for foreign signals.

use std::io;
use std::sync::OnceLock;

use libc::{c_int, c_void, siginfo_t};

use super::cell::FaultCause;
use super::{chain, registry};

/// Codes of SIGBUS, from the kernel's `siginfo.h`; not every libc names all.
pub(super) const BUS_ADRALN: c_int = 1;
const BUS_ADRERR: c_int = 2;
const BUS_OBJERR: c_int = 3;
pub(super) const BUS_MCEERR_AR: c_int = 4;
const BUS_MCEERR_AO: c_int = 5;

/// Installs the handler, once per process.
pub(super) fn install() -> io::Result<()> {
    static INSTALLED: OnceLock<Option<i32>> = OnceLock::new();
    let errno = INSTALLED.get_or_init(|| {
        let result = chain::replace_action(on_bus_error);
        // SIGBUS can be caught and the structs are valid, so only a sandbox refuses.
        result.err().map(|error| error.raw_os_error().unwrap_or(libc::EPERM))
    });
    errno.map_or(Ok(()), |errno| Err(io::Error::from_raw_os_error(errno)))
}

extern "C" fn on_bus_error(signal: c_int, info: *mut siginfo_t, context: *mut c_void) {
    // The interrupted code may be about to read it.
    let errno = chain::errno();
    // SAFETY: the kernel, or a handler that hands on, gives a valid pointer with SA_SIGINFO; the
    // field exists for SIGBUS, and is some number for signals that were sent.
    let (code, address) = unsafe { ((*info).si_code, (*info).si_addr()) };
    let cause = match code {
        BUS_ADRERR => Some(FaultCause::Missing),
        // Some processors report failed memory as an error of the object.
        BUS_OBJERR | BUS_MCEERR_AR | BUS_MCEERR_AO => Some(FaultCause::Poison),
        _ => None,
    };
    if !cause.is_some_and(|cause| registry::contain(address as usize, cause)) {
        chain::hand_on(signal, info, context);
    }
    chain::set_errno(errno);
}
