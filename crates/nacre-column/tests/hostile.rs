//! Damaged blocks whose checksum was made right again: whatever they hold, readers give errors or
//! wrong values, and never panic or read outside of the block.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a failed test panics where it stands")]

mod support;

use nacre_column::{Block, ColumnType, Flavour, Format, block};
use proptest::prelude::*;
use support::probe::{seal, use_everything};
use support::{LENGTHS, SPREADS, TEXT, TYPES, column, formats, is_full};

/// Where the header has numbers that lead readers: sizes, counts, width, entries, sections.
const NUMBERS_AT: [usize; 18] =
    [16, 24, 28, 32, 33, 40, 41, 44, 48, 56, 64, 68, 144, 152, 156, 164, 168, 172];

/// Encodes a column, in the format that encoding chooses if `format` is none.
fn sample(column_type: ColumnType, format: Option<Format>, rows: usize, spread: usize) -> Vec<u8> {
    let column = column(column_type, rows, SPREADS[spread], [0, 4][rows % 2]);
    let encoded = match format {
        Some(format) => block::encode_as(&column, Flavour::active(), format),
        None => block::encode(&column, Flavour::active()),
    };
    // Wide decimals may lie too far apart for a format.
    let encoded = encoded.or_else(|_| block::encode(&column, Flavour::active()));
    encoded.unwrap().bytes
}

/// Types that together meet every format and every physical class.
const SAMPLED: [ColumnType; 5] = [
    ColumnType::Integer,
    ColumnType::BigInt,
    ColumnType::Decimal { precision: 38, scale: 10 },
    ColumnType::Double,
    TEXT,
];

proptest! {
    #![proptest_config(support::cases(64, 3_000))]

    #[test]
    fn damaged_block_never_panics(
        type_index in 0..TYPES.len(),
        format_index in any::<prop::sample::Index>(),
        length in 0_usize..8,
        spread in 0_usize..3,
        bytes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..6),
        numbers in prop::collection::vec((0..NUMBERS_AT.len(), 0_usize..4, any::<u8>()), 0..3),
    ) {
        let formats = formats(TYPES[type_index]);
        let format = formats[format_index.index(formats.len())];
        let mut block = sample(TYPES[type_index], format, LENGTHS[length], spread);
        for (at, value) in bytes {
            let at = at.index(block.len());
            block[at] = value;
        }
        for (field, byte, value) in numbers {
            block[NUMBERS_AT[field] + byte] = [value, 0, 1, 0xff][usize::from(value) % 4];
        }
        seal(&mut block);
        use_everything(&block, TYPES[type_index]);
    }

    #[test]
    fn truncated_block_never_panics(
        type_index in 0..TYPES.len(),
        cut in any::<prop::sample::Index>(),
    ) {
        let block = sample(TYPES[type_index], None, 513, 1);
        let mut block = block[..cut.index(block.len())].to_vec();
        seal(&mut block);
        prop_assert!(Block::open(&block, TYPES[type_index]).is_err());
    }
}

#[test]
fn every_single_byte_of_a_header_may_have_any_value() {
    let types = if is_full() { &TYPES[..] } else { &SAMPLED[..] };
    for column_type in types.iter().copied() {
        for format in formats(column_type) {
            let block = sample(column_type, format, 65, 1);
            for at in 0..block::HEADER_BYTES {
                for value in [0, 1, 0x7f, 0x80, 0xff] {
                    let mut damaged = block.clone();
                    damaged[at] = value;
                    let is_same = damaged == block;
                    let opened = Block::open(&damaged, column_type);
                    let verified = opened.and_then(|block| block.verify());
                    assert_eq!(verified.is_ok(), is_same, "{column_type} {format:?} byte {at}");
                    seal(&mut damaged);
                    use_everything(&damaged, column_type);
                }
            }
        }
    }
}

#[test]
fn every_byte_of_a_short_payload_may_have_any_value() {
    for column_type in SAMPLED {
        for format in formats(column_type) {
            let block = sample(column_type, format, 65, 1);
            let step = if is_full() { 1 } else { 3 };
            for at in (block::HEADER_BYTES..block.len()).step_by(step) {
                for value in [0, 0x7f, 0xff] {
                    let mut damaged = block.clone();
                    damaged[at] = value;
                    seal(&mut damaged);
                    use_everything(&damaged, column_type);
                }
            }
        }
    }
}

/// A page that was lost reads as zeros, or as anything.
#[test]
fn every_4_kib_of_a_long_payload_may_be_lost() {
    const PAGE_BYTES: usize = 4_096;
    for column_type in SAMPLED {
        for format in formats(column_type) {
            let block = sample(column_type, format, 8_192 * 2 + 9, 2);
            let mut pages: Vec<usize> = (0..block.len()).step_by(PAGE_BYTES).collect();
            if !is_full() && pages.len() > 5 {
                let last = pages.len() - 1;
                pages = vec![pages[0], pages[1], pages[last / 2], pages[last - 1], pages[last]];
            }
            for start in pages {
                for value in [0, 0xff] {
                    let mut damaged = block.clone();
                    let end = damaged.len().min(start + PAGE_BYTES);
                    damaged[start.max(block::HEADER_BYTES)..end].fill(value);
                    let is_same = damaged == block;
                    let opened = Block::open(&damaged, column_type).unwrap();
                    assert_eq!(opened.verify().is_ok(), is_same, "{column_type} {format:?}");
                    seal(&mut damaged);
                    use_everything(&damaged, column_type);
                }
            }
        }
    }
}
