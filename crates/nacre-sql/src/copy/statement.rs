//! `COPY` as PostgreSQL writes it. The parser of the front end knows only part of its options,
//! so the statement is read here from the same tokens.

use datafusion::sql::parser::Statement as ParsedStatement;
use datafusion::sql::sqlparser::ast::{Ident, ObjectName, Query, Statement};
use datafusion::sql::sqlparser::dialect::PostgreSqlDialect;
use datafusion::sql::sqlparser::keywords::Keyword;
use datafusion::sql::sqlparser::parser::{Parser, ParserError};
use datafusion::sql::sqlparser::tokenizer::{Token, TokenWithSpan};
use nacre_ingest::Direction;
use nacre_store::Store;

use super::load::column_indexes;
use super::options;
use crate::error::{Error, Position, Result};
use crate::from_datafusion::from_parser;
use crate::names::fold;
use crate::own_syntax;
use crate::plain_forms::plain;
use crate::privileges::{Acting, INSERT};
use crate::relations::table_to_change;

/// What is copied.
#[derive(Debug)]
pub(crate) enum Subject {
    /// A table and, if given, some of its columns.
    Table { name: ObjectName, columns: Option<Vec<String>> },
    /// A query, for `COPY ... TO` only.
    Query(Box<Query>),
}

/// The other side.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Target {
    File(String),
    /// `STDIN` or `STDOUT`.
    Client,
}

/// The value of an option.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum OptionValue {
    None,
    Text(String),
    Columns(Vec<String>),
    Star,
}

/// One option, with its name in lower case.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct CopyOption {
    pub(crate) name: String,
    pub(crate) value: OptionValue,
    pub(crate) position: Option<Position>,
}

/// A parsed `COPY`.
#[derive(Debug)]
pub(crate) struct CopyStatement {
    pub(crate) subject: Subject,
    pub(crate) is_from: bool,
    pub(crate) target: Target,
    pub(crate) options: Vec<CopyOption>,
}

/// What a statement copies to or from the client, as the client is told before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClientCopy {
    /// `FROM STDIN`, so many columns.
    In { columns: usize },
    /// `TO STDOUT`.
    Out,
}

impl CopyStatement {
    /// Returns what flows to or from the client.
    ///
    /// # Errors
    /// 42P01, 42703, and options that mean nothing, if rows are to come.
    pub(crate) fn of_client(&self, store: &Store, acting: Acting) -> Result<Option<ClientCopy>> {
        if self.target != Target::Client {
            return Ok(None);
        }
        let (Subject::Table { name, columns }, true) = (&self.subject, self.is_from) else {
            return Ok(Some(ClientCopy::Out));
        };
        options::build(&self.options, Direction::From)?;
        let table = table_to_change(store, name, "COPY")?;
        acting.require_table(store, &table, INSERT)?;
        let columns = match columns {
            Some(columns) => column_indexes(&table, columns)?.len(),
            None => table.schema().columns.len(),
        };
        Ok(Some(ClientCopy::In { columns }))
    }

    /// Checks that somebody may have the server read or write a file, if it is to.
    ///
    /// # Errors
    /// 42501.
    pub(crate) fn require_client(&self, acting: Acting) -> Result<()> {
        let (role, what) = match (&self.target, self.is_from) {
            (Target::Client, _) => return Ok(()),
            (Target::File(_), true) => ("pg_read_server_files", "from"),
            (Target::File(_), false) => ("pg_write_server_files", "to"),
        };
        let message = format!(
            "must be superuser or have privileges of the {role} role to COPY {what} a file"
        );
        acting.require_superuser(&message).map_err(|error| {
            error.with_hint(
                "Anyone can COPY to stdout or from stdin. psql's \\copy command also works for \
                 anyone.",
            )
        })
    }

    /// Returns the query whose rows `COPY ... TO` writes.
    ///
    /// # Errors
    /// `Syntax` if a name of a column is not one.
    pub(crate) fn query(&self) -> Result<ParsedStatement> {
        let query = match &self.subject {
            Subject::Query(query) => query.clone(),
            Subject::Table { name, columns } => {
                let columns = match columns {
                    None => "*".to_owned(),
                    Some(columns) => {
                        let quote = |name: &String| Ident::with_quote('"', name).to_string();
                        columns.iter().map(quote).collect::<Vec<_>>().join(", ")
                    }
                };
                let sql = format!("SELECT {columns} FROM {name}");
                let parsed = Parser::new(&PostgreSqlDialect {})
                    .try_with_sql(&sql)
                    .and_then(|mut parser| parser.parse_query());
                parsed.map_err(|error| from_parser(&error))?
            }
        };
        Ok(ParsedStatement::Statement(Box::new(Statement::Query(query))))
    }
}

