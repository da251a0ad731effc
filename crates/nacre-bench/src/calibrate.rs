//! `nacre calibrate`: measures the replication mechanisms on this machine and keeps the result.
//!
//! Pools are made in a fresh subdirectory of the memory that is measured and removed at the end,
//! also after an error or a signal. The profile is replaced as a whole, or stays as it was.

use std::path::{Path, PathBuf};
use std::time::Duration;

use nacre_pmem::Domain;
use nacre_pmem::switch::{Calibration, DecisionTree, Profile};

use crate::error::{Error, Result};
use crate::interrupt;
use crate::progress::Steps;
use crate::replication::{memory_directory, space};
use crate::report::Console;
use crate::workspace::Workspace;

/// Arguments of the calibration.
#[derive(Clone, Debug, Default)]
pub struct CalibrateArgs {
    /// The memory to measure; `None` is `/dev/shm`.
    pub directory: Option<PathBuf>,
    /// Where to write the profile; `None` is where pool sets look for it.
    pub output: Option<PathBuf>,
    /// Fewer and shorter measurements: ends within 30 s.
    pub is_quick: bool,
}

/// Measures, writes the profile and prints the decision tree that follows from it.
///
/// # Errors
/// [`Error::Usage`] if there is no place for the profile or for the pools; failing input and
/// output.
pub fn run(args: &CalibrateArgs) -> Result<()> {
    let output = args.output.clone().or_else(Profile::path).ok_or_else(|| {
        Error::Usage("there is no home directory for the profile: name a file by --output".into())
    })?;
    make_parent(&output)?;
    let directory = args.directory.clone().or_else(memory_directory);
    let workspace = Workspace::create(directory.as_deref(), "calibrate", false)?;
    let path = workspace.path().to_path_buf();
    let is_quick = args.is_quick;
    let outcome = interrupt::run(Some(1), async move |_| {
        // A thread of its own that nobody waits for: after a signal its directory is removed, and
        // it ends with the process.
        let (sender, profile) = tokio::sync::oneshot::channel();
        std::thread::spawn(move || sender.send(measure(&path, is_quick)));
        let gone = |_| Error::Child("the calibration ended without a result".into());
        finish(&profile.await.map_err(gone)??, &output)
    });
    let closed = workspace.close();
    outcome.and(closed)
}

fn make_parent(output: &Path) -> Result<()> {
    match output.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => {
            std::fs::create_dir_all(parent).map_err(Error::io("create directory", parent))
        }
        _ => Ok(()),
    }
}

fn measure(directory: &Path, is_quick: bool) -> Result<Profile> {
    let calibration = match is_quick {
        false => Calibration::default(),
        true => Calibration {
            update_bytes: vec![4, 64, 1024, 16384],
            member_bytes: 64 << 20,
            rounds: 3,
            run: Duration::from_millis(1),
            ..Calibration::default()
        },
    };
    let members = calibration.replica_counts.iter().max().map_or(1, |count| *count as u64 + 1);
    space::check(directory, members * calibration.member_bytes)?;
    let domain = Domain::create("calibration", directory)
        .map_err(Error::pmem(format_args!("use {}", directory.display())))?;
    let title = format!("calibrating {} on {}", domain.kind(), domain.file_system());
    let mut steps: Option<Steps> = None;
    let mut progress = |progress: nacre_pmem::switch::Progress| {
        let steps = steps.get_or_insert_with(|| {
            let mut steps = Steps::new(progress.all);
            steps.begin(&title);
            steps
        });
        steps.advance(&title);
    };
    let profile = Profile::calibrate(&[domain], &calibration, &mut progress)
        .map_err(Error::pmem("calibrate"));
    if let Some(steps) = steps {
        steps.clear();
    }
    profile
}

fn finish(profile: &Profile, output: &Path) -> Result<()> {
    profile.write(output).map_err(Error::pmem("keep the profile"))?;
    let count = profile.measurements.len();
    let path = output.display();
    Console.line(format_args!("{count} measurements are in {path}\n\nDecision tree:"))?;
    match DecisionTree::derive(profile) {
        Some(tree) => Console.line(tree.to_string().trim_end()),
        None => Console.line("none: nothing was measured"),
    }
}
