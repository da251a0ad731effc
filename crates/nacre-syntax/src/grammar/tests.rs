use std::time::Instant;

use super::cursor::DEPTH_MAX;
use super::*;
use crate::error::SyntaxErrorKind;
use crate::tree::{ExpressionKind, FromKind, QueryBody};

/// A stack as the threads of a server have it.
const STACK_BYTES: usize = 2 << 20;

fn message(text: &str) -> String {
    parse_script(text).unwrap_err().to_string()
}

fn expression(text: &str) -> ExpressionKind {
    parse_expression(text).unwrap_or_else(|error| panic!("{text}: {error}")).kind
}

fn query(text: &str) -> QueryBody {
    match parse_statement(text) {
        Ok(Some(Statement::Query(query))) => query.body,
        other => panic!("{text}: {other:?}"),
    }
}

/// Runs with a small stack: a recursion that is too deep aborts the test.
fn with_small_stack(test: impl FnOnce() + Send + 'static) {
    std::thread::Builder::new().stack_size(STACK_BYTES).spawn(test).unwrap().join().unwrap();
}

#[test]
fn errors_are_those_of_postgresql() {
    for (text, expected) in [
        ("selec 1", "syntax error at or near \"selec\""),
        ("select", ""),
        ("select 1 +", "syntax error at end of input"),
        ("select * form t", "syntax error at or near \"form\""),
        ("select 'abc", "unterminated quoted string at or near \"'abc\""),
        ("selec 'abc", "syntax error at or near \"selec\""),
        ("select a from (select 1)", "subquery in FROM must have an alias"),
        ("create role r foo", "unrecognized role option \"foo\""),
    ] {
        match parse_script(text) {
            Ok(_) => assert_eq!(expected, "", "{text}"),
            Err(error) => {
                assert_eq!(error.to_string(), expected, "{text}");
                assert_eq!(error.sqlstate(), "42601", "{text}");
            }
        }
    }
}

#[test]
fn positions_count_characters() {
    let text = "select '\u{e9}\u{1F600}', form t, from";
    let error = parse_script(text).unwrap_err();
    assert_eq!(error.character_position(text), 22);
    assert_eq!(error.range().start, 25);
}

#[test]
fn chains_are_lists() {
    let ExpressionKind::And(operands) = expression("a and b and c and (d and e)") else { panic!() };
    assert_eq!(operands.len(), 4);
    let ExpressionKind::Operation { links, .. } = expression("a + b - c + d * e") else { panic!() };
    assert_eq!(links.len(), 3);
    let body = query("select 1 union select 2 except select 3 intersect select 4");
    let QueryBody::SetOperation { links, .. } = body else { panic!() };
    assert_eq!(links.len(), 2);
    let QueryBody::Select(select) = query("select 1 from a join b on true cross join c") else {
        panic!()
    };
    assert!(matches!(&select.from[0].kind, FromKind::Joins { links, .. } if links.len() == 2));
}

#[test]
fn nodes_know_where_they_stand() {
    let text = "select  (a + b) * \"C\"  from t";
    let QueryBody::Select(select) = query(text) else { panic!() };
    let crate::tree::TargetItem::Value { value, .. } = &select.targets[0] else { panic!() };
    let ExpressionKind::Operation { first, links } = &value.kind else { panic!() };
    assert_eq!(first.range.slice(text), "a + b");
    assert_eq!(links[0].operator.range.slice(text), "*");
    assert_eq!(links[0].operand.range.slice(text), "\"C\"");
    assert_eq!(select.from[0].range.slice(text), "t");
}

#[test]
fn several_statements_are_a_script() {
    assert_eq!(parse_script(";; select 1;; select 2 ;").map(|list| list.len()), Ok(2));
    assert_eq!(parse_statement(" -- nothing\n"), Ok(None));
    assert_eq!(parse_statement("select 1; select 2").unwrap_err().kind(), SyntaxErrorKind::Grammar);
}

#[test]
fn own_statements_are_read() {
    let backup = parse_statement("backup database to '/b'").unwrap();
    assert!(matches!(backup, Some(Statement::Backup(directory, _)) if directory == "/b"));
    let archive = parse_statement("ARCHIVE DATABASE TO OFF").unwrap();
    assert!(matches!(archive, Some(Statement::Archive(None, _))));
    assert_eq!(message("backup x"), "syntax error at or near \"backup\"");
    assert_eq!(message("backup database '/b'"), "syntax error at or near \"'/b'\"");
}

