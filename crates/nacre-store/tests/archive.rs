//! Archives: a database comes back as it was after any commit, and what is missing is named.

#![allow(clippy::unwrap_used, clippy::expect_used)]

#[path = "../../nacre-pmem/tests/support/mod.rs"]
mod mounts;
mod support;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::sleep;
use std::time::Duration;

use mounts::Mount;
use nacre_store::{
    AccessChange, Error, ErrorKind, Grant, IsolationLevel, Lsn, ObjectAccess, OpenOptions,
    RedoOptions, RestoreOptions, RestoreReport, RestoreTarget, RoleDef, RowId, Securable, Store,
    Table, ValueRef, restore,
};
use support::{copy_all, load, rows, schema};

fn directory() -> tempfile::TempDir {
    tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap()
}

/// Segments of a few commits; nothing is frozen unasked.
fn open(directory: &Path) -> Store {
    Store::open(OpenOptions {
        directory: Some(directory.to_path_buf()),
        redo: RedoOptions { segment_bytes: 4 << 10, is_compressed: false },
        checkpoint_bytes: Some(0),
        ..OpenOptions::default()
    })
    .unwrap()
}

fn insert(store: &Store, table: &Arc<Table>, keys: impl IntoIterator<Item = i64>) {
    let mut tx = store.begin(IsolationLevel::RepeatableRead);
    for key in keys {
        let text = format!("value {key}");
        tx.insert(table, &[ValueRef::Int(key), ValueRef::Bytes(text.as_bytes())]).unwrap();
    }
    tx.commit().unwrap();
}

fn found(store: &Store, table: &str) -> Vec<(i64, Vec<u8>, RowId)> {
    let Ok(table) = store.table(table) else {
        return vec![(-1, b"no table".to_vec(), RowId::hot(0, 0))];
    };
    let mut found = Vec::new();
    let mut tx = store.begin(IsolationLevel::RepeatableRead);
    tx.scan(&table, &[], &[0, 1], |row, values| {
        if let [ValueRef::Int(key), ValueRef::Bytes(text)] = values {
            found.push((*key, text.to_vec(), row));
        }
    })
    .unwrap();
    found.sort_unstable();
    found
}

/// Returns the rows of all tables that the tests make, without their places.
fn contents(store: &Store) -> Vec<Vec<(i64, Vec<u8>)>> {
    let table = |name| found(store, name).into_iter().map(|(key, text, _)| (key, text)).collect();
    ["t", "late"].map(table).to_vec()
}

/// Where tests put things.
struct Places(tempfile::TempDir);

impl Places {
    fn new() -> Self {
        Self(directory())
    }

