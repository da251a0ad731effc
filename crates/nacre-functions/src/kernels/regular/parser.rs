//! Reads PostgreSQL's advanced regular expressions.
//!
//! Not here: references to groups, equivalences of characters, the older languages.
//!
//! # Source
//! PostgreSQL 15 documentation, chapter 9.7.3.

use super::brackets::{bracket, escape};
use super::character_set::CharacterSet;
use super::flags::PatternFlags;
use super::pattern::{MatchPreference, PatternAssertion, PatternError, PatternNode};

/// Largest repetition.
const REPETITION_MAX: u32 = 255;

/// Most parentheses within each other: each takes some calls.
const DEPTH_MAX: usize = 100;

/// A pattern with how many groups it has.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct ParsedPattern {
    pub(super) node: PatternNode,
    pub(super) group_count: usize,
}

/// Reads a pattern.
///
/// # Errors
/// For malformed ones and those that are not had here.
pub(super) fn parse_pattern(
    text: &str,
    flags: PatternFlags,
) -> Result<ParsedPattern, PatternError> {
    let (rest, flags) = read_director(text, flags)?;
    if flags.is_basic {
        return Err(PatternError::Unknown);
    }
    let mut parser = PatternParser { rest, flags, group_count: 0, depth: 0, is_looking: false };
    if flags.is_literal {
        let letters = rest.chars().map(|letter| parser.set(CharacterSet::of(letter)));
        let letters = letters.collect::<Result<_, _>>()?;
        return Ok(ParsedPattern { node: PatternNode::Sequence(letters), group_count: 0 });
    }
    let node = parser.choice()?;
    match parser.rest.is_empty() {
        true => Ok(ParsedPattern { node, group_count: parser.group_count }),
        false => Err(PatternError::Malformed("parentheses () not balanced")),
    }
}

/// Takes `***:`, `***=` and `(?xyz)` at the start.
fn read_director(
    text: &str,
    mut flags: PatternFlags,
) -> Result<(&str, PatternFlags), PatternError> {
    if flags.is_literal || flags.is_basic {
        return Ok((text, flags));
    }
    let mut rest = text;
    if let Some(behind) = text.strip_prefix("***") {
        if let Some(literal) = behind.strip_prefix('=') {
            return Ok((literal, PatternFlags { is_literal: true, ..flags }));
        }
        let invalid = PatternError::Malformed("quantifier operand invalid");
        rest = behind.strip_prefix(':').ok_or(invalid)?;
    }
    let Some(options) = rest.strip_prefix("(?") else { return Ok((rest, flags)) };
    if !options.starts_with(|first: char| first.is_ascii_alphabetic()) {
        return Ok((rest, flags));
    }
    let invalid = PatternError::Malformed("invalid embedded option");
    let (options, behind) = options.split_once(')').ok_or(invalid)?;
    for letter in options.chars() {
        flags = flags.with_letter(letter).ok_or(invalid)?;
    }
    Ok((behind, flags))
}

/// What is left of a pattern, and what was read.
pub(super) struct PatternParser<'p> {
    pub(super) rest: &'p str,
    pub(super) flags: PatternFlags,
    pub(super) group_count: usize,
    depth: usize,
    /// Whether parentheses capture nothing.
    is_looking: bool,
}

impl<'p> PatternParser<'p> {
    /// Makes a part of a set.
    pub(super) fn set(&self, set: CharacterSet) -> Result<PatternNode, PatternError> {
        let set = if self.flags.is_caseless {
            set.without_case().ok_or(PatternError::Unknown)?
        } else {
            set
        };
        Ok(PatternNode::Set(set))
    }

