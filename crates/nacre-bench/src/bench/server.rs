//! `nacre bench server`: clients of PostgreSQL talk to us and to PostgreSQL.
//!
//! Questions: how many transactions a second does `pgbench` get, short reads and TPC-B's, by
//! number of clients; how long do a million rows take? Baseline: PostgreSQL.
//!
//! Kept equal: the client programs and their arguments, TCP on the loopback device without TLS,
//! isolation level, durable commits, the file system under the data. Both servers run beside each
//! other and take turns; medians of the rounds count. TPC-B runs on the file system of temporary
//! files, and in memory, unless a directory is named.

use std::path::Path;
use std::time::Duration;

use tokio::runtime::Handle;

use super::Setup;
use super::pgbench::{Address, Load, Programs, fetch, python_with_psycopg};
use super::postgres::Server;
use super::served::Served;
use crate::engine::Engine;
use crate::error::{Error, Result};
use crate::format::{count, median, milliseconds};
use crate::replication::memory_directory;
use crate::report::{Measurement, Report};
use crate::workspace::Workspace;

/// Accounts of `pgbench` in 100,000.
const SCALE: u64 = 10;
const SCALE_QUICK: u64 = 1;

/// Seconds of a turn unless `--count` says otherwise.
const SECONDS: u64 = 5;

const ROUNDS: usize = 3;

const CLIENTS: [usize; 3] = [1, 2, 8];

/// Rows that are fetched.
const ROWS: u64 = 1_000_000;
const ROWS_QUICK: u64 = 20_000;

/// What is true after any number of TPC-B's transactions.
const BALANCED: &str = "SELECT sum(abalance) = (SELECT sum(bbalance) FROM pgbench_branches) \
                        FROM pgbench_accounts";

/// Both servers, and how to talk to them.
struct Pair {
    postgres: Server,
    nacre: Served,
    is_emulated: bool,
    /// Where both keep their data: a part of ids.
    place: &'static str,
}

/// Measures all parts; says so if there is no PostgreSQL.
pub(super) fn run(setup: &Setup, report: &mut Report) -> Result<()> {
    let place = if setup.is_directory_given { "given" } else { "disk" };
    let Some(pair) = Pair::start(setup.workspace.path(), place)? else {
        return setup.console.line("not measured: the programs of PostgreSQL were not found");
    };
    let version = pair.programs().value(&pair.postgres.address(), "SHOW server_version")?;
    setup.console.line(format_args!("pgbench and psql {version}, TCP on the loopback device"))?;
    pair.fill(setup)?;
    select_only(setup, report, &pair)?;
    tpcb(setup, report, &pair)?;
    rows(setup, report, &pair)?;
    drop(pair);
    let memory = memory_directory().filter(|_| !setup.is_directory_given);
    if let Some(memory) = memory {
        let workspace = Workspace::create(Some(&memory), "bench", false)?;
        if let Some(pair) = Pair::start(workspace.path(), "shm")? {
            pair.fill(setup)?;
            tpcb(setup, report, &pair)?;
        }
        workspace.close()?;
    }
    Ok(())
}

impl Pair {
    /// Starts both on new databases; `None` without PostgreSQL.
    fn start(directory: &Path, place: &'static str) -> Result<Option<Self>> {
        // Beside the directory of this run, which nobody else may enter.
        let parent = directory.parent().unwrap_or(Path::new("/"));
        let Some(postgres) = Server::start(parent)? else { return Ok(None) };
        let database = directory.join("database");
        let engine = Handle::current().block_on(Engine::open(&database, None))?;
        let is_emulated = engine.is_emulated();
        drop(engine);
        let nacre = Served::start(&database)?;
        Ok(Some(Self { postgres, nacre, is_emulated, place }))
    }

    fn programs(&self) -> &Programs {
        self.postgres.programs()
    }

    fn sides(&self) -> [Address; 2] {
        [self.postgres.address(), self.nacre.address()]
    }

    fn fill(&self, setup: &Setup) -> Result<()> {
        let scale = if setup.is_quick { SCALE_QUICK } else { SCALE };
        for address in self.sides() {
            setup.interrupt.check()?;
            self.programs().fill(&address, scale)?;
            self.programs().statement(&address, "CHECKPOINT")?;
        }
        Ok(())
    }
}

fn select_only(setup: &Setup, report: &mut Report, pair: &Pair) -> Result<()> {
    setup.console.line("pgbench -S: select-only")?;
    heading(setup)?;
    for mode in ["simple", "prepared"] {
        for clients in clients(setup) {
            let load = Load {
                is_select_only: true,
                mode,
                isolation: "read committed",
                clients,
                seconds: seconds(setup),
            };
            turns(setup, report, pair, load)?;
        }
    }
    Ok(())
}

fn tpcb(setup: &Setup, report: &mut Report, pair: &Pair) -> Result<()> {
    let domain = if pair.is_emulated { ", emulated" } else { "" };
    setup.console.line(format_args!("pgbench: TPC-B, durable commits, {}{domain}", pair.place))?;
    heading(setup)?;
    for isolation in ["read committed", "serializable"] {
        for clients in clients(setup) {
            let load = Load {
                is_select_only: false,
                mode: "prepared",
                isolation,
                clients,
                seconds: seconds(setup),
            };
            turns(setup, report, pair, load)?;
        }
    }
    for address in pair.sides() {
        if pair.programs().value(&address, BALANCED)? != "t" {
            let message = format!("sums of balances differ after pgbench, port {}", address.port);
            return Err(Error::Deviation(message));
        }
    }
    Ok(())
}

