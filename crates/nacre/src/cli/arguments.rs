//! The arguments of the `nacre` program.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{ArgMatches, Args, CommandFactory, FromArgMatches, Parser, Subcommand};
use nacre_bench::bench::{BenchArgs, PeerEngine, TpchMeasure};
use nacre_bench::replication::{AccessPattern, PageSize, ReplicationArgs, Workload, parse_bytes};
use nacre_server::TlsMode;
use nacre_store::RestoreTarget;
use tracing_subscriber::filter::Targets;

use super::logging::{LogFormat, parse_format, parse_levels};
use super::render::Mode;
use super::restore::parse_target;
use crate::settings;

const EXAMPLES: &str = "\
Examples:
  nacre                                  a shell over a volatile database in memory
  nacre shells                           a shell over the database in ./shells, created if absent
  nacre shells -c 'select 1' --csv       one statement, its rows as CSV
  nacre shells -f load.sql -f check.sql  scripts, one after the other
  nacre shells < load.sql                a script on standard input
  nacre shells -c \"copy t from stdin (format csv)\" < t.csv
  nacre --connect postgres://localhost   a shell at a running server
  nacre doctor shells                    what this machine and this directory give
  nacre scrub shells                     verify every byte of every replica, mend what is lost
  nacre ./doctor                         a database directory named like a subcommand

Exit codes: 0 all done, 1 wrong usage or the database cannot be opened, 3 a statement failed (the
rest is not run, unless --continue-on-error), 4 scrub or repair left something lost, 130 Ctrl-C
outside the shell.

In the shell, \\? lists its commands.";

const UPKEEP_NOTES: &str = "\
Exit codes: 0 all is whole, or was mended; 1 wrong usage, or the database cannot be opened; 4
something stays lost or is in fewer replicas than its policy says: standard output names it. A
database that is open for writing mends itself and is scrubbed every NACRE_SCRUB_HOURS; these
commands do it now.";

const RESTORE_NOTES: &str = "\
Examples:
  nacre shells -c \"archive database to '/mnt/archive'\" -c \"backup database to '/mnt/monday'\"
  nacre restore /mnt/monday --archive /mnt/archive --to '2026-03-04 11:59:59' --into shells-then

Nothing of the backup or the archive is changed. The new database is not archived: have it archived
to a directory of its own. Exit codes: 0 restored, 1 not, and nothing is left.";

const SERVE_NOTES: &str = "\
Examples:
  nacre serve shells
  nacre serve shells --listen 127.0.0.1:6543
  psql 'host=127.0.0.1 user=nacre dbname=nacre'

It says on standard output where it listens once it does. SIGTERM or Ctrl-C: idle sessions end, the
others may finish their statements within the shutdown timeout; a second one ends it at once. Exit
codes: 0 ended as asked, 1 wrong usage, the database cannot be opened or the port not be taken.";

const REPLICATION_NOTES: &str = "\
Examples:
  nacre bench replication --quick
  nacre bench replication --workload cs --access uniform --pages 2m --csv cs.csv
  nacre bench replication --mechanism switched,SF+PF,PMDK --update-bytes 4,64,4K --replicas 3

An overhead is the time of an update that returns when all replicas are durable, in % above the same
without replicas; both take turns in one process, and medians of the rounds are compared. Everything
at once takes about 25 minutes and 11 GiB (22 GiB with libpmemobj) of the directory's memory.";

const CLICKBENCH_NOTES: &str = "\
Examples:
  nacre bench clickbench --quick
  NACRE_BENCH_PYTHON=./venv/bin/python nacre bench clickbench --peers duckdb --json clickbench.json

The table has 30 columns with the types and roughly the skew of ClickBench's; the rows are our own.
Ten million rows take about 3.3 GB as CSV, and some GB of memory if no peer checks the answers.";

const LIMITS_NOTES: &str = "\
Examples:
  nacre bench limits --quick
  nacre bench limits --sf 1 --json limits.json

A kernel is the plan that a person would write: tight loops over plain arrays in DRAM. The last
columns are the kernel's: its time and processor cycles a row of its largest table, what it reads,
and how long the memory takes to give that.";

const PLANNING_NOTES: &str = "\
Examples:
  nacre bench planning --quick
  nacre bench planning --sf 1 --folder ds --json planning.json

Times are in microseconds. A query that Nacre leaves to DataFusion has no steps. The last columns
are those of EXPLAIN as a whole, by Nacre and by DataFusion.";

const SCANS_NOTES: &str = "\
Examples:
  nacre bench scans --quick
  nacre bench scans --sf 1 --json scans.json

