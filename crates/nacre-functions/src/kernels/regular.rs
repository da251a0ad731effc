//! Regular expressions: whether a text has a match.
//!
//! 1. A pattern is read by PostgreSQL's rules ([`parser`]) and, where the crate `regex` has all of
//!    it, handed on to that: whether there is a match, and where the first one begins, does not
//!    depend on which of several one prefers.
//! 2. Where a match ends and which part each group has does: PostgreSQL takes the longest match, or
//!    the shortest if its first quantifier prefers less, and takes that apart ([`match_tree`]). The
//!    crate has the same for patterns in which one set is repeated at most, and for patterns of
//!    whole texts, `^...$`, without alternatives and quantifiers that prefer less: each quantifier
//!    takes as much as it can there, the first one first.
//! 3. Refused with 0A000 are references to groups, and the languages `(?b)` and `(?e)`.
//!
//! Compiled expressions are kept for each thread, since patterns are constants nearly always.

mod brackets;
mod character_set;
mod flags;
mod match_tree;
mod parser;
mod pattern;
mod program;
mod replacing;
mod searching;

use std::cell::{OnceCell, RefCell};
use std::collections::HashMap;
use std::iter::Peekable;
use std::rc::Rc;
use std::str::Chars;

use nacre_types::{SqlValue, ValueError};
use regex::{Regex, RegexBuilder};

use super::ScalarKernel;
use super::arguments::text;
use super::registry::KernelRow;
use flags::PatternFlags;
use match_tree::{MatchTree, TextSpan};
use parser::{ParsedPattern, parse_pattern};
use pattern::PatternError;
use program::RunBudget;

pub(super) use replacing::KERNELS as REPLACING_KERNELS;
pub use searching::regular_matches;
pub(super) use searching::{KERNELS as SEARCHING_KERNELS, first_group};

/// Most compiled expressions that a thread keeps.
const KEPT_MAX: usize = 32;

/// Most groups of a pattern whose parts are found: each has programs of its own.
const GROUPS_MAX: usize = 100;

pub(super) const KERNELS: &[KernelRow] = &[
    ("textregexeq(text,text) bpcharregexeq(bpchar,text)", tested(|values, _| has_match(values))),
    ("textregexne(text,text) bpcharregexne(bpchar,text)", tested(|values, _| has_no_match(values))),
    (
        "texticregexeq(text,text) bpcharicregexeq(bpchar,text)",
        caseless(|values, _| is_found(values, CASELESS, true)),
    ),
    (
        "texticregexne(text,text) bpcharicregexne(bpchar,text)",
        caseless(|values, _| is_found(values, CASELESS, false)),
    ),
    (
        "nameregexeq(name,text)",
        tested(|values, _| {
            check_name(values, PLAIN)?;
            has_match(values)
        }),
    ),
    (
        "nameregexne(name,text)",
        tested(|values, _| {
            check_name(values, PLAIN)?;
            has_no_match(values)
        }),
    ),
    (
        "nameicregexeq(name,text)",
        caseless(|values, _| {
            check_name(values, CASELESS)?;
            is_found(values, CASELESS, true)
        }),
    ),
    (
        "nameicregexne(name,text)",
        caseless(|values, _| {
            check_name(values, CASELESS)?;
            is_found(values, CASELESS, false)
        }),
    ),
];

const PLAIN: PatternFlags = PatternFlags::of_case(false);

const CASELESS: PatternFlags = PatternFlags::of_case(true);

/// Makes a kernel that tests a text.
const fn tested(compute: super::KernelFunction) -> ScalarKernel {
    ScalarKernel::partial(compute).accepting(|constants| accepts(constants, PLAIN))
}

/// As [`tested`], without cases.
const fn caseless(compute: super::KernelFunction) -> ScalarKernel {
    ScalarKernel::partial(compute).accepting(|constants| accepts(constants, CASELESS))
}

/// Whether a pattern, if it is a constant, is one that is had here.
fn accepts(constants: &[Option<&SqlValue>], flags: PatternFlags) -> bool {
    match constants.get(1) {
        Some(Some(SqlValue::Text(pattern))) => {
            kept(pattern, flags).is_ok_and(|compiled| compiled.is_known())
        }
        _ => true,
    }
}

/// Whether texts are tested by that pattern without an error.
pub(super) fn always_tests(pattern: &str, is_caseless: bool) -> bool {
    kept(pattern, PatternFlags::of_case(is_caseless)).is_ok_and(|one| one.regex.is_some())
}

/// A pattern that was read.
struct CompiledPattern {
    parsed: ParsedPattern,
    /// What finds whether there is a match, and where it begins.
    regex: Option<Regex>,
    /// Whether that has PostgreSQL's ends and groups, too.
    has_one_way: bool,
    /// What finds ends and groups; `None` if the pattern is too large.
    tree: OnceCell<Option<MatchTree>>,
}

