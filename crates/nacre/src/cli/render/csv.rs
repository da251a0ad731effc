//! Mode `csv`: RFC 4180, lines ended by a line feed.

use std::io::{self, Write};

use nacre_sql::datafusion::arrow::array::RecordBatch;
use nacre_sql::datafusion::arrow::datatypes::Schema;

use super::mode::{Renderer, Style, column_names, column_texts};

/// Renders a result set as CSV.
pub(super) struct CsvRenderer {
    names: Vec<String>,
    null: String,
    has_header: bool,
}

impl CsvRenderer {
    pub(super) fn new(schema: &Schema, style: &Style) -> Self {
        let null = style.null.clone().unwrap_or_default();
        Self { names: column_names(schema), null, has_header: style.has_header }
    }
}

impl Renderer for CsvRenderer {
    fn begin(&mut self, out: &mut dyn Write) -> io::Result<()> {
        if !self.has_header {
            return Ok(());
        }
        let mut line = String::new();
        for (index, name) in self.names.iter().enumerate() {
            line.push_str(if index > 0 { "," } else { "" });
            push_field(name, "", &mut line);
        }
        writeln!(out, "{line}")
    }

    fn rows(&mut self, out: &mut dyn Write, batch: &RecordBatch) -> io::Result<()> {
        let columns = column_texts(batch)?;
        let (mut line, mut text) = (String::new(), String::new());
        for row in 0..batch.num_rows() {
            line.clear();
            for (index, column) in columns.iter().enumerate() {
                line.push_str(if index > 0 { "," } else { "" });
                if column.is_null(row) {
                    line.push_str(&self.null);
                } else {
                    text.clear();
                    column.write(row, &mut text);
                    push_field(&text, &self.null, &mut line);
                }
            }
            line.push('\n');
            out.write_all(line.as_bytes())?;
        }
        Ok(())
    }

    fn end(&mut self, _out: &mut dyn Write) -> io::Result<()> {
        Ok(())
    }
}

/// Appends a field, in quotes if it would read back as something else.
fn push_field(text: &str, null: &str, line: &mut String) {
    let is_plain = text != null
        && !text.contains([',', '"', '\n', '\r'])
        && !text.starts_with(' ')
        && !text.ends_with(' ');
    if is_plain {
        line.push_str(text);
        return;
    }
    line.push('"');
    line.push_str(&text.replace('"', "\"\""));
    line.push('"');
}
