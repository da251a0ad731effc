//! Tables and loads through the public interface: visibility, constraints, restart, damage.

#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::fs;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;

use nacre_column::{ColumnBuffer, ColumnType, Flavour};
use nacre_store::{
    AccessHint, BlockHandle, Chunk, ColumnDef, Error, ErrorKind, MAIN_DOMAIN, OpenOptions, Store,
    Table, TableSchema,
};

fn open(directory: &Path) -> Store {
    Store::open(OpenOptions { directory: Some(directory.into()), ..OpenOptions::default() })
        .unwrap()
}

fn schema(name: &str) -> TableSchema {
    let column = |name: &str, column_type| ColumnDef {
        name: name.into(),
        column_type,
        is_nullable: false,
        replicas: None,
    };
    TableSchema {
        name: name.into(),
        columns: vec![
            column("k", ColumnType::BigInt),
            column("v", ColumnType::Varchar { max_chars: None }),
        ],
        primary_key: Some(vec![0]),
        primary_key_name: format!("{name}_pkey"),
        replicas: "auto".parse().ok(),
    }
}

fn rows(keys: impl IntoIterator<Item = i64>) -> Vec<ColumnBuffer> {
    let mut key = ColumnBuffer::new(ColumnType::BigInt);
    let mut value = ColumnBuffer::new(ColumnType::Varchar { max_chars: None });
    for k in keys {
        key.push_int(k);
        value.push_bytes(format!("value {k}").as_bytes());
    }
    vec![key, value]
}

fn load(store: &Store, table: &Arc<Table>, chunks: &[Vec<ColumnBuffer>]) -> Result<u64, Error> {
    let load = store.begin_load(table)?;
    for (index, chunk) in chunks.iter().enumerate().rev() {
        load.append_chunk(index as u64, chunk)?;
    }
    load.commit()
}

fn keys(table: &Arc<Table>) -> Vec<i64> {
    let mut keys = Vec::new();
    for chunk in table.snapshot().chunks().unwrap() {
        let handle = chunk.read(0, AccessHint::Sequential).unwrap();
        let block = handle.block().unwrap();
        block.decode_i64(Flavour::active(), 0..chunk.rows(), &mut keys).unwrap();
    }
    keys
}

/// Returns a block of which nothing was lost, as far as the file system knows.
fn checked(chunk: &Chunk, column: usize) -> Result<BlockHandle, Error> {
    let block = chunk.read(column, AccessHint::Sequential)?;
    block.check_file().map(|()| block)
}

fn file_names(directory: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(directory)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[test]
fn committed_loads_are_there_after_reopening_in_row_order() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(directory.path());
    let table = store.create_table(schema("t")).unwrap();
    assert_eq!(load(&store, &table, &[rows(0..100), rows(100..150)]).unwrap(), 150);
    assert_eq!(load(&store, &table, &[rows(-5..0)]).unwrap(), 5);
    let expected: Vec<i64> = (0..150).chain(-5..0).collect();
    assert_eq!(keys(&table), expected);
    drop((store, table));
    let store = open(directory.path());
    let table = store.table("t").unwrap();
    assert_eq!(*table.schema(), schema("t"));
    assert_eq!(table.snapshot().rows(), 155);
    assert_eq!(keys(&table), expected);
    assert!(store.notes().is_empty());
}

#[test]
fn load_that_is_not_committed_leaves_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(directory.path());
    let table = store.create_table(schema("t")).unwrap();
    let before = file_names(directory.path());
    let load = store.begin_load(&table).unwrap();
    load.append_chunk(0, &rows(0..10)).unwrap();
    assert_eq!(table.snapshot().rows(), 0);
    drop(load);
    assert_eq!(file_names(directory.path()), before);
}

#[test]
fn pool_of_a_load_that_was_cut_off_is_removed_at_open() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(directory.path());
    let table = store.create_table(schema("t")).unwrap();
    load(&store, &table, &[rows(0..10)]).unwrap();
    drop((store, table));
    let before = file_names(directory.path());
    fs::write(directory.path().join("load-00000000000000ff.pool"), b"half a load").unwrap();
    let store = open(directory.path());
    assert_eq!(file_names(directory.path()), before);
    assert_eq!(keys(&store.table("t").unwrap()), (0..10).collect::<Vec<_>>());
}

