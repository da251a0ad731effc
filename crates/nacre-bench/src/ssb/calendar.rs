//! The days of the dimension `dates`: 1992 to 1998.
//!
//! # Source
//! SSB revision 3, section 2.6. Differs: all 2,557 days of the seven years are there. The text
//! leaves open, and we choose: weeks of the year begin with the year, every seven days; Sunday is
//! day 1 of a week; holidays are 1 January, 4 July and 25 December.

use std::fmt;
use std::sync::LazyLock;

const FIRST_YEAR: u32 = 1992;
const LAST_YEAR: u32 = 1998;

/// 1 January 1992 was a Wednesday; Sunday is 0.
const FIRST_WEEKDAY: usize = 3;

const WEEKDAYS: [&str; 7] =
    ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];

const MONTHS: [(&str, u32); 12] = [
    ("January", 31),
    ("February", 28),
    ("March", 31),
    ("April", 30),
    ("May", 31),
    ("June", 30),
    ("July", 31),
    ("August", 31),
    ("September", 30),
    ("October", 31),
    ("November", 30),
    ("December", 31),
];

const HOLIDAYS: [(u32, u32); 3] = [(1, 1), (7, 4), (12, 25)];

/// A day; prints as a row of `dates`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Day {
    year: u32,
    /// From 1.
    month: u32,
    /// From 1.
    day: u32,
    /// From 1.
    day_of_year: u32,
    /// From 0, Sunday.
    weekday: usize,
}

/// All days, in order.
pub(super) static DAYS: LazyLock<Vec<Day>> = LazyLock::new(|| {
    let mut days = Vec::new();
    for year in FIRST_YEAR..=LAST_YEAR {
        let mut day_of_year = 0;
        for month in 1..=12 {
            for day in 1..=month_days(year, month) {
                day_of_year += 1;
                let weekday = (FIRST_WEEKDAY + days.len()) % WEEKDAYS.len();
                days.push(Day { year, month, day, day_of_year, weekday });
            }
        }
    }
    days
});

fn month_days(year: u32, month: u32) -> u32 {
    let is_leap = year.is_multiple_of(4);
    MONTHS[month as usize - 1].1 + u32::from(is_leap && month == 2)
}

impl Day {
    /// Returns the key, such as 19940215.
    pub(super) fn key(self) -> u32 {
        (self.year * 100 + self.month) * 100 + self.day
    }

    fn season(self) -> &'static str {
        match self.month {
            1..=3 => "Winter",
            4 => "Spring",
            5..=8 => "Summer",
            9 | 10 => "Fall",
            _ => "Christmas",
        }
    }
}

impl fmt::Display for Day {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { year, month, day, day_of_year, weekday } = *self;
        let month_name = MONTHS[month as usize - 1].0;
        let flag = u32::from;
        write!(
            f,
            "{},\"{month_name} {day}, {year}\",{},{month_name},{year},{},{}{year},{},{day},\
             {day_of_year},{month},{},{},{},{},{},{}",
            self.key(),
            WEEKDAYS[weekday],
            year * 100 + month,
            &month_name[..3],
            weekday + 1,
            (day_of_year - 1) / 7 + 1,
            self.season(),
            flag(weekday == 6),
            flag(day == month_days(year, month)),
            flag(HOLIDAYS.contains(&(month, day))),
            flag((1..=5).contains(&weekday)),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seven_years_have_2557_days_and_the_right_weekdays() {
        assert_eq!(DAYS.len(), 2_557);
        assert!(DAYS.windows(2).all(|pair| pair[0].key() < pair[1].key()));
        let weekday = |key| {
            let day = DAYS.iter().find(|day| day.key() == key);
            day.map(|day| WEEKDAYS[day.weekday])
        };
        assert_eq!(weekday(19_920_229), Some("Saturday"));
        assert_eq!(weekday(19_981_231), Some("Thursday"));
        assert_eq!(weekday(19_930_229), None);
    }

    #[test]
    fn day_prints_as_a_row() {
        let day = DAYS.iter().find(|day| day.key() == 19_960_704).copied().unwrap();
        let row = "19960704,\"July 4, 1996\",Thursday,July,1996,199607,Jul1996,5,4,186,7,27,Summer,\
                   0,0,1,1";
        assert_eq!(day.to_string(), row);
    }
}
