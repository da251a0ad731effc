//! `to_date` and `to_timestamp` of texts with a pattern.
//!
//! Only of patterns that are constants and made of years, months, days, hours, minutes, seconds and
//! parts of them, with blanks and signs between them.

use nacre_types::catalog::CastContext;
use nacre_types::datetime::{CivilDate, SqlDate, SqlTimestamp};
use nacre_types::{SqlType, SqlValue, ValueError, cast_value};

use super::ScalarKernel;
use super::arguments::text;
use super::registry::KernelRow;
use super::template::{OrdinalSuffix, TemplateField, TemplatePart, parse_template};
use super::time_format::MONTHS;

pub(super) const KERNELS: &[KernelRow] = &[
    (
        "to_date(text,text)",
        ScalarKernel::partial(|values, _| {
            let (date, _) = read_moment(text(values, 0)?, text(values, 1)?)?;
            Ok(SqlValue::Date(date))
        })
        .accepting(is_read),
    ),
    (
        "to_timestamp(text,text)",
        ScalarKernel::partial(|values, context| {
            let (date, micros) = read_moment(text(values, 0)?, text(values, 1)?)?;
            let local = SqlTimestamp::from_parts(date.0.into(), micros)?;
            let (source, target) = (SqlType::TIMESTAMP, SqlType::TIMESTAMPTZ);
            let value = SqlValue::Timestamp(local);
            cast_value(value, source, target, CastContext::Explicit, context.settings)
        })
        .accepting(is_read),
    ),
];

/// Whether the pattern is a constant of what is read here.
fn is_read(constants: &[Option<&SqlValue>]) -> bool {
    let pattern = match constants {
        [_, Some(SqlValue::Text(pattern))] => pattern,
        [_, Some(SqlValue::Null)] => return true,
        _ => return false,
    };
    !pattern.contains(['"', '\\'])
        && parse_template(pattern).iter().all(|part| match part {
            TemplatePart::Text(letter) => is_separator(*letter),
            TemplatePart::Field { field, ordinal, .. } => {
                *ordinal == OrdinalSuffix::None && is_known(*field)
            }
        })
}

fn is_known(field: TemplateField) -> bool {
    matches!(
        field,
        TemplateField::Year(_)
            | TemplateField::Month
            | TemplateField::MonthName
            | TemplateField::MonthShort
            | TemplateField::DayOfMonth
            | TemplateField::Hour24
            | TemplateField::Hour12
            | TemplateField::Minute
            | TemplateField::Second
            | TemplateField::Millisecond
            | TemplateField::Microsecond
            | TemplateField::Am
    )
}

fn is_separator(letter: char) -> bool {
    letter.is_ascii_whitespace() || letter.is_ascii_punctuation()
}

fn malformed(field: TemplateField) -> ValueError {
    ValueError::datetime_format(format!("invalid value for the {field:?} of a pattern"))
}

/// What the fields of a text said.
#[derive(Default)]
struct ReadFields {
    year: Option<i32>,
    month: Option<i32>,
    day: Option<i32>,
    hour: Option<i32>,
    minute: Option<i32>,
    second: Option<i32>,
    milli: Option<i32>,
    micro: Option<i32>,
    is_afternoon: Option<i32>,
    has_half_days: bool,
}

/// Reads a date and the microseconds of its day.
fn read_moment(input: &str, pattern: &str) -> Result<(SqlDate, i64), ValueError> {
    let parts = parse_template(pattern);
    let mut rest = input;
    let mut fields = ReadFields::default();
    for (place, part) in parts.iter().enumerate() {
        if rest.is_empty() {
            break;
        }
        let is_field = matches!(part, TemplatePart::Field { .. });
        if is_field || place == 0 {
            rest = rest.trim_start_matches(is_space);
        }
        match part {
            TemplatePart::Field { field, fills, .. } => {
                let is_free = !fills || ends_number(parts.get(place + 1));
                rest = fields.read(*field, is_free, rest)?.trim_start_matches(is_space);
            }
            TemplatePart::Text(_) => rest = rest.strip_prefix(is_separator).unwrap_or(rest),
        }
    }
    fields.moment(input)
}

fn is_space(letter: char) -> bool {
    matches!(letter, ' ' | '\t'..='\r')
}

/// Whether a number may have any length, since no digit of the pattern comes behind it.
fn ends_number(next: Option<&TemplatePart>) -> bool {
    match next {
        Some(TemplatePart::Field { field, .. }) => matches!(
            field,
            TemplateField::MonthName | TemplateField::MonthShort | TemplateField::Am
        ),
        _ => true,
    }
}

