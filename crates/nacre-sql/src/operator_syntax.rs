//! `x OPERATOR(pg_catalog.=) y`, also before ANY and ALL: the operator of that name.
//!
//! The parser knows the form, but not before ANY and ALL, and binds it like BETWEEN.

use datafusion::sql::sqlparser::ast::{BinaryOperator, Expr};
use datafusion::sql::sqlparser::keywords::Keyword;
use datafusion::sql::sqlparser::parser::{Parser, ParserError};
use datafusion::sql::sqlparser::tokenizer::Token;

/// The only schema that has operators.
const SCHEMA: &str = "pg_catalog";

/// Whether the next operator is named so.
pub(crate) fn is_next(parser: &Parser<'_>) -> bool {
    parser.peek_keyword(Keyword::OPERATOR) && parser.peek_nth_token_ref(1).token == Token::LParen
}

/// Parses the operator and what stands right of it.
///
/// # Errors
/// Those of the parser.
pub(crate) fn parse(
    parser: &mut Parser<'_>,
    left: Expr,
    precedence: u8,
) -> Result<Expr, ParserError> {
    parser.expect_keyword(Keyword::OPERATOR)?;
    parser.expect_token(&Token::LParen)?;
    let mut parts = vec![parser.next_token().token.to_string()];
    while parser.consume_token(&Token::Period) {
        parts.push(parser.next_token().token.to_string());
    }
    parser.expect_token(&Token::RParen)?;
    let op = operator(&parts).unwrap_or(BinaryOperator::PGCustomBinaryOperator(parts));
    let left = Box::new(left);
    let words = [Keyword::ANY, Keyword::SOME, Keyword::ALL];
    let Some(word) = parser.parse_one_of_keywords(&words) else {
        let right = Box::new(parser.parse_subexpr(precedence)?);
        return Ok(Expr::BinaryOp { left, op, right });
    };
    if parser.peek_token_ref().token != Token::LParen {
        return parser.expected("(", parser.peek_token());
    }
    let right = match parser.parse_prefix()? {
        Expr::Nested(inner) => inner,
        query => Box::new(query),
    };
    Ok(match word {
        Keyword::ALL => Expr::AllOp { left, compare_op: op, right },
        _ => Expr::AnyOp { left, compare_op: op, right, is_some: word == Keyword::SOME },
    })
}

/// Returns the operator of a name; `None` for one of another schema, or that the parser lacks.
fn operator(parts: &[String]) -> Option<BinaryOperator> {
    let name = match parts {
        [name] => name,
        [schema, name] if schema.trim_matches('"').eq_ignore_ascii_case(SCHEMA) => name,
        _ => return None,
    };
    Some(match name.as_str() {
        "~" => BinaryOperator::PGRegexMatch,
        "~*" => BinaryOperator::PGRegexIMatch,
        "!~" => BinaryOperator::PGRegexNotMatch,
        "!~*" => BinaryOperator::PGRegexNotIMatch,
        "~~" => BinaryOperator::PGLikeMatch,
        "~~*" => BinaryOperator::PGILikeMatch,
        "!~~" => BinaryOperator::PGNotLikeMatch,
        "!~~*" => BinaryOperator::PGNotILikeMatch,
        "=" => BinaryOperator::Eq,
        "<>" | "!=" => BinaryOperator::NotEq,
        "<" => BinaryOperator::Lt,
        "<=" => BinaryOperator::LtEq,
        ">" => BinaryOperator::Gt,
        ">=" => BinaryOperator::GtEq,
        "+" => BinaryOperator::Plus,
        "-" => BinaryOperator::Minus,
        "*" => BinaryOperator::Multiply,
        "/" => BinaryOperator::Divide,
        "%" => BinaryOperator::Modulo,
        "^" => BinaryOperator::PGExp,
        "&" => BinaryOperator::BitwiseAnd,
        "|" => BinaryOperator::BitwiseOr,
        "#" => BinaryOperator::PGBitwiseXor,
        "<<" => BinaryOperator::PGBitwiseShiftLeft,
        ">>" => BinaryOperator::PGBitwiseShiftRight,
        "||" => BinaryOperator::StringConcat,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parsing::statement_parser;

    fn parsed(sql: &str) -> Expr {
        statement_parser(sql).unwrap().parse_expr().unwrap()
    }

    #[test]
    fn named_operators_are_those_that_are_written_plainly() {
        for (sql, plain) in [
            ("a OPERATOR(pg_catalog.=) b", "a = b"),
            ("a operator ( pg_catalog . !~~* ) b", "a !~~* b"),
            ("a OPERATOR(\"pg_catalog\".<>) b", "a <> b"),
            ("a OPERATOR(||) b", "a || b"),
            ("a OPERATOR(pg_catalog.=) ANY (b)", "a = ANY (b)"),
            ("a OPERATOR(pg_catalog.=) SOME ('{1}'::int[])", "a = SOME ('{1}'::int[])"),
            ("a OPERATOR(pg_catalog.<>) ALL (SELECT 1) AND c", "a <> ALL (SELECT 1) AND c"),
            (
                "a OPERATOR(pg_catalog.~) 't' COLLATE pg_catalog.default AND b",
                "a ~ 't' COLLATE pg_catalog.default AND b",
            ),
            ("a = b OPERATOR(pg_catalog.||) c", "a = b || c"),
            ("a OPERATOR(pg_catalog.||) b = c", "a || b = c"),
        ] {
            assert_eq!(parsed(sql), parsed(plain), "{sql}");
        }
    }

    #[test]
    fn operators_of_other_schemas_are_not_those_of_the_catalog() {
        let foreign = parsed("a OPERATOR(public.=) b");
        assert_eq!(foreign.to_string(), "a OPERATOR(public.=) b");
    }
}
