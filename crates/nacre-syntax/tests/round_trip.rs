//! What is printed parses to the same tree, and no text makes the parser panic.

#![allow(clippy::unwrap_used)]

use nacre_syntax::{SqlKeyword, parse_script, parse_statement, to_sql};
use proptest::prelude::*;

/// An operand without operators.
fn atom() -> impl Strategy<Value = String> {
    prop::sample::select(vec![
        "a",
        "t.b",
        "\"C d\"",
        "s.t.c[1]",
        "x[:2]",
        "$1",
        "($2).f",
        "1",
        "2.50",
        "1e3",
        "'it''s'",
        "E'a\\n'",
        "NULL",
        "TRUE",
        "b'01'",
        "x'1F'",
        "date '2020-01-01'",
        "interval '1' day",
        "interval(3) '1 s'",
        "numeric(5, 2) '1'",
        "current_date",
        "localtime(2)",
        "f()",
        "count(*)",
        "sum(DISTINCT a ORDER BY b DESC NULLS LAST) FILTER (WHERE c)",
        "rank() OVER (w PARTITION BY a ORDER BY b ROWS BETWEEN 1 PRECEDING AND CURRENT ROW)",
        "percentile_cont(0.5) WITHIN GROUP (ORDER BY x)",
        "g(a => 1, VARIADIC b)",
        "extract(year FROM d)",
        "substring(a FROM 2 FOR 3)",
        "trim(leading 'x' from y)",
        "position('a' in b)",
        "overlay(a placing b from 1)",
        "coalesce(a, b, 1)",
        "array[1, 2]",
        "array[[1], [2]]",
        "array(select 1)",
        "row(1, a)",
        "(1, 2)",
        "exists (select 1 from t)",
        "(select max(a) from t)",
        "case a when 1 then 2 else 3 end",
        "case when a then b end",
        "grouping(a)",
        "cast(a as int[])",
    ])
    .prop_map(str::to_owned)
}

fn expression() -> impl Strategy<Value = String> {
    atom().prop_recursive(5, 64, 3, |inner| {
        let operators = prop::sample::select(vec![
            "+",
            "-",
            "*",
            "/",
            "%",
            "^",
            "||",
            "->>",
            "@>",
            "~*",
            "AND",
            "OR",
            "OPERATOR(pg_catalog.+)",
            "AT TIME ZONE",
        ]);
        let comparisons = prop::sample::select(vec![
            "=",
            "<",
            "<>",
            ">=",
            "LIKE",
            "NOT ILIKE",
            "SIMILAR TO",
            "IS DISTINCT FROM",
        ]);
        let tails = prop::sample::select(vec![
            " IS NULL",
            " ISNULL",
            " IS NOT TRUE",
            "::int",
            "::numeric(3, 1)[]",
            " COLLATE \"C\"",
            " IN (1, 2)",
            " NOT IN (select 1)",
            " = ANY (b)",
            " < ALL (select a from t)",
            " BETWEEN 1 AND 2",
            " NOT BETWEEN SYMMETRIC a AND b",
            " IS NFC NORMALIZED",
        ]);
        let prefixes = prop::sample::select(vec!["NOT ", "- ", "+ ", "~ ", "@ "]);
        prop_oneof![
            (inner.clone(), operators, inner.clone()).prop_map(|(a, o, b)| format!("{a} {o} {b}")),
            (inner.clone(), comparisons, inner.clone())
                .prop_map(|(a, o, b)| format!("({a}) {o} ({b})")),
            (inner.clone(), tails).prop_map(|(a, tail)| format!("{a}{tail}")),
            (prefixes, inner.clone()).prop_map(|(prefix, a)| format!("{prefix}{a}")),
            inner.clone().prop_map(|a| format!("({a})")),
            (inner.clone(), inner).prop_map(|(a, b)| format!("least({a}, {b})")),
        ]
    })
}

