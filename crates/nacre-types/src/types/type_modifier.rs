//! Type modifiers: the integer in which PostgreSQL keeps what stands in parentheses behind a type.
//!
//! | type | modifier |
//! |---|---|
//! | `numeric(p, s)` | `((p << 16) \| (s & 0x7ff)) + 4` |
//! | `varchar(n)`, `char(n)` | `n + 4` |
//! | `bit(n)`, `varbit(n)` | `n` |
//! | `time(p)`, `timestamp(p)` and those with a zone | `p` |
//! | `interval` | `(fields << 16) \| p`, where `0xffff` is no precision |

use crate::error::ValueError;

/// Bytes that modifiers of `numeric` and of texts count on top, for a length word.
const HEADER_BYTES: i32 = 4;

/// Most digits of a `numeric` with a precision.
pub(crate) const NUMERIC_PRECISION_MAX: i32 = 1_000;

/// Longest `varchar(n)` and `char(n)`.
pub(crate) const CHARACTERS_MAX: i32 = 10_485_760;

/// Longest `bit(n)`: what fits the 1 GiB of a value, in bits.
pub(crate) const BITS_MAX: i32 = 83_886_080;

/// Most digits of a second's fraction.
pub(crate) const SECOND_DIGITS_MAX: i32 = 6;

/// A type's modifier; -1 is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TypeModifier(pub i32);

/// The fields that an interval type keeps, as bits of PostgreSQL's field numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct IntervalFields(u16);

impl IntervalFields {
    const MONTH_BIT: u16 = 1 << 1;
    const YEAR_BIT: u16 = 1 << 2;
    const DAY_BIT: u16 = 1 << 3;
    const HOUR_BIT: u16 = 1 << 10;
    const MINUTE_BIT: u16 = 1 << 11;
    const SECOND_BIT: u16 = 1 << 12;

    pub const ALL: Self = Self(0x7fff);
    pub const YEAR: Self = Self(Self::YEAR_BIT);
    pub const MONTH: Self = Self(Self::MONTH_BIT);
    pub const DAY: Self = Self(Self::DAY_BIT);
    pub const HOUR: Self = Self(Self::HOUR_BIT);
    pub const MINUTE: Self = Self(Self::MINUTE_BIT);
    pub const SECOND: Self = Self(Self::SECOND_BIT);
    pub const YEAR_TO_MONTH: Self = Self(Self::YEAR_BIT | Self::MONTH_BIT);
    pub const DAY_TO_HOUR: Self = Self(Self::DAY_BIT | Self::HOUR_BIT);
    pub const DAY_TO_MINUTE: Self = Self(Self::DAY_TO_HOUR.0 | Self::MINUTE_BIT);
    pub const DAY_TO_SECOND: Self = Self(Self::DAY_TO_MINUTE.0 | Self::SECOND_BIT);
    pub const HOUR_TO_MINUTE: Self = Self(Self::HOUR_BIT | Self::MINUTE_BIT);
    pub const HOUR_TO_SECOND: Self = Self(Self::HOUR_TO_MINUTE.0 | Self::SECOND_BIT);
    pub const MINUTE_TO_SECOND: Self = Self(Self::MINUTE_BIT | Self::SECOND_BIT);

    /// All sets of fields that SQL can write, with their words.
    pub const NAMES: [(Self, &'static str); 14] = [
        (Self::ALL, ""),
        (Self::YEAR, "year"),
        (Self::MONTH, "month"),
        (Self::DAY, "day"),
        (Self::HOUR, "hour"),
        (Self::MINUTE, "minute"),
        (Self::SECOND, "second"),
        (Self::YEAR_TO_MONTH, "year to month"),
        (Self::DAY_TO_HOUR, "day to hour"),
        (Self::DAY_TO_MINUTE, "day to minute"),
        (Self::DAY_TO_SECOND, "day to second"),
        (Self::HOUR_TO_MINUTE, "hour to minute"),
        (Self::HOUR_TO_SECOND, "hour to second"),
        (Self::MINUTE_TO_SECOND, "minute to second"),
    ];

    /// Returns the fields that the words name, in lower case with single blanks.
    pub fn from_words(words: &str) -> Option<Self> {
        Self::NAMES.iter().find(|(_, name)| *name == words).map(|(fields, _)| *fields)
    }

    /// Returns the words of SQL; empty for all fields.
    pub fn words(self) -> Option<&'static str> {
        Self::NAMES.iter().find(|(fields, _)| *fields == self).map(|(_, name)| *name)
    }

