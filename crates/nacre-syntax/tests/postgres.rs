//! The grammar beside that of PostgreSQL 15: the same texts are refused, at the same token, in the
//! same words.
//!
//! Texts are our own: `data/statements.sql`, one statement a line, and all of `tests/sql`. Where
//! PostgreSQL 15 is not installed the tests print that they are skipped.

#![allow(clippy::unwrap_used)]

mod support;

use std::fs;
use std::path::{Path, PathBuf};

use nacre_syntax::{
    KeywordCategory, SqlKeyword, Statement, SyntaxErrorKind, parse_expression, parse_script, to_sql,
};
use support::OracleServer;

const STATEMENTS: &str = include_str!("data/statements.sql");

/// Returns the difference between both answers to `sql`, if there is one.
fn difference(oracle: &mut OracleServer, sql: &str) -> Option<String> {
    let ours = parse_script(sql);
    let is_other = |statement: &Statement| matches!(statement, Statement::Other { .. });
    if ours.as_ref().is_ok_and(|statements| statements.iter().any(is_other)) {
        return None;
    }
    let theirs = oracle.parse(sql).err().filter(|error| error.is_of_grammar());
    match (ours, theirs) {
        (Ok(_), None) => None,
        (Err(ours), None) => {
            (ours.kind() != SyntaxErrorKind::NotSupported).then(|| format!("refused: {ours}"))
        }
        (Ok(_), Some(theirs)) => Some(format!("accepted, not refused: {}", theirs.message)),
        (Err(ours), Some(theirs)) => {
            let position = ours.character_position(sql);
            let is_same = ours.message() == theirs.message
                && (theirs.position == 0 || position == theirs.position)
                && ours.sqlstate() == theirs.code;
            (!is_same).then(|| format!("`{ours}` at {position}, not {theirs:?}"))
        }
    }
}

/// Whether PostgreSQL 15 lacks the statement.
fn is_own(sql: &str) -> bool {
    let lower = sql.to_lowercase();
    let words: Vec<&str> = lower.split_whitespace().take(3).collect();
    matches!(words.as_slice(), ["backup" | "archive", ..] | ["show", "columns", ..])
        || (lower.contains("merge into") && lower.contains("returning"))
}

fn compare<'a>(name: &str, statements: impl Iterator<Item = &'a str>) {
    let Some(mut oracle) = OracleServer::start(name) else { return };
    let mut differences = Vec::new();
    let mut count = 0;
    for sql in statements.filter(|sql| !is_own(sql)) {
        count += 1;
        if let Some(difference) = difference(&mut oracle, sql) {
            differences.push(format!("{sql}\n    {difference}"));
        }
    }
    let list = differences.join("\n");
    assert!(differences.is_empty(), "{} of {count} differ:\n{list}", differences.len());
}

#[test]
fn own_statements_are_accepted_and_refused_as_postgresql_does() {
    let lines = STATEMENTS.lines().filter(|line| !line.is_empty() && !line.starts_with("--"));
    compare("statements", lines);
}

fn script_files(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            script_files(&path, files);
        } else if path.extension().is_some_and(|extension| extension == "slt") {
            files.push(path);
        }
    }
}

/// Returns the statements of `tests/sql`.
fn script_statements() -> Vec<String> {
    let folder = Path::new("../../tests/sql");
    let mut files = Vec::new();
    script_files(folder, &mut files);
    assert!(files.len() > 100, "{} files in {}", files.len(), folder.display());
    let mut statements = Vec::new();
    for file in files {
        let text = fs::read_to_string(file).unwrap();
        let mut lines = text.lines();
        while let Some(line) = lines.next() {
            if !line.starts_with("statement ") && !line.starts_with("query") {
                continue;
            }
            let sql: Vec<&str> =
                lines.by_ref().take_while(|line| !line.is_empty() && *line != "----").collect();
            statements.push(sql.join("\n"));
        }
    }
    statements
}

#[test]
fn statements_of_the_sql_tests_are_accepted_and_refused_as_postgresql_does() {
    let statements = script_statements();
    compare("scripts", statements.iter().map(String::as_str));
}

#[test]
fn statements_of_the_sql_tests_print_as_what_they_are() {
    for sql in script_statements() {
        let Ok(statements) = parse_script(&sql) else { continue };
        for statement in statements {
            if matches!(statement, Statement::Other { .. }) {
                continue;
            }
            let printed = to_sql(&statement);
            assert_eq!(parse_script(&printed), Ok(vec![statement]), "{sql}\n{printed}");
        }
    }
}

#[test]
fn keywords_are_those_of_postgresql() {
    let Some(mut oracle) = OracleServer::start("keywords") else { return };
    let sql = "select word, catcode::text, barelabel::text from pg_get_keywords() \
               order by word collate \"C\"";
    let theirs = oracle.query(sql).unwrap();
    let ours: Vec<String> = SqlKeyword::all()
        .iter()
        .flat_map(|keyword| {
            let category = match keyword.category() {
                KeywordCategory::Unreserved => "U",
                KeywordCategory::ColumnName => "C",
                KeywordCategory::TypeFunctionName => "T",
                KeywordCategory::Reserved => "R",
            };
            [keyword.word().to_owned(), category.to_owned(), keyword.is_bare_label().to_string()]
        })
        .collect();
    assert_eq!(ours, theirs);
}

/// Expressions of numbers and truth values whose meaning hangs on precedence alone.
const EXPRESSIONS: [&str; 24] = [
    "2 + 3 * 4 - 5 % 3",
    "2 ^ 3 ^ 2",
    "-2 ^ 2",
    "- 2 ^ - 2",
    "100 - 10 - 1 + 5",
    "100 / 10 * 2",
    "7 & 3 + 1 | 8",
    "1 << 2 + 1",
    "~ 1 + 2",
    "2 * ~ 1 + 2",
    "@ -5 + 2",
    "not true or true",
    "not 1 = 2 and false",
    "true or true and false",
    "1 + 1 = 2 is true",
    "1 < 2 is not null",
    "1 = 1 is distinct from false",
    "2 between 1 and 3 and false",
    "3 between 1 + 1 and 2 * 2 or false",
    "'a' || 'b' like 'a' || '%'",
    "1 + 2 in (3, 4) and 1 in (2)",
    "-1::int4 + 2",
    "1 is null is null is not null",
    "3 * 2 > 5 = true",
];

#[test]
fn operators_bind_as_in_postgresql() {
    let Some(mut oracle) = OracleServer::start("precedence") else { return };
    for text in EXPRESSIONS {
        let plain = oracle.query(&format!("select {text}")).unwrap_or_default();
        let statements = parse_script(&format!("select {text}"));
        let Ok(statements) = statements else {
            // `a < b = c` has no meaning there either.
            assert!(plain.is_empty(), "{text}: {statements:?}");
            continue;
        };
        parse_expression(text).unwrap();
        let printed = to_sql(&statements[0]);
        assert!(!plain.is_empty(), "{text}");
        assert_eq!(oracle.query(&printed).unwrap_or_default(), plain, "{text}: {printed}");
    }
}
