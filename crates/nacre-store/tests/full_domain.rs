//! A domain that fills up during loads, repair and commits.

#![allow(clippy::unwrap_used, clippy::expect_used)]

#[path = "../../nacre-pmem/tests/support/mod.rs"]
mod mounts;
mod support;

use mounts::Mount;
use nacre_column::{ColumnBuffer, ColumnType};
use nacre_pmem::{Access, Domain};
use nacre_store::{
    CallEffects, CommitTs, DatabaseId, ErrorKind, IsolationLevel, OpenOptions, RedoBuffer, RedoLog,
    RedoOptions, RedoRecord, Store, ValueRef,
};
use support::{inner, load, maintain, open_with, pools, repair, schema, scrub};

/// Rows that take 16 bytes each, however they are packed.
fn bulky(keys: std::ops::Range<i64>) -> Vec<ColumnBuffer> {
    let mut key = ColumnBuffer::new(ColumnType::BigInt);
    let mut value = ColumnBuffer::new(ColumnType::Varchar { max_chars: None });
    for k in keys {
        key.push_int(k);
        let noise = (k as u128 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835);
        value.push_bytes(format!("{noise:032x}").as_bytes());
    }
    vec![key, value]
}

fn rows_of(store: &Store) -> u64 {
    store.table("t").unwrap().snapshot().rows()
}

#[test]
fn load_goes_on_without_a_full_domain_and_repair_says_that_it_is_full() {
    let Some(mount) = Mount::tmpfs("size=1m") else {
        return;
    };
    let directory = tempfile::tempdir().unwrap();
    let main = directory.path().join("main");
    let store = open_with(&main, &[("small", mount.path())]);
    let table = store.create_table(schema("t", "plain, plain@small")).unwrap();
    load(&store, &table, &[bulky(0..60_000)]).unwrap();
    assert_eq!(rows_of(&store), 60_000);
    assert!(store.notes().iter().any(|note| note.contains("memory domain \"small\"")));
    let before = pools(&inner(mount.path()));
    for _ in 0..2 {
        let report = repair(&store);
        let [(name, error)] = &report.failures[..] else {
            panic!("{report:?}");
        };
        assert_eq!((name.as_str(), error.kind()), ("t", ErrorKind::NoSpace), "{error}");
        assert!(!report.is_whole());
        assert_eq!(store.maintain_step().unwrap_err().kind(), ErrorKind::NoSpace);
        assert_eq!(pools(&inner(mount.path())), before, "nothing is half changed");
    }
    assert!(store.has_work());
    // The other domain is not affected.
    assert!(scrub(&store).lost.iter().all(|lost| lost.has_source));
    let alone = store.create_table(schema("alone", "plain@small")).unwrap();
    let error = load(&store, &alone, &[bulky(0..60_000)]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NoSpace, "no replica would be left");
    mount.remount("size=64m");
    assert!(repair(&store).is_whole());
    maintain(&store);
    assert!(scrub(&store).is_whole());
}

/// Returns the records of every commit in a log, each as the number that it was made of.
fn replayed(log: &RedoLog) -> Vec<i64> {
    let mut found = Vec::new();
    log.replay(&mut |_, record| {
        if let RedoRecord::Call { arguments: [ValueRef::Int(number), _], .. } = record {
            found.push(*number);
        }
        Ok(())
    })
    .unwrap();
    found
}

#[test]
fn commit_that_finds_no_space_leaves_the_log_as_it_was() {
    let Some(mount) = Mount::tmpfs("size=1m") else {
        return;
    };
    let domains = [Domain::create("main", mount.path()).unwrap()];
    let (id, options) = (
        DatabaseId::from_bytes([1; 16]),
        RedoOptions { segment_bytes: 128 << 10, ..Default::default() },
    );
    let log = RedoLog::create(&domains, id, options).unwrap();
    let text = vec![b'x'; 10_000];
    let (mut committed, mut failures) = (Vec::new(), 0);
    let commit = |number: i64| {
        let mut records = RedoBuffer::default();
        let arguments = [ValueRef::Int(number), ValueRef::Bytes(&text)];
        records.call("change", &arguments, CallEffects::default());
        log.append(CommitTs(number as u64 + 1), &records).and_then(|lsn| log.persist(lsn))
    };
    for number in 0..100 {
        if number == 95 {
            mount.remount("size=64m");
        }
        match commit(number) {
            Ok(()) => committed.push(number),
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::NoSpace, "{error}");
                failures += 1;
            }
        }
    }
    assert!(failures > 10 && committed.len() > 10 && committed.ends_with(&[98, 99]));
    drop(log);
    let log = RedoLog::open(&domains, Access::ReadWrite, id, 1, options).unwrap();
    assert_eq!(replayed(&log), committed);
}