    /// Returns whether a second's fraction belongs to the fields.
    pub fn has_second(self) -> bool {
        self == Self::ALL || self.0 & Self::SECOND_BIT != 0
    }
}

impl TypeModifier {
    pub const NONE: Self = Self(-1);

    /// Bits that stand for an interval without precision.
    const NO_PRECISION: i32 = 0xffff;

    /// Makes the modifier of `numeric(precision, scale)`.
    ///
    /// # Errors
    /// 22023 for a precision outside 1..=1000 or a scale outside -1000..=1000.
    pub fn of_numeric(precision: i32, scale: i32) -> Result<Self, ValueError> {
        if !(1..=NUMERIC_PRECISION_MAX).contains(&precision) {
            let message = format!(
                "NUMERIC precision {precision} must be between 1 and {NUMERIC_PRECISION_MAX}"
            );
            return Err(ValueError::invalid_parameter(message));
        }
        if !(-NUMERIC_PRECISION_MAX..=NUMERIC_PRECISION_MAX).contains(&scale) {
            let message = format!(
                "NUMERIC scale {scale} must be between -{NUMERIC_PRECISION_MAX} and \
                 {NUMERIC_PRECISION_MAX}"
            );
            return Err(ValueError::invalid_parameter(message));
        }
        Ok(Self(((precision << 16) | (scale & 0x7ff)) + HEADER_BYTES))
    }

    /// Makes the modifier of a text type; `name` is the word of SQL for messages.
    ///
    /// # Errors
    /// 22023 for a length outside of 1 to [`CHARACTERS_MAX`].
    pub fn of_characters(name: &str, length: i32) -> Result<Self, ValueError> {
        check_length(name, length, CHARACTERS_MAX)?;
        Ok(Self(length + HEADER_BYTES))
    }

    /// Makes the modifier of a type of bits; `name` is the word of SQL for messages.
    ///
    /// # Errors
    /// 22023 for a length outside of 1 to [`BITS_MAX`].
    pub fn of_bits(name: &str, length: i32) -> Result<Self, ValueError> {
        check_length(name, length, BITS_MAX)?;
        Ok(Self(length))
    }

    /// Makes the modifier of a time or timestamp; a precision above 6 is 6, as in PostgreSQL, which
    /// warns. `name` stands in the message: `TIME(7) WITH TIME ZONE` has the words around it.
    ///
    /// # Errors
    /// 22023 for a negative precision.
    pub fn of_seconds(name: &str, zone: &str, precision: i32) -> Result<Self, ValueError> {
        if precision < 0 {
            let message = format!("{name}({precision}){zone} precision must not be negative");
            return Err(ValueError::invalid_parameter(message));
        }
        Ok(Self(precision.min(SECOND_DIGITS_MAX)))
    }

    /// Makes the modifier of an interval; a precision above 6 is 6.
    ///
    /// # Errors
    /// 22023 for a negative precision.
    pub fn of_interval(fields: IntervalFields, precision: Option<i32>) -> Result<Self, ValueError> {
        let precision = match precision {
            None if fields == IntervalFields::ALL => return Ok(Self::NONE),
            None => Self::NO_PRECISION,
            Some(precision) if precision < 0 => {
                let message = format!("INTERVAL({precision}) precision must not be negative");
                return Err(ValueError::invalid_parameter(message));
            }
            Some(precision) => precision.min(SECOND_DIGITS_MAX),
        };
        Ok(Self((i32::from(fields.0) << 16) | precision))
    }

