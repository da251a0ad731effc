//! The consistency conditions of TPC-C that must hold between transactions.
//!
//! | number | claim |
//! |---|---|
//! | 1 | what a warehouse took is what its districts took |
//! | 2 | a district's next order follows the last one, which is the last new one too |
//! | 3 | the new orders of a district have no gaps |
//! | 4 | a district has as many lines as its orders say |
//!
//! # Source
//! TPC Benchmark C, revision 5.11, clauses 3.3.2.1 to 3.3.2.4.

use std::collections::BTreeMap;
use std::sync::Arc;

use nacre_store::{IsolationLevel, Store, Table, ValueRef};

use super::schema::{Tables, district, orders, warehouse};
use crate::error::{Error, Result};
use crate::oltp::table::int;

/// What is known of a district.
#[derive(Debug, Default)]
struct District {
    next_order: i64,
    last_order: i64,
    lines_wanted: i64,
    lines: i64,
    new_orders: i64,
    /// The first and the last new order.
    new_range: Option<(i64, i64)>,
}

/// Checks all conditions for what is committed.
///
/// # Errors
/// [`Error::Deviation`] names the condition and the place where it does not hold.
pub(crate) fn check(store: &Store, tables: &Tables) -> Result<()> {
    let mut taken: BTreeMap<i64, (i64, i64)> = BTreeMap::new();
    let mut all: BTreeMap<(i64, i64), District> = BTreeMap::new();
    scan(store, &tables.warehouse.table, &[0, warehouse::YTD], |values| {
        taken.entry(values[0]).or_default().0 = values[1];
    })?;
    let columns = [0, 1, district::YTD, district::NEXT_O_ID];
    scan(store, &tables.district.table, &columns, |values| {
        taken.entry(values[0]).or_default().1 += values[2];
        all.entry((values[0], values[1])).or_default().next_order = values[3];
    })?;
    scan(store, &tables.orders.table, &[0, 1, 2, orders::OL_CNT], |values| {
        let place = all.entry((values[0], values[1])).or_default();
        place.last_order = place.last_order.max(values[2]);
        place.lines_wanted += values[3];
    })?;
    scan(store, &tables.order_line.table, &[0, 1], |values| {
        all.entry((values[0], values[1])).or_default().lines += 1;
    })?;
    scan(store, &tables.new_order.table, &[0, 1, 2], |values| {
        let place = all.entry((values[0], values[1])).or_default();
        let (first, last) = place.new_range.unwrap_or((values[2], values[2]));
        place.new_range = Some((first.min(values[2]), last.max(values[2])));
        place.new_orders += 1;
    })?;
    for (number, (own, of_districts)) in &taken {
        require(own == of_districts, || {
            format!("condition 1, warehouse {number}: {own} is not {of_districts}")
        })?;
    }
    all.iter().try_for_each(|(place, known)| check_district(*place, known))
}

fn check_district(place: (i64, i64), known: &District) -> Result<()> {
    let of = |number: u8| format!("condition {number}, district {place:?}: {known:?}");
    require(known.next_order - 1 == known.last_order, || of(2))?;
    if let Some((first, last)) = known.new_range {
        require(last == known.last_order, || of(2))?;
        require(last - first + 1 == known.new_orders, || of(3))?;
    }
    require(known.lines == known.lines_wanted, || of(4))
}

fn require(holds: bool, message: impl FnOnce() -> String) -> Result<()> {
    if holds { Ok(()) } else { Err(Error::Deviation(message())) }
}

fn scan(
    store: &Store,
    table: &Arc<Table>,
    columns: &[usize],
    mut on_row: impl FnMut(&[i64]),
) -> Result<()> {
    let mut transaction = store.begin(IsolationLevel::RepeatableRead);
    let mut numbers = Vec::new();
    let scanned = transaction.scan(table, &[], columns, |_, values: &[ValueRef<'_>]| {
        numbers.clear();
        numbers.extend(values.iter().map(|value| int(*value)));
        on_row(&numbers);
    });
    scanned.map_err(Error::store("check the consistency of TPC-C"))
}
