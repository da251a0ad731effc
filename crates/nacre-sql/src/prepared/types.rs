//! The types of parameters: what clients are told, and in what form values are kept until they are
//! put into the statement.
//!
//! A column has one of a few types; a parameter may have any that clients know. One that no column
//! has is kept in the form of the column type that says most of it: arrays, numerics of any scale,
//! intervals and the like as their text.

use nacre_column::{ColumnBuffer, ColumnType};
use nacre_store::{Value, ValueRef};

use super::expressions::{NUMERIC, TEXT};
use crate::dml::push_syntax;
use crate::error::{Error, ErrorKind, Result};
use crate::pg_catalog::{array_elements, array_function};
use crate::pg_types::PgType;
use crate::types::trim_blanks;

/// Most digits of a number, as of a column.
const DIGITS_MAX: usize = 38;

/// The type of a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ParameterType {
    /// Its number, as clients are told.
    pub oid: u32,
    /// In the form of which column values are kept; texts for what no column has.
    pub column: ColumnType,
    /// Whether values are put into the statement as of this type, since nothing there says what
    /// they are. Otherwise they are of the column's.
    pub(super) is_named: bool,
}

impl ParameterType {
    /// Returns the type of a parameter that has that of a column.
    pub(super) fn of_column(column: ColumnType) -> Self {
        Self { oid: PgType::of_column(column).0.oid, column, is_named: false }
    }

    /// Returns the type of that number; `None` if no parameter has it.
    pub(super) fn with_oid(oid: u32) -> Option<Self> {
        if let Some(element) = PgType::with_array_oid(oid) {
            let is_known = array_function(element).is_some();
            return is_known.then_some(Self { oid, column: TEXT, is_named: true });
        }
        let found = PgType::with_oid(oid)?;
        let column = match found.name {
            "numeric" => NUMERIC,
            // Objects are given by their names or numbers.
            "interval" | "time" | "uuid" | "regclass" | "regtype" | "regproc" => TEXT,
            _ => found.parameter()?,
        };
        let is_column = PgType::of_column(column).0 == found && column != NUMERIC;
        Some(Self { oid, column, is_named: !is_column })
    }

    /// Returns the type of the elements of an array.
    pub fn element(self) -> Option<PgType> {
        PgType::with_array_oid(self.oid)
    }

    /// Whether a text is what a value is, as that of `varchar`.
    pub(super) fn is_text(self) -> bool {
        let name = PgType::with_oid(self.oid).map_or("", |found| found.name);
        matches!(name, "text" | "varchar" | "bpchar" | "name" | "char" | "unknown")
    }

    /// Whether values are numbers of any scale, which are kept as their digits.
    pub(crate) fn is_numeric(self) -> bool {
        self.column == NUMERIC
    }

    /// Reads the text of a value.
    ///
    /// # Errors
    /// 22P02, 22003 and the like.
    pub(super) fn parse(self, text: &str) -> Result<Value> {
        if self.is_numeric() {
            return numeric(text).map(|digits| Value::Bytes(digits.into_bytes()));
        }
        if let Some(element) = self.element() {
            array_elements(text, element)?;
        }
        if PgType::with_oid(self.oid).is_some_and(|found| found.name == "uuid") {
            return uuid(text).map(|text| Value::Bytes(text.into_bytes()));
        }
        let mut buffer = ColumnBuffer::new(self.column);
        push_syntax(text, &mut buffer)?;
        Ok(ValueRef::of(&buffer, 0).to_value())
    }
}

/// Returns the text of a value in the form of a column.
///
/// # Errors
/// 22021 for a text that is not UTF-8.
pub fn value_text(column: ColumnType, value: &Value) -> Result<String> {
    let mut buffer = ColumnBuffer::new(column);
    value.as_ref().push_to(&mut buffer);
    let mut text = Vec::new();
    nacre_column::text::write_value(&buffer, 0, &mut text);
    String::from_utf8(text)
        .map_err(|_| Error::new(ErrorKind::InvalidData, "a text is not UTF-8").with_code("22021"))
}

/// Returns the type of numbers that has just the digits of one that [`numeric`] returned.
pub(crate) fn numeric_type(number: &str) -> String {
    let digits = number.trim_start_matches('-');
    let scale = digits.split_once('.').map_or(0, |(_, fraction)| fraction.len());
    let whole = digits.len() - if scale > 0 { scale + 1 } else { 0 };
    let precision = (whole + scale).min(DIGITS_MAX);
    format!("numeric({precision},{scale})")
}

