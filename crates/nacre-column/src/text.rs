//! Value to text, as PostgreSQL writes each type with its default settings.
//!
//! Whatever is written here is read back by the parser of `nacre-ingest` as the same value.

use crate::{ColumnBuffer, ColumnType, Values};

const SECOND_US: i64 = 1_000_000;
const DAY_US: i64 = 86_400 * SECOND_US;

/// Appends the text of `row` to `out`; returns false, appending nothing, if it is null.
///
/// # Panics
/// If `row >= column.len()`.
pub fn write_value(column: &ColumnBuffer, row: usize, out: &mut Vec<u8>) -> bool {
    if column.is_null(row) {
        return false;
    }
    match (column.column_type(), column.values()) {
        (ColumnType::Boolean, Values::Int64(values)) => {
            out.push(if values[row] == 0 { b'f' } else { b't' });
        }
        (ColumnType::Date, Values::Int64(values)) => write_date(values[row], out),
        (ColumnType::Timestamp, Values::Int64(values)) => write_timestamp(values[row], out),
        (ColumnType::TimestampTz, Values::Int64(values)) => write_timestamptz(values[row], out),
        (ColumnType::Decimal { scale, .. }, Values::Int64(values)) => {
            write_decimal(i128::from(values[row]), scale, out);
        }
        (ColumnType::Decimal { scale, .. }, Values::Int128(values)) => {
            write_decimal(values[row], scale, out);
        }
        (_, Values::Int64(values)) => write_integer(values[row], out),
        (_, Values::Int128(values)) => write_integer(values[row], out),
        (_, Values::Float32(values)) => write_real(values[row], out),
        (_, Values::Float64(values)) => write_double(values[row], out),
        (ColumnType::Bytea, Values::Bytes(values)) => write_bytea(values.get(row), out),
        (_, Values::Bytes(values)) => out.extend_from_slice(values.get(row)),
    }
    true
}

/// Appends an integer of any width.
pub fn write_integer(value: impl itoa::Integer, out: &mut Vec<u8>) {
    out.extend_from_slice(itoa::Buffer::new().format(value).as_bytes());
}

/// Appends an unscaled decimal with `scale` digits after the point.
pub fn write_decimal(unscaled: i128, scale: u8, out: &mut Vec<u8>) {
    if unscaled < 0 {
        out.push(b'-');
    }
    let mut buffer = itoa::Buffer::new();
    let digits = match u64::try_from(unscaled.unsigned_abs()) {
        Ok(small) => buffer.format(small),
        Err(_) => buffer.format(unscaled.unsigned_abs()),
    };
    let scale = usize::from(scale);
    let (whole, fraction) = digits.split_at(digits.len().saturating_sub(scale));
    out.extend_from_slice(if whole.is_empty() { b"0" } else { whole.as_bytes() });
    if scale > 0 {
        out.push(b'.');
        out.resize(out.len() + scale - fraction.len(), b'0');
        out.extend_from_slice(fraction.as_bytes());
    }
}

/// Appends a number below 100 as two digits.
fn write_two(value: i64, out: &mut Vec<u8>) {
    let digit = |value: i64| b'0' + (value % 10) as u8;
    out.extend_from_slice(&[digit(value / 10), digit(value)]);
}

/// Splits days since 1970-01-01 into year, month and day; before the year 1 comes the year 0.
pub fn civil_from_days(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let era = days.div_euclid(146_097);
    let day_of_era = days.rem_euclid(146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month + 2) / 5 + 1;
    let is_after_december = month >= 10;
    let month = if is_after_december { month - 9 } else { month + 3 };
    (year_of_era + era * 400 + i64::from(is_after_december), month, day)
}

/// What stands behind dates before the year 1.
const BEFORE_CHRIST: &[u8] = b" BC";

/// Appends days since 1970-01-01 as `yyyy-mm-dd`, with ` BC` if they are before the year 1.
pub fn write_date(days: i64, out: &mut Vec<u8>) {
    if write_day(days, out) {
        out.extend_from_slice(BEFORE_CHRIST);
    }
}

/// Appends the date alone; returns whether it is before the year 1.
fn write_day(days: i64, out: &mut Vec<u8>) -> bool {
    let (year, month, day) = civil_from_days(days);
    match year {
        1..10_000 => {
            write_two(year / 100, out);
            write_two(year % 100, out);
        }
        // There is no year 0.
        ..1 => out.extend_from_slice(format!("{:04}", 1 - year).as_bytes()),
        _ => out.extend_from_slice(year.to_string().as_bytes()),
    }
    out.push(b'-');
    write_two(month, out);
    out.push(b'-');
    write_two(day, out);
    year < 1
}

