//! Q6: one scan of `lineitem`, a sum of the few rows that three conditions leave.
//!
//! Block by block the places of the rows that match are collected without a branch, then their
//! products are added up.
//!
//! # Source
//! [Muehlbauer16 8.3.2], not partitioned.

use std::ops::Range;

use super::TpchArrays;
use super::arrays::LineItemArrays;
use super::kernel::KernelRun;
use super::split::split;
use crate::workload::Cell;

/// Rows of a block; its places stay in the first cache.
const BLOCK_ROWS: usize = 1_024;

/// 1994-01-01 to before 1995-01-01.
const DAYS: Range<i32> = 8_766..9_131;

/// 0.05 to 0.07.
const DISCOUNTS: Range<i64> = 5..8;

/// Below 24.
const QUANTITY_LIMIT: i64 = 2_400;

pub(super) fn run(arrays: &TpchArrays, threads: usize) -> KernelRun {
    let lines = &arrays.lines;
    let (mut revenue, mut count) = (0_i128, 0);
    for (sum, matches) in split(lines.rows(), threads, |range| sum_range(lines, range)) {
        revenue += i128::from(sum);
        count += matches;
    }
    let sum = if count > 0 { Cell::number(revenue, 4) } else { Cell::Null };
    // Day, discount and quantity of all rows, prices of matches.
    let bytes = lines.rows() as u64 * (4 + 8 + 8) + count * 8;
    KernelRun::new(&["revenue"], vec![vec![sum]]).reading(lines.rows(), bytes)
}

/// Returns the sum, with four digits behind the point, and the number of matches. A price times a
/// discount is below 2^31, so that the sum fits 64 bits.
fn sum_range(lines: &LineItemArrays, range: Range<usize>) -> (i64, u64) {
    let (mut sum, mut count) = (0, 0);
    for start in range.clone().step_by(BLOCK_ROWS) {
        let block = start..range.end.min(start + BLOCK_ROWS);
        let (places, matches) = select(lines, block.clone());
        let (prices, discounts) = (&lines.extended_price[block.clone()], &lines.discount[block]);
        for place in places.iter().take(matches).map(|place| usize::from(*place)) {
            sum += prices[place] * discounts[place];
        }
        count += matches as u64;
    }
    (sum, count)
}

/// Returns the places of a block's rows that match, and how many they are. A place is written for
/// every row and kept if the next one is written behind it, so that there is no branch.
fn select(lines: &LineItemArrays, block: Range<usize>) -> ([u16; BLOCK_ROWS], usize) {
    let days = &lines.ship_date[block.clone()];
    let discounts = &lines.discount[block.clone()][..days.len()];
    let quantities = &lines.quantity[block][..days.len()];
    let (mut places, mut count) = ([0; BLOCK_ROWS], 0);
    for row in 0..days.len() {
        let is_match = (days[row] >= DAYS.start)
            & (days[row] < DAYS.end)
            & (discounts[row] >= DISCOUNTS.start)
            & (discounts[row] < DISCOUNTS.end)
            & (quantities[row] < QUANTITY_LIMIT);
        // There are no more matches than rows: the remainder only tells the compiler so.
        places[count % BLOCK_ROWS] = row as u16;
        count += usize::from(is_match);
    }
    (places, count)
}
