//! `nacre bench mvcc`: what versions cost those who scan, those who write, and those who commit.
//!
//! | part | what runs | baseline |
//! |---|---|---|
//! | `scan` | sum of a column with dirty rows, oldest and newest snapshot | plain vectors |
//! | `positions` | the same by the rows of a range of `VersionedPositions` | 1,024 rows |
//! | `write` | inserts, updates of 1, 5, 10 columns, delete and insert | no concurrency control |
//! | `commit` | durable commits by domain, replicas, rows and threads | DRAM without a log |
//!
//! Kept equal: one process, one thread but in `commit`, sides in turn; the best of several rounds
//! counts, medians of latencies.
//!
//! # Source
//! [Muehlbauer16 2.4.1, 2.4.2] Figures 2.8 and 2.9, Table 2.2. Differs: each change of a row that
//! nobody but one snapshot needs is merged with the next one, so several versions of a row need as
//! many readers.

mod commit;
mod scan;
mod write;

use std::time::Instant;

use nacre_column::ColumnType;
use nacre_store::ValueRef::Int;
use nacre_store::{IsolationLevel, OpenOptions, RowId, Store, Table};

use std::sync::Arc;

use crate::bench::Setup;
use crate::error::{Error, Result};
use crate::format::count;
use crate::memory;
use crate::oltp::table::{column, create};
use crate::report::Report;

const ROWS: u64 = 100_000_000;
const ROWS_QUICK: u64 = 1_000_000;

/// Bytes that a row takes in the largest part: twice its number, and four of the version vector.
const BYTES_PER_ROW: u64 = 8 + 8 + 4;

/// Rows that a load commits together.
const LOAD_ROWS: u64 = 10_000;

/// Runs of which the best one counts.
const ROUNDS: usize = 7;
const ROUNDS_QUICK: usize = 3;

const LEVEL: IsolationLevel = IsolationLevel::RepeatableRead;

/// Measures all parts.
pub(super) fn run(setup: &Setup, report: &mut Report) -> Result<()> {
    let wanted = setup.values.unwrap_or(if setup.is_quick { ROWS_QUICK } else { ROWS });
    let rows = memory::fit(setup.console, wanted, BYTES_PER_ROW)?;
    scan::run(setup, report, rows)?;
    scan::positions(setup, report, rows.div_ceil(10))?;
    write::run(setup, report, rows.min(1_000_000))?;
    commit::run(setup, report)
}

/// Returns how often a measurement is repeated.
fn rounds(setup: &Setup) -> usize {
    if setup.is_quick { ROUNDS_QUICK } else { ROUNDS }
}

/// A table of numbers in a volatile database, its rows in order of their ids.
struct Filled {
    store: Store,
    table: Arc<Table>,
}

impl Filled {
    /// Makes a table of `columns` columns, each of which holds the row's number. `prepare` gets it
    /// while it is empty.
    fn new(setup: &Setup, columns: usize, rows: u64, prepare: impl FnOnce(&Table)) -> Result<Self> {
        let failed = || Error::store("fill a table");
        let store = Store::open(OpenOptions::default()).map_err(failed())?;
        let columns = (0..columns).map(|index| column(&format!("c{index}"), ColumnType::BigInt));
        let table = create(&store, "t", columns.collect()).map_err(failed())?;
        prepare(&table);
        let width = table.schema().columns.len();
        for start in (0..rows).step_by(LOAD_ROWS as usize) {
            setup.interrupt.check()?;
            let mut transaction = store.begin(LEVEL);
            for row in start..(start + LOAD_ROWS).min(rows) {
                let values = [Int(row as i64); write::COLUMNS];
                transaction.insert(&table, &values[..width]).map_err(failed())?;
            }
            transaction.commit().map_err(failed())?;
        }
        Ok(Self { store, table })
    }

    /// Returns the id of a row that was filled in.
    fn id(row: u64) -> RowId {
        let chunk_rows = nacre_column::CHUNK_ROWS as u64;
        RowId::hot(row / chunk_rows, (row % chunk_rows) as u16)
    }
}

/// Row numbers in an order that caches do not know.
fn scattered(count: u64, of: u64) -> impl Iterator<Item = u64> {
    (0..count).map(move |number| (number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 20) % of)
}

fn seconds(run: impl FnOnce() -> Result<()>) -> Result<f64> {
    let start = Instant::now();
    run()?;
    Ok(start.elapsed().as_secs_f64())
}

/// Writes a number of rows for an id.
fn text_of(rows: u64) -> String {
    count(rows).replace(',', "")
}
