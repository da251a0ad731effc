//! Statements whose syntax the parser of the front end does not know: where they begin and end.

use datafusion::sql::sqlparser::parser::{Parser, ParserError};
use datafusion::sql::sqlparser::tokenizer::Token;

use crate::error::Result;
use crate::from_datafusion::from_parser;
use crate::parsing::statement_parser;

/// Returns a parser behind `words` if `sql` begins with them, of which the first is not empty.
/// Statements that begin with another word are not taken apart for it.
///
/// # Errors
/// `Syntax` with the place, for text that has no tokens.
pub(crate) fn begin(sql: &str, words: &[&str]) -> Result<Option<Parser<'static>>> {
    if !words.first().is_some_and(|word| may_begin_with(sql, word)) {
        return Ok(None);
    }
    let mut parser = statement_parser(sql).map_err(|error| from_parser(&error))?;
    let begins = words.iter().all(|expected| match parser.next_token().token {
        Token::Word(word) => {
            word.quote_style.is_none() && word.value.eq_ignore_ascii_case(expected)
        }
        _ => false,
    });
    Ok(begins.then_some(parser))
}

/// Takes the end of the statement.
///
/// # Errors
/// If there is something else.
pub(crate) fn end(parser: &mut Parser<'_>) -> std::result::Result<(), ParserError> {
    let _ = parser.consume_token(&Token::SemiColon);
    let end = parser.peek_token();
    match end.token {
        Token::EOF => Ok(()),
        _ => parser.expected("end of statement", end),
    }
}

/// Whether the first word of `sql` may be `word`, which comments may stand before.
fn may_begin_with(sql: &str, word: &str) -> bool {
    let start = sql.trim_start();
    let first = start.get(..word.len());
    start.starts_with(['-', '/']) || first.is_some_and(|first| first.eq_ignore_ascii_case(word))
}
