//! Errors and notices as messages.

use nacre_sql::{Error, ErrorKind, Notice, Position};
use pgwire::messages::response::{ErrorResponse, NoticeResponse};

use crate::wire::utf8::InvalidUtf8;

/// Bytes of a text in a message; what is longer is cut.
const TEXT_BYTES_MAX: usize = 6_000;

/// The schema of all tables that users make.
const SCHEMA: &str = "public";

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Severity {
    /// The statement failed.
    Error,
    /// The connection ends.
    Fatal,
}

impl Severity {
    fn name(self) -> &'static str {
        match self {
            Self::Error => "ERROR",
            Self::Fatal => "FATAL",
        }
    }
}

/// A text of a client's query and where in it the statement begins.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Source<'a> {
    pub(crate) query: &'a str,
    /// Byte offset of the statement.
    pub(crate) offset: usize,
}

/// Returns the message for a failed statement.
pub(crate) fn error(error: &Error, source: Option<Source<'_>>) -> ErrorResponse {
    let mut fields = fields(Severity::Error.name(), error.sqlstate(), error.message());
    let mut add = |code: u8, text: Option<&str>| {
        if let Some(text) = text {
            fields.push((code, cut(text)));
        }
    };
    add(b'D', error.detail());
    add(b'H', error.hint());
    add(b'W', error.context());
    add(b'R', error.routine());
    if let Some(origin) = error.origin() {
        add(b's', origin.table.as_ref().map(|_| SCHEMA));
        add(b't', origin.table.as_deref());
        add(b'c', origin.column.as_deref());
        add(b'n', origin.constraint.as_deref());
    }
    let position = error.position().zip(source).map(|(position, source)| {
        let statement = source.query.get(source.offset..).unwrap_or_default();
        let before = source.query.get(..source.offset).unwrap_or_default().chars().count();
        (before + char_of(statement, position)).to_string()
    });
    add(b'P', position.as_deref());
    ErrorResponse::new(fields)
}

/// Returns the error for bytes of a client that are no text.
pub(crate) fn not_utf8(error: InvalidUtf8) -> Error {
    Error::new(ErrorKind::InvalidData, error.to_string()).with_code("22021")
}

/// Returns the message that ends a connection or a statement for a reason of the server's.
pub(crate) fn plain(severity: Severity, code: &str, message: &str) -> ErrorResponse {
    ErrorResponse::new(fields(severity.name(), code, message))
}

/// Returns the message for a warning or notice.
pub(crate) fn notice(notice: &Notice) -> NoticeResponse {
    let mut fields = fields(notice.severity, notice.code, &notice.message);
    fields.extend(notice.detail.as_deref().map(|detail| (b'D', cut(detail))));
    NoticeResponse::new(fields)
}

fn fields(severity: &str, code: &str, message: &str) -> Vec<(u8, String)> {
    let severity = severity.to_owned();
    vec![(b'S', severity.clone()), (b'V', severity), (b'C', code.to_owned()), (b'M', cut(message))]
}

/// Makes a text fit a message, in which a zero ends it.
fn cut(text: &str) -> String {
    let end = text.floor_char_boundary(TEXT_BYTES_MAX);
    text[..end].replace('\0', "?")
}

/// Returns the number of the character that `position` stands for, from 1.
fn char_of(statement: &str, position: Position) -> usize {
    let lines = statement.split_inclusive('\n').take(position.line.saturating_sub(1));
    let before: usize = lines.map(|line| line.chars().count()).sum();
    before + position.column.max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn position_counts_characters_of_the_whole_query() {
        let query = "select '\u{fc}';\nselect\n  x";
        let offset = query.find("select\n").unwrap();
        let failed = Error::new(ErrorKind::Syntax, "no x")
            .with_position(Some(Position { line: 2, column: 3 }));
        let message = error(&failed, Some(Source { query, offset }));
        let position = message.fields.iter().find(|(code, _)| *code == b'P').unwrap();
        let expected = 1 + query.chars().position(|one| one == 'x').unwrap();
        assert_eq!(position.1, expected.to_string());
    }

    #[test]
    fn long_texts_are_cut_at_a_character() {
        let message = plain(Severity::Fatal, "XX000", &"\u{fc}\0".repeat(5_000));
        assert!(message.fields.iter().all(|(_, text)| text.len() < 9_000 && !text.contains('\0')));
    }
}
