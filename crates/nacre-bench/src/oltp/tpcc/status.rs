//! Order-status and stock-level: the transactions that only read.
//!
//! # Source
//! TPC Benchmark C, revision 5.11, clauses 2.6.2 and 2.8.2.

use std::ops::{Bound, ControlFlow};

use nacre_store::Result;
use nacre_store::ValueRef::Int;
use nacre_store::index::Direction;

use super::input::{CustomerKey, StockLevel};
use super::payment::customer_id;
use super::schema::{Tables, customer, district, order_line, orders, stock};
use crate::oltp::table::int;
use crate::oltp::work::Work;

/// Orders whose items a stock-level looks at.
const RECENT_ORDERS: i64 = 20;

/// Reads a customer's last order; returns the number of its lines.
pub(crate) async fn order_status<W: Work>(
    work: &mut W,
    tables: &Tables,
    input: &CustomerKey,
) -> Result<Option<i64>> {
    let (w, d) = (Int(input.warehouse), Int(input.district));
    let Some(id) = customer_id(work, tables, input)? else {
        return Ok(None);
    };
    work.step().await;
    let columns = [customer::BALANCE, customer::FIRST, customer::MIDDLE, customer::LAST];
    work.lookup(&tables.customer, &[w, d, Int(id)], &columns, |_, values| {
        std::hint::black_box(values);
    })?;
    work.step().await;
    let key = [w, d, Int(id)];
    let bounds = (Bound::Included(&key[..]), Bound::Included(&key[..]));
    let mut last = None;
    work.range(&tables.customer_order, bounds, Direction::Descending, &[2], |_, values| {
        last = Some(int(values[0]));
        ControlFlow::Break(())
    })?;
    // A customer of a small database may have no order.
    let Some(order) = last else {
        return Ok(Some(0));
    };
    work.step().await;
    let o = Int(order);
    let columns = [orders::ENTRY_D, orders::CARRIER_ID];
    work.lookup(&tables.orders, &[w, d, o], &columns, |_, values| {
        std::hint::black_box(values);
    })?;
    work.step().await;
    let key = [w, d, o];
    let bounds = (Bound::Included(&key[..]), Bound::Included(&key[..]));
    let columns = [
        order_line::I_ID,
        order_line::SUPPLY_W_ID,
        order_line::QUANTITY,
        order_line::AMOUNT,
        order_line::DELIVERY_D,
    ];
    let mut lines = 0;
    work.range(&tables.order_line, bounds, Direction::Ascending, &columns, |_, values| {
        std::hint::black_box(values);
        lines += 1;
        ControlFlow::Continue(())
    })?;
    Ok(Some(lines))
}

/// Counts the items of a district's last 20 orders of which the warehouse has few left.
pub(crate) async fn stock_level<W: Work>(
    work: &mut W,
    tables: &Tables,
    input: &StockLevel,
) -> Result<Option<i64>> {
    let (w, d) = (Int(input.warehouse), Int(input.district));
    let mut next = 0;
    work.lookup(&tables.district, &[w, d], &[district::NEXT_O_ID], |_, values| {
        next = int(values[0]);
    })?;
    work.step().await;
    let (low, high) = ([w, d, Int((next - RECENT_ORDERS).max(0))], [w, d, Int(next)]);
    let bounds = (Bound::Included(&low[..]), Bound::Excluded(&high[..]));
    let mut items = Vec::with_capacity(256);
    let columns = [order_line::I_ID];
    work.range(&tables.order_line, bounds, Direction::Ascending, &columns, |_, values| {
        items.push(int(values[0]));
        ControlFlow::Continue(())
    })?;
    items.sort_unstable();
    items.dedup();
    let mut low = 0;
    for some in items.chunks(16) {
        work.step().await;
        for item in some {
            work.lookup(&tables.stock, &[w, Int(*item)], &[stock::QUANTITY], |_, values| {
                low += i64::from(int(values[0]) < input.threshold);
            })?;
        }
    }
    Ok(Some(low))
}
