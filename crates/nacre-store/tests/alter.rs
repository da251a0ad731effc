//! Changes of definitions: what they leave after a restart, and who is in their way.

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod support;

use std::sync::Arc;

use nacre_column::ColumnType;
use nacre_store::{
    ColumnDef, Error, ErrorKind, IsolationLevel, Rewrite, Store, Table, TableRules, TableSchema,
    ValueRef,
};
use support::{all_keys, keys, open, pools, rows, schema, table};

fn insert(store: &Store, table: &Arc<Table>, key: i64) -> Result<(), ErrorKind> {
    let mut transaction = store.begin(IsolationLevel::Serializable);
    let values = [ValueRef::Int(key), ValueRef::Bytes(b"x")];
    transaction.insert(table, &values).map_err(|error| error.kind())?;
    transaction.commit().map(|_| ()).map_err(|error| error.kind())
}

/// Begins to write a table anew, with half of its keys.
fn begin(store: &Store, table: &Arc<Table>) -> Rewrite {
    let schema = TableSchema::clone(&table.schema());
    let rewrite = store
        .begin_rewrite(table, schema, TableRules::default(), (Vec::new(), &[]), Vec::new())
        .unwrap();
    let load = rewrite.begin_load().unwrap();
    load.append_chunk(0, &rows(0..12)).unwrap();
    load.commit().unwrap();
    rewrite
}

#[test]
fn names_change_at_once_and_for_good() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("db");
    let store = open(&path);
    let one = table(&store, "one", "");
    table(&store, "two", "");
    let mut renamed = schema("three", "");
    renamed.primary_key_name = "one_pkey".into();
    renamed.columns[1].name = "w".into();
    store.redefine_table(&one, renamed.clone(), TableRules::default()).unwrap();
    let check = |store: &Store| {
        assert_eq!(store.table("one").unwrap_err().kind(), ErrorKind::UnknownTable);
        let three = store.table("three").unwrap();
        assert_eq!(*three.schema(), renamed);
        assert_eq!(keys(&three), all_keys());
    };
    check(&store);
    let taken = TableSchema { name: "two".into(), ..renamed.clone() };
    let error = store.redefine_table(&one, taken, TableRules::default()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TableExists);
    let mut other = renamed.clone();
    other.columns[1].is_nullable = true;
    let error = store.redefine_table(&one, other, TableRules::default()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidDefinition);
    drop((one, store));
    check(&open(&path));
}

#[test]
fn rewritten_table_takes_the_place_of_the_old_one() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("db");
    let store = open(&path);
    let old = table(&store, "t", "");
    let before = store.begin(IsolationLevel::RepeatableRead);
    let (rewrite, snapshot) = (begin(&store, &old), old.snapshot());
    rewrite.publish().unwrap();
    let new = store.table("t").unwrap();
    assert_eq!(keys(&new), (0..12).collect::<Vec<i64>>());
    let error = store.table_at("t", &before.snapshot()).unwrap_err();
    assert!(matches!(error, Error::DefinitionChanged { .. }), "{error}");
    assert!(new.seen_at(&before.snapshot()).is_err(), "a snapshot from before sees no row");
    assert!(old.seen_at(&before.snapshot()).is_err(), "the loads of the old one are gone");
    assert_eq!(snapshot.rows(), 25, "readers of the old one go on");
    assert_eq!(insert(&store, &old, 100), Err(ErrorKind::SerializationConflict));
    insert(&store, &new, 100).unwrap();
    assert_eq!(insert(&store, &new, 3), Err(ErrorKind::DuplicateKey));
    drop((before, snapshot, old, new, store));
    let store = open(&path);
    let new = store.table("t").unwrap();
    assert_eq!(keys(&new), (0..12).collect::<Vec<i64>>());
    assert_eq!(insert(&store, &new, 100), Err(ErrorKind::DuplicateKey));
    assert_eq!(pools(&path).len(), 2, "one load in two replicas");
}

#[test]
fn abandoned_rewrite_leaves_the_old_table_and_no_file() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("db");
    let store = open(&path);
    let old = table(&store, "t", "");
    let rewrite = begin(&store, &old);
    assert_eq!(insert(&store, &old, 100), Err(ErrorKind::SerializationConflict));
    drop(rewrite);
    insert(&store, &old, 100).unwrap();
    drop((old, store));
    let store = open(&path);
    assert_eq!(keys(&store.table("t").unwrap()), all_keys());
    assert_eq!(pools(&path).len(), 4, "those of the abandoned table are gone");
    // Its number is not given again: another table does not get its rows.
    let column = |name: &str, column_type| {
        let (name, is_nullable) = (name.into(), true);
        ColumnDef { name, column_type, is_nullable, replicas: None }
    };
    let columns =
        vec![column("k", ColumnType::BigInt), column("v", ColumnType::Varchar { max_chars: None })];
    let other = TableSchema { columns, ..schema("other", "") };
    let other = TableSchema { primary_key: None, primary_key_name: String::new(), ..other };
    let other = store.create_table(other).unwrap();
    assert_eq!(other.snapshot().rows(), 0);
    drop((other, store));
    assert_eq!(open(&path).table("other").unwrap().snapshot().rows(), 0);
}

#[test]
fn writers_that_have_not_committed_are_refused() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(&directory.path().join("db"));
    let old = table(&store, "t", "");
    let mut transaction = store.begin(IsolationLevel::RepeatableRead);
    transaction.insert(&old, &[ValueRef::Int(100), ValueRef::Bytes(b"x")]).unwrap();
    let rewrite = begin(&store, &old);
    let error = transaction.commit().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::SerializationConflict);
    let schema = TableSchema::clone(&old.schema());
    let second =
        store.begin_rewrite(&old, schema, TableRules::default(), (Vec::new(), &[]), Vec::new());
    assert_eq!(second.unwrap_err().kind(), ErrorKind::SerializationConflict);
    let load = store.begin_load(&old).unwrap();
    load.append_chunk(0, &rows(200..210)).unwrap();
    assert_eq!(load.commit().unwrap_err().kind(), ErrorKind::SerializationConflict);
    rewrite.publish().unwrap();
    assert_eq!(store.table("t").unwrap().snapshot().rows(), 12);
}
