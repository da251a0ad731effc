//! What the headers of a pool set tell: creation that was cut off, names, damage to one of two.

#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::fs;
use std::path::PathBuf;

use nacre_pmem::{Access, Domain, ErrorKind, MemberCondition, PoolSet, PoolSetOptions};
use tempfile::TempDir;

const SLOT_BYTES: usize = 4096;
const DATA_BYTES: u64 = 256 << 10;

/// A directory with the two members of a set.
struct Place {
    directory: TempDir,
    domains: [Domain; 2],
}

impl Place {
    fn new() -> Place {
        let directory = tempfile::tempdir().unwrap();
        let domain = Domain::create("d", directory.path()).unwrap();
        Place { directory, domains: [domain.clone(), domain] }
    }

    fn path(&self, file_name: &str) -> PathBuf {
        self.directory.path().join(file_name)
    }

    fn create(&self) -> nacre_pmem::Result<PoolSet> {
        PoolSet::create("set", &self.domains, &PoolSetOptions::new(DATA_BYTES))
    }

    fn open(&self) -> nacre_pmem::Result<PoolSet> {
        PoolSet::open("set", &self.domains[..1], Access::ReadWrite)
    }

    /// Changes the headers in the slots of a member file that are named.
    fn change(&self, member: usize, slots: &[usize], change: impl Fn(&mut [u8])) {
        let path = self.path(&format!("set.{member}"));
        let mut bytes = fs::read(&path).unwrap();
        for slot in slots {
            let slot = &mut bytes[slot * SLOT_BYTES..][..SLOT_BYTES];
            change(slot);
        }
        fs::write(path, bytes).unwrap();
    }
}

/// Gives a slot the checksum that it needs.
fn seal(slot: &mut [u8]) {
    let crc = crc32c::crc32c(&slot[..SLOT_BYTES - 4]);
    slot[SLOT_BYTES - 4..].copy_from_slice(&crc.to_le_bytes());
}

fn blank(slot: &mut [u8]) {
    slot.fill(0);
}

/// Makes the header that the first round of creating writes.
fn creating(slot: &mut [u8]) {
    slot[12] = 2;
    seal(slot);
}

/// Leaves the beginning of a header.
fn torn(slot: &mut [u8]) {
    slot[512..].fill(0);
}

/// Leaves the end of a header.
fn headless(slot: &mut [u8]) {
    slot[..64].fill(0);
}

type Change = fn(&mut [u8]);

#[test]
fn creation_that_was_cut_off_is_recognised_and_replaced() {
    // What is in the first slot of each member; the other one is blank.
    let cases: [[Change; 2]; 5] = [
        [blank, blank],
        [creating, blank],
        [creating, torn],
        [creating, headless],
        [creating, creating],
    ];
    for (number, case) in cases.into_iter().enumerate() {
        let place = Place::new();
        place.create().unwrap().close().unwrap();
        for (member, change) in case.into_iter().enumerate() {
            place.change(member, &[1], blank);
            place.change(member, &[0], change);
        }
        let error = place.open().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unfinished, "{number}: {error}");
        let text = error.to_string();
        assert!(text.contains("set.0") && text.contains("set.1"), "{text}");
        assert!(text.contains("create it again"), "{text}");
        let mut set = place.create().unwrap();
        set.update(set.data_offset(), b"new").unwrap();
        set.close().unwrap();
        assert_eq!(place.open().unwrap().copy_count(), 2, "{number}");
    }
}

#[test]
fn file_of_a_creation_that_went_no_further_is_replaced() {
    let place = Place::new();
    fs::write(place.path("set.0"), b"").unwrap();
    assert_eq!(place.open().unwrap_err().kind(), ErrorKind::Unfinished);
    place.create().unwrap();
}

#[test]
fn set_with_one_finished_header_is_created() {
    let place = Place::new();
    place.create().unwrap().close().unwrap();
    place.change(1, &[0, 1], creating);
    let set = place.open().unwrap();
    assert!(set.member_states().iter().all(|state| state.condition == MemberCondition::Good));
}

#[test]
fn bytes_without_a_header_are_never_replaced() {
    for header in [blank as Change, headless] {
        let place = Place::new();
        let mut set = place.create().unwrap();
        let data = set.data_offset();
        set.update(data, b"acknowledged").unwrap();
        set.close().unwrap();
        for member in 0..2 {
            place.change(member, &[0], header);
            place.change(member, &[1], blank);
        }
        let before = fs::read(place.path("set.0")).unwrap();
        assert_eq!(place.open().unwrap_err().kind(), ErrorKind::Corrupt);
        assert_eq!(place.create().unwrap_err().kind(), ErrorKind::AlreadyExists);
        assert!(fs::read(place.path("set.0")).unwrap() == before);
    }
}

