//! Ranks formats for a block of numbers by what they would take.
//!
//! 1. One pass over the keys measures each group of 128 rows: the bits of its keys, of its keys
//!    less the least of them, and of their differences to those four rows before; and how often
//!    neighbours differ. From these follow the bytes of most formats exactly.
//! 2. Samples estimate what outliers cost (every eighth group) and how many keys are distinct
//!    (1,024 keys).
//! 3. Rank 0 is the format with access to single rows that has the least bytes times a weight
//!    that tells how fast it reads. Further ranks count bytes above all, so that the second
//!    replica is small.
//!
//! # Source
//! [Zarubin22 section 3.3.1] which format suits which data; section 4.2.1: replicas in different
//! formats, chosen by access pattern.

use nacre_simd::{Fill, Flavour, Simd};

use super::ALIGNMENT;
use crate::format::for_bp::reference_bytes;
use crate::format::groups::{GROUP_ROWS, GroupBits, directory_bytes};
use crate::format::lanes::{Groups128, width_of};
use crate::format::narrow::bytes_of_width;
use crate::format::simd_fastpfor;
use crate::format::static_bp;
use crate::{ColumnType, Format};

/// Of this many groups one is looked at to see what outliers cost.
const SPLIT_EVERY: usize = 8;

/// Keys looked at to see how many are distinct.
const SAMPLE_KEYS: usize = 1_024;

/// What a format would take, in bytes.
struct Candidate {
    format: Format,
    bytes: usize,
}

impl Candidate {
    /// Returns by how much bytes count, in percent, for the replica of rank 0 and for others.
    ///
    /// A block in the format of rank 0 is read in any way, so what unpacks in registers of 512 bits
    /// and finds a row in two loads may be larger.
    fn weights(&self) -> (usize, usize) {
        match self.format {
            Format::Plain | Format::StaticBp => (100, 100),
            Format::DynamicBp => (130, 100),
            Format::ForBp => (140, 102),
            Format::SimdBp128 => (140, 105),
            Format::Dictionary => (150, 115),
            Format::Rle => (150, 100),
            Format::DeltaBp => (200, 105),
            Format::SimdFastPfor => (200, 115),
            _ => (400, 200),
        }
    }
}

/// Returns the formats for `keys` of `width` bits of a column of this type, best first.
///
/// Plain wins a tie, since it needs no decoding; booleans are never plain.
pub(super) fn rank_keys(
    flavour: Flavour,
    column_type: ColumnType,
    keys: &[u64],
    width: usize,
) -> Vec<Format> {
    let mut candidates = candidates(flavour, column_type, keys, width);
    candidates.retain(|candidate| {
        let is_wasteful = column_type == ColumnType::Boolean && candidate.format == Format::Plain;
        candidate.format.can_hold(column_type) && !is_wasteful
    });
    // Stable, so that the first of equals is before the others: plain, then static_bp.
    candidates.sort_by_key(|candidate| candidate.bytes * candidate.weights().1);
    let random_access = candidates.iter().enumerate().filter(|(_, c)| c.format.is_random_access());
    let best = random_access.min_by_key(|(_, candidate)| {
        (candidate.bytes * candidate.weights().0, candidate.format.tag())
    });
    if let Some((best, _)) = best {
        candidates[..=best].rotate_right(1);
    }
    candidates.into_iter().map(|candidate| candidate.format).collect()
}