    fn get(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn restore(&self, target: RestoreTarget, into: &str) -> Result<RestoreReport, Error> {
        restore(&RestoreOptions {
            backup: self.get("backup"),
            archive: self.get("archive"),
            target,
            into: self.get(into),
        })
    }

    /// Restores, and returns what is there.
    fn contents_at(&self, target: RestoreTarget) -> Vec<Vec<(i64, Vec<u8>)>> {
        let report = self.restore(target, "restored").unwrap();
        let store = open(&self.get("restored"));
        assert_eq!(store.notes(), [""; 0]);
        if let RestoreTarget::Lsn(lsn) = target {
            assert!(report.moment.lsn <= lsn, "{report:?}");
        }
        let found = contents(&store);
        // It takes changes, and stays as it is when it is opened again.
        let table = store.table("t").unwrap();
        insert(&store, &table, [1_000_000]);
        store.checkpoint().unwrap();
        drop((table, store));
        let store = open(&self.get("restored"));
        assert!(self::found(&store, "t").iter().any(|(key, ..)| *key == 1_000_000));
        drop(store);
        fs::remove_dir_all(self.get("restored")).unwrap();
        found
    }
}

/// A database with 60 loaded rows, archived, with a backup.
fn begun(places: &Places) -> (Store, Arc<Table>) {
    let store = open(&places.get("db"));
    let table = store.create_table(schema("t", "")).unwrap();
    load(&store, &table, &[rows(0..60)]).unwrap();
    insert(&store, &table, 60..70);
    store.set_archive(Some(&places.get("archive"))).unwrap();
    store.backup(&places.get("backup")).unwrap();
    (store, table)
}

/// Whether a step begins with the drop of a table.
fn drops(number: i64) -> bool {
    number % 8 == 7 && number % 3 == 0
}

/// Does the step of a number: each changes what is there.
fn work(store: &Store, table: &Arc<Table>, number: i64) {
    let key = 1_000 + number * 10;
    match number % 8 {
        0 => insert(store, table, key..key + 7),
        1 | 5 => {
            let mut tx = store.begin(IsolationLevel::RepeatableRead);
            for (_, _, row) in found(store, "t").iter().skip(number as usize % 5).step_by(9) {
                tx.update(table, *row, &[(1, ValueRef::Bytes(format!("at {number}").as_bytes()))])
                    .unwrap();
            }
            tx.commit().unwrap();
        }
        2 => {
            let mut tx = store.begin(IsolationLevel::RepeatableRead);
            for (_, _, row) in found(store, "t").iter().skip(number as usize % 7).step_by(11) {
                tx.delete(table, *row).unwrap();
            }
            tx.commit().unwrap();
        }
        3 => {
            store.checkpoint().unwrap();
        }
        4 => drop(load(store, table, &[rows(key..key + 5)]).unwrap()),
        6 => match store.table("late") {
            Err(_) => {
                let late = store.create_table(schema("late", "")).unwrap();
                load(store, &late, &[rows(0..3)]).unwrap();
            }
            Ok(late) => insert(store, &late, [key]),
        },
        _ => {
            let _ = store.maintain_step();
            if drops(number) && store.table("late").is_ok() {
                store.drop_table("late").unwrap();
            }
            insert(store, table, [key]);
        }
    }
}

#[test]
fn database_comes_back_as_it_was_after_each_commit() {
    let places = Places::new();
    let (store, table) = begun(&places);
    let mut states = Vec::new();
    for number in 0..40 {
        work(&store, &table, number);
        sleep(Duration::from_millis(2));
        let status = store.archive_status().unwrap();
        states.push((status.end, contents(&store)));
        if number % 5 == 4 {
            store.archive().unwrap();
        }
    }
    store.archive().unwrap();
    let status = store.archive_status().unwrap();
    assert_eq!((status.archived, &status.problem), (status.end, &None));
    drop((table, store));
    let is_full = std::env::var_os("NACRE_TEST_FULL").is_some();
    let mut compared = 0;
    for (number, (lsn, state)) in states.iter().enumerate() {
        // What a later step does before it writes a group counts for the position as well.
        let next = number as i64 + 1;
        let is_last = states.get(number + 1).is_none_or(|(next, ..)| next > lsn) && !drops(next);
        if is_last && (is_full || number % 6 < 2) {
            assert_eq!(&places.contents_at(RestoreTarget::Lsn(*lsn)), state, "step {number}");
            compared += 1;
        }
    }
    assert!(compared > 6);
    let latest = places.contents_at(RestoreTarget::Latest);
    assert_eq!(latest, states.last().unwrap().1);
}

/// Rows of a load that was taken out when all were deleted are there at the commits before.
#[test]
fn loads_that_lost_all_rows_come_back_where_they_had_some() {
    let places = Places::new();
    let (store, table) = begun(&places);
    let delete = |keys: std::ops::Range<i64>| {
        let mut tx = store.begin(IsolationLevel::RepeatableRead);
        for (_, _, row) in found(&store, "t").iter().filter(|(key, ..)| keys.contains(key)) {
            tx.delete(&table, *row).unwrap();
        }
        tx.commit().unwrap();
    };
    let mut states = Vec::new();
    let mut note = || states.push((store.archive_status().unwrap().end, contents(&store)));
    insert(&store, &table, 100..110);
    note();
    store.checkpoint().unwrap();
    delete(0..60);
    note();
    store.checkpoint().unwrap();
    insert(&store, &table, [200]);
    note();
    delete(100..110);
    note();
    // What is not in the archive yet stays until it is.
    for _ in 0..3 {
        store.archive().unwrap();
        store.checkpoint().unwrap();
    }
    assert!(table.snapshot().rows() < 60, "{} rows are stored", table.snapshot().rows());
    insert(&store, &table, [201]);
    note();
    store.archive().unwrap();
    drop(table);
    drop(store);
    for (lsn, state) in &states {
        assert_eq!(&places.contents_at(RestoreTarget::Lsn(*lsn)), state, "{lsn:?}");
    }
    let latest = places.contents_at(RestoreTarget::Latest);
    assert_eq!(latest, states.last().unwrap().1);
}

/// Its rows and what it defined lie in two places.
#[test]
fn transactions_that_define_tables_come_back_whole() {
    let places = Places::new();
    let (owner, table) = begun(&places);
    let store = owner.for_session();
    let mut states = Vec::new();
    let mut note = || states.push((store.archive_status().unwrap().end, contents(&store)));
    insert(&store, &table, [500]);
    note();
    let mut tx = store.begin(IsolationLevel::Serializable);
    tx.define().unwrap();
    let late = store.create_table(schema("late", "")).unwrap();
    for (table, key) in [(&late, 1), (&table, 501)] {
        tx.insert(table, &[ValueRef::Int(key), ValueRef::Bytes(b"both")]).unwrap();
    }
    tx.commit().unwrap();
    note();
    insert(&store, &late, [2]);
    note();
    store.archive().unwrap();
    let mut tx = store.begin(IsolationLevel::Serializable);
    tx.define().unwrap();
    tx.insert(&table, &[ValueRef::Int(502), ValueRef::Bytes(b"gone")]).unwrap();
    store.drop_table("late").unwrap();
    tx.commit().unwrap();
    note();
    insert(&store, &table, [503]);
    note();
    store.archive().unwrap();
    drop((late, table, store, owner));
    for (lsn, state) in &states {
        assert_eq!(&places.contents_at(RestoreTarget::Lsn(*lsn)), state, "{lsn:?}");
    }
}

#[test]
fn roles_and_grants_come_back_as_they_were() {
    let places = Places::new();
    let (owner, table) = begun(&places);
    let store = owner.for_session();
    let reader = RoleDef {
        oid: 20,
        name: "reader".into(),
        is_superuser: false,
        ..RoleDef::clone(&store.role("nacre").unwrap())
    };
    let object = Securable::Table(table.id());
    let seen = |store: &Store| {
        let names: Vec<String> = store.roles().iter().map(|role| role.name.clone()).collect();
        (names, store.access().object(&object).clone())
    };
    let mut states = Vec::new();
    let mut commit = |key, changes: &[AccessChange]| {
        let mut tx = store.begin(IsolationLevel::Serializable);
        tx.define().unwrap();
        store.change_access(changes).unwrap();
        tx.insert(&table, &[ValueRef::Int(key), ValueRef::Bytes(b"with it")]).unwrap();
        tx.commit().unwrap();
        states.push((store.archive_status().unwrap().end, seen(&store)));
    };
    let grant = Grant { grantee: 20, grantor: 10, privileges: 2, grantable: 0 };
    let granted = ObjectAccess { owner: 10, grants: Some(vec![grant]) };
    commit(500, &[AccessChange::Role(reader)]);
    commit(501, &[AccessChange::Object(object.clone(), granted)]);
    let none = AccessChange::Object(object.clone(), ObjectAccess::owned_by(10));
    commit(502, &[none, AccessChange::RoleDropped(20)]);
    store.archive().unwrap();
    drop((table, owner));
    for (lsn, state) in &states {
        places.restore(RestoreTarget::Lsn(*lsn), "restored").unwrap();
        assert_eq!(&seen(&open(&places.get("restored"))), state, "{lsn:?}");
        fs::remove_dir_all(places.get("restored")).unwrap();
    }
}

#[test]
fn database_comes_back_as_it_was_at_a_time() {
    let places = Places::new();
    let (store, table) = begun(&places);
    let mut states = Vec::new();
    for number in 0..10 {
        work(&store, &table, number);
        sleep(Duration::from_millis(3));
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
        states.push((now.as_micros() as u64, contents(&store)));
        sleep(Duration::from_millis(3));
    }
    insert(&store, &table, [5_000]);
    store.archive().unwrap();
    drop((table, store));
    for (time, state) in &states {
        assert_eq!(&places.contents_at(RestoreTarget::Time(*time)), state);
    }
}

/// What was archived before goes on when the database is open again.
#[test]
fn archive_goes_on_after_restarts_and_torn_ends() {
    let places = Places::new();
    let (store, table) = begun(&places);
    drop((table, store));
    for round in 0..4 {
        let store = open(&places.get("db"));
        let table = store.table("t").unwrap();
        (round * 8..round * 8 + 8).for_each(|number| work(&store, &table, number));
        store.archive().unwrap();
        drop((table, store));
        // As a crash may leave them: bytes that no step counted.
        for entry in fs::read_dir(places.get("archive")).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            if name == "catalog" || name.starts_with("redo-") {
                let mut bytes = fs::read(&path).unwrap();
                let cut = if name == "catalog" { 5 } else { 0 };
                bytes.truncate(bytes.len() - cut);
                bytes.extend_from_slice(&[0x5a; 100]);
                fs::write(&path, bytes).unwrap();
            }
        }
    }
    let store = open(&places.get("db"));
    store.archive().unwrap();
    assert_eq!(store.archive_status().unwrap().problem, None);
    let expected = contents(&store);
    drop(store);
    assert_eq!(places.contents_at(RestoreTarget::Latest), expected);
}

