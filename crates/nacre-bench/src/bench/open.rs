//! `nacre bench open`: the time to the first answer after `kill -9`, and the bytes on the media.
//!
//! Question: does a restart cost the same whatever the size of the database? Baseline: a database
//! of a tenth of the size; and, for that one, a process that starts and says hello.
//!
//! Each repetition, for one database after the other: a process opens the database, answers a
//! query and is killed with SIGKILL while it holds it; then a new process is started and timed from
//! just before its start until its answer has been read from a pipe. Medians are reported. The page
//! cache is warm: it survives the process, as byte-addressable memory does.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use nacre_ingest::Progress;

use crate::bench::{Setup, duckdb};
use crate::engine::Engine;
use crate::error::{Error, Result};
use crate::format::{count, median, megabytes, milliseconds};
use crate::process::Child;
use crate::report::{Measurement, Report};
use crate::tpch::generate_until;
use crate::workload::CsvFile;
use crate::workspace::bytes_below;

/// How many times smaller the smaller database is.
pub(super) const SMALLER_BY: f64 = 10.0;

/// The first query of the timed process: its name in ids, and its text.
const QUERIES: [(&str, &str); 2] =
    [("count", "SELECT count(*) FROM lineitem"), ("sum", "SELECT sum(l_quantity) FROM lineitem")];

/// A loaded database.
struct Loaded {
    scale_factor: f64,
    directory: PathBuf,
    files: Vec<CsvFile>,
    media_bytes: u64,
    is_emulated: bool,
    lineitem_rows: u64,
}

/// Times of one query on one database.
struct Times<'a> {
    loaded: &'a Loaded,
    query: (&'static str, &'static str),
    times: Vec<Duration>,
}

pub(super) async fn run(setup: &Setup, report: &mut Report) -> Result<()> {
    let console = setup.console;
    let small = load(setup, setup.scale_factor / SMALLER_BY).await?;
    let large = load(setup, setup.scale_factor).await?;

    let repetitions = if setup.is_quick { 5 } else { 15 };
    console.line(format_args!(
        "Time from process start to the first answer after kill -9, median of {repetitions}"
    ))?;
    let start_ms = report_process_start(setup, report, repetitions).await?;
    let mut all: Vec<_> = QUERIES
        .iter()
        .flat_map(|&query| [&small, &large].map(|loaded| (loaded, query)))
        .map(|(loaded, query)| Times { loaded, query, times: Vec::new() })
        .collect();
    for _ in 0..repetitions {
        for times in &mut all {
            setup.interrupt.check()?;
            let time = first_answer_after_kill(times.loaded, times.query.1).await?;
            times.times.push(time);
        }
    }
    console.line("   query        SF        rows         ms   ratio")?;
    for pair in all.chunks(2) {
        let mut baseline = ("process-start".to_owned(), start_ms);
        for times in pair {
            baseline = report_times(setup, report, times, &baseline)?;
        }
    }
    for loaded in [&small, &large] {
        report_bytes(setup, report, loaded).await?;
    }
    Ok(())
}

async fn load(setup: &Setup, scale_factor: f64) -> Result<Loaded> {
    let console = setup.console;
    let csv = setup.workspace.subdirectory(&format!("csv-{scale_factor}"))?;
    let files = generate_until(scale_factor, &csv, setup.threads, &setup.interrupt)?;
    let directory = setup.workspace.path().join(format!("database-{scale_factor}"));
    let engine = Engine::open(&directory, Some(setup.threads)).await?;
    for file in &files {
        setup.interrupt.check()?;
        engine.create_and_load(file, Arc::new(Progress::default())).await?;
    }
    let is_emulated = engine.is_emulated();
    engine.finish_replicas(&setup.interrupt)?;
    drop(engine);
    let media_bytes = bytes_below(&directory)?;
    console.line(format_args!("Loaded TPC-H at scale factor {scale_factor}"))?;
    let lineitem = files.iter().find(|file| file.table.name == "lineitem");
    let lineitem_rows = lineitem.map_or(0, |file| file.rows);
    Ok(Loaded { scale_factor, directory, files, media_bytes, is_emulated, lineitem_rows })
}

