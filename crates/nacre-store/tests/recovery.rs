//! Commits outlive the process: restarts, kills at any instruction, and damaged redo logs.
//!
//! | variable | default | meaning |
//! |---|---|---|
//! | `NACRE_TEST_ROUNDS` | 20, 200 with `NACRE_TEST_FULL` | kills of the transfer workload |
//! | `NACRE_TEST_CHILD` | | the database that this process, a child, is to work in |
//! | `NACRE_TEST_FREEZES` | | whether it freezes and truncates all the time |

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod support;

use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use nacre_column::ColumnType;
use nacre_store::{
    ColumnDef, ErrorKind, IsolationLevel, OpenOptions, Procedures, RedoOptions, RestoreOptions,
    RestoreTarget, RowId, Store, Table, TableSchema, Transaction, ValueRef, restore_with,
};
use support::{load, open, rows};

const ACCOUNTS: i64 = 40;
const CLIENTS: i64 = 2;
const BALANCE: i64 = 1_000;

/// A child that nobody kills ends by itself.
const CHILD_SECONDS: u64 = 10;

fn directory() -> tempfile::TempDir {
    tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap()
}

fn pairs(name: &str) -> TableSchema {
    let column = |name: &str| ColumnDef {
        name: name.into(),
        column_type: ColumnType::BigInt,
        is_nullable: false,
        replicas: None,
    };
    TableSchema {
        name: name.into(),
        columns: vec![column("id"), column("value")],
        primary_key: None,
        primary_key_name: String::new(),
        replicas: None,
    }
}

/// As [`pairs`], with a primary key: rows that are frozen move when they change.
fn keyed(name: &str) -> TableSchema {
    TableSchema {
        primary_key: Some(vec![0]),
        primary_key_name: format!("{name}_pkey"),
        ..pairs(name)
    }
}

/// Opens a database of accounts.
fn open_bank(directory: &Path) -> Store {
    Store::open(OpenOptions {
        directory: Some(directory.to_path_buf()),
        procedures: bank(),
        ..OpenOptions::default()
    })
    .unwrap()
}

/// Opens a database that freezes and truncates all the time.
fn open_freezing(directory: &Path) -> Store {
    Store::open(OpenOptions {
        directory: Some(directory.to_path_buf()),
        redo: RedoOptions { segment_bytes: 16 << 10, is_compressed: false },
        checkpoint_bytes: Some(32 << 10),
        procedures: bank(),
        ..OpenOptions::default()
    })
    .unwrap()
}

fn begin(store: &Store) -> Transaction {
    store.begin(IsolationLevel::RepeatableRead)
}

fn insert(tx: &mut Transaction, table: &Arc<Table>, id: i64, value: i64) -> RowId {
    tx.insert(table, &[ValueRef::Int(id), ValueRef::Int(value)]).unwrap()
}

/// Returns the rows of a table of pairs.
fn all(store: &Store, table: &str) -> Vec<(RowId, i64, i64)> {
    let mut found = Vec::new();
    let table = store.table(table).unwrap();
    begin(store)
        .scan(&table, &[], &[0, 1], |row, values| {
            if let [ValueRef::Int(id), ValueRef::Int(value)] = values {
                found.push((row, *id, *value));
            }
        })
        .unwrap();
    found
}

fn contents(store: &Store, table: &str) -> Vec<(i64, i64)> {
    all(store, table).into_iter().map(|(_, id, value)| (id, value)).collect()
}

#[test]
fn committed_changes_are_there_after_a_restart_and_others_are_not() {
    let directory = directory();
    let store = open(directory.path());
    let table = store.create_table(pairs("t")).unwrap();
    let gone = store.create_table(pairs("gone")).unwrap();
    let mut tx = begin(&store);
    let first: Vec<RowId> = (0..5).map(|id| insert(&mut tx, &table, id, 0)).collect();
    insert(&mut tx, &gone, 1, 1);
    tx.commit().unwrap();
    // Places in between stay holes: one that is rolled back, and one that never ends.
    let mut rolled_back = begin(&store);
    insert(&mut rolled_back, &table, 100, 0);
    rolled_back.rollback();
    let mut open_end = begin(&store);
    insert(&mut open_end, &table, 101, 0);
    let mut tx = begin(&store);
    tx.update(&table, first[1], &[(1, ValueRef::Int(11))]).unwrap();
    tx.delete(&table, first[2]).unwrap();
    let savepoint = tx.savepoint();
    tx.delete(&table, first[0]).unwrap();
    insert(&mut tx, &table, 102, 0);
    tx.rollback_to(savepoint);
    insert(&mut tx, &table, 5, 5);
    let last = tx.commit().unwrap();
    store.drop_table("gone").unwrap();
    let before = all(&store, "t");
    assert_eq!(contents(&store, "t"), [(0, 0), (1, 11), (3, 0), (4, 0), (5, 5)]);
    drop(open_end);
    drop((store, table, gone));
    for is_read_only in [true, false, false] {
        let directory = Some(directory.path().to_path_buf());
        let options = OpenOptions { directory, is_read_only, ..OpenOptions::default() };
        let store = Store::open(options).unwrap();
        assert_eq!(all(&store, "t"), before);
        assert_eq!(store.notes(), [""; 0]);
        assert_eq!(store.version_count(), 0);
        assert!(begin(&store).commit().unwrap() >= last);
    }
    let store = open(directory.path());
    let table = store.table("t").unwrap();
    let mut tx = begin(&store);
    insert(&mut tx, &table, 6, 6);
    assert!(tx.commit().unwrap() > last);
    drop((store, table));
    let store = open(directory.path());
    assert_eq!(contents(&store, "t").last(), Some(&(6, 6)));
    assert_eq!(all(&store, "t")[..5], before);
}

