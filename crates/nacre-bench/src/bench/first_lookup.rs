//! The second part of `nacre bench recovery`: the first lookups by an index in a database that was
//! just opened.
//!
//! Question: what does it give that the entries of a hybrid index are there when a database is
//! opened? Baseline: an ART index of the same column of the same table, whose loads are searched.
//!
//! Rows have keys in no order, so that no chunk can be skipped, and were loaded 16 chunks at a
//! time. In turn, the database is opened and keys of rows that are there are looked up by the one
//! index, then by the other one: the first of them, and 100. The page cache is warm; nothing else
//! runs, so no entries are made meanwhile.

use std::path::Path;
use std::time::{Duration, Instant};

use nacre_column::{CHUNK_ROWS, ColumnBuffer, ColumnType};
use nacre_store::index::{IndexDef, IndexKind, IndexOrigin};
use nacre_store::{IsolationLevel, OpenOptions, Result as StoreResult, Store, ValueRef};

use crate::bench::Setup;
use crate::error::{Error, Result};
use crate::format::{count, median};
use crate::oltp::table::{column, create};
use crate::report::{Measurement, Report};

const ROWS: u64 = 5_000_000;
const ROWS_QUICK: u64 = 500_000;

/// Chunks of a load.
const LOAD_CHUNKS: u64 = 16;

const ROUNDS: usize = 7;
const LOOKUPS: u64 = 100;

/// The baseline first.
const KINDS: [IndexKind; 2] = [IndexKind::Art, IndexKind::Hybrid];

const TABLE: &str = "reading";

/// Loads the rows and measures.
pub(super) fn run(setup: &Setup, report: &mut Report) -> Result<()> {
    let rows = if setup.is_quick { ROWS_QUICK } else { ROWS };
    let directory = setup.workspace.path().join("first-lookup");
    let is_emulated = fill(&directory, rows).map_err(Error::store("load rows"))?;
    let console = setup.console;
    console.line(format_args!("First lookups after opening, {} frozen rows", count(rows)))?;
    console.line("        index        first us     100 us   ratio of first   ratio of 100")?;
    let mut times: [[Vec<Duration>; 2]; 2] = Default::default();
    for round in 0..ROUNDS {
        for (kind, [first, all]) in KINDS.iter().zip(&mut times) {
            setup.interrupt.check()?;
            let found = look_up(&directory, *kind, rows, round as u64);
            let (one, many) = found.map_err(Error::store("look rows up"))??;
            first.push(one);
            all.push(many);
        }
    }
    let micros = |times: &[Duration]| median(times).as_secs_f64() * 1e6;
    let [baseline, _] = &times;
    for (kind, measured) in KINDS.iter().zip(&times) {
        let mut ratios = Vec::new();
        for (lookups, (times, others)) in [1, LOOKUPS].iter().zip(measured.iter().zip(baseline)) {
            let id = |kind| format!("recovery/first-lookups/{kind}/rows={rows},lookups={lookups}");
            let measurement = Measurement::new(id(*kind), micros(times), "us")
                .emulated(is_emulated)
                .against(id(KINDS[0]), micros(others));
            report.add(&measurement)?;
            ratios.push(measurement.ratio().unwrap_or_default());
        }
        console.line(format_args!(
            "   {:>10} {:>15.1} {:>10.1} {:>16.4} {:>14.4}",
            kind.to_string(),
            micros(&measured[0]),
            micros(&measured[1]),
            ratios[0],
            ratios[1]
        ))?;
    }
    std::fs::remove_dir_all(&directory).map_err(Error::io("remove", &directory))
}

fn open(directory: &Path) -> StoreResult<Store> {
    let directory = Some(directory.to_path_buf());
    Store::open(OpenOptions { directory, ..OpenOptions::default() })
}

/// Returns the key of a row: no two have the same.
fn key(row: u64) -> i64 {
    row.wrapping_mul(0x9e37_79b9_7f4a_7c15) as i64
}

/// Fills the table, with an index of each kind, and returns whether persistence is emulated.
fn fill(directory: &Path, rows: u64) -> StoreResult<bool> {
    let store = open(directory)?;
    let columns = vec![column("k", ColumnType::BigInt), column("n", ColumnType::BigInt)];
    let table = create(&store, TABLE, columns)?;
    let numbers: Vec<u64> = (0..rows).collect();
    for some in numbers.chunks(CHUNK_ROWS * LOAD_CHUNKS as usize) {
        let load = store.begin_load(&table)?;
        for (number, chunk) in some.chunks(CHUNK_ROWS).enumerate() {
            let mut columns = vec![ColumnBuffer::new(ColumnType::BigInt); 2];
            for row in chunk {
                columns[0].push_int(key(*row));
                columns[1].push_int(*row as i64);
            }
            load.append_chunk(number as u64, &columns)?;
        }
        load.commit()?;
    }
    for kind in KINDS {
        let origin = IndexOrigin::Statement;
        let name = kind.to_string();
        let index = IndexDef { name, columns: vec![0], is_unique: false, kind, origin };
        store.create_index(&table, index)?;
    }
    Ok(store.domains().iter().any(|domain| domain.durability().emulated))
}

/// Opens the database and returns how long the first lookup took, and all of them.
fn look_up(
    directory: &Path,
    kind: IndexKind,
    rows: u64,
    round: u64,
) -> StoreResult<Result<(Duration, Duration)>> {
    let store = open(directory)?;
    let table = store.table(TABLE)?;
    let index = table.index(&kind.to_string())?;
    let mut reader = store.begin(IsolationLevel::RepeatableRead);
    let (start, mut first) = (Instant::now(), Duration::ZERO);
    for number in 0..LOOKUPS {
        let row = key(1 + number + LOOKUPS * round).unsigned_abs() % rows;
        let mut found = None;
        reader.lookup(&table, &index, &[ValueRef::Int(key(row))], &[1], |_, values| {
            found = Some(values[0].to_value());
        })?;
        if number == 0 {
            first = start.elapsed();
        }
        if found != Some(ValueRef::Int(row as i64).to_value()) {
            let text = format!("{found:?} is found in the place of row {row}");
            return Ok(Err(Error::Deviation(text)));
        }
    }
    Ok(Ok((first, start.elapsed())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_indexes_find_the_rows_in_a_database_that_was_opened_again() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("database");
        fill(&path, 100_000).unwrap();
        for kind in KINDS {
            look_up(&path, kind, 100_000, 3).unwrap().unwrap();
        }
    }
}
