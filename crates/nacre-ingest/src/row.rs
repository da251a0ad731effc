//! The exact, sequential reading of rows: what a field means and which fault comes first.
//!
//! The column loops of [`crate::columns`] only have to notice that a window of rows holds a fault.
//! Then [`first_fault`] reads the window again, row by row, in PostgreSQL's order:
//!
//! 1. a byte sequence that is not UTF-8, or a line end of another kind, in the row;
//! 2. a quoted field that never ends;
//! 3. more fields than columns;
//! 4. field by field: a field is missing, or its text is no value of the type;
//! 5. a null in a column that takes none, in the table's order.

use crate::{
    dialect::{Dialect, LineEnd, Quoting, State},
    error::{ErrorKind, ValueError, shown},
    layout::{Field, Layout},
    parse::{self, ValueResult},
};
use memchr::{memchr, memchr2};

/// Longest UTF-8 sequence that a message shows.
const SEQUENCE_BYTES_MAX: usize = 4;

/// A fault and where it is in the text.
#[derive(Debug)]
pub(crate) struct Fault {
    pub(crate) position: usize,
    /// Column of the table and the field's text.
    pub(crate) column: Option<(usize, String)>,
    pub(crate) error: Box<ValueError>,
    pub(crate) hint: Option<&'static str>,
}

impl Fault {
    #[cold]
    fn of_row(position: usize, message: impl Into<String>) -> Self {
        let error = ValueError::new(ErrorKind::BadCopyFormat, message.into());
        Self { position, column: None, error, hint: None }
    }
}

/// Reads a field: `None` is null. `is_marked` says that it holds a quote or backslash.
///
/// # Errors
/// Only in text format: an escape that makes invalid UTF-8, or a misplaced end mark.
pub(crate) fn field_value<'a>(
    layout: &'a Layout,
    field: &Field,
    raw: &'a [u8],
    is_marked: bool,
    scratch: &'a mut Vec<u8>,
) -> ValueResult<Option<&'a [u8]>> {
    let null = &layout.null[..];
    let (quote, escape) = match layout.dialect.quoting {
        Quoting::Backslash if raw == null => return Ok(None),
        Quoting::Backslash if is_marked => return unescape(raw, scratch).map(Some),
        Quoting::Backslash => return Ok(Some(raw)),
        Quoting::Doubled { quote } => (quote, quote),
        Quoting::Escaped { quote, escape } => (quote, escape),
    };
    if !is_marked {
        let is_null = raw == null && !field.forces_not_null;
        return Ok(if is_null { None } else { Some(raw) });
    }
    let value = unquote(quote, escape, raw, scratch);
    Ok(if field.forces_null && value == null { None } else { Some(value) })
}

/// Takes the quotes and escapes out of a CSV field.
fn unquote<'a>(quote: u8, escape: u8, raw: &'a [u8], scratch: &'a mut Vec<u8>) -> &'a [u8] {
    if let [first, inner @ .., last] = raw
        && (*first, *last) == (quote, quote)
        && memchr2(quote, escape, inner).is_none()
    {
        return inner;
    }
    scratch.clear();
    let mut rest = raw;
    // Outside: up to the next quote everything stands for itself.
    while let Some(index) = memchr(quote, rest) {
        scratch.extend_from_slice(&rest[..index]);
        rest = &rest[index + 1..];
        // Inside: up to the next quote that is not escaped.
        while let Some(index) = memchr2(quote, escape, rest) {
            scratch.extend_from_slice(&rest[..index]);
            let next = rest.get(index + 1).copied();
            if rest[index] == escape && next.is_some_and(|b| b == quote || b == escape) {
                scratch.extend(next);
                rest = &rest[index + 2..];
            } else if rest[index] == quote {
                rest = &rest[index + 1..];
                break;
            } else {
                scratch.push(escape);
                rest = &rest[index + 1..];
            }
        }
    }
    scratch.extend_from_slice(rest);
    scratch
}

