use super::*;
use proptest::prelude::*;

const INTEGERS: [(ColumnType, i64, i64); 3] = [
    (ColumnType::SmallInt, i16::MIN as i64, i16::MAX as i64),
    (ColumnType::Integer, i32::MIN as i64, i32::MAX as i64),
    (ColumnType::BigInt, i64::MIN, i64::MAX),
];

fn message<T: std::fmt::Debug>(result: ValueResult<T>) -> (ErrorKind, String) {
    let error = result.unwrap_err();
    (error.kind, error.message)
}

#[test]
fn booleans_take_any_case_and_unique_prefixes() {
    for text in ["t", "TRUE", "tru", " yes ", "y", "on", "1", "On\n"] {
        assert_eq!(parse_boolean(text.as_bytes()), Ok(true), "{text}");
    }
    for text in ["f", "False", "fal", "no", "n", "of", "off", "0"] {
        assert_eq!(parse_boolean(text.as_bytes()), Ok(false), "{text}");
    }
    for text in ["", " ", "o", "truee", "10", "ja", "t f"] {
        let expected = format!("invalid input syntax for type boolean: \"{text}\"");
        assert_eq!(message(parse_boolean(text.as_bytes())), (ErrorKind::InvalidText, expected));
    }
}

#[test]
fn integers_reach_their_limits_and_no_further() {
    for (column_type, min, max) in INTEGERS {
        for value in [min, min + 1, -1, 0, 1, max - 1, max] {
            let text = format!(" {value} ");
            assert_eq!(parse_integer(text.as_bytes(), column_type), Ok(value));
        }
        for value in [i128::from(min) - 1, i128::from(max) + 1, i128::MAX] {
            let expected = format!("value \"{value}\" is out of range for type {column_type}");
            let found = message(parse_integer(value.to_string().as_bytes(), column_type));
            assert_eq!(found, (ErrorKind::NumberOutOfRange, expected));
        }
    }
}

#[test]
fn integers_take_postgres_literals() {
    let parse = |text: &str| parse_integer(text.as_bytes(), ColumnType::Integer);
    for (text, value) in [
        ("+7", 7),
        ("-0", 0),
        ("007", 7),
        ("0x1F", 31),
        ("-0b101", -5),
        ("0o17", 15),
        ("1_000", 1000),
        ("0x_ff", 255),
        ("-2147483648", i64::from(i32::MIN)),
        ("-0x80000000", i64::from(i32::MIN)),
    ] {
        assert_eq!(parse(text), Ok(value), "{text}");
    }
    for text in ["", "x", "1.0", "1e3", "--1", "+-1", "- 1", "1 2", "0x", "_1", "1_", "1__0", "0b2"]
    {
        let expected = format!("invalid input syntax for type integer: \"{text}\"");
        assert_eq!(message(parse(text)), (ErrorKind::InvalidText, expected));
    }
}

#[test]
fn decimals_round_half_away_from_zero() {
    for (text, precision, scale, value) in [
        ("1.005", 5, 2, 101),
        ("-1.005", 5, 2, -101),
        ("1.0049999", 5, 2, 100),
        (".5", 1, 0, 1),
        ("5.", 1, 0, 5),
        ("0.4999", 1, 0, 0),
        ("-0.00", 5, 2, 0),
        ("12e-1", 5, 2, 120),
        ("1.5E2", 5, 2, 15000),
        ("0e400000000000", 5, 2, 0),
        ("1e-400000000000", 5, 2, 0),
        ("999.994", 5, 2, 99999),
        ("00000000000000000000000000000000000000000000001", 5, 2, 100),
        ("99999999999999999999999999999999999999", 38, 0, 10i128.pow(38) - 1),
        ("-0.99999999999999999999999999999999999999", 38, 38, 1 - 10i128.pow(38)),
    ] {
        assert_eq!(parse_decimal(text.as_bytes(), precision, scale), Ok(value), "{text}");
    }
}

