//! Queries of a workload next to other engines, in turn.
//!
//! 1. Each engine is a process of its own with the same rows and as many threads as Nacre.
//! 2. A query is run once by everybody, which is not measured: its answers are compared
//!    ([`compare_approximately`]), and what it fails with, or differs in, is printed.
//! 3. Then it is run in turns, whose medians are the figures. The ratio is to the fastest peer.
//!
//! Rows that tie where a final `LIMIT` cuts may differ in two right answers. So if answers differ,
//! the query is compared without its limit.
//!
//! Failures and differences do not end the run: they are counted, and are its error at the end.

use std::borrow::Cow;
use std::time::{Duration, Instant};

use super::process::PeerProcess;
use crate::bench::Setup;
use crate::engine::{Engine, QueryEngine};
use crate::error::{Error, Result};
use crate::format::median;
use crate::report::{Measurement, Report};
use crate::workload::{Answer, Mismatch, compare_approximately};

/// A query that is measured.
pub(in crate::bench) struct PeerQuery<'a> {
    /// In tables and messages, such as `Q1`.
    pub(in crate::bench) title: Cow<'a, str>,
    /// In ids, such as `q01`.
    pub(in crate::bench) slug: String,
    pub(in crate::bench) sql: Cow<'a, str>,
    /// Whether it has one right answer.
    pub(in crate::bench) is_deterministic: bool,
}

/// Nacre with a workload's rows, and how it is measured.
pub(in crate::bench) struct PeerContest<'a> {
    pub(in crate::bench) setup: &'a Setup,
    pub(in crate::bench) nacre: &'a Engine,
    /// In ids, such as `tpch`.
    pub(in crate::bench) workload: &'static str,
    /// The first parameter of ids, such as `sf=1`.
    pub(in crate::bench) size: String,
    pub(in crate::bench) repetitions: usize,
}

/// What became of a query.
struct QueryTimes {
    engine: QueryEngine,
    ours: Duration,
    /// By peer; `None` if it refuses the query.
    theirs: Vec<Option<Duration>>,
}

/// What a run found out beside times.
#[derive(Default)]
struct PeerTally {
    /// Logarithms of the ratios to the fastest peer.
    ratios: Vec<f64>,
    queries: usize,
    /// Queries that the own engine ran.
    own: usize,
    /// Queries that failed.
    failures: usize,
    /// Queries whose answers differ.
    differences: usize,
}

impl<'a> PeerQuery<'a> {
    /// Makes a query that has one right answer.
    pub(in crate::bench) fn new(
        title: &'a str,
        slug: String,
        sql: impl Into<Cow<'a, str>>,
    ) -> Self {
        Self { title: title.into(), slug, sql: sql.into(), is_deterministic: true }
    }
}

/// Starts the peers that are asked for and there; the others are named.
///
/// # Errors
/// Failing input and output.
pub(in crate::bench) fn start_peers(setup: &Setup) -> Result<Vec<PeerProcess>> {
    let mut peers = Vec::new();
    for engine in &setup.peers {
        setup.interrupt.check()?;
        match PeerProcess::start(*engine, setup.workspace.path(), setup.threads)? {
            Some(peer) => peers.push(peer),
            None => setup.console.line(format_args!(
                "\n{} was not found: no module of it in the Python of NACRE_BENCH_PYTHON",
                engine.name()
            ))?,
        }
    }
    Ok(peers)
}