/// Resolves the backslash escapes of text format.
fn unescape<'a>(raw: &[u8], scratch: &'a mut Vec<u8>) -> ValueResult<&'a [u8]> {
    scratch.clear();
    let mut rest = raw;
    while let Some(index) = memchr(b'\\', rest) {
        scratch.extend_from_slice(&rest[..index]);
        let Some((&code, tail)) = rest[index + 1..].split_first() else {
            // A backslash at the very end stands for nothing.
            rest = &[];
            break;
        };
        let (byte, tail) = match code {
            b'b' => (0x08, tail),
            b'f' => (0x0c, tail),
            b'n' => (b'\n', tail),
            b'r' => (b'\r', tail),
            b't' => (b'\t', tail),
            b'v' => (0x0b, tail),
            b'0'..=b'7' => take_digits(&rest[index + 1..], 8, 3),
            b'x' if tail.first().is_some_and(u8::is_ascii_hexdigit) => take_digits(tail, 16, 2),
            b'.' => {
                let message = "end-of-copy marker is not at the end of the data".to_owned();
                return Err(ValueError::new(ErrorKind::BadCopyFormat, message));
            }
            other => (other, tail),
        };
        scratch.push(byte);
        rest = tail;
    }
    scratch.extend_from_slice(rest);
    match first_invalid_byte(scratch) {
        None => Ok(scratch),
        Some(position) => Err(invalid_sequence(&scratch[position..])),
    }
}

/// Takes up to `digits_max` digits; the value wraps at 256 as in PostgreSQL.
fn take_digits(text: &[u8], base: u32, digits_max: usize) -> (u8, &[u8]) {
    let digit = |byte: &u8| char::from(*byte).to_digit(base);
    let digits = text.iter().take(digits_max).map_while(digit);
    let (count, value) = digits.fold((0, 0), |(count, sum), d| (count + 1, sum * base + d));
    (value as u8, &text[count..])
}

/// Finds the first byte that is not part of a UTF-8 sequence, or is zero.
pub(crate) fn first_invalid_byte(text: &[u8]) -> Option<usize> {
    let valid = match simdutf8::compat::from_utf8(text) {
        Ok(_) => text.len(),
        Err(error) => error.valid_up_to(),
    };
    memchr(0, &text[..valid]).or((valid < text.len()).then_some(valid))
}

#[cold]
fn invalid_sequence(rest: &[u8]) -> Box<ValueError> {
    let bytes = match rest.first() {
        Some(0xc0..=0xdf) => 2,
        Some(0xe0..=0xef) => 3,
        Some(0xf0..=0xf7) => 4,
        _ => 1,
    };
    let shown: Vec<String> = rest
        .iter()
        .take(bytes.min(SEQUENCE_BYTES_MAX))
        .map(|byte| format!("0x{byte:02x}"))
        .collect();
    ValueError::new(
        ErrorKind::InvalidByteSequence,
        format!("invalid byte sequence for encoding \"UTF8\": {}", shown.join(" ")),
    )
}

/// Finds the first line end of another kind than the file's, outside quotes. `text` begins with a
/// row.
pub(crate) fn first_stray(dialect: &Dialect, text: &[u8]) -> Option<usize> {
    let mut state = State::Outside;
    let mut before = 0;
    for (index, &byte) in text.iter().enumerate() {
        let is_stray = state == State::Outside
            && match (dialect.line_end, byte) {
                (LineEnd::Lf, b'\r') | (LineEnd::Cr, b'\n') => true,
                (LineEnd::CrLf, b'\r') => text.get(index + 1) != Some(&b'\n'),
                (LineEnd::CrLf, b'\n') => before != b'\r',
                _ => false,
            };
        if is_stray {
            return Some(index);
        }
        before = byte;
        state = dialect.quoting.step(state, byte);
    }
    None
}