impl CompiledPattern {
    fn new(pattern: &str, flags: PatternFlags) -> Result<Self, PatternError> {
        let parsed = parse_pattern(pattern, flags)?;
        let translated = parsed.node.translated();
        let regex = translated.and_then(|translated| RegexBuilder::new(&translated).build().ok());
        let is_whole = flags == PLAIN && is_of_whole_texts(pattern);
        let has_one_way = regex.is_some() && (is_whole || parsed.node.has_one_way());
        Ok(Self { parsed, regex, has_one_way, tree: OnceCell::new() })
    }

    fn tree(&self) -> Option<&MatchTree> {
        let make = || match self.parsed.group_count <= GROUPS_MAX {
            true => MatchTree::new(&self.parsed.node).ok(),
            false => None,
        };
        self.tree.get_or_init(make).as_ref()
    }

    /// Whether it has what finds a match.
    fn is_known(&self) -> bool {
        self.regex.is_some() || self.tree().is_some()
    }

    fn is_local(&self) -> bool {
        self.parsed.node.is_local()
    }

    /// Whether it has what finds ends and groups.
    fn has_parts(&self) -> bool {
        self.has_one_way || self.tree().is_some()
    }

    fn known_tree(&self) -> Result<&MatchTree, ValueError> {
        let unknown = || ValueError::not_supported("a regular expression this large");
        self.tree().ok_or_else(unknown)
    }

    fn is_match(&self, text: &str) -> Result<bool, ValueError> {
        match &self.regex {
            Some(regex) => Ok(regex.is_match(text)),
            None => Ok(self.known_tree()?.first_start(text, 0, &RunBudget::new())?.is_some()),
        }
    }

    /// Returns the first match at a place or behind it: its own span, and those of its groups.
    fn find(
        &self,
        text: &str,
        from: usize,
        budget: &RunBudget,
    ) -> Result<Option<Vec<Option<TextSpan>>>, ValueError> {
        if let (true, Some(regex)) = (self.has_one_way, &self.regex) {
            let spans = regex.captures_at(text, from).map(|groups| {
                let span = |group: regex::Match<'_>| (group.start(), group.end());
                groups.iter().map(|group| group.map(span)).collect()
            });
            return Ok(spans);
        }
        let tree = self.known_tree()?;
        let start = match &self.regex {
            Some(regex) => regex.find_at(text, from).map(|found| found.start()),
            None => tree.first_start(text, from, budget)?,
        };
        match start {
            Some(start) => tree.match_at(text, start, self.parsed.group_count, budget),
            None => Ok(None),
        }
    }
}

/// Patterns with their flags, as they were read.
type KeptPatterns = HashMap<(String, PatternFlags), Result<Rc<CompiledPattern>, PatternError>>;

thread_local! {
    static KEPT: RefCell<KeptPatterns> = RefCell::new(HashMap::new());
}

/// Returns a compiled pattern, which is kept.
///
/// # Errors
/// 2201B for malformed patterns, 0A000 for those that are not had here.
fn kept(pattern: &str, flags: PatternFlags) -> Result<Rc<CompiledPattern>, ValueError> {
    let compiled = KEPT.with_borrow_mut(|kept| {
        let key = (pattern.to_owned(), flags);
        if let Some(compiled) = kept.get(&key) {
            return compiled.clone();
        }
        if kept.len() == KEPT_MAX {
            kept.clear();
        }
        let compiled = CompiledPattern::new(pattern, flags).map(Rc::new);
        kept.insert(key, compiled.clone());
        compiled
    });
    compiled.map_err(|error| error.of_pattern(pattern))
}

fn has_match(values: &[SqlValue]) -> Result<SqlValue, ValueError> {
    is_found(values, PLAIN, true)
}

fn has_no_match(values: &[SqlValue]) -> Result<SqlValue, ValueError> {
    is_found(values, PLAIN, false)
}

fn is_found(
    values: &[SqlValue],
    flags: PatternFlags,
    is_wanted: bool,
) -> Result<SqlValue, ValueError> {
    let found = kept(text(values, 1)?, flags)?.is_match(text(values, 0)?)?;
    Ok(SqlValue::Boolean(found == is_wanted))
}

