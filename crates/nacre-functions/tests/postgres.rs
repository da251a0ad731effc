//! Compares catalogs and choices with those of a PostgreSQL 15 server, where its programs are.
//!
//! The server gets a temporary directory, listens on a socket there and is stopped at the end.
#![allow(clippy::unwrap_used, clippy::expect_used)]

#[allow(dead_code, reason = "what other tests need of it")]
mod server;

use std::collections::HashSet;
use std::fmt::Write;

use nacre_functions::catalog::{FunctionKind, all_functions, all_operators};
use nacre_functions::coercion::{common_type, find_pathway};
use nacre_functions::resolution::{
    CallSignature, FunctionCallError, OperatorCallError, ResolvedFunction, resolve_function,
    resolve_operator,
};
use nacre_types::catalog::{CastContext, TypeOid, find_type};

use server::TestServer;

/// Types that arguments have in the comparisons: one or more of every category.
const ARGUMENT_TYPES: [TypeOid; 22] = [
    TypeOid::UNKNOWN,
    TypeOid::BOOL,
    TypeOid::INT2,
    TypeOid::INT4,
    TypeOid::INT8,
    TypeOid::FLOAT4,
    TypeOid::FLOAT8,
    TypeOid::NUMERIC,
    TypeOid::TEXT,
    TypeOid::VARCHAR,
    TypeOid::BPCHAR,
    TypeOid::NAME,
    TypeOid::BYTEA,
    TypeOid::DATE,
    TypeOid::TIME,
    TypeOid::TIMESTAMP,
    TypeOid::TIMESTAMPTZ,
    TypeOid::INTERVAL,
    TypeOid::UUID,
    TypeOid::OID,
    // integer[], text[]
    TypeOid(1007),
    TypeOid(1009),
];

/// Returns an expression of that type: a literal for an unknown one.
fn null_of(oid: TypeOid) -> String {
    match find_type(oid) {
        Some(entry) if oid != TypeOid::UNKNOWN => format!("null::{}", entry.name),
        _ => "null".to_owned(),
    }
}

/// What is asked of the server, and what we answer: a type's OID or a SQLSTATE.
#[derive(Default)]
struct Questions {
    expressions: Vec<String>,
    answers: Vec<String>,
}

impl Questions {
    fn ask(&mut self, expression: String, answer: Result<TypeOid, &str>) {
        self.expressions.push(expression);
        self.answers.push(match answer {
            Ok(oid) => oid.0.to_string(),
            Err(sqlstate) => sqlstate.to_owned(),
        });
    }

    /// Compares with the server, in which `type_of` describes an expression without running it.
    fn compare(&self, server: &TestServer, deliberate: &[&str]) {
        let theirs = server.types_of(&self.expressions);
        assert_eq!(theirs.len(), self.expressions.len());
        let mut differences = String::new();
        let mut count = 0;
        for ((expression, ours), theirs) in self.expressions.iter().zip(&self.answers).zip(&theirs)
        {
            if ours != theirs && !deliberate.iter().any(|one| expression.contains(one)) {
                count += 1;
                if count <= 40 {
                    let _ = writeln!(differences, "{expression}: {ours}, PostgreSQL {theirs}");
                }
            }
        }
        let all = self.expressions.len();
        assert!(count == 0, "{count} of {all} differ:\n{differences}");
    }
}

#[test]
fn catalogs_are_postgresqls() {
    let Some(server) = TestServer::start() else {
        return;
    };
    let query = "select oid, proname, prorettype, proargtypes from pg_proc where oid < 10000 \
                 and pronamespace = 'pg_catalog'::regnamespace order by oid";
    let theirs: HashSet<String> = server.rows(query).into_iter().collect();
    for entry in all_functions() {
        let types: Vec<String> = entry.arguments.iter().map(|oid| oid.0.to_string()).collect();
        let (oid, name, result) = (entry.oid, entry.name, entry.result.0);
        let row = format!("{oid}\t{name}\t{result}\t{}", types.join(" "));
        assert!(theirs.contains(&row), "{row}");
    }
    let query = "select oid, oprname, oprleft, oprright, oprresult, oprcode::oid from pg_operator \
                 where oid < 10000 order by oid";
    let ours = all_operators().iter().map(|entry| {
        let left = entry.left.map_or(0, |oid| oid.0);
        let (right, result) = (entry.right.0, entry.result.0);
        format!("{}\t{}\t{left}\t{right}\t{result}\t{}", entry.oid, entry.name, entry.function)
    });
    assert_eq!(ours.collect::<Vec<_>>(), server.rows(query));
}

