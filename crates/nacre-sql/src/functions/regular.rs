//! `regexp_replace` as PostgreSQL has it, and regular expressions whose `.` matches a newline.
//!
//! In the text that is put in, `\1` to `\9` are what a group matched, `\&` is the whole match and
//! `\\` a backslash; everything else stands for itself. A match may be empty, also right behind
//! another one.

use std::collections::HashMap;

use datafusion::arrow::array::{Array, ArrayRef, AsArray};
use datafusion::arrow::datatypes::{DataType, Int64Type, StringViewType};
use datafusion::logical_expr::Volatility;
use regex::{Captures, Regex};

use super::scalar::Definition;
use super::value_blocks::ValueBlocks;
use crate::error::{Error, ErrorKind, Result};
use crate::types::is_text;

/// What a pattern begins with, so that `.` matches a newline.
pub(crate) const DOT_IS_ANY: &str = "(?s)";

/// Makes the function.
pub(super) fn replace() -> Definition {
    Definition {
        name: "regexp_replace",
        takes: |types| {
            let is_text_or_null = |one: &DataType| is_text(one) || one == &DataType::Null;
            let is_number = |one: &DataType| one.is_integer() || one == &DataType::Null;
            let (texts, others) = types.split_at_checked(3)?;
            let is_known = texts.iter().all(is_text_or_null)
                && match others {
                    [] => true,
                    [one] => is_text_or_null(one) || one.is_integer(),
                    [start, place] => is_number(start) && is_number(place),
                    [start, place, flags] => {
                        is_number(start) && is_number(place) && is_text_or_null(flags)
                    }
                    _ => false,
                };
            let taken = |one: &DataType| {
                if one.is_integer() { DataType::Int64 } else { DataType::Utf8View }
            };
            is_known.then(|| {
                let mut taken: Vec<DataType> = types.iter().map(taken).collect();
                if let [_, _, _, start, place, ..] = taken.as_mut_slice() {
                    (*start, *place) = (DataType::Int64, DataType::Int64);
                }
                taken
            })
        },
        returns: |_, _| DataType::Utf8View,
        volatility: Volatility::Immutable,
        body: replaced,
    }
}

/// Regular expressions that were compiled before, by pattern and flags.
#[derive(Default)]
struct RegexCache(HashMap<(String, String), Regex>);

impl RegexCache {
    fn find(&mut self, pattern: &str, flags: &str) -> Result<&Regex> {
        let key = (pattern.to_owned(), flags.to_owned());
        if !self.0.contains_key(&key) {
            let compiled = compile(pattern, flags)?;
            self.0.insert(key.clone(), compiled);
        }
        self.0.get(&key).ok_or_else(|| Error::new(ErrorKind::Internal, "no regular expression"))
    }
}

fn compile(pattern: &str, flags: &str) -> Result<Regex> {
    // `.` matches a newline, and `^` and `$` match at the ends of the text alone.
    let (mut dot_is_any, mut has_lines, mut is_caseless, mut is_spaced) =
        (true, false, false, false);
    let mut is_literal = false;
    for flag in flags.chars() {
        match flag {
            'g' | 'e' | 'b' => {}
            'i' => is_caseless = true,
            'c' => is_caseless = false,
            'm' | 'n' => (dot_is_any, has_lines) = (false, true),
            'p' => (dot_is_any, has_lines) = (false, false),
            's' => (dot_is_any, has_lines) = (true, false),
            'w' => (dot_is_any, has_lines) = (true, true),
            'x' => is_spaced = true,
            't' => is_spaced = false,
            'q' => is_literal = true,
            other => {
                let message = format!("invalid regular expression option: \"{other}\"");
                return Err(Error::invalid_parameter(message));
            }
        }
    }
    let escaped = is_literal.then(|| regex::escape(pattern));
    let made = regex::RegexBuilder::new(escaped.as_deref().unwrap_or(pattern))
        .dot_matches_new_line(dot_is_any)
        .multi_line(has_lines)
        .case_insensitive(is_caseless)
        .ignore_whitespace(is_spaced)
        .build();
    made.map_err(|error| {
        let message = "invalid regular expression";
        let error = error.to_string();
        let detail = error.lines().last().unwrap_or_default().trim_start_matches("error: ");
        let error = Error::new(ErrorKind::InvalidData, format!("{message}: {detail}"));
        error.with_code("2201B")
    })
}

/// Which matches are replaced.
#[derive(Clone, Copy)]
struct MatchRange {
    /// The character with which the search begins, from 1.
    start: i64,
    /// The number of the match, from 1; 0 for all of them.
    number: i64,
}

fn replaced(args: &[ArrayRef], rows: usize, _: &DataType) -> Result<ArrayRef> {
    let text = |place: usize, row: usize| args[place].as_string_view().value(row);
    let number = |place: usize, row: usize| args[place].as_primitive::<Int64Type>().value(row);
    let has_flags = args.len() == 4 && args[3].data_type() == &DataType::Utf8View;
    let mut compiled = RegexCache::default();
    let mut made = ValueBlocks::<StringViewType>::new(rows);
    for row in 0..rows {
        if args.iter().any(|array| array.is_null(row)) {
            made.push_null();
            continue;
        }
        let flags = match args.len() {
            4 if has_flags => text(3, row),
            6 => text(5, row),
            _ => "",
        };
        let start = if args.len() > 3 && !has_flags { number(3, row) } else { 1 };
        let is_each = flags.contains('g') && args.len() == 4;
        let default = if is_each { 0 } else { 1 };
        let places =
            MatchRange { start, number: if args.len() > 4 { number(4, row) } else { default } };
        check(places)?;
        let regex = compiled.find(text(1, row), flags)?;
        replace_matches(regex, text(0, row), text(2, row), places, &mut made)?;
        made.end_value()?;
    }
    made.finish()
}

