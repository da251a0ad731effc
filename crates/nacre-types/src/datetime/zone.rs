//! Time zones: by name from the IANA database, by POSIX rule, by a fixed offset.
//!
//! The database ends each zone with a rule that repeats every 400 years at the latest, since the
//! calendar does; later years than the library knows are looked up that many years earlier.

use std::collections::HashMap;
use std::fmt;
use std::sync::LazyLock;

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::{AmbiguousOffset, TimeZone};

use super::calendar::{CivilDate, CivilTime, split_micros};
use super::{EPOCH_DAYS, MICROS_PER_SECOND};

/// Abbreviations that PostgreSQL knows by default, such as `PST`; see its `pg_timezone_abbrevs`.
const ABBREVIATIONS: &str = include_str!("zone_abbreviations.tsv");

/// Seconds of 400 years of the calendar.
const CYCLE_SECONDS: i64 = 146_097 * 86_400;

/// The last year that is looked up as it is.
const YEAR_MAX: i32 = 9_000;

/// The year -9000 in seconds from 1970; no type reaches it.
const SECONDS_MAX: i64 = 221_845_392_000;

/// Transitions after which a zone that has kept its offset counts as fixed; zones that change it do
/// so within their first ones.
const TRANSITIONS_LOOKED_AT: usize = 256;

/// Most hours of an offset in a POSIX rule.
const ZONE_HOURS_MAX: i32 = 167;

/// Longest name of a zone.
const NAME_BYTES_MAX: usize = 255;

/// The rules of a time zone.
#[derive(Clone, PartialEq, Eq)]
pub struct TimeZoneRules {
    rules: ZoneSource,
    name: String,
}

#[derive(Clone, PartialEq, Eq)]
enum ZoneSource {
    /// Seconds ahead of UTC.
    Fixed(i32),
    Rules(TimeZone),
}

/// What a zone's clocks show at a moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ZoneOffset {
    /// Seconds ahead of UTC.
    pub seconds_east: i32,
    /// Such as `CET` or `+03`.
    pub abbreviation: String,
    pub is_dst: bool,
}

/// What an abbreviation stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ZoneAbbreviation {
    Offset {
        seconds_east: i32,
        is_dst: bool,
    },
    /// The offset that this zone has at the time in question.
    Zone(&'static str),
}

static ABBREVIATION_TABLE: LazyLock<HashMap<&'static str, ZoneAbbreviation>> =
    LazyLock::new(|| ABBREVIATIONS.lines().skip(1).filter_map(parse_abbreviation).collect());

fn parse_abbreviation(line: &'static str) -> Option<(&'static str, ZoneAbbreviation)> {
    let mut fields = line.split('\t');
    let (word, seconds) = (fields.next()?, fields.next()?);
    let (is_dst, zone) = (fields.next()? == "t", fields.next()?);
    Some(match seconds.parse() {
        Ok(seconds_east) => (word, ZoneAbbreviation::Offset { seconds_east, is_dst }),
        Err(_) => (word, ZoneAbbreviation::Zone(zone)),
    })
}

/// Returns what an abbreviation in lower case stands for.
pub(crate) fn find_abbreviation(word: &str) -> Option<&'static ZoneAbbreviation> {
    ABBREVIATION_TABLE.get(word)
}

impl TimeZoneRules {
    /// Makes the zone of UTC.
    pub fn utc() -> Self {
        Self { rules: ZoneSource::Fixed(0), name: "UTC".to_owned() }
    }

    /// Makes a zone with a fixed offset, named as PostgreSQL does: `<+05>-05`.
    pub fn fixed(seconds_east: i32) -> Self {
        let text = |seconds: i32, sign: char| {
            let (hours, rest) = (seconds.abs() / 3_600, seconds.abs() % 3_600);
            let mut text = format!("{sign}{hours:02}");
            if rest != 0 {
                text.push_str(&format!(":{:02}", rest / 60));
            }
            if rest % 60 != 0 {
                text.push_str(&format!(":{:02}", rest % 60));
            }
            text
        };
        let (east, west) = if seconds_east < 0 { ('-', '+') } else { ('+', '-') };
        let name = format!("<{}>{}", text(seconds_east, east), text(seconds_east, west));
        Self { rules: ZoneSource::Fixed(seconds_east), name }
    }

    /// Finds a zone by its name in the database, in any case, or by a POSIX rule such as `EST5`.
    pub fn find(name: &str) -> Option<Self> {
        if name.is_empty() || name.len() > NAME_BYTES_MAX || !name.is_ascii() {
            return None;
        }
        if let Ok(zone) = TimeZone::get(name) {
            let name = zone.iana_name().unwrap_or(name).to_owned();
            return Some(Self { rules: ZoneSource::Rules(zone), name });
        }
        let name = name.to_ascii_uppercase();
        if let Some(seconds_east) = parse_posix_offset(&name) {
            return Some(Self { rules: ZoneSource::Fixed(seconds_east), name });
        }
        let zone = TimeZone::posix(&name).ok().or_else(|| find_posix_dst(&name))?;
        Some(Self { rules: ZoneSource::Rules(zone), name })
    }

