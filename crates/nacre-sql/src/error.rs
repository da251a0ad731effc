//! Errors of the SQL layer, each with an [`ErrorKind`] that tells the caller what can be done.

use std::fmt;

use crate::error_places::{grammar_error, place_of};

/// The message of a statement that ends too early.
pub(crate) const END_OF_INPUT: &str = "syntax error at end of input";

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
    /// What the role that the session acts as may not do.
    NotPermitted,
    /// SQL that Nacre does not do yet.
    NotSupported,
    /// A value that is malformed, out of range or too long.
    InvalidData,
    /// A constraint forbids the rows.
    ConstraintViolation,
    /// Another transaction got in the way; run the transaction again.
    SerializationFailure,
    /// The statement does not fit the state that the session's transaction is in.
    TransactionState,
    /// The database, or the transaction, is read-only.
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
    /// A more precise code than that of the kind.
    code: Option<&'static str>,
    message: String,
    detail: Option<String>,
    hint: Option<String>,
    context: Option<String>,
    position: Option<Position>,
    origin: Option<Origin>,
    /// Whether the statement may succeed if its names are looked up again.
    is_definition_change: bool,
    routine: Option<&'static str>,
}

/// What a row or value that was refused was for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Origin {
    pub table: Option<String>,
    pub column: Option<String>,
    pub constraint: Option<String>,
}