#[test]
fn snapshot_outlives_drop_table_and_its_files_go_with_it() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(directory.path());
    let table = store.create_table(schema("t")).unwrap();
    load(&store, &table, &[rows(0..10)]).unwrap();
    let snapshot = table.snapshot();
    store.drop_table("t").unwrap();
    assert_eq!(store.table("t").unwrap_err().kind(), ErrorKind::UnknownTable);
    assert_eq!(
        snapshot.chunks().unwrap()[0]
            .read(0, AccessHint::Sequential)
            .unwrap()
            .block()
            .unwrap()
            .rows(),
        10
    );
    drop(snapshot);
    assert!(!file_names(directory.path()).iter().any(|name| name.ends_with(".pool")));
}

#[test]
fn load_into_a_table_dropped_meanwhile_fails_and_leaves_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(directory.path());
    let table = store.create_table(schema("t")).unwrap();
    let pending = store.begin_load(&table).unwrap();
    pending.append_chunk(0, &rows(0..10)).unwrap();
    store.drop_table("t").unwrap();
    assert_eq!(pending.commit().unwrap_err().kind(), ErrorKind::SerializationConflict);
    assert!(!file_names(directory.path()).iter().any(|name| name.ends_with(".pool")));
}

/// Loads `new` after `old` and returns where the duplicate was found.
fn duplicate(old: &[Vec<ColumnBuffer>], new: &[Vec<ColumnBuffer>]) -> Option<(u64, u32, String)> {
    let store = Store::open(OpenOptions::default()).unwrap();
    let table = store.create_table(schema("t")).unwrap();
    load(&store, &table, old).unwrap();
    let rows_before = table.snapshot().rows();
    match load(&store, &table, new) {
        Ok(_) => None,
        Err(Error::DuplicateKey(found)) => {
            assert_eq!(table.snapshot().rows(), rows_before);
            assert_eq!((found.constraint.as_str(), found.columns.as_str()), ("t_pkey", "k"));
            let (chunk, row) = found.loaded_at.unwrap();
            Some((chunk, row, found.key))
        }
        Err(error) => panic!("{error}"),
    }
}

#[test]
fn duplicate_key_is_found_in_a_chunk_a_load_and_the_table() {
    assert_eq!(duplicate(&[], &[rows([1, 2, 3])]), None);
    assert_eq!(duplicate(&[], &[rows([3, 1, 3])]), Some((0, 2, "3".into())));
    assert_eq!(duplicate(&[], &[rows(0..100), rows(50..51)]), Some((1, 0, "50".into())));
    assert_eq!(
        duplicate(&[rows(0..100)], &[rows(200..300), rows([99])]),
        Some((1, 0, "99".into()))
    );
    assert_eq!(duplicate(&[rows(0..100)], &[rows(-100..0), rows(100..200)]), None);
    // Interleaved ranges without a double.
    let even: Vec<i64> = (0..1_000).map(|k| k * 2).collect();
    let odd: Vec<i64> = (0..1_000).rev().map(|k| k * 2 + 1).collect();
    assert_eq!(duplicate(&[rows(even.clone())], &[rows(odd.clone())]), None);
    let mut odd_and_one = odd;
    odd_and_one.push(1_000);
    assert_eq!(duplicate(&[rows(even)], &[rows(odd_and_one)]), Some((0, 1_000, "1000".into())));
}

#[test]
fn null_in_a_column_that_forbids_it_is_refused() {
    let store = Store::open(OpenOptions::default()).unwrap();
    let table = store.create_table(schema("t")).unwrap();
    let mut columns = rows(0..1);
    columns[0].push_int(1);
    columns[1].push_null();
    let error = load(&store, &table, &[columns]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NullViolation);
    assert!(error.to_string().contains("column \"v\" of relation \"t\""));
}

