//! `nacre bench tpch`: the 22 queries and the load.
//!
//! Question: what do Nacre's storage and scans give to the same planner and operators? Baseline:
//! DataFusion over Parquet files of the same data, in the same process, with the same number of
//! partitions and threads. Kept equal: the queries, exact decimal literals, a warm page cache, and
//! turns: after one unmeasured run each, whose answers must be equal, the two run one after
//! the other for every repetition. Medians are reported.
//!
//! With `--estimates`, instead: how good are the estimates of joins ([`super::estimates`])? With
//! `--fresh`, instead: what do rows that transactions inserted cost ([`super::fresh_rows`])?
//!
//! With `--peers`, also: how fast are the queries next to other engines ([`super::peers`])?

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use nacre_ingest::Progress;

use super::estimates::report_estimates;
use super::fresh_rows::report_fresh_rows;
use super::peers::{PeerContest, PeerQuery, start_peers};
use crate::bench::{Setup, parquet};
use crate::engine::Engine;
use crate::error::{Error, Result};
use crate::format::{geometric_mean_ms, median, megabytes};
use crate::report::{Measurement, Report};
use crate::tpch::{QUERIES, generate_until};
use crate::workload::{CsvFile, Query, run_in};
use crate::workspace::bytes_below;

/// The baseline's name in reports.
const BASELINE: &str = "datafusion-parquet";

/// What `nacre bench tpch` measures.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TpchMeasure {
    /// Times of the queries and of the load.
    #[default]
    Times,
    /// How good the estimates of joins are.
    Estimates,
    /// What fresh rows cost the queries.
    FreshRows,
}

/// Both contestants, loaded.
struct Contest<'a> {
    setup: &'a Setup,
    nacre: Engine,
    baseline: parquet::Baseline,
    parameters: String,
}

pub(super) async fn run(setup: &Setup, report: &mut Report) -> Result<()> {
    let console = setup.console;
    let csv = setup.workspace.subdirectory("csv")?;
    let files = generate_until(setup.scale_factor, &csv, setup.threads, &setup.interrupt)?;
    let directory = setup.workspace.path().join("database");
    let nacre = Engine::open(&directory, Some(setup.threads)).await?;
    let mut load_times = Vec::new();
    for file in &files {
        setup.interrupt.check()?;
        let progress = Arc::new(Progress::default());
        load_times.push(nacre.create_and_load(file, progress).await?.time);
    }
    nacre.finish_replicas(&setup.interrupt)?;
    match setup.tpch {
        TpchMeasure::Times => {}
        TpchMeasure::Estimates => return report_estimates(setup, &nacre, report).await,
        TpchMeasure::FreshRows => return report_fresh_rows(setup, &nacre, &files, report).await,
    }
    report_replicas(setup, report, &files, &directory).await?;
    let parquet_directory = setup.workspace.subdirectory("parquet")?;
    let baseline = parquet::load(&files, &parquet_directory, setup.threads).await?;
    let parameters = format!("sf={},threads={}", setup.scale_factor, setup.threads);
    let contest = Contest { setup, nacre, baseline, parameters };

    contest.report_load(report, &files, &load_times)?;
    let repetitions = if setup.is_quick { 3 } else { 5 };
    console.line(format_args!(
        "\nTPC-H at scale factor {}, {} threads, warm, median of {repetitions} runs in turn",
        setup.scale_factor, setup.threads
    ))?;
    console.line("   query      Nacre ms   DataFusion over Parquet ms   ratio")?;
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for query in &QUERIES {
        let (our_time, their_time) = contest.measure(query, repetitions).await?;
        let structure = format!("tpch-q{:02}", query.number);
        contest.report_query(report, query.name, &structure, ms(our_time), ms(their_time))?;
        ours.push(our_time);
        theirs.push(their_time);
    }
    let (ours, theirs) = (geometric_mean_ms(&ours), geometric_mean_ms(&theirs));
    contest.report_query(report, "geomean", "tpch-geomean", ours, theirs)?;
    contest.measure_peers(report, &files, repetitions).await
}

