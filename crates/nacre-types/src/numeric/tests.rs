//! Tests of numerics without a server; `tests/postgres` has those with one.

use std::collections::HashSet;

use proptest::prelude::*;

use super::*;

/// Unscaled numbers of all lengths, powers of ten and their neighbours, and scales.
pub(super) fn any_scaled() -> impl Strategy<Value = (i128, u16)> {
    let long = (any::<i128>(), 0_u32..127).prop_map(|(value, shift)| value >> shift);
    let near = (0_u32..39, -1_i128..2, any::<bool>()).prop_map(|(power, more, is_negative)| {
        let value = 10_i128.pow(power.min(38)) + more;
        if is_negative { -value } else { value }
    });
    let bounds = prop_oneof![Just(i128::MIN), Just(i128::MAX), Just(0)];
    let unscaled = prop_oneof![8 => long, 4 => -1_100_i128..1_100, 4 => near, 1 => bounds];
    (unscaled, prop_oneof![0_u16..6, 0_u16..45])
}

fn number(text: &str) -> ExactNumeric {
    ExactNumeric::parse(text, None).unwrap()
}

fn parse_error(text: &str) -> String {
    let error = ExactNumeric::parse(text, None).unwrap_err();
    format!("{} {error}", error.sql_state())
}

#[test]
fn text_keeps_the_digits_behind_the_point() {
    for (text, expected) in [
        ("1.50", "1.50"),
        ("  -0.10 ", "-0.10"),
        ("1e3", "1000"),
        ("1.5e-3", "0.0015"),
        ("1e 5", "100000"),
        (".5", "0.5"),
        ("5.", "5"),
        ("+inf", "Infinity"),
        ("nan", "NaN"),
        ("-0", "0"),
        ("0e200000", "0"),
        (
            "123456789012345678901234567890123456789012.5",
            "123456789012345678901234567890123456789012.5",
        ),
    ] {
        assert_eq!(number(text).to_string(), expected, "{text}");
    }
}

#[test]
fn malformed_and_too_large_texts_are_refused() {
    for text in ["", ".", "1e", "+NaN", "1_0", "0x1", "- 5", "1.2.3", "infinit"] {
        let expected = format!("22P02 invalid input syntax for type numeric: \"{text}\"");
        assert_eq!(parse_error(text), expected);
    }
    for text in ["1e131072", "1e-16384", "0e-20000", "1e9999999999"] {
        assert_eq!(parse_error(text), "22003 value overflows numeric format", "{text}");
    }
    assert_eq!(number("1e131071").to_string().len(), 131_072);
}

#[test]
fn sums_and_products_keep_scales() {
    assert_eq!(number("1.5").add(&number("2.25")).unwrap().to_string(), "3.75");
    assert_eq!(number("1.5").multiply(&number("2.0")).unwrap().to_string(), "3.00");
    assert_eq!(number("1").subtract(&number("1.00")).unwrap().to_string(), "0.00");
    let large = number("170141183460469231731687303715884105727");
    assert_eq!(
        large.add(&ExactNumeric::ONE).unwrap().to_string(),
        "170141183460469231731687303715884105728"
    );
    assert_eq!(
        large.add(&ExactNumeric::ONE).unwrap().negate().negate(),
        large.add(&ExactNumeric::ONE).unwrap()
    );
}

#[test]
fn quotients_have_at_least_sixteen_digits() {
    for (one, other, expected) in [
        ("1", "3", "0.33333333333333333333"),
        ("10", "3", "3.3333333333333333"),
        ("2", "1", "2.0000000000000000"),
        ("1e-10", "3", "0.0000000000333333333333333333"),
        ("12345678901234567890", "7", "1763668414462081127"),
        ("1.000000000000000000000000001", "3", "0.333333333333333333333333334"),
        ("0", "5", "0.00000000000000000000"),
    ] {
        assert_eq!(
            number(one).divide(&number(other)).unwrap().to_string(),
            expected,
            "{one}/{other}"
        );
    }
    let error = number("1").divide(&ExactNumeric::ZERO).unwrap_err();
    assert_eq!((error.sql_state(), error.message()), ("22012", "division by zero"));
}

#[test]
fn remainders_have_the_sign_of_the_dividend() {
    assert_eq!(number("-7.5").remainder(&number("2")).unwrap().to_string(), "-1.5");
    assert_eq!(number("5").remainder(&number("0.3")).unwrap().to_string(), "0.2");
    assert_eq!(number("5").remainder(&ExactNumeric::INFINITY).unwrap().to_string(), "5");
    assert!(ExactNumeric::INFINITY.remainder(&number("5")).unwrap().is_nan());
}

#[test]
fn rounding_goes_away_from_zero() {
    assert_eq!(number("2.5").round(0).unwrap().to_string(), "3");
    assert_eq!(number("-2.345").round(2).unwrap().to_string(), "-2.35");
    assert_eq!(number("155").round(-1).unwrap().to_string(), "160");
    assert_eq!(number("1.5").round(3).unwrap().to_string(), "1.500");
    assert_eq!(number("-1.5").floor().unwrap().to_string(), "-2");
    assert_eq!(number("-1.5").ceil().unwrap().to_string(), "-1");
    assert_eq!(number("199").truncate(-2).unwrap().to_string(), "100");
}

