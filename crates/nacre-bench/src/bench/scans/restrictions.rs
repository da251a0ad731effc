//! Restrictions on encoded values beside conditions on decoded ones, and compressed replicas beside
//! plain ones: the queries of TPC-H in these four ways.
//!
//! # Source
//! [Muehlbauer16 7.4] Table 7.2, columns "vectorized scans" and "+SARG".

use std::time::Duration;

use serde_json::Value;

use super::variant::{
    ScanContest, ScanVariant, ScannedDatabase, VECTOR_ROWS, ms, scan_queries, structure,
};
use crate::bench::explained::{explained_plan, plan_inputs, unexpected};
use crate::error::Result;
use crate::format::geometric_mean_ms;
use crate::report::Report;
use crate::workload::Query;

/// Times of a query, or means of all of them, in milliseconds.
#[derive(Clone, Copy, Debug)]
struct RestrictionTimes {
    plain: DecidedTimes,
    compressed: DecidedTimes,
}

/// By what decides conditions: filters on decoded values, or scans on encoded ones.
#[derive(Clone, Copy, Debug)]
struct DecidedTimes {
    decoded: f64,
    restricted: f64,
}

/// What the scans of a query read and left out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct ReadTotals {
    bytes: u64,
    chunks: u64,
    chunks_pruned: u64,
}

/// Bytes in either kind of replicas, and chunks of which none was read.
#[derive(Clone, Copy, Debug)]
struct QueryReads {
    plain: ReadTotals,
    compressed: ReadTotals,
}

impl RestrictionTimes {
    /// Takes the times of the ways that [`measure_restrictions`] runs, made one number each.
    fn of(by_way: [&[Duration]; 4], number: impl Fn(&[Duration]) -> f64) -> Self {
        let [plain_decoded, plain, compressed_decoded, compressed] = by_way.map(number);
        Self {
            plain: DecidedTimes { decoded: plain_decoded, restricted: plain },
            compressed: DecidedTimes { decoded: compressed_decoded, restricted: compressed },
        }
    }
}

/// Measures all queries.
pub(super) async fn measure_restrictions(
    contest: &ScanContest<'_>,
    report: &mut Report,
) -> Result<()> {
    print_header(contest)?;
    let way =
        |database, is_restricted| ScanVariant { database, is_restricted, vector_rows: VECTOR_ROWS };
    let (plain, compressed) = (&contest.plain, &contest.compressed);
    let ways = [way(plain, false), way(plain, true), way(compressed, false), way(compressed, true)];
    let mut by_way: [Vec<Duration>; 4] = Default::default();
    for query in scan_queries() {
        let medians = contest.measure(query, &ways).await?;
        by_way.iter_mut().zip(medians).for_each(|(all, median)| all.push(median));
        let last = by_way.each_ref().map(|all| &all[all.len() - 1..]);
        let times = RestrictionTimes::of(last, |one| one.iter().copied().map(ms).sum());
        // The last way has restrictions, and so has what is explained now.
        let reads = QueryReads {
            plain: read_totals(contest, plain, query).await?,
            compressed: read_totals(contest, compressed, query).await?,
        };
        report_times(contest, report, query.name, &structure(query), times, Some(reads))?;
        report_reads(contest, report, &structure(query), reads)?;
    }
    let all = by_way.each_ref().map(Vec::as_slice);
    let sums = RestrictionTimes::of(all, |times| ms(times.iter().sum()));
    report_times(contest, report, "total", "tpch-total", sums, None)?;
    let means = RestrictionTimes::of(all, geometric_mean_ms);
    report_times(contest, report, "geomean", "tpch-geomean", means, None)
}

fn print_header(contest: &ScanContest<'_>) -> Result<()> {
    let setup = contest.setup;
    setup.console.line(format_args!(
        "TPC-H at scale factor {}, threads: {}, warm, median of {} runs in turn, ms\n   \
         conditions are decided on decoded values or restrict scans\n   {:<8} {:^27}  {:^27}  \
         {:>10}  {:^27} {:>12}",
        setup.scale_factor,
        setup.threads,
        contest.repetitions,
        "",
        "plain replicas",
        "compressed replicas",
        "compressed",
        "MB of blocks read",
        "chunks"
    ))?;
    let times = format!("{:>9} {:>10} {:>6}", "decoded", "restricted", "ratio");
    setup.console.line(format_args!(
        "   {:<8} {times}  {times}  {:>10}  {:>9} {:>10} {:>6} {:>12}",
        "query", "by plain", "plain", "compressed", "ratio", "left out"
    ))
}

