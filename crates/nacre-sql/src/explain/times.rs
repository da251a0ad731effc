//! How long a statement took.

use std::time::Duration;

/// The steps of planning in Nacre's own engine.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct PlanningTimes {
    pub(crate) parse: Duration,
    pub(crate) bind: Duration,
    pub(crate) optimize: Duration,
    pub(crate) compile: Duration,
}

/// The times of a statement.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Measured {
    pub(crate) planning: Duration,
    /// What planning is made of, if that is known.
    pub(crate) steps: Option<PlanningTimes>,
    /// `None` if it was not run.
    pub(crate) execution: Option<Duration>,
}

impl PlanningTimes {
    /// Returns the steps by their names, in their order.
    pub(crate) fn steps(self) -> [(&'static str, Duration); 4] {
        let Self { parse, bind, optimize, compile } = self;
        [
            ("Parse Time", parse),
            ("Bind Time", bind),
            ("Optimize Time", optimize),
            ("Compile Time", compile),
        ]
    }

    /// Returns the times of a statement, which was run if it has a time of execution.
    pub(crate) fn with(self, execution: Option<Duration>) -> Measured {
        let planning = self.steps().into_iter().map(|(_, time)| time).sum();
        Measured { planning, steps: Some(self), execution }
    }
}

impl Measured {
    /// Returns the times if the statement was run.
    pub(crate) fn if_run(self) -> Option<Self> {
        self.execution.map(|_| self)
    }
}

/// Returns a time as EXPLAIN writes it.
pub(crate) fn milliseconds(time: Duration) -> String {
    format!("{:.3}", time.as_secs_f64() * 1e3)
}