#[test]
fn every_flipped_byte_of_a_block_is_noticed_and_only_its_column_is_lost() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(directory.path());
    let table = store.create_table(schema("t")).unwrap();
    load(&store, &table, &[rows(0..3), rows(3..40)]).unwrap();
    let location = table.snapshot().chunks().unwrap()[1].locations(1).remove(0);
    let path = location.pool_path.unwrap();
    drop((store, table));
    let whole = fs::read(&path).unwrap();
    for offset in location.offset..location.offset + location.bytes {
        let mut damaged = whole.clone();
        damaged[offset as usize] ^= 1 << (offset % 8);
        fs::write(&path, damaged).unwrap();
        let chunks = open(directory.path()).table("t").unwrap().snapshot().chunks().unwrap();
        let error = chunks[1].read(1, AccessHint::Sequential).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Damaged, "byte {offset}");
        let text = error.to_string();
        assert!(text.starts_with("table \"t\", column \"v\", chunk 1: "), "{text}");
        assert!(
            chunks[1].read(0, AccessHint::Sequential).is_ok()
                && chunks[0].read(1, AccessHint::Sequential).is_ok(),
            "byte {offset}"
        );
    }
    fs::write(&path, whole).unwrap();
    let chunks = open(directory.path()).table("t").unwrap().snapshot().chunks().unwrap();
    assert!(chunks[1].read(1, AccessHint::Sequential).is_ok());
}

#[test]
fn truncated_missing_and_foreign_pools_are_named() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(directory.path());
    let table = store.create_table(schema("t")).unwrap();
    load(&store, &table, &[rows(0..3)]).unwrap();
    let other = store.create_table(schema("other")).unwrap();
    load(&store, &other, &[rows(0..3)]).unwrap();
    let path_of = |table: &Arc<Table>| {
        table.snapshot().chunks().unwrap()[0].locations(0).remove(0).pool_path.unwrap()
    };
    let (path, other_path) = (path_of(&table), path_of(&other));
    drop((store, table, other));
    let whole = fs::read(&path).unwrap();
    let chunks_of = |name: &str| open(directory.path()).table(name).unwrap().snapshot().chunks();
    for bytes in [0, 1, 63, 64, whole.len() / 2, whole.len() - 1] {
        fs::write(&path, &whole[..bytes]).unwrap();
        let error = chunks_of("t").unwrap_err().to_string();
        assert!(
            error.contains("table \"t\"") && error.contains(&format!("{bytes} bytes")),
            "{error}"
        );
        assert!(chunks_of("other").is_ok(), "another table is not affected");
    }
    fs::copy(&other_path, &path).unwrap();
    let error = chunks_of("t").unwrap_err().to_string();
    assert!(error.contains("not part 0 of load"), "{error}");
    fs::remove_file(&path).unwrap();
    assert!(chunks_of("t").unwrap_err().to_string().contains("load-"));
    fs::write(&path, &whole).unwrap();
    assert_eq!(chunks_of("t").unwrap().len(), 1);
}

/// Whoever opened a file before it was removed may still write to what is mapped, and a file that
/// was cut and grown by less tells only what is missing at its end.
#[test]
fn change_of_a_removed_or_cut_file_is_noticed() {
    for is_removed in [true, false] {
        let directory = tempfile::tempdir().unwrap();
        let store = open(directory.path());
        let table = store.create_table(schema("t")).unwrap();
        load(&store, &table, &[rows((0..3_000).map(|key| key * 2_654_435_761))]).unwrap();
        let chunks = table.snapshot().chunks().unwrap();
        let location = chunks[0].locations(0).remove(0);
        let path = location.pool_path.unwrap();
        let file = fs::File::options().write(true).open(&path).unwrap();
        let keys = checked(&chunks[0], 0).unwrap();
        let end = location.offset + location.bytes;
        // Of the page that a cut goes through nothing is left.
        let page_end = end.next_multiple_of(4096);
        match is_removed {
            true => fs::remove_file(&path).unwrap(),
            false => file.set_len(page_end).unwrap(),
        }
        assert!(!keys.is_as_mapped());
        keys.check_file().unwrap();
        match is_removed {
            true => file.write_all_at(&[0x5a; 8], end - 8).unwrap(),
            false => {
                file.set_len(location.offset + location.bytes / 2).unwrap();
                file.set_len(page_end).unwrap();
            }
        }
        let error = keys.check_file().unwrap_err().to_string();
        assert!(error.starts_with("table \"t\", column \"k\", chunk 0: "), "{error}");
        assert!(error.contains("checksum"), "{error}");
        if is_removed {
            checked(&chunks[0], 1).unwrap();
        }
    }
}

