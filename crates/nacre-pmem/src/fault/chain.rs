//! The action for SIGBUS that was there before ours, and how a signal is handed on to it.
//!
//! | earlier action | what happens |
//! |---|---|
//! | handler | it is called with its own mask, SA_SIGINFO, SA_NODEFER and SA_RESETHAND honoured |
//! | SIG_IGN | a sent signal is ignored; a fault ends the process, as the kernel would have done |
//! | SIG_DFL | the process ends by SIGBUS; a core file shows the original address |
//!
//! Rust's own handler (it reports stack overflows) is a handler like any other: it restores SIG_DFL
//! and returns, so that the access fails again and ends the process.

use std::io;
use std::mem;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicPtr, Ordering};

use libc::{c_int, c_void, siginfo_t};

use super::handler::{BUS_ADRALN, BUS_MCEERR_AR};

type InfoHandler = extern "C" fn(c_int, *mut siginfo_t, *mut c_void);
type PlainHandler = extern "C" fn(c_int);

/// The earlier action.
struct Previous {
    action: libc::sigaction,
    /// It had SA_RESETHAND and was called.
    is_spent: AtomicBool,
}

/// Null before our handler is installed; leaked, and replaced at most once.
static PREVIOUS: AtomicPtr<Previous> = AtomicPtr::new(ptr::null_mut());

/// Makes `handler` the action for SIGBUS and remembers the earlier one.
pub(super) fn replace_action(handler: InfoHandler) -> io::Result<()> {
    // SAFETY: `sigaction` is a C struct for which all zeros is a valid value.
    let mut ours: libc::sigaction = unsafe { mem::zeroed() };
    ours.sa_sigaction = handler as *const () as usize;
    // Without SA_NODEFER: the handler itself touches no mapping of a pool.
    ours.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK | libc::SA_RESTART;
    // Remembered first: our handler may be called before `sigaction` returns.
    let expected = exchange_action(ptr::null())?;
    remember(expected);
    let replaced = exchange_action(&ours)?;
    if replaced.sa_sigaction != expected.sa_sigaction {
        // Another thread installed one in between.
        remember(replaced);
    }
    Ok(())
}

fn remember(action: libc::sigaction) {
    let previous = Box::new(Previous { action, is_spent: AtomicBool::new(false) });
    PREVIOUS.store(Box::leak(previous), Ordering::SeqCst);
}

/// Sets the action for SIGBUS, unless `new` is null, and returns the one before.
fn exchange_action(new: *const libc::sigaction) -> io::Result<libc::sigaction> {
    // SAFETY: all zeros is a valid value of this C struct.
    let mut old: libc::sigaction = unsafe { mem::zeroed() };
    // SAFETY: `new` is null or valid (callers), `old` is valid for writing.
    match unsafe { libc::sigaction(libc::SIGBUS, new, &mut old) } {
        0 => Ok(old),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Handler: gives a signal that is not ours to the earlier action.
pub(super) fn hand_on(signal: c_int, info: *mut siginfo_t, context: *mut c_void) {
    // SAFETY: null, or leaked by `remember` and never freed.
    let Some(previous) = (unsafe { PREVIOUS.load(Ordering::SeqCst).as_ref() }) else {
        return end_process(signal, info);
    };
    let action = &previous.action;
    let is_once = action.sa_flags & libc::SA_RESETHAND != 0;
    match action.sa_sigaction {
        libc::SIG_IGN if !is_fault(info) => {}
        libc::SIG_IGN | libc::SIG_DFL => end_process(signal, info),
        _ if is_once && previous.is_spent.swap(true, Ordering::SeqCst) => {
            end_process(signal, info);
        }
        handler => {
            mask_as(action);
            let handler = handler as *const ();
            if action.sa_flags & libc::SA_SIGINFO != 0 {
                // SAFETY: with SA_SIGINFO the field holds a function of this type.
                let handler = unsafe { mem::transmute::<*const (), InfoHandler>(handler) };
                handler(signal, info, context);
            } else {
                // SAFETY: without SA_SIGINFO the field holds a function of this type.
                let handler = unsafe { mem::transmute::<*const (), PlainHandler>(handler) };
                handler(signal);
            }
        }
    }
}

/// Blocks and unblocks what the kernel would have for this action. The kernel restores the mask of
/// the interrupted code when our handler returns.
fn mask_as(action: &libc::sigaction) {
    // SAFETY: the set is initialised; a null pointer for the old mask is allowed.
    unsafe { libc::pthread_sigmask(libc::SIG_BLOCK, &action.sa_mask, ptr::null_mut()) };
    if action.sa_flags & libc::SA_NODEFER != 0 {
        // SAFETY: all zeros is a valid value of this C struct.
        let mut set: libc::sigset_t = unsafe { mem::zeroed() };
        // SAFETY: the set is valid for writing, the signal exists.
        unsafe { libc::sigaddset(&mut set, libc::SIGBUS) };
        // SAFETY: as above.
        unsafe { libc::pthread_sigmask(libc::SIG_UNBLOCK, &set, ptr::null_mut()) };
    }
}

/// Whether the kernel raised the signal for what the thread did, so that returning would repeat it.
fn is_fault(info: *const siginfo_t) -> bool {
    // SAFETY: the pointer comes from the kernel (see the handler).
    let code = unsafe { (*info).si_code };
    (BUS_ADRALN..=BUS_MCEERR_AR).contains(&code)
}

/// Restores the default action and sends the same signal again; it is delivered when our handler
/// returns, since it is blocked until then.
fn end_process(signal: c_int, info: *const siginfo_t) {
    // SAFETY: all zeros is a valid value of this C struct, with SIG_DFL as action.
    let default: libc::sigaction = unsafe { mem::zeroed() };
    let _ = exchange_action(&default);
    // SAFETY: these calls have no argument.
    let (process, thread) = unsafe { (libc::getpid(), libc::syscall(libc::SYS_gettid)) };
    // SAFETY: `info` is valid; a process may send itself any code.
    let sent = unsafe {
        libc::syscall(libc::SYS_rt_tgsigqueueinfo, process, thread as c_int, signal, info)
    };
    if sent != 0 {
        // SAFETY: the signal exists.
        unsafe { libc::raise(signal) };
    }
}

/// Returns the thread's error number.
pub(super) fn errno() -> c_int {
    // SAFETY: libc returns a valid pointer for this thread.
    unsafe { *libc::__errno_location() }
}

/// Sets the thread's error number.
pub(super) fn set_errno(errno: c_int) {
    // SAFETY: as in `errno`.
    unsafe { *libc::__errno_location() = errno };
}
