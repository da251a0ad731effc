//! VACUUM, ANALYZE, DISCARD and UNLISTEN.
//!
//! Nothing has to be vacuumed: VACUUM makes a checkpoint, which freezes what is hot and takes out
//! loads all of whose rows are deleted. Blocks have statistics; ANALYZE collects those of rows that
//! are in none, and of blocks of versions that kept none.

use std::sync::Arc;

use datafusion::sql::sqlparser::ast::{Ident, ObjectName};
use datafusion::sql::sqlparser::parser::{Parser, ParserError};
use datafusion::sql::sqlparser::tokenizer::Token;
use nacre_store::{SEQUENCES_TABLE, Snapshot, Store, Table, TableSnapshot};

use crate::blocking::blocking;
use crate::error::{Error, Result};
use crate::from_datafusion::from_parser;
use crate::from_store::from_store;
use crate::names::{CATALOG, fold, table_name};
use crate::own_syntax;
use crate::pg_catalog::catalog_columns;
use crate::privileges::Acting;

/// One of the statements.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Housekeeping {
    Vacuum {
        places: Vec<Place>,
        analyzes: bool,
    },
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
    let analyzes = match options(parser, &VACUUM_OPTIONS)? {
        Some(options) => options.iter().any(|option| option == "analyze"),
        None => {
            // In this order, each at most once.
            for option in ["full", "freeze", "verbose"] {
                take_word(parser, option);
            }
            take_word(parser, "analyze") || take_word(parser, "analyse")
        }
    };
    Ok(Housekeeping::Vacuum { places: places(parser)?, analyzes })
}

fn analyze(parser: &mut Parser<'_>) -> Parsed<Housekeeping> {
    if options(parser, &ANALYZE_OPTIONS)?.is_none() {
        take_word(parser, "verbose");
    }
    places(parser).map(Housekeeping::Analyze)
}

/// Takes a word if it is the next one.
fn take_word(parser: &mut Parser<'_>, wanted: &str) -> bool {
    let is_next = word(parser).as_deref() == Some(wanted);
    if is_next {
        parser.advance_token();
    }
    is_next
}

/// Takes options in parentheses and returns those that are not turned off; `None` if there are no
/// parentheses.
fn options(parser: &mut Parser<'_>, known: &[&str]) -> Parsed<Option<Vec<String>>> {
    if !parser.consume_token(&Token::LParen) {
        return Ok(None);
    }
    let mut on = Vec::new();
    loop {
        let option = match word(parser) {
            Some(word) if known.contains(&word.as_str()) => word,
            _ => return parser.expected("an option", parser.peek_token()),
        };
        parser.advance_token();
        let mut is_on = true;
        if !matches!(parser.peek_token().token, Token::Comma | Token::RParen) {
            let value = parser.next_token().token.to_string().to_lowercase();
            is_on = !["false", "off", "0"].contains(&value.trim_matches('\''));
        }
        if is_on {
            on.push(option);
        }
        if !parser.consume_token(&Token::Comma) {
            return parser.expect_token(&Token::RParen).map(|_| Some(on));
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
        // Nothing of a catalog is stored.
        if catalog_columns(&place.table).is_some() {
            continue;
        }
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

/// A table, and its columns that statistics are collected of.
type AnalyzedTable = (TableSnapshot, Vec<usize>);

/// Collects statistics of the tables that the role owns, of all or of those that are named, on a
/// thread that may wait for a device.
///
/// # Errors
/// 42P01; a damaged block.
pub(crate) async fn analyze_tables(
    store: &Store,
    acting: Acting,
    snapshot: &Snapshot,
    places: &[Place],
) -> Result<()> {
    for (table, columns) in analyzed(store, acting, snapshot, places)? {
        let work = move || table.analyze(&columns);
        blocking("ANALYZE", work).await?.map_err(from_store)?;
    }
    Ok(())
}

/// Returns the tables that are to be analyzed; others are skipped.
fn analyzed(
    store: &Store,
    acting: Acting,
    snapshot: &Snapshot,
    places: &[Place],
) -> Result<Vec<AnalyzedTable>> {
    let owns = |name: &str| acting.require_owner(store, name).is_ok();
    let of_table = |table: &Arc<Table>, wanted: &dyn Fn(&str) -> bool| -> Option<AnalyzedTable> {
        let names = table.schema();
        let columns = names.columns.iter().enumerate().filter(|(_, column)| wanted(&column.name));
        let columns = columns.map(|(index, _)| index).collect();
        Some((table.seen_at(snapshot).ok()?, columns))
    };
    if places.is_empty() {
        let tables = store.tables().into_iter().filter(|table| {
            let schema = table.schema();
            schema.name != SEQUENCES_TABLE && owns(&schema.name)
        });
        return Ok(tables.filter_map(|table| of_table(&table, &|_| true)).collect());
    }
    let mut found = Vec::new();
    for place in places {
        // Nothing of a catalog is stored.
        if catalog_columns(&place.table).is_some() {
            continue;
        }
        let name = table_name(&place.table)?;
        let columns: Vec<String> = place.columns.iter().map(fold).collect();
        let wanted = |name: &str| columns.is_empty() || columns.iter().any(|own| own == name);
        // What is no table was told of.
        if let Ok(table) = store.table_at(&name, snapshot)
            && owns(&name)
        {
            found.extend(of_table(&table, &wanted));
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tables(sql: &str) -> Vec<String> {
        match parse_housekeeping(sql).unwrap() {
            Some(Housekeeping::Vacuum { places, .. } | Housekeeping::Analyze(places)) => {
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
    fn vacuum_analyzes_if_it_is_asked_to() {
        for (sql, wanted) in [
            ("vacuum t", false),
            ("vacuum full t", false),
            ("vacuum analyze", true),
            ("vacuum full analyse t", true),
            ("vacuum (full, analyze) t", true),
            ("vacuum (analyze false) t", false),
            ("vacuum (analyze 'off', verbose) t", false),
            ("vacuum (analyze on) t", true),
        ] {
            match parse_housekeeping(sql).unwrap() {
                Some(Housekeeping::Vacuum { analyzes, .. }) => {
                    assert_eq!(analyzes, wanted, "{sql}")
                }
                other => panic!("{sql}: {other:?}"),
            }
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
