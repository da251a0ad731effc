//! `nacre demo`: the main job, end to end, on TPC-H.
//!
//! 1. generate CSV files, 2. load them, 3. run the 22 queries and check every answer, 4. kill a
//!    process in the middle of a second load and show what the next one finds, 5. damage a byte on
//!    disk and show who notices. Any deviation from what must happen ends it with an error.

mod crash;
mod damage;
mod load;
mod query;

use std::path::PathBuf;
use std::time::Instant;

pub use crate::child::run as child;
use crate::engine::Engine;
use crate::error::Result;
use crate::format;
use crate::interrupt::{self, Interrupt};
use crate::report::Console;
use crate::tpch::check_scale_factor;
use crate::workload::CsvFile;
use crate::workspace::Workspace;

/// Arguments of the demo.
#[derive(Clone, Debug)]
pub struct DemoArgs {
    /// TPC-H scale factor; 1 is about 1 GB of CSV.
    pub scale_factor: f64,
    /// Where to make the fresh directory that everything happens in; `None` is the system's
    /// directory for temporary files.
    pub directory: Option<PathBuf>,
    /// Leave the directory there at the end.
    pub keep: bool,
}

/// What the steps share.
struct Story {
    scale_factor: f64,
    threads: usize,
    csv_directory: PathBuf,
    database_directory: PathBuf,
    console: Console,
    interrupt: Interrupt,
}

/// Runs the demo and cleans up after it, also after an error, Ctrl-C or SIGTERM.
///
/// # Errors
/// Arguments out of range, failing input and output, and everything that must not happen.
pub fn run(args: DemoArgs) -> Result<()> {
    check_scale_factor(args.scale_factor)?;
    let workspace = Workspace::create(args.directory.as_deref(), "demo", args.keep)?;
    let outcome = interrupt::run(None, |interrupt| tell(&args, &workspace, interrupt));
    let closed = workspace.close();
    outcome.and(closed)
}

async fn tell(args: &DemoArgs, workspace: &Workspace, interrupt: Interrupt) -> Result<()> {
    let start = Instant::now();
    let story = Story {
        scale_factor: args.scale_factor,
        threads: std::thread::available_parallelism().map_or(1, usize::from),
        csv_directory: workspace.subdirectory("csv")?,
        database_directory: workspace.path().join("database"),
        console: Console,
        interrupt,
    };
    let console = story.console;
    console.line(format_args!(
        "Nacre demo: TPC-H at scale factor {}, {} threads, in {}",
        story.scale_factor,
        story.threads,
        workspace.path().display()
    ))?;

    let files = load::generate(&story).await?;
    let engine = load::load(&story, &files).await?;
    query::check_all(&story, &engine, &files).await?;
    crash::kill_and_restart(&story, engine, &files).await?;
    damage::flip_a_byte(&story).await?;

    let end = if args.keep { "kept" } else { "removed" };
    console.line(format_args!(
        "\nAll as it must be, in {} s. The directory is {end}.",
        format::seconds(start.elapsed())
    ))
}

impl Story {
    async fn open(&self) -> Result<Engine> {
        self.interrupt.check()?;
        Engine::open(&self.database_directory, None).await
    }
}

/// Returns the CSV file of lineitem, the largest table.
fn lineitem(files: &[CsvFile]) -> Result<&CsvFile> {
    files
        .iter()
        .find(|file| file.table.name == "lineitem")
        .ok_or_else(|| crate::Error::Deviation("no CSV file was generated for lineitem".into()))
}