fn refused(places: &Places, target: RestoreTarget, expected: &str) {
    let error = places.restore(target, "refused").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Open, "{error}");
    assert!(error.to_string().contains(expected), "{error}");
    assert!(!places.get("refused").exists() && !places.get("refused.partial").exists());
}

#[test]
fn target_outside_of_backup_and_archive_is_refused() {
    let places = Places::new();
    let (store, table) = begun(&places);
    let backed_up = store.archive_status().unwrap();
    insert(&store, &table, 100..110);
    store.archive().unwrap();
    let archived = store.archive_status().unwrap();
    let before = Lsn(backed_up.end.0 - 64);
    refused(&places, RestoreTarget::Lsn(before), "before the end of the backup");
    let before = RestoreTarget::Time(backed_up.time - 60_000_000);
    refused(&places, before, "before the end of the backup");
    refused(&places, RestoreTarget::Lsn(Lsn(archived.end.0 + 64)), "the archive ends at byte");
    let behind = RestoreTarget::Time(archived.time + 60_000_000);
    refused(&places, behind, "the archive ends at byte");
    fs::create_dir(places.get("taken")).unwrap();
    fs::write(places.get("taken/file"), b"x").unwrap();
    let error = places.restore(RestoreTarget::Latest, "taken").unwrap_err();
    assert!(error.to_string().contains("not empty"), "{error}");
}