    /// Returns the name, as `SHOW TimeZone` does.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the offset if the zone never changes it.
    pub fn fixed_offset(&self) -> Option<i32> {
        match &self.rules {
            ZoneSource::Fixed(seconds) => Some(*seconds),
            ZoneSource::Rules(zone) => {
                let offset = zone.to_offset(Timestamp::MIN);
                let changes = zone.following(Timestamp::MIN).take(TRANSITIONS_LOOKED_AT);
                let is_fixed = changes.into_iter().all(|change| change.offset() == offset);
                is_fixed.then_some(offset.seconds())
            }
        }
    }

    /// Returns the seconds ahead of UTC at a moment, in microseconds from 2000-01-01 UTC.
    pub fn seconds_east_at(&self, micros: i64) -> i32 {
        match &self.rules {
            ZoneSource::Fixed(seconds) => *seconds,
            ZoneSource::Rules(zone) => {
                timestamp_of(micros).map_or(0, |moment| zone.to_offset(moment).seconds())
            }
        }
    }

    /// Returns what clocks show at a moment, in microseconds from 2000-01-01 UTC.
    pub fn offset_at(&self, micros: i64) -> ZoneOffset {
        let moment = timestamp_of(micros);
        match (&self.rules, moment) {
            (ZoneSource::Rules(zone), Some(moment)) => {
                let info = zone.to_offset_info(moment);
                ZoneOffset {
                    seconds_east: info.offset().seconds(),
                    abbreviation: info.abbreviation().to_owned(),
                    is_dst: info.dst().is_dst(),
                }
            }
            _ => {
                let seconds_east = self.fixed_offset().unwrap_or(0);
                let abbreviation =
                    split_posix_name(&self.name).map_or(&*self.name, |(name, _)| name);
                let abbreviation = abbreviation.trim_matches(['<', '>']).to_owned();
                ZoneOffset { seconds_east, abbreviation, is_dst: false }
            }
        }
    }

    /// Returns the seconds ahead of UTC when clocks show a time, in microseconds from 2000-01-01.
    ///
    /// Of a time that clocks skip, the offset before counts; of one that they show twice, the
    /// offset after: standard time in both cases.
    pub fn seconds_east_of_local(&self, micros: i64) -> i32 {
        match &self.rules {
            ZoneSource::Fixed(seconds) => *seconds,
            ZoneSource::Rules(zone) => {
                let Some(local) = local_of(micros) else { return 0 };
                let offset = match zone.to_ambiguous_timestamp(local).offset() {
                    AmbiguousOffset::Unambiguous { offset } => offset,
                    AmbiguousOffset::Gap { before, .. } => before,
                    AmbiguousOffset::Fold { after, .. } => after,
                };
                offset.seconds()
            }
        }
    }
}

impl TimeZoneRules {
    /// Returns the offset that an abbreviation had in the zone when clocks showed a time: of its
    /// last use before, else of its first use after.
    pub(crate) fn seconds_east_of_abbreviation(&self, abbreviation: &str, micros: i64) -> i32 {
        let nearest = self.seconds_east_of_local(micros);
        let ZoneSource::Rules(zone) = &self.rules else { return nearest };
        let shift = i64::from(nearest) * MICROS_PER_SECOND;
        let Some(moment) = timestamp_of(micros.saturating_sub(shift)) else { return nearest };
        let is_same = |other: &str| other.eq_ignore_ascii_case(abbreviation);
        let now = zone.to_offset_info(moment);
        if is_same(now.abbreviation()) {
            return now.offset().seconds();
        }
        let mut before = zone.preceding(moment).take(TRANSITIONS_LOOKED_AT);
        if let Some(change) = before.find(|change| is_same(change.abbreviation())) {
            return change.offset().seconds();
        }
        let mut after = zone.following(moment).take(TRANSITIONS_LOOKED_AT);
        let change = after.find(|change| is_same(change.abbreviation()));
        change.map_or(nearest, |change| change.offset().seconds())
    }
}

impl Default for TimeZoneRules {
    fn default() -> Self {
        Self::utc()
    }
}

impl fmt::Debug for TimeZoneRules {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TimeZoneRules({})", self.name)
    }
}

/// Splits the abbreviation off a POSIX rule.
fn split_posix_name(rule: &str) -> Option<(&str, &str)> {
    let end = match rule.strip_prefix('<') {
        Some(rest) => rest.find('>')? + 2,
        None => rule.find(|one: char| one.is_ascii_digit() || matches!(one, '+' | '-' | ','))?,
    };
    Some(rule.split_at(end)).filter(|(name, _)| !name.is_empty())
}

