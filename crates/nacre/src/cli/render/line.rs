//! Mode `line`: one value a line, for rows that are wide; psql calls it expanded display.

use std::io::{self, Write};

use nacre_sql::datafusion::arrow::array::RecordBatch;
use nacre_sql::datafusion::arrow::datatypes::Schema;
use unicode_width::UnicodeWidthStr;

use super::escape::push_visible;
use super::mode::{Renderer, Style, column_names, column_texts};

/// Renders a result set as `name = value` lines with an empty line between rows.
pub(super) struct LineRenderer {
    /// Names, padded to one width.
    names: Vec<String>,
    null: String,
    is_first: bool,
}

impl LineRenderer {
    pub(super) fn new(schema: &Schema, style: &Style) -> Self {
        let names = column_names(schema).into_iter().map(|name| {
            let mut visible = String::new();
            push_visible(&name, &mut visible);
            visible
        });
        let names: Vec<String> = names.collect();
        let width = names.iter().map(|name| name.width()).max().unwrap_or(0);
        let pad = |name: String| format!("{}{name}", " ".repeat(width - name.width()));
        Self {
            names: names.into_iter().map(pad).collect(),
            null: style.null.clone().unwrap_or_else(|| "NULL".to_owned()),
            is_first: true,
        }
    }
}

impl Renderer for LineRenderer {
    fn begin(&mut self, _out: &mut dyn Write) -> io::Result<()> {
        Ok(())
    }

    fn rows(&mut self, out: &mut dyn Write, batch: &RecordBatch) -> io::Result<()> {
        let columns = column_texts(batch)?;
        let (mut lines, mut text) = (String::new(), String::new());
        for row in 0..batch.num_rows() {
            lines.clear();
            lines.push_str(if self.is_first { "" } else { "\n" });
            self.is_first = false;
            for (name, column) in self.names.iter().zip(&columns) {
                lines.push_str(name);
                lines.push_str(" = ");
                if column.is_null(row) {
                    lines.push_str(&self.null);
                } else {
                    text.clear();
                    column.write(row, &mut text);
                    push_visible(&text, &mut lines);
                }
                lines.push('\n');
            }
            out.write_all(lines.as_bytes())?;
        }
        Ok(())
    }

    fn end(&mut self, _out: &mut dyn Write) -> io::Result<()> {
        Ok(())
    }
}