fn query() -> impl Strategy<Value = String> {
    let from = prop::sample::select(vec![
        "",
        " FROM t",
        " FROM s.t AS u (a, b), LATERAL (select 1) x",
        " FROM a JOIN b ON a.x = b.x LEFT JOIN c USING (y) CROSS JOIN d",
        " FROM a JOIN (b NATURAL JOIN c) ON true",
        " FROM f(1) WITH ORDINALITY AS g (x, n)",
        " FROM ROWS FROM (f(1), g(2) AS (a int)) AS h",
        " FROM t TABLESAMPLE system (10)",
        " FROM a JOIN b JOIN c ON 1 = 1 ON 2 = 2",
        " FROM ONLY t, f() AS (a int, b text)",
    ]);
    let tails = prop::sample::select(vec![
        "",
        " ORDER BY 1 DESC NULLS FIRST, a USING <",
        " LIMIT 3 OFFSET 2",
        " FOR UPDATE OF t NOWAIT",
        " GROUP BY GROUPING SETS ((a), ROLLUP (a, b), ())",
        " UNION ALL SELECT 1 EXCEPT SELECT 2",
        " ORDER BY a FETCH FIRST 2 ROWS WITH TIES",
        " INTERSECT VALUES (1), (2)",
        " WINDOW w AS (ORDER BY a)",
        " GROUP BY a HAVING count(*) > 1",
    ]);
    let heads = prop::sample::select(vec![
        "",
        "WITH q AS (SELECT 1), r (a) AS NOT MATERIALIZED (TABLE t) ",
        "WITH RECURSIVE q AS (SELECT 1) ",
    ]);
    (heads, expression(), expression(), from, any::<bool>(), tails).prop_map(
        |(head, a, b, from, has_where, tail)| {
            let condition = if has_where { format!(" WHERE {b}") } else { String::new() };
            format!("{head}SELECT {a} AS \"select\", {b}{from}{condition}{tail}")
        },
    )
}

/// A piece of a text that need not mean anything.
fn token() -> impl Strategy<Value = String> {
    prop_oneof![
        prop::sample::select(SqlKeyword::all()).prop_map(|keyword| keyword.word().to_owned()),
        prop::sample::select(vec![
            "(", ")", "[", "]", ",", ".", ";", ":", "::", ":=", "=>", "+", "-", "*", "/", "<",
            "<>", "=", "||", "!", "@", "$1", "1", "2.5", "'a'", "E'\\", "U&'\\00", "\"b\"", "$$",
            "a", "\u{e9}", "/*", "--", "\n", "'", "\"", "\\", "b'1'", "1e", "..",
        ])
        .prop_map(str::to_owned),
    ]
}

proptest! {
    #[test]
    fn printed_queries_parse_to_the_same_tree(sql in query()) {
        let Ok(Some(statement)) = parse_statement(&sql) else {
            // Comparisons that follow each other, as in `a = b = c`.
            return Ok(());
        };
        let printed = to_sql(&statement);
        prop_assert_eq!(parse_statement(&printed), Ok(Some(statement)), "{}\n{}", sql, printed);
    }

    #[test]
    fn token_soups_never_panic(tokens in prop::collection::vec(token(), 0..40)) {
        let text = tokens.join(" ");
        if let Ok(statements) = parse_script(&text) {
            statements.iter().for_each(|statement| drop(to_sql(statement)));
        }
    }

    #[test]
    fn statements_with_a_token_too_many_never_panic(
        sql in query(), token in token(), at in 0_usize..200,
    ) {
        let at = (0..=at.min(sql.len())).rev().find(|at| sql.is_char_boundary(*at)).unwrap_or(0);
        let _ = parse_script(&format!("{} {token} {}", &sql[..at], &sql[at..]));
    }

    #[test]
    fn any_text_is_answered(text in "\\PC{0,60}") {
        let _ = parse_script(&text);
    }
}
