//! What a session sets for dates and times.

use super::values::SqlTimestamp;
use super::zone::TimeZoneRules;

/// How dates and timestamps are written: the first part of `DateStyle`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum DateStyle {
    /// `2024-01-05 13:00:00+01`.
    #[default]
    Iso,
    /// `01/05/2024 13:00:00 CET`.
    Sql,
    /// `Fri Jan 05 13:00:00 2024 CET`.
    Postgres,
    /// `05.01.2024 13:00:00 CET`.
    German,
}

/// How dates such as `1/2/03` are read: the second part of `DateStyle`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum DateOrder {
    #[default]
    MonthDayYear,
    DayMonthYear,
    YearMonthDay,
}

/// How intervals are written: `IntervalStyle`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum IntervalStyle {
    /// `1 year 2 mons 3 days 04:05:06`.
    #[default]
    Postgres,
    /// `@ 1 year 2 mons 3 days 4 hours 5 mins 6 secs`.
    PostgresVerbose,
    /// `+1-2 +3 +4:05:06`.
    SqlStandard,
    /// `P1Y2M3DT4H5M6S`.
    Iso8601,
}

/// What a session sets for dates and times.
#[derive(Clone, Debug, Default)]
pub struct DatetimeSettings {
    pub date_style: DateStyle,
    pub date_order: DateOrder,
    pub interval_style: IntervalStyle,
    pub time_zone: TimeZoneRules,
    /// The start of the transaction, for `now` and `today`; without it those are refused.
    pub now: Option<SqlTimestamp>,
    /// The start of the statement, for `statement_timestamp`.
    pub statement: Option<SqlTimestamp>,
}
