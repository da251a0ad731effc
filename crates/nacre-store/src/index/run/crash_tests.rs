//! Commits, freezes, loads and the runs that are written for them under the crash simulator:
//! whatever a crash leaves, a hybrid index finds what a scan does, and no file is left that the
//! manifest does not name.

use std::collections::BTreeSet;
use std::ops::{Bound, ControlFlow};
use std::sync::Arc;

use nacre_column::ColumnBuffer;
use nacre_pmem::Domain;
use nacre_pmem::sim::{Crash, Marks, Outcome};

use super::{is_run_file_name, run_file_name};
use crate::crash_support::{explore_share, lines, pages};
use crate::freeze::crash_script::{commit, rows, schema};
use crate::index::{Direction, IndexDef, IndexKind, IndexOrigin};
use crate::mvcc::IsolationLevel;
use crate::redo::RedoOptions;
use crate::store::Store;
use crate::table::Table;
use crate::value::{Value, ValueRef};

/// Segments of a few commits.
const REDO: RedoOptions = RedoOptions { segment_bytes: 1_024, is_compressed: false };

const COMMITS: i64 = 6;

fn open(domains: &[Domain]) -> crate::Result<Store> {
    Store::open_in(domains[0].clone(), REDO)
}

fn index(name: &str, column: usize) -> IndexDef {
    let (kind, origin) = (IndexKind::Hybrid, IndexOrigin::Statement);
    IndexDef { name: name.into(), columns: vec![column], is_unique: false, kind, origin }
}

fn create(domains: &[Domain]) -> Outcome {
    let store = open(domains)?;
    let table = store.create_table(schema())?;
    store.create_index(&table, index("h", 1))?;
    Ok(())
}

fn load(store: &Store, table: &Arc<Table>, key: i64) -> Outcome {
    let mut columns: Vec<ColumnBuffer> =
        (0..3).map(|column| ColumnBuffer::new(table.column_type(column))).collect();
    for row in 0..3 {
        columns[0].push_int(key + row);
        columns[1].push_int(row);
        columns[2].push_null();
    }
    let load = store.begin_load(table)?;
    load.append_chunk(0, &columns)?;
    load.commit()?;
    Ok(())
}

fn maintain(store: &Store) -> Outcome {
    while store.has_work() {
        if store.maintain_step()?.is_idle() {
            break;
        }
    }
    Ok(())
}

/// Commits, freezes and loads; an index comes and goes, and so do enough runs for a join.
fn work(domains: &[Domain], _: &Marks<'_>) -> Outcome {
    let store = open(domains)?;
    let table = store.table("t")?;
    for number in 0..COMMITS {
        commit(&store, &table, number)?;
        match number % 3 {
            0 => drop(store.checkpoint()?),
            1 => load(&store, &table, 10_000 + 10 * number)?,
            _ => maintain(&store)?,
        }
        match number {
            2 => store.create_index(&table, index("late", 0))?,
            4 => store.drop_index(&table, "late")?,
            _ => {}
        }
    }
    maintain(&store)
}

/// Returns key and number of all rows by an index, which must be in its order.
fn by_index(store: &Store, table: &Arc<Table>, name: &str) -> Result<BTreeSet<String>, String> {
    let (mut found, mut last) = (BTreeSet::new(), None);
    let index = table.index(name).map_err(|error| error.to_string())?;
    let column = index.definition().columns[0];
    let mut twice = None;
    let all = (Bound::Unbounded, Bound::Unbounded);
    let mut tx = store.begin(IsolationLevel::RepeatableRead);
    let walked = tx.range(table, &index, all, Direction::Ascending, &[0, 1], |row, values| {
        let ValueRef::Int(key) = values[column] else {
            return ControlFlow::Break(());
        };
        let text = format!("{:?}", (values[0].to_value(), values[1].to_value()));
        if last.is_some_and(|last| last > key) || !found.insert(text) {
            twice = Some(row);
        }
        last = Some(key);
        ControlFlow::Continue(())
    });
    walked.map_err(|error| error.to_string())?;
    match twice {
        Some(row) => Err(format!("{row} comes twice or too late by {name}")),
        None => Ok(found),
    }
}

fn compare(store: &Store, table: &Arc<Table>) -> Outcome {
    let scanned: BTreeSet<String> =
        rows(store, table).iter().map(|row: &(Value, Value)| format!("{row:?}")).collect();
    for index in table.indexes() {
        let name = &index.definition().name;
        let found = by_index(store, table, name)?;
        if found != scanned {
            return Err(format!("{name} finds {found:?}, a scan {scanned:?}").into());
        }
    }
    Ok(())
}

/// Checks that the files of runs are those that indexes have.
fn compare_files(store: &Store, table: &Table, domain: &Domain) -> Outcome {
    let files = domain.list_pools()?.into_iter().filter(|name| is_run_file_name(name));
    let files: BTreeSet<String> = files.collect();
    let mut known = BTreeSet::new();
    for index in table.indexes() {
        let (runs, lost) = index.all_runs();
        if !lost.is_empty() {
            return Err(format!("{lost:?} are lost").into());
        }
        known.extend(runs.iter().map(|live| run_file_name(live.run.record().run)));
    }
    match files == known && !store.is_in_doubt() {
        true => Ok(()),
        false => Err(format!("files {files:?}, runs {known:?}").into()),
    }
}

fn check(crash: &Crash<'_>) -> Outcome {
    let store = open(crash.domains())?;
    crash.recovered();
    let table = store.table("t")?;
    compare(&store, &table)?;
    compare_files(&store, &table, &crash.domains()[0])?;
    store.checkpoint()?;
    maintain(&store)?;
    compare(&store, &table)?;
    drop((store, table));
    let store = open(crash.domains())?;
    let table = store.table("t")?;
    compare(&store, &table)?;
    compare_files(&store, &table, &crash.domains()[0])
}

#[test]
fn hybrid_index_finds_every_row_whatever_a_crash_leaves() {
    for media in [lines(), pages()] {
        explore_share("runs of an index", 60, |explorer, _| {
            let explored = explorer.media(&[media]).run(create, work, check);
            explored.unwrap_or_else(|violation| panic!("{violation}"))
        });
    }
}