fn check(places: MatchRange) -> Result<()> {
    let invalid = |name: &str, value: i64| {
        Error::invalid_parameter(format!("invalid value for parameter \"{name}\": {value}"))
    };
    match places {
        MatchRange { start, .. } if start < 1 => Err(invalid("start", start)),
        MatchRange { number, .. } if number < 0 => Err(invalid("n", number)),
        _ => Ok(()),
    }
}

/// Appends `text` with what matches replaced.
fn replace_matches(
    regex: &Regex,
    text: &str,
    with: &str,
    places: MatchRange,
    made: &mut ValueBlocks<StringViewType>,
) -> Result<()> {
    let skipped = usize::try_from(places.start - 1).unwrap_or(usize::MAX);
    let mut search = match text.char_indices().nth(skipped) {
        Some((at, _)) => at,
        None => text.len() + usize::from(skipped > text.chars().count()),
    };
    let (mut copied, mut count) = (0, 0);
    while search <= text.len()
        && let Some(captures) = regex.captures_at(text, search)
        && let Some(whole) = captures.get(0)
    {
        count += 1;
        search = whole.end();
        if whole.is_empty() {
            search += text[whole.end()..].chars().next().map_or(1, char::len_utf8);
        }
        if places.number != 0 && places.number != count {
            continue;
        }
        made.append(&text.as_bytes()[copied..whole.start()])?;
        append_template(with, &captures, made)?;
        copied = whole.end();
        if places.number != 0 {
            break;
        }
    }
    made.append(&text.as_bytes()[copied..])
}

/// Appends the replacement of one match.
fn append_template(
    with: &str,
    captures: &Captures<'_>,
    made: &mut ValueBlocks<StringViewType>,
) -> Result<()> {
    let mut rest = with.as_bytes();
    while let Some(at) = rest.iter().position(|byte| *byte == b'\\') {
        made.append(&rest[..at])?;
        let group = match rest.get(at + 1) {
            Some(b'&') => Some(0),
            Some(digit @ b'1'..=b'9') => Some(usize::from(digit - b'0')),
            _ => None,
        };
        let taken = match (group, rest.get(at + 1)) {
            (Some(group), _) => {
                let found = captures.get(group).map_or("", |found| found.as_str());
                made.append(found.as_bytes())?;
                2
            }
            (None, Some(b'\\')) => {
                made.append(b"\\")?;
                2
            }
            (None, _) => {
                made.append(b"\\")?;
                1
            }
        };
        rest = &rest[at + taken..];
    }
    made.append(rest)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use datafusion::arrow::array::StringViewArray;

    use super::*;

    fn replaced_in(text: &str, pattern: &str, with: &str, flags: &str) -> Result<String> {
        let arg = |text: &str| -> ArrayRef { Arc::new(StringViewArray::from(vec![text])) };
        let args = [arg(text), arg(pattern), arg(with), arg(flags)];
        let made = replaced(&args, 1, &DataType::Utf8View)?;
        Ok(made.as_string_view().value(0).to_owned())
    }

    #[test]
    fn only_backslashes_mean_something_in_what_is_put_in() {
        for (text, pattern, with, flags, expected) in [
            ("cost: X", "X", "$10", "", "cost: $10"),
            ("a", "a", "$$", "", "$$"),
            ("aXb", "X", "\\\\", "", "a\\b"),
            ("abc", "(b)", "[\\1\\&\\0\\2\\x]", "", "a[bb\\0\\x]c"),
            ("abc", "b", "\\", "", "a\\c"),
            ("abc", "(b)|(z)", "[\\1\\2]", "", "a[b]c"),
            ("a\u{e4}c", "\u{e4}", "<\\&>", "g", "a<\u{e4}>c"),
        ] {
            assert_eq!(replaced_in(text, pattern, with, flags).unwrap(), expected, "{with}");
        }
    }

    #[test]
    fn empty_matches_are_replaced_too() {
        for (text, pattern, flags, expected) in [
            ("abc", "x*", "g", "-a-b-c-"),
            ("baac", "a*", "g", "-b--c-"),
            ("baac", "a*", "", "-baac"),
            ("", "x*", "g", "-"),
            ("\u{e4}b", "x*", "g", "-\u{e4}-b-"),
        ] {
            assert_eq!(replaced_in(text, pattern, "-", flags).unwrap(), expected, "{text}");
        }
    }

    #[test]
    fn newlines_are_characters_unless_flags_say_otherwise() {
        for (pattern, flags, expected) in [
            ("a.b", "", "x"),
            (".", "gn", "x\nx"),
            (".", "gs", "xxx"),
            ("^b", "w", "a\nx"),
            ("^b", "", "a\nb"),
            ("A", "i", "x\nb"),
        ] {
            assert_eq!(replaced_in("a\nb", pattern, "x", flags).unwrap(), expected, "{pattern}");
        }
        assert_eq!(replaced_in("a", "a", "x", "z").unwrap_err().sqlstate(), "22023");
        assert_eq!(replaced_in("a", "(", "x", "").unwrap_err().sqlstate(), "2201B");
    }
}
