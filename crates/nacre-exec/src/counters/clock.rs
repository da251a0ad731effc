//! Which operator a thread works for, and since when: the time of each operator without that of its
//! inputs.
//!
//! An operator that asks its input for rows waits for it in the same thread. Its time stands still
//! until the input has answered, so that no moment of a thread is counted twice. The clock is read
//! once for a vector where the operator changes, and only if operators are measured.
//!
//! # Invariants
//! 1. What begins in a thread ends in it, in reverse order: an [`OperatorTime`] is not sent.

use std::cell::Cell;
use std::marker::PhantomData;
use std::sync::Arc;
use std::time::Instant;

use super::NodeCounters;

thread_local! {
    /// The operator that the thread works for, and since when.
    static CURRENT: Cell<Option<(Arc<NodeCounters>, Instant)>> = const { Cell::new(None) };
}

/// Has the time of the thread be that of one operator until it is dropped, then that of the
/// operator before.
#[derive(Debug)]
pub(crate) struct OperatorTime {
    outer: Option<Arc<NodeCounters>>,
    /// Not to be sent to another thread.
    _thread: PhantomData<*const ()>,
}

impl OperatorTime {
    /// Begins the time of an operator.
    pub(crate) fn begin(counters: &Arc<NodeCounters>) -> Self {
        Self { outer: switch(Some(Arc::clone(counters))), _thread: PhantomData }
    }

    /// Ends the time of the present operator, and begins that of another one.
    pub(crate) fn pass_to(&self, counters: &Arc<NodeCounters>) {
        switch(Some(Arc::clone(counters)));
    }
}

impl Drop for OperatorTime {
    fn drop(&mut self) {
        switch(self.outer.take());
    }
}

/// Adds the time since the last switch to the present operator, which is returned.
fn switch(next: Option<Arc<NodeCounters>>) -> Option<Arc<NodeCounters>> {
    let now = Instant::now();
    let (present, since) = CURRENT.replace(next.map(|next| (next, now)))?;
    present.add_time(now - since);
    Some(present)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn pass(time: Duration) {
        let start = Instant::now();
        while start.elapsed() < time {
            std::hint::spin_loop();
        }
    }

    #[test]
    fn time_of_an_operator_is_without_that_of_its_input() {
        let [outer, input, other] = [(); 3].map(|()| Arc::<NodeCounters>::default());
        let (short, long) = (Duration::from_millis(1), Duration::from_millis(5));
        let start = Instant::now();
        let time = OperatorTime::begin(&outer);
        pass(short);
        {
            let _input = OperatorTime::begin(&input);
            pass(long);
        }
        pass(short);
        time.pass_to(&other);
        pass(long);
        drop(time);
        let all = start.elapsed();
        // Nobody's.
        pass(short);
        let times = [&outer, &input, &other].map(|one| one.report().time);
        assert!(times[0] >= 2 * short && times[1] >= long && times[2] >= long, "{times:?}");
        assert!(times.iter().sum::<Duration>() <= all, "{times:?} of {all:?}");
    }

    #[test]
    fn threads_count_apart() {
        let counters = [(); 2].map(|()| Arc::<NodeCounters>::default());
        let _outer = OperatorTime::begin(&counters[0]);
        std::thread::scope(|scope| {
            scope.spawn(|| drop(OperatorTime::begin(&counters[1])));
        });
        // The thread had no operator before, and has stopped none of this one.
        assert_eq!(counters[0].report().time, Duration::ZERO);
        assert!(counters[1].report().time > Duration::ZERO);
    }
}
