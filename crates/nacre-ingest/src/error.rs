//! What can go wrong while loading, and where it is in the file.
//!
//! Messages use PostgreSQL's wording where PostgreSQL has one. [`ErrorKind`] is as fine as
//! SQLSTATE needs; the code itself is assigned at the SQL edge.

use nacre_column::ColumnType;
use std::{
    fmt, io,
    path::{Path, PathBuf},
};

/// Most characters of an offending text that a message shows, as in PostgreSQL's COPY context.
pub const SHOWN_CHARS_MAX: usize = 100;

/// Says what class of fault it is; each has one SQLSTATE.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// An option's value is wrong (22023).
    InvalidOption,
    /// Valid in PostgreSQL, not supported here (0A000).
    NotSupported,
    /// A named column does not exist (42703).
    UndefinedColumn,
    /// A column is named twice (42701).
    DuplicateColumn,
    /// A column is named that the command does not use (42P10).
    InvalidColumnReference,
    /// The file does not exist (58P01).
    UndefinedFile,
    /// The file may not be read (42501).
    PermissionDenied,
    /// The path is a directory (42809).
    IsDirectory,
    /// The operating system failed to read or write (58030).
    Io,
    /// The file changed while it was read (58030).
    FileChanged,
    /// The rows do not have the shape asked for (22P04).
    BadCopyFormat,
    /// The text is no value of the type (22P02).
    InvalidText,
    /// The number does not fit the type (22003).
    NumberOutOfRange,
    /// The text is no date or timestamp (22007).
    InvalidDatetime,
    /// The date or time does not exist or does not fit (22008).
    DatetimeOutOfRange,
    /// The text has too many characters (22001).
    TooLong,
    /// The bytes are not UTF-8, or hold a zero byte (22021).
    InvalidByteSequence,
    /// A binary string is wrongly written (22023).
    InvalidParameter,
    /// A null in a column that takes none (23502).
    NotNullViolation,
    /// A row, chunk or file is larger than a stated limit (54000).
    LimitExceeded,
    /// The user cancelled (57014).
    Cancelled,
    /// The store refused; see [`Error::store_error`].
    Store,
    /// A broken promise inside this crate; please report it (XX000).
    Internal,
}

/// Where in the input a fault is.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Location {
    /// The file's path, or `STDIN`.
    pub file: String,
    /// Line in the file, counted from 1; line ends inside quotes count.
    pub line: u64,
    /// Bytes before the offending field (or byte) in the file.
    pub byte_offset: u64,
    /// The table's name.
    pub relation: String,
    /// The column's name, if it is the fault of one.
    pub column: Option<String>,
    /// The offending text, shortened, control characters escaped.
    pub text: Option<String>,
    /// The type that was expected.
    pub expected: Option<ColumnType>,
    /// The line, as the text is, if its fault is not that of a value.
    pub row: Option<String>,
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "COPY {}, line {}", self.relation, self.line)?;
        if let Some(row) = &self.row {
            return write!(f, ": \"{row}\"");
        }
        if let Some(column) = &self.column {
            write!(f, ", column {column}")?;
        }
        match &self.text {
            Some(text) => write!(f, ": \"{text}\""),
            None => Ok(()),
        }
    }
}

/// A text that is no value of a type. Made only when parsing fails.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ValueError {
    pub kind: ErrorKind,
    pub message: String,
    pub detail: Option<String>,
}

impl ValueError {
    #[cold]
    pub(crate) fn new(kind: ErrorKind, message: String) -> Box<Self> {
        Box::new(Self { kind, message, detail: None })
    }
}

impl fmt::Display for ValueError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for ValueError {}

/// Everything this crate reports.
#[derive(Debug)]
pub struct Error(Box<Inner>);

#[derive(Debug)]
struct Inner {
    kind: ErrorKind,
    message: String,
    detail: Option<String>,
    hint: Option<String>,
    location: Option<Location>,
    source: Option<Box<dyn std::error::Error + Send + Sync>>,
}

