//! `nacre bench ssb`: the 13 queries of the star schema benchmark, by replication scheme.
//!
//! Question: what do two replicas in other formats and memories give to whole queries? Baseline:
//! two uncompressed replicas. Also written down: the bytes that a scheme takes.
//!
//! How: every scheme is a database of its own with the same data. Queries come in a random order
//! that is the same for all; each is run on all schemes in turn. The rate is that of all queries,
//! and the figures of single queries are medians. Answers are compared with the oracle's first.
//!
//! With `--peers`, also: how fast are the queries next to other engines ([`super::peers`]), with
//! the replicas that tables have unless they are told otherwise?
//!
//! Kept equal: data, planner, operators, threads, dictionaries for strings in all schemes, as in
//! the paper, whose base columns are integers. Not equal: the paper runs a query in each thread;
//! here all threads work on one query.
//!
//! # Source
//! [Zarubin22 4.2.3] Figure 4.9. Differs: one socket; without persistent memory it is emulated, and
//! a replica in DRAM is as fast as the others; no scheme is in DRAM alone, which a restart would
//! lose.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::peers::{PeerContest, PeerQuery, start_peers};
use crate::bench::Setup;
use crate::engine::Engine;
use crate::error::Result;
use crate::format::{median, megabytes};
use crate::report::{Measurement, Report};
use crate::ssb::{QUERIES, generate_until};
use crate::workload::{Answer, CsvFile, Oracle, Random};
use crate::workspace::bytes_below;

/// How often each query is run.
const ROUNDS: usize = 10;
const ROUNDS_QUICK: usize = 2;

/// Replicas of the columns.
struct Scheme {
    name: &'static str,
    numbers: &'static str,
    strings: &'static str,
}

const SCHEMES: [Scheme; 6] = [
    Scheme { name: "plain+plain", numbers: "plain, plain", strings: "dict, dict" },
    Scheme { name: "static_bp+static_bp", numbers: "static_bp, static_bp", strings: "dict, dict" },
    Scheme { name: "static_bp+plain", numbers: "static_bp, plain", strings: "dict, dict" },
    Scheme {
        name: "static_bp+dynamic_bp",
        numbers: "static_bp, dynamic_bp",
        strings: "dict, dict",
    },
    Scheme { name: "plain+plain@dram", numbers: "plain, plain@dram", strings: "dict, dict@dram" },
    Scheme {
        name: "static_bp+static_bp@dram",
        numbers: "static_bp, static_bp@dram",
        strings: "dict, dict@dram",
    },
];

/// A scheme's database and what was measured.
struct Contestant {
    scheme: &'static Scheme,
    directory: PathBuf,
    media_bytes: u64,
    /// By query.
    times: Vec<Vec<Duration>>,
}

pub(super) async fn run(setup: &Setup, report: &mut Report) -> Result<()> {
    let csv = setup.workspace.subdirectory("csv")?;
    let files = generate_until(setup.scale_factor, &csv, setup.threads, &setup.interrupt)?;
    let answers = oracle_answers(setup, &files).await?;
    let mut all = Vec::new();
    for scheme in &SCHEMES {
        all.push(load(setup, scheme, &files).await?);
    }
    let mut threads = vec![1];
    threads.extend(Some(setup.threads).filter(|threads| *threads > 1));
    let rounds = if setup.is_quick { ROUNDS_QUICK } else { ROUNDS };
    setup.console.line(format_args!(
        "SSB at scale factor {}, 13 queries in random order, {rounds} times each",
        setup.scale_factor
    ))?;
    for threads in threads {
        measure(setup, &mut all, &answers, threads, rounds).await?;
        print(setup, report, &all, threads)?;
    }
    report_bytes(setup, report, &all)?;
    measure_peers(setup, report, &files).await
}

/// Measures the queries next to the peers that are there, on a database of its own.
async fn measure_peers(setup: &Setup, report: &mut Report, files: &[CsvFile]) -> Result<()> {
    let mut peers = start_peers(setup)?;
    if peers.is_empty() {
        return Ok(());
    }
    for peer in &mut peers {
        peer.load(files)?;
    }
    let nacre = Engine::open(&setup.workspace.path().join("default"), Some(setup.threads)).await?;
    for file in files {
        setup.interrupt.check()?;
        nacre.create_and_load(file, Arc::default()).await?;
    }
    nacre.finish_replicas(&setup.interrupt)?;
    let queries = QUERIES.iter().map(|query| {
        PeerQuery::new(query.name, query.name.to_lowercase(), query.sql(setup.scale_factor))
    });
    let size = format!("sf={}", setup.scale_factor);
    let repetitions = if setup.is_quick { 3 } else { 5 };
    let contest = PeerContest { setup, nacre: &nacre, workload: "ssb", size, repetitions };
    contest.run(report, &mut peers, &queries.collect::<Vec<_>>()).await
}

async fn oracle_answers(setup: &Setup, files: &[CsvFile]) -> Result<Vec<Answer>> {
    let oracle = Oracle::for_everything(files, setup.threads).await?;
    let mut answers = Vec::new();
    for query in &QUERIES {
        setup.interrupt.check()?;
        answers.push(oracle.query(&query.sql(setup.scale_factor)).await?);
    }
    Ok(answers)
}

