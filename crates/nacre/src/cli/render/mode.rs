//! The output modes by name, what the user can choose about them, and what each of them does.

use std::fmt;
use std::io::{self, Write};
use std::str::FromStr;

use nacre_sql::datafusion::arrow::array::RecordBatch;
use nacre_sql::datafusion::arrow::datatypes::{Field, Schema};
use nacre_sql::datafusion::arrow::error::ArrowError;

use super::{boxes, csv, json, line, list, markdown};
use crate::cli::value::ColumnText;

/// How rows are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    Box,
    Csv,
    Json,
    JsonLines,
    Line,
    List,
    Markdown,
}

/// What the user has chosen for output.
#[derive(Clone, Debug)]
pub(crate) struct Style {
    pub(crate) mode: Mode,
    /// Shown for NULL instead of the mode's own text; JSON keeps `null`.
    pub(crate) null: Option<String>,
    /// Column names in `box`, `csv`, `list`; and the row count below a box.
    pub(crate) has_header: bool,
}

/// Writes one result set.
pub(crate) trait Renderer {
    /// Writes what comes before the rows.
    fn begin(&mut self, out: &mut dyn Write) -> io::Result<()>;

    /// Takes some rows.
    fn rows(&mut self, out: &mut dyn Write, batch: &RecordBatch) -> io::Result<()>;

    /// Writes what comes after the last row.
    fn end(&mut self, out: &mut dyn Write) -> io::Result<()>;
}

const NAMES: &[(&str, Mode)] = &[
    ("box", Mode::Box),
    ("csv", Mode::Csv),
    ("json", Mode::Json),
    ("jsonlines", Mode::JsonLines),
    ("line", Mode::Line),
    ("list", Mode::List),
    ("markdown", Mode::Markdown),
];

impl Mode {
    /// Returns the names of all modes.
    pub(crate) fn names() -> impl Iterator<Item = &'static str> {
        NAMES.iter().map(|(name, _)| *name)
    }

    /// Creates the renderer of a result set.
    pub(crate) fn renderer(self, schema: &Schema, style: &Style) -> Box<dyn Renderer> {
        match self {
            Self::Box => Box::new(boxes::BoxRenderer::new(schema, style)),
            Self::Csv => Box::new(csv::CsvRenderer::new(schema, style)),
            Self::Json => Box::new(json::JsonRenderer::new(schema, json::Layout::Array)),
            Self::JsonLines => Box::new(json::JsonRenderer::new(schema, json::Layout::Lines)),
            Self::Line => Box::new(line::LineRenderer::new(schema, style)),
            Self::List => Box::new(list::ListRenderer::new(schema, style)),
            Self::Markdown => Box::new(markdown::MarkdownRenderer::new(schema, style)),
        }
    }
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = NAMES.iter().find(|(_, mode)| mode == self).map_or("", |(name, _)| name);
        f.write_str(name)
    }
}

impl FromStr for Mode {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        let aliases = [("ndjson", "jsonlines"), ("md", "markdown"), ("aligned", "box")];
        let name = name.to_ascii_lowercase();
        let name = aliases.iter().find(|(alias, _)| *alias == name).map_or(&*name, |(_, is)| is);
        NAMES.iter().find(|(known, _)| *known == name).map(|(_, mode)| *mode).ok_or_else(|| {
            let known: Vec<&str> = Self::names().collect();
            format!("unknown output mode \"{name}\"; one of {}", known.join(", "))
        })
    }
}

impl Default for Style {
    fn default() -> Self {
        Self { mode: Mode::Box, null: None, has_header: true }
    }
}

/// Key in the metadata of a field whose texts are numbers.
pub(crate) const NUMBER: &str = "nacre.number";

/// Whether the values of a column are numbers.
pub(super) fn is_number(field: &Field) -> bool {
    field.data_type().is_numeric() || field.metadata().contains_key(NUMBER)
}

/// Prepares the text of all columns of a batch.
pub(super) fn column_texts(batch: &RecordBatch) -> io::Result<Vec<ColumnText<'_>>> {
    let texts: Result<Vec<_>, ArrowError> = batch.columns().iter().map(ColumnText::new).collect();
    texts.map_err(io::Error::other)
}

pub(super) fn column_names(schema: &Schema) -> Vec<String> {
    schema.fields().iter().map(|field| field.name().clone()).collect()
}