#[test]
fn pool_cut_while_it_is_mapped_costs_only_what_was_behind_the_cut() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(directory.path());
    let table = store.create_table(schema("t")).unwrap();
    // Scattered keys, which fill pages.
    let keys = |range: std::ops::Range<i64>| rows(range.map(|key| key * 2_654_435_761 % (1 << 32)));
    load(&store, &table, &[keys(0..3_000), keys(3_000..60_000)]).unwrap();
    let other = store.create_table(schema("other")).unwrap();
    load(&store, &other, &[rows(0..3)]).unwrap();
    let chunks = table.snapshot().chunks().unwrap();
    // Chunks are written in any order.
    let offset = |chunk: usize| chunks[chunk].locations(0).remove(0).offset;
    let (near, far) = if offset(0) < offset(1) { (0, 1) } else { (1, 0) };
    let location = chunks[far].locations(0).remove(0);
    let path = location.pool_path.unwrap();
    let whole = fs::read(&path).unwrap();
    // Verified before and not yet verified.
    for is_known in [false, true] {
        let chunks = table.snapshot().chunks().unwrap();
        assert!(!is_known || chunks[far].read(0, AccessHint::Sequential).is_ok());
        chunks[near].read(0, AccessHint::Sequential).unwrap();
        let file = fs::File::options().write(true).open(&path).unwrap();
        file.set_len(location.offset + 1).unwrap();
        for chunks in [chunks, table.snapshot().chunks().unwrap()] {
            checked(&chunks[far], 0).unwrap_err();
            let text = checked(&chunks[far], 0).unwrap_err().to_string();
            let names =
                format!("table \"t\", column \"k\", chunk {far}: replica 0 in domain main: ");
            assert!(text.starts_with(&names) && text.contains("load-"), "{text}");
            checked(&chunks[near], 0).unwrap();
        }
        assert!(
            load(&store, &table, &[keys(59_999..60_000)]).is_err(),
            "its keys cannot be compared"
        );
        let others = other.snapshot().chunks().unwrap();
        checked(&others[0], 1).unwrap();
        load(&store, &other, &[rows([3 + i64::from(is_known)])]).unwrap();
        fs::write(&path, &whole).unwrap();
        let chunks = table.snapshot().chunks().unwrap();
        checked(&chunks[far], 0).unwrap();
    }
    // Cut and grown again without anybody having looked: verified blocks are verified again.
    std::thread::sleep(std::time::Duration::from_millis(11));
    let file = fs::File::options().write(true).open(&path).unwrap();
    file.set_len(location.offset).unwrap();
    file.set_len(whole.len() as u64).unwrap();
    checked(&chunks[near], 0).unwrap_err();
    // The directory lies at the end and is gone, so nothing of the pool can be read.
    let error = table
        .snapshot()
        .chunks()
        .and_then(|chunks| chunks[near].read(0, AccessHint::Sequential))
        .unwrap_err();
    assert!(error.to_string().contains("load-"), "{error}");
    fs::write(&path, &whole).unwrap();
    table.snapshot().chunks().unwrap()[far].read(0, AccessHint::Sequential).unwrap();
}

