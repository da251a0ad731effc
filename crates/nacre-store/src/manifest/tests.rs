//! What the manifest survives: cuts, flipped bits, missing and contradicting members, lost pages.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use nacre_column::{ColumnBuffer, ColumnType};
use nacre_pmem::{Access, Domain, MemberCondition};

use super::header::{HEADER_BYTES, PUBLISHED_OFFSET, VERSION};
use super::log::{DatabaseId, Manifest};
use super::record::{RECORD_HEADER_BYTES, Record, TableId};
use crate::error::{Error, Result};
use crate::schema::{ColumnDef, TableSchema};

const ID: DatabaseId = DatabaseId(*b"0123456789abcdef");

/// Where the data area begins without a transaction log.
const START: u64 = nacre_pmem::set::DATA_OFFSET;

/// A fault to inject.
pub(crate) struct Injection(pub(crate) Box<dyn FnMut() + Send>);

impl std::fmt::Debug for Injection {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Injection")
    }
}

/// Makes a directory, on tmpfs where there is one: there nothing waits for a disk.
fn directory() -> tempfile::TempDir {
    tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap()
}

fn domain(directory: &Path) -> Domain {
    Domain::create("main", directory).unwrap()
}

fn files(directory: &Path) -> [PathBuf; 2] {
    ["manifest.0", "manifest.1"].map(|name| directory.join(name))
}

fn records(count: u64) -> Vec<Record> {
    (0..count).map(|table| Record::TableDropped { table: TableId(table) }).collect()
}

/// Makes a manifest of `count` records and returns the offset of its last record and its end.
fn make(directory: &Path, count: u64) -> (u64, u64) {
    let mut manifest = Manifest::create(ID, 1, &domain(directory)).unwrap();
    for record in records(count) {
        manifest.append(&record).unwrap();
    }
    let record_bytes = Record::TableDropped { table: TableId(0) }.to_bytes(1).len() as u64;
    let end = START + HEADER_BYTES + count * record_bytes;
    (end - record_bytes, end)
}

/// Opens the manifest of these domains as the store does.
fn open_in(domains: &[Domain], access: Access) -> Result<(Manifest, Vec<Record>)> {
    let mut found = Vec::new();
    let mut manifest = Manifest::open(domains, access, |_, records| {
        found = records.to_vec();
        Ok(Vec::new())
    })?;
    match access {
        Access::ReadOnly => manifest.note_unusable(true),
        Access::ReadWrite => manifest.repair(&domains[0], &domains[1..], true),
    }
    Ok((manifest, found))
}

fn open(directory: &Path) -> Result<(Vec<Record>, Vec<String>)> {
    let (manifest, records) = open_in(&[domain(directory)], Access::ReadWrite)?;
    Ok((records, manifest.notes().to_vec()))
}

fn truncate(path: &Path, bytes: u64) {
    File::options().write(true).open(path).unwrap().set_len(bytes).unwrap();
}

/// Returns what both members hold from the data area on, and that it is the same.
fn area(directory: &Path) -> Vec<u8> {
    let [first, second] = files(directory).map(|path| fs::read(path).unwrap());
    assert!(first[START as usize..] == second[START as usize..], "members differ");
    first[START as usize..].to_vec()
}

#[test]
fn records_come_back_in_order_after_growth() {
    let directory = directory();
    let mut manifest = Manifest::create(ID, 1, &domain(directory.path())).unwrap();
    let records: Vec<Record> = (0..40)
        .map(|number| Record::Domain { name: format!("d{number}"), path: "x".repeat(10_000) })
        .collect();
    for record in &records {
        manifest.append(record).unwrap();
    }
    drop(manifest);
    assert_eq!(open(directory.path()).unwrap(), (records, Vec::new()));
}

#[test]
fn open_of_a_whole_manifest_writes_nothing() {
    let directory = directory();
    make(directory.path(), 3);
    let whole = files(directory.path()).map(|path| fs::read(path).unwrap());
    for _ in 0..2 {
        assert_eq!(open(directory.path()).unwrap(), (records(3), Vec::new()));
        assert!(files(directory.path()).map(|path| fs::read(path).unwrap()) == whole);
    }
}

#[test]
fn member_cut_anywhere_in_its_last_record_is_rebuilt_from_the_other() {
    let directory = directory();
    let (last, end) = make(directory.path(), 3);
    for member in files(directory.path()) {
        for cut in (last..end).chain([0, 1, 4096, START, START + 70]) {
            truncate(&member, cut);
            let (found, notes) = open(directory.path()).unwrap();
            assert_eq!(found, records(3), "cut at {cut}");
            assert_eq!(notes.len(), 1, "cut at {cut}: {notes:?}");
            assert!(open(directory.path()).unwrap().1.is_empty(), "rebuilt after a cut at {cut}");
            area(directory.path());
        }
    }
}

