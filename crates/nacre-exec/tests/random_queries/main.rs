//! Random queries: the own engine beside PostgreSQL 15 and beside itself.
//!
//! 1. A seed makes tables, of which rows are frozen, hot, updated and deleted, and a round of
//!    queries over them.
//! 2. Each is run by one worker and compared with PostgreSQL, then in two other ways (more workers,
//!    another SIMD flavour, little memory, not optimized, no or wrong statistics) and compared with
//!    the first answer. Every fifth round has large tables and fewer queries.
//! 3. What differs is shrunk and printed with both answers and the tables' definitions.
//!
//! `NACRE_TEST_SEED` begins with another round, `NACRE_RANDOM_SECONDS` goes on for that long; see
//! `docs/fuzzing.md`. Without PostgreSQL the engine is compared with itself only.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic where it stands")]

mod aggregates;
mod compare;
mod conditions;
mod database;
mod excuses;
mod from;
mod queries;
mod rewriting;
mod scalars;
mod schema;
#[allow(dead_code, reason = "what other tests need of it")]
#[path = "../../../nacre-functions/tests/server/mod.rs"]
mod server;
mod session;
mod shrink;
#[path = "../support/mod.rs"]
mod support;
mod tree;
mod writer;

use std::collections::BTreeMap;
use std::fmt::Write;
use std::time::{Duration, Instant};

use compare::{AnswerDifference, AnswerPair, QueryAnswer, RowOrder, difference};
use database::{RandomDatabase, RunVariant};
use excuses::{excuse, plan_excuse};
use queries::RandomQuery;
use schema::{RandomTable, definition, random_tables};
use server::TestServer;
use session::PostgresSession;
use support::SeededRandom;
use writer::QueryWriter;

/// Queries over the same tables.
const ROUND_QUERIES: u64 = 100;

/// As [`ROUND_QUERIES`], over large tables.
const LARGE_ROUND_QUERIES: u64 = 20;

/// Rounds of a run that has no time of its own.
const ROUNDS: u64 = 5;

/// Differences after which a run ends.
const DIFFERENCES_MAX: usize = 40;

/// What a run has seen.
#[derive(Debug, Default)]
struct RunReport {
    queries: usize,
    /// Those with the rows, or the error, of PostgreSQL.
    compared: usize,
    with_rows: usize,
    errors: usize,
    /// Differences that are let through, by reason.
    excused: BTreeMap<&'static str, usize>,
    /// Comparisons with other ways to run a query.
    variants: BTreeMap<String, VariantCount>,
    spilled: usize,
    not_supported: BTreeMap<String, usize>,
    differences: Vec<String>,
}

/// Runs of a variant.
#[derive(Clone, Copy, Debug, Default)]
struct VariantCount {
    compared: usize,
    /// Those that took too long or needed more memory.
    unanswered: usize,
}

/// A round: tables in both engines.
struct QueryRound {
    is_large: bool,
    tables: Vec<RandomTable>,
    database: RandomDatabase,
    definitions: Vec<String>,
}