fn stray_fault(dialect: &Dialect, text: &[u8], position: usize) -> Fault {
    let is_newline = text[position] == b'\n';
    let (message, hint) = match (dialect.is_csv(), is_newline) {
        (true, true) => {
            ("unquoted newline found in data", "Use quoted CSV field to represent newline.")
        }
        (true, false) => (
            "unquoted carriage return found in data",
            "Use quoted CSV field to represent carriage return.",
        ),
        (false, true) => ("literal newline found in data", "Use \"\\n\" to represent newline."),
        (false, false) => {
            ("literal carriage return found in data", "Use \"\\r\" to represent carriage return.")
        }
    };
    Fault { hint: Some(hint), ..Fault::of_row(position, message) }
}

/// A field as it stands in a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RawField {
    pub(crate) start: usize,
    pub(crate) end: usize,
    pub(crate) is_marked: bool,
}

/// Splits a row without its line end.
pub(crate) fn split_row(dialect: &Dialect, row: &[u8]) -> Vec<RawField> {
    let mut fields = Vec::new();
    let mut open = RawField { start: 0, end: 0, is_marked: false };
    let mut state = State::Outside;
    for (index, &byte) in row.iter().enumerate() {
        if state == State::Outside && byte == dialect.delimiter {
            fields.push(RawField { end: index, ..open });
            open = RawField { start: index + 1, end: 0, is_marked: false };
        } else {
            open.is_marked |= dialect.quoting.marks_field(byte);
        }
        state = dialect.quoting.step(state, byte);
    }
    fields.push(RawField { end: row.len(), ..open });
    fields
}

/// Finds the first fault in the first `rows_max` rows of `text`; the last may lack its end.
pub(crate) fn first_fault(layout: &Layout, text: &[u8], rows_max: usize) -> Option<Fault> {
    let dialect = &layout.dialect;
    let invalid = first_invalid_byte(text);
    let stray = first_stray(dialect, text);
    let mut start = 0;
    for _ in 0..rows_max {
        let row = &text[start..];
        let end = dialect.row_end(row).map(|end| start + end);
        let line_fault = invalid.into_iter().chain(stray).min();
        if let Some(position) = line_fault.filter(|p| end.is_none_or(|end| *p <= end)) {
            return Some(if invalid == line_fault {
                let error = invalid_sequence(&text[position..]);
                Fault { position, column: None, error, hint: None }
            } else {
                stray_fault(dialect, text, position)
            });
        }
        let Some(end) = end else {
            return unterminated_fault(dialect, row, start);
        };
        let cut = end + 1 - dialect.line_end.bytes().len();
        if let Some(mut fault) = row_fault(layout, &text[start..cut]) {
            fault.position += start;
            return Some(fault);
        }
        start = end + 1;
    }
    None
}

fn unterminated_fault(dialect: &Dialect, row: &[u8], start: usize) -> Option<Fault> {
    let open = split_row(dialect, row).pop()?;
    let quote = row[open.start..].iter().position(|byte| dialect.quoting.marks_field(*byte));
    let position = start + open.start + quote?;
    Some(Fault::of_row(position, "unterminated CSV quoted field"))
}

fn row_fault(layout: &Layout, row: &[u8]) -> Option<Fault> {
    let raws = split_row(&layout.dialect, row);
    if let Some(extra) = raws.get(layout.fields.len()) {
        return Some(Fault::of_row(extra.start, "extra data after last expected column"));
    }
    let mut nulls = layout.absent.clone();
    let mut scratch = Vec::new();
    for (index, field) in layout.fields.iter().enumerate() {
        let Some(raw) = raws.get(index) else {
            let name = layout.column_name(field.column);
            let message = format!("missing data for column \"{name}\"");
            let mut fault = Fault::of_row(row.len(), message);
            fault.column = Some((field.column, String::new()));
            return Some(fault);
        };
        let text = &row[raw.start..raw.end];
        let mut shown_text = text.to_vec();
        let outcome = field_value(layout, field, text, raw.is_marked, &mut scratch);
        let outcome = outcome.and_then(|value| match value {
            None => {
                nulls.push(field.column);
                Ok(())
            }
            Some(value) => {
                shown_text = value.to_vec();
                let mut column = nacre_column::ColumnBuffer::new(field.column_type);
                parse::push_text(&mut column, value)
            }
        });
        if let Err(error) = outcome {
            let column = Some((field.column, shown(&shown_text)));
            return Some(Fault { position: raw.start, column, error, hint: None });
        }
    }
    null_fault(layout, nulls, &raws)
}