#[test]
fn directories_that_hold_something_else_are_refused_untouched() {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("letter.txt"), b"dear reader").unwrap();
    let options =
        |path: &Path| OpenOptions { directory: Some(path.into()), ..OpenOptions::default() };
    let error = Store::open(options(directory.path())).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Open);
    assert!(error.to_string().contains("letter.txt"), "{error}");
    assert_eq!(file_names(directory.path()), ["letter.txt"]);
    let file = directory.path().join("letter.txt");
    assert!(Store::open(options(&file)).unwrap_err().to_string().contains("is a file"));
    for content in [&b""[..], b"x", &[0x5a; 4096]] {
        let other = tempfile::tempdir().unwrap();
        fs::write(other.path().join("manifest.0"), content).unwrap();
        let error = Store::open(options(other.path())).unwrap_err();
        assert!(error.to_string().contains("manifest.0"), "{error}");
    }
}

#[test]
fn second_writer_is_told_who_has_the_database() {
    let directory = tempfile::tempdir().unwrap();
    let _store = open(directory.path());
    let second = OpenOptions { directory: Some(directory.path().into()), ..Default::default() };
    let error = Store::open(second).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Open);
    assert!(error.to_string().contains(&std::process::id().to_string()), "{error}");
}

#[test]
fn readers_share_a_database_and_refuse_changes() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(directory.path());
    let table = store.create_table(schema("t")).unwrap();
    load(&store, &table, &[rows(0..3)]).unwrap();
    drop((store, table));
    let read_only = OpenOptions {
        directory: Some(directory.path().into()),
        is_read_only: true,
        ..OpenOptions::default()
    };
    let first = Store::open(read_only.clone()).unwrap();
    let second = Store::open(read_only).unwrap();
    let table = second.table("t").unwrap();
    assert_eq!(keys(&table), [0, 1, 2]);
    assert_eq!(first.create_table(schema("u")).unwrap_err().kind(), ErrorKind::ReadOnly);
    assert_eq!(first.drop_table("t").unwrap_err().kind(), ErrorKind::ReadOnly);
    assert_eq!(second.begin_load(&table).unwrap_err().kind(), ErrorKind::ReadOnly);
}

#[test]
fn reader_next_to_a_writer_is_told_who_has_the_database() {
    let directory = tempfile::tempdir().unwrap();
    let read_only = || OpenOptions {
        directory: Some(directory.path().into()),
        is_read_only: true,
        ..OpenOptions::default()
    };
    let store = open(directory.path());
    let error = Store::open(read_only()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Open);
    assert!(error.to_string().contains(&std::process::id().to_string()), "{error}");
    drop(store);
    let _reader = Store::open(read_only()).unwrap();
    let writer = OpenOptions { is_read_only: false, ..read_only() };
    assert_eq!(Store::open(writer).unwrap_err().kind(), ErrorKind::Open);
}

#[test]
fn creation_that_was_cut_off_does_not_stand_in_the_way() {
    let directory = tempfile::tempdir().unwrap();
    for names in [&["manifest.new.0"][..], &["manifest.new.0", "manifest.new.1"]] {
        for name in names {
            fs::write(directory.path().join(name), b"half a header").unwrap();
        }
        drop(open(directory.path()));
        assert_eq!(file_names(directory.path()), ["manifest.0", "manifest.1"]);
        fs::remove_file(directory.path().join("manifest.0")).unwrap();
        fs::remove_file(directory.path().join("manifest.1")).unwrap();
    }
    // The first of two renames happened.
    drop(open(directory.path()));
    let [first, second] = ["manifest.1", "manifest.new.1"].map(|name| directory.path().join(name));
    fs::rename(&first, &second).unwrap();
    assert!(open(directory.path()).notes()[0].contains("rebuilt"));
    assert_eq!(file_names(directory.path()), ["manifest.0", "manifest.1"]);
    assert!(open(directory.path()).notes().is_empty());
}

/// A database in `main` with a load there and one in the domain `fast`.
struct Spread {
    directory: tempfile::TempDir,
}

impl Spread {
    fn new() -> Spread {
        let spread = Spread { directory: tempfile::tempdir().unwrap() };
        let store = spread.open();
        for (name, domain) in [("here", MAIN_DOMAIN), ("there", "fast")] {
            let placed =
                TableSchema { replicas: format!("auto@{domain}").parse().ok(), ..schema(name) };
            let table = store.create_table(placed).unwrap();
            load(&store, &table, &[rows(0..3)]).unwrap();
        }
        spread
    }

