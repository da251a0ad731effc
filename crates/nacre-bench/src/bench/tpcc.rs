//! `nacre bench tpcc`: orders of a wholesale supplier, with and without versions.
//!
//! Questions: what do versions, validation and a durable redo log cost transactions that mostly
//! write? How many transactions that overlap are refused, by isolation level? Baselines: the same
//! tables, indexes and code without concurrency control (`nacre_store::SingleVersion`), which
//! serves the first question; snapshot isolation for SERIALIZABLE, SERIALIZABLE in DRAM for that
//! with a redo log, which gets the changed rows, or the calls of procedures that changed them. How
//! fast is the same mix as functions of PostgreSQL ([`tpcc_postgres`])?
//!
//! Kept equal: inputs, data in DRAM, one thread, no think time, full mix. Sides take turns on
//! databases of their own; medians of the rounds count. After the last round the consistency
//! conditions 1 to 4 are checked in each database.
//!
//! # Source
//! [Muehlbauer16 2.4.3, 2.4.4] Figure 2.11: a fifth less than single-version, above 100,000
//! transactions a second; Figure 2.13: abort rates.

use std::path::PathBuf;

use nacre_store::{IsolationLevel, OpenOptions, Store, ValidationLevel};

use crate::bench::Setup;
use crate::bench::oltp::{Side, take_turns};
use crate::bench::tpcc_postgres;
use crate::error::{Error, Result};
use crate::format::count;
use crate::oltp::interleave;
use crate::oltp::tpcc::input::{Scale, Terminal};
use crate::oltp::tpcc::load::load;
use crate::oltp::tpcc::schema::Tables;
use crate::oltp::tpcc::{consistency, mix, procedures};
use crate::oltp::work::{MultiVersion, OneVersion, System};
use crate::report::{Measurement, Report};

const WAREHOUSES: i64 = 5;
const SCALE_QUICK: Scale = Scale { warehouses: 1, items: 5_000, customers: 150 };

/// Transactions of a round unless `--values` says otherwise.
const TRANSACTIONS: u64 = 200_000;
const TRANSACTIONS_QUICK: u64 = 4_000;

/// A round beside PostgreSQL is shorter by this.
const POSTGRES_SHARE: u64 = 20;

/// Transactions that overlap in the second part, at any time.
const CLIENTS: usize = 10;

/// Seeds of the second part; those of the first are the numbers of its rounds.
const INTERLEAVED_SEED: u64 = 1_000;

/// Measures both parts.
pub(super) fn run(setup: &Setup, report: &mut Report) -> Result<()> {
    let scale = if setup.is_quick { SCALE_QUICK } else { Scale::full(WAREHOUSES) };
    let usual = if setup.is_quick { TRANSACTIONS_QUICK } else { TRANSACTIONS };
    let transactions = setup.values.unwrap_or(usual);
    serial(setup, report, scale, transactions)?;
    overlapping(setup, report, scale, transactions.min(50_000))?;
    tpcc_postgres::run(setup, report, scale, (transactions / POSTGRES_SHARE).max(1))
}