#[test]
fn decimals_past_their_precision_overflow() {
    for text in ["1000", "999.995", "-999.995", "1e3", "1e400000000000", "Infinity", "-inf"] {
        let error = parse_decimal(text.as_bytes(), 5, 2).unwrap_err();
        assert_eq!(error.kind, ErrorKind::NumberOutOfRange, "{text}");
        assert_eq!(error.message, "numeric field overflow");
        assert!(error.detail.unwrap().starts_with("A field with precision 5, scale 2 "));
    }
    assert!(parse_decimal(&[b'9'; 39], 38, 0).is_err());
    assert!(parse_decimal(b"99999999999999999999999999999999999999.5", 38, 0).is_err());
    for text in ["", ".", "-", "1.2.3", "1e", "1e+", "1,5", "e5", "0x1", "1 5", "+ 1"] {
        let expected = format!("invalid input syntax for type numeric: \"{text}\"");
        let found = message(parse_decimal(text.as_bytes(), 5, 2));
        assert_eq!(found, (ErrorKind::InvalidText, expected));
    }
    assert_eq!(message(parse_decimal(b"NaN", 5, 2)).0, ErrorKind::NotSupported);
}

#[test]
fn floats_refuse_what_turns_into_infinity_or_zero() {
    assert_eq!(parse_double(b" -1.5e3 "), Ok(-1500.0));
    assert_eq!(parse_double(b"+Infinity"), Ok(f64::INFINITY));
    assert_eq!(parse_double(b"-inf"), Ok(f64::NEG_INFINITY));
    assert!(parse_double(b"NaN").unwrap().is_nan());
    assert_eq!(parse_double(b"0e-999"), Ok(0.0));
    assert_eq!(parse_double(b"5e-324"), Ok(5e-324));
    assert_eq!(parse_real(b"3.4e38"), Ok(3.4e38));
    for text in ["1e400", "-1e400", "1e-400"] {
        let expected = format!("\"{text}\" is out of range for type double precision");
        let found = message(parse_double(text.as_bytes()));
        assert_eq!(found, (ErrorKind::NumberOutOfRange, expected));
    }
    assert_eq!(message(parse_real(b"1e39")).1, "\"1e39\" is out of range for type real");
    for text in ["", "x", "1e", "0x1p3", "1..2", "++1", "+-1", "1 2", "infinit"] {
        assert_eq!(message(parse_double(text.as_bytes())).0, ErrorKind::InvalidText, "{text}");
    }
}

#[test]
fn dates_follow_the_calendar() {
    for (text, days) in [
        ("1970-01-01", 0),
        ("1969-12-31", -1),
        ("2000-02-29", 11_016),
        ("0001-01-01", -719_162),
        ("9999-12-31", 2_932_896),
        (" 1996-3-13 ", 9_568),
        ("19960313", 9_568),
        ("1996/03/13", 9_568),
        ("1996-03-13 23:59:59", 9_568),
        ("1996-03-13 AD", 9_568),
        ("1996-03-13 +00", 9_568),
        ("1996-03-13-05:30", 9_568),
        ("1996-03-13 Z", 9_568),
    ] {
        assert_eq!(parse_date(text.as_bytes()), Ok(days), "{text}");
    }
    for text in ["2023-02-29", "1900-02-29", "2023-13-01", "2023-00-10", "2023-04-31", "0000-01-01"]
    {
        let expected = format!("date/time field value out of range: \"{text}\"");
        let found = message(parse_date(text.as_bytes()));
        assert_eq!(found, (ErrorKind::DatetimeOutOfRange, expected));
    }
    for text in ["", "x", "1996", "1996-03", "13-3-1996x", "1996-03-13x", "1996-03/13", "96-03-13"]
    {
        let expected = format!("invalid input syntax for type date: \"{text}\"");
        assert_eq!(message(parse_date(text.as_bytes())), (ErrorKind::InvalidDatetime, expected));
    }
    for text in ["infinity", "0044-03-15 BC"] {
        assert_eq!(message(parse_date(text.as_bytes())).0, ErrorKind::NotSupported, "{text}");
    }
    assert_eq!(message(parse_date(b"10000-01-01")).0, ErrorKind::DatetimeOutOfRange);
}

#[test]
fn every_day_of_four_centuries_follows_the_one_before() {
    let mut days = parse_date(b"1599-12-31").unwrap();
    for year in 1600..2000 {
        for month in 1..=12 {
            for day in 1..=31 {
                if let Some(found) = date_fast(format!("{year}-{month:02}-{day:02}").as_bytes()) {
                    assert_eq!(found, days + 1);
                    days = found;
                }
            }
        }
    }
    assert_eq!(days, parse_date(b"1999-12-31").unwrap());
}

