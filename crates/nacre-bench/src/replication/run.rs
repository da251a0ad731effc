//! The whole run: prepares, goes through the groups, cleans up.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use nacre_pmem::{Access, Domain};

use super::csv::CsvFile;
use super::options::{Choices, ReplicationArgs};
use super::pace::{self, Pace};
use super::rounds::WARM_UP_SHARE;
use super::session::Session;
use super::{decision, extra, group, library, table, verdict};
use crate::error::{Error, Result};
use crate::interrupt::{self, Interrupt};
use crate::progress::Steps;
use crate::report::{Console, Report};
use crate::workspace::Workspace;

/// Time after which a quick run begins nothing more, so that it ends in time on a busy machine too.
const QUICK_LATE: Duration = Duration::from_secs(20);

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
    run_prepared(args, choices)
}

fn run_prepared(args: &ReplicationArgs, choices: Choices) -> Result<()> {
    let report = Report::create(args.json.as_deref())?;
    let csv = CsvFile::create(args.csv.as_deref())?;
    let directory = args.directory.clone().or_else(memory_directory);
    let workspace = Workspace::create(directory.as_deref(), "replication", false)?;
    let path = workspace.path().to_path_buf();
    let args = args.clone();
    let outcome = interrupt::run(Some(1), async move |interrupt| {
        let story = move || measure_all(&args, choices, (report, csv), &path, interrupt);
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
    args: &ReplicationArgs,
    mut choices: Choices,
    (report, csv): (Report, CsvFile),
    directory: &Path,
    interrupt: Interrupt,
) -> Result<()> {
    let domain = Domain::open("bench", directory, Access::ReadWrite)
        .map_err(Error::pmem(format_args!("use {}", directory.display())))?;
    let late = choices.is_quick.then(|| Instant::now() + QUICK_LATE);
    let pace = pace::fit(&mut choices, args, &domain)?;
    let slices = choices.slice_count(library::IS_BUILT_IN);
    let mut session = Session {
        slice: choices.slice(library::IS_BUILT_IN),
        choices,
        directory: directory.to_path_buf(),
        report,
        csv,
        verdicts: Vec::new(),
        console: Console,
        interrupt,
        flush: domain.flush_flavour().to_string(),
        is_emulated: domain.durability().emulated,
        progress: Steps::new(slices),
        deadline: pace.as_ref().map(|pace| pace.deadline).or(late),
    };
    group::check_room(&session)?;
    introduce(&session, &domain, slices)?;
    if let Some(pace) = &pace {
        explain(&session, pace)?;
    }
    measure_groups(&mut session)?;
    verdict::print_all(&session)?;
    if session.is_late() {
        return session.line("The rest is left out: the time of a quick run is over");
    }
    extra::run_batches(&mut session)?;
    if session.is_late() {
        return session.line("The rest is left out: the time of a quick run is over");
    }
    decision::run(&mut session, &domain)
}

fn measure_groups(session: &mut Session) -> Result<()> {
    for pages in session.choices.pages.clone() {
        for workload in session.choices.workloads.clone() {
            let mut all = Vec::new();
            for replicas in session.choices.replicas.clone() {
                if session.is_late() {
                    break;
                }
                let group = group::Group { workload, pages, replicas };
                let figures = group.run(session)?;
                for one in &figures {
                    table::report_cell(session, one)?;
                    session.csv.add(one, session.choices.baseline, session.is_emulated)?;
                }
                all.extend(figures);
            }
            if !all.is_empty() {
                table::print(session, workload, pages, &all)?;
                verdict::print(session, &all)?;
            }
        }
    }
    Ok(())
}

/// Says what a slow device costs a quick run.
fn explain(session: &Session, pace: &Pace) -> Result<()> {
    let choices = &session.choices;
    session.line(format_args!(
        "NOTE: an update of one pool takes {:.2} ms here, so a quick run is cut to {} workloads, \
         {} numbers of replicas, {} sizes, at most {} keys; without --quick everything is measured",
        pace.update.as_secs_f64() * 1e3,
        choices.workloads.len(),
        choices.replicas.len(),
        choices.update_bytes.len(),
        choices.keys
    ))
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
    let slice = session.slice + session.slice / WARM_UP_SHARE;
    let seconds = slices as f64 * slice.as_secs_f64();
    session.line(format_args!("{slices} measurements, {seconds:.0} s and the time to fill pools"))
}

#[cfg(test)]
mod tests {
    use super::super::options::{AccessPattern, PageSize};
    use super::*;

    #[test]
    fn want_of_room_is_found_before_anything_is_created_or_measured() {
        let directory = tempfile::tempdir().unwrap();
        let args = ReplicationArgs {
            pool_bytes: Some(1 << 50),
            directory: Some(directory.path().to_path_buf()),
            is_quick: true,
            ..Default::default()
        };
        let error = run_prepared(&args, Choices::make(&args).unwrap()).unwrap_err().to_string();
        assert!(error.contains("room for") && error.contains("--pool-bytes"), "{error}");
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
    }

    #[test]
    fn every_workload_is_measured_and_nothing_is_left_behind() {
        let parent = memory_directory().unwrap_or_else(std::env::temp_dir);
        let directory = tempfile::tempdir_in(parent).unwrap();
        let json = tempfile::NamedTempFile::new().unwrap();
        let csv = tempfile::NamedTempFile::new().unwrap();
        let args = ReplicationArgs {
            mechanisms: vec!["switched".into(), "SF+PF".into()],
            replicas: vec![1],
            update_bytes: vec![4],
            accesses: vec![AccessPattern::Sequential],
            pages: vec![PageSize::Small],
            pool_bytes: Some(16 << 20),
            rounds: Some(1),
            directory: Some(directory.path().to_path_buf()),
            json: Some(json.path().to_path_buf()),
            csv: Some(csv.path().to_path_buf()),
            is_quick: true,
            ..Default::default()
        };
        run_prepared(&args, Choices::make(&args).unwrap()).unwrap();
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
        let text = std::fs::read_to_string(json.path()).unwrap();
        let ids: Vec<String> = text
            .lines()
            .map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap())
            .map(|object| object["id"].as_str().unwrap().to_owned())
            .collect();
        for workload in ["cs", "cs-tx", "kv"] {
            for (name, replicas) in [("none", 0), ("switched", 1), ("SF+PF", 1)] {
                let id = |id: &&String| {
                    id.starts_with(&format!("replicate/{name}/"))
                        && id.contains(&format!("workload={workload},"))
                        && id.ends_with(&format!("replicas={replicas},pages=4k"))
                };
                assert!(ids.iter().any(|one| id(&one)), "{workload} {name}: {ids:?}");
            }
        }
        let text = std::fs::read_to_string(csv.path()).unwrap();
        for row in ["cs,4k,sequential,4,0,switched", "cs-tx,4k,sequential,4,1,SF+PF", "kv,4k,"] {
            assert!(text.lines().any(|line| line.starts_with(row)), "{row}: {text}");
        }
    }
}
