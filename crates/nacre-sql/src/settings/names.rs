//! Values of settings that are names: lists of them, styles of dates, time zones, encodings.

use std::str::FromStr;

use datafusion::arrow::array::timezone::Tz;

use super::kind::invalid;
use crate::error::{Error, Result};

/// Names of the time zone that Nacre works in.
const UTC_NAMES: [&str; 16] = [
    "UTC",
    "Etc/UTC",
    "GMT",
    "Etc/GMT",
    "UCT",
    "Etc/UCT",
    "Universal",
    "Etc/Universal",
    "Zulu",
    "Etc/Zulu",
    "Greenwich",
    "Etc/Greenwich",
    "GMT0",
    "Etc/GMT0",
    "GMT+0",
    "GMT-0",
];

/// Splits a list such as `"$user", public` into its names; `None` if it is none.
pub(super) fn split_list(text: &str) -> Option<Vec<String>> {
    let mut names = Vec::new();
    let mut rest = text.trim();
    if rest.is_empty() {
        return Some(names);
    }
    loop {
        let (name, behind) = match rest.strip_prefix('"') {
            Some(quoted) => split_quoted(quoted)?,
            None => {
                let end = rest.find(|c: char| c == ',' || c.is_whitespace());
                let (name, behind) = rest.split_at(end.unwrap_or(rest.len()));
                if name.is_empty() || name.contains('"') {
                    return None;
                }
                (name.to_lowercase(), behind)
            }
        };
        names.push(name);
        rest = behind.trim_start();
        if rest.is_empty() {
            return Some(names);
        }
        rest = rest.strip_prefix(',')?.trim_start();
    }
}

/// Splits a name from what follows its closing quote.
fn split_quoted(text: &str) -> Option<(String, &str)> {
    let mut name = String::new();
    let mut rest = text;
    loop {
        let (part, behind) = rest.split_once('"')?;
        name.push_str(part);
        match behind.strip_prefix('"') {
            Some(again) => {
                name.push('"');
                rest = again;
            }
            None => return Some((name, behind)),
        }
    }
}

/// Returns a name as a list has it: in quotes if it has to be.
pub(super) fn quoted(name: &str) -> String {
    let is_plain = name.bytes().enumerate().all(|(place, byte)| {
        byte.is_ascii_lowercase() || byte == b'_' || (place > 0 && byte.is_ascii_digit())
    });
    match is_plain && !name.is_empty() {
        true => name.to_owned(),
        false => format!("\"{}\"", name.replace('"', "\"\"")),
    }
}

/// Checks a list of names.
pub(super) fn check_list(name: &str, value: &str) -> Result<String> {
    match split_list(value) {
        Some(_) => Ok(value.to_owned()),
        None => Err(invalid(name, value).with_detail("List syntax is invalid.")),
    }
}

/// Reads a value of DateStyle. Dates are shown in one style only; the order, which matters for
/// ambiguous dates in other styles, is kept.
pub(super) fn date_style(name: &str, value: &str) -> Result<String> {
    let words = split_list(value)
        .ok_or_else(|| invalid(name, value).with_detail("List syntax is invalid."))?;
    let mut order = "MDY";
    for word in words {
        match word.to_ascii_lowercase().as_str() {
            "iso" | "default" => {}
            "sql" | "postgres" | "german" => {
                return Err(Error::not_supported(format_args!("DateStyle \"{word}\""))
                    .with_hint("Nacre writes dates in the style \"ISO\"."));
            }
            "ymd" => order = "YMD",
            "dmy" => order = "DMY",
            word if word.starts_with("euro") => order = "DMY",
            "mdy" | "us" => order = "MDY",
            word if word.starts_with("noneuro") => order = "MDY",
            word => {
                let detail = format!("Unrecognized key word: \"{word}\".");
                return Err(invalid(name, value).with_detail(detail));
            }
        }
    }
    Ok(format!("ISO, {order}"))
}

/// Reads the name of a time zone that is UTC.
pub(super) fn time_zone(name: &str, value: &str) -> Result<String> {
    let text = value.trim();
    if let Some(known) = UTC_NAMES.iter().find(|known| known.eq_ignore_ascii_case(text)) {
        return Ok((*known).to_owned());
    }
    let is_zero = |text: &str| {
        text.chars().any(|c| c == '0')
            && text.chars().all(|c| matches!(c, '0' | ':' | '+' | '-' | '.'))
    };
    let posix = posix_offset(text);
    if is_zero(text) || posix.is_some_and(is_zero) || text.eq_ignore_ascii_case("z") {
        return Ok("UTC".into());
    }
    let is_offset = text.parse::<f64>().is_ok_and(|hours| hours.abs() < 168.0);
    match is_offset || posix.is_some() || Tz::from_str(text).is_ok() {
        true => Err(Error::not_supported(format_args!("TimeZone \"{text}\""))
            .with_hint("Nacre's time zone is UTC.")),
        false => Err(invalid(name, value)),
    }
}

/// Returns the offset of a zone such as `GMT+03:00` or `<+03>-3`, in POSIX's form without rules for
/// summer; `None` if it has another form.
fn posix_offset(text: &str) -> Option<&str> {
    let offset = match text.strip_prefix('<') {
        Some(rest) => rest.split_once('>').filter(|(name, _)| name.len() >= 3)?.1,
        None => {
            let offset = text.trim_start_matches(|c: char| c.is_ascii_alphabetic());
            (text.len() - offset.len() >= 3).then_some(offset)?
        }
    };
    let digits = offset.strip_prefix(['+', '-']).unwrap_or(offset);
    let is_number =
        |part: &str| matches!(part.len(), 1 | 2) && part.bytes().all(|byte| byte.is_ascii_digit());
    let parts = digits.split(':');
    (parts.clone().count() <= 3 && parts.clone().all(is_number)).then_some(offset)
}