    pub(super) fn take(&mut self, text: &str) -> bool {
        match self.rest.strip_prefix(text) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    pub(super) fn next(&mut self) -> Option<char> {
        let letter = self.rest.chars().next()?;
        self.rest = &self.rest[letter.len_utf8()..];
        Some(letter)
    }

    pub(super) fn peek(&self) -> Option<char> {
        self.rest.chars().next()
    }

    /// Goes past what stands between parts.
    fn skip_blanks(&mut self) {
        loop {
            let start = self.rest.len();
            if let Some(comment) = self.rest.strip_prefix("(?#") {
                self.rest = comment.split_once(')').map_or("", |(_, rest)| rest);
            }
            if self.flags.is_expanded {
                self.rest = self.rest.trim_start_matches(|one: char| one.is_ascii_whitespace());
                if self.rest.starts_with('#') {
                    self.rest = self.rest.find('\n').map_or("", |end| &self.rest[end..]);
                }
            }
            if self.rest.len() == start {
                return;
            }
        }
    }

    fn choice(&mut self) -> Result<PatternNode, PatternError> {
        let mut parts = vec![self.sequence()?];
        while self.take("|") {
            parts.push(self.sequence()?);
        }
        Ok(if parts.len() == 1 { parts.swap_remove(0) } else { PatternNode::Choice(parts) })
    }

    fn sequence(&mut self) -> Result<PatternNode, PatternError> {
        let mut parts = Vec::new();
        loop {
            self.skip_blanks();
            match self.peek() {
                None | Some('|' | ')') => return Ok(PatternNode::Sequence(parts)),
                Some(_) => {
                    let atom = self.atom()?;
                    self.skip_blanks();
                    parts.push(self.quantified(atom)?);
                }
            }
        }
    }

    fn atom(&mut self) -> Result<PatternNode, PatternError> {
        let assertion =
            |line, text, has_lines| Ok(PatternNode::Assertion(if has_lines { line } else { text }));
        let has_lines = self.flags.has_lines;
        if self.take("[[:<:]]") {
            return Ok(PatternNode::Assertion(PatternAssertion::WordStart));
        }
        if self.take("[[:>:]]") {
            return Ok(PatternNode::Assertion(PatternAssertion::WordEnd));
        }
        match self.next() {
            Some('^') => {
                assertion(PatternAssertion::LineStart, PatternAssertion::TextStart, has_lines)
            }
            Some('$') => assertion(PatternAssertion::LineEnd, PatternAssertion::TextEnd, has_lines),
            Some('.') => Ok(PatternNode::Set(CharacterSet::any(self.flags.stops_at_lines))),
            Some('[') => bracket(self),
            Some('\\') => escape(self),
            Some('(') => self.parenthesis(),
            Some('*' | '+' | '?') => Err(PatternError::Malformed("quantifier operand invalid")),
            Some('{') if self.peek().is_some_and(|next| next.is_ascii_digit()) => {
                Err(PatternError::Malformed("quantifier operand invalid"))
            }
            Some(letter) => self.set(CharacterSet::of(letter)),
            None => Ok(PatternNode::Sequence(Vec::new())),
        }
    }

    /// Takes what is behind an opening parenthesis.
    fn parenthesis(&mut self) -> Result<PatternNode, PatternError> {
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            return Err(PatternError::Unknown);
        }
        const LOOKS: [(&str, bool, bool); 4] =
            [("?=", true, true), ("?!", true, false), ("?<=", false, true), ("?<!", false, false)];
        let look = LOOKS.into_iter().find(|(sign, ..)| self.take(sign));
        let node = if let Some((_, is_ahead, is_wanted)) = look {
            let was_looking = std::mem::replace(&mut self.is_looking, true);
            let inner = Box::new(self.choice()?);
            self.is_looking = was_looking;
            PatternNode::Look { inner, is_ahead, is_wanted }
        } else if self.take("?:") || self.is_looking {
            PatternNode::Group { number: None, inner: Box::new(self.choice()?) }
        } else if self.rest.starts_with('?') {
            return Err(PatternError::Malformed("quantifier operand invalid"));
        } else {
            self.group_count += 1;
            let number = Some(self.group_count);
            PatternNode::Group { number, inner: Box::new(self.choice()?) }
        };
        self.depth -= 1;
        match self.take(")") {
            true => Ok(node),
            false => Err(PatternError::Malformed("parentheses () not balanced")),
        }
    }

