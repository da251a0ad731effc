//! `nacre bench tatp`: short transactions, most of which read, with and without versions.
//!
//! Question: what does concurrency control cost transactions of a microsecond? Baseline: the same
//! tables, indexes and code without it (`nacre_store::SingleVersion`).
//!
//! Kept equal: inputs, data in DRAM without a redo log, one thread, standard mix of the seven
//! transactions. Both sides take turns; medians of the rounds count.
//!
//! # Source
//! [Muehlbauer16 2.4.3] Table 2.3: 407,564 transactions a second of 421,940 (0.97).

use nacre_store::{IsolationLevel, OpenOptions, Store};

use crate::bench::Setup;
use crate::bench::oltp::{Side, take_turns};
use crate::error::{Error, Result};
use crate::format::count;
use crate::memory;
use crate::oltp::tatp::{Tables, load, run as run_mix};
use crate::oltp::work::{MultiVersion, OneVersion, System};
use crate::report::Report;

const SUBSCRIBERS: u64 = 1_000_000;
const SUBSCRIBERS_QUICK: u64 = 50_000;

/// Bytes that a subscriber takes in all tables and indexes of the three databases, about.
const BYTES_PER_SUBSCRIBER: u64 = 3 * 900;

/// Measures the mix.
pub(super) fn run(setup: &Setup, report: &mut Report) -> Result<()> {
    let wanted =
        setup.values.unwrap_or(if setup.is_quick { SUBSCRIBERS_QUICK } else { SUBSCRIBERS });
    let subscribers = memory::fit(setup.console, wanted, BYTES_PER_SUBSCRIBER)?;
    let (rounds, transactions) = if setup.is_quick { (3, 20_000) } else { (7, 500_000) };
    setup.console.line(format_args!(
        "TATP: {} subscribers, 1 thread, {rounds} rounds of {} transactions",
        count(subscribers),
        count(transactions)
    ))?;
    let stores = [empty()?, empty()?, empty()?];
    let mut without = OneVersion::default();
    let mut at_snapshot = MultiVersion::new(&stores[1], IsolationLevel::RepeatableRead);
    let mut at_serializable = MultiVersion::new(&stores[2], IsolationLevel::Serializable);
    let tables = [
        filled(setup, &stores[0], &mut without, subscribers)?,
        filled(setup, &stores[1], &mut at_snapshot, subscribers)?,
        filled(setup, &stores[2], &mut at_serializable, subscribers)?,
    ];
    let size = (subscribers, transactions);
    let baseline = Some("single-version");
    let mut sides = [
        side("single-version", None, (&tables[0], &mut without), size),
        side("snapshot", baseline, (&tables[1], &mut at_snapshot), size),
        side("serializable", baseline, (&tables[2], &mut at_serializable), size),
    ];
    let parameters = format!("subscribers={subscribers}");
    take_turns(setup, report, ("tatp", &parameters), (rounds, transactions), &mut sides)
}

fn side<'a, S: System>(
    name: &'static str,
    baseline: Option<&'static str>,
    (tables, system): (&'a Tables, &'a mut S),
    (subscribers, transactions): (u64, u64),
) -> Side<'a> {
    Side::new(name, baseline, move |seed| {
        let ran = run_mix(system, tables, subscribers, seed, transactions);
        ran.map(drop).map_err(Error::store("run TATP"))
    })
}

fn empty() -> Result<Store> {
    Store::open(OpenOptions::default()).map_err(Error::store("open a database"))
}

fn filled(
    setup: &Setup,
    store: &Store,
    system: &mut impl System,
    subscribers: u64,
) -> Result<Tables> {
    setup.interrupt.check()?;
    load(store, system, subscribers).map_err(Error::store("load TATP"))
}
