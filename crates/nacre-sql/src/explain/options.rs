//! What an `EXPLAIN` is asked for.
//!
//! The planner's parser has options of its own in parentheses. PostgreSQL's are read here, and
//! written as the words without parentheses that both have, which are never longer: places in the
//! text stay what they are.

use std::sync::Arc;

use datafusion::arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use datafusion::common::format::ExplainFormat;
use datafusion::sql::parser::Statement as ParsedStatement;
use datafusion::sql::sqlparser::parser::{Parser, ParserError};
use datafusion::sql::sqlparser::tokenizer::Token;

use super::property::DocumentFormat;
use crate::error::{Error, ErrorKind, Result};
use crate::from_datafusion::from_parser;
use crate::own_syntax::begin;
use crate::pg_types::TYPE_KEY;

/// The command tag.
pub(crate) const TAG: &str = "EXPLAIN";

/// How an `EXPLAIN` answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    Lines { is_verbose: bool },
    Document { format: DocumentFormat, is_measured: bool },
}

/// Tells how a statement answers, if it is an `EXPLAIN`.
pub(crate) fn form(statement: &ParsedStatement) -> Option<Form> {
    let ParsedStatement::Explain(explain) = statement else { return None };
    let options = &explain.options;
    Some(match options.format {
        Some(ExplainFormat::PostgresJSON) => {
            Form::Document { format: DocumentFormat::Json, is_measured: options.analyze }
        }
        _ => Form::Lines { is_verbose: options.verbose },
    })
}

/// Returns the columns of what EXPLAIN answers.
pub(crate) fn schema(form: Form) -> SchemaRef {
    let field = Field::new("QUERY PLAN", DataType::Utf8View, false);
    Arc::new(Schema::new(vec![match form {
        Form::Lines { .. } | Form::Document { format: DocumentFormat::Yaml, .. } => field,
        Form::Document { format, .. } => {
            field.with_metadata([(TYPE_KEY.to_owned(), format.type_name().to_owned())].into())
        }
    }]))
}

#[derive(Default)]
struct Options {
    is_analyze: bool,
    is_verbose: bool,
    is_json: bool,
    /// Whether TIMING was named, with what it needs.
    has_timing: bool,
}

/// Returns the text of an `EXPLAIN` with options in parentheses as the planner reads it; `None` for
/// any other statement.
///
/// # Errors
/// 42601 for an option that there is none of, 22023 for values; `not supported`.
pub(crate) fn readable(sql: &str) -> Result<Option<String>> {
    let Some(mut parser) = begin(sql, &[TAG])? else { return Ok(None) };
    if parser.peek_token().token != Token::LParen || begins_query(&parser) {
        return Ok(None);
    }
    let syntax = |error: ParserError| from_parser(&error);
    let open = parser.next_token().span.start;
    let mut options = Options::default();
    loop {
        options.take(&mut parser)?;
        if !parser.consume_token(&Token::Comma) {
            break;
        }
    }
    parser.expect_token(&Token::RParen).map_err(syntax)?;
    if options.has_timing && !options.is_analyze {
        let message = "EXPLAIN option TIMING requires ANALYZE";
        return Err(Error::invalid_parameter(message));
    }
    let close = parser.get_current_token().span.end;
    let place = |line: u64, column: u64| offset(sql, line, column);
    let (from, to) = (place(open.line, open.column), place(close.line, close.column));
    let (Some(before), Some(list), Some(after)) =
        (sql.get(..from), sql.get(from..to), sql.get(to..))
    else {
        return Ok(None);
    };
    let mut words = Vec::new();
    let said = [
        (options.is_analyze, "ANALYZE"),
        (options.is_verbose, "VERBOSE"),
        (options.is_json, "FORMAT PGJSON"),
    ];
    words.extend(said.into_iter().filter(|(is_said, _)| *is_said).map(|(_, word)| word));
    let words = words.join(" ");
    // Lines stay lines.
    let breaks = "\n".repeat(list.matches('\n').count());
    let last = list.rsplit('\n').next().unwrap_or(list);
    let room = match breaks.is_empty() {
        true => list.chars().count().saturating_sub(words.chars().count()),
        false => last.chars().count(),
    };
    Ok(Some(format!("{before}{words}{breaks}{}{after}", " ".repeat(room))))
}

/// Whether a parenthesis opens a query, not options.
fn begins_query(parser: &Parser<'_>) -> bool {
    match &parser.peek_nth_token_ref(1).token {
        Token::LParen => true,
        Token::Word(word) => {
            let query = ["SELECT", "WITH", "VALUES", "TABLE"];
            query.iter().any(|begin| word.value.eq_ignore_ascii_case(begin))
        }
        _ => false,
    }
}

