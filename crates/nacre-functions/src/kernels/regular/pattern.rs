//! Regular expressions, taken apart.

use nacre_types::ValueError;

use super::character_set::CharacterSet;

/// What a quantifier prefers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MatchPreference {
    Longer,
    Shorter,
}

/// What a place between characters has to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PatternAssertion {
    TextStart,
    TextEnd,
    LineStart,
    LineEnd,
    WordStart,
    WordEnd,
    WordBoundary,
    NoWordBoundary,
}

/// A part of a regular expression.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum PatternNode {
    Set(CharacterSet),
    Assertion(PatternAssertion),
    /// Parentheses; the number is that of what they capture.
    Group {
        number: Option<usize>,
        inner: Box<Self>,
    },
    /// Parts one behind the other; none matches the empty text.
    Sequence(Vec<Self>),
    Choice(Vec<Self>),
    Repeat {
        inner: Box<Self>,
        low: u32,
        high: Option<u32>,
        /// `None` of `{n}`, which has that of what is repeated.
        preference: Option<MatchPreference>,
    },
    /// What has to be ahead of a place or behind it, or must not be there.
    Look {
        inner: Box<Self>,
        is_ahead: bool,
        is_wanted: bool,
    },
}

/// Why a pattern is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PatternError {
    /// It is malformed; the words are PostgreSQL's.
    Malformed(&'static str),
    /// It is not had here.
    Unknown,
}

impl PatternError {
    /// Returns the error of a call: 2201B or 0A000.
    pub(super) fn of_pattern(self, pattern: &str) -> ValueError {
        match self {
            Self::Malformed(what) => {
                ValueError::regular_expression(format!("invalid regular expression: {what}"))
            }
            Self::Unknown => {
                ValueError::not_supported(format!("the regular expression {pattern:?}"))
            }
        }
    }
}

impl PatternNode {
    /// Whether it has parentheses around it, perhaps repeated.
    pub(super) fn is_parenthesized(&self) -> bool {
        match self {
            Self::Group { .. } => true,
            Self::Repeat { inner, .. } => inner.is_parenthesized(),
            _ => false,
        }
    }

    /// Returns the parts of it.
    fn children(&self) -> &[Self] {
        match self {
            Self::Set(_) | Self::Assertion(_) => &[],
            Self::Sequence(parts) | Self::Choice(parts) => parts,
            Self::Group { inner, .. } | Self::Repeat { inner, .. } | Self::Look { inner, .. } => {
                std::slice::from_ref(inner)
            }
        }
    }

    /// Whether the first match that a search from left to right finds is the one that PostgreSQL
    /// takes, with the same groups: the only part whose length varies is one set that is repeated.
    pub(super) fn has_one_way(&self) -> bool {
        self.varying_parts().is_some_and(|count| count <= 1)
    }

    /// Returns how many sets are repeated; `None` if anything else varies.
    fn varying_parts(&self) -> Option<usize> {
        match self {
            Self::Choice(_) | Self::Look { .. } => None,
            Self::Repeat { inner, .. } => matches!(**inner, Self::Set(_)).then_some(1),
            _ => self.children().iter().map(Self::varying_parts).sum(),
        }
    }

    /// Whether what it matches depends on the locale: on which characters are letters.
    pub(super) fn is_local(&self) -> bool {
        match self {
            Self::Set(set) => set.is_local(),
            Self::Assertion(assertion) => !matches!(
                assertion,
                PatternAssertion::TextStart
                    | PatternAssertion::TextEnd
                    | PatternAssertion::LineStart
                    | PatternAssertion::LineEnd
            ),
            _ => self.children().iter().any(Self::is_local),
        }
    }

    /// Returns it in the syntax of the crate `regex`; `None` of what that has not, or has with
    /// another meaning. A text has a match of one where it has one of the other.
    pub(super) fn translated(&self) -> Option<String> {
        Some(match self {
            Self::Set(set) => set.translated(),
            Self::Assertion(PatternAssertion::TextStart) => r"\A".to_owned(),
            Self::Assertion(PatternAssertion::TextEnd) => r"\z".to_owned(),
            Self::Assertion(PatternAssertion::LineStart) => "(?m:^)".to_owned(),
            Self::Assertion(PatternAssertion::LineEnd) => "(?m:$)".to_owned(),
            Self::Assertion(_) | Self::Look { .. } => return None,
            Self::Group { number: Some(_), inner } => format!("({})", inner.translated()?),
            Self::Group { number: None, inner } => format!("(?:{})", inner.translated()?),
            Self::Sequence(parts) => {
                parts.iter().map(Self::translated).collect::<Option<String>>()?
            }
            Self::Choice(parts) => {
                let parts = parts.iter().map(Self::translated).collect::<Option<Vec<_>>>()?;
                format!("(?:{})", parts.join("|"))
            }
            Self::Repeat { inner, low, high, preference } => {
                let inner = inner.translated()?;
                let high = high.map_or(String::new(), |high| high.to_string());
                let is_shorter = *preference == Some(MatchPreference::Shorter);
                let sign = if is_shorter { "?" } else { "" };
                format!("(?:{inner}){{{low},{high}}}{sign}")
            }
        })
    }
}