#[test]
fn timestamps_round_to_microseconds() {
    for (text, micros) in [
        ("1970-01-01", 0),
        ("1970-01-01 00:00", 0),
        ("1970-01-01T01:02:03.5", 3_723_500_000),
        ("1970-01-01 0:0:1.1234565", 1_123_456),
        ("1970-01-01 00:00:01.1234575", 1_123_458),
        ("1970-01-01 00:00:01.12345651", 1_123_457),
        ("1969-12-31 23:59:59.9999999", 0),
        ("1969-12-31 24:00:00", 0),
        ("1969-12-31 23:59:60", 0),
        ("1970-01-01 00:00:01Z", 1_000_000),
        ("1970-01-01 00:00:01+02:00", 1_000_000),
        ("1970-01-01 00:00:01 UTC", 1_000_000),
        ("19700101 00:00:01", 1_000_000),
    ] {
        assert_eq!(parse_timestamp(text.as_bytes()), Ok(micros), "{text}");
    }
    for text in
        ["1970-01-01 25:00", "1970-01-01 00:60", "1970-01-01 24:00:00.1", "9999-12-31 24:00"]
    {
        let found = message(parse_timestamp(text.as_bytes()));
        assert_eq!(found.0, ErrorKind::DatetimeOutOfRange, "{text}");
    }
    for text in ["1970-01-01 ", "1970-01-01 12", "1970-01-01 12:", "1970-01-01_12:00", "12:00"] {
        // Blanks at the end are cut, so the first of these is a date.
        if text.ends_with(' ') {
            assert_eq!(parse_timestamp(text.as_bytes()), Ok(0));
            continue;
        }
        let found = message(parse_timestamp(text.as_bytes()));
        assert_eq!(found.0, ErrorKind::InvalidDatetime, "{text}");
        assert!(found.1.starts_with("invalid input syntax for type timestamp: "));
    }
}

#[test]
fn bytea_takes_hex_and_escapes() {
    assert_eq!(parse_bytea(b"\\x00fF 0a").unwrap(), [0, 255, 10]);
    assert_eq!(parse_bytea(b"\\x").unwrap(), []);
    assert_eq!(parse_bytea(b"a\\\\b\\001\\377").unwrap(), [b'a', b'\\', b'b', 1, 255]);
    for (text, expected) in [
        ("\\x0", "invalid hexadecimal data: odd number of digits"),
        ("\\x0g", "invalid hexadecimal digit: \"g\""),
        ("\\x\u{fc}0", "invalid hexadecimal digit: \"\u{fc}\""),
        ("\\x1\u{fc}", "invalid hexadecimal digit: \"\u{fc}\""),
    ] {
        let found = message(parse_bytea(text.as_bytes()));
        assert_eq!(found, (ErrorKind::InvalidParameter, expected.to_owned()));
    }
    for text in ["\\", "\\400", "\\12", "a\\n"] {
        assert_eq!(message(parse_bytea(text.as_bytes())).0, ErrorKind::InvalidText, "{text}");
    }
}

#[test]
fn strings_are_counted_in_characters_and_only_blanks_are_cut() {
    let umlauts = "\u{fc}\u{fc}\u{fc}";
    assert_eq!(parse_varchar(umlauts.as_bytes(), 3), Ok(umlauts.as_bytes()));
    assert_eq!(parse_varchar(b"abc   ", 4), Ok(&b"abc "[..]));
    assert_eq!(parse_char(b"abc   ", 4), Ok(&b"abc"[..]));
    assert_eq!(parse_char(b"   ", 2), Ok(&b""[..]));
    let expected = "value too long for type character varying(3)".to_owned();
    assert_eq!(message(parse_varchar(b"abcd", 3)), (ErrorKind::TooLong, expected));
    let expected = "value too long for type character(3)".to_owned();
    assert_eq!(message(parse_char("\u{fc}bcd".as_bytes(), 3)), (ErrorKind::TooLong, expected));
}