/// Reads a POSIX rule without daylight saving time, such as `UTC+3`, which lies west; returns
/// seconds ahead of UTC. Abbreviations may be shorter than POSIX asks for.
fn parse_posix_offset(rule: &str) -> Option<i32> {
    let (_, offset) = split_posix_name(rule)?;
    let unsigned = offset.strip_prefix(['+', '-']).unwrap_or(offset);
    let mut seconds = 0;
    for (index, part) in unsigned.split(':').enumerate() {
        let bound = [ZONE_HOURS_MAX, 59, 59].get(index)?;
        let is_number = !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
        let value = part.parse::<i32>().ok().filter(|value| is_number && value <= bound)?;
        seconds += value * [3_600, 60, 1][index];
    }
    Some(if offset.starts_with('-') { seconds } else { -seconds })
}

/// Reads a POSIX rule with daylight saving time and no dates for it: those of the United States.
/// Its abbreviations may be any text.
fn find_posix_dst(rule: &str) -> Option<TimeZone> {
    let is_offset = |one: char| one.is_ascii_digit() || matches!(one, '+' | '-' | ':');
    let (_, rest) = split_posix_name(rule)?;
    let (offset, rest) = rest.split_at(rest.find(|one| !is_offset(one))?);
    if rest.contains(',') {
        return None;
    }
    let dst_offset = split_posix_name(rest).map_or("", |(_, offset)| offset);
    TimeZone::posix(&format!("STD{offset}DST{dst_offset},M3.2.0,M11.1.0")).ok()
}

fn timestamp_of(micros: i64) -> Option<Timestamp> {
    let mut seconds = micros.div_euclid(MICROS_PER_SECOND) + i64::from(EPOCH_DAYS) * 86_400;
    if seconds > SECONDS_MAX {
        let cycles = (seconds - SECONDS_MAX + CYCLE_SECONDS - 1) / CYCLE_SECONDS;
        seconds -= cycles * CYCLE_SECONDS;
    }
    Timestamp::from_second(seconds).ok()
}

fn local_of(micros: i64) -> Option<DateTime> {
    let (days, micros) = split_micros(micros);
    let CivilDate { mut year, month, day } = CivilDate::from_days(days);
    if year > YEAR_MAX {
        year -= (year - YEAR_MAX + 399) / 400 * 400;
    }
    let time = CivilTime::from_micros(micros);
    DateTime::new(
        i16::try_from(year).ok()?,
        month as i8,
        day as i8,
        time.hour as i8,
        time.minute as i8,
        time.second as i8,
        time.micros * 1_000,
    )
    .ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::datetime::{MICROS_PER_DAY, MICROS_PER_HOUR, days_of_civil};

    fn micros(year: i64, month: i64, day: i64, hour: i64) -> i64 {
        days_of_civil(year, month, day) * MICROS_PER_DAY + hour * MICROS_PER_HOUR
    }

    #[test]
    fn rules_hold_in_far_years() {
        let zone = TimeZoneRules::find("europe/berlin").unwrap();
        assert_eq!(zone.name(), "Europe/Berlin");
        for year in [2_024, 2_400, 9_999, 10_000, 200_000, 294_276] {
            assert_eq!(zone.seconds_east_at(micros(year, 7, 1, 12)), 7_200, "{year}");
            assert_eq!(zone.seconds_east_of_local(micros(year, 1, 1, 12)), 3_600, "{year}");
        }
        assert_eq!(zone.seconds_east_at(micros(-4_000, 7, 1, 12)), 3_208);
    }

    #[test]
    fn skipped_and_doubled_times_are_standard_time() {
        let zone = TimeZoneRules::find("America/New_York").unwrap();
        assert_eq!(zone.seconds_east_of_local(micros(2024, 3, 10, 2)), -18_000);
        assert_eq!(zone.seconds_east_of_local(micros(2024, 11, 3, 1)), -18_000);
    }

    #[test]
    fn names_and_abbreviations_are_found() {
        assert!(TimeZoneRules::find("Nowhere/City").is_none());
        assert_eq!(TimeZoneRules::find("FOO+3").unwrap().fixed_offset(), Some(-10_800));
        assert_eq!(TimeZoneRules::fixed(19_800).name(), "<+05:30>-05:30");
        assert_eq!(TimeZoneRules::fixed(-3_600).offset_at(0).abbreviation, "-01");
        let est = ZoneAbbreviation::Offset { seconds_east: -18_000, is_dst: false };
        assert_eq!(find_abbreviation("est"), Some(&est));
        assert_eq!(find_abbreviation("xyz"), None);
    }
}
