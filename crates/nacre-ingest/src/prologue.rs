//! What must be known before the first row: byte order mark, kind of line end, header, end mark.

use crate::{
    dialect::{Dialect, LineEnd, Quoting, State},
    error::{Error, ErrorKind, Location, Result},
    layout::{Layout, Target},
    options::{CsvOptions, Header},
    plan::Tuning,
    progress::Progress,
    row,
    scan::count_rows,
    source::Input,
    writer::BYTE_ORDER_MARK,
};
use memchr::memmem;

/// Bytes looked at in one step.
const PIECE_BYTES: u64 = 64 << 10;

/// The mark that ends inline data, and text files of old.
const END_MARK: &[u8] = b"\\.";

/// Where the rows are and how they are read.
#[derive(Debug)]
pub(crate) struct Prologue {
    pub(crate) layout: Layout,
    /// First byte of the first row.
    pub(crate) begin: u64,
    /// Line ends before it.
    pub(crate) lines: u64,
}

/// Reads up to the first row and cuts `input` at its end mark.
///
/// # Errors
/// Those of the options and columns; `BadCopyFormat` for a header that does not match; `Io`.
pub(crate) fn read(
    input: &mut Input,
    target: Target,
    options: &CsvOptions,
    tuning: &Tuning,
    progress: &Progress,
) -> Result<Prologue> {
    // The kind of line end is not looked at while it is looked for.
    let mut dialect = Dialect::new(options, LineEnd::Lf);
    let layout = Layout::new(target, options, dialect, input.name())?;
    let bom = byte_order_mark(input)?;
    let first = first_line(input, dialect.quoting, bom, tuning, progress)?;
    dialect.line_end = first.line_end;
    let layout = Layout { dialect, ..layout };
    cut_at_mark(input, &dialect, bom)?;
    if options.header == Header::No {
        return Ok(Prologue { layout, begin: bom, lines: 0 });
    }
    let end = first.end.min(input.bytes()).max(bom);
    let mut header = vec![0; (end - bom) as usize];
    input.read_at(bom, &mut header)?;
    if options.header == Header::Match && !header.is_empty() {
        check_header(&layout, &header).map_err(|message| header_error(&layout, bom, message))?;
    }
    let begin = first.next.min(input.bytes()).max(bom);
    let ends_line = u64::from(begin > end);
    let lines = dialect.count_lines(&header) + ends_line;
    Ok(Prologue { layout, begin, lines })
}

fn byte_order_mark(input: &Input) -> Result<u64> {
    let mut front = [0; BYTE_ORDER_MARK.len()];
    if input.bytes() < front.len() as u64 {
        return Ok(0);
    }
    input.read_at(0, &mut front)?;
    Ok(if front == BYTE_ORDER_MARK { front.len() as u64 } else { 0 })
}

/// The first line of the file.
#[derive(Debug, PartialEq, Eq)]
struct FirstLine {
    line_end: LineEnd,
    /// Offset of its line end.
    end: u64,
    /// Offset of the line after it.
    next: u64,
}

fn first_line(
    input: &Input,
    quoting: Quoting,
    begin: u64,
    tuning: &Tuning,
    progress: &Progress,
) -> Result<FirstLine> {
    let mut state = State::Outside;
    let mut piece = Vec::new();
    let mut offset = begin;
    while offset < input.bytes() {
        progress.check()?;
        piece.resize(PIECE_BYTES.min(input.bytes() - offset) as usize, 0);
        input.read_at(offset, &mut piece)?;
        for (index, &byte) in piece.iter().enumerate() {
            let end = offset + index as u64;
            match byte {
                b'\n' if state == State::Outside => {
                    return Ok(FirstLine { line_end: LineEnd::Lf, end, next: end + 1 });
                }
                b'\r' if state == State::Outside => return after_return(input, end),
                _ => state = quoting.step(state, byte),
            }
        }
        offset += piece.len() as u64;
        if offset - begin > tuning.row_bytes_max {
            let limit = tuning.row_bytes_max;
            let message = format!("row is longer than {limit} bytes: no line end was found");
            return Err(Error::new(ErrorKind::LimitExceeded, message));
        }
    }
    Ok(FirstLine { line_end: LineEnd::Lf, end: offset, next: offset })
}

