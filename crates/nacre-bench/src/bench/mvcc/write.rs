//! Single operations on a table of ten numbers, with and without versions.

use std::hint::black_box;
use std::sync::Arc;

use nacre_store::ValueRef::Int;
use nacre_store::{RowId, SingleVersion, Store, Table, ValueRef};

use super::{Filled, LEVEL, rounds, scattered, seconds};
use crate::bench::Setup;
use crate::error::{Error, Result};
use crate::format::count;
use crate::report::{Measurement, Report};

/// Columns of the table.
pub(super) const COLUMNS: usize = 10;

/// Operations that are timed together.
const OPERATIONS: u64 = 200_000;
const OPERATIONS_QUICK: u64 = 20_000;

/// Operations of a transaction.
const PER_TRANSACTION: [usize; 3] = [1, 10, 100];

/// One kind of operation on a row.
#[derive(Clone, Copy)]
enum Operation {
    Insert,
    Update(usize),
    DeleteInsert,
}

const OPERATIONS_ALL: [(&str, Operation); 5] = [
    ("insert", Operation::Insert),
    ("update-1", Operation::Update(1)),
    ("update-5", Operation::Update(5)),
    ("update-10", Operation::Update(10)),
    ("delete-insert", Operation::DeleteInsert),
];

/// Measures each operation in transactions of several sizes.
pub(super) fn run(setup: &Setup, report: &mut Report, rows: u64) -> Result<()> {
    let usual = if setup.is_quick { OPERATIONS_QUICK } else { OPERATIONS };
    let operations = usual.min(rows);
    setup.console.line(format_args!(
        "Operations on {} rows of {COLUMNS} numbers, against no concurrency control",
        count(rows)
    ))?;
    setup.console.line("   operation       a transaction      M/s   without   ratio")?;
    for per_transaction in PER_TRANSACTION {
        for (name, operation) in OPERATIONS_ALL {
            let mut versioned = Side::new(setup, rows)?;
            let mut alone = Side::new(setup, rows)?;
            let mut without = SingleVersion::default();
            let (mut ours, mut theirs) = (f64::MAX, f64::MAX);
            for round in 0..rounds(setup) as u64 {
                setup.interrupt.check()?;
                let order: Vec<u64> =
                    scattered(operations, rows).map(|row| (row + round) % rows).collect();
                ours = ours.min(seconds(|| {
                    order.chunks(per_transaction).try_for_each(|some| {
                        versioned.versioned(some, operation).map_err(Error::store("change rows"))
                    })
                })?);
                theirs = theirs.min(seconds(|| {
                    order.chunks(per_transaction).try_for_each(|some| {
                        let done = alone.unversioned(&mut without, some, operation);
                        done.map_err(Error::store("change rows"))
                    })
                })?);
            }
            let rate = |time: f64| operations as f64 / time / 1e6;
            let id = |side: &str| format!("write/{name}/{side}/per_transaction={per_transaction}");
            let measured =
                Measurement::new(id("mvcc"), rate(ours), "M/s").against(id("none"), rate(theirs));
            report.add(&measured)?;
            setup.console.line(format_args!(
                "   {name:<15} {per_transaction:>13} {:>8.3} {:>9.3} {:>7.3}",
                rate(ours),
                rate(theirs),
                theirs / ours
            ))?;
        }
    }
    Ok(())
}

/// A table and the ids of its rows.
struct Side {
    store: Store,
    table: Arc<Table>,
    ids: Vec<RowId>,
}

/// What is written.
fn values() -> [ValueRef<'static>; COLUMNS] {
    [Int(8); COLUMNS]
}

fn changes() -> [(usize, ValueRef<'static>); COLUMNS] {
    std::array::from_fn(|column| (column, Int(8)))
}

impl Side {
    fn new(setup: &Setup, rows: u64) -> Result<Self> {
        let Filled { store, table } = Filled::new(setup, COLUMNS, rows, |_| {})?;
        Ok(Self { store, table, ids: (0..rows).map(Filled::id).collect() })
    }

    fn versioned(&mut self, rows: &[u64], operation: Operation) -> nacre_store::Result<()> {
        let mut transaction = self.store.begin(LEVEL);
        for row in rows {
            let id = &mut self.ids[*row as usize];
            match operation {
                Operation::Insert => {
                    black_box(transaction.insert(&self.table, &values())?);
                }
                Operation::Update(columns) => {
                    transaction.update(&self.table, *id, &changes()[..columns])?;
                }
                Operation::DeleteInsert => {
                    transaction.delete(&self.table, *id)?;
                    *id = transaction.insert(&self.table, &values())?;
                }
            }
        }
        transaction.commit().map(drop)
    }

    fn unversioned(
        &mut self,
        without: &mut SingleVersion,
        rows: &[u64],
        operation: Operation,
    ) -> nacre_store::Result<()> {
        for row in rows {
            let id = &mut self.ids[*row as usize];
            match operation {
                Operation::Insert => {
                    black_box(without.insert(&self.table, &values())?);
                }
                Operation::Update(columns) => {
                    without.update(&self.table, *id, &changes()[..columns])?;
                }
                Operation::DeleteInsert => {
                    without.delete(&self.table, *id)?;
                    *id = without.insert(&self.table, &values())?;
                }
            }
        }
        without.commit();
        Ok(())
    }
}