fn report_times(
    contest: &ScanContest<'_>,
    report: &mut Report,
    title: &str,
    structure: &str,
    times: RestrictionTimes,
    reads: Option<QueryReads>,
) -> Result<()> {
    let parameters = &contest.parameters;
    let mut columns = String::new();
    for (database, of) in [(&contest.plain, times.plain), (&contest.compressed, times.compressed)] {
        let replicas = database.replicas;
        let id = format!("query/{structure}-restricted/nacre/{parameters},replicas={replicas}");
        let measurement = contest.measurement(id, of.restricted, "ms");
        let measurement = measurement.against("decoded", of.decoded);
        report.add(&measurement)?;
        let ratio = measurement.ratio().unwrap_or_default();
        let DecidedTimes { decoded, restricted } = of;
        columns.push_str(&format!(" {decoded:>9.1} {restricted:>10.1} {ratio:>6.2} "));
    }
    let id = format!("query/{structure}-compressed/nacre/{parameters}");
    let measurement = contest.measurement(id, times.compressed.restricted, "ms");
    let measurement = measurement.against("plain", times.plain.restricted);
    report.add(&measurement)?;
    let ratio = measurement.ratio().unwrap_or_default();
    let read = reads.map_or_else(String::new, |QueryReads { plain, compressed }| {
        let megabytes = |totals: ReadTotals| totals.bytes as f64 / 1e6;
        let ratio = compressed.bytes as f64 / plain.bytes.max(1) as f64;
        let left_out = format!("{}/{}", compressed.chunks_pruned, compressed.chunks);
        let (plain, compressed) = (megabytes(plain), megabytes(compressed));
        format!("{plain:>9.1} {compressed:>10.1} {ratio:>6.2} {left_out:>12}")
    });
    contest.setup.console.line(format_args!("   {title:<8}{columns} {ratio:>10.2}  {read}"))
}

fn report_reads(
    contest: &ScanContest<'_>,
    report: &mut Report,
    structure: &str,
    reads: QueryReads,
) -> Result<()> {
    let id = format!("read/{structure}/nacre/{}", contest.parameters);
    let measurement = contest.measurement(id, reads.compressed.bytes as f64, "bytes");
    report.add(&measurement.against("plain", reads.plain.bytes as f64))
}

async fn read_totals(
    contest: &ScanContest<'_>,
    database: &ScannedDatabase,
    query: &Query,
) -> Result<ReadTotals> {
    let sql = query.sql(contest.setup.scale_factor);
    let plan = explained_plan(&database.engine, &sql).await?;
    let mut totals = ReadTotals::default();
    add_reads(&plan, &mut totals);
    if totals.chunks == 0 {
        return Err(unexpected(query.name, "no scans"));
    }
    Ok(totals)
}

/// Adds what the scans of a plan read.
fn add_reads(node: &Value, totals: &mut ReadTotals) {
    let number = |value: &Value| value.as_u64().unwrap_or_default();
    totals.chunks += number(&node["Chunks"]);
    totals.chunks_pruned += number(&node["Chunks Pruned"]);
    let blocks = node["Blocks Read"].as_array().map_or(&[][..], Vec::as_slice);
    totals.bytes += blocks.iter().map(|block| number(&block["Bytes"])).sum::<u64>();
    plan_inputs(node).iter().for_each(|input| add_reads(input, totals));
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn reads_of_all_scans_of_a_plan_are_added_up() {
        let block = |bytes: u64| json!({"Format": "plain", "Blocks": 2, "Bytes": bytes});
        let scan = |bytes: &[u64]| {
            let blocks: Vec<_> = bytes.iter().map(|bytes| block(*bytes)).collect();
            json!({"Relation Name": "t", "Chunks": 9, "Chunks Pruned": 4, "Blocks Read": blocks})
        };
        let plan = json!({"Plans": [{"Plans": [scan(&[10, 5])]}, scan(&[100])]});
        let mut totals = ReadTotals::default();
        add_reads(&plan, &mut totals);
        assert_eq!(totals, ReadTotals { bytes: 115, chunks: 18, chunks_pruned: 8 });
    }
}
