//! Rows of bulk loads.

use super::*;

#[test]
fn load_is_seen_by_those_who_begin_after_it() {
    let (store, table) = database();
    let mut before = begin(&store);
    load(&store, &table, 0..100);
    let mut after = begin(&store);
    assert_eq!(all(&mut before, &table), []);
    assert_eq!(before.table_snapshot(&table).rows(), 0);
    let rows = all(&mut after, &table);
    assert_eq!(rows.len(), 100);
    assert_eq!(number(&mut after, &table, rows[42].0), Some(42));
    assert_eq!(number(&mut before, &table, rows[42].0), None);
    assert!(before.delete(&table, rows[42].0).is_err());
}

#[test]
fn deleted_row_of_a_load_stays_for_older_snapshots() {
    let (store, table) = database();
    load(&store, &table, 0..100);
    let mut reader = begin(&store);
    let rows: Vec<RowId> = all(&mut reader, &table).into_iter().map(|(row, _)| row).collect();
    let mut writer = begin(&store);
    writer.delete(&table, rows[3]).unwrap();
    assert!(writer.delete(&table, rows[3]).is_err());
    assert!(begin(&store).delete(&table, rows[3]).is_err());
    assert_eq!(all(&mut writer, &table).len(), 99);
    assert_eq!(writer.table_snapshot(&table).rows(), 99);
    writer.commit().unwrap();
    assert_eq!(all(&mut reader, &table).len(), 100);
    assert_eq!(reader.table_snapshot(&table).rows(), 100);
    drop(reader);
    assert_clean(&store);
    let mut later = begin(&store);
    assert_eq!(number(&mut later, &table, rows[3]), None);
    assert_eq!(later.table_snapshot(&table).rows(), 99);
    let snapshot = later.table_snapshot(&table);
    let chunk = &snapshot.chunks().unwrap()[0];
    let bits = snapshot.deleted_rows(chunk, 0..10).unwrap();
    assert!((0..10).all(|row| bits.get(row) == (row == 3)));
    assert_eq!(snapshot.deleted_rows(chunk, 10..20), None);
    // Without regard to transactions nothing is deleted.
    assert_eq!(table.snapshot().rows(), 100);
}

#[test]
fn updated_row_of_a_load_moves_to_a_hot_chunk() {
    let (store, table) = database();
    load(&store, &table, 0..100);
    let mut tx = begin(&store);
    let row = all(&mut tx, &table)[7].0;
    let savepoint = tx.savepoint();
    assert!(set(&mut tx, &table, row, 700).unwrap().is_hot());
    tx.rollback_to(savepoint);
    assert_eq!(number(&mut tx, &table, row), Some(7));
    let moved = tx.update(&table, row, &[(1, ValueRef::Bytes(b"seven"))]).unwrap();
    assert_eq!(number(&mut tx, &table, moved), Some(7));
    assert_eq!(number(&mut tx, &table, row), None);
    let mut other = begin(&store);
    assert_eq!(number(&mut other, &table, row), Some(7));
    assert!(set(&mut other, &table, row, 1).is_err());
    tx.commit().unwrap();
    assert_eq!(all(&mut other, &table).len(), 100);
    let rows = all(&mut begin(&store), &table);
    assert_eq!(rows.len(), 100);
    assert_eq!(rows[99].1, [Value::Int(7), Value::Bytes(b"seven".to_vec())]);
}

#[test]
fn rolled_back_delete_can_be_made_by_another() {
    let (store, table) = database();
    load(&store, &table, 0..5);
    let mut tx = begin(&store);
    let row = all(&mut tx, &table)[0].0;
    tx.delete(&table, row).unwrap();
    tx.rollback();
    let mut tx = begin(&store);
    tx.delete(&table, row).unwrap();
    tx.commit().unwrap();
    assert_eq!(all(&mut begin(&store), &table).len(), 4);
    assert_clean(&store);
}
