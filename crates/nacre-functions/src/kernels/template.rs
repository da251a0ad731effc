//! The patterns of `to_char`, `to_date` and `to_timestamp` for dates and times, taken apart.

/// A field of a moment. Those that have no other case in the table keep their case in
/// [`LetterCase`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TemplateField {
    Ad,
    AdDotted,
    Am,
    AmDotted,
    Century,
    DayName,
    DayShort,
    DayOfYear,
    DayOfMonth,
    DayOfWeek,
    Fraction(usize),
    Exact,
    Hour24,
    Hour12,
    IsoDayOfYear,
    IsoDayOfWeek,
    IsoWeek,
    /// The last n digits of the year of the ISO week.
    IsoYear(usize),
    Julian,
    Minute,
    Month,
    MonthName,
    MonthShort,
    Millisecond,
    Offset,
    Quarter,
    Roman,
    SecondOfDay,
    Second,
    ZoneHour,
    ZoneMinute,
    Zone,
    Microsecond,
    Week,
    WeekOfMonth,
    YearWithComma,
    /// The last n digits of the year.
    Year(usize),
}

/// How a name is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LetterCase {
    Upper,
    First,
    Lower,
}

/// The ordinal letters behind a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OrdinalSuffix {
    None,
    Upper,
    Lower,
}

/// A part of a pattern.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum TemplatePart {
    Field {
        field: TemplateField,
        /// In capitals.
        name: &'static str,
        letters: LetterCase,
        fills: bool,
        ordinal: OrdinalSuffix,
    },
    /// A blank or a sign, not within quotes.
    Separator(char),
    Text(char),
}

/// Names in capitals, longer ones first where one begins another.
const FIELDS: [(&str, TemplateField); 54] = [
    ("A.D.", TemplateField::AdDotted),
    ("A.M.", TemplateField::AmDotted),
    ("AD", TemplateField::Ad),
    ("AM", TemplateField::Am),
    ("B.C.", TemplateField::AdDotted),
    ("BC", TemplateField::Ad),
    ("CC", TemplateField::Century),
    ("DAY", TemplateField::DayName),
    ("DDD", TemplateField::DayOfYear),
    ("DD", TemplateField::DayOfMonth),
    ("DY", TemplateField::DayShort),
    ("D", TemplateField::DayOfWeek),
    ("FF1", TemplateField::Fraction(1)),
    ("FF2", TemplateField::Fraction(2)),
    ("FF3", TemplateField::Fraction(3)),
    ("FF4", TemplateField::Fraction(4)),
    ("FF5", TemplateField::Fraction(5)),
    ("FF6", TemplateField::Fraction(6)),
    ("FX", TemplateField::Exact),
    ("HH24", TemplateField::Hour24),
    ("HH12", TemplateField::Hour12),
    ("HH", TemplateField::Hour12),
    ("IDDD", TemplateField::IsoDayOfYear),
    ("ID", TemplateField::IsoDayOfWeek),
    ("IW", TemplateField::IsoWeek),
    ("IYYY", TemplateField::IsoYear(4)),
    ("IYY", TemplateField::IsoYear(3)),
    ("IY", TemplateField::IsoYear(2)),
    ("I", TemplateField::IsoYear(1)),
    ("J", TemplateField::Julian),
    ("MI", TemplateField::Minute),
    ("MM", TemplateField::Month),
    ("MONTH", TemplateField::MonthName),
    ("MON", TemplateField::MonthShort),
    ("MS", TemplateField::Millisecond),
    ("OF", TemplateField::Offset),
    ("P.M.", TemplateField::AmDotted),
    ("PM", TemplateField::Am),
    ("Q", TemplateField::Quarter),
    ("RM", TemplateField::Roman),
    ("SSSSS", TemplateField::SecondOfDay),
    ("SSSS", TemplateField::SecondOfDay),
    ("SS", TemplateField::Second),
    ("TZH", TemplateField::ZoneHour),
    ("TZM", TemplateField::ZoneMinute),
    ("TZ", TemplateField::Zone),
    ("US", TemplateField::Microsecond),
    ("WW", TemplateField::Week),
    ("W", TemplateField::WeekOfMonth),
    ("Y,YYY", TemplateField::YearWithComma),
    ("YYYY", TemplateField::Year(4)),
    ("YYY", TemplateField::Year(3)),
    ("YY", TemplateField::Year(2)),
    ("Y", TemplateField::Year(1)),
];

