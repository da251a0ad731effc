//! `nacre bench NAME`: measurements as ratios between two things run in turn in one run.
//!
//! | name | question |
//! |---|---|
//! | `open` | how soon does a new process answer, and how many bytes lie on the media? |
//! | `tpch` | how fast are the 22 queries and the load, next to DataFusion over Parquet? |

mod duckdb;
mod open;
mod parquet;
mod tpch;

use std::path::PathBuf;

use crate::error::{Error, Result};
use crate::interrupt::{self, Interrupt};
use crate::report::{Console, Report};
use crate::tpch::check_scale_factor;
use crate::workspace::Workspace;

/// The benchmarks that [`run`] knows.
pub const NAMES: [&str; 2] = ["open", "tpch"];

/// Arguments of a benchmark.
#[derive(Clone, Debug, Default)]
pub struct BenchArgs {
    /// One of [`NAMES`].
    pub name: String,
    /// TPC-H scale factor (`open`: the larger of two, the other is a tenth); default 1, quick 0.1.
    pub scale_factor: Option<f64>,
    /// Where to make the fresh directory for data; `None` is the system's temporary directory.
    pub directory: Option<PathBuf>,
    /// A file for JSON lines.
    pub json: Option<PathBuf>,
    /// Smaller data and fewer repetitions: ends within 30 s.
    pub is_quick: bool,
    /// Worker threads of both contestants; `None` is one per hardware thread.
    pub threads: Option<usize>,
}

/// What the benchmarks share.
struct Setup {
    workspace: Workspace,
    scale_factor: f64,
    threads: usize,
    is_quick: bool,
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
    check_scale_factor(scale_factor)?;
    if name == "open" {
        check_scale_factor(scale_factor / open::SMALLER_BY)?;
    }
    let mut report = Report::create(args.json.as_deref())?;
    let hardware_threads = std::thread::available_parallelism().map_or(1, usize::from);
    let mut setup = Setup {
        workspace: Workspace::create(args.directory.as_deref(), "bench", false)?,
        scale_factor,
        threads: args.threads.unwrap_or(hardware_threads).max(1),
        is_quick: args.is_quick,
        console: Console,
        interrupt: Interrupt::default(),
    };
    let threads = Some(setup.threads);
    let outcome = interrupt::run(threads, async |interrupt| {
        setup.interrupt = interrupt;
        match name {
            "open" => open::run(&setup, &mut report).await,
            _ => tpch::run(&setup, &mut report).await,
        }
    });
    let closed = setup.workspace.close();
    outcome.and(closed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_benchmark_is_told_the_known_ones() {
        let error = run(BenchArgs { name: "speed".into(), ..BenchArgs::default() }).unwrap_err();
        assert_eq!(error.to_string(), "there is no benchmark speed: choose one of open, tpch");
    }
}
