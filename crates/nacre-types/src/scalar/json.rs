//! Checks the text of a `json` value, which is kept as it is.
//!
//! The nesting is a list on the heap, so that no depth exhausts the stack.

use crate::error::ValueError;

/// A token's kind; strings and literals are not told apart from each other where both are values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum JsonToken {
    Punctuation(u8),
    String,
    /// A number, `true`, `false` or `null`.
    Scalar,
    End,
}

/// What may come next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum JsonState {
    Value,
    /// Behind `[`: a value or `]`.
    ArrayStart,
    /// Behind `{`: a key or `}`.
    ObjectStart,
    /// Behind the comma of an object.
    Key,
    Colon,
    /// Behind an element: a comma or `]`.
    ArrayNext,
    /// Behind a member: a comma or `}`.
    ObjectNext,
    End,
}

impl JsonState {
    /// Returns what is expected, for messages.
    fn expectation(self) -> &'static str {
        match self {
            Self::Value | Self::ArrayStart => "JSON value",
            Self::ObjectStart => "string or \"}\"",
            Self::Key => "string",
            Self::Colon => "\":\"",
            Self::ArrayNext => "\",\" or \"]\"",
            Self::ObjectNext => "\",\" or \"}\"",
            Self::End => "end of input",
        }
    }
}

struct JsonLexer<'a> {
    text: &'a str,
    offset: usize,
}

/// Checks that a text is one JSON value.
///
/// # Errors
/// 22P02 with a detail.
pub(crate) fn check_json(text: &str) -> Result<(), ValueError> {
    let mut lexer = JsonLexer { text, offset: 0 };
    // For each open bracket whether it is an object's.
    let mut open: Vec<bool> = Vec::new();
    let mut state = JsonState::Value;
    loop {
        let (token, start) = lexer.next_token()?;
        if token == JsonToken::End && state == JsonState::End {
            return Ok(());
        }
        let behind_value = |open: &[bool]| match open.last() {
            None => JsonState::End,
            Some(true) => JsonState::ObjectNext,
            Some(false) => JsonState::ArrayNext,
        };
        state = match (state, token) {
            (_, JsonToken::End) => return Err(invalid("The input string ended unexpectedly.")),
            (JsonState::Value | JsonState::ArrayStart, JsonToken::Punctuation(b'{')) => {
                open.push(true);
                JsonState::ObjectStart
            }
            (JsonState::Value | JsonState::ArrayStart, JsonToken::Punctuation(b'[')) => {
                open.push(false);
                JsonState::ArrayStart
            }
            (JsonState::Value | JsonState::ArrayStart, JsonToken::String | JsonToken::Scalar) => {
                behind_value(&open)
            }
            (JsonState::ArrayStart | JsonState::ArrayNext, JsonToken::Punctuation(b']'))
            | (JsonState::ObjectStart | JsonState::ObjectNext, JsonToken::Punctuation(b'}')) => {
                open.pop();
                behind_value(&open)
            }
            (JsonState::ObjectStart | JsonState::Key, JsonToken::String) => JsonState::Colon,
            (JsonState::Colon, JsonToken::Punctuation(b':')) => JsonState::Value,
            (JsonState::ArrayNext, JsonToken::Punctuation(b',')) => JsonState::Value,
            (JsonState::ObjectNext, JsonToken::Punctuation(b',')) => JsonState::Key,
            (state, _) => {
                let found = &text[start..lexer.offset];
                let expected = state.expectation();
                return Err(invalid(&format!("Expected {expected}, but found \"{found}\".")));
            }
        };
    }
}

fn invalid(detail: &str) -> ValueError {
    ValueError::invalid_text("invalid input syntax for type json").with_detail(detail)
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte >= 0x80
}

