//! Mode `list`: values with `|` between them, nothing around them.

use std::io::{self, Write};

use nacre_sql::datafusion::arrow::array::RecordBatch;
use nacre_sql::datafusion::arrow::datatypes::Schema;

use super::escape::push_visible;
use super::mode::{Renderer, Style, column_names, column_texts};

/// Renders a result set as bare lines.
pub(super) struct ListRenderer {
    names: Vec<String>,
    null: String,
    has_header: bool,
}

impl ListRenderer {
    pub(super) fn new(schema: &Schema, style: &Style) -> Self {
        let null = style.null.clone().unwrap_or_default();
        Self { names: column_names(schema), null, has_header: style.has_header }
    }
}

impl Renderer for ListRenderer {
    fn begin(&mut self, out: &mut dyn Write) -> io::Result<()> {
        if !self.has_header {
            return Ok(());
        }
        let mut line = String::new();
        push_visible(&self.names.join("|"), &mut line);
        writeln!(out, "{line}")
    }

    fn rows(&mut self, out: &mut dyn Write, batch: &RecordBatch) -> io::Result<()> {
        let columns = column_texts(batch)?;
        let (mut line, mut text) = (String::new(), String::new());
        for row in 0..batch.num_rows() {
            line.clear();
            for (index, column) in columns.iter().enumerate() {
                line.push_str(if index > 0 { "|" } else { "" });
                if column.is_null(row) {
                    line.push_str(&self.null);
                } else {
                    text.clear();
                    column.write(row, &mut text);
                    push_visible(&text, &mut line);
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
