//! Cuts the bytes of a connection into frames.

use std::io;

use bytes::{Buf, Bytes, BytesMut};
use tokio::io::{AsyncRead, AsyncReadExt};

/// Most bytes of the message that a connection begins with, as in PostgreSQL.
pub(crate) const OPENING_BYTES_MAX: usize = 10_000;

/// Bytes asked for at once.
const READ_BYTES: usize = 16 << 10;

/// Bytes read at once while a short message is waited for.
const READ_NOW_BYTES: usize = 4 << 10;

/// A buffer that grew beyond this is given back when it is empty.
const KEPT_BYTES: usize = 1 << 20;

/// A message that is no message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Malformed(pub(crate) String);

/// A message as it came.
#[derive(Debug)]
pub(crate) struct Frame {
    pub(crate) kind: u8,
    pub(crate) body: Bytes,
}

/// What arrived and was not looked at yet.
#[derive(Debug)]
pub(crate) struct Frames {
    buffer: BytesMut,
    message_bytes_max: usize,
}

impl Frames {
    pub(crate) fn new(message_bytes_max: usize) -> Self {
        Self { buffer: BytesMut::new(), message_bytes_max }
    }

    /// Takes the limit of a connection that has begun.
    pub(crate) fn set_limit(&mut self, message_bytes_max: usize) {
        self.message_bytes_max = message_bytes_max;
    }

    pub(crate) fn push(&mut self, bytes: &[u8]) {
        self.buffer.extend_from_slice(bytes);
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.buffer.is_empty()
    }

    /// Bytes that wait.
    pub(crate) fn len(&self) -> usize {
        self.buffer.len()
    }

    /// Gives the memory of the buffer back while nothing is in it.
    pub(crate) fn release_buffer(&mut self) {
        if self.buffer.is_empty() {
            self.buffer = BytesMut::new();
        }
    }

    /// Reads some bytes; 0 is the end.
    pub(crate) async fn fill(&mut self, input: &mut (impl AsyncRead + Unpin)) -> io::Result<usize> {
        if self.buffer.capacity() > KEPT_BYTES {
            self.release_buffer();
        }
        self.buffer.reserve(READ_BYTES);
        input.read_buf(&mut self.buffer).await
    }

    /// Reads what is there already.
    ///
    /// # Errors
    /// [`io::ErrorKind::WouldBlock`] if that is nothing; what is wrong with the connection.
    pub(crate) fn fill_now(&mut self, input: &mut impl io::Read) -> io::Result<usize> {
        let mut bytes = [0; READ_NOW_BYTES];
        let length = input.read(&mut bytes)?;
        self.buffer.extend_from_slice(&bytes[..length]);
        Ok(length)
    }

    /// Takes the next message; `None` if it is not whole yet.
    ///
    /// # Errors
    /// A kind that no client sends, a length that no message has.
    pub(crate) fn next(&mut self) -> Result<Option<Frame>, Malformed> {
        let Some((kind, end)) = self.header(0)? else { return Ok(None) };
        if self.buffer.len() < end {
            return Ok(None);
        }
        let mut frame = self.buffer.split_to(end);
        frame.advance(5);
        Ok(Some(Frame { kind, body: frame.freeze() }))
    }

    /// Returns the kinds of up to two messages that wait, whole or not.
    ///
    /// # Errors
    /// As [`Frames::next`].
    pub(crate) fn coming(&self) -> Result<(Option<u8>, Option<u8>), Malformed> {
        let Some((first, end)) = self.header(0)? else { return Ok((None, None)) };
        Ok((Some(first), self.header(end)?.map(|(second, _)| second)))
    }

    /// Returns the text that the first message that waits begins with, as far as it is there.
    pub(crate) fn first_text(&self) -> &[u8] {
        let body = self.buffer.get(5..).unwrap_or_default();
        body.split(|byte| *byte == 0).next().unwrap_or_default()
    }

    /// Takes the message that a connection begins with, which has no kind.
    ///
    /// # Errors
    /// A length that it cannot have.
    pub(crate) fn next_opening(&mut self) -> Result<Option<Bytes>, Malformed> {
        let Some(length) = self.length(0) else { return Ok(None) };
        if !(8..=OPENING_BYTES_MAX).contains(&length) {
            return Err(Malformed("invalid length of startup packet".into()));
        }
        if self.buffer.len() < length {
            return Ok(None);
        }
        let mut opening = self.buffer.split_to(length);
        opening.advance(4);
        Ok(Some(opening.freeze()))
    }

    /// Returns kind and end of the message that begins at `from`.
    fn header(&self, from: usize) -> Result<Option<(u8, usize)>, Malformed> {
        let Some(&kind) = self.buffer.get(from) else { return Ok(None) };
        if !b"BCDEFHPQSXcdfp".contains(&kind) {
            return Err(Malformed(format!("invalid frontend message type {kind}")));
        }
        let Some(length) = self.length(from + 1) else { return Ok(None) };
        if length < 4 {
            return Err(Malformed("invalid message length".into()));
        }
        if length > self.message_bytes_max {
            return Err(Malformed(format!(
                "invalid message length {length}: at most {} bytes are allowed",
                self.message_bytes_max
            )));
        }
        Ok(Some((kind, from + 1 + length)))
    }

    fn length(&self, from: usize) -> Option<usize> {
        let bytes = self.buffer.get(from..from + 4)?;
        // A negative one is too long.
        Some(u32::from_be_bytes(bytes.try_into().ok()?) as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frames(bytes: &[u8]) -> Frames {
        let mut frames = Frames::new(100);
        frames.push(bytes);
        frames
    }

    #[test]
    fn frame_is_taken_when_it_is_whole() {
        let mut frames = frames(b"Q\0\0\0\x07ab");
        assert!(frames.next().unwrap().is_none());
        frames.push(b"\0S\0\0\0\x04");
        let frame = frames.next().unwrap().unwrap();
        assert_eq!((frame.kind, frame.body.as_ref()), (b'Q', b"ab\0".as_slice()));
        assert_eq!(frames.coming().unwrap(), (Some(b'S'), None));
        assert_eq!(frames.next().unwrap().unwrap().kind, b'S');
        assert!(frames.is_empty());
    }

    #[test]
    fn lengths_that_no_message_has_are_refused_by_their_header() {
        for bytes in [b"Q\0\0\0\x03", b"Q\0\0\0\x65", b"Q\xff\xff\xff\xff", b"!\0\0\0\x04"] {
            assert!(frames(bytes).next().is_err(), "{bytes:?}");
        }
        assert!(frames(b"\0\0\0\x07").next_opening().is_err());
        assert!(frames(b"\0\0\xff\xff").next_opening().is_err());
        assert!(frames(b"\0\0\0").next_opening().unwrap().is_none());
    }

    #[test]
    fn two_messages_are_foreseen() {
        let frames = frames(b"E\0\0\0\x09\0\0\0\0\0S\0\0\0\x04");
        assert_eq!(frames.coming().unwrap(), (Some(b'E'), Some(b'S')));
    }
}
