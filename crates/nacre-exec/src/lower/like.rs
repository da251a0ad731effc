//! Patterns of LIKE, and the predicates that they are.
//!
//! `%` is any text, `_` one character, and a backslash takes the next character as it is.

use memchr::memmem::Finder;

use super::form::ValueForm;
use crate::scan::StringPredicate;

/// `text ~~ text` and `text !~~ text`.
const TEXT_LIKE: u32 = 1209;
const TEXT_NOT_LIKE: u32 = 1210;
/// The same of `bpchar`, with the blanks at its end.
const PADDED_LIKE: u32 = 1211;
const PADDED_NOT_LIKE: u32 = 1212;

/// Whether the operator with that OID is LIKE or NOT LIKE: true for LIKE.
pub(super) fn like_operator(oid: u32) -> Option<bool> {
    match oid {
        TEXT_LIKE | PADDED_LIKE => Some(true),
        TEXT_NOT_LIKE | PADDED_NOT_LIKE => Some(false),
        _ => None,
    }
}

/// A part of a pattern.
#[derive(Clone, Debug, PartialEq, Eq)]
enum PatternPart {
    /// `%`.
    AnyText,
    /// `_`.
    AnyCharacter,
    Byte(u8),
}

/// A pattern of LIKE.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct LikePattern(Vec<PatternPart>);

impl LikePattern {
    /// Reads a pattern; `None` if it ends in a backslash, which PostgreSQL refuses only for texts
    /// that it compares so far.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let mut parts = Vec::with_capacity(text.len());
        let mut bytes = text.bytes();
        while let Some(byte) = bytes.next() {
            match byte {
                b'%' if parts.last() == Some(&PatternPart::AnyText) => {}
                b'%' => parts.push(PatternPart::AnyText),
                b'_' => parts.push(PatternPart::AnyCharacter),
                b'\\' => parts.push(PatternPart::Byte(bytes.next()?)),
                byte => parts.push(PatternPart::Byte(byte)),
            }
        }
        Some(Self(parts))
    }

    /// Returns a range that has all texts that it means, by the bytes it begins with; `None` if it
    /// begins with none.
    pub(super) fn range(&self) -> Option<(Vec<u8>, Vec<u8>)> {
        let bytes = self.0.iter().map_while(|part| match part {
            PatternPart::Byte(byte) => Some(*byte),
            PatternPart::AnyText | PatternPart::AnyCharacter => None,
        });
        let low: Vec<u8> = bytes.collect();
        let mut high = low.clone();
        // UTF-8 has no byte 255.
        let last = high.last_mut()?;
        *last = last.checked_add(1)?;
        Some((low, high))
    }

    /// Returns the test of stored values of a form; `None` if the blanks that they had are not
    /// known. `text` is the pattern, for EXPLAIN.
    pub(super) fn predicate(
        self,
        text: &str,
        form: ValueForm,
        is_wanted: bool,
    ) -> Option<StringPredicate> {
        let name = format!("{} '{text}'", if is_wanted { "like" } else { "not like" });
        Some(match form {
            ValueForm::Text => match self.pieces() {
                Some(pieces) => {
                    StringPredicate::new(name, move |value| pieces.matches(value) == is_wanted)
                }
                None => StringPredicate::new(name, move |value| self.matches(value) == is_wanted),
            },
            ValueForm::Padded { chars: Some(chars) } => StringPredicate::new(name, move |value| {
                let is_first = |byte: &&u8| **byte & 0xc0 != 0x80;
                let own = value.iter().filter(is_first).count();
                let blanks = (chars as usize).saturating_sub(own);
                let mut padded = value.to_vec();
                padded.resize(value.len() + blanks, b' ');
                self.matches(&padded) == is_wanted
            }),
            _ => return None,
        })
    }

    /// Returns the pieces between its `%`; `None` if it has none, or a `_`.
    fn pieces(&self) -> Option<PatternPieces> {
        let mut pieces = vec![Vec::new()];
        for part in &self.0 {
            match (part, pieces.last_mut()) {
                (PatternPart::Byte(byte), Some(piece)) => piece.push(*byte),
                (PatternPart::AnyText, _) => pieces.push(Vec::new()),
                _ => return None,
            }
        }
        let mut pieces = pieces.into_iter();
        let (first, last) = (pieces.next()?, pieces.next_back()?);
        let inner = pieces.map(|piece| Finder::new(&piece).into_owned()).collect();
        Some(PatternPieces { first, inner, last })
    }

    /// Whether a text in UTF-8 is one that the pattern means. Takes time proportional to the
    /// product of both lengths at most.
    pub(super) fn matches(&self, text: &[u8]) -> bool {
        let parts = &self.0[..];
        let (mut part, mut at) = (0, 0);
        // Behind the last `%`, and where the text that it stands for ends.
        let mut retry: Option<(usize, usize)> = None;
        loop {
            let step = match parts.get(part) {
                Some(PatternPart::AnyText) => {
                    retry = Some((part + 1, at));
                    part += 1;
                    continue;
                }
                Some(PatternPart::AnyCharacter) => character_bytes(&text[at..]),
                Some(PatternPart::Byte(byte)) => usize::from(text.get(at) == Some(byte)),
                None if at == text.len() => return true,
                None => 0,
            };
            if step > 0 {
                (part, at) = (part + 1, at + step);
                continue;
            }
            // The last `%` takes one character more.
            let Some((behind, end)) = retry else { return false };
            let more = character_bytes(&text[end..]);
            if more == 0 {
                return false;
            }
            retry = Some((behind, end + more));
            (part, at) = (behind, end + more);
        }
    }
}