Two databases have the rows: one in plain replicas, one in those that tables have. Each query is run
in all ways in turn; what differs are the settings nacre.scan_restrictions and nacre.vector_rows. A
ratio below 1 is for restricted scans, compressed replicas, or that size of vectors.";

const TPCDS_NOTES: &str = "\
Examples:
  NACRE_BENCH_PYTHON=./venv/bin/python nacre bench tpcds --folder ds --prepare --sf 1
  NACRE_BENCH_PYTHON=./venv/bin/python nacre bench tpcds --folder ds --peers duckdb

--prepare needs a Python with the module duckdb and DuckDB's extension tpcds: one that is installed,
or that of the module duckdb_extension_tpcds; nothing is downloaded. The queries are measured at the
scale factor that the folder was prepared with.";

const CALIBRATE_NOTES: &str = "\
The profile is a text file. Pool sets read it when they are opened: the file that NACRE_PROFILE
names, else $XDG_CONFIG_HOME/nacre/profile, else ~/.config/nacre/profile; without one a built-in
profile is used. Measure on an idle machine.";

/// A hybrid-memory database: a shell, scripts, and tools around them.
#[derive(Debug, Parser)]
#[command(name = "nacre", version, args_conflicts_with_subcommands = true)]
pub(super) struct Arguments {
    #[command(subcommand)]
    pub(super) tool: Option<Tool>,

    /// Directory of the database, created if absent; without it the database is volatile.
    #[arg(value_name = "DIR")]
    pub(super) directory: Option<PathBuf>,

    /// Work with a server instead of a directory: a URL such as postgres://user@host:5432/database
    /// or keyword=value pairs; what is not said comes from the PG* variables.
    #[arg(long, value_name = "URL", num_args = 0..=1, default_missing_value = "",
          conflicts_with_all = ["directory", "readonly", "domains", "threads"])]
    pub(super) connect: Option<String>,

    #[command(flatten)]
    pub(super) work: Work,

    #[command(flatten)]
    pub(super) format: Format,

    /// Refuse every change; other readers may be there, and no write permission is needed.
    #[arg(long, requires = "directory")]
    pub(super) readonly: bool,

    /// Add a memory domain: a name and the directory where its pools lie; repeatable.
    #[arg(long = "domain", value_name = "NAME=PATH", value_parser = parse_domain)]
    pub(super) domains: Vec<(String, PathBuf)>,

    /// Worker threads of a query or load [default: one per hardware thread].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    pub(super) threads: Option<u16>,
}

/// What to run, instead of the shell.
#[derive(Args, Debug)]
pub(super) struct Work {
    /// Run SQL or a shell command, then end; repeatable, in order with -f.
    #[arg(short = 'c', long = "command", value_name = "SQL", allow_hyphen_values = true)]
    pub(super) commands: Vec<String>,

    /// Run a script, then end; `-` is standard input; repeatable, in order with -c.
    #[arg(short = 'f', long = "file", value_name = "FILE")]
    pub(super) files: Vec<PathBuf>,

    /// Go on with the next statement after one that failed; the exit code is still 3.
    #[arg(long)]
    pub(super) continue_on_error: bool,

    /// Print each statement before it is run.
    #[arg(long)]
    pub(super) echo: bool,

    /// No banner, no command tags, no progress bar.
    #[arg(short, long)]
    pub(super) quiet: bool,
}

/// How rows are printed.
#[derive(Args, Debug)]
pub(super) struct Format {
    /// Rows as boxes [default].
    #[arg(long = "box", group = "format")]
    boxes: bool,

    /// Rows as CSV.
    #[arg(long, group = "format")]
    csv: bool,

    /// Rows as a JSON array of objects.
    #[arg(long, group = "format")]
    json: bool,

    /// Rows as a Markdown table.
    #[arg(long, group = "format")]
    markdown: bool,

    /// Rows in a named mode: box, csv, json, jsonlines, line, list or markdown.
    #[arg(long, group = "format", value_name = "NAME")]
    mode: Option<Mode>,

    /// No column names and no row counts.
    #[arg(long)]
    pub(super) no_header: bool,
}