#[test]
fn cut_in_both_members_is_an_error_at_every_offset() {
    let directory = directory();
    let (last, end) = make(directory.path(), 3);
    let whole = fs::read(directory.path().join("manifest.0")).unwrap();
    for cut in (0..START).step_by(1009).chain(START..START + HEADER_BYTES).chain(last..end) {
        for member in files(directory.path()) {
            truncate(&member, cut);
        }
        let error = open(directory.path()).unwrap_err();
        assert!(matches!(&error, Error::ManifestDamaged { .. }), "{cut}: {error}");
        let text = error.to_string();
        assert!(text.contains("manifest.0") && text.contains("manifest.1"), "{text}");
        for member in files(directory.path()) {
            assert_eq!(fs::metadata(&member).unwrap().len(), cut, "left alone");
            // The bytes of the other member differ in its header only, which is not at stake.
            fs::write(&member, &whole).unwrap();
        }
        let [_, second] = files(directory.path());
        fs::remove_file(second).unwrap();
        assert_eq!(open(directory.path()).unwrap().0, records(3));
    }
}

#[test]
fn flipped_byte_in_one_member_is_repaired_and_in_both_is_an_error() {
    let directory = directory();
    let (_, end) = make(directory.path(), 3);
    // Bytes between the published end and the first record are padding that nobody reads.
    let read = (START..START + PUBLISHED_OFFSET + 8).chain(START + HEADER_BYTES..end);
    for (number, offset) in read.enumerate() {
        let flip = |path: &Path| {
            let mut bytes = fs::read(path).unwrap();
            bytes[offset as usize] ^= 0x10;
            fs::write(path, bytes).unwrap();
        };
        let members = files(directory.path());
        flip(&members[number % 2]);
        let (found, notes) = open(directory.path()).unwrap();
        assert_eq!((found, notes.len()), (records(3), 1), "byte {offset}");
        members.iter().for_each(|path| flip(path));
        assert!(open(directory.path()).is_err(), "byte {offset} in both");
        members.iter().for_each(|path| flip(path));
        assert_eq!(open(directory.path()).unwrap().1, Vec::<String>::new());
    }
}

#[test]
fn flipped_byte_before_the_data_harms_nothing() {
    let directory = directory();
    make(directory.path(), 3);
    for offset in (0..12_288).step_by(61) {
        let [first, _] = files(directory.path());
        let mut bytes = fs::read(&first).unwrap();
        bytes[offset] ^= 0x10;
        fs::write(&first, bytes).unwrap();
        assert_eq!(open(directory.path()).unwrap().0, records(3), "byte {offset}");
        area(directory.path());
        // It may have been in the older of two headers, which nobody reads.
        fs::remove_file(&first).unwrap();
        open(directory.path()).unwrap();
    }
}

#[test]
fn member_that_missed_the_last_publish_is_levelled() {
    let directory = directory();
    let (last, _) = make(directory.path(), 3);
    for member in files(directory.path()) {
        let mut bytes = fs::read(&member).unwrap();
        bytes[(START + PUBLISHED_OFFSET) as usize..][..8].copy_from_slice(&last.to_le_bytes());
        fs::write(&member, bytes).unwrap();
        let (found, notes) = open(directory.path()).unwrap();
        assert_eq!((found, notes.len()), (records(3), 1));
        area(directory.path());
    }
}

#[test]
fn damaged_member_is_not_copied_over_a_whole_one_after_a_crash() {
    let directory = directory();
    for damaged in [0, 1] {
        let directory = directory.path().join(damaged.to_string());
        let (last, _) = make(&directory, 2);
        let (mut manifest, _) = open_in(&[domain(&directory)], Access::ReadWrite).unwrap();
        manifest.append(&records(3)[2]).unwrap();
        manifest.set.abandon();
        let path = &files(&directory)[damaged];
        let mut bytes = fs::read(path).unwrap();
        bytes[last as usize + 10] ^= 1;
        fs::write(path, bytes).unwrap();
        // A reader serves the whole one and changes nothing.
        let before = files(&directory).map(|path| fs::read(path).unwrap());
        let (manifest, found) = open_in(&[domain(&directory)], Access::ReadOnly).unwrap();
        assert_eq!((found, manifest.notes().len()), (records(3), 1));
        drop(manifest);
        assert!(files(&directory).map(|path| fs::read(path).unwrap()) == before);
        let (found, notes) = open(&directory).unwrap();
        assert_eq!((found, notes.len()), (records(3), 1), "{notes:?}");
        area(&directory);
        assert_eq!(open(&directory).unwrap(), (records(3), Vec::new()));
    }
}

