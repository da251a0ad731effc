//! How planning is told to end: binding, optimizing and lowering a query.
//!
//! 1. Whoever plans on a thread says with [`until_stopped`] what asks for the end.
//! 2. What may be repeated often asks [`is_stopped`] each time, and returns early with anything:
//!    its result is thrown away.
//!
//! It is the thread's, as every function of the planner would have to hand it on otherwise.
//!
//! # Invariants
//! 1. Once [`is_stopped`] says so, it does until the planning is over, so that a part that ended
//!    early is never taken for a whole one.
//! 2. What is done between two looks takes microseconds, so that planning ends within
//!    milliseconds.

use std::cell::{Cell, RefCell};
use std::fmt;
use std::rc::Rc;

/// Looks at the flag between two questions to the caller, which may have to read a clock.
const LOOKS: u32 = 64;

thread_local! {
    static LOOK_COUNT: Cell<u32> = const { Cell::new(0) };
    static IS_STOPPED: Cell<bool> = const { Cell::new(false) };
    static INTERRUPT: RefCell<Option<Rc<dyn Fn() -> bool>>> = const { RefCell::new(None) };
}

/// Planning has ended before there was a plan, as its caller asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlanningStopped;

impl fmt::Display for PlanningStopped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("planning was stopped")
    }
}

impl std::error::Error for PlanningStopped {}

/// Puts back what was there before, also when a panic unwinds.
struct PreviousInterrupt {
    interrupt: Option<Rc<dyn Fn() -> bool>>,
    was_stopped: bool,
}

impl Drop for PreviousInterrupt {
    fn drop(&mut self) {
        INTERRUPT.set(self.interrupt.take());
        IS_STOPPED.set(self.was_stopped);
    }
}

/// Runs `plan`, which ends early once `should_stop` says so.
///
/// # Errors
/// [`PlanningStopped`] if it has; what `plan` returned means nothing then.
pub fn until_stopped<T>(
    should_stop: impl Fn() -> bool + 'static,
    plan: impl FnOnce() -> T,
) -> Result<T, PlanningStopped> {
    let interrupt = INTERRUPT.replace(Some(Rc::new(should_stop)));
    let _previous = PreviousInterrupt { interrupt, was_stopped: IS_STOPPED.replace(false) };
    let planned = plan();
    if IS_STOPPED.get() { Err(PlanningStopped) } else { Ok(planned) }
}

/// Whether planning on this thread is to end.
pub fn is_stopped() -> bool {
    let looks = LOOK_COUNT.get().wrapping_add(1);
    LOOK_COUNT.set(looks);
    if looks.is_multiple_of(LOOKS) && !IS_STOPPED.get() {
        let interrupt = INTERRUPT.with_borrow(Option::clone);
        IS_STOPPED.set(interrupt.is_some_and(|should_stop| should_stop()));
    }
    IS_STOPPED.get()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn planning_is_stopped_from_the_next_question_on() {
        let looks = Rc::new(Cell::new(0));
        let asked = Rc::clone(&looks);
        let ask = move || {
            asked.set(asked.get() + 1);
            asked.get() == 2
        };
        let stopped = until_stopped(ask, || {
            assert_eq!(until_stopped(|| false, || (0..1_000).any(|_| is_stopped())), Ok(false));
            let seen = (0..1_000).filter(|_| is_stopped()).count();
            assert!((1_000 - 2 * LOOKS as usize..1_000).contains(&seen), "{seen}");
        });
        assert_eq!(stopped, Err(PlanningStopped));
        assert_eq!(looks.get(), 2);
        assert!((0..1_000).all(|_| !is_stopped()));
        assert_eq!(until_stopped(|| true, || 7), Ok(7));
    }
}
