//! Transactions on one table of a number and a text.

mod collection;
mod frozen;
mod model;
mod rules;
mod serializable;
mod threads;

use std::sync::Arc;

use nacre_column::{ColumnBuffer, ColumnType};

use crate::id::RowId;
use crate::mvcc::{IsolationLevel, Transaction};
use crate::schema::{ColumnDef, TableSchema};
use crate::store::{OpenOptions, Store};
use crate::table::Table;
use crate::value::{Value, ValueRef};

/// A volatile database with an empty table.
fn database() -> (Store, Arc<Table>) {
    let store = Store::open(OpenOptions::default()).unwrap();
    let column = |name: &str, column_type| ColumnDef {
        name: name.into(),
        column_type,
        is_nullable: true,
        replicas: None,
    };
    let schema = TableSchema {
        name: "t".into(),
        columns: vec![
            column("number", ColumnType::BigInt),
            column("text", ColumnType::Varchar { max_chars: None }),
        ],
        primary_key: None,
        primary_key_name: String::new(),
        replicas: None,
    };
    let table = store.create_table(schema).unwrap();
    (store, table)
}

fn begin(store: &Store) -> Transaction {
    store.begin(IsolationLevel::RepeatableRead)
}

fn insert(tx: &mut Transaction, table: &Arc<Table>, number: i64) -> RowId {
    let text = format!("text {number}");
    tx.insert(table, &[ValueRef::Int(number), ValueRef::Bytes(text.as_bytes())]).unwrap()
}

fn set(tx: &mut Transaction, table: &Arc<Table>, row: RowId, number: i64) -> crate::Result<RowId> {
    tx.update(table, row, &[(0, ValueRef::Int(number))])
}

/// Reads the number of a row.
fn number(tx: &mut Transaction, table: &Arc<Table>, row: RowId) -> Option<i64> {
    tx.read(table, row, &[0], |values| match values {
        [ValueRef::Int(number)] => *number,
        other => panic!("{other:?}"),
    })
    .unwrap()
}

/// Reads all rows by a scan.
fn all(tx: &mut Transaction, table: &Arc<Table>) -> Vec<(RowId, Vec<Value>)> {
    let mut rows = Vec::new();
    tx.scan(table, &[], &[0, 1], |row, values| {
        rows.push((row, values.iter().map(|value| value.to_value()).collect()));
    })
    .unwrap();
    rows
}

/// Loads one chunk of numbers without texts.
fn load(store: &Store, table: &Arc<Table>, numbers: impl IntoIterator<Item = i64>) {
    let mut buffers =
        vec![table.column_type(0), table.column_type(1)].into_iter().map(ColumnBuffer::new);
    let (mut first, mut second) = (buffers.next().unwrap(), buffers.next().unwrap());
    for number in numbers {
        first.push_int(number);
        second.push_null();
    }
    let load = store.begin_load(table).unwrap();
    load.append_chunk(0, &[first, second]).unwrap();
    load.commit().unwrap();
}

/// No version, stamp or commit is left over.
fn assert_clean(store: &Store) {
    assert_eq!(store.transactions(), []);
    assert_eq!(store.version_count(), 0);
    assert_eq!(store.all_transactions().stamps_in_use(), 0);
    assert_eq!(store.all_transactions().recent_count(), 0);
}
