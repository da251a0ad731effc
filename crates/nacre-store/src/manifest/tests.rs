//! What the manifest survives: cuts, flipped bits, missing and contradicting replicas.

use std::fs;
use std::path::{Path, PathBuf};

use nacre_pmem::{Access, Domain};

use super::log::{DatabaseId, HEADER_BYTES, Manifest, PUBLISHED_OFFSET};
use super::record::{Record, TableId};
use super::replica::Place;
use crate::error::Error;

const ID: DatabaseId = DatabaseId(*b"0123456789abcdef");

fn places(directory: &Path) -> Vec<Place> {
    let domain = Domain::create("main", directory).unwrap();
    ["manifest.0", "manifest.1"]
        .map(|file_name| Place { domain: domain.clone(), file_name: file_name.into() })
        .to_vec()
}

fn files(directory: &Path) -> [PathBuf; 2] {
    ["manifest.0", "manifest.1"].map(|name| directory.join(name))
}

fn records(count: u64) -> Vec<Record> {
    (0..count).map(|table| Record::TableDropped { table: TableId(table) }).collect()
}

/// Makes a manifest of `count` records and returns the offset of its last record and its end.
fn make(directory: &Path, count: u64) -> (u64, u64) {
    let mut manifest = Manifest::create(ID, 1, &places(directory)).unwrap();
    for record in records(count) {
        manifest.append(&record).unwrap();
    }
    let record_bytes = Record::TableDropped { table: TableId(0) }.to_bytes(1).len() as u64;
    let end = HEADER_BYTES + count * record_bytes;
    (end - record_bytes, end)
}

fn open(directory: &Path) -> Result<(Vec<Record>, Vec<String>), Error> {
    let opened = Manifest::open(&places(directory), Access::ReadWrite)?;
    Ok((opened.records, opened.notes))
}

fn truncate(path: &Path, bytes: u64) {
    fs::OpenOptions::new().write(true).open(path).unwrap().set_len(bytes).unwrap();
}

#[test]
fn records_come_back_in_order_after_growth() {
    let directory = tempfile::tempdir().unwrap();
    let places = places(directory.path());
    let mut manifest = Manifest::create(ID, 1, &places).unwrap();
    let records: Vec<Record> = (0..40)
        .map(|number| Record::Domain { name: format!("d{number}"), path: "x".repeat(10_000) })
        .collect();
    for record in &records {
        manifest.append(record).unwrap();
    }
    let opened = Manifest::open(&places, Access::ReadWrite).unwrap();
    assert_eq!(opened.records, records);
    assert_eq!(opened.notes, Vec::<String>::new());
}

#[test]
fn replica_cut_anywhere_in_its_last_record_is_rebuilt_from_the_other() {
    let directory = tempfile::tempdir().unwrap();
    let (last, end) = make(directory.path(), 3);
    for replica in files(directory.path()) {
        for cut in last..end {
            truncate(&replica, cut);
            let (found, notes) = open(directory.path()).unwrap();
            assert_eq!(found, records(3), "cut at {cut}");
            assert_eq!(notes.len(), 1, "cut at {cut}");
            assert!(open(directory.path()).unwrap().1.is_empty(), "rebuilt after a cut at {cut}");
        }
    }
}

#[test]
fn cut_in_both_replicas_is_an_error_at_every_offset() {
    let directory = tempfile::tempdir().unwrap();
    let (last, end) = make(directory.path(), 3);
    let whole = fs::read(directory.path().join("manifest.0")).unwrap();
    for cut in (0..HEADER_BYTES).chain(last..end) {
        for replica in files(directory.path()) {
            fs::write(&replica, &whole[..cut as usize]).unwrap();
        }
        let error = open(directory.path()).unwrap_err();
        assert!(
            matches!(&error, Error::ManifestDamaged { reasons } if reasons.len() == 2),
            "{cut}"
        );
        assert!(error.to_string().contains("manifest.1"), "{error}");
    }
}

#[test]
fn flipped_byte_in_one_replica_is_repaired_and_in_both_is_an_error() {
    let directory = tempfile::tempdir().unwrap();
    let (_, end) = make(directory.path(), 3);
    let whole = fs::read(directory.path().join("manifest.0")).unwrap();
    // Bytes between the published end and the first record are padding that nobody reads.
    let read = (0..PUBLISHED_OFFSET + 8).chain(HEADER_BYTES..end);
    for offset in read {
        let mut damaged = whole.clone();
        damaged[offset as usize] ^= 0x10;
        let [first, second] = files(directory.path());
        fs::write(&first, &damaged).unwrap();
        let (found, notes) = open(directory.path()).unwrap();
        assert_eq!((found, notes.len()), (records(3), 1), "byte {offset}");
        fs::write(&first, &damaged).unwrap();
        fs::write(&second, &damaged).unwrap();
        assert!(open(directory.path()).is_err(), "byte {offset} in both");
        fs::write(&second, &whole).unwrap();
    }
}

#[test]
fn replica_that_missed_the_last_publish_is_levelled() {
    let directory = tempfile::tempdir().unwrap();
    let (last, _) = make(directory.path(), 3);
    for replica in files(directory.path()) {
        let mut bytes = fs::read(&replica).unwrap();
        bytes[PUBLISHED_OFFSET as usize..][..8].copy_from_slice(&last.to_le_bytes());
        fs::write(&replica, bytes).unwrap();
        let (found, notes) = open(directory.path()).unwrap();
        assert_eq!((found, notes.len()), (records(3), 1));
    }
}

#[test]
fn replicas_of_two_histories_are_refused() {
    let directory = tempfile::tempdir().unwrap();
    make(directory.path(), 2);
    let [first, second] = files(directory.path());
    let other = tempfile::tempdir().unwrap();
    let mut manifest = Manifest::create(ID, 1, &places(other.path())).unwrap();
    manifest.append(&Record::TableDropped { table: TableId(77) }).unwrap();
    fs::copy(other.path().join("manifest.0"), &second).unwrap();
    let error = open(directory.path()).unwrap_err().to_string();
    assert!(error.contains("contradict each other"), "{error}");
    assert!(first.exists());
}

#[test]
fn newer_layout_is_refused_and_left_alone() {
    let directory = tempfile::tempdir().unwrap();
    make(directory.path(), 1);
    for replica in files(directory.path()) {
        let mut bytes = fs::read(&replica).unwrap();
        bytes[8] = 2;
        let crc = crc32c::crc32c_append(crc32c::crc32c(&bytes[..12]), &bytes[16..64]);
        bytes[12..16].copy_from_slice(&crc.to_le_bytes());
        fs::write(&replica, bytes).unwrap();
    }
    let error = open(directory.path()).unwrap_err().to_string();
    assert!(error.contains("layout version 2"), "{error}");
}

#[test]
fn read_only_open_notes_damage_and_changes_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let (last, _) = make(directory.path(), 3);
    let [first, _] = files(directory.path());
    truncate(&first, last);
    let opened = Manifest::open(&places(directory.path()), Access::ReadOnly).unwrap();
    assert_eq!(opened.records, records(3));
    assert_eq!(opened.notes.len(), 1);
    assert_eq!(fs::metadata(&first).unwrap().len(), last);
}