/// A tool beside the shell.
#[derive(Debug, Subcommand)]
pub(super) enum Tool {
    /// Show what this machine offers and how safe data in a directory is.
    Doctor {
        /// A database directory, or one that may become one; nothing is created.
        #[arg(value_name = "DIR")]
        directory: Option<PathBuf>,
        /// A further memory domain to look at; repeatable.
        #[arg(long = "domain", value_name = "NAME=PATH", value_parser = parse_domain)]
        domains: Vec<(String, PathBuf)>,
    },
    /// Verify every byte of every replica, and mend what is lost.
    #[command(after_long_help = UPKEEP_NOTES)]
    Scrub {
        #[command(flatten)]
        place: UpkeepArguments,
        /// Only look: mend nothing; needs no write permission.
        #[arg(long)]
        readonly: bool,
    },
    /// Give every column the replicas its policy says, also when a domain is back or replaced.
    #[command(after_long_help = UPKEEP_NOTES)]
    Repair {
        #[command(flatten)]
        place: UpkeepArguments,
        /// Forget a memory domain before, there or not; refused while a policy names it or it has
        /// the only good replica of something. Repeatable.
        #[arg(long = "forget-domain", value_name = "NAME")]
        forgotten: Vec<String>,
    },
    /// Serve a database to PostgreSQL clients, until SIGTERM or Ctrl-C.
    #[command(after_long_help = SERVE_NOTES)]
    Serve(ServeArguments),
    /// Say whether a server takes sessions: exit code 0, 1 while it starts, 2 if nobody
    /// answers, 3 for wrong arguments.
    Ready(ReadyArguments),
    /// Set the password of a role: asked for twice on a terminal, else the first line of input.
    Password(PasswordArguments),
    /// Make a database that is what another one was at a moment, of a backup and an archive.
    #[command(after_long_help = RESTORE_NOTES)]
    Restore(RestoreArguments),
    /// Generate TPC-H, load and query it, kill the process, reopen, prove that nothing is lost.
    Demo {
        /// Scale factor: 1 is about 1 GB of CSV.
        #[arg(long = "sf", value_name = "N", default_value_t = 1.0)]
        scale_factor: f64,
        /// Where to work; a fresh subdirectory is made and removed at the end.
        #[arg(long = "dir", value_name = "D")]
        directory: Option<PathBuf>,
        /// Leave the subdirectory there at the end.
        #[arg(long)]
        keep: bool,
    },
    /// Measure, each figure as a ratio to a baseline of the same run.
    Bench {
        #[command(subcommand)]
        subject: BenchSubject,
    },
    /// Measure how replicas are best written on this machine, and keep that as its profile.
    #[command(after_long_help = CALIBRATE_NOTES)]
    Calibrate(CalibrateArguments),
    /// The process that the demo and the benchmarks start, kill and time.
    #[command(hide = true)]
    DemoChild {
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<String>,
    },
}

/// Which database to scrub or repair.
#[derive(Args, Debug)]
pub(super) struct UpkeepArguments {
    /// The database directory.
    #[arg(value_name = "DIR")]
    pub(super) directory: PathBuf,
    /// Where a memory domain is now, or one that is new; repeatable.
    #[arg(long = "domain", value_name = "NAME=PATH", value_parser = parse_domain)]
    pub(super) domains: Vec<(String, PathBuf)>,
    /// No progress bar and no summary: only what stays lost.
    #[arg(short, long)]
    pub(super) quiet: bool,
}

/// What to serve, and where.
#[derive(Args, Debug)]
pub(super) struct ServeArguments {
    /// Directory of the database, created if absent.
    #[arg(value_name = "DIR")]
    pub(super) directory: PathBuf,
    /// Address to listen on; port 0 is a free one; repeatable [default: 127.0.0.1:5432].
    #[arg(long, value_name = "HOST:PORT")]
    pub(super) listen: Vec<String>,
    /// Whether connections are encrypted: off, remote (those from other machines that ask for it),
    /// prefer or require [default: remote, with --tls-cert prefer].
    #[arg(long, value_name = "MODE", value_parser = parse_tls_mode)]
    pub(super) tls: Option<TlsMode>,
    /// Certificate of the server, PEM [default: a self-signed one, made at the first start].
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    pub(super) tls_cert: Option<PathBuf>,
    /// Key of the certificate, PEM, not readable for others.
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    pub(super) tls_key: Option<PathBuf>,
    /// Sessions at a time [default: 100].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    pub(super) max_connections: Option<u16>,
    /// Of these, how many only superusers get [default: 3]; one at least is for everybody.
    #[arg(long, value_name = "N")]
    pub(super) reserved_connections: Option<u16>,
    /// Microseconds that a session looks for the next message of a quick client before it sleeps; 0
    /// for not at all [default: 50].
    #[arg(long, value_name = "MICROSECONDS")]
    pub(super) busy_poll: Option<u32>,
    /// Tell metrics (/metrics) and health (/health, /ready) over HTTP, to anybody who asks; a port
    /// alone is one of 127.0.0.1.
    #[arg(long, value_name = "HOST:PORT", value_parser = parse_metrics)]
    pub(super) metrics: Option<String>,
    /// What is logged to standard error: off, error, warn, info, debug or trace, and levels of
    /// parts such as info,nacre_server=debug [default: NACRE_LOG, else info].
    #[arg(long, value_name = "LEVELS", value_parser = parse_levels)]
    pub(super) log_level: Option<Targets>,
    /// Log lines as text or as JSON objects.
    #[arg(long, value_name = "FORMAT", value_parser = parse_format, default_value = "text")]
    pub(super) log_format: LogFormat,
    /// Log statements that take at least so many milliseconds; 0 is all of them.
    #[arg(long, value_name = "MILLISECONDS")]
    pub(super) log_min_duration: Option<u64>,
    /// Seconds that statements may go on after SIGTERM [default: 10].
    #[arg(long, value_name = "SECONDS")]
    pub(super) shutdown_timeout: Option<u64>,
    /// Add a memory domain: a name and the directory where its pools lie; repeatable.
    #[arg(long = "domain", value_name = "NAME=PATH", value_parser = parse_domain)]
    pub(super) domains: Vec<(String, PathBuf)>,
    /// Refuse every change.
    #[arg(long)]
    pub(super) readonly: bool,
    /// Worker threads of a query or load [default: one per hardware thread].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    pub(super) threads: Option<u16>,
}

