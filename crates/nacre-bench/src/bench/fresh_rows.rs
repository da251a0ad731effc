//! `nacre bench tpch --fresh`: what rows that transactions inserted cost the queries.
//!
//! Questions: does one row in each table change how long queries take (bar: none by more than
//! 10 %), and how much longer do they take if a tenth of `orders` and `lineitem` is hot (bar: 1.3
//! times)? Baseline: a database of the same data, all of it loaded by COPY and so frozen.
//!
//! How:
//! 1. A second database is loaded and gets a row in each table, like another one with a key of its
//!    own. Answers are compared with those that DataFusion gives over the same rows, then with the
//!    baseline's once the rows are deleted.
//! 2. A third one is loaded without the last tenth of both files, which INSERT adds. Answers are
//!    compared with the baseline's.
//!
//! Both databases run a query in turn; medians count. Nothing is frozen meanwhile: fresh databases
//! have no upkeep.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use nacre_sql::OpenOptions;

use crate::bench::Setup;
use crate::engine::Engine;
use crate::error::{Error, Result};
use crate::format::{count, geometric_mean_ms, median};
use crate::report::{Measurement, Report};
use crate::tpch::QUERIES;
use crate::workload::{CsvFile, Query, Table};

const REPETITIONS: usize = 9;
const REPETITIONS_QUICK: usize = 3;

/// The tables of which a part is inserted.
const FRESH_TABLES: [&str; 2] = ["orders", "lineitem"];

/// A database with fresh rows next to one without.
struct FreshContest<'a> {
    setup: &'a Setup,
    frozen: &'a Engine,
    fresh: &'a Engine,
    /// In ids: what is fresh.
    name: &'static str,
    /// Whether answers are compared with DataFusion's over the same rows, not with the baseline's.
    has_other_rows: bool,
}

/// Reports what fresh rows cost, next to a database with none.
pub(super) async fn report_fresh_rows(
    setup: &Setup,
    frozen: &Engine,
    files: &[CsvFile],
    report: &mut Report,
) -> Result<()> {
    report_one_row(setup, frozen, files, report).await?;
    report_fresh_tenth(setup, frozen, files, report).await
}

async fn report_one_row(
    setup: &Setup,
    frozen: &Engine,
    files: &[CsvFile],
    report: &mut Report,
) -> Result<()> {
    let name = "one-row";
    let fresh = open_unattended(setup, name)?;
    for file in files {
        setup.interrupt.check()?;
        fresh.create_and_load(file, Arc::default()).await?;
    }
    fresh.finish_replicas(&setup.interrupt)?;
    for file in files {
        fresh.query(&insert_statement(file.table)).await?;
    }
    let contest = FreshContest { setup, frozen, fresh: &fresh, name, has_other_rows: true };
    contest.run(report, "a row inserted into each table").await?;
    for file in files {
        fresh.query(&delete_statement(file.table)).await?;
    }
    for query in &QUERIES {
        setup.interrupt.check()?;
        contest.compare(query).await?;
    }
    setup.console.line("   With the rows deleted again the answers are those of before")
}

async fn report_fresh_tenth(
    setup: &Setup,
    frozen: &Engine,
    files: &[CsvFile],
    report: &mut Report,
) -> Result<()> {
    let name = "fresh-tenth";
    let fresh = open_unattended(setup, name)?;
    let inserted = load_with_fresh_tenth(setup, &fresh, files).await?;
    let contest = FreshContest { setup, frozen, fresh: &fresh, name, has_other_rows: false };
    let title = format!("{} rows of orders and lineitem inserted", count(inserted));
    contest.run(report, &title).await?;
    require_hot(&fresh, files, inserted)
}

/// Opens a database that nothing is frozen in unless it is asked to.
fn open_unattended(setup: &Setup, name: &str) -> Result<Engine> {
    Engine::open_with(OpenOptions {
        directory: Some(setup.workspace.path().join(name)),
        threads: Some(setup.threads),
        is_unattended: true,
        ..OpenOptions::default()
    })
}

