//! What a transaction sees and what it may write.

use nacre_column::{CompareOp, Constant, Restriction};

use super::*;
use crate::error::{Error, ErrorKind};
use crate::mvcc::NOBODY;
use crate::mvcc::transactions::Change;

#[test]
fn reader_sees_before_image_until_it_begins_anew() {
    let (store, table) = database();
    let mut writer = begin(&store);
    let row = insert(&mut writer, &table, 1);
    let mut reader = begin(&store);
    assert_eq!(number(&mut reader, &table, row), None);
    writer.commit().unwrap();
    assert_eq!(number(&mut reader, &table, row), None);
    drop(reader);
    let mut reader = begin(&store);
    let mut writer = begin(&store);
    set(&mut writer, &table, row, 2).unwrap();
    assert_eq!(number(&mut writer, &table, row), Some(2));
    assert_eq!(number(&mut reader, &table, row), Some(1));
    writer.commit().unwrap();
    assert_eq!(number(&mut reader, &table, row), Some(1));
    let mut later = begin(&store);
    assert_eq!(number(&mut later, &table, row), Some(2));
    later.delete(&table, row).unwrap();
    assert_eq!(number(&mut later, &table, row), None);
    later.commit().unwrap();
    assert_eq!(number(&mut reader, &table, row), Some(1));
    assert_eq!(number(&mut begin(&store), &table, row), None);
    drop(reader);
    assert_clean(&store);
}

#[test]
fn texts_and_nulls_have_versions_too() {
    let (store, table) = database();
    let mut tx = begin(&store);
    let row = tx.insert(&table, &[ValueRef::Null, ValueRef::Bytes(b"old")]).unwrap();
    tx.commit().unwrap();
    let mut reader = begin(&store);
    let mut writer = begin(&store);
    let changes = [(1, ValueRef::Bytes(b"a longer text")), (0, ValueRef::Int(7))];
    writer.update(&table, row, &changes).unwrap();
    writer.update(&table, row, &[(1, ValueRef::Null)]).unwrap();
    let read = |tx: &mut Transaction| {
        let copy = |values: &[ValueRef<'_>]| values.iter().map(|v| v.to_value()).collect();
        tx.read(&table, row, &[1, 0], copy).unwrap()
    };
    let old: Option<Vec<Value>> = Some(vec![Value::Bytes(b"old".to_vec()), Value::Null]);
    assert_eq!(read(&mut reader), old);
    assert_eq!(read(&mut writer), Some(vec![Value::Null, Value::Int(7)]));
    writer.rollback();
    assert_eq!(read(&mut begin(&store)), old);
}

#[test]
fn first_updater_wins() {
    let (store, table) = database();
    let mut tx = begin(&store);
    let row = insert(&mut tx, &table, 1);
    tx.commit().unwrap();
    let (mut first, mut second) = (begin(&store), begin(&store));
    set(&mut first, &table, row, 2).unwrap();
    let error = set(&mut second, &table, row, 3).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::SerializationConflict);
    assert!(error.to_string().contains("\"t\"") && error.to_string().contains("not ended"));
    first.commit().unwrap();
    let error = second.delete(&table, row).unwrap_err();
    assert!(error.to_string().contains("committed since"), "{error}");
    // It can go on with other rows.
    insert(&mut second, &table, 9);
    second.commit().unwrap();
    assert_eq!(number(&mut begin(&store), &table, row), Some(2));
    assert_clean(&store);
}

#[test]
fn rows_that_are_gone_cannot_be_written() {
    let (store, table) = database();
    let mut tx = begin(&store);
    let row = insert(&mut tx, &table, 1);
    tx.delete(&table, row).unwrap();
    assert_eq!(set(&mut tx, &table, row, 2).unwrap_err().kind(), ErrorKind::UnknownRow);
    tx.commit().unwrap();
    let mut tx = begin(&store);
    for row in [row, RowId::hot(0, 5), RowId::hot(77, 0), RowId(3)] {
        assert_eq!(tx.delete(&table, row).unwrap_err().kind(), ErrorKind::UnknownRow);
        assert_eq!(set(&mut tx, &table, row, 2).unwrap_err().kind(), ErrorKind::UnknownRow);
        assert_eq!(number(&mut tx, &table, row), None);
    }
}

#[test]
fn savepoint_takes_back_what_came_after_it() {
    let (store, table) = database();
    let mut tx = begin(&store);
    let kept = insert(&mut tx, &table, 1);
    let savepoint = tx.savepoint();
    let gone = insert(&mut tx, &table, 2);
    set(&mut tx, &table, kept, 10).unwrap();
    set(&mut tx, &table, kept, 11).unwrap();
    tx.delete(&table, kept).unwrap();
    tx.rollback_to(savepoint);
    assert_eq!(number(&mut tx, &table, kept), Some(1));
    assert_eq!(number(&mut tx, &table, gone), None);
    tx.rollback_to(savepoint);
    tx.commit().unwrap();
    let rows = all(&mut begin(&store), &table);
    assert_eq!(rows.len(), 1);
    assert_clean(&store);
}

#[test]
fn read_committed_sees_commits_when_it_asks() {
    let (store, table) = database();
    let mut reader = store.begin(IsolationLevel::ReadCommitted);
    let mut fixed = begin(&store);
    let mut writer = begin(&store);
    let row = insert(&mut writer, &table, 1);
    writer.commit().unwrap();
    assert_eq!(number(&mut reader, &table, row), None);
    reader.refresh();
    fixed.refresh();
    assert_eq!(number(&mut reader, &table, row), Some(1));
    assert_eq!(number(&mut fixed, &table, row), None);
    set(&mut reader, &table, row, 5).unwrap();
    reader.refresh();
    assert_eq!(number(&mut reader, &table, row), Some(5));
    reader.commit().unwrap();
    drop(fixed);
    assert_clean(&store);
}