/// The full domain's table was looked at first, and nothing behind it was repaired.
#[test]
fn full_domain_does_not_keep_other_tables_from_being_repaired() {
    let Some(mount) = Mount::tmpfs("size=1m") else {
        return;
    };
    let directory = tempfile::tempdir().unwrap();
    let (main, other) = (directory.path().join("main"), directory.path().join("other"));
    let store = open_with(&main, &[("other", &other), ("small", mount.path())]);
    let names = ["a", "b", "c"];
    for name in names {
        let policy = if name == "b" { "plain@other, plain@main" } else { "plain, plain@small" };
        let table = store.create_table(schema(name, policy)).unwrap();
        load(&store, &table, &[bulky(0..60_000)]).unwrap();
    }
    let lose = || pools(&inner(&other)).iter().for_each(|path| std::fs::remove_file(path).unwrap());
    lose();
    let report = repair(&store);
    let failed: Vec<&str> = report.failures.iter().map(|(table, _)| table.as_str()).collect();
    assert_eq!((failed, report.blocks), (vec!["a", "c"], 2), "{report:?}");
    assert!(report.lost.iter().all(|lost| lost.table.as_deref() != Some("b")), "{report:?}");
    // Also in the background.
    lose();
    assert!(!scrub(&store).is_whole());
    assert!(store.maintain_step().unwrap().done_bytes > 0);
    assert_eq!(pools(&inner(&other)).len(), 1);
    assert_eq!(store.maintain_step().unwrap_err().kind(), ErrorKind::NoSpace);
}

/// Rows of the table, which must be those of whole commits.
fn committed(store: &Store) -> Vec<i64> {
    let (table, mut found) = (store.table("t").unwrap(), Vec::new());
    let mut tx = store.begin(IsolationLevel::RepeatableRead);
    tx.scan(&table, &[], &[0], |_, values| {
        if let ValueRef::Int(key) = values[0] {
            found.push(key);
        }
    })
    .unwrap();
    found.sort_unstable();
    found
}

/// Inserts rows that do not compress, and commits.
fn commit(store: &Store, number: i64) -> nacre_store::Result<CommitTs> {
    let table = store.table("t").unwrap();
    let mut tx = store.begin(IsolationLevel::Serializable);
    for key in number * 100..number * 100 + 100 {
        let noise = (key as u128 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835);
        let text = format!("{noise:032x}");
        tx.insert(&table, &[ValueRef::Int(key), ValueRef::Bytes(text.as_bytes())])?;
    }
    tx.commit()
}

/// Opens a database whose log has short segments and a checkpoint at each look.
fn open_short(mount: &Mount) -> Store {
    Store::open(OpenOptions {
        directory: Some(mount.path().join("db")),
        redo: RedoOptions { segment_bytes: 128 << 10, ..Default::default() },
        checkpoint_bytes: Some(0),
        ..OpenOptions::default()
    })
    .unwrap()
}

/// Leaves no byte free in a directory.
fn fill(path: &std::path::Path) {
    let mut file = std::fs::File::create(path).unwrap();
    for bytes in [1 << 16, 1 << 12, 1] {
        while std::io::Write::write_all(&mut file, &vec![0; bytes]).is_ok() {}
    }
}

#[test]
fn full_domain_rolls_back_commits_freezes_and_checkpoints() {
    let Some(mount) = Mount::tmpfs("size=4m") else {
        return;
    };
    let open = || open_short(&mount);
    let store = open();
    store.create_table(schema("t", "")).unwrap();
    let filler = mount.path().join("filler");
    let mut expected: Vec<i64> = Vec::new();
    let (mut number, mut failures) = (0, 0);
    for round in 0..4 {
        for _ in 0..20 {
            number += 1;
            match commit(&store, number) {
                Ok(_) => expected.extend(number * 100..number * 100 + 100),
                Err(error) => assert_eq!(error.kind(), ErrorKind::NoSpace, "{error}"),
            }
        }
        fill(&filler);
        let error = store.checkpoint().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NoSpace, "round {round}: {error}");
        assert_eq!(committed(&store), expected, "round {round}");
        // The log has room for some more at most.
        for _ in 0..60 {
            number += 1;
            match commit(&store, number) {
                Ok(_) => expected.extend(number * 100..number * 100 + 100),
                Err(error) => {
                    assert_eq!(error.kind(), ErrorKind::NoSpace, "{error}");
                    failures += 1;
                }
            }
        }
        assert_eq!(committed(&store), expected, "round {round}");
        std::fs::remove_file(&filler).unwrap();
        commit(&store, number + 1).unwrap();
        number += 1;
        expected.extend(number * 100..number * 100 + 100);
        if round % 2 == 1 {
            store.checkpoint().unwrap();
        }
    }
    assert!(failures > 40, "{failures}");
    assert_eq!(committed(&store), expected);
    drop(store);
    let store = open();
    assert_eq!(committed(&store), expected);
    assert_eq!(store.notes(), [""; 0]);
}

