//! `to_date` and `to_timestamp` of texts with a pattern that is a constant.
//!
//! 1. The parts of the pattern are gone through beside the text. Without FX, blanks before and
//!    behind fields do not count, and a separator stands for any other one or for none.
//! 2. Fields note what they say ([`ReadFields`]); those that were said twice have to agree.
//! 3. The moment is made of them at the end.

use nacre_types::catalog::CastContext;
use nacre_types::datetime::SqlTimestamp;
use nacre_types::{SqlType, SqlValue, ValueError, cast_value};

use super::ScalarKernel;
use super::arguments::text;
use super::registry::KernelRow;
use super::template::{
    OrdinalSuffix, TemplateField, TemplatePart, is_separator, is_space, parse_template,
};
use super::time_fields::{ReadFields, ReadMoment, YearConvention};
use super::time_format::{DAYS, MONTHS, ROMAN};

/// Letters of short names.
const SHORT_NAME_LETTERS: usize = 3;

pub(super) const KERNELS: &[KernelRow] = &[
    (
        "to_date(text,text)",
        ScalarKernel::partial(|values, _| {
            let moment = read_moment(text(values, 0)?, text(values, 1)?)?;
            Ok(SqlValue::Date(moment.date))
        })
        .accepting(is_constant_pattern),
    ),
    (
        "to_timestamp(text,text)",
        ScalarKernel::partial(|values, context| {
            let ReadMoment { date, micros, fraction_digits, zone } =
                read_moment(text(values, 0)?, text(values, 1)?)?;
            let behind_utc = zone.map_or(0, |seconds| i64::from(seconds) * 1_000_000);
            let local = SqlTimestamp::from_parts(date.0.into(), micros - behind_utc)?;
            let moment = match zone {
                Some(_) => SqlValue::TimestampTz(local),
                None => {
                    let (source, target) = (SqlType::TIMESTAMP, SqlType::TIMESTAMPTZ);
                    let value = SqlValue::Timestamp(local);
                    cast_value(value, source, target, CastContext::Explicit, context.settings)?
                }
            };
            match moment {
                SqlValue::TimestampTz(moment) => {
                    moment.rounded(fraction_digits).map(SqlValue::TimestampTz)
                }
                other => Ok(other),
            }
        })
        .accepting(is_constant_pattern),
    ),
];

fn is_constant_pattern(constants: &[Option<&SqlValue>]) -> bool {
    matches!(constants, [_, Some(SqlValue::Text(_) | SqlValue::Null)])
}

/// A text that is being read.
struct MomentReader<'t> {
    rest: &'t str,
    /// The character before the rest.
    last: Option<char>,
    is_exact: bool,
    /// Characters that were skipped beyond those of the pattern.
    skipped: i64,
    fields: ReadFields,
}

/// A field of the pattern.
#[derive(Clone, Copy)]
struct ReadField {
    field: TemplateField,
    name: &'static str,
    /// Whether a number may have any length.
    is_free: bool,
}

fn read_moment(input: &str, pattern: &str) -> Result<ReadMoment, ValueError> {
    let parts = parse_template(pattern);
    let mut reader = MomentReader {
        rest: input,
        last: None,
        is_exact: false,
        skipped: 0,
        fields: ReadFields::default(),
    };
    for (place, part) in parts.iter().enumerate() {
        if reader.rest.is_empty() {
            break;
        }
        reader.read_part(part, place == 0, parts.get(place + 1))?;
    }
    reader.fields.moment(input)
}

/// Whether a number may have any length, since no digit of the pattern comes behind it.
fn ends_number(ordinal: OrdinalSuffix, next: Option<&TemplatePart>) -> bool {
    ordinal != OrdinalSuffix::None
        || match next {
            None => true,
            Some(TemplatePart::Field { field, .. }) => !has_digits(*field),
            Some(TemplatePart::Separator(one) | TemplatePart::Text(one)) => !one.is_ascii_digit(),
        }
}

/// Whether a field is read as digits.
fn has_digits(field: TemplateField) -> bool {
    use TemplateField as Field;
    !matches!(
        field,
        Field::Ad
            | Field::AdDotted
            | Field::Am
            | Field::AmDotted
            | Field::DayName
            | Field::DayShort
            | Field::Exact
            | Field::MonthName
            | Field::MonthShort
            | Field::Offset
            | Field::Roman
            | Field::ZoneHour
            | Field::Zone
    )
}