/// Appends microseconds since 1970-01-01 as `yyyy-mm-dd hh:mm:ss[.ffffff]`.
pub fn write_timestamp(micros: i64, out: &mut Vec<u8>) {
    write_moment(micros, b"", out);
}

/// Appends microseconds since 1970-01-01 UTC as `yyyy-mm-dd hh:mm:ss[.ffffff]+00`.
pub fn write_timestamptz(micros: i64, out: &mut Vec<u8>) {
    write_moment(micros, b"+00", out);
}

fn write_moment(micros: i64, zone: &[u8], out: &mut Vec<u8>) {
    let is_before_christ = write_day(micros.div_euclid(DAY_US), out);
    let time_us = micros.rem_euclid(DAY_US);
    let second = time_us / SECOND_US;
    let (hour, minute, second) = (second / 3_600, second / 60 % 60, second % 60);
    for (separator, value) in [(b' ', hour), (b':', minute), (b':', second)] {
        out.push(separator);
        write_two(value, out);
    }
    let fraction = time_us % SECOND_US;
    if fraction != 0 {
        out.push(b'.');
        for two in [fraction / 10_000, fraction / 100 % 100, fraction % 100] {
            write_two(two, out);
        }
        while out.last() == Some(&b'0') {
            out.pop();
        }
    }
    out.extend_from_slice(zone);
    if is_before_christ {
        out.extend_from_slice(BEFORE_CHRIST);
    }
}

/// Appends a `real` with the fewest digits that give it back.
pub fn write_real(value: f32, out: &mut Vec<u8>) {
    if value.is_finite() {
        write_shortest(ryu::Buffer::new().format_finite(value), 6, out);
    } else {
        write_special(f64::from(value), out);
    }
}

/// Appends a `double precision` with the fewest digits that give it back.
pub fn write_double(value: f64, out: &mut Vec<u8>) {
    if value.is_finite() {
        write_shortest(ryu::Buffer::new().format_finite(value), 15, out);
    } else {
        write_special(value, out);
    }
}

fn write_special(value: f64, out: &mut Vec<u8>) {
    let text: &[u8] = match value {
        _ if value.is_nan() => b"NaN",
        _ if value > 0.0 => b"Infinity",
        _ => b"-Infinity",
    };
    out.extend_from_slice(text);
}

/// Digits of a double at most.
const DIGITS_MAX: usize = 17;

