//! Q13: customers by the number of their orders whose comments lack two words in a row.
//!
//! 1. `orders` is scanned; an order whose comment does not match is counted in an array by
//!    customer. Each thread has its own, which are added up.
//! 2. The counts of the customers are counted.
//!
//! # Source
//! [Muehlbauer16 8.3.4]: join and groups in one, dense keys of customers. Differs: the substrings
//! are searched by the crate `memchr`, in SIMD.

use std::ops::Range;

use memchr::memmem;

use super::TpchArrays;
use super::arrays::OrderArrays;
use super::kernel::KernelRun;
use super::split::split;
use crate::workload::Cell;

const WORDS: [&str; 2] = ["special", "requests"];

pub(super) fn run(arrays: &TpchArrays, threads: usize) -> KernelRun {
    let (orders, partners) = (&arrays.orders, &arrays.partners);
    let places = partners.map_places();
    let by_thread = split(orders.rows(), threads, |range| count_range(orders, range, places));
    // Customers by number of orders.
    let mut histogram: Vec<i128> = Vec::new();
    for key in &partners.customer_key {
        let count: u32 = by_thread.iter().map(|counts| counts[*key as usize]).sum();
        let place = count as usize;
        if histogram.len() <= place {
            histogram.resize(place + 1, 0);
        }
        histogram[place] += 1;
    }
    let mut groups: Vec<(i128, i128)> = (0..).zip(histogram).filter(|group| group.1 > 0).collect();
    groups.sort_by_key(|(count, customers)| (-customers, -count));
    let row = |(count, customers)| vec![Cell::number(count, 0), Cell::number(customers, 0)];
    let rows = groups.into_iter().map(row).collect();
    let bytes =
        orders.comment.total_bytes() + 4 * (orders.rows() + partners.customer_key.len()) as u64;
    KernelRun::new(&["c_count", "custdist"], rows).reading(orders.rows(), bytes)
}

fn count_range(orders: &OrderArrays, range: Range<usize>, places: usize) -> Vec<u32> {
    let finders = WORDS.map(memmem::Finder::new);
    let mut counts = vec![0; places];
    for row in range {
        let comment = orders.comment.get(row);
        let is_match = finders[0]
            .find(comment)
            .is_some_and(|start| finders[1].find(&comment[start + WORDS[0].len()..]).is_some());
        counts[orders.customer_key[row] as usize] += u32::from(!is_match);
    }
    counts
}
