//! Ways to scan, and queries that are run in each of them in turn.

use std::time::{Duration, Instant};

use crate::bench::Setup;
use crate::engine::Engine;
use crate::error::Result;
use crate::format::median;
use crate::report::Measurement;
use crate::tpch::QUERIES;
use crate::workload::{Answer, Query};

/// Rows of a vector unless a session sets another number.
pub(super) const VECTOR_ROWS: usize = 8_192;

/// A sum without conditions: nothing but a scan.
static SUM: Query = Query::new(0, "sum", "SELECT sum(l_extendedprice) FROM lineitem", &[]);

/// The rows of TPC-H in replicas of one kind.
pub(super) struct ScannedDatabase {
    /// In ids and tables.
    pub(super) replicas: &'static str,
    pub(super) engine: Engine,
}

/// Both databases, and how they are measured.
pub(super) struct ScanContest<'a> {
    pub(super) setup: &'a Setup,
    pub(super) plain: ScannedDatabase,
    pub(super) compressed: ScannedDatabase,
    /// Parameters of ids, such as `sf=1,threads=2`.
    pub(super) parameters: String,
    pub(super) repetitions: usize,
}

/// A way to scan.
#[derive(Clone, Copy)]
pub(super) struct ScanVariant<'a> {
    pub(super) database: &'a ScannedDatabase,
    /// Whether scans decide conditions on encoded values.
    pub(super) is_restricted: bool,
    pub(super) vector_rows: usize,
}

/// Returns the queries of TPC-H and the sum.
pub(super) fn scan_queries() -> impl Iterator<Item = &'static Query> {
    QUERIES.iter().chain([&SUM])
}

/// Returns a query's name in ids, such as `tpch-q01`.
pub(super) fn structure(query: &Query) -> String {
    match query.number {
        0 => format!("tpch-{}", query.name),
        number => format!("tpch-q{number:02}"),
    }
}

/// Returns a time in milliseconds.
pub(super) fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

impl ScanVariant<'_> {
    async fn set(&self) -> Result<()> {
        let restrictions = if self.is_restricted { "on" } else { "off" };
        let engine = &self.database.engine;
        engine.query(&format!("SET nacre.scan_restrictions = {restrictions}")).await?;
        engine.query(&format!("SET nacre.vector_rows = {}", self.vector_rows)).await?;
        Ok(())
    }
}

impl ScanContest<'_> {
    /// Runs a query in several ways in turn and returns the medians.
    ///
    /// # Errors
    /// [`crate::Error::Mismatch`] if two ways have other answers.
    pub(super) async fn measure(
        &self,
        query: &Query,
        variants: &[ScanVariant<'_>],
    ) -> Result<Vec<Duration>> {
        let sql = query.sql(self.setup.scale_factor);
        let mut first: Option<Answer> = None;
        for variant in variants {
            self.setup.interrupt.check()?;
            variant.set().await?;
            let answer = variant.database.engine.query(&sql).await?;
            if let Some(first) = &first {
                query.check(&answer, first, "another way to scan")?;
            }
            first.get_or_insert(answer);
        }
        let mut times = vec![Vec::new(); variants.len()];
        for _ in 0..self.repetitions {
            for (variant, times) in variants.iter().zip(&mut times) {
                self.setup.interrupt.check()?;
                variant.set().await?;
                let start = Instant::now();
                variant.database.engine.query(&sql).await?;
                times.push(start.elapsed());
            }
        }
        Ok(times.iter().map(|times| median(times)).collect())
    }

    /// Makes a measurement of both databases' kind of durability.
    pub(super) fn measurement(&self, id: String, value: f64, unit: &'static str) -> Measurement {
        let databases = [&self.plain, &self.compressed];
        let is_emulated = databases.iter().any(|one| one.engine.is_emulated());
        Measurement::new(id, value, unit).emulated(is_emulated)
    }
}