#[test]
fn whole_members_that_contradict_each_other_are_refused() {
    let directory = directory();
    make(directory.path(), 2);
    let other = self::directory();
    let mut manifest = Manifest::create(ID, 1, &domain(other.path())).unwrap();
    manifest.append(&Record::TableDropped { table: TableId(77) }).unwrap();
    drop(manifest);
    let [_, second] = files(directory.path());
    let mut bytes = fs::read(&second).unwrap();
    bytes.truncate(START as usize);
    bytes.extend_from_slice(&area(other.path()));
    fs::write(&second, bytes).unwrap();
    let before = files(directory.path()).map(|path| fs::read(path).unwrap());
    let error = open(directory.path()).unwrap_err();
    assert!(matches!(error, Error::ManifestDamaged { .. }));
    assert!(error.to_string().contains("contradict each other"), "{error}");
    assert!(files(directory.path()).map(|path| fs::read(path).unwrap()) == before);
}

#[test]
fn members_of_two_databases_are_refused() {
    let directory = directory();
    make(directory.path(), 2);
    let other = self::directory();
    make(other.path(), 2);
    let [first, second] = files(directory.path());
    fs::copy(other.path().join("manifest.1"), &second).unwrap();
    let error = open(directory.path()).unwrap_err().to_string();
    assert!(error.contains("manifest.1") && error.contains("two sets have the name"), "{error}");
    assert!(first.exists() && second.exists());
}

#[test]
fn newer_and_older_layouts_are_refused_and_left_alone() {
    let directory = directory();
    make(directory.path(), 1);
    for member in files(directory.path()) {
        let mut bytes = fs::read(&member).unwrap();
        let header = &mut bytes[START as usize..][..64];
        header[8] = VERSION as u8 + 1;
        let crc = crc32c::crc32c_append(crc32c::crc32c(&header[..12]), &header[16..64]);
        header[12..16].copy_from_slice(&crc.to_le_bytes());
        fs::write(&member, bytes).unwrap();
    }
    let error = open(directory.path()).unwrap_err().to_string();
    assert!(error.contains(&format!("layout version {}", VERSION + 1)), "{error}");
    // Before there were pool sets, a member began with the header.
    let mut old = vec![0; 64 << 10];
    old[..12].copy_from_slice(b"NACREMAN\x01\0\0\0");
    for member in files(directory.path()) {
        fs::write(&member, &old).unwrap();
    }
    let error = open(directory.path()).unwrap_err();
    assert!(
        matches!(error, Error::UnsupportedVersion { found: 1, supported: VERSION, .. }),
        "{error}"
    );
    assert!(error.to_string().contains("export the tables"), "{error}");
    for member in files(directory.path()) {
        assert!(fs::read(&member).unwrap() == old);
    }
}

#[test]
fn read_only_open_notes_damage_and_changes_nothing() {
    let directory = directory();
    let (last, _) = make(directory.path(), 3);
    let [first, _] = files(directory.path());
    truncate(&first, last);
    let main = Domain::open("main", directory.path(), Access::ReadOnly).unwrap();
    let (manifest, found) = open_in(std::slice::from_ref(&main), Access::ReadOnly).unwrap();
    assert_eq!((found, manifest.notes().len()), (records(3), 1));
    assert_eq!(fs::metadata(&first).unwrap().len(), last);
    open_in(&[main], Access::ReadOnly).unwrap();
}

#[test]
fn member_that_fails_while_it_is_open_is_noted_and_rebuilt_by_the_next_opening() {
    let directory = directory();
    make(directory.path(), 1);
    for (number, member) in files(directory.path()).into_iter().enumerate() {
        let (mut manifest, found) =
            open_in(&[domain(directory.path())], Access::ReadWrite).unwrap();
        let count = found.len() as u64;
        truncate(&member, 4096);
        for record in &records(count + 2)[count as usize..] {
            manifest.append(record).unwrap();
        }
        assert_eq!(manifest.notes().len(), 1, "{:?}", manifest.notes());
        let good = |(_, condition): &(u32, MemberCondition)| *condition == MemberCondition::Good;
        assert_eq!(manifest.set.member_conditions().iter().filter(|it| good(it)).count(), 1);
        drop(manifest);
        let (found, notes) = open(directory.path()).unwrap();
        assert_eq!((found, notes.len()), (records(count + 2), 1), "member {number}");
        area(directory.path());
    }
}

#[test]
fn growth_goes_on_without_a_member_that_fails_then() {
    let directory = directory();
    let mut manifest = Manifest::create(ID, 1, &domain(directory.path())).unwrap();
    let record = Record::Domain { name: "d".into(), path: "x".repeat(70_000) };
    truncate(&files(directory.path())[0], START + 40_000);
    manifest.append(&record).unwrap();
    drop(manifest);
    assert_eq!(open(directory.path()).unwrap().0, [record]);
    area(directory.path());
}

