//! VACUUM, ANALYZE, DISCARD and UNLISTEN.
//!
//! Nothing has to be vacuumed: VACUUM makes a checkpoint, which freezes what is hot and takes out
//! loads all of whose rows are deleted. Statistics are those of the blocks, so ANALYZE only looks
//! whether the tables and columns are there.

use datafusion::sql::sqlparser::ast::{Ident, ObjectName};
use datafusion::sql::sqlparser::keywords::Keyword;
use datafusion::sql::sqlparser::parser::{Parser, ParserError};
use datafusion::sql::sqlparser::tokenizer::Token;
use nacre_store::Store;

use crate::error::{Error, Result};
use crate::from_datafusion::from_parser;
use crate::from_store::from_store;
use crate::names::{CATALOG, fold, table_name};
use crate::own_syntax;
use crate::privileges::Acting;

/// One of the statements.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Housekeeping {
    Vacuum(Vec<Place>),
    Analyze(Vec<Place>),
    Discard(Discarded),
    /// There is no LISTEN, so nothing is listened to.
    Unlisten,
}

/// A table and, if given, some of its columns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    table: ObjectName,
    columns: Vec<Ident>,
}

/// What DISCARD gives up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Discarded {
    All,
    Plans,
    Sequences,
    /// There are no temporary tables.
    Temporary,
}

type Parsed<T> = std::result::Result<T, ParserError>;

const VACUUM_OPTIONS: [&str; 11] = [
    "full",
    "freeze",
    "verbose",
    "analyze",
    "disable_page_skipping",
    "skip_locked",
    "index_cleanup",
    "process_main",
    "process_toast",
    "truncate",
    "parallel",
];
const ANALYZE_OPTIONS: [&str; 2] = ["verbose", "skip_locked"];