/// Returns the statement that inserts a row like another one, with a key above all others.
fn insert_statement(table: &Table) -> String {
    let name = table.name;
    let key = table.primary_key.first().copied();
    let values = table.columns.iter().map(|column| match column.name {
        own if Some(own) == key => format!("(SELECT max({own}) + 1 FROM {name})"),
        own => own.to_owned(),
    });
    let values = values.collect::<Vec<_>>().join(", ");
    format!("INSERT INTO {name} SELECT {values} FROM {name} LIMIT 1")
}

/// Returns the statement that deletes what [`insert_statement`] inserted.
fn delete_statement(table: &Table) -> String {
    let (name, key) = (table.name, table.primary_key.first().copied().unwrap_or_default());
    format!("DELETE FROM {name} WHERE {key} = (SELECT max({key}) FROM {name})")
}

/// Loads all rows but the last tenth of [`FRESH_TABLES`], which is inserted. Returns how many rows
/// these are.
async fn load_with_fresh_tenth(setup: &Setup, fresh: &Engine, files: &[CsvFile]) -> Result<u64> {
    let cut = setup.workspace.subdirectory("cut")?;
    let mut rests = Vec::new();
    for file in files {
        setup.interrupt.check()?;
        let table = file.table;
        if FRESH_TABLES.contains(&table.name) {
            let [loaded, rest] = cut_csv(&file.path, &cut)?;
            fresh.query(&table.create_statement(table.name)).await?;
            fresh.load(table.name, &loaded, Arc::default()).await?;
            rests.push((table, rest));
        } else {
            fresh.create_and_load(file, Arc::default()).await?;
        }
    }
    fresh.finish_replicas(&setup.interrupt)?;
    let mut inserted = 0;
    for (table, rest) in rests {
        setup.interrupt.check()?;
        let (name, source) = (table.name, format!("fresh_{}", table.name));
        fresh.query(&table.create_statement_without_key(&source)).await?;
        inserted += fresh.load(&source, &rest, Arc::default()).await?.rows;
        fresh.query(&format!("INSERT INTO {name} SELECT * FROM {source}")).await?;
        fresh.query(&format!("DROP TABLE {source}")).await?;
    }
    Ok(inserted)
}

/// Cuts a CSV file in two, each with its header: the first nine tenths, and the rest.
fn cut_csv(path: &Path, directory: &Path) -> Result<[PathBuf; 2]> {
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    let parts = ["loaded", "fresh"].map(|part| directory.join(format!("{stem}-{part}.csv")));
    let cut = || -> io::Result<()> {
        let mut source = BufReader::new(File::open(path)?);
        let bytes = source.get_ref().metadata()?.len() / 10 * 9;
        let mut header = Vec::new();
        source.read_until(b'\n', &mut header)?;
        let mut loaded = File::create(&parts[0])?;
        loaded.write_all(&header)?;
        io::copy(
            &mut source.by_ref().take(bytes.saturating_sub(header.len() as u64)),
            &mut loaded,
        )?;
        let mut line = Vec::new();
        source.read_until(b'\n', &mut line)?;
        loaded.write_all(&line)?;
        let mut fresh = File::create(&parts[1])?;
        fresh.write_all(&header)?;
        io::copy(&mut source, &mut fresh)?;
        Ok(())
    };
    cut().map_err(Error::io("cut", path))?;
    Ok(parts)
}

/// Checks that rows which were inserted are still hot.
fn require_hot(fresh: &Engine, files: &[CsvFile], inserted: u64) -> Result<()> {
    let mut hot = 0;
    for file in files.iter().filter(|file| FRESH_TABLES.contains(&file.table.name)) {
        let name = file.table.name;
        let table = fresh.database().store().table(name);
        let table = table.map_err(Error::store(format_args!("find {name}")))?;
        // Of no moment: frozen rows alone.
        hot += file.rows.saturating_sub(table.snapshot().rows());
    }
    if hot == inserted {
        return Ok(());
    }
    Err(Error::Deviation(format!("of {inserted} rows that were inserted {hot} are hot")))
}