#[test]
fn gap_foreign_archive_and_missing_loads_are_named() {
    let places = Places::new();
    let (store, table) = begun(&places);
    for number in 0..4 {
        insert(&store, &table, 100 + number * 100..200 + number * 100);
    }
    load(&store, &table, &[rows(900..910)]).unwrap();
    insert(&store, &table, 910..920);
    store.archive().unwrap();
    drop((table, store));
    let segments = (1..).map(|number| places.get(&format!("archive/redo-{number}.log")));
    let segments: Vec<PathBuf> = segments.take_while(|path| path.exists()).collect();
    assert!(segments.len() > 3);
    let middle = &segments[segments.len() - 2];
    let aside = places.get("aside");
    fs::rename(middle, &aside).unwrap();
    refused(&places, RestoreTarget::Latest, "the archive has a gap");
    let bytes = fs::read(&aside).unwrap();
    fs::write(middle, &bytes[..bytes.len() / 2]).unwrap();
    refused(&places, RestoreTarget::Latest, "the archive has a gap");
    fs::rename(&aside, middle).unwrap();
    // The load's pools.
    let copied = fs::read_dir(places.get("archive")).unwrap().map(|entry| entry.unwrap().path());
    let copied = copied.filter(|path| path.extension().is_some_and(|end| end == "copied"));
    let copied: Vec<PathBuf> = copied.collect();
    assert_eq!(copied.len(), 1);
    fs::rename(&copied[0], &aside).unwrap();
    refused(&places, RestoreTarget::Latest, "neither in the backup nor in the archive");
    fs::rename(&aside, &copied[0]).unwrap();
    // Another database's archive.
    let other = open(&places.get("other"));
    other.create_table(schema("t", "")).unwrap();
    other.set_archive(Some(&places.get("other-archive"))).unwrap();
    other.archive().unwrap();
    drop(other);
    fs::rename(places.get("archive"), places.get("own")).unwrap();
    fs::rename(places.get("other-archive"), places.get("archive")).unwrap();
    refused(&places, RestoreTarget::Latest, "and the backup of");
    fs::remove_dir_all(places.get("archive")).unwrap();
    fs::create_dir(places.get("archive")).unwrap();
    refused(&places, RestoreTarget::Latest, "holds no archive");
    fs::remove_dir(places.get("archive")).unwrap();
    fs::rename(places.get("own"), places.get("archive")).unwrap();
    places.restore(RestoreTarget::Latest, "restored").unwrap();
}

