//! The patterns of `to_char`, `to_timestamp` and `to_date` for moments, taken apart.

/// A field of a moment. Those that have no other case in the table keep their case in
/// [`Letters`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Field {
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
pub(super) enum Letters {
    Upper,
    First,
    Lower,
}

/// The ordinal letters behind a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ordinal {
    None,
    Upper,
    Lower,
}

/// A part of a pattern.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Part {
    Field {
        field: Field,
        letters: Letters,
        fills: bool,
        ordinal: Ordinal,
        name: String,
    },
    /// A blank, or a sign that may stand between fields.
    Separator(char),
    Text(char),
}

/// Names in capitals, longer ones first where one begins another.
const FIELDS: [(&str, Field); 54] = [
    ("A.D.", Field::AdDotted),
    ("A.M.", Field::AmDotted),
    ("AD", Field::Ad),
    ("AM", Field::Am),
    ("B.C.", Field::AdDotted),
    ("BC", Field::Ad),
    ("CC", Field::Century),
    ("DAY", Field::DayName),
    ("DDD", Field::DayOfYear),
    ("DD", Field::DayOfMonth),
    ("DY", Field::DayShort),
    ("D", Field::DayOfWeek),
    ("FF1", Field::Fraction(1)),
    ("FF2", Field::Fraction(2)),
    ("FF3", Field::Fraction(3)),
    ("FF4", Field::Fraction(4)),
    ("FF5", Field::Fraction(5)),
    ("FF6", Field::Fraction(6)),
    ("FX", Field::Exact),
    ("HH24", Field::Hour24),
    ("HH12", Field::Hour12),
    ("HH", Field::Hour12),
    ("IDDD", Field::IsoDayOfYear),
    ("ID", Field::IsoDayOfWeek),
    ("IW", Field::IsoWeek),
    ("IYYY", Field::IsoYear(4)),
    ("IYY", Field::IsoYear(3)),
    ("IY", Field::IsoYear(2)),
    ("I", Field::IsoYear(1)),
    ("J", Field::Julian),
    ("MI", Field::Minute),
    ("MM", Field::Month),
    ("MONTH", Field::MonthName),
    ("MON", Field::MonthShort),
    ("MS", Field::Millisecond),
    ("OF", Field::Offset),
    ("P.M.", Field::AmDotted),
    ("PM", Field::Am),
    ("Q", Field::Quarter),
    ("RM", Field::Roman),
    ("SSSSS", Field::SecondOfDay),
    ("SSSS", Field::SecondOfDay),
    ("SS", Field::Second),
    ("TZH", Field::ZoneHour),
    ("TZM", Field::ZoneMinute),
    ("TZ", Field::Zone),
    ("US", Field::Microsecond),
    ("WW", Field::Week),
    ("W", Field::WeekOfMonth),
    ("Y,YYY", Field::YearWithComma),
    ("YYYY", Field::Year(4)),
    ("YYY", Field::Year(3)),
    ("YY", Field::Year(2)),
    ("Y", Field::Year(1)),
];

impl Field {
    /// Whether it is read as digits.
    pub(super) fn is_digits(self) -> bool {
        !matches!(
            self,
            Self::Ad
                | Self::AdDotted
                | Self::Am
                | Self::AmDotted
                | Self::DayName
                | Self::DayShort
                | Self::Exact
                | Self::MonthName
                | Self::MonthShort
                | Self::Offset
                | Self::Roman
                | Self::ZoneHour
                | Self::ZoneMinute
                | Self::Zone
        )
    }
}

/// Takes a pattern apart.
pub(super) fn parse(pattern: &str) -> Vec<Part> {
    let mut parts = Vec::new();
    let mut rest = pattern;
    while let Some(first) = rest.chars().next() {
        if let Some((part, behind)) = field(rest) {
            // What only says how others are written is no part, except FX.
            parts.extend(part);
            rest = behind;
            continue;
        }
        match first {
            '"' => rest = quoted(&rest[1..], &mut parts),
            '\\' if rest[1..].starts_with('"') => {
                parts.push(Part::Text('"'));
                rest = &rest[2..];
            }
            one => {
                parts.push(match is_separator(one) {
                    true => Part::Separator(one),
                    false => Part::Text(one),
                });
                rest = &rest[one.len_utf8()..];
            }
        }
    }
    parts
}

