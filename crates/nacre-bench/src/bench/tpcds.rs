//! `nacre bench tpcds`: the 99 queries of TPC-DS.
//!
//! Question: which of them run, in which engine, and how fast? Baseline: with `--peers`, other
//! engines ([`super::peers`]) over the same CSV files; without them there are times alone. Kept
//! equal: the rows, the texts, the number of threads, turns. A query that takes longer than
//! [`TIMEOUT`] counts as failed.
//!
//! Rows and texts come from a folder ([`DsFolder`]); `--prepare` fills it.
//!
//! # Source
//! TPC Benchmark DS, in the form of DuckDB's extension `tpcds`: no keys, the texts with the
//! parameters of its own.

mod folder;

use super::peers::{PeerContest, PeerProcess, PeerQuery, start_peers};
use crate::bench::Setup;
use crate::engine::Engine;
use crate::error::{Error, Result};
use crate::report::Report;

pub(super) use folder::DsFolder;

/// Longest time of a query.
const TIMEOUT: &str = "120s";

pub(super) async fn run(setup: &Setup, report: &mut Report) -> Result<()> {
    let Some(path) = &setup.folder else {
        return Err(Error::Usage("name the folder of TPC-DS by --folder".into()));
    };
    if setup.is_preparation {
        DsFolder::prepare(path, setup.scale_factor)?;
        let prepared = DsFolder::read(path)?;
        return setup.console.line(format_args!(
            "{} holds {} tables and {} queries of scale factor {}",
            path.display(),
            prepared.tables.len(),
            prepared.queries.len(),
            prepared.scale_factor
        ));
    }
    let folder = DsFolder::read(path)?;
    setup.console.line(format_args!(
        "TPC-DS at scale factor {}, {} threads",
        folder.scale_factor, setup.threads
    ))?;
    let nacre = Engine::open(&setup.workspace.path().join("database"), Some(setup.threads)).await?;
    folder.load(setup, &nacre).await?;
    nacre.query(&format!("SET statement_timeout = '{TIMEOUT}'")).await?;
    let mut peers = start_peers(setup)?;
    for peer in &mut peers {
        load_peer(peer, &folder)?;
    }
    let queries = folder.queries.iter();
    let queries = queries.map(|one| PeerQuery::new(&one.name, one.name.clone(), &one.sql));
    let size = format!("sf={}", folder.scale_factor);
    let repetitions = if setup.is_quick { 1 } else { 3 };
    let contest = PeerContest { setup, nacre: &nacre, workload: "tpcds", size, repetitions };
    contest.run(report, &mut peers, &queries.collect::<Vec<_>>()).await
}

fn load_peer(peer: &mut PeerProcess, folder: &DsFolder) -> Result<()> {
    for table in &folder.tables {
        peer.run(&table.create_statement)?;
        peer.copy(&table.name, &table.csv)?;
    }
    Ok(())
}
