//! The words of a statement and where they stand, for forms that the parser does not read: they are
//! written otherwise before it does.

use std::ops::Range;

use datafusion::sql::sqlparser::dialect::PostgreSqlDialect;
use datafusion::sql::sqlparser::keywords::Keyword;
use datafusion::sql::sqlparser::tokenizer::{Location, Token, TokenWithSpan, Tokenizer};

use crate::error::{Position, offset_of};

/// The words of a statement: all tokens but blanks and comments.
pub(crate) struct Words<'a> {
    sql: &'a str,
    words: Vec<TokenWithSpan>,
}

impl<'a> Words<'a> {
    /// Takes a statement apart; `None` for a text that has no tokens.
    pub(crate) fn of(sql: &'a str) -> Option<Self> {
        let tokens = Tokenizer::new(&PostgreSqlDialect {}, sql).tokenize_with_location().ok()?;
        let is_word = |token: &TokenWithSpan| !matches!(token.token, Token::Whitespace(_));
        Some(Self { sql, words: tokens.into_iter().filter(is_word).collect() })
    }

    pub(crate) fn count(&self) -> usize {
        self.words.len()
    }

    pub(crate) fn token(&self, at: usize) -> Option<&Token> {
        self.words.get(at).map(|word| &word.token)
    }

    /// Returns the keyword that a word is.
    pub(crate) fn keyword(&self, at: usize) -> Keyword {
        match self.token(at) {
            Some(Token::Word(word)) if word.quote_style.is_none() => word.keyword,
            _ => Keyword::NoKeyword,
        }
    }

    /// Whether a word is this one, which need not be a keyword.
    pub(crate) fn is(&self, at: usize, name: &str) -> bool {
        match self.token(at) {
            Some(Token::Word(word)) => {
                word.quote_style.is_none() && word.value.eq_ignore_ascii_case(name)
            }
            _ => false,
        }
    }

    /// Returns the bytes from the first to the last of some words.
    ///
    /// # Panics
    /// If there are no such words.
    pub(crate) fn bytes(&self, first: usize, last: usize) -> Range<usize> {
        let offset = |at: Location| {
            offset_of(self.sql, Position { line: at.line as usize, column: at.column as usize })
        };
        offset(self.words[first].span.start)..offset(self.words[last].span.end)
    }
}

/// A statement of which parts are written otherwise, from the front to the end.
pub(crate) struct Edited<'a> {
    sql: &'a str,
    text: String,
    /// Bytes of the statement that stand in the text, or were left out.
    read: usize,
}

impl<'a> Edited<'a> {
    pub(crate) fn new(sql: &'a str) -> Self {
        Self { sql, text: String::with_capacity(sql.len() + 64), read: 0 }
    }

    /// Puts something in the place of some bytes; `None` if they are not whole characters, or not
    /// behind those before.
    pub(crate) fn replace(&mut self, bytes: Range<usize>, by: &str) -> Option<()> {
        self.text.push_str(self.sql.get(self.read..bytes.start)?);
        self.text.push_str(by);
        self.read = bytes.end;
        Some(())
    }

    /// Returns the text; `None` if nothing was replaced.
    pub(crate) fn finish(mut self) -> Option<String> {
        if self.read == 0 {
            return None;
        }
        self.text.push_str(self.sql.get(self.read..)?);
        Some(self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_stand_where_they_are_written() {
        let sql = "drop -- not\n \"Index\" '\u{e4}', if";
        let words = Words::of(sql).unwrap();
        assert_eq!(words.count(), 5);
        assert_eq!(
            [0, 1, 4, 5].map(|at| words.keyword(at)),
            [Keyword::DROP, Keyword::NoKeyword, Keyword::IF, Keyword::NoKeyword,]
        );
        assert!(words.is(0, "DROP") && !words.is(1, "index"));
        assert_eq!(&sql[words.bytes(1, 2)], "\"Index\" '\u{e4}'");
        assert!(Words::of("'").is_none());
    }

    #[test]
    fn what_is_not_replaced_stays() {
        let mut edited = Edited::new("a b c d");
        edited.replace(2..3, "x y").unwrap();
        edited.replace(6..7, "").unwrap();
        assert_eq!(edited.replace(0..1, "z"), None);
        assert_eq!(edited.finish().as_deref(), Some("a x y c "));
        assert_eq!(Edited::new("a").finish(), None);
    }
}
