//! Commits, freezes and truncations under the crash simulator: whatever a crash leaves, the table
//! holds what some number of commits made of it, at least the acknowledged ones.

use std::sync::Arc;

use nacre_pmem::Domain;
use nacre_pmem::sim::{Crash, Marks, Outcome};

use super::tests::{insert, pairs, schema};
use crate::crash_support::{explore_share, lines, pages};
use crate::mvcc::IsolationLevel;
use crate::redo::RedoOptions;
use crate::store::{OpenOptions, Store};
use crate::table::Table;
use crate::value::{Value, ValueRef};

/// Segments of a few commits.
const REDO: RedoOptions = RedoOptions { segment_bytes: 1_024, is_compressed: false };

const COMMITS: i64 = 8;

fn open(domains: &[Domain]) -> crate::Result<Store> {
    Store::open_in(domains[0].clone(), REDO)
}

fn create(domains: &[Domain]) -> Outcome {
    open(domains)?.create_table(schema())?;
    Ok(())
}

/// Commit `number`: two new rows, another value in the oldest one, and each second time the newest
/// but one is deleted.
fn commit(store: &Store, table: &Arc<Table>, number: i64) -> Outcome {
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

fn rows(store: &Store, table: &Arc<Table>) -> Vec<(Value, Value)> {
    pairs(&mut store.begin(IsolationLevel::RepeatableRead), table)
}

/// Returns what the table holds after each number of commits.
fn states() -> Vec<Vec<(Value, Value)>> {
    let store = Store::open(OpenOptions::default()).unwrap();
    let table = store.create_table(schema()).unwrap();
    let mut states = vec![rows(&store, &table)];
    for number in 0..=COMMITS {
        commit(&store, &table, number).unwrap();
        states.push(rows(&store, &table));
    }
    states
}

fn check(crash: &Crash<'_>, states: &[Vec<(Value, Value)>]) -> Outcome {
    let acknowledged = crash.marks().last().copied().unwrap_or(0) as usize;
    let store = open(crash.domains())?;
    crash.recovered();
    let table = store.table("t")?;
    let found = rows(&store, &table);
    let mut possible = acknowledged..=acknowledged + 1;
    let Some(count) = possible.find(|&count| states.get(count) == Some(&found)) else {
        return Err(format!("{found:?} after {acknowledged} commits").into());
    };
    if count + 1 < states.len() {
        commit(&store, &table, count as i64)?;
        store.checkpoint()?;
        drop((store, table));
        let store = open(crash.domains())?;
        let found = rows(&store, &store.table("t")?);
        if found != states[count + 1] {
            return Err(format!("{found:?} after commit {count} went on").into());
        }
    }
    Ok(())
}

/// Commits; between two of them the table is frozen, or only the log is truncated since a reader
/// needs what was.
fn work(domains: &[Domain], marks: &Marks<'_>) -> Outcome {
    let store = open(domains)?;
    let table = store.table("t")?;
    for number in 0..COMMITS {
        let reader = (number % 3 == 2).then(|| store.begin(IsolationLevel::RepeatableRead));
        commit(&store, &table, number)?;
        marks.note(number as u64 + 1);
        if number % 2 == 0 {
            store.checkpoint()?;
        }
        drop(reader);
    }
    Ok(())
}

#[test]
fn acknowledged_commits_are_there_whatever_was_frozen() {
    let states = states();
    for media in [lines(), pages()] {
        explore_share("freezes of a database", 100, |explorer, _| {
            let explored =
                explorer.media(&[media]).run(create, work, |crash| check(crash, &states));
            explored.unwrap_or_else(|violation| panic!("{violation}"))
        });
    }
}