    fn main(&self) -> std::path::PathBuf {
        self.directory.path().join("main")
    }

    fn fast(&self) -> std::path::PathBuf {
        self.directory.path().join("fast")
    }

    /// Returns the directory of the database in the domain.
    fn inner(&self) -> std::path::PathBuf {
        fs::read_dir(self.fast()).unwrap().next().unwrap().unwrap().path()
    }

    fn options(&self) -> OpenOptions {
        OpenOptions {
            directory: Some(self.main()),
            domains: vec![("fast".into(), self.fast())],
            is_read_only: false,
            ..OpenOptions::default()
        }
    }

    fn open(&self) -> Store {
        Store::open(self.options()).unwrap()
    }

    /// Opens with the domain named, and checks that all is there.
    fn check(&self) -> Vec<String> {
        let store = self.open();
        for name in ["here", "there"] {
            assert_eq!(keys(&store.table(name).unwrap()), [0, 1, 2], "{name}");
        }
        let notes = store.notes();
        drop(store);
        let members = |directory: &Path| {
            let is_member = |name: &String| name.starts_with("manifest.");
            file_names(directory).into_iter().filter(is_member).collect::<Vec<_>>()
        };
        assert_eq!(members(&self.main()), ["manifest.0", "manifest.1"]);
        assert_eq!(members(&self.inner()), ["manifest.2"]);
        notes
    }
}

#[test]
fn further_domain_has_a_manifest_replica_that_is_not_rewritten() {
    let spread = Spread::new();
    let path = spread.inner().join("manifest.2");
    let before = (fs::read(&path).unwrap(), fs::metadata(&path).unwrap().modified().unwrap());
    assert!(spread.check().is_empty());
    assert!(open(&spread.main()).notes().is_empty(), "it is remembered");
    let after = (fs::read(&path).unwrap(), fs::metadata(&path).unwrap().modified().unwrap());
    assert!(before == after);
    let read_only = OpenOptions { is_read_only: true, ..spread.options() };
    let readers = [Store::open(read_only.clone()).unwrap(), Store::open(read_only).unwrap()];
    assert!(readers.iter().all(|reader| reader.notes().is_empty()));
    drop(readers);
    fs::remove_file(&path).unwrap();
    assert!(spread.check()[0].contains("rebuilt"), "a missing one comes back");
    assert!(spread.check().is_empty());
}

#[test]
fn replica_of_a_domain_that_was_absent_is_brought_up_to_date() {
    let spread = Spread::new();
    let elsewhere = spread.directory.path().join("elsewhere");
    fs::rename(spread.fast(), &elsewhere).unwrap();
    let store = open(&spread.main());
    store.create_table(schema("new")).unwrap();
    assert!(store.notes()[0].contains("\"fast\" is missing"), "{:?}", store.notes());
    drop(store);
    fs::rename(&elsewhere, spread.fast()).unwrap();
    let notes = spread.check();
    assert!(notes.len() == 1 && notes[0].contains("rebuilt"), "{notes:?}");
    for name in ["manifest.0", "manifest.1"] {
        fs::remove_file(spread.main().join(name)).unwrap();
    }
    spread.open().table("new").unwrap();
}

#[test]
fn manifest_in_a_further_domain_stands_in_for_those_that_are_lost() {
    let spread = Spread::new();
    let members = ["manifest.0", "manifest.1"].map(|name| spread.main().join(name));
    let damage: [fn(&Path); 3] = [
        |path| fs::remove_file(path).unwrap(),
        |path| fs::write(path, b"").unwrap(),
        |path| fs::File::options().write(true).open(path).unwrap().set_len(70_000).unwrap(),
    ];
    for damage in damage {
        members.iter().for_each(|path| damage(path));
        let error = Store::open(OpenOptions { domains: Vec::new(), ..spread.options() });
        assert!(error.unwrap_err().to_string().contains("manifest"));
        let reader = Store::open(OpenOptions { is_read_only: true, ..spread.options() }).unwrap();
        assert_eq!(keys(&reader.table("here").unwrap()), [0, 1, 2]);
        drop(reader);
        let notes = spread.check();
        assert!(notes[0].contains("memory domain \"fast\" counts"), "{notes:?}");
        assert!(notes.iter().filter(|note| note.contains("rebuilt")).count() == 2, "{notes:?}");
        assert!(spread.check().is_empty());
    }
}

