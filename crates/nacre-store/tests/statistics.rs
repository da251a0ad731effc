//! Statistics of tables: kept with blocks, merged in memory, refreshed by ANALYZE.

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod support;

use std::fs;
use std::sync::Arc;

use nacre_column::{Bound, ColumnBuffer, ColumnType};
use nacre_store::{
    ColumnDef, ColumnEstimates, IsolationLevel, Store, Table, TableSchema, ValueRef,
};
use support::{load, maintain, open, pools, repair};

/// Columns: a key, one of 40 numbers, one of 5 strings or null, a float.
fn schema(name: &str) -> TableSchema {
    let column = |name: &str, column_type, is_nullable| ColumnDef {
        name: name.into(),
        column_type,
        is_nullable,
        replicas: None,
    };
    TableSchema {
        name: name.into(),
        columns: vec![
            column("k", ColumnType::BigInt, false),
            column("few", ColumnType::Integer, false),
            column("word", ColumnType::Varchar { max_chars: None }, true),
            column("ratio", ColumnType::Double, false),
        ],
        primary_key: Some(vec![0]),
        primary_key_name: format!("{name}_pkey"),
        replicas: None,
    }
}

fn word(key: i64) -> Option<String> {
    (key % 4 != 0).then(|| format!("word {}", key % 5))
}

fn rows(keys: impl IntoIterator<Item = i64>) -> Vec<ColumnBuffer> {
    let schema = schema("t");
    let mut columns: Vec<ColumnBuffer> =
        schema.columns.iter().map(|column| ColumnBuffer::new(column.column_type)).collect();
    for key in keys {
        columns[0].push_int(key);
        columns[1].push_int(key % 40);
        match word(key) {
            Some(word) => columns[2].push_bytes(word.as_bytes()),
            None => columns[2].push_null(),
        }
        columns[3].push_float64(key as f64 / 2.0);
    }
    columns
}

fn insert(store: &Store, table: &Arc<Table>, keys: impl IntoIterator<Item = i64>) {
    let mut transaction = store.begin(IsolationLevel::Serializable);
    for key in keys {
        let word = word(key);
        let word = word.as_ref().map_or(ValueRef::Null, |word| ValueRef::Bytes(word.as_bytes()));
        let few = ValueRef::Int(key % 40);
        let values = [ValueRef::Int(key), few, word, ValueRef::Float64(key as f64 / 2.0)];
        transaction.insert(table, &values).unwrap();
    }
    transaction.commit().unwrap();
}

fn estimates(table: &Arc<Table>) -> Vec<ColumnEstimates> {
    let statistics = table.committed().statistics();
    (0..table.schema().columns.len()).map(|column| statistics.column(column)).collect()
}

fn analyze(table: &Arc<Table>) {
    let columns: Vec<usize> = (0..table.schema().columns.len()).collect();
    table.committed().analyze(&columns).unwrap();
}

/// Checks the estimates of a table with the keys from 0 to `count`.
fn check(found: &[ColumnEstimates], count: i64) {
    let near = |found: Option<f64>, wanted: f64, error: f64| {
        let found = found.unwrap();
        assert!((found / wanted - 1.0).abs() <= error, "{found}, wanted {wanted}");
    };
    assert_eq!(found[0].bounds, Some((Bound::Int(0), Bound::Int(i128::from(count - 1)))));
    near(found[0].distinct, count as f64, 0.26);
    near(found[1].distinct, 40.0, 0.26);
    near(found[2].distinct, 5.0, 0.0);
    near(found[3].distinct, count as f64, 0.26);
    let greatest = (count - 1) as f64 / 2.0;
    assert_eq!(found[3].bounds, Some((Bound::Float(0.0), Bound::Float(greatest))));
    assert_eq!(found[2].bounds, None);
    near(found[2].null_fraction, 0.25, 0.01);
    assert_eq!(found[0].null_fraction, Some(0.0));
    near(found[2].string_bytes, 6.0, 0.0);
    assert!(found.iter().all(|one| one.rows == count as u64));
    assert!(found[2].quantiles.is_empty());
    for (column, scale) in [(0, 1.0), (3, 2.0)] {
        let quantiles = &found[column].quantiles;
        let parts = quantiles.len() as f64 - 1.0;
        for (part, value) in quantiles.iter().enumerate() {
            let wanted = part as f64 / parts * count as f64 / scale;
            let error = (value - wanted).abs() / count as f64 * scale;
            assert!(error < 0.06, "column {column}, part {part}: {value}, wanted {wanted}");
        }
    }
}

