//! Steps 1 and 2: generate the CSV files, create the tables, load them.

use std::time::{Duration, Instant};

use crate::demo::Story;
use crate::engine::Engine;
use crate::error::{Error, Result};
use crate::format::{count, megabytes, megabytes_per_second, seconds};
use crate::progress;
use crate::tpch::generate_until;
use crate::workload::CsvFile;
use crate::workspace::bytes_below;

pub(super) async fn generate(story: &Story) -> Result<Vec<CsvFile>> {
    story.console.line("\n1. Generate the tables as CSV files")?;
    let (scale_factor, threads) = (story.scale_factor, story.threads);
    let (directory, interrupt) = (story.csv_directory.clone(), story.interrupt.clone());
    let start = Instant::now();
    let work = move || generate_until(scale_factor, &directory, threads, &interrupt);
    let files = match tokio::task::spawn_blocking(work).await {
        Ok(files) => files?,
        Err(error) => {
            return Err(Error::Deviation(format!("generating CSV ended early: {error}")));
        }
    };
    let (time, bytes) = (start.elapsed(), files.iter().map(|file| file.bytes).sum());
    story.console.line(format_args!(
        "   {} tables, {} rows, {} MB in {} s ({} MB/s)",
        files.len(),
        count(files.iter().map(|file| file.rows).sum()),
        megabytes(bytes),
        seconds(time),
        megabytes_per_second(bytes, time)
    ))?;
    Ok(files)
}

/// Creates and loads the tables; returns the open database.
pub(super) async fn load(story: &Story, files: &[CsvFile]) -> Result<Engine> {
    let console = story.console;
    console.line("\n2. Create each table and COPY its file into it")?;
    console.line("   table             rows   CSV MB       s   MB/s   MB on media   of CSV")?;
    let engine = story.open().await?;
    let (mut rows, mut time) = (0, Duration::ZERO);
    let before = bytes_below(&story.database_directory)?;
    let mut bytes_so_far = before;
    for file in files {
        story.interrupt.check()?;
        let name = file.table.name;
        let load = |progress| engine.create_and_load(file, progress);
        let loaded = progress::watch(name, load).await?;
        if loaded.rows != file.rows {
            return Err(Error::Deviation(format!(
                "{} rows of {name} were loaded from a file of {} rows",
                loaded.rows, file.rows
            )));
        }
        let bytes = bytes_below(&story.database_directory)?;
        let on_media = bytes.saturating_sub(bytes_so_far);
        console.line(row(name, loaded.rows, file.bytes, loaded.time, on_media))?;
        (rows, time, bytes_so_far) = (rows + loaded.rows, time + loaded.time, bytes);
    }
    let csv_bytes = files.iter().map(|file| file.bytes).sum();
    let on_media = bytes_so_far.saturating_sub(before);
    console.line(row("all", rows, csv_bytes, time, on_media))?;
    let start = Instant::now();
    engine.finish_replicas(&story.interrupt)?;
    let on_media = bytes_below(&story.database_directory)?.saturating_sub(before);
    console.line(format_args!(
        "   second replicas of long strings, encoded in the background: {} s, {} MB on media now",
        seconds(start.elapsed()),
        megabytes(on_media)
    ))?;
    Ok(engine)
}

fn row(name: &str, rows: u64, csv_bytes: u64, time: Duration, on_media: u64) -> String {
    format!(
        "   {name:<10} {:>11} {:>8} {:>7} {:>6} {:>13} {:>7.0}%",
        count(rows),
        megabytes(csv_bytes),
        seconds(time),
        megabytes_per_second(csv_bytes, time),
        megabytes(on_media),
        on_media as f64 / csv_bytes.max(1) as f64 * 100.0
    )
}