#[test]
fn full_domain_leaves_rows_that_are_to_move_where_they_are() {
    let Some(mount) = Mount::tmpfs("size=12m") else {
        return;
    };
    let open = || open_short(&mount);
    let store = open();
    let table = store.create_table(schema("t", "")).unwrap();
    (0..200).for_each(|number| assert!(commit(&store, number).is_ok()));
    store.checkpoint().unwrap();
    let mut tx = store.begin(IsolationLevel::Serializable);
    let mut gone = Vec::new();
    let odd = |values: &[ValueRef<'_>]| matches!(values[0], ValueRef::Int(key) if key % 2 == 1);
    tx.scan(&table, &[], &[0], |row, values| gone.extend(odd(values).then_some(row))).unwrap();
    gone.iter().for_each(|row| tx.delete(&table, *row).unwrap());
    tx.commit().unwrap();
    store.checkpoint().unwrap();
    let expected: Vec<i64> = (0..20_000).step_by(2).collect();
    let (filler, mut failures) = (mount.path().join("filler"), 0);
    fill(&filler);
    for _ in 0..3 {
        while store.has_work() {
            if let Err(error) = store.maintain_step() {
                assert_eq!(error.kind(), ErrorKind::NoSpace, "{error}");
                failures += 1;
                break;
            }
        }
        assert!(committed(&store) == expected);
        assert_eq!(table.snapshot().rows(), 20_000, "the load is there");
    }
    assert!(failures > 0);
    std::fs::remove_file(&filler).unwrap();
    store.checkpoint().unwrap();
    maintain(&store);
    assert!(table.snapshot().rows() < 10_000, "the load has gone: {}", table.snapshot().rows());
    assert!(committed(&store) == expected);
    drop((store, table));
    let store = open();
    assert!(committed(&store) == expected);
    assert_eq!(store.notes(), [""; 0]);
}

/// Commits numbers from `number` on until there is no space; returns the first failure.
fn commit_until_full(store: &Store, mut number: i64) -> (i64, nacre_store::Error) {
    loop {
        match commit(store, number) {
            Ok(_) => number += 1,
            Err(error) => return (number, error),
        }
    }
}

/// The log wanted to double, so that a third of the device had to be freed before anything could
/// be written, also after a restart.
#[test]
fn little_space_that_is_freed_brings_writes_back_at_once_and_after_a_restart() {
    let Some(mount) = Mount::tmpfs("size=24m") else {
        return;
    };
    let open = || {
        let directory = Some(mount.path().join("db"));
        Store::open(OpenOptions { directory, checkpoint_bytes: Some(0), ..Default::default() })
            .unwrap()
    };
    let store = open();
    store.create_table(schema("t", "")).unwrap();
    (0..600).for_each(|number| assert!(commit(&store, number).is_ok()));
    let filler = mount.path().join("filler");
    fill(&filler);
    let (mut number, error) = commit_until_full(&store, 600);
    assert_eq!(error.kind(), ErrorKind::NoSpace);
    let text = error.to_string();
    assert!(text.contains("bytes are wanted") && text.contains("redo-1."), "{text}");
    let nacre_store::Error::Pmem(error) = &error else { panic!("{error:?}") };
    let shortage = error.shortage().unwrap();
    assert!(shortage.wanted_bytes <= 512 << 10, "no more than needed: {shortage:?}");
    let free = |bytes: u64| {
        let file = std::fs::File::options().write(true).open(&filler).unwrap();
        file.set_len(file.metadata().unwrap().len() - bytes).unwrap();
    };
    free(1 << 20);
    let (after, _) = commit_until_full(&store, number);
    assert!(after - number > 50, "{} commits in 1 MiB", after - number);
    number = after;
    drop(store);
    let store = open();
    let rows = committed(&store);
    assert_eq!(rows.len() as i64, number * 100);
    free(1 << 20);
    let (after, _) = commit_until_full(&store, number);
    assert!(after - number > 50, "{} commits in 1 MiB after a restart", after - number);
    number = after;
    assert_eq!(committed(&store).len() as i64, number * 100);
    assert_eq!(store.notes(), [""; 0]);
}

#[test]
fn full_domain_takes_truncate_and_drop_and_then_a_checkpoint() {
    let Some(mount) = Mount::tmpfs("size=24m") else {
        return;
    };
    let open = || {
        let directory = Some(mount.path().join("db"));
        let options =
            OpenOptions { directory, checkpoint_bytes: Some(0), ..OpenOptions::default() };
        Store::open(options).unwrap().for_session()
    };
    let store = open();
    for name in ["t", "loaded", "dropped"] {
        let table = store.create_table(schema(name, "")).unwrap();
        if name != "t" {
            load(&store, &table, &[bulky(0..60_000), bulky(60_000..120_000)]).unwrap();
        }
    }
    (0..300).for_each(|number| assert!(commit(&store, number).is_ok()));
    fill(&mount.path().join("filler"));
    let (number, _) = commit_until_full(&store, 300);
    // Records that free nothing are refused before the reserve is used.
    let mut created = 0;
    let error = loop {
        match store.create_table(schema(&format!("more_{created}"), "")) {
            Ok(_) => created += 1,
            Err(error) => break error,
        }
        assert!(created < 10_000);
    };
    assert_eq!(error.kind(), ErrorKind::NoSpace, "{error}");
    assert!(store.checkpoint().is_err(), "rows that are hot have no place");
    let mut tx = store.begin(IsolationLevel::ReadCommitted);
    tx.truncate_tables(&[store.table("t").unwrap()]).unwrap();
    tx.commit().unwrap();
    assert_eq!(committed(&store), []);
    store.checkpoint().unwrap();
    let mut tx = store.begin(IsolationLevel::ReadCommitted);
    tx.truncate_tables(&[store.table("loaded").unwrap()]).unwrap();
    tx.commit().unwrap();
    store.drop_tables(&["dropped"], false).unwrap();
    (number..number + 20).for_each(|number| assert!(commit(&store, number).is_ok()));
    store.checkpoint().unwrap();
    drop(store);
    let store = open();
    assert_eq!(committed(&store).len(), 2_000);
    assert_eq!(rows_in(&store, "loaded"), 0);
    assert!(store.table("dropped").is_err());
    (number + 20..number + 40).for_each(|number| assert!(commit(&store, number).is_ok()));
    assert_eq!(store.notes(), [""; 0]);
}

fn rows_in(store: &Store, name: &str) -> u64 {
    store.table(name).unwrap().snapshot().rows()
}

/// Bytes of the files of the log.
fn log_bytes(directory: &std::path::Path) -> u64 {
    let entries = std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap());
    let logs = entries.filter(|entry| entry.file_name().to_str().unwrap().starts_with("redo-"));
    logs.map(|entry| entry.metadata().unwrap().len()).sum()
}

