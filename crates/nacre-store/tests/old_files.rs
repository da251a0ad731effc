//! Databases that older versions wrote open, answer, and follow the policies of today.
//!
//! `data/v2` was written by the last version that kept one replica: manifest version 2, one pool
//! of version 1 for each load, blocks of version 1; table `here` in the database directory, `there`
//! in the further domain `fast`, and `gone`, which was dropped.
//! `data/v5` was written by the last version whose directories have no statistics: manifest version
//! 5, parts of version 2; table `here`.

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod support;

use std::fs;
use std::path::Path;
use std::sync::Arc;

use nacre_column::{Bound, ByteValues, Flavour};
use nacre_store::{AccessHint, OpenOptions, ReplicaState, Store, Table};
use support::{copy_all, maintain, open_with, pools, scrub};

fn copy_of(version: &str) -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    let data = Path::new("tests/data").join(version);
    copy_all(&data, directory.path());
    directory
}

/// Checks every value of a table whose rows are made of the keys 0 to 59.
fn check(table: &Arc<Table>) {
    let mut key = 0_i64;
    for chunk in table.snapshot().chunks().unwrap() {
        let handles: Vec<_> =
            (0..6).map(|column| chunk.read(column, AccessHint::Sequential).unwrap()).collect();
        let blocks: Vec<_> = handles.iter().map(|handle| handle.block().unwrap()).collect();
        let mut ratios = Vec::new();
        let (flavour, rows) = (Flavour::active(), 0..chunk.rows());
        blocks[4].decode_f64(flavour, rows.clone(), &mut ratios).unwrap();
        let mut keys = Vec::new();
        blocks[0].decode_i64(flavour, rows.clone(), &mut keys).unwrap();
        let mut wides = Vec::new();
        blocks[3].decode_i128(flavour, rows.clone(), &mut wides).unwrap();
        let mut flags = Vec::new();
        blocks[5].decode_bool(flavour, rows.clone(), &mut flags).unwrap();
        let mut strings = [ByteValues::default(), ByteValues::default()];
        for (column, strings) in [1, 2].into_iter().zip(&mut strings) {
            blocks[column].decode_bytes(flavour, rows.clone(), strings).unwrap();
        }
        let is_null = |column: usize, row| blocks[column].is_null(row).unwrap();
        for row in 0..chunk.rows() {
            assert_eq!(keys[row], key);
            assert_eq!(is_null(1, row), key % 5 == 0, "key {key}");
            if key % 5 != 0 {
                assert_eq!(strings[0].get(row), format!("word {}", key % 3).as_bytes());
            }
            assert_eq!(strings[1].get(row), format!("text {key}").as_bytes());
            assert_eq!(is_null(3, row), key % 7 == 0, "key {key}");
            assert!(key % 7 == 0 || wides[row] == i128::from(key) << 70, "key {key}");
            assert!((ratios[row] - key as f64 / 4.0).abs() < f64::EPSILON);
            assert_eq!(is_null(5, row), key % 4 == 0, "key {key}");
            assert!(key % 4 == 0 || flags[row] == (key % 2 == 1), "key {key}");
            key += 1;
        }
    }
    assert_eq!(key, 60);
}

#[test]
fn database_with_one_replica_answers_unchanged() {
    let directory = copy_of("v2");
    let main = directory.path().join("main");
    let before = fs::read(main.join("manifest.0")).unwrap();
    let options = OpenOptions {
        directory: Some(main.clone()),
        domains: vec![("fast".into(), directory.path().join("fast"))],
        is_read_only: true,
        ..OpenOptions::default()
    };
    let store = Store::open(options).unwrap();
    let names: Vec<String> =
        store.tables().iter().map(|table| table.schema().name.clone()).collect();
    assert_eq!(names, ["here", "there"]);
    store.tables().iter().for_each(check);
    assert!(scrub(&store).lost.iter().all(|lost| lost.has_source), "second replicas are missing");
    drop(store);
    assert!(fs::read(main.join("manifest.0")).unwrap() == before);
}

/// Checks that nothing is known of what blocks keep no statistics of, before ANALYZE reads it and
/// after opening once more.
fn check_statistics(table: &Arc<Table>, is_analyzed: bool) {
    let statistics = table.committed().statistics();
    let bounds = Some((Bound::Int(0), Bound::Int(59)));
    assert_eq!((statistics.column(0).bounds, statistics.column(0).rows), (bounds, 60));
    let distinct = |column| statistics.column(column).distinct;
    match is_analyzed {
        false => assert!((0..6).all(|column| distinct(column).is_none())),
        true => {
            assert_eq!((distinct(1), distinct(5)), (Some(3.0), Some(2.0)));
            let keys = distinct(0).unwrap();
            assert!((44.0..76.0).contains(&keys), "{keys}");
        }
    }
}

#[test]
fn databases_without_statistics_answer_and_are_analyzed() {
    for version in ["v2", "v5"] {
        let directory = copy_of(version);
        let main = directory.path().join("main");
        let store = open_with(&main, &[]);
        let table = store.table("here").unwrap();
        check(&table);
        check_statistics(&table, false);
        table.committed().analyze(&[0, 1, 2, 3, 4, 5]).unwrap();
        check_statistics(&table, true);
        maintain(&store);
        check(&table);
        check_statistics(&table, true);
        drop((table, store));
        // What was written anew has none either: a rebuilt replica keeps what is known of a chunk.
        let store = open_with(&main, &[]);
        check(&store.table("here").unwrap());
        check_statistics(&store.table("here").unwrap(), false);
    }
}

#[test]
fn database_with_one_replica_gets_the_second_one() {
    let directory = copy_of("v2");
    let (main, fast) = (directory.path().join("main"), directory.path().join("fast"));
    let store = open_with(&main, &[("fast", &fast)]);
    store.tables().iter().for_each(check);
    assert_eq!(store.table("here").unwrap().schema().replicas, None);
    let there = store.table("there").unwrap().schema();
    assert_eq!(
        there.replicas.as_ref().unwrap().to_string(),
        "auto@fast",
        "one, as it was asked for"
    );
    maintain(&store);
    assert!(store.replicas().iter().all(|info| info.state == ReplicaState::Good));
    store.tables().iter().for_each(check);
    drop(store);
    // Either replica serves.
    pools(&main).iter().for_each(|path| fs::remove_file(path).unwrap());
    let store = open_with(&main, &[]);
    store.tables().iter().for_each(check);
    assert!(store.notes().is_empty(), "{:?}", store.notes());
    store.set_policy("there", None, None).unwrap();
    maintain(&store);
    assert!(scrub(&store).is_whole());
    store.tables().iter().for_each(check);
}
