//! `nacre bench NAME`: measurements as ratios between two things run in turn in one run.
//!
//! | name | question |
//! |---|---|
//! | `clickbench` | how fast are the 43 shapes of ClickBench, next to other engines? |
//! | `formats` | how small do the formats make numbers, how fast, next to other people's crates? |
//! | `limits` | how far is the engine from hand-written kernels for eight queries of TPC-H? |
//! | `load` | how soon are the rows of CSV files durable, next to DuckDB? |
//! | `mvcc` | what do versions cost those who scan, write and commit? |
//! | `open` | how soon does a new process answer, and how many bytes lie on the media? |
//! | `pcr` | what do replicas in other formats give to readers, what do they cost an appender? |
//! | `planning` | how long does it take to plan queries, next to DataFusion? |
//! | `recovery` | how soon after a kill is there service, and how soon do indexes find rows? |
//! | `scans` | what do restrictions on encoded values, compression and the size of vectors give? |
//! | `server` | what do programs of PostgreSQL get from our server, next to PostgreSQL's? |
//! | `ssb` | what do they give to the 13 queries of the star schema benchmark? |
//! | `tatp` | what do versions cost transactions that mostly read? |
//! | `tpcc` | what do versions, validation and a log cost transactions that mostly write? |
//! | `tpcds` | how fast are the 99 queries of TPC-DS, next to other engines? |
//! | `tpch` | how fast are the 22 queries and the load, next to DataFusion over Parquet? |

mod clickbench;
mod duckdb;
mod estimates;
mod explained;
mod first_lookup;
mod formats;
mod fresh_rows;
mod limits;
mod load;
mod mvcc;
mod oltp;
mod open;
mod parquet;
mod pcr;
mod peers;
mod pgbench;
mod planning;
mod postgres;
pub(crate) mod recovery;
mod scans;
mod served;
mod server;
mod ssb;
mod tatp;
mod tpcc;
mod tpcc_postgres;
mod tpcds;
mod tpch;

use std::path::PathBuf;

use crate::error::{Error, Result};
use crate::interrupt::{self, Interrupt};
use crate::replication::memory_directory;
use crate::report::{Console, Report};
use crate::workspace::Workspace;

pub use peers::PeerEngine;
pub use tpch::TpchMeasure;

/// The benchmarks that [`run`] knows.
pub const NAMES: [&str; 16] = [
    "clickbench",
    "formats",
    "limits",
    "load",
    "mvcc",
    "open",
    "pcr",
    "planning",
    "recovery",
    "scans",
    "server",
    "ssb",
    "tatp",
    "tpcc",
    "tpcds",
    "tpch",
];

/// The benchmarks whose data lies in `/dev/shm` unless a directory is named.
const IN_MEMORY: [&str; 4] = ["pcr", "recovery", "ssb", "tpcc"];

/// Arguments of a benchmark.
#[derive(Clone, Debug, Default)]
pub struct BenchArgs {
    /// One of [`NAMES`].
    pub name: String,
    /// Scale factor of TPC-H or SSB (`open`: the larger of two, the other is a tenth); default 1,
    /// quick 0.1.
    pub scale_factor: Option<f64>,
    /// `formats` and `pcr`: values of a data set, `mvcc`: rows; default 100 million, or what memory
    /// allows. `clickbench`: rows, default 10 million. `tatp`: subscribers; `tpcc`: transactions of
    /// a round; `recovery`: most commits; `server`: seconds of a turn.
    pub values: Option<u64>,
    /// Where to make the fresh directory for data; `None` is `/dev/shm` for `pcr`, `recovery`,
    /// `ssb` and `tpcc`, the system's temporary directory for the others.
    pub directory: Option<PathBuf>,
    /// A file for JSON lines.
    pub json: Option<PathBuf>,
    /// Smaller data and fewer repetitions: ends within 30 s.
    pub is_quick: bool,
    /// Worker threads of both contestants; `None` is one per hardware thread.
    pub threads: Option<usize>,
    /// `clickbench`, `ssb`, `tpcds` and `tpch`: engines next to which the queries are measured.
    pub peers: Vec<PeerEngine>,
    /// What `tpch` measures.
    pub tpch: TpchMeasure,
    /// `planning` and `tpcds`: the folder of TPC-DS: its tables, rows and queries.
    pub folder: Option<PathBuf>,
    /// `tpcds`: whether the folder is to be filled, not measured.
    pub is_preparation: bool,
}

