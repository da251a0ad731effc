//! The loop over a text's bytes, and what a token of each kind begins with.

use super::tokens::{Token, TokenKind, TokenList};
use super::{numbers, operators, strings};
use crate::error::{SyntaxError, SyntaxErrorKind};
use crate::keywords::SqlKeyword;
use crate::range::SourceRange;

/// Bytes of a statement that is mostly names and marks.
const SHORT_TEXT_BYTES: usize = 256;

/// Takes `text` apart.
pub(crate) fn read_tokens(text: &str) -> TokenList {
    let mut scanner =
        TokenScanner { text, bytes: text.as_bytes(), next: 0, list: TokenList::default() };
    if u32::try_from(text.len()).is_err() {
        scanner.list.error = Some(SyntaxError::new(
            SyntaxErrorKind::Length,
            "statement is longer than 4294967295 bytes",
            SourceRange::default(),
        ));
        scanner.push(TokenKind::Invalid, 0);
        return scanner.list;
    }
    // A short statement has a token for each three or four bytes, a long one for each five.
    scanner.list.tokens.reserve(text.len().min(SHORT_TEXT_BYTES) / 3 + text.len() / 5 + 2);
    if let Err(error) = scanner.read_all() {
        let start = error.range().start as usize;
        scanner.list.error = Some(error);
        scanner.push(TokenKind::Invalid, start);
    }
    scanner.list
}

/// What [`read_tokens`] has read.
pub(super) struct TokenScanner<'a> {
    pub(super) text: &'a str,
    pub(super) bytes: &'a [u8],
    /// First byte that is not read; a boundary of characters between tokens.
    pub(super) next: usize,
    pub(super) list: TokenList,
}

impl TokenScanner<'_> {
    fn read_all(&mut self) -> Result<(), SyntaxError> {
        loop {
            self.skip_blanks()?;
            let start = self.next;
            let Some(first) = self.peek(0) else {
                self.push(TokenKind::End, start);
                return Ok(());
            };
            let kind = self.read_token(first)?;
            self.push(kind, start);
        }
    }

    pub(super) fn peek(&self, ahead: usize) -> Option<u8> {
        self.bytes.get(self.next + ahead).copied()
    }

    pub(super) fn push(&mut self, kind: TokenKind, start: usize) {
        let range = self.range_from(start);
        self.list.tokens.push(Token { kind, range });
    }

    /// Returns the range from `start` to the next unread byte.
    pub(super) fn range_from(&self, start: usize) -> SourceRange {
        // Both fit, since the text does.
        SourceRange { start: start as u32, end: self.next as u32 }
    }

    /// Returns an error about the text from `start` to the next unread byte.
    pub(super) fn error_from(&self, start: usize, message: &str) -> SyntaxError {
        SyntaxError::near(message, self.range_from(start), self.text)
    }

    /// Skips white space and comments.
    pub(super) fn skip_blanks(&mut self) -> Result<(), SyntaxError> {
        loop {
            match (self.peek(0), self.peek(1)) {
                (Some(byte), _) if is_blank(byte) => self.next += 1,
                (Some(b'-'), Some(b'-')) => self.skip_line(),
                (Some(b'/'), Some(b'*')) => self.skip_block_comment()?,
                _ => return Ok(()),
            }
        }
    }

    /// Skips to the end of the line.
    pub(super) fn skip_line(&mut self) {
        while self.peek(0).is_some_and(|byte| !matches!(byte, b'\n' | b'\r')) {
            self.next += 1;
        }
    }

    fn skip_block_comment(&mut self) -> Result<(), SyntaxError> {
        let start = self.next;
        let mut depth = 0_usize;
        loop {
            match (self.peek(0), self.peek(1)) {
                (Some(b'/'), Some(b'*')) => {
                    depth += 1;
                    self.next += 2;
                }
                (Some(b'*'), Some(b'/')) => {
                    depth -= 1;
                    self.next += 2;
                    if depth == 0 {
                        return Ok(());
                    }
                }
                (Some(_), _) => self.next += 1,
                (None, _) => return Err(self.error_from(start, "unterminated /* comment")),
            }
        }
    }

    fn read_token(&mut self, first: u8) -> Result<TokenKind, SyntaxError> {
        let second = self.peek(1);
        match (first, second) {
            (b'\'', _) => strings::read_string(self, 0),
            (b'"', _) => strings::read_quoted_name(self, 0),
            (b'e' | b'E', Some(b'\'')) => strings::read_escape_string(self),
            (b'b' | b'B', Some(b'\'')) => strings::read_bits(self, TokenKind::BitString),
            (b'x' | b'X', Some(b'\'')) => strings::read_bits(self, TokenKind::HexString),
            (b'n' | b'N', Some(b'\'')) => {
                self.next += 1;
                Ok(TokenKind::Keyword(SqlKeyword::Nchar))
            }
            (b'u' | b'U', Some(b'&')) if matches!(self.peek(2), Some(b'\'' | b'"')) => {
                strings::read_unicode(self)
            }
            (b'$', _) => strings::read_dollar(self),
            (b'0'..=b'9', _) | (b'.', Some(b'0'..=b'9')) => numbers::read_number(self),
            _ if starts_name(first) => Ok(self.read_word()),
            _ if operators::is_operator_byte(first) => operators::read_operator(self),
            _ => Ok(self.read_mark(first, second)),
        }
    }

    fn read_word(&mut self) -> TokenKind {
        let start = self.next;
        self.skip_name();
        let word = self.text.get(start..self.next).unwrap_or("");
        SqlKeyword::of(word).map_or(TokenKind::Name, TokenKind::Keyword)
    }

    /// Skips bytes of a name that is not quoted.
    pub(super) fn skip_name(&mut self) {
        while self.peek(0).is_some_and(continues_name) {
            self.next += 1;
        }
    }

    fn read_mark(&mut self, first: u8, second: Option<u8>) -> TokenKind {
        let (kind, bytes) = match (first, second) {
            (b':', Some(b':')) => (TokenKind::TypeCast, 2),
            (b':', Some(b'=')) => (TokenKind::ColonEquals, 2),
            (b'.', Some(b'.')) => (TokenKind::DotDot, 2),
            (b':', _) => (TokenKind::Colon, 1),
            (b'.', _) => (TokenKind::Dot, 1),
            (b',', _) => (TokenKind::Comma, 1),
            (b'(', _) => (TokenKind::LeftParen, 1),
            (b')', _) => (TokenKind::RightParen, 1),
            (b'[', _) => (TokenKind::LeftBracket, 1),
            (b']', _) => (TokenKind::RightBracket, 1),
            (b';', _) => (TokenKind::Semicolon, 1),
            _ => (TokenKind::Other, 1),
        };
        self.next += bytes;
        kind
    }
}