async fn report_process_start(
    setup: &Setup,
    report: &mut Report,
    repetitions: usize,
) -> Result<f64> {
    let mut times = Vec::new();
    for _ in 0..repetitions {
        let mut child = Child::start(&["hello".into()])?;
        let line = child.line().await?;
        times.push(line.at - child.started());
    }
    let time = median(&times);
    setup
        .console
        .line(format_args!("   a process that only says hello: {} ms", milliseconds(time)))?;
    let value = time.as_secs_f64() * 1e3;
    report.add(&Measurement::new("open/process-start/nacre", value, "ms"))?;
    Ok(value)
}

async fn first_answer_after_kill(loaded: &Loaded, sql: &str) -> Result<Duration> {
    let arguments = |command: &str| -> [OsString; 3] {
        [command.into(), loaded.directory.clone().into(), sql.into()]
    };
    let mut holder = Child::start(&arguments("hold"))?;
    let held = holder.line().await?.text;
    holder.kill().await?;
    let mut child = Child::start(&arguments("query"))?;
    let line = child.line().await?;
    if line.text != held {
        return Err(Error::Deviation(format!(
            "`{sql}`: `{held}` before the kill, `{}` after it",
            line.text
        )));
    }
    Ok(line.at - child.started())
}

/// Reports the median and its ratio to the baseline; returns it as the next baseline.
fn report_times(
    setup: &Setup,
    report: &mut Report,
    times: &Times<'_>,
    baseline: &(String, f64),
) -> Result<(String, f64)> {
    let time = median(&times.times);
    let value = time.as_secs_f64() * 1e3;
    let id = format!("open/{}/nacre/sf={}", times.query.0, times.loaded.scale_factor);
    let measurement = Measurement::new(id.clone(), value, "ms")
        .against(baseline.0.clone(), baseline.1)
        .emulated(times.loaded.is_emulated);
    let against = if baseline.0 == "process-start" { "the hello" } else { "the smaller" };
    setup.console.line(format_args!(
        "   {:<6} {:>8} {:>11} {:>10}   {:.2} of {against}",
        times.query.0,
        times.loaded.scale_factor,
        count(times.loaded.lineitem_rows),
        milliseconds(time),
        measurement.ratio().unwrap_or_default(),
    ))?;
    report.add(&measurement)?;
    Ok((id, value))
}

async fn report_bytes(setup: &Setup, report: &mut Report, loaded: &Loaded) -> Result<()> {
    let console = setup.console;
    let csv_bytes: u64 = loaded.files.iter().map(|file| file.bytes).sum();
    let duckdb_bytes = duckdb::file_bytes(&setup.workspace, &loaded.files, loaded.scale_factor)?;
    let parameter = format!("sf={}", loaded.scale_factor);
    console.line(format_args!("Bytes at scale factor {}", loaded.scale_factor))?;
    let mut add = |name: &str, reference: Option<u64>| {
        let Some(reference) = reference else {
            return console.line(format_args!("   against {name}: not measured: duckdb not found"));
        };
        let id = format!("media/tpch-against-{name}/nacre/{parameter}");
        let measurement = Measurement::new(id, loaded.media_bytes as f64, "bytes")
            .against(name, reference as f64)
            .emulated(loaded.is_emulated);
        report.add(&measurement)?;
        console.line(format_args!(
            "   {} MB on media, {} MB as {name}: ratio {:.2}",
            megabytes(loaded.media_bytes),
            megabytes(reference),
            measurement.ratio().unwrap_or_default()
        ))
    };
    add("csv", Some(csv_bytes))?;
    add("duckdb", duckdb_bytes)
}