/// What the benchmarks share.
struct Setup {
    workspace: Workspace,
    scale_factor: f64,
    values: Option<u64>,
    threads: usize,
    peers: Vec<PeerEngine>,
    tpch: TpchMeasure,
    folder: Option<PathBuf>,
    is_preparation: bool,
    is_quick: bool,
    is_directory_given: bool,
    console: Console,
    interrupt: Interrupt,
}

/// Runs a benchmark and cleans up after it, also after an error, Ctrl-C or SIGTERM.
///
/// # Errors
/// [`Error::Usage`] for an unknown name or arguments out of range; failing input and output.
pub fn run(args: BenchArgs) -> Result<()> {
    let name = args.name.as_str();
    if !NAMES.contains(&name) {
        let known = NAMES.join(", ");
        return Err(Error::Usage(format!("there is no benchmark {name}: choose one of {known}")));
    }
    let scale_factor = args.scale_factor.unwrap_or(if args.is_quick { 0.1 } else { 1.0 });
    check(&args, scale_factor)?;
    let mut report = Report::create(args.json.as_deref())?;
    let hardware_threads = std::thread::available_parallelism().map_or(1, usize::from);
    let in_memory = || memory_directory().filter(|_| IN_MEMORY.contains(&name));
    let directory = args.directory.clone().or_else(in_memory);
    let mut setup = Setup {
        workspace: Workspace::create(directory.as_deref(), "bench", false)?,
        scale_factor,
        values: args.values,
        threads: args.threads.unwrap_or(hardware_threads).max(1),
        peers: args.peers.clone(),
        tpch: args.tpch,
        folder: args.folder.clone(),
        is_preparation: args.is_preparation,
        is_quick: args.is_quick,
        is_directory_given: args.directory.is_some(),
        console: Console,
        interrupt: Interrupt::default(),
    };
    let blocking: Option<fn(&Setup, &mut Report) -> Result<()>> = match name {
        "formats" => Some(formats::run),
        "mvcc" => Some(mvcc::run),
        "pcr" => Some(pcr::run),
        "server" => Some(server::run),
        "tatp" => Some(tatp::run),
        "tpcc" => Some(tpcc::run),
        _ => None,
    };
    if let Some(measure) = blocking {
        return interrupt::run_blocking(move |interrupt| {
            setup.interrupt = interrupt;
            let outcome = measure(&setup, &mut report);
            outcome.and(setup.workspace.close())
        });
    }
    let threads = Some(setup.threads);
    let outcome = interrupt::run(threads, async |interrupt| {
        setup.interrupt = interrupt;
        match name {
            "clickbench" => clickbench::run(&setup, &mut report).await,
            "limits" => limits::run(&setup, &mut report).await,
            "load" => load::run(&setup, &mut report).await,
            "open" => open::run(&setup, &mut report).await,
            "planning" => planning::run(&setup, &mut report).await,
            "recovery" => recovery::run(&setup, &mut report).await,
            "scans" => scans::run(&setup, &mut report).await,
            "ssb" => ssb::run(&setup, &mut report).await,
            "tpcds" => tpcds::run(&setup, &mut report).await,
            _ => tpch::run(&setup, &mut report).await,
        }
    });
    let closed = setup.workspace.close();
    outcome.and(closed)
}