fn after_return(input: &Input, end: u64) -> Result<FirstLine> {
    let mut after = [0];
    if end + 1 < input.bytes() {
        input.read_at(end + 1, &mut after)?;
    }
    Ok(if after == [b'\n'] {
        FirstLine { line_end: LineEnd::CrLf, end, next: end + 2 }
    } else {
        FirstLine { line_end: LineEnd::Cr, end, next: end + 1 }
    })
}

fn check_header(layout: &Layout, header: &[u8]) -> std::result::Result<(), String> {
    let raws = row::split_row(&layout.dialect, header);
    if raws.len() != layout.fields.len() {
        return Err(format!(
            "wrong number of fields in header line: got {}, expected {}",
            raws.len(),
            layout.fields.len()
        ));
    }
    let mut scratch = Vec::new();
    for (index, (raw, field)) in raws.iter().zip(&layout.fields).enumerate() {
        let expected = layout.column_name(field.column);
        let text = &header[raw.start..raw.end];
        let is_null = !raw.is_marked && text == layout.null;
        let shown_null = String::from_utf8_lossy(&layout.null);
        let mismatch = |got: String| {
            let number = index + 1;
            format!(
                "column name mismatch in header line field {number}: got {got}, \
                 expected \"{expected}\""
            )
        };
        if is_null {
            return Err(mismatch(format!("null value (\"{shown_null}\")")));
        }
        let value = row::field_value(layout, field, text, raw.is_marked, &mut scratch);
        let value = value.map_err(|error| error.message)?.unwrap_or_default();
        if value != expected.as_bytes() {
            return Err(mismatch(format!("\"{}\"", crate::error::shown(value))));
        }
    }
    Ok(())
}

fn header_error(layout: &Layout, byte_offset: u64, message: String) -> Error {
    Error::new(ErrorKind::BadCopyFormat, message).with_location(Location {
        file: layout.file.clone(),
        line: 1,
        byte_offset,
        relation: layout.target.relation.clone(),
        column: None,
        text: None,
        expected: None,
        row: None,
    })
}

/// Cuts the input at a line `\.`: anywhere in inline data, at the end of a text file.
fn cut_at_mark(input: &mut Input, dialect: &Dialect, begin: u64) -> Result<()> {
    let mark = if let Some(data) = input.inline_data() {
        inline_mark(dialect, data, begin as usize)
    } else if dialect.is_csv() {
        // As from PostgreSQL 18 on, `\.` in a CSV file is data: a file has an end of its own.
        None
    } else {
        file_mark(input, begin)?
    };
    if let Some(mark) = mark {
        input.truncate(mark);
    }
    Ok(())
}

/// Finds the first line `\.` that is not inside quotes.
fn inline_mark(dialect: &Dialect, data: &[u8], begin: usize) -> Option<u64> {
    let is_line_end = |byte: &u8| matches!(byte, b'\n' | b'\r');
    let mut state = State::Outside;
    let mut counted = begin;
    for found in memmem::find_iter(data.get(begin..)?, END_MARK) {
        let position = begin + found;
        let is_line_begin = position == begin || is_line_end(&data[position - 1]);
        let is_alone = data.get(position + END_MARK.len()).is_none_or(is_line_end);
        if !is_line_begin || !is_alone {
            continue;
        }
        state = count_rows(dialect, &data[counted..position], state, u64::MAX).state;
        counted = position;
        if state == State::Outside {
            return Some(position as u64);
        }
    }
    None
}

fn file_mark(input: &Input, begin: u64) -> Result<Option<u64>> {
    // The line end before the mark, the mark, and a line end of two bytes.
    let mut tail = [b'\n'; 5];
    let bytes = (input.bytes() - begin).min(5) as usize;
    input.read_at(input.bytes() - bytes as u64, &mut tail[5 - bytes..])?;
    let content = tail.trim_ascii_end();
    let is_mark = matches!(content, [.., b'\n' | b'\r', b'\\', b'.']);
    let after = (tail.len() - content.len()) as u64;
    Ok(is_mark.then(|| input.bytes() - after - END_MARK.len() as u64))
}