    /// Takes a quantifier behind an atom.
    fn quantified(&mut self, atom: PatternNode) -> Result<PatternNode, PatternError> {
        if matches!(atom, PatternNode::Assertion(_) | PatternNode::Look { .. }) {
            return Ok(atom);
        }
        let ((low, high), has_preference) = if self.take("*") {
            ((0, None), true)
        } else if self.take("+") {
            ((1, None), true)
        } else if self.take("?") {
            ((0, Some(1)), true)
        } else {
            let Some(bounds) = self.rest.strip_prefix('{') else { return Ok(atom) };
            if !bounds.starts_with(|first: char| first.is_ascii_digit()) {
                return Ok(atom);
            }
            self.rest = bounds;
            let bounds = self.bounds()?;
            // `{n}` prefers what its operand does, but `{n,n}` does not.
            ((bounds.low, bounds.high.unwrap_or(Some(bounds.low))), bounds.high.is_some())
        };
        let is_shorter = self.take("?");
        let preference =
            if is_shorter { MatchPreference::Shorter } else { MatchPreference::Longer };
        let preference = has_preference.then_some(preference);
        Ok(PatternNode::Repeat { inner: Box::new(atom), low, high, preference })
    }

    /// Takes the rest of `{m}`, `{m,}` or `{m,n}`.
    fn bounds(&mut self) -> Result<RepetitionBounds, PatternError> {
        let invalid = PatternError::Malformed("invalid repetition count(s)");
        let low = self.bound().ok_or(invalid)?;
        let high = match self.take(",") {
            false => None,
            true if self.rest.starts_with('}') => Some(None),
            true => Some(Some(self.bound().ok_or(invalid)?)),
        };
        if self.rest.is_empty() {
            return Err(PatternError::Malformed("braces {} not balanced"));
        }
        let is_empty = high.flatten().is_some_and(|high| high < low);
        if is_empty || !self.take("}") {
            return Err(invalid);
        }
        Ok(RepetitionBounds { low, high })
    }

    fn bound(&mut self) -> Option<u32> {
        let end = self.rest.find(|one: char| !one.is_ascii_digit()).unwrap_or(self.rest.len());
        let (digits, rest) = self.rest.split_at(end);
        self.rest = rest;
        digits.parse::<u32>().ok().filter(|bound| *bound <= REPETITION_MAX)
    }
}

/// What stands in braces; `high` is `None` without a comma.
struct RepetitionBounds {
    low: u32,
    high: Option<Option<u32>>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(text: &str) -> Option<PatternError> {
        parse_pattern(text, PatternFlags::default()).err()
    }

    #[test]
    fn malformed_patterns_are_refused_in_words_of_postgresql() {
        for (text, words) in [
            ("***a", "quantifier operand invalid"),
            ("(?za)a", "invalid embedded option"),
            ("(?i", "invalid embedded option"),
            ("(a", "parentheses () not balanced"),
            ("a)", "parentheses () not balanced"),
            ("[a", "brackets [] not balanced"),
            ("a{1", "braces {} not balanced"),
            ("a{2,1}", "invalid repetition count(s)"),
            ("a{256}", "invalid repetition count(s)"),
            ("a{1x}", "invalid repetition count(s)"),
            ("a**", "quantifier operand invalid"),
            ("a|*", "quantifier operand invalid"),
            ("^*", "quantifier operand invalid"),
            ("(?=a)*", "quantifier operand invalid"),
            ("(?>a)", "quantifier operand invalid"),
            ("[b-a]", "invalid character range"),
            ("[a-c-e]", "invalid character range"),
            ("[\\w-a]", "invalid character range"),
            ("[[:foo:]]", "invalid character class"),
            ("\\", "invalid escape \\ sequence"),
            ("\\q", "invalid escape \\ sequence"),
            ("\\u12", "invalid escape \\ sequence"),
        ] {
            assert_eq!(refused(text), Some(PatternError::Malformed(words)), "{text}");
        }
        for text in [r"(a)\1", "(?b)a", "[[.hyphen.]]", &"(".repeat(DEPTH_MAX + 1)] {
            assert_eq!(refused(text), Some(PatternError::Unknown), "{text}");
        }
    }

    #[test]
    fn braces_without_digits_are_characters() {
        for text in ["a{", "a{,2}", "a{ 1}", "a}", "a]", "()", "(|a)", "a|", ""] {
            assert_eq!(refused(text), None, "{text}");
        }
    }

    #[test]
    fn expanded_patterns_have_blanks_and_comments() {
        let flags = PatternFlags::default();
        let plain = parse_pattern("ab+", flags).unwrap();
        assert_eq!(parse_pattern("(?x) a # first\n b +", flags).unwrap(), plain);
        assert_eq!(parse_pattern("a(?#first)b+", flags).unwrap(), plain);
        assert_ne!(parse_pattern("a b+", flags).unwrap(), plain);
    }
}
