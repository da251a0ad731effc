//! What is planned: queries, and the databases that they are planned over.

use std::borrow::Cow;
use std::fmt::Write;
use std::sync::Arc;

use crate::bench::Setup;
use crate::bench::tpcds::DsFolder;
use crate::engine::Engine;
use crate::error::Result;
use crate::workload::{CsvFile, Query};
use crate::{ssb, tpch};

/// Numbers of relations that are joined.
const RELATIONS: [usize; 6] = [4, 6, 8, 10, 12, 14];
const RELATIONS_QUICK: [usize; 3] = [4, 8, 12];
/// The most of [`RELATIONS`].
const RELATIONS_MAX: usize = 14;

/// Bytes of the query whose conditions are many.
const CONDITIONS_BYTES: usize = 64 << 10;
const CONDITIONS_BYTES_QUICK: usize = 8 << 10;
/// Constants of the query that has a long list of them.
const CONSTANTS: usize = 10_000;
const CONSTANTS_QUICK: usize = 1_000;

/// A query that is planned.
pub(super) struct PlannedQuery {
    /// In tables, such as `Q1`.
    pub(super) title: String,
    /// In ids, such as `tpch-q01`.
    pub(super) structure: String,
    /// In ids, such as `sf=1`.
    pub(super) parameters: String,
    pub(super) sql: Cow<'static, str>,
}

/// Queries over one database.
pub(super) struct PlanningGroup {
    /// In tables.
    pub(super) title: String,
    /// The workload whose median is reported, if it is one.
    pub(super) workload: Option<&'static str>,
    pub(super) nacre: Engine,
    pub(super) queries: Vec<PlannedQuery>,
}

impl PlannedQuery {
    fn new(title: &str, structure: String, parameters: &str, sql: Cow<'static, str>) -> Self {
        Self { title: title.to_owned(), structure, parameters: parameters.to_owned(), sql }
    }

    /// Makes a query of a workload: `slug` is its name in ids.
    fn of_workload(workload: &str, slug: &str, query: &Query, scale_factor: f64) -> Self {
        let parameters = format!("sf={scale_factor}");
        let sql = query.sql(scale_factor);
        Self::new(query.name, format!("{workload}-{slug}"), &parameters, sql)
    }
}

/// Returns the queries of TPC-H over its rows.
pub(super) async fn tpch_group(setup: &Setup) -> Result<PlanningGroup> {
    let (scale_factor, csv) = (setup.scale_factor, setup.workspace.subdirectory("tpch")?);
    let files = tpch::generate_until(scale_factor, &csv, setup.threads, &setup.interrupt)?;
    let query = |query: &Query| {
        PlannedQuery::of_workload("tpch", &format!("q{:02}", query.number), query, scale_factor)
    };
    Ok(PlanningGroup {
        title: format!("TPC-H at scale factor {scale_factor}"),
        workload: Some("tpch"),
        nacre: loaded(setup, "tpch-database", &files).await?,
        queries: tpch::QUERIES.iter().map(query).collect(),
    })
}

/// Returns the queries of SSB over its rows.
pub(super) async fn ssb_group(setup: &Setup) -> Result<PlanningGroup> {
    let (scale_factor, csv) = (setup.scale_factor, setup.workspace.subdirectory("ssb")?);
    let files = ssb::generate_until(scale_factor, &csv, setup.threads, &setup.interrupt)?;
    let query = |query: &Query| {
        PlannedQuery::of_workload("ssb", &query.name.to_lowercase(), query, scale_factor)
    };
    Ok(PlanningGroup {
        title: format!("SSB at scale factor {scale_factor}"),
        workload: Some("ssb"),
        nacre: loaded(setup, "ssb-database", &files).await?,
        queries: ssb::QUERIES.iter().map(query).collect(),
    })
}

/// Returns the queries of TPC-DS over the rows of a folder.
pub(super) async fn tpcds_group(setup: &Setup, folder: &DsFolder) -> Result<PlanningGroup> {
    let nacre = opened(setup, "tpcds-database").await?;
    folder.load(setup, &nacre).await?;
    let parameters = format!("sf={}", folder.scale_factor);
    let queries = folder.queries.iter().map(|query| {
        let structure = format!("tpcds-{}", query.name);
        PlannedQuery::new(&query.name, structure, &parameters, query.sql.clone().into())
    });
    Ok(PlanningGroup {
        title: format!("TPC-DS at scale factor {}", folder.scale_factor),
        workload: Some("tpcds"),
        queries: queries.collect(),
        nacre,
    })
}

/// Returns the conditions of a join of so many relations.
type JoinEdges = fn(usize) -> Vec<String>;

