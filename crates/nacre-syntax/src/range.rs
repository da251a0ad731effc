//! Where a token or node stands in the text, in bytes.

use std::fmt;
use std::hash::{Hash, Hasher};

/// Bytes `start..end` of the text that was parsed.
///
/// Two ranges are always equal, so that trees are compared by what they say and not by where it
/// stands; compare `start` and `end` where places matter.
#[derive(Clone, Copy, Default)]
pub struct SourceRange {
    /// First byte.
    pub start: u32,
    /// First byte behind; `start <= end`.
    pub end: u32,
}

impl SourceRange {
    /// Returns the range from the start of this one to the end of `last`.
    pub fn to(self, last: Self) -> Self {
        Self { start: self.start, end: last.end.max(self.start) }
    }

    /// Returns the bytes of `text` that the range covers; nothing if it is of another text.
    pub fn slice(self, text: &str) -> &str {
        text.get(self.start as usize..self.end as usize).unwrap_or("")
    }
}

impl fmt::Debug for SourceRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}..{}", self.start, self.end)
    }
}

impl PartialEq for SourceRange {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for SourceRange {}

impl Hash for SourceRange {
    fn hash<H: Hasher>(&self, _: &mut H) {}
}