/// Takes a pattern apart.
pub(super) fn parse_template(pattern: &str) -> Vec<TemplatePart> {
    let mut parts = Vec::new();
    let mut rest = pattern;
    while let Some(first) = rest.chars().next() {
        if let Some((part, behind)) = take_field(rest) {
            // What only says how others are written is no part, except FX.
            parts.extend(part);
            rest = behind;
            continue;
        }
        match first {
            '"' => rest = take_quoted(&rest[1..], &mut parts),
            '\\' if rest[1..].starts_with('"') => {
                parts.push(TemplatePart::Separator('"'));
                rest = &rest[2..];
            }
            one => {
                let is_separator = is_separator(one);
                let part = if is_separator { TemplatePart::Separator } else { TemplatePart::Text };
                parts.push(part(one));
                rest = &rest[one.len_utf8()..];
            }
        }
    }
    parts
}

/// Whether a character may stand for another one between fields.
pub(super) fn is_separator(letter: char) -> bool {
    is_space(letter) || letter.is_ascii_punctuation()
}

pub(super) fn is_space(letter: char) -> bool {
    matches!(letter, ' ' | '\t'..='\r')
}

/// Takes a text up to the closing quote; returns what is behind it.
fn take_quoted<'a>(text: &'a str, parts: &mut Vec<TemplatePart>) -> &'a str {
    let mut chars = text.chars();
    while let Some(one) = chars.next() {
        match one {
            '"' => break,
            '\\' => parts.extend(chars.next().map(TemplatePart::Text)),
            one => parts.push(TemplatePart::Text(one)),
        }
    }
    chars.as_str()
}

/// Takes a field with what stands before and behind it.
fn take_field(text: &str) -> Option<(Option<TemplatePart>, &str)> {
    let (mut fills, mut rest) = (true, text);
    loop {
        if let Some(behind) = strip_either(rest, "FM", "fm") {
            (fills, rest) = (false, behind);
        } else if let Some(behind) = strip_either(rest, "TM", "tm") {
            // Names of the locale are as long as they are.
            (fills, rest) = (false, behind);
        } else {
            break;
        }
    }
    let Some((field, name, letters, behind)) = find_field(rest) else {
        // Modifiers without a field say nothing.
        return (rest.len() < text.len()).then_some((None, rest));
    };
    rest = behind;
    let mut ordinal = OrdinalSuffix::None;
    if let Some(behind) = rest.strip_prefix("TH") {
        (ordinal, rest) = (OrdinalSuffix::Upper, behind);
    } else if let Some(behind) = rest.strip_prefix("th") {
        (ordinal, rest) = (OrdinalSuffix::Lower, behind);
    }
    if let Some(behind) = strip_either(rest, "SP", "sp") {
        rest = behind;
    }
    Some((Some(TemplatePart::Field { field, name, letters, fills, ordinal }), rest))
}

fn strip_either<'a>(text: &'a str, one: &str, other: &str) -> Option<&'a str> {
    text.strip_prefix(one).or_else(|| text.strip_prefix(other))
}

fn find_field(text: &str) -> Option<(TemplateField, &'static str, LetterCase, &str)> {
    FIELDS.iter().find_map(|(name, field)| {
        let start = text.get(..name.len())?;
        let is_name = matches!(
            field,
            TemplateField::DayName
                | TemplateField::DayShort
                | TemplateField::MonthName
                | TemplateField::MonthShort
        );
        let letters = if start == *name {
            LetterCase::Upper
        } else if start.chars().all(|one| !one.is_ascii_uppercase()) {
            LetterCase::Lower
        } else if is_name && start[1..].chars().all(|one| one.is_ascii_lowercase()) {
            LetterCase::First
        } else {
            return None;
        };
        let behind = &text[name.len()..];
        start.eq_ignore_ascii_case(name).then_some((*field, *name, letters, behind))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fields(pattern: &str) -> Vec<TemplateField> {
        let parts = parse_template(pattern).into_iter();
        parts
            .filter_map(|part| match part {
                TemplatePart::Field { field, .. } => Some(field),
                _ => None,
            })
            .collect()
    }

    #[test]
    fn longest_name_is_taken() {
        assert_eq!(
            fields("YYYY-MM-DD"),
            [TemplateField::Year(4), TemplateField::Month, TemplateField::DayOfMonth]
        );
        assert_eq!(fields("HH24MI"), [TemplateField::Hour24, TemplateField::Minute]);
        assert_eq!(fields("DDD ID"), [TemplateField::DayOfYear, TemplateField::IsoDayOfWeek]);
    }

    #[test]
    fn quoted_text_is_text() {
        assert_eq!(parse_template("\"YY\""), [TemplatePart::Text('Y'), TemplatePart::Text('Y')]);
        let separators = ['"', '-'].map(TemplatePart::Separator);
        assert_eq!(parse_template("\\\"-"), separators);
    }
}
