//! Backups under the crash simulator: whatever a crash leaves of one, the database has what was
//! committed, and a backup that was finished is what one snapshot saw. `crash_support` says which
//! variables there are.

use std::sync::Arc;

use nacre_pmem::Domain;
use nacre_pmem::sim::{Crash, Marks, Outcome};

use crate::crash_support::{explore_share, lines, pages};
use crate::freeze::crash_script::{commit, rows, schema, states};
use crate::mvcc::IsolationLevel;
use crate::redo::RedoOptions;
use crate::store::Store;
use crate::table::Table;
use crate::value::{Value, ValueRef};

/// Segments of a few commits.
const REDO: RedoOptions = RedoOptions { segment_bytes: 1_024, is_compressed: false };

const COMMITS: i64 = 6;

/// The commit before the backup begins.
const BACKED_UP: i64 = 4;

/// Marks above this say that the backup is finished; those below count commits.
const FINISHED: u64 = 1 << 32;

fn open(domain: &Domain) -> crate::Result<Store> {
    Store::open_in(domain.clone(), REDO)
}

/// Makes a database with frozen, hot and deleted rows.
fn create(domains: &[Domain]) -> Outcome {
    let store = open(&domains[0])?;
    let table = store.create_table(schema())?;
    for number in 0..2 {
        commit(&store, &table, number)?;
    }
    store.checkpoint()?;
    Ok(())
}

fn work(domains: &[Domain], marks: &Marks<'_>) -> Outcome {
    let store = open(&domains[0])?;
    let table = store.table("t")?;
    for number in 2..COMMITS {
        if number == BACKED_UP {
            // What another one has written is not in the copy, what it sees has versions.
            let mut other = store.begin(IsolationLevel::RepeatableRead);
            other.insert(&table, &[ValueRef::Int(9_999), ValueRef::Int(0), ValueRef::Null])?;
            store.write_backup(&domains[1])?;
            marks.note(FINISHED);
            other.rollback();
        }
        commit(&store, &table, number)?;
        marks.note(number as u64 + 1);
    }
    Ok(())
}

type Rows = Vec<(Value, Value)>;

fn found(store: &Store) -> crate::Result<(Arc<Table>, Rows)> {
    let table = store.table("t")?;
    let found = rows(store, &table);
    Ok((table, found))
}

fn check(crash: &Crash<'_>, states: &[Rows]) -> Outcome {
    let commits = crash.marks().iter().filter(|&&mark| mark < FINISHED);
    let acknowledged = commits.max().copied().unwrap_or(2) as usize;
    let [database, copy] = crash.domains() else {
        return Err("two domains are needed".into());
    };
    let (_, in_database) = found(&open(database)?)?;
    crash.recovered();
    let mut possible = acknowledged..=acknowledged + 1;
    if possible.all(|count| states.get(count) != Some(&in_database)) {
        return Err(format!("{in_database:?} after {acknowledged} commits").into());
    }
    if !crash.marks().contains(&FINISHED) {
        // It has no name yet; whatever is there is an error at most.
        drop(open(copy));
        return Ok(());
    }
    let expected = BACKED_UP as usize;
    let store = open(copy)?;
    let (table, in_copy) = found(&store)?;
    if in_copy != states[expected] {
        return Err(format!("{in_copy:?} in the copy").into());
    }
    commit(&store, &table, BACKED_UP)?;
    drop((table, store));
    let (_, in_copy) = found(&open(copy)?)?;
    match in_copy == states[expected + 1] {
        true => Ok(()),
        false => Err(format!("{in_copy:?} when the copy went on").into()),
    }
}

#[test]
fn backup_is_whole_once_it_is_finished_and_does_not_harm_the_database() {
    let states = states(COMMITS);
    for media in [lines(), pages()] {
        explore_share("backups of a database", 60, |explorer, _| {
            let explored =
                explorer.media(&[media, media]).run(create, work, |crash| check(crash, &states));
            explored.unwrap_or_else(|violation| panic!("{violation}"))
        });
    }
}
