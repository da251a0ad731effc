//! `nacre bench clickbench`: the 43 shapes of ClickBench over one wide table.
//!
//! Question: how fast are scans, groups of few and of many keys, distinct counts, searches in texts
//! and top rows of one table? Baseline: with `--peers`, other engines ([`super::peers`]) over the
//! same CSV file; without them there are times alone, and the answers are compared with the
//! oracle's. Kept equal: the rows, the queries, the number of threads, turns.
//!
//! # Source
//! ClickBench; [`crate::clickbench`] says what is kept of it. Differs: its runs are cold first.

use std::sync::Arc;

use super::peers::{PeerContest, PeerQuery, start_peers};
use crate::bench::Setup;
use crate::clickbench::{QUERIES, UNORDERED, generate_until, sql};
use crate::engine::Engine;
use crate::error::Result;
use crate::format::count;
use crate::report::Report;
use crate::workload::{CsvFile, Mismatch, Oracle, compare_approximately};

/// Rows unless a number is given.
const ROWS: u64 = 10_000_000;
const ROWS_QUICK: u64 = 200_000;

pub(super) async fn run(setup: &Setup, report: &mut Report) -> Result<()> {
    let rows = setup.values.unwrap_or(if setup.is_quick { ROWS_QUICK } else { ROWS });
    let csv = setup.workspace.subdirectory("csv")?;
    let file = generate_until(rows, &csv, setup.threads, &setup.interrupt)?;
    setup.console.line(format_args!("{} page views, {} threads", count(rows), setup.threads))?;
    let nacre = Engine::open(&setup.workspace.path().join("database"), Some(setup.threads)).await?;
    nacre.create_and_load(&file, Arc::default()).await?;
    nacre.finish_replicas(&setup.interrupt)?;
    let mut peers = start_peers(setup)?;
    for peer in &mut peers {
        peer.load(std::slice::from_ref(&file))?;
    }
    if peers.is_empty() {
        check_answers(setup, &nacre, &file).await?;
    }
    let queries = QUERIES.iter().map(|query| PeerQuery {
        is_deterministic: !UNORDERED.contains(&query.name),
        ..PeerQuery::new(query.name, format!("q{:02}", query.number - 1), sql(query, rows))
    });
    let size = format!("rows={rows}");
    let contest =
        PeerContest { setup, nacre: &nacre, workload: "clickbench", size, repetitions: 3 };
    contest.run(report, &mut peers, &queries.collect::<Vec<_>>()).await
}

/// Compares all answers with the oracle's.
async fn check_answers(setup: &Setup, nacre: &Engine, file: &CsvFile) -> Result<()> {
    let oracle = Oracle::for_everything(std::slice::from_ref(file), setup.threads).await?;
    for query in QUERIES.iter().filter(|query| !UNORDERED.contains(&query.name)) {
        setup.interrupt.check()?;
        let sql = sql(query, file.rows);
        let (ours, theirs) = (nacre.query(&sql).await?, oracle.query(&sql).await?);
        compare_approximately(&ours, &theirs).map_err(|difference| {
            let (subject, reference) = (query.name.to_owned(), "the oracle".to_owned());
            Mismatch { subject, reference, difference }
        })?;
    }
    Ok(())
}