/// Returns what each format would take; plain and static_bp first.
fn candidates(
    flavour: Flavour,
    column_type: ColumnType,
    keys: &[u64],
    width: usize,
) -> Vec<Candidate> {
    let rows = keys.len();
    let groups = measure(flavour, keys);
    let aligned = |sections: &[usize]| -> usize {
        sections.iter().map(|bytes| bytes.next_multiple_of(ALIGNMENT)).sum()
    };
    let lines = |width: &dyn Fn(&Measure) -> usize| -> usize {
        groups.iter().map(width).sum::<usize>() * Groups128::LINE_BYTES
    };
    let has_falls = groups.iter().any(|group| group.has_falls);
    let delta_width = |group: &Measure| {
        width_of(if has_falls { group.folded } else { group.rises }).min(delta_width_max(width))
    };
    let dynamic = lines(&|group| group.keys.width());
    let directory = directory_bytes(rows);
    let references = groups.len() * reference_bytes(width);
    let runs = groups.iter().map(|group| group.changes).sum::<usize>() + 1;
    let distinct = distinct(keys);
    let code_width = width_of(distinct.saturating_sub(1) as u64);
    let row_width = width_of(rows.saturating_sub(1) as u64);
    let packed = static_bp::packed_bytes;
    let bytes = [
        (Format::Plain, aligned(&[rows * column_type.plain_bytes()])),
        (Format::StaticBp, aligned(&[packed(rows, width)])),
        (
            Format::Dictionary,
            aligned(&[packed(rows, code_width), distinct * bytes_of_width(width)]),
        ),
        (Format::DynamicBp, aligned(&[dynamic, directory])),
        (Format::SimdBp128, aligned(&[dynamic + groups.len(), directory / 16])),
        (Format::SimdFastPfor, aligned(&[split_bytes(flavour, keys), directory])),
        (Format::DeltaBp, aligned(&[lines(&delta_width), directory, references / 4])),
        (
            Format::ForBp,
            aligned(&[
                lines(&|group| width_of(group.keys.max - group.keys.min)),
                directory,
                references,
            ]),
        ),
        (Format::Rle, aligned(&[packed(runs, width), packed(runs, row_width)])),
    ];
    bytes.into_iter().map(|(format, bytes)| Candidate { format, bytes }).collect()
}

/// Returns the bits of the arithmetic that deltas are calculated in.
fn delta_width_max(width: usize) -> usize {
    if width <= 32 { 32 } else { 64 }
}

/// Estimates the bytes of the groups of SIMD-FastPFOR from every eighth of them.
fn split_bytes(flavour: Flavour, keys: &[u64]) -> usize {
    let splits = simd_fastpfor::splits(flavour, keys, SPLIT_EVERY);
    let bytes: usize = splits.iter().map(|split| split.bytes()).sum();
    (bytes * keys.len().div_ceil(GROUP_ROWS)).checked_div(splits.len()).unwrap_or(0)
}

/// Estimates how many keys are distinct: of `d` keys that are equally frequent, `n` picks meet
/// `d * (1 - exp(-n / d))`. Where all picks differ, so may all keys.
fn distinct(keys: &[u64]) -> usize {
    let step = keys.len().div_ceil(SAMPLE_KEYS).max(1);
    // One of each `step`, not always the same: keys may repeat with a period.
    let pick = |(index, keys): (usize, &[u64])| keys[index * 7_919 % keys.len()];
    let mut sample: Vec<u64> = keys.chunks(step).enumerate().map(pick).collect();
    let picks = sample.len() as f64;
    sample.sort_unstable();
    sample.dedup();
    if step == 1 {
        return sample.len();
    }
    let met = |distinct: usize| distinct as f64 * (1.0 - (-picks / distinct as f64).exp());
    let (mut low, mut high) = (sample.len(), keys.len());
    while low < high {
        let middle = (low + high) / 2;
        if met(middle) < sample.len() as f64 { low = middle + 1 } else { high = middle }
    }
    low
}

/// What the keys of one group say about how they can be packed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Measure {
    keys: GroupBits,
    /// All differences to the key four rows before, joined by OR.
    rises: u64,
    /// The same with the sign in the lowest bit.
    folded: u64,
    /// Whether a difference is negative.
    has_falls: bool,
    /// Keys that differ from that of the row before.
    changes: usize,
}

fn measure(flavour: Flavour, keys: &[u64]) -> Vec<Measure> {
    let mut groups = vec![Measure::default(); keys.len().div_ceil(GROUP_ROWS)];
    flavour.fill(MeasureGroups { keys }, &mut groups);
    groups
}

struct MeasureGroups<'a> {
    keys: &'a [u64],
}

impl Fill for MeasureGroups<'_> {
    type Out = [Measure];

    #[inline(always)]
    fn fill<S: Simd>(self, _: S, out: &mut [Measure]) {
        for (index, out) in out.iter_mut().enumerate() {
            let start = index * GROUP_ROWS;
            let end = self.keys.len().min(start + GROUP_ROWS);
            *out = measure_group(self.keys, start, end);
        }
    }
}