#[test]
fn set_that_is_being_created_is_left_alone() {
    let place = Place::new();
    let set = place.create().unwrap();
    for member in 0..2 {
        place.change(member, &[0, 1], creating);
    }
    let error = place.create().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::AlreadyExists, "{error}");
    set.abandon();
    assert_eq!(place.open().unwrap_err().kind(), ErrorKind::Unfinished);
}

#[test]
fn file_with_the_name_of_another_set_is_told_apart() {
    let place = Place::new();
    place.create().unwrap().close().unwrap();
    for member in ["0", "1"] {
        fs::rename(place.path(&format!("set.{member}")), place.path(&format!("b.{member}")))
            .unwrap();
    }
    let open = |name| PoolSet::open(name, &place.domains, Access::ReadWrite);
    let error = open("b").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Foreign);
    assert!(error.to_string().contains("it is member 0 of the pool set set"), "{error}");
    assert_eq!(open("set").unwrap_err().kind(), ErrorKind::NotFound);
    let error = PoolSet::create("b", &place.domains, &PoolSetOptions::new(DATA_BYTES)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::AlreadyExists);
    fs::rename(place.path("b.0"), place.path("set.1")).unwrap();
    let error = open("set").unwrap_err();
    assert!(error.to_string().contains("it is member 0 of its set"), "{error}");
}

#[test]
fn set_may_be_created_under_another_name_than_it_gets() {
    let place = Place::new();
    let name = Some("set".to_string());
    let options = PoolSetOptions { name, ..PoolSetOptions::new(DATA_BYTES) };
    let mut set = PoolSet::create("set.new", &place.domains, &options).unwrap();
    set.update(set.data_offset(), b"whole").unwrap();
    set.close().unwrap();
    for member in 0..2 {
        let domain = &place.domains[member];
        domain.rename_pool(&format!("set.new.{member}"), &format!("set.{member}")).unwrap();
    }
    let set = place.open().unwrap();
    assert_eq!(set.read(set.data_offset(), 5).unwrap(), b"whole");
    let name = Some("x".repeat(300));
    let options = PoolSetOptions { name, ..PoolSetOptions::new(DATA_BYTES) };
    let error = PoolSet::create("long", &place.domains, &options).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidName);
}

#[test]
fn headers_of_version_1_open_and_get_a_name_when_they_are_written() {
    let place = Place::new();
    let mut set = place.create().unwrap();
    set.update(set.data_offset(), b"old").unwrap();
    set.close().unwrap();
    for member in 0..2 {
        place.change(member, &[0, 1], |slot| {
            slot[8] = 1;
            slot[880..SLOT_BYTES - 4].fill(0);
            seal(slot);
        });
    }
    let version = |member: &str| fs::read(place.path(member)).unwrap()[8];
    let mut set = place.open().unwrap();
    assert_eq!(set.read(set.data_offset(), 3).unwrap(), b"old");
    assert_eq!(version("set.0"), 1);
    set.update(set.data_offset(), b"new").unwrap();
    set.close().unwrap();
    for member in ["set.0", "set.1"] {
        assert_eq!(fs::read(place.path(member)).unwrap()[884..887], *b"set");
        assert_eq!(version(member), 2);
    }
    assert_eq!(place.open().unwrap().copy_count(), 2);
}

/// A member that left the good ones must not come back because one slot of another is damaged.
#[test]
fn damage_to_either_slot_changes_nothing_and_is_mended() {
    for slot in 0..2 {
        let place = Place::new();
        let mut set = place.create().unwrap();
        let data = set.data_offset();
        set.update(data, b"both").unwrap();
        set.distrust(1, "by a test").unwrap();
        set.update(data, b"one!").unwrap();
        set.close().unwrap();
        place.change(0, &[slot], |bytes| bytes[100] ^= 1);
        let set = place.open().unwrap();
        assert_eq!(set.read(data, 4).unwrap(), b"one!");
        assert_eq!(set.copy_count(), 1, "slot {slot}");
        drop(set);
        let mut set = place.open().unwrap();
        while !set.rebuild_step(1 << 20).unwrap().is_done {}
        assert_eq!(set.copy_count(), 2);
        set.close().unwrap();
        place.change(1, &[slot], |bytes| bytes[100] ^= 1);
        let mut set = place.open().unwrap();
        assert_eq!(set.copy_count(), 2);
        let report = set.scrub_step(1 << 20).unwrap();
        assert_eq!(report.repaired, [(1, (slot * SLOT_BYTES) as u64, SLOT_BYTES as u64)]);
        assert_eq!(set.scrub_step(1 << 20).unwrap().repaired, []);
        set.close().unwrap();
        assert_eq!(place.open().unwrap().copy_count(), 2);
    }
}