#[test]
fn operators_are_chosen_as_postgresql_does() {
    let Some(server) = TestServer::start() else {
        return;
    };
    let mut questions = Questions::default();
    let names: Vec<&str> = all_operators().iter().map(|entry| entry.name).collect();
    let names: HashSet<&str> = names.into_iter().collect();
    let answer = |name: &str, operands: &[TypeOid]| {
        resolve_operator(name, operands).map(|found| found.result).map_err(|error| match error {
            OperatorCallError::NotFound => "42883",
            OperatorCallError::Ambiguous => "42725",
        })
    };
    for name in names {
        for right in ARGUMENT_TYPES {
            // Without a left operand only + and - stand before signs of numbers.
            let expression = format!("operator(pg_catalog.{name}) {}", null_of(right));
            questions.ask(expression, answer(name, &[right]));
            for left in ARGUMENT_TYPES {
                let (left_sql, right_sql) = (null_of(left), null_of(right));
                let expression = format!("{left_sql} operator(pg_catalog.{name}) {right_sql}");
                questions.ask(expression, answer(name, &[left, right]));
            }
        }
    }
    questions.compare(&server, &[]);
}

#[test]
fn functions_are_chosen_as_postgresql_does() {
    let Some(server) = TestServer::start() else {
        return;
    };
    let mut questions = Questions::default();
    let mut names: Vec<&str> = all_functions()
        .iter()
        .filter(|entry| entry.kind == FunctionKind::Function && !entry.returns_set)
        .filter(|entry| entry.arguments.iter().chain([&entry.result]).all(has_values))
        .map(|entry| entry.name)
        .collect();
    names.sort_unstable();
    names.dedup();
    for name in names {
        // All types alone, and some beside others.
        for (count, step) in [(1, 1), (2, 4), (3, 7)] {
            for pick in (0..ARGUMENT_TYPES.len()).step_by(step) {
                let argument = |index: usize| {
                    let step = [1, 7, 13][index];
                    ARGUMENT_TYPES[(pick * step + index * index) % ARGUMENT_TYPES.len()]
                };
                let arguments: Vec<TypeOid> = (0..count).map(argument).collect();
                ask_function(&mut questions, name, &arguments);
            }
        }
    }
    questions.compare(&server, &[]);
}

/// Whether values of a type are there: there are none of enums and ranges, and what reads and
/// writes the text of pseudo-types refuses everything.
fn has_values(oid: &TypeOid) -> bool {
    let name = find_type(*oid).map_or("", |entry| entry.name);
    let is_handler = name.ends_with("_handler") || name.ends_with("trigger");
    !(name.ends_with("range") || name == "anyenum" || name == "cstring" || is_handler)
}

fn ask_function(questions: &mut Questions, name: &str, arguments: &[TypeOid]) {
    let call = CallSignature { name, arguments, argument_names: &[], is_variadic: false };
    let answer = match resolve_function(call) {
        Ok(ResolvedFunction::Function { result, entry, .. }) => {
            if entry.kind != FunctionKind::Function || entry.returns_set {
                return;
            }
            Ok(result)
        }
        Ok(ResolvedFunction::Cast(target)) => Ok(target),
        Err(FunctionCallError::NotFound | FunctionCallError::Inconsistent) => Err("42883"),
        Err(FunctionCallError::Ambiguous) => Err("42725"),
        Err(FunctionCallError::Undetermined) => Err("42804"),
    };
    let arguments: Vec<String> = arguments.iter().map(|oid| null_of(*oid)).collect();
    questions.ask(format!("pg_catalog.\"{name}\"({})", arguments.join(", ")), answer);
}

#[test]
fn casts_and_common_types_are_postgresqls() {
    let Some(server) = TestServer::start() else {
        return;
    };
    let mut questions = Questions::default();
    for source in ARGUMENT_TYPES {
        for target in ARGUMENT_TYPES.into_iter().filter(|target| *target != TypeOid::UNKNOWN) {
            let Some(entry) = find_type(target).filter(|_| source != TypeOid::UNKNOWN) else {
                continue;
            };
            let pathway = find_pathway(target, source, CastContext::Explicit);
            let answer = pathway.map(|_| target).ok_or("42846");
            questions.ask(format!("({})::{}", null_of(source), entry.name), answer);
        }
    }
    for first in ARGUMENT_TYPES {
        for second in ARGUMENT_TYPES {
            for third in ARGUMENT_TYPES {
                let branches = [first, second, third];
                let answer = match common_type(&branches) {
                    Err(_) => Err("42804"),
                    Ok(common) => {
                        let goes = |branch: &TypeOid| {
                            *branch == TypeOid::UNKNOWN
                                || find_pathway(common, *branch, CastContext::Implicit).is_some()
                        };
                        if branches.iter().all(goes) { Ok(common) } else { Err("42846") }
                    }
                };
                let sql = branches.map(null_of).join(", ");
                questions.ask(format!("coalesce({sql})"), answer);
            }
        }
    }
    questions.compare(&server, &[]);
}
