//! Q9: profit by nation and year of parts with a word in their name.
//!
//! 1. `part` is scanned for the word: a map of the keys that match.
//! 2. `partsupp` is scanned with that map: a hash table from part and supplier to the cost and the
//!    supplier's nation, which the index of `supplier` finds.
//! 3. `lineitem` is scanned with the same map. For the lines that are left the table gives the cost
//!    and the index of `orders` the year.
//!
//! # Source
//! [Muehlbauer16 8.3.3]

use std::collections::BTreeMap;
use std::ops::Range;

use memchr::memmem;

use super::kernel::{KernelRun, text};
use super::split::split;
use super::{PrimaryKeyIndex, TpchArrays};
use crate::workload::Cell;

const WORD: &str = "green";

/// Days since 1970 of 1992-01-01, and the first days of the years after it up to the last one.
const YEAR_STARTS: [i32; 7] = [8_035, 8_401, 8_766, 9_131, 9_496, 9_862, 10_227];

const FIRST_YEAR: i128 = 1_992;

const NATIONS: usize = 25;

/// A slot of [`CostTable`] that is empty; keys of parts are not 0.
const EMPTY: u64 = 0;

/// From part and supplier to what the supplier asks and its nation; open addressing.
struct CostTable {
    keys: Vec<u64>,
    values: Vec<(i64, i32)>,
}

/// Profits with four digits behind the point and numbers of lines, by nation and year.
type Profits = [(i64, u64); NATIONS * YEAR_STARTS.len()];

pub(super) fn run(arrays: &TpchArrays, threads: usize) -> KernelRun {
    let is_wanted = find_parts(arrays, threads);
    let costs = collect_costs(arrays, threads, &is_wanted);
    let entries = costs.len() as u64;
    let table = CostTable::new(costs);
    let rows = arrays.lines.rows();
    let mut totals = BTreeMap::<(&str, i128), (i128, u64)>::new();
    let mut matches = 0;
    for profits in split(rows, threads, |range| sum_range(arrays, &is_wanted, &table, range)) {
        for (place, (profit, count)) in profits.iter().enumerate().filter(|(_, one)| one.1 > 0) {
            let (nation, year) = (place / YEAR_STARTS.len(), place % YEAR_STARTS.len());
            // Years come in descending order.
            let key = (arrays.partners.nation_name[nation].as_str(), -(year as i128));
            let total = totals.entry(key).or_default();
            total.0 += i128::from(*profit);
            total.1 += count;
            matches += count;
        }
    }
    let row = |((nation, year), (profit, _)): (&(&str, i128), &(i128, u64))| {
        vec![text(nation.as_bytes()), Cell::number(FIRST_YEAR - year, 0), Cell::number(*profit, 4)]
    };
    let answer = totals.iter().map(row).collect();
    let parts = arrays.parts.name.total_bytes() + 4 * arrays.parts.rows() as u64;
    let suppliers = 4 * arrays.part_suppliers.part_key.len() as u64
        + entries * (4 + 8 + PrimaryKeyIndex::SLOT_BYTES + 4);
    let lines = 4 * rows as u64 + matches * (8 + 4 + 3 * 8 + PrimaryKeyIndex::SLOT_BYTES + 4);
    KernelRun::new(&["nation", "o_year", "sum_profit"], answer)
        .reading(rows, parts + suppliers + lines)
}

/// Returns by key whether a part is one of those that are asked for.
fn find_parts(arrays: &TpchArrays, threads: usize) -> Vec<bool> {
    let parts = &arrays.parts;
    let finder = memmem::Finder::new(WORD);
    let keys = split(parts.rows(), threads, |range| {
        let found = range.filter(|row| finder.find(parts.name.get(*row)).is_some());
        found.map(|row| parts.key[row]).collect::<Vec<_>>()
    });
    let mut is_wanted = vec![false; parts.map_places()];
    keys.iter().flatten().for_each(|key| is_wanted[*key as usize] = true);
    is_wanted
}

/// Returns key, cost and nation of what is offered of the parts.
fn collect_costs(
    arrays: &TpchArrays,
    threads: usize,
    is_wanted: &[bool],
) -> Vec<(u64, (i64, i32))> {
    let (offers, partners) = (&arrays.part_suppliers, &arrays.partners);
    let found = split(offers.part_key.len(), threads, |range| {
        let mut found = Vec::new();
        for row in range {
            let (part, supplier) = (offers.part_key[row], offers.supplier_key[row]);
            if is_wanted[part as usize]
                && let Some(place) = partners.supplier_index.row(supplier.into())
            {
                let value = (offers.supply_cost[row], partners.supplier_nation[place]);
                found.push((key_of(part, supplier), value));
            }
        }
        found
    });
    found.concat()
}

fn sum_range(
    arrays: &TpchArrays,
    is_wanted: &[bool],
    table: &CostTable,
    range: Range<usize>,
) -> Profits {
    let (lines, orders) = (&arrays.lines, &arrays.orders);
    let mut profits = [(0, 0); NATIONS * YEAR_STARTS.len()];
    for row in range {
        let part = lines.part_key[row];
        if !is_wanted[part as usize] {
            continue;
        }
        let offer = table.get(key_of(part, lines.supplier_key[row]));
        let order = orders.index.row(lines.order_key[row]);
        if let (Some((cost, nation)), Some(order)) = (offer, order) {
            let amount = lines.extended_price[row] * (100 - lines.discount[row])
                - cost * lines.quantity[row];
            let profit =
                &mut profits[nation as usize * YEAR_STARTS.len() + year_index(orders.date[order])];
            profit.0 += amount;
            profit.1 += 1;
        }
    }
    profits
}

/// Returns how many years after 1992 a day is.
#[inline]
fn year_index(day: i32) -> usize {
    YEAR_STARTS[1..].iter().map(|start| usize::from(day >= *start)).sum()
}

#[inline]
fn key_of(part: i32, supplier: i32) -> u64 {
    (u64::from(part.cast_unsigned()) << 32) | u64::from(supplier.cast_unsigned())
}

impl CostTable {
    fn new(entries: Vec<(u64, (i64, i32))>) -> Self {
        let slots = (entries.len() * 2).next_power_of_two();
        let mut table = Self { keys: vec![EMPTY; slots], values: vec![(0, 0); slots] };
        for (key, value) in entries {
            let slot = table.slot(key);
            table.keys[slot] = key;
            table.values[slot] = value;
        }
        table
    }

    /// Returns the slot of a key, or the empty one where it would be. A half of them is empty.
    #[inline]
    fn slot(&self, key: u64) -> usize {
        let mask = self.keys.len() - 1;
        let mut slot = (key.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as usize & mask;
        while self.keys[slot] != key && self.keys[slot] != EMPTY {
            slot = (slot + 1) & mask;
        }
        slot
    }

    #[inline]
    fn get(&self, key: u64) -> Option<(i64, i32)> {
        let slot = self.slot(key);
        (self.keys[slot] == key).then(|| self.values[slot])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn years_begin_on_their_first_days() {
        let years = [8_035, 8_400, 8_401, 10_226, 10_227, 10_591].map(year_index);
        assert_eq!(years, [0, 0, 1, 5, 6, 6]);
    }

    #[test]
    fn costs_are_found_by_part_and_supplier() {
        let entries = (1..500).map(|part| (key_of(part, part % 7), (i64::from(part), part % 25)));
        let table = CostTable::new(entries.collect());
        assert_eq!(table.get(key_of(20, 6)), Some((20, 20)));
        assert_eq!(table.get(key_of(20, 5)), None);
    }
}
