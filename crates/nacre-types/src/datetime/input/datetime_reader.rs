//! Reads dates and timestamps.

use super::super::calendar::{CivilDate, JULIAN_EPOCH_DAYS, split_micros};
use super::super::settings::DatetimeSettings;
use super::super::zone::{TimeZoneRules, ZoneAbbreviation, find_abbreviation};
use super::super::{MICROS_PER_DAY, MICROS_PER_HOUR, MICROS_PER_MINUTE, MICROS_PER_SECOND};
use super::DatetimeFault;
use super::fields::{
    DatetimeFields, DigitsMeaning, FieldSet, ZoneField, fraction_micros, read_integer, read_offset,
};
use super::keywords::{DatetimeKeyword, FieldLabel, ReservedWord, find_keyword};
use super::tokens::{DatetimeToken, TokenKind};
use crate::error::ValueError;

/// What a text says.
#[derive(Clone, Debug)]
pub(super) enum ReadDatetime {
    Moment { year: i64, month: i32, day: i32, micros: i64, zone: ZoneField },
    Epoch,
    Infinity,
    NegativeInfinity,
}

/// A label, whose number is the next token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PendingLabel {
    Field(FieldLabel),
    Time,
}

/// State while tokens are read.
pub(super) struct DatetimeReader<'a> {
    pub(super) fields: DatetimeFields,
    pub(super) pending: Option<PendingLabel>,
    pub(super) settings: &'a DatetimeSettings,
    /// A word that is a value by itself.
    reserved: Option<ReservedWord>,
}

/// Reads the tokens of a date or timestamp.
pub(super) fn read_datetime(
    tokens: &[DatetimeToken],
    settings: &DatetimeSettings,
) -> Result<ReadDatetime, DatetimeFault> {
    let mut reader = DatetimeReader::new(settings);
    for (index, token) in tokens.iter().enumerate() {
        let filled = match token.kind {
            TokenKind::Date => reader.read_date_token(&token.text)?,
            TokenKind::Time => reader.read_time_token(&token.text)?,
            TokenKind::Offset => {
                reader.fields.zone = ZoneField::Offset(read_offset(&token.text)?);
                FieldSet::ZONE
            }
            TokenKind::Number => reader.read_number_token(&token.text)?,
            TokenKind::Word | TokenKind::SignedWord => {
                reader.read_word(&token.text, tokens.get(index + 1))?
            }
        };
        reader.fields.fill(filled)?;
    }
    reader.finish()
}

impl<'a> DatetimeReader<'a> {
    pub(super) fn new(settings: &'a DatetimeSettings) -> Self {
        let fields = DatetimeFields::default();
        Self { fields, pending: None, settings, reserved: None }
    }

    fn read_date_token(&mut self, text: &str) -> Result<FieldSet, DatetimeFault> {
        if self.pending == Some(PendingLabel::Field(FieldLabel::Julian)) {
            return self.read_julian_with_zone(text);
        }
        let set = self.fields.set;
        let has_date = set.has_all(FieldSet::MONTH.and(FieldSet::DAY));
        if self.pending.is_none() && !has_date {
            let order = self.settings.date_order;
            return self.fields.read_date(text, order);
        }
        if !text.starts_with(|one: char| one.is_ascii_digit()) && self.pending.is_none() {
            self.fields.zone = ZoneField::Named(find_zone(text)?);
            return Ok(FieldSet::ZONE);
        }
        // Digits of a time with an offset behind.
        match self.pending.take() {
            None | Some(PendingLabel::Time) => {}
            Some(PendingLabel::Field(_)) => return Err(DatetimeFault::Format),
        }
        if set.has_all(FieldSet::TIME) {
            return Err(DatetimeFault::Format);
        }
        self.read_digits_with_offset(text, set)
    }

    /// Reads `hhmmss-zz`.
    pub(super) fn read_digits_with_offset(
        &mut self,
        text: &str,
        known: FieldSet,
    ) -> Result<FieldSet, DatetimeFault> {
        let place = text.find('-').ok_or(DatetimeFault::Format)?;
        self.fields.zone = ZoneField::Offset(read_offset(&text[place..])?);
        let (filled, _) = self.fields.read_digits(&text[..place], known)?;
        Ok(filled.and(FieldSet::ZONE))
    }

