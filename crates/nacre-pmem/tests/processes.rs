//! What two processes see of each other: locks, kills, bytes.

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod support;

use std::fs;

use nacre_pmem::{Access, DirectoryLock, Domain, ErrorKind};
use support::{be_ready, child_directory, shm_directory, spawn_child, wait_until_ready};

#[test]
fn loser_of_the_lock_names_the_holder_until_it_is_killed() {
    let directory = tempfile::tempdir().unwrap();
    let mut child = spawn_child("child_that_holds_the_lock", directory.path());
    wait_until_ready(&mut child);
    let text = fs::read_to_string(directory.path().join("lock")).unwrap();
    assert_eq!(text, format!("{}\n", child.id()));
    for attempt in [DirectoryLock::exclusive, DirectoryLock::shared] {
        let error = attempt(directory.path()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Locked { pid: Some(child.id()) });
        let text = error.to_string();
        assert!(text.contains(&format!("process {}", child.id())), "{text}");
        assert!(text.contains(directory.path().to_str().unwrap()), "{text}");
    }
    child.kill().unwrap();
    child.wait().unwrap();

    // The file still names the dead process, which locks nothing.
    let stale = fs::read_to_string(directory.path().join("lock")).unwrap();
    assert_eq!(stale, text);
    let lock = DirectoryLock::exclusive(directory.path()).unwrap();
    let text = fs::read_to_string(lock.path()).unwrap();
    assert_eq!(text, format!("{}\n", std::process::id()));
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
    // A crashed writer left its number; the reader that holds the lock now is another process.
    fs::write(directory.path().join("lock"), "1\n").unwrap();
    let mut child = spawn_child("child_that_shares_the_lock", directory.path());
    wait_until_ready(&mut child);
    DirectoryLock::shared(directory.path()).unwrap();
    let error = DirectoryLock::exclusive(directory.path()).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Locked { .. }), "{error}");
    if fs::read_to_string("/proc/locks").is_ok() {
        assert_eq!(error.kind(), ErrorKind::Locked { pid: Some(child.id()) });
    }
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