/// Which server to ask.
#[derive(Args, Debug)]
pub(super) struct ReadyArguments {
    /// A URL (postgres://host:port) or keyword=value pairs [default: the PG* variables, then
    /// localhost:5432].
    #[arg(value_name = "URL")]
    pub(super) server: Option<String>,
    /// Seconds to wait for an answer; 0 for as long as the system does.
    #[arg(short, long, value_name = "SECONDS", default_value_t = 3)]
    pub(super) timeout: u64,
    /// Say nothing.
    #[arg(short, long)]
    pub(super) quiet: bool,
}

/// Whose password to set.
#[derive(Args, Debug)]
pub(super) struct PasswordArguments {
    /// Directory of the database.
    #[arg(value_name = "DIR")]
    pub(super) directory: PathBuf,
    /// The role.
    #[arg(value_name = "ROLE", default_value = nacre_sql::BOOTSTRAP_ROLE)]
    pub(super) role: String,
}

/// What to restore, and where.
#[derive(Args, Debug)]
pub(super) struct RestoreArguments {
    /// A backup that BACKUP DATABASE made.
    #[arg(value_name = "BACKUP")]
    pub(super) backup: PathBuf,
    /// The directory that ARCHIVE DATABASE TO named.
    #[arg(long, value_name = "DIR")]
    pub(super) archive: PathBuf,
    /// The moment: a time such as '2026-03-01 12:00:00' (UTC unless it says otherwise; commits up
    /// to it are there), or a position of the redo log as in `nacre_archive` [default: the end].
    #[arg(long, value_name = "TIME|LSN", value_parser = parse_target)]
    pub(super) to: Option<RestoreTarget>,
    /// The directory of the new database, absent or empty.
    #[arg(long, value_name = "DIR")]
    pub(super) into: PathBuf,
}

/// What `nacre bench` measures.
#[derive(Debug, Subcommand)]
pub(super) enum BenchSubject {
    /// The 43 shapes of ClickBench over one wide table, next to other engines.
    #[command(after_long_help = CLICKBENCH_NOTES)]
    Clickbench(ClickbenchArguments),
    /// Size and speed of the formats of numbers, next to other crates if they are built in.
    Formats(ValueArguments),
    /// Eight TPC-H queries next to hand-written kernels over plain arrays.
    #[command(after_long_help = LIMITS_NOTES)]
    Limits(DataArguments),
    /// CSV files of TPC-H into tables, next to DuckDB if it is found.
    Load(DataArguments),
    /// Versions of rows: scans, single operations, durable commits.
    Mvcc(CountArguments),
    /// From process start to the first answer after a kill; bytes on media.
    Open(DataArguments),
    /// Replicas in several formats against uncompressed ones: operators, appending, both at once.
    Pcr(ValueArguments),
    /// From the text of a query to its plan, by step, next to DataFusion.
    #[command(after_long_help = PLANNING_NOTES)]
    Planning(PlanningArguments),
    /// From kill -9 after many commits to the first answer and to service.
    Recovery(CountArguments),
    /// TPC-H with and without restrictions of scans, on plain and compressed replicas, by the rows
    /// of a vector.
    #[command(after_long_help = SCANS_NOTES)]
    Scans(DataArguments),
    /// pgbench and fetched rows through the server, next to PostgreSQL.
    Server(CountArguments),
    /// The 13 queries of the star schema benchmark by replication scheme.
    Ssb(PeerArguments),
    /// Short transactions that mostly read, with and without versions.
    Tatp(CountArguments),
    /// Orders of a wholesale supplier, with and without versions and a redo log.
    Tpcc(CountArguments),
    /// The 99 queries of TPC-DS, next to other engines.
    #[command(after_long_help = TPCDS_NOTES)]
    Tpcds(TpcdsArguments),
    /// The 22 TPC-H queries next to DataFusion over Parquet.
    Tpch(TpchArguments),
    /// What replicas of persistent memory cost, by mechanism, next to libpmemobj if it is built in.
    #[command(after_long_help = REPLICATION_NOTES)]
    Replication(Box<ReplicationArguments>),
}

