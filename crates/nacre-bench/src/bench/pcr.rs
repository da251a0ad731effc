//! `nacre bench pcr`: columns with polymorphic compressed replicas against uncompressed ones.
//!
//! Question: what do replicas in other formats and memories give to readers, and what do they cost
//! an appender? Baseline: one uncompressed replica; for the mixed workload two.
//!
//! | part | what runs | unit |
//! |---|---|---|
//! | `bandwidth` | reading all bytes of an uncompressed replica | GiB/s |
//! | `read` | aggregate, select 1 % and 10 %, project at random positions | queries/s |
//! | `append` | 1 MiB of values at a time, no to three replicas | M values/s, bytes a byte |
//! | `mixed` | threads that aggregate or append, by a ratio | tasks/s |
//!
//! Kept equal: values, blocks of 65,536 rows, the active flavour, the domains' medium. All schemes
//! of a group take turns in each round; medians are reported. Each thread runs whole queries, as in
//! the paper. Answers of all schemes are compared.
//!
//! # Source
//! [Zarubin22 4.2.3] Figures 4.6, 4.7 and 4.8. Differs: one socket, few cores; without persistent
//! memory it is emulated, and a replica in DRAM is as fast as the others; a policy needs a replica
//! that survives, so no scheme is in DRAM alone; a projection has a tenth as many positions as
//! values, not ten times as many.

mod append;
mod bandwidth;
mod mixed;
mod operator;
mod read;
mod scheme;

use nacre_column::Flavour;
use nacre_pmem::Domain;

use crate::bench::Setup;
use crate::dataset::DataSet;
use crate::error::{Error, Result};
use crate::format::count;
use crate::memory;
use crate::report::Report;

/// Values of a column, as in the paper.
const VALUES: u64 = 100_000_000;
const VALUES_QUICK: u64 = 2_000_000;

const ROUNDS: usize = 5;
const ROUNDS_QUICK: usize = 3;

/// Bytes that a value takes while all schemes of the reading part exist, and positions with it.
const BYTES_PER_VALUE: u64 = 64;

/// What the parts share.
struct Run<'a> {
    setup: &'a Setup,
    /// The two places of replicas.
    domains: [Domain; 2],
    dram: Domain,
    values: u64,
    rounds: usize,
    flavour: Flavour,
}

/// Measures all parts.
pub(super) fn run(setup: &Setup, report: &mut Report) -> Result<()> {
    let run = Run::new(setup)?;
    setup.console.line(format_args!(
        "Replicated columns: {} values of 64 bits, {} rounds, flavour {}, {} on {}{}",
        count(run.values),
        run.rounds,
        run.flavour,
        run.domains[0].kind(),
        run.domains[0].file_system(),
        if run.is_emulated() { ", persistence is emulated" } else { "" }
    ))?;
    bandwidth::run(&run, report)?;
    for set in DataSet::REPLICATION {
        read::run(&run, report, set)?;
    }
    for set in DataSet::REPLICATION {
        append::run(&run, report, set)?;
    }
    for set in DataSet::REPLICATION {
        mixed::run(&run, report, set)?;
    }
    Ok(())
}

impl<'a> Run<'a> {
    fn new(setup: &'a Setup) -> Result<Self> {
        let is_quick = setup.is_quick;
        let wanted = setup.values.unwrap_or(if is_quick { VALUES_QUICK } else { VALUES });
        let values = memory::fit(setup.console, wanted, BYTES_PER_VALUE)?;
        let domain = |name: &str| {
            let path = setup.workspace.path().join(name);
            Domain::create(name, &path).map_err(Error::pmem(format_args!("use {}", path.display())))
        };
        Ok(Self {
            setup,
            domains: [domain("a")?, domain("b")?],
            dram: Domain::dram("dram"),
            values,
            rounds: if is_quick { ROUNDS_QUICK } else { ROUNDS },
            flavour: Flavour::active(),
        })
    }

    fn is_emulated(&self) -> bool {
        self.domains[0].durability().emulated
    }

    /// The numbers of threads that are measured: one, and all.
    fn threads(&self) -> Vec<usize> {
        match self.setup.threads {
            0 | 1 => vec![1],
            all => vec![1, all],
        }
    }
}