impl PeerContest<'_> {
    /// Measures the queries and prints a table of them.
    ///
    /// # Errors
    /// [`Error::Deviation`] at the end if queries failed or answers differ; failing input and
    /// output.
    pub(in crate::bench) async fn run(
        &self,
        report: &mut Report,
        peers: &mut [PeerProcess],
        queries: &[PeerQuery<'_>],
    ) -> Result<()> {
        self.print_header(peers)?;
        let mut tally = PeerTally { queries: queries.len(), ..PeerTally::default() };
        for query in queries {
            let timed = self.measure(peers, query, &mut tally).await?;
            let Some(times) = timed else { continue };
            tally.own += usize::from(times.engine == QueryEngine::Nacre);
            self.report_query(report, peers, query, &times, &mut tally)?;
        }
        self.print_tally(&tally)?;
        tally.outcome()
    }

    /// Returns the medians of a query; `None` if Nacre fails.
    async fn measure(
        &self,
        peers: &mut [PeerProcess],
        query: &PeerQuery<'_>,
        tally: &mut PeerTally,
    ) -> Result<Option<QueryTimes>> {
        self.setup.interrupt.check()?;
        let title = &query.title;
        let (answer, engine) = match self.nacre.try_query_by(&query.sql).await? {
            (Ok(answer), engine) => (answer, engine),
            (Err(error), _) => {
                tally.failures += 1;
                self.setup.console.line(format_args!("   {title:<8} Nacre failed: {error}"))?;
                return Ok(None);
            }
        };
        let mut theirs = Vec::new();
        for peer in peers.iter_mut() {
            let runs = self.check_peer(peer, query, &answer, tally).await?;
            theirs.push(runs.then(Vec::new));
        }
        let mut ours = Vec::new();
        for _ in 0..self.repetitions {
            self.setup.interrupt.check()?;
            let start = Instant::now();
            self.nacre.query(&query.sql).await?;
            ours.push(start.elapsed());
            for (peer, times) in peers.iter_mut().zip(&mut theirs) {
                if let Some(times) = times {
                    times.push(peer.run(&query.sql)?);
                }
            }
        }
        let theirs = theirs.iter().map(|times| times.as_deref().map(median)).collect();
        Ok(Some(QueryTimes { engine, ours: median(&ours), theirs }))
    }

    /// Runs a query at a peer and compares the answers. Returns whether the peer can run it.
    async fn check_peer(
        &self,
        peer: &mut PeerProcess,
        query: &PeerQuery<'_>,
        ours: &Answer,
        tally: &mut PeerTally,
    ) -> Result<bool> {
        let theirs = match peer.answer(&query.sql) {
            Ok(answer) => answer,
            Err(Error::Child(message)) => {
                tally.failures += 1;
                self.setup.console.line(format_args!("   {:<8} {message}", query.title))?;
                return Ok(false);
            }
            Err(error) => return Err(error),
        };
        if !query.is_deterministic {
            return Ok(true);
        }
        let mut compared = compare_approximately(ours, &theirs);
        if compared.is_err()
            && let Some(unlimited) = without_limit(&query.sql)
        {
            // If an engine cannot run it, the difference stands.
            let ours = self.nacre.try_query(unlimited).await?;
            if let (Ok(ours), Ok(theirs)) = (ours, peer.answer(unlimited)) {
                compared = compare_approximately(&ours, &theirs);
            }
        }
        if let Err(difference) = compared {
            tally.differences += 1;
            let (subject, reference) = (query.title.to_string(), peer.name().to_owned());
            let mismatch = Mismatch { subject, reference, difference };
            self.setup.console.line(format_args!("   DIFFERENT: {mismatch}"))?;
        }
        Ok(true)
    }

    fn print_header(&self, peers: &[PeerProcess]) -> Result<()> {
        let names = peers.iter().map(|peer| format!("{} {}", peer.name(), peer.version));
        let names: String = names.map(|name| format!("{name:>18}")).collect();
        let (beside, ratio) = match peers {
            [] => ("Nacre alone", ""),
            _ => ("Next to other engines, ratio to the fastest of them", "ratio"),
        };
        self.setup.console.line(format_args!(
            "\n{beside}, warm, median of {} runs in turn, ms\n   query         Nacre {names} \
             {ratio:>7}  engine",
            self.repetitions
        ))
    }

    fn report_query(
        &self,
        report: &mut Report,
        peers: &[PeerProcess],
        query: &PeerQuery<'_>,
        times: &QueryTimes,
        tally: &mut PeerTally,
    ) -> Result<()> {
        let (workload, slug) = (self.workload, &query.slug);
        let parameters = format!("{},threads={}", self.size, self.setup.threads);
        let (ours, is_emulated) = (milliseconds(times.ours), self.nacre.is_emulated());
        let mut columns = String::new();
        for (peer, time) in peers.iter().zip(&times.theirs) {
            let Some(theirs) = time.map(milliseconds) else {
                columns.push_str(&format!("{:>18}", "-"));
                continue;
            };
            columns.push_str(&format!("{theirs:>18.1}"));
            let name = peer.name();
            let id = format!("query/{workload}-{slug}-peers/nacre/{parameters},peer={name}");
            let measurement = Measurement::new(id, ours, "ms").against(name, theirs);
            report.add(&measurement.emulated(is_emulated))?;
        }
        if peers.is_empty() {
            let id = format!("query/{workload}-{slug}/nacre/{parameters}");
            report.add(&Measurement::new(id, ours, "ms").emulated(is_emulated))?;
        }
        let ratio = times.theirs.iter().flatten().min().map(|fastest| {
            let ratio = ours.max(1e-6) / milliseconds(*fastest).max(1e-6);
            tally.ratios.push(ratio.ln());
            format!("{ratio:.2}")
        });
        self.setup.console.line(format_args!(
            "   {:<8} {ours:>10.1} {columns} {:>7}  {}",
            query.title,
            ratio.unwrap_or_default(),
            times.engine.name()
        ))
    }

    fn print_tally(&self, tally: &PeerTally) -> Result<()> {
        let console = self.setup.console;
        if !tally.ratios.is_empty() {
            let mean = tally.ratios.iter().sum::<f64>() / tally.ratios.len() as f64;
            console.line(format_args!(
                "   geometric mean of the ratios of {} queries {:.2}",
                tally.ratios.len(),
                mean.exp()
            ))?;
        }
        console.line(format_args!(
            "   {} of {} queries ran in Nacre's own engine, {} failed, {} answers differ",
            tally.own, tally.queries, tally.failures, tally.differences
        ))
    }
}

