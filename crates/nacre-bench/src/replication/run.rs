//! The whole run: prepares, goes through the groups, cleans up.

use std::path::{Path, PathBuf};

use nacre_pmem::{Access, Domain};

use super::options::{Choices, ReplicationArgs};
use super::session::Session;
use super::{decision, extra, group, library, table};
use crate::error::{Error, Result};
use crate::interrupt::{self, Interrupt};
use crate::progress::Steps;
use crate::report::{Console, Report};
use crate::workspace::Workspace;

/// Where pools lie unless said otherwise, if it is there.
const MEMORY_DIRECTORY: &str = "/dev/shm";

/// Runs the benchmark and cleans up after it, also after an error, Ctrl-C or SIGTERM.
///
/// Call it first thing: if `libpmemobj` is built in, the program may be started again with the
/// variables that the library reads.
///
/// # Errors
/// [`Error::Usage`] for arguments out of range and want of room; failing input and output.
pub fn run(args: &ReplicationArgs) -> Result<()> {
    let choices = Choices::make(args)?;
    library::prepare()?;
    let report = Report::create(args.json.as_deref())?;
    let directory = args.directory.clone().or_else(memory_directory);
    let workspace = Workspace::create(directory.as_deref(), "replication", false)?;
    let path = workspace.path().to_path_buf();
    let outcome = interrupt::run(Some(1), async move |interrupt| {
        let story = move || measure_all(choices, report, &path, interrupt);
        match tokio::task::spawn_blocking(story).await {
            Ok(outcome) => outcome,
            Err(stopped) => match stopped.try_into_panic() {
                Ok(panic) => std::panic::resume_unwind(panic),
                Err(_) => Err(Error::Interrupted),
            },
        }
    });
    let closed = workspace.close();
    outcome.and(closed)
}

/// Returns the directory for pools unless another is given.
pub(crate) fn memory_directory() -> Option<PathBuf> {
    let directory = Path::new(MEMORY_DIRECTORY);
    directory.is_dir().then(|| directory.to_path_buf())
}

fn measure_all(
    choices: Choices,
    report: Report,
    directory: &Path,
    interrupt: Interrupt,
) -> Result<()> {
    let domain = Domain::open("bench", directory, Access::ReadWrite)
        .map_err(Error::pmem(format_args!("use {}", directory.display())))?;
    let slices = choices.slice_count(library::IS_BUILT_IN);
    let mut session = Session {
        slice: choices.slice(library::IS_BUILT_IN),
        choices,
        directory: directory.to_path_buf(),
        report,
        console: Console,
        interrupt,
        flush: domain.flush_flavour().to_string(),
        is_emulated: domain.durability().emulated,
        progress: Steps::new(slices),
    };
    introduce(&session, &domain, slices)?;
    for pages in session.choices.pages.clone() {
        for workload in session.choices.workloads.clone() {
            let mut all = Vec::new();
            for replicas in session.choices.replicas.clone() {
                let group = group::Group { workload, pages, replicas };
                let figures = group.run(&mut session)?;
                figures.iter().try_for_each(|one| table::report_cell(&mut session, one))?;
                all.extend(figures);
            }
            table::print(&session, workload, pages, &all)?;
            extra::print_switching(&session, &all)?;
        }
    }
    extra::run_batches(&mut session)?;
    decision::run(&mut session, &domain)
}

/// Says what is measured, where and how.
fn introduce(session: &Session, domain: &Domain, slices: usize) -> Result<()> {
    let choices = &session.choices;
    session.line(format_args!(
        "Replication: {} contestants, {} rounds of {} ms, pools of {} MB, {} on {}, flush {}{}",
        choices.variants.len(),
        choices.rounds,
        session.slice.as_millis(),
        choices.pool_bytes / 1_000_000,
        domain.kind(),
        domain.file_system(),
        session.flush,
        if session.is_emulated { ", persistence is emulated" } else { "" }
    ))?;
    if !library::IS_BUILT_IN {
        session.line("libpmemobj: not built in (cargo feature pmdk)")?;
    }
    let seconds = slices as f64 * session.slice.as_secs_f64();
    session.line(format_args!("{slices} measurements, {seconds:.0} s and the time to fill pools"))
}
