//! Calls under the crash simulator: whatever a crash leaves, the tables hold what some number of
//! calls and other commits made of them, at least the acknowledged ones. `crash_support` says which
//! variables there are.

use std::collections::BTreeMap;

use nacre_pmem::Domain;
use nacre_pmem::sim::{Crash, Marks, Outcome};

use super::tests::{call, create_tables, procedures};
use crate::crash_support::{explore_share, lines, pages};
use crate::mvcc::IsolationLevel;
use crate::redo::RedoOptions;
use crate::store::{OpenOptions, Store};
use crate::value::{Value, ValueRef};

/// Segments of a few commits.
const REDO: RedoOptions = RedoOptions { segment_bytes: 1024, is_compressed: false };

const COMMITS: i64 = 8;

fn open(domains: &[Domain]) -> crate::Result<Store> {
    let procedures = procedures();
    let options = OpenOptions { redo: REDO, procedures, ..OpenOptions::default() };
    Store::open_in_with(domains[0].clone(), options)
}

fn create(domains: &[Domain]) -> Outcome {
    Ok(create_tables(&open(domains)?)?)
}

/// Commit `number`, a call unless it is divisible by 3.
fn commit(store: &Store, number: i64) -> Outcome {
    if number % 3 == 0 {
        let (mut tx, mut rows) = (store.begin(IsolationLevel::Serializable), BTreeMap::new());
        let table = tx.table("t")?;
        tx.scan(&table, &[], &[0], |row, values| {
            rows.insert(format!("{:?}", values[0]), row);
        })?;
        if let Some((_, row)) = rows.pop_first() {
            tx.update(&table, row, &[(2, ValueRef::Bytes(b"changed"))])?;
        }
        tx.insert(&table, &[ValueRef::Int(100 + number), ValueRef::Int(1), ValueRef::Null])?;
        tx.commit()?;
        return Ok(());
    }
    match number % 4 {
        0 => call(store, "sum", &[]),
        1 => call(store, "put", &[number, 1]),
        2 => call(store, "bump", &[0]),
        _ => call(store, "waver", &[number]),
    }?;
    Ok(())
}

/// Other work, after which the tables hold the same.
fn upkeep(store: &Store, number: i64) -> crate::Result<()> {
    match number {
        2 => store.freeze_only(),
        5 => store.checkpoint().map(|_| ()),
        _ => Ok(()),
    }
}

type State = Vec<Vec<Value>>;

fn rows(store: &Store) -> crate::Result<State> {
    let mut found = Vec::new();
    let mut tx = store.begin(IsolationLevel::RepeatableRead);
    for name in ["t", "h"] {
        let table = tx.table(name)?;
        tx.scan(&table, &[], &[0, 1, 2], |_, values| {
            found.push(values.iter().map(|value| value.to_value()).collect::<Vec<_>>());
        })?;
    }
    found.sort_by_cached_key(|row| format!("{row:?}"));
    Ok(found)
}

/// Returns what the tables hold after each number of commits.
fn states() -> Vec<State> {
    let options = OpenOptions { procedures: procedures(), ..OpenOptions::default() };
    let store = Store::open(options).unwrap();
    create_tables(&store).unwrap();
    let mut states = vec![rows(&store).unwrap()];
    for number in 0..=COMMITS {
        commit(&store, number).unwrap();
        states.push(rows(&store).unwrap());
    }
    states
}

fn check(crash: &Crash<'_>, states: &[State]) -> Outcome {
    let acknowledged = crash.marks().last().copied().unwrap_or(0) as usize;
    let store = open(crash.domains())?;
    crash.recovered();
    let found = rows(&store)?;
    let mut possible = acknowledged..=acknowledged + 1;
    let Some(count) = possible.find(|&count| states.get(count) == Some(&found)) else {
        return Err(format!("{found:?} after {acknowledged} commits").into());
    };
    if count + 1 < states.len() {
        commit(&store, count as i64)?;
        drop(store);
        let found = rows(&open(crash.domains())?)?;
        if found != states[count + 1] {
            return Err(format!("{found:?} after commit {count} went on").into());
        }
    }
    Ok(())
}

#[test]
fn acknowledged_calls_are_there_after_any_crash() {
    let states = states();
    for media in [lines(), pages()] {
        explore_share("calls of procedures", 60, |explorer, _| {
            let explored = explorer.media(&[media]).run(
                create,
                |domains: &[Domain], marks: &Marks<'_>| {
                    let store = open(domains)?;
                    for number in 0..COMMITS {
                        commit(&store, number)?;
                        marks.note(number as u64 + 1);
                        upkeep(&store, number)?;
                    }
                    Ok(())
                },
                |crash| check(crash, &states),
            );
            explored.unwrap_or_else(|violation| panic!("{violation}"))
        });
    }
}
