//! Writes rows as CSV or text with PostgreSQL's rules, for COPY TO.
//!
//! A field is quoted if it is forced to be, equals the null string, contains the delimiter, the
//! quote, a newline or a carriage return, or is `\.` and the only field of its row. Differs from
//! PostgreSQL: a field that begins with a byte order mark is quoted (escaped) too, because our
//! reader skips one at the start of a file.

use crate::options::{CsvOptions, Direction, Header, TextFormat};
use crate::{Error, Result};
use std::io::{self, Write};

/// Byte order mark of UTF-8.
pub(crate) const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Bytes gathered before they are handed to the output.
const BUFFER_BYTES: usize = 64 << 10;

/// Writes rows of text fields; nulls are `None`.
#[derive(Debug)]
pub struct CsvWriter<W: Write> {
    output: W,
    buffer: Vec<u8>,
    options: CsvOptions,
    columns: Vec<String>,
    is_quote_forced: Vec<bool>,
    fields_done: usize,
    /// Bytes gathered before they are handed to the output.
    buffer_bytes: usize,
}

impl<W: Write> CsvWriter<W> {
    /// Starts a file of `columns`; writes the header if the options want one.
    ///
    /// # Errors
    /// `InvalidOption` or `InvalidColumnReference` if the options do not go together.
    pub fn create(output: W, columns: &[&str], options: &CsvOptions) -> Result<Self> {
        options.validate(Direction::To)?;
        for name in options.force_quote.names() {
            if !columns.contains(&name.as_str()) {
                let message = format!("FORCE_QUOTE column \"{name}\" not referenced by COPY");
                return Err(Error::new(crate::ErrorKind::InvalidColumnReference, message));
            }
        }
        let is_quote_forced = columns.iter().map(|name| options.force_quote.contains(name));
        let mut this = Self {
            output,
            buffer: Vec::with_capacity(BUFFER_BYTES + (BUFFER_BYTES >> 3)),
            options: options.clone(),
            columns: columns.iter().map(|name| (*name).to_owned()).collect(),
            is_quote_forced: is_quote_forced.collect(),
            fields_done: 0,
            buffer_bytes: BUFFER_BYTES,
        };
        if options.header != Header::No {
            this.put_header();
        }
        Ok(this)
    }

    /// Hands each row to the output by itself, the header, if there is one, too.
    ///
    /// # Errors
    /// That of the output.
    pub fn with_rows_apart(mut self) -> io::Result<Self> {
        self.buffer_bytes = 0;
        if !self.buffer.is_empty() {
            self.output.write_all(&self.buffer)?;
            self.buffer.clear();
        }
        Ok(self)
    }

    fn put_header(&mut self) {
        let forced = std::mem::take(&mut self.is_quote_forced);
        self.is_quote_forced = vec![false; self.columns.len()];
        for name in std::mem::take(&mut self.columns) {
            self.put_field(Some(name.as_bytes()));
            self.columns.push(name);
        }
        self.buffer.push(b'\n');
        self.fields_done = 0;
        self.is_quote_forced = forced;
    }

    /// Adds the next field of the row.
    ///
    /// # Panics
    /// If the row has all its fields already.
    pub fn put_field(&mut self, field: Option<&[u8]>) {
        let is_forced = self.is_quote_forced[self.fields_done];
        if self.fields_done > 0 {
            self.buffer.push(self.options.delimiter);
        }
        self.fields_done += 1;
        match field {
            None => self.buffer.extend_from_slice(self.options.null.as_bytes()),
            Some(value) if self.options.format == TextFormat::Text => self.put_escaped(value),
            Some(value) if is_forced || self.needs_quotes(value) => self.put_quoted(value),
            Some(value) => self.buffer.extend_from_slice(value),
        }
    }

    /// Whether fields of digits, letters, points, signs, colons and single blanks are written as
    /// they are: in the text format with a tab between them nothing of that is special.
    pub fn writes_simple_as_is(&self) -> bool {
        self.options.format == TextFormat::Text && self.options.delimiter == b'\t'
    }

    /// Adds the next field of the row, which `write` appends as it is to be, or says that it is
    /// null.
    ///
    /// # Errors
    /// That of `write`.
    ///
    /// # Panics
    /// If the row has all its fields already.
    pub fn put_field_with<E>(
        &mut self,
        write: impl FnOnce(&mut Vec<u8>) -> std::result::Result<bool, E>,
    ) -> std::result::Result<(), E> {
        assert!(self.fields_done < self.columns.len(), "fields of a row");
        if self.fields_done > 0 {
            self.buffer.push(self.options.delimiter);
        }
        self.fields_done += 1;
        if !write(&mut self.buffer)? {
            self.buffer.extend_from_slice(self.options.null.as_bytes());
        }
        Ok(())
    }

    fn needs_quotes(&self, value: &[u8]) -> bool {
        let CsvOptions { delimiter, quote, .. } = self.options;
        value == self.options.null.as_bytes()
            || (self.is_quote_forced.len() == 1 && value == b"\\.")
            || value.starts_with(BYTE_ORDER_MARK)
            || memchr::memchr2(delimiter, quote, value).is_some()
            || memchr::memchr2(b'\n', b'\r', value).is_some()
    }