#[test]
fn deletes_and_updates_of_loaded_rows_are_there_after_a_restart() {
    let directory = directory();
    let store = open(directory.path());
    let schema = TableSchema { primary_key: None, ..support::schema("t", "") };
    let schema = TableSchema { primary_key_name: String::new(), ..schema };
    let table = store.create_table(schema).unwrap();
    load(&store, &table, &[rows(0..100)]).unwrap();
    let keys = |store: &Store| {
        let (table, mut keys) = (store.table("t").unwrap(), Vec::new());
        let push = |row, values: &[ValueRef<'_>]| keys.push((row, format!("{values:?}")));
        begin(store).scan(&table, &[], &[0, 1], push).unwrap();
        keys
    };
    let ids = keys(&store);
    let mut tx = begin(&store);
    (10..20).for_each(|row| tx.delete(&table, ids[row].0).unwrap());
    tx.update(&table, ids[50].0, &[(1, ValueRef::Bytes(b"new"))]).unwrap();
    tx.commit().unwrap();
    let before = keys(&store);
    assert_eq!(before.len(), 90);
    drop((store, table));
    let store = open(directory.path());
    assert_eq!(keys(&store), before);
    assert_eq!(store.table("t").unwrap().snapshot().rows(), 100, "loads are as they were");
}

#[test]
fn commit_that_does_not_wait_is_durable_after_upkeep_or_a_close() {
    let directory = directory();
    let store = open(directory.path());
    let table = store.create_table(pairs("t")).unwrap();
    for id in 0..4 {
        let mut tx = begin(&store);
        tx.set_synchronous_commit(false);
        insert(&mut tx, &table, id, id);
        tx.commit().unwrap();
        assert!(store.has_work());
        if id % 2 == 0 {
            store.maintain_step().unwrap();
            assert!(!store.has_work());
        }
    }
    drop((store, table));
    assert_eq!(contents(&open(directory.path()), "t").len(), 4);
}

#[test]
fn damaged_log_is_mended_from_the_other_replica_and_lost_commits_are_named() {
    let directory = directory();
    let store = open(directory.path());
    let table = store.create_table(pairs("t")).unwrap();
    for id in 0..10 {
        let mut tx = begin(&store);
        insert(&mut tx, &table, id, id);
        tx.commit().unwrap();
    }
    let before = all(&store, "t");
    drop((store, table));
    let damage = |name: &str| {
        let path = directory.path().join(name);
        let mut bytes = fs::read(&path).unwrap();
        let group = bytes.windows(4).position(|word| word == b"NRDO").unwrap();
        bytes[group + 45] ^= 1;
        fs::write(path, bytes).unwrap();
    };
    damage("redo-1.1");
    let store = open(directory.path());
    assert_eq!(all(&store, "t"), before);
    assert!(store.notes().iter().any(|note| note.contains("redo log replica rebuilt")));
    drop(store);
    damage("redo-1.0");
    damage("redo-1.1");
    for is_read_only in [true, false] {
        let directory = Some(directory.path().to_path_buf());
        let options = OpenOptions { directory, is_read_only, ..OpenOptions::default() };
        let error = Store::open(options).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Damaged);
        assert!(error.to_string().contains("the commits from its first on are lost"), "{error}");
    }
}

/// Returns where the row of a key lies, and its value.
fn row_of(
    tx: &mut Transaction,
    table: &Arc<Table>,
    key: i64,
) -> Result<(RowId, i64), nacre_store::Error> {
    let index = table.indexes().remove(0);
    let mut found = Vec::new();
    tx.lookup(table, &index, &[ValueRef::Int(key)], &[1], |row, values| {
        if let ValueRef::Int(value) = values[0] {
            found.push((row, value));
        }
    })?;
    match found[..] {
        [only] => Ok(only),
        _ => panic!("{found:?} for key {key}"),
    }
}