/// Arguments of the benchmarks that load a database.
#[derive(Args, Debug)]
pub(super) struct DataArguments {
    /// Scale factor of the data [default: the subject's own].
    #[arg(long = "sf", value_name = "N")]
    pub(super) scale_factor: Option<f64>,
    #[command(flatten)]
    pub(super) place: PlaceArguments,
}

/// Where and how the benchmarks work that load a database.
#[derive(Args, Debug)]
pub(super) struct PlaceArguments {
    /// Where to work; a fresh subdirectory is made and removed at the end.
    #[arg(long = "dir", value_name = "D")]
    pub(super) directory: Option<PathBuf>,
    /// Also write one JSON object a line to this file.
    #[arg(long, value_name = "FILE")]
    pub(super) json: Option<PathBuf>,
    /// End within 30 seconds.
    #[arg(long)]
    pub(super) quick: bool,
    /// Worker threads of both contestants [default: one per hardware thread].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    pub(super) threads: Option<u16>,
}

/// Engines next to which queries are measured.
#[derive(Args, Debug)]
pub(super) struct PeerNames {
    /// Also measure the queries next to these engines: duckdb, hyper, of the Python that
    /// NACRE_BENCH_PYTHON names [default: python3]; one that is not there is left out.
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub(super) peers: Vec<PeerEngine>,
}

/// Arguments of `nacre bench tpch`.
#[derive(Args, Debug)]
pub(super) struct TpchArguments {
    #[command(flatten)]
    pub(super) measured: PeerArguments,
    /// Measure how good the estimates of joins are, instead of times.
    #[arg(long, conflicts_with = "peers")]
    pub(super) estimates: bool,
    /// Measure what rows cost that transactions inserted, instead of times.
    #[arg(long, conflicts_with_all = ["peers", "estimates"])]
    pub(super) fresh: bool,
}

/// Arguments of `nacre bench planning`.
#[derive(Args, Debug)]
pub(super) struct PlanningArguments {
    /// Also plan the queries of this folder, which `nacre bench tpcds --prepare` filled.
    #[arg(long, value_name = "F")]
    pub(super) folder: Option<PathBuf>,
    #[command(flatten)]
    pub(super) data: DataArguments,
}

/// Arguments of the benchmarks that load a database of a scale factor, next to peers.
#[derive(Args, Debug)]
pub(super) struct PeerArguments {
    #[command(flatten)]
    pub(super) data: DataArguments,
    #[command(flatten)]
    pub(super) peers: PeerNames,
}

/// Arguments of `nacre bench clickbench`.
#[derive(Args, Debug)]
pub(super) struct ClickbenchArguments {
    /// Rows of the table [default: 10 million].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(super) rows: Option<u64>,
    #[command(flatten)]
    pub(super) place: PlaceArguments,
    #[command(flatten)]
    pub(super) peers: PeerNames,
}

/// Arguments of `nacre bench tpcds`.
#[derive(Args, Debug)]
pub(super) struct TpcdsArguments {
    /// The folder of tables, rows and queries.
    #[arg(long, value_name = "F")]
    pub(super) folder: PathBuf,
    /// Fill the folder from DuckDB's extension tpcds, and measure nothing.
    #[arg(long)]
    pub(super) prepare: bool,
    #[command(flatten)]
    pub(super) data: DataArguments,
    #[command(flatten)]
    pub(super) peers: PeerNames,
}

