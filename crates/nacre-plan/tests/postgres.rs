//! Compares what statements mean with a PostgreSQL 15 server, where its programs are: names and
//! types of their columns, or SQLSTATE and message.
#![allow(clippy::unwrap_used, clippy::expect_used)]

#[allow(dead_code, reason = "what other tests need of it")]
#[path = "../../nacre-functions/tests/server/mod.rs"]
mod server;

use std::fmt::Write;
use std::sync::Arc;

use nacre_plan::algebra::QueryPlan;
use nacre_plan::binder::{bind_parameterized, bind_query};
use nacre_plan::definition::{
    RelationCatalog, RelationColumn, RelationDefinition, RelationId, ViewColumnName,
    ViewDefinition, ViewReader,
};
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

/// Views: name, names of columns and query.
const VIEWS: [(&str, &str, &str); 3] = [
    ("v1", "x, total", "select a, sum(b) from t group by a"),
    (
        "v2",
        "id, a, b, n, m, f, r, s, v, c, d, ts, o, k",
        "with p as (select * from t) select * from p",
    ),
    ("v3", "label, width", "select s || 'x', length(s) from v2 where exists (table v1)"),
];

/// Statements, one a line.
const STATEMENTS: &str = include_str!("statements.sql");

/// Statements with parameters, one a line.
const PARAMETERS: &str = include_str!("parameters.sql");

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
                table_oid: None,
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

    fn find_view(
        &self,
        schema: Option<&str>,
        name: &str,
        _reader: ViewReader,
    ) -> Option<Arc<ViewDefinition>> {
        let mut views = VIEWS.iter().filter(|_| matches!(schema, None | Some("public")));
        let (name, columns, query) = views.find(|(own, ..)| *own == name)?;
        let Ok(Some(Statement::Query(query))) = nacre_syntax::parse_statement(query) else {
            panic!("{query} is no query");
        };
        let column = |name: &str| ViewColumnName { name: name.into(), source: name.into() };
        let columns = columns.split(", ").map(column).collect();
        let (schema, name) = ("public".to_owned(), (*name).to_owned());
        Some(Arc::new(ViewDefinition { schema, name, query: *query, columns }))
    }
}

/// Returns the statements that make the tables and views.
fn definitions() -> String {
    let mut definitions = String::new();
    for (name, columns) in TABLES {
        let first = columns.split(' ').next().unwrap();
        let _ = writeln!(definitions, "create table {name} ({columns}, primary key ({first}));");
    }
    for (name, columns, query) in VIEWS {
        let _ = writeln!(definitions, "create view {name} ({columns}) as {query};");
    }
    definitions
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
    let theirs = server.describe(&definitions(), &statements);
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

#[test]
fn parameters_have_the_types_of_postgresql() {
    let Some(server) = TestServer::start() else {
        return;
    };
    let catalog = TestCatalog::new();
    let statements: Vec<&str> = PARAMETERS.lines().collect();
    let types = "select array_to_string(parameter_types::text[], ', ') from pg_prepared_statements";
    let queries = statements.iter().map(|sql| format!("prepare q as {sql}; {types}; deallocate q"));
    let theirs = server.answers(&definitions(), &queries.collect::<Vec<_>>());
    assert_eq!(theirs.len(), statements.len());
    let (mut differences, mut missing) = (String::new(), 0);
    for (sql, theirs) in statements.iter().zip(theirs) {
        let Ok(Some(Statement::Query(query))) = nacre_syntax::parse_statement(sql) else {
            panic!("{sql} is no query");
        };
        let ours = match bind_parameterized(&catalog, &ValueSettings::default(), &query, &[]) {
            Ok(plan) => {
                let names = plan.parameters.iter().map(|one| one.map(SqlType::plain_name));
                names.collect::<Option<Vec<String>>>().map(|names| vec![names.join(", ")])
            }
            Err(error) if error.sql_state == "0A000" => {
                missing += 1;
                println!("not there yet: {sql}: {}", error.text.message);
                continue;
            }
            Err(_) => None,
        };
        if ours != theirs {
            let _ = writeln!(differences, "{sql}\n   {ours:?}\n   PostgreSQL {theirs:?}");
        }
    }
    assert!(differences.is_empty(), "{differences}");
    assert!(missing * 10 <= statements.len(), "{missing} of {} are missing", statements.len());
}

#[test]
fn declared_types_of_parameters_stay() {
    let catalog = TestCatalog::new();
    let declared = [Some(SqlType::BIGINT), None];
    let bind = |sql: &str| {
        let Ok(Some(Statement::Query(query))) = nacre_syntax::parse_statement(sql) else {
            panic!("{sql} is no query");
        };
        bind_parameterized(&catalog, &ValueSettings::default(), &query, &declared)
    };
    let plan = bind("select $1, a from t where a = $1 and s = $2").unwrap();
    assert_eq!(plan.parameters, [Some(SqlType::BIGINT), Some(SqlType::TEXT)]);
    assert_eq!(plan.outputs[0].sql_type, SqlType::BIGINT);
    assert_eq!(bind("select a from t where s = $1").unwrap_err().sql_state, "42883");
}
