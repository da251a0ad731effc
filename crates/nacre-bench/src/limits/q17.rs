//! Q17: revenue of small orders of one brand in one container.
//!
//! 1. `part` is scanned: a bitmap of the keys that match.
//! 2. `lineitem` is scanned once with the bitmap; the few lines that are left are copied.
//! 3. They are sorted by part; each part's lines are gone through twice, for the average and the
//!    sum.
//!
//! # Source
//! [Muehlbauer16 8.3.6]

use std::ops::Range;

use super::TpchArrays;
use super::arrays::PartArrays;
use super::kernel::{KernelRun, quotient};
use super::split::split;
use super::texts::padded;
use crate::workload::Cell;

const BRAND: [u8; 10] = padded("Brand#23");
const CONTAINER: [u8; 10] = padded("MED BOX");

/// A line of one of the parts.
#[derive(Clone, Copy)]
struct PartLine {
    part: i32,
    quantity: i64,
    price: i64,
}

pub(super) fn run(arrays: &TpchArrays, threads: usize) -> KernelRun {
    let bitmap = find_parts(&arrays.parts);
    let rows = arrays.lines.rows();
    let mut lines = split(rows, threads, |range| copy_range(arrays, &bitmap, range)).concat();
    lines.sort_unstable_by_key(|line| line.part);
    let (mut sum, mut count) = (0_i128, 0);
    for of_part in lines.chunk_by(|a, b| a.part == b.part) {
        let total: i64 = of_part.iter().map(|line| line.quantity).sum();
        // Below a fifth of the average: five times as much, times the lines, is below the total.
        let limit = 5 * of_part.len() as i64;
        for line in of_part.iter().filter(|line| line.quantity * limit < total) {
            sum += i128::from(line.price);
            count += 1;
        }
    }
    let yearly = if count > 0 { quotient(sum, 2, 7) } else { Cell::Null };
    let parts = arrays.parts.rows() as u64 * (4 + 10 + 10);
    let bytes = parts + 4 * rows as u64 + lines.len() as u64 * (8 + 8);
    KernelRun::new(&["avg_yearly"], vec![vec![yearly]]).reading(rows, bytes)
}

/// Returns a bit for each key.
fn find_parts(parts: &PartArrays) -> Vec<u64> {
    let mut bitmap = vec![0; parts.map_places() / 64 + 1];
    for (row, brand) in parts.brand.iter().enumerate() {
        if *brand == BRAND && parts.container[row] == CONTAINER {
            let key = parts.key[row] as usize;
            bitmap[key / 64] |= 1 << (key % 64);
        }
    }
    bitmap
}

fn copy_range(arrays: &TpchArrays, bitmap: &[u64], range: Range<usize>) -> Vec<PartLine> {
    let lines = &arrays.lines;
    let mut copied = Vec::new();
    for (row, part) in range.clone().zip(&lines.part_key[range]) {
        let key = *part as usize;
        if bitmap[key / 64] & (1 << (key % 64)) != 0 {
            let (quantity, price) = (lines.quantity[row], lines.extended_price[row]);
            copied.push(PartLine { part: *part, quantity, price });
        }
    }
    copied
}
