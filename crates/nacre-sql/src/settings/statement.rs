//! SET, RESET and SHOW.
//!
//! The parser of the front end reads some forms only, and values as expressions, so these are read
//! from its tokens. SET TRANSACTION and SET SESSION CHARACTERISTICS are left to it, and SHOW of
//! tables and columns.

use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, RecordBatch, StringViewArray};
use datafusion::arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use datafusion::execution::SendableRecordBatchStream;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::sql::sqlparser::keywords::Keyword;
use datafusion::sql::sqlparser::parser::{Parser, ParserError};
use datafusion::sql::sqlparser::tokenizer::Token;

use super::kind::Kind;
use super::known::Known;
use super::names::quoted;
use super::values::{Settings, unknown};
use crate::error::{Error, Result};
use crate::from_datafusion::from_parser;
use crate::own_syntax;

/// A statement about settings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum SettingStatement {
    Set {
        name: String,
        /// `None` is DEFAULT.
        value: Option<String>,
        is_local: bool,
    },
    /// SET CONSTRAINTS ALL: none is deferrable, so it changes nothing.
    Constraints,
    /// `None` is ALL.
    Reset(Option<String>),
    /// `None` is ALL.
    Show(Option<String>),
}

type Parsed<T> = std::result::Result<T, ParserError>;

/// What stands behind SHOW that is no setting.
const SHOWN_BY_OTHERS: [&str; 10] = [
    "tables",
    "columns",
    "fields",
    "full",
    "extended",
    "create",
    "functions",
    "databases",
    "schemas",
    "views",
];

/// Returns the statement about settings that `sql` is.
///
/// # Errors
/// `Syntax` with the place; 22023 for a list of values where there can be one.
pub(crate) fn parse_setting(sql: &str) -> Result<Option<SettingStatement>> {
    let syntax = |error: ParserError| from_parser(&error);
    let (mut parser, statement) = if let Some(mut parser) = own_syntax::begin(sql, &["set"])? {
        match set(&mut parser).map_err(syntax)? {
            Some(statement) => (parser, statement?),
            None => return Ok(None),
        }
    } else if let Some(mut parser) = own_syntax::begin(sql, &["reset"])? {
        let name = all_or_name(&mut parser).map_err(syntax)?;
        (parser, SettingStatement::Reset(name))
    } else if let Some(mut parser) = own_syntax::begin(sql, &["show"])? {
        if word(&parser, 0).is_some_and(|word| SHOWN_BY_OTHERS.contains(&word.as_str())) {
            return Ok(None);
        }
        let name = all_or_name(&mut parser).map_err(syntax)?;
        (parser, SettingStatement::Show(name))
    } else {
        return Ok(None);
    };
    own_syntax::end(&mut parser).map_err(syntax)?;
    Ok(Some(statement))
}

/// Returns the word without quotes at a place ahead, in small letters.
fn word(parser: &Parser<'_>, ahead: usize) -> Option<String> {
    match parser.peek_nth_token(ahead).token {
        Token::Word(word) if word.quote_style.is_none() => Some(word.value.to_lowercase()),
        _ => None,
    }
}

