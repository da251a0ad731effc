//! Files of a pool set that are older than the set: copies put back, and what removed members left.

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod support;

use std::fs;
use std::path::PathBuf;

use nacre_pmem::{Access, Domain, ErrorKind, MemberCondition, PoolSet, PoolSetOptions};
use support::files;
use tempfile::TempDir;

struct Bed {
    domains: Vec<Domain>,
    directory: TempDir,
}

impl Bed {
    fn new(members: usize) -> (Bed, PoolSet) {
        let directory = support::shm_directory().unwrap_or_else(|| tempfile::tempdir().unwrap());
        let domain = Domain::create("main", directory.path()).unwrap();
        let bed = Bed { domains: vec![domain; members], directory };
        let set = PoolSet::create("a", &bed.domains, &PoolSetOptions::new(1 << 20)).unwrap();
        (bed, set)
    }

    fn open(&self) -> PoolSet {
        PoolSet::open("a", &self.domains, Access::ReadWrite).unwrap()
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn files(&self) -> Vec<String> {
        files(self.directory.path()).into_iter().filter(|name| name.starts_with("a.")).collect()
    }
}

/// The copy had the epoch of the newer member, so both were believed, and what was acknowledged
/// after it was taken was overwritten.
#[test]
fn copy_of_a_member_that_was_taken_while_the_set_was_open_is_stale_once_that_was_closed() {
    for (member, members) in [(0, 2), (1, 2), (0, 3)] {
        let (bed, mut set) = Bed::new(members);
        let offset = set.data_offset();
        set.update(offset, b"first ").unwrap();
        let (file, copy) = (bed.path(&format!("a.{member}")), bed.path("aside"));
        fs::copy(&file, &copy).unwrap();
        set.update(offset, b"second").unwrap();
        // Another region, of which the copy has no mark.
        set.update(offset + (512 << 10), b"second").unwrap();
        set.close().unwrap();
        fs::copy(&copy, &file).unwrap();
        let mut set = bed.open();
        let states = set.member_states();
        assert_eq!(states[member].condition, MemberCondition::Stale, "{states:?}");
        while !set.rebuild_step(1 << 20).unwrap().is_done {}
        for index in 0..members as u32 {
            for at in [offset, offset + (512 << 10)] {
                assert_eq!(set.read_member(index, at, 6).unwrap(), b"second");
            }
        }
        set.close().unwrap();
    }
}

/// A process that was killed after it removed a member and before it removed the file left that
/// for ever, and in the end no number was free.
#[test]
fn file_of_a_removed_member_is_removed_by_who_opens_the_set_next() {
    let (bed, mut set) = Bed::new(2);
    set.update(set.data_offset(), b"kept").unwrap();
    // The file gets the name back that it had when the process was killed.
    fs::hard_link(bed.path("a.1"), bed.path("aside")).unwrap();
    set.remove_replica(1).unwrap();
    assert_eq!(bed.files(), ["a.0"]);
    set.close().unwrap();
    fs::rename(bed.path("aside"), bed.path("a.1")).unwrap();
    let set = PoolSet::open("a", &bed.domains, Access::ReadOnly).unwrap();
    assert_eq!((set.member_states().len(), bed.files().len()), (1, 2));
    drop(set);
    let set = bed.open();
    assert_eq!((set.member_states().len(), bed.files()), (1, vec!["a.0".to_string()]));
    assert_eq!(set.read(set.data_offset(), 4).unwrap(), b"kept");
    set.close().unwrap();
}

#[test]
fn file_that_a_killed_process_made_for_a_new_member_is_removed_unless_it_holds_something() {
    let (bed, mut set) = Bed::new(1);
    set.update(set.data_offset(), b"kept").unwrap();
    set.close().unwrap();
    fs::write(bed.path("a.1"), vec![0; 2 << 20]).unwrap();
    fs::write(bed.path("a.2"), b"").unwrap();
    fs::write(bed.path("a.3"), b"somebody's").unwrap();
    assert_eq!(bed.open().member_states().len(), 1);
    assert_eq!(bed.files(), ["a.0", "a.3"]);
}

/// A member that was removed while it was away, and used alone, may hold what nobody else has.
#[test]
fn file_of_a_removed_member_that_calls_itself_good_stays() {
    let (bed, mut set) = Bed::new(2);
    set.update(set.data_offset(), b"kept").unwrap();
    fs::copy(bed.path("a.1"), bed.path("aside")).unwrap();
    set.remove_replica(1).unwrap();
    set.close().unwrap();
    fs::rename(bed.path("aside"), bed.path("a.1")).unwrap();
    assert_eq!(bed.open().member_states().len(), 1);
    assert_eq!(bed.files(), ["a.0", "a.1"]);
}

#[test]
fn error_says_that_no_number_is_free_and_not_that_members_are_too_many() {
    let (bed, mut set) = Bed::new(1);
    for number in 1..16 {
        fs::write(bed.path(&format!("a.{number}")), b"somebody's").unwrap();
    }
    let error = set.add_replica(&bed.domains[0]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::AlreadyExists);
    assert!(error.to_string().contains("no number below 16 is free"), "{error}");
}