    fn put_quoted(&mut self, value: &[u8]) {
        let CsvOptions { quote, escape, .. } = self.options;
        self.buffer.push(quote);
        let mut rest = value;
        while let Some(index) = memchr::memchr2(quote, escape, rest) {
            self.buffer.extend_from_slice(&rest[..index]);
            self.buffer.extend_from_slice(&[escape, rest[index]]);
            rest = &rest[index + 1..];
        }
        self.buffer.extend_from_slice(rest);
        self.buffer.push(quote);
    }

    fn put_escaped(&mut self, value: &[u8]) {
        let rest = value.strip_prefix(BYTE_ORDER_MARK);
        if rest.is_some() {
            self.buffer.extend_from_slice(b"\\357\\273\\277");
        }
        let mut rest = rest.unwrap_or(value);
        while let Some(at) = rest.iter().position(|byte| self.is_special(*byte)) {
            let code = match rest[at] {
                0x08 => b'b',
                0x0c => b'f',
                b'\n' => b'n',
                b'\r' => b'r',
                b'\t' => b't',
                0x0b => b'v',
                byte => byte,
            };
            self.buffer.extend_from_slice(&rest[..at]);
            self.buffer.extend_from_slice(&[b'\\', code]);
            rest = &rest[at + 1..];
        }
        self.buffer.extend_from_slice(rest);
    }

    /// Whether a byte is written behind a backslash in the text format.
    fn is_special(&self, byte: u8) -> bool {
        (0x08..=0x0d).contains(&byte) || byte == b'\\' || byte == self.options.delimiter
    }

    /// Ends the row.
    ///
    /// # Errors
    /// That of the output.
    ///
    /// # Panics
    /// If fields are missing.
    pub fn end_row(&mut self) -> io::Result<()> {
        assert_eq!(self.fields_done, self.columns.len(), "fields of a row");
        self.buffer.push(b'\n');
        self.fields_done = 0;
        if self.buffer.len() >= self.buffer_bytes {
            self.output.write_all(&self.buffer)?;
            self.buffer.clear();
        }
        Ok(())
    }

    /// Writes a whole row.
    ///
    /// # Errors
    /// That of the output.
    ///
    /// # Panics
    /// If there are not as many fields as columns.
    pub fn write_row<'a>(
        &mut self,
        fields: impl IntoIterator<Item = Option<&'a [u8]>>,
    ) -> io::Result<()> {
        for field in fields {
            self.put_field(field);
        }
        self.end_row()
    }

    /// Hands everything to the output, flushes it and gives it back.
    ///
    /// # Errors
    /// That of the output.
    pub fn finish(mut self) -> io::Result<W> {
        self.output.write_all(&self.buffer)?;
        self.output.flush()?;
        Ok(self.output)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Force;

    fn written(options: &CsvOptions, columns: &[&str], rows: &[&[Option<&str>]]) -> String {
        let mut writer = CsvWriter::create(Vec::new(), columns, options).unwrap();
        for row in rows {
            writer.write_row(row.iter().map(|field| field.map(str::as_bytes))).unwrap();
        }
        String::from_utf8(writer.finish().unwrap()).unwrap()
    }

    #[test]
    fn only_what_needs_quotes_is_quoted() {
        let options = CsvOptions::default();
        let row = [Some("a"), Some(""), None, Some("b,c"), Some("d\"e"), Some("f\ng"), Some("\\.")];
        let text = written(&options, &["a"; 7], &[&row]);
        assert_eq!(text, "a,\"\",,\"b,c\",\"d\"\"e\",\"f\ng\",\\.\n");
    }

    #[test]
    fn end_of_data_mark_and_byte_order_mark_are_quoted_when_alone() {
        let options = CsvOptions::default();
        let text = written(&options, &["a"], &[&[Some("\\.")], &[Some("\u{feff}x")], &[None]]);
        assert_eq!(text, "\"\\.\"\n\"\u{feff}x\"\n\n");
    }

    #[test]
    fn header_force_quote_null_and_escape_are_obeyed() {
        let options = CsvOptions {
            header: Header::Yes,
            delimiter: b';',
            quote: b'\'',
            escape: b'\\',
            null: "NULL".to_owned(),
            force_quote: Force::Columns(vec!["b;c".to_owned()]),
            ..CsvOptions::default()
        };
        let rows = [&[Some("NULL"), None][..], &[Some("it's"), Some("x")], &[Some("\\"), Some("")]];
        let text = written(&options, &["a", "b;c"], &rows);
        assert_eq!(text, "a;'b;c'\n'NULL';NULL\n'it\\'s';'x'\n\\;''\n");
    }

    #[test]
    fn text_format_escapes_with_backslashes() {
        let row = [Some("a\tb"), None, Some("\\N"), Some("c\nd\r"), Some("")];
        let text = written(&CsvOptions::text(), &["a"; 5], &[&row]);
        assert_eq!(text, "a\\tb\t\\N\t\\\\N\tc\\nd\\r\t\n");
    }

    #[test]
    fn unknown_force_quote_column_is_refused() {
        let force_quote = Force::Columns(vec!["x".to_owned()]);
        let options = CsvOptions { force_quote, ..CsvOptions::default() };
        let error = CsvWriter::create(Vec::new(), &["a"], &options).unwrap_err();
        assert_eq!(error.message(), "FORCE_QUOTE column \"x\" not referenced by COPY");
    }
}