/// Whether a character may stand for another one between fields.
pub(super) fn is_separator(one: char) -> bool {
    one.is_ascii_whitespace() || one.is_ascii_punctuation()
}

/// Takes a text up to the closing quote; returns what is behind it.
fn quoted<'a>(text: &'a str, parts: &mut Vec<Part>) -> &'a str {
    let mut chars = text.chars();
    while let Some(one) = chars.next() {
        match one {
            '"' => break,
            '\\' => parts.extend(chars.next().map(Part::Text)),
            one => parts.push(Part::Text(one)),
        }
    }
    chars.as_str()
}

/// Takes a field with what stands before and behind it.
fn field(text: &str) -> Option<(Option<Part>, &str)> {
    let (mut fills, mut rest) = (true, text);
    loop {
        if let Some(behind) = either(rest, "FM", "fm") {
            (fills, rest) = (false, behind);
        } else if let Some(behind) = either(rest, "TM", "tm") {
            // Names of the locale are as long as they are.
            (fills, rest) = (false, behind);
        } else {
            break;
        }
    }
    let Some((field, letters, behind)) = known(rest) else {
        // Modifiers without a field say nothing.
        return (rest.len() < text.len()).then_some((None, rest));
    };
    let name = rest[..rest.len() - behind.len()].to_owned();
    rest = behind;
    let mut ordinal = Ordinal::None;
    if let Some(behind) = rest.strip_prefix("TH") {
        (ordinal, rest) = (Ordinal::Upper, behind);
    } else if let Some(behind) = rest.strip_prefix("th") {
        (ordinal, rest) = (Ordinal::Lower, behind);
    }
    if let Some(behind) = either(rest, "SP", "sp") {
        rest = behind;
    }
    Some((Some(Part::Field { field, letters, fills, ordinal, name }), rest))
}

fn either<'a>(text: &'a str, one: &str, other: &str) -> Option<&'a str> {
    text.strip_prefix(one).or_else(|| text.strip_prefix(other))
}

fn known(text: &str) -> Option<(Field, Letters, &str)> {
    FIELDS.iter().find_map(|(name, field)| {
        let start = text.get(..name.len())?;
        let is_name = matches!(
            field,
            Field::DayName | Field::DayShort | Field::MonthName | Field::MonthShort
        );
        let letters = if start == *name {
            Letters::Upper
        } else if start.chars().all(|one| !one.is_ascii_uppercase()) {
            Letters::Lower
        } else if is_name && start[1..].chars().all(|one| one.is_ascii_lowercase()) {
            Letters::First
        } else {
            return None;
        };
        start.eq_ignore_ascii_case(name).then_some((*field, letters, &text[name.len()..]))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fields(pattern: &str) -> Vec<Field> {
        let parts = parse(pattern).into_iter();
        parts
            .filter_map(|part| match part {
                Part::Field { field, .. } => Some(field),
                _ => None,
            })
            .collect()
    }

    #[test]
    fn longest_name_is_taken() {
        assert_eq!(fields("YYYY-MM-DD"), [Field::Year(4), Field::Month, Field::DayOfMonth]);
        assert_eq!(fields("HH24MI"), [Field::Hour24, Field::Minute]);
        assert_eq!(fields("DDD ID"), [Field::DayOfYear, Field::IsoDayOfWeek]);
    }

    #[test]
    fn quoted_text_is_text() {
        assert_eq!(parse("\"YY\""), [Part::Text('Y'), Part::Text('Y')]);
        assert_eq!(parse("\\\"-"), [Part::Text('"'), Part::Separator('-')]);
    }
}
