//! Where a statement came from, for messages.

use std::fmt;

/// The source of a statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// Typed at the prompt, or given with `-c`: the user knows where it is.
    Typed,
    /// A line of a script, counted from 1.
    Script { name: String, line: usize },
}

impl Place {
    /// Returns the place some lines further down.
    #[must_use]
    pub(crate) fn down(&self, lines: usize) -> Self {
        match self {
            Self::Typed => Self::Typed,
            Self::Script { name, line } => Self::Script { name: name.clone(), line: line + lines },
        }
    }
}

impl fmt::Display for Place {
    /// Writes what goes before a message: nothing, or `nacre:load.sql:12: `.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Typed => Ok(()),
            Self::Script { name, line } => write!(f, "nacre:{name}:{line}: "),
        }
    }
}
