//! LIKE and ILIKE, and patterns with other escapes.
//!
//! `%` is any text, `_` one character, and a backslash takes the next byte as it is. ILIKE compares
//! lower cases of both sides.

use nacre_types::{SqlValue, ValueError};

use super::ScalarKernel;
use super::arguments::{bytes, text, text_value};
use super::letters::lower_text;
use super::registry::KernelRow;

/// Most `%` of a pattern: each takes a call, of about 100 bytes of stack.
const STARS_MAX: usize = 2_000;

pub(super) const KERNELS: &[KernelRow] = &[
    (
        "textlike(text,text) namelike(name,text) bpcharlike(bpchar,text) like(text,text) \
         like(name,text)",
        ScalarKernel::partial(|values, _| like(text(values, 0)?, text(values, 1)?, true)),
    ),
    (
        "textnlike(text,text) namenlike(name,text) bpcharnlike(bpchar,text) notlike(text,text) \
         notlike(name,text)",
        ScalarKernel::partial(|values, _| like(text(values, 0)?, text(values, 1)?, false)),
    ),
    (
        "texticlike(text,text) nameiclike(name,text) bpchariclike(bpchar,text)",
        ScalarKernel::partial(|values, _| caseless(text(values, 0)?, text(values, 1)?, true)),
    ),
    (
        "texticnlike(text,text) nameicnlike(name,text) bpcharicnlike(bpchar,text)",
        ScalarKernel::partial(|values, _| caseless(text(values, 0)?, text(values, 1)?, false)),
    ),
    (
        "bytealike(bytea,bytea) like(bytea,bytea)",
        ScalarKernel::partial(|values, _| {
            decided(bytes(values, 0)?, bytes(values, 1)?, CharacterEncoding::Bytes, true)
        }),
    ),
    (
        "byteanlike(bytea,bytea) notlike(bytea,bytea)",
        ScalarKernel::partial(|values, _| {
            decided(bytes(values, 0)?, bytes(values, 1)?, CharacterEncoding::Bytes, false)
        }),
    ),
    (
        "like_escape(text,text)",
        ScalarKernel::partial(|values, _| with_backslashes(text(values, 0)?, text(values, 1)?)),
    ),
];

/// What `_` stands for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum CharacterEncoding {
    Utf8,
    Bytes,
}

/// What a comparison found.
#[derive(Clone, Copy, PartialEq, Eq)]
enum MatchResult {
    Found,
    Different,
    /// The text ends too early, which longer texts for `%` do not change.
    TooShort,
}

fn like(text: &str, pattern: &str, is_wanted: bool) -> Result<SqlValue, ValueError> {
    decided(text.as_bytes(), pattern.as_bytes(), CharacterEncoding::Utf8, is_wanted)
}

fn caseless(text: &str, pattern: &str, is_wanted: bool) -> Result<SqlValue, ValueError> {
    like(&lower_text(text), &lower_text(pattern), is_wanted)
}

fn decided(
    text: &[u8],
    pattern: &[u8],
    characters: CharacterEncoding,
    is_wanted: bool,
) -> Result<SqlValue, ValueError> {
    if pattern.iter().filter(|byte| **byte == b'%').count() > STARS_MAX {
        return Err(ValueError::not_supported(format!("a pattern with more than {STARS_MAX} %")));
    }
    let found = matched(text, pattern, characters)? == MatchResult::Found;
    Ok(SqlValue::Boolean(found == is_wanted))
}

fn ends_in_escape() -> ValueError {
    ValueError::escape_sequence("LIKE pattern must not end with escape character")
}

fn without_character(text: &[u8], characters: CharacterEncoding) -> &[u8] {
    let is_within = |byte: &&u8| characters == CharacterEncoding::Utf8 && **byte & 0xc0 == 0x80;
    let rest = text.get(1..).unwrap_or_default();
    &rest[rest.iter().take_while(is_within).count()..]
}

/// Compares from left to right, as PostgreSQL's `MatchText` does: an escape at the end of the
/// pattern is an error only for texts that are compared so far.
fn matched(
    mut text: &[u8],
    mut pattern: &[u8],
    characters: CharacterEncoding,
) -> Result<MatchResult, ValueError> {
    if pattern == b"%" {
        return Ok(MatchResult::Found);
    }
    while let (Some(own), Some(wanted)) = (text.first(), pattern.first()) {
        match wanted {
            b'\\' => {
                pattern = &pattern[1..];
                if pattern.first().ok_or_else(ends_in_escape)? != own {
                    return Ok(MatchResult::Different);
                }
            }
            b'%' => return matched_rest(text, &pattern[1..], characters),
            b'_' => {
                (text, pattern) = (without_character(text, characters), &pattern[1..]);
                continue;
            }
            wanted if wanted != own => return Ok(MatchResult::Different),
            _ => {}
        }
        (text, pattern) = (&text[1..], &pattern[1..]);
    }
    if !text.is_empty() {
        return Ok(MatchResult::Different);
    }
    let is_rest_empty = pattern.iter().all(|byte| *byte == b'%');
    Ok(if is_rest_empty { MatchResult::Found } else { MatchResult::TooShort })
}

/// Compares a text with what is behind a `%` of a pattern.
fn matched_rest(
    mut text: &[u8],
    mut pattern: &[u8],
    characters: CharacterEncoding,
) -> Result<MatchResult, ValueError> {
    while let Some(wanted @ (b'%' | b'_')) = pattern.first() {
        if *wanted == b'_' {
            if text.is_empty() {
                return Ok(MatchResult::TooShort);
            }
            text = without_character(text, characters);
        }
        pattern = &pattern[1..];
    }
    let first = match pattern {
        [] => return Ok(MatchResult::Found),
        [b'\\'] => return Err(ends_in_escape()),
        [b'\\', first, ..] | [first, ..] => *first,
    };
    while let Some(own) = text.first() {
        if *own == first {
            let result = matched(text, pattern, characters)?;
            if result != MatchResult::Different {
                return Ok(result);
            }
        }
        text = without_character(text, characters);
    }
    Ok(MatchResult::TooShort)
}

/// Returns the escape character; `None` if there is to be none.
pub(super) fn escape_character(escape: &str) -> Result<Option<char>, ValueError> {
    let mut letters = escape.chars();
    match (letters.next(), letters.next()) {
        (one, None) => Ok(one),
        _ => Err(ValueError::escape_sequence("invalid escape string")
            .with_hint("Escape string must be empty or one character.")),
    }
}

/// Makes a pattern with backslashes of one with another escape.
fn with_backslashes(pattern: &str, escape: &str) -> Result<SqlValue, ValueError> {
    let escape = escape_character(escape)?;
    if escape == Some('\\') {
        return text_value(pattern);
    }
    let mut out = String::with_capacity(pattern.len());
    let mut is_escaped = false;
    for letter in pattern.chars() {
        if Some(letter) == escape && !is_escaped {
            out.push('\\');
            is_escaped = true;
            continue;
        }
        if letter == '\\' && !is_escaped {
            out.push('\\');
        }
        out.push(letter);
        is_escaped = false;
    }
    text_value(out)
}