impl PeerTally {
    /// Returns an error if anything went wrong.
    fn outcome(&self) -> Result<()> {
        if self.failures + self.differences == 0 {
            return Ok(());
        }
        Err(Error::Deviation(format!(
            "{} queries failed and {} answers differ, as printed above",
            self.failures, self.differences
        )))
    }
}

/// Returns a query without its final `LIMIT`, if it has one.
fn without_limit(sql: &str) -> Option<&str> {
    let trimmed = sql.trim_end().trim_end_matches(';');
    let start = trimmed.to_ascii_lowercase().rfind("limit")?;
    let mut words = trimmed.get(start + "limit".len()..)?.split_whitespace();
    let is_number = |word: Option<&str>| word.is_some_and(|word| word.parse::<u64>().is_ok());
    let is_limit = is_number(words.next())
        && match words.next() {
            None => true,
            Some(word) => word.eq_ignore_ascii_case("offset") && is_number(words.next()),
        }
        && words.next().is_none();
    if is_limit { trimmed.get(..start) } else { None }
}

fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_limit_at_the_end_is_cut() {
        assert_eq!(without_limit("select 1 LIMIT 10"), Some("select 1 "));
        assert_eq!(without_limit("select 1\nlimit 10 offset 5;\n"), Some("select 1\n"));
        assert_eq!(without_limit("select * from (select 1 limit 10) as x order by 1"), None);
        assert_eq!(without_limit("select a limit"), None);
        assert_eq!(without_limit("select 1"), None);
    }

    #[test]
    fn what_goes_wrong_is_the_error_of_the_run() {
        assert!(PeerTally { queries: 3, own: 3, ..PeerTally::default() }.outcome().is_ok());
        let error = PeerTally { differences: 1, ..PeerTally::default() }.outcome().unwrap_err();
        assert!(error.to_string().contains("1 answers differ"), "{error}");
    }
}
