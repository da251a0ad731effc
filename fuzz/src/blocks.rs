//! Blocks: what was encoded decodes to itself, and no damage makes a reader panic.
//!
//! 1. The front of the input describes a column: type, rows, nulls and how values come about.
//! 2. The column is encoded in the target's format, decoded and compared.
//! 3. The rest of the input is written over the block, whose checksum is then made right again;
//!    everything is asked of it.

use nacre_column::{
    Block, BlockError, ByteValues, COLUMN_TYPE_BYTES, ColumnBuffer, ColumnType, Flavour, Format,
    Physical, Values, block,
};

use super::input::Input;
use super::probe::{seal, use_everything};

const TEXT: ColumnType = ColumnType::Varchar { max_chars: None };

/// Types of numbers, one of each physical class and width.
const NUMBERS: [ColumnType; 7] = [
    ColumnType::Boolean,
    ColumnType::SmallInt,
    ColumnType::Integer,
    ColumnType::BigInt,
    ColumnType::Decimal { precision: 38, scale: 4 },
    ColumnType::Real,
    ColumnType::Double,
];

/// Most rows of a short column, and of the long ones that cross a vector.
const ROWS_MAX: [usize; 2] = [700, 9_000];

fn rows(input: &mut Input<'_>) -> usize {
    let is_long = input.number(1) % 16 == 1;
    input.below(ROWS_MAX[usize::from(is_long)] + 1)
}

/// Fuzzes numbers in `format`.
pub fn numbers(format: Format, data: &[u8]) {
    let mut input = Input::new(data);
    let types: Vec<ColumnType> =
        NUMBERS.into_iter().filter(|column_type| format.can_hold(*column_type)).collect();
    let column_type = types[input.below(types.len())];
    let rows = rows(&mut input);
    let (seed, mask, run, nulls) =
        (input.number(8), input.number(8), 1 + input.below(64), input.number(1));
    let range = column_type.int_range();
    let mut column = ColumnBuffer::new(column_type);
    let mut state = seed;
    for row in 0..rows {
        if row % run == 0 {
            state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        }
        let value = state.rotate_left(23) & mask;
        match (column_type.physical(), range) {
            _ if nulls > 0 && (row as u64).is_multiple_of(nulls) => column.push_null(),
            (Physical::Float32, _) => column.push_float32(f32::from_bits(value as u32)),
            (Physical::Float64, _) => column.push_float64(f64::from_bits(value)),
            (Physical::Int128, Some((min, max))) => {
                column.push_int128((i128::from(value as i64) << (seed % 60)).clamp(min, max));
            }
            (_, Some((min, max))) => {
                column.push_int(i128::from(value as i64).clamp(min, max) as i64);
            }
            _ => {}
        }
    }
    encode_and_damage(&column, format, &mut input);
}

/// Fuzzes strings in `format`.
pub fn strings(format: Format, data: &[u8]) {
    let mut input = Input::new(data);
    let column_type = [TEXT, ColumnType::Bytea][input.below(2)];
    let rows = rows(&mut input);
    let (step, length, nulls) = (input.below(256), input.below(64), input.number(1));
    let source = input.rest();
    let mut column = ColumnBuffer::new(column_type);
    for row in 0..rows {
        if nulls > 0 && (row as u64).is_multiple_of(nulls) {
            column.push_null();
            continue;
        }
        let start = if source.is_empty() { 0 } else { row * step % source.len() };
        let piece = &source[start..source.len().min(start + (length + row) % 80)];
        match column_type {
            ColumnType::Bytea => column.push_bytes(piece),
            _ => column.push_bytes(String::from_utf8_lossy(piece).as_bytes()),
        }
    }
    encode_and_damage(&column, format, &mut input);
}

/// Fuzzes any bytes as a block, with the first fields of its header made right.
pub fn any_block(data: &[u8]) {
    let mut bytes = data.to_vec();
    if bytes.len() > block::HEADER_BYTES {
        bytes.truncate(bytes.len() / 64 * 64);
        bytes[..8].copy_from_slice(&block::BLOCK_MAGIC.to_le_bytes());
        bytes[9..12].copy_from_slice(&[0, 192, 0]);
        let block_bytes = bytes.len() as u64;
        bytes[16..24].copy_from_slice(&block_bytes.to_le_bytes());
        seal(&mut bytes);
    }
    let stored = bytes.get(32..32 + COLUMN_TYPE_BYTES).and_then(|bytes| bytes.try_into().ok());
    let column_type = stored.and_then(|bytes| ColumnType::from_bytes(bytes).ok());
    use_everything(&bytes, column_type.unwrap_or(TEXT));
}

fn encode_and_damage(column: &ColumnBuffer, format: Format, input: &mut Input<'_>) {
    let encoded = match block::encode_as(column, Flavour::active(), format) {
        Ok(encoded) => encoded,
        // Decimals may lie too far apart.
        Err(BlockError::WrongFormat { .. }) => return,
        Err(error) => panic!("{format}: {error}"),
    };
    compare(column, &encoded.bytes);
    let mut bytes = encoded.bytes;
    input.damage(&mut bytes);
    seal(&mut bytes);
    use_everything(&bytes, column.column_type());
}

/// Decodes all rows; those that are not null are what was encoded.
fn compare(column: &ColumnBuffer, bytes: &[u8]) {
    let block = Block::open(bytes, column.column_type()).unwrap();
    block.verify().unwrap();
    let (rows, flavour) = (0..column.len(), Flavour::active());
    let is_same = |same: &dyn Fn(usize) -> bool| {
        assert!(rows.clone().all(|row| column.is_null(row) || same(row)));
    };
    match column.values() {
        Values::Int64(values) => {
            let mut found = Vec::new();
            block.decode_i64(flavour, rows.clone(), &mut found).unwrap();
            is_same(&|row| found[row] == values[row]);
        }
        Values::Int128(values) => {
            let mut found = Vec::new();
            block.decode_i128(flavour, rows.clone(), &mut found).unwrap();
            is_same(&|row| found[row] == values[row]);
        }
        Values::Float32(values) => {
            let mut found = Vec::new();
            block.decode_f32(flavour, rows.clone(), &mut found).unwrap();
            is_same(&|row| found[row].to_bits() == values[row].to_bits());
        }
        Values::Float64(values) => {
            let mut found = Vec::new();
            block.decode_f64(flavour, rows.clone(), &mut found).unwrap();
            is_same(&|row| found[row].to_bits() == values[row].to_bits());
        }
        Values::Bytes(values) => {
            let mut found = ByteValues::default();
            block.decode_bytes(flavour, rows.clone(), &mut found).unwrap();
            is_same(&|row| found.get(row) == values.get(row));
        }
    }
}