/// With checkpoints every 16 MiB the log stayed at 128 MiB, two files of 64 MiB.
#[test]
fn log_is_as_short_as_checkpoints_are_frequent() {
    const CHECKPOINT_BYTES: u64 = 4 << 20;
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("db");
    let open = |checkpoint_bytes| {
        let directory = Some(path.clone());
        Store::open(OpenOptions { directory, checkpoint_bytes, ..OpenOptions::default() }).unwrap()
    };
    let store = open(Some(0));
    store.create_table(schema("t", "")).unwrap();
    (0..2_500).for_each(|number| assert!(commit(&store, number).is_ok()));
    assert!(log_bytes(&path) > 16 << 20, "{} bytes", log_bytes(&path));
    drop(store);
    // What came before the setting goes, too.
    let store = open(Some(CHECKPOINT_BYTES));
    store.checkpoint().unwrap();
    assert!(log_bytes(&path) <= 2 * CHECKPOINT_BYTES, "{} bytes", log_bytes(&path));
    let mut largest = 0;
    for number in 2_500..5_000 {
        commit(&store, number).unwrap();
        while store.has_work() {
            store.maintain_step().unwrap();
        }
        largest = log_bytes(&path).max(largest);
    }
    store.checkpoint().unwrap();
    assert!(largest <= 6 * CHECKPOINT_BYTES, "{largest} bytes");
    assert!(log_bytes(&path) <= 2 * CHECKPOINT_BYTES, "{} bytes", log_bytes(&path));
    drop(store);
    assert_eq!(committed(&open(None)).len(), 500_000);
}
