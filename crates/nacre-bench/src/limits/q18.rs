//! Q18: the most expensive of the large orders.
//!
//! 1. `lineitem` is scanned; the quantities of each order are added up in an array by its row,
//!    which the index of `orders` finds. Each thread has its own array.
//! 2. `orders` is scanned for those with more than the quantity.
//! 3. They are sorted; the index of `customer` finds the names of the first hundred.
//!
//! # Source
//! [Muehlbauer16 8.3.7]: both groups in one; not the variant that knows both tables to be sorted.

use std::cmp::Reverse;
use std::ops::Range;

use super::kernel::{KernelRun, text};
use super::split::split;
use super::{PrimaryKeyIndex, TpchArrays};
use crate::workload::Cell;

/// More than 300.
const QUANTITY_MIN: i64 = 30_000;

const ROWS_MAX: usize = 100;

const COLUMNS: [&str; 6] =
    ["c_name", "c_custkey", "o_orderkey", "o_orderdate", "o_totalprice", "sum_qty"];

pub(super) fn run(arrays: &TpchArrays, threads: usize) -> KernelRun {
    let (orders, rows) = (&arrays.orders, arrays.lines.rows());
    let by_thread = split(rows, threads, |range| sum_range(arrays, range));
    let found = split(orders.rows(), threads, |range| {
        let quantities = range.map(|order| (order, by_thread.iter().map(|one| one[order]).sum()));
        quantities.filter(|(_, quantity)| *quantity > QUANTITY_MIN).collect::<Vec<(_, i64)>>()
    });
    let mut found = found.concat();
    let matches = found.len() as u64;
    found.sort_unstable_by_key(|&(order, _)| {
        (Reverse(orders.total_price[order]), orders.date[order])
    });
    found.truncate(ROWS_MAX);
    let answer = found.iter().map(|(order, quantity)| row(arrays, *order, *quantity)).collect();
    let bytes = rows as u64 * (8 + 8 + PrimaryKeyIndex::SLOT_BYTES) + matches * (8 + 4 + 8 + 4);
    KernelRun::new(&COLUMNS, answer).reading(rows, bytes)
}

/// Returns the quantities by row of `orders`.
fn sum_range(arrays: &TpchArrays, range: Range<usize>) -> Vec<i64> {
    let (lines, index) = (&arrays.lines, &arrays.orders.index);
    let mut quantities = vec![0; arrays.orders.rows()];
    let keys = &lines.order_key[range.clone()];
    for (key, quantity) in keys.iter().zip(&lines.quantity[range]) {
        if let Some(order) = index.row(*key) {
            quantities[order] += quantity;
        }
    }
    quantities
}

fn row(arrays: &TpchArrays, order: usize, quantity: i64) -> Vec<Cell> {
    let (orders, partners) = (&arrays.orders, &arrays.partners);
    let customer = orders.customer_key[order];
    let name = partners.customer_index.row(customer.into());
    vec![
        name.map_or(Cell::Null, |row| text(partners.customer_name.get(row))),
        Cell::number(customer.into(), 0),
        Cell::number(orders.key[order].into(), 0),
        Cell::Date(orders.date[order]),
        Cell::number(orders.total_price[order].into(), 2),
        Cell::number(quantity.into(), 2),
    ]
}
