//! Commits under the crash simulator: whatever a crash leaves, the tables hold what some number of
//! commits made of them, at least the acknowledged ones, with one thread and with workers.
//! `crash_support` says which variables there are.

use std::num::NonZeroUsize;
use std::sync::Arc;

use nacre_column::ColumnType;
use nacre_pmem::Domain;
use nacre_pmem::sim::{Crash, Marks, Outcome};

use crate::crash_support::{explore_share, lines, pages};
use crate::mvcc::IsolationLevel;
use crate::redo::RedoOptions;
use crate::schema::{ColumnDef, TableSchema};
use crate::store::{OpenOptions, Store};
use crate::table::Table;
use crate::value::{Value, ValueRef};

/// Segments of a few commits.
const REDO: RedoOptions = RedoOptions { segment_bytes: 1024, is_compressed: false };

fn open(domains: &[Domain]) -> crate::Result<Store> {
    open_by(domains, 1)
}

fn open_by(domains: &[Domain], workers: usize) -> crate::Result<Store> {
    let replay_threads = NonZeroUsize::new(workers);
    let options = OpenOptions { redo: REDO, replay_threads, ..OpenOptions::default() };
    Store::open_in_with(domains[0].clone(), options)
}

fn create(domains: &[Domain]) -> Outcome {
    create_table(&open(domains)?)?;
    Ok(())
}

fn create_table(store: &Store) -> crate::Result<Arc<Table>> {
    let column = |name: &str, column_type| ColumnDef {
        name: name.into(),
        column_type,
        is_nullable: true,
        replicas: None,
    };
    store.create_table(TableSchema {
        name: "t".into(),
        columns: vec![
            column("a", ColumnType::BigInt),
            column("b", ColumnType::Varchar { max_chars: None }),
        ],
        primary_key: None,
        primary_key_name: String::new(),
        replicas: None,
    })
}

fn rows(store: &Store, table: &Arc<Table>) -> crate::Result<Vec<Vec<Value>>> {
    let mut found = Vec::new();
    let mut tx = store.begin(IsolationLevel::RepeatableRead);
    tx.scan(table, &[], &[0, 1], |_, values| {
        found.push(values.iter().map(|value| value.to_value()).collect());
    })?;
    Ok(found)
}

/// Commit `number`: a new row, another value in the first one, and each third time the newest row
/// but one is deleted.
fn commit(store: &Store, table: &Arc<Table>, number: i64) -> Outcome {
    let mut ids = Vec::new();
    let mut tx = store.begin(IsolationLevel::Serializable);
    tx.scan(table, &[], &[0], |row, _| ids.push(row))?;
    let text = vec![b'x'; (number as usize * 37) % 150];
    tx.insert(table, &[ValueRef::Int(number), ValueRef::Bytes(&text)])?;
    if let Some(first) = ids.first() {
        tx.update(table, *first, &[(0, ValueRef::Int(-number)), (1, ValueRef::Null)])?;
    }
    if number % 3 == 2
        && let Some(last) = ids.get(1..).and_then(|ids| ids.last())
    {
        tx.delete(table, *last)?;
    }
    tx.commit()?;
    Ok(())
}

/// Returns what the table holds after each number of commits.
fn states(count: i64) -> Vec<Vec<Vec<Value>>> {
    let store = Store::open(OpenOptions::default()).unwrap();
    let table = create_table(&store).unwrap();
    let mut states = vec![rows(&store, &table).unwrap()];
    for number in 0..count {
        commit(&store, &table, number).unwrap();
        states.push(rows(&store, &table).unwrap());
    }
    states
}

fn check(crash: &Crash<'_>, states: &[Vec<Vec<Value>>], workers: usize) -> Outcome {
    let acknowledged = crash.marks().last().copied().unwrap_or(0) as usize;
    let store = open_by(crash.domains(), workers)?;
    crash.recovered();
    let table = store.table("t")?;
    let found = rows(&store, &table)?;
    let possible = acknowledged..=acknowledged + 1;
    let Some(count) = possible.clone().find(|&count| states.get(count) == Some(&found)) else {
        return Err(format!("{found:?} after {acknowledged} commits").into());
    };
    if count + 1 < states.len() {
        commit(&store, &table, count as i64)?;
        drop((store, table));
        let store = open_by(crash.domains(), workers)?;
        let found = rows(&store, &store.table("t")?)?;
        if found != states[count + 1] {
            return Err(format!("{found:?} after commit {count} went on").into());
        }
    }
    Ok(())
}

#[test]
fn acknowledged_commits_are_there_after_any_crash() {
    const COMMITS: i64 = 7;
    let states = states(COMMITS + 1);
    for (media, workers) in [(lines(), 1), (pages(), 1), (lines(), 3), (pages(), 3)] {
        explore_share("commits of a database", 150, |explorer, _| {
            let explored = explorer.media(&[media]).run(
                create,
                |domains: &[Domain], marks: &Marks<'_>| {
                    let store = open(domains)?;
                    let table = store.table("t")?;
                    for number in 0..COMMITS {
                        commit(&store, &table, number)?;
                        marks.note(number as u64 + 1);
                    }
                    Ok(())
                },
                |crash| check(crash, &states, workers),
            );
            explored.unwrap_or_else(|violation| panic!("{violation}"))
        });
    }
}
