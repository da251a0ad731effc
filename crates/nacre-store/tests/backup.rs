//! Online backups: copies that can be opened hold what one snapshot saw.

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod support;

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use nacre_store::{
    AccessChange, Grant, IsolationLevel, Membership, ObjectAccess, RoleDef, RowId, Securable,
    Store, Table, ValueRef,
};
use support::{copy_all, keys, load, open, open_with, rows, schema};

fn insert(store: &Store, table: &Arc<Table>, keys: impl IntoIterator<Item = i64>) {
    let mut tx = store.begin(IsolationLevel::RepeatableRead);
    for key in keys {
        let text = format!("value {key}");
        tx.insert(table, &[ValueRef::Int(key), ValueRef::Bytes(text.as_bytes())]).unwrap();
    }
    tx.commit().unwrap();
}

/// Returns all keys in order, with the ids of their rows.
fn found(store: &Store) -> Vec<(i64, RowId)> {
    let (table, mut found) = (store.table("t").unwrap(), Vec::new());
    let mut tx = store.begin(IsolationLevel::RepeatableRead);
    tx.scan(&table, &[], &[0], |row, values| {
        if let ValueRef::Int(key) = values[0] {
            found.push((key, row));
        }
    })
    .unwrap();
    found.sort_unstable();
    found
}

fn keys_of(directory: &Path) -> Vec<i64> {
    found(&open(directory)).into_iter().map(|(key, _)| key).collect()
}

#[test]
fn backup_has_loads_deletes_and_hot_rows_and_can_be_copied() {
    let directory = tempfile::tempdir().unwrap();
    let place = |name: &str| directory.path().join(name);
    fs::create_dir(place("other")).unwrap();
    let store = open_with(&place("db"), &[("pm", &place("other"))]);
    let table = store.create_table(schema("t", "auto, auto@pm")).unwrap();
    load(&store, &table, &[rows(0..100)]).unwrap();
    insert(&store, &table, 100..200);
    store.checkpoint().unwrap();
    insert(&store, &table, 200..300);
    let mut tx = store.begin(IsolationLevel::RepeatableRead);
    for (_, row) in found(&store).into_iter().filter(|(key, _)| key % 10 == 3) {
        tx.delete(&table, row).unwrap();
    }
    tx.commit().unwrap();
    let mut open_end = store.begin(IsolationLevel::RepeatableRead);
    open_end.insert(&table, &[ValueRef::Int(999), ValueRef::Bytes(b"not committed")]).unwrap();
    let report = store.backup(&place("backup")).unwrap();
    assert_eq!(report.hot_rows, 90);
    insert(&store, &table, 300..310);
    drop((open_end, table, store));
    copy_all(&place("backup"), &place("copy"));
    let expected: Vec<i64> = (0..300).filter(|key| key % 10 != 3).collect();
    for name in ["backup", "copy"] {
        assert_eq!(keys_of(&place(name)), expected, "{name}");
        let store = open(&place(name));
        assert_eq!(store.notes(), [""; 0]);
        let table = store.table("t").unwrap();
        insert(&store, &table, [3]);
        store.checkpoint().unwrap();
    }
    assert_eq!(keys_of(&place("copy")).len(), expected.len() + 1);
    assert_eq!(keys_of(&place("db")).len(), expected.len() + 10);
}

#[test]
fn backup_has_roles_owners_and_grants() {
    let directory = tempfile::tempdir().unwrap();
    let place = |name: &str| directory.path().join(name);
    let store = open(&place("db")).for_session();
    let role = |oid: u32, member_of| RoleDef {
        oid,
        name: format!("r{oid}"),
        is_superuser: false,
        member_of,
        ..RoleDef::clone(&store.role("nacre").unwrap())
    };
    store.define_role(role(20_000, Vec::new())).unwrap();
    store.define_role(role(20_001, vec![Membership { role: 20_000, is_admin: true }])).unwrap();
    store.define_role(role(20_002, Vec::new())).unwrap();
    store.change_access(&[AccessChange::RoleDropped(20_002)]).unwrap();
    store.set_creator(20_000);
    let table = store.create_table(schema("t", "")).unwrap();
    let grant = Grant { grantee: 20_001, grantor: 20_000, privileges: 3, grantable: 1 };
    let access = ObjectAccess { owner: 20_000, grants: Some(vec![grant]) };
    let object = Securable::Table(table.id());
    store.change_access(&[AccessChange::Object(object.clone(), access.clone())]).unwrap();
    store.backup(&place("backup")).unwrap();
    store.drop_table("t").unwrap();
    store.change_access(&[20_001, 20_000].map(AccessChange::RoleDropped)).unwrap();
    let copy = open(&place("backup"));
    let names: Vec<String> = copy.roles().iter().map(|role| role.name.clone()).collect();
    assert_eq!(names, ["nacre", "r20000", "r20001"]);
    assert_eq!(
        copy.role("r20001").unwrap().member_of,
        [Membership { role: 20_000, is_admin: true }]
    );
    assert_eq!(*copy.access().object(&object), access);
    assert_eq!(copy.access().next_role(), 20_003, "a number is given once, in the copy too");
}

/// Two rows are always changed together.
#[test]
fn backup_beside_writers_is_that_of_one_moment() {
    let directory = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap();
    let store = open(&directory.path().join("db"));
    let table = store.create_table(schema("t", "")).unwrap();
    let is_done = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            for pair in 0..20_000_i64 {
                insert(&store, &table, [pair, -1 - pair]);
                if is_done.load(Ordering::Relaxed) {
                    break;
                }
            }
        });
        for number in 0..4 {
            let backup = directory.path().join(format!("backup-{number}"));
            store.backup(&backup).unwrap();
            let sum: i64 = keys_of(&backup).iter().map(|key| key + (*key < 0) as i64).sum();
            assert_eq!(sum, 0, "backup {number}");
            store.checkpoint().unwrap();
        }
        is_done.store(true, Ordering::Relaxed);
    });
}

#[test]
fn directory_that_is_in_use_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(&directory.path().join("db"));
    let table = support::table(&store, "t", "");
    let error = store.backup(&directory.path().join("db")).unwrap_err();
    assert!(error.to_string().contains("not empty"), "{error}");
    fs::create_dir(directory.path().join("new.partial")).unwrap();
    let error = store.backup(&directory.path().join("new")).unwrap_err();
    assert!(error.to_string().contains("cut off"), "{error}");
    let error = store.backup(&directory.path().join("no/where")).unwrap_err();
    assert!(!directory.path().join("no").exists(), "{error}");
    fs::create_dir(directory.path().join("empty")).unwrap();
    store.backup(&directory.path().join("empty")).unwrap();
    let copy = open(&directory.path().join("empty"));
    assert_eq!(keys(&copy.table("t").unwrap()), keys(&table));
}
