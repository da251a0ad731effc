//! Why a statement means nothing.

use std::fmt;

use nacre_syntax::SourceRange;
use nacre_types::{ErrorText, ValueError};

/// A statement that is refused: what a client is told, and where in its text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BindError {
    pub sql_state: &'static str,
    pub text: ErrorText,
    pub range: Option<SourceRange>,
    /// Whether the limit is one of Nacre: PostgreSQL takes the statement, or may take it.
    pub is_own_limit: bool,
}

impl BindError {
    /// Makes an error that concerns the text at `range`.
    pub fn new(sql_state: &'static str, message: impl Into<String>, range: SourceRange) -> Self {
        let text = ErrorText { message: message.into(), detail: None, hint: None };
        Self { sql_state, text, range: Some(range), is_own_limit: false }
    }

    /// Makes an error for what PostgreSQL has and Nacre does not yet.
    pub fn not_supported(what: &str, range: SourceRange) -> Self {
        Self::new("0A000", format!("not supported: {what}"), range).into_own_limit()
    }

    /// Makes an error for a query that is larger than a bound of the planner.
    pub fn too_large(what: impl Into<String>, range: SourceRange) -> Self {
        Self::new("54000", what, range).into_own_limit()
    }

    /// Makes the error of planning that was stopped: [`crate::control::until_stopped`] says why.
    #[cold]
    pub(crate) fn stopped(range: SourceRange) -> Self {
        Self::new("57014", "canceling statement due to user request", range)
    }

    /// Makes an error of a value that is written at `range`.
    pub fn of_value(error: &ValueError, range: SourceRange) -> Self {
        let (sql_state, text) = (error.sql_state(), error.text().clone());
        // A value of a type, or in a form, that is not there yet.
        let is_own_limit = matches!(error, ValueError::NotSupported(_));
        Self { sql_state, text, range: Some(range), is_own_limit }
    }

    /// Marks a limit that PostgreSQL does not have, or has elsewhere.
    #[must_use]
    pub(crate) fn into_own_limit(self) -> Self {
        Self { is_own_limit: true, ..self }
    }

    /// Adds a second sentence of facts.
    #[must_use]
    pub fn with_detail(mut self, detail: impl Into<String>) -> Self {
        self.text.detail = Some(detail.into());
        self
    }

    /// Adds what the client may do about it.
    #[must_use]
    pub fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.text.hint = Some(hint.into());
        self
    }
}

impl fmt::Display for BindError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text.message)
    }
}

impl std::error::Error for BindError {}
