//! Lines of a script, and the data of a `COPY ... FROM STDIN` that stands between them.
//!
//! Inline data begins on the line after the statement and ends with a line that holds only `\.`,
//! or with the input. The load reads it while it runs, from another thread, so nothing is gathered
//! in memory.

use std::io::{self, BufRead, Read};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A script's lines; clones share the place reached.
#[derive(Clone)]
pub(crate) struct LineReader {
    shared: Arc<Mutex<Lines>>,
}

struct Lines {
    reader: Box<dyn BufRead + Send>,
    /// Lines read so far.
    count: usize,
    /// Inline data was begun and its end was not read yet.
    is_in_data: bool,
}

/// Where a statement finds the data of `COPY ... FROM STDIN`.
pub(crate) trait DataSource {
    /// Returns the data's bytes; `None` if the source has none to give.
    fn open(&mut self) -> Option<Box<dyn Read + Send>>;

    /// Skips what the statement has left unread.
    fn close(&mut self);
}

impl LineReader {
    /// Reads lines from `reader`.
    pub(crate) fn new(reader: impl BufRead + Send + 'static) -> Self {
        let lines = Lines { reader: Box::new(reader), count: 0, is_in_data: false };
        Self { shared: Arc::new(Mutex::new(lines)) }
    }

    /// Returns the next line without its end, and its number, counted from 1.
    ///
    /// # Errors
    /// Those of the reader, and `InvalidData` if the line is not UTF-8.
    pub(crate) fn next_line(&self) -> io::Result<Option<(usize, String)>> {
        let mut lines = self.lock();
        let Some(mut bytes) = lines.next()? else {
            return Ok(None);
        };
        let number = lines.count;
        drop(lines);
        trim_line_end(&mut bytes);
        match String::from_utf8(bytes) {
            Ok(text) => Ok(Some((number, text))),
            Err(error) => {
                let at = error.utf8_error().valid_up_to() + 1;
                let message = format!("line {number} is not UTF-8 from its byte {at} on");
                Err(io::Error::new(io::ErrorKind::InvalidData, message))
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, Lines> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl DataSource for LineReader {
    fn open(&mut self) -> Option<Box<dyn Read + Send>> {
        self.lock().is_in_data = true;
        Some(Box::new(InlineData { source: self.clone(), line: Vec::new(), at: 0 }))
    }

    fn close(&mut self) {
        let mut lines = self.lock();
        // A read error ends the data as well; the next line's read will report it.
        while lines.is_in_data && lines.next_of_data().is_ok_and(|line| line.is_some()) {}
        lines.is_in_data = false;
    }
}

impl Lines {
    fn next(&mut self) -> io::Result<Option<Vec<u8>>> {
        let mut line = Vec::new();
        if self.reader.read_until(b'\n', &mut line)? == 0 {
            return Ok(None);
        }
        self.count += 1;
        Ok(Some(line))
    }

    fn next_of_data(&mut self) -> io::Result<Option<Vec<u8>>> {
        if !self.is_in_data {
            return Ok(None);
        }
        let line = self.next()?;
        let is_end = line.as_ref().is_none_or(|line| {
            line.strip_suffix(b"\n").map_or(&line[..], |l| l.strip_suffix(b"\r").unwrap_or(l))
                == b"\\."
        });
        if is_end {
            self.is_in_data = false;
            return Ok(None);
        }
        Ok(line)
    }
}

/// The bytes of inline data.
struct InlineData {
    source: LineReader,
    line: Vec<u8>,
    at: usize,
}

impl Read for InlineData {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.at == self.line.len() {
            self.at = 0;
            self.line = self.source.lock().next_of_data()?.unwrap_or_default();
        }
        let bytes = buffer.len().min(self.line.len() - self.at);
        buffer[..bytes].copy_from_slice(&self.line[self.at..self.at + bytes]);
        self.at += bytes;
        Ok(bytes)
    }
}

fn trim_line_end(line: &mut Vec<u8>) {
    if line.last() == Some(&b'\n') {
        line.pop();
        if line.last() == Some(&b'\r') {
            line.pop();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use super::*;

    fn reader(text: &'static [u8]) -> LineReader {
        LineReader::new(Cursor::new(text))
    }

    fn read_data(source: &mut LineReader) -> String {
        let mut data = String::new();
        source.open().unwrap().read_to_string(&mut data).unwrap();
        source.close();
        data
    }

    #[test]
    fn data_ends_at_backslash_dot_and_lines_go_on() {
        let mut source = reader(b"copy\r\n1,a\r\n2,b\n\\.\nselect\n");
        assert_eq!(source.next_line().unwrap(), Some((1, "copy".to_owned())));
        assert_eq!(read_data(&mut source), "1,a\r\n2,b\n");
        assert_eq!(source.next_line().unwrap(), Some((5, "select".to_owned())));
        assert_eq!(source.next_line().unwrap(), None);
    }

    #[test]
    fn data_may_end_with_the_input() {
        let mut source = reader(b"1\n2");
        assert_eq!(read_data(&mut source), "1\n2");
        assert_eq!(source.next_line().unwrap(), None);
    }

    #[test]
    fn unread_data_is_skipped() {
        let mut source = reader(b"1\n2\n\\.\r\nselect");
        let mut first = [0; 1];
        source.open().unwrap().read_exact(&mut first).unwrap();
        source.close();
        assert_eq!(source.next_line().unwrap(), Some((4, "select".to_owned())));
    }

    #[test]
    fn line_that_is_not_utf8_is_named() {
        let error = reader(b"a\nb\xff\n");
        error.next_line().unwrap();
        let message = error.next_line().unwrap_err().to_string();
        assert_eq!(message, "line 2 is not UTF-8 from its byte 2 on");
    }
}
