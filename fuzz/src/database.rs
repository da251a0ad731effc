//! Whole databases and pool sets whose files were damaged: errors, no panic, no endless loop.
//!
//! A small database is made once per process. For each input its files are laid out anew in a
//! temporary directory, damaged, and opened.

use std::fs;
use std::path::Path;
use std::sync::LazyLock;

use nacre_column::{ByteValues, ColumnBuffer, ColumnType, Flavour};
use nacre_pmem::{Access, Domain, PoolSet, PoolSetOptions};
use nacre_store::{
    AccessHint, ColumnDef, IsolationLevel, OpenOptions, RedoOptions, Store, TableSchema, ValueRef,
};
use tempfile::TempDir;

use super::input::Input;

/// Where the data area of a manifest's member begins, see `docs/layout.md`.
pub(crate) const DATA_OFFSET: usize = 65_536;

/// Where the published end lies in the data area.
const PUBLISHED_END_AT: usize = 64;

/// Name and content of each file.
pub(crate) type Files = Vec<(String, Vec<u8>)>;

static DATABASE: LazyLock<Files> = LazyLock::new(make_database);

static SET: LazyLock<Files> = LazyLock::new(make_set);

pub(crate) fn directory() -> TempDir {
    let shared = Path::new("/dev/shm");
    let builder = tempfile::Builder::new();
    if shared.is_dir() { builder.tempdir_in(shared) } else { builder.tempdir() }.unwrap()
}

pub(crate) fn read_files(directory: &Path) -> Files {
    let mut files: Files = fs::read_dir(directory)
        .unwrap()
        .map(|entry| entry.unwrap())
        .filter(|entry| entry.file_type().unwrap().is_file())
        .map(|entry| {
            let name = entry.file_name().into_string().unwrap();
            (name, fs::read(entry.path()).unwrap())
        })
        .collect();
    files.sort();
    files
}

pub(crate) fn write_files(directory: &Path, files: &Files) {
    for (name, bytes) in files {
        fs::write(directory.join(name), bytes).unwrap();
    }
}

fn open(directory: &Path, is_read_only: bool) -> Result<Store, nacre_store::Error> {
    let directory = Some(directory.to_owned());
    let redo = RedoOptions { segment_bytes: 4096, is_compressed: false };
    Store::open(OpenOptions { directory, is_read_only, redo, ..OpenOptions::default() })
}

fn make_database() -> Files {
    let directory = directory();
    let store = open(directory.path(), false).unwrap();
    let column = |name: &str, column_type| ColumnDef {
        name: name.to_owned(),
        column_type,
        is_nullable: true,
        replicas: None,
    };
    let types = [ColumnType::BigInt, ColumnType::Varchar { max_chars: None }];
    let created = store.create_table(TableSchema {
        name: "t".to_owned(),
        columns: vec![column("k", types[0]), column("v", types[1])],
        primary_key: None,
        primary_key_name: String::new(),
        replicas: None,
    });
    let table = created.unwrap();
    let load = store.begin_load(&table).unwrap();
    let (mut keys, mut values) = (ColumnBuffer::new(types[0]), ColumnBuffer::new(types[1]));
    for row in 0..300 {
        keys.push_int(row * row);
        values.push_bytes(format!("value {row}").as_bytes());
    }
    load.append_chunk(0, &[keys, values]).unwrap();
    load.commit().unwrap();
    let mut transaction = store.begin(IsolationLevel::Serializable);
    for key in 0..10 {
        let values = [ValueRef::Int(key), ValueRef::Bytes(b"hot")];
        transaction.insert(&table, &values).unwrap();
    }
    transaction.commit().unwrap();
    drop((store, table));
    read_files(directory.path())
}

fn make_set() -> Files {
    let directory = directory();
    let domain = Domain::create("main", directory.path()).unwrap();
    let options = PoolSetOptions::new(16_384);
    drop(PoolSet::create("set", &[domain.clone(), domain], &options).unwrap());
    read_files(directory.path())
}

/// Reads everything of the database in `directory`. Errors are fine.
fn use_database(directory: &Path, is_read_only: bool) {
    let Ok(store) = open(directory, is_read_only) else {
        return;
    };
    for table in store.tables() {
        let columns = table.schema().columns.len();
        let Ok(chunks) = table.snapshot().chunks() else {
            continue;
        };
        for chunk in chunks {
            for column in 0..columns {
                let Ok(handle) = chunk.read(column, AccessHint::Sequential) else {
                    continue;
                };
                let Ok(block) = handle.block() else {
                    continue;
                };
                let rows = 0..block.rows();
                let _ = block.decode_i64(Flavour::active(), rows.clone(), &mut Vec::new());
                let mut strings = ByteValues::default();
                let _ = block.decode_bytes(Flavour::active(), rows, &mut strings);
            }
        }
    }
    let _ = store.replicas();
}