#[test]
fn manifest_replica_moved_into_the_directory_is_found_there() {
    let spread = Spread::new();
    spread.open().drop_table("here").unwrap();
    for name in ["manifest.0", "manifest.1"] {
        fs::remove_file(spread.main().join(name)).unwrap();
    }
    fs::rename(spread.inner().join("manifest.2"), spread.main().join("manifest.2")).unwrap();
    let store = open(&spread.main());
    assert_eq!(keys(&store.table("there").unwrap()), [0, 1, 2]);
    assert!(store.notes().iter().all(|note| note.contains("rebuilt")), "{:?}", store.notes());
    drop(store);
    assert!(spread.inner().join("manifest.3").exists());
    assert!(open(&spread.main()).notes().is_empty());
}

#[test]
fn manifest_that_does_not_know_a_pool_stands_in_for_nothing() {
    let spread = Spread::new();
    let elsewhere = spread.directory.path().join("elsewhere");
    fs::rename(spread.fast(), &elsewhere).unwrap();
    let store = open(&spread.main());
    load(&store, &store.table("here").unwrap(), &[rows(3..5)]).unwrap();
    drop(store);
    fs::rename(&elsewhere, spread.fast()).unwrap();
    for name in ["manifest.0", "manifest.1"] {
        fs::rename(spread.main().join(name), spread.directory.path().join(name)).unwrap();
    }
    let before = file_names(&spread.main());
    let error = Store::open(spread.options()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Damaged);
    assert!(error.to_string().contains("may be older"), "{error}");
    assert_eq!(file_names(&spread.main()), before);
    for name in ["manifest.0", "manifest.1"] {
        fs::rename(spread.directory.path().join(name), spread.main().join(name)).unwrap();
    }
    assert_eq!(keys(&spread.open().table("here").unwrap()), [0, 1, 2, 3, 4]);
}

#[test]
fn tables_in_another_domain_survive_its_absence_and_return() {
    let directory = tempfile::tempdir().unwrap();
    let (main, fast) = (directory.path().join("main"), directory.path().join("fast"));
    let options = |domains: Vec<(String, std::path::PathBuf)>| OpenOptions {
        directory: Some(main.clone()),
        domains,
        is_read_only: false,
        ..OpenOptions::default()
    };
    let store = Store::open(options(vec![("fast".into(), fast.clone())])).unwrap();
    let placed = TableSchema { replicas: "auto@fast".parse().ok(), ..schema("placed") };
    let table = store.create_table(placed).unwrap();
    load(&store, &table, &[rows(0..3)]).unwrap();
    let here = store.create_table(schema("here")).unwrap();
    load(&store, &here, &[rows(0..3)]).unwrap();
    drop((store, table, here));
    // The domain is remembered without being named again.
    assert_eq!(keys(&open(&main).table("placed").unwrap()), [0, 1, 2]);
    let moved = directory.path().join("moved");
    fs::rename(&fast, &moved).unwrap();
    let store = open(&main);
    assert!(store.notes()[0].contains("\"fast\" is missing"), "{:?}", store.notes());
    assert_eq!(keys(&store.table("here").unwrap()), [0, 1, 2]);
    let error = store.table("placed").unwrap().snapshot().chunks().unwrap_err();
    assert!(error.to_string().contains("memory domain \"fast\""), "{error}");
    assert!(!store.table("placed").unwrap().snapshot().is_reachable());
    drop(store);
    let wrong = directory.path().join("wrong");
    assert!(Store::open(options(vec![("fast".into(), wrong.clone())])).is_err());
    assert!(!wrong.exists(), "a wrong path is refused, not made");
    let store = Store::open(options(vec![("fast".into(), moved)])).unwrap();
    assert_eq!(keys(&store.table("placed").unwrap()), [0, 1, 2]);
}