/// Two databases that were one must not mix their archives.
#[test]
fn archive_of_another_history_is_left_alone() {
    let places = Places::new();
    let (store, table) = begun(&places);
    store.archive().unwrap();
    drop((table, store));
    copy_all(&places.get("db"), &places.get("copy"));
    let go_on = |name: &str, keys: std::ops::Range<i64>| {
        let store = open(&places.get(name));
        insert(&store, &store.table("t").unwrap(), keys);
        let archived = store.archive();
        (archived, store.archive_status().unwrap())
    };
    go_on("db", 100..110).0.unwrap();
    let before = fs::read(places.get("archive/redo-1.log")).unwrap();
    for keys in [200..203, 300..400] {
        let (archived, status) = go_on("copy", keys);
        let text = archived.unwrap_err().to_string();
        assert!(text.contains("name an empty directory, and take a backup"), "{text}");
        assert_eq!(status.problem, Some(text));
        assert_eq!(fs::read(places.get("archive/redo-1.log")).unwrap(), before);
    }
    let copy = open(&places.get("copy"));
    let error = copy.set_archive(Some(&places.get("archive"))).unwrap_err();
    assert!(error.to_string().contains("name an empty directory"), "{error}");
    copy.set_archive(Some(&places.get("copy-archive"))).unwrap();
    copy.archive().unwrap();
    copy.set_archive(None).unwrap();
    assert!(copy.archive_status().is_none() && !copy.is_archived());
    drop(copy);
    assert!(open(&places.get("copy")).archive_status().is_none());
}

#[test]
fn full_archive_keeps_the_log_until_there_is_room() {
    let Some(mount) = Mount::tmpfs("size=256k") else {
        return;
    };
    let places = Places::new();
    let store = open(&places.get("db"));
    let table = store.create_table(schema("t", "")).unwrap();
    let archive = mount.path().join("archive");
    store.set_archive(Some(&archive)).unwrap();
    store.backup(&places.get("backup")).unwrap();
    let mut failures = 0;
    for round in 0..30 {
        insert(&store, &table, round * 500..round * 500 + 500);
        failures += usize::from(store.archive().is_err());
        if round % 10 == 9 {
            store.checkpoint().unwrap();
        }
    }
    assert!(failures > 3);
    let status = store.archive_status().unwrap();
    assert!(status.problem.is_some() && status.archived < status.end, "{status:?}");
    assert!(store.notes().iter().any(|note| note.contains("the redo log is kept")));
    assert_eq!(store.archive().unwrap_err().kind(), ErrorKind::NoSpace);
    drop((table, store));
    mount.remount("size=64m");
    let store = open(&places.get("db"));
    store.checkpoint().unwrap();
    let status = store.archive_status().unwrap();
    assert_eq!((status.problem, status.archived), (None, status.end));
    let expected = contents(&store);
    drop(store);
    let options = RestoreOptions {
        backup: places.get("backup"),
        archive,
        target: RestoreTarget::Latest,
        into: places.get("restored"),
    };
    restore(&options).unwrap();
    assert_eq!(contents(&open(&places.get("restored"))), expected);
}
