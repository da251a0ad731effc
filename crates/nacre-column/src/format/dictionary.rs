//! Ordered dictionary: the distinct strings in ascending byte order, and a code per row.
//!
//! 1. A sample tells whether there are few distinct strings; if not, encoding gives up early.
//! 2. A hash table gives every row the number of its string in the order of first appearance.
//! 3. The distinct strings alone are sorted; ranks replace numbers and are bit-packed.
//!
//! Codes are ordered as the strings are, so a comparison with a constant becomes one of codes.
//!
//! # Invariants
//! 1. Distinct strings ascend strictly; there are at least one (if there is a row) and at most
//!    `rows`. Every code is below their number.
//! 2. A null row has the code 0; the empty string of a null row is not in the dictionary, unless
//!    all rows are null: then it is the only one.
//!
//! # Layout
//! Section `values`: codes as in [`static_bp`](super::static_bp) with the least width that holds
//! the greatest code, base 0. Sections `offsets` and `heap`: the distinct strings, as in
//! [`plain`](super::plain).

pub(crate) mod distinct;
pub(crate) mod keys;

use distinct::Distinct;

use super::lanes;
use crate::buffer::{Bitmap, ByteValues};

/// Rows looked at before it is decided to go on.
const SAMPLE_ROWS: usize = 1_024;

/// Neighbouring rows taken together in the sample, so that sorted columns are recognised too.
const SAMPLE_RUN_ROWS: usize = 64;

/// More distinct rows of a full sample than these: give up. A column with half as many strings as
/// rows, at random, has 1,008 of 1,024 in the sample; one with a quarter as many has 992.
const SAMPLE_DISTINCT_MAX: usize = 1_008;

/// Returns the bits of a code of a dictionary of `entries` strings.
pub(crate) fn code_width(entries: usize) -> usize {
    lanes::width_of(entries.saturating_sub(1) as u64)
}

/// A dictionary ready to be written.
pub(crate) struct Dictionary {
    /// Rows at which a string appeared for the first time, ordered by the string.
    pub(crate) first_rows: Vec<u32>,
    /// Code of each row.
    pub(crate) codes: Vec<u32>,
    /// Bytes of the distinct strings together.
    pub(crate) heap_bytes: usize,
}

/// Builds the dictionary of `values`; `None` if there are more than `entries_max` distinct strings
/// or `is_sampled` and a sample shows that there are too many for it to be worth while.
pub(crate) fn build(
    values: &ByteValues,
    validity: Option<&Bitmap>,
    entries_max: usize,
    is_sampled: bool,
) -> Option<Dictionary> {
    let rows = values.len();
    if is_sampled && rows > 2 * SAMPLE_ROWS && !sample_has_few(values, validity) {
        return None;
    }
    let mut distinct = Distinct::new(values, rows);
    let mut numbers = Vec::with_capacity(rows);
    for row in 0..rows {
        if validity.is_some_and(|bits| !bits.get(row)) {
            numbers.push(u32::MAX);
            continue;
        }
        let number = distinct.number_of(row)?;
        if distinct.entries.len() > entries_max {
            return None;
        }
        numbers.push(number);
    }
    if distinct.entries.is_empty() && rows > 0 {
        // All rows are null and hold the empty string.
        return Some(Dictionary { first_rows: vec![0], codes: vec![0; rows], heap_bytes: 0 });
    }
    Some(ranked(&distinct, numbers))
}

/// Sorts the distinct strings and turns numbers into ranks; `u32::MAX` (null) becomes 0.
fn ranked(distinct: &Distinct<'_, ByteValues>, numbers: Vec<u32>) -> Dictionary {
    let mut order: Vec<(u64, u32)> = Vec::with_capacity(distinct.entries.len());
    let bytes = |number: u32| distinct.values.get(distinct.entries[number as usize].row as usize);
    for number in 0..distinct.entries.len() as u32 {
        order.push((leading_bytes(bytes(number)), number));
    }
    order.sort_unstable_by(|left, right| {
        left.0.cmp(&right.0).then_with(|| bytes(left.1).cmp(bytes(right.1)))
    });
    let mut ranks = vec![0; order.len()];
    let mut first_rows = Vec::with_capacity(order.len());
    let mut heap_bytes = 0;
    for (rank, (_, number)) in order.iter().enumerate() {
        ranks[*number as usize] = rank as u32;
        let entry = &distinct.entries[*number as usize];
        first_rows.push(entry.row);
        heap_bytes += entry.len as usize;
    }
    let mut codes = numbers;
    for code in &mut codes {
        *code = ranks.get(*code as usize).copied().unwrap_or(0);
    }
    Dictionary { first_rows, codes, heap_bytes }
}

