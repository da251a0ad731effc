//! Sums, multiples and normal forms of intervals.

use super::{SqlInterval, out_of_range};
use crate::datetime::MICROS_PER_DAY;
use crate::error::ValueError;

/// Days of a month in normal forms.
const MONTH_DAYS: i32 = 30;

const DAY_SECONDS: f64 = 86_400.0;

impl SqlInterval {
    /// Adds field by field.
    ///
    /// # Errors
    /// 22008 outside of the type's range.
    pub fn sum(self, other: Self) -> Result<Self, ValueError> {
        let sum = || {
            Some(Self {
                months: self.months.checked_add(other.months)?,
                days: self.days.checked_add(other.days)?,
                micros: self.micros.checked_add(other.micros)?,
            })
        };
        sum().ok_or_else(out_of_range)
    }

    /// Changes the sign of each field.
    ///
    /// # Errors
    /// 22008 outside of the type's range.
    pub fn negate(self) -> Result<Self, ValueError> {
        let negated = || {
            Some(Self {
                months: self.months.checked_neg()?,
                days: self.days.checked_neg()?,
                micros: self.micros.checked_neg()?,
            })
        };
        negated().ok_or_else(out_of_range)
    }

    /// Subtracts field by field.
    ///
    /// # Errors
    /// 22008 outside of the type's range.
    pub fn subtract(self, other: Self) -> Result<Self, ValueError> {
        let difference = || {
            Some(Self {
                months: self.months.checked_sub(other.months)?,
                days: self.days.checked_sub(other.days)?,
                micros: self.micros.checked_sub(other.micros)?,
            })
        };
        difference().ok_or_else(out_of_range)
    }

    /// Multiplies; parts of months become days, parts of days time.
    ///
    /// # Errors
    /// 22008 outside of the type's range.
    pub fn multiply(self, factor: f64) -> Result<Self, ValueError> {
        self.scale(|part| part * factor).ok_or_else(out_of_range)
    }

    /// Divides; parts of months become days, parts of days time.
    ///
    /// # Errors
    /// 22012 by zero, 22008 outside of the type's range.
    pub fn divide(self, divisor: f64) -> Result<Self, ValueError> {
        if divisor == 0.0 {
            return Err(ValueError::division_by_zero("division by zero"));
        }
        self.scale(|part| part / divisor).ok_or_else(out_of_range)
    }

    fn scale(self, by: impl Fn(f64) -> f64) -> Option<Self> {
        // Products are not exact: a millionth of a second decides.
        let settled = |part: f64| (part * 1e6).round_ties_even() / 1e6;
        let whole = |part: f64| {
            let fits =
                !part.is_nan() && (f64::from(i32::MIN)..=f64::from(i32::MAX)).contains(&part);
            fits.then_some(part as i32)
        };
        let (months, days) = (by(self.months.into()), by(self.days.into()));
        let (whole_months, whole_days) = (whole(months)?, whole(days)?);
        let month_days = settled((months - f64::from(whole_months)) * f64::from(MONTH_DAYS));
        let day_part = days - f64::from(whole_days) + month_days - month_days.trunc();
        let mut seconds = settled(day_part * DAY_SECONDS);
        let mut carried = 0.0;
        // Two parts of days may make a whole one.
        if seconds.abs() >= DAY_SECONDS {
            carried = (seconds / DAY_SECONDS).trunc();
            seconds -= carried * DAY_SECONDS;
        }
        let days =
            whole_days.checked_add(whole(month_days.trunc())?)?.checked_add(whole(carried)?)?;
        let micros = (by(self.micros as f64) + seconds * 1e6).round_ties_even();
        // 2^63 is the first double beyond.
        let fits = !micros.is_nan()
            && (-9_223_372_036_854_775_808.0..9_223_372_036_854_775_808.0).contains(&micros);
        fits.then_some(Self { months: whole_months, days, micros: micros as i64 })
    }

    /// Makes days of 24 hours.
    ///
    /// # Errors
    /// 22008 outside of the type's range.
    pub fn justify_hours(self) -> Result<Self, ValueError> {
        let (days, micros) = (self.micros / MICROS_PER_DAY, self.micros % MICROS_PER_DAY);
        let days = i32::try_from(days).ok().and_then(|days| self.days.checked_add(days));
        let mut interval = Self { days: days.ok_or_else(out_of_range)?, micros, ..self };
        if interval.days > 0 && interval.micros < 0 {
            interval.micros += MICROS_PER_DAY;
            interval.days -= 1;
        } else if interval.days < 0 && interval.micros > 0 {
            interval.micros -= MICROS_PER_DAY;
            interval.days += 1;
        }
        Ok(interval)
    }

    /// Makes months of 30 days.
    ///
    /// # Errors
    /// 22008 outside of the type's range.
    pub fn justify_days(self) -> Result<Self, ValueError> {
        let months = self.months.checked_add(self.days / MONTH_DAYS).ok_or_else(out_of_range)?;
        let mut interval = Self { months, days: self.days % MONTH_DAYS, ..self };
        if interval.months > 0 && interval.days < 0 {
            interval.days += MONTH_DAYS;
            interval.months -= 1;
        } else if interval.months < 0 && interval.days > 0 {
            interval.days -= MONTH_DAYS;
            interval.months += 1;
        }
        Ok(interval)
    }

    /// Makes days of 24 hours and months of 30 days, all with one sign.
    ///
    /// # Errors
    /// 22008 outside of the type's range.
    pub fn justify(self) -> Result<Self, ValueError> {
        let mut interval = self;
        // Days of the other sign than the time first, so that sums do not overflow.
        if interval.days.signum() == interval.micros.signum() as i32 {
            interval = Self { micros: interval.micros, ..interval.justify_days()? };
        }
        let carried = interval.micros / MICROS_PER_DAY;
        let days = i64::from(interval.days) + carried;
        let months = i64::from(interval.months) + days / i64::from(MONTH_DAYS);
        let mut days = days % i64::from(MONTH_DAYS);
        let mut micros = interval.micros % MICROS_PER_DAY;
        let mut months = i32::try_from(months).map_err(|_| out_of_range())?;
        if months > 0 && (days < 0 || (days == 0 && micros < 0)) {
            days += i64::from(MONTH_DAYS);
            months -= 1;
        } else if months < 0 && (days > 0 || (days == 0 && micros > 0)) {
            days -= i64::from(MONTH_DAYS);
            months += 1;
        }
        if days > 0 && micros < 0 {
            micros += MICROS_PER_DAY;
            days -= 1;
        } else if days < 0 && micros > 0 {
            micros -= MICROS_PER_DAY;
            days += 1;
        }
        Ok(Self { months, days: days as i32, micros })
    }
}
