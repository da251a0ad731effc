//! Cuts the text of a date, time or interval into tokens.
//!
//! | token | such as |
//! |---|---|
//! | number | `2024`, `20240105`, `.5`, `12.5` |
//! | word | `jan`, `pm`, `est` |
//! | date | `2024-01-05`, `1/5/99`, `05-jan-2024`, `europe/berlin` |
//! | time | `13:00`, `13:00:05.25` |
//! | offset | `+02`, `-7.5`, `-08:00` |
//! | signed word | `-infinity` |

use super::DatetimeFault;
use super::keywords::find_keyword;
use crate::input_text::is_space;

/// Most tokens of a text, and most bytes of all of them with one more for each.
const TOKEN_COUNT_MAX: usize = 25;
const TOKEN_BYTES_MAX: usize = 153;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TokenKind {
    Number,
    Word,
    Date,
    Time,
    /// A sign and digits: an offset from UTC, or a number with its sign in an interval.
    Offset,
    SignedWord,
}

/// A token in lower case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct DatetimeToken {
    pub(crate) kind: TokenKind,
    pub(crate) text: String,
}

/// Cuts a text into tokens.
///
/// # Errors
/// [`DatetimeFault::Format`] for characters that no token has and for too many of them.
pub(crate) fn split_tokens(text: &str) -> Result<Vec<DatetimeToken>, DatetimeFault> {
    let mut scanner = TokenScanner { rest: text.as_bytes(), token: String::new() };
    let mut tokens = Vec::new();
    let mut bytes = 0;
    while let Some(kind) = scanner.next_kind()? {
        let text = std::mem::take(&mut scanner.token);
        bytes += text.len() + 1;
        if tokens.len() >= TOKEN_COUNT_MAX || bytes > TOKEN_BYTES_MAX {
            return Err(DatetimeFault::Format);
        }
        tokens.push(DatetimeToken { kind, text });
    }
    Ok(tokens)
}

struct TokenScanner<'a> {
    rest: &'a [u8],
    /// The token so far.
    token: String,
}

impl TokenScanner<'_> {
    fn peek(&self) -> u8 {
        self.rest.first().copied().unwrap_or(0)
    }

    fn take(&mut self) {
        if let Some((first, rest)) = self.rest.split_first() {
            self.token.push(char::from(first.to_ascii_lowercase()));
            self.rest = rest;
        }
    }

    fn take_while(&mut self, is_part: impl Fn(u8) -> bool) {
        while !self.rest.is_empty() && is_part(self.peek()) {
            self.take();
        }
    }

    fn skip_spaces(&mut self) {
        while self.rest.first().is_some_and(|byte| is_space(char::from(*byte))) {
            self.rest = &self.rest[1..];
        }
    }

    fn next_kind(&mut self) -> Result<Option<TokenKind>, DatetimeFault> {
        loop {
            self.skip_spaces();
            return Ok(Some(match self.peek() {
                _ if self.rest.is_empty() => return Ok(None),
                b'0'..=b'9' => self.take_number(),
                b'.' => {
                    self.take();
                    self.take_while(|byte| byte.is_ascii_digit());
                    TokenKind::Number
                }
                byte if byte.is_ascii_alphabetic() => self.take_word(),
                b'+' | b'-' => {
                    self.take();
                    self.skip_spaces();
                    match self.peek() {
                        byte if byte.is_ascii_digit() => {
                            let is_part = |byte: u8| {
                                byte.is_ascii_digit() || matches!(byte, b':' | b'.' | b'-')
                            };
                            self.take_while(is_part);
                            TokenKind::Offset
                        }
                        byte if byte.is_ascii_alphabetic() => {
                            self.take_while(|byte| byte.is_ascii_alphabetic());
                            TokenKind::SignedWord
                        }
                        _ => return Err(DatetimeFault::Format),
                    }
                }
                byte if byte.is_ascii_punctuation() => {
                    self.rest = &self.rest[1..];
                    continue;
                }
                _ => return Err(DatetimeFault::Format),
            }));
        }
    }

    fn take_number(&mut self) -> TokenKind {
        self.take_while(|byte| byte.is_ascii_digit());
        match self.peek() {
            b':' => {
                self.take_while(|byte| byte.is_ascii_digit() || matches!(byte, b':' | b'.'));
                TokenKind::Time
            }
            delimiter @ (b'-' | b'/' | b'.') => {
                self.take();
                if self.peek().is_ascii_digit() {
                    self.take_while(|byte| byte.is_ascii_digit());
                    if self.peek() == delimiter {
                        self.take_while(|byte| byte.is_ascii_digit() || byte == delimiter);
                        return TokenKind::Date;
                    }
                    return if delimiter == b'.' { TokenKind::Number } else { TokenKind::Date };
                }
                self.take_while(|byte| byte.is_ascii_alphanumeric() || byte == delimiter);
                TokenKind::Date
            }
            _ => TokenKind::Number,
        }
    }

    fn take_word(&mut self) -> TokenKind {
        self.take_while(|byte| byte.is_ascii_alphabetic());
        let is_date = match self.peek() {
            b'-' | b'/' | b'.' => true,
            // Labels stand before their digits: `y2001m02d04`.
            byte if byte == b'+' || byte.is_ascii_digit() => find_keyword(&self.token).is_none(),
            _ => false,
        };
        if !is_date {
            return TokenKind::Word;
        }
        self.take_while(|byte| {
            byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'/' | b'_' | b'.' | b':')
        });
        TokenKind::Date
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(text: &str) -> Vec<(TokenKind, String)> {
        split_tokens(text).unwrap().into_iter().map(|token| (token.kind, token.text)).collect()
    }

    #[test]
    fn texts_are_cut_by_their_characters() {
        let of = |kind, text: &str| (kind, text.to_owned());
        assert_eq!(
            kinds("2024-01-05T13:00:00.5+02"),
            [
                of(TokenKind::Date, "2024-01-05"),
                of(TokenKind::Word, "t"),
                of(TokenKind::Time, "13:00:00.5"),
                of(TokenKind::Offset, "+02"),
            ]
        );
        assert_eq!(
            kinds("J2451187, -Infinity  Europe/Berlin"),
            [
                of(TokenKind::Word, "j"),
                of(TokenKind::Number, "2451187"),
                of(TokenKind::SignedWord, "-infinity"),
                of(TokenKind::Date, "europe/berlin"),
            ]
        );
        assert!(split_tokens("+ ").is_err());
        assert!(split_tokens("\u{e4}").is_err());
        assert!(split_tokens(&"1 ".repeat(26)).is_err());
    }
}
