//! TRUNCATE: tables afterwards, also after a restart, and conflicts with other transactions.

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod support;

use std::sync::Arc;

use nacre_column::ColumnType;
use nacre_store::index::{IndexDef, IndexKind, IndexOrigin};
use nacre_store::{
    ColumnDef, ErrorKind, ForeignKeyAction, ForeignKeyDef, IsolationLevel, Store, Table, TableKeys,
    TableRules, TableSchema, Transaction, ValueRef,
};
use support::{open, pools, table};

/// Returns all first columns of a table, ascending.
fn scan(transaction: &mut Transaction, table: &Arc<Table>) -> Result<Vec<i64>, ErrorKind> {
    let mut rows = Vec::new();
    let scanned = transaction.scan(table, &[], &[0], |_, values| {
        rows.extend(values.iter().map(|value| match value {
            ValueRef::Int(value) => *value,
            _ => -1,
        }));
    });
    scanned.map_err(|error| error.kind())?;
    rows.sort_unstable();
    Ok(rows)
}

fn rows(store: &Store, name: &str) -> Vec<i64> {
    let mut transaction = store.begin(IsolationLevel::RepeatableRead);
    scan(&mut transaction, &store.table(name).unwrap()).unwrap()
}

fn insert(transaction: &mut Transaction, table: &Arc<Table>, key: i64) {
    transaction.insert(table, &[ValueRef::Int(key), ValueRef::Bytes(b"x")]).unwrap();
}

fn truncate(store: &Store, names: &[&str]) -> Result<(), ErrorKind> {
    let session = store.for_session();
    let mut transaction = session.begin(IsolationLevel::ReadCommitted);
    let tables: Vec<_> = names.iter().map(|name| session.table(name).unwrap()).collect();
    let emptied = transaction.truncate_tables(&tables).map_err(|error| error.kind());
    emptied.and_then(|()| transaction.commit().map(drop).map_err(|error| error.kind()))
}

#[test]
fn emptied_table_is_empty_at_once_and_after_a_restart() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("db");
    let store = open(&path);
    let old = table(&store, "t", "");
    let index = IndexDef {
        name: "t_v".into(),
        columns: vec![1],
        is_unique: true,
        kind: IndexKind::Art,
        origin: IndexOrigin::Statement,
    };
    store.create_index(&old, index).unwrap();
    let mut transaction = store.begin(IsolationLevel::Serializable);
    insert(&mut transaction, &old, 100);
    transaction.delete(&old, transaction_row(&store, &old)).unwrap();
    transaction.commit().unwrap();
    let pinned = old.snapshot();
    truncate(&store, &["t"]).unwrap();
    assert_eq!(rows(&store, "t"), []);
    assert_eq!(pinned.rows(), 25, "readers of the old rows go on");
    let new = store.table("t").unwrap();
    assert_eq!(new.indexes().len(), 2);
    let mut transaction = store.begin(IsolationLevel::Serializable);
    insert(&mut transaction, &new, 3);
    let taken = transaction.insert(&new, &[ValueRef::Int(4), ValueRef::Bytes(b"x")]);
    assert_eq!(taken.unwrap_err().kind(), ErrorKind::DuplicateKey, "the index counts");
    transaction.commit().unwrap();
    drop((pinned, old, new, store));
    let store = open(&path);
    assert_eq!(rows(&store, "t"), [3]);
    assert_eq!(pools(&path), Vec::<std::path::PathBuf>::new(), "files of old rows are gone");
    assert_eq!(store.table("t").unwrap().indexes().len(), 2);
}

/// Returns the row of the key 100.
fn transaction_row(store: &Store, table: &Arc<Table>) -> nacre_store::RowId {
    let mut found = None;
    let mut transaction = store.begin(IsolationLevel::RepeatableRead);
    let scan = transaction.scan(table, &[], &[0], |row, _| found = Some(row));
    scan.unwrap();
    found.unwrap()
}

#[test]
fn rolling_back_restores_all_rows_and_opens_the_table() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("db");
    let store = open(&path).for_session();
    let old = table(&store, "t", "");
    let mut transaction = store.begin(IsolationLevel::Serializable);
    insert(&mut transaction, &old, 100);
    transaction.commit().unwrap();
    let all = rows(&store, "t");
    assert_eq!(all.len(), 26);
    let mut transaction = store.begin(IsolationLevel::Serializable);
    insert(&mut transaction, &old, 101);
    let before = transaction.savepoint();
    for key in [1, 2] {
        let table = store.table("t").unwrap();
        transaction.truncate_tables(&[table]).unwrap();
        let table = store.table("t").unwrap();
        assert_eq!(scan(&mut transaction, &table).unwrap(), []);
        insert(&mut transaction, &table, key);
        assert_eq!(scan(&mut transaction, &table).unwrap(), [key]);
    }
    assert_eq!(rows(&store.for_session(), "t"), all, "others see the old rows");
    transaction.rollback_to(before);
    let table = store.table("t").unwrap();
    assert_eq!(scan(&mut transaction, &table).unwrap().len(), 27);
    insert(&mut transaction, &table, 102);
    transaction.truncate_tables(&[table]).unwrap();
    transaction.rollback();
    assert_eq!(rows(&store, "t"), all);
    let mut transaction = store.begin(IsolationLevel::Serializable);
    insert(&mut transaction, &old, 103);
    transaction.commit().unwrap();
    drop((old, store));
    assert_eq!(rows(&open(&path), "t").len(), 27);
}