pub(super) fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r' | 0x0c)
}

pub(super) fn starts_name(byte: u8) -> bool {
    byte.is_ascii_alphabetic() || byte == b'_' || byte >= 0x80
}

pub(super) fn continues_name(byte: u8) -> bool {
    starts_name(byte) || byte.is_ascii_digit() || byte == b'$'
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lexer::TokenKind as Kind;

    fn kinds(text: &str) -> Vec<Kind> {
        read_tokens(text).tokens.iter().map(|token| token.kind).collect()
    }

    fn pieces(text: &str) -> Vec<&str> {
        let list = read_tokens(text);
        list.tokens
            .iter()
            .map(|token| token.range.slice(text))
            .filter(|one| !one.is_empty())
            .collect()
    }

    fn message(text: &str) -> String {
        read_tokens(text).error.unwrap().to_string()
    }

    #[test]
    fn comments_nest_and_are_left_out() {
        assert_eq!(pieces("a /* b /* c */ d */ e -- f\n g"), ["a", "e", "g"]);
        assert_eq!(message("a /* /* */"), "unterminated /* comment at or near \"/* /* */\"");
    }

    #[test]
    fn words_are_keywords_in_any_case_unless_quoted() {
        let expected =
            [SqlKeyword::Select.into(), Kind::QuotedName, Kind::Name, Kind::Name, Kind::End];
        assert_eq!(kinds("SeLeCt \"select\" selects a$1"), expected);
    }

    #[test]
    fn national_strings_are_a_type_and_a_string() {
        assert_eq!(kinds("N'a'"), [SqlKeyword::Nchar.into(), Kind::String, Kind::End]);
    }

    #[test]
    fn marks_of_two_characters_are_one_token() {
        let expected = [
            Kind::Name,
            Kind::TypeCast,
            Kind::Name,
            Kind::ColonEquals,
            Kind::Integer,
            Kind::DotDot,
            Kind::Colon,
            Kind::End,
        ];
        assert_eq!(kinds("a::b := 1 .. :"), expected);
    }

    #[test]
    fn characters_that_begin_nothing_are_tokens_of_their_own() {
        assert_eq!(kinds("\\ {"), [Kind::Other, Kind::Other, Kind::End]);
    }
}
