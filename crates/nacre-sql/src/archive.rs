//! `ARCHIVE DATABASE TO 'directory'` and `ARCHIVE DATABASE OFF`: what is committed is also copied
//! to a directory, or no more.

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

/// Where a database is to be archived.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ArchiveTarget {
    Directory(PathBuf),
    Off,
}

/// Returns what is to be done if `sql` is that statement, which the parser of the front end does
/// not know.
///
/// # Errors
/// `Syntax` with the place.
pub(crate) fn parse_archive(sql: &str) -> Result<Option<ArchiveTarget>> {
    match own_syntax::begin(sql, &["archive"])? {
        Some(mut parser) => target(&mut parser).map(Some).map_err(|error| from_parser(&error)),
        None => Ok(None),
    }
}

fn target(parser: &mut Parser<'_>) -> std::result::Result<ArchiveTarget, ParserError> {
    parser.expect_keyword(Keyword::DATABASE)?;
    let target = if parser.parse_keyword(Keyword::OFF) {
        ArchiveTarget::Off
    } else {
        parser.expect_keyword(Keyword::TO)?;
        let named = parser.next_token();
        let Token::SingleQuotedString(directory) = named.token else {
            return parser.expected("a directory in quotes", named);
        };
        ArchiveTarget::Directory(PathBuf::from(directory))
    };
    own_syntax::end(parser)?;
    Ok(target)
}

/// Has the database archived, or no more, on a thread that may wait for a device.
///
/// # Errors
/// The directory cannot be that of an archive; no space, I/O; `ReadOnly`.
pub(crate) async fn archive(store: &Store, target: ArchiveTarget) -> Result<()> {
    let store = store.clone();
    let work = move || match target {
        ArchiveTarget::Directory(directory) => store.set_archive(Some(&directory)),
        ArchiveTarget::Off => store.set_archive(None),
    };
    blocking("archiving", work).await?.map_err(from_store)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statement_names_a_directory_or_ends_archiving() {
        let parsed = |sql| parse_archive(sql).unwrap();
        let directory = Some(ArchiveTarget::Directory("/a/b".into()));
        assert_eq!(parsed("ARCHIVE DATABASE TO '/a/b'"), directory);
        assert_eq!(parsed("archive database off;"), Some(ArchiveTarget::Off));
        assert_eq!(parsed("select 1"), None);
        for sql in ["archive", "archive database", "archive database to x", "archive off"] {
            assert!(parse_archive(sql).is_err(), "{sql}");
        }
    }
}