/// Rejects arguments out of range.
fn check(args: &BenchArgs, scale_factor: f64) -> Result<()> {
    if args.values == Some(0) {
        return Err(Error::Usage("0 values: give at least 1".into()));
    }
    match args.name.as_str() {
        "open" => {
            crate::tpch::check_scale_factor(scale_factor)?;
            crate::tpch::check_scale_factor(scale_factor / open::SMALLER_BY)
        }
        "limits" | "load" | "scans" | "tpch" => crate::tpch::check_scale_factor(scale_factor),
        "ssb" => crate::ssb::check_scale_factor(scale_factor),
        "planning" => {
            crate::tpch::check_scale_factor(scale_factor)?;
            crate::ssb::check_scale_factor(scale_factor)
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_benchmark_is_told_the_known_ones() {
        let error = run(BenchArgs { name: "speed".into(), ..BenchArgs::default() }).unwrap_err();
        let message = "there is no benchmark speed: choose one of clickbench, formats, limits, \
                       load, mvcc, open, pcr, planning, recovery, scans, server, ssb, tatp, tpcc, \
                       tpcds, tpch";
        assert_eq!(error.to_string(), message);
    }

    #[test]
    fn no_values_are_refused() {
        let args = BenchArgs { name: "pcr".into(), values: Some(0), ..BenchArgs::default() };
        assert!(matches!(run(args), Err(Error::Usage(_))));
    }

    /// Runs a benchmark on tiny data; returns the ids of what it wrote down.
    fn smoke(
        name: &str,
        values: Option<u64>,
        scale_factor: Option<f64>,
        threads: usize,
    ) -> Vec<String> {
        let threads = Some(threads);
        let args = BenchArgs { values, scale_factor, threads, ..BenchArgs::default() };
        smoke_with(BenchArgs { name: name.into(), is_quick: true, ..args })
    }

    /// Runs a benchmark in a fresh directory; returns the ids of what it wrote down.
    fn smoke_with(args: BenchArgs) -> Vec<String> {
        let parent = memory_directory().unwrap_or_else(std::env::temp_dir);
        let directory = tempfile::tempdir_in(parent).unwrap();
        let json = tempfile::NamedTempFile::new().unwrap();
        let args = BenchArgs {
            directory: Some(directory.path().to_path_buf()),
            json: Some(json.path().to_path_buf()),
            ..args
        };
        let name = args.name.clone();
        run(args).unwrap();
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0, "{name} left files");
        let text = std::fs::read_to_string(json.path()).unwrap();
        let object = |line| serde_json::from_str::<serde_json::Value>(line).unwrap();
        text.lines().map(|line| object(line)["id"].as_str().unwrap().to_owned()).collect()
    }

    fn assert_has(ids: &[String], beginning: &str) {
        assert!(ids.iter().any(|id| id.starts_with(beginning)), "{beginning}: {ids:?}");
    }

    #[test]
    fn formats_are_measured_on_all_four_data_sets() {
        let ids = smoke("formats", Some(1), None, 1);
        for set in ["d1", "d2", "d3", "d4"] {
            let parameters = format!("data={set},values=196608");
            for operation in ["size", "encode", "decode", "encode-rate", "decode-rate"] {
                assert_has(&ids, &format!("{operation}/static_bp/scalar/{parameters}"));
            }
        }
        assert_has(&ids, "rank/");
    }

    #[test]
    fn replicated_columns_are_measured_in_all_parts() {
        let ids = smoke("pcr", Some(70_000), None, 2);
        for part in ["read/plain", "aggregate/plain", "select-1/", "project/", "append/none"] {
            assert_has(&ids, part);
        }
        assert_has(&ids, "aggregate/static_bp+dynamic_bp/");
        assert_has(&ids, "wear/static_bp+dynamic_bp+plain/");
        assert_has(&ids, "mixed/static_bp+static_bp@dram/");
    }

    #[test]
    fn loads_are_measured_by_table_and_as_a_whole() {
        let ids = smoke("load", None, Some(0.01), 2);
        for threads in [1, 2] {
            for table in ["lineitem", "all"] {
                assert_has(&ids, &format!("load/tpch-{table}/nacre/sf=0.01,threads={threads}"));
            }
            assert_has(&ids, &format!("media/tpch-loaded/nacre/sf=0.01,threads={threads}"));
        }
    }

    #[test]
    fn versions_are_measured_in_all_parts() {
        let ids = smoke("mvcc", Some(5_000), None, 1);
        for part in ["scan/oldest/mvcc/rows=5000,dirty=50,versions=4", "positions/", "commit/"] {
            assert_has(&ids, part);
        }
        assert_has(&ids, "write/delete-insert/mvcc/per_transaction=1");
    }

    #[test]
    fn transaction_mixes_are_measured_with_and_without_versions() {
        let ids = smoke("tatp", Some(500), None, 1);
        for side in ["single-version", "snapshot", "serializable"] {
            assert_has(&ids, &format!("tatp/mix/{side}/subscribers=500"));
        }
        let ids = smoke("tpcc", Some(200), None, 1);
        assert_has(&ids, "tpcc/mix/serializable+redo/warehouses=1,");
        assert_has(&ids, "tpcc/refused/serializable-records/warehouses=3,clients=10");
    }

    #[test]
    fn shapes_of_one_wide_table_are_measured() {
        let ids = smoke("clickbench", Some(3_000), None, 2);
        assert_eq!(ids.len(), 43);
        for id in ["query/clickbench-q00/nacre/rows=3000,threads=2", "query/clickbench-q42/"] {
            assert_has(&ids, id);
        }
    }

    #[test]
    fn queries_of_a_folder_are_measured() {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in [
            ("tables/t.sql", "CREATE TABLE t(a BIGINT, b VARCHAR, c DECIMAL(7,2), d DATE);"),
            ("tables/t.csv", "a,b,c,d\n1,,2.50,2000-01-02\n,\"\",,\n"),
            ("queries/q01.sql", "SELECT count(*), count(b), sum(c) FROM t;"),
            ("queries/q02.sql", "SELECT a FROM t ORDER BY a LIMIT 1;\n"),
            ("scale_factor", "0.5\n"),
        ] {
            let path = folder.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        let (name, threads) = ("tpcds".into(), Some(1));
        let folder = Some(folder.path().to_path_buf());
        let ids = smoke_with(BenchArgs { name, folder, threads, ..BenchArgs::default() });
        let expected =
            ["q01", "q02"].map(|query| format!("query/tpcds-{query}/nacre/sf=0.5,threads=1"));
        assert_eq!(ids, expected);
    }

    #[test]
    fn planning_is_measured_by_step_next_to_the_baseline() {
        let ids = smoke("planning", None, Some(0.01), 1);
        for step in ["parse", "bind", "optimize", "lower", "plan", "explain"] {
            for query in ["tpch-q22", "ssb-q4.3"] {
                assert_has(&ids, &format!("{step}/{query}/nacre/sf=0.01"));
            }
            assert_has(&ids, &format!("{step}/clique/nacre/relations=12"));
            assert_has(&ids, &format!("{step}/point/nacre/"));
        }
        for id in ["plan/tpch-median/", "plan/tpch-max/", "changed-plans/tpch/", "explain/in/"] {
            assert_has(&ids, id);
        }
    }

    #[test]
    fn fresh_rows_are_measured_next_to_frozen_ones() {
        let (name, threads, scale_factor) = ("tpch".into(), Some(1), Some(0.01));
        let tpch = TpchMeasure::FreshRows;
        let args = BenchArgs { name, scale_factor, threads, tpch, ..BenchArgs::default() };
        let ids = smoke_with(BenchArgs { is_quick: true, ..args });
        assert_eq!(ids.len(), 2 * 23);
        for id in ["query/tpch-q01-one-row/", "query/tpch-geomean-fresh-tenth/nacre/sf=0.01,"] {
            assert_has(&ids, id);
        }
    }

    #[test]
    fn tpcds_without_its_folder_is_refused() {
        let args = BenchArgs { name: "tpcds".into(), ..BenchArgs::default() };
        assert!(matches!(run(args), Err(Error::Usage(message)) if message.contains("--folder")));
    }

    #[test]
    fn kernels_are_measured_with_one_thread_and_with_all() {
        let ids = smoke("limits", None, Some(0.01), 2);
        for threads in [1, 2] {
            for query in ["q01", "q06", "q09", "q13", "q14", "q17", "q18", "q19"] {
                let parameters = format!("sf=0.01,threads={threads}");
                assert_has(&ids, &format!("query/tpch-{query}-limit/nacre/{parameters}"));
                assert_has(&ids, &format!("read/tpch-{query}/kernel/{parameters}"));
            }
        }
    }

    #[test]
    fn scans_are_measured_by_restrictions_replicas_and_vectors() {
        let ids = smoke("scans", None, Some(0.01), 2);
        for query in ["q01", "q22", "sum", "geomean"] {
            for replicas in ["plain", "compressed"] {
                let parameters = format!("sf=0.01,threads=2,replicas={replicas}");
                assert_has(&ids, &format!("query/tpch-{query}-restricted/nacre/{parameters}"));
            }
            assert_has(&ids, &format!("query/tpch-{query}-compressed/nacre/sf=0.01,threads=2"));
        }
        assert_has(&ids, "read/tpch-q06/nacre/sf=0.01,threads=2");
        for rows in [256, 1_024, 4_096, 8_192, 16_384, 65_536] {
            for replicas in ["plain", "compressed"] {
                let parameters =
                    format!("sf=0.01,threads=2,replicas={replicas},vector_rows={rows}");
                assert_has(&ids, &format!("query/tpch-q19-vector/nacre/{parameters}"));
                assert_has(&ids, &format!("query/tpch-geomean-vector/nacre/{parameters}"));
            }
        }
    }

    #[test]
    fn star_schema_queries_are_measured_for_all_schemes() {
        let ids = smoke("ssb", None, Some(0.001), 1);
        for id in ["query/ssb/static_bp+plain/", "query/ssb-q4.3/plain+plain@dram/", "media/ssb/"] {
            assert_has(&ids, id);
        }
    }
}
