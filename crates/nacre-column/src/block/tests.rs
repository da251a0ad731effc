//! Layout: `docs/layout.md` against the code, and blocks that are not blocks.

use super::header::{self, FIELDS, Field, checksum};
use super::*;
use crate::{
    BlockError, BlockErrorKind, COLUMN_TYPE_BYTES, ColumnBuffer, ColumnType, Flavour, Format,
    SMA_BYTES, sma,
};

const LAYOUT: &str = include_str!("../../../../docs/layout.md");

/// Returns the cells of the first table under `heading` whose first column is called `first`.
fn table(heading: &str, first: &str) -> Vec<Vec<&'static str>> {
    let after = LAYOUT.split_once(heading).unwrap_or_else(|| panic!("no {heading}")).1;
    let rows = after.lines().skip_while(|line| !line.starts_with(&format!("| {first} |")));
    let rows = rows.skip(2).take_while(|line| line.starts_with('|'));
    rows.map(|line| line.trim_matches('|').split('|').map(str::trim).collect()).collect()
}

/// Returns the (offset, bytes, name) rows of the drawn structure; checks that they leave no gap.
pub(crate) fn drawn(heading: &str, bytes: usize) -> Vec<(usize, usize, &'static str)> {
    let fields: Vec<_> = table(heading, "offset")
        .iter()
        .map(|cells| (cells[0].parse().unwrap(), cells[1].parse().unwrap(), cells[2]))
        .collect();
    let mut end = 0;
    for (offset, bytes, name) in &fields {
        assert_eq!(*offset, end, "{heading}: {name}");
        end += bytes;
    }
    assert_eq!(end, bytes, "{heading}: size");
    fields
}

#[test]
fn header_is_as_drawn() {
    let code = FIELDS.map(|Field { name, offset, bytes }| (offset, bytes, name));
    assert_eq!(drawn("### Block header", HEADER_BYTES), code);
    assert_eq!(&BLOCK_MAGIC.to_le_bytes(), b"NacreBlk");
    assert!(LAYOUT.contains("characters `NacreBlk`"));
    assert_eq!(table("### Block header", "offset")[1][3], BLOCK_VERSION.to_string());
    assert_eq!(table("### Block header", "offset")[2][3], HEADER_BYTES.to_string());
}

#[test]
fn sma_is_as_drawn() {
    let code = [
        (sma::ROWS, 4, "rows"),
        (sma::NULL_COUNT, 4, "null_count"),
        (sma::FLAGS, 1, "flags"),
        (sma::KIND, 1, "kind"),
        (sma::MIN_BYTES, 1, "min_bytes"),
        (sma::MAX_BYTES, 1, "max_bytes"),
        (sma::RESERVED, 4, "reserved"),
        (sma::MIN, sma::PREFIX_BYTES, "min"),
        (sma::MAX, sma::PREFIX_BYTES, "max"),
        (sma::SUM, 16, "sum"),
    ];
    assert_eq!(drawn("### Small materialized aggregates", SMA_BYTES), code);
}

#[test]
fn column_types_are_as_drawn() {
    let drawn = drawn("### Column type", COLUMN_TYPE_BYTES);
    assert_eq!(drawn[1], (1, 1, "precision"));
    let bytes = ColumnType::Decimal { precision: 7, scale: 3 }.to_bytes();
    assert_eq!((bytes[0], bytes[1], bytes[2]), (5, 7, 3));
    for cells in table("### Column type", "type_tag") {
        let tag: u8 = cells[0].parse().unwrap();
        let mut bytes = [tag, 0, 0, 0, 0, 0, 0, 0];
        bytes[1] = u8::from(tag == 5);
        let column_type = ColumnType::from_bytes(bytes).unwrap();
        let name = column_type.to_string().replace("(1,0)", "(p,s)").replace("(0)", "(n)");
        assert_eq!(name, cells[1]);
        assert_eq!(column_type.plain_bytes().to_string(), cells[2], "{name}");
    }
}

#[test]
fn formats_are_as_drawn() {
    for cells in table("## Block", "format") {
        let tag: u8 = cells[1].parse().unwrap();
        let format = Format::from_tag(tag).unwrap();
        assert!(cells[0].starts_with(format.name()), "{cells:?}");
    }
}

fn block_of(values: impl IntoIterator<Item = Option<i64>>) -> Vec<u8> {
    let mut column = ColumnBuffer::new(ColumnType::Integer);
    for value in values {
        match value {
            Some(value) => column.push_int(value),
            None => column.push_null(),
        }
    }
    encode(&column, Flavour::active()).unwrap().bytes
}

