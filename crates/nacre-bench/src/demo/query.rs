//! Step 3: run the 22 queries and check every answer.

use std::time::Instant;

use crate::demo::Story;
use crate::engine::Engine;
use crate::error::Result;
use crate::format::{count, geometric_mean_ms, milliseconds, seconds};
use crate::tpch::{QUERIES, UNUSED_COLUMNS, compare_with_published};
use crate::workload::{Answer, CsvFile, Mismatch, Oracle, Query};

/// The scale factor for which the TPC publishes answers.
const PUBLISHED_SCALE_FACTOR: f64 = 1.0;

pub(super) async fn check_all(story: &Story, engine: &Engine, files: &[CsvFile]) -> Result<()> {
    let console = story.console;
    console.line("\n3. Run the 22 queries; the oracle is DataFusion over the same CSV files")?;
    let start = Instant::now();
    let oracle = Oracle::without(files, story.threads, &UNUSED_COLUMNS).await?;
    let read = seconds(start.elapsed());
    console.line(format_args!("   the oracle has read the CSV files in {read} s"))?;
    console.line("   query     rows         ms   answer")?;
    let mut times = Vec::with_capacity(QUERIES.len());
    for query in &QUERIES {
        story.interrupt.check()?;
        let sql = query.sql(story.scale_factor);
        let start = Instant::now();
        let ours = engine.query(&sql).await?;
        let time = start.elapsed();
        let theirs = oracle.query(&sql).await?;
        query.check(&ours, &theirs, "the oracle")?;
        let verdict = published_verdict(story, query, &ours)?;
        let (name, rows) = (query.name, count(ours.rows.len() as u64));
        console
            .line(format_args!("   {name:<6} {rows:>7} {:>10}   {verdict}", milliseconds(time)))?;
        times.push(time);
    }
    let mean = geometric_mean_ms(&times);
    let sum = seconds(times.iter().sum());
    console
        .line(format_args!("   geometric mean {mean:.1} ms, sum {sum} s, first run of each query"))
}

fn published_verdict(story: &Story, query: &Query, ours: &Answer) -> Result<&'static str> {
    if story.scale_factor != PUBLISHED_SCALE_FACTOR {
        return Ok("= oracle");
    }
    compare_with_published(query, ours).map_err(|difference| Mismatch {
        subject: query.name.to_owned(),
        reference: "the TPC's published answer".to_owned(),
        difference,
    })?;
    Ok("= oracle, = published")
}
