//! Regular expressions: whether a text has a match, and what becomes of a text that is one.
//!
//! 1. A pattern is translated to the syntax of the crate `regex`, and refused with 0A000 where
//!    PostgreSQL's advanced expressions are another language: look-around, references to groups,
//!    directors, escapes for ends of words, classes with names or equivalences, odd quantifiers.
//! 2. What has a match does not depend on which one is preferred, so that texts are tested alike.
//! 3. `regexp_replace` is here for patterns of whole texts, `^...$`, without alternatives and
//!    quantifiers that prefer less: of these, groups have the same parts in both languages, since
//!    each quantifier takes as much as it can, the first one first.
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
use super::arguments::{text, text_value};
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
    (
        "regexp_replace(text,text,text)",
        ScalarKernel::partial(|values, _| replaced(values)).accepting(
            |constants| match constants {
                [_, Some(SqlValue::Text(pattern)), _] => {
                    is_of_whole_texts(pattern) && compiled(pattern, false).is_ok()
                }
                [_, Some(SqlValue::Null), _] => true,
                _ => false,
            },
        ),
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
    let found = with_compiled(pattern, is_caseless, |regex| regex.is_match(&text))?;
    Ok(SqlValue::Boolean(found == is_wanted))
}

/// Calls `work` with a compiled pattern, which is kept.
fn with_compiled<T>(
    pattern: &str,
    is_caseless: bool,
    work: impl FnOnce(&Regex) -> T,
) -> Result<T, ValueError> {
    KEPT.with_borrow_mut(|kept| {
        let key = (pattern.to_owned(), is_caseless);
        if let Some(regex) = kept.get(&key) {
            return Ok(work(regex));
        }
        let regex = compiled(pattern, is_caseless)?;
        if kept.len() == KEPT_MAX {
            kept.clear();
        }
        Ok(work(kept.entry(key).or_insert(regex)))
    })
}

/// Whether a pattern is one of whole texts whose groups have the same parts here and there.
fn is_of_whole_texts(pattern: &str) -> bool {
    let Some(rest) = pattern.strip_prefix('^') else { return false };
    let mut letters = rest.chars().peekable();
    let mut is_at_end = false;
    while let Some(letter) = letters.next() {
        is_at_end = false;
        match letter {
            '\\' => drop(letters.next()),
            '[' => skip_class(&mut letters),
            '|' => return false,
            '*' | '+' | '}' if letters.peek() == Some(&'?') => return false,
            // A group's own sign stands behind its parenthesis.
            '(' if letters.peek() == Some(&'?') => drop(letters.next()),
            '?' if letters.peek() == Some(&'?') => return false,
            '$' => is_at_end = true,
            _ => {}
        }
    }
    is_at_end
}

/// Goes past a class such as `[^]a-z]`.
fn skip_class(letters: &mut Peekable<Chars<'_>>) {
    letters.next_if_eq(&'^');
    letters.next_if_eq(&']');
    while let Some(letter) = letters.next() {
        match letter {
            '\\' => drop(letters.next()),
            ']' => return,
            // A class with a name has a bracket of its own.
            '[' if matches!(letters.peek(), Some(':' | '.' | '=')) => {
                letters.find(|inner| *inner == ']');
            }
            _ => {}
        }
    }
}

/// Replaces a text that is a match.
fn replaced(values: &[SqlValue]) -> Result<SqlValue, ValueError> {
    let (text, pattern, replacement) = (text(values, 0)?, text(values, 1)?, text(values, 2)?);
    let made = with_compiled(pattern, false, |regex| {
        let groups = regex.captures(text)?;
        let mut out = String::with_capacity(replacement.len());
        let mut letters = replacement.chars().peekable();
        while let Some(letter) = letters.next() {
            let next = letters.peek().copied().filter(|_| letter == '\\');
            match next.map(|next| (next, next.to_digit(10))) {
                Some((_, Some(number @ 1..))) => {
                    letters.next();
                    // Groups that the pattern has not are empty.
                    out.push_str(groups.get(number as usize).map_or("", |group| group.as_str()));
                }
                Some(('&', _)) => {
                    letters.next();
                    out.push_str(text);
                }
                Some(('\\', _)) => {
                    letters.next();
                    out.push('\\');
                }
                _ => out.push(letter),
            }
        }
        Some(out)
    })?;
    match made {
        Some(made) => text_value(made),
        None => text_value(text),
    }
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
