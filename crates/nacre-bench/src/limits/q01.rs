//! Q1: one scan of `lineitem`, sums by two flags.
//!
//! The two letters of a group are its place in an array of sums, so that nothing is hashed.
//!
//! # Source
//! [Muehlbauer16 8.3.1], the implementation without preprocessing.

use std::ops::Range;

use super::kernel::{KernelRun, quotient};
use super::split::split;
use super::{TpchArrays, arrays::LineItemArrays};
use crate::workload::Cell;

/// 1998-09-02, the last day that counts.
const LAST_DAY: i32 = 10_471;

/// Letters in a flag's place.
const LETTERS: usize = 32;

/// Rows whose sums fit 64 bits: the largest charge of a line is below 2^37.
const BLOCK_ROWS: usize = 1 << 24;

const COLUMNS: [&str; 10] = [
    "l_returnflag",
    "l_linestatus",
    "sum_qty",
    "sum_base_price",
    "sum_disc_price",
    "sum_charge",
    "avg_qty",
    "avg_price",
    "avg_disc",
    "count_order",
];

/// What is added up of a group, with 2, 2, 4, 6, 2 and no digits behind the point.
#[derive(Clone, Copy, Default)]
struct GroupSums<T> {
    quantity: T,
    price: T,
    discounted: T,
    charge: T,
    discount: T,
    count: T,
}

type Groups<T> = [GroupSums<T>; LETTERS * LETTERS];

pub(super) fn run(arrays: &TpchArrays, threads: usize) -> KernelRun {
    let lines = &arrays.lines;
    let mut totals = vec![GroupSums::<i128>::default(); LETTERS * LETTERS];
    for range in split(lines.rows(), threads, |range| sum_range(lines, range)) {
        totals.iter_mut().zip(&range).for_each(|(total, sums)| total.add(sums));
    }
    let groups = totals.iter().enumerate().filter(|(_, sums)| sums.count > 0);
    let rows = groups.map(|(place, sums)| sums.row(place)).collect();
    // Day, two flags, four decimals.
    let bytes = lines.rows() as u64 * (4 + 2 + 4 * 8);
    KernelRun::new(&COLUMNS, rows).reading(lines.rows(), bytes)
}

fn sum_range(lines: &LineItemArrays, range: Range<usize>) -> Vec<GroupSums<i128>> {
    let mut totals = vec![GroupSums::default(); LETTERS * LETTERS];
    for start in range.clone().step_by(BLOCK_ROWS) {
        let end = range.end.min(start + BLOCK_ROWS);
        let sums = sum_block(lines, start..end);
        for (total, sums) in totals.iter_mut().zip(&sums) {
            total.add(&sums.widened());
        }
    }
    totals
}

fn sum_block(lines: &LineItemArrays, range: Range<usize>) -> Groups<i64> {
    let mut groups = [GroupSums::<i64>::default(); LETTERS * LETTERS];
    let days = &lines.ship_date[range.clone()];
    let flags = &lines.return_flag[range.clone()][..days.len()];
    let status = &lines.line_status[range.clone()][..days.len()];
    let quantities = &lines.quantity[range.clone()][..days.len()];
    let prices = &lines.extended_price[range.clone()][..days.len()];
    let discounts = &lines.discount[range.clone()][..days.len()];
    let taxes = &lines.tax[range][..days.len()];
    for row in 0..days.len() {
        if days[row] > LAST_DAY {
            continue;
        }
        let letters = [flags[row], status[row]].map(|letter| usize::from(letter) % LETTERS);
        let group = &mut groups[letters[0] * LETTERS + letters[1]];
        let discounted = prices[row] * (100 - discounts[row]);
        group.quantity += quantities[row];
        group.price += prices[row];
        group.discounted += discounted;
        group.charge += discounted * (100 + taxes[row]);
        group.discount += discounts[row];
        group.count += 1;
    }
    groups
}

impl GroupSums<i64> {
    fn widened(&self) -> GroupSums<i128> {
        GroupSums {
            quantity: self.quantity.into(),
            price: self.price.into(),
            discounted: self.discounted.into(),
            charge: self.charge.into(),
            discount: self.discount.into(),
            count: self.count.into(),
        }
    }
}

impl GroupSums<i128> {
    fn add(&mut self, other: &Self) {
        self.quantity += other.quantity;
        self.price += other.price;
        self.discounted += other.discounted;
        self.charge += other.charge;
        self.discount += other.discount;
        self.count += other.count;
    }

    fn row(&self, place: usize) -> Vec<Cell> {
        let letters = [place / LETTERS, place % LETTERS].map(|letter| {
            // Capital letters lie 64 above their place.
            Cell::Text(char::from(64 + letter as u8).to_string())
        });
        let [flag, status] = letters;
        vec![
            flag,
            status,
            Cell::number(self.quantity, 2),
            Cell::number(self.price, 2),
            Cell::number(self.discounted, 4),
            Cell::number(self.charge, 6),
            quotient(self.quantity, 2, self.count),
            quotient(self.price, 2, self.count),
            quotient(self.discount, 2, self.count),
            Cell::number(self.count, 0),
        ]
    }
}
