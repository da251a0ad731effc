//! The year of a day.

/// Returns the year, in the proleptic Gregorian calendar, of a day counted from 1970-01-01.
#[inline(always)]
pub(crate) fn year_of(days: i32) -> i32 {
    // Days since 0000-03-01, so that a leap day ends its year.
    let days = i64::from(days) + 719_468;
    let era = days.div_euclid(146_097);
    let day_of_era = days.rem_euclid(146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    // January and February end the year before.
    (era * 400 + year_of_era + i64::from(day_of_year >= 306)) as i32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn years_change_on_the_first_of_january() {
        let is_leap = |year: i32| year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
        let (mut first, mut year) = (0, 1970);
        while year < 2405 {
            assert_eq!((year_of(first - 1), year_of(first)), (year - 1, year));
            first += 365 + i32::from(is_leap(year));
            year += 1;
        }
        assert_eq!(year_of(-719_529), -1, "a day before 0000-01-01");
        assert_eq!(year_of(-719_528), 0);
    }
}
