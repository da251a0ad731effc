//! Parses SQL in a number of steps that is linear in the length of the text.
//!
//! The parser tries alternatives and goes back: `f(x)` may have named arguments, `cast(` may be a
//! function of that name. Where such forms nest, each level is read twice as often as the one
//! around it.
//!
//! 1. [`StatementDialect`] is PostgreSQL's dialect without alternatives that no statement needs.
//! 2. It counts the steps of what remains. Past their bound the text is refused as nested too
//!    deeply, which the parser passes on without trying anything else.
//! 3. Operators that are named with their schema are read by [`operator_syntax`].
//! 4. A step also ends parsing a statement that has ended ([`cancellation`]).

use std::any::TypeId;
use std::cell::Cell;

use datafusion::common::DataFusionError;
use datafusion::sql::parser::{DFParserBuilder, Statement as ParsedStatement};
use datafusion::sql::sqlparser::ast::Expr;
use datafusion::sql::sqlparser::dialect::{Dialect, PostgreSqlDialect, Precedence};
use datafusion::sql::sqlparser::keywords::Keyword;
use datafusion::sql::sqlparser::parser::{Parser, ParserError};

use crate::error::{Error, ErrorKind};
use crate::from_datafusion::external;
use crate::{cancellation, operator_syntax};

/// Levels of parentheses, calls and queries in each other; each takes up to two of the parser's.
const NESTING_MAX: usize = 50;

/// Steps that each text may take: about 50 ms.
const STEPS_FREE: usize = 20_000;

/// Steps for each byte beyond: a value and what stands between it and the next one are two bytes.
const STEPS_PER_BYTE: usize = 2;

thread_local! {
    /// Steps that parsing may still take on this thread; set where it begins.
    static STEPS_LEFT: Cell<usize> = const { Cell::new(0) };
}

/// Returns a parser of a text.
///
/// # Errors
/// Those of taking it apart into tokens.
pub(crate) fn statement_parser(sql: &str) -> Result<Parser<'static>, ParserError> {
    STEPS_LEFT.set(steps_max(sql));
    Parser::new(const { &StatementDialect }).with_recursion_limit(NESTING_MAX).try_with_sql(sql)
}

/// Parses a text that is one statement.
///
/// # Errors
/// Those of the parser.
pub(crate) fn parse_statement(sql: &str) -> Result<ParsedStatement, DataFusionError> {
    STEPS_LEFT.set(steps_max(sql));
    let builder = DFParserBuilder::new(sql).with_dialect(&StatementDialect);
    let mut parser = builder.with_recursion_limit(NESTING_MAX).build()?;
    let mut statements = parser.parse_statements()?;
    match (statements.pop_front(), statements.is_empty()) {
        (Some(statement), true) => Ok(statement),
        (Some(_), false) => Err(external(Error::not_supported("several statements at once"))),
        (None, _) => Err(external(Error::new(ErrorKind::Syntax, "there is no statement"))),
    }
}

/// Returns the error of a text that the parser does not read to its end.
pub(crate) fn nested_too_deeply() -> Error {
    Error::too_complex(format!("Parentheses, calls and queries nest up to {NESTING_MAX} levels."))
        .with_hint("Write the inner parts as queries of WITH.")
}

fn steps_max(sql: &str) -> usize {
    sql.len().saturating_mul(STEPS_PER_BYTE).saturating_add(STEPS_FREE)
}

/// Whether the parser may begin another expression.
fn may_step() -> bool {
    let left = STEPS_LEFT.get();
    STEPS_LEFT.set(left.saturating_sub(1));
    left > 0 && !cancellation::is_cancelled()
}

/// PostgreSQL's dialect, in bounded steps.
#[derive(Debug)]
struct StatementDialect;

const POSTGRESQL: PostgreSqlDialect = PostgreSqlDialect {};

/// Takes over answers of PostgreSQL's dialect.
macro_rules! as_postgresql {
    ($($name:ident)*) => {
        $(
            fn $name(&self) -> bool {
                POSTGRESQL.$name()
            }
        )*
    };
}

impl Dialect for StatementDialect {
    /// Where the parser asks which dialect it is, it is PostgreSQL's.
    fn dialect(&self) -> TypeId {
        TypeId::of::<PostgreSqlDialect>()
    }

    fn parse_prefix(&self, _: &mut Parser<'_>) -> Option<Result<Expr, ParserError>> {
        if may_step() { None } else { Some(Err(ParserError::RecursionLimitExceeded)) }
    }

    /// Labels of arguments are names; as expressions they would be read twice.
    fn supports_named_fn_args_with_expr_name(&self) -> bool {
        false
    }

    /// Words that are no names of columns are not read a second time as such.
    fn is_reserved_for_identifier(&self, keyword: Keyword) -> bool {
        matches!(keyword, Keyword::CASE | Keyword::CAST | Keyword::NOT | Keyword::ARRAY)
            || POSTGRESQL.is_reserved_for_identifier(keyword)
    }

    fn identifier_quote_style(&self, identifier: &str) -> Option<char> {
        POSTGRESQL.identifier_quote_style(identifier)
    }

    fn is_delimited_identifier_start(&self, one: char) -> bool {
        POSTGRESQL.is_delimited_identifier_start(one)
    }

    fn is_identifier_start(&self, one: char) -> bool {
        POSTGRESQL.is_identifier_start(one)
    }