/// Returns queries of shapes of their own: joins in chains and cliques, one row by its key, and
/// long texts.
pub(super) async fn shape_group(setup: &Setup) -> Result<PlanningGroup> {
    let nacre = opened(setup, "shapes-database").await?;
    for relation in 1..=RELATIONS_MAX {
        create_relation(&nacre, relation).await?;
    }
    let counts: &[usize] = if setup.is_quick { &RELATIONS_QUICK } else { &RELATIONS };
    let mut queries = vec![PlannedQuery::new(
        "point",
        "point".to_owned(),
        "columns=1",
        "SELECT k1, k2 FROM r14 WHERE id = 700".into(),
    )];
    let shapes: [(&str, JoinEdges); 3] =
        [("chain", chain_edges), ("clique", clique_edges), ("key", key_edges)];
    for (structure, edges) in shapes {
        queries.extend(counts.iter().map(|count| {
            let title = format!("{structure} {count}");
            let parameters = format!("relations={count}");
            let sql = joined_relations(*count, &edges(*count));
            PlannedQuery::new(&title, structure.to_owned(), &parameters, sql.into())
        }));
    }
    let (bytes, constants) = if setup.is_quick {
        (CONDITIONS_BYTES_QUICK, CONSTANTS_QUICK)
    } else {
        (CONDITIONS_BYTES, CONSTANTS)
    };
    let (parameters, sql) = (format!("bytes={bytes}"), many_conditions(bytes));
    queries.push(PlannedQuery::new("AND", "and".to_owned(), &parameters, sql.into()));
    let (parameters, sql) = (format!("constants={constants}"), many_constants(constants));
    queries.push(PlannedQuery::new("IN", "in".to_owned(), &parameters, sql.into()));
    Ok(PlanningGroup { title: "Other shapes".to_owned(), workload: None, nacre, queries })
}

async fn opened(setup: &Setup, name: &str) -> Result<Engine> {
    Engine::open(&setup.workspace.path().join(name), Some(setup.threads)).await
}

async fn loaded(setup: &Setup, name: &str, files: &[CsvFile]) -> Result<Engine> {
    let nacre = opened(setup, name).await?;
    for file in files {
        setup.interrupt.check()?;
        nacre.create_and_load(file, Arc::default()).await?;
    }
    nacre.finish_replicas(&setup.interrupt)?;
    Ok(nacre)
}

/// Creates a relation with a key and a column for each other relation. Later ones have more rows
/// and values, so that orders of joins differ in what they cost.
async fn create_relation(nacre: &Engine, relation: usize) -> Result<()> {
    let mut columns = "id integer PRIMARY KEY".to_owned();
    let mut values = "n".to_owned();
    for other in 1..=RELATIONS_MAX {
        // Writing to a string cannot fail.
        let _ = write!(columns, ", k{other} integer NOT NULL");
        let _ = write!(values, ", n % {}", 7 * (relation + other));
    }
    nacre.query(&format!("CREATE TABLE r{relation} ({columns})")).await?;
    let rows = 100 * relation;
    let series = format!("generate_series(1, {rows}) AS g (n)");
    nacre.query(&format!("INSERT INTO r{relation} SELECT {values} FROM {series}")).await?;
    Ok(())
}

fn joined_relations(count: usize, edges: &[String]) -> String {
    let relations: Vec<String> = (1..=count).map(|relation| format!("r{relation}")).collect();
    format!("SELECT sum(r1.id) FROM {} WHERE {}", relations.join(", "), edges.join(" AND "))
}

/// Returns the condition that joins two relations, by columns that no other one is about.
fn edge(one: usize, other: usize) -> String {
    format!("r{one}.k{other} = r{other}.k{one}")
}

/// Each relation with the next one.
fn chain_edges(count: usize) -> Vec<String> {
    (1..count).map(|relation| edge(relation, relation + 1)).collect()
}

/// Each relation with each.
fn clique_edges(count: usize) -> Vec<String> {
    (1..=count).flat_map(|one| (1..one).map(move |other| edge(other, one))).collect()
}

/// All relations by one key: a clique, once it is seen that all keys are equal.
fn key_edges(count: usize) -> Vec<String> {
    (2..=count).map(|relation| format!("r1.id = r{relation}.id")).collect()
}

/// Returns a query of at most so many bytes.
fn many_conditions(bytes_max: usize) -> String {
    let mut sql = "SELECT sum(k1) FROM r14 WHERE id > 0".to_owned();
    let mut number = 0;
    loop {
        number += 1;
        let condition = format!(" AND k{} <> {}", 1 + number % RELATIONS_MAX, 1_000 + number);
        if sql.len() + condition.len() > bytes_max {
            return sql;
        }
        sql.push_str(&condition);
    }
}

fn many_constants(count: usize) -> String {
    let constants: Vec<String> = (1..=count).map(|one| (3 * one).to_string()).collect();
    format!("SELECT sum(k1) FROM r14 WHERE id IN ({})", constants.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn graphs_have_their_edges() {
        assert_eq!(chain_edges(3), ["r1.k2 = r2.k1", "r2.k3 = r3.k2"]);
        assert_eq!(clique_edges(3), ["r1.k2 = r2.k1", "r1.k3 = r3.k1", "r2.k3 = r3.k2"]);
        assert_eq!(clique_edges(12).len(), 66);
        assert_eq!(
            joined_relations(2, &key_edges(2)),
            "SELECT sum(r1.id) FROM r1, r2 WHERE r1.id = r2.id"
        );
    }

    #[test]
    fn long_texts_are_as_long_as_they_say() {
        let conditions = many_conditions(CONDITIONS_BYTES).len();
        assert!((CONDITIONS_BYTES - 64..=CONDITIONS_BYTES).contains(&conditions), "{conditions}");
        assert_eq!(many_constants(500).matches(',').count(), 499);
    }
}
