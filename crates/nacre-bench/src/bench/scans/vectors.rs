//! Sizes of vectors: queries whose time goes to scans, with 256 to 65,536 rows at once.
//!
//! # Source
//! [Muehlbauer16 7.3] Figure 7.3.

use std::time::Duration;

use super::variant::{
    ScanContest, ScanVariant, ScannedDatabase, VECTOR_ROWS, ms, scan_queries, structure,
};
use crate::error::Result;
use crate::format::{count, geometric_mean_ms};
use crate::report::Report;

/// Rows of a vector.
const SIZES: [usize; 6] = [256, 1_024, 4_096, VECTOR_ROWS, 16_384, 65_536];

/// The queries, by name: conditions that keep nearly all rows or few, one join with a scan on each
/// side, and no condition.
const NAMES: [&str; 6] = ["Q1", "Q6", "Q12", "Q14", "Q19", "sum"];

/// Measures both kinds of replicas.
pub(super) async fn measure_vectors(contest: &ScanContest<'_>, report: &mut Report) -> Result<()> {
    for database in [&contest.compressed, &contest.plain] {
        measure_database(contest, report, database).await?;
    }
    Ok(())
}

async fn measure_database(
    contest: &ScanContest<'_>,
    report: &mut Report,
    database: &ScannedDatabase,
) -> Result<()> {
    let sizes: String = SIZES.iter().map(|rows| format!("{:>16}", count(*rows as u64))).collect();
    contest.setup.console.line(format_args!(
        "\nRows of a vector, {} replicas: ms, and ratio to {} rows\n   query   {sizes}",
        database.replicas,
        count(VECTOR_ROWS as u64)
    ))?;
    let ways = SIZES.map(|vector_rows| ScanVariant { database, is_restricted: true, vector_rows });
    let mut by_size: [Vec<Duration>; SIZES.len()] = Default::default();
    for query in scan_queries().filter(|query| NAMES.contains(&query.name)) {
        let medians = contest.measure(query, &ways).await?;
        by_size.iter_mut().zip(&medians).for_each(|(all, median)| all.push(*median));
        let times: Vec<f64> = medians.into_iter().map(ms).collect();
        report_sizes(contest, report, database, (query.name, &structure(query)), &times)?;
    }
    let means: Vec<f64> = by_size.iter().map(|times| geometric_mean_ms(times)).collect();
    report_sizes(contest, report, database, ("geomean", "tpch-geomean"), &means)
}

/// Reports a time for each size.
fn report_sizes(
    contest: &ScanContest<'_>,
    report: &mut Report,
    database: &ScannedDatabase,
    (title, structure): (&str, &str),
    times: &[f64],
) -> Result<()> {
    let (parameters, replicas) = (&contest.parameters, database.replicas);
    let baseline = SIZES.iter().zip(times).find(|(rows, _)| **rows == VECTOR_ROWS);
    let baseline = baseline.map_or(0.0, |(_, time)| *time);
    let mut columns = String::new();
    for (rows, time) in SIZES.iter().zip(times) {
        let parameters = format!("{parameters},replicas={replicas},vector_rows={rows}");
        let id = format!("query/{structure}-vector/nacre/{parameters}");
        let measurement = contest.measurement(id, *time, "ms");
        let measurement = measurement.against(format!("vector_rows={VECTOR_ROWS}"), baseline);
        report.add(&measurement)?;
        let ratio = measurement.ratio().unwrap_or_default();
        columns.push_str(&format!("{time:>10.1} {ratio:>5.2}"));
    }
    contest.setup.console.line(format_args!("   {title:<8}{columns}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_query_of_the_sweep_is_there() {
        let found: Vec<_> =
            scan_queries().map(|query| query.name).filter(|name| NAMES.contains(name)).collect();
        assert_eq!(found, NAMES);
    }
}