/// Returns by what a field counts the days of a year, if it does.
fn convention_of(field: TemplateField) -> Option<YearConvention> {
    use TemplateField as Field;
    match field {
        Field::IsoDayOfYear | Field::IsoDayOfWeek | Field::IsoWeek | Field::IsoYear(_) => {
            Some(YearConvention::IsoWeeks)
        }
        Field::DayOfYear
        | Field::DayOfMonth
        | Field::DayOfWeek
        | Field::Month
        | Field::MonthName
        | Field::MonthShort
        | Field::Roman
        | Field::Week
        | Field::WeekOfMonth
        | Field::YearWithComma
        | Field::Year(_) => Some(YearConvention::Gregorian),
        _ => None,
    }
}

impl MomentReader<'_> {
    fn read_part(
        &mut self,
        part: &TemplatePart,
        is_first: bool,
        next: Option<&TemplatePart>,
    ) -> Result<(), ValueError> {
        let is_field = matches!(part, TemplatePart::Field { .. });
        let sets_exact = matches!(part, TemplatePart::Field { field: TemplateField::Exact, .. });
        if !self.is_exact && !sets_exact && (is_field || is_first) {
            self.skip_blanks();
        }
        match part {
            TemplatePart::Separator(_) if !self.is_exact => {
                self.skipped -= 1;
                if self.rest.starts_with(is_separator) {
                    self.take(1);
                    self.skipped += 1;
                }
            }
            // What was skipped before may be part of a field.
            TemplatePart::Text(_) if !self.is_exact && self.skipped > 0 => self.skipped -= 1,
            TemplatePart::Separator(_) | TemplatePart::Text(_) => self.take(1),
            TemplatePart::Field { field, name, fills, ordinal, .. } => {
                let is_free = !fills || ends_number(*ordinal, next);
                self.read_field(ReadField { field: *field, name, is_free })?;
                if *ordinal != OrdinalSuffix::None && has_digits(*field) {
                    self.take(2);
                }
                if !self.is_exact {
                    self.skipped = 0;
                    self.skip_blanks();
                }
            }
        }
        Ok(())
    }

    fn skip_blanks(&mut self) {
        while self.rest.starts_with(is_space) {
            self.take(1);
            self.skipped += 1;
        }
    }

    fn take(&mut self, count: usize) {
        for _ in 0..count {
            let mut letters = self.rest.chars();
            let Some(letter) = letters.next() else { return };
            (self.last, self.rest) = (Some(letter), letters.as_str());
        }
    }

    fn read_field(&mut self, own: ReadField) -> Result<(), ValueError> {
        use TemplateField as Field;
        if let Some(convention) = convention_of(own.field)
            && *self.fields.convention.get_or_insert(convention) != convention
        {
            let message = "invalid combination of date conventions";
            let hint = "Do not mix Gregorian and ISO week date conventions in a formatting \
                        template.";
            return Err(ValueError::datetime_format(message).with_hint(hint));
        }
        match own.field {
            Field::Exact => {
                self.is_exact = true;
                Ok(())
            }
            Field::Am | Field::AmDotted => {
                let words = if own.field == Field::Am { ["am", "pm"] } else { ["a.m.", "p.m."] };
                let index = self.word(own, &words)?;
                self.fields.has_half_days = true;
                set(&mut self.fields.is_afternoon, index, own)
            }
            Field::Ad | Field::AdDotted => {
                let words = if own.field == Field::Ad { ["ad", "bc"] } else { ["a.d.", "b.c."] };
                let index = self.word(own, &words)?;
                set(&mut self.fields.is_before_christ, index, own)
            }
            Field::MonthName | Field::MonthShort => {
                let index = self.named(own, &MONTHS, own.field == Field::MonthShort)?;
                set(&mut self.fields.month, index + 1, own)
            }
            Field::DayName | Field::DayShort => {
                let index = self.named(own, &DAYS, own.field == Field::DayShort)?;
                set(&mut self.fields.day_of_week, index + 1, own)
            }
            Field::Roman => {
                // Longer ones first: VIII is not V.
                let words: Vec<&str> = ROMAN.into_iter().rev().collect();
                let index = self.word(own, &words)?;
                set(&mut self.fields.month, 12 - index, own)
            }
            Field::Zone | Field::Offset => {
                let message =
                    format!("formatting field \"{}\" is only supported in to_char", own.name);
                Err(ValueError::feature_refused(message))
            }
            Field::ZoneHour | Field::ZoneMinute => self.read_zone(own),
            Field::Year(digits) | Field::IsoYear(digits) => self.read_year(own, digits),
            Field::YearWithComma => self.read_year_with_comma(own),
            _ => self.read_number_field(own),
        }
    }

    /// Reads a field that is a number.
    fn read_number_field(&mut self, own: ReadField) -> Result<(), ValueError> {
        use TemplateField as Field;
        let digits = match own.field {
            Field::Hour24 | Field::Hour12 | Field::Minute | Field::Second => 2,
            Field::Month | Field::DayOfMonth => 2,
            Field::IsoDayOfYear | Field::Millisecond => 3,
            Field::IsoDayOfWeek => 1,
            Field::Microsecond => 6,
            Field::Fraction(digits) => digits,
            // As many as the name of the field has letters.
            _ => own.name.len(),
        };
        let (mut value, used) = self.number(own, digits)?;
        let fields = &mut self.fields;
        let target = match own.field {
            Field::Hour24 => &mut fields.hour,
            Field::Hour12 => {
                fields.has_half_days = true;
                &mut fields.hour
            }
            Field::Minute => &mut fields.minute,
            Field::Second => &mut fields.second,
            Field::SecondOfDay => &mut fields.second_of_day,
            Field::Millisecond | Field::Microsecond | Field::Fraction(_) => {
                if let Field::Fraction(digits) = own.field {
                    fields.fraction_digits = u32::try_from(digits).ok();
                }
                let is_milli = own.field == Field::Millisecond;
                let all = if is_milli { 3 } else { 6 };
                let target = if is_milli { &mut fields.milli } else { &mut fields.micro };
                set(target, value, own)?;
                // Digits behind the point: 25 is 250 thousandths.
                *target = target.saturating_mul(10_i32.pow(all - all.min(used.max(1) as u32)));
                return Ok(());
            }
            Field::Month => &mut fields.month,
            Field::DayOfMonth => &mut fields.day,
            Field::DayOfYear | Field::IsoDayOfYear => &mut fields.day_of_year,
            Field::DayOfWeek => &mut fields.day_of_week,
            Field::IsoDayOfWeek => {
                // From Monday on; kept from Sunday on.
                set(&mut fields.day_of_week, value, own)?;
                value = fields.day_of_week.saturating_add(1);
                fields.day_of_week = if value > 7 { 1 } else { value };
                return Ok(());
            }
            Field::Week | Field::IsoWeek => &mut fields.week,
            Field::WeekOfMonth => &mut fields.week_of_month,
            Field::Century => &mut fields.century,
            Field::Julian => &mut fields.julian,
            // A quarter says no day.
            _ => return Ok(()),
        };
        set(target, value, own)
    }

    fn read_year(&mut self, own: ReadField, digits: usize) -> Result<(), ValueError> {
        let (value, used) = self.number(own, digits)?;
        set(&mut self.fields.year, value, own)?;
        if digits < 4 && used < 4 {
            self.fields.year = full_year(self.fields.year);
        }
        self.fields.year_digits = digits;
        Ok(())
    }

    /// Reads `1,234`.
    fn read_year_with_comma(&mut self, own: ReadField) -> Result<(), ValueError> {
        let refused = || ValueError::datetime_format("invalid input string for \"Y,YYY\"");
        let number = |text: &str| {
            let signs = usize::from(text.starts_with(['-', '+']));
            let digits = text[signs..].bytes().take_while(u8::is_ascii_digit).count();
            let end = signs + digits;
            (digits > 0).then(|| Some((text[..end].parse::<i32>().ok()?, end))).flatten()
        };
        let start = self.rest.trim_start_matches(is_space);
        let (thousands, end) = number(start).ok_or_else(refused)?;
        let behind = start[end..].strip_prefix(',').ok_or_else(refused)?;
        let behind = behind.trim_start_matches(is_space);
        // At most three characters, a sign among them.
        let part: String = behind.chars().take(3).collect();
        let (years, end) = number(&part).ok_or_else(refused)?;
        self.rest = &behind[end..];
        let year = thousands.checked_mul(1_000).and_then(|all| all.checked_add(years));
        set(&mut self.fields.year, year.ok_or_else(refused)?, own)?;
        self.fields.year_digits = 4;
        Ok(())
    }

    fn read_zone(&mut self, own: ReadField) -> Result<(), ValueError> {
        if own.field == TemplateField::ZoneMinute {
            if self.fields.zone_sign == 0 {
                self.fields.zone_sign = 1;
            }
            let (minutes, _) = self.number(own, 2)?;
            return set(&mut self.fields.zone_minute, minutes, own);
        }
        let is_west = match self.rest.chars().next() {
            Some(sign @ ('+' | '-' | ' ')) => {
                self.take(1);
                sign == '-'
            }
            // A separator may have been the sign.
            _ => self.skipped > 0 && self.last == Some('-'),
        };
        self.fields.zone_sign = if is_west { -1 } else { 1 };
        let (hours, _) = self.number(own, 2)?;
        set(&mut self.fields.zone_hour, hours, own)
    }

    /// Reads one of some words in any case; returns which.
    fn word(&mut self, own: ReadField, words: &[&str]) -> Result<i32, ValueError> {
        for (index, word) in (0..).zip(words) {
            if self.rest.get(..word.len()).is_some_and(|start| start.eq_ignore_ascii_case(word)) {
                self.take(word.len());
                return Ok(index);
            }
        }
        let found: String = self.rest.chars().take_while(|one| !is_space(*one)).collect();
        let message = format!("invalid value \"{found}\" for \"{}\"", own.name);
        let detail = "The given value did not match any of the allowed values for this field.";
        Err(ValueError::datetime_format(message).with_detail(detail))
    }

    /// Reads a name, or the first letters of one; returns which.
    fn named(&mut self, own: ReadField, names: &[&str], is_short: bool) -> Result<i32, ValueError> {
        let most = if is_short { SHORT_NAME_LETTERS } else { usize::MAX };
        let words: Vec<&str> = names.iter().map(|name| &name[..name.len().min(most)]).collect();
        self.word(own, &words)
    }

    /// Reads a number of so many digits, or of any number of them if it is free; returns how many
    /// characters it has, with blanks before it.
    fn number(&mut self, own: ReadField, digits: usize) -> Result<(i32, usize), ValueError> {
        let before = self.rest.len();
        let start = self.rest.trim_start_matches(is_space);
        let blanks = before - start.len();
        let end = start.char_indices().nth(digits).map_or(start.len(), |(at, _)| at);
        let invalid = |detail: String| {
            let message = format!("invalid value \"{}\" for \"{}\"", &start[..end], own.name);
            ValueError::datetime_format(message).with_detail(detail)
        };
        if !own.is_free && end < digits {
            let message = format!("source string too short for \"{}\" formatting field", own.name);
            let detail = format!("Field requires {digits} characters, but only {end} remain.");
            let error = ValueError::datetime_format(message).with_detail(detail);
            return Err(error.with_hint(FIXED_HINT));
        }
        let part = if own.is_free { start } else { &start[..end] };
        // As C reads numbers: blanks, a sign, digits.
        let inner = part.len() - part.trim_start_matches(is_space).len();
        let signs = usize::from(part[inner..].starts_with(['-', '+']));
        let count = part[inner + signs..].bytes().take_while(u8::is_ascii_digit).count();
        let used = if count == 0 { 0 } else { inner + signs + count };
        if !own.is_free && used > 0 && used < digits {
            let detail =
                format!("Field requires {digits} characters, but only {used} could be parsed.");
            return Err(invalid(detail).with_hint(FIXED_HINT));
        }
        if count == 0 {
            return Err(invalid("Value must be an integer.".to_owned()));
        }
        let value = part[inner..used].parse::<i32>().map_err(|_| {
            let message = format!("value for \"{}\" in source string is out of range", own.name);
            let detail = "Value must be in the range -2147483648 to 2147483647.";
            ValueError::datetime_overflow(message).with_detail(detail)
        })?;
        self.take(self.rest[..blanks + used].chars().count());
        Ok((value, blanks + used))
    }
}

const FIXED_HINT: &str = "If your source string is not fixed-width, try using the \"FM\" modifier.";

/// Returns the year nearest to 2020 with these last digits.
fn full_year(year: i32) -> i32 {
    match year {
        ..70 => year.saturating_add(2_000),
        70..100 => year + 1_900,
        100..520 => year + 2_000,
        520..1_000 => year + 1_000,
        _ => year,
    }
}

fn set(target: &mut i32, value: i32, own: ReadField) -> Result<(), ValueError> {
    // What was zero counts as nothing that was said.
    if *target != 0 && *target != value {
        let message = format!("conflicting values for \"{}\" field in formatting string", own.name);
        let detail = "This value contradicts a previous setting for the same field type.";
        return Err(ValueError::datetime_format(message).with_detail(detail));
    }
    *target = value;
    Ok(())
}