/// Result of this crate.
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    #[cold]
    pub(crate) fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self(Box::new(Inner {
            kind,
            message: message.into(),
            detail: None,
            hint: None,
            location: None,
            source: None,
        }))
    }

    /// Turns a failed read, write or open of `path` into an error.
    #[cold]
    pub(crate) fn io(action: &str, path: &Path, error: &io::Error) -> Self {
        let kind = match error.kind() {
            io::ErrorKind::NotFound => ErrorKind::UndefinedFile,
            io::ErrorKind::PermissionDenied => ErrorKind::PermissionDenied,
            io::ErrorKind::IsADirectory => ErrorKind::IsDirectory,
            _ => ErrorKind::Io,
        };
        Self::new(kind, format!("could not {action} \"{}\": {error}", path.display()))
    }

    /// Wraps the error of a [`crate::ChunkSink`].
    #[cold]
    pub(crate) fn sink(error: impl std::error::Error + Send + Sync + 'static) -> Self {
        let mut this = Self::new(ErrorKind::Store, error.to_string());
        this.0.source = Some(Box::new(error));
        this
    }

    #[cold]
    pub(crate) fn cancelled() -> Self {
        Self::new(ErrorKind::Cancelled, "canceling statement due to user request")
    }

    pub(crate) fn with_detail(mut self, detail: impl Into<String>) -> Self {
        self.0.detail = Some(detail.into());
        self
    }

    pub(crate) fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.0.hint = Some(hint.into());
        self
    }

    pub(crate) fn with_location(mut self, location: Location) -> Self {
        self.0.location = Some(location);
        self
    }

    /// Returns the class of fault.
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// Returns the message without its place in the file.
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// Returns what else there is to say about the fault.
    pub fn detail(&self) -> Option<&str> {
        self.0.detail.as_deref()
    }

    /// Returns what the user can do.
    pub fn hint(&self) -> Option<&str> {
        self.0.hint.as_deref()
    }

    /// Returns the place in the file.
    pub fn location(&self) -> Option<&Location> {
        self.0.location.as_ref()
    }

    /// Returns the store's error behind kind `Store`.
    pub fn store_error(&self) -> Option<&nacre_store::Error> {
        self.0.source.as_ref()?.downcast_ref()
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.message)?;
        if let Some(location) = &self.0.location {
            write!(f, " ({location})")?;
        }
        Ok(())
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.0.source.as_ref().map(|error| &**error as _)
    }
}

/// Makes `text` fit for a message: at most [`SHOWN_CHARS_MAX`] characters, control characters
/// and broken UTF-8 escaped.
pub fn shown(text: &[u8]) -> String {
    let mut out = String::new();
    let mut left = SHOWN_CHARS_MAX;
    for piece in text.utf8_chunks() {
        for c in piece.valid().chars() {
            if left == 0 {
                return out + "...";
            }
            left -= 1;
            if c.is_control() {
                out.extend(c.escape_default());
            } else {
                out.push(c);
            }
        }
        for byte in piece.invalid() {
            if left == 0 {
                return out + "...";
            }
            left -= 1;
            out.push_str(&format!("\\x{byte:02x}"));
        }
    }
    out
}

/// Names the input in messages.
pub(crate) fn source_name(path: Option<&PathBuf>) -> String {
    path.map_or_else(|| "STDIN".to_owned(), |path| path.display().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shown_text_is_short_and_printable() {
        assert_eq!(shown(b"a\tb\n\x01"), "a\\tb\\n\\u{1}");
        assert_eq!(shown(b"a\xff\xfeb"), "a\\xff\\xfeb");
        assert_eq!(shown("gr\u{fc}n".as_bytes()), "gr\u{fc}n");
        assert_eq!(shown(&[b'x'; 200]), "x".repeat(SHOWN_CHARS_MAX) + "...");
        assert_eq!(shown(&[b'x'; SHOWN_CHARS_MAX]), "x".repeat(SHOWN_CHARS_MAX));
    }

    #[test]
    fn location_names_file_line_byte_column_text_and_type() {
        let location = Location {
            file: "a.csv".to_owned(),
            line: 3,
            byte_offset: 57,
            relation: "t".to_owned(),
            column: Some("b".to_owned()),
            text: Some("x".to_owned()),
            expected: Some(ColumnType::Integer),
            row: None,
        };
        let error = Error::new(ErrorKind::InvalidText, "no number").with_location(location);
        assert_eq!(error.to_string(), "no number (COPY t, line 3, column b: \"x\")");
    }
}