/// Encodings that PostgreSQL has for clients besides UTF-8, without their punctuation.
const OTHER_ENCODINGS: [&str; 45] = [
    "abc",
    "alt",
    "big5",
    "euccn",
    "eucjis2004",
    "eucjp",
    "euckr",
    "euctw",
    "gb18030",
    "gbk",
    "iso88591",
    "iso88592",
    "iso88593",
    "iso88594",
    "iso88595",
    "iso88596",
    "iso88597",
    "iso88598",
    "iso88599",
    "johab",
    "koi8",
    "koi8r",
    "koi8u",
    "latin1",
    "latin10",
    "latin2",
    "latin3",
    "latin4",
    "latin5",
    "latin6",
    "latin7",
    "latin8",
    "latin9",
    "mskanji",
    "muleinternal",
    "shiftjis",
    "shiftjis2004",
    "sjis",
    "tcvn",
    "tcvn5712",
    "uhc",
    "vscii",
    "win",
    "win1252",
    "windows1252",
];

/// Reads the name of an encoding. `SQL_ASCII` is no encoding: nothing is converted.
pub(super) fn encoding(name: &str, value: &str) -> Result<String> {
    let letters: String = value.chars().filter(char::is_ascii_alphanumeric).collect();
    let letters = letters.to_ascii_lowercase();
    match letters.as_str() {
        "utf8" | "unicode" => Ok("UTF8".into()),
        "sqlascii" => Ok("SQL_ASCII".into()),
        other => {
            let is_windows = other.starts_with("win12") || other.starts_with("windows12");
            match is_windows || OTHER_ENCODINGS.contains(&other) {
                true => Err(Error::not_supported(format_args!("{name} \"{value}\""))
                    .with_hint("Nacre's encoding is UTF8.")),
                false => Err(invalid(name, value)),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_names_between_commas() {
        let split = |text| split_list(text).map(|names| names.join("|"));
        assert_eq!(split("\"$user\", public").as_deref(), Some("$user|public"));
        assert_eq!(split(" A ,b").as_deref(), Some("a|b"));
        assert_eq!(split("\"a\"\"b\", \"C,d\"").as_deref(), Some("a\"b|C,d"));
        assert_eq!(split("\"\"").as_deref(), Some(""));
        assert_eq!(split_list(""), Some(Vec::new()));
        for text in ["a,", ",", "a b", "\"a", "a\"b"] {
            assert_eq!(split(text), None, "{text}");
        }
    }

    #[test]
    fn names_are_quoted_where_they_have_to_be() {
        assert_eq!(quoted("public"), "public");
        assert_eq!(quoted("$user"), "\"$user\"");
        assert_eq!(quoted("A\"b"), "\"A\"\"b\"");
        assert_eq!(quoted(""), "\"\"");
        assert_eq!(quoted("2a"), "\"2a\"");
    }

    #[test]
    fn dates_are_written_in_one_style() {
        let read = |text| date_style("DateStyle", text);
        assert_eq!(read("ISO").unwrap(), "ISO, MDY");
        assert_eq!(read("iso, dmy").unwrap(), "ISO, DMY");
        assert_eq!(read("European").unwrap(), "ISO, DMY");
        assert_eq!(read("SQL, DMY").unwrap_err().sqlstate(), "0A000");
        assert_eq!(read("stardate").unwrap_err().sqlstate(), "22023");
    }

    #[test]
    fn time_zone_is_utc_by_any_name() {
        let read = |text| time_zone("TimeZone", text);
        assert_eq!(read("utc").unwrap(), "UTC");
        assert_eq!(read("etc/utc").unwrap(), "Etc/UTC");
        assert_eq!(read("+00:00").unwrap(), "UTC");
        assert_eq!(read("0").unwrap(), "UTC");
        assert_eq!(read("Europe/Berlin").unwrap_err().sqlstate(), "0A000");
        assert_eq!(read("-8").unwrap_err().sqlstate(), "0A000");
        for zero in ["GMT+00:00", "UTC+0", "utc0", "<+00>-0"] {
            assert_eq!(read(zero).unwrap(), "UTC", "{zero}");
        }
        for other in ["GMT+03:00", "UTC-1", "EST5", "<+0530>-5:30"] {
            assert_eq!(read(other).unwrap_err().sqlstate(), "0A000", "{other}");
        }
        for none in ["GMT+", "GM+3", "GMT+123", "GMT+1:2:3:4", "<+3>-3", "<", "", "GMT+0x"] {
            assert_eq!(read(none).unwrap_err().sqlstate(), "22023", "{none}");
        }
        assert_eq!(read("Mars/Olympus").unwrap_err().sqlstate(), "22023");
    }

    #[test]
    fn encoding_is_utf8() {
        let read = |text| encoding("client_encoding", text);
        assert_eq!(read("utf-8").unwrap(), "UTF8");
        assert_eq!(read("UNICODE").unwrap(), "UTF8");
        assert_eq!(read("SQL_ASCII").unwrap(), "SQL_ASCII");
        assert_eq!(read("LATIN1").unwrap_err().sqlstate(), "0A000");
        assert_eq!(read("win1251").unwrap_err().sqlstate(), "0A000");
        assert_eq!(read("morse").unwrap_err().sqlstate(), "22023");
    }
}
