//! Reads times of the day.
//!
//! A date in the text only serves to find the offset of a zone.

use super::super::calendar::days_of_civil;
use super::super::settings::DatetimeSettings;
use super::super::zone::TimeZoneRules;
use super::super::{MICROS_PER_DAY, MICROS_PER_SECOND};
use super::DatetimeFault;
use super::datetime_reader::{DatetimeReader, PendingLabel, current_local, find_zone};
use super::fields::{DatetimeFields, FieldSet, ZoneField, read_offset};
use super::keywords::{DatetimeKeyword, ReservedWord, find_keyword};
use super::tokens::{DatetimeToken, TokenKind};

/// Reads the tokens of a time; returns microseconds of the day and seconds ahead of UTC.
pub(super) fn read_time(
    tokens: &[DatetimeToken],
    settings: &DatetimeSettings,
) -> Result<(i64, i32), DatetimeFault> {
    let mut reader = DatetimeReader::new(settings);
    for (index, token) in tokens.iter().enumerate() {
        let filled = match token.kind {
            TokenKind::Date => read_date_token(&mut reader, tokens, index)?,
            TokenKind::Time => {
                reader.pending = None;
                reader.fields.read_clock(&token.text)?
            }
            TokenKind::Offset => {
                reader.fields.zone = ZoneField::Offset(read_offset(&token.text)?);
                FieldSet::ZONE
            }
            TokenKind::Number => read_number_token(&mut reader, tokens, index)?,
            TokenKind::Word | TokenKind::SignedWord => {
                read_word(&mut reader, &token.text, tokens.get(index + 1))?
            }
        };
        reader.fields.fill(filled)?;
    }
    finish(reader)
}

fn read_date_token(
    reader: &mut DatetimeReader<'_>,
    tokens: &[DatetimeToken],
    index: usize,
) -> Result<FieldSet, DatetimeFault> {
    let text = &tokens[index].text;
    let is_date = index == 0
        && tokens.len() >= 2
        && (tokens[tokens.len() - 1].kind == TokenKind::Date || tokens[1].kind == TokenKind::Time);
    if is_date {
        let order = reader.settings.date_order;
        return reader.fields.read_date(text, order);
    }
    if text.starts_with(|one: char| one.is_ascii_digit()) {
        let set = reader.fields.set;
        if set.has_all(FieldSet::TIME) {
            return Err(DatetimeFault::Format);
        }
        reader.pending = None;
        return reader.read_digits_with_offset(text, set.and(FieldSet::DATE));
    }
    reader.fields.zone = ZoneField::Named(find_zone(text)?);
    Ok(FieldSet::ZONE)
}

fn read_number_token(
    reader: &mut DatetimeReader<'_>,
    tokens: &[DatetimeToken],
    index: usize,
) -> Result<FieldSet, DatetimeFault> {
    let text = &tokens[index].text;
    if let Some(label) = reader.pending.take() {
        return reader.read_labelled(label, text);
    }
    let order = reader.settings.date_order;
    let known = reader.fields.set.and(FieldSet::DATE);
    let digits = text.find('.').unwrap_or(text.len());
    if digits < text.len() {
        let is_last_a_date = tokens[tokens.len() - 1].kind == TokenKind::Date;
        if index == 0 && tokens.len() >= 2 && is_last_a_date {
            return reader.fields.read_date(text, order);
        }
        if digits <= 2 {
            return Err(DatetimeFault::Format);
        }
        return reader.fields.read_digits(text, known).map(|(filled, _)| filled);
    }
    if text.len() > 4 {
        return reader.fields.read_digits(text, known).map(|(filled, _)| filled);
    }
    reader.fields.read_number(text, known, false, order)
}

