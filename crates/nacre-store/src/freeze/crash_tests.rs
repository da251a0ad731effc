//! Commits, freezes, moves and truncations under the crash simulator: whatever a crash leaves, the
//! table holds what some number of commits made of it, at least the acknowledged ones.

use nacre_pmem::Domain;
use nacre_pmem::sim::{Crash, Marks, Outcome};

use super::crash_script::{commit, rows, schema, states};
use crate::crash_support::{explore_share, lines, pages};
use crate::mvcc::IsolationLevel;
use crate::redo::RedoOptions;
use crate::store::Store;
use crate::value::Value;

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
        store.compact_all()?;
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

/// Commits, each frozen unless a reader needs what was, and moves of what is left of loads of which
/// half is deleted: the sixth commit leaves such a one.
fn work_moving(domains: &[Domain], marks: &Marks<'_>) -> Outcome {
    let store = open(domains)?;
    let table = store.table("t")?;
    let mut moved = 0;
    for number in 0..COMMITS {
        let reader = (number % 3 == 2).then(|| store.begin(IsolationLevel::RepeatableRead));
        commit(&store, &table, number)?;
        marks.note(number as u64 + 1);
        store.checkpoint()?;
        drop(reader);
        moved += store.compact_all()?;
    }
    match moved {
        0 => Err("no row was moved".into()),
        _ => Ok(()),
    }
}

#[test]
fn acknowledged_commits_are_there_whatever_was_moved() {
    let states = states(COMMITS);
    for media in [lines(), pages()] {
        explore_share("moves of a database", 100, |explorer, _| {
            let explored =
                explorer.media(&[media]).run(create, work_moving, |crash| check(crash, &states));
            explored.unwrap_or_else(|violation| panic!("{violation}"))
        });
    }
}

#[test]
fn acknowledged_commits_are_there_whatever_was_frozen() {
    let states = states(COMMITS);
    for media in [lines(), pages()] {
        explore_share("freezes of a database", 100, |explorer, _| {
            let explored =
                explorer.media(&[media]).run(create, work, |crash| check(crash, &states));
            explored.unwrap_or_else(|violation| panic!("{violation}"))
        });
    }
}
