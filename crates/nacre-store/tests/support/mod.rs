//! Tables of two columns, and what to do with them.

#![allow(dead_code)] // Each test binary uses its own part.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::fs;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use nacre_column::{ByteValues, ColumnBuffer, ColumnType, Flavour};
use nacre_store::{
    AccessHint, ColumnDef, Error, OpenOptions, Progress, RepairReport, ScrubReport, Store, Table,
    TableSchema,
};

pub(crate) fn open(directory: &Path) -> Store {
    open_with(directory, &[])
}

/// Opens with further domains.
pub(crate) fn open_with(directory: &Path, domains: &[(&str, &Path)]) -> Store {
    let domains =
        domains.iter().map(|(name, path)| ((*name).to_owned(), path.to_path_buf())).collect();
    let directory = Some(directory.into());
    Store::open(OpenOptions { directory, domains, ..OpenOptions::default() }).unwrap()
}

/// A key and a string; `policy` is empty for the default.
pub(crate) fn schema(name: &str, policy: &str) -> TableSchema {
    let column = |name: &str, column_type| ColumnDef {
        name: name.into(),
        column_type,
        is_nullable: false,
        replicas: None,
    };
    let replicas = (!policy.is_empty()).then(|| policy.parse().unwrap());
    TableSchema {
        name: name.into(),
        columns: vec![
            column("k", ColumnType::BigInt),
            column("v", ColumnType::Varchar { max_chars: None }),
        ],
        primary_key: Some(vec![0]),
        primary_key_name: format!("{name}_pkey"),
        replicas,
    }
}

pub(crate) fn rows(keys: impl IntoIterator<Item = i64>) -> Vec<ColumnBuffer> {
    let mut key = ColumnBuffer::new(ColumnType::BigInt);
    let mut value = ColumnBuffer::new(ColumnType::Varchar { max_chars: None });
    for k in keys {
        key.push_int(k);
        value.push_bytes(format!("value {k}").as_bytes());
    }
    vec![key, value]
}

pub(crate) fn load(
    store: &Store,
    table: &Arc<Table>,
    chunks: &[Vec<ColumnBuffer>],
) -> Result<u64, Error> {
    let load = store.begin_load(table)?;
    for (index, chunk) in chunks.iter().enumerate().rev() {
        load.append_chunk(index as u64, chunk)?;
    }
    load.commit()
}

/// Makes a table with two chunks of ten rows and one of five.
pub(crate) fn table(store: &Store, name: &str, policy: &str) -> Arc<Table> {
    let table = store.create_table(schema(name, policy)).unwrap();
    load(store, &table, &[rows(0..10), rows(10..20)]).unwrap();
    load(store, &table, &[rows(20..25)]).unwrap();
    table
}

/// Reads all keys, and compares the strings with them.
pub(crate) fn keys(table: &Arc<Table>) -> Vec<i64> {
    let mut keys = Vec::new();
    for chunk in table.snapshot().chunks().unwrap() {
        let from = keys.len();
        let handle = chunk.read(0, AccessHint::Sequential).unwrap();
        let block = handle.block().unwrap();
        block.decode_i64(Flavour::active(), 0..chunk.rows(), &mut keys).unwrap();
        handle.check().unwrap();
        let handle = chunk.read(1, AccessHint::Random).unwrap();
        let block = handle.block().unwrap();
        let mut values = ByteValues::default();
        block.decode_bytes(Flavour::active(), 0..chunk.rows(), &mut values).unwrap();
        for (row, key) in keys[from..].iter().enumerate() {
            assert_eq!(values.get(row), format!("value {key}").as_bytes());
        }
        handle.check().unwrap();
    }
    keys
}

pub(crate) fn all_keys() -> Vec<i64> {
    (0..25).collect()
}

/// Does all background work there is.
pub(crate) fn maintain(store: &Store) {
    for _ in 0..1_000 {
        if store.maintain_step().unwrap().is_idle() {
            return;
        }
    }
    panic!("maintenance does not end");
}

pub(crate) fn repair(store: &Store) -> RepairReport {
    store.repair(&mut |_: &Progress| ControlFlow::Continue(())).unwrap()
}

pub(crate) fn scrub(store: &Store) -> ScrubReport {
    store.scrub(&mut |_: &Progress| ControlFlow::Continue(())).unwrap()
}

/// Returns the part files of a directory.
pub(crate) fn pools(directory: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    let mut pools: Vec<PathBuf> =
        entries.filter(|path| path.extension().is_some_and(|name| name == "pool")).collect();
    pools.sort();
    pools
}

/// Returns the directory of the database in a further domain.
pub(crate) fn inner(domain: &Path) -> PathBuf {
    fs::read_dir(domain).unwrap().next().unwrap().unwrap().path()
}

/// Flips a byte of a file.
pub(crate) fn flip(path: &Path, offset: u64) {
    let mut bytes = fs::read(path).unwrap();
    bytes[offset as usize] ^= 0x10;
    fs::write(path, bytes).unwrap();
}

/// Copies a directory with all that is in it.
pub(crate) fn copy_all(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap().map(Result::unwrap) {
        let target = to.join(entry.file_name());
        match entry.file_type().unwrap().is_dir() {
            true => copy_all(&entry.path(), &target),
            false => drop(fs::copy(entry.path(), target).unwrap()),
        }
    }
}
