//! What the writer writes, the loader reads: every type, any text, any options.

use super::*;
use crate::{CsvWriter, Force, Header};
use nacre_column::Values;
use proptest::prelude::*;

/// One value of a type, as the text of its own.
fn push_random(column: &mut ColumnBuffer, seed: i128, text: &str) {
    match column.column_type() {
        ColumnType::Boolean => column.push_int((seed & 1) as i64),
        ColumnType::SmallInt => column.push_int(i64::from(seed as i16)),
        ColumnType::Integer => column.push_int(i64::from(seed as i32)),
        ColumnType::BigInt => column.push_int(seed as i64),
        ColumnType::Decimal { precision, .. } if precision <= 18 => {
            column.push_int((seed % 10i128.pow(u32::from(precision))) as i64);
        }
        ColumnType::Decimal { precision, .. } => {
            column.push_int128(seed % 10i128.pow(u32::from(precision)));
        }
        ColumnType::Real => {
            let value = f32::from_bits(seed as u32);
            column.push_float32(if value.is_nan() { 0.5 } else { value });
        }
        ColumnType::Double => {
            let value = f64::from_bits(seed as u64);
            column.push_float64(if value.is_nan() { 0.5 } else { value });
        }
        ColumnType::Date => column.push_int((seed % 700_000) as i64),
        ColumnType::Timestamp | ColumnType::TimestampTz => {
            column.push_int((seed % 60_000_000_000_000_000) as i64);
        }
        ColumnType::Varchar { max_chars: None } => column.push_bytes(text.as_bytes()),
        ColumnType::Varchar { max_chars: Some(max) } => {
            let text: String = text.chars().take(max as usize).collect();
            column.push_bytes(text.as_bytes());
        }
        ColumnType::Char { chars } => {
            let text: String = text.chars().take(chars as usize).collect();
            column.push_bytes(text.trim_end_matches(' ').as_bytes());
        }
        ColumnType::Bytea => column.push_bytes(&seed.to_le_bytes()[..(seed & 15) as usize]),
    }
}

fn write(columns: &[ColumnBuffer], names: &[&str], options: &CsvOptions) -> Vec<u8> {
    let mut writer = CsvWriter::create(Vec::new(), names, options).unwrap();
    let mut field = Vec::new();
    for row in 0..columns[0].len() {
        for column in columns {
            field.clear();
            let is_valid = write_value(column, row, &mut field);
            writer.put_field(is_valid.then_some(&field[..]));
        }
        writer.end_row().unwrap();
    }
    writer.finish().unwrap()
}

/// Floats compare by bits, so that -0 is told from 0.
fn comparable(rows: &[Vec<ColumnBuffer>]) -> Vec<Vec<Option<String>>> {
    for column in rows.iter().flatten() {
        if let Values::Bytes(values) = column.values()
            && column.column_type().is_text()
        {
            assert!(std::str::from_utf8(&values.data).is_ok());
        }
    }
    rows_of(rows)
}

fn options() -> impl Strategy<Value = CsvOptions> {
    let csv = prop_oneof![
        Just(CsvOptions::default()),
        Just(CsvOptions { escape: b'\\', null: "N".to_owned(), ..CsvOptions::default() }),
        Just(CsvOptions { delimiter: b'|', quote: b'\'', escape: b'x', ..CsvOptions::default() }),
        Just(CsvOptions { force_quote: Force::All, ..CsvOptions::default() }),
    ];
    let header = prop_oneof![Just(Header::No), Just(Header::Yes)];
    let options = prop_oneof![4 => csv, 1 => Just(CsvOptions::text())];
    (options, header).prop_map(|(options, header)| CsvOptions { header, ..options })
}

proptest! {
    #[test]
    fn written_rows_are_read_back(
        types in proptest::collection::vec(proptest::sample::select(&ALL_TYPES[..]), 1..6),
        values in proptest::collection::vec(
            (any::<i128>(), "[ab,|'\"\\\\Nx.\n\r\t \u{fc}\u{feff}]{0,8}", 0u8..4), 0..150),
        options in options(),
        threads in 1usize..5,
        (segment, window, chunk_rows) in (1u64..300, 1usize..300, 1u64..40),
    ) {
        let mut columns: Vec<_> = types.iter().map(|t| ColumnBuffer::new(*t)).collect();
        for row in values.chunks_exact(types.len()) {
            for (column, (seed, text, null)) in columns.iter_mut().zip(row) {
                if *null == 0 {
                    column.push_null();
                } else {
                    push_random(column, *seed, text);
                }
            }
        }
        let names = ["a", "b,c", "d\"", "e\nf", "\u{fc}", "g"];
        let described: Vec<_> = names.iter().zip(&types).map(|(n, t)| (*n, *t, true)).collect();
        let csv = write(&columns, &names[..types.len()], &options);
        let read_options = CsvOptions {
            force_quote: Force::None,
            header: if options.header == Header::Yes { Header::Match } else { Header::No },
            ..options
        };
        let tuning = tiny(segment, window, chunk_rows);
        let source = Source::Bytes(csv.clone());
        let found = load_chunks(source, &target(&described), &read_options, threads, tuning);
        let found = found.map_err(|error| TestCaseError::fail(format!("{error}")))?;
        prop_assert_eq!(comparable(&found), comparable(&[columns]));
    }
}