    /// Reads `J2451187-08`.
    fn read_julian_with_zone(&mut self, text: &str) -> Result<FieldSet, DatetimeFault> {
        let (day, rest) = read_integer(text)?;
        self.set_julian(day)?;
        self.fields.zone = ZoneField::Offset(read_offset(rest)?);
        self.pending = None;
        Ok(FieldSet::DATE.and(FieldSet::TIME).and(FieldSet::ZONE))
    }

    fn set_julian(&mut self, day: i64) -> Result<(), DatetimeFault> {
        if day < 0 {
            return Err(DatetimeFault::FieldRange);
        }
        let days = day - JULIAN_EPOCH_DAYS;
        let date =
            CivilDate::from_days(i32::try_from(days).map_err(|_| DatetimeFault::FieldRange)?);
        self.fields.year = date.year.into();
        (self.fields.month, self.fields.day) = (date.month, date.day);
        self.fields.is_julian = true;
        Ok(())
    }

    fn read_time_token(&mut self, text: &str) -> Result<FieldSet, DatetimeFault> {
        match self.pending.take() {
            None | Some(PendingLabel::Time) => {}
            Some(PendingLabel::Field(_)) => return Err(DatetimeFault::Format),
        }
        let filled = self.fields.read_clock(text)?;
        self.fields.clock_micros()?;
        Ok(filled)
    }

    fn read_number_token(&mut self, text: &str) -> Result<FieldSet, DatetimeFault> {
        if let Some(label) = self.pending.take() {
            return self.read_labelled(label, text);
        }
        let set = self.fields.set;
        let order = self.settings.date_order;
        let digits = text.find('.').unwrap_or(text.len());
        let has_point = digits < text.len();
        if has_point && !set.has_any(FieldSet::DATE) {
            return self.fields.read_date(text, order);
        }
        let is_open = !(set.has_any(FieldSet::DATE) && set.has_any(FieldSet::TIME));
        if (has_point && digits > 2) || (text.len() >= 6 && is_open) {
            return self.fields.read_digits(text, set).map(|(filled, _)| filled);
        }
        let has_month_name = self.fields.has_month_name;
        self.fields.read_number(text, set, has_month_name, order)
    }

    /// Reads a number behind its label, as in `y2001m02d04` and `j2451187.5`.
    pub(super) fn read_labelled(
        &mut self,
        label: PendingLabel,
        text: &str,
    ) -> Result<FieldSet, DatetimeFault> {
        let label = match label {
            PendingLabel::Field(label) => label,
            PendingLabel::Time => {
                let known = self.fields.set.and(FieldSet::DATE);
                return match self.fields.read_digits(text, known)? {
                    (filled, DigitsMeaning::Time) => Ok(filled),
                    (_, DigitsMeaning::Date) => Err(DatetimeFault::Format),
                };
            }
        };
        let (value, rest) = read_integer(text)?;
        let takes_fraction = matches!(label, FieldLabel::Julian | FieldLabel::Second);
        if !(rest.is_empty() || (rest.starts_with('.') && takes_fraction)) {
            return Err(DatetimeFault::Format);
        }
        // Of 32 bits.
        let small = value as i32;
        let set = self.fields.set;
        Ok(match label {
            FieldLabel::Year => {
                self.fields.year = value;
                FieldSet::YEAR
            }
            FieldLabel::Month if set.has_all(FieldSet::MONTH.and(FieldSet::HOUR)) => {
                self.fields.minute = small;
                FieldSet::MINUTE
            }
            FieldLabel::Month => {
                self.fields.month = small;
                FieldSet::MONTH
            }
            FieldLabel::Day => {
                self.fields.day = small;
                FieldSet::DAY
            }
            FieldLabel::Hour => {
                self.fields.hour = small;
                FieldSet::HOUR
            }
            FieldLabel::Minute => {
                self.fields.minute = small;
                FieldSet::MINUTE
            }
            FieldLabel::Second => {
                self.fields.second = small;
                if !rest.is_empty() {
                    self.fields.micros = fraction_micros(rest)?;
                }
                FieldSet::SECOND
            }
            FieldLabel::Julian => {
                self.set_julian(value)?;
                if rest.is_empty() {
                    return Ok(FieldSet::DATE);
                }
                // A part of the day.
                let fraction: f64 =
                    format!("0{rest}").parse().map_err(|_| DatetimeFault::Format)?;
                let micros = (fraction * MICROS_PER_DAY as f64) as i64;
                self.set_clock(micros);
                FieldSet::DATE.and(FieldSet::TIME)
            }
            FieldLabel::Unusable => return Err(DatetimeFault::Format),
        })
    }

