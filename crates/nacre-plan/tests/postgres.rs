//! Compares what statements mean with a PostgreSQL 15 server, where its programs are: names and
//! types of their columns, or SQLSTATE and message.
#![allow(clippy::unwrap_used, clippy::expect_used)]

#[allow(dead_code, reason = "what other tests need of it")]
#[path = "../../nacre-functions/tests/server/mod.rs"]
mod server;

use std::fmt::Write;
use std::sync::Arc;

use nacre_plan::algebra::QueryPlan;
use nacre_plan::binder::bind_query;
use nacre_plan::definition::{RelationCatalog, RelationColumn, RelationDefinition, RelationId};
use nacre_syntax::Statement;
use nacre_types::{SqlType, ValueSettings, resolve_type_name};

use server::TestServer;

/// Tables that statements are about: name, and columns with their types.
const TABLES: [(&str, &str); 2] = [
    (
        "t",
        "id integer, a integer, b bigint, n numeric(15,2), m numeric, f double precision, \
         r real, s text, v character varying(10), c character(5), d date, \
         ts timestamp without time zone, o boolean, k smallint",
    ),
    ("p", "pk integer, name text, price numeric(10,2)"),
];

/// Statements, one a line.
const STATEMENTS: &str = include_str!("statements.sql");

/// What the server says of an answer without columns.
const NO_COLUMNS: &str = "The command has no result, or the result has no columns.";

struct TestCatalog(Vec<Arc<RelationDefinition>>);

impl TestCatalog {
    fn new() -> Self {
        let relation = |(number, (name, columns)): (u64, &(&str, &str))| {
            let columns = columns.split(", ").map(|column| {
                let (name, words) = column.split_once(' ').unwrap();
                let sql_type = parse_type(words);
                RelationColumn { name: name.to_owned(), sql_type, is_nullable: true }
            });
            Arc::new(RelationDefinition {
                id: RelationId(number),
                schema: "public".to_owned(),
                name: (*name).to_owned(),
                columns: columns.collect(),
                primary_key: vec![0],
            })
        };
        Self((0..).zip(&TABLES).map(relation).collect())
    }
}

impl RelationCatalog for TestCatalog {
    fn find_relation(&self, schema: Option<&str>, name: &str) -> Option<Arc<RelationDefinition>> {
        let is_it = |one: &&Arc<RelationDefinition>| one.name == name;
        self.0.iter().filter(|_| matches!(schema, None | Some("public"))).find(is_it).cloned()
    }
}

fn parse_type(words: &str) -> SqlType {
    let (name, modifiers) = match words.split_once('(') {
        Some((name, modifiers)) => (name, modifiers.trim_end_matches(')')),
        None => (words, ""),
    };
    let modifiers: Vec<i32> = modifiers
        .split(',')
        .filter(|one| !one.is_empty())
        .map(|one| one.parse().unwrap())
        .collect();
    resolve_type_name(name, &modifiers).unwrap()
}

/// What we say of a statement: its plan, or SQLSTATE and message.
fn bind(catalog: &TestCatalog, sql: &str) -> Result<QueryPlan, (&'static str, String)> {
    let parsed = nacre_syntax::parse_statement(sql);
    match parsed.map_err(|error| ("42601", error.to_string()))? {
        Some(Statement::Query(query)) => bind_query(catalog, &ValueSettings::default(), &query)
            .map_err(|error| (error.sql_state, error.text.message)),
        _ => panic!("{sql} is no query"),
    }
}

/// Returns what we answer, in the server's form; `None` for what is not there yet.
fn answer(catalog: &TestCatalog, sql: &str) -> Option<Vec<String>> {
    match bind(catalog, sql) {
        Ok(plan) if plan.outputs.is_empty() => Some(vec![NO_COLUMNS.to_owned()]),
        Ok(plan) => {
            let outputs = plan.outputs.iter();
            Some(outputs.map(|output| format!("{}\t{}", output.name, output.sql_type)).collect())
        }
        Err(("0A000", message)) if message.starts_with("not supported") => None,
        Err((sql_state, message)) => Some(vec![format!("{sql_state} {message}")]),
    }
}

#[test]
fn statements_mean_what_they_mean_in_postgresql() {
    let Some(server) = TestServer::start() else {
        return;
    };
    let catalog = TestCatalog::new();
    let statements: Vec<String> =
        STATEMENTS.lines().filter(|line| !line.is_empty()).map(str::to_owned).collect();
    let mut definitions = String::new();
    for (name, columns) in TABLES {
        let first = columns.split(' ').next().unwrap();
        let _ = writeln!(definitions, "create table {name} ({columns}, primary key ({first}));");
    }
    let theirs = server.describe(&definitions, &statements);
    assert_eq!(theirs.len(), statements.len());
    let (mut differences, mut count, mut missing) = (String::new(), 0, 0);
    for (sql, theirs) in statements.iter().zip(&theirs) {
        match answer(&catalog, sql) {
            Some(ours) if ours == *theirs => {}
            Some(ours) => {
                count += 1;
                let _ = writeln!(differences, "{sql}\n   {ours:?}\n   PostgreSQL {theirs:?}");
            }
            None => {
                missing += 1;
                println!("not there yet: {sql}");
            }
        }
    }
    assert!(count == 0, "{count} of {} differ:\n{differences}", statements.len());
    assert!(missing * 10 <= statements.len(), "{missing} of {} are missing", statements.len());
}
