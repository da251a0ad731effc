//! The figures as a table for programs: a row for each contestant of each cell.
//!
//! | column | meaning |
//! |---|---|
//! | structure, pages, pattern, update_bytes, replicas | the cell; 0 replicas are the baselines |
//! | mechanism | contestant: `switched`, a mechanism, or `libpmemobj` |
//! | updates_per_s | median over the rounds |
//! | overhead_percent | of the time without replicas; empty for a baseline |
//! | noise_percent | half the distance between the quartiles, of the overhead's ratio or the rate |
//! | emulated | whether durability was only imitated |
//! | chosen | the mechanism that the switch takes in this cell, for runs that are switched |

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use super::library;
use super::measure::{Series, Spread, overhead_percent};
use super::options::Variant;
use super::rounds::CellFigures;
use super::session::Cell;
use crate::error::{Error, Result};

const HEADING: &str = "structure,pages,pattern,update_bytes,replicas,mechanism,updates_per_s,\
                       overhead_percent,noise_percent,emulated,chosen";

/// The file, if one is wanted.
pub(super) struct CsvFile {
    file: Option<(PathBuf, BufWriter<File>)>,
}

impl CsvFile {
    /// Creates the file with its heading, or empties it, now, so that a bad path is told early.
    pub(super) fn create(path: Option<&Path>) -> Result<CsvFile> {
        let open = |path: &Path| -> Result<_> {
            let file = File::create(path).map_err(Error::io("create", path))?;
            Ok((path.to_path_buf(), BufWriter::new(file)))
        };
        let mut csv = CsvFile { file: path.map(open).transpose()? };
        csv.line(HEADING)?;
        csv.flush()?;
        Ok(csv)
    }

    /// Writes all contestants of a cell; `baseline` is ours without replicas.
    pub(super) fn add(
        &mut self,
        figures: &CellFigures,
        baseline: Variant,
        is_emulated: bool,
    ) -> Result<()> {
        let cell = figures.cell;
        let none = cell.baseline();
        let switched = |variant, chosen| match variant {
            Variant::Switched => chosen,
            Variant::Static(_) => None,
        };
        let chosen = switched(baseline, figures.chosen_plain);
        self.line(&row(none, baseline.name(), &figures.plain, is_emulated, chosen))?;
        for (variant, series) in &figures.variants {
            let chosen = switched(*variant, figures.chosen);
            self.line(&row(cell, variant.name(), series, is_emulated, chosen))?;
        }
        if let Some((plain, replicated)) = &figures.library {
            self.line(&row(none, library::NAME, plain, is_emulated, None))?;
            if !replicated.rates.is_empty() {
                self.line(&row(cell, library::NAME, replicated, is_emulated, None))?;
            }
        }
        self.flush()
    }

    fn line(&mut self, text: &str) -> Result<()> {
        let Some((path, file)) = &mut self.file else {
            return Ok(());
        };
        writeln!(file, "{text}").map_err(Error::io("write", path))
    }

    fn flush(&mut self) -> Result<()> {
        let Some((path, file)) = &mut self.file else {
            return Ok(());
        };
        file.flush().map_err(Error::io("write", path))
    }
}

fn row(
    cell: Cell,
    mechanism: &str,
    series: &Series,
    is_emulated: bool,
    chosen: Option<Variant>,
) -> String {
    let Cell { workload, access, update_bytes, replicas, pages } = cell;
    let rate = Spread::of(&series.rates);
    let chosen = chosen.map_or("", |chosen| chosen.name());
    let (overhead, noise) = match series.slowdowns.is_empty() {
        true => (String::new(), rate.noise_percent()),
        false => {
            let slowdown = Spread::of(&series.slowdowns);
            (format!("{:.1}", overhead_percent(slowdown.median)), slowdown.noise_percent())
        }
    };
    format!(
        "{},{},{},{update_bytes},{replicas},{mechanism},{:.0},\
         {overhead},{noise:.1},{is_emulated},{chosen}",
        workload.name(),
        pages.name(),
        access.name(),
        rate.median,
    )
}

#[cfg(test)]
mod tests {
    use super::super::options::{AccessPattern, PageSize, Workload};
    use super::*;

    #[test]
    fn rows_have_the_columns_of_the_heading() {
        let cell = Cell {
            workload: Workload::CsTx,
            access: AccessPattern::Sequential,
            update_bytes: 64,
            replicas: 2,
            pages: PageSize::Small,
        };
        let mut series = Series::default();
        [(1e6, 2e6), (1e6, 2.5e6), (1e6, 3e6)]
            .iter()
            .for_each(|(rate, base)| series.push(*rate, *base));
        let chosen = "MOVNT+SF".parse().ok().map(Variant::Static);
        let text = row(cell, "switched", &series, true, chosen);
        assert_eq!(text, "cs-tx,4k,sequential,64,2,switched,1000000,150.0,10.0,true,MOVNT+SF");
        assert_eq!(text.split(',').count(), HEADING.split(',').count());
        series.slowdowns.clear();
        let text = row(cell.baseline(), "SF", &series, false, None);
        assert_eq!(text, "cs-tx,4k,sequential,64,0,SF,1000000,,0.0,false,");
    }

    #[test]
    fn bad_path_is_told_early() {
        let error = CsvFile::create(Some(Path::new("/nowhere/x"))).err().unwrap();
        assert!(error.to_string().starts_with("cannot create /nowhere/x: "));
        CsvFile::create(None).unwrap();
    }
}