/// Creates a scheme's database and loads it; its replicas in DRAM are there when this returns.
async fn load(setup: &Setup, scheme: &'static Scheme, files: &[CsvFile]) -> Result<Contestant> {
    let directory = setup.workspace.path().join(scheme.name.replace('@', "-"));
    let engine = Engine::open(&directory, Some(setup.threads)).await?;
    for file in files {
        setup.interrupt.check()?;
        let table = file.table;
        engine.query(&table.create_statement_with_replicas(table.name, scheme.strings)).await?;
        for column in table.columns {
            if !column.kind.is_string() {
                let (table, column) = (table.name, column.name);
                let policy = scheme.numbers;
                engine
                    .query(&format!(
                        "ALTER TABLE {table} ALTER COLUMN {column} SET (replicas = '{policy}')"
                    ))
                    .await?;
            }
        }
        engine.load(table.name, &file.path, Arc::default()).await?;
    }
    engine.finish_replicas(&setup.interrupt)?;
    drop(engine);
    let media_bytes = bytes_below(&directory)?;
    Ok(Contestant { scheme, directory, media_bytes, times: Vec::new() })
}

/// Runs all queries on all schemes in turn.
async fn measure(
    setup: &Setup,
    all: &mut [Contestant],
    answers: &[Answer],
    threads: usize,
    rounds: usize,
) -> Result<()> {
    let mut engines = Vec::new();
    for one in all.iter_mut() {
        one.times = vec![Vec::new(); QUERIES.len()];
        let engine = Engine::open(&one.directory, Some(threads)).await?;
        engine.finish_replicas(&setup.interrupt)?;
        for (query, theirs) in QUERIES.iter().zip(answers) {
            setup.interrupt.check()?;
            let ours = engine.query(&query.sql(setup.scale_factor)).await?;
            query.check(&ours, theirs, "the oracle")?;
        }
        engines.push(engine);
    }
    let mut random = Random::of_row(400, threads as u64);
    for query in random_order(&mut random, rounds) {
        let sql = QUERIES[query].sql(setup.scale_factor);
        let first = random.below(engines.len() as u64) as usize;
        for turn in 0..engines.len() {
            setup.interrupt.check()?;
            let index = (first + turn) % engines.len();
            let start = Instant::now();
            engines[index].query(&sql).await?;
            all[index].times[query].push(start.elapsed());
        }
    }
    Ok(())
}

/// Returns each query `rounds` times, in random order.
fn random_order(random: &mut Random, rounds: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..QUERIES.len() * rounds).map(|at| at % QUERIES.len()).collect();
    for end in (1..order.len()).rev() {
        order.swap(end, random.below(end as u64 + 1) as usize);
    }
    order
}

/// Queries a second, over all of them.
fn rate(one: &Contestant) -> f64 {
    let times = one.times.iter().flatten();
    let count = times.clone().count();
    count as f64 / times.sum::<Duration>().as_secs_f64().max(1e-9)
}

fn print(setup: &Setup, report: &mut Report, all: &[Contestant], threads: usize) -> Result<()> {
    let console = setup.console;
    let Some(base) = all.first() else {
        return Ok(());
    };
    console.line(format_args!("\n{threads} thread{}", if threads == 1 { "" } else { "s" }))?;
    console.line(format_args!("   {:<26} {:>10} {:>7}", "replicas", "queries/s", "ratio"))?;
    let parameters = format!("sf={},threads={threads}", setup.scale_factor);
    for one in all {
        let (name, rate, base) = (one.scheme.name, rate(one), rate(base));
        let id = format!("query/ssb/{name}/{parameters}");
        let measurement = Measurement::new(id, rate, "queries/s").against(all[0].scheme.name, base);
        report.add(&measurement)?;
        console.line(format_args!("   {name:<26} {rate:>10.2} {:>6.2}x", rate / base))?;
    }
    let numbers: String = (1..=all.len()).map(|number| format!(" {number:>8}")).collect();
    console.line(format_args!("   ms, median by scheme{:<8}{numbers}", ""))?;
    for (index, query) in QUERIES.iter().enumerate() {
        let ms = |one: &Contestant| median(&one.times[index]).as_secs_f64() * 1e3;
        let mut cells = String::new();
        for one in all {
            cells.push_str(&format!(" {:>8.2}", ms(one)));
            let id = format!("query/ssb-{}/{}/{parameters}", query.name, one.scheme.name);
            let measurement = Measurement::new(id.to_lowercase(), ms(one), "ms");
            report.add(&measurement.against(base.scheme.name, ms(base)))?;
        }
        console.line(format_args!("   {:<28}{cells}", query.name))?;
    }
    Ok(())
}

fn report_bytes(setup: &Setup, report: &mut Report, all: &[Contestant]) -> Result<()> {
    let console = setup.console;
    let base = all.first().map_or(0, |one| one.media_bytes) as f64;
    console.line("\nMB on media, DRAM left out")?;
    for one in all {
        let bytes = one.media_bytes as f64;
        let id = format!("media/ssb/{}/sf={}", one.scheme.name, setup.scale_factor);
        let measurement = Measurement::new(id, bytes, "bytes").against(all[0].scheme.name, base);
        report.add(&measurement)?;
        console.line(format_args!(
            "   {:<26} {:>10} {:>6.2}x",
            one.scheme.name,
            megabytes(one.media_bytes),
            bytes / base
        ))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_query_comes_as_often_as_asked_in_another_order() {
        let order = random_order(&mut Random::of_row(1, 1), 3);
        let mut sorted = order.clone();
        sorted.sort_unstable();
        assert!(sorted.chunks(3).zip(0..).all(|(three, query)| three == [query; 3]));
        assert!(order != sorted);
    }
}