/// A pattern of pieces with any text between them: searched for by their rarest bytes.
#[derive(Clone, Debug)]
struct PatternPieces {
    first: Vec<u8>,
    inner: Vec<Finder<'static>>,
    last: Vec<u8>,
}

impl PatternPieces {
    fn matches(&self, text: &[u8]) -> bool {
        // Nothing is compared with empty pieces, which most patterns begin or end with: those have
        // no memory, and processors take long to find that a comparison reads none of it.
        let begins = self.first.is_empty() || text.starts_with(&self.first);
        let mut rest = if begins { &text[self.first.len()..] } else { return false };
        for piece in &self.inner {
            let Some(at) = piece.find(rest) else { return false };
            rest = &rest[at + piece.needle().len()..];
        }
        self.last.is_empty() || rest.ends_with(&self.last)
    }
}

/// Returns the bytes of the first character; 0 of no text.
fn character_bytes(text: &[u8]) -> usize {
    let is_inner = |byte: &u8| byte & 0xc0 == 0x80;
    match text {
        [] => 0,
        [_, rest @ ..] => 1 + rest.iter().take_while(|byte| is_inner(byte)).count(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_mean_what_they_mean_in_sql() {
        let cases = [
            ("abc", "abc", true),
            ("abc", "abcd", false),
            ("a%", "a", true),
            ("%c", "abc", true),
            ("%b%", "abc", true),
            ("%b%b%", "abc", false),
            ("a_c", "\u{e4}bc", false),
            ("_bc", "\u{e4}bc", true),
            ("__", "\u{e4}", false),
            ("%_", "", false),
            ("%", "", true),
            ("", "", true),
            ("", "a", false),
            (r"a\%", "a%", true),
            (r"a\%", "ab", false),
            (r"a\_b", "a_b", true),
            ("%aab", "aaaab", true),
            ("%special%requests%", "the special new requests.", true),
            ("%special%requests%", "requests special", false),
            ("a%a", "a", false),
            ("ab%bc", "abc", false),
            ("ab%bc", "abbc", true),
            ("%", "a", true),
        ];
        for (pattern, text, wanted) in cases {
            let parsed = LikePattern::parse(pattern).unwrap();
            assert_eq!(parsed.matches(text.as_bytes()), wanted, "{text} like {pattern}");
            if let Some(pieces) = parsed.pieces() {
                assert_eq!(pieces.matches(text.as_bytes()), wanted, "{text} like {pattern}");
            }
        }
        assert_eq!(LikePattern::parse(r"a\"), None);
    }

    #[test]
    fn range_has_all_texts_of_a_pattern() {
        let range = |pattern: &str| LikePattern::parse(pattern).unwrap().range();
        let of = |low: &[u8], high: &[u8]| Some((low.to_vec(), high.to_vec()));
        assert_eq!(range("ab%c"), of(b"ab", b"ac"));
        assert_eq!(range(r"a\%_"), of(b"a%", b"a&"));
        assert_eq!(range("\u{e4}_"), of(b"\xc3\xa4", b"\xc3\xa5"));
        assert_eq!((range("%a"), range("_"), range("")), (None, None, None));
    }
}