/// The layout again, byte by byte and by hand, so that reader and writer cannot be wrong alike.
#[test]
fn bytes_of_a_small_block_are_those_drawn() {
    let mut column = ColumnBuffer::new(ColumnType::Integer);
    column.push_int(-3);
    column.push_null();
    column.push_int(4);
    let bytes = encode_as(&column, Flavour::active(), Format::StaticBp).unwrap().bytes;
    let mut expected = [0_u8; 192 + 64 + 192];
    expected[..8].copy_from_slice(b"NacreBlk");
    expected[8] = 2;
    expected[10] = 192;
    expected[12..16].copy_from_slice(&bytes[12..16]);
    expected[16..18].copy_from_slice(&448_u16.to_le_bytes());
    expected[24] = 3;
    expected[28] = 1;
    expected[32] = 3;
    expected[40] = 2;
    expected[41] = 3;
    expected[48..64].copy_from_slice(&(-3_i128).to_le_bytes());
    expected[64] = 3;
    expected[68] = 1;
    expected[72] = 1 | 2 | 4 | 16 | 32;
    expected[73] = 1;
    expected[74] = 16;
    expected[75] = 16;
    expected[80..96].copy_from_slice(&(-3_i128).to_le_bytes());
    expected[104] = 4;
    expected[128] = 1;
    expected[144] = 192;
    expected[148] = 8;
    expected[152..154].copy_from_slice(&256_u16.to_le_bytes());
    expected[156] = 192;
    // Rows 0 and 2 are there. Row 2 is lane 2, position 0: the key 7 is in byte 8 of line 0.
    expected[192] = 0b101;
    expected[256 + 8] = 7;
    assert_eq!(bytes, expected);
}

#[test]
fn flipped_byte_anywhere_is_found() {
    let bytes = block_of((0..100).map(|i| (i % 7 != 0).then_some(i)));
    for at in 0..bytes.len() {
        let mut damaged = bytes.clone();
        damaged[at] ^= 0x20;
        let result = Block::open(&damaged, ColumnType::Integer).and_then(|block| block.verify());
        assert!(result.is_err(), "byte {at}");
    }
}

#[test]
fn checksum_error_shows_both() {
    let mut bytes = block_of((0..1_000).map(Some));
    let stored = checksum(&bytes);
    let last = bytes.len() - 1;
    bytes[last] ^= 1;
    let computed = checksum(&bytes);
    let error = Block::open(&bytes, ColumnType::Integer).unwrap().verify().unwrap_err();
    assert_eq!(
        error.to_string(),
        format!("checksum {stored:#010x} does not match {computed:#010x}")
    );
    assert_eq!(error.kind(), BlockErrorKind::Damaged);
}

#[test]
fn every_shorter_or_longer_slice_is_refused() {
    let bytes = block_of((0..1_000).map(Some));
    for len in 0..bytes.len() {
        assert!(Block::open(&bytes[..len], ColumnType::Integer).is_err(), "{len} bytes");
    }
    let longer = [&bytes[..], &[0; 64]].concat();
    assert_eq!(
        Block::open(&longer, ColumnType::Integer).map(|_| ()),
        Err(BlockError::Length { bytes: longer.len() as u64, expected: bytes.len() as u64 })
    );
}

#[test]
fn newer_version_is_unsupported_and_not_damaged() {
    let mut bytes = block_of([Some(1)]);
    bytes[header::VERSION.offset] = 3;
    let error = Block::open(&bytes, ColumnType::Integer).unwrap_err();
    assert_eq!(error, BlockError::Version { found: 3, known: 2 });
    assert_eq!(error.kind(), BlockErrorKind::Unsupported);
}

#[test]
fn block_of_another_type_is_refused() {
    let bytes = block_of([Some(1)]);
    let error = Block::open(&bytes, ColumnType::Date).unwrap_err();
    assert_eq!(error.to_string(), "block holds type integer, not the column's date");
}

#[test]
fn value_outside_of_its_type_is_refused() {
    let mut column = ColumnBuffer::new(ColumnType::SmallInt);
    column.push_int(40_000);
    let error = encode(&column, Flavour::active()).unwrap_err();
    assert_eq!(error.to_string(), "value 40000 is outside of smallint: -32768 to 32767");
    let mut column = ColumnBuffer::new(ColumnType::Decimal { precision: 20, scale: 2 });
    column.push_int128(10_i128.pow(20));
    assert_eq!(encode(&column, Flavour::active()).unwrap_err().kind(), BlockErrorKind::Misuse);
}

#[test]
fn format_that_cannot_hold_the_type_is_refused() {
    let column = ColumnBuffer::new(ColumnType::Double);
    let error = encode_as(&column, Flavour::active(), Format::StaticBp).unwrap_err();
    assert_eq!(
        error.to_string(),
        "a column of type double precision cannot be stored in format static_bp"
    );
}

#[test]
fn text_that_is_not_utf8_is_refused() {
    for format in [Format::Plain, Format::Dictionary] {
        let mut column = ColumnBuffer::new(ColumnType::Varchar { max_chars: None });
        column.push_bytes(b"\xff");
        let error = encode_as(&column, Flavour::active(), format).unwrap_err();
        assert_eq!(error.to_string(), "heap byte 0 is 255, not UTF-8");
        // A character split over two strings.
        let mut column = ColumnBuffer::new(ColumnType::Varchar { max_chars: None });
        column.push_bytes(b"\xc3");
        column.push_bytes(b"\xa9");
        assert!(encode_as(&column, Flavour::active(), format).is_err());
    }
}
