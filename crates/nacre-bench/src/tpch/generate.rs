//! The data of TPC-H: the rows of the TPC's own generator, as CSV files.

use std::io;
use std::path::Path;

use tpchgen::csv::{
    CustomerCsv, LineItemCsv, NationCsv, OrderCsv, PartCsv, PartSuppCsv, RegionCsv, SupplierCsv,
};
use tpchgen::generators::{
    CustomerGenerator, LineItemGenerator, NationGenerator, OrderGenerator, PartGenerator,
    PartSuppGenerator, PartSuppGeneratorIterator, RegionGenerator, SupplierGenerator,
};

use crate::error::{Error, Result};
use crate::interrupt::Interrupt;
use crate::tpch::TABLES;
use crate::workload::{CsvFile, Cut, Generation, Part, Table};

/// Smallest scale factor: each table still has a row, and parts have four different suppliers.
const SCALE_FACTOR_MIN: f64 = 0.01;

/// Largest scale factor: keys of all tables but orders and lineitem still fit `integer`.
const SCALE_FACTOR_MAX: f64 = 1_000.0;

/// Rejects scale factors for which there are no data with sound keys.
pub fn check_scale_factor(scale_factor: f64) -> Result<()> {
    if !(SCALE_FACTOR_MIN..=SCALE_FACTOR_MAX).contains(&scale_factor) {
        return Err(Error::Usage(format!(
            "scale factor {scale_factor} is out of range: give one from {SCALE_FACTOR_MIN} to \
             {SCALE_FACTOR_MAX}"
        )));
    }
    if has_duplicate_suppliers(scale_factor) {
        return Err(Error::Usage(format!(
            "TPC-H gives a part the same supplier twice at scale factor {scale_factor}, which \
             breaks the primary key of partsupp: give {SCALE_FACTOR_MIN} or one from 0.1"
        )));
    }
    Ok(())
}

/// Tells whether some part has the same supplier twice.
///
/// The four suppliers of a part are a step of `S / 4 + (part - 1) / S` apart, modulo their number
/// `S = 10,000 * scale_factor`. The second summand is below 20, so that for `S > 240` three steps
/// never make a whole turn; up to there it depends on `S`.
fn has_duplicate_suppliers(scale_factor: f64) -> bool {
    const SUPPLIERS_TO_LOOK_AT: i64 = 240;
    let suppliers = SupplierGenerator::calculate_row_count(scale_factor, 1, 1);
    let parts = PartGenerator::calculate_row_count(scale_factor, 1, 1);
    suppliers <= SUPPLIERS_TO_LOOK_AT
        && (1..=parts).any(|part| {
            let supplier = |number| {
                PartSuppGeneratorIterator::select_part_supplier(part, number, scale_factor)
            };
            let four = [0, 1, 2, 3].map(supplier);
            (1..4).any(|index| four[..index].contains(&four[index]))
        })
}

/// Writes the eight tables into a directory, as `lineitem.csv` and so on, in the order of
/// [`TABLES`].
///
/// # Errors
/// [`Error::Usage`] for a scale factor out of range, [`Error::Io`] if a file cannot be written; a
/// full disk is told apart by the source's kind.
pub fn generate(scale_factor: f64, directory: &Path, threads: usize) -> Result<Vec<CsvFile>> {
    generate_until(scale_factor, directory, threads, &Interrupt::default())
}

/// Like [`generate`], but stops soon after a signal.
pub(crate) fn generate_until(
    scale_factor: f64,
    directory: &Path,
    threads: usize,
    interrupt: &Interrupt,
) -> Result<Vec<CsvFile>> {
    check_scale_factor(scale_factor)?;
    let generation = Generation { scale_factor, directory, threads, interrupt };
    let write = |table| generation.write(table, |table, cut| part(table, scale_factor, cut));
    TABLES.iter().map(write).collect()
}

/// Formats one part of a table.
fn part(table: &Table, scale_factor: f64, cut: Cut) -> io::Result<Part> {
    macro_rules! rows {
        ($generator:ident, $csv:ident) => {{
            let rows = $generator::new(scale_factor, cut.index, cut.count).iter();
            Part::format(rows.map($csv::new))
        }};
    }
    match table.name {
        "region" => rows!(RegionGenerator, RegionCsv),
        "nation" => rows!(NationGenerator, NationCsv),
        "supplier" => rows!(SupplierGenerator, SupplierCsv),
        "customer" => rows!(CustomerGenerator, CustomerCsv),
        "part" => rows!(PartGenerator, PartCsv),
        "partsupp" => rows!(PartSuppGenerator, PartSuppCsv),
        "orders" => rows!(OrderGenerator, OrderCsv),
        "lineitem" => rows!(LineItemGenerator, LineItemCsv),
        name => Err(io::Error::other(format!("TPC-H has no table {name}"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::part_count;

    #[test]
    fn files_hold_header_and_rows_as_reported_whatever_the_number_of_threads() {
        let scale_factor = 0.02;
        let (one, two) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let first = generate(scale_factor, one.path(), 1).unwrap();
        let second = generate(scale_factor, two.path(), 3).unwrap();
        assert_eq!(first.len(), TABLES.len());
        assert!(part_count(first[7].table, scale_factor) > 1);
        for (first, second) in first.iter().zip(&second) {
            let text = std::fs::read_to_string(&first.path).unwrap();
            assert!(text == std::fs::read_to_string(&second.path).unwrap());
            assert_eq!(text.len() as u64, first.bytes);
            assert_eq!(text.lines().count() as u64, first.rows + 1);
            let header: Vec<_> = text.lines().next().unwrap().split(',').collect();
            let names: Vec<_> = first.table.columns.iter().map(|column| column.name).collect();
            assert_eq!(header, names);
        }
    }

    #[test]
    fn scale_factors_without_data_are_refused() {
        for scale_factor in [0.0, -1.0, 0.0001, 1_001.0, f64::NAN, f64::INFINITY] {
            assert!(matches!(check_scale_factor(scale_factor), Err(Error::Usage(_))));
        }
        for scale_factor in [0.01, 0.02, 0.1, 1.0, 10.0, 1_000.0] {
            check_scale_factor(scale_factor).unwrap();
        }
    }

    #[test]
    fn scale_factor_at_which_a_part_has_a_supplier_twice_is_refused() {
        let error = check_scale_factor(0.012).unwrap_err();
        assert!(error.to_string().contains("partsupp"), "{error}");
        for thousandths in 10..=30 {
            let scale_factor = f64::from(thousandths) / 1e3;
            let mut keys = std::collections::HashSet::new();
            let is_unique = PartSuppGenerator::new(scale_factor, 1, 1)
                .iter()
                .all(|row| keys.insert((row.ps_partkey, row.ps_suppkey)));
            assert_eq!(check_scale_factor(scale_factor).is_ok(), is_unique, "{scale_factor}");
        }
    }

    #[test]
    fn file_that_cannot_be_made_is_named() {
        let error = generate(0.01, Path::new("/nowhere/at/all"), 1).unwrap_err();
        assert!(error.to_string().starts_with("cannot create /nowhere/at/all/region.csv: "));
    }
}
