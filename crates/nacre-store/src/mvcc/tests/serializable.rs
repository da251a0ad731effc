//! What SERIALIZABLE refuses and what it lets pass.

use nacre_column::{CompareOp, Constant, Restriction};

use super::*;
use crate::error::ErrorKind;

fn serializable(store: &Store) -> Transaction {
    store.begin(IsolationLevel::Serializable)
}

/// Adds up the numbers from `low` on.
fn sum_from(tx: &mut Transaction, table: &Arc<Table>, low: i64) -> i64 {
    let from = Restriction::Compare { op: CompareOp::Ge, value: Constant::Int(low.into()) };
    let mut sum = 0;
    tx.scan(table, &[(0, from)], &[0], |_, values| {
        if let ValueRef::Int(number) = values[0] {
            sum += number;
        }
    })
    .unwrap();
    sum
}

#[track_caller]
fn assert_refused(tx: Transaction) {
    let error = tx.commit().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::SerializationConflict, "{error}");
    assert!(error.to_string().contains("\"t\""), "{error}");
}

#[test]
fn write_skew_is_refused_by_serializable_only() {
    for level in [IsolationLevel::Serializable, IsolationLevel::RepeatableRead] {
        let (store, table) = database();
        let mut tx = begin(&store);
        let rows = [insert(&mut tx, &table, 50), insert(&mut tx, &table, 50)];
        tx.commit().unwrap();
        let mut both: Vec<Transaction> = rows
            .iter()
            .map(|row| {
                let mut tx = store.begin(level);
                let sum: i64 = rows.iter().filter_map(|row| number(&mut tx, &table, *row)).sum();
                set(&mut tx, &table, *row, 50 - sum).unwrap();
                tx
            })
            .collect();
        let second = both.pop().unwrap();
        both.pop().unwrap().commit().unwrap();
        match level {
            IsolationLevel::Serializable => assert_refused(second),
            _ => assert!(second.commit().is_ok()),
        }
        assert_clean(&store);
    }
}

#[test]
fn phantoms_are_refused() {
    let (store, table) = database();
    for write in [5, 20] {
        let mut tx = serializable(&store);
        sum_from(&mut tx, &table, 10);
        let mut other = begin(&store);
        insert(&mut other, &table, write);
        other.commit().unwrap();
        insert(&mut tx, &table, 1);
        match write {
            20 => assert_refused(tx),
            _ => assert!(tx.commit().is_ok(), "a row that was not asked for is no conflict"),
        }
    }
    assert_clean(&store);
}

#[test]
fn before_and_after_images_and_deletes_count() {
    let (store, table) = database();
    let mut tx = begin(&store);
    let row = insert(&mut tx, &table, 20);
    tx.commit().unwrap();
    // Out of the range that was read, back into it, and gone.
    for change in [Some(5), Some(15), None] {
        let mut tx = serializable(&store);
        sum_from(&mut tx, &table, 10);
        let mut other = begin(&store);
        match change {
            Some(number) => set(&mut other, &table, row, number).map(|_| ()).unwrap(),
            None => other.delete(&table, row).unwrap(),
        }
        other.commit().unwrap();
        insert(&mut tx, &table, 1);
        assert_refused(tx);
    }
    assert_clean(&store);
}

#[test]
fn columns_that_were_not_read_may_change() {
    let (store, table) = database();
    let mut tx = begin(&store);
    let row = insert(&mut tx, &table, 20);
    tx.commit().unwrap();
    let mut tx = serializable(&store);
    assert_eq!(sum_from(&mut tx, &table, 10), 20);
    assert_eq!(number(&mut tx, &table, row), Some(20));
    let mut other = begin(&store);
    other.update(&table, row, &[(1, ValueRef::Bytes(b"other"))]).unwrap();
    other.commit().unwrap();
    insert(&mut tx, &table, 1);
    tx.commit().unwrap();
    assert_clean(&store);
}

#[test]
fn reader_without_writes_is_never_refused() {
    let (store, table) = database();
    let mut tx = serializable(&store);
    assert_eq!(sum_from(&mut tx, &table, 0), 0);
    let mut other = begin(&store);
    insert(&mut other, &table, 20);
    other.commit().unwrap();
    let start = tx.snapshot().start();
    assert_eq!(tx.commit().unwrap(), start);
}

#[test]
fn absence_that_was_seen_is_a_read() {
    let (store, table) = database();
    let mut other = begin(&store);
    let row = insert(&mut other, &table, 1);
    let mut tx = serializable(&store);
    assert_eq!(number(&mut tx, &table, row), None);
    other.commit().unwrap();
    insert(&mut tx, &table, 2);
    assert_refused(tx);
    assert_clean(&store);
}

#[test]
fn loads_and_deletes_of_their_rows_count() {
    let (store, table) = database();
    let mut tx = serializable(&store);
    sum_from(&mut tx, &table, 0);
    load(&store, &table, 0..10);
    insert(&mut tx, &table, 1);
    assert_refused(tx);
    let rows = all(&mut begin(&store), &table);
    for (deleted, is_read) in [(9, true), (3, false)] {
        let mut tx = serializable(&store);
        sum_from(&mut tx, &table, 8);
        let mut other = begin(&store);
        other.delete(&table, rows[deleted].0).unwrap();
        other.commit().unwrap();
        insert(&mut tx, &table, 1);
        match is_read {
            true => assert_refused(tx),
            false => assert!(tx.commit().is_ok()),
        }
    }
    assert_clean(&store);
}
