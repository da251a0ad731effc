//! Rows of a server as batches for the renderers.
//!
//! Cells are the texts that the server sent, so that what is shown is what is there: columns of
//! numbers are marked as such, and only booleans are values, as everywhere in the shell.

use std::collections::HashMap;
use std::io;
use std::sync::Arc;

use fallible_iterator::FallibleIterator;
use nacre_sql::datafusion::arrow::array::{
    ArrayRef, BooleanBuilder, RecordBatch, RecordBatchOptions, StringBuilder,
};
use nacre_sql::datafusion::arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use postgres_protocol::message::backend::{DataRowBody, RowDescriptionBody};

use crate::cli::render::NUMBER;

/// Rows and bytes of a batch, at most.
const ROWS_MAX: usize = 1_024;
const BYTES_MAX: usize = 4 << 20;

const BOOL: u32 = 16;

/// `bigint`, `smallint`, `integer`, `oid`, `real`, `double precision`, `numeric`.
const NUMBERS: [u32; 7] = [20, 21, 23, 26, 700, 701, 1700];

/// The cells of a column.
enum Cells {
    Texts(StringBuilder),
    Bools(BooleanBuilder),
}

impl Cells {
    fn add(&mut self, cell: Option<&[u8]>) {
        match self {
            Self::Texts(texts) => texts.append_option(cell.map(String::from_utf8_lossy)),
            Self::Bools(bools) => bools.append_option(cell.map(|cell| cell == b"t")),
        }
    }

    fn take(&mut self) -> ArrayRef {
        match self {
            Self::Texts(texts) => Arc::new(texts.finish()),
            Self::Bools(bools) => Arc::new(bools.finish()),
        }
    }
}

/// Gathers rows.
pub(super) struct Rows {
    pub(super) schema: SchemaRef,
    columns: Vec<Cells>,
    rows: usize,
    bytes: usize,
}

impl Rows {
    /// Begins with the description of the columns.
    pub(super) fn new(description: &RowDescriptionBody) -> io::Result<Self> {
        let (mut fields, mut columns) = (Vec::new(), Vec::new());
        let mut described = description.fields();
        while let Some(column) = described.next()? {
            if column.type_oid() == BOOL {
                fields.push(Field::new(column.name(), DataType::Boolean, true));
                columns.push(Cells::Bools(BooleanBuilder::new()));
                continue;
            }
            let mut field = Field::new(column.name(), DataType::Utf8, true);
            if NUMBERS.contains(&column.type_oid()) {
                field.set_metadata(HashMap::from([(NUMBER.to_owned(), String::new())]));
            }
            fields.push(field);
            columns.push(Cells::Texts(StringBuilder::new()));
        }
        let schema = Arc::new(Schema::new(fields));
        Ok(Self { schema, columns, rows: 0, bytes: 0 })
    }

    /// Adds a row; true if it is time to take the batch.
    pub(super) fn add(&mut self, row: &DataRowBody) -> io::Result<bool> {
        let bad = || io::Error::new(io::ErrorKind::InvalidData, "the server sent a broken row");
        let mut ranges = row.ranges();
        for column in &mut self.columns {
            let cell = match ranges.next()?.ok_or_else(bad)? {
                Some(range) => Some(row.buffer().get(range).ok_or_else(bad)?),
                None => None,
            };
            self.bytes += cell.map_or(0, <[u8]>::len);
            column.add(cell);
        }
        self.rows += 1;
        Ok(self.rows >= ROWS_MAX || self.bytes >= BYTES_MAX)
    }

    /// Takes the rows that were added.
    pub(super) fn take(&mut self) -> io::Result<RecordBatch> {
        // Rows without columns are counted by nothing else.
        let options = RecordBatchOptions::new().with_row_count(Some(self.rows));
        (self.rows, self.bytes) = (0, 0);
        let columns = self.columns.iter_mut().map(Cells::take);
        RecordBatch::try_new_with_options(Arc::clone(&self.schema), columns.collect(), &options)
            .map_err(io::Error::other)
    }
}
