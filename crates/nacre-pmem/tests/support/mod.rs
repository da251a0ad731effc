//! Domains of every kind and forced choice that this machine can make, and children.

#![allow(dead_code)] // Each test binary uses its own part.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};

use nacre_pmem::{Domain, DomainKind, FlushFlavour, Granularity, Settings, StreamFlavour};
use tempfile::TempDir;

/// A domain, what it is, and what keeps its directory alive.
pub(crate) struct Variant {
    pub(crate) label: String,
    pub(crate) domain: Domain,
    pub(crate) settings: Settings,
    pub(crate) directory: Option<TempDir>,
}

/// Returns a directory on tmpfs, or `None` with a printed reason.
pub(crate) fn shm_directory() -> Option<TempDir> {
    let directory = tempfile::Builder::new().prefix("nacre-test-").tempdir_in("/dev/shm").ok()?;
    let probed = Domain::create_with("probe", directory.path(), &Settings::default());
    if probed.unwrap().kind() == DomainKind::Shm {
        return Some(directory);
    }
    println!("skipped: /dev/shm is no tmpfs here");
    None
}

/// Returns one domain per kind and per forced choice.
pub(crate) fn variants() -> Vec<Variant> {
    let plain = Settings::default();
    let mut variants = vec![Variant {
        label: "dram".to_string(),
        domain: Domain::dram("volatile"),
        settings: plain,
        directory: None,
    }];
    let on_disk = [
        plain,
        Settings { kind: Some(DomainKind::File), ..plain },
        Settings { kind: Some(DomainKind::Shm), ..plain },
        Settings { flush: Some(FlushFlavour::None), ..plain },
    ];
    for settings in on_disk {
        variants.push(variant(tempfile::tempdir().unwrap(), settings));
    }
    let mut on_tmpfs = vec![plain];
    on_tmpfs.push(Settings { kind: Some(DomainKind::File), ..plain });
    for granularity in Granularity::ALL {
        on_tmpfs.push(Settings { granularity: Some(granularity), ..plain });
    }
    for flush in FlushFlavour::available() {
        on_tmpfs.push(Settings { flush: Some(flush), ..plain });
    }
    for stream in StreamFlavour::available() {
        on_tmpfs.push(Settings { stream: Some(stream), ..plain });
    }
    for settings in on_tmpfs {
        if let Some(directory) = shm_directory() {
            variants.push(variant(directory, settings));
        }
    }
    variants
}

fn variant(directory: TempDir, settings: Settings) -> Variant {
    let domain = Domain::create_with("test", directory.path(), &settings).unwrap();
    let label = format!("{domain:?} {settings:?}");
    Variant { label, domain, settings, directory: Some(directory) }
}

/// Returns the names of all files in a directory, hidden ones included.
pub(crate) fn files(directory: &Path) -> Vec<String> {
    let mut names: Vec<String> = std::fs::read_dir(directory)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

const CHILD_VARIABLE: &str = "NACRE_PMEM_TEST_CHILD";

/// Returns the directory that a parent test gave to this process, if it is a child.
pub(crate) fn child_directory() -> Option<PathBuf> {
    std::env::var_os(CHILD_VARIABLE).map(PathBuf::from)
}

/// Starts this test binary again, running only the test `name` as a child on `directory`.
pub(crate) fn spawn_child(name: &str, directory: &Path) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", name, "--nocapture", "--test-threads=1"])
        .env(CHILD_VARIABLE, directory)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap()
}

/// Waits until the child printed a line that ends in `ready`.
pub(crate) fn wait_until_ready(child: &mut Child) {
    let mut lines = BufReader::new(child.stdout.as_mut().unwrap()).lines();
    let is_ready = lines.any(|line| line.unwrap().ends_with("ready"));
    assert!(is_ready, "the child ended early");
}

/// Says `ready` to the parent and waits until it ends this process or closes its end.
pub(crate) fn be_ready() {
    println!("ready");
    let mut line = String::new();
    std::io::stdin().read_line(&mut line).unwrap();
}

/// Whether this process may mount file systems.
pub(crate) fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// A tmpfs mounted on its own directory, unmounted when dropped.
pub(crate) struct Mount(TempDir);

impl Mount {
    /// Mounts a tmpfs, or returns `None` with a printed reason.
    pub(crate) fn tmpfs(options: &str) -> Option<Mount> {
        if !is_root() {
            println!("skipped: only root may mount a tmpfs ({options})");
            return None;
        }
        let directory = tempfile::tempdir().unwrap();
        let result = Command::new("mount")
            .args(["-t", "tmpfs", "-o", options, "tmpfs"])
            .arg(directory.path())
            .stderr(Stdio::null())
            .status();
        if result.is_ok_and(|status| status.success()) {
            return Some(Mount(directory));
        }
        println!("skipped: cannot mount a tmpfs ({options}) here");
        None
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }

    /// Changes the options of the mount.
    pub(crate) fn remount(&self, options: &str) {
        let status = Command::new("mount")
            .args(["-o", &format!("remount,{options}")])
            .arg(self.path())
            .status()
            .unwrap();
        assert!(status.success());
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(self.0.path()).status();
    }
}

/// Ends the other threads of a test when it is dropped, so also when this one panics.
pub(crate) struct Over<'a>(pub(crate) &'a AtomicBool);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}