/// Moves money between accounts, and notes in the table of clients how many commits one has made.
fn move_money(
    tx: &mut Transaction,
    (client, count): (i64, i64),
    accounts_of: [i64; 2],
) -> Result<(), nacre_store::Error> {
    let (accounts, clients) = (tx.table("accounts")?, tx.table("clients")?);
    for (account, amount) in accounts_of.into_iter().zip([-1, 1]) {
        let (row, balance) = row_of(tx, &accounts, account)?;
        tx.update(&accounts, row, &[(1, ValueRef::Int(balance + amount))])?;
    }
    let (own, _) = row_of(tx, &clients, client)?;
    tx.update(&clients, own, &[(1, ValueRef::Int(count))]).map(|_| ())
}

/// What clients call.
fn bank() -> Procedures {
    let mut procedures = Procedures::default();
    let added = procedures.register("move_money", |tx, arguments| {
        let int = |at: usize| match arguments.get(at) {
            Some(ValueRef::Int(value)) => *value,
            _ => 0,
        };
        move_money(tx, (int(0), int(1)), [int(2), int(3)]).map(|()| Vec::new())
    });
    added.unwrap();
    procedures
}

/// Moves money between accounts and counts its commits, in the table and after each in a file of
/// its own, until it is killed. Of each four commits three are logged as calls.
fn transfer(store: &Store, client: i64, journal: &Path) {
    let clients = store.table("clients").unwrap();
    let (_, mut count) = row_of(&mut begin(store), &clients, client).unwrap();
    let file = File::options().create(true).write(true).truncate(false).open(journal).unwrap();
    // The last child may have been killed between its last commit and this.
    file.write_all_at(&count.to_le_bytes(), 0).unwrap();
    let end = Instant::now() + Duration::from_secs(CHILD_SECONDS);
    let mut state = client as u64 + 1 + count as u64;
    while Instant::now() < end {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let accounts_of = [(state >> 33) as i64 % ACCOUNTS, (state >> 48) as i64 % ACCOUNTS];
        let own = (client, count + 1);
        let done = if state >> 20 & 3 == 0 {
            let mut tx = begin(store);
            move_money(&mut tx, own, accounts_of).and_then(|()| tx.commit().map(|_| ()))
        } else {
            let arguments = [own.0, own.1, accounts_of[0], accounts_of[1]].map(ValueRef::Int);
            store.call("move_money", &arguments).map(|_| ())
        };
        match done {
            Ok(()) => {
                count += 1;
                file.write_all_at(&count.to_le_bytes(), 0).unwrap();
            }
            Err(error) => assert_eq!(error.kind(), ErrorKind::SerializationConflict, "{error}"),
        }
    }
}

/// Freezes, truncates and sometimes forces it, until the process is killed.
fn freeze(store: &Store) {
    let end = Instant::now() + Duration::from_secs(CHILD_SECONDS);
    let mut number = 0;
    while Instant::now() < end {
        number += 1;
        match number % 20 {
            0 => store.checkpoint().map(|_| ()),
            _ => store.maintain_step().map(|_| ()),
        }
        .unwrap();
        thread::sleep(Duration::from_micros(500));
    }
}

/// Not a test by itself: what the children of `kills_lose_nothing_acknowledged` run.
#[test]
fn transfers_of_a_child() {
    let Some(directory) = std::env::var_os("NACRE_TEST_CHILD") else {
        return;
    };
    let directory = Path::new(&directory);
    let is_freezing = std::env::var_os("NACRE_TEST_FREEZES").is_some();
    let database = directory.join("db");
    let store = if is_freezing { open_freezing(&database) } else { open_bank(&database) };
    fs::write(directory.join("ready"), b"").unwrap();
    thread::scope(|scope| {
        for client in 0..CLIENTS {
            let (store, journal) = (&store, directory.join(format!("journal-{client}")));
            scope.spawn(move || transfer(store, client, &journal));
        }
        if is_freezing {
            scope.spawn(|| freeze(&store));
        }
    });
}

/// Runs a child and kills it about `time` after it has opened the database, or after it began.
fn run_and_kill(directory: &Path, (waits, freezes): (bool, bool), time: Duration) {
    let ready = directory.join("ready");
    let _ = fs::remove_file(&ready);
    let mut command = Command::new(std::env::current_exe().unwrap());
    if freezes {
        command.env("NACRE_TEST_FREEZES", "1");
    }
    let mut child = command
        .args(["--exact", "transfers_of_a_child", "--test-threads=1"])
        .env("NACRE_TEST_CHILD", directory)
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let end = Instant::now() + Duration::from_secs(CHILD_SECONDS);
    while waits && !ready.exists() && Instant::now() < end {
        thread::sleep(Duration::from_millis(2));
    }
    thread::sleep(time);
    child.kill().unwrap();
    child.wait().unwrap();
}

