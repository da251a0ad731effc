//! What a CSV file looks like: delimiter, header, and the types of its columns.
//!
//! Only `.import` guesses; `COPY` does what it is told. The guess looks at the first
//! [`SAMPLE_RECORDS`] records.

use std::io::{self, BufRead};

/// Records that are looked at.
const SAMPLE_RECORDS: usize = 10_000;
/// Longest record that is looked at; a longer one is no record but an open quote.
const RECORD_BYTES_MAX: usize = 16 << 20;

/// The type guessed for a column, from the narrowest to the widest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Guess {
    Unknown,
    Integer,
    Double,
    Date,
    Timestamp,
    Boolean,
    Text,
}

/// What the first records tell.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Sample {
    pub(crate) delimiter: char,
    /// The first record.
    pub(crate) first: Vec<String>,
    /// Guesses from the records after the first.
    pub(crate) guesses: Vec<Guess>,
}

impl Guess {
    /// Returns the SQL type for a guess.
    pub(crate) fn sql_type(self) -> &'static str {
        match self {
            Self::Integer => "bigint",
            Self::Double => "double precision",
            Self::Date => "date",
            Self::Timestamp => "timestamp",
            Self::Boolean => "boolean",
            Self::Unknown | Self::Text => "text",
        }
    }

    /// Returns the narrowest type that also holds this field.
    pub(crate) fn joined_with(self, field: &str) -> Self {
        self.join(guess_type(field))
    }

    /// Returns the narrowest type that holds what both hold.
    fn join(self, other: Self) -> Self {
        match (self, other) {
            (Self::Unknown, guess) | (guess, Self::Unknown) => guess,
            (a, b) if a == b => a,
            (Self::Integer | Self::Double, Self::Integer | Self::Double) => Self::Double,
            (Self::Date | Self::Timestamp, Self::Date | Self::Timestamp) => Self::Timestamp,
            _ => Self::Text,
        }
    }
}

/// Looks at the beginning of a CSV file; `None` if it is empty.
///
/// # Errors
/// Those of the reader, and `InvalidData` for text that is not UTF-8 or a record without end.
pub(crate) fn sample(
    reader: &mut dyn BufRead,
    delimiter: Option<char>,
) -> io::Result<Option<Sample>> {
    let Some(mut head) = next_record(reader)? else {
        return Ok(None);
    };
    if let Some(rest) = head.strip_prefix('\u{feff}') {
        head = rest.to_owned();
    }
    let delimiter = delimiter.unwrap_or_else(|| guess_delimiter(&head));
    let first = fields(&head, delimiter);
    let mut guesses = vec![Guess::Unknown; first.len()];
    for _ in 1..SAMPLE_RECORDS {
        let Some(record) = next_record(reader)? else {
            break;
        };
        for (guess, field) in guesses.iter_mut().zip(fields(&record, delimiter)) {
            *guess = guess.join(guess_type(&field));
        }
    }
    Ok(Some(Sample { delimiter, first, guesses }))
}

/// Reads one record: a line, or several if a quote is open at a line's end.
fn next_record(reader: &mut dyn BufRead) -> io::Result<Option<String>> {
    let mut record = Vec::new();
    loop {
        let before = record.len();
        let bytes = reader.read_until(b'\n', &mut record)?;
        if bytes == 0 && before == 0 {
            return Ok(None);
        }
        let quotes = record.iter().filter(|byte| **byte == b'"').count();
        if bytes == 0 || quotes % 2 == 0 {
            break;
        }
        if record.len() > RECORD_BYTES_MAX {
            let message = format!("a quote stays open for more than {RECORD_BYTES_MAX} bytes");
            return Err(io::Error::new(io::ErrorKind::InvalidData, message));
        }
    }
    let text = String::from_utf8(record)
        .map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "the file is not UTF-8 text"))?;
    Ok(Some(text.trim_end_matches(['\n', '\r']).to_owned()))
}

/// Cuts a record into fields; quotes are removed.
pub(crate) fn fields(record: &str, delimiter: char) -> Vec<String> {
    let mut fields = vec![String::new()];
    let mut is_quoted = false;
    let mut chars = record.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '"' if is_quoted && chars.peek() == Some(&'"') => {
                chars.next();
                push(&mut fields, '"');
            }
            '"' => is_quoted = !is_quoted,
            _ if c == delimiter && !is_quoted => fields.push(String::new()),
            _ => push(&mut fields, c),
        }
    }
    fields
}