/// Says what two encoded replicas take next to one copy that is not encoded.
async fn report_replicas(
    setup: &Setup,
    report: &mut Report,
    files: &[CsvFile],
    database: &Path,
) -> Result<()> {
    let directory = setup.workspace.path().join("plain");
    let plain = Engine::open(&directory, Some(setup.threads)).await?;
    for file in files {
        setup.interrupt.check()?;
        let (table, progress) = (file.table, Arc::new(Progress::default()));
        plain.query(&table.create_statement_with_replicas(table.name, "plain")).await?;
        plain.load(table.name, &file.path, progress).await?;
    }
    drop(plain);
    let (two, one) = (bytes_below(database)?, bytes_below(&directory)?);
    std::fs::remove_dir_all(&directory).map_err(Error::io("remove directory", &directory))?;
    let id = format!("media/tpch-two-replicas/nacre/sf={}", setup.scale_factor);
    let measurement =
        Measurement::new(id, two as f64, "bytes").against("one plain copy", one as f64);
    report.add(&measurement)?;
    setup.console.line(format_args!(
        "Two encoded replicas: {} MB; one copy, not encoded: {} MB; ratio {:.2}\n",
        megabytes(two),
        megabytes(one),
        measurement.ratio().unwrap_or_default()
    ))
}

impl Contest<'_> {
    /// Returns the medians of both.
    async fn measure(&self, query: &Query, repetitions: usize) -> Result<(Duration, Duration)> {
        let sql = query.sql(self.setup.scale_factor);
        let ours = self.nacre.query(&sql).await?;
        let theirs = run_in(&self.baseline.context, &sql).await?;
        query.check(&ours, &theirs, BASELINE)?;
        let (mut our_times, mut their_times) = (Vec::new(), Vec::new());
        for _ in 0..repetitions {
            self.setup.interrupt.check()?;
            let start = Instant::now();
            self.nacre.query(&sql).await?;
            our_times.push(start.elapsed());
            let start = Instant::now();
            run_in(&self.baseline.context, &sql).await?;
            their_times.push(start.elapsed());
        }
        Ok((median(&our_times), median(&their_times)))
    }

    /// Measures the queries next to the peers that are there.
    async fn measure_peers(
        &self,
        report: &mut Report,
        files: &[CsvFile],
        repetitions: usize,
    ) -> Result<()> {
        let mut peers = start_peers(self.setup)?;
        if peers.is_empty() {
            return Ok(());
        }
        for peer in &mut peers {
            peer.load(files)?;
        }
        let queries = QUERIES.iter().map(|query| {
            let slug = format!("q{:02}", query.number);
            PeerQuery::new(query.name, slug, query.sql(self.setup.scale_factor))
        });
        let (setup, nacre) = (self.setup, &self.nacre);
        let size = format!("sf={}", setup.scale_factor);
        let contest = PeerContest { setup, nacre, workload: "tpch", size, repetitions };
        contest.run(report, &mut peers, &queries.collect::<Vec<_>>()).await
    }

    fn report_load(
        &self,
        report: &mut Report,
        files: &[CsvFile],
        load_times: &[Duration],
    ) -> Result<()> {
        let console = self.setup.console;
        console.line("CSV load, MB/s, until the rows are durable")?;
        console.line("   table           Nacre   DataFusion to Parquet   ratio")?;
        let mut bytes = 0;
        for ((file, ours), theirs) in files.iter().zip(load_times).zip(&self.baseline.load_times) {
            bytes += file.bytes;
            self.report_rate(report, file.table.name, file.bytes, *ours, *theirs)?;
        }
        let sum = |times: &[Duration]| times.iter().sum();
        self.report_rate(report, "all", bytes, sum(load_times), sum(&self.baseline.load_times))
    }

    fn report_rate(
        &self,
        report: &mut Report,
        name: &str,
        bytes: u64,
        ours: Duration,
        theirs: Duration,
    ) -> Result<()> {
        let rate = |time: Duration| bytes as f64 / 1e6 / time.as_secs_f64().max(1e-9);
        let id = format!("load/tpch-{name}/nacre/{}", self.parameters);
        let measurement = Measurement::new(id, rate(ours), "MB/s")
            .against(BASELINE, rate(theirs))
            .emulated(self.nacre.is_emulated());
        report.add(&measurement)?;
        let ratio = measurement.ratio().unwrap_or_default();
        self.setup.console.line(format_args!(
            "   {name:<10} {:>10.0} {:>23.0} {ratio:>7.2}",
            rate(ours),
            rate(theirs)
        ))
    }

    fn report_query(
        &self,
        report: &mut Report,
        title: &str,
        structure: &str,
        ours_ms: f64,
        theirs_ms: f64,
    ) -> Result<()> {
        let id = format!("query/{structure}/nacre/{}", self.parameters);
        let measurement = Measurement::new(id, ours_ms, "ms")
            .against(BASELINE, theirs_ms)
            .emulated(self.nacre.is_emulated());
        report.add(&measurement)?;
        let ratio = measurement.ratio().unwrap_or_default();
        self.setup
            .console
            .line(format_args!("   {title:<8} {ours_ms:>10.1} {theirs_ms:>28.1} {ratio:>7.2}"))
    }
}

fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}