/// Parses `sql` if it is a `COPY` statement; `None` if it begins otherwise.
///
/// # Errors
/// `Syntax` with the place, or `NotSupported`.
pub(crate) fn parse_copy(sql: &str) -> Result<Option<CopyStatement>> {
    let Some(mut parser) = own_syntax::begin(sql, &["copy"])? else {
        return Ok(None);
    };
    match copy(&mut parser) {
        Ok(statement) => statement.map(Some),
        Err(error) => Err(from_parser(&error)),
    }
}

/// The outer error is one of syntax, the inner one of meaning.
fn copy(parser: &mut Parser<'_>) -> std::result::Result<Result<CopyStatement>, ParserError> {
    let subject = subject(parser)?;
    let is_from = parser.parse_one_of_keywords(&[Keyword::FROM, Keyword::TO]);
    let is_from = match is_from {
        Some(keyword) => keyword == Keyword::FROM,
        None => return parser.expected("FROM or TO", parser.peek_token()),
    };
    if is_from && matches!(subject, Subject::Query(_)) {
        return parser.expected("TO after a query", parser.peek_token());
    }
    let token = parser.next_token();
    let target = match &token.token {
        Token::SingleQuotedString(path) => Target::File(path.clone()),
        Token::Word(word) if word.keyword == Keyword::STDIN && is_from => Target::Client,
        Token::Word(word) if word.keyword == Keyword::STDOUT && !is_from => Target::Client,
        Token::Word(word) if word.keyword == Keyword::PROGRAM => {
            return Ok(Err(Error::not_supported("COPY ... PROGRAM")));
        }
        _ => return parser.expected("a file name in quotes, STDIN or STDOUT", token),
    };
    let _ = parser.parse_keyword(Keyword::WITH);
    let options = if parser.consume_token(&Token::LParen) {
        parenthesized_options(parser)?
    } else {
        old_options(parser)?
    };
    if parser.peek_keyword(Keyword::WHERE) {
        return Ok(Err(Error::not_supported("COPY ... WHERE")));
    }
    let _ = parser.consume_token(&Token::SemiColon);
    match parser.peek_token().token {
        Token::EOF => Ok(Ok(CopyStatement { subject, is_from, target, options })),
        _ => parser.expected("end of statement", parser.peek_token()),
    }
}

fn subject(parser: &mut Parser<'_>) -> std::result::Result<Subject, ParserError> {
    if parser.peek_token().token == Token::LParen {
        let begin = parser.peek_token();
        parser.expect_token(&Token::LParen)?;
        let statement = parser.parse_statement()?;
        parser.expect_token(&Token::RParen)?;
        return match statement {
            Statement::Query(mut query) => {
                plain(query.as_mut());
                Ok(Subject::Query(query))
            }
            _ => parser.expected("a query in parentheses", begin),
        };
    }
    let name = parser.parse_object_name(false)?;
    let columns = match parser.peek_token().token {
        Token::LParen => Some(columns(parser)?),
        _ => None,
    };
    Ok(Subject::Table { name, columns })
}

/// Parses `(a, b)`.
fn columns(parser: &mut Parser<'_>) -> std::result::Result<Vec<String>, ParserError> {
    parser.expect_token(&Token::LParen)?;
    let columns = parser.parse_comma_separated(Parser::parse_identifier)?;
    parser.expect_token(&Token::RParen)?;
    Ok(columns.iter().map(fold).collect())
}

/// Parses the rest of `(FORMAT csv, HEADER, NULL '')`.
fn parenthesized_options(
    parser: &mut Parser<'_>,
) -> std::result::Result<Vec<CopyOption>, ParserError> {
    let mut options = Vec::new();
    loop {
        let position = position(&parser.peek_token());
        let name = parser.parse_identifier()?.value.to_lowercase();
        let value = option_value(parser)?;
        options.push(CopyOption { name, value, position });
        if !parser.consume_token(&Token::Comma) {
            parser.expect_token(&Token::RParen)?;
            return Ok(options);
        }
    }
}

fn option_value(parser: &mut Parser<'_>) -> std::result::Result<OptionValue, ParserError> {
    let token = parser.peek_token();
    let text = match &token.token {
        Token::Comma | Token::RParen => return Ok(OptionValue::None),
        Token::LParen => return Ok(OptionValue::Columns(columns(parser)?)),
        Token::Mul => {
            parser.next_token();
            return Ok(OptionValue::Star);
        }
        Token::Word(word) => word.value.clone(),
        Token::Number(number, _) => number.clone(),
        text => match string(text) {
            Some(text) => text.to_owned(),
            None => return parser.expected("the value of an option", token),
        },
    };
    parser.next_token();
    Ok(OptionValue::Text(text))
}

