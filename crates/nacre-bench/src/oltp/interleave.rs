//! Several transactions of one thread at once: a step of each in turn.
//!
//! Bodies wait between their steps, and nothing else does: so transactions overlap as those of
//! clients do whose round trips take long, and each run of the same inputs gives the same answer.
//!
//! # Source
//! [Muehlbauer16 2.4.4] transactions that are cut into tasks, and their abort rates.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use nacre_store::Result;

use super::tpcc::input::{Input, Terminal};
use super::tpcc::mix::{Counts, body};
use super::tpcc::schema::Tables;
use super::work::{MultiVersion, System, Versioned, end};

type Running<'a> = Pin<Box<dyn Future<Output = (Versioned, Result<bool>)> + 'a>>;

/// Runs transactions until `count` have committed or been rolled back, `clients` of them at a time.
/// One that conflicts is counted and gives way to the next.
///
/// # Errors
/// Those of the engine but conflicts.
pub(crate) fn run(
    system: &mut MultiVersion,
    tables: &Tables,
    terminal: &mut Terminal,
    clients: usize,
    count: u64,
) -> Result<Counts> {
    let mut counts = Counts::default();
    let mut running: Vec<Option<(Input, Running<'_>)>> = (0..clients).map(|_| None).collect();
    let mut started = 0;
    loop {
        let mut is_idle = true;
        for slot in &mut running {
            if slot.is_none() && started < count {
                started += 1;
                let input = terminal.next();
                *slot = Some((input, Box::pin(whole(system.begin(), tables, input))));
            }
            let Some((input, future)) = slot else {
                continue;
            };
            is_idle = false;
            if let Poll::Ready((work, kept)) =
                future.as_mut().poll(&mut Context::from_waker(Waker::noop()))
            {
                let outcome = end(system, work, kept)?;
                counts.add(input, outcome);
                *slot = None;
            }
        }
        if is_idle {
            return Ok(counts);
        }
    }
}

async fn whole(mut work: Versioned, tables: &Tables, input: Input) -> (Versioned, Result<bool>) {
    let kept = body(&mut work, tables, &input).await;
    (work, kept)
}

impl Counts {
    /// Returns the part of all transactions that conflicted.
    pub(crate) fn abort_rate(&self) -> f64 {
        let all = self.committed + self.rolled_back + self.conflicts;
        self.conflicts as f64 / all.max(1) as f64
    }
}

#[cfg(test)]
mod tests {
    use nacre_store::{IsolationLevel, OpenOptions, Store, ValidationLevel};

    use super::*;
    use crate::oltp::tpcc::consistency;
    use crate::oltp::tpcc::input::Scale;
    use crate::oltp::tpcc::load::load;

    #[test]
    fn transactions_at_once_conflict_and_leave_the_database_consistent() {
        let scale = Scale { warehouses: 2, items: 50, customers: 30 };
        let mut rates = Vec::new();
        for (level, validation) in [
            (IsolationLevel::RepeatableRead, ValidationLevel::Attribute),
            (IsolationLevel::Serializable, ValidationLevel::Attribute),
            (IsolationLevel::Serializable, ValidationLevel::Record),
        ] {
            let store = Store::open(OpenOptions::default()).unwrap();
            let mut system = MultiVersion::new(&store, level);
            let tables = load(&store, &mut system, scale).unwrap();
            system.validation = validation;
            system.is_interleaved = true;
            let counts = run(&mut system, &tables, &mut Terminal::new(scale, 5), 6, 400).unwrap();
            assert_eq!(counts.committed + counts.rolled_back + counts.conflicts, 400);
            assert!(counts.conflicts > 0 && counts.committed > 100, "{counts:?}");
            consistency::check(&store, &tables).unwrap();
            rates.push(counts.abort_rate());
        }
        assert!(rates[2] >= rates[0], "{rates:?}");
    }
}