fn seconds(setup: &Setup) -> u64 {
    setup.values.unwrap_or(if setup.is_quick { 1 } else { SECONDS })
}

fn rounds(setup: &Setup) -> usize {
    if setup.is_quick { 1 } else { ROUNDS }
}

fn clients(setup: &Setup) -> impl Iterator<Item = usize> {
    // The quick run has time for few.
    CLIENTS.into_iter().filter(|clients| !setup.is_quick || *clients == 2)
}

fn heading(setup: &Setup) -> Result<()> {
    setup.console.line(
        "   protocol   isolation       clients  postgresql tx/s       nacre tx/s   ratio   \
         retried: postgresql, nacre",
    )
}

/// Has both run `pgbench` in turn.
fn turns(setup: &Setup, report: &mut Report, pair: &Pair, load: Load) -> Result<()> {
    let mut outcomes = [Vec::new(), Vec::new()];
    for _ in 0..rounds(setup) {
        for (address, outcomes) in pair.sides().into_iter().zip(&mut outcomes) {
            setup.interrupt.check()?;
            outcomes.push(pair.programs().load(&address, load)?);
        }
    }
    let medians = outcomes.map(|mut outcomes| {
        outcomes.sort_by(|left, right| left.rate.total_cmp(&right.rate));
        outcomes[outcomes.len() / 2]
    });
    let workload = if load.is_select_only { "select-only" } else { "tpcb" };
    let isolation = load.isolation.replace(' ', "-");
    let id = |name: &str| {
        format!(
            "pgbench/{workload}-{}/{name}/place={},isolation={isolation},clients={}",
            load.mode, pair.place, load.clients
        )
    };
    let [theirs, ours] = medians;
    let measurement = Measurement::new(id("nacre"), ours.rate, "tx/s")
        .against(id("postgresql"), theirs.rate)
        .emulated(pair.is_emulated);
    setup.console.line(format_args!(
        "   {:<10} {:<16} {:>6} {:>16} {:>16} {:>7.2}   {}, {}",
        load.mode,
        load.isolation,
        load.clients,
        count(theirs.rate as u64),
        count(ours.rate as u64),
        measurement.ratio().unwrap_or(0.0),
        count(theirs.retried),
        count(ours.retried)
    ))?;
    report.add(&measurement)
}

/// Fetches many rows.
fn rows(setup: &Setup, report: &mut Report, pair: &Pair) -> Result<()> {
    let rows = if setup.is_quick { ROWS_QUICK } else { ROWS };
    let create = format!(
        "CREATE TABLE fetched AS SELECT i AS id, CAST(i * 7919 % 100003 AS integer) AS number, \
         i * CAST(0.37 AS double precision) AS measure, \
         CAST('2020-01-01' AS date) + CAST(i % 1000 AS integer) AS day, \
         CAST(i % 100000 AS numeric(12, 2)) AS amount, 'text of row ' || CAST(i AS text) AS text \
         FROM generate_series(CAST(1 AS bigint), CAST({rows} AS bigint)) AS numbers(i)"
    );
    for address in pair.sides() {
        pair.programs().statement(&address, &create)?;
        pair.programs().statement(&address, "CHECKPOINT")?;
    }
    setup.console.line(format_args!("{} rows of 6 columns, fetched", count(rows)))?;
    setup.console.line("   by                  postgresql ms         nacre ms   ratio of speed")?;
    let copy = |address: &Address| pair.programs().statement(address, "COPY fetched TO STDOUT");
    fetched(setup, report, pair, "copy", &copy)?;
    let Some(python) = python_with_psycopg() else {
        return setup.console.line("   psycopg: not measured: no Python that has it was found");
    };
    for (name, is_binary) in [("psycopg-text", false), ("psycopg-binary", true)] {
        let fetch = |address: &Address| fetch(&python, address, "fetched", is_binary);
        fetched(setup, report, pair, name, &fetch)?;
    }
    Ok(())
}

fn fetched(
    setup: &Setup,
    report: &mut Report,
    pair: &Pair,
    name: &str,
    fetch: &dyn Fn(&Address) -> Result<Duration>,
) -> Result<()> {
    let mut times = [Vec::new(), Vec::new()];
    // One that does not count before.
    for round in 0..=rounds(setup) {
        for (address, times) in pair.sides().into_iter().zip(&mut times) {
            setup.interrupt.check()?;
            let time = fetch(&address)?;
            if round > 0 {
                times.push(time);
            }
        }
    }
    let [theirs, ours] = times.map(|times| median(&times));
    let speed = theirs.as_secs_f64() / ours.as_secs_f64();
    let id = |side: &str| format!("fetch/{name}/{side}/place={}", pair.place);
    let measurement = Measurement::new(id("nacre"), ours.as_secs_f64() * 1e3, "ms")
        .against(id("postgresql"), theirs.as_secs_f64() * 1e3)
        .paired(speed)
        .emulated(pair.is_emulated);
    setup.console.line(format_args!(
        "   {name:<16} {:>16} {:>16} {speed:>8.2}",
        milliseconds(theirs),
        milliseconds(ours)
    ))?;
    report.add(&measurement)
}
