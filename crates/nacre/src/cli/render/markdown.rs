//! Mode `markdown`: a table as GitHub's Markdown has it.

use std::io::{self, Write};

use nacre_sql::datafusion::arrow::array::RecordBatch;
use nacre_sql::datafusion::arrow::datatypes::Schema;

use super::escape::push_visible;
use super::mode::{Renderer, Style, column_names, column_texts, is_number};

/// Renders a result set as a Markdown table; the header is part of the syntax and always there.
pub(super) struct MarkdownRenderer {
    names: Vec<String>,
    is_right: Vec<bool>,
    null: String,
}

impl MarkdownRenderer {
    pub(super) fn new(schema: &Schema, style: &Style) -> Self {
        Self {
            names: column_names(schema),
            is_right: schema.fields().iter().map(|field| is_number(field)).collect(),
            null: style.null.clone().unwrap_or_else(|| "NULL".to_owned()),
        }
    }
}

impl Renderer for MarkdownRenderer {
    fn begin(&mut self, out: &mut dyn Write) -> io::Result<()> {
        let mut line = String::from("|");
        for name in &self.names {
            push_cell(name, &mut line);
        }
        line.push_str("\n|");
        for is_right in &self.is_right {
            line.push_str(if *is_right { "---:|" } else { "---|" });
        }
        writeln!(out, "{line}")
    }

    fn rows(&mut self, out: &mut dyn Write, batch: &RecordBatch) -> io::Result<()> {
        let columns = column_texts(batch)?;
        let (mut line, mut text) = (String::new(), String::new());
        for row in 0..batch.num_rows() {
            line.clear();
            line.push('|');
            for column in &columns {
                text.clear();
                if column.is_null(row) {
                    text.push_str(&self.null);
                } else {
                    column.write(row, &mut text);
                }
                push_cell(&text, &mut line);
            }
            writeln!(out, "{line}")?;
        }
        Ok(())
    }

    fn end(&mut self, _out: &mut dyn Write) -> io::Result<()> {
        Ok(())
    }
}

fn push_cell(text: &str, line: &mut String) {
    line.push(' ');
    push_visible(&text.replace('|', "\\|"), line);
    line.push_str(" |");
}