    fn set_clock(&mut self, micros: i64) {
        let fields = &mut self.fields;
        fields.hour = (micros / MICROS_PER_HOUR) as i32;
        fields.minute = (micros / MICROS_PER_MINUTE % 60) as i32;
        fields.second = (micros / MICROS_PER_SECOND % 60) as i32;
        fields.micros = micros % MICROS_PER_SECOND;
    }

    fn read_word(
        &mut self,
        word: &str,
        next: Option<&DatetimeToken>,
    ) -> Result<FieldSet, DatetimeFault> {
        // Abbreviations of zones come before words.
        if let Some(filled) = self.read_abbreviation(word)? {
            return Ok(filled);
        }
        let Some(keyword) = find_keyword(word) else {
            self.fields.zone =
                ZoneField::Named(TimeZoneRules::find(word).ok_or(DatetimeFault::Format)?);
            return Ok(FieldSet::ZONE);
        };
        Ok(match keyword {
            DatetimeKeyword::Ignored => FieldSet::NONE,
            DatetimeKeyword::Reserved(word) => self.read_reserved(word)?,
            DatetimeKeyword::Month(month) => return Ok(self.read_month(month)),
            DatetimeKeyword::DstModifier => {
                self.read_dst_modifier();
                FieldSet::DST
            }
            DatetimeKeyword::Meridiem(is_pm) => {
                self.fields.is_pm = Some(is_pm);
                FieldSet::MERIDIEM
            }
            DatetimeKeyword::Era(is_bc) => {
                self.fields.is_bc = is_bc;
                FieldSet::ERA
            }
            DatetimeKeyword::Weekday => FieldSet::WEEKDAY,
            DatetimeKeyword::Label(label) => {
                self.pending = Some(PendingLabel::Field(label));
                FieldSet::NONE
            }
            DatetimeKeyword::TimeFollows => {
                let kinds = [TokenKind::Number, TokenKind::Time, TokenKind::Date];
                let is_followed = next.is_some_and(|next| kinds.contains(&next.kind));
                if !self.fields.set.has_all(FieldSet::DATE) || !is_followed {
                    return Err(DatetimeFault::Format);
                }
                self.pending = Some(PendingLabel::Time);
                FieldSet::NONE
            }
        })
    }

    /// Reads an abbreviation such as `est`; `None` if the word is none.
    pub(super) fn read_abbreviation(
        &mut self,
        word: &str,
    ) -> Result<Option<FieldSet>, DatetimeFault> {
        let Some(abbreviation) = find_abbreviation(word) else { return Ok(None) };
        self.fields.zone = match abbreviation {
            ZoneAbbreviation::Offset { seconds_east, is_dst } => {
                self.fields.zone = ZoneField::Offset(*seconds_east);
                let dst = if *is_dst { FieldSet::DST } else { FieldSet::NONE };
                return Ok(Some(FieldSet::ZONE.and(dst)));
            }
            ZoneAbbreviation::Zone(name) => {
                ZoneField::Abbreviated(find_zone(name)?, word.to_owned())
            }
        };
        Ok(Some(FieldSet::ZONE))
    }

    pub(super) fn read_dst_modifier(&mut self) {
        if let ZoneField::Offset(seconds) = &mut self.fields.zone {
            *seconds += 3_600;
        }
    }

