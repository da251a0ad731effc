//! Q19: revenue of parts that one of three conditions chooses.
//!
//! 1. `part` is scanned: a map of bytes by key says whose condition a part meets, if any.
//! 2. `lineitem` is scanned with the map; of the few lines that are left quantity, mode and
//!    instruction are looked at.
//!
//! # Source
//! [Muehlbauer16 8.3.8]

use std::ops::Range;

use super::TpchArrays;
use super::arrays::PartArrays;
use super::kernel::KernelRun;
use super::split::split;
use super::texts::padded;
use crate::workload::Cell;

/// One of the three conditions.
struct PartCondition {
    brand: [u8; 10],
    containers: [[u8; 10]; 4],
    size_max: i32,
    quantity_min: i64,
    quantity_max: i64,
}

const CONDITIONS: [PartCondition; 3] = [
    PartCondition {
        brand: padded("Brand#12"),
        containers: [padded("SM CASE"), padded("SM BOX"), padded("SM PACK"), padded("SM PKG")],
        size_max: 5,
        quantity_min: 100,
        quantity_max: 1_100,
    },
    PartCondition {
        brand: padded("Brand#23"),
        containers: [padded("MED BAG"), padded("MED BOX"), padded("MED PKG"), padded("MED PACK")],
        size_max: 10,
        quantity_min: 1_000,
        quantity_max: 2_000,
    },
    PartCondition {
        brand: padded("Brand#34"),
        containers: [padded("LG CASE"), padded("LG BOX"), padded("LG PACK"), padded("LG PKG")],
        size_max: 15,
        quantity_min: 2_000,
        quantity_max: 3_000,
    },
];

const MODES: [[u8; 10]; 2] = [padded("AIR"), padded("AIR REG")];
const INSTRUCTION: [u8; 25] = padded("DELIVER IN PERSON");

pub(super) fn run(arrays: &TpchArrays, threads: usize) -> KernelRun {
    let conditions = find_parts(&arrays.parts);
    let rows = arrays.lines.rows();
    let (mut revenue, mut count, mut candidates) = (0_i128, 0, 0);
    for range in split(rows, threads, |range| sum_range(arrays, &conditions, range)) {
        revenue += i128::from(range.revenue);
        count += range.matches;
        candidates += range.candidates;
    }
    let sum = if count > 0 { Cell::number(revenue, 4) } else { Cell::Null };
    let parts = arrays.parts.rows() as u64 * (4 + 10 + 10 + 4);
    let bytes = parts + 4 * rows as u64 + candidates * (8 + 10 + 25) + count * (8 + 8);
    KernelRun::new(&["revenue"], vec![vec![sum]]).reading(rows, bytes)
}

/// Returns by key the number of a part's condition from 1, or 0.
fn find_parts(parts: &PartArrays) -> Vec<u8> {
    let mut map = vec![0; parts.map_places()];
    for (row, brand) in parts.brand.iter().enumerate() {
        let (size, container) = (parts.size[row], &parts.container[row]);
        for (number, condition) in (1..).zip(&CONDITIONS) {
            if condition.brand == *brand
                && (1..=condition.size_max).contains(&size)
                && condition.containers.contains(container)
            {
                map[parts.key[row] as usize] = number;
            }
        }
    }
    map
}

/// What a range of lines gives; the revenue has four digits behind the point.
#[derive(Default)]
struct RangeSum {
    revenue: i64,
    matches: u64,
    /// Lines of parts that meet a condition.
    candidates: u64,
}

fn sum_range(arrays: &TpchArrays, conditions: &[u8], range: Range<usize>) -> RangeSum {
    let lines = &arrays.lines;
    let mut sum = RangeSum::default();
    for (row, part) in range.clone().zip(&lines.part_key[range]) {
        let number = conditions[*part as usize];
        if number == 0 {
            continue;
        }
        let condition = &CONDITIONS[usize::from(number) - 1];
        sum.candidates += 1;
        if (condition.quantity_min..=condition.quantity_max).contains(&lines.quantity[row])
            && MODES.contains(&lines.ship_mode[row])
            && lines.ship_instruct[row] == INSTRUCTION
        {
            sum.revenue += lines.extended_price[row] * (100 - lines.discount[row]);
            sum.matches += 1;
        }
    }
    sum
}