/// Fuzzes the files of a database: the manifest's members alike or not, and the pools.
pub fn store_directory(data: &[u8]) {
    let mut input = Input::new(data);
    let mut files = DATABASE.clone();
    let is_read_only = input.number(1).is_multiple_of(2);
    let count = files.len();
    while !input.rest().is_empty() {
        let bytes = &mut files[input.below(count)].1;
        match input.number(1) % 8 {
            0 => bytes.truncate(input.below(bytes.len() + 1)),
            _ => {
                let part = input.take(24);
                Input::new(part).damage(bytes);
            }
        }
    }
    let directory = directory();
    write_files(directory.path(), &files);
    use_database(directory.path(), is_read_only);
}

/// Fuzzes the payload of one more record, with the right length, sequence number and checksum, in
/// all members of the manifest.
pub fn manifest_record(data: &[u8]) {
    let mut input = Input::new(data);
    let kind = (input.number(2) % 16) as u16;
    let payload = input.rest();
    let mut files = DATABASE.clone();
    for (_, bytes) in files.iter_mut().filter(|(name, _)| name.starts_with("manifest.")) {
        append_record(bytes, kind, payload);
    }
    let directory = directory();
    write_files(directory.path(), &files);
    use_database(directory.path(), true);
}

/// Appends a record to a member of the manifest, if it has room.
fn append_record(member: &mut [u8], kind: u16, payload: &[u8]) {
    let data = &mut member[DATA_OFFSET..];
    let (end, sequence) = walk(data);
    let mut record = Vec::new();
    record.extend_from_slice(&(payload.len() as u32).to_le_bytes());
    record.extend_from_slice(&[0; 4]);
    record.extend_from_slice(&sequence.to_le_bytes());
    record.extend_from_slice(&kind.to_le_bytes());
    record.extend_from_slice(&[0; 6]);
    record.extend_from_slice(payload);
    let crc = crc32c::crc32c_append(crc32c::crc32c(&record[8..]), &record[..4]);
    record[4..8].copy_from_slice(&crc.to_le_bytes());
    record.resize(record.len().next_multiple_of(8), 0);
    if let Some(room) = data.get_mut(end..end + record.len()) {
        room.copy_from_slice(&record);
        let published = (DATA_OFFSET + end + record.len()) as u64;
        data[PUBLISHED_END_AT..PUBLISHED_END_AT + 8].copy_from_slice(&published.to_le_bytes());
    }
}

/// Returns where the records of a whole manifest end, and the sequence number of the next.
fn walk(data: &[u8]) -> (usize, u64) {
    let word = |at: usize| u64::from_le_bytes(data[at..at + 8].try_into().unwrap());
    let published = word(PUBLISHED_END_AT) as usize - DATA_OFFSET;
    let (mut at, mut next) = (128, 0);
    while at < published {
        let payload_bytes = word(at) as u32 as usize;
        next = word(at + 8) + 1;
        at += (24 + payload_bytes).next_multiple_of(8);
    }
    (published, next)
}

/// Fuzzes the members of a pool set: headers, member table, intent map, data.
pub fn pool_set(data: &[u8]) {
    let mut input = Input::new(data);
    let mut files = SET.clone();
    let access =
        if input.number(1).is_multiple_of(2) { Access::ReadOnly } else { Access::ReadWrite };
    let count = files.len();
    while !input.rest().is_empty() {
        let bytes = &mut files[input.below(count)].1;
        // The first 12 KiB hold what leads the reader.
        let front =
            bytes.len().min(if input.number(1).is_multiple_of(8) { usize::MAX } else { 12_288 });
        let part = input.take(24);
        Input::new(part).damage(&mut bytes[..front]);
    }
    let directory = directory();
    write_files(directory.path(), &files);
    let Ok(domain) = Domain::open("main", directory.path(), access) else {
        return;
    };
    if let Ok(set) = PoolSet::open("set", &[domain.clone(), domain], access) {
        let _ = (set.check(), set.member_states());
    }
}