/// Puts `text` behind enough bytes for the eight-at-a-time forms.
fn padded(text: &str) -> (Vec<u8>, usize, usize) {
    let bytes = [&[b'7'; 16], text.as_bytes()].concat();
    let end = bytes.len();
    (bytes, 16, end)
}

proptest! {
    #[test]
    fn fast_digits_agree_with_the_exact_parser(text in "[0-9]{0,18}|[0-9]{0,8}[ -~][0-9]{0,8}") {
        let (bytes, start, end) = padded(&text);
        if let Some(value) = digits_fast(&bytes, start, end) {
            let exact = parse_integer(text.as_bytes(), ColumnType::BigInt);
            prop_assert_eq!(Ok(value as i64), exact);
        } else {
            let are_digits = text.bytes().all(|byte| byte.is_ascii_digit());
            prop_assert!(text.is_empty() || text.len() > 16 || !are_digits);
        }
    }

    #[test]
    fn fast_decimals_agree_with_the_exact_parser(
        text in "[0-9]{0,12}\\.[0-9]{0,9}|[0-9]{0,8}[ -~][0-9]{0,8}",
        scale in 1usize..=8,
    ) {
        let (bytes, start, end) = padded(&text);
        let fast = decimal_fast(&bytes, start, end, scale);
        let exact = parse_decimal(text.as_bytes(), 38, scale as u8);
        if let Some(value) = fast {
            prop_assert_eq!(Ok(i128::from(value)), exact);
        }
        let point = text.find('.');
        let is_fast_form = text.len() <= 16
            && point.is_some_and(|point| point > 0 && point + 1 + scale == text.len())
            && text.bytes().all(|byte| byte == b'.' || byte.is_ascii_digit())
            && text.matches('.').count() == 1;
        prop_assert_eq!(fast.is_some(), is_fast_form);
    }

    #[test]
    fn no_bytes_panic(bytes in proptest::collection::vec(any::<u8>(), 0..40)) {
        for column_type in crate::tests::ALL_TYPES {
            let mut column = ColumnBuffer::new(column_type);
            let is_ok = push_text(&mut column, &bytes).is_ok();
            prop_assert_eq!(column.len(), usize::from(is_ok));
        }
    }

    #[test]
    fn number_like_bytes_do_not_panic(text in "[-+0-9.eE_xob:TZ /a-f\\\\]{0,30}") {
        for column_type in crate::tests::ALL_TYPES {
            let mut column = ColumnBuffer::new(column_type);
            let is_ok = push_text(&mut column, text.as_bytes()).is_ok();
            prop_assert_eq!(column.len(), usize::from(is_ok));
        }
    }
}

#[test]
fn every_hundredth_day_is_read_back_as_it_is_written() {
    for days in (-719_162..2_932_897).step_by(97) {
        let mut written = Vec::new();
        nacre_column::text::write_date(days, &mut written);
        assert_eq!(parse_date(&written), Ok(days as i32));
    }
}

#[test]
fn times_have_colons_or_none() {
    const SECOND: i64 = 1_000_000;
    let of = |hour: i64, minute: i64, second: i64| (hour * 3_600 + minute * 60 + second) * SECOND;
    for (text, expected) in [
        ("04:05:06.5", of(4, 5, 6) + SECOND / 2),
        ("4:05", of(4, 5, 0)),
        ("040506", of(4, 5, 6)),
        ("040506.25", of(4, 5, 6) + SECOND / 4),
        ("0405", of(4, 5, 0)),
        ("T040506", of(4, 5, 6)),
        ("04:05 PM", of(16, 5, 0)),
        ("12:00 am", 0),
        ("12:00 pm", of(12, 0, 0)),
        ("24:00", of(24, 0, 0)),
        ("2024-01-05 04:05:06", of(4, 5, 6)),
        ("04:05:06+02", of(4, 5, 6)),
        (" 04:05 ", of(4, 5, 0)),
    ] {
        assert_eq!(parse_time(text.as_bytes()).ok(), Some(expected), "{text}");
    }
    for text in ["", "x", "25:00", "04:60", "2024-01-05", "13:00 am", "04", "\u{a0}04:05"] {
        assert!(parse_time(text.as_bytes()).is_err(), "{text}");
    }
}