#[inline(always)]
fn measure_group(all: &[u64], start: usize, end: usize) -> Measure {
    let keys = GroupBits::of(&all[start..end]);
    // The first rows of the block have none before them.
    let with_fourth = &all[start.max(4).min(end)..end];
    let fourths = &all[start.max(4).min(end) - start.max(4).min(end).min(4)..];
    let (mut rises, mut folded, mut falls) = (0, 0, 0_u64);
    for (key, before) in with_fourth.iter().zip(fourths) {
        let rise = key.wrapping_sub(*before);
        rises |= rise;
        folded |= rise << 1 ^ (rise as i64 >> 63) as u64;
        falls |= u64::from(key < before);
    }
    let with_last = &all[start.max(1).min(end)..end];
    let lasts = &all[start.saturating_sub(1)..];
    let mut changes = 0_u64;
    for (key, before) in with_last.iter().zip(lasts) {
        changes += u64::from(key != before);
    }
    Measure { keys, rises, folded, has_falls: falls != 0, changes: changes as usize }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ranking(column_type: ColumnType, keys: &[u64]) -> Vec<Format> {
        let width = width_of(keys.iter().copied().max().unwrap_or(0));
        rank_keys(Flavour::active(), column_type, keys, width)
    }

    /// Numbers that look random and repeat from run to run.
    fn random(rows: usize, bits: u32) -> Vec<u64> {
        let mut state = 1_u64;
        let mut next = || {
            state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
            state >> (64 - bits)
        };
        (0..rows).map(|_| next()).collect()
    }

    #[test]
    fn flavours_measure_alike() {
        let mut keys = random(1_000, 40);
        keys.extend(0..500);
        keys.extend([7; 300]);
        let expected = measure(Flavour::Scalar, &keys);
        for flavour in Flavour::available() {
            assert_eq!(measure(flavour, &keys), expected);
        }
        let changes: usize = expected.iter().map(|group| group.changes).sum();
        assert_eq!(changes, keys.windows(2).filter(|pair| pair[0] != pair[1]).count());
        assert!(measure(Flavour::Scalar, &[]).is_empty());
        assert_eq!(measure(Flavour::Scalar, &[5])[0].keys.max, 5);
    }

    #[test]
    fn even_widths_are_packed_statically_and_outliers_dynamically() {
        let mut keys = random(65_536, 16);
        assert_eq!(ranking(ColumnType::BigInt, &keys)[0], Format::StaticBp);
        // One outlier in a thousand rows.
        keys.iter_mut().step_by(1_000).for_each(|key| *key = 1 << 31);
        assert_eq!(ranking(ColumnType::BigInt, &keys)[0], Format::DynamicBp);
        // One in ten: too many for whole groups.
        keys.iter_mut().step_by(10).for_each(|key| *key |= 1 << 31);
        let ranking = ranking(ColumnType::BigInt, &keys);
        assert_eq!(ranking[..2], [Format::StaticBp, Format::SimdFastPfor]);
    }

    #[test]
    fn slow_rise_is_kept_as_references_or_deltas() {
        let keys: Vec<u64> = (0..65_536).map(|row| row * 16 + row % 3).collect();
        let ranking = ranking(ColumnType::BigInt, &keys);
        assert_eq!(ranking[0], Format::ForBp);
        assert_eq!(ranking[1], Format::DeltaBp);
    }

    #[test]
    fn wide_keys_all_different_stay_plain() {
        assert_eq!(ranking(ColumnType::BigInt, &random(65_536, 64))[0], Format::Plain);
        assert_eq!(ranking(ColumnType::Boolean, &[1, 0, 1])[0], Format::StaticBp);
        assert!(!ranking(ColumnType::Boolean, &[1, 0, 1]).contains(&Format::Plain));
        assert!(!ranking(ColumnType::BigInt, &[]).is_empty());
    }

    #[test]
    fn distinct_keys_are_estimated_within_a_factor() {
        assert_eq!(distinct(&[]), 0);
        assert_eq!(distinct(&[3; 65_536]), 1);
        let few: Vec<u64> = (0..65_536).map(|row| row * 7_919 % 100).collect();
        assert!((50..=200).contains(&distinct(&few)));
        let all: Vec<u64> = (0..65_536).collect();
        assert!(distinct(&all) > 4_000);
    }
}
