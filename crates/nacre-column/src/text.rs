//! Value to text, as PostgreSQL writes each type with its default settings.
//!
//! Whatever is written here is read back by the parser of `nacre-ingest` as the same value.

use std::io::Write;

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
        (ColumnType::Decimal { scale, .. }, Values::Int64(values)) => {
            write_decimal(i128::from(values[row]), scale, out);
        }
        (ColumnType::Decimal { scale, .. }, Values::Int128(values)) => {
            write_decimal(values[row], scale, out);
        }
        (_, Values::Int64(values)) => append(out, format_args!("{}", values[row])),
        (_, Values::Int128(values)) => append(out, format_args!("{}", values[row])),
        (_, Values::Float32(values)) => write_real(values[row], out),
        (_, Values::Float64(values)) => write_double(values[row], out),
        (ColumnType::Bytea, Values::Bytes(values)) => write_bytea(values.get(row), out),
        (_, Values::Bytes(values)) => out.extend_from_slice(values.get(row)),
    }
    true
}

fn append(out: &mut Vec<u8>, text: std::fmt::Arguments<'_>) {
    // Writing to a vector cannot fail.
    let _ = out.write_fmt(text);
}

/// Appends an unscaled decimal with `scale` digits after the point.
pub fn write_decimal(unscaled: i128, scale: u8, out: &mut Vec<u8>) {
    if unscaled < 0 {
        out.push(b'-');
    }
    let digits = format!("{:0>1$}", unscaled.unsigned_abs(), usize::from(scale) + 1);
    let (whole, fraction) = digits.split_at(digits.len() - usize::from(scale));
    out.extend_from_slice(whole.as_bytes());
    if scale > 0 {
        out.push(b'.');
        out.extend_from_slice(fraction.as_bytes());
    }
}

/// Splits days since 1970-01-01 into year, month and day.
fn civil_from_days(days: i64) -> (i64, i64, i64) {
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

/// Appends days since 1970-01-01 as `yyyy-mm-dd`.
pub fn write_date(days: i64, out: &mut Vec<u8>) {
    let (year, month, day) = civil_from_days(days);
    append(out, format_args!("{year:04}-{month:02}-{day:02}"));
}

/// Appends microseconds since 1970-01-01 as `yyyy-mm-dd hh:mm:ss[.ffffff]`.
pub fn write_timestamp(micros: i64, out: &mut Vec<u8>) {
    write_date(micros.div_euclid(DAY_US), out);
    let time_us = micros.rem_euclid(DAY_US);
    let second = time_us / SECOND_US;
    let (hour, minute, second) = (second / 3_600, second / 60 % 60, second % 60);
    append(out, format_args!(" {hour:02}:{minute:02}:{second:02}"));
    let fraction = time_us % SECOND_US;
    if fraction != 0 {
        append(out, format_args!(".{fraction:06}"));
        while out.last() == Some(&b'0') {
            out.pop();
        }
    }
}

/// Appends a `real` with the fewest digits that give it back.
pub fn write_real(value: f32, out: &mut Vec<u8>) {
    if value.is_finite() {
        write_scientific(&format!("{value:e}"), 6, out);
    } else {
        write_special(f64::from(value), out);
    }
}

/// Appends a `double precision` with the fewest digits that give it back.
pub fn write_double(value: f64, out: &mut Vec<u8>) {
    if value.is_finite() {
        write_scientific(&format!("{value:e}"), 15, out);
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

/// Turns `-d.ddde-x` into PostgreSQL's form: no exponent if it is from -4 to below `exponent_max`,
/// otherwise a signed one of at least two digits.
fn write_scientific(text: &str, exponent_max: i32, out: &mut Vec<u8>) {
    let (mantissa, exponent) = text.split_once('e').unwrap_or((text, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if !(-4..exponent_max).contains(&exponent) {
        let sign = if exponent < 0 { '-' } else { '+' };
        append(out, format_args!("{mantissa}e{sign}{:02}", exponent.unsigned_abs()));
        return;
    }
    let (sign, digits) = match mantissa.strip_prefix('-') {
        Some(digits) => ("-", digits),
        None => ("", mantissa),
    };
    let digits: String = digits.chars().filter(|c| *c != '.').collect();
    out.extend_from_slice(sign.as_bytes());
    if exponent < 0 {
        append(out, format_args!("0.{:0>1$}{digits}", "", exponent.unsigned_abs() as usize - 1));
        return;
    }
    let whole = exponent as usize + 1;
    if digits.len() <= whole {
        append(out, format_args!("{digits:0<whole$}"));
    } else {
        append(out, format_args!("{}.{}", &digits[..whole], &digits[whole..]));
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
        assert_eq!(text(|out| write_real(1e6, out)), "1e+06");
        assert_eq!(text(|out| write_real(999_999.0, out)), "999999");
        assert_eq!(text(|out| write_real(0.3, out)), "0.3");
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
        assert_eq!(text(|out| write_timestamp(-1, out)), "1969-12-31 23:59:59.999999");
        assert_eq!(text(|out| write_timestamp(3_723_500_000, out)), "1970-01-01 01:02:03.5");
    }

    #[test]
    fn bytes_are_written_in_hex() {
        assert_eq!(text(|out| write_bytea(&[0, 255], out)), "\\x00ff");
    }
}
