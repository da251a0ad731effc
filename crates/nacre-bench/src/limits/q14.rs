//! Q14: the share of promoted parts in the revenue of a month.
//!
//! `lineitem` is scanned for the month; the index of `part` finds the part of each line that is
//! left.
//!
//! # Source
//! [Muehlbauer16 8.3.5], not partitioned, identity hashing.

use std::ops::Range;

use super::kernel::{KernelRun, quotient};
use super::split::split;
use super::{PrimaryKeyIndex, TpchArrays};

/// 1995-09-01 to before 1995-10-01.
const DAYS: Range<i32> = 9_374..9_404;

const PREFIX: &[u8] = b"PROMO";

/// Sums with four digits behind the point, and lines.
#[derive(Default)]
struct PromotionRevenue {
    promoted: i64,
    total: i64,
    count: u64,
}

pub(super) fn run(arrays: &TpchArrays, threads: usize) -> KernelRun {
    let rows = arrays.lines.rows();
    let (mut promoted, mut total, mut count) = (0_i128, 0_i128, 0);
    for revenue in split(rows, threads, |range| sum_range(arrays, range)) {
        promoted += i128::from(revenue.promoted);
        total += i128::from(revenue.total);
        count += revenue.count;
    }
    let share = quotient(100 * promoted, 0, total);
    // Days of all lines; key, price and discount of matches, and the beginning of the part's type.
    let bytes = 4 * rows as u64
        + count * (4 + 8 + 8 + PrimaryKeyIndex::SLOT_BYTES + 2 * 8 + PREFIX.len() as u64);
    KernelRun::new(&["promo_revenue"], vec![vec![share]]).reading(rows, bytes)
}

fn sum_range(arrays: &TpchArrays, range: Range<usize>) -> PromotionRevenue {
    let (lines, parts) = (&arrays.lines, &arrays.parts);
    let mut revenue = PromotionRevenue::default();
    let days = &lines.ship_date[range.clone()];
    for (row, day) in range.zip(days) {
        if (*day >= DAYS.start) & (*day < DAYS.end)
            && let Some(part) = parts.index.row(lines.part_key[row].into())
        {
            let amount = lines.extended_price[row] * (100 - lines.discount[row]);
            let is_promoted = parts.kind.get(part).starts_with(PREFIX);
            revenue.promoted += if is_promoted { amount } else { 0 };
            revenue.total += amount;
            revenue.count += 1;
        }
    }
    revenue
}
