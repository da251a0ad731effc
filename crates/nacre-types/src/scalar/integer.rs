//! Integers and OIDs.

use std::str::FromStr;

use crate::error::ValueError;
use crate::input_text::{is_space, trim_spaces};

/// Reads an integer of the type that SQL calls `type_name`.
pub(crate) fn parse_integer<T: FromStr>(text: &str, type_name: &str) -> Result<T, ValueError> {
    let trimmed = trim_spaces(text);
    let unsigned = trimmed.strip_prefix(['+', '-']).unwrap_or(trimmed);
    let digits = unsigned.bytes().take_while(u8::is_ascii_digit).count();
    if digits == 0 {
        return Err(ValueError::syntax_of(type_name, text));
    }
    // A number beyond the range comes before what follows it.
    let (number, rest) = trimmed.split_at(trimmed.len() - unsigned.len() + digits);
    let value = number.parse().map_err(|_| ValueError::range_of_text(type_name, text))?;
    if rest.is_empty() { Ok(value) } else { Err(ValueError::syntax_of(type_name, text)) }
}

/// Reads an unsigned integer of 32 bits; negative ones of 32 bits count from 2^32 down.
pub(crate) fn parse_oid(text: &str, type_name: &str) -> Result<u32, ValueError> {
    let value: i64 = match parse_integer(text.trim_start_matches(is_space), type_name) {
        Ok(value) => value,
        Err(error) if error.sql_state() == "22003" => {
            return Err(ValueError::range_of_text(type_name, text));
        }
        Err(_) => return Err(ValueError::syntax_of(type_name, text)),
    };
    match u32::try_from(value) {
        Ok(oid) => Ok(oid),
        Err(_) => match i32::try_from(value) {
            Ok(negative) => Ok(negative.cast_unsigned()),
            Err(_) => Err(ValueError::range_of_text(type_name, text)),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_are_bounded_by_their_type() {
        assert_eq!(parse_integer::<i32>(" -12 ", "integer"), Ok(-12));
        let error = parse_integer::<i16>("32768", "smallint").unwrap_err();
        assert_eq!(error.message(), "value \"32768\" is out of range for type smallint");
        let error = parse_integer::<i64>("1 2", "bigint").unwrap_err();
        assert_eq!(error.message(), "invalid input syntax for type bigint: \"1 2\"");
    }

    #[test]
    fn negative_oids_wrap() {
        assert_eq!(parse_oid("-1", "oid"), Ok(u32::MAX));
        assert_eq!(parse_oid("4294967295", "oid"), Ok(u32::MAX));
        assert_eq!(parse_oid("-3000000000", "oid").unwrap_err().sql_state(), "22003");
        assert_eq!(parse_oid("-", "oid").unwrap_err().sql_state(), "22P02");
    }
}