/// Arguments of the benchmarks of transactions.
#[derive(Args, Debug)]
pub(super) struct CountArguments {
    /// `mvcc`: rows; `tatp`: subscribers; `tpcc`: transactions a round; `recovery`: most commits;
    /// `server`: seconds of a turn [default: the subject's own].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(super) count: Option<u64>,
    /// Where to work; a fresh subdirectory is made and removed at the end.
    #[arg(long = "dir", value_name = "D")]
    pub(super) directory: Option<PathBuf>,
    /// Also write one JSON object a line to this file.
    #[arg(long, value_name = "FILE")]
    pub(super) json: Option<PathBuf>,
    /// End within 30 seconds.
    #[arg(long)]
    pub(super) quick: bool,
}

/// Arguments of the benchmarks that make columns of numbers.
#[derive(Args, Debug)]
pub(super) struct ValueArguments {
    /// Values of a data set [default: 100 million, or as many as half of the free memory holds].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(super) values: Option<u64>,
    /// Where to work; a fresh subdirectory is made and removed at the end.
    #[arg(long = "dir", value_name = "D")]
    pub(super) directory: Option<PathBuf>,
    /// Also write one JSON object a line to this file.
    #[arg(long, value_name = "FILE")]
    pub(super) json: Option<PathBuf>,
    /// End within 30 seconds.
    #[arg(long)]
    pub(super) quick: bool,
    /// Most threads that are measured, beside one [default: one per hardware thread].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    pub(super) threads: Option<u16>,
}

/// Arguments of `nacre bench replication`; lists are separated by commas.
#[derive(Args, Debug)]
pub(super) struct ReplicationArguments {
    /// What is updated: cs (column store), cs-tx (in transactions), kv (tree) [default: all].
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub(super) workload: Vec<Workload>,
    /// Mechanisms by name, and `switched` [default: all].
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub(super) mechanism: Vec<String>,
    /// The mechanism of the runs without replicas, the baseline; SF stores through the cache at
    /// every size, as in the papers [default: switched].
    #[arg(long, value_name = "NAME")]
    pub(super) baseline: Option<String>,
    /// Numbers of replicas, 0 to 3; 0 runs beside each as the baseline [default: 1,2,3].
    #[arg(long, value_name = "N", value_delimiter = ',')]
    pub(super) replicas: Vec<usize>,
    /// Sizes of an update, such as 4,256,64K [default: 4,16,64,256,4K,64K].
    #[arg(long, value_name = "BYTES", value_delimiter = ',', value_parser = parse_bytes)]
    pub(super) update_bytes: Vec<u64>,
    /// Which place is next: uniform, sequential [default: both].
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub(super) access: Vec<AccessPattern>,
    /// Sizes of pages: 2m, 4k [default: both].
    #[arg(long, value_name = "SIZES", value_delimiter = ',')]
    pub(super) pages: Vec<PageSize>,
    /// Size of each pool [default: 1G].
    #[arg(long, value_name = "BYTES", value_parser = parse_bytes)]
    pub(super) pool_bytes: Option<u64>,
    /// Rounds, of which medians are taken [default: 5].
    #[arg(long, value_name = "N")]
    pub(super) rounds: Option<usize>,
    /// Where to make pools, in a fresh subdirectory that is removed at the end [default: /dev/shm].
    #[arg(long = "dir", value_name = "D")]
    pub(super) directory: Option<PathBuf>,
    /// Also write one JSON object a line to this file.
    #[arg(long, value_name = "FILE")]
    pub(super) json: Option<PathBuf>,
    /// Also write a table to this file: a row for each mechanism of each cell.
    #[arg(long, value_name = "FILE")]
    pub(super) csv: Option<PathBuf>,
    /// A subset with small pools that ends within 30 seconds.
    #[arg(long)]
    pub(super) quick: bool,
}

/// Arguments of `nacre calibrate`.
#[derive(Args, Debug)]
pub(super) struct CalibrateArguments {
    /// The memory to measure: pools are made in a fresh subdirectory that is removed at the end.
    #[arg(long = "dir", value_name = "D")]
    pub(super) directory: Option<PathBuf>,
    /// Where to write the profile [default: where pool sets look for it].
    #[arg(long, value_name = "FILE")]
    pub(super) output: Option<PathBuf>,
    /// Fewer and shorter measurements: ends within 30 seconds.
    #[arg(long)]
    pub(super) quick: bool,
}

/// One `-c` or `-f`.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Task {
    Command(String),
    File(PathBuf),
}

impl Arguments {
    /// Parses a command line; the tasks come in the order in which they were given.
    pub(super) fn parse_from_os(
        arguments: impl IntoIterator<Item = OsString>,
    ) -> Result<(Self, Vec<Task>), clap::Error> {
        let footer = format!("{EXAMPLES}\n\n{}", settings::table());
        let command = Self::command().after_long_help(footer);
        let matches = command.try_get_matches_from(arguments)?;
        let parsed = Self::from_arg_matches(&matches)?;
        let tasks = parsed.work.tasks(&matches);
        Ok((parsed, tasks))
    }
}