#[test]
fn statements_without_a_tree_are_named() {
    let text = "create or replace function f() returns int language sql begin atomic select 1; end";
    let statements = parse_script(&format!("{text}; select 2")).unwrap();
    assert_eq!(statements.len(), 2);
    let Statement::Other { keyword, range } = &statements[0] else { panic!() };
    assert_eq!(keyword, "CREATE OR REPLACE FUNCTION");
    assert_eq!(range.end as usize, text.len());
    assert_eq!(message("create or replace foo"), "syntax error at or near \"foo\"");
}

/// Forms that nest: what opens a level, what stands within, what closes it.
const NESTED: [(&str, &str, &str); 20] = [
    ("(", "1", ")"),
    ("- ", "1", ""),
    ("not ", "true", ""),
    ("~ ", "1", ""),
    ("f(", "1", ")"),
    ("(1, ", "1", ")"),
    ("case when ", "true", " then 1 end"),
    ("(select ", "1", ")"),
    ("array[", "1", "]"),
    ("array[[", "1", "]]"),
    ("1 in (", "1", ")"),
    ("1 = any (", "1", ")"),
    ("a[", "1", "]"),
    ("cast(", "1", " as int)"),
    ("exists (select ", "1", ")"),
    ("coalesce(", "1", ")"),
    ("(1 + ", "1", ")"),
    ("1 between 1 and ", "1", ""),
    ("(select 1 from (select ", "1", ") x)"),
    ("1 ^ (2 * (3 + ", "1", "))"),
];

#[test]
fn nesting_is_refused_before_the_stack_ends() {
    with_small_stack(|| {
        for (open, inner, close) in NESTED {
            for depth in [10, 50, DEPTH_MAX as usize, 10_000] {
                let (open, close) = (open.repeat(depth), close.repeat(depth));
                let text = format!("select {open}{inner}{close}");
                match parse_script(&text) {
                    // Dropping, comparing and printing recurse, too.
                    Ok(statements) => assert!(!crate::to_sql(&statements[0]).is_empty()),
                    Err(error) => {
                        assert!(depth > 50 || error.kind() == SyntaxErrorKind::Grammar, "{text}");
                    }
                }
            }
        }
        let joins =
            format!("select 1 from {}a{}", "(".repeat(10_000), " join b on true)".repeat(10_000));
        assert_eq!(parse_script(&joins).unwrap_err().kind(), SyntaxErrorKind::Depth);
        let queries = format!("{}select 1{}", "(".repeat(10_000), ")".repeat(10_000));
        assert_eq!(parse_script(&queries).unwrap_err().kind(), SyntaxErrorKind::Depth);
        assert_eq!(message(&queries), "stack depth limit exceeded");
    });
}

#[test]
fn operators_that_grow_a_tree_to_the_left_are_bounded() {
    with_small_stack(|| {
        for tail in ["::int", " is null", " collate \"C\"", " at time zone 'x'", " in (1)"] {
            let text = format!("select a{}", tail.repeat(20_000));
            assert_eq!(parse_script(&text).unwrap_err().kind(), SyntaxErrorKind::Depth, "{tail}");
        }
        let text = format!("select {}a{}", "(".repeat(150), "::int::text)".repeat(150));
        assert_eq!(parse_script(&text).unwrap_err().kind(), SyntaxErrorKind::Depth);
    });
}

#[test]
fn long_chains_are_read_in_linear_time() {
    with_small_stack(|| {
        for piece in [" + 1", " and true", " or a = 1", " || 'x'", ", 1", " union all select 1"] {
            let time = |count: usize| {
                let text = format!("select 1{}", piece.repeat(count));
                let start = Instant::now();
                let statements = parse_script(&text).unwrap();
                assert!(!crate::to_sql(&statements[0]).is_empty());
                start.elapsed()
            };
            // Ten times the length in less than a hundred times the time.
            let (short, long) = (time(10_000), time(100_000));
            assert!(long < short * 60, "{piece}: {short:?}, {long:?}");
        }
        let joins = format!("select 1 from a{}", " join b on true".repeat(10_000));
        parse_script(&joins).unwrap();
        let list = format!("select a in (1{})", ", 1".repeat(100_000));
        parse_script(&list).unwrap();
    });
}