    pub(super) fn read_month(&mut self, month: i32) -> FieldSet {
        let fields = &mut self.fields;
        // A number before the name was taken for the month, and is the day.
        let is_day_known = fields.set.has_any(FieldSet::DAY);
        let was_month = fields.set.has_any(FieldSet::MONTH) && !fields.has_month_name;
        let filled = if was_month && !is_day_known && (1..=31).contains(&fields.month) {
            fields.day = fields.month;
            FieldSet::DAY
        } else {
            FieldSet::MONTH
        };
        fields.has_month_name = true;
        fields.month = month;
        filled
    }

    fn read_reserved(&mut self, word: ReservedWord) -> Result<FieldSet, DatetimeFault> {
        // The last word counts.
        self.reserved = None;
        let day_offset = match word {
            ReservedWord::Now => {
                let (date, micros, seconds_east) = current_local(self.settings)?;
                self.set_date(date);
                self.set_clock(micros);
                self.fields.zone = ZoneField::Offset(seconds_east);
                return Ok(FieldSet::DATE.and(FieldSet::TIME).and(FieldSet::ZONE));
            }
            ReservedWord::Yesterday => -1,
            ReservedWord::Today => 0,
            ReservedWord::Tomorrow => 1,
            ReservedWord::MidnightUtc => {
                self.set_clock(0);
                self.fields.zone = ZoneField::Offset(0);
                return Ok(FieldSet::TIME.and(FieldSet::ZONE));
            }
            // Other fields beside these words are checked and do not count.
            ReservedWord::Epoch | ReservedWord::Infinity | ReservedWord::NegativeInfinity => {
                self.reserved = Some(word);
                return Ok(FieldSet::RESERVED);
            }
        };
        let (date, _, _) = current_local(self.settings)?;
        // Days of a date far from the bounds.
        self.set_date(CivilDate::from_days(date.days() as i32 + day_offset));
        Ok(FieldSet::DATE)
    }

    fn set_date(&mut self, date: CivilDate) {
        self.fields.year = date.year.into();
        (self.fields.month, self.fields.day) = (date.month, date.day);
    }

    fn finish(mut self) -> Result<ReadDatetime, DatetimeFault> {
        self.fields.check_date()?;
        self.fields.apply_meridiem()?;
        match self.reserved {
            Some(ReservedWord::Epoch) => return Ok(ReadDatetime::Epoch),
            Some(ReservedWord::Infinity) => return Ok(ReadDatetime::Infinity),
            Some(ReservedWord::NegativeInfinity) => return Ok(ReadDatetime::NegativeInfinity),
            _ => {}
        }
        if !self.fields.set.has_all(FieldSet::DATE) {
            return Err(DatetimeFault::Format);
        }
        let is_named = matches!(self.fields.zone, ZoneField::Named(_));
        if is_named && self.fields.set.has_any(FieldSet::DST) {
            return Err(DatetimeFault::Format);
        }
        let clock = &self.fields;
        let micros = i64::from(clock.hour) * MICROS_PER_HOUR
            + i64::from(clock.minute) * MICROS_PER_MINUTE
            + i64::from(clock.second) * MICROS_PER_SECOND
            + clock.micros;
        let DatetimeFields { year, month, day, zone, .. } = self.fields;
        Ok(ReadDatetime::Moment { year, month, day, micros, zone })
    }
}

/// Finds the zone that a text names.
pub(super) fn find_zone(name: &str) -> Result<TimeZoneRules, DatetimeFault> {
    TimeZoneRules::find(name).ok_or_else(|| {
        let message = format!("time zone \"{name}\" not recognized");
        DatetimeFault::other(ValueError::invalid_parameter(message))
    })
}

/// Returns what the session's clocks show: date, microseconds of the day, seconds ahead of UTC.
pub(super) fn current_local(
    settings: &DatetimeSettings,
) -> Result<(CivilDate, i64, i32), DatetimeFault> {
    let Some(now) = settings.now.filter(|now| now.is_finite()) else {
        let message = "the current time is not available here";
        return Err(DatetimeFault::other(ValueError::not_supported(message)));
    };
    let seconds_east = settings.time_zone.seconds_east_at(now.0);
    let (days, micros) = split_micros(now.0 + i64::from(seconds_east) * MICROS_PER_SECOND);
    Ok((CivilDate::from_days(days), micros, seconds_east))
}
