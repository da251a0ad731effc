//! Kinds of settings: how their values are read, kept and shown.
//!
//! A value is kept as the text that `pg_settings` shows: numbers in the unit of the setting,
//! choices and flags as they are spelt.

use super::names;
use crate::error::{Error, Result};

/// What a value may be.
#[derive(Clone, Copy, Debug)]
pub(super) enum Kind {
    Boolean,
    Integer {
        min: i64,
        max: i64,
        unit: Unit,
    },
    Real {
        min: f64,
        max: f64,
    },
    /// One of some words; others are words for one of them.
    Choice {
        values: &'static [&'static str],
        synonyms: &'static [(&'static str, &'static str)],
    },
    Text,
    /// A list of names, such as `search_path`.
    Names,
    DateStyle,
    TimeZone,
    Encoding,
}

/// What an integer counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unit {
    One,
    Milliseconds,
    Kilobytes,
    /// Of 8 KiB.
    Pages,
}

/// Names of units with their sizes, in milliseconds, the largest first.
const TIMES: [(&str, f64); 6] = [
    ("d", 86_400_000.0),
    ("h", 3_600_000.0),
    ("min", 60_000.0),
    ("s", 1_000.0),
    ("ms", 1.0),
    ("us", 0.001),
];

/// Names of units with their sizes, in bytes, the largest first.
const SIZES: [(&str, f64); 5] = [
    ("TB", 1_099_511_627_776.0),
    ("GB", 1_073_741_824.0),
    ("MB", 1_048_576.0),
    ("kB", 1024.0),
    ("B", 1.0),
];

const TIMES_HINT: &str =
    "Valid units for this parameter are \"us\", \"ms\", \"s\", \"min\", \"h\", and \"d\".";
const SIZES_HINT: &str =
    "Valid units for this parameter are \"B\", \"kB\", \"MB\", \"GB\", and \"TB\".";

impl Unit {
    /// Returns the names of the units that a value may have, and how much one of this unit is.
    fn names(self) -> (&'static [(&'static str, f64)], f64) {
        match self {
            Self::One => (&[], 1.0),
            Self::Milliseconds => (&TIMES, 1.0),
            Self::Kilobytes => (&SIZES, 1024.0),
            Self::Pages => (&SIZES, 8192.0),
        }
    }

    /// Returns the name that `pg_settings` shows.
    fn name(self) -> Option<&'static str> {
        match self {
            Self::One => None,
            Self::Milliseconds => Some("ms"),
            Self::Kilobytes => Some("kB"),
            Self::Pages => Some("8kB"),
        }
    }
}

/// Returns the error for a value that a setting does not take.
pub(super) fn invalid(name: &str, value: &str) -> Error {
    Error::invalid_parameter(format!("invalid value for parameter \"{name}\": \"{value}\""))
}

/// Reads a flag as PostgreSQL does: any beginning of a word that only one has.
pub(super) fn flag(text: &str) -> Option<bool> {
    let text = text.to_ascii_lowercase();
    let begins = |word: &str, least: usize| text.len() >= least && word.starts_with(&text);
    if begins("true", 1) || begins("yes", 1) || text == "on" || text == "1" {
        return Some(true);
    }
    let is_false = begins("false", 1) || begins("no", 1) || begins("off", 2) || text == "0";
    is_false.then_some(false)
}

impl Kind {
    /// Returns the form in which a value of the setting `name` is kept.
    ///
    /// # Errors
    /// 22023 as PostgreSQL words it.
    pub(super) fn read(self, name: &str, value: &str) -> Result<String> {
        match self {
            Self::Boolean => match flag(value.trim()) {
                Some(true) => Ok("on".into()),
                Some(false) => Ok("off".into()),
                None => {
                    let message = format!("parameter \"{name}\" requires a Boolean value");
                    Err(Error::invalid_parameter(message))
                }
            },
            Self::Integer { min, max, unit } => {
                let number = integer(name, value, unit)?;
                if (min..=max).contains(&number) {
                    return Ok(number.to_string());
                }
                let unit = unit.name().map_or_else(String::new, |unit| format!(" {unit}"));
                Err(Error::invalid_parameter(format!(
                    "{number}{unit} is outside the valid range for parameter \"{name}\" \
                     ({min} .. {max})"
                )))
            }
            Self::Real { min, max } => {
                let number: f64 = value.trim().parse().map_err(|_| invalid(name, value))?;
                if (min..=max).contains(&number) {
                    return Ok(number.to_string());
                }
                Err(Error::invalid_parameter(format!(
                    "{number} is outside the valid range for parameter \"{name}\" ({min} .. {max})"
                )))
            }
            Self::Choice { values, synonyms } => choice(values, synonyms, value).ok_or_else(|| {
                let hint = format!("Available values: {}.", values.join(", "));
                invalid(name, value).with_hint(hint)
            }),
            Self::Text => Ok(value.to_owned()),
            Self::Names => names::check_list(name, value),
            Self::DateStyle => names::date_style(name, value),
            Self::TimeZone => names::time_zone(name, value),
            Self::Encoding => names::encoding(name, value),
        }
    }

    /// Returns what SHOW answers for a value that was kept.
    pub(super) fn show(self, value: &str) -> String {
        let Self::Integer { unit, .. } = self else { return value.to_owned() };
        let (names, one) = unit.names();
        let number: i64 = value.parse().unwrap_or(0);
        if number <= 0 {
            return value.to_owned();
        }
        let amount = number as f64 * one;
        match names.iter().find(|(_, size)| *size >= 1.0 && amount % size == 0.0) {
            Some((unit, size)) => format!("{}{unit}", amount / size),
            None => value.to_owned(),
        }
    }

