//! Regular expressions: whether a text has a match.
//!
//! 1. A pattern is translated to the syntax of the crate `regex`, and refused with 0A000 where
//!    PostgreSQL's advanced expressions are another language: look-around, references to groups,
//!    directors, escapes for ends of words, classes with names or equivalences, odd quantifiers.
//! 2. What has a match does not depend on which one is preferred, so that texts are tested alike.
//!
//! Compiled expressions are kept for each thread, since patterns are constants nearly always.

use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::HashMap;
use std::iter::Peekable;
use std::str::Chars;

use nacre_types::{SqlValue, ValueError};
use regex::{Regex, RegexBuilder};

use super::ScalarKernel;
use super::arguments::text;
use super::registry::KernelRow;

/// Most compiled expressions that a thread keeps.
const KEPT_MAX: usize = 32;

/// Largest repetition that PostgreSQL takes.
const REPETITION_MAX: u32 = 255;

/// Letters beyond ASCII whose other case is in ASCII.
const FOLDED: [char; 2] = ['\u{212a}', '\u{17f}'];

pub(super) const KERNELS: &[KernelRow] = &[
    (
        "textregexeq(text,text) nameregexeq(name,text) bpcharregexeq(bpchar,text)",
        tested(|values, _| has_match(values, false, true)),
    ),
    (
        "textregexne(text,text) nameregexne(name,text) bpcharregexne(bpchar,text)",
        tested(|values, _| has_match(values, false, false)),
    ),
    (
        "texticregexeq(text,text) nameicregexeq(name,text) bpcharicregexeq(bpchar,text)",
        tested(|values, _| has_match(values, true, true)),
    ),
    (
        "texticregexne(text,text) nameicregexne(name,text) bpcharicregexne(bpchar,text)",
        tested(|values, _| has_match(values, true, false)),
    ),
];

/// Makes a kernel for patterns that are constants.
const fn tested(compute: super::KernelFunction) -> ScalarKernel {
    ScalarKernel::partial(compute).accepting(|constants| match constants {
        [_, Some(SqlValue::Text(pattern))] => compiled(pattern, true).is_ok(),
        [_, Some(SqlValue::Null)] => true,
        _ => false,
    })
}

thread_local! {
    static KEPT: RefCell<HashMap<(String, bool), Regex>> = RefCell::new(HashMap::new());
}

fn has_match(
    values: &[SqlValue],
    is_caseless: bool,
    is_wanted: bool,
) -> Result<SqlValue, ValueError> {
    let (text, pattern) = (text(values, 0)?, text(values, 1)?);
    // The crate takes these two for `k` and `s`; to a pattern in ASCII all others are alike.
    let replaced = is_caseless && text.contains(FOLDED);
    let text: Cow<'_, str> =
        if replaced { text.replace(FOLDED, "\u{e9}").into() } else { text.into() };
    let found = KEPT.with_borrow_mut(|kept| {
        let key = (pattern.to_owned(), is_caseless);
        if let Some(regex) = kept.get(&key) {
            return Ok(regex.is_match(&text));
        }
        let regex = compiled(pattern, is_caseless)?;
        if kept.len() == KEPT_MAX {
            kept.clear();
        }
        Ok(kept.entry(key).or_insert(regex).is_match(&text))
    })?;
    Ok(SqlValue::Boolean(found == is_wanted))
}

fn compiled(pattern: &str, is_caseless: bool) -> Result<Regex, ValueError> {
    let translated = translate(pattern).ok_or_else(|| refused(pattern))?;
    let mut builder = RegexBuilder::new(&translated);
    // Other letters may have more cases here than in PostgreSQL.
    let is_plain = !is_caseless || pattern.is_ascii();
    builder.dot_matches_new_line(true).case_insensitive(is_caseless);
    let regex = builder.build().map_err(|_| refused(pattern))?;
    if is_plain { Ok(regex) } else { Err(refused(pattern)) }
}

fn refused(pattern: &str) -> ValueError {
    ValueError::not_supported(format!("the regular expression {pattern:?}"))
}

/// Translates a pattern; `None` for what may mean something else.
fn translate(pattern: &str) -> Option<String> {
    if pattern.starts_with("***") || pattern.starts_with("(?") && !pattern.starts_with("(?:") {
        return None;
    }
    let mut out = String::with_capacity(pattern.len() + 8);
    let mut letters = pattern.chars().peekable();
    let mut depth = 0_usize;
    // Whether a quantifier may come.
    let mut is_atom = false;
    while let Some(letter) = letters.next() {
        let is_behind_atom = std::mem::replace(&mut is_atom, true);
        match letter {
            '(' => {
                depth += 1;
                is_atom = false;
                out.push('(');
                if letters.next_if_eq(&'?').is_some() {
                    letters.next_if_eq(&':')?;
                    out.push_str("?:");
                }
            }
            ')' => {
                depth = depth.checked_sub(1)?;
                out.push(')');
            }
            '|' => {
                is_atom = false;
                out.push('|');
            }
            '^' | '$' => {
                is_atom = false;
                out.push(letter);
            }
            '.' => out.push('.'),
            '*' | '+' | '?' if is_behind_atom => {
                is_atom = false;
                out.push(letter);
                quantifier_end(&mut letters, &mut out)?;
            }
            '{' if is_behind_atom => {
                is_atom = false;
                out.push_str(&repetition(&mut letters)?);
                quantifier_end(&mut letters, &mut out)?;
            }
            '*' | '+' | '?' | '{' => return None,
            '[' => bracket(&mut letters, &mut out)?,
            '\\' => out.push_str(&escape(letters.next()?)?),
            ']' | '}' => out.extend(['\\', letter]),
            letter if letter.is_alphanumeric() => out.push(letter),
            letter => out.push_str(&regex::escape(letter.encode_utf8(&mut [0; 4]))),
        }
    }
    (depth == 0).then_some(out)
}