fn null_fault(layout: &Layout, mut nulls: Vec<usize>, raws: &[RawField]) -> Option<Fault> {
    nulls.sort_unstable();
    let is_refused = |column: &&usize| !layout.target.columns[**column].is_nullable;
    let column = *nulls.iter().find(is_refused)?;
    let message = format!(
        "null value in column \"{}\" of relation \"{}\" violates not-null constraint",
        layout.column_name(column),
        layout.target.relation
    );
    let field = layout.fields.iter().position(|field| field.column == column);
    Some(Fault {
        position: field.map_or(0, |field| raws[field].start),
        column: Some((column, shown(&layout.null))),
        error: ValueError::new(ErrorKind::NotNullViolation, message),
        hint: None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_toggle_anywhere_in_a_field() {
        let mut scratch = Vec::new();
        for (raw, value) in [
            ("\"\"", ""),
            ("\"a\"", "a"),
            ("\"a\"\"b\"", "a\"b"),
            ("a\"b,c\"d", "ab,cd"),
            ("\"a\"b\"c\"", "abc"),
            ("\"\"\"\"", "\""),
            ("\"\"\"\"\"\"", "\"\""),
        ] {
            assert_eq!(unquote(b'"', b'"', raw.as_bytes(), &mut scratch), value.as_bytes());
        }
        for (raw, value) in [
            (r#""a\"b""#, "a\"b"),
            (r#""a\\""#, "a\\"),
            (r#""a\nb""#, "a\\nb"),
            (r#"a\"b\"c"#, "a\\b\"c"),
        ] {
            let found = unquote(b'"', b'\\', raw.as_bytes(), &mut scratch);
            assert_eq!(String::from_utf8_lossy(found), value, "{raw}");
        }
    }

    #[test]
    fn text_escapes_are_those_of_postgres() {
        let mut scratch = Vec::new();
        for (raw, value) in [
            ("a\\tb\\n\\\\", "a\tb\n\\"),
            ("\\101\\x42\\x4g\\7x", "AB\u{4}g\u{7}x"),
            ("\\xzz\\q\\,", "xzzq,"),
            ("\\303\\274", "\u{fc}"),
            ("end\\", "end"),
        ] {
            assert_eq!(unescape(raw.as_bytes(), &mut scratch).unwrap(), value.as_bytes());
        }
        let error = unescape(b"\\377", &mut scratch).unwrap_err();
        assert_eq!(error.message, "invalid byte sequence for encoding \"UTF8\": 0xff");
        assert!(unescape(b"\\0", &mut scratch).is_err());
        assert!(unescape(b"a\\.", &mut scratch).is_err());
    }

    #[test]
    fn invalid_sequences_are_shown_as_long_as_they_claim_to_be() {
        for (bytes, shown) in [
            (&b"\xff"[..], "0xff"),
            (b"\xe2\x28\xa1x", "0xe2 0x28 0xa1"),
            (b"\xc3", "0xc3"),
            (b"\0", "0x00"),
        ] {
            let message = invalid_sequence(bytes).message;
            assert_eq!(message, format!("invalid byte sequence for encoding \"UTF8\": {shown}"));
            assert_eq!(first_invalid_byte(&[b"ab", bytes].concat()), Some(2));
        }
    }
}
