//! Mode `box`: a table with lines around its cells, numbers to the right.
//!
//! Column widths come from the first [`BUFFERED_ROWS_MAX`] rows (or [`BUFFERED_BYTES_MAX`]); a
//! longer result is streamed with those widths, and a later cell that is wider pushes the rest of
//! its line to the right instead of being cut.

use std::io::{self, Write};

use nacre_sql::datafusion::arrow::array::RecordBatch;
use nacre_sql::datafusion::arrow::datatypes::Schema;
use unicode_width::UnicodeWidthStr;

use super::escape::push_visible;
use super::mode::{Renderer, Style, column_names, column_texts, is_number};

/// Rows held back for their widths; 10,000 rows are more than a person reads.
const BUFFERED_ROWS_MAX: usize = 10_000;
/// Bytes held back for their widths, for rows with large values.
const BUFFERED_BYTES_MAX: usize = 16 << 20;

const ROW: char = '\u{2500}';
const COLUMN: &str = "\u{2502}";

/// Renders a result set as a box.
pub(super) struct BoxRenderer {
    columns: Vec<Column>,
    null: String,
    has_header: bool,
    buffered: Vec<Vec<String>>,
    buffered_bytes: usize,
    is_streaming: bool,
    row_count: u64,
}

struct Column {
    name: String,
    is_right: bool,
    width: usize,
}

impl BoxRenderer {
    pub(super) fn new(schema: &Schema, style: &Style) -> Self {
        let numeric = schema.fields().iter().map(|field| is_number(field));
        Self::with_columns(column_names(schema).into_iter().zip(numeric), style)
    }

    fn with_columns(columns: impl Iterator<Item = (String, bool)>, style: &Style) -> Self {
        let columns = columns.map(|(name, is_right)| {
            let mut visible = String::new();
            push_visible(&name, &mut visible);
            let width = if style.has_header { visible.width() } else { 0 };
            Column { name: visible, is_right, width }
        });
        Self {
            columns: columns.collect(),
            null: style.null.clone().unwrap_or_else(|| "NULL".to_owned()),
            has_header: style.has_header,
            buffered: Vec::new(),
            buffered_bytes: 0,
            is_streaming: false,
            row_count: 0,
        }
    }

    fn row(&mut self, out: &mut dyn Write, cells: Vec<String>) -> io::Result<()> {
        self.row_count += 1;
        if self.is_streaming {
            return self.write_row(out, &cells);
        }
        self.buffered_bytes += cells.iter().map(String::len).sum::<usize>();
        self.buffered.push(cells);
        if self.buffered.len() >= BUFFERED_ROWS_MAX || self.buffered_bytes >= BUFFERED_BYTES_MAX {
            self.start_streaming(out)?;
        }
        Ok(())
    }

    /// Fixes the widths and writes all that was held back.
    fn start_streaming(&mut self, out: &mut dyn Write) -> io::Result<()> {
        self.is_streaming = true;
        let rows = std::mem::take(&mut self.buffered);
        for cells in &rows {
            for (column, cell) in self.columns.iter_mut().zip(cells) {
                column.width = column.width.max(cell.width());
            }
        }
        self.write_rule(out, ["\u{250c}", "\u{252c}", "\u{2510}"])?;
        if self.has_header {
            let mut line = String::from(COLUMN);
            for column in &self.columns {
                push_padded(&column.name, column.width, false, &mut line);
            }
            writeln!(out, "{line}")?;
            self.write_rule(out, ["\u{251c}", "\u{253c}", "\u{2524}"])?;
        }
        rows.iter().try_for_each(|cells| self.write_row(out, cells))
    }

    fn write_row(&self, out: &mut dyn Write, cells: &[String]) -> io::Result<()> {
        let mut line = String::from(COLUMN);
        for (column, cell) in self.columns.iter().zip(cells) {
            push_padded(cell, column.width, column.is_right, &mut line);
        }
        writeln!(out, "{line}")
    }

    fn write_rule(&self, out: &mut dyn Write, [left, middle, right]: [&str; 3]) -> io::Result<()> {
        let mut line = String::from(left);
        for (index, column) in self.columns.iter().enumerate() {
            line.push_str(if index > 0 { middle } else { "" });
            line.extend(std::iter::repeat_n(ROW, column.width + 2));
        }
        line.push_str(right);
        writeln!(out, "{line}")
    }
}

impl Renderer for BoxRenderer {
    fn begin(&mut self, _out: &mut dyn Write) -> io::Result<()> {
        Ok(())
    }

    fn rows(&mut self, out: &mut dyn Write, batch: &RecordBatch) -> io::Result<()> {
        let columns = column_texts(batch)?;
        let mut text = String::new();
        for row in 0..batch.num_rows() {
            let cells = columns.iter().map(|column| {
                if column.is_null(row) {
                    return self.null.clone();
                }
                text.clear();
                column.write(row, &mut text);
                let mut cell = String::with_capacity(text.len());
                push_visible(&text, &mut cell);
                cell
            });
            let cells = cells.collect();
            self.row(out, cells)?;
        }
        Ok(())
    }

    fn end(&mut self, out: &mut dyn Write) -> io::Result<()> {
        if !self.is_streaming {
            self.start_streaming(out)?;
        }
        self.write_rule(out, ["\u{2514}", "\u{2534}", "\u{2518}"])?;
        if self.has_header {
            let plural = if self.row_count == 1 { "" } else { "s" };
            writeln!(out, "({} row{plural})", self.row_count)?;
        }
        Ok(())
    }
}

/// Returns a box around rows of text, without a row count; for listings of the shell.
pub(crate) fn text_box(header: &[&str], rows: Vec<Vec<String>>) -> String {
    let columns = header.iter().map(|name| ((*name).to_owned(), false));
    let mut renderer = BoxRenderer::with_columns(columns, &Style::default());
    let mut out = Vec::new();
    let visible = |text: String| {
        let mut out = String::new();
        push_visible(&text, &mut out);
        out
    };
    for cells in rows {
        // Writing into a Vec cannot fail.
        let _ = renderer.row(&mut out, cells.into_iter().map(visible).collect());
    }
    renderer.has_header = !header.is_empty();
    let _ = renderer.start_streaming_if_held(&mut out);
    let _ = renderer.write_rule(&mut out, ["\u{2514}", "\u{2534}", "\u{2518}"]);
    String::from_utf8_lossy(&out).into_owned()
}

impl BoxRenderer {
    fn start_streaming_if_held(&mut self, out: &mut dyn Write) -> io::Result<()> {
        if self.is_streaming { Ok(()) } else { self.start_streaming(out) }
    }
}

fn push_padded(text: &str, width: usize, is_right: bool, line: &mut String) {
    let blanks = std::iter::repeat_n(' ', width.saturating_sub(text.width()));
    line.push(' ');
    if is_right {
        line.extend(blanks);
        line.push_str(text);
    } else {
        line.push_str(text);
        line.extend(blanks);
    }
    line.push(' ');
    line.push_str(COLUMN);
}