/// Takes words that stand for a name of a setting; `None` if there are others.
fn special_name(parser: &mut Parser<'_>) -> Option<&'static str> {
    const SPECIAL: [(&[&str], &str); 5] = [
        (&["time", "zone"], "TimeZone"),
        (&["session", "authorization"], "session_authorization"),
        (&["transaction", "isolation", "level"], "transaction_isolation"),
        (&["names"], "client_encoding"),
        (&["xml", "option"], "xmloption"),
    ];
    let is_next = |words: &[&str]| {
        let next =
            |(ahead, expected): (usize, &&str)| word(parser, ahead).as_deref() == Some(*expected);
        words.iter().enumerate().all(next)
    };
    let (words, name) = SPECIAL.into_iter().find(|(words, _)| is_next(words))?;
    for _ in words {
        parser.advance_token();
    }
    Some(name)
}

/// Takes the name of a setting, or ALL.
fn all_or_name(parser: &mut Parser<'_>) -> Parsed<Option<String>> {
    if parser.parse_keyword(Keyword::ALL) {
        return Ok(None);
    }
    if let Some(name) = special_name(parser) {
        return Ok(Some(name.to_owned()));
    }
    name(parser).map(Some)
}

/// Takes the name of a setting.
fn name(parser: &mut Parser<'_>) -> Parsed<String> {
    let mut name = String::new();
    loop {
        let token = parser.next_token();
        match token.token {
            Token::Word(word) if word.quote_style.is_some() => name.push_str(&word.value),
            Token::Word(word) => name.push_str(&word.value.to_lowercase()),
            _ => return parser.expected("the name of a setting", token),
        }
        if !parser.consume_token(&Token::Period) {
            return Ok(name);
        }
        name.push('.');
    }
}

/// Reads what follows SET; `None` if it is about no setting.
fn set(parser: &mut Parser<'_>) -> Parsed<Option<Result<SettingStatement>>> {
    let is_local = parser.parse_keyword(Keyword::LOCAL);
    if !is_local && word(parser, 0).as_deref() == Some("session") {
        match word(parser, 1).as_deref() {
            Some("characteristics") => return Ok(None),
            Some("authorization") => {}
            _ => parser.advance_token(),
        }
    }
    match word(parser, 0).as_deref() {
        Some("transaction") => return Ok(None),
        Some("constraints") => return constraints(parser).map(Some),
        _ => {}
    }
    let begins_value = |parser: &Parser<'_>| {
        parser.peek_token().token == Token::Eq || word(parser, 0).as_deref() == Some("to")
    };
    let is_special = matches!(word(parser, 0).as_deref(), Some("role" | "schema"));
    let name = match special_name(parser) {
        Some(name) => name.to_owned(),
        None => {
            let name = name(parser)?;
            if begins_value(parser) {
                parser.advance_token();
            } else if !is_special {
                return parser.expected("= or TO", parser.peek_token());
            }
            if name == "schema" { "search_path".to_owned() } else { name }
        }
    };
    if parser.parse_keyword(Keyword::DEFAULT)
        || (name == "TimeZone" && parser.parse_keyword(Keyword::LOCAL))
    {
        return Ok(Some(Ok(SettingStatement::Set { name, value: None, is_local })));
    }
    // The hours of a zone may be given as an interval.
    if name == "TimeZone" && parser.parse_keyword(Keyword::INTERVAL) {
        let (text, _) = value(parser)?;
        while !matches!(parser.peek_token().token, Token::EOF | Token::SemiColon) {
            parser.advance_token();
        }
        return Ok(Some(Ok(SettingStatement::Set { name, value: Some(text), is_local })));
    }
    let values = parser.parse_comma_separated(value)?;
    let value = joined(&name, &values);
    Ok(Some(value.map(|value| SettingStatement::Set { name, value: Some(value), is_local })))
}

/// Reads SET CONSTRAINTS.
fn constraints(parser: &mut Parser<'_>) -> Parsed<Result<SettingStatement>> {
    parser.advance_token();
    let is_all = parser.parse_keyword(Keyword::ALL);
    if !is_all {
        parser.parse_comma_separated(|parser| parser.parse_object_name(false))?;
    }
    parser.expect_one_of_keywords(&[Keyword::DEFERRED, Keyword::IMMEDIATE])?;
    Ok(match is_all {
        true => Ok(SettingStatement::Constraints),
        false => Err(Error::not_supported("SET CONSTRAINTS of single constraints")),
    })
}

/// Takes a value; also returns whether it is a number.
fn value(parser: &mut Parser<'_>) -> Parsed<(String, bool)> {
    let is_negative = parser.consume_token(&Token::Minus);
    let has_sign = is_negative || parser.consume_token(&Token::Plus);
    let token = parser.next_token();
    let text = match token.token {
        Token::Number(number, _) => {
            let sign = if is_negative { "-" } else { "" };
            return Ok((format!("{sign}{number}"), true));
        }
        _ if has_sign => return parser.expected("a number", token),
        Token::SingleQuotedString(text) | Token::EscapedStringLiteral(text) => text,
        Token::Word(word) if word.quote_style.is_some() => word.value,
        Token::Word(word) => word.value.to_lowercase(),
        _ => return parser.expected("a value", token),
    };
    Ok((text, false))
}

/// Makes one value of a list of them.
fn joined(name: &str, values: &[(String, bool)]) -> Result<String> {
    let kind = Known::named(name).map(|known| known.kind);
    match (kind, values) {
        (Some(Kind::Names), values) => {
            let names = values.iter().map(|(name, is_number)| match is_number {
                true => name.clone(),
                false => quoted(name),
            });
            Ok(names.collect::<Vec<_>>().join(", "))
        }
        (_, [(value, _)]) => Ok(value.clone()),
        (Some(Kind::DateStyle), values) => {
            Ok(values.iter().map(|(word, _)| word.as_str()).collect::<Vec<_>>().join(", "))
        }
        _ => Err(Error::invalid_parameter(format!("SET {name} takes only one argument"))),
    }
}

/// Returns the columns of what a SHOW answers; `None` for other statements.
pub(crate) fn shown_schema(statement: &SettingStatement) -> Option<SchemaRef> {
    let text = |name: &str| Field::new(name, DataType::Utf8View, true);
    let fields = match statement {
        SettingStatement::Show(None) => ["name", "setting", "description"].map(text).to_vec(),
        SettingStatement::Show(Some(name)) => {
            let name = Known::named(name)
                .map_or_else(|| name.to_lowercase(), |known| known.name.to_owned());
            vec![text(&name)]
        }
        _ => return None,
    };
    Some(Arc::new(Schema::new(fields)))
}