    /// Returns precision and scale of a `numeric`.
    pub fn numeric(self) -> Option<(i32, i32)> {
        let bits = self.above_header()?;
        // The scale is a number of eleven bits with a sign.
        Some(((bits >> 16) & 0xffff, ((bits & 0x7ff) ^ 1_024) - 1_024))
    }

    /// Returns the length of a `varchar` or `char`.
    pub fn characters(self) -> Option<usize> {
        self.above_header().and_then(|length| usize::try_from(length).ok())
    }

    /// Returns the length of a `bit` or `varbit`.
    pub fn bits(self) -> Option<usize> {
        usize::try_from(self.0).ok()
    }

    /// Returns the digits of a second's fraction of a time or timestamp.
    pub fn second_digits(self) -> Option<u32> {
        u32::try_from(self.0).ok()
    }

    /// Returns the fields that an interval keeps.
    pub fn interval_fields(self) -> IntervalFields {
        match self.0 {
            ..0 => IntervalFields::ALL,
            bits => IntervalFields(((bits >> 16) & 0x7fff) as u16),
        }
    }

    /// Returns the digits of a second's fraction of an interval.
    pub fn interval_digits(self) -> Option<u32> {
        match self.0 & Self::NO_PRECISION {
            Self::NO_PRECISION => None,
            _ if self.0 < 0 => None,
            digits => u32::try_from(digits).ok(),
        }
    }

    fn above_header(self) -> Option<i32> {
        (self.0 >= HEADER_BYTES).then(|| self.0 - HEADER_BYTES)
    }
}

fn check_length(name: &str, length: i32, length_max: i32) -> Result<(), ValueError> {
    if length < 1 {
        let message = format!("length for type {name} must be at least 1");
        return Err(ValueError::invalid_parameter(message));
    }
    if length > length_max {
        let message = format!("length for type {name} cannot exceed {length_max}");
        return Err(ValueError::invalid_parameter(message));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numeric_modifiers_hold_precision_and_scale() {
        assert_eq!(TypeModifier::of_numeric(15, 2), Ok(TypeModifier(983_046)));
        for (precision, scale) in [(1, 0), (38, 38), (1_000, -1_000), (2, -3), (1_000, 1_000)] {
            let modifier = TypeModifier::of_numeric(precision, scale).unwrap();
            assert_eq!(modifier.numeric(), Some((precision, scale)));
        }
        let error = TypeModifier::of_numeric(0, 0).unwrap_err();
        assert_eq!(error.message(), "NUMERIC precision 0 must be between 1 and 1000");
        assert_eq!(TypeModifier::NONE.numeric(), None);
    }

    #[test]
    fn interval_modifiers_hold_fields_and_precision() {
        let modifier = TypeModifier::of_interval(IntervalFields::DAY_TO_SECOND, Some(3)).unwrap();
        assert_eq!(modifier.interval_fields(), IntervalFields::DAY_TO_SECOND);
        assert_eq!(modifier.interval_digits(), Some(3));
        let modifier = TypeModifier::of_interval(IntervalFields::YEAR, None).unwrap();
        assert_eq!(modifier, TypeModifier((4 << 16) | 0xffff));
        assert_eq!(modifier.interval_digits(), None);
        assert_eq!(TypeModifier::NONE.interval_digits(), None);
    }

    #[test]
    fn lengths_are_bounded() {
        assert_eq!(TypeModifier::of_characters("varchar", 10).unwrap().characters(), Some(10));
        assert!(TypeModifier::of_characters("varchar", 0).is_err());
        assert!(TypeModifier::of_characters("char", CHARACTERS_MAX + 1).is_err());
        assert_eq!(TypeModifier::of_bits("bit", 3).unwrap().bits(), Some(3));
    }
}