#[test]
fn precision_bounds_the_whole_part() {
    assert_eq!(number("99.95").with_precision(3, 1).unwrap_err().sql_state(), "22003");
    assert_eq!(number("99.94").with_precision(3, 1).unwrap().to_string(), "99.9");
    let error = number("0.5").with_precision(2, 3).unwrap_err();
    let detail =
        "A field with precision 2, scale 3 must round to an absolute value less than 10^-1.";
    assert_eq!(error.text().detail.as_deref(), Some(detail));
    assert_eq!(number("1234").with_precision(2, -3).unwrap().to_string(), "1000");
    assert_eq!(number("0.0001").with_precision(2, 3).unwrap().to_string(), "0.000");
    let parsed = ExactNumeric::parse("1e-20000", Some((5, 2))).unwrap();
    assert_eq!(parsed.to_string(), "0.00");
}

#[test]
fn equal_values_of_other_scales_hash_the_same() {
    let values = ["1", "1.0", "1.00000000000000000000000000000000000000000", "1e0"];
    let set: HashSet<ExactNumeric> = values.iter().map(|text| number(text)).collect();
    assert_eq!(set.len(), 1);
    assert!(ExactNumeric::NAN > ExactNumeric::INFINITY);
    assert!(number("-1e100") > ExactNumeric::NEGATIVE_INFINITY);
    assert_eq!(ExactNumeric::NAN, ExactNumeric::NAN);
}

#[test]
fn square_roots_are_rounded() {
    let root = |text: &str, scale| number(text).square_root(scale).unwrap().to_string();
    assert_eq!(root("2", 4), "1.4142");
    assert_eq!(root("3", 3), "1.732");
    assert_eq!(root("0.25", 0), "1");
    assert_eq!(root("0.2499", 0), "0");
    assert_eq!(root("0", 3), "0.000");
    assert_eq!(root("1e40", 1), "100000000000000000000.0");
    assert_eq!(
        root("0.000000000000000000000000000000000000000004", 22),
        "0.0000000000000000000020"
    );
    let found = root("2.0000000000000000", 16);
    assert_eq!(found, "1.4142135623730950");
    assert_eq!(number("-1").square_root(2).unwrap_err().sql_state(), "22023");
}

#[test]
fn floats_keep_their_digits() {
    assert_eq!(ExactNumeric::from(0.1_f64).to_string(), "0.1");
    assert_eq!(ExactNumeric::from(1.0 / 3.0).to_string(), "0.333333333333333");
    assert_eq!(ExactNumeric::from(1e20).to_string(), "100000000000000000000");
    assert_eq!(ExactNumeric::from(123_456_789.0_f32).to_string(), "123457000");
    assert_eq!(number("0.1").to_f64(), Ok(0.1));
    assert_eq!(number("1e400").to_f64().unwrap_err().sql_state(), "22003");
    assert_eq!(number("2.5").to_i32(), Ok(3));
    assert_eq!(number("1e20").to_i64().unwrap_err().message(), "bigint out of range");
    assert_eq!(ExactNumeric::NAN.to_i16().unwrap_err().message(), "cannot convert NaN to smallint");
}

#[test]
fn binary_form_is_read_back() {
    for text in [
        "0",
        "0.00",
        "1",
        "-1.5",
        "10000",
        "0.0001",
        "123456789.987654321",
        "NaN",
        "-inf",
        "1e50",
        "1e-50",
    ] {
        let value = number(text);
        let mut bytes = Vec::new();
        value.send(&mut bytes);
        let read = ExactNumeric::receive(&bytes, None).unwrap();
        assert_eq!(read.to_string(), value.to_string());
    }
    let mut bytes = Vec::new();
    number("12345.678").send(&mut bytes);
    assert_eq!(bytes, [0, 3, 0, 1, 0, 0, 0, 3, 0, 1, 9, 41, 26, 124]);
    assert_eq!(ExactNumeric::receive(&[0, 1], None).unwrap_err().sql_state(), "22P03");
}

#[test]
fn sums_leave_128_bits_and_come_back() {
    let mut sum = NumericSum::default();
    for _ in 0..4 {
        sum.add_scaled(i128::MAX, 0);
    }
    sum.add(&number("0.5"));
    let mut other = NumericSum::default();
    for _ in 0..4 {
        other.add_scaled(-i128::MAX, 0);
    }
    sum.merge(&other);
    assert_eq!(sum.sum().unwrap().unwrap().to_string(), "0.5");
    assert_eq!(sum.average().unwrap().unwrap().to_string(), "0.05555555555555555556");
    assert!(NumericSum::default().sum().unwrap().is_none());
    sum.add(&ExactNumeric::INFINITY);
    sum.add(&ExactNumeric::NEGATIVE_INFINITY);
    assert!(sum.sum().unwrap().unwrap().is_nan());
}