#[test]
fn statistics_of_loads_are_there_after_opening() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(directory.path());
    let table = store.create_table(schema("t")).unwrap();
    assert!(estimates(&table).iter().all(|one| *one == ColumnEstimates::default()), "no rows");
    load(&store, &table, &[rows(0..3_000), rows(3_000..4_500)]).unwrap();
    check(&estimates(&table), 4_500);
    // The same values again in another order: what is known is added to.
    load(&store, &table, &[rows((4_500..9_000).rev())]).unwrap();
    check(&estimates(&table), 9_000);
    let before = estimates(&table);
    drop(table);
    drop(store);
    let store = open(directory.path());
    let table = store.table("t").unwrap();
    check(&estimates(&table), 9_000);
    for (before, after) in before.iter().zip(estimates(&table)) {
        assert_eq!((before.distinct, before.bounds), (after.distinct, after.bounds));
    }
}

#[test]
fn older_snapshot_and_truncated_table_have_statistics() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(directory.path());
    let table = store.create_table(schema("t")).unwrap();
    load(&store, &table, &[rows(0..2_000)]).unwrap();
    let older = store.begin(IsolationLevel::RepeatableRead);
    let seen = older.table_snapshot(&table);
    check(&estimates(&table), 2_000);
    load(&store, &table, &[rows(2_000..4_000)]).unwrap();
    // Merged for the old list, then those that are kept of the new one.
    assert_eq!(seen.statistics().column(0).bounds, Some((Bound::Int(0), Bound::Int(1_999))));
    check(&estimates(&table), 4_000);
    assert_eq!(seen.statistics().column(0).rows, 4_000);
    drop(older);
    let session = store.for_session();
    let mut transaction = session.begin(IsolationLevel::ReadCommitted);
    transaction.truncate_tables(&[session.table("t").unwrap()]).unwrap();
    transaction.commit().unwrap();
    let table = store.table("t").unwrap();
    assert!(estimates(&table).iter().all(|one| *one == ColumnEstimates::default()));
}

#[test]
fn hot_rows_make_no_column_unknown() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(directory.path());
    let table = store.create_table(schema("t")).unwrap();
    load(&store, &table, &[rows(0..6_000)]).unwrap();
    insert(&store, &table, 6_000..7_000);
    // Bounds are widened at once; what is different among the new rows is guessed.
    let found = estimates(&table);
    assert_eq!(found[0].bounds, Some((Bound::Int(0), Bound::Int(6_999))));
    assert_eq!(found[3].bounds, Some((Bound::Float(0.0), Bound::Float(3_499.5))));
    assert_eq!(found[2].distinct, Some(5.0));
    let keys = found[0].distinct.unwrap();
    assert!((5_500.0..8_500.0).contains(&keys), "it grows with the rows: {keys}");
    assert_eq!(found[0].rows, 7_000);
    analyze(&table);
    check(&estimates(&table), 7_000);
    // Rows since then.
    insert(&store, &table, 7_000..8_000);
    let found = estimates(&table);
    assert_eq!(found[0].bounds, Some((Bound::Int(0), Bound::Int(7_999))));
    assert_eq!((found[0].rows, found[2].distinct), (8_000, Some(5.0)));
}

#[test]
fn table_of_hot_rows_has_statistics_once_it_is_analyzed() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(directory.path());
    let table = store.create_table(schema("t")).unwrap();
    insert(&store, &table, 0..2_000);
    let found = estimates(&table);
    assert!(found.iter().all(|one| one.distinct.is_none() && one.null_fraction.is_none()));
    assert_eq!(found[0].bounds, Some((Bound::Int(0), Bound::Int(1_999))));
    table.committed().analyze(&[2]).unwrap();
    let found = estimates(&table);
    assert!(found[0].distinct.is_none() && found[2].distinct == Some(5.0), "only what was asked");
    table.committed().analyze(&[0, 1, 3]).unwrap();
    check(&estimates(&table), 2_000);
    // Frozen, the rows have statistics of their own.
    for _ in 0..3 {
        store.checkpoint().unwrap();
        maintain(&store);
    }
    check(&estimates(&table), 2_000);
}

#[test]
fn rebuilt_replicas_keep_the_statistics() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(directory.path());
    let table = store.create_table(schema("t")).unwrap();
    load(&store, &table, &[rows(0..2_000)]).unwrap();
    let (table, store) = {
        drop((table, store));
        fs::remove_file(&pools(directory.path())[0]).unwrap();
        let store = open(directory.path());
        (store.table("t").unwrap(), store)
    };
    let before = pools(directory.path());
    assert!(repair(&store).is_whole());
    drop((table, store));
    // Of the load only what repair wrote is left.
    before.iter().for_each(|path| {
        let _ = fs::remove_file(path);
    });
    let store = open(directory.path());
    check(&estimates(&store.table("t").unwrap()), 2_000);
}
