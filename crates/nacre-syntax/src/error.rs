//! What is wrong with a text, in PostgreSQL's words and at its place.

use std::error::Error;
use std::fmt;

use crate::range::SourceRange;

/// What the author of the text can do about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SyntaxErrorKind {
    /// Correct the text (42601).
    Grammar,
    /// Correct an escape in a literal (22025).
    Escape,
    /// Write a character that text can hold (22021).
    Character,
    /// Write a value that fits (22023).
    Parameter,
    /// Correct the bounds of a window's frame (42P20).
    Window,
    /// Choose a name that is not reserved (42939).
    ReservedName,
    /// Nest less (54001).
    Depth,
    /// Write a shorter text (54000).
    Length,
    /// Do without: the grammar knows it, the tree does not (0A000).
    NotSupported,
}

/// An error of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SyntaxError {
    kind: SyntaxErrorKind,
    message: Box<str>,
    range: SourceRange,
}

impl SyntaxError {
    pub(crate) fn new(
        kind: SyntaxErrorKind,
        message: impl Into<Box<str>>,
        range: SourceRange,
    ) -> Self {
        Self { kind, message: message.into(), range }
    }

    /// `message at or near "..."`, with the text of the range, or `message at end of input`.
    pub(crate) fn near(message: &str, range: SourceRange, text: &str) -> Self {
        let near = range.slice(text);
        let message = if near.is_empty() {
            format!("{message} at end of input")
        } else {
            format!("{message} at or near \"{near}\"")
        };
        Self::new(SyntaxErrorKind::Grammar, message, range)
    }

    pub(crate) fn not_supported(what: &str, range: SourceRange) -> Self {
        Self::new(SyntaxErrorKind::NotSupported, format!("{what} is not supported"), range)
    }

    pub(crate) fn too_deep(range: SourceRange) -> Self {
        Self::new(SyntaxErrorKind::Depth, "stack depth limit exceeded", range)
    }

    /// Returns what can be done about it.
    pub fn kind(&self) -> SyntaxErrorKind {
        self.kind
    }

    /// Returns the message without its place.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// Returns the token or part of it that is wrong.
    pub fn range(&self) -> SourceRange {
        self.range
    }

    /// Returns the place in characters from 1, as PostgreSQL's protocol counts.
    pub fn character_position(&self, text: &str) -> usize {
        text.char_indices().take_while(|(offset, _)| *offset < self.range.start as usize).count()
            + 1
    }

    /// Returns the code that PostgreSQL gives such an error.
    pub fn sqlstate(&self) -> &'static str {
        match self.kind {
            SyntaxErrorKind::Grammar => "42601",
            SyntaxErrorKind::Escape => "22025",
            SyntaxErrorKind::Character => "22021",
            SyntaxErrorKind::Parameter => "22023",
            SyntaxErrorKind::Window => "42P20",
            SyntaxErrorKind::ReservedName => "42939",
            SyntaxErrorKind::Depth => "54001",
            SyntaxErrorKind::Length => "54000",
            SyntaxErrorKind::NotSupported => "0A000",
        }
    }
}

impl fmt::Display for SyntaxError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl Error for SyntaxError {}
