//! Rows of a server as batches for the renderers.
//!
//! All cells are the texts that the server sent, so that what is shown is what is there: columns of
//! numbers are marked as such, and booleans read `true` and `false` as everywhere in the shell.

use std::collections::HashMap;
use std::io;
use std::sync::Arc;

use fallible_iterator::FallibleIterator;
use nacre_sql::datafusion::arrow::array::{RecordBatch, StringBuilder};
use nacre_sql::datafusion::arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use postgres_protocol::message::backend::{DataRowBody, RowDescriptionBody};

use crate::cli::render::NUMBER;

/// Rows and bytes of a batch, at most.
const ROWS_MAX: usize = 1_024;
const BYTES_MAX: usize = 4 << 20;

const BOOL: u32 = 16;

/// `bigint`, `smallint`, `integer`, `oid`, `real`, `double precision`, `numeric`.
const NUMBERS: [u32; 7] = [20, 21, 23, 26, 700, 701, 1700];

/// Gathers rows.
pub(super) struct Rows {
    pub(super) schema: SchemaRef,
    columns: Vec<StringBuilder>,
    is_bool: Vec<bool>,
    rows: usize,
    bytes: usize,
}

impl Rows {
    /// Begins with the description of the columns.
    pub(super) fn new(description: &RowDescriptionBody) -> io::Result<Self> {
        let (mut fields, mut is_bool) = (Vec::new(), Vec::new());
        let mut described = description.fields();
        while let Some(column) = described.next()? {
            let mut field = Field::new(column.name(), DataType::Utf8, true);
            if NUMBERS.contains(&column.type_oid()) {
                field.set_metadata(HashMap::from([(NUMBER.to_owned(), String::new())]));
            }
            fields.push(field);
            is_bool.push(column.type_oid() == BOOL);
        }
        let columns = fields.iter().map(|_| StringBuilder::new()).collect();
        let schema = Arc::new(Schema::new(fields));
        Ok(Self { schema, columns, is_bool, rows: 0, bytes: 0 })
    }

    /// Adds a row; true if it is time to take the batch.
    pub(super) fn add(&mut self, row: &DataRowBody) -> io::Result<bool> {
        let bad = || io::Error::new(io::ErrorKind::InvalidData, "the server sent a broken row");
        let mut ranges = row.ranges();
        for (column, is_bool) in self.columns.iter_mut().zip(&self.is_bool) {
            let Some(range) = ranges.next()?.ok_or_else(bad)? else {
                column.append_null();
                continue;
            };
            let cell = row.buffer().get(range).ok_or_else(bad)?;
            self.bytes += cell.len();
            match (is_bool, cell) {
                (true, b"t") => column.append_value("true"),
                (true, b"f") => column.append_value("false"),
                _ => column.append_value(String::from_utf8_lossy(cell)),
            }
        }
        self.rows += 1;
        Ok(self.rows >= ROWS_MAX || self.bytes >= BYTES_MAX)
    }

    /// Takes the rows that were added.
    pub(super) fn take(&mut self) -> io::Result<RecordBatch> {
        (self.rows, self.bytes) = (0, 0);
        let schema = Arc::clone(&self.schema);
        // A result without columns has no rows to show.
        if self.columns.is_empty() {
            return Ok(RecordBatch::new_empty(schema));
        }
        let columns = self.columns.iter_mut().map(|column| Arc::new(column.finish()) as _);
        RecordBatch::try_new(schema, columns.collect()).map_err(io::Error::other)
    }
}