/// Takes the `?` of a quantifier that prefers less; another quantifier is an error.
fn quantifier_end(letters: &mut Peekable<Chars<'_>>, out: &mut String) -> Option<()> {
    if letters.next_if_eq(&'?').is_some() {
        out.push('?');
    }
    match letters.peek() {
        Some('*' | '+' | '?' | '{') => None,
        _ => Some(()),
    }
}

/// Takes the rest of `{m}`, `{m,}` or `{m,n}`.
fn repetition(letters: &mut Peekable<Chars<'_>>) -> Option<String> {
    let mut text = String::new();
    loop {
        match letters.next()? {
            '}' => break,
            letter if letter.is_ascii_digit() || letter == ',' => text.push(letter),
            _ => return None,
        }
    }
    let bound = |text: &str| text.parse::<u32>().ok().filter(|bound| *bound <= REPETITION_MAX);
    let (low, high) = match text.split_once(',') {
        None => (bound(&text)?, None),
        Some((low, "")) => (bound(low)?, None),
        Some((low, high)) => (bound(low)?, Some(bound(high)?)),
    };
    (high.is_none_or(|high| low <= high)).then(|| format!("{{{text}}}"))
}

/// Translates what is behind a backslash.
fn escape(letter: char) -> Option<String> {
    Some(match letter {
        'd' => "[0-9]".to_owned(),
        'D' => "[^0-9]".to_owned(),
        'n' => "\\n".to_owned(),
        'r' => "\\r".to_owned(),
        't' => "\\t".to_owned(),
        letter if letter.is_alphanumeric() => return None,
        letter => regex::escape(letter.encode_utf8(&mut [0; 4])),
    })
}

/// Translates the rest of a class such as `[^a-z]`.
fn bracket(letters: &mut Peekable<Chars<'_>>, out: &mut String) -> Option<()> {
    out.push('[');
    if letters.next_if_eq(&'^').is_some() {
        out.push('^');
    }
    let mut is_first = true;
    loop {
        let letter = letters.next()?;
        match letter {
            ']' if !is_first => break,
            '[' if matches!(letters.peek(), Some(':' | '.' | '=')) => {
                class(letters, out)?;
                is_first = false;
                continue;
            }
            '\\' => {
                out.push_str(&class_escape(letters.next()?)?);
                is_first = false;
                continue;
            }
            '-' if !is_first && letters.peek() != Some(&']') => return None,
            _ => {}
        }
        is_first = false;
        push_class_letter(letter, out);
        let mut ahead = letters.clone();
        if ahead.next() == Some('-') && ahead.next().is_some_and(|next| next != ']') {
            letters.next();
            let end = letters.next()?;
            // Ends such as escapes are read otherwise.
            if matches!(end, '\\' | '[') || end < letter {
                return None;
            }
            out.push('-');
            push_class_letter(end, out);
        }
    }
    out.push(']');
    Some(())
}

fn push_class_letter(letter: char, out: &mut String) {
    if letter.is_alphanumeric() {
        out.push(letter);
    } else {
        out.push_str(&format!("\\x{{{:x}}}", u32::from(letter)));
    }
}

/// Translates a class with a name, `[:digit:]`, of characters that no locale adds to.
fn class(letters: &mut Peekable<Chars<'_>>, out: &mut String) -> Option<()> {
    letters.next_if_eq(&':')?;
    let mut name = String::new();
    loop {
        match letters.next()? {
            ':' => break,
            letter if letter.is_ascii_lowercase() => name.push(letter),
            _ => return None,
        }
    }
    letters.next_if_eq(&']')?;
    let known = ["digit", "xdigit"];
    known.contains(&name.as_str()).then(|| out.push_str(&format!("[:{name}:]")))
}

fn class_escape(letter: char) -> Option<String> {
    Some(match letter {
        'd' => "0-9".to_owned(),
        'n' => "\\n".to_owned(),
        'r' => "\\r".to_owned(),
        't' => "\\t".to_owned(),
        letter if letter.is_alphanumeric() => return None,
        letter => format!("\\x{{{:x}}}", u32::from(letter)),
    })
}
