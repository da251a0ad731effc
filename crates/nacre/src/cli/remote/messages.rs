//! Messages to and from a server.

use std::io;

use bytes::BytesMut;
use nacre_sql::{Error, ErrorKind, Position};
use postgres_protocol::message::backend::{ErrorFields, Message};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

use fallible_iterator::FallibleIterator;

/// Bytes asked for at once.
const READ_BYTES: usize = 64 << 10;

/// What bytes go through.
pub(super) trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}
impl<T: AsyncRead + AsyncWrite + Send + Unpin> Stream for T {}

/// A connection that speaks in messages.
pub(super) struct Wire {
    stream: Box<dyn Stream>,
    input: BytesMut,
}

impl Wire {
    pub(super) fn new(stream: Box<dyn Stream>) -> Self {
        Self { stream, input: BytesMut::new() }
    }

    /// Sends messages that were written to a buffer.
    pub(super) async fn send(&mut self, messages: &[u8]) -> io::Result<()> {
        self.stream.write_all(messages).await?;
        self.stream.flush().await
    }

    /// Waits for the next message. May be given up without losing one.
    pub(super) async fn receive(&mut self) -> io::Result<Message> {
        loop {
            if let Some(message) = Message::parse(&mut self.input)? {
                return Ok(message);
            }
            self.input.reserve(READ_BYTES);
            if self.stream.read_buf(&mut self.input).await? == 0 {
                let message = "server closed the connection unexpectedly";
                return Err(io::Error::new(io::ErrorKind::UnexpectedEof, message));
            }
        }
    }
}

/// An error or a notice as a server reports it.
#[derive(Debug, Default)]
pub(super) struct Report {
    pub(super) severity: String,
    pub(super) code: String,
    message: String,
    detail: Option<String>,
    hint: Option<String>,
    context: Option<String>,
    /// In characters, from 1.
    position: Option<usize>,
}

impl Report {
    /// Reads the fields of a report.
    pub(super) fn new(mut fields: ErrorFields<'_>) -> io::Result<Self> {
        let mut report = Self::default();
        while let Some(field) = fields.next()? {
            let text = String::from_utf8_lossy(field.value_bytes()).into_owned();
            match field.type_() {
                b'S' => report.severity = text,
                b'C' => report.code = text,
                b'M' => report.message = text,
                b'D' => report.detail = Some(text),
                b'H' => report.hint = Some(text),
                b'W' => report.context = Some(text),
                b'P' => report.position = text.parse().ok(),
                _ => {}
            }
        }
        Ok(report)
    }

    /// Returns it as an error of a statement.
    pub(super) fn into_error(self, sql: &str) -> Error {
        let position = self.position.map(|position| place(sql, position));
        let mut error = Error::new(ErrorKind::Internal, self.message).with_position(position);
        if let Some(detail) = self.detail {
            error = error.with_detail(detail);
        }
        if let Some(hint) = self.hint {
            error = error.with_hint(hint);
        }
        if let Some(context) = self.context {
            error = error.with_context(context);
        }
        error
    }

    /// Returns it as psql shows a notice.
    pub(super) fn text(&self) -> String {
        let mut text = format!("{}:  {}\n", self.severity, self.message);
        let lines = [("DETAIL", &self.detail), ("HINT", &self.hint)];
        for (name, value) in lines {
            text.extend(value.iter().map(|value| format!("{name}:  {value}\n")));
        }
        text
    }
}

/// Returns the line and column of a character, counted from 1.
fn place(sql: &str, position: usize) -> Position {
    let before: String = sql.chars().take(position.saturating_sub(1)).collect();
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().unwrap_or("").chars().count() + 1;
    Position { line, column }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_are_characters_of_lines() {
        let at = place("select 1,\n \u{6771}x", 13);
        assert_eq!((at.line, at.column), (2, 3));
        let first = place("x", 1);
        assert_eq!((first.line, first.column), (1, 1));
    }
}
