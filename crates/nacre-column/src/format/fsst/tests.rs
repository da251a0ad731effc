use super::*;
use crate::format::row_ends;

fn strings<T: AsRef<[u8]>>(values: impl IntoIterator<Item = T>) -> ByteValues {
    let mut strings = ByteValues::default();
    values.into_iter().for_each(|value| strings.push(value.as_ref()));
    strings
}

/// Columns from empty to noise, with strings of every length around a symbol's.
fn columns() -> Vec<ByteValues> {
    let words = ["carefully", "final", "deposits", "", "s", "quickly ", "\0\0", "\u{fc}ber"];
    let mut state = 3_u64;
    let mut random = move |bound: u64| {
        state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        (state >> 33) % bound
    };
    let mut text = |words_max| {
        let count = random(words_max);
        (0..count).map(|_| words[random(8) as usize]).collect::<String>()
    };
    let comments = strings((0..3_000).map(|_| text(9)));
    let long = strings([text(9_000), String::new(), text(20_000)]);
    let noise =
        (0..800).map(|length| -> Vec<u8> { (0..length % 40).map(|_| random(256) as u8).collect() });
    vec![
        ByteValues::default(),
        strings([""; 5]),
        strings(["a"]),
        strings(["\0"; 300]),
        strings((0..20).map(|length| "x".repeat(length))),
        strings((0..2_000).map(|row| format!("Customer#{row:09}"))),
        strings(noise),
        comments,
        long,
    ]
}

#[derive(Clone)]
struct Encoded {
    symbols: Vec<u8>,
    ends: Vec<u8>,
    width: usize,
    codes: Vec<u8>,
    rows: usize,
}

fn encode(values: &ByteValues) -> Encoded {
    let table = train::train(values);
    let encoded = table.encode(values);
    let (ends, width) = row_ends::encode(Flavour::active(), &encoded.offsets);
    let rows = values.len();
    Encoded { symbols: table.to_section(), ends, width, codes: encoded.data, rows }
}

impl Encoded {
    fn reader(&self) -> Reader<'_> {
        let ends = RowEnds::open(self.rows, self.width, &self.ends).unwrap();
        Reader::new(&self.symbols, ends, &self.codes)
    }
}

#[test]
fn strings_come_back_one_by_one_and_in_ranges() {
    for values in columns() {
        let encoded = encode(&values);
        let reader = encoded.reader();
        let rows = values.len();
        for flavour in Flavour::available() {
            assert_eq!(reader.check(flavour), Ok(()));
            for range in [0..rows, rows / 3..rows, rows / 2..rows / 2, rows / 4..rows / 2] {
                let mut out = strings(["before"]);
                reader.decode(flavour, range.clone(), &mut out).unwrap();
                assert_eq!(out.len(), range.len() + 1);
                assert!(range.enumerate().all(|(i, row)| out.get(i + 1) == values.get(row)));
            }
        }
        for row in 0..rows {
            let mut out = Vec::new();
            reader.get(row, &mut out).unwrap();
            assert_eq!(out, values.get(row), "row {row}");
        }
    }
}

#[test]
fn repeated_text_shrinks_to_less_than_half_and_noise_does_not_double() {
    for (index, values) in columns().iter().enumerate().skip(5) {
        let is_noise = index == 6;
        let limit = if is_noise { values.data.len() * 2 } else { values.data.len() / 2 };
        let bytes = encode(values).codes.len();
        assert!(bytes < limit, "column {index}: {bytes} of {}", values.data.len());
    }
}

#[test]
fn equal_columns_give_equal_bytes() {
    let values = columns().swap_remove(7);
    let (first, second) = (encode(&values), encode(&values));
    assert!(first.symbols == second.symbols && first.codes == second.codes);
}

#[test]
fn longest_symbol_is_taken_and_never_one_past_the_end() {
    let symbol = |text: &[u8]| {
        let mut bytes = [0; 8];
        bytes[..text.len()].copy_from_slice(text);
        Symbol { bytes: u64::from_le_bytes(bytes), length: text.len() as u8 }
    };
    let wanted: [&[u8]; 6] = [b"a", b"ab", b"abc", b"abcdefgh", b"b\0", b"c\0\0"];
    let table = SymbolTable::of(wanted.into_iter().map(symbol));
    // "abc" and "abcdefgh" share a slot; the first keeps it.
    assert_eq!(table.len(), 5);
    let encoded = table.encode(&strings(["abc", "ab", "a", "b", "c", "b\0a", "abcdefgha"]));
    let code = |row: usize| encoded.get(row).to_vec();
    assert_eq!((code(0), code(1), code(2)), (vec![2], vec![1], vec![0]));
    assert_eq!((code(3), code(4)), (vec![ESCAPE, b'b'], vec![ESCAPE, b'c']));
    assert_eq!(code(5), [3, 0]);
    assert_eq!(code(6)[0], 2);
}

#[test]
fn damage_is_an_error_or_stays_in_bounds() {
    let values = strings((0..200).map(|row| format!("order {row} \u{e9}")));
    let encoded = encode(&values);
    let sections = [encoded.symbols.len(), encoded.ends.len(), encoded.codes.len()];
    for (section, bytes) in sections.into_iter().enumerate() {
        for at in 0..bytes {
            for value in [0, 1, 9, 0x80, 0xff] {
                let mut damaged = encoded.clone();
                [&mut damaged.symbols, &mut damaged.ends, &mut damaged.codes][section][at] = value;
                let reader = damaged.reader();
                let mut out = ByteValues::default();
                let is_right = reader.check(Flavour::active()).is_ok();
                let decoded = reader.decode(Flavour::active(), 0..200, &mut out);
                assert!(decoded.is_ok() || !is_right);
                assert!(out.data.len() <= damaged.codes.len() * SYMBOL_BYTES);
                for row in (0..200).step_by(23) {
                    let one = reader.get(row, &mut Vec::new());
                    assert!(one.is_ok() || !is_right);
                }
            }
        }
    }
}