impl JsonLexer<'_> {
    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.offset).copied()
    }

    fn skip_while(&mut self, is_part: impl Fn(u8) -> bool) -> usize {
        let start = self.offset;
        while self.peek().is_some_and(&is_part) {
            self.offset += 1;
        }
        self.offset - start
    }

    /// Returns a token and where it starts.
    fn next_token(&mut self) -> Result<(JsonToken, usize), ValueError> {
        self.skip_while(|byte| matches!(byte, b' ' | b'\t' | b'\n' | b'\r'));
        let start = self.offset;
        let token = match self.peek() {
            None => JsonToken::End,
            Some(byte @ (b'{' | b'}' | b'[' | b']' | b',' | b':')) => {
                self.offset += 1;
                JsonToken::Punctuation(byte)
            }
            Some(b'"') => {
                self.skip_string(start)?;
                JsonToken::String
            }
            Some(b'-' | b'0'..=b'9') => {
                self.skip_number(start)?;
                JsonToken::Scalar
            }
            Some(_) => {
                if self.skip_while(is_word) == 0 {
                    self.offset += 1;
                }
                if !matches!(&self.text[start..self.offset], "true" | "false" | "null") {
                    return Err(self.invalid_token(start));
                }
                JsonToken::Scalar
            }
        };
        Ok((token, start))
    }

    fn invalid_token(&self, start: usize) -> ValueError {
        invalid(&format!("Token \"{}\" is invalid.", &self.text[start..self.offset]))
    }

    fn skip_number(&mut self, start: usize) -> Result<(), ValueError> {
        self.offset += usize::from(self.peek() == Some(b'-'));
        let mut is_valid = match self.peek() {
            Some(b'0') => {
                self.offset += 1;
                true
            }
            _ => self.skip_while(|byte| byte.is_ascii_digit()) > 0,
        };
        if self.peek() == Some(b'.') {
            self.offset += 1;
            is_valid &= self.skip_while(|byte| byte.is_ascii_digit()) > 0;
        }
        if matches!(self.peek(), Some(b'e' | b'E')) {
            self.offset += 1;
            self.offset += usize::from(matches!(self.peek(), Some(b'+' | b'-')));
            is_valid &= self.skip_while(|byte| byte.is_ascii_digit()) > 0;
        }
        let rest = self.skip_while(is_word);
        if is_valid && rest == 0 { Ok(()) } else { Err(self.invalid_token(start)) }
    }

    fn skip_string(&mut self, start: usize) -> Result<(), ValueError> {
        self.offset += 1;
        loop {
            match self.peek() {
                None => return Err(self.invalid_token(start)),
                Some(b'"') => {
                    self.offset += 1;
                    return Ok(());
                }
                Some(byte @ 0..0x20) => {
                    let detail = format!("Character with value 0x{byte:02x} must be escaped.");
                    return Err(invalid(&detail));
                }
                Some(b'\\') => {
                    self.offset += 1;
                    self.skip_escape(start)?;
                }
                Some(_) => self.offset += 1,
            }
        }
    }

    /// Skips what is behind a backslash.
    fn skip_escape(&mut self, start: usize) -> Result<(), ValueError> {
        let Some(one) = self.text[self.offset..].chars().next() else {
            return Err(self.invalid_token(start));
        };
        self.offset += one.len_utf8();
        match one {
            '"' | '\\' | '/' | 'b' | 'f' | 'n' | 'r' | 't' => Ok(()),
            'u' => {
                for _ in 0..4 {
                    match self.peek() {
                        None => return Err(self.invalid_token(start)),
                        Some(byte) if byte.is_ascii_hexdigit() => self.offset += 1,
                        Some(_) => {
                            let detail = "\"\\u\" must be followed by four hexadecimal digits.";
                            return Err(invalid(detail));
                        }
                    }
                }
                Ok(())
            }
            one => Err(invalid(&format!("Escape sequence \"\\{one}\" is invalid."))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_accepted() {
        for text in ["null", " [1, -2.5e3, \"a\\u00e4\\n\", {}] ", "{\"a\": {\"b\": []}}", "0"] {
            assert_eq!(check_json(text), Ok(()), "{text}");
        }
        let deep = "[".repeat(100_000) + &"]".repeat(100_000);
        assert_eq!(check_json(&deep), Ok(()));
    }

    #[test]
    fn details_name_the_token() {
        for (text, detail) in [
            ("", "The input string ended unexpectedly."),
            ("{\"a\":1,}", "Expected string, but found \"}\"."),
            ("{a}", "Token \"a\" is invalid."),
            ("1 2", "Expected end of input, but found \"2\"."),
            ("[1,]", "Expected JSON value, but found \"]\"."),
            ("{1:2}", "Expected string or \"}\", but found \"1\"."),
            ("01", "Token \"01\" is invalid."),
            ("\"\\x\"", "Escape sequence \"\\x\" is invalid."),
            ("\"\t\"", "Character with value 0x09 must be escaped."),
            (".5", "Token \".\" is invalid."),
        ] {
            let error = check_json(text).unwrap_err();
            assert_eq!(error.text().detail.as_deref(), Some(detail), "{text}");
        }
    }
}
