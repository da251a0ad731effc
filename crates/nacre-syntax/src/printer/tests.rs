use super::to_sql;
use crate::grammar::parse_statement;

#[test]
fn statements_print_as_what_they_are() {
    for (sql, expected) in [
        ("select a+b*c", "SELECT a + (b * c)"),
        ("select a.b[1:2], \"X\" y", "SELECT a.b[1 : 2], \"X\" AS y"),
        ("select 0. all", "SELECT 0. AS \"all\""),
        ("select 'it''s', e'\\n'", "SELECT 'it''s', '\n'"),
        ("select a::int[] from only t u", "SELECT CAST(a AS integer[]) FROM ONLY t AS u"),
        ("select - - 1, not not a", "SELECT - (- 1), NOT (NOT a)"),
        ("select array[[1],[2]]", "SELECT ARRAY[[1],[2]]"),
        ("select trim(leading from a)", "SELECT TRIM(LEADING a)"),
        ("select (f(x)).y", "SELECT (f(x)).y"),
        (
            "select a from b join (c cross join d) on true",
            "SELECT a FROM b JOIN (c CROSS JOIN d) ON TRUE",
        ),
        ("values (1), (default)", "VALUES (1), (DEFAULT)"),
        ("begin read only", "BEGIN READ ONLY"),
        ("set a.b to on", "SET a.b = on"),
        ("archive database to off", "ARCHIVE DATABASE TO OFF"),
        ("fetch all c", "FETCH FORWARD ALL FROM c"),
    ] {
        let statement = parse_statement(sql).unwrap().unwrap();
        let printed = to_sql(&statement);
        assert_eq!(printed, expected, "{sql}");
        assert_eq!(parse_statement(&printed), Ok(Some(statement)), "{sql}");
    }
}