impl ReadFields {
    /// Reads a field; returns what is behind it.
    fn read<'t>(
        &mut self,
        field: TemplateField,
        is_free: bool,
        text: &'t str,
    ) -> Result<&'t str, ValueError> {
        let (target, digits) = match field {
            TemplateField::Am => {
                self.has_half_days = true;
                let (index, rest) = read_word(field, &["am", "pm"], text)?;
                return set(&mut self.is_afternoon, index, field).map(|()| rest);
            }
            TemplateField::MonthName | TemplateField::MonthShort => {
                let length = if field == TemplateField::MonthName { usize::MAX } else { 3 };
                let names = MONTHS.map(|name| &name[..name.len().min(length)]);
                let (index, rest) = read_word(field, &names, text)?;
                return set(&mut self.month, index + 1, field).map(|()| rest);
            }
            TemplateField::Year(digits) => (&mut self.year, digits),
            TemplateField::Month => (&mut self.month, 2),
            TemplateField::DayOfMonth => (&mut self.day, 2),
            TemplateField::Hour24 => (&mut self.hour, 2),
            TemplateField::Hour12 => {
                self.has_half_days = true;
                (&mut self.hour, 2)
            }
            TemplateField::Minute => (&mut self.minute, 2),
            TemplateField::Second => (&mut self.second, 2),
            TemplateField::Millisecond => (&mut self.milli, 3),
            TemplateField::Microsecond => (&mut self.micro, 6),
            _ => return Err(ValueError::not_supported(format!("reading the {field:?}"))),
        };
        let (number, used, rest) = read_number(field, digits, is_free, text)?;
        let missing = digits.saturating_sub(used) as u32;
        let value = match field {
            TemplateField::Year(1..=3) if used < 4 => full_year(number),
            TemplateField::Millisecond | TemplateField::Microsecond => {
                number.saturating_mul(10_i32.pow(missing))
            }
            _ => number,
        };
        set(target, value, field).map(|()| rest)
    }

    /// Returns the moment that the fields say.
    fn moment(&self, input: &str) -> Result<(SqlDate, i64), ValueError> {
        let refused = || {
            let message = format!("date/time field value out of range: \"{input}\"");
            ValueError::datetime_overflow(message)
        };
        let mut hour = self.hour.unwrap_or(0);
        if self.has_half_days {
            if !(1..=12).contains(&hour) {
                let message = format!("hour \"{hour}\" is invalid for the 12-hour clock");
                let hint = "Use the 24-hour clock, or give an hour between 1 and 12.";
                return Err(ValueError::datetime_format(message).with_hint(hint));
            }
            hour = hour % 12 + 12 * self.is_afternoon.unwrap_or(0);
        }
        // Before the year 1 there is none; zeros count as nothing.
        let given = |field: Option<i32>| field.filter(|value| *value != 0);
        let year = given(self.year).unwrap_or(0);
        let year = if year < 0 { year + 1 } else { year };
        let (month, day) = (given(self.month).unwrap_or(1), given(self.day).unwrap_or(1));
        let civil = CivilDate { year, month, day };
        if !(1..=12).contains(&month) || !(1..=31).contains(&day) {
            return Err(refused());
        }
        let date = SqlDate::from_days(civil.days())?;
        if date.civil() != Some(civil) {
            return Err(refused());
        }
        let (minute, second) = (self.minute.unwrap_or(0), self.second.unwrap_or(0));
        let fraction =
            i64::from(self.milli.unwrap_or(0)) * 1_000 + i64::from(self.micro.unwrap_or(0));
        let is_clock =
            (0..24).contains(&hour) && (0..60).contains(&minute) && (0..60).contains(&second);
        if !is_clock || !(0..1_000_000).contains(&fraction) {
            return Err(refused());
        }
        let seconds = (i64::from(hour) * 60 + i64::from(minute)) * 60 + i64::from(second);
        Ok((date, seconds * 1_000_000 + fraction))
    }
}

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

fn set(target: &mut Option<i32>, value: i32, field: TemplateField) -> Result<(), ValueError> {
    // What was zero counts as nothing that was said.
    if target.is_some_and(|before| before != 0 && before != value) {
        let message = format!("conflicting values for \"{field:?}\" field in formatting string");
        let detail = "This value contradicts a previous setting for the same field type.";
        return Err(ValueError::datetime_format(message).with_detail(detail));
    }
    *target = Some(value);
    Ok(())
}

/// Reads one of some words in any case; returns which, and what is behind it.
fn read_word<'t>(
    field: TemplateField,
    words: &[&str],
    text: &'t str,
) -> Result<(i32, &'t str), ValueError> {
    for (index, word) in (0..).zip(words) {
        if text.get(..word.len()).is_some_and(|start| start.eq_ignore_ascii_case(word)) {
            return Ok((index, &text[word.len()..]));
        }
    }
    Err(malformed(field))
}

/// Reads a number of so many digits, or of any number of them if it `is_free`; returns how many
/// characters it has, and what is behind it.
fn read_number(
    field: TemplateField,
    digits: usize,
    is_free: bool,
    text: &str,
) -> Result<(i32, usize, &str), ValueError> {
    let text = text.trim_start_matches(is_space);
    let part = if is_free {
        text
    } else {
        let end = text.char_indices().nth(digits).map_or(text.len(), |(at, _)| at);
        if text[..end].len() < digits {
            return Err(malformed(field));
        }
        &text[..end]
    };
    let signs = usize::from(part.starts_with(['-', '+']));
    let count = part[signs..].bytes().take_while(u8::is_ascii_digit).count();
    let used = signs + count;
    if count == 0 || !is_free && used < digits {
        return Err(malformed(field));
    }
    let value = part[..used].parse::<i32>().map_err(|_| {
        let message = format!("value for \"{field:?}\" in source string is out of range");
        let detail = "Value must be in the range -2147483648 to 2147483647.";
        ValueError::datetime_overflow(message).with_detail(detail)
    })?;
    Ok((value, used, &text[used..]))
}
