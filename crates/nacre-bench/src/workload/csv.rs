//! Writes tables as CSV files, one a table, header first.
//!
//! How: a table is cut into parts of about [`PART_BYTES`]. Threads format parts into memory, at
//! most `threads` at a time; the calling thread joins them in order and writes. So memory stays
//! below `(threads + 1) * PART_BYTES` or so, and the file is the same for any number of threads.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::thread;

use crate::error::{Error, Result};
use crate::interrupt::Interrupt;
use crate::workload::Table;

/// CSV bytes of a part, roughly.
const PART_BYTES: u64 = 8 << 20;

/// A table's CSV file.
#[derive(Clone, Debug)]
pub struct CsvFile {
    pub table: &'static Table,
    pub path: PathBuf,
    pub rows: u64,
    pub bytes: u64,
}

/// Rows of one part as CSV.
pub(crate) struct Part {
    csv: Vec<u8>,
    rows: u64,
}

/// Which part of how many; the first is 1.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cut {
    pub(crate) index: i32,
    pub(crate) count: i32,
}

/// Where and how tables are written.
pub(crate) struct Generation<'a> {
    pub(crate) scale_factor: f64,
    pub(crate) directory: &'a Path,
    pub(crate) threads: usize,
    pub(crate) interrupt: &'a Interrupt,
}

impl Part {
    /// Formats rows, one a line.
    pub(crate) fn format(rows: impl Iterator<Item = impl std::fmt::Display>) -> io::Result<Self> {
        let mut part = Self { csv: Vec::with_capacity(PART_BYTES as usize), rows: 0 };
        for row in rows {
            writeln!(part.csv, "{row}")?;
            part.rows += 1;
        }
        Ok(part)
    }
}

impl Cut {
    /// Returns this part's share of the numbers from 0 to `total`.
    pub(crate) fn range(self, total: u64) -> std::ops::Range<u64> {
        let bound = |index: i32| {
            let share = u128::from(total) * index.unsigned_abs() as u128;
            (share / self.count.unsigned_abs().max(1) as u128) as u64
        };
        bound(self.index - 1)..bound(self.index)
    }
}

impl Generation<'_> {
    /// Writes a table from the parts that `part` formats.
    ///
    /// # Errors
    /// [`Error::Io`] if the file cannot be written; [`Error::Interrupted`] soon after a signal.
    pub(crate) fn write(
        &self,
        table: &'static Table,
        part: impl Fn(&'static Table, Cut) -> io::Result<Part> + Sync,
    ) -> Result<CsvFile> {
        let path = self.directory.join(format!("{}.csv", table.name));
        let mut file = File::create(&path).map_err(Error::io("create", &path))?;
        let header = table.columns.iter().map(|column| column.name).collect::<Vec<_>>().join(",");
        writeln!(file, "{header}").map_err(Error::io("write", &path))?;

        let (mut rows, mut bytes) = (0, header.len() as u64 + 1);
        let count = part_count(table, self.scale_factor);
        let part = &part;
        let written: Result<()> = thread::scope(|scope| {
            let mut in_flight = VecDeque::new();
            let mut indices = 1..=count;
            loop {
                while in_flight.len() < self.threads.max(1)
                    && let Some(index) = indices.next()
                {
                    in_flight.push_back(scope.spawn(move || part(table, Cut { index, count })));
                }
                let Some(worker) = in_flight.pop_front() else {
                    return Ok(());
                };
                let part = match worker.join() {
                    Ok(part) => part.map_err(Error::io("write", &path))?,
                    Err(panic) => std::panic::resume_unwind(panic),
                };
                self.interrupt.check()?;
                file.write_all(&part.csv).map_err(Error::io("write", &path))?;
                rows += part.rows;
                bytes += part.csv.len() as u64;
            }
        });
        written?;
        Ok(CsvFile { table, path, rows, bytes })
    }
}

/// Returns the number of parts that a table is cut into.
pub(crate) fn part_count(table: &Table, scale_factor: f64) -> i32 {
    let bytes = table.csv_bytes as f64 * scale_factor;
    // Float to integer saturates; 754 MB * 1,000 / 8 MiB is far below the limit anyway.
    (bytes / PART_BYTES as f64).ceil().max(1.0) as i32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_cover_every_number_once() {
        for (total, count) in [(0, 1), (10, 3), (7, 7), (5, 9), (6_000_000, 91)] {
            let mut next = 0;
            for index in 1..=count {
                let range = Cut { index, count }.range(total);
                assert_eq!(range.start, next);
                next = range.end;
            }
            assert_eq!(next, total);
        }
    }

    #[test]
    fn full_disk_is_an_error_that_names_the_way_out() {
        let error = Error::io("write", Path::new("/x"))(io::Error::from_raw_os_error(28));
        assert!(error.to_string().contains("--dir"), "{error}");
    }
}