/// Returns a UUID as it is written.
///
/// # Errors
/// 22P02.
pub(crate) fn uuid(text: &str) -> Result<String> {
    let braced = text.strip_prefix('{').and_then(|rest| rest.strip_suffix('}'));
    let mut digits = braced.unwrap_or(text).replace('-', "").to_ascii_lowercase();
    if digits.len() != 32 || !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        let message = format!("invalid input syntax for type uuid: \"{text}\"");
        return Err(Error::new(ErrorKind::InvalidData, message).with_code("22P02"));
    }
    for place in [20, 16, 12, 8] {
        digits.insert(place, '-');
    }
    Ok(digits)
}

/// Returns a number as digits with a point, as many as it has, and a sign if it is negative.
///
/// # Errors
/// 22P02, 22003 and `not supported` for what is no number.
pub(crate) fn numeric(text: &str) -> Result<String> {
    let invalid = || {
        let message = format!("invalid input syntax for type numeric: \"{text}\"");
        Error::new(ErrorKind::InvalidData, message).with_code("22P02")
    };
    let trimmed = trim_blanks(text);
    let (sign, rest) = match trimmed.strip_prefix('-') {
        Some(rest) => ("-", rest),
        None => ("", trimmed.strip_prefix('+').unwrap_or(trimmed)),
    };
    if ["nan", "inf", "infinity"].iter().any(|word| rest.eq_ignore_ascii_case(word)) {
        return Err(Error::not_supported(format_args!("the numeric {text}")));
    }
    let (digits, exponent) = match rest.split_once(['e', 'E']) {
        Some((digits, exponent)) => (digits, exponent.parse::<i32>().map_err(|_| invalid())?),
        None => (rest, 0),
    };
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let all = format!("{whole}{fraction}");
    if all.is_empty() || !all.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(invalid());
    }
    let out_of_range = || {
        let message = format!("value \"{text}\" is out of range for type numeric");
        Error::new(ErrorKind::InvalidData, message)
            .with_code("22003")
            .with_detail(format!("A numeric has at most {DIGITS_MAX} digits."))
    };
    // How many digits are before the point.
    let point = i64::try_from(whole.len()).unwrap_or(i64::MAX).saturating_add(exponent.into());
    let scale = usize::try_from((all.len() as i64).saturating_sub(point)).unwrap_or(0);
    let zeros = usize::try_from(point.saturating_sub(all.len() as i64)).unwrap_or(0);
    if scale > DIGITS_MAX || zeros > DIGITS_MAX {
        return Err(out_of_range());
    }
    let all = format!("{all}{}", "0".repeat(zeros));
    let significant = all.trim_start_matches('0').len();
    if significant.max(scale) > DIGITS_MAX {
        return Err(out_of_range());
    }
    let padded = format!("{all:0>width$}", width = scale + 1);
    let (whole, fraction) = padded.split_at(padded.len() - scale);
    let whole = whole.trim_start_matches('0');
    let whole = if whole.is_empty() { "0" } else { whole };
    Ok(match fraction {
        "" => format!("{sign}{whole}"),
        fraction => format!("{sign}{whole}.{fraction}"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_keep_their_digits() {
        for (text, expected) in [
            ("1.50", "1.50"),
            ("-0.00", "-0.00"),
            ("+007", "7"),
            (" .5 ", "0.5"),
            ("12e3", "12000"),
            ("1.25E1", "12.5"),
            ("125e-4", "0.0125"),
        ] {
            assert_eq!(numeric(text).unwrap(), expected);
        }
        assert_eq!(numeric_type("-1.50"), "numeric(3,2)");
        assert_eq!(numeric_type("12000"), "numeric(5,0)");
        for text in ["", "-", "x", "1.2.3", "1e", "1 2", "0x1"] {
            assert_eq!(numeric(text).unwrap_err().sqlstate(), "22P02", "{text}");
        }
        let long = "1".repeat(39);
        for text in ["1e99999", "1e-99", "1e38", &long] {
            assert_eq!(numeric(text).unwrap_err().sqlstate(), "22003", "{text}");
        }
        assert_eq!(numeric("NaN").unwrap_err().sqlstate(), "0A000");
    }

    #[test]
    fn types_that_columns_have_are_those_of_the_columns() {
        let found = |oid| ParameterType::with_oid(oid).map(|one| (one.column, one.is_named));
        assert_eq!(found(23), Some((ColumnType::Integer, false)));
        assert_eq!(found(1700), Some((NUMERIC, true)));
        assert_eq!(found(1184), Some((ColumnType::TimestampTz, false)));
        assert_eq!(found(1007), Some((TEXT, true)));
        assert_eq!(found(2249), None);
    }
}
