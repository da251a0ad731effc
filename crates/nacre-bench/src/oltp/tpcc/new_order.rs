//! New-order: reads a customer and 5 to 15 items, orders them and takes them off the stock.
//!
//! # Source
//! TPC Benchmark C, revision 5.11, clause 2.4.2.

use nacre_store::ValueRef::{Bytes, Int, Null};
use nacre_store::{Result, RowId};

use super::input::{Line, NewOrder};
use super::schema::{Tables, customer, district, item, stock, warehouse};
use crate::oltp::table::{bytes, int};
use crate::oltp::work::Work;

/// Bytes of the text that the stock has for each district.
const DIST_BYTES: usize = 24;

/// Runs the transaction; `false` means that it is to be rolled back, because an item is unknown.
pub(crate) async fn run<W: Work>(
    work: &mut W,
    tables: &Tables,
    input: &NewOrder,
) -> Result<Option<i64>> {
    let (w, d) = (Int(input.warehouse), Int(input.district));
    let mut warehouse_tax = 0;
    work.lookup(&tables.warehouse, &[w], &[warehouse::TAX], |_, values| {
        warehouse_tax = int(values[0]);
    })?;
    work.step().await;
    let mut found = None;
    let columns = [district::TAX, district::NEXT_O_ID];
    work.lookup(&tables.district, &[w, d], &columns, |row, values| {
        found = Some((row, int(values[0]), int(values[1])));
    })?;
    let Some((row, district_tax, order)) = found else {
        return Ok(None);
    };
    work.update(&tables.district, row, &[(district::NEXT_O_ID, Int(order + 1))])?;
    work.step().await;
    let mut discount = 0;
    let columns = [customer::DISCOUNT, customer::LAST, customer::CREDIT];
    let c = Int(input.customer);
    work.lookup(&tables.customer, &[w, d, c], &columns, |_, values| {
        discount = int(values[0]);
        std::hint::black_box((bytes(values[1]), bytes(values[2])));
    })?;
    work.step().await;
    let o = Int(order);
    let lines = input.lines();
    let is_local = lines.iter().all(|line| line.supplier == input.warehouse);
    let (date, count) = (Int(input.date), Int(lines.len() as i64));
    work.insert(&tables.orders.table, &[w, d, o, c, date, Null, count, Int(is_local.into())])?;
    work.insert(&tables.new_order.table, &[w, d, o])?;
    let mut total = 0;
    for (number, line) in (1..).zip(lines) {
        work.step().await;
        let Some(price) = price_of(work, tables, line.item)? else {
            return Ok(None);
        };
        let Some(text) = take_from_stock(work, tables, input, line)? else {
            return Ok(None);
        };
        let amount = price * line.quantity;
        total += amount;
        let (i, s) = (Int(line.item), Int(line.supplier));
        let quantity = Int(line.quantity);
        let values = [w, d, o, Int(number), i, s, Null, quantity, Int(amount), Bytes(&text)];
        work.insert(&tables.order_line.table, &values)?;
    }
    // Rates have four digits behind the point.
    let taxed = total * (10_000 + warehouse_tax + district_tax) / 10_000;
    Ok(Some(taxed * (10_000 - discount) / 10_000))
}

fn price_of<W: Work>(work: &mut W, tables: &Tables, item: i64) -> Result<Option<i64>> {
    let mut price = None;
    let columns = [item::PRICE, item::NAME, item::DATA];
    work.lookup(&tables.item, &[Int(item)], &columns, |_, values| {
        price = Some(int(values[0]));
        std::hint::black_box((bytes(values[1]), is_original(bytes(values[2]))));
    })?;
    Ok(price)
}

/// Reads and updates the stock of a line's item; returns the text for the order's district.
fn take_from_stock<W: Work>(
    work: &mut W,
    tables: &Tables,
    input: &NewOrder,
    line: &Line,
) -> Result<Option<[u8; DIST_BYTES]>> {
    let mut found: Option<(RowId, [i64; 4])> = None;
    let mut text = [b' '; DIST_BYTES];
    let columns = [
        stock::QUANTITY,
        stock::YTD,
        stock::ORDER_CNT,
        stock::REMOTE_CNT,
        stock::DIST_01 + input.district as usize - 1,
        stock::DATA,
    ];
    let key = [Int(line.supplier), Int(line.item)];
    work.lookup(&tables.stock, &key, &columns, |row, values| {
        found = Some((row, [0, 1, 2, 3].map(|at| int(values[at]))));
        let district = bytes(values[4]);
        let length = district.len().min(DIST_BYTES);
        text[..length].copy_from_slice(&district[..length]);
        std::hint::black_box(is_original(bytes(values[5])));
    })?;
    let Some((row, [quantity, ytd, orders, remote])) = found else {
        return Ok(None);
    };
    let left = quantity - line.quantity;
    let left = if left >= 10 { left } else { left + 91 };
    let is_remote = i64::from(line.supplier != input.warehouse);
    let changes = [
        (stock::QUANTITY, Int(left)),
        (stock::YTD, Int(ytd + line.quantity)),
        (stock::ORDER_CNT, Int(orders + 1)),
        (stock::REMOTE_CNT, Int(remote + is_remote)),
    ];
    // Of orders at home the last one does not change.
    work.update(&tables.stock, row, &changes[..3 + is_remote as usize])?;
    Ok(Some(text))
}

/// Whether a text has the word that tells original goods.
fn is_original(data: &[u8]) -> bool {
    memchr::memchr_iter(b'O', data).any(|at| data[at..].starts_with(b"ORIGINAL"))
}
