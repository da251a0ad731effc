//! Sizes with units: `pg_size_pretty`, `pg_size_bytes`.

use nacre_types::{ExactNumeric, SqlValue, ValueError};

use super::ScalarKernel;
use super::arguments::{numeric, text, text_value, whole};
use super::registry::KernelRow;

/// A unit of sizes.
struct SizeUnit {
    name: &'static str,
    /// Below it a size is shown in this unit.
    limit: i64,
    /// Whether sizes are halves of the unit until they are shown.
    is_halved: bool,
    /// The power of two that it is.
    bits: u32,
}

const UNITS: [SizeUnit; 6] = [
    SizeUnit { name: "bytes", limit: 10 * 1024, is_halved: false, bits: 0 },
    SizeUnit { name: "kB", limit: 20 * 1024 - 1, is_halved: true, bits: 10 },
    SizeUnit { name: "MB", limit: 20 * 1024 - 1, is_halved: true, bits: 20 },
    SizeUnit { name: "GB", limit: 20 * 1024 - 1, is_halved: true, bits: 30 },
    SizeUnit { name: "TB", limit: 20 * 1024 - 1, is_halved: true, bits: 40 },
    SizeUnit { name: "PB", limit: 20 * 1024 - 1, is_halved: true, bits: 50 },
];

pub(super) const KERNELS: &[KernelRow] = &[
    (
        "pg_size_pretty(int8)",
        ScalarKernel::total(|values, _| text_value(shown_size(whole(values, 0)?))),
    ),
    (
        "pg_size_pretty(numeric)",
        ScalarKernel::sized(|values, _| text_value(shown_numeric(numeric(values, 0)?)?)),
    ),
    (
        "pg_size_bytes(text)",
        ScalarKernel::partial(|values, _| read_size(text(values, 0)?).map(SqlValue::BigInt)),
    ),
];

/// Returns by which a size in one unit is divided for the next one.
fn divisor(unit: &SizeUnit, next: &SizeUnit) -> i64 {
    let bits = next.bits - unit.bits - u32::from(next.is_halved) + u32::from(unit.is_halved);
    1 << bits
}

fn shown_size(mut size: i64) -> String {
    let last = UNITS.len() - 1;
    for (index, unit) in UNITS.iter().enumerate() {
        if index == last || size.unsigned_abs() < unit.limit.unsigned_abs() {
            if unit.is_halved {
                size = size.saturating_add(if size < 0 { -1 } else { 1 }) / 2;
            }
            return format!("{size} {}", unit.name);
        }
        size /= divisor(unit, &UNITS[index + 1]);
    }
    String::new()
}

fn shown_numeric(size: &ExactNumeric) -> Result<String, ValueError> {
    let integer = |value: i64| ExactNumeric::from_scaled(value.into(), 0);
    let mut size = size.clone();
    let last = UNITS.len() - 1;
    for (index, unit) in UNITS.iter().enumerate() {
        if index == last || size.abs() < integer(unit.limit)? {
            if unit.is_halved {
                let half = integer(if size.signum() == Some(-1) { -1 } else { 1 })?;
                size = size.add(&half)?.divide_truncated(&integer(2)?)?;
            }
            return Ok(format!("{size} {}", unit.name));
        }
        size = size.divide_truncated(&integer(divisor(unit, &UNITS[index + 1]))?)?;
    }
    Ok(String::new())
}

fn is_space(letter: char) -> bool {
    matches!(letter, ' ' | '\t'..='\r')
}

/// Returns how long the number at the start of a text is; `None` without digits.
fn number_length(text: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    let digits =
        |from: usize| bytes[from..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    let signed = |at: usize| at + usize::from(matches!(bytes.get(at), Some(b'-' | b'+')));
    let start = signed(0);
    let mut end = start + digits(start);
    let mut count = end - start;
    if bytes.get(end) == Some(&b'.') {
        let behind = digits(end + 1);
        (end, count) = (end + 1 + behind, count + behind);
    }
    if count == 0 {
        return None;
    }
    if matches!(bytes.get(end), Some(b'e' | b'E')) {
        // Blanks may stand before an exponent, as C reads it.
        let blanks =
            bytes[end + 1..].iter().take_while(|byte| is_space(char::from(**byte))).count();
        let exponent = signed(end + 1 + blanks);
        let length = digits(exponent);
        end = if length > 0 { exponent + length } else { end };
    }
    Some(end)
}

/// Reads a size such as `1.5 GB`.
fn read_size(text: &str) -> Result<i64, ValueError> {
    let invalid = || ValueError::invalid_parameter(format!("invalid size: \"{text}\""));
    let rest = text.trim_start_matches(is_space);
    let (number, unit) = rest.split_at(number_length(rest).ok_or_else(invalid)?);
    let number = ExactNumeric::parse(&number.replace(is_space, ""), None)?;
    let unit = unit.trim_matches(is_space);
    if unit.is_empty() {
        return number.to_i64();
    }
    let known = UNITS.iter().find(|known| known.name.eq_ignore_ascii_case(unit));
    let known = known.ok_or_else(|| {
        let hint = "Valid units are \"bytes\", \"kB\", \"MB\", \"GB\", \"TB\", and \"PB\".";
        invalid().with_detail(format!("Invalid size unit: \"{unit}\".")).with_hint(hint)
    })?;
    ExactNumeric::from_scaled(1 << known.bits, 0)?.multiply(&number)?.to_i64()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_the_unit_that_leaves_fewer_than_five_digits() {
        for (size, expected) in [
            (10_239, "10239 bytes"),
            (10_240, "10 kB"),
            (-10_240, "-10 kB"),
            (-20_479 * 1024, "-20 MB"),
            (123_456_789, "118 MB"),
            (i64::MAX, "8192 PB"),
            (i64::MIN, "-8192 PB"),
        ] {
            assert_eq!(shown_size(size), expected);
            let numeric = ExactNumeric::from_scaled(size.into(), 0).unwrap();
            assert_eq!(shown_numeric(&numeric).unwrap(), expected);
        }
        for (size, expected) in
            [("10.5", "10.5 bytes"), ("NaN", "NaN PB"), ("1e30", "888178419700125 PB")]
        {
            let size = ExactNumeric::parse(size, None).unwrap();
            assert_eq!(shown_numeric(&size).unwrap(), expected);
        }
    }

    #[test]
    fn sizes_are_read_with_their_unit() {
        for (text, expected) in [
            ("1 GB", 1 << 30),
            ("1.5 kb ", 1_536),
            ("-1e2", -100),
            ("1e3MB", 1_048_576_000),
            (" .5", 1),
            ("1e 2 kB", 102_400),
        ] {
            assert_eq!(read_size(text), Ok(expected), "{text}");
        }
        for (text, code) in [("1B", "22023"), ("", "22023"), ("x", "22023"), ("1e30", "22003")] {
            assert_eq!(read_size(text).unwrap_err().sql_state(), code, "{text}");
        }
    }
}