/// Refuses names whose letters are others than those of texts: names have the collation `C`.
///
/// # Errors
/// 0A000.
fn check_name(values: &[SqlValue], flags: PatternFlags) -> Result<(), ValueError> {
    let (name, pattern) = (text(values, 0)?, text(values, 1)?);
    let is_other = !name.is_ascii() && (flags.is_caseless || kept(pattern, flags)?.is_local());
    if is_other || flags.is_caseless && !pattern.is_ascii() {
        return Err(ValueError::not_supported("letters beyond ASCII in a name"));
    }
    Ok(())
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Patterns, texts, and what PostgreSQL 15 answers: the match and its groups.
    const CASES: &[(&str, &str, &str)] = &[
        (r"a|ab", "xabc", "ab"),
        (r"(a|ab)(c|bcd)(d*)", "abcd", "abcd|ab|c|d"),
        (r"(a*)(ab)*(b*)", "abb", "abb|a|-|bb"),
        (r"a*?b", "aab", "aab"),
        (r"(a*?)(b|ab)", "aab", "aab|a|ab"),
        (r"(a+?)(.*)", "aaa", "a|a|"),
        (r"(?:a*?)(.*)", "aab", "|"),
        (r"x*", "abc", ""),
        (r"(foo)?bar", "bar", "bar|-"),
        (r"(x)*y", "xxy", "xxy|x"),
        (r"(ab|a)*", "aba", "aba|a"),
        (r"(a|b)+", "abba", "abba|a"),
        (r"(a|ab){2}(b?)", "abab", "abab|ab|"),
        (r"(?:(a)|b)*", "ab", "ab|-"),
        (r"(a{1,2}){2}", "aaa", "aaa|a"),
        (r"(a{1,2}?){2}", "aaaa", "aa|a"),
        (r"(.*?)(b+)", "aabbb", "aab|aa|b"),
        (r"(.*)(b+)", "aabbb", "aabbb|aabb|b"),
        (r"(b*?)(b+)c?", "bbb", "b||b"),
        (r"^(.+?)-(.+)$", "a-b-c", "a-b-c|a|b-c"),
        (r"\mfoo\M", "a foo b", "foo"),
        (r"(?<=a)b+", "abb", "bb"),
        (r"(?<!a)b+", "abb", "b"),
        (r"a(?=b)(.)", "ab", "ab|b"),
        (r"a(?!b)(.)", "ab ac", "ac|c"),
        (r"(a|b|ab)(c|d|cd)", "abcd", "abcd|ab|cd"),
        (r"([ab]*)([bc]*)", "abbc", "abbc|abb|c"),
        (r"(()|a)+", "aa", "aa||"),
        (r"(a??)(a?)", "a", "||"),
        (r"(a?)(a??)b", "aab", "aab|a|a"),
        (r"((a)|(b))*", "ab", "ab|b|-|b"),
        (r"(a(b)?)+", "aba", "aba|a|-"),
        (r"((a*)b)*", "aabab", "aabab|ab|a"),
        (r"(a*)+", "aa", "aa|"),
        (r"(a*)*", "aa", "aa|aa"),
        (r"(a|b)*?b", "abab", "ab|a"),
        (r"(?:ab|a)(b?)", "ab", "ab|"),
        (r"(a|ab|abc)(.{0,1})(c*)", "abccc", "abccc|abc|c|c"),
        (r"(x?){3}y", "xxy", "xxy|"),
        (r"(\d{2,3}?)(\d*)", "12345", "12|12|"),
        (r"(\d{2,3})(\d*)", "12345", "12345|123|45"),
        (r"(a{2}){1,2}?(a*)", "aaaaa", "aa|aa|"),
        (r"(\w+)\s(\w+)", "hello wide world", "hello wide|hello|wide"),
        (r"[^/]+$", "a/b/cde", "cde"),
        (r"(.)(.)(.)?", "ab", "ab|a|b|-"),
        ("(\u{e4}|\u{f6})+", "x\u{e4}\u{f6}y", "\u{e4}\u{f6}|\u{f6}"),
    ];

    /// Returns the spans of a match and of its groups as texts, `-` for none.
    fn groups(pattern: &str, text: &str) -> String {
        let compiled = kept(pattern, PatternFlags::default()).unwrap();
        let spans = compiled.find(text, 0, &RunBudget::new()).unwrap();
        let shown = |span: Option<TextSpan>| span.map_or("-", |(start, end)| &text[start..end]);
        spans.map_or(String::new(), |spans| {
            spans.into_iter().map(shown).collect::<Vec<_>>().join("|")
        })
    }

    #[test]
    fn matches_are_the_longest_ones_and_groups_take_most_from_the_left() {
        for (pattern, text, expected) in CASES {
            assert_eq!(groups(pattern, text), *expected, "{pattern} {text}");
        }
    }

    #[test]
    fn patterns_that_take_too_long_are_refused() {
        let pattern = kept("(a|aa)*(?=b)c", PatternFlags::default()).unwrap();
        let text = "a".repeat(1_000) + "b";
        let find = |steps| pattern.find(&text, 0, &RunBudget::of_steps(steps));
        assert_eq!(find(100_000), Ok(None));
        let error = find(1_000).unwrap_err();
        assert_eq!(error.sql_state(), "0A000");
    }
}
