//! Step 3: run the 22 queries and check every answer.

use std::time::Instant;

use crate::demo::Story;
use crate::engine::Engine;
use crate::error::Result;
use crate::format::{count, geometric_mean_ms, milliseconds, seconds};
use crate::tpch::{
    Answer, CsvFile, Difference, Mismatch, Oracle, QUERIES, Query, compare, compare_with_published,
};

/// The scale factor for which the TPC publishes answers.
const PUBLISHED_SCALE_FACTOR: f64 = 1.0;

pub(super) async fn check_all(story: &Story, engine: &Engine, files: &[CsvFile]) -> Result<()> {
    let console = story.console;
    console.line("\n3. Run the 22 queries; the oracle is DataFusion over the same CSV files")?;
    let start = Instant::now();
    let oracle = Oracle::for_queries(files, story.threads).await?;
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
        check(query, "the oracle", compare(&ours, &theirs, query.order_by))?;
        let verdict = published_verdict(story, query, &ours)?;
        let (number, rows) = (query.number, count(ours.rows.len() as u64));
        console.line(format_args!(
            "   Q{number:<5} {rows:>7} {:>10}   {verdict}",
            milliseconds(time)
        ))?;
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
    check(query, "the TPC's published answer", compare_with_published(query, ours))?;
    Ok("= oracle, = published")
}

fn check(
    query: &Query,
    reference: &str,
    outcome: std::result::Result<(), Difference>,
) -> Result<()> {
    outcome.map_err(|difference| {
        let subject = format!("Q{}", query.number);
        Mismatch { subject, reference: reference.to_owned(), difference }.into()
    })
}