/// Tells whether a sample of runs spread over all rows repeats itself enough.
fn sample_has_few(values: &ByteValues, validity: Option<&Bitmap>) -> bool {
    let rows = values.len();
    let runs = SAMPLE_ROWS / SAMPLE_RUN_ROWS;
    let mut distinct = Distinct::new(values, SAMPLE_ROWS);
    for run in 0..runs {
        let start = run * (rows - SAMPLE_RUN_ROWS) / (runs - 1);
        for row in start..start + SAMPLE_RUN_ROWS {
            if validity.is_some_and(|bits| !bits.get(row)) {
                continue;
            }
            if distinct.number_of(row).is_none() || distinct.entries.len() > SAMPLE_DISTINCT_MAX {
                return false;
            }
        }
    }
    true
}

/// Returns the first eight bytes as a number that is ordered as they are.
#[inline]
pub(crate) fn leading_bytes(value: &[u8]) -> u64 {
    if let Some(first) = value.first_chunk() {
        return u64::from_be_bytes(*first);
    }
    let mut bytes = [0; 8];
    bytes[..value.len()].copy_from_slice(value);
    u64::from_be_bytes(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn strings<'a>(values: impl IntoIterator<Item = &'a str>) -> ByteValues {
        let mut strings = ByteValues::default();
        for value in values {
            strings.push(value.as_bytes());
        }
        strings
    }

    #[test]
    fn codes_are_ranks() {
        let values = strings(["pear", "apple", "pear", "", "fig"]);
        let dictionary = build(&values, None, 5, true).unwrap();
        assert_eq!(dictionary.codes, [3, 1, 3, 0, 2]);
        assert_eq!(dictionary.first_rows, [3, 1, 4, 0]);
        assert_eq!(dictionary.heap_bytes, 12);
    }

    #[test]
    fn null_rows_add_no_string() {
        let values = strings(["b", "", "a"]);
        let mut validity = Bitmap::default();
        [true, false, true].into_iter().for_each(|bit| validity.push(bit));
        let dictionary = build(&values, Some(&validity), 3, true).unwrap();
        assert_eq!(dictionary.codes, [1, 0, 0]);
        assert_eq!(dictionary.heap_bytes, 2);
    }

    #[test]
    fn strings_that_differ_in_one_byte_get_different_numbers() {
        for len in 0..40 {
            let mut texts = vec!["x".repeat(len)];
            for at in 0..len {
                let mut text = "x".repeat(len);
                text.replace_range(at..=at, "y");
                texts.push(text);
            }
            texts.push("x".repeat(len + 1));
            let values = strings(texts.iter().map(String::as_str));
            let dictionary = build(&values, None, texts.len(), false).unwrap();
            assert_eq!(dictionary.first_rows.len(), texts.len(), "length {len}");
        }
    }

    #[test]
    fn unique_strings_are_given_up() {
        let texts: Vec<String> = (0..10_000).map(|i| format!("customer {i}")).collect();
        let values = strings(texts.iter().map(String::as_str));
        assert!(build(&values, None, 10_000, true).is_none());
        assert!(build(&values, None, 9_999, false).is_none());
        assert!(build(&values, None, 10_000, false).is_some());
    }

    #[test]
    fn sorted_strings_in_runs_are_not_given_up() {
        let texts: Vec<String> = (0..60_000).map(|i| format!("order {:06}", i / 4)).collect();
        let values = strings(texts.iter().map(String::as_str));
        let dictionary = build(&values, None, 30_000, true).unwrap();
        assert_eq!(dictionary.first_rows.len(), 15_000);
        assert_eq!(dictionary.codes[59_999], 14_999);
    }

    #[test]
    fn strings_that_collide_too_often_are_given_up() {
        let texts: Vec<String> = (0..500).map(|i| i.to_string()).collect();
        let values = strings(texts.iter().map(String::as_str));
        let mut distinct = Distinct::new(&values, values.len());
        distinct.probes_left = 2;
        assert!((0..500).any(|row| distinct.number_of(row).is_none()));
        assert_eq!(distinct.probes_left, 0);
    }

    #[test]
    fn leading_bytes_order_as_strings_do() {
        let mut texts = ["", "a", "ab", "b", "\u{7f}", "aaaaaaaab", "aaaaaaaa"];
        texts.sort_unstable();
        assert!(texts.is_sorted_by_key(|text| leading_bytes(text.as_bytes())));
    }
}
