//! Commits that wait until they are durable.
//!
//! Transactions update some rows of a table of their thread's own. The log has two members in the
//! database's directory and one in each further domain, which is a directory beside it.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use nacre_column::ColumnType;
use nacre_store::ValueRef::Int;
use nacre_store::{OpenOptions, RowId, Store, Table};
use tempfile::TempDir;

use super::LEVEL;
use crate::bench::Setup;
use crate::error::{Error, Result};
use crate::format::count;
use crate::oltp::table::{column, create};
use crate::replication::memory_directory;
use crate::report::{Measurement, Report};

/// Rows of each thread's table.
const ROWS: i64 = 1_000;

/// Transactions of a measurement: on memory, and where each waits for a device.
const TRANSACTIONS: usize = 50_000;
const TRANSACTIONS_FILE: usize = 1_000;

/// Further domains, rows a transaction changes, and threads.
const CASES: [(usize, usize, usize); 8] =
    [(0, 1, 1), (1, 1, 1), (2, 1, 1), (3, 1, 1), (0, 10, 1), (0, 100, 1), (0, 1, 4), (0, 1, 16)];

/// Measures all cases, in memory and on files.
pub(super) fn run(setup: &Setup, report: &mut Report) -> Result<()> {
    setup.console.line("Durable commits, against the same in DRAM without a log")?;
    setup.console.line(
        "   domain   further   rows   threads     commits/s   median us   99 % us   without  ratio",
    )?;
    let files = setup.workspace.path().to_path_buf();
    let parents = [memory_directory(), Some(files)];
    for parent in parents.iter().flatten() {
        for (further, rows, threads) in CASES {
            setup.interrupt.check()?;
            measure(setup, report, parent, (further, rows, threads))?;
        }
    }
    Ok(())
}

fn measure(
    setup: &Setup,
    report: &mut Report,
    parent: &Path,
    (further, rows, threads): (usize, usize, usize),
) -> Result<()> {
    let directory = tempfile::Builder::new()
        .prefix("nacre-bench-")
        .tempdir_in(parent)
        .map_err(Error::io("create a directory in", parent))?;
    let store = open(&directory, further)?;
    let main = store.domains().into_iter().next();
    let kind = main.as_ref().map_or_else(String::new, |domain| domain.kind().to_string());
    let is_emulated = main.is_some_and(|domain| domain.durability().emulated);
    let usual = if kind == "file" { TRANSACTIONS_FILE } else { TRANSACTIONS };
    let transactions = (if setup.is_quick { usual / 10 } else { usual } / rows.min(10)).max(50);
    let durable = commits(&store, (rows, threads), transactions)?;
    let alone = Store::open(OpenOptions::default()).map_err(Error::store("open a database"))?;
    let volatile = commits(&alone, (rows, threads), transactions)?;
    let id = |operation: &str, side: &str| {
        format!("{operation}/{side}/nacre/further={further},rows={rows},threads={threads}")
    };
    let measured = Measurement::new(id("commit", &kind), durable.rate, "tx/s")
        .against(id("commit", "dram"), volatile.rate)
        .emulated(is_emulated);
    report.add(&measured)?;
    let [median, late] = [durable.latency(50), durable.latency(99)];
    for (name, value) in [("commit-median", median), ("commit-late", late)] {
        report.add(&Measurement::new(id(name, &kind), value, "us").emulated(is_emulated))?;
    }
    setup.console.line(format_args!(
        "   {kind:<6} {further:>9} {rows:>6} {threads:>9} {:>13} {median:>11.2} {late:>9.2} {:>9} \
         {:>6.3}{}",
        count(durable.rate as u64),
        count(volatile.rate as u64),
        durable.rate / volatile.rate,
        if is_emulated { " emulated" } else { "" }
    ))
}

fn open(directory: &TempDir, further: usize) -> Result<Store> {
    let place = |name: &str| -> PathBuf { directory.path().join(name) };
    let domains = (0..further).map(|number| (format!("d{number}"), place(&format!("d{number}"))));
    let options = OpenOptions {
        directory: Some(place("main")),
        domains: domains.collect(),
        ..OpenOptions::default()
    };
    Store::open(options).map_err(Error::store("open a database"))
}

/// What committing gave.
struct Commits {
    /// Transactions a second of all threads.
    rate: f64,
    /// Of single commits, ascending.
    times: Vec<Duration>,
}

impl Commits {
    /// Returns the time in microseconds that so many percent of the commits do not exceed.
    fn latency(&self, percent: usize) -> f64 {
        let at = (self.times.len() * percent / 100).min(self.times.len().saturating_sub(1));
        self.times.get(at).copied().unwrap_or_default().as_secs_f64() * 1e6
    }
}

fn commits(store: &Store, (rows, threads): (usize, usize), transactions: usize) -> Result<Commits> {
    let failed = || Error::store("commit transactions");
    let tables = (0..threads).map(|thread| filled(store, thread));
    let tables: Vec<_> = tables.collect::<nacre_store::Result<_>>().map_err(failed())?;
    let start = Instant::now();
    let times = std::thread::scope(|scope| {
        let run = |(table, ids): &(Arc<Table>, Vec<RowId>)| -> nacre_store::Result<Vec<Duration>> {
            (0..transactions / threads)
                .map(|number| commit(store, (table, ids), number * rows, rows))
                .collect()
        };
        let running: Vec<_> = tables.iter().map(|own| scope.spawn(move || run(own))).collect();
        let mut times = Vec::new();
        for thread in running {
            match thread.join() {
                Ok(own) => times.extend(own?),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        nacre_store::Result::Ok(times)
    });
    let elapsed = start.elapsed().as_secs_f64();
    let mut times = times.map_err(failed())?;
    times.sort_unstable();
    Ok(Commits { rate: times.len() as f64 / elapsed, times })
}

fn filled(store: &Store, thread: usize) -> nacre_store::Result<(Arc<Table>, Vec<RowId>)> {
    let columns = vec![column("a", ColumnType::BigInt), column("b", ColumnType::BigInt)];
    let table = create(store, &format!("t{thread}"), columns)?;
    let mut transaction = store.begin(LEVEL);
    let ids: nacre_store::Result<Vec<RowId>> =
        (0..ROWS).map(|row| transaction.insert(&table, &[Int(row), Int(row)])).collect();
    transaction.commit()?;
    Ok((table, ids?))
}

/// Changes some rows and returns how long the commit took.
fn commit(
    store: &Store,
    (table, ids): (&Arc<Table>, &[RowId]),
    first: usize,
    rows: usize,
) -> nacre_store::Result<Duration> {
    let mut transaction = store.begin(LEVEL);
    for number in first..first + rows {
        transaction.update(table, ids[number % ids.len()], &[(1, Int(number as i64))])?;
    }
    let start = Instant::now();
    transaction.commit()?;
    Ok(start.elapsed())
}