fn serial(setup: &Setup, report: &mut Report, scale: Scale, transactions: u64) -> Result<()> {
    let rounds = if setup.is_quick { 3 } else { 5 };
    setup.console.line(format_args!(
        "TPC-C: {} warehouses, {} items, {} customers a district, 1 thread, {rounds} rounds of {} \
         transactions",
        scale.warehouses,
        count(scale.items as u64),
        count(scale.customers as u64),
        count(transactions)
    ))?;
    let directory = |name: &str| Some(setup.workspace.path().join(name));
    let (rows, calls) = (open(directory("rows"))?, open(directory("calls"))?);
    let stores = [open(None)?, open(None)?, open(None)?, rows, calls];
    let mut without = OneVersion::default();
    let mut at_snapshot = MultiVersion::new(&stores[1], IsolationLevel::RepeatableRead);
    let mut at_serializable = MultiVersion::new(&stores[2], IsolationLevel::Serializable);
    let mut at_logged = MultiVersion::new(&stores[3], IsolationLevel::Serializable);
    let mut at_called = MultiVersion::new(&stores[4], IsolationLevel::Serializable);
    let tables = [
        filled(setup, &stores[0], &mut without, scale)?,
        filled(setup, &stores[1], &mut at_snapshot, scale)?,
        filled(setup, &stores[2], &mut at_serializable, scale)?,
        filled(setup, &stores[3], &mut at_logged, scale)?,
        filled(setup, &stores[4], &mut at_called, scale)?,
    ];
    let size = (scale, transactions);
    let logged = Some("serializable");
    let mut sides = [
        side("single-version", None, (&tables[0], &mut without), size),
        side("snapshot", Some("single-version"), (&tables[1], &mut at_snapshot), size),
        side("serializable", Some("snapshot"), (&tables[2], &mut at_serializable), size),
        side("serializable+redo", logged, (&tables[3], &mut at_logged), size),
        Side::new("serializable+calls", logged, |seed| {
            let called =
                procedures::call(&stores[4], &mut Terminal::new(scale, seed), transactions);
            called.map(drop).map_err(Error::store("run TPC-C"))
        }),
    ];
    for at in [3, 4] {
        let domains = stores[at].domains();
        sides[at].is_emulated = domains.iter().any(|domain| domain.durability().emulated);
    }
    let parameters = format!("warehouses={},items={}", scale.warehouses, scale.items);
    take_turns(setup, report, ("tpcc", &parameters), (rounds, transactions), &mut sides)?;
    drop(sides);
    for (store, tables) in stores.iter().zip(&tables) {
        consistency::check(store, tables)?;
    }
    setup.console.line("   consistency conditions 1 to 4 hold in all databases")
}

fn side<'a, S: System>(
    name: &'static str,
    baseline: Option<&'static str>,
    (tables, system): (&'a Tables, &'a mut S),
    (scale, transactions): (Scale, u64),
) -> Side<'a> {
    Side::new(name, baseline, move |seed| {
        let ran = mix::run(system, tables, &mut Terminal::new(scale, seed), transactions);
        ran.map(drop).map_err(Error::store("run TPC-C"))
    })
}

fn open(directory: Option<PathBuf>) -> Result<Store> {
    let procedures = procedures::procedures().map_err(Error::store("register procedures"))?;
    let options = OpenOptions { directory, procedures, ..OpenOptions::default() };
    Store::open(options).map_err(Error::store("open a database"))
}

fn filled(setup: &Setup, store: &Store, system: &mut impl System, scale: Scale) -> Result<Tables> {
    setup.interrupt.check()?;
    load(store, system, scale).map_err(Error::store("load TPC-C"))
}

/// Reports abort rates of transactions that overlap.
fn overlapping(setup: &Setup, report: &mut Report, scale: Scale, transactions: u64) -> Result<()> {
    setup.console.line(format_args!(
        "TPC-C, {CLIENTS} transactions at once, a step of each in turn: refused of {}, percent",
        count(transactions)
    ))?;
    setup.console.line("   warehouses   snapshot   serializable   of whole records")?;
    let all: &[i64] = if setup.is_quick { &[1, 3] } else { &[1, 2, 5, 10] };
    for &warehouses in all {
        let scale = Scale { warehouses, ..scale };
        let mut rates = [0.0; 3];
        for (rate, (name, level, validation)) in rates.iter_mut().zip([
            ("snapshot", IsolationLevel::RepeatableRead, ValidationLevel::Attribute),
            ("serializable", IsolationLevel::Serializable, ValidationLevel::Attribute),
            ("serializable-records", IsolationLevel::Serializable, ValidationLevel::Record),
        ]) {
            let store = open(None)?;
            let mut system = MultiVersion::new(&store, level);
            let tables = filled(setup, &store, &mut system, scale)?;
            (system.validation, system.is_interleaved) = (validation, true);
            let mut terminal = Terminal::new(scale, INTERLEAVED_SEED);
            let ran = interleave::run(&mut system, &tables, &mut terminal, CLIENTS, transactions);
            *rate = ran.map_err(Error::store("run TPC-C"))?.abort_rate() * 100.0;
            consistency::check(&store, &tables)?;
            let id = format!("tpcc/refused/{name}/warehouses={warehouses},clients={CLIENTS}");
            report.add(&Measurement::new(id, *rate, "%"))?;
        }
        let [snapshot, attributes, records] = rates;
        setup.console.line(format_args!(
            "   {warehouses:>10} {snapshot:>10.2} {attributes:>14.2} {records:>18.2}"
        ))?;
    }
    Ok(())
}