    fn is_identifier_part(&self, one: char) -> bool {
        POSTGRESQL.is_identifier_part(one)
    }

    fn is_custom_operator_part(&self, one: char) -> bool {
        POSTGRESQL.is_custom_operator_part(one)
    }

    fn parse_infix(
        &self,
        parser: &mut Parser<'_>,
        left: &Expr,
        precedence: u8,
    ) -> Option<Result<Expr, ParserError>> {
        operator_syntax::is_next(parser)
            .then(|| operator_syntax::parse(parser, left.clone(), precedence))
    }

    fn get_next_precedence(&self, parser: &Parser<'_>) -> Option<Result<u8, ParserError>> {
        match operator_syntax::is_next(parser) {
            true => Some(Ok(self.prec_value(Precedence::PgOther))),
            false => POSTGRESQL.get_next_precedence(parser),
        }
    }

    fn prec_value(&self, precedence: Precedence) -> u8 {
        POSTGRESQL.prec_value(precedence)
    }

    as_postgresql! {
        supports_unicode_string_literal supports_filter_during_aggregation supports_group_by_expr
        allow_extract_custom allow_extract_single_quotes supports_create_index_with_clause
        supports_explain_with_utility_options supports_listen_notify supports_factorial_operator
        supports_bitwise_shift_operators supports_comment_on supports_load_extension
        supports_named_fn_args_with_colon_operator supports_empty_projections
        supports_nested_comments supports_string_escape_constant
        supports_numeric_literal_underscores supports_array_typedef_with_brackets
        supports_geometric_types supports_set_names supports_alter_column_type_using
        supports_notnull_operator supports_interval_options supports_insert_table_alias
        supports_create_table_like_parenthesized supports_select_wildcard_with_alias
        supports_comma_separated_trim supports_xml_expressions supports_comment_optimizer_hint
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(sql: &str) -> Result<String, ParserError> {
        statement_parser(sql)?.parse_statement().map(|statement| statement.to_string())
    }

    #[test]
    fn statements_mean_what_they_mean_to_the_dialect_of_postgresql() {
        for sql in [
            "SELECT a.b, \"C\"[1], x::int FROM t AS \"T\" WHERE a NOTNULL AND b !~ 'c' AND c @> d",
            "SELECT -2 ^ 2, 1_000, E'\\n', U&'\\0041', interval '1' day, box '(1,2),(3,4)', !! 5",
            "SELECT count(*) FILTER (WHERE a > 0), f(days => 1), trim(both 'x' from y)",
            "SELECT position('a' in b), position('a', b)",
            "INSERT INTO t AS u (a) VALUES (1) ON CONFLICT (a) DO UPDATE SET a = excluded.a",
            "SELECT substring(a from 2 for 3), extract('epoch' from b), array[1], array(select 1)",
            "SELECT overlay(a placing b from 1), floor(1.5), cast(a as text), /* /* b */ */ floor",
            "CREATE INDEX i ON t USING btree (a) WITH (fillfactor = 70)",
            "ALTER TABLE t ALTER COLUMN a TYPE int USING a::int",
            "SELECT a << 1 | b, c # d, e ->> 'f', g || h COLLATE \"C\" FROM t",
            "SELECT a FROM t GROUP BY GROUPING SETS ((a), ())",
            "SELECT",
            "SET NAMES 'utf8'",
            "LISTEN a",
            "COMMENT ON TABLE t IS 'x'",
            "SELECT trim(a, 'x'), position, substring, overlay, extract FROM t",
        ] {
            let mut parser = Parser::new(&POSTGRESQL).try_with_sql(sql).unwrap();
            let expected = parser.parse_statement().map(|statement| statement.to_string());
            assert_eq!(parsed(sql), expected, "{sql}");
        }
    }

    #[test]
    fn steps_of_nested_forms_grow_with_their_length() {
        for (open, close) in [
            ("abs(", ")"),
            ("coalesce(1, ", ")"),
            ("row(", ")"),
            ("array[", "]"),
            ("(", ")"),
            ("cast(", " as int)"),
            ("case when true then ", " end"),
            ("not ", ""),
            ("trim(", ")"),
            ("floor(", ")"),
            ("exists (select ", ")"),
            ("1 in (", ")"),
            ("(1, ", ")"),
            ("- ", ""),
            ("(select ", ")"),
            ("x in (select ", ")"),
            ("position('a' in ", ")"),
            ("~ ", ""),
        ] {
            let sql =
                |depth: usize| format!("select {}1{}", open.repeat(depth), close.repeat(depth));
            let steps = |sql: &str| {
                let answer = parsed(sql);
                (answer, steps_max(sql) - STEPS_LEFT.get())
            };
            let (answer, few) = steps(&sql(5));
            answer.unwrap();
            let (answer, many) = steps(&sql(20));
            assert!(answer.is_ok(), "{open}: {answer:?}");
            assert!(many <= 8 * few, "{open}: {few} steps for 5 levels, {many} for 20");
            let (answer, _) = steps(&sql(200));
            assert_eq!(answer, Err(ParserError::RecursionLimitExceeded), "{open}");
        }
    }

    #[test]
    fn errors_within_forms_that_are_tried_twice_end_parsing() {
        // Each level is tried as a form of its own and as a call: 2^40 steps without a bound.
        let sql = format!("select {}1 2{}", "floor(".repeat(40), ")".repeat(40));
        parsed(&sql).unwrap_err();
    }
}
