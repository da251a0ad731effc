//! `BACKUP DATABASE TO 'directory'`: a copy of the database that can be opened.

use std::path::PathBuf;

use datafusion::sql::sqlparser::dialect::PostgreSqlDialect;
use datafusion::sql::sqlparser::keywords::Keyword;
use datafusion::sql::sqlparser::parser::{Parser, ParserError};
use datafusion::sql::sqlparser::tokenizer::Token;
use nacre_store::Store;

use crate::checkpoint::may_begin_with;
use crate::error::{Error, ErrorKind, Result};
use crate::from_datafusion::from_parser;
use crate::from_store::from_store;

/// Returns where a backup is to be written if `sql` is that statement, which the parser of the
/// front end does not know.
///
/// # Errors
/// `Syntax` with the place.
pub(crate) fn parse_backup(sql: &str) -> Result<Option<PathBuf>> {
    if !may_begin_with(sql, "backup") {
        return Ok(None);
    }
    let dialect = PostgreSqlDialect {};
    let mut parser =
        Parser::new(&dialect).try_with_sql(sql).map_err(|error| from_parser(&error))?;
    let is_named = match parser.next_token().token {
        Token::Word(word) => {
            word.quote_style.is_none() && word.value.eq_ignore_ascii_case("backup")
        }
        _ => false,
    };
    match is_named {
        true => target(&mut parser).map(Some).map_err(|error| from_parser(&error)),
        false => Ok(None),
    }
}

fn target(parser: &mut Parser<'_>) -> std::result::Result<PathBuf, ParserError> {
    parser.expect_keywords(&[Keyword::DATABASE, Keyword::TO])?;
    let named = parser.next_token();
    let Token::SingleQuotedString(directory) = named.token else {
        return parser.expected("a directory in quotes", named);
    };
    let _ = parser.consume_token(&Token::SemiColon);
    let end = parser.peek_token();
    match end.token {
        Token::EOF => Ok(PathBuf::from(directory)),
        _ => parser.expected("end of statement", end),
    }
}

/// Writes the backup on a thread that may wait for a device.
///
/// # Errors
/// The directory cannot be that of a backup; what cannot be read; no space, I/O.
pub(crate) async fn backup(store: &Store, directory: PathBuf) -> Result<()> {
    let store = store.clone();
    let work = tokio::task::spawn_blocking(move || store.backup(&directory));
    let done = work.await.map_err(|error| {
        Error::new(ErrorKind::Internal, format!("internal error: the backup ended: {error}"))
    })?;
    done.map(|_| ()).map_err(from_store)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statement_names_a_directory() {
        let parsed = |sql| parse_backup(sql).unwrap();
        assert_eq!(parsed("BACKUP DATABASE TO '/a/b'"), Some("/a/b".into()));
        assert_eq!(parsed("backup database to 'it''s';"), Some("it's".into()));
        assert_eq!(parsed("select 1"), None);
        for sql in ["backup", "backup database", "backup database to x", "backup database to 'a' b"]
        {
            assert!(parse_backup(sql).is_err(), "{sql}");
        }
    }
}