/// Returns the statement that `sql` is, if it is one of these.
///
/// # Errors
/// `Syntax` with the place.
pub(crate) fn parse_housekeeping(sql: &str) -> Result<Option<Housekeeping>> {
    for (word, read) in [
        ("vacuum", vacuum as fn(&mut Parser<'_>) -> Parsed<Housekeeping>),
        ("analyze", analyze),
        ("analyse", analyze),
        ("discard", discard),
        ("unlisten", unlisten),
    ] {
        if let Some(mut parser) = own_syntax::begin(sql, &[word])? {
            let read = read(&mut parser).and_then(|statement| {
                own_syntax::end(&mut parser)?;
                Ok(statement)
            });
            return read.map(Some).map_err(|error| from_parser(&error));
        }
    }
    Ok(None)
}

/// Returns the next word without quotes, in small letters.
fn word(parser: &Parser<'_>) -> Option<String> {
    match parser.peek_token().token {
        Token::Word(word) if word.quote_style.is_none() => Some(word.value.to_lowercase()),
        _ => None,
    }
}

fn vacuum(parser: &mut Parser<'_>) -> Parsed<Housekeeping> {
    if !options(parser, &VACUUM_OPTIONS)? {
        // In this order, each at most once.
        for option in ["full", "freeze", "verbose", "analyze"] {
            if word(parser).as_deref() == Some(option) {
                parser.advance_token();
            }
        }
    }
    places(parser).map(Housekeeping::Vacuum)
}

fn analyze(parser: &mut Parser<'_>) -> Parsed<Housekeeping> {
    if !options(parser, &ANALYZE_OPTIONS)? {
        let _ = parser.parse_keyword(Keyword::VERBOSE);
    }
    places(parser).map(Housekeeping::Analyze)
}

/// Takes options in parentheses; false if there are none.
fn options(parser: &mut Parser<'_>, known: &[&str]) -> Parsed<bool> {
    if !parser.consume_token(&Token::LParen) {
        return Ok(false);
    }
    loop {
        match word(parser) {
            Some(word) if known.contains(&word.as_str()) => parser.advance_token(),
            _ => return parser.expected("an option", parser.peek_token()),
        }
        if !matches!(parser.peek_token().token, Token::Comma | Token::RParen) {
            parser.advance_token();
        }
        if !parser.consume_token(&Token::Comma) {
            return parser.expect_token(&Token::RParen).map(|_| true);
        }
    }
}

/// Takes a list of tables, which may be empty.
fn places(parser: &mut Parser<'_>) -> Parsed<Vec<Place>> {
    if matches!(parser.peek_token().token, Token::EOF | Token::SemiColon) {
        return Ok(Vec::new());
    }
    parser.parse_comma_separated(|parser| {
        let table = parser.parse_object_name(false)?;
        let mut columns = Vec::new();
        if parser.consume_token(&Token::LParen) {
            columns = parser.parse_comma_separated(Parser::parse_identifier)?;
            parser.expect_token(&Token::RParen)?;
        }
        Ok(Place { table, columns })
    })
}

fn discard(parser: &mut Parser<'_>) -> Parsed<Housekeeping> {
    let what = match word(parser).as_deref() {
        Some("all") => Discarded::All,
        Some("plans") => Discarded::Plans,
        Some("sequences") => Discarded::Sequences,
        Some("temp" | "temporary") => Discarded::Temporary,
        _ => return parser.expected("ALL, PLANS, SEQUENCES or TEMP", parser.peek_token()),
    };
    parser.advance_token();
    Ok(Housekeeping::Discard(what))
}

fn unlisten(parser: &mut Parser<'_>) -> Parsed<Housekeeping> {
    if !parser.consume_token(&Token::Mul) {
        parser.parse_identifier()?;
    }
    Ok(Housekeeping::Unlisten)
}

impl Discarded {
    /// Returns the command tag.
    pub(crate) fn tag(self) -> &'static str {
        match self {
            Self::All => "DISCARD ALL",
            Self::Plans => "DISCARD PLANS",
            Self::Sequences => "DISCARD SEQUENCES",
            Self::Temporary => "DISCARD TEMP",
        }
    }
}

/// Returns the warning for whoever may not do this to one of the tables, or, if none is named, to
/// all of them.
pub(crate) fn not_owned(
    store: &Store,
    acting: Acting,
    verb: &str,
    places: &[Place],
) -> Option<String> {
    let skipped =
        |name: &str| format!("skipping \"{name}\" --- only table or database owner can {verb} it");
    if places.is_empty() && !acting.is_superuser {
        return Some(skipped(CATALOG));
    }
    let names = places.iter().filter_map(|place| table_name(&place.table).ok());
    let mut denied = names.filter(|name| acting.require_owner(store, name).is_err());
    denied.next().map(|name| skipped(&name))
}

/// Looks whether tables and columns are there; returns a warning if something is no table.
///
/// # Errors
/// 42P01, 42703.
pub(crate) fn check_places(store: &Store, verb: &str, places: &[Place]) -> Result<Option<String>> {
    let mut warning = None;
    for place in places {
        let name = table_name(&place.table)?;
        if store.view(&name).is_some() || store.sequence(&name).is_ok() {
            warning = Some(format!(
                "skipping \"{name}\" --- cannot {verb} non-tables or special system tables"
            ));
            continue;
        }
        let schema = store.table(&name).map_err(from_store)?.schema();
        for column in place.columns.iter().map(fold) {
            if schema.column_index(&column).is_none() {
                let message = format!("column \"{column}\" of relation \"{name}\" does not exist");
                return Err(Error::undefined_column(message));
            }
        }
    }
    Ok(warning)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tables(sql: &str) -> Vec<String> {
        match parse_housekeeping(sql).unwrap() {
            Some(Housekeeping::Vacuum(places) | Housekeeping::Analyze(places)) => {
                places.iter().map(|place| place.table.to_string()).collect()
            }
            other => panic!("{sql}: {other:?}"),
        }
    }

    #[test]
    fn vacuum_and_analyze_name_tables() {
        assert!(tables("VACUUM").is_empty());
        assert_eq!(tables("vacuum analyze pgbench_branches"), ["pgbench_branches"]);
        assert_eq!(
            tables("VACUUM FULL FREEZE VERBOSE ANALYZE a, public.b (c, d);"),
            ["a", "public.b"]
        );
        assert_eq!(tables("vacuum (full false, analyze, parallel 2) t"), ["t"]);
        assert_eq!(tables("ANALYZE VERBOSE t"), ["t"]);
        assert_eq!(tables("analyse (skip_locked) t (a)"), ["t"]);
        for sql in ["VACUUM (quickly) t", "VACUUM t u", "ANALYZE t (", "DISCARD everything"] {
            assert_eq!(parse_housekeeping(sql).unwrap_err().sqlstate(), "42601", "{sql}");
        }
    }

    #[test]
    fn discard_names_what_goes() {
        let read = |sql| parse_housekeeping(sql).unwrap();
        assert_eq!(read("DISCARD ALL"), Some(Housekeeping::Discard(Discarded::All)));
        assert_eq!(read("discard temporary;"), Some(Housekeeping::Discard(Discarded::Temporary)));
        assert_eq!(read("UNLISTEN *"), Some(Housekeeping::Unlisten));
        assert_eq!(read("select 1"), None);
    }
}
