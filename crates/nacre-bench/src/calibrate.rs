//! `nacre calibrate`: measures the replication mechanisms on this machine and keeps the result.
//!
//! Pools are made in a fresh subdirectory of the memory that is measured and removed at the end,
//! also after an error or a signal. The profile is replaced as a whole, or stays as it was; whether
//! it can be written is found out before anything is measured.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use nacre_pmem::switch::{Calibration, DecisionTree, Profile};
use nacre_pmem::{Domain, FlushFlavour};

use crate::error::{Error, Result};
use crate::interrupt;
use crate::progress::Steps;
use crate::replication::{memory_directory, space};
use crate::report::Console;
use crate::workspace::Workspace;

/// Names the file of the profile.
const PROFILE_VARIABLE: &str = "NACRE_PROFILE";

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
/// [`Error::Usage`] if there is no place for the profile or for the pools, before anything is
/// measured; failing input and output.
pub fn run(args: &CalibrateArgs) -> Result<()> {
    let output = Output::choose(args.output.as_deref())?;
    output.check()?;
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

/// Where the profile goes.
#[derive(Debug)]
struct Output {
    path: PathBuf,
    /// Whether nobody named the file, so that its directory is ours to make.
    is_default: bool,
}

impl Output {
    fn choose(given: Option<&Path>) -> Result<Output> {
        if let Some(path) = given {
            return Ok(Output { path: path.to_path_buf(), is_default: false });
        }
        let is_named = std::env::var_os(PROFILE_VARIABLE).is_some();
        let problem = match is_named {
            true => format!("{PROFILE_VARIABLE} is empty, so there is no profile"),
            false => "there is no home directory for the profile".to_owned(),
        };
        let path = Profile::path()
            .ok_or_else(|| Error::Usage(format!("{problem}: name a file by --output")))?;
        Ok(Output { path, is_default: !is_named })
    }

    fn parent(&self) -> &Path {
        let parent = self.path.parent().filter(|parent| !parent.as_os_str().is_empty());
        parent.unwrap_or(Path::new("."))
    }

    /// Finds out whether the profile can be written, and leaves nothing behind.
    fn check(&self) -> Result<()> {
        let refused = |problem: String| {
            let path = self.path.display();
            let way_out = "name another file by --output";
            Err(Error::Usage(format!("cannot write the profile {path}: {problem}; {way_out}")))
        };
        match fs::metadata(&self.path) {
            Ok(found) if found.is_dir() => return refused("it is a directory".into()),
            Ok(found) if !found.is_file() => return refused("it is not a regular file".into()),
            _ if self.path.file_name().is_none() => return refused("it names no file".into()),
            _ => {}
        }
        let parent = self.parent();
        if !self.is_default && !parent.exists() {
            return refused(format!("create the directory {}", parent.display()));
        }
        // What is missing of the way to the default is made when there is something to keep.
        let existing = parent.ancestors().find(|directory| directory.exists()).unwrap_or(parent);
        match tempfile::tempfile_in(existing) {
            Ok(_) => Ok(()),
            Err(error) => refused(format!("{}: {error}", existing.display())),
        }
    }

    fn write(&self, profile: &Profile) -> Result<()> {
        if self.is_default {
            let parent = self.parent();
            fs::create_dir_all(parent).map_err(Error::io("create directory", parent))?;
        }
        profile.write(&self.path).map_err(Error::pmem("keep the profile"))
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
    let domain = Domain::create("calibration", directory)
        .map_err(Error::pmem(format_args!("use {}", directory.display())))?;
    if domain.flush_flavour() == FlushFlavour::Msync {
        // No set would use the profile, and an earlier one of memory would be gone.
        return Err(Error::Usage(format!(
            "pools in {} are written back by the kernel, so there is nothing to choose and to \
             measure: name memory by --dir",
            directory.display()
        )));
    }
    let way_out = "choose another --dir, or --quick, which needs less";
    space::check(directory, members * calibration.member_bytes, way_out)?;
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

fn finish(profile: &Profile, output: &Output) -> Result<()> {
    output.write(profile)?;
    let count = profile.measurements.len();
    let path = output.path.display();
    Console.line(format_args!("{count} measurements are in {path}\n\nDecision tree:"))?;
    match DecisionTree::derive(profile) {
        Some(tree) => Console.line(tree.to_string().trim_end()),
        None => Console.line("none: nothing was measured"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(path: PathBuf, is_default: bool) -> Result<()> {
        Output { path, is_default }.check()
    }

    #[test]
    fn place_that_cannot_be_written_is_refused_with_the_way_out() {
        let directory = tempfile::tempdir().unwrap();
        let path = |name: &str| directory.path().join(name);
        fs::write(path("file"), b"").unwrap();
        for (wrong, problem) in [
            (directory.path().to_path_buf(), "it is a directory"),
            (path("missing/profile"), "create the directory"),
            (path("file/profile"), "file: "),
            (PathBuf::from("/dev/null"), "it is not a regular file"),
            (PathBuf::from("/proc/profile"), "/proc: "),
        ] {
            let error = check(wrong, false).unwrap_err().to_string();
            assert!(error.contains(problem) && error.contains("--output"), "{error}");
        }
    }

    /// The profile of the memory was replaced by one that no set uses.
    #[test]
    fn memory_that_the_kernel_writes_back_is_not_calibrated_and_leaves_the_profile() {
        let (Ok(work), Ok(kept)) = (tempfile::tempdir(), tempfile::tempdir()) else { return };
        let domain = Domain::create("probe", work.path()).unwrap();
        if domain.flush_flavour() != FlushFlavour::Msync {
            println!("skipped: temporary files lie in memory here");
            return;
        }
        let output = kept.path().join("profile");
        fs::write(&output, b"earlier").unwrap();
        let args = CalibrateArgs {
            directory: Some(work.path().to_path_buf()),
            output: Some(output.clone()),
            is_quick: true,
        };
        let error = run(&args).unwrap_err().to_string();
        assert!(error.contains("written back by the kernel"), "{error}");
        assert_eq!(fs::read(&output).unwrap(), b"earlier");
    }

    #[test]
    fn check_makes_nothing_and_writing_makes_the_default_directory() {
        let directory = tempfile::tempdir().unwrap();
        let output =
            Output { path: directory.path().join("config/nacre/profile"), is_default: true };
        output.check().unwrap();
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0);
        check(directory.path().join("profile"), false).unwrap();
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0);
        let flush = nacre_pmem::FlushFlavour::Clflush;
        let machine = nacre_pmem::switch::Machine::this(flush);
        output.write(&Profile { machine, measurements: Vec::new() }).unwrap();
        assert!(output.path.is_file());
    }
}
