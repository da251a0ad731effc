//! Intervals: months, days and microseconds, each with its own sign.
//!
//! Ordered and hashed by their length with months of 30 days and days of 24 hours, as PostgreSQL
//! does: `1 mon` equals `30 days`.

mod arithmetic;
mod input;
mod iso_input;
mod output;

#[cfg(test)]
mod tests;

use std::cmp::Ordering;
use std::hash::{Hash, Hasher};

use crate::datetime::{MICROS_PER_DAY, MICROS_PER_HOUR, MICROS_PER_MINUTE};
use crate::error::ValueError;
use crate::types::type_modifier::IntervalFields;

/// A value of type `interval`.
#[derive(Clone, Copy, Debug, Default)]
pub struct SqlInterval {
    pub months: i32,
    pub days: i32,
    pub micros: i64,
}

pub(crate) fn out_of_range() -> ValueError {
    ValueError::datetime_overflow("interval out of range")
}

impl SqlInterval {
    /// Returns the length in microseconds by which intervals are ordered.
    pub fn span_micros(self) -> i128 {
        let days = i128::from(self.months) * 30 + i128::from(self.days);
        days * i128::from(MICROS_PER_DAY) + i128::from(self.micros)
    }

    /// Returns whether months, days and microseconds are the same, not only the length.
    pub fn is_identical(self, other: Self) -> bool {
        (self.months, self.days, self.micros) == (other.months, other.days, other.micros)
    }

    /// Drops the fields below those of a type, and rounds to digits of a second.
    ///
    /// # Errors
    /// 22008 if rounding leaves the type's range.
    pub fn with_fields(
        self,
        fields: IntervalFields,
        digits: Option<u32>,
    ) -> Result<Self, ValueError> {
        let mut interval = self;
        match fields {
            IntervalFields::YEAR => {
                interval = Self { months: self.months / 12 * 12, days: 0, micros: 0 };
            }
            IntervalFields::MONTH | IntervalFields::YEAR_TO_MONTH => {
                interval = Self { days: 0, micros: 0, ..self };
            }
            IntervalFields::DAY => interval.micros = 0,
            IntervalFields::HOUR | IntervalFields::DAY_TO_HOUR => {
                interval.micros -= interval.micros % MICROS_PER_HOUR;
            }
            IntervalFields::MINUTE
            | IntervalFields::HOUR_TO_MINUTE
            | IntervalFields::DAY_TO_MINUTE => {
                interval.micros -= interval.micros % MICROS_PER_MINUTE
            }
            _ => {}
        }
        if let Some(digits) = digits.filter(|digits| *digits < 6) {
            let unit = 10_i64.pow(6 - digits);
            let half = if interval.micros < 0 { -(unit / 2) } else { unit / 2 };
            let sum = interval.micros.checked_add(half).ok_or_else(out_of_range)?;
            interval.micros = sum / unit * unit;
        }
        Ok(interval)
    }
}

impl PartialEq for SqlInterval {
    fn eq(&self, other: &Self) -> bool {
        self.span_micros() == other.span_micros()
    }
}

impl Eq for SqlInterval {}

impl Ord for SqlInterval {
    fn cmp(&self, other: &Self) -> Ordering {
        self.span_micros().cmp(&other.span_micros())
    }
}

impl PartialOrd for SqlInterval {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Hash for SqlInterval {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.span_micros().hash(state);
    }
}