/// Result of the SQL layer.
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// Creates an error without detail, hint or position.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self(Box::new(Inner {
            kind,
            code: None,
            message: message.into(),
            detail: None,
            hint: None,
            context: None,
            position: None,
            origin: None,
            is_definition_change: false,
            routine: None,
        }))
    }

    /// Creates a `not supported: ...` error.
    pub fn not_supported(what: impl fmt::Display) -> Self {
        Self::new(ErrorKind::NotSupported, format!("not supported: {what}"))
    }

    /// Creates the error for a table that does not exist.
    pub(crate) fn undefined_table(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::UndefinedObject, message).with_code("42P01")
    }

    /// Creates the error for a column that does not exist.
    pub(crate) fn undefined_column(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::UndefinedObject, message).with_code("42703")
    }

    /// Creates the error for a parameter whose name or value means nothing.
    pub(crate) fn invalid_parameter(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::InvalidStatement, message).with_code("22023")
    }

    /// Creates the error for a statement that is past a bound, which `detail` names.
    pub(crate) fn too_complex(detail: impl Into<String>) -> Self {
        let message = "stack depth limit exceeded";
        Self::new(ErrorKind::InvalidStatement, message).with_code("54001").with_detail(detail)
    }

    /// Creates the error for a statement that comes at the wrong time of a transaction.
    pub(crate) fn transaction_state(code: &'static str, message: impl Into<String>) -> Self {
        Self::new(ErrorKind::TransactionState, message).with_code(code)
    }

    /// Gives the error a more precise code than that of its kind.
    #[must_use]
    pub fn with_code(mut self, code: &'static str) -> Self {
        self.0.code = Some(code);
        self
    }

    /// Says that the statement may succeed if its names are looked up again, with a newer snapshot.
    #[must_use]
    pub(crate) fn of_definition_change(mut self) -> Self {
        self.0.is_definition_change = true;
        self
    }

    /// Says that looking names up again is of no use.
    #[must_use]
    pub(crate) fn for_good(mut self) -> Self {
        self.0.is_definition_change = false;
        self
    }

    /// Whether the statement may succeed if its names are looked up again.
    pub(crate) fn is_definition_change(&self) -> bool {
        self.0.is_definition_change
    }

    /// Says the same in other words.
    #[must_use]
    pub(crate) fn with_texts(mut self, message: String, detail: Option<String>) -> Self {
        (self.0.message, self.0.detail) = (message, detail);
        self
    }

    /// Takes the second sentence of facts away.
    #[must_use]
    pub(crate) fn without_detail(mut self) -> Self {
        self.0.detail = None;
        self
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

    /// Adds the function of PostgreSQL's source that reports such an error, where drivers tell
    /// errors apart by it.
    #[must_use]
    pub fn with_routine(mut self, routine: &'static str) -> Self {
        self.0.routine = Some(routine);
        self
    }

    /// Adds which constraint of a table refused a row.
    #[must_use]
    pub(crate) fn of_constraint(self, table: &str, constraint: &str) -> Self {
        self.with_origin(Origin {
            table: Some(table.to_owned()),
            constraint: Some(constraint.to_owned()),
            column: None,
        })
    }

    /// Adds which column of a table refused a value.
    #[must_use]
    pub(crate) fn of_column(self, table: &str, column: &str) -> Self {
        self.with_origin(Origin {
            table: Some(table.to_owned()),
            column: Some(column.to_owned()),
            constraint: None,
        })
    }

    fn with_origin(mut self, origin: Origin) -> Self {
        self.0.origin = Some(origin);
        self
    }

    /// Gives the error its place in the statement's text, if it has none and the text tells it, and
    /// moves that of a syntax error to the token that the message quotes.
    ///
    /// If PostgreSQL's grammar refuses the text, its error stands for one of another parser, of
    /// what is not supported, or of what another parser took for a name. Another parser names the
    /// token that it could not use, but gives the place of the one after it when it had to look
    /// ahead.
    pub(crate) fn located_in(mut self, sql: &str) -> Self {
        let may_be_of_text = matches!(
            self.0.kind,
            ErrorKind::Syntax
                | ErrorKind::NotSupported
                | ErrorKind::UndefinedObject
                | ErrorKind::InvalidStatement
        );
        if may_be_of_text && let Some(refused) = grammar_error(sql) {
            return refused;
        }
        let position = match (self.0.position, self.0.kind) {
            (Some(position), ErrorKind::Syntax) => position,
            (Some(_), _) => return self,
            (None, _) => {
                let is_end = self.0.message == END_OF_INPUT;
                let end = is_end.then(|| position_of(sql, sql.len()));
                self.0.position = end.or_else(|| place_of(&self, sql));
                return self;
            }
        };
        let quoted = self.0.message.split_once(" at or near \"").map(|(_, rest)| rest);
        let Some(token) = quoted.and_then(|rest| rest.strip_suffix('"')) else { return self };
        let offset = offset_of(sql, position);
        let is_at = |at: usize| sql.get(at..at + token.len()) == Some(token);
        if !is_at(offset)
            && let Some(at) = sql.get(..offset).and_then(|before| before.rfind(token))
        {
            self.0.position = Some(position_of(sql, at));
        }
        self
    }

    /// Returns PostgreSQL's code for the error.
    pub fn sqlstate(&self) -> &'static str {
        self.0.code.unwrap_or(match self.0.kind {
            ErrorKind::Syntax => "42601",
            ErrorKind::UndefinedObject => "42704",
            ErrorKind::DuplicateObject => "42P07",
            ErrorKind::InvalidStatement => "42000",
            ErrorKind::NotPermitted => "42501",
            ErrorKind::NotSupported => "0A000",
            ErrorKind::InvalidData => "22000",
            ErrorKind::ConstraintViolation => "23000",
            ErrorKind::SerializationFailure => "40001",
            ErrorKind::TransactionState => "25000",
            ErrorKind::ReadOnly => "25006",
            ErrorKind::Open | ErrorKind::Io => "58030",
            ErrorKind::DiskFull => "53100",
            ErrorKind::OutOfMemory => "53200",
            ErrorKind::DataCorrupted => "XX001",
            ErrorKind::Cancelled => "57014",
            ErrorKind::Internal => "XX000",
        })
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

    /// Returns what refused a row or value, if that is why.
    pub fn origin(&self) -> Option<&Origin> {
        self.0.origin.as_ref()
    }

    /// Returns the function of PostgreSQL's source that reports such an error, if drivers need it.
    pub fn routine(&self) -> Option<&'static str> {
        self.0.routine
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

/// Returns the byte that `position` stands for, or the end of `sql`.
pub(crate) fn offset_of(sql: &str, position: Position) -> usize {
    let lines = sql.split_inclusive('\n').take(position.line.saturating_sub(1));
    let line_start: usize = lines.map(str::len).sum();
    let line = &sql[line_start..];
    let column = line.char_indices().nth(position.column.saturating_sub(1));
    line_start + column.map_or(line.len(), |(offset, _)| offset)
}

/// Returns the line and column of a byte of a statement's text.
pub(crate) fn position_of(sql: &str, offset: usize) -> Position {
    let before = &sql[..sql.floor_char_boundary(offset)];
    let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
    Position {
        line: 1 + before.matches('\n').count(),
        column: 1 + before[line_start..].chars().count(),
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.message)
    }
}

impl std::error::Error for Error {}

#[cfg(test)]
mod tests {
    use super::*;

    fn located(message: &str, (line, column): (usize, usize), sql: &str) -> Position {
        let error = Error::new(ErrorKind::Syntax, message);
        error.with_position(Some(Position { line, column })).located_in(sql).position().unwrap()
    }

    #[test]
    fn place_is_that_of_the_quoted_token() {
        let near_from = "syntax error at or near \"from\"";
        let sql = "select name,\n  from shell";
        assert_eq!(located(near_from, (2, 8), sql), Position { line: 2, column: 3 });
        assert_eq!(located(near_from, (2, 3), sql), Position { line: 2, column: 3 });
        let sql = "select '\u{fc}', from t";
        assert_eq!(located(near_from, (1, 18), sql), Position { line: 1, column: 13 });
        assert_eq!(located(near_from, (9, 9), "select"), Position { line: 9, column: 9 });
    }
}
