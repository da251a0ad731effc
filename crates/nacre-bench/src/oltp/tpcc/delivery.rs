//! Delivery: the oldest order of each district that is not delivered yet is.
//!
//! # Source
//! TPC Benchmark C, revision 5.11, clause 2.7.4.

use std::ops::{Bound, ControlFlow};

use nacre_store::ValueRef::Int;
use nacre_store::index::Direction;
use nacre_store::{Result, RowId};

use super::input::{DISTRICTS, Delivery};
use super::schema::{Tables, customer, order_line, orders};
use crate::oltp::table::int;
use crate::oltp::work::Work;

/// Runs the transaction; returns how many orders were delivered.
pub(crate) async fn run<W: Work>(
    work: &mut W,
    tables: &Tables,
    input: &Delivery,
) -> Result<Option<i64>> {
    let mut delivered = 0;
    let mut lines = Vec::with_capacity(16);
    for district in 1..=DISTRICTS {
        work.step().await;
        let (w, d) = (Int(input.warehouse), Int(district));
        let Some((row, order)) = oldest(work, tables, input.warehouse, district)? else {
            continue;
        };
        work.delete(&tables.new_order, row)?;
        let key = [w, d, Int(order)];
        let mut found = None;
        work.lookup(&tables.orders, &key, &[orders::C_ID], |row, values| {
            found = Some((row, int(values[0])));
        })?;
        let Some((row, id)) = found else {
            return Ok(None);
        };
        work.update(&tables.orders, row, &[(orders::CARRIER_ID, Int(input.carrier))])?;
        work.step().await;
        lines.clear();
        let mut amount = 0;
        let bounds = (Bound::Included(&key[..]), Bound::Included(&key[..]));
        let columns = [order_line::AMOUNT];
        work.range(&tables.order_line, bounds, Direction::Ascending, &columns, |row, values| {
            lines.push(row);
            amount += int(values[0]);
            ControlFlow::Continue(())
        })?;
        for line in &lines {
            work.update(&tables.order_line, *line, &[(order_line::DELIVERY_D, Int(input.date))])?;
        }
        work.step().await;
        bill(work, tables, (input.warehouse, district, id), amount)?;
        delivered += 1;
    }
    Ok(Some(delivered))
}

/// Returns the oldest order of a district that is not delivered.
fn oldest<W: Work>(
    work: &mut W,
    tables: &Tables,
    warehouse: i64,
    district: i64,
) -> Result<Option<(RowId, i64)>> {
    let key = [Int(warehouse), Int(district)];
    let bounds = (Bound::Included(&key[..]), Bound::Included(&key[..]));
    let mut oldest = None;
    work.range(&tables.new_order, bounds, Direction::Ascending, &[2], |row, values| {
        oldest = Some((row, int(values[0])));
        ControlFlow::Break(())
    })?;
    Ok(oldest)
}

/// Adds what was delivered to the customer's balance.
fn bill<W: Work>(
    work: &mut W,
    tables: &Tables,
    (warehouse, district, id): (i64, i64, i64),
    amount: i64,
) -> Result<()> {
    let mut found = None;
    let columns = [customer::BALANCE, customer::DELIVERY_CNT];
    let key = [Int(warehouse), Int(district), Int(id)];
    work.lookup(&tables.customer, &key, &columns, |row, values| {
        found = Some((row, int(values[0]), int(values[1])));
    })?;
    let Some((row, balance, deliveries)) = found else {
        return Ok(());
    };
    let changes =
        [(customer::BALANCE, Int(balance + amount)), (customer::DELIVERY_CNT, Int(deliveries + 1))];
    work.update(&tables.customer, row, &changes)
}
