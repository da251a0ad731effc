//! Words in dates and times.

/// What a word means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DatetimeKeyword {
    /// Stands for a value of its own.
    Reserved(ReservedWord),
    /// From 1.
    Month(i32),
    Weekday,
    /// Whether it is `pm`.
    Meridiem(bool),
    /// Whether it is `bc`.
    Era(bool),
    /// Stands before the number that it labels.
    Label(FieldLabel),
    /// `t`: a time follows.
    TimeFollows,
    /// `dst`: the zone before it has its clocks an hour ahead.
    DstModifier,
    Ignored,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ReservedWord {
    Now,
    Today,
    Tomorrow,
    Yesterday,
    /// `allballs`: midnight UTC.
    MidnightUtc,
    Epoch,
    Infinity,
    NegativeInfinity,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FieldLabel {
    Year,
    Month,
    Day,
    Hour,
    Minute,
    Second,
    Julian,
    /// Of weeks and days of the year: known as labels, and then refused.
    Unusable,
}

/// Returns the meaning of a word in lower case.
pub(super) fn find_keyword(word: &str) -> Option<DatetimeKeyword> {
    use DatetimeKeyword as Keyword;
    if let Some(month) = find_month(word) {
        return Some(Keyword::Month(month));
    }
    Some(match word {
        "-infinity" => Keyword::Reserved(ReservedWord::NegativeInfinity),
        "infinity" => Keyword::Reserved(ReservedWord::Infinity),
        "allballs" => Keyword::Reserved(ReservedWord::MidnightUtc),
        "epoch" => Keyword::Reserved(ReservedWord::Epoch),
        "now" => Keyword::Reserved(ReservedWord::Now),
        "today" => Keyword::Reserved(ReservedWord::Today),
        "tomorrow" => Keyword::Reserved(ReservedWord::Tomorrow),
        "yesterday" => Keyword::Reserved(ReservedWord::Yesterday),
        "ad" => Keyword::Era(false),
        "bc" => Keyword::Era(true),
        "am" => Keyword::Meridiem(false),
        "pm" => Keyword::Meridiem(true),
        "at" | "on" => Keyword::Ignored,
        "d" => Keyword::Label(FieldLabel::Day),
        "h" => Keyword::Label(FieldLabel::Hour),
        "m" => Keyword::Label(FieldLabel::Month),
        "mm" => Keyword::Label(FieldLabel::Minute),
        "s" => Keyword::Label(FieldLabel::Second),
        "y" => Keyword::Label(FieldLabel::Year),
        "j" | "jd" | "julian" => Keyword::Label(FieldLabel::Julian),
        "dow" | "doy" | "isodow" | "isoyear" => Keyword::Label(FieldLabel::Unusable),
        "t" => Keyword::TimeFollows,
        "dst" => Keyword::DstModifier,
        "sun" | "sunday" | "mon" | "monday" | "tue" | "tues" | "tuesday" | "wed" | "weds"
        | "wednesday" | "thu" | "thur" | "thurs" | "thursday" | "fri" | "friday" | "sat"
        | "saturday" => Keyword::Weekday,
        _ => return None,
    })
}

fn find_month(word: &str) -> Option<i32> {
    Some(match word {
        "jan" | "january" => 1,
        "feb" | "february" => 2,
        "mar" | "march" => 3,
        "apr" | "april" => 4,
        "may" => 5,
        "jun" | "june" => 6,
        "jul" | "july" => 7,
        "aug" | "august" => 8,
        "sep" | "sept" | "september" => 9,
        "oct" | "october" => 10,
        "nov" | "november" => 11,
        "dec" | "december" => 12,
        _ => return None,
    })
}