impl Work {
    fn tasks(&self, matches: &ArgMatches) -> Vec<Task> {
        let places = |id| matches.indices_of(id).into_iter().flatten();
        let commands = places("commands").zip(self.commands.iter().cloned().map(Task::Command));
        let files = places("files").zip(self.files.iter().cloned().map(Task::File));
        let mut tasks: Vec<(usize, Task)> = commands.chain(files).collect();
        tasks.sort_by_key(|(place, _)| *place);
        tasks.into_iter().map(|(_, task)| task).collect()
    }
}

impl DataArguments {
    /// Returns the arguments of the benchmark of this name.
    pub(super) fn named(self, name: &str) -> BenchArgs {
        BenchArgs { scale_factor: self.scale_factor, ..self.place.named(name) }
    }
}

impl PlaceArguments {
    fn named(self, name: &str) -> BenchArgs {
        BenchArgs {
            name: name.to_owned(),
            directory: self.directory,
            json: self.json,
            is_quick: self.quick,
            threads: self.threads.map(usize::from),
            ..BenchArgs::default()
        }
    }
}

impl PeerArguments {
    /// Returns the arguments of the benchmark of this name.
    pub(super) fn named(self, name: &str) -> BenchArgs {
        BenchArgs { peers: self.peers.peers, ..self.data.named(name) }
    }
}

impl TpchArguments {
    /// Returns the arguments of the benchmark.
    pub(super) fn into_bench(self) -> BenchArgs {
        let tpch = match (self.estimates, self.fresh) {
            (true, _) => TpchMeasure::Estimates,
            (false, true) => TpchMeasure::FreshRows,
            (false, false) => TpchMeasure::Times,
        };
        BenchArgs { tpch, ..self.measured.named("tpch") }
    }
}

impl PlanningArguments {
    /// Returns the arguments of the benchmark.
    pub(super) fn into_bench(self) -> BenchArgs {
        BenchArgs { folder: self.folder, ..self.data.named("planning") }
    }
}

impl ClickbenchArguments {
    /// Returns the arguments of the benchmark.
    pub(super) fn into_bench(self) -> BenchArgs {
        let (peers, values) = (self.peers.peers, self.rows);
        BenchArgs { peers, values, ..self.place.named("clickbench") }
    }
}

impl TpcdsArguments {
    /// Returns the arguments of the benchmark.
    pub(super) fn into_bench(self) -> BenchArgs {
        BenchArgs {
            peers: self.peers.peers,
            folder: Some(self.folder),
            is_preparation: self.prepare,
            ..self.data.named("tpcds")
        }
    }
}

impl CountArguments {
    /// Returns the arguments of the benchmark of this name.
    pub(super) fn named(self, name: &str) -> BenchArgs {
        BenchArgs {
            name: name.to_owned(),
            values: self.count,
            directory: self.directory,
            json: self.json,
            is_quick: self.quick,
            ..BenchArgs::default()
        }
    }
}

impl ValueArguments {
    /// Returns the arguments of the benchmark of this name.
    pub(super) fn named(self, name: &str) -> BenchArgs {
        BenchArgs {
            name: name.to_owned(),
            values: self.values,
            directory: self.directory,
            json: self.json,
            is_quick: self.quick,
            threads: self.threads.map(usize::from),
            ..BenchArgs::default()
        }
    }
}

impl From<ReplicationArguments> for ReplicationArgs {
    fn from(given: ReplicationArguments) -> Self {
        // What does not fit is far above the largest size, which is told.
        let bytes = |bytes: u64| usize::try_from(bytes).unwrap_or(usize::MAX);
        Self {
            workloads: given.workload,
            mechanisms: given.mechanism,
            baseline: given.baseline,
            replicas: given.replicas,
            update_bytes: given.update_bytes.into_iter().map(bytes).collect(),
            accesses: given.access,
            pages: given.pages,
            pool_bytes: given.pool_bytes,
            rounds: given.rounds,
            directory: given.directory,
            json: given.json,
            csv: given.csv,
            is_quick: given.quick,
        }
    }
}

impl Format {
    /// Returns the chosen mode.
    pub(super) fn mode(&self) -> Mode {
        let flags =
            [(self.csv, Mode::Csv), (self.json, Mode::Json), (self.markdown, Mode::Markdown)];
        let flag = flags.iter().find(|(is_set, _)| *is_set).map(|(_, mode)| *mode);
        // `--box` is the default, said aloud.
        debug_assert!(!self.boxes || flag.is_none());
        self.mode.or(flag).unwrap_or(Mode::Box)
    }
}