/// Lets publishing fail in every member, and returns the manifest with what the members held when
/// the record was written but not published.
fn fail_publish(directory: &Path) -> (Manifest, Vec<Vec<u8>>) {
    let (mut manifest, found) = open_in(&[domain(directory)], Access::ReadWrite).unwrap();
    let paths = files(directory);
    let kept = Arc::new(Mutex::new(Vec::new()));
    let keep = Arc::clone(&kept);
    manifest.before_publish = Some(Injection(Box::new(move || {
        for path in &paths {
            keep.lock().unwrap().push(fs::read(path).unwrap());
            truncate(path, 0);
        }
    })));
    let count = found.len() as u64;
    let error = manifest.append(&records(count + 1)[count as usize]).unwrap_err();
    assert!(error.to_string().contains("no good member"), "{error}");
    let kept = kept.lock().unwrap().clone();
    (manifest, kept)
}

#[test]
fn failed_publish_leaves_the_record_in_doubt_until_the_next_opening() {
    for is_published in [false, true] {
        let directory = directory();
        let (_, end) = make(directory.path(), 2);
        let (mut manifest, mut kept) = fail_publish(directory.path());
        assert!(manifest.is_in_doubt());
        let refused = manifest.append(&records(1)[0]).unwrap_err().to_string();
        assert!(refused.contains("open the database again"), "{refused}");
        drop(manifest);
        // The word may have reached one of the members, or none.
        let end = end + Record::TableDropped { table: TableId(0) }.to_bytes(1).len() as u64;
        if is_published {
            kept[1][(START + PUBLISHED_OFFSET) as usize..][..8].copy_from_slice(&end.to_le_bytes());
        }
        for (path, bytes) in files(directory.path()).iter().zip(&kept) {
            fs::write(path, bytes).unwrap();
        }
        let (found, _) = open(directory.path()).unwrap();
        assert_eq!(found, records(2 + u64::from(is_published)));
        area(directory.path());
    }
}

/// A load whose record may or may not have been published keeps its pool: after a restart it is
/// there wholly or not at all. The path was never run by a test before.
#[test]
fn load_in_doubt_is_decided_by_the_next_opening() {
    for is_published in [false, true] {
        let directory = directory();
        let options = crate::OpenOptions {
            directory: Some(directory.path().into()),
            ..crate::OpenOptions::default()
        };
        let store = crate::Store::open(options.clone()).unwrap();
        let table = store.create_table(one_column_table()).unwrap();
        let load = store.begin_load(&table).unwrap();
        let mut column = ColumnBuffer::new(ColumnType::BigInt);
        column.push_int(7);
        load.append_chunk(0, &[column]).unwrap();
        let kept = Arc::new(Mutex::new(Vec::new()));
        let (keep, paths) = (Arc::clone(&kept), files(directory.path()));
        store.inject_before_publish(Injection(Box::new(move || {
            for path in &paths {
                keep.lock().unwrap().push(fs::read(path).unwrap());
                truncate(path, 0);
            }
        })));
        load.commit().unwrap_err();
        assert!(store.is_in_doubt());
        assert_eq!(table.snapshot().rows(), 0);
        assert!(store.drop_table("t").is_err(), "no further change is taken");
        drop((store, table));
        for (path, mut bytes) in files(directory.path()).iter().zip(kept.lock().unwrap().clone()) {
            if is_published {
                publish_next(&mut bytes);
            }
            fs::write(path, bytes).unwrap();
        }
        let store = crate::Store::open(options).unwrap();
        let rows = store.table("t").unwrap().snapshot().rows();
        assert_eq!(rows, u64::from(is_published));
        let is_pool = |name: &String| name.ends_with(".pool");
        let pools = domain(directory.path()).list_pools().unwrap();
        assert_eq!(
            pools.iter().filter(|name| is_pool(name)).count(),
            2 * usize::from(is_published)
        );
    }
}

fn one_column_table() -> TableSchema {
    let column = ColumnDef {
        name: "k".into(),
        column_type: ColumnType::BigInt,
        is_nullable: false,
        replicas: None,
    };
    TableSchema {
        name: "t".into(),
        columns: vec![column],
        primary_key: None,
        primary_key_name: String::new(),
        replicas: None,
    }
}

/// Moves the published end of a member behind the record that follows it.
fn publish_next(bytes: &mut [u8]) {
    let word = (START + PUBLISHED_OFFSET) as usize;
    let end = u64::from_le_bytes(bytes[word..word + 8].try_into().unwrap()) as usize;
    let payload = u32::from_le_bytes(bytes[end..end + 4].try_into().unwrap()) as usize;
    let next = (end + RECORD_HEADER_BYTES + payload).next_multiple_of(8) as u64;
    bytes[word..word + 8].copy_from_slice(&next.to_le_bytes());
}
