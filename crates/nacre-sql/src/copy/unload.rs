//! `COPY ... TO`: rows of a table or query as CSV or text.
//!
//! A regular file appears whole or not at all: rows go to a file beside it that takes its name at
//! the end. Devices and pipes are written to directly.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::datatypes::Schema;
use datafusion::execution::SendableRecordBatchStream;
use futures::StreamExt;
use nacre_ingest::{CsvOptions, CsvWriter, Direction, Progress};

use super::options;
use super::statement::{CopyStatement, Target};
use crate::cancellation::cancelled;
use crate::error::{Error, ErrorKind, Result};
use crate::from_datafusion::from_datafusion;
use crate::from_ingest::from_ingest;
use crate::statement_io::{CopyOut, RowSink};
use crate::text::TextColumn;

/// Writes the rows of `stream`; returns their number.
pub(crate) async fn copy_to(
    statement: &CopyStatement,
    stream: SendableRecordBatchStream,
    copy_out: Option<CopyOut>,
    progress: &Arc<Progress>,
) -> Result<u64> {
    let csv = options::build(&statement.options, Direction::To)?;
    match &statement.target {
        Target::Client => {
            let columns = stream.schema().fields().len();
            let (output, has_rows_apart): (Box<dyn Write + Send>, _) = match copy_out {
                Some(CopyOut::Writer(output)) => (output, false),
                Some(CopyOut::Rows(mut sink)) => {
                    sink.begin(columns);
                    (Box::new(RowWriter(sink)), true)
                }
                None => {
                    return Err(Error::not_supported("COPY TO STDOUT where there is no output"));
                }
            };
            let to = Destination { output, path: Path::new("STDOUT"), has_rows_apart };
            let (rows, mut output) = write_rows(stream, to, &csv, progress).await?;
            output.flush().map_err(|error| write_error(Path::new("STDOUT"), &error))?;
            Ok(rows)
        }
        Target::File(path) => {
            let mut file = OutputFile::create(Path::new(path))?;
            let to = Destination {
                output: file.writer()?,
                path: Path::new(path),
                has_rows_apart: false,
            };
            let (rows, _) = write_rows(stream, to, &csv, progress).await?;
            file.finish()?;
            Ok(rows)
        }
    }
}

/// Where rows go.
struct Destination<'a, W> {
    output: W,
    path: &'a Path,
    /// Whether each row is to be a write of its own.
    has_rows_apart: bool,
}

async fn write_rows<W: Write>(
    mut stream: SendableRecordBatchStream,
    to: Destination<'_, W>,
    csv: &CsvOptions,
    progress: &Progress,
) -> Result<(u64, W)> {
    let schema = stream.schema();
    let names: Vec<&str> = column_names(&schema);
    let Destination { output, path, has_rows_apart } = to;
    let mut writer = CsvWriter::create(output, &names, csv).map_err(from_ingest)?;
    if has_rows_apart {
        writer = writer.with_rows_apart().map_err(|error| write_error(path, &error))?;
    }
    let mut rows = 0;
    while let Some(batch) = stream.next().await {
        if progress.is_cancelled() {
            return Err(cancelled());
        }
        let batch = batch.map_err(from_datafusion)?;
        write_batch(&batch, path, &mut writer)?;
        rows += batch.num_rows() as u64;
        // ORDERING: a figure for a progress bar.
        progress.rows_done.store(rows, Ordering::Relaxed);
        if has_rows_apart {
            tokio::task::yield_now().await;
        }
    }
    let output = writer.finish().map_err(|error| write_error(path, &error))?;
    Ok((rows, output))
}

fn column_names(schema: &Schema) -> Vec<&str> {
    schema.fields().iter().map(|field| field.name().as_str()).collect()
}

fn write_batch<W: Write>(
    batch: &RecordBatch,
    path: &Path,
    writer: &mut CsvWriter<W>,
) -> Result<()> {
    let columns: Vec<TextColumn<'_>> = batch.columns().iter().map(TextColumn::new).collect();
    let as_is: Vec<bool> =
        columns.iter().map(|column| column.is_simple() && writer.writes_simple_as_is()).collect();
    let mut text = Vec::new();
    for row in 0..batch.num_rows() {
        for (column, as_is) in columns.iter().zip(&as_is) {
            if *as_is {
                writer.put_field_with(|out| column.put(row, out))?;
                continue;
            }
            text.clear();
            let is_valid = column.put(row, &mut text)?;
            writer.put_field(is_valid.then_some(text.as_slice()));
        }
        writer.end_row().map_err(|error| write_error(path, &error))?;
    }
    Ok(())
}

/// Hands on what is written as rows: the writer writes each by itself.
struct RowWriter(Box<dyn RowSink>);

impl Write for RowWriter {
    fn write(&mut self, row: &[u8]) -> io::Result<usize> {
        self.0.row(row);
        Ok(row.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A file that appears under its name when it is finished.
struct OutputFile {
    path: PathBuf,
    /// Where the bytes go until then; `None` if they go to `path` itself.
    partial: Option<PathBuf>,
}

impl OutputFile {
    fn create(path: &Path) -> Result<Self> {
        let is_special = fs::metadata(path).is_ok_and(|metadata| !metadata.is_file());
        // A link stays one: what it points to is replaced.
        let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
        if is_special {
            return Ok(Self { path, partial: None });
        }
        let mut name = path.file_name().unwrap_or_default().to_os_string();
        name.push(format!(".partial-{}", std::process::id()));
        let partial = Some(path.with_file_name(name));
        Ok(Self { path, partial })
    }

    fn writer(&self) -> Result<File> {
        let path = self.partial.as_ref().unwrap_or(&self.path);
        File::create(path).map_err(|error| {
            let message =
                format!("could not open file \"{}\" for writing: {error}", self.path.display());
            Error::new(ErrorKind::Io, message)
        })
    }

    fn finish(&mut self) -> Result<()> {
        if let Some(partial) = self.partial.take() {
            fs::rename(&partial, &self.path).map_err(|error| {
                let _ = fs::remove_file(&partial);
                write_error(&self.path, &error)
            })?;
        }
        Ok(())
    }
}

impl Drop for OutputFile {
    fn drop(&mut self) {
        if let Some(partial) = &self.partial {
            let _ = fs::remove_file(partial);
        }
    }
}

fn write_error(path: &Path, error: &io::Error) -> Error {
    let kind = match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::FileTooLarge => {
            ErrorKind::DiskFull
        }
        _ => ErrorKind::Io,
    };
    Error::new(kind, format!("could not write to \"{}\": {error}", path.display()))
}