/// Turns a number such as `-1.25e-7`, `0.1` or `12.0` into PostgreSQL's form: no exponent if it is
/// from -4 to below `exponent_max`, otherwise a signed one of at least two digits.
fn write_shortest(text: &str, exponent_max: i32, out: &mut Vec<u8>) {
    let unsigned = text.strip_prefix('-');
    if unsigned.is_some() {
        out.push(b'-');
    }
    let (mantissa, exponent) = match unsigned.unwrap_or(text).split_once('e') {
        Some((mantissa, exponent)) => (mantissa, exponent.parse().unwrap_or(0)),
        None => (unsigned.unwrap_or(text), 0),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    // All digits without zeros around them, and the power of ten of the first one.
    let mut room = [0; 2 * DIGITS_MAX];
    let mut length = 0;
    let mut power = exponent + whole.len() as i32 - 1;
    for &digit in whole.as_bytes().iter().chain(fraction.as_bytes()) {
        match (length, digit) {
            (0, b'0') => power -= 1,
            _ if length < room.len() => {
                room[length] = digit;
                length += 1;
            }
            _ => {}
        }
    }
    while length > 0 && room[length - 1] == b'0' {
        length -= 1;
    }
    let digits = &room[..length];
    let Some((first, rest)) = digits.split_first() else {
        return out.push(b'0');
    };
    if !(-4..exponent_max).contains(&power) {
        out.push(*first);
        if !rest.is_empty() {
            out.push(b'.');
            out.extend_from_slice(rest);
        }
        out.extend_from_slice(if power < 0 { b"e-" } else { b"e+" });
        let size = power.unsigned_abs();
        if size < 10 {
            out.push(b'0');
        }
        return write_integer(size, out);
    }
    if power < 0 {
        out.extend_from_slice(b"0.");
        out.resize(out.len() + power.unsigned_abs() as usize - 1, b'0');
        return out.extend_from_slice(digits);
    }
    let whole = power as usize + 1;
    if digits.len() <= whole {
        out.extend_from_slice(digits);
        out.resize(out.len() + whole - digits.len(), b'0');
    } else {
        out.extend_from_slice(&digits[..whole]);
        out.push(b'.');
        out.extend_from_slice(&digits[whole..]);
    }
}

/// Appends bytes as `\x` and hex digits.
pub fn write_bytea(value: &[u8], out: &mut Vec<u8>) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    out.extend_from_slice(b"\\x");
    for byte in value {
        out.push(DIGITS[usize::from(byte >> 4)]);
        out.push(DIGITS[usize::from(byte & 15)]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(write: impl Fn(&mut Vec<u8>)) -> String {
        let mut out = Vec::new();
        write(&mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn floats_look_as_in_postgres() {
        for (value, expected) in [
            (0.0, "0"),
            (-0.0, "-0"),
            (1.0, "1"),
            (0.1, "0.1"),
            (-1.5, "-1.5"),
            (0.0001, "0.0001"),
            (0.00001, "1e-05"),
            (123_456_789_012_345.0, "123456789012345"),
            (1e15, "1e+15"),
            (1.25e100, "1.25e+100"),
            (f64::NAN, "NaN"),
            (f64::INFINITY, "Infinity"),
            (f64::NEG_INFINITY, "-Infinity"),
        ] {
            assert_eq!(text(|out| write_double(value, out)), expected);
        }
        for (value, expected) in [
            (1e-7, "1e-07"),
            (-2.5e-10, "-2.5e-10"),
            (100.0, "100"),
            (1_234_567.875, "1234567.875"),
            (5e-324, "5e-324"),
            (f64::MAX, "1.7976931348623157e+308"),
            (0.30000000000000004, "0.30000000000000004"),
            (1e22, "1e+22"),
            (1e14, "100000000000000"),
        ] {
            assert_eq!(text(|out| write_double(value, out)), expected);
        }
        assert_eq!(text(|out| write_real(1e6, out)), "1e+06");
        assert_eq!(text(|out| write_real(999_999.0, out)), "999999");
        assert_eq!(text(|out| write_real(0.3, out)), "0.3");
    }

    proptest::proptest! {
        #[test]
        fn floats_are_read_back_as_they_were(bits: u64, small: u32) {
            let value = f64::from_bits(bits);
            let written = text(|out| write_double(value, out));
            let back: f64 = written.parse().unwrap();
            assert!(back.to_bits() == bits || value.is_nan(), "{written}");
            let value = f32::from_bits(small);
            let back: f32 = text(|out| write_real(value, out)).parse().unwrap();
            assert!(back.to_bits() == small || value.is_nan());
        }
    }

    #[test]
    fn decimals_keep_all_digits_of_their_scale() {
        assert_eq!(text(|out| write_decimal(-5, 2, out)), "-0.05");
        assert_eq!(text(|out| write_decimal(0, 2, out)), "0.00");
        assert_eq!(text(|out| write_decimal(12_345, 0, out)), "12345");
        let min = 1 - 10i128.pow(38);
        assert_eq!(text(|out| write_decimal(min, 38, out)), format!("-0.{}", "9".repeat(38)));
    }

    #[test]
    fn dates_and_times_are_iso() {
        assert_eq!(text(|out| write_date(-719_162, out)), "0001-01-01");
        assert_eq!(text(|out| write_date(11_016, out)), "2000-02-29");
        assert_eq!(text(|out| write_date(2_932_897, out)), "10000-01-01");
        assert_eq!(text(|out| write_date(-719_163, out)), "0001-12-31 BC");
        let micros = -719_163 * DAY_US;
        assert_eq!(text(|out| write_timestamp(micros, out)), "0001-12-31 00:00:00 BC");
        assert_eq!(text(|out| write_timestamptz(micros, out)), "0001-12-31 00:00:00+00 BC");
        assert_eq!(text(|out| write_timestamp(-1, out)), "1969-12-31 23:59:59.999999");
        assert_eq!(text(|out| write_timestamp(3_723_500_000, out)), "1970-01-01 01:02:03.5");
    }

    #[test]
    fn bytes_are_written_in_hex() {
        assert_eq!(text(|out| write_bytea(&[0, 255], out)), "\\x00ff");
    }
}