#[test]
fn older_snapshots_never_read_an_empty_table() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(&directory.path().join("db"));
    table(&store, "t", "");
    // Snapshots from before the statement, and from between statement and commit.
    let (one, other, session) = (store.for_session(), store.for_session(), store.for_session());
    let mut earlier = one.begin(IsolationLevel::RepeatableRead);
    let mut emptying = session.begin(IsolationLevel::ReadCommitted);
    emptying.truncate_tables(&[session.table("t").unwrap()]).unwrap();
    let mut between = other.begin(IsolationLevel::RepeatableRead);
    let old = store.table("t").unwrap();
    assert_eq!(scan(&mut between, &old).unwrap().len(), 25);
    emptying.commit().unwrap();
    let new = store.table("t").unwrap();
    for transaction in [&mut earlier, &mut between] {
        assert_eq!(scan(transaction, &new), Err(ErrorKind::SerializationConflict));
        let refused = transaction.insert(&new, &[ValueRef::Int(1), ValueRef::Bytes(b"x")]);
        assert_eq!(refused.unwrap_err().kind(), ErrorKind::SerializationConflict);
        let refused = transaction.truncate_tables(std::slice::from_ref(&new));
        assert_eq!(refused.unwrap_err().kind(), ErrorKind::SerializationConflict);
    }
    assert_eq!(rows(&store, "t"), []);
}

#[test]
fn two_that_empty_or_write_a_table_do_not_both_commit() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(&directory.path().join("db"));
    let old = table(&store, "t", "");
    table(&store, "u", "");
    let mut writing = store.begin(IsolationLevel::RepeatableRead);
    insert(&mut writing, &old, 100);
    let session = store.for_session();
    let mut emptying = session.begin(IsolationLevel::ReadCommitted);
    emptying.truncate_tables(&[session.table("t").unwrap()]).unwrap();
    assert_eq!(writing.commit().unwrap_err().kind(), ErrorKind::SerializationConflict);
    assert_eq!(truncate(&store, &["u", "t"]), Err(ErrorKind::SerializationConflict));
    // The failed statement gave its claim on the first table back.
    truncate(&store, &["u"]).unwrap();
    drop(emptying);
    truncate(&store, &["u", "t"]).unwrap();
    assert_eq!((rows(&store, "t"), rows(&store, "u")), (Vec::new(), Vec::new()));
}

#[test]
fn serializable_reader_of_its_own_empties_the_table() {
    let store = open_volatile();
    let all = table(&store, "t", "");
    let mut transaction = store.begin(IsolationLevel::Serializable);
    assert_eq!(scan(&mut transaction, &all).unwrap().len(), 25);
    transaction.truncate_tables(&[all]).unwrap();
    insert(&mut transaction, &store.table("t").unwrap(), 1);
    transaction.commit().unwrap();
    assert_eq!(rows(&store, "t"), [1]);
}

fn open_volatile() -> Store {
    Store::open(nacre_store::OpenOptions::default()).unwrap().for_session()
}

/// A table of a key and a reference to the table of that id, or to itself.
fn node(store: &Store, name: &str, referenced: Option<nacre_store::TableId>) -> Arc<Table> {
    let column = |name: &str, is_nullable| ColumnDef {
        name: name.into(),
        column_type: ColumnType::BigInt,
        is_nullable,
        replicas: None,
    };
    let schema = TableSchema {
        name: name.into(),
        columns: vec![column("k", false), column("up", true)],
        primary_key: Some(vec![0]),
        primary_key_name: format!("{name}_pkey"),
        replicas: None,
    };
    let key = ForeignKeyDef {
        name: format!("{name}_up_fkey"),
        columns: vec![1],
        referenced,
        referenced_columns: vec![0],
        on_delete: ForeignKeyAction::NoAction,
        on_update: ForeignKeyAction::NoAction,
    };
    let keys = TableKeys { foreign: vec![key], ..TableKeys::default() };
    store.create_table_with(schema, TableRules::default(), &keys).unwrap()
}

fn refer(store: &Store, name: &str, key: i64, up: i64) -> Result<(), ErrorKind> {
    let mut transaction = store.begin(IsolationLevel::Serializable);
    let inserted = transaction
        .insert(&store.table(name).unwrap(), &[ValueRef::Int(key), ValueRef::Int(up)])
        .and_then(|_| transaction.check_constraints());
    inserted.map_err(|error| error.kind())?;
    transaction.commit().map(drop).map_err(|error| error.kind())
}

#[test]
fn foreign_keys_lead_between_the_new_tables() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("db");
    let store = open(&path);
    let parent = node(&store, "p", None);
    node(&store, "c", Some(parent.id()));
    refer(&store, "p", 1, 1).unwrap();
    refer(&store, "c", 1, 1).unwrap();
    assert_eq!(truncate(&store, &["p"]), Err(ErrorKind::DependentObjects));
    for names in [["p", "c"], ["c", "p"]] {
        truncate(&store, &names).unwrap();
        assert_eq!((rows(&store, "p"), rows(&store, "c")), (Vec::new(), Vec::new()));
        assert_eq!(refer(&store, "c", 1, 1), Err(ErrorKind::ForeignKeyViolation));
        refer(&store, "p", 1, 1).unwrap();
        refer(&store, "c", 1, 1).unwrap();
    }
    truncate(&store, &["c"]).unwrap();
    refer(&store, "c", 7, 1).unwrap();
    drop((parent, store));
    let store = open(&path);
    assert_eq!((rows(&store, "p"), rows(&store, "c")), (vec![1], vec![7]));
    assert_eq!(refer(&store, "c", 2, 2), Err(ErrorKind::ForeignKeyViolation));
    assert_eq!(store.table("c").unwrap().foreign_keys().len(), 1);
    assert_eq!(truncate(&store, &["p"]), Err(ErrorKind::DependentObjects));
    truncate(&store, &["p", "c"]).unwrap();
}