/// Kills children; with `freezes` they freeze and truncate all the time.
fn kill_rounds(freezes: bool) {
    let directory = directory();
    let database = directory.path().join("db");
    let reopen = || if freezes { open_freezing(&database) } else { open_bank(&database) };
    {
        let store = reopen();
        let accounts = store.create_table(keyed("accounts")).unwrap();
        let clients = store.create_table(keyed("clients")).unwrap();
        let mut tx = begin(&store);
        for id in 0..ACCOUNTS {
            insert(&mut tx, &accounts, id, BALANCE);
        }
        for id in 0..CLIENTS {
            insert(&mut tx, &clients, id, 0);
        }
        tx.commit().unwrap();
        if freezes {
            store.set_archive(Some(&directory.path().join("archive"))).unwrap();
            store.backup(&directory.path().join("backup")).unwrap();
        }
    }
    let usual = if std::env::var_os("NACRE_TEST_FULL").is_some() { 200 } else { 20 };
    let rounds = std::env::var("NACRE_TEST_ROUNDS");
    let rounds = rounds.map_or(usual, |text| text.parse().unwrap());
    let mut total = 0;
    for round in 0..rounds {
        // Each fifth child is killed while it opens the database or a little later.
        let (waits, time) = (round % 5 != 4, Duration::from_micros(round * 7_919 % 60_000));
        run_and_kill(directory.path(), (waits, freezes), time);
        let store = reopen();
        let sum: i64 = contents(&store, "accounts").iter().map(|(_, balance)| balance).sum();
        assert_eq!(sum, ACCOUNTS * BALANCE, "round {round}");
        total = 0;
        for (client, count) in contents(&store, "clients") {
            let journal = fs::read(directory.path().join(format!("journal-{client}")));
            let journal = journal.ok().and_then(|bytes| bytes.first_chunk().copied());
            let acknowledged = journal.map_or(0, i64::from_le_bytes);
            let possible = acknowledged..=acknowledged + 1;
            assert!(possible.contains(&count), "round {round}: {count} of {acknowledged} commits");
            total += count;
        }
    }
    println!("{total} commits in {rounds} rounds, freezing: {freezes}");
    assert!(total > 0);
    if freezes {
        compare_with_archive(directory.path(), &reopen());
    }
}

/// What was killed time and again while it was archived is restored as it is.
fn compare_with_archive(directory: &Path, store: &Store) {
    store.archive().unwrap();
    let place = |name: &str| directory.join(name);
    let (backup, archive, into) = (place("backup"), place("archive"), place("restored"));
    let target = RestoreTarget::Latest;
    restore_with(&RestoreOptions { backup, archive, target, into }, &bank()).unwrap();
    let restored = open_bank(&place("restored"));
    for table in ["accounts", "clients"] {
        let sorted = |store| {
            let mut found = contents(store, table);
            found.sort_unstable();
            found
        };
        assert_eq!(sorted(&restored), sorted(store), "{table}");
    }
}

#[test]
fn kills_lose_nothing_acknowledged() {
    kill_rounds(false);
}

#[test]
fn kills_during_freezes_lose_nothing_acknowledged() {
    kill_rounds(true);
}

/// The log stays short however much is committed, and rows keep what they had.
#[test]
fn log_is_truncated_without_being_asked() {
    let directory = directory();
    let store = open_freezing(directory.path());
    let table = store.create_table(pairs("t")).unwrap();
    let mut ids = Vec::new();
    let mut tx = begin(&store);
    (0..100).for_each(|id| ids.push(insert(&mut tx, &table, id, 0)));
    tx.commit().unwrap();
    let log_bytes = || -> u64 {
        let files = fs::read_dir(directory.path()).unwrap().map(Result::unwrap);
        let logs = files.filter(|file| file.file_name().to_string_lossy().starts_with("redo-"));
        logs.map(|file| file.metadata().unwrap().len()).sum()
    };
    let mut most = 0;
    for round in 0..3_000_i64 {
        let mut tx = begin(&store);
        let at = round as usize * 7 % ids.len();
        ids[at] = tx.update(&table, ids[at], &[(1, ValueRef::Int(round))]).unwrap();
        tx.commit().unwrap();
        if store.has_work() {
            store.maintain_step().unwrap();
        }
        most = most.max(log_bytes());
    }
    // Segments of 80 KiB with their headers, each of two members; untruncated there would be 24.
    assert!(most < 1 << 20, "{most} bytes");
    let before = contents(&store, "t");
    drop((store, table));
    assert_eq!(contents(&open_freezing(directory.path()), "t"), before);
}
