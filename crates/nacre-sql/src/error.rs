//! Errors of the SQL layer, each with an [`ErrorKind`] that tells the caller what can be done.

use std::fmt;

/// Sorts errors by what the caller can do about them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The statement's text is not SQL; fix the statement.
    Syntax,
    /// A table, column, function or type that does not exist.
    UndefinedObject,
    /// A table that exists already.
    DuplicateObject,
    /// The statement is well formed but means nothing: wrong types, wrong arguments.
    InvalidStatement,
    /// SQL that Nacre does not do yet.
    NotSupported,
    /// A value that is malformed, out of range or too long.
    InvalidData,
    /// A constraint forbids the rows.
    ConstraintViolation,
    /// The database was opened read-only.
    ReadOnly,
    /// The database, a file or a directory could not be opened.
    Open,
    /// Reading or writing a file failed.
    Io,
    /// No space left in a memory domain or on a disk.
    DiskFull,
    /// Not enough memory for the statement.
    OutOfMemory,
    /// Stored bytes are damaged; the message names table, column and chunk.
    DataCorrupted,
    /// The statement was cancelled.
    Cancelled,
    /// A bug in Nacre; please report it.
    Internal,
}

/// Where in the statement's text something is wrong; both count from 1, columns in characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Position {
    pub line: usize,
    pub column: usize,
}

/// An error of the SQL layer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error(Box<Inner>);

/// Boxed, so that results stay small.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Inner {
    kind: ErrorKind,
    message: String,
    detail: Option<String>,
    hint: Option<String>,
    context: Option<String>,
    position: Option<Position>,
}

/// Result of the SQL layer.
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// Creates an error without detail, hint or position.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self(Box::new(Inner {
            kind,
            message: message.into(),
            detail: None,
            hint: None,
            context: None,
            position: None,
        }))
    }

    /// Creates a `not supported: ...` error.
    pub fn not_supported(what: impl fmt::Display) -> Self {
        Self::new(ErrorKind::NotSupported, format!("not supported: {what}"))
    }

    /// Adds a second sentence of facts.
    #[must_use]
    pub fn with_detail(mut self, detail: impl Into<String>) -> Self {
        self.0.detail = Some(detail.into());
        self
    }

    /// Adds what the user can do about it.
    #[must_use]
    pub fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.0.hint = Some(hint.into());
        self
    }

    /// Adds where in its input the statement was, such as a line of a file.
    #[must_use]
    pub fn with_context(mut self, context: impl Into<String>) -> Self {
        self.0.context = Some(context.into());
        self
    }

    /// Adds the place in the statement.
    #[must_use]
    pub fn with_position(mut self, position: Option<Position>) -> Self {
        self.0.position = position;
        self
    }

    /// Returns PostgreSQL's code for errors of this kind.
    pub fn sqlstate(&self) -> &'static str {
        match self.0.kind {
            ErrorKind::Syntax => "42601",
            ErrorKind::UndefinedObject => "42704",
            ErrorKind::DuplicateObject => "42P07",
            ErrorKind::InvalidStatement => "42000",
            ErrorKind::NotSupported => "0A000",
            ErrorKind::InvalidData => "22000",
            ErrorKind::ConstraintViolation => "23000",
            ErrorKind::ReadOnly => "25006",
            ErrorKind::Open | ErrorKind::Io => "58030",
            ErrorKind::DiskFull => "53100",
            ErrorKind::OutOfMemory => "53200",
            ErrorKind::DataCorrupted => "XX001",
            ErrorKind::Cancelled => "57014",
            ErrorKind::Internal => "XX000",
        }
    }

    /// Returns what kind of error it is.
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// Returns the sentence that says what is wrong.
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// Returns more facts, if any.
    pub fn detail(&self) -> Option<&str> {
        self.0.detail.as_deref()
    }

    /// Returns the way out, if there is one to name.
    pub fn hint(&self) -> Option<&str> {
        self.0.hint.as_deref()
    }

    /// Returns where in its input the statement was, if it had one.
    pub fn context(&self) -> Option<&str> {
        self.0.context.as_deref()
    }

    /// Returns the place in the statement, if known.
    pub fn position(&self) -> Option<Position> {
        self.0.position
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.message)
    }
}

impl std::error::Error for Error {}
