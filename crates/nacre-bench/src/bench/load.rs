//! `nacre bench load`: TPC-H's tables from CSV files into tables, next to DuckDB.
//!
//! Question: how soon are the rows of a CSV file durable and visible? Baseline: DuckDB of the same
//! machine, into a file on the same file system; without it, only Nacre's rates are given. Kept
//! equal: files, types, `NOT NULL`, the number of threads, a warm page cache, a new database for
//! each turn; the two take turns. Kept different: Nacre checks a primary key, writes every column
//! twice and verifies what it wrote; DuckDB's tables have no key, which would make them slower.
//!
//! Nacre writes the second replica of long strings as a copy of the first one and encodes it when
//! no load runs. How long that takes afterwards, and the bytes on the media before and after it,
//! are reported, too.
//!
//! # Source
//! [Muehlbauer16 3.3] loading at wire speed.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use nacre_ingest::Progress;

use crate::bench::Setup;
use crate::bench::duckdb::{DuckDb, create_statement, load_statement};
use crate::engine::Engine;
use crate::error::{Error, Result};
use crate::format::{median, megabytes, megabytes_per_second, seconds};
use crate::report::{Measurement, Report};
use crate::tpch::generate_until;
use crate::workload::CsvFile;
use crate::workspace::bytes_below;

/// The baseline's name in reports.
const BASELINE: &str = "duckdb";

/// What one turn of Nacre found.
struct NacreTurn {
    /// By table, in the order of the files.
    times: Vec<Duration>,
    encoding: Duration,
    bytes_before: u64,
    bytes_after: u64,
    is_emulated: bool,
}

/// One number of threads.
struct LoadContest<'a> {
    setup: &'a Setup,
    files: &'a [CsvFile],
    duckdb: Option<DuckDb>,
    threads: usize,
}

pub(super) async fn run(setup: &Setup, report: &mut Report) -> Result<()> {
    let console = setup.console;
    let csv = setup.workspace.subdirectory("csv")?;
    let files = generate_until(setup.scale_factor, &csv, setup.threads, &setup.interrupt)?;
    let found = DuckDb::find();
    match &found {
        Some((_, version)) => console.line(format_args!("DuckDB {version}"))?,
        None => console.line(
            "DuckDB was not found: no program `duckdb`, and no module of that name in `python3`",
        )?,
    }
    let duckdb = found.map(|(duckdb, _)| duckdb);
    let mut threads = vec![1, setup.threads];
    threads.dedup();
    for threads in threads {
        LoadContest { setup, files: &files, duckdb, threads }.measure(report).await?;
    }
    Ok(())
}