fn parse_tls_mode(text: &str) -> Result<TlsMode, String> {
    match text {
        "off" => Ok(TlsMode::Off),
        "remote" => Ok(TlsMode::Remote),
        "prefer" => Ok(TlsMode::Prefer),
        "require" => Ok(TlsMode::Require),
        _ => Err("it is none of off, remote, prefer and require".to_owned()),
    }
}

fn parse_metrics(text: &str) -> Result<String, String> {
    match text.parse::<u16>() {
        Ok(port) => Ok(format!("127.0.0.1:{port}")),
        Err(_) if text.contains(':') => Ok(text.to_owned()),
        Err(_) => Err("it is neither HOST:PORT nor a port".to_owned()),
    }
}

fn parse_domain(text: &str) -> Result<(String, PathBuf), String> {
    match text.split_once('=') {
        Some((name, path)) if !name.is_empty() && !path.is_empty() => {
            Ok((name.to_owned(), PathBuf::from(path)))
        }
        _ => Err("a domain is NAME=PATH, such as pmem0=/mnt/pmem0/nacre".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<(Arguments, Vec<Task>), clap::Error> {
        Arguments::parse_from_os(line.split(' ').map(OsString::from))
    }

    #[test]
    fn definition_is_consistent() {
        Arguments::command().debug_assert();
    }

    #[test]
    fn commands_and_files_keep_their_order() {
        let (arguments, tasks) = parse("nacre -f a.sql -c x db -c y -f -").unwrap();
        assert_eq!(arguments.directory, Some(PathBuf::from("db")));
        let expected = [
            Task::File("a.sql".into()),
            Task::Command("x".into()),
            Task::Command("y".into()),
            Task::File("-".into()),
        ];
        assert_eq!(tasks, expected);
    }

    #[test]
    fn formats_exclude_each_other() {
        assert_eq!(parse("nacre --csv").unwrap().0.format.mode(), Mode::Csv);
        assert_eq!(parse("nacre --mode jsonlines").unwrap().0.format.mode(), Mode::JsonLines);
        assert_eq!(parse("nacre --box").unwrap().0.format.mode(), Mode::Box);
        assert!(parse("nacre --csv --json").is_err());
        assert!(parse("nacre --mode html").is_err());
    }

    #[test]
    fn subcommand_names_are_directories_only_with_a_path() {
        assert!(matches!(parse("nacre doctor").unwrap().0.tool, Some(Tool::Doctor { .. })));
        let (arguments, _) = parse("nacre ./doctor").unwrap();
        assert_eq!(arguments.directory, Some(PathBuf::from("./doctor")));
        let tool = parse("nacre bench open --quick").unwrap().0.tool;
        let Some(Tool::Bench { subject: BenchSubject::Open(given) }) = tool else {
            panic!("another tool");
        };
        assert!(given.place.quick);
    }

    #[test]
    fn lists_of_the_replication_benchmark_are_separated_by_commas() {
        let line = "nacre bench replication --workload cs,kv --update-bytes 4,64K --pages 2m \
                    --mechanism SF+PF,switched --replicas 1,3 --access uniform --pool-bytes 256M";
        let words = line.split_whitespace().collect::<Vec<_>>().join(" ");
        let Some(Tool::Bench { subject: BenchSubject::Replication(given) }) =
            parse(&words).unwrap().0.tool
        else {
            panic!("another tool");
        };
        let args = ReplicationArgs::from(*given);
        assert_eq!(args.workloads, [Workload::Cs, Workload::Kv]);
        assert_eq!((args.update_bytes, args.replicas), (vec![4, 65536], vec![1, 3]));
        assert_eq!(args.mechanisms, ["SF+PF", "switched"]);
        assert_eq!(args.pool_bytes, Some(256 << 20));
        assert!(parse("nacre bench replication --workload fast").is_err());
        assert!(parse("nacre bench replication --update-bytes 1X").is_err());
    }

    #[test]
    fn unusable_values_are_refused() {
        for line in ["nacre --domain x", "nacre --domain =x", "nacre --threads 0", "nacre a b"] {
            assert!(parse(line).is_err(), "{line}");
        }
        assert!(parse("nacre --readonly").is_err());
        let (arguments, _) = parse("nacre d --domain fast=/mnt/a=b --threads 2").unwrap();
        assert_eq!(arguments.domains, [("fast".to_owned(), PathBuf::from("/mnt/a=b"))]);
    }
}