impl FreshContest<'_> {
    async fn run(&self, report: &mut Report, title: &str) -> Result<()> {
        let console = self.setup.console;
        let is_quick = self.setup.is_quick;
        let repetitions = if is_quick { REPETITIONS_QUICK } else { REPETITIONS };
        console.line(format_args!(
            "\nTPC-H at scale factor {}, {} threads, {title}, median of {repetitions} runs in turn",
            self.setup.scale_factor, self.setup.threads
        ))?;
        console.line("   query       fresh ms    frozen ms   ratio")?;
        let (mut fresh, mut frozen) = (Vec::new(), Vec::new());
        for query in &QUERIES {
            let times = self.measure(query, repetitions).await?;
            let slug = format!("q{:02}", query.number);
            self.report_query(report, query.name, &slug, times.map(milliseconds))?;
            fresh.push(times[0]);
            frozen.push(times[1]);
        }
        let means = [fresh, frozen].map(|times| geometric_mean_ms(&times));
        self.report_query(report, "geomean", "geomean", means)
    }

    /// Returns the medians of the fresh and the frozen database.
    async fn measure(&self, query: &Query, repetitions: usize) -> Result<[Duration; 2]> {
        self.setup.interrupt.check()?;
        let sql = query.sql(self.setup.scale_factor);
        if self.has_other_rows {
            let ours = self.fresh.query(&sql).await?;
            self.fresh.query("SET nacre.engine = datafusion").await?;
            let theirs = self.fresh.query(&sql).await?;
            self.fresh.query("SET nacre.engine = auto").await?;
            query.check(&ours, &theirs, "DataFusion over the same rows")?;
            self.frozen.query(&sql).await?;
        } else {
            self.compare(query).await?;
        }
        let mut times = [Vec::new(), Vec::new()];
        for _ in 0..repetitions {
            self.setup.interrupt.check()?;
            for (engine, times) in [self.fresh, self.frozen].into_iter().zip(&mut times) {
                let start = Instant::now();
                engine.query(&sql).await?;
                times.push(start.elapsed());
            }
        }
        Ok(times.map(|times| median(&times)))
    }

    /// Compares the answers of both databases.
    async fn compare(&self, query: &Query) -> Result<()> {
        let sql = query.sql(self.setup.scale_factor);
        let (ours, theirs) = (self.fresh.query(&sql).await?, self.frozen.query(&sql).await?);
        query.check(&ours, &theirs, "the frozen database")
    }

    fn report_query(
        &self,
        report: &mut Report,
        title: &str,
        slug: &str,
        [fresh, frozen]: [f64; 2],
    ) -> Result<()> {
        let parameters = format!("sf={},threads={}", self.setup.scale_factor, self.setup.threads);
        let id = format!("query/tpch-{slug}-{}/nacre/{parameters}", self.name);
        let measurement = Measurement::new(id, fresh, "ms")
            .against("frozen", frozen)
            .emulated(self.fresh.is_emulated());
        report.add(&measurement)?;
        let ratio = measurement.ratio().unwrap_or_default();
        self.setup
            .console
            .line(format_args!("   {title:<8} {fresh:>11.1} {frozen:>12.1} {ratio:>7.2}"))
    }
}

fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tpch::table;

    #[test]
    fn files_are_cut_between_two_lines() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("t.csv");
        let lines: String = (0..100).map(|line| format!("{line:03},x\n")).collect();
        std::fs::write(&path, format!("a,b\n{lines}")).unwrap();
        let parts = cut_csv(&path, directory.path()).unwrap();
        let texts = parts.map(|part| std::fs::read_to_string(part).unwrap());
        let [loaded, fresh] = texts.each_ref().map(|text| text.strip_prefix("a,b\n").unwrap());
        assert_eq!(format!("{loaded}{fresh}"), lines);
        assert!((8..=12).contains(&fresh.lines().count()), "{fresh}");
    }

    #[test]
    fn inserted_row_has_the_greatest_key() {
        let region = table("region").unwrap();
        assert_eq!(
            insert_statement(region),
            "INSERT INTO region SELECT (SELECT max(r_regionkey) + 1 FROM region), r_name, \
             r_comment FROM region LIMIT 1"
        );
        assert_eq!(
            delete_statement(region),
            "DELETE FROM region WHERE r_regionkey = (SELECT max(r_regionkey) FROM region)"
        );
    }
}
