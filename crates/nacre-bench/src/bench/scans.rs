//! `nacre bench scans`: what the queries of TPC-H owe to the way in which tables are scanned.
//!
//! Three questions, each to Nacre's own engine beside itself:
//!
//! 1. What do restrictions give that scans decide on encoded values? Baseline: filters above the
//!    scans decide all conditions, on decoded values ([`restrictions`]).
//! 2. What do compressed replicas give, in time and bytes read? Baseline: the same rows in one
//!    plain replica.
//! 3. How many rows should a vector have? Baseline: 8,192 ([`vectors`]).
//!
//! Kept equal: rows, threads, what joins tell the scans below them, warm caches, and turns: after
//! one unmeasured run in each way, whose answers must be equal, a query is run in one way after the
//! other for every repetition. Medians are reported; times are those of whole statements. Not
//! equal: chunks are left out only by restrictions that scans decide; how many is reported.
//!
//! # Source
//! [Muehlbauer16 7.4] Tables 7.1 and 7.2, Figure 7.3. Differs: scans are never compiled into
//! pipelines, so there is no such column; the sweep of sizes has the queries whose time goes to
//! scans, and compressed replicas, too.

mod restrictions;
mod variant;
mod vectors;

use std::sync::Arc;

use self::restrictions::measure_restrictions;
use self::variant::{ScanContest, ScannedDatabase};
use self::vectors::measure_vectors;
use crate::bench::Setup;
use crate::engine::Engine;
use crate::error::Result;
use crate::report::Report;
use crate::tpch::generate_until;
use crate::workload::CsvFile;

pub(super) async fn run(setup: &Setup, report: &mut Report) -> Result<()> {
    let csv = setup.workspace.subdirectory("csv")?;
    let files = generate_until(setup.scale_factor, &csv, setup.threads, &setup.interrupt)?;
    let contest = ScanContest {
        setup,
        plain: load(setup, &files, "plain", Some("plain")).await?,
        compressed: load(setup, &files, "compressed", None).await?,
        parameters: format!("sf={},threads={}", setup.scale_factor, setup.threads),
        repetitions: if setup.is_quick { 3 } else { 7 },
    };
    measure_restrictions(&contest, report).await?;
    measure_vectors(&contest, report).await
}

/// Loads the tables, with a policy for all columns or with the replicas that tables have.
async fn load(
    setup: &Setup,
    files: &[CsvFile],
    replicas: &'static str,
    policy: Option<&str>,
) -> Result<ScannedDatabase> {
    let directory = setup.workspace.path().join(replicas);
    let engine = Engine::open(&directory, Some(setup.threads)).await?;
    for CsvFile { table, path, .. } in files {
        setup.interrupt.check()?;
        let definition = match policy {
            Some(policy) => table.create_statement_with_replicas(table.name, policy),
            None => table.create_statement(table.name),
        };
        engine.query(&definition).await?;
        engine.load(table.name, path, Arc::default()).await?;
    }
    engine.finish_replicas(&setup.interrupt)?;
    engine.query("SET nacre.engine = nacre").await?;
    Ok(ScannedDatabase { replicas, engine })
}
