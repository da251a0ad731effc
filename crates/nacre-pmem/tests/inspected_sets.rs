//! What a judgement of the members before recovery changes, and rebuilding where the user says.

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod support;

use std::fs::File;
use std::os::unix::fs::FileExt;

use nacre_pmem::{
    Access, Domain, Error, ErrorKind, MemberCondition, PoolSet, PoolSetOptions, Verdict,
};
use support::shm_directory;
use tempfile::TempDir;

const BYTES: u64 = 64 << 10;

/// A directory with a set of two members that crashed with `[1; 8]` at its start, and member 0
/// damaged since.
fn crashed() -> (TempDir, Domain) {
    let directory = shm_directory().unwrap_or_else(|| tempfile::tempdir().unwrap());
    let domain = Domain::create("main", directory.path()).unwrap();
    let options = PoolSetOptions { log_bytes: 0, ..PoolSetOptions::new(BYTES) };
    let mut set = PoolSet::create("set", &[domain.clone(), domain.clone()], &options).unwrap();
    let start = set.data_offset();
    set.update(start, &[1; 8]).unwrap();
    set.abandon();
    let file = File::options().write(true).open(directory.path().join("set.0")).unwrap();
    file.write_all_at(&[9; 8], start).unwrap();
    (directory, domain)
}

fn start_of(set: &PoolSet, index: u32) -> Vec<u8> {
    set.read_member(index, set.data_offset(), 8).unwrap().to_vec()
}

fn conditions(set: &PoolSet) -> Vec<MemberCondition> {
    set.member_conditions().into_iter().map(|(_, condition)| condition).collect()
}

#[test]
fn recovery_copies_from_the_member_that_is_the_truth() {
    let (_directory, domain) = crashed();
    let set = PoolSet::open_inspected("set", &[domain], Access::ReadWrite, |set| {
        assert!(set.is_unclean());
        assert_eq!((start_of(set, 0), start_of(set, 1)), (vec![9; 8], vec![1; 8]));
        Ok::<_, Error>(Verdict { truth: Some(1), ..Verdict::default() })
    });
    let set = set.unwrap();
    assert_eq!((start_of(&set, 0), start_of(&set, 1)), (vec![1; 8], vec![1; 8]));
    assert!(!set.is_unclean());
}

#[test]
fn damaged_member_is_left_behind_before_recovery_and_rebuilt_after() {
    let (_directory, domain) = crashed();
    let verdict = || Verdict { truth: None, damaged: vec![(0, "wrong checksum".to_string())] };
    let domains = std::slice::from_ref(&domain);
    for access in [Access::ReadOnly, Access::ReadWrite] {
        let inspect = |_: &PoolSet| Ok::<_, Error>(verdict());
        let set = PoolSet::open_inspected("set", domains, access, inspect).unwrap();
        assert_eq!(conditions(&set), [MemberCondition::Damaged, MemberCondition::Good]);
        assert_eq!(set.read(set.data_offset(), 8).unwrap(), [1; 8]);
        assert!(!set.has_member_in("other") && set.has_member_in("main"));
    }
    let mut set = PoolSet::open("set", domains, Access::ReadWrite).unwrap();
    assert_eq!(conditions(&set)[1], MemberCondition::Good);
    assert_ne!(conditions(&set)[0], MemberCondition::Good, "it is remembered");
    set.rebuild_in(0, &domain).unwrap();
    assert_eq!(start_of(&set, 0), [1; 8]);
    assert_eq!(set.rebuild_in(7, &domain).unwrap_err().kind(), ErrorKind::NoReplica);
}

#[test]
fn refusal_by_the_inspection_changes_nothing() {
    let (directory, domain) = crashed();
    let files =
        || ["set.0", "set.1"].map(|name| std::fs::read(directory.path().join(name)).unwrap());
    let before = files();
    let refuse = |set: &PoolSet| Err::<Verdict, Error>(set.read(0, 1).unwrap_err());
    PoolSet::open_inspected("set", &[domain], Access::ReadWrite, refuse).unwrap_err();
    assert!(files() == before);
}

#[test]
fn missing_member_is_rebuilt_beside_another_one() {
    let (directory, domain) = crashed();
    std::fs::remove_file(directory.path().join("set.0")).unwrap();
    let domains = std::slice::from_ref(&domain);
    let mut set = PoolSet::open("set", domains, Access::ReadWrite).unwrap();
    assert_eq!(conditions(&set), [MemberCondition::Missing, MemberCondition::Good]);
    set.rebuild_in(0, &domain).unwrap();
    assert_eq!(start_of(&set, 0), [1; 8]);
}

#[test]
fn set_grows_without_a_member_that_was_cut() {
    let (directory, domain) = crashed();
    let domains = std::slice::from_ref(&domain);
    let mut set = PoolSet::open("set", domains, Access::ReadWrite).unwrap();
    let file = File::options().write(true).open(directory.path().join("set.0")).unwrap();
    file.set_len(100_000).unwrap();
    set.grow(2 * BYTES).unwrap();
    let last = set.end_offset() - 8;
    set.update(last, &[5; 8]).unwrap();
    assert_eq!(conditions(&set), [MemberCondition::Damaged, MemberCondition::Good]);
}