/// Parses the form of old, `DELIMITER '|' CSV HEADER`.
fn old_options(parser: &mut Parser<'_>) -> std::result::Result<Vec<CopyOption>, ParserError> {
    let mut options = Vec::new();
    loop {
        let token = parser.peek_token();
        let Token::Word(word) = &token.token else {
            return Ok(options);
        };
        if word.keyword == Keyword::WHERE {
            return Ok(options);
        }
        let position = position(&token);
        parser.next_token();
        let word = word.value.to_lowercase();
        let option = |name: &str, value| CopyOption { name: name.into(), value, position };
        options.push(match word.as_str() {
            "csv" | "binary" => option("format", OptionValue::Text(word)),
            "header" | "freeze" => option(&word, OptionValue::None),
            "delimiter" | "null" | "quote" | "escape" | "encoding" => {
                let _ = parser.parse_keyword(Keyword::AS);
                let token = parser.next_token();
                match string(&token.token) {
                    Some(text) => option(&word, OptionValue::Text(text.into())),
                    None => return parser.expected("a string", token),
                }
            }
            "force" => {
                let (name, value) = force(parser)?;
                option(name, value)
            }
            _ => return parser.expected("an option of COPY", token),
        });
    }
}

fn force(parser: &mut Parser<'_>) -> std::result::Result<(&'static str, OptionValue), ParserError> {
    let name = if parser.parse_keywords(&[Keyword::NOT, Keyword::NULL]) {
        "force_not_null"
    } else if parser.parse_keyword(Keyword::NULL) {
        "force_null"
    } else {
        match parser.parse_identifier()? {
            Ident { value, .. } if value.eq_ignore_ascii_case("quote") => "force_quote",
            _ => return parser.expected("QUOTE, NULL or NOT NULL", parser.peek_token()),
        }
    };
    if parser.consume_token(&Token::Mul) {
        return Ok((name, OptionValue::Star));
    }
    let columns = parser.parse_comma_separated(Parser::parse_identifier)?;
    Ok((name, OptionValue::Columns(columns.iter().map(fold).collect())))
}

fn string(token: &Token) -> Option<&str> {
    match token {
        Token::SingleQuotedString(text) | Token::EscapedStringLiteral(text) => Some(text),
        _ => None,
    }
}

fn position(token: &TokenWithSpan) -> Option<Position> {
    let start = token.span.start;
    (start.line > 0)
        .then_some(Position { line: start.line as usize, column: start.column as usize })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorKind;

    fn parse(sql: &str) -> CopyStatement {
        parse_copy(sql).unwrap().unwrap()
    }

    fn options(sql: &str) -> Vec<(String, OptionValue)> {
        parse(sql).options.into_iter().map(|option| (option.name, option.value)).collect()
    }

    #[test]
    fn options_in_parentheses_keep_their_values() {
        let text = |value: &str| OptionValue::Text(value.into());
        assert_eq!(
            options(
                "copy t (a, \"B\") from 'x.csv' with (format csv, header, delimiter '|', \
                 null '', force_null (a, B), force_quote *, header match, escape E'\\\\')"
            ),
            [
                ("format".into(), text("csv")),
                ("header".into(), OptionValue::None),
                ("delimiter".into(), text("|")),
                ("null".into(), text("")),
                ("force_null".into(), OptionValue::Columns(vec!["a".into(), "b".into()])),
                ("force_quote".into(), OptionValue::Star),
                ("header".into(), text("match")),
                ("escape".into(), text("\\")),
            ]
        );
    }

    #[test]
    fn options_of_old_mean_the_same() {
        assert_eq!(
            options("copy t from stdin delimiter as ';' csv header force not null a;"),
            [
                ("delimiter".into(), OptionValue::Text(";".into())),
                ("format".into(), OptionValue::Text("csv".into())),
                ("header".into(), OptionValue::None),
                ("force_not_null".into(), OptionValue::Columns(vec!["a".into()])),
            ]
        );
    }

    #[test]
    fn subject_and_target_are_told_apart() {
        let statement = parse("copy (select 1 as a, ')' as b) to stdout");
        assert!(matches!(statement.subject, Subject::Query(_)) && !statement.is_from);
        assert_eq!(statement.target, Target::Client);
        let statement = parse("COPY public.T FROM '/tmp/it''s.csv'");
        assert!(matches!(statement.subject, Subject::Table { columns: None, .. }));
        assert_eq!(statement.target, Target::File("/tmp/it's.csv".into()));
        assert!(parse_copy("select 1").unwrap().is_none());
    }

    #[test]
    fn wrong_statements_are_located() {
        let error = parse_copy("copy t from 'a' (format csv").unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Syntax);
        let error = parse_copy("copy t\nbelow 'a'").unwrap_err();
        assert_eq!(error.position(), Some(Position { line: 2, column: 1 }));
        let error = parse_copy("copy (select 1) from 'a'").unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Syntax);
        let error = parse_copy("copy t from program 'rm'").unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NotSupported);
    }
}
