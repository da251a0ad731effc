//! `BACKUP DATABASE TO 'directory'`: a copy of the database that can be opened.

use std::path::PathBuf;

use datafusion::sql::sqlparser::keywords::Keyword;
use datafusion::sql::sqlparser::parser::{Parser, ParserError};
use datafusion::sql::sqlparser::tokenizer::Token;
use nacre_store::Store;

use crate::blocking::blocking;
use crate::error::Result;
use crate::from_datafusion::from_parser;
use crate::from_store::from_store;
use crate::own_syntax;

/// Returns where a backup is to be written if `sql` is that statement, which the parser of the
/// front end does not know.
///
/// # Errors
/// `Syntax` with the place.
pub(crate) fn parse_backup(sql: &str) -> Result<Option<PathBuf>> {
    match own_syntax::begin(sql, &["backup"])? {
        Some(mut parser) => target(&mut parser).map(Some).map_err(|error| from_parser(&error)),
        None => Ok(None),
    }
}

fn target(parser: &mut Parser<'_>) -> std::result::Result<PathBuf, ParserError> {
    parser.expect_keywords(&[Keyword::DATABASE, Keyword::TO])?;
    let named = parser.next_token();
    let Token::SingleQuotedString(directory) = named.token else {
        return parser.expected("a directory in quotes", named);
    };
    own_syntax::end(parser)?;
    Ok(PathBuf::from(directory))
}

/// Writes the backup on a thread that may wait for a device.
///
/// # Errors
/// The directory cannot be that of a backup; what cannot be read; no space, I/O.
pub(crate) async fn backup(store: &Store, directory: PathBuf) -> Result<()> {
    let store = store.clone();
    let work = move || store.backup(&directory).map(drop);
    blocking("the backup", work).await?.map_err(from_store)
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