impl LoadContest<'_> {
    async fn measure(&self, report: &mut Report) -> Result<()> {
        let repetitions = if self.setup.is_quick { 3 } else { 5 };
        let (mut ours, mut theirs) = (Vec::new(), Vec::new());
        for _ in 0..repetitions {
            ours.push(self.load_nacre().await?);
            if let Some(duckdb) = self.duckdb {
                theirs.push(self.load_duckdb(duckdb)?);
            }
        }
        let (scale_factor, threads) = (self.setup.scale_factor, self.threads);
        self.setup.console.line(format_args!(
            "\nCSV load of TPC-H at scale factor {scale_factor}, {threads} threads, MB/s until the \
             rows are durable, median of {repetitions} turns\n   \
             table           Nacre   DuckDB   ratio"
        ))?;
        for (index, file) in self.files.iter().enumerate() {
            let of_table = |times: &[Duration]| times[index];
            self.report_rate(report, file.table.name, file.bytes, (&ours, &theirs), of_table)?;
        }
        let bytes = self.files.iter().map(|file| file.bytes).sum();
        let of_all = |times: &[Duration]| times.iter().sum();
        self.report_rate(report, "all", bytes, (&ours, &theirs), of_all)?;
        self.report_encoding(report, &ours)
    }

    async fn load_nacre(&self) -> Result<NacreTurn> {
        let directory = self.setup.workspace.path().join("database");
        let engine = Engine::open(&directory, Some(self.threads)).await?;
        let mut times = Vec::new();
        for file in self.files {
            self.setup.interrupt.check()?;
            let loaded = engine.create_and_load(file, Arc::new(Progress::default())).await?;
            if loaded.rows != file.rows {
                let (name, expected) = (file.table.name, file.rows);
                let found = loaded.rows;
                let reason = format!("{found} of {expected} rows of {name} were loaded");
                return Err(Error::Deviation(reason));
            }
            times.push(loaded.time);
        }
        let bytes_before = bytes_below(&directory)?;
        let start = Instant::now();
        engine.finish_replicas(&self.setup.interrupt)?;
        let (encoding, bytes_after) = (start.elapsed(), bytes_below(&directory)?);
        let is_emulated = engine.is_emulated();
        drop(engine);
        std::fs::remove_dir_all(&directory).map_err(Error::io("remove directory", &directory))?;
        Ok(NacreTurn { times, encoding, bytes_before, bytes_after, is_emulated })
    }

    fn load_duckdb(&self, duckdb: DuckDb) -> Result<Vec<Duration>> {
        self.setup.interrupt.check()?;
        let path = self.setup.workspace.path().join("duckdb.db");
        let mut statements = vec![format!("SET threads = {}", self.threads)];
        for file in self.files {
            statements.extend([create_statement(file), load_statement(file)]);
        }
        let times = duckdb.run(&path, &statements)?;
        remove_if_there(&path)?;
        remove_if_there(&path.with_extension("db.wal"))?;
        Ok(times.into_iter().skip(2).step_by(2).collect())
    }

    fn report_rate(
        &self,
        report: &mut Report,
        name: &str,
        bytes: u64,
        (ours, theirs): (&[NacreTurn], &[Vec<Duration>]),
        time_of: impl Fn(&[Duration]) -> Duration,
    ) -> Result<()> {
        let our_times: Vec<Duration> = ours.iter().map(|turn| time_of(&turn.times)).collect();
        let their_times: Vec<Duration> = theirs.iter().map(|times| time_of(times)).collect();
        let (our_time, their_time) = (median(&our_times), median(&their_times));
        let rate = |time: Duration| bytes as f64 / 1e6 / time.as_secs_f64().max(1e-9);
        let id = format!("load/tpch-{name}/nacre/{}", self.parameters());
        let mut measurement = Measurement::new(id, rate(our_time), "MB/s")
            .emulated(ours.iter().any(|turn| turn.is_emulated));
        let mut columns = format!("   {name:<10} {:>10}", megabytes_per_second(bytes, our_time));
        if !their_times.is_empty() {
            measurement = measurement.against(BASELINE, rate(their_time));
            let ratio = measurement.ratio().unwrap_or_default();
            let theirs = megabytes_per_second(bytes, their_time);
            columns.push_str(&format!(" {theirs:>8} {ratio:>7.2}"));
        }
        report.add(&measurement)?;
        self.setup.console.line(columns)
    }

    fn report_encoding(&self, report: &mut Report, turns: &[NacreTurn]) -> Result<()> {
        let times: Vec<Duration> = turns.iter().map(|turn| turn.encoding).collect();
        let time = median(&times);
        let Some(last) = turns.last() else {
            return Ok(());
        };
        let (before, after) = (last.bytes_before, last.bytes_after);
        let parameters = self.parameters();
        report.add(
            &Measurement::new(
                format!("media/tpch-loaded/nacre/{parameters}"),
                before as f64,
                "bytes",
            )
            .against("all replicas encoded", after as f64)
            .emulated(last.is_emulated),
        )?;
        self.setup.console.line(format_args!(
            "   Second replicas of long strings were encoded {} s after the load: {} MB on the \
             media before, {} MB after",
            seconds(time),
            megabytes(before),
            megabytes(after)
        ))
    }

    fn parameters(&self) -> String {
        format!("sf={},threads={}", self.setup.scale_factor, self.threads)
    }
}

fn remove_if_there(path: &Path) -> Result<()> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(Error::io("remove", path)(error))
        }
        _ => Ok(()),
    }
}