fn read_word(
    reader: &mut DatetimeReader<'_>,
    word: &str,
    next: Option<&DatetimeToken>,
) -> Result<FieldSet, DatetimeFault> {
    if let Some(filled) = reader.read_abbreviation(word)? {
        return Ok(filled);
    }
    let Some(keyword) = find_keyword(word) else {
        let zone = TimeZoneRules::find(word).ok_or(DatetimeFault::Format)?;
        reader.fields.zone = ZoneField::Named(zone);
        return Ok(FieldSet::ZONE);
    };
    Ok(match keyword {
        DatetimeKeyword::Ignored => FieldSet::NONE,
        DatetimeKeyword::Reserved(ReservedWord::Now) => {
            let (_, micros, _) = current_local(reader.settings)?;
            set_clock(&mut reader.fields, micros);
            FieldSet::TIME
        }
        DatetimeKeyword::Reserved(ReservedWord::MidnightUtc) => {
            set_clock(&mut reader.fields, 0);
            reader.fields.zone = ZoneField::Offset(0);
            FieldSet::TIME.and(FieldSet::ZONE)
        }
        DatetimeKeyword::DstModifier => {
            reader.read_dst_modifier();
            FieldSet::DST
        }
        DatetimeKeyword::Meridiem(is_pm) => {
            reader.fields.is_pm = Some(is_pm);
            FieldSet::MERIDIEM
        }
        DatetimeKeyword::Era(is_bc) => {
            reader.fields.is_bc = is_bc;
            FieldSet::ERA
        }
        DatetimeKeyword::Label(label) => {
            reader.pending = Some(PendingLabel::Field(label));
            FieldSet::NONE
        }
        DatetimeKeyword::TimeFollows => {
            let kinds = [TokenKind::Number, TokenKind::Time, TokenKind::Date];
            if !next.is_some_and(|next| kinds.contains(&next.kind)) {
                return Err(DatetimeFault::Format);
            }
            reader.pending = Some(PendingLabel::Time);
            FieldSet::NONE
        }
        DatetimeKeyword::Reserved(_) | DatetimeKeyword::Month(_) | DatetimeKeyword::Weekday => {
            return Err(DatetimeFault::Format);
        }
    })
}

fn set_clock(fields: &mut DatetimeFields, micros: i64) {
    // Of one day.
    let seconds = (micros / MICROS_PER_SECOND) as i32;
    (fields.hour, fields.minute, fields.second) =
        (seconds / 3_600, seconds / 60 % 60, seconds % 60);
    fields.micros = micros % MICROS_PER_SECOND;
}

fn finish(mut reader: DatetimeReader<'_>) -> Result<(i64, i32), DatetimeFault> {
    reader.fields.check_date()?;
    reader.fields.apply_meridiem()?;
    let micros = reader.fields.clock_micros()?;
    let fields = reader.fields;
    if !fields.set.has_all(FieldSet::TIME) {
        return Err(DatetimeFault::Format);
    }
    let has_date = fields.set.has_all(FieldSet::DATE);
    let is_dst = fields.set.has_any(FieldSet::DST);
    let seconds_east = match &fields.zone {
        ZoneField::Offset(seconds) => *seconds,
        ZoneField::Named(zone) => match zone.fixed_offset() {
            _ if is_dst => return Err(DatetimeFault::Format),
            Some(seconds) => seconds,
            None if !has_date => return Err(DatetimeFault::Format),
            None => zone.seconds_east_of_local(local_micros(&fields, micros)),
        },
        ZoneField::Session if is_dst => return Err(DatetimeFault::Format),
        zone @ (ZoneField::Session | ZoneField::Abbreviated(..)) => {
            let local = match has_date {
                true => local_micros(&fields, micros),
                false => match (zone, reader.settings.time_zone.fixed_offset()) {
                    // Any day will do, and no clock is needed.
                    (ZoneField::Session, Some(_)) => micros,
                    _ => {
                        let (today, _, _) = current_local(reader.settings)?;
                        today.days() * MICROS_PER_DAY + micros
                    }
                },
            };
            zone.seconds_east(local, reader.settings)
        }
    };
    Ok((micros, seconds_east))
}

fn local_micros(fields: &DatetimeFields, micros: i64) -> i64 {
    let days = days_of_civil(fields.year, fields.month.into(), fields.day.into());
    days.saturating_mul(MICROS_PER_DAY).saturating_add(micros)
}