#[test]
fn values_that_do_not_fit_change_nothing() {
    let (store, table) = database();
    let mut tx = begin(&store);
    let row = insert(&mut tx, &table, 1);
    let wrong = ValueRef::Float64(1.0);
    assert!(tx.insert(&table, &[wrong, ValueRef::Null]).is_err());
    assert!(tx.insert(&table, &[ValueRef::Null]).is_err());
    assert!(tx.update(&table, row, &[(0, ValueRef::Int(2)), (1, wrong)]).is_err());
    assert!(tx.update(&table, row, &[(2, ValueRef::Null)]).is_err());
    assert!(tx.read(&table, row, &[2], |_| ()).is_err());
    assert_eq!(number(&mut tx, &table, row), Some(1));
    assert_eq!(all(&mut tx, &table).len(), 1);
}

#[test]
fn transaction_that_is_too_large_is_rolled_back() {
    let (store, table) = database();
    store.set_transaction_bytes_max(10_000);
    let mut tx = begin(&store);
    let failed = (0..1_000)
        .find_map(|number| tx.insert(&table, &[ValueRef::Int(number), ValueRef::Null]).err());
    assert_eq!(failed.map(|error| error.kind()), Some(ErrorKind::TransactionTooLarge));
    let error = tx.insert(&table, &[ValueRef::Null, ValueRef::Null]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TransactionEnded);
    assert_eq!(tx.commit().unwrap_err().kind(), ErrorKind::TransactionEnded);
    assert_eq!(all(&mut begin(&store), &table), []);
    assert_clean(&store);
}

#[test]
fn tables_of_others_and_dropped_ones_are_refused() {
    let (store, table) = database();
    let (_other_store, other_table) = database();
    let mut tx = begin(&store);
    let error = tx.insert(&other_table, &[ValueRef::Null, ValueRef::Null]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::UnknownTable);
    let row = insert(&mut tx, &table, 1);
    store.drop_table("t").unwrap();
    let error = set(&mut tx, &table, row, 2).unwrap_err();
    assert!(matches!(error, Error::DefinitionChanged { .. }), "{error}");
    assert!(matches!(tx.commit(), Err(Error::DefinitionChanged { .. })));
    assert_clean(&store);
}

#[test]
fn changes_of_a_database_that_is_read_only_are_refused() {
    let directory = tempfile::tempdir().unwrap();
    let path = Some(directory.path().join("db"));
    let (_volatile, like) = database();
    let open = |is_read_only| {
        let options = OpenOptions { directory: path.clone(), is_read_only, ..Default::default() };
        Store::open(options).unwrap()
    };
    let store = open(false);
    let table = store.create_table(TableSchema::clone(&like.schema())).unwrap();
    load(&store, &table, 0..3);
    let mut tx = begin(&store);
    let rows = all(&mut tx, &table);
    tx.commit().unwrap();
    drop((store, table));
    let store = open(true);
    let table = store.table("t").unwrap();
    let mut tx = begin(&store);
    assert_eq!(all(&mut tx, &table), rows);
    assert_eq!(tx.delete(&table, rows[0].0).unwrap_err().kind(), ErrorKind::ReadOnly);
}

#[test]
fn scan_applies_conditions() {
    let (store, table) = database();
    load(&store, &table, 0..10);
    let mut tx = begin(&store);
    (10..20).for_each(|number| {
        insert(&mut tx, &table, number);
    });
    let above = Restriction::Compare { op: CompareOp::Gt, value: Constant::Int(7) };
    let (mut numbers, mut texts) = (Vec::new(), 0);
    tx.scan(&table, &[(0, above), (1, Restriction::IsNull)], &[0], |_, values| {
        numbers.push(values[0].to_value());
    })
    .unwrap();
    assert_eq!(numbers, [Value::Int(8), Value::Int(9)]);
    tx.scan(&table, &[(1, Restriction::IsNotNull)], &[], |_, _| texts += 1).unwrap();
    assert_eq!(texts, 10);
    assert!(tx.scan(&table, &[], &[5], |_, _| {}).is_err());
}

#[test]
fn active_transactions_are_listed_oldest_first() {
    let (store, table) = database();
    let old = begin(&store);
    let mut writer = store.begin(IsolationLevel::Serializable);
    insert(&mut writer, &table, 1);
    writer.commit().unwrap();
    let new = store.begin(IsolationLevel::ReadCommitted);
    let list = store.transactions();
    let ids: Vec<_> = list.iter().map(|info| info.tx).collect();
    assert_eq!(ids, [old.snapshot().tx(), new.snapshot().tx()]);
    assert!(list[0].start < list[1].start && list[0].age >= list[1].age);
    assert_eq!(list[1].level, IsolationLevel::ReadCommitted);
}

#[test]
fn commit_that_is_not_durable_is_refused_whoever_made_it_visible() {
    let (store, _) = database();
    let transactions = store.all_transactions();
    let at_once = || {
        let order = |_| Ok((NOBODY, Change::Nothing, None));
        transactions.commit(None, order, |()| Ok(())).map(|_| ())
    };
    let order = |_| Ok((NOBODY, Change::Nothing, Some(())));
    let outcome = transactions.commit(None, order, |()| {
        at_once()?;
        Err(Error::RedoFailed { reason: "no device".into() })
    });
    assert!(matches!(outcome, Err(Error::RedoFailed { .. })), "{outcome:?}");
    at_once().unwrap();
}