    /// Returns the name of the unit that values are kept in.
    pub(super) fn unit(self) -> Option<&'static str> {
        match self {
            Self::Integer { unit, .. } => unit.name(),
            _ => None,
        }
    }

    /// Returns the least and the largest number.
    pub(super) fn bounds(self) -> Option<(String, String)> {
        match self {
            Self::Integer { min, max, .. } => Some((min.to_string(), max.to_string())),
            Self::Real { min, max } => Some((min.to_string(), max.to_string())),
            _ => None,
        }
    }

    /// Returns the words that a choice is between.
    pub(super) fn choices(self) -> &'static [&'static str] {
        match self {
            Self::Choice { values, .. } => values,
            _ => &[],
        }
    }

    /// Returns the name of the kind that `pg_settings` shows.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Boolean => "bool",
            Self::Integer { .. } => "integer",
            Self::Real { .. } => "real",
            Self::Choice { .. } => "enum",
            _ => "string",
        }
    }
}

fn choice(values: &[&str], synonyms: &[(&str, &str)], value: &str) -> Option<String> {
    let is_value = |word: &&&str| word.eq_ignore_ascii_case(value);
    if let Some(word) = values.iter().find(is_value) {
        return Some((*word).to_owned());
    }
    let synonym = synonyms.iter().find(|(word, _)| word.eq_ignore_ascii_case(value));
    synonym.map(|(_, word)| (*word).to_owned())
}

/// Reads a number with a unit, `1.5GB`, as a count of the setting's unit.
fn integer(name: &str, value: &str, unit: Unit) -> Result<i64> {
    let text = value.trim();
    let is_number = |byte: u8| byte.is_ascii_digit() || matches!(byte, b'.' | b'+' | b'-');
    let end = text.bytes().position(|byte| !is_number(byte)).unwrap_or(text.len());
    let number: f64 = text[..end].parse().map_err(|_| invalid(name, value))?;
    let (names, one) = unit.names();
    let factor = match text[end..].trim_start() {
        "" => 1.0,
        given => match names.iter().find(|(unit, _)| *unit == given) {
            Some((_, size)) => size / one,
            None => {
                let error = invalid(name, value);
                return Err(match unit {
                    Unit::One => error,
                    Unit::Milliseconds => error.with_hint(TIMES_HINT),
                    Unit::Kilobytes | Unit::Pages => error.with_hint(SIZES_HINT),
                });
            }
        },
    };
    let number = (number * factor).round_ties_even();
    if number.abs() > f64::from(i32::MAX) {
        let error = invalid(name, value);
        return Err(error.with_hint("Value exceeds integer range."));
    }
    Ok(number as i64)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TIME: Kind = Kind::Integer { min: 0, max: 2_147_483_647, unit: Unit::Milliseconds };
    const MEMORY: Kind = Kind::Integer { min: 64, max: 2_147_483_647, unit: Unit::Kilobytes };

    fn read(kind: Kind, value: &str) -> String {
        match kind.read("x", value) {
            Ok(kept) => kept,
            Err(error) => error.message().to_owned(),
        }
    }

    #[test]
    fn times_and_sizes_take_units() {
        for (value, kept, shown) in [
            ("0", "0", "0"),
            ("250", "250", "250ms"),
            ("1500ms", "1500", "1500ms"),
            (" 5 s ", "5000", "5s"),
            ("1.5min", "90000", "90s"),
            ("2h", "7200000", "2h"),
            ("1d", "86400000", "1d"),
            ("700us", "1", "1ms"),
        ] {
            assert_eq!(read(TIME, value), kept, "{value}");
            assert_eq!(TIME.show(kept), shown);
        }
        assert_eq!(read(MEMORY, "4MB"), "4096");
        assert_eq!(MEMORY.show("4096"), "4MB");
        assert_eq!(MEMORY.show("1000"), "1000kB");
        assert_eq!(read(MEMORY, "1.5GB"), "1572864");
    }

    #[test]
    fn numbers_that_do_not_fit_are_refused() {
        let invalid = |value: &str| format!("invalid value for parameter \"x\": \"{value}\"");
        for value in ["", "soon", "5 parsecs", "1e3", "99999999999", "1-2"] {
            assert_eq!(read(TIME, value), invalid(value));
        }
        let error = TIME.read("x", "5 parsecs").unwrap_err();
        assert_eq!(error.hint(), Some(TIMES_HINT));
        assert_eq!(error.sqlstate(), "22023");
        let message = "-1 ms is outside the valid range for parameter \"x\" (0 .. 2147483647)";
        assert_eq!(read(TIME, "-1"), message);
    }

    #[test]
    fn flags_may_be_cut_short() {
        for text in ["on", "t", "TRUE", "tr", "y", "Yes", "1"] {
            assert_eq!(flag(text), Some(true), "{text}");
        }
        for text in ["off", "of", "f", "False", "n", "no", "0"] {
            assert_eq!(flag(text), Some(false), "{text}");
        }
        for text in ["", "o", "truer", "2", "maybe"] {
            assert_eq!(flag(text), None, "{text}");
        }
    }

    #[test]
    fn choices_have_synonyms() {
        let synonyms = &[("true", "on")];
        let kind = Kind::Choice { values: &["local", "on"], synonyms };
        assert_eq!(read(kind, "LOCAL"), "local");
        assert_eq!(read(kind, "true"), "on");
        let error = kind.read("x", "maybe").unwrap_err();
        assert_eq!(error.hint(), Some("Available values: local, on."));
    }
}
