//! Transactions that define tables under the crash simulator: whatever a crash leaves, tables and
//! rows are those of some number of commits, at least of the acknowledged ones.

use std::collections::BTreeMap;
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
use crate::value::ValueRef;

const REDO: RedoOptions = RedoOptions { segment_bytes: 1024, is_compressed: false };

/// Tables by name, each with its rows.
type State = BTreeMap<String, Vec<i64>>;

fn open(domains: &[Domain]) -> crate::Result<Store> {
    Ok(Store::open_in(domains[0].clone(), REDO)?.for_session())
}

fn schema(name: &str) -> TableSchema {
    let column = ColumnDef {
        name: "a".into(),
        column_type: ColumnType::BigInt,
        is_nullable: false,
        replicas: None,
    };
    TableSchema {
        name: name.into(),
        columns: vec![column],
        primary_key: Some(vec![0]),
        primary_key_name: format!("{name}_pkey"),
        replicas: None,
    }
}

/// The table that all transactions write.
fn create(domains: &[Domain]) -> Outcome {
    open(domains)?.create_table(schema("all"))?;
    Ok(())
}

/// Commit `number` makes a table with a row, puts a row into another one, and each second time
/// drops the table of the commit before.
fn commit(store: &Store, number: i64) -> Outcome {
    let mut tx = store.begin(IsolationLevel::Serializable);
    tx.define()?;
    let table = store.create_table(schema(&format!("t{number}")))?;
    tx.insert(&table, &[ValueRef::Int(number)])?;
    tx.insert(&store.table("all")?, &[ValueRef::Int(number)])?;
    if number % 2 == 1 {
        store.drop_table(&format!("t{}", number - 1))?;
    }
    tx.commit()?;
    Ok(())
}

fn state(store: &Store) -> crate::Result<State> {
    let mut found = State::new();
    let mut tx = store.begin(IsolationLevel::RepeatableRead);
    for table in store.tables() {
        let mut rows = Vec::new();
        tx.scan(&table, &[], &[0], |_, values| {
            rows.extend(values.iter().map(|value| match value {
                ValueRef::Int(value) => *value,
                _ => -1,
            }));
        })?;
        found.insert(table.schema().name.clone(), rows);
    }
    Ok(found)
}

/// Returns what there is after each number of commits.
fn states(count: i64) -> Vec<State> {
    let store = Store::open(OpenOptions::default()).unwrap().for_session();
    store.create_table(schema("all")).unwrap();
    let mut states = vec![state(&store).unwrap()];
    for number in 0..count {
        commit(&store, number).unwrap();
        states.push(state(&store).unwrap());
    }
    states
}

fn check(crash: &Crash<'_>, states: &[State]) -> Outcome {
    let acknowledged = crash.marks().last().copied().unwrap_or(0) as usize;
    let store = open(crash.domains())?;
    crash.recovered();
    let found = state(&store)?;
    let possible = acknowledged..=acknowledged + 1;
    let Some(count) = possible.clone().find(|&count| states.get(count) == Some(&found)) else {
        return Err(format!("{found:?} after {acknowledged} commits").into());
    };
    if count + 1 < states.len() {
        commit(&store, count as i64)?;
        drop(store);
        let found = state(&open(crash.domains())?)?;
        if found != states[count + 1] {
            return Err(format!("{found:?} after commit {count} went on").into());
        }
    }
    Ok(())
}

#[test]
fn tables_and_rows_of_a_commit_are_there_together_after_any_crash() {
    const COMMITS: i64 = 5;
    let states = states(COMMITS + 1);
    for media in [lines(), pages()] {
        explore_share("definitions of a transaction", 100, |explorer, _| {
            let explored = explorer.media(&[media]).run(
                create,
                |domains: &[Domain], marks: &Marks<'_>| {
                    let store = open(domains)?;
                    for number in 0..COMMITS {
                        commit(&store, number)?;
                        marks.note(number as u64 + 1);
                    }
                    Ok(())
                },
                |crash| check(crash, &states),
            );
            explored.unwrap_or_else(|violation| panic!("{violation}"))
        });
    }
}

/// A record that cannot be written leaves the group of the transaction in the log, where it must
/// not count: neither now nor after a restart, nor for the next transaction.
#[test]
fn group_without_its_record_never_counts() {
    let directory = tempfile::tempdir().unwrap();
    let options =
        || OpenOptions { directory: Some(directory.path().join("db")), ..OpenOptions::default() };
    let store = Store::open(options()).unwrap().for_session();
    let all: Arc<Table> = store.create_table(schema("all")).unwrap();
    let mut tx = store.begin(IsolationLevel::Serializable);
    tx.insert(&all, &[ValueRef::Int(1)]).unwrap();
    tx.commit().unwrap();
    let log = store.redo_log().unwrap().unwrap();
    let mut lost = crate::redo::RedoBuffer::default();
    lost.insert(all.id(), crate::id::RowId::hot(0, 1), &[ValueRef::Int(2)]);
    lost.mark_definitions();
    let order = |ts| {
        log.append(ts, &lost)?;
        Err(crate::Error::ReadOnly)
    };
    let refused = store.all_transactions().commit(None, order, |()| Ok(()));
    assert!(refused.is_err());
    let mut tx = store.begin(IsolationLevel::Serializable);
    tx.insert(&all, &[ValueRef::Int(3)]).unwrap();
    tx.commit().unwrap();
    let expected = State::from([("all".to_owned(), vec![1, 3])]);
    assert_eq!(state(&store).unwrap(), expected);
    drop((store, all));
    let store = Store::open(options()).unwrap();
    assert_eq!(state(&store).unwrap(), expected);
}