impl QueryRound {
    fn new(seed: u64, session: Option<&mut PostgresSession>) -> Self {
        let mut random = SeededRandom(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
        let is_large = seed.is_multiple_of(5);
        let tables = random_tables(is_large, &mut random);
        let mut database = RandomDatabase::new(&tables, &mut random);
        let definitions: Vec<_> = tables
            .iter()
            .enumerate()
            .map(|(index, table)| definition(table, &database.rows(index)))
            .collect();
        if let Some(session) = session {
            session.define("drop schema public cascade; create schema public");
            session.define(&definitions.join("\n"));
            session.define("analyze");
        }
        Self { is_large, tables, database, definitions }
    }

    fn query(&self, seed: u64, index: u64) -> RandomQuery {
        let start = (seed.wrapping_mul(1_000_003) + index).wrapping_mul(0x2545_f491_4f6c_dd1d);
        let mut random = SeededRandom(start);
        (0..4).for_each(|_| {
            random.below(2);
        });
        QueryWriter::new(&mut random, &self.tables).query()
    }

    /// Returns the definitions of the tables that a query names, of large ones none.
    fn definitions_of(&self, sql: &str) -> String {
        if self.is_large {
            return String::new();
        }
        let is_named =
            |(table, _): &(&RandomTable, &String)| sql.contains(&format!("{} t", table.name));
        let named = self.tables.iter().zip(&self.definitions).filter(is_named);
        named.map(|(_, text)| format!("{text}\n")).collect()
    }
}

fn number(variable: &str) -> Option<u64> {
    std::env::var(variable).ok().and_then(|text| text.parse().ok())
}

#[test]
fn random_queries_have_the_answers_of_postgresql() {
    let server = TestServer::start();
    let mut session = server.as_ref().map(PostgresSession::new);
    let seconds = number("NACRE_RANDOM_SECONDS").map(Duration::from_secs);
    let first = number("NACRE_TEST_SEED").unwrap_or(1);
    let (start, mut report) = (Instant::now(), RunReport::default());
    for seed in first.. {
        let is_over = match seconds {
            Some(seconds) => start.elapsed() > seconds,
            None => seed >= first + ROUNDS,
        };
        if is_over || report.differences.len() >= DIFFERENCES_MAX {
            break;
        }
        run_round(seed, session.as_mut(), &mut report);
    }
    print_report(&report);
    let count = report.differences.len();
    assert!(count == 0, "{count} differences, first seed {first}");
}

fn print_report(report: &RunReport) {
    println!(
        "{} queries: {} compared, {} with rows, {} errors of both",
        report.queries, report.compared, report.with_rows, report.errors
    );
    for (reason, count) in &report.excused {
        println!("{count:6} let through: {reason}");
    }
    for (variant, VariantCount { compared, unanswered }) in &report.variants {
        println!("{compared:6} compared with {variant}, {unanswered} unanswered");
    }
    println!("{:6} runs wrote temporary files", report.spilled);
    let mut refused: Vec<_> = report.not_supported.iter().collect();
    refused.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
    for (message, count) in refused.into_iter().take(40) {
        println!("{count:6} not supported: {message}");
    }
}

fn run_round(seed: u64, mut session: Option<&mut PostgresSession>, report: &mut RunReport) {
    let round = QueryRound::new(seed, session.as_deref_mut());
    let queries = if round.is_large { LARGE_ROUND_QUERIES } else { ROUND_QUERIES };
    for index in 0..queries {
        let query = round.query(seed, index);
        let sql = query.tree.text();
        report.queries += 1;
        let ours = round.database.answer(&sql, RunVariant::Plain);
        if let QueryAnswer::NotSupported(what) = &ours {
            if !report.not_supported.contains_key(what) && number("NACRE_RANDOM_REFUSED").is_some()
            {
                print_refused(&round, &query, what);
            }
            *report.not_supported.entry(what.clone()).or_default() += 1;
            continue;
        }
        let theirs = session.as_deref_mut().map(|session| session.answer(&sql));
        if let Some(theirs) = &theirs {
            count_answers(&ours, theirs, report);
            if let Some(kind) = difference(&ours, theirs, query.order) {
                let session = session.as_deref_mut().unwrap();
                match shrunk_difference(&round, &query, session, kind) {
                    ShrunkDifference::Excused(reason) => {
                        *report.excused.entry(reason).or_default() += 1;
                    }
                    ShrunkDifference::Found(text) => add_difference(report, seed, index, text),
                }
                continue;
            }
        }
        compare_variants(&round, &query, &ours, (seed, index), report);
    }
    report.spilled += round.database.spilled();
}

/// Runs a query in two other ways.
fn compare_variants(
    round: &QueryRound,
    query: &RandomQuery,
    ours: &QueryAnswer,
    (seed, index): (u64, u64),
    report: &mut RunReport,
) {
    let sql = query.tree.text();
    let variants = round.database.variants(index);
    for at in [0, 1] {
        let variant = variants[((seed + index) as usize * 2 + at) % variants.len()];
        let other = round.database.answer(&sql, variant);
        let count = report.variants.entry(variant.name()).or_default();
        match other {
            QueryAnswer::Unanswered => count.unanswered += 1,
            _ => count.compared += 1,
        }
        if let Some(kind) = difference(&other, ours, query.order) {
            match shrunk_variant(round, query, variant, kind) {
                ShrunkDifference::Excused(reason) => {
                    *report.excused.entry(reason).or_default() += 1;
                }
                ShrunkDifference::Found(text) => add_difference(report, seed, index, text),
            }
            return;
        }
    }
}

/// Prints a small query that is refused with the same message.
fn print_refused(round: &QueryRound, query: &RandomQuery, message: &str) {
    let mut is_refused = |sql: &str| match round.database.answer(sql, RunVariant::Plain) {
        QueryAnswer::NotSupported(what) => what == message,
        _ => false,
    };
    println!("{message}: {}", shrink::shrink(query.tree.clone(), &mut is_refused).text());
}

fn count_answers(ours: &QueryAnswer, theirs: &QueryAnswer, report: &mut RunReport) {
    match (ours, theirs) {
        (QueryAnswer::Rows(rows), QueryAnswer::Rows(_)) => {
            report.compared += 1;
            report.with_rows += usize::from(!rows.is_empty());
        }
        (QueryAnswer::Error { .. }, QueryAnswer::Error { state, message }) => {
            report.errors += 1;
            if state.starts_with("42") && number("NACRE_RANDOM_SECONDS").is_some() {
                println!("no query: {message}");
            }
        }
        _ => {}
    }
}

fn add_difference(report: &mut RunReport, seed: u64, index: u64, text: String) {
    println!("NACRE_TEST_SEED={seed}, query {index}\n{text}");
    report.differences.push(text);
}

/// A difference of a query that was made small.
enum ShrunkDifference {
    /// It is one of those of `docs/fuzzing.md`.
    Excused(&'static str),
    Found(String),
}

fn shrunk_difference(
    round: &QueryRound,
    query: &RandomQuery,
    session: &mut PostgresSession,
    kind: AnswerDifference,
) -> ShrunkDifference {
    let mut fails = |sql: &str| {
        let ours = round.database.answer(sql, RunVariant::Plain);
        let theirs = session.answer(sql);
        difference(&ours, &theirs, order_of(sql, query.order)) == Some(kind)
    };
    let tree = shrink::shrink(query.tree.clone(), &mut fails);
    let sql = tree.text();
    let ours = round.database.answer(&sql, RunVariant::Plain);
    let theirs = session.answer(&sql);
    let answers = AnswerPair { ours: &ours, theirs: &theirs, order: order_of(&sql, query.order) };
    if let Some(reason) = excuse(&tree, kind, &answers, &round.database, session) {
        return ShrunkDifference::Excused(reason);
    }
    let name = format!("{kind:?}, ours");
    ShrunkDifference::Found(describe(round, &sql, (&name, &ours), ("PostgreSQL", &theirs)))
}

fn shrunk_variant(
    round: &QueryRound,
    query: &RandomQuery,
    variant: RunVariant,
    kind: AnswerDifference,
) -> ShrunkDifference {
    let answers = |sql: &str| {
        let ours = round.database.answer(sql, RunVariant::Plain);
        (round.database.answer(sql, variant), ours)
    };
    let mut fails = |sql: &str| {
        let (other, ours) = answers(sql);
        difference(&other, &ours, order_of(sql, query.order)) == Some(kind)
    };
    let tree = shrink::shrink(query.tree.clone(), &mut fails);
    let sql = tree.text();
    let (other, ours) = answers(&sql);
    if let Some(reason) = plan_excuse(&tree, variant, [&other, &ours], &round.database) {
        return ShrunkDifference::Excused(reason);
    }
    let name = format!("{kind:?}, {variant:?}");
    ShrunkDifference::Found(describe(round, &sql, (&name, &other), ("plain", &ours)))
}

/// Returns how far the answer of a part of a query is determined: the part may have lost ORDER BY.
fn order_of(sql: &str, order: RowOrder) -> RowOrder {
    if support::statements::is_ordered(sql) { order } else { RowOrder::None }
}

fn describe(
    round: &QueryRound,
    sql: &str,
    (name, answer): (&str, &QueryAnswer),
    (other_name, other): (&str, &QueryAnswer),
) -> String {
    let mut text = round.definitions_of(sql);
    let _ = writeln!(text, "{sql};");
    for (name, answer) in [(name, answer), (other_name, other)] {
        let _ = writeln!(text, "-- {name}:");
        match answer {
            QueryAnswer::Rows(rows) => {
                for row in rows.iter().take(30) {
                    let fields = row.iter().map(|one| one.as_deref().unwrap_or("NULL"));
                    let _ = writeln!(text, "--   {}", fields.collect::<Vec<_>>().join(" | "));
                }
            }
            QueryAnswer::Broken { reason } => {
                let _ = writeln!(text, "--   broken: {reason}");
            }
            other => {
                let _ = writeln!(text, "--   {other:?}");
            }
        }
    }
    text
}