fn push(fields: &mut [String], c: char) {
    if let Some(last) = fields.last_mut() {
        last.push(c);
    }
}

/// Chooses what cuts the first record into the most fields; a comma if nothing does.
fn guess_delimiter(record: &str) -> char {
    let count = |delimiter| fields(record, delimiter).len();
    let mut best = ',';
    for delimiter in ['\t', '|', ';'] {
        if count(delimiter) > count(best) {
            best = delimiter;
        }
    }
    best
}

/// Guesses the type of one field; an empty one may be NULL of any type.
pub(crate) fn guess_type(field: &str) -> Guess {
    if field.is_empty() {
        return Guess::Unknown;
    }
    if field.eq_ignore_ascii_case("true") || field.eq_ignore_ascii_case("false") {
        return Guess::Boolean;
    }
    let digits = field.strip_prefix(['-', '+']).unwrap_or(field);
    // A leading zero belongs to a code, such as a postal one, not to a number.
    let is_code = digits.len() > 1 && digits.starts_with('0') && !digits.starts_with("0.");
    if !is_code && digits.starts_with(|c: char| c.is_ascii_digit() || c == '.') {
        if field.parse::<i64>().is_ok() {
            return Guess::Integer;
        }
        if field.parse::<f64>().is_ok_and(f64::is_finite) {
            return Guess::Double;
        }
    }
    guess_time(field)
}

fn guess_time(field: &str) -> Guess {
    let (date, time) = match field.split_once([' ', 'T']) {
        Some((date, time)) => (date, Some(time)),
        None => (field, None),
    };
    let is_digits = |text: &str, length: usize| {
        text.len() == length && text.bytes().all(|byte| byte.is_ascii_digit())
    };
    let parts: Vec<&str> = date.split('-').collect();
    let is_date = matches!(parts.as_slice(), [year, month, day]
        if is_digits(year, 4) && is_digits(month, 2) && is_digits(day, 2));
    match (is_date, time) {
        (true, None) => Guess::Date,
        (true, Some(time)) => {
            let whole = time.split('.').next().unwrap_or(time);
            let parts: Vec<&str> = whole.split(':').collect();
            let is_time =
                matches!(parts.len(), 2 | 3) && parts.iter().all(|part| is_digits(part, 2));
            if is_time { Guess::Timestamp } else { Guess::Text }
        }
        (false, _) => Guess::Text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sampled(text: &str) -> Sample {
        sample(&mut text.as_bytes(), None).unwrap().unwrap()
    }

    #[test]
    fn types_widen_over_the_sample() {
        let sample = sampled(
            "a,b,c,d,e,f,g\n1,1,2024-01-01,x,,007,true\n2,1.5,2024-01-01 10:00:00.5,1,,8,FALSE\n",
        );
        assert_eq!(
            sample.guesses,
            [
                Guess::Integer,
                Guess::Double,
                Guess::Timestamp,
                Guess::Text,
                Guess::Unknown,
                Guess::Text,
                Guess::Boolean
            ]
        );
        assert_eq!(sample.first, ["a", "b", "c", "d", "e", "f", "g"]);
    }

    #[test]
    fn quotes_hide_delimiters_and_line_ends() {
        let sample = sampled("\"x, y\",\"say \"\"hi\"\"\"\n\"1\n2\",3\n");
        assert_eq!(sample.first, ["x, y", "say \"hi\""]);
        assert_eq!(sample.guesses, [Guess::Text, Guess::Integer]);
    }

    #[test]
    fn delimiter_is_what_cuts_most() {
        assert_eq!(sampled("a|b|c\n").delimiter, '|');
        assert_eq!(sampled("a\tb,c\td\n").delimiter, '\t');
        assert_eq!(sampled("alone\n").delimiter, ',');
        assert_eq!(sampled("\u{feff}a;b\r\n").first, ["a", "b"]);
    }

    #[test]
    fn bad_files_are_errors_not_guesses() {
        assert!(sample(&mut &b""[..], None).unwrap().is_none());
        assert!(sample(&mut &b"a\xff\n"[..], None).is_err());
        assert_eq!(guess_type("inf"), Guess::Text);
        assert_eq!(guess_type("1e5"), Guess::Double);
        assert_eq!(guess_type("99999999999999999999"), Guess::Double);
    }
}