/// Answers SHOW.
///
/// # Errors
/// 42704.
pub(crate) fn show(settings: &Settings, name: Option<&str>) -> Result<SendableRecordBatchStream> {
    let columns: Vec<Vec<String>> = match name {
        Some(name) => vec![vec![settings.shown(name).ok_or_else(|| unknown(name))?]],
        None => {
            let all = settings.list();
            vec![
                all.iter().map(|info| info.name.clone()).collect(),
                all.iter().map(|info| info.shown.clone()).collect(),
                all.iter().map(|info| info.description.to_owned()).collect(),
            ]
        }
    };
    let statement = SettingStatement::Show(name.map(str::to_owned));
    let schema = shown_schema(&statement).unwrap_or_else(|| Arc::new(Schema::empty()));
    let arrays = columns
        .into_iter()
        .map(|column| -> ArrayRef { Arc::new(StringViewArray::from_iter_values(column)) });
    let batch = RecordBatch::try_new(Arc::clone(&schema), arrays.collect());
    let rows = futures::stream::iter([batch.map_err(Into::into)]);
    Ok(Box::pin(RecordBatchStreamAdapter::new(schema, rows)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set_to(sql: &str) -> (String, Option<String>, bool) {
        match parse_setting(sql).unwrap() {
            Some(SettingStatement::Set { name, value, is_local }) => (name, value, is_local),
            other => panic!("{sql}: {other:?}"),
        }
    }

    #[test]
    fn set_has_many_forms() {
        for (sql, name, value, is_local) in [
            ("SET work_mem = '1GB'", "work_mem", Some("1GB"), false),
            ("set session Work_Mem to 64;", "work_mem", Some("64"), false),
            ("SET LOCAL x.y TO DEFAULT", "x.y", None, true),
            ("SET extra_float_digits = -1", "extra_float_digits", Some("-1"), false),
            (
                "SET search_path TO \"$user\", public",
                "search_path",
                Some("\"$user\", public"),
                false,
            ),
            ("SET search_path = ''", "search_path", Some("\"\""), false),
            ("SET SCHEMA 'a'", "search_path", Some("a"), false),
            ("SET datestyle = ISO, DMY", "datestyle", Some("iso, dmy"), false),
            ("SET TIME ZONE 'UTC'", "TimeZone", Some("UTC"), false),
            ("SET TIME ZONE LOCAL", "TimeZone", None, false),
            ("SET TIME ZONE INTERVAL '0' HOUR TO MINUTE", "TimeZone", Some("0"), false),
            ("SET NAMES 'UTF8'", "client_encoding", Some("UTF8"), false),
            ("SET ROLE none", "role", Some("none"), false),
            ("SET SESSION AUTHORIZATION DEFAULT", "session_authorization", None, false),
            ("SET jit = off", "jit", Some("off"), false),
            ("SET a TO \"Quoted\"", "a", Some("Quoted"), false),
        ] {
            let expected = (name.to_owned(), value.map(str::to_owned), is_local);
            assert_eq!(set_to(sql), expected, "{sql}");
        }
    }

    #[test]
    fn other_statements_are_left_alone() {
        for sql in [
            "SET TRANSACTION READ ONLY",
            "SET SESSION CHARACTERISTICS AS TRANSACTION READ ONLY",
            "SHOW TABLES",
            "SHOW COLUMNS FROM t",
            "SELECT 1",
        ] {
            assert_eq!(parse_setting(sql).unwrap(), None, "{sql}");
        }
    }

    #[test]
    fn reset_and_show_name_one_or_all() {
        let one = |name: &str| Some(name.to_owned());
        let parse = |sql| parse_setting(sql).unwrap().unwrap();
        assert_eq!(parse("RESET ALL"), SettingStatement::Reset(None));
        assert_eq!(parse("RESET Work_Mem"), SettingStatement::Reset(one("work_mem")));
        assert_eq!(parse("SHOW ALL;"), SettingStatement::Show(None));
        assert_eq!(parse("show TIME ZONE"), SettingStatement::Show(one("TimeZone")));
        let isolation = SettingStatement::Show(one("transaction_isolation"));
        assert_eq!(parse("show transaction isolation level"), isolation);
    }

    #[test]
    fn malformed_statements_say_where() {
        for sql in ["SET", "SET a", "SET a = ", "SET a = b c", "RESET", "SHOW a b", "SET a = (1)"] {
            assert_eq!(parse_setting(sql).unwrap_err().sqlstate(), "42601", "{sql}");
        }
        let error = parse_setting("SET work_mem = 1, 2").unwrap_err();
        assert_eq!(error.message(), "SET work_mem takes only one argument");
    }
}
