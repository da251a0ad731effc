//! `regexp_replace`.
//!
//! In the text that is put in, `\1` to `\9` are what a group matched, `\&` is the whole match and
//! `\\` a backslash; everything else stands for itself. A match may be empty, also right behind
//! another one.

use nacre_types::{SqlValue, ValueError};

use super::super::ScalarKernel;
use super::super::arguments::{VALUE_BYTES_MAX, int4, text, text_value, too_large};
use super::super::registry::KernelRow;
use super::flags::{CallFlags, PatternFlags};
use super::match_tree::TextSpan;
use super::program::RunBudget;
use super::searching::{accepts_parts, behind_match, place_of};
use super::{CompiledPattern, kept};

pub(in super::super) const KERNELS: &[KernelRow] = &[
    (
        "regexp_replace(text,text,text)",
        ScalarKernel::partial(|values, _| replaced(values, ReplacedMatches::default()))
            .accepting(|constants| accepts_parts(constants, 1, None)),
    ),
    (
        "regexp_replace(text,text,text,text)",
        ScalarKernel::partial(|values, _| {
            let text = text(values, 3)?;
            if text.starts_with(|first: char| first.is_ascii_digit()) {
                let first = text.chars().next().unwrap_or_default();
                let message = format!("invalid regular expression option: \"{first}\"");
                let hint = "If you meant to use regexp_replace() with a start parameter, cast the \
                            fourth argument to integer explicitly.";
                return Err(ValueError::invalid_parameter(message).with_hint(hint));
            }
            let CallFlags { pattern: flags, is_global } = CallFlags::parse(text)?;
            let number = if is_global { 0 } else { 1 };
            replaced(values, ReplacedMatches { start: 1, number, flags })
        })
        .accepting(|constants| accepts_parts(constants, 1, Some(3))),
    ),
    (
        "regexp_replace(text,text,text,int4)",
        ScalarKernel::partial(|values, _| {
            let start = int4(values, 3)?;
            replaced(values, ReplacedMatches { start, ..ReplacedMatches::default() })
        })
        .accepting(|constants| accepts_parts(constants, 1, None)),
    ),
    (
        "regexp_replace(text,text,text,int4,int4)",
        ScalarKernel::partial(|values, _| {
            let (start, number) = (int4(values, 3)?, int4(values, 4)?);
            replaced(values, ReplacedMatches { start, number, ..ReplacedMatches::default() })
        })
        .accepting(|constants| accepts_parts(constants, 1, None)),
    ),
    (
        "regexp_replace(text,text,text,int4,int4,text)",
        ScalarKernel::partial(|values, _| {
            let (start, number) = (int4(values, 3)?, int4(values, 4)?);
            // How many are replaced the number says, not `g`.
            let flags = CallFlags::parse(text(values, 5)?)?.pattern;
            replaced(values, ReplacedMatches { start, number, flags })
        })
        .accepting(|constants| accepts_parts(constants, 1, Some(5))),
    ),
];

/// Which matches are replaced.
#[derive(Clone, Copy)]
struct ReplacedMatches {
    /// The character with which the search begins, from 1.
    start: i32,
    /// The number of the match, from 1; 0 for all of them.
    number: i32,
    flags: PatternFlags,
}

impl Default for ReplacedMatches {
    fn default() -> Self {
        Self { start: 1, number: 1, flags: PatternFlags::default() }
    }
}

fn replaced(values: &[SqlValue], which: ReplacedMatches) -> Result<SqlValue, ValueError> {
    let (text, pattern, with) = (text(values, 0)?, text(values, 1)?, text(values, 2)?);
    let from = place_of(text, which.start)?;
    if which.number < 0 {
        let message = format!("invalid value for parameter \"n\": {}", which.number);
        return Err(ValueError::invalid_parameter(message));
    }
    let pattern = kept(pattern, which.flags)?;
    let Some(from) = from else { return text_value(text) };
    text_value(replace_matches(&pattern, text, with, (from, which.number))?)
}

/// Replaces the matches from a place on, all or the one of that number.
fn replace_matches(
    pattern: &CompiledPattern,
    text: &str,
    with: &str,
    (from, number): (usize, i32),
) -> Result<String, ValueError> {
    let budget = RunBudget::new();
    let mut out = String::with_capacity(text.len());
    let (mut copied, mut count, mut search) = (0, 0, Some(from));
    while let Some(at) = search {
        let Some(spans) = pattern.find(text, at, &budget)? else { break };
        let Some(Some(whole)) = spans.first().copied() else { break };
        count += 1;
        search = behind_match(text, whole);
        if number != 0 && number != count {
            continue;
        }
        out.push_str(&text[copied..whole.0]);
        push_replacement(with, text, &spans, &mut out);
        copied = whole.1;
        if out.len() > VALUE_BYTES_MAX {
            return Err(too_large());
        }
        if number != 0 {
            break;
        }
    }
    out.push_str(&text[copied..]);
    Ok(out)
}

/// Appends the replacement of one match.
fn push_replacement(with: &str, text: &str, spans: &[Option<TextSpan>], out: &mut String) {
    let mut letters = with.chars().peekable();
    while let Some(letter) = letters.next() {
        let next = letters.peek().copied().filter(|_| letter == '\\');
        let group = match next {
            Some('&') => Some(0),
            Some('\\') => None,
            Some(next @ '1'..='9') => next.to_digit(10),
            _ => {
                out.push(letter);
                continue;
            }
        };
        letters.next();
        match group {
            // Groups that the pattern has not are empty.
            Some(group) => {
                let span = spans.get(group as usize).copied().flatten();
                out.push_str(span.map_or("", |(start, end)| &text[start..end]));
            }
            None => out.push('\\'),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn replaced_in(text: &str, pattern: &str, with: &str, letters: &str) -> String {
        let CallFlags { pattern: flags, is_global } = CallFlags::parse(letters).unwrap();
        let pattern = kept(pattern, flags).unwrap();
        replace_matches(&pattern, text, with, (0, if is_global { 0 } else { 1 })).unwrap()
    }

    #[test]
    fn only_backslashes_mean_something_in_what_is_put_in() {
        for (text, pattern, with, flags, expected) in [
            ("cost: X", "X", "$10", "", "cost: $10"),
            ("aXb", "X", "\\\\", "", "a\\b"),
            ("abc", "(b)", "[\\1\\&\\0\\2\\x]", "", "a[bb\\0\\x]c"),
            ("abc", "b", "\\", "", "a\\c"),
            ("abc", "(b)|(z)", "[\\1\\2]", "", "a[b]c"),
            ("a\u{e4}c", "\u{e4}", "<\\&>", "g", "a<\u{e4}>c"),
        ] {
            assert_eq!(replaced_in(text, pattern, with, flags), expected, "{with}");
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
            assert_eq!(replaced_in(text, pattern, "-", flags), expected, "{text}");
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
            ("[^x]", "gp", "x\nx"),
            ("a $", "x", "a\nb"),
            ("a $", "xw", "x\nb"),
        ] {
            assert_eq!(replaced_in("a\nb", pattern, "x", flags), expected, "{pattern} {flags}");
        }
    }
}
