//! Random queries: the own engine beside PostgreSQL 15 and beside itself.
//!
//! 1. A seed makes tables, of which rows are frozen, hot, updated and deleted, and a round of
//!    queries over them.
//! 2. Each is run by one worker and compared with PostgreSQL, then in two other ways (more workers,
//!    another SIMD flavour, little memory, not optimized, other statistics) and compared with the
//!    first answer.
//! 3. What differs is shrunk and printed with both answers and the tables' definitions.
//!
//! `NACRE_TEST_SEED` begins with another round, `NACRE_RANDOM_SECONDS` goes on for that long; see
//! `docs/fuzzing.md`. Without PostgreSQL the engine is compared with itself only.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic where it stands")]

mod aggregates;
mod compare;
mod conditions;
mod database;
mod from;
mod queries;
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

use compare::{AnswerDifference, QueryAnswer, RowOrder, difference};
use database::{RandomDatabase, RunVariant};
use queries::RandomQuery;
use schema::{RandomTable, definition, random_tables};
use server::TestServer;
use session::PostgresSession;
use support::SeededRandom;
use writer::QueryWriter;

/// Queries over the same tables.
const ROUND_QUERIES: u64 = 100;

/// Rounds of a run that has no time of its own.
const ROUNDS: u64 = 4;

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
    /// Of one side only; see `depends_on_order`.
    errors_of_order: usize,
    not_supported: BTreeMap<String, usize>,
    differences: Vec<String>,
}

/// A round: tables in both engines.
struct QueryRound {
    tables: Vec<RandomTable>,
    database: RandomDatabase,
    definitions: Vec<String>,
}

impl QueryRound {
    fn new(seed: u64, session: Option<&mut PostgresSession>) -> Self {
        let mut random = SeededRandom(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
        let tables = random_tables(&mut random);
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
        Self { tables, database, definitions }
    }

    fn query(&self, seed: u64, index: u64) -> RandomQuery {
        let start = (seed.wrapping_mul(1_000_003) + index).wrapping_mul(0x2545_f491_4f6c_dd1d);
        let mut random = SeededRandom(start);
        (0..4).for_each(|_| {
            random.below(2);
        });
        QueryWriter::new(&mut random, &self.tables).query()
    }

    /// Returns the definitions of the tables that a query names.
    fn definitions_of(&self, sql: &str) -> String {
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
        "{} queries: {} compared, {} with rows, {} errors, {} errors that depend on the order",
        report.queries, report.compared, report.with_rows, report.errors, report.errors_of_order
    );
    let mut refused: Vec<_> = report.not_supported.iter().collect();
    refused.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
    for (message, count) in refused.into_iter().take(40) {
        println!("{count:6} not supported: {message}");
    }
}

fn run_round(seed: u64, mut session: Option<&mut PostgresSession>, report: &mut RunReport) {
    let round = QueryRound::new(seed, session.as_deref_mut());
    for index in 0..ROUND_QUERIES {
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
                    Some(text) => add_difference(report, seed, index, text),
                    None => report.errors_of_order += 1,
                }
                continue;
            }
        }
        for at in [0, 1] {
            let others = RunVariant::OTHERS;
            let variant = others[(index as usize * 2 + at) % others.len()];
            let other = round.database.answer(&sql, variant);
            if let Some(kind) = difference(&other, &ours, query.order) {
                let text = shrunk_variant(&round, &query, variant, kind);
                add_difference(report, seed, index, text);
                break;
            }
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

/// Returns the difference of a query that was made small; none if it is let through.
fn shrunk_difference(
    round: &QueryRound,
    query: &RandomQuery,
    session: &mut PostgresSession,
    kind: AnswerDifference,
) -> Option<String> {
    let mut fails = |sql: &str| {
        let ours = round.database.answer(sql, RunVariant::Plain);
        let theirs = session.answer(sql);
        difference(&ours, &theirs, order_of(sql, query.order)) == Some(kind)
    };
    let sql = shrink::shrink(query.tree.clone(), &mut fails).text();
    if depends_on_order(round, &sql, kind) {
        return None;
    }
    let ours = round.database.answer(&sql, RunVariant::Plain);
    let theirs = session.answer(&sql);
    Some(describe(round, &sql, (&format!("{kind:?}, ours"), &ours), ("PostgreSQL", &theirs)))
}

/// Whether only one side fails since it evaluates an expression for other rows, of a query that is
/// as small as it can be.
///
/// 1. PostgreSQL fails, and the query reads several items of FROM or has a query within: it
///    evaluates conditions of one item before it finds that the others have no partners for its
///    rows, and a query without outer columns before it finds that no row needs it.
/// 2. We fail, and the query has an outer join: PostgreSQL leaves out one of which no column is
///    wanted, if a key says that it adds no rows.
fn depends_on_order(round: &QueryRound, sql: &str, kind: AnswerDifference) -> bool {
    let places = |name: &str| {
        let places = [format!(" {name} t"), format!("({name} t")];
        places.iter().map(|place| sql.matches(place).count()).sum::<usize>()
    };
    let items = ["values", "generate_series", "unnest"].map(|word| sql.matches(word).count());
    let tables = round.tables.iter().map(|table| places(table.name));
    let sources = tables.chain(items).sum::<usize>();
    match kind {
        AnswerDifference::TheirError => sources > 1 || sql.matches("select").count() > 1,
        AnswerDifference::OurError => {
            [" left join ", " right join "].iter().any(|word| sql.contains(word))
        }
        _ => false,
    }
}

fn shrunk_variant(
    round: &QueryRound,
    query: &RandomQuery,
    variant: RunVariant,
    kind: AnswerDifference,
) -> String {
    let answers = |sql: &str| {
        let ours = round.database.answer(sql, RunVariant::Plain);
        (round.database.answer(sql, variant), ours)
    };
    let mut fails = |sql: &str| {
        let (other, ours) = answers(sql);
        difference(&other, &ours, order_of(sql, query.order)) == Some(kind)
    };
    let sql = shrink::shrink(query.tree.clone(), &mut fails).text();
    let (other, ours) = answers(&sql);
    describe(round, &sql, (&format!("{kind:?}, {variant:?}"), &other), ("plain", &ours))
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
