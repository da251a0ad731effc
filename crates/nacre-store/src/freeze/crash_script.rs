//! Commits whose outcome is known, for tests under the crash simulator.

use std::sync::Arc;

use nacre_pmem::sim::Outcome;

pub(crate) use super::tests::schema;
use super::tests::{insert, pairs};
use crate::mvcc::IsolationLevel;
use crate::store::{OpenOptions, Store};
use crate::table::Table;
use crate::value::{Value, ValueRef};

/// Commit `number`: two new rows, another value in the oldest one, and each second time the newest
/// but one is deleted.
pub(crate) fn commit(store: &Store, table: &Arc<Table>, number: i64) -> Outcome {
    let mut tx = store.begin(IsolationLevel::RepeatableRead);
    let mut rows = Vec::new();
    tx.scan(table, &[], &[0], |row, values| rows.push((values[0].to_value(), row)))?;
    rows.sort_by_key(|(key, _)| format!("{key:?}"));
    insert(&mut tx, table, 100 + 2 * number, number);
    insert(&mut tx, table, 101 + 2 * number, number);
    if let Some((_, first)) = rows.first() {
        tx.update(table, *first, &[(1, ValueRef::Int(-number))])?;
    }
    if number % 2 == 1
        && let Some((_, last)) = rows.get(1..).and_then(|rows| rows.last())
    {
        tx.delete(table, *last)?;
    }
    tx.commit()?;
    Ok(())
}

pub(crate) fn rows(store: &Store, table: &Arc<Table>) -> Vec<(Value, Value)> {
    pairs(&mut store.begin(IsolationLevel::RepeatableRead), table)
}

/// Returns what the table holds after each number of commits.
pub(crate) fn states(commits: i64) -> Vec<Vec<(Value, Value)>> {
    let store = Store::open(OpenOptions::default()).unwrap();
    let table = store.create_table(schema()).unwrap();
    let mut states = vec![rows(&store, &table)];
    for number in 0..=commits {
        commit(&store, &table, number).unwrap();
        states.push(rows(&store, &table));
    }
    states
}