/// Returns the byte that a line and a column begin at.
fn offset(sql: &str, line: u64, column: u64) -> usize {
    let skipped = usize::try_from(line.saturating_sub(1)).unwrap_or(usize::MAX);
    let begin: usize = sql.split_inclusive('\n').take(skipped).map(str::len).sum();
    let characters = usize::try_from(column.saturating_sub(1)).unwrap_or(usize::MAX);
    let rest = sql.get(begin..).unwrap_or_default();
    begin + rest.chars().take(characters).map(char::len_utf8).sum::<usize>()
}

impl Options {
    /// Reads an option and its value.
    fn take(&mut self, parser: &mut Parser<'_>) -> Result<()> {
        let syntax = |error: ParserError| from_parser(&error);
        let name = parser.parse_identifier().map_err(syntax)?.value.to_lowercase();
        let value = value(parser)?;
        let flag = || is_on(&name, value.as_deref());
        match name.as_str() {
            "analyze" => self.is_analyze = flag()?,
            "verbose" => self.is_verbose = flag()?,
            // Nothing of this is shown in any case.
            "costs" | "buffers" | "settings" | "wal" => drop(flag()?),
            "timing" | "summary" if !flag()? => {
                return Err(Error::not_supported(format_args!("EXPLAIN ({name} off)")));
            }
            "timing" => self.has_timing = true,
            "summary" => {}
            "format" => self.is_json = is_json(value.as_deref())?,
            other => {
                let message = format!("unrecognized EXPLAIN option \"{other}\"");
                return Err(Error::new(ErrorKind::Syntax, message));
            }
        }
        Ok(())
    }
}

/// Takes the value of an option, if there is one.
fn value(parser: &mut Parser<'_>) -> Result<Option<String>> {
    match &parser.peek_token().token {
        Token::Comma | Token::RParen => Ok(None),
        _ => {
            let token = parser.next_token();
            Ok(Some(match token.token {
                Token::Word(word) => word.value.to_lowercase(),
                Token::SingleQuotedString(text) => text.to_lowercase(),
                Token::Number(digits, _) => digits,
                _ => {
                    let expected = parser.expected::<()>("a value of an EXPLAIN option", token);
                    return Err(match expected {
                        Err(error) => from_parser(&error),
                        Ok(()) => Error::new(ErrorKind::Syntax, "a value is missing"),
                    });
                }
            }))
        }
    }
}

fn is_on(name: &str, value: Option<&str>) -> Result<bool> {
    match value {
        None | Some("true" | "on" | "1") => Ok(true),
        Some("false" | "off" | "0") => Ok(false),
        Some(_) => Err(Error::new(ErrorKind::Syntax, format!("{name} requires a Boolean value"))),
    }
}

fn is_json(value: Option<&str>) -> Result<bool> {
    match value {
        Some("json") => Ok(true),
        Some("text") => Ok(false),
        Some(other @ ("xml" | "yaml")) => {
            Err(Error::not_supported(format_args!("EXPLAIN (FORMAT {other})")))
        }
        other => {
            let value = other.unwrap_or_default();
            Err(Error::invalid_parameter(format!(
                "unrecognized value for EXPLAIN option \"format\": \"{value}\""
            )))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_become_words_and_places_stay() {
        let read = |sql: &str| readable(sql).unwrap().unwrap();
        assert_eq!(read("explain (format json) select 1"), "explain FORMAT PGJSON select 1");
        let long = "explain (analyze true, costs off,\n verbose) select x";
        let short = read(long);
        assert!(short.starts_with("explain ANALYZE VERBOSE\n"), "{short}");
        assert_eq!(short.lines().last().unwrap().find('x'), long.lines().last().unwrap().find('x'));
        for other in ["select 1", "explain select 1", "explain (select 1)", "explain ((select 1))"]
        {
            assert_eq!(readable(other).unwrap(), None, "{other}");
        }
    }

    #[test]
    fn options_that_are_none_are_named() {
        let code = |sql: &str| readable(sql).unwrap_err().sqlstate().to_owned();
        assert_eq!(code("explain (frobnicate) select 1"), "42601");
        assert_eq!(code("explain (analyze maybe) select 1"), "42601");
        assert_eq!(code("explain (format html) select 1"), "22023");
        assert_eq!(code("explain (format xml) select 1"), "0A000");
        assert_eq!(code("explain (timing) select 1"), "22023");
        assert_eq!(code("explain (analyze, timing off) select 1"), "0A000");
    }
}
