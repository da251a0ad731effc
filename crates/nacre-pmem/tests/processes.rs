//! What two processes see of each other: locks, kills, bytes.

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod support;

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use nacre_pmem::{Access, DirectoryLock, Domain, ErrorKind};
use support::{be_ready, child_directory, shm_directory, spawn_child, wait_until_ready};

/// Returns `pid` if `/proc/locks` lists the locked `directory` under the numbers of `stat`, as it
/// does on most file systems.
fn named_holder(directory: &Path, pid: u32) -> Option<u32> {
    let metadata = fs::metadata(directory).unwrap();
    let (major, minor) = (rustix::fs::major(metadata.dev()), rustix::fs::minor(metadata.dev()));
    let identity = format!(" {pid} {major:02x}:{minor:02x}:{} ", metadata.ino());
    fs::read_to_string("/proc/locks").ok()?.contains(&identity).then_some(pid)
}

#[test]
fn loser_of_the_lock_names_the_holder_until_it_is_killed() {
    let directory = tempfile::tempdir().unwrap();
    let mut child = spawn_child("child_that_holds_the_lock", directory.path());
    wait_until_ready(&mut child);
    let pid = named_holder(directory.path(), child.id());
    for attempt in [DirectoryLock::exclusive, DirectoryLock::shared] {
        let error = attempt(directory.path()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Locked { pid });
        let holder = pid.map_or("another process".to_string(), |pid| format!("process {pid}"));
        let text = error.to_string();
        assert!(text.contains(&format!("locked by {holder}")), "{text}");
        assert!(text.contains(directory.path().to_str().unwrap()), "{text}");
    }
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0);
    DirectoryLock::exclusive(directory.path()).unwrap();
}

/// What was lost: the lock was once on a file `lock`. Whoever deleted that file let a second
/// writer in, and commits of one of the two were gone.
#[test]
fn lock_survives_the_deletion_of_every_file_in_the_directory() {
    let directory = tempfile::tempdir().unwrap();
    let mut child = spawn_child("child_that_locks_and_writes", directory.path());
    wait_until_ready(&mut child);
    let files: Vec<_> =
        fs::read_dir(directory.path()).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert_eq!(files.len(), 2, "{files:?}");
    for file in files {
        fs::remove_file(file).unwrap();
    }
    for attempt in [DirectoryLock::exclusive, DirectoryLock::shared] {
        let error = attempt(directory.path()).unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::Locked { .. }), "{error}");
    }
    drop(child.stdin.take());
    assert!(child.wait().unwrap().success());
    DirectoryLock::exclusive(directory.path()).unwrap();
}

#[test]
fn child_that_locks_and_writes() {
    let Some(directory) = child_directory() else {
        return;
    };
    let _lock = DirectoryLock::exclusive(&directory).unwrap();
    let domain = Domain::create("d", &directory).unwrap();
    domain.create_pool("root", 64).unwrap();
    domain.create_pool("lock", 64).unwrap();
    be_ready();
}

#[test]
fn child_that_holds_the_lock() {
    let Some(directory) = child_directory() else {
        return;
    };
    let _lock = DirectoryLock::exclusive(&directory).unwrap();
    be_ready();
}

#[test]
fn writer_that_is_kept_out_by_a_reader_names_it() {
    let directory = tempfile::tempdir().unwrap();
    let mut child = spawn_child("child_that_shares_the_lock", directory.path());
    wait_until_ready(&mut child);
    DirectoryLock::shared(directory.path()).unwrap();
    let error = DirectoryLock::exclusive(directory.path()).unwrap_err();
    let pid = named_holder(directory.path(), child.id());
    assert_eq!(error.kind(), ErrorKind::Locked { pid });
    drop(child.stdin.take());
    assert!(child.wait().unwrap().success());
    DirectoryLock::exclusive(directory.path()).unwrap();
}

#[test]
fn child_that_shares_the_lock() {
    let Some(directory) = child_directory() else {
        return;
    };
    let _lock = DirectoryLock::shared(&directory).unwrap();
    be_ready();
}

#[test]
fn persisted_bytes_survive_a_kill_and_half_pools_are_only_files() {
    let directories = [Some(tempfile::tempdir().unwrap()), shm_directory()];
    for directory in directories.into_iter().flatten() {
        let mut child = spawn_child("child_that_writes_pools", directory.path());
        wait_until_ready(&mut child);
        child.kill().unwrap();
        child.wait().unwrap();
        let domain = Domain::open("d", directory.path(), Access::ReadWrite).unwrap();
        assert_eq!(domain.list_pools().unwrap(), ["blocks", "half", "root"]);
        let root = domain.open_pool("root", Access::ReadWrite).unwrap();
        let offset = root.load_u64(0).unwrap();
        let blocks = domain.open_pool("blocks", Access::ReadOnly).unwrap();
        assert_eq!(blocks.read(offset, 13).unwrap(), b"what is named");
        domain.remove_pool("half").unwrap();
    }
}

#[test]
fn child_that_writes_pools() {
    let Some(directory) = child_directory() else {
        return;
    };
    let domain = Domain::create("d", &directory).unwrap();
    let blocks = domain.append_pool("blocks").unwrap();
    blocks.append(b"before", 64).unwrap();
    let offset = blocks.append(b"what is named", 64).unwrap();
    blocks.finish().unwrap();
    domain.create_pool("root", 64).unwrap().publish_u64(0, offset).unwrap();
    let half = domain.append_pool("half").unwrap();
    half.append(&[1; 1_000], 64).unwrap();
    be_ready();
}

#[test]
fn forced_choice_that_cannot_be_met_is_an_error_at_open() {
    let directory = tempfile::tempdir().unwrap();
    let output = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "child_with_a_wrong_setting"])
        .env("NACRE_PMEM_TEST_CHILD", directory.path())
        .env("NACRE_FLUSH", "wbnoinvd")
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
}

#[test]
fn child_with_a_wrong_setting() {
    let Some(directory) = child_directory() else {
        return;
    };
    let error = Domain::create("d", &directory).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    assert!(error.to_string().contains("setting NACRE_FLUSH"), "{error}");
}
